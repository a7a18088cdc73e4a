//! Counts of rows over bits: in how many rows an odd number of bits is set.

use super::dispatch::dispatched;

dispatched! {
    /// The number of bits in which two runs of words differ.
    pub fn differences(a: &[u64], b: &[u64]) -> u32 {
        a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
    }
}

/// Writes the exclusive or of two runs of words.
pub fn xor(a: &[u64], b: &[u64], out: &mut [u64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a ^ b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted_bit_by_bit() {
        let word = |at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let a: Vec<u64> = (0..37).map(word).collect();
        let b: Vec<u64> = (100..137).map(word).collect();
        let bit = |words: &[u64], at: usize| words[at / 64] >> (at % 64) & 1;
        let plain = (0..37 * 64).filter(|&at| bit(&a, at) != bit(&b, at)).count();
        assert_eq!(differences(&a, &b) as usize, plain);

        let mut out = vec![0; 37];
        xor(&a, &b, &mut out);
        assert_eq!(differences(&out, &[0; 37]) as usize, plain);
    }
}
