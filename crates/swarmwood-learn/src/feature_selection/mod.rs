//! Chooses the few features that a model may use, jointly.
//!
//! A set of features is worth what a small greedily boosted ensemble that uses no other feature
//! loses on held-out rows (`score`). The search (`search`) shrinks the set of all features, first
//! by the gain of their splits and then by the loss that leaving one out costs, grows another set
//! from nothing, and lets the better of the two exchange features.

mod score;
mod search;
#[cfg(test)]
mod tests;

use crate::context::Context;
use crate::stats::{BackendError, TrainingSet};
use score::SubsetScorer;
use search::SubsetSearch;

/// How many features a model may use, and what they may cost together.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureBudget {
    /// Maximum number of features.
    pub most: usize,
    /// The cost of each feature of the schema, from 0 up.
    pub costs: Vec<f64>,
    /// Maximum sum of the costs of all features that are used.
    pub most_cost: f64,
    /// Features that the model uses in any case, ascending.
    pub required: Vec<usize>,
}

impl FeatureBudget {
    /// Whether a model may use all of these features beside those that it uses in any case.
    pub fn allows(&self, features: &[usize]) -> bool {
        let more = self.required.iter().filter(|feature| !features.contains(feature));
        let cost = self.cost(features);
        let cost = more.clone().fold(cost, |cost, &feature| cost + self.costs[feature]);
        features.len() + more.count() <= self.most && cost <= self.most_cost
    }

    /// These features and those that a model uses in any case, ascending.
    fn with_required(&self, mut features: Vec<usize>) -> Vec<usize> {
        features.extend(&self.required);
        features.sort_unstable();
        features.dedup();
        features
    }

    /// The sum of the costs of some features.
    pub fn cost(&self, features: &[usize]) -> f64 {
        features.iter().map(|&feature| self.costs[feature]).sum()
    }
}

/// Draws and limits of a selection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectionConfig {
    /// Seed of the split into folds.
    pub seed: u64,
    /// Bytes of histograms that may be kept while a tree grows.
    pub memory: usize,
    /// Trees that may be grown at most.
    pub most_work: u64,
}

/// The features that were chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureSelection {
    /// Their positions in the schema, ascending.
    pub features: Vec<usize>,
    /// The mean loss of a small ensemble of them on held-out rows; `None` if there was no time to
    /// compare sets. It is the least of many, so that new rows cost more.
    pub score: Option<f64>,
    /// Sets that were compared.
    pub evaluations: usize,
    /// Trees grown.
    pub work: u64,
    /// Whether the search ended by itself.
    pub finished: bool,
}

impl FeatureSelection {
    /// Which features of the schema are chosen.
    pub fn mask(&self, features: usize) -> Vec<bool> {
        let mut mask = vec![false; features];
        self.features.iter().for_each(|&feature| mask[feature] = true);
        mask
    }
}

/// Chooses features on the training rows of a set; its validation rows are not looked at. The set
/// must hold all features. Interrupted, it ends with the best set so far.
pub fn select(
    set: TrainingSet<'_>,
    budget: &FeatureBudget,
    config: SelectionConfig,
    context: Context<'_>,
) -> Result<FeatureSelection, BackendError> {
    let scorer = SubsetScorer::new(set, config, context)?;
    SubsetSearch::new(scorer, budget, usable(set, budget)).run()
}

/// The features that vary and are not too expensive by themselves.
fn usable(set: TrainingSet<'_>, budget: &FeatureBudget) -> Vec<usize> {
    let layout = set.layout();
    let mut varies = vec![false; budget.costs.len()];
    let stored = layout.columns().iter().flat_map(|column| &column.features);
    stored.for_each(|&at| varies[layout.sources()[at as usize] as usize] = true);
    (0..varies.len()).filter(|&at| varies[at] && budget.allows(&[at])).collect()
}
