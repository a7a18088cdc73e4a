//! Configurations as dictionaries: integers, floats, labels. Inactive parameters are left out.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swarmwood::search::{Domain, Point, PointValue, Space};

/// The dictionary of a configuration.
pub fn dict_of_point<'py>(
    py: Python<'py>,
    space: &Space,
    point: &Point,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (i, (param, &value)) in space.params().iter().zip(&point.0).enumerate() {
        match value {
            PointValue::Absent => {}
            PointValue::Integer(number) => dict.set_item(&param.name, number)?,
            PointValue::Real(number) => dict.set_item(&param.name, number)?,
            PointValue::Index(_) => match space.label(i, value) {
                Some(label) => dict.set_item(&param.name, label)?,
                None => dict.set_item(&param.name, space.number(i, value))?,
            },
        }
    }
    Ok(dict)
}

/// The configuration of a dictionary; the error says what is not in the space.
pub fn point_of_dict(space: &Space, dict: &Bound<'_, PyDict>) -> PyResult<Point> {
    let mut values = Vec::with_capacity(space.len());
    let mut used = 0;
    for param in space.params() {
        let Some(object) = dict.get_item(&param.name)? else {
            values.push(PointValue::Absent);
            continue;
        };
        used += 1;
        let value = domain_value(&param.domain, &object).ok_or_else(|| {
            PyValueError::new_err(format!(
                "parameter '{}': is {object}, which is not in the space",
                param.name
            ))
        })?;
        values.push(value);
    }

    let point = Point(values);
    if used == dict.len() && space.contains(&point) {
        return Ok(point);
    }

    let message =
        "the configuration is not in the space: a bound, a condition or a name does not match";
    Err(PyValueError::new_err(format!("{dict}: {message}")))
}

fn domain_value(domain: &Domain, object: &Bound<'_, PyAny>) -> Option<PointValue> {
    match domain {
        Domain::Integer { .. } => object.extract().ok().map(PointValue::Integer),
        Domain::Real { .. } => object.extract().ok().map(PointValue::Real),
        Domain::List(numbers) => {
            let number: f64 = object.extract().ok()?;
            numbers.iter().position(|&item| item == number).map(PointValue::Index)
        }
        Domain::Choice(labels) => {
            let label: String = object.extract().ok()?;
            labels.iter().position(|item| *item == label).map(PointValue::Index)
        }
    }
}
