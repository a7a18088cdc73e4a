//! The comparison of models with the same target.

use swarmwood::model::{Model, TargetKind};

use super::html::{Html, TableCell, note, table};
use super::metrics::{higher_is_better, interval_text};
use super::page::PageSection;
use super::runs::{LoadedModel, ReportRun};
use crate::format;

/// Metrics that are compared, if the task has them.
const COMPARED: [&str; 8] =
    ["accuracy", "balanced_accuracy", "auc", "logloss", "rmse", "mae", "r2", "medae"];

/// The section about the first target with more than one model, if any.
pub fn section(number: usize, runs: &[ReportRun]) -> Option<PageSection> {
    let models = || runs.iter().filter(|run| run.model.is_some());
    let group = models().map(|run| same_target(runs, run)).find(|group| group.len() > 1)?;
    let target = group
        .first()
        .and_then(|run| run.model.as_ref())
        .map(|loaded| loaded.model.schema.target.name.clone())?;
    let mut section =
        PageSection::new(number, format!("{} models of {target}", group.len()), "comparison");
    section.part("Size and cost", sizes(&group));
    section.part("Metrics", metrics(&group));
    section.part("Paired differences", differences(&group));
    Some(section)
}

/// The runs whose models have the target of a run.
fn same_target<'a>(runs: &'a [ReportRun], like: &ReportRun) -> Vec<&'a ReportRun> {
    let key = |run: &'a ReportRun| run.model.as_ref().map(|loaded| target_of(&loaded.model));
    let target = like.model.as_ref().map(|loaded| target_of(&loaded.model));
    runs.iter().filter(|run| run.model.is_some() && key(run) == target).collect()
}

fn target_of(model: &Model) -> (&str, &TargetKind) {
    (&model.schema.target.name, &model.schema.target.kind)
}

fn loaded<'a>(group: &[&'a ReportRun]) -> impl Iterator<Item = (&'a ReportRun, &'a LoadedModel)> {
    group.iter().filter_map(|run| Some((*run, run.model.as_ref()?))).collect::<Vec<_>>().into_iter()
}

fn sizes(group: &[&ReportRun]) -> Html {
    let row = |(run, loaded): (&ReportRun, &LoadedModel)| {
        let summary = loaded.model.summary();
        let (trees, leaves, depth) = super::parameters::tree_counts(&loaded.model);
        let record = run.trained.as_ref();
        let seconds = record
            .and_then(|record| record["seconds"]["train"].as_f64())
            .map_or(String::new(), format::duration);
        let gain = super::cost::gain(run).map_or(String::new(), |gain| gain.value);
        vec![
            TableCell::text(run.name()),
            TableCell::text(summary.method),
            TableCell::number(format::grouped(trees)),
            TableCell::number(format::grouped(leaves)),
            TableCell::number(depth.to_string()),
            TableCell::number(summary.features_used.to_string()),
            TableCell::number(gain),
            TableCell::number(seconds),
        ]
    };

    let rows: Vec<Vec<TableCell>> = loaded(group).map(row).collect();

    let heads = [
        "model",
        "method",
        "trees",
        "leaves",
        "depth",
        "features used",
        "gain over greedy",
        "training",
    ];

    table("Size and cost of the models", &heads, &rows)
}

/// The metrics that at least one model has: with intervals if rows were given, else as recorded.
fn metrics(group: &[&ReportRun]) -> Html {
    let value_text = |run: &ReportRun, loaded: &LoadedModel, name: &str| -> Option<String> {
        if let Some(evaluation) = &loaded.evaluation {
            let (value, interval) = evaluation.metric_text(name)?;
            return Some(if interval.is_empty() { value } else { format!("{value} ({interval})") });
        }
        let record = run.trained.as_ref()?;
        let recorded = ["valid", "train"]
            .into_iter()
            .find_map(|part| Some((part, record["metrics"][part][name].as_f64()?)));
        recorded.map(|(part, value)| format!("{} ({part})", format::rounded(value)))
    };

    let names: Vec<&str> = COMPARED
        .into_iter()
        .filter(|name| loaded(group).any(|(run, model)| value_text(run, model, name).is_some()))
        .collect();

    let row = |(run, model): (&ReportRun, &LoadedModel)| {
        let mut cells = vec![TableCell::text(run.name())];
        cells.extend(
            names
                .iter()
                .map(|name| TableCell::number(value_text(run, model, name).unwrap_or_default())),
        );
        cells
    };

    if names.is_empty() {
        return note("No metrics are known; --data FILE evaluates all models on the same rows.");
    }
    let rows: Vec<Vec<TableCell>> = loaded(group).map(row).collect();
    let heads: Vec<&str> = ["model"].into_iter().chain(names.iter().copied()).collect();
    let file = loaded(group).find_map(|(_, model)| model.evaluation.as_ref());
    let caption = match file {
        Some(evaluation) => format!("On {}, with 95 % intervals", evaluation.file),
        None => "As recorded by the runs, each on its own rows".to_string(),
    };

    table(&caption, &heads, &rows)
}

/// The differences to the first model on the same bootstrap resamples of the same rows.
fn differences(group: &[&ReportRun]) -> Html {
    let evaluations: Vec<_> = loaded(group)
        .filter_map(|(run, loaded)| Some((run, loaded.evaluation.as_ref()?)))
        .collect();
    let Some(((first, base), others)) = evaluations.split_first() else { return Html::default() };
    let mut rows = Vec::new();

    for (run, evaluation) in others {
        for name in COMPARED {
            let Some((value, interval)) = evaluation.bootstrap.less(&base.bootstrap, name) else {
                continue;
            };
            let verdict = match (higher_is_better(name), interval.low > 0.0, interval.high < 0.0) {
                (Some(true), true, _) | (Some(false), _, true) => "better",
                (Some(false), true, _) | (Some(true), _, true) => "worse",
                _ => "not significant",
            };
            rows.push(vec![
                TableCell::text(run.name()),
                TableCell::text(name),
                TableCell::number(format::signed(value)),
                TableCell::number(interval_text(interval)),
                TableCell::text(verdict),
            ]);
        }
    }

    let caption = format!("Differences to {} on the same rows", first.name());
    let heads = ["model", "metric", "difference", "95 % interval", "verdict"];
    let hint = note(&format!(
        "All models are evaluated on the same resamples, so the intervals are those of paired differences. {}",
        base.interval_note()
    ));

    if rows.is_empty() { Html::default() } else { table(&caption, &heads, &rows).and(hint) }
}
