//! The columns of a table of predictions, and their values for one chunk of rows.

use std::borrow::Cow;

use swarmwood_learn::data::Chunk;
use swarmwood_model::Model;
use swarmwood_model::predict::Predictions;

use super::reasons::Reasons;
use super::{PredictionColumns, PredictionRequest, Scorer};
use crate::error::Violation;
use crate::{Error, Result};

/// What a column contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnContent {
    /// A copied column of the input.
    Kept(usize),
    /// The name of the predicted class.
    Label,
    /// One of the numbers of a row: its prediction, a probability, a raw score, a contribution.
    Value(usize),
    /// An end of the prediction interval.
    IntervalEnd(usize),
    /// The names of the classes of the prediction set.
    ClassSet,
    /// The leaf that the row reaches in a tree.
    LeafOf(usize),
    /// The name of a feature with a large contribution; not every row has so many.
    Reason(usize),
    /// That contribution.
    ReasonContribution(usize),
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PredictionColumn {
    pub(super) name: String,
    pub(super) content: ColumnContent,
}

impl PredictionColumn {
    fn new(name: impl Into<String>, content: ColumnContent) -> PredictionColumn {
        PredictionColumn { name: name.into(), content }
    }

    /// The columns of a request, in the order of the table: those that are copied, which have these
    /// names, and those of the predictions.
    pub(super) fn all(
        scorer: &Scorer<'_>,
        request: &PredictionRequest<'_>,
        kept: &[String],
    ) -> Result<Vec<PredictionColumn>> {
        let targets = scorer.model().schema.target.kind.columns().len();
        if request.reasons > 0 && targets > 1 {
            let message = format!(
                "is for models of one target, and this one predicts {targets} columns; use \
                 --contributions, which has them for each"
            );
            return Err(Error::Parameters(vec![Violation::new("reasons", message)]));
        }
        let predictions = PredictionColumn::of_predictions(scorer, request);
        if let Some(twice) = predictions.iter().find(|column| kept.contains(&column.name)) {
            let message = format!(
                "there is a column '{}' among the predictions already; name other columns, or \
                 rename it in the input",
                twice.name
            );
            return Err(Error::Parameters(vec![Violation::new("keep", message)]));
        }

        let copied = kept.iter().enumerate();
        let copied = copied.map(|(at, name)| PredictionColumn::new(name, ColumnContent::Kept(at)));
        Ok(copied.chain(predictions).collect())
    }

    fn of_predictions(
        scorer: &Scorer<'_>,
        request: &PredictionRequest<'_>,
    ) -> Vec<PredictionColumn> {
        let mut columns = match request.what {
            PredictionColumns::Prediction => prediction_columns(scorer),
            PredictionColumns::Raw => {
                let names = output_suffixes(scorer.model()).into_iter();
                values(names.map(|output| format!("raw{output}")))
            }
            PredictionColumns::Contributions => contribution_columns(scorer.model()),
            PredictionColumns::Leaves => {
                let leaf = |tree| {
                    PredictionColumn::new(format!("leaf_{tree}"), ColumnContent::LeafOf(tree))
                };
                (0..scorer.trees()).map(leaf).collect()
            }
        };
        for at in 0..request.reasons {
            let (number, content) = (at + 1, ColumnContent::ReasonContribution(at));
            columns
                .push(PredictionColumn::new(format!("reason_{number}"), ColumnContent::Reason(at)));
            columns.push(PredictionColumn::new(format!("reason_contribution_{number}"), content));
        }
        columns
    }
}

/// The prediction and what the model knows of its certainty.
fn prediction_columns(scorer: &Scorer<'_>) -> Vec<PredictionColumn> {
    let names = class_names(scorer.model());
    let targets = scorer.model().schema.target.kind.columns();
    if !targets.is_empty() {
        return values(targets.iter().map(|name| format!("prediction_{name}")));
    }
    if names.is_empty() {
        let mut columns = vec![PredictionColumn::new("prediction", ColumnContent::Value(0))];
        if scorer.interval().is_some() {
            columns.push(PredictionColumn::new("lower", ColumnContent::IntervalEnd(0)));
            columns.push(PredictionColumn::new("upper", ColumnContent::IntervalEnd(1)));
        }
        return columns;
    }

    let mut columns = vec![PredictionColumn::new("prediction", ColumnContent::Label)];
    columns.extend(values(names.iter().map(|name| format!("probability_{name}"))));
    if scorer.class_sets().is_some() {
        columns.push(PredictionColumn::new("set", ColumnContent::ClassSet));
    }
    columns
}

fn contribution_columns(model: &Model) -> Vec<PredictionColumn> {
    let of = |output: String| {
        let features = model.schema.features.iter();
        let names = features.map(|feature| format!("contribution{output}_{}", feature.name));
        names.chain([format!("expected{output}")]).collect::<Vec<_>>()
    };
    values(output_suffixes(model).into_iter().flat_map(of))
}

fn values(names: impl Iterator<Item = String>) -> Vec<PredictionColumn> {
    let column = |(at, name)| PredictionColumn::new(name, ColumnContent::Value(at));
    names.enumerate().map(column).collect()
}

/// What tells the raw scores apart; only a model with several needs names for them.
fn output_suffixes(model: &Model) -> Vec<String> {
    match model.output_names() {
        [] => vec![String::new()],
        names => names.iter().map(|name| format!("_{name}")).collect(),
    }
}

/// The names that values of the table are written with.
pub(super) struct TableNames {
    pub(super) classes: Vec<String>,
    pub(super) features: Vec<String>,
}

impl TableNames {
    /// The names of a model; `safe` ones are no formulas of a spreadsheet.
    pub(super) fn new(model: &Model, safe: bool) -> TableNames {
        let named =
            |name: &str| if safe { without_formula(name).into_owned() } else { name.to_string() };
        TableNames {
            classes: class_names(model).iter().map(|name| named(name)).collect(),
            features: model.schema.features.iter().map(|feature| named(&feature.name)).collect(),
        }
    }
}

/// A text with an apostrophe before it if a spreadsheet would take it for a formula. Numbers stay
/// as they are.
pub(super) fn without_formula(text: &str) -> Cow<'_, str> {
    let is_formula =
        text.trim_start().starts_with(['=', '+', '-', '@']) || text.starts_with(['\t', '\r', '\n']);
    if is_formula && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn class_names(model: &Model) -> &[String] {
    model.schema.target.kind.classes()
}

/// The values of one chunk of rows, each list row by row.
#[derive(Default)]
pub(super) struct ChunkResults<'a> {
    pub(super) rows: usize,
    /// The texts of copied columns, by column.
    pub(super) kept: &'a [Vec<String>],
    /// Predicted classes.
    pub(super) classes: Vec<u32>,
    values: Vec<f64>,
    ends: Vec<f64>,
    /// Whether each class is in the set.
    sets: Vec<bool>,
    leaves: Vec<u32>,
    reasons: Option<Reasons>,
}

impl ChunkResults<'_> {
    pub(super) fn compute(
        scorer: &Scorer<'_>,
        request: &PredictionRequest<'_>,
        chunk: &Chunk,
    ) -> Result<Self> {
        let mut results = match request.what {
            PredictionColumns::Prediction => ChunkResults::predictions(scorer, chunk)?,
            PredictionColumns::Raw => {
                ChunkResults { values: scorer.raw(chunk)?, ..ChunkResults::default() }
            }
            PredictionColumns::Contributions => {
                ChunkResults { values: scorer.contributions(chunk)?, ..ChunkResults::default() }
            }
            PredictionColumns::Leaves => {
                ChunkResults { leaves: scorer.leaves(chunk)?, ..ChunkResults::default() }
            }
        };
        results.rows = chunk.rows;
        if request.reasons > 0 {
            results.reasons = Some(Reasons::new(scorer, chunk, request.reasons)?);
        }
        Ok(results)
    }

    /// Predictions with the intervals or sets of the model, if it has any.
    fn predictions(scorer: &Scorer<'_>, chunk: &Chunk) -> Result<Self> {
        let (classes, values) = match scorer.predictions(chunk)? {
            Predictions::Numbers(numbers) => (Vec::new(), numbers),
            Predictions::Classes { classes, probabilities } => (classes, probabilities),
        };
        let mut sets = Vec::new();
        if scorer.class_sets().is_some() && !classes.is_empty() {
            let rows = values.chunks_exact(values.len() / classes.len());
            sets = rows.flat_map(|row| scorer.model().class_set(row).unwrap_or_default()).collect();
        }
        let ends = scorer.intervals(chunk)?.unwrap_or_default();
        Ok(ChunkResults { classes, values, ends, sets, ..ChunkResults::default() })
    }

    /// One of the numbers of a row.
    pub(super) fn value(&self, row: usize, at: usize) -> f64 {
        self.values[row * (self.values.len() / self.rows) + at]
    }

    /// An end of the prediction interval of a row.
    pub(super) fn interval_end(&self, row: usize, end: usize) -> f64 {
        self.ends[2 * row + end]
    }

    /// The classes in the set of a row.
    pub(super) fn class_set(&self, row: usize) -> impl Iterator<Item = usize> {
        let classes = self.sets.len() / self.rows;
        let set = &self.sets[row * classes..(row + 1) * classes];
        set.iter().enumerate().filter(|(_, is_in)| **is_in).map(|(class, _)| class)
    }

    /// The leaf that a row reaches in a tree.
    pub(super) fn leaf(&self, row: usize, tree: usize) -> u32 {
        self.leaves[row * (self.leaves.len() / self.rows) + tree]
    }

    /// A feature and its contribution, the largest first; `None` where fewer contribute.
    pub(super) fn reason(&self, row: usize, at: usize) -> Option<(usize, f64)> {
        self.reasons.as_ref().and_then(|reasons| reasons.of_row(row)[at])
    }
}
