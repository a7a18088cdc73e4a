//! The configuration of a run: facts about the model, and its parameters.

use serde_json::Value;
use swarmwood::model::{Model, TargetKind};
use swarmwood::params::{Params, TABLE};

use super::html::{Html, TableCell, details, facts, note, notes, table};
use super::runs::{ReportRun, same_value, value_text};
use crate::format::{self, grouped_count};

/// Facts about the model, the parameters that differ from their defaults, all parameters, and the
/// messages of the run.
pub fn configuration(run: &ReportRun) -> Html {
    let model = run.model.as_ref().map(|loaded| &loaded.model);
    let record = run.trained.as_ref().or(run.tuned.as_ref());
    let recorded =
        |name: &str| record.and_then(|record| record.get(name)).map_or(String::new(), value_text);
    let fact = |of_model: &dyn Fn(&Model) -> String, name: &str| {
        model.map(of_model).unwrap_or_else(|| recorded(name))
    };

    let rows =
        |name: &str| record.and_then(|record| record[name].as_u64()).filter(|rows| *rows > 0);
    let trained =
        rows("rows").or(model.map(|model| model.provenance.rows).filter(|rows| *rows > 0));

    let pairs = [
        ("Target", fact(&|model| model.schema.target.name.clone(), "target")),
        ("Task", model.map_or_else(|| recorded("task"), task_text)),
        ("Method", fact(&|model| model.provenance.method.clone(), "method")),
        ("Objective", fact(&|model| model.objective.clone(), "objective")),
        ("Training rows", trained.map_or(String::new(), format::grouped)),
        ("Validation rows", rows("valid_rows").map_or(String::new(), format::grouped)),
        ("Features", fact(&|model| model.schema.features.len().to_string(), "features")),
        ("Model", model.map_or(String::new(), size_text)),
        (
            "Trained by",
            model.map_or(String::new(), |model| format!("version {}", model.provenance.version)),
        ),
        (
            "File",
            run.model.as_ref().map_or(String::new(), |loaded| loaded.path.display().to_string()),
        ),
    ];

    let parameters = parameters(model, record);
    let changed: Vec<Vec<TableCell>> =
        parameters.iter().filter(|row| row.is_changed()).map(ParameterRow::rounded_cells).collect();
    let all: Vec<Vec<TableCell>> = parameters.iter().map(ParameterRow::cells).collect();
    let heads = ["parameter", "value", "default", "description"];

    let changes = match (all.is_empty(), changed.is_empty()) {
        (true, _) => note("The file does not contain the training parameters."),
        (false, true) => note("All parameters have the defaults of the method."),
        (false, false) => {
            table("Parameters that differ from the defaults of the method", &heads, &changed)
        }
    };

    let summary = format!("All {}", grouped_count(all.len() as u64, "parameter"));

    facts(&pairs)
        .and(changes)
        .and(details(&summary, false, table("All parameters", &heads, &all)))
        .and(messages(run.trained.as_ref()))
}

/// Warnings and notes of the run.
pub fn messages(record: Option<&Value>) -> Html {
    let list = |name: &str| record.and_then(|record| record[name].as_array()).into_iter().flatten();
    notes(list("warnings").chain(list("notes")).filter_map(Value::as_str))
}

/// The task.
fn task_text(model: &Model) -> String {
    match &model.schema.target.kind {
        TargetKind::Number | TargetKind::Numbers(_) => "regression".to_string(),
        TargetKind::Classes(classes) => match &classes[..] {
            [negative, positive] => {
                format!("binary classification: {negative}, {positive} (positive)")
            }
            classes => format!("classification with {} classes", classes.len()),
        },
    }
}

/// Number of trees, total number of leaves, and depth. Trees of several classes that share their
/// splits count as one.
pub fn tree_counts(model: &Model) -> (u64, u64, usize) {
    let summary = model.summary();
    match model.single_tree() {
        Ok(single) if summary.trees > 0 => (1, single.tree.leaves.len() as u64, summary.max_depth),
        _ => (summary.trees as u64, summary.leaves as u64, summary.max_depth),
    }
}

/// The size of a model.
fn size_text(model: &Model) -> String {
    match tree_counts(model) {
        (0, _, _) => model.summary().kind.name().to_string(),
        (trees, leaves, depth) => {
            format!(
                "{}, {}, maximum depth {depth}",
                grouped_count(trees, "tree"),
                grouped_count(leaves, "leaf")
            )
        }
    }
}

/// A parameter with its value and default.
struct ParameterRow {
    name: String,
    value: String,
    default: String,
    help: &'static str,
}

impl ParameterRow {
    fn is_changed(&self) -> bool {
        !self.default.is_empty() && !same_value(&self.value, &self.default)
    }

    /// As [`ParameterRow::cells`], with rounded values.
    fn rounded_cells(&self) -> Vec<TableCell> {
        let rounded = ParameterRow {
            name: self.name.clone(),
            value: format::parameter_value(&self.value),
            default: self.default.clone(),
            ..*self
        };
        rounded.cells()
    }

    fn cells(&self) -> Vec<TableCell> {
        vec![
            TableCell::text(self.name.clone()),
            TableCell::number(self.value.clone()),
            TableCell::number(self.default.clone()),
            TableCell::text(self.help),
        ]
    }
}

/// The parameters of a run from its model, or from its record, each with the default of its method.
fn parameters(model: Option<&Model>, record: Option<&Value>) -> Vec<ParameterRow> {
    let values: Vec<(String, String)> = match (model, record) {
        (Some(model), _) => model.provenance.params.clone().into_iter().collect(),
        (None, Some(record)) => {
            let object = record["parameters"].as_object();
            object
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.clone(), value_text(value)))
                .collect()
        }
        (None, None) => Vec::new(),
    };

    let method =
        values.iter().find(|(name, _)| name == "method").map(|(_, method)| method.as_str());
    let mut defaults = Params::default();
    // The defaults of a method of another version are unknown.
    let has_defaults = method.is_some_and(|method| defaults.set("method", method).is_ok());
    let defaults = Params::of(defaults.method);
    let defaults = match model {
        Some(model) => defaults.resolve(&model.schema.target.kind),
        None => defaults,
    };

    let spec = |name: &str| TABLE.iter().find(|spec| spec.name == name);

    let parameter = |(name, value): (String, String)| {
        let default = spec(&name)
            .filter(|_| has_defaults && name != "method")
            .map(|spec| spec.show(&defaults));
        ParameterRow {
            help: spec(&name).map_or("", |spec| spec.help),
            default: default.unwrap_or_default(),
            name,
            value,
        }
    };

    values.into_iter().map(parameter).collect()
}
