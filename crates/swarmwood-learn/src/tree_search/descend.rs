//! Descent to a tree that no single change betters.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

use swarmwood_search::rng::Stream;

use super::{Problem, Tried, pair};
use crate::cart;
use crate::ranked::Rule;
use crate::sketch::{self, Edge, Sketch, Twig};
use crate::sweep::{Demand, Lot};

/// Rows up to which the proven best twig is looked for at the bottom of a tree; above, one over
/// coarse cuts.
const FEW_ROWS: usize = 2000;

/// Solved bottoms that are kept at a time.
const MOST_BOTTOMS: usize = 1 << 14;

/// Where a twig of two levels may stand: the rules above, each with the side, and the leaves it may
/// have.
pub(super) type Bottom = (Vec<(Rule, bool)>, usize);

impl Problem<'_> {
    /// Betters a tree until no rule, no move of a leaf and no twig of two levels betters it
    /// further. Also tells how many nodes were swept.
    pub(super) fn descend(&self, start: Tried, stream: &mut Stream) -> (Tried, u64) {
        let mut sweeps = 0;
        let mut now = Tried { sketch: self.tidy(start.sketch.clone()), loss: 0.0 };
        now.loss = self.loss(&now.sketch);
        loop {
            self.rechoose(&mut now, stream, &mut sweeps);
            if (self.halt)() || !(self.move_leaf(&mut now) || self.better_bottoms(&mut now)) {
                break;
            }
        }
        // Collapsing leaves that are too small can cost more than the descent saved.
        if now.loss <= start.loss || self.has_small_leaf(&start.sketch) {
            (now, sweeps)
        } else {
            (start, sweeps)
        }
    }

    /// Re-chooses the rules of all nodes, in random order, until none changes. A node need be
    /// looked at again only after a change above or below it.
    fn rechoose(&self, now: &mut Tried, stream: &mut Stream, sweeps: &mut u64) {
        loop {
            let mut changed = false;
            let mut dirty = vec![true; now.sketch.nodes().len()];
            let parents = now.sketch.parents();
            while dirty.contains(&true) {
                let mut order: Vec<u32> =
                    (0..dirty.len() as u32).filter(|&node| dirty[node as usize]).collect();
                stream.shuffle(&mut order);
                for node in order {
                    if (self.halt)() {
                        break;
                    }
                    *sweeps += 1;
                    dirty[node as usize] = false;
                    if let Some(saved) = self.rechoose_node(&mut now.sketch, node) {
                        now.loss -= saved;
                        changed = true;
                        mark_relatives(&mut dirty, &parents, node);
                    }
                }
                if (self.halt)() {
                    break;
                }
            }
            let before = now.sketch.leaves();
            let tidied = self.tidy(now.sketch.clone());
            let grown = cart::regrow(&self.growing(&self.features, self.greedy_loss()), &tidied);
            let moved = tidied.leaves() != before || grown.leaves() != tidied.leaves();
            let loss = self.loss(&grown);
            if !moved || (self.halt)() {
                *now = Tried { sketch: grown, loss };
                return;
            }
            let stuck = !changed && !self.better(loss, now.loss);
            *now = Tried { sketch: grown, loss };
            if stuck {
                return;
            }
        }
    }

    /// Gives a node the best rule for the tree as it is; what that saves, if anything.
    pub(super) fn rechoose_node(&self, sketch: &mut Sketch, node: u32) -> Option<f64> {
        let lot = self.lot(sketch, node);
        let current = self.loss_of_rule(sketch, node, &lot);
        let demand = Demand { loss: &self.settings.loss, min_leaf: self.settings.limits.min_leaf };
        let found = lot.best(demand, &self.features, self.pool)?;
        if !self.better(found.loss, current) {
            return None;
        }
        sketch.set_rule(node, found.rule);
        Some(current - found.loss)
    }

    /// The rows of a node with their leaf on either side.
    fn lot(&self, sketch: &Sketch, node: u32) -> Lot<'_> {
        let rows = self.rows_at(sketch, node);
        let branch = &sketch.nodes()[node as usize];
        let side = |edge: Edge, offset: u32| -> (Vec<u16>, u32) {
            let leaves = sketch.leaves_below(edge);
            let of = sketch.leaves_of(self.table, edge, &rows);
            (
                of.into_iter().map(|leaf| (leaf - leaves.start + offset) as u16).collect(),
                leaves.len() as u32,
            )
        };
        let (right, rights) = side(branch.right, 0);
        let (left, lefts) = side(branch.left, rights);
        Lot {
            table: self.table,
            rows,
            right,
            left,
            rights: rights as u16,
            leaves: (rights + lefts) as u16,
        }
    }

    /// The loss of the leaves below a node with the rule that it has.
    fn loss_of_rule(&self, sketch: &Sketch, node: u32, lot: &Lot<'_>) -> f64 {
        let rule = &sketch.nodes()[node as usize].rule;
        let codes = self.table.columns()[rule.feature as usize].codes();
        let mut of_leaf = vec![Vec::new(); usize::from(lot.leaves)];
        for (at, &row) in lot.rows.iter().enumerate() {
            let leaf = if rule.right(codes[row as usize]) { lot.right[at] } else { lot.left[at] };
            of_leaf[usize::from(leaf)].push(row);
        }
        of_leaf
            .iter()
            .map(|rows| sketch::fit_rows(self.table, rows, &self.settings.loss).loss)
            .sum()
    }

    /// The rows that come to a node.
    pub(super) fn rows_at(&self, sketch: &Sketch, node: u32) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.table.rows() as u32).collect();
        for (rule, to_right) in way_to(sketch, node) {
            let codes = self.table.columns()[rule.feature as usize].codes();
            rows.retain(|&row| rule.right(codes[row as usize]) == to_right);
        }
        rows
    }

    /// Takes out leaves with fewer rows than they must have: their sibling takes the place of the
    /// node above.
    pub(super) fn tidy(&self, mut sketch: Sketch) -> Sketch {
        let least = self.settings.limits.min_leaf.max(1);
        loop {
            let (_, leaves) = sketch.rows_of(self.table);
            let small = |edge: Edge| matches!(edge, Edge::Leaf(leaf) if leaves[leaf as usize].len() < least);
            let faulty =
                sketch.nodes().iter().position(|branch| small(branch.left) || small(branch.right));
            let Some(node) = faulty else { return sketch };
            let branch = &sketch.nodes()[node];
            let kept = if small(branch.left) { branch.right } else { branch.left };
            sketch = sketch.replace(Edge::Node(node as u32), &sketch.twig(kept));
        }
    }

    fn has_small_leaf(&self, sketch: &Sketch) -> bool {
        let (_, leaves) = sketch.rows_of(self.table);
        sketch.leaves() > 1
            && leaves.iter().any(|rows| rows.len() < self.settings.limits.min_leaf.max(1))
    }

    /// Takes a pair of leaves away where that costs least, and splits the leaf that gains most by
    /// it.
    fn move_leaf(&self, now: &mut Tried) -> bool {
        let limits = self.settings.limits;
        if limits.leaves == 0 || now.sketch.leaves() < 3 {
            return false;
        }
        let Some(weakest) = self.weakest_fork(&now.sketch) else { return false };
        let pruned = now.sketch.replace(weakest, &Twig::Leaf);
        let grown = cart::regrow(&self.growing(&self.features, &self.settings.loss), &pruned);
        self.accept(now, grown)
    }

    /// The pair of leaves that saves least.
    pub(super) fn weakest_fork(&self, sketch: &Sketch) -> Option<Edge> {
        let (nodes, leaves) = sketch::fit(sketch, self.table, &self.settings.loss);
        let saved = |(node, branch): (usize, &sketch::Branch)| match (branch.left, branch.right) {
            (Edge::Leaf(left), Edge::Leaf(right)) => Some((
                node,
                nodes[node].loss - leaves[left as usize].loss - leaves[right as usize].loss,
            )),
            _ => None,
        };
        let forks = sketch.nodes().iter().enumerate().filter_map(saved);
        let weakest = forks.reduce(|best, other| if other.1 < best.1 { other } else { best });
        weakest.map(|(node, _)| Edge::Node(node as u32))
    }

    /// Puts the best twig of two levels wherever the bottom of the tree has room for one.
    fn better_bottoms(&self, now: &mut Tried) -> bool {
        let exact = pair::can_solve(self.table, &self.settings.loss);
        let limits = self.settings.limits;
        let depths = now.sketch.depths();
        for node in 0..now.sketch.nodes().len() as u32 {
            let held = now.sketch.leaves_below(Edge::Node(node)).len();
            let twig = now.sketch.twig(Edge::Node(node));
            let room =
                if limits.leaves == 0 { 4 } else { limits.leaves - now.sketch.leaves() + held };
            let deep_enough = limits.depth == 0 || depths[node as usize] + 2 <= limits.depth;
            if twig.depth() > 2 || held < 2 || room < 3 || !deep_enough || (self.halt)() {
                continue;
            }
            if let Some(best) = self.best_bottom(&now.sketch, node, room.min(4), exact) {
                let tried = now.sketch.replace(Edge::Node(node), &best);
                if self.accept(now, tried) {
                    return true;
                }
            }
        }
        false
    }

    /// The best twig of two levels below a node. Descents come to the same places again and again,
    /// so that what was found is kept: it depends on nothing but the rows, and they follow from the
    /// rules above.
    fn best_bottom(&self, sketch: &Sketch, node: u32, leaves: usize, exact: bool) -> Option<Twig> {
        let place: Bottom = (way_to(sketch, node), leaves);
        if let Some(known) = self.bottoms().get(&place) {
            return known.clone();
        }
        let rows = self.rows_at(sketch, node);
        let small = exact && (node == 0 || rows.len() <= FEW_ROWS);
        let best = if small {
            pair::best(
                self.table,
                &rows,
                &self.settings.loss,
                self.settings.limits.min_leaf,
                leaves,
                self.pool,
            )
        } else {
            self.best_of_two_levels(&rows, leaves)
        };
        let mut bottoms = self.bottoms();
        if bottoms.len() >= MOST_BOTTOMS {
            bottoms.clear();
        }
        bottoms.insert(place, best.clone());
        best
    }

    /// The bottoms that were solved. A thread that panicked while it held them cannot have left
    /// half of an entry.
    fn bottoms(&self) -> MutexGuard<'_, HashMap<Bottom, Option<Twig>>> {
        self.bottoms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(&self, now: &mut Tried, sketch: Sketch) -> bool {
        let loss = self.loss(&sketch);
        let accepted = self.better(loss, now.loss);
        if accepted {
            *now = Tried { sketch, loss };
        }
        accepted
    }
}

/// The rules above a node, each with the side that leads to it, from the root down.
fn way_to(sketch: &Sketch, node: u32) -> Vec<(Rule, bool)> {
    let parents = sketch.parents();
    let mut way = Vec::new();
    let mut at = node;
    while at != 0 {
        let above = &sketch.nodes()[parents[at as usize] as usize];
        way.push((above.rule.clone(), above.right == Edge::Node(at)));
        at = parents[at as usize];
    }
    way.reverse();
    way
}

/// A change at a node concerns the nodes above and below it.
fn mark_relatives(dirty: &mut [bool], parents: &[u32], changed: u32) {
    let mut at = changed;
    while at != 0 {
        at = parents[at as usize];
        dirty[at as usize] = true;
    }
    // Children come after their parents.
    let mut below = vec![false; dirty.len()];
    below[changed as usize] = true;
    for node in changed as usize + 1..dirty.len() {
        below[node] = below[parents[node] as usize];
        dirty[node] |= below[node];
    }
}
