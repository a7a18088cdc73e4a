//! The backend of this process: shards on the threads of the pool, nothing copied.
//!
//! Shards are distributed over as many teams as there are threads; a team works on its shards, and
//! results merge in shard order. Histograms are integers, so their sum does not depend on how many
//! teams there are; every other sum is kept per shard until it merges.

mod assigned;
mod begin;
mod children;
mod run;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::backend::BackendError;
use super::evaluation::{AllRows, EvaluationSet, Evaluator};
use super::lookahead::{LookaheadSearch, SlotRows};
use super::message::{
    NodeStats, RowSample, SnapshotId, SplitCommand, SplitConstraints, SplitQuery, TreeId,
};
use super::path_features::PathFeatures;
use super::shard::{DerivativeSource, DerivativeSums, HashSample, SampledRows, Shard};
use crate::binned_tree::{BinnedTree, Traversal};
use crate::bins::Layout;
use crate::bins::layout::{FeaturePlace, Route};
use crate::budget::Budget;
use crate::context::Context;
use crate::dataset::{Dataset, Plan};
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::GradientScale;
use crate::metric::CustomMetric;
use crate::objective::Objective;
use crate::pool::{Pool, even_ranges};
use crate::rule::BinRule;
use crate::split::{NodeTable, Penalties, Ridge, SplitSearch};
use assigned::{LeafAssignment, ScoreSnapshot};
pub(super) use children::table;
use children::{ChildSearch, SearchBuffers};

/// Below this many rows, work on rows is done on the calling thread: passing it to others would
/// take longer.
const ALONE_ROWS: usize = 2048;

/// Below this many table entries, so is work on histograms.
const ALONE_CODES: usize = 2048;

/// A single thread searches this many bytes of histograms at a time, so that they stay in the
/// cache.
const CACHED: usize = 1 << 19;

type Histogram = Box<[u64]>;

#[derive(Debug, Default)]
struct Team {
    shards: Vec<Shard>,
    spare: Vec<Histogram>,
    /// Buffer for the rows of a shard that is being split.
    scratch: Vec<u32>,
}

/// The sums of a slot of the growing tree.
#[derive(Debug, Clone, Copy, Default)]
struct SlotSums {
    /// Packed sum.
    total: u64,
    /// Value, see [`Penalties::node_value`].
    value: f64,
}

/// All rows of a data set, in this process.
pub struct Local<'a> {
    pool: &'a Pool,
    budget: &'a Budget,
    objective: &'a dyn Objective,
    layout: Arc<Layout>,
    plan: Plan,
    base: Vec<f64>,
    /// The start values as the scores of rows hold them.
    start: Vec<f32>,
    shift: f64,
    teams: Vec<Team>,
    data: &'a Dataset,
    valid: Option<EvaluationSet<'a>>,
    watched: Vec<EvaluationSet<'a>>,
    metric: Option<&'a dyn CustomMetric>,
    derivative_sums: Vec<DerivativeSums>,
    scale: GradientScale,
    /// See [`SplitSearch`].
    dispersion: f64,
    search: SplitConstraints,
    /// Sums by slot of the growing tree.
    slots: Vec<SlotSums>,
    /// Allowed features by slot of the growing tree.
    paths: PathFeatures,
    kept: Vec<Option<Histogram>>,
    kept_count: usize,
    /// Bytes that kept histograms may take; where they do not suffice, both children of a split
    /// are counted.
    memory: usize,
    search_buffers: Mutex<Vec<SearchBuffers>>,
    trees: BTreeMap<TreeId, LeafAssignment>,
    snapshots: BTreeMap<SnapshotId, ScoreSnapshot>,
}

impl Local<'_> {
    /// How many splits are searched at once, so that the histograms of all children fit into
    /// memory; for a single thread, which gains nothing by more, into the cache.
    fn most_commands(&self) -> usize {
        let bytes =
            if self.pool.threads() == 1 { CACHED.min(self.memory / 4) } else { self.memory / 4 };
        (bytes / (2 * 8 * self.table_size().max(1))).max(1)
    }

    fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.teams.iter().flat_map(|team| &team.shards)
    }

    /// Derivatives of the loss at the present scores, for one output or all; the sums of their
    /// hessians. Every hessian gets `extra` times the row's weight on top; zero for plain boosting.
    fn derive(&mut self, output: Option<usize>, extra: f64) -> Vec<f64> {
        let objective = self.objective;
        let whole = objective.takes_all_rows().then(|| self.derive_whole());
        let plan = self.plan;
        let mut work: Vec<(&mut Shard, Vec<DerivativeSums>)> = self
            .teams
            .iter_mut()
            .flat_map(|team| &mut team.shards)
            .map(|shard| (shard, Vec::new()))
            .collect();
        let one = output.and_then(|output| Some((output, objective.one_output()?)));
        self.pool.each(&mut work, |_, (shard, sums)| match one {
            Some((output, one)) => *sums = vec![shard.derive_output(output, one, extra as f32)],
            None => {
                let source = match &whole {
                    None => DerivativeSource::Of(objective),
                    Some((g, h)) => DerivativeSource::Given { g, h, plan: &plan },
                };
                *sums = shard.derive(source, extra as f32);
            }
        });

        self.derivative_sums.resize(objective.outputs(), DerivativeSums::default());
        let changed = match one {
            Some((output, _)) => output..output + 1,
            None => 0..objective.outputs(),
        };
        let changed = &mut self.derivative_sums[changed];
        changed.fill(DerivativeSums::default());
        for (_, sums) in &work {
            changed.iter_mut().zip(sums).for_each(|(sum, &part)| *sum += part);
        }
        changed.iter().map(|sums| sums.h).collect()
    }

    /// Derivatives of all rows in their order, by an objective that wants them all at once.
    fn derive_whole(&self) -> (Vec<f32>, Vec<f32>) {
        let shards: Vec<&Shard> = self.shards().collect();
        let rows = AllRows::gather(&self.plan, &shards, self.base.len());
        let (mut g, mut h) = (vec![0.0; rows.score.len()], vec![0.0; rows.score.len()]);
        self.objective.derivatives(&rows.score, &rows.target, &rows.weight, &mut g, &mut h);
        (g, h)
    }

    /// Starts a tree on one output; slot 0 holds all its rows.
    fn begin_tree(
        &mut self,
        output: usize,
        sample: Option<RowSample>,
        search: &SplitConstraints,
        query: SplitQuery,
    ) -> NodeStats {
        let sums = self.derivative_sums[output];
        self.scale = GradientScale::new(sums.abs_g, sums.h, self.plan.rows);
        self.dispersion = sums.dispersion(self.objective);
        self.search = search.clone();
        self.paths = PathFeatures::new(search);
        for slot in 0..self.kept.len() {
            self.recycle(slot);
        }

        let (scale, plan) = (self.scale, self.plan);
        let mut begun: Vec<(&mut Team, u64)> =
            self.teams.iter_mut().map(|team| (team, 0)).collect();
        self.pool.each(&mut begun, |_, (team, total)| {
            for shard in &mut team.shards {
                *total = total.wrapping_add(shard.begin_tree(output, scale, sample, &plan));
            }
        });
        let total = begun.iter().fold(0u64, |sum, (_, part)| sum.wrapping_add(*part));
        let value = self.node_value(total, 0.0);
        self.slots.clear();
        self.slots.push(SlotSums { total, value });

        let sums = self.scale.unpack(total);
        if query == SplitQuery::Sums || self.layout.columns().is_empty() {
            return NodeStats { sums, best: None };
        }
        let mut jobs = [ChildSearch::new(0, None, [total, 0], [value, 0.0], None)];
        let best = self.look(&mut jobs, query, true)[0][0];
        self.keep_jobs(jobs.map(|job| (job, [true, true])));
        NodeStats { sums, best }
    }

    /// Splits slots and searches the children: `[left, right]` for each command.
    fn split(&mut self, commands: &[SplitCommand], query: SplitQuery) -> Vec<[NodeStats; 2]> {
        if query == SplitQuery::Shared {
            return self.split_together(commands, query);
        }

        let mut stats = Vec::with_capacity(commands.len());
        for some in commands.chunks(self.most_commands()) {
            // An interrupted run needs no more rules; its trees end here.
            let over = !stats.is_empty() && self.budget.is_interrupted();
            let query = if over { SplitQuery::Sums } else { query };
            stats.extend(self.split_together(some, query));
        }
        stats
    }

    fn split_together(
        &mut self,
        commands: &[SplitCommand],
        query: SplitQuery,
    ) -> Vec<[NodeStats; 2]> {
        let routes: Vec<Route> =
            commands.iter().map(|command| self.layout.route(&command.rule)).collect();
        let totals: Vec<[u64; 2]> = commands.iter().map(|command| self.sides(command)).collect();
        let rows: usize = commands.iter().map(|command| self.count(command.slot)).sum();
        let together = rows >= ALONE_ROWS;
        self.each_team(together, |team| {
            let (shards, scratch) = (&mut team.shards, &mut team.scratch);
            for (command, route) in commands.iter().zip(&routes) {
                shards.iter_mut().for_each(|shard| {
                    shard.split(command.slot, route, [command.left, command.right], scratch);
                });
            }
        });

        let mut stats: Vec<[NodeStats; 2]> = commands
            .iter()
            .zip(totals)
            .map(|(command, totals)| {
                self.set_slots(command, totals);
                totals.map(|total| NodeStats { sums: self.scale.unpack(total), best: None })
            })
            .collect();
        if query == SplitQuery::Sums {
            commands.iter().for_each(|command| self.recycle(command.slot));
            return stats;
        }
        self.search_children(commands, query, together, &mut stats);
        stats
    }

    /// Notes the sums of the children of a split.
    fn set_slots(&mut self, command: &SplitCommand, totals: [u64; 2]) {
        self.paths.split(command);
        let parent = self.slots[command.slot].value;
        let most = command.left.max(command.right);
        if self.slots.len() <= most {
            self.slots.resize(most + 1, SlotSums::default());
        }
        for (slot, total) in [command.left, command.right].into_iter().zip(totals) {
            self.slots[slot] = SlotSums { total, value: self.node_value(total, parent) };
        }
    }

    /// Finds the best rules of the children of splits whose rows have moved.
    fn search_children(
        &mut self,
        commands: &[SplitCommand],
        query: SplitQuery,
        together: bool,
        stats: &mut [[NodeStats; 2]],
    ) {
        // A split whose children are both too small to be split again needs no search.
        let search = self.searching();
        let open = |&at: &usize| {
            let children = [commands[at].left, commands[at].right];
            query == SplitQuery::Shared
                || children.iter().any(|&slot| search.can_split(self.slots[slot].total))
        };
        let (searched, over): (Vec<usize>, Vec<usize>) = (0..commands.len()).partition(open);
        over.iter().for_each(|&at| self.recycle(commands[at].slot));

        // The smaller child is counted; the larger one is the parent less the smaller.
        let mut jobs: Vec<ChildSearch> = Vec::with_capacity(searched.len());
        for &at in &searched {
            let SplitCommand { slot, left, right, .. } = commands[at];
            let left_is_small = self.count(left) <= self.count(right);
            let (small, large) = if left_is_small { (left, right) } else { (right, left) };
            let sides = [self.slots[small], self.slots[large]];
            let parent = self.kept.get_mut(slot).and_then(Option::take);
            self.kept_count -= usize::from(parent.is_some());
            jobs.push(ChildSearch::new(
                small,
                Some(large),
                sides.map(|side| side.total),
                sides.map(|side| side.value),
                parent,
            ));
        }
        let codes: usize = self.layout.columns().iter().map(|column| column.codes).sum();
        let together = together || jobs.len() * codes >= ALONE_CODES;
        let found = self.look(&mut jobs, query, together);

        let mut kept = Vec::with_capacity(jobs.len());
        for ((&at, job), found) in searched.iter().zip(&jobs).zip(found) {
            let [small, large] = found;
            let [left, right] =
                if job.small == commands[at].left { [small, large] } else { [large, small] };
            (stats[at][0].best, stats[at][1].best) = (left, right);
            // Only what has a rule of its own, or shares one with its level, is ever split.
            kept.push(found.map(|best| best.is_some() || query == SplitQuery::Shared));
        }
        self.keep_jobs(jobs.into_iter().zip(kept));
    }

    fn node_value(&self, total: u64, parent: f64) -> f64 {
        self.search.penalties.node_value(self.scale.unpack(total), parent)
    }

    /// The packed sums on both sides of a rule, from the slot's kept histogram.
    fn sides(&self, command: &SplitCommand) -> [u64; 2] {
        let (slot, rule) = (command.slot, &command.rule);
        let total = self.slots[slot].total;
        match self.kept.get(slot).and_then(Option::as_ref) {
            Some(tables) => {
                let table = table(tables, self.column(rule));
                let (left, right) =
                    self.searching().sides(rule, &NodeTable { table, total, value: 0.0 });
                [left, right]
            }
            None => self.counted_sides(slot, rule, total),
        }
    }

    /// The same, counted from the rows, where the histogram was too large to keep.
    fn counted_sides(&self, slot: usize, rule: &BinRule, total: u64) -> [u64; 2] {
        let route = self.layout.route(rule);
        let right = self
            .shards()
            .fold(0u64, |sum, shard| sum.wrapping_add(shard.total_right(slot, &route)));
        [total.wrapping_sub(right), right]
    }

    fn count(&self, slot: usize) -> usize {
        self.shards().map(|shard| shard.count(slot)).sum()
    }

    fn column(&self, rule: &BinRule) -> usize {
        match self.layout.places()[rule.feature as usize] {
            FeaturePlace::Alone { column } | FeaturePlace::Bundled { column, .. } => column,
            FeaturePlace::Dropped => unreachable!("no rule is made from a constant feature"),
        }
    }

    fn table_size(&self) -> usize {
        self.layout.columns().len() * TABLE
    }

    fn searching(&self) -> SplitSearch<'_> {
        SplitSearch {
            layout: &self.layout,
            allowed: &self.search.allowed,
            scale: self.scale,
            dispersion: self.dispersion,
            penalties: self.search.penalties,
            directions: &self.search.directions,
        }
    }

    /// Computes metrics.
    fn evaluator(&self) -> Evaluator<'_> {
        let (objective, metric, pool) = (self.objective, self.metric, self.pool);
        Evaluator { objective, metric, pool, shift: self.shift }
    }

    /// The search for sets of features, and the rows that it samples.
    fn lookahead(&self) -> (LookaheadSearch<'_>, LocalSlots<'_>) {
        let context = Context { pool: self.pool, budget: self.budget };
        let (layout, search, paths) = (&*self.layout, &self.search, &self.paths);
        let shards = self.shards().collect();
        let rows = LocalSlots { shards, plan: self.plan, pool: self.pool };
        (LookaheadSearch { layout, search, paths, scale: self.scale, context }, rows)
    }

    fn each_team(&mut self, together: bool, work: impl Fn(&mut Team) + Sync) {
        if together {
            self.pool.each(&mut self.teams, |_, team| work(team));
        } else {
            self.teams.iter_mut().for_each(work);
        }
    }

    /// Adds a tree, scaled, to scores.
    fn add_tree(&mut self, output: usize, tree: &BinnedTree, factor: f64, rows: [bool; 2]) {
        let values: Vec<f32> =
            tree.leaves.iter().map(|leaf| (leaf.value * factor) as f32).collect();
        let traversal = tree.traversal(&self.layout);
        let [training, validation] = rows;
        if training {
            self.pool.each(&mut self.teams, |_, team| {
                team.shards
                    .iter_mut()
                    .for_each(|shard| shard.add_tree(output, &values, &traversal));
            });
        }
        if validation {
            self.add_to_scored(output, &values, &traversal);
        }
    }

    /// Adds the values of a tree to the scores of the rows that are only scored.
    fn add_to_scored(&mut self, output: usize, values: &[f32], traversal: &Traversal) {
        for set in self.valid.iter_mut().chain(&mut self.watched) {
            self.pool.each(&mut set.shards, |_, shard| shard.add_tree(output, values, traversal));
        }
    }

    /// Frees what only growing trees need.
    fn release_buffers(&mut self) {
        self.kept = Vec::new();
        self.kept_count = 0;
        for team in &mut self.teams {
            team.shards.iter_mut().for_each(Shard::release_buffers);
            (team.spare, team.scratch) = (Vec::new(), Vec::new());
        }
    }
}

/// The rows of slots in this process.
struct LocalSlots<'a> {
    shards: Vec<&'a Shard>,
    plan: Plan,
    pool: &'a Pool,
}

impl SlotRows for LocalSlots<'_> {
    fn count(&self, slot: usize) -> usize {
        self.shards.iter().map(|shard| shard.count(slot)).sum()
    }

    fn sampled(
        &mut self,
        slot: usize,
        sample: HashSample,
        columns: &[usize],
    ) -> Result<Vec<SampledRows>, BackendError> {
        let (shards, plan) = (&self.shards, &self.plan);
        let sampled = |at: usize| shards[at].sampled(slot, sample, plan, columns);
        Ok(self.pool.map(shards.len(), sampled))
    }
}

/// Shards distributed over as many teams as there are threads.
fn make_teams(shards: Vec<Shard>, threads: usize) -> Vec<Team> {
    let ranges = even_ranges(shards.len(), threads);
    let mut shards = shards.into_iter();
    let team = |range: std::ops::Range<usize>| Team {
        shards: shards.by_ref().take(range.len()).collect(),
        ..Team::default()
    };
    ranges.into_iter().map(team).collect()
}

/// The search of a backend that has not begun a tree.
pub(super) fn no_search() -> SplitConstraints {
    let penalties =
        Penalties { lambda: 0.0, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 0.0 };
    SplitConstraints { allowed: Vec::new(), penalties, directions: Vec::new(), groups: Vec::new() }
}

impl Team {
    /// The histogram of a slot over the team's shards.
    fn count_slot(&mut self, slot: usize, size: usize) -> Histogram {
        let mut tables = match self.spare.pop() {
            Some(mut tables) if tables.len() == size => {
                tables.fill(0);
                tables
            }
            _ => vec![0; size].into_boxed_slice(),
        };
        let columns = 0..size / TABLE;
        self.shards.iter().for_each(|shard| shard.histogram(slot, &columns, &mut tables));
        tables
    }
}
