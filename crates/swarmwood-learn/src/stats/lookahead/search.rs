//! Look-ahead over samples of rows: tables of cells merge as integers, bits of rows are joined in the
//! order of shards.

use super::{
    CellSearch, CellTree, FeatureSet, LookaheadSplit, LookaheadTable, MOST_FEATURES, PAIR_BINS,
    TRIPLE_BINS,
};
use crate::bins::layout::{FeatureBins, FeaturePlace};
use crate::bins::{CODES, Layout};
use crate::context::Context;
use crate::kernels::quantise::{GradientScale, GradientSums};
use crate::rule::{BinRule, Cut};
use crate::stats::backend::BackendError;
use crate::stats::message::SplitConstraints;
use crate::stats::path_features::PathFeatures;
use crate::stats::shard::{CoarseColumn, HashSample, SampledRows};

/// Rows of a node that tables are made of.
const TABLE_ROWS: usize = 4096;

/// Rows below which a node is split greedily: a number, and a share of those of the tree.
const LEAST_ROWS: usize = 200;
const LEAST_SHARE: usize = 16;

/// The rows of the growing tree's slots, wherever they are.
pub(in crate::stats) trait SlotRows {
    /// How many rows a slot has.
    fn count(&self, slot: usize) -> usize;

    /// The rows of a slot that a sample holds, shard by shard, with their codes in some stored
    /// columns.
    fn sampled(
        &mut self,
        slot: usize,
        sample: HashSample,
        columns: &[usize],
    ) -> Result<Vec<SampledRows>, BackendError>;
}

/// What the search for sets of features knows of the growing tree.
#[derive(Clone, Copy)]
pub(in crate::stats) struct LookaheadSearch<'a> {
    pub(in crate::stats) layout: &'a Layout,
    pub(in crate::stats) search: &'a SplitConstraints,
    pub(in crate::stats) paths: &'a PathFeatures,
    pub(in crate::stats) scale: GradientScale,
    pub(in crate::stats) context: Context<'a>,
}

/// A feature's coarse bins, and the last code of each but the last.
pub(super) struct CoarseFeature {
    pub(super) feature: u32,
    pub(super) column: CoarseColumn,
    pub(super) lasts: Vec<u8>,
}

/// The sampled rows of each shard, and the feature's own code for each stored code of each column.
pub(super) struct NodeSample {
    pub(super) shards: Vec<SampledRows>,
    owns: Vec<[u8; CODES]>,
}

impl LookaheadSearch<'_> {
    /// For each slot, given with its value, the first split of the tree over one of the sets that
    /// gains most, judged on rows that it was not chosen on; `None` if none gains or the slot has
    /// few rows.
    pub(in crate::stats) fn look_ahead(
        &self,
        rows: &mut dyn SlotRows,
        slots: &[(usize, f64)],
        sets: &[FeatureSet],
    ) -> Result<Vec<Option<LookaheadSplit>>, BackendError> {
        let mut all: Vec<FeatureSet> = sets.iter().flat_map(FeatureSet::with_pairs).collect();
        all.retain(|set| set.features().iter().all(|&feature| self.is_usable(feature)));
        all.sort_unstable();
        all.dedup();
        slots.iter().map(|&slot| self.look_ahead_in(rows, slot, &all)).collect()
    }

    pub(super) fn is_usable(&self, feature: u32) -> bool {
        let place = self.layout.places()[feature as usize];
        self.search.allowed[feature as usize] && place != FeaturePlace::Dropped
    }

    fn look_ahead_in(
        &self,
        rows: &mut dyn SlotRows,
        (slot, value): (usize, f64),
        sets: &[FeatureSet],
    ) -> Result<Option<LookaheadSplit>, BackendError> {
        let (count, of_tree) = (rows.count(slot), rows.count(0));
        let sets: Vec<FeatureSet> =
            sets.iter().filter(|set| self.paths.allows_together(slot, set)).copied().collect();
        if count < LEAST_ROWS.max(of_tree / LEAST_SHARE)
            || sets.is_empty()
            || self.context.budget.is_interrupted()
        {
            return Ok(None);
        }
        let mut features: Vec<u32> =
            sets.iter().flat_map(|set| set.features().iter().copied()).collect();
        features.sort_unstable();
        features.dedup();

        let sample = self.sample(rows, slot, TABLE_ROWS, &features)?;
        let coarse = self.coarse_features(&features, &sample, PAIR_BINS);
        let search = CellSearch { penalties: self.search.penalties, value };
        let found = sets.iter().filter_map(|set| {
            let axes: Vec<&CoarseFeature> = set
                .features()
                .iter()
                .filter_map(|&feature| coarse.iter().find(|coarse| coarse.feature == feature))
                .collect();
            self.best_of_set(*set, &axes, &sample, count, &search)
        });
        Ok(found.reduce(|best, next| if next.gain > best.gain { next } else { best }))
    }

    /// A sample of the rows of a slot, with the codes of some features.
    pub(super) fn sample(
        &self,
        rows: &mut dyn SlotRows,
        slot: usize,
        wanted: usize,
        features: &[u32],
    ) -> Result<NodeSample, BackendError> {
        let sample = HashSample::new(wanted, rows.count(slot));
        let (columns, owns): (Vec<usize>, Vec<[u8; CODES]>) =
            features.iter().map(|&feature| self.own_codes(feature)).unzip();
        Ok(NodeSample { shards: rows.sampled(slot, sample, &columns)?, owns })
    }

    /// Bins of about as many sampled rows each, feature by feature.
    pub(super) fn coarse_features(
        &self,
        features: &[u32],
        sample: &NodeSample,
        bins: usize,
    ) -> Vec<CoarseFeature> {
        let parts =
            self.context.pool.map(sample.shards.len(), |at| sample.shards[at].count_codes());
        let mut counts = vec![0u32; features.len() * CODES];
        for part in parts {
            counts.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }

        let each = features.iter().zip(&sample.owns).zip(counts.chunks_exact(CODES)).enumerate();
        each.map(|(place, ((&feature, own), counts))| {
            let mut by_code = [0; CODES];
            own.iter().zip(counts).for_each(|(&code, count)| by_code[usize::from(code)] += count);
            let lasts = even_cuts(&by_code, bins);
            let bin = |code: u8| lasts.partition_point(|&last| last < code) as u8;
            let column = CoarseColumn { place, bins: own.map(bin) };
            CoarseFeature { feature, column, lasts }
        })
        .collect()
    }

    /// The stored column of a feature, and the feature's own code for each stored one.
    fn own_codes(&self, feature: u32) -> (usize, [u8; CODES]) {
        match self.layout.places()[feature as usize] {
            FeaturePlace::Alone { column } => (column, std::array::from_fn(|code| code as u8)),
            FeaturePlace::Bundled { column, .. } => {
                let mut own = [1; CODES];
                for last in 1..self.layout.features()[feature as usize].bins() as u8 {
                    let cut = Cut::Above(last);
                    let route = self.layout.route(&BinRule { feature, cut, missing_right: false });
                    own.iter_mut().zip(route.right).for_each(|(own, right)| *own += right);
                }
                (column, own)
            }
            FeaturePlace::Dropped => unreachable!("no rule is made from a constant feature"),
        }
    }

    /// The best tree over a set.
    fn best_of_set(
        &self,
        set: FeatureSet,
        axes: &[&CoarseFeature],
        sample: &NodeSample,
        count: usize,
        search: &CellSearch,
    ) -> Option<LookaheadSplit> {
        let most = if axes.len() == MOST_FEATURES { TRIPLE_BINS } else { PAIR_BINS };
        let grouped: Vec<(CoarseColumn, Vec<u8>)> =
            axes.iter().map(|axis| axis.grouped(most)).collect();
        if grouped.iter().any(|(_, lasts)| lasts.is_empty()) {
            return None;
        }
        let halves = self.cells(&grouped, sample, count);
        let tree = search.best_tree(&halves[0]);
        let gain = search.gain(&tree, &halves[0], &halves[1]);
        if gain <= 0.0 {
            return None;
        }

        // The set has proved its worth; where to cut is told best by all rows.
        let whole = halves[0].mean(&halves[1]);
        let CellTree::Split { axis, cut, .. } = search.best_tree(&whole) else { return None };
        let rule = self.rule_above(axes[axis].feature, grouped[axis].1[cut - 1]);
        let gain = gain / set.splits() as f64;
        let (splits, levels) = (set.splits(), set.features().len());
        Some(LookaheadSplit { rule, gain, splits, levels })
    }

    /// The sums of both halves of the sample, each scaled to the rows of the node.
    fn cells(
        &self,
        axes: &[(CoarseColumn, Vec<u8>)],
        sample: &NodeSample,
        count: usize,
    ) -> [LookaheadTable; 2] {
        let axes: Vec<(&CoarseColumn, usize)> =
            axes.iter().map(|(column, lasts)| (column, lasts.len() + 1)).collect();
        let shards = &sample.shards;
        let parts = self.context.pool.map(shards.len(), |at| shards[at].cell_sums(&axes));
        let add = |mut all: [Vec<u64>; 2], part: [Vec<u64>; 2]| {
            for (all, part) in all.iter_mut().zip(part) {
                all.iter_mut().zip(part).for_each(|(sum, part)| *sum = sum.wrapping_add(part));
            }
            all
        };
        let sums = parts.into_iter().reduce(add).unwrap_or_default();

        let sizes = shards.iter().map(SampledRows::sizes);
        let of_half = sizes.fold([0; 2], |[a, b], [more_a, more_b]| [a + more_a, b + more_b]);
        let widths: Vec<usize> = axes.iter().map(|(_, width)| *width).collect();
        let scaled = |half: usize| {
            let factor = count as f64 / of_half[half].max(1) as f64;
            let cell = |&packed: &u64| {
                let GradientSums { g, h } = self.scale.unpack(packed);
                GradientSums { g: g * factor, h: h * factor }
            };
            LookaheadTable::new(widths.clone(), sums[half].iter().map(cell).collect())
        };
        [scaled(0), scaled(1)]
    }

    /// Codes above `last` go right, missing values left.
    fn rule_above(&self, feature: u32, last: u8) -> BinRule {
        let bins = self.layout.features()[feature as usize].bins() as u8;
        let cut = match self.layout.features()[feature as usize] {
            FeatureBins::Number(_) => Cut::Above(last),
            FeatureBins::Category(_) => Cut::In((last + 1..=bins).collect()),
        };
        BinRule { feature, cut, missing_right: false }
    }
}

impl CoarseFeature {
    /// The same with at most so many bins: neighbours are joined.
    fn grouped(&self, most: usize) -> (CoarseColumn, Vec<u8>) {
        let bins = self.lasts.len() + 1;
        if bins <= most {
            return (self.column.clone(), self.lasts.clone());
        }
        let group = |bin: usize| bin * most / bins;
        let lasts = (1..bins).filter(|&bin| group(bin) != group(bin - 1));
        let lasts = lasts.map(|bin| self.lasts[bin - 1]).collect();
        let mut column = self.column.clone();
        column.bins.iter_mut().for_each(|bin| *bin = group(usize::from(*bin)) as u8);
        (column, lasts)
    }
}

/// The last codes of all but the last of at most so many bins, which hold about as many rows each.
/// Missing values, code 0, are in the first bin.
pub(super) fn even_cuts(counts: &[u32; CODES], bins: usize) -> Vec<u8> {
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let (mut lasts, mut below) = (Vec::new(), 0);
    let mut last: Option<(usize, u64)> = None;
    for (code, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        // The bin of the middle one of the code's rows.
        let bin = (2 * below + u64::from(count)) * bins as u64 / (2 * total);
        if let Some((last, last_bin)) = last
            && last > 0
            && bin > last_bin
        {
            lasts.push(last as u8);
        }
        below += u64::from(count);
        last = Some((code, bin));
    }
    lasts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_even_where_codes_allow() {
        let mut counts = [0; CODES];
        counts[1..=100].fill(10);
        assert_eq!(even_cuts(&counts, 4), [25, 50, 75]);
        counts = [0; CODES];
        (counts[1], counts[2]) = (90, 10);
        assert_eq!(even_cuts(&counts, 16), [1]);
        // No rule asks whether a value is missing alone.
        (counts[0], counts[1], counts[2]) = (50, 50, 0);
        assert_eq!(even_cuts(&counts, 16), [0u8; 0]);
    }
}
