//! The state every learner starts from: the best constant, and workers whose scores hold it.

use super::Workers;
use crate::dataset::Dataset;
use crate::objective::Objective;
use crate::pool::Pool;

/// Workers at the best constant score.
pub struct Begun<'a> {
    /// All rows.
    pub workers: Workers<'a>,
    /// Start value of each output.
    pub base: Vec<f64>,
    /// The same as the scores of rows hold it.
    pub start: Vec<f32>,
    /// What to add to a score to get the raw score (see [`Objective::shift_invariant`]).
    pub shift: f64,
}

impl<'a> Begun<'a> {
    /// Begins. `valid` must be binned with the same layout as `data`; `memory` is how many bytes of
    /// histograms may be kept.
    pub fn new(
        data: &Dataset,
        valid: Option<&Dataset>,
        objective: &'a dyn Objective,
        pool: &'a Pool,
        memory: usize,
    ) -> Self {
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
        let narrow_valid = valid.map(|valid| narrow(transformed(valid)));
        let valid_pair = valid.zip(narrow_valid.as_deref());
        let workers =
            Workers::new(data, &narrow(target), valid_pair, &start, objective, pool, memory);
        Begun { workers, base, start, shift }
    }
}
