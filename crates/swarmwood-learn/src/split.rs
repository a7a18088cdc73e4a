//! Finds the best rule in a histogram.
//!
//! The gain of a rule is `½ [GL²/(HL+λ) + GR²/(HR+λ) - (GL+GR)²/(HL+HR+λ)] - γ`, or, where children
//! are shrunk towards their parent's value `u`, `½ [(GL+HL·u)²/(HL+λ) + (GR+HR·u)²/(HR+λ)] - γ`.
//! Sums are packed integers (`kernels::quantise`); scores are compared in integer
//! units, and gains are reported in real ones.
//!
//! A feature's codes are scanned along a line: numbers in their own order, levels of a category in
//! the order of their mean gradient (for a convex loss the best two-way grouping is a cut of that
//! line). Missing values are tried on both sides. Sets of many levels pay for their choice among
//! others (`level_sets`).

mod few;
mod level_sets;

use swarmwood_model::monotone::Direction;

use crate::bins::layout::{FeatureBins, FeaturePlace};
use crate::bins::{CODES, Layout};
use crate::kernels::gains::{CutLimits, Prefix, greatest, score_cuts};
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::{GradientScale, GradientSums, gradient, hessian};
use crate::rule::{BinRule, BitSet, CodeSet, Cut};

pub(crate) use few::{FEW, FewRows};

/// Categories with more levels than this are ordered and penalised with care: a lucky level is
/// easily found among many.
const FEW_LEVELS: usize = 4;
/// L2 penalty added to the children of a split over many levels.
const LEVEL_LAMBDA: f64 = 10.0;

/// From where the L2 penalty pulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ridge {
    /// Every leaf value is pulled towards zero.
    #[default]
    Flat,
    /// The value of every node is pulled towards its parent's, the root's towards zero: rows that a
    /// deep leaf lacks it borrows from its kin.
    Hierarchical,
}

/// What makes a split worth its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalties {
    /// L2 penalty on leaf values, or on their deviation from their parent's.
    pub lambda: f64,
    /// Which of the two.
    pub ridge: Ridge,
    /// What a split must gain.
    pub gamma: f64,
    /// Least sum of hessians of a child.
    pub min_child_weight: f64,
}

impl Penalties {
    /// The value a node has while its tree grows, given its parent's; zero where values are not
    /// passed on.
    pub(crate) fn node_value(&self, sums: GradientSums, parent: f64) -> f64 {
        let divisor = sums.h + self.lambda;
        match self.ridge {
            Ridge::Hierarchical if divisor > 0.0 => (self.lambda * parent - sums.g) / divisor,
            _ => 0.0,
        }
    }
}

/// A rule with its gain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitCandidate {
    /// The rule.
    pub rule: BinRule,
    /// Gain in real units, γ taken off.
    pub gain: f64,
}

impl SplitCandidate {
    /// The better of two; equal gains go to the earlier feature, so that the order of the search
    /// does not matter.
    fn better(a: Option<SplitCandidate>, b: Option<SplitCandidate>) -> Option<SplitCandidate> {
        match (a, b) {
            (Some(a), Some(b))
                if b.gain > a.gain || b.gain == a.gain && b.rule.feature < a.rule.feature =>
            {
                Some(b)
            }
            (None, b) => b,
            (a, _) => a,
        }
    }

    /// The best of many.
    pub fn best(
        candidates: impl IntoIterator<Item = Option<SplitCandidate>>,
    ) -> Option<SplitCandidate> {
        candidates.into_iter().fold(None, SplitCandidate::better)
    }
}

/// One node's view of a stored column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeTable<'a> {
    /// Packed sums by stored code.
    pub table: &'a [u64; TABLE],
    /// Packed sum of the node.
    pub total: u64,
    /// Value of the node, see [`Penalties::node_value`].
    pub value: f64,
}

/// All that a search needs beside the histograms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitSearch<'a> {
    /// How features are stored.
    pub layout: &'a Layout,
    /// Which features may be used.
    pub allowed: &'a [bool],
    /// Integer units of this tree.
    pub scale: GradientScale,
    /// Twice what a useless split gains on average.
    pub dispersion: f64,
    /// Penalties in real units.
    pub penalties: Penalties,
    /// The direction of each feature; empty if none has one.
    pub directions: &'a [Option<Direction>],
}

/// Reusable memory of a search.
#[derive(Debug, Clone)]
pub(crate) struct SplitScratch {
    codes: [u64; CODES],
    line: [u64; CODES],
    prefix: Prefix,
    present: few::Present,
    scores: [f64; CODES],
    missing_right: [f64; CODES],
    missing_left: [f64; CODES],
}

impl Default for SplitScratch {
    fn default() -> Self {
        SplitScratch {
            codes: [0; CODES],
            line: [0; CODES],
            prefix: Prefix::default(),
            present: few::Present::default(),
            scores: [0.0; CODES],
            missing_right: [0.0; CODES],
            missing_left: [0.0; CODES],
        }
    }
}

/// Codes in scan order.
enum ScanOrder {
    Natural,
    Sorted {
        codes: Box<[u8; CODES]>,
        /// The codes that these nodes have rows of.
        present: CodeSet,
    },
}

impl SplitSearch<'_> {
    /// The best rule over the features of one stored column for one node, or for the nodes of a
    /// level that must share the rule (gains add up).
    pub fn column(
        &self,
        column: usize,
        nodes: &[NodeTable<'_>],
        scratch: &mut SplitScratch,
    ) -> Option<SplitCandidate> {
        let features = self.layout.columns()[column].features.iter();
        SplitCandidate::best(
            features
                .filter(|&&feature| self.allowed[feature as usize])
                .map(|&feature| self.feature(feature, nodes, scratch)),
        )
    }

    fn feature(
        &self,
        feature: u32,
        nodes: &[NodeTable<'_>],
        scratch: &mut SplitScratch,
    ) -> Option<SplitCandidate> {
        let bins = self.layout.features()[feature as usize].bins();
        let order = self.order(feature, nodes, scratch);
        let (parent, children) = self.limits(feature);
        let mut any_missing = false;
        let mut base = 0.0;
        if nodes.len() > 1 {
            scratch.missing_right[..bins].fill(0.0);
            scratch.missing_left[..bins].fill(0.0);
        }
        for node in nodes {
            // A node that is not split keeps its value: under a flat penalty that is worth its
            // score, and a value that children deviate from is where they start counting.
            let score = match self.penalties.ridge {
                Ridge::Flat => score(node.total, parent),
                Ridge::Hierarchical => 0.0,
            };
            let children = CutLimits { from: node.value * self.scale.h / self.scale.g, ..children };
            base += score;
            let missing = self.line(feature, node, &order, scratch);
            any_missing |= missing != 0;
            let line = match (self.layout.places()[feature as usize], &order) {
                (FeaturePlace::Alone { .. }, ScanOrder::Natural) => &node.table[1..=bins],
                _ => &scratch.line[..bins],
            };
            let scan = CutScan {
                line,
                total: node.total,
                limits: children,
                parent: score,
                only: nodes.len() == 1,
                direction: self.direction(feature),
            };
            scan.add(0, &mut scratch.prefix, &mut scratch.scores, &mut scratch.missing_right);
            // Without missing values both sides score the same, but the sum over a level needs
            // both.
            if missing != 0 || nodes.len() > 1 {
                scan.add(
                    missing,
                    &mut scratch.prefix,
                    &mut scratch.scores,
                    &mut scratch.missing_left,
                );
            }
        }
        if let ScanOrder::Sorted { codes, present } = &order
            && bins > FEW_LEVELS
        {
            self.price_sets(&codes[..bins], present, scratch);
        }
        // The last cut sends every value left; it says something only where the missing ones go
        // right.
        let cuts = if any_missing && self.can_part_missing(feature) { bins } else { bins - 1 };
        let (mut cut, mut best) = greatest(&scratch.missing_right, cuts);
        let mut missing_right = true;
        if any_missing {
            let (left_cut, left_best) = greatest(&scratch.missing_left, bins - 1);
            if left_best > best {
                (cut, best, missing_right) = (left_cut, left_best, false);
            }
        }
        let gain = self.gain(best, base, nodes.len())?;
        let cut = self.cut(&order, cut, bins);
        Some(SplitCandidate { rule: BinRule { feature, cut, missing_right }, gain })
    }

    /// What a split that scores so much gains over nodes as they are, in real units; none if it is
    /// nothing.
    fn gain(&self, best: f64, base: f64, nodes: usize) -> Option<f64> {
        let unit = self.scale.g * self.scale.g / self.scale.h;
        let gain = 0.5 * (best - base) * unit - self.penalties.gamma * nodes as f64;
        // Rounding must not make a split out of nothing.
        (gain > 0.0 && best - base > 1e-12 * base).then_some(gain)
    }

    fn direction(&self, feature: u32) -> Option<Direction> {
        self.directions.get(feature as usize).copied().flatten()
    }

    fn can_part_missing(&self, feature: u32) -> bool {
        match &self.layout.features()[feature as usize] {
            FeatureBins::Number(edges) => edges.bounded(),
            FeatureBins::Category(_) => true,
        }
    }

    /// A value never seen missing in these nodes goes where most rows go.
    pub(crate) fn settle_missing(&self, rule: &mut BinRule, nodes: &[NodeTable<'_>]) {
        let missing_seen = match self.layout.places()[rule.feature as usize] {
            FeaturePlace::Alone { .. } => nodes.iter().any(|node| node.table[0] != 0),
            _ => false,
        };
        if !missing_seen {
            let weigh = |sum: (i64, i64), node: &NodeTable<'_>| {
                let (left, right) = self.sides(rule, node);
                (sum.0 + i64::from(hessian(left)), sum.1 + i64::from(hessian(right)))
            };
            let (left, right) = nodes.iter().fold((0, 0), weigh);
            rule.missing_right = right > left;
        }
    }

    /// Whether a node with this packed sum is large enough for two children; if not, no rule will
    /// be found.
    pub(crate) fn can_split(&self, total: u64) -> bool {
        f64::from(hessian(total)) >= 2.0 * self.least()
    }

    /// The least hessian of a child in integer units.
    fn least(&self) -> f64 {
        (self.penalties.min_child_weight / self.scale.h).max(1.0)
    }

    /// λ and the least child in integer units: for the parent, and for the children of a split on
    /// this feature.
    fn limits(&self, feature: u32) -> (CutLimits, CutLimits) {
        let least = self.least();
        let limits = CutLimits { lambda: self.penalties.lambda / self.scale.h, least, from: 0.0 };
        let many = match &self.layout.features()[feature as usize] {
            FeatureBins::Category(levels) => levels.bins() > FEW_LEVELS,
            FeatureBins::Number(_) => false,
        };
        let extra = if many { LEVEL_LAMBDA / self.scale.h } else { 0.0 };
        (limits, CutLimits { lambda: limits.lambda + extra, ..limits })
    }

    /// Writes the node's sums in scan order, unless the table itself is in that order, and returns
    /// the sum of missing values.
    fn line(
        &self,
        feature: u32,
        node: &NodeTable<'_>,
        order: &ScanOrder,
        scratch: &mut SplitScratch,
    ) -> u64 {
        let bins = self.layout.features()[feature as usize].bins();
        if let (FeaturePlace::Alone { .. }, ScanOrder::Natural) =
            (self.layout.places()[feature as usize], order)
        {
            return node.table[0];
        }
        self.codes(feature, node, &mut scratch.codes);
        let SplitScratch { codes, line, .. } = scratch;
        match order {
            ScanOrder::Natural => line[..bins].copy_from_slice(&codes[1..=bins]),
            ScanOrder::Sorted { codes: order, .. } => {
                line[..bins]
                    .iter_mut()
                    .zip(order.iter())
                    .for_each(|(sum, &code)| *sum = codes[usize::from(code)]);
            }
        }
        codes[0]
    }

    /// The node's sums by the feature's own codes.
    fn codes(&self, feature: u32, node: &NodeTable<'_>, sums: &mut [u64; CODES]) {
        let bins = self.layout.features()[feature as usize].bins();
        let FeaturePlace::Bundled { default, first, .. } = self.layout.places()[feature as usize]
        else {
            sums[..=bins].copy_from_slice(&node.table[..=bins]);
            return;
        };
        // A bundle stores no default: its sum is what the others leave of the node's.
        sums[0] = 0;
        let (mut stored, mut rest) = (usize::from(first), node.total);
        for code in (1..=bins).filter(|&code| code != usize::from(default)) {
            sums[code] = node.table[stored];
            rest = rest.wrapping_sub(node.table[stored]);
            stored += 1;
        }
        sums[usize::from(default)] = rest;
    }

    fn cut(&self, order: &ScanOrder, cut: usize, bins: usize) -> Cut<u8> {
        match order {
            ScanOrder::Natural => Cut::Above(cut as u8 + 1),
            ScanOrder::Sorted { codes, .. } => {
                Cut::In(codes[cut + 1..bins].iter().copied().collect())
            }
        }
    }

    /// The packed sums of a node's two sides under a rule.
    pub fn sides(&self, rule: &BinRule, node: &NodeTable<'_>) -> (u64, u64) {
        let mut codes = [0; CODES];
        let bins = self.layout.features()[rule.feature as usize].bins();
        let codes: &[u64] = match self.layout.places()[rule.feature as usize] {
            FeaturePlace::Alone { .. } => node.table,
            _ => {
                self.codes(rule.feature, node, &mut codes);
                &codes
            }
        };
        let sum = |codes: &[u64]| codes.iter().fold(0u64, |sum, &code| sum.wrapping_add(code));
        let left = match rule.cut {
            Cut::Above(last) => sum(&codes[1..=usize::from(last)]),
            Cut::In(set) => (1..=bins)
                .filter(|&code| !set.contains(code as u8))
                .fold(0u64, |sum, code| sum.wrapping_add(codes[code])),
        };
        let left = if rule.missing_right { left } else { left.wrapping_add(codes[0]) };
        (left, node.total.wrapping_sub(left))
    }
}

/// One node's cuts of one feature.
struct CutScan<'a> {
    line: &'a [u64],
    total: u64,
    limits: CutLimits,
    parent: f64,
    only: bool,
    direction: Option<Direction>,
}

impl CutScan<'_> {
    /// Adds the scores of all cuts to `kept`, or writes them there if this is the only node.
    fn add(
        &self,
        missing_left: u64,
        prefix: &mut Prefix,
        scores: &mut [f64; CODES],
        kept: &mut [f64; CODES],
    ) {
        let mut sum = missing_left;
        for ((&code, g), h) in self.line.iter().zip(&mut prefix.g).zip(&mut prefix.h) {
            sum = sum.wrapping_add(code);
            *g = gradient(sum);
            *h = hessian(sum);
        }
        let (bins, total) = (self.line.len(), (gradient(self.total), hessian(self.total)));
        if self.only {
            score_cuts(prefix, bins, total, self.limits, kept);
            refuse_cuts(prefix, bins, total, (self.limits, self.direction), kept);
            return;
        }
        score_cuts(prefix, bins, total, self.limits, scores);
        refuse_cuts(prefix, bins, total, (self.limits, self.direction), scores);
        for (kept, &score) in kept[..bins].iter_mut().zip(&scores[..bins]) {
            // A node that the cut would leave with too small a child, or with children in the wrong
            // order, stays as it is.
            *kept += if score == f64::NEG_INFINITY { self.parent } else { score };
        }
    }
}

/// Sets the scores of cuts whose children have values against the direction to minus infinity: their
/// best values in the right order are equal.
fn refuse_cuts(
    prefix: &Prefix,
    cuts: usize,
    total: (i32, i32),
    (limits, direction): (CutLimits, Option<Direction>),
    scores: &mut [f64; CODES],
) {
    let Some(direction) = direction else { return };
    let (g, h) = (f64::from(total.0), f64::from(total.1));
    let g = g + limits.from * h;
    for ((score, &gl), &hl) in scores.iter_mut().zip(&prefix.g).zip(&prefix.h).take(cuts) {
        let (gl, hl) = (f64::from(gl), f64::from(hl));
        let gl = gl + limits.from * hl;
        let (gr, hr) = (g - gl, h - hl);
        // A child moves by `-G/(H+λ)`: the left one must not move further up.
        let falls = gl * (hr + limits.lambda) - gr * (hl + limits.lambda);
        if falls * direction.sign() < 0.0 {
            *score = f64::NEG_INFINITY;
        }
    }
}

/// `G²/(H+λ)` in integer units.
fn score(sum: u64, limits: CutLimits) -> f64 {
    let (g, h) = (f64::from(gradient(sum)), f64::from(hessian(sum)));
    if h + limits.lambda > 0.0 { g * g / (h + limits.lambda) } else { 0.0 }
}

#[cfg(test)]
mod tests;
