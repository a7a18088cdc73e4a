//! Search spaces: bounded numbers and choices, some of them conditional.
//!
//! A [`Space`] is always valid: [`Space::new`] reports all errors at once. Numeric engines work in
//! the unit cube ([`Space::encode`], [`Space::decode`]); engines that work on points directly use
//! [`Space::draw`], [`Space::size`] and [`Space::nth`].

mod check;
mod encode;
mod enumerate;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::point::{Point, PointValue};
use crate::rng;

/// The largest magnitude of an integer parameter: every value and every cell of the unit interval
/// is exact in `f64`.
pub(crate) const INTEGER_LIMIT: i64 = 1 << 40;

/// The scale of a numeric parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamScale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart; needs positive bounds.
    Log,
}

/// The values a parameter may take.
#[derive(Debug, Clone, PartialEq)]
pub enum Domain {
    /// All integers from `low` to `high`, both included.
    Integer {
        /// The smallest value.
        low: i64,
        /// The largest value.
        high: i64,
        /// The scale.
        scale: ParamScale,
    },
    /// All numbers from `low` to `high`, both included.
    Real {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
        /// The scale.
        scale: ParamScale,
    },
    /// Some numbers in ascending order; neighbours in the list are close to each other.
    List(Vec<f64>),
    /// Labels without an order (a categorical parameter).
    Choice(Vec<String>),
}

impl Domain {
    /// Number of values; `None` for a continuum.
    pub fn values(&self) -> Option<u64> {
        match self {
            Domain::Integer { low, high, .. } => Some(high.abs_diff(*low) + 1),
            Domain::Real { low, high, .. } => (low == high).then_some(1),
            Domain::List(values) => Some(values.len() as u64),
            Domain::Choice(labels) => Some(labels.len() as u64),
        }
    }

    fn contains(&self, value: PointValue) -> bool {
        match (self, value) {
            (Domain::Integer { low, high, .. }, PointValue::Integer(i)) => {
                (*low..=*high).contains(&i)
            }
            (Domain::Real { low, high, .. }, PointValue::Real(x)) => (*low..=*high).contains(&x),
            (Domain::List(values), PointValue::Index(i)) => i < values.len(),
            (Domain::Choice(labels), PointValue::Index(i)) => i < labels.len(),
            _ => false,
        }
    }
}

/// The condition under which a parameter is active: an earlier choice has one of these labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamCondition {
    /// Name of the choice.
    pub parent: String,
    /// The labels under which the parameter is active.
    pub labels: Vec<String>,
}

/// A named parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Its name, unique in the space.
    pub name: String,
    /// Its domain.
    pub domain: Domain,
    /// When it is active; always if `None`.
    pub condition: Option<ParamCondition>,
}

impl Param {
    fn new(name: &str, domain: Domain) -> Self {
        Param { name: name.to_owned(), domain, condition: None }
    }

    /// An integer in `low..=high`.
    pub fn integer(name: &str, low: i64, high: i64) -> Self {
        Self::new(name, Domain::Integer { low, high, scale: ParamScale::Linear })
    }

    /// A number in `low..=high`.
    pub fn real(name: &str, low: f64, high: f64) -> Self {
        Self::new(name, Domain::Real { low, high, scale: ParamScale::Linear })
    }

    /// One of some numbers in ascending order.
    pub fn list(name: &str, values: &[f64]) -> Self {
        Self::new(name, Domain::List(values.to_vec()))
    }

    /// One of some labels.
    pub fn choice(name: &str, labels: &[&str]) -> Self {
        Self::new(name, Domain::Choice(labels.iter().map(|&label| label.to_owned()).collect()))
    }

    /// Sets the scale of an integer or real parameter to logarithmic; no effect on lists and
    /// choices.
    #[must_use]
    pub fn log(mut self) -> Self {
        if let Domain::Integer { scale, .. } | Domain::Real { scale, .. } = &mut self.domain {
            *scale = ParamScale::Log;
        }
        self
    }

    /// Makes the parameter active only while the choice `parent`, an earlier parameter, has one of
    /// `labels`.
    #[must_use]
    pub fn when(mut self, parent: &str, labels: &[&str]) -> Self {
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        self.condition = Some(ParamCondition { parent: parent.to_owned(), labels });
        self
    }
}

/// A search space: a valid list of parameters.
///
/// ```
/// use swarmwood_search::{Param, Space, PointValue};
/// let space = Space::new(vec![
///     Param::choice("booster", &["tree", "linear"]),
///     Param::integer("depth", 1, 8).when("booster", &["tree"]),
///     Param::real("rate", 0.01, 1.0).log(),
/// ])?;
/// let point = space.decode(&[0.9, 0.5, 0.5]);
/// assert_eq!(point[0], PointValue::Index(1)); // "linear" ...
/// assert_eq!(point[1], PointValue::Absent); //   ... has no depth
/// assert!((space.number(2, point[2]).unwrap() - 0.1).abs() < 1e-12); // the geometric middle
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    params: Vec<Param>,
    /// The parent of each conditional parameter and the labels under which it is active.
    gates: Vec<Option<ParentLabels>>,
    /// The number of combinations of each parameter and its descendants; `None` if uncountable.
    counts: Vec<Option<u128>>,
}

/// A condition by position instead of by name.
#[derive(Debug, Clone, PartialEq)]
struct ParentLabels {
    parent: usize,
    open: Vec<bool>,
}

impl Space {
    /// Checks the parameters and reports all errors at once.
    pub fn new(params: Vec<Param>) -> Result<Self, Error> {
        let gates = check::gates(&params)?;
        let mut space = Space { params, gates, counts: Vec::new() };
        space.counts = space.count_all();
        Ok(space)
    }

    /// The parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.params.len()
    }

    /// Whether there are no parameters; such a space has one point, the empty one.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// Position of a parameter.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.params.iter().position(|param| param.name == name)
    }

    /// Whether a parameter is active, given the values of those before it.
    pub(crate) fn is_active(&self, parameter: usize, earlier: &[PointValue]) -> bool {
        let gate = self.gates.get(parameter).and_then(Option::as_ref);
        gate.is_none_or(|gate| match earlier.get(gate.parent) {
            Some(PointValue::Index(label)) => gate.open.get(*label).copied().unwrap_or(false),
            _ => false,
        })
    }

    /// Whether the point lies in the space: every active parameter has a value inside its domain,
    /// and no other has a value.
    pub fn contains(&self, point: &Point) -> bool {
        point.0.len() == self.len()
            && self.params.iter().enumerate().all(|(i, param)| match self.is_active(i, &point.0) {
                true => param.domain.contains(point[i]),
                false => point[i] == PointValue::Absent,
            })
    }

    /// The number of a value; `None` for choices, absent values and values of another kind.
    pub fn number(&self, parameter: usize, value: PointValue) -> Option<f64> {
        match (&self.params.get(parameter)?.domain, value) {
            (Domain::Integer { .. }, PointValue::Integer(i)) => Some(i as f64),
            (Domain::Real { .. }, PointValue::Real(x)) => Some(x),
            (Domain::List(values), PointValue::Index(i)) => values.get(i).copied(),
            _ => None,
        }
    }

    /// The label of a value; `None` for anything but a choice.
    pub fn label(&self, parameter: usize, value: PointValue) -> Option<&str> {
        match (&self.params.get(parameter)?.domain, value) {
            (Domain::Choice(labels), PointValue::Index(i)) => labels.get(i).map(String::as_str),
            _ => None,
        }
    }

    /// A hash that changes with every change of a parameter; stored in snapshots.
    pub fn fingerprint(&self) -> u128 {
        let mut words = Vec::new();
        for param in &self.params {
            push_text(&mut words, &param.name);
            match &param.domain {
                Domain::Integer { low, high, scale } => {
                    words.extend([0, *low as u64, *high as u64, *scale as u64])
                }
                Domain::Real { low, high, scale } => {
                    words.extend([1, low.to_bits(), high.to_bits(), *scale as u64])
                }
                Domain::List(values) => {
                    words.extend([2, values.len() as u64]);
                    words.extend(values.iter().map(|value| value.to_bits()));
                }
                Domain::Choice(labels) => {
                    words.extend([3, labels.len() as u64]);
                    labels.iter().for_each(|label| push_text(&mut words, label));
                }
            }
            if let Some(condition) = &param.condition {
                push_text(&mut words, &condition.parent);
                condition.labels.iter().for_each(|label| push_text(&mut words, label));
            }
            words.push(u64::MAX); // ends the parameter
        }
        rng::fingerprint(words)
    }
}

fn push_text(words: &mut Vec<u64>, text: &str) {
    words.push(text.len() as u64);
    words.extend(text.bytes().map(u64::from));
}
