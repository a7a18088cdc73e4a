//! The inner loops of batch prediction, over blocks of [`ROWS`] rows, and the choice of the
//! instruction set at run time.
//!
//! The loops are plain Rust over arrays of fixed length, which the compiler turns into vector
//! instructions. They are inlined into [`dispatch`], whose arms differ in the instructions the
//! compiler may use and, in the widest, in some loops that are written with them ([`avx512`]). No arm
//! may use fused multiply-add, so all compute the same bits.
//!
//! **Invariant:** the only `unsafe` of the crate is here and in [`avx512`].

pub(super) mod avx512;

use avx512::Avx512;

/// Rows of a block: enough to amortise a mispredicted branch between steps, few enough that the
/// byte columns of some dozens of features stay in the nearest caches.
pub(super) const ROWS: usize = 1024;

/// One byte per row.
pub(super) type Codes = [u8; ROWS];

/// The instruction set that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instructions {
    /// The baseline of the architecture.
    Plain,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with byte permutations.
    Avx512(Avx512),
}

impl Instructions {
    /// The best instruction set of this CPU.
    pub(super) fn detect() -> Self {
        if let Some(avx512) = Avx512::detect() {
            return Instructions::Avx512(avx512);
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Instructions::Avx2;
        }
        Instructions::Plain
    }

    /// All instruction sets of this CPU.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        let mut all = vec![Instructions::Plain];
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            all.push(Instructions::Avx2);
        }
        all.extend(Avx512::detect().map(Instructions::Avx512));
        all
    }
}

/// Code that is compiled once per instruction set. `run` and all it calls in its loops must be
/// `#[inline(always)]`.
pub(super) trait KernelTask {
    /// Runs the task, with the loops of [`avx512`] if the proof for them is given.
    fn run(self, avx512: Option<Avx512>);
}

// Not inlined into AVX-512 functions, where the compiler would use gather instructions, which are
// slower than separate loads.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2")]
fn run_avx2(task: impl KernelTask) {
    task.run(None);
}

/// Runs a task with the given instructions.
#[allow(unsafe_code)]
pub(super) fn dispatch(instructions: Instructions, task: impl KernelTask) {
    match instructions {
        Instructions::Plain => task.run(None),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => {
            assert!(
                std::arch::is_x86_feature_detected!("avx2"),
                "the CPU lacks the instructions asked for"
            );
            // SAFETY: the assertion above made sure that this CPU has AVX2, the function's only
            // requirement.
            unsafe { run_avx2(task) }
        }
        Instructions::Avx512(avx512) => avx512.run(task),
    }
}

/// `codes[i]` = how many of the thresholds lie below `values[i]`; 0 for NaN.
#[inline(always)]
pub(super) fn count_below(values: &[f64; ROWS], thresholds: &[f64], codes: &mut Codes) {
    const LANES: usize = 16;
    for (values, codes) in
        values.as_chunks::<LANES>().0.iter().zip(codes.as_chunks_mut::<LANES>().0)
    {
        // Counters as wide as the values save a conversion at each comparison.
        let mut counts = [0_u64; LANES];
        for threshold in thresholds {
            for (count, value) in counts.iter_mut().zip(values) {
                *count += u64::from(value > threshold);
            }
        }
        for (code, count) in codes.iter_mut().zip(counts) {
            *code = count as u8;
        }
    }
}

/// A grid of equal cells over the range of a column's thresholds.
///
/// The cell is a monotone function of the value in spite of rounding. So thresholds of lower cells
/// are below the value and thresholds of higher cells are not; only those of the value's own cell
/// are compared. The result is exact.
#[derive(Debug, Clone)]
pub(super) struct LookupGrid {
    /// Start of the grid.
    pub(super) low: f64,
    /// Cells per unit.
    pub(super) scale: f64,
    /// The index of the last cell, at most [`GRID_CELLS`] - 1.
    pub(super) last: f64,
    /// For each cell, the number of thresholds in lower cells.
    pub(super) below: Box<[u8; GRID_CELLS]>,
    /// The thresholds in ascending order, then infinities.
    pub(super) thresholds: Box<[f64; 256 + GRID_COMPARES]>,
    /// At least the largest number of thresholds in one cell; 1, 2 or [`GRID_COMPARES`].
    pub(super) compares: usize,
}

/// Maximum number of cells of a grid.
pub(super) const GRID_CELLS: usize = 4096;

/// Maximum number of thresholds in a cell of a grid.
pub(super) const GRID_COMPARES: usize = 4;

/// The cell of a value; 0 for NaN.
#[inline(always)]
pub(super) fn grid_cell(value: f64, low: f64, scale: f64, last: f64) -> u32 {
    // Adding 2^52 leaves the integer, rounded, in the low bits of the mantissa: a conversion that
    // vectorises everywhere.
    const ROUND: f64 = 4_503_599_627_370_496.0;
    let place = (value - low) * scale;
    let place = if place > 0.0 { place } else { 0.0 };
    let place = if place < last { place } else { last };
    (place + ROUND).to_bits() as u32
}

/// `codes[i]` = how many of the grid's thresholds lie below `values[i]`; 0 for NaN.
#[inline(always)]
pub(super) fn count_below_on_grid(values: &[f64; ROWS], grid: &LookupGrid, codes: &mut Codes) {
    match grid.compares {
        1 => look_up::<1>(values, grid, codes),
        2 => look_up::<2>(values, grid, codes),
        _ => look_up::<GRID_COMPARES>(values, grid, codes),
    }
}

#[inline(always)]
fn look_up<const COMPARES: usize>(values: &[f64; ROWS], grid: &LookupGrid, codes: &mut Codes) {
    // Two loops: the first one vectorises, the second one looks up.
    let mut cells = [0_u32; ROWS];
    for (cell, value) in cells.iter_mut().zip(values) {
        *cell = grid_cell(*value, grid.low, grid.scale, grid.last);
    }
    let (below, thresholds) = (&*grid.below, &*grid.thresholds);
    for ((code, cell), value) in codes.iter_mut().zip(&cells).zip(values) {
        let first = below[*cell as usize % GRID_CELLS];
        let mut count = first;
        for offset in 0..COMPARES {
            count += u8::from(*value > thresholds[first as usize + offset]);
        }
        *code = count;
    }
}

/// `codes[i]` = how many of the thresholds (ascending, then infinities) lie below `values[i]`, by
/// binary search; 0 for NaN.
#[inline(always)]
pub(super) fn search_below(
    values: &[f64; ROWS],
    thresholds: &[f64; 256],
    first_step: u8,
    codes: &mut Codes,
) {
    const LANES: usize = 16;
    for (values, codes) in
        values.as_chunks::<LANES>().0.iter().zip(codes.as_chunks_mut::<LANES>().0)
    {
        // Several rows at a time, because the comparisons of one row depend on each other.
        let mut counts = [0_u8; LANES];
        let mut step = first_step;
        while step > 0 {
            for (count, value) in counts.iter_mut().zip(values) {
                let above = *value > thresholds[(*count | step) as usize - 1];
                *count |= if above { step } else { 0 };
            }
            step /= 2;
        }
        *codes = counts;
    }
}

/// Sets the code of missing values to the largest one.
#[inline(always)]
pub(super) fn raise_missing(values: &[f64; ROWS], codes: &mut Codes) {
    for (code, value) in codes.iter_mut().zip(values) {
        *code = if value.is_nan() { u8::MAX } else { *code };
    }
}

/// Category codes as bytes; unknown levels get the largest code. There must be at most 255 levels.
#[inline(always)]
pub(super) fn narrow(levels: u32, values: &[u32; ROWS], codes: &mut Codes) {
    for (code, value) in codes.iter_mut().zip(values) {
        *code = if *value < levels { *value as u8 } else { u8::MAX };
    }
}

/// `out[i] = table[codes[i]]`.
#[inline(always)]
pub(super) fn translate(codes: &Codes, table: &[u8; 256], out: &mut Codes) {
    for (out, code) in out.iter_mut().zip(codes) {
        *out = table[*code as usize];
    }
}

/// Leaf indices of `N` levels of an oblivious tree: bit `l` is whether the code of level `l` is
/// above its cut.
#[inline(always)]
pub(super) fn mark<const N: usize>(columns: [&Codes; N], cuts: [u8; N], out: &mut Codes) {
    for row in 0..ROWS {
        let mut index = 0;
        for level in 0..N {
            index |= if columns[level][row] > cuts[level] { 1 << level } else { 0 };
        }
        out[row] = index;
    }
}

/// `right` if the code is above the cut, else `left`, by masks: an `if` with one arm that leaves the
/// output unchanged would be compiled to a conditional store, which does not vectorise.
#[inline(always)]
fn pick(code: u8, cut: u8, left: u8, right: u8) -> u8 {
    let mask = u8::from(code > cut).wrapping_neg();
    left ^ ((left ^ right) & mask)
}

/// `out[i]` = `right` where the code is above the cut, else `left`.
#[inline(always)]
pub(super) fn choose_leaves(codes: &Codes, cut: u8, left: u8, right: u8, out: &mut Codes) {
    for (out, code) in out.iter_mut().zip(codes) {
        *out = pick(*code, cut, left, right);
    }
}

/// `out[i]` = `right` where the code is above the cut, else unchanged.
#[inline(always)]
pub(super) fn choose_right_leaf(codes: &Codes, cut: u8, right: u8, out: &mut Codes) {
    for (out, code) in out.iter_mut().zip(codes) {
        *out = pick(*code, cut, *out, right);
    }
}

/// `out[i]` = unchanged where the code is above the cut, else `left`.
#[inline(always)]
pub(super) fn choose_left_leaf(codes: &Codes, cut: u8, left: u8, out: &mut Codes) {
    for (out, code) in out.iter_mut().zip(codes) {
        *out = pick(*code, cut, left, *out);
    }
}

/// `out[i]` = `right[i]` where the code is above the cut, else unchanged.
#[inline(always)]
pub(super) fn choose(codes: &Codes, cut: u8, right: &Codes, out: &mut Codes) {
    for ((out, code), right) in out.iter_mut().zip(codes).zip(right) {
        *out = pick(*code, cut, *out, *right);
    }
}

/// Adds `tables[t][leaves[t][i]]` to `sums[i]`, for one tree after the other.
#[inline(always)]
pub(super) fn add_leaves<const N: usize>(
    leaves: [&Codes; N],
    tables: [&[f64; 256]; N],
    sums: &mut [f64; ROWS],
) {
    for (row, sum) in sums.iter_mut().enumerate() {
        let mut total = *sum;
        for tree in 0..N {
            total += tables[tree][leaves[tree][row] as usize];
        }
        *sum = total;
    }
}
