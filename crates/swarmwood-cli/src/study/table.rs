//! Trials as text, CSV and JSON, and the best configuration.

use std::path::Path;

use serde_json::{Value, json};
use swarmwood::tune::importance::ranked;
use swarmwood::tune::{
    StudyHeader, StudyRecord, TrialOutcome, TrialRecord, engine_options, named, space_file,
};
use swarmwood::{Error, Result};

use crate::format::{count, number};

/// The states of trials.
pub(crate) const STATES: [&str; 4] = ["complete", "pruned", "failed", "running"];

/// The state of a trial.
pub(crate) fn state(trial: &TrialRecord) -> &'static str {
    match &trial.outcome {
        None => "running",
        Some(TrialOutcome::Complete { .. }) => "complete",
        Some(TrialOutcome::Pruned { .. }) => "pruned",
        Some(TrialOutcome::Failed { .. }) => "failed",
    }
}

/// The value of a parameter in a trial; empty if it has none.
pub(crate) fn parameter_text(
    header: &StudyHeader,
    trial: &TrialRecord,
    parameter: usize,
) -> String {
    let value = trial.point.0.get(parameter).copied();
    value.and_then(|value| named::text(&header.space, parameter, value)).unwrap_or_default()
}

/// The metric of a trial, if it has one.
pub(crate) fn metric_value(header: &StudyHeader, trial: &TrialRecord) -> Option<f64> {
    trial.outcome.as_ref().and_then(TrialOutcome::loss).map(|loss| header.task.metric.value(loss))
}

/// Why a trial failed; empty if it did not.
pub(crate) fn reason(trial: &TrialRecord) -> &str {
    match &trial.outcome {
        Some(TrialOutcome::Failed { reason }) => reason,
        _ => "",
    }
}

/// A study and its trials: the best ones, or all in order.
pub(super) fn show(study: &StudyRecord, top: Option<usize>) -> String {
    let StudyHeader { engine, engine_options, seed, parallel_trials, folds, prune, task, space } =
        &study.header;
    let with = |name: &str| study.trials.iter().filter(|trial| state(trial) == name).count();
    let counts: Vec<String> = STATES
        .iter()
        .filter(|name| with(name) > 0)
        .map(|name| format!("{} {name}", with(name)))
        .collect();

    let pruning = if *prune { ", pruning" } else { "" };
    let better = if task.metric.from.is_some() { "higher" } else { "lower" };
    let mut text = format!("task      {}\n", task.text);
    text.push_str(&format!("metric    {}, {better} is better\n", task.metric.name));
    text.push_str(&format!(
        "engine    {engine}, seed {seed}, {}, {}{pruning}\n",
        count(*parallel_trials, "concurrent trial"),
        count(*folds, "fold")
    ));

    if !engine_options.is_empty() {
        text.push_str(&format!("options   {engine_options}\n"));
    }
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
            trial.outcome.as_ref().and_then(TrialOutcome::loss).unwrap_or(f64::INFINITY)
        };
        trials.sort_by(|a, b| {
            a.complete_loss()
                .is_none()
                .cmp(&b.complete_loss().is_none())
                .then(loss(a).total_cmp(&loss(b)))
        });
        trials.truncate(top);
    }

    text.push_str(&grid(&study.header, &trials));
    text
}

fn space_text(study: &StudyRecord) -> String {
    let space = &study.header.space;
    let size =
        space.size().map_or("continuous".to_string(), |size| format!("{size} configurations"));
    format!("{}, {size}", count(space.len(), "parameter"))
}

/// A table with columns as wide as their longest cell.
fn grid(header: &StudyHeader, trials: &[&TrialRecord]) -> String {
    let names = header.space.params().iter().map(|param| param.name.clone());
    let heads = ["trial", "state", &header.task.metric.name, "seconds"]
        .map(str::to_string)
        .into_iter()
        .chain(names);

    let mut rows: Vec<Vec<String>> = vec![heads.collect()];

    for trial in trials {
        let value = metric_value(header, trial).map_or(String::new(), number);
        let mut row = vec![
            trial.id.to_string(),
            state(trial).to_string(),
            value,
            format!("{:.2}", trial.seconds),
        ];
        row.extend((0..header.space.len()).map(|at| brief(&parameter_text(header, trial, at))));
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
    let space = &study.header.space;
    let values = named::json(space, &trial.point);
    if format == "json" {
        return Ok(format!("{}\n", Value::Object(values)));
    }
    let pairs =
        space.params().iter().filter_map(|param| Some((&param.name, values.get(&param.name)?)));

    let fixed = &study.header.task.fixed;
    if format == "flags" {
        let fixed = fixed
            .iter()
            .flat_map(|(name, values)| values.iter().map(move |value| flag(name, &quote(value))));
        let tuned =
            pairs.map(|(name, value)| flag(name, &value.as_str().map_or(value.to_string(), quote)));
        return Ok(format!("{}\n", fixed.chain(tuned).collect::<Vec<_>>().join(" ")));
    }

    let metric = &study.header.task.metric;
    let value = metric_value(&study.header, trial).map_or(String::new(), number);
    let mut text = format!("# trial {}: {} {value}\n", trial.id, metric.name);
    for (name, values) in fixed {
        let value = match values.as_slice() {
            [one] => toml_value(one),
            several => Value::from(several).to_string(),
        };
        text.push_str(&format!("{} = {value}\n", key(name)));
    }
    for (name, value) in pairs {
        // A string in JSON's quotes and escapes is one in TOML too.
        text.push_str(&format!("{} = {value}\n", key(name)));
    }

    Ok(text)
}

/// A flag; a value that begins with a minus is attached to it.
fn flag(name: &str, value: &str) -> String {
    let join = if value.starts_with('-') { '=' } else { ' ' };
    format!("--{}{join}{value}", name.replace('_', "-"))
}

/// A number or a truth value as it is, any other text in quotes.
fn toml_value(text: &str) -> String {
    let is_plain = text == "true"
        || text == "false"
        || text.parse::<i64>().is_ok()
        || (text.contains('.') && text.parse::<f64>().is_ok_and(f64::is_finite));
    if is_plain { text.to_string() } else { Value::from(text).to_string() }
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
    let StudyHeader { space, folds, .. } = &study.header;
    let mut columns: Vec<String> =
        ["trial", "state", "value", "loss", "seconds", "worker", "failure"]
            .map(str::to_string)
            .to_vec();

    columns.extend((0..*folds).map(|at| format!("fold_{at}_loss")));
    columns.extend(space.params().iter().map(|param| param.name.clone()));
    let mut text = row(&columns);

    for trial in &study.trials {
        let known = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let loss = trial.outcome.as_ref().and_then(TrialOutcome::loss);
        let mut cells = vec![
            trial.id.to_string(),
            state(trial).to_string(),
            known(metric_value(&study.header, trial)),
        ];
        cells.extend([
            known(loss),
            trial.seconds.to_string(),
            trial.worker.to_string(),
            reason(trial).to_string(),
        ]);
        cells.extend((0..*folds).map(|at| known(trial.folds.get(at).map(|fold| fold.loss))));
        cells.extend((0..space.len()).map(|at| parameter_text(&study.header, trial, at)));
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
    let header = &study.header;
    let trial = |trial: &TrialRecord| {
        json!({
            "id": trial.id,
            "state": state(trial),
            "value": metric_value(header, trial),
            "fold_losses": trial.folds.iter().map(|fold| fold.loss).collect::<Vec<_>>(),
            "seconds": trial.seconds,
            "worker": trial.worker,
            "failure": Some(reason(trial)).filter(|reason| !reason.is_empty()),
            "parameters": named::json(&header.space, &trial.point),
        })
    };

    json!({
        "task": header.task.text,
        "metric": header.task.metric.name,
        "higher_is_better": header.task.metric.from.is_some(),
        "engine": header.engine,
        "engine_options": engine_options::to_json(&header.engine_options),
        "seed": header.seed,
        "parallel": header.parallel_trials,
        "folds": header.folds,
        "pruning": header.prune,
        "space": space_file::to_json(&header.space),
        "created_by": study.created_by,
        "best_trial": study.best().map(|best| best.id),
        "importance": ranked(&header.space, &study.trials).into_iter().map(|(name, share)| json!({"parameter": name, "importance": share})).collect::<Vec<_>>(),
        "trials": study.trials.iter().map(trial).collect::<Vec<_>>(),
    })
}
