use swarmwood_search::{Param, Space};

use super::*;

const TOML: &str = r#"
[max_depth]
type = "integer"
low = 1
high = 12
when = { booster = ["gbtree", "dart"] }

[booster]
type = "choice"
values = ["gbtree", "gblinear", "dart"]

[learning_rate]
type = "real"
low = 1e-2
high = 0.3
scale = "log"

[bins]
type = "list"
values = [255, 16, 64.5]
"#;

fn expected() -> Space {
    Space::new(vec![
        Param::choice("booster", &["gbtree", "gblinear", "dart"]),
        Param::integer("max_depth", 1, 12).when("booster", &["gbtree", "dart"]),
        Param::real("learning_rate", 0.01, 0.3).log(),
        Param::list("bins", &[16.0, 64.5, 255.0]),
    ])
    .unwrap()
}

#[test]
fn both_languages_say_the_same() {
    assert_eq!(parse("s.toml", TOML).unwrap(), expected());
    let json = r#"{"booster": {"type": "choice", "values": ["gbtree", "gblinear", "dart"]},
        "max_depth": {"type": "integer", "low": 1, "high": 12, "when": {"booster": ["gbtree", "dart"]}},
        "learning_rate": {"type": "real", "low": 0.01, "high": 0.3, "scale": "log"},
        "bins": {"type": "list", "values": [16, 64.5, 255]}}"#;
    assert_eq!(parse("s.json", json).unwrap(), expected());
    let described = to_json(&expected());
    assert_eq!(from_json(&described).unwrap(), expected());
    assert_eq!(
        parse("s.json", &described.to_string()).unwrap(),
        expected(),
        "a list of parameters is a file too"
    );
}

#[test]
fn a_single_label_needs_no_list() {
    let text =
        "a = {type='choice', values=['x','y']}\nb = {type='integer', low=1, high=2, when={a='x'}}";
    assert_eq!(parse("s", text).unwrap().size(), Some(3));
}

/// One fault in each file: the whole message.
#[test]
fn every_fault_has_its_place() {
    let choice = "a = { type = 'choice', values = ['x', 'y'] }\n";
    for (text, message) in [
        ("", "s.toml: has no parameters; give at least one table with a type"),
        (
            "a = 1",
            "s.toml:1: parameter 'a': is a whole number, must be a table such as { type = \"real\", … }",
        ),
        (
            "a = {}",
            "s.toml:1: parameter 'a': has no key 'type'; it must be one of integer, real, list, choice",
        ),
        (
            "a = { type = 'reel', low = 0, high = 1 }",
            "s.toml:1: parameter 'a', key 'type': is 'reel', perhaps real; must be one of integer, real, list, choice",
        ),
        (
            "\n[a]\ntype = 'list'\nvalues = []",
            "s.toml:4: parameter 'a', key 'values': is empty, must hold at least one value",
        ),
        (
            "[a]\ntype = 'real'\nlow = 2\nhigh = 1",
            "s.toml:1: parameter 'a': low bound 2 lies above high bound 1",
        ),
        (
            "[a]\ntype = 'integer'\nlow = 2\nhigh = 1",
            "s.toml:1: parameter 'a': low bound 2 lies above high bound 1",
        ),
        (
            "[a]\ntype = 'real'\nlow = 0\nhigh = 1\nscale = 'log'",
            "s.toml:1: parameter 'a': a logarithmic scale needs a low bound above 0, not 0",
        ),
        (
            "[a]\ntype = 'integer'\nlow = 0\nhigh = 1\nscale = 'log'",
            "s.toml:1: parameter 'a': a logarithmic scale needs a low bound of at least 1, not 0",
        ),
        (
            "[a]\ntype = 'real'\nlow = 0\nhigh = inf",
            "s.toml:1: parameter 'a': bounds 0 and inf must be finite, and so must their difference",
        ),
        ("[a]\ntype = 'real'\nlow = 0", "s.toml:1: parameter 'a': has no key 'high'"),
        (
            "[a]\ntype = 'integer'\nlow = 0.5\nhigh = 1",
            "s.toml:3: parameter 'a', key 'low': is 0.5, must be a whole number",
        ),
        (
            "[a]\ntype = 'real'\nlow = '0'\nhigh = 1",
            "s.toml:3: parameter 'a', key 'low': is a string, must be a number",
        ),
        (
            "[a]\ntype = 'real'\nlow = 0\nhigh = 1\nscale = 'ln'",
            "s.toml:5: parameter 'a', key 'scale': is 'ln', must be linear or log",
        ),
        (
            "[a]\ntype = 'real'\nlow = 0\nhigh = 1\nscal = 'log'",
            "s.toml:5: parameter 'a', key 'scal': no such key; did you mean 'scale'? a parameter of type real has type, low, high, scale, when",
        ),
        (
            "[a]\ntype = 'list'\nvalues = [1, 2, 1.0]",
            "s.toml:3: parameter 'a', key 'values': 1 appears twice",
        ),
        (
            "[a]\ntype = 'choice'\nvalues = ['x', 'x']",
            "s.toml:3: parameter 'a', key 'values': 'x' appears twice",
        ),
        (
            "[a]\ntype = 'choice'\nvalues = ['x', 2]",
            "s.toml:3: parameter 'a', key 'values': item 2 is a whole number, must be a list of strings (numbers are of type list)",
        ),
        (
            "b = { type = 'integer', low = 1, high = 2, when = { a = 'x' } }",
            "s.toml:1: parameter 'b', key 'when': depends on 'a', which is no parameter",
        ),
        (
            &format!("{choice}b = {{ type = 'integer', low = 1, high = 2, when = {{ a = 'z' }} }}"),
            "s.toml:2: parameter 'b': depends on label 'z' of 'a', which has only x, y",
        ),
        (
            "a = { type = 'integer', low = 1, high = 2 }\nb = { type = 'integer', low = 1, high = 2, when = { a = '1' } }",
            "s.toml:2: parameter 'b': depends on 'a', which is not a choice",
        ),
        (
            &format!("{choice}b = {{ type = 'integer', low = 1, high = 2, when = {{}} }}"),
            "s.toml:2: parameter 'b', key 'when': names 0 parameters, must name one; must be a table such as { booster = [\"gbtree\", \"dart\"] }",
        ),
        (
            "a = { type = 'choice', values = ['x'], when = { b = 'x' } }\nc = { type = 'choice', values = ['x'], when = { a = 'x' } }\nb = { type = 'choice', values = ['x'], when = { c = 'x' } }",
            "s.toml:1: parameter 'a', key 'when': depends on itself: 'a' → 'b' → 'c' → 'a'",
        ),
        (
            "a = { type = 'choice', values = ['x'], when = { a = 'x' } }",
            "s.toml:1: parameter 'a', key 'when': depends on itself: 'a' → 'a'",
        ),
    ] {
        assert_eq!(parse("s.toml", text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn faults_of_the_languages_have_lines() {
    let toml = parse("s.toml", "a = {type='real', low=0, high=1}\na = 1").unwrap_err().to_string();
    assert!(toml.starts_with("s.toml:2: "), "{toml}");
    let json = parse("s.json", "{\"a\": {\n \"type\": }}").unwrap_err().to_string();
    assert!(json.starts_with("s.json:2: column "), "{json}");
    let twice = r#"{"a": {"type": "list", "values": [1]}, "a": {"type": "list", "values": [2]}}"#;
    assert_eq!(
        parse("s.json", twice).unwrap_err().to_string(),
        "s.json: parameter 'a': appears twice; names must differ"
    );
    let nameless = parse("s.json", "[{\"type\": \"list\"}, 3]").unwrap_err().to_string();
    assert_eq!(
        nameless,
        "s.json: parameter 1: has no key 'name' with a string\ns.json: parameter 2: is a whole number, must be an object"
    );
}

#[test]
fn all_faults_are_told_at_once() {
    let text = "a = 1\nb = { type = 'list' }\nc = { type = 'integer', low = 'x', high = 1.5 }";
    let fault = parse("s.toml", text).unwrap_err();
    assert_eq!(fault.to_string().lines().count(), 4, "{fault}");
    assert_eq!(fault.exit_code(), 2);
}
