//! Spaces that come with the program: the published ranges, and for every method a sensible one.
//!
//! The ranges A and B are those of Makino and Kita's experiments with XGBoost (2024; always 100
//! trees; see `docs/tuning.md`). Range B adds the booster and the loss. `paper-b` has what only
//! trees have where there are trees, and our defaults of `dart` and of the squared-log loss;
//! `paper-b-exact` has what XGBoost makes of the published genes.

use swarmwood_search::{Param, Space};

use crate::error::Violation;
use crate::nearest::nearest;
use crate::params::{LearnerSpec, Params, find};
use crate::{Error, Result};

/// The spaces by name, with a line of help.
pub const SPACES: &[(&str, &str)] = &[
    ("default", "what matters for the method, in ranges that rarely disappoint"),
    (
        "paper-a",
        "range A of the published experiments: learning rate, depth, child weight, rows, features",
    ),
    ("paper-b", "range B: A with the booster and the loss"),
    (
        "paper-b-exact",
        "range B as XGBoost takes it: dart without drops, squaredlogerror, no conditions",
    ),
];

/// The space of a name.
///
/// ```
/// use swarmwood::params::{Method, Params};
/// use swarmwood::tune::spaces::built_in;
/// let space = built_in("paper-a", &Params::of(Method::GREEDY), &[])?;
/// assert_eq!(space.size(), Some(15 * 20 * 20 * 15 * 15));
/// # Ok::<(), swarmwood::Error>(())
/// ```
///
/// `given` are the names of parameters that the user fixed: the default space leaves them out; a
/// published one is what it is and refuses them.
pub fn built_in(name: &str, fixed: &Params, given: &[&str]) -> Result<Space> {
    let params = match name {
        "default" => default_params(fixed, given),
        "paper-a" => paper_a(),
        "paper-b" => paper_b(),
        "paper-b-exact" => paper_b_exact(),
        _ => {
            let names = SPACES.iter().map(|&(name, _)| name);
            let meant = nearest(name, names.clone())
                .map_or(String::new(), |near| format!(", perhaps {near}"));
            let names = names.collect::<Vec<_>>().join(", ");
            return Err(fault(
                "space",
                format!("is '{name}'{meant}; must be a file or one of {names}"),
            ));
        }
    };
    let space = Space::new(params).map_err(|error| fault("space", error.to_string()))?;
    if space.is_empty() {
        return Err(fault(
            "space",
            format!("leaves nothing to tune for method {}; give a file", fixed.method.name()),
        ));
    }
    refuse_given(&space, given)?;
    refuse_fixed_by_space(name, given)?;
    Ok(space)
}

/// The parameters that a space fixes, with their values.
fn fixed_values(space: &str) -> &'static [(&'static str, &'static str)] {
    match space {
        "paper-b-exact" => &[("rate_drop", "0")],
        _ => &[],
    }
}

/// Sets the parameters that a space of that name fixes beside those that it varies.
///
/// ```
/// use swarmwood::params::{Method, Params};
/// use swarmwood::tune::spaces::fix_params;
/// let mut params = Params::of(Method::GREEDY);
/// fix_params("paper-b-exact", &mut params)?;
/// assert_eq!(params.rate_drop, 0.0);
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn fix_params(space: &str, params: &mut Params) -> Result<()> {
    fixed_values(space).iter().try_for_each(|(name, value)| {
        params.set(name, value).map_err(|violation| Error::Parameters(vec![violation]))
    })
}

/// Refuses parameters that the user and the space fix.
fn refuse_fixed_by_space(space: &str, given: &[&str]) -> Result<()> {
    let message = |value: &str| format!("is {value} in the space {space}; leave out the flag");
    let violations: Vec<Violation> = fixed_values(space)
        .iter()
        .filter(|(name, _)| given.contains(name))
        .map(|(name, value)| Violation::new(*name, message(value)))
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
}

/// Refuses parameters that are tuned and fixed at once.
pub fn refuse_given(space: &Space, given: &[&str]) -> Result<()> {
    let twice = space
        .params()
        .iter()
        .filter(|param| find(&param.name).is_ok_and(|spec| given.contains(&spec.name)));
    let message =
        "is tuned and cannot be fixed as well; leave out the flag, or take it out of the space";
    let violations: Vec<Violation> =
        twice.map(|param| Violation::new(param.name.as_str(), message)).collect();
    if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
}

fn fault(name: &str, message: String) -> Error {
    Error::Parameters(vec![Violation::new(name, message)])
}

/// `from, from + step, …, to`, every value the nearest number to its two decimals.
fn hundredths(from: u32, to: u32, step: usize) -> Vec<f64> {
    (from..=to).step_by(step).map(|value| f64::from(value) / 100.0).collect()
}

/// Search range A.
fn paper_a() -> Vec<Param> {
    let shares = hundredths(30, 100, 5);
    vec![
        Param::list("learning_rate", &hundredths(2, 30, 2)),
        Param::integer("depth", 1, 20),
        Param::integer("min_child_weight", 1, 20),
        Param::list("subsample", &shares),
        Param::list("colsample_bytree", &shares),
    ]
}

/// Search range B.
fn paper_b() -> Vec<Param> {
    let mut params = vec![
        Param::choice("booster", &["gbtree", "gblinear", "dart"]),
        Param::choice("objective", &["squared", "squared-log"]),
    ];
    params.extend(paper_a().into_iter().map(|param| match param.name.as_str() {
        "learning_rate" => param,
        _ => param.when("booster", &["gbtree", "dart"]),
    }));
    params
}

/// Search range B as XGBoost takes it: a booster ignores the genes that it has no use for.
fn paper_b_exact() -> Vec<Param> {
    let mut params = vec![
        Param::choice("booster", &["gbtree", "gblinear", "dart"]),
        Param::choice("objective", &["squared", "squaredlogerror"]),
    ];
    params.extend(paper_a());
    params
}

/// What is worth tuning, if the table says that it has an effect beside the fixed parameters.
fn worth_tuning(spec: &LearnerSpec) -> Vec<Param> {
    let size = |&(name, low, high): &(&str, i64, i64)| match name {
        "depth" => Param::integer(name, low, high),
        _ => Param::integer(name, low, high).log(),
    };
    let mut params = vec![Param::real("learning_rate", 0.02, 0.5).log()];
    params.extend(spec.tuned_sizes.iter().map(size));
    params.extend([
        Param::integer("min_leaf", 1, 64).log(),
        Param::real("min_child_weight", 0.5, 64.0).log(),
        Param::real("subsample", 0.4, 1.0),
        Param::real("colsample_bytree", 0.3, 1.0),
        Param::real("lambda", 0.01, 100.0).log(),
        Param::real("l1", 0.001, 100.0).log(),
        Param::real("rate_drop", 0.01, 0.3).log(),
        Param::real("alpha", 0.1, 0.9),
        Param::real("beta", 0.1, 0.9),
    ]);
    params
}

/// The parameters of [`worth_tuning`] that have an effect and nobody fixed.
fn default_params(fixed: &Params, given: &[&str]) -> Vec<Param> {
    let applies = |param: &Param| {
        find(&param.name).is_ok_and(|spec| spec.applies(fixed) && !given.contains(&spec.name))
    };
    worth_tuning(fixed.method.spec()).into_iter().filter(applies).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Booster, Method};
    use crate::tune::native_space;
    use swarmwood_search::{Domain, PointValue};

    #[test]
    fn the_published_ranges_have_their_size() {
        let fixed = Params::of(Method::GREEDY);
        let a = built_in("paper-a", &fixed, &[]).unwrap();
        let b = built_in("paper-b", &fixed, &[]).unwrap();
        assert_eq!(a.size(), Some(1_350_000));
        assert_eq!(b.size(), Some(2 * 15 * (2 * 20 * 20 * 15 * 15 + 1)));
        let rates = match &a.params()[0].domain {
            Domain::List(values) => values.clone(),
            _ => Vec::new(),
        };
        assert_eq!((rates.len(), rates[0], rates[7], rates[14]), (15, 0.02, 0.16, 0.3));
        let exact = built_in("paper-b-exact", &fixed, &[]).unwrap();
        assert_eq!(exact.size(), Some(3 * 2 * 1_350_000));
        for space in [&a, &b, &exact] {
            native_space::check(space, &fixed).unwrap();
        }
    }

    #[test]
    fn every_gene_of_the_exact_range_has_a_value() {
        let fixed = Params::of(Method::GREEDY);
        let space = built_in("paper-b-exact", &fixed, &[]).unwrap();
        for booster in [0.0, 0.5, 1.0] {
            let point = space.decode(&[booster, 0.0, 0.5, 0.5, 0.5, 0.5, 0.5]);
            assert!(!point.0.contains(&PointValue::Absent), "{point:?}");
        }

        let text = built_in("paper-b-exact", &fixed, &["rate_drop"]).unwrap_err().to_string();
        assert!(text.starts_with("rate_drop: is 0 in the space paper-b-exact"), "{text}");
    }

    #[test]
    fn every_method_has_a_default_space_that_passes_its_own_checks() {
        for &method in Method::ALL {
            let fixed = Params::of(method);
            let space = built_in("default", &fixed, &[]).unwrap();
            native_space::check(&space, &fixed)
                .unwrap_or_else(|error| panic!("{method:?}: {error}"));
            for param in space.params() {
                assert!(find(&param.name).unwrap().applies(&fixed), "{method:?} {}", param.name);
            }
        }
        let linear = Params { booster: Booster::Gblinear, ..Params::of(Method::GREEDY) };
        let names = |space: Space| {
            space.params().iter().map(|param| param.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            names(built_in("default", &linear, &[]).unwrap()),
            ["learning_rate", "lambda", "l1"]
        );
        let fewer =
            names(built_in("default", &Params::of(Method::GREEDY), &["depth", "lambda"]).unwrap());
        assert_eq!(fewer, ["learning_rate", "min_child_weight", "subsample", "colsample_bytree"]);
    }

    #[test]
    fn fixed_and_unknown_names_are_refused() {
        let fixed = Params::of(Method::GREEDY);
        let text = built_in("paper-a", &fixed, &["depth"]).unwrap_err().to_string();
        assert!(text.starts_with("depth: is tuned and cannot be fixed"), "{text}");
        let text = built_in("paper_a", &fixed, &[]).unwrap_err().to_string();
        assert!(text.contains("perhaps paper-a"), "{text}");
    }
}
