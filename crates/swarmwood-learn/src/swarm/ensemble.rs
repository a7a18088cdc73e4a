//! An ensemble under revision: every tree can be taken out, grown again on what the others leave,
//! fitted and put back.
//!
//! What is minimised is
//! `loss + Σ over trees [λ/2 Σ over nodes (x - x_parent)² + κ/2 Σ over rows x² + γ · splits]`,
//! where `x` is the value of a node or, for κ, of the row's leaf. The κ term is what dropping trees
//! at random would cost a squared loss on average; it adds κ to every hessian.

use swarmwood_model::Member;

use super::state::{Carried, Flight};
use super::{Arm, Frame};
use crate::dataset::{Dataset, Plan};
use crate::greedy::{Growth, Settings, grow, oblivious};
use crate::grown::Grown;
use crate::objective::order::weighted_quantile;
use crate::objective::{Curvature, Objective};
use crate::pool::Pool;
use crate::ridge::{self, Solution, Wish};
use crate::shard::LeafSums;
use crate::workers::{Begun, Placement, Scores, TreeSearch, Workers};

/// Newton steps for the leaf values of one tree; squared losses need one.
const STEPS: usize = 3;

/// A tree with the rows in its leaves.
#[derive(Debug, Clone)]
pub struct Placed {
    pub grown: Grown,
    pub output: usize,
    placement: Placement,
    /// All penalties of the tree.
    pub cost: f64,
}

impl Placed {
    fn values(&self) -> Vec<f64> {
        self.grown.leaves.iter().map(|leaf| leaf.value).collect()
    }
}

/// A state to come back to.
#[derive(Debug, Clone)]
pub struct Kept {
    trees: Vec<Placed>,
    scores: Scores,
    loss: f64,
}

/// Leaf values on trial; the scores hold them.
struct Trial {
    values: Vec<f64>,
    loss: f64,
    cost: f64,
}

/// The ensemble.
pub struct Ensemble<'a> {
    workers: Workers<'a>,
    objective: &'a dyn Objective,
    arm: Arm,
    growing: Settings,
    pub base: Vec<f64>,
    start: Vec<f32>,
    pub shift: f64,
    pub trees: Vec<Placed>,
    /// Loss of all rows with all trees in.
    loss: f64,
    /// Whether the loss is a parabola whose sums tell all.
    quadratic: bool,
    /// Turns squared leaf values into units of the loss, for losses that are not about squares.
    unit: f64,
    /// Trees grown so far: the measure of work.
    pub work: usize,
}

impl<'a> Ensemble<'a> {
    /// An ensemble without trees.
    pub fn new(
        data: &Dataset,
        valid: Option<&Dataset>,
        objective: &'a dyn Objective,
        frame: &Frame,
        arm: &Arm,
        pool: &'a Pool,
    ) -> Self {
        let Begun { mut workers, base, start, shift } =
            Begun::new(data, valid, objective, pool, frame.memory);
        workers.keep_derivatives();
        let loss = workers.loss();
        let unit = match objective.leaf_quantile() {
            // The mean absolute residual: a deviation of that size counts as one row's loss.
            Some(_) if loss > 0.0 => data.rows() as f64 / loss,
            _ => 1.0,
        };
        Ensemble {
            workers,
            objective,
            arm: *arm,
            growing: frame.growing(1.0, arm.penalties()),
            base,
            start,
            shift,
            trees: Vec::new(),
            loss,
            quadratic: objective.constant_hessian()
                && objective.curvature() == Curvature::Exact
                && objective.leaf_quantile().is_none(),
            unit,
            work: 0,
        }
    }

    /// Whether there is no time left to finish what is begun.
    pub fn hurried(&self) -> bool {
        self.workers.hurried()
    }

    /// Whether the greedy start had the time to grow all its trees.
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
    pub fn arm(&self) -> Arm {
        self.arm
    }

    /// Rounds of the greedy start.
    pub fn rounds(&self) -> usize {
        self.growing.trees
    }

    /// How many features there are.
    pub fn features(&self) -> usize {
        self.workers.layout().features().len()
    }

    /// Adds a tree for each output, with a share of its leaf values.
    pub fn add_round(&mut self, share: f64) {
        for output in 0..self.objective.outputs() {
            self.workers.derive(self.arm.kappa);
            let (grown, placement) = self.grow(output, None);
            let sums = self.workers.leaf_sums(output, &placement, grown.leaves.len());
            let solution = self.step(&grown, &placement, &sums, None);
            let values: Vec<f64> = solution.values.iter().map(|value| value * share).collect();
            let cost = self.cost(solution.penalty * share * share, &values, &sums, &grown);
            self.workers.shift(output, &placement, &values);
            let mut tree = Placed { grown, output, placement, cost };
            set(&mut tree.grown, &values);
            self.trees.push(tree);
        }
        self.loss = self.workers.loss();
    }

    /// Sums every score up anew, so that rounding does not pile up.
    pub fn settle(&mut self) {
        self.workers.reset(&self.start);
        for tree in &self.trees {
            self.workers.shift(tree.output, &tree.placement, &tree.values());
        }
        self.loss = self.workers.loss();
    }

    /// Grows tree `at` again on what the others leave, and keeps it if the value falls; else tries
    /// the old tree with new leaf values. Answers whether anything changed.
    pub fn improve(&mut self, at: usize) -> bool {
        let before = self.loss + self.trees[at].cost;
        let output = self.trees[at].output;
        let out = self.take_out(at);
        let (grown, placement) = self.grow(output, None);
        let trial = self.fit(output, &grown, &placement, out);
        if falls(trial.loss + trial.cost, before) {
            self.accept(at, Some((grown, placement)), trial);
            return true;
        }
        self.workers.shift(output, &placement, &negative(&trial.values));
        if !self.quadratic {
            self.workers.derive(self.arm.kappa);
        }
        self.refit_out(at, out, before)
    }

    /// Finds new leaf values for tree `at` and keeps them if the value falls.
    pub fn refit(&mut self, at: usize) -> bool {
        let before = self.loss + self.trees[at].cost;
        let out = self.take_out(at);
        self.refit_out(at, out, before)
    }

    fn refit_out(&mut self, at: usize, out: f64, before: f64) -> bool {
        let tree = self.trees[at].clone();
        let trial = self.fit(tree.output, &tree.grown, &tree.placement, out);
        if falls(trial.loss + trial.cost, before) {
            self.accept(at, None, trial);
            return true;
        }
        self.workers.shift(tree.output, &tree.placement, &negative(&trial.values));
        self.workers.shift(tree.output, &tree.placement, &tree.values());
        self.loss = before - tree.cost;
        false
    }

    /// Replaces trees by new ones grown one after the other from some of the features, whatever the
    /// value becomes.
    pub fn ruin(&mut self, chosen: &[usize], mut allowed: impl FnMut(usize) -> Vec<bool>) {
        for &at in chosen {
            let tree = &self.trees[at];
            self.workers.shift(tree.output, &tree.placement, &negative(&tree.values()));
        }
        self.loss = if self.quadratic { self.workers.loss() } else { 0.0 };
        for &at in chosen {
            let output = self.trees[at].output;
            self.workers.derive(self.arm.kappa);
            let (grown, placement) = self.grow(output, Some(allowed(at)));
            let trial = self.fit(output, &grown, &placement, self.loss);
            self.accept(at, Some((grown, placement)), trial);
        }
    }

    /// Takes a tree out of the scores; answers the loss that is left, where sums tell it.
    fn take_out(&mut self, at: usize) -> f64 {
        let tree = &self.trees[at];
        self.workers.shift(tree.output, &tree.placement, &negative(&tree.values()));
        self.workers.derive(self.arm.kappa);
        if !self.quadratic {
            return 0.0;
        }
        let sums = self.workers.leaf_sums(tree.output, &tree.placement, tree.grown.leaves.len());
        self.loss - self.change(&tree.values(), &sums)
    }

    fn accept(&mut self, at: usize, structure: Option<(Grown, Placement)>, trial: Trial) {
        let tree = &mut self.trees[at];
        if let Some((grown, placement)) = structure {
            tree.grown = grown;
            tree.placement = placement;
        }
        set(&mut tree.grown, &trial.values);
        tree.cost = trial.cost;
        self.loss = trial.loss;
    }

    fn grow(&mut self, output: usize, allowed: Option<Vec<bool>>) -> (Grown, Placement) {
        let allowed = allowed.unwrap_or_else(|| vec![true; self.workers.layout().features().len()]);
        let search = TreeSearch { allowed, penalties: self.growing.penalties };
        let grow =
            if self.growing.growth == Growth::Oblivious { oblivious::grow } else { grow::grow };
        let (grown, slots) = grow(&mut self.workers, output, None, search, &self.growing);
        self.work += 1;
        let placement = self.workers.place(&slots);
        (grown, placement)
    }

    /// Fits leaf values to a tree that is out, with derivatives at hand, and puts it in. `out` is
    /// the loss without it.
    fn fit(&mut self, output: usize, grown: &Grown, placement: &Placement, out: f64) -> Trial {
        let mut sums = self.workers.leaf_sums(output, placement, grown.leaves.len());
        let mut solution = self.step(grown, placement, &sums, None);
        self.workers.shift(output, placement, &solution.values);
        if self.quadratic {
            let loss = out + self.change(&solution.values, &sums);
            let cost = self.cost(solution.penalty, &solution.values, &sums, grown);
            return Trial { values: solution.values, loss, cost };
        }
        if self.objective.leaf_quantile().is_none() {
            for _ in 1..STEPS {
                self.workers.derive(self.arm.kappa);
                sums = self.workers.leaf_sums(output, placement, grown.leaves.len());
                let next = self.step(grown, placement, &sums, Some(&solution.values));
                let moved: Vec<f64> =
                    next.values.iter().zip(&solution.values).map(|(new, old)| new - old).collect();
                self.workers.shift(output, placement, &moved);
                solution = next;
            }
        }
        let loss = self.workers.loss();
        let cost = self.cost(solution.penalty, &solution.values, &sums, grown);
        Trial { values: solution.values, loss, cost }
    }

    /// One step towards the best leaf values: the minimum of the parabola that touches the loss at
    /// the present ones, which the sums over leaves tell.
    fn step(
        &self,
        grown: &Grown,
        placement: &Placement,
        sums: &[LeafSums],
        at: Option<&[f64]>,
    ) -> Solution {
        let wishes: Vec<Wish> = match self.objective.leaf_quantile() {
            Some(alpha) => {
                let residuals =
                    self.workers.leaf_residuals(placement, grown.leaves.len()).into_iter();
                residuals.map(|residuals| quantile_wish(residuals, alpha)).collect()
            }
            None => {
                let pull = |leaf: usize, sum: &LeafSums| {
                    at.map_or(0.0, |values| (sum.h - self.arm.kappa * sum.weight) * values[leaf])
                        - sum.g
                };
                sums.iter()
                    .enumerate()
                    .map(|(leaf, sum)| Wish { h: sum.h, b: pull(leaf, sum) })
                    .collect()
            }
        };
        ridge::solve(grown, &wishes, self.arm.lambda, self.arm.ridge)
    }

    /// What leaf values change of a quadratic loss, given the sums without them.
    fn change(&self, values: &[f64], sums: &[LeafSums]) -> f64 {
        let of_leaf = |(value, sum): (&f64, &LeafSums)| {
            sum.g * value + 0.5 * (sum.h - self.arm.kappa * sum.weight) * value * value
        };
        values.iter().zip(sums).map(of_leaf).sum()
    }

    fn cost(&self, penalty: f64, values: &[f64], sums: &[LeafSums], grown: &Grown) -> f64 {
        let squares: f64 =
            values.iter().zip(sums).map(|(value, sum)| sum.weight * value * value).sum();
        self.unit * (penalty + 0.5 * self.arm.kappa * squares)
            + self.arm.gamma * grown.nodes.len() as f64
    }

    /// A copy of the state.
    pub fn keep(&self) -> Kept {
        Kept { trees: self.trees.clone(), scores: self.workers.scores(), loss: self.loss }
    }

    /// Goes back to a copy.
    pub fn restore(&mut self, kept: Kept) {
        self.workers.set_scores(&kept.scores);
        self.trees = kept.trees;
        self.loss = kept.loss;
    }

    /// Takes over the trees of an earlier run.
    pub fn resume(&mut self, flight: Flight) {
        self.trees = flight
            .trees
            .into_iter()
            .map(|Carried { grown, output, cost }| {
                let placement = self.workers.locate(&grown);
                Placed { grown, output, placement, cost }
            })
            .collect();
        self.work = flight.work;
        self.settle();
    }

    /// Scores of the training rows in row order, output after output.
    pub fn training_scores(&self) -> Vec<Vec<f32>> {
        self.workers.training_scores()
    }

    /// Scores of the validation rows under the present trees; to be asked once.
    pub fn valid_scores(&mut self, plan: &Plan) -> Vec<Vec<f32>> {
        for tree in &self.trees {
            self.workers.add(tree.output, &tree.grown, 1.0, false, true);
        }
        self.workers.valid_scores(plan)
    }

    /// The trees of a model.
    pub fn members(&self) -> Vec<Member> {
        let layout = self.workers.layout();
        self.trees
            .iter()
            .map(|tree| Member { output: tree.output as u32, shape: tree.grown.to_shape(layout) })
            .collect()
    }
}

fn quantile_wish(mut residuals: Vec<(f32, f32)>, alpha: f64) -> Wish {
    let weight: f64 = residuals.iter().map(|&(_, weight)| f64::from(weight)).sum();
    Wish { h: weight, b: weight * weighted_quantile(&mut residuals, alpha).unwrap_or(0.0) }
}

fn set(grown: &mut Grown, values: &[f64]) {
    grown.leaves.iter_mut().zip(values).for_each(|(leaf, &value)| leaf.value = value);
}

fn negative(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

/// Whether a value is lower by more than rounding.
pub fn falls(new: f64, old: f64) -> bool {
    new < old - 1e-9 * old.abs()
}
