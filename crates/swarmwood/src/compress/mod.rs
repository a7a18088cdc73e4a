//! Compression: a small model that behaves like a large one.
//!
//! The student is fitted to the raw scores of the teacher (logits for classes), so that rows need no
//! labels. Rows are few where a teacher is large: more are made by exchanging values between near rows
//! (MUNGE: Bucila, Caruana and Niculescu-Mizil 2006), and the teacher scores them. Some rows are held
//! out before anything else; how closely the student follows its teacher is measured on them.

mod fidelity;
mod neighbours;
mod student;
mod swaps;
mod teacher;

#[cfg(test)]
mod tests;

use std::time::Instant;

use swarmwood_learn::data::Chunk;
use swarmwood_learn::event::Event;
use swarmwood_learn::pool::Pool;
use swarmwood_model::Model;

pub use fidelity::Fidelity;
pub use teacher::{ModelTeacher, Teacher, TeacherRows};

use crate::error::Violation;
use crate::evaluate::{Bootstrap, HeldOutRows};
use crate::message::Message;
use crate::params::{Auto, ValidParams};
use crate::predict::Scorer;
use crate::read::Rows;
use crate::train::{TrainOptions, TrainResult};
use crate::{Error, Result};
use swaps::{NeighbourSwaps, rows_at};

/// Rows that a student is fitted to where extra rows are not counted by the user.
const WANTED_ROWS: usize = 120_000;

/// Extra rows per row where they are not counted by the user.
const SWAPS: std::ops::RangeInclusive<usize> = 4..=10;

/// At most this number of rows are made for one student.
const MOST_ROWS: usize = 1 << 20;

/// Numbers of rows with which students with and without extra rows are compared.
const COMPARED_ROWS: std::ops::RangeInclusive<usize> = 50..=20_000;

/// The share of rows on which they are compared.
const COMPARED_SHARE: f64 = 0.2;

/// What is compressed, and how.
pub struct CompressRequest<'a> {
    /// The model that is compressed.
    pub teacher: &'a dyn Teacher,
    /// Rows that the student is fitted to; targets are not used.
    pub rows: &'a Rows,
    /// Rows that the student does not see.
    pub held_out: &'a Rows,
    /// Whether the targets of these rows are known.
    pub is_labelled: bool,
    /// Extra rows per row.
    pub swaps: Auto<usize>,
    /// How the student is fitted.
    pub params: &'a ValidParams,
    /// Checkpoints and limits.
    pub options: &'a TrainOptions,
}

/// A student and how it compares with its teacher.
#[derive(Debug)]
pub struct CompressResult {
    /// The student.
    pub model: Model,
    /// How closely it follows the teacher on the rows that were held out.
    pub fidelity: Fidelity,
    /// Metrics on the targets of these rows, if they are known.
    pub labels: Option<LabelMetrics>,
    /// Rows of the data that the student was fitted to.
    pub data_rows: usize,
    /// Rows that were made by exchanging values.
    pub extra_rows: usize,
    /// Likely mistakes that the user should look into.
    pub warnings: Vec<Message>,
    /// Remarks on the course of the run.
    pub notes: Vec<String>,
}

/// The metrics of teacher and student on the same rows, whose targets are known.
#[derive(Debug, Clone)]
pub struct LabelMetrics {
    /// The metrics of the teacher.
    pub teacher: Bootstrap,
    /// The metrics of the student.
    pub student: Bootstrap,
}

/// Fits a small model to the raw scores of a large one.
pub fn compress(
    request: &CompressRequest<'_>,
    observer: &mut dyn FnMut(&Event),
) -> Result<CompressResult> {
    let CompressRequest { teacher, rows, params, .. } = *request;
    check_objective(params)?;
    let started = Instant::now();
    let pool = Pool::new(params.threads).map_err(Error::Run)?;
    let swaps = match request.swaps {
        Auto::Is(swaps) => swaps,
        Auto::Auto => chosen_swaps(request, &pool, observer)?,
    };

    let seconds = Some(params.time_limit - started.elapsed().as_secs_f64());
    let stage = StudentStage { rows, swaps, seconds, name: "" };
    let student = fit_student(request, &stage, &pool, observer)?;
    let StudentFit { fits, data_rows, extra_rows } = student;
    let mut warnings: Vec<Message> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for fit in &fits {
        fit.warnings.iter().for_each(|one| push_new(&mut warnings, one));
        fit.notes.iter().for_each(|one| push_new(&mut notes, one));
    }
    if rows.rows > data_rows {
        notes.push(format!(
            "the student was fitted to a sample of {data_rows} of {} rows",
            rows.rows
        ));
    }

    let mut model = student::join(teacher, fits.into_iter().map(|fit| fit.model).collect())?;
    // The limit of a single fit is what was left of the time.
    if let Some(limit) = model.provenance.params.get_mut("time_limit") {
        *limit = params.time_limit.to_string();
    }
    let swaps = extra_rows / data_rows.max(1);
    model.provenance.params.insert("swaps".to_string(), swaps.to_string());
    let (fidelity, labels) = measure(request, &model)?;
    Ok(CompressResult { model, fidelity, labels, data_rows, extra_rows, warnings, notes })
}

/// One fit of a student: the last one, or one to choose its rows by.
struct StudentStage<'a> {
    rows: &'a Rows,
    /// Extra rows per row.
    swaps: usize,
    /// What is left of the time limit, if there is one.
    seconds: Option<f64>,
    /// What the names of its checkpoints end with.
    name: &'a str,
}

/// A fitted student, one regression per output.
struct StudentFit {
    fits: Vec<TrainResult>,
    data_rows: usize,
    extra_rows: usize,
}

fn fit_student(
    request: &CompressRequest<'_>,
    stage: &StudentStage<'_>,
    pool: &Pool,
    observer: &mut dyn FnMut(&Event),
) -> Result<StudentFit> {
    let mut chunk = stage.rows.sample();
    (chunk.target, chunk.weight) = (Vec::new(), Vec::new());
    let data_rows = chunk.rows;
    let (chunk, raw) = with_extra_rows(request, stage, chunk, pool)?;
    let extra_rows = chunk.rows - data_rows;

    let mut params = (**request.params).clone();
    if let Some(seconds) = stage.seconds.filter(|_| params.time_limit > 0.0) {
        params.time_limit = seconds.max(student::MIN_SECONDS);
    }
    let keep = request.options.keep.as_ref().map(|keep| student::renamed(keep, stage.name));
    let options = TrainOptions { keep, ..request.options.clone() };
    let fits = student::fit(request.teacher, chunk, &raw, &params, &options, observer)?;
    Ok(StudentFit { fits, data_rows, extra_rows })
}

/// Whether there are extra rows, where that is left to us. They help most students, but not those of
/// small tables whose columns belong together: there both are tried on a part of the rows.
fn chosen_swaps(
    request: &CompressRequest<'_>,
    pool: &Pool,
    observer: &mut dyn FnMut(&Event),
) -> Result<usize> {
    let usual = passes(Auto::Auto, request.rows.rows);
    if !COMPARED_ROWS.contains(&request.rows.rows) {
        return Ok(usual);
    }
    let params = request.params;
    let (rest, part) = request.rows.clone().holdout(COMPARED_SHARE, params.seed)?;
    let seconds = Some(params.time_limit / 4.0);
    let mut fidelity_of = |swaps: usize, name: &str| -> Result<f64> {
        let stage = StudentStage { rows: &rest, swaps, seconds, name };
        let fits = fit_student(request, &stage, pool, observer)?.fits;
        let fits = fits.into_iter().map(|fit| fit.model).collect();
        let model = student::join(request.teacher, fits)?;
        let (teacher_raw, student_raw, _) = raw_scores(request, &part, &model)?;
        let outputs = request.teacher.outputs();
        let fidelity = Fidelity::new(&teacher_raw, &student_raw, outputs, request.teacher.link());
        Ok(fidelity.r2.unwrap_or(0.0))
    };
    let with = fidelity_of(usual, ".extra")?;
    let without = fidelity_of(0, ".plain")?;
    Ok(if without > with { 0 } else { usual })
}

/// A student minimises the squared difference of raw scores.
fn check_objective(params: &ValidParams) -> Result<()> {
    let name = params.objective.name();
    if matches!(name, "auto" | "squared") {
        return Ok(());
    }
    let message = format!(
        "is {name}, but a student is fitted to the raw scores of its teacher by squared differences; \
         leave it out"
    );
    Err(Error::Parameters(vec![Violation::new("objective", message)]))
}

/// Fits of several outputs say the same things.
fn push_new<T: Clone + PartialEq>(all: &mut Vec<T>, one: &T) {
    if !all.contains(one) {
        all.push(one.clone());
    }
}

/// The rows with those that are made of them, and the teacher's scores of all.
fn with_extra_rows(
    request: &CompressRequest<'_>,
    stage: &StudentStage<'_>,
    chunk: Chunk,
    pool: &Pool,
) -> Result<(Chunk, Vec<f64>)> {
    let numbers = stage.rows.sample_numbers();
    let mut raw = scores(request.teacher, &chunk, &whole_rows(&numbers, &chunk))?;
    let passes = passes(Auto::Is(stage.swaps), chunk.rows);
    if passes == 0 {
        return Ok((chunk, raw));
    }

    let mut all = chunk.clone();
    let swaps = NeighbourSwaps::new(&chunk, request.params.seed, pool);
    for pass in 0..passes {
        let positions = swaps.pass(pass);
        let extra = rows_at(&chunk, &positions);
        let number = |position: &u32| numbers[*position as usize];
        let sources: Vec<Vec<u32>> =
            positions.iter().map(|column| column.iter().map(number).collect()).collect();
        raw.extend(scores(request.teacher, &extra, &sources)?);
        all.append(&extra);
    }
    Ok((all, raw))
}

/// How many extra rows there are per row.
fn passes(swaps: Auto<usize>, rows: usize) -> usize {
    let rows = rows.max(1);
    let wanted = match swaps {
        Auto::Is(swaps) => swaps,
        Auto::Auto => (WANTED_ROWS / rows).clamp(*SWAPS.start(), *SWAPS.end()),
    };
    wanted.min(MOST_ROWS / rows)
}

/// The sources of rows that are those of the data.
fn whole_rows(numbers: &[u32], chunk: &Chunk) -> Vec<Vec<u32>> {
    vec![numbers.to_vec(); chunk.columns.len()]
}

/// The teacher's scores; a score that is not finite is an error.
fn scores(teacher: &dyn Teacher, chunk: &Chunk, sources: &[Vec<u32>]) -> Result<Vec<f64>> {
    let mut raw = teacher.raw(&TeacherRows { chunk, sources })?;
    let outputs = teacher.outputs();
    if raw.len() != chunk.rows * outputs {
        return Err(Error::Run(format!(
            "the teacher gave {} scores for {} rows; expected {outputs} per row",
            raw.len(),
            chunk.rows
        )));
    }
    if let Some(at) = raw.iter().position(|score| !score.is_finite()) {
        return Err(Error::Run(format!(
            "the teacher's score of row {} is {}, must be a finite number",
            at / outputs + 1,
            raw[at]
        )));
    }

    // Probabilities do not change if all scores of a row do alike; the student need not learn it.
    if outputs > 1 {
        for row in raw.chunks_exact_mut(outputs) {
            let mean = row.iter().sum::<f64>() / outputs as f64;
            row.iter_mut().for_each(|score| *score -= mean);
        }
    }
    Ok(raw)
}

/// Compares student and teacher on the rows that were held out.
fn measure(
    request: &CompressRequest<'_>,
    model: &Model,
) -> Result<(Fidelity, Option<LabelMetrics>)> {
    let CompressRequest { teacher, params, .. } = *request;
    let (teacher_raw, student_raw, chunk) = raw_scores(request, request.held_out, model)?;
    let fidelity = Fidelity::new(&teacher_raw, &student_raw, teacher.outputs(), teacher.link());
    if !request.is_labelled {
        return Ok((fidelity, None));
    }

    let metrics =
        |raw: &[f64]| Bootstrap::new(&HeldOutRows::of_raw(model, raw, &chunk), params.threads);
    let (teacher, student) = (metrics(&teacher_raw)?, metrics(&student_raw)?);
    Ok((fidelity, Some(LabelMetrics { teacher, student })))
}

/// The raw scores of teacher and student, and the rows.
fn raw_scores(
    request: &CompressRequest<'_>,
    rows: &Rows,
    model: &Model,
) -> Result<(Vec<f64>, Vec<f64>, Chunk)> {
    let chunk = rows.sample();
    let sources = whole_rows(&rows.sample_numbers(), &chunk);
    let teacher = scores(request.teacher, &chunk, &sources)?;
    let student = Scorer::new(model, None, request.params.threads)?.raw(&chunk)?;
    Ok((teacher, student, chunk))
}
