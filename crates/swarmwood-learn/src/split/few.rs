//! The best rule of a node of few rows, straight from the rows.
//!
//! A deep tree is mostly nodes of a handful of rows, and clearing, filling and scanning a table of
//! every code for each column takes many times longer than looking at the rows. Sums are integers
//! and are added in any order, empty codes between two rows only repeat the cut before them, and of
//! equal cuts the first is taken: so the rule is the one that the histogram gives, bit for bit.

use super::{
    CutLimits, NodeTable, Ridge, SplitCandidate, SplitScratch, SplitSearch, refuse_cuts, score,
};
use crate::bins::CODES;
use crate::bins::layout::{FeatureBins, FeaturePlace};
use crate::kernels::gains::{greatest, score_cuts};
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::{gradient, hessian};
use crate::rule::{BinRule, Cut};

/// Nodes of at most this many rows are searched by their rows.
pub const FEW: usize = 64;

/// The rows of one node: their codes in some columns, row after row, and their packed derivatives.
#[derive(Debug, Clone, Default)]
pub(crate) struct FewRows {
    columns: usize,
    codes: Vec<u8>,
    packed: Vec<u64>,
}

impl FewRows {
    /// Forgets the last node; the next one has so many columns.
    pub fn clear(&mut self, columns: usize) {
        self.columns = columns;
        self.codes.clear();
        self.packed.clear();
    }

    /// Adds a row; its codes may come in pieces.
    pub fn push<'a>(&mut self, codes: impl Iterator<Item = &'a [u8]>, packed: u64) {
        codes.for_each(|codes| self.codes.extend_from_slice(codes));
        self.packed.push(packed);
    }

    /// Codes of a column beside packed derivatives.
    fn column(&self, at: usize) -> impl Iterator<Item = (u8, u64)> {
        self.codes
            .iter()
            .skip(at)
            .step_by(self.columns.max(1))
            .copied()
            .zip(self.packed.iter().copied())
    }
}

/// The sums of the codes that a node has.
#[derive(Debug, Clone)]
pub(super) struct Present {
    /// By code; all zero between two columns.
    sums: [u64; CODES],
    /// The codes that are there, in order.
    codes: [u8; CODES],
}

impl Default for Present {
    fn default() -> Self {
        Present { sums: [0; CODES], codes: [0; CODES] }
    }
}

impl Present {
    /// Calls with every code that is there and its sum, in the order of codes.
    fn each(
        &mut self,
        rows: impl Iterator<Item = (u8, u64)>,
        mut call: impl FnMut(&mut [u8; CODES], u8, u64),
    ) {
        let mut seen = [0u64; CODES / 64];
        for (code, packed) in rows {
            let sum = &mut self.sums[usize::from(code)];
            *sum = sum.wrapping_add(packed);
            seen[usize::from(code / 64)] |= 1 << (code % 64);
        }
        for (word, mut bits) in seen.into_iter().enumerate() {
            while bits != 0 {
                let code = (word * 64) as u8 + bits.trailing_zeros() as u8;
                bits &= bits - 1;
                let sum = std::mem::take(&mut self.sums[usize::from(code)]);
                call(&mut self.codes, code, sum);
            }
        }
    }
}

impl SplitSearch<'_> {
    /// The best rule over the features of a stored column for one node, which is given by its rows
    /// and stands at `at` among their columns. Where a missing value goes is settled.
    pub(crate) fn column_of_few(
        &self,
        column: usize,
        at: usize,
        rows: &FewRows,
        (total, value): (u64, f64),
        scratch: &mut SplitScratch,
    ) -> Option<SplitCandidate> {
        if let [feature] = self.layout.columns()[column].features[..]
            && let FeaturePlace::Alone { .. } = self.layout.places()[feature as usize]
            && let FeatureBins::Number(_) = self.layout.features()[feature as usize]
        {
            return self.allowed[feature as usize]
                .then(|| self.number_of_few(feature, rows.column(at), (total, value), scratch))
                .flatten();
        }
        // Levels are put in order and bundles are taken apart by the one who knows how.
        let mut table = [0u64; TABLE];
        for (code, packed) in rows.column(at) {
            let sum = &mut table[usize::from(code)];
            *sum = sum.wrapping_add(packed);
        }
        let node = NodeTable { table: &table, total, value };
        let mut found = self.column(column, &[node], scratch)?;
        self.settle_missing(&mut found.rule, &[node]);
        Some(found)
    }

    fn number_of_few(
        &self,
        feature: u32,
        rows: impl Iterator<Item = (u8, u64)>,
        (total, value): (u64, f64),
        scratch: &mut SplitScratch,
    ) -> Option<SplitCandidate> {
        let SplitScratch { prefix, present, missing_right, missing_left, .. } = scratch;
        let (mut missing, mut count, mut sum) = (0u64, 0, 0u64);
        present.each(rows, |codes, code, part| {
            if code == 0 {
                missing = part;
                return;
            }
            sum = sum.wrapping_add(part);
            codes[count] = code;
            (prefix.g[count], prefix.h[count]) = (gradient(sum), hessian(sum));
            count += 1;
        });
        let last = *present.codes[..count].last()?;
        if count == 1 && missing == 0 {
            return None;
        }
        let (parent, children) = self.limits(feature);
        let base = match self.penalties.ridge {
            Ridge::Flat => score(total, parent),
            Ridge::Hierarchical => 0.0,
        };
        let children = CutLimits { from: value * self.scale.h / self.scale.g, ..children };
        let whole = (gradient(total), hessian(total));
        let bins = self.layout.features()[feature as usize].bins();
        // A cut above the last code needs an edge there.
        let cuts = |edges: usize| if usize::from(last) <= edges { count } else { count - 1 };
        let direction = self.direction(feature);
        score_cuts(prefix, count, whole, children, missing_right);
        refuse_cuts(prefix, count, whole, (children, direction), missing_right);
        let parts_missing = missing != 0 && self.can_part_missing(feature);
        let (mut cut, mut best) =
            greatest(missing_right, cuts(if parts_missing { bins } else { bins - 1 }));
        let mut is_right = true;
        let mut left = prefix.h[cut];
        if missing != 0 {
            for (g, h) in prefix.g[..count].iter_mut().zip(&mut prefix.h[..count]) {
                (*g, *h) = (*g + gradient(missing), *h + hessian(missing));
            }
            score_cuts(prefix, count, whole, children, missing_left);
            refuse_cuts(prefix, count, whole, (children, direction), missing_left);
            let (left_cut, left_best) = greatest(missing_left, cuts(bins - 1));
            if left_best > best {
                (cut, best, is_right, left) = (left_cut, left_best, false, prefix.h[left_cut]);
            }
        }
        let gain = self.gain(best, base, 1)?;
        // A value never seen missing goes where most rows go.
        let missing_right = if missing == 0 {
            i64::from(whole.1) - i64::from(left) > i64::from(left)
        } else {
            is_right
        };
        Some(SplitCandidate {
            rule: BinRule { feature, cut: Cut::Above(present.codes[cut]), missing_right },
            gain,
        })
    }
}
