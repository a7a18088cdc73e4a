//! Models under random interaction constraints and feature budgets: no path holds features of
//! different groups, and no budget is exceeded.

use std::collections::BTreeSet;
use std::fmt::Write;

use swarmwood::params::{Growth, Method, Params, Prune};
use swarmwood::read::{self, ReadOptions, Rows, Source};
use swarmwood::search::rng::Stream;
use swarmwood::train;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "colour"];

/// Rows whose target depends on products of all features.
fn rows(stream: &mut Stream, classes: usize) -> Rows {
    let mut csv = NAMES.join(",") + ",y\n";
    for _ in 0..80 + stream.below(150) {
        let values: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
        let level = stream.below(3) as usize;
        let pairs = values.windows(2).map(|pair| pair[0] * pair[1]);
        let score = pairs.sum::<f64>() + level as f64 * values[0] + 0.3 * stream.normal();
        for value in &values {
            let known = stream.unit() > 0.05;
            write!(csv, "{},", if known { format!("{value:.3}") } else { String::new() }).unwrap();
        }
        let colour = ["red", "green", "blue"][level];
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
fn params(stream: &mut Stream, methods: &[&'static str]) -> Params {
    let method = pick(stream, methods);
    let mut params = Params::of(Method::named(method).unwrap());
    let mut set = |name: &str, value: &str| params.set(name, value).unwrap();
    set("threads", "1");
    set("seed", &stream.below(1000).to_string());
    match method {
        "greedy" => {
            set("growth", pick(stream, &["depth", "leaf", "oblivious"]));
            set("depth", pick(stream, &["3", "4", "5"]));
            set("trees", pick(stream, &["1", "10"]));
            set("learning_rate", pick(stream, &["0.3", "1"]));
            set("max_bin", pick(stream, &["0", "16", "255"]));
            set("booster", pick(stream, &["gbtree", "dart"]));
            if params.growth != Growth::Oblivious {
                params.set("lookahead", pick(stream, &["1", "2"])).unwrap();
            }
        }
        "swarm" => {
            set("total_leaves", pick(stream, &["16", "32"]));
            set("budget", pick(stream, &["60", "300"]));
        }
        "cart" => set("prune", pick(stream, &["best", "none"])),
        "swarm-tree" => {
            set("budget", "10");
            set("population", pick(stream, &["1", "3"]));
        }
        _ => set("budget", "20"),
    }
    params
}

/// Random groups as text, and the positions of each.
fn groups(stream: &mut Stream) -> (String, Vec<Vec<u32>>) {
    let count = 1 + stream.below(3);
    let group = |stream: &mut Stream| -> Vec<u32> {
        let all = (0..NAMES.len() as u32).filter(|_| stream.unit() < 0.4);
        let group: Vec<u32> = all.collect();
        if group.is_empty() { vec![stream.below(6) as u32] } else { group }
    };
    let mut groups: Vec<Vec<u32>> = (0..count).map(|_| group(stream)).collect();
    let text: Vec<String> = groups
        .iter()
        .map(|group| group.iter().map(|&at| NAMES[at as usize]).collect::<Vec<_>>().join(","))
        .collect();
    let named: BTreeSet<u32> = groups.iter().flatten().copied().collect();
    groups.push((0..NAMES.len() as u32).filter(|at| !named.contains(at)).collect());
    (text.join(";"), groups)
}

#[test]
fn no_path_holds_features_that_may_not_interact() {
    let mut stream = Stream::new(21, 0, 0);
    let mut interacting = 0;
    for case in 0..300 {
        let rows = rows(&mut stream, [0, 2, 3][case % 3]);
        let mut params =
            params(&mut stream, &["greedy", "greedy", "swarm", "cart", "swarm-tree", "swarm-tree"]);
        let (text, groups) = groups(&mut stream);
        params.set("interactions", &text).unwrap();
        let checked = params.check().unwrap();

        let model = train::train(&rows, None, &checked, &mut |_| {}).unwrap().model;

        for path in model.path_features() {
            interacting += usize::from(path.len() > 1);
            let holds = |group: &&Vec<u32>| path.iter().all(|feature| group.contains(feature));
            assert!(groups.iter().any(|group| holds(&group)), "{text}: {path:?} in case {case}");
        }
    }
    assert!(interacting > 100, "constraints leave interactions: {interacting}");
}

#[test]
fn words_stand_for_pairs_and_for_no_interactions() {
    let mut stream = Stream::new(22, 0, 0);
    let rows = rows(&mut stream, 0);
    for (text, most) in [("no_interactions", 1), ("pairwise", 2)] {
        for method in [Method::GREEDY, Method::CART] {
            let prune = Prune::None;
            let mut params = Params { threads: 1, prune, ..Params::of(method) };
            params.set("interactions", text).unwrap();
            let checked = params.check().unwrap();
            let model = train::train(&rows, None, &checked, &mut |_| {}).unwrap().model;
            let longest = model.path_features().iter().map(Vec::len).max();
            assert_eq!(longest, Some(most), "{text} {}", method.name());
        }
    }
}

#[test]
fn one_group_of_all_features_changes_nothing() {
    let mut stream = Stream::new(23, 0, 0);
    for case in 0..6 {
        let rows = rows(&mut stream, 0);
        let params = params(&mut stream, &["greedy", "swarm", "cart", "swarm-tree"]);
        let free = params.clone().check().unwrap();
        let mut grouped = params;
        grouped.set("interactions", "*").unwrap();
        let grouped = grouped.check().unwrap();
        let fit = |params| train::train(&rows, None, params, &mut |_| {}).unwrap().model.body;
        assert_eq!(fit(&free), fit(&grouped), "case {case}");
    }
}

#[test]
fn no_model_exceeds_its_feature_budget() {
    let mut stream = Stream::new(24, 0, 0);
    for case in 0..24 {
        let rows = rows(&mut stream, [0, 2, 3][case % 3]);
        let methods = ["greedy", "swarm", "cart", "swarm-tree", "tree-sum"];
        let mut params = params(&mut stream, &methods);
        let most = 1 + stream.below(4) as usize;
        params.max_features = most;
        params.set("feature_cost", "a:3,b:0.5").unwrap();
        params.max_feature_cost = 1.0 + stream.below(4) as f64;
        let limit = params.max_feature_cost;
        let checked = params.check().unwrap();

        let trained = train::train(&rows, None, &checked, &mut |_| {}).unwrap();

        let used: BTreeSet<u32> = trained.model.path_features().into_iter().flatten().collect();
        let cost = |&at: &u32| [3.0, 0.5].get(at as usize).copied().unwrap_or(1.0);
        assert!(used.len() <= most, "{used:?} of {most}");
        assert!(used.iter().map(cost).sum::<f64>() <= limit, "{used:?} for {limit}");
        let report = trained.features.unwrap();
        assert!(used.iter().all(|&at| report.features.contains(&(at as usize))));
    }
}

#[test]
fn other_methods_refuse_by_name_and_unknown_features_are_said() {
    for (name, value) in [("interactions", "a,b"), ("max_features", "3")] {
        let mut params = Params::of(Method::APSO_TREE);
        params.set(name, value).unwrap();
        let error = params.check().unwrap_err().to_string();
        assert!(error.contains("cannot be satisfied by method apso-tree"), "{error}");
    }
    let mut params = Params::of(Method::GREEDY);
    params.set("feature_cost", "a:3").unwrap();
    let error = params.clone().check().unwrap_err().to_string();
    assert!(error.contains("feature_cost: needs a limit"), "{error}");

    let rows = rows(&mut Stream::new(25, 0, 0), 0);
    params.set("max_feature_cost", "3").unwrap();
    params.set("feature_cost", "coluor:3").unwrap();
    let checked = params.check().unwrap();
    let error = train::train(&rows, None, &checked, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("did you mean 'colour'?"), "{error}");
}
