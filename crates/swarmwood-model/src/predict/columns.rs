//! Byte columns: the values of a feature encoded as one byte per row.

use crate::predict::block::{Block, ColumnView, MISSING};
use crate::predict::kernels::avx512::{Avx512, ThresholdHeap};
use crate::predict::kernels::{
    Codes, GRID_CELLS, GRID_COMPARES, Instructions, KernelTask, LookupGrid, ROWS, count_below,
    count_below_on_grid, dispatch, grid_cell, narrow, raise_missing, search_below,
};
use crate::tree::LevelSet;

/// Maximum number of thresholds of one column: the codes are 0 to that number, and 255 is reserved
/// for missing values.
pub(super) const MAX_CUTS: usize = 254;

/// Maximum number of levels whose codes fit into a byte, 255 being the missing value.
pub(super) const MAX_BYTE_LEVELS: u32 = 255;

/// Up to this number of thresholds, comparing with all of them is fastest.
const FEW: usize = 6;

/// One byte column of a compiled model.
#[derive(Debug, Clone)]
pub(super) struct CodeColumn {
    /// The feature that is encoded.
    pub(super) feature: u32,
    /// How its values are encoded.
    pub(super) coding: ColumnCoding,
}

/// How a value is encoded as a byte.
#[derive(Debug, Clone)]
pub(super) enum ColumnCoding {
    /// The number of thresholds below the value. A missing value has code 0, as if it were below
    /// all of them, or code 255: splits that send missing values left and splits that send them
    /// right use different columns.
    Number { cuts: ThresholdSearch, missing_right: bool },
    /// The codes of the column before this one, but 255 for missing values.
    MissingRaised,
    /// The category code, 255 if missing.
    Levels(u32),
    /// Whether the category is in the set; for features with too many levels for byte codes.
    Member { levels: u32, set: LevelSet, missing_right: bool },
}

/// The thresholds of a column.
#[derive(Debug, Clone)]
pub(super) struct ThresholdSearch {
    /// How the thresholds below a value are counted.
    pub(super) method: SearchMethod,
    /// The same thresholds for AVX-512, if that is faster.
    heap: Option<ThresholdHeap>,
}

/// How the thresholds below a value are counted.
#[derive(Debug, Clone)]
pub(super) enum SearchMethod {
    /// Compares with each.
    Few(Vec<f64>),
    /// Looks up the cell of a grid and compares with the cell's thresholds.
    Grid(LookupGrid),
    /// Binary search.
    Search { thresholds: Box<[f64; 256]>, first_step: u8 },
}

impl ThresholdSearch {
    /// The fastest method for ascending distinct thresholds, [`MAX_CUTS`] at most.
    pub(super) fn new(thresholds: &[f64]) -> Self {
        if thresholds.len() <= FEW {
            return ThresholdSearch { method: SearchMethod::Few(thresholds.to_vec()), heap: None };
        }
        let heap = ThresholdHeap::new(thresholds);
        if let Some(grid) = best_grid(thresholds) {
            return ThresholdSearch { method: SearchMethod::Grid(grid), heap };
        }
        let mut padded = Box::new([f64::INFINITY; 256]);
        padded[..thresholds.len()].copy_from_slice(thresholds);
        // The largest power of two that is not above the number of thresholds, which is below 256.
        let first_step = 1 << thresholds.len().ilog2();
        ThresholdSearch { method: SearchMethod::Search { thresholds: padded, first_step }, heap }
    }

    #[inline(always)]
    pub(super) fn encode(&self, avx512: Option<Avx512>, values: &[f64; ROWS], codes: &mut Codes) {
        if let (Some(avx512), Some(heap)) = (avx512, &self.heap) {
            return avx512.search_below(values, heap, codes);
        }
        match &self.method {
            SearchMethod::Few(thresholds) => count_below(values, thresholds, codes),
            SearchMethod::Grid(grid) => count_below_on_grid(values, grid, codes),
            #[cfg(target_arch = "x86_64")]
            SearchMethod::Search { .. } if avx512.is_some() => {
                dispatch(Instructions::Avx2, EncodeTask { cuts: self, values, codes })
            }
            SearchMethod::Search { thresholds, first_step } => {
                search_below(values, thresholds, *first_step, codes)
            }
        }
    }
}

/// Encodes a column with other instructions than the rest of the task.
pub(super) struct EncodeTask<'a> {
    pub(super) cuts: &'a ThresholdSearch,
    pub(super) values: &'a [f64; ROWS],
    pub(super) codes: &'a mut Codes,
}

impl KernelTask for EncodeTask<'_> {
    #[inline(always)]
    fn run(self, avx512: Option<Avx512>) {
        self.cuts.encode(avx512, self.values, self.codes);
    }
}

/// The grid with the fewest compares, and among those the one with the fewest cells; none if even
/// the finest grid has crowded cells.
fn best_grid(thresholds: &[f64]) -> Option<LookupGrid> {
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

fn grid(thresholds: &[f64], cells: usize) -> Option<LookupGrid> {
    let (low, high) = (*thresholds.first()?, *thresholds.last()?);
    let last = (cells - 1) as f64;
    let scale = last / (high - low);

    // An infinite range or scale would make the cell of some value undefined.
    if !(high - low).is_finite() || !scale.is_normal() {
        return None;
    }

    let mut counts = vec![0_usize; cells];
    for threshold in thresholds {
        counts[grid_cell(*threshold, low, scale, last) as usize] += 1;
    }

    let largest = counts.iter().copied().max()?;
    let compares = [1, 2, GRID_COMPARES].into_iter().find(|compares| largest <= *compares)?;
    let mut below = Box::new([0_u8; GRID_CELLS]);
    let mut sum = 0;
    for (below, count) in below.iter_mut().zip(counts) {
        *below = sum as u8;
        sum += count;
    }

    let mut padded = Box::new([f64::INFINITY; 256 + GRID_COMPARES]);
    padded[..thresholds.len()].copy_from_slice(thresholds);
    Some(LookupGrid { low, scale, last, below, thresholds: padded, compares })
}

/// Memory in which the values of a last, shorter block are padded to a whole one.
pub(super) struct TailBuffer {
    numbers: [f64; ROWS],
    categories: [u32; ROWS],
}

impl TailBuffer {
    pub(super) fn new() -> Self {
        TailBuffer { numbers: [0.0; ROWS], categories: [MISSING; ROWS] }
    }
}

/// The rows to encode.
pub(super) struct BlockRows<'a> {
    pub(super) block: &'a Block<'a>,
    pub(super) start: usize,
    pub(super) rest: &'a mut TailBuffer,
}

impl CodeColumn {
    /// Encodes rows; `before` is the column before this one. Where the block ends early, the rest
    /// of the codes is undefined.
    #[inline(always)]
    pub(super) fn encode(
        &self,
        avx512: Option<Avx512>,
        rows: &mut BlockRows<'_>,
        before: Option<&Codes>,
        codes: &mut Codes,
    ) {
        let start = rows.start;
        match (&self.coding, &rows.block.columns[self.feature as usize]) {
            (ColumnCoding::Number { cuts, missing_right }, ColumnView::Number(values)) => {
                let values = window(values, start, &mut rows.rest.numbers);
                cuts.encode(avx512, values, codes);
                if *missing_right {
                    raise_missing(values, codes);
                }
            }
            (ColumnCoding::MissingRaised, ColumnView::Number(values)) => {
                if let Some(before) = before {
                    *codes = *before;
                }
                raise_missing(window(values, start, &mut rows.rest.numbers), codes);
            }
            (ColumnCoding::Levels(levels), ColumnView::Category(values)) => {
                narrow(*levels, window(values, start, &mut rows.rest.categories), codes);
            }
            (ColumnCoding::Member { levels, set, missing_right }, ColumnView::Category(values)) => {
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
