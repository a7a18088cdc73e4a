//! Every objective runs the contract on random rows; the contract must notice planted faults;
//! starts are known.

use proptest::prelude::*;
use swarmwood_model::Link;

use super::*;

const CLASSES: usize = 4;

fn specs() -> Vec<ObjectiveConfig> {
    vec![
        ObjectiveConfig::SQUARED,
        ObjectiveConfig::SQUARED_LOG,
        ObjectiveConfig::ABSOLUTE,
        ObjectiveConfig::huber(1.5),
        ObjectiveConfig::quantile(0.25),
        ObjectiveConfig::quantile(0.9),
        ObjectiveConfig::POISSON,
        ObjectiveConfig::GAMMA,
        ObjectiveConfig::tweedie(1.2),
        ObjectiveConfig::tweedie(1.5),
        ObjectiveConfig::tweedie(1.9),
        ObjectiveConfig::LOGISTIC,
        ObjectiveConfig::softmax(CLASSES),
        ObjectiveConfig::softmax(2),
        ObjectiveConfig::SQUARED_LOG_ERROR,
        ObjectiveConfig::thresholded(ThresholdedLoss::Squared),
        ObjectiveConfig::thresholded(ThresholdedLoss::SquaredLog),
        ObjectiveConfig::thresholded(ThresholdedLoss::SquaredLogError),
    ]
}

/// Turns any number into a score at which the loss is smooth: XGBoost's squared-log error is so
/// only for predictions above -1.
fn score_for(spec: &ObjectiveConfig, value: f32) -> f32 {
    match spec.name() {
        "squaredlogerror" | "cut-squaredlogerror" => value.abs(),
        _ => value,
    }
}

/// Turns any number into a target of the objective's domain; every third one is rounded, so that
/// there are ties.
fn target_for(spec: &ObjectiveConfig, row: usize, value: f64) -> f64 {
    let value = if row.is_multiple_of(3) { value.round() } else { value };
    match spec.name() {
        "squared-log" | "squaredlogerror" => value.abs() - 0.5,
        "poisson" => value.abs(),
        // Without a positive target the best constant would be minus infinity.
        "tweedie" => value.abs() + if row == 0 { 1.0 } else { 0.0 },
        "gamma" => value.abs() + 0.1,
        _ if spec.is_thresholded() || *spec == ObjectiveConfig::LOGISTIC => f64::from(value > 2.0),
        "softmax" => (value.abs() as usize % spec.classes()) as f64,
        _ => value,
    }
}

proptest! {
    #[test]
    fn every_objective_keeps_the_contract(
        rows in prop::collection::vec((-9.0f64..9.0, prop::array::uniform4(-6.0f32..6.0), 0.0f32..3.0), 1..40),
        weighted: bool,
    ) {
        for spec in specs() {
            let objective = make(&spec);
            let target: Vec<f64> = rows.iter().enumerate().map(|(i, row)| target_for(&spec, i, row.0)).collect();
            let score: Vec<f32> = (0..objective.outputs()).flat_map(|k| rows.iter().map(move |r| r.1[k])).map(|value| score_for(&spec, value)).collect();
            let weight: Vec<f32> = if weighted { rows.iter().map(|r| r.2).collect() } else { Vec::new() };
            let case = contract::Case { target: &target, score: &score, weight: &weight };
            contract::check(objective.as_ref(), case).map_err(|e| TestCaseError::fail(e.to_string()))?;
        }
    }
}

#[test]
fn contract_holds_far_from_the_target_too() {
    let has_exp_link = |spec: &ObjectiveConfig| make(spec).link() == Link::Exp;
    for spec in specs().into_iter().filter(|spec| !has_exp_link(spec)) {
        let objective = make(&spec);
        let target: Vec<f64> = (0..6).map(|i| target_for(&spec, i, i as f64)).collect();
        let score: Vec<f32> =
            (0..6 * objective.outputs()).map(|i| if i % 2 == 0 { 60.0 } else { -60.0 }).collect();
        let score: Vec<f32> = score.iter().map(|&value| score_for(&spec, value)).collect();
        contract::check(
            objective.as_ref(),
            contract::Case { target: &target, score: &score, weight: &[] },
        )
        .unwrap();
    }
}

/// Squared loss with one thing wrong.
struct Faulty(&'static str);

impl Objective for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }
    fn link(&self) -> Link {
        Link::Identity
    }
    fn shift_invariant(&self) -> bool {
        true
    }
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        if self.0 == "domain" { Ok(()) } else { Squared.check_target(target) }
    }
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        let weight = if self.0 == "start weights" { &[] } else { weight };
        let off = if self.0 == "start" { 0.2 } else { 0.0 };
        vec![Squared.start(target, weight)[0] + off]
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        Squared.derivatives(score, target, weight, g, h);
        match self.0 {
            "gradient" => g.iter_mut().for_each(|g| *g *= 2.0),
            "hessian" => h.iter_mut().for_each(|h| *h *= 0.5),
            "sign" => h.iter_mut().for_each(|h| *h = -*h),
            _ => {}
        }
    }
    fn derivative_pairs(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        pairs: &mut [DerivativePair],
    ) {
        Squared.derivative_pairs(score, target, weight, pairs);
        if self.0 == "pairs" {
            pairs[0].reverse();
        }
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        let weight = if self.0 == "loss weights" { &[] } else { weight };
        let bump = if self.0 == "shift" { f64::from(score[0]) * 1e-2 } else { 0.0 };
        Squared.loss(score, target, weight) + bump
    }
    fn leaf_quantile(&self) -> Option<f64> {
        (self.0 == "leaf").then_some(0.1)
    }
    fn one_output(&self) -> Option<&dyn OneOutput> {
        if self.0.starts_with("one output") { Some(self) } else { None }
    }
}

impl OneOutput for Faulty {
    fn others(&self, _: usize, _: &[f32], others: &mut [f32]) {
        others.fill(0.0);
    }
    fn derivatives(&self, _: usize, rows: OutputRows<'_>, g: &mut [f32], h: &mut [f32]) {
        Squared.derivatives(rows.score, rows.target, rows.weight, g, h);
        if self.0 == "one output" {
            g[0] += 1.0;
        }
    }
    fn loss(&self, _: usize, rows: OutputRows<'_>) -> f64 {
        Squared.loss(rows.score, rows.target, rows.weight)
    }
    fn rest(&self, _: usize, _: OutputRows<'_>) -> f64 {
        1.0
    }
}

#[test]
fn contract_notices_planted_faults() {
    let case = contract::Case {
        target: &[1.0, 2.0, 4.0, -3.0, 0.5],
        score: &[0.5, 3.0, 1.0, -2.0, 0.0],
        weight: &[1.0, 2.0, 0.5, 1.0, 3.0],
    };
    contract::check(&Faulty("nothing"), case).unwrap();
    let faults = [
        ("domain", "non-finite targets are refused"),
        ("gradient", "the gradient is the slope of the loss"),
        ("hessian", "the hessian is the slope of the gradient, times its factor"),
        ("sign", "derivatives are finite, hessians not negative"),
        ("loss weights", "the loss is the weighted sum over rows"),
        ("pairs", "pairs hold the derivatives"),
        ("one output", "one output has the derivatives of all"),
        ("one output loss", "one output has the loss of all"),
        ("start", "the start value minimises the loss"),
        ("start weights", "the start value minimises the loss"),
        ("leaf", "the leaf quantile minimises the loss"),
    ];
    for (fault, rule) in faults {
        assert_eq!(contract::check(&Faulty(fault), case).unwrap_err().rule, rule, "{fault}");
    }
    assert!(contract::check(&Faulty("shift"), case).is_err());
}

#[test]
fn start_values_are_the_known_ones() {
    let y = [1.0, 2.0, 4.0, 9.0];
    let start = |spec: ObjectiveConfig, y: &[f64], w: &[f64]| make(&spec).start(y, w)[0];
    assert_eq!(start(ObjectiveConfig::SQUARED, &y, &[]), 4.0);
    assert_eq!(start(ObjectiveConfig::SQUARED, &y, &[1.0, 1.0, 0.0, 2.0]), 5.25);
    assert_eq!(start(ObjectiveConfig::ABSOLUTE, &y, &[]), 3.0);
    assert_eq!(start(ObjectiveConfig::quantile(0.9), &y, &[]), 9.0);
    assert!((start(ObjectiveConfig::POISSON, &y, &[]) - 4f64.ln()).abs() < 1e-12);
    assert!(
        (start(ObjectiveConfig::LOGISTIC, &[0.0, 1.0, 1.0, 1.0], &[]) - 3f64.ln()).abs() < 1e-12
    );
    // Residuals -1, 0, 2 and a clipped 7: the zero of (c-1)+(c-2)+(c-4)-delta with delta 3 is 10/3.
    assert!((start(ObjectiveConfig::huber(3.0), &y, &[]) - 10.0 / 3.0).abs() < 1e-12);
    let priors = make(&ObjectiveConfig::softmax(3)).start(&[0.0, 1.0, 1.0, 2.0], &[]);
    assert!((priors[1].exp() - 0.5).abs() < 1e-12 && (priors[0].exp() - 0.25).abs() < 1e-12);
}

#[test]
fn degenerate_rows_have_a_finite_start() {
    for spec in specs() {
        let objective = make(&spec);
        for (y, w) in
            [(vec![], vec![]), (vec![0.0], vec![]), (vec![1.0; 3], vec![]), (vec![1.0], vec![0.0])]
        {
            let start = objective.start(&y, &w);
            assert_eq!(start.len(), objective.outputs());
            assert!(start.iter().all(|s| s.is_finite()), "{spec:?} on {y:?}");
        }
    }
}

#[test]
fn names_lead_to_objectives_of_that_name() {
    for known in OBJECTIVES {
        let parameter = |name: &str| if name == "tweedie_power" { 1.5 } else { 0.5 };
        let spec = ObjectiveConfig::named(known.name, 3, parameter).unwrap();
        assert_eq!((make(&spec).name(), spec.name()), (known.name, known.name));
        spec.check().unwrap();
    }
    for loss in ThresholdedLoss::ALL {
        let spec = ObjectiveConfig::thresholded(loss);
        assert_eq!(make(&spec).name(), spec.name());
    }
    assert!(ObjectiveConfig::huber(0.0).check().is_err());
    assert!(ObjectiveConfig::quantile(1.0).check().is_err());
    assert!(ObjectiveConfig::quantile(f64::NAN).check().is_err());
    assert!(ObjectiveConfig::softmax(1).check().is_err());
    assert!(
        [1.0, 2.0, f64::NAN].map(ObjectiveConfig::tweedie).iter().all(|one| one.check().is_err())
    );
}

#[test]
fn deviances_with_a_log_link_are_known() {
    let half = |objective: &dyn Objective| objective.loss(&[2f32.ln()], &[3.0], &[]);
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(close(half(&Gamma), 3.0 / 2.0 + 2f64.ln() - 3f64.ln() - 1.0));
    let tweedie = |power: f64| half(&Tweedie { power });
    let at_one_and_a_half = 2.0 * (2f64.sqrt() + 3.0 / 2f64.sqrt() - 2.0 * 3f64.sqrt());
    assert!(close(tweedie(1.5), at_one_and_a_half));
    // It lies between its neighbours, which it tends to.
    assert!((tweedie(1.0001) - half(&Poisson)).abs() < 1e-3);
    assert!((tweedie(1.9999) - half(&Gamma)).abs() < 1e-3);
    assert!(Gamma.check_target(0.0).is_err() && Tweedie { power: 1.5 }.check_target(0.0).is_ok());
}

#[test]
fn squared_log_is_the_loss_on_the_logarithm() {
    let objective = SquaredLog;
    let z = objective.transform_target(9.0) as f32;
    let loss = objective.loss(&[1f32.ln_1p()], &[z], &[]);
    assert!((loss - 0.5 * (10f64.ln() - 2f64.ln()).powi(2)).abs() < 1e-6);
    assert_eq!(objective.link(), Link::ExpM1);
    assert!(objective.check_target(-1.0).is_err());
    assert!(objective.check_target(-0.5).is_ok());
}

#[test]
fn squaredlogerror_has_the_derivatives_of_xgboost() {
    let derivatives = |score: f32, target: f32| {
        let (mut g, mut h) = ([0.0], [0.0]);
        SquaredLogError.derivatives(&[score], &[target], &[], &mut g, &mut h);
        (g[0], h[0])
    };
    // (ln 2 - ln 10) / 2 and (1 - ln 2 + ln 10) / 4.
    let (g, h) = derivatives(1.0, 9.0);
    assert!((g + 0.804_719).abs() < 1e-6 && (h - 0.652_359_5).abs() < 1e-6, "{g} {h}");
    // Beyond e (1 + y) the loss is concave and the hessian is the floor.
    let (g, h) = derivatives(9.0, 1.0);
    assert!((g - 0.160_943_8).abs() < 1e-6 && h == 1e-6, "{g} {h}");
    // Scores of -1 and less count as -1 + 1e-6.
    let least = (1e-6f64.ln() - 2f64.ln()) / 1e-6;
    for score in [-1.0, -7.0] {
        let (g, h) = derivatives(score, 1.0);
        assert!((f64::from(g) / least - 1.0).abs() < 1e-4 && h > 1e12, "{g} {h}");
    }
    let loss = SquaredLogError.loss(&[1.0], &[9.0], &[]);
    assert!((loss - 0.5 * (10f64.ln() - 2f64.ln()).powi(2)).abs() < 1e-9);
    assert_eq!(SquaredLogError.link(), Link::Identity);
    assert!(SquaredLogError.check_target(-1.0).is_err());
}

#[test]
fn a_thresholded_squaredlogerror_takes_the_steps_of_the_number() {
    let cut = ThresholdedRegression { loss: ThresholdedLoss::SquaredLogError };
    for (predicted, target) in [(0.2f32, 0.0f32), (0.2, 1.0), (1.6, 0.0), (0.9, 1.0)] {
        let seen = cut.transform_target(f64::from(target)) as f32;
        let step = |objective: &dyn Objective, score: f32, target: f32| {
            let (mut g, mut h) = ([0.0], [0.0]);
            objective.derivatives(&[score], &[target], &[], &mut g, &mut h);
            -g[0] / (h[0] + 1.0)
        };
        let (plain, scaled) =
            (step(&SquaredLogError, predicted, target), step(&cut, 4.0 * predicted - 2.0, seen));
        assert!((4.0 * plain - scaled).abs() < 1e-5 * scaled.abs(), "{plain} {scaled}");
    }
}

#[test]
fn a_cut_score_decides_as_the_number_does() {
    // Seven of ten rows are of the second class: the squared loss predicts .7, the squared-log one
    // 2^.7 - 1 = .62.
    let target = [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0];
    for (number, loss) in [
        (ObjectiveConfig::SQUARED, ThresholdedLoss::Squared),
        (ObjectiveConfig::SQUARED_LOG, ThresholdedLoss::SquaredLog),
        (ObjectiveConfig::SQUARED_LOG_ERROR, ThresholdedLoss::SquaredLogError),
    ] {
        for rows in [&target[..], &target[..2], &target[6..7], &target[2..7]] {
            let (number, cut) = (make(&number), make(&ObjectiveConfig::thresholded(loss)));
            let start = |objective: &dyn Objective| {
                let seen: Vec<f64> = rows.iter().map(|&y| objective.transform_target(y)).collect();
                objective.start(&seen, &[])[0]
            };
            let predicted = number.link().number(start(&*number));
            let mut chances = Vec::new();
            cut.link().probabilities(&[start(&*cut)], &mut chances);
            assert!(
                (predicted - 0.5).abs() < 1e-12 || (predicted > 0.5) == (chances[1] > 0.5),
                "{predicted} {chances:?}"
            );
            // Near one half the chance is the prediction.
            assert!(
                (predicted - chances[1]).abs() < 0.1 * (predicted - 0.5).abs() + 1e-9
                    || predicted < 0.1
            );
        }
    }
}
