//! The data of a run: the rows that a model was evaluated on.

use swarmwood::Result;
use swarmwood::model::{Kind, Model, TargetKind};
use swarmwood::profile::{ColumnProfile, ColumnSummary, profile};

use super::html::{Html, TableCell, chart_figure, details, gallery, note, table};
use super::test_evaluation::TestEvaluation;
use crate::calibration::histogram;
use crate::format::{self, grouped_count};

/// Tables with up to this number of rows are open.
const OPEN_ROWS: usize = 12;

/// Levels of a column that are listed.
const LISTED_LEVELS: usize = 4;

/// The rows that the model was evaluated on, or the features it expects.
pub fn data(model: &Model, evaluation: Option<&TestEvaluation>, id: &str) -> Result<Html> {
    let Some(evaluation) = evaluation else {
        let rows: Vec<Vec<TableCell>> = model
            .schema
            .features
            .iter()
            .map(|feature| {
                let kind = match &feature.kind {
                    Kind::Number => "numeric".to_string(),
                    Kind::Category { levels } => {
                        format!("categorical, {}", grouped_count(levels.len() as u64, "level"))
                    }
                };
                vec![TableCell::text(feature.name.clone()), TableCell::text(kind)]
            })
            .collect();
        let table = table("Features of the model", &["feature", "values"], &rows);
        let summary = format!("The {} of the model", grouped_count(rows.len() as u64, "feature"));
        return Ok(details(&summary, rows.len() <= OPEN_ROWS, table));
    };

    let rows = evaluation.predictions.rows();
    let count = grouped_count(rows as u64, "row");
    let header = match &evaluation.digest {
        Some(digest) => format!("{count} in {}, whose SHA-256 is {digest}.", evaluation.file),
        None => format!("{count} in {}.", evaluation.file),
    };
    let header = note(&header);
    let columns = profile(&evaluation.rows)?;
    let cells: Vec<Vec<TableCell>> =
        columns.iter().map(|column| profile_cells(column, rows)).collect();
    let heads = ["feature", "missing", "min", "mean", "max", "most frequent"];
    let table = table("Features of the rows", &heads, &cells);
    let summary = format!("The {}", grouped_count(columns.len() as u64, "feature"));

    Ok(header.and(target(model, evaluation, id)).and(details(
        &summary,
        columns.len() <= OPEN_ROWS,
        table,
    )))
}

fn profile_cells(column: &ColumnProfile, rows: usize) -> Vec<TableCell> {
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
            let listed = levels.iter().take(LISTED_LEVELS);
            let percent = |count: usize| format::percent(count as f64 / rows.max(1) as f64);
            let mut text = listed
                .map(|(name, count)| format!("{name} {}", percent(*count)))
                .collect::<Vec<_>>()
                .join(", ");
            if levels.len() > LISTED_LEVELS {
                text.push_str(&format!(", and {} more", levels.len() - LISTED_LEVELS));
            }
            cells.push(TableCell::text(text));
        }
    }

    cells
}

/// The distribution of the target.
fn target(model: &Model, evaluation: &TestEvaluation, id: &str) -> Html {
    let targets = evaluation.predictions.targets();
    let TargetKind::Classes(classes) = &model.schema.target.kind else {
        let (low, high) = targets
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(*y), b.max(*y)));
        let (low, high) = if low < high { (low, high) } else { (low - 0.5, low + 0.5) };
        if !(low.is_finite() && high.is_finite()) {
            return Html::default();
        }
        let chart = histogram(targets.iter().copied(), (low, high), &model.schema.target.name);
        return gallery([chart_figure(id, "Distribution of the target", &chart)]);
    };

    let count = |class: usize| targets.iter().filter(|target| **target == class as f64).count();

    let line = |(class, name): (usize, &String)| {
        let fraction = count(class) as f64 / targets.len().max(1) as f64;
        vec![
            TableCell::text(name.clone()),
            TableCell::number(format::grouped(count(class) as u64)),
            TableCell::Bar(fraction, format::percent(fraction)),
        ]
    };

    let lines: Vec<Vec<TableCell>> = classes.iter().enumerate().map(line).collect();

    details(
        "The classes",
        lines.len() <= OPEN_ROWS,
        table("Classes of the rows", &["class", "rows", "fraction"], &lines),
    )
}
