//! Importer of XGBoost models (Chen and Guestrin 2016), written by `save_model` as JSON or UBJ.
//!
//! XGBoost rounds inputs to 32 bits and sends a row left if `x < t`; the imported thresholds decide
//! the same for every 64-bit input (`import::not_less`). Categories in a node's set go right.
//! Scores are added in 64 bits instead of 32, so they differ from the library's in the eighth
//! digit. All trees are used, as in `Booster.predict`; the best iteration of early stopping is
//! recorded in the provenance.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::document::{Document, ImportResult, index};
use super::import::{self, ImportNode, ImportParts};
use super::{FormatError, ubj};
use crate::ensemble::{Link, Model, Shape};
use crate::schema::{Feature, Kind};
use crate::tree::{Leaf, LevelSet, Split, Test, Tree};

/// The library's name.
pub(super) const LIBRARY: &str = "xgboost";

/// XGBoost accepts smaller category codes only, because a 32-bit float cannot distinguish larger
/// ones.
const CODES: usize = 1 << 24;

/// Reads a model that XGBoost wrote as JSON. The result has passed [`Model::check`].
pub(super) fn from_json(bytes: &[u8]) -> Result<Model, FormatError> {
    let text = without_infinities(bytes);
    finish(Document::from_json(&text).and_then(|document| read(&document, bytes.len())))
}

/// XGBoost writes `Infinity` for thresholds above all numbers, which JSON does not have. A number
/// above all 32-bit floats, of the same length, takes its place and is rounded to infinity again.
fn without_infinities(bytes: &[u8]) -> Cow<'_, [u8]> {
    const INFINITY: &[u8] = b"Infinity";
    const BEYOND: &[u8; INFINITY.len()] = b"3.5e+038";
    if !bytes.windows(INFINITY.len()).any(|word| word == INFINITY) {
        return Cow::Borrowed(bytes);
    }
    let mut text = bytes.to_vec();
    let (mut at, mut inside_string) = (0, false);
    while at < text.len() {
        match text[at] {
            b'"' => inside_string = !inside_string,
            b'\\' if inside_string => at += 1,
            b'I' if !inside_string && text[at..].starts_with(INFINITY) => {
                text[at..at + INFINITY.len()].copy_from_slice(BEYOND);
            }
            _ => {}
        }
        at += 1;
    }
    Cow::Owned(text)
}

/// Reads a model that XGBoost wrote as UBJ. The result has passed [`Model::check`].
pub(super) fn from_ubj(bytes: &[u8]) -> Result<Model, FormatError> {
    finish(ubj::from_ubj(bytes).and_then(|document| read(&document, bytes.len())))
}

fn finish(model: ImportResult<Model>) -> Result<Model, FormatError> {
    super::check_imported(LIBRARY, model)
}

fn read(document: &Document, file: usize) -> ImportResult<Model> {
    let learner = document.need("learner")?;
    let param = learner.need("learner_model_param")?;
    let objective = learner.need("objective")?.text("name")?;
    let (link, ours) = link(objective)?;
    let classes = param.count("num_class")?.unwrap_or(0).max(1);
    if param.count("num_target")?.unwrap_or(1) > 1 {
        return Err("the model predicts several targets; only one is supported".into());
    }

    if (link == Link::Softmax) != (classes > 1) {
        return Err(format!("objective '{objective}' does not fit {classes} classes"));
    }
    let (model, weights) = booster(learner.need("gradient_booster")?)?;
    let trees = model.list("trees")?;
    import::check_unnamed(classes, file, "classes")?;
    let names = learner.names("feature_names")?;
    let count = match param.count("num_feature")? {
        Some(count) if count > 0 => count,
        _ => names.len(),
    };

    let names = import::feature_names(names, count, file)?;
    let sets = trees.iter().map(category_sets).collect::<ImportResult<Vec<_>>>()?;
    let level_counts = level_counts(learner, trees, &sets)?;
    let features = features(names, &level_counts, model, file)?;
    let infos = model.numbers("tree_info")?;
    if infos.len() != trees.len() || weights.is_some_and(|weights| weights.len() != trees.len()) {
        return Err("`tree_info` and `weight_drop` must have one entry per tree".into());
    }

    let mut shapes: Vec<Vec<Shape>> = vec![Vec::new(); classes];
    for (number, (table, sets)) in trees.iter().zip(&sets).enumerate() {
        let mut shape = tree(table, sets)
            .map(Shape::Ordinary)
            .map_err(|error| format!("tree {number}: {error}"))?;
        if let Some(weights) = weights {
            shape.scale_values(weights[number]);
        }
        let class = index(infos[number]).and_then(|class| shapes.get_mut(class));
        class.ok_or_else(|| format!("tree {number} belongs to no class"))?.push(shape);
    }

    let version: Vec<String> = document.names("version")?;
    ImportParts {
        library: LIBRARY,
        version: version.join("."),
        objective: ours.unwrap_or(objective).to_string(),
        link,
        classes: Vec::new(),
        features,
        base: base(param.text("base_score")?, objective, classes)?,
        trees: shapes,
        params: provenance_params(learner, objective),
    }
    .into_model()
}

/// The object with the trees, and the weights of DART's trees.
fn booster(booster: &Document) -> ImportResult<(&Document, Option<&[f64]>)> {
    match booster.text("name")? {
        "gbtree" => Ok((booster.need("model")?, None)),
        "dart" => {
            Ok((booster.need("gbtree")?.need("model")?, Some(booster.numbers("weight_drop")?)))
        }
        other => Err(format!("booster '{other}' is not supported; gbtree and dart are")),
    }
}

fn provenance_params(learner: &Document, objective: &str) -> BTreeMap<String, String> {
    let mut params = BTreeMap::from([("objective".to_string(), objective.to_string())]);
    if let Some(best) =
        learner.get("attributes").and_then(|attributes| attributes.get("best_iteration")?.name())
    {
        params.insert("best_iteration".to_string(), best);
    }
    params
}

/// The link of an objective, and our name of the objective if there is one.
fn link(objective: &str) -> ImportResult<(Link, Option<&'static str>)> {
    Ok(match objective {
        "reg:squarederror" | "reg:linear" => (Link::Identity, Some("squared")),
        "reg:absoluteerror" => (Link::Identity, Some("absolute")),
        "reg:quantileerror"
        | "reg:pseudohubererror"
        | "reg:squaredlogerror"
        | "binary:logitraw"
        | "rank:pairwise"
        | "rank:ndcg"
        | "rank:map" => (Link::Identity, None),
        "binary:logistic" | "reg:logistic" => (Link::Sigmoid, Some("logistic")),
        "count:poisson" => (Link::Exp, Some("poisson")),
        "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => (Link::Exp, None),
        "multi:softmax" | "multi:softprob" => (Link::Softmax, Some("softmax")),
        other => return Err(format!("objective '{other}' has no counterpart here")),
    })
}

/// The start values. They are stored as predictions and become scores by the inverse of the link;
/// lists are written as text too, in brackets.
fn base(text: &str, objective: &str, classes: usize) -> ImportResult<Vec<f64>> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let parse =
        |part: &str| part.trim().parse::<f64>().map_err(|_| format!("`base_score` is '{part}'"));
    let stored = inner.split(',').map(parse).collect::<ImportResult<Vec<f64>>>()?;
    let score = |value: &f64| match objective {
        "binary:logistic" | "reg:logistic" => -(1.0 / value - 1.0).ln(),
        "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => {
            value.ln()
        }
        _ => *value,
    };

    match stored.as_slice() {
        [one] => Ok(vec![score(one); classes]),
        many if many.len() == classes => Ok(many.iter().map(score).collect()),
        many => Err(format!("`base_score` has {} values for {classes} outputs", many.len())),
    }
}

/// The category codes of a tree's nodes, by node.
type CategorySets = HashMap<usize, LevelSet>;

fn category_sets(tree: &Document) -> ImportResult<CategorySets> {
    if tree.get("categories_nodes").is_none() {
        return Ok(CategorySets::new());
    }
    let codes = tree.numbers("categories")?;
    let (nodes, starts, sizes) = (
        tree.numbers("categories_nodes")?,
        tree.numbers("categories_segments")?,
        tree.numbers("categories_sizes")?,
    );

    if nodes.len() != starts.len() || nodes.len() != sizes.len() {
        return Err("the tables of categories differ in length".into());
    }
    let mut sets = CategorySets::new();
    let mut used = 0.0;
    for ((node, start), size) in nodes.iter().zip(starts).zip(sizes) {
        // Segments that overlap could make many sets of few codes.
        used += size;
        if used > codes.len() as f64 {
            return Err("nodes share categories".into());
        }
        let segment = || -> Option<LevelSet> {
            let (start, size) = (index(*start)?, index(*size)?);
            let codes = codes.get(start..start.checked_add(size)?)?;
            codes
                .iter()
                .map(|code| index(*code).filter(|code| *code < CODES).map(|code| code as u32))
                .collect()
        };
        let set = segment().ok_or("a node's categories are out of range")?;
        sets.insert(index(*node).ok_or("a node of the categories does not exist")?, set);
    }
    Ok(sets)
}

/// The number of levels of each categorical feature, as far as splits show it. Categorical are the
/// features that the file declares so and those that some split treats so.
fn level_counts(
    learner: &Document,
    trees: &[Document],
    sets: &[CategorySets],
) -> ImportResult<BTreeMap<usize, usize>> {
    let types = learner.names("feature_types")?;
    let declared = types.iter().enumerate().filter(|(_, kind)| *kind == "c");
    let mut counts: BTreeMap<usize, usize> = declared.map(|(feature, _)| (feature, 0)).collect();

    for (tree, sets) in trees.iter().zip(sets) {
        let split_features = tree.numbers("split_indices")?;
        for (node, set) in sets {
            let feature = split_features
                .get(*node)
                .and_then(|feature| index(*feature))
                .ok_or("a node's feature is missing")?;
            let count = counts.entry(feature).or_default();
            *count = (*count).max(set.iter().next_back().map_or(0, |code| code as usize + 1));
        }
    }
    Ok(counts)
}

/// The features; the levels of categorical ones have names or else their codes as names.
fn features(
    names: Vec<String>,
    counts: &BTreeMap<usize, usize>,
    model: &Document,
    file: usize,
) -> ImportResult<Vec<Feature>> {
    let stored = model.get("cats").map(level_names).transpose()?.unwrap_or_default();
    let unnamed = |feature: &usize| stored.get(*feature).is_none_or(Vec::is_empty);
    import::check_unnamed(
        counts.iter().filter(|(feature, _)| unnamed(feature)).map(|(_, count)| count).sum(),
        file,
        "levels",
    )?;

    let feature = |(feature, name): (usize, String)| match counts.get(&feature) {
        None => import::number_feature(name),
        Some(_) if !unnamed(&feature) => {
            Feature { name, kind: Kind::Category { levels: stored[feature].clone() } }
        }
        Some(&count) => Feature {
            name,
            kind: Kind::Category { levels: (0..count).map(|code| code.to_string()).collect() },
        },
    };
    Ok(names.into_iter().enumerate().map(feature).collect())
}

/// The names of levels, feature by feature; files of version 3.1 and later have them. Whole numbers
/// are stored as such, texts as one byte string with the offset of each.
fn level_names(cats: &Document) -> ImportResult<Vec<Vec<String>>> {
    let one = |stored: &Document| {
        let Some(offsets) = stored.get("offsets") else { return stored.names("values") };
        let (Document::Numbers(offsets), bytes) = (offsets, stored.numbers("values")?) else {
            return Err("the names of levels are damaged".to_string());
        };
        // XGBoost counts characters where it needs bytes, so that names from a data frame are cut
        // wrongly after the first non-ASCII character (seen in 3.2). The names cannot be restored.
        if !bytes.iter().all(|byte| (0.0..128.0).contains(byte)) {
            return Err(
                "names of categories with letters beyond ASCII, which XGBoost stores damaged; rename them".into()
            );
        }
        let bytes: Vec<u8> = bytes.iter().map(|byte| *byte as u8).collect();
        let name = |ends: &[f64]| {
            let range = index(ends[0])?..index(ends[1])?;
            std::str::from_utf8(bytes.get(range)?).ok().map(str::to_string)
        };
        let mut used = 0;
        let mut names = Vec::new();
        for ends in offsets.windows(2) {
            let name = name(ends).ok_or("the names of levels are damaged")?;
            used += name.len();
            if used > bytes.len() {
                return Err("the names of levels overlap".to_string());
            }
            names.push(name);
        }
        Ok(names)
    };
    cats.list("enc")?.iter().map(one).collect()
}

/// One tree. A leaf is a node without children; its value is stored as its threshold.
fn tree(table: &Document, sets: &CategorySets) -> ImportResult<Tree> {
    if table
        .get("tree_param")
        .map(|param| param.count("size_leaf_vector"))
        .transpose()?
        .flatten()
        .unwrap_or(1)
        > 1
    {
        return Err("leaves hold several values; only trees of one output are supported".into());
    }

    let (left, right) = (table.numbers("left_children")?, table.numbers("right_children")?);
    let (feature, condition) =
        (table.numbers("split_indices")?, table.numbers("split_conditions")?);
    let (gain, cover) = (table.numbers("loss_changes")?, table.numbers("sum_hessian")?);
    let default_left =
        booleans(table.need("default_left")?).ok_or("`default_left` must be a list of 0 and 1")?;
    let nodes = left.len();
    let lengths = [right, feature, condition, gain, cover].map(<[f64]>::len);
    if lengths.iter().any(|length| *length != nodes) || default_left.len() != nodes || nodes == 0 {
        return Err("the tables of the tree differ in length or are empty".into());
    }

    let categorical = table
        .get("split_type")
        .map(|kinds| booleans(kinds).unwrap_or_default())
        .unwrap_or_default();
    import::tree(0_usize, nodes, |node| {
        if node >= nodes {
            return Err(format!("there is no node {node}"));
        }
        if left[node] == -1.0 {
            // Leaf values are 32-bit floats, written with as many digits as those need.
            let value = f64::from(condition[node] as f32);
            return Ok(ImportNode::Leaf(Leaf { value, cover: cover[node] }));
        }
        let child =
            |number: f64| index(number).ok_or_else(|| format!("node {node} leads to {number}"));
        let test = if categorical.get(node).copied().unwrap_or(false) {
            Test::In(
                sets.get(&node).cloned().ok_or_else(|| format!("node {node} has no categories"))?,
            )
        } else {
            Test::Above(import::not_less(condition[node] as f32))
        };
        let feature =
            index(feature[node]).ok_or_else(|| format!("node {node} tests no feature"))? as u32;
        let split = Split { feature, test, missing_right: !default_left[node] };
        let (fails, passes) = (child(left[node])?, child(right[node])?);
        Ok(ImportNode::Inner { split, fails, passes, gain: gain[node], cover: cover[node] })
    })
}

/// Booleans, which old versions wrote as such and new ones as numbers.
fn booleans(list: &Document) -> Option<Vec<bool>> {
    match list {
        Document::Numbers(numbers) => Some(numbers.iter().map(|number| *number != 0.0).collect()),
        Document::List(values) => {
            let boolean = |value: &Document| {
                if let Document::Boolean(boolean) = value { Some(*boolean) } else { None }
            };
            values.iter().map(boolean).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_become_numbers_outside_of_strings() {
        let text = br#"{"Infinity":[-Infinity,1,Infinity],"a\"Infinity":"Infinity"}"#;
        let expected = br#"{"Infinity":[-3.5e+038,1,3.5e+038],"a\"Infinity":"Infinity"}"#;
        assert_eq!(&*without_infinities(text), expected);
        assert!(matches!(without_infinities(b"[1]"), Cow::Borrowed(_)));
        let Ok(Document::Numbers(numbers)) = Document::from_json(b"[3.5e+038]") else {
            panic!("a list of numbers");
        };
        assert_eq!(numbers[0] as f32, f32::INFINITY);
    }
}
