//! Intervals against what theory says, and against each other.

use super::*;
use crate::read::{ReadOptions, Rows, Source, matching};
use swarmwood_model::Model;

/// A model that says `x`, or `yes` where x is above one half, as one rule.
fn model(classes: bool) -> Model {
    let (target, link, leaves) = match classes {
        true => (r#"{"name":"y","classes":["no","yes"]}"#, "sigmoid", "[-1.0,1.0]"),
        false => (r#"{"name":"y"}"#, "identity", "[0.25,0.75]"),
    };
    let text = format!(
        r#"{{"format":"swarmwood","version":1,"objective":"{}","link":"{link}","base":[0.0],
        "provenance":{{"version":"0.1.0","method":"greedy","rows":5,"params":{{}}}},
        "target":{target},"features":[{{"name":"x"}}],
        "trees":[{{"kind":"ordinary","output":0,"feature":[0],"threshold":[0.5],"missing_right":[0],"left":[-1],
        "right":[-2],"gain":[1.0],"cover":[5.0],"leaf":{leaves},"leaf_cover":[2.0,3.0]}}]}}"#,
        if classes { "logistic" } else { "squared" }
    );
    swarmwood_model::from_json(text.as_bytes()).unwrap()
}

fn read(model: &Model, csv: String) -> Rows {
    let source = Source::Bytes("t.csv".into(), csv.leak().as_bytes());
    matching(&source, &model.schema, &ReadOptions { target: "y".into(), ..ReadOptions::default() })
        .unwrap()
}

fn table(model: &Model, rows: usize, seed: u64, line: impl Fn(&mut Stream) -> String) -> Rows {
    let mut stream = Stream::new(seed, 0, 0);
    read(
        model,
        std::iter::once("x,y\n".to_string()).chain((0..rows).map(|_| line(&mut stream))).collect(),
    )
}

/// Right in so many of a hundred cases.
fn classes(rows: usize, seed: u64, right: f64) -> Rows {
    table(&model(true), rows, seed, |stream| {
        let x = stream.unit();
        let hit = (x > 0.5) == (stream.unit() < right);
        format!("{x},{}\n", if hit { "yes" } else { "no" })
    })
}

#[test]
fn the_interval_of_a_share_is_the_binomial_one() {
    let rows = classes(400, 3, 0.8);
    let drawn = Bootstrap::new(&HeldOutRows::predict(&model(true), &rows, 1).unwrap(), 1).unwrap();
    let (share, interval) = (drawn.value("accuracy").unwrap(), drawn.interval("accuracy").unwrap());
    let half = 1.96 * (share * (1.0 - share) / 400.0).sqrt();
    assert!((interval.low - (share - half)).abs() < 0.006, "{share} {interval:?} {half}");
    assert!((interval.high - (share + half)).abs() < 0.006, "{share} {interval:?} {half}");
    assert!(drawn.is_percentile() && drawn.draws() == DRAWS);
}

#[test]
fn the_interval_holds_the_truth_about_as_often_as_it_says() {
    let held = |seed| HeldOutRows::predict(&model(true), &classes(150, seed, 0.7), 1).unwrap();
    let holds = |seed: &u64| {
        let interval = Bootstrap::new(&held(*seed), 1).unwrap().interval("accuracy").unwrap();
        (interval.low..=interval.high).contains(&0.7)
    };
    let held = (0..60).filter(holds).count();
    // 57 of 60 are expected; fewer than 52 come once in a thousand.
    assert!(held >= 52, "{held} of 60");
}

#[test]
fn threads_change_nothing_and_a_model_differs_from_itself_by_nothing() {
    let rows =
        table(&model(false), 200, 5, |stream| format!("{},{}\n", stream.unit(), stream.normal()));
    let held = HeldOutRows::predict(&model(false), &rows, 1).unwrap();
    let (one, two) = (Bootstrap::new(&held, 1).unwrap(), Bootstrap::new(&held, 3).unwrap());
    assert_eq!(one.draws, two.draws);
    let (value, interval) = one.less(&two, "rmse").unwrap();
    assert_eq!((value, interval), (0.0, Interval { low: 0.0, high: 0.0 }));
    assert!(one.interval("nothing").is_none() && one.less(&two, "accuracy").is_none());
    // What is common to both models is no reason for doubt: the difference is surer than the
    // figures.
    let mut other = model(false);
    other.base[0] += 0.3;
    let other = Bootstrap::new(&HeldOutRows::predict(&other, &rows, 1).unwrap(), 1).unwrap();
    let (_, apart) = other.less(&one, "rmse").unwrap();
    let own = one.interval("rmse").unwrap();
    assert!(apart.high - apart.low < own.high - own.low, "{apart:?} {own:?}");
}

#[test]
fn what_draws_do_not_define_has_no_interval() {
    // Of a single class nothing is ranked; of one row of a class, a third of the draws have none.
    let rows = table(&model(true), 4, 1, |stream| format!("{},no\n", stream.unit()));
    let held = |rows: &Rows| HeldOutRows::predict(&model(true), rows, 1).unwrap();
    let drawn = Bootstrap::new(&held(&rows), 1).unwrap();
    assert!(drawn.value("auc").is_none() && drawn.interval("auc").is_none());
    let rows = read(&model(true), "x,y\n0.1,no\n0.2,no\n0.9,yes\n".into());
    let drawn = Bootstrap::new(&held(&rows), 1).unwrap();
    assert!(drawn.value("auc").is_some() && drawn.interval("auc").is_none());
}

#[test]
fn quantiles_lie_between_neighbours() {
    assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
    assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
    assert_eq!((quantile(&[7.0], 0.975), quantile(&[1.0, 3.0], 1.0)), (7.0, 3.0));
    assert_eq!(times(5, 3).iter().sum::<u32>(), 5);
}
