//! The rows of a grid's cells, and the fitness of a position of thresholds.
//!
//! A position is first converted to cuts between ranks. Then each axis maps every code to its part
//! of the cell number by a table lookup, column by column, and cells with rows are found by that
//! number. So an evaluation is one pass over the rows of the used columns, compares no values, and
//! stores no cell without rows. A number has 64 bits; where a grid has more cells, those that were
//! found on the axes so far are numbered anew by their first row, and there are at most as many as
//! rows.

use super::GridAxis;
use crate::class_fitness::{ClassFitness, majority};
use swarmwood_learn::rank_table::{RankTable, RankTarget};

/// Grids with at most so many cells per row find cells by an array instead of a hash.
const ARRAY_CELLS_PER_ROW: u64 = 4;

/// Evaluates grids with given axes.
#[derive(Debug)]
pub struct GridCells<'a> {
    table: &'a RankTable,
    class_fitness: &'a ClassFitness,
    axes: &'a [GridAxis],
}

/// A cell with its class.
#[derive(Debug, Clone, PartialEq)]
pub struct GridCell {
    /// Its interval on each axis.
    pub intervals: Vec<u16>,
    /// The class that it predicts: of most of its rows, if it has any.
    pub class: u16,
    /// The weight of its rows.
    pub weight: f64,
}

/// The cell of every row; cells are numbered by their first row.
struct RowCells {
    of_row: Vec<u32>,
    /// The first row of each cell.
    first: Vec<u32>,
}

impl<'a> GridCells<'a> {
    /// The cells of a grid with these axes.
    pub fn new(
        table: &'a RankTable,
        class_fitness: &'a ClassFitness,
        axes: &'a [GridAxis],
    ) -> Self {
        GridCells { table, class_fitness, axes }
    }

    /// The thresholds of a position as codes, ascending on each axis: greater codes lie above.
    pub fn cuts(&self, thresholds: &[f64]) -> Vec<Vec<u16>> {
        let mut rest = thresholds;
        let of_axis = |axis: &GridAxis| {
            let (own, others) = rest.split_at(axis.thresholds);
            rest = others;
            let column = &self.table.columns()[axis.feature as usize];
            // No cut lies below all values.
            let mut cuts: Vec<u16> =
                own.iter().map(|&threshold| column.code_at_threshold(threshold).max(1)).collect();
            cuts.sort_unstable();
            cuts
        };
        self.axes.iter().map(of_axis).collect()
    }

    /// The fitness if every cell predicts the majority class of its rows.
    pub fn fitness(&self, cuts: &[Vec<u16>]) -> f64 {
        let cells = self.row_cells(cuts);
        let counts = self.class_weights(&cells);
        let worth = |counts: &[f64]| self.class_fitness.contribution(counts, majority(counts));
        let sum = counts.chunks(self.class_fitness.classes()).map(worth).sum();
        self.class_fitness.fitness(sum)
    }

    /// Number of cells that hold rows.
    pub(super) fn count_occupied(&self, cuts: &[Vec<u16>]) -> usize {
        self.row_cells(cuts).first.len()
    }

    /// The cells that hold rows, in order of their first row.
    pub fn occupied(&self, cuts: &[Vec<u16>]) -> Vec<GridCell> {
        let cells = self.row_cells(cuts);
        let counts = self.class_weights(&cells);
        let intervals = |row: usize| {
            let interval = |(axis, cuts): (&GridAxis, &Vec<u16>)| {
                axis.interval(cuts, self.table.columns()[axis.feature as usize].codes()[row])
            };
            self.axes.iter().zip(cuts).map(interval).collect()
        };
        let cell = |(&row, counts): (&u32, &[f64])| GridCell {
            intervals: intervals(row as usize),
            class: majority(counts) as u16,
            weight: counts.iter().sum(),
        };
        cells.first.iter().zip(counts.chunks(self.class_fitness.classes())).map(cell).collect()
    }

    /// The class weights of each cell.
    fn class_weights(&self, cells: &RowCells) -> Vec<f64> {
        let RankTarget::Classes { of_row, count } = self.table.target() else {
            unreachable!("the fitness exists for classes only");
        };
        let mut weights = vec![0.0; cells.first.len() * count];
        if self.table.is_weighted() {
            for ((row, &cell), &class) in (0..).zip(&cells.of_row).zip(of_row) {
                weights[cell as usize * count + usize::from(class)] += self.table.weight(row);
            }
        } else {
            for (&cell, &class) in cells.of_row.iter().zip(of_row) {
                weights[cell as usize * count + usize::from(class)] += 1.0;
            }
        }
        weights
    }

    fn row_cells(&self, cuts: &[Vec<u16>]) -> RowCells {
        let mut numbers = vec![0_u64; self.table.rows()];
        let mut count = 1_u64;
        let mut parts = Vec::new();
        for (axis, cuts) in self.axes.iter().zip(cuts).rev() {
            let intervals = cuts.len() as u64 + 1;
            if count.checked_mul(intervals).is_none() {
                let known = number_by_first_row(&numbers, count);
                numbers = known.of_row.iter().map(|&cell| u64::from(cell)).collect();
                count = known.first.len() as u64;
            }
            let column = &self.table.columns()[axis.feature as usize];
            code_parts(cuts, column.max_code(), axis.missing_right, count, &mut parts);
            for (number, &code) in numbers.iter_mut().zip(column.codes()) {
                *number += parts[usize::from(code)];
            }
            count *= intervals;
        }
        number_by_first_row(&numbers, count)
    }

    /// The same grid without repeated thresholds and those that separate no training rows, and
    /// without axes that have no threshold left.
    pub(super) fn drop_useless_cuts(&self, cuts: &[Vec<u16>]) -> (Vec<GridAxis>, Vec<Vec<u16>>) {
        let mut kept = (Vec::new(), Vec::new());
        for (axis, cuts) in self.axes.iter().zip(cuts) {
            let column = &self.table.columns()[axis.feature as usize];
            let any_missing = column.codes().contains(&0);
            // Above the greatest value a threshold separates it from missing ones.
            let top = column.max_code();
            let last = if axis.missing_right && any_missing && column.is_bounded() {
                top
            } else {
                top.saturating_sub(1)
            };
            let mut cuts: Vec<u16> =
                cuts.iter().copied().filter(|cut| (1..=last).contains(cut)).collect();
            cuts.dedup();
            if !cuts.is_empty() {
                kept.0.push(GridAxis { thresholds: cuts.len(), ..axis.clone() });
                kept.1.push(cuts);
            }
        }
        kept
    }
}

/// For every code the number of its interval, times the stride of the axis.
fn code_parts(cuts: &[u16], top: u16, missing_right: bool, stride: u64, parts: &mut Vec<u64>) {
    parts.clear();
    let mut number = 0;
    for &cut in cuts {
        parts.resize((usize::from(cut) + 1).max(parts.len()), number);
        number += stride;
    }
    parts.resize((usize::from(top) + 1).max(parts.len()), number);
    parts[0] = if missing_right { number } else { 0 };
}

/// Numbers the cells of rows anew, by their first row. All numbers are below `count`.
fn number_by_first_row(numbers: &[u64], count: u64) -> RowCells {
    let mut cells = RowCells { of_row: Vec::with_capacity(numbers.len()), first: Vec::new() };
    if count <= ARRAY_CELLS_PER_ROW * numbers.len() as u64 {
        // The number of a cell plus one; 0 is not seen yet.
        let mut known = vec![0_u32; count as usize];
        for (row, &number) in (0..).zip(numbers) {
            let slot = &mut known[number as usize];
            if *slot == 0 {
                cells.first.push(row);
                *slot = cells.first.len() as u32;
            }
            cells.of_row.push(*slot - 1);
        }
        return cells;
    }

    // Fibonacci hashing; half of the slots stay free, so that a search for a free one ends.
    let bits = (2 * numbers.len().max(1)).next_power_of_two().trailing_zeros();
    let (mut known, shift, mask) = (vec![0_u32; 1 << bits], 64 - bits, (1_usize << bits) - 1);
    for (row, &number) in (0..).zip(numbers) {
        let mut slot = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize;
        loop {
            match known[slot] {
                0 => {
                    cells.first.push(row);
                    known[slot] = cells.first.len() as u32;
                    break;
                }
                taken if numbers[cells.first[taken as usize - 1] as usize] == number => break,
                _ => slot = (slot + 1) & mask,
            }
        }
        cells.of_row.push(known[slot] - 1);
    }
    cells
}
