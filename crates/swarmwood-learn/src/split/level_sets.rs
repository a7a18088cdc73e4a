//! Categories with many levels: the order of their levels, and the price of a set of them.
//!
//! Of k levels without any effect, the best set of levels gains `k/π` times the dispersion by
//! chance, where a number gains about three times it whatever its values. A set of m levels is one
//! of `C(k, m)`: it pays [`SET_PRICE`] for each nat of that choice, which amounts to `0.35 k` for
//! half of the levels and to `0.5 ln k` for a single one. Levels without a row in the node are not
//! counted.

use super::{FEW_LEVELS, NodeTable, ScanOrder, SplitScratch, SplitSearch};
use crate::bins::CODES;
use crate::bins::layout::FeatureBins;
use crate::kernels::quantise::{gradient, hessian};
use crate::rule::{BitSet, CodeSet};

/// Hessian added when levels are ordered by their mean gradient.
const LEVEL_SMOOTHING: f64 = 10.0;

/// Price of each nat of the choice of a set of levels, in units of the dispersion.
const SET_PRICE: f64 = 0.5;

impl SplitSearch<'_> {
    /// The order in which codes are scanned.
    pub(super) fn order(
        &self,
        feature: u32,
        nodes: &[NodeTable<'_>],
        scratch: &mut SplitScratch,
    ) -> ScanOrder {
        let FeatureBins::Category(levels) = &self.layout.features()[feature as usize] else {
            return ScanOrder::Natural;
        };
        let bins = levels.bins();
        let mut sums = [(0.0, 0.0); CODES];
        for node in nodes {
            self.codes(feature, node, &mut scratch.codes);
            for (sum, &code) in sums.iter_mut().zip(&scratch.codes[..=bins]) {
                sum.0 += f64::from(gradient(code)) * self.scale.g;
                sum.1 += f64::from(hessian(code)) * self.scale.h;
            }
        }
        let has_rows = |code: &u8| sums[usize::from(*code)].1 > 0.0;
        let present = (1..=bins as u8).filter(has_rows).collect();
        let smoothing = if bins > FEW_LEVELS { LEVEL_SMOOTHING } else { self.scale.h };
        let mean = |code: u8| sums[usize::from(code)].0 / (sums[usize::from(code)].1 + smoothing);
        let mut codes = Box::new([0; CODES]);
        codes.iter_mut().enumerate().for_each(|(at, code)| *code = (at as u8).wrapping_add(1));
        codes[..bins].sort_by(|&a, &b| mean(a).total_cmp(&mean(b)).then(a.cmp(&b)));
        ScanOrder::Sorted { codes, present }
    }

    /// Takes the price of the sets of levels off the scores of all cuts of the sorted codes.
    pub(super) fn price_sets(&self, codes: &[u8], present: &CodeSet, scratch: &mut SplitScratch) {
        let levels = codes.iter().filter(|&&code| present.contains(code)).count();
        // Scores are twice the gains, in integer units.
        let unit = 2.0 * SET_PRICE * self.dispersion * self.scale.h / self.scale.g.powi(2);
        let (mut chosen, mut nats) = (0, 0.0);
        for (at, &code) in codes.iter().enumerate() {
            if present.contains(code) {
                nats += ((levels - chosen) as f64 / (chosen + 1) as f64).ln();
                chosen += 1;
            }
            let price = unit * nats.max(0.0);
            scratch.missing_right[at] -= price;
            scratch.missing_left[at] -= price;
        }
    }
}
