//! The evaluation of a model: metrics with intervals, confusion matrix, ROC curves, calibration,
//! residuals.

use serde_json::Value;
use swarmwood::learn::metric::classes::Confusion;
use swarmwood::model::{Model, TargetKind};

use super::html::{Html, KeyFigure, TableCell, chart_figure, gallery, note, table};
use super::metrics::description;
use super::page::PageSection;
use super::runs::{LoadedModel, ReportRun};
use super::test_evaluation::TestEvaluation;
use super::threshold;
use crate::calibration;
use crate::chart::{BLUE, Chart, GREEN, GREY, ORANGE, RED, Series, SeriesMark};
use crate::format;

/// Maximum number of classes of a confusion matrix.
const MAX_CLASSES: usize = 30;

/// Colours of ROC curves; if there are more classes, the first ones are drawn.
const COLOURS: [&str; 4] = [BLUE, ORANGE, GREEN, RED];

/// Points of a curve that are closer than this are drawn as one.
const NEAR: f64 = 0.002;

/// The metrics among the key figures.
const MAIN: [&str; 4] = ["accuracy", "auc", "rmse", "r2"];

/// Every metric on training, validation, hold-out and test rows.
pub fn metrics(run: &ReportRun) -> Html {
    let evaluation = run.model.as_ref().and_then(|loaded| loaded.evaluation.as_ref());
    let recorded =
        |part: &str, name: &str| recorded(run, part, name).map_or(String::new(), format::rounded);
    let mut names: Vec<String> = Vec::new();
    let mut add_name = |name: &str| {
        if !names.iter().any(|other| other == name) {
            names.push(name.to_string());
        }
    };

    evaluation
        .into_iter()
        .flat_map(|evaluation| evaluation.bootstrap.values())
        .for_each(|(name, _)| add_name(name));

    for part in PARTS {
        metrics_of(run, part).into_iter().flatten().for_each(|(name, _)| add_name(name));
    }
    let parts: Vec<&str> =
        PARTS.into_iter().filter(|part| metrics_of(run, part).is_some()).collect();

    let row = |name: &String| {
        let mut cells = vec![TableCell::text(name.clone())];
        cells.extend(parts.iter().map(|part| TableCell::number(recorded(part, name))));
        if let Some(evaluation) = evaluation {
            let (value, interval) = evaluation.metric_text(name).unwrap_or_default();
            cells.extend([TableCell::number(value), TableCell::number(interval)]);
        }
        cells.push(TableCell::text(description(name)));
        cells
    };

    let rows: Vec<Vec<TableCell>> = names.iter().map(row).collect();
    let file = evaluation.map_or(String::new(), |evaluation| evaluation.file.clone());
    let mut heads = vec!["metric"];
    heads.extend(parts.iter().map(|part| heading(part)));
    if evaluation.is_some() {
        heads.extend([file.as_str(), "95 % interval"]);
    }
    heads.push("description");

    let hint = match evaluation {
        Some(evaluation) => note(&evaluation.interval_note()),
        None if rows.is_empty() => Html::default(),
        None => note("As recorded by the run."),
    };

    let baseline = run.model.as_ref().map(baseline).unwrap_or_default();
    table("All metrics of the task", &heads, &rows).and(baseline).and(hint)
}

/// How well a constant does on the rows: the most frequent class, or the mean.
fn baseline(loaded: &LoadedModel) -> Html {
    let Some(evaluation) = &loaded.evaluation else { return Html::default() };
    let predictions = &evaluation.predictions;
    let weighted = || {
        let targets = predictions.targets().iter().enumerate();
        targets.map(|(row, &target)| (target, predictions.weight(row)))
    };
    let total: f64 = weighted().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return Html::default();
    }
    let TargetKind::Classes(classes) = &loaded.model.schema.target.kind else {
        let mean = weighted().map(|(target, weight)| weight * target).sum::<f64>() / total;
        let squares = weighted().map(|(target, weight)| weight * (target - mean).powi(2));
        let error = (squares.sum::<f64>() / total).sqrt();
        return note(&format!(
            "The baseline, always predicting the mean of these rows ({}), has an RMSE of {}.",
            format::rounded(mean),
            format::rounded(error)
        ));
    };
    let share = |class: usize| {
        let of_class = weighted().filter(|(target, _)| *target == class as f64);
        of_class.map(|(_, weight)| weight).sum::<f64>() / total
    };
    // The class that was most frequent when the model was trained, if that is known.
    let trained = training_classes(&loaded.model);
    let frequency = |class: usize| trained.as_ref().map_or(share(class), |rows| rows[class] as f64);
    let most = (0..classes.len()).max_by(|&a, &b| frequency(a).total_cmp(&frequency(b)));
    most.map_or(Html::default(), |class| {
        note(&format!(
            "The baseline, always predicting '{}', has an accuracy of {}.",
            classes[class],
            format::rounded(share(class))
        ))
    })
}

/// The training rows of each class, if they were counted.
fn training_classes(model: &Model) -> Option<Vec<u64>> {
    let first = model.provenance.stats.leaf_rows.first()?;
    let classes = model.schema.target.kind.classes().len().max(1);
    let of_class = |class: usize| first.counts.iter().skip(class).step_by(classes).sum();
    Some((0..classes).map(of_class).collect())
}

/// The sets of rows that a record has metrics of.
const PARTS: [&str; 3] = ["train", "valid", "holdout"];

fn heading(part: &str) -> &'static str {
    match part {
        "train" => "training rows",
        "valid" => "validation rows",
        _ => "held-out rows",
    }
}

fn metrics_of<'a>(run: &'a ReportRun, part: &str) -> Option<&'a serde_json::Map<String, Value>> {
    match part {
        "holdout" => run.tuned.as_ref()?["holdout"]["metrics"].as_object(),
        part => run.trained.as_ref()?["metrics"][part].as_object(),
    }
}

fn recorded(run: &ReportRun, part: &str, name: &str) -> Option<f64> {
    metrics_of(run, part)?.get(name)?.as_f64()
}

/// The key figures: main metrics with their intervals, or the rows they were computed on.
pub fn key_figures(run: &ReportRun) -> Vec<KeyFigure> {
    let evaluation = run.model.as_ref().and_then(|loaded| loaded.evaluation.as_ref());
    let figure = |name: &&str| {
        if let Some((value, interval)) =
            evaluation.and_then(|evaluation| evaluation.metric_text(name))
        {
            let remark = match interval.as_str() {
                "" => evaluation.map_or(String::new(), |one| one.file.clone()),
                interval => format!("95 %: {interval}"),
            };
            return Some(KeyFigure::new(*name, value, remark));
        }
        // Metrics on training rows are the most optimistic ones.
        let part = ["holdout", "valid", "train"]
            .into_iter()
            .find(|part| recorded(run, part, name).is_some())?;
        let value = format::rounded(recorded(run, part, name)?);
        Some(KeyFigure::new(*name, value, format!("on the {}", heading(part))))
    };

    MAIN.iter().filter_map(figure).collect()
}

/// Adds the charts and tables of an evaluation.
pub fn add_charts(section: &mut PageSection, loaded: &LoadedModel) {
    let Some(evaluation) = &loaded.evaluation else { return };
    let model = &loaded.model;
    let event = calibration::predicted_event(&model.schema.target.kind);
    let pairs = evaluation.predictions.pairs();

    if let TargetKind::Classes(classes) = &model.schema.target.kind {
        section.part(
            "Confusion matrix",
            confusion_matrix(&evaluation.predictions.confusion(), classes),
        );
        let curve = roc_curve(model, evaluation, &section.ids.next_id());
        let chosen = threshold::threshold(model, evaluation, curve.clone());
        if chosen.is_empty() {
            section.part("ROC curve", curve);
        } else {
            section.part("Threshold and ROC curve", chosen);
        }
    }

    let mut charts: Vec<(&str, Chart)> = calibration::charts(&pairs, event.as_deref()).into();
    if event.is_none() {
        charts.push(("Residuals against predicted values", calibration::residual_scatter(&pairs)));
    }
    let ece = event.is_some().then(|| {
        let error = format::rounded(pairs.error());
        note(&format!("The expected calibration error is {error}."))
    });

    let figures: Vec<Html> = charts
        .iter()
        .map(|(title, chart)| chart_figure(&section.ids.next_id(), title, chart))
        .collect();

    let title = if event.is_some() { "Calibration" } else { "Residuals" };
    section.part(title, gallery(figures).and(ece.unwrap_or_default()));
}

/// True classes in rows, predicted ones in columns; cells are shaded by their fraction of the row.
fn confusion_matrix(counts: &Confusion, classes: &[String]) -> Html {
    if classes.len() > MAX_CLASSES {
        return note(&format!("A confusion matrix of {} classes is too large.", classes.len()));
    }
    let row = |(truth, name): (usize, &String)| {
        let total: f64 = (0..classes.len()).map(|predicted| counts.cell(truth, predicted)).sum();
        let mut cells = vec![TableCell::text(name.clone())];
        cells.extend((0..classes.len()).map(|predicted| {
            let weight = counts.cell(truth, predicted);
            TableCell::Shade(
                if total > 0.0 { weight / total } else { 0.0 },
                format::rounded(weight),
            )
        }));
        cells.push(TableCell::number(
            counts.recall(truth).filter(|_| total > 0.0).map_or("–".into(), format::percent),
        ));
        cells
    };

    let rows: Vec<Vec<TableCell>> = classes.iter().enumerate().map(row).collect();
    let predicted_heads: Vec<String> =
        classes.iter().map(|name| format!("predicted {name}")).collect();
    let mut heads = vec!["true class"];
    heads.extend(predicted_heads.iter().map(String::as_str));
    heads.push("recall");
    table("Rows by true and predicted class", &heads, &rows)
}

/// The ROC curve of the positive class, or one per class.
fn roc_curve(model: &Model, evaluation: &TestEvaluation, id: &str) -> Html {
    let classes = model.schema.target.kind.classes();
    let curve_classes = match classes.len() {
        2 => vec![1],
        count => most_frequent(count, evaluation),
    };
    let chance = Series::new("chance level", GREY, vec![(0.0, 0.0), (1.0, 1.0)])
        .with_mark(SeriesMark::Dashed);
    let mut series = vec![chance];

    for (at, class) in curve_classes.iter().enumerate() {
        let ranks = evaluation.predictions.ranks(*class);
        let (Some(auc), Some(points)) = (ranks.clone().auc(), ranks.curve()) else { continue };
        let name = format!("{}: AUC {}", classes[*class], format::rounded(auc));
        series.push(Series::new(name, COLOURS[at], thinned(&points)));
    }

    if series.len() == 1 {
        return note("These rows have one class only.");
    }
    let chart = Chart {
        x_label: "false positive rate".to_string(),
        y_label: "true positive rate".to_string(),
        series,
    };

    let more = match classes.len() > COLOURS.len() && classes.len() > 2 {
        true => note(&format!(
            "The {} most frequent of {} classes, each one against the rest.",
            COLOURS.len(),
            classes.len()
        )),
        false => Html::default(),
    };

    gallery([chart_figure(id, "ROC curve", &chart)]).and(more)
}

/// As many classes as there are colours, in their order: those with the most rows.
fn most_frequent(classes: usize, evaluation: &TestEvaluation) -> Vec<usize> {
    let mut rows = vec![0_usize; classes];
    for &target in evaluation.predictions.targets() {
        if let Some(count) = rows.get_mut(target as usize) {
            *count += 1;
        }
    }
    let mut order: Vec<usize> = (0..classes).collect();
    order.sort_by_key(|&class| std::cmp::Reverse(rows[class]));
    order.truncate(COLOURS.len());
    order.sort_unstable();
    order
}

/// The points of a curve without those that are too close to the previous one.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut thin: Vec<(f64, f64)> = Vec::new();
    for (at, &(x, y)) in points.iter().enumerate() {
        let far =
            thin.last().is_none_or(|last| (x - last.0).abs() >= NEAR || (y - last.1).abs() >= NEAR);
        if far || at + 1 == points.len() {
            thin.push((x, y));
        }
    }
    thin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_is_thinned_and_keeps_its_ends() {
        let points: Vec<(f64, f64)> =
            (0..=100_000).map(|at| (f64::from(at) / 1e5, f64::from(at) / 1e5)).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= 502 && thin.len() > 400, "{}", thin.len());
        assert_eq!((thin.first(), thin.last()), (Some(&(0.0, 0.0)), Some(&(1.0, 1.0))));
        assert_eq!(thinned(&points[..1]).len(), 1);
    }

    #[test]
    fn cells_are_shaded_by_their_fraction_of_the_class() {
        let mut table = Confusion::new(2);
        for (probabilities, target) in
            [([0.9, 0.1], 0.0), ([0.9, 0.1], 0.0), ([0.2, 0.8], 0.0), ([0.2, 0.8], 0.0)]
        {
            table.add(&probabilities, target, 1.0);
        }
        let html = confusion_matrix(&table, &["no".into(), "<yes>".into()]);
        assert_eq!(html.as_str().matches("style='--share:35.0%'>2<").count(), 2, "{html:?}");
        assert!(
            html.as_str().contains("<th scope='col' class='n'>predicted &lt;yes&gt;</th>"),
            "{html:?}"
        );
        assert!(html.as_str().contains("50.0 %") && html.as_str().contains("–"), "{html:?}");
    }
}
