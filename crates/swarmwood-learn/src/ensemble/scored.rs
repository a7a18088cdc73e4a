//! A candidate with its cross-validated scores.

use std::cmp::Ordering;

use super::candidates::{Candidate, FitMethod};
use super::out_of_fold::FoldScore;

/// A candidate with the results of its cross-validation, fold by fold.
#[derive(Debug, Clone)]
pub(super) struct ScoredCandidate {
    pub(super) candidate: Candidate,
    pub(super) folds: Vec<FoldScore>,
}

impl ScoredCandidate {
    pub(super) fn unscored(candidate: Candidate) -> Self {
        ScoredCandidate { candidate, folds: Vec::new() }
    }

    pub(super) fn is_search(&self) -> bool {
        matches!(self.candidate.method, FitMethod::Search(_))
    }

    /// The score over the first folds, at most all that it has; not a number without any.
    pub(super) fn score_on(&self, folds: usize) -> f64 {
        let folds = &self.folds[..folds.min(self.folds.len())];
        FoldScore::sum(folds).map_or(f64::NAN, |sum| sum.score())
    }

    pub(super) fn score(&self) -> f64 {
        self.score_on(self.folds.len())
    }

    /// The factor on raw scores that calibrates them.
    pub(super) fn factor(&self) -> f64 {
        FoldScore::sum(&self.folds).map_or(1.0, |sum| sum.factor())
    }
}

/// The better of two candidates is less: the one with the lower score among those with most folds.
pub(super) fn compare(a: &ScoredCandidate, b: &ScoredCandidate) -> Ordering {
    let by_score = || a.score().total_cmp(&b.score());
    b.folds.len().cmp(&a.folds.len()).then_with(by_score)
}

pub(super) fn best_of(scored: &[ScoredCandidate]) -> Option<&ScoredCandidate> {
    scored.iter().min_by(|a, b| compare(a, b))
}
