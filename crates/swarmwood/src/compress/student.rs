//! Fits the student: one regression per raw score of the teacher, joined into one model.

use std::time::Instant;

use swarmwood_learn::data::Chunk;
use swarmwood_learn::event::Event;
use swarmwood_model::{Model, Schema, Target, TargetKind, TrainingStats};

use super::Teacher;
use crate::Result;
use crate::checkpoint::Keep;
use crate::params::Params;
use crate::read::Rows;
use crate::train::{
    LEAST_SECONDS, OutputMeaning, TrainOptions, TrainResult, join_outputs, keep_of, train_with,
};

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
            share.time_limit = (left / (outputs - output) as f64).max(LEAST_SECONDS);
        }
        let keep = options.keep.as_ref().map(|keep| keep_of_output(keep, output, outputs));
        let options = TrainOptions { keep, ..options.clone() };
        fits.push(train_with(&rows, None, &share.check()?, &options, observer)?);
    }
    Ok(fits)
}

/// The checkpoint of one output; a teacher with one output has the file itself.
fn keep_of_output(keep: &Keep, output: usize, outputs: usize) -> Keep {
    if outputs == 1 { keep.clone() } else { keep_of(keep, output) }
}

/// One model with the teacher's target, whose raw scores are the predictions of regressions.
pub(super) fn join(teacher: &dyn Teacher, mut fits: Vec<Model>) -> Result<Model> {
    // The rows of the student are not those of a training file, and some are made up.
    fits.iter_mut().for_each(|fit| fit.provenance.stats = TrainingStats::default());
    let meaning = OutputMeaning {
        schema: teacher.schema().clone(),
        link: teacher.link(),
        objective: teacher.objective().to_string(),
    };
    join_outputs(fits, meaning)
}
