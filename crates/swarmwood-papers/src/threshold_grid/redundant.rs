//! Thresholds that separate no two classes are dropped.
//!
//! "After optimizing the fully grown tree, we may eliminate redundant splitting criteria" (Jun, Cho,
//! Lee 2012, section 5). On one axis, two cells that differ there only and follow each other need a
//! threshold between them if their classes differ. Those needs are intervals of thresholds, and the
//! fewest thresholds that meet them all are found by taking them by their upper end (the greedy
//! stabbing of intervals). The axes are treated one after the other, so that no cell of the result
//! holds cells of two classes.

use std::collections::BTreeMap;

use super::cells::GridCell;

/// For each axis, which of its thresholds remain; the cells are merged accordingly.
pub(super) fn drop_redundant(
    cells: Vec<GridCell>,
    thresholds: &[usize],
) -> (Vec<GridCell>, Vec<Vec<bool>>) {
    let mut cells = cells;
    let mut kept = Vec::with_capacity(thresholds.len());
    for (axis, &count) in thresholds.iter().enumerate() {
        let needed = needed_on(&cells, axis, count);
        // The interval of the coarser axis that each interval becomes a part of.
        let mut coarser = vec![0_u16];
        for &is_needed in &needed {
            coarser.push(coarser[coarser.len() - 1] + u16::from(is_needed));
        }

        let mut merged: BTreeMap<Vec<u16>, GridCell> = BTreeMap::new();
        for mut cell in cells {
            cell.intervals[axis] = coarser[usize::from(cell.intervals[axis])];
            match merged.get_mut(&cell.intervals) {
                Some(known) => known.weight += cell.weight,
                None => {
                    merged.insert(cell.intervals.clone(), cell);
                }
            }
        }
        cells = merged.into_values().collect();
        kept.push(needed);
    }
    (cells, kept)
}

/// Which thresholds of an axis are needed: threshold `i` lies between the intervals `i` and `i + 1`.
fn needed_on(cells: &[GridCell], axis: usize, thresholds: usize) -> Vec<bool> {
    let mut lines: BTreeMap<Vec<u16>, Vec<(u16, u16)>> = BTreeMap::new();
    for cell in cells {
        let mut line = cell.intervals.clone();
        line[axis] = 0;
        lines.entry(line).or_default().push((cell.intervals[axis], cell.class));
    }

    // A threshold is needed in each of these ranges, both ends included.
    let mut needs: Vec<(u16, u16)> = Vec::new();
    for line in lines.values_mut() {
        line.sort_unstable();
        let changes = line.windows(2).filter(|pair| pair[0].1 != pair[1].1);
        needs.extend(changes.map(|pair| (pair[1].0 - 1, pair[0].0)));
    }
    needs.sort_unstable();
    let mut needed = vec![false; thresholds];
    let mut last = None;
    for (high, low) in needs {
        if last.is_none_or(|last| last < low) {
            needed[usize::from(high)] = true;
            last = Some(high);
        }
    }
    needed
}
