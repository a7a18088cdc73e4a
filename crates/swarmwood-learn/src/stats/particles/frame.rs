//! What all evaluations of particles share: the rules as questions, where scores start, and how sums
//! become leaves.

use std::ops::Range;

use swarmwood_model::Leaf;

use super::rows::RoundValues;
use super::{CodedData, ParticleConfig, ParticleSet};
use crate::bins::Layout;
use crate::bins::layout::FeaturePlace;
use crate::context::Context;
use crate::data::Values;
use crate::dataset::Plan;
use crate::kernels::leaf_values::LeafValues;
use crate::kernels::particle::RuleTest;
use crate::objective::Objective;
use crate::objective::order::weighted_quantile;
use crate::rule::{Code, Cut, Rule};
use crate::stats::backend::BackendError;
use crate::stats::message::{DataDescription, Work};

/// Rules, shapes and the start; no rows.
pub(in crate::stats) struct ParticleFrame<'a, C> {
    pub(in crate::stats) context: Context<'a>,
    pub(in crate::stats) objective: &'a dyn Objective,
    pub(in crate::stats) layout: &'a Layout,
    pub(in crate::stats) plan: Plan,
    pub(in crate::stats) questions: Vec<RuleTest<C>>,
    pub(in crate::stats) config: ParticleConfig,
    base: Vec<f64>,
    shift: f64,
}

/// The leaves of one particle, tree after tree.
#[derive(Debug, Clone)]
pub(in crate::stats) struct ParticleLeaves {
    /// Sums of derivatives.
    pub(in crate::stats) sums: Vec<[f64; 2]>,
    pub(in crate::stats) leaves: Vec<Leaf>,
}

/// Values by shard.
type Dealt = Vec<Vec<f32>>;

impl<'a, C: Code> ParticleFrame<'a, C> {
    pub(in crate::stats) fn new(
        coded: CodedData<'a, C>,
        set: ParticleSet<'a>,
        context: Context<'a>,
    ) -> Self {
        let (CodedData { data, rules }, ParticleSet { objective, config, .. }) = (coded, set);
        let target: Vec<f64> =
            data.target.iter().map(|target| objective.transform_target(target)).collect();
        let base = objective.start(&target, &data.weight.to_vec());
        // Losses of the difference alone are learnt around zero, where `f32` is finest.
        let shift = if objective.shift_invariant() { base[0] } else { 0.0 };
        let (layout, plan) = (&*data.layout, data.plan);
        let questions = rules.iter().map(|rule| question(layout, rule)).collect();
        ParticleFrame { context, objective, layout, plan, questions, config, base, shift }
    }
}

impl<C: Code> ParticleFrame<'_, C> {
    /// Targets and weights of the rows of each shard, as losses see them.
    pub(in crate::stats) fn dealt(&self, target: &Values, weight: &Values) -> (Dealt, Dealt) {
        let narrow = |y| (self.objective.transform_target(y) - self.shift) as f32;
        let target: Vec<f32> = target.iter().map(narrow).collect();
        let weight: Vec<f32> = weight.iter().map(|weight| weight as f32).collect();
        (self.plan.deal(&target), self.plan.deal(&weight))
    }

    pub(in crate::stats) fn description(&self) -> DataDescription {
        DataDescription { rows: self.plan.rows, base: self.base.clone(), shift: self.shift }
    }

    pub(in crate::stats) fn outputs(&self) -> usize {
        self.base.len()
    }

    /// Rules of a tree.
    pub(in crate::stats) fn each_tree(&self) -> usize {
        self.config.form.rules(self.config.depth)
    }

    /// Rules of a round.
    pub(in crate::stats) fn each_round(&self) -> usize {
        self.outputs() * self.each_tree()
    }

    /// The score of an output that every row starts from.
    pub(in crate::stats) fn start(&self, output: usize) -> f32 {
        (self.base[output] - self.shift) as f32
    }

    /// The scores that every row starts from.
    pub(in crate::stats) fn starts(&self) -> Vec<f32> {
        (0..self.outputs()).map(|output| self.start(output)).collect()
    }

    /// Refuses sequences of another length, and numbers without a rule.
    pub(in crate::stats) fn check(
        &self,
        work: &Work,
        sequence: &[u32],
    ) -> Result<(), BackendError> {
        let unknown = |what, number| BackendError::Unknown { work: work.name(), what, number };
        if sequence.len() != self.config.trees * self.each_round() {
            return Err(unknown("position", sequence.len()));
        }
        let rules = self.questions.len();
        match sequence.iter().find(|&&index| index as usize >= rules) {
            Some(&index) => Err(unknown("rule", index as usize)),
            None => Ok(()),
        }
    }

    /// Refuses trees that a particle does not have.
    pub(in crate::stats) fn check_tree(
        &self,
        work: &Work,
        tree: usize,
    ) -> Result<(), BackendError> {
        if tree < self.config.trees * self.outputs() {
            return Ok(());
        }
        Err(BackendError::Unknown { work: work.name(), what: "tree", number: tree })
    }

    /// The leaves of a particle that was not evaluated.
    pub(in crate::stats) fn no_leaves(&self) -> ParticleLeaves {
        let leaves = (self.config.trees * self.outputs()) << self.config.depth;
        ParticleLeaves {
            sums: vec![[0.0; 2]; leaves],
            leaves: vec![Leaf { value: 0.0, cover: 0.0 }; leaves],
        }
    }

    /// Residuals by leaf of a round, before any row was looked at.
    pub(in crate::stats) fn no_residuals(&self, round: usize) -> Vec<Vec<(f32, f32)>> {
        vec![Vec::new(); self.leaves_of(round).len()]
    }

    /// Where the leaves of a round's trees stand.
    fn leaves_of(&self, round: usize) -> Range<usize> {
        let (outputs, depth) = (self.outputs(), self.config.depth);
        (round * outputs) << depth..((round + 1) * outputs) << depth
    }

    /// Leaf values of a round as scores are added: with the start value in those of the first.
    pub(in crate::stats) fn values(&self, leaves: &ParticleLeaves, round: usize) -> RoundValues {
        self.plain_values(leaves, round).into_iter().map(LeafValues::new).collect()
    }

    /// The same as numbers, tree after tree.
    pub(in crate::stats) fn plain_values(
        &self,
        leaves: &ParticleLeaves,
        round: usize,
    ) -> Vec<Vec<f32>> {
        let trees =
            leaves.leaves[self.leaves_of(round)].chunks_exact(1 << self.config.depth).enumerate();
        let tree = |(output, leaves): (usize, &[Leaf])| {
            let start = if round == 0 { self.start(output) } else { 0.0 };
            leaves.iter().map(|leaf| start + leaf.value as f32).collect()
        };
        trees.map(tree).collect()
    }

    /// Merges the sums of a round, given in shard order, and sets its leaves. `residuals` gives the
    /// residuals by leaf of losses whose leaves take quantiles.
    pub(in crate::stats) fn settle<'s>(
        &self,
        leaves: &mut ParticleLeaves,
        round: usize,
        shards: impl Iterator<Item = &'s [[f64; 2]]>,
        residuals: impl FnOnce() -> Vec<Vec<(f32, f32)>>,
    ) {
        let ParticleConfig { learning_rate, lambda, .. } = self.config;
        let own = self.leaves_of(round);
        let sums = &mut leaves.sums[own.clone()];
        sums.fill([0.0; 2]);
        for part in shards {
            sums.iter_mut()
                .zip(part)
                .for_each(|(sum, part)| *sum = [sum[0] + part[0], sum[1] + part[1]]);
        }
        let own = &mut leaves.leaves[own];
        for (leaf, sums) in own.iter_mut().zip(sums.iter()) {
            *leaf = newton(sums, lambda);
        }
        // Losses whose Newton step is a poor one; all of them have a single output.
        if let Some(alpha) = self.objective.leaf_quantile() {
            for (leaf, mut residuals) in own.iter_mut().zip(residuals()) {
                leaf.value = weighted_quantile(&mut residuals, alpha).unwrap_or(0.0);
            }
        }
        own.iter_mut().for_each(|leaf| leaf.value *= learning_rate);
    }
}

/// A rule as a question about stored codes.
pub(in crate::stats) fn question<C: Code>(layout: &Layout, rule: &Rule<C>) -> RuleTest<C> {
    match (layout.places()[rule.feature as usize], &rule.cut) {
        (FeaturePlace::Alone { column }, Cut::Above(last)) => {
            RuleTest::above(column, *last, rule.missing_right)
        }
        _ => {
            let (column, right) = layout.sides(rule);
            RuleTest::of_sides(column, &right)
        }
    }
}

/// A leaf's Newton value `-G / (H + λ)`. A leaf without rows, or with derivatives beyond all
/// numbers, adds nothing.
fn newton(&[g, h]: &[f64; 2], lambda: f64) -> Leaf {
    let divisor = h + lambda;
    let value = -g / divisor;
    if divisor > 0.0 && value.is_finite() && h.is_finite() {
        Leaf { value, cover: h }
    } else {
        Leaf { value: 0.0, cover: 0.0 }
    }
}
