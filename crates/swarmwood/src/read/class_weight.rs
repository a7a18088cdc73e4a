//! Weights of classes: factors of the weights of training rows.

use swarmwood_model::{Schema, TargetKind};

use super::ReadOptions;
use crate::error::Violation;
use crate::nearest::nearest;
use crate::{Error, Result};

/// What the rows of each class weigh.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassWeight {
    /// All classes have the same total weight, which sums to the number of rows.
    Balanced,
    /// Factors by the name of the class; 1 for the others.
    Each(Vec<(String, f64)>),
}

impl ClassWeight {
    /// `balanced`, or names with factors: `yes:5,no:1`. The message says what is wrong.
    ///
    /// ```
    /// use swarmwood::read::ClassWeight;
    /// let weights = ClassWeight::parse("yes:5,no:0.5").unwrap();
    /// assert_eq!(weights, ClassWeight::Each(vec![("yes".into(), 5.0), ("no".into(), 0.5)]));
    /// assert!(ClassWeight::parse("yes").is_err());
    /// ```
    pub fn parse(text: &str) -> std::result::Result<ClassWeight, String> {
        if text == "balanced" {
            return Ok(ClassWeight::Balanced);
        }
        let wrong = || {
            format!("is '{text}', must be 'balanced' or classes with weights, such as 'yes:5,no:1'")
        };
        let one = |part: &str| {
            let (name, weight) = part.rsplit_once(':')?;
            let weight: f64 = weight.trim().parse().ok()?;
            is_factor(weight).then(|| (name.trim().to_string(), weight))
        };
        let each: Option<Vec<(String, f64)>> = text.split(',').map(one).collect();
        each.map(ClassWeight::Each).ok_or_else(wrong)
    }
}

/// Whether a number can be the weight of a class.
pub(super) fn is_factor(weight: f64) -> bool {
    weight.is_finite() && weight > 0.0
}

/// The factor of each class; `None` if the options have no weights of classes.
pub(super) fn factors(
    options: &ReadOptions,
    schema: &Schema,
    counts: impl FnOnce() -> Vec<usize>,
) -> Result<Option<Vec<f64>>> {
    let (class_weight, positive) = (options.class_weight.as_ref(), options.scale_pos_weight);
    let name = match (class_weight, positive) {
        (None, None) => return Ok(None),
        (Some(_), _) => "class_weight",
        (None, Some(_)) => "scale_pos_weight",
    };
    let TargetKind::Classes(classes) = &schema.target.kind else {
        return Err(refused(name, "is for classes, but the target has numbers".to_string()));
    };

    let mut factors = match class_weight {
        None => vec![1.0; classes.len()],
        Some(ClassWeight::Balanced) => balanced(&counts()),
        Some(ClassWeight::Each(each)) => by_name(each, classes)?,
    };
    if let Some(weight) = positive {
        let [_, second] = &mut factors[..] else {
            let message = format!(
                "is for two classes, but the target has {}; use class weights",
                classes.len()
            );
            return Err(refused("scale_pos_weight", message));
        };
        *second *= weight;
    }
    Ok(Some(factors))
}

/// Factors that give all classes that occur the same total weight.
fn balanced(counts: &[usize]) -> Vec<f64> {
    let rows: usize = counts.iter().sum();
    let factor = |&count: &usize| match count {
        0 => 1.0,
        count => rows as f64 / (counts.len() as f64 * count as f64),
    };
    counts.iter().map(factor).collect()
}

fn by_name(each: &[(String, f64)], classes: &[String]) -> Result<Vec<f64>> {
    let mut factors = vec![1.0; classes.len()];
    for (name, weight) in each {
        let Some(at) = classes.iter().position(|class| class == name) else {
            let near = nearest(name, classes.iter().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            let message = format!("names the class '{name}', which the target does not have{hint}");
            return Err(refused("class_weight", message));
        };
        factors[at] = *weight;
    }
    Ok(factors)
}

fn refused(name: &str, message: String) -> Error {
    Error::Parameters(vec![Violation::new(name, message)])
}
