//! Importer of CatBoost models (Prokhorenkova et al. 2018) with numeric features, written by
//! `save_model` with `format="json"`.
//!
//! CatBoost rounds inputs to 32 bits and passes a row if `x > border`; the imported thresholds
//! decide the same for every 64-bit input (`import::not_less`). Trees are oblivious or ordinary,
//! and a leaf has one value per output, so a tree with k outputs becomes k trees. Splits on
//! categorical features hash texts or use target statistics; they are refused with the name of the
//! feature. The file contains no gains.

use std::collections::BTreeMap;

use super::FormatError;
use super::document::{Document, ImportResult};
use super::import::{self, ImportNode, ImportParts};
use crate::ensemble::{Link, Model, Shape};
use crate::schema::{Feature, Kind};
use crate::tree::{Leaf, Level, MAX_LEVELS, ObliviousTree, Split, Test, Tree};

/// The library's name.
pub(super) const LIBRARY: &str = "catboost";

/// Reads a model that CatBoost wrote as JSON. The result has passed [`Model::check`].
pub(super) fn from_json(bytes: &[u8]) -> Result<Model, FormatError> {
    super::check_imported(
        LIBRARY,
        Document::from_json(bytes).and_then(|document| read(&document, bytes.len())),
    )
}

fn read(document: &Document, file: usize) -> ImportResult<Model> {
    let info = document.need("model_info")?;
    let loss = info.need("params")?.need("loss_function")?.text("type")?;
    let (link, ours) = link(loss)?;
    let (factor, base) = scale_and_bias(document)?;
    let outputs = base.len();
    if (link == Link::Softmax) != (outputs > 1) {
        return Err(format!("loss '{loss}' does not fit {outputs} outputs"));
    }

    let inputs = CatboostFeatures::new(document.need("features_info")?, file)?;
    let mut trees: Vec<Vec<Shape>> = vec![Vec::new(); outputs];
    let oblivious = document.get("oblivious_trees").is_some();
    let tables = document.list(if oblivious { "oblivious_trees" } else { "trees" })?;
    for (number, table) in tables.iter().enumerate() {
        let shapes = if oblivious {
            inputs.oblivious(table, outputs)
        } else {
            inputs.ordinary(table, outputs)
        };
        let shapes = shapes.map_err(|fault| format!("tree {number}: {fault}"))?;
        for (mut shape, trees) in shapes.into_iter().zip(&mut trees) {
            shape.scale_values(factor);
            trees.push(shape);
        }
    }

    let classes = match info.get("class_params") {
        Some(params) if link != Link::Identity => params.names("class_names")?,
        _ => Vec::new(),
    };

    ImportParts {
        library: LIBRARY,
        version: version(info),
        objective: ours.unwrap_or(loss).to_string(),
        link,
        classes,
        features: inputs.features,
        base,
        trees,
        params: BTreeMap::from([("objective".to_string(), loss.to_string())]),
    }
    .into_model()
}

/// The version, which the file has inside a longer text. Not used to predict.
fn version(info: &Document) -> String {
    let text = info.text("catboost_version_info").unwrap_or_default();
    let release = text.split("tags/v").nth(1).unwrap_or_default();
    release.split_whitespace().next().unwrap_or_default().chars().take(40).collect()
}

/// The link of a loss, and our name of the loss if there is one.
fn link(loss: &str) -> ImportResult<(Link, Option<&'static str>)> {
    Ok(match loss {
        "RMSE" => (Link::Identity, Some("squared")),
        "MAE" => (Link::Identity, Some("absolute")),
        "Quantile" | "Huber" | "MAPE" | "Expectile" | "Lq" | "LogCosh" | "QueryRMSE"
        | "PairLogit" | "PairLogitPairwise" | "YetiRank" | "YetiRankPairwise" | "LambdaMart" => {
            (Link::Identity, None)
        }
        "Poisson" => (Link::Exp, Some("poisson")),
        "Tweedie" => (Link::Exp, None),
        "Logloss" | "CrossEntropy" => (Link::Sigmoid, Some("logistic")),
        "MultiClass" => (Link::Softmax, Some("softmax")),
        other => return Err(format!("loss '{other}' has no counterpart here")),
    })
}

/// The factor of the leaf values, and the start values: `[scale, [bias, …]]`, in old files
/// `[scale, bias]`.
fn scale_and_bias(document: &Document) -> ImportResult<(f64, Vec<f64>)> {
    match document.need("scale_and_bias")? {
        Document::Numbers(pair) if pair.len() == 2 => Ok((pair[0], vec![pair[1]])),
        Document::List(pair) => match pair.as_slice() {
            [Document::Number(scale), Document::Numbers(bias)] => Ok((*scale, bias.clone())),
            _ => Err("`scale_and_bias` must be a number and a list of numbers".into()),
        },
        _ => Err("`scale_and_bias` must be a number and a list of numbers".into()),
    }
}

/// The features, and how splits refer to them.
struct CatboostFeatures {
    features: Vec<Feature>,
    /// Position among all features and whether missing values pass, by position among the numeric
    /// ones.
    numbers: BTreeMap<usize, (u32, bool)>,
    /// Position among all features, by position among the categorical ones.
    categories: BTreeMap<usize, usize>,
}

impl CatboostFeatures {
    fn new(info: &Document, file: usize) -> ImportResult<CatboostFeatures> {
        for kind in ["text_features", "embedding_features"] {
            if info.get(kind).is_some() && !info.list(kind)?.is_empty() {
                return Err(format!("the model has `{kind}`, which have no counterpart here"));
            }
        }

        let entries = |key| if info.get(key).is_some() { info.list(key) } else { Ok(&[][..]) };
        let mut inputs = CatboostFeatures {
            features: Vec::new(),
            numbers: BTreeMap::new(),
            categories: BTreeMap::new(),
        };

        let mut by_index: BTreeMap<usize, Feature> = BTreeMap::new();
        for (is_number, key) in [(true, "float_features"), (false, "categorical_features")] {
            for (position, feature) in entries(key)?.iter().enumerate() {
                let position = feature.count("feature_index")?.unwrap_or(position);
                let flat = feature.count("flat_feature_index")?.unwrap_or(position);
                import::check_unnamed(flat, file, "features")?;
                let name =
                    ["feature_id", "feature_name"].iter().find_map(|key| feature.text(key).ok());
                let name = name
                    .filter(|name| !name.is_empty())
                    .map_or_else(|| format!("f{flat}"), str::to_string);
                let kind =
                    if is_number { Kind::Number } else { Kind::Category { levels: Vec::new() } };
                if is_number {
                    inputs.numbers.insert(position, (flat as u32, missing_passes(feature)?));
                } else {
                    inputs.categories.insert(position, flat);
                }
                if by_index.insert(flat, Feature { name, kind }).is_some() {
                    return Err(format!("two features have the index {flat}"));
                }
            }
        }

        // Features that the file leaves out are named by their index.
        let count = by_index.keys().next_back().map_or(0, |last| last + 1);
        let feature =
            |at| by_index.remove(&at).unwrap_or_else(|| import::number_feature(format!("f{at}")));
        inputs.features = (0..count).map(feature).collect();
        Ok(inputs)
    }

    fn split(&self, rule: &Document) -> ImportResult<Split> {
        let kind = rule.text("split_type")?;
        if kind != "FloatFeature" {
            let position = rule.count("cat_feature_index")?.or(rule.count("feature_index")?);
            let feature = position
                .and_then(|position| self.categories.get(&position))
                .map(|at| &self.features[*at]);
            let name = match feature {
                Some(feature) => format!("category `{}`", feature.name),
                None => match self.categories.values().next().map(|at| &self.features[*at]) {
                    Some(feature) => format!("categories such as `{}`", feature.name),
                    None => "categories".into(),
                },
            };
            return Err(format!(
                "a split of type {kind} tests {name}; only splits on numbers are supported"
            ));
        }

        let position =
            rule.count("float_feature_index")?.ok_or("`float_feature_index` is missing")?;
        let (feature, missing_right) =
            *self.numbers.get(&position).ok_or("a split tests a feature that does not exist")?;
        let Document::Number(border) = rule.need("border")? else {
            return Err("`border` must be a number".into());
        };

        // Greater than a 32-bit float means not less than the next larger one.
        let test = Test::Above(import::not_less((*border as f32).next_up()));
        Ok(Split { feature, test, missing_right })
    }

    fn oblivious(&self, table: &Document, outputs: usize) -> ImportResult<Vec<Shape>> {
        let rules = match table.get("splits") {
            None | Some(Document::Null) => &[],
            Some(_) => table.list("splits")?,
        };

        if rules.len() > MAX_LEVELS {
            return Err(format!("{} levels; {MAX_LEVELS} are read", rules.len()));
        }
        let level = |rule| self.split(rule).map(|split| Level { split, gain: 0.0 });
        let levels = rules.iter().map(level).collect::<ImportResult<Vec<Level>>>()?;
        let values = table.numbers("leaf_values")?;
        let leaves = 1_usize << levels.len();
        if values.len() != leaves * outputs {
            return Err(format!(
                "{} leaf values for {leaves} leaves of {outputs} outputs",
                values.len()
            ));
        }

        let weights =
            if table.get("leaf_weights").is_some() { table.numbers("leaf_weights")? } else { &[] };
        let cover = |leaf: usize| {
            import::finite_or_zero(weights.get(leaf).copied().unwrap_or(0.0)).max(0.0)
        };

        let leaf =
            |output, leaf| Leaf { value: values[leaf * outputs + output], cover: cover(leaf) };
        let shape = |output| {
            let leaves = (0..leaves).map(|number| leaf(output, number)).collect();
            Shape::Oblivious(ObliviousTree { levels: levels.clone(), leaves })
        };
        Ok((0..outputs).map(shape).collect())
    }

    fn ordinary(&self, table: &Document, outputs: usize) -> ImportResult<Vec<Shape>> {
        (0..outputs)
            .map(|output| self.ordinary_output(table, output, outputs).map(Shape::Ordinary))
            .collect()
    }

    /// The tree with the leaf values of one output. Nodes are nested in the file, so each has
    /// exactly one parent.
    fn ordinary_output(
        &self,
        table: &Document,
        output: usize,
        outputs: usize,
    ) -> ImportResult<Tree> {
        import::tree(table, usize::MAX, |node: &Document| {
            if node.get("split").is_none() {
                let value = match node.need("value")? {
                    Document::Number(value) if outputs == 1 => *value,
                    Document::Numbers(values) if values.len() == outputs => values[output],
                    _ => return Err(format!("a leaf must hold {outputs} values")),
                };
                let cover = if let Some(Document::Number(weight)) = node.get("weight") {
                    *weight
                } else {
                    0.0
                };
                return Ok(ImportNode::Leaf(Leaf { value, cover }));
            }
            let split = self.split(node.need("split")?)?;
            let (fails, passes) = (node.need("left")?, node.need("right")?);
            Ok(ImportNode::Inner { split, fails, passes, gain: 0.0, cover: weight(node) })
        })
    }
}

/// The weight of the training rows below a node: the file has it for leaves only.
fn weight(node: &Document) -> f64 {
    let mut open = vec![node];
    let mut sum = 0.0;
    while let Some(node) = open.pop() {
        match node.get("weight") {
            Some(Document::Number(weight)) => sum += import::finite_or_zero(*weight).max(0.0),
            _ => open.extend(["left", "right"].iter().filter_map(|side| node.get(side))),
        }
    }
    sum
}

/// Whether a missing value passes the splits of a feature. By default it passes none.
fn missing_passes(feature: &Document) -> ImportResult<bool> {
    match feature.get("nan_value_treatment") {
        None => Ok(false),
        Some(Document::Text(treatment)) if treatment == "AsIs" || treatment == "AsFalse" => {
            Ok(false)
        }
        Some(Document::Text(treatment)) if treatment == "AsTrue" => Ok(true),
        Some(_) => Err("`nan_value_treatment` must be AsIs, AsFalse or AsTrue".into()),
    }
}
