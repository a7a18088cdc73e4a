//! Checks that a model is monotone where it should be.

use swarmwood_model::monotone::{self, Counterexample, Direction, MonotoneCheck};
use swarmwood_model::{FeatureValue, MISSING, Model, Prediction};

use crate::error::Violation;
use crate::message::Message;
use crate::params::Params;
use crate::{Error, Result};

/// What the check of one feature found.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureCheck {
    /// The feature's name.
    pub feature: String,
    /// The column of the target, if there are several.
    pub column: Option<String>,
    /// The direction that was checked.
    pub direction: Direction,
    /// The finding.
    pub found: MonotoneCheck,
}

impl FeatureCheck {
    /// Whether the direction was proven.
    pub fn is_proven(&self) -> bool {
        matches!(self.found, MonotoneCheck::Proven { .. })
    }
}

/// Checks directions such as `income:+,debt:-`, by default those that the model was trained with.
///
/// ```
/// use swarmwood::params::{Method, Params};
/// use swarmwood::read::{self, ReadOptions, Source};
/// use swarmwood::{monotone, train};
///
/// let csv = b"size,price\n1,10\n2,25\n3,20\n4,40\n5,30\n6,60\n";
/// let options = ReadOptions { target: "price".into(), ..ReadOptions::default() };
/// let rows = read::training(&Source::Bytes("houses.csv".into(), csv), &options)?;
/// let mut params = Params { min_child_weight: 0.0, ..Params::of(Method::GREEDY) };
/// params.set("monotone", "size:+").unwrap();
/// let model = train::train(&rows, None, &params.check()?, &mut |_| {})?.model;
/// assert!(monotone::check(&model, None)?.iter().all(|check| check.is_proven()));
/// assert!(!monotone::check(&model, Some("size:-"))?[0].is_proven());
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn check(model: &Model, directions: Option<&str>) -> Result<Vec<FeatureCheck>> {
    const NAME: &str = "check-monotone";
    let refuse = |message: Message| Error::Parameters(vec![Violation::new(NAME, message)]);
    let stored = model.provenance.params.get("monotone").map(String::as_str);
    let Some(text) = directions.or(stored) else {
        let message = "has no value, and the model was trained without directions; give them, such as \
                       'income:+,debt:-'";
        return Err(refuse(message.into()));
    };

    let mut params = Params::default();
    params.set("monotone", text).map_err(|violation| refuse(violation.message))?;
    let directions =
        params.monotone.resolve(&model.schema, None, NAME).map_err(Error::Parameters)?;
    let given = directions.into_iter().enumerate().filter_map(|(at, one)| Some((at, one?)));
    let given: Vec<_> = given.collect();
    let columns = model.schema.target.kind.columns().len();
    let of_columns: Vec<Model> = (0..columns).filter_map(|at| model.column_model(at)).collect();
    let models = if columns == 0 { std::slice::from_ref(model) } else { &of_columns };
    let pairs = models.iter().flat_map(|model| given.iter().map(move |&one| (model, one)));
    pairs
        .map(|(model, (at, direction))| {
            let found = monotone::check(model, at, direction)
                .map_err(|error| refuse(error.to_string().into()))?;
            let feature = model.schema.features[at].name.clone();
            let column = (columns > 0).then(|| model.schema.target.name.clone());
            Ok(FeatureCheck { feature, column, direction, found })
        })
        .collect()
}

/// A counterexample in words: both values of the feature with their predictions, and the values of the
/// other features that the model uses.
pub fn describe(model: &Model, feature: &str, example: &Counterexample) -> String {
    let features = &model.schema.features;
    let used = |at: usize| {
        let splits = model.members().iter().flat_map(|member| member.shape.splits());
        splits.map(|split| split.feature as usize).any(|other| other == at)
    };
    let others: Vec<String> = features
        .iter()
        .enumerate()
        .filter(|(at, other)| other.name != feature && used(*at))
        .map(|(at, _)| format!("{}={}", features[at].name, shown(model, at, example.lower[at])))
        .collect();
    let at = features.iter().position(|other| other.name == feature).unwrap_or(0);
    let side = |row: &[FeatureValue]| {
        let prediction = match model.predict_row(row) {
            Ok(Prediction::Number(number)) => number.to_string(),
            Ok(Prediction::Numbers(numbers)) => {
                numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" and ")
            }
            Ok(Prediction::Class { probabilities, .. }) => {
                probabilities.last().copied().unwrap_or(f64::NAN).to_string()
            }
            Err(_) => f64::NAN.to_string(),
        };
        format!("{feature}={} gives {prediction}", shown(model, at, row[at]))
    };
    let rows = format!("{}, {}", side(&example.lower), side(&example.upper));
    if others.is_empty() { rows } else { format!("{rows}, with {}", others.join(", ")) }
}

/// A value as text.
fn shown(model: &Model, feature: usize, value: FeatureValue) -> String {
    let levels = model.schema.features[feature].kind.levels();
    match value {
        FeatureValue::Number(number) if number.is_nan() => "missing".to_string(),
        FeatureValue::Number(number) => number.to_string(),
        FeatureValue::Category(code) if code != MISSING && (code as usize) < levels.len() => {
            levels[code as usize].clone()
        }
        FeatureValue::Category(_) => "missing".to_string(),
    }
}
