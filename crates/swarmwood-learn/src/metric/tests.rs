//! Metrics against their definitions, against plain loops over pairs of rows, and against
//! scikit-learn 1.9.1.

use proptest::prelude::*;

use super::*;
use crate::objective::{self, Objective};

fn value(metrics: &[(&'static str, f64)], name: &str) -> f64 {
    metrics.iter().find(|m| m.0 == name).unwrap_or_else(|| panic!("no {name} in {metrics:?}")).1
}

fn compare(metrics: &[(&'static str, f64)], expected: &[(&str, f64)]) {
    assert_eq!(
        metrics.iter().map(|m| m.0).collect::<Vec<_>>(),
        expected.iter().map(|m| m.0).collect::<Vec<_>>()
    );
    for (name, expected) in expected {
        assert!(
            (value(metrics, name) - expected).abs() < 1e-12,
            "{name}: {} is not {expected}",
            value(metrics, name)
        );
    }
}

#[test]
fn two_classes_as_scikit_learn() {
    let y = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0];
    let p: Vec<f64> =
        [0.1, 0.8, 0.4, 0.4, 0.9, 0.6, 0.35, 0.4].iter().flat_map(|p| [1.0 - p, *p]).collect();
    compare(
        &evaluate(LearningTask::Classes(2), &p, &y, &[]),
        &[
            ("accuracy", 0.5),
            ("balanced_accuracy", 0.5333333333333333),
            ("logloss", 0.5929230658146245),
            ("brier", 0.21531249999999996),
            ("auc", 0.6666666666666667),
            ("f1", 0.5),
            ("precision", 0.6666666666666666),
            ("recall", 0.4),
        ],
    );
    compare(
        &evaluate(LearningTask::Classes(2), &p, &y, &[1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.5, 2.0]),
        &[
            ("accuracy", 0.5833333333333334),
            ("balanced_accuracy", 0.6111111111111112),
            ("logloss", 0.5133587947777728),
            ("brier", 0.18114583333333334),
            ("auc", 0.75),
            ("f1", 0.6666666666666666),
            ("precision", 0.8333333333333334),
            ("recall", 0.5555555555555556),
        ],
    );
}

#[test]
fn three_classes_as_scikit_learn() {
    let y = [0.0, 1.0, 2.0, 2.0, 1.0, 0.0];
    let p = [
        0.5, 0.3, 0.2, 0.2, 0.5, 0.3, 0.1, 0.2, 0.7, 0.4, 0.35, 0.25, 0.3, 0.3, 0.4, 0.6, 0.2, 0.2,
    ];
    compare(
        &evaluate(LearningTask::Classes(3), &p, &y, &[]),
        &[
            ("accuracy", 0.6666666666666666),
            ("balanced_accuracy", 0.6666666666666666),
            ("logloss", 0.8073436823784067),
            ("brier", 0.4541666666666668),
            ("auc", 0.8541666666666666),
            ("macro_f1", 0.6555555555555556),
        ],
    );
    compare(
        &evaluate(LearningTask::Classes(3), &p, &y, &[1.0, 2.0, 0.5, 1.0, 3.0, 1.0]),
        &[
            ("accuracy", 0.5294117647058824),
            ("balanced_accuracy", 0.5777777777777777),
            ("logloss", 0.9137432248838696),
            ("brier", 0.5311764705882354),
            ("auc", 0.7555555555555555),
            ("macro_f1", 0.5238095238095238),
        ],
    );
}

#[test]
fn numbers_as_scikit_learn() {
    let (y, p, w) =
        ([3.0, -0.5, 2.0, 7.0, 1.5], [2.5, 0.0, 2.0, 8.0, 2.0], [1.0, 2.0, 0.5, 1.0, 3.0]);
    compare(
        &evaluate(LearningTask::Regression, &p, &y, &[]),
        &[
            ("rmse", 0.5916079783099616),
            ("mae", 0.5),
            ("r2", 0.9429967426710097),
            ("medae", 0.5),
            ("mape", 0.32857142857142857),
        ],
    );
    compare(
        &evaluate(LearningTask::Regression, &p, &y, &w),
        &[
            ("rmse", 0.5773502691896257),
            ("mae", 0.5333333333333333),
            ("r2", 0.9362515937101572),
            ("medae", 0.5),
            ("mape", 0.44126984126984126),
        ],
    );
    let of = |spec: ObjectiveConfig, p: &[f64], y: &[f64], w: &[f64]| {
        of_objective(&spec, p, y, w).unwrap().1
    };
    let quantile = ObjectiveConfig::quantile(0.2);
    assert!((of(quantile, &p, &y, &[]) - 0.34).abs() < 1e-12);
    assert!((of(quantile, &p, &y, &w) - 0.3866666666666667).abs() < 1e-12);
    let (y, p) = ([3.0, 0.0, 2.0, 7.0, 1.5], [2.5, 0.1, 2.0, 8.0, 2.0]);
    assert!((of(ObjectiveConfig::POISSON, &p, &y, &[]) - 0.11228872533301364).abs() < 1e-12);
    assert!((of(ObjectiveConfig::POISSON, &p, &y, &w) - 0.13804682559391768).abs() < 1e-12);
    assert!((of(ObjectiveConfig::SQUARED_LOG, &p, &y, &[]) - 0.12167880402993887).abs() < 1e-12);
    assert!((of(ObjectiveConfig::SQUARED_LOG, &p, &y, &w) - 0.14123030235217773).abs() < 1e-12);
}

#[test]
fn undefined_metrics_are_left_out() {
    let names = |task, p: &[f64], y: &[f64], w: &[f64]| -> Vec<&str> {
        evaluate(task, p, y, w).into_iter().map(|m| m.0).collect()
    };
    assert!(!names(LearningTask::Classes(2), &[0.3, 0.7], &[1.0], &[]).contains(&"auc"));
    assert!(!names(LearningTask::Regression, &[0.3, 0.7], &[0.1, 0.1], &[]).contains(&"r2"));
    assert!(!names(LearningTask::Regression, &[0.3, 0.7], &[0.1, 0.0], &[]).contains(&"mape"));
    for task in [LearningTask::Regression, LearningTask::Classes(2), LearningTask::Classes(3)] {
        assert_eq!(evaluate(task, &[], &[], &[]), []);
    }
    assert!(names(LearningTask::Regression, &[0.3], &[0.1], &[0.0]).is_empty());
    assert_eq!(of_objective(&ObjectiveConfig::POISSON, &[0.0], &[1.0], &[]), None);
    assert_eq!(of_objective(&ObjectiveConfig::SQUARED, &[0.0], &[1.0], &[]), None);
}

#[test]
fn a_target_that_is_no_class_counts_as_missed() {
    let metrics = evaluate(LearningTask::Classes(2), &[0.3, 0.7, 0.3, 0.7], &[1.0, 5.0], &[]);
    assert_eq!(value(&metrics, "accuracy"), 0.5);
    assert!(value(&metrics, "logloss") > 10.0);
}

/// The chance that a positive row is above a negative one, by looking at every pair.
fn pairs_auc(rows: &[(f64, bool, f64)]) -> Option<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for up in rows.iter().filter(|row| row.1) {
        for down in rows.iter().filter(|row| !row.1) {
            let weight = up.2 * down.2;
            total += weight;
            sum += weight * (f64::from(up.0 > down.0) + 0.5 * f64::from(up.0 == down.0));
        }
    }
    (total > 0.0).then(|| sum / total)
}

proptest! {
    #[test]
    fn auc_equals_all_pairs(rows in prop::collection::vec((0u8..12, any::<bool>(), 0u8..4), 0..50)) {
        let rows: Vec<(f64, bool, f64)> =
            rows.into_iter().map(|(s, up, w)| (f64::from(s) / 8.0, up, f64::from(w) / 2.0)).collect();
        let mut ranks = ranking::RankedScores::default();
        rows.iter().for_each(|&(score, positive, weight)| ranks.add(score, positive, weight));
        match (pairs_auc(&rows), ranks.auc()) {
            (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-12),
            (a, b) => prop_assert_eq!(a, b),
        }
    }

    /// Blocks of any size say what the whole says, to the bit.
    #[test]
    fn blocks_say_what_the_whole_says(
        rows in prop::collection::vec((prop::array::uniform3(0.01f64..1.0), 0u8..3, 0u8..3), 0..40),
        size in 1usize..9,
        weighted: bool,
    ) {
        for (task, width) in [(LearningTask::Regression, 1), (LearningTask::Classes(2), 2), (LearningTask::Classes(3), 3)] {
            let prediction: Vec<f64> = rows.iter().flat_map(|row| row.0[..width].to_vec()).collect();
            let target: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
            let weight: Vec<f64> = rows.iter().filter(|_| weighted).map(|row| f64::from(row.2)).collect();
            let mut tally = Tally::new(task, Some(&ObjectiveConfig::huber(0.5)).filter(|_| width == 1));
            for from in (0..rows.len()).step_by(size) {
                let to = (from + size).min(rows.len());
                let weight = if weighted { &weight[from..to] } else { &[][..] };
                tally.add(&prediction[from * width..to * width], &target[from..to], weight);
            }
            let mut whole = evaluate(task, &prediction, &target, &weight);
            if width == 1 {
                whole.extend(of_objective(&ObjectiveConfig::huber(0.5), &prediction, &target, &weight));
            }
            prop_assert_eq!(tally.finish(), whole);
        }
    }

    /// A row that weighs `m` counts like `m` rows, in every metric of every task.
    #[test]
    fn weights_are_repetitions(rows in prop::collection::vec((0.01f64..1.0, 0.01f64..1.0, 0u8..3, 0usize..4), 1..30)) {
        let repeat = |values: &[f64], width: usize| -> Vec<f64> {
            values.chunks(width).zip(&rows).flat_map(|(v, row)| v.repeat(row.3)).collect()
        };
        let weight: Vec<f64> = rows.iter().map(|row| row.3 as f64).collect();
        for task in [LearningTask::Regression, LearningTask::Classes(2), LearningTask::Classes(3)] {
            let width = match task { LearningTask::Regression => 1, LearningTask::Classes(k) => k };
            let prediction: Vec<f64> = rows.iter().flat_map(|row| {
                let parts = [row.0, row.1, 0.3];
                let sum: f64 = if width == 1 { 1.0 } else { parts[..width].iter().sum() };
                parts[..width].iter().map(|p| p / sum).collect::<Vec<_>>()
            }).collect();
            let target: Vec<f64> = rows.iter().map(|row| f64::from(row.2 % width.max(2) as u8)).collect();
            let weighted = evaluate(task, &prediction, &target, &weight);
            let repeated = evaluate(task, &repeat(&prediction, width), &repeat(&target, 1), &[]);
            let known: Vec<_> = repeated.iter().filter(|m| m.0 != "mape").collect();
            for (name, expected) in known {
                prop_assert!((value(&weighted, name) - expected).abs() < 1e-9, "{} {}", name, expected);
            }
        }
    }

    /// Parts of shards merge into the whole, and the whole is what `evaluate` says of the finished
    /// predictions.
    #[test]
    fn watched_metrics_merge_and_agree(
        rows in prop::collection::vec((prop::array::uniform3(-4.0f32..4.0), 0u8..3, 0.1f32..3.0), 2..40),
        cut in 0.0f64..1.0,
    ) {
        let n = rows.len();
        let cut = (cut * n as f64) as usize;
        let weight: Vec<f32> = rows.iter().map(|row| row.2).collect();
        let wide: Vec<f64> = weight.iter().map(|&w| f64::from(w)).collect();
        for spec in [ObjectiveConfig::SQUARED, ObjectiveConfig::POISSON, ObjectiveConfig::LOGISTIC, ObjectiveConfig::softmax(3)] {
            let objective = objective::make(&spec);
            let outputs = objective.outputs();
            let target: Vec<f32> =
                rows.iter().map(|row| f32::from(if spec == ObjectiveConfig::LOGISTIC { row.1 % 2 } else { row.1 })).collect();
            let scores = |from: usize, to: usize| -> Vec<f32> {
                (0..outputs).flat_map(|k| rows[from..to].iter().map(move |row| row.0[k])).collect()
            };
            let (task, prediction) = finished(objective.as_ref(), &scores(0, n), n);
            let target_wide: Vec<f64> = target.iter().map(|&y| f64::from(y)).collect();
            let metrics = evaluate(task, &prediction, &target_wide, &wide);
            for watch in EvalMetric::ALL.into_iter().filter(|watch| watch.suits(objective.as_ref()).is_ok()) {
                let part = |from: usize, to: usize| {
                    watch.partial(&scores(from, to), &target[from..to], &weight[from..to], objective.as_ref())
                };
                let mut merged = part(0, cut);
                merged.merge(part(cut, n));
                let (whole, merged) = (watch.finish(part(0, n)), watch.finish(merged));
                prop_assert!((whole - merged).abs() < 1e-6 * (1.0 + whole.abs()), "{:?} {:?}", watch, spec);
                if let Some(expected) = metrics.iter().find(|m| m.0 == watch.name()) {
                    prop_assert!((whole - expected.1).abs() < 1e-5 * (1.0 + whole.abs()), "{:?} {:?}", watch, spec);
                }
            }
        }
    }
}

/// Raw scores to predictions, by the definition of each link.
fn finished(objective: &dyn Objective, score: &[f32], rows: usize) -> (LearningTask, Vec<f64>) {
    let raw = |k: usize, i: usize| f64::from(score[k * rows + i]);
    match objective.name() {
        "squared" => (LearningTask::Regression, (0..rows).map(|i| raw(0, i)).collect()),
        "poisson" => (LearningTask::Regression, (0..rows).map(|i| raw(0, i).exp()).collect()),
        "logistic" => {
            let p = |i| 1.0 / (1.0 + (-raw(0, i)).exp());
            (LearningTask::Classes(2), (0..rows).flat_map(|i| [1.0 - p(i), p(i)]).collect())
        }
        _ => {
            let sum = |i| (0..3).map(|k| raw(k, i).exp()).sum::<f64>();
            (
                LearningTask::Classes(3),
                (0..rows).flat_map(|i| (0..3).map(move |k| raw(k, i).exp() / sum(i))).collect(),
            )
        }
    }
}

#[test]
fn watches_know_their_names_and_directions() {
    for watch in EvalMetric::ALL {
        assert_eq!(EvalMetric::named(watch.name()), Some(watch));
        assert_eq!(watch.better(1.0, 0.0), watch.higher_is_better());
    }
    assert_eq!(EvalMetric::named("gini"), None);
    assert!(EvalMetric::Accuracy.suits(&objective::Squared).is_err());
    assert!(EvalMetric::Accuracy.suits(&objective::Logistic).is_ok());
}

#[test]
fn an_even_score_is_the_first_class_in_both_faces() {
    let even = EvalMetric::Error.partial(&[0.0], &[0.0], &[], &objective::Logistic);
    assert_eq!(even.sum, 0.0);
    assert_eq!(classes::most_probable(&[0.5, 0.5]), 0);
}
