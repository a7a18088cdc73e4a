//! The books of leaves whose loss follows from sums.

use super::Loss;
use crate::ranked::{Ranked, Target};

/// The sums of some leaves, and what they cost together, while rows move between them.
#[derive(Debug, Clone)]
pub struct Sums<'a> {
    table: &'a Ranked,
    loss: &'a Loss,
    width: usize,
    sums: Vec<f64>,
    rows: Vec<u32>,
    losses: Vec<f64>,
    total: f64,
    min_leaf: u32,
    /// Leaves with rows, but fewer than they must have.
    small: usize,
    /// Leaves whose loss is out of date, some of them twice.
    touched: Vec<u16>,
}

/// What moves.
#[derive(Debug, Clone, Copy)]
pub enum Load {
    /// Rows of a class: its number and their weight.
    Class(usize, f64),
    /// Weight and weighted target.
    Moments(f64, f64),
}

impl<'a> Sums<'a> {
    /// Empty leaves.
    pub fn new(table: &'a Ranked, loss: &'a Loss, leaves: usize, min_leaf: usize) -> Self {
        let width = match table.target() {
            Target::Classes { count, .. } => *count,
            Target::Numbers { .. } => 2,
        };
        Sums {
            table,
            loss,
            width,
            sums: vec![0.0; leaves * width],
            rows: vec![0; leaves],
            losses: vec![0.0; leaves],
            total: 0.0,
            min_leaf: min_leaf as u32,
            small: 0,
            touched: Vec::new(),
        }
    }

    /// What one row carries.
    #[inline]
    pub fn load(&self, row: u32) -> Load {
        let weight = self.table.weight(row);
        match self.table.target() {
            Target::Classes { of_row, .. } => {
                Load::Class(usize::from(of_row[row as usize]), weight)
            }
            Target::Numbers { of_row, .. } => Load::Moments(weight, weight * of_row[row as usize]),
        }
    }

    /// Puts rows into a leaf.
    #[inline]
    pub fn add(&mut self, leaf: u16, load: Load, rows: u32) {
        self.apply(leaf, load, 1.0);
        self.count(leaf, rows as i32);
    }

    /// Moves rows from a leaf to another.
    #[inline]
    pub fn shift(&mut self, from: u16, to: u16, load: Load, rows: u32) {
        self.apply(from, load, -1.0);
        self.apply(to, load, 1.0);
        self.count(from, -(rows as i32));
        self.count(to, rows as i32);
    }

    #[inline]
    fn apply(&mut self, leaf: u16, load: Load, sign: f64) {
        let first = usize::from(leaf) * self.width;
        match load {
            Load::Class(class, weight) => self.sums[first + class] += sign * weight,
            Load::Moments(weight, target) => {
                self.sums[first] += sign * weight;
                self.sums[first + 1] += sign * target;
            }
        }
        if self.touched.last() != Some(&leaf) {
            self.touched.push(leaf);
        }
    }

    #[inline]
    fn count(&mut self, leaf: u16, change: i32) {
        let rows = &mut self.rows[usize::from(leaf)];
        let is_small = |rows: u32| rows > 0 && rows < self.min_leaf;
        let before = is_small(*rows);
        *rows = rows.wrapping_add_signed(change);
        self.small = self.small + usize::from(is_small(*rows)) - usize::from(before);
    }

    /// What the leaves cost together.
    #[inline]
    pub fn settle(&mut self) -> f64 {
        for leaf in self.touched.drain(..).map(usize::from) {
            let first = leaf * self.width;
            // Rounding leaves crumbs where all rows have left.
            if self.rows[leaf] == 0 {
                self.sums[first..first + self.width].fill(0.0);
            }
            let loss = self.loss.of(&self.sums[first..first + self.width]);
            self.total += loss - self.losses[leaf];
            self.losses[leaf] = loss;
        }
        self.total
    }

    /// Whether no leaf has rows, but too few.
    #[inline]
    pub fn allowed(&self) -> bool {
        self.small == 0
    }

    /// The sums of a leaf.
    pub fn of(&self, leaf: usize) -> &[f64] {
        &self.sums[leaf * self.width..(leaf + 1) * self.width]
    }

    /// The loss of each leaf.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// The rows of each leaf.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }
}
