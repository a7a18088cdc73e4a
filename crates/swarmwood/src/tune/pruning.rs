//! Pruning by racing: a trial that is unlikely to beat the incumbent is not evaluated to the end.
//!
//! Fold `k` of a trial and fold `k` of the incumbent, the best complete trial before it, are
//! evaluated on the same rows, so their differences say more than the losses do (paired as in
//! Birattari et al., "A racing algorithm for configuring metaheuristics", GECCO 2002). How much
//! differences vary from fold to fold is estimated from earlier trials ([`difference_deviation`],
//! σ). The mean difference after `k` of `n` folds and the one after all of them differ by a
//! standard deviation of `σ √((n - k) / (n k))`; a trial that is behind by more than that is
//! pruned. At that threshold it would still have finished ahead with a probability of one sixth.
//!
//! Deviations: one incumbent instead of all survivors; a standard deviation estimated from other
//! trials instead of the trial's own. The latter, with two folds, mostly asks whether both were
//! behind: it continues trials that are hopeless in the mean and prunes good ones that are a little
//! behind twice. `bench/runs/2026-11-16-races` compares the two.

/// So many earlier trials, those with losses closest to the incumbent's, give the deviation.
/// Trials far from the incumbent vary more, for other reasons than chance.
const NEAREST: usize = 12;
/// Fewest degrees of freedom of a deviation that is used.
const MIN_DEGREES_OF_FREEDOM: usize = 4;

/// What follows from the folds evaluated so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PruningDecision {
    /// Evaluate the next fold.
    Continue,
    /// Behind by more than the remaining folds are likely to make up for.
    Prune {
        /// The estimated loss: the incumbent's plus the mean difference.
        loss: f64,
    },
    /// All folds are evaluated.
    Complete {
        /// Their mean loss.
        loss: f64,
    },
}

/// The trial that another one is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Incumbent<'a> {
    /// The losses of all its folds.
    pub fold_losses: &'a [f64],
    /// The standard deviation, over the folds, of differences to it.
    pub deviation: f64,
}

/// Decides on a trial by the losses of its first folds.
///
/// ```
/// use swarmwood::tune::pruning::{Incumbent, PruningDecision, decide};
/// let best = Incumbent { fold_losses: &[1.0, 2.0, 3.0], deviation: 0.5 };
/// assert_eq!(decide(&[1.5], Some(best), 3), PruningDecision::Prune { loss: 2.5 });
/// assert_eq!(decide(&[1.5, 1.9], Some(best), 3), PruningDecision::Continue);
/// assert_eq!(decide(&[1.0, 2.0, 6.0], None, 3), PruningDecision::Complete { loss: 3.0 });
/// ```
pub fn decide(
    fold_losses: &[f64],
    incumbent: Option<Incumbent<'_>>,
    folds: usize,
) -> PruningDecision {
    if fold_losses.len() >= folds {
        return PruningDecision::Complete { loss: mean(fold_losses) };
    }
    let comparable =
        |best: &Incumbent<'_>| !fold_losses.is_empty() && best.fold_losses.len() == folds;
    let Some(incumbent) = incumbent.filter(comparable) else {
        return PruningDecision::Continue;
    };

    let behind = mean(&differences(fold_losses, incumbent.fold_losses));
    let (count, all) = (fold_losses.len() as f64, folds as f64);
    let margin = incumbent.deviation * ((all - count) / (all * count)).sqrt();

    // A mean difference that is not a number prunes nothing.
    if behind > margin {
        PruningDecision::Prune { loss: mean(incumbent.fold_losses) + behind }
    } else {
        PruningDecision::Continue
    }
}

/// The standard deviation, over the folds, of differences to the incumbent, pooled over the earlier
/// trials with the nearest losses; `None` as long as too few trials have two folds.
///
/// ```
/// use swarmwood::tune::pruning::difference_deviation;
/// let incumbent = [1.0, 1.0, 1.0];
/// let others = [[2.0, 3.0, 4.0], [1.0, 2.0, 3.0]];
/// assert_eq!(difference_deviation(&incumbent, others.iter().map(|l| &l[..])), Some(1.0));
/// assert_eq!(difference_deviation(&incumbent, [&[2.0, 3.0][..]].into_iter()), None);
/// ```
pub fn difference_deviation<'a>(
    incumbent: &[f64],
    others: impl Iterator<Item = &'a [f64]>,
) -> Option<f64> {
    let sum_of_squares = |losses: &[f64]| {
        let differences = differences(losses, incumbent);
        let behind = mean(&differences);
        let squares: f64 = differences.iter().map(|d| (d - behind).powi(2)).sum();
        (behind.abs(), squares, differences.len() - 1)
    };
    let mut trials: Vec<(f64, f64, usize)> =
        others.filter(|losses| losses.len() > 1).map(sum_of_squares).collect();

    trials.retain(|(_, squares, _)| squares.is_finite());
    trials.sort_by(|a, b| a.0.total_cmp(&b.0));
    trials.truncate(NEAREST);

    let degrees: usize = trials.iter().map(|(.., degrees)| degrees).sum();
    let squares: f64 = trials.iter().map(|(_, squares, _)| squares).sum();
    (degrees >= MIN_DEGREES_OF_FREEDOM).then(|| (squares / degrees as f64).sqrt())
}

fn differences(losses: &[f64], incumbent: &[f64]) -> Vec<f64> {
    losses.iter().zip(incumbent).map(|(own, other)| own - other).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use PruningDecision::{Complete, Continue, Prune};

    #[test]
    fn the_threshold_shrinks_with_the_remaining_folds() {
        // After one of three folds the mean may move by σ √(2/3), after two by σ √(1/6).
        let best = Some(Incumbent { fold_losses: &[5.0, 5.0, 5.0], deviation: 1.0 });
        assert_eq!(decide(&[5.8], best, 3), Continue);
        assert_eq!(decide(&[5.875], best, 3), Prune { loss: 5.875 });
        assert_eq!(decide(&[5.8, 5.0], best, 3), Continue);
        assert_eq!(decide(&[5.75, 5.25], best, 3), Prune { loss: 5.5 });
        assert_eq!(decide(&[4.0], best, 3), Continue, "ahead");
        assert_eq!(decide(&[5.0, 5.0], best, 3), Continue, "level");
        assert_eq!(decide(&[f64::NAN], best, 3), Continue, "not a number");
        let exact = Some(Incumbent { fold_losses: &[5.0, 5.0, 5.0], deviation: 0.0 });
        assert_eq!(decide(&[5.0], exact, 3), Continue, "level without variation");
    }

    #[test]
    fn nothing_is_pruned_without_a_complete_incumbent() {
        assert_eq!(decide(&[9.0, 9.0], None, 3), Continue);
        let short = Some(Incumbent { fold_losses: &[1.0, 1.0], deviation: 1.0 });
        assert_eq!(decide(&[9.0, 9.0], short, 3), Continue);
        assert_eq!(decide(&[9.0, 9.0], short, 2), Complete { loss: 9.0 });
        assert_eq!(decide(&[], short, 2), Continue);
    }

    #[test]
    fn trials_far_from_the_incumbent_do_not_enter_the_deviation() {
        let best = [0.0; 5];
        let near: Vec<[f64; 5]> = (0..NEAREST).map(|_| [1.0, -1.0, 1.0, -1.0, 0.0]).collect();
        let far = [[100.0, 0.0, 200.0, 50.0, 0.0]; 4];
        let all = far.iter().chain(&near).map(|losses| &losses[..]);
        assert_eq!(difference_deviation(&best, all), Some(1.0));
        let odd = [&[f64::NAN, 1.0, 2.0][..], &[f64::INFINITY, 1.0][..], &[3.0][..]];
        assert_eq!(difference_deviation(&best, odd.into_iter()), None);
    }
}
