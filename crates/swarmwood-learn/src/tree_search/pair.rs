//! The best of all trees of two levels, over all features and cuts, for mistakes or a matrix of
//! costs.
//!
//! Given the decisions of a rule's two sides, every row costs something on the left and something
//! on the right, so the best cut is where the sum of the differences, taken along the codes, is
//! greatest: a greatest prefix sum. It is kept in a segment tree, where a row that comes or goes
//! changes one way to the root. So while the cut of the first rule goes through the rows of one
//! feature, each of which leaves the right side for the left one, the best second rule of either
//! side over all features is always known: `O(features² rows log rows)` for the proven best tree,
//! where trying all pairs of cuts would take the square of the rows.
//!
//! Levels of a category are ordered by the share of the first class, and exact only along that
//! order. Missing values lie below all codes or above all of them, both of which are tried.

use crate::leaf_loss::Loss;
use crate::pool::Pool;
use crate::ranked::{CodeSet, Cut, Ranked, Rule, Target};
use crate::sketch::Twig;
use crate::sweep::{Demand, Lot};

/// The most classes for which all pairs of decisions are tried.
const MOST_CLASSES: usize = 4;

/// Whether the best tree of two levels can be found.
pub(super) fn can_solve(table: &Ranked, loss: &Loss) -> bool {
    let few = matches!(table.target(), Target::Classes { count, .. } if (2..=MOST_CLASSES).contains(count));
    few && matches!(loss, Loss::Error | Loss::Costs(_))
}

/// The best twig with at most two levels and `most_leaves` (3 or 4) leaves; none where no first
/// rule is allowed.
pub(super) fn best(
    table: &Ranked,
    rows: &[u32],
    loss: &Loss,
    min_leaf: usize,
    most_leaves: usize,
    pool: &Pool,
) -> Option<Twig> {
    let features: Vec<u32> = (0..table.columns().len() as u32)
        .filter(|&at| table.columns()[at as usize].top() > 0)
        .collect();
    let shared = Shared::new(table, rows, loss, min_leaf.max(1), &features);
    let found = pool.map(features.len(), |at| shared.best_first(at, most_leaves, pool));
    if pool.hurried() {
        // First rules that were not tried with every second one may look better than they are.
        return None;
    }
    let best = found
        .into_iter()
        .flatten()
        .reduce(|best, other| if other.loss < best.loss { other } else { best })?;
    // The second rules are looked for once more, now that only one pair of sides is left.
    let codes = table.columns()[best.rule.feature as usize].codes();
    let (right, left): (Vec<u32>, Vec<u32>) =
        rows.iter().partition(|&&row| best.rule.right(codes[row as usize]));
    let demand = Demand { loss, min_leaf };
    let side = |rows: Vec<u32>, split: bool| {
        let found =
            if split { Lot::fresh(table, rows).best(demand, &features, pool) } else { None };
        found.map_or(Twig::Leaf, |found| Twig::fork(found.rule, Twig::Leaf, Twig::Leaf))
    };
    Some(Twig::fork(best.rule, side(left, best.split[0]), side(right, best.split[1])))
}

/// A first rule with what the best tree below it costs.
struct First {
    loss: f64,
    rule: Rule,
    /// Whether the left and the right side are split again.
    split: [bool; 2],
}

/// A feature as positions along which prefix sums are taken.
struct Axis {
    feature: u32,
    /// The position of each row of the node.
    of: Vec<u16>,
    positions: usize,
    /// The code at each position, from 1 on; 0 for the place of missing values.
    codes: Vec<u16>,
    missing_right: bool,
}

struct Shared<'a> {
    table: &'a Ranked,
    /// What each class costs under each decision: by truth, then decision.
    cost: Vec<Vec<f64>>,
    classes: Vec<u16>,
    weights: Vec<f64>,
    min_leaf: usize,
    axes: Vec<Axis>,
    features: Vec<u32>,
}

/// The rows in the order of a first axis, with the places between them where a rule can cut.
struct Order {
    rows: Vec<u32>,
    /// How many rows lie left of each cut, and the position on the axis that the cut comes after.
    cuts: Vec<(usize, u16)>,
}

impl<'a> Shared<'a> {
    fn new(
        table: &'a Ranked,
        rows: &[u32],
        loss: &Loss,
        min_leaf: usize,
        features: &[u32],
    ) -> Self {
        let Target::Classes { of_row, count } = table.target() else {
            unreachable!("asked for classes alone")
        };
        let cost = |truth: usize, decision: usize| match loss {
            Loss::Costs(costs) => {
                let mut one = vec![0.0; *count];
                one[truth] = 1.0;
                costs.of(&one, decision)
            }
            _ => f64::from(u8::from(truth != decision)),
        };
        let cost = (0..*count)
            .map(|truth| (0..*count).map(|decision| cost(truth, decision)).collect())
            .collect();
        let classes: Vec<u16> = rows.iter().map(|&row| of_row[row as usize]).collect();
        let weights: Vec<f64> = rows.iter().map(|&row| table.weight(row)).collect();
        let mut axes = Vec::new();
        for &feature in features {
            axes.extend(Axis::of_feature(table, rows, feature));
        }
        Shared { table, cost, classes, weights, min_leaf, axes, features: features.to_vec() }
    }

    /// The best tree whose first rule asks for one feature.
    fn best_first(&self, at: usize, most_leaves: usize, pool: &Pool) -> Option<First> {
        let feature = self.features[at];
        let mut best: Option<First> = None;
        for axis in self.axes.iter().filter(|axis| axis.feature == feature) {
            let order = self.order(axis);
            let mut sides = self.leaves(&order);
            let leaves = sides.clone();
            for second in &self.axes {
                if pool.hurried() {
                    return None;
                }
                self.forks(&order, second, &mut sides);
            }
            for ((&(_, position), leaf), fork) in order.cuts.iter().zip(&leaves).zip(&sides) {
                let (loss, split) = cheapest(*leaf, *fork, most_leaves);
                if best.as_ref().is_none_or(|best| loss < best.loss) {
                    best = Some(First { loss, rule: axis.rule(position, self.table), split });
                }
            }
        }
        best
    }

    fn order(&self, axis: &Axis) -> Order {
        let mut rows: Vec<u32> = (0..axis.of.len() as u32).collect();
        rows.sort_by_key(|&row| axis.of[row as usize]);
        let mut cuts = Vec::new();
        for left in self.min_leaf..(rows.len() + 1).saturating_sub(self.min_leaf) {
            let (before, after) = (axis.of[rows[left - 1] as usize], axis.of[rows[left] as usize]);
            if before != after && axis.may_cut_after(before, self.table) {
                cuts.push((left, before));
            }
        }
        Order { rows, cuts }
    }

    /// What the two sides of each cut cost as leaves.
    fn leaves(&self, order: &Order) -> Vec<[f64; 2]> {
        let classes = self.cost.len();
        let (mut left, mut right) = (vec![0.0; classes], vec![0.0; classes]);
        order.rows.iter().for_each(|&row| {
            right[usize::from(self.classes[row as usize])] += self.weights[row as usize]
        });
        let mut done = 0;
        let mut sides = Vec::with_capacity(order.cuts.len());
        for &(to, _) in &order.cuts {
            for &row in &order.rows[done..to] {
                let (class, weight) =
                    (usize::from(self.classes[row as usize]), self.weights[row as usize]);
                left[class] += weight;
                right[class] -= weight;
            }
            done = to;
            sides.push([self.leaf(&left), self.leaf(&right)]);
        }
        sides
    }

    fn leaf(&self, counts: &[f64]) -> f64 {
        (0..counts.len())
            .map(|decision| self.decided(counts, decision))
            .fold(f64::INFINITY, f64::min)
    }

    fn decided(&self, counts: &[f64], decision: usize) -> f64 {
        counts.iter().zip(&self.cost).map(|(count, cost)| count * cost[decision]).sum()
    }

    /// Lowers what the sides of each cut cost to what they cost with a rule of one axis.
    fn forks(&self, order: &Order, second: &Axis, sides: &mut [[f64; 2]]) {
        let classes = self.cost.len();
        for (one, other) in
            (0..classes).flat_map(|one| (one + 1..classes).map(move |other| (one, other)))
        {
            // What a row saves where the other decision gives way to the one.
            let saved: Vec<f64> = self.cost.iter().map(|cost| cost[other] - cost[one]).collect();
            let mut trees = [Prefixes::new(second.positions), Prefixes::new(second.positions)];
            let mut counts = [vec![0.0; classes], vec![0.0; classes]];
            for &row in &order.rows {
                let (class, weight) =
                    (usize::from(self.classes[row as usize]), self.weights[row as usize]);
                trees[1].put(usize::from(second.of[row as usize]), weight * saved[class], 1);
                counts[1][class] += weight;
            }
            trees[1].build();
            let mut done = 0;
            for (&(to, _), side) in order.cuts.iter().zip(sides.iter_mut()) {
                for &row in &order.rows[done..to] {
                    let (class, weight) =
                        (usize::from(self.classes[row as usize]), self.weights[row as usize]);
                    let position = usize::from(second.of[row as usize]);
                    trees[0].add(position, weight * saved[class], 1);
                    trees[1].add(position, -weight * saved[class], -1);
                    counts[0][class] += weight;
                    counts[1][class] -= weight;
                }
                done = to;
                for (at, rows) in [(0, to), (1, order.rows.len() - to)] {
                    // One decision on the left and the other on the right, and the other way round.
                    let [most, least] = trees[at].ends(self.min_leaf, rows);
                    let first = self.decided(&counts[at], other) - most;
                    let second = self.decided(&counts[at], one) + least;
                    side[at] = side[at].min(first).min(second);
                }
            }
        }
    }
}

/// The loss of both sides with the second rules that the leaves allow, and which of them are used.
fn cheapest(leaf: [f64; 2], fork: [f64; 2], most_leaves: usize) -> (f64, [bool; 2]) {
    let used = [fork[0] < leaf[0], fork[1] < leaf[1]];
    if most_leaves >= 4 {
        return (fork[0] + fork[1], used);
    }
    let (left, right) = (fork[0] + leaf[1], leaf[0] + fork[1]);
    if left <= right { (left, [used[0], false]) } else { (right, [false, used[1]]) }
}

impl Axis {
    /// The axis of a feature; two where values are missing, which lie first on one and last on the
    /// other.
    fn of_feature(table: &Ranked, rows: &[u32], feature: u32) -> Vec<Axis> {
        let column = &table.columns()[feature as usize];
        let codes = |at: usize| column.codes()[rows[at] as usize];
        let mut seen: Vec<u16> = (0..rows.len()).map(codes).filter(|&code| code > 0).collect();
        seen.sort_unstable();
        seen.dedup();
        if column.is_category() {
            let held = |code: &u16| seen.binary_search(code).is_ok();
            seen = table.levels_by_target(feature, rows).into_iter().filter(held).collect();
        }
        let any_missing = (0..rows.len()).any(|at| codes(at) == 0);
        let mut place = vec![0_u16; usize::from(column.top()) + 1];
        let axis = |missing_right: bool| {
            let shift = u16::from(any_missing && !missing_right);
            (0..).zip(&seen).for_each(|(at, &code)| place[usize::from(code)] = at + shift);
            place[0] = if missing_right { seen.len() as u16 } else { 0 };
            let of = (0..rows.len()).map(|at| place[usize::from(codes(at))]).collect();
            let mut by_position = seen.clone();
            if any_missing {
                by_position.insert(usize::from(place[0]), 0);
            }
            Axis {
                feature,
                of,
                positions: by_position.len().max(1),
                codes: by_position,
                missing_right,
            }
        };
        let sides: &[bool] = if any_missing { &[true, false] } else { &[true] };
        sides.iter().copied().map(axis).collect()
    }

    /// Whether a rule can cut after a position: none can send missing values alone left, or all
    /// known ones left if one of them is infinite.
    fn may_cut_after(&self, position: u16, table: &Ranked) -> bool {
        let (left, right) = self.codes.split_at(usize::from(position) + 1);
        let column = &table.columns()[self.feature as usize];
        left.iter().any(|&code| code > 0)
            && (right.iter().any(|&code| code > 0) || column.is_bounded())
    }

    fn rule(&self, position: u16, table: &Ranked) -> Rule {
        let (left, right) = self.codes.split_at(usize::from(position) + 1);
        let cut = if table.columns()[self.feature as usize].is_category() {
            Cut::In(CodeSet::new(right.iter().copied().filter(|&code| code > 0)))
        } else {
            Cut::Above(left.iter().copied().max().unwrap_or(1))
        };
        Rule { feature: self.feature, cut, missing_right: self.missing_right }
    }
}

/// Sums along the positions of an axis with their greatest and least prefix.
struct Prefixes {
    /// A power of two.
    size: usize,
    nodes: Vec<Span>,
}

/// Some positions: the sum over them, and the greatest and the least of its prefixes that are not
/// empty.
#[derive(Clone, Copy, Default)]
struct Span {
    sum: f64,
    most: f64,
    least: f64,
    rows: u32,
}

impl Span {
    #[inline]
    fn join(left: Span, right: Span) -> Span {
        Span {
            sum: left.sum + right.sum,
            most: left.most.max(left.sum + right.most),
            least: left.least.min(left.sum + right.least),
            rows: left.rows + right.rows,
        }
    }
}

impl Prefixes {
    fn new(positions: usize) -> Self {
        let size = positions.next_power_of_two();
        Prefixes { size, nodes: vec![Span::default(); 2 * size] }
    }

    /// Changes one position and nothing above it.
    #[inline]
    fn put(&mut self, position: usize, change: f64, rows: i32) -> usize {
        let at = self.size + position;
        let span = &mut self.nodes[at];
        span.rows = span.rows.wrapping_add_signed(rows);
        // A position without rows keeps no crumbs of rounding.
        let sum = if span.rows == 0 { 0.0 } else { span.sum + change };
        (span.sum, span.most, span.least) = (sum, sum, sum);
        at
    }

    #[inline]
    fn add(&mut self, position: usize, change: f64, rows: i32) {
        let mut at = self.put(position, change, rows) / 2;
        while at > 0 {
            self.nodes[at] = Span::join(self.nodes[2 * at], self.nodes[2 * at + 1]);
            at /= 2;
        }
    }

    /// Everything above the positions.
    fn build(&mut self) {
        for at in (1..self.size).rev() {
            self.nodes[at] = Span::join(self.nodes[2 * at], self.nodes[2 * at + 1]);
        }
    }

    /// The greatest and the least prefix with at least `min_leaf` rows in it and as many after it.
    #[inline]
    fn ends(&self, min_leaf: usize, rows: usize) -> [f64; 2] {
        const NONE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
        if rows < 2 * min_leaf {
            return NONE;
        }
        if min_leaf <= 1 {
            // A prefix without rows, or with all of them, is a leaf, which is in the comparison
            // anyway.
            return [self.nodes[1].most, self.nodes[1].least];
        }
        self.within(1, 0, 0.0, (min_leaf, rows - min_leaf))
    }

    /// The ends of prefixes that stop in a node's positions with a number of rows in the range.
    fn within(&self, at: usize, before: usize, sum: f64, range: (usize, usize)) -> [f64; 2] {
        let span = self.nodes[at];
        let rows = span.rows as usize;
        let whole = before >= range.0 && before + rows <= range.1;
        let stops = at >= self.size && (range.0..=range.1).contains(&(before + rows));
        if whole || stops {
            return [sum + span.most, sum + span.least];
        }
        if at >= self.size || before + rows < range.0 || before > range.1 {
            return [f64::NEG_INFINITY, f64::INFINITY];
        }
        let left = self.nodes[2 * at];
        let a = self.within(2 * at, before, sum, range);
        let b = self.within(2 * at + 1, before + left.rows as usize, sum + left.sum, range);
        [a[0].max(b[0]), a[1].min(b[1])]
    }
}
