//! A view of a model as one tree, which can be read, drawn and converted to decision rules.
//!
//! For a number or two classes the model has one tree. For three or more classes it has one vector
//! tree, or one round of as many trees as there are classes, all with the same splits: together
//! they are one tree whose leaves hold a distribution. Start values are added to the leaves in the order of
//! prediction, so that a leaf predicts exactly what the model predicts for its rows.

use std::borrow::Cow;

use crate::calibration::Calibration;
use crate::ensemble::{Body, Link, Member, Model, Provenance, Shape};
use crate::predict::Prediction;
use crate::schema::{Schema, Target, TargetKind};
use crate::training_stats::{LeafRows, TrainingStats};
use crate::tree::{Leaf, Tree};

/// One tree with a prediction in each leaf.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleTree<'a> {
    /// The model that is viewed.
    pub model: &'a Model,
    /// The splits and their children; leaf values are raw scores without the start value.
    pub tree: Cow<'a, Tree>,
    /// The model's prediction in each leaf, in the order of the tree's leaves.
    pub predictions: Vec<Prediction>,
    /// The share of the training rows in each leaf: exact if they were counted, else by cover; they
    /// sum to 1, or are all 0 if covers are unknown.
    pub shares: Vec<f64>,
}

/// Why a model cannot be viewed as one tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SingleTreeError {
    /// There are no trees.
    #[error("the model is linear; only one tree can be shown as a picture")]
    Linear,
    /// There is more than one round.
    #[error(
        "the model has {rounds} rounds of trees that add up; only one tree can be shown as a picture: train \
         with --method swarm-tree or cart, or with --trees 1 --learning-rate 1"
    )]
    Rounds {
        /// How many rounds.
        rounds: usize,
    },
    /// There are several columns to predict.
    #[error(
        "the model predicts {columns} columns, with trees of their own; only one tree can be shown \
         as a picture: train one model per column, or draw one of its trees"
    )]
    Columns {
        /// How many.
        columns: usize,
    },
    /// The trees of the classes have different splits.
    #[error(
        "the model has one tree per class and their rules differ; only one tree can be shown as a picture: \
         train with --method swarm-tree or cart, which make one tree for all classes"
    )]
    Classes,
}

impl Model {
    /// The model as one tree, if it can be viewed so.
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
    /// // A model with one split: age > 30 adds 2, else 1; it starts from 0.5.
    /// let single = model.single_tree()?;
    /// assert_eq!(single.predictions, [Prediction::Number(1.5), Prediction::Number(2.5)]);
    /// assert_eq!(single.shares, [0.5, 0.5]);
    /// # Ok::<(), SingleTreeError>(())
    /// ```
    pub fn single_tree(&self) -> Result<SingleTree<'_>, SingleTreeError> {
        let Body::Trees(members) = &self.body else { return Err(SingleTreeError::Linear) };
        if let columns @ 2.. = self.schema.target.kind.columns().len() {
            return Err(SingleTreeError::Columns { columns });
        }
        if self.rounds() > 1 {
            return Err(SingleTreeError::Rounds { rounds: self.rounds() });
        }

        let trees: Vec<Cow<'_, Tree>> =
            members.iter().map(|member| member.shape.to_tree()).collect();
        let tree = match trees.split_first() {
            None => Cow::Owned(Tree::leaf(Leaf { value: 0.0, cover: self.provenance.rows as f64 })),
            Some((first, rest)) if rest.iter().all(|other| same_splits(first, other)) => {
                first.clone()
            }
            Some(_) => return Err(SingleTreeError::Classes),
        };

        let predictions =
            (0..tree.leaves.len()).map(|leaf| self.leaf_prediction(members, leaf)).collect();
        let shares = self.leaf_shares(0, &tree);
        Ok(SingleTree { model: self, tree, predictions, shares })
    }

    /// The share of the training rows in each leaf of one of the trees: exact if they were counted,
    /// else by cover; all 0 if covers are unknown.
    pub(crate) fn leaf_shares(&self, tree: usize, leaves: &Tree) -> Vec<f64> {
        let counted = |leaf: usize| self.leaf_rows(tree, leaf).map(|rows| rows as f64);
        let counts: Option<Vec<f64>> = (0..leaves.leaves.len()).map(counted).collect();
        let weights =
            counts.unwrap_or_else(|| leaves.leaves.iter().map(|leaf| leaf.cover).collect());
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| if total > 0.0 { weight / total } else { 0.0 }).collect()
    }

    /// One tree of the model as a model of its own, which predicts what that tree adds to its raw
    /// score: any tree of an ensemble can be drawn like a single one. `None` if there is no such
    /// tree.
    ///
    /// A vector tree adds to all raw scores, so its model predicts the classes. Shares are preserved,
    /// and the number of rows if they were counted.
    pub fn extract_tree(&self, at: usize) -> Option<Model> {
        let member = self.members().get(at)?;
        let (kind, link, base) = match member.shape {
            Shape::Vector(_) => {
                (self.schema.target.kind.clone(), self.link, vec![0.0; self.outputs()])
            }
            _ => (TargetKind::Number, Link::Identity, vec![0.0]),
        };
        let width = kind.classes().len().max(1);
        let counts = (0..member.shape.leaves().len()).map(|leaf| {
            let counts = self.leaf_classes(at, leaf)?;
            Some(if width == 1 { vec![counts.iter().sum()] } else { counts.to_vec() })
        });
        let counts: Option<Vec<Vec<u64>>> = counts.collect();
        let leaf_rows = counts.map(|counts| LeafRows { counts: counts.concat() });
        let rows = leaf_rows.as_ref().map_or(0, |_| self.provenance.rows);
        let stats =
            TrainingStats { leaf_rows: leaf_rows.into_iter().collect(), ..Default::default() };
        let column = self.schema.target.kind.columns().get(member.output as usize);
        let name =
            column.filter(|_| kind == TargetKind::Number).unwrap_or(&self.schema.target.name);
        let target = Target { name: name.clone(), kind };
        Some(Model {
            schema: Schema { target, ..self.schema.clone() },
            link,
            objective: self.objective.clone(),
            base,
            body: Body::Trees(vec![Member { output: 0, shape: member.shape.clone() }]),
            provenance: Provenance { rows, stats, ..self.provenance.clone() },
            calibration: Calibration::default(),
        })
    }

    /// The model of one of several columns that are predicted: its raw score is the one of that
    /// column. `None` if there is no such column.
    pub fn column_model(&self, at: usize) -> Option<Model> {
        let name = self.schema.target.kind.columns().get(at)?;
        let body = match &self.body {
            Body::Linear(functions) => Body::Linear(vec![functions[at].clone()]),
            Body::Trees(members) => {
                let shapes = members.iter().filter_map(|member| match &member.shape {
                    Shape::Vector(vector) => Some(Shape::Ordinary(vector.to_tree(at))),
                    shape => (member.output as usize == at).then(|| shape.clone()),
                });
                let mut shapes: Vec<Shape> = shapes.collect();
                // Where a column has fewer trees than another, the last rounds add nothing.
                let adds = |shape: &Shape| shape.depth() > 0 || shape.values().any(|v| v != 0.0);
                shapes.truncate(shapes.iter().rposition(adds).map_or(0, |last| last + 1));
                let member = |shape| Member { output: 0, shape };
                Body::Trees(shapes.into_iter().map(member).collect())
            }
        };
        let target = Target { name: name.clone(), kind: TargetKind::Number };
        let provenance = Provenance { stats: TrainingStats::default(), ..self.provenance.clone() };
        Some(Model {
            schema: Schema { target, ..self.schema.clone() },
            link: self.link,
            objective: self.objective.clone(),
            base: vec![self.base[at]],
            body,
            provenance,
            calibration: Calibration::default(),
        })
    }

    /// The model's prediction in one leaf of trees that all share their splits.
    fn leaf_prediction(&self, members: &[Member], leaf: usize) -> Prediction {
        let mut raw = self.base.clone();
        for member in members {
            let values = match &member.shape {
                Shape::Vector(vector) => vector.leaf_values(leaf),
                shape => &[shape.leaves()[leaf].value],
            };
            let added = raw[member.output as usize..].iter_mut().zip(values);
            added.for_each(|(raw, value)| *raw += value);
        }
        self.prediction(&raw)
    }
}

impl SingleTree<'_> {
    /// Number of training rows, if known.
    pub fn rows(&self) -> Option<f64> {
        let rows = self.model.provenance.rows;
        (rows > 0).then_some(rows as f64)
    }

    /// The share of each class among the training rows of some leaves: exact if they were counted,
    /// else by the predicted probabilities; empty for regression, all zero if covers are unknown.
    pub fn distribution(&self, leaves: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.classes().len()];
        let mut total = 0.0;
        for leaf in leaves {
            if let Some(counts) = self.model.leaf_classes(0, leaf).filter(|_| !sums.is_empty()) {
                sums.iter_mut().zip(counts).for_each(|(sum, &count)| *sum += count as f64);
                total += counts.iter().sum::<u64>() as f64;
            } else if let Prediction::Class { probabilities, .. } = &self.predictions[leaf] {
                sums.iter_mut()
                    .zip(probabilities)
                    .for_each(|(sum, p)| *sum += self.shares[leaf] * p);
                total += self.shares[leaf];
            }
        }
        if total > 0.0 {
            sums.iter_mut().for_each(|sum| *sum /= total);
        }
        sums
    }

    /// The names of the classes; empty for regression.
    pub fn classes(&self) -> &[String] {
        self.model.schema.target.kind.classes()
    }
}

/// Whether two trees have the same splits at the same nodes; values, gains and covers may differ.
pub(crate) fn same_splits(a: &Tree, b: &Tree) -> bool {
    let same = |(a, b): (&crate::tree::Node, &crate::tree::Node)| {
        a.split == b.split && a.left == b.left && a.right == b.right
    };
    a.nodes.len() == b.nodes.len() && a.nodes.iter().zip(&b.nodes).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{SampleRng, SampleSize, model, oblivious};
    use crate::*;

    fn base() -> Model {
        let mut model = model(3, SampleSize { features: 5, rounds: 0, leaves: 4, levels: 2 });
        (model.link, model.base) = (Link::Softmax, vec![0.25, -0.5, 0.0]);
        model.schema.target.kind = TargetKind::Classes(["a", "b", "c"].map(String::from).to_vec());
        model.body = Body::Trees(vec![]);
        model
    }

    /// A round of three trees with one structure is one tree; its leaves predict what the model
    /// predicts.
    #[test]
    fn classes_share_their_splits() {
        let mut model = base();
        let rng = &mut SampleRng(7);
        let tree = oblivious(rng, &model.schema.features, 3);
        let members = |tree: &ObliviousTree| -> Vec<Member> {
            (0..3)
                .map(|output| {
                    let mut tree = tree.clone();
                    tree.leaves.iter_mut().enumerate().for_each(|(at, leaf)| {
                        leaf.value += (at as f64 * 7.0 + f64::from(output)).sin()
                    });
                    Member { output, shape: Shape::Oblivious(tree) }
                })
                .collect()
        };
        model.body = Body::Trees(members(&tree));
        assert_eq!(model.check(), Ok(()));
        let single = model.single_tree().unwrap();
        for row in samples::rows(1, &model, 200) {
            let leaf = model.leaves_row(&row, None).unwrap()[0];
            assert_eq!(model.predict_row(&row).unwrap(), single.predictions[leaf as usize]);
        }
        assert!((single.distribution(0..8).iter().sum::<f64>() - 1.0).abs() < 1e-12);

        // As a vector tree it is the same tree.
        let scalar: Vec<f64> = model.members().iter().flat_map(|one| one.shape.values()).collect();
        let values = (0..8).flat_map(|leaf| scalar.iter().copied().skip(leaf).step_by(8)).collect();
        let mut structure = single.tree.clone().into_owned();
        structure.leaves.iter_mut().for_each(|leaf| leaf.value = 0.0);
        let shape = Shape::Vector(VectorTree { tree: structure, values });
        let vector =
            Model { body: Body::Trees(vec![Member { output: 0, shape }]), ..model.clone() };
        assert_eq!(vector.check(), Ok(()));
        let as_vector = vector.single_tree().unwrap();
        assert_eq!(as_vector.predictions, single.predictions);
        assert_eq!((vector.rounds(), as_vector.shares), (1, single.shares.clone()));
        let mut other = model.clone();
        let Body::Trees(trees) = &mut other.body else { unreachable!() };
        let Shape::Oblivious(last) = &mut trees[2].shape else { unreachable!() };
        last.levels[1].split.missing_right ^= true;
        assert_eq!(other.single_tree().unwrap_err(), SingleTreeError::Classes);
        other.body = Body::Trees([members(&tree), members(&tree)].concat());
        assert_eq!(other.single_tree().unwrap_err(), SingleTreeError::Rounds { rounds: 2 });
    }

    #[test]
    fn trees_by_themselves_add_up_to_the_raw_score() {
        let model = model(5, SampleSize { features: 4, rounds: 3, leaves: 6, levels: 2 });
        let alone: Vec<Model> = (0..).map_while(|at| model.extract_tree(at)).collect();
        assert_eq!(alone.len(), model.members().len());
        for row in samples::rows(2, &model, 50) {
            let mut raw = model.base.clone();
            for (member, alone) in model.members().iter().zip(&alone) {
                assert_eq!(alone.check(), Ok(()));
                let added = alone.raw_row(&row, None).unwrap();
                let outputs = raw[member.output as usize..].iter_mut().zip(added);
                outputs.for_each(|(raw, added)| *raw += added);
            }
            let expected = model.raw_row(&row, None).unwrap();
            assert!(raw.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9));
        }
        assert!(alone.iter().all(|tree| tree.single_tree().is_ok()));
    }

    #[test]
    fn columns_have_models_of_their_own() {
        let size = SampleSize { features: 4, rounds: 5, leaves: 6, levels: 2 };
        let mut found = 0;
        for model in (0..40).map(|seed| model(seed, size)) {
            let columns = model.schema.target.kind.columns();
            let alone: Vec<Model> = (0..).map_while(|at| model.column_model(at)).collect();
            assert_eq!(alone.len(), columns.len());
            for (at, alone) in alone.iter().enumerate() {
                assert_eq!((alone.check(), &alone.schema.target.name), (Ok(()), &columns[at]));
                found += 1;
                for row in samples::rows(2, &model, 50) {
                    let whole = model.raw_row(&row, None).unwrap();
                    assert_eq!(alone.raw_row(&row, None).unwrap(), [whole[at]]);
                }
            }
        }
        assert!(found > 6, "{found}");
    }

    #[test]
    fn a_constant_is_one_leaf() {
        let model = base();
        let single = model.single_tree().unwrap();
        assert_eq!((single.tree.leaves.len(), single.shares[0]), (1, 1.0));
        assert!(matches!(single.predictions[0], Prediction::Class { class: 0, .. }));
        let linear = Model { body: Body::Linear(vec![]), ..model.clone() };
        assert_eq!(linear.single_tree().unwrap_err(), SingleTreeError::Linear);
    }
}
