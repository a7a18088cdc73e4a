//! A table in groups, and the draw that treats groups alike.
//!
//! The published swarm starts with "a feature uniformly, then a threshold uniformly within the
//! feature" (Rao 2022, algorithm 4), which favours the entries of small groups over a draw from the
//! whole table. This module knows neither features nor thresholds: a table is a row of groups, one
//! after the other.

use crate::rng::Stream;

/// Consecutive groups of the entries of a table.
///
/// ```
/// use swarmwood_search::discrete_pso::TableGroups;
/// let groups = TableGroups::of_sizes(&[1, 0, 9]); // the empty group is left out
/// assert_eq!((groups.len(), groups.table()), (2, 10));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableGroups {
    /// Where each group ends; strictly ascending.
    ends: Vec<u64>,
}

impl TableGroups {
    /// Groups of these sizes, in the order of the table. Empty groups are left out.
    pub fn of_sizes(sizes: &[usize]) -> Self {
        let mut end = 0u64;
        let running = sizes.iter().filter(|&&size| size > 0).map(|&size| {
            end = end.saturating_add(size as u64);
            end
        });
        TableGroups { ends: running.collect() }
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of entries in the table.
    pub fn table(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The sizes, in order.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|group| self.ends[group] - self.start(group))
    }

    fn start(&self, group: usize) -> u64 {
        if group == 0 { 0 } else { self.ends[group - 1] }
    }

    /// A group uniformly, then one of its entries uniformly; 0 if there is none.
    pub(super) fn draw(&self, stream: &mut Stream) -> u64 {
        let group = stream.below(self.len() as u64) as usize;
        let Some(end) = self.ends.get(group) else { return 0 };
        let start = self.start(group);
        start + stream.below(end - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_survive_and_empty_groups_do_not() {
        let groups = TableGroups::of_sizes(&[0, 2, 5, 0, 1]);
        assert_eq!(groups.sizes().collect::<Vec<_>>(), [2, 5, 1]);
        assert_eq!((groups.len(), groups.table(), groups.is_empty()), (3, 8, false));
        assert_eq!(
            (TableGroups::of_sizes(&[0]).table(), TableGroups::default().is_empty()),
            (0, true)
        );
    }

    /// A draw from the whole table would give every entry a tenth; the draw by groups gives the
    /// lone entry a half.
    #[test]
    fn groups_are_equally_likely_and_so_are_the_members_of_one() {
        let groups = TableGroups::of_sizes(&[1, 9]);
        let mut counts = [0f64; 10];
        let mut stream = Stream::new(3, 0, 0);
        (0..36_000).for_each(|_| counts[groups.draw(&mut stream) as usize] += 1.0);
        assert!((counts[0] - 18_000.0).abs() < 500.0, "{counts:?}");
        let chi_squared: f64 = counts[1..].iter().map(|c| (c - 2_000.0).powi(2) / 2_000.0).sum();
        assert!(chi_squared < 26.1, "eight degrees of freedom, p < .001: {chi_squared}");
        assert_eq!(TableGroups::default().draw(&mut stream), 0);
    }
}
