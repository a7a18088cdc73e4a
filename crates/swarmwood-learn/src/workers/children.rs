//! The histograms of children: counted, merged, subtracted, searched, and kept for their own children.

use std::ops::Range;

use super::{Histogram, KEPT_BYTES, Team, Want, Workers};
use crate::kernels::histogram::TABLE;
use crate::split::{Candidate, NodeTable, Scratch, Search};

impl Workers<'_> {
    /// Every team counts the small child of each job, and the large one where no parent was kept.
    pub(super) fn count_jobs(&mut self, jobs: &mut [Job], together: bool) {
        let size = self.table_size();
        let wanted: Vec<(usize, usize)> = jobs
            .iter()
            .flat_map(|job| [Some(job.small), job.large.filter(|_| job.parent.is_none())])
            .flatten()
            .map(|slot| (slot, size))
            .collect();
        let count =
            |team: &mut Team| wanted.iter().map(|&(slot, size)| team.count_slot(slot, size)).collect::<Vec<_>>();
        let mut counted: Vec<(&mut Team, Vec<Histogram>)> =
            self.teams.iter_mut().map(|team| (team, Vec::new())).collect();
        if together {
            self.pool.each(&mut counted, |_, (team, tables)| *tables = count(team));
        } else {
            counted.iter_mut().for_each(|(team, tables)| *tables = count(team));
        }
        for (_, tables) in counted {
            let mut tables = tables.into_iter();
            for job in jobs.iter_mut() {
                job.counted.extend(tables.next());
                if job.parent.is_none() {
                    job.counted.extend(tables.next());
                }
            }
        }
        // Without a parent the large child's own counts stand where the parent would.
        for job in jobs.iter_mut().filter(|job| job.parent.is_none() && job.large.is_some()) {
            let (mut small, mut whole) = (Vec::new(), Vec::new());
            for (at, tables) in std::mem::take(&mut job.counted).into_iter().enumerate() {
                if at % 2 == 0 {
                    small.push(tables)
                } else {
                    whole.push(tables)
                };
            }
            let mut parent = whole.remove(0);
            whole.iter().chain(&small).for_each(|part| add(&mut parent, part));
            whole.into_iter().for_each(|tables| self.teams[0].spare.push(tables));
            job.counted = small;
            job.parent = Some(parent);
        }
    }

    /// Merges the teams' counts, subtracts, and searches: the best rules of `[small, large]` for each job.
    pub(super) fn search_jobs(&self, jobs: &mut [Job], want: Want, together: bool) -> Vec<[Option<Candidate>; 2]> {
        let (columns, count) = (self.layout.columns().len(), jobs.len());
        let pieces = if together { self.pool.threads() } else { 1 };
        let width = columns.div_ceil(pieces).max(1);
        let search = self.searching();
        let mut tasks: Vec<Task<'_>> = even_pieces(columns, width)
            .map(|columns| Task { columns, parts: Vec::with_capacity(jobs.len()), found: Vec::new() })
            .collect();
        for job in jobs.iter_mut() {
            let totals = job.totals;
            let (first, others) = job.counted.split_first_mut().expect("there is always one team");
            let mut parents = job.parent.as_mut().map(|parent| parent.chunks_mut(width * TABLE));
            for (at, (task, small)) in tasks.iter_mut().zip(first.chunks_mut(width * TABLE)).enumerate() {
                let span = at * width * TABLE..at * width * TABLE + small.len();
                let others = others.iter().map(|tables| &tables[span.clone()]).collect();
                let large = parents.as_mut().and_then(Iterator::next);
                task.parts.push(Part { small, others, large, totals });
            }
        }
        let work = |task: &mut Task<'_>| task.run(&search, want);
        if together {
            self.pool.each(&mut tasks, |_, task| work(task));
        } else {
            tasks.iter_mut().for_each(work);
        }
        let best = |job: usize, side: usize| Candidate::best(tasks.iter().map(|task| task.found[job][side]));
        let mut found: Vec<[Option<Candidate>; 2]> = (0..count).map(|job| [best(job, 0), best(job, 1)]).collect();
        drop(tasks);
        self.settle_missing(&search, jobs, want, &mut found);
        found
    }

    /// Gives rules whose nodes hold no missing value a side for it.
    fn settle_missing(&self, search: &Search<'_>, jobs: &[Job], want: Want, found: &mut [[Option<Candidate>; 2]]) {
        if want == Want::Shared {
            if let Some(best) = &mut found[0][0] {
                let column = self.column(&best.rule);
                let nodes: Vec<NodeTable<'_>> = jobs.iter().flat_map(|job| job.nodes(column)).flatten().collect();
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

    /// Keeps the histograms of a job's children for later subtraction.
    pub(super) fn keep_jobs(&mut self, jobs: impl IntoIterator<Item = Job>) {
        let most = (KEPT_BYTES / (self.table_size().max(1) * 8)).max(2);
        for job in jobs {
            for (team, tables) in job.counted.into_iter().enumerate() {
                if team == 0 && self.kept_count < most {
                    self.keep(job.small, tables);
                } else {
                    self.teams[team].spare.push(tables);
                }
            }
            match (job.large, job.parent) {
                (Some(large), Some(tables)) if self.kept_count < most => self.keep(large, tables),
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
    pub fn recycle(&mut self, slot: usize) {
        if let Some(tables) = self.kept.get_mut(slot).and_then(Option::take) {
            self.teams[0].spare.push(tables);
            self.kept_count -= 1;
        }
    }
}

/// One split on its way through counting and searching.
pub(super) struct Job {
    pub(super) small: usize,
    pub(super) large: Option<usize>,
    /// Packed sums of the small and the large child.
    pub(super) totals: [u64; 2],
    /// The small child's histogram, one part a team; merged into the first.
    pub(super) counted: Vec<Histogram>,
    /// The parent's histogram, which becomes the large child's.
    pub(super) parent: Option<Histogram>,
}

impl Job {
    /// The small and the large child's view of a column, once merged and subtracted.
    fn nodes(&self, column: usize) -> [Option<NodeTable<'_>>; 2] {
        let small =
            self.counted.first().map(|tables| NodeTable { table: table(tables, column), total: self.totals[0] });
        let large =
            self.parent.as_ref().map(|tables| NodeTable { table: table(tables, column), total: self.totals[1] });
        [small, large]
    }
}

/// The share of all jobs that falls on some columns.
struct Task<'a> {
    columns: Range<usize>,
    parts: Vec<Part<'a>>,
    found: Vec<[Option<Candidate>; 2]>,
}

struct Part<'a> {
    small: &'a mut [u64],
    others: Vec<&'a [u64]>,
    large: Option<&'a mut [u64]>,
    totals: [u64; 2],
}

impl Part<'_> {
    /// The small and the large child's view of a column.
    fn nodes(&self, column: usize) -> [Option<NodeTable<'_>>; 2] {
        let small = NodeTable { table: table(self.small, column), total: self.totals[0] };
        let large = self.large.as_deref().map(|large| NodeTable { table: table(large, column), total: self.totals[1] });
        [Some(small), large]
    }
}

impl Task<'_> {
    fn run(&mut self, search: &Search<'_>, want: Want) {
        let mut scratch = Scratch::default();
        self.found = vec![[None, None]; self.parts.len()];
        for part in &mut self.parts {
            part.others.iter().for_each(|other| add(part.small, other));
            if let Some(large) = &mut part.large {
                subtract(large, part.small);
            }
        }
        for (at, column) in self.columns.clone().enumerate() {
            if want == Want::Shared {
                let nodes: Vec<NodeTable<'_>> = self
                    .parts
                    .iter()
                    .flat_map(|part| part.nodes(at))
                    .flatten()
                    .filter(|node| node.total != 0)
                    .collect();
                let best = &mut self.found[0][0];
                *best = Candidate::best([*best, search.column(column, &nodes, &mut scratch)]);
                continue;
            }
            for (part, found) in self.parts.iter().zip(&mut self.found) {
                for (node, found) in part.nodes(at).into_iter().zip(found) {
                    if let Some(node) = node {
                        *found = Candidate::best([*found, search.column(column, &[node], &mut scratch)]);
                    }
                }
            }
        }
    }
}

pub(super) fn table(tables: &[u64], column: usize) -> &[u64; TABLE] {
    tables[column * TABLE..].first_chunk().expect("tables hold every column")
}

fn add(into: &mut [u64], part: &[u64]) {
    into.iter_mut().zip(part).for_each(|(sum, &part)| *sum = sum.wrapping_add(part));
}

fn subtract(from: &mut [u64], part: &[u64]) {
    from.iter_mut().zip(part).for_each(|(sum, &part)| *sum = sum.wrapping_sub(part));
}

fn even_pieces(length: usize, width: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length).step_by(width).map(move |start| start..(start + width).min(length))
}
