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
use swarmwood::model::predict::Predictions;
use swarmwood::model::{
    self as core, Child, Shape, SingleTree, SingleTreeError, Test, TextOptions, format,
};
use swarmwood::predict::Scorer;
use swarmwood::{Error, Result, read, store};

use crate::errors::{guarded, python_error};
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

/// What a model is to predict.
#[derive(Clone, Copy)]
enum PredictionOutput {
    Numbers,
    Classes,
    Probabilities,
    RawScores,
    Leaves,
    Contributions,
    Intervals,
    Sets,
}

impl PredictionOutput {
    fn from_name(name: &str) -> PyResult<PredictionOutput> {
        Ok(match name {
            "numbers" => PredictionOutput::Numbers,
            "classes" => PredictionOutput::Classes,
            "probabilities" => PredictionOutput::Probabilities,
            "raw" => PredictionOutput::RawScores,
            "leaves" => PredictionOutput::Leaves,
            "contributions" => PredictionOutput::Contributions,
            "intervals" => PredictionOutput::Intervals,
            "sets" => PredictionOutput::Sets,
            other => {
                let message = format!("there are no predictions of the kind '{other}'");
                return Err(PyValueError::new_err(message));
            }
        })
    }
}

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
                    let scorer = Scorer::new(&model, first, threads)?;
                    let mut values = PredictionBuffer::default();
                    let mut rows = 0;
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

/// The predictions so far.
#[derive(Default)]
struct PredictionBuffer {
    doubles: Vec<f64>,
    numbers: Vec<u32>,
}

impl PredictionBuffer {
    fn add(
        &mut self,
        scorer: &Scorer<'_>,
        kind: PredictionOutput,
        chunk: &swarmwood::learn::data::Chunk,
    ) -> Result<()> {
        let unavailable = || Error::Run("the model has no such predictions".to_string());
        match kind {
            PredictionOutput::RawScores => self.doubles.extend(scorer.raw(chunk)?),
            PredictionOutput::Contributions => self.doubles.extend(scorer.contributions(chunk)?),
            PredictionOutput::Leaves => self.numbers.extend(scorer.leaves(chunk)?),
            PredictionOutput::Intervals => {
                self.doubles.extend(scorer.intervals(chunk)?.ok_or_else(unavailable)?);
            }
            _ => match (kind, scorer.predictions(chunk)?) {
                (PredictionOutput::Numbers, Predictions::Numbers(numbers)) => {
                    self.doubles.extend(numbers)
                }
                (PredictionOutput::Probabilities, Predictions::Classes { probabilities, .. }) => {
                    self.doubles.extend(probabilities);
                }
                (PredictionOutput::Sets, Predictions::Classes { probabilities, .. })
                    if scorer.class_sets().is_some() =>
                {
                    let model = scorer.model();
                    let classes = model.schema.target.kind.classes().len();
                    for row in probabilities.chunks_exact(classes.max(1)) {
                        let set = model.class_set(row).unwrap_or_default();
                        self.numbers.extend(set.into_iter().map(u32::from));
                    }
                }
                (PredictionOutput::Classes, Predictions::Classes { classes, .. }) => {
                    self.numbers.extend(classes)
                }
                _ => return Err(unavailable()),
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
