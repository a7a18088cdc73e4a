//! Tests of the whole way from bytes to rows.

mod bad_input;
mod borrowed;
mod dates;
mod known_schema;
#[cfg(feature = "parquet")]
mod parquet_files;
mod several_targets;
mod stored_rows;
mod text_format;
mod types;

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_model::{Kind, TargetKind};

use super::source::RereadableSource;
use super::stored_rows::RetentionLimits;
use super::{ReadOptions, Rows, Source};
use crate::{Error, Result};

/// A source that lives as long as the test run.
fn source(text: impl Into<Vec<u8>>) -> Source {
    Source::Bytes(String::from("t.csv"), Vec::leak(text.into()))
}

fn target(name: &str) -> ReadOptions {
    ReadOptions { target: name.into(), ..ReadOptions::default() }
}

fn training(text: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<Rows> {
    super::training(&source(text), options)
}

/// Training with other limits than usual.
fn training_within(text: &str, options: &ReadOptions, limits: RetentionLimits) -> Result<Rows> {
    super::schema_inference::read_training(
        RereadableSource::new(&source(text), usize::MAX - 1)?,
        options,
        limits,
    )
}

/// All rows in one chunk.
fn whole(rows: &Rows) -> Chunk {
    let mut whole = Chunk::default();
    rows.for_each_chunk(&mut |chunk| {
        assert!(chunk.rows > 0);
        if whole.columns.is_empty() {
            whole = chunk.clone();
            return Ok(());
        }
        for (column, more) in whole.columns.iter_mut().zip(&chunk.columns) {
            super::sample::append(column, more.clone());
        }
        whole.target.extend(&chunk.target);
        whole.weight.extend(&chunk.weight);
        whole.rows += chunk.rows;
        Ok(())
    })
    .unwrap();
    assert_eq!(whole.rows, rows.rows);
    whole
}

/// A chunk in a form that can be compared: missing numbers are equal to each other.
fn comparable(chunk: &Chunk) -> (Vec<Vec<u64>>, Vec<u64>, Vec<u64>) {
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
    let column = |column: &Column| match column {
        Column::Number(values) => bits(values),
        Column::Category(codes) => codes.iter().map(|&code| u64::from(code)).collect(),
    };
    (chunk.columns.iter().map(column).collect(), bits(&chunk.target), bits(&chunk.weight))
}

fn numbers(chunk: &Chunk, column: usize) -> &[f64] {
    match &chunk.columns[column] {
        Column::Number(values) => values,
        Column::Category(_) => panic!("column {column} holds categories"),
    }
}

fn codes(chunk: &Chunk, column: usize) -> &[u32] {
    match &chunk.columns[column] {
        Column::Category(codes) => codes,
        Column::Number(_) => panic!("column {column} holds numbers"),
    }
}

fn levels(rows: &Rows, feature: usize) -> Vec<&str> {
    match &rows.schema.features[feature].kind {
        Kind::Category { levels } => levels.iter().map(String::as_str).collect(),
        Kind::Number => panic!("feature {feature} is a number"),
    }
}

fn classes(rows: &Rows) -> Vec<&str> {
    match &rows.schema.target.kind {
        TargetKind::Classes(classes) => classes.iter().map(String::as_str).collect(),
        TargetKind::Number | TargetKind::Numbers(_) => Vec::new(),
    }
}

/// The message of a failure, which must be one for exit code 2.
fn failure<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error: Error = result.unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    let text = error.to_string();
    assert!(!text.contains("panicked"), "{text}");
    text
}
