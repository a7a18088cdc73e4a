//! Drops conditions of a box as long as it stays disjoint from other boxes.
//!
//! A box must not intersect certain others (the leaves with other predictions). Each of them is
//! excluded by at least one of the box's conditions, because intervals that intersect pairwise have
//! a point in common (Helly's theorem on the line). So the fewest conditions that suffice are a
//! smallest set of conditions that excludes all others: a minimum hitting set, found by branching
//! on the box that the fewest conditions exclude.

use super::space::{Region, TreeSpace};

/// Maximum number of smallest sets that are returned; the cover chooses among them.
const MAX_SOLUTIONS: usize = 6;

/// Maximum number of branching steps after the first solution.
const MAX_STEPS: usize = 20_000;

/// The boxes with the fewest conditions of `region` that intersect none of `others`; `region`
/// itself must intersect none.
pub(super) fn relax(space: &TreeSpace, region: &Region, others: &[&Region]) -> Vec<Region> {
    let conditions = space.conditions(region);
    if conditions.len() > 128 {
        return vec![relax_in_turn(space, &conditions, others)];
    }
    let excluding = |other: &&Region| {
        let excludes =
            |(at, condition): (usize, &Region)| u128::from(!space.meet(condition, other)) << at;
        conditions.iter().enumerate().map(excludes).fold(0, |all, bit| all | bit)
    };
    let mut masks: Vec<u128> = others.iter().map(excluding).collect();
    masks.sort_by_key(|mask| (mask.count_ones(), *mask));
    masks.dedup();
    // A condition of a smaller set is also one of every larger set that contains it.
    let mut needed: Vec<u128> = Vec::new();
    for mask in masks {
        if !needed.iter().any(|small| small & mask == *small) {
            needed.push(mask);
        }
    }
    let mut search = HittingSetSearch {
        needed: &needed,
        found: Vec::new(),
        size: conditions.len() as u32,
        steps: MAX_STEPS,
    };
    search.branch(0);
    let build = |chosen: u128| {
        let kept = conditions.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
        kept.fold(space.everything().clone(), |region, (_, condition)| {
            space.intersection(&region, condition).unwrap_or(region)
        })
    };
    search.found.into_iter().map(build).collect()
}

struct HittingSetSearch<'a> {
    needed: &'a [u128],
    /// The smallest sets so far, all of one size.
    found: Vec<u128>,
    size: u32,
    steps: usize,
}

impl HittingSetSearch<'_> {
    fn branch(&mut self, chosen: u128) {
        let size = chosen.count_ones();
        let Some(open) = self.needed.iter().find(|mask| **mask & chosen == 0) else {
            if size < self.size {
                self.found.clear();
                self.size = size;
            }
            if self.found.len() < MAX_SOLUTIONS && !self.found.contains(&chosen) {
                self.found.push(chosen);
            }
            return;
        };
        // The first branch is always followed to its end, so that there is a solution.
        if size >= self.size || (self.steps == 0 && !self.found.is_empty()) {
            return;
        }
        self.steps = self.steps.saturating_sub(1);
        let mut bits = *open;
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            bits ^= bit;
            self.branch(chosen | bit);
        }
    }
}

/// Drops one condition after the other while the box stays disjoint: for boxes with very many
/// conditions.
fn relax_in_turn(space: &TreeSpace, conditions: &[Region], others: &[&Region]) -> Region {
    let mut kept: Vec<&Region> = conditions.iter().collect();
    let clear = |kept: &[&Region]| {
        others.iter().all(|other| kept.iter().any(|condition| !space.meet(condition, other)))
    };
    let mut at = 0;
    while at < kept.len() {
        let dropped = kept.remove(at);
        if !clear(&kept) {
            kept.insert(at, dropped);
            at += 1;
        }
    }
    let all = space.everything().clone();
    kept.iter()
        .fold(all, |region, condition| space.intersection(&region, condition).unwrap_or(region))
}
