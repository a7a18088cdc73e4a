//! One shard's rows while particles are evaluated: scores after each tree, leaf numbers, sums by leaf.
//!
//! What a row is (its codes, target, weight and first derivatives) is shared by all who evaluate; the rest belongs to
//! one evaluation at a time. Scores are kept after every tree, as far as memory allows, so that a particle which begins
//! like the last one can go on from there.

use std::ops::Range;
use std::sync::Arc;

use super::Fitness;
use crate::dataset::BinnedRows;
use crate::kernels::particle::{self, BLOCK, BlockSums, LEAVES, Pair, Question};
use crate::objective::Objective;

/// What no particle changes.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) binned: Arc<BinnedRows>,
    pub(super) target: Vec<f32>,
    pub(super) weight: Vec<f32>,
    /// Derivatives at the start value: those of every particle's first tree.
    pub(super) first: Vec<Pair>,
    /// Sum of weights.
    pub(super) total: f64,
}

impl Rows {
    pub(super) fn new(
        binned: Arc<BinnedRows>,
        target: Vec<f32>,
        weight: Vec<f32>,
        start: f32,
        objective: &dyn Objective,
    ) -> Self {
        let mut first = vec![[0.0; 2]; binned.rows];
        objective.derivative_pairs(&vec![start; binned.rows], &target, &weight, &mut first);
        let total = match weight[..] {
            [] => binned.rows as f64,
            _ => weight.iter().map(|&weight| f64::from(weight)).sum(),
        };
        Rows { binned, target, weight, first, total }
    }

    fn weights(&self, block: &Range<usize>) -> &[f32] {
        if self.weight.is_empty() { &[] } else { &self.weight[block.clone()] }
    }

    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let rows = self.binned.rows;
        (0..rows).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(rows))
    }
}

/// What one evaluation writes.
#[derive(Debug)]
pub(super) struct Part {
    rows: Arc<Rows>,
    /// Scores after one tree, two trees, and so on; where there are fewer layers than trees, the last one is reused.
    layers: Vec<Vec<f32>>,
    /// Leaf numbers in the latest tree.
    leaf: Vec<u8>,
    pairs: Vec<Pair>,
    block_sums: BlockSums,
    /// Sums of derivatives by leaf of the latest tree.
    pub(super) sums: Vec<[f64; 2]>,
    /// What the last evaluation measured.
    pub(super) measured: f64,
}

/// A pass over the rows for one tree.
pub(super) struct Step<'a> {
    /// How many trees come before it.
    pub(super) tree: usize,
    /// Its levels.
    pub(super) questions: &'a [&'a Question],
    /// Leaf values of the tree before, if they are not in the scores yet (see [`Part::add_tree`]).
    pub(super) values: Option<&'a [f32; LEAVES]>,
}

impl Part {
    pub(super) fn new(rows: Arc<Rows>, layers: usize) -> Self {
        let count = rows.binned.rows;
        Part {
            layers: vec![vec![0.0; count]; layers.max(1)],
            leaf: vec![0; count],
            pairs: vec![[0.0; 2]; BLOCK.min(count)],
            block_sums: BlockSums::default(),
            sums: Vec::new(),
            measured: 0.0,
            rows,
        }
    }

    /// Sum of the rows' weights.
    pub(super) fn total(&self) -> f64 {
        self.rows.total
    }

    /// The layer that holds the scores after so many trees, at least one.
    fn layer(&self, trees: usize) -> usize {
        trees.min(self.layers.len()) - 1
    }

    /// Scores after so many trees, at least one; only the latest are there where layers are reused.
    pub(super) fn scores(&self, trees: usize) -> &[f32] {
        &self.layers[self.layer(trees)]
    }

    /// Sums the derivatives by leaf of a tree.
    pub(super) fn pass(&mut self, step: &Step<'_>, objective: &dyn Objective) {
        let rows = self.rows.clone();
        self.sums.clear();
        self.sums.resize(1 << step.questions.len(), [0.0; 2]);
        for block in rows.blocks() {
            if let Some(values) = step.values {
                self.add_tree(step.tree, values, &block);
            }
            let layer = if step.tree == 0 { 0 } else { self.layer(step.tree) };
            let pairs = if step.tree == 0 {
                &rows.first[block.clone()]
            } else {
                let pairs = &mut self.pairs[..block.len()];
                let score = &self.layers[layer][block.clone()];
                objective.derivative_pairs(score, &rows.target[block.clone()], rows.weights(&block), pairs);
                &*pairs
            };
            let leaf = &mut self.leaf[block.clone()];
            particle::leaves(step.questions, |column| &rows.binned.columns[column][block.clone()], leaf);
            self.block_sums.add(leaf, pairs, &mut self.sums);
        }
    }

    /// Adds the last of `trees` trees to the scores and measures them.
    pub(super) fn finish(&mut self, trees: usize, values: &[f32; LEAVES], fitness: Fitness, objective: &dyn Objective) {
        let rows = self.rows.clone();
        self.measured = 0.0;
        for block in rows.blocks() {
            self.add_tree(trees, values, &block);
            self.measured += self.measure_block(trees, fitness, objective, &block);
        }
    }

    /// Scores after `trees` trees from those before the last of them. The values of a first tree include the start.
    fn add_tree(&mut self, trees: usize, values: &[f32; LEAVES], block: &Range<usize>) {
        let leaf = &self.leaf[block.clone()];
        let layer = self.layer(trees);
        if trees == 1 {
            return particle::look_up(leaf, values, &mut self.layers[layer][block.clone()]);
        }
        let before = self.layer(trees - 1);
        if before == layer {
            return particle::add_values_here(leaf, values, &mut self.layers[layer][block.clone()]);
        }
        let (old, new) = self.layers.split_at_mut(layer);
        particle::add_values(&old[before][block.clone()], leaf, values, &mut new[0][block.clone()]);
    }

    /// The weighted sum that a fitness is made of, over all rows, after so many trees.
    pub(super) fn measure(&self, trees: usize, fitness: Fitness, objective: &dyn Objective) -> f64 {
        self.rows.blocks().map(|block| self.measure_block(trees, fitness, objective, &block)).sum()
    }

    fn measure_block(&self, trees: usize, fitness: Fitness, objective: &dyn Objective, block: &Range<usize>) -> f64 {
        let score = &self.scores(trees)[block.clone()];
        fitness.sum(score, &self.rows.target[block.clone()], self.rows.weights(block), objective)
    }

    /// Appends residuals and weights of every row to those of its leaf in the latest tree, the one after `trees` trees.
    pub(super) fn residuals(&self, trees: usize, start: f32, into: &mut [Vec<(f32, f32)>]) {
        let scores = if trees == 0 { &[][..] } else { self.scores(trees) };
        for (row, (&leaf, &target)) in self.leaf.iter().zip(&self.rows.target).enumerate() {
            let score = scores.get(row).copied().unwrap_or(start);
            let weight = self.rows.weight.get(row).copied().unwrap_or(1.0);
            into[usize::from(leaf)].push((target - score, weight));
        }
    }
}
