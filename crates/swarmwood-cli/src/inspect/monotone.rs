//! `--check-monotone`: a proof that a model is monotone, or two rows that show it is not.

use serde_json::{Value, json};
use swarmwood::model::Model;
use swarmwood::model::monotone::MonotoneCheck;
use swarmwood::monotone::{FeatureCheck, check, describe};
use swarmwood::{Error, Result};

use crate::console;

/// Prints what the check of each feature found; an error if one is not proven. `directions` are those
/// of the model if they are empty.
pub fn run(model: &Model, directions: &str, as_json: bool) -> Result<()> {
    let given = (!directions.is_empty()).then_some(directions);
    let checks = check(model, given)?;

    if as_json {
        let checks: Vec<Value> = checks.iter().map(|check| check_json(model, check)).collect();
        console::print_json(&json!({ "monotone": checks }))?;
    } else {
        console::print_result(&checks.iter().map(|check| line(model, check)).collect::<String>())?;
    }
    let open: Vec<&str> = checks
        .iter()
        .filter(|check| !check.is_proven())
        .map(|check| check.feature.as_str())
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    Err(Error::Run(format!("the model is not proven to be monotone in {}", open.join(", "))))
}

fn line(model: &Model, check: &FeatureCheck) -> String {
    let FeatureCheck { feature, column, direction, found } = check;
    let column = column.as_ref().map_or(String::new(), |column| format!(" for {column}"));
    let found = match found {
        MonotoneCheck::Proven { pairs } => {
            format!("proven ({pairs} pairs of neighbouring leaves)")
        }
        MonotoneCheck::Violated(example) => {
            format!("violated: {}", describe(model, feature, example))
        }
        MonotoneCheck::Undecided { threshold } => {
            format!("undecided: too many trees share the threshold {threshold}")
        }
    };
    format!("{feature}: {direction}{column}: {found}\n")
        .replace(|c: char| c.is_control() && c != '\n', "?")
}

fn check_json(model: &Model, check: &FeatureCheck) -> Value {
    let FeatureCheck { feature, column, direction, found } = check;
    let (found, pairs, example) = match found {
        MonotoneCheck::Proven { pairs } => ("proven", Some(*pairs), None),
        MonotoneCheck::Violated(example) => {
            ("violated", None, Some(describe(model, feature, example)))
        }
        MonotoneCheck::Undecided { .. } => ("undecided", None, None),
    };
    let mut object = json!({
        "feature": feature,
        "direction": direction.to_string(),
        "found": found,
        "pairs": pairs,
        "example": example,
    });
    if let Some(column) = column {
        object["target"] = json!(column);
    }
    object
}
