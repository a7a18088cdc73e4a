//! The choice of a threshold for two classes: what happens to the rows at each one.

use serde_json::{Value, json};
use swarmwood::evaluate::HeldOutRows;
use swarmwood::model::Model;

use super::html::Html;
use super::script;
use super::test_evaluation::TestEvaluation;

/// Steps of the threshold between 0 and 1.
const STEPS: usize = 100;

/// Points of the curves.
const MAX_POINTS: usize = 240;

/// The part of a model with two classes; empty for others, and if the rows have one class only. The
/// fallback is shown without JavaScript.
pub fn threshold(model: &Model, evaluation: &TestEvaluation, fallback: Html) -> Html {
    let [negative, positive] = model.schema.target.kind.classes() else { return Html::default() };
    let Some(table) = threshold_table(&evaluation.predictions) else { return Html::default() };
    let mut data = table;
    data["negative"] = json!(negative);
    data["positive"] = json!(positive);
    data["file"] = json!(evaluation.file);
    script::widget("threshold", &data, fallback)
}

/// The weights of true and false positives at every step of the threshold, and along the curves.
fn threshold_table(held: &HeldOutRows) -> Option<Value> {
    let mut rows: Vec<(f64, bool, f64)> = (0..held.rows())
        .map(|row| (held.predicted(row)[1], held.targets()[row] == 1.0, held.weight(row)))
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let total =
        |class: bool| -> f64 { rows.iter().filter(|row| row.1 == class).map(|row| row.2).sum() };
    let totals = [total(true), total(false)];
    if totals.iter().any(|total| *total <= 0.0) {
        return None;
    }

    // The sums over the rows above each different probability.
    let mut sums = vec![[0.0, 0.0]];
    let mut probabilities = Vec::new();
    for (at, (probability, positive, weight)) in rows.iter().enumerate() {
        if at == 0 || rows[at - 1].0 != *probability {
            probabilities.push(*probability);
            sums.push(sums[sums.len() - 1]);
        }
        let last = sums.len() - 1;
        sums[last][usize::from(!positive)] += weight;
    }

    // A row is predicted positive if its probability is above the threshold, as by `predict`.
    let above = |threshold: f64| probabilities.partition_point(|one| *one > threshold);
    let steps: Vec<[f64; 2]> =
        (0..=STEPS).map(|step| sums[above(step as f64 / STEPS as f64)]).collect();
    let stride = sums.len().div_ceil(MAX_POINTS).max(1);
    let mut curve: Vec<[f64; 2]> = sums.iter().step_by(stride).copied().collect();
    curve.extend(sums.last());
    let weighted = (0..held.rows()).any(|row| held.weight(row) != 1.0);
    Some(json!({"totals": totals, "steps": steps, "curve": curve, "weighted": weighted}))
}
