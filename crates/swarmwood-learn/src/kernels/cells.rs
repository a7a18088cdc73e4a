//! Sums of derivatives by cell and class: the table from which every replacement of a rule of a
//! tree can be read.
//!
//! A cell is a leaf of an oblivious tree, a class a set of codes of one column that no rule of the
//! table tells apart. Leaves that differ in the answer at one level alone, taken together, are the
//! cells of the tree without that level; each is parted by the new rule into the classes that go
//! left and those that go right. So one pass over the rows serves all levels and all rules of a
//! column.
//!
//! Sums are `f64`: they are differences of each other in the end. Neighbouring rows go to different
//! copies of a small table, for they would wait for each other's sum otherwise; how many copies
//! there are depends on the table's size alone.

use super::dispatch::dispatched;
use super::particle::DerivativePair;
use crate::rule::Code;

/// Copies of a table that is small enough for several in the first-level cache.
const COPIES: usize = 4;

/// The largest table that has copies.
const SMALL: usize = 512;

/// Rows whose places are kept between two loops.
const SHORT: usize = 256;

/// Sums by cell and class of one column.
#[derive(Debug, Clone, Default)]
pub struct CellSums {
    /// Classes of the column.
    classes: usize,
    /// Copy after copy, cell after cell, class after class.
    sums: Vec<[f64; 2]>,
    /// Entries from one copy to the next; zero if there is one copy.
    stride: usize,
}

impl CellSums {
    /// Makes a table of zeros.
    pub fn clear(&mut self, cells: usize, classes: usize) {
        let entries = cells * classes;
        let copies = if entries <= SMALL { COPIES } else { 1 };
        self.classes = classes;
        self.stride = if copies == 1 { 0 } else { entries };
        self.sums.clear();
        self.sums.resize(entries * copies, [0.0; 2]);
    }

    /// Adds rows; their leaves must be below the number of cells, their classes below that of
    /// classes. There may be `u32::MAX` cells times classes.
    pub fn add<C: Code>(&mut self, leaf: &[u8], class: &[C], pairs: &[DerivativePair]) {
        let shape = (self.classes as u32, self.stride);
        add_rows(leaf, class, pairs, shape, &mut self.sums);
    }

    /// The sums, cell after cell and class after class.
    pub fn merged(&mut self) -> &[[f64; 2]] {
        if self.stride > 0 {
            let (first, others) = self.sums.split_at_mut(self.stride);
            for other in others.chunks_exact(self.stride) {
                first
                    .iter_mut()
                    .zip(other)
                    .for_each(|(sum, more)| *sum = [sum[0] + more[0], sum[1] + more[1]]);
            }
            self.sums.truncate(self.stride);
            self.stride = 0;
        }
        &self.sums
    }
}

/// The place of a row's sum, as narrow as codes allow: the loop that finds places has more of them
/// in a register then.
trait CellPlace: Copy + Default {
    /// The place of a leaf and a class out of so many.
    fn of(leaf: u8, class: usize, classes: u32) -> Self;

    fn index(self) -> usize;
}

macro_rules! cell_place {
    ($($number:ty),*) => {$(
        impl CellPlace for $number {
            #[inline(always)]
            fn of(leaf: u8, class: usize, classes: u32) -> Self {
                <$number>::from(leaf).wrapping_mul(classes as $number).wrapping_add(class as $number)
            }

            #[inline(always)]
            fn index(self) -> usize {
                self as usize
            }
        }
    )*};
}

cell_place!(u16, u32);

dispatched! {
    /// Adds each row's pair to the sum of its leaf and class; `shape` is the number of classes and
    /// the stride of copies.
    pub fn add_rows<C: Code>(
        leaf: &[u8],
        class: &[C],
        pairs: &[DerivativePair],
        shape: (u32, usize),
        sums: &mut [[f64; 2]],
    ) {
        // 256 cells of 256 classes are the most there can be with bytes: the last place still fits.
        if size_of::<C>() == 1 {
            add_at::<C, u16>(leaf, class, pairs, shape, sums)
        } else {
            add_at::<C, u32>(leaf, class, pairs, shape, sums)
        }
    }
}

#[inline(always)]
fn add_at<C: Code, P: CellPlace>(
    leaf: &[u8],
    class: &[C],
    pairs: &[DerivativePair],
    (classes, stride): (u32, usize),
    sums: &mut [[f64; 2]],
) {
    let mut places = [P::default(); SHORT];
    let blocks = leaf.chunks(SHORT).zip(class.chunks(SHORT)).zip(pairs.chunks(SHORT));
    for ((leaf, class), pairs) in blocks {
        let n = leaf.len();
        let (class, places) = (&class[..n], &mut places[..n]);
        for i in 0..n {
            places[i] = P::of(leaf[i], class[i].index(), classes);
        }
        let (places, places_rest) = places.as_chunks::<COPIES>();
        let (pairs, pairs_rest) = pairs[..n].as_chunks::<COPIES>();
        for (places, pairs) in places.iter().zip(pairs) {
            for copy in 0..COPIES {
                let sum = &mut sums[copy * stride + places[copy].index()];
                *sum = [sum[0] + f64::from(pairs[copy][0]), sum[1] + f64::from(pairs[copy][1])];
            }
        }
        for (&place, pair) in places_rest.iter().zip(pairs_rest) {
            let sum = &mut sums[place.index()];
            *sum = [sum[0] + f64::from(pair[0]), sum[1] + f64::from(pair[1])];
        }
    }
}

/// How a tree's leaf values come from sums of derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeafRule {
    /// L2 penalty on leaf values.
    pub lambda: f64,
    /// Share of each leaf value that is added.
    pub learning_rate: f64,
    /// A second derivative below this is what is left of a difference of equal sums: there are no
    /// rows.
    pub least: f64,
}

impl LeafRule {
    /// By how much a leaf lowers the second-order model of the loss: `-(G v + ½ H v²)` with
    /// `v = -η G / (H + λ)`.
    #[inline(always)]
    pub fn worth(&self, g: f64, h: f64) -> f64 {
        let divisor = h + self.lambda;
        let there = (divisor > 0.0) & (h > self.least);
        let value = -self.learning_rate * g / if there { divisor } else { 1.0 };
        let worth = -value * (g + 0.5 * h * value);
        if there { worth } else { 0.0 }
    }
}

/// Rules are worked on in multiples of this many, the numbers of the widest register.
pub const LANES: usize = 8;

dispatched! {
    /// What a tree is worth with each of many rules at each of its levels: level after level, rule
    /// after rule. Given are the sums of all its leaves, and cell after cell the sums of the rows
    /// there that each rule sends right; first and second derivatives apart. `width`, the number of
    /// rules, is a multiple of [`LANES`].
    pub wide fn rule_worths(
        leaf: LeafRule,
        right: (&[f64], &[f64]),
        all: (&[f64], &[f64]),
        width: usize,
        worths: &mut [f64],
    ) {
        for (level, worths) in worths.chunks_exact_mut(width).enumerate() {
            let bit = 1 << level;
            // Cells that differ at this level alone are one cell of the tree without it.
            for cell in (0..all.0.len()).filter(|cell| cell & bit == 0) {
                let (a, b) = (cell * width, (cell | bit) * width);
                let both = (all.0[cell] + all.0[cell | bit], all.1[cell] + all.1[cell | bit]);
                let (g_a, g_b) = (&right.0[a..a + width], &right.0[b..b + width]);
                let (h_a, h_b) = (&right.1[a..a + width], &right.1[b..b + width]);
                for i in 0..width {
                    let (g, h) = (g_a[i] + g_b[i], h_a[i] + h_b[i]);
                    worths[i] += leaf.worth(both.0 - g, both.1 - h) + leaf.worth(g, h);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_search::rng::Stream;

    #[test]
    fn a_newton_step_gains_half_of_the_squared_gradient_over_the_hessian() {
        let rule = LeafRule { lambda: 0.0, learning_rate: 1.0, least: 0.0 };
        assert_eq!(rule.worth(-6.0, 2.0), 9.0);
        assert_eq!(rule.worth(0.0, 0.0), 0.0);
    }

    #[test]
    fn sums_by_cell_and_class_are_those_of_a_plain_loop() {
        // Two of them small enough for copies.
        check_sums::<u8>(&[(1, 1), (32, 8), (32, 17), (4, 256), (256, 256)]);
        check_sums::<u16>(&[(1, 1), (32, 8), (2, 300), (2, 65_536)]);
        check_sums::<u32>(&[(4, 17), (2, 70_000)]);
    }

    fn check_sums<C: Code>(shapes: &[(usize, usize)]) {
        let mut stream = Stream::new(8, 1, 0);
        for &(cells, classes) in shapes {
            for n in [0, 1, 3, 255, 257, 3000] {
                let leaf: Vec<u8> = (0..n).map(|_| stream.below(cells as u64) as u8).collect();
                let class: Vec<C> =
                    (0..n).map(|_| C::from_index(stream.below(classes as u64) as usize)).collect();
                let pairs: Vec<DerivativePair> =
                    (0..n).map(|_| [stream.normal() as f32, stream.unit() as f32]).collect();
                let mut plain = vec![[0.0; 2]; cells * classes];
                for row in 0..n {
                    let sum = &mut plain[usize::from(leaf[row]) * classes + class[row].index()];
                    (0..2).for_each(|part| sum[part] += f64::from(pairs[row][part]));
                }
                let mut table = CellSums::default();
                table.clear(cells, classes);
                table.add(&leaf, &class, &pairs);
                for (sum, plain) in table.merged().iter().zip(&plain) {
                    assert!((0..2).all(|part| (sum[part] - plain[part]).abs() < 1e-9));
                }
                assert_eq!(table.merged().len(), plain.len());
            }
        }
    }

    #[test]
    fn a_rule_is_worth_what_its_leaves_are_at_every_level() {
        let mut stream = Stream::new(9, 1, 0);
        let (leaf, width) = (LeafRule { lambda: 0.5, learning_rate: 0.7, least: 1e-9 }, 2 * LANES);
        for depth in 1..=8 {
            let cells = 1 << depth;
            let mut numbers =
                |n: usize| (0..n).map(|_| stream.normal().abs()).collect::<Vec<f64>>();
            let (right_g, right_h) = (numbers(cells * width), numbers(cells * width));
            let (all_g, all_h) = (numbers(cells), numbers(cells));
            let (mut worths, mut same) = (vec![0.0; depth * width], vec![0.0; depth * width]);
            rule_worths(leaf, (&right_g, &right_h), (&all_g, &all_h), width, &mut worths);
            rule_worths::portable(leaf, (&right_g, &right_h), (&all_g, &all_h), width, &mut same);
            assert_eq!(worths, same);
            for (at, worth) in worths.iter().enumerate() {
                let (bit, rule) = (1 << (at / width), at % width);
                let cell = |cell: usize| {
                    let (a, b) = (cell * width + rule, (cell | bit) * width + rule);
                    let (g, h) = (right_g[a] + right_g[b], right_h[a] + right_h[b]);
                    let (both_g, both_h) =
                        (all_g[cell] + all_g[cell | bit], all_h[cell] + all_h[cell | bit]);
                    leaf.worth(g, h) + leaf.worth(both_g - g, both_h - h)
                };
                let plain: f64 = (0..cells).filter(|at| at & bit == 0).map(cell).sum();
                assert!((worth - plain).abs() < 1e-9 * (1.0 + plain.abs()), "{worth} {plain}");
            }
        }
    }
}
