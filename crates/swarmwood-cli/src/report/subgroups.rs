//! Metrics of subgroups of the rows: one table per categorical column.

use swarmwood::Result;
use swarmwood::learn::data::Column;
use swarmwood::model::predict::Predictions;
use swarmwood::model::{Kind, Model};
use swarmwood::predict::Scorer;

use super::html::{Html, TableCell, details, note, table};
use super::row_sample::{RowSample, known_level};
use crate::calibration::wilson_interval;
use crate::format;

/// Columns with more levels have no table.
const MAX_LEVELS: usize = 15;

/// Columns with a table.
const MAX_COLUMNS: usize = 12;

/// One row: how good its prediction was.
struct RowResult {
    /// Whether the class is right, or the error of the number.
    error: f64,
    /// Of two classes: whether the second one happened, and whether it was predicted.
    positive: (bool, bool),
}

/// The tables of all categorical features; empty if there are none.
pub fn subgroups(model: &Model, sample: &RowSample, threads: usize) -> Result<Html> {
    let is_group = |kind: &Kind| (2..=MAX_LEVELS).contains(&kind.levels().len());
    let features = &model.schema.features;
    let columns: Vec<usize> =
        (0..features.len()).filter(|at| is_group(&features[*at].kind)).take(MAX_COLUMNS).collect();
    if columns.is_empty() {
        return Ok(Html::default());
    }
    let results = row_results(model, sample, threads)?;
    let tables: Html = columns
        .iter()
        .enumerate()
        .map(|(at, feature)| {
            let name = &features[*feature].name;
            let body = column_table(model, sample, *feature, &results);
            details(&format!("By {name}"), at == 0, body)
        })
        .collect();
    Ok(note(&explanation(model, sample)).and(tables))
}

fn explanation(model: &Model, sample: &RowSample) -> String {
    let metric = match model.schema.target.kind.classes() {
        [] => "The mean error (predicted minus observed) has an interval of ± 1.96 standard errors",
        _ => "Proportions have Wilson intervals",
    };
    let rows = match sample.step {
        1 => String::new(),
        step => format!(" One row in {step} is counted."),
    };
    format!(
        "{metric} of 95 %; rows are counted without weights. Small groups have wide intervals, and of \
         many groups some differ by chance.{rows}"
    )
}

fn row_results(model: &Model, sample: &RowSample, threads: usize) -> Result<Vec<RowResult>> {
    let rows = &sample.chunk;
    let predictions = Scorer::new(model, None, threads)?.predictions(rows)?;
    Ok(match predictions {
        Predictions::Numbers(numbers) => numbers
            .iter()
            .zip(&rows.target)
            .map(|(predicted, target)| RowResult {
                error: predicted - target,
                positive: (false, false),
            })
            .collect(),
        Predictions::Classes { classes, .. } => classes
            .iter()
            .zip(&rows.target)
            .map(|(class, target)| RowResult {
                error: f64::from(u8::from(f64::from(*class) != *target)),
                positive: (*target == 1.0, *class == 1),
            })
            .collect(),
    })
}

fn column_table(model: &Model, sample: &RowSample, feature: usize, results: &[RowResult]) -> Html {
    let levels = model.schema.features[feature].kind.levels();
    let Column::Category(codes) = &sample.chunk.columns[feature] else { return Html::default() };
    let mut groups: Vec<Vec<&RowResult>> = vec![Vec::new(); levels.len() + 1];
    for (code, result) in codes.iter().zip(results) {
        groups[known_level(*code, levels.len()).unwrap_or(levels.len())].push(result);
    }

    let classes = model.schema.target.kind.classes();
    let names = levels.iter().map(String::as_str).chain(["(missing)"]);
    let rows: Vec<Vec<TableCell>> = names
        .zip(&groups)
        .filter(|(_, group)| !group.is_empty())
        .map(|(name, group)| group_cells(name, group, classes.len()))
        .chain([group_cells("all rows", &results.iter().collect::<Vec<_>>(), classes.len())])
        .collect();
    let rates: [String; 2] = match classes {
        [_, second] => [format!("{second} observed"), format!("{second} predicted")],
        _ => [String::new(), String::new()],
    };
    let mut heads = vec![model.schema.features[feature].name.as_str(), "rows"];
    match classes.len() {
        0 => heads.extend(["mean error", "95 % interval", "mean absolute error"]),
        2 => heads.extend([
            "accuracy",
            "95 % interval",
            "recall",
            "95 % interval",
            &rates[0],
            &rates[1],
        ]),
        _ => heads.extend(["accuracy", "95 % interval"]),
    }
    table("Metrics of subgroups", &heads, &rows)
}

fn group_cells(name: &str, group: &[&RowResult], classes: usize) -> Vec<TableCell> {
    let count = group.len() as f64;
    let mean =
        |value: &dyn Fn(&RowResult) -> f64| group.iter().map(|one| value(one)).sum::<f64>() / count;
    let mut cells =
        vec![TableCell::text(name), TableCell::number(format::grouped(group.len() as u64))];
    if classes == 0 {
        let bias = mean(&|one| one.error);
        let variance = mean(&|one| (one.error - bias).powi(2)) * count / (count - 1.0).max(1.0);
        let half = 1.96 * (variance / count).sqrt();
        let interval =
            format!("{} to {}", format::rounded(bias - half), format::rounded(bias + half));
        let interval = if group.len() > 1 { interval } else { String::new() };
        let absolute = format::rounded(mean(&|one| one.error.abs()));
        cells.extend([format::signed(bias), interval, absolute].map(TableCell::number));
        return cells;
    }

    cells.extend(proportion_cells(1.0 - mean(&|one| one.error), group.len()));
    if classes == 2 {
        let positives = group.iter().filter(|one| one.positive.0).count();
        let found = group.iter().filter(|one| one.positive.0 && one.positive.1).count();
        match positives {
            0 => cells.extend(["–", ""].map(TableCell::number)),
            _ => cells.extend(proportion_cells(found as f64 / positives as f64, positives)),
        }
        let predicted = group.iter().filter(|one| one.positive.1).count();
        let rate = |part: usize| TableCell::number(format::percent(part as f64 / count));
        cells.extend([rate(positives), rate(predicted)]);
    }
    cells
}

/// A proportion and its interval.
fn proportion_cells(proportion: f64, rows: usize) -> [TableCell; 2] {
    let (low, high) = wilson_interval(proportion, rows);
    let percent = |value: f64| format!("{:.1}", 100.0 * value);
    let interval = format!("{} to {} %", percent(low.max(0.0)), percent(high.min(1.0)));
    [TableCell::number(format::percent(proportion)), TableCell::number(interval)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_counts_and_intervals() {
        let right = RowResult { error: 0.0, positive: (true, true) };
        let wrong = RowResult { error: 1.0, positive: (true, false) };
        let group: Vec<&RowResult> =
            (0..100).map(|at| if at < 30 { &right } else { &wrong }).collect();
        let text = format!("{:?}", group_cells("a", &group, 2));
        // Wilson 1927 for 30 of 100, as accuracy and as recall.
        assert_eq!(text.matches("21.9 to 39.6 %").count(), 2, "{text}");
        assert!(text.contains("100.0 %") && text.contains("30.0 %"), "{text}");
        let text = format!("{:?}", group_cells("a", &group, 0));
        assert!(text.contains("+0.7") && text.contains("0.6097 to 0.7903"), "{text}");
    }
}
