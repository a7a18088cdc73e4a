//! How numbers are written in a text file: with a decimal point or comma, with separators of
//! thousands, with a sign of currency or percent.

use super::split::Splitter;
use super::token;

/// Lines from which the decimal sign is found.
const LINES: usize = 1000;

/// The signs that may stand before or after a number, beside `%`.
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₹', '¢'];

/// What may separate thousands, beside the point or the comma that is not the decimal sign: a blank,
/// an apostrophe, and the two blanks that do not break a line.
const SEPARATORS: [char; 5] = [' ', '\'', '’', '\u{a0}', '\u{202f}'];

/// What separates the whole part of a number from its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecimalSign {
    /// `1.5`
    #[default]
    Point,
    /// `1,5`
    Comma,
}

impl DecimalSign {
    fn char(self) -> char {
        match self {
            DecimalSign::Point => '.',
            DecimalSign::Comma => ',',
        }
    }

    /// The other one of point and comma, which may separate thousands.
    fn other(self) -> char {
        match self {
            DecimalSign::Point => ',',
            DecimalSign::Comma => '.',
        }
    }
}

/// How the numbers of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct NumberFormat {
    pub(super) decimal: DecimalSign,
    /// What separates thousands; any usual sign if it is not given.
    pub(super) thousands: Option<char>,
}

impl NumberFormat {
    /// The number a cell holds, if it holds one.
    pub(super) fn number(self, cell: &[u8]) -> Option<f64> {
        let plain = self.decimal == DecimalSign::Point || !cell.contains(&b'.');
        let number = if plain { token::number(cell) } else { None };
        number.or_else(|| self.written_number(cell))
    }

    /// The number of a cell that is not plain digits with a point.
    #[cold]
    fn written_number(self, cell: &[u8]) -> Option<f64> {
        // Words fail here by their last byte: a digit, the end of a sign, or a decimal sign.
        if !matches!(cell.last()?, b'0'..=b'9' | b'$' | b'%' | b'.' | b',' | 0x80..) {
            return None;
        }
        let text = std::str::from_utf8(cell).ok()?;
        let (text, outer) = without_minus(text.trim());
        let (text, inner) = without_minus(without_unit(text));
        let is_negative = match (outer, inner) {
            (true, true) => return None,
            (outer, inner) => outer || inner,
        };

        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let (whole, fraction) = match mantissa.split_once(self.decimal.char()) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let mut digits = self.without_separators(whole)?;
        if let Some(fraction) = fraction {
            if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            digits.push('.');
            digits.push_str(fraction);
        }
        digits.push_str(exponent);
        let number = token::number(digits.as_bytes())?;
        Some(if is_negative { -number } else { number })
    }

    /// The digits of a whole part, whose separators must all be the same and stand between groups
    /// of three digits.
    fn without_separators(self, whole: &str) -> Option<String> {
        let Some(separator) = whole.chars().find(|char| !char.is_ascii_digit()) else {
            return Some(whole.to_string());
        };
        let is_allowed = match self.thousands {
            Some(thousands) => separator == thousands,
            None => separator == self.decimal.other() || SEPARATORS.contains(&separator),
        };
        let mut groups = whole.split(separator);
        let first = groups.next()?;
        let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
        let fits = is_allowed
            && (1..=3).contains(&first.len())
            && is_digits(first)
            && groups.all(|group| group.len() == 3 && is_digits(group));
        fits.then(|| whole.split(separator).collect())
    }
}

fn without_minus(text: &str) -> (&str, bool) {
    match text.strip_prefix('-').or_else(|| text.strip_prefix('\u{2212}')) {
        Some(rest) => (rest.trim_start(), true),
        None => (text, false),
    }
}

/// The text without a sign of currency or percent.
fn without_unit(text: &str) -> &str {
    let text = text.strip_prefix(CURRENCIES).unwrap_or(text);
    let is_unit = |char: char| char == '%' || CURRENCIES.contains(&char);
    text.strip_suffix(is_unit).unwrap_or(text).trim()
}

/// What the first lines of a file tell about its numbers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FoundFormat {
    pub(super) decimal: DecimalSign,
    /// A column of numbers that need this decimal sign, and one of its cells.
    pub(super) decisive: Option<(usize, String)>,
    /// A column whose numbers could be read either way, and one of its cells.
    pub(super) ambiguous: Option<(usize, String)>,
    /// A column of numbers with a sign of currency or percent, and one of its cells.
    pub(super) with_unit: Option<(usize, String)>,
}

/// What is known of one column.
#[derive(Debug, Clone)]
struct ColumnEvidence {
    /// Whether all cells are numbers with a decimal point, and with a decimal comma.
    all: [bool; 2],
    /// A cell that is a number with one of the two signs alone.
    decisive: [Option<String>; 2],
    /// A cell with a comma that is one number with a point and another one with a comma.
    ambiguous: Option<String>,
    with_unit: Option<String>,
}

/// Finds the decimal sign: a comma if there are columns of numbers that need it and none that need a
/// point. `1,234` is 1234, or 1.234 where fields are separated by semicolons.
pub(super) fn find(head: &[u8], delimiter: u8, terminator: u8) -> FoundFormat {
    // The last line may be cut off by the end of the head.
    let whole = memchr::memrchr(terminator, head).map_or(head, |end| &head[..end]);
    let mut splitter = Splitter::new(whole.to_vec(), std::io::empty(), delimiter, terminator);
    if !matches!(splitter.advance(), Ok(true)) {
        return FoundFormat::default();
    }
    let none =
        ColumnEvidence { all: [true; 2], decisive: [None, None], ambiguous: None, with_unit: None };
    let mut columns = vec![none; splitter.len()];
    for _ in 0..LINES {
        if !matches!(splitter.advance(), Ok(true)) {
            break;
        }
        for (position, column) in columns.iter_mut().enumerate().take(splitter.len()) {
            column.note(splitter.field(position));
        }
    }
    decide(&columns, delimiter)
}

fn decide(columns: &[ColumnEvidence], delimiter: u8) -> FoundFormat {
    let [point, comma] = [0, 1].map(|sign| {
        let is_decisive = |column: &ColumnEvidence| {
            let found = column.decisive[sign].clone();
            found.filter(|_| column.all[sign] && !column.all[1 - sign])
        };
        first_column(columns, is_decisive)
    });
    let ambiguous = first_column(columns, |column| {
        column.ambiguous.clone().filter(|_| column.all == [true; 2])
    });
    let decimal = match (&point, &comma, &ambiguous) {
        (None, Some(_), _) => DecimalSign::Comma,
        (None, None, Some(_)) if delimiter == b';' => DecimalSign::Comma,
        _ => DecimalSign::Point,
    };
    let is_settled = point.is_some() != comma.is_some();
    FoundFormat {
        decimal,
        decisive: comma.filter(|_| decimal == DecimalSign::Comma),
        ambiguous: ambiguous.filter(|_| !is_settled),
        with_unit: first_column(columns, |column| {
            column.with_unit.clone().filter(|_| column.all[decimal as usize])
        }),
    }
}

/// The first column of which something is found.
fn first_column(
    columns: &[ColumnEvidence],
    find: impl Fn(&ColumnEvidence) -> Option<String>,
) -> Option<(usize, String)> {
    columns.iter().enumerate().find_map(|(position, column)| Some((position, find(column)?)))
}

impl ColumnEvidence {
    fn note(&mut self, cell: &[u8]) {
        if self.all == [false; 2] || token::is_missing(cell) {
            return;
        }
        let text = || String::from_utf8_lossy(cell).into_owned();
        let read = [DecimalSign::Point, DecimalSign::Comma]
            .map(|decimal| NumberFormat { decimal, thousands: None }.number(cell));
        self.all = [0, 1].map(|sign| self.all[sign] && read[sign].is_some());
        match read {
            [Some(_), None] => drop(self.decisive[0].get_or_insert_with(text)),
            [None, Some(_)] => drop(self.decisive[1].get_or_insert_with(text)),
            [Some(point), Some(comma)] if point != comma && cell.contains(&b',') => {
                self.ambiguous.get_or_insert_with(text);
            }
            _ => {}
        }
        let has_unit = cell.iter().any(|byte| matches!(byte, b'$' | b'%'))
            || String::from_utf8_lossy(cell).contains(CURRENCIES);
        if has_unit {
            self.with_unit.get_or_insert_with(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(decimal: DecimalSign, cell: &str) -> Option<f64> {
        NumberFormat { decimal, thousands: None }.number(cell.as_bytes())
    }

    #[test]
    fn reads_numbers_with_a_point() {
        for (cell, number) in [
            ("1.5", 1.5),
            ("1,234", 1234.0),
            ("-1,234,567.25", -1_234_567.25),
            ("$1,234.50", 1234.5),
            ("-$3", -3.0),
            ("$-3", -3.0),
            ("1 234.5 €", 1234.5),
            ("12.5%", 12.5),
            ("12 %", 12.0),
            ("1'000", 1000.0),
            ("1\u{202f}000\u{a0}€", 1000.0),
            ("\u{2212}2", -2.0),
            ("1,000e3", 1e6),
        ] {
            assert_eq!(read(DecimalSign::Point, cell), Some(number), "{cell}");
        }
        for cell in [
            "",
            "$",
            "%",
            "-",
            "1,23",
            "1,2345",
            ",5",
            "1,,234",
            "1 23",
            "1,234 567",
            "12a",
            "a12",
            "--3",
            "1.2.3",
            "1.234,5",
            "2024-01-02",
            "10:30",
            "1/2",
            "1,5",
            "nan%",
            "5%%",
        ] {
            assert_eq!(read(DecimalSign::Point, cell), None, "{cell}");
        }
    }

    #[test]
    fn reads_numbers_with_a_comma() {
        for (cell, number) in [
            ("1,5", 1.5),
            (",5", 0.5),
            ("1.234", 1234.0),
            ("1.234,5", 1234.5),
            ("1 234,5", 1234.5),
            ("12", 12.0),
            ("-3,25 €", -3.25),
            ("inf", f64::INFINITY),
            ("1e3", 1000.0),
        ] {
            assert_eq!(read(DecimalSign::Comma, cell), Some(number), "{cell}");
        }
        for cell in ["1.5", "1.23", "1,2,3", "1,234.5", "x"] {
            assert_eq!(read(DecimalSign::Comma, cell), None, "{cell}");
        }
    }

    #[test]
    fn a_given_separator_is_the_only_one() {
        let format = NumberFormat { decimal: DecimalSign::Point, thousands: Some('\'') };
        assert_eq!(format.number(b"1'234.5"), Some(1234.5));
        assert_eq!(format.number(b"1,234.5"), None);
    }

    #[test]
    fn finds_the_decimal_sign_of_a_file() {
        let found = |text: &str, delimiter| find(text.as_bytes(), delimiter, b'\n');
        for (text, delimiter, decimal, ambiguous) in [
            ("a,b\n1,2\n3,4\n", b',', DecimalSign::Point, false),
            ("a;b\n1,5;2\n3;4\n", b';', DecimalSign::Comma, false),
            ("a,b\n\"1,5\",2\n", b',', DecimalSign::Comma, false),
            ("a,b\n\"1,234\",2\n", b',', DecimalSign::Point, true),
            ("a;b\n1,234;2\n", b';', DecimalSign::Comma, true),
            ("a;b\n1,234;0.5\n", b';', DecimalSign::Point, false),
            ("a;b\n1,5;0.5\n", b';', DecimalSign::Point, false),
            ("a;b\nx,y;0,5\n", b';', DecimalSign::Comma, false),
            ("a;b\nx;1.234\n", b';', DecimalSign::Point, false),
            ("a;b\nNA;0,5\n2,5;\n", b';', DecimalSign::Comma, false),
            ("", b',', DecimalSign::Point, false),
        ] {
            let found = found(text, delimiter);
            assert_eq!((found.decimal, found.ambiguous.is_some()), (decimal, ambiguous), "{text}");
        }
        let prices = found("a,p\n1,$5\n2,$6.50\n", b',');
        assert_eq!(prices.with_unit, Some((1, String::from("$5"))));
    }

    proptest! {
        #[test]
        fn a_plain_number_is_what_it_always_was(value in any::<f64>().prop_filter("a number", |v| !v.is_nan())) {
            let text = format!("{value}");
            prop_assert_eq!(NumberFormat::default().number(text.as_bytes()).map(f64::to_bits), Some(value.to_bits()));
        }

        #[test]
        fn both_ways_of_writing_agree(whole in 0_u32..2_000_000_000, cents in 0_u32..100, negative: bool) {
            let digits = whole.to_string();
            let mut grouped = String::new();
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at) % 3 == 0 {
                    grouped.push(',');
                }
                grouped.push(digit);
            }
            let sign = if negative { "-" } else { "" };
            let english = format!("{sign}{grouped}.{cents:02}");
            let german: String = english
                .chars()
                .map(|char| match char { ',' => '.', '.' => ',', other => other })
                .collect();
            let plain = format!("{sign}{whole}.{cents:02}").parse::<f64>().ok();
            prop_assert_eq!(read(DecimalSign::Point, &english), plain);
            prop_assert_eq!(read(DecimalSign::Comma, &german), plain);
        }

        #[test]
        fn no_bytes_make_it_panic(cell in proptest::collection::vec(any::<u8>(), 0..12)) {
            let _ = NumberFormat::default().number(&cell);
            let _ = NumberFormat { decimal: DecimalSign::Comma, thousands: Some(' ') }.number(&cell);
            let _ = find(&cell, b',', b'\n');
        }
    }
}
