//! Custom losses against the library's, and what faulty ones end with.

use super::*;
use crate::objective::{Squared, contract};

type Derivatives = fn(f64, f64) -> (f64, f64);

/// A loss of one output by row.
struct ByRow {
    derivatives: Derivatives,
    loss: Option<fn(f64, f64) -> f64>,
    link: Link,
}

impl CustomLoss for ByRow {
    fn derivatives(&self, rows: CustomRows<'_>) -> Result<(Vec<f64>, Vec<f64>), String> {
        let of_row = |(&score, &target): (&f64, &f64)| (self.derivatives)(score, target);
        Ok(rows.score.iter().zip(rows.target).map(of_row).unzip())
    }
    fn losses(&self, rows: CustomRows<'_>) -> Option<Result<Vec<f64>, String>> {
        let loss = self.loss?;
        Some(Ok(rows.score.iter().zip(rows.target).map(|(&s, &y)| loss(s, y)).collect()))
    }
    fn has_losses(&self) -> bool {
        self.loss.is_some()
    }
    fn link(&self) -> Link {
        self.link
    }
}

fn numbers(derivatives: Derivatives, loss: Option<fn(f64, f64) -> f64>) -> CustomObjective {
    CustomObjective::new(Arc::new(ByRow { derivatives, loss, link: Link::Identity }), 0)
}

fn squared() -> CustomObjective {
    numbers(|s, y| (s - y, 1.0), Some(|s, y| 0.5 * (s - y) * (s - y)))
}

const TARGET: [f64; 6] = [1000.5, 999.0, 1002.0, 1002.0, 1007.5, 998.25];

#[test]
fn the_squared_loss_is_recognised_and_keeps_the_contract() {
    let score = [1000.0, 1000.3, 998.5, 1002.0, 1004.0, 1000.0];
    for weight in [&[][..], &[1.0, 0.5, 2.0, 0.0, 3.0, 1.0f64]] {
        let objective = squared();
        objective.examine(&TARGET, weight);
        assert!(objective.shift_invariant() && objective.constant_hessian());
        assert_eq!(objective.start(&TARGET, weight), Squared.start(&TARGET, weight));
        let weight: Vec<f32> = weight.iter().map(|&weight| weight as f32).collect();
        let case = contract::Case { target: &TARGET, score: &score, weight: &weight };
        contract::check(&objective, case).unwrap();
    }
}

#[test]
fn other_losses_are_told_apart() {
    let log_cosh = numbers(|s, y| ((s - y).tanh(), 1.0 - (s - y).tanh().powi(2)), None);
    log_cosh.examine(&TARGET, &[]);
    assert!(log_cosh.shift_invariant() && !log_cosh.constant_hessian());

    let relative = numbers(|s, y| ((s - y) / y, 1.0 / y.abs()), None);
    relative.examine(&TARGET, &[]);
    assert!(!relative.shift_invariant() && !relative.constant_hessian());

    let floored = numbers(|s, y| (s.max(0.0) - y, 1.0), None);
    floored.examine(&TARGET, &[]);
    assert!(!floored.shift_invariant());
}

#[test]
fn newton_steps_find_the_best_constant() {
    // The best constant of this loss is the harmonic mean.
    let relative = numbers(|s, y| ((s - y) / y, 1.0 / y.abs()), None);
    let harmonic = 4.0 / [1.0, 2.0, 4.0, 8.0].iter().map(|y| 1.0 / y).sum::<f64>();
    let start = relative.start(&[1.0, 2.0, 4.0, 8.0], &[])[0];
    assert!((start - harmonic).abs() < 1e-9, "{start} {harmonic}");

    let poisson = ByRow { derivatives: |s, y| (s.exp() - y, s.exp()), loss: None, link: Link::Exp };
    let poisson = CustomObjective::new(Arc::new(poisson), 0);
    assert_eq!(poisson.start(&[1e6, 3e6], &[]), Poisson.start(&[1e6, 3e6], &[]));
}

#[test]
fn faulty_derivatives_are_named_once_and_never_asked_for_again() {
    let cases: [(Derivatives, &str); 4] = [
        (|_, y| (if y > 1007.0 { f64::NAN } else { 0.0 }, 1.0), "NaN as the gradient of row 4"),
        (|_, y| (0.0, if y < 999.0 { -1.0 } else { 1.0 }), "-1 as the hessian of row 5"),
        (|_, _| (1e300, 1.0), "must be a finite number"),
        (|_, _| (0.0, f64::INFINITY), "inf as the hessian of row 0"),
    ];
    for (derivatives, expected) in cases {
        let objective = numbers(derivatives, None);
        let has_failed = objective.failure_check();
        assert!(!has_failed());
        let (mut g, mut h) = ([7.0; 6], [7.0; 6]);
        let target = TARGET.map(|y| y as f32);
        objective.derivatives(&[0.0; 6], &target, &[], &mut g, &mut h);
        let message = objective.failure().unwrap();
        assert!(message.contains(expected), "{message}");
        assert!(has_failed() && g == [0.0; 6] && h == [1.0; 6]);
    }

    struct Short;
    impl CustomLoss for Short {
        fn derivatives(&self, _: CustomRows<'_>) -> Result<(Vec<f64>, Vec<f64>), String> {
            Ok((vec![0.0], vec![1.0]))
        }
        fn losses(&self, _: CustomRows<'_>) -> Option<Result<Vec<f64>, String>> {
            Some(Err("raised an error".to_string()))
        }
        fn has_losses(&self) -> bool {
            true
        }
    }
    let short = CustomObjective::new(Arc::new(Short), 0);
    short.examine(&TARGET, &[]);
    assert_eq!(short.failure().unwrap(), "returned 1 values as its gradient, must return 6");
    let failing = CustomObjective::new(Arc::new(Short), 0);
    assert_eq!(failing.loss(&[0.0], &[1.0], &[]), 0.0);
    assert_eq!(failing.failure().unwrap(), "raised an error");
}
