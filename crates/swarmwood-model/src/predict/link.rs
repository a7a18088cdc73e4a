//! From raw scores to predictions.

use crate::ensemble::{Link, Model};
use crate::predict::block::{BlockError, FeatureValue};

/// The prediction for one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Prediction {
    /// Of a regression model.
    Number(f64),
    /// Of a regression model of several columns: one number each.
    Numbers(Vec<f64>),
    /// Of a classification model.
    Class {
        /// The predicted class, an index into the target's classes; see [`Model::class`].
        class: u32,
        /// One probability per class.
        probabilities: Vec<f64>,
    },
}

/// The predictions for a block of rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Predictions {
    /// Of a regression model: one number per row, or row by row one per column of the target.
    Numbers(Vec<f64>),
    /// Of a classification model.
    Classes {
        /// The predicted class of each row, an index into the target's classes; see
        /// [`Model::class`].
        classes: Vec<u32>,
        /// Row by row one probability per class.
        probabilities: Vec<f64>,
    },
}

impl Link {
    /// The predicted number for a raw score of a regression model. It is finite for a finite score:
    /// where an exponential would not be, it is the largest number.
    ///
    /// Classification links return the raw score itself: use [`Link::probabilities`].
    pub fn number(self, raw: f64) -> f64 {
        match self {
            Link::Identity | Link::Sigmoid | Link::Softmax => raw,
            Link::Exp => raw.exp().min(f64::MAX),
            Link::ExpM1 => raw.exp_m1().min(f64::MAX),
        }
    }

    /// Appends the class probabilities for the raw scores of a row to `out`: two for
    /// [`Link::Sigmoid`], as many as scores for [`Link::Softmax`], none for regression links.
    ///
    /// ```
    /// let mut probabilities = vec![];
    /// swarmwood_model::Link::Sigmoid.probabilities(&[0.0], &mut probabilities);
    /// assert_eq!(probabilities, [0.5, 0.5]);
    /// ```
    pub fn probabilities(self, raw: &[f64], out: &mut Vec<f64>) {
        match self {
            Link::Identity | Link::Exp | Link::ExpM1 => {}
            Link::Sigmoid => {
                // Two calls of `exp` instead of `1 - p` keep a probability near 0 accurate.
                let score = raw.first().copied().unwrap_or(0.0);
                out.extend([1.0 / (1.0 + score.exp()), 1.0 / (1.0 + (-score).exp())]);
            }
            Link::Softmax => {
                // Subtracting the largest score prevents overflow.
                let top = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let start = out.len();
                out.extend(raw.iter().map(|score| (score - top).exp()));
                let sum: f64 = out[start..].iter().sum();
                out[start..].iter_mut().for_each(|probability| *probability /= sum);
            }
        }
    }

    /// The most probable class of a row; the first one in case of ties.
    pub fn class(self, raw: &[f64]) -> u32 {
        match self {
            Link::Sigmoid => u32::from(raw.first().is_some_and(|&score| score > 0.0)),
            _ => {
                let mut best = 0;
                for (class, score) in raw.iter().enumerate() {
                    if *score > raw[best] {
                        best = class;
                    }
                }
                best as u32
            }
        }
    }

    /// Whether predictions are classes.
    pub fn is_classification(self) -> bool {
        matches!(self, Link::Sigmoid | Link::Softmax)
    }
}

impl Model {
    /// The predicted class of a row: the most probable one, the first one in case of ties; of two
    /// classes the second one where its probability is greater than the model's threshold.
    pub fn class(&self, raw: &[f64]) -> u32 {
        match self.calibration.threshold {
            Some(_) => {
                let cut = self.calibration.raw_threshold();
                u32::from(raw.first().is_some_and(|&score| score > cut))
            }
            None => self.link.class(raw),
        }
    }

    /// The prediction for the raw scores of a row.
    pub fn prediction(&self, raw: &[f64]) -> Prediction {
        if !self.schema.target.kind.columns().is_empty() {
            return Prediction::Numbers(raw.iter().map(|&raw| self.link.number(raw)).collect());
        }
        if !self.link.is_classification() {
            return Prediction::Number(self.link.number(raw.first().copied().unwrap_or(0.0)));
        }
        let mut probabilities = Vec::new();
        self.link.probabilities(raw, &mut probabilities);
        Prediction::Class { class: self.class(raw), probabilities }
    }

    /// The predictions for raw scores, which are stored row by row, [`Model::outputs`] each.
    pub fn predictions(&self, raw: &[f64]) -> Predictions {
        if !self.link.is_classification() {
            return Predictions::Numbers(
                raw.iter().map(|&score| self.link.number(score)).collect(),
            );
        }
        let rows = raw.chunks_exact(self.outputs().max(1));
        let classes = rows.clone().map(|row| self.class(row)).collect();
        let mut probabilities =
            Vec::with_capacity(raw.len() * if self.link == Link::Sigmoid { 2 } else { 1 });
        rows.for_each(|row| self.link.probabilities(row, &mut probabilities));
        Predictions::Classes { classes, probabilities }
    }

    /// The prediction for one row, by traversal.
    ///
    /// ```
    /// use swarmwood_model::{*, predict::{Prediction, FeatureValue}};
    /// # let split = Split { feature: 0, test: Test::Above(30.0), missing_right: true };
    /// # let leaf = |value| Leaf { value, cover: 1.0 };
    /// # let node = Node { split, left: Child::Leaf(0), right: Child::Leaf(1), gain: 1.0, cover: 2.0 };
    /// # let tree = Tree { nodes: vec![node], leaves: vec![leaf(1.0), leaf(2.0)] };
    /// # let model = Model {
    /// #     schema: Schema {
    /// #         features: vec![Feature { name: "age".into(), kind: Kind::Number }],
    /// #         target: Target { name: "price".into(), kind: TargetKind::Number },
    /// #         dates: Vec::new(),
    /// #     },
    /// #     link: Link::Identity,
    /// #     objective: "squared".into(),
    /// #     base: vec![0.5],
    /// #     body: Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree) }]),
    /// #     provenance: Provenance::default(),
    /// #     calibration: Calibration::default(),
    /// # };
    /// // A model with one split: age > 30 adds 2, else 1; it starts from 0.5.
    /// assert_eq!(model.predict_row(&[FeatureValue::Number(31.0)]), Ok(Prediction::Number(2.5)));
    /// ```
    pub fn predict_row(&self, row: &[FeatureValue]) -> Result<Prediction, BlockError> {
        Ok(self.prediction(&self.raw_row(row, None)?))
    }
}
