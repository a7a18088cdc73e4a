//! JSON objects that several commands print.

use serde_json::{Map, Value};
use swarmwood::params::{AllowedValues, Params, TABLE};

/// Metrics as an object; a value that is not finite becomes null.
pub fn metrics_json(metrics: &[(&'static str, f64)]) -> Value {
    let pairs = metrics.iter().map(|&(name, value)| (name.to_string(), Value::from(value)));
    Value::Object(pairs.collect::<Map<_, _>>())
}

/// All parameters as an object, each value with its type.
pub fn parameters_json(params: &Params) -> Value {
    let pairs = TABLE.iter().map(|spec| {
        let text = spec.show(params);
        let value = match spec.allowed {
            AllowedValues::Choices(_)
            | AllowedValues::Matrix
            | AllowedValues::ByFeature { .. }
            | AllowedValues::FeatureGroups { .. }
            | AllowedValues::Splits(_)
            | AllowedValues::Text(_) => Value::String(text),
            AllowedValues::Switch => Value::Bool(text == "true"),
            AllowedValues::Whole { .. } => {
                text.parse::<u64>().map_or(Value::String(text), Value::from)
            }
            AllowedValues::Number { .. } => {
                text.parse::<f64>().map_or(Value::String(text), Value::from)
            }
        };
        (spec.name.to_string(), value)
    });
    Value::Object(pairs.collect::<Map<_, _>>())
}
