//! The histograms of children: counted, merged, subtracted, searched, and kept for their own
//! children.
//!
//! A child of few rows has none: it is searched by its rows, and so will be all that comes of it.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Histogram, Local, Team};
use crate::kernels::histogram::TABLE;
use crate::pool::even_ranges;
use crate::split::{FEW, FewRows, NodeTable, SplitCandidate, SplitScratch, SplitSearch};
use crate::stats::message::SplitQuery;
use crate::stats::path_features::PathFeatures;
use crate::stats::shard::Shard;

/// Nodes of at least this many rows are counted by rows, a share for each team, and the counts
/// added up. Smaller ones are counted by columns: every thread reads all rows of the node but fills
/// only tables of its own, so that nothing needs adding up. A histogram is the same either way.
const BY_ROWS: usize = 4096;

impl Local<'_> {
    /// Counts the small child of each job, subtracts it from the parent, and searches both: the
    /// best rules of `[small, large]`.
    pub(super) fn look(
        &mut self,
        jobs: &mut [ChildSearch],
        query: SplitQuery,
        together: bool,
    ) -> Vec<[Option<SplitCandidate>; 2]> {
        let rows = jobs.iter().map(|job| self.count(job.small)).max().unwrap_or(0);
        if query == SplitQuery::Each {
            jobs.iter_mut().for_each(|job| self.note_few(job));
        }
        let whole = jobs.iter().all(|job| !job.has_large_table() || job.parent.is_some());
        if self.teams.len() > 1 && rows >= BY_ROWS && whole {
            self.count_by_rows(jobs);
        }
        for job in jobs.iter_mut() {
            if job.counted.is_empty() && !job.few[0] {
                job.counted.push(self.spare_tables());
                job.count_small = true;
            }
            if job.has_large_table() && job.parent.is_none() {
                job.parent = Some(self.spare_tables());
                job.count_large = true;
            }
        }
        self.search_jobs(jobs, query, together)
    }

    /// Sees which children have few rows, and gives back the parent's histogram if nobody needs it.
    fn note_few(&mut self, job: &mut ChildSearch) {
        job.few =
            [self.count(job.small) <= FEW, job.large.is_some_and(|large| self.count(large) <= FEW)];
        if job.few[1] {
            self.teams[0].spare.extend(job.parent.take());
        }
    }

    /// Every team counts its own rows of the small children that want counting.
    fn count_by_rows(&mut self, jobs: &mut [ChildSearch]) {
        let size = self.table_size();
        let mut jobs: Vec<&mut ChildSearch> = jobs.iter_mut().filter(|job| !job.few[0]).collect();
        let slots: Vec<usize> = jobs.iter().map(|job| job.small).collect();
        let mut counted: Vec<(&mut Team, Vec<Histogram>)> =
            self.teams.iter_mut().map(|team| (team, Vec::new())).collect();
        self.pool.each(&mut counted, |_, (team, tables)| {
            tables.extend(slots.iter().map(|&slot| team.count_slot(slot, size)));
        });
        for (_, tables) in counted {
            jobs.iter_mut().zip(tables).for_each(|(job, tables)| job.counted.push(tables));
        }
    }

    /// Tables with any content.
    fn spare_tables(&mut self) -> Histogram {
        let size = self.table_size();
        self.teams[0].spare.pop().unwrap_or_else(|| vec![0; size].into_boxed_slice())
    }

    fn search_jobs(
        &self,
        jobs: &mut [ChildSearch],
        query: SplitQuery,
        together: bool,
    ) -> Vec<[Option<SplitCandidate>; 2]> {
        let count = jobs.len();
        let pieces = if together { self.pool.threads() } else { 1 };
        let search = self.searching();
        let shards: Vec<&Shard> = self.shards().collect();
        let task = |columns| ColumnTask {
            columns,
            parts: Vec::with_capacity(count),
            found: Vec::new(),
            shards: &shards,
            paths: &self.paths,
            spare: &self.search_buffers,
        };
        let mut tasks: Vec<ColumnTask<'_>> =
            even_ranges(self.layout.columns().len(), pieces).into_iter().map(task).collect();
        for job in jobs.iter_mut() {
            job.deal(&mut tasks);
        }
        if together {
            self.pool.each(&mut tasks, |_, task| task.run(&search, query));
        } else {
            tasks.iter_mut().for_each(|task| task.run(&search, query));
        }
        let best = |job: usize, side: usize| {
            SplitCandidate::best(tasks.iter().map(|task| task.found[job][side]))
        };
        let mut found: Vec<[Option<SplitCandidate>; 2]> =
            (0..count).map(|job| [best(job, 0), best(job, 1)]).collect();
        drop(tasks);
        self.settle_missing(&search, jobs, query, &mut found);
        found
    }

    /// Gives rules whose nodes hold no missing value a side for it.
    fn settle_missing(
        &self,
        search: &SplitSearch<'_>,
        jobs: &[ChildSearch],
        query: SplitQuery,
        found: &mut [[Option<SplitCandidate>; 2]],
    ) {
        if query == SplitQuery::Shared {
            if let Some(best) = &mut found[0][0] {
                let column = self.column(&best.rule);
                let nodes: Vec<NodeTable<'_>> =
                    jobs.iter().flat_map(|job| job.nodes(column)).flatten().collect();
                search.settle_missing(&mut best.rule, &nodes);
            }
            return;
        }
        for (job, found) in jobs.iter().zip(found) {
            for (side, best) in found.iter_mut().enumerate() {
                if let Some(best) = best
                    && let Some(node) = job.nodes(self.column(&best.rule))[side]
                {
                    search.settle_missing(&mut best.rule, &[node]);
                }
            }
        }
    }

    /// Keeps the histograms of those children, small and large, that may be split, for later
    /// subtraction. The others go back at once: the next job finds them in the cache.
    pub(super) fn keep_jobs(&mut self, jobs: impl IntoIterator<Item = (ChildSearch, [bool; 2])>) {
        let most = self.memory / (self.table_size().max(1) * 8);
        for (job, [small, large]) in jobs {
            for (team, tables) in job.counted.into_iter().enumerate() {
                if small && team == 0 && self.kept_count < most {
                    self.keep(job.small, tables);
                } else {
                    self.teams[team].spare.push(tables);
                }
            }
            match (job.large, job.parent) {
                (Some(slot), Some(tables)) if large && self.kept_count < most => {
                    self.keep(slot, tables)
                }
                (_, Some(tables)) => self.teams[0].spare.push(tables),
                _ => {}
            }
        }
    }

    fn keep(&mut self, slot: usize, tables: Histogram) {
        if self.kept.len() <= slot {
            self.kept.resize_with(slot + 1, || None);
        }
        self.kept[slot] = Some(tables);
        self.kept_count += 1;
    }

    /// Gives a slot's histogram back; it will not be split.
    pub(super) fn recycle(&mut self, slot: usize) {
        if let Some(tables) = self.kept.get_mut(slot).and_then(Option::take) {
            self.teams[0].spare.push(tables);
            self.kept_count -= 1;
        }
    }
}

/// One split on its way through counting and searching.
pub(super) struct ChildSearch {
    pub(super) small: usize,
    pub(super) large: Option<usize>,
    /// Packed sums of the small and the large child.
    pub(super) totals: [u64; 2],
    /// Their values.
    values: [f64; 2],
    /// The parent's histogram, which becomes the large child's.
    pub(super) parent: Option<Histogram>,
    /// The small child's histogram, one part a team that has counted; merged into the first.
    counted: Vec<Histogram>,
    /// Whether the searching threads are to count, each for its own columns.
    count_small: bool,
    count_large: bool,
    /// Whether the small and the large child are searched by their rows.
    few: [bool; 2],
}

impl ChildSearch {
    /// A split of which nothing has been counted yet.
    pub(super) fn new(
        small: usize,
        large: Option<usize>,
        totals: [u64; 2],
        values: [f64; 2],
        parent: Option<Histogram>,
    ) -> Self {
        let (counted, few) = (Vec::new(), [false; 2]);
        ChildSearch {
            small,
            large,
            totals,
            values,
            parent,
            counted,
            count_small: false,
            count_large: false,
            few,
        }
    }

    /// Whether there is a large child that is searched by its histogram.
    fn has_large_table(&self) -> bool {
        self.large.is_some() && !self.few[1]
    }

    /// Gives each task the tables of its columns.
    fn deal<'a>(&'a mut self, tasks: &mut [ColumnTask<'a>]) {
        let (mut small_rest, others) = match self.counted.split_first_mut() {
            Some((first, others)) => (Some(&mut first[..]), others),
            None => (None, &mut [][..]),
        };
        let mut large_rest = self.parent.as_deref_mut();
        for task in tasks {
            let span = task.columns.start * TABLE..task.columns.end * TABLE;
            task.parts.push(ColumnTables {
                small: small_rest.as_mut().and_then(|rest| rest.split_off_mut(..span.len())),
                others: others.iter().map(|tables| &tables[span.clone()]).collect(),
                large: large_rest.as_mut().and_then(|rest| rest.split_off_mut(..span.len())),
                slots: [Some(self.small), self.large],
                totals: self.totals,
                values: self.values,
                count: [self.count_small, self.count_large],
                few: self.few,
            });
        }
    }

    /// The small and the large child's view of a column, once merged and subtracted.
    fn nodes(&self, column: usize) -> [Option<NodeTable<'_>>; 2] {
        let small = self.counted.first().map(|tables| NodeTable {
            table: table(tables, column),
            total: self.totals[0],
            value: self.values[0],
        });
        let large = self.parent.as_ref().map(|tables| NodeTable {
            table: table(tables, column),
            total: self.totals[1],
            value: self.values[1],
        });
        [small, large]
    }
}

/// The share of all jobs that falls on some columns.
struct ColumnTask<'a> {
    columns: Range<usize>,
    parts: Vec<ColumnTables<'a>>,
    found: Vec<[Option<SplitCandidate>; 2]>,
    shards: &'a [&'a Shard],
    /// The features that each slot may use.
    paths: &'a PathFeatures,
    /// Buffers that no task uses now.
    spare: &'a Mutex<Vec<SearchBuffers>>,
}

/// What the search of a node works with. It may hold anything between two searches.
#[derive(Default)]
pub(super) struct SearchBuffers {
    scratch: Box<SplitScratch>,
    rows: FewRows,
}

/// A task that panicked leaves no half-done buffers: its own are dropped.
fn lock(spare: &Mutex<Vec<SearchBuffers>>) -> MutexGuard<'_, Vec<SearchBuffers>> {
    spare.lock().unwrap_or_else(PoisonError::into_inner)
}

struct ColumnTables<'a> {
    small: Option<&'a mut [u64]>,
    others: Vec<&'a [u64]>,
    large: Option<&'a mut [u64]>,
    /// The small and the large child.
    slots: [Option<usize>; 2],
    totals: [u64; 2],
    values: [f64; 2],
    /// Which of them are to be counted here.
    count: [bool; 2],
    /// Which of them are searched by their rows.
    few: [bool; 2],
}

impl ColumnTables<'_> {
    /// Brings the tables of both children up to date.
    fn fill(&mut self, shards: &[&Shard], columns: &Range<usize>) {
        let count = |slot: Option<usize>, tables: &mut [u64]| {
            tables.fill(0);
            slot.into_iter().for_each(|slot| {
                shards.iter().for_each(|shard| shard.histogram(slot, columns, tables))
            });
        };
        if let Some(small) = &mut self.small {
            match self.count[0] {
                true => count(self.slots[0], small),
                false => self.others.iter().for_each(|other| add(small, other)),
            }
        }
        match (&mut self.large, &self.small, self.slots[0]) {
            (Some(large), _, _) if self.count[1] => count(self.slots[1], large),
            (Some(large), Some(small), _) => subtract(large, small),
            (Some(large), None, Some(slot)) => {
                shards.iter().for_each(|shard| shard.take_away(slot, columns, large))
            }
            _ => {}
        }
    }

    /// A child's view of a column, if it has tables.
    fn node(&self, side: usize, column: usize) -> Option<NodeTable<'_>> {
        let tables = [&self.small, &self.large][side].as_deref()?;
        Some(NodeTable {
            table: table(tables, column),
            total: self.totals[side],
            value: self.values[side],
        })
    }
}

impl ColumnTask<'_> {
    fn run(&mut self, search: &SplitSearch<'_>, query: SplitQuery) {
        // Clearing new buffers would take longer than the search of a small node.
        let spare = lock(self.spare).pop();
        let mut buffers = spare.unwrap_or_default();
        self.run_with(search, query, &mut buffers);
        lock(self.spare).push(buffers);
    }

    fn run_with(
        &mut self,
        search: &SplitSearch<'_>,
        query: SplitQuery,
        SearchBuffers { scratch, rows }: &mut SearchBuffers,
    ) {
        self.found = vec![[None, None]; self.parts.len()];
        if query == SplitQuery::Shared {
            self.parts.iter_mut().for_each(|part| part.fill(self.shards, &self.columns));
            // All nodes of a level have the same features above them.
            let slot = self.parts.first().and_then(|part| part.slots[0]);
            self.found[0][0] = self.shared(&search.at(slot, self.paths), scratch);
            return;
        }
        // One part after the other, so that its tables are still in the cache when they are
        // searched.
        for (part, found) in self.parts.iter_mut().zip(&mut self.found) {
            part.fill(self.shards, &self.columns);
            for (side, found) in found.iter_mut().enumerate() {
                let search = &search.at(part.slots[side], self.paths);
                if let Some(slot) = part.slots[side].filter(|_| part.few[side]) {
                    if search.can_split(part.totals[side]) {
                        rows.clear(self.columns.len());
                        self.shards
                            .iter()
                            .for_each(|shard| shard.gather(slot, &self.columns, rows));
                        let node = (part.totals[side], part.values[side]);
                        let columns = self.columns.clone().enumerate();
                        let all = columns.map(|(at, column)| {
                            search.column_of_few(column, at, rows, node, scratch)
                        });
                        *found = SplitCandidate::best(all);
                    }
                    continue;
                }
                for (at, column) in self.columns.clone().enumerate() {
                    if let Some(node) = part.node(side, at)
                        && search.can_split(node.total)
                    {
                        *found =
                            SplitCandidate::best([*found, search.column(column, &[node], scratch)]);
                    }
                }
            }
        }
    }

    /// The best rule for all nodes together.
    fn shared(
        &self,
        search: &SplitSearch<'_>,
        scratch: &mut SplitScratch,
    ) -> Option<SplitCandidate> {
        let of_column = |(at, column): (usize, usize)| {
            let sides = self.parts.iter().flat_map(|part| [part.node(0, at), part.node(1, at)]);
            let nodes: Vec<NodeTable<'_>> =
                sides.flatten().filter(|node| node.total != 0).collect();
            search.column(column, &nodes, scratch)
        };
        SplitCandidate::best(self.columns.clone().enumerate().map(of_column).collect::<Vec<_>>())
    }
}

impl<'a> SplitSearch<'a> {
    /// The same search with the features that a slot may use.
    pub(in crate::stats) fn at(&self, slot: Option<usize>, paths: &'a PathFeatures) -> Self {
        let allowed = slot.and_then(|slot| paths.allowed(slot)).unwrap_or(self.allowed);
        SplitSearch { allowed, ..*self }
    }
}

pub(in crate::stats) fn table(tables: &[u64], column: usize) -> &[u64; TABLE] {
    tables[column * TABLE..].first_chunk().expect("tables hold every column")
}

fn add(into: &mut [u64], part: &[u64]) {
    into.iter_mut().zip(part).for_each(|(sum, &part)| *sum = sum.wrapping_add(part));
}

fn subtract(from: &mut [u64], part: &[u64]) {
    from.iter_mut().zip(part).for_each(|(sum, &part)| *sum = sum.wrapping_sub(part));
}
