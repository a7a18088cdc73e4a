//! Exports of a model: one trait, one file per format, one list of formats.
//!
//! A format writes a model, or one view of it ([`ExportContent`]), as text or as bytes. It refuses
//! models that it cannot express, with a reason. Fronts choose formats from [`formats`] and
//! [`find`]; they match on no name. CONTRIBUTING.md has the recipe for a new format.
//!
//! ```
//! use swarmwood_model::export::{ExportContent, ExportInput, ExportOptions, export_text, find};
//! # use swarmwood_model::*;
//! # let split = Split { feature: 0, test: Test::Above(30.0), missing_right: false };
//! # let leaf = |value| Leaf { value, cover: 1.0 };
//! # let node = Node { split, left: Child::Leaf(0), right: Child::Leaf(1), gain: 7.0, cover: 2.0 };
//! # let tree = Tree { nodes: vec![node], leaves: vec![leaf(1.0), leaf(2.0)] };
//! # let model = Model {
//! #     schema: Schema {
//! #         features: vec![Feature { name: "age".into(), kind: Kind::Number }],
//! #         target: Target { name: "price".into(), kind: TargetKind::Number },
//! #         dates: Vec::new(),
//! #     },
//! #     link: Link::Identity,
//! #     objective: "squared".into(),
//! #     base: vec![0.5],
//! #     body: Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree) }]),
//! #     provenance: Provenance::default(),
//! #     calibration: Calibration::default(),
//! # };
//! // A model with one split: age > 30 adds 2, else 1; it starts from 0.5.
//! let format = find(ExportContent::Rules, "sql").unwrap();
//! let sql = export_text(format, &ExportInput::new(&model), &ExportOptions::default())?;
//! assert_eq!(sql, "-- price\nCASE\n  WHEN \"age\" > 30 THEN 2.5\n  ELSE 1.5\nEND\n");
//! # Ok::<(), swarmwood_model::export::ExportError>(())
//! ```
//!
//! **Invariant:** a format that supports a model writes it, always as the same bytes.

mod limits;
mod literal;
mod model_c;
mod model_javascript;
mod model_json;
mod model_lightgbm;
mod model_onnx;
mod model_pmml;
mod model_python;
mod model_sql;
mod model_text;
mod model_xgboost;
mod options;
mod protobuf;
mod rules_format;
mod rules_json;
mod rules_markdown;
mod rules_python;
mod rules_sql;
mod rules_text;
mod scoring_form;
mod scoring_json;
mod tree_dot;
mod tree_svg;
mod verification;

#[cfg(test)]
mod leaf_table;
#[cfg(test)]
mod tests;

pub use options::{ExportOption, ExportOptions, OptionValues};
pub use rules_format::points_table;
pub use scoring_json::scoring_json;
pub use verification::{
    Harness, InputPrecision, Tolerance, Verification, probe_rows, rows_json, rows_text,
};

use crate::ensemble::Model;
use crate::rules::{AdditiveRules, RuleSet};

/// All formats. The first one of each content is its default.
const FORMATS: &[&dyn ExportFormat] = &[
    &model_json::ModelJson,
    &model_text::ModelText,
    &model_c::ModelC,
    &model_javascript::ModelJavascript,
    &model_lightgbm::ModelLightgbm,
    &model_onnx::ModelOnnx,
    &model_pmml::ModelPmml,
    &model_python::ModelPython,
    &model_sql::ModelSql,
    &model_xgboost::ModelXgboost,
    &rules_text::TEXT,
    &rules_markdown::MARKDOWN,
    &rules_json::JSON,
    &rules_sql::SQL,
    &rules_sql::MYSQL,
    &rules_python::PYTHON,
    &tree_svg::TreeSvg,
    &tree_dot::TreeDot,
    #[cfg(test)]
    &leaf_table::LeafTable,
];

/// A format that models can be written in.
pub trait ExportFormat: Sync {
    /// What the format is.
    fn spec(&self) -> FormatSpec;

    /// What the export contains.
    fn content(&self) -> ExportContent {
        self.spec().content
    }

    /// The name by which users choose the format.
    fn name(&self) -> &'static str {
        self.spec().name
    }

    /// What the output is, in a few words for help texts.
    fn description(&self) -> &'static str {
        self.spec().description
    }

    /// Extensions of its files, without the dot, the preferred one first.
    fn extensions(&self) -> &'static [&'static str] {
        self.spec().extensions
    }

    /// The options that it takes.
    fn options(&self) -> &'static [ExportOption] {
        self.spec().options
    }

    /// Whether its output is bytes and not UTF-8 text.
    fn is_binary(&self) -> bool {
        self.spec().is_binary
    }

    /// Whether people read it and no program.
    fn is_for_readers(&self) -> bool {
        self.spec().is_for_readers
    }

    /// Whether the format can express a model; the error says why not.
    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel>;

    /// Appends the export to `out`. Called by [`export`] with a supported model and checked
    /// options.
    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError>;

    /// Files that belong beside the export and have its name with another extension.
    fn companions(
        &self,
        _: &ExportInput<'_>,
        _: &ExportOptions,
    ) -> Result<Vec<CompanionFile>, ExportError> {
        Ok(Vec::new())
    }

    /// A fact about this export that its user may want to know.
    fn note(&self, _: &ExportInput<'_>, _: &ExportOptions) -> Result<Option<String>, ExportError> {
        Ok(None)
    }

    /// How the export is run to check it; `None` if it is not meant to be run.
    fn verification(&self, _: &ExportInput<'_>, _: &ExportOptions) -> Option<Verification> {
        None
    }
}

/// What a format is.
#[derive(Debug, Clone, Copy)]
pub struct FormatSpec {
    /// What its exports contain.
    pub content: ExportContent,
    /// The name by which users choose the format; unique among the formats of a content.
    pub name: &'static str,
    /// What the output is, in a few words for help texts.
    pub description: &'static str,
    /// Extensions of its files, without the dot, the preferred one first.
    pub extensions: &'static [&'static str],
    /// The options that it takes.
    pub options: &'static [ExportOption],
    /// Whether its output is bytes and not UTF-8 text.
    pub is_binary: bool,
    /// Whether people read it and no program, so that it may round.
    pub is_for_readers: bool,
}

impl FormatSpec {
    /// What most formats have in common: a model, as text, without options.
    pub const MODEL: FormatSpec = FormatSpec {
        content: ExportContent::Model,
        name: "",
        description: "",
        extensions: &[],
        options: &[],
        is_binary: false,
        is_for_readers: false,
    };
}

/// A file beside an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompanionFile {
    /// The extension, without the dot.
    pub extension: &'static str,
    /// The content.
    pub bytes: Vec<u8>,
}

/// What an export contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportContent {
    /// The model, so that it can be stored, printed or used for predictions elsewhere.
    Model,
    /// The decision rules of a model with one tree.
    Rules,
    /// A drawing of a model with one tree.
    Drawing,
}

/// What is exported: a model, and what a caller has computed from it already.
#[derive(Debug, Clone, Copy)]
pub struct ExportInput<'a> {
    model: &'a Model,
    rules: Option<&'a RuleSet<'a>>,
    additive_rules: Option<&'a AdditiveRules<'a>>,
    file_stem: &'a str,
}

impl<'a> ExportInput<'a> {
    /// A model alone.
    pub fn new(model: &'a Model) -> Self {
        ExportInput { model, rules: None, additive_rules: None, file_stem: "model" }
    }

    /// A model with one tree and its rules, whose statistics may have been counted on data. Formats
    /// of rules write these instead of computing their own.
    pub fn with_rules(model: &'a Model, rules: &'a RuleSet<'a>) -> Self {
        ExportInput { rules: Some(rules), ..ExportInput::new(model) }
    }

    /// The same for a sum of trees.
    pub fn with_additive_rules(model: &'a Model, rules: &'a AdditiveRules<'a>) -> Self {
        ExportInput { additive_rules: Some(rules), ..ExportInput::new(model) }
    }

    /// The same input, written to a file with this name, without its extension. Files that refer to
    /// each other use it.
    #[must_use]
    pub fn with_file_stem(self, file_stem: &'a str) -> Self {
        ExportInput { file_stem, ..self }
    }

    /// The name of the file, without its extension.
    pub fn file_stem(&self) -> &'a str {
        self.file_stem
    }
}

/// Why a format cannot express a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct UnsupportedModel {
    reason: String,
}

impl UnsupportedModel {
    /// A refusal; the reason says what the format cannot express and what to do instead.
    pub fn new(reason: impl ToString) -> Self {
        UnsupportedModel { reason: reason.to_string() }
    }
}

/// Why an export failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The format cannot express the model.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedModel),
    /// An option is unknown, or its value is not allowed for this model.
    #[error("option '{name}': {message}")]
    Option {
        /// Name of the option.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// The export cannot have this file name.
    #[error("{message}")]
    FileName {
        /// What is wrong.
        message: String,
    },
    /// Text was requested of a format that writes bytes.
    #[error("the format '{name}' is binary; write it to a file")]
    Binary {
        /// Name of the format.
        name: &'static str,
    },
}

/// The formats of a content, the default first.
pub fn formats(content: ExportContent) -> impl Iterator<Item = &'static dyn ExportFormat> {
    FORMATS.iter().copied().filter(move |format| format.content() == content)
}

/// The format of a content with a name.
pub fn find(content: ExportContent, name: &str) -> Option<&'static dyn ExportFormat> {
    formats(content).find(|format| format.name() == name)
}

/// The format of a content whose files have an extension, in upper or lower case.
pub fn find_extension(
    content: ExportContent,
    extension: &str,
) -> Option<&'static dyn ExportFormat> {
    let extension = extension.to_lowercase();
    formats(content).find(|format| format.extensions().contains(&extension.as_str()))
}

/// Exports a model as bytes.
pub fn export(
    format: &dyn ExportFormat,
    input: &ExportInput<'_>,
    options: &ExportOptions,
) -> Result<Vec<u8>, ExportError> {
    options.check(format.options())?;
    format.supports(input.model)?;

    let mut out = Vec::new();
    format.write(input, options, &mut out)?;
    Ok(out)
}

/// Exports a model as text; binary formats are refused.
pub fn export_text(
    format: &dyn ExportFormat,
    input: &ExportInput<'_>,
    options: &ExportOptions,
) -> Result<String, ExportError> {
    let binary = ExportError::Binary { name: format.name() };
    if format.is_binary() {
        return Err(binary);
    }
    String::from_utf8(export(format, input, options)?).map_err(|_| binary)
}
