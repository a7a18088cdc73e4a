//! Compressed chunks: each column in the narrowest form from which the same values are restored.
//!
//! Real tables are full of flags, counts and short decimals; stored as bytes and shorts they often
//! take less memory than their text did, and most files that would have to be read again from the
//! disk fit.

use swarmwood_learn::data::{Chunk, Column, MISSING};

/// A chunk in its packed form.
#[derive(Debug)]
pub(super) struct PackedChunk {
    columns: Vec<PackedColumn>,
    target: PackedNumbers,
    weight: PackedNumbers,
    rows: usize,
}

#[derive(Debug)]
enum PackedColumn {
    Number(PackedNumbers),
    Category(PackedCodes),
}

/// Numbers; NaN (missing) is the last value of the integer forms.
#[derive(Debug)]
enum PackedNumbers {
    Constant(f64, usize),
    Bytes(Box<[u8]>),
    Shorts(Box<[i16]>),
    /// Integers over a power of ten: short decimals.
    Decimals(f64, Box<[i32]>),
    Singles(Box<[f32]>),
    Doubles(Box<[f64]>),
}

/// Codes; [`MISSING`] is the last value of every form.
#[derive(Debug)]
enum PackedCodes {
    Bytes(Box<[u8]>),
    Shorts(Box<[u16]>),
    Words(Box<[u32]>),
}

impl PackedChunk {
    pub(super) fn new(chunk: &Chunk) -> PackedChunk {
        PackedChunk {
            columns: chunk.columns.iter().map(PackedColumn::new).collect(),
            target: PackedNumbers::new(&chunk.target),
            weight: PackedNumbers::new(&chunk.weight),
            rows: chunk.rows,
        }
    }

    /// A chunk that has nothing but a target.
    pub(super) fn of_target(target: &[f64]) -> PackedChunk {
        PackedChunk {
            columns: Vec::new(),
            target: PackedNumbers::new(target),
            weight: PackedNumbers::Constant(0.0, 0),
            rows: target.len(),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes taken, near enough.
    pub(super) fn bytes(&self) -> usize {
        let columns: usize =
            self.columns.iter().map(|column| column.bytes() + size_of::<PackedColumn>()).sum();
        columns + self.target.bytes() + self.weight.bytes() + size_of::<PackedChunk>()
    }

    pub(super) fn unpack(&self) -> Chunk {
        Chunk {
            columns: (0..self.columns.len()).map(|column| self.column(column)).collect(),
            target: self.target(),
            weight: self.weight(),
            rows: self.rows,
        }
    }

    pub(super) fn column(&self, column: usize) -> Column {
        match &self.columns[column] {
            PackedColumn::Number(numbers) => Column::Number(numbers.unpack()),
            PackedColumn::Category(codes) => Column::Category(codes.unpack()),
        }
    }

    pub(super) fn target(&self) -> Vec<f64> {
        self.target.unpack()
    }

    pub(super) fn weight(&self) -> Vec<f64> {
        self.weight.unpack()
    }

    /// Gives every code of a category column a new value.
    pub(super) fn recode(&mut self, column: usize, new_codes: &[u32]) {
        if let Some(PackedColumn::Category(codes)) = self.columns.get_mut(column) {
            let mut plain = codes.unpack();
            for code in plain.iter_mut().filter(|code| **code != MISSING) {
                *code = new_codes[*code as usize];
            }
            *codes = PackedCodes::new(&plain);
        }
    }

    /// Gives every target a new value.
    pub(super) fn map_target(&mut self, new_value: impl Fn(f64) -> f64) {
        let values: Vec<f64> = self.target.unpack().into_iter().map(new_value).collect();
        self.target = PackedNumbers::new(&values);
    }
}

impl PackedColumn {
    fn new(column: &Column) -> PackedColumn {
        match column {
            Column::Number(values) => PackedColumn::Number(PackedNumbers::new(values)),
            Column::Category(codes) => PackedColumn::Category(PackedCodes::new(codes)),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            PackedColumn::Number(numbers) => numbers.bytes(),
            PackedColumn::Category(PackedCodes::Bytes(codes)) => codes.len(),
            PackedColumn::Category(PackedCodes::Shorts(codes)) => codes.len() * 2,
            PackedColumn::Category(PackedCodes::Words(codes)) => codes.len() * 4,
        }
    }
}

/// The same double, bit for bit, or both missing.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Packs every value, or `None` at the first that would not be restored exactly.
fn each<P>(
    values: &[f64],
    pack: impl Fn(f64) -> P,
    unpack: impl Fn(&P) -> f64,
) -> Option<Box<[P]>> {
    let mut packed = Vec::with_capacity(values.len());
    for &value in values {
        let small = pack(value);
        if !same(unpack(&small), value) {
            return None;
        }
        packed.push(small);
    }
    Some(packed.into_boxed_slice())
}

// Casts from floats to integers saturate and send NaN to zero; what does not come back is refused
// by `each`.
fn to_byte(value: f64) -> u8 {
    if value.is_nan() { u8::MAX } else { (value as u8).min(u8::MAX - 1) }
}

fn from_byte(&packed: &u8) -> f64 {
    if packed == u8::MAX { f64::NAN } else { f64::from(packed) }
}

fn to_short(value: f64) -> i16 {
    if value.is_nan() { i16::MAX } else { (value as i16).min(i16::MAX - 1) }
}

fn from_short(&packed: &i16) -> f64 {
    if packed == i16::MAX { f64::NAN } else { f64::from(packed) }
}

fn to_decimal(value: f64, scale: f64) -> i32 {
    if value.is_nan() { i32::MAX } else { ((value * scale).round() as i32).min(i32::MAX - 1) }
}

fn from_decimal(packed: i32, scale: f64) -> f64 {
    if packed == i32::MAX { f64::NAN } else { f64::from(packed) / scale }
}

impl PackedNumbers {
    fn new(values: &[f64]) -> PackedNumbers {
        let first = values.first().copied().unwrap_or(0.0);
        if values.iter().all(|&value| same(value, first)) {
            return PackedNumbers::Constant(first, values.len());
        }
        if let Some(packed) = each(values, to_byte, from_byte) {
            return PackedNumbers::Bytes(packed);
        }
        if let Some(packed) = each(values, to_short, from_short) {
            return PackedNumbers::Shorts(packed);
        }
        if let Some(packed) = each(values, |value| value as f32, |&packed| f64::from(packed)) {
            return PackedNumbers::Singles(packed);
        }
        for scale in [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6] {
            if let Some(packed) = each(
                values,
                |value| to_decimal(value, scale),
                |&packed| from_decimal(packed, scale),
            ) {
                return PackedNumbers::Decimals(scale, packed);
            }
        }
        PackedNumbers::Doubles(values.into())
    }

    fn bytes(&self) -> usize {
        match self {
            PackedNumbers::Constant(..) => 0,
            PackedNumbers::Bytes(packed) => packed.len(),
            PackedNumbers::Shorts(packed) => packed.len() * 2,
            PackedNumbers::Decimals(_, packed) => packed.len() * 4,
            PackedNumbers::Singles(packed) => packed.len() * 4,
            PackedNumbers::Doubles(packed) => packed.len() * 8,
        }
    }

    fn unpack(&self) -> Vec<f64> {
        match self {
            PackedNumbers::Constant(value, rows) => vec![*value; *rows],
            PackedNumbers::Bytes(packed) => packed.iter().map(from_byte).collect(),
            PackedNumbers::Shorts(packed) => packed.iter().map(from_short).collect(),
            PackedNumbers::Decimals(scale, packed) => {
                packed.iter().map(|&p| from_decimal(p, *scale)).collect()
            }
            PackedNumbers::Singles(packed) => packed.iter().map(|&p| f64::from(p)).collect(),
            PackedNumbers::Doubles(packed) => packed.to_vec(),
        }
    }
}

impl PackedCodes {
    fn new(codes: &[u32]) -> PackedCodes {
        // Missing wraps round to zero here, so it never widens the form.
        let largest = codes.iter().map(|code| code.wrapping_add(1)).max().unwrap_or(0);
        if largest <= u32::from(u8::MAX) {
            PackedCodes::Bytes(codes.iter().map(|&code| code as u8).collect())
        } else if largest <= u32::from(u16::MAX) {
            PackedCodes::Shorts(codes.iter().map(|&code| code as u16).collect())
        } else {
            PackedCodes::Words(codes.into())
        }
    }

    fn unpack(&self) -> Vec<u32> {
        match self {
            PackedCodes::Bytes(codes) => {
                codes.iter().map(|&c| if c == u8::MAX { MISSING } else { c.into() }).collect()
            }
            PackedCodes::Shorts(codes) => {
                codes.iter().map(|&c| if c == u16::MAX { MISSING } else { c.into() }).collect()
            }
            PackedCodes::Words(codes) => codes.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_back(values: &[f64]) -> PackedNumbers {
        let packed = PackedNumbers::new(values);
        let back = packed.unpack();
        assert_eq!(back.len(), values.len());
        assert!(
            back.iter().zip(values).all(|(&a, &b)| same(a, b)),
            "{values:?} came back as {back:?}"
        );
        packed
    }

    #[test]
    fn takes_the_narrowest_form() {
        let nan = f64::NAN;
        assert!(matches!(assert_back(&[]), PackedNumbers::Constant(..)));
        assert!(matches!(assert_back(&[nan, nan]), PackedNumbers::Constant(..)));
        assert!(matches!(assert_back(&[0.0, 254.0, nan]), PackedNumbers::Bytes(_)));
        assert!(matches!(assert_back(&[0.0, 255.0, nan]), PackedNumbers::Shorts(_)));
        assert!(matches!(assert_back(&[-32768.0, 32766.0]), PackedNumbers::Shorts(_)));
        assert!(matches!(
            assert_back(&[0.5, 1e9, f64::INFINITY, -0.0, nan]),
            PackedNumbers::Singles(_)
        ));
        assert!(matches!(assert_back(&[47.5112, -122.257, nan]), PackedNumbers::Decimals(..)));
        assert!(matches!(assert_back(&[1.0 / 3.0, 1.0]), PackedNumbers::Doubles(_)));
        assert!(matches!(assert_back(&[0.0, -0.0]), PackedNumbers::Singles(_)));
    }

    #[test]
    fn keeps_codes_at_the_edges_of_each_form() {
        for codes in [
            vec![0, 254, MISSING],
            vec![255, MISSING],
            vec![65534, MISSING],
            vec![65535, MISSING, 7],
        ] {
            assert_eq!(PackedCodes::new(&codes).unpack(), codes);
        }
    }

    fn any_value() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            (-40000_i32..40000).prop_map(f64::from),
            (-99999_i32..99999).prop_map(|i| f64::from(i) / 100.0),
            Just(f64::NAN)
        ]
    }

    proptest! {
        #[test]
        fn gives_back_the_same_values(values in proptest::collection::vec(any_value(), 0..30)) {
            assert_back(&values);
        }
    }
}
