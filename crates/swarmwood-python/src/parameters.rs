//! The tables of parameters and methods, for the script that writes Python's signatures and
//! docstrings, and typed values of parameters.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple};
use swarmwood::params::{
    AllowedValues, LearnerOutput, Method, ParamValue, Params, TABLE, TargetSupport,
};

use crate::errors::guarded;
use crate::names::python_name;

/// One dictionary per parameter: names, help, kind, allowed values, and its default by each method
/// to which it applies.
#[pyfunction]
pub fn parameters(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    guarded(|| {
        let list = PyList::empty(py);
        for spec in TABLE {
            let entry = PyDict::new(py);
            entry.set_item("name", spec.name)?;
            entry.set_item("python_name", python_name(spec.name))?;
            entry.set_item("aliases", spec.aliases)?;
            entry.set_item("help", spec.help)?;
            entry.set_item("group", spec.group.title())?;
            entry.set_item("kind", spec.allowed.kind())?;
            entry.set_item("allowed", spec.allowed.to_string())?;
            if let AllowedValues::Choices(choices) = spec.allowed {
                let names_with_help: Vec<(&str, &str)> =
                    choices.iter().map(|choice| (choice.name, choice.help)).collect();
                entry.set_item("choices", names_with_help)?;
            }
            let methods = PyDict::new(py);
            for &method in Method::ALL {
                if spec.applies_to(method) {
                    methods.set_item(method.name(), spec.show(&Params::of(method)))?;
                }
            }
            entry.set_item("methods", methods)?;
            list.append(entry)?;
        }
        Ok(list)
    })
}

/// One dictionary per method: name, help, whether it fits a single tree, whether it predicts
/// numbers too, and whether it starts from a pretrained model.
#[pyfunction]
pub fn methods(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    guarded(|| {
        let list = PyList::empty(py);
        for spec in Method::ALL.iter().map(|method| method.spec()) {
            let entry = PyDict::new(py);
            entry.set_item("name", spec.name)?;
            entry.set_item("help", spec.help)?;
            entry.set_item("single_tree", spec.output == LearnerOutput::SingleTree)?;
            entry.set_item("regression", spec.targets == TargetSupport::Any)?;
            entry.set_item("takes_pretrained", spec.takes_pretrained)?;
            list.append(entry)?;
        }
        Ok(list)
    })
}

/// The typed value of a Python object.
pub fn param_value(object: &Bound<'_, PyAny>) -> PyResult<ParamValue> {
    // A bool is an int to Python: it comes first.
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(ParamValue::Bool(value.is_true()));
    }

    if object.is_instance_of::<PyInt>() {
        // The table refuses integers that are too large; the message names the parameter.
        let number = object.extract().map(ParamValue::Integer);
        return number.or_else(|_| Ok(ParamValue::Text(object.str()?.to_string())));
    }

    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(ParamValue::Real(number.value()));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(ParamValue::Text(text.to_string()));
    }

    let is_set = object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>();
    if is_set || object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let items = object.try_iter()?.map(|item| param_value(&item?));
        return Ok(ParamValue::List(items.collect::<PyResult<_>>()?));
    }

    if let Ok(entries) = object.cast::<PyDict>() {
        let entry = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((name.str()?.to_string(), param_value(&value)?))
        };
        return Ok(ParamValue::Map(entries.iter().map(entry).collect::<PyResult<_>>()?));
    }

    // Arrays and scalars of NumPy.
    if let Ok(plain) = object.call_method0("tolist") {
        return param_value(&plain);
    }

    // The table refuses objects that are not a value of the parameter; the message has their repr.
    Ok(ParamValue::Text(object.repr()?.to_string()))
}
