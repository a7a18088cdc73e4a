//! The unit cube: every parameter as a number between 0 and 1, for numeric engines.
//!
//! The interval of a discrete parameter is divided into one cell per value; a value is encoded as
//! the middle of its cell, so that rounding does not favour the bounds.

use super::{Domain, ParamScale, Space};
use crate::point::{Point, PointValue};
use crate::rng::Stream;

impl Space {
    /// The point at a position of the unit cube. Coordinates outside are clamped, NaN and missing
    /// coordinates are taken as 0.5, and those of inactive parameters are ignored.
    pub fn decode(&self, position: &[f64]) -> Point {
        let mut values = Vec::with_capacity(self.len());
        for (i, param) in self.params.iter().enumerate() {
            let u = position.get(i).copied().filter(|u| !u.is_nan()).unwrap_or(0.5).clamp(0.0, 1.0);
            values.push(if self.is_active(i, &values) {
                decode(&param.domain, u)
            } else {
                PointValue::Absent
            });
        }
        Point(values)
    }

    /// The position of a point in the unit cube; 0.5 for inactive parameters and values of a wrong
    /// kind.
    pub fn encode(&self, point: &Point) -> Vec<f64> {
        let value = |i: usize| point.0.get(i).copied().unwrap_or(PointValue::Absent);
        self.params.iter().enumerate().map(|(i, param)| encode(&param.domain, value(i))).collect()
    }

    /// The cell around `u`: the interval of coordinates with the same value; `None` for a
    /// continuum. The first cell begins at 0 and the last ends at 1.
    ///
    /// ```
    /// use swarmwood_search::{Param, Space};
    /// let space = Space::new(vec![Param::integer("depth", 1, 4), Param::real("rate", 0.0, 1.0)])?;
    /// assert_eq!(space.cell(0, 0.3), Some((0.25, 0.5)));
    /// assert_eq!(space.cell(1, 0.3), None);
    /// # Ok::<(), swarmwood_search::Error>(())
    /// ```
    pub fn cell(&self, parameter: usize, u: f64) -> Option<(f64, f64)> {
        let domain = &self.params.get(parameter)?.domain;
        let count = domain.values()?;
        match (domain, decode(domain, u.clamp(0.0, 1.0))) {
            (Domain::Integer { low, high, scale: ParamScale::Log }, PointValue::Integer(i)) => {
                let (start, end) = log_ends(*low, *high);
                let along = |x: f64| (x.ln() - start) / (end - start);
                let below = if i == *low { 0.0 } else { along(i as f64 - 0.5) };
                Some((below, if i == *high { 1.0 } else { along(i as f64 + 0.5) }))
            }
            (Domain::Integer { low, .. }, PointValue::Integer(i)) => {
                Some(even_cell(i.abs_diff(*low), count))
            }
            (_, PointValue::Index(i)) => Some(even_cell(i as u64, count)),
            _ => Some((0.0, 1.0)), // a real number with a single value
        }
    }

    /// The value of one parameter at a coordinate, regardless of conditions; absent for a parameter
    /// that does not exist.
    pub(crate) fn value_at(&self, parameter: usize, u: f64) -> PointValue {
        let u = if u.is_nan() { 0.5 } else { u.clamp(0.0, 1.0) };
        self.params.get(parameter).map_or(PointValue::Absent, |param| decode(&param.domain, u))
    }

    /// The coordinate of one value; `None` for an inactive parameter.
    ///
    /// ```
    /// use swarmwood_search::{Param, Space, PointValue};
    /// let space = Space::new(vec![Param::integer("depth", 1, 4)])?;
    /// assert_eq!(space.coordinate(0, PointValue::Integer(2)), Some(0.375));
    /// assert_eq!(space.coordinate(0, PointValue::Absent), None);
    /// # Ok::<(), swarmwood_search::Error>(())
    /// ```
    pub fn coordinate(&self, parameter: usize, value: PointValue) -> Option<f64> {
        let param = self.params.get(parameter)?;
        (value != PointValue::Absent).then(|| encode(&param.domain, value))
    }

    /// A random value of one parameter, regardless of conditions.
    pub(crate) fn draw_value(&self, parameter: usize, stream: &mut Stream) -> PointValue {
        self.params.get(parameter).map_or(PointValue::Absent, |param| draw(&param.domain, stream))
    }

    /// A random point: each active parameter uniformly over its values, or uniformly over its
    /// scale.
    pub fn draw(&self, stream: &mut Stream) -> Point {
        let mut values = Vec::with_capacity(self.len());
        for (i, param) in self.params.iter().enumerate() {
            values.push(if self.is_active(i, &values) {
                draw(&param.domain, stream)
            } else {
                PointValue::Absent
            });
        }
        Point(values)
    }
}

/// The ends of an integer's interval on the logarithmic scale: half a step beyond the bounds, so
/// that the first and the last value have whole cells.
fn log_ends(low: i64, high: i64) -> (f64, f64) {
    ((low as f64 - 0.5).ln(), (high as f64 + 0.5).ln())
}

/// The interval of one of `count` equal cells.
fn even_cell(cell: u64, count: u64) -> (f64, f64) {
    (cell as f64 / count as f64, (cell + 1) as f64 / count as f64)
}

fn decode(domain: &Domain, u: f64) -> PointValue {
    let cell = |count: u64| ((u * count as f64) as u64).min(count - 1);
    match domain {
        Domain::Integer { low, high, scale: ParamScale::Linear } => {
            PointValue::Integer(low + cell(high.abs_diff(*low) + 1) as i64)
        }
        Domain::Integer { low, high, scale: ParamScale::Log } => {
            let (start, end) = log_ends(*low, *high);
            PointValue::Integer(
                ((start + u * (end - start)).exp().round() as i64).clamp(*low, *high),
            )
        }
        Domain::Real { low, high, scale: ParamScale::Linear } => {
            PointValue::Real((low + u * (high - low)).clamp(*low, *high))
        }
        Domain::Real { low, high, scale: ParamScale::Log } => {
            PointValue::Real((low.ln() + u * (high.ln() - low.ln())).exp().clamp(*low, *high))
        }
        Domain::List(values) => PointValue::Index(cell(values.len() as u64) as usize),
        Domain::Choice(labels) => PointValue::Index(cell(labels.len() as u64) as usize),
    }
}

fn encode(domain: &Domain, value: PointValue) -> f64 {
    let middle = |cell: u64, count: u64| ((cell as f64 + 0.5) / count as f64).clamp(0.0, 1.0);
    let along = |x: f64, start: f64, end: f64| {
        if end > start { ((x - start) / (end - start)).clamp(0.0, 1.0) } else { 0.5 }
    };
    match (domain, value) {
        (Domain::Integer { low, high, scale: ParamScale::Linear }, PointValue::Integer(i)) => {
            middle(i.saturating_sub(*low).max(0) as u64, high.abs_diff(*low) + 1)
        }
        (Domain::Integer { low, high, scale: ParamScale::Log }, PointValue::Integer(i)) => {
            let (start, end) = log_ends(*low, *high);
            along((i.max(1) as f64).ln(), start, end)
        }
        (Domain::Real { low, high, scale: ParamScale::Linear }, PointValue::Real(x)) => {
            along(x, *low, *high)
        }
        (Domain::Real { low, high, scale: ParamScale::Log }, PointValue::Real(x)) => {
            along(x.max(*low).ln(), low.ln(), high.ln())
        }
        (Domain::List(values), PointValue::Index(i)) => middle(i as u64, values.len() as u64),
        (Domain::Choice(labels), PointValue::Index(i)) => middle(i as u64, labels.len() as u64),
        _ => 0.5,
    }
}

fn draw(domain: &Domain, stream: &mut Stream) -> PointValue {
    match domain {
        Domain::Integer { low, high, scale: ParamScale::Linear } => {
            PointValue::Integer(low + stream.below(high.abs_diff(*low) + 1) as i64)
        }
        Domain::Integer { .. } | Domain::Real { .. } => decode(domain, stream.unit()),
        Domain::List(values) => PointValue::Index(stream.below(values.len() as u64) as usize),
        Domain::Choice(labels) => PointValue::Index(stream.below(labels.len() as u64) as usize),
    }
}
