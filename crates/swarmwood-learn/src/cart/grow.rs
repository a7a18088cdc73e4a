//! Greedy growth: the rule that lowers the loss most, node after node.

use crate::leaf_loss::Loss;
use crate::pool::Pool;
use crate::ranked::Ranked;
use crate::sketch::{Edge, Sketch, Twig};
use crate::sweep::{Demand, Found, Lot};

/// How large a tree may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most leaves; 0 is no limit.
    pub leaves: usize,
    /// Most rules on a way down; 0 is no limit.
    pub depth: usize,
    /// Fewest rows of a leaf.
    pub min_leaf: usize,
}

impl Limits {
    /// Whether a node below so many rules may have a rule itself.
    pub fn allow_below(&self, depth: usize) -> bool {
        self.depth == 0 || depth < self.depth
    }

    /// Whether a tree of so many leaves may have more.
    pub fn allow_more(&self, leaves: usize) -> bool {
        self.leaves == 0 || leaves < self.leaves
    }
}

/// What growth needs to know.
#[derive(Clone, Copy)]
pub struct Growing<'a> {
    /// The rows.
    pub table: &'a Ranked,
    /// What splits are chosen by.
    pub loss: &'a Loss,
    /// How large the tree may get.
    pub limits: Limits,
    /// The features that may be used.
    pub features: &'a [u32],
    /// Who does the work.
    pub pool: &'a Pool,
}

/// A leaf that could be split.
struct Bud {
    /// Which leaf of the sketch it is, by the order of creation.
    key: usize,
    rows: Vec<u32>,
    depth: usize,
    loss: f64,
    found: Option<Found>,
}

/// A tree of all rows.
pub fn grow(growing: &Growing<'_>) -> Sketch {
    let rows = (0..growing.table.rows() as u32).collect();
    Sketch::new(&from_rows(growing, rows, 0, growing.limits.leaves))
}

/// Grows on at the leaves of a tree until the limits are reached. Leaves that are split first gain
/// most.
pub fn regrow(growing: &Growing<'_>, sketch: &Sketch) -> Sketch {
    if !growing.limits.allow_more(sketch.leaves()) {
        return sketch.clone();
    }
    let (_, leaves) = sketch.rows_of(growing.table);
    let mut depths = vec![0; sketch.leaves()];
    for (branch, depth) in sketch.nodes().iter().zip(sketch.depths()) {
        for child in [branch.left, branch.right] {
            if let Edge::Leaf(leaf) = child {
                depths[leaf as usize] = depth + 1;
            }
        }
    }
    let starts = leaves.into_iter().zip(depths).collect();
    let twigs = best_first(growing, starts, growing.limits.leaves);
    Sketch::new(&sketch.twig_but(sketch.root(), &mut |edge| match edge {
        Edge::Leaf(leaf) => Some(twigs[leaf as usize].clone()),
        Edge::Node(_) => None,
    }))
}

/// A twig of given rows below so many rules, with at most so many leaves (0: no limit).
pub fn from_rows(growing: &Growing<'_>, rows: Vec<u32>, depth: usize, leaves: usize) -> Twig {
    best_first(growing, vec![(rows, depth)], leaves).pop().unwrap_or(Twig::Leaf)
}

/// Splits the leaf that gains most, again and again. Without a limit to the leaves the order makes
/// no difference.
fn best_first(
    growing: &Growing<'_>,
    starts: Vec<(Vec<u32>, usize)>,
    most_leaves: usize,
) -> Vec<Twig> {
    let count = starts.len();
    // `kids[key]`: the rule of a split bud with the keys of its sides.
    let mut kids: Vec<Option<(Found, usize, usize)>> = vec![];
    let mut buds: Vec<Bud> = Vec::new();
    for (rows, depth) in starts {
        let key = kids.len();
        kids.push(None);
        let loss = loss_of(growing, &rows);
        buds.push(bud(growing, key, rows, depth, loss));
    }
    let mut leaves = count;
    while (most_leaves == 0 || leaves < most_leaves) && !growing.pool.hurried() {
        let gain = |bud: &Bud| bud.found.as_ref().map(|found| bud.loss - found.loss);
        let best = (0..buds.len()).filter(|&at| gain(&buds[at]).is_some()).reduce(|best, at| {
            let better = gain(&buds[at]) > gain(&buds[best]);
            if better { at } else { best }
        });
        let Some(best) = best else { break };
        let parent = buds.swap_remove(best);
        let Some(found) = parent.found else { break };
        let codes = growing.table.columns()[found.rule.feature as usize].codes();
        let (right, left): (Vec<u32>, Vec<u32>) =
            parent.rows.iter().partition(|&&row| found.rule.right(codes[row as usize]));
        let key = kids.len();
        kids.extend([None, None]);
        for (key, rows) in [(key, left), (key + 1, right)] {
            let loss = loss_of(growing, &rows);
            buds.push(bud(growing, key, rows, parent.depth + 1, loss));
        }
        kids[parent.key] = Some((found, key, key + 1));
        leaves += 1;
    }
    (0..count).map(|key| assemble(&kids, key)).collect()
}

fn assemble(kids: &[Option<(Found, usize, usize)>], key: usize) -> Twig {
    match &kids[key] {
        None => Twig::Leaf,
        Some((found, left, right)) => {
            Twig::fork(found.rule.clone(), assemble(kids, *left), assemble(kids, *right))
        }
    }
}

fn bud(growing: &Growing<'_>, key: usize, rows: Vec<u32>, depth: usize, loss: f64) -> Bud {
    let Growing { table, limits, .. } = *growing;
    let few = rows.len() < 2 * limits.min_leaf.max(1);
    let found = if few || !limits.allow_below(depth) || is_pure(table, &rows) {
        None
    } else {
        let lot = Lot::fresh(table, rows);
        let demand = Demand { loss: growing.loss, min_leaf: limits.min_leaf };
        let found = lot.best(demand, growing.features, growing.pool);
        return Bud { key, rows: lot.rows, depth, loss, found };
    };
    Bud { key, rows, depth, loss, found }
}

/// Whether all rows have the same target.
fn is_pure(table: &Ranked, rows: &[u32]) -> bool {
    use crate::ranked::Target;
    let Some(&first) = rows.first() else { return true };
    match table.target() {
        Target::Classes { of_row, .. } => {
            rows.iter().all(|&row| of_row[row as usize] == of_row[first as usize])
        }
        Target::Numbers { of_row, .. } => {
            rows.iter().all(|&row| of_row[row as usize] == of_row[first as usize])
        }
    }
}

/// The loss of rows in one leaf.
fn loss_of(growing: &Growing<'_>, rows: &[u32]) -> f64 {
    crate::sketch::fit_rows(growing.table, rows, growing.loss).loss
}
