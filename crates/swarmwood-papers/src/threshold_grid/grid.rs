//! A grid whose cells have classes, simplified: phase 3.

use super::GridAxis;
use super::cells::GridCell;
use super::empty_cells::{EmptyCellRule, fill};
use super::redundant::drop_redundant;
use swarmwood_model::rules::merge_ascending;

/// Grids with more cells than this are not enumerated: their cells without rows get no class of
/// their own.
pub const MAX_FILLED_CELLS: usize = 1 << 15;

/// A box of cells with one class.
#[derive(Debug, Clone, PartialEq)]
pub struct CellBox {
    /// From which interval to before which, axis by axis.
    pub ranges: Vec<[u16; 2]>,
    /// The class of its cells.
    pub class: u16,
}

/// A simplified grid.
#[derive(Debug, Clone, PartialEq)]
pub struct CellGrid {
    /// The variables.
    pub axes: Vec<GridAxis>,
    /// The thresholds of each as codes, ascending: greater codes lie above. None is redundant.
    pub cuts: Vec<Vec<u16>>,
    /// What the cells were merged into, in the order of their least cells.
    pub boxes: Vec<CellBox>,
    /// Whether every cell is in a box; otherwise only those with rows are.
    pub is_filled: bool,
    /// The size of the grid before it was simplified.
    pub size: GridSize,
}

/// The size of a grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridSize {
    /// Number of variables.
    pub features: usize,
    /// Number of thresholds.
    pub thresholds: usize,
    /// Number of cells.
    pub cells: f64,
    /// Number of cells with rows.
    pub occupied: usize,
}

impl CellGrid {
    /// Gives cells without rows a class, drops redundant thresholds and merges the cells.
    pub(super) fn simplified(
        (axes, cuts): (Vec<GridAxis>, Vec<Vec<u16>>),
        occupied: Vec<GridCell>,
        rule: EmptyCellRule,
        seed: u64,
    ) -> Self {
        let size = GridSize {
            features: axes.len(),
            thresholds: cuts.iter().map(Vec::len).sum(),
            cells: number_of_cells(&cuts),
            occupied: occupied.len(),
        };
        let mut grid = CellGrid { axes, cuts, boxes: Vec::new(), is_filled: true, size };
        let mut cells = occupied;
        if size.cells > MAX_FILLED_CELLS as f64 {
            cells = grid.drop_thresholds(cells);
        }
        grid.is_filled = number_of_cells(&grid.cuts) <= MAX_FILLED_CELLS as f64;
        if grid.is_filled {
            let shape: Vec<usize> = grid.cuts.iter().map(|cuts| cuts.len() + 1).collect();
            let all = fill(&shape, &cells, rule, seed);
            cells = grid.drop_thresholds(all);
        }
        grid.boxes = merge(cells, grid.axes.len());
        grid
    }

    /// Drops redundant thresholds, and variables that have none left.
    fn drop_thresholds(&mut self, cells: Vec<GridCell>) -> Vec<GridCell> {
        let counts: Vec<usize> = self.cuts.iter().map(Vec::len).collect();
        let (mut cells, kept) = drop_redundant(cells, &counts);
        for (cuts, kept) in self.cuts.iter_mut().zip(&kept) {
            let mut kept = kept.iter();
            cuts.retain(|_| kept.next() == Some(&true));
        }

        let used: Vec<bool> = self.cuts.iter().map(|cuts| !cuts.is_empty()).collect();
        let keep_used = |intervals: &mut Vec<u16>| {
            let mut used = used.iter();
            intervals.retain(|_| used.next() == Some(&true));
        };
        cells.iter_mut().for_each(|cell| keep_used(&mut cell.intervals));
        self.cuts.retain(|cuts| !cuts.is_empty());
        let mut used = used.iter();
        self.axes.retain(|_| used.next() == Some(&true));
        for (axis, cuts) in self.axes.iter_mut().zip(&self.cuts) {
            axis.thresholds = cuts.len();
        }
        cells
    }

    /// The class of a row with these codes; `None` if its cell is in no box.
    pub fn class(&self, code: impl Fn(u32) -> u16) -> Option<u16> {
        let axes = self.axes.iter().zip(&self.cuts);
        let intervals: Vec<u16> =
            axes.map(|(axis, cuts)| axis.interval(cuts, code(axis.feature))).collect();
        let holds = |one: &&CellBox| {
            let mut ranges = one.ranges.iter().zip(&intervals);
            ranges.all(|(range, interval)| (range[0]..range[1]).contains(interval))
        };
        self.boxes.iter().find(holds).map(|found| found.class)
    }
}

fn number_of_cells(cuts: &[Vec<u16>]) -> f64 {
    cuts.iter().map(|cuts| (cuts.len() + 1) as f64).product()
}

/// Steps 3-1 to 3-4.
fn merge(mut cells: Vec<GridCell>, axes: usize) -> Vec<CellBox> {
    cells.sort_by(|a, b| a.intervals.cmp(&b.intervals));
    let to_box = |cell: GridCell| CellBox {
        ranges: cell.intervals.iter().map(|&at| [at, at + 1]).collect(),
        class: cell.class,
    };
    let boxes = cells.into_iter().map(to_box).collect();
    let line = |of: &CellBox, axis: usize| {
        let mut others = of.ranges.clone();
        others[axis] = [0, 0];
        (others, of.class)
    };
    merge_ascending(boxes, axes, line, |a, b, axis| {
        let (low, high) = if a.ranges[axis] < b.ranges[axis] { (a, b) } else { (b, a) };
        let adjoin = low.ranges[axis][1] == high.ranges[axis][0];
        adjoin.then(|| {
            let mut union = low.clone();
            union.ranges[axis][1] = high.ranges[axis][1];
            union
        })
    })
}
