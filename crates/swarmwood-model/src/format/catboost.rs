//! Models of CatBoost (Prokhorenkova et al. 2018) over numbers, written by its `save_model` with
//! `format="json"`.
//!
//! CatBoost rounds inputs to 32 bits and passes a row if `x > border`; the thresholds kept here
//! give the same answer for every 64-bit input (`graft::not_less`). Trees are oblivious or
//! ordinary, and a leaf holds one value an output, so a tree of k outputs becomes k trees. Rules
//! about categories hash texts or count targets and are refused by name of the feature. The file
//! holds no gains.

use std::collections::BTreeMap;

use super::FormatError;
use super::document::{Document, Found};
use super::graft::{self, Foreign, Step};
use crate::ensemble::{Link, Model, Shape};
use crate::schema::{Feature, Kind};
use crate::tree::{Leaf, Level, MAX_LEVELS, Oblivious, Split, Test, Tree};

/// The library's name.
pub(super) const LIBRARY: &str = "catboost";

/// The model that CatBoost wrote as JSON. It has passed [`Model::check`].
pub fn from_json(bytes: &[u8]) -> Result<Model, FormatError> {
    super::checked(
        LIBRARY,
        Document::from_json(bytes).and_then(|document| read(&document, bytes.len())),
    )
}

fn read(document: &Document, file: usize) -> Found<Model> {
    let info = document.need("model_info")?;
    let loss = info.need("params")?.need("loss_function")?.text("type")?;
    let (link, ours) = link(loss)?;
    let (factor, base) = scale_and_bias(document)?;
    let outputs = base.len();
    if (link == Link::Softmax) != (outputs > 1) {
        return Err(format!("loss '{loss}' does not fit {outputs} outputs"));
    }
    let inputs = Inputs::of(document.need("features_info")?, file)?;
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
            graft::scale(&mut shape, factor);
            trees.push(shape);
        }
    }
    let classes = match info.get("class_params") {
        Some(params) if link != Link::Identity => params.names("class_names")?,
        _ => Vec::new(),
    };
    Foreign {
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

/// The version stands in a text among other things; it is for people only.
fn version(info: &Document) -> String {
    let text = info.text("catboost_version_info").unwrap_or_default();
    let release = text.split("tags/v").nth(1).unwrap_or_default();
    release.split_whitespace().next().unwrap_or_default().chars().take(40).collect()
}

/// The link of a loss, and the loss's name here.
fn link(loss: &str) -> Found<(Link, Option<&'static str>)> {
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

/// What leaf values are multiplied with, and the start values: `[scale, [bias, …]]`, in old files
/// `[scale, bias]`.
fn scale_and_bias(document: &Document) -> Found<(f64, Vec<f64>)> {
    match document.need("scale_and_bias")? {
        Document::Numbers(pair) if pair.len() == 2 => Ok((pair[0], vec![pair[1]])),
        Document::List(pair) => match pair.as_slice() {
            [Document::Number(scale), Document::Numbers(bias)] => Ok((*scale, bias.clone())),
            _ => Err("`scale_and_bias` must be a number and a list of numbers".into()),
        },
        _ => Err("`scale_and_bias` must be a number and a list of numbers".into()),
    }
}

/// The features, and what rules know of those that hold numbers.
struct Inputs {
    features: Vec<Feature>,
    /// Position among all features and the way of missing values, by position among the numbers.
    numbers: BTreeMap<usize, (u32, bool)>,
    /// Position among all features, by position among the categories.
    categories: BTreeMap<usize, usize>,
}

impl Inputs {
    fn of(info: &Document, file: usize) -> Found<Inputs> {
        for kind in ["text_features", "embedding_features"] {
            if info.get(kind).is_some() && !info.list(kind)?.is_empty() {
                return Err(format!("the model has `{kind}`, which have no counterpart here"));
            }
        }
        let listed = |key| if info.get(key).is_some() { info.list(key) } else { Ok(&[][..]) };
        let mut inputs =
            Inputs { features: Vec::new(), numbers: BTreeMap::new(), categories: BTreeMap::new() };
        let mut named: BTreeMap<usize, Feature> = BTreeMap::new();
        for (is_number, key) in [(true, "float_features"), (false, "categorical_features")] {
            for (position, feature) in listed(key)?.iter().enumerate() {
                let position = feature.count("feature_index")?.unwrap_or(position);
                let flat = feature.count("flat_feature_index")?.unwrap_or(position);
                graft::affordable(flat, file, "features")?;
                let given =
                    ["feature_id", "feature_name"].iter().find_map(|key| feature.text(key).ok());
                let name = given
                    .filter(|name| !name.is_empty())
                    .map_or_else(|| format!("f{flat}"), str::to_string);
                let kind =
                    if is_number { Kind::Number } else { Kind::Category { levels: Vec::new() } };
                if is_number {
                    inputs.numbers.insert(position, (flat as u32, missing_passes(feature)?));
                } else {
                    inputs.categories.insert(position, flat);
                }
                if named.insert(flat, Feature { name, kind }).is_some() {
                    return Err(format!("two features have the place {flat}"));
                }
            }
        }
        // Features that the file leaves out are known by their place alone.
        let count = named.keys().next_back().map_or(0, |last| last + 1);
        let feature =
            |place| named.remove(&place).unwrap_or_else(|| graft::number(format!("f{place}")));
        inputs.features = (0..count).map(feature).collect();
        Ok(inputs)
    }

    fn split(&self, rule: &Document) -> Found<Split> {
        let kind = rule.text("split_type")?;
        if kind != "FloatFeature" {
            let position = rule.count("cat_feature_index")?.or(rule.count("feature_index")?);
            let feature = position
                .and_then(|position| self.categories.get(&position))
                .map(|place| &self.features[*place]);
            let name = match feature {
                Some(feature) => format!("category `{}`", feature.name),
                None => match self.categories.values().next().map(|place| &self.features[*place]) {
                    Some(feature) => format!("categories such as `{}`", feature.name),
                    None => "categories".into(),
                },
            };
            return Err(format!(
                "a rule of type {kind} asks for {name}; only rules about numbers are read"
            ));
        }
        let position =
            rule.count("float_feature_index")?.ok_or("`float_feature_index` is missing")?;
        let (feature, missing_right) =
            *self.numbers.get(&position).ok_or("a rule asks for no feature")?;
        let Document::Number(border) = rule.need("border")? else {
            return Err("`border` must be a number".into());
        };
        // What is above a 32-bit float is not less than the next one.
        let test = Test::Above(graft::not_less((*border as f32).next_up()));
        Ok(Split { feature, test, missing_right })
    }

    fn oblivious(&self, table: &Document, outputs: usize) -> Found<Vec<Shape>> {
        let rules = match table.get("splits") {
            None | Some(Document::Null) => &[],
            Some(_) => table.list("splits")?,
        };
        if rules.len() > MAX_LEVELS {
            return Err(format!("{} levels; {MAX_LEVELS} are read", rules.len()));
        }
        let level = |rule| self.split(rule).map(|split| Level { split, gain: 0.0 });
        let levels = rules.iter().map(level).collect::<Found<Vec<Level>>>()?;
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
        let cover =
            |leaf: usize| graft::recorded(weights.get(leaf).copied().unwrap_or(0.0)).max(0.0);
        let leaf =
            |output, leaf| Leaf { value: values[leaf * outputs + output], cover: cover(leaf) };
        let shape = |output| {
            let leaves = (0..leaves).map(|number| leaf(output, number)).collect();
            Shape::Oblivious(Oblivious { levels: levels.clone(), leaves })
        };
        Ok((0..outputs).map(shape).collect())
    }

    fn ordinary(&self, table: &Document, outputs: usize) -> Found<Vec<Shape>> {
        (0..outputs)
            .map(|output| self.ordinary_output(table, output, outputs).map(Shape::Ordinary))
            .collect()
    }

    /// The tree as one output sees it. Places are nested in the file, so each has one parent.
    fn ordinary_output(&self, table: &Document, output: usize, outputs: usize) -> Found<Tree> {
        graft::tree(table, usize::MAX, |place: &Document| {
            if place.get("split").is_none() {
                let value = match place.need("value")? {
                    Document::Number(value) if outputs == 1 => *value,
                    Document::Numbers(values) if values.len() == outputs => values[output],
                    _ => return Err(format!("a leaf must hold {outputs} values")),
                };
                let cover = if let Some(Document::Number(weight)) = place.get("weight") {
                    *weight
                } else {
                    0.0
                };
                return Ok(Step::Leaf(Leaf { value, cover }));
            }
            let split = self.split(place.need("split")?)?;
            let (fails, passes) = (place.need("left")?, place.need("right")?);
            Ok(Step::Rule { split, fails, passes, gain: 0.0, cover: weight(place) })
        })
    }
}

/// The training rows below a place: the file tells them of leaves only.
fn weight(place: &Document) -> f64 {
    let mut open = vec![place];
    let mut sum = 0.0;
    while let Some(place) = open.pop() {
        match place.get("weight") {
            Some(Document::Number(weight)) => sum += graft::recorded(*weight).max(0.0),
            _ => open.extend(["left", "right"].iter().filter_map(|side| place.get(side))),
        }
    }
    sum
}

/// Whether a missing value passes the rules of a feature. As it is, it passes none.
fn missing_passes(feature: &Document) -> Found<bool> {
    match feature.get("nan_value_treatment") {
        None => Ok(false),
        Some(Document::Text(way)) if way == "AsIs" || way == "AsFalse" => Ok(false),
        Some(Document::Text(way)) if way == "AsTrue" => Ok(true),
        Some(_) => Err("`nan_value_treatment` must be AsIs, AsFalse or AsTrue".into()),
    }
}
