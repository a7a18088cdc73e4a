//! The value of each row's leaf, looked up and added to scores.
//!
//! A table of up to 32 values fits two of the widest registers, and one instruction looks sixteen
//! rows up in them; with registers half as wide it takes four such instructions for eight rows.
//! Both are several times as fast as a load a row. Nothing is computed, so all versions give the
//! same bits.

/// Leaves a tree may have: a leaf number is a byte.
pub const LEAVES: usize = 256;

/// The values of a tree's leaves.
#[derive(Debug, Clone)]
pub struct LeafValues {
    values: [f32; LEAVES],
    /// How many of them are in use, so that no leaf number reaches beyond.
    leaves: usize,
}

impl LeafValues {
    /// The values of leaves in the order of their numbers, at most [`LEAVES`].
    pub fn new(given: impl IntoIterator<Item = f32>) -> Self {
        let (mut values, mut leaves) = ([0.0; LEAVES], 0);
        for (value, given) in values.iter_mut().zip(given) {
            *value = given;
            leaves += 1;
        }
        LeafValues { values, leaves }
    }
}

/// The value of each row's leaf. Leaf numbers must be below the number of values.
pub fn look_up(leaf: &[u8], table: &LeafValues, score: &mut [f32]) {
    find::<false>(leaf, table, score);
}

/// The value of each row's leaf added to the row's score.
pub fn add_values(leaf: &[u8], table: &LeafValues, score: &mut [f32]) {
    find::<true>(leaf, table, score);
}

fn find<const ADD: bool>(leaf: &[u8], table: &LeafValues, score: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if table.leaves <= x86::MOST_LEAVES_AVX512 && super::dispatch::has_avx512() {
        // SAFETY: the line above has just found that this machine runs the AVX-512 instructions
        // that the function asks for.
        #[allow(unsafe_code)]
        return unsafe { x86::find_avx512::<ADD>(leaf, table, score) };
    }
    #[cfg(target_arch = "x86_64")]
    if table.leaves <= x86::MOST_LEAVES_AVX2 && super::dispatch::has_avx2() {
        // SAFETY: the line above has just found that this machine runs AVX2 instructions, which is
        // all that the function asks for.
        #[allow(unsafe_code)]
        return unsafe { x86::find_avx2::<ADD>(leaf, table, score) };
    }
    one_by_one::<ADD>(leaf, table, score);
}

fn one_by_one<const ADD: bool>(leaf: &[u8], table: &LeafValues, score: &mut [f32]) {
    for (score, &leaf) in score.iter_mut().zip(leaf) {
        put::<ADD>(score, table.values[usize::from(leaf)]);
    }
}

#[inline(always)]
fn put<const ADD: bool>(score: &mut f32, value: f32) {
    *score = if ADD { *score + value } else { value };
}

/// Tables in registers.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LeafValues, one_by_one, put};

    /// Beyond this the many tables to choose from make it no faster than loads.
    pub(super) const MOST_LEAVES_AVX512: usize = 128;
    pub(super) const MOST_LEAVES_AVX2: usize = 32;

    /// Values of 32 leaves.
    type Table = [__m512; 2];

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn find_avx512<const ADD: bool>(leaf: &[u8], table: &LeafValues, score: &mut [f32]) {
        match table.leaves {
            0..=32 => by_sixteen::<1, ADD>(leaf, table, score),
            33..=64 => by_sixteen::<2, ADD>(leaf, table, score),
            _ => by_sixteen::<4, ADD>(leaf, table, score),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn by_sixteen<const TABLES: usize, const ADD: bool>(
        leaf: &[u8],
        table: &LeafValues,
        score: &mut [f32],
    ) {
        let (halves, _) = table.values.as_chunks::<16>();
        let mut tables: [Table; TABLES] = [[_mm512_setzero_ps(); 2]; TABLES];
        for (table, halves) in tables.iter_mut().zip(halves.chunks_exact(2)) {
            *table = [wide_of(halves[0]), wide_of(halves[1])];
        }
        let score = &mut score[..leaf.len()];
        let (leaves, leaves_rest) = leaf.as_chunks::<16>();
        let (scores, scores_rest) = score.as_chunks_mut::<16>();
        for (leaf, score) in leaves.iter().zip(scores) {
            let leaf = _mm512_cvtepu8_epi32(bytes_of(*leaf));
            // The permutation looks at the lowest five bits; the bits above say which table counts.
            let mut found = _mm512_permutex2var_ps(tables[0][0], leaf, tables[0][1]);
            for (number, table) in (1..).zip(&tables[1..]) {
                let own = _mm512_cmpeq_epi32_mask(
                    _mm512_srli_epi32::<5>(leaf),
                    _mm512_set1_epi32(number),
                );
                found = _mm512_mask_blend_ps(
                    own,
                    found,
                    _mm512_permutex2var_ps(table[0], leaf, table[1]),
                );
            }
            let found = numbers_of(found);
            (0..16).for_each(|at| put::<ADD>(&mut score[at], found[at]));
        }
        one_by_one::<ADD>(leaves_rest, table, scores_rest);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn find_avx2<const ADD: bool>(leaf: &[u8], table: &LeafValues, score: &mut [f32]) {
        let (quarters, _) = table.values.as_chunks::<8>();
        let tables = [
            half_of(quarters[0]),
            half_of(quarters[1]),
            half_of(quarters[2]),
            half_of(quarters[3]),
        ];
        let score = &mut score[..leaf.len()];
        let (leaves, leaves_rest) = leaf.as_chunks::<8>();
        let (scores, scores_rest) = score.as_chunks_mut::<8>();
        for (leaf, score) in leaves.iter().zip(scores) {
            let leaf = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(*leaf)));
            // The permutation looks at the lowest three bits. Blending looks at the sign: bits 3
            // and 4 are moved there.
            let bit_3 = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(leaf));
            let bit_4 = _mm256_castsi256_ps(_mm256_slli_epi32::<27>(leaf));
            let found = [0, 1, 2, 3].map(|at| _mm256_permutevar8x32_ps(tables[at], leaf));
            let low = _mm256_blendv_ps(found[0], found[1], bit_3);
            let high = _mm256_blendv_ps(found[2], found[3], bit_3);
            let found = half_numbers_of(_mm256_blendv_ps(low, high, bit_4));
            (0..8).for_each(|at| put::<ADD>(&mut score[at], found[at]));
        }
        one_by_one::<ADD>(leaves_rest, table, scores_rest);
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn bytes_of(bytes: [u8; 16]) -> __m128i {
        let whole = u128::from_le_bytes(bytes);
        _mm_set_epi64x((whole >> 64) as i64, whole as i64)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn wide_of(numbers: [f32; 16]) -> __m512 {
        // SAFETY: both types are sixteen numbers in 64 bytes, and every pattern of bits is a value
        // of both.
        #[allow(unsafe_code)]
        unsafe {
            std::mem::transmute(numbers)
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn numbers_of(vector: __m512) -> [f32; 16] {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        unsafe {
            std::mem::transmute(vector)
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn half_of(numbers: [f32; 8]) -> __m256 {
        // SAFETY: both types are eight numbers in 32 bytes, and every pattern of bits is a value of
        // both.
        #[allow(unsafe_code)]
        unsafe {
            std::mem::transmute(numbers)
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn half_numbers_of(vector: __m256) -> [f32; 8] {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        unsafe {
            std::mem::transmute(vector)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_search::rng::Stream;

    const LENGTHS: [usize; 10] = [0, 1, 7, 8, 15, 17, 255, 257, 1000, 2048];

    #[test]
    fn values_are_looked_up_and_added_for_any_number_of_leaves() {
        let mut stream = Stream::new(2, 0, 0);
        for leaves in [1, 2, 16, 32, 33, 64, 65, 128, 129, 256] {
            let values: Vec<f32> = (0..leaves).map(|_| stream.normal() as f32).collect();
            let table = LeafValues::new(values.iter().copied());
            for n in LENGTHS {
                let leaf: Vec<u8> = (0..n).map(|_| stream.below(leaves) as u8).collect();
                let old: Vec<f32> = (0..n).map(|_| stream.normal() as f32).collect();
                let value = |row: usize| values[usize::from(leaf[row])];
                let mut score = vec![9.0; n];
                look_up(&leaf, &table, &mut score);
                assert!((0..n).all(|row| score[row] == value(row)), "{leaves} leaves");
                let mut sums = old.clone();
                add_values(&leaf, &table, &mut sums);
                assert!((0..n).all(|row| sums[row] == old[row] + value(row)), "{leaves} leaves");
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    #[allow(unsafe_code)]
    fn narrower_registers_find_the_same() {
        if !std::arch::is_x86_feature_detected!("avx2") {
            return;
        }
        let mut stream = Stream::new(3, 0, 0);
        let table = LeafValues::new((0..32).map(|_| stream.normal() as f32));
        for n in LENGTHS {
            let leaf: Vec<u8> = (0..n).map(|_| stream.below(32) as u8).collect();
            let (mut plain, mut half) = (vec![0.5; n], vec![0.5; n]);
            one_by_one::<true>(&leaf, &table, &mut plain);
            // SAFETY: the machine runs AVX2 instructions, as was just found.
            unsafe { x86::find_avx2::<true>(&leaf, &table, &mut half) };
            assert_eq!(plain, half);
        }
    }
}
