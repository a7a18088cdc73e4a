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

    // One bit per condition that excludes the other box.
    let excluding = |other: &&Region| {
        let excludes = |(at, condition): (usize, &Region)| {
            u128::from(!space.intersects(condition, other)) << at
        };
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
        solutions: Vec::new(),
        size: conditions.len() as u32,
        steps: MAX_STEPS,
    };
    search.branch(0);

    let build = |mask: u128| {
        let selected = conditions.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1);
        selected.fold(space.everything().clone(), |region, (_, condition)| {
            space.intersection(&region, condition).unwrap_or(region)
        })
    };
    search.solutions.into_iter().map(build).collect()
}

struct HittingSetSearch<'a> {
    needed: &'a [u128],
    /// The smallest sets so far, all of one size.
    solutions: Vec<u128>,
    size: u32,
    steps: usize,
}

impl HittingSetSearch<'_> {
    fn branch(&mut self, selected: u128) {
        let size = selected.count_ones();
        let Some(open) = self.needed.iter().find(|mask| **mask & selected == 0) else {
            if size < self.size {
                self.solutions.clear();
                self.size = size;
            }
            if self.solutions.len() < MAX_SOLUTIONS && !self.solutions.contains(&selected) {
                self.solutions.push(selected);
            }
            return;
        };

        // The first branch is always followed to its end, so that there is a solution.
        if size >= self.size || (self.steps == 0 && !self.solutions.is_empty()) {
            return;
        }

        self.steps = self.steps.saturating_sub(1);
        let mut bits = *open;
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            bits ^= bit;
            self.branch(selected | bit);
        }
    }
}

/// Drops one condition after the other while the box stays disjoint: for boxes with very many
/// conditions.
fn relax_in_turn(space: &TreeSpace, conditions: &[Region], others: &[&Region]) -> Region {
    let mut remaining: Vec<&Region> = conditions.iter().collect();
    let is_disjoint = |conditions: &[&Region]| {
        others
            .iter()
            .all(|other| conditions.iter().any(|condition| !space.intersects(condition, other)))
    };

    let mut at = 0;
    while at < remaining.len() {
        let dropped = remaining.remove(at);
        if !is_disjoint(&remaining) {
            remaining.insert(at, dropped);
            at += 1;
        }
    }

    let all = space.everything().clone();
    remaining
        .iter()
        .fold(all, |region, condition| space.intersection(&region, condition).unwrap_or(region))
}
