//! A planted depth is found, held-out rows influence no trial, threads change nothing, and folds are
//! the rows' own.

use std::fmt::Write;

use swarmwood_search::options::EngineOptions;
use swarmwood_search::{Param, Space, rng::Stream};

use super::*;
use crate::params::{Booster, Growth, ObjectiveChoice};
use crate::read::{ReadOptions, Source, TaskChoice, training};
use crate::tune::{
    FinalFit, Study, StudyHeader, StudyLimits, StudyMetric, StudyTask, TrialRecord, named,
};

/// Rows whose target is high where three features are all high: no tree of depth 1 or 2 can tell.
fn corner(rows: usize, seed: u64, held_noise: f64, held: &dyn Fn(usize) -> bool) -> String {
    let mut stream = Stream::new(seed, 0, 0);
    let mut csv = "a,b,c,d,y\n".to_string();
    for row in 0..rows {
        // Few distinct values: whichever rows are taken, they have the same bins.
        let x: Vec<f64> = (0..4).map(|_| (20.0 * stream.unit()).floor() / 20.0).collect();
        let high = 2.0 * f64::from(x[..3].iter().all(|&x| x > 0.3));
        let noise = 0.2 * stream.normal() + if held(row) { held_noise } else { 0.0 };
        let _ = writeln!(csv, "{},{},{},{},{}", x[0], x[1], x[2], x[3], high + noise);
    }
    csv
}

fn read(csv: String) -> Rows {
    let bytes: &'static [u8] = Box::leak(csv.into_bytes().into_boxed_slice());
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    training(&Source::Bytes("t.csv".into(), bytes), &options).unwrap()
}

fn depth_space() -> Space {
    Space::new(vec![Param::integer("depth", 1, 5), Param::list("learning_rate", &[0.01, 0.3])])
        .unwrap()
}

fn native(
    rows: Rows,
    params: Params,
    metric: &str,
    folds: usize,
    space: &Space,
) -> NativeObjective {
    let score = TuningScore::named(metric, &rows.schema.target.kind).unwrap();
    NativeObjective::new(rows, NativeConfig { params, score, folds, threads: 1 }, space).unwrap()
}

fn fixed() -> Params {
    Params { trees: 15, ..Params::of(Method::GREEDY) }
}

fn header(native: &NativeObjective, space: &Space, engine: &str) -> StudyHeader {
    StudyHeader {
        engine: engine.to_string(),
        engine_options: EngineOptions::DEFAULTS,
        seed: 1,
        space: space.clone(),
        parallel_trials: 4,
        folds: native.folds(),
        prune: true,
        task: StudyTask {
            text: "test".to_string(),
            fingerprint: native.fingerprint().unwrap(),
            metric: StudyMetric { name: "rmse".to_string(), from: None },
            fixed: Vec::new(),
        },
    }
}

fn run(
    native: &NativeObjective,
    space: &Space,
    engine: &str,
    trials: usize,
    threads: usize,
) -> Vec<TrialRecord> {
    let mut study = Study::open(None, header(native, space, engine)).unwrap();
    let limits = StudyLimits { trials, threads, ..StudyLimits::default() };
    study.run(native, &limits, &mut |_| {}).unwrap().trials
}

/// What a study decided, without the time it took.
fn decided(trials: &[TrialRecord]) -> Vec<(u64, u128, Vec<f64>, Option<f64>)> {
    let losses = |trial: &TrialRecord| trial.folds.iter().map(|fold| fold.loss).collect();
    let loss = |trial: &TrialRecord| trial.outcome.as_ref().and_then(|outcome| outcome.loss());
    trials.iter().map(|t| (t.id, t.point.fingerprint(), losses(t), loss(t))).collect()
}

#[test]
fn a_planted_depth_is_found_and_beats_the_rest() {
    let space = depth_space();
    let native = native(read(corner(600, 1, 0.0, &|_| false)), fixed(), "rmse", 3, &space);
    let trials = run(&native, &space, "grid", 10, 2);
    let best = crate::tune::trial::best(&trials).unwrap();
    let chosen = named::json(&space, &best.point);
    assert!(chosen["depth"].as_i64().unwrap() >= 3 && chosen["learning_rate"] == 0.3, "{chosen:?}");
    assert!(best.complete_loss().unwrap() < 0.35, "{best:?}");
}

#[test]
fn rows_held_out_influence_no_trial() {
    let space = depth_space();
    let whole = read(corner(400, 2, 0.0, &|_| false));
    let (rows, held) = whole.clone().holdout(0.25, 9).unwrap();
    // Which rows were held out, by their place in the file.
    let mut kept = Vec::new();
    rows.for_each_chunk(&mut |chunk| {
        kept.extend(chunk.target.iter().map(|y| y.to_bits()));
        Ok(())
    })
    .unwrap();
    let mut all = Vec::new();
    whole
        .for_each_chunk(&mut |chunk| {
            all.extend(chunk.target.iter().map(|y| y.to_bits()));
            Ok(())
        })
        .unwrap();
    let is_held: Vec<bool> = all.iter().map(|y| !kept.contains(y)).collect();
    assert_eq!(is_held.iter().filter(|held| **held).count(), held.rows);
    let changed = read(corner(400, 2, 1000.0, &|row| is_held[row]));
    let (other, other_held) = changed.clone().holdout(0.25, 9).unwrap();

    let (a, b) =
        (native(rows, fixed(), "rmse", 3, &space), native(other, fixed(), "rmse", 3, &space));
    assert_eq!(a.fingerprint().unwrap(), b.fingerprint().unwrap());
    let (first, second) = (run(&a, &space, "forest", 8, 1), run(&b, &space, "forest", 8, 1));
    assert_eq!(decided(&first), decided(&second));
    // The scores on the held-out rows do differ: these rows were changed.
    let scores = |native: &NativeObjective, all: &Rows, held: &Rows, trials: &[TrialRecord]| {
        let finish = FinalFit { native, all, holdout: Some(held), ensemble: 1, threads: 1 };
        let outcome = crate::tune::StudyOutcome {
            trials: trials.to_vec(),
            tally: crate::tune::sequence::StudyTally::default(),
            stop_reason: crate::tune::StopReason::Trials,
        };
        finish.finish(&outcome, &mut |_| {}).unwrap()
    };
    let (one, two) =
        (scores(&a, &whole, &held, &first), scores(&b, &changed, &other_held, &second));
    assert_eq!((one.best, one.cv_score), (two.best, two.cv_score));
    assert!(
        one.holdout.as_ref().unwrap().best.value < 1.0
            && two.holdout.as_ref().unwrap().best.value > 500.0
    );
    assert!(two.holdout.unwrap().optimism.value > 500.0);
    assert_ne!(one.model, two.model, "the model is of all rows");
}

#[test]
fn threads_change_no_trial() {
    let space = Space::new(vec![
        Param::integer("depth", 1, 5),
        Param::list("learning_rate", &[0.01, 0.1, 0.3]),
        Param::list("subsample", &[0.5, 0.75, 1.0]),
    ])
    .unwrap();
    let native = native(read(corner(500, 3, 0.0, &|_| false)), fixed(), "r2", 4, &space);
    let one = run(&native, &space, "tpe", 20, 1);
    assert_eq!(decided(&one), decided(&run(&native, &space, "tpe", 20, 8)));
    assert!(one.iter().any(|trial| trial.folds.len() < 4), "racing spares fits");
}

#[test]
fn a_fold_is_trained_and_measured_as_any_other_rows() {
    let rows = read(corner(300, 4, 0.0, &|_| false));
    let space = Space::new(vec![Param::integer("depth", 3, 3)]).unwrap();
    let point = space.nth(0).unwrap();
    for (method, booster) in [
        (Method::GREEDY, Booster::Gbtree),
        (Method::GREEDY, Booster::Dart),
        (Method::GREEDY, Booster::Gblinear),
    ] {
        let params = Params { booster, ..Params { method, ..fixed() } };
        let native = native(rows.clone(), params, "rmse", 3, &space);
        for fold in 0..3 {
            let quick = native
                .evaluate_fold(
                    &Proposal { id: 0, space: &space, point: &point },
                    fold,
                    &Budget::unlimited(),
                )
                .unwrap();
            let (learner, params) =
                (train::learner(method).unwrap(), native.params(&point).unwrap());
            let slow = native.data.fit_rows(learner, fold, &params, &Budget::unlimited()).unwrap();
            let slow = native.common().score.find(&slow.metrics).unwrap();
            assert!(
                (quick.loss - slow).abs() < 1e-6 * slow,
                "{booster:?} {fold}: {} {slow}",
                quick.loss
            );
        }
    }
}

#[test]
fn every_other_method_can_be_tuned() {
    let csv = corner(200, 5, 0.0, &|_| false);
    for method in [Method::SWARM, Method::CART, Method::SGBDT_BINS] {
        let space = Space::new(vec![Param::integer("depth", 2, 3)]).unwrap();
        let params = Params { trees: 2, iterations: 5, budget: 20, ..Params::of(method) };
        let native = native(read(csv.clone()), params, "mae", 2, &space);
        let trials = run(&native, &space, "random", 2, 2);
        assert!(
            trials.iter().all(|trial| trial.complete_loss().is_some()),
            "{method:?}: {trials:?}"
        );
    }
}

/// Two classes that a line separates, with some noise.
fn classes(rows: usize) -> Rows {
    let mut stream = Stream::new(7, 0, 0);
    let mut csv = "a,b,y\n".to_string();
    for _ in 0..rows {
        let (a, b) = (stream.unit(), stream.unit());
        let _ = writeln!(
            csv,
            "{a},{b},{}",
            if a + b + 0.2 * stream.normal() > 1.0 { "yes" } else { "no" }
        );
    }
    read(csv)
}

#[test]
fn losses_of_numbers_are_cut_for_two_classes() {
    let space = Space::new(vec![
        Param::choice("booster", &["gbtree", "gblinear", "dart"]),
        Param::choice("objective", &["squared", "squared-log"]),
    ])
    .unwrap();
    let native = native(classes(400), fixed(), "accuracy", 4, &space);
    let trials = run(&native, &space, "grid", 6, 2);
    assert_eq!(trials.len(), 6);
    for trial in &trials {
        let losses: Vec<f64> = trial.folds.iter().map(|fold| fold.loss).collect();
        assert!(!losses.is_empty() && losses.iter().all(|loss| *loss < 0.3), "{trial:?}");
    }
    // The model is one of classes that can be stored and used like any other.
    let rows = classes(400);
    let outcome = crate::tune::StudyOutcome {
        trials,
        tally: crate::tune::sequence::StudyTally::default(),
        stop_reason: crate::tune::StopReason::Trials,
    };
    let finish = FinalFit { native: &native, all: &rows, holdout: None, ensemble: 1, threads: 1 };
    let finished = finish.finish(&outcome, &mut |_| {}).unwrap();
    finished.model.check().unwrap();
    let metrics = crate::evaluate::evaluate(&finished.model, &rows, None, 1).unwrap().metrics;
    assert!(metrics.iter().any(|(name, value)| *name == "accuracy" && *value > 0.8), "{metrics:?}");
}

#[test]
fn the_exact_range_of_the_paper_ignores_what_a_booster_has_no_use_for() {
    use swarmwood_search::PointValue::{Index, Integer};

    let numbers = corner(300, 7, 0.0, &|_| false).replace(",-", ",");
    for (rows, metric) in [(read(numbers), "rmse"), (classes(300), "accuracy")] {
        let mut params = fixed();
        crate::tune::spaces::fix_params("paper-b-exact", &mut params).unwrap();
        let space = crate::tune::spaces::built_in("paper-b-exact", &params, &[]).unwrap();
        let native = native(rows, params, metric, 2, &space);
        let loss = |booster, objective, depth| {
            let mut genes = vec![Index(booster), Index(objective), Index(14), Integer(depth)];
            genes.extend([Integer(1), Index(14), Index(14)]);
            let point = Point(genes);
            let proposal = Proposal { id: 0, space: &space, point: &point };
            native.evaluate_fold(&proposal, 0, &Budget::unlimited()).unwrap().loss
        };

        for objective in [0, 1] {
            assert_eq!(loss(0, objective, 4), loss(2, objective, 4), "dart drops nothing");
            assert_eq!(loss(1, objective, 4), loss(1, objective, 9), "gblinear has no depth");
        }
        assert_ne!(loss(0, 0, 4), loss(0, 1, 4), "the losses differ");
    }
}

#[test]
fn targets_that_a_loss_cannot_have_are_refused_before_the_first_trial() {
    let rows = read("x,y\n1,-5\n2,3\n3,4\n4,8\n5,9\n6,1\n".to_string());
    let space = Space::new(vec![Param::choice("objective", &["squared", "squared-log"])]).unwrap();
    let score = TuningScore::named("rmse", &rows.schema.target.kind).unwrap();
    let error = NativeObjective::new(
        rows,
        NativeConfig { params: fixed(), score, folds: 2, threads: 1 },
        &space,
    )
    .err()
    .unwrap();
    assert!(error.to_string().contains("-5") && error.exit_code() == 2, "{error}");
    let params = Params { objective: ObjectiveChoice::named("logistic").unwrap(), ..fixed() };
    let rows = read("x,y\n1,5\n2,3\n3,4\n4,8\n".to_string());
    let empty = Space::new(vec![Param::integer("depth", 1, 2)]).unwrap();
    assert!(
        NativeObjective::new(rows, NativeConfig { params, score, folds: 2, threads: 1 }, &empty)
            .is_err()
    );
}

#[test]
fn rounds_of_early_stopping_are_told_and_used() {
    let space = Space::new(vec![Param::list("learning_rate", &[0.3, 0.5])]).unwrap();
    let params =
        Params { trees: 300, early_stopping_rounds: 5, depth: 3, ..Params::of(Method::GREEDY) };
    let rows = read(corner(300, 6, 0.0, &|_| false));
    let native = native(rows.clone(), params, "rmse", 3, &space);
    let trials = run(&native, &space, "grid", 2, 1);
    let best = crate::tune::trial::best(&trials).unwrap();
    let rounds: Vec<usize> = best.folds.iter().filter_map(|fold| fold.rounds).collect();
    assert!(
        rounds.len() == 3 && rounds.iter().all(|&rounds| (1..300).contains(&rounds)),
        "{rounds:?}"
    );
    let outcome = crate::tune::StudyOutcome {
        trials,
        tally: crate::tune::sequence::StudyTally::default(),
        stop_reason: crate::tune::StopReason::Trials,
    };
    let finish = FinalFit { native: &native, all: &rows, holdout: None, ensemble: 1, threads: 1 };
    let finished = finish.finish(&outcome, &mut |_| {}).unwrap();
    assert_eq!(
        finished.model.rounds(),
        (rounds.iter().sum::<usize>() as f64 / 3.0).round() as usize
    );
}

#[test]
fn bins_are_cut_once_for_every_number_of_them() {
    let space = Space::new(vec![Param::list("max_bin", &[4.0, 64.0])]).unwrap();
    let native = native(
        read(corner(400, 8, 0.0, &|_| false)),
        Params { growth: Growth::Leaf, ..fixed() },
        "rmse",
        2,
        &space,
    );
    let loss = |number: u128| {
        let point = space.nth(number).unwrap();
        native
            .evaluate_fold(
                &Proposal { id: 0, space: &space, point: &point },
                0,
                &Budget::unlimited(),
            )
            .unwrap()
            .loss
    };
    let (coarse, fine) = (loss(0), loss(1));
    assert_ne!(coarse, fine);
    assert_eq!((loss(0), loss(1)), (coarse, fine));
    assert_eq!(native.data.binned_with(), [4, 64, 255]);
}

#[test]
fn a_cancelled_fit_has_no_score() {
    let space = depth_space();
    let native = native(read(corner(200, 1, 0.0, &|_| false)), fixed(), "rmse", 2, &space);
    let point = space.nth(0).unwrap();
    let cancelled = Budget::unlimited();
    cancelled.cancel();
    assert!(
        native
            .evaluate_fold(&Proposal { id: 0, space: &space, point: &point }, 0, &cancelled)
            .is_err()
    );
}

#[test]
fn task_choice_is_kept() {
    // A 0/1 target read as numbers is a regression, and no loss is cut.
    let options =
        ReadOptions { target: "y".into(), task: TaskChoice::Regression, ..ReadOptions::default() };
    let bytes: &'static [u8] = b"x,y\n1,0\n2,0\n3,1\n4,1\n5,0\n6,1\n7,0\n8,1\n";
    let rows = training(&Source::Bytes("t.csv".into(), bytes), &options).unwrap();
    let space = Space::new(vec![Param::choice("objective", &["squared", "squared-log"])]).unwrap();
    let native = native(rows, fixed(), "rmse", 2, &space);
    assert!(
        run(&native, &space, "grid", 2, 1)
            .iter()
            .all(|trial| trial.complete_loss().is_some() || !trial.folds.is_empty())
    );
}
