//! Data for plots: nodes and leaves of a tree, and columns as the core reads them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use swarmwood::learn::data::MISSING;
use swarmwood::model::picture::split_side;
use swarmwood::model::{Child, Prediction, Tree};
use swarmwood::read::{Columns, RowSelection, TableColumn};

use crate::errors::guarded;
use crate::model::{PyModel, single_tree};
use crate::table::PyTable;

/// A node: feature, labels of the left and the right branch, whether missing values go right, and
/// the children. Leaves are numbered after the nodes.
type PlotNode = (u32, String, String, bool, (usize, usize));

/// A leaf: the number or the class that it predicts, the probabilities of the classes if it has
/// them, and its cover.
type PlotLeaf = (f64, Vec<f64>, f64);

/// Nodes, leaves, the number of training rows (0 if unknown), and the output to whose score the
/// leaves add.
type PlotTree = (Vec<PlotNode>, Vec<PlotLeaf>, u64, Option<u32>);

/// A tree by its index, with raw scores in its leaves; without an index the tree of a model that
/// is one tree, with predictions in its leaves.
#[pyfunction]
#[pyo3(signature = (model, tree=None))]
pub fn plot_tree(model: PyRef<'_, PyModel>, tree: Option<usize>) -> PyResult<PlotTree> {
    guarded(|| {
        let model = model.core();
        let rows = model.provenance.rows;
        // The leaves of a vector tree hold a distribution, as those of a single tree do.
        let is_vector =
            |at: usize| model.members().get(at).is_some_and(|one| one.shape.is_vector());
        let vector = tree.filter(|&at| is_vector(at)).and_then(|at| model.extract_tree(at));
        let Some(at) = tree.filter(|_| vector.is_none()) else {
            let single = single_tree(vector.as_ref().unwrap_or(model))?;
            let predicted = single.predictions.iter().map(|prediction| match prediction {
                Prediction::Number(number) => (*number, Vec::new()),
                // Models of several columns are no single tree.
                Prediction::Numbers(_) => (f64::NAN, Vec::new()),
                Prediction::Class { class, probabilities } => {
                    (f64::from(*class), probabilities.clone())
                }
            });
            let covers = single.tree.leaves.iter().enumerate().map(|(at, leaf)| {
                single.model.leaf_rows(0, at).map_or(leaf.cover, |rows| rows as f64)
            });
            let leaves = predicted
                .zip(covers)
                .map(|((value, probabilities), cover)| (value, probabilities, cover));
            return Ok((nodes(model, &single.tree), leaves.collect(), rows, None));
        };
        let Some(member) = model.members().get(at) else {
            let message = format!(
                "there is no tree {at}; the model has {}, counted from 0",
                model.members().len()
            );
            return Err(PyValueError::new_err(message));
        };
        let tree = member.shape.to_tree();
        let leaves = tree.leaves.iter().enumerate().map(|(leaf_at, leaf)| {
            let cover = model.leaf_rows(at, leaf_at).map_or(leaf.cover, |rows| rows as f64);
            (leaf.value, Vec::new(), cover)
        });
        let leaves = leaves.collect();
        Ok((nodes(model, &tree), leaves, rows, Some(member.output)))
    })
}

fn nodes(model: &swarmwood::model::Model, tree: &Tree) -> Vec<PlotNode> {
    let number = |child: Child| match child {
        Child::Node(node) => node as usize,
        Child::Leaf(leaf) => tree.nodes.len() + leaf as usize,
    };
    let plot_node = |node: &swarmwood::model::Node| {
        let label = |right| split_side(&model.schema, &node.split, right, true);
        let children = (number(node.left), number(node.right));
        (node.split.feature, label(false), label(true), node.split.missing_right, children)
    };
    tree.nodes.iter().map(plot_node).collect()
}

/// The levels of a categorical feature; none for a numerical one.
type PlotLevels = Option<Vec<Option<String>>>;

/// The values of a feature as doubles and, if they are codes, the levels they stand for; missing
/// values are NaN.
#[pyfunction]
pub fn plot_column<'py>(
    py: Python<'py>,
    table: PyRef<'_, PyTable>,
    feature: usize,
) -> PyResult<(Bound<'py, PyByteArray>, PlotLevels)> {
    guarded(|| {
        let columns = table.columns();
        let Some(field) = columns.fields().get(feature) else {
            return Err(PyValueError::new_err(format!("there is no feature {feature}")));
        };
        let all = RowSelection::Range(0..columns.rows());
        let mut numbers = Vec::new();
        if field.texts.is_some() {
            let mut codes = Vec::new();
            columns.codes(feature, &all, &mut codes);
            numbers.extend(
                codes
                    .into_iter()
                    .map(|code| if code == MISSING { f64::NAN } else { f64::from(code) }),
            );
        } else {
            columns.numbers(TableColumn::Feature(feature), &all, &mut numbers);
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        Ok((PyByteArray::new(py, &bytes), field.texts.clone()))
    })
}
