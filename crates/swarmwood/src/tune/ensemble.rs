//! The mean of several models as one model.
//!
//! Raw scores are averaged: start values are their mean, and all trees are there, each leaf
//! counting one part in so many. For classes this is the geometric mean of the odds, not the mean
//! of the probabilities.

use swarmwood_model::{Body, Calibration, Model, TrainingStats};

/// The mean of models of trees that have the same features, target, link and objective; `None` if
/// they do not, or if there are none.
///
/// ```
/// use swarmwood::tune::ensemble::average;
/// assert_eq!(average(Vec::new()), None);
/// ```
pub fn average(models: Vec<Model>) -> Option<Model> {
    let count = models.len();
    let mut models = models.into_iter();
    let mut mean = models.next()?;
    let Body::Trees(members) = &mut mean.body else { return None };
    for model in models {
        let alike = model.schema == mean.schema
            && model.link == mean.link
            && model.objective == mean.objective;
        let Body::Trees(more) = model.body else { return None };
        if model.calibration != mean.calibration {
            // What belongs to one of the models does not fit their mean.
            mean.calibration = Calibration::default();
        }
        if !alike || model.base.len() != mean.base.len() {
            return None;
        }
        mean.base.iter_mut().zip(&model.base).for_each(|(sum, base)| *sum += base);
        members.extend(more);
        let TrainingStats { leaf_rows, distributions } = model.provenance.stats;
        mean.provenance.stats.leaf_rows.extend(leaf_rows);
        mean.provenance.stats.distributions.extend(distributions);
    }
    let share = 1.0 / count as f64;
    mean.base.iter_mut().for_each(|base| *base *= share);
    members.iter_mut().for_each(|member| member.shape.scale_values(share));
    complete(&mut mean.provenance.stats, members.len());
    mean.provenance.params.insert("ensemble".to_string(), count.to_string());
    Some(mean)
}

/// The counts of all parts, which have the same rows.
fn complete(stats: &mut TrainingStats, trees: usize) {
    if stats.leaf_rows.len() != trees {
        stats.leaf_rows.clear();
    }
    stats.distributions.sort_by_key(|distribution| distribution.feature);
    stats.distributions.dedup_by_key(|distribution| distribution.feature);
}
