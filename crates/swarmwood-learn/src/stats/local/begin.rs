//! A new backend: rows at the best constant score.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::{Local, ScoredSet, make_shards, make_teams, no_search};
use crate::context::Context;
use crate::dataset::Dataset;
use crate::kernels::quantise::GradientScale;
use crate::stats::factory::TrainingSet;
use crate::stats::message::BackendOptions;
use crate::stats::shard::Shard;

impl<'a> Local<'a> {
    /// A backend whose scores are the best constant of each output.
    pub fn new(set: TrainingSet<'a>, options: BackendOptions, context: Context<'a>) -> Self {
        let TrainingSet { data, valid, objective, .. } = set;
        let transformed = |data: &Dataset| -> Vec<f64> {
            data.target.iter().map(|target| objective.transform_target(target)).collect()
        };
        let target = transformed(data);
        let base = objective.start(&target, &data.weight.to_vec());
        // Losses of the difference alone are learnt around zero, where `f32` is finest.
        let shift = if objective.shift_invariant() { base[0] } else { 0.0 };
        let narrow =
            |target: Vec<f64>| -> Vec<f32> { target.iter().map(|&y| (y - shift) as f32).collect() };
        let start: Vec<f32> = base.iter().map(|&base| (base - shift) as f32).collect();

        let mut shards = make_shards(data, &narrow(target), &start);
        if options.keep_derivatives {
            shards.iter_mut().for_each(Shard::keep_derivatives);
        }
        let scored = |rows: &'a Dataset| ScoredSet {
            rows,
            shards: make_shards(rows, &narrow(transformed(rows)), &start),
        };
        let valid = valid.map(scored);
        let watched = set.watched.iter().map(scored).collect();

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
            kept: Vec::new(),
            kept_count: 0,
            memory: options.memory,
            search_buffers: Mutex::default(),
            trees: BTreeMap::new(),
            snapshots: BTreeMap::new(),
        }
    }
}
