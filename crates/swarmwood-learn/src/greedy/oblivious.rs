//! Grows oblivious trees: every level gets the one rule that gains most over all its nodes.

use swarmwood_model::{Child, Leaf};

use super::Settings;
use crate::grown::{Grown, GrownNode};
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::Sums;
use crate::ridge;
use crate::shard::Bag;
use crate::split::Candidate;
use crate::workers::{Order, Seen, TreeSearch, Want, Workers};

/// Bytes that the histograms of the last searched level may take: all its nodes are searched
/// together, so all must be there at once.
pub fn bytes_needed(columns: usize, rows: usize, depth: usize) -> usize {
    let nodes = 1usize.checked_shl(depth.saturating_sub(1) as u32).unwrap_or(usize::MAX).min(rows);
    nodes.saturating_mul(columns).saturating_mul(TABLE * 8)
}

/// Grows one tree. Returns it with leaf values before the learning rate, and the slot of each leaf
/// that has rows.
pub fn grow(
    workers: &mut Workers<'_>,
    output: usize,
    bag: Option<Bag>,
    search: TreeSearch,
    settings: &Settings,
) -> (Grown, Vec<(usize, usize)>) {
    let seen = workers.plant(output, bag, search, Want::Shared);
    let mut grown = Grown { oblivious: true, ..Grown::default() };
    // What is known by leaf number; a leaf no row reaches has none.
    let mut leaves = vec![Some(Reached { slot: 0, total: seen.total, value: seen.value })];
    let mut best = seen.best;
    let mut slots = 1;
    let most_levels = match settings.max_leaves {
        0 => settings.depth,
        most => settings.depth.min(most.ilog2() as usize),
    };
    for level in 0..most_levels {
        let Some(chosen) = best.filter(|_| level == 0 || !workers.hurried()) else { break };
        grown.nodes.push(node(workers, &chosen, seen.total));
        let want = if level + 1 < most_levels { Want::Shared } else { Want::Sums };
        best = split_level(workers, &mut leaves, &chosen, &mut slots, want);
    }
    let sums = |leaf: &Option<Reached>| {
        leaf.map_or(Sums::default(), |leaf| workers.scale().unpack(leaf.total))
    };
    let sums: Vec<Sums> = leaves.iter().map(sums).collect();
    grown.leaves = sums.iter().map(|sums| Leaf { value: 0.0, cover: sums.h }).collect();
    ridge::set_values(&mut grown, &sums, &settings.penalties);
    let used = leaves.iter().enumerate().filter_map(|(leaf, at)| at.map(|at| (at.slot, leaf)));
    (grown, used.collect())
}

/// A leaf that rows reach.
#[derive(Debug, Clone, Copy)]
struct Reached {
    slot: usize,
    total: u64,
    value: f64,
}

fn node(workers: &Workers<'_>, chosen: &Candidate, total: u64) -> GrownNode {
    let cover = workers.scale().unpack(total).h;
    GrownNode {
        rule: chosen.rule,
        left: Child::Leaf(0),
        right: Child::Leaf(0),
        gain: chosen.gain,
        cover,
    }
}

/// Splits every leaf by the level's rule, which decides the next bit of the leaf's number; returns
/// the next level's rule.
fn split_level(
    workers: &mut Workers<'_>,
    leaves: &mut Vec<Option<Reached>>,
    chosen: &Candidate,
    slots: &mut usize,
    want: Want,
) -> Option<Candidate> {
    let mut orders = Vec::new();
    let mut totals = Vec::new();
    for &Reached { slot, total, value } in leaves.iter().flatten() {
        orders.push(Order { slot, rule: chosen.rule, left: *slots, right: *slots + 1, value });
        totals.push(workers.sides(slot, &chosen.rule, total));
        *slots += 2;
    }
    let seen = workers.split(&orders, &totals, want);
    let width = leaves.len();
    let mut next = vec![None; width * 2];
    let mut done = orders.iter().zip(&seen);
    for (leaf, old) in leaves.iter().enumerate() {
        if old.is_none() {
            continue;
        }
        let (order, sides) = done.next().expect("one order a leaf with rows");
        for (bit, slot) in [(0, order.left), (1, order.right)] {
            let Seen { total, value, .. } = sides[bit];
            // A packed sum of zero means no rows: every row has a positive hessian.
            next[leaf + bit * width] = (total != 0).then_some(Reached { slot, total, value });
        }
    }
    *leaves = next;
    Candidate::best(seen.iter().flat_map(|sides| sides.map(|side| side.best)))
}
