//! Searches on a sample: of very many rows, the trees of an ensemble are searched on those that
//! candidates are compared on, and only their last sweeps and their leaf values are of all rows.
//!
//! Most of what a search costs is growing trees that are not kept. The sample tells as well which
//! these are; what all rows add is a better threshold here and there, which two sweeps find, and
//! leaf values. The time that all rows take is then that of a few trees.

use super::SearchStrategy;
use super::backfit;
use super::candidates::Candidate;
use super::fit::Ensemble;
use super::fit_state::EnsembleState;
use super::full_fit::weight_of;
use super::search::EnsembleSearch;
use crate::dataset::Dataset;
use crate::stats::{BackendError, TrainingSet};

/// Sweeps over the trees on all rows.
const LAST_SWEEPS: usize = 2;

impl<'a> EnsembleSearch<'a> {
    /// The rows that trees are searched on, where these are not all.
    pub(super) fn sample(&self) -> Option<Dataset> {
        self.fold_plan.sample(self.set.data, self.context.pool)
    }

    /// What trees are searched on.
    pub(super) fn searched_rows<'p>(&self, sample: Option<&'p Dataset>) -> TrainingSet<'p>
    where
        'a: 'p,
    {
        match sample {
            None => self.set,
            Some(data) => TrainingSet { data, valid: None, watched: &[], ..self.set },
        }
    }

    /// Fits trees that were searched on the sample to all rows: leaf values, sweeps, leaf values.
    pub(super) fn fit_sampled_trees(
        &mut self,
        candidate: &Candidate,
        strategy: &SearchStrategy,
        (state, sample): (EnsembleState, &Dataset),
    ) -> Result<Ensemble<'a>, BackendError> {
        let mut ensemble = Ensemble::new(self.set, &candidate.shape, strategy, self.context)?;
        ensemble.adopt(state, weight_of(self.set.data) / weight_of(sample))?;
        backfit::last_sweeps(&mut ensemble, LAST_SWEEPS)?;
        Ok(ensemble)
    }
}
