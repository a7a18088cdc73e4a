//! The decision threshold of two classes that serves a goal best on given rows.

use super::held_out::{HeldOutScores, HeldOutSource};
use crate::params::ThresholdGoal;

/// A threshold and what it reaches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChosenThreshold {
    pub(super) threshold: f64,
    goal: ThresholdGoal,
    counts: ErrorCounts,
    /// Whether a required precision is reached.
    is_reached: bool,
}

/// Weights of rows by their class and their predicted class; the second class is the positive one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ErrorCounts {
    true_positive: f64,
    false_positive: f64,
    false_negative: f64,
}

impl ErrorCounts {
    fn precision(&self) -> f64 {
        share(self.true_positive, self.true_positive + self.false_positive)
    }

    fn recall(&self) -> f64 {
        share(self.true_positive, self.true_positive + self.false_negative)
    }

    fn f1(&self) -> f64 {
        let all = 2.0 * self.true_positive + self.false_positive + self.false_negative;
        share(2.0 * self.true_positive, all)
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl ChosenThreshold {
    /// What was chosen, on which rows, and what it reaches there.
    pub(super) fn note(&self, source: HeldOutSource) -> String {
        let (threshold, counts) = (self.threshold, &self.counts);
        let (precision, recall) = (counts.precision(), counts.recall());
        let reached = match self.goal {
            ThresholdGoal::Cost { false_negative, false_positive } => {
                let cost =
                    false_negative * counts.false_negative + false_positive * counts.false_positive;
                format!("a cost of {cost:.6}, ")
            }
            _ => format!("an F1 score of {:.4}, ", counts.f1()),
        };
        let failed = match self.goal {
            ThresholdGoal::Precision(wanted) if !self.is_reached => {
                format!("; no threshold reaches a precision of {wanted}")
            }
            _ => String::new(),
        };
        format!(
            "the decision threshold {threshold:.4} has {reached}precision {precision:.4} and recall \
             {recall:.4} on {}{failed}",
            source.text()
        )
    }
}

/// The best threshold: half-way between two neighbouring probabilities of the rows, or below or
/// above all of them. Of equally good ones the highest.
pub(super) fn choose(goal: ThresholdGoal, rows: &HeldOutScores) -> ChosenThreshold {
    let probability = |row: usize| 1.0 / (1.0 + (-rows.raw[row]).exp());
    let mut sorted: Vec<(f64, f64, bool)> = (0..rows.target.len())
        .map(|row| (probability(row), rows.weight(row), rows.target[row] > 0.5))
        .collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));

    // From the highest threshold, which predicts no row as positive, to the lowest.
    let positive = sorted.iter().filter(|row| row.2).map(|row| row.1).sum();
    let mut counts = ErrorCounts { false_negative: positive, ..ErrorCounts::default() };
    let highest = (1.0 + sorted.first().map_or(0.0, |row| row.0)) / 2.0;
    let mut best = Candidate { threshold: bounded(highest), counts };
    let mut start = 0;
    while start < sorted.len() {
        let value = sorted[start].0;
        let end = start + sorted[start..].iter().take_while(|row| row.0 == value).count();
        for &(_, weight, is_positive) in &sorted[start..end] {
            if is_positive {
                counts.true_positive += weight;
                counts.false_negative -= weight;
            } else {
                counts.false_positive += weight;
            }
        }
        let next = sorted.get(end).map_or(0.0, |row| row.0);
        let candidate = Candidate { threshold: bounded(value.midpoint(next)), counts };
        if candidate.rank(goal) > best.rank(goal) {
            best = candidate;
        }
        start = end;
    }

    let is_reached =
        !matches!(goal, ThresholdGoal::Precision(least) if best.counts.precision() < least);
    ChosenThreshold { threshold: best.threshold, goal, counts: best.counts, is_reached }
}

/// A threshold is above 0 and below 1.
fn bounded(threshold: f64) -> f64 {
    threshold.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
}

/// A threshold that may be chosen.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    threshold: f64,
    counts: ErrorCounts,
}

impl Candidate {
    /// How well it serves the goal: requirements first.
    fn rank(&self, goal: ThresholdGoal) -> (bool, f64) {
        let counts = &self.counts;
        match goal {
            ThresholdGoal::None | ThresholdGoal::F1 => (true, counts.f1()),
            ThresholdGoal::Cost { false_negative, false_positive } => {
                let cost =
                    false_negative * counts.false_negative + false_positive * counts.false_positive;
                (true, -cost)
            }
            ThresholdGoal::Precision(least) if counts.precision() >= least => {
                (true, counts.recall())
            }
            ThresholdGoal::Precision(_) => (false, counts.precision()),
            ThresholdGoal::Recall(least) if counts.recall() >= least => (true, counts.precision()),
            ThresholdGoal::Recall(_) => (false, counts.recall()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_search::rng::Stream;

    fn rows(seed: u64, count: usize, has_weights: bool) -> HeldOutScores {
        let mut stream = Stream::new(seed, 0, 0);
        let mut rows = HeldOutScores {
            raw: Vec::new(),
            target: Vec::new(),
            weight: Vec::new(),
            source: HeldOutSource::OutOfFold,
        };
        for _ in 0..count {
            // Rounded, so that rows share scores.
            let raw = (4.0 * stream.normal()).round() / 4.0;
            rows.raw.push(raw);
            let hit = stream.unit() < 1.0 / (1.0 + (1.0 - raw).exp());
            rows.target.push(f64::from(u8::from(hit)));
            if has_weights {
                rows.weight.push(0.5 + stream.unit());
            }
        }
        rows
    }

    /// The counts of a threshold, row by row.
    fn counts(rows: &HeldOutScores, threshold: f64) -> ErrorCounts {
        let mut counts = ErrorCounts::default();
        for row in 0..rows.target.len() {
            let predicted = 1.0 / (1.0 + (-rows.raw[row]).exp()) > threshold;
            match (predicted, rows.target[row] > 0.5) {
                (true, true) => counts.true_positive += rows.weight(row),
                (true, false) => counts.false_positive += rows.weight(row),
                (false, true) => counts.false_negative += rows.weight(row),
                (false, false) => {}
            }
        }
        counts
    }

    #[test]
    fn no_other_threshold_is_better() {
        let goals = [
            ThresholdGoal::F1,
            ThresholdGoal::Cost { false_negative: 5.0, false_positive: 1.0 },
            ThresholdGoal::Precision(0.7),
            ThresholdGoal::Precision(0.999),
            ThresholdGoal::Recall(0.8),
        ];
        for (seed, goal) in (0..20).flat_map(|seed| goals.map(|goal| (seed, goal))) {
            let rows = rows(seed, 60, seed % 2 == 1);
            let chosen = choose(goal, &rows);
            let own =
                Candidate { threshold: chosen.threshold, counts: counts(&rows, chosen.threshold) };
            let (is_met, value) = own.rank(goal);
            for step in 1..1000 {
                let threshold = f64::from(step) / 1000.0;
                let other = Candidate { threshold, counts: counts(&rows, threshold) }.rank(goal);
                // Sums of weights are rounded.
                assert!(
                    is_met && !other.0 || is_met == other.0 && value >= other.1 - 1e-9,
                    "{goal:?}: {threshold} is better than {}",
                    chosen.threshold
                );
            }
        }
    }

    #[test]
    fn a_precision_that_no_threshold_reaches_is_named() {
        let scores = HeldOutScores {
            raw: vec![1.0, 1.0, -1.0],
            target: vec![1.0, 0.0, 0.0],
            weight: Vec::new(),
            source: HeldOutSource::OutOfFold,
        };
        let chosen = choose(ThresholdGoal::Precision(0.9), &scores);
        assert_eq!(
            chosen.counts,
            ErrorCounts { true_positive: 1.0, false_positive: 1.0, false_negative: 0.0 }
        );
        let note = chosen.note(scores.source);
        assert!(note.contains("no threshold reaches a precision of 0.9"), "{note}");
        assert!(note.contains("out-of-fold"), "{note}");
        assert!(choose(ThresholdGoal::Precision(0.5), &scores).is_reached);
    }
}
