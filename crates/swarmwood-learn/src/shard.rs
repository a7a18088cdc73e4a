//! One shard's rows at work: scores, derivatives, and the rows of each node of the tree being grown.
//!
//! A shard answers questions about its own rows alone; what it answers are sums that merge.

mod placed;

use std::ops::Range;
use std::sync::Arc;

use swarmwood_search::rng;

use crate::bins::layout::Route;
use crate::dataset::{BinnedRows, Plan};
use crate::grown::Walker;
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::{Scale, pack};
use crate::kernels::{histogram, partition, sums};
use crate::objective::Objective;

pub use placed::LeafSums;

/// Rows handled between two looks at the cache: scores, derivatives and targets of a block stay in L1.
const BLOCK: usize = 2048;

/// Which rows a tree may see.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bag {
    /// Share of the rows, below one.
    pub share: f64,
    /// Seed of the run.
    pub seed: u64,
    /// Boosting round; every round draws anew.
    pub round: u64,
}

impl Bag {
    /// Whether the tree sees the row; depends on seed, round and row alone.
    fn holds(&self, row: usize) -> bool {
        (rng::hash(self.seed, self.round, row as u64) >> 11) as f64 * (-53f64).exp2() < self.share
    }
}

/// Sums that fix the integer units of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sizes {
    /// Sum of absolute gradients.
    pub abs_g: f64,
    /// Sum of hessians.
    pub h: f64,
}

impl std::ops::AddAssign for Sizes {
    fn add_assign(&mut self, other: Sizes) {
        self.abs_g += other.abs_g;
        self.h += other.h;
    }
}

/// The state of one shard during training.
#[derive(Debug)]
pub struct Shard {
    rows: Arc<BinnedRows>,
    number: usize,
    target: Vec<f32>,
    weight: Vec<f32>,
    score: Vec<f32>,
    g: Vec<f32>,
    h: Vec<f32>,
    packed: Vec<u64>,
    order: Vec<u32>,
    scratch: Vec<u32>,
    spans: Vec<Range<usize>>,
    outside: Vec<u32>,
}

impl Shard {
    /// A shard with the scores every row starts from, one an output.
    pub fn new(rows: Arc<BinnedRows>, number: usize, target: Vec<f32>, weight: Vec<f32>, start: &[f32]) -> Self {
        let score = start.iter().flat_map(|&start| std::iter::repeat_n(start, rows.rows)).collect();
        Shard {
            rows,
            number,
            target,
            weight,
            score,
            g: Vec::new(),
            h: Vec::new(),
            packed: Vec::new(),
            order: Vec::new(),
            scratch: Vec::new(),
            spans: Vec::new(),
            outside: Vec::new(),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows.rows
    }

    /// Scores, output after output.
    pub fn scores(&self) -> &[f32] {
        &self.score
    }

    /// Targets as the objective sees them.
    pub fn targets(&self) -> &[f32] {
        &self.target
    }

    /// Weights; empty if every row weighs one.
    pub fn weights(&self) -> &[f32] {
        &self.weight
    }

    /// Derivatives of the loss at the present scores; answers their sizes, one an output. Every hessian gets `extra`
    /// times the row's weight on top.
    pub fn derive(&mut self, objective: &dyn Objective, extra: f32) -> Vec<Sizes> {
        let rows = self.rows.rows;
        let outputs = objective.outputs();
        self.g.resize(rows * outputs, 0.0);
        self.h.resize(rows * outputs, 0.0);
        let mut sizes = vec![Sizes::default(); outputs];
        if outputs > 1 {
            objective.derivatives(&self.score, &self.target, &self.weight, &mut self.g, &mut self.h);
        }
        for start in (0..rows).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(rows);
            if outputs == 1 {
                let weight = if self.weight.is_empty() { &[][..] } else { &self.weight[block.clone()] };
                let (g, h) = (&mut self.g[block.clone()], &mut self.h[block.clone()]);
                objective.derivatives(&self.score[block.clone()], &self.target[block.clone()], weight, g, h);
            }
            if extra > 0.0 {
                self.stiffen(block.clone(), outputs, extra);
            }
            for (output, sizes) in sizes.iter_mut().enumerate() {
                let block = output * rows + block.start..output * rows + block.end;
                let (abs_g, h) = sums::abs_and_plain(&self.g[block.clone()], &self.h[block]);
                *sizes += Sizes { abs_g, h };
            }
        }
        sizes
    }

    /// Adds to the hessians of a block of rows.
    fn stiffen(&mut self, block: Range<usize>, outputs: usize, extra: f32) {
        for output in 0..outputs {
            let first = output * self.rows.rows;
            for row in block.clone() {
                self.h[first + row] += extra * self.weight.get(row).copied().unwrap_or(1.0);
            }
        }
    }

    /// Starts a tree on one output: gradients become integers, and every row the bag holds belongs to slot 0. Answers
    /// their packed sum.
    pub fn plant(&mut self, output: usize, scale: Scale, bag: Option<Bag>, plan: &Plan) -> u64 {
        let rows = self.rows.rows;
        let span = output * rows..(output + 1) * rows;
        self.packed.resize(rows, 0);
        pack(&self.g[span.clone()], &self.h[span], scale, &mut self.packed);
        self.order.clear();
        self.outside.clear();
        match bag {
            None => self.order.extend(0..rows as u32),
            Some(bag) => {
                for row in 0..rows {
                    let list =
                        if bag.holds(plan.global(self.number, row)) { &mut self.order } else { &mut self.outside };
                    list.push(row as u32);
                }
            }
        }
        self.scratch.resize(rows, 0);
        self.spans.clear();
        self.spans.push(0..self.order.len());
        match bag {
            None => self.packed.iter().fold(0u64, |sum, &packed| sum.wrapping_add(packed)),
            Some(_) => self.order.iter().fold(0u64, |sum, &row| sum.wrapping_add(self.packed[row as usize])),
        }
    }

    /// Packed sum of the rows of a slot that a rule would send right.
    pub fn total_right(&self, slot: usize, route: &Route) -> u64 {
        let rows = &self.order[self.spans[slot].clone()];
        let column = &self.rows.columns[route.column];
        let right = rows.iter().filter(|&&row| route.right[usize::from(column[row as usize])] == 1);
        right.fold(0u64, |sum, &row| sum.wrapping_add(self.packed[row as usize]))
    }

    /// Adds the rows of a slot to the tables of some columns, which must be whole groups.
    pub fn histogram(&self, slot: usize, columns: &Range<usize>, tables: &mut [u64]) {
        let rows = &self.order[self.spans[slot].clone()];
        for group in self.rows.groups.iter().filter(|group| columns.contains(&group.first)) {
            let first = (group.first - columns.start) * TABLE;
            let tables = &mut tables[first..first + group.count * TABLE];
            if rows.len() == self.rows.rows {
                histogram::add_all(group, &self.packed, tables);
            } else {
                histogram::add_listed(group, rows, &self.packed, tables);
            }
        }
    }

    /// Splits a slot's rows between two new slots; answers how many went left.
    pub fn split(&mut self, slot: usize, route: &Route, left: usize, right: usize) -> usize {
        let span = self.spans[slot].clone();
        let column = &self.rows.columns[route.column];
        let kept = partition::partition(&mut self.order[span.clone()], &mut self.scratch, column, route);
        if self.spans.len() <= left.max(right) {
            self.spans.resize(left.max(right) + 1, 0..0);
        }
        self.spans[left] = span.start..span.start + kept;
        self.spans[right] = span.start + kept..span.end;
        kept
    }

    /// Rows of a slot.
    pub fn count(&self, slot: usize) -> usize {
        self.spans[slot].len()
    }

    /// Adds leaf values: to the rows of each leaf's slot, and to rows outside the bag by walking the tree.
    pub fn add_leaves(&mut self, output: usize, slots: &[(usize, usize)], values: &[f32], walker: &Walker) {
        let rows = self.rows.rows;
        let score = &mut self.score[output * rows..(output + 1) * rows];
        for &(slot, leaf) in slots {
            let value = values[leaf];
            self.order[self.spans[slot].clone()].iter().for_each(|&row| score[row as usize] += value);
        }
        for &row in &self.outside {
            score[row as usize] += values[walker.leaf(&self.rows.columns, row as usize)];
        }
    }

    /// Adds a tree's values to every row.
    pub fn add_tree(&mut self, output: usize, values: &[f32], walker: &Walker) {
        let rows = self.rows.rows;
        let score = &mut self.score[output * rows..(output + 1) * rows];
        for (row, score) in score.iter_mut().enumerate() {
            *score += values[walker.leaf(&self.rows.columns, row)];
        }
    }

    /// Residuals (target minus score) and weights of a slot's rows, for leaf values that are quantiles.
    pub fn residuals(&self, slot: usize, into: &mut Vec<(f32, f32)>) {
        for &row in &self.order[self.spans[slot].clone()] {
            let row = row as usize;
            into.push((self.target[row] - self.score[row], self.weight.get(row).copied().unwrap_or(1.0)));
        }
    }
}
