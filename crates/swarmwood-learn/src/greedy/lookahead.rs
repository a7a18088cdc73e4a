//! Which splits growth looks beyond.
//!
//! A greedy split is the best one alone. Where two or three features act together only, as in a
//! product or a parity, no first split gains anything, and growth is blind. With look-ahead a node
//! is also offered the first split of the best tree over each of some sets of features
//! ([`Work::LookAhead`]), and takes it if the splits of that tree gain more on average than the
//! best split alone.

use crate::split::SplitCandidate;
use crate::stats::{BackendError, Client, FeatureSet, LookaheadSplit, Reply, Work};

/// Most sets of features.
pub const MOST_SETS: usize = 8;

/// How growth looks ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lookahead {
    /// Every split is the best one alone.
    #[default]
    Off,
    /// Sets of features that interact are looked for at the root of each tree.
    Screened,
    /// These sets are tried at every node.
    Sets(FeatureSets),
}

/// Sets of features, at most [`MOST_SETS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeatureSets {
    sets: [FeatureSet; MOST_SETS],
    len: usize,
}

impl FeatureSets {
    /// The first of some sets, as many as there may be.
    pub fn new(sets: &[FeatureSet]) -> Self {
        let mut all = FeatureSets { len: sets.len().min(MOST_SETS), ..FeatureSets::default() };
        all.sets[..all.len].copy_from_slice(&sets[..all.len]);
        all
    }

    /// The sets.
    pub fn as_slice(&self) -> &[FeatureSet] {
        &self.sets[..self.len]
    }
}

impl Lookahead {
    /// The sets of a tree that was begun.
    pub(super) fn sets(&self, client: &mut Client<'_>) -> Result<Vec<FeatureSet>, BackendError> {
        match self {
            Lookahead::Off => Ok(Vec::new()),
            Lookahead::Sets(sets) => Ok(sets.as_slice().to_vec()),
            Lookahead::Screened => screen(client),
        }
    }
}

/// The sets of features that interact in the rows of a tree that was begun.
pub(crate) fn screen(client: &mut Client<'_>) -> Result<Vec<FeatureSet>, BackendError> {
    match client.ask(Work::Screen { most: MOST_SETS })? {
        Reply::FeatureSets { sets } => Ok(sets),
        _ => Err(BackendError::Reply { work: "Screen" }),
    }
}

/// The first split of a tree over one of the sets, for each slot.
pub(crate) fn look_ahead(
    client: &mut Client<'_>,
    slots: Vec<usize>,
    sets: &[FeatureSet],
) -> Result<Vec<Option<LookaheadSplit>>, BackendError> {
    let count = slots.len();
    match client.ask(Work::LookAhead { slots, sets: sets.to_vec() })? {
        Reply::Lookahead { splits } if splits.len() == count => Ok(splits),
        _ => Err(BackendError::Reply { work: "LookAhead" }),
    }
}

/// The first split of a tree, if each of its splits gains more than the best split alone.
pub(super) fn better_split(
    split: Option<LookaheadSplit>,
    best: Option<SplitCandidate>,
) -> Option<SplitCandidate> {
    let LookaheadSplit { rule, gain, .. } = split?;
    let alone = best.map_or(0.0, |best| best.gain);
    (gain > alone).then_some(SplitCandidate { rule, gain })
}
