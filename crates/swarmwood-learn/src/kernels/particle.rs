//! The loops that evaluate a particle: leaf numbers, derivatives as pairs, sums by leaf. Leaf
//! values are added to scores by [`super::leaf_values`].
//!
//! A particle is a sequence of oblivious trees (Rao 2022, section 5.2): level `l` of a tree decides
//! bit `l` of a row's leaf number, so a leaf number is made by comparing whole columns of codes,
//! without a branch; trees whose nodes have rules of their own take one such pass a node. Every
//! loop works on a block of rows that stays in the first-level cache; one loop after the other is
//! faster than one that does everything, whose values do not fit the registers.
//!
//! Sums by leaf are `f32` within a block and `f64` across blocks. Neighbouring rows are added to
//! different copies of the table: rows of one leaf that follow each other would wait for each
//! other's sum. The size of a block and the number of copies fix the order of all additions, so
//! they are part of what a result is.

use super::derivatives::logistic_row;
use super::dispatch::dispatched;
use super::exp::exp_of_negative;
use super::leaf_values::LEAVES;
use crate::rule::Code;

/// Rows of a block.
pub const BLOCK: usize = 2048;

/// Levels a tree may have.
pub const LEVELS: usize = 8;

/// Copies of the table of sums.
const COPIES: usize = 8;

/// Entries from one copy to the next: a little more than there are leaves, so that the same leaf of
/// two copies does not fall on the same place of the cache.
const STRIDE: usize = LEAVES + 8;

/// Rows whose exponentials are kept between two loops.
const SHORT: usize = 256;

/// First and second derivative of a row, or their sums.
pub type DerivativePair = [f32; 2];

/// A rule as a question about stored codes.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleTest<C> {
    /// The stored column.
    pub column: usize,
    /// Which codes go right.
    pub side: Side<C>,
}

/// Which stored codes go right.
#[derive(Debug, Clone, PartialEq)]
pub enum Side<C> {
    /// Those with `code - first > beyond`, modulo the number of codes: a run of codes that may pass
    /// from the greatest to 0. Cuts of numbers are such runs whichever side missing values take,
    /// and so are single levels and members of bundles.
    Run {
        /// The first code that goes left.
        first: C,
        /// How many codes after it go left too.
        beyond: C,
    },
    /// One for each code that goes right, zero for the others.
    Table(Box<[u8]>),
}

impl<C: Code> RuleTest<C> {
    /// Whether a code is above another; missing values take the side that is said.
    pub fn above(column: usize, last: C, missing_right: bool) -> Self {
        let side = if !missing_right {
            Side::Run { first: C::MISSING, beyond: last }
        } else if last == C::MISSING {
            Side::Table(Box::new([1]))
        } else {
            Side::Run { first: C::from(1), beyond: last.minus(C::from(1)) }
        };
        RuleTest { column, side }
    }

    /// The question with these sides, code after code (1 is right). Codes beyond the last one do
    /// not occur.
    pub fn of_sides(column: usize, right: &[u8]) -> Self {
        let first = right.first().copied().unwrap_or(0);
        // What does not occur is taken to be on the side of code 0, so that a run can pass it.
        let absent = C::GREATEST.index() + 1 - right.len();
        let last = if absent == 0 { right.last().copied().unwrap_or(0) } else { first };
        let ends = right.iter().copied().chain((absent > 0).then_some(first));
        let before = std::iter::once(last).chain(right.iter().copied());
        let mut left_starts = before
            .zip(ends)
            .enumerate()
            .filter(|&(_, (before, side))| before == 1 && side == 0)
            .map(|(code, _)| code);

        let side = match (left_starts.next(), left_starts.next()) {
            (Some(start), None) => {
                let seen = right.iter().filter(|&&side| side == 0).count();
                let left = seen + if first == 0 { absent } else { 0 };
                Side::Run { first: C::from_index(start), beyond: C::from_index(left - 1) }
            }
            (None, _) if first == 0 => Side::Run { first: C::MISSING, beyond: C::GREATEST },
            _ => Side::Table(right.into()),
        };
        RuleTest { column, side }
    }

    /// Whether a code goes right.
    pub fn goes_right(&self, code: C) -> bool {
        match &self.side {
            Side::Run { first, beyond } => code.minus(*first) > *beyond,
            Side::Table(right) => right_by(right, code) == 1,
        }
    }
}

/// The side of a code by a table. Codes beyond it go right; they occur only where all codes do.
#[inline(always)]
fn right_by<C: Code>(right: &[u8], code: C) -> u8 {
    right.get(code.index()).copied().unwrap_or(1)
}

/// A block's codes, and the run of them that goes left (see [`Side::Run`]).
#[derive(Debug, Clone, Copy)]
pub struct Run<'a, C> {
    /// The codes of the column.
    pub codes: &'a [C],
    /// The first code that goes left.
    pub first: C,
    /// How many codes after it go left too.
    pub beyond: C,
}

/// The leaf number of each row of a block: bit `l` is the answer to question `l`, of which there
/// are at most [`LEVELS`]. `codes` gives a stored column's codes of the block.
pub fn leaves<'a, C: Code>(
    questions: &[&RuleTest<C>],
    codes: impl Fn(usize) -> &'a [C],
    leaf: &mut [u8],
) {
    // All codes lie in this run, so that the bit of a question which is none stays zero until its
    // table is looked up.
    let mut runs = [Run { codes: &[][..], first: C::MISSING, beyond: C::GREATEST }; LEVELS];
    for (run, question) in runs.iter_mut().zip(questions) {
        run.codes = codes(question.column);
        if let Side::Run { first, beyond } = question.side {
            (run.first, run.beyond) = (first, beyond);
        }
    }
    run_leaves(&runs[..questions.len().min(LEVELS)], leaf);
    for (level, (question, run)) in questions.iter().zip(&runs).enumerate() {
        if let Side::Table(right) = &question.side {
            add_table(run.codes, right, 1 << level, leaf);
        }
    }
}

dispatched! {
    /// The leaf number of each row: bit `l` says whether its code lies outside of run `l`.
    pub wide fn run_leaves<C: Code>(runs: &[Run<'_, C>], leaf: &mut [u8]) {
        // One loop a number of levels: the bits of a row stay in a register while all its codes are
        // compared.
        match runs.len() {
            1 => outside::<1, C>(runs, leaf),
            2 => outside::<2, C>(runs, leaf),
            3 => outside::<3, C>(runs, leaf),
            4 => outside::<4, C>(runs, leaf),
            5 => outside::<5, C>(runs, leaf),
            6 => outside::<6, C>(runs, leaf),
            7 => outside::<7, C>(runs, leaf),
            8 => outside::<8, C>(runs, leaf),
            _ => leaf.fill(0),
        }
    }
}

/// Rows whose bits stay in registers.
const TOGETHER: usize = 64;

#[inline(always)]
fn outside<const RUNS: usize, C: Code>(runs: &[Run<'_, C>], leaf: &mut [u8]) {
    let n = leaf.len();
    let runs: [Run<'_, C>; RUNS] =
        std::array::from_fn(|at| Run { codes: &runs[at].codes[..n], ..runs[at] });
    let codes = runs.map(|run| run.codes.as_chunks::<TOGETHER>().0);
    let (parts, rest) = leaf.as_chunks_mut::<TOGETHER>();
    for (at, part) in parts.iter_mut().enumerate() {
        let mut bits = [0u8; TOGETHER];
        for level in 0..RUNS {
            let (codes, run) = (&codes[level][at], &runs[level]);
            for i in 0..TOGETHER {
                bits[i] |= if codes[i].minus(run.first) > run.beyond { 1 << level } else { 0 };
            }
        }
        *part = bits;
    }
    let done = n - rest.len();
    for (i, leaf) in rest.iter_mut().enumerate() {
        let bit = |level: usize| {
            let run = &runs[level];
            u8::from(run.codes[done + i].minus(run.first) > run.beyond) << level
        };
        *leaf = (0..RUNS).map(bit).sum();
    }
}

/// Sets `bit` of the rows whose code goes right by the table.
pub fn add_table<C: Code>(codes: &[C], right: &[u8], bit: u8, leaf: &mut [u8]) {
    for (leaf, &code) in leaf.iter_mut().zip(codes) {
        *leaf |= right_by(right, code) * bit;
    }
}

/// The leaf number of each row of a block in a tree whose nodes all have questions of their own, in
/// heap order: node `i` leads to `2 i + 1` (left) and `2 i + 2` (right). Bit `l` is the answer at
/// level `l`, as in [`leaves`].
///
/// A walk down the tree would load from another column in every row. One pass a node over a block
/// of bytes is several times as fast for the few levels there are: 32 rows an instruction, of which
/// those elsewhere in the tree stay as they are.
pub fn free_leaves<'a, C: Code>(
    questions: &[&RuleTest<C>],
    codes: impl Fn(usize) -> &'a [C],
    leaf: &mut [u8],
) {
    leaf.fill(0);
    for (node, question) in questions.iter().enumerate() {
        let level = (node + 1).ilog2();
        let (codes, path, bit) = (codes(question.column), path_to(node), 1u8 << level);
        match &question.side {
            Side::Run { first, beyond } => add_run_at(codes, (*first, *beyond), path, bit, leaf),
            Side::Table(right) => add_table_at(codes, right, path, bit, leaf),
        }
    }
}

/// The leaf number of rows that have come to a node so far: the answers on the way, the root's
/// lowest.
///
/// ```
/// use swarmwood_learn::stats::path_to;
/// // Node 4 is reached from the root to the left (0) and then to the right (1).
/// assert_eq!([0, 1, 2, 3, 4, 5, 6].map(path_to), [0, 0, 1, 0, 2, 1, 3]);
/// ```
pub fn path_to(node: usize) -> u8 {
    let level = (node + 1).ilog2();
    // In heap order the root's answer is the highest bit of the place in the level.
    let place = node + 1 - (1 << level);
    (0..level).fold(0, |path, bit| path | ((place >> (level - 1 - bit)) as u8 & 1) << bit)
}

dispatched! {
    /// Sets `bit` of the rows on `path` whose code lies outside of the run that goes left.
    pub fn add_run_at<C: Code>(codes: &[C], run: (C, C), path: u8, bit: u8, leaf: &mut [u8]) {
        let (first, beyond) = run;
        let n = leaf.len();
        let codes = &codes[..n];
        for i in 0..n {
            let right = codes[i].minus(first) > beyond;
            // No row can be on two paths: one that has its bit already is on none of this level.
            leaf[i] |= if right & (leaf[i] == path) { bit } else { 0 };
        }
    }
}

/// Sets `bit` of the rows on `path` whose code goes right by the table.
pub fn add_table_at<C: Code>(codes: &[C], right: &[u8], path: u8, bit: u8, leaf: &mut [u8]) {
    for (leaf, &code) in leaf.iter_mut().zip(codes) {
        *leaf |= right_by(right, code) * if *leaf == path { bit } else { 0 };
    }
}

dispatched! {
    /// Derivatives of the squared loss without weights: `(score - target, 1)`.
    pub wide fn squared_pairs(score: &[f32], target: &[f32], pairs: &mut [DerivativePair]) {
        let n = pairs.len();
        let (score, target) = (&score[..n], &target[..n]);
        for i in 0..n {
            pairs[i] = [score[i] - target[i], 1.0];
        }
    }
}

dispatched! {
    /// Derivatives of the logistic loss without weights, to the bit those of
    /// [`super::derivatives::logistic`].
    pub wide fn logistic_pairs(score: &[f32], target: &[f32], pairs: &mut [DerivativePair]) {
        let mut powers = [0.0f32; SHORT];
        let rows = pairs.len();
        for from in (0..rows).step_by(SHORT) {
            let n = SHORT.min(rows - from);
            let (score, target) = (&score[from..from + n], &target[from..from + n]);
            let (pairs, powers) = (&mut pairs[from..from + n], &mut powers[..n]);
            for i in 0..n {
                powers[i] = exp_of_negative(-score[i].abs());
            }
            for i in 0..n {
                let (g, h) = logistic_row(score[i], powers[i], target[i]);
                pairs[i] = [g, h];
            }
        }
    }
}

/// Multiplies each pair by its row's weight; an empty `weight` means that every row weighs one.
pub fn weigh_pairs(weight: &[f32], pairs: &mut [DerivativePair]) {
    for (pair, weight) in pairs.iter_mut().zip(weight) {
        *pair = [pair[0] * weight, pair[1] * weight];
    }
}

dispatched! {
    /// Derivatives of any loss as pairs.
    pub fn pair_up(g: &[f32], h: &[f32], pairs: &mut [DerivativePair]) {
        let n = pairs.len();
        let (g, h) = (&g[..n], &h[..n]);
        for i in 0..n {
            pairs[i] = [g[i], h[i]];
        }
    }
}

/// The copies of the sums by leaf.
type Copies = [[DerivativePair; STRIDE]; COPIES];

/// Sums by leaf over one block, all zero between blocks.
#[derive(Debug, Clone)]
pub struct BlockSums {
    copies: Box<Copies>,
}

impl Default for BlockSums {
    fn default() -> Self {
        BlockSums { copies: Box::new([[[0.0; 2]; STRIDE]; COPIES]) }
    }
}

impl BlockSums {
    /// Adds a block of rows to the sums of their leaves; `sums` holds one entry a leaf.
    pub fn add(&mut self, leaf: &[u8], pairs: &[DerivativePair], sums: &mut [[f64; 2]]) {
        scatter(leaf, pairs, &mut self.copies);
        fold(&mut self.copies, sums);
    }
}

/// The bits of a pair, the first number in the low half.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn packed(pair: DerivativePair) -> u64 {
    u64::from(pair[0].to_bits()) | u64::from(pair[1].to_bits()) << 32
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn unpacked(bits: u64) -> DerivativePair {
    [f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32)]
}

/// Adds pairs number by number. Left to itself the compiler loads, adds and stores the two numbers
/// one after the other, which takes twice as long; half of a vector holds both.
#[inline(always)]
fn add_pairs(a: DerivativePair, b: DerivativePair) -> DerivativePair {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_add_ps, _mm_castpd_ps, _mm_castps_pd, _mm_cvtsd_f64, _mm_set_sd,
        };
        let (a, b) = (f64::from_bits(packed(a)), f64::from_bits(packed(b)));
        // SAFETY: these work on values alone, and every x86-64 processor has the SSE2 instructions
        // they ask for.
        #[allow(unsafe_code)]
        unsafe {
            let sum = _mm_add_ps(_mm_castpd_ps(_mm_set_sd(a)), _mm_castpd_ps(_mm_set_sd(b)));
            unpacked(_mm_cvtsd_f64(_mm_castps_pd(sum)).to_bits())
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        [a[0] + b[0], a[1] + b[1]]
    }
}

dispatched! {
    /// Adds each row's pair to its leaf; row `i` of the block goes to copy `i` modulo their number.
    pub fn scatter(leaf: &[u8], pairs: &[DerivativePair], copies: &mut Copies) {
        let pairs = &pairs[..leaf.len()];
        let (leaf_runs, leaf_rest) = leaf.as_chunks::<COPIES>();
        let (pair_runs, pair_rest) = pairs.as_chunks::<COPIES>();
        for (leaf, pair) in leaf_runs.iter().zip(pair_runs) {
            // One load for eight leaf numbers: loads are what this loop has too many of.
            let word = u64::from_le_bytes(*leaf);
            for copy in 0..COPIES {
                let sum = &mut copies[copy][usize::from((word >> (8 * copy)) as u8)];
                *sum = add_pairs(*sum, pair[copy]);
            }
        }
        for (copy, (leaf, pair)) in leaf_rest.iter().zip(pair_rest).enumerate() {
            let sum = &mut copies[copy][usize::from(*leaf)];
            *sum = add_pairs(*sum, *pair);
        }
    }
}

dispatched! {
    /// Adds the copies to `f64` sums, neighbours first, and clears them.
    pub wide fn fold(copies: &mut Copies, sums: &mut [[f64; 2]]) {
        let leaves = sums.len().min(STRIDE);
        let sums = sums[..leaves].as_flattened_mut();
        let n = sums.len();
        let [a, b, c, d, e, f, g, h] = &*copies;
        let (a, b) = (&a.as_flattened()[..n], &b.as_flattened()[..n]);
        let (c, d) = (&c.as_flattened()[..n], &d.as_flattened()[..n]);
        let (e, f) = (&e.as_flattened()[..n], &f.as_flattened()[..n]);
        let (g, h) = (&g.as_flattened()[..n], &h.as_flattened()[..n]);
        for i in 0..n {
            let low = (a[i] + b[i]) + (c[i] + d[i]);
            let high = (e[i] + f[i]) + (g[i] + h[i]);
            sums[i] += f64::from(low + high);
        }
        for copy in copies {
            copy[..leaves].fill([0.0; 2]);
        }
    }
}

dispatched! {
    /// The weight of the rows whose class, 0 or 1, is on the side of their score; the score 0
    /// stands for class 0.
    pub wide fn hits(score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        let n = target.len();
        let score = &score[..n];
        if weight.is_empty() {
            let mut count = 0u32;
            for i in 0..n {
                count += u32::from((score[i] > 0.0) == (target[i] > 0.5));
            }
            return f64::from(count);
        }
        let weight = &weight[..n];
        (0..n).map(|i| if (score[i] > 0.0) == (target[i] > 0.5) { f64::from(weight[i]) } else { 0.0 }).sum()
    }
}

#[cfg(test)]
mod tests;
