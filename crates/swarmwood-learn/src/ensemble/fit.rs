//! An ensemble under revision: every tree can be taken out, grown again on the residuals of the
//! others, fitted and put back.
//!
//! Minimised is
//! `loss + Σ over trees [λ/2 Σ over nodes (x - x_parent)² + κ/2 Σ over rows x² + γ · splits]`,
//! where `x` is the value of a node or, for κ, of the row's leaf. The κ term is what dropping trees
//! at random would cost a squared loss on average; it adds κ to every hessian.

use std::sync::Arc;

use swarmwood_model::{Child, Leaf, Member};

use super::fit_state::{EnsembleState, TreeState};
use super::{EnsembleShape, SearchStrategy};
use crate::binned_tree::{BinnedSplit, BinnedTree};
use crate::budget::Budget;
use crate::context::Context;
use crate::greedy::grow::{TreeGrowth, TreeTask};
use crate::greedy::{GreedyConfig, grow_tree};
use crate::isotonic::PartialOrder;
use crate::objective::{Curvature, Objective};
use crate::ridge::{self, LeafQuadratic, RidgeSolution};
use crate::stats::{
    BackendError, BackendOptions, Client, LeafQuantile, LeafRows, LeafSlot, LeafSums, Reply,
    RowSet, SnapshotHandle, TrainingSet, TreeHandle, TreeId, Work, leaf_sums_of, quantiles_of,
};

/// Newton steps for the leaf values of one tree; squared losses need one.
const STEPS: usize = 3;

/// A tree of the ensemble; the leaves of its rows are behind the boundary.
#[derive(Debug, Clone)]
pub struct EnsembleTree {
    pub grown: BinnedTree,
    pub output: usize,
    handle: TreeHandle,
    /// The order that constraints ask of its leaves.
    order: Arc<PartialOrder>,
    /// All penalties of the tree.
    pub cost: f64,
}

impl EnsembleTree {
    fn values(&self) -> Vec<f64> {
        self.grown.leaves.iter().map(|leaf| leaf.value).collect()
    }

    /// The squared leaf values of all rows, given sums over the rows of the leaves.
    fn squares(&self, sums: &[LeafSums]) -> f64 {
        let of_leaf = |(leaf, sum): (&Leaf, &LeafSums)| sum.weight * leaf.value * leaf.value;
        self.grown.leaves.iter().zip(sums).map(of_leaf).sum()
    }

    /// Adds the values of its leaves to the scores of its rows.
    fn shift(&self, values: Vec<f64>) -> Work {
        Work::Shift { output: self.output, id: self.handle.id(), values }
    }

    fn put_in(&self) -> Work {
        self.shift(self.values())
    }

    fn take_out(&self) -> Work {
        self.shift(negative(&self.values()))
    }
}

/// A state to come back to.
#[derive(Debug, Clone)]
pub struct EnsembleSnapshot {
    trees: Vec<EnsembleTree>,
    scores: SnapshotHandle,
    loss: f64,
}

/// A tree structure with what its leaves need: grown on the present derivatives, out of the scores.
struct TreeCandidate {
    grown: BinnedTree,
    output: usize,
    handle: TreeHandle,
    order: Arc<PartialOrder>,
    stats: LeafStats,
}

/// Statistics of the leaves of a tree that is out of the scores.
#[derive(Debug, Clone)]
struct LeafStats {
    sums: Vec<LeafSums>,
    /// For losses whose leaves take a quantile.
    quantiles: Vec<LeafQuantile>,
}

/// Leaf values on trial; the scores hold them.
struct LeafTrial {
    values: Vec<f64>,
    loss: f64,
    cost: f64,
}

/// The ensemble.
pub struct Ensemble<'a> {
    client: Client<'a>,
    objective: &'a dyn Objective,
    budget: &'a Budget,
    context: Context<'a>,
    strategy: SearchStrategy,
    growing: GreedyConfig,
    pub base: Vec<f64>,
    pub shift: f64,
    pub trees: Vec<EnsembleTree>,
    /// Loss of all rows with all trees in.
    loss: f64,
    /// Whether the loss is a parabola that leaf sums determine.
    quadratic: bool,
    /// Turns squared leaf values into units of the loss, for losses that are not about squares.
    unit: f64,
    /// Trees grown so far: the measure of work.
    pub work: usize,
}

impl<'a> Ensemble<'a> {
    /// An ensemble without trees.
    pub fn new(
        set: TrainingSet<'a>,
        shape: &EnsembleShape,
        strategy: &SearchStrategy,
        context: Context<'a>,
    ) -> Result<Self, BackendError> {
        let objective = set.objective;
        let options = BackendOptions { memory: shape.memory, keep_derivatives: true };
        let mut client = Client::open(set, options, context)?;
        let loss = client.loss()?;
        let data = client.data().clone();
        let unit = match objective.leaf_quantile() {
            // The mean absolute residual: a deviation of that size counts as one row's loss.
            Some(_) if loss > 0.0 => data.rows as f64 / loss,
            _ => 1.0,
        };
        Ok(Ensemble {
            client,
            objective,
            budget: context.budget,
            context,
            strategy: *strategy,
            growing: shape.greedy_config(1.0, strategy.penalties()),
            base: data.base,
            shift: data.shift,
            trees: Vec::new(),
            loss,
            quadratic: objective.constant_hessian()
                && objective.curvature() == Curvature::Exact
                && objective.leaf_quantile().is_none(),
            unit,
            work: 0,
        })
    }

    /// Whether the run was cancelled or its deadline has passed.
    pub fn is_interrupted(&self) -> bool {
        self.budget.is_interrupted()
    }

    /// Whether the run was interrupted or its work limit is reached.
    pub fn is_exhausted(&self) -> bool {
        self.budget.is_exhausted()
    }

    /// Whether the work limit allows so many trees more.
    pub fn can_afford(&self, trees: usize) -> bool {
        self.budget.remaining().is_none_or(|left| left >= trees as u64)
    }

    /// Whether the greedy start could grow all its trees.
    pub fn is_whole(&self) -> bool {
        self.trees.len() == self.rounds() * self.objective.outputs()
    }

    /// Loss and penalties.
    pub fn value(&self) -> f64 {
        self.loss + self.trees.iter().map(|tree| tree.cost).sum::<f64>()
    }

    /// Loss alone.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// How the search goes.
    pub fn strategy(&self) -> SearchStrategy {
        self.strategy
    }

    /// Rounds of the greedy start.
    pub fn rounds(&self) -> usize {
        self.growing.trees
    }

    /// How many features there are.
    pub fn features(&self) -> usize {
        self.client.layout().features().len()
    }

    /// The features that rules can be made from.
    pub fn stored_features(&self) -> Vec<usize> {
        let columns = self.client.layout().columns().iter();
        let mut stored: Vec<usize> =
            columns.flat_map(|column| &column.features).map(|&feature| feature as usize).collect();
        stored.sort_unstable();
        stored
    }

    /// Messages sent to the rows so far.
    #[cfg(test)]
    pub fn messages(&self) -> u64 {
        self.client.messages()
    }

    /// Adds a tree for each output, with a share of its leaf values. False if the work limit does
    /// not allow it, or if the run was interrupted between two outputs: then the ensemble is as it
    /// was, because a model needs whole rounds.
    pub fn add_round(&mut self, share: f64) -> Result<bool, BackendError> {
        let (before, outputs) = (self.trees.len(), self.objective.outputs());
        if !self.can_afford(outputs) {
            return Ok(false);
        }
        for output in 0..outputs {
            if output > 0 && self.is_interrupted() {
                for tree in self.trees.split_off(before) {
                    self.client.push(tree.take_out());
                }
                return Ok(false);
            }
            self.derive(output);
            let TreeCandidate { grown, handle, order, stats, .. } = self.grow(output, None)?;
            let solution = self.step(&grown, &stats, &order, None);
            let values: Vec<f64> = solution.values.iter().map(|value| value * share).collect();
            let cost = self.cost(solution.penalty * share * share, &values, &stats.sums, &grown);
            let mut tree = EnsembleTree { grown, output, handle, order, cost };
            set(&mut tree.grown, &values);
            self.client.push(tree.put_in());
            self.trees.push(tree);
        }
        self.loss = self.client.loss()?;
        Ok(true)
    }

    /// Adds every score up anew, so that rounding errors do not accumulate.
    pub fn settle(&mut self) -> Result<(), BackendError> {
        self.client.push(Work::ResetScores {});
        for tree in &self.trees {
            self.client.push(tree.put_in());
        }
        self.loss = self.client.loss()?;
        Ok(())
    }

    /// Grows tree `at` again on the residuals of the others, and keeps it if the value falls; else
    /// tries the old tree with new leaf values. Returns whether anything changed.
    pub fn improve(&mut self, at: usize) -> Result<bool, BackendError> {
        if !self.can_afford(1) {
            return Ok(false);
        }
        let before = self.loss + self.trees[at].cost;
        self.client.push(self.trees[at].take_out());
        self.derive(self.trees[at].output);
        // The sums of the old tree travel with the first question about the new one.
        let old_sums = self.quadratic.then(|| {
            let work = leaf_sums(&self.trees[at]);
            self.client.defer(work)
        });

        let candidate = self.grow(self.trees[at].output, None)?;
        let old_sums = match old_sums {
            Some(ticket) => Some(leaf_sums_of(self.client.take(ticket)?)?),
            None => None,
        };
        let out = self.loss_without(at, old_sums.as_deref());
        let trial = self.fit(&candidate, out)?;
        if falls(trial.loss + trial.cost, before) {
            self.accept(at, Some(candidate), trial);
            return Ok(true);
        }

        let (output, id) = (candidate.output, candidate.handle.id());
        self.client.push(Work::Shift { output, id, values: negative(&trial.values) });
        if !self.quadratic {
            self.derive(output);
        }
        let stats = old_sums.map(|sums| LeafStats { sums, quantiles: Vec::new() });
        self.refit_out(at, stats, before)
    }

    /// Finds new leaf values for tree `at` and keeps them if the value falls.
    pub fn refit(&mut self, at: usize) -> Result<bool, BackendError> {
        let before = self.loss + self.trees[at].cost;
        self.client.push(self.trees[at].take_out());
        self.derive(self.trees[at].output);
        self.refit_out(at, None, before)
    }

    /// Fits leaf values to tree `at`, which is out of the scores. `stats` are those of its leaves,
    /// where they are known.
    fn refit_out(
        &mut self,
        at: usize,
        stats: Option<LeafStats>,
        before: f64,
    ) -> Result<bool, BackendError> {
        let EnsembleTree { grown, output, handle, order, cost } = self.trees[at].clone();
        let stats = match stats {
            Some(stats) => stats,
            None => self.leaf_stats(output, handle.id(), grown.leaves.len())?,
        };
        let known = self.quadratic.then_some(&stats.sums[..]);
        let out = self.loss_without(at, known);
        let candidate = TreeCandidate { grown, output, handle, order, stats };
        let trial = self.fit(&candidate, out)?;
        if falls(trial.loss + trial.cost, before) {
            self.accept(at, None, trial);
            return Ok(true);
        }
        self.client.push(self.trees[at].shift(negative(&trial.values)));
        self.client.push(self.trees[at].put_in());
        self.loss = before - cost;
        Ok(false)
    }

    /// Replaces trees by new ones grown one after the other from some of the features, whatever the
    /// value becomes. Does nothing and returns false if the work limit does not allow it.
    pub fn ruin(
        &mut self,
        chosen: &[usize],
        mut allowed: impl FnMut(usize) -> Vec<bool>,
    ) -> Result<bool, BackendError> {
        if !self.can_afford(chosen.len()) {
            return Ok(false);
        }
        for &at in chosen {
            self.client.push(self.trees[at].take_out());
        }
        self.loss = if self.quadratic { self.client.loss()? } else { 0.0 };
        for &at in chosen {
            self.derive(self.trees[at].output);
            let candidate = self.grow(self.trees[at].output, Some(allowed(at)))?;
            let trial = self.fit(&candidate, self.loss)?;
            self.accept(at, Some(candidate), trial);
        }
        Ok(true)
    }

    /// Derivatives of one output.
    fn derive(&mut self, output: usize) {
        let extra_hessian = self.strategy.kappa;
        self.client.push(Work::Derive { output: Some(output), extra_hessian });
    }

    /// The loss without tree `at`, where the sums of its leaves determine it.
    fn loss_without(&self, at: usize, sums: Option<&[LeafSums]>) -> f64 {
        sums.map_or(0.0, |sums| self.loss - self.change(&self.trees[at].values(), sums))
    }

    fn accept(&mut self, at: usize, structure: Option<TreeCandidate>, trial: LeafTrial) {
        let tree = &mut self.trees[at];
        if let Some(TreeCandidate { grown, handle, order, .. }) = structure {
            tree.grown = grown;
            tree.handle = handle;
            tree.order = order;
        }
        set(&mut tree.grown, &trial.values);
        tree.cost = trial.cost;
        self.loss = trial.loss;
    }

    /// Grows a tree on the present derivatives; the statistics of its leaves come along.
    fn grow(
        &mut self,
        output: usize,
        allowed: Option<Vec<bool>>,
    ) -> Result<TreeCandidate, BackendError> {
        let allowed = allowed.unwrap_or_else(|| vec![true; self.features()]);
        let search = self.client.split_constraints(allowed, self.growing.penalties);
        let handle = self.client.new_tree();
        let (id, quantile) = (handle.id(), self.objective.leaf_quantile());
        let leaf_work = |leaves: &[LeafSlot], count: usize| {
            let mut work = vec![Work::AssignSlots { id, leaves: leaves.to_vec() }];
            work.extend(leaf_questions(output, id, count, quantile));
            work
        };
        let task = TreeTask { output, sample: None, search, leaf_work: &leaf_work };
        let TreeGrowth { tree, order, replies, .. } =
            grow_tree(&mut self.client, task, &self.growing, self.context)?;
        self.work += 1;
        // The first reply is that of the assignment.
        let stats = self.stats_of(replies.into_iter().skip(1))?;
        Ok(TreeCandidate { grown: tree, output, handle, order: Arc::new(order), stats })
    }

    /// Statistics of the leaves of a tree at the present derivatives and scores.
    fn leaf_stats(
        &mut self,
        output: usize,
        id: TreeId,
        leaves: usize,
    ) -> Result<LeafStats, BackendError> {
        let questions = leaf_questions(output, id, leaves, self.objective.leaf_quantile());
        let replies = self.client.ask_all(questions)?;
        self.stats_of(replies.into_iter())
    }

    fn stats_of(
        &self,
        mut replies: impl Iterator<Item = Reply>,
    ) -> Result<LeafStats, BackendError> {
        let sums = leaf_sums_of(replies.next())?;
        let quantiles = match self.objective.leaf_quantile() {
            Some(_) => quantiles_of(replies.next())?,
            None => Vec::new(),
        };
        Ok(LeafStats { sums, quantiles })
    }

    /// Fits leaf values to a tree that is out of the scores, and puts it in. `out` is the loss
    /// without it.
    fn fit(&mut self, candidate: &TreeCandidate, out: f64) -> Result<LeafTrial, BackendError> {
        let TreeCandidate { grown, output, handle, order, stats } = candidate;
        let (output, id, leaves) = (*output, handle.id(), grown.leaves.len());
        let mut solution = self.step(grown, stats, order, None);
        self.client.push(Work::Shift { output, id, values: solution.values.clone() });
        if self.quadratic {
            let loss = out + self.change(&solution.values, &stats.sums);
            let cost = self.cost(solution.penalty, &solution.values, &stats.sums, grown);
            return Ok(LeafTrial { values: solution.values, loss, cost });
        }

        let mut last = stats.clone();
        if self.objective.leaf_quantile().is_none() {
            for _ in 1..STEPS {
                self.derive(output);
                last = self.leaf_stats(output, id, leaves)?;
                let next = self.step(grown, &last, order, Some(&solution.values));
                let moved =
                    next.values.iter().zip(&solution.values).map(|(new, old)| new - old).collect();
                self.client.push(Work::Shift { output, id, values: moved });
                solution = next;
            }
        }
        let loss = self.client.loss()?;
        let cost = self.cost(solution.penalty, &solution.values, &last.sums, grown);
        Ok(LeafTrial { values: solution.values, loss, cost })
    }

    /// One step towards the best leaf values: the minimum of the parabola that touches the loss at
    /// the present ones, which the statistics of leaves determine.
    fn step(
        &self,
        grown: &BinnedTree,
        stats: &LeafStats,
        order: &PartialOrder,
        at: Option<&[f64]>,
    ) -> RidgeSolution {
        let quadratics: Vec<LeafQuadratic> = match self.objective.leaf_quantile() {
            Some(_) => {
                let of_leaf = |quantile: &LeafQuantile| LeafQuadratic {
                    h: quantile.weight,
                    b: quantile.weight * quantile.value,
                };
                stats.quantiles.iter().map(of_leaf).collect()
            }
            None => {
                let pull = |leaf: usize, sum: &LeafSums| {
                    at.map_or(0.0, |values| {
                        (sum.h - self.strategy.kappa * sum.weight) * values[leaf]
                    }) - sum.g
                };
                let of_leaf = |(leaf, sum): (usize, &LeafSums)| LeafQuadratic {
                    h: sum.h,
                    b: pull(leaf, sum),
                };
                stats.sums.iter().enumerate().map(of_leaf).collect()
            }
        };
        let penalty = (self.strategy.lambda, self.strategy.ridge);
        ridge::solve(grown, &quadratics, penalty, order)
    }

    /// The order that constraints ask of the leaves of a tree.
    fn leaf_order(&self, grown: &BinnedTree) -> Arc<PartialOrder> {
        Arc::new(ridge::leaf_order(grown, self.client.layout(), self.client.constraints()))
    }

    /// By how much leaf values change a quadratic loss, given the sums without them.
    fn change(&self, values: &[f64], sums: &[LeafSums]) -> f64 {
        let of_leaf = |(value, sum): (&f64, &LeafSums)| {
            sum.g * value + 0.5 * (sum.h - self.strategy.kappa * sum.weight) * value * value
        };
        values.iter().zip(sums).map(of_leaf).sum()
    }

    fn cost(&self, penalty: f64, values: &[f64], sums: &[LeafSums], grown: &BinnedTree) -> f64 {
        let squares: f64 =
            values.iter().zip(sums).map(|(value, sum)| sum.weight * value * value).sum();
        self.unit * (penalty + 0.5 * self.strategy.kappa * squares)
            + self.strategy.gamma * grown.nodes.len() as f64
    }

    /// A copy of the state.
    pub fn keep(&mut self) -> EnsembleSnapshot {
        let scores = self.client.save_scores();
        EnsembleSnapshot { trees: self.trees.clone(), scores, loss: self.loss }
    }

    /// Goes back to a copy.
    pub fn restore(&mut self, kept: EnsembleSnapshot) {
        self.client.push(Work::RestoreScores { id: kept.scores.id() });
        self.trees = kept.trees;
        self.loss = kept.loss;
    }

    /// Takes over the trees of an earlier run.
    pub fn resume(&mut self, state: EnsembleState) -> Result<(), BackendError> {
        self.trees = state
            .trees
            .into_iter()
            .map(|TreeState { grown, output, cost }| {
                let handle = self.client.assign_tree(grown.clone());
                let order = self.leaf_order(&grown);
                EnsembleTree { grown, output, handle, order, cost }
            })
            .collect();
        self.work = state.work;
        self.settle()
    }

    /// Takes over trees that were searched on a part of these rows, which weigh `ratio` times as
    /// much. Leaf values and all that counts rows are those of these rows afterwards.
    pub fn adopt(&mut self, mut state: EnsembleState, ratio: f64) -> Result<(), BackendError> {
        for TreeState { grown, .. } in &mut state.trees {
            for node in &mut grown.nodes {
                (node.gain, node.cover) = (node.gain * ratio, node.cover * ratio);
            }
            grown.leaves.iter_mut().for_each(|leaf| leaf.cover *= ratio);
        }
        self.resume(state)?;
        for at in 0..self.trees.len() {
            if self.is_interrupted() {
                break;
            }
            self.refit_adopted(at, ratio)?;
        }
        self.settle()
    }

    /// Finds new leaf values for a tree that was searched on fewer rows, and keeps them if the value
    /// falls.
    fn refit_adopted(&mut self, at: usize, ratio: f64) -> Result<(), BackendError> {
        self.client.push(self.trees[at].take_out());
        self.derive(self.trees[at].output);
        let EnsembleTree { output, handle, grown, .. } = &self.trees[at];
        let (output, id, leaves) = (*output, handle.id(), grown.leaves.len());
        let stats = self.leaf_stats(output, id, leaves)?;
        set_covers(&mut self.trees[at].grown, &stats.sums);
        // Of all penalties, that on the values of rows is as many times as large as the rows.
        let squares: f64 = self.trees[at].squares(&stats.sums);
        let kappa = self.strategy.kappa;
        self.trees[at].cost += self.unit * 0.5 * kappa * squares * (1.0 - 1.0 / ratio);
        let before = self.loss + self.trees[at].cost;
        self.refit_out(at, Some(stats), before)?;
        Ok(())
    }

    /// Scores of the training rows in row order, one vector per output; to be asked at the end of
    /// a fit.
    pub fn training_scores(&mut self) -> Result<Vec<Vec<f32>>, BackendError> {
        self.client.push(Work::ReleaseBuffers {});
        self.client.scores(RowSet::Training)
    }

    /// Scores of the validation rows under the present trees; to be asked once.
    pub fn valid_scores(&mut self) -> Result<Vec<Vec<f32>>, BackendError> {
        for EnsembleTree { grown, output, .. } in &self.trees {
            self.client.push(Work::AddTree {
                output: *output,
                tree: grown.clone(),
                factor: 1.0,
                training: false,
                validation: true,
            });
        }
        self.client.scores(RowSet::Validation)
    }

    /// The trees of a model.
    pub fn members(&self) -> Vec<Member> {
        let layout = self.client.layout();
        self.trees
            .iter()
            .map(|tree| Member { output: tree.output as u32, shape: tree.grown.to_shape(layout) })
            .collect()
    }
}

/// What must be known of the leaves of a tree to fit their values.
fn leaf_questions(output: usize, id: TreeId, leaves: usize, quantile: Option<f64>) -> Vec<Work> {
    let mut work = vec![Work::LeafSums { output, id, leaves }];
    let rows = LeafRows::Tree { id, leaves };
    work.extend(quantile.map(|alpha| Work::LeafQuantiles { rows, alpha }));
    work
}

fn leaf_sums(tree: &EnsembleTree) -> Work {
    let leaves = tree.grown.leaves.len();
    Work::LeafSums { output: tree.output, id: tree.handle.id(), leaves }
}

fn set(grown: &mut BinnedTree, values: &[f64]) {
    grown.leaves.iter_mut().zip(values).for_each(|(leaf, &value)| leaf.value = value);
}

/// Sets the covers of all nodes from sums over the rows of the leaves.
fn set_covers(grown: &mut BinnedTree, sums: &[LeafSums]) {
    grown.leaves.iter_mut().zip(sums).for_each(|(leaf, sums)| leaf.cover = sums.h);
    if grown.oblivious {
        let all = grown.leaves.iter().map(|leaf| leaf.cover).sum();
        grown.nodes.iter_mut().for_each(|level| level.cover = all);
        return;
    }
    // Children come after their parent.
    for at in (0..grown.nodes.len()).rev() {
        let cover = |child: Child| match child {
            Child::Leaf(leaf) => grown.leaves[leaf as usize].cover,
            Child::Node(node) => grown.nodes[node as usize].cover,
        };
        let BinnedSplit { left, right, .. } = grown.nodes[at];
        grown.nodes[at].cover = cover(left) + cover(right);
    }
}

fn negative(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

/// Whether a value is lower by more than rounding.
pub fn falls(new: f64, old: f64) -> bool {
    new < old - 1e-9 * old.abs()
}
