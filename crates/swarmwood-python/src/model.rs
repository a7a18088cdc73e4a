//! A model: what it knows of itself, and its predictions.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use swarmwood::model::predict::Predictions;
use swarmwood::model::{
    self as core, Child, RuleFormat, RuleMerge, Shape, Test, TextOptions, format,
};
use swarmwood::predict::Scorer;
use swarmwood::{Error, Result, read, store};

use crate::fault::{guarded, raised};
use crate::table::Table;

/// A trained model.
#[pyclass(module = "swarmwood._core", frozen)]
pub struct Model {
    pub model: Arc<core::Model>,
}

/// What is asked of a model.
#[derive(Clone, Copy)]
enum Wanted {
    Numbers,
    Classes,
    Probabilities,
    Raw,
    Leaves,
    Contributions,
}

impl Wanted {
    fn of(word: &str) -> PyResult<Wanted> {
        Ok(match word {
            "numbers" => Wanted::Numbers,
            "classes" => Wanted::Classes,
            "probabilities" => Wanted::Probabilities,
            "raw" => Wanted::Raw,
            "leaves" => Wanted::Leaves,
            "contributions" => Wanted::Contributions,
            other => return Err(PyValueError::new_err(format!("nothing is called '{other}'"))),
        })
    }
}

/// One row of [`Model::nodes`]: tree, output, number, feature, threshold, levels, whether missing
/// goes right, children, gain or leaf value, cover.
type NodeRow = (
    usize,
    u32,
    usize,
    Option<u32>,
    Option<f64>,
    Option<Vec<String>>,
    bool,
    Option<(usize, usize)>,
    f64,
    f64,
);

#[pymethods]
impl Model {
    /// The model that the bytes of a file hold: ours, XGBoost's, LightGBM's or CatBoost's.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Model> {
        guarded(|| {
            let model =
                format::read(bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(Model { model: Arc::new(model) })
        })
    }

    /// The same from a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        guarded(|| {
            let model = py.detach(|| store::load(&path)).map_err(raised)?;
            Ok(Model { model: Arc::new(model) })
        })
    }

    /// Writes the model's file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        guarded(|| py.detach(|| store::save(&self.model, &path)).map_err(raised))
    }

    /// The text of the model's file.
    fn to_json(&self) -> PyResult<String> {
        guarded(|| store::to_text(&self.model).map_err(raised))
    }

    /// How pickle and copy make the model again.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        guarded(|| {
            let make = py.get_type::<Model>().getattr("from_bytes")?;
            Ok((make, (PyBytes::new(py, self.to_json()?.as_bytes()),)))
        })
    }

    /// Names and, for categories, levels of the features.
    #[getter]
    fn features(&self) -> Vec<(String, Option<Vec<String>>)> {
        let levels = |kind: &core::Kind| match kind {
            core::Kind::Number => None,
            core::Kind::Category { levels } => Some(levels.clone()),
        };
        self.model
            .schema
            .features
            .iter()
            .map(|feature| (feature.name.clone(), levels(&feature.kind)))
            .collect()
    }

    /// The same model with other names of its features.
    fn renamed(&self, names: Vec<String>) -> PyResult<Model> {
        guarded(|| {
            let mut model = (*self.model).clone();
            if names.len() != model.schema.features.len() {
                let (given, wanted) = (names.len(), model.schema.features.len());
                return Err(PyValueError::new_err(format!("{given} names for {wanted} features")));
            }
            model
                .schema
                .features
                .iter_mut()
                .zip(names)
                .for_each(|(feature, name)| feature.name = name);
            Ok(Model { model: Arc::new(model) })
        })
    }

    /// The names of the classes; none for regression.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.schema.target.kind.classes().to_vec()
    }

    #[getter]
    fn target(&self) -> String {
        self.model.schema.target.name.clone()
    }

    #[getter]
    fn outputs(&self) -> usize {
        self.model.outputs()
    }

    #[getter]
    fn rounds(&self) -> usize {
        self.model.rounds()
    }

    #[getter]
    fn trees(&self) -> usize {
        self.model.members().len()
    }

    #[getter]
    fn method(&self) -> String {
        self.model.provenance.method.clone()
    }

    #[getter]
    fn objective(&self) -> String {
        self.model.objective.clone()
    }

    /// The parameters it was trained with, every one that had an effect.
    #[getter]
    fn parameters(&self) -> Vec<(String, String)> {
        self.model
            .provenance
            .params
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// By feature: gain, cover and number of splits.
    fn importances(&self) -> PyResult<Vec<(f64, f64, u64)>> {
        guarded(|| {
            let importances = self.model.importances();
            Ok(importances
                .iter()
                .map(|feature| (feature.gain, feature.cover, feature.splits))
                .collect())
        })
    }

    /// The trees as text.
    fn text(&self) -> PyResult<String> {
        guarded(|| Ok(self.model.to_text(&TextOptions::default())))
    }

    /// A single tree as rules, in the format `text`, `markdown`, `json`, `sql` or `python`.
    fn rules(&self, format: &str) -> PyResult<String> {
        guarded(|| {
            let Some((_, format, _)) = RuleFormat::ALL.iter().find(|(name, ..)| *name == format)
            else {
                return Err(PyValueError::new_err(format!(
                    "there is no format '{format}' of rules"
                )));
            };
            let tree = self
                .model
                .single_tree()
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            let rules = tree
                .rules(RuleMerge::Cover)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(rules.to_text(*format))
        })
    }

    /// Every node and leaf of every tree; leaves are numbered after the nodes of their tree.
    fn nodes(&self) -> PyResult<Vec<NodeRow>> {
        guarded(|| Ok(self.node_rows()))
    }

    /// Predicts a table by its first rounds or all; answers the values as bytes (doubles, for
    /// leaves and classes 32-bit numbers), how many there are a row, and warnings.
    #[pyo3(signature = (table, wanted, first=None, threads=0))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: PyRef<'_, Table>,
        wanted: &str,
        first: Option<usize>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyByteArray>, usize, Vec<String>)> {
        guarded(|| {
            let wanted = Wanted::of(wanted)?;
            let (lending, model) = (Arc::clone(&table.lending), Arc::clone(&self.model));
            let (values, rows, warnings) = py
                .detach(|| {
                    let scorer = Scorer::new(&model, first, threads)?;
                    let mut values = Values::default();
                    let mut rows = 0;
                    let warnings = read::lent_scoring(lending, &model.schema, &mut |chunk| {
                        rows += chunk.rows;
                        values.add(&scorer, wanted, chunk)
                    })?;
                    Ok((values, rows, warnings))
                })
                .map_err(raised)?;
            let width = values.len() / rows.max(1);
            Ok((values.bytes(py)?, width, warnings))
        })
    }
}

impl Model {
    fn node_rows(&self) -> Vec<NodeRow> {
        let mut rows = Vec::new();
        for (tree, member) in self.model.members().iter().enumerate() {
            let shape = match &member.shape {
                Shape::Ordinary(tree) => tree,
                Shape::Oblivious(oblivious) => &oblivious.to_tree(),
            };
            let number = |child: Child| match child {
                Child::Node(node) => node as usize,
                Child::Leaf(leaf) => shape.nodes.len() + leaf as usize,
            };
            for (at, node) in shape.nodes.iter().enumerate() {
                let (feature, missing_right) = (node.split.feature, node.split.missing_right);
                let (threshold, levels) = match &node.split.test {
                    Test::Above(threshold) => (Some(*threshold), None),
                    Test::In(set) => {
                        let names = self.model.schema.features[feature as usize].kind.levels();
                        let name = |code: u32| names.get(code as usize).cloned();
                        (None, Some(set.iter().filter_map(name).collect()))
                    }
                };
                let children = Some((number(node.left), number(node.right)));
                let (gain, cover) = (node.gain, node.cover);
                let feature = Some(feature);
                rows.push((
                    tree,
                    member.output,
                    at,
                    feature,
                    threshold,
                    levels,
                    missing_right,
                    children,
                    gain,
                    cover,
                ));
            }
            for (at, leaf) in shape.leaves.iter().enumerate() {
                let at = shape.nodes.len() + at;
                rows.push((
                    tree,
                    member.output,
                    at,
                    None,
                    None,
                    None,
                    false,
                    None,
                    leaf.value,
                    leaf.cover,
                ));
            }
        }
        rows
    }
}

/// What was predicted so far.
#[derive(Default)]
struct Values {
    doubles: Vec<f64>,
    numbers: Vec<u32>,
}

impl Values {
    fn add(
        &mut self,
        scorer: &Scorer<'_>,
        wanted: Wanted,
        chunk: &swarmwood::learn::data::Chunk,
    ) -> Result<()> {
        let unfit = || Error::Run("the model has no such predictions".to_string());
        match wanted {
            Wanted::Raw => self.doubles.extend(scorer.raw(chunk)?),
            Wanted::Contributions => self.doubles.extend(scorer.contributions(chunk)?),
            Wanted::Leaves => self.numbers.extend(scorer.leaves(chunk)?),
            _ => match (wanted, scorer.predictions(chunk)?) {
                (Wanted::Numbers, Predictions::Numbers(numbers)) => self.doubles.extend(numbers),
                (Wanted::Probabilities, Predictions::Classes { probabilities, .. }) => {
                    self.doubles.extend(probabilities);
                }
                (Wanted::Classes, Predictions::Classes { classes, .. }) => {
                    self.numbers.extend(classes)
                }
                _ => return Err(unfit()),
            },
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.doubles.len() + self.numbers.len()
    }

    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let length = size_of_val(&self.doubles[..]) + size_of_val(&self.numbers[..]);
        PyByteArray::new_with(py, length, |bytes| {
            let (doubles, numbers) = bytes.split_at_mut(size_of_val(&self.doubles[..]));
            for (bytes, value) in doubles.chunks_exact_mut(8).zip(&self.doubles) {
                bytes.copy_from_slice(&value.to_ne_bytes());
            }
            for (bytes, value) in numbers.chunks_exact_mut(4).zip(&self.numbers) {
                bytes.copy_from_slice(&value.to_ne_bytes());
            }
            Ok(())
        })
    }
}
