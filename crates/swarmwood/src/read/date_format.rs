//! How dates and times are written in a text file.
//!
//! A format is ISO 8601 or a pattern of `strftime`. A moment is a number of seconds since the start
//! of 1970: of the universal time if the text names an offset, else of the time as it is written.

use swarmwood_model::CalendarDate;

/// The name of ISO 8601 in model files.
const ISO: &str = "iso";

/// Patterns that are recognised by themselves, each alone or followed by a time. Where a text fits
/// two of them, such as 03/04/2024, other rows of the column must decide.
const COMMON: [&str; 11] = [
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%d %b %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%d/%m/%y",
    "%m/%d/%y",
];

/// Times that may follow the date of a common pattern.
const TIMES: [&str; 5] = ["", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Which columns of text are dates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DateChoice {
    /// Those whose cells are all dates in the same way of writing.
    #[default]
    Auto,
    /// The same, but they are not features.
    Ignore,
    /// Those that are written in this pattern, and the same as for `Auto`.
    Format(DateFormat),
}

impl DateChoice {
    /// Reads `auto`, `ignore` or a pattern; says what is wrong with it.
    pub fn parse(text: &str) -> Result<DateChoice, String> {
        match text {
            "auto" => Ok(DateChoice::Auto),
            "ignore" => Ok(DateChoice::Ignore),
            pattern => DateFormat::parse(pattern).map(DateChoice::Format).map_err(|problem| {
                format!(
                    "must be auto, ignore or a pattern such as %d/%m/%Y, but '{pattern}' {problem}"
                )
            }),
        }
    }

    /// Whether dates may be written in digits alone, as numbers are.
    pub(super) fn is_digits(&self) -> bool {
        matches!(self, DateChoice::Format(format) if format.is_digits())
    }

    /// The formats that a column may be written in. The first one decides between several.
    pub(super) fn candidates(&self) -> Vec<DateFormat> {
        let given = match self {
            DateChoice::Format(format) => Some(format.clone()),
            DateChoice::Auto | DateChoice::Ignore => None,
        };
        let common = COMMON.iter().flat_map(|date| TIMES.map(|time| format!("{date}{time}")));
        let common = common.filter_map(|pattern| DateFormat::parse(&pattern).ok());
        given.into_iter().chain([DateFormat::iso()]).chain(common).collect()
    }
}

/// A piece of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive {
    Year,
    ShortYear,
    Month,
    MonthName,
    Day,
    Hour,
    HalfDayHour,
    Minute,
    Second,
    Fraction,
    HalfDay,
    Offset,
    Literal(u8),
}

/// A way of writing dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateFormat {
    /// ISO 8601, or the pattern.
    name: String,
    /// Empty for ISO 8601.
    pieces: Vec<Directive>,
}

impl DateFormat {
    /// ISO 8601: `2024-02-29`, and with a time `2024-02-29T12:30:00.5+01:00` or a blank instead
    /// of the T.
    pub(super) fn iso() -> DateFormat {
        DateFormat { name: ISO.to_string(), pieces: Vec::new() }
    }

    /// The name in model files.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Reads a pattern, or `iso`; says what is wrong with it.
    pub(super) fn parse(pattern: &str) -> Result<DateFormat, String> {
        if pattern == ISO {
            return Ok(DateFormat::iso());
        }
        let mut pieces = Vec::new();
        let mut bytes = pattern.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'%' {
                pieces.push(Directive::Literal(byte));
                continue;
            }
            pieces.push(match bytes.next() {
                Some(b'Y') => Directive::Year,
                Some(b'y') => Directive::ShortYear,
                Some(b'm') => Directive::Month,
                Some(b'b' | b'B') => Directive::MonthName,
                Some(b'd') => Directive::Day,
                Some(b'H') => Directive::Hour,
                Some(b'I') => Directive::HalfDayHour,
                Some(b'M') => Directive::Minute,
                Some(b'S') => Directive::Second,
                Some(b'f') => Directive::Fraction,
                Some(b'p') => Directive::HalfDay,
                Some(b'z') => Directive::Offset,
                Some(b'%') => Directive::Literal(b'%'),
                Some(other) => {
                    let known = "%Y %y %m %b %d %H %I %M %S %f %p %z";
                    return Err(format!("has %{}; known are {known}", char::from(other)));
                }
                None => return Err("ends with a single %".to_string()),
            });
        }

        let count =
            |kinds: &[Directive]| pieces.iter().filter(|piece| kinds.contains(piece)).count();
        let has_date = count(&[Directive::Year, Directive::ShortYear]) == 1
            && count(&[Directive::Month, Directive::MonthName]) == 1
            && count(&[Directive::Day]) == 1;
        if has_date {
            Ok(DateFormat { name: pattern.to_string(), pieces })
        } else {
            Err("needs a year, a month and a day, each once".to_string())
        }
    }

    /// Whether dates are digits alone, such as 20240229.
    fn is_digits(&self) -> bool {
        let is_digits = |piece: &Directive| match piece {
            Directive::MonthName | Directive::HalfDay | Directive::Offset => false,
            Directive::Literal(byte) => byte.is_ascii_digit(),
            _ => true,
        };
        !self.pieces.is_empty() && self.pieces.iter().all(is_digits)
    }

    /// The moment that a text names; `None` if it is not written so.
    pub(super) fn moment(&self, text: &[u8]) -> Option<f64> {
        // Most texts that are no dates end here.
        if text.len() < 6 || text.len() > 48 {
            return None;
        }
        if self.pieces.is_empty() { iso_moment(text) } else { self.pattern_moment(text) }
    }

    fn pattern_moment(&self, text: &[u8]) -> Option<f64> {
        // Without separators, every number needs all of its digits. Programs that hold a column as
        // floating-point numbers write 20240229.0.
        let (text, least) = match self.is_digits() {
            true => (text.strip_suffix(b".0").unwrap_or(text), 2),
            false => (text, 1),
        };
        let mut rest = Cursor { text };
        let mut parts = MomentParts::default();
        for piece in &self.pieces {
            match *piece {
                Directive::Year => parts.year = rest.digits(4, 4)? as i32,
                Directive::ShortYear => {
                    let year = rest.digits(2, 2)? as i32;
                    // As in POSIX: 69 to 99 are in the twentieth century.
                    parts.year = year + if year < 69 { 2000 } else { 1900 };
                }
                Directive::Month => parts.month = rest.digits(least, 2)? as u8,
                Directive::MonthName => parts.month = rest.month_name()?,
                Directive::Day => parts.day = rest.digits(least, 2)? as u8,
                Directive::Hour => parts.hour = rest.digits(least, 2)?,
                Directive::HalfDayHour => {
                    parts.hour = rest.digits(least, 2).filter(|hour| (1..=12).contains(hour))? % 12;
                }
                Directive::Minute => parts.minute = rest.digits(2, 2)?,
                Directive::Second => parts.second = rest.digits(2, 2)?,
                Directive::Fraction => parts.fraction = rest.fraction()?,
                Directive::HalfDay => parts.half_day = 12 * rest.half_day()?,
                Directive::Offset => parts.offset = rest.offset()?,
                Directive::Literal(byte) => rest.literal(byte)?,
            }
        }
        if rest.text.is_empty() { parts.moment() } else { None }
    }
}

/// Reads ISO 8601.
fn iso_moment(text: &[u8]) -> Option<f64> {
    let mut rest = Cursor { text };
    let mut parts = MomentParts { year: rest.digits(4, 4)? as i32, ..MomentParts::default() };
    rest.literal(b'-')?;
    parts.month = rest.digits(2, 2)? as u8;
    rest.literal(b'-')?;
    parts.day = rest.digits(2, 2)? as u8;
    if rest.text.is_empty() {
        return parts.moment();
    }

    rest.literal(b'T').or_else(|| rest.literal(b' '))?;
    parts.hour = rest.digits(2, 2)?;
    rest.literal(b':')?;
    parts.minute = rest.digits(2, 2)?;
    if rest.literal(b':').is_some() {
        parts.second = rest.digits(2, 2)?;
        if rest.literal(b'.').or_else(|| rest.literal(b',')).is_some() {
            parts.fraction = rest.fraction()?;
        }
    }
    if !rest.text.is_empty() {
        let _ = rest.literal(b' ');
        parts.offset = rest.offset()?;
    }
    if rest.text.is_empty() { parts.moment() } else { None }
}

/// The numbers of a date and a time.
#[derive(Debug, Default)]
struct MomentParts {
    year: i32,
    month: u8,
    day: u8,
    hour: u32,
    /// 12 in the afternoon.
    half_day: u32,
    minute: u32,
    second: u32,
    fraction: f64,
    /// Seconds that the written time is ahead of universal time.
    offset: f64,
}

impl MomentParts {
    fn moment(&self) -> Option<f64> {
        let hour = self.hour + self.half_day;
        // A leap second is the 60th.
        if hour > 23 || self.minute > 59 || self.second > 60 {
            return None;
        }
        let date = CalendarDate::new(self.year, self.month, self.day)?;
        let seconds = hour * 3600 + self.minute * 60 + self.second;
        let day_start = date.day_number() as f64 * 86_400.0;
        Some(day_start + f64::from(seconds) - self.offset + self.fraction)
    }
}

/// The text that is still to be read.
struct Cursor<'a> {
    text: &'a [u8],
}

impl Cursor<'_> {
    /// A number of so many digits.
    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self.text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.text.split_at(count);
        self.text = rest;
        Some(digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
    }

    /// The digits after a decimal sign.
    fn fraction(&mut self) -> Option<f64> {
        let count = self.text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=18).contains(&count) {
            return None;
        }
        let (digits, rest) = self.text.split_at(count);
        self.text = rest;
        let number =
            digits.iter().fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0'));
        Some(number as f64 / 10_f64.powi(count as i32))
    }

    fn literal(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.text.split_first()?;
        (*first == byte).then(|| self.text = rest)
    }

    /// The number of a month by its English name, in full or in three letters.
    fn month_name(&mut self) -> Option<u8> {
        let count = self.text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = self.text.split_at(count);
        let at = MONTHS.iter().position(|month| {
            let month = month.as_bytes();
            word.eq_ignore_ascii_case(month) || word.eq_ignore_ascii_case(&month[..3])
        })?;
        self.text = rest;
        Some(at as u8 + 1)
    }

    /// 0 before noon, 1 after it.
    fn half_day(&mut self) -> Option<u32> {
        let (word, rest) = self.text.split_at_checked(2)?;
        let after = [&b"am"[..], b"pm"].iter().position(|name| word.eq_ignore_ascii_case(name))?;
        self.text = rest;
        Some(after as u32)
    }

    /// The offset from universal time in seconds: `Z`, `+01:00`, `+0100` or `+01`.
    fn offset(&mut self) -> Option<f64> {
        if self.literal(b'Z').is_some() {
            return Some(0.0);
        }
        let sign = match self.literal(b'+') {
            Some(()) => 1.0,
            None => {
                self.literal(b'-')?;
                -1.0
            }
        };
        let hours = self.digits(2, 2).filter(|hours| *hours < 24)?;
        let minutes = match self.literal(b':') {
            Some(()) => self.digits(2, 2)?,
            None => self.digits(2, 2).unwrap_or(0),
        };
        (minutes < 60).then(|| sign * f64::from(hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moment(format: &str, text: &str) -> Option<f64> {
        DateFormat::parse(format).unwrap().moment(text.as_bytes())
    }

    #[test]
    fn reads_iso_dates_and_times() {
        let noon = 1_709_208_000.0;
        for (text, expected) in [
            ("2024-02-29", noon - 43_200.0),
            ("2024-02-29T12:00", noon),
            ("2024-02-29 12:00:00", noon),
            ("2024-02-29T12:00:00.25", noon + 0.25),
            ("2024-02-29T12:00:00Z", noon),
            ("2024-02-29T14:00:00+02:00", noon),
            ("2024-02-29 07:30:00 -0430", noon),
            ("1969-12-31T23:59:59", -1.0),
        ] {
            assert_eq!(moment("iso", text), Some(expected), "{text}");
        }
        for text in [
            "2023-02-29",
            "2024-2-9",
            "2024-02-29T",
            "2024-02-29T25:00",
            "2024-02-29 12:00:00 CET",
            "2024-02-29x",
            "20240229",
            "",
        ] {
            assert_eq!(moment("iso", text), None, "{text}");
        }
    }

    #[test]
    fn reads_patterns() {
        let day = moment("iso", "2024-03-04");
        for (pattern, text) in [
            ("%d/%m/%Y", "04/03/2024"),
            ("%d/%m/%Y", "4/3/2024"),
            ("%m/%d/%y", "03/04/24"),
            ("%d %b %Y", "4 March 2024"),
            ("%b %d, %Y", "Mar 4, 2024"),
            ("%Y%m%d", "20240304"),
            ("%Y%m%d", "20240304.0"),
            ("%y%m%d", "240304"),
        ] {
            assert_eq!(moment(pattern, text), day, "{pattern} {text}");
        }
        let afternoon = moment("iso", "2024-03-04T15:05:00");
        assert_eq!(moment("%m/%d/%Y %I:%M %p", "3/4/2024 3:05 PM"), afternoon);
        assert_eq!(moment("%m/%d/%Y %I:%M %p", "3/4/2024 13:05 PM"), None);
        assert_eq!(moment("%d/%m/%Y", "31/02/2024"), None);
        assert_eq!(moment("%Y%m%d", "2024034"), None);
        for pattern in ["%d/%m", "%Y-%m-%d %q", "%Y-%m-%d %", "%Y %Y %m %d", "day"] {
            assert!(DateFormat::parse(pattern).is_err(), "{pattern}");
        }
        assert!(DateChoice::parse("%x").unwrap_err().contains("%d/%m/%Y"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            for format in DateChoice::Auto.candidates() {
                let _ = format.moment(&text);
            }
            let _ = DateFormat::parse(&String::from_utf8_lossy(&text));
        }

        #[test]
        fn reads_every_day(number in -700_000_i64..2_900_000) {
            let date = CalendarDate::from_day_number(number).to_string();
            prop_assert_eq!(moment("iso", &date), Some(number as f64 * 86_400.0));
        }
    }
}
