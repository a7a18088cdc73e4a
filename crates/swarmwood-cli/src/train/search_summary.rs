//! What a search found, as text and as JSON: the ensemble search, particle swarms over ensembles,
//! and searches for one tree.

use serde_json::{Value, json};
use swarmwood::learn::ensemble::{CandidateScore, EnsembleSearchReport};
use swarmwood::learn::tree_search::TreeCandidateScore;
use swarmwood::train::{GridReport, SwarmReport, TrainResult, TreeReport, TreeSwarmReport};

use crate::format::{count, number};

/// Cross-validated candidates that the text lists.
const LISTED_CANDIDATES: usize = 4;

/// The text about every search of a run; empty if there was none.
pub(super) fn search_text(trained: &TrainResult) -> String {
    [
        trained.search.as_ref().map(ensemble_text),
        trained.tree.as_ref().map(tree_text),
        trained.flight.as_ref().map(swarm_text),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The object about the search of a run; null if there was none.
pub(super) fn search_json(trained: &TrainResult) -> Value {
    let ensemble = trained.search.as_ref().map(ensemble_json);
    let swarm = trained.flight.as_ref().map(swarm_json);
    let tree = trained.tree.as_ref().map(tree_json);
    ensemble.or(swarm).or(tree).unwrap_or(Value::Null)
}

/// The selected candidate of the ensemble search.
fn ensemble_text(report: &EnsembleSearchReport) -> String {
    let shape = &report.shape;
    let size =
        format!("{} of at most {}", count(shape.trees, "tree"), count(shape.max_leaves, "leaf"));

    // A gain is stated only where the greedy fit that it refers to was made.
    let lower_train_loss = report.greedy_loss.map(|greedy| 1.0 - report.loss / greedy);
    let gain = match (report.searched, report.gain, lower_train_loss) {
        (true, Some(gain), _) => {
            format!(
                "{:.1} % lower cross-validated loss than the best greedy candidate",
                100.0 * gain
            )
        }
        (true, None, Some(gain)) => {
            format!("{:.1} % lower training loss than the best greedy fit", 100.0 * gain)
        }
        (true, None, None) => "not compared with greedy boosting".to_string(),
        (false, ..) if report.finished => {
            "no search candidate had a lower cross-validated loss".to_string()
        }
        (false, ..) => "no search candidate is known to be better".to_string(),
    };

    let gain = if report.finished { gain } else { format!("{gain}; selection was cut short") };

    let grown = count(report.work as usize, "tree");
    format!("selected: {} ({size}): {gain}; {grown} grown in total\n", report.chosen)
}

fn ensemble_json(report: &EnsembleSearchReport) -> Value {
    let candidate = |one: &CandidateScore| json!({"name": one.name, "cv_loss": one.score});
    let progress = &report.progress;
    json!({
        "selected": report.chosen,
        "selected_by_search": report.searched,
        "selection_finished": report.finished,
        "trees": report.shape.trees,
        "max_leaves": report.shape.max_leaves,
        "candidates": report.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "candidates_planned": report.planned,
        "fit": {"steps": progress.steps, "done": progress.done, "planned": progress.planned},
        "gain_over_greedy": report.gain,
        "noise": report.noise,
        "calibration_factor": report.factor,
        "train_loss": {"greedy": report.greedy_loss, "selected": report.loss},
        "trees_grown": report.work,
    })
}

/// The best particle, and the size of the search space: tables 11 and 12 of the paper.
fn swarm_text(flight: &SwarmReport) -> String {
    let SwarmReport { measure, space, .. } = flight;
    let mut text = format!(
        "best {measure} {} after {}, {}, {}\n",
        number(flight.best),
        count(flight.iterations, "iteration"),
        count(flight.evaluations as usize, "evaluation"),
        count(flight.repeats as usize, "cache hit"),
    );

    text.push_str(&format!(
        "search space: n = {} rules, n!/(n - r)! is {} for r = {} (all drawn rules) and {} for \
         r = {} (one level less per tree)\n",
        space.rules,
        space.of(space.drawn),
        space.drawn,
        space.of(space.counted),
        space.counted
    ));

    if space.table < space.rules {
        text.push_str(&format!(
            "the rule table has {} rules: features with more values are binned\n",
            space.table
        ));
    }

    text
}

fn swarm_json(flight: &SwarmReport) -> Value {
    let space = &flight.space;
    let size = |r: u64| json!({"r": r, "log10": space.log10(r), "size": space.of(r)});

    json!({
        "metric": flight.measure,
        "best": flight.best,
        "iterations": flight.iterations,
        "evaluations": flight.evaluations,
        "cache_hits": flight.repeats,
        "space": {
            "n": space.rules,
            "table_rules": space.table,
            "drawn": size(space.drawn),
            "counted": size(space.counted),
        },
    })
}

/// One tree: its size and loss, and the candidates it was selected from.
fn tree_text(tree: &TreeReport) -> String {
    let leaves = count(tree.leaves, "leaf");
    let mut text =
        format!("{leaves}, depth {}, {} {}", tree.depth, tree.measure, number(tree.loss));
    let greedy = tree.start.map(|start| format!(" (greedy tree: {})", number(start)));

    if let Some(flight) = &tree.flight {
        text.push_str(&greedy.unwrap_or_default());
        text.push('\n');
        text.push_str(&tree_swarm_text(flight));
        return text;
    }

    if let Some(greedy) = greedy {
        let descents = count(tree.descents, "descent");
        let sweeps = count(tree.sweeps as usize, "sweep");
        text.push_str(&match tree.searched {
            true => format!("{greedy} after {descents}, {sweeps}"),
            false => ": the greedy tree; no searched tree had a lower cross-validated error".into(),
        });
    }

    text.push('\n');

    for candidate in tree.arms.iter().take(LISTED_CANDIDATES) {
        let kind = candidate_kind(candidate);
        let size = match candidate.leaves {
            0 => String::new(),
            leaves => format!(", at most {}", count(leaves, "leaf")),
        };
        let (error, deviation) = (number(candidate.error), number(candidate.deviation));
        text.push_str(&format!("  {kind}{size}: cross-validated error {error} ± {deviation}\n"));
    }

    text
}

fn candidate_kind(candidate: &TreeCandidateScore) -> &'static str {
    if candidate.searched { "search" } else { "greedy" }
}

fn tree_json(tree: &TreeReport) -> Value {
    let candidate = |candidate: &TreeCandidateScore| {
        json!({
            "kind": candidate_kind(candidate),
            "max_leaves": candidate.leaves,
            "cv_error": candidate.error,
            "standard_error": candidate.deviation,
        })
    };

    json!({
        "leaves": tree.leaves,
        "depth": tree.depth,
        "criterion": tree.measure,
        "loss": tree.loss,
        "greedy_loss": tree.start,
        "descents": tree.descents,
        "sweeps": tree.sweeps,
        "selected_by_search": tree.searched,
        "candidates": tree.arms.iter().map(candidate).collect::<Vec<_>>(),
        "swarm": tree.flight.as_ref().map(tree_swarm_json),
    })
}

/// A particle swarm over one tree.
fn tree_swarm_text(flight: &TreeSwarmReport) -> String {
    let iterations = count(flight.iterations, "iteration");
    let evaluations = count(flight.evaluations as usize, "evaluation");
    let mut text = format!(
        "best {} {} after {iterations}, {evaluations}",
        flight.measure,
        number(flight.best)
    );

    match flight.grid {
        None => text.push_str(&format!(", {} choices per node\n", flight.choices)),
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

fn tree_swarm_json(flight: &TreeSwarmReport) -> Value {
    let grid = |grid: &GridReport| {
        json!({
            "features": grid.features,
            "thresholds": grid.thresholds,
            "cells": grid.cells,
            "occupied_cells": grid.occupied,
            "searched_grids": grid.searched,
        })
    };

    json!({
        "metric": flight.measure,
        "best": flight.best,
        "iterations": flight.iterations,
        "evaluations": flight.evaluations,
        "cache_hits": flight.repeats,
        "choices": flight.choices,
        "grid": flight.grid.as_ref().map(grid),
    })
}
