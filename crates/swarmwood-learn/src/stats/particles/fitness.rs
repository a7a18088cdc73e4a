//! What makes one particle better than another.

use swarmwood_model::Link;

use crate::kernels::{losses, particle};
use crate::metric::{Partial, Watch};
use crate::objective::Objective;

/// What is measured on the training rows. The paper takes accuracy and RMSE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fitness {
    /// The mean of the objective's own loss.
    #[default]
    Loss,
    /// Share of the rows predicted right.
    Accuracy,
    /// Root of the mean squared error.
    Rmse,
}

impl Fitness {
    /// All of them.
    pub const ALL: [Fitness; 3] = [Fitness::Loss, Fitness::Accuracy, Fitness::Rmse];

    /// The name users say.
    pub fn name(self) -> &'static str {
        self.watch().name()
    }

    /// The fitness of that name.
    ///
    /// ```
    /// use swarmwood_learn::particle::Fitness;
    /// assert_eq!(Fitness::named("rmse"), Some(Fitness::Rmse));
    /// assert_eq!(Fitness::named("beauty"), None);
    /// ```
    pub fn named(name: &str) -> Option<Fitness> {
        Fitness::ALL.into_iter().find(|fitness| fitness.name() == name)
    }

    /// The metric that says the same.
    pub fn watch(self) -> Watch {
        match self {
            Fitness::Loss => Watch::Loss,
            Fitness::Accuracy => Watch::Accuracy,
            Fitness::Rmse => Watch::Rmse,
        }
    }

    /// The number that a search makes small: the share of wrong rows for the accuracy, the value
    /// itself otherwise.
    pub fn cost(self, value: f64) -> f64 {
        if self == Fitness::Accuracy { 1.0 - value } else { value }
    }

    /// The weighted sum over rows that [`Fitness::of_sum`] makes a value of.
    pub(super) fn sum(
        self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        objective: &dyn Objective,
    ) -> f64 {
        match (self, objective.link()) {
            (Fitness::Loss, _) => objective.loss(score, target, weight),
            (Fitness::Accuracy, Link::Sigmoid) => particle::hits(score, target, weight),
            (Fitness::Rmse, Link::Identity | Link::ExpM1) => {
                2.0 * losses::squared(score, target, weight)
            }
            _ => self.watch().partial(score, target, weight, objective).sum,
        }
    }

    /// The value of all rows' sum and weight; NaN if no row has weight.
    pub(super) fn of_sum(self, sum: f64, weight: f64) -> f64 {
        self.watch().finish(Partial { sum, weight })
    }
}
