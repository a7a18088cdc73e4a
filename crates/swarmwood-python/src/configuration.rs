//! Configurations as dictionaries: integers, floats, numbers of lists, labels of choices. What has
//! no value is left out.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swarmwood::search::{Domain, Point, Space, Value};

/// A configuration as a dictionary.
pub fn dictionary<'py>(
    py: Python<'py>,
    space: &Space,
    point: &Point,
) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for (i, (param, &value)) in space.params().iter().zip(&point.0).enumerate() {
        match value {
            Value::Absent => {}
            Value::Integer(whole) => named.set_item(&param.name, whole)?,
            Value::Real(number) => named.set_item(&param.name, number)?,
            Value::Index(_) => match space.label(i, value) {
                Some(label) => named.set_item(&param.name, label)?,
                None => named.set_item(&param.name, space.number(i, value))?,
            },
        }
    }
    Ok(named)
}

/// The configuration of a dictionary; the error says what does not fit the space.
pub fn point(space: &Space, named: &Bound<'_, PyDict>) -> PyResult<Point> {
    let mut values = Vec::with_capacity(space.len());
    let mut known = 0;
    for param in space.params() {
        let Some(given) = named.get_item(&param.name)? else {
            values.push(Value::Absent);
            continue;
        };
        known += 1;
        let value = value(&param.domain, &given).ok_or_else(|| {
            PyValueError::new_err(format!(
                "parameter '{}': is {given}, which the space does not have",
                param.name
            ))
        })?;
        values.push(value);
    }
    let point = Point(values);
    if known == named.len() && space.contains(&point) {
        return Ok(point);
    }
    let message =
        "the configuration does not lie in the space: a bound, a condition or a name does not fit";
    Err(PyValueError::new_err(format!("{named}: {message}")))
}

fn value(domain: &Domain, given: &Bound<'_, PyAny>) -> Option<Value> {
    match domain {
        Domain::Integer { .. } => given.extract().ok().map(Value::Integer),
        Domain::Real { .. } => given.extract().ok().map(Value::Real),
        Domain::List(numbers) => {
            let number: f64 = given.extract().ok()?;
            numbers.iter().position(|&item| item == number).map(Value::Index)
        }
        Domain::Choice(labels) => {
            let label: String = given.extract().ok()?;
            labels.iter().position(|item| *item == label).map(Value::Index)
        }
    }
}
