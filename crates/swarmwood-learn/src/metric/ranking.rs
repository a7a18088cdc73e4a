//! How well scores order rows.

use super::weighed::WeightedValues;

/// Scores of positive and of negative rows, collected row by row.
///
/// ```
/// use swarmwood_learn::metric::ranking::RankedScores;
/// let mut ranks = RankedScores::default();
/// for (score, positive) in [(0.1, false), (0.4, true), (0.4, false)] {
///     ranks.add(score, positive, 1.0);
/// }
/// assert_eq!(ranks.auc(), Some(0.75));
/// ```
#[derive(Debug, Clone, Default)]
pub struct RankedScores {
    positive: WeightedValues,
    negative: WeightedValues,
}

impl RankedScores {
    /// Adds a row.
    pub fn add(&mut self, score: f64, positive: bool, weight: f64) {
        let side = if positive { &mut self.positive } else { &mut self.negative };
        side.push(score, weight);
    }

    /// Area under the receiver operating characteristic: the chance that a positive row scores
    /// higher than a negative one, where a tie counts half; `None` unless rows of both kinds have
    /// weight.
    pub fn auc(self) -> Option<f64> {
        if let (Some(positive), Some(negative)) = (self.positive.plain(), self.negative.plain()) {
            return plain_auc(positive, negative);
        }
        let (mut positive, mut negative, mut ordered) = (0.0, 0.0, 0.0);
        self.each_score(|up, down| {
            ordered += up * (negative + 0.5 * down);
            positive += up;
            negative += down;
        });
        (positive > 0.0 && negative > 0.0).then(|| ordered / (positive * negative))
    }

    /// The receiver operating characteristic itself: for every score as a threshold the share of
    /// the negative rows above it and the share of the positive ones, from (0, 0) to (1, 1); `None`
    /// unless rows of both kinds have weight. Rows of one score are passed together, so that the
    /// area below is [`RankedScores::auc`].
    ///
    /// ```
    /// use swarmwood_learn::metric::ranking::RankedScores;
    /// let mut ranks = RankedScores::default();
    /// for (score, positive) in [(0.1, false), (0.4, true), (0.4, false), (0.9, true)] {
    ///     ranks.add(score, positive, 1.0);
    /// }
    /// assert_eq!(ranks.curve().unwrap(), [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]);
    /// ```
    pub fn curve(self) -> Option<Vec<(f64, f64)>> {
        let mut levels = Vec::new();
        self.each_score(|up, down| levels.push((up, down)));
        let (positive, negative) =
            levels.iter().fold((0.0, 0.0), |(p, n), (up, down)| (p + up, n + down));
        if !(positive > 0.0 && negative > 0.0) {
            return None;
        }
        let (mut ups, mut downs) = (0.0, 0.0);
        let mut points = vec![(0.0, 0.0)];
        for (up, down) in levels.into_iter().rev().filter(|(up, down)| up + down > 0.0) {
            ups += up;
            downs += down;
            points.push((f64::min(downs / negative, 1.0), f64::min(ups / positive, 1.0)));
        }
        Some(points)
    }

    /// Tells the weights of the positive and of the negative rows of every score, by rising score.
    fn each_score(self, mut tell: impl FnMut(f64, f64)) {
        let mut ups = self.positive.sorted().peekable();
        let mut downs = self.negative.sorted().peekable();
        loop {
            let value = match (ups.peek(), downs.peek()) {
                (None, None) => break,
                (Some(one), None) | (None, Some(one)) => one.0,
                (Some(up), Some(down)) if up.0.total_cmp(&down.0).is_le() => up.0,
                (Some(_), Some(down)) => down.0,
            };
            // Equal bits are a tie even where the number equals nothing, or a NaN would never be
            // passed.
            let tied = |row: &(f64, f64)| row.0 == value || row.0.to_bits() == value.to_bits();
            let mut up = 0.0;
            while let Some((_, weight)) = ups.next_if(tied) {
                up += weight;
            }
            let mut down = 0.0;
            while let Some((_, weight)) = downs.next_if(tied) {
                down += weight;
            }
            tell(up, down);
        }
    }
}

/// The same for rows that all weigh one. Of many classes each has few rows against all others, so
/// only the shorter list is sorted. The numbers of pairs are exact, so that order does not matter.
fn plain_auc(positive: &[f64], negative: &[f64]) -> Option<f64> {
    if positive.is_empty() || negative.is_empty() {
        return None;
    }
    let sorts_positive = positive.len() < negative.len();
    let (few, many) = if sorts_positive { (positive, negative) } else { (negative, positive) };
    let mut sorted = few.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);

    // How many of the few come before each of the many, where a tie counts half.
    let halves: usize = many
        .iter()
        .map(|&score| {
            let below = sorted.partition_point(|&other| other < score);
            let rest = &sorted[below..];
            let any_ties = rest.first().is_some_and(|&other| other == score);
            let ties = if any_ties { rest.partition_point(|&other| other <= score) } else { 0 };
            2 * below + ties
        })
        .sum();
    let pairs = positive.len() as f64 * negative.len() as f64;
    let ordered = halves as f64 / 2.0;
    Some(if sorts_positive { pairs - ordered } else { ordered } / pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_area_below_the_curve_is_the_auc(rows in prop::collection::vec((0u8..6, any::<bool>(), 1u8..4), 0..40)) {
            let mut ranks = RankedScores::default();
            rows.iter().for_each(|&(score, up, weight)| ranks.add(f64::from(score), up, f64::from(weight)));
            let area = ranks.clone().curve().map(|points| {
                let trapezes = points.windows(2).map(|ends| (ends[1].0 - ends[0].0) * (ends[0].1 + ends[1].1) / 2.0);
                trapezes.sum::<f64>()
            });
            prop_assert_eq!(area.is_some(), ranks.clone().auc().is_some());
            prop_assert!((area.unwrap_or(0.0) - ranks.auc().unwrap_or(0.0)).abs() < 1e-12);
        }
    }
}
