//! Rows that stand in the leaves of finished trees, so that a tree can be taken out, put back and
//! fitted again.

use super::{RowLeaves, Shard};
use crate::binned_tree::Traversal;
use crate::kernels::quantise::part;
use crate::stats::message::{LeafSlot, LeafSums};

impl Shard {
    /// The leaf of every row in the tree just grown; `slots` pairs each slot that became a leaf
    /// with the leaf's number.
    pub fn assign_slots(&self, slots: &[LeafSlot]) -> RowLeaves {
        let mut numbers = vec![0; self.rows.rows];
        for &LeafSlot { slot, leaf } in slots {
            self.order[self.spans[slot].clone()]
                .iter()
                .for_each(|&row| numbers[row as usize] = leaf as u16);
        }
        let leaves = slots.iter().map(|slot| slot.leaf + 1).max().unwrap_or(0);
        RowLeaves::new(&numbers, leaves)
    }

    /// The leaf of every row in any tree.
    pub fn assign_tree(&self, traversal: &Traversal, leaves: usize) -> RowLeaves {
        let mut numbers = vec![0; self.rows.rows];
        traversal
            .each_leaf(&self.rows.columns, self.rows.rows, |row, leaf| numbers[row] = leaf as u16);
        RowLeaves::new(&numbers, leaves)
    }

    /// Adds to every row's score what its leaf is given.
    pub fn shift(&mut self, output: usize, leaves: &RowLeaves, values: &[f32]) {
        self.forget_others(output);
        let rows = self.rows.rows;
        let score = &mut self.score[output * rows..(output + 1) * rows];
        leaves.each_block(|start, leaves| {
            let score = &mut score[start..start + leaves.len()];
            let add = |(score, &leaf): (&mut f32, &u16)| *score += values[usize::from(leaf)];
            score.iter_mut().zip(leaves).for_each(add);
        });
    }

    /// Sets every score of an output to one value.
    pub fn reset(&mut self, output: usize, value: f32) {
        self.forget_others(output);
        let rows = self.rows.rows;
        self.score[output * rows..(output + 1) * rows].fill(value);
    }

    /// Sums of derivatives and weights over the rows of each of `count` leaves. Derivatives must
    /// have been kept.
    pub fn leaf_sums(&self, output: usize, leaves: &RowLeaves, count: usize) -> Vec<LeafSums> {
        let rows = self.rows.rows;
        assert!(self.keeps, "derivatives are kept by whoever asks for their sums");
        let words = &self.words[output * rows..(output + 1) * rows];
        let mut sums = vec![LeafSums::default(); count];
        leaves.each_block(|start, leaves| {
            for ((row, &leaf), &word) in (start..).zip(leaves).zip(&words[start..]) {
                let (g, h) = part(word);
                let sum = &mut sums[usize::from(leaf)];
                sum.g += f64::from(g);
                sum.h += f64::from(h);
                sum.weight += self.weight.get(row).map_or(1.0, |&weight| f64::from(weight));
            }
        });
        sums
    }

    /// Residuals (target minus score) and weights of the rows of each leaf.
    pub fn leaf_residuals(&self, leaves: &RowLeaves, into: &mut [Vec<(f32, f32)>]) {
        leaves.each_block(|start, leaves| {
            for (row, &leaf) in (start..).zip(leaves) {
                let weight = self.weight.get(row).copied().unwrap_or(1.0);
                into[usize::from(leaf)].push((self.target[row] - self.score[row], weight));
            }
        });
    }

    /// Replaces all scores.
    pub fn set_scores(&mut self, scores: &[f32]) {
        self.others = None;
        self.score.copy_from_slice(scores);
    }
}
