//! Conformal prediction: intervals of numbers and sets of classes from scores of held-out rows.
//!
//! The half-width of an interval is the quantile of the absolute residuals of held-out rows with the
//! correction for a finite number of them: of n residuals the `ceil((n + 1) * level)`-th smallest.
//! With out-of-fold residuals of n rows this is the cross-conformal interval around the model that
//! was fitted to all of them. Adaptive intervals divide every residual by a scale before, which a
//! small tree predicts from the features (normalised conformal prediction).

use swarmwood_learn::data::Chunk;
use swarmwood_model::calibration::{ClassSets, PredictionInterval};
use swarmwood_model::{Body, Feature, Link, Schema, Shape, Target, TargetKind, Tree};

use super::held_out::HeldOutScores;
use super::{Job, TrainOptions, gather, learner, train_learner};
use crate::Result;
use crate::params::{Auto, Criterion, Method, Params, Prune};
use crate::predict::half_widths;
use crate::read::Rows;

/// Leaves of the tree of an adaptive interval, and the share of the rows that each has at least.
const SCALE_LEAVES: usize = 16;
const SCALE_LEAF_SHARE: f64 = 0.02;
const SCALE_LEAF_ROWS: usize = 20;

/// No scale is smaller than this share of the mean one.
const LEAST_SCALE: f64 = 0.01;

/// The value that at least the share `level` of future values does not exceed, by the weights of
/// known ones: the smallest one that as much weight does not exceed as `level` of all weights with
/// that of one more value. `None` if there are too few values.
pub(super) fn conformal_quantile(values: &[f64], weights: &[f64], level: f64) -> Option<f64> {
    let weight = |at: usize| weights.get(at).copied().unwrap_or(1.0);
    let mut order: Vec<usize> = (0..values.len()).filter(|&at| weight(at) > 0.0).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));

    let total: f64 = order.iter().map(|&at| weight(at)).sum();
    // Sums are rounded, and so is the product: 0.9 * 10 is 9 values, not 10.
    let needed = level * (total + total / order.len().max(1) as f64) * (1.0 - 1e-12);
    let mut sum = 0.0;
    for at in order {
        sum += weight(at);
        if sum >= needed {
            return Some(values[at]);
        }
    }
    None
}

/// The least number of rows for a coverage.
pub(super) fn least_rows(level: f64) -> usize {
    (level / (1.0 - level) * (1.0 - 1e-12)).ceil() as usize
}

/// The interval of numbers; `None` if there are too few rows.
pub(super) fn interval(
    job: &Job<'_>,
    link: Link,
    rows: &Rows,
    held_out: &HeldOutScores,
) -> Result<Option<PredictionInterval>> {
    let level = job.params.interval;
    let residual = |(raw, target): (&f64, &f64)| {
        (link.residual_target(*target) - link.residual_centre(*raw)).abs()
    };
    let mut residuals: Vec<f64> = held_out.raw.iter().zip(&held_out.target).map(residual).collect();

    let mut scale = None;
    if job.params.is_adaptive() && residuals.iter().any(|&residual| residual > 0.0) {
        let chunk = gather(rows)?;
        let tree = fit_scale(job, rows, &chunk, &residuals)?;
        let interval = PredictionInterval { level, half_width: 1.0, scale: Some(tree) };
        let widths = half_widths(&interval, &rows.schema, &chunk);
        residuals.iter_mut().zip(widths).for_each(|(residual, width)| *residual /= width);
        scale = interval.scale;
    }
    let half_width = conformal_quantile(&residuals, &held_out.weight, level);
    Ok(half_width.map(|half_width| PredictionInterval { level, half_width, scale }))
}

/// A small tree that predicts absolute residuals.
fn fit_scale(job: &Job<'_>, rows: &Rows, chunk: &Chunk, residuals: &[f64]) -> Result<Tree> {
    let target = Target { name: "absolute residual".into(), kind: TargetKind::Number };
    let features: Vec<Feature> = rows.schema.features.clone();
    let mean = residuals.iter().sum::<f64>() / residuals.len().max(1) as f64;
    // Residuals may be as small or as large as numbers get; those of the tree are about one.
    let unit: Vec<f64> = residuals.iter().map(|residual| residual / mean).collect();
    let data = Chunk { target: unit, ..chunk.clone() };
    let data = Rows::of_chunk(Schema { features, target, dates: Vec::new() }, &data);

    let share = (SCALE_LEAF_SHARE * rows.rows as f64).ceil() as usize;
    let params = Params {
        max_leaves: SCALE_LEAVES,
        min_leaf: Auto::Is(share.max(SCALE_LEAF_ROWS)),
        criterion: Criterion::Squared,
        prune: Prune::OneStandardError,
        seed: job.params.seed,
        threads: job.params.threads,
        ..Params::of(Method::CART)
    };
    let options = TrainOptions { budget: job.held_out.cloned(), ..TrainOptions::default() };
    let fit = train_learner(
        learner(Method::CART)?,
        (&data, None),
        &params.check()?,
        &options,
        &mut |_| {},
    )?;

    let base = fit.model.base.first().copied().unwrap_or(0.0);
    let mut tree = match fit.model.body {
        Body::Trees(members) => match members.into_iter().next().map(|member| member.shape) {
            Some(Shape::Ordinary(tree)) => tree,
            Some(shape) => shape.to_tree().into_owned(),
            None => Tree::leaf(swarmwood_model::Leaf { value: 1.0, cover: 0.0 }),
        },
        Body::Linear(_) => Tree::leaf(swarmwood_model::Leaf { value: 1.0, cover: 0.0 }),
    };
    for leaf in &mut tree.leaves {
        leaf.value = (base + leaf.value).max(LEAST_SCALE);
    }
    Ok(tree)
}

/// The sets of classes; `None` if there are too few rows.
pub(super) fn class_sets(link: Link, level: f64, held_out: &HeldOutScores) -> Option<ClassSets> {
    let outputs = held_out.raw.len() / held_out.target.len().max(1);
    let mut probabilities = Vec::new();
    let not_true = |(raw, target): (&[f64], &f64)| {
        probabilities.clear();
        link.probabilities(raw, &mut probabilities);
        -probabilities.get(*target as usize).copied().unwrap_or(0.0)
    };
    let scores: Vec<f64> =
        held_out.raw.chunks_exact(outputs.max(1)).zip(&held_out.target).map(not_true).collect();
    let quantile = conformal_quantile(&scores, &held_out.weight, level)?;
    Some(ClassSets { level, min_probability: -quantile })
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_search::rng::Stream;

    #[test]
    fn the_quantile_is_the_corrected_order_statistic() {
        let values: Vec<f64> = (1..=19).rev().map(f64::from).collect();
        // ceil(20 * 0.9) = 18.
        assert_eq!(conformal_quantile(&values, &[], 0.9), Some(18.0));
        assert_eq!(conformal_quantile(&values, &[], 0.95), Some(19.0));
        assert_eq!(conformal_quantile(&values, &[], 0.951), None);
        assert_eq!((least_rows(0.9), least_rows(0.95), least_rows(0.99)), (9, 19, 99));
        for level in [0.5, 0.8, 0.9, 0.95, 0.99] {
            let rows = least_rows(level);
            let values = vec![1.0; rows];
            assert_eq!(conformal_quantile(&values, &[], level), Some(1.0), "{level}");
            assert_eq!(conformal_quantile(&values[1..], &[], level), None, "{level}");
        }
    }

    #[test]
    fn weights_count_and_weightless_rows_do_not() {
        let values = [3.0, 1.0, 2.0, 9.0];
        assert_eq!(conformal_quantile(&values, &[1.0, 1.0, 1.0, 0.0], 0.5), Some(2.0));
        // Weights that are all doubled change nothing.
        assert_eq!(conformal_quantile(&values, &[2.0, 2.0, 2.0, 0.0], 0.5), Some(2.0));
        assert_eq!(conformal_quantile(&values, &[5.0, 0.5, 0.5, 0.0], 0.5), Some(3.0));
    }

    /// With exchangeable values, the coverage of the next one is `ceil((n + 1) * level) / (n + 1)`.
    #[test]
    fn the_next_value_is_covered_as_promised() {
        let (rows, level, repeats) = (39, 0.8, 20_000);
        let mut stream = Stream::new(5, 0, 0);
        let mut covered = 0;
        for _ in 0..repeats {
            let values: Vec<f64> = (0..rows).map(|_| stream.unit()).collect();
            let quantile = conformal_quantile(&values, &[], level).unwrap();
            covered += usize::from(stream.unit() <= quantile);
        }
        let share = covered as f64 / f64::from(repeats);
        assert!((share - 0.8).abs() < 0.01, "{share}");
    }
}
