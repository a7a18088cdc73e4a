//! What parameters ask of each other, by family of learners.

use super::table::{Booster, FitnessChoice, Growth, Params};
use super::violation;
use crate::error::Violation;
use crate::message::Message;

/// Levels of a tree that is a sequence of rules.
const MAX_SEQUENCE_DEPTH: usize = 8;

/// Trees of an ensemble that is searched: every row is stored with its leaf in each.
const MAX_SEARCHED_TREES: usize = 10_000;

/// Leaves of a tree that is searched.
const MAX_SEARCHED_LEAVES: usize = 1 << 16;

/// Rules of all trees of one output: longer positions are beyond what a swarm can search.
const MAX_SEQUENCE_LENGTH: usize = 1 << 16;

/// Bins for learners that cannot tell all values apart.
pub(super) fn check_bins(params: &Params, violations: &mut Vec<Violation>) {
    let (max_bin, method) = (params.max_bin, params.method.name());
    if max_bin < 2 {
        let message =
            format!("is {max_bin}, must be from 2 to 255 with method {method}; 0 is for greedy");
        violations.push(violation("max_bin", message));
    }
}

/// Costs say nothing without a limit.
fn check_feature_budget(params: &Params, violations: &mut Vec<Violation>) {
    if !params.feature_cost.is_empty() && params.max_feature_cost == 0.0 {
        let message =
            Message::from("needs a limit of the total cost; add ").setting("max_feature_cost", 100);
        violations.push(violation("feature_cost", message));
    }
}

/// Trees must have room for the splits that they begin with.
fn check_first_split(params: &Params, most_leaves: usize, violations: &mut Vec<Violation>) {
    let (leaves, depth) = (params.first_split.leaves(), params.first_split.depth());
    if params.first_split.is_none() {
        return;
    }
    if params.growth == Growth::Oblivious && params.method.spec().uses("growth") {
        let message = "cannot be used with growth oblivious, whose levels have one split each";
        violations.push(violation("first_split", message));
    }
    if most_leaves > 0 && leaves > most_leaves {
        let message = format!("makes {leaves} leaves, but a tree has at most {most_leaves}");
        violations.push(violation("first_split", message));
    }
    if params.depth > 0 && depth > params.depth {
        let most = params.depth;
        let message = format!("has {depth} splits on a path, but the depth is at most {most}");
        violations.push(violation("first_split", message));
    }
}

/// Greedy boosting.
pub(super) fn check_boosting(params: &Params, violations: &mut Vec<Violation>) {
    if params.booster == Booster::Gblinear {
        return;
    }
    check_feature_budget(params, violations);
    check_first_split(params, params.leaf_limit(), violations);

    let Params { depth, growth, .. } = *params;
    if depth == 0 && growth != Growth::Leaf {
        let growth = growth.name();
        let message = format!("is 0 (no limit), must be at least 1 with growth {growth}");
        violations.push(violation("depth", message));
    }
    if depth > 16 && depth <= 32 && growth == Growth::Oblivious {
        let message = format!("is {depth}, must be at most 16 with growth oblivious");
        violations.push(violation("depth", message));
    }
    if params.max_bin == 1 {
        let message = "is 1, must be 0 (a threshold between any two values) or from 2 to 255";
        violations.push(violation("max_bin", message));
    }
    if params.max_leaves == 1 {
        let message = "is 1, must be 0 (the default of the growth) or at least 2";
        violations.push(violation("max_leaves", message));
    }
}

/// The search over ensembles: a leaf number has two bytes, and there are leaves enough for at
/// least one tree.
pub(super) fn check_ensemble_search(params: &Params, violations: &mut Vec<Violation>) {
    check_bins(params, violations);
    check_feature_budget(params, violations);
    check_first_split(params, params.max_leaves.max(params.total_leaves), violations);
    let method = params.method.name();
    let Params { max_leaves, trees, depth, growth, total_leaves, .. } = *params;

    if max_leaves == 1 || max_leaves > MAX_SEARCHED_LEAVES {
        let message = format!(
            "is {max_leaves}, must be 0 or from 2 to {MAX_SEARCHED_LEAVES} with method {method}"
        );
        violations.push(violation("max_leaves", message));
    }
    if trees > MAX_SEARCHED_TREES {
        let message = format!(
            "is {trees}, must be at most {MAX_SEARCHED_TREES} with method {method}; greedy has no \
             such limit"
        );
        violations.push(violation("trees", message));
    }
    if depth > 16 && matches!(growth, Growth::Depth | Growth::Oblivious) {
        let growth = growth.name();
        let message = format!("is {depth}, must be at most 16 with growth {growth}");
        violations.push(violation("depth", message));
    }
    if total_leaves > 0 && (trees > 0 || max_leaves > 0) {
        let message = format!(
            "is {total_leaves}, but the size is also given by trees and max_leaves; give only one of \
             the two"
        );
        violations.push(violation("total_leaves", message));
    }
    if (1..4).contains(&total_leaves) {
        let message = format!("is {total_leaves}, must be 0 or at least 4");
        violations.push(violation("total_leaves", message));
    }
}

/// A sum of trees whose leaf values are fitted together.
pub(super) fn check_tree_sum(params: &Params, violations: &mut Vec<Violation>) {
    check_bins(params, violations);
    check_feature_budget(params, violations);

    let (objective, method) = (params.objective.name(), params.method.name());
    if !["auto", "squared", "logistic", "softmax"].contains(&objective) {
        let message = format!(
            "is {objective}, must be auto, squared, logistic or softmax with method {method}"
        );
        violations.push(violation("objective", message));
    }
}

/// One tree.
pub(super) fn check_single_tree(params: &Params, violations: &mut Vec<Violation>) {
    check_first_split(params, params.max_leaves, violations);
    check_feature_budget(params, violations);
    let max_leaves = params.max_leaves;
    if max_leaves == 1 || max_leaves > MAX_SEARCHED_LEAVES {
        let message = format!("is {max_leaves}, must be 0 or from 2 to {MAX_SEARCHED_LEAVES}");
        violations.push(violation("max_leaves", message));
    }
    if params.thresholds == 1 {
        violations.push(violation("thresholds", "is 1, must be 0 (all) or at least 2"));
    }
}

/// Particle swarms over one tree; `full` if every place of the tree is a dimension.
pub(super) fn check_tree_swarm(params: &Params, full: bool, violations: &mut Vec<Violation>) {
    check_single_tree(params, violations);

    if full {
        check_sequence_depth(params, violations);
    }
    if matches!(params.fitness, FitnessChoice::Rmse | FitnessChoice::Loss) {
        let (fitness, method) = (params.fitness.name(), params.method.name());
        let message =
            format!("is {fitness}, must be auto, accuracy or recall with method {method}");
        violations.push(violation("fitness", message));
    }
}

/// Trees as sequences of rules, a leaf number in a byte.
pub(super) fn check_rule_sequences(params: &Params, violations: &mut Vec<Violation>) {
    check_bins(params, violations);
    let method = params.method.name();
    let Params { growth, depth, trees, .. } = *params;

    if params.fitness == FitnessChoice::Recall {
        let message =
            format!("is recall, must be auto, accuracy, rmse or loss with method {method}");
        violations.push(violation("fitness", message));
    }
    if growth == Growth::Leaf {
        let growth = growth.name();
        let message = format!("is {growth}, must be oblivious or depth with method {method}");
        violations.push(violation("growth", message));
    }
    if !check_sequence_depth(params, violations) {
        return;
    }

    let rules_per_tree = if growth == Growth::Depth { (1 << depth) - 1 } else { depth };
    if trees.saturating_mul(rules_per_tree) > MAX_SEQUENCE_LENGTH {
        let most = MAX_SEQUENCE_LENGTH / rules_per_tree;
        let message = Message::from(format!("is {trees}, must be at most {most} with "))
            .parameter("depth")
            .text(format!(" {depth}"));
        violations.push(violation("trees", message));
    }
}

/// Whether a tree of that depth can be a sequence of rules.
fn check_sequence_depth(params: &Params, violations: &mut Vec<Violation>) -> bool {
    let (depth, method) = (params.depth, params.method.name());
    let fits = (1..=MAX_SEQUENCE_DEPTH).contains(&depth);
    if !fits {
        let message =
            format!("is {depth}, must be from 1 to {MAX_SEQUENCE_DEPTH} with method {method}");
        violations.push(violation("depth", message));
    }
    fits
}
