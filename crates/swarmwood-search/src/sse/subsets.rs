//! Enumerates the subsets of a ranked population in ascending order of their mean loss.
//!
//! Let a subset's worst member be the one of rank L. Adding the member of rank L + 1, or
//! replacing the worst member by it, cannot lower the mean loss (eqs. 15 and 16). Every subset but
//! {first} is the successor of exactly one other in one of these two ways, so a priority queue that
//! starts with {first} (eq. 17) and inserts both successors of every subset it returns yields all
//! subsets in order. The paper lists S1 to S5 in the order in which they are generated (eqs. 17 to
//! 21); the order of the means needs the queue.
//!
//! Subsets of equal mean come in lexicographic order of their ranks, {1} before {1, 2}
//! before {2}; a subset comes before its successors in that order too. Means are compared as
//! fractions of integers: losses become multiples of 2⁻⁸⁰ of their range, so that neither sums nor
//! divisions are rounded and equal means are equal.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The range of losses in units: sums over a million members, and their products with such counts,
/// fit 128 bits.
const BITS: i32 = 80;

/// A subset by the ranks of its members, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RankedSubset {
    sum: u128,
    members: Vec<usize>,
}

impl Ord for RankedSubset {
    fn cmp(&self, other: &Self) -> Ordering {
        let (n, m) = (self.members.len() as u128, other.members.len() as u128);
        (self.sum * m).cmp(&(other.sum * n)).then_with(|| self.members.cmp(&other.members)) // eq. 14
    }
}

impl PartialOrd for RankedSubset {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The `count` subsets with the smallest mean loss, best first, each as the ranks of its members
/// counted from 0; all subsets if there are fewer. `losses` must be finite and ascending, and at
/// most a million.
///
/// ```
/// use swarmwood_search::sse::best_subsets;
/// let subsets = best_subsets(&[0.0, 1.0, 5.0], 4);
/// assert_eq!(subsets, [vec![0], vec![0, 1], vec![1], vec![0, 1, 2]]);
/// ```
pub fn best_subsets(losses: &[f64], count: usize) -> Vec<Vec<usize>> {
    let units = in_units(losses);
    let mut queue = BinaryHeap::new();
    queue.extend(units.first().map(|&sum| Reverse(RankedSubset { sum, members: vec![0] })));
    let mut best = Vec::with_capacity(count.min(1 << 20));
    while best.len() < count
        && let Some(Reverse(subset)) = queue.pop()
    {
        let worst = subset.members.last().copied().unwrap_or(0);
        if let Some(&next) = units.get(worst + 1) {
            let mut replaced = subset.clone();
            replaced.sum = replaced.sum - units[worst] + next;
            replaced.members.pop();
            replaced.members.push(worst + 1);
            let mut added = subset.clone();
            added.sum += next;
            added.members.push(worst + 1);
            queue.extend([Reverse(added), Reverse(replaced)]);
        }
        best.push(subset.members);
    }
    best
}

/// Losses as distances from the least, in units of 2⁻⁸⁰ of the next power of two above their range.
fn in_units(losses: &[f64]) -> Vec<u128> {
    let (Some(first), Some(last)) = (losses.first(), losses.last()) else { return Vec::new() };
    // Halves, because the difference of two finite numbers may not be finite.
    let above = |loss: &f64| loss / 2.0 - first / 2.0;
    let exponent = (above(last).max(f64::MIN_POSITIVE).to_bits() >> 52) as i32 - 1023;
    // In two steps, because one factor might be beyond all numbers. Powers of two change no digit
    // of a number.
    let power = BITS - 1 - exponent;
    let (some, rest) = (2f64.powi(power / 2), 2f64.powi(power - power / 2));
    losses
        .iter()
        .map(|loss| ((above(loss).max(0.0) * some * rest) as u128).min(1 << BITS))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// All subsets of whole-numbered losses, sorted by exact means and then by ranks.
    fn brute_force(losses: &[i64]) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = (1..1u32 << losses.len())
            .map(|set| (0..losses.len()).filter(|&i| set >> i & 1 == 1).collect())
            .collect();
        let sum = |set: &[usize]| set.iter().map(|&i| i128::from(losses[i])).sum::<i128>();
        all.sort_by(|a, b| {
            let means = (sum(a) * b.len() as i128).cmp(&(sum(b) * a.len() as i128));
            means.then_with(|| a.cmp(b))
        });
        all
    }

    #[test]
    fn the_order_is_that_of_brute_force() {
        for case in 0..400 {
            let mut stream = Stream::new(1, case, 0);
            let members = 1 + stream.below(9) as usize;
            let range = [2, 5, 40, 1_000_000][(case % 4) as usize]; // small ranges have many ties
            let mut losses: Vec<i64> =
                (0..members).map(|_| stream.below(range) as i64 - range as i64 / 3).collect();
            losses.sort_unstable();
            let expected = brute_force(&losses);
            let scale = 2f64.powi([0, -3, -900, 900][(case / 4 % 4) as usize]); // changes no digit
            let losses: Vec<f64> = losses.iter().map(|&loss| loss as f64 * scale).collect();
            assert_eq!(best_subsets(&losses, usize::MAX), expected, "{losses:?}");
            assert_eq!(best_subsets(&losses, 7), expected[..expected.len().min(7)], "{losses:?}");
        }
    }

    /// The subsets of figure 1, which are all that four individuals have.
    #[test]
    fn all_fifteen_subsets_of_four_come_once() {
        let mut subsets = best_subsets(&[0.1, 0.2, 0.4, 0.8], 100);
        assert_eq!(subsets[..3], [vec![0], vec![0, 1], vec![1]], "eqs. 17 to 19");
        subsets.sort();
        subsets.dedup();
        assert_eq!(subsets.len(), 15);
    }

    #[test]
    fn losses_of_any_size_are_taken() {
        assert!(best_subsets(&[], 5).is_empty() && best_subsets(&[1.0], 0).is_empty());
        for losses in [[-f64::MAX, 0.0, f64::MAX], [1e-320, 2e-320, 5e-320], [7.0, 7.0, 7.0]] {
            let subsets = best_subsets(&losses, 10);
            assert_eq!((subsets.len(), &subsets[0]), (7, &vec![0]), "{losses:?}");
        }
        assert_eq!(
            best_subsets(&[7.0; 3], 3),
            [vec![0], vec![0, 1], vec![0, 1, 2]],
            "equal means in lexicographic order"
        );
    }
}
