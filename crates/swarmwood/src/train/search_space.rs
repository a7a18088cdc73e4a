//! The size of the search space of a swarm, computed as in the paper's tables 11 and 12.

use std::collections::HashSet;

use swarmwood_learn::budget::Budget;
use swarmwood_learn::data::{Column, MISSING};
use swarmwood_search::discrete_pso::size::{log10_arrangements, scientific};

use crate::Result;
use crate::read::Rows;

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
    /// Rules of the table that was searched: fewer than `rules` where a feature has more values
    /// than bins.
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

/// How many distinct values all features have together, missing ones not counted: the length of the
/// paper's index table. `None` if the run was interrupted meanwhile.
pub(super) fn distinct_values(rows: &Rows, budget: &Budget) -> Result<Option<u64>> {
    let mut seen: Vec<HashSet<u64>> = vec![HashSet::new(); rows.schema.features.len()];
    rows.for_each_chunk(&mut |chunk| {
        for (seen, column) in
            seen.iter_mut().zip(&chunk.columns).take_while(|_| !budget.is_interrupted())
        {
            match column {
                // Adding zero makes minus zero zero.
                Column::Number(values) => {
                    seen.extend(
                        values
                            .iter()
                            .filter(|value| !value.is_nan())
                            .map(|value| (value + 0.0).to_bits()),
                    );
                }
                Column::Category(codes) => {
                    seen.extend(
                        codes.iter().filter(|&&code| code != MISSING).map(|&code| u64::from(code)),
                    );
                }
            }
        }
        Ok(())
    })?;
    Ok((!budget.is_interrupted()).then(|| seen.iter().map(|seen| seen.len() as u64).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{self, ReadOptions, Source};

    #[test]
    fn values_are_counted_once_and_missing_ones_not_at_all() {
        let csv = b"a,b,c,y\n1,x,0,1\n2,y,-0.0,2\n1,,,3\n2.5,x,7,4\n";
        let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
        let rows = read::training(&Source::Bytes("t.csv".into(), csv), &options).unwrap();
        let budget = Budget::unlimited();
        assert_eq!(distinct_values(&rows, &budget).unwrap(), Some(3 + 2 + 2));
        budget.cancel();
        assert_eq!(distinct_values(&rows, &budget).unwrap(), None);
    }

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
