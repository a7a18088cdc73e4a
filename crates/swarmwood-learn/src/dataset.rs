//! Binned rows, dealt out to shards.
//!
//! The [`Plan`] decides how many shards there are and which rows each holds; it looks at the number
//! of rows alone, never at the machine, so that sums over shards come out the same everywhere.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use crate::bins::layout::{Conflict, StoredColumn};
use crate::bins::{CODES, Layout};
use crate::data::{Chunk, Values};
use crate::pool::{Pool, even_ranges};
use crate::rule::Code;

/// Rows are dealt to shards in blocks of this many, so that sorted files spread evenly.
pub(crate) const BLOCK: usize = 1024;

/// How rows are dealt to shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// All rows.
    pub rows: usize,
    /// Shards, a power of two.
    pub shards: usize,
}

impl Plan {
    /// The plan for this many rows: a shard for every 4096, at most 8, and more only for millions
    /// of rows.
    pub fn new(rows: usize) -> Self {
        let most = (rows >> 17).clamp(8, 64);
        let wanted = (rows / 4096).clamp(1, most);
        Plan { rows, shards: 1 << wanted.ilog2() }
    }

    /// The row's place in the whole, given its shard and its place there.
    #[inline]
    pub fn global(&self, shard: usize, local: usize) -> usize {
        (local / BLOCK * self.shards + shard) * BLOCK + local % BLOCK
    }

    /// The row's shard and its place there, given its place in the whole.
    pub(crate) fn local(&self, row: usize) -> (usize, usize) {
        let block = row / BLOCK;
        (block % self.shards, block / self.shards * BLOCK + row % BLOCK)
    }

    /// Calls `each(shard, first row, number of rows)` for every run of rows that stays together, in
    /// row order.
    fn runs(&self, from: usize, count: usize, mut each: impl FnMut(usize, usize, usize)) {
        let mut at = from;
        while at < from + count {
            let end = (at / BLOCK * BLOCK + BLOCK).min(from + count);
            each(at / BLOCK % self.shards, at, end - at);
            at = end;
        }
    }

    /// How many rows each shard gets.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.shards];
        self.runs(0, self.rows, |shard, _, length| sizes[shard] += length);
        sizes
    }

    /// Deals a column of values to the shards.
    pub(crate) fn deal<T: Copy>(&self, values: &[T]) -> Vec<Vec<T>> {
        let mut dealt = vec![Vec::with_capacity(values.len() / self.shards + BLOCK); self.shards];
        self.runs(0, values.len(), |shard, at, length| {
            dealt[shard].extend_from_slice(&values[at..at + length])
        });
        dealt
    }

    /// Gathers what was dealt, in row order.
    pub fn gather<T: Copy + Default>(&self, dealt: &[&[T]]) -> Vec<T> {
        let mut values = vec![T::default(); self.rows];
        for (shard, part) in dealt.iter().enumerate() {
            part.iter()
                .enumerate()
                .for_each(|(local, &value)| values[self.global(shard, local)] = value);
        }
        values
    }
}

/// The stored codes of one shard's rows, column by column and, if they are bytes, again row by row.
#[derive(Debug, Default)]
pub struct BinnedShard<C = u8> {
    /// One vector a stored column.
    pub columns: Vec<Vec<C>>,
    /// The same codes in records of neighbouring columns, for histograms, which are made of codes
    /// of one byte only.
    pub(crate) groups: Vec<ColumnGroup>,
    /// Number of rows.
    pub rows: usize,
}

/// Records of up to [`WIDEST`] neighbouring columns.
#[derive(Debug)]
pub(crate) struct ColumnGroup {
    /// The first column.
    pub first: usize,
    /// How many columns.
    pub count: usize,
    /// `rows` records of [`ColumnGroup::width`] bytes.
    pub records: Vec<u8>,
}

impl ColumnGroup {
    /// Bytes of a record of so many columns: whole words, and none for the sake of powers of two.
    pub fn width(count: usize) -> usize {
        count.next_multiple_of(WORD)
    }
}

/// The widest record.
pub(crate) const WIDEST: usize = 32;

/// Bytes of a word: a record begins where one does.
const WORD: usize = 4;

/// Which columns share a record: as many as may, because every record costs a pass over the rows.
/// Whole words are dealt out, so that only the last record has bytes to spare. Threads that count
/// by columns read parts of records. How columns are grouped never changes a sum.
fn group_ranges(columns: usize) -> Vec<Range<usize>> {
    let words = even_ranges(columns.div_ceil(WORD), columns.div_ceil(WIDEST));
    let range = |words: Range<usize>| words.start * WORD..(words.end * WORD).min(columns);
    words.into_iter().map(range).filter(|range| !range.is_empty()).collect()
}

impl BinnedShard {
    /// The shard with these columns.
    pub(crate) fn new(columns: Vec<Vec<u8>>, rows: usize) -> Self {
        let groups = group_ranges(columns.len());
        let mut shard = BinnedShard { columns, groups: Vec::new(), rows };
        shard.group(&groups);
        shard
    }

    /// The codes of a row in some columns, piece by piece.
    pub fn pieces(&self, row: usize, columns: &Range<usize>) -> impl Iterator<Item = &[u8]> {
        let (from, to) = (columns.start, columns.end);
        self.groups.iter().filter_map(move |group| {
            let start = row * ColumnGroup::width(group.count);
            let part = from.max(group.first)..to.min(group.first + group.count);
            (!part.is_empty()).then(|| {
                &group.records[start + part.start - group.first..start + part.end - group.first]
            })
        })
    }
}

impl<C: Code> BinnedShard<C> {
    /// Makes the records of bytes; other codes have none.
    fn group(&mut self, groups: &[Range<usize>]) {
        let columns: Option<Vec<&[u8]>> =
            self.columns.iter().map(|column| C::as_bytes(column)).collect();
        let Some(columns) = columns else { return };
        self.groups = groups
            .iter()
            .map(|range| {
                let width = ColumnGroup::width(range.len());
                let mut records = vec![0; self.rows * width];
                // Blocks keep both sides of the transposition in the cache.
                for start in (0..self.rows).step_by(BLOCK) {
                    let end = (start + BLOCK).min(self.rows);
                    for (at, column) in columns[range.clone()].iter().enumerate() {
                        for (record, &code) in records[start * width..end * width]
                            .chunks_exact_mut(width)
                            .zip(&column[start..end])
                        {
                            record[at] = code;
                        }
                    }
                }
                ColumnGroup { first: range.start, count: range.len(), records }
            })
            .collect();
    }
}

/// Binned rows with their targets. Codes are bytes, except for particles that may ask about every
/// distinct value.
#[derive(Debug)]
pub struct Dataset<C = u8> {
    /// How values were binned.
    pub layout: Arc<Layout>,
    /// How rows were dealt.
    pub plan: Plan,
    /// One entry a shard.
    pub shards: Vec<Arc<BinnedShard<C>>>,
    /// Targets in row order, as the reader gave them.
    pub target: Values,
    /// Weights in row order; empty if every row weighs one.
    pub weight: Values,
    /// Which codes occur in each stored column, where the codes are held elsewhere and it is known.
    seen: Vec<[bool; CODES]>,
}

impl<C: Code> Dataset<C> {
    /// Builds from rows that are all in memory; the codes must be wide enough for the layout.
    pub fn with_codes(chunk: &Chunk, layout: Layout, pool: &Pool) -> Self {
        let Ok(data) = layout.settle(|layout| {
            let mut builder = DatasetBuilder::new(layout.clone(), chunk.rows);
            Ok::<_, Infallible>(builder.push(chunk, pool).map(|()| builder.finish(pool)))
        });
        data
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.plan.rows
    }

    /// Whether some row misses the feature of a stored column that has only one.
    pub fn is_missed(&self, column: usize) -> bool {
        match self.seen.get(column) {
            Some(seen) => seen[C::MISSING.index()],
            None => self.shards.iter().any(|shard| shard.columns[column].contains(&C::MISSING)),
        }
    }
}

impl Dataset {
    /// Builds from rows that are all in memory, in codes of one byte.
    pub fn from_chunk(chunk: &Chunk, layout: Layout, pool: &Pool) -> Self {
        Dataset::with_codes(chunk, layout, pool)
    }

    /// Rows whose codes are held elsewhere, by the hosts of
    /// [`RemoteBackends`](crate::stats::RemoteBackends).
    pub fn held_elsewhere(layout: Arc<Layout>, target: &[f64], weight: &[f64]) -> Self {
        let values = |all: &[f64]| {
            let mut values = Values::with_capacity(all.len());
            values.extend(all);
            values
        };
        let plan = Plan::new(target.len());
        let (target, weight) = (values(target), values(weight));
        Dataset { layout, plan, shards: Vec::new(), target, weight, seen: Vec::new() }
    }

    /// The same rows, of whose codes it is known which ones occur in each stored column.
    pub(crate) fn with_seen_codes(self, seen: Vec<[bool; CODES]>) -> Self {
        Dataset { seen, ..self }
    }

    /// Which codes occur in each stored column.
    pub fn seen_codes(&self) -> Vec<[bool; CODES]> {
        if !self.seen.is_empty() {
            return self.seen.clone();
        }
        let mut seen = vec![[false; CODES]; self.layout.columns().len()];
        for shard in &self.shards {
            for (seen, codes) in seen.iter_mut().zip(&shard.columns) {
                codes.iter().for_each(|&code| seen[usize::from(code)] = true);
            }
        }
        seen
    }

    /// The same rows with the codes that hosts held.
    pub(crate) fn with_shards(&self, shards: Vec<BinnedShard>) -> Self {
        Dataset {
            layout: self.layout.clone(),
            plan: self.plan,
            shards: shards.into_iter().map(Arc::new).collect(),
            target: self.target.clone(),
            weight: self.weight.clone(),
            seen: Vec::new(),
        }
    }

    /// Some of the rows, in the order given, binned as they are.
    pub fn subset(&self, rows: &[usize], pool: &Pool) -> Dataset {
        let mut builder = DatasetBuilder::new(self.layout.clone(), rows.len());
        let places: Vec<(usize, usize)> = rows.iter().map(|&row| self.plan.local(row)).collect();
        let plan = builder.plan;
        let dealt = pool.map(self.layout.columns().len(), |column| {
            let mut dealt: Vec<Vec<u8>> =
                plan.sizes().into_iter().map(Vec::with_capacity).collect();
            plan.runs(0, rows.len(), |shard, at, length| {
                let codes = places[at..at + length]
                    .iter()
                    .map(|&(from, local)| self.shards[from].columns[column][local]);
                dealt[shard].extend(codes);
            });
            dealt
        });
        for (column, dealt) in dealt.into_iter().enumerate() {
            builder
                .shards
                .iter_mut()
                .zip(dealt)
                .for_each(|(shard, codes)| shard.columns[column] = codes);
        }
        let some = |values: &Values| -> Vec<f64> {
            rows.iter().filter_map(|&row| values.get(row)).collect()
        };
        builder.target.extend(&some(&self.target));
        builder.weight.extend(&some(&self.weight));
        builder.seen = rows.len();
        builder.finish(pool)
    }

    /// The same rows with only some features of the schema; no rule is made from the others.
    pub fn with_features(&self, kept: &[bool], pool: &Pool) -> Dataset {
        let layout = Arc::new(self.layout.with_features(kept));
        let copy = |shard: &Arc<BinnedShard>| {
            let column = |stored: &StoredColumn| {
                let feature = stored.features[0] as usize;
                let (column, own) = self.layout.own_codes(feature).unwrap_or((0, [0; CODES]));
                shard.columns[column].iter().map(|&code| own[usize::from(code)]).collect()
            };
            let columns = layout.columns().iter().map(column).collect();
            BinnedShard { columns, groups: Vec::new(), rows: shard.rows }
        };
        let mut shards: Vec<BinnedShard> = self.shards.iter().map(copy).collect();
        let groups = group_ranges(layout.columns().len());
        pool.each(&mut shards, |_, rows| rows.group(&groups));

        Dataset {
            layout,
            plan: self.plan,
            shards: shards.into_iter().map(Arc::new).collect(),
            target: self.target.clone(),
            weight: self.weight.clone(),
            seen: Vec::new(),
        }
    }
}

/// Bins rows chunk after chunk.
#[derive(Debug)]
pub struct DatasetBuilder<C = u8> {
    layout: Arc<Layout>,
    plan: Plan,
    shards: Vec<BinnedShard<C>>,
    target: Values,
    weight: Values,
    seen: usize,
}

impl<C: Code> DatasetBuilder<C> {
    /// A builder for exactly `rows` rows; the codes must be wide enough for the layout.
    pub fn new(layout: Arc<Layout>, rows: usize) -> Self {
        assert!(layout.codes() <= C::GREATEST.index() + 1, "the layout decides how wide codes are");
        let plan = Plan::new(rows);
        let columns =
            |rows: usize| (0..layout.columns().len()).map(|_| Vec::with_capacity(rows)).collect();
        let shards = plan.sizes().into_iter().map(|rows| BinnedShard {
            columns: columns(rows),
            groups: Vec::new(),
            rows,
        });
        DatasetBuilder {
            plan,
            shards: shards.collect(),
            layout,
            target: Values::with_capacity(rows),
            weight: Values::default(),
            seen: 0,
        }
    }

    /// Adds the next rows.
    pub fn push(&mut self, chunk: &Chunk, pool: &Pool) -> Result<(), Conflict> {
        let (layout, plan, seen) = (&self.layout, self.plan, self.seen);
        let encoded = pool.map(layout.columns().len(), |column| {
            let mut codes = vec![C::MISSING; chunk.rows];
            layout.encode(column, chunk, &mut codes).map(|()| codes)
        });
        for (column, codes) in encoded.into_iter().enumerate() {
            let codes = codes?;
            plan.runs(seen, chunk.rows, |shard, at, length| {
                self.shards[shard].columns[column]
                    .extend_from_slice(&codes[at - seen..at - seen + length]);
            });
        }
        self.target.extend(&chunk.target);
        self.weight.extend(&chunk.weight);
        self.seen += chunk.rows;
        Ok(())
    }

    /// The data set; every row announced must have been pushed.
    pub fn finish(mut self, pool: &Pool) -> Dataset<C> {
        assert_eq!(self.seen, self.plan.rows, "the reader delivers the rows it counted");
        let groups = group_ranges(self.layout.columns().len());
        pool.each(&mut self.shards, |_, rows| rows.group(&groups));
        let shards = self.shards.into_iter().map(Arc::new).collect();
        Dataset {
            layout: self.layout,
            plan: self.plan,
            shards,
            target: self.target,
            weight: self.weight,
            seen: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;
    use swarmwood_model::{Feature, Kind};

    #[test]
    fn rows_with_some_features_are_binned_as_they_were() {
        let rows = 9000;
        let flag = |at: usize| {
            Column::Number((0..rows).map(|row| f64::from(u8::from(row % 4 == at))).collect())
        };
        let number = Column::Number(
            (0..rows).map(|row| if row % 7 == 0 { f64::NAN } else { row as f64 }).collect(),
        );
        let columns = vec![flag(0), number, flag(1), Column::Number(vec![5.0; rows]), flag(2)];
        let chunk = Chunk { columns, rows, target: vec![1.0; rows], ..Chunk::default() };
        let features: Vec<Feature> =
            (0..5).map(|at| Feature { name: format!("x{at}"), kind: Kind::Number }).collect();
        let pool = Pool::new(2).unwrap();
        let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
        assert!(layout.columns().len() < 4, "the flags share a column");
        let data = Dataset::from_chunk(&chunk, layout, &pool);

        for kept in [[true, true, false, true, false], [false, false, true, false, true], [true; 5]]
        {
            let some = data.with_features(&kept, &pool);
            let built = Dataset::from_chunk(&chunk, data.layout.with_features(&kept), &pool);
            assert_eq!(some.layout, built.layout);
            for (own, other) in some.shards.iter().zip(&built.shards) {
                assert_eq!(own.columns, other.columns);
                let records = |shard: &BinnedShard| -> Vec<Vec<u8>> {
                    shard.groups.iter().map(|group| group.records.clone()).collect()
                };
                assert_eq!(records(own), records(other));
            }
        }
    }

    #[test]
    fn dealing_and_gathering_are_inverse() {
        for rows in [0, 1, 1023, 4096, 8192, 20_000, 70_001] {
            let plan = Plan::new(rows);
            let values: Vec<u32> = (0..rows as u32).collect();
            let dealt = plan.deal(&values);
            assert_eq!(plan.gather(&dealt.iter().map(Vec::as_slice).collect::<Vec<_>>()), values);
            for (shard, part) in dealt.iter().enumerate() {
                assert!(
                    part.iter()
                        .enumerate()
                        .all(|(local, &v)| plan.global(shard, local) == v as usize)
                );
            }
        }
    }

    #[test]
    fn records_hold_every_column_once_and_waste_less_than_a_word() {
        for columns in 0..200 {
            let ranges = group_ranges(columns);
            assert_eq!(
                ranges.iter().cloned().flatten().collect::<Vec<_>>(),
                (0..columns).collect::<Vec<_>>()
            );
            assert_eq!(ranges.len(), columns.div_ceil(WIDEST), "{columns}");
            assert!(ranges.iter().all(|range| range.len() <= WIDEST));
            let bytes: usize = ranges.iter().map(|range| ColumnGroup::width(range.len())).sum();
            assert_eq!(bytes, columns.next_multiple_of(WORD), "{columns}");
        }
    }

    #[test]
    fn chunks_of_any_size_give_the_same_shards() {
        let rows = 9000;
        let values: Vec<f64> = (0..rows).map(|r| f64::from(r * 31 % 1000)).collect();
        let features = vec![Feature { name: "x".into(), kind: Kind::Number }];
        let pool = Pool::new(1).unwrap();
        let whole = Chunk {
            columns: vec![Column::Number(values.clone())],
            target: values.clone(),
            weight: Vec::new(),
            rows: rows as usize,
        };
        let layout = Arc::new(Layout::fit(|at| whole.columns[at].clone(), &features, 255, &pool));
        let build = |size: usize| {
            let mut builder = DatasetBuilder::new(layout.clone(), rows as usize);
            for part in values.chunks(size) {
                let chunk = Chunk {
                    columns: vec![Column::Number(part.to_vec())],
                    target: part.to_vec(),
                    weight: Vec::new(),
                    rows: part.len(),
                };
                builder.push(&chunk, &pool).unwrap();
            }
            builder.finish(&pool)
        };
        let (a, b) = (build(9000), build(777));
        assert_eq!(a.plan.shards, 2);
        for (x, y) in a.shards.iter().zip(&b.shards) {
            assert_eq!(x.columns, y.columns);
            assert_eq!(x.groups[0].records, y.groups[0].records);
            assert!(
                x.groups[0]
                    .records
                    .chunks(4)
                    .zip(&x.columns[0])
                    .all(|(record, &code)| record[0] == code)
            );
        }
        let chosen: Vec<usize> = (0..rows as usize).rev().step_by(3).collect();
        let part = a.subset(&chosen, &pool);
        let whole_codes =
            a.plan.gather(&a.shards.iter().map(|shard| &shard.columns[0][..]).collect::<Vec<_>>());
        let part_codes = part
            .plan
            .gather(&part.shards.iter().map(|shard| &shard.columns[0][..]).collect::<Vec<_>>());
        assert_eq!(part_codes, chosen.iter().map(|&row| whole_codes[row]).collect::<Vec<_>>());
        assert_eq!(part.target.to_vec(), chosen.iter().map(|&row| values[row]).collect::<Vec<_>>());
    }
}
