//! Ensembles under a feature budget.
//!
//! Features are chosen on all rows, for the model, and again on the training rows of every fold,
//! for the candidates that are fitted to that fold: cross-validated scores include what the choice
//! costs, and held-out rows have no part in it.

use std::ops::Range;

use swarmwood_search::Datum;

use super::candidates::FitMethod;
use super::cross_validation::CvFold;
use super::out_of_fold::FoldScore;
use super::search::EnsembleSearch;
use super::{CrossValidatedMetric, EnsembleSearchError};
use crate::context::Context;
use crate::dataset::Dataset;
use crate::event::{Event, SearchStatus, Stage};
use crate::feature_selection::{FeatureBudget, FeatureSelection, SelectionConfig, select};
use crate::plan::{Task, TaskLog, TaskRows, run_tasks};
use crate::stats::{BackendError, TrainingSet};

/// The keys in the task log.
const ALL_ROWS: &str = "features of all rows";
const ALL_FEATURES: &str = "all features";

/// Of the work that is left, the choices on all rows and on all folds may each take one part in so
/// many.
const WORK_SHARE: u64 = 4;

/// The features that a model under a budget uses.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureBudgetReport {
    /// Their positions in the schema, ascending.
    pub features: Vec<usize>,
    /// In how many folds each of them was chosen as well.
    pub chosen_in_folds: Vec<usize>,
    /// Folds in which features were chosen.
    pub folds: usize,
    /// What they cost together.
    pub cost: f64,
    /// Cross-validated metrics of a greedy candidate under the budget, and of the same candidate
    /// with all features; both empty if there was no time for them.
    pub within_budget: Vec<CrossValidatedMetric>,
    /// The same with all features.
    pub all_features: Vec<CrossValidatedMetric>,
    /// Whether every choice ended by itself.
    pub finished: bool,
}

/// The choice of features of a run.
pub(super) struct FeatureChoice<'a> {
    /// The rows with all features.
    pub(super) whole: TrainingSet<'a>,
    budget: &'a FeatureBudget,
    config: SelectionConfig,
    all_rows: FeatureSelection,
    /// The choice in each fold, those of the first rungs first.
    in_folds: Vec<FeatureSelection>,
    /// The folds with all features, as far as features were chosen in them.
    whole_folds: Vec<CvFold>,
    /// Scores with all features.
    all_features: Vec<FoldScore>,
    /// Scores of the same candidate under the budget.
    within_budget: Vec<FoldScore>,
}

impl<'a> FeatureChoice<'a> {
    /// Chooses the features of the model.
    pub(super) fn new(
        whole: TrainingSet<'a>,
        budget: &'a FeatureBudget,
        config: SelectionConfig,
        context: Context<'a>,
        log: &mut TaskLog<'_>,
    ) -> Result<Self, EnsembleSearchError> {
        let all_rows = match log.recall(ALL_ROWS)? {
            Some((stored, work)) => load(&stored, work, budget)?,
            None => {
                let most_work = context.budget.remaining().unwrap_or(u64::MAX) / WORK_SHARE;
                let config = SelectionConfig { most_work, ..config };
                let found = select(whole, budget, config, context)?;
                if !context.budget.is_interrupted() {
                    log.record(ALL_ROWS, found.work, save(&found));
                    log.notify(&event(&found));
                }
                found
            }
        };
        context.budget.spend(all_rows.work);

        Ok(FeatureChoice {
            whole,
            budget,
            config,
            all_rows,
            in_folds: Vec::new(),
            whole_folds: Vec::new(),
            all_features: Vec::new(),
            within_budget: Vec::new(),
        })
    }

    /// The rows with the chosen features alone: the training and the validation rows.
    pub(super) fn restricted(&self, context: Context<'_>) -> (Dataset, Option<Dataset>) {
        let kept = self.all_rows.mask(self.budget.costs.len());
        let restrict = |data: &Dataset| data.with_features(&kept, context.pool);
        (restrict(self.whole.data), self.whole.valid.map(restrict))
    }

    /// Which features were chosen in a fold.
    pub(super) fn mask_of_fold(&self, fold: usize) -> Vec<bool> {
        self.in_folds[fold].mask(self.budget.costs.len())
    }

    /// What the model uses, and what the budget costs.
    pub(super) fn report(&self) -> FeatureBudgetReport {
        let features = self.all_rows.features.clone();
        let has = |feature: usize| {
            self.in_folds.iter().filter(|fold| fold.features.contains(&feature)).count()
        };
        FeatureBudgetReport {
            chosen_in_folds: features.iter().map(|&feature| has(feature)).collect(),
            folds: self.in_folds.len(),
            cost: self.budget.cost(&features),
            features,
            within_budget: FoldScore::metrics(&self.within_budget),
            all_features: FoldScore::metrics(&self.all_features),
            finished: self.all_rows.finished && self.in_folds.iter().all(|fold| fold.finished),
        }
    }
}

impl EnsembleSearch<'_> {
    /// Chooses features on the training rows of some folds, and leaves only these in the folds.
    /// False if the run is interrupted before.
    pub(super) fn choose_in_folds(
        &mut self,
        folds: Range<usize>,
    ) -> Result<bool, EnsembleSearchError> {
        let Some(choice) = &mut self.features else { return Ok(true) };
        let first = choice.in_folds.len();
        if folds.end <= first {
            return Ok(true);
        }
        if self.folds.is_empty() {
            return Ok(false);
        }

        let mut known = Vec::new();
        while first + known.len() < folds.end {
            let Some((stored, work)) = self.log.recall(&key_of(first + known.len()))? else {
                break;
            };
            known.push(load(&stored, work, choice.budget)?);
        }
        let missing: Vec<Task> = (first + known.len()..folds.end)
            .map(|fold| Task { candidate: 0, rows: TaskRows::Fold(fold) })
            .collect();
        let left = self.context.budget.remaining().unwrap_or(u64::MAX);
        let most_work = left / WORK_SHARE / missing.len().max(1) as u64;
        let config = SelectionConfig { most_work, ..choice.config };
        let one_thread = Context { pool: &self.single_thread, ..self.context };
        let (all_folds, whole, budget) = (&self.folds, choice.whole, choice.budget);
        let found = run_tasks(self.context, &missing, |task| {
            let TaskRows::Fold(fold) = task.rows else { unreachable!("all tasks have a fold") };
            let set = TrainingSet { data: all_folds[fold].train(), valid: None, ..whole };
            select(set, budget, config, one_thread)
        });
        let Some(found) = found else { return Ok(false) };
        let found = found.into_iter().collect::<Result<Vec<_>, BackendError>>()?;

        for (at, selection) in found.iter().enumerate() {
            let fold = first + known.len() + at;
            self.log.record(&key_of(fold), selection.work, save(selection));
        }
        for selection in known.into_iter().chain(found) {
            self.context.budget.spend(selection.work);
            let kept = selection.mask(choice.budget.costs.len());
            let at = choice.in_folds.len();
            let restricted = self.folds[at].with_features(&kept, self.context.pool);
            choice.whole_folds.push(std::mem::replace(&mut self.folds[at], restricted));
            choice.in_folds.push(selection);
        }
        Ok(true)
    }

    /// Cross-validates the best greedy candidate with all features, so that the report can say what
    /// the budget costs.
    pub(super) fn score_all_features(&mut self) -> Result<(), EnsembleSearchError> {
        let greedy = self.best_greedy();
        let count = greedy.folds.len();
        let is_greedy = matches!(greedy.candidate.method, FitMethod::Greedy { .. });
        if self.features.is_none() || count == 0 || !is_greedy {
            return Ok(());
        }
        let known = self.log.recall(ALL_FEATURES)?;
        let scores = match known {
            Some((stored, work)) => {
                self.context.budget.spend(work);
                stored.list()?.iter().map(FoldScore::from_datum).collect::<Result<Vec<_>, _>>()?
            }
            None => {
                if self.affordable(std::slice::from_ref(&greedy.candidate), count) == 0 {
                    return Ok(());
                }
                let Some(choice) = &self.features else { return Ok(()) };
                let whole = &choice.whole_folds[..count];
                let candidates = std::slice::from_ref(&greedy.candidate);
                let Some(mut found) = self.score_on(candidates, whole)? else { return Ok(()) };
                let (scores, work) = found.swap_remove(0);
                self.context.budget.spend(work);
                let stored = Datum::List(scores.iter().map(FoldScore::to_datum).collect());
                self.log.record(ALL_FEATURES, work, stored);
                scores
            }
        };
        if let Some(choice) = &mut self.features {
            choice.all_features = scores;
            choice.within_budget = greedy.folds;
        }
        Ok(())
    }

    /// The rows with all features.
    pub(super) fn whole_data(&self) -> &Dataset {
        self.features.as_ref().map_or(self.set.data, |choice| choice.whole.data)
    }
}

fn key_of(fold: usize) -> String {
    format!("features of fold {fold}")
}

fn event(found: &FeatureSelection) -> Event {
    let search = SearchStatus {
        measure: "cross-validated loss",
        best: found.score,
        evaluations: found.work,
        ..SearchStatus::default()
    };
    let event = Event::new(Stage::FEATURES, found.evaluations, found.evaluations);
    Event { search: Some(search), ..event }
}

fn save(found: &FeatureSelection) -> Datum {
    let features = found.features.iter().map(|&feature| Datum::Natural(feature as u64)).collect();
    let score = found.score.map_or(Vec::new(), |score| vec![Datum::Real(score)]);
    Datum::List(vec![
        Datum::List(features),
        Datum::List(score),
        Datum::Natural(found.evaluations as u64),
        Datum::Natural(u64::from(found.finished)),
    ])
}

fn load(
    stored: &Datum,
    work: u64,
    budget: &FeatureBudget,
) -> Result<FeatureSelection, EnsembleSearchError> {
    let [features, score, evaluations, finished] = stored.tuple()?;
    let features = features.list()?.iter().map(Datum::natural).collect::<Result<Vec<_>, _>>()?;
    let features: Vec<usize> = features.into_iter().map(|feature| feature as usize).collect();
    let ascends = features.windows(2).all(|pair| pair[0] < pair[1]);
    let is_known = features.last().is_none_or(|&last| last < budget.costs.len());
    if !ascends || !is_known || !budget.allows(&features) {
        let message = "holds features that the budget does not allow; it is damaged";
        return Err(EnsembleSearchError::State(message.to_string()));
    }
    Ok(FeatureSelection {
        features,
        score: score.list()?.first().map(Datum::real).transpose()?,
        evaluations: evaluations.counter()? as usize,
        work,
        finished: finished.natural()? == 1,
    })
}
