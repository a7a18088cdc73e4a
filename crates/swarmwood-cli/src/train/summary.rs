//! What a training run reports, as text and as JSON.

use serde_json::{Value, json};
use swarmwood::learn::swarm;
use swarmwood::learn::tree_search::Arm;
use swarmwood::model::TargetKind;
use swarmwood::train::{FlightReport, GridReport, Trained, TreeFlight, TreeReport};

use super::request::TrainRequest;
use crate::format::{count, number};
use crate::json::{metrics_json, parameters_json};
use crate::memory;

/// A finished training run.
pub(super) struct TrainSummary {
    pub trained: Trained,
    pub rows: usize,
    pub valid_rows: usize,
    pub read_seconds: f64,
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
}

impl TrainSummary {
    pub(super) fn text(&self, request: &TrainRequest) -> String {
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
            text.push_str(&format!("{name:<20} {:>12}", number(*value)));
            // A metric that the validation rows do not define has an empty place.
            if let Some((_, value)) = trained.valid_metrics.iter().find(|(other, _)| other == name)
            {
                text.push_str(&format!(" {:>12}", number(*value)));
            }
            text.push('\n');
        }
        if let Some(path) = &request.out {
            text.push_str(&format!("model written to {}\n", path.display()));
        }
        text
    }

    pub(super) fn json(&self, request: &TrainRequest) -> Value {
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
            "parameters": parameters_json(&trained.params),
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
            "model": request.out.as_ref().map(|path| path.display().to_string()),
        })
    }
}

/// How a swarm flew, and how large its space is: tables 11 and 12 of the paper.
fn flight_text(flight: &FlightReport) -> String {
    let FlightReport { measure, space, .. } = flight;
    let mut text = format!(
        "best {measure} {} after {}, {}, {} known already\n",
        number(flight.best),
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
    let leaves = count(tree.leaves, "leaf");
    let mut text =
        format!("{leaves}, depth {}, {} {}", tree.depth, tree.measure, number(tree.loss));
    if let Some(flight) = &tree.flight {
        text.push_str(
            &tree
                .start
                .map_or(String::new(), |start| format!(" (the greedy tree had {})", number(start))),
        );
        text.push('\n');
        text.push_str(&tree_flight_text(flight));
        return text;
    }
    if let Some(start) = tree.start {
        let (descents, sweeps) =
            (count(tree.descents, "descent"), count(tree.sweeps as usize, "sweep"));
        text.push_str(&match tree.searched {
            true => format!(" (the greedy tree had {}) after {descents}, {sweeps}", number(start)),
            false => ": the greedy tree, for no searched one was better on unseen rows".to_string(),
        });
    }
    text.push('\n');
    for arm in tree.arms.iter().take(SHOWN_ARMS) {
        let (kind, limit) = (if arm.searched { "searched" } else { "greedy" }, arm.leaves);
        let size = if limit == 0 { String::new() } else { format!(", {}", count(limit, "leaf")) };
        let (error, deviation) = (number(arm.error), number(arm.deviation));
        text.push_str(&format!("  on unseen rows: {kind}{size}: error {error} ± {deviation}\n"));
    }
    text
}

/// How a particle swarm over one tree flew.
fn tree_flight_text(flight: &TreeFlight) -> String {
    let (iterations, evaluations) =
        (count(flight.iterations, "iteration"), count(flight.evaluations as usize, "evaluation"));
    let mut text = format!(
        "best {} {} after {iterations}, {evaluations}",
        flight.measure,
        number(flight.best)
    );
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
