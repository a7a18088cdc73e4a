//! Reading with a schema that is already known: validation and test files, rows to predict, and
//! training data that did not fit in memory.

use swarmwood_learn::data::Chunk;
use swarmwood_model::{Kind, Schema, TargetKind};

use super::cells::ColumnBuffer;
use super::frame::{ChunkFrame, Slot};
use super::keep::{ChunkCollector, RetentionLimits};
use super::layout;
use super::origin::{SourceOrigin, SourceReader};
use super::place::{listed, shown};
use super::rows::Rows;
use super::survey::dropped_warning;
use super::table::OpenTable;
use super::{ReadOptions, ReadProgress};
use crate::Result;

/// Whether targets and weights are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// Both must be there; rows without a target are left out.
    Needed,
    /// Neither is looked at.
    Unused,
}

/// Hands over every row in the schema's terms; returns the frame, which knows what was odd, and
/// warnings.
pub(super) fn follow(
    opened: SourceReader,
    schema: &Schema,
    options: &ReadOptions,
    answers: Answers,
    each: &mut dyn FnMut(&Chunk) -> Result<()>,
) -> Result<(ChunkFrame, Vec<String>)> {
    follow_table(OpenTable::open(opened, options.delimiter)?, schema, options, answers, each)
}

fn follow_table(
    table: OpenTable,
    schema: &Schema,
    options: &ReadOptions,
    answers: Answers,
    each: &mut dyn FnMut(&Chunk) -> Result<()>,
) -> Result<(ChunkFrame, Vec<String>)> {
    let mut frame = known_frame(&table, schema, options, answers)?;
    let mut warnings = Vec::new();
    if !frame.features.is_sorted_by_key(|(slot, _)| slot.position) {
        let file = &frame.place.file;
        warnings.push(format!(
            "{file}: the columns are in another order than in training; they were matched by name"
        ));
    }
    table.read(&mut frame, &mut |frame| {
        each(&frame.take())?;
        Ok(ReadProgress::Continue)
    })?;
    warnings.extend(dropped_warning(&frame));
    warnings.extend(unseen_warnings(&frame));
    Ok((frame, warnings))
}

/// Reads a file with targets.
pub(super) fn matching(
    origin: SourceOrigin,
    schema: &Schema,
    options: &ReadOptions,
    limits: RetentionLimits,
) -> Result<Rows> {
    let table = OpenTable::open(origin.open()?, options.delimiter)?;
    let mut keeper = ChunkCollector::new(limits, table.meter());
    let (frame, warnings) = follow_table(table, schema, options, Answers::Needed, &mut |chunk| {
        keeper.add(chunk);
        Ok(())
    })?;
    let rows = keeper.rows();
    if rows == 0 {
        let message = match &frame.dropped {
            Some(dropped) => format!("the target is missing in all {} rows", dropped.count),
            None => String::from("there is a header and no rows"),
        };
        let help = format!("rows with a value of the target '{}' are needed", schema.target.name);
        return Err(frame.place.fault(message, help));
    }
    keeper.check_weight(&frame)?;
    Ok(Rows::new(schema.clone(), rows, warnings, keeper.finish(), origin, options.clone()))
}

fn known_frame(
    table: &OpenTable,
    schema: &Schema,
    options: &ReadOptions,
    answers: Answers,
) -> Result<ChunkFrame> {
    let (names, place) = (table.names(), table.place());
    let wanted: Vec<String> = schema.features.iter().map(|feature| feature.name.clone()).collect();
    let positions = layout::find_all(names, &wanted, "feature", place)?;
    let slot = |position: usize| Slot { position, name: names[position].clone() };
    let features = schema.features.iter().zip(positions).map(|(feature, position)| {
        let cells = match &feature.kind {
            Kind::Number => ColumnBuffer::numbers(),
            Kind::Category { levels } => ColumnBuffer::known(levels),
        };
        (slot(position), cells)
    });
    let features = features.collect();
    if answers == Answers::Unused {
        let mut frame = ChunkFrame::new(place.clone(), features, None);
        // Prediction keeps nothing beside the chunk, and larger ones give every thread a longer
        // run.
        frame.chunk_rows *= 4;
        return Ok(frame);
    }
    let target = if options.target.is_empty() { &schema.target.name } else { &options.target };
    let target = slot(layout::find(names, target, "target", place)?);
    let cells = match &schema.target.kind {
        TargetKind::Number => ColumnBuffer::numbers(),
        TargetKind::Classes(classes) => ColumnBuffer::known(classes),
    };
    let mut frame = ChunkFrame::new(place.clone(), features, Some((target, cells)));
    if let Some(weight) = &options.weight {
        frame.weight = Some((slot(layout::find(names, weight, "weight", place)?), Vec::new()));
    }
    Ok(frame)
}

/// One warning a column about levels the model does not know.
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
            frame.place.file,
            slot.name,
            listed(&[shown(&unseen.text)]),
            frame.place.name(unseen.at)
        ));
    }
    warnings
}
