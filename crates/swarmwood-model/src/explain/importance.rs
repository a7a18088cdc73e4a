//! Feature importances of a model.

use crate::ensemble::{Body, LinearFunction, LinearTerm, Model, Shape};
use crate::tree::VectorTree;

/// The importance of one feature.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Importance {
    /// Sum of the gains of its splits. For a linear model: the sum over the outputs of the absolute
    /// weight, for a category of the mean absolute weight of its levels.
    pub gain: f64,
    /// Sum of the covers of its splits; a level of an oblivious tree covers all rows. 0 for a
    /// linear model.
    pub cover: f64,
    /// Number of splits on the feature; a level of an oblivious tree is one split. For a linear
    /// model: the number of nonzero terms.
    pub splits: u64,
}

impl Model {
    /// The importance of each feature, in the order of the schema.
    ///
    /// ```
    /// # use swarmwood_model::*;
    /// # let split = Split { feature: 0, test: Test::Above(30.0), missing_right: true };
    /// # let leaf = |value| Leaf { value, cover: 1.0 };
    /// # let node = Node { split, left: Child::Leaf(0), right: Child::Leaf(1), gain: 7.0, cover: 2.0 };
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
    /// // A model with one split on its one feature.
    /// assert_eq!(model.importances(), [explain::Importance { gain: 7.0, cover: 2.0, splits: 1 }]);
    /// ```
    pub fn importances(&self) -> Vec<Importance> {
        let mut importances = vec![Importance::default(); self.schema.features.len()];
        let mut count = |feature: u32, gain: f64, cover: f64| {
            let importance = &mut importances[feature as usize];
            importance.gain += gain;
            importance.cover += cover;
            importance.splits += 1;
        };

        match &self.body {
            Body::Trees(members) => {
                for member in members {
                    match &member.shape {
                        Shape::Ordinary(tree) | Shape::Vector(VectorTree { tree, .. }) => {
                            tree.nodes
                                .iter()
                                .for_each(|node| count(node.split.feature, node.gain, node.cover));
                        }
                        Shape::Oblivious(tree) => {
                            let cover: f64 = tree.leaves.iter().map(|leaf| leaf.cover).sum();
                            tree.levels
                                .iter()
                                .for_each(|level| count(level.split.feature, level.gain, cover));
                        }
                    }
                }
            }
            Body::Linear(functions) => {
                functions.iter().for_each(|function| count_terms(function, &mut importances))
            }
        }
        importances
    }
}

fn count_terms(function: &LinearFunction, importances: &mut [Importance]) {
    for (term, importance) in function.terms.iter().zip(importances) {
        let size = match term {
            LinearTerm::Number { weight, .. } => weight.abs(),
            LinearTerm::Category { weights } => {
                weights.iter().map(|weight| weight.abs()).sum::<f64>() / weights.len().max(1) as f64
            }
        };
        importance.gain += size;
        importance.splits += u64::from(size != 0.0);
    }
}
