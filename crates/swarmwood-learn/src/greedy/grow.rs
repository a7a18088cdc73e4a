//! Grows ordinary trees, depth-wise or leaf-wise.
//!
//! Leaf-wise growth always splits the leaf that gains most. Leaves that gain enough to be split later on are looked at
//! in the same question: fewer, larger questions, and the same tree. What is enough, the tree before tells: the least
//! gain it kept.

use swarmwood_model::Child;

use super::{Growth, Settings, newton};
use crate::grown::{Grown, GrownNode};
use crate::shard::Bag;
use crate::split::Candidate;
use crate::workers::{Order, TreeSearch, Want, Workers};

/// How many leaves are looked at together where several threads share the work; alone there is nothing to save.
const AHEAD: usize = 8;

/// A node of the tree in the making; its number is its slot.
#[derive(Debug, Clone, Copy)]
struct Entry {
    total: u64,
    depth: usize,
    best: Option<Candidate>,
    /// The children, once the rows have been split; they count only if the split is kept.
    children: Option<[usize; 2]>,
    kept: bool,
}

/// Grows one tree. Returns it with leaf values before the learning rate, and the slot of each leaf.
pub fn grow(
    workers: &mut Workers<'_>,
    output: usize,
    bag: Option<Bag>,
    search: TreeSearch,
    settings: &Settings,
    least_kept: f64,
) -> (Grown, Vec<(usize, usize)>) {
    let most_leaves = if settings.max_leaves == 0 { usize::MAX } else { settings.max_leaves };
    let want = if most_leaves < 2 { Want::Sums } else { Want::Each };
    let seen = workers.plant(output, bag, search, want);
    let root = Entry { total: seen.total, depth: 0, best: seen.best, children: None, kept: false };
    let mut growing = Growing { workers, settings, entries: vec![root], leaves: 1, most_leaves, least_kept };
    match settings.growth {
        Growth::Depth => growing.depth_wise(),
        _ => growing.leaf_wise(),
    }
    growing.finish()
}

struct Growing<'w, 'a, 's> {
    workers: &'w mut Workers<'a>,
    settings: &'s Settings,
    entries: Vec<Entry>,
    leaves: usize,
    most_leaves: usize,
    /// The gain from which a leaf is worth a look ahead of its turn.
    least_kept: f64,
}

impl Growing<'_, '_, '_> {
    fn depth_wise(&mut self) {
        let mut level = vec![0];
        while !level.is_empty() && self.leaves < self.most_leaves {
            let mut chosen: Vec<usize> = level.into_iter().filter(|&at| self.entries[at].best.is_some()).collect();
            // Where the budget does not reach, the splits that gain most are made.
            chosen.sort_by(|&a, &b| self.gain(b).total_cmp(&self.gain(a)).then(a.cmp(&b)));
            chosen.truncate(self.most_leaves - self.leaves);
            chosen.sort_unstable();
            self.split(&chosen, false);
            chosen.iter().for_each(|&at| self.keep(at));
            level = chosen.iter().flat_map(|&at| self.entries[at].children.into_iter().flatten()).collect();
        }
    }

    fn leaf_wise(&mut self) {
        let most_ahead = if self.workers.threads() > 1 { AHEAD } else { 1 };
        let mut open = vec![0];
        while self.leaves < self.most_leaves {
            // The open leaf that gains most; equal gains go to the older one.
            open.retain(|&at| self.entries[at].best.is_some());
            open.sort_by(|&a, &b| self.gain(b).total_cmp(&self.gain(a)).then(a.cmp(&b)));
            let Some(&first) = open.first() else { break };
            if self.entries[first].children.is_none() {
                let left = self.most_leaves - self.leaves;
                let worth = |at: usize| at == first || self.gain(at) >= self.least_kept;
                let ahead = open.iter().copied().filter(|&at| self.entries[at].children.is_none() && worth(at));
                let batch: Vec<usize> = ahead.take(most_ahead.min(left)).collect();
                self.split(&batch, left == 1);
            }
            self.keep(first);
            open.remove(0);
            open.extend(self.entries[first].children.into_iter().flatten());
        }
    }

    fn gain(&self, at: usize) -> f64 {
        self.entries[at].best.map_or(f64::NEG_INFINITY, |best| best.gain)
    }

    fn keep(&mut self, at: usize) {
        self.entries[at].kept = true;
        self.leaves += 1;
    }

    /// Splits the rows of some entries and looks at their children; the `last` split of a tree needs no look.
    fn split(&mut self, chosen: &[usize], last: bool) {
        let limit = if self.settings.depth == 0 { usize::MAX } else { self.settings.depth };
        let (deepest, open): (Vec<usize>, Vec<usize>) =
            chosen.iter().partition(|&&at| last || self.entries[at].depth + 1 >= limit);
        self.split_with(&deepest, Want::Sums);
        self.split_with(&open, Want::Each);
    }

    fn split_with(&mut self, chosen: &[usize], want: Want) {
        if chosen.is_empty() {
            return;
        }
        let mut orders = Vec::with_capacity(chosen.len());
        let mut totals = Vec::with_capacity(chosen.len());
        for (&slot, at) in chosen.iter().zip(0..) {
            let entry = self.entries[slot];
            let rule = entry.best.expect("only entries with a rule are split").rule;
            let left = self.entries.len() + 2 * at;
            orders.push(Order { slot, rule, left, right: left + 1 });
            totals.push(self.workers.sides(slot, &rule, entry.total));
        }
        let seen = self.workers.split(&orders, &totals, want);
        for (order, sides) in orders.iter().zip(seen) {
            let depth = self.entries[order.slot].depth + 1;
            self.entries[order.slot].children = Some([order.left, order.right]);
            for side in sides {
                self.entries.push(Entry { total: side.total, depth, best: side.best, children: None, kept: false });
            }
        }
    }

    /// The kept splits as a tree, parents before children, left before right.
    fn finish(self) -> (Grown, Vec<(usize, usize)>) {
        let mut grown = Grown::default();
        let mut slots = Vec::new();
        let lambda = self.settings.penalties.lambda;
        let mut waiting: Vec<(usize, Option<(usize, bool)>)> = vec![(0, None)];
        while let Some((at, parent)) = waiting.pop() {
            let entry = self.entries[at];
            let child = match (entry.kept, entry.best, entry.children) {
                (true, Some(best), Some([left, right])) => {
                    let number = grown.nodes.len();
                    let cover = self.workers.scale().unpack(entry.total).h;
                    let unset = Child::Leaf(0);
                    grown.nodes.push(GrownNode { rule: best.rule, left: unset, right: unset, gain: best.gain, cover });
                    waiting.push((right, Some((number, true))));
                    waiting.push((left, Some((number, false))));
                    Child::Node(number as u32)
                }
                _ => {
                    slots.push((at, grown.leaves.len()));
                    grown.leaves.push(newton(self.workers, entry.total, lambda));
                    Child::Leaf(grown.leaves.len() as u32 - 1)
                }
            };
            if let Some((parent, is_right)) = parent {
                let node = &mut grown.nodes[parent];
                *(if is_right { &mut node.right } else { &mut node.left }) = child;
            }
        }
        (grown, slots)
    }
}
