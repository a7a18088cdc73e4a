//! Initial designs: Latin hypercube sampling.
//!
//! Each dimension is divided into `count` strata, and each stratum holds exactly one of the `count`
//! points; the strata of different dimensions are paired at random. McKay, Beckman and Conover, "A
//! comparison of three methods for selecting values of input variables in the analysis of output
//! from a computer code", Technometrics 1979.

use crate::rng::Stream;

/// The streams of trials are the items 0 and 1.
const STRATA: u64 = 2;
const OFFSETS: u64 = 3;

/// The position of point `i` of `count` in a unit cube of `width` dimensions.
pub(crate) fn position(seed: u64, width: usize, count: usize, i: usize) -> Vec<f64> {
    let mut offsets = Stream::new(seed, i as u64, OFFSETS);
    let coordinate = |dimension: usize| {
        let mut strata: Vec<usize> = (0..count).collect();
        Stream::new(seed, dimension as u64, STRATA).shuffle(&mut strata);
        let stratum = strata.get(i).copied().unwrap_or(0);
        (stratum as f64 + offsets.unit()) / count.max(1) as f64
    };
    (0..width).map(coordinate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stratum_of_every_dimension_holds_one_point() {
        for (seed, count) in [(1, 1), (2, 7), (3, 20)] {
            let points: Vec<Vec<f64>> = (0..count).map(|i| position(seed, 5, count, i)).collect();
            for column in 0..5 {
                let mut strata: Vec<usize> =
                    points.iter().map(|row| (row[column] * count as f64) as usize).collect();
                strata.sort_unstable();
                assert_eq!(strata, (0..count).collect::<Vec<_>>());
            }
        }
        assert_ne!(position(1, 5, 20, 3), position(2, 5, 20, 3));
    }
}
