//! The options of engines outside of the program: in journals, and as a list for people.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use swarmwood_search::engine::EngineSpec;
use swarmwood_search::options::{
    EngineOptions, OptionCondition, OptionKind, OptionSpec, OptionValue,
};

use super::engine;

const INTRODUCTION: &str = "\
# Engines and their options

<!-- Generated from the registrations of the engines by `cargo xtask generate`. -->

`--engine NAME` of `swarmwood tune` chooses the search algorithm, and `--engine-options NAME=VALUE,NAME=VALUE` sets its
options; in Python both are arguments of `Tuner`, `SchemataSearchCV` and `EngineSampler` (`engine=\"sse\",
engine_options={\"mutation\": \"rank\"}`). `swarmwood tune --list-engines` prints this list. An option that is not given has
its default. All options are checked before any data is read, and everything that is wrong is reported together.

The default engine is `tpe`. `pso` now means the continuous particle swarm, in the unit cube; earlier the name meant the
discrete one, which is `pso-discrete`. A study that was begun with the earlier `pso` is continued by `--engine pso-discrete`.
";

/// Options as a JSON object.
///
/// ```
/// use swarmwood::tune::engine::check_options;
/// use swarmwood::tune::engine_options::{from_json, to_json};
/// use swarmwood::search::options::EngineOptions;
/// let options = check_options("sse", &EngineOptions::parse("mutation=rank,rate=0.2"))?;
/// assert_eq!(to_json(&options).to_string(), r#"{"mutation":"rank","rate":0.2}"#);
/// assert_eq!(from_json(&to_json(&options)), Ok(options));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn to_json(options: &EngineOptions) -> Value {
    let pairs = options.iter().map(|(name, value)| (name.to_owned(), value_json(value)));
    Value::Object(pairs.collect::<Map<String, Value>>())
}

fn value_json(value: &OptionValue) -> Value {
    match value {
        OptionValue::Integer(number) => json!(number),
        OptionValue::Real(number) => json!(number),
        OptionValue::Flag(flag) => json!(flag),
        OptionValue::Text(text) => json!(text),
    }
}

/// The options of a JSON object, not yet checked; the error names a value that cannot be one.
pub fn from_json(object: &Value) -> Result<EngineOptions, String> {
    let object = object.as_object().ok_or("must be values by name")?;
    let pair = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::Bool(flag) => OptionValue::Flag(*flag),
            Value::String(text) => OptionValue::Text(text.clone()),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => OptionValue::Integer(whole),
                (None, Some(real)) => OptionValue::Real(real),
                (None, None) => return Err(format!("'{name}' is no number of 64 bits")),
            },
            _ => return Err(format!("'{name}' is neither text nor a number nor true or false")),
        };
        Ok((name.clone(), value))
    };
    object.iter().map(pair).collect()
}

/// All engines with their options, as a table for a terminal.
pub fn list_text() -> String {
    let mut text = String::new();
    for spec in engine::specs() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}: {}", spec.name, spec.summary);
        let width = spec.options.iter().map(|option| option.name.len()).max().unwrap_or(0);
        for option in spec.options {
            let _ = writeln!(text, "  {:width$}  {}", option.name, about(option));
            let _ = writeln!(
                text,
                "  {:width$}  {} [default: {}]",
                "",
                option.range(),
                option.default_value()
            );
        }
        text.push('\n');
    }
    text.push_str("Options are given as --engine-options NAME=VALUE,NAME=VALUE\n");
    text
}

/// All engines with their options, as JSON.
pub fn list_json() -> Value {
    let option = |option: &OptionSpec| {
        let (kind, range) = match option.kind {
            OptionKind::Integer { low, high, .. } => ("integer", json!([low, high])),
            OptionKind::Real { low, high, .. } => ("real", json!([low, high])),
            OptionKind::Choice(choices) => {
                ("choice", json!(choices.iter().map(|(name, _)| name).collect::<Vec<_>>()))
            }
            OptionKind::Flag { .. } => ("flag", json!([false, true])),
        };
        json!({
            "name": option.name,
            "type": kind,
            "range": range,
            "unset": option.unset,
            "default": value_json(&option.default_value()),
            "only_with": option.condition.map(condition_text),
            "help": option.help,
        })
    };
    let engine = |spec: &EngineSpec| {
        json!({
            "name": spec.name,
            "help": spec.summary,
            "default": spec.name == engine::DEFAULT,
            "options": spec.options.iter().map(option).collect::<Vec<_>>(),
        })
    };
    Value::Array(engine::specs().map(engine).collect())
}

/// The text of `docs/engines.md`.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_string();
    for spec in engine::specs() {
        let _ = write!(page, "\n## {}\n\n{}.\n", spec.name, capital(spec.summary));
        if spec.options.is_empty() {
            page.push_str("It has no options.\n");
            continue;
        }
        page.push_str("\n| option | default | allowed | what it is |\n|---|---|---|---|\n");
        for option in spec.options {
            let (default, range) = (option.default_value(), option.range());
            let _ =
                writeln!(page, "| `{}` | `{default}` | {range} | {} |", option.name, about(option));
        }
        for option in spec.options {
            if let OptionKind::Choice(choices) = option.kind {
                let _ = write!(page, "\n`{}` is one of\n\n", option.name);
                for (name, help) in choices {
                    let _ = writeln!(page, "- `{name}`: {help}");
                }
            }
        }
    }
    page
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

/// The help of an option, with its condition.
fn about(option: &OptionSpec) -> String {
    let only = option.condition.map(condition_text);
    only.map_or(option.help.to_owned(), |only| format!("{} (only with {only})", option.help))
}

fn condition_text(condition: OptionCondition) -> String {
    match condition {
        OptionCondition::Is(option, value) => format!("{option}={value}"),
        OptionCondition::IsSet(option) => option.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_engines_is_fresh() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/engines.md");
        let page = markdown();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == page, "docs/engines.md is stale: run cargo xtask generate");
    }

    #[test]
    fn the_list_has_every_option_with_its_range_and_default() {
        let (text, json) = (list_text(), list_json());
        for spec in engine::specs() {
            let entry = json.as_array().unwrap().iter().find(|one| one["name"] == spec.name);
            let options = entry.unwrap()["options"].as_array().unwrap();
            assert_eq!(options.len(), spec.options.len());
            for option in spec.options {
                assert!(text.contains(&option.range()) && text.contains(option.help), "{text}");
            }
        }
        assert!(text.contains("normal or rank [default: normal]"), "{text}");
    }

    #[test]
    fn odd_json_is_refused() {
        for (value, word) in [
            (json!([1]), "by name"),
            (json!({"rate": null}), "'rate'"),
            (json!({"rate": [0.1]}), "'rate'"),
        ] {
            assert!(from_json(&value).unwrap_err().contains(word), "{value}");
        }
        let options = from_json(&json!({"a": 1, "b": 0.5, "c": true, "d": "x"})).unwrap();
        assert_eq!(options.to_string(), "a=1, b=0.5, c=true, d=x");
    }
}
