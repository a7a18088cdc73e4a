//! Where the scores of a fit start, the shards of its rows, and the metrics of scored rows.

use super::factory::{InitialScores, TrainingSet};
use super::shard::Shard;
use crate::dataset::{Dataset, Plan};
use crate::metric::{CustomMetric, EvalMetric, Partial, ScoredRows};
use crate::objective::Objective;
use crate::pool::Pool;

/// Where a fit starts.
pub(super) struct FitStart {
    /// Start value of each output.
    pub(super) base: Vec<f64>,
    /// What to add to a score to get the raw score.
    pub(super) shift: f64,
    /// The start values as the scores of rows hold them.
    pub(super) scores: Vec<f32>,
    /// The targets of the training rows, as the objective sees them.
    pub(super) target: Vec<f32>,
}

impl FitStart {
    /// The best constant of each output, or the start of the model that training continues.
    pub(super) fn of(set: &TrainingSet<'_>) -> Self {
        let (data, objective) = (set.data, set.objective);
        let target = transformed(data, objective);
        let base = match set.initial {
            Some(initial) => initial.base.clone(),
            None => objective.start(&target, &data.weight.to_vec()),
        };
        // Losses of the difference alone are learnt around zero, where `f32` is finest.
        let shift = if objective.shift_invariant() { base[0] } else { 0.0 };
        let scores = InitialScores::start(&base, objective);
        FitStart { base, shift, scores, target: narrow(&target, shift) }
    }
}

fn transformed(data: &Dataset, objective: &dyn Objective) -> Vec<f64> {
    data.target.iter().map(|target| objective.transform_target(target)).collect()
}

fn narrow(target: &[f64], shift: f64) -> Vec<f32> {
    target.iter().map(|&y| (y - shift) as f32).collect()
}

/// Rows that are only scored.
pub(super) struct EvaluationSet<'a> {
    pub(super) rows: &'a Dataset,
    pub(super) shards: Vec<Shard>,
}

impl<'a> EvaluationSet<'a> {
    /// The validation rows and the other sets of a fit, with the scores of the model that training
    /// continues.
    pub(super) fn all(
        set: &TrainingSet<'a>,
        start: &FitStart,
    ) -> (Option<EvaluationSet<'a>>, Vec<EvaluationSet<'a>>) {
        let scored = |rows: &'a Dataset| {
            let target = narrow(&transformed(rows, set.objective), start.shift);
            EvaluationSet { rows, shards: make_shards(rows, &target, &start.scores) }
        };
        let mut valid = set.valid.map(scored);
        let mut watched: Vec<EvaluationSet<'a>> = set.watched.iter().map(scored).collect();
        if let Some(initial) = set.initial {
            let given = valid.iter_mut().zip([&initial.valid]);
            for (set, scores) in given.chain(watched.iter_mut().zip(&initial.watched)) {
                set_scores(&mut set.shards, &set.rows.plan, scores);
            }
        }
        (valid, watched)
    }
}

pub(super) fn make_shards(data: &Dataset, target: &[f32], start: &[f32]) -> Vec<Shard> {
    let weight: Vec<f32> = data.weight.iter().map(|weight| weight as f32).collect();
    let mut weights = data.plan.deal(&weight).into_iter();
    data.plan
        .deal(target)
        .into_iter()
        .enumerate()
        .map(|(number, target)| {
            Shard::new(
                data.shards[number].clone(),
                number,
                target,
                weights.next().unwrap_or_default(),
                start,
            )
        })
        .collect()
}

/// Replaces the scores of all rows.
pub(super) fn set_scores(shards: &mut [Shard], plan: &Plan, scores: &[Vec<f32>]) {
    let dealt: Vec<Vec<Vec<f32>>> = scores.iter().map(|scores| plan.deal(scores)).collect();
    for (at, shard) in shards.iter_mut().enumerate() {
        let own: Vec<&[f32]> = dealt.iter().map(|dealt| &dealt[at][..]).collect();
        shard.set_scores(&own.concat());
    }
}

/// The rows of all shards in their order; scores output after output.
pub(super) struct AllRows {
    pub(super) score: Vec<f32>,
    pub(super) target: Vec<f32>,
    pub(super) weight: Vec<f32>,
}

impl AllRows {
    pub(super) fn gather(plan: &Plan, shards: &[&Shard], outputs: usize) -> AllRows {
        let targets: Vec<&[f32]> = shards.iter().map(|shard| shard.targets()).collect();
        let weights: Vec<&[f32]> = shards.iter().map(|shard| shard.weights()).collect();
        let is_weighted = weights.iter().any(|weights| !weights.is_empty());
        AllRows {
            score: gather(plan, shards, outputs).concat(),
            target: plan.gather(&targets),
            weight: if is_weighted { plan.gather(&weights) } else { Vec::new() },
        }
    }
}

/// One vector per output, in row order.
pub(super) fn gather(plan: &Plan, shards: &[&Shard], outputs: usize) -> Vec<Vec<f32>> {
    let of = |output: usize| {
        let parts: Vec<&[f32]> = shards
            .iter()
            .map(|shard| &shard.scores()[output * shard.rows()..(output + 1) * shard.rows()])
            .collect();
        plan.gather(&parts)
    };
    (0..outputs).map(of).collect()
}

/// Computes metrics of the rows of a fit.
pub(super) struct Evaluator<'a> {
    pub(super) objective: &'a dyn Objective,
    pub(super) metric: Option<&'a dyn CustomMetric>,
    pub(super) pool: &'a Pool,
    pub(super) shift: f64,
}

impl Evaluator<'_> {
    /// The sums of a metric over the shards of a plan, merged in their order.
    pub(super) fn merge(&self, metric: EvalMetric, plan: &Plan, shards: &[&Shard]) -> Partial {
        if metric == EvalMetric::Loss && self.objective.takes_all_rows() {
            let rows = AllRows::gather(plan, shards, self.objective.outputs());
            return metric.partial(&rows.score, &rows.target, &rows.weight, self.objective);
        }
        let part = |at: usize| {
            let shard = shards[at];
            metric.partial(shard.scores(), shard.targets(), shard.weights(), self.objective)
        };
        let merge = |mut all: Partial, part: Partial| {
            all.merge(part);
            all
        };
        self.pool.map(shards.len(), part).into_iter().reduce(merge).unwrap_or_default()
    }

    /// A metric of some rows.
    pub(super) fn metric_of(&self, metric: EvalMetric, data: &Dataset, shards: &[&Shard]) -> f64 {
        if !metric.takes_all_rows() {
            return metric.finish(self.merge(metric, &data.plan, shards));
        }
        self.metric_of_scores(metric, data, gather(&data.plan, shards, self.objective.outputs()))
    }

    /// A metric that takes all rows at once, given their scores.
    pub(super) fn metric_of_scores(
        &self,
        metric: EvalMetric,
        data: &Dataset,
        scores: Vec<Vec<f32>>,
    ) -> f64 {
        let narrow = scores.concat();
        let score: Vec<f64> = narrow.iter().map(|&score| f64::from(score) + self.shift).collect();
        let (target, weight) = (data.target.to_vec(), data.weight.to_vec());
        let rows = ScoredRows { score: &score, target: &target, weight: &weight };
        metric.of_all_rows(rows, self.objective, self.metric)
    }
}
