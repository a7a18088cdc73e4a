//! A network with one hidden layer and several softmax outputs, and its gradient.
//!
//! `h = tanh(W x + b)`; output `k` is `softmax(V_k h + c_k)`. Inputs are sparse: pairs of an index
//! and a value. Sums are added in a fixed order, so that a gradient is the same in every run.

use swarmwood_search::rng::Stream;

/// The weights of a network, all in one vector, as the optimiser sees them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Network {
    hidden: usize,
    /// Where the weights of the hidden layer's bias begin; before it, one row per input.
    bias: usize,
    outputs: Vec<SoftmaxOutput>,
    pub(super) weights: Vec<f64>,
}

/// One softmax over some classes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SoftmaxOutput {
    /// Where its weights begin: one row per class, then the biases.
    start: usize,
    classes: usize,
}

impl Network {
    /// Random weights of the hidden layer; those of the outputs are zero, so that every softmax is
    /// uniform at first.
    pub(super) fn new(
        inputs: usize,
        hidden: usize,
        classes: impl IntoIterator<Item = usize>,
        mut stream: Stream,
    ) -> Self {
        let bias = inputs * hidden;
        let mut end = bias + hidden;
        let mut outputs = Vec::new();
        for classes in classes {
            outputs.push(SoftmaxOutput { start: end, classes });
            end += classes * (hidden + 1);
        }

        let mut weights = vec![0.0; end];
        let scale = 1.0 / (hidden as f64).sqrt();
        weights[..bias].iter_mut().for_each(|weight| *weight = scale * stream.normal());
        Network { hidden, bias, outputs, weights }
    }

    /// Adds to the bias of a class of an output.
    pub(super) fn raise(&mut self, output: usize, class: usize, by: f64) {
        let SoftmaxOutput { start, classes } = self.outputs[output];
        self.weights[start + classes * self.hidden + class] += by;
    }

    /// The hidden layer.
    pub(super) fn hidden(&self, inputs: &[(usize, f64)]) -> Vec<f64> {
        let mut sums = self.weights[self.bias..self.bias + self.hidden].to_vec();
        for &(input, value) in inputs {
            let row = &self.weights[input * self.hidden..][..self.hidden];
            sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += value * weight);
        }
        sums.iter().map(|sum| sum.tanh()).collect()
    }

    /// The logarithms of the probabilities of an output.
    pub(super) fn log_probabilities(&self, output: usize, hidden: &[f64]) -> Vec<f64> {
        let SoftmaxOutput { start, classes } = self.outputs[output];
        let biases = &self.weights[start + classes * self.hidden..][..classes];
        let rows = self.weights[start..].chunks_exact(self.hidden);
        let logits: Vec<f64> = rows
            .zip(biases)
            .map(|(row, bias)| bias + row.iter().zip(hidden).map(|(w, h)| w * h).sum::<f64>())
            .collect();

        let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logits.iter().map(|logit| (logit - most).exp()).sum();
        logits.iter().map(|logit| logit - most - total.ln()).collect()
    }

    /// Adds to `gradient` what the derivatives by the logits of an output make of its weights, and
    /// to `hidden_gradient` what they make of the hidden layer.
    pub(super) fn backward_output(
        &self,
        output: usize,
        hidden: &[f64],
        logit_gradient: &[f64],
        hidden_gradient: &mut [f64],
        gradient: &mut [f64],
    ) {
        let SoftmaxOutput { start, classes } = self.outputs[output];
        for (class, &slope) in logit_gradient.iter().enumerate() {
            let row = start + class * self.hidden;
            gradient[start + classes * self.hidden + class] += slope;
            for unit in 0..self.hidden {
                gradient[row + unit] += slope * hidden[unit];
                hidden_gradient[unit] += slope * self.weights[row + unit];
            }
        }
    }

    /// Adds to `gradient` what the derivatives by the hidden layer make of its weights.
    pub(super) fn backward_hidden(
        &self,
        inputs: &[(usize, f64)],
        hidden: &[f64],
        hidden_gradient: &[f64],
        gradient: &mut [f64],
    ) {
        let slopes: Vec<f64> =
            hidden.iter().zip(hidden_gradient).map(|(h, slope)| slope * (1.0 - h * h)).collect();
        for (unit, slope) in slopes.iter().enumerate() {
            gradient[self.bias + unit] += slope;
        }
        for &(input, value) in inputs {
            let row = &mut gradient[input * self.hidden..][..self.hidden];
            row.iter_mut().zip(&slopes).for_each(|(sum, slope)| *sum += value * slope);
        }
    }
}
