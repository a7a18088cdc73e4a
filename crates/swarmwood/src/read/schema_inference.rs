//! The first reading of training data: types, levels, classes, and as many of the rows as may be
//! stored.
//!
//! Every untyped column starts as numbers. If a word turns up, the column is a category, but the
//! texts of the rows before are gone, so the file is read again with the column marked. Words in
//! the first chunk stop the reading at once; later ones let it go on to its end, so that one more
//! reading finds every mark set.
//!
//! A column whose first word is a date is looked at as a whole in the next reading: if all cells are
//! dates in the same way of writing, the reading after that expands them. Where dates are said to be
//! digits alone, columns of numbers are looked at in this way before they are read as numbers.

use std::collections::{BTreeMap, BTreeSet};

use swarmwood_model::{DateColumn, Feature, Kind, Schema, Target};

use super::cells::{CellText, ColumnBuffer};
use super::date_format::DateChoice;
use super::date_probe::{DateProbe, ProbeOutcome};
use super::frame::{ChunkFrame, Misfits, Slot};
use super::layout::TableLayout;
use super::levels::LevelStats;
use super::location::{SourceLocation, listed, shown};
use super::rows::Rows;
use super::source::RereadableSource;
use super::stored_rows::{ChunkCollector, RetentionLimits, StoredRows};
use super::table::{ColumnType, OpenTable};
use super::target_columns::{IncompleteRows, target_of};
use super::{ReadOptions, ReadProgress, TaskChoice, target, token};
use crate::Result;

/// From this many rows on, a column with nearly one level per row holds identifiers or free text.
const MANY_ROWS: usize = 20;

/// What is known of a column beside its name, by position.
#[derive(Debug, Default)]
struct ColumnFindings {
    /// Words have been seen, or the source says that it is text.
    texts: BTreeSet<usize>,
    /// Perhaps dates: the next reading tells.
    probes: BTreeSet<usize>,
    /// Perhaps numbers, perhaps dates written in digits alone.
    digits: BTreeSet<usize>,
    /// Dates, and what they are expanded to.
    dates: BTreeMap<usize, DateColumn>,
    /// No features.
    left_out: BTreeSet<usize>,
    warnings: Vec<String>,
}

/// Reads training data.
pub(super) fn read_training(
    origin: RereadableSource,
    options: &ReadOptions,
    limits: RetentionLimits,
) -> Result<Rows> {
    let mut findings = ColumnFindings::default();
    let memory = options.memory_limit();
    let mut are_digits_probed = false;
    loop {
        let table = OpenTable::open(origin.open()?, options.format)?;
        let layout = TableLayout::of(table.names(), options, table.location())?;
        let several = several_numbers(&layout, options, table.location())?;
        let options = several.as_ref().unwrap_or(options);
        findings.note_types(&table, &layout);
        if options.dates.is_digits() && !std::mem::replace(&mut are_digits_probed, true) {
            findings.probe_digits(&table, &layout);
        }
        let mut frame = inference_frame(&table, &layout, options, &findings)?;
        let mut warnings = table.warnings().to_vec();
        let meter = table.meter();
        let mut collector = ChunkCollector::new(limits, meter.clone());
        let mut incomplete = IncompleteRows::default();
        let mut first = true;
        let is_probing = !findings.probes.is_empty();
        let progress = table.read(&mut frame, &mut |frame| {
            let chunk = frame.take();
            incomplete.note(collector.rows(), &chunk, frame)?;
            if has_words(frame) {
                incomplete = IncompleteRows::default();
                collector = ChunkCollector::new(limits, meter.clone());
                return Ok(if std::mem::take(&mut first) {
                    ReadProgress::Stop
                } else {
                    ReadProgress::Continue
                });
            }
            first = false;
            if !is_probing {
                collector.add(&chunk);
                collector.check_memory(&chunk, memory, &frame.location)?;
            }
            Ok(ReadProgress::Continue)
        })?;

        let has_new = findings.note_words(&frame, options);
        if progress == ReadProgress::Continue && is_probing {
            findings.note_dates(&frame, options);
        } else if !has_new && !is_probing {
            warnings.append(&mut findings.warnings);
            let dates = findings.dates.into_values().collect();
            let location = frame.location.clone();
            let rows = finish(frame, collector, origin, options, warnings, dates)?;
            return incomplete.leave_out(rows, 2, &location);
        }
    }
}

/// The options with which several targets are read, which are numbers; `None` for one target.
fn several_numbers(
    layout: &TableLayout,
    options: &ReadOptions,
    location: &SourceLocation,
) -> Result<Option<ReadOptions>> {
    if layout.more_targets.is_empty() {
        return Ok(None);
    }
    if options.task == TaskChoice::Classification {
        let help = "train one model per column, or leave out --task classification";
        return Err(location.fault("several targets are numbers, not classes", help));
    }
    Ok(Some(ReadOptions { task: TaskChoice::Regression, ..options.clone() }))
}

impl ColumnFindings {
    /// Columns that the source says to be dates are looked at as such.
    fn note_types(&mut self, table: &OpenTable, layout: &TableLayout) {
        for &position in &layout.features {
            let is_known = self.dates.contains_key(&position)
                || self.texts.contains(&position)
                || self.left_out.contains(&position)
                || layout.categorical.contains(&position);
            if !is_known && table.column_type(position) == ColumnType::Date {
                self.probes.insert(position);
            }
        }
    }

    /// All columns that might be numbers are looked at for dates in digits alone.
    fn probe_digits(&mut self, table: &OpenTable, layout: &TableLayout) {
        let is_number = |position: &usize| {
            let column_type = table.column_type(*position);
            matches!(column_type, ColumnType::Untyped | ColumnType::Number)
                && !layout.categorical.contains(position)
        };
        self.digits = layout.features.iter().copied().filter(is_number).collect();
        self.probes.extend(&self.digits);
    }

    /// Notes the columns where words have been seen; whether there are any.
    fn note_words(&mut self, frame: &ChunkFrame, options: &ReadOptions) -> bool {
        let mut has_new = false;
        for (slot, cells) in &frame.features {
            let Some(word) = cells.misfit() else { continue };
            has_new = true;
            let is_number = matches!(cells, ColumnBuffer::Number { .. });
            if is_number && DateProbe::accepts(&options.dates, &word.text) {
                self.probes.insert(slot.position);
            } else if self.digits.remove(&slot.position) {
                self.probes.remove(&slot.position);
            } else {
                self.probes.remove(&slot.position);
                self.dates.remove(&slot.position);
                self.texts.insert(slot.position);
            }
        }
        for (slot, _) in frame.target.iter().filter(|(_, cells)| cells.misfit().is_some()) {
            has_new = true;
            self.texts.insert(slot.position);
        }
        has_new
    }

    /// Notes what the columns are that were looked at to the end.
    fn note_dates(&mut self, frame: &ChunkFrame, options: &ReadOptions) {
        for (slot, cells) in &frame.features {
            let ColumnBuffer::Probe { probe, word: None } = cells else { continue };
            self.probes.remove(&slot.position);
            let is_digits = self.digits.remove(&slot.position);
            let name = &slot.name;
            let example = shown(probe.example.as_deref().unwrap_or_default());
            let mut warn = |message: String| {
                self.warnings.push(format!("{}: column '{name}': {message}", frame.location.file));
            };
            let found = probe.finish(name);
            match found {
                // Read as numbers.
                ProbeOutcome::Empty if is_digits => {}
                ProbeOutcome::Empty => {
                    self.left_out.insert(slot.position);
                    warn(String::from("has no values and is left out"));
                }
                _ if options.dates == DateChoice::Ignore => {
                    self.left_out.insert(slot.position);
                    warn(String::from("holds dates and is left out (--dates ignore)"));
                }
                ProbeOutcome::Constant => {
                    self.left_out.insert(slot.position);
                    warn(String::from("holds the same date in every row and is left out"));
                }
                ProbeOutcome::Ambiguous(one, other) => {
                    self.texts.insert(slot.position);
                    warn(format!(
                        "'{example}' could be {one} or {other}, and so could all rows; read as \
                         categories; give --dates '{one}' or --dates '{other}'"
                    ));
                }
                ProbeOutcome::Dates(date) => {
                    let is_clear = date.format == "iso" || options.dates != DateChoice::Auto;
                    if !is_clear {
                        let format = &date.format;
                        warn(format!(
                            "'{example}' is read as a date ({format}); use --dates FORMAT if that \
                             is wrong, or --categorical '{name}'"
                        ));
                    }
                    self.dates.insert(slot.position, date);
                }
            }
        }
    }
}

/// A frame for the columns as far as their types are known.
fn inference_frame(
    table: &OpenTable,
    layout: &TableLayout,
    options: &ReadOptions,
    findings: &ColumnFindings,
) -> Result<ChunkFrame> {
    let (names, format) = (table.names(), table.number_format());
    let slot = |position: usize| Slot { position, name: names[position].clone() };
    let cells = |position: usize| {
        let typed = table.column_type(position) == ColumnType::Text;
        if typed || findings.texts.contains(&position) {
            ColumnBuffer::growing()
        } else {
            ColumnBuffer::numbers(format)
        }
    };
    let mut features = Vec::with_capacity(layout.features.len());
    for &position in &layout.features {
        if layout.categorical.contains(&position) {
            features.push((slot(position), ColumnBuffer::growing()));
        } else if let Some(date) = findings.dates.get(&position) {
            check_part_names(date, names, table.location())?;
            let part = |&part| (slot(position), ColumnBuffer::date(date, part));
            features.extend(date.parts.iter().map(part));
        } else if findings.probes.contains(&position) {
            features.push((slot(position), ColumnBuffer::probe(&options.dates)));
        } else if !findings.left_out.contains(&position) {
            features.push((slot(position), cells(position)));
        }
    }
    if features.is_empty() {
        let help = "the target needs at least one other column to be learned from";
        return Err(table.location().fault("no feature column is left", help));
    }
    let more_targets = layout.more_targets.iter();
    features.extend(more_targets.map(|&at| (slot(at), ColumnBuffer::numbers(format))));
    let regression = options.task == TaskChoice::Regression;
    let target = if regression { ColumnBuffer::numbers(format) } else { cells(layout.target) };
    let target = Some((slot(layout.target), target));
    let mut frame = ChunkFrame::new(table.location().clone(), features, target);
    frame.stored_targets = layout.more_targets.len();
    frame.number_format = format;
    frame.weight = layout.weight.map(|position| (slot(position), Vec::new()));
    frame.misfits = Misfits::Note;
    frame.target_misfits = if regression { Misfits::Refuse } else { Misfits::Note };
    frame.count_distinct = !regression;
    Ok(frame)
}

/// The features of a date must not be called as another column.
fn check_part_names(date: &DateColumn, names: &[String], location: &SourceLocation) -> Result<()> {
    let features = date.parts.iter().map(|&part| date.feature_name(part));
    match features.into_iter().find(|feature| names.contains(feature)) {
        None => Ok(()),
        Some(feature) => {
            let message =
                format!("is a date, and a part of it is called '{feature}', as another column is");
            let help = "rename one of them, or use --dates ignore";
            Err(location.column(&date.name, message, help))
        }
    }
}

fn has_words(frame: &ChunkFrame) -> bool {
    let target = frame.target.iter();
    frame.features.iter().chain(target).any(|(_, cells)| cells.misfit().is_some())
}

/// Sorts levels and classes and determines the task.
fn finish(
    mut frame: ChunkFrame,
    collector: ChunkCollector,
    origin: RereadableSource,
    options: &ReadOptions,
    mut warnings: Vec<String>,
    dates: Vec<DateColumn>,
) -> Result<Rows> {
    let rows = collector.rows();
    check_enough(&frame, rows)?;
    collector.check_weight(&frame)?;
    warnings.extend(dropped_warning(&frame));
    let target_name = frame.target.as_ref().map(|(slot, _)| slot.name.clone()).unwrap_or_default();
    let resolved = target::resolve(&mut frame, options, rows, &mut warnings)?;
    let mut stored = collector.finish();
    stored.map_target(|value| resolved.map.apply(value));
    let more_targets = frame.features.split_off(frame.features.len() - frame.stored_targets);
    let mut features = Vec::with_capacity(frame.features.len());
    for (index, (slot, cells)) in frame.features.into_iter().enumerate() {
        let mut name = slot.name.clone();
        let kind = match cells {
            ColumnBuffer::Date { reader, .. } => {
                name = format!("{name}.{}", reader.part().name());
                Kind::Number
            }
            ColumnBuffer::Growing { levels, .. } => {
                let seen = levels.into_names();
                if !options.categorical.contains(&slot.name) {
                    warnings.extend(level_warnings(&seen, &slot.name, &frame.location, rows));
                }
                Kind::Category { levels: order_levels(seen, index, &mut stored) }
            }
            _ => Kind::Number,
        };
        features.push(Feature { name, kind });
    }
    let more_names = more_targets.into_iter().map(|(slot, _)| slot.name);
    let columns: Vec<String> = std::iter::once(target_name.clone()).chain(more_names).collect();
    let target = match columns.len() {
        1 => Target { name: target_name, kind: resolved.kind },
        _ => target_of(columns),
    };
    let schema = Schema { features, target, dates };
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
