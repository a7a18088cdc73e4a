//! The first line of a journal: what the study is about.

use serde_json::{Value, json};

use super::MAGIC;
use crate::tune::head::{StudyHeader, StudyMetric, StudyTask};
use crate::tune::space_file;

/// The newest version, which is written.
const VERSION: u64 = 1;

/// The program that writes journals.
pub(in crate::tune) fn program() -> String {
    format!("swarmwood {}", env!("CARGO_PKG_VERSION"))
}

/// A head as a line.
pub(in crate::tune) fn line(head: &StudyHeader) -> String {
    let StudyTask { text, fingerprint, measure } = &head.task;
    let fields = [
        ("created_by", json!(program())),
        ("engine", json!(head.engine)),
        ("seed", json!(head.seed)),
        ("lag", json!(head.lag)),
        ("pieces", json!(head.pieces)),
        ("race", json!(head.race)),
        ("task", json!({"text": text, "fingerprint": hex(*fingerprint)})),
        ("measure", json!({"name": measure.name, "from": measure.from})),
        ("space", space_file::to_json(&head.space)),
        ("space_fingerprint", json!(hex(head.space.fingerprint()))),
    ];
    // By hand, so that the version stands first and a journal is known by how it begins.
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{MAGIC}{VERSION},{}}}", fields.join(","))
}

fn hex(fingerprint: u128) -> String {
    format!("{fingerprint:032x}")
}

/// The head of a line and who wrote it; the error says what is wrong with the line.
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
    let measure = StudyMetric {
        name: word(&value["measure"]["name"], "measure.name")?,
        from: value["measure"]["from"].as_f64(),
    };
    let head = StudyHeader {
        engine: word(&value["engine"], "engine")?,
        seed: natural(&value["seed"], "seed")?,
        lag: count(&value["lag"], "lag")?,
        pieces: count(&value["pieces"], "pieces")?,
        race: value["race"].as_bool().ok_or_else(|| damaged("race"))?,
        task: StudyTask {
            text: word(&task["text"], "task.text")?,
            fingerprint: fingerprint.map_err(|_| damaged("task.fingerprint"))?,
            measure,
        },
        space,
    };
    Ok((head, word(&value["created_by"], "created_by")?))
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

/// What a study says differently from what is asked for; empty if nothing.
pub(in crate::tune) fn differences(study: &StudyHeader, asked: &StudyHeader) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |name: &str, has: String, wants: String| {
        if has != wants {
            found.push(format!("{name} is {has} in the study, not {wants}"));
        }
    };
    compare("the engine", study.engine.clone(), asked.engine.clone());
    compare("the seed", study.seed.to_string(), asked.seed.to_string());
    compare("the number of trials at a time", study.lag.to_string(), asked.lag.to_string());
    compare("the number of pieces of a trial", study.pieces.to_string(), asked.pieces.to_string());
    compare("racing", on_off(study.race), on_off(asked.race));
    compare("the measure", study.task.measure.name.clone(), asked.task.measure.name.clone());
    if study.task.text != asked.task.text {
        compare("the task", format!("'{}'", study.task.text), format!("'{}'", asked.task.text));
    } else if study.task != asked.task {
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
