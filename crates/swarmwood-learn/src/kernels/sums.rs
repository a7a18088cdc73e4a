//! Sums in a fixed order: eight lanes in `f64`, folded at the end, whatever the machine's vectors.

use super::dispatch::dispatched;

dispatched! {
    /// Sum of absolute values and sum of values.
    pub fn abs_and_plain(a: &[f32], b: &[f32]) -> (f64, f64) {
        let (mut abs, mut plain) = ([0.0f64; 8], [0.0f64; 8]);
        let (a_runs, a_rest) = a.as_chunks::<8>();
        let (b_runs, b_rest) = b.as_chunks::<8>();
        for (a, b) in a_runs.iter().zip(b_runs) {
            for lane in 0..8 {
                abs[lane] += f64::from(a[lane].abs());
                plain[lane] += f64::from(b[lane]);
            }
        }
        let abs = abs.iter().sum::<f64>() + a_rest.iter().map(|&v| f64::from(v.abs())).sum::<f64>();
        let plain = plain.iter().sum::<f64>() + b_rest.iter().map(|&v| f64::from(v)).sum::<f64>();
        (abs, plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_right_for_any_length() {
        for length in [0, 1, 8, 13, 100] {
            let a: Vec<f32> =
                (0..length).map(|i| i as f32 * if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
            let b: Vec<f32> = (0..length).map(|i| i as f32 * 0.5).collect();
            let whole = (length * length.max(1) - length) as f64 / 2.0;
            assert_eq!(abs_and_plain(&a, &b), (whole, whole / 2.0));
        }
    }
}
