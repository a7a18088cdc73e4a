//! Screening of all pairs and triples of features for those that interact.
//!
//! A row is a bit per feature: on which side of the median it lies, and of two features also in
//! which quartiles. If the signs of gradients agree with the exclusive or of such bits more or less
//! often than in half of the rows, the features interact: these counts are the Walsh coefficients
//! of the signs. What features do one by one does not show in them, and 64 rows are counted
//! at once.

use super::FeatureSet;
use super::search::{CoarseFeature, LookaheadSearch, SlotRows};
use crate::bins::CODES;
use crate::kernels::walsh::{differences, xor};
use crate::stats::backend::BackendError;

/// Rows that features are screened on at most, and rows below which triples are not screened.
const MOST_ROWS: usize = 16_384;
const LEAST_ROWS: usize = 2048;

/// Words of 64 rows that may be read in all.
const MOST_WORDS: usize = 1 << 27;

/// By how much the statistic of a set, a chi-squared variable if there is no interaction, must
/// exceed its expectation. Chance does so for one of 10^10 sets.
const SIGNIFICANT: f64 = 50.0;

/// Sets whose statistic is below this share of the clearest one's are left out.
const LEAST_SHARE: f64 = 0.1;

/// The bits of a feature, row by row: whether it is above the median, and in which quartile.
struct FeatureBits {
    feature: u32,
    planes: Vec<Vec<u64>>,
}

/// Signs of gradients, bits of features, and the number of rows.
type RowBits = (Vec<u64>, Vec<FeatureBits>, u32);

/// A set and its statistic.
type ScreenedSet = (f64, FeatureSet);

impl LookaheadSearch<'_> {
    /// At most so many of the sets of two and three features that interact, the clearest first.
    pub(in crate::stats) fn screen(
        &self,
        rows_of: &mut dyn SlotRows,
        most: usize,
    ) -> Result<Vec<FeatureSet>, BackendError> {
        let features: Vec<u32> = (0..self.layout.features().len() as u32)
            .filter(|&feature| self.is_usable(feature))
            .collect();
        let (rows, with_triples) = screening_plan(features.len());
        if features.len() < 2 || rows == 0 || self.context.budget.is_interrupted() {
            return Ok(Vec::new());
        }
        let (signs, bits, count) = self.bits(rows_of, &features, rows)?;
        if count == 0 {
            return Ok(Vec::new());
        }

        let found = self.context.pool.map(bits.len(), |at| {
            let mut found = pairs_of(at, &bits, &signs, count);
            if with_triples {
                found.extend(triples_of(at, &bits, &signs, count));
            }
            found
        });
        let mut found: Vec<ScreenedSet> = found.into_iter().flatten().collect();
        found.retain(|(_, set)| self.paths.allows_together(0, set));
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let clearest = found.first().map_or(0.0, |(excess, _)| *excess);
        found.retain(|(excess, _)| *excess >= LEAST_SHARE * clearest);
        found.truncate(most);
        Ok(found.into_iter().map(|(_, set)| set).collect())
    }

    /// Signs of gradients and bits of features, for as many rows of either sign; and their number.
    fn bits(
        &self,
        rows_of: &mut dyn SlotRows,
        features: &[u32],
        wanted: usize,
    ) -> Result<RowBits, BackendError> {
        let sample = self.sample(rows_of, 0, wanted, features)?;
        let coarse = self.coarse_features(features, &sample, 4);
        let shards = &sample.shards;
        let rows = self.context.pool.map(shards.len(), |at| shards[at].balanced_rows());
        let count = rows.iter().map(|rows| rows.len() as u32).sum();

        // Rows with a positive gradient come first in every shard.
        let sign_word = |rows: &[u32], word: usize| {
            let positive = (rows.len() / 2).saturating_sub(64 * word).min(64);
            if positive == 64 { u64::MAX } else { (1 << positive) - 1 }
        };
        let signs = rows
            .iter()
            .flat_map(|rows| (0..rows.len().div_ceil(64)).map(move |word| sign_word(rows, word)));
        let bits = self.context.pool.map(coarse.len(), |at| {
            let CoarseFeature { feature, column, lasts } = &coarse[at];
            let plane = |bins: &[u8]| -> Vec<u64> {
                let bits: [bool; CODES] = column.bins.map(|bin| bins.contains(&bin));
                let parts = shards.iter().zip(&rows);
                parts.flat_map(|(shard, rows)| shard.code_bits(rows, column.place, &bits)).collect()
            };
            let planes = match lasts.len() {
                0 => Vec::new(),
                1 => vec![plane(&[1])],
                2 => vec![plane(&[1, 2]), plane(&[2])],
                _ => vec![plane(&[2, 3]), plane(&[1, 3]), plane(&[1, 2])],
            };
            FeatureBits { feature: *feature, planes }
        });
        Ok((signs.collect(), bits, count))
    }
}

/// How many rows are screened, and whether triples are.
fn screening_plan(features: usize) -> (usize, bool) {
    let pairs = 9 * features * features.saturating_sub(1) / 2;
    let triples = features * features.saturating_sub(1) * features.saturating_sub(2) / 6;
    let rows = |sets: usize| MOST_ROWS.min(64 * (MOST_WORDS / sets.max(1)));
    let all = rows(pairs.saturating_add(triples));
    if all >= LEAST_ROWS { (all, true) } else { (rows(pairs), false) }
}

/// The square of a standard normal variable, if bits are independent of signs.
fn squared(different: u32, count: u32) -> f64 {
    let sum = f64::from(count) - 2.0 * f64::from(different);
    sum * sum / f64::from(count)
}

/// Pairs with later features.
fn pairs_of(at: usize, bits: &[FeatureBits], signs: &[u64], count: u32) -> Vec<ScreenedSet> {
    let mut found = Vec::new();
    let flipped: Vec<Vec<u64>> = bits[at].planes.iter().map(|plane| xored(plane, signs)).collect();
    for other in &bits[at + 1..] {
        let terms = flipped.len() * other.planes.len();
        let each = flipped.iter().flat_map(|own| other.planes.iter().map(move |its| (own, its)));
        let sum: f64 = each.map(|(own, its)| squared(differences(own, its), count)).sum();
        let excess = sum - terms as f64;
        if excess > SIGNIFICANT {
            let set = FeatureSet::new(&[bits[at].feature, other.feature]);
            found.extend(set.map(|set| (excess, set)));
        }
    }
    found
}

/// Triples with later features, by medians alone.
fn triples_of(at: usize, bits: &[FeatureBits], signs: &[u64], count: u32) -> Vec<ScreenedSet> {
    let mut found = Vec::new();
    let Some(own) = bits[at].planes.first() else { return found };
    let own = xored(own, signs);
    for second in at + 1..bits.len() {
        let Some(plane) = bits[second].planes.first() else { continue };
        let both = xored(&own, plane);
        for third in &bits[second + 1..] {
            let Some(plane) = third.planes.first() else { continue };
            let excess = squared(differences(&both, plane), count) - 1.0;
            if excess > SIGNIFICANT {
                let features = [bits[at].feature, bits[second].feature, third.feature];
                found.extend(FeatureSet::new(&features).map(|set| (excess, set)));
            }
        }
    }
    found
}

fn xored(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = vec![0; a.len()];
    xor(a, b, &mut out);
    out
}
