//! Phase 3 of Jun, Cho, Lee 2012 on the grid of all thresholds of a tree.
//!
//! All thresholds of a feature cut the whole space, so that the number of cells is the product of
//! the numbers of atoms of the axes; each cell starts as a rule of its own, and adjacent ones are
//! combined in the order of the paper ([`merge_ascending`]). Deviations: a missing value is a cell
//! like any other, and the prediction with the most conditions becomes the default here too. For
//! comparison only: it makes more rules than the tree had, and the grid grows exponentially.

use super::RulesError;
use super::merge::merge_ascending;
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

    let mut ascending = Vec::new();
    for number in 0..cells as usize {
        // The first axis is the most significant digit.
        let mut rest = number;
        let mut atoms = vec![0; sizes.len()];
        for (atom, size) in atoms.iter_mut().zip(&sizes).rev() {
            *atom = rest % size;
            rest /= size;
        }
        let cell = space.cell(&atoms);
        if let Some((_, prediction)) = leaves.iter().find(|(leaf, _)| leaf.contains(&cell)) {
            ascending.push((cell, *prediction));
        }
    }

    let merged = merge_ascending(
        ascending,
        sizes.len(),
        |(region, prediction), axis| (space.without_axis(region, axis), *prediction),
        |a, b, axis| Some((space.join(&a.0, &b.0, axis)?, a.1)),
    );
    let mut of_prediction = vec![Vec::new(); predictions];
    merged.into_iter().for_each(|(region, prediction)| of_prediction[prediction].push(region));
    Ok(of_prediction)
}
