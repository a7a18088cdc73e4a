//! Training that continues a model: its trees stay, and new ones are added.

use swarmwood_learn::objective::{Objective, ObjectiveConfig};
use swarmwood_learn::stats::InitialScores;
use swarmwood_model::monotone::{self, MonotoneCheck};
use swarmwood_model::{Body, Model, Shape};

use super::Job;
use crate::error::Violation;
use crate::predict::Scorer;
use crate::read::Rows;
use crate::{Error, Result};

/// The scores of the model that the options name, if they name one.
pub(super) fn initial_scores(job: &Job<'_>) -> Result<Option<InitialScores>> {
    let Some(model) = job.options.init_model.as_deref() else { return Ok(None) };
    check(model, job)?;
    let scorer = Scorer::new(model, None, job.pool.threads())?;
    let start = InitialScores::start(&model.base, job.objective);
    let scores = |rows: &Rows| scores(&scorer, rows, &start);
    let others = job.options.watched.iter().map(|rows| scores(rows));
    Ok(Some(InitialScores {
        base: model.base.clone(),
        rounds: model.rounds(),
        training: scores(job.rows)?,
        valid: job.valid.map(scores).transpose()?.unwrap_or_default(),
        watched: others.collect::<Result<_>>()?,
    }))
}

/// Refuses a model that the run cannot continue.
fn check(model: &Model, job: &Job<'_>) -> Result<()> {
    let refuse =
        |message: String| Err(Error::Parameters(vec![Violation::new("init_model", message)]));
    if !matches!(model.body, Body::Trees(_)) {
        return refuse("is a linear function; only models of trees can be continued".to_string());
    }
    if model.schema.features != job.rows.schema.features {
        return refuse(
            "has other features than the rows; give the columns that it was trained with, with \
             the same names and types"
                .to_string(),
        );
    }
    if model.schema.target.kind != job.rows.schema.target.kind {
        return refuse("has another target than the rows: other classes, or numbers".to_string());
    }
    if model.link != job.objective.link() || model.outputs() != job.objective.outputs() {
        return refuse(other_objective(model, job.objective));
    }
    // The objectives of other libraries have other names; their link says what scores mean.
    let is_known = ObjectiveConfig::named(&model.objective, 0, |_| 1.0).is_some();
    if is_known && job.custom.is_none() && model.objective != job.objective.name() {
        return refuse(other_objective(model, job.objective));
    }
    check_combination(model, job).or_else(refuse)
}

/// What cannot be guaranteed for a model whose first trees are given.
fn check_combination(model: &Model, job: &Job<'_>) -> std::result::Result<(), String> {
    if job.params.has_feature_budget() {
        return Err("cannot be used with a feature budget: its trees use other features".into());
    }
    if !job.params.first_split.is_none() {
        return Err("cannot be used with a first split: its trees begin with other splits".into());
    }
    if job.params.is_calibrated() && job.valid.is_none() {
        return Err("was trained on rows that thresholds and intervals would be chosen on; give \
                    validation rows that it has not seen"
            .into());
    }
    let is_allowed = |features: &Vec<u32>| {
        let features: Vec<usize> = features.iter().map(|&feature| feature as usize).collect();
        job.constraints.allows_together(&features)
    };
    if !model.path_features().iter().all(is_allowed) {
        return Err("has a path with features that may not interact".into());
    }
    for (at, feature) in model.schema.features.iter().enumerate() {
        let Some(direction) = job.constraints.direction(at) else { continue };
        if !matches!(monotone::check(model, at, direction), Ok(MonotoneCheck::Proven { .. })) {
            let name = &feature.name;
            return Err(format!("is not monotone in '{name}', so its continuation cannot be"));
        }
    }
    Ok(())
}

fn other_objective(model: &Model, objective: &dyn Objective) -> String {
    format!(
        "was trained with the objective '{}', but the objective is '{}'; use the same",
        model.objective,
        objective.name()
    )
}

/// Scores of rows, added up in the order and the precision in which training does it.
fn scores(scorer: &Scorer<'_>, rows: &Rows, start: &[f32]) -> Result<Vec<Vec<f32>>> {
    let model = scorer.model();
    let trees = model.members().len();
    let mut scores: Vec<Vec<f32>> = vec![Vec::with_capacity(rows.rows); start.len()];
    rows.for_each_chunk(&mut |chunk| {
        let leaves = scorer.leaves(chunk)?;
        for row in 0..chunk.rows {
            let mut score = start.to_vec();
            let reached = leaves.get(row * trees..(row + 1) * trees).unwrap_or_default();
            for (member, &leaf) in model.members().iter().zip(reached) {
                match &member.shape {
                    Shape::Vector(tree) => {
                        let values = tree.leaf_values(leaf as usize);
                        score.iter_mut().zip(values).for_each(|(s, &value)| *s += value as f32);
                    }
                    shape => {
                        let value = shape.leaves()[leaf as usize].value;
                        score[member.output as usize] += value as f32;
                    }
                }
            }
            scores.iter_mut().zip(score).for_each(|(scores, score)| scores.push(score));
        }
        Ok(())
    })?;
    Ok(scores)
}
