//! One fit on the shards of a host.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::check::{MOST_LEAVES, MOST_SLOTS, check_rule, check_tree, unknown};
use super::message::{ObjectiveName, ShardReply, ShardTargets, ShardWork};
use crate::binned_tree::BinnedTree;
use crate::bins::Layout;
use crate::bins::layout::Route;
use crate::dataset::{BinnedShard, Plan};
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::GradientScale;
use crate::metric::EvalMetric;
use crate::objective::{Objective, ObjectiveConfig, make};
use crate::pool::Pool;
use crate::stats::backend::BackendError;
use crate::stats::message::{LeafRows, LeafSlot, RowSample, SnapshotId, SplitCommand, TreeId};
use crate::stats::shard::{DerivativeSource, HashSample, RowLeaves, Shard};

/// The binned rows of a host.
#[derive(Debug)]
pub(super) struct HostRows {
    pub layout: Arc<Layout>,
    pub plan: Plan,
    /// The number of the first shard.
    pub first: usize,
    pub shards: Vec<Arc<BinnedShard>>,
}

/// The leaf of every row in one tree, per shard, and the number of leaves.
struct LeafNumbers {
    shards: Vec<RowLeaves>,
    leaves: usize,
}

/// The state of one fit.
pub(super) struct FitState {
    objective: Box<dyn Objective>,
    start: Vec<f32>,
    keeps: bool,
    shards: Vec<Shard>,
    trees: BTreeMap<TreeId, LeafNumbers>,
    snapshots: BTreeMap<SnapshotId, Vec<Vec<f32>>>,
    /// Slots of the growing tree that may be named.
    slots: usize,
    /// Whether there are derivatives.
    derived: bool,
}

impl FitState {
    /// Begins a fit.
    pub fn open(
        rows: &HostRows,
        name: &ObjectiveName,
        start: &[f32],
        keeps: bool,
        targets: Vec<ShardTargets>,
    ) -> Result<FitState, BackendError> {
        let objective = objective_of(name)?;
        check_rows(rows, &*objective, name, start, &targets)?;
        let mut shards = Vec::with_capacity(targets.len());
        for (at, (own, binned)) in targets.into_iter().zip(&rows.shards).enumerate() {
            let number = rows.first + at;
            let mut shard = Shard::new(binned.clone(), number, own.target, own.weight, start);
            if !own.score.is_empty() {
                shard.set_scores(&own.score);
            }
            if keeps {
                shard.keep_derivatives();
            }
            shards.push(shard);
        }
        Ok(FitState {
            objective,
            start: start.to_vec(),
            keeps,
            shards,
            trees: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            slots: 0,
            derived: false,
        })
    }

    /// Executes work on the shards.
    pub fn execute(
        &mut self,
        rows: &HostRows,
        work: &ShardWork,
        pool: &Pool,
    ) -> Result<ShardReply, BackendError> {
        match work {
            ShardWork::Derive { output, extra_hessian } => {
                output.map_or(Ok(()), |output| self.check_output("Derive", output))?;
                return Ok(self.derive(*output, *extra_hessian as f32, pool));
            }
            ShardWork::BeginTree { output, scale, sample } => {
                return self.begin_tree(rows, *output, *scale, *sample, pool);
            }
            ShardWork::Split { commands } => return self.split(rows, commands, pool),
            ShardWork::Count { slots } => {
                slots.iter().try_for_each(|&slot| self.check_slot("Count", slot))?;
                let slots = slots.iter().map(|&slot| self.count(rows, slot, pool)).collect();
                return Ok(ShardReply::Tables { slots });
            }
            ShardWork::Sample { slot, below, columns } => {
                self.check_slot("Sample", *slot)?;
                let known = rows.layout.columns().len();
                if let Some(&column) = columns.iter().find(|&&column| column >= known) {
                    return Err(unknown("Sample", "column", column));
                }
                let sample = HashSample::below(*below);
                let of_shard =
                    |at: usize| self.shards[at].sampled(*slot, sample, &rows.plan, columns);
                return Ok(ShardReply::Samples { shards: pool.map(self.shards.len(), of_shard) });
            }
            ShardWork::LeafSums { output, id, leaves } => {
                self.check_output("LeafSums", *output)?;
                if !(self.keeps && self.derived) {
                    return Err(unknown("LeafSums", "derivative of output", *output));
                }
                let numbers = self.tree("LeafSums", *id, *leaves)?;
                let of_shard =
                    |at: usize| self.shards[at].leaf_sums(*output, &numbers.shards[at], *leaves);
                return Ok(ShardReply::LeafSums { shards: pool.map(self.shards.len(), of_shard) });
            }
            ShardWork::Residuals { rows } => return self.residuals(rows),
            ShardWork::Loss {} => return Ok(ShardReply::Numbers { shards: self.losses(pool) }),
            ShardWork::Metric { metric } => {
                metric.suits(&*self.objective).map_err(|_| unknown("Metric", "metric", 0))?;
                let of_shard = |at: usize| self.partial(*metric, at);
                return Ok(ShardReply::Metric { shards: pool.map(self.shards.len(), of_shard) });
            }
            ShardWork::Scores {} => {
                let shards = self.shards.iter().map(|shard| shard.scores().to_vec()).collect();
                return Ok(ShardReply::Scores { shards });
            }
            _ => self.change(&rows.layout, work, pool)?,
        }
        Ok(ShardReply::Done {})
    }

    /// Work without a result.
    fn change(
        &mut self,
        layout: &Layout,
        work: &ShardWork,
        pool: &Pool,
    ) -> Result<(), BackendError> {
        let name = work.name();
        match work {
            ShardWork::FinishTree { output, tree, leaves } => {
                self.check_output(name, *output)?;
                check_tree(layout, tree, name)?;
                self.check_leaves(name, leaves, tree.leaves.len())?;
                let values: Vec<f32> = tree.leaves.iter().map(|leaf| leaf.value as f32).collect();
                let traversal = tree.traversal(layout);
                pool.each(&mut self.shards, |_, shard| {
                    shard.add_leaves(*output, leaves, &values, &traversal);
                });
            }
            ShardWork::AddTree { output, tree, factor } => {
                self.check_output(name, *output)?;
                check_tree(layout, tree, name)?;
                self.add_tree(layout, *output, tree, *factor, pool);
            }
            ShardWork::AssignSlots { id, leaves } => {
                self.check_leaves(name, leaves, MOST_LEAVES)?;
                let of_shard = |at: usize| self.shards[at].assign_slots(leaves);
                let shards = pool.map(self.shards.len(), of_shard);
                let count = 1 + leaves.iter().map(|leaf| leaf.leaf).max().unwrap_or(0);
                self.trees.insert(*id, LeafNumbers { shards, leaves: count });
            }
            ShardWork::AssignTree { id, tree } => {
                check_tree(layout, tree, name)?;
                if tree.leaves.len() > MOST_LEAVES {
                    return Err(unknown(name, "leaf", tree.leaves.len()));
                }
                let traversal = tree.traversal(layout);
                let of_shard =
                    |at: usize| self.shards[at].assign_tree(&traversal, tree.leaves.len());
                let shards = pool.map(self.shards.len(), of_shard);
                self.trees.insert(*id, LeafNumbers { shards, leaves: tree.leaves.len() });
            }
            ShardWork::DropTree { id } => drop(self.trees.remove(id)),
            ShardWork::Shift { output, id, values } => {
                self.check_output(name, *output)?;
                self.tree(name, *id, values.len())?;
                let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
                let leaves = &self.trees[id].shards;
                pool.each(&mut self.shards, |at, shard| shard.shift(*output, &leaves[at], &values));
            }
            ShardWork::ResetScores {} => {
                let start = &self.start;
                pool.each(&mut self.shards, |_, shard| {
                    start
                        .iter()
                        .enumerate()
                        .for_each(|(output, &value)| shard.reset(output, value));
                });
            }
            ShardWork::SaveScores { id } => {
                let scores = self.shards.iter().map(|shard| shard.scores().to_vec()).collect();
                self.snapshots.insert(*id, scores);
            }
            ShardWork::RestoreScores { id } => {
                let missing = || unknown(name, "snapshot", id.0 as usize);
                let saved = self.snapshots.get(id).ok_or_else(missing)?;
                let pairs = self.shards.iter_mut().zip(saved);
                pairs.for_each(|(shard, scores)| shard.set_scores(scores));
            }
            ShardWork::DropScores { id } => drop(self.snapshots.remove(id)),
            ShardWork::ReleaseBuffers {} => {
                self.shards.iter_mut().for_each(Shard::release_buffers);
                (self.slots, self.derived) = (0, false);
            }
            _ => return Err(BackendError::Unsupported { work: name }),
        }
        Ok(())
    }

    fn derive(&mut self, output: Option<usize>, extra: f32, pool: &Pool) -> ShardReply {
        let objective = &*self.objective;
        let one = output.and_then(|output| Some((output, objective.one_output()?)));
        let mut work: Vec<(&mut Shard, Vec<_>)> =
            self.shards.iter_mut().map(|shard| (shard, Vec::new())).collect();
        pool.each(&mut work, |_, (shard, sums)| {
            *sums = match one {
                Some((output, one)) => vec![shard.derive_output(output, one, extra)],
                None => shard.derive(DerivativeSource::Of(objective), extra),
            };
        });
        self.derived = true;
        ShardReply::Derivatives { shards: work.into_iter().map(|(_, sums)| sums).collect() }
    }

    fn begin_tree(
        &mut self,
        rows: &HostRows,
        output: usize,
        scale: GradientScale,
        sample: Option<RowSample>,
        pool: &Pool,
    ) -> Result<ShardReply, BackendError> {
        self.check_output("BeginTree", output)?;
        if !self.derived {
            return Err(unknown("BeginTree", "derivative of output", output));
        }
        let plan = &rows.plan;
        let mut begun: Vec<(&mut Shard, u64)> =
            self.shards.iter_mut().map(|shard| (shard, 0)).collect();
        pool.each(&mut begun, |_, (shard, total)| {
            *total = shard.begin_tree(output, scale, sample, plan);
        });
        let total = begun.iter().fold(0u64, |sum, (_, part)| sum.wrapping_add(*part));
        let rows = begun.iter().map(|(shard, _)| shard.count(0)).sum();
        self.slots = 1;
        Ok(ShardReply::Root { total, rows })
    }

    fn split(
        &mut self,
        rows: &HostRows,
        commands: &[SplitCommand],
        pool: &Pool,
    ) -> Result<ShardReply, BackendError> {
        let mut slots = self.slots;
        for command in commands {
            let most = command.left.max(command.right);
            if command.slot >= slots || most >= MOST_SLOTS {
                return Err(unknown("Split", "slot", most.max(command.slot)));
            }
            check_rule(&rows.layout, &command.rule, "Split")?;
            slots = slots.max(most + 1);
        }
        self.slots = slots;
        let routes: Vec<Route> =
            commands.iter().map(|command| rows.layout.route(&command.rule)).collect();
        pool.each(&mut self.shards, |_, shard| {
            let mut scratch = Vec::new();
            for (command, route) in commands.iter().zip(&routes) {
                shard.split(command.slot, route, [command.left, command.right], &mut scratch);
            }
        });
        let count = |slot: usize| self.shards.iter().map(|shard| shard.count(slot)).sum();
        let counts = commands.iter().map(|command| [count(command.left), count(command.right)]);
        Ok(ShardReply::Counts { rows: counts.collect() })
    }

    /// The sums of a slot by stored code, column after column.
    fn count(&self, rows: &HostRows, slot: usize, pool: &Pool) -> Vec<u64> {
        let columns = rows.layout.columns();
        let all = 0..columns.len();
        let parts = pool.map(self.shards.len(), |at| {
            let mut tables = vec![0u64; columns.len() * TABLE];
            self.shards[at].histogram(slot, &all, &mut tables);
            tables
        });
        let mut sums = vec![0u64; columns.iter().map(|column| column.codes).sum()];
        for tables in parts {
            let mut into = &mut sums[..];
            for (column, table) in columns.iter().zip(tables.chunks_exact(TABLE)) {
                let (own, rest) = into.split_at_mut(column.codes);
                own.iter_mut().zip(table).for_each(|(sum, &part)| *sum = sum.wrapping_add(part));
                into = rest;
            }
        }
        sums
    }

    fn residuals(&self, rows: &LeafRows) -> Result<ShardReply, BackendError> {
        let plain = |residuals: Vec<(f32, f32)>| -> Vec<[f32; 2]> {
            residuals.into_iter().map(|(residual, weight)| [residual, weight]).collect()
        };
        let shards = match rows {
            LeafRows::Slots { slots } => {
                slots.iter().try_for_each(|&slot| self.check_slot("Residuals", slot))?;
                let of_slot = |shard: &Shard, slot: usize| {
                    let mut residuals = Vec::new();
                    shard.residuals(slot, &mut residuals);
                    plain(residuals)
                };
                let of_shard = |shard: &Shard| {
                    slots.iter().map(|&slot| of_slot(shard, slot)).collect::<Vec<_>>()
                };
                self.shards.iter().map(of_shard).collect()
            }
            LeafRows::Tree { id, leaves } => {
                let numbers = self.tree("Residuals", *id, *leaves)?;
                let of_shard = |(shard, numbers): (&Shard, &RowLeaves)| {
                    let mut residuals = vec![Vec::new(); *leaves];
                    shard.leaf_residuals(numbers, &mut residuals);
                    residuals.into_iter().map(plain).collect::<Vec<_>>()
                };
                self.shards.iter().zip(&numbers.shards).map(of_shard).collect()
            }
        };
        Ok(ShardReply::Residuals { shards })
    }

    /// The loss of each shard.
    fn losses(&self, pool: &Pool) -> Vec<f64> {
        let shards = &self.shards;
        if let Some(one) = self.objective.one_output()
            && shards.iter().all(Shard::knows_others)
        {
            return pool.map(shards.len(), |at| shards[at].loss(one));
        }
        pool.map(shards.len(), |at| self.partial(EvalMetric::Loss, at).sum)
    }

    fn partial(&self, metric: EvalMetric, at: usize) -> crate::metric::Partial {
        let shard = &self.shards[at];
        metric.partial(shard.scores(), shard.targets(), shard.weights(), &*self.objective)
    }

    fn add_tree(
        &mut self,
        layout: &Layout,
        output: usize,
        tree: &BinnedTree,
        factor: f64,
        pool: &Pool,
    ) {
        let values: Vec<f32> =
            tree.leaves.iter().map(|leaf| (leaf.value * factor) as f32).collect();
        let traversal = tree.traversal(layout);
        pool.each(&mut self.shards, |_, shard| shard.add_tree(output, &values, &traversal));
    }

    fn tree(
        &self,
        work: &'static str,
        id: TreeId,
        leaves: usize,
    ) -> Result<&LeafNumbers, BackendError> {
        let numbers = self.trees.get(&id).ok_or_else(|| unknown(work, "tree", id.0 as usize))?;
        if leaves < numbers.leaves || leaves > MOST_LEAVES {
            return Err(unknown(work, "leaf", leaves));
        }
        Ok(numbers)
    }

    fn check_output(&self, work: &'static str, output: usize) -> Result<(), BackendError> {
        if output < self.start.len() { Ok(()) } else { Err(unknown(work, "output", output)) }
    }

    fn check_slot(&self, work: &'static str, slot: usize) -> Result<(), BackendError> {
        if slot < self.slots { Ok(()) } else { Err(unknown(work, "slot", slot)) }
    }

    fn check_leaves(
        &self,
        work: &'static str,
        leaves: &[LeafSlot],
        known: usize,
    ) -> Result<(), BackendError> {
        for leaf in leaves {
            self.check_slot(work, leaf.slot)?;
            if leaf.leaf >= known {
                return Err(unknown(work, "leaf", leaf.leaf));
            }
        }
        Ok(())
    }
}

/// Refuses targets, weights or scores that are not those of the host's rows.
pub(super) fn check_rows(
    rows: &HostRows,
    objective: &dyn Objective,
    name: &ObjectiveName,
    start: &[f32],
    targets: &[ShardTargets],
) -> Result<(), BackendError> {
    if start.len() != objective.outputs() {
        return Err(unknown("Open", "output", start.len()));
    }
    if targets.len() != rows.shards.len() {
        return Err(unknown("Open", "shard", targets.len()));
    }
    for (at, (own, binned)) in targets.iter().zip(&rows.shards).enumerate() {
        let fits = |values: &[f32], count: usize| values.is_empty() || values.len() == count;
        let is_whole = own.target.len() == binned.rows
            && fits(&own.weight, binned.rows)
            && fits(&own.score, binned.rows * start.len());
        if !is_whole {
            return Err(unknown("Open", "row of shard", rows.first + at));
        }
        check_targets(&own.target, name.classes)?;
    }
    Ok(())
}

/// The objective of a name.
pub(super) fn objective_of(name: &ObjectiveName) -> Result<Box<dyn Objective>, BackendError> {
    let config = ObjectiveConfig::named(&name.name, name.classes, |_| name.parameter);
    let config = config.filter(|config| config.classes() <= MOST_LEAVES && config.check().is_ok());
    let config = config.ok_or(unknown("Open", "objective with classes", name.classes))?;
    Ok(make(&config))
}

/// Refuses class numbers that there are not.
fn check_targets(target: &[f32], classes: usize) -> Result<(), BackendError> {
    let fits = |&&value: &&f32| {
        value.is_finite() && (classes == 0 || (0.0..classes as f32).contains(&value))
    };
    match target.iter().find(|value| !fits(value)) {
        None => Ok(()),
        Some(&value) => Err(unknown("Open", "class", value as usize)),
    }
}
