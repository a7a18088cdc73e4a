//! Columns of dates become features of numbers, in training and for a known schema.

use super::super::{DateChoice, matching, scoring};
use super::*;

fn names(rows: &Rows) -> Vec<&str> {
    rows.schema.features.iter().map(|feature| feature.name.as_str()).collect()
}

const SALES: &str = "sold,a,y\n2024-03-05,1,1\n2023-01-31,2,2\n,3,3\n2024-03-04,4,4\n";

#[test]
fn dates_are_expanded_and_read_again_in_the_same_way() {
    let rows = training(SALES, &target("y")).unwrap();
    assert_eq!(names(&rows), ["sold.year", "sold.month", "sold.day_of_week", "sold.elapsed", "a"]);
    assert_eq!(rows.schema.input_columns(), ["sold", "a"]);
    let chunk = whole(&rows);
    assert_eq!(numbers(&chunk, 2)[..2], [1.0, 1.0]);
    assert!(numbers(&chunk, 3)[2].is_nan());
    assert_eq!((numbers(&chunk, 3)[0], numbers(&chunk, 3)[3]), (399.0, 398.0));
    assert_eq!(rows.warnings, Vec::<String>::new());

    let again = matching(&source(SALES), &rows.schema, &ReadOptions::default()).unwrap();
    assert_eq!(comparable(&whole(&again)), comparable(&chunk));
}

#[test]
fn rows_that_are_read_again_are_the_same() {
    let lines =
        (0..400).map(|row| format!("2024-01-{:02} {:02}:00,{row}\n", row % 28 + 1, row % 24));
    let text = format!("d,y\n{}", lines.collect::<String>());
    let limits = RetentionLimits { bytes: 100, sample: 50 };
    let streamed = training_within(&text, &target("y"), limits).unwrap();
    assert!(streamed.is_streamed());
    assert_eq!(names(&streamed), ["d.day_of_week", "d.hour", "d.elapsed"]);
    let stored = training(text, &target("y")).unwrap();
    assert_eq!(comparable(&whole(&streamed)), comparable(&whole(&stored)));
}

#[test]
fn another_spelling_of_dates_and_other_columns_do_not_matter_to_a_model() {
    let schema = training(SALES, &target("y")).unwrap().schema;
    let mut found = Vec::new();
    let text = "a,other,sold\n7,x,2025-01-01T06:00\n";
    scoring(&source(text), &schema, &ReadOptions::default(), &mut |chunk| {
        found.push(numbers(chunk, 3)[0]);
        Ok(())
    })
    .unwrap();
    assert_eq!(found, [701.25]);

    let bad = "sold,a\nyesterday,1\n";
    let message = failure(scoring(&source(bad), &schema, &ReadOptions::default(), &mut |_| Ok(())));
    assert!(message.contains("t.csv:2: column 'sold': 'yesterday' is not a date"), "{message}");
    let message =
        failure(scoring(&source("a\n1\n"), &schema, &ReadOptions::default(), &mut |_| Ok(())));
    assert!(message.contains("no feature column 'sold'"), "{message}");
}

#[test]
fn rows_decide_between_day_and_month() {
    let clear = training("d,y\n03/04/2024,1\n25/12/2024,2\n", &target("y")).unwrap();
    assert_eq!(clear.schema.dates[0].format, "%d/%m/%Y");
    assert!(clear.warnings[0].contains("'03/04/2024' is read as a date (%d/%m/%Y)"));

    let text = "d,y\n03/04/2024,1\n05/06/2024,2\n";
    let open = training(text, &target("y")).unwrap();
    assert_eq!(levels(&open, 0).len(), 2);
    let warning = open.warnings.iter().find(|warning| warning.contains("--dates")).unwrap();
    assert!(warning.contains("could be %d/%m/%Y or %m/%d/%Y"), "{warning}");

    let dates = DateChoice::parse("%m/%d/%Y").unwrap();
    let given = training(text, &ReadOptions { dates, ..target("y") }).unwrap();
    assert_eq!(given.schema.dates[0].origin.to_string(), "2024-03-04");
}

#[test]
fn dates_can_be_left_out_or_be_categories() {
    let ignore = ReadOptions { dates: DateChoice::Ignore, ..target("y") };
    let rows = training(SALES, &ignore).unwrap();
    assert_eq!(names(&rows), ["a"]);
    assert!(rows.warnings[0].contains("column 'sold': holds dates and is left out"));

    let options = ReadOptions { categorical: vec!["sold".into()], ..target("y") };
    let rows = training(SALES, &options).unwrap();
    assert_eq!(levels(&rows, 0), ["2023-01-31", "2024-03-04", "2024-03-05"]);

    let message = failure(training("d,y\n2024-01-01,1\n2024-01-01,2\n", &target("y")));
    assert!(message.contains("no feature column is left"), "{message}");
}

#[test]
fn a_word_among_dates_makes_categories() {
    let late: String =
        (0..20_000).map(|row| format!("2024-01-{:02},{row}\n", row % 28 + 1)).collect();
    let text = format!("d,y\n{late}soon,1\n");
    let rows = training(text, &target("y")).unwrap();
    assert_eq!(levels(&rows, 0).len(), 29);
    assert!(rows.schema.dates.is_empty());
}

#[test]
fn a_part_must_not_be_called_as_a_column() {
    let text = "d,d.month,y\n2024-01-01,1,1\n2024-02-01,2,2\n";
    let message = failure(training(text, &target("y")));
    assert!(message.contains("column 'd': is a date, and a part of it is called 'd.month'"));
}
