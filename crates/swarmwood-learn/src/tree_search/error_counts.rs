//! The number of misclassified rows of the best tree of three levels over coarse cuts, for every
//! root, without the tree itself.
//!
//! Only a few of the roots are examined further, so for most of them the number suffices. For two
//! classes and the misclassification rate it is a function of row counts alone, which single
//! precision holds exactly: a table for each pair of features keeps, for each bin of the first and
//! each class, how many rows lie in or below each bin of the second. All cuts of the second feature
//! are adjacent SIMD lanes, and the four leaves of a pair of cuts serve both as "first feature, then
//! second" and as "second, then first".

use super::lookahead::rows_per_check;
use crate::context::Context;

/// Maximum number of rows that single precision counts exactly.
pub(super) const MAX_ROWS: usize = 1 << 24;

/// The rows: the bin of each row on each axis, how many bins each axis has, and the class of each
/// row.
pub(super) struct BinnedClasses<'a> {
    pub(super) axes: Vec<(&'a [u8], usize)>,
    pub(super) second_class: Vec<bool>,
    pub(super) min_leaf: usize,
}

/// Axis, last bin on the left and number of errors of the best tree of every allowed root, in the
/// order of axes and bins. Incomplete when the budget is interrupted.
pub(super) fn errors(rows: &BinnedClasses<'_>, context: Context<'_>) -> Vec<(usize, usize, f64)> {
    let most = rows.axes.iter().map(|axis| axis.1).max().unwrap_or(0);
    match (most <= 8, rows.min_leaf > 1) {
        (true, false) => ErrorCounter::<8, false>::new(rows).all(context),
        (true, true) => ErrorCounter::<8, true>::new(rows).all(context),
        (false, false) => ErrorCounter::<16, false>::new(rows).all(context),
        (false, true) => ErrorCounter::<16, true>::new(rows).all(context),
    }
}

/// Rows of each class in or below each bin.
type ClassCounts<const L: usize> = [[f32; L]; 2];

/// Counts in `L` lanes. With `STRICT`, leaves that are too small must be excluded; otherwise only
/// empty ones would be, and a rule with an empty side lowers no error.
struct ErrorCounter<'a, const L: usize, const STRICT: bool> {
    rows: &'a BinnedClasses<'a>,
    /// Where the table of each pair of axes starts; axes run as in two nested loops, the second
    /// from the first on.
    starts: Vec<usize>,
    cells: usize,
    /// One from a bin on.
    steps: [[f32; L]; L],
}

impl<'a, const L: usize, const STRICT: bool> ErrorCounter<'a, L, STRICT> {
    fn new(rows: &'a BinnedClasses<'a>) -> Self {
        let (mut starts, mut cells) = (Vec::new(), 0);
        for (first, axis) in rows.axes.iter().enumerate() {
            for _ in first..rows.axes.len() {
                starts.push(cells);
                cells += axis.1;
            }
        }
        let steps =
            std::array::from_fn(|bin| std::array::from_fn(|lane| f32::from(u8::from(lane >= bin))));
        ErrorCounter { rows, starts, cells, steps }
    }

    fn all(&self, context: Context<'_>) -> Vec<(usize, usize, f64)> {
        let mut whole = vec![[[0.0; L]; 2]; self.cells];
        self.add_all(&mut whole, 0..self.rows.second_class.len(), context);
        let of_axis =
            context.pool.map(self.rows.axes.len(), |axis| self.of_axis(axis, &whole, context));
        of_axis.into_iter().flatten().collect()
    }

    fn of_axis(
        &self,
        axis: usize,
        whole: &[ClassCounts<L>],
        context: Context<'_>,
    ) -> Vec<(usize, usize, f64)> {
        let (of, bins) = self.rows.axes[axis];
        let mut of_bin = vec![Vec::new(); bins];
        of.iter().enumerate().for_each(|(row, &bin)| of_bin[usize::from(bin)].push(row));
        let (mut left, mut right) = (vec![[[0.0; L]; 2]; self.cells], whole.to_vec());
        let mut held = 0;
        let mut found = Vec::new();
        for (bin, rows) in of_bin.iter().enumerate().take(bins - 1) {
            self.add_all(&mut left, rows.iter().copied(), context);
            held += rows.len();
            if context.budget.is_interrupted() {
                break;
            }
            if held < self.rows.min_leaf || of.len() - held < self.rows.min_leaf {
                continue;
            }
            for ((right, whole), left) in right.iter_mut().zip(whole).zip(&left) {
                for class in 0..2 {
                    (0..L).for_each(|lane| {
                        right[class][lane] = whole[class][lane] - left[class][lane]
                    });
                }
            }
            found.push((
                axis,
                bin,
                f64::from(self.two_levels(&left, context))
                    + f64::from(self.two_levels(&right, context)),
            ));
        }
        found
    }

    /// Adds rows to all tables, until the budget is interrupted.
    fn add_all(
        &self,
        cells: &mut [ClassCounts<L>],
        rows: impl Iterator<Item = usize>,
        context: Context<'_>,
    ) {
        let every = rows_per_check(self.starts.len());
        for (count, row) in rows.enumerate() {
            if count % every == 0 && context.budget.is_interrupted() {
                return;
            }
            self.add(cells, row);
        }
    }

    /// Adds a row to all tables.
    fn add(&self, cells: &mut [ClassCounts<L>], row: usize) {
        let class = usize::from(self.rows.second_class[row]);
        let mut starts = self.starts.iter();
        for (first, (of, _)) in self.rows.axes.iter().enumerate() {
            let bin = usize::from(of[row]);
            for ((other, _), &start) in self.rows.axes[first..].iter().zip(&mut starts) {
                let step = &self.steps[usize::from(other[row])];
                let cell = &mut cells[start + bin][class];
                (0..L).for_each(|lane| cell[lane] += step[lane]);
            }
        }
    }

    /// The fewest errors of a tree of at most two levels for the rows of some tables.
    fn two_levels(&self, cells: &[ClassCounts<L>], context: Context<'_>) -> f32 {
        let axes = &self.rows.axes;
        let mut below = vec![SideErrors::<L>::none(); axes.len()];
        let mut single = vec![[[0.0; L]; 2]; axes.len()];
        let mut starts = self.starts.iter();
        for first in 0..axes.len() {
            if context.budget.is_interrupted() {
                return f32::INFINITY;
            }
            let mut of_first = vec![SideErrors::<L>::none(); axes[first].1 - 1];
            for (second, &start) in (first..axes.len()).zip(&mut starts) {
                let table = &cells[start..start + axes[first].1];
                let total = self.pair(table, &mut of_first, &mut below[second]);
                if second == first {
                    single[first] = total;
                }
            }
            for (cut, of_cut) in of_first.iter().enumerate() {
                let least = |side: &[f32; L]| side.iter().copied().fold(f32::INFINITY, min);
                let lane = &mut below[first];
                lane.low[cut] = min(lane.low[cut], least(&of_cut.low));
                lane.high[cut] = min(lane.high[cut], least(&of_cut.high));
            }
        }
        let total = [single[0][0][L - 1], single[0][1][L - 1]];
        let mut best = min(total[0], total[1]);
        let least = self.rows.min_leaf as f32;
        for ((sides, counts), &(_, bins)) in below.iter().zip(&single).zip(axes) {
            let of_classes = counts[0].iter().zip(&counts[1]).take(bins - 1);
            for (cut, (&one, &other)) in of_classes.enumerate() {
                let low = [one, other];
                let high = [total[0] - low[0], total[1] - low[1]];
                if low[0] + low[1] >= least && high[0] + high[1] >= least {
                    let of_low = min(sides.low[cut], min(low[0], low[1]));
                    let of_high = min(sides.high[cut], min(high[0], high[1]));
                    best = min(best, of_low + of_high);
                }
            }
        }
        best
    }

    /// Lowers the errors of the sides of the cuts of two axes, those of the first axis by a rule of
    /// the second and vice versa. Returns the counts along the second axis.
    #[inline]
    fn pair(
        &self,
        table: &[ClassCounts<L>],
        of_first: &mut [SideErrors<L>],
        of_second: &mut SideErrors<L>,
    ) -> ClassCounts<L> {
        let mut total = [[0.0; L]; 2];
        for cell in table {
            (0..2)
                .for_each(|class| (0..L).for_each(|lane| total[class][lane] += cell[class][lane]));
        }
        let all = [total[0][L - 1], total[1][L - 1]];
        let mut low = [[0.0_f32; L]; 2];
        for (cell, first) in table.iter().zip(of_first) {
            (0..2).for_each(|class| (0..L).for_each(|lane| low[class][lane] += cell[class][lane]));
            let held = [low[0][L - 1], low[1][L - 1]];
            for lane in 0..L {
                // The four leaves: below or above the cut of the first axis, then of the second.
                let low_low = [low[0][lane], low[1][lane]];
                let low_high = [held[0] - low_low[0], held[1] - low_low[1]];
                let high_low = [total[0][lane] - low_low[0], total[1][lane] - low_low[1]];
                let high_high = [all[0] - held[0] - high_low[0], all[1] - held[1] - high_low[1]];
                first.low[lane] = min(first.low[lane], self.both(low_low, low_high));
                first.high[lane] = min(first.high[lane], self.both(high_low, high_high));
                of_second.low[lane] = min(of_second.low[lane], self.both(low_low, high_low));
                of_second.high[lane] = min(of_second.high[lane], self.both(low_high, high_high));
            }
        }
        total
    }

    /// The errors of two leaves; infinite if one is too small.
    #[inline(always)]
    fn both(&self, one: [f32; 2], other: [f32; 2]) -> f32 {
        let wrong = min(one[0], one[1]) + min(other[0], other[1]);
        let least = self.rows.min_leaf as f32;
        let allowed = !STRICT || (one[0] + one[1] >= least && other[0] + other[1] >= least);
        if allowed { wrong } else { f32::INFINITY }
    }
}

/// The fewest errors below and above each cut of an axis, with a second rule on that side.
#[derive(Clone, Copy)]
struct SideErrors<const L: usize> {
    low: [f32; L],
    high: [f32; L],
}

impl<const L: usize> SideErrors<L> {
    fn none() -> Self {
        SideErrors { low: [f32::INFINITY; L], high: [f32::INFINITY; L] }
    }
}

/// `f32::min` for numbers, of which none is NaN: one instruction.
#[inline(always)]
fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}
