//! The what-if part: the model inside the page, with controls for its features.
//!
//! The page holds the model and some rows as data, which the script of `script/` reads; see
//! [`super::script`]. Names reach the page as text only.

use serde_json::{Value, json};
use swarmwood::learn::data::{Chunk, Column};
use swarmwood::model::export::scoring_json;
use swarmwood::model::{Body, Feature, Kind, LinearTerm, Model, Test};

use super::html::{Html, note};
use super::row_sample::known_level;
use super::runs::LoadedModel;
use super::script;

/// Models with more leaves are not put into the page.
const MAX_LEAVES: usize = 20_000;

/// Rows to start from, and values in all of them together.
const MAX_START_ROWS: usize = 500;
const MAX_START_VALUES: usize = 20_000;

/// Bars of the distribution of a number.
const BARS: usize = 24;

/// The part of a model.
pub fn whatif(loaded: &LoadedModel) -> Html {
    let model = &loaded.model;
    let leaves: usize = model.members().iter().map(|member| member.shape.values().count()).sum();
    if leaves > MAX_LEAVES {
        return note(&format!(
            "The model has {leaves} leaf values; models of up to {MAX_LEAVES} can be tried out on \
             the page."
        ));
    }
    let rows = loaded.evaluation.as_ref().map(|evaluation| &evaluation.sample.chunk);
    let mut columns = column_tables(model, rows);
    let gains = model.importances();
    for (column, importance) in columns.iter_mut().zip(&gains) {
        column["gain"] = json!(importance.gain);
    }
    let data = json!({
        "model": scoring_json(model),
        "columns": columns,
        "rows": rows.map_or(Value::Null, |rows| start_rows(model, rows)),
        "file": loaded.evaluation.as_ref().map(|evaluation| evaluation.file.clone()),
        "step": loaded.evaluation.as_ref().map(|evaluation| evaluation.sample.step),
    });
    script::widget("whatif", &data, note("The controls of this part need JavaScript."))
}

/// Per feature: the range of its control, its distribution, and the unit of distances.
fn column_tables(model: &Model, rows: Option<&Chunk>) -> Vec<Value> {
    let features = model.schema.features.iter().enumerate();
    let table = |(at, feature): (usize, &Feature)| {
        let values = rows.and_then(|rows| rows.columns.get(at));
        match (&feature.kind, values) {
            (Kind::Number, Some(Column::Number(values))) => number_table(model, at, values),
            (Kind::Number, _) => number_table(model, at, &[]),
            (Kind::Category { levels }, Some(Column::Category(codes))) => {
                category_table(levels.len(), codes)
            }
            (Kind::Category { levels }, _) => category_table(levels.len(), &[]),
        }
    };
    features.map(table).collect()
}

fn number_table(model: &Model, feature: usize, values: &[f64]) -> Value {
    let mut known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    known.sort_by(f64::total_cmp);
    let (Some(&low), Some(&high)) = (known.first(), known.last()) else {
        return threshold_table(model, feature);
    };

    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let squares: f64 = known.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / known.len() as f64).sqrt();
    let mut bars = vec![0_u32; BARS];
    for value in &known {
        let at = (value - low) / (high - low) * BARS as f64;
        bars[(at as usize).min(BARS - 1)] += 1;
    }
    json!({
        "low": low,
        "high": high,
        "typical": known[known.len() / 2],
        "scale": if deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 },
        "integer": known.iter().all(|value| value.fract() == 0.0 && value.abs() < 1e9),
        "bars": bars,
        "missing": values.iter().filter(|value| value.is_nan()).count(),
    })
}

/// Without rows the thresholds say where a feature matters.
fn threshold_table(model: &Model, feature: usize) -> Value {
    let splits = model.members().iter().flat_map(|member| member.shape.splits());
    let thresholds: Vec<f64> = splits
        .filter(|split| split.feature as usize == feature)
        .filter_map(|split| match split.test {
            Test::Above(threshold) if threshold.abs() < f64::MAX => Some(threshold),
            _ => None,
        })
        .chain(linear_centre(model, feature))
        .collect();
    let low = thresholds.iter().copied().fold(f64::INFINITY, f64::min);
    let high = thresholds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
    let room = if high > low { 0.15 * (high - low) } else { low.abs().max(1.0) };
    // Few digits are enough, and the control shows all of them.
    let decimals = (2.0 - room.log10().floor()).clamp(0.0, 15.0) as usize;
    let middle = low + (high - low) / 2.0;
    let typical = format!("{middle:.decimals$}").parse().unwrap_or(middle);
    json!({
        "low": low - room,
        "high": high + room,
        "typical": typical,
        "scale": room,
        "integer": false,
        "bars": null,
        "missing": 0,
    })
}

fn linear_centre(model: &Model, feature: usize) -> Option<f64> {
    let Body::Linear(functions) = &model.body else { return None };
    match functions.first()?.terms.get(feature)? {
        LinearTerm::Number { centre, .. } => Some(*centre),
        LinearTerm::Category { .. } => None,
    }
}

fn category_table(levels: usize, codes: &[u32]) -> Value {
    let mut bars = vec![0_u32; levels];
    let known = codes.iter().filter_map(|code| known_level(*code, levels));
    known.for_each(|level| bars[level] += 1);
    // The first of the most frequent levels.
    let top = bars.iter().copied().max().unwrap_or(0);
    let typical = bars.iter().position(|count| *count == top).unwrap_or(0);
    let known: u32 = bars.iter().sum();
    json!({
        "typical": typical,
        "scale": 1.0,
        "bars": (!codes.is_empty()).then_some(bars),
        "missing": codes.len() - known as usize,
    })
}

/// The first rows: their values, and what happened.
fn start_rows(model: &Model, rows: &Chunk) -> Value {
    let features = model.schema.features.len();
    let count = rows.rows.min(MAX_START_ROWS).min(MAX_START_VALUES / features.max(1));
    let value = |row: usize, at: usize| match &rows.columns[at] {
        Column::Number(values) if values[row].is_infinite() => json!(values[row].to_string()),
        Column::Number(values) => json!(values[row]),
        Column::Category(codes) => {
            json!(known_level(codes[row], model.schema.features[at].kind.levels().len()))
        }
    };
    let values: Vec<Vec<Value>> =
        (0..count).map(|row| (0..features).map(|at| value(row, at)).collect()).collect();
    json!({"values": values, "target": rows.target.get(..count)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_and_unknown_ones_are_missing() {
        let table = category_table(2, &[0, 1, 1, u32::MAX, 7]);
        assert_eq!(table["bars"], json!([1, 2]));
        assert_eq!((&table["typical"], &table["missing"]), (&json!(1), &json!(2)));
    }
}
