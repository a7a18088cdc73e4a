//! Gradients as integers.
//!
//! Histograms add integers: exact, so independent of the order of rows and of the number of
//! threads. The scale is chosen so that the sum of all absolute values stays below 2^31; no subset
//! can then overflow its half of the packed value.

use super::dispatch::dispatched;

/// From integer sums back to real ones: multiply by these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientScale {
    /// One gradient unit.
    pub g: f64,
    /// One hessian unit.
    pub h: f64,
}

impl GradientScale {
    /// The finest scale that cannot overflow, given the sums of absolute gradients and of hessians
    /// over `rows` rows.
    ///
    /// Units are powers of two, so that weights such as 1, 2 or 0.5 are whole numbers of them: a
    /// weight then counts exactly as much as so many repeated rows, and a row of hessian 1 weighs
    /// exactly 1.
    pub fn new(sum_abs_g: f64, sum_h: f64, rows: usize) -> Self {
        // Rounding adds at most one half a row; two leaves room for the rounding of the sums
        // themselves.
        let room = (f64::from(i32::MAX) - 2.0 - rows as f64).max(1.0);
        let unit =
            |sum: f64| if sum > 0.0 { (sum / room).log2().ceil().max(-1000.0).exp2() } else { 1.0 };
        GradientScale { g: unit(sum_abs_g), h: unit(sum_h) }
    }

    /// The real sums of a packed one.
    pub fn unpack(&self, packed: u64) -> GradientSums {
        GradientSums {
            g: f64::from(gradient(packed)) * self.g,
            h: f64::from(hessian(packed)) * self.h,
        }
    }
}

/// Real sums of gradients and hessians.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GradientSums {
    /// Sum of gradients.
    pub g: f64,
    /// Sum of hessians.
    pub h: f64,
}

/// The gradient half of a packed sum.
#[inline]
pub fn gradient(packed: u64) -> i32 {
    (packed >> 32) as u32 as i32
}

/// The hessian half of a packed sum.
#[inline]
pub fn hessian(packed: u64) -> i32 {
    packed as u32 as i32
}

dispatched! {
    /// Puts first and second derivatives into one word a row, as they are.
    pub fn join(g: &[f32], h: &[f32], words: &mut [u64]) {
        for ((word, &g), &h) in words.iter_mut().zip(g).zip(h) {
            *word = u64::from(g.to_bits()) << 32 | u64::from(h.to_bits());
        }
    }
}

/// The first and second derivative of a joined word.
#[inline(always)]
pub fn part(word: u64) -> (f32, f32) {
    (f32::from_bits((word >> 32) as u32), f32::from_bits(word as u32))
}

dispatched! {
    /// Packs a run of joined rows where they stand: gradient above, hessian below, both rounded to
    /// the nearest unit.
    pub fn pack(words: &mut [u64], scale: GradientScale) {
        let (by_g, by_h) = (1.0 / scale.g, 1.0 / scale.h);
        for word in words {
            let (g, h) = part(*word);
            *word = nearest(f64::from(g) * by_g) << 32 | nearest(f64::from(h) * by_h) & 0xFFFF_FFFF;
        }
    }
}

/// The nearest integer in two's complement, in the lower half. Adding this constant moves the
/// integer into the last bits of the mantissa: a cast that vectorises.
#[inline(always)]
fn nearest(value: f64) -> u64 {
    const SHIFT: f64 = 1.5 * (1u64 << 52) as f64;
    (value + SHIFT).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_rounds_to_the_nearest_unit() {
        let g = [0.0f32, 1.0, -1.0, 2.4, -2.6, 1e6, -1e6];
        let h = [0.0f32, 1.0, 0.25, 0.49, 0.51, 1e6, 3.0];
        let mut packed = vec![0; g.len()];
        join(&g, &h, &mut packed);
        pack(&mut packed, GradientScale { g: 1.0, h: 1.0 });
        assert_eq!(
            packed.iter().map(|&p| gradient(p)).collect::<Vec<_>>(),
            [0, 1, -1, 2, -3, 1_000_000, -1_000_000]
        );
        assert_eq!(
            packed.iter().map(|&p| hessian(p)).collect::<Vec<_>>(),
            [0, 1, 0, 0, 1, 1_000_000, 3]
        );
    }

    #[test]
    fn sums_of_any_sign_stay_in_their_halves() {
        let rows = 100_000;
        let g: Vec<f32> = (0..rows).map(|i| ((i * 7919 % 2003) as f32 - 1001.0) / 300.0).collect();
        let h: Vec<f32> = (0..rows).map(|i| (i % 17) as f32 * 0.3).collect();
        let abs: f64 = g.iter().map(|&v| f64::from(v.abs())).sum();
        let sum_h: f64 = h.iter().map(|&v| f64::from(v)).sum();
        let scale = GradientScale::new(abs, sum_h, rows);
        let mut packed = vec![0; rows];
        join(&g, &h, &mut packed);
        pack(&mut packed, scale);
        for keep in [|g: f32| g > 0.0, |g: f32| g < 0.0, |_: f32| true] {
            let chosen = (0..rows).filter(|&i| keep(g[i]));
            let sum = chosen.clone().fold(0u64, |sum, i| sum.wrapping_add(packed[i]));
            let exact = chosen.clone().map(|i| f64::from(g[i])).sum::<f64>();
            let exact_h = chosen.map(|i| f64::from(h[i])).sum::<f64>();
            let sums = scale.unpack(sum);
            assert!((sums.g - exact).abs() <= 0.5 * rows as f64 * scale.g, "{} {exact}", sums.g);
            assert!(
                (sums.h - exact_h).abs() <= 0.5 * rows as f64 * scale.h,
                "{} {exact_h}",
                sums.h
            );
            assert!((sums.g - exact).abs() < 1e-4 * abs && (sums.h - exact_h).abs() < 1e-4 * sum_h);
        }
    }
}
