//! First points that are spread over the whole space: a Latin hypercube.
//!
//! Of `count` points every parameter's scale is cut into as many strips, and each strip holds one
//! point; which ones meet is left to chance. McKay, Beckman and Conover, "A comparison of three
//! methods for selecting values of input variables in the analysis of output from a computer code",
//! Technometrics 1979.

use crate::rng::Stream;

/// Streams of a search's own trials have the items 0 and 1.
const STRIPS: u64 = 2;
const WITHIN: u64 = 3;

/// The place of point `i` of `count` in a unit cube of `width` dimensions.
pub(crate) fn position(seed: u64, width: usize, count: usize, i: usize) -> Vec<f64> {
    let mut within = Stream::new(seed, i as u64, WITHIN);
    let place = |column: usize| {
        let mut strips: Vec<usize> = (0..count).collect();
        Stream::new(seed, column as u64, STRIPS).shuffle(&mut strips);
        let strip = strips.get(i).copied().unwrap_or(0);
        (strip as f64 + within.unit()) / count.max(1) as f64
    };
    (0..width).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strip_of_every_column_holds_one_point() {
        for (seed, count) in [(1, 1), (2, 7), (3, 20)] {
            let points: Vec<Vec<f64>> = (0..count).map(|i| position(seed, 5, count, i)).collect();
            for column in 0..5 {
                let mut strips: Vec<usize> =
                    points.iter().map(|row| (row[column] * count as f64) as usize).collect();
                strips.sort_unstable();
                assert_eq!(strips, (0..count).collect::<Vec<_>>());
            }
        }
        assert_ne!(position(1, 5, 20, 3), position(2, 5, 20, 3));
    }
}
