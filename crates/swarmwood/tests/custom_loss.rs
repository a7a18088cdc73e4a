//! Losses of one's own: the same derivatives give the same model, whatever computes them.

use std::sync::Arc;

use swarmwood::learn::objective::{self, CustomLoss, CustomRows, ObjectiveConfig};
use swarmwood::model::Body;
use swarmwood::params::{Booster, Method, ObjectiveChoice, Params};
use swarmwood::read::{self, ReadOptions, Rows, Source};
use swarmwood::train::{TrainOptions, TrainResult, train_with};

/// The squared loss; the derivatives of a row can be replaced.
struct SquaredLoss {
    has_losses: bool,
    faulty: bool,
}

impl CustomLoss for SquaredLoss {
    fn derivatives(&self, rows: CustomRows<'_>) -> Result<(Vec<f64>, Vec<f64>), String> {
        if self.faulty && rows.score.iter().any(|&score| score != rows.score[0]) {
            return Err("raised ZeroDivisionError: division by zero".to_string());
        }
        let g = rows.score.iter().zip(rows.target).map(|(score, target)| score - target);
        Ok((g.collect(), vec![1.0; rows.score.len()]))
    }
    fn losses(&self, rows: CustomRows<'_>) -> Option<Result<Vec<f64>, String>> {
        let losses = rows.score.iter().zip(rows.target).map(|(s, y)| 0.5 * (s - y) * (s - y));
        self.has_losses.then(|| Ok(losses.collect()))
    }
    fn has_losses(&self) -> bool {
        self.has_losses
    }
}

fn rows() -> Rows {
    let mut csv = String::from("a,b,y\n");
    for row in 0..600u32 {
        let (a, b) = (row * 7 % 101, row * 13 % 37);
        csv += &format!("{a},{b},{}\n", 2000.0 + f64::from(a * b % 53) / 7.0 + f64::from(a) / 9.0);
    }
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    let csv: &'static str = csv.leak();
    read::training(&Source::Bytes("rows.csv".into(), csv.as_bytes()), &options).unwrap()
}

fn train(params: &Params, loss: Option<SquaredLoss>) -> swarmwood::Result<TrainResult> {
    let custom_loss = loss.map(|loss| Arc::new(loss) as Arc<dyn CustomLoss>);
    let options = TrainOptions { custom_loss, ..TrainOptions::default() };
    train_with(&rows(), None, &params.clone().check()?, &options, &mut |_| {})
}

fn loss(has_losses: bool) -> Option<SquaredLoss> {
    Some(SquaredLoss { has_losses, faulty: false })
}

#[test]
fn the_same_derivatives_give_the_same_trees() {
    let squared = ObjectiveChoice::named("squared").unwrap();
    let of = |method| Params { objective: squared, ..Params::of(method) };
    let greedy = Params { trees: 30, depth: 3, ..of(Method::GREEDY) };
    let all = [
        (greedy.clone(), false),
        (Params { booster: Booster::Dart, ..greedy.clone() }, true),
        (Params { subsample: 0.6, threads: 3, ..greedy }, false),
        (Params { trees: 3, max_leaves: 4, ..of(Method::SWARM) }, true),
    ];
    for (params, has_losses) in all {
        let own = train(&params, loss(has_losses)).unwrap().model;
        let built_in = train(&params, None).unwrap().model;
        assert_eq!((own.base, own.body), (built_in.base, built_in.body), "{params:?}");
        assert_eq!(own.objective, "custom");
        assert_eq!(own.provenance.params["objective"], "custom");
    }
}

#[test]
fn an_error_of_the_loss_ends_the_run() {
    for method in [Method::GREEDY, Method::SWARM] {
        let faulty = SquaredLoss { has_losses: true, faulty: true };
        let params = Params { max_leaves: 4, depth: 0, ..Params::of(method) };
        let params = if method == Method::GREEDY { Params::of(method) } else { params };
        let error = train(&params, Some(faulty)).err().map(|error| error.to_string());
        let expected = "objective: raised ZeroDivisionError: division by zero";
        assert_eq!(error.as_deref(), Some(expected));
    }
}

#[test]
fn methods_that_cannot_say_so() {
    let refused = |params: Params, has_losses: bool| {
        train(&params, loss(has_losses)).err().map_or(String::new(), |error| error.to_string())
    };
    let tree = refused(Params::of(Method::CART), true);
    assert!(tree.contains("for methods swarm, greedy; the method is cart"), "{tree}");
    let values = refused(Params::of(Method::SWARM), false);
    assert!(values.contains("give a function for its values"), "{values}");
    let linear = Params { booster: Booster::Gblinear, ..Params::of(Method::GREEDY) };
    assert!(refused(linear, true).contains("not for gblinear"));
    let trees = train(&Params { trees: 1, ..Params::of(Method::GREEDY) }, loss(false)).unwrap();
    assert!(matches!(trees.model.body, Body::Trees(trees) if trees.len() == 1));
}

/// The derivatives of the library's own logistic loss, as a loss of one's own.
struct OwnLogistic;

impl CustomLoss for OwnLogistic {
    fn derivatives(&self, rows: CustomRows<'_>) -> Result<(Vec<f64>, Vec<f64>), String> {
        let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<_>>();
        let (score, target) = (narrow(rows.score), narrow(rows.target));
        let (mut g, mut h) = (vec![0.0; score.len()], vec![0.0; score.len()]);
        let config = ObjectiveConfig::named("logistic", 2, |_| 1.0).ok_or("no logistic loss")?;
        objective::make(&config).derivatives(&score, &target, &[], &mut g, &mut h);
        let wide = |values: Vec<f32>| values.into_iter().map(f64::from).collect();
        Ok((wide(g), wide(h)))
    }
    fn losses(&self, _: CustomRows<'_>) -> Option<Result<Vec<f64>, String>> {
        None
    }
    fn has_losses(&self) -> bool {
        false
    }
}

#[test]
fn the_derivatives_of_the_logistic_loss_give_its_model_to_the_bit() {
    let mut csv = String::from("a,b,y\n");
    for row in 0..600u32 {
        let (a, b) = (row * 7 % 101, row * 13 % 37);
        csv += &format!("{a},{b},{}\n", ["no", "yes"][usize::from(a * b % 53 > 20 + a / 5)]);
    }
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    let csv: &'static str = csv.leak();
    let rows = read::training(&Source::Bytes("rows.csv".into(), csv.as_bytes()), &options).unwrap();
    let params = Params { trees: 30, depth: 3, ..Params::of(Method::GREEDY) };
    let fit = |custom_loss: Option<Arc<dyn CustomLoss>>| {
        let options = TrainOptions { custom_loss, ..TrainOptions::default() };
        let params = params.clone().check().unwrap();
        train_with(&rows, None, &params, &options, &mut |_| {}).unwrap().model
    };
    let (built_in, custom) = (fit(None), fit(Some(Arc::new(OwnLogistic))));
    assert_eq!((built_in.base, built_in.body), (custom.base, custom.body));
}
