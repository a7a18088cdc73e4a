//! A trained model: its description and its predictions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};
use swarmwood::export::{
    BundleEntry, BundleReport, BundleRequest, ExportReport, ExportRequest, VerifyOutcome,
    VerifyRequest, choose_format, is_bundle, write_bundle, write_export,
};
use swarmwood::model::export::{ExportContent, ExportInput, ExportOptions, export_text, find};
use swarmwood::model::{
    self as core, Child, Shape, SingleTree, SingleTreeError, Test, TextOptions, format,
};
use swarmwood::predict::Scorer;
use swarmwood::read::Columns;
use swarmwood::{read, store};

use crate::errors::{guarded, python_error};
use crate::prediction_buffer::{PredictionBuffer, PredictionOutput};
use crate::row_scorer::PyRowScorer;
use crate::table::PyTable;

/// A trained model.
#[pyclass(module = "swarmwood._core", name = "Model", frozen)]
pub struct PyModel {
    model: Arc<core::Model>,
}

impl PyModel {
    pub fn new(model: core::Model) -> PyModel {
        PyModel { model: Arc::new(model) }
    }

    pub fn core(&self) -> &core::Model {
        &self.model
    }
}

/// The model as one tree; the error proposes estimators of Python.
pub fn single_tree(model: &core::Model) -> PyResult<SingleTree<'_>> {
    let only = "only one tree can be shown as a plot";
    model.single_tree().map_err(|error| {
        PyValueError::new_err(match error {
            SingleTreeError::Rounds { rounds } => format!(
                "the model has {rounds} rounds of trees that add up; {only}: use a \
                 SwarmTreeClassifier or SwarmTreeRegressor, or n_estimators=1 with learning_rate=1"
            ),
            SingleTreeError::Classes => format!(
                "the model has one tree per class and their rules differ; {only}: use a \
                 SwarmTreeClassifier, which fits one tree for all classes"
            ),
            other => other.to_string(),
        })
    })
}

/// Up to so many rows are predicted one by one.
const FEW_ROWS: usize = 8;

/// A node or a leaf of a tree, as a dictionary.
#[derive(IntoPyObject)]
struct NodeRecord {
    tree: usize,
    /// `None` for a tree that adds to all outputs.
    output: Option<u32>,
    /// The index within the tree; leaves follow the nodes.
    node: usize,
    /// `None` for leaves.
    feature: Option<u32>,
    threshold: Option<f64>,
    levels: Option<Vec<String>>,
    missing_right: bool,
    children: Option<(usize, usize)>,
    /// The gain of a split, or the value of a leaf; `None` if the leaf has one value per output.
    gain: Option<f64>,
    /// The values of a leaf that has one per output.
    values: Option<Vec<f64>>,
    cover: f64,
}

/// One format of a bundle, as a dictionary.
#[derive(IntoPyObject)]
struct FormatRecord {
    format: String,
    files: Vec<String>,
    verified: bool,
    reason: Option<String>,
    raw_difference: Option<f64>,
}

impl FormatRecord {
    fn new(entry: BundleEntry) -> FormatRecord {
        let (verified, reason, raw_difference) = match entry.outcome.map(|found| found.outcome) {
            Ok(VerifyOutcome::Verified { raw, .. }) => (true, None, Some(raw)),
            Ok(VerifyOutcome::Unavailable(reason)) | Err(reason) => (false, Some(reason), None),
        };
        FormatRecord { format: entry.format, files: entry.files, verified, reason, raw_difference }
    }
}

/// What was exported, as a dictionary.
#[derive(IntoPyObject)]
struct ExportRecord {
    files: Vec<PathBuf>,
    note: Option<String>,
    verified: bool,
    reason: Option<String>,
    rows: Option<usize>,
    raw_difference: Option<f64>,
    prediction_difference: Option<f64>,
    /// The formats of a bundle.
    formats: Option<Vec<FormatRecord>>,
}

impl ExportRecord {
    fn of_bundle(report: BundleReport, path: &Path) -> ExportRecord {
        let is_folder = path.is_dir();
        let file = |name: &String| path.join(name);
        let formats: Vec<FormatRecord> =
            report.entries.into_iter().map(FormatRecord::new).collect();
        ExportRecord {
            files: match is_folder {
                true => report.files.iter().map(file).collect(),
                false => vec![path.to_path_buf()],
            },
            note: None,
            verified: formats.iter().all(|format| format.verified || format.files.is_empty()),
            reason: None,
            rows: None,
            raw_difference: None,
            prediction_difference: None,
            formats: Some(formats),
        }
    }

    fn new(report: ExportReport) -> ExportRecord {
        let mut record = ExportRecord {
            files: report.files,
            note: report.note,
            verified: false,
            reason: None,
            rows: None,
            raw_difference: None,
            prediction_difference: None,
            formats: None,
        };
        match report.verification.map(|verification| verification.outcome) {
            None => {}
            Some(VerifyOutcome::Unavailable(reason)) => record.reason = Some(reason),
            Some(VerifyOutcome::Verified { rows, raw, prediction }) => {
                record.verified = true;
                record.rows = Some(rows);
                record.raw_difference = Some(raw);
                record.prediction_difference = prediction;
            }
        }
        record
    }
}

#[pymethods]
impl PyModel {
    /// Reads the bytes of a model file of this library, XGBoost, LightGBM or CatBoost.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<PyModel> {
        guarded(|| {
            let model =
                format::read(bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(PyModel::new(model))
        })
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyModel> {
        guarded(|| {
            let model = py.detach(|| store::load(&path)).map_err(python_error)?;
            Ok(PyModel::new(model))
        })
    }

    /// Writes the model file atomically.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        guarded(|| py.detach(|| store::save(&self.model, &path)).map_err(python_error))
    }

    /// The text of the model file.
    fn to_json(&self) -> PyResult<String> {
        guarded(|| store::to_text(&self.model).map_err(python_error))
    }

    /// Exports the model to a file; returns the files that were written, a note, and what the
    /// verification found: the rows, the largest difference of raw scores and of predictions, or
    /// the reason why it was not run.
    #[pyo3(signature = (path, format=None, options=Vec::new(), verify_with=None, verify_required=false))]
    fn export(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        options: Vec<(String, String)>,
        verify_with: Option<PathBuf>,
        verify_required: bool,
    ) -> PyResult<ExportRecord> {
        guarded(|| {
            let python = verify_with.as_deref();
            let verify =
                |python| VerifyRequest { data: None, python, is_required: verify_required };
            if is_bundle(format, &path) {
                let request = BundleRequest {
                    model: &self.model,
                    model_path: None,
                    path: &path,
                    verify: VerifyRequest {
                        is_required: false,
                        ..verify(python.unwrap_or(Path::new("python3")))
                    },
                };
                let report = py.detach(|| write_bundle(&request)).map_err(python_error)?;
                return Ok(ExportRecord::of_bundle(report, &path));
            }
            let format = choose_format(format, &path).map_err(python_error)?;
            let options = options
                .into_iter()
                .fold(ExportOptions::default(), |all, (name, value)| all.with(name, value));
            let request = ExportRequest {
                model: &self.model,
                model_path: None,
                format,
                options,
                path: &path,
                verify: python.map(verify),
            };
            let report = py.detach(|| write_export(&request)).map_err(python_error)?;
            Ok(ExportRecord::new(report))
        })
    }

    /// How pickle and copy restore the model.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        guarded(|| {
            let make = py.get_type::<PyModel>().getattr("from_bytes")?;
            Ok((make, (PyBytes::new(py, self.to_json()?.as_bytes()),)))
        })
    }

    /// Names of the features and, if they are categorical, their levels.
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

    /// Names of the columns that are read: the features, and dates instead of their parts.
    #[getter]
    fn input_columns(&self) -> Vec<String> {
        self.model.schema.input_columns()
    }

    /// Whether each input column is categorical.
    #[getter]
    fn categorical(&self) -> Vec<bool> {
        let sources = self.model.schema.sources();
        let features = self.model.schema.features.iter().zip(sources);
        let inputs = features.filter_map(|(feature, source)| match source {
            core::FeatureSource::Date(date, part) if date.parts.first() != Some(&part) => None,
            _ => Some(matches!(feature.kind, core::Kind::Category { .. })),
        });
        inputs.collect()
    }

    /// A scorer of single rows.
    fn row_scorer(&self) -> PyResult<PyRowScorer> {
        guarded(|| PyRowScorer::new(Arc::clone(&self.model)))
    }

    /// The same model with other feature names.
    fn with_feature_names(&self, names: Vec<String>) -> PyResult<PyModel> {
        guarded(|| {
            let mut model = (*self.model).clone();
            if names.len() != model.schema.features.len() {
                let (count, features) = (names.len(), model.schema.features.len());
                return Err(PyValueError::new_err(format!(
                    "{count} names for {features} features"
                )));
            }
            model
                .schema
                .features
                .iter_mut()
                .zip(names)
                .for_each(|(feature, name)| feature.name = name);
            Ok(PyModel::new(model))
        })
    }

    /// The names of the classes; none for regression.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.schema.target.kind.classes().to_vec()
    }

    /// The names of the columns that are predicted, if there are several.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.model.schema.target.kind.columns().to_vec()
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

    /// The decision threshold of two classes, if it is not one half.
    #[getter]
    fn threshold(&self) -> Option<f64> {
        self.model.calibration.threshold
    }

    /// The coverage of prediction intervals or sets, if the model has any.
    #[getter]
    fn interval(&self) -> Option<f64> {
        let calibration = &self.model.calibration;
        let interval = calibration.interval.as_ref().map(|interval| interval.level);
        interval.or(calibration.class_sets.map(|sets| sets.level))
    }

    /// The parameters it was trained with that had an effect.
    #[getter]
    fn parameters(&self) -> Vec<(String, String)> {
        self.model
            .provenance
            .params
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Gain, cover and number of splits per feature.
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

    /// The rules of one tree, or those with points of a sum of trees, in one of the formats of rules.
    fn rules(&self, format: &str) -> PyResult<String> {
        guarded(|| {
            let Some(format) = find(ExportContent::Rules, format) else {
                return Err(PyValueError::new_err(format!(
                    "there is no format '{format}' of rules"
                )));
            };
            export_text(format, &ExportInput::new(&self.model), &ExportOptions::default())
                .map_err(|error| PyValueError::new_err(error.to_string()))
        })
    }

    /// All nodes and leaves of all trees.
    fn nodes(&self) -> PyResult<Vec<NodeRecord>> {
        guarded(|| Ok(self.node_records()))
    }

    /// Predicts a table by the first rounds or all of them. Returns the values as bytes (doubles;
    /// 32-bit integers for leaves, classes and sets), the number of values per row, and warnings.
    #[pyo3(signature = (table, kind, first=None, threads=0))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: PyRef<'_, PyTable>,
        kind: &str,
        first: Option<usize>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyByteArray>, usize, Vec<String>)> {
        guarded(|| {
            let kind = PredictionOutput::from_name(kind)?;
            let (columns, model) = (table.columns(), Arc::clone(&self.model));
            let (values, rows, warnings) = py
                .detach(|| {
                    let mut values = PredictionBuffer::default();
                    let mut rows = 0;
                    if Columns::rows(&*columns) <= FEW_ROWS && first.is_none() && kind.is_plain() {
                        let warnings =
                            read::borrowed_scoring(columns, &model.schema, &mut |chunk| {
                                rows += chunk.rows;
                                values.add_few(&model, kind, chunk)
                            })?;
                        return Ok((values, rows, warnings));
                    }
                    let scorer = Scorer::new(&model, first, threads)?;
                    let warnings = read::borrowed_scoring(columns, &model.schema, &mut |chunk| {
                        rows += chunk.rows;
                        values.add(&scorer, kind, chunk)
                    })?;
                    Ok((values, rows, warnings))
                })
                .map_err(python_error)?;
            let width = values.len() / rows.max(1);
            Ok((values.bytes(py)?, width, warnings))
        })
    }
}

impl PyModel {
    /// The model, shared with Python.
    pub fn shared(&self) -> Arc<core::Model> {
        Arc::clone(&self.model)
    }

    fn node_records(&self) -> Vec<NodeRecord> {
        let mut records = Vec::new();
        for (tree, member) in self.model.members().iter().enumerate() {
            let shape = member.shape.to_tree();
            let output = (!member.shape.is_vector()).then_some(member.output);
            let index = |child: Child| match child {
                Child::Node(node) => node as usize,
                Child::Leaf(leaf) => shape.nodes.len() + leaf as usize,
            };

            for (node_index, node) in shape.nodes.iter().enumerate() {
                let (threshold, levels) = match &node.split.test {
                    Test::Above(threshold) => (Some(*threshold), None),
                    Test::In(set) => {
                        let feature = node.split.feature as usize;
                        let names = self.model.schema.features[feature].kind.levels();
                        let name = |code: u32| names.get(code as usize).cloned();
                        (None, Some(set.iter().filter_map(name).collect()))
                    }
                };
                records.push(NodeRecord {
                    tree,
                    output,
                    node: node_index,
                    feature: Some(node.split.feature),
                    threshold,
                    levels,
                    missing_right: node.split.missing_right,
                    children: Some((index(node.left), index(node.right))),
                    gain: Some(node.gain),
                    values: None,
                    cover: node.cover,
                });
            }

            records.extend(shape.leaves.iter().enumerate().map(|(leaf_index, leaf)| NodeRecord {
                tree,
                output,
                node: shape.nodes.len() + leaf_index,
                feature: None,
                threshold: None,
                levels: None,
                missing_right: false,
                children: None,
                gain: output.map(|_| leaf.value),
                values: match &member.shape {
                    Shape::Vector(vector) => Some(vector.leaf_values(leaf_index).to_vec()),
                    _ => None,
                },
                cover: leaf.cover,
            }));
        }
        records
    }
}
