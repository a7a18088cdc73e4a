//! A new backend: rows at the best constant score.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::{Local, make_teams, no_search};
use crate::context::Context;
use crate::kernels::quantise::GradientScale;
use crate::stats::evaluation::{EvaluationSet, FitStart, make_shards, set_scores};
use crate::stats::factory::TrainingSet;
use crate::stats::message::BackendOptions;
use crate::stats::path_features::PathFeatures;
use crate::stats::shard::Shard;

impl<'a> Local<'a> {
    /// A backend whose scores are the best constant of each output.
    pub fn new(set: TrainingSet<'a>, options: BackendOptions, context: Context<'a>) -> Self {
        let TrainingSet { data, objective, .. } = set;
        let start = FitStart::of(&set);
        let mut shards = make_shards(data, &start.target, &start.scores);
        if options.keep_derivatives {
            shards.iter_mut().for_each(Shard::keep_derivatives);
        }
        if let Some(initial) = set.initial {
            set_scores(&mut shards, &data.plan, &initial.training);
        }
        let (valid, watched) = EvaluationSet::all(&set, &start);
        let FitStart { base, shift, scores: start, .. } = start;

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
            dispersion: 1.0,
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
