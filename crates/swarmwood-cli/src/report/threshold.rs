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
    data["threshold"] = json!(model.calibration.threshold.unwrap_or(0.5));
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

#[cfg(test)]
mod tests {
    use swarmwood::learn::data::Chunk;
    use swarmwood::model::{Body, Link, Provenance, Schema, Target, TargetKind};

    use super::*;

    #[test]
    fn rows_are_counted_above_every_threshold() {
        let classes = TargetKind::Classes(vec!["no".into(), "yes".into()]);
        let target = Target { name: "y".into(), kind: classes };
        let model = Model {
            schema: Schema { features: Vec::new(), target, dates: Vec::new() },
            link: Link::Sigmoid,
            objective: "logistic".into(),
            base: vec![0.0],
            body: Body::Trees(Vec::new()),
            calibration: Default::default(),
            provenance: Provenance::default(),
        };
        // Probabilities of 0.5, about 0.88 and about 0.12.
        let raw = [0.0, 2.0, -2.0, 2.0];
        let target = vec![1.0, 1.0, 0.0, 0.0];
        let chunk = Chunk { columns: Vec::new(), target, weight: Vec::new(), rows: 4 };
        let table = threshold_table(&HeldOutRows::of_raw(&model, &raw, &chunk)).unwrap();
        assert_eq!(table["totals"], json!([2.0, 2.0]));
        assert_eq!(table["steps"][0], json!([2.0, 2.0]));
        // At 0.5 a row with this very probability is negative, as by `predict`.
        assert_eq!(table["steps"][50], json!([1.0, 1.0]));
        assert_eq!(table["steps"][49], json!([2.0, 1.0]));
        assert_eq!(table["steps"][100], json!([0.0, 0.0]));

        let one_class = Chunk { target: vec![1.0; 4], ..chunk };
        assert!(threshold_table(&HeldOutRows::of_raw(&model, &raw, &one_class)).is_none());
    }
}
