//! The first line of a journal: the study's header.

use serde_json::{Value, json};
use swarmwood_search::options::EngineOptions;

use super::MAGIC;
use crate::tune::header::{StudyHeader, StudyMetric, StudyTask};
use crate::tune::{engine, engine_options, space_file};

/// The newest version, which is written. Version 1 had other names for some keys ([`renamed`]), and
/// lines have checksums from version 3 on.
const VERSION: u64 = 3;

/// The program that writes journals.
pub(in crate::tune) fn program() -> String {
    format!("swarmwood {}", env!("CARGO_PKG_VERSION"))
}

/// A header as a line.
pub(in crate::tune) fn line(header: &StudyHeader) -> String {
    let StudyTask { text, fingerprint, metric, fixed } = &header.task;
    let mut task = json!({"text": text, "fingerprint": hex(*fingerprint)});
    if !fixed.is_empty() {
        task["fixed"] = json!(fixed);
    }
    let fields = [
        ("created_by", json!(program())),
        ("engine", json!(header.engine)),
        ("engine_options", engine_options::to_json(&header.engine_options)),
        ("seed", json!(header.seed)),
        ("parallel_trials", json!(header.parallel_trials)),
        ("folds", json!(header.folds)),
        ("prune", json!(header.prune)),
        ("task", task),
        ("metric", json!({"name": metric.name, "from": metric.from})),
        ("space", space_file::to_json(&header.space)),
        ("space_fingerprint", json!(hex(header.space.fingerprint()))),
    ];
    // By hand, so that the version stands first and a journal is known by how it begins.
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{MAGIC}{VERSION},{}}}", fields.join(","))
}

fn hex(fingerprint: u128) -> String {
    format!("{fingerprint:032x}")
}

/// The header of a line and who wrote it; the error says what is wrong with the line.
pub(in crate::tune) fn parse(line: &str) -> Result<(StudyHeader, String), String> {
    let value: Value =
        serde_json::from_str(line).map_err(|error| format!("is damaged: {error}"))?;
    let version = natural(&value["swarmwood_study"], "swarmwood_study")?;
    if version > VERSION {
        return Err(format!(
            "has version {version}, this program reads up to {VERSION}; use a newer one"
        ));
    }
    let space = space_file::from_json(&value["space"])?;
    if word(&value["space_fingerprint"], "space_fingerprint")? != hex(space.fingerprint()) {
        return Err("is damaged: the space does not have the fingerprint beside it".to_string());
    }
    let task = &value["task"];
    let fingerprint = u128::from_str_radix(&word(&task["fingerprint"], "fingerprint")?, 16);
    let field = |name: &'static str| &value[renamed(name, version)];
    let metric = StudyMetric {
        name: word(&field("metric")["name"], "metric.name")?,
        from: field("metric")["from"].as_f64(),
    };
    let (engine, engine_options) = engine_of(&value)?;
    let header = StudyHeader {
        engine,
        engine_options,
        seed: natural(&value["seed"], "seed")?,
        parallel_trials: count(field("parallel_trials"), "parallel_trials")?,
        folds: count(field("folds"), "folds")?,
        prune: field("prune").as_bool().ok_or_else(|| damaged("prune"))?,
        task: StudyTask {
            text: word(&task["text"], "task.text")?,
            fingerprint: fingerprint.map_err(|_| damaged("task.fingerprint"))?,
            metric,
            fixed: fixed_values(&task["fixed"]).ok_or_else(|| damaged("task.fixed"))?,
        },
        space,
    };
    Ok((header, word(&value["created_by"], "created_by")?))
}

/// Names with their values; none in older journals.
fn fixed_values(value: &Value) -> Option<Vec<(String, Vec<String>)>> {
    let text = |value: &Value| value.as_str().map(str::to_string);
    let pair = |pair: &Value| {
        let values = pair[1].as_array()?.iter().map(text).collect::<Option<_>>()?;
        Some((text(&pair[0])?, values))
    };
    match value {
        Value::Null => Some(Vec::new()),
        value => value.as_array()?.iter().map(pair).collect(),
    }
}

/// The name of a key in a journal of this version.
fn renamed(key: &'static str, version: u64) -> &'static str {
    match (version, key) {
        (1, "parallel_trials") => "lag",
        (1, "folds") => "pieces",
        (1, "prune") => "race",
        (1, "metric") => "measure",
        _ => key,
    }
}

/// The engine and its options. Journals without options are older than these: all options have
/// their defaults, and the discrete swarm was called `pso`.
fn engine_of(value: &Value) -> Result<(String, EngineOptions), String> {
    let name = word(&value["engine"], "engine")?;
    match (value.get("engine_options"), name.as_str()) {
        (None, "pso") => Ok(("pso-discrete".to_string(), EngineOptions::DEFAULTS)),
        (None, _) => Ok((name, EngineOptions::DEFAULTS)),
        (Some(options), _) => {
            let options = engine_options::from_json(options)
                .map_err(|message| format!("is damaged: 'engine_options': {message}"))?;
            // An engine of another program may have options that are not known here.
            let checked = engine::check_options(&name, &options);
            Ok((name, checked.unwrap_or(options)))
        }
    }
}

fn damaged(field: &str) -> String {
    format!("is damaged: no usable '{field}'")
}

fn natural(value: &Value, field: &str) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| damaged(field))
}

fn count(value: &Value, field: &str) -> Result<usize, String> {
    usize::try_from(natural(value, field)?)
        .ok()
        .filter(|&count| count > 0)
        .ok_or_else(|| damaged(field))
}

fn word(value: &Value, field: &str) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| damaged(field))
}

/// The differences between a study and the requested one, as messages.
pub(in crate::tune) fn differences(study: &StudyHeader, asked: &StudyHeader) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |name: &str, has: String, wants: String| {
        if has != wants {
            found.push(format!("{name} is {has} in the study, not {wants}"));
        }
    };
    compare("the engine", study.engine.clone(), asked.engine.clone());
    if study.engine == asked.engine {
        let of = |header: &StudyHeader| match header.engine_options.is_empty() {
            true => "the default".to_string(),
            false => format!("'{}'", header.engine_options),
        };
        compare("engine_options", of(study), of(asked));
    }
    compare("the seed", study.seed.to_string(), asked.seed.to_string());
    let parallel = |header: &StudyHeader| header.parallel_trials.to_string();
    compare("the number of parallel trials", parallel(study), parallel(asked));
    compare("the number of folds", study.folds.to_string(), asked.folds.to_string());
    compare("pruning", on_off(study.prune), on_off(asked.prune));
    compare("the metric", study.task.metric.name.clone(), asked.task.metric.name.clone());
    if study.task.text != asked.task.text {
        compare("the task", format!("'{}'", study.task.text), format!("'{}'", asked.task.text));
    } else if study.task.fingerprint != asked.task.fingerprint {
        found.push(format!(
            "the data or the settings of '{}' are not those of the study",
            study.task.text
        ));
    }
    if study.space.fingerprint() != asked.space.fingerprint() {
        found.push(space_difference(study, asked));
    }
    found
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_string()
}

/// The first parameter that differs.
fn space_difference(study: &StudyHeader, asked: &StudyHeader) -> String {
    let (has, wants) = (study.space.params(), asked.space.params());
    let missing =
        |all: &[swarmwood_search::Param], name: &str| !all.iter().any(|param| param.name == name);
    if let Some(param) = has.iter().find(|param| missing(wants, &param.name)) {
        return format!("parameter '{}' of the study's space is not in this one", param.name);
    }
    if let Some(param) = wants.iter().find(|param| missing(has, &param.name)) {
        return format!("parameter '{}' is not in the study's space", param.name);
    }
    match has.iter().zip(wants).find(|(a, b)| a != b) {
        Some((param, _)) => {
            format!(
                "parameter '{}' is another one in the study's space, or elsewhere in it",
                param.name
            )
        }
        None => "the space is another one".to_string(),
    }
}
