//! Questions to all rows at once.
//!
//! A learner never touches a row: it asks the workers, and gets sums and rules. Shards are dealt to
//! as many teams as there are threads; a team answers for its shards, and answers merge in shard
//! order. Histograms are integers, so their sum does not depend on how many teams there are; every
//! other sum is kept a shard until it merges.

mod begin;
mod children;
mod placed;

use std::sync::Arc;

use crate::bins::layout::{Place, Route};
use crate::bins::{Layout, Rule};
use crate::dataset::{Dataset, Plan};
use crate::grown::{Grown, Walker};
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::Scale;
use crate::objective::Objective;
use crate::pool::{Pool, even_ranges};
use crate::shard::{Bag, Shard, Sizes};
use crate::split::{Candidate, NodeTable, Penalties, Ridge, Search};
use children::{Job, table};

pub use begin::Begun;
pub use placed::{Placement, Scores};

/// Below this many rows, a question about rows is answered on the asking thread: handing it over
/// would take longer.
const ALONE_ROWS: usize = 2048;

/// Below this many table entries, so is a question about histograms.
const ALONE_CODES: usize = 2048;

/// A single thread looks at so many bytes of histograms at a time: they should not leave the cache
/// meanwhile.
const CACHED: usize = 1 << 19;

type Histogram = Box<[u64]>;

#[derive(Debug, Default)]
struct Team {
    shards: Vec<Shard>,
    spare: Vec<Histogram>,
    /// Where rows wait while a shard is split.
    scratch: Vec<u32>,
}

/// A split to carry out: the rows of `slot` go to two new slots.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Slot to split.
    pub slot: usize,
    /// The rule.
    pub rule: Rule,
    /// Slot of the failing rows.
    pub left: usize,
    /// Slot of the passing rows.
    pub right: usize,
    /// Value of the node, see [`Penalties::node_value`].
    pub value: f64,
}

/// What there is to know about a node: its packed sum, and the best way to split it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Packed sum.
    pub total: u64,
    /// Value, see [`Penalties::node_value`].
    pub value: f64,
    /// Best rule, if any gains.
    pub best: Option<Candidate>,
}

/// How children are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Only their sums: they will be leaves.
    Sums,
    /// The best rule of each.
    Each,
    /// One rule for all of them together; it is reported as the best of the first child.
    Shared,
}

/// Settings of the search that hold for one tree.
#[derive(Debug, Clone)]
pub struct TreeSearch {
    /// Which features may be used.
    pub allowed: Vec<bool>,
    /// Penalties.
    pub penalties: Penalties,
}

/// All rows, ready for questions.
pub struct Workers<'a> {
    pool: &'a Pool,
    objective: &'a dyn Objective,
    layout: Arc<Layout>,
    plan: Plan,
    teams: Vec<Team>,
    valid: Vec<Shard>,
    sizes: Vec<Sizes>,
    scale: Scale,
    search: TreeSearch,
    kept: Vec<Option<Histogram>>,
    kept_count: usize,
    /// Bytes that kept histograms may take; where they do not suffice, both children of a split are
    /// counted.
    memory: usize,
}

impl<'a> Workers<'a> {
    /// Deals the shards of a data set, and of a validation set where there is one, to teams.
    ///
    /// Targets are as the objective sees them; `start` holds the first score of each output;
    /// `memory` is how many bytes of histograms may be kept.
    pub fn new(
        data: &Dataset,
        target: &[f32],
        valid: Option<(&Dataset, &[f32])>,
        start: &[f32],
        objective: &'a dyn Objective,
        pool: &'a Pool,
        memory: usize,
    ) -> Self {
        let mut shards = make_shards(data, target, start).into_iter();
        let teams = even_ranges(data.plan.shards, pool.threads())
            .into_iter()
            .map(|range| Team {
                shards: shards.by_ref().take(range.len()).collect(),
                ..Team::default()
            })
            .collect();
        Workers {
            pool,
            objective,
            layout: data.layout.clone(),
            plan: data.plan,
            teams,
            valid: valid.map(|(data, target)| make_shards(data, target, start)).unwrap_or_default(),
            sizes: Vec::new(),
            scale: Scale { g: 1.0, h: 1.0 },
            search: TreeSearch {
                allowed: Vec::new(),
                penalties: Penalties {
                    lambda: 0.0,
                    ridge: Ridge::Flat,
                    gamma: 0.0,
                    min_child_weight: 0.0,
                },
            },
            kept: Vec::new(),
            kept_count: 0,
            memory,
        }
    }

    /// Whether there is no time left to finish what is begun.
    pub fn hurried(&self) -> bool {
        self.pool.hurried()
    }

    /// How values are binned.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many splits one question may hold, so that the histograms of all children fit into
    /// memory; for a single thread, which gains nothing by long questions, into the cache.
    pub fn most_orders(&self) -> usize {
        let bytes =
            if self.pool.threads() == 1 { CACHED.min(self.memory / 4) } else { self.memory / 4 };
        (bytes / (2 * 8 * self.table_size().max(1))).max(1)
    }

    /// Integer units of the tree being grown.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.teams.iter().flat_map(|team| &team.shards)
    }

    /// Derivatives of the loss at the present scores, for all outputs. Every hessian gets `extra`
    /// times the row's weight on top; zero for plain boosting.
    pub fn derive(&mut self, extra: f64) {
        let objective = self.objective;
        let mut work: Vec<(&mut Shard, Vec<Sizes>)> = self
            .teams
            .iter_mut()
            .flat_map(|team| &mut team.shards)
            .map(|shard| (shard, Vec::new()))
            .collect();
        self.pool
            .each(&mut work, |_, (shard, sizes)| *sizes = shard.derive(objective, extra as f32));
        self.sizes = vec![Sizes::default(); objective.outputs()];
        for (_, sizes) in &work {
            self.sizes.iter_mut().zip(sizes).for_each(|(sum, &part)| *sum += part);
        }
    }

    /// Sum of all hessians of an output, as of the last [`Workers::derive`].
    pub fn hessian(&self, output: usize) -> f64 {
        self.sizes[output].h
    }

    /// Starts a tree on one output; slot 0 holds all its rows.
    pub fn plant(
        &mut self,
        output: usize,
        bag: Option<Bag>,
        search: TreeSearch,
        want: Want,
    ) -> Seen {
        let sizes = self.sizes[output];
        self.scale = Scale::new(sizes.abs_g, sizes.h, self.plan.rows);
        self.search = search;
        for slot in 0..self.kept.len() {
            self.recycle(slot);
        }
        let (scale, plan) = (self.scale, self.plan);
        let mut planted: Vec<(&mut Team, u64)> =
            self.teams.iter_mut().map(|team| (team, 0)).collect();
        self.pool.each(&mut planted, |_, (team, total)| {
            for shard in &mut team.shards {
                *total = total.wrapping_add(shard.plant(output, scale, bag, &plan));
            }
        });
        let total = planted.iter().fold(0u64, |sum, (_, part)| sum.wrapping_add(*part));
        let value = self.node_value(total, 0.0);
        if want == Want::Sums || self.layout.columns().is_empty() {
            return Seen { total, value, best: None };
        }
        let mut jobs = [Job::new(0, None, [total, 0], [value, 0.0], None)];
        let best = self.look(&mut jobs, want, true)[0][0];
        self.keep_jobs(jobs.map(|job| (job, [true, true])));
        Seen { total, value, best }
    }

    /// Splits slots and looks at the children: `[left, right]` for each order.
    pub fn split(&mut self, orders: &[Order], totals: &[[u64; 2]], want: Want) -> Vec<[Seen; 2]> {
        let routes: Vec<Route> =
            orders.iter().map(|order| self.layout.route(&order.rule)).collect();
        let rows: usize = orders.iter().map(|order| self.count(order.slot)).sum();
        let together = rows >= ALONE_ROWS;
        self.ask_teams(together, |team| {
            let (shards, scratch) = (&mut team.shards, &mut team.scratch);
            for (order, route) in orders.iter().zip(&routes) {
                shards.iter_mut().for_each(|shard| {
                    shard.split(order.slot, route, [order.left, order.right], scratch);
                });
            }
        });
        let values = |order: &Order, totals: &[u64; 2]| {
            totals.map(|total| self.node_value(total, order.value))
        };
        let mut seen: Vec<[Seen; 2]> = orders
            .iter()
            .zip(totals)
            .map(|(order, totals)| {
                let [left, right] = values(order, totals);
                let seen = |total, value| Seen { total, value, best: None };
                [seen(totals[0], left), seen(totals[1], right)]
            })
            .collect();
        if want == Want::Sums {
            orders.iter().for_each(|order| self.recycle(order.slot));
            return seen;
        }
        // A split whose children are both too small to be split again needs no look at them.
        let search = self.searching();
        let open = |&at: &usize| {
            want == Want::Shared || seen[at].iter().any(|child| search.can_split(child.total))
        };
        let (looked, over): (Vec<usize>, Vec<usize>) = (0..orders.len()).partition(open);
        over.iter().for_each(|&at| self.recycle(orders[at].slot));
        // The smaller child is counted; the larger one is the parent less the smaller.
        let mut jobs: Vec<Job> = Vec::with_capacity(looked.len());
        for &at in &looked {
            let (order, [left, right]) = (&orders[at], seen[at]);
            let left_is_small = self.count(order.left) <= self.count(order.right);
            let (small, large) =
                if left_is_small { (order.left, order.right) } else { (order.right, order.left) };
            let sides = if left_is_small { [left, right] } else { [right, left] };
            let parent = self.kept.get_mut(order.slot).and_then(Option::take);
            self.kept_count -= usize::from(parent.is_some());
            jobs.push(Job::new(
                small,
                Some(large),
                sides.map(|side| side.total),
                sides.map(|side| side.value),
                parent,
            ));
        }
        let codes: usize = self.layout.columns().iter().map(|column| column.codes).sum();
        let together = together || jobs.len() * codes >= ALONE_CODES;
        let found = self.look(&mut jobs, want, together);
        let mut kept = Vec::with_capacity(jobs.len());
        for ((&at, job), found) in looked.iter().zip(&jobs).zip(found) {
            let [small, large] = found;
            let [left, right] =
                if job.small == orders[at].left { [small, large] } else { [large, small] };
            (seen[at][0].best, seen[at][1].best) = (left, right);
            // Only what has a rule of its own, or shares one with its level, is ever split.
            kept.push(found.map(|best| best.is_some() || want == Want::Shared));
        }
        self.keep_jobs(jobs.into_iter().zip(kept));
        seen
    }

    fn node_value(&self, total: u64, parent: f64) -> f64 {
        self.search.penalties.node_value(self.scale.unpack(total), parent)
    }

    /// The packed sums on both sides of a rule, from a slot's kept histogram.
    pub fn sides(&self, slot: usize, rule: &Rule, total: u64) -> [u64; 2] {
        let search = self.searching();
        let column = self.column(rule);
        match self.kept.get(slot).and_then(Option::as_ref) {
            Some(tables) => {
                let (left, right) = search
                    .sides(rule, &NodeTable { table: table(tables, column), total, value: 0.0 });
                [left, right]
            }
            None => self.counted_sides(slot, rule, total),
        }
    }

    /// The same, counted from the rows, where the histogram was too large to keep.
    fn counted_sides(&self, slot: usize, rule: &Rule, total: u64) -> [u64; 2] {
        let route = self.layout.route(rule);
        let right = self
            .shards()
            .fold(0u64, |sum, shard| sum.wrapping_add(shard.total_right(slot, &route)));
        [total.wrapping_sub(right), right]
    }

    fn count(&self, slot: usize) -> usize {
        self.shards().map(|shard| shard.count(slot)).sum()
    }

    fn column(&self, rule: &Rule) -> usize {
        match self.layout.places()[rule.feature as usize] {
            Place::Alone { column } | Place::Bundled { column, .. } => column,
            Place::Dropped => unreachable!("no rule is made from a constant feature"),
        }
    }

    fn table_size(&self) -> usize {
        self.layout.columns().len() * TABLE
    }

    fn searching(&self) -> Search<'_> {
        Search {
            layout: &self.layout,
            allowed: &self.search.allowed,
            scale: self.scale,
            penalties: self.search.penalties,
        }
    }

    fn ask_teams(&mut self, together: bool, ask: impl Fn(&mut Team) + Sync) {
        if together {
            self.pool.each(&mut self.teams, |_, team| ask(team));
        } else {
            self.teams.iter_mut().for_each(ask);
        }
    }

    /// Adds a finished tree to all scores. `slots` pairs each slot that became a leaf with the
    /// leaf's number.
    pub fn finish(&mut self, output: usize, grown: &Grown, slots: &[(usize, usize)]) {
        let values: Vec<f32> = grown.leaves.iter().map(|leaf| leaf.value as f32).collect();
        let walker = grown.walker(&self.layout);
        self.pool.each(&mut self.teams, |_, team| {
            team.shards
                .iter_mut()
                .for_each(|shard| shard.add_leaves(output, slots, &values, &walker));
        });
        self.pool.each(&mut self.valid, |_, shard| shard.add_tree(output, &values, &walker));
    }

    /// Adds a tree, scaled, to the scores of all rows: how dropped trees leave and come back.
    pub fn add(&mut self, output: usize, grown: &Grown, factor: f64, training: bool, valid: bool) {
        let values: Vec<f32> =
            grown.leaves.iter().map(|leaf| (leaf.value * factor) as f32).collect();
        let walker: Walker = grown.walker(&self.layout);
        if training {
            self.pool.each(&mut self.teams, |_, team| {
                team.shards.iter_mut().for_each(|shard| shard.add_tree(output, &values, &walker));
            });
        }
        if valid {
            self.pool.each(&mut self.valid, |_, shard| shard.add_tree(output, &values, &walker));
        }
    }

    /// The residuals and weights of a slot's rows, in shard order.
    pub fn residuals(&self, slot: usize) -> Vec<(f32, f32)> {
        let mut all = Vec::new();
        self.shards().for_each(|shard| shard.residuals(slot, &mut all));
        all
    }

    /// Sum of an answer every training shard gives, in shard order.
    pub fn sum_training<T: Send + Default + Clone>(
        &self,
        ask: impl Fn(&Shard) -> T + Sync,
        merge: impl Fn(T, T) -> T,
    ) -> T {
        sum_shards(self.pool, &self.shards().collect::<Vec<_>>(), ask, merge)
    }

    /// Sum of an answer every validation shard gives, in shard order; `None` without validation
    /// rows.
    pub fn sum_valid<T: Send + Default + Clone>(
        &self,
        ask: impl Fn(&Shard) -> T + Sync,
        merge: impl Fn(T, T) -> T,
    ) -> Option<T> {
        (!self.valid.is_empty())
            .then(|| sum_shards(self.pool, &self.valid.iter().collect::<Vec<_>>(), ask, merge))
    }

    /// Gives back what only growing trees need. Scores can still be added to and asked for.
    pub fn rest(&mut self) {
        self.kept = Vec::new();
        self.kept_count = 0;
        for team in &mut self.teams {
            team.shards.iter_mut().for_each(Shard::rest);
            (team.spare, team.scratch) = (Vec::new(), Vec::new());
        }
    }

    /// Scores of all training rows in row order, output after output.
    pub fn training_scores(&self) -> Vec<Vec<f32>> {
        gather(&self.plan, &self.shards().collect::<Vec<_>>(), self.objective.outputs())
    }

    /// Scores of all validation rows in row order, output after output.
    pub fn valid_scores(&self, plan: &Plan) -> Vec<Vec<f32>> {
        gather(plan, &self.valid.iter().collect::<Vec<_>>(), self.objective.outputs())
    }
}

fn gather(plan: &Plan, shards: &[&Shard], outputs: usize) -> Vec<Vec<f32>> {
    let of = |output: usize| {
        let parts: Vec<&[f32]> = shards
            .iter()
            .map(|shard| &shard.scores()[output * shard.rows()..(output + 1) * shard.rows()])
            .collect();
        plan.gather(&parts)
    };
    (0..outputs).map(of).collect()
}

fn sum_shards<T: Send + Default + Clone>(
    pool: &Pool,
    shards: &[&Shard],
    ask: impl Fn(&Shard) -> T + Sync,
    merge: impl Fn(T, T) -> T,
) -> T {
    pool.map(shards.len(), |at| ask(shards[at])).into_iter().reduce(merge).unwrap_or_default()
}

fn make_shards(data: &Dataset, target: &[f32], start: &[f32]) -> Vec<Shard> {
    let weight: Vec<f32> = data.weight.iter().map(|weight| weight as f32).collect();
    let mut weights = data.plan.deal(&weight).into_iter();
    data.plan
        .deal(target)
        .into_iter()
        .enumerate()
        .map(|(number, target)| {
            Shard::new(
                data.shards[number].clone(),
                number,
                target,
                weights.next().unwrap_or_default(),
                start,
            )
        })
        .collect()
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
