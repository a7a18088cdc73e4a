//! Names of parameters as users of scikit-learn and XGBoost know them.

use swarmwood::message::{Notation, ParamValue};

/// Parameters of the table (left) that have another name in Python, which is one of their aliases.
const PYTHON_NAMES: &[(&str, &str)] = &[
    ("trees", "n_estimators"),
    ("depth", "max_depth"),
    ("total_splits", "max_splits"),
    ("lambda", "reg_lambda"),
    ("l1", "reg_alpha"),
    ("min_leaf", "min_samples_leaf"),
    ("valid_fraction", "validation_fraction"),
    ("metric", "eval_metric"),
    ("seed", "random_state"),
    ("threads", "n_jobs"),
    ("monotone", "monotonic_cst"),
    ("interactions", "interaction_cst"),
    ("categorical", "categorical_features"),
];

/// The name that Python has for a parameter of the table.
pub fn python_name(name: &str) -> &str {
    let entry = PYTHON_NAMES.iter().find(|(table_name, _)| *table_name == name);
    entry.map_or(name, |(_, python_name)| python_name)
}

/// Messages as Python writes them: its own names, keyword arguments, its own literals.
pub struct PythonNotation;

impl Notation for PythonNotation {
    fn parameter(&self, name: &str) -> String {
        python_name(name).to_string()
    }

    fn setting(&self, name: &str, value: Option<&ParamValue>) -> String {
        match value {
            None => python_name(name).to_string(),
            Some(value) => format!("{}={}", python_name(name), self.value(value)),
        }
    }

    fn ignore_column(&self, column: &str) -> String {
        format!("X.drop(columns='{column}')")
    }

    fn value(&self, value: &ParamValue) -> String {
        match value {
            ParamValue::Bool(true) => "True".to_string(),
            ParamValue::Bool(false) => "False".to_string(),
            ParamValue::Real(number) if number.is_nan() => "nan".to_string(),
            ParamValue::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.value(item)).collect();
                format!("[{}]", items.join(", "))
            }
            ParamValue::Map(entries) => {
                let entry = |(name, value): &(String, ParamValue)| {
                    format!("'{name}': {}", self.value(value))
                };
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{{}}}", entries.join(", "))
            }
            value => value.to_string(),
        }
    }
}
