//! Covers the leaves of one prediction by few boxes with few conditions.
//!
//! The leaves are expanded to larger boxes that intersect no leaf of another prediction: to contain
//! other leaves of the prediction where that is possible (`grow`), and by dropping conditions
//! (`relax`). Boxes are chosen greedily until every leaf is in one; a box that the others cover
//! together is removed; then every box in turn is reduced to what only it covers and expanded
//! again, as long as the number of conditions falls. These are the steps expand, irredundant and
//! reduce of ESPRESSO (Brayton et al. 1984), the two-level minimiser of logic circuits. Deviations:
//! whole conditions are dropped by an exact search where ESPRESSO raises literals one at a time,
//! and purity is tested against the leaves, which are few, never against the cells of a grid, which
//! are many.

use super::relax::relax;
use super::space::{Region, TreeSpace};

/// Maximum number of other leaves that a box tries to contain, nearest in the order of the tree
/// first.
const NEIGHBOURS: usize = 64;

/// Maximum number of leaves of a tree whose boxes are expanded and chosen; in a larger one only
/// conditions are dropped.
pub(super) const MAX_LEAVES: usize = 512;

/// Maximum number of times that the chosen boxes are reduced and expanded again.
const ROUNDS: usize = 8;

/// Maximum number of pieces of a leaf; if a test for coverage needs more, its result is unknown.
const PIECES: usize = 4096;

/// The leaves of one prediction and of all the others.
pub(super) struct CoverProblem<'a> {
    pub(super) space: &'a TreeSpace,
    pub(super) own: Vec<&'a Region>,
    pub(super) others: Vec<&'a Region>,
}

impl CoverProblem<'_> {
    /// Boxes that cover every own leaf and intersect none of the others.
    pub(super) fn cover(&self) -> Vec<Region> {
        let candidates = self.candidates();
        let by_score: [&dyn Fn(usize, usize) -> (usize, usize); 3] = [
            // New leaves per condition, in parts of a thousand; then the most leaves; then the fewest
            // conditions.
            &|leaves, conditions| (leaves * 1000 / (conditions + 1), leaves),
            &|leaves, conditions| (leaves, usize::MAX - conditions),
            &|leaves, conditions| (usize::MAX - conditions, leaves),
        ];
        let covers = by_score.iter().map(|score| self.improve(self.choose(&candidates, score)));
        covers.min_by_key(|cover| self.size(cover)).unwrap_or_default()
    }

    /// The same for a large tree: conditions are dropped, and equal boxes are merged.
    pub(super) fn relaxed(&self) -> Vec<Region> {
        let relaxed = |leaf: &&Region| relax(self.space, leaf, &self.others).into_iter().next();
        let mut boxes: Vec<Region> = self.own.iter().filter_map(relaxed).collect();
        boxes.sort();
        boxes.dedup();
        boxes
    }

    /// Conditions first, then rules.
    pub(super) fn size(&self, cover: &[Region]) -> (usize, usize) {
        (cover.iter().map(|region| self.space.cost(region)).sum(), cover.len())
    }

    fn is_pure(&self, region: &Region) -> bool {
        !self.others.iter().any(|other| self.space.intersects(region, other))
    }

    /// Large boxes around each leaf, in a fixed order.
    fn candidates(&self) -> Vec<Region> {
        let mut candidates: Vec<Region> = Vec::new();
        for at in 0..self.own.len() {
            self.enlarge(self.own[at], at, &mut candidates);
        }
        candidates.sort();
        candidates.dedup();
        candidates
    }

    /// Adds larger boxes that contain a box near the leaf `at`.
    fn enlarge(&self, region: &Region, at: usize, out: &mut Vec<Region>) {
        let mut seeds = relax(self.space, region, &self.others);
        for forward in [true, false] {
            seeds.extend(relax(self.space, &self.grow(region, at, forward), &self.others));
        }
        seeds.dedup();
        for seed in &seeds {
            out.extend(relax(self.space, &self.grow(seed, at, true), &self.others));
        }
        out.extend(seeds);
    }

    /// Expands a box to contain other leaves of the prediction, one after the other, as long as it
    /// stays pure.
    fn grow(&self, region: &Region, at: usize, forward: bool) -> Region {
        let mut hull = region.clone();
        for step in 1..=(2 * self.own.len()).min(NEIGHBOURS) {
            // Alternately to both sides: leaves next to each other in the tree are close in space.
            let (distance, ahead) = (step.div_ceil(2), (step % 2 == 1) == forward);
            let neighbour = if ahead { at.checked_add(distance) } else { at.checked_sub(distance) };
            let Some(leaf) = neighbour.and_then(|leaf| self.own.get(leaf)) else { continue };
            if !hull.contains(leaf) {
                let larger = self.space.hull(&hull, leaf);
                if self.is_pure(&larger) {
                    hull = larger;
                }
            }
        }
        hull
    }

    /// Chooses the best candidate until every leaf is in one.
    fn choose(
        &self,
        candidates: &[Region],
        score: &dyn Fn(usize, usize) -> (usize, usize),
    ) -> Vec<Region> {
        let costs: Vec<usize> =
            candidates.iter().map(|candidate| self.space.cost(candidate)).collect();
        let mut open: Vec<&Region> = self.own.clone();
        let mut cover = Vec::new();
        while !open.is_empty() {
            let gain = |at: usize| {
                let leaves = open.iter().filter(|leaf| candidates[at].contains(leaf)).count();
                (leaves > 0).then(|| (score(leaves, costs[at]), std::cmp::Reverse(at)))
            };
            // Every leaf is in a candidate that was expanded from it.
            let Some((_, std::cmp::Reverse(best))) = (0..candidates.len()).filter_map(gain).max()
            else {
                break;
            };
            open.retain(|leaf| !candidates[best].contains(leaf));
            cover.push(candidates[best].clone());
        }
        cover
    }

    /// Removes redundant boxes, and reduces and expands boxes again while that saves conditions.
    fn improve(&self, mut cover: Vec<Region>) -> Vec<Region> {
        for _ in 0..ROUNDS {
            let before = self.size(&cover);
            // The box with the most conditions first: removing it saves most.
            cover
                .sort_by_key(|region| (std::cmp::Reverse(self.space.cost(region)), region.clone()));

            let mut at = 0;
            while at < cover.len() {
                match self.uncovered_hull(&cover, at) {
                    Some(None) => drop(cover.remove(at)),
                    Some(Some(reduced)) => {
                        self.regrow(&mut cover[at], &reduced);
                        at += 1;
                    }
                    None => at += 1,
                }
            }

            if self.size(&cover) >= before {
                break;
            }
        }
        cover
    }

    /// The smallest box that contains what only the box `at` covers; `Some(None)` if that is
    /// nothing, `None` if it is unknown.
    fn uncovered_hull(&self, cover: &[Region], at: usize) -> Option<Option<Region>> {
        let mut hull: Option<Region> = None;
        for leaf in &self.own {
            let mut pieces: Vec<Region> =
                self.space.intersection(leaf, &cover[at]).into_iter().collect();
            for (_, other) in cover.iter().enumerate().filter(|(other, _)| *other != at) {
                let mut rest = Vec::new();
                pieces.iter().for_each(|piece| self.space.subtract(piece, other, &mut rest));
                pieces = rest;
                if pieces.len() > PIECES {
                    return None;
                }
            }
            for piece in pieces {
                hull = Some(hull.map_or_else(
                    || self.space.hull(&piece, &piece),
                    |hull| self.space.hull(&hull, &piece),
                ));
            }
        }
        Some(hull)
    }

    /// Replaces a box by one that covers what it must and has fewer conditions, if there is one.
    fn regrow(&self, region: &mut Region, reduced: &Region) {
        let near =
            self.own.iter().position(|leaf| self.space.intersects(leaf, reduced)).unwrap_or(0);
        let mut larger = Vec::new();
        self.enlarge(reduced, near, &mut larger);
        if let Some(best) =
            larger.into_iter().min_by_key(|region| (self.space.cost(region), region.clone()))
            && self.space.cost(&best) < self.space.cost(region)
        {
            *region = best;
        }
    }
}
