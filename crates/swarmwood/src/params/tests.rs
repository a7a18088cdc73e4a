use proptest::prelude::*;

use super::*;
use crate::error::Error;

fn names(error: Error) -> Vec<String> {
    match error {
        Error::Parameters(violations) => {
            violations.iter().map(|violation| violation.name().to_string()).collect()
        }
        other => panic!("not a parameter error: {other}"),
    }
}

#[test]
fn defaults_pass_and_survive_their_own_text() {
    let mut params = Params::default();
    for spec in TABLE {
        params.set(spec.name, &spec.default_text()).unwrap();
    }
    assert_eq!(params, Params::default());
    assert!(params.check().is_ok());
}

#[test]
fn every_name_is_said_once() {
    let mut all: Vec<&str> =
        TABLE.iter().flat_map(|spec| spec.aliases.iter().copied().chain([spec.name])).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn every_line_of_help_is_a_line() {
    for spec in TABLE {
        assert!(
            !spec.help.is_empty() && !spec.help.contains('\n') && !spec.help.ends_with('.'),
            "{}",
            spec.name
        );
    }
}

#[test]
fn all_violations_come_together() {
    let params = Params {
        trees: 0,
        depth: 20,
        growth: Growth::Oblivious,
        learning_rate: f64::NAN,
        max_bin: 256,
        quantile: 1.0,
        max_leaves: 1,
        ..Params::of(Method::GREEDY)
    };
    assert_eq!(
        names(params.check().unwrap_err()),
        ["trees", "learning_rate", "max_bin", "quantile", "depth", "max_leaves"]
    );
}

#[test]
fn a_violation_says_what_was_given_and_what_is_allowed() {
    let error = Params { subsample: 1.5, ..Params::default() }.check().unwrap_err();
    assert_eq!(error.to_string(), "subsample: is 1.5, must be a number above 0, at most 1");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn no_limit_on_the_depth_is_for_leaf_growth() {
    for growth in [Growth::Depth, Growth::Oblivious] {
        assert_eq!(
            names(Params { depth: 0, growth, ..Params::of(Method::GREEDY) }.check().unwrap_err()),
            ["depth"]
        );
    }
    assert!(
        Params { depth: 0, growth: Growth::Leaf, ..Params::of(Method::GREEDY) }.check().is_ok()
    );
}

#[test]
fn a_search_takes_any_growth_but_not_any_number_of_leaves() {
    let of =
        |growth, max_leaves| Params { growth, max_leaves, ..Params::of(Method::SWARM) }.check();
    for growth in [Growth::Depth, Growth::Leaf, Growth::Oblivious] {
        assert!(of(growth, 16).is_ok());
        assert_eq!(names(of(growth, 1).unwrap_err()), ["max_leaves"]);
        assert_eq!(names(of(growth, 100_000).unwrap_err()), ["max_leaves"]);
    }
    assert_eq!(
        names(Params { total_leaves: 3, ..Params::default() }.check().unwrap_err()),
        ["total_leaves"]
    );
    let idle = Params { learning_rate: 0.5, ..Params::default() }.idle();
    assert!(idle[0].to_string().starts_with("learning_rate has no effect"), "{idle:?}");
}

#[test]
fn leaves_follow_from_the_growth() {
    let of = |growth, depth, max_leaves| {
        Params { growth, depth, max_leaves, ..Params::default() }.leaf_limit()
    };
    assert_eq!(of(Growth::Depth, 6, 0), 64);
    assert_eq!(of(Growth::Depth, 6, 10), 10);
    assert_eq!(of(Growth::Leaf, 0, 0), 31);
    assert_eq!(of(Growth::Leaf, 0, 63), 63);
    assert_eq!(of(Growth::Leaf, 3, 0), 8);
    assert_eq!(of(Growth::Oblivious, 4, 3), 16);
}

#[test]
fn the_record_leaves_out_the_machine() {
    let names: Vec<&str> = Params::default().entries().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"seed") && !names.contains(&"threads"));
}

#[test]
fn unused_parameters_are_reported() {
    let params = Params { rate_drop: 0.3, ..Params::of(Method::GREEDY) };
    assert_eq!(params.idle(), ["rate_drop has no effect: it is for booster dart"]);
    assert!(Params { booster: Booster::Dart, ..params }.idle().is_empty());
}

#[test]
fn strangers_get_a_hint() {
    assert_eq!(
        find("max-depht").unwrap_err().message.to_string(),
        "no such parameter; did you mean 'max_depth'?"
    );
    let message = Params::default().set("growth", "leafs").unwrap_err().message.to_string();
    assert_eq!(
        message,
        "is 'leafs', must be one of auto, depth, leaf, oblivious; did you mean 'leaf'?"
    );
}

/// Applies a configuration text and gives the parameters and the violations as lines.
fn configure(text: &str) -> (Params, Vec<String>) {
    let (mut params, mut violations) = (Params::default(), Vec::new());
    config::apply(
        "run.toml",
        text,
        &["target", "ignore"],
        &mut |name, value| params.set_value(name, value),
        &mut violations,
    );
    (params, violations.iter().map(ToString::to_string).collect())
}

#[test]
fn a_configuration_file_sets_parameters() {
    let (params, violations) = configure(
        "# a comment\ntrees = 1_000\nlearning-rate = 5e-2\ngrowth = \"leaf\"\nseed = 0x10\nlambda = 2\n",
    );
    assert!(violations.is_empty(), "{violations:?}");
    assert_eq!(
        (params.trees, params.learning_rate, params.seed, params.lambda),
        (1000, 0.05, 16, 2.0)
    );
    assert_eq!(params.growth, Growth::Leaf);
}

#[test]
fn a_configuration_file_names_file_line_and_key() {
    let (_, violations) = configure("trees = 10\nzeal = 3\ndepth = true\n\n[lambda]\nx = 1\n");
    assert_eq!(
        violations,
        [
            "run.toml:2: zeal: no such parameter; docs/parameters.md lists them all",
            "run.toml:3: depth: is boolean, must be a whole number from 0 to 32",
            "run.toml:5: lambda: is table, must be a number from 0",
        ]
    );
    let (_, violations) = configure("trees = 10\ndepth = = 3\n");
    assert!(violations.len() == 1 && violations[0].starts_with("run.toml:2: "), "{violations:?}");
}

#[test]
fn a_configuration_file_holds_what_the_front_asks_for() {
    let (mut params, mut violations) = (Params::default(), Vec::new());
    let text = "target = \"price\"\nignore = [\"id\", \"a,b\"]\ndepth = 3\n";
    let others = config::apply(
        "run.toml",
        text,
        &["target", "ignore"],
        &mut |name, value| params.set_value(name, value),
        &mut violations,
    );
    assert!(violations.is_empty() && params.depth == 3);
    let expected = [("target", vec!["price"]), ("ignore", vec!["id", "a,b"])];
    assert_eq!(
        others,
        expected
            .map(|(key, words)| (key.to_string(), words.into_iter().map(String::from).collect()))
    );

    let (_, violations) = configure("target = 3\nignore = [1]\ntargt = \"x\"\n");
    assert_eq!(
        violations,
        [
            "run.toml:1: target: is integer, must be a string or an array of strings",
            "run.toml:2: ignore: is array, must be a string or an array of strings",
            "run.toml:3: targt: no such parameter; did you mean 'target'?",
        ]
    );
}

#[test]
fn the_page_is_fresh() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/parameters.md");
    let page = markdown();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/parameters.md is stale: run UPDATE_GOLDEN=1 cargo test -p swarmwood page_is_fresh"
    );
}

#[test]
fn what_nobody_sets_follows_the_method_wherever_it_is_set() {
    let of = |settings: &[(&str, &str)]| {
        let mut gather = Gather::default();
        settings.iter().for_each(|(name, text)| gather.set(name, text));
        gather.finish().unwrap().into_inner()
    };
    assert_eq!(of(&[("method", "sgbdt-bins")]), Params::of(Method::SGBDT_BINS));
    let params = of(&[("depth", "3"), ("max-bin", "255"), ("method", "sgbdt-bins")]);
    assert_eq!(
        (params.depth, params.max_bin, params.trees, params.learning_rate),
        (3, 255, 6, 1.0)
    );
    // A later method wins with its own column.
    assert_eq!(of(&[("method", "sgbdt"), ("method", "greedy")]), Params::of(Method::GREEDY));
}

#[test]
fn defaults_say_where_methods_differ() {
    let text = |name: &str| find(name).unwrap().defaults_text();
    assert_eq!(
        text("trees"),
        "0 (100 for greedy; 6 for sgbdt, sgbdt-bins, psgbdt, policy-gradient, split-tree)"
    );
    assert_eq!(text("max_bin"), "255 (100 for sgbdt-bins; 64 for tree-sum)");
    assert_eq!((text("seed"), text("method")), ("0".to_string(), "swarm".to_string()));
    for &method in Method::ALL {
        assert!(
            Params::of(method).check().is_ok_and(|params| params.method == method),
            "{}",
            method.name()
        );
        assert!(Params::of(method).idle().is_empty(), "{}", method.name());
    }
}

#[test]
fn auto_is_resolved_by_the_target_unless_it_was_set() {
    use swarmwood_model::TargetKind;
    let classes = TargetKind::Classes(vec!["a".into(), "b".into()]);
    let params = Params::of(Method::PSGBDT);
    let resolved = params.clone().resolve(&classes);
    assert_eq!((resolved.population, resolved.fitness), (Auto::Is(50), FitnessChoice::Accuracy));
    assert_eq!(resolved.initial, InitialDraw::Uniform);
    let by_feature = Params::of(Method::SGBDT).resolve(&classes);
    assert_eq!(by_feature.initial, InitialDraw::FeatureFirst);
    let mut params = params;
    params.set("initial", "feature-first").unwrap();
    params.set("population", "7").unwrap();
    params.set("fitness", "loss").unwrap();
    assert_eq!(params.clone().resolve(&classes), params);
    params.set("population", "auto").unwrap();
    assert_eq!(params.get("population").unwrap(), "auto");
    assert!(params.set("population", "many").is_err());
    params.population = Auto::Is(0);
    assert_eq!(names(params.check().unwrap_err()), ["population"]);
}

#[test]
fn sequences_ask_for_shapes_they_can_hold() {
    let of = |growth, depth, trees| Params { growth, depth, trees, ..Params::of(Method::SGBDT) };
    let faults = |params: Params| params.check().map_or_else(names, |_| Vec::new());
    assert_eq!(faults(of(Growth::Leaf, 9, 6)), ["growth", "depth"]);
    assert_eq!(faults(of(Growth::Depth, 0, 6)), ["depth"]);
    assert_eq!(faults(of(Growth::Depth, 8, 257)), Vec::<String>::new());
    assert_eq!(faults(of(Growth::Depth, 8, 258)), ["trees"]);
    assert_eq!(faults(of(Growth::Oblivious, 8, 8192)), Vec::<String>::new());
}

#[test]
fn switches_are_words_in_flags_and_truth_values_in_files() {
    let (params, violations) =
        configure("adaptive = true\ngreedy-seed = \"on\"\nmethod = \"sgbdt\"\n");
    assert!(violations.is_empty() && params.adaptive && params.greedy_seed, "{violations:?}");
    let message = Params::default().set("adaptive", "perhaps").unwrap_err().message.to_string();
    assert_eq!(message, "is 'perhaps', must be true or false");
}

#[test]
fn typed_values_are_checked_against_the_type_of_the_parameter() {
    use ParamValue::{Bool, Integer, List, Real, Text};
    let row = |cells: [f64; 2]| List(cells.into_iter().map(Real).collect());
    let mut params = Params::default();
    params.set_value("trees", &Integer(7)).unwrap();
    params.set_value("lambda", &Integer(2)).unwrap();
    params.set_value("subsample", &Real(0.5)).unwrap();
    params.set_value("adaptive", &Bool(true)).unwrap();
    params.set_value("population", &Integer(9)).unwrap();
    params.set_value("growth", &Text("leaf".into())).unwrap();
    params.set_value("costs", &List(vec![row([0.0, 1.0]), row([5.0, 0.0])])).unwrap();
    assert_eq!((params.trees, params.lambda, params.subsample), (7, 2.0, 0.5));
    assert_eq!(
        (params.adaptive, params.population, params.growth),
        (true, Auto::Is(9), Growth::Leaf)
    );
    assert_eq!(params.costs.rows(), [[0.0, 1.0], [5.0, 0.0]]);

    let wrong = [
        ("trees", Integer(-1), "is -1"),
        ("trees", Real(3.0), "is 3.0"),
        ("trees", Bool(true), "is true"),
        ("lambda", Real(f64::NAN), "is NaN"),
        ("lambda", Bool(false), "is false"),
        ("adaptive", Integer(2), "is 2"),
        ("growth", Integer(5), "is 5"),
        ("costs", List(vec![row([0.0, 1.0])]), "is [[0.0, 1.0]]"),
        ("costs", List(vec![row([0.0, -1.0]), row([1.0, 0.0])]), "is [[0.0, -1.0]"),
    ];
    for (name, value, given) in wrong {
        let message = params.clone().set_value(name, &value).unwrap_err().message.to_string();
        assert!(message.starts_with(given), "{message}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_set_or_check_panic(name in ".{0,12}", text in ".{0,12}", index in 0..TABLE.len()) {
        let mut params = Params::default();
        let _ = params.set(&name, &text);
        let _ = params.set(TABLE[index].name, &text);
        let _ = params.violations();
        let _ = configure(&text);
    }

    #[test]
    fn numbers_survive_their_text(rate in -1e300..1e300f64, seed in any::<u64>()) {
        let mut params = Params::default();
        params.set("lambda", &rate.to_string()).unwrap();
        params.set("seed", &seed.to_string()).unwrap();
        prop_assert_eq!(params.get("lambda").unwrap(), rate.to_string());
        prop_assert_eq!((params.lambda, params.seed), (rate, seed));
    }
}
