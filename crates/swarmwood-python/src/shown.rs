//! What pictures are drawn from: the shape of a tree, and columns as the core reads them.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use swarmwood::learn::data::MISSING;
use swarmwood::model::picture::side;
use swarmwood::model::{Child, Prediction, Shape, Tree};
use swarmwood::read::{Columns, Part, Picked};

use crate::fault::guarded;
use crate::model::Model;
use crate::table::Table;

/// A node: feature, what the left and the right way are for, whether missing values go right, and
/// the children. Leaves are numbered after the nodes.
type NodeShown = (u32, String, String, bool, (usize, usize));

/// A leaf: the number or the class that it says, the chances of the classes if it tells them, and
/// its cover.
type LeafShown = (f64, Vec<f64>, f64);

/// Nodes, leaves, the number of training rows (0 where it is not known), and of what output the
/// leaves add to the score.
type TreeShown = (Vec<NodeShown>, Vec<LeafShown>, u64, Option<u32>);

/// A tree by its number, with raw scores in its leaves; or, without a number, a model that is one
/// tree, with what it predicts.
#[pyfunction]
#[pyo3(signature = (model, tree=None))]
pub fn tree_shown(model: PyRef<'_, Model>, tree: Option<usize>) -> PyResult<TreeShown> {
    guarded(|| {
        let model = &*model.model;
        let rows = model.provenance.rows;
        let Some(at) = tree else {
            let single =
                model.single_tree().map_err(|error| PyValueError::new_err(error.to_string()))?;
            let said = single.predictions.iter().map(|prediction| match prediction {
                Prediction::Number(number) => (*number, Vec::new()),
                Prediction::Class { class, probabilities } => {
                    (f64::from(*class), probabilities.clone())
                }
            });
            let leaves = said
                .zip(&single.tree.leaves)
                .map(|((value, chances), leaf)| (value, chances, leaf.cover));
            return Ok((nodes(model, &single.tree), leaves.collect(), rows, None));
        };
        let Some(member) = model.members().get(at) else {
            let message = format!(
                "there is no tree {at}; the model has {}, counted from 0",
                model.members().len()
            );
            return Err(PyValueError::new_err(message));
        };
        let tree = match &member.shape {
            Shape::Ordinary(tree) => tree,
            Shape::Oblivious(oblivious) => &oblivious.to_tree(),
        };
        let leaves = tree.leaves.iter().map(|leaf| (leaf.value, Vec::new(), leaf.cover)).collect();
        Ok((nodes(model, tree), leaves, rows, Some(member.output)))
    })
}

fn nodes(model: &swarmwood::model::Model, tree: &Tree) -> Vec<NodeShown> {
    let number = |child: Child| match child {
        Child::Node(node) => node as usize,
        Child::Leaf(leaf) => tree.nodes.len() + leaf as usize,
    };
    let shown = |node: &swarmwood::model::Node| {
        let label = |right| side(&model.schema, &node.split, right, true);
        let children = (number(node.left), number(node.right));
        (node.split.feature, label(false), label(true), node.split.missing_right, children)
    };
    tree.nodes.iter().map(shown).collect()
}

/// What codes stand for; none for numbers.
type Texts = Option<Vec<Option<String>>>;

/// A feature of a table as doubles, and, if they are codes, the texts they stand for; missing cells
/// are not a number.
#[pyfunction]
pub fn column_shown<'py>(
    py: Python<'py>,
    table: PyRef<'_, Table>,
    feature: usize,
) -> PyResult<(Bound<'py, PyByteArray>, Texts)> {
    guarded(|| {
        let lending = Arc::clone(&table.lending);
        let Some(field) = lending.fields().get(feature) else {
            return Err(PyValueError::new_err(format!("there is no feature {feature}")));
        };
        let all = Picked::Run(0..lending.rows());
        let mut numbers = Vec::new();
        if field.texts.is_some() {
            let mut codes = Vec::new();
            lending.codes(feature, &all, &mut codes);
            numbers.extend(
                codes
                    .into_iter()
                    .map(|code| if code == MISSING { f64::NAN } else { f64::from(code) }),
            );
        } else {
            lending.numbers(Part::Feature(feature), &all, &mut numbers);
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        Ok((PyByteArray::new(py, &bytes), field.texts.clone()))
    })
}
