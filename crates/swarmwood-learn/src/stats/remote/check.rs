//! What a host checks before it works: a message from elsewhere must not bring it down.

use swarmwood_model::Child;

use crate::binned_tree::BinnedTree;
use crate::bins::Layout;
use crate::bins::layout::FeaturePlace;
use crate::rule::BinRule;
use crate::stats::backend::BackendError;

/// Slots of a tree at most: more would only fill memory.
pub(super) const MOST_SLOTS: usize = 1 << 20;

/// Leaves of an assigned tree at most: their numbers have two bytes.
pub(super) const MOST_LEAVES: usize = 1 << 16;

/// Levels of an oblivious tree at most.
const MOST_LEVELS: usize = 24;

/// The error about something that does not exist.
pub(super) fn unknown(work: &'static str, what: &'static str, number: usize) -> BackendError {
    BackendError::Unknown { work, what, number }
}

/// Refuses a rule about a feature that is not stored.
pub(super) fn check_rule(
    layout: &Layout,
    rule: &BinRule,
    work: &'static str,
) -> Result<(), BackendError> {
    let feature = rule.feature as usize;
    match layout.places().get(feature) {
        Some(place) if *place != FeaturePlace::Dropped => Ok(()),
        _ => Err(unknown(work, "feature", feature)),
    }
}

/// Refuses a tree that a row could not be sent through.
pub(super) fn check_tree(
    layout: &Layout,
    tree: &BinnedTree,
    work: &'static str,
) -> Result<(), BackendError> {
    tree.nodes.iter().try_for_each(|node| check_rule(layout, &node.rule, work))?;
    if tree.oblivious {
        let levels = tree.nodes.len();
        let is_full = levels <= MOST_LEVELS && tree.leaves.len() >= 1 << levels;
        return if is_full { Ok(()) } else { Err(unknown(work, "level", levels)) };
    }
    if tree.leaves.is_empty() {
        return Err(unknown(work, "leaf", 0));
    }
    for (at, node) in tree.nodes.iter().enumerate() {
        for child in [node.left, node.right] {
            let (known, number) = match child {
                Child::Leaf(leaf) => ((leaf as usize) < tree.leaves.len(), leaf),
                // Children come after their parent, so that every way ends.
                Child::Node(node) => ((at + 1..tree.nodes.len()).contains(&(node as usize)), node),
            };
            if !known {
                return Err(unknown(work, "child", number as usize));
            }
        }
    }
    Ok(())
}
