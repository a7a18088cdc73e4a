//! The report of a training run, as text and as JSON.

use serde_json::{Value, json};
use swarmwood::model::TargetKind;
use swarmwood::train::TrainResult;

use super::feature_summary::{features_json, features_text};
use super::request::TrainRequest;
use super::search_summary::{search_json, search_text};
use crate::format::{count, number};
use crate::interactions::interactions_json;
use crate::json::{metrics_json, parameters_json};
use crate::memory;

/// A finished training run.
pub(super) struct TrainSummary {
    pub trained: TrainResult,
    pub rows: usize,
    pub valid_rows: usize,
    pub read_seconds: f64,
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
}

impl TrainSummary {
    pub(super) fn text(&self, request: &TrainRequest) -> String {
        let trained = &self.trained;
        let (train, bin) = (trained.train_seconds, trained.bin_seconds);
        let rounds = count(trained.rounds, "round");
        let mut text = format!("{rounds} in {train:.3} s, after {bin:.3} s of binning\n");
        if trained.columns.is_empty() {
            text.push_str(&search_text(trained));
            text.push_str(&features_text(trained));
            text.push_str(&metrics_text(trained, ""));
        } else {
            text.push_str(&columns_text(trained));
        }
        if let Some(path) = &request.out {
            text.push_str(&format!("model written to {}\n", path.display()));
        }
        text
    }
}

/// The search and the metrics of each column that is predicted, and the means of the metrics.
fn columns_text(trained: &TrainResult) -> String {
    let mut text = String::new();
    for column in &trained.columns {
        let name: String =
            column.model.schema.target.name.chars().flat_map(char::escape_debug).collect();
        let rounds = count(column.rounds, "round");
        text.push_str(&format!("target {name}: {rounds}\n{}", search_text(column)));
        text.push_str(&metrics_text(column, ""));
    }
    text.push_str(&metrics_text(trained, "mean of targets"));
    text
}

/// The metrics on training and validation rows, one line per metric.
fn metrics_text(trained: &TrainResult, heading: &str) -> String {
    let mut sets: Vec<&[(&str, f64)]> =
        trained.watched_metrics.iter().map(|metrics| &metrics[..]).collect();
    if !trained.valid_metrics.is_empty() {
        sets.push(&trained.valid_metrics);
    }

    let mut text = format!("{heading:<20} {:>12}", "train");
    for number in 1..=sets.len() {
        let heading = if sets.len() == 1 { "valid".to_string() } else { format!("valid {number}") };
        text.push_str(&format!(" {heading:>12}"));
    }
    text.push('\n');

    for (name, value) in &trained.train_metrics {
        text.push_str(&format!("{name:<20} {:>12}", number(*value)));
        for metrics in &sets {
            // A metric that is undefined on the validation rows leaves its cell empty.
            let value = metrics.iter().find(|(other, _)| other == name);
            let cell = value.map_or(String::new(), |(_, value)| number(*value));
            text.push_str(&format!(" {cell:>12}"));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }

    text
}

impl TrainSummary {
    pub(super) fn json(&self, request: &TrainRequest) -> Value {
        let trained = &self.trained;
        let schema = &trained.model.schema;
        let (task, classes) = match &schema.target.kind {
            TargetKind::Number | TargetKind::Numbers(_) => ("regression", Value::Null),
            TargetKind::Classes(classes) => ("classification", json!(classes)),
        };

        let valid =
            if self.valid_rows > 0 { metrics_json(&trained.valid_metrics) } else { Value::Null };

        let watched: Vec<Value> =
            trained.watched_metrics.iter().map(|metrics| metrics_json(metrics)).collect();

        let mut object = json!({
            "method": trained.params.method.name(),
            "parameters": parameters_json(&trained.params),
            "objective": trained.model.objective,
            "task": task,
            "target": schema.target.name,
            "classes": classes,
            "rows": self.rows,
            "valid_rows": self.valid_rows,
            "features": schema.features.len(),
            "rounds": trained.rounds,
            "search": search_json(trained),
            "feature_budget": features_json(trained),
            "interactions": interactions_json(&trained.model),
            "seconds": {
                "read": self.read_seconds,
                "bin": trained.bin_seconds,
                "train": trained.train_seconds,
            },
            "peak_memory_bytes": memory::peak_bytes(),
            "metrics": {
                "train": metrics_json(&trained.train_metrics),
                "valid": valid,
                "watched": watched,
            },
            "warnings": self.warnings,
            "notes": self.notes,
            "model": request.out.as_ref().map(|path| path.display().to_string()),
        });
        if !trained.columns.is_empty() {
            object["targets"] = trained.columns.iter().map(column_json).collect();
        }
        object
    }
}

/// What was found for one of several columns.
fn column_json(column: &TrainResult) -> Value {
    let valid = match &column.valid_metrics[..] {
        [] => Value::Null,
        metrics => metrics_json(metrics),
    };
    let watched: Vec<Value> =
        column.watched_metrics.iter().map(|metrics| metrics_json(metrics)).collect();
    json!({
        "target": column.model.schema.target.name,
        "rounds": column.rounds,
        "search": search_json(column),
        "metrics": {
            "train": metrics_json(&column.train_metrics),
            "valid": valid,
            "watched": watched,
        },
    })
}
