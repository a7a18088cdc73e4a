//! Fits the student: one regression per raw score of the teacher, joined into one model.

use std::time::Instant;

use swarmwood_learn::data::Chunk;
use swarmwood_learn::event::Event;
use swarmwood_model::{
    Body, Calibration, Leaf, LinearFunction, Member, Model, Provenance, Schema, Shape, Target,
    TargetKind, TrainingStats, Tree,
};

use super::Teacher;
use crate::checkpoint::Keep;
use crate::params::Params;
use crate::read::Rows;
use crate::train::{TrainOptions, TrainResult, train_with};
use crate::{Error, Result};

/// Fits one model per output to scores, row by row one per output.
pub(super) fn fit(
    teacher: &dyn Teacher,
    chunk: Chunk,
    raw: &[f64],
    params: &Params,
    options: &TrainOptions,
    observer: &mut dyn FnMut(&Event),
) -> Result<Vec<TrainResult>> {
    let outputs = teacher.outputs();
    let started = Instant::now();
    let mut chunk = chunk;
    let mut fits = Vec::with_capacity(outputs);
    for output in 0..outputs {
        chunk.target = raw.iter().skip(output).step_by(outputs).copied().collect();
        let name = teacher.schema().target.name.clone();
        let schema = Schema {
            features: teacher.schema().features.clone(),
            target: Target { name, kind: TargetKind::Number },
            dates: Vec::new(),
        };
        let rows = Rows::of_chunk(schema, &chunk);

        // What is left of the time is divided evenly among what is left to do.
        let mut share = params.clone();
        if share.time_limit > 0.0 {
            let left = share.time_limit - started.elapsed().as_secs_f64();
            share.time_limit = (left / (outputs - output) as f64).max(MIN_SECONDS);
        }
        let keep = options.keep.as_ref().map(|keep| keep_of_output(keep, output, outputs));
        let options = TrainOptions { keep, ..options.clone() };
        fits.push(train_with(&rows, None, &share.check()?, &options, observer)?);
    }
    Ok(fits)
}

/// The least time limit of a fit, in which every method ends with some model.
const MIN_SECONDS: f64 = 0.05;

/// The checkpoint of one output; a teacher with one output has the file itself.
fn keep_of_output(keep: &Keep, output: usize, outputs: usize) -> Keep {
    if outputs == 1 {
        return keep.clone();
    }
    let mut name = keep.path.clone().into_os_string();
    name.push(format!(".{output}"));
    Keep { path: name.into(), ..keep.clone() }
}

/// One model with the teacher's target, whose raw scores are the predictions of regressions.
pub(super) fn join(teacher: &dyn Teacher, fits: Vec<Model>) -> Result<Model> {
    let first = fits.first().ok_or_else(|| Error::Run("the teacher has no scores".to_string()))?;
    // The rows of the student are not those of a training file, and some are made up.
    let stats = TrainingStats::default();
    let provenance = Provenance { stats, ..first.provenance.clone() };
    let base = fits.iter().flat_map(|fit| fit.base.iter().copied()).collect();
    let body = match &first.body {
        Body::Linear(_) => Body::Linear(fits.into_iter().flat_map(linear_functions).collect()),
        Body::Trees(_) => Body::Trees(rounds(fits)),
    };
    let model = Model {
        schema: teacher.schema().clone(),
        link: teacher.link(),
        objective: teacher.objective().to_string(),
        base,
        body,
        provenance,
        calibration: Calibration::default(),
    };
    model.check().map_err(|error| Error::Run(format!("the student is not a model: {error}")))?;
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
    let longest = fits.iter().map(|fit| fit.members().len()).max().unwrap_or(0);
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

fn trees_of(fit: Model) -> Vec<Shape> {
    match fit.body {
        Body::Trees(members) => members.into_iter().map(|member| member.shape).collect(),
        Body::Linear(_) => Vec::new(),
    }
}
