//! One shard's rows while particles are evaluated: scores, leaf numbers in each tree, sums by leaf.
//!
//! What a row is (its codes, target, weight and first derivatives) is shared by all who evaluate;
//! the rest belongs to one evaluation at a time. Leaf numbers of every tree are kept, as far as
//! memory allows, so that a particle which begins like the last one can go on from there: its
//! scores are the values of those leaves, added up again. That takes a quarter of the memory that
//! the scores after each tree would, and looking values up costs less than writing scores to where
//! no near cache holds them.
//!
//! A round adds one tree per output. What belongs to outputs is laid out output after output: the
//! value of row `i` for output `k` stands at `k * rows + i`.

use std::ops::Range;
use std::sync::Arc;

use super::TreeForm;
use super::fitness::fitness_sum;
use crate::dataset::BinnedShard;
use crate::kernels::aligned::AlignedVec;
use crate::kernels::leaf_values::{LeafValues, add_values, look_up};
use crate::kernels::particle::{self, BLOCK, BlockSums, DerivativePair, RuleTest};
use crate::metric::EvalMetric;
use crate::objective::Objective;
use crate::rule::Code;

/// What no particle changes.
#[derive(Debug)]
pub(in crate::stats) struct ParticleRows<C> {
    pub(in crate::stats) binned: Arc<BinnedShard<C>>,
    pub(in crate::stats) target: AlignedVec<f32>,
    pub(in crate::stats) weight: Vec<f32>,
    /// Derivatives at the start values: those of every particle's first round.
    pub(in crate::stats) first: AlignedVec<DerivativePair>,
    /// Sum of weights.
    pub(in crate::stats) total: f64,
}

impl<C: Code> ParticleRows<C> {
    pub(in crate::stats) fn new(
        binned: Arc<BinnedShard<C>>,
        target: Vec<f32>,
        weight: Vec<f32>,
        start: &[f32],
        objective: &dyn Objective,
    ) -> Self {
        let rows = binned.rows;
        let mut first = AlignedVec::zeroed(rows * start.len());
        let score: Vec<f32> =
            start.iter().flat_map(|&start| std::iter::repeat_n(start, rows)).collect();
        match start.len() {
            1 => objective.derivative_pairs(&score, &target, &weight, &mut first),
            _ => derive_all(objective, &score, &target, &weight, &mut first),
        }
        let total = match weight[..] {
            [] => rows as f64,
            _ => weight.iter().map(|&weight| f64::from(weight)).sum(),
        };
        ParticleRows { binned, target: AlignedVec::new(target), weight, first, total }
    }

    fn weights(&self, block: &Range<usize>) -> &[f32] {
        if self.weight.is_empty() { &[] } else { &self.weight[block.clone()] }
    }

    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<C> {
        let rows = self.binned.rows;
        (0..rows).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(rows))
    }

    /// The place of a block's rows for an output.
    fn of_output(&self, output: usize, block: &Range<usize>) -> Range<usize> {
        let first = output * self.binned.rows;
        first + block.start..first + block.end
    }
}

impl<C: Code> ParticleRows<C> {
    /// Leaf numbers in one tree of the round after those whose values are given, and derivatives of
    /// its output there. `trees` are the questions of all oblivious trees up to the end of that
    /// round.
    pub(in crate::stats) fn before(
        &self,
        trees: &[Vec<&RuleTest<C>>],
        values: &[RoundValues],
        output: usize,
        objective: &dyn Objective,
        leaf: &mut [u8],
        pairs: &mut [DerivativePair],
    ) {
        let (outputs, round) = (objective.outputs(), values.len());
        let (mut score, mut derived) =
            (vec![0.0; BLOCK * outputs], vec![[0.0; 2]; BLOCK * outputs]);
        for block in self.blocks() {
            let (n, codes) =
                (block.len(), |column: usize| &self.binned.columns[column][block.clone()]);
            let (leaf, pairs) = (&mut leaf[block.clone()], &mut pairs[block.clone()]);
            for (at, tree) in trees.iter().take(round * outputs).enumerate() {
                let (round, output) = (at / outputs, at % outputs);
                let (values, score) =
                    (&values[round][output], &mut score[output * n..(output + 1) * n]);
                particle::leaves(tree, codes, leaf);
                if round == 0 {
                    look_up(leaf, values, score)
                } else {
                    add_values(leaf, values, score)
                }
            }
            particle::leaves(&trees[round * outputs + output], codes, leaf);
            let (target, weight) = (&self.target[block.clone()], self.weights(&block));
            if round == 0 {
                pairs.copy_from_slice(&self.first[self.of_output(output, &block)]);
            } else if outputs == 1 {
                objective.derivative_pairs(&score[..n], target, weight, pairs);
            } else {
                derive_all(
                    objective,
                    &score[..n * outputs],
                    target,
                    weight,
                    &mut derived[..n * outputs],
                );
                pairs.copy_from_slice(&derived[output * n..(output + 1) * n]);
            }
        }
    }
}

/// Derivatives of a loss of several outputs, as pairs.
fn derive_all(
    objective: &dyn Objective,
    score: &[f32],
    target: &[f32],
    weight: &[f32],
    pairs: &mut [DerivativePair],
) {
    let (mut g, mut h) = (vec![0.0; score.len()], vec![0.0; score.len()]);
    objective.derivatives(score, target, weight, &mut g, &mut h);
    particle::pair_up(&g, &h, pairs);
}

/// What one evaluation writes.
#[derive(Debug)]
pub(in crate::stats) struct ParticleShard<C> {
    rows: Arc<ParticleRows<C>>,
    /// Scores after the rounds whose values were added last.
    scores: AlignedVec<f32>,
    /// Leaf numbers in the trees of each round; where there are fewer layers than rounds, the last
    /// one is reused.
    layers: Vec<AlignedVec<u8>>,
    pairs: AlignedVec<DerivativePair>,
    block_sums: BlockSums,
    /// Sums of derivatives by leaf of the latest round, output after output.
    pub(in crate::stats) sums: Vec<[f64; 2]>,
    /// What the last evaluation measured.
    pub(in crate::stats) measured: f64,
}

/// Leaf values of the trees of one round; those of a first round include the start.
pub(in crate::stats) type RoundValues = Vec<LeafValues>;

/// A pass over the rows for one round.
pub(in crate::stats) struct RoundPass<'a, C> {
    /// How many rounds come before it.
    pub(in crate::stats) round: usize,
    /// The shape of its trees.
    pub(in crate::stats) form: TreeForm,
    /// Leaves of a tree.
    pub(in crate::stats) leaves: usize,
    /// The rules of its trees, one tree per output.
    pub(in crate::stats) questions: &'a [Vec<&'a RuleTest<C>>],
    /// Leaf values of the rounds before that are not in the scores yet.
    pub(in crate::stats) pending: &'a [(usize, RoundValues)],
}

impl<C: Code> ParticleShard<C> {
    pub(in crate::stats) fn new(rows: Arc<ParticleRows<C>>, outputs: usize, layers: usize) -> Self {
        let count = rows.binned.rows;
        ParticleShard {
            scores: AlignedVec::zeroed(count * outputs),
            layers: (0..layers.max(1)).map(|_| AlignedVec::zeroed(count * outputs)).collect(),
            pairs: AlignedVec::zeroed(BLOCK.min(count) * outputs),
            block_sums: BlockSums::default(),
            sums: Vec::new(),
            measured: 0.0,
            rows,
        }
    }

    /// Sum of the rows' weights.
    pub(in crate::stats) fn total(&self) -> f64 {
        self.rows.total
    }

    /// Leaf numbers in the trees of a round; only the latest are there where layers are reused.
    fn layer(&self, round: usize) -> usize {
        round.min(self.layers.len() - 1)
    }

    /// Scores after all rounds that were added.
    pub(in crate::stats) fn scores(&self) -> &[f32] {
        &self.scores
    }

    /// Sums the derivatives by leaf of a round's trees.
    pub(in crate::stats) fn pass(&mut self, step: &RoundPass<'_, C>, objective: &dyn Objective) {
        let rows = self.rows.clone();
        self.sums.clear();
        self.sums.resize(step.leaves * step.questions.len(), [0.0; 2]);
        let layer = self.layer(step.round);
        for block in rows.blocks() {
            for (round, values) in step.pending {
                self.add_round(*round, values, &block);
            }
            for (output, questions) in step.questions.iter().enumerate() {
                let leaf = &mut self.layers[layer][rows.of_output(output, &block)];
                let codes = |column: usize| &rows.binned.columns[column][block.clone()];
                match step.form {
                    TreeForm::Oblivious => particle::leaves(questions, codes, leaf),
                    TreeForm::Free => particle::free_leaves(questions, codes, leaf),
                }
            }
            // Derivatives come right before their sums, which find them in the first-level cache
            // then.
            if step.round > 0 {
                self.derive(step, &block, objective);
            }
            for (output, sums) in self.sums.chunks_exact_mut(step.leaves).enumerate() {
                let place = rows.of_output(output, &block);
                let pairs = match step.round {
                    0 => &rows.first[place.clone()],
                    _ => &self.pairs[output * block.len()..][..block.len()],
                };
                self.block_sums.add(&self.layers[layer][place], pairs, sums);
            }
        }
    }

    /// The derivatives of a block at the scores before a round that is not the first.
    fn derive(&mut self, step: &RoundPass<'_, C>, block: &Range<usize>, objective: &dyn Objective) {
        let (rows, outputs) = (&self.rows, step.questions.len());
        let (target, weight) = (&rows.target[block.clone()], rows.weights(block));
        let scores = &self.scores;
        let pairs = &mut self.pairs[..outputs * block.len()];
        if outputs == 1 {
            objective.derivative_pairs(&scores[block.clone()], target, weight, pairs);
        } else {
            let of_block = |output| scores[rows.of_output(output, block)].iter().copied();
            let score: Vec<f32> = (0..outputs).flat_map(of_block).collect();
            derive_all(objective, &score, target, weight, pairs);
        }
    }

    /// Adds the last round to the scores and measures them.
    pub(in crate::stats) fn finish(
        &mut self,
        round: usize,
        values: &RoundValues,
        fitness: EvalMetric,
        objective: &dyn Objective,
    ) {
        let rows = self.rows.clone();
        self.measured = 0.0;
        for block in rows.blocks() {
            self.add_round(round, values, &block);
            if values.len() == 1 {
                self.measured += self.measure_block(fitness, objective, &block);
            }
        }
        if values.len() > 1 {
            self.measured = self.measure(fitness, objective);
        }
    }

    /// Adds a round to the scores of those before it; the first one makes them.
    fn add_round(&mut self, round: usize, values: &RoundValues, block: &Range<usize>) {
        let layer = self.layer(round);
        for (output, values) in values.iter().enumerate() {
            let place = self.rows.of_output(output, block);
            let (leaf, scores) = (&self.layers[layer][place.clone()], &mut self.scores[place]);
            if round == 0 {
                look_up(leaf, values, scores)
            } else {
                add_values(leaf, values, scores)
            }
        }
    }

    /// The weighted sum that a fitness is made of, over all rows, after the rounds that were added.
    pub(in crate::stats) fn measure(&self, fitness: EvalMetric, objective: &dyn Objective) -> f64 {
        if objective.outputs() > 1 {
            // The scores of a block do not lie beside each other; those of the shard do.
            return fitness_sum(
                fitness,
                &self.scores,
                &self.rows.target,
                &self.rows.weight,
                objective,
            );
        }
        self.rows.blocks().map(|block| self.measure_block(fitness, objective, &block)).sum()
    }

    fn measure_block(
        &self,
        fitness: EvalMetric,
        objective: &dyn Objective,
        block: &Range<usize>,
    ) -> f64 {
        let score = &self.scores[block.clone()];
        let (target, weight) = (&self.rows.target[block.clone()], self.rows.weights(block));
        fitness_sum(fitness, score, target, weight, objective)
    }

    /// Appends residuals and weights of every row to those of its leaf in the latest tree, that of
    /// `round`; for losses of a single output.
    pub(in crate::stats) fn residuals(
        &self,
        round: usize,
        start: f32,
        into: &mut [Vec<(f32, f32)>],
    ) {
        let scores = if round == 0 { &[][..] } else { &self.scores[..] };
        let leaves = &self.layers[self.layer(round)];
        for (row, (&leaf, &target)) in leaves.iter().zip(self.rows.target.iter()).enumerate() {
            let score = scores.get(row).copied().unwrap_or(start);
            let weight = self.rows.weight.get(row).copied().unwrap_or(1.0);
            into[usize::from(leaf)].push((target - score, weight));
        }
    }
}
