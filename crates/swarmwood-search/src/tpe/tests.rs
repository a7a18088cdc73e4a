//! The estimator against the contract and by hand.

use super::*;
use crate::engine::Engine;
use crate::space::Param;
use crate::steady_state::tests::{assert_contract, assert_resumable};
use crate::trial::{ExternalTrial, TrialResult};

#[test]
fn both_forms_keep_every_rule() {
    for multivariate in [false, true] {
        // Few candidates, because the same rules are tried with the usual settings under the
        // engine's name.
        let config = || TpeConfig { start: 4, candidates: 4, multivariate };
        assert_contract::<TpeMethod>(&config);
        assert_resumable::<TpeMethod>(&config);
    }
}

#[test]
fn faults_are_reported_together() {
    let text =
        TpeConfig { start: 0, candidates: 0, multivariate: true }.check().unwrap_err().to_string();
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_tenth_is_good_and_at_most_twenty_five() {
    let space = Space::new(vec![Param::integer("i", 0, 999)]).unwrap();
    let mut estimator = TpeMethod::new(&space, TpeConfig::default(), 0).unwrap();
    for i in 0..300 {
        let point = Point(vec![PointValue::Integer(i)]);
        let loss = (i % 3 != 0).then_some(i as f64);
        estimator.observe(&space, 0, FinishedTrial { id: i as u64, point, loss });
        let known = (i + 1) - (i / 3 + 1);
        assert_eq!(estimator.good_count() as i64, ((known + 9) / 10).min(25), "{i}");
    }
    let pending = vec![(vec![0.0], vec![0.5])];
    let (good, other) = estimator.split(&pending);
    assert_eq!((good.len(), other.len()), (20, 281));
}

/// Good trials are of one kind and the others of another: most of the next ones are like the good.
#[test]
fn the_next_trial_is_like_the_good_ones() {
    let space =
        Space::new(vec![Param::choice("c", &["a", "b", "d"]), Param::real("x", 0.0, 1.0)]).unwrap();
    for multivariate in [false, true] {
        let mut engine =
            Tpe::new(&space, TpeConfig { multivariate, ..TpeConfig::default() }, 3).unwrap();
        for i in 0..100 {
            let good = i % 10 == 0;
            let x = if good { 0.2 + i as f64 * 1e-4 } else { 0.4 + i as f64 * 0.006 };
            let point =
                Point(vec![PointValue::Index(if good { 1 } else { i % 3 }), PointValue::Real(x)]);
            engine.add_trial(ExternalTrial::Complete {
                point,
                loss: Some(if good { 0.0 } else { 1.0 }),
            });
        }
        let near = |trial: &crate::trial::Trial| {
            trial.point[0] == PointValue::Index(1)
                && space.number(1, trial.point[1]).unwrap() < 0.35
        };
        let mut like = 0;
        for _ in 0..20 {
            let trials = engine.ask(1);
            like += trials.iter().filter(|trial| near(trial)).count();
            engine.tell(&[TrialResult::Complete { id: trials[0].id, loss: 0.5 }]);
        }
        // Now and then the prior is followed to a place where nothing is known. Evenly drawn, two
        // would be near.
        assert!(like >= 15, "{like} of 20, multivariate: {multivariate}");
    }
}

/// While a worker is busy at the best place, the next one is sent elsewhere.
#[test]
fn points_of_a_batch_keep_apart() {
    let space = Space::new(vec![Param::real("x", 0.0, 1.0), Param::real("y", 0.0, 1.0)]).unwrap();
    let spread = |pending: bool| {
        let mut engine = Tpe::new(&space, TpeConfig::default(), 3).unwrap();
        for _ in 0..30 {
            for trial in engine.ask(1) {
                let loss = space.encode(&trial.point).iter().map(|u| (u - 0.3).powi(2)).sum();
                engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
            }
        }
        let mut points = Vec::new();
        for _ in 0..12 {
            let trial = engine.ask(1).remove(0);
            points.push(space.encode(&trial.point));
            if !pending {
                // Answered as well as the best, the place stays attractive.
                engine.tell(&[TrialResult::Complete { id: trial.id, loss: -1.0 }]);
            }
        }
        let mean = |j: usize| points.iter().map(|row| row[j]).sum::<f64>() / 12.0;
        (0..2)
            .map(|j| points.iter().map(|row| (row[j] - mean(j)).powi(2)).sum::<f64>())
            .sum::<f64>()
    };
    assert!(spread(true) > spread(false), "{} and {}", spread(true), spread(false));
}
