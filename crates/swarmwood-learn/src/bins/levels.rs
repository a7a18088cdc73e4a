//! Maps the levels of a category to codes: one code a level, the rarest sharing the last one where
//! there are too many.

/// The code of each level and the levels of each code.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CategoryLevels {
    codes: Vec<u8>,
    bins: usize,
}

impl CategoryLevels {
    /// Codes for `levels` levels, given how often each occurs in a sample.
    pub fn fit(values: &[u32], levels: usize, max_bin: usize) -> Self {
        let max_bin = max_bin.clamp(2, 255);
        if levels <= max_bin {
            return CategoryLevels {
                codes: (1..=levels).map(|code| code as u8).collect(),
                bins: levels.max(1),
            };
        }
        let mut counts = vec![0usize; levels];
        values
            .iter()
            .filter(|&&value| (value as usize) < levels)
            .for_each(|&value| counts[value as usize] += 1);
        let mut by_count: Vec<usize> = (0..levels).collect();
        by_count.sort_by_key(|&level| (std::cmp::Reverse(counts[level]), level));
        let mut codes = vec![max_bin as u8; levels];
        let mut kept = by_count[..max_bin - 1].to_vec();
        kept.sort_unstable();
        kept.iter().enumerate().for_each(|(at, &level)| codes[level] = at as u8 + 1);
        CategoryLevels { codes, bins: max_bin }
    }

    /// Levels with these codes; `None` unless each is one of so many bins.
    pub(crate) fn from_parts(codes: Vec<u8>, bins: usize) -> Option<Self> {
        let fits = (1..=255).contains(&bins)
            && codes.iter().all(|&code| (1..=bins).contains(&usize::from(code)));
        fits.then_some(CategoryLevels { codes, bins })
    }

    /// The code of each level.
    pub(crate) fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// Number of codes, missing not counted.
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// The code of a level; 0 for a missing or unknown one.
    #[inline]
    pub fn code(&self, level: u32) -> u8 {
        self.codes.get(level as usize).copied().unwrap_or(0)
    }

    /// The levels that share a code, ascending.
    pub(crate) fn levels_of(&self, code: u8) -> impl Iterator<Item = u32> + '_ {
        self.codes
            .iter()
            .enumerate()
            .filter(move |&(_, &c)| c == code)
            .map(|(level, _)| level as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_levels_share_the_last_code() {
        let values: Vec<u32> = (0..10)
            .flat_map(|level| std::iter::repeat_n(level, 1 + (level as usize * 7) % 10))
            .collect();
        let levels = CategoryLevels::fit(&values, 10, 4);
        assert_eq!(levels.bins(), 4);
        // Counts are 1 8 5 2 9 6 3 10 7 4: levels 1, 4 and 7 are the most frequent.
        assert_eq!(
            (0..10).map(|l| levels.code(l)).collect::<Vec<_>>(),
            [4, 1, 4, 4, 2, 4, 4, 3, 4, 4]
        );
        assert_eq!(levels.levels_of(4).count(), 7);
        assert_eq!(levels.code(u32::MAX), 0);
    }
}
