//! End-to-end tests of particle swarms over one tree.

use crate::scratch::Scratch;
use crate::tables::{TestRng, binary, classes, column, regression};

/// A small swarm that is fast.
const SMALL: &str = "--population 20 --iterations 15 --quiet";

/// The methods with flags that suit the tables: a grid has no categories.
const METHODS: [(&str, &str); 3] = [
    ("apso-tree", "--ignore town --grid-thresholds 5"),
    ("tso-tree", "--depth 2"),
    ("split-tree", "--depth 3"),
];

#[test]
fn every_method_trains_on_any_number_of_classes() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 2)).file("c.csv", classes(400, 3));
    for (file, target) in [("b.csv", "sold"), ("c.csv", "colour")] {
        for (method, more) in METHODS {
            let line = format!(
                "train {file} --target {target} --method {method} {more} {SMALL} --json --out m.json"
            );
            let report = dir.run(&line).works().json();
            assert_eq!(
                (&report["method"], &report["rounds"]),
                (&method.into(), &1.into()),
                "{line}"
            );
            let (search, swarm) = (&report["search"], &report["search"]["swarm"]);
            assert_eq!(
                (&swarm["metric"], &search["criterion"]),
                (&"accuracy".into(), &"error".into()),
                "{line}"
            );
            assert!(
                swarm["iterations"].as_u64().is_some_and(|count| (1..=15).contains(&count)),
                "{search}"
            );
            // The fitness of the search is the accuracy of the stored model on the training rows.
            let best = swarm["best"].as_f64().unwrap();
            let stored = dir.run(&format!("evaluate m.json {file} --json")).works().json();
            for accuracy in [&report["metrics"]["train"]["accuracy"], &stored["accuracy"]] {
                assert!(
                    (accuracy.as_f64().unwrap() - best).abs() < 1e-9,
                    "{line}: {best} {accuracy}"
                );
            }
            assert!((search["loss"].as_f64().unwrap() - (1.0 - best)).abs() < 1e-9, "{search}");
            let grid = &swarm["grid"];
            assert_eq!(grid.is_null(), method != "apso-tree", "{swarm}");
            assert!(dir.run("inspect m.json").works().out.contains(method), "{line}");
            dir.run("rules m.json").works();
        }
    }
}

#[test]
fn defaults_are_those_of_the_paper() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(60, 2));
    let train = |line: &str| {
        dir.run(&format!("train b.csv --target sold {line} --quiet --json --out m.json"))
            .works()
            .json()
    };
    let report = train("--method apso-tree --ignore town --time-limit 0.000001");
    let parameters = &report["parameters"];
    for (name, value) in [
        ("population", 100),
        ("iterations", 500),
        ("folds", 5),
        ("grid_thresholds", 0),
        ("max_leaves", 0),
        ("repeats", 1),
    ] {
        assert_eq!(parameters[name], value, "{name}");
    }
    for (name, value) in [
        ("fitness", "accuracy"),
        ("empty_cells", "nearest"),
        ("optimizer", "apso"),
        ("variables", "cart"),
        ("select_by", "training"),
        ("prune", "best"),
    ] {
        assert_eq!(parameters[name], value, "{name}");
    }
    let note = report["notes"][0].as_str().unwrap_or_default();
    assert!(note.ends_with("ended training after 0 iterations"), "{report}");
    let report = train("--method split-tree --iterations 1");
    assert_eq!(
        (&report["parameters"]["population"], &report["parameters"]["alpha"]),
        (&50.into(), &0.45.into())
    );
}

#[test]
fn threads_change_no_byte() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(600, 4)).file("c.csv", classes(300, 5));
    for (file, target) in [("b.csv", "sold"), ("c.csv", "colour")] {
        for (method, more) in METHODS {
            let model = |how: &str| {
                let line = format!(
                    "train {file} --target {target} --method {method} {more} {SMALL} {how} --out m.json"
                );
                dir.run(&line).works();
                dir.read("m.json")
            };
            let one = model("--threads 1");
            assert!(one == model("--threads 2") && one == model("--threads 8"), "{method}");
        }
    }
}

/// Two numbers; the class is whether they are inside a rectangle, so that thresholds interact.
fn squares(rows: usize, seed: u64) -> String {
    let mut rng = TestRng::new(seed);
    let mut text = "x,y,class\n".to_string();
    for _ in 0..rows {
        let (x, y) = (rng.unit(), rng.unit());
        let inside = (0.3..0.7).contains(&x) && (0.2..0.6).contains(&y);
        text.push_str(&format!("{x:.4},{y:.4},{}\n", if inside { "in" } else { "out" }));
    }
    text
}

#[test]
fn a_grid_is_found_and_reported() {
    let dir = Scratch::new();
    dir.file("s.csv", squares(300, 7));
    let text =
        dir.run("train s.csv --target class --method apso-tree --population 30 --iterations 30 --out m.json").works();
    assert!(
        text.out.contains(
            "grid: 4 thresholds on 2 features, 9 cells, 9 with rows; simplified: 4 thresholds, 5 rules"
        ),
        "{text:#?}"
    );
    assert!(
        text.out.contains("greedy tree:") && text.out.contains("after 30 iterations"),
        "{text:#?}"
    );
    // The rectangle needs no more rules than its four sides.
    let report = dir.run(
        "train s.csv --target class --method apso-tree --population 30 --iterations 30 --json --quiet --out m.json",
    );
    let search = &report.works().json()["search"];
    assert_eq!((&search["leaves"], search["loss"].as_f64()), (&5.into(), Some(0.0)), "{search}");
}

#[test]
fn empty_cells_have_the_nearest_or_a_random_class() {
    let dir = Scratch::new();
    // Rows in three corners; the fourth has none. The second corner has most rows.
    let mut csv = "x,y,class\n".to_string();
    for (x, y, class, rows) in [(0, 0, "a", 20), (8, 0, "b", 30), (0, 8, "c", 25)] {
        (0..rows).for_each(|row| {
            csv.push_str(&format!("{},{},{class}\n", x + row % 2, y + row / 2 % 2))
        });
    }
    dir.file("k.csv", &csv).file("far.csv", "x,y\n-50,-50\n99,-50\n-50,99\n99,99\n");
    let predicted = |more: &str| {
        let line = format!(
            "train k.csv --target class --method apso-tree {SMALL} {more} --json --out m.json"
        );
        let grid = dir.run(&line).works().json()["search"]["swarm"]["grid"].clone();
        assert_eq!((&grid["cells"], &grid["occupied_cells"]), (&4.into(), &3.into()), "{grid}");
        dir.run("predict m.json far.csv --out p.csv --quiet").works();
        column(&dir.read("p.csv"), "prediction")
    };
    assert_eq!(predicted(""), ["a", "b", "c", "b"]);
    let mut random_classes: Vec<String> = (0..12)
        .map(|seed| {
            let mut classes = predicted(&format!("--empty-cells random --seed {seed}"));
            assert_eq!(classes[..3], ["a", "b", "c"]);
            classes.swap_remove(3)
        })
        .collect();
    random_classes.sort();
    random_classes.dedup();
    assert_eq!(random_classes, ["a", "b", "c"], "any class is possible");
}

#[test]
fn a_fully_grown_tree_becomes_a_grid_that_is_pruned_to_a_size() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(300, 2));
    let train = |more: &str| {
        let line = format!(
            "train b.csv --target sold --ignore town --method apso-tree --prune none {SMALL} {more} --json --out m.json"
        );
        let report = dir.run(&line).works().json();
        let stored = dir.run("evaluate m.json b.csv --json").works().json();
        let accuracy = stored["accuracy"].as_f64().unwrap();
        (report["search"].clone(), accuracy)
    };
    let (search, accuracy) = train("");
    let grid = &search["swarm"]["grid"];
    assert!(grid["thresholds"].as_u64().unwrap() > 20, "{grid}");
    assert!((accuracy - search["swarm"]["best"].as_f64().unwrap()).abs() < 1e-9, "{search}");
    assert!(grid["kept_thresholds"].as_u64() <= grid["thresholds"].as_u64(), "{grid}");
    let (pruned, lower) = train("--max-leaves 7");
    assert!(pruned["leaves"].as_u64().unwrap() <= 7 && lower <= accuracy, "{pruned}");
    assert!((pruned["loss"].as_f64().unwrap() - (1.0 - lower)).abs() < 1e-9, "{pruned}");
    assert_eq!(pruned["swarm"]["best"], search["swarm"]["best"]);
    let (limited, _) = train("--grid-thresholds 6");
    assert!(limited["swarm"]["choices_per_node"].as_u64().unwrap() <= 6, "{limited}");
}

#[test]
fn optimisers_variables_and_selection_can_be_chosen() {
    let dir = Scratch::new();
    dir.file("c.csv", classes(200, 3));
    let train = |more: &str| {
        let line = format!(
            "train c.csv --target colour --ignore town --method apso-tree {SMALL} {more} --json --out m.json"
        );
        let report = dir.run(&line).works().json();
        let swarm = report["search"]["swarm"].clone();
        let best = swarm["best"].as_f64().unwrap();
        let found = report["metrics"]["train"]["accuracy"].as_f64().unwrap();
        assert!((best - found).abs() < 1e-9, "{more}: {best} {found}");
        swarm
    };
    for optimizer in ["pso", "ga", "de", "annealing", "cmaes", "aco", "random"] {
        let swarm = train(&format!("--grid-thresholds 8 --optimizer {optimizer}"));
        assert_eq!(swarm["evaluations"], 300, "{optimizer}");
        dir.run("rules m.json --merge cells").works();
    }
    train("--grid-thresholds 8 --variables forest");
    let swarm = train("--repeats 2 --select-by cross-validation --folds 3 --prune none");
    assert_eq!((&swarm["grid"]["searched_grids"], &swarm["iterations"]), (&2.into(), &120.into()));
}

#[test]
fn impossible_requests_are_refused_with_a_remedy() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(60, 1)).file("b.csv", binary(300, 2));
    for method in ["apso-tree", "tso-tree"] {
        let parts = [
            "error: method: is",
            method,
            "which is for targets of classes, but the target has numbers",
        ];
        dir.fails(&format!("train r.csv --target price --method {method} --out m.json"), 2, &parts);
    }
    let line = "train r.csv --target price --method split-tree --fitness accuracy --out m.json";
    dir.fails(line, 2, &["fitness: is accuracy, which is for targets of classes"]);
    let apso = "train b.csv --target sold --method apso-tree --out m.json";
    let parts = ["column 'town' holds categories", "--ignore 'town'", "--method swarm-tree"];
    dir.fails(apso, 2, &parts);
    dir.fails(
        &format!("{apso} --fitness rmse"),
        2,
        &["fitness: is rmse, must be auto, accuracy or recall"],
    );
    dir.fails(
        &format!("{apso} --optimizer tpe"),
        2,
        &["optimizer: is 'tpe', must be one of apso, pso"],
    );
    let parts = ["fitness: is recall, must be auto, accuracy, rmse or loss with method sgbdt"];
    dir.fails("train b.csv --target sold --method sgbdt --fitness recall --out m.json", 2, &parts);
    let parts = ["depth: is 9, must be from 1 to 8 with method tso-tree"];
    dir.fails("train b.csv --target sold --method tso-tree --depth 9 --out m.json", 2, &parts);
    let output = dir.run("train b.csv --target sold --method cart --pretrained b.csv --out m.json");
    output.ends(2, &["pretrained: is for methods psgbdt, policy-gradient, split-tree"]);
}

#[test]
fn a_tree_of_split_points_predicts_numbers() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(400, 8));
    let train = |flags: &str| {
        let line = format!(
            "train r.csv --target price --method split-tree {flags} {SMALL} --json --out m.json"
        );
        dir.run(&line).works().json()
    };
    let report = train("--threads 1");
    let search = &report["search"];
    assert_eq!(
        (&search["swarm"]["metric"], &search["criterion"]),
        (&"rmse".into(), &"rmse".into())
    );
    let best = search["swarm"]["best"].as_f64().unwrap();
    let stored = dir.run("evaluate m.json r.csv --json").works().json();
    for rmse in [&report["metrics"]["train"]["rmse"], &stored["rmse"], &search["loss"]] {
        assert!((rmse.as_f64().unwrap() - best).abs() < 1e-6 * best, "{best} {rmse}");
    }
    assert!(stored["r2"].as_f64().unwrap() > 0.3, "{stored}");
    let model = dir.read("m.json");
    train("--threads 3");
    assert!(model == dir.read("m.json"));
}

#[test]
fn a_tree_uses_only_the_splits_of_a_pretrained_model() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 8));
    dir.run("train b.csv --target sold --method greedy --trees 5 --depth 2 --quiet --out g.json")
        .works();
    let line = format!(
        "train b.csv --target sold --method split-tree --depth 2 --pretrained g.json {SMALL} --json --out m.json"
    );
    let report = dir.run(&line).works().json();
    let choices = report["search"]["swarm"]["choices_per_node"].as_u64().unwrap();
    assert!((1..=15).contains(&choices), "{report}");
    // Every threshold of the tree is one of the model's.
    let thresholds = |file: &str| -> Vec<String> {
        let text = dir.run(&format!("inspect {file} --trees 9")).works().out;
        let tokens: Vec<&str> = text.split_whitespace().collect();
        tokens.windows(2).filter(|pair| pair[0] == ">").map(|pair| pair[1].to_string()).collect()
    };
    let (tree, model) = (thresholds("m.json"), thresholds("g.json"));
    assert!(
        !tree.is_empty() && tree.iter().all(|threshold| model.contains(threshold)),
        "{tree:?} {model:?}"
    );
}

#[test]
fn recall_considers_the_rare_class() {
    let dir = Scratch::new();
    // One row in ten is positive, and only a third of the rows above 0.8 are.
    let mut rng = TestRng::new(11);
    let mut csv = "x,y,ill\n".to_string();
    for _ in 0..600 {
        let (x, y) = (rng.unit(), rng.unit());
        let ill = x > 0.8 && rng.unit() < 0.4;
        csv.push_str(&format!("{x:.4},{y:.4},{}\n", if ill { "yes" } else { "no" }));
    }
    dir.file("i.csv", csv);
    let predicted_positives = |fitness: &str| {
        let line = format!(
            "train i.csv --target ill --method tso-tree --depth 1 --population 30 --iterations 40 --fitness {fitness} --quiet --json --out m.json"
        );
        let swarm = dir.run(&line).works().json()["search"]["swarm"].clone();
        dir.run("predict m.json i.csv --out p.csv --quiet").works();
        let ill =
            column(&dir.read("p.csv"), "prediction").iter().filter(|class| *class == "yes").count();
        (swarm["metric"].as_str().unwrap().to_string(), ill)
    };
    assert_eq!(predicted_positives("accuracy"), ("accuracy".to_string(), 0));
    let (metric, positives) = predicted_positives("recall");
    assert!(metric == "recall" && (90..160).contains(&positives), "{positives}");
}
