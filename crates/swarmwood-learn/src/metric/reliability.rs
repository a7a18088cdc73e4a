//! Whether predictions mean what they say: of all rows that are given a chance of 30 %, are 30 %
//! hits?
//!
//! Rows are sorted by what was predicted and cut into bins of equal count, and each bin's mean
//! prediction is held against the mean of what happened. The expected calibration error is the mean
//! distance of the two, each bin by its weight. Trees predict few distinct values, and rows of one
//! value are never torn apart: a bin then has more rows, and the order of rows changes nothing.
//!
//! Naeini, Cooper, Hauskrecht: "Obtaining well calibrated probabilities using Bayesian binning",
//! AAAI 2015. Bins of equal width, as there, would be empty where a model is never sure.

use super::classes::{class_of, most_probable};

/// Bins that the calibration error is taken over.
pub const BINS: usize = 15;

/// A row: what was predicted, what happened, and what it weighs.
#[derive(Debug, Clone, Copy)]
struct ReliabilityPair {
    predicted: f32,
    actual: f32,
    weight: f32,
}

/// Predictions beside what happened: numbers, or chances beside 0 and 1.
///
/// ```
/// use swarmwood_learn::metric::reliability::Reliability;
/// let mut pairs = Reliability::default();
/// for row in 0..10 {
///     pairs.add(0.3, f64::from(row < 5), 1.0);
/// }
/// let bins = pairs.bins(5);
/// assert_eq!((bins.len(), bins[0].rows, bins[0].actual), (1, 10, 0.5));
/// assert!((pairs.error() - 0.2).abs() < 1e-6);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Reliability {
    pairs: Vec<ReliabilityPair>,
}

/// Rows with neighbouring predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// How many.
    pub rows: usize,
    /// Sum of their weights.
    pub weight: f64,
    /// Mean of what was predicted.
    pub predicted: f64,
    /// Mean of what happened.
    pub actual: f64,
    /// What happened, a tenth from below.
    pub low: f64,
    /// What happened, a tenth from above.
    pub high: f64,
}

impl Reliability {
    /// Adds a row.
    pub fn add(&mut self, predicted: f64, actual: f64, weight: f64) {
        self.pairs.push(ReliabilityPair {
            predicted: predicted as f32,
            actual: actual as f32,
            weight: weight as f32,
        });
    }

    /// Adds a row with the probabilities of its classes. Of two classes the chance of the positive
    /// one is judged, of more the chance that the predicted one is right.
    pub fn add_classes(&mut self, probabilities: &[f64], target: f64, weight: f64) {
        let judged = if probabilities.len() == 2 { 1 } else { most_probable(probabilities) };
        let Some(&predicted) = probabilities.get(judged) else { return };
        self.add(
            predicted,
            f64::from(class_of(target, probabilities.len()) == Some(judged)),
            weight,
        );
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.pairs.len()
    }

    /// Some of the rows, evenly from all, as predictions and what happened.
    pub fn some(&self, most: usize) -> Vec<(f64, f64)> {
        let step = self.pairs.len().div_ceil(most.max(1)).max(1);
        self.pairs
            .iter()
            .step_by(step)
            .map(|pair| (f64::from(pair.predicted), f64::from(pair.actual)))
            .collect()
    }

    /// All rows in at most `count` bins of equal count, by rising prediction.
    pub fn bins(&self, count: usize) -> Vec<Bin> {
        let mut sorted = self.pairs.clone();
        sorted.sort_unstable_by(|a, b| {
            let by = |of: fn(&ReliabilityPair) -> f32| of(a).total_cmp(&of(b));
            by(|pair| pair.predicted).then(by(|pair| pair.actual)).then(by(|pair| pair.weight))
        });
        let mut bins = Vec::new();
        let (mut from, mut wanted) = (0, count.max(1));
        while from < sorted.len() {
            // What is left is shared among the bins that are left.
            let last = from + (sorted.len() - from).div_ceil(wanted) - 1;
            let edge = sorted[last].predicted;
            let to = last
                + sorted[last..].partition_point(|pair| pair.predicted.total_cmp(&edge).is_le());
            bins.push(bin(&mut sorted[from..to]));
            from = to;
            wanted = (wanted - 1).max(1);
        }
        bins
    }

    /// The expected calibration error over [`BINS`] bins; not a number without rows.
    pub fn error(&self) -> f64 {
        let bins = self.bins(BINS);
        let apart: f64 =
            bins.iter().map(|bin| bin.weight * (bin.predicted - bin.actual).abs()).sum();
        apart / bins.iter().map(|bin| bin.weight).sum::<f64>()
    }
}

fn bin(pairs: &mut [ReliabilityPair]) -> Bin {
    let weight: f64 = pairs.iter().map(|pair| f64::from(pair.weight)).sum();
    let mean = |of: fn(&ReliabilityPair) -> f32| {
        let sum: f64 = pairs.iter().map(|pair| f64::from(of(pair)) * f64::from(pair.weight)).sum();
        if weight > 0.0 { sum / weight } else { 0.0 }
    };
    let (predicted, actual) = (mean(|pair| pair.predicted), mean(|pair| pair.actual));
    pairs.sort_unstable_by(|a, b| a.actual.total_cmp(&b.actual));
    let at =
        |share: f64| f64::from(pairs[((pairs.len() - 1) as f64 * share).round() as usize].actual);
    Bin { rows: pairs.len(), weight, predicted, actual, low: at(0.1), high: at(0.9) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_search::rng::Stream;

    #[test]
    fn honest_chances_have_no_error_and_planted_ones_theirs() {
        let mut stream = Stream::new(5, 0, 0);
        let (mut honest, mut bold) = (Reliability::default(), Reliability::default());
        for _ in 0..60_000 {
            let chance = stream.unit();
            let hit = f64::from(u8::from(stream.unit() < chance));
            honest.add(chance, hit, 1.0);
            // Everything is told a tenth too high where there is room.
            bold.add((chance + 0.1).min(1.0), hit, 1.0);
        }
        assert!(honest.error() < 0.01, "{}", honest.error());
        // A tenth up to 0.9, and from there on what is left to one: 0.05 on average.
        assert!((bold.error() - 0.095).abs() < 0.005, "{}", bold.error());
        let bins = honest.bins(10);
        assert!(bins.len() == 10 && bins.iter().all(|bin| bin.rows == 6000), "{bins:?}");
        assert!(bins.is_sorted_by(|a, b| a.predicted < b.predicted));
    }

    #[test]
    fn equal_predictions_stay_together_in_any_order() {
        let rows: Vec<(f64, f64)> =
            (0..100).map(|at| (f64::from(at % 3) / 2.0, f64::from(at % 2))).collect();
        let of = |rows: &mut dyn Iterator<Item = &(f64, f64)>| {
            let mut pairs = Reliability::default();
            rows.for_each(|&(p, y)| pairs.add(p, y, 1.0));
            pairs.bins(10)
        };
        let bins = of(&mut rows.iter());
        assert_eq!(bins, of(&mut rows.iter().rev()));
        assert_eq!(bins.iter().map(|bin| bin.rows).collect::<Vec<_>>(), [34, 33, 33]);
    }

    #[test]
    fn weights_count_and_the_predicted_class_is_judged() {
        let mut pairs = Reliability::default();
        pairs.add_classes(&[0.2, 0.7, 0.1], 1.0, 3.0);
        pairs.add_classes(&[0.7, 0.2, 0.1], 2.0, 1.0);
        let bins = pairs.bins(4);
        assert!(bins.len() == 1 && (bins[0].actual - 0.75).abs() < 1e-9, "{bins:?}");
        assert!((pairs.error() - 0.05).abs() < 1e-6);
        assert!(
            Reliability::default().error().is_nan() && Reliability::default().bins(3).is_empty()
        );
        assert_eq!(pairs.some(1).len(), 1);
    }
}
