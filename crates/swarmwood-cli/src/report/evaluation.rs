//! How good a model is: its metrics with intervals, classes against classes, curves, calibration,
//! residuals.

use serde_json::Value;
use swarmwood::learn::metric::classes::Confusion;
use swarmwood::model::{Model, TargetKind};

use super::html::{Html, TableCell, chart_figure, gallery, note, table};
use super::metrics::description;
use super::page::PageSection;
use super::runs::{LoadedModel, ReportRun};
use super::test_evaluation::TestEvaluation;
use crate::calibration;
use crate::chart::{BLUE, Chart, GREEN, GREY, ORANGE, RED, Series, SeriesMark};
use crate::format;

/// Classes of the largest table of classes against classes.
const MOST_CLASSES: usize = 30;

/// Colours of curves; of more classes the first are drawn.
const COLOURS: [&str; 4] = [BLUE, ORANGE, GREEN, RED];

/// Points of a curve nearer to each other than this look like one.
const NEAR: f64 = 0.002;

/// The metrics that stand above all others.
pub const MAIN: [&str; 4] = ["accuracy", "auc", "rmse", "r2"];

/// Every metric on every table that there is.
pub fn metrics(run: &ReportRun) -> Html {
    let measured = run.model.as_ref().and_then(|loaded| loaded.measured.as_ref());
    let recorded =
        |part: &str, name: &str| recorded(run, part, name).map_or(String::new(), format::rounded);
    let mut names: Vec<String> = Vec::new();
    let mut known = |name: &str| {
        if !names.iter().any(|other| other == name) {
            names.push(name.to_string());
        }
    };
    measured
        .into_iter()
        .flat_map(|measured| measured.drawn.values())
        .for_each(|(name, _)| known(name));
    for part in PARTS {
        metrics_of(run, part).into_iter().flatten().for_each(|(name, _)| known(name));
    }
    let parts: Vec<&str> =
        PARTS.into_iter().filter(|part| metrics_of(run, part).is_some()).collect();
    let row = |name: &String| {
        let mut cells = vec![TableCell::text(name.clone())];
        cells.extend(parts.iter().map(|part| TableCell::number(recorded(part, name))));
        if let Some(measured) = measured {
            let (value, interval) = measured.shown(name).unwrap_or_default();
            cells.extend([TableCell::number(value), TableCell::number(interval)]);
        }
        cells.push(TableCell::text(description(name)));
        cells
    };
    let rows: Vec<Vec<TableCell>> = names.iter().map(row).collect();
    let file = measured.map_or(String::new(), |measured| measured.file.clone());
    let mut heads = vec!["metric"];
    heads.extend(parts.iter().map(|part| heading(part)));
    if measured.is_some() {
        heads.extend([file.as_str(), "95 % interval"]);
    }
    heads.push("what it is");
    let hint = match measured {
        Some(measured) => note(&measured.method()),
        None if rows.is_empty() => note(
            "Neither a record nor rows were given: 'train --json' prints a record, and --data FILE measures the model with intervals.",
        ),
        None => note(
            "Figures without intervals, as the run recorded them; --data FILE measures the model on rows, with intervals.",
        ),
    };
    table("Every metric of the task", &heads, &rows).and(hint)
}

/// Where a record keeps metrics.
const PARTS: [&str; 3] = ["train", "valid", "untouched"];

fn heading(part: &str) -> &'static str {
    match part {
        "train" => "training rows",
        "valid" => "validation rows",
        _ => "untouched rows",
    }
}

fn metrics_of<'a>(run: &'a ReportRun, part: &str) -> Option<&'a serde_json::Map<String, Value>> {
    match part {
        "untouched" => run.tuned.as_ref()?["untouched"]["metrics"].as_object(),
        part => run.trained.as_ref()?["metrics"][part].as_object(),
    }
}

fn recorded(run: &ReportRun, part: &str, name: &str) -> Option<f64> {
    metrics_of(run, part)?.get(name)?.as_f64()
}

/// The best known figure of the main metrics, each with its interval or where it comes from.
pub fn headline(run: &ReportRun) -> Vec<(String, String, String)> {
    let measured = run.model.as_ref().and_then(|loaded| loaded.measured.as_ref());
    let card = |name: &&str| {
        if let Some((value, interval)) = measured.and_then(|measured| measured.shown(name)) {
            let more = if interval.is_empty() {
                measured.map(|one| one.file.clone())
            } else {
                Some(format!("95 %: {interval}"))
            };
            return Some((name.to_string(), value, more.unwrap_or_default()));
        }
        // The training rows say least.
        let part = ["untouched", "valid", "train"]
            .into_iter()
            .find(|part| recorded(run, part, name).is_some())?;
        Some((
            name.to_string(),
            format::rounded(recorded(run, part, name)?),
            format!("on the {}", heading(part)),
        ))
    };
    MAIN.iter().filter_map(card).collect()
}

/// The pictures and tables of the rows that were measured.
pub fn pictures(section: &mut PageSection, loaded: &LoadedModel) {
    let Some(measured) = &loaded.measured else { return };
    let model = &loaded.model;
    let judged = calibration::predicted_event(&model.schema.target.kind);
    let pairs = measured.held.pairs();
    if let TargetKind::Classes(classes) = &model.schema.target.kind {
        section.part("Classes against classes", confusion(&measured.held.confusion(), classes));
        let id = section.ids.fresh();
        section.part("Receiver operating characteristic", roc(model, measured, &id));
    }
    let mut charts: Vec<(&str, Chart)> = calibration::charts(&pairs, judged.as_deref()).into();
    if judged.is_none() {
        charts.push(("Residuals over what was predicted", calibration::residuals(&pairs)));
    }
    let ece = judged.is_some().then(|| {
        let error = format::rounded(pairs.error());
        note(&format!("The expected calibration error, the mean distance of the dots from the diagonal, is {error}."))
    });
    let figures: Vec<Html> = charts
        .iter()
        .map(|(title, chart)| chart_figure(&section.ids.fresh(), title, chart))
        .collect();
    let title = if judged.is_some() { "Calibration" } else { "Residuals" };
    section.part(title, gallery(figures).and(ece.unwrap_or_default()));
}

/// True classes down, predicted ones across; the share of a row decides how dark a cell is.
fn confusion(table_of: &Confusion, classes: &[String]) -> Html {
    if classes.len() > MOST_CLASSES {
        return note(&format!("{} classes are too many for a table.", classes.len()));
    }
    let row = |(truth, name): (usize, &String)| {
        let total: f64 = (0..classes.len()).map(|predicted| table_of.cell(truth, predicted)).sum();
        let mut cells = vec![TableCell::text(name.clone())];
        cells.extend((0..classes.len()).map(|predicted| {
            let weight = table_of.cell(truth, predicted);
            TableCell::Shade(
                if total > 0.0 { weight / total } else { 0.0 },
                format::rounded(weight),
            )
        }));
        cells.push(TableCell::number(
            table_of.recall(truth).filter(|_| total > 0.0).map_or("–".into(), format::percent),
        ));
        cells
    };
    let rows: Vec<Vec<TableCell>> = classes.iter().enumerate().map(row).collect();
    let named: Vec<String> = classes.iter().map(|name| format!("said {name}")).collect();
    let mut heads = vec!["is"];
    heads.extend(named.iter().map(String::as_str));
    heads.push("recall");
    table("Rows by what they are and what the model says", &heads, &rows)
}

/// The curve of the positive class, or one a class.
fn roc(model: &Model, measured: &TestEvaluation, id: &str) -> Html {
    let classes = model.schema.target.kind.classes();
    let wanted: Vec<usize> =
        if classes.len() == 2 { vec![1] } else { (0..classes.len().min(COLOURS.len())).collect() };
    let diagonal = Series {
        name: "by chance".into(),
        colour: GREY,
        points: vec![(0.0, 0.0), (1.0, 1.0)],
        whole: true,
        mark: SeriesMark::Dashed,
    };
    let mut lines = vec![diagonal];
    for (at, class) in wanted.iter().enumerate() {
        let ranks = measured.held.ranks(*class);
        let (Some(auc), Some(points)) = (ranks.clone().auc(), ranks.curve()) else { continue };
        let name = format!("{}: AUC {}", classes[*class], format::rounded(auc));
        lines.push(Series {
            name,
            colour: COLOURS[at],
            points: thinned(&points),
            whole: true,
            mark: SeriesMark::Line,
        });
    }
    if lines.len() == 1 {
        return note("Only one class occurs in these rows.");
    }
    let chart = Chart {
        x_label: "share of other rows above the threshold".to_string(),
        y_label: "share of rows of the class above it".to_string(),
        lines,
    };
    let more = match classes.len() > COLOURS.len() && classes.len() > 2 {
        true => note(&format!(
            "The first {} of {} classes, each against all others.",
            COLOURS.len(),
            classes.len()
        )),
        false => Html::default(),
    };
    gallery([chart_figure(id, "How well chances order the rows", &chart)]).and(more)
}

/// The points of a curve without those that nobody could tell from their neighbours.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (at, &(x, y)) in points.iter().enumerate() {
        let far =
            kept.last().is_none_or(|last| (x - last.0).abs() >= NEAR || (y - last.1).abs() >= NEAR);
        if far || at + 1 == points.len() {
            kept.push((x, y));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_is_thinned_and_keeps_its_ends() {
        let points: Vec<(f64, f64)> =
            (0..=100_000).map(|at| (f64::from(at) / 1e5, f64::from(at) / 1e5)).collect();
        let kept = thinned(&points);
        assert!(kept.len() <= 502 && kept.len() > 400, "{}", kept.len());
        assert_eq!((kept.first(), kept.last()), (Some(&(0.0, 0.0)), Some(&(1.0, 1.0))));
        assert_eq!(thinned(&points[..1]).len(), 1);
    }

    #[test]
    fn cells_are_as_dark_as_their_share_of_the_class() {
        let mut table = Confusion::new(2);
        for (said, target) in
            [([0.9, 0.1], 0.0), ([0.9, 0.1], 0.0), ([0.2, 0.8], 0.0), ([0.2, 0.8], 0.0)]
        {
            table.add(&said, target, 1.0);
        }
        let html = confusion(&table, &["no".into(), "<yes>".into()]);
        assert_eq!(html.as_str().matches("style='--share:35.0%'>2<").count(), 2, "{html:?}");
        assert!(
            html.as_str().contains("<th scope='col' class='n'>said &lt;yes&gt;</th>"),
            "{html:?}"
        );
        assert!(html.as_str().contains("50.0 %") && html.as_str().contains("–"), "{html:?}");
    }
}
