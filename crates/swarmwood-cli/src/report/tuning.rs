//! The section of a tuning: what was searched, how it went, what mattered, and how much of the
//! score is optimism.

use serde_json::Value;
use swarmwood::Result;
use swarmwood::search::{Domain, Param, Scale};
use swarmwood::tune::importance::ranked;
use swarmwood::tune::{Ending, Recorded, TrialRecord};

use super::html::{
    CHART, Cell, Html, cards, chart_figure, details, facts, figure, gallery, note, notes, table,
    wide,
};
use super::page::Section;
use super::runs::{Run, plain};
use super::words::{self, count};
use super::{asked, evaluation, training};
use crate::chart::{BLUE, Chart, Line, Mark, inline};
use crate::study::table::{figure as score, reason, shown, state};
use crate::study::{panels, parallel, pictures};

/// Trials in the table of the best ones.
const BEST: usize = 15;

/// Failed trials that are listed.
const FAILED: usize = 10;

/// A tuning, by its study, its record, or both.
pub fn section(number: usize, run: &Run) -> Result<Section> {
    let mut section = Section::new(number, run.name(), "tuning");
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
        section.part("Parameters of the model", asked::asked(run));
        training::add_model(&mut section, run)?;
    }
    Ok(section)
}

/// The figure and what goes with it.
fn told(figure: &Value) -> Option<(String, String)> {
    let error = figure["error"]
        .as_f64()
        .map_or(String::new(), |error| format!("± {}", words::figure(error)));
    Some((words::figure(figure["score"].as_f64()?), error))
}

fn headline(run: &Run) -> Vec<(String, String, String)> {
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
                best.map(|best| (format!("best {measure}"), words::figure(best), String::new())),
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
    cards.extend(trials.map(|trials| ("trials".to_string(), words::grouped(trials), best)));
    cards
}

fn measure(run: &Run) -> String {
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
fn searched(run: &Run) -> Html {
    let record = run.tuned.as_ref();
    let of = |name: &str| {
        record
            .and_then(|record| record.get(name))
            .filter(|value| !value.is_object())
            .map_or(String::new(), plain)
    };
    let Some(study) = &run.study else {
        let best = record.map_or(&Value::Null, |record| &record["best"]["parameters"]);
        let rows: Vec<Vec<Cell>> = best
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| {
                vec![Cell::text(name.clone()), Cell::number(words::value(&plain(value)))]
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
            .and(talk(record));
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
        ("At a time", count(head.lag as u64, "trial")),
        (
            "A trial is",
            format!(
                "{}{}",
                count(head.pieces as u64, "piece"),
                if head.race { ", raced" } else { "" }
            ),
        ),
        ("Trials", states.join(", ")),
        ("Work", words::seconds(spent)),
        ("Written by", study.created_by.clone()),
    ];
    facts(&pairs).and(space(study)).and(talk(record))
}

fn talk(record: Option<&Value>) -> Html {
    let list = |name: &str| record.and_then(|record| record[name].as_array()).into_iter().flatten();
    notes(list("warnings").chain(list("notes")).filter_map(Value::as_str))
}

/// The space, with the best value beside what was allowed.
fn space(study: &Recorded) -> Html {
    let head = &study.head;
    let best = study.best();
    let row = |(at, param): (usize, &Param)| {
        let value = best.map_or(String::new(), |best| words::value(&shown(head, best, at)));
        let condition = param.condition.as_ref().map_or(String::new(), |condition| {
            format!("if {} is {}", condition.parent, condition.labels.join(" or "))
        });
        let allowed =
            [domain(&param.domain), condition].into_iter().filter(|text| !text.is_empty());
        let allowed = allowed.collect::<Vec<_>>().join("; ");
        vec![Cell::text(param.name.clone()), Cell::number(value), Cell::text(allowed)]
    };
    let rows: Vec<Vec<Cell>> = head.space.params().iter().enumerate().map(row).collect();
    table("What was searched, and the best of it", &["parameter", "best", "allowed"], &rows)
}

fn domain(domain: &Domain) -> String {
    let scaled = |scale: &Scale| if *scale == Scale::Log { ", by ratios" } else { "" };
    match domain {
        Domain::Integer { low, high, scale } => format!("{low} to {high}, whole{}", scaled(scale)),
        Domain::Real { low, high, scale } => {
            format!("{} to {}{}", words::figure(*low), words::figure(*high), scaled(scale))
        }
        Domain::List(values) => {
            values.iter().map(|value| words::figure(*value)).collect::<Vec<_>>().join(", ")
        }
        Domain::Choice(labels) => labels.join(", "),
    }
}

/// What configurations were chosen by, and what it is worth on rows that no trial saw.
fn scores(run: &Run) -> Html {
    let Some(record) = &run.tuned else {
        return note(
            "Only the journal was given: the record that 'tune --json' prints has the score on untouched rows.",
        );
    };
    let untouched = &record["untouched"];
    let rows = untouched["rows"].as_u64().map_or(String::new(), |rows| count(rows, "row"));
    let folds = record["folds"].as_u64().map_or(String::new(), |folds| count(folds, "fold"));
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
            Cell::text(*name),
            Cell::number(score),
            Cell::number(error),
            Cell::text(what.clone()),
        ])
    };
    let rows: Vec<Vec<Cell>> = lines.iter().filter_map(row).collect();
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
        ("Searching", seconds("tune").map_or(String::new(), words::seconds)),
        ("Finishing", seconds("finish").map_or(String::new(), words::seconds)),
        ("Fits", record["fits"].as_u64().map_or(String::new(), words::grouped)),
        ("Spared by racing", record["fits_spared"].as_u64().map_or(String::new(), words::grouped)),
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
    let line =
        Line { name: "best so far".into(), colour: BLUE, points, whole: true, mark: Mark::Line };
    Some(Chart {
        x_label: "trials".into(),
        y_label: record.get("metric").map(plain)?,
        lines: vec![line],
    })
}

fn add_study(section: &mut Section, study: &Recorded) {
    let course = chart_figure(
        &section.ids.fresh(),
        "Every trial, and the best so far",
        &pictures::course(study),
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
    let (body, size) = parallel::alone(study);
    let told = format!(
        "One line a trial across {} and {}; the better the darker, the best in orange.",
        count(study.head.space.len() as u64, "parameter"),
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
            Some(share) => Cell::Bar(share / most, words::percent(*share)),
            None => Cell::text("too few trials"),
        };
        vec![Cell::text(name.clone()), bar]
    };
    let rows: Vec<Vec<Cell>> = shares.iter().map(row).collect();
    let caption =
        "Share of the differences between trials (ranks) that each parameter alone explains";
    table(caption, &["parameter", "share"], &rows)
}

fn slice(study: &Recorded, parameter: usize, id: &str) -> Html {
    let (body, height) = panels::alone(study, parameter, CHART.0);
    let (name, measure) =
        (&study.head.space.params()[parameter].name, &study.head.task.measure.name);
    let best = study
        .best()
        .map_or(String::new(), |best| words::value(&shown(&study.head, best, parameter)));
    let told = format!(
        "{measure} of {} against {name}; the best has {best}.",
        count(study.trials.len() as u64, "trial")
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
        let value = score(head, trial).map_or(String::new(), words::figure);
        let mut cells = vec![
            Cell::number(trial.id.to_string()),
            Cell::number(value),
            Cell::number(words::seconds(trial.seconds)),
        ];
        cells.extend(
            (0..head.space.len()).map(|at| Cell::number(words::value(&shown(head, trial, at)))),
        );
        cells
    };
    let rows: Vec<Vec<Cell>> = sorted.iter().take(BEST).map(row).collect();
    let mut heads = vec!["trial", head.task.measure.name.as_str(), "work"];
    heads.extend(head.space.params().iter().map(|param| param.name.as_str()));
    let headline =
        format!("The {} best of {}", rows.len(), count(study.trials.len() as u64, "trial"));
    let failed: Vec<Vec<Cell>> = study
        .trials
        .iter()
        .filter(|trial| matches!(trial.ending, Some(Ending::Failed { .. })))
        .map(|trial| vec![Cell::number(trial.id.to_string()), Cell::text(reason(trial))])
        .collect();
    let shown = failed.len().min(FAILED);
    let reasons = table("Trials that failed", &["trial", "why"], &failed[..shown]);
    table(&headline, &heads, &rows).and(details(
        &format!("{} failed", count(failed.len() as u64, "trial")),
        false,
        reasons,
    ))
}
