//! What the target column turns out to be.

use std::collections::HashMap;

use swarmwood_model::TargetKind;

use super::cells::ColumnBuffer;
use super::frame::{ChunkFrame, MOST_CLASSES, Slot};
use super::levels::{KnownLevels, LevelStats, bits};
use super::location::{SourceLocation, listed, shown};
use super::{ReadOptions, TaskChoice, token};
use crate::{Error, Result};

/// At most this many whole numbers, each of them often, look like codes of classes.
const MOST_CLASS_CODES: usize = 20;

/// More classes than this, or than one in so many rows, are asked about.
const MANY_CLASSES: usize = 50;
const ROWS_PER_CLASS: usize = 20;

/// So many classes are usual in any table.
const FEW_CLASSES: usize = 10;

/// The target's kind, and how the values read so far become those of the kind.
#[derive(Debug)]
pub(super) struct TargetResolution {
    pub(super) kind: TargetKind,
    pub(super) map: TargetMap,
}

/// How a target value changes once the classes are known.
#[derive(Debug)]
pub(super) enum TargetMap {
    /// Not at all.
    Same,
    /// The code of a text becomes a class.
    Codes(Vec<u32>),
    /// A number becomes a class.
    Values(HashMap<u64, u32>),
}

impl TargetMap {
    pub(super) fn apply(&self, value: f64) -> f64 {
        match self {
            TargetMap::Same => value,
            TargetMap::Codes(codes) => f64::from(codes[value as usize]),
            // Every value of the column was entered when the classes were found.
            TargetMap::Values(classes) => {
                classes.get(&bits(value)).map_or(f64::NAN, |&class| f64::from(class))
            }
        }
    }
}

/// Determines the task after all rows have been read.
pub(super) fn resolve(
    frame: &mut ChunkFrame,
    options: &ReadOptions,
    rows: usize,
    warnings: &mut Vec<String>,
) -> Result<TargetResolution> {
    let location = frame.location.clone();
    let distinct = std::mem::take(&mut frame.distinct);
    // Schema inference always has a target; without one there is nothing to resolve.
    let Some((slot, cells)) = frame.target.take() else {
        return Ok(TargetResolution { kind: TargetKind::Number, map: TargetMap::Same });
    };
    let resolved = match cells {
        ColumnBuffer::Growing { levels, .. } => {
            let column = TargetColumn { options, location: &location, slot: &slot };
            classes_of_texts(levels.into_names(), column, rows, warnings)?
        }
        _ => {
            let column = TargetColumn { options, location: &location, slot: &slot };
            numbers(distinct, column, rows, warnings)?
        }
    };
    if let (Some(positive), TargetKind::Number) = (&options.positive, &resolved.kind) {
        let message = format!("there is no positive class '{positive}' in a regression");
        let help = "drop the positive class, or ask for classification (--task classification)";
        return Err(location.column(&slot.name, message, help));
    }
    Ok(resolved)
}

/// The target column, for messages, and how it is to be read.
#[derive(Clone, Copy)]
struct TargetColumn<'a> {
    options: &'a ReadOptions,
    location: &'a SourceLocation,
    slot: &'a Slot,
}

fn numbers(
    distinct: HashMap<u64, String>,
    column: TargetColumn<'_>,
    rows: usize,
    warnings: &mut Vec<String>,
) -> Result<TargetResolution> {
    let TargetColumn { options, location, slot } = column;
    if options.task == TaskChoice::Regression {
        return Ok(TargetResolution { kind: TargetKind::Number, map: TargetMap::Same });
    }
    if distinct.len() == 1 {
        return Err(one_value(location, slot, distinct.values().next().map_or("", String::as_str)));
    }
    if options.task == TaskChoice::Auto && distinct.len() != 2 {
        let whole = distinct.keys().all(|&bits| f64::from_bits(bits).fract() == 0.0);
        if whole && distinct.len() <= MOST_CLASS_CODES && rows >= 10 * distinct.len() {
            warnings.push(format!(
                "{}: column '{}': the target has {} different whole numbers; regression is assumed (ask for \
                 classification with --task classification if they are classes)",
                location.file,
                slot.name,
                distinct.len()
            ));
        }
        return Ok(TargetResolution { kind: TargetKind::Number, map: TargetMap::Same });
    }
    if distinct.len() > MOST_CLASSES {
        return Err(too_many(
            location,
            slot,
            "ask for regression (--task regression) if the numbers are amounts",
        ));
    }
    let mut classes: Vec<(f64, String)> =
        distinct.into_iter().map(|(bits, name)| (f64::from_bits(bits), name)).collect();
    classes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (values, mut names): (Vec<f64>, Vec<String>) = classes.into_iter().unzip();
    let order = positive_last(&mut names, column)?;
    let map =
        order.iter().enumerate().map(|(class, &old)| (bits(values[old]), class as u32)).collect();
    Ok(TargetResolution { kind: TargetKind::Classes(names), map: TargetMap::Values(map) })
}

fn classes_of_texts(
    seen: Vec<(String, LevelStats)>,
    column: TargetColumn<'_>,
    rows: usize,
    warnings: &mut Vec<String>,
) -> Result<TargetResolution> {
    let TargetColumn { location, slot, options } = column;
    if let [(name, _)] = &seen[..] {
        return Err(one_value(location, slot, name));
    }
    let value = |name: &str| token::number(name.as_bytes());
    let first_word =
        seen.iter().filter(|(name, _)| value(name).is_none()).min_by_key(|(_, seen)| seen.first);
    let total: u64 = seen.iter().map(|(_, seen)| seen.count).sum();
    let words: u64 =
        seen.iter().filter(|(name, _)| value(name).is_none()).map(|(_, seen)| seen.count).sum();
    if let Some((name, first)) = first_word.filter(|_| words * 10 < total) {
        let shown = shown(name.as_bytes());
        if seen.len() > MOST_CLASSES {
            let help = "correct the cell, or remove the row";
            return Err(location.cell(
                first.first,
                &slot.name,
                format!("the target '{shown}' is not a number"),
                help,
            ));
        }
        warnings.push(format!(
            "{}: column '{}': the target is taken as classes because of texts such as '{shown}' on {}; the rest are \
             numbers",
            location.file,
            slot.name,
            location.name(first.first)
        ));
    }
    if seen.len() > MOST_CLASSES {
        return Err(too_many(location, slot, "name another target, or group its values"));
    }
    if options.task == TaskChoice::Auto && are_doubtful(seen.len(), rows) {
        return Err(doubtful_classes(&seen, location, slot, rows));
    }
    let mut by_name: Vec<usize> = (0..seen.len()).collect();
    if first_word.is_none() {
        let key = |index: usize| value(&seen[index].0).unwrap_or(0.0);
        by_name.sort_by(|&a, &b| key(a).total_cmp(&key(b)).then_with(|| seen[a].0.cmp(&seen[b].0)));
    } else {
        by_name.sort_by(|&a, &b| seen[a].0.cmp(&seen[b].0));
    }
    let mut names: Vec<String> = by_name.iter().map(|&index| seen[index].0.clone()).collect();
    let order = positive_last(&mut names, column)?;
    let mut codes = vec![0; seen.len()];
    for (class, &position) in order.iter().enumerate() {
        codes[by_name[position]] = class as u32;
    }
    Ok(TargetResolution { kind: TargetKind::Classes(names), map: TargetMap::Codes(codes) })
}

/// Moves the positive class to the second place; returns the old position of each class.
fn positive_last(names: &mut [String], column: TargetColumn<'_>) -> Result<Vec<usize>> {
    let TargetColumn { options, location, slot } = column;
    let mut order: Vec<usize> = (0..names.len()).collect();
    let Some(positive) = &options.positive else { return Ok(order) };
    if names.len() != 2 {
        let message =
            format!("a positive class ('{positive}') needs two classes, here are {}", names.len());
        return Err(location.column(
            &slot.name,
            message,
            format!("drop it; the classes are {}", listed(names)),
        ));
    }
    match KnownLevels::new(names).code(positive.as_bytes()) {
        Some(1) => {}
        Some(_) => {
            names.swap(0, 1);
            order.swap(0, 1);
        }
        None => {
            let message = format!("no class '{positive}' to be the positive one");
            return Err(location.column(
                &slot.name,
                message,
                format!("the classes are {}", listed(names)),
            ));
        }
    }
    Ok(order)
}

fn one_value(location: &SourceLocation, slot: &Slot, value: &str) -> Error {
    let message = format!("the target has only one value, '{}'", shown(value.as_bytes()));
    location.column(
        &slot.name,
        message,
        "there is nothing to learn from it; name another target, or add other rows",
    )
}

/// Whether so many classes are rather numbers, dates or identifiers.
fn are_doubtful(classes: usize, rows: usize) -> bool {
    classes > MANY_CLASSES || classes > FEW_CLASSES && classes * ROWS_PER_CLASS > rows
}

/// Asks whether a target with many classes is meant.
fn doubtful_classes(
    seen: &[(String, LevelStats)],
    location: &SourceLocation,
    slot: &Slot,
    rows: usize,
) -> Error {
    let texts: Vec<String> = seen.iter().take(3).map(|(name, _)| shown(name.as_bytes())).collect();
    let message = format!(
        "the target has {} different texts in {rows} rows, such as {}",
        seen.len(),
        listed(&texts)
    );
    let help = "if they are classes, say so with --task classification; if they are numbers, say \
                how they are written with --decimal and --thousands, or correct them";
    location.column(&slot.name, message, help)
}

fn too_many(location: &SourceLocation, slot: &Slot, help: &str) -> Error {
    location.column(&slot.name, format!("the target has more than {MOST_CLASSES} classes"), help)
}
