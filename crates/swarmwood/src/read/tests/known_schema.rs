//! Validation, test and prediction files against the schema of the training file.

use swarmwood_learn::data::MISSING;

use super::super::{matching, scoring};
use super::*;

const TRAIN: &str = "a,k,y\n1,red,no\n2,blue,yes\n3,red,no\n";

fn schema() -> swarmwood_model::Schema {
    training(TRAIN, &target("y")).unwrap().schema
}

fn score(text: &str) -> Result<(Chunk, Vec<String>)> {
    let mut found = Chunk::default();
    let warnings = scoring(&source(text), &schema(), &ReadOptions::default(), &mut |chunk| {
        found = chunk.clone();
        Ok(())
    })?;
    Ok((found, warnings))
}

#[test]
fn columns_are_matched_by_name() {
    let rows = matching(&source("y,extra,k,a\nyes,?,blue,7\nno,1,red,\n"), &schema(), &target("y"))
        .unwrap();
    let chunk = whole(&rows);
    assert_eq!((numbers(&chunk, 0)[0], codes(&chunk, 1)), (7.0, &[0, 1][..]));
    assert!(numbers(&chunk, 0)[1].is_nan());
    assert_eq!(chunk.target, [1.0, 0.0]);
    assert_eq!(rows.warnings.len(), 1);
    assert!(rows.warnings[0].contains("another order"), "{:?}", rows.warnings);
}

#[test]
fn prediction_needs_no_target_and_keeps_every_row() {
    let (chunk, warnings) = score("a,k\n1,red\n,\n").unwrap();
    assert_eq!((chunk.rows, codes(&chunk, 1), chunk.target.len()), (2, &[1, MISSING][..], 0));
    assert!(warnings.is_empty(), "{warnings:?}");
    let (chunk, _) = score("a,k,y\n1,red,\n2,blue,what\n").unwrap();
    assert_eq!((chunk.rows, chunk.target.len()), (2, 0));
    let (chunk, warnings) = score("a,k\n").unwrap();
    assert_eq!(chunk.rows, 0);
    assert!(warnings[0].contains("no rows"), "{warnings:?}");
}

#[test]
fn missing_columns_are_all_named() {
    let message = failure(score("x,y\n1,2\n"));
    assert!(message.contains("no feature columns 'a', 'k'"), "{message}");
    let message = failure(matching(&source("a,k\n1,red\n"), &schema(), &target("y")));
    assert!(message.contains("no target column 'y'"), "{message}");
}

#[test]
fn a_word_where_numbers_were_is_an_error() {
    let message = failure(score("a,k\n1,red\none,red\n"));
    assert!(message.contains("t.csv:3: column 'a': 'one' is not a number"), "{message}");
}

#[test]
fn unseen_levels_are_missing_with_one_warning_a_column() {
    let (chunk, warnings) = score("a,k\n1,green\n2,3\n3,blue\n").unwrap();
    assert_eq!(codes(&chunk, 1), [MISSING, MISSING, 0]);
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(
        warning.contains("column 'k': 2 cells hold") && warning.contains("'green' on line 2"),
        "{warning}"
    );
}

#[test]
fn unknown_labels_are_an_error() {
    let message =
        failure(matching(&source("a,k,y\n1,red,no\n1,red,maybe\n"), &schema(), &target("y")));
    assert!(
        message.contains("t.csv:3: column 'y': 'maybe' is not one of the classes"),
        "{message}"
    );
    let message = failure(matching(&source("a,k,y\n1,red,\n"), &schema(), &target("y")));
    assert!(message.contains("missing in all 1 rows"), "{message}");
}

#[test]
fn labels_may_be_spelled_another_way() {
    let schema = training("a,y\n1,0\n2,1\n", &target("y")).unwrap().schema;
    let rows = matching(&source("a,y\n1,1.0\n2,0.0\n"), &schema, &ReadOptions::default()).unwrap();
    assert_eq!(whole(&rows).target, [1.0, 0.0]);
}

#[test]
fn the_target_may_have_another_name() {
    let rows = matching(&source("a,k,truth\n1,red,yes\n"), &schema(), &target("truth")).unwrap();
    assert_eq!(whole(&rows).target, [1.0]);
}
