//! Constraints by feature of the data, from parameters that name features.

use swarmwood_learn::constraints::Constraints;
use swarmwood_model::monotone::Direction;
use swarmwood_model::{Kind, Schema, TargetKind};

use crate::error::Violation;
use crate::params::Params;
use crate::{Error, Result};

/// The constraints of the parameters for rows of this schema, or everything that does not fit.
pub(super) fn resolve(params: &Params, schema: &Schema) -> Result<Constraints> {
    let mut violations = Vec::new();

    let directions = directions(params, schema, &mut violations);

    let groups = params.interactions.resolve(schema, "interactions").unwrap_or_else(|faults| {
        violations.extend(faults);
        Vec::new()
    });

    if !violations.is_empty() {
        return Err(Error::Parameters(violations));
    }
    Ok(Constraints::default().with_monotone(directions).with_interactions(groups))
}

/// The direction of each feature.
fn directions(
    params: &Params,
    schema: &Schema,
    violations: &mut Vec<Violation>,
) -> Vec<Option<Direction>> {
    let name = "monotone";
    if params.monotone.is_empty() {
        return Vec::new();
    }
    let directions = match params.monotone.resolve(schema, None, name) {
        Ok(directions) => directions,
        Err(faults) => {
            violations.extend(faults);
            return Vec::new();
        }
    };

    for (feature, _) in schema.features.iter().zip(&directions).filter(|(_, one)| one.is_some()) {
        if feature.kind != Kind::Number {
            let message = format!(
                "has '{}', whose values are categories: they have no order; leave it out",
                feature.name
            );
            violations.push(Violation::new(name, message));
        }
    }
    if let TargetKind::Classes(classes) = &schema.target.kind
        && classes.len() > 2
    {
        let message = format!(
            "is for targets of numbers or two classes, but the target has {} classes",
            classes.len()
        );
        violations.push(Violation::new(name, message));
    }
    directions
}
