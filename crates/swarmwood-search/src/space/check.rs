//! Validates a list of parameters.

use super::{Domain, INTEGER_LIMIT, Param, ParamCondition, ParamScale, ParentLabels};
use crate::error::{Error, ParamError};

/// The conditions by position, or all errors of all parameters.
pub(super) fn gates(params: &[Param]) -> Result<Vec<Option<ParentLabels>>, Error> {
    let mut errors = Vec::new();
    let mut gates = Vec::with_capacity(params.len());
    for (i, param) in params.iter().enumerate() {
        let mut error =
            |message: String| errors.push(ParamError { parameter: param.name.clone(), message });
        if param.name.is_empty() {
            error("has no name".to_owned());
        }
        if params[..i].iter().any(|other| other.name == param.name) {
            error("appears twice; names must differ".to_owned());
        }
        if let Err(message) = check_domain(&param.domain) {
            error(message);
        }
        let gate = param
            .condition
            .as_ref()
            .map(|condition| check_condition(condition, &params[..i]))
            .transpose();
        gates.push(gate.unwrap_or_else(|message| {
            error(message);
            None
        }));
    }
    if errors.is_empty() { Ok(gates) } else { Err(Error::Space(errors)) }
}

fn check_domain(domain: &Domain) -> Result<(), String> {
    match domain {
        Domain::Integer { low, high, scale } => {
            if low > high {
                return Err(format!("low bound {low} lies above high bound {high}"));
            }
            if *low < -INTEGER_LIMIT || *high > INTEGER_LIMIT {
                return Err(format!("bounds {low} and {high} must lie within ±{INTEGER_LIMIT}"));
            }
            if *scale == ParamScale::Log && *low < 1 {
                return Err(format!(
                    "a logarithmic scale needs a low bound of at least 1, not {low}"
                ));
            }
        }
        Domain::Real { low, high, scale } => {
            if !(high - low).is_finite() {
                return Err(format!(
                    "bounds {low} and {high} must be finite, and so must their difference"
                ));
            }
            if low > high {
                return Err(format!("low bound {low} lies above high bound {high}"));
            }
            if *scale == ParamScale::Log && *low <= 0.0 {
                return Err(format!("a logarithmic scale needs a low bound above 0, not {low}"));
            }
        }
        Domain::List(values) => {
            if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
                return Err("a list needs at least one value, all of them finite".to_owned());
            }
            if let Some(pair) = values.windows(2).find(|pair| pair[0] >= pair[1]) {
                return Err(format!(
                    "a list must ascend, but {} comes before {}",
                    pair[0], pair[1]
                ));
            }
        }
        Domain::Choice(labels) => {
            if labels.is_empty() {
                return Err("a choice needs at least one label".to_owned());
            }
            if let Some(twice) =
                labels.iter().enumerate().find(|(i, label)| labels[..*i].contains(label))
            {
                return Err(format!("label '{}' appears twice", twice.1));
            }
        }
    }
    Ok(())
}

fn check_condition(condition: &ParamCondition, earlier: &[Param]) -> Result<ParentLabels, String> {
    let ParamCondition { parent, labels } = condition;
    let position = earlier
        .iter()
        .position(|param| param.name == *parent)
        .ok_or_else(|| format!("depends on '{parent}', which is not a parameter before it"))?;
    let Domain::Choice(known) = &earlier[position].domain else {
        return Err(format!("depends on '{parent}', which is not a choice"));
    };
    if labels.is_empty() {
        return Err(format!("depends on '{parent}' but names no label of it"));
    }
    if let Some(unknown) = labels.iter().find(|label| !known.contains(label)) {
        return Err(format!(
            "depends on label '{unknown}' of '{parent}', which has only {}",
            known.join(", ")
        ));
    }
    Ok(ParentLabels {
        parent: position,
        open: known.iter().map(|label| labels.contains(label)).collect(),
    })
}
