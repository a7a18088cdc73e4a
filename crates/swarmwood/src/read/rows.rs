//! Rows with their schema, in memory or read again from the source.

use std::sync::{Arc, OnceLock};

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_model::{Schema, TargetKind};

use super::ReadOptions;
use super::borrowed::{BorrowedTable, RowSelection};
use super::class_weight;
use super::cluster::RowCluster;
use super::known_schema::{TargetUse, read_with_schema};
use super::packed_chunk::PackedChunk;
use super::sample::{append, hash, is_sampled, pick, pick_column, pick_values, threshold};
use super::source::RereadableSource;
use super::stored_rows::StoredRows;
use super::target_columns::TargetView;
use crate::memory::size_text;
use crate::{Error, Result};

/// Rows with their schema, ready for training: kept in memory if small, read again from the source
/// if not.
#[derive(Debug, Clone)]
pub struct Rows {
    /// Features and target as they were read.
    pub schema: Schema,
    /// Number of rows with a target, or with all targets.
    pub rows: usize,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    store: Arc<Store>,
    /// The rows of the store that belong here; `None` for all.
    part: Option<Arc<RowSet>>,
    /// Factors of the weights, by class.
    class_factors: Option<Arc<[f64]>>,
    /// Which targets are handed over, if there are several.
    pub(super) targets: TargetView,
    /// The processes that hold all rows of the store.
    cluster: Option<Arc<dyn RowCluster>>,
}

/// The data that the parts of a split share.
#[derive(Debug)]
struct Store {
    /// The schema that rows are read again with.
    schema: Schema,
    rows: usize,
    stored: StoredRows,
    /// Rows up to this hash are the sample.
    threshold: u64,
    /// Their positions, chunk by chunk, found when they are first asked for.
    sampled: OnceLock<Vec<Vec<usize>>>,
    /// The same for a borrowed table, as a set: it stays in memory beside the bins.
    sampled_set: OnceLock<RowSet>,
    origin: Option<(RereadableSource, ReadOptions)>,
    /// Bytes that rows of a file may need; rows in the caller's memory have no limit.
    memory_limit: Option<u64>,
}

impl Store {
    /// The positions of sampled rows in each kept chunk.
    fn find_sampled(&self) -> Vec<Vec<usize>> {
        match &self.stored {
            StoredRows::All(chunks) => {
                let mut first = 0;
                let mut positions = |chunk: &PackedChunk| {
                    let start = first;
                    first += chunk.rows();
                    (0..chunk.rows())
                        .filter(|index| is_sampled((start + index) as u64, self.threshold))
                        .collect()
                };
                chunks.iter().map(&mut positions).collect()
            }
            StoredRows::Sample { batches, .. } => {
                batches.iter().map(|batch| (0..batch.rows.len()).collect()).collect()
            }
            // Borrowed tables have no chunks.
            StoredRows::Borrowed(_) | StoredRows::Elsewhere { .. } => Vec::new(),
        }
    }
}

/// A set of rows: one bit each.
#[derive(Debug, Clone)]
pub(super) struct RowSet(Vec<u64>);

impl RowSet {
    /// No row of so many.
    pub(super) fn empty(rows: usize) -> RowSet {
        RowSet(vec![0; rows.div_ceil(64)])
    }

    fn has(&self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }

    /// The rows in the set, in order.
    fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let next = |left: &u64| Some(left & (left - 1)).filter(|left| *left != 0);
            let words = std::iter::successors(Some(word).filter(|word| *word != 0), next);
            words.map(move |left| 64 * at + left.trailing_zeros() as usize)
        })
    }
}

impl Rows {
    /// Refuses rows of a file that need more memory than their limit if every cell takes so many
    /// bytes. Rows in the caller's memory have no limit.
    pub(crate) fn check_memory(&self, cell_bytes: u64) -> Result<()> {
        let Some(limit) = self.store.memory_limit else { return Ok(()) };
        let cells = self.rows as u64 * (self.schema.features.len() as u64 + 1);
        let needed = cells.saturating_mul(cell_bytes);
        if needed <= limit {
            return Ok(());
        }
        Err(Error::Run(format!(
            "this method has all rows in memory at once, which takes {}, but the limit is {}; use \
             fewer rows or columns, another method, or raise the limit with --max-memory",
            size_text(needed),
            size_text(limit)
        )))
    }

    /// Rows that were read. The source is needed if only a sample of them is stored.
    pub(super) fn new(
        schema: Schema,
        rows: usize,
        warnings: Vec<String>,
        stored: StoredRows,
        origin: Option<(RereadableSource, ReadOptions)>,
    ) -> Rows {
        let stored = match schema.target.kind {
            TargetKind::Classes(_) => stored,
            TargetKind::Number | TargetKind::Numbers(_) => stored.without_targets(),
        };
        let memory_limit = origin.as_ref().map(|(_, options)| options.memory_limit());
        // Rows in memory make the source dispensable, and with it a stored copy of standard input.
        let origin = origin.filter(|_| matches!(stored, StoredRows::Sample { .. }));
        let targets = TargetView::of(&schema);
        let store = Store {
            schema: schema.clone(),
            rows,
            stored,
            threshold: threshold(rows as u64, super::SAMPLE_ROWS),
            sampled: OnceLock::new(),
            sampled_set: OnceLock::new(),
            origin,
            memory_limit,
        };
        Rows {
            schema,
            rows,
            warnings,
            store: Arc::new(store),
            part: None,
            class_factors: None,
            targets,
            cluster: None,
        }
    }

    /// Rows that are in memory as one chunk.
    pub(crate) fn of_chunk(schema: Schema, chunk: &Chunk) -> Rows {
        let stored = StoredRows::All(vec![PackedChunk::new(chunk)]);
        Rows::new(schema, chunk.rows, Vec::new(), stored, None)
    }

    /// Whether the rows are read from the source again by every [`Rows::for_each_chunk`].
    pub fn is_streamed(&self) -> bool {
        self.store.origin.is_some()
    }

    /// The same rows with the class weights of the options.
    pub(super) fn with_class_weights(self, options: &ReadOptions) -> Result<Rows> {
        let counts = || self.rows_by_class().iter().map(Vec::len).collect();
        let class_factors = class_weight::factors(options, &self.schema, counts)?.map(Arc::from);
        Ok(Rows { class_factors, ..self })
    }

    /// Visits all rows in order, in chunks. Where there are several targets, a chunk has one number
    /// for each of them, row by row.
    pub fn for_each_chunk(&self, each: &mut dyn FnMut(&Chunk) -> Result<()>) -> Result<()> {
        let Some(factors) = &self.class_factors else { return self.for_each_stored(each) };
        self.for_each_stored(&mut |chunk| {
            let mut chunk = chunk.clone();
            chunk.weight.resize(chunk.rows, 1.0);
            for (weight, &class) in chunk.weight.iter_mut().zip(&chunk.target) {
                *weight *= factors.get(class as usize).copied().unwrap_or(1.0);
            }
            each(&chunk)
        })
    }

    /// Visits all rows as they are stored.
    fn for_each_stored(&self, each: &mut dyn FnMut(&Chunk) -> Result<()>) -> Result<()> {
        let view = self.targets;
        let mut each = |chunk: &Chunk| match view.stored {
            0 => each(chunk),
            _ => each(&view.apply(chunk.clone())),
        };
        let mut first = 0;
        let mut visit = |chunk: &Chunk| {
            let rows = first..first + chunk.rows;
            first = rows.end;
            let Some(part) = &self.part else { return each(chunk) };
            if first > self.store.rows {
                return Err(changed(&self.store));
            }
            let start = rows.start;
            let indices: Vec<usize> =
                rows.filter(|&row| part.has(row)).map(|row| row - start).collect();
            if indices.is_empty() { Ok(()) } else { each(&pick(chunk, &indices)) }
        };
        match (&self.store.stored, &self.store.origin) {
            (StoredRows::All(chunks), _) => {
                chunks.iter().try_for_each(|chunk| visit(&chunk.unpack()))
            }
            (StoredRows::Borrowed(table), _) => table.for_each_chunk(&mut visit),
            // Few rows are all in the sample.
            (StoredRows::Elsewhere { sample, .. }, _) if sample.rows() == self.store.rows => {
                sample.for_each_chunk(&mut visit)
            }
            (StoredRows::Elsewhere { .. }, _) => Err(Error::Run(
                "this needs all rows in one process, but they are on a cluster; train without the \
                 parameter that asks for it, or on rows in memory"
                    .to_string(),
            )),
            (StoredRows::Sample { .. }, Some((origin, options))) => {
                read_with_schema(
                    origin.open()?,
                    &self.store.schema,
                    options,
                    TargetUse::Required,
                    &mut visit,
                )?;
                if first == self.store.rows { Ok(()) } else { Err(changed(&self.store)) }
            }
            // A sample is always stored together with its source.
            (StoredRows::Sample { .. }, None) => Ok(()),
        }
    }

    /// The rows that bins are made from, in row order: all of them up to [`super::SAMPLE_ROWS`],
    /// otherwise that many chosen by a fixed hash of the row number. A part of a split has its
    /// share of the sample of the whole.
    pub fn sample(&self) -> Chunk {
        if let StoredRows::Borrowed(table) = &self.store.stored {
            return self.targets.apply(table.chunk(&RowSelection::Indices(&self.sampled_rows())));
        }
        if let StoredRows::Elsewhere { sample, .. } = &self.store.stored {
            return sample.chunk(&RowSelection::Range(0..sample.rows()));
        }
        let mut sample = Chunk::default();
        let stored = self.schema.features.len() + self.targets.stored;
        self.for_each_sampled(|chunk, indices| {
            let mut columns = (0..stored).map(|c| pick_column(&chunk.column(c), indices));
            if sample.columns.is_empty() {
                sample.columns = columns.collect();
            } else {
                sample
                    .columns
                    .iter_mut()
                    .for_each(|column| columns.next().into_iter().for_each(|c| append(column, c)));
            }
            sample.target.extend(pick_values(&chunk.target(), indices));
            sample.weight.extend(pick_values(&chunk.weight(), indices));
            sample.rows += indices.len();
        });
        self.targets.apply(sample)
    }

    /// The numbers of the rows of [`Rows::sample`], counted in the data that was read.
    pub(crate) fn sample_numbers(&self) -> Vec<u32> {
        let sampled = |row: &usize| is_sampled(*row as u64, self.store.threshold);
        let rows = (0..self.store.rows).filter(|row| self.contains(*row) && sampled(row));
        let number = |row: usize| match &self.store.stored {
            StoredRows::Borrowed(table) => table.caller_row(row),
            StoredRows::All(_) | StoredRows::Sample { .. } | StoredRows::Elsewhere { .. } => row,
        };
        rows.map(|row| number(row) as u32).collect()
    }

    /// One feature of [`Rows::sample`], which takes a fraction of the memory where there are many;
    /// `None` if there is no such feature.
    pub fn sample_column(&self, feature: usize) -> Option<Column> {
        self.schema.features.get(feature)?;
        if let StoredRows::Borrowed(table) = &self.store.stored {
            return Some(table.column(feature, &RowSelection::Indices(&self.sampled_rows())));
        }
        if let StoredRows::Elsewhere { sample, .. } = &self.store.stored {
            return Some(sample.column(feature, &RowSelection::Range(0..sample.rows())));
        }
        let mut sample: Option<Column> = None;
        self.for_each_sampled(|chunk, indices| {
            let more = pick_column(&chunk.column(feature), indices);
            match &mut sample {
                Some(column) => append(column, more),
                None => sample = Some(more),
            }
        });
        sample
    }

    /// The row numbers of the sample, for a borrowed table.
    fn sampled_rows(&self) -> Vec<usize> {
        let store = &self.store;
        let sampled = store.sampled_set.get_or_init(|| {
            let mut set = RowSet(vec![0; store.rows.div_ceil(64)]);
            (0..store.rows)
                .filter(|&row| is_sampled(row as u64, store.threshold))
                .for_each(|row| set.set(row));
            set
        });
        sampled.rows().filter(|&row| self.part.as_ref().is_none_or(|part| part.has(row))).collect()
    }

    /// Visits every chunk that has rows of the sample, with their positions in it.
    fn for_each_sampled(&self, mut each: impl FnMut(&PackedChunk, &[usize])) {
        let mut visit = |chunk: &PackedChunk, positions: &[usize], row: &dyn Fn(usize) -> usize| {
            let Some(part) = &self.part else { return each(chunk, positions) };
            let here: Vec<usize> =
                positions.iter().copied().filter(|&index| part.has(row(index))).collect();
            if !here.is_empty() {
                each(chunk, &here);
            }
        };
        let sampled = self.store.sampled.get_or_init(|| self.store.find_sampled());
        match &self.store.stored {
            StoredRows::All(chunks) => {
                let mut first = 0;
                for (chunk, positions) in chunks.iter().zip(sampled) {
                    visit(chunk, positions, &|index| first + index);
                    first += chunk.rows();
                }
            }
            StoredRows::Sample { batches, .. } => {
                for (batch, positions) in batches.iter().zip(sampled) {
                    visit(&batch.chunk, positions, &|index| batch.rows[index] as usize);
                }
            }
            // Borrowed tables have no chunks; their sample is selected by row number.
            StoredRows::Borrowed(_) | StoredRows::Elsewhere { .. } => {}
        }
    }

    /// Splits off a fraction of the rows, for validation: `(rest, held out)`. The rows are chosen
    /// by a hash of their number and the seed; in a classification every class gives its share, and
    /// keeps at least one row. Both parts have at least one row; the warnings stay with the rest.
    pub fn holdout(self, fraction: f64, seed: u64) -> Result<(Rows, Rows)> {
        if self.rows < 2 || !(fraction > 0.0 && fraction < 1.0) {
            let message = format!("cannot hold out a fraction of {fraction} of {} rows", self.rows);
            return Err(Error::Run(message));
        }
        let mut groups = self.rows_by_class();
        let mut held = RowSet::empty(self.store.rows);
        let mut count = 0;
        let stratified = groups.len() > 1;
        for group in &mut groups {
            let wanted = (group.len() as f64 * fraction).round() as usize;
            let wanted = wanted.min(group.len().saturating_sub(1));
            let wanted = if stratified { wanted } else { wanted.max(1) };
            count += hold(&mut held, group, wanted, seed);
        }
        if count == 0 {
            // Classes too small to give a row each still give one together.
            let mut all: Vec<u64> = groups.concat();
            count = hold(&mut held, &mut all, 1, seed);
        }
        let rest = self.without(&held);
        let rows = self.rows - count;
        let mut kept = self.with_part(Arc::new(rest), rows);
        kept.warnings = self.warnings.clone();
        Ok((kept, self.with_part(Arc::new(held), count)))
    }

    /// A part of the same store, without warnings.
    pub(super) fn with_part(&self, part: Arc<RowSet>, rows: usize) -> Rows {
        Rows {
            schema: self.schema.clone(),
            rows,
            warnings: Vec::new(),
            store: Arc::clone(&self.store),
            part: Some(part),
            class_factors: self.class_factors.clone(),
            targets: self.targets,
            cluster: None,
        }
    }

    /// Rows of which only a sample is here, with all targets and weights.
    pub(super) fn held_elsewhere(
        schema: Schema,
        sample: BorrowedTable,
        (target, weight): (Vec<f64>, Vec<f64>),
        warnings: Vec<String>,
    ) -> Rows {
        let rows = target.len();
        Rows::new(schema, rows, warnings, StoredRows::Elsewhere { sample, target, weight }, None)
    }

    /// The same rows, which a cluster holds as well.
    pub(super) fn on_cluster(self, cluster: Arc<dyn RowCluster>) -> Rows {
        Rows { cluster: Some(cluster), ..self }
    }

    /// The processes that hold these rows, if any do.
    pub fn cluster(&self) -> Option<&dyn RowCluster> {
        self.cluster.as_deref()
    }

    /// The caller's rows in the order of these, of a table whose rows are in another order.
    pub(crate) fn caller_order(&self) -> Option<&[usize]> {
        match &self.store.stored {
            StoredRows::Borrowed(table) => table.caller_order(),
            _ => None,
        }
    }

    /// The targets and weights of all rows; there are no weights if every row weighs one.
    pub(crate) fn targets(&self) -> Result<(Vec<f64>, Vec<f64>)> {
        match &self.store.stored {
            StoredRows::Elsewhere { target, weight, .. } => Ok((target.clone(), weight.clone())),
            StoredRows::Borrowed(table) if self.part.is_none() && self.targets.stored == 0 => {
                Ok((table.targets(), table.weights()))
            }
            _ => {
                let (mut target, mut weight) = (Vec::new(), Vec::new());
                self.for_each_chunk(&mut |chunk| {
                    target.extend_from_slice(&chunk.target);
                    weight.extend_from_slice(&chunk.weight);
                    Ok(())
                })?;
                Ok((target, weight))
            }
        }
    }

    /// Whether a row of the store is one of these rows.
    pub(super) fn contains(&self, row: usize) -> bool {
        self.part.as_ref().is_none_or(|part| part.has(row))
    }

    /// The number of rows of the store.
    pub(super) fn store_rows(&self) -> usize {
        self.store.rows
    }

    /// Row numbers, one group per class, or a single group without classes.
    pub(super) fn rows_by_class(&self) -> Vec<Vec<u64>> {
        let contains = |row: &usize| self.contains(*row);
        let TargetKind::Classes(classes) = &self.schema.target.kind else {
            return vec![(0..self.store.rows).filter(contains).map(|row| row as u64).collect()];
        };
        let mut groups = vec![Vec::new(); classes.len()];
        let targets: Box<dyn Iterator<Item = f64>> = match &self.store.stored {
            StoredRows::All(chunks) => Box::new(chunks.iter().flat_map(PackedChunk::target)),
            StoredRows::Sample { targets, .. } => {
                Box::new(targets.iter().flat_map(PackedChunk::target))
            }
            StoredRows::Borrowed(table) => Box::new(table.targets().into_iter()),
            StoredRows::Elsewhere { target, .. } => Box::new(target.iter().copied()),
        };
        for (row, class) in targets.enumerate().filter(|(row, _)| contains(row)) {
            groups[class as usize].push(row as u64);
        }
        groups
    }

    fn without(&self, held: &RowSet) -> RowSet {
        let mut rest = RowSet::empty(self.store.rows);
        (0..self.store.rows)
            .filter(|&row| self.contains(row) && !held.has(row))
            .for_each(|row| rest.set(row));
        rest
    }
}

/// Marks the `wanted` rows of the group with the smallest hashes; returns how many.
fn hold(held: &mut RowSet, group: &mut [u64], wanted: usize, seed: u64) -> usize {
    if wanted == 0 || group.is_empty() {
        return 0;
    }
    // The sample's seed is 0; another stream keeps the two choices apart.
    let key = |row: &u64| hash(*row, seed.wrapping_add(1));
    group.select_nth_unstable_by_key(wanted - 1, key);
    group[..wanted].iter().for_each(|&row| held.set(row as usize));
    wanted
}

fn changed(store: &Store) -> Error {
    let name = match &store.origin {
        Some((RereadableSource::File(path, _), _)) => path.display().to_string(),
        _ => String::from("the data"),
    };
    Error::Run(format!(
        "{name}: changed while it was being read; run again when nothing writes to it"
    ))
}
