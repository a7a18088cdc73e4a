//! The best trees of two and of three levels over coarse cuts, for any loss that follows from sums.
//!
//! Every feature is cut into a few bins of equal size. For each pair of features a table counts the
//! rows by both bins, and from the tables the best pair of second rules below every first rule
//! follows without another look at the rows. While the cut of a root above goes through the bins of
//! its feature, rows move from the tables of the right side to those of the left, so that every
//! root is judged by the best two levels below each of its sides.
//!
//! What is found is exact for the coarse cuts, and a start for descents, which know all cuts.
//! Missing values lie below all others here; levels of a category are ordered by their mean target.

use super::{Problem, roots};
use crate::leaf_loss::Loss;
use crate::pool::Pool;
use crate::ranked::{CodeSet, Cut, Ranked, Rule, Target};
use crate::sketch::Twig;

/// The most sums of a leaf, the number of its rows among them.
const MOST_SUMS: usize = 8;

/// The most bins for two levels.
const PAIR_BINS: usize = 32;

/// The most bins for three levels.
const ROOT_BINS: usize = 16;

/// The most cells of all tables together.
const MOST_CELLS: usize = 1 << 22;

/// Rows between two questions for the time.
pub(super) const ASKED: usize = 1 << 10;

/// A feature in bins.
struct Axis {
    feature: u32,
    /// The bin of each row.
    of: Vec<u8>,
    /// The codes of each bin, in order.
    codes: Vec<Vec<u16>>,
}

/// A rule by axis and the last bin that goes left.
type Place = (u8, u8);

/// A tree of two levels with its loss.
#[derive(Clone, Copy, Debug)]
struct Two {
    loss: f64,
    first: Place,
    second: [Option<Place>; 2],
}

impl Problem<'_> {
    /// The best twig of two levels for some rows over coarse cuts; none where the loss or the
    /// number of features is beyond the tables.
    pub(super) fn best_of_two_levels(&self, rows: &[u32], most_leaves: usize) -> Option<Twig> {
        let axes = self.axes(rows, PAIR_BINS.min(bins_for(rows.len()) * 2))?;
        let two = self.dispatch(&axes, rows, |work| work.two_levels(most_leaves))??;
        // Tables that were not filled to the end say nothing.
        (!self.pool.hurried()).then(|| two.twig(self.table, &axes))
    }

    /// Twigs of three levels, the best for each of the best roots, at most `count`, the best first.
    pub(super) fn best_of_three_levels(&self, count: usize) -> Vec<Twig> {
        let rows: Vec<u32> = (0..self.table.rows() as u32).collect();
        let Some(axes) = self.axes(&rows, bins_for(rows.len())) else { return Vec::new() };
        let quick = self.mistakes_of_roots(&axes);
        let roots = self.dispatch(&axes, &rows, |work| match &quick {
            Some(quick) => work.these_roots(quick.iter().take(count).copied().collect()),
            None => work.three_levels(),
        });
        let twig = |(place, below, _): &Root| {
            let side = |two: &Option<Two>| {
                two.as_ref().map_or(Twig::Leaf, |two| two.twig(self.table, &axes))
            };
            Twig::fork(rule(self.table, &axes, *place), side(&below[0]), side(&below[1]))
        };
        let roots = roots.filter(|_| !self.pool.hurried());
        roots.unwrap_or_default().iter().take(count).map(twig).collect()
    }

    /// All roots of three levels, the best first, where counting mistakes by lanes can tell; equals
    /// stay in order.
    fn mistakes_of_roots(&self, axes: &[Axis]) -> Option<Vec<Place>> {
        let Target::Classes { of_row, count: 2 } = self.table.target() else { return None };
        let few = self.table.rows() < roots::MOST_ROWS
            && axes.iter().all(|axis| axis.codes.len() <= ROOT_BINS);
        if self.settings.loss != Loss::Error || self.table.is_weighted() || !few {
            return None;
        }
        let binned = roots::Binned {
            axes: axes.iter().map(|axis| (&axis.of[..], axis.codes.len())).collect(),
            second_class: of_row.iter().map(|&class| class == 1).collect(),
            min_leaf: self.settings.limits.min_leaf.max(1),
        };
        let mut found = roots::mistakes(&binned, self.pool);
        found.sort_by(|a, b| a.2.total_cmp(&b.2));
        Some(found.into_iter().map(|(axis, bin, _)| (axis as u8, bin as u8)).collect())
    }

    fn axes(&self, rows: &[u32], bins: usize) -> Option<Vec<Axis>> {
        let axis = |&feature: &u32| Axis::new(self.table, rows, feature, bins);
        let axes: Vec<Axis> = self.features.iter().filter_map(axis).collect();
        let cells = axes.len() * (axes.len() + 1) / 2 * bins * bins;
        (!axes.is_empty() && axes.len() <= 256 && cells <= MOST_CELLS).then_some(axes)
    }

    /// Calls the work with sums of the width that the target has.
    fn dispatch<R>(
        &self,
        axes: &[Axis],
        rows: &[u32],
        call: impl Fn(&dyn Levels) -> R,
    ) -> Option<R> {
        let loss = &self.settings.loss;
        if *loss == Loss::Absolute {
            return None;
        }
        let width = match self.table.target() {
            Target::Classes { count, .. } => *count,
            Target::Numbers { .. } => 2,
        };
        let min_leaf = self.settings.limits.min_leaf.max(1);
        macro_rules! widths {
            ($($width:literal)*) => {
                match width {
                    $($width => Some(call(&Work::<$width, { $width + 1 }>::new(self, axes, rows, loss, min_leaf))),)*
                    _ => None,
                }
            };
        }
        const { assert!(MOST_SUMS == 8) };
        widths!(2 3 4 5 6 7)
    }
}

/// Enough bins to tell good roots from bad ones, few enough to try all of them.
fn bins_for(rows: usize) -> usize {
    ((rows as f64).sqrt() / 2.0).clamp(6.0, ROOT_BINS as f64) as usize
}

/// A root of three levels with the best two levels on its sides and the loss of them all.
type Root = (Place, [Option<Two>; 2], f64);

/// The questions, whatever the width of the sums.
trait Levels {
    fn two_levels(&self, most_leaves: usize) -> Option<Two>;
    /// All roots, the best first.
    fn three_levels(&self) -> Vec<Root>;
    /// Some roots, in the order given.
    fn these_roots(&self, places: Vec<Place>) -> Vec<Root>;
}

/// Rows with what they carry: `W` sums of the loss, and one for the number of rows.
struct Work<'a, const W: usize, const V: usize> {
    pool: &'a Pool,
    axes: &'a [Axis],
    loss: &'a Loss,
    min_leaf: f64,
    loads: Vec<[f64; V]>,
    /// Where the table of each pair of axes starts, and its length.
    starts: Vec<usize>,
    cells: usize,
}

/// The tables of all pairs of axes.
#[derive(Clone)]
struct Tables<const V: usize> {
    cells: Vec<[f64; V]>,
    total: [f64; V],
}

impl<'a, const W: usize, const V: usize> Work<'a, W, V> {
    fn new(
        problem: &'a Problem<'_>,
        axes: &'a [Axis],
        rows: &[u32],
        loss: &'a Loss,
        min_leaf: usize,
    ) -> Self {
        let (table, pool) = (problem.table, problem.pool);
        let load = |&row: &u32| {
            let mut load = [0.0; V];
            let weight = table.weight(row);
            match table.target() {
                Target::Classes { of_row, .. } => load[usize::from(of_row[row as usize])] = weight,
                Target::Numbers { of_row, .. } => {
                    load[0] = weight;
                    load[1] = weight * of_row[row as usize];
                }
            }
            load[W] = 1.0;
            load
        };
        let mut starts = Vec::new();
        let mut cells = 0;
        for (first, axis) in axes.iter().enumerate() {
            for other in &axes[first..] {
                starts.push(cells);
                cells += axis.codes.len() * other.codes.len();
            }
        }
        Work {
            pool,
            axes,
            loss,
            min_leaf: min_leaf as f64,
            loads: rows.iter().map(load).collect(),
            starts,
            cells,
        }
    }

    fn empty(&self) -> Tables<V> {
        Tables { cells: vec![[0.0; V]; self.cells], total: [0.0; V] }
    }

    /// Puts a row into all tables.
    fn add(&self, tables: &mut Tables<V>, row: usize) {
        let load = &self.loads[row];
        let mut starts = self.starts.iter();
        for (first, axis) in self.axes.iter().enumerate() {
            let bin = usize::from(axis.of[row]);
            for (other, &start) in self.axes[first..].iter().zip(&mut starts) {
                let cell =
                    &mut tables.cells[start + bin * other.codes.len() + usize::from(other.of[row])];
                (0..V).for_each(|at| cell[at] += load[at]);
            }
        }
        (0..V).for_each(|at| tables.total[at] += load[at]);
    }

    /// Puts rows into all tables, unless there is no time.
    fn add_all(&self, tables: &mut Tables<V>, rows: impl Iterator<Item = usize>) {
        for (count, row) in rows.enumerate() {
            if count % ASKED == 0 && self.pool.hurried() {
                return;
            }
            self.add(tables, row);
        }
    }

    fn all(&self) -> Tables<V> {
        let mut tables = self.empty();
        self.add_all(&mut tables, 0..self.loads.len());
        tables
    }

    #[inline(always)]
    fn leaf(&self, sums: &[f64; V]) -> f64 {
        match self.loss {
            Loss::Mix { share } => {
                let (mut total, mut most, mut squares) = (0.0, 0.0_f64, 0.0);
                for &count in &sums[..W] {
                    total += count;
                    most = most.max(count);
                    squares += count * count;
                }
                let gini = if total > 0.0 { total - squares / total } else { 0.0 };
                (1.0 - share) * (total - most) + share * gini
            }
            loss => loss.of(&sums[..W]),
        }
    }

    /// The best tree of two levels for the rows of some tables.
    fn two(&self, tables: &Tables<V>, most_leaves: usize) -> Option<Two> {
        let count = self.axes.len();
        let mut firsts: Vec<Vec<Forks>> = self
            .axes
            .iter()
            .enumerate()
            .map(|(at, axis)| self.leaves(tables, at, axis.codes.len()))
            .collect();
        let mut pair = 0;
        for first in 0..count {
            for second in first..count {
                let (wide, narrow) = (self.axes[first].codes.len(), self.axes[second].codes.len());
                let cells = &tables.cells[self.starts[pair]..][..wide * narrow];
                self.forks(
                    cells,
                    (wide, narrow),
                    (narrow, 1),
                    second,
                    &mut firsts[first],
                    &tables.total,
                );
                if first != second {
                    self.forks(
                        cells,
                        (narrow, wide),
                        (1, narrow),
                        first,
                        &mut firsts[second],
                        &tables.total,
                    );
                }
                pair += 1;
            }
        }
        let mut best: Option<Two> = None;
        for (axis, cuts) in firsts.iter().enumerate() {
            for (cut, forks) in cuts.iter().enumerate().filter(|(_, forks)| forks.allowed) {
                let (loss, second) = forks.cheapest(most_leaves);
                if best.is_none_or(|best| loss < best.loss) {
                    best = Some(Two { loss, first: (axis as u8, cut as u8), second });
                }
            }
        }
        best
    }

    /// A root, given the tables of the rows on its left; none if a side has too few rows.
    fn root(&self, place: Place, left: &Tables<V>, all: &Tables<V>) -> Option<Root> {
        let mut right = all.clone();
        for (cell, gone) in right.cells.iter_mut().zip(&left.cells) {
            (0..V).for_each(|at| cell[at] -= gone[at]);
        }
        (0..V).for_each(|at| right.total[at] -= left.total[at]);
        if left.total[W] < self.min_leaf || right.total[W] < self.min_leaf {
            return None;
        }
        let sides = [self.two(left, 4), self.two(&right, 4)];
        let cost = |two: &Option<Two>, total: &[f64; V]| {
            two.as_ref().map_or(f64::INFINITY, |two| two.loss).min(self.leaf(total))
        };
        let loss = cost(&sides[0], &left.total) + cost(&sides[1], &right.total);
        Some((place, sides, loss))
    }

    /// What both sides of each cut of an axis cost as leaves.
    fn leaves(&self, tables: &Tables<V>, axis: usize, bins: usize) -> Vec<Forks> {
        // The table of an axis with itself has its rows on the diagonal.
        let start = self.starts[(0..axis).map(|before| self.axes.len() - before).sum::<usize>()];
        let mut left = [0.0; V];
        let mut cuts = Vec::with_capacity(bins.saturating_sub(1));
        for bin in 0..bins.saturating_sub(1) {
            let cell = &tables.cells[start + bin * bins + bin];
            (0..V).for_each(|at| left[at] += cell[at]);
            let right: [f64; V] = std::array::from_fn(|at| tables.total[at] - left[at]);
            let leaf = [self.leaf(&left), self.leaf(&right)];
            let allowed = left[W] >= self.min_leaf && right[W] >= self.min_leaf;
            cuts.push(Forks { leaf, fork: leaf, place: [None; 2], allowed });
        }
        cuts
    }

    /// Betters the sides of each cut of a first axis by rules of a second one. The table has its
    /// bins at `first * stride.0 + second * stride.1`.
    fn forks(
        &self,
        cells: &[[f64; V]],
        (firsts, seconds): (usize, usize),
        stride: (usize, usize),
        second: usize,
        cuts: &mut [Forks],
        total: &[f64; V],
    ) {
        // Sums over the bins of the first axis on either side of the cut, by bin of the second.
        let mut left = [[0.0; V]; PAIR_BINS];
        let mut right = [[0.0; V]; PAIR_BINS];
        for first in 0..firsts {
            for (bin, sums) in right.iter_mut().enumerate().take(seconds) {
                let cell = &cells[first * stride.0 + bin * stride.1];
                (0..V).for_each(|at| sums[at] += cell[at]);
            }
        }
        let (mut in_left, mut in_right) = ([0.0; V], *total);
        for (first, cut) in cuts.iter_mut().enumerate() {
            for bin in 0..seconds {
                let cell = &cells[first * stride.0 + bin * stride.1];
                for at in 0..V {
                    left[bin][at] += cell[at];
                    right[bin][at] -= cell[at];
                    in_left[at] += cell[at];
                    in_right[at] -= cell[at];
                }
            }
            if cut.allowed {
                self.better(&left[..seconds], &in_left, second, 0, cut);
                self.better(&right[..seconds], &in_right, second, 1, cut);
            }
        }
    }

    /// Tries all cuts of a second axis on one side.
    #[inline]
    fn better(
        &self,
        bins: &[[f64; V]],
        total: &[f64; V],
        second: usize,
        side: usize,
        cut: &mut Forks,
    ) {
        if cut.fork[side] <= 0.0 && *self.loss != Loss::Squared {
            return;
        }
        let mut low = [0.0; V];
        for (bin, sums) in bins[..bins.len() - 1].iter().enumerate() {
            (0..V).for_each(|at| low[at] += sums[at]);
            let high: [f64; V] = std::array::from_fn(|at| total[at] - low[at]);
            if low[W] < self.min_leaf || high[W] < self.min_leaf || sums[W] == 0.0 {
                continue;
            }
            let loss = self.leaf(&low) + self.leaf(&high);
            if loss < cut.fork[side] {
                cut.fork[side] = loss;
                cut.place[side] = Some((second as u8, bin as u8));
            }
        }
    }
}

impl<const W: usize, const V: usize> Levels for Work<'_, W, V> {
    fn two_levels(&self, most_leaves: usize) -> Option<Two> {
        self.two(&self.all(), most_leaves)
    }

    fn three_levels(&self) -> Vec<Root> {
        let all = self.all();
        let mut roots: Vec<Root> = self
            .pool
            .map(self.axes.len(), |axis| {
                let bins = self.axes[axis].codes.len();
                let mut of_bin = vec![Vec::new(); bins];
                self.axes[axis]
                    .of
                    .iter()
                    .enumerate()
                    .for_each(|(row, &bin)| of_bin[usize::from(bin)].push(row));
                let mut left = self.empty();
                let mut found = Vec::new();
                for (bin, rows) in of_bin.iter().enumerate().take(bins - 1) {
                    self.add_all(&mut left, rows.iter().copied());
                    if self.pool.hurried() {
                        break;
                    }
                    found.extend(self.root((axis as u8, bin as u8), &left, &all));
                }
                found
            })
            .into_iter()
            .flatten()
            .collect();
        roots.sort_by(|a, b| a.2.total_cmp(&b.2));
        roots
    }

    fn these_roots(&self, places: Vec<Place>) -> Vec<Root> {
        let all = self.all();
        let root = |place: Place| {
            let of = &self.axes[usize::from(place.0)].of;
            let mut left = self.empty();
            self.add_all(&mut left, (0..of.len()).filter(|&row| of[row] <= place.1));
            self.root(place, &left, &all)
        };
        places.into_iter().filter_map(root).collect()
    }
}

/// The two sides of a first cut.
#[derive(Clone, Copy)]
struct Forks {
    leaf: [f64; 2],
    fork: [f64; 2],
    place: [Option<Place>; 2],
    allowed: bool,
}

impl Forks {
    fn cheapest(&self, most_leaves: usize) -> (f64, [Option<Place>; 2]) {
        let [left, right] = self.place;
        if most_leaves >= 4 {
            return (self.fork[0] + self.fork[1], [left, right]);
        }
        let (by_left, by_right) = (self.fork[0] + self.leaf[1], self.leaf[0] + self.fork[1]);
        if by_left <= by_right { (by_left, [left, None]) } else { (by_right, [None, right]) }
    }
}

impl Two {
    fn twig(&self, table: &Ranked, axes: &[Axis]) -> Twig {
        let side = |place: Option<Place>| {
            place.map_or(Twig::Leaf, |place| {
                Twig::fork(rule(table, axes, place), Twig::Leaf, Twig::Leaf)
            })
        };
        Twig::fork(rule(table, axes, self.first), side(self.second[0]), side(self.second[1]))
    }
}

fn rule(table: &Ranked, axes: &[Axis], (axis, bin): Place) -> Rule {
    let axis = &axes[usize::from(axis)];
    let (left, right) = axis.codes.split_at(usize::from(bin) + 1);
    let cut = if table.columns()[axis.feature as usize].is_category() {
        Cut::In(CodeSet::new(right.iter().flatten().copied().filter(|&code| code > 0)))
    } else {
        Cut::Above(left.iter().flatten().copied().max().unwrap_or(0))
    };
    Rule { feature: axis.feature, cut, missing_right: false }
}

impl Axis {
    /// Bins of nearly equal size along the codes; none if all rows have one code.
    fn new(table: &Ranked, rows: &[u32], feature: u32, bins: usize) -> Option<Axis> {
        let column = &table.columns()[feature as usize];
        let mut counts = vec![0_usize; usize::from(column.top()) + 1];
        rows.iter().for_each(|&row| counts[usize::from(column.codes()[row as usize])] += 1);
        let mut seen: Vec<u16> =
            (0..=column.top()).filter(|&code| counts[usize::from(code)] > 0).collect();
        if seen.len() < 2 || seen == [0] {
            return None;
        }
        if column.is_category() {
            // Missing values stay in front.
            let levels = table.levels_by_target(feature, rows);
            let held = |code: &u16| counts[usize::from(*code)] > 0;
            seen = std::iter::once(0).chain(levels).filter(held).collect();
        }
        let mut bin_of = vec![0_u8; counts.len()];
        let mut codes: Vec<Vec<u16>> = vec![Vec::new()];
        let (mut held, mut left) = (0, rows.len());
        for &code in &seen {
            let here = counts[usize::from(code)];
            let open = bins - codes.len() + 1;
            // A bin is full at its share of the rows that are left, or at one code where there is a
            // bin a code. Missing values share one with the least numbers: no threshold lies
            // between them.
            let full = seen.len() <= bins || held * open >= left;
            let full = full && codes.last().is_some_and(|last| last != &[0]);
            if held > 0 && full && codes.len() < bins {
                left -= held;
                held = 0;
                codes.push(Vec::new());
            }
            held += here;
            bin_of[usize::from(code)] = codes.len() as u8 - 1;
            if let Some(last) = codes.last_mut() {
                last.push(code);
            }
        }
        let of =
            rows.iter().map(|&row| bin_of[usize::from(column.codes()[row as usize])]).collect();
        (codes.len() > 1).then_some(Axis { feature, of, codes })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use swarmwood_model::{Feature, Kind};

    use super::*;
    use crate::cart::Limits;
    use crate::data::{Chunk, Column};
    use crate::tree_search::Settings;

    proptest! {
        /// Counting mistakes by lanes orders roots as the tables of sums do.
        #[test]
        fn roots_by_lanes_equal_roots_by_tables(
            cells in prop::collection::vec((0u8..14, 0u8..14, 0u8..3, any::<bool>()), 8..80),
            min_leaf in 1usize..4,
            bins in prop_oneof![Just(6_usize), Just(8), Just(13)],
        ) {
            let number = |of: fn(&(u8, u8, u8, bool)) -> u8| Column::Number(cells.iter().map(|cell| f64::from(of(cell))).collect());
            let columns = vec![number(|cell| cell.0), number(|cell| cell.1), number(|cell| cell.2)];
            let target = cells.iter().map(|cell| f64::from(u8::from(cell.3))).collect();
            let chunk = Chunk { columns, target, rows: cells.len(), ..Chunk::default() };
            let features = ["x", "y", "z"].map(|name| Feature { name: name.into(), kind: Kind::Number });
            let table = Ranked::new(&chunk, &features, Some(2), 100);
            let limits = Limits { leaves: 0, depth: 3, min_leaf };
            let settings = Settings { loss: Loss::Error, limits, population: 1, descents: 0, seed: 0 };
            let pool = Pool::new(1).unwrap();
            let problem = Problem::new(&table, &settings, &pool, &|| false);
            let rows: Vec<u32> = (0..table.rows() as u32).collect();
            if let Some(axes) = problem.axes(&rows, bins) {
                let slow = problem.dispatch(&axes, &rows, |work| work.three_levels()).unwrap();
                let quick = problem.mistakes_of_roots(&axes).unwrap();
                prop_assert_eq!(&quick, &slow.iter().map(|root| root.0).collect::<Vec<_>>());
                let again = problem.dispatch(&axes, &rows, |work| work.these_roots(quick.clone())).unwrap();
                for (one, other) in again.iter().zip(&slow) {
                    prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
                }
            }
        }
    }
}
