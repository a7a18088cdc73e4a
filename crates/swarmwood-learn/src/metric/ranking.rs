//! How well scores order rows.

use super::weighed::Weighed;

/// Scores of positive and of negative rows, collected row by row.
///
/// ```
/// use swarmwood_learn::metric::ranking::Ranks;
/// let mut ranks = Ranks::default();
/// for (score, positive) in [(0.1, false), (0.4, true), (0.4, false)] {
///     ranks.add(score, positive, 1.0);
/// }
/// assert_eq!(ranks.auc(), Some(0.75));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Ranks {
    positive: Weighed,
    negative: Weighed,
}

impl Ranks {
    /// Adds a row.
    pub fn add(&mut self, score: f64, positive: bool, weight: f64) {
        let side = if positive { &mut self.positive } else { &mut self.negative };
        side.push(score, weight);
    }

    /// Area under the receiver operating characteristic: the chance that a positive row scores higher than a negative
    /// one, where a tie counts half; `None` unless rows of both kinds have weight.
    pub fn auc(self) -> Option<f64> {
        let mut ups = self.positive.sorted().peekable();
        let mut downs = self.negative.sorted().peekable();
        let (mut positive, mut negative, mut ordered) = (0.0, 0.0, 0.0);
        loop {
            let value = match (ups.peek(), downs.peek()) {
                (None, None) => break,
                (Some(one), None) | (None, Some(one)) => one.0,
                (Some(up), Some(down)) if up.0.total_cmp(&down.0).is_le() => up.0,
                (Some(_), Some(down)) => down.0,
            };
            // Equal bits are a tie even where the number equals nothing, or a NaN would never be passed.
            let tied = |row: &(f64, f64)| row.0 == value || row.0.to_bits() == value.to_bits();
            let mut up = 0.0;
            while let Some((_, weight)) = ups.next_if(tied) {
                up += weight;
            }
            let mut down = 0.0;
            while let Some((_, weight)) = downs.next_if(tied) {
                down += weight;
            }
            ordered += up * (negative + 0.5 * down);
            positive += up;
            negative += down;
        }
        (positive > 0.0 && negative > 0.0).then(|| ordered / (positive * negative))
    }
}
