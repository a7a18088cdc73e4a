//! One shard's rows at work: scores, derivatives, and the rows of each node of the tree being
//! grown.
//!
//! A shard answers questions about its own rows alone; what it answers are sums that merge.

mod assigned;
mod one_output;
mod row_leaves;
mod sampled;

pub use row_leaves::RowLeaves;
pub use sampled::{CoarseColumn, HashSample, SampledRows};

use std::borrow::Cow;
use std::f64::consts::FRAC_PI_2;
use std::ops::Range;
use std::sync::Arc;

use swarmwood_search::rng::Stream;

use super::message::{LeafSlot, RowSample};
use crate::binned_tree::Traversal;
use crate::bins::layout::Route;
use crate::dataset::{BLOCK as TOGETHER, BinnedShard, Plan};
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::{GradientScale, join, pack};
use crate::kernels::{histogram, partition, sums};
use crate::objective::Objective;
use crate::split::FewRows;
use one_output::OtherOutputs;

/// Rows handled between two looks at the cache: scores, derivatives and targets of a block stay in
/// L1.
const BLOCK: usize = 2048;

impl RowSample {
    /// Puts the rows that the tree sees in front, in order, and the others behind, last first;
    /// answers how many it sees. That depends on seed, round and row alone: rows that stay together
    /// in every shard draw from one stream.
    fn partition(&self, number: usize, plan: &Plan, order: &mut [u32]) -> usize {
        let below = (self.share * 32f64.exp2()).round() as u64;
        let (mut seen, mut draws) = (0, [0; TOGETHER]);
        let last = order.len().saturating_sub(1);
        for start in (0..order.len()).step_by(TOGETHER) {
            let block = plan.global(number, start) / TOGETHER;
            let count = TOGETHER.min(order.len() - start);
            Stream::new(self.seed, self.round, block as u64).fill(&mut draws[..count]);
            for (row, &draw) in (start..).zip(&draws[..count]) {
                // Both places are free, and the one that is not meant stays so: a branch would be
                // guessed wrong often.
                order[seen] = row as u32;
                order[last - (row - seen)] = row as u32;
                seen += usize::from(u64::from(draw) < below);
            }
        }
        seen
    }
}

/// Sums that fix the integer units of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DerivativeSums {
    /// Sum of absolute gradients.
    pub abs_g: f64,
    /// Sum of hessians.
    pub h: f64,
}

impl DerivativeSums {
    /// Twice what a useless split gains on average: the residual variance where a row's hessian is
    /// its weight, taken from the mean absolute residual as if these were normal; 1 where hessians
    /// say how gradients vary.
    pub fn dispersion(&self, objective: &dyn Objective) -> f64 {
        let is_plain = objective.constant_hessian() && self.h > 0.0;
        if is_plain { FRAC_PI_2 * (self.abs_g / self.h).powi(2) } else { 1.0 }
    }
}

impl std::ops::AddAssign for DerivativeSums {
    fn add_assign(&mut self, other: DerivativeSums) {
        self.abs_g += other.abs_g;
        self.h += other.h;
    }
}

/// Where the derivatives of a shard come from.
#[derive(Clone, Copy)]
pub enum DerivativeSource<'a> {
    /// The objective computes them.
    Of(&'a dyn Objective),
    /// They were computed for all rows, in their order, output after output.
    Given {
        /// First derivatives.
        g: &'a [f32],
        /// Second derivatives.
        h: &'a [f32],
        /// Which rows are the shard's.
        plan: &'a Plan,
    },
}

/// The state of one shard during training. Every field counts: there are as many entries as rows.
#[derive(Debug)]
pub struct Shard {
    rows: Arc<BinnedShard>,
    number: usize,
    target: Vec<f32>,
    weight: Vec<f32>,
    score: Vec<f32>,
    /// Both derivatives of a row in one word, output after output: joined `f32` until a tree is
    /// planted on the output, packed integers from then on, unless they are to be kept.
    words: Vec<u64>,
    /// The packed integers of the growing tree's output, where derivatives are kept.
    packed: Vec<u64>,
    keeps: bool,
    /// What one output needs to know of the others, while these stay.
    others: Option<OtherOutputs>,
    /// The output of the tree that is growing.
    output: usize,
    /// The rows that the tree sees, slot after slot, and behind them those that it does not.
    order: Vec<u32>,
    spans: Vec<Range<usize>>,
    seen: usize,
}

impl Shard {
    /// A shard with the scores every row starts from, one an output.
    pub fn new(
        rows: Arc<BinnedShard>,
        number: usize,
        target: Vec<f32>,
        weight: Vec<f32>,
        start: &[f32],
    ) -> Self {
        let score = start.iter().flat_map(|&start| std::iter::repeat_n(start, rows.rows)).collect();
        Shard {
            rows,
            number,
            target,
            weight,
            score,
            words: Vec::new(),
            packed: Vec::new(),
            keeps: false,
            others: None,
            output: 0,
            order: Vec::new(),
            spans: Vec::new(),
            seen: 0,
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

    /// Derivatives of the loss at the present scores; returns their totals, one per output. Every
    /// hessian gets `extra` times the row's weight on top.
    pub fn derive(&mut self, source: DerivativeSource<'_>, extra: f32) -> Vec<DerivativeSums> {
        let rows = self.rows.rows;
        let outputs = self.score.len() / rows.max(1);
        self.words.resize(rows * outputs, 0);
        let mut totals = vec![DerivativeSums::default(); outputs];
        let (mut score, mut g, mut h) =
            (Vec::new(), vec![0.0; BLOCK * outputs], vec![0.0; BLOCK * outputs]);
        for start in (0..rows).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(rows);
            let count = block.len();
            let of_output = |output: usize| output * rows + block.start..output * rows + block.end;
            // The objective wants the scores of its rows output after output; a single output lies
            // so already.
            let score = if outputs == 1 {
                &self.score[block.clone()]
            } else {
                score.clear();
                (0..outputs)
                    .for_each(|output| score.extend_from_slice(&self.score[of_output(output)]));
                &score[..]
            };
            let weight = if self.weight.is_empty() { &[][..] } else { &self.weight[block.clone()] };
            let (g, h) = (&mut g[..count * outputs], &mut h[..count * outputs]);
            match source {
                DerivativeSource::Of(objective) => {
                    objective.derivatives(score, &self.target[block.clone()], weight, g, h);
                }
                DerivativeSource::Given { g: all_g, h: all_h, plan } => {
                    for (at, row) in (0..outputs).flat_map(|_| block.clone()).enumerate() {
                        let from = at / count * plan.rows + plan.global(self.number, row);
                        (g[at], h[at]) = (all_g[from], all_h[from]);
                    }
                }
            }
            if extra > 0.0 {
                h.chunks_exact_mut(count).for_each(|h| stiffen(h, weight, extra));
            }
            for (output, totals) in totals.iter_mut().enumerate() {
                let own = output * count..(output + 1) * count;
                let (g, h) = (&g[own.clone()], &h[own]);
                let (abs_g, sum_h) = sums::abs_and_plain(g, h);
                *totals += DerivativeSums { abs_g, h: sum_h };
                join(g, h, &mut self.words[of_output(output)]);
            }
        }
        totals
    }

    /// Starts a tree on one output: gradients become integers, and every row of the sample belongs
    /// to slot 0. Answers their packed sum. The derivatives of an output serve one tree, unless
    /// they are kept; the next one wants them derived again.
    pub fn begin_tree(
        &mut self,
        output: usize,
        scale: GradientScale,
        sample: Option<RowSample>,
        plan: &Plan,
    ) -> u64 {
        let rows = self.rows.rows;
        self.output = output;
        let words = &mut self.words[output * rows..(output + 1) * rows];
        if self.keeps {
            self.packed.clear();
            self.packed.extend_from_slice(words);
            pack(&mut self.packed, scale);
        } else {
            pack(words, scale);
        }
        self.order.resize(rows, 0);
        self.seen = rows;
        match sample {
            None => self.order.iter_mut().zip(0..).for_each(|(place, row)| *place = row),
            Some(sample) => self.seen = sample.partition(self.number, plan, &mut self.order),
        }
        self.spans.clear();
        self.spans.push(0..self.seen);
        let packed = self.packed();
        match sample {
            None => packed.iter().fold(0u64, |sum, &packed| sum.wrapping_add(packed)),
            Some(_) => self.order[..self.seen]
                .iter()
                .fold(0u64, |sum, &row| sum.wrapping_add(packed[row as usize])),
        }
    }

    /// The packed derivatives of the output whose tree is growing.
    fn packed(&self) -> &[u64] {
        if self.keeps {
            return &self.packed;
        }
        &self.words[self.output * self.rows.rows..(self.output + 1) * self.rows.rows]
    }

    /// Keeps derivatives for those who ask after a tree has grown (see [`Shard::leaf_sums`]), at
    /// eight bytes a row.
    pub fn keep_derivatives(&mut self) {
        self.keeps = true;
    }

    /// Gives back what only growing trees need; scores and targets stay.
    pub fn release_buffers(&mut self) {
        (self.words, self.packed) = (Vec::new(), Vec::new());
        self.order = Vec::new();
        self.others = None;
        self.spans.clear();
        self.seen = 0;
    }

    /// Packed sum of the rows of a slot that a rule would send right.
    pub fn total_right(&self, slot: usize, route: &Route) -> u64 {
        let rows = &self.order[self.spans[slot].clone()];
        let column = &self.rows.columns[route.column];
        let right = rows.iter().filter(|&&row| route.right[usize::from(column[row as usize])] == 1);
        let packed = self.packed();
        right.fold(0u64, |sum, &row| sum.wrapping_add(packed[row as usize]))
    }

    /// Adds the rows of a slot to the tables of some columns.
    pub fn histogram(&self, slot: usize, columns: &Range<usize>, tables: &mut [u64]) {
        let (rows, packed) = (&self.order[self.spans[slot].clone()], self.packed());
        for group in &self.rows.groups {
            let part = group.first.max(columns.start)..(group.first + group.count).min(columns.end);
            if part.is_empty() {
                continue;
            }
            let tables = &mut tables
                [(part.start - columns.start) * TABLE..(part.end - columns.start) * TABLE];
            let part = part.start - group.first..part.end - group.first;
            if rows.len() == self.rows.rows {
                histogram::add_all(group, part, packed, tables);
            } else {
                histogram::add_listed(group, part, rows, packed, tables);
            }
        }
    }

    /// Takes the rows of a slot, which are few, out of the tables of some columns.
    pub fn take_away(&self, slot: usize, columns: &Range<usize>, tables: &mut [u64]) {
        let packed = self.packed();
        for &row in &self.order[self.spans[slot].clone()] {
            let codes = self.rows.pieces(row as usize, columns).flatten();
            for (table, &code) in tables.chunks_exact_mut(TABLE).zip(codes) {
                let sum = &mut table[usize::from(code)];
                *sum = sum.wrapping_sub(packed[row as usize]);
            }
        }
    }

    /// Copies the rows of a slot, which are few.
    pub fn gather(&self, slot: usize, columns: &Range<usize>, into: &mut FewRows) {
        let packed = self.packed();
        for &row in &self.order[self.spans[slot].clone()] {
            into.push(self.rows.pieces(row as usize, columns), packed[row as usize]);
        }
    }

    /// Splits a slot's rows between two new slots, and leaves the old one naming both; answers how
    /// many went left. `scratch` may hold anything and serves one shard after the other.
    pub fn split(
        &mut self,
        slot: usize,
        route: &Route,
        [left, right]: [usize; 2],
        scratch: &mut Vec<u32>,
    ) -> usize {
        let span = self.spans[slot].clone();
        let column = &self.rows.columns[route.column];
        if scratch.len() < span.len() {
            scratch.resize(self.rows.rows, 0);
        }
        let kept = partition::partition(&mut self.order[span.clone()], scratch, column, route);
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

    /// Adds leaf values: to the rows of each leaf's slot, and to rows outside the sample by walking
    /// the tree.
    pub fn add_leaves(
        &mut self,
        output: usize,
        slots: &[LeafSlot],
        values: &[f32],
        traversal: &Traversal,
    ) {
        self.forget_others(output);
        let rows = self.rows.rows;
        let score = &mut self.score[output * rows..(output + 1) * rows];
        for &LeafSlot { slot, leaf } in slots {
            let value = values[leaf];
            self.order[self.spans[slot].clone()]
                .iter()
                .for_each(|&row| score[row as usize] += value);
        }
        for &row in &self.order[self.seen..] {
            score[row as usize] += values[traversal.leaf(&self.rows.columns, row as usize)];
        }
    }

    /// Adds a tree's values to every row.
    pub fn add_tree(&mut self, output: usize, values: &[f32], traversal: &Traversal) {
        self.forget_others(output);
        let rows = self.rows.rows;
        let score = &mut self.score[output * rows..(output + 1) * rows];
        traversal.each_leaf(&self.rows.columns, rows, |row, leaf| score[row] += values[leaf]);
    }

    /// Residuals (target minus score) and weights of a slot's rows, in row order, for leaf values
    /// that are quantiles.
    pub fn residuals(&self, slot: usize, into: &mut Vec<(f32, f32)>) {
        // A slot that was split holds two runs of rows.
        let mut rows = Cow::Borrowed(&self.order[self.spans[slot].clone()]);
        if !rows.is_sorted() {
            rows.to_mut().sort_unstable();
        }
        for &row in rows.iter() {
            let row = row as usize;
            into.push((
                self.target[row] - self.score[row],
                self.weight.get(row).copied().unwrap_or(1.0),
            ));
        }
    }
}

/// Adds `extra` times the row's weight to every hessian.
fn stiffen(h: &mut [f32], weight: &[f32], extra: f32) {
    for (row, h) in h.iter_mut().enumerate() {
        *h += extra * weight.get(row).copied().unwrap_or(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row is dealt once, the drawn ones first and in order, and however many shards there
    /// are, the same are drawn.
    #[test]
    fn a_sample_holds_the_same_rows_in_any_shards() {
        let sample = RowSample { share: 0.3, seed: 5, round: 2 };
        let drawn = |shards: usize, rows: usize| {
            let plan = Plan { rows, shards };
            let mut drawn = Vec::new();
            for shard in 0..shards {
                let count = (0..rows).filter(|row| row / TOGETHER % shards == shard).count();
                let mut order = vec![u32::MAX; count];
                let seen = sample.partition(shard, &plan, &mut order);
                assert!(order[..seen].is_sorted() && order[seen..].iter().rev().is_sorted());
                drawn.extend(order[..seen].iter().map(|&row| plan.global(shard, row as usize)));
                order.sort_unstable();
                assert!(order.iter().zip(0..).all(|(&row, at)| row == at));
            }
            drawn.sort_unstable();
            drawn
        };
        for rows in [0, 1, 7, 1024, 5000, 20_000] {
            let alone = drawn(1, rows);
            assert_eq!(alone, drawn(4, rows));
            let share = alone.len() as f64 / rows.max(1) as f64;
            assert!(rows < 5000 || (share - 0.3).abs() < 0.02, "{share}");
        }
    }
}
