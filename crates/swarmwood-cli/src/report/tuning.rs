//! The section of a tuning run: the search, its history, the importance of parameters, and the
//! cross-validated and hold-out scores.

use serde_json::Value;
use swarmwood::Result;
use swarmwood::search::{Domain, Param, ParamScale};
use swarmwood::tune::importance::ranked;
use swarmwood::tune::{StudyRecord, TrialOutcome, TrialRecord};

use super::html::{
    CHART, Html, KeyFigure, TableCell, cards, chart_figure, details, facts, figure, gallery, note,
    table, wide_figure,
};
use super::page::PageSection;
use super::runs::{ReportRun, value_text};
use super::{evaluation, missing_inputs, parameters, training};
use crate::chart::{BLUE, Chart, Series, inline};
use crate::format::{self, grouped_count};
use crate::study::table::{STATES, metric_value, parameter_text, reason, state};
use crate::study::{charts, parallel_coordinates, slices};

/// Trials in the table of the best ones.
const BEST: usize = 15;

/// Failed trials that are listed.
const FAILED: usize = 10;

/// A tuning run: from its study, its record, or both.
pub fn section(number: usize, run: &ReportRun) -> Result<PageSection> {
    let mut section = PageSection::new(number, run.name(), "tuning");
    section.part("", cards(&key_figures(run)));
    section.part("Configuration", configuration(run));
    section.part("Cross-validated and hold-out scores", scores(run));

    if let Some(study) = &run.study {
        add_study(&mut section, study);
    } else if let Some(history) = run.tuned.as_ref().and_then(improvements) {
        let id = section.ids.next_id();
        section.part(
            "Optimization history",
            gallery([chart_figure(&id, "Best score so far", &history)]),
        );
    }

    if run.model.is_some() {
        section.part("Metrics of the model", evaluation::metrics(run));
        section.part("Parameters of the model", parameters::configuration(run));
        training::add_model(&mut section, run)?;
    }

    section.part("", missing_inputs::missing_inputs(run));
    Ok(section)
}

/// A score and its standard error, as text.
fn score_text(score: &Value) -> Option<(String, String)> {
    let error = score["standard_error"]
        .as_f64()
        .map_or(String::new(), |error| format!("± {}", format::rounded(error)));
    Some((format::rounded(score["score"].as_f64()?), error))
}

/// The key figures above all parts.
fn key_figures(run: &ReportRun) -> Vec<KeyFigure> {
    let record = run.tuned.as_ref();
    let metric = metric_name(run);
    let score = |name: String, score: &Value| {
        let (value, error) = score_text(score)?;
        Some(KeyFigure::new(name, value, error))
    };

    let mut figures = Vec::new();
    if let Some(record) = record {
        figures.extend(score(format!("hold-out {metric}"), &record["holdout"]));
        figures.extend(score(format!("cross-validated {metric}"), &record["cv_score"]));
        figures.extend(score("optimism".to_string(), &record["holdout"]["optimism"]));
    }

    // Without a record, the best value of the study is all that is known.
    let has_score = record.is_some_and(|record| score_text(&record["cv_score"]).is_some());
    if let Some(study) = run.study.as_ref().filter(|_| !has_score) {
        let best = study.best().and_then(|best| metric_value(&study.header, best));
        let name = format!("best {metric}");
        figures.extend(best.map(|best| KeyFigure::new(name, format::rounded(best), "")));
    }

    let trials = run.study.as_ref().map(|study| study.trials.len() as u64);
    let trials = trials.or(record.and_then(|record| record["trials"].as_u64()));
    let best = run.study.as_ref().and_then(|study| study.best().map(|best| best.id));
    let best = best.or(record.and_then(|record| record["best"]["trial"].as_u64()));
    let best = best.map_or(String::new(), |best| format!("best: trial {best}"));
    figures.extend(trials.map(|trials| KeyFigure::new("trials", format::grouped(trials), best)));
    figures
}

fn metric_name(run: &ReportRun) -> String {
    let of_record = || {
        let record = run.tuned.as_ref()?;
        record.get("metric").map(value_text)
    };
    run.study
        .as_ref()
        .map(|study| study.header.task.metric.name.clone())
        .or_else(of_record)
        .unwrap_or_default()
}

/// The search: metric, engine, seed, space.
fn configuration(run: &ReportRun) -> Html {
    let record = run.tuned.as_ref();
    let of = |name: &str| {
        record
            .and_then(|record| record.get(name))
            .filter(|value| !value.is_object())
            .map_or(String::new(), value_text)
    };

    let Some(study) = &run.study else {
        let best = record.map_or(&Value::Null, |record| &record["best"]["parameters"]);
        let rows: Vec<Vec<TableCell>> = best
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| {
                vec![
                    TableCell::text(name.clone()),
                    TableCell::number(format::parameter_value(&value_text(value))),
                ]
            })
            .collect();
        let pairs = [
            ("Method", of("method")),
            ("Engine", of("engine")),
            ("Seed", of("seed")),
            ("Metric", metric_name(run)),
            ("Folds", of("folds")),
            ("Rows", of("rows")),
        ];
        return facts(&pairs)
            .and(table("Best configuration", &["parameter", "value"], &rows))
            .and(parameters::messages(record));
    };

    let header = &study.header;
    let better = if header.task.metric.from.is_some() { "higher" } else { "lower" };
    let spent: f64 = study.trials.iter().map(|trial| trial.seconds).sum();
    let with = |name: &str| study.trials.iter().filter(|trial| state(trial) == name).count();
    let states = STATES.into_iter().filter(|name| with(name) > 0);
    let states: Vec<String> = states.map(|name| format!("{} {name}", with(name))).collect();

    let pairs = [
        ("Task", header.task.text.clone()),
        ("Metric", format!("{}, {better} is better", header.task.metric.name)),
        ("Engine", header.engine.clone()),
        ("Engine options", header.engine_options.to_string()),
        ("Seed", header.seed.to_string()),
        ("Concurrent trials", header.parallel_trials.to_string()),
        (
            "Evaluations per trial",
            format!("{}{}", header.folds, if header.prune { ", with pruning" } else { "" }),
        ),
        ("Trials", states.join(", ")),
        ("Evaluation time", format::duration(spent)),
        ("Written by", study.created_by.clone()),
    ];

    facts(&pairs).and(space(study)).and(parameters::messages(record))
}

/// The search space, with the best values.
fn space(study: &StudyRecord) -> Html {
    let header = &study.header;
    let best = study.best();

    let row = |(at, param): (usize, &Param)| {
        let value = best.map_or(String::new(), |best| {
            format::parameter_value(&parameter_text(header, best, at))
        });
        let condition = param.condition.as_ref().map_or(String::new(), |condition| {
            format!("if {} is {}", condition.parent, condition.labels.join(" or "))
        });
        let domain =
            [domain_text(&param.domain), condition].into_iter().filter(|text| !text.is_empty());
        let domain = domain.collect::<Vec<_>>().join("; ");
        vec![TableCell::text(param.name.clone()), TableCell::number(value), TableCell::text(domain)]
    };

    let rows: Vec<Vec<TableCell>> = header.space.params().iter().enumerate().map(row).collect();
    table("Search space, and the best configuration", &["parameter", "best", "domain"], &rows)
}

fn domain_text(domain: &Domain) -> String {
    let scaled = |scale: &ParamScale| if *scale == ParamScale::Log { ", log scale" } else { "" };
    match domain {
        Domain::Integer { low, high, scale } => {
            format!("{low} to {high}, integer{}", scaled(scale))
        }
        Domain::Real { low, high, scale } => {
            format!("{} to {}{}", format::rounded(*low), format::rounded(*high), scaled(scale))
        }
        Domain::List(values) => {
            values.iter().map(|value| format::rounded(*value)).collect::<Vec<_>>().join(", ")
        }
        Domain::Choice(labels) => labels.join(", "),
    }
}

/// The score that configurations were selected by, and the score on held-out rows.
fn scores(run: &ReportRun) -> Html {
    let Some(record) = &run.tuned else { return Html::default() };

    let holdout = &record["holdout"];
    let rows = holdout["rows"].as_u64().map_or(String::new(), |rows| grouped_count(rows, "row"));
    let folds =
        record["folds"].as_u64().map_or(String::new(), |folds| grouped_count(folds, "fold"));

    let lines = [
        (
            "Cross-validated score",
            &record["cv_score"],
            format!("the best configuration in {folds}; optimistic, because it was selected by it"),
        ),
        (
            "Hold-out score",
            holdout,
            format!("the best configuration on {rows} that no trial has seen"),
        ),
        (
            "Optimism",
            &holdout["optimism"],
            "how much better the cross-validated score is than the hold-out score".to_string(),
        ),
        (
            "Without tuning",
            &holdout["without_tuning"],
            "the fixed parameters and defaults, on the held-out rows".to_string(),
        ),
        (
            "Ensemble",
            &holdout["ensemble"],
            "the average of the best configurations, on the held-out rows".to_string(),
        ),
    ];

    let row = |(name, score, description): &(&str, &Value, String)| {
        let (value, error) = score_text(score)?;
        Some(vec![
            TableCell::text(*name),
            TableCell::number(value),
            TableCell::number(error),
            TableCell::text(description.clone()),
        ])
    };

    let rows: Vec<Vec<TableCell>> = lines.iter().filter_map(row).collect();
    let heads = [metric_name(run), "standard error".into(), "description".into()];
    let heads: Vec<&str> = ["score"].into_iter().chain(heads.iter().map(String::as_str)).collect();

    let hint = match holdout.is_null() && record.get("cv_score").is_some() {
        true => note(
            "No rows were held out: the cross-validated score is optimistic, because the parameters were chosen by it.",
        ),
        false => Html::default(),
    };

    let seconds = |name: &str| {
        record["seconds"][name].as_f64().or(record["seconds"].as_f64().filter(|_| name == "tune"))
    };

    let cost = [
        ("Search", seconds("tune").map_or(String::new(), format::duration)),
        ("Final training", seconds("finish").map_or(String::new(), format::duration)),
        ("Fits", record["fits"].as_u64().map_or(String::new(), format::grouped)),
        (
            "Fits skipped by pruning",
            record["fits_skipped"].as_u64().map_or(String::new(), format::grouped),
        ),
    ];

    table("Scores", &heads, &rows).and(hint).and(facts(&cost))
}

/// The best score so far per trial, from the record.
fn improvements(record: &Value) -> Option<Chart> {
    let point = |one: &Value| Some((one["trials_finished"].as_f64()?, one["score"].as_f64()?));
    let known: Vec<(f64, f64)> =
        record["improvements"].as_array()?.iter().filter_map(point).collect();
    let end = record["trials"].as_f64()?;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, score) in known {
        points.extend(points.last().map(|last| (at, last.1)));
        points.push((at, score));
    }

    points.extend(points.last().map(|last| (end, last.1)));
    let best = Series::new("best so far", BLUE, points);
    Some(Chart {
        x_label: "trials".into(),
        y_label: record.get("metric").map(value_text)?,
        series: vec![best],
    })
}

fn add_study(section: &mut PageSection, study: &StudyRecord) {
    let history = chart_figure(
        &section.ids.next_id(),
        "All trials, and the best so far",
        &charts::history(study),
    );

    section.part("Optimization history", gallery([history]));
    section.part("Parameter importances", importance(study));
    let slices: Vec<Html> =
        (0..study.header.space.len()).map(|at| slice(study, at, &section.ids.next_id())).collect();
    section.part(
        "Slice plots",
        gallery(slices)
            .and(note("One dot per trial; the best one is large, pruned ones are small and grey.")),
    );

    let (body, size) = parallel_coordinates::chart(study);
    let description = format!(
        "One line per trial across {} and {}; better trials are darker, the best one is orange.",
        grouped_count(study.header.space.len() as u64, "parameter"),
        study.header.task.metric.name
    );

    let svg = inline(&section.ids.next_id(), "Parallel coordinates", &description, size, &body);
    section.part("Parallel coordinates", wide_figure(&svg, &description));
    section.part("Trials", trials(study));
}

fn importance(study: &StudyRecord) -> Html {
    let importances = ranked(&study.header.space, &study.trials);
    let most = importances.iter().filter_map(|(_, importance)| *importance).fold(0.01, f64::max);
    let row = |(name, importance): &(String, Option<f64>)| {
        let bar = match importance {
            Some(importance) => TableCell::Bar(importance / most, format::percent(*importance)),
            None => TableCell::text("too few trials"),
        };
        vec![TableCell::text(name.clone()), bar]
    };
    let rows: Vec<Vec<TableCell>> = importances.iter().map(row).collect();
    let caption = "Fraction of the variance of ranks explained by each parameter alone";
    table(caption, &["parameter", "importance"], &rows)
}

fn slice(study: &StudyRecord, parameter: usize, id: &str) -> Html {
    let (body, height) = slices::panel(study, parameter, CHART.0);
    let (name, metric) =
        (&study.header.space.params()[parameter].name, &study.header.task.metric.name);
    let best = study.best().map_or(String::new(), |best| {
        format::parameter_value(&parameter_text(&study.header, best, parameter))
    });
    let description = format!(
        "{metric} of {} against {name}; best: {best}.",
        grouped_count(study.trials.len() as u64, "trial")
    );

    figure(
        &inline(id, &format!("{metric} against {name}"), &description, (CHART.0, height), &body),
        &format!("{metric} against {name}"),
    )
}

/// The best trials, and the reasons of failed ones.
fn trials(study: &StudyRecord) -> Html {
    let header = &study.header;
    let mut sorted: Vec<&TrialRecord> =
        study.trials.iter().filter(|trial| trial.complete_loss().is_some()).collect();
    sorted.sort_by(|a, b| {
        let loss = |trial: &TrialRecord| trial.complete_loss().unwrap_or(f64::INFINITY);
        loss(a).total_cmp(&loss(b)).then(a.id.cmp(&b.id))
    });

    let row = |trial: &&TrialRecord| {
        let value = metric_value(header, trial).map_or(String::new(), format::rounded);
        let mut cells = vec![
            TableCell::number(trial.id.to_string()),
            TableCell::number(value),
            TableCell::number(format::duration(trial.seconds)),
        ];
        cells.extend((0..header.space.len()).map(|at| {
            TableCell::number(format::parameter_value(&parameter_text(header, trial, at)))
        }));
        cells
    };

    let rows: Vec<Vec<TableCell>> = sorted.iter().take(BEST).map(row).collect();
    let mut heads = vec!["trial", header.task.metric.name.as_str(), "time"];
    heads.extend(header.space.params().iter().map(|param| param.name.as_str()));
    let caption =
        format!("The {} best of {}", rows.len(), grouped_count(study.trials.len() as u64, "trial"));

    let failed: Vec<Vec<TableCell>> = study
        .trials
        .iter()
        .filter(|trial| matches!(trial.outcome, Some(TrialOutcome::Failed { .. })))
        .map(|trial| vec![TableCell::number(trial.id.to_string()), TableCell::text(reason(trial))])
        .collect();

    let shown = failed.len().min(FAILED);
    let reasons = table("Trials that failed", &["trial", "why"], &failed[..shown]);

    table(&caption, &heads, &rows).and(details(
        &format!("{} failed", grouped_count(failed.len() as u64, "trial")),
        false,
        reasons,
    ))
}
