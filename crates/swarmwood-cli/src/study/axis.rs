//! The axis of a parameter: positions of values from 0 to 1, and ticks.

use swarmwood::search::{Domain, ParamScale, PointValue, Space};

use crate::chart;
use crate::format::number;

/// Maximum number of labels of a list or a choice.
const MAX_LABELS: usize = 8;

/// The axis of one parameter.
pub(super) struct ParameterAxis<'a> {
    space: &'a Space,
    parameter: usize,
}

impl<'a> ParameterAxis<'a> {
    pub(super) fn new(space: &'a Space, parameter: usize) -> Self {
        ParameterAxis { space, parameter }
    }

    pub(super) fn name(&self) -> &'a str {
        &self.space.params()[self.parameter].name
    }

    fn domain(&self) -> &'a Domain {
        &self.space.params()[self.parameter].domain
    }

    /// The position of a value; `None` if the parameter has none.
    pub(super) fn position(&self, value: PointValue) -> Option<f64> {
        match (self.domain(), value) {
            (Domain::List(values), PointValue::Index(at)) => Some(cell(at, values.len())),
            (Domain::Choice(labels), PointValue::Index(at)) => Some(cell(at, labels.len())),
            _ => {
                self.space.number(self.parameter, value).map(|number| self.number_position(number))
            }
        }
    }

    /// The position of a number between the bounds.
    fn number_position(&self, number: f64) -> f64 {
        match *self.domain() {
            Domain::Integer { low, high, scale } => {
                scaled_position(number, (low as f64, high as f64), scale)
            }
            Domain::Real { low, high, scale } => scaled_position(number, (low, high), scale),
            _ => 0.5,
        }
    }

    /// Positions and labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        match self.domain() {
            Domain::List(values) => spread(values.len(), |at| number(values[at])),
            Domain::Choice(labels) => spread(labels.len(), |at| labels[at].clone()),
            Domain::Integer { low, high, scale } => {
                self.numbers(*low as f64, *high as f64, *scale, true)
            }
            Domain::Real { low, high, scale } => self.numbers(*low, *high, *scale, false),
        }
    }

    fn numbers(&self, low: f64, high: f64, scale: ParamScale, whole: bool) -> Vec<(f64, String)> {
        let numbers: Vec<f64> = match scale {
            _ if low == high => vec![low],
            ParamScale::Linear => {
                let ticks = chart::ticks((low, high));
                ticks.into_iter().filter(|tick| !whole || tick.fract() == 0.0).collect()
            }
            ParamScale::Log => decades(low, high),
        };
        numbers
            .into_iter()
            .map(|number| (self.number_position(number), tick_label(number)))
            .collect()
    }
}

/// The position of a number in a range; the middle if the range is empty.
fn scaled_position(number: f64, (low, high): (f64, f64), scale: ParamScale) -> f64 {
    let (number, low, high) = match scale {
        ParamScale::Linear => (number, low, high),
        ParamScale::Log => (number.ln(), low.ln(), high.ln()),
    };
    if high > low { (number - low) / (high - low) } else { 0.5 }
}

/// The label of a number, without rounding errors.
fn tick_label(value: f64) -> String {
    let rounded = format!("{value:.6e}").parse().unwrap_or(value);
    if rounded != 0.0 && f64::abs(rounded) < 1e-3 {
        format!("{rounded:e}")
    } else {
        number(rounded)
    }
}

/// Powers of ten between two numbers; where these are few, twice and five times them as well.
fn decades(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let inside = |x: &f64| *x >= low * 0.999 && *x <= high * 1.001;
    let steps: &[f64] = if last - first <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all =
        (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    let found: Vec<f64> = all.filter(inside).collect();
    if found.is_empty() { vec![low, high] } else { found }
}

fn cell(at: usize, count: usize) -> f64 {
    (at as f64 + 0.5) / count as f64
}

/// Labels of cells, thinned where there are too many.
fn spread(count: usize, label: impl Fn(usize) -> String) -> Vec<(f64, String)> {
    let step = count.div_ceil(MAX_LABELS).max(1);
    (0..count).step_by(step).map(|at| (cell(at, count), label(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood::search::Param;

    #[test]
    fn ticks_are_at_the_positions_of_their_values() {
        let space = Space::new(vec![
            Param::real("rate", 0.001, 1.0).log(),
            Param::integer("depth", 1, 11),
            Param::list("bins", &[16.0, 64.0]),
            Param::choice("kind", &["a", "b"]),
            Param::integer("fixed", 4, 4),
        ])
        .unwrap();
        let ticks = |at: usize| ParameterAxis::new(&space, at).ticks();
        let rates = ticks(0);
        assert_eq!(rates.first().map(|tick| tick.1.as_str()), Some("0.001"));
        assert!(
            rates.iter().any(|(at, label)| label == "0.1" && (at - 2.0 / 3.0).abs() < 1e-9),
            "{rates:?}"
        );
        assert!(ticks(1).iter().any(|(at, label)| label == "6" && *at == 0.5), "{:?}", ticks(1));
        assert_eq!(ticks(2), [(0.25, "16".to_string()), (0.75, "64".to_string())]);
        assert_eq!(ParameterAxis::new(&space, 3).position(PointValue::Index(1)), Some(0.75));
        assert_eq!(ParameterAxis::new(&space, 3).position(PointValue::Absent), None);
        assert_eq!(ticks(4), [(0.5, "4".to_string())]);
    }
}
