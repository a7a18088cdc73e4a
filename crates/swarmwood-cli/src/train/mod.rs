//! `swarmwood train`: read, train, store, report.

use std::time::Instant;

use clap::ArgMatches;
use serde_json::{Map, Value, json};
use swarmwood::learn::event::{Event, Flow};
use swarmwood::learn::swarm;
use swarmwood::learn::tree_search::Arm;
use swarmwood::model::{Kind, Schema, TargetKind};
use swarmwood::params::{Allowed, Params, TABLE};
use swarmwood::read::{self, Rows, Source};
use swarmwood::train::{Aids, FlightReport, GridReport, Trained, TreeFlight, TreeReport};
use swarmwood::{Result, store, train};

use crate::args::talk_of;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::record::Record;
use crate::talk::{self, Talk, count, metrics_json, short};

/// What a training has to tell.
struct Report {
    trained: Trained,
    rows: usize,
    valid_rows: usize,
    read_seconds: f64,
    warnings: Vec<String>,
    notes: Vec<String>,
}

/// Runs the command.
pub fn run(args: &ArgMatches, interrupt: &Interrupt) -> Result<()> {
    let plan = Plan::new(args)?;
    let talk = talk_of(args);
    let keep = plan.aids.keep.as_ref().map(|keep| &keep.path);
    for path in
        [plan.out.as_ref(), plan.trace.as_ref(), plan.plot.as_ref(), keep].into_iter().flatten()
    {
        // A wrong path should cost no training.
        store::probe(path)?;
    }
    let report = work(&plan, talk, interrupt)?;
    match &plan.out {
        Some(path) => store::save(&report.trained.model, path)?,
        None => talk::result(&store::to_text(&report.trained.model)?)?,
    }
    if args.get_flag("json") {
        talk::json(&report.json(&plan))
    } else if plan.out.is_some() {
        talk::result(&report.text(&plan))
    } else {
        talk.note(&report.text(&plan));
        Ok(())
    }
}

/// Reads and trains.
fn work(plan: &Plan, talk: Talk, interrupt: &Interrupt) -> Result<Report> {
    let started = Instant::now();
    let mut rows = read::training(&plan.source, &plan.options)?;
    let mut valid = match &plan.valid {
        Some(source) => Some(read::matching(source, &rows.schema, &plan.options)?),
        None => None,
    };
    if plan.params.valid_fraction > 0.0 {
        let (kept, held) = rows.holdout(plan.params.valid_fraction, plan.params.seed)?;
        (rows, valid) = (kept, Some(held));
    }
    let read_seconds = started.elapsed().as_secs_f64();
    talk.note(&summary(&plan.source, &rows, valid.as_ref()));

    let mut warnings = plan.params.idle();
    warnings.extend(rows.warnings.iter().cloned());
    warnings.extend(valid.iter().flat_map(|valid| &valid.warnings).cloned());
    talk.warn(&warnings);

    interrupt.arm();
    let mut progress = Progress::new(talk);
    let mut record = Record::default();
    let mut watch = |event: &Event| {
        progress.show(event);
        record.push(event);
        if interrupt.raised() { Flow::Stop } else { Flow::Continue }
    };
    let aids = Aids { halt: Some(interrupt.halt()), ..plan.aids.clone() };
    let mut trained = train::train_with(&rows, valid.as_ref(), &plan.params, &aids, &mut watch)?;
    progress.finish();
    if let Some(path) = &plan.trace {
        record.write_trace(path)?;
    }
    if let Some(path) = &plan.plot {
        record.write_plot(path, &title(plan, &trained))?;
    }

    let (late, mut notes) =
        (std::mem::take(&mut trained.warnings), std::mem::take(&mut trained.notes));
    if interrupt.raised() {
        let done = match &trained.flight {
            Some(flight) => count(flight.iterations, "iteration"),
            None => count(trained.rounds, "round"),
        };
        notes.push(format!("interrupted: the model has the best of what was done, {done}"));
    }
    talk.warn(&late);
    talk.tell(&notes);
    warnings.extend(late);
    let valid_rows = valid.map_or(0, |valid| valid.rows);
    Ok(Report { trained, rows: rows.rows, valid_rows, read_seconds, warnings, notes })
}

/// The headline of the picture.
fn title(plan: &Plan, trained: &Trained) -> String {
    let source = source_name(&plan.source);
    let name = source.rsplit(['/', '\\']).next().unwrap_or(&source);
    let start = format!("{} on {name}", trained.params.method.name());
    match &trained.flight {
        Some(flight) => {
            let (measure, best) = (flight.measure, short(flight.best));
            format!("{start}: {measure} {best} after {}", count(flight.iterations, "iteration"))
        }
        None => format!("{start}: {}", count(trained.rounds, "round")),
    }
}

/// One line about the data.
fn summary(source: &Source, rows: &Rows, valid: Option<&Rows>) -> String {
    let categories =
        rows.schema.features.iter().filter(|f| matches!(f.kind, Kind::Category { .. })).count();
    let (row_count, features) =
        (count(rows.rows, "row"), count(rows.schema.features.len(), "feature"));
    let mut text = format!("{}: {row_count}, {features}", source_name(source));
    if categories > 0 {
        text.push_str(&format!(" ({categories} of categories)"));
    }
    if let Some(valid) = valid {
        text.push_str(&format!(", {}", count(valid.rows, "validation row")));
    }
    format!("{text}, target {}: {}", rows.schema.target.name, task(&rows.schema))
}

fn source_name(source: &Source) -> String {
    match source {
        Source::File(path) => path.display().to_string(),
        Source::Stdin => "standard input".to_string(),
        Source::Bytes(name, _) => name.clone(),
    }
}

/// The task for people.
fn task(schema: &Schema) -> String {
    match &schema.target.kind {
        TargetKind::Number => "regression".to_string(),
        TargetKind::Classes(classes) => match &classes[..] {
            [_, positive] => format!("classification (2 classes, '{positive}' is positive)"),
            classes => format!("classification ({} classes)", classes.len()),
        },
    }
}

impl Report {
    fn text(&self, plan: &Plan) -> String {
        let trained = &self.trained;
        let (train, bin) = (trained.train_seconds, trained.bin_seconds);
        let rounds = count(trained.rounds, "round");
        let mut text = format!("{rounds} in {train:.3} s, after {bin:.3} s of binning\n");
        if let Some(search) = &trained.search {
            text.push_str(&chosen(search));
        }
        text.push_str(&trained.tree.as_ref().map_or(String::new(), tree_text));
        text.push_str(&trained.flight.as_ref().map_or(String::new(), flight_text));
        let has_valid = !trained.valid_metrics.is_empty();
        text.push_str(&format!("{:<20} {:>12}", "", "train"));
        text.push_str(if has_valid { "        valid\n" } else { "\n" });
        for (name, value) in &trained.train_metrics {
            text.push_str(&format!("{name:<20} {:>12}", short(*value)));
            // A metric that the validation rows do not define has an empty place.
            if let Some((_, value)) = trained.valid_metrics.iter().find(|(other, _)| other == name)
            {
                text.push_str(&format!(" {:>12}", short(*value)));
            }
            text.push('\n');
        }
        if let Some(path) = &plan.out {
            text.push_str(&format!("model written to {}\n", path.display()));
        }
        text
    }

    fn json(&self, plan: &Plan) -> Value {
        let trained = &self.trained;
        let schema = &trained.model.schema;
        let (task, classes) = match &schema.target.kind {
            TargetKind::Number => ("regression", Value::Null),
            TargetKind::Classes(classes) => ("classification", json!(classes)),
        };
        let valid =
            if self.valid_rows > 0 { metrics_json(&trained.valid_metrics) } else { Value::Null };
        let search =
            trained.search.as_ref().map(search_json).or(trained.flight.as_ref().map(flight_json));
        let search = search.or(trained.tree.as_ref().map(tree_json));
        json!({
            "method": trained.params.method.name(),
            "parameters": parameters(&trained.params),
            "objective": trained.model.objective,
            "task": task,
            "target": schema.target.name,
            "classes": classes,
            "rows": self.rows,
            "valid_rows": self.valid_rows,
            "features": schema.features.len(),
            "rounds": trained.rounds,
            "search": search,
            "seconds": {"read": self.read_seconds, "bin": trained.bin_seconds, "train": trained.train_seconds},
            "peak_memory_bytes": memory::peak_bytes(),
            "metrics": {"train": metrics_json(&trained.train_metrics), "valid": valid},
            "warnings": self.warnings,
            "notes": self.notes,
            "model": plan.out.as_ref().map(|path| path.display().to_string()),
        })
    }
}

/// How a swarm flew, and how large its space is: tables 11 and 12 of the paper.
fn flight_text(flight: &FlightReport) -> String {
    let FlightReport { measure, space, .. } = flight;
    let mut text = format!(
        "best {measure} {} after {}, {}, {} known already\n",
        short(flight.best),
        count(flight.iterations, "iteration"),
        count(flight.evaluations as usize, "evaluation"),
        count(flight.repeats as usize, "position"),
    );
    text.push_str(&format!("search space: n = {} rules, n!/(n - r)! is ", space.rules));
    text.push_str(&format!(
        "{} for r = {} (all rules drawn) and ",
        space.of(space.drawn),
        space.drawn
    ));
    text.push_str(&format!(
        "{} for r = {} (one level less a tree)\n",
        space.of(space.counted),
        space.counted
    ));
    if space.table < space.rules {
        text.push_str(&format!(
            "the table has {} rules: a feature with more values is cut into bins\n",
            space.table
        ));
    }
    text
}

fn flight_json(flight: &FlightReport) -> Value {
    let space = &flight.space;
    let size = |r: u64| json!({"r": r, "log10": space.log10(r), "size": space.of(r)});
    json!({
        "measure": flight.measure,
        "best": flight.best,
        "iterations": flight.iterations,
        "evaluations": flight.evaluations,
        "repeats": flight.repeats,
        "space": {
            "n": space.rules,
            "table": space.table,
            "drawn": size(space.drawn),
            "counted": size(space.counted),
        },
    })
}

/// Compared ways that people are told of.
const SHOWN_ARMS: usize = 4;

/// How a single tree was found.
fn tree_text(tree: &TreeReport) -> String {
    let leaves = count(tree.leaves, "leaf").replace("leafs", "leaves");
    let mut text = format!("{leaves}, depth {}, {} {}", tree.depth, tree.measure, short(tree.loss));
    if let Some(flight) = &tree.flight {
        text.push_str(
            &tree
                .start
                .map_or(String::new(), |start| format!(" (the greedy tree had {})", short(start))),
        );
        text.push('\n');
        text.push_str(&tree_flight_text(flight));
        return text;
    }
    if let Some(start) = tree.start {
        let (descents, sweeps) =
            (count(tree.descents, "descent"), count(tree.sweeps as usize, "sweep"));
        text.push_str(&match tree.searched {
            true => format!(" (the greedy tree had {}) after {descents}, {sweeps}", short(start)),
            false => ": the greedy tree, for no searched one was better on unseen rows".to_string(),
        });
    }
    text.push('\n');
    for arm in tree.arms.iter().take(SHOWN_ARMS) {
        let (kind, limit) = (if arm.searched { "searched" } else { "greedy" }, arm.leaves);
        let size = if limit == 0 {
            String::new()
        } else {
            format!(", {}", count(limit, "leaf").replace("leafs", "leaves"))
        };
        let (error, deviation) = (short(arm.error), short(arm.deviation));
        text.push_str(&format!("  on unseen rows: {kind}{size}: error {error} ± {deviation}\n"));
    }
    text
}

/// How a particle swarm over one tree flew.
fn tree_flight_text(flight: &TreeFlight) -> String {
    let (iterations, evaluations) =
        (count(flight.iterations, "iteration"), count(flight.evaluations as usize, "evaluation"));
    let mut text =
        format!("best {} {} after {iterations}, {evaluations}", flight.measure, short(flight.best));
    match flight.grid {
        None => text.push_str(&format!(", {} to choose from at a place\n", flight.choices)),
        Some(grid) => {
            let thresholds = count(grid.thresholds, "threshold");
            let (features, cells) = (count(grid.features, "feature"), count(grid.cells, "cell"));
            text.push_str(&format!(
                "\ngrid: {thresholds} on {features}, {cells}, {} with rows\n",
                grid.occupied
            ));
        }
    }
    text
}

fn tree_flight_json(flight: &TreeFlight) -> Value {
    let grid = |grid: &GridReport| {
        json!({
            "features": grid.features,
            "thresholds": grid.thresholds,
            "cells": grid.cells,
            "occupied": grid.occupied,
            "searched": grid.searched,
        })
    };
    json!({
        "measure": flight.measure,
        "best": flight.best,
        "iterations": flight.iterations,
        "evaluations": flight.evaluations,
        "repeats": flight.repeats,
        "choices": flight.choices,
        "grid": flight.grid.as_ref().map(grid),
    })
}

fn tree_json(tree: &TreeReport) -> Value {
    let arm = |arm: &Arm| {
        let Arm { leaves, searched, error, deviation } = *arm;
        json!({"leaves": leaves, "searched": searched, "error": error, "standard_error": deviation})
    };
    json!({
        "leaves": tree.leaves,
        "depth": tree.depth,
        "measure": tree.measure,
        "loss": tree.loss,
        "greedy_loss": tree.start,
        "descents": tree.descents,
        "sweeps": tree.sweeps,
        "searched": tree.searched,
        "compared": tree.arms.iter().map(arm).collect::<Vec<_>>(),
        "flight": tree.flight.as_ref().map(tree_flight_json),
    })
}

/// What a search chose, for people.
fn chosen(report: &swarm::Report) -> String {
    let frame = &report.frame;
    let size =
        format!("{} of at most {}", count(frame.trees, "tree"), count(frame.max_leaves, "leaf"));
    let size = size.replace("leafs", "leaves");
    let saved = 100.0 * (1.0 - report.loss / report.greedy_loss);
    let gain = match (report.searched, report.gain.is_finite()) {
        (true, true) => format!(
            "{:.1} % lower loss than the best greedy fit on unseen rows",
            100.0 * report.gain
        ),
        (true, false) => {
            format!("{saved:.1} % lower loss than the best greedy fit on the training rows")
        }
        (false, _) if report.finished => "no search arm was better on unseen rows".to_string(),
        (false, _) => "no search arm was known to be better".to_string(),
    };
    let gain = if report.finished { gain } else { format!("{gain}; the choice was not finished") };
    let work = count(report.work, "tree");
    format!("chosen: {} ({size}): {gain}; {work} grown in all\n", report.chosen)
}

fn search_json(report: &swarm::Report) -> Value {
    let compared = report.compared.iter().map(|one| json!({"name": one.name, "score": one.score}));
    json!({
        "chosen": report.chosen,
        "searched": report.searched,
        "choice_finished": report.finished,
        "trees": report.frame.trees,
        "max_leaves": report.frame.max_leaves,
        "compared": compared.collect::<Vec<_>>(),
        "gain_over_greedy": report.gain,
        "noise": report.noise,
        "calibration": report.factor,
        "loss": {"greedy": report.greedy_loss, "chosen": report.loss},
        "trees_grown": report.work,
    })
}

/// Every parameter with its type.
pub fn parameters(params: &Params) -> Value {
    let pairs = TABLE.iter().map(|spec| {
        let text = spec.show(params);
        let value = match spec.allowed {
            Allowed::Choices(_) | Allowed::Matrix => Value::String(text),
            Allowed::Switch => Value::Bool(text == "true"),
            Allowed::Whole { .. } => text.parse::<u64>().map_or(Value::String(text), Value::from),
            Allowed::Number { .. } => text.parse::<f64>().map_or(Value::String(text), Value::from),
        };
        (spec.name.to_string(), value)
    });
    Value::Object(pairs.collect::<Map<_, _>>())
}
