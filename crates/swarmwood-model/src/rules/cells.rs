//! Phase 3 of Jun, Cho, Lee 2012: neighbouring cells of the grid with equal predictions are merged
//! until no more can be.
//!
//! All thresholds of a feature cut the whole space, so that the number of cells is the product of
//! the numbers of atoms of the axes; each cell starts as a rule of its own. Cells that differ on
//! one axis only and adjoin there are merged. Deviations: the paper does not define an order, so
//! axes take turns, in the order of the tree, until a turn changes nothing; a missing value is a
//! cell like any other; and the prediction with the most conditions becomes the default here too.
//! For comparison only: it makes more rules than the tree had, and the grid grows exponentially.

use std::collections::BTreeMap;

use super::RulesError;
use super::space::{Region, TreeSpace};

/// Maximum number of cells of a grid that is merged.
pub(super) const MAX_CELLS: usize = 1 << 14;

/// For each prediction the boxes that its cells merge into.
pub(super) fn merge(
    space: &TreeSpace,
    leaves: &[(&Region, usize)],
    predictions: usize,
) -> Result<Vec<Vec<Region>>, RulesError> {
    let sizes = space.sizes();
    let cells = sizes.iter().fold(1.0, |product, &size| product * size as f64);
    if cells > MAX_CELLS as f64 {
        return Err(RulesError::Grid { cells, limit: MAX_CELLS });
    }

    let mut merged = vec![Vec::new(); predictions];
    for number in 0..cells as usize {
        let mut rest = number;
        let mut digit = |size: &usize| {
            let atom = rest % size;
            rest /= size;
            atom
        };
        let atoms: Vec<usize> = sizes.iter().map(&mut digit).collect();
        let cell = space.cell(&atoms);
        if let Some((_, prediction)) = leaves.iter().find(|(leaf, _)| leaf.contains(&cell)) {
            merged[*prediction].push(cell);
        }
    }

    for boxes in &mut merged {
        loop {
            let before = boxes.len();
            for axis in 0..sizes.len() {
                *boxes = merge_along(space, axis, std::mem::take(boxes));
            }
            if boxes.len() == before {
                break;
            }
        }
    }
    Ok(merged)
}

/// Joins boxes that differ on one axis only and adjoin there.
fn merge_along(space: &TreeSpace, axis: usize, boxes: Vec<Region>) -> Vec<Region> {
    let mut lines: BTreeMap<Region, Vec<Region>> = BTreeMap::new();
    for region in boxes {
        let (_, rest) = space.split_off(&region, axis);
        let line = lines.entry(rest).or_default();
        // Boxes come in the order of their atoms, so a neighbour is nearly always the last one.
        let neighbour = line.iter().rposition(|other| space.join(other, &region, axis).is_some());
        match neighbour {
            Some(at) => line[at] = space.join(&line[at], &region, axis).unwrap_or(region),
            None => line.push(region),
        }
    }
    lines.into_values().flatten().collect()
}
