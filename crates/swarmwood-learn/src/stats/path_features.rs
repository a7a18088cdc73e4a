//! The features that interaction constraints leave each node of the growing tree: those of all
//! groups that hold every feature on the way to the node.

use crate::stats::lookahead::FeatureSet;
use crate::stats::message::{SplitCommand, SplitConstraints};

/// What is left of the groups, slot by slot. Nothing is stored where there are no constraints.
#[derive(Debug, Default)]
pub(in crate::stats) struct PathFeatures {
    /// The features of each group, ascending.
    groups: Vec<Vec<u32>>,
    /// The allowed features of the tree.
    of_tree: Vec<bool>,
    slots: Vec<SlotFeatures>,
}

#[derive(Debug, Clone, Default)]
struct SlotFeatures {
    /// The groups that hold every feature on the way here.
    groups: Vec<usize>,
    /// The features of these groups.
    allowed: Vec<bool>,
}

impl PathFeatures {
    /// A tree of one node.
    pub(in crate::stats) fn new(search: &SplitConstraints) -> Self {
        if search.groups.is_empty() {
            return PathFeatures::default();
        }
        let mut paths = PathFeatures {
            groups: search.groups.clone(),
            of_tree: search.allowed.clone(),
            slots: Vec::new(),
        };
        let root = paths.slot((0..paths.groups.len()).collect());
        paths.slots.push(root);
        paths
    }

    fn slot(&self, groups: Vec<usize>) -> SlotFeatures {
        let mut allowed = vec![false; self.of_tree.len()];
        for &feature in groups.iter().flat_map(|&group| &self.groups[group]) {
            allowed[feature as usize] = self.of_tree[feature as usize];
        }
        SlotFeatures { groups, allowed }
    }

    /// Notes the children of a split.
    pub(in crate::stats) fn split(&mut self, command: &SplitCommand) {
        if self.groups.is_empty() {
            return;
        }
        let feature = command.rule.feature;
        let holds = |group: &usize| self.groups[*group].binary_search(&feature).is_ok();
        let groups = self.slots[command.slot].groups.iter().copied().filter(holds).collect();
        let below = self.slot(groups);
        let most = command.left.max(command.right);
        if self.slots.len() <= most {
            self.slots.resize(most + 1, SlotFeatures::default());
        }
        self.slots[command.left] = below.clone();
        self.slots[command.right] = below;
    }

    /// The features that a rule of a slot may use, if it may not use all that the tree may.
    pub(in crate::stats) fn allowed(&self, slot: usize) -> Option<&[bool]> {
        self.slots.get(slot).map(|slot| &slot.allowed[..])
    }

    /// Whether all features of a set may be used below a slot, on one way.
    pub(in crate::stats) fn allows_together(&self, slot: usize, set: &FeatureSet) -> bool {
        let holds = |&group: &usize| {
            let group = &self.groups[group];
            set.features().iter().all(|feature| group.binary_search(feature).is_ok())
        };
        self.slots.get(slot).is_none_or(|slot| slot.groups.iter().any(holds))
    }
}
