//! Columns of dates, which a model sees as numbers: year, month, day of the week, hour, and the days
//! since an origin.

use std::fmt;

/// Seconds of a day.
const DAY_SECONDS: f64 = 86_400.0;

/// An input column of dates or times that is expanded to features. The feature of a part is called
/// by the column and the part, such as `sold.month`.
#[derive(Debug, Clone, PartialEq)]
pub struct DateColumn {
    /// The column's name in the training data.
    pub name: String,
    /// How texts are written: `iso`, or a pattern such as `%d/%m/%Y`.
    pub format: String,
    /// The day that `elapsed` counts from.
    pub origin: CalendarDate,
    /// The parts that are features, in their order.
    pub parts: Vec<DatePart>,
}

/// What a feature says about a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DatePart {
    /// The year.
    Year,
    /// The month, from 1 to 12.
    Month,
    /// The day of the week: 0 is Monday, 6 is Sunday.
    DayOfWeek,
    /// The hour, from 0 to 23.
    Hour,
    /// The days since the origin, with the time of the day as a fraction.
    Elapsed,
}

impl DatePart {
    /// All parts, in the order of their features.
    pub const ALL: [DatePart; 5] =
        [DatePart::Year, DatePart::Month, DatePart::DayOfWeek, DatePart::Hour, DatePart::Elapsed];

    /// The name in files and features.
    pub fn name(self) -> &'static str {
        match self {
            DatePart::Year => "year",
            DatePart::Month => "month",
            DatePart::DayOfWeek => "day_of_week",
            DatePart::Hour => "hour",
            DatePart::Elapsed => "elapsed",
        }
    }

    /// The part with a name.
    pub fn from_name(name: &str) -> Option<DatePart> {
        DatePart::ALL.into_iter().find(|part| part.name() == name)
    }

    /// The part of a moment, given in seconds since the start of 1970; NaN of NaN.
    ///
    /// ```
    /// use swarmwood_model::{CalendarDate, DatePart};
    ///
    /// let day = CalendarDate::new(2024, 2, 29).ok_or("no such day")?;
    /// let noon = 86_400.0 * day.day_number() as f64 + 43_200.0;
    /// assert_eq!(DatePart::DayOfWeek.of(noon, day), 3.0);
    /// assert_eq!(DatePart::Elapsed.of(noon, day), 0.5);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn of(self, seconds: f64, origin: CalendarDate) -> f64 {
        if !seconds.is_finite() {
            return f64::NAN;
        }
        let day = (seconds / DAY_SECONDS).floor();
        match self {
            DatePart::Year => f64::from(CalendarDate::from_day_number(day as i64).year),
            DatePart::Month => f64::from(CalendarDate::from_day_number(day as i64).month),
            // The first day of 1970 was a Thursday.
            DatePart::DayOfWeek => (day + 3.0).rem_euclid(7.0),
            DatePart::Hour => ((seconds - day * DAY_SECONDS) / 3600.0).floor().min(23.0),
            DatePart::Elapsed => seconds / DAY_SECONDS - origin.day_number() as f64,
        }
    }
}

impl DateColumn {
    /// The name of the feature of a part.
    pub fn feature_name(&self, part: DatePart) -> String {
        format!("{}.{}", self.name, part.name())
    }
}

/// A day of the Gregorian calendar, which is extended to all years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalendarDate {
    year: i32,
    month: u8,
    day: u8,
}

impl CalendarDate {
    /// The day, if there is such a day; years go from 0 to 9999.
    pub fn new(year: i32, month: u8, day: u8) -> Option<CalendarDate> {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        let exists = (0..=9999).contains(&year) && (1..=days).contains(&day);
        exists.then_some(CalendarDate { year, month, day })
    }

    /// Reads `2024-02-29`.
    pub fn parse(text: &str) -> Option<CalendarDate> {
        let bytes = text.as_bytes();
        if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
            return None;
        }
        let number = |digits: &[u8]| {
            digits.iter().try_fold(0_i32, |number, digit| {
                digit.is_ascii_digit().then(|| number * 10 + i32::from(digit - b'0'))
            })
        };
        let (year, month, day) =
            (number(&bytes[..4])?, number(&bytes[5..7])?, number(&bytes[8..])?);
        CalendarDate::new(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?)
    }

    /// Days since the start of 1970, by the algorithm of Howard Hinnant (`days_from_civil`).
    pub fn day_number(self) -> i64 {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        // The year begins in March, so that the leap day is its last one.
        let year = i64::from(self.year) - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    /// The inverse of [`CalendarDate::day_number`]; days outside the years 0 to 9999 become the
    /// nearest day inside.
    pub fn from_day_number(number: i64) -> CalendarDate {
        let shifted = number.clamp(-719_528, 2_932_896) + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        CalendarDate { year: year as i32, month: month as u8, day: day as u8 }
    }
}

impl fmt::Display for CalendarDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers_are_those_of_the_calendar() {
        for (text, number) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-03-01", 11_017),
            ("2024-02-29", 19_782),
            ("0000-01-01", -719_528),
            ("9999-12-31", 2_932_896),
        ] {
            let date = CalendarDate::parse(text).unwrap();
            assert_eq!(date.day_number(), number, "{text}");
            assert_eq!(CalendarDate::from_day_number(number).to_string(), text);
        }
        let mut expected = CalendarDate::parse("1899-12-31").unwrap();
        for number in expected.day_number()..CalendarDate::parse("2101-01-01").unwrap().day_number()
        {
            let date = CalendarDate::from_day_number(number);
            assert_eq!((date, date.day_number()), (expected, number));
            let CalendarDate { year, month, day } = date;
            expected = CalendarDate::new(year, month, day + 1)
                .or_else(|| CalendarDate::new(year, month + 1, 1))
                .unwrap_or(CalendarDate { year: year + 1, month: 1, day: 1 });
        }
    }

    #[test]
    fn refuses_days_that_do_not_exist() {
        for text in ["2023-02-29", "2024-13-01", "2024-00-10", "2024-01-32", "24-01-01", "x"] {
            assert_eq!(CalendarDate::parse(text), None, "{text}");
        }
    }

    #[test]
    fn parts_of_moments_before_and_after_1970() {
        let origin = CalendarDate::parse("1970-01-01").unwrap();
        let parts = |seconds: f64| DatePart::ALL.map(|part| part.of(seconds, origin));
        assert_eq!(parts(0.0), [1970.0, 1.0, 3.0, 0.0, 0.0]);
        assert_eq!(parts(-1800.0), [1969.0, 12.0, 2.0, 23.0, -1800.0 / DAY_SECONDS]);
        assert!(parts(f64::NAN).iter().all(|part| part.is_nan()));
    }
}
