//! What was asked of a training, and of which rows.

use serde_json::Value;
use swarmwood::Result;
use swarmwood::model::{Kind, Model, TargetKind};
use swarmwood::params::{Params, TABLE};
use swarmwood::profile::{ColumnProfile, ColumnSummary, profile};

use super::html::{Html, TableCell, details, facts, gallery, note, notes, table};
use super::runs::{ReportRun, plain, same_value};
use super::test_evaluation::TestEvaluation;
use crate::calibration::bars;
use crate::format::{self, grouped_count};

/// Columns of a table that are listed without being asked for.
const LISTED: usize = 12;

/// Levels of a column that are named.
const NAMED: usize = 4;

/// What was asked: the facts, the parameters that differ from their defaults, all parameters, what
/// was told.
pub fn asked(run: &ReportRun) -> Html {
    let model = run.model.as_ref().map(|loaded| &loaded.model);
    let record = run.trained.as_ref().or(run.tuned.as_ref());
    let of_record =
        |name: &str| record.and_then(|record| record.get(name)).map_or(String::new(), plain);
    let of_model = |of: &dyn Fn(&Model) -> String| model.map(of);
    let told =
        |of: &dyn Fn(&Model) -> String, name: &str| of_model(of).unwrap_or_else(|| of_record(name));
    let rows =
        |name: &str| record.and_then(|record| record[name].as_u64()).filter(|rows| *rows > 0);
    let trained =
        rows("rows").or(model.map(|model| model.provenance.rows).filter(|rows| *rows > 0));
    let pairs = [
        ("Target", told(&|model| model.schema.target.name.clone(), "target")),
        ("Task", model.map_or_else(|| of_record("task"), task)),
        ("Method", told(&|model| model.provenance.method.clone(), "method")),
        ("Objective", told(&|model| model.objective.clone(), "objective")),
        ("Training rows", trained.map_or(String::new(), format::grouped)),
        ("Validation rows", rows("valid_rows").map_or(String::new(), format::grouped)),
        ("Features", told(&|model| model.schema.features.len().to_string(), "features")),
        ("Model", model.map_or(String::new(), size)),
        (
            "Trained by",
            of_model(&|model| format!("version {}", model.provenance.version)).unwrap_or_default(),
        ),
        (
            "File",
            run.model.as_ref().map_or(String::new(), |loaded| loaded.path.display().to_string()),
        ),
    ];
    let parameters = parameters(model, record);
    let other: Vec<Vec<TableCell>> =
        parameters.iter().filter(|one| one.is_other()).map(ParameterRow::in_short).collect();
    let all: Vec<Vec<TableCell>> = parameters.iter().map(ParameterRow::cells).collect();
    let heads = ["parameter", "value", "default", "what it is"];
    let listed = match (all.is_empty(), other.is_empty()) {
        (true, _) => note("The file does not tell with which parameters the model was trained."),
        (false, true) => note("All parameters have the defaults of the method."),
        (false, false) => {
            table("Parameters that differ from the defaults of the method", &heads, &other)
        }
    };
    let headline = format!("All {}", grouped_count(all.len() as u64, "parameter"));
    facts(&pairs)
        .and(listed)
        .and(details(&headline, false, table("Parameters of the run", &heads, &all)))
        .and(messages(run.trained.as_ref()))
}

/// What the run told on the way.
fn messages(record: Option<&Value>) -> Html {
    let list = |name: &str| record.and_then(|record| record[name].as_array()).into_iter().flatten();
    notes(list("warnings").chain(list("notes")).filter_map(Value::as_str))
}

/// The task in words.
fn task(model: &Model) -> String {
    match &model.schema.target.kind {
        TargetKind::Number => "a number (regression)".to_string(),
        TargetKind::Classes(classes) => match &classes[..] {
            [negative, positive] => {
                format!("two classes: {negative}, and {positive}, the positive one")
            }
            classes => format!("{} classes", classes.len()),
        },
    }
}

/// Trees, leaves of all of them, and depth. Trees of classes that share their rules are one.
pub fn trees(model: &Model) -> (u64, u64, usize) {
    let summary = model.summary();
    match model.single_tree() {
        Ok(single) if summary.trees > 0 => (1, single.tree.leaves.len() as u64, summary.max_depth),
        _ => (summary.trees as u64, summary.leaves as u64, summary.max_depth),
    }
}

/// The size of a model in words.
fn size(model: &Model) -> String {
    match trees(model) {
        (0, _, _) => model.summary().kind.name().to_string(),
        (trees, leaves, depth) => {
            format!(
                "{}, {}, depth {depth} at most",
                grouped_count(trees, "tree"),
                grouped_count(leaves, "leaf")
            )
        }
    }
}

struct ParameterRow {
    name: String,
    value: String,
    default: String,
    help: &'static str,
}

impl ParameterRow {
    fn is_other(&self) -> bool {
        !self.default.is_empty() && !same_value(&self.value, &self.default)
    }

    /// As [`ParameterRow::cells`], with no more digits than people read.
    fn in_short(&self) -> Vec<TableCell> {
        let short = ParameterRow {
            name: self.name.clone(),
            value: format::parameter_value(&self.value),
            default: self.default.clone(),
            ..*self
        };
        short.cells()
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

/// The parameters of a run as its model keeps them, or else its record, each beside the default of
/// the method.
fn parameters(model: Option<&Model>, record: Option<&Value>) -> Vec<ParameterRow> {
    let given: Vec<(String, String)> = match (model, record) {
        (Some(model), _) => model.provenance.params.clone().into_iter().collect(),
        (None, Some(record)) => {
            let object = record["parameters"].as_object();
            object.into_iter().flatten().map(|(name, value)| (name.clone(), plain(value))).collect()
        }
        (None, None) => Vec::new(),
    };
    let method = given.iter().find(|(name, _)| name == "method").map(|(_, method)| method.as_str());
    let mut defaults = Params::default();
    // A method of another version has the defaults of none.
    let known = method.is_some_and(|method| defaults.set("method", method).is_ok());
    let defaults = Params::of(defaults.method);
    let defaults = match model {
        Some(model) => defaults.resolve(&model.schema.target.kind),
        None => defaults,
    };
    let spec = |name: &str| TABLE.iter().find(|spec| spec.name == name);
    let parameter = |(name, value): (String, String)| {
        let default =
            spec(&name).filter(|_| known && name != "method").map(|spec| spec.show(&defaults));
        ParameterRow {
            help: spec(&name).map_or("", |spec| spec.help),
            default: default.unwrap_or_default(),
            name,
            value,
        }
    };
    given.into_iter().map(parameter).collect()
}

/// The rows that were measured, column by column, or else what the model expects of rows.
pub fn data(model: &Model, measured: Option<&TestEvaluation>, id: &str) -> Result<Html> {
    let Some(measured) = measured else {
        let rows: Vec<Vec<TableCell>> = model
            .schema
            .features
            .iter()
            .map(|feature| {
                let kind = match &feature.kind {
                    Kind::Number => "number".to_string(),
                    Kind::Category { levels } => {
                        format!("one of {}", grouped_count(levels.len() as u64, "level"))
                    }
                };
                vec![TableCell::text(feature.name.clone()), TableCell::text(kind)]
            })
            .collect();
        let table = table("What the model asks of a row", &["feature", "values"], &rows);
        let headline = format!("The {} of the model", grouped_count(rows.len() as u64, "feature"));
        return Ok(details(&headline, rows.len() <= LISTED, table));
    };
    let rows = measured.held.rows();
    let opening = note(&format!(
        "{} of {}, with a known target.",
        grouped_count(rows as u64, "row"),
        measured.file
    ));
    let columns = profile(&measured.rows)?;
    let lines: Vec<Vec<TableCell>> = columns.iter().map(|column| line(column, rows)).collect();
    let heads = ["feature", "missing", "least", "mean", "greatest", "most frequent"];
    let table = table("Features of these rows", &heads, &lines);
    let headline = format!("The {}", grouped_count(columns.len() as u64, "feature"));
    Ok(opening.and(target(model, measured, id)).and(details(
        &headline,
        columns.len() <= LISTED,
        table,
    )))
}

fn line(column: &ColumnProfile, rows: usize) -> Vec<TableCell> {
    let missing = match column.missing {
        0 => String::new(),
        missing => format::percent(missing as f64 / rows.max(1) as f64),
    };
    let mut cells = vec![TableCell::text(column.name.clone()), TableCell::number(missing)];
    match &column.values {
        ColumnSummary::Numbers { low, mean, high } => {
            cells.extend([low, mean, high].map(|value| TableCell::number(format::rounded(*value))));
            cells.push(TableCell::text(""));
        }
        ColumnSummary::Levels(levels) => {
            cells.extend([TableCell::number(""), TableCell::number(""), TableCell::number("")]);
            let named = levels.iter().take(NAMED);
            let share = |count: usize| format::percent(count as f64 / rows.max(1) as f64);
            let mut text = named
                .map(|(name, count)| format!("{name} {}", share(*count)))
                .collect::<Vec<_>>()
                .join(", ");
            if levels.len() > NAMED {
                text.push_str(&format!(", and {} more", levels.len() - NAMED));
            }
            cells.push(TableCell::text(text));
        }
    }
    cells
}

/// How the target is spread.
fn target(model: &Model, measured: &TestEvaluation, id: &str) -> Html {
    let targets = measured.held.targets();
    let TargetKind::Classes(classes) = &model.schema.target.kind else {
        let (low, high) = targets
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(*y), b.max(*y)));
        let (low, high) = if low < high { (low, high) } else { (low - 0.5, low + 0.5) };
        if !(low.is_finite() && high.is_finite()) {
            return Html::default();
        }
        let chart = bars(targets.iter().copied(), (low, high), &model.schema.target.name);
        return gallery([super::html::chart_figure(id, "How the target is spread", &chart)]);
    };
    let of = |class: usize| targets.iter().filter(|target| **target == class as f64).count();
    let line = |(class, name): (usize, &String)| {
        let share = of(class) as f64 / targets.len().max(1) as f64;
        vec![
            TableCell::text(name.clone()),
            TableCell::number(format::grouped(of(class) as u64)),
            TableCell::Bar(share, format::percent(share)),
        ]
    };
    let lines: Vec<Vec<TableCell>> = classes.iter().enumerate().map(line).collect();
    details(
        "The classes",
        lines.len() <= LISTED,
        table("Classes of these rows", &["class", "rows", "share"], &lines),
    )
}
