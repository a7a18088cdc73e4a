//! Every metric of a task, fed block after block, so that predictions never have to be in memory
//! all at once.

use super::classes::Classes;
use super::numbers::{Numbers, ObjectiveMean};
use super::{LearningTask, weight_of};
use crate::objective::ObjectiveConfig;

/// Collects the metrics of a task.
///
/// ```
/// use swarmwood_learn::metric::{Tally, LearningTask};
/// let mut tally = Tally::new(LearningTask::Regression, None);
/// tally.add(&[1.0], &[2.0], &[]);
/// tally.add(&[4.0, 4.0], &[4.0, 2.0], &[]);
/// assert!(tally.finish().contains(&("mae", 1.0)));
/// ```
#[derive(Debug, Clone)]
pub struct Tally {
    kind: Kind,
    own: Option<ObjectiveMean>,
}

#[derive(Debug, Clone)]
enum Kind {
    Numbers(Numbers),
    Classes(Classes),
}

impl Tally {
    /// Nothing collected yet. With a `spec` the metric of the objective is among the metrics
    /// (see [`super::of_objective`]).
    pub fn new(task: LearningTask, spec: Option<&ObjectiveConfig>) -> Self {
        let kind = match task {
            LearningTask::Regression => Kind::Numbers(Numbers::default()),
            LearningTask::Classes(count) => Kind::Classes(Classes::new(count)),
        };
        Tally { kind, own: spec.and_then(ObjectiveMean::new) }
    }

    /// The same where the second of two classes is predicted if its probability is greater than a
    /// threshold.
    #[must_use]
    pub fn with_threshold(self, threshold: Option<f64>) -> Self {
        let kind = match self.kind {
            Kind::Classes(classes) => Kind::Classes(classes.with_threshold(threshold)),
            numbers => numbers,
        };
        Tally { kind, ..self }
    }

    /// Adds rows: predictions as [`super::evaluate`] takes them, targets, and weights, which may be
    /// empty.
    pub fn add(&mut self, prediction: &[f64], target: &[f64], weight: &[f64]) {
        match &mut self.kind {
            Kind::Numbers(numbers) => {
                for (row, (&p, &y)) in prediction.iter().zip(target).enumerate() {
                    numbers.add(p, y, weight_of(weight, row));
                }
            }
            Kind::Classes(classes) => {
                for (row, (p, &y)) in
                    prediction.chunks_exact(classes.count().max(1)).zip(target).enumerate()
                {
                    classes.add(p, y, weight_of(weight, row));
                }
            }
        }
        if let Some(own) = &mut self.own {
            for (row, (&p, &y)) in prediction.iter().zip(target).enumerate() {
                own.add(p, y, weight_of(weight, row));
            }
        }
    }

    /// The metrics that the rows define, by name, in a fixed order.
    pub fn finish(self) -> Vec<(&'static str, f64)> {
        let mut metrics = match self.kind {
            Kind::Numbers(numbers) => numbers.finish(),
            Kind::Classes(classes) => classes.finish(),
        };
        metrics.extend(self.own.map(ObjectiveMean::finish));
        metrics
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.filter(|v| v.is_finite())?)))
            .collect()
    }
}
