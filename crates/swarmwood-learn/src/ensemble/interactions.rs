//! Whether growth looks ahead: decided once per run, before candidates are compared.
//!
//! On the residuals of the greedy fit to all rows, sets of features that interact are screened, and
//! the splits of the best tree over such a set are compared with the best split alone. Where that fit
//! explains next to nothing of held-out rows, its residuals hold what it learned by chance as well, so
//! that the target itself is screened, too. On most data
//! greedy boosting leaves no interaction of which that could be said, and nothing changes.
//! Otherwise the first greedy candidate is cross-validated with look-ahead. If that is better, all
//! candidates look ahead by these sets.

use swarmwood_search::Datum;

use super::candidates::{Candidate, FitMethod};
use super::search::EnsembleSearch;
use super::{EnsembleSearchError, EnsembleShape};
use crate::greedy::Growth;
use crate::greedy::lookahead::{FeatureSets, Lookahead, MOST_SETS, look_ahead, screen};
use crate::stats::{
    BackendError, BackendOptions, Client, FeatureSet, SplitQuery, TrainingSet, Work,
};

/// The key in the task log.
const KEY: &str = "interactions";

/// Rows whose residuals are screened.
const ROWS: usize = 16_384;

/// Outputs whose residuals are screened.
const OUTPUTS: usize = 8;

/// How many times as much as the best split alone the splits of a tree over interacting features
/// must gain on average.
const LEAST_RATIO: f64 = 2.0;

/// The share of the variance that greedy boosting leaves unexplained from which on it has learned next
/// to nothing.
const NOTHING_LEARNED: f64 = 0.9;

/// The share by which look-ahead must lower the score of the first candidate.
const MARGIN: f64 = 0.02;

impl EnsembleSearch<'_> {
    /// The greedy candidates with look-ahead if that pays, else those that are given, the first of
    /// which has a score.
    pub(super) fn try_lookahead(
        &mut self,
        greedy: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, EnsembleSearchError> {
        let sets = self.interacting_sets()?;
        let folds = self.rungs[0].clone();
        if sets.is_empty() || self.affordable(&greedy[..1], folds.len()) == 0 {
            return Ok(greedy);
        }
        let plain = self.shapes.clone();
        let lookahead = Lookahead::Sets(FeatureSets::new(&sets));
        let look_ahead = |shape: &mut EnsembleShape| shape.lookahead = lookahead;
        self.shapes.iter_mut().for_each(look_ahead);
        let candidates = self.greedy_candidates();
        self.planned += 1;
        self.cross_validate(&candidates[..1], folds)?;

        let before = self.scored(&greedy[0]).score();
        if self.scored(&candidates[0]).score() < before - MARGIN * before.abs() {
            return Ok(candidates);
        }
        self.shapes = plain;
        Ok(greedy)
    }

    /// Sets of features whose interaction the greedy fit to all rows has missed.
    fn interacting_sets(&mut self) -> Result<Vec<FeatureSet>, EnsembleSearchError> {
        if let Some((stored, _)) = self.log.recall(KEY)? {
            return self.load_sets(&stored);
        }
        let mut sets = Vec::new();
        if self.can_look_ahead() {
            sets = self.screen_residuals(true)?;
            if sets.is_empty() && self.profile.noise > NOTHING_LEARNED {
                sets = self.screen_residuals(false)?;
            }
        }
        if !self.interrupted() {
            self.log.record(KEY, 0, save_sets(&sets));
        }
        Ok(sets)
    }

    fn can_look_ahead(&self) -> bool {
        let complete = self.baseline.as_ref().is_some_and(|baseline| baseline.complete);
        complete && !self.folds.is_empty() && self.shapes[0].growth != Growth::Oblivious
    }

    /// Sets of features whose interaction shows in the residuals of the greedy fit, or in the target.
    fn screen_residuals(&self, of_fit: bool) -> Result<Vec<FeatureSet>, BackendError> {
        let Some(baseline) = &self.baseline else { return Ok(Vec::new()) };
        let FitMethod::Greedy { penalties, .. } = baseline.candidate.method else {
            return Ok(Vec::new());
        };
        let data = self.set.data;
        let rows: Vec<usize> =
            (0..ROWS.min(data.rows())).map(|at| at * data.rows() / ROWS.min(data.rows())).collect();
        let sample = (data.rows() > ROWS).then(|| data.subset(&rows, self.context.pool));
        let set = TrainingSet { data: sample.as_ref().unwrap_or(data), valid: None, ..self.set };
        let options = BackendOptions { memory: self.shapes[0].memory, keep_derivatives: false };
        let mut client = Client::open(set, options, self.context)?;

        let outputs = self.set.objective.outputs();
        let trees = if of_fit { &baseline.fit.trees[..] } else { &[] };
        for (at, tree) in trees.iter().enumerate() {
            let (output, tree) = (at % outputs, tree.clone());
            let (training, validation) = (true, false);
            client.push(Work::AddTree { output, tree, factor: 1.0, training, validation });
        }
        client.push(Work::Derive { output: None, extra_hessian: 0.0 });
        let allowed = vec![true; client.layout().features().len()];
        let search = client.split_constraints(allowed, penalties);
        let mut all: Vec<FeatureSet> = Vec::new();
        for output in 0..outputs.min(OUTPUTS) {
            let (search, query) = (search.clone(), SplitQuery::Each);
            let begin = Work::BeginTree { output, sample: None, search, query };
            let root = client.begin_tree(begin)?;
            let sets = screen(&mut client)?;
            if sets.is_empty() {
                continue;
            }
            let found = look_ahead(&mut client, vec![0], &sets)?;
            let alone = root.best.map_or(0.0, |best| best.gain);
            if found[0].is_some_and(|split| split.gain > LEAST_RATIO * alone) {
                all.extend(sets.into_iter().filter(|set| !all.contains(set)).collect::<Vec<_>>());
            }
        }
        all.truncate(MOST_SETS);
        Ok(all)
    }

    /// The sets that an earlier run found.
    fn load_sets(&self, stored: &Datum) -> Result<Vec<FeatureSet>, EnsembleSearchError> {
        let features = self.set.layout().features().len() as u64;
        let damaged = || {
            let message = "holds a set of features that there are not; it is damaged";
            EnsembleSearchError::State(message.to_string())
        };
        let load = |set: &Datum| {
            let numbers = set.list()?.iter().map(Datum::natural).collect::<Result<Vec<_>, _>>()?;
            let known = numbers.iter().all(|&number| number < features);
            let numbers: Vec<u32> = numbers.into_iter().map(|number| number as u32).collect();
            FeatureSet::new(&numbers).filter(|_| known).ok_or_else(damaged)
        };
        stored.list()?.iter().map(load).collect()
    }
}

fn save_sets(sets: &[FeatureSet]) -> Datum {
    let number = |&feature: &u32| Datum::Natural(u64::from(feature));
    let set = |set: &FeatureSet| Datum::List(set.features().iter().map(number).collect());
    Datum::List(sets.iter().map(set).collect())
}
