//! The size of the search space of a swarm, computed as in the paper's tables 11 and 12.

use swarmwood_search::discrete_pso::size::{log10_arrangements, scientific};

/// The size of a search space: ordered choices of `r` different rules out of `n`, which are
/// `n! / (n - r)!`.
///
/// The paper's algorithm 4 draws `r = m·d` rules for `m` trees of depth `d`; its table 12 counts
/// `r = m·(d - 1)`. Both are reported.
///
/// ```
/// use swarmwood::train::SearchSpace;
/// let space = SearchSpace { rules: 1384, table_rules: 1384, all_levels: 30, one_level_less: 24 };
/// assert_eq!(space.size_text(space.one_level_less), "2.00e75"); // Wine in table 12
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchSpace {
    /// The paper's `n`: distinct values, boundaries of bins, or splits of a model (table 11).
    pub rules: u64,
    /// Rules of the table that was searched: fewer than `rules` where a feature holds one value
    /// only, or is a category of two levels or of more than 255; more where a greedy seed adds
    /// some.
    pub table_rules: u64,
    /// `r` of algorithm 4, which particles have: all levels of all trees.
    pub all_levels: u64,
    /// `r` of table 12: one level less per tree.
    pub one_level_less: u64,
}

impl SearchSpace {
    /// `n! / (n - r)!` as a power of ten.
    pub fn size_text(&self, r: u64) -> String {
        scientific(self.log10(r))
    }

    /// Its logarithm to base ten; minus infinity if there are fewer rules than `r`.
    pub fn log10(&self, r: u64) -> f64 {
        log10_arrangements(self.rules, r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 5.4: three trees of depth four over 1000 values and over 16 bins, and table 12 from
    /// table 11.
    #[test]
    fn sizes_equal_the_published_ones() {
        let space = |rules: u64, trees: u64, depth: u64| SearchSpace {
            rules,
            table_rules: rules,
            all_levels: trees * depth,
            one_level_less: trees * (depth - 1),
        };
        assert!((space(1000, 3, 4).log10(9) - 9.64e26f64.log10()).abs() < 1e-3);
        assert_eq!(space(16, 3, 4).size_text(9), "4.15e9");
        let wine = space(1384, 6, 5);
        assert_eq!(
            (wine.size_text(wine.one_level_less).as_str(), wine.all_levels),
            ("2.00e75", 30)
        );
        assert_eq!(space(8, 6, 5).size_text(24), "0", "eight rules cannot be 24 different ones");
    }
}
