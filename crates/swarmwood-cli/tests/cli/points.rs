//! Whole points in leaves, score cards and reason codes.

use serde_json::Value;

use crate::scratch::Scratch;
use crate::tables::{binary, classes, regression};

fn dir() -> Scratch {
    let dir = Scratch::new();
    dir.file("r.csv", regression(500, 1))
        .file("b.csv", binary(500, 2))
        .file("c.csv", classes(500, 3));
    dir
}

#[test]
fn leaves_are_whole_points_and_close_to_the_fitted_model() {
    let dir = dir();
    for (data, metric) in [
        ("r.csv --target price", "rmse"),
        ("b.csv --target sold", "logloss"),
        ("c.csv --target colour", "logloss"),
    ] {
        for method in [
            "greedy --trees 10 --depth 3",
            "greedy --growth oblivious --trees 6 --depth 3",
            "tree-sum",
            "cart",
        ] {
            let train = format!("train {data} --method {method} --quiet");
            dir.run(&format!("{train} --out plain.json")).works();
            dir.run(&format!("{train} --points 0..100 --out m.json")).works();
            dir.run(&format!("{train} --points 100 --threads 1 --out again.json")).works();
            assert_eq!(dir.read("m.json"), dir.read("again.json"), "{method}");

            let model: Value = serde_json::from_str(&dir.read("m.json")).unwrap();
            let unit = model["points_unit"].as_f64().unwrap();
            let mut leaves = 0;
            for tree in model["trees"].as_array().unwrap() {
                let flat = |value: &Value| -> Vec<f64> {
                    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
                    list.iter()
                        .flat_map(|one| match one.as_array() {
                            Some(of_leaf) => {
                                of_leaf.iter().map(|one| one.as_f64().unwrap()).collect()
                            }
                            None => vec![one.as_f64().unwrap()],
                        })
                        .collect()
                };
                for value in flat(&tree["leaf"]).into_iter().chain(flat(&tree["values"])) {
                    let points = value / unit;
                    assert!((points - points.round()).abs() < 1e-9, "{method}: {points}");
                    assert!((0.0..=100.5).contains(&points), "{method}: {points}");
                    leaves += 1;
                }
            }
            assert!(leaves > 3, "{method}");
            let of = |name: &str| {
                let data = data.split(' ').next().unwrap();
                dir.run(&format!("evaluate {name} {data} --json")).works().json()[metric]
                    .as_f64()
                    .unwrap()
            };
            let (plain, points) = (of("plain.json"), of("m.json"));
            assert!(points < plain * 1.02 + 0.01, "{data} {method}: {points} and {plain}");
        }
    }
}

#[test]
fn a_score_card_has_whole_points_and_totals() {
    let dir = dir();
    let train = "train b.csv --target sold --method tree-sum --points 0..20 --quiet --out m.json";
    dir.run(train).works();
    let text = dir.run("rules m.json").works().out;
    assert!(text.contains("times the total points"), "{text}");
    assert!(text.contains("total points and their prediction"), "{text}");
    let card = dir.run("rules m.json --format markdown").works().out;
    assert!(card.contains("| total points | prediction |"), "{card}");
    let inspected = dir.run("inspect m.json --json").works().json();
    assert!(inspected["points_unit"].as_f64().unwrap() > 0.0);
    dir.run(
        "train b.csv --target sold --method greedy --booster gblinear --points 0..9 --out l.json",
    )
    .ends(2, &["points: is for trees"]);
    dir.run("train b.csv --target sold --points 1..9 --out l.json")
        .ends(2, &["points: is", "0..100"]);
}

#[test]
fn integer_leaves_are_signed_integers_of_so_many_bits() {
    let dir = dir();
    for (data, bits) in [("r.csv --target price", 4), ("c.csv --target colour", 8)] {
        for method in ["greedy --trees 6 --depth 3", "cart", "tree-sum --budget 5"] {
            let train = format!("train {data} --method {method} --quiet");
            dir.run(&format!("{train} --integer-leaves {bits} --out m.json")).works();
            let model: Value = serde_json::from_str(&dir.read("m.json")).unwrap();
            let unit = model["points_unit"].as_f64().unwrap();
            let most = f64::from(1 << (bits - 1));
            let (mut least, mut greatest) = (0.0_f64, 0.0_f64);
            for tree in model["trees"].as_array().unwrap() {
                let lists =
                    [&tree["leaf"], &tree["values"]].into_iter().filter_map(Value::as_array);
                let each = |one: &Value| match one.as_array() {
                    Some(of_leaf) => of_leaf.clone(),
                    None => vec![one.clone()],
                };
                for value in lists.flatten().flat_map(each) {
                    let number = value.as_f64().unwrap() / unit;
                    assert!((number - number.round()).abs() < 1e-9, "{method}: {number}");
                    assert!(number > -most - 0.5 && number < most - 0.5, "{method}: {number}");
                    (least, greatest) = (least.min(number), greatest.max(number));
                }
            }
            assert!(least < -0.5 && greatest > 0.5, "{method}: {least} {greatest}");
        }
    }
    let train = "train r.csv --target price --method greedy --trees 3 --out m.json";
    dir.run(&format!("{train} --integer-leaves 8 --points 0..9"))
        .ends(2, &["integer_leaves", "points"]);
    dir.run(&format!("{train} --integer-leaves 1")).ends(2, &["integer_leaves", "from 2 to 16"]);
    dir.run(&format!("{train} --integer-leaves 8 --booster gblinear"))
        .ends(2, &["integer_leaves", "trees"]);
}

#[test]
fn json_has_the_points_of_the_card() {
    let dir = dir();
    dir.run("train b.csv --target sold --method tree-sum --points 0..20 --quiet --out m.json")
        .works();
    let card = dir.run("rules m.json --format json").works().json();
    let groups = card["groups"].as_array().unwrap();
    let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
    let points: Vec<i64> = rules.map(|rule| rule["points"][0].as_i64().unwrap()).collect();
    assert!(points.iter().all(|points| (0..=20).contains(points)), "{points:?}");
    assert!(points.iter().any(|&points| points > 1), "{points:?}");
}

#[test]
fn reasons_are_the_largest_contributions() {
    let dir = dir();
    for (data, target) in [("r.csv", "price"), ("c.csv", "colour")] {
        dir.run(&format!(
            "train {data} --target {target} --method greedy --trees 5 --quiet --out m.json"
        ))
        .works();
        let out = dir.run(&format!("predict m.json {data} --reasons 2")).works().out;
        let header = out.lines().next().unwrap();
        assert!(
            header.ends_with("reason_1,reason_contribution_1,reason_2,reason_contribution_2"),
            "{header}"
        );
        for line in out.lines().skip(1) {
            let cells: Vec<&str> = line.rsplitn(5, ',').collect();
            let size = |cell: &str| cell.parse::<f64>().unwrap_or(0.0).abs();
            assert!(size(cells[2]) >= size(cells[0]), "{line}");
            assert!(["size", "age", "town", ""].contains(&cells[3]), "{line}");
        }
    }
    dir.run("train r.csv --target price --method greedy --trees 5 --quiet --out m.json").works();
    let reasons = dir.run("predict m.json r.csv --reasons 1").works().out;
    let all = dir.run("predict m.json r.csv --contributions").works().out;
    for (reason, all) in reasons.lines().zip(all.lines()).skip(1) {
        let told: f64 = reason.rsplit(',').next().unwrap().parse().unwrap();
        let values: Vec<f64> = all.split(',').take(3).map(|cell| cell.parse().unwrap()).collect();
        let largest =
            values.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        assert_eq!(told, largest);
    }
}
