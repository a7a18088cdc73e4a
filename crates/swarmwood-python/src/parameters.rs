//! The parameter table, for the script that writes Python's signatures and docstrings.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use swarmwood::params::{Allowed, Condition, Method, ParamSpec, Params, TABLE};

use crate::fault::guarded;

/// One dictionary a parameter: name, help, kind, allowed values, and by method its default and
/// whether it applies.
#[pyfunction]
pub fn parameters(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    guarded(|| {
        let list = PyList::empty(py);
        for spec in TABLE {
            let entry = PyDict::new(py);
            entry.set_item("name", spec.name)?;
            entry.set_item("aliases", spec.aliases)?;
            entry.set_item("help", spec.help)?;
            entry.set_item("group", spec.group.title())?;
            entry.set_item("kind", spec.allowed.kind())?;
            entry.set_item("allowed", spec.allowed.to_string())?;
            if let Allowed::Choices(choices) = spec.allowed {
                let words: Vec<(&str, &str)> =
                    choices.iter().map(|choice| (choice.name, choice.help)).collect();
                entry.set_item("choices", words)?;
            }
            let methods = PyDict::new(py);
            for &method in Method::ALL {
                if applies(spec, method) {
                    methods.set_item(method.name(), spec.show(&Params::of(method)))?;
                }
            }
            entry.set_item("methods", methods)?;
            list.append(entry)?;
        }
        Ok(list)
    })
}

/// Whether some choice of the other parameters gives it an effect.
fn applies(spec: &ParamSpec, method: Method) -> bool {
    spec.only.iter().all(|condition| match condition {
        Condition::Method(methods) => methods.contains(&method),
        Condition::Booster(_) | Condition::Growth(_) | Condition::Objective(_) => true,
    })
}
