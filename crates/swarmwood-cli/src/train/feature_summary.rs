//! The features of a budget, as text and as JSON.

use serde_json::{Value, json};
use swarmwood::learn::ensemble::{CrossValidatedMetric, FeatureBudgetReport};
use swarmwood::model::Model;
use swarmwood::train::TrainResult;

use crate::format::{count, number};

/// Features that the text lists.
const LISTED: usize = 20;

/// Which features the model may use, and what the budget costs; empty without one.
pub(super) fn features_text(trained: &TrainResult) -> String {
    let Some(report) = &trained.features else { return String::new() };
    let (chosen, all) = (report.features.len(), trained.model.schema.features.len());
    let mut names: Vec<String> = report
        .features
        .iter()
        .zip(&report.chosen_in_folds)
        .map(|(&feature, folds)| {
            let name = name_of(&trained.model, feature);
            if report.folds == 0 { name } else { format!("{name} ({folds})") }
        })
        .collect();
    if names.len() > LISTED {
        names.truncate(LISTED);
        names.push("…".to_string());
    }
    let folds = match report.folds {
        0 => String::new(),
        folds => format!("; in brackets in how many of {} they were chosen", count(folds, "fold")),
    };
    let cut_short = if report.finished { "" } else { "; the choice was cut short" };
    let mut text = format!(
        "features: {chosen} of {all}, total cost {}: {}{folds}{cut_short}\n",
        number(report.cost),
        names.join(", "),
    );

    for (within, all) in report.within_budget.iter().zip(&report.all_features) {
        text.push_str(&format!(
            "cost of the budget: greedy boosting has {} {} with it, {} with all features (cross-\
             validated, features chosen in each fold)\n",
            within.name,
            number(within.mean),
            number(all.mean),
        ));
    }
    text
}

/// The object about a feature budget; null without one.
pub(super) fn features_json(trained: &TrainResult) -> Value {
    let Some(report) = &trained.features else { return Value::Null };
    let FeatureBudgetReport { features, chosen_in_folds, folds, cost, finished, .. } = report;
    let metrics = |metrics: &[CrossValidatedMetric]| {
        let one = |metric: &CrossValidatedMetric| {
            let figures = json!({"mean": metric.mean, "standard_error": metric.standard_error});
            (metric.name.to_string(), figures)
        };
        Value::Object(metrics.iter().map(one).collect())
    };
    json!({
        "selected": features.iter().map(|&at| name_of(&trained.model, at)).collect::<Vec<_>>(),
        "selected_in_folds": chosen_in_folds,
        "folds": folds,
        "cost": cost,
        "finished": finished,
        "greedy_within_budget": metrics(&report.within_budget),
        "greedy_all_features": metrics(&report.all_features),
    })
}

fn name_of(model: &Model, feature: usize) -> String {
    model.schema.features[feature].name.clone()
}
