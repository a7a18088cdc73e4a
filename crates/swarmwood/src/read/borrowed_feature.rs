//! The features of a borrowed table: which column they come from, and how.

use swarmwood_model::{CalendarDate, DateColumn, DatePart};

use super::borrowed::{Columns, RowSelection, TableColumn, runs};
use super::cells::DatePartReader;
use super::date_format::{DateChoice, DateFormat};
use super::date_probe::{DateProbe, ProbeOutcome};

/// Where the values of a feature are.
#[derive(Debug)]
pub(super) struct BorrowedFeature {
    /// The caller's column.
    pub(super) column: usize,
    /// For categories: from the caller's codes to the schema's.
    pub(super) codes: Option<Vec<u32>>,
    /// For dates: which part.
    pub(super) date: Option<DatePartReader>,
}

impl BorrowedFeature {
    pub(super) fn numbers(column: usize) -> BorrowedFeature {
        BorrowedFeature { column, codes: None, date: None }
    }

    pub(super) fn codes(column: usize, map: Vec<u32>) -> BorrowedFeature {
        BorrowedFeature { column, codes: Some(map), date: None }
    }

    pub(super) fn date(column: usize, date: &DateColumn, part: DatePart) -> BorrowedFeature {
        let date = Some(DatePartReader::new(date, part));
        BorrowedFeature { column, codes: None, date }
    }
}

/// What a column of dates is expanded to. A column whose dates are all the same has one part, so
/// that the caller's columns stay the inputs of the model.
pub(super) fn date_column(columns: &dyn Columns, feature: usize, name: &str) -> DateColumn {
    let mut probe = DateProbe::new(&DateChoice::Auto);
    let mut moments = Vec::new();
    for run in runs(columns.rows(), 1) {
        moments.clear();
        columns.numbers(TableColumn::Feature(feature), &RowSelection::Range(run), &mut moments);
        let known = moments.iter().copied().filter(|moment| moment.is_finite());
        known.for_each(|moment| probe.note_moment(moment));
    }
    match probe.finish(name) {
        ProbeOutcome::Dates(date) => date,
        _ => DateColumn {
            name: name.to_string(),
            format: DateFormat::iso().name().to_string(),
            origin: CalendarDate::from_day_number(0),
            parts: vec![DatePart::Elapsed],
        },
    }
}
