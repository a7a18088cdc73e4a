//! Which parameters mattered: the share of the differences between trials that one parameter alone
//! explains.
//!
//! Trials are put into groups by the parameter's value and their losses replaced by ranks, so that
//! a few hopeless configurations do not decide everything. The share of the variance of the ranks
//! that lies between the groups (Pearson's correlation ratio η²) is corrected for what as many
//! groups would explain by chance (Kelley, "An unbiased correlation ratio measure", PNAS 1935): ε²
//! = 1 − (1 − η²)(n − 1)/(n − k).
//!
//! It sees every parameter by itself: what two of them do only together is not seen. Trials come
//! from a search, so values that it left early have few trials.

use swarmwood_search::{PointValue, Space};

use super::trial::TrialRecord;

/// Groups of a parameter with many values, each with as many trials.
const GROUPS: usize = 6;

/// The values of one parameter, trial by trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterValues {
    /// Numbers, or numbers of labels; `None` where the parameter has no value.
    pub values: Vec<Option<f64>>,
    /// Whether they are labels: those have no order, so none are put together.
    pub labels: bool,
}

/// How much each parameter matters, 0 to 1, in the order of the space. `None` where the trials
/// cannot tell.
pub fn importances(space: &Space, trials: &[TrialRecord]) -> Vec<Option<f64>> {
    let finished: Vec<(&TrialRecord, f64)> =
        trials.iter().filter_map(|trial| Some((trial, trial.outcome.as_ref()?.loss()?))).collect();
    let losses: Vec<f64> = finished.iter().map(|(_, loss)| *loss).collect();
    let column = |at: usize| {
        let number = |value: PointValue| match (space.label(at, value), value) {
            (Some(_), PointValue::Index(label)) => Some(label as f64),
            _ => space.number(at, value),
        };
        let values: Vec<PointValue> = finished.iter().map(|(trial, _)| trial.point[at]).collect();
        let labels = values.iter().any(|&value| space.label(at, value).is_some());
        ParameterValues { values: values.into_iter().map(number).collect(), labels }
    };
    of_columns(&(0..space.len()).map(column).collect::<Vec<_>>(), &losses)
}

/// The same for trials of anyone: a column of values a parameter, as many as there are losses.
///
/// ```
/// use swarmwood::tune::importance::{ParameterValues, of_columns};
/// let values = |of: fn(usize) -> f64| ParameterValues { values: (0..60).map(|trial| Some(of(trial))).collect(), labels: false };
/// let (depth, idle) = (values(|trial| (trial % 4) as f64), values(|trial| (trial / 4 % 5) as f64));
/// let losses: Vec<f64> = (0..60).map(|trial| (trial % 4) as f64).collect();
/// let [Some(strong), Some(weak)] = of_columns(&[depth, idle], &losses)[..] else { panic!() };
/// assert!(strong > 0.99 && weak < 0.01);
/// ```
pub fn of_columns(columns: &[ParameterValues], losses: &[f64]) -> Vec<Option<f64>> {
    let ranks = ranks(losses);
    columns.iter().map(|column| explained(&groups(column), &ranks)).collect()
}

/// Ranks from 0, the mean of them where values are equal.
fn ranks(values: &[f64]) -> Vec<f64> {
    let less = |value: f64| values.iter().filter(|other| **other < value).count();
    let same = |value: f64| values.iter().filter(|other| **other == value).count();
    values.iter().map(|&value| less(value) as f64 + (same(value) as f64 - 1.0) / 2.0).collect()
}

/// The group of every value: one per value where there are few, else neighbours together; no value is
/// a group too.
fn groups(column: &ParameterValues) -> Vec<usize> {
    let keys: Vec<f64> =
        column.values.iter().map(|value| value.unwrap_or(f64::NEG_INFINITY)).collect();
    let mut distinct = keys.clone();
    distinct.sort_by(f64::total_cmp);
    let sorted = distinct.clone();
    distinct.dedup();
    let cuts: Vec<f64> = match column.labels || distinct.len() <= GROUPS {
        true => distinct,
        false => (0..GROUPS).map(|group| sorted[group * sorted.len() / GROUPS]).collect(),
    };
    keys.iter().map(|&key| cuts.iter().rposition(|&cut| cut <= key).unwrap_or(0)).collect()
}

fn explained(groups: &[usize], ranks: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let all = mean(ranks);
    let total: f64 = ranks.iter().map(|rank| (rank - all).powi(2)).sum();
    let (mut between, mut count) = (0.0, 0);
    for group in 0..=groups.iter().copied().max()? {
        let members: Vec<f64> = groups
            .iter()
            .zip(ranks)
            .filter(|(own, _)| **own == group)
            .map(|(_, rank)| *rank)
            .collect();
        if !members.is_empty() {
            between += members.len() as f64 * (mean(&members) - all).powi(2);
            count += 1;
        }
    }
    let trials = ranks.len();
    if total <= 0.0 || trials <= count {
        return None;
    }
    let left = (1.0 - between / total) * (trials as f64 - 1.0) / (trials - count) as f64;
    Some((1.0 - left).clamp(0.0, 1.0))
}

/// The parameters by importance, the greatest first, those that are unknown last.
pub fn ranked(space: &Space, trials: &[TrialRecord]) -> Vec<(String, Option<f64>)> {
    let names = space.params().iter().map(|param| param.name.clone());
    let mut found: Vec<(String, Option<f64>)> = names.zip(importances(space, trials)).collect();
    found.sort_by(|a, b| b.1.unwrap_or(-1.0).total_cmp(&a.1.unwrap_or(-1.0)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::trial::TrialOutcome;
    use swarmwood_search::rng::Stream;
    use swarmwood_search::{Param, Point};

    fn trials(space: &Space, loss: impl Fn(&Point, &mut Stream) -> f64) -> Vec<TrialRecord> {
        let trial = |id: u64| {
            let mut stream = Stream::new(5, id, 0);
            let point = space.draw(&mut stream);
            let outcome = Some(TrialOutcome::Complete { loss: loss(&point, &mut stream) });
            TrialRecord { id, point, worker: 0, folds: Vec::new(), outcome, seconds: 0.0 }
        };
        (0..300).map(trial).collect()
    }

    #[test]
    fn planted_parameters_are_found() {
        let space = Space::new(vec![
            Param::real("strong", 0.0, 1.0),
            Param::choice("weak", &["a", "b", "c"]),
            Param::integer("idle", 1, 50),
            Param::list("gated", &[1.0, 2.0]).when("weak", &["c"]),
            Param::real("fixed", 2.0, 2.0),
        ])
        .unwrap();
        let found = importances(
            &space,
            &trials(&space, |point, stream| {
                let weak = if point[1] == PointValue::Index(2) { 0.3 } else { 0.0 };
                space.number(0, point[0]).unwrap().powi(2) + weak + 0.1 * stream.normal()
            }),
        );
        let [strong, weak, idle, gated, fixed] = found[..] else { panic!("{found:?}") };
        assert!(strong > Some(0.6) && weak > Some(0.1) && weak < Some(0.4), "{found:?}");
        assert!(idle < Some(0.05) && fixed == Some(0.0), "{found:?}");
        // Whether it has a value says which label its parent has.
        assert!(gated > Some(0.1), "{found:?}");
        assert_eq!(ranked(&space, &[]).len(), 5);
        assert!(importances(&space, &[]).iter().all(Option::is_none));
    }
}
