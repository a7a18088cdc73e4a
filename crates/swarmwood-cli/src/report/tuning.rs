//! The section of a tuning: what was searched, how it went, what mattered, and how much of the
//! score is optimism.

use serde_json::Value;
use swarmwood::Result;
use swarmwood::search::{Domain, Param, Scale};
use swarmwood::tune::importance::ranked;
use swarmwood::tune::{Ending, Recorded, TrialRecord};

use super::html::{
    CHART, Html, TableCell, cards, chart_figure, details, facts, figure, gallery, note, notes,
    table, wide,
};
use super::page::PageSection;
use super::runs::{ReportRun, plain};
use super::{evaluation, parameters, training};
use crate::chart::{BLUE, Chart, Series, SeriesMark, inline};
use crate::format::{self, grouped_count};
use crate::study::table::{figure as score, reason, shown, state};
use crate::study::{charts, parallel_coordinates, slices};

/// Trials in the table of the best ones.
const BEST: usize = 15;

/// Failed trials that are listed.
const FAILED: usize = 10;

/// A tuning, by its study, its record, or both.
pub fn section(number: usize, run: &ReportRun) -> Result<PageSection> {
    let mut section = PageSection::new(number, run.name(), "tuning");
    section.part("", cards(&headline(run)));
    section.part("What was asked", searched(run));
    section.part("Tuned and untouched", scores(run));
    if let Some(study) = &run.study {
        add_study(&mut section, study);
    } else if let Some(course) = run.tuned.as_ref().and_then(improvements) {
        let id = section.ids.fresh();
        section.part("Course", gallery([chart_figure(&id, "The best score so far", &course)]));
    }
    if run.model.is_some() {
        section.part("Metrics of the model", evaluation::metrics(run));
        section.part("Parameters of the model", parameters::asked(run));
        training::add_model(&mut section, run)?;
    }
    Ok(section)
}

/// The figure and what goes with it.
fn told(figure: &Value) -> Option<(String, String)> {
    let error = figure["error"]
        .as_f64()
        .map_or(String::new(), |error| format!("± {}", format::rounded(error)));
    Some((format::rounded(figure["score"].as_f64()?), error))
}

fn headline(run: &ReportRun) -> Vec<(String, String, String)> {
    let mut cards = Vec::new();
    let record = run.tuned.as_ref();
    let measure = measure(run);
    if let Some((score, error)) = record.and_then(|record| told(&record["untouched"])) {
        cards.push((format!("{measure}, untouched"), score, error));
    }
    match (record.and_then(|record| told(&record["tuned"])), &run.study) {
        (Some((score, error)), _) => cards.push((format!("{measure}, tuned"), score, error)),
        (None, Some(study)) => {
            let best = study.best().and_then(|best| score(&study.head, best));
            cards.extend(
                best.map(|best| (format!("best {measure}"), format::rounded(best), String::new())),
            );
        }
        (None, None) => {}
    }
    if let Some(optimism) = record.and_then(|record| told(&record["untouched"]["optimism"])) {
        cards.push(("optimism".to_string(), optimism.0, optimism.1));
    }
    let trials = run.study.as_ref().map(|study| study.trials.len() as u64);
    let trials = trials.or(record.and_then(|record| record["trials"].as_u64()));
    let best = run.study.as_ref().and_then(|study| study.best().map(|best| best.id));
    let best = best.or(record.and_then(|record| record["best"]["trial"].as_u64()));
    let best = best.map_or(String::new(), |best| format!("the best is number {best}"));
    cards.extend(trials.map(|trials| ("trials".to_string(), format::grouped(trials), best)));
    cards
}

fn measure(run: &ReportRun) -> String {
    let of_record = || {
        let record = run.tuned.as_ref()?;
        record.get("metric").or(record.get("measure")).map(plain)
    };
    run.study
        .as_ref()
        .map(|study| study.head.task.measure.name.clone())
        .or_else(of_record)
        .unwrap_or_default()
}

/// What was searched, by whom, and where.
fn searched(run: &ReportRun) -> Html {
    let record = run.tuned.as_ref();
    let of = |name: &str| {
        record
            .and_then(|record| record.get(name))
            .filter(|value| !value.is_object())
            .map_or(String::new(), plain)
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
                    TableCell::number(format::parameter_value(&plain(value))),
                ]
            })
            .collect();
        let pairs = [
            ("Method", of("method")),
            ("Search", of("engine")),
            ("Seed", of("seed")),
            ("Measure", measure(run)),
            ("Folds", of("folds")),
            ("Rows", of("rows")),
        ];
        return facts(&pairs)
            .and(table("The best configuration", &["parameter", "value"], &rows))
            .and(messages(record));
    };
    let head = &study.head;
    let better = if head.task.measure.from.is_some() { "larger" } else { "smaller" };
    let spent: f64 = study.trials.iter().map(|trial| trial.seconds).sum();
    let with = |name: &str| study.trials.iter().filter(|trial| state(trial) == name).count();
    let states = ["done", "raced", "failed", "open"].into_iter().filter(|name| with(name) > 0);
    let states: Vec<String> = states.map(|name| format!("{} {name}", with(name))).collect();
    let pairs = [
        ("Task", head.task.text.clone()),
        ("Measure", format!("{}, {better} is better", head.task.measure.name)),
        ("Search", head.engine.clone()),
        ("Seed", head.seed.to_string()),
        ("At a time", grouped_count(head.lag as u64, "trial")),
        (
            "A trial is",
            format!(
                "{}{}",
                grouped_count(head.pieces as u64, "piece"),
                if head.race { ", raced" } else { "" }
            ),
        ),
        ("Trials", states.join(", ")),
        ("Work", format::duration(spent)),
        ("Written by", study.created_by.clone()),
    ];
    facts(&pairs).and(space(study)).and(messages(record))
}

fn messages(record: Option<&Value>) -> Html {
    let list = |name: &str| record.and_then(|record| record[name].as_array()).into_iter().flatten();
    notes(list("warnings").chain(list("notes")).filter_map(Value::as_str))
}

/// The space, with the best value beside what was allowed.
fn space(study: &Recorded) -> Html {
    let head = &study.head;
    let best = study.best();
    let row = |(at, param): (usize, &Param)| {
        let value =
            best.map_or(String::new(), |best| format::parameter_value(&shown(head, best, at)));
        let condition = param.condition.as_ref().map_or(String::new(), |condition| {
            format!("if {} is {}", condition.parent, condition.labels.join(" or "))
        });
        let allowed =
            [domain(&param.domain), condition].into_iter().filter(|text| !text.is_empty());
        let allowed = allowed.collect::<Vec<_>>().join("; ");
        vec![
            TableCell::text(param.name.clone()),
            TableCell::number(value),
            TableCell::text(allowed),
        ]
    };
    let rows: Vec<Vec<TableCell>> = head.space.params().iter().enumerate().map(row).collect();
    table("What was searched, and the best of it", &["parameter", "best", "allowed"], &rows)
}

fn domain(domain: &Domain) -> String {
    let scaled = |scale: &Scale| if *scale == Scale::Log { ", by ratios" } else { "" };
    match domain {
        Domain::Integer { low, high, scale } => format!("{low} to {high}, whole{}", scaled(scale)),
        Domain::Real { low, high, scale } => {
            format!("{} to {}{}", format::rounded(*low), format::rounded(*high), scaled(scale))
        }
        Domain::List(values) => {
            values.iter().map(|value| format::rounded(*value)).collect::<Vec<_>>().join(", ")
        }
        Domain::Choice(labels) => labels.join(", "),
    }
}

/// What configurations were chosen by, and what it is worth on rows that no trial saw.
fn scores(run: &ReportRun) -> Html {
    let Some(record) = &run.tuned else {
        return note(
            "Only the journal was given: the record that 'tune --json' prints has the score on untouched rows.",
        );
    };
    let untouched = &record["untouched"];
    let rows = untouched["rows"].as_u64().map_or(String::new(), |rows| grouped_count(rows, "row"));
    let folds =
        record["folds"].as_u64().map_or(String::new(), |folds| grouped_count(folds, "fold"));
    let lines = [
        (
            "Tuned score",
            &record["tuned"],
            format!("what configurations were chosen by, {folds}: too good, as the best of many"),
        ),
        (
            "Untouched score",
            untouched,
            format!("the best configuration on {rows} that no trial has seen"),
        ),
        (
            "Optimism",
            &untouched["optimism"],
            "how much better the tuned score looks than that".to_string(),
        ),
        (
            "Without tuning",
            &untouched["without_tuning"],
            "the fixed parameters alone, on the untouched rows".to_string(),
        ),
        (
            "Mean of the best",
            &untouched["ensemble"],
            "several of the best configurations together, on the untouched rows".to_string(),
        ),
    ];
    let row = |(name, figure, what): &(&str, &Value, String)| {
        let (score, error) = told(figure)?;
        Some(vec![
            TableCell::text(*name),
            TableCell::number(score),
            TableCell::number(error),
            TableCell::text(what.clone()),
        ])
    };
    let rows: Vec<Vec<TableCell>> = lines.iter().filter_map(row).collect();
    let heads = [measure(run), "standard error".into(), "what it is".into()];
    let heads: Vec<&str> = ["score"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let honest = match untouched.is_null() && record.get("tuned").is_some() {
        true => note(
            "No rows were held out, so nobody knows how good the model is: the tuned score is too good.",
        ),
        false => Html::default(),
    };
    let seconds = |name: &str| {
        record["seconds"][name].as_f64().or(record["seconds"].as_f64().filter(|_| name == "tune"))
    };
    let cost = [
        ("Searching", seconds("tune").map_or(String::new(), format::duration)),
        ("Finishing", seconds("finish").map_or(String::new(), format::duration)),
        ("Fits", record["fits"].as_u64().map_or(String::new(), format::grouped)),
        ("Spared by racing", record["fits_spared"].as_u64().map_or(String::new(), format::grouped)),
    ];
    table("Scores", &heads, &rows).and(honest).and(facts(&cost))
}

/// The best score so far against the seconds, as a record keeps it.
fn improvements(record: &Value) -> Option<Chart> {
    let point = |one: &Value| Some((one["trials_ended"].as_f64()?, one["score"].as_f64()?));
    let known: Vec<(f64, f64)> =
        record["improvements"].as_array()?.iter().filter_map(point).collect();
    let end = record["trials"].as_f64()?;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, score) in known {
        points.extend(points.last().map(|last| (at, last.1)));
        points.push((at, score));
    }
    points.extend(points.last().map(|last| (end, last.1)));
    let line = Series {
        name: "best so far".into(),
        colour: BLUE,
        points,
        whole: true,
        mark: SeriesMark::Line,
    };
    Some(Chart {
        x_label: "trials".into(),
        y_label: record.get("metric").map(plain)?,
        lines: vec![line],
    })
}

fn add_study(section: &mut PageSection, study: &Recorded) {
    let course = chart_figure(
        &section.ids.fresh(),
        "Every trial, and the best so far",
        &charts::course(study),
    );
    section.part("Course", gallery([course]));
    section.part("What mattered", importance(study));
    let slices: Vec<Html> =
        (0..study.head.space.len()).map(|at| slice(study, at, &section.ids.fresh())).collect();
    section.part(
        "Slices",
        gallery(slices).and(note(
            "One dot a trial; the best one is large, those given up early are small and grey.",
        )),
    );
    let (body, size) = parallel_coordinates::alone(study);
    let told = format!(
        "One line a trial across {} and {}; the better the darker, the best in orange.",
        grouped_count(study.head.space.len() as u64, "parameter"),
        study.head.task.measure.name
    );
    let svg = inline(&section.ids.fresh(), "Parallel coordinates", &told, size, &body);
    section.part("All parameters at once", wide(&svg, &told));
    section.part("Trials", trials(study));
}

fn importance(study: &Recorded) -> Html {
    let shares = ranked(&study.head.space, &study.trials);
    let most = shares.iter().filter_map(|(_, share)| *share).fold(0.01, f64::max);
    let row = |(name, share): &(String, Option<f64>)| {
        let bar = match share {
            Some(share) => TableCell::Bar(share / most, format::percent(*share)),
            None => TableCell::text("too few trials"),
        };
        vec![TableCell::text(name.clone()), bar]
    };
    let rows: Vec<Vec<TableCell>> = shares.iter().map(row).collect();
    let caption =
        "Share of the differences between trials (ranks) that each parameter alone explains";
    table(caption, &["parameter", "share"], &rows)
}

fn slice(study: &Recorded, parameter: usize, id: &str) -> Html {
    let (body, height) = slices::alone(study, parameter, CHART.0);
    let (name, measure) =
        (&study.head.space.params()[parameter].name, &study.head.task.measure.name);
    let best = study.best().map_or(String::new(), |best| {
        format::parameter_value(&shown(&study.head, best, parameter))
    });
    let told = format!(
        "{measure} of {} against {name}; the best has {best}.",
        grouped_count(study.trials.len() as u64, "trial")
    );
    figure(
        &inline(id, &format!("{measure} against {name}"), &told, (CHART.0, height), &body),
        &format!("{measure} against {name}"),
    )
}

/// The best trials, and why others failed.
fn trials(study: &Recorded) -> Html {
    let head = &study.head;
    let mut sorted: Vec<&TrialRecord> =
        study.trials.iter().filter(|trial| trial.whole().is_some()).collect();
    sorted.sort_by(|a, b| {
        let loss = |trial: &TrialRecord| trial.whole().unwrap_or(f64::INFINITY);
        loss(a).total_cmp(&loss(b)).then(a.id.cmp(&b.id))
    });
    let row = |trial: &&TrialRecord| {
        let value = score(head, trial).map_or(String::new(), format::rounded);
        let mut cells = vec![
            TableCell::number(trial.id.to_string()),
            TableCell::number(value),
            TableCell::number(format::duration(trial.seconds)),
        ];
        cells.extend(
            (0..head.space.len())
                .map(|at| TableCell::number(format::parameter_value(&shown(head, trial, at)))),
        );
        cells
    };
    let rows: Vec<Vec<TableCell>> = sorted.iter().take(BEST).map(row).collect();
    let mut heads = vec!["trial", head.task.measure.name.as_str(), "work"];
    heads.extend(head.space.params().iter().map(|param| param.name.as_str()));
    let headline =
        format!("The {} best of {}", rows.len(), grouped_count(study.trials.len() as u64, "trial"));
    let failed: Vec<Vec<TableCell>> = study
        .trials
        .iter()
        .filter(|trial| matches!(trial.ending, Some(Ending::Failed { .. })))
        .map(|trial| vec![TableCell::number(trial.id.to_string()), TableCell::text(reason(trial))])
        .collect();
    let shown = failed.len().min(FAILED);
    let reasons = table("Trials that failed", &["trial", "why"], &failed[..shown]);
    table(&headline, &heads, &rows).and(details(
        &format!("{} failed", grouped_count(failed.len() as u64, "trial")),
        false,
        reasons,
    ))
}
