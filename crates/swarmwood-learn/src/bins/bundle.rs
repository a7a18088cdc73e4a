//! Puts columns that are never active together (one-hot blocks, mostly) into one stored column.
//!
//! A histogram pass costs by the stored column, so this is the largest single saving on data such
//! as Covertype: 54 columns become 11. Every feature keeps its own bins and is searched on its own.

use crate::pool::Pool;

/// What a feature must show to be a candidate: its codes over the sample.
pub(crate) struct BundleCandidate {
    /// The feature's position.
    pub feature: u32,
    /// Number of bins.
    pub bins: usize,
    /// Codes of the sample rows, none of them missing.
    pub codes: Vec<u8>,
}

/// Features that share a stored column, with the code each of them holds in most rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bundle {
    /// Feature, its number of bins, and its default code.
    pub members: Vec<(u32, usize, u8)>,
}

/// A feature with more bins than this is dense enough to stand alone.
pub(crate) const MOST_BINS: usize = 16;

/// How many open bundles a feature is tried on; keeps very wide tables linear.
const MOST_TRIES: usize = 64;

/// Bundles of at least two features, found first-fit in feature order.
pub(crate) fn find(candidates: &[BundleCandidate], pool: &Pool) -> Vec<Bundle> {
    let looked_at = pool.map(candidates.len(), |at| {
        let codes = &candidates[at].codes;
        let default = most_common(codes);
        (default, active_rows(codes, default))
    });
    let mut open: Vec<(Bundle, Vec<u64>, usize)> = Vec::new();
    for (candidate, (default, active)) in candidates.iter().zip(looked_at) {
        let adds = candidate.bins - 1;
        let member = (candidate.feature, candidate.bins, default);
        let fits = |(_, taken, used): &&mut (Bundle, Vec<u64>, usize)| {
            used + adds < super::CODES && taken.iter().zip(&active).all(|(a, b)| a & b == 0)
        };
        match open.iter_mut().rev().take(MOST_TRIES).find(fits) {
            Some((bundle, taken, used)) => {
                bundle.members.push(member);
                taken.iter_mut().zip(&active).for_each(|(a, b)| *a |= b);
                *used += adds;
            }
            None => open.push((Bundle { members: vec![member] }, active, 1 + adds)),
        }
    }
    open.into_iter().map(|(bundle, ..)| bundle).filter(|bundle| bundle.members.len() > 1).collect()
}

fn most_common(codes: &[u8]) -> u8 {
    let mut counts = [0usize; super::CODES];
    codes.iter().for_each(|&code| counts[usize::from(code)] += 1);
    (1..=255).rev().max_by_key(|&code| counts[usize::from(code)]).unwrap_or(1)
}

fn active_rows(codes: &[u8], default: u8) -> Vec<u64> {
    codes
        .chunks(64)
        .map(|run| run.iter().enumerate().map(|(i, &code)| u64::from(code != default) << i).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_hot(feature: u32, at: usize, of: usize, rows: usize) -> BundleCandidate {
        BundleCandidate {
            feature,
            bins: 2,
            codes: (0..rows).map(|row| 1 + u8::from(row % of == at)).collect(),
        }
    }

    #[test]
    fn a_one_hot_block_becomes_one_bundle() {
        let block: Vec<BundleCandidate> = (0..5).map(|at| one_hot(at as u32, at, 5, 300)).collect();
        let bundles = find(&block, &Pool::new(2).unwrap());
        assert_eq!(bundles.len(), 1);
        assert_eq!(bundles[0].members, (0..5).map(|f| (f, 2, 1)).collect::<Vec<_>>());
    }

    #[test]
    fn overlapping_columns_stay_apart() {
        let columns = [one_hot(0, 0, 2, 100), one_hot(1, 0, 3, 100)];
        assert_eq!(find(&columns, &Pool::new(1).unwrap()), []);
    }

    #[test]
    fn a_bundle_never_outgrows_a_byte() {
        let wide: Vec<BundleCandidate> =
            (0..300).map(|at| one_hot(at as u32, at, 300, 600)).collect();
        let bundles = find(&wide, &Pool::new(2).unwrap());
        assert_eq!(bundles.len(), 2);
        assert!(bundles.iter().all(|b| b.members.iter().map(|m| m.1 - 1).sum::<usize>() < 256));
    }
}
