//! Isotonic regression on a partial order: the values nearest to given ones, in the sense of weighted
//! squares, that are in a given order.
//!
//! Values that are tied by the order form blocks, and a block takes the weighted mean of its
//! members. The blocks are found by recursive partitioning: of a set, the part that gains most by
//! being raised above the mean of the set is a maximum closure, which is a minimum cut (Picard 1976);
//! the set is parted there, and both parts are solved on their own, until no part gains (Spouge, Wan,
//! Wilbur 2003). That is the exact optimum for every sum of squares, and of the Bregman divergences
//! (log loss among them) too.

mod few_items;

use std::collections::VecDeque;

use few_items::each_item;

/// Shares of the largest capacity below which a residual capacity counts as none.
const CAPACITY_TOLERANCE: f64 = 1e-12;

/// The weight of a value without weight, relative to the largest one: such a value takes what its
/// neighbours leave it.
const LEAST_WEIGHT: f64 = 1e-12;

/// A partial order over some items: pairs of items of which the first must not have the greater value.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PartialOrder {
    pairs: Vec<(u32, u32)>,
    /// For few items: what must not be below each of them, itself included.
    above: Vec<u64>,
    /// For few items: those that pairs tie to each other.
    components: Vec<u64>,
}

/// Items whose sets fit into a word.
const FEW_ITEMS: usize = 64;

impl PartialOrder {
    /// The order that pairs imply; they have no cycle.
    pub(crate) fn new(mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let items = pairs.iter().map(|&(low, high)| low.max(high) as usize + 1).max().unwrap_or(0);
        let mut order = PartialOrder { pairs, above: Vec::new(), components: Vec::new() };
        if items <= FEW_ITEMS {
            order.above = order.closed_sets(items);
            order.components = order.tied_sets(items);
        }
        order
    }

    /// What must not be below each item.
    fn closed_sets(&self, items: usize) -> Vec<u64> {
        let mut above: Vec<u64> = (0..items).map(|at| 1 << at).collect();
        self.pairs.iter().for_each(|&(low, high)| above[low as usize] |= 1 << high);
        for between in 0..items {
            for low in 0..items {
                if above[low] >> between & 1 == 1 {
                    above[low] |= above[between];
                }
            }
        }
        above
    }

    /// The items that pairs tie to each other, two or more.
    fn tied_sets(&self, items: usize) -> Vec<u64> {
        let mut sets: Vec<u64> = Vec::new();
        for at in 0..items {
            let mut set = self.above[at];
            sets.retain(|&other| {
                let is_apart = other & set == 0;
                set |= if is_apart { 0 } else { other };
                is_apart
            });
            sets.push(set);
        }
        sets.retain(|set| set.count_ones() > 1);
        sets
    }

    /// Whether values are in the order.
    pub(crate) fn holds(&self, values: &[f64]) -> bool {
        self.pairs.iter().all(|&(low, high)| values[low as usize] <= values[high as usize])
    }

    /// The values in the order that are nearest to the given ones. Values that are in order already
    /// are returned as they are; tied values are equal to the last bit.
    pub(crate) fn project(&self, values: &[f64], weights: &[f64]) -> Vec<f64> {
        if self.holds(values) {
            return values.to_vec();
        }
        let most = weights.iter().copied().fold(0.0, f64::max);
        let least = if most > 0.0 { most * LEAST_WEIGHT } else { 1.0 };
        let weights: Vec<f64> = weights.iter().map(|weight| weight.max(least)).collect();

        let mut projected = values.to_vec();
        if self.above.is_empty() {
            self.project_many(values, &weights, &mut projected);
        } else {
            self.project_few(values, &weights, &mut projected);
        }
        self.round_up(&mut projected);
        projected
    }

    /// Solves every set of tied items that is not in order, by partitioning.
    fn project_few(&self, values: &[f64], weights: &[f64], projected: &mut [f64]) {
        let mut broken = 0_u64;
        for &(low, high) in &self.pairs {
            broken |= u64::from(values[low as usize] > values[high as usize]) << low;
        }
        let mut open = [0_u64; FEW_ITEMS];
        for &component in self.components.iter().filter(|&&component| component & broken != 0) {
            let mut sets = 1;
            open[0] = component;
            while sets > 0 {
                sets -= 1;
                let set = open[sets];
                let mut sums = [0.0; 2];
                each_item(set, |at| {
                    sums[0] += weights[at];
                    sums[1] += weights[at] * values[at];
                });
                let mean = sums[1] / sums[0];
                let upper =
                    few_items::closure(set, &self.above, |at| weights[at] * (values[at] - mean));
                if upper == 0 || upper == set {
                    each_item(set, |at| projected[at] = mean);
                } else {
                    open[sets] = set & !upper;
                    open[sets + 1] = upper;
                    sets += 2;
                }
            }
        }
    }

    /// The same for any number of items.
    fn project_many(&self, values: &[f64], weights: &[f64], projected: &mut [f64]) {
        for component in self.components_of_many(values.len()) {
            let tied = |&(low, _): &&(u32, u32)| component.binary_search(low).is_ok();
            let in_order =
                |&(low, high): &(u32, u32)| values[low as usize] <= values[high as usize];
            if self.pairs.iter().filter(tied).all(in_order) {
                continue;
            }
            self.solve_many(component, values, weights, projected);
        }
    }

    /// Items that are tied to each other, ascending; those that no pair mentions are left out.
    fn components_of_many(&self, items: usize) -> Vec<Vec<u32>> {
        let mut root: Vec<usize> = (0..items).collect();
        fn find(root: &mut [usize], mut at: usize) -> usize {
            while root[at] != at {
                root[at] = root[root[at]];
                at = root[at];
            }
            at
        }
        for &(low, high) in &self.pairs {
            let (low, high) = (find(&mut root, low as usize), find(&mut root, high as usize));
            root[low.max(high)] = low.min(high);
        }
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); items];
        for at in 0..items {
            let of = find(&mut root, at);
            members[of].push(at as u32);
        }
        members.retain(|component| component.len() > 1);
        members
    }

    /// Solves a set of items by partitioning.
    fn solve_many(&self, set: Vec<u32>, values: &[f64], weights: &[f64], projected: &mut [f64]) {
        let mut open = vec![set];
        while let Some(set) = open.pop() {
            let weight: f64 = set.iter().map(|&at| weights[at as usize]).sum();
            let sum: f64 = set.iter().map(|&at| weights[at as usize] * values[at as usize]).sum();
            let mean = sum / weight;
            let gain = |at: u32| weights[at as usize] * (values[at as usize] - mean);
            let gains: Vec<f64> = set.iter().map(|&at| gain(at)).collect();

            let upper =
                if set.len() > 1 { self.closure_of_many(&set, &gains) } else { vec![false] };
            let raised = upper.iter().filter(|&&is_upper| is_upper).count();
            if raised == 0 || raised == set.len() {
                set.iter().for_each(|&at| projected[at as usize] = mean);
                continue;
            }
            for side in [true, false] {
                let part = set.iter().zip(&upper).filter(|(_, is_upper)| **is_upper == side);
                open.push(part.map(|(&at, _)| at).collect());
            }
        }
    }

    /// The part of an ascending set that gains most by being raised, with every item whatever must not
    /// be below it.
    fn closure_of_many(&self, set: &[u32], gains: &[f64]) -> Vec<bool> {
        let place = |at: u32| set.binary_search(&at).ok();
        let edges: Vec<(usize, usize)> = self
            .pairs
            .iter()
            .filter_map(|&(low, high)| Some((place(low)?, place(high)?)))
            .collect();
        let mut network = FlowNetwork::new(set.len() + 2);
        let (source, sink) = (set.len(), set.len() + 1);
        for (at, &gain) in gains.iter().enumerate() {
            if gain > 0.0 {
                network.add_edge(source, at, gain);
            } else if gain < 0.0 {
                network.add_edge(at, sink, -gain);
            }
        }
        edges.into_iter().for_each(|(low, high)| network.add_edge(low, high, f64::INFINITY));

        let reached = network.cut(source, sink);
        reached[..set.len()].to_vec()
    }

    /// Raises what rounding left below its place.
    fn round_up(&self, values: &mut [f64]) {
        // Without cycles, so many passes are enough; one is, but for rounding errors of rounding errors.
        for _ in 0..values.len() {
            if self.holds(values) {
                break;
            }
            for &(low, high) in &self.pairs {
                values[high as usize] = values[high as usize].max(values[low as usize]);
            }
        }
    }
}

/// A network with capacities (Dinic's algorithm).
struct FlowNetwork {
    /// The target and the residual capacity of each edge; the reverse of edge `e` is `e ^ 1`.
    edges: Vec<(usize, f64)>,
    /// The edges of each node.
    leaving: Vec<Vec<usize>>,
    largest: f64,
}

impl FlowNetwork {
    fn new(nodes: usize) -> Self {
        FlowNetwork { edges: Vec::new(), leaving: vec![Vec::new(); nodes], largest: 0.0 }
    }

    fn add_edge(&mut self, from: usize, to: usize, capacity: f64) {
        if capacity.is_finite() {
            self.largest = self.largest.max(capacity);
        }
        self.leaving[from].push(self.edges.len());
        self.edges.push((to, capacity));
        self.leaving[to].push(self.edges.len());
        self.edges.push((from, 0.0));
    }

    fn is_open(&self, edge: usize) -> bool {
        self.edges[edge].1 > CAPACITY_TOLERANCE * self.largest
    }

    /// Sends as much flow as there can be; the nodes that the source still reaches.
    fn cut(&mut self, source: usize, sink: usize) -> Vec<bool> {
        loop {
            let level = self.levels(source);
            if level[sink] == usize::MAX {
                return level.into_iter().map(|level| level != usize::MAX).collect();
            }
            let mut next = vec![0; self.leaving.len()];
            while self.augment(source, sink, &level, &mut next) {}
        }
    }

    /// The distance of each node from the source.
    fn levels(&self, source: usize) -> Vec<usize> {
        let mut level = vec![usize::MAX; self.leaving.len()];
        level[source] = 0;
        let mut open = VecDeque::from([source]);
        while let Some(node) = open.pop_front() {
            for &edge in &self.leaving[node] {
                let to = self.edges[edge].0;
                if self.is_open(edge) && level[to] == usize::MAX {
                    level[to] = level[node] + 1;
                    open.push_back(to);
                }
            }
        }
        level
    }

    /// Sends flow along one path of rising distance; false if there is none. `next` is the first edge
    /// of each node that may still lead on.
    fn augment(&mut self, source: usize, sink: usize, level: &[usize], next: &mut [usize]) -> bool {
        let mut path: Vec<usize> = Vec::new();
        let mut node = source;
        while node != sink {
            let leads_on = |&&edge: &&usize| {
                self.is_open(edge) && level[self.edges[edge].0] == level[node].saturating_add(1)
            };
            match self.leaving[node].get(next[node]) {
                Some(edge) if leads_on(&edge) => {
                    path.push(*edge);
                    node = self.edges[*edge].0;
                }
                Some(_) => next[node] += 1,
                None => {
                    let Some(edge) = path.pop() else { return false };
                    node = self.edges[edge ^ 1].0;
                    next[node] += 1;
                }
            }
        }

        let capacity = |edge: &usize| self.edges[*edge].1;
        let flow = path.iter().map(capacity).fold(f64::INFINITY, f64::min);
        for edge in path {
            self.edges[edge].1 -= flow;
            self.edges[edge ^ 1].1 += flow;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use swarmwood_search::rng::Stream;

    use super::*;

    /// A random order without cycles: pairs point from earlier to later items of a random permutation.
    fn random_order(items: usize, chance: f64, stream: &mut Stream) -> PartialOrder {
        let mut names: Vec<u32> = (0..items as u32).collect();
        stream.shuffle(&mut names);
        let mut pairs = Vec::new();
        for low in 0..items {
            for high in low + 1..items {
                if stream.unit() < chance {
                    pairs.push((names[low], names[high]));
                }
            }
        }
        PartialOrder::new(pairs)
    }

    fn distance(values: &[f64], to: &[f64], weights: &[f64]) -> f64 {
        values.iter().zip(to).zip(weights).map(|((a, b), weight)| weight * (a - b).powi(2)).sum()
    }

    /// The minimax formula: the greatest, over upper sets with the item, of the least, over lower sets
    /// with it, of the mean of what is in both.
    fn minimax(order: &PartialOrder, values: &[f64], weights: &[f64]) -> Vec<f64> {
        let items = values.len();
        let is_upper =
            |set: u32| order.pairs.iter().all(|&(low, high)| set >> low & 1 <= set >> high & 1);
        let uppers: Vec<u32> = (0..1u32 << items).filter(|&set| is_upper(set)).collect();
        let mean = |set: u32| {
            let members = (0..items).filter(|at| set >> at & 1 == 1);
            let sums = members.fold((0.0, 0.0), |(sum, weight), at| {
                (sum + weights[at] * values[at], weight + weights[at])
            });
            sums.0 / sums.1
        };
        let of_item = |at: usize| {
            let with = uppers.iter().filter(|&&set| set >> at & 1 == 1);
            let least = |&upper: &u32| {
                let without = uppers.iter().filter(|&&set| set >> at & 1 == 0);
                without.map(|&set| mean(upper & !set)).fold(f64::INFINITY, f64::min)
            };
            with.map(least).fold(f64::NEG_INFINITY, f64::max)
        };
        (0..items).map(of_item).collect()
    }

    #[test]
    fn projections_equal_the_minimax_formula() {
        let mut stream = Stream::new(1, 0, 0);
        for round in 0..400 {
            let items = 1 + stream.below(7) as usize;
            let order = random_order(items, [0.2, 0.5, 0.9][round % 3], &mut stream);
            let values: Vec<f64> = (0..items).map(|_| stream.normal()).collect();
            let weights: Vec<f64> = (0..items).map(|_| 0.1 + stream.unit()).collect();
            let projected = order.project(&values, &weights);
            assert!(order.holds(&projected));
            for (found, expected) in projected.iter().zip(minimax(&order, &values, &weights)) {
                assert!((found - expected).abs() < 1e-9, "{order:?} {values:?} {weights:?}");
            }
        }
    }

    #[test]
    fn no_value_in_order_is_nearer() {
        let mut stream = Stream::new(2, 0, 0);
        for _ in 0..100 {
            let items = 100;
            let order = random_order(items, 0.03, &mut stream);
            assert!(order.above.is_empty(), "that are not few");
            let values: Vec<f64> = (0..items).map(|_| stream.normal()).collect();
            let weights: Vec<f64> = (0..items).map(|_| stream.unit()).collect();
            let projected = order.project(&values, &weights);
            assert!(order.holds(&projected));
            let best = distance(&projected, &values, &weights);
            // The distance is convex: a nearer value would make all values on the way to it nearer.
            for _ in 0..20 {
                let other: Vec<f64> = (0..items).map(|_| stream.normal()).collect();
                let other = order.project(&other, &weights);
                let on_the_way: Vec<f64> =
                    projected.iter().zip(&other).map(|(a, b)| a + 1e-3 * (b - a)).collect();
                assert!(distance(&on_the_way, &values, &weights) >= best * (1.0 - 1e-9));
            }
        }
    }

    #[test]
    fn few_and_many_items_are_solved_alike() {
        let mut stream = Stream::new(3, 0, 0);
        for round in 0..300 {
            let items = 2 + stream.below(60) as usize;
            let order = random_order(items, [0.03, 0.1, 0.4][round % 3], &mut stream);
            let values: Vec<f64> = (0..items).map(|_| stream.normal()).collect();
            let weights: Vec<f64> = (0..items).map(|_| 0.01 + stream.unit()).collect();
            let (mut few, mut many) = (values.clone(), values.clone());
            order.project_few(&values, &weights, &mut few);
            order.project_many(&values, &weights, &mut many);
            assert!(few.iter().zip(&many).all(|(a, b)| (a - b).abs() < 1e-9), "{order:?}");
        }
    }

    #[test]
    fn values_without_weight_take_what_is_left_and_order_is_kept_as_it_is() {
        let order = PartialOrder::new(vec![(0, 1), (1, 2)]);
        assert_eq!(order.project(&[1.0, 2.0, 3.0], &[1.0; 3]), [1.0, 2.0, 3.0]);
        let projected = order.project(&[1.0, 0.0, 3.0], &[1.0, 0.0, 1.0]);
        assert!((projected[0] - 1.0).abs() < 1e-9 && projected[2] == 3.0);
        assert_eq!(projected[0], projected[1]);
        assert!(order.holds(&order.project(&[3.0, 0.0, -3.0], &[0.0; 3])));
    }
}
