//! Mean distances between particles in the unit cube: equation 3 of Jun, Cho, Lee 2012, after Zhan
//! et al. 2009, section III.

use crate::position_matrix::PositionMatrix;

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// The mean Euclidean distance of every particle to all others (eq. 3). Each pair is measured once.
pub(super) fn mean_distances(positions: &PositionMatrix) -> Vec<f64> {
    let mut sums = vec![0.0; positions.len()];
    for i in 0..positions.len() {
        for j in i + 1..positions.len() {
            let between = distance(positions.row(i), positions.row(j));
            sums[i] += between;
            sums[j] += between;
        }
    }
    let others = positions.len().saturating_sub(1).max(1) as f64;
    sums.iter_mut().for_each(|sum| *sum /= others);
    sums
}

/// The mean distance of the global best to all particles except its finder.
pub(super) fn mean_distance_to(
    best: &[f64],
    finder: Option<usize>,
    positions: &PositionMatrix,
) -> f64 {
    let others = || (0..positions.len()).filter(|i| Some(*i) != finder);
    others().map(|i| distance(best, positions.row(i))).sum::<f64>() / others().count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_a_triangle() {
        // A right triangle with sides .3, .4 and .5.
        let mut positions = PositionMatrix::new(2);
        [[0.1, 0.1], [0.4, 0.1], [0.1, 0.5]].iter().for_each(|row| positions.push(row));
        let means = mean_distances(&positions);
        for (got, expected) in means.iter().zip([0.35, 0.4, 0.45]) {
            assert!((got - expected).abs() < 1e-12, "{means:?}");
        }
        for (i, mean) in means.iter().enumerate() {
            let at_home = mean_distance_to(positions.row(i), Some(i), &positions);
            assert!((at_home - mean).abs() < 1e-12, "a best at the position of its finder");
        }
        assert!((mean_distance_to(&[0.1, 0.1], None, &positions) - 0.7 / 3.0).abs() < 1e-12);
        let lone = PositionMatrix::from_fn(1, 2, |_, _| 0.5);
        assert_eq!(
            (mean_distances(&lone), mean_distance_to(&[0.5, 0.5], Some(0), &lone)),
            (vec![0.0], 0.0)
        );
    }
}
