//! Grows ordinary trees, depth-wise or leaf-wise.

use swarmwood_model::{Child, Leaf};

use super::{Growth, Settings};
use crate::grown::{Grown, GrownNode};
use crate::kernels::quantise::Sums;
use crate::ridge;
use crate::shard::Bag;
use crate::split::Candidate;
use crate::workers::{Order, Seen, TreeSearch, Want, Workers};

/// A node of the tree in the making; its number is its slot.
#[derive(Debug, Clone, Copy)]
struct Entry {
    total: u64,
    value: f64,
    depth: usize,
    best: Option<Candidate>,
    children: Option<[usize; 2]>,
}

/// Grows one tree. Returns it with leaf values before the learning rate, and the slot of each leaf.
pub fn grow(
    workers: &mut Workers<'_>,
    output: usize,
    bag: Option<Bag>,
    search: TreeSearch,
    settings: &Settings,
) -> (Grown, Vec<(usize, usize)>) {
    let most_leaves = if settings.max_leaves == 0 { usize::MAX } else { settings.max_leaves };
    let want = if most_leaves < 2 { Want::Sums } else { Want::Each };
    let seen = workers.plant(output, bag, search, want);
    let root =
        Entry { total: seen.total, value: seen.value, depth: 0, best: seen.best, children: None };
    let mut growing = Growing { workers, settings, entries: vec![root], leaves: 1, most_leaves };
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
}

impl Growing<'_, '_, '_> {
    fn depth_wise(&mut self) {
        let mut level = vec![0];
        while !level.is_empty() && self.leaves < self.most_leaves && !self.cut() {
            let mut chosen: Vec<usize> =
                level.into_iter().filter(|&at| self.entries[at].best.is_some()).collect();
            // Where the budget does not reach, the splits that gain most are made.
            chosen.sort_by(|&a, &b| self.gain(b).total_cmp(&self.gain(a)).then(a.cmp(&b)));
            chosen.truncate(self.most_leaves - self.leaves);
            chosen.sort_unstable();
            self.split(&chosen, false);
            level = chosen
                .iter()
                .flat_map(|&at| self.entries[at].children.into_iter().flatten())
                .collect();
        }
    }

    fn leaf_wise(&mut self) {
        let mut open = vec![0];
        while self.leaves < self.most_leaves && !self.cut() {
            // The open leaf that gains most; equal gains go to the older one.
            let better =
                |&a: &usize, &b: &usize| self.gain(a).total_cmp(&self.gain(b)).then(b.cmp(&a));
            let Some(best) =
                open.iter().copied().filter(|&at| self.entries[at].best.is_some()).max_by(better)
            else {
                break;
            };
            self.split(&[best], self.most_leaves - self.leaves == 1);
            open.retain(|&at| at != best);
            open.extend(self.entries[best].children.into_iter().flatten());
        }
    }

    /// Whether growth ends here for want of time. The first rule is known by then, and costs next
    /// to nothing.
    fn cut(&self) -> bool {
        self.leaves > 1 && self.workers.hurried()
    }

    fn gain(&self, at: usize) -> f64 {
        self.entries[at].best.map_or(f64::NEG_INFINITY, |best| best.gain)
    }

    /// Splits the rows of some entries and looks at their children; the `last` split of a tree
    /// needs no look.
    fn split(&mut self, chosen: &[usize], last: bool) {
        let limit = if self.settings.depth == 0 { usize::MAX } else { self.settings.depth };
        let (deepest, open): (Vec<usize>, Vec<usize>) =
            chosen.iter().partition(|&&at| last || self.entries[at].depth + 1 >= limit);
        for (chosen, want) in [(deepest, Want::Sums), (open, Want::Each)] {
            for some in chosen.chunks(self.workers.most_orders()) {
                if !self.cut() {
                    self.split_with(some, want);
                }
            }
        }
    }

    fn split_with(&mut self, chosen: &[usize], want: Want) {
        let mut orders = Vec::with_capacity(chosen.len());
        let mut totals = Vec::with_capacity(chosen.len());
        for (&slot, at) in chosen.iter().zip(0..) {
            let entry = self.entries[slot];
            let rule = entry.best.expect("only entries with a rule are split").rule;
            let left = self.entries.len() + 2 * at;
            orders.push(Order { slot, rule, left, right: left + 1, value: entry.value });
            totals.push(self.workers.sides(slot, &rule, entry.total));
        }
        let seen = self.workers.split(&orders, &totals, want);
        for (order, sides) in orders.iter().zip(seen) {
            let depth = self.entries[order.slot].depth + 1;
            self.entries[order.slot].children = Some([order.left, order.right]);
            self.leaves += 1;
            for side in sides {
                let Seen { total, value, best } = side;
                self.entries.push(Entry { total, value, depth, best, children: None });
            }
        }
    }

    /// The splits as a tree, parents before children, left before right.
    fn finish(self) -> (Grown, Vec<(usize, usize)>) {
        let mut grown = Grown::default();
        let mut slots = Vec::new();
        let mut sums: Vec<Sums> = Vec::new();
        let mut waiting: Vec<(usize, Option<(usize, bool)>)> = vec![(0, None)];
        while let Some((at, parent)) = waiting.pop() {
            let entry = self.entries[at];
            let child = match (entry.best, entry.children) {
                (Some(best), Some([left, right])) => {
                    let number = grown.nodes.len();
                    let cover = self.workers.scale().unpack(entry.total).h;
                    let unset = Child::Leaf(0);
                    grown.nodes.push(GrownNode {
                        rule: best.rule,
                        left: unset,
                        right: unset,
                        gain: best.gain,
                        cover,
                    });
                    waiting.push((right, Some((number, true))));
                    waiting.push((left, Some((number, false))));
                    Child::Node(number as u32)
                }
                _ => {
                    slots.push((at, grown.leaves.len()));
                    let of_leaf = self.workers.scale().unpack(entry.total);
                    sums.push(of_leaf);
                    grown.leaves.push(Leaf { value: 0.0, cover: of_leaf.h });
                    Child::Leaf(grown.leaves.len() as u32 - 1)
                }
            };
            if let Some((parent, is_right)) = parent {
                let node = &mut grown.nodes[parent];
                *(if is_right { &mut node.right } else { &mut node.left }) = child;
            }
        }
        ridge::set_values(&mut grown, &sums, &self.settings.penalties);
        (grown, slots)
    }
}
