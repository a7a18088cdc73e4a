//! The first reading of training data: types, levels, classes, and as many of the rows as may be
//! stored.
//!
//! Every untyped column starts as numbers. If a word turns up, the column is a category, but the
//! texts of the rows before are gone, so the file is read again with the column marked. Words in
//! the first chunk stop the reading at once; later ones let it go on to its end, so that one more
//! reading finds every mark set.

use std::collections::BTreeSet;

use swarmwood_model::{Feature, Kind, Schema, Target};

use super::cells::{CellText, ColumnBuffer};
use super::frame::{ChunkFrame, Misfits, Slot};
use super::layout::TableLayout;
use super::levels::LevelStats;
use super::location::{SourceLocation, listed, shown};
use super::rows::Rows;
use super::source::RereadableSource;
use super::stored_rows::{ChunkCollector, RetentionLimits, StoredRows};
use super::table::{ColumnType, OpenTable};
use super::{ReadOptions, ReadProgress, TaskChoice, target, token};
use crate::Result;

/// From this many rows on, a column with nearly one level per row holds identifiers or free text.
const MANY_ROWS: usize = 20;

/// Reads training data.
pub(super) fn read_training(
    origin: RereadableSource,
    options: &ReadOptions,
    limits: RetentionLimits,
) -> Result<Rows> {
    let mut texts = BTreeSet::new();
    let memory = options.memory_limit();
    loop {
        let table = OpenTable::open(origin.open()?, options.format)?;
        let layout = TableLayout::of(table.names(), options, table.location())?;
        let mut frame = inference_frame(&table, &layout, options, &texts);
        let warnings = table.warnings().to_vec();
        let meter = table.meter();
        let mut collector = ChunkCollector::new(limits, meter.clone());
        let mut first = true;
        table.read(&mut frame, &mut |frame| {
            let chunk = frame.take();
            if has_words(frame) {
                collector = ChunkCollector::new(limits, meter.clone());
                return Ok(if std::mem::take(&mut first) {
                    ReadProgress::Stop
                } else {
                    ReadProgress::Continue
                });
            }
            first = false;
            collector.add(&chunk);
            collector.check_memory(&chunk, memory, &frame.location)?;
            Ok(ReadProgress::Continue)
        })?;
        let words = columns_with_words(&frame);
        if words.is_empty() {
            return finish(frame, collector, origin, options, warnings);
        }
        texts.extend(words);
    }
}

/// A frame for the columns as far as their types are known; `texts` are positions where words have
/// been seen.
fn inference_frame(
    table: &OpenTable,
    layout: &TableLayout,
    options: &ReadOptions,
    texts: &BTreeSet<usize>,
) -> ChunkFrame {
    let (names, format) = (table.names(), table.number_format());
    let slot = |position: usize| Slot { position, name: names[position].clone() };
    let cells = |position: usize| {
        let typed = table.column_type(position) == ColumnType::Text;
        if typed || texts.contains(&position) {
            ColumnBuffer::growing()
        } else {
            ColumnBuffer::numbers(format)
        }
    };
    let features = layout.features.iter().map(|&position| {
        let cells = if layout.categorical.contains(&position) {
            ColumnBuffer::growing()
        } else {
            cells(position)
        };
        (slot(position), cells)
    });
    let regression = options.task == TaskChoice::Regression;
    let target = if regression { ColumnBuffer::numbers(format) } else { cells(layout.target) };
    let mut frame = ChunkFrame::new(
        table.location().clone(),
        features.collect(),
        Some((slot(layout.target), target)),
    );
    frame.number_format = format;
    frame.weight = layout.weight.map(|position| (slot(position), Vec::new()));
    frame.misfits = Misfits::Note;
    frame.target_misfits = if regression { Misfits::Refuse } else { Misfits::Note };
    frame.count_distinct = !regression;
    frame
}

fn has_words(frame: &ChunkFrame) -> bool {
    let target = frame.target.iter();
    frame.features.iter().chain(target).any(|(_, cells)| cells.misfit().is_some())
}

fn columns_with_words(frame: &ChunkFrame) -> Vec<usize> {
    let all = frame.features.iter().chain(&frame.target);
    all.filter(|(_, cells)| cells.misfit().is_some()).map(|(slot, _)| slot.position).collect()
}

/// Sorts levels and classes and determines the task.
fn finish(
    mut frame: ChunkFrame,
    collector: ChunkCollector,
    origin: RereadableSource,
    options: &ReadOptions,
    mut warnings: Vec<String>,
) -> Result<Rows> {
    let rows = collector.rows();
    check_enough(&frame, rows)?;
    collector.check_weight(&frame)?;
    warnings.extend(dropped_warning(&frame));
    let target_name = frame.target.as_ref().map(|(slot, _)| slot.name.clone()).unwrap_or_default();
    let resolved = target::resolve(&mut frame, options, rows, &mut warnings)?;
    let mut stored = collector.finish();
    stored.map_target(|value| resolved.map.apply(value));
    let mut features = Vec::with_capacity(frame.features.len());
    for (index, (slot, cells)) in frame.features.into_iter().enumerate() {
        let kind = match cells {
            ColumnBuffer::Growing { levels, .. } => {
                let seen = levels.into_names();
                if !options.categorical.contains(&slot.name) {
                    warnings.extend(level_warnings(&seen, &slot.name, &frame.location, rows));
                }
                Kind::Category { levels: order_levels(seen, index, &mut stored) }
            }
            _ => Kind::Number,
        };
        features.push(Feature { name: slot.name, kind });
    }
    let schema = Schema { features, target: Target { name: target_name, kind: resolved.kind } };
    Ok(Rows::new(schema, rows, warnings, stored, Some((origin, options.clone()))))
}

/// Level names in the order of their letters, so that the order of the rows does not matter; codes
/// follow.
fn order_levels(
    seen: Vec<(String, LevelStats)>,
    feature: usize,
    stored: &mut StoredRows,
) -> Vec<String> {
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by(|&a, &b| seen[a].0.cmp(&seen[b].0));
    let mut new_codes = vec![0; seen.len()];
    for (new, &old) in order.iter().enumerate() {
        new_codes[old] = new as u32;
    }
    stored.recode(feature, &new_codes);
    let mut names: Vec<Option<String>> = seen.into_iter().map(|(name, _)| Some(name)).collect();
    order.into_iter().filter_map(|old| names[old].take()).collect()
}

fn check_enough(frame: &ChunkFrame, rows: usize) -> Result<()> {
    let Some((slot, _)) = &frame.target else { return Ok(()) };
    let help = format!("at least 2 rows with a value of the target '{}' are needed", slot.name);
    match (rows, &frame.dropped) {
        (0, Some(dropped)) => {
            let message = format!("the target is missing in all {} rows", dropped.count);
            Err(frame.location.column(&slot.name, message, help))
        }
        (0, None) => Err(frame.location.fault("there is a header and no rows", help)),
        (1, Some(_)) => Err(frame.location.column(&slot.name, "only one row has a target", help)),
        (1, None) => Err(frame.location.fault("there is only one row", help)),
        _ => Ok(()),
    }
}

/// A warning about rows left out because they have no target.
pub(super) fn dropped_warning(frame: &ChunkFrame) -> Option<String> {
    let CellText { text, at, count } = frame.dropped.as_ref()?;
    let (slot, _) = frame.target.as_ref()?;
    let rows = if *count == 1 { "1 row has" } else { &format!("{count} rows have") };
    let first = frame.location.name(*at);
    let token = if text.is_empty() {
        String::new()
    } else {
        format!(", where '{}' counts as missing", shown(text))
    };
    Some(format!(
        "{}: column '{}': {rows} no target, left out (the first on {first}{token})",
        frame.location.file, slot.name
    ))
}

/// What is odd about the levels of a column that was not declared categorical.
fn level_warnings(
    seen: &[(String, LevelStats)],
    column: &str,
    location: &SourceLocation,
    rows: usize,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut warn =
        |message: String| warnings.push(format!("{}: column '{column}': {message}", location.file));
    let is_word = |name: &str| token::number(name.as_bytes()).is_none();
    let total: u64 = seen.iter().map(|(_, seen)| seen.count).sum();
    let words = seen.iter().filter(|(name, _)| is_word(name));
    let word_cells: u64 = words.clone().map(|(_, seen)| seen.count).sum();
    if let Some((name, first)) =
        words.min_by_key(|(_, seen)| seen.first).filter(|_| word_cells * 10 < total)
    {
        warn(format!(
            "read as categories because of {word_cells} cells that are not numbers (the first is '{}' on {}); the \
             other {} are numbers",
            shown(name.as_bytes()),
            location.name(first.first),
            total - word_cells
        ));
    } else if has_decimal_commas(seen) {
        warn(format!(
            "read as categories, but values such as {} look like numbers with a decimal comma; use --decimal ,",
            listed(&[seen[0].0.as_str()])
        ));
    } else if rows >= MANY_ROWS && seen.len() * 10 > rows * 9 {
        warn(format!(
            "{} different texts in {rows} rows; leave it out if it is an identifier or free text (--ignore '{column}')",
            seen.len()
        ));
    }
    warnings
}

fn has_decimal_commas(seen: &[(String, LevelStats)]) -> bool {
    let with_point = |name: &str| token::number(name.replacen(',', ".", 1).as_bytes()).is_some();
    seen.iter().any(|(name, _)| name.contains(',')) && seen.iter().all(|(name, _)| with_point(name))
}
