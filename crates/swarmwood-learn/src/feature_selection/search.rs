//! The search over sets of features.

use std::cmp::Ordering;

use super::score::{SubsetScore, SubsetScorer};
use super::{FeatureBudget, FeatureSelection};
use crate::stats::BackendError;

/// Features above the budget from which on they are left out one by one, by the loss that this
/// costs, and not by gain.
const SURPLUS: usize = 4;

/// Features that may come into a set, those of greatest gain.
const CANDIDATES: usize = 12;

/// Features of a set, and features outside of it, that are exchanged for each other.
const EXCHANGED: usize = 3;

/// Rounds of exchanges, at most.
const ROUNDS: usize = 4;

/// The most features that a set is grown to from nothing.
const MOST_GROWN: usize = 8;

/// A set of features with its score.
#[derive(Debug, Clone, PartialEq)]
struct ScoredSet {
    features: Vec<usize>,
    score: SubsetScore,
}

pub struct SubsetSearch<'s, 'a> {
    scorer: SubsetScorer<'a>,
    budget: &'s FeatureBudget,
    /// The features to choose from.
    usable: Vec<usize>,
    /// The same by gain, the greatest first, once it is known.
    ranked: Vec<usize>,
}

impl<'s, 'a> SubsetSearch<'s, 'a> {
    pub fn new(scorer: SubsetScorer<'a>, budget: &'s FeatureBudget, usable: Vec<usize>) -> Self {
        SubsetSearch { scorer, budget, ranked: usable.clone(), usable }
    }

    pub fn run(mut self) -> Result<FeatureSelection, BackendError> {
        if self.budget.allows(&self.usable) {
            let features = self.usable.clone();
            return Ok(self.selection(features, None, true));
        }
        let mut best = None;
        let finished = self.search(&mut best)?;

        let (features, score) = match best {
            Some(ScoredSet { features, score }) => (features, Some(score.mean())),
            None => (self.first_of_ranked(), None),
        };
        Ok(self.selection(features, score, finished))
    }

    fn selection(
        self,
        features: Vec<usize>,
        score: Option<f64>,
        finished: bool,
    ) -> FeatureSelection {
        let (evaluations, work) = (self.scorer.evaluations(), self.scorer.work);
        let features = self.budget.with_required(features);
        FeatureSelection { features, score, evaluations, work, finished }
    }

    /// Searches; false if time or work ended it. `best` is the best set so far that the budget
    /// allows.
    fn search(&mut self, best: &mut Option<ScoredSet>) -> Result<bool, BackendError> {
        let Some(rest) = self.shrink_by_gain()? else { return Ok(false) };
        let first = self.first_of_ranked();
        if !self.consider(vec![first], best)? {
            return Ok(false);
        }

        if !self.scorer.has_few_rows() {
            let Some(shrunk) = self.shrink_by_score(rest)? else { return Ok(false) };
            if !self.consider(vec![shrunk], best)? || !self.grow(best)? {
                return Ok(false);
            }
        }

        for _ in 0..ROUNDS {
            let before = best.clone();
            if !self.exchange(best)? {
                return Ok(false);
            }
            if *best == before {
                break;
            }
        }
        Ok(true)
    }

    /// Leaves out the features whose splits gain least for their cost, half of the surplus at a
    /// time. Ranks all features. `None` if there was no time for it.
    fn shrink_by_gain(&mut self) -> Result<Option<Vec<usize>>, BackendError> {
        let mut left_out: Vec<usize> = Vec::new();
        let mut kept = self.usable.clone();
        loop {
            let Some(gains) = self.scorer.gains(&kept)? else { return Ok(None) };
            let worth = |&feature: &usize| gains[feature] / self.budget.costs[feature].max(1e-12);
            kept.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.cmp(b)));
            self.ranked = kept.iter().chain(left_out.iter().rev()).copied().collect();

            let enough = (self.allowed_prefix(&kept) + SURPLUS).max(CANDIDATES / 2);
            if kept.len() <= enough {
                return Ok(Some(kept));
            }
            let fewer = (kept.len() - enough).div_ceil(2);
            let dropped = kept.split_off(kept.len() - fewer);
            left_out.extend(dropped.into_iter().rev());
        }
    }

    /// How many of the first features the budget allows.
    fn allowed_prefix(&self, features: &[usize]) -> usize {
        (0..=features.len())
            .rev()
            .find(|&count| self.budget.allows(&features[..count]))
            .unwrap_or(0)
    }

    /// The features of greatest gain that the budget allows.
    fn first_of_ranked(&self) -> Vec<usize> {
        let mut features: Vec<usize> = Vec::new();
        for &feature in &self.ranked {
            features.push(feature);
            if !self.budget.allows(&features) {
                features.pop();
            }
        }
        features.sort_unstable();
        features
    }

    /// Leaves out one feature after the other, that whose absence costs least, until the budget
    /// allows the set. `None` if there was no time for it.
    fn shrink_by_score(
        &mut self,
        mut features: Vec<usize>,
    ) -> Result<Option<Vec<usize>>, BackendError> {
        features.sort_unstable();
        while !self.budget.allows(&features) {
            let Some(whole) = self.means(std::slice::from_ref(&features))? else {
                return Ok(None);
            };
            let smaller: Vec<Vec<usize>> =
                (0..features.len()).map(|at| without(&features, at)).collect();
            let Some(scores) = self.means(&smaller)? else { return Ok(None) };

            // What leaving a feature out costs, for each unit of cost that it saves.
            let too_many = features.len() > self.budget.most;
            let worth = |at: usize| {
                let saved = if too_many { 1.0 } else { self.budget.costs[features[at]].max(1e-12) };
                (scores[at] - whole[0]).max(0.0) / saved
            };
            let by_worth = |&a: &usize, &b: &usize| -> Ordering {
                worth(a).total_cmp(&worth(b)).then(scores[a].total_cmp(&scores[b]))
            };
            let Some(at) = (0..features.len()).min_by(by_worth) else { break };
            features.remove(at);
        }
        Ok(Some(features))
    }

    /// Grows a set from nothing, by the feature that lowers the score most at a time.
    fn grow(&mut self, best: &mut Option<ScoredSet>) -> Result<bool, BackendError> {
        let mut features: Vec<usize> = Vec::new();
        while features.len() < MOST_GROWN {
            let larger = self.larger(&features);
            if larger.is_empty() {
                break;
            }
            let Some(scores) = self.means(&larger)? else { return Ok(false) };
            let Some(at) = lowest(&scores) else { break };
            features.clone_from(&larger[at]);
        }
        self.consider(vec![features], best)
    }

    /// The set with one candidate more, as far as the budget allows it.
    fn larger(&self, features: &[usize]) -> Vec<Vec<usize>> {
        let candidates = self.ranked.iter().take(CANDIDATES.max(features.len() + EXCHANGED));
        candidates
            .filter(|feature| !features.contains(feature))
            .map(|&feature| with(features, feature))
            .filter(|set| self.budget.allows(set))
            .collect()
    }

    /// Tries to leave a feature out, to add one, and to exchange some that are missed least for
    /// some that are missed most.
    fn exchange(&mut self, best: &mut Option<ScoredSet>) -> Result<bool, BackendError> {
        let Some(ScoredSet { features, .. }) = best.clone() else { return Ok(true) };
        let smaller: Vec<Vec<usize>> =
            (0..features.len()).map(|at| without(&features, at)).collect();
        let Some(losses) = self.means(&smaller)? else { return Ok(false) };
        let candidates = self.ranked.iter().take(CANDIDATES.max(features.len() + EXCHANGED));
        let outside: Vec<usize> =
            candidates.copied().filter(|feature| !features.contains(feature)).collect();
        let larger: Vec<Vec<usize>> =
            outside.iter().map(|&feature| with(&features, feature)).collect();
        let Some(gains) = self.means(&larger)? else { return Ok(false) };

        let least: Vec<usize> = sorted(&losses).into_iter().take(EXCHANGED).collect();
        let most: Vec<usize> = sorted(&gains).into_iter().take(EXCHANGED).collect();
        let swapped = least.iter().flat_map(|&out| {
            let smaller = &smaller[out];
            most.iter().map(move |&into| (smaller, into))
        });
        let mut moves: Vec<Vec<usize>> =
            swapped.map(|(smaller, into)| with(smaller, outside[into])).collect();
        moves.extend(smaller.iter().cloned());
        moves.extend(larger);
        moves.retain(|set| self.budget.allows(set));
        self.consider(moves, best)
    }

    /// Takes the best of some sets if it is better than the best so far by more than chance; false
    /// if there is no time to compare them.
    fn consider(
        &mut self,
        sets: Vec<Vec<usize>>,
        best: &mut Option<ScoredSet>,
    ) -> Result<bool, BackendError> {
        let Some(scores) = self.scorer.scores(&sets)? else { return Ok(false) };
        let candidates = sets.into_iter().zip(scores);
        let better = candidates
            .filter(|(_, score)| best.as_ref().is_none_or(|best| score.is_better(&best.score)));
        let lower = |a: &(_, SubsetScore), b: &(_, SubsetScore)| a.1.mean().total_cmp(&b.1.mean());
        if let Some((features, score)) = better.min_by(lower) {
            *best = Some(ScoredSet { features, score });
        }
        Ok(true)
    }

    /// The mean losses of sets; `None` if there is no time to compare them.
    fn means(&mut self, sets: &[Vec<usize>]) -> Result<Option<Vec<f64>>, BackendError> {
        let scores = self.scorer.scores(sets)?;
        Ok(scores.map(|scores| scores.iter().map(SubsetScore::mean).collect()))
    }
}

/// Positions by score, the lowest first.
fn sorted(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    order
}

fn lowest(scores: &[f64]) -> Option<usize> {
    sorted(scores).first().copied()
}

/// An ascending set without the feature at a position.
fn without(features: &[usize], at: usize) -> Vec<usize> {
    let mut rest = features.to_vec();
    rest.remove(at);
    rest
}

/// An ascending set with one feature more.
fn with(features: &[usize], feature: usize) -> Vec<usize> {
    let mut more = features.to_vec();
    let at = more.partition_point(|&other| other < feature);
    more.insert(at, feature);
    more
}
