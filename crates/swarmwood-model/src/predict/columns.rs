//! Byte columns: how the values of a feature become one byte a row.

use crate::predict::block::{Block, MISSING, Values};
use crate::predict::kernels::wide::{Heap, Wide};
use crate::predict::kernels::{
    Codes, GRID_CELLS, GRID_COMPARES, Grid, Instructions, ROWS, Task, count_below,
    count_below_on_grid, dispatch, grid_cell, narrow, raise_missing, search_below,
};
use crate::tree::LevelSet;

/// The most thresholds of one column: the codes are 0 to their number, and 255 is free for missing
/// values.
pub(super) const MAX_CUTS: usize = 254;

/// The most levels a category may have for its codes to fit a byte, 255 being the missing value.
pub(super) const MAX_BYTE_LEVELS: u32 = 255;

/// Up to this number of thresholds, comparing with all of them is the fastest way.
const FEW: usize = 6;

/// One byte column of a compiled model.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// Where the values come from.
    pub(super) feature: u32,
    /// What becomes of them.
    pub(super) coding: Coding,
}

/// How a value becomes a byte.
#[derive(Debug, Clone)]
pub(super) enum Coding {
    /// The number of thresholds below the value. A missing value has code 0, as if it were below
    /// all of them, or code 255: rules that send missing values left and rules that send them right
    /// use different columns.
    Number { cuts: Cuts, missing_right: bool },
    /// The codes of the column before this one, but 255 for missing values.
    Raised,
    /// The category code, 255 if missing.
    Levels(u32),
    /// Whether the category, of more levels than a byte can tell apart, is in the set.
    Member { levels: u32, set: LevelSet, missing_right: bool },
}

/// The thresholds of a column.
#[derive(Debug, Clone)]
pub(super) struct Cuts {
    /// How those below a value are counted.
    pub(super) way: Way,
    /// The same thresholds for the widest instructions, if that is faster.
    heap: Option<Heap>,
}

/// Ways to count the thresholds below a value.
#[derive(Debug, Clone)]
pub(super) enum Way {
    /// Compare with each.
    Few(Vec<f64>),
    /// Look up the cell of a grid, compare with the cell's thresholds.
    Grid(Grid),
    /// Halve.
    Search { thresholds: Box<[f64; 256]>, first_step: u8 },
}

impl Cuts {
    /// The fastest way for ascending distinct thresholds, [`MAX_CUTS`] at most.
    pub(super) fn new(thresholds: &[f64]) -> Self {
        if thresholds.len() <= FEW {
            return Cuts { way: Way::Few(thresholds.to_vec()), heap: None };
        }
        let heap = Heap::new(thresholds);
        if let Some(grid) = best_grid(thresholds) {
            return Cuts { way: Way::Grid(grid), heap };
        }
        let mut padded = Box::new([f64::INFINITY; 256]);
        padded[..thresholds.len()].copy_from_slice(thresholds);
        // The largest power of two that is not above the number of thresholds, which is below 256.
        let first_step = 1 << thresholds.len().ilog2();
        Cuts { way: Way::Search { thresholds: padded, first_step }, heap }
    }

    #[inline(always)]
    pub(super) fn encode(&self, wide: Option<Wide>, values: &[f64; ROWS], codes: &mut Codes) {
        if let (Some(wide), Some(heap)) = (wide, &self.heap) {
            return wide.search_below(values, heap, codes);
        }
        match &self.way {
            Way::Few(thresholds) => count_below(values, thresholds, codes),
            Way::Grid(grid) => count_below_on_grid(values, grid, codes),
            #[cfg(target_arch = "x86_64")]
            Way::Search { .. } if wide.is_some() => {
                dispatch(Instructions::Avx2, Encode { cuts: self, values, codes })
            }
            Way::Search { thresholds, first_step } => {
                search_below(values, thresholds, *first_step, codes)
            }
        }
    }
}

/// Encodes a column with other instructions than the rest of the task.
pub(super) struct Encode<'a> {
    pub(super) cuts: &'a Cuts,
    pub(super) values: &'a [f64; ROWS],
    pub(super) codes: &'a mut Codes,
}

impl Task for Encode<'_> {
    #[inline(always)]
    fn run(self, wide: Option<Wide>) {
        self.cuts.encode(wide, self.values, self.codes);
    }
}

/// The grid with the fewest compares, and among those the one with the fewest cells; none if even
/// the finest grid has crowded cells.
fn best_grid(thresholds: &[f64]) -> Option<Grid> {
    let fits = |cells: &usize| *cells >= thresholds.len();
    let grids = || {
        [64, 256, 1024, GRID_CELLS]
            .into_iter()
            .filter(fits)
            .filter_map(|cells| grid(thresholds, cells))
    };
    [1, 2, GRID_COMPARES]
        .into_iter()
        .find_map(|compares| grids().find(|grid| grid.compares == compares))
}

fn grid(thresholds: &[f64], cells: usize) -> Option<Grid> {
    let (low, high) = (*thresholds.first()?, *thresholds.last()?);
    let last = (cells - 1) as f64;
    let scale = last / (high - low);
    // An infinite range or scale would make the cell of some value undefined.
    if !(high - low).is_finite() || !scale.is_normal() {
        return None;
    }
    let mut held = vec![0_usize; cells];
    for threshold in thresholds {
        held[grid_cell(*threshold, low, scale, last) as usize] += 1;
    }
    let crowd = held.iter().copied().max()?;
    let compares = [1, 2, GRID_COMPARES].into_iter().find(|compares| crowd <= *compares)?;
    let mut below = Box::new([0_u8; GRID_CELLS]);
    let mut sum = 0;
    for (below, held) in below.iter_mut().zip(held) {
        *below = sum as u8;
        sum += held;
    }
    let mut padded = Box::new([f64::INFINITY; 256 + GRID_COMPARES]);
    padded[..thresholds.len()].copy_from_slice(thresholds);
    Some(Grid { low, scale, last, below, thresholds: padded, compares })
}

/// Where the values of a last, shorter block are made up to a whole one.
pub(super) struct Rest {
    numbers: [f64; ROWS],
    categories: [u32; ROWS],
}

impl Rest {
    pub(super) fn new() -> Self {
        Rest { numbers: [0.0; ROWS], categories: [MISSING; ROWS] }
    }
}

/// The rows to encode.
pub(super) struct Rows<'a> {
    pub(super) block: &'a Block<'a>,
    pub(super) start: usize,
    pub(super) rest: &'a mut Rest,
}

impl Column {
    /// Encodes rows; `before` is the column before this one. Where the block ends early, the rest
    /// of the codes means nothing.
    #[inline(always)]
    pub(super) fn encode(
        &self,
        wide: Option<Wide>,
        rows: &mut Rows<'_>,
        before: Option<&Codes>,
        codes: &mut Codes,
    ) {
        let start = rows.start;
        match (&self.coding, &rows.block.columns[self.feature as usize]) {
            (Coding::Number { cuts, missing_right }, Values::Number(values)) => {
                let values = window(values, start, &mut rows.rest.numbers);
                cuts.encode(wide, values, codes);
                if *missing_right {
                    raise_missing(values, codes);
                }
            }
            (Coding::Raised, Values::Number(values)) => {
                if let Some(before) = before {
                    *codes = *before;
                }
                raise_missing(window(values, start, &mut rows.rest.numbers), codes);
            }
            (Coding::Levels(levels), Values::Category(values)) => {
                narrow(*levels, window(values, start, &mut rows.rest.categories), codes);
            }
            (Coding::Member { levels, set, missing_right }, Values::Category(values)) => {
                for (code, value) in codes.iter_mut().zip(&values[start..]) {
                    *code = u8::from(if value < levels {
                        set.contains(*value)
                    } else {
                        *missing_right
                    });
                }
            }
            // The block has been checked against the schema the model was compiled with.
            _ => codes.fill(0),
        }
    }
}

/// The block's values from `start` on; a last, shorter piece is copied into `rest`.
#[inline(always)]
fn window<'a, T: Copy>(values: &'a [T], start: usize, rest: &'a mut [T; ROWS]) -> &'a [T; ROWS] {
    let values = &values[start..];
    if let Some(whole) = values.first_chunk() {
        return whole;
    }
    rest[..values.len()].copy_from_slice(values);
    rest
}
