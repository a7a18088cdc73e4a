//! The recipe "an objective" of CONTRIBUTING.md, carried out with nothing but its steps: the
//! log-cosh loss, smooth near the target and absolute far from it.

use swarmwood::learn::objective::{
    Objective, ObjectiveConfig, ObjectiveMetric, ObjectiveSpec, ObjectiveTargets, contract, make,
};
use swarmwood::model::Link;
use swarmwood::params::{Method, ObjectiveChoice, Params};
use swarmwood::read::{self, ReadOptions, Source};
use swarmwood::train;

/// Step 1: the type, its derivatives, its description.
struct LogCosh;

static LOG_COSH: ObjectiveSpec = ObjectiveSpec {
    name: "log-cosh",
    help: "logarithm of the hyperbolic cosine: squared error near the target, absolute far from it",
    targets: ObjectiveTargets::Numbers,
    parameter: None,
    metric: Some(ObjectiveMetric {
        name: "log_cosh",
        of_row: |_, prediction, target| Some(log_cosh(prediction - target)),
        root: false,
    }),
    check: |_| Ok(()),
    make: |_| Box::new(LogCosh),
};

/// `ln cosh r`, without overflow.
fn log_cosh(residual: f64) -> f64 {
    let size = residual.abs();
    size + (-2.0 * size).exp().ln_1p() - std::f64::consts::LN_2
}

impl Objective for LogCosh {
    fn name(&self) -> &'static str {
        LOG_COSH.name
    }
    fn link(&self) -> Link {
        Link::Identity
    }
    fn shift_invariant(&self) -> bool {
        true
    }
    /// The sum of `tanh` rises with the score: its zero is found by bisection.
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        let slope = |at: f64| -> f64 {
            let of_row =
                |(row, y): (usize, &f64)| weight.get(row).copied().unwrap_or(1.0) * (at - y).tanh();
            target.iter().enumerate().map(of_row).sum()
        };
        let mut low = target.iter().copied().fold(f64::INFINITY, f64::min);
        let mut high = target.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for _ in 0..200 {
            let middle = low + (high - low) / 2.0;
            if slope(middle) < 0.0 { low = middle } else { high = middle }
        }
        vec![low + (high - low) / 2.0]
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        for row in 0..score.len() {
            let weight = weight.get(row).copied().unwrap_or(1.0);
            let tanh = f64::from(score[row] - target[row]).tanh();
            g[row] = weight * tanh as f32;
            h[row] = weight * (1.0 - tanh * tanh) as f32;
        }
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        let of_row = |row: usize| {
            let weight = f64::from(weight.get(row).copied().unwrap_or(1.0));
            weight * log_cosh(f64::from(score[row]) - f64::from(target[row]))
        };
        (0..score.len()).map(of_row).sum()
    }
}

/// Step 2 is a line in `OBJECTIVES`; a test names the objective instead.
fn params() -> Params {
    let objective = ObjectiveChoice::Is(&LOG_COSH);
    Params { objective, trees: 60, depth: 2, lambda: 0.0, ..Params::of(Method::GREEDY) }
}

#[test]
fn the_contract_holds() {
    let objective = make(&ObjectiveConfig::new(&LOG_COSH, 0, |_| 0.0));
    let target = [0.5, -1.0, 2.0, 2.0, 7.5];
    let score = [0.0, 0.3, -1.5, 2.0, 4.0];
    for weight in [&[][..], &[1.0, 0.5, 2.0, 0.0, 3.0]] {
        contract::check(&*objective, contract::Case { target: &target, score: &score, weight })
            .unwrap();
    }
}

#[test]
fn an_objective_of_ones_own_trains_is_measured_and_recorded() {
    let csv = b"x,y\n1,1.1\n2,0.9\n3,1.0\n4,1.2\n5,5.1\n6,4.9\n7,5.0\n8,50\n";
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    let rows = read::training(&Source::Bytes("step.csv".into(), csv), &options).unwrap();

    let trained = train::train(&rows, None, &params().check().unwrap(), &mut |_| {}).unwrap();

    assert_eq!(trained.model.objective, "log-cosh");
    assert_eq!(trained.model.provenance.params["objective"], "log-cosh");
    let metric = trained.train_metrics.iter().find(|metric| metric.0 == "log_cosh").unwrap().1;
    // The best constant, 1.2, is far from the outlier and from four more rows.
    let constant = [0.1, 0.3, 0.2, 0.0, 3.9, 3.7, 3.8, 48.8].map(log_cosh).iter().sum::<f64>();
    assert!(metric < constant / 8.0, "{metric}");
}

#[test]
fn it_is_refused_for_classes() {
    let csv = b"x,y\n1,a\n2,b\n3,a\n";
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    let rows = read::training(&Source::Bytes("classes.csv".into(), csv), &options).unwrap();
    let refused = train::train(&rows, None, &params().check().unwrap(), &mut |_| {}).unwrap_err();
    assert!(refused.to_string().contains("which is for targets of numbers"), "{refused}");
}
