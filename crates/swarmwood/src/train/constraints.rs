//! Constraints by feature of the data, from parameters that name features.

use swarmwood_learn::constraints::Constraints;
use swarmwood_learn::data::Column;
use swarmwood_learn::given_splits::GivenSplits;
use swarmwood_model::monotone::Direction;
use swarmwood_model::{Kind, Schema, TargetKind, Test};

use crate::error::Violation;
use crate::message::Message;
use crate::params::Params;
use crate::read::Rows;
use crate::{Error, Result};

/// The constraints of the parameters for rows of this schema, or everything that does not fit.
pub(super) fn resolve(params: &Params, schema: &Schema) -> Result<Constraints> {
    let mut violations = Vec::new();

    let directions = directions(params, schema, &mut violations);

    let mut groups = params.interactions.resolve(schema, "interactions").unwrap_or_else(|faults| {
        violations.extend(faults);
        Vec::new()
    });
    // A group of all features allows everything.
    if groups.iter().any(|group| group.len() == schema.features.len()) {
        groups.clear();
    }

    let given = params.first_split.resolve(schema, "first_split").unwrap_or_else(|faults| {
        violations.extend(faults);
        GivenSplits::NONE
    });

    let constraints = Constraints::default()
        .with_monotone(directions)
        .with_interactions(groups)
        .with_given_splits(given);
    check_paths(&constraints, schema, &mut violations);
    if !violations.is_empty() {
        return Err(Error::Parameters(violations));
    }
    Ok(constraints)
}

/// Refuses given splits with features on a path that may not interact.
fn check_paths(constraints: &Constraints, schema: &Schema, violations: &mut Vec<Violation>) {
    let paths = constraints.given_splits().paths();
    if let Some(path) = paths.iter().find(|path| !constraints.allows_together(path)) {
        let names: Vec<String> =
            path.iter().map(|&at| format!("'{}'", schema.features[at].name)).collect();
        let message = Message::from(format!("has {} on one path, which ", names.join(", ")))
            .parameter("interactions")
            .text(" does not allow");
        violations.push(Violation::new("first_split", message));
    }
}

/// Refuses given splits that no row is on one side of.
pub(super) fn check_rows(constraints: &Constraints, rows: &Rows) -> Result<()> {
    let given = constraints.given_splits().splits();
    let mut reached = vec![[false; 2]; given.len()];
    if given.is_empty() {
        return Ok(());
    }
    rows.for_each_chunk(&mut |chunk| {
        for row in 0..chunk.rows {
            let mut at = Some(0);
            while let Some(place) = at {
                let split = &given[place];
                let side = match (&chunk.columns[split.feature], &split.test) {
                    (Column::Number(values), Test::Above(threshold)) => {
                        let value = values[row];
                        if value.is_nan() { split.missing_right } else { Some(value > *threshold) }
                    }
                    (Column::Category(levels), Test::In(set)) => match levels[row] {
                        u32::MAX => split.missing_right,
                        level => Some(set.contains(level)),
                    },
                    _ => None,
                };
                // Where each tree chooses the side of missing values, they are on neither.
                at = side.and_then(|right| {
                    reached[place][usize::from(right)] = true;
                    split.children[usize::from(right)]
                });
            }
        }
        Ok(())
    })?;

    let empty = |sides: &&[bool; 2]| sides.contains(&false);
    let Some((place, sides)) = reached.iter().enumerate().find(|(_, sides)| empty(sides)) else {
        return Ok(());
    };
    let side = if sides[0] { "right" } else { "left" };
    let name = &rows.schema.features[given[place].feature].name;
    let message = format!("has a split of '{name}' with no training row on its {side} side");
    Err(Error::Parameters(vec![Violation::new("first_split", message)]))
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
