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
use crate::train::TrainOptions;
use crate::{Error, Result};
use swaps::{NeighbourSwaps, rows_at};

/// Extra rows per row where the user does not give them. More of them move the student away from the
/// rows of the data: 4 are better than 10 on small tables and as good on large ones.
const SWAPS: usize = 4;

/// At most this number of rows are made for one student.
const MOST_ROWS: usize = 1 << 20;

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
    check_target(teacher)?;
    let pool = Pool::new(params.threads).map_err(Error::Run)?;
    let mut chunk = rows.sample();
    (chunk.target, chunk.weight) = (Vec::new(), Vec::new());
    let data_rows = chunk.rows;
    let (chunk, raw) = with_extra_rows(request, chunk, &pool)?;
    let extra_rows = chunk.rows - data_rows;

    let fits = student::fit(teacher, chunk, &raw, params, request.options, observer)?;
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

/// A student has one target.
fn check_target(teacher: &dyn Teacher) -> Result<()> {
    let columns = teacher.schema().target.kind.columns().len();
    if columns == 0 {
        return Ok(());
    }
    let message = format!(
        "predicts {columns} columns, but a model of one target is needed; train one model per \
         column and compress each"
    );
    Err(Error::Parameters(vec![Violation::new("model", message)]))
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
    chunk: Chunk,
    pool: &Pool,
) -> Result<(Chunk, Vec<f64>)> {
    let numbers = request.rows.sample_numbers();
    let mut raw = scores(request.teacher, &chunk, &whole_rows(&numbers, &chunk))?;
    let passes = passes(request.swaps, chunk.rows);
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
        Auto::Auto => SWAPS,
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
    let CompressRequest { teacher, held_out, params, .. } = *request;
    let chunk = held_out.sample();
    let sources = whole_rows(&held_out.sample_numbers(), &chunk);
    let teacher_raw = scores(teacher, &chunk, &sources)?;
    let student_raw = Scorer::new(model, None, params.threads)?.raw(&chunk)?;
    let fidelity = Fidelity::new(&teacher_raw, &student_raw, teacher.outputs(), teacher.link());
    if !request.is_labelled {
        return Ok((fidelity, None));
    }

    let metrics =
        |raw: &[f64]| Bootstrap::new(&HeldOutRows::of_raw(model, raw, &chunk), params.threads);
    let (teacher, student) = (metrics(&teacher_raw)?, metrics(&student_raw)?);
    Ok((fidelity, Some(LabelMetrics { teacher, student })))
}
