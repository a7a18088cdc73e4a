//! Trees begin with the splits that are given, whatever else is asked of them.

use std::collections::BTreeSet;
use std::fmt::Write;

use swarmwood::model::monotone::{Direction, MonotoneCheck, check};
use swarmwood::model::{Child, Model, Shape, Split, Test, Tree};
use swarmwood::params::{Method, Params};
use swarmwood::read::{self, ReadOptions, Rows, Source};
use swarmwood::search::rng::Stream;
use swarmwood::train;

const LEVELS: [&str; 3] = ["red", "green", "blue"];

/// Rows of three numbers with missing values and a category.
fn rows(stream: &mut Stream, classes: usize) -> Rows {
    let mut csv = "a,b,c,colour,y\n".to_string();
    for _ in 0..120 + stream.below(200) {
        let values: Vec<f64> = (0..3).map(|_| stream.normal()).collect();
        let level = stream.below(3) as usize;
        let score = values[0] * values[1] + values[2] + level as f64 + 0.3 * stream.normal();
        for value in &values {
            let known = stream.unit() > 0.1;
            write!(csv, "{},", if known { format!("{value:.3}") } else { String::new() }).unwrap();
        }
        let colour = LEVELS[level];
        match classes {
            0 => writeln!(csv, "{colour},{score:.4}").unwrap(),
            classes => {
                let class = ((score + 2.0) / 2.0).clamp(0.0, classes as f64 - 1.0) as usize;
                writeln!(csv, "{colour},c{class}").unwrap();
            }
        }
    }
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    read::training(&Source::Bytes("random.csv".into(), csv.leak().as_bytes()), &options).unwrap()
}

fn pick(stream: &mut Stream, words: &[&'static str]) -> &'static str {
    words[stream.below(words.len() as u64) as usize]
}

/// A random method with random settings.
fn params(stream: &mut Stream, method: &'static str) -> Params {
    let mut params = Params::of(Method::named(method).unwrap());
    let mut set = |name: &str, value: &str| params.set(name, value).unwrap();
    set("threads", "1");
    set("seed", &stream.below(1000).to_string());
    match method {
        "greedy" => {
            set("growth", pick(stream, &["depth", "leaf"]));
            set("depth", pick(stream, &["2", "3", "5"]));
            set("trees", pick(stream, &["1", "10"]));
            set("max_leaves", pick(stream, &["0", "4", "9"]));
            set("max_bin", pick(stream, &["0", "2", "16", "255"]));
            set("booster", pick(stream, &["gbtree", "dart"]));
            set("lookahead", pick(stream, &["1", "2"]));
            set("subsample", pick(stream, &["1", "0.5"]));
            set("colsample_bytree", pick(stream, &["1", "0.5"]));
        }
        "swarm" => {
            set("total_leaves", pick(stream, &["16", "32"]));
            set("budget", pick(stream, &["60", "200"]));
        }
        "cart" => {
            set("prune", pick(stream, &["best", "1-se", "none"]));
            set("thresholds", pick(stream, &["0", "5"]));
        }
        _ => {
            set("budget", "10");
            set("thresholds", pick(stream, &["0", "5"]));
            set("max_leaves", pick(stream, &["0", "5"]));
            set("population", pick(stream, &["1", "2"]));
        }
    }
    params
}

/// A random split with splits below it, as JSON.
fn split(stream: &mut Stream, depth: usize) -> String {
    let test = match stream.below(4) {
        3 => format!("\"feature\": \"colour\", \"in\": [\"{}\"]", pick(stream, &LEVELS)),
        at => {
            let threshold = 0.8 * stream.unit() - 0.4;
            format!("\"feature\": {at}, \"threshold\": {threshold}")
        }
    };
    let missing = pick(stream, &["", ", \"missing\": \"left\"", ", \"missing\": \"right\""]);
    let below = match pick(stream, &["", "left", "right"]) {
        side if depth > 1 && !side.is_empty() => {
            format!(", \"{side}\": {}", split(stream, depth - 1))
        }
        _ => String::new(),
    };
    format!("{{{test}{missing}{below}}}")
}

/// Whether a tree begins with the splits of a JSON object.
fn begins_with(tree: &Tree, at: Child, wanted: &serde_json::Value, model: &Model) -> bool {
    if wanted.is_null() {
        return true;
    }
    let Child::Node(node) = at else { return false };
    let node = &tree.nodes[node as usize];
    says(&node.split, wanted, model)
        && begins_with(tree, node.left, &wanted["left"], model)
        && begins_with(tree, node.right, &wanted["right"], model)
}

fn says(split: &Split, wanted: &serde_json::Value, model: &Model) -> bool {
    let features = &model.schema.features;
    let feature = match &wanted["feature"] {
        serde_json::Value::String(name) => features.iter().position(|one| one.name == *name),
        at => at.as_u64().map(|at| at as usize),
    };
    let test = match &split.test {
        Test::Above(threshold) => wanted["threshold"].as_f64() == Some(*threshold),
        Test::In(set) => {
            let swarmwood::model::Kind::Category { levels } = &features[3].kind else {
                return false;
            };
            (0..)
                .zip(levels)
                .all(|(code, level)| set.contains(code) != (wanted["in"][0] == **level))
        }
    };
    let missing = match wanted["missing"].as_str() {
        Some(side) => split.missing_right == (side == "right"),
        None => true,
    };
    feature == Some(split.feature as usize) && test && missing
}

fn trees(model: &Model) -> Vec<&Tree> {
    let members = model.members().iter();
    members
        .map(|member| match &member.shape {
            Shape::Ordinary(tree) => tree,
            Shape::Vector(vector) => &vector.tree,
            Shape::Oblivious(_) => panic!("no oblivious tree has given splits"),
        })
        .collect()
}

#[test]
fn every_tree_begins_with_the_given_splits() {
    let mut stream = Stream::new(23, 0, 0);
    let (mut trained, mut larger) = (0, 0);
    for case in 0..300 {
        let rows = rows(&mut stream, [0, 2, 3][case % 3]);
        let method = pick(&mut stream, &["greedy", "greedy", "swarm", "cart", "swarm-tree"]);
        let mut params = params(&mut stream, method);
        let text = split(&mut stream, 2);
        params.set("first_split", &text).unwrap();
        let checked = params.clone().check().unwrap();

        // A side of a split may be without rows.
        let Ok(result) = train::train(&rows, None, &checked, &mut |_| {}) else { continue };

        trained += 1;
        if case % 10 == 0 {
            params.set("threads", "3").unwrap();
            let checked = params.check().unwrap();
            let again = train::train(&rows, None, &checked, &mut |_| {}).unwrap();
            assert_eq!(again.model.body, result.model.body, "case {case}: {method}");
        }
        let wanted: serde_json::Value = serde_json::from_str(&text).unwrap();
        for tree in trees(&result.model) {
            larger += usize::from(tree.nodes.len() > 2);
            let root = if tree.nodes.is_empty() { Child::Leaf(0) } else { Child::Node(0) };
            let begins = begins_with(tree, root, &wanted, &result.model);
            assert!(begins, "case {case}: {method}: {text}\n{tree:#?}");
        }
    }
    assert!(trained > 200 && larger > 500, "{trained} models, {larger} trees with more splits");
}

#[test]
fn given_splits_are_kept_beside_monotone_features_groups_and_budgets() {
    let mut stream = Stream::new(24, 0, 0);
    for case in 0..40 {
        let rows = rows(&mut stream, [0, 2][case % 2]);
        let method = ["greedy", "swarm", "cart", "swarm-tree"][case / 2 % 4];
        let mut params = params(&mut stream, method);
        params.set("first_split", "a<=0.1").unwrap();
        params.set("monotone", "a:+,c:+").unwrap();
        params.set("interactions", "a,colour;b,c").unwrap();
        params.set("max_features", "2").unwrap();
        let model = train::train(&rows, None, &params.check().unwrap(), &mut |_| {}).unwrap().model;

        let wanted = serde_json::json!({"feature": "a", "threshold": 0.1});
        for tree in trees(&model) {
            assert!(begins_with(tree, Child::Node(0), &wanted, &model), "case {case}: {method}");
        }
        let used: BTreeSet<u32> = model.path_features().into_iter().flatten().collect();
        assert!(used.len() <= 2 && used.contains(&0), "case {case}: {used:?}");
        let together = |path: &Vec<u32>| path.iter().all(|at| [0, 3].contains(at));
        assert!(model.path_features().iter().all(together), "case {case}");
        for feature in [0, 2] {
            let found = check(&model, feature, Direction::Increasing).unwrap();
            assert!(matches!(found, MonotoneCheck::Proven { .. }), "case {case}: {method}");
        }
    }
}
