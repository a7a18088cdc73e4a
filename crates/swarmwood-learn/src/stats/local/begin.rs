//! A new backend: rows at the best constant score.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::path_features::PathFeatures;
use super::{EvaluationSet, Local, make_shards, make_teams, no_search};
use crate::context::Context;
use crate::dataset::{Dataset, Plan};
use crate::kernels::quantise::GradientScale;
use crate::stats::factory::{InitialScores, TrainingSet};
use crate::stats::message::BackendOptions;
use crate::stats::shard::Shard;

/// Replaces the scores of all rows.
fn set_scores(shards: &mut [Shard], plan: &Plan, scores: &[Vec<f32>]) {
    let dealt: Vec<Vec<Vec<f32>>> = scores.iter().map(|scores| plan.deal(scores)).collect();
    for (at, shard) in shards.iter_mut().enumerate() {
        let own: Vec<&[f32]> = dealt.iter().map(|dealt| &dealt[at][..]).collect();
        shard.set_scores(&own.concat());
    }
}

impl<'a> Local<'a> {
    /// A backend whose scores are the best constant of each output.
    pub fn new(set: TrainingSet<'a>, options: BackendOptions, context: Context<'a>) -> Self {
        let TrainingSet { data, valid, objective, .. } = set;
        let transformed = |data: &Dataset| -> Vec<f64> {
            data.target.iter().map(|target| objective.transform_target(target)).collect()
        };
        let target = transformed(data);
        let base = match set.initial {
            Some(initial) => initial.base.clone(),
            None => objective.start(&target, &data.weight.to_vec()),
        };
        // Losses of the difference alone are learnt around zero, where `f32` is finest.
        let shift = if objective.shift_invariant() { base[0] } else { 0.0 };
        let narrow =
            |target: Vec<f64>| -> Vec<f32> { target.iter().map(|&y| (y - shift) as f32).collect() };
        let start = InitialScores::start(&base, objective);

        let mut shards = make_shards(data, &narrow(target), &start);
        if options.keep_derivatives {
            shards.iter_mut().for_each(Shard::keep_derivatives);
        }
        let scored = |rows: &'a Dataset| EvaluationSet {
            rows,
            shards: make_shards(rows, &narrow(transformed(rows)), &start),
        };
        let mut valid = valid.map(scored);
        let mut watched: Vec<EvaluationSet<'a>> = set.watched.iter().map(scored).collect();
        if let Some(initial) = set.initial {
            set_scores(&mut shards, &data.plan, &initial.training);
            if let Some(set) = &mut valid {
                set_scores(&mut set.shards, &set.rows.plan, &initial.valid);
            }
            for (set, scores) in watched.iter_mut().zip(&initial.watched) {
                set_scores(&mut set.shards, &set.rows.plan, scores);
            }
        }

        Local {
            pool: context.pool,
            budget: context.budget,
            objective,
            layout: data.layout.clone(),
            plan: data.plan,
            base,
            start,
            shift,
            teams: make_teams(shards, context.pool.threads()),
            data,
            valid,
            watched,
            metric: set.metric,
            derivative_sums: Vec::new(),
            scale: GradientScale { g: 1.0, h: 1.0 },
            search: no_search(),
            slots: Vec::new(),
            paths: PathFeatures::default(),
            kept: Vec::new(),
            kept_count: 0,
            memory: options.memory,
            search_buffers: Mutex::default(),
            trees: BTreeMap::new(),
            snapshots: BTreeMap::new(),
        }
    }
}
