//! Reading with a schema that is already known: validation and test files, rows to predict, and
//! training data that did not fit in memory.

use swarmwood_learn::data::Chunk;
use swarmwood_model::{Feature, FeatureSource, Kind, Schema, Target, TargetKind};

use super::cells::ColumnBuffer;
use super::frame::{ChunkFrame, Slot};
use super::kept_columns::{KeepColumns, KeptCells};
use super::layout;
use super::location::{SourceLocation, listed, shown};
use super::rows::Rows;
use super::schema_inference::dropped_warning;
use super::source::{RereadableSource, SourceReader};
use super::stored_rows::{ChunkCollector, RetentionLimits};
use super::table::OpenTable;
use super::target_columns::{IncompleteRows, wrong_count};
use super::{ReadOptions, ReadProgress};
use crate::Result;

/// Whether targets and weights are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetUse {
    /// Both must exist; rows without a target are left out.
    Required,
    /// Neither is read.
    Ignored,
}

/// Visits all rows with the codes of the schema; returns the frame, which has counted what does not
/// fit, and warnings.
pub(super) fn read_with_schema(
    opened: SourceReader,
    schema: &Schema,
    options: &ReadOptions,
    target: TargetUse,
    each: &mut dyn FnMut(&Chunk) -> Result<()>,
) -> Result<(ChunkFrame, Vec<String>)> {
    read_table_with_schema(OpenTable::open(opened, options.format)?, schema, options, target, each)
}

/// Visits all rows to predict, with the texts of some columns.
pub(super) fn read_to_score(
    opened: SourceReader,
    schema: &Schema,
    options: &ReadOptions,
    keep: &KeepColumns,
    each: &mut dyn FnMut(&Chunk, &KeptCells) -> Result<()>,
) -> Result<(ChunkFrame, Vec<String>)> {
    let table = OpenTable::open(opened, options.format)?;
    let mut frame = known_frame(&table, schema, options, TargetUse::Ignored)?;
    let names = table.names();
    let slots = keep.positions(names, table.location())?;
    let slots = slots.into_iter().map(|at| Slot { position: at, name: names[at].clone() });
    frame.kept = KeptCells::new(slots);
    read_into_frame(table, frame, each)
}

fn read_table_with_schema(
    table: OpenTable,
    schema: &Schema,
    options: &ReadOptions,
    target: TargetUse,
    each: &mut dyn FnMut(&Chunk) -> Result<()>,
) -> Result<(ChunkFrame, Vec<String>)> {
    let frame = known_frame(&table, schema, options, target)?;
    read_into_frame(table, frame, &mut |chunk, _| each(chunk))
}

fn read_into_frame(
    table: OpenTable,
    frame: ChunkFrame,
    each: &mut dyn FnMut(&Chunk, &KeptCells) -> Result<()>,
) -> Result<(ChunkFrame, Vec<String>)> {
    read_frames(table, frame, &mut |_, chunk, kept| each(chunk, kept))
}

/// The same with the frame that a chunk was taken from.
fn read_frames(
    table: OpenTable,
    mut frame: ChunkFrame,
    each: &mut dyn FnMut(&ChunkFrame, &Chunk, &KeptCells) -> Result<()>,
) -> Result<(ChunkFrame, Vec<String>)> {
    let mut warnings: Vec<String> = table.ambiguity().cloned().into_iter().collect();
    let features = &frame.features[..frame.features.len() - frame.stored_targets];
    if !features.is_sorted_by_key(|(slot, _)| slot.position) {
        let file = &frame.location.file;
        warnings.push(format!(
            "{file}: the columns are in another order than in training; they were matched by name"
        ));
    }
    table.read(&mut frame, &mut |frame| {
        let (kept, chunk) = (frame.kept.take(), frame.take());
        each(frame, &chunk, &kept)?;
        Ok(ReadProgress::Continue)
    })?;
    warnings.extend(dropped_warning(&frame));
    warnings.extend(unseen_warnings(&frame));
    Ok((frame, warnings))
}

/// Reads a file with targets.
pub(super) fn matching(
    origin: RereadableSource,
    schema: &Schema,
    options: &ReadOptions,
    limits: RetentionLimits,
) -> Result<Rows> {
    let table = OpenTable::open(origin.open()?, options.format)?;
    let mut collector = ChunkCollector::new(limits, table.meter());
    let (location, memory) = (table.location().clone(), options.memory_limit());
    let mut incomplete = IncompleteRows::default();
    let frame = known_frame(&table, schema, options, TargetUse::Required)?;
    let (frame, warnings) = read_frames(table, frame, &mut |frame, chunk, _| {
        incomplete.note(collector.rows(), chunk, frame)?;
        collector.add(chunk);
        collector.check_memory(chunk, memory, &location)
    })?;
    let rows = collector.rows();
    if rows == 0 {
        let message = match &frame.dropped {
            Some(dropped) => format!("the target is missing in all {} rows", dropped.count),
            None => String::from("there is a header and no rows"),
        };
        let help = format!("rows with a value of the target '{}' are needed", schema.target.name);
        return Err(frame.location.fault(message, help));
    }
    collector.check_weight(&frame)?;
    let origin = Some((origin, options.clone()));
    let rows = Rows::new(schema.clone(), rows, warnings, collector.finish(), origin);
    incomplete.leave_out(rows, 1, &location)
}

/// Reads a file with or without targets.
pub(super) fn maybe_labelled(
    origin: RereadableSource,
    schema: &Schema,
    options: &ReadOptions,
    limits: RetentionLimits,
) -> Result<(Rows, bool)> {
    let table = OpenTable::open(origin.open()?, options.format)?;
    let is_there = |name: &String| table.names().contains(name);
    let has_target = !options.target.is_empty()
        || match schema.target.kind.columns() {
            [] => is_there(&schema.target.name),
            columns => columns.iter().all(is_there),
        };
    if has_target {
        drop(table);
        return Ok((matching(origin, schema, options, limits)?, true));
    }

    // A sample is enough where there are too many rows to be stored, so that the source is not read
    // again.
    let mut collector = ChunkCollector::new(limits, table.meter());
    let (location, memory) = (table.location().clone(), options.memory_limit());
    let (_, warnings) =
        read_table_with_schema(table, schema, options, TargetUse::Ignored, &mut |chunk| {
            let target = vec![0.0; chunk.rows];
            let chunk = Chunk { target, ..chunk.clone() };
            collector.add(&chunk);
            collector.check_memory(&chunk, memory, &location)
        })?;
    let rows = collector.rows();
    if rows == 0 {
        return Err(location.fault("there is a header and no rows", "rows are needed"));
    }
    let target = Target { kind: TargetKind::Number, ..schema.target.clone() };
    let schema = Schema { target, ..schema.clone() };
    Ok((Rows::new(schema, rows, warnings, collector.finish(), None), false))
}

/// Where the features are in a file with these columns. A file that has the parts of a date instead
/// of the date, such as the rows that are written with an export, is read as it is.
fn input_sources<'a>(schema: &'a Schema, names: &[String]) -> Vec<FeatureSource<'a>> {
    let is_there = |name: &String| names.contains(name);
    let source = |(feature, source): (&'a Feature, FeatureSource<'a>)| match source {
        FeatureSource::Date(date, _) if !is_there(&date.name) && is_there(&feature.name) => {
            FeatureSource::Column(&feature.name)
        }
        other => other,
    };
    schema.features.iter().zip(schema.sources()).map(source).collect()
}

fn known_frame(
    table: &OpenTable,
    schema: &Schema,
    options: &ReadOptions,
    target: TargetUse,
) -> Result<ChunkFrame> {
    let (names, location, format) = (table.names(), table.location(), table.number_format());
    let sources = input_sources(schema, names);
    let mut inputs: Vec<String> = Vec::with_capacity(sources.len());
    for source in &sources {
        if inputs.last().map(String::as_str) != Some(source.column()) {
            inputs.push(source.column().to_string());
        }
    }
    layout::find_all(names, &inputs, "feature", location)?;
    let wanted: Vec<String> = sources.iter().map(|source| source.column().to_string()).collect();
    let positions = layout::find_all(names, &wanted, "feature", location)?;
    let slot = |position: usize| Slot { position, name: names[position].clone() };
    let features = schema.features.iter().zip(&sources).zip(positions);
    let features = features.map(|((feature, source), position)| {
        let cells = match (&feature.kind, source) {
            (_, FeatureSource::Date(date, part)) => ColumnBuffer::date(date, *part),
            (Kind::Number, _) => ColumnBuffer::numbers(format),
            (Kind::Category { levels }, _) => ColumnBuffer::known(levels),
        };
        (slot(position), cells)
    });
    let features = features.collect();
    if target == TargetUse::Ignored {
        let mut frame = ChunkFrame::new(location.clone(), features, None);
        // Prediction keeps nothing beside the chunk, and larger ones give every thread a longer
        // run.
        frame.chunk_rows *= 4;
        return Ok(frame);
    }
    let targets = known_targets(names, schema, options, location)?;
    let cells = match &schema.target.kind {
        TargetKind::Number | TargetKind::Numbers(_) => ColumnBuffer::numbers(format),
        TargetKind::Classes(classes) => ColumnBuffer::known(classes),
    };
    let mut features: Vec<_> = features;
    let more = targets[1..].iter().map(|&at| (slot(at), ColumnBuffer::numbers(format)));
    features.extend(more);
    let mut frame = ChunkFrame::new(location.clone(), features, Some((slot(targets[0]), cells)));
    frame.stored_targets = targets.len() - 1;
    frame.number_format = format;
    if let Some(weight) = &options.weight {
        frame.weight = Some((slot(layout::find(names, weight, "weight", location)?), Vec::new()));
    }
    Ok(frame)
}

/// The positions of the target columns, the first one first: those that the options name, or those
/// of the schema.
fn known_targets(
    names: &[String],
    schema: &Schema,
    options: &ReadOptions,
    location: &SourceLocation,
) -> Result<Vec<usize>> {
    let columns = schema.target.kind.columns();
    let targets = match (options.target.as_str(), columns) {
        ("", []) => vec![layout::find(names, &schema.target.name, "target", location)?],
        ("", columns) => layout::find_all(names, columns, "target", location)?,
        (text, _) => layout::find_targets(names, text, location)?,
    };
    let expected = columns.len().max(1);
    if targets.len() != expected {
        return Err(wrong_count(targets.len(), expected, location));
    }
    Ok(targets)
}

/// One warning per column about levels the model does not know.
fn unseen_warnings(frame: &ChunkFrame) -> Vec<String> {
    let mut warnings = Vec::new();
    for (slot, cells) in &frame.features {
        let Some(unseen) = cells.misfit() else { continue };
        let cells = if unseen.count == 1 {
            "1 cell holds"
        } else {
            &format!("{} cells hold", unseen.count)
        };
        warnings.push(format!(
            "{}: column '{}': {cells} a level that is not in the training data, taken as missing (the first is {} on {})",
            frame.location.file,
            slot.name,
            listed(&[shown(&unseen.text)]),
            frame.location.name(unseen.at)
        ));
    }
    warnings
}
