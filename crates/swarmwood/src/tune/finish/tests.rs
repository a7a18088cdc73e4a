//! Scores that can be computed by hand, and an ensemble that is the mean of its members.

use std::fmt::Write;

use swarmwood_search::rng::Stream;
use swarmwood_search::{Param, Space};

use super::*;
use crate::params::Method;
use crate::predict::Scorer;
use crate::read::{ReadOptions, Source, training};
use crate::tune::sequence::StudyTally;
use crate::tune::{FoldResult, NativeConfig, StopReason, TrialOutcome, TuningScore};

/// Rows of as many classes as asked; 0 is a number.
fn rows(count: usize, classes: u64) -> Rows {
    let mut stream = Stream::new(11, classes, 0);
    let mut csv = "a,b,y\n".to_string();
    for _ in 0..count {
        let (a, b) = (stream.unit(), stream.unit());
        let y = a + b * b + 0.1 * stream.normal();
        let _ = match classes {
            0 => writeln!(csv, "{a},{b},{y}"),
            _ => writeln!(
                csv,
                "{a},{b},class{}",
                ((y * classes as f64 / 2.0).max(0.0) as u64).min(classes - 1)
            ),
        };
    }
    let bytes: &'static [u8] = Box::leak(csv.into_bytes().into_boxed_slice());
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    training(&Source::Bytes("t.csv".into(), bytes), &options).unwrap()
}

fn space() -> Space {
    Space::new(vec![
        Param::choice("booster", &["gbtree", "gblinear"]),
        Param::list("learning_rate", &[0.1, 0.2, 0.3]),
        Param::integer("depth", 1, 3).when("booster", &["gbtree"]),
    ])
    .unwrap()
}

fn native(rows: Rows, metric: &str) -> NativeObjective {
    let score = TuningScore::named(metric, &rows.schema.target.kind).unwrap();
    let params = Params { trees: 6, ..Params::of(Method::GREEDY) };
    NativeObjective::new(rows, NativeConfig { params, score, folds: 2, threads: 1 }, &space())
        .unwrap()
}

fn trial(id: u64, position: &[f64], losses: [f64; 2]) -> TrialRecord {
    let folds = losses.map(|loss| FoldResult { loss, rounds: None }).to_vec();
    let outcome = Some(TrialOutcome::Complete { loss: (losses[0] + losses[1]) / 2.0 });
    TrialRecord { id, point: space().decode(position), worker: 0, folds, outcome, seconds: 0.0 }
}

fn study_outcome(trials: Vec<TrialRecord>) -> StudyOutcome {
    StudyOutcome { trials, tally: StudyTally::default(), stop_reason: StopReason::Trials }
}

fn raw(model: &Model, rows: &Rows) -> Vec<f64> {
    let scorer = Scorer::new(model, None, 1).unwrap();
    let mut all = Vec::new();
    rows.for_each_chunk(&mut |chunk| {
        all.extend(scorer.raw(chunk)?);
        Ok(())
    })
    .unwrap();
    all
}

#[test]
fn an_ensemble_predicts_the_mean_of_its_parts() {
    for (classes, metric) in [(0, "rmse"), (2, "logloss"), (3, "accuracy")] {
        let rows = rows(300, classes);
        let native = native(rows.clone(), metric);
        let trees = |id, rate, depth, loss| trial(id, &[0.0, rate, depth], [loss, loss]);
        let trials = vec![
            trees(0, 0.1, 0.1, 0.3),
            trees(1, 0.9, 0.9, 0.1),
            trial(2, &[0.9, 0.5, 0.0], [0.15, 0.15]), // linear: left out
            trees(3, 0.5, 0.5, 0.2),
            trees(4, 0.9, 0.9, 0.1), // the same configuration once more: left out
            trees(5, 0.1, 0.9, 0.9),
        ];
        let finish =
            FinalFit { native: &native, all: &rows, holdout: None, ensemble: 3, threads: 1 };
        let finished = finish.finish(&study_outcome(trials.clone()), &mut |_| {}).unwrap();
        assert_eq!((finished.best, &finished.members[..]), (1, &[1, 3, 0][..]));
        finished.model.check().unwrap();
        let parts: Vec<Vec<f64>> = [1, 3, 0]
            .map(|id: usize| {
                let params = finish.params(&trials[id]).unwrap();
                raw(&finish.fit(&rows, &params, &mut |_| {}).unwrap().model, &rows)
            })
            .to_vec();
        for (at, mean) in raw(&finished.model, &rows).into_iter().enumerate() {
            let expected = parts.iter().map(|part| part[at]).sum::<f64>() / 3.0;
            assert!(
                (mean - expected).abs() < 1e-12 * (1.0 + expected.abs()),
                "{classes} classes, {at}"
            );
        }
        assert_eq!(finished.model.rounds(), 18);
    }
}

#[test]
fn an_ensemble_without_parts_is_the_best_alone() {
    let rows = rows(200, 0);
    let native = native(rows.clone(), "rmse");
    let finish = FinalFit { native: &native, all: &rows, holdout: None, ensemble: 4, threads: 1 };
    let linear = study_outcome(vec![
        trial(0, &[0.9, 0.1, 0.0], [0.1, 0.1]),
        trial(1, &[0.0, 0.1, 0.0], [0.2, 0.2]),
    ]);
    let finished = finish.finish(&linear, &mut |_| {}).unwrap();
    assert!(
        finished.members.is_empty() && finished.notes[0].contains("linear"),
        "{:?}",
        finished.notes
    );
    let few = study_outcome(vec![
        trial(0, &[0.0, 0.1, 0.0], [0.1, 0.1]),
        trial(1, &[0.0, 0.9, 0.0], [0.2, 0.2]),
    ]);
    let finished = finish.finish(&few, &mut |_| {}).unwrap();
    assert_eq!(finished.members, [0, 1]);
    assert!(finished.notes[0].contains("only 2 of 4"), "{:?}", finished.notes);
}

#[test]
fn scores_have_the_sign_of_their_metric() {
    let (rows, held) = rows(400, 2).holdout(0.25, 1).unwrap();
    let all = rows.clone();
    let native = native(rows, "accuracy");
    let finish =
        FinalFit { native: &native, all: &all, holdout: Some(&held), ensemble: 1, threads: 1 };
    // Losses of .1 and .2 are accuracies of .9 and .8: mean .85, standard error .05.
    let finished =
        finish.finish(&study_outcome(vec![trial(0, &[0.0, 0.5, 0.9], [0.1, 0.2])]), &mut |_| {});
    let finished = finished.unwrap();
    assert!(
        (finished.cv_score.value - 0.85).abs() < 1e-12
            && (finished.cv_score.error.unwrap() - 0.05).abs() < 1e-12
    );
    let holdout = finished.holdout.unwrap();
    assert_eq!(holdout.rows, held.rows);
    assert!((holdout.optimism.value - (0.85 - holdout.best.value)).abs() < 1e-12);
    // The jackknife of a share of n rows is about the binomial one.
    let p = holdout.best.value;
    let binomial = (p * (1.0 - p) / held.rows as f64).sqrt();
    let error = holdout.best.error.unwrap();
    assert!(error > 0.5 * binomial && error < 2.0 * binomial, "{error} {binomial}");
    assert!(holdout.fixed.is_some() && holdout.ensemble.is_none());
}

#[test]
fn without_a_complete_trial_the_error_has_the_first_failure() {
    let rows = rows(100, 0);
    let native = native(rows.clone(), "rmse");
    let finish = FinalFit { native: &native, all: &rows, holdout: None, ensemble: 1, threads: 1 };
    let outcome = Some(TrialOutcome::Failed { reason: "the moon".to_string() });
    let failed = TrialRecord { outcome, ..trial(0, &[0.0, 0.1, 0.0], [0.1, 0.1]) };
    let error = finish.finish(&study_outcome(vec![failed]), &mut |_| {}).err().unwrap();
    assert!(error.to_string().contains("the moon") && error.exit_code() == 1, "{error}");
}
