//! The result of a search, as text and as JSON: the ensemble search, particle swarms over ensembles,
//! and searches for one tree.

use serde_json::{Value, json};
use swarmwood::learn::ensemble::{
    CandidateScore, CrossValidatedMetric, EnsembleSearchReport, ExpectedMetrics,
};
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
        trained.swarm.as_ref().map(swarm_text),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The object about the search of a run; null if there was none.
pub(super) fn search_json(trained: &TrainResult) -> Value {
    let ensemble = trained.search.as_ref().map(ensemble_json);
    let swarm = trained.swarm.as_ref().map(swarm_json);
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
        (false, ..) => "no search candidate was found to be better".to_string(),
    };

    let gain = if report.finished { gain } else { format!("{gain}; selection was cut short") };

    let trees_grown = count(report.work as usize, "tree");
    let selected =
        format!("selected: {} ({size}): {gain}; {trees_grown} grown in total\n", report.chosen);
    selected + &expected_text(&report.expected)
}

/// What to expect on new rows, beside greedy boosting and the best constant.
fn expected_text(expected: &ExpectedMetrics) -> String {
    let line = |at: usize, metric: &CrossValidatedMetric| {
        let error = metric.standard_error.map(|error| format!(" ± {}", number(error)));
        let of = |metrics: &[CrossValidatedMetric]| metrics.get(at).map(|one| number(one.mean));
        let others = [("greedy", of(&expected.greedy)), ("constant", of(&expected.constant))];
        let others: Vec<String> = others
            .into_iter()
            .filter_map(|(name, mean)| Some(format!("{name}: {}", mean?)))
            .collect();
        format!(
            "expected on new rows: {} {}{} ({}; {})\n",
            metric.name,
            number(metric.mean),
            error.unwrap_or_default(),
            count(expected.folds, "fold"),
            others.join(", "),
        )
    };
    expected.chosen.iter().enumerate().map(|(at, metric)| line(at, metric)).collect()
}

fn expected_json(expected: &ExpectedMetrics) -> Value {
    let metrics = |metrics: &[CrossValidatedMetric]| {
        let one = |metric: &CrossValidatedMetric| {
            let figures = json!({"mean": metric.mean, "standard_error": metric.standard_error});
            (metric.name.to_string(), figures)
        };
        Value::Object(metrics.iter().map(one).collect())
    };
    json!({
        "folds": expected.folds,
        "selected": metrics(&expected.chosen),
        "greedy": metrics(&expected.greedy),
        "constant": metrics(&expected.constant),
    })
}

fn ensemble_json(report: &EnsembleSearchReport) -> Value {
    let candidate = |one: &CandidateScore| {
        json!({
            "name": one.name,
            "cv_loss": one.score,
            "standard_error": one.deviation,
            "folds": one.folds,
        })
    };
    let progress = &report.progress;
    json!({
        "selected": report.chosen,
        "selected_by_search": report.searched,
        "selection_finished": report.finished,
        "trees": report.shape.trees,
        "max_leaves": report.shape.max_leaves,
        "candidates": report.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "candidates_planned": report.planned,
        "fit_progress": {
            "unit": progress.steps,
            "completed": progress.done,
            "planned": progress.planned,
        },
        "gain_over_greedy": report.gain,
        "expected": expected_json(&report.expected),
        "unexplained_variance": report.noise,
        "calibration_factor": report.factor,
        "train_loss": {"greedy": report.greedy_loss, "selected": report.loss},
        "trees_grown": report.work,
    })
}

/// The best particle, and the size of the search space: tables 11 and 12 of the paper.
fn swarm_text(swarm: &SwarmReport) -> String {
    let SwarmReport { metric, space, .. } = swarm;
    let mut text = format!(
        "best {metric} {} after {}, {}, {}\n",
        number(swarm.best),
        count(swarm.iterations, "iteration"),
        count(swarm.evaluations as usize, "evaluation"),
        count(swarm.cache_hits as usize, "cache hit"),
    );

    text.push_str(&format!(
        "search space: n = {} rules, n!/(n - r)! is {} for r = {} (all drawn rules) and {} for \
         r = {} (one level less per tree)\n",
        space.rules,
        space.size_text(space.all_levels),
        space.all_levels,
        space.size_text(space.one_level_less),
        space.one_level_less
    ));

    if space.table_rules < space.rules {
        text.push_str(&format!(
            "the rule table has {} rules: features with more values are binned\n",
            space.table_rules
        ));
    }

    text
}

fn swarm_json(swarm: &SwarmReport) -> Value {
    let space = &swarm.space;
    let size = |r: u64| json!({"r": r, "log10": space.log10(r), "size": space.size_text(r)});

    json!({
        "metric": swarm.metric,
        "best": swarm.best,
        "iterations": swarm.iterations,
        "evaluations": swarm.evaluations,
        "cache_hits": swarm.cache_hits,
        "space": {
            "n": space.rules,
            "table_rules": space.table_rules,
            "all_levels": size(space.all_levels),
            "one_level_less": size(space.one_level_less),
        },
    })
}

/// One tree: its size and loss, and the candidates it was selected from.
fn tree_text(tree: &TreeReport) -> String {
    let leaves = count(tree.leaves, "leaf");
    let mut text =
        format!("{leaves}, depth {}, {} {}", tree.depth, tree.criterion, number(tree.loss));
    let greedy = tree.greedy_loss.map(|loss| format!(" (greedy tree: {})", number(loss)));

    if let Some(swarm) = &tree.swarm {
        text.push_str(&greedy.unwrap_or_default());
        text.push('\n');
        text.push_str(&tree_swarm_text(swarm));
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

    for candidate in tree.candidates.iter().take(LISTED_CANDIDATES) {
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
        "criterion": tree.criterion,
        "loss": tree.loss,
        "greedy_loss": tree.greedy_loss,
        "descents": tree.descents,
        "sweeps": tree.sweeps,
        "selected_by_search": tree.searched,
        "candidates": tree.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "swarm": tree.swarm.as_ref().map(tree_swarm_json),
    })
}

/// A particle swarm over one tree.
fn tree_swarm_text(swarm: &TreeSwarmReport) -> String {
    let iterations = count(swarm.iterations, "iteration");
    let evaluations = count(swarm.evaluations as usize, "evaluation");
    let mut text =
        format!("best {} {} after {iterations}, {evaluations}", swarm.metric, number(swarm.best));

    match swarm.grid {
        None => text.push_str(&format!(", {} choices per node\n", swarm.choices)),
        Some(grid) => {
            let thresholds = count(grid.thresholds, "threshold");
            let (features, cells) = (count(grid.features, "feature"), number(grid.cells));
            text.push_str(&format!(
                "\ngrid: {thresholds} on {features}, {cells} cells, {} with rows; simplified: {}, \
                 {}\n",
                grid.occupied,
                count(grid.kept, "threshold"),
                count(grid.boxes, "rule"),
            ));
        }
    }

    text
}

fn tree_swarm_json(swarm: &TreeSwarmReport) -> Value {
    // The number of cells has no bound; as long as it is exact, it is written as a whole number.
    let cells = |cells: f64| if cells < 2e15 { json!(cells as u64) } else { json!(cells) };
    let grid = |grid: &GridReport| {
        json!({
            "features": grid.features,
            "thresholds": grid.thresholds,
            "cells": cells(grid.cells),
            "occupied_cells": grid.occupied,
            "kept_thresholds": grid.kept,
            "merged_cells": grid.boxes,
            "searched_grids": grid.searched,
        })
    };

    json!({
        "metric": swarm.metric,
        "best": swarm.best,
        "iterations": swarm.iterations,
        "evaluations": swarm.evaluations,
        "cache_hits": swarm.cache_hits,
        "choices_per_node": swarm.choices,
        "grid": swarm.grid.as_ref().map(grid),
    })
}
