//! Search spaces and configuration files.

use swarmwood::params::Gather;
use swarmwood::search::TrialResult;
use swarmwood::search::options::EngineOptions;
use swarmwood::tune::{engine, space_file};

use crate::json_text::mutate_json;
use crate::lines::{mutate_fields, mutate_lines, mutate_quotes};
use crate::scratch;
use crate::target::FuzzTarget;

/// Search spaces, and the first points of an engine in them.
pub const SPACE: FuzzTarget = FuzzTarget {
    name: "space",
    description: "search spaces in TOML and JSON, and engines in them",
    seeds: space_seeds,
    mutators: &[mutate_fields, mutate_fields, mutate_lines, mutate_json],
    repair: None,
    describe: None,
    run: run_space,
};

/// Configuration files.
pub const CONFIG: FuzzTarget = FuzzTarget {
    name: "config",
    description: "configuration files in TOML",
    seeds: config_seeds,
    mutators: &[mutate_fields, mutate_fields, mutate_lines, mutate_quotes],
    repair: None,
    describe: None,
    run: run_config,
};

const TOML: &str = "\
[booster]
type = \"choice\"
values = [\"gbtree\", \"gblinear\"]

[max_depth]
type = \"integer\"
low = 1
high = 12
when = { booster = [\"gbtree\"] }

[learning_rate]
type = \"real\"
low = 0.01
high = 0.3
scale = \"log\"

[bins]
type = \"list\"
values = [16, 64, 255]
";

fn space_seeds() -> Vec<Vec<u8>> {
    let space = space_file::parse("seed", TOML).expect("a valid space");
    let json = space_file::to_json(&space).to_string();
    let object = r#"{"a":{"type":"integer","low":-5,"high":5},"b":{"type":"choice","values":["x","y"],"when":{"a":[1,2]}}}"#;
    // The first byte chooses the engine.
    [TOML, &json, object].into_iter().map(|text| format!("1{text}").into_bytes()).collect()
}

fn run_space(input: &[u8]) -> bool {
    let Some((&first, text)) = input.split_first() else { return false };
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let Ok(space) = space_file::parse("space", text) else { return false };
    let json = space_file::to_json(&space);
    assert_eq!(space_file::from_json(&json).as_ref(), Ok(&space), "a space is read as written");

    let names = engine::names();
    let (name, _) = names[usize::from(first) % names.len()];
    let Ok(mut engine) = engine::make(name, &EngineOptions::DEFAULTS, &space, 1) else {
        return true;
    };
    for round in 0..2 {
        let trials = engine.ask(3);
        let is_inside = |point| space.contains(point);
        assert!(trials.iter().all(|trial| is_inside(&trial.point)), "{name} left the space");
        let results: Vec<TrialResult> = trials
            .iter()
            .map(|trial| TrialResult::Complete {
                id: trial.id,
                loss: (trial.id % 3 + round) as f64,
            })
            .collect();
        engine.tell(&results);
    }
    true
}

fn config_seeds() -> Vec<Vec<u8>> {
    let all = "method = \"greedy\"\ntrees = 20\nlearning_rate = 0.1\nmax-depth = 4\n\
        objective = \"huber\"\nhuber_delta = 2.5\ntarget = \"y\"\nignore = [\"a\", \"b\"]\n";
    let tree = "method = 'swarm-tree'\ncosts = '0,1;5,0'\nguard = false\nbudget = 8 # descents\n";
    [all, tree, "trees = [1]\n[table]\nx = 1\n"].map(|text| text.as_bytes().to_vec()).to_vec()
}

fn run_config(input: &[u8]) -> bool {
    let path = scratch::file("config", input);
    let mut gather = Gather::default();
    let others = gather.config(&path, &["target", "ignore"]);
    others.is_ok() && gather.finish().is_ok()
}
