//! Whether a column holds dates: which ways of writing fit all of its cells, and which parts of the
//! dates differ between rows.

use std::ops::ControlFlow;

use swarmwood_model::{CalendarDate, DateColumn, DatePart};

use super::date_format::{DateChoice, DateFormat};

/// A column being looked at.
#[derive(Debug)]
pub(super) struct DateProbe {
    /// The formats that fit all cells so far.
    candidates: Vec<FormatStats>,
    /// The format that decides if several fit.
    given: Option<DateFormat>,
    /// The first text, for messages.
    pub(super) example: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
struct FormatStats {
    format: DateFormat,
    /// By part, the least and the greatest value.
    ranges: [(f64, f64); DatePart::ALL.len()],
    /// Whether there is a time other than midnight.
    has_time: bool,
}

/// The day that `elapsed` is counted from while the first day is not known.
fn unix_epoch() -> CalendarDate {
    CalendarDate::from_day_number(0)
}

/// What a column is found to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProbeOutcome {
    /// Dates.
    Dates(DateColumn),
    /// Dates that are all the same.
    Constant,
    /// Two ways of writing fit all cells.
    Ambiguous(String, String),
    /// There are no values.
    Empty,
}

impl DateProbe {
    pub(super) fn new(choice: &DateChoice) -> DateProbe {
        let candidate = |format| FormatStats {
            format,
            ranges: [(f64::INFINITY, f64::NEG_INFINITY); DatePart::ALL.len()],
            has_time: false,
        };
        DateProbe {
            candidates: choice.candidates().into_iter().map(candidate).collect(),
            given: match choice {
                DateChoice::Format(format) => Some(format.clone()),
                DateChoice::Auto | DateChoice::Ignore => None,
            },
            example: None,
        }
    }

    /// Whether a text is a date in any way of writing.
    pub(super) fn accepts(choice: &DateChoice, text: &[u8]) -> bool {
        choice.candidates().iter().any(|format| format.moment(text).is_some())
    }

    /// Notes a text; `Break` if no format fits it beside those before.
    pub(super) fn note_text(&mut self, text: &[u8]) -> ControlFlow<()> {
        if self.example.is_none() {
            self.example = Some(text.to_vec());
        }
        let mut remaining = 0;
        for at in 0..self.candidates.len() {
            let Some(moment) = self.candidates[at].format.moment(text) else { continue };
            self.candidates.swap(remaining, at);
            self.candidates[remaining].note(moment);
            remaining += 1;
        }
        if remaining == 0 {
            return ControlFlow::Break(());
        }
        self.candidates.truncate(remaining);
        ControlFlow::Continue(())
    }

    /// Notes a moment of a typed column.
    pub(super) fn note_moment(&mut self, moment: f64) {
        self.candidates.retain(|candidate| candidate.format == DateFormat::iso());
        self.candidates.iter_mut().for_each(|candidate| candidate.note(moment));
    }

    /// What the column is, after all cells.
    pub(super) fn finish(&self, name: &str) -> ProbeOutcome {
        let Some(found) = self.candidates.first() else { return ProbeOutcome::Empty };
        let (least, greatest) = found.ranges[DatePart::Elapsed as usize];
        if least > greatest {
            return ProbeOutcome::Empty;
        }
        let is_given = self.given.as_ref() == Some(&found.format);
        if let Some(other) = self.candidates.get(1).filter(|_| !is_given) {
            let (one, other) = (found.format.name(), other.format.name());
            return ProbeOutcome::Ambiguous(one.to_string(), other.to_string());
        }
        let differs = |part: &DatePart| {
            let (least, greatest) = found.ranges[*part as usize];
            least < greatest && (*part != DatePart::Hour || found.has_time)
        };
        let parts: Vec<DatePart> = DatePart::ALL.into_iter().filter(differs).collect();
        if parts.is_empty() {
            return ProbeOutcome::Constant;
        }
        ProbeOutcome::Dates(DateColumn {
            name: name.to_string(),
            format: found.format.name().to_string(),
            origin: CalendarDate::from_day_number(least.floor() as i64),
            parts,
        })
    }
}

impl FormatStats {
    fn note(&mut self, moment: f64) {
        for (part, (least, greatest)) in DatePart::ALL.into_iter().zip(&mut self.ranges) {
            let value = part.of(moment, unix_epoch());
            *least = least.min(value);
            *greatest = greatest.max(value);
        }
        self.has_time |= moment.rem_euclid(86_400.0) != 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(choice: &DateChoice, texts: &[&str]) -> Option<ProbeOutcome> {
        let mut probe = DateProbe::new(choice);
        for text in texts {
            if probe.note_text(text.as_bytes()).is_break() {
                return None;
            }
        }
        Some(probe.finish("d"))
    }

    fn dates(texts: &[&str]) -> Option<(String, String, String)> {
        match outcome(&DateChoice::Auto, texts)? {
            ProbeOutcome::Dates(date) => {
                let parts: Vec<&str> = date.parts.iter().map(|part| part.name()).collect();
                Some((date.format, date.origin.to_string(), parts.join(" ")))
            }
            _ => None,
        }
    }

    #[test]
    fn finds_the_format_the_origin_and_the_parts() {
        let found = |format: &str, origin: &str, parts: &str| {
            Some((format.to_string(), origin.to_string(), parts.to_string()))
        };
        assert_eq!(
            dates(&["2024-03-05", "2023-01-31"]),
            found("iso", "2023-01-31", "year month elapsed")
        );
        assert_eq!(
            dates(&["2024-03-05T10:00", "2024-03-06T11:30"]),
            found("iso", "2024-03-05", "day_of_week hour elapsed")
        );
        assert_eq!(
            dates(&["03/04/2024", "31/04/2024", "30/04/2024"]),
            None,
            "the 31st of April does not exist"
        );
        assert_eq!(
            dates(&["03/04/2024", "30/04/2024"]),
            found("%d/%m/%Y", "2024-04-03", "day_of_week elapsed")
        );
        assert_eq!(
            dates(&["1/31/24 5:00 PM", "2/1/24 6:30 AM"]),
            found("%m/%d/%y %I:%M %p", "2024-01-31", "month day_of_week hour elapsed")
        );
    }

    #[test]
    fn a_given_format_decides() {
        let texts = ["03/04/2024", "05/06/2024"];
        let ambiguous = ProbeOutcome::Ambiguous("%d/%m/%Y".into(), "%m/%d/%Y".into());
        assert_eq!(outcome(&DateChoice::Auto, &texts), Some(ambiguous));
        let given = DateChoice::parse("%m/%d/%Y").unwrap();
        let Some(ProbeOutcome::Dates(found)) = outcome(&given, &texts) else { panic!("dates") };
        assert_eq!(
            (found.format.as_str(), found.origin.to_string()),
            ("%m/%d/%Y", "2024-03-04".into())
        );

        // Columns that are written otherwise are recognised as without it.
        let Some(ProbeOutcome::Dates(found)) = outcome(&given, &["2024-01-02", "2024-02-02"])
        else {
            panic!("dates")
        };
        assert_eq!(found.format, "iso");
    }

    #[test]
    fn one_date_is_constant_and_words_are_no_dates() {
        assert_eq!(outcome(&DateChoice::Auto, &["2024-01-01"; 3]), Some(ProbeOutcome::Constant));
        assert_eq!(outcome(&DateChoice::Auto, &["2024-01-01", "soon"]), None);
        assert_eq!(outcome(&DateChoice::Auto, &[]), Some(ProbeOutcome::Empty));
    }
}
