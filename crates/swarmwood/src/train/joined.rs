//! One model whose raw scores are the predictions of several.

use swarmwood_model::{
    Body, Calibration, Distribution, Leaf, LeafRows, LinearFunction, Link, Member, Model,
    Provenance, Schema, Shape, TrainingStats, Tree,
};

use super::row_counts::MOST_COUNTS;
use crate::{Error, Result};

/// What the raw scores of a joined model mean.
pub(crate) struct OutputMeaning {
    /// The features, and the target of all outputs.
    pub(crate) schema: Schema,
    /// From raw scores to predictions.
    pub(crate) link: Link,
    /// The name of the objective.
    pub(crate) objective: String,
}

/// A model with one output per model, each of which has one.
pub(crate) fn join_outputs(fits: Vec<Model>, meaning: OutputMeaning) -> Result<Model> {
    let first = fits.first().ok_or_else(|| Error::Run("there are no outputs".to_string()))?;
    let stats = TrainingStats { leaf_rows: leaf_rows(&fits), distributions: distributions(&fits) };
    let provenance = Provenance { stats, ..first.provenance.clone() };
    let base = fits.iter().flat_map(|fit| fit.base.iter().copied()).collect();
    let body = match &first.body {
        Body::Linear(_) => Body::Linear(fits.into_iter().flat_map(linear_functions).collect()),
        Body::Trees(_) => Body::Trees(rounds(fits)),
    };
    let OutputMeaning { schema, link, objective } = meaning;
    let calibration = Calibration::default();
    let model = Model { schema, link, objective, base, body, provenance, calibration };
    model.check().map_err(|error| Error::Run(format!("the outputs are no model: {error}")))?;
    Ok(model)
}

fn linear_functions(fit: Model) -> Vec<LinearFunction> {
    match fit.body {
        Body::Linear(functions) => functions,
        Body::Trees(_) => Vec::new(),
    }
}

/// Rounds of one tree per output. Where an output has fewer trees than another, trees of one leaf
/// that add nothing fill the round.
fn rounds(fits: Vec<Model>) -> Vec<Member> {
    let longest = longest(&fits);
    let mut trees: Vec<_> = fits.into_iter().map(|fit| trees_of(fit).into_iter()).collect();
    let mut members = Vec::with_capacity(longest * trees.len());
    for _ in 0..longest {
        for (output, trees) in trees.iter_mut().enumerate() {
            let shape = trees.next().unwrap_or_else(|| {
                let leaf = Leaf { value: 0.0, cover: 0.0 };
                Shape::Ordinary(Tree { nodes: Vec::new(), leaves: vec![leaf] })
            });
            members.push(Member { output: output as u32, shape });
        }
    }
    members
}

fn longest(fits: &[Model]) -> usize {
    fits.iter().map(|fit| fit.members().len()).max().unwrap_or(0)
}

fn trees_of(fit: Model) -> Vec<Shape> {
    match fit.body {
        Body::Trees(members) => members.into_iter().map(|member| member.shape).collect(),
        Body::Linear(_) => Vec::new(),
    }
}

/// The counts of training rows in the order of the joined trees, if every model has them.
fn leaf_rows(fits: &[Model]) -> Vec<LeafRows> {
    let counts = |fit: &Model| fit.provenance.stats.leaf_rows.len();
    let has_all = fits.iter().all(|fit| counts(fit) == fit.members().len());
    if !has_all || longest(fits) == 0 {
        return Vec::new();
    }
    let mut joined = Vec::new();
    for round in 0..longest(fits) {
        for fit in fits {
            let counted = fit.provenance.stats.leaf_rows.get(round).cloned();
            let all_rows = || LeafRows { counts: vec![fit.provenance.rows] };
            joined.push(counted.unwrap_or_else(all_rows));
        }
    }
    let total: usize = joined.iter().map(|tree| tree.counts.len()).sum();
    if total <= MOST_COUNTS { joined } else { Vec::new() }
}

/// The distributions of the features that any model uses.
fn distributions(fits: &[Model]) -> Vec<Distribution> {
    let all = fits.iter().flat_map(|fit| &fit.provenance.stats.distributions);
    let mut joined: Vec<Distribution> = all.cloned().collect();
    joined.sort_by_key(|one| one.feature);
    joined.dedup_by_key(|one| one.feature);
    joined
}
