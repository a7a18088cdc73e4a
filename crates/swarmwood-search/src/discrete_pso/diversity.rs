//! Diversity of a discrete swarm: mean Hamming distances and the evolutionary factor.
//!
//! The mean distance of a particle to all others (equation 22 of Rao 2022; the Hamming distance
//! replaces the Euclidean one of Zhan et al., which symbols do not have) and the evolutionary
//! factor (equation 23, [`evolutionary_state`](crate::evolutionary_state)), which is small when the
//! swarm has gathered around the global best. A swarm over a large table starts with all particles
//! equally far apart, where the factor is 1/2.

use crate::evolutionary_state::evolutionary_factor;

/// The diversity of a swarm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SwarmDiversity {
    /// The mean Hamming distance between two particles.
    pub(super) mean: f64,
    /// The evolutionary factor; `None` without a global best.
    pub(super) factor: Option<f64>,
}

impl SwarmDiversity {
    /// `global` is the global best with the particle that found it.
    pub(super) fn of(positions: &[Vec<u64>], global: Option<(&[u64], Option<usize>)>) -> Self {
        let distances = mean_distances(positions);
        let mean = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
        let factor = global.map(|(best, finder)| {
            evolutionary_factor(&distances, mean_distance_to(best, finder, positions))
        });
        SwarmDiversity { mean, factor }
    }
}

/// Equation 22 for every particle. Counting equal values per dimension avoids comparing all pairs.
fn mean_distances(positions: &[Vec<u64>]) -> Vec<f64> {
    let others = positions.len().saturating_sub(1).max(1) as f64;
    let mut sums = vec![0u64; positions.len()];
    let dimensions = positions.first().map_or(0, Vec::len);
    let mut column: Vec<(u64, usize)> = Vec::with_capacity(positions.len());
    for dimension in 0..dimensions {
        column.clear();
        column.extend(positions.iter().enumerate().map(|(i, position)| (position[dimension], i)));
        column.sort_unstable();
        for alike in column.chunk_by(|a, b| a.0 == b.0) {
            let different = (positions.len() - alike.len()) as u64;
            alike.iter().for_each(|&(_, i)| sums[i] += different);
        }
    }
    sums.into_iter().map(|sum| sum as f64 / others).collect()
}

/// The mean distance of the global best to all particles except its finder.
fn mean_distance_to(best: &[u64], finder: Option<usize>, positions: &[Vec<u64>]) -> f64 {
    let differing = |position: &Vec<u64>| position.iter().zip(best).filter(|(a, b)| a != b).count();
    let others = || {
        positions
            .iter()
            .enumerate()
            .filter(|(i, _)| Some(*i) != finder)
            .map(|(_, position)| position)
    };
    others().map(differing).sum::<usize>() as f64 / others().count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// Equation 22 as it stands.
    fn brute_force(positions: &[Vec<u64>]) -> Vec<f64> {
        let hamming = |a: &[u64], b: &[u64]| a.iter().zip(b).filter(|(x, y)| x != y).count() as f64;
        let mean = |i: usize| {
            let others = (0..positions.len()).filter(|j| *j != i);
            others.map(|j| hamming(&positions[i], &positions[j])).sum::<f64>()
                / (positions.len() - 1) as f64
        };
        (0..positions.len()).map(mean).collect()
    }

    #[test]
    fn counting_equals_comparing_all_pairs() {
        for item in 0..50 {
            let mut stream = Stream::new(1, 0, item);
            let (count, length, values) =
                (2 + stream.below(9), stream.below(7), 1 + stream.below(5));
            let positions: Vec<Vec<u64>> =
                (0..count).map(|_| (0..length).map(|_| stream.below(values)).collect()).collect();
            assert_eq!(mean_distances(&positions), brute_force(&positions));
            for (i, expected) in brute_force(&positions).into_iter().enumerate() {
                assert_eq!(
                    mean_distance_to(&positions[i], Some(i), &positions),
                    expected,
                    "a best at the position of its finder"
                );
            }
        }
    }

    #[test]
    fn the_factor_tells_where_the_best_lies() {
        // Three particles together and one far away.
        let positions = vec![vec![1, 1, 1], vec![1, 1, 1], vec![1, 1, 2], vec![7, 8, 9]];
        let at = |i: usize| SwarmDiversity::of(&positions, Some((&positions[i], Some(i)))).factor;
        assert_eq!((at(0), at(3)), (Some(0.0), Some(1.0)));
        assert!(at(2).is_some_and(|f| f > 0.0 && f < 0.5));
        let apart = SwarmDiversity::of(&positions, Some((&[5, 5, 5], None)));
        assert_eq!(apart.factor, Some(1.0), "a best farther away than any particle");
        assert_eq!(SwarmDiversity::of(&positions, None).factor, None);
    }

    #[test]
    fn the_factor_is_defined_for_equal_distances() {
        let together = vec![vec![4, 4]; 3];
        assert_eq!(
            SwarmDiversity::of(&together, Some((&[4, 4], Some(0)))),
            SwarmDiversity { mean: 0.0, factor: Some(0.0) }
        );
        let apart = vec![vec![1, 1], vec![2, 2], vec![3, 3]];
        assert_eq!(
            SwarmDiversity::of(&apart, Some((&[1, 1], Some(0)))),
            SwarmDiversity { mean: 2.0, factor: Some(0.5) }
        );
        assert_eq!(
            SwarmDiversity::of(&[vec![1]], Some((&[1], Some(0)))).factor,
            Some(0.0),
            "a lone particle"
        );
    }
}
