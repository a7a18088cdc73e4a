//! Trials as text, CSV and JSON, and the best configuration.

use std::path::Path;

use serde_json::{Value, json};
use swarmwood::tune::importance::ranked;
use swarmwood::tune::{Ending, StudyHeader, StudyRecord, TrialRecord, named};
use swarmwood::{Error, Result};

use crate::format::{count, number};

/// The states of trials.
pub(crate) const STATES: [&str; 4] = ["complete", "pruned", "failed", "running"];

/// The state of a trial.
pub(crate) fn state(trial: &TrialRecord) -> &'static str {
    match &trial.ending {
        None => "running",
        Some(Ending::Whole { .. }) => "complete",
        Some(Ending::Raced { .. }) => "pruned",
        Some(Ending::Failed { .. }) => "failed",
    }
}

/// The value of a parameter in a trial; empty if it has none.
pub(crate) fn parameter_text(head: &StudyHeader, trial: &TrialRecord, parameter: usize) -> String {
    let value = trial.point.0.get(parameter).copied();
    value.and_then(|value| named::text(&head.space, parameter, value)).unwrap_or_default()
}

/// The metric of a trial, if it has one.
pub(crate) fn metric_value(head: &StudyHeader, trial: &TrialRecord) -> Option<f64> {
    trial.ending.as_ref().and_then(Ending::loss).map(|loss| head.task.measure.figure(loss))
}

/// Why a trial failed; empty if it did not.
pub(crate) fn reason(trial: &TrialRecord) -> &str {
    match &trial.ending {
        Some(Ending::Failed { reason }) => reason,
        _ => "",
    }
}

/// A study and its trials: the best ones, or all in order.
pub(super) fn show(study: &StudyRecord, top: Option<usize>) -> String {
    let StudyHeader { engine, seed, lag, pieces, race, task, space } = &study.head;
    let with = |name: &str| study.trials.iter().filter(|trial| state(trial) == name).count();
    let counts: Vec<String> = STATES
        .iter()
        .filter(|name| with(name) > 0)
        .map(|name| format!("{} {name}", with(name)))
        .collect();

    let pruning = if *race { ", pruning" } else { "" };
    let better = if task.measure.from.is_some() { "higher" } else { "lower" };
    let mut text = format!("task      {}\n", task.text);
    text.push_str(&format!("metric    {}, {better} is better\n", task.measure.name));
    text.push_str(&format!(
        "engine    {engine}, seed {seed}, {}, {}{pruning}\n",
        count(*lag, "concurrent trial"),
        count(*pieces, "fold")
    ));

    text.push_str(&format!("space     {}\n", space_text(study)));
    let spent: f64 = study.trials.iter().map(|trial| trial.seconds).sum();
    text.push_str(&format!(
        "trials    {} ({}), {spent:.1} s of evaluation\n",
        study.trials.len(),
        counts.join(", ")
    ));

    let important: Vec<String> = ranked(space, &study.trials)
        .into_iter()
        .filter_map(|(name, share)| Some(format!("{name} {:.0} %", 100.0 * share?)))
        .collect();

    if !important.is_empty() {
        text.push_str(&format!("variance  {}\n", important.join(", ")));
    }
    text.push_str(&format!("written   by {}\n\n", study.created_by));
    let mut trials: Vec<&TrialRecord> = study.trials.iter().collect();

    if let Some(top) = top {
        // Complete trials first: the loss of a pruned one is an estimate.
        let loss = |trial: &TrialRecord| {
            trial.ending.as_ref().and_then(Ending::loss).unwrap_or(f64::INFINITY)
        };
        trials.sort_by(|a, b| {
            a.whole().is_none().cmp(&b.whole().is_none()).then(loss(a).total_cmp(&loss(b)))
        });
        trials.truncate(top);
    }

    text.push_str(&grid(&study.head, &trials));
    text
}

fn space_text(study: &StudyRecord) -> String {
    let space = &study.head.space;
    let size =
        space.size().map_or("continuous".to_string(), |size| format!("{size} configurations"));
    format!("{}, {size}", count(space.len(), "parameter"))
}

/// A table with columns as wide as their longest cell.
fn grid(head: &StudyHeader, trials: &[&TrialRecord]) -> String {
    let names = head.space.params().iter().map(|param| param.name.clone());
    let heads = ["trial", "state", &head.task.measure.name, "seconds"]
        .map(str::to_string)
        .into_iter()
        .chain(names);

    let mut rows: Vec<Vec<String>> = vec![heads.collect()];

    for trial in trials {
        let value = metric_value(head, trial).map_or(String::new(), number);
        let mut row = vec![
            trial.id.to_string(),
            state(trial).to_string(),
            value,
            format!("{:.2}", trial.seconds),
        ];
        row.extend((0..head.space.len()).map(|at| brief(&parameter_text(head, trial, at))));
        if !reason(trial).is_empty() {
            row.push(reason(trial).to_string());
        }
        rows.push(row);
    }

    let columns = rows[0].len();
    let width = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();

    let line = |row: &Vec<String>| {
        // Reasons follow the columns and are not padded.
        let cells = row.iter().enumerate().map(|(at, cell)| match widths.get(at) {
            Some(&width) => format!("{cell:>width$}"),
            None => cell.clone(),
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };

    rows.iter().map(line).collect()
}

/// Numbers are shortened, labels are not.
fn brief(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(value) if text.len() > 8 => number(value),
        _ => text.to_string(),
    }
}

/// The best configuration in one of the formats.
pub(super) fn best(study: &StudyRecord, path: &Path, format: &str) -> Result<String> {
    let none = || Error::Study {
        path: path.to_path_buf(),
        message: "no trial is complete yet".to_string(),
    };

    let trial = study.best().ok_or_else(none)?;
    let space = &study.head.space;
    let values = named::json(space, &trial.point);
    if format == "json" {
        return Ok(format!("{}\n", Value::Object(values)));
    }
    let pairs =
        space.params().iter().filter_map(|param| Some((&param.name, values.get(&param.name)?)));

    if format == "flags" {
        let flag = |(name, value): (&String, &Value)| {
            let text = value.as_str().map_or(value.to_string(), quote);
            format!("--{} {text}", name.replace('_', "-"))
        };
        return Ok(format!("{}\n", pairs.map(flag).collect::<Vec<_>>().join(" ")));
    }

    let measure = &study.head.task.measure;
    let value = metric_value(&study.head, trial).map_or(String::new(), number);
    let mut text = format!("# trial {}: {} {value}\n", trial.id, measure.name);
    for (name, value) in pairs {
        // A string in JSON's quotes and escapes is one in TOML too.
        text.push_str(&format!("{} = {value}\n", key(name)));
    }

    Ok(text)
}

/// A key of TOML, in quotes where it needs them.
fn key(name: &str) -> String {
    let bare =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { name.to_string() } else { Value::from(name).to_string() }
}

/// Quotes a text for a shell.
fn quote(word: &str) -> String {
    let plain =
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-.:/+".contains(c));
    if plain { word.to_string() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// All trials as CSV.
pub(super) fn csv(study: &StudyRecord) -> String {
    let StudyHeader { space, pieces, .. } = &study.head;
    let mut header: Vec<String> =
        ["trial", "state", "value", "loss", "seconds", "worker", "failure"]
            .map(str::to_string)
            .to_vec();

    header.extend((0..*pieces).map(|at| format!("fold_{at}_loss")));
    header.extend(space.params().iter().map(|param| param.name.clone()));
    let mut text = row(&header);

    for trial in &study.trials {
        let known = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let loss = trial.ending.as_ref().and_then(Ending::loss);
        let mut cells = vec![
            trial.id.to_string(),
            state(trial).to_string(),
            known(metric_value(&study.head, trial)),
        ];
        cells.extend([
            known(loss),
            trial.seconds.to_string(),
            trial.worker.to_string(),
            reason(trial).to_string(),
        ]);
        cells.extend((0..*pieces).map(|at| known(trial.pieces.get(at).map(|piece| piece.loss))));
        cells.extend((0..space.len()).map(|at| parameter_text(&study.head, trial, at)));
        text.push_str(&row(&cells));
    }

    text
}

fn row(cells: &[String]) -> String {
    let cell = |cell: &String| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    format!("{}\n", cells.iter().map(cell).collect::<Vec<_>>().join(","))
}

/// The study and all trials.
pub(super) fn json(study: &StudyRecord) -> Value {
    let head = &study.head;
    let trial = |trial: &TrialRecord| {
        json!({
            "id": trial.id,
            "state": state(trial),
            "value": metric_value(head, trial),
            "fold_losses": trial.pieces.iter().map(|piece| piece.loss).collect::<Vec<_>>(),
            "seconds": trial.seconds,
            "worker": trial.worker,
            "failure": Some(reason(trial)).filter(|reason| !reason.is_empty()),
            "parameters": named::json(&head.space, &trial.point),
        })
    };

    json!({
        "task": head.task.text,
        "metric": head.task.measure.name,
        "higher_is_better": head.task.measure.from.is_some(),
        "engine": head.engine,
        "seed": head.seed,
        "parallel": head.lag,
        "folds": head.pieces,
        "pruning": head.race,
        "space": swarmwood::tune::space_file::to_json(&head.space),
        "created_by": study.created_by,
        "best_trial": study.best().map(|best| best.id),
        "importance": ranked(&head.space, &study.trials).into_iter().map(|(name, share)| json!({"parameter": name, "importance": share})).collect::<Vec<_>>(),
        "trials": study.trials.iter().map(trial).collect::<Vec<_>>(),
    })
}
