//! Constant tables of C, of the smallest type that holds the numbers.

use super::super::literal::list;

/// The tables of a source and their size.
#[derive(Default)]
pub(super) struct CTables {
    pub(super) text: String,
    pub(super) bytes: usize,
}

impl CTables {
    /// A table of integers of the smallest type; an empty one gets an entry, because C has no empty
    /// arrays.
    pub(super) fn integers(&mut self, name: &str, comment: &str, values: &[i64]) {
        let low = values.iter().copied().min().unwrap_or(0);
        self.ranged(name, comment, values, low);
    }

    fn ranged(&mut self, name: &str, comment: &str, values: &[i64], low: i64) {
        let high = values.iter().copied().max().unwrap_or(0);
        let (kind, bytes) = integer_type(low, high);
        let entries: Vec<String> = match values {
            [] => vec!["0".to_string()],
            // The smallest 32-bit number is no literal of its type.
            _ => values
                .iter()
                .map(|value| match *value == i64::from(i32::MIN) {
                    true => "(-2147483647 - 1)".to_string(),
                    false if *value > i64::from(i32::MAX) => format!("{value}u"),
                    false => value.to_string(),
                })
                .collect(),
        };
        self.add(name, comment, kind, bytes, &entries);
    }

    /// A table of integers of the smallest signed type.
    pub(super) fn signed(&mut self, name: &str, comment: &str, values: &[i64]) {
        let low = values.iter().copied().min().unwrap_or(0).min(-1);
        self.ranged(name, comment, values, low);
    }

    /// A table of doubles.
    pub(super) fn doubles(&mut self, name: &str, comment: &str, values: &[f64]) {
        let entries: Vec<String> = match values {
            [] => vec!["0.0".to_string()],
            _ => values.iter().map(|value| format!("{value:?}")).collect(),
        };
        self.add(name, comment, "double", 8, &entries);
    }

    fn add(&mut self, name: &str, comment: &str, kind: &str, bytes: usize, entries: &[String]) {
        self.bytes += bytes * entries.len();
        let mut rows = list(entries, "    ");
        // A comma after the last entry is allowed, but some checkers complain.
        if rows.ends_with(",\n") {
            rows.truncate(rows.len() - 2);
        }
        self.text.push_str(&format!(
            "/* {comment} */\nstatic const {kind} {name}[{}] = {{\n{rows}\n}};\n\n",
            entries.len()
        ));
    }
}

/// The smallest type that holds all numbers from `low` to `high`, and its size.
pub(super) fn integer_type(low: i64, high: i64) -> (&'static str, usize) {
    match (low, high) {
        (0.., ..=0xff) => ("uint8_t", 1),
        (-0x80.., ..=0x7f) => ("int8_t", 1),
        (0.., ..=0xffff) => ("uint16_t", 2),
        (-0x8000.., ..=0x7fff) => ("int16_t", 2),
        (0.., ..=0xffff_ffff) => ("uint32_t", 4),
        _ => ("int32_t", 4),
    }
}
