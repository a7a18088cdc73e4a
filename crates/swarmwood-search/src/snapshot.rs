//! The state of an engine as plain data.
//!
//! [`Datum`] is a small tree of values rather than a serialisation library: the caller chooses the
//! file format, and this crate has no dependencies.

use crate::error::Error;
use crate::point::{Point, PointValue};
use crate::space::Space;

/// The state of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Name of the engine that wrote the snapshot.
    pub engine: String,
    /// Version of the layout of `state`.
    pub version: u64,
    /// [`Space::fingerprint`] of the search space.
    pub space: u128,
    /// The state of the engine.
    pub state: Datum,
}

/// A value in a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// A natural number.
    Natural(u64),
    /// An integer.
    Integer(i64),
    /// A number; may be infinite or NaN, which file formats must preserve.
    Real(f64),
    /// Text.
    Text(String),
    /// A sequence.
    List(Vec<Datum>),
    /// Named values, in a fixed order.
    Record(Vec<(String, Datum)>),
}

impl Snapshot {
    /// Checks that the snapshot was written by this engine, in a version it can read, for this
    /// space.
    pub fn check(&self, engine: &str, newest: u64, space: &Space) -> Result<(), Error> {
        if self.engine != engine {
            return Err(broken(format!("was written by engine '{}', not '{engine}'", self.engine)));
        }
        if self.version > newest {
            return Err(broken(format!(
                "has version {} but this program reads up to {newest}; use a newer program",
                self.version
            )));
        }
        if self.space != space.fingerprint() {
            return Err(broken(
                "belongs to another search space; resume with the space it was started with"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

fn broken(message: String) -> Error {
    Error::Snapshot(message)
}

/// The error of a snapshot with content that no engine wrote.
pub(crate) fn damaged(what: &str) -> Error {
    broken(format!("holds {what}; it is damaged"))
}

impl Datum {
    /// A record from names and values.
    pub fn record<const N: usize>(fields: [(&str, Datum); N]) -> Datum {
        Datum::Record(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The field of a record.
    pub fn field(&self, name: &str) -> Result<&Datum, Error> {
        match self {
            Datum::Record(fields) => {
                fields.iter().find(|(field, _)| field == name).map(|(_, value)| value)
            }
            _ => None,
        }
        .ok_or_else(|| broken(format!("lacks '{name}'; it is damaged")))
    }

    /// The field of a record under its name or under the name it had in older snapshots.
    pub(crate) fn renamed_field(&self, name: &str, old_name: &str) -> Result<&Datum, Error> {
        self.field(name).or_else(|error| self.field(old_name).map_err(|_| error))
    }

    /// A natural number.
    pub fn natural(&self) -> Result<u64, Error> {
        match self {
            Datum::Natural(n) => Ok(*n),
            _ => Err(self.is_not("a natural number")),
        }
    }

    /// A natural number that counts steps, and can be counted on: no run makes as many as would
    /// overflow.
    pub fn counter(&self) -> Result<u64, Error> {
        const MOST: u64 = 1 << 53;
        self.natural()
            .and_then(|n| if n <= MOST { Ok(n) } else { Err(self.is_not("a number of steps")) })
    }

    /// A number.
    pub fn real(&self) -> Result<f64, Error> {
        match self {
            Datum::Real(x) => Ok(*x),
            _ => Err(self.is_not("a number")),
        }
    }

    /// A sequence.
    pub fn list(&self) -> Result<&[Datum], Error> {
        match self {
            Datum::List(items) => Ok(items),
            _ => Err(self.is_not("a list")),
        }
    }

    /// A sequence of exactly `N` values.
    pub fn tuple<const N: usize>(&self) -> Result<&[Datum; N], Error> {
        self.list()?.try_into().map_err(|_| self.is_not("a list of the right length"))
    }

    fn is_not(&self, wanted: &str) -> Error {
        let kind = match self {
            Datum::Natural(_) => "a natural number",
            Datum::Integer(_) => "an integer",
            Datum::Real(_) => "a number",
            Datum::Text(_) => "text",
            Datum::List(_) => "a list",
            Datum::Record(_) => "a record",
        };
        broken(format!("holds {kind} where {wanted} belongs; it is damaged"))
    }

    /// A 128-bit number as two halves.
    pub fn wide(number: u128) -> Datum {
        Datum::List(vec![Datum::Natural(number as u64), Datum::Natural((number >> 64) as u64)])
    }

    /// The number that [`Datum::wide`] stored.
    pub fn to_wide(&self) -> Result<u128, Error> {
        let [low, high] = self.tuple()?;
        Ok(u128::from(high.natural()?) << 64 | u128::from(low.natural()?))
    }

    /// A boolean.
    pub fn flag(value: bool) -> Datum {
        Datum::Natural(u64::from(value))
    }

    /// The boolean that [`Datum::flag`] stored.
    pub fn to_flag(&self) -> Result<bool, Error> {
        match self.natural()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged("a number where a boolean belongs")),
        }
    }

    /// An optional number, as a list of one or none.
    pub fn optional(value: Option<f64>) -> Datum {
        Datum::List(value.map(Datum::Real).into_iter().collect())
    }

    /// The number that [`Datum::optional`] stored.
    pub fn to_optional(&self) -> Result<Option<f64>, Error> {
        self.list()?.first().map(Datum::real).transpose()
    }

    /// An optional natural number, as a list of one or none.
    pub(crate) fn optional_natural(value: Option<u64>) -> Datum {
        Datum::List(value.map(Datum::Natural).into_iter().collect())
    }

    /// The number that [`Datum::optional_natural`] stored.
    pub(crate) fn to_optional_natural(&self) -> Result<Option<u64>, Error> {
        self.list()?.first().map(Datum::natural).transpose()
    }

    /// A sequence of numbers.
    pub fn reals(values: &[f64]) -> Datum {
        Datum::List(values.iter().copied().map(Datum::Real).collect())
    }

    /// The `count` numbers that [`Datum::reals`] stored; an error unless all are finite.
    pub fn to_reals(&self, count: usize) -> Result<Vec<f64>, Error> {
        let values = self.list()?.iter().map(Datum::real).collect::<Result<Vec<f64>, Error>>()?;
        if values.len() != count {
            return Err(damaged("a list of numbers of the wrong length"));
        }
        if values.iter().all(|value| value.is_finite()) {
            Ok(values)
        } else {
            Err(damaged("numbers that are not finite"))
        }
    }

    /// A natural number as a `usize`.
    pub fn count(&self) -> Result<usize, Error> {
        usize::try_from(self.natural()?)
            .map_err(|_| damaged("a count that does not fit into memory"))
    }

    /// A point, value by value.
    pub fn point(point: &Point) -> Datum {
        let value = |value: &PointValue| match *value {
            PointValue::Integer(i) => Datum::Integer(i),
            PointValue::Real(x) => Datum::Real(x),
            PointValue::Index(i) => Datum::Natural(i as u64),
            PointValue::Absent => Datum::Text("absent".to_owned()),
        };
        Datum::List(point.0.iter().map(value).collect())
    }

    /// The point that [`Datum::point`] stored; an error if it does not lie in the space.
    pub fn to_point(&self, space: &Space) -> Result<Point, Error> {
        let value = |datum: &Datum| match datum {
            Datum::Integer(i) => Ok(PointValue::Integer(*i)),
            Datum::Real(x) => Ok(PointValue::Real(*x)),
            Datum::Natural(i) => Ok(PointValue::Index(usize::try_from(*i).unwrap_or(usize::MAX))),
            Datum::Text(text) if text == "absent" => Ok(PointValue::Absent),
            other => Err(other.is_not("the value of a parameter")),
        };
        let point = Point(self.list()?.iter().map(value).collect::<Result<_, _>>()?);
        if space.contains(&point) {
            Ok(point)
        } else {
            Err(broken("holds a point outside the space; it is damaged".into()))
        }
    }
}
