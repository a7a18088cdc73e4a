//! Derivatives and loss of one output while the scores of the others stay: a search changes one tree
//! at a time, and going over all outputs for it would take most of its time where there are many.

use super::{DerivativeSums, Shard, stiffen};
use crate::kernels::quantise::join;
use crate::kernels::sums;
use crate::objective::{OneOutput, OutputRows};

/// What one output needs to know of the others.
#[derive(Debug)]
pub(super) struct OtherOutputs {
    output: usize,
    /// One number per row.
    numbers: Vec<f32>,
    /// The part of the loss that does not depend on the output.
    rest: f64,
}

impl Shard {
    /// Derivatives of one output at the present scores; their totals. Every hessian gets `extra`
    /// times the row's weight on top.
    pub fn derive_output(
        &mut self,
        output: usize,
        one: &dyn OneOutput,
        extra: f32,
    ) -> DerivativeSums {
        let rows = self.rows.rows;
        let outputs = self.score.len() / rows.max(1);
        self.words.resize(rows * outputs, 0);
        self.learn_others(output, one);
        let others = self.others.as_ref().map_or(&[][..], |others| &others.numbers);

        let own = output * rows..(output + 1) * rows;
        let (mut g, mut h) = (vec![0.0; rows], vec![0.0; rows]);
        let (target, weight) = (&self.target[..], &self.weight[..]);
        let score = &self.score[own.clone()];
        one.derivatives(output, OutputRows { score, others, target, weight }, &mut g, &mut h);
        if extra > 0.0 {
            stiffen(&mut h, weight, extra);
        }
        join(&g, &h, &mut self.words[own]);
        let (abs_g, h) = sums::abs_and_plain(&g, &h);
        DerivativeSums { abs_g, h }
    }

    /// Whether the loss can be computed from one output.
    pub fn knows_others(&self) -> bool {
        self.others.is_some()
    }

    /// The loss of all rows, where only one output has changed since its derivatives were taken.
    pub fn loss(&self, one: &dyn OneOutput) -> f64 {
        let Some(OtherOutputs { output, numbers, rest }) = &self.others else { return 0.0 };
        let rows = self.rows.rows;
        let score = &self.score[output * rows..(output + 1) * rows];
        let (target, weight) = (&self.target[..], &self.weight[..]);
        rest + one.loss(*output, OutputRows { score, others: numbers, target, weight })
    }

    /// To be called when the scores of an output change: what other outputs know of it is out of
    /// date.
    pub(super) fn forget_others(&mut self, output: usize) {
        if self.others.as_ref().is_some_and(|others| others.output != output) {
            self.others = None;
        }
    }

    /// Makes sure that one output knows of the others.
    fn learn_others(&mut self, output: usize, one: &dyn OneOutput) {
        if self.others.as_ref().is_some_and(|others| others.output == output) {
            return;
        }
        let mut numbers = vec![0.0; self.rows.rows];
        one.others(output, &self.score, &mut numbers);
        let (target, weight) = (&self.target[..], &self.weight[..]);
        let rows = OutputRows { score: &self.score, others: &numbers, target, weight };
        let rest = one.rest(output, rows);
        self.others = Some(OtherOutputs { output, numbers, rest });
    }
}
