//! The growth of a tree whose rows are elsewhere: histograms come from the hosts, one child of each
//! split is counted and the other one is the rest, and rules are searched here.

use std::ops::Range;

use super::backend::Remote;
use super::check::{check_rule, unknown};
use super::message::{ShardReply, ShardWork};
use crate::bins::Layout;
use crate::bins::layout::FeaturePlace;
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::{GradientScale, hessian};
use crate::pool::even_ranges;
use crate::rule::BinRule;
use crate::split::{NodeTable, SplitCandidate, SplitScratch, SplitSearch};
use crate::stats::backend::BackendError;
use crate::stats::local::{no_search, table};
use crate::stats::lookahead::{FeatureSet, LookaheadSearch, LookaheadSplit, SlotRows};
use crate::stats::message::{NodeStats, RowSample, SplitCommand, SplitConstraints, SplitQuery};
use crate::stats::path_features::PathFeatures;
use crate::stats::shard::{HashSample, SampledRows};

/// What is known of the tree that grows.
pub(super) struct RemoteTree {
    scale: GradientScale,
    /// See [`SplitSearch`].
    dispersion: f64,
    search: SplitConstraints,
    slots: Vec<SlotFacts>,
    paths: PathFeatures,
    kept: Vec<Option<Vec<u64>>>,
    kept_count: usize,
    /// Bytes that kept histograms may take; where they do not suffice, both children of a split are
    /// counted.
    memory: usize,
}

/// A slot of the growing tree.
#[derive(Debug, Clone, Copy, Default)]
struct SlotFacts {
    /// Packed sum.
    total: u64,
    value: f64,
    rows: usize,
}

/// A split on its way: the tables of its children, if they are searched.
struct SplitChildren {
    tables: [Option<Vec<u64>>; 2],
    totals: [u64; 2],
}

/// The rows of both children by split, and the tables of the slots that were counted.
type MovedRows = (Vec<[usize; 2]>, Vec<Vec<u64>>);

/// A node whose best rule is wanted.
struct SearchedNode<'a> {
    slot: usize,
    tables: &'a [u64],
    facts: SlotFacts,
}

impl SearchedNode<'_> {
    fn view(&self, column: usize) -> NodeTable<'_> {
        let SlotFacts { total, value, .. } = self.facts;
        NodeTable { table: table(self.tables, column), total, value }
    }
}

impl RemoteTree {
    pub fn new(memory: usize) -> Self {
        RemoteTree {
            scale: GradientScale { g: 1.0, h: 1.0 },
            dispersion: 1.0,
            search: no_search(),
            slots: Vec::new(),
            paths: PathFeatures::default(),
            kept: Vec::new(),
            kept_count: 0,
            memory,
        }
    }

    fn node_value(&self, total: u64, parent: f64) -> f64 {
        self.search.penalties.node_value(self.scale.unpack(total), parent)
    }

    fn searching<'s>(&'s self, layout: &'s Layout) -> SplitSearch<'s> {
        SplitSearch {
            layout,
            allowed: &self.search.allowed,
            scale: self.scale,
            dispersion: self.dispersion,
            penalties: self.search.penalties,
            directions: &self.search.directions,
        }
    }

    fn keep(&mut self, slot: usize, tables: Vec<u64>) {
        if (self.kept_count + 1).saturating_mul(8 * tables.len()) > self.memory {
            return;
        }
        if self.kept.len() <= slot {
            self.kept.resize_with(slot + 1, || None);
        }
        self.kept[slot] = Some(tables);
        self.kept_count += 1;
    }

    fn take(&mut self, slot: usize) -> Option<Vec<u64>> {
        let tables = self.kept.get_mut(slot).and_then(Option::take);
        self.kept_count -= usize::from(tables.is_some());
        tables
    }
}

impl Remote<'_> {
    /// Starts a tree on one output; slot 0 holds all its rows.
    pub(super) fn begin_tree(
        &mut self,
        output: usize,
        sample: Option<RowSample>,
        search: &SplitConstraints,
        query: SplitQuery,
    ) -> Result<NodeStats, BackendError> {
        let sums = self.derivative_sums[output];
        let scale = GradientScale::new(sums.abs_g, sums.h, self.backends.plan.rows);
        let dispersion = sums.dispersion(self.set.objective);
        let memory = self.tree.memory;
        let (search, paths) = (search.clone(), PathFeatures::new(search));
        self.tree = RemoteTree { scale, dispersion, search, paths, ..RemoteTree::new(memory) };

        let is_searched = query != SplitQuery::Sums && !self.backends.layout.columns().is_empty();
        let mut work = vec![ShardWork::BeginTree { output, scale, sample }];
        work.extend(is_searched.then(|| ShardWork::Count { slots: vec![0] }));
        let (mut total, mut rows, mut parts) = (0u64, 0, Vec::new());
        for replies in self.send(work)? {
            let mut replies = replies.into_iter();
            let Some(ShardReply::Root { total: part, rows: more }) = replies.next() else {
                return Err(BackendError::Reply { work: "BeginTree" });
            };
            (total, rows) = (total.wrapping_add(part), rows + more);
            parts.extend(replies);
        }
        let value = self.tree.node_value(total, 0.0);
        let facts = SlotFacts { total, value, rows };
        self.tree.slots.push(facts);
        let sums = scale.unpack(total);
        if !is_searched {
            return Ok(NodeStats { sums, best: None });
        }

        let tables = self.merged_tables(parts, 1)?.swap_remove(0);
        let node = SearchedNode { slot: 0, tables: &tables, facts };
        let best = self.search_nodes(&[node], query)[0];
        self.tree.keep(0, tables);
        Ok(NodeStats { sums, best })
    }

    /// Splits slots and searches the children: `[left, right]` for each command.
    pub(super) fn split(
        &mut self,
        commands: &[SplitCommand],
        query: SplitQuery,
    ) -> Result<Vec<[NodeStats; 2]>, BackendError> {
        let layout = &self.backends.layout;
        let mut known = self.tree.slots.len();
        for command in commands {
            if command.slot >= known {
                return Err(unknown("Split", "slot", command.slot));
            }
            check_rule(layout, &command.rule, "Split")?;
            known = known.max(command.left.max(command.right) + 1);
        }
        let bytes = 2 * 8 * layout.columns().len() * TABLE;
        let most = match query {
            SplitQuery::Shared => commands.len(),
            _ => self.tree.memory / 4 / bytes.max(1),
        };
        let mut stats = Vec::with_capacity(commands.len());
        for some in commands.chunks(most.max(1)) {
            stats.extend(self.split_together(some, query)?);
        }
        Ok(stats)
    }

    fn split_together(
        &mut self,
        commands: &[SplitCommand],
        query: SplitQuery,
    ) -> Result<Vec<[NodeStats; 2]>, BackendError> {
        let mut splits = Vec::with_capacity(commands.len());
        let mut counted = Vec::new();
        for command in commands {
            let parent = self.tree.take(command.slot);
            let (totals, slots) = self.to_count(command, query, parent.as_deref());
            counted.extend_from_slice(&slots);
            splits.push((parent, totals, slots));
        }

        let split = ShardWork::Split { commands: commands.to_vec() };
        if query == SplitQuery::Sums && counted.is_empty() {
            self.wait(split);
            let totals = splits.iter().map(|(_, totals, _)| *totals);
            let children: Vec<SplitChildren> =
                totals.map(|totals| SplitChildren { tables: [None, None], totals }).collect();
            return Ok(self.set_slots(commands, &children, None));
        }
        let (rows, tables) = self.split_rows(split, commands.len(), counted)?;
        let mut tables = tables.into_iter();
        let children: Vec<SplitChildren> = commands
            .iter()
            .zip(splits)
            .map(|(command, (parent, totals, slots))| {
                let own: Vec<Vec<u64>> = tables.by_ref().take(slots.len()).collect();
                self.children(command, parent, totals, &slots, own)
            })
            .collect();
        let stats = self.set_slots(commands, &children, Some(&rows));
        Ok(self.search_children(commands, query, children, stats))
    }

    /// The packed sums of both children, as far as they are known, and the slots to count.
    fn to_count(
        &self,
        command: &SplitCommand,
        query: SplitQuery,
        parent: Option<&[u64]>,
    ) -> ([u64; 2], Vec<usize>) {
        let total = self.tree.slots[command.slot].total;
        let Some(parent) = parent else {
            let slots = match query {
                SplitQuery::Sums => vec![command.left],
                _ => vec![command.left, command.right],
            };
            return ([0, total], slots);
        };
        let layout = &self.backends.layout;
        let search = self.tree.searching(layout);
        let node =
            NodeTable { table: table(parent, column_of(layout, &command.rule)), total, value: 0.0 };
        let (left, right) = search.sides(&command.rule, &node);
        let is_open = query == SplitQuery::Shared
            || [left, right].iter().any(|&total| search.can_split(total));
        let slots = match query {
            SplitQuery::Sums => Vec::new(),
            _ if !is_open => Vec::new(),
            // The child with fewer rows is cheaper to count; hessians tell roughly which it is.
            _ if hessian(left) <= hessian(right) => vec![command.left],
            _ => vec![command.right],
        };
        ([left, right], slots)
    }

    /// Moves rows and counts slots; the rows of both children by command, and the tables.
    fn split_rows(
        &mut self,
        split: ShardWork,
        commands: usize,
        slots: Vec<usize>,
    ) -> Result<MovedRows, BackendError> {
        let count = slots.len();
        let mut work = vec![split];
        work.extend((count > 0).then_some(ShardWork::Count { slots }));
        let (mut rows, mut parts) = (vec![[0; 2]; commands], Vec::new());
        for replies in self.send(work)? {
            let mut replies = replies.into_iter();
            match replies.next() {
                Some(ShardReply::Counts { rows: more }) if more.len() == commands => {
                    for (rows, more) in rows.iter_mut().zip(more) {
                        (rows[0], rows[1]) = (rows[0] + more[0], rows[1] + more[1]);
                    }
                }
                _ => return Err(BackendError::Reply { work: "Split" }),
            }
            parts.extend(replies);
        }
        let tables = if count > 0 { self.merged_tables(parts, count)? } else { Vec::new() };
        Ok((rows, tables))
    }

    /// The tables of both children of a split.
    fn children(
        &self,
        command: &SplitCommand,
        parent: Option<Vec<u64>>,
        totals: [u64; 2],
        slots: &[usize],
        counted: Vec<Vec<u64>>,
    ) -> SplitChildren {
        let mut counted = counted.into_iter();
        match (parent, slots) {
            (Some(mut parent), &[slot]) => {
                let small = counted.next().unwrap_or_default();
                let pairs = parent.iter_mut().zip(&small);
                pairs.for_each(|(sum, &part)| *sum = sum.wrapping_sub(part));
                let tables = if slot == command.left { [small, parent] } else { [parent, small] };
                SplitChildren { tables: tables.map(Some), totals }
            }
            (None, _) => {
                let tables = [counted.next(), counted.next()];
                let whole = self.tree.slots[command.slot].total;
                let left = tables[0].as_ref().map_or(0, |tables| total_of(tables));
                SplitChildren { tables, totals: [left, whole.wrapping_sub(left)] }
            }
            (Some(_), _) => SplitChildren { tables: [None, None], totals },
        }
    }

    /// Notes the sums of the children of splits; their statistics.
    fn set_slots(
        &mut self,
        commands: &[SplitCommand],
        children: &[SplitChildren],
        rows: Option<&[[usize; 2]]>,
    ) -> Vec<[NodeStats; 2]> {
        let mut stats = Vec::with_capacity(commands.len());
        for (at, (command, children)) in commands.iter().zip(children).enumerate() {
            self.tree.paths.split(command);
            let parent = self.tree.slots[command.slot].value;
            let most = command.left.max(command.right);
            if self.tree.slots.len() <= most {
                self.tree.slots.resize(most + 1, SlotFacts::default());
            }
            for (side, slot) in [command.left, command.right].into_iter().enumerate() {
                let total = children.totals[side];
                let value = self.tree.node_value(total, parent);
                let rows = rows.map_or(0, |rows| rows[at][side]);
                self.tree.slots[slot] = SlotFacts { total, value, rows };
            }
            let scale = self.tree.scale;
            stats.push(
                children.totals.map(|total| NodeStats { sums: scale.unpack(total), best: None }),
            );
        }
        stats
    }

    /// Finds the best rules of children, and keeps the tables of those that may be split.
    fn search_children(
        &mut self,
        commands: &[SplitCommand],
        query: SplitQuery,
        children: Vec<SplitChildren>,
        mut stats: Vec<[NodeStats; 2]>,
    ) -> Vec<[NodeStats; 2]> {
        if query == SplitQuery::Sums {
            return stats;
        }
        // A sum of gains over nodes depends on their order: the child with fewer rows comes first.
        let mut places = Vec::with_capacity(2 * commands.len());
        for (at, command) in commands.iter().enumerate() {
            let rows = [command.left, command.right].map(|slot| self.tree.slots[slot].rows);
            let sides = if rows[0] <= rows[1] { [0, 1] } else { [1, 0] };
            places.extend(sides.map(|side| (at, side)));
        }
        places.retain(|&(at, side)| children[at].tables[side].is_some());
        let slot_of = |(at, side): (usize, usize)| [commands[at].left, commands[at].right][side];
        let node = |&(at, side): &(usize, usize)| {
            let slot = slot_of((at, side));
            let tables = children[at].tables[side].as_deref().unwrap_or(&[]);
            SearchedNode { slot, tables, facts: self.tree.slots[slot] }
        };
        let nodes: Vec<SearchedNode<'_>> = places.iter().map(node).collect();
        let found = self.search_nodes(&nodes, query);
        drop(nodes);

        let mut children = children;
        for (&(at, side), best) in places.iter().zip(found) {
            stats[at][side].best = best;
            // Only what has a rule of its own, or shares one with its level, is ever split.
            if best.is_some() || query == SplitQuery::Shared {
                let tables = children[at].tables[side].take();
                tables.into_iter().for_each(|tables| self.tree.keep(slot_of((at, side)), tables));
            }
        }
        stats
    }

    /// The best rule of each node; a rule that all share is that of the first one.
    fn search_nodes(
        &self,
        nodes: &[SearchedNode<'_>],
        query: SplitQuery,
    ) -> Vec<Option<SplitCandidate>> {
        let layout = &*self.backends.layout;
        let (tree, pool) = (&self.tree, self.context.pool);
        let search = tree.searching(layout);
        let columns = layout.columns().len();
        if query == SplitQuery::Shared {
            let search = search.at(nodes.first().map(|node| node.slot), &tree.paths);
            let found = pool.map(columns, |column| {
                let filled = nodes.iter().filter(|node| node.facts.total != 0);
                let all: Vec<NodeTable<'_>> = filled.map(|node| node.view(column)).collect();
                search.column(column, &all, &mut SplitScratch::default())
            });
            let mut best = SplitCandidate::best(found);
            if let Some(best) = &mut best {
                let column = column_of(layout, &best.rule);
                let all: Vec<NodeTable<'_>> = nodes.iter().map(|node| node.view(column)).collect();
                search.settle_missing(&mut best.rule, &all);
            }
            let mut found = vec![None; nodes.len()];
            found.iter_mut().take(1).for_each(|first| *first = best);
            return found;
        }

        // Few nodes are searched by columns, many side by side.
        let pieces = if nodes.len() >= pool.threads() { 1 } else { pool.threads() };
        let ranges: Vec<Range<usize>> = even_ranges(columns, pieces);
        let parts = pool.map(nodes.len() * ranges.len(), |task| {
            let (node, range) = (&nodes[task / ranges.len()], &ranges[task % ranges.len()]);
            let search = search.at(Some(node.slot), &tree.paths);
            if !search.can_split(node.facts.total) {
                return None;
            }
            let mut scratch = Box::<SplitScratch>::default();
            let of_column =
                |column: usize| search.column(column, &[node.view(column)], &mut scratch);
            SplitCandidate::best(range.clone().map(of_column).collect::<Vec<_>>())
        });
        let settled = |(node, parts): (&SearchedNode<'_>, &[Option<SplitCandidate>])| {
            let mut best = SplitCandidate::best(parts.iter().copied())?;
            let own = node.view(column_of(layout, &best.rule));
            search.settle_missing(&mut best.rule, &[own]);
            Some(best)
        };
        nodes.iter().zip(parts.chunks(ranges.len().max(1))).map(settled).collect()
    }

    /// Tables that all hosts counted, with room for every code.
    fn merged_tables(
        &self,
        parts: Vec<ShardReply>,
        count: usize,
    ) -> Result<Vec<Vec<u64>>, BackendError> {
        let columns = self.backends.layout.columns();
        let codes: usize = columns.iter().map(|column| column.codes).sum();
        let mut merged = vec![vec![0u64; columns.len() * TABLE]; count];
        for part in parts {
            let ShardReply::Tables { slots } = part else {
                return Err(BackendError::Reply { work: "Count" });
            };
            if slots.len() != count || slots.iter().any(|sums| sums.len() != codes) {
                return Err(BackendError::Reply { work: "Count" });
            }
            for (tables, sums) in merged.iter_mut().zip(slots) {
                let mut sums = &sums[..];
                for (table, column) in tables.chunks_exact_mut(TABLE).zip(columns) {
                    let (own, rest) = sums.split_at(column.codes);
                    let pairs = table.iter_mut().zip(own);
                    pairs.for_each(|(sum, &part)| *sum = sum.wrapping_add(part));
                    sums = rest;
                }
            }
        }
        Ok(merged)
    }

    /// Sets of features that interact in the rows of the growing tree.
    pub(super) fn screen(&mut self, most: usize) -> Result<Vec<FeatureSet>, BackendError> {
        self.with_slots(|search, rows, _| search.screen(rows, most))
    }

    /// First splits of trees over some of the sets, slot by slot.
    pub(super) fn look_ahead(
        &mut self,
        slots: &[usize],
        sets: &[FeatureSet],
    ) -> Result<Vec<Option<LookaheadSplit>>, BackendError> {
        let known = self.backends.layout.features().len();
        let mut features = sets.iter().flat_map(|set| set.features());
        if let Some(&feature) = features.find(|&&feature| feature as usize >= known) {
            return Err(unknown("LookAhead", "feature", feature as usize));
        }
        if let Some(&slot) = slots.iter().find(|&&slot| slot >= self.tree.slots.len()) {
            return Err(unknown("LookAhead", "slot", slot));
        }
        self.with_slots(|search, rows, facts| {
            let valued: Vec<(usize, f64)> =
                slots.iter().map(|&slot| (slot, facts[slot].value)).collect();
            search.look_ahead(rows, &valued, sets)
        })
    }

    fn with_slots<T>(
        &mut self,
        ask: impl FnOnce(
            &LookaheadSearch<'_>,
            &mut dyn SlotRows,
            &[SlotFacts],
        ) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        if self.tree.slots.is_empty() {
            return Err(unknown("Screen", "slot", 0));
        }
        let memory = self.tree.memory;
        let tree = std::mem::replace(&mut self.tree, RemoteTree::new(memory));
        let layout = self.backends.layout.clone();
        let (search, paths, scale) = (&tree.search, &tree.paths, tree.scale);
        let found = {
            let context = self.context;
            let search = LookaheadSearch { layout: &layout, search, paths, scale, context };
            let mut rows = RemoteSlots { remote: self, slots: &tree.slots };
            ask(&search, &mut rows, &tree.slots)
        };
        self.tree = tree;
        found
    }
}

/// The rows of slots that hosts hold.
struct RemoteSlots<'r, 'a> {
    remote: &'r mut Remote<'a>,
    slots: &'r [SlotFacts],
}

impl SlotRows for RemoteSlots<'_, '_> {
    fn count(&self, slot: usize) -> usize {
        self.slots[slot].rows
    }

    fn sampled(
        &mut self,
        slot: usize,
        sample: HashSample,
        columns: &[usize],
    ) -> Result<Vec<SampledRows>, BackendError> {
        let (below, count) = (sample.threshold(), columns.len());
        let work = ShardWork::Sample { slot, below, columns: columns.to_vec() };
        let mut all = Vec::new();
        for reply in self.remote.send(vec![work])?.into_iter().flatten() {
            match reply {
                ShardReply::Samples { shards }
                    if shards.iter().all(|rows| rows.columns() == count) =>
                {
                    all.extend(shards);
                }
                _ => return Err(BackendError::Reply { work: "Sample" }),
            }
        }
        Ok(all)
    }
}

/// The stored column that a rule asks about; the rule was checked.
fn column_of(layout: &Layout, rule: &BinRule) -> usize {
    match layout.places()[rule.feature as usize] {
        FeaturePlace::Alone { column } | FeaturePlace::Bundled { column, .. } => column,
        FeaturePlace::Dropped => unreachable!("no rule is made from a constant feature"),
    }
}

/// The packed sum of all rows of a node: each has one code of the first column.
fn total_of(tables: &[u64]) -> u64 {
    tables.iter().take(TABLE).fold(0u64, |sum, &part| sum.wrapping_add(part))
}
