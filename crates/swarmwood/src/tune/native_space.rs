//! A space of our own parameters: every name is one of the table, every value one that the table
//! allows.
//!
//! A space that is wrong is refused before the first fit, with every fault at once.

use swarmwood_search::{Domain, Point, Space};

use super::named::text;
use crate::error::Violation;
use crate::message::Message;
use crate::params::{AllowedValues, ParamSpec, Params, ValidParams, find};
use crate::{Error, Result};

/// What cannot be tuned, and why.
const FIXED: &[(&str, &str)] = &[
    ("method", "cannot be tuned, for other methods have other parameters; run one study a method"),
    ("metric", "is what configurations are judged by and cannot be tuned"),
    ("threads", "never changes a model"),
    ("time_limit", "makes results depend on the machine; limit the work of a fit instead"),
    ("valid_fraction", "has no use here: folds are the validation rows"),
    ("seed", "must not be tuned: it selects by chance"),
];

/// Checks that every configuration of the space is one of the table's, beside the fixed parameters.
pub fn check(space: &Space, fixed: &Params) -> Result<()> {
    let mut violations = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for param in space.params() {
        let mut violate =
            |message: Message| violations.push(Violation::new(param.name.as_str(), message));
        let spec = match find(&param.name) {
            Ok(spec) => spec,
            Err(violation) => {
                violate(violation.message);
                continue;
            }
        };
        if known.contains(&spec.name) {
            violate(format!("is {} once more, under another name", spec.name).into());
        }
        known.push(spec.name);
        match FIXED.iter().find(|(name, _)| *name == spec.name) {
            Some((_, why)) => violate((*why).into()),
            None => domain_faults(spec, &param.domain).into_iter().for_each(violate),
        }
    }
    if violations.is_empty() {
        violations = corner_faults(space, fixed);
    }
    if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
}

/// What one parameter's domain has that the table does not allow.
fn domain_faults(spec: &ParamSpec, domain: &Domain) -> Vec<Message> {
    let bad = |value: f64| {
        (!spec.allowed.holds(value))
            .then(|| Message::from(format!("may be {value}, must be {}", spec.allowed)))
    };
    let whole = matches!(spec.allowed, AllowedValues::Whole { .. });
    let words = matches!(
        spec.allowed,
        AllowedValues::Choices(_)
            | AllowedValues::Switch
            | AllowedValues::Matrix
            | AllowedValues::ByFeature { .. }
            | AllowedValues::FeatureGroups { .. }
            | AllowedValues::Splits(_)
    );
    match domain {
        Domain::Choice(labels) => {
            let mut any = Params::default();
            labels
                .iter()
                .filter_map(|label| any.set(spec.name, label).err())
                .map(|fault| fault.message)
                .collect()
        }
        _ if words => vec![format!("has numbers, must be {}", spec.allowed).into()],
        Domain::Real { .. } if whole => {
            vec!["is real, but takes whole numbers; make it an integer".into()]
        }
        Domain::Integer { low, high, .. } => {
            [*low, *high].into_iter().filter_map(|end| bad(end as f64)).collect()
        }
        Domain::Real { low, high, .. } => [*low, *high].into_iter().filter_map(bad).collect(),
        Domain::List(values) => {
            let broken = |value: &f64| whole && value.fract() != 0.0;
            let fraction = values.iter().find(|value| broken(value));
            let fraction =
                fraction.map(|value| format!("may be {value}, must be {}", spec.allowed).into());
            values.iter().filter_map(|&value| bad(value)).chain(fraction).collect()
        }
    }
}

/// What parameters ask of each other, tried where it most likely shows: every parameter at one of
/// its ends, or at one of its labels, with the others at their low and at their high ends.
fn corner_faults(space: &Space, fixed: &Params) -> Vec<Violation> {
    let mut violations: Vec<Violation> = Vec::new();
    for rest in [0.0, 1.0] {
        for (i, param) in space.params().iter().enumerate() {
            let steps = match &param.domain {
                Domain::Choice(labels) => labels.len(),
                _ => 2,
            };
            for step in 0..steps {
                let mut position = vec![rest; space.len()];
                position[i] = (step as f64 + 0.5) / steps as f64;
                if !matches!(param.domain, Domain::Choice(_)) {
                    position[i] = step as f64;
                }
                if let Err(Error::Parameters(found)) =
                    params(fixed, space, &space.decode(&position))
                {
                    let fresh = found
                        .into_iter()
                        .filter(|fault| !violations.contains(fault))
                        .collect::<Vec<_>>();
                    violations.extend(fresh);
                }
            }
        }
    }
    violations
}

/// The parameters of a configuration: the fixed ones, and over them those that are active.
pub fn params(fixed: &Params, space: &Space, point: &Point) -> Result<ValidParams> {
    let mut params = fixed.clone();
    for (i, param) in space.params().iter().enumerate() {
        if let Some(text) = point.0.get(i).and_then(|&value| text(space, i, value)) {
            params
                .set(&param.name, &text)
                .map_err(|violation| Error::Parameters(vec![violation]))?;
        }
    }
    params.check()
}

/// The labels that a parameter may have in the space; none if it is not tuned.
pub fn labels(space: &Space, name: &str) -> Vec<String> {
    let called = |given: &str| find(given).is_ok_and(|spec| spec.name == name);
    match space.params().iter().find(|param| called(&param.name)).map(|param| &param.domain) {
        Some(Domain::Choice(labels)) => labels.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Method;
    use swarmwood_search::Param;

    fn faults(params: Vec<Param>) -> String {
        let space = Space::new(params).unwrap();
        check(&space, &Params::of(Method::GREEDY)).unwrap_err().to_string()
    }

    #[test]
    fn every_fault_names_its_parameter() {
        let text = faults(vec![
            Param::integer("dept", 1, 4),
            Param::real("learning_rate", 0.0, 0.5),
            Param::real("trees", 1.0, 9.0),
            Param::list("max_bin", &[16.5, 300.0]),
            Param::choice("growth", &["leaf", "deep"]),
            Param::integer("booster", 0, 2),
            Param::integer("depth", 1, 4),
            Param::integer("max_depth", 1, 4),
            Param::choice("method", &["greedy", "swarm"]),
        ]);
        for part in [
            "dept: no such parameter; did you mean 'depth'?",
            "learning_rate: may be 0, must be a number above 0, at most 1",
            "trees: is real",
            "max_bin: may be 300",
            "max_bin: may be 16.5",
            "growth: is 'deep'",
            "booster: has numbers",
            "max_depth: is depth once more",
            "method: cannot be tuned",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn parameters_that_contradict_each_other_are_found_at_the_ends() {
        let text = faults(vec![
            Param::choice("growth", &["leaf", "oblivious"]),
            Param::integer("depth", 2, 20),
        ]);
        assert!(text.contains("depth: is 20, must be at most 16 with growth oblivious"), "{text}");
    }

    #[test]
    fn values_reach_the_parameters() {
        let space = Space::new(vec![
            Param::choice("booster", &["gbtree", "gblinear"]),
            Param::list("eta", &[0.02, 0.3]),
            Param::integer("max_depth", 1, 9).when("booster", &["gbtree"]),
            Param::integer("min_child_weight", 1, 20),
        ])
        .unwrap();
        let fixed = Params { depth: 4, trees: 7, ..Params::of(Method::GREEDY) };
        let at = |position: &[f64]| params(&fixed, &space, &space.decode(position)).unwrap();
        let tree = at(&[0.0, 1.0, 1.0, 0.0]);
        assert_eq!(
            (tree.learning_rate, tree.depth, tree.min_child_weight, tree.trees),
            (0.3, 9, 1.0, 7)
        );
        let linear = at(&[1.0, 0.0, 1.0, 0.0]);
        assert_eq!((linear.booster, linear.depth), (crate::params::Booster::Gblinear, 4));
    }
}
