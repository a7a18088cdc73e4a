//! The loops for AVX-512 with byte permutations (VBMI), where the compiler does not find the
//! instructions by itself: look-ups in tables that fit into registers, and selection by masks.
//!
//! A table of 64 leaf values is stored as eight *planes*: the first bytes of all values, the second
//! bytes, and so on. One permutation looks up one byte of 64 rows, and 24 interleavings assemble 64
//! numbers from the eight results: half a cycle per row, where loading value by value takes one.
//! Thresholds are searched level by level in a tree whose levels fit into one to four registers.
//!
//! **Invariant:** a [`Avx512`] exists only on a CPU that has these instructions; all loops give the
//! bits of the portable ones.

use super::{Codes, ROWS};

/// Number of rows whose codes fill a register.
const LANES: usize = 64;

/// Maximum number of leaves of planes.
pub(in crate::predict) const PLANE_LEAVES: usize = LANES;

/// The bytes of up to 64 leaf values, the lowest bytes first.
pub(in crate::predict) type Planes = [[u8; PLANE_LEAVES]; 8];

/// Maximum number of thresholds of a heap.
pub(in crate::predict) const HEAP_CUTS: usize = 63;

/// Thresholds as a binary search tree: the root is at 1, the children of `i` are at `2 i` and
/// `2 i + 1`.
#[derive(Debug, Clone)]
pub(in crate::predict) struct ThresholdHeap {
    places: Box<[f64; HEAP_CUTS + 1]>,
    /// 3 to 6.
    levels: u32,
}

impl ThresholdHeap {
    /// A tree of ascending thresholds; none if there are too many.
    pub(in crate::predict) fn new(thresholds: &[f64]) -> Option<Self> {
        if thresholds.len() > HEAP_CUTS {
            return None;
        }
        let levels = (thresholds.len() + 1).next_power_of_two().ilog2().max(3);
        let mut places = Box::new([f64::INFINITY; HEAP_CUTS + 1]);
        for level in 0..levels {
            let (first, step) = (1 << level, 1 << (levels - level));
            for at in 0..first {
                // No value is above the infinities that pad the tree.
                places[first + at] =
                    *thresholds.get(at * step + step / 2 - 1).unwrap_or(&f64::INFINITY);
            }
        }
        Some(ThresholdHeap { places, levels })
    }
}

/// An operand of a selection.
#[derive(Clone, Copy)]
pub(in crate::predict) enum SelectSource<'a> {
    /// One leaf for all rows.
    Leaf(u8),
    /// The present content of the result's slot.
    Same,
    /// The content of another slot.
    Slot(&'a Codes),
}

/// The planes of leaf values; none if there are too many.
pub(in crate::predict) fn planes(values: impl ExactSizeIterator<Item = f64>) -> Option<Planes> {
    if values.len() > PLANE_LEAVES {
        return None;
    }
    let mut planes = [[0; PLANE_LEAVES]; 8];
    for (leaf, value) in values.enumerate() {
        for (plane, byte) in planes.iter_mut().zip(value.to_le_bytes()) {
            plane[leaf] = byte;
        }
    }
    Some(planes)
}

/// The proof that this CPU has what the loops need; on other architectures it cannot exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::predict) struct Avx512(
    #[cfg(target_arch = "x86_64")] (),
    #[cfg(not(target_arch = "x86_64"))] std::convert::Infallible,
);

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::super::KernelTask;
    use super::{Avx512, Codes, LANES, Planes, ROWS, SelectSource, ThresholdHeap};

    impl Avx512 {
        /// The proof, if this CPU has the instructions.
        pub(in crate::predict) fn detect() -> Option<Self> {
            let has = std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("avx512dq")
                && std::arch::is_x86_feature_detected!("avx512vl")
                && std::arch::is_x86_feature_detected!("avx512vbmi");
            has.then_some(Avx512(()))
        }

        /// Runs a task with these instructions.
        pub(in crate::predict) fn run(self, task: impl KernelTask) {
            // SAFETY: `self` proves that the CPU has the instructions that the function requires.
            unsafe { run(task, self) }
        }

        /// Adds to `sums[i]` the value of each tree's leaf `i`, for one tree after the other.
        #[inline(always)]
        pub(in crate::predict) fn add_leaves(
            self,
            trees: &[(&Codes, &Planes)],
            sums: &mut [f64; ROWS],
        ) {
            // SAFETY: as in `run`.
            unsafe { add_leaves(trees, sums) }
        }

        /// `out[i]` = `right` where the code is above the cut, else `left`.
        #[inline(always)]
        pub(in crate::predict) fn choose(
            self,
            codes: &Codes,
            cut: u8,
            left: SelectSource<'_>,
            right: SelectSource<'_>,
            out: &mut Codes,
        ) {
            // SAFETY: as in `run`.
            unsafe { choose(codes, cut, left, right, out) }
        }

        /// `codes[i]` = how many of the heap's thresholds lie below `values[i]`; 0 for NaN.
        #[inline(always)]
        pub(in crate::predict) fn search_below(
            self,
            values: &[f64; ROWS],
            heap: &ThresholdHeap,
            codes: &mut Codes,
        ) {
            // SAFETY: as in `run`.
            unsafe {
                match heap.levels {
                    3 => search_below::<3>(values, heap, codes),
                    4 => search_below::<4>(values, heap, codes),
                    5 => search_below::<5>(values, heap, codes),
                    _ => search_below::<6>(values, heap, codes),
                }
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn run(task: impl KernelTask, avx512: Avx512) {
        task.run(Some(avx512));
    }

    /// The permutation of rows before the interleavings of `add_leaves`: they distribute pairs of
    /// rows over the eight results, two rows of every quarter of a register each, which restores
    /// the natural order from this one.
    const ORDER: [u8; LANES] = {
        let mut order = [0; LANES];
        let mut place = 0;
        while place < LANES {
            let (quarter, pair, odd) = (place / 16, place % 16 / 2, place % 2);
            order[place] = (8 * pair + 2 * quarter + odd) as u8;
            place += 1;
        }
        order
    };

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn bytes(from: &[u8; LANES]) -> __m512i {
        // SAFETY: the reference leads to 64 readable bytes, and the load asks for no alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn numbers(from: &[f64; 8]) -> __m512d {
        // SAFETY: the reference leads to eight readable numbers, and the load asks for no
        // alignment.
        unsafe { _mm512_loadu_pd(from.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn put(to: &mut [u8; LANES], bytes: __m512i) {
        // SAFETY: the reference leads to 64 writable bytes, and the store asks for no alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn choose(
        codes: &Codes,
        cut: u8,
        left: SelectSource<'_>,
        right: SelectSource<'_>,
        out: &mut Codes,
    ) {
        let cut = _mm512_set1_epi8(cut.cast_signed());
        let codes = codes.as_chunks::<LANES>().0;
        for (chunk, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let side = |side| match side {
                SelectSource::Leaf(leaf) => _mm512_set1_epi8(leaf.cast_signed()),
                SelectSource::Same => bytes(out),
                SelectSource::Slot(slot) => bytes(&slot.as_chunks::<LANES>().0[chunk]),
            };
            let above = _mm512_cmpgt_epu8_mask(bytes(&codes[chunk]), cut);
            let blended = _mm512_mask_blend_epi8(above, side(left), side(right));
            put(out, blended);
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn add_leaves(trees: &[(&Codes, &Planes)], sums: &mut [f64; ROWS]) {
        let order = bytes(&ORDER);
        for (chunk, sums) in sums.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let sums = sums.as_chunks_mut::<8>().0;
            let mut totals = [_mm512_setzero_pd(); 8];
            for (total, sums) in totals.iter_mut().zip(&*sums) {
                *total = numbers(sums);
            }
            for (leaves, planes) in trees {
                let leaf =
                    _mm512_permutexvar_epi8(order, bytes(&leaves.as_chunks::<LANES>().0[chunk]));
                let mut bytes_of_values = [leaf; 8];
                for (value, plane) in bytes_of_values.iter_mut().zip(*planes) {
                    *value = _mm512_permutexvar_epi8(leaf, bytes(plane));
                }
                for (total, value) in totals.iter_mut().zip(interleave(bytes_of_values)) {
                    *total = _mm512_add_pd(*total, _mm512_castsi512_pd(value));
                }
            }
            for (sums, total) in sums.iter_mut().zip(totals) {
                // SAFETY: the reference leads to eight writable numbers, and the store asks for no
                // alignment.
                unsafe { _mm512_storeu_pd(sums.as_mut_ptr(), total) }
            }
        }
    }

    /// Assembles numbers from eight bytes in different registers: bytes to pairs, pairs to fours,
    /// fours to eights.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn interleave(b: [__m512i; 8]) -> [__m512i; 8] {
        let pairs =
            |i: usize| (_mm512_unpacklo_epi8(b[i], b[i + 1]), _mm512_unpackhi_epi8(b[i], b[i + 1]));
        let fours = |i: usize| {
            let ((low_0, high_0), (low_2, high_2)) = (pairs(i), pairs(i + 2));
            [
                _mm512_unpacklo_epi16(low_0, low_2),
                _mm512_unpackhi_epi16(low_0, low_2),
                _mm512_unpacklo_epi16(high_0, high_2),
                _mm512_unpackhi_epi16(high_0, high_2),
            ]
        };

        let (low, high) = (fours(0), fours(4));
        [
            _mm512_unpacklo_epi32(low[0], high[0]),
            _mm512_unpackhi_epi32(low[0], high[0]),
            _mm512_unpacklo_epi32(low[1], high[1]),
            _mm512_unpackhi_epi32(low[1], high[1]),
            _mm512_unpacklo_epi32(low[2], high[2]),
            _mm512_unpackhi_epi32(low[2], high[2]),
            _mm512_unpacklo_epi32(low[3], high[3]),
            _mm512_unpackhi_epi32(low[3], high[3]),
        ]
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn search_below<const LEVELS: u32>(
        values: &[f64; ROWS],
        heap: &ThresholdHeap,
        codes: &mut Codes,
    ) {
        let mut table = [_mm512_setzero_pd(); 8];
        for (table, places) in table.iter_mut().zip(heap.places.as_chunks::<8>().0) {
            *table = numbers(places);
        }

        let root = _mm512_set1_pd(heap.places[1]);
        let one = _mm512_set1_epi64(1);
        let sixteen = _mm512_set1_epi64(16);
        let leaves = _mm512_set1_epi64(1 << LEVELS);
        for (values, codes) in values.as_chunks::<8>().0.iter().zip(codes.as_chunks_mut::<8>().0) {
            let value = numbers(values);
            let mut place = one;
            for level in 0..LEVELS {
                // A look-up uses as many low bits of the position as it needs, which are those
                // below its highest bit.
                let threshold = match level {
                    0 => root,
                    1 | 2 => _mm512_permutexvar_pd(place, table[0]),
                    3 => _mm512_permutexvar_pd(place, table[1]),
                    4 => _mm512_permutex2var_pd(table[2], place, table[3]),
                    _ => {
                        let low = _mm512_permutex2var_pd(table[4], place, table[5]);
                        let high = _mm512_permutex2var_pd(table[6], place, table[7]);
                        _mm512_mask_blend_pd(_mm512_test_epi64_mask(place, sixteen), low, high)
                    }
                };
                let above = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(value, threshold);
                place = _mm512_add_epi64(place, place);
                place = _mm512_mask_add_epi64(place, above, place, one);
            }
            let count = _mm512_cvtepi64_epi8(_mm512_sub_epi64(place, leaves));
            *codes = _mm_cvtsi128_si64(count).to_le_bytes();
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use super::super::KernelTask;
    use super::{Avx512, Codes, Planes, ROWS, SelectSource, ThresholdHeap};

    impl Avx512 {
        pub(in crate::predict) fn detect() -> Option<Self> {
            None
        }

        pub(in crate::predict) fn run(self, _: impl KernelTask) {
            match self.0 {}
        }

        pub(in crate::predict) fn add_leaves(self, _: &[(&Codes, &Planes)], _: &mut [f64; ROWS]) {
            match self.0 {}
        }

        pub(in crate::predict) fn choose(
            self,
            _: &Codes,
            _: u8,
            _: SelectSource<'_>,
            _: SelectSource<'_>,
            _: &mut Codes,
        ) {
            match self.0 {}
        }

        pub(in crate::predict) fn search_below(
            self,
            _: &[f64; ROWS],
            _: &ThresholdHeap,
            _: &mut Codes,
        ) {
            match self.0 {}
        }
    }
}
