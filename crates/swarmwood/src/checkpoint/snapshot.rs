//! The state of a search engine as bytes: the tree of values that engines give and take, one tag a
//! value.

use swarmwood_search::{Datum, Snapshot};

use super::bytes::{Reader, Writer};

/// How deep values may be nested: far more than any engine needs, far less than a stack holds.
const DEEPEST: usize = 64;

/// The bytes of a value.
///
/// ```
/// use swarmwood::checkpoint::snapshot::{decode, encode};
/// use swarmwood::search::Datum;
/// let state = Datum::record([("seed", Datum::Natural(7)), ("best", Datum::List(vec![Datum::Real(f64::INFINITY)]))]);
/// assert_eq!(decode(&encode(&state)), Some(state));
/// assert_eq!(decode(b"nonsense"), None);
/// ```
pub fn encode(value: &Datum) -> Vec<u8> {
    let mut out = Writer(Vec::new());
    write(value, &mut out);
    out.0
}

/// The value that [`encode`] gave these bytes.
pub fn decode(bytes: &[u8]) -> Option<Datum> {
    let mut from = Reader(bytes);
    let value = read(&mut from, DEEPEST)?;
    from.is_empty().then_some(value)
}

/// A snapshot as one value.
pub fn to_datum(snapshot: &Snapshot) -> Datum {
    Datum::record([
        ("engine", Datum::Text(snapshot.engine.clone())),
        ("version", Datum::Natural(snapshot.version)),
        ("space", Datum::wide(snapshot.space)),
        ("state", snapshot.state.clone()),
    ])
}

/// The snapshot that [`to_datum`] made a value of.
pub fn of_datum(value: &Datum) -> Option<Snapshot> {
    let Ok(Datum::Text(engine)) = value.field("engine") else { return None };
    Some(Snapshot {
        engine: engine.clone(),
        version: value.field("version").ok()?.natural().ok()?,
        space: value.field("space").ok()?.to_wide().ok()?,
        state: value.field("state").ok()?.clone(),
    })
}

fn write(value: &Datum, out: &mut Writer) {
    match value {
        Datum::Natural(number) => {
            out.0.push(0);
            out.number(*number);
        }
        Datum::Integer(number) => {
            out.0.push(1);
            out.number(*number as u64);
        }
        // The bits, so that infinite numbers and every NaN survive.
        Datum::Real(number) => {
            out.0.push(2);
            out.number(number.to_bits());
        }
        Datum::Text(text) => {
            out.0.push(3);
            out.text(text);
        }
        Datum::List(items) => {
            out.0.push(4);
            out.number(items.len() as u64);
            items.iter().for_each(|item| write(item, out));
        }
        Datum::Record(fields) => {
            out.0.push(5);
            out.number(fields.len() as u64);
            for (name, value) in fields {
                out.text(name);
                write(value, out);
            }
        }
    }
}

fn read(from: &mut Reader<'_>, deeper: usize) -> Option<Datum> {
    let deeper = deeper.checked_sub(1)?;
    Some(match from.byte()? {
        0 => Datum::Natural(from.number()?),
        1 => Datum::Integer(from.number()? as i64),
        2 => Datum::Real(f64::from_bits(from.number()?)),
        3 => Datum::Text(from.text()?),
        4 => Datum::List((0..count(from)?).map(|_| read(from, deeper)).collect::<Option<_>>()?),
        5 => {
            let fields = count(from)?;
            Datum::Record(
                (0..fields)
                    .map(|_| Some((from.text()?, read(from, deeper)?)))
                    .collect::<Option<_>>()?,
            )
        }
        _ => return None,
    })
}

/// The length of a list. Every item takes a byte at least, so a longer list than there are bytes is
/// none.
fn count(from: &mut Reader<'_>) -> Option<usize> {
    let number = from.number()?;
    usize::try_from(number).ok().filter(|&count| count <= from.left())
}
