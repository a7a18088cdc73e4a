//! The rows of a grid's cells, and the fitness of a position of thresholds.
//!
//! A position is first converted to cuts between ranks. Then each axis maps every code to its part
//! of the cell number by a table lookup, column by column, and cells with rows are found by hashing
//! the number. So an evaluation is one pass over the rows of the used columns, compares no values,
//! and stores no cell without rows.

use super::GridAxis;
use crate::class_fitness::{ClassFitness, majority};
use swarmwood_learn::rank_table::{RankTable, RankTarget};

/// Evaluates grids with given axes.
#[derive(Debug)]
pub struct GridCells<'a> {
    table: &'a RankTable,
    class_fitness: &'a ClassFitness,
    axes: &'a [GridAxis],
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
        let worth =
            |(_, counts): (u32, &[f64])| self.class_fitness.contribution(counts, majority(counts));
        self.class_fitness.fitness(self.occupied(cuts).iter().map(worth).sum())
    }

    /// The cells that hold rows.
    pub(super) fn occupied(&self, cuts: &[Vec<u16>]) -> CellCounts {
        let RankTarget::Classes { of_row, count } = self.table.target() else {
            unreachable!("the fitness exists for classes only");
        };
        let rows = self.table.rows();
        let mut cell_of = vec![0_u32; rows];
        let mut stride = 1;
        let mut parts = Vec::new();
        for (axis, cuts) in self.axes.iter().zip(cuts).rev() {
            let column = &self.table.columns()[axis.feature as usize];
            intervals(cuts, column.max_code(), axis.missing_right, stride, &mut parts);
            for (cell, &code) in cell_of.iter_mut().zip(column.codes()) {
                *cell += parts[usize::from(code)];
            }
            stride *= cuts.len() as u32 + 1;
        }
        let mut occupied = CellCounts::new(rows.min(stride as usize), *count);
        for ((row, &cell), &class) in (0..).zip(&cell_of).zip(of_row) {
            occupied.counts_of(cell)[usize::from(class)] += self.table.weight(row);
        }
        occupied
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
fn intervals(cuts: &[u16], top: u16, missing_right: bool, stride: u32, parts: &mut Vec<u32>) {
    parts.clear();
    let mut number = 0;
    for &cut in cuts {
        parts.resize((usize::from(cut) + 1).max(parts.len()), number);
        number += stride;
    }
    parts.resize((usize::from(top) + 1).max(parts.len()), number);
    parts[0] = if missing_right { number } else { 0 };
}

/// Cells with rows, in order of their first row, and the class weights of each.
#[derive(Debug)]
pub(super) struct CellCounts {
    /// The place of a cell in `cells`, plus one, found by a hash of its number; 0 is free.
    slots: Vec<u32>,
    shift: u32,
    cells: Vec<u32>,
    counts: Vec<f64>,
    width: usize,
}

impl CellCounts {
    fn new(most: usize, width: usize) -> Self {
        let bits = (2 * most.max(1)).next_power_of_two().trailing_zeros();
        CellCounts {
            slots: vec![0; 1 << bits],
            shift: 64 - bits,
            cells: Vec::new(),
            counts: Vec::new(),
            width,
        }
    }

    /// The weights of a cell, which are zeros at first.
    fn counts_of(&mut self, cell: u32) -> &mut [f64] {
        // Fibonacci hashing; half of the slots stay free, so that a search for a free one ends.
        let mut slot = (u64::from(cell).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        let place = loop {
            match self.slots[slot] {
                0 => {
                    self.cells.push(cell);
                    self.counts.resize(self.counts.len() + self.width, 0.0);
                    self.slots[slot] = self.cells.len() as u32;
                    break self.cells.len() - 1;
                }
                taken if self.cells[taken as usize - 1] == cell => break taken as usize - 1,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        };
        &mut self.counts[place * self.width..(place + 1) * self.width]
    }

    /// The cells with their class weights.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &[f64])> {
        self.cells.iter().copied().zip(self.counts.chunks(self.width))
    }
}
