//! Importer of LightGBM models (Ke et al. 2017), written by `save_model` as text.
//!
//! A row goes left if `x <= t` in 64 bits, which is the opposite of our test. Each split has a
//! missing type: none (NaN then counts as 0), zero (NaN and numbers that are almost 0 go to the
//! default child) or NaN. A category in the split's set goes left, anything else right, missing
//! values included. Where zero counts as missing and the default child is not the one that zero's
//! value would go to, the split is expanded by sign: two more splits and copies of the subtrees
//! below, in which later splits on the same feature know the sign.

mod sections;

use std::collections::{BTreeMap, BTreeSet};

use self::sections::{TextSection, TextSections};
use super::FormatError;
use super::document::{Document, ImportResult, index};
use super::import::{self, ImportNode, ImportParts};
use crate::ensemble::{Link, Model, Shape};
use crate::schema::{Feature, Kind};
use crate::tree::{Leaf, LevelSet, Split, Test, Tree};

/// The library's name.
pub(super) const LIBRARY: &str = "lightgbm";

/// LightGBM treats numbers up to this distance from 0 as 0; its source defines a 32-bit constant.
const ZERO: f64 = 1e-35_f32 as f64;

/// Limit of the 32-bit words of a set: codes are 32-bit numbers.
const MAX_WORDS: usize = 1 << 27;

/// By which factor a tree may grow when its splits are expanded by sign.
const MAX_EXPANSION: usize = 64;

/// Reads a model that LightGBM wrote as text. The result has passed [`Model::check`].
pub(super) fn from_text(bytes: &[u8]) -> Result<Model, FormatError> {
    super::check_imported(LIBRARY, read(bytes))
}

fn read(bytes: &[u8]) -> ImportResult<Model> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_string())?;
    let TextSections { header, trees, average, complete, pandas } = TextSections::parse(text)?;
    let version = header.need("version")?;
    if !["v2", "v3", "v4"].contains(&version) {
        return Err(format!("files of version '{version}' are not supported; v2, v3 and v4 are"));
    }

    let objective = header.get("objective").unwrap_or("none");
    let ObjectiveInfo { link, ours, sigmoid } = link(objective)?;
    let outputs = header.count("num_tree_per_iteration")?;
    // Raw scores of several numbers have no objective.
    let has_several = link == Link::Softmax || objective == "custom" && outputs > 1;
    if outputs == 0 || has_several != (outputs > 1) {
        return Err(format!("objective '{objective}' does not fit {outputs} trees per iteration"));
    }

    import::check_unnamed(outputs, bytes.len(), "classes")?;
    let names: Vec<String> = header.need("feature_names")?.split(' ').map(str::to_string).collect();
    let count = header.count("max_feature_idx")?.saturating_add(1);
    let names = import::feature_names(names, count, bytes.len())?;
    let tables = trees.iter().map(TreeTable::new);
    let with_number = |(tree, table): (usize, ImportResult<TreeTable>)| {
        table.map_err(|error| format!("tree {tree}: {error}"))
    };

    let tables = tables.enumerate().map(with_number).collect::<ImportResult<Vec<TreeTable>>>()?;
    let infos = header.get("feature_infos").unwrap_or_default();
    let levels = level_names(&tables, &names, infos, pandas.as_ref())?;
    if !levels.is_empty() && !complete {
        return Err("the file ends before the names of categories; it is damaged".into());
    }

    // Forests predict the mean of their trees.
    let factor = if average { sigmoid / (tables.len() / outputs).max(1) as f64 } else { sigmoid };
    let mut trees_by_output: Vec<Vec<Shape>> = vec![Vec::new(); outputs];
    for (number, table) in tables.iter().enumerate() {
        let tree = table.tree(&levels).map_err(|fault| format!("tree {number}: {fault}"))?;
        let mut shape = Shape::Ordinary(tree);
        if factor != 1.0 {
            shape.scale_values(factor);
        }
        trees_by_output[number % outputs].push(shape);
    }

    let kind = |levels: Option<&FeatureLevels>| {
        levels.map_or(Kind::Number, |levels| Kind::Category { levels: levels.names.clone() })
    };
    let feature = |(feature, name)| Feature { name, kind: kind(levels.get(&feature)) };
    ImportParts {
        library: LIBRARY,
        version: version.to_string(),
        objective: ours.unwrap_or(objective).to_string(),
        link,
        classes: Vec::new(),
        features: names.into_iter().enumerate().map(feature).collect(),
        // LightGBM adds its start value to the leaves of the first trees.
        base: vec![0.0; outputs],
        trees: trees_by_output,
        params: BTreeMap::from([("objective".to_string(), objective.to_string())]),
    }
    .into_model()
}

/// What an objective means for predictions.
struct ObjectiveInfo {
    link: Link,
    /// Our name of the objective, if there is one.
    ours: Option<&'static str>,
    /// The factor of the scores before the link.
    sigmoid: f64,
}

fn link(objective: &str) -> ImportResult<ObjectiveInfo> {
    let mut parts = objective.split(' ');
    let name = parts.next().unwrap_or_default();
    let options: Vec<&str> = parts.collect();
    let (link, ours) = match name {
        "regression" | "regression_l2" => (Link::Identity, Some("squared")),
        "regression_l1" => (Link::Identity, Some("absolute")),
        "huber" | "fair" | "quantile" | "mape" | "lambdarank" | "rank_xendcg" | "custom"
        | "none" => (Link::Identity, None),
        "poisson" => (Link::Exp, Some("poisson")),
        "gamma" | "tweedie" => (Link::Exp, None),
        "binary" | "cross_entropy" => (Link::Sigmoid, Some("logistic")),
        "multiclass" => (Link::Softmax, Some("softmax")),
        other => return Err(format!("objective '{other}' has no counterpart here")),
    };

    if options.contains(&"sqrt") {
        return Err(format!(
            "objective '{objective}' squares its scores, which has no counterpart here"
        ));
    }

    let stated = if name == "binary" {
        options.iter().find_map(|option| option.strip_prefix("sigmoid:"))
    } else {
        None
    };

    let sigmoid = stated
        .map_or(Ok(1.0), |number| number.parse().map_err(|_| format!("objective '{objective}'")))?;
    Ok(ObjectiveInfo { link, ours, sigmoid })
}

/// The levels of a feature: their names, and which code each has in the file.
struct FeatureLevels {
    names: Vec<String>,
    codes: Vec<u32>,
}

/// The levels of all categorical features. If the model was trained on a data frame, their names
/// are in the file; otherwise the codes are the names. Codes that occur in no split need no name:
/// LightGBM sends them where it sends missing values.
fn level_names(
    tables: &[TreeTable],
    names: &[String],
    infos: &str,
    pandas: Option<&Document>,
) -> ImportResult<BTreeMap<usize, FeatureLevels>> {
    let mut codes: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    // A category's summary is a list of codes, a number's is a range in brackets.
    let categorical =
        infos.split(' ').enumerate().filter(|(_, info)| !info.starts_with('[') && *info != "none");
    codes.extend(
        categorical
            .filter(|(feature, info)| *feature < names.len() && !info.is_empty())
            .map(|(feature, _)| (feature, BTreeSet::new())),
    );

    for table in tables {
        for (feature, set) in table.sets() {
            codes.entry(feature).or_default().extend(set.iter());
        }
    }

    let frames = match pandas {
        Some(Document::List(lists)) => lists.as_slice(),
        _ => &[],
    };

    if !frames.is_empty() && frames.len() != codes.len() {
        let (frames, features) = (frames.len(), codes.len());
        return Err(format!(
            "{frames} columns of the training data were categories, but {features} features of the model are, so it is \
             not known which names belong to which; train without columns that are constant, or with codes"
        ));
    }

    let mut frames = frames.iter();
    let mut levels = BTreeMap::new();
    for (feature, codes) in codes {
        let feature_levels = match frames.next() {
            Some(frame) => {
                let names =
                    frame_levels(frame).ok_or("`pandas_categorical` must be lists of names")?;
                FeatureLevels { codes: (0..names.len() as u32).collect(), names }
            }
            None => FeatureLevels {
                names: codes.iter().map(u32::to_string).collect(),
                codes: codes.into_iter().collect(),
            },
        };
        levels.insert(feature, feature_levels);
    }
    Ok(levels)
}

fn frame_levels(frame: &Document) -> Option<Vec<String>> {
    match frame {
        Document::Numbers(numbers) => Some(numbers.iter().map(f64::to_string).collect()),
        Document::List(values) => values.iter().map(Document::name).collect(),
        _ => None,
    }
}

/// One tree as the file stores it: one list per property.
struct TreeTable {
    feature: Vec<f64>,
    threshold: Vec<f64>,
    decision: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
    gain: Vec<f64>,
    cover: Vec<f64>,
    leaf: Vec<f64>,
    leaf_cover: Vec<f64>,
    /// The codes of each categorical split, in the order of the file.
    sets: Vec<LevelSet>,
}

/// A position in a tree: which node or leaf of the file it is, and which signs of features the path
/// to it implies.
#[derive(Clone)]
struct TreeCursor {
    at: CursorTarget,
    signs: Vec<(u32, Sign)>,
}

#[derive(Clone, Copy)]
enum CursorTarget {
    /// A child as the file numbers it: a node, or a leaf if negative.
    Child(f64),
    /// A node whose feature is known not to be positive.
    NotPositive(usize),
}

/// The sign of a feature, where the path implies it.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Negative,
    /// Zero, or missing.
    Zero,
    Positive,
}

impl TreeCursor {
    fn child(&self, number: f64) -> TreeCursor {
        TreeCursor { at: CursorTarget::Child(number), signs: self.signs.clone() }
    }

    /// The same node again, with the sign of its feature known.
    fn with_sign(&self, node: usize, feature: u32, sign: Sign) -> TreeCursor {
        let mut cursor = self.child(node as f64);
        cursor.signs.push((feature, sign));
        cursor
    }
}

impl TreeTable {
    fn new(section: &TextSection<'_>) -> ImportResult<TreeTable> {
        if section.get("is_linear").is_some_and(|linear| linear.trim() != "0") {
            return Err("leaves are linear functions, which have no counterpart here".into());
        }
        let leaves = section.count("num_leaves")?;
        let leaf = section.numbers("leaf_value", leaves)?;

        // Some versions leave out the lists that a tree of one leaf does not need.
        let splits = leaf.len().checked_sub(1).ok_or("a tree has no leaf")?;
        let list = |key| if splits == 0 { Ok(Vec::new()) } else { section.numbers(key, splits) };
        let cover = |key, count| match section.get(key).filter(|text| !text.is_empty()) {
            Some(_) => section.numbers(key, count),
            None => Ok(vec![0.0; count]),
        };

        Ok(TreeTable {
            feature: list("split_feature")?,
            threshold: list("threshold")?,
            decision: list("decision_type")?,
            left: list("left_child")?,
            right: list("right_child")?,
            gain: list("split_gain")?,
            cover: cover("internal_weight", splits)?,
            leaf_cover: cover("leaf_weight", leaves)?,
            leaf,
            sets: category_sets(section)?,
        })
    }

    fn is_category(&self, node: usize) -> bool {
        self.decision[node] as u64 & 1 == 1
    }

    /// The set of a categorical split: its threshold is the index of the set.
    fn set(&self, node: usize) -> Option<&LevelSet> {
        index(self.threshold[node]).and_then(|set| self.sets.get(set))
    }

    /// The features and sets of all categorical splits.
    fn sets(&self) -> impl Iterator<Item = (usize, &LevelSet)> {
        let splits = (0..self.feature.len()).filter(|node| self.is_category(*node));
        splits.filter_map(|node| Some((index(self.feature[node])?, self.set(node)?)))
    }

    fn tree(&self, levels: &BTreeMap<usize, FeatureLevels>) -> ImportResult<Tree> {
        let size = self.feature.len() + self.leaf.len();
        let categories = (0..self.feature.len()).filter(|node| self.is_category(*node)).count();
        // Splits that share a set could make a large model of a small file.
        if categories > self.sets.len() {
            return Err("there are more categorical splits than sets of categories".into());
        }

        let limit = if self.needs_expansion() { size.saturating_mul(MAX_EXPANSION) } else { size };
        let root = CursorTarget::Child(if self.feature.is_empty() { -1.0 } else { 0.0 });
        import::tree(TreeCursor { at: root, signs: Vec::new() }, limit, |cursor| match cursor.at {
            CursorTarget::NotPositive(node) => {
                let feature = self.feature(node)?;
                let (fails, passes) = (
                    cursor.with_sign(node, feature, Sign::Negative),
                    cursor.with_sign(node, feature, Sign::Zero),
                );
                self.step(node, (-ZERO).next_down(), true, fails, passes)
            }
            CursorTarget::Child(number) => self.child(&cursor, number, levels),
        })
    }

    /// The node or leaf at a child, after skipping the splits that the known signs decide.
    fn child(
        &self,
        cursor: &TreeCursor,
        mut number: f64,
        levels: &BTreeMap<usize, FeatureLevels>,
    ) -> ImportResult<ImportNode<TreeCursor>> {
        for _ in 0..=self.feature.len() {
            if number < 0.0 {
                let leaf = index(-1.0 - number).filter(|leaf| *leaf < self.leaf.len());
                let leaf = leaf.ok_or_else(|| format!("there is no leaf {}", -1.0 - number))?;
                return Ok(ImportNode::Leaf(Leaf {
                    value: self.leaf[leaf],
                    cover: self.leaf_cover[leaf],
                }));
            }
            let node = index(number).filter(|node| *node < self.feature.len());
            let node = node.ok_or_else(|| format!("there is no node {number}"))?;
            if self.is_category(node) {
                return self.category_split(cursor, node, levels);
            }
            match self.known_side(cursor, node)? {
                Some(left) => number = if left { self.left[node] } else { self.right[node] },
                None => return self.number_split(cursor, node),
            }
        }
        Err("a node leads back to itself".into())
    }

    /// Whether the known signs send all rows of a node left or right; `None` if they do not decide.
    fn known_side(&self, cursor: &TreeCursor, node: usize) -> ImportResult<Option<bool>> {
        let threshold = self.threshold[node];
        Ok(match self.sign(cursor, node)? {
            Some(Sign::Zero) => Some(self.default_left(node)),
            Some(Sign::Positive) if threshold <= ZERO => Some(false),
            Some(Sign::Negative) if threshold >= -ZERO => Some(true),
            _ => None,
        })
    }

    /// The known sign of a node's feature, if zero counts as missing there.
    fn sign(&self, cursor: &TreeCursor, node: usize) -> ImportResult<Option<Sign>> {
        let feature = self.feature(node)?;
        let sign = cursor.signs.iter().find(|(other, _)| *other == feature);
        Ok(sign.filter(|_| self.missing_type(node) == 1).map(|(_, sign)| *sign))
    }

    fn feature(&self, node: usize) -> ImportResult<u32> {
        let feature =
            index(self.feature[node]).ok_or_else(|| format!("node {node} tests no feature"))?;
        Ok(feature as u32)
    }

    fn category_split(
        &self,
        cursor: &TreeCursor,
        node: usize,
        levels: &BTreeMap<usize, FeatureLevels>,
    ) -> ImportResult<ImportNode<TreeCursor>> {
        let set = self.set(node).ok_or_else(|| format!("node {node} has no categories"))?;
        let feature = self.feature(node)?;
        let levels = levels
            .get(&(feature as usize))
            .ok_or_else(|| format!("node {node} tests no category"))?;
        let code = |code| levels.codes.binary_search(&code).ok().map(|level| level as u32);
        let test = Test::In(set.iter().filter_map(code).collect());
        let split = Split { feature, test, missing_right: false };

        // Levels in the set pass our test and go left in LightGBM.
        let (fails, passes) = (cursor.child(self.right[node]), cursor.child(self.left[node]));
        Ok(ImportNode::Inner {
            split,
            fails,
            passes,
            gain: self.gain[node],
            cover: self.cover[node],
        })
    }

    fn default_left(&self, node: usize) -> bool {
        self.decision[node] as u64 & 2 == 2
    }

    /// Whether zero counts as missing and its value would go to the other child than missing values.
    fn separates_zero(&self, node: usize) -> bool {
        let threshold = self.threshold[node];
        let agrees = if self.default_left(node) { threshold >= ZERO } else { threshold < -ZERO };
        self.missing_type(node) == 1 && !agrees
    }

    /// The missing type: 0 for none, 1 for zero, 2 for NaN.
    fn missing_type(&self, node: usize) -> u64 {
        self.decision[node] as u64 >> 2 & 3
    }

    fn needs_expansion(&self) -> bool {
        (0..self.feature.len()).any(|node| !self.is_category(node) && self.separates_zero(node))
    }

    fn number_split(
        &self,
        cursor: &TreeCursor,
        node: usize,
    ) -> ImportResult<ImportNode<TreeCursor>> {
        let threshold = self.threshold[node];
        let (left, right) = (cursor.child(self.left[node]), cursor.child(self.right[node]));
        if self.sign(cursor, node)?.is_some() {
            // Neither zero nor missing values reach this node.
            return self.step(node, threshold, false, left, right);
        }

        if self.separates_zero(node) {
            let rest =
                TreeCursor { at: CursorTarget::NotPositive(node), signs: cursor.signs.clone() };
            return self.step(
                node,
                ZERO,
                false,
                rest,
                cursor.with_sign(node, self.feature(node)?, Sign::Positive),
            );
        }

        let missing_right = match self.missing_type(node) {
            0 => 0.0 > threshold,
            1 | 2 => !self.default_left(node),
            other => return Err(format!("node {node} has the unknown missing type {other}")),
        };
        self.step(node, threshold, missing_right, left, right)
    }

    fn step(
        &self,
        node: usize,
        above: f64,
        missing_right: bool,
        fails: TreeCursor,
        passes: TreeCursor,
    ) -> ImportResult<ImportNode<TreeCursor>> {
        let split = Split { feature: self.feature(node)?, test: Test::Above(above), missing_right };
        Ok(ImportNode::Inner {
            split,
            fails,
            passes,
            gain: self.gain[node],
            cover: self.cover[node],
        })
    }
}

/// The sets of a tree's categorical splits: each is a run of 32-bit words, the runs are stored one
/// after the other.
fn category_sets(section: &TextSection<'_>) -> ImportResult<Vec<LevelSet>> {
    let count = section.get("num_cat").map_or(Ok(0), |_| section.count("num_cat"))?;
    if count == 0 {
        return Ok(Vec::new());
    }

    let bounds = section.numbers("cat_boundaries", count.saturating_add(1))?;
    let words = section.all_numbers("cat_threshold")?;
    let run = |ends: &[f64]| {
        let words =
            words.get(index(ends[0])?..index(ends[1])?).filter(|words| words.len() < MAX_WORDS)?;
        let words = words
            .iter()
            .map(|word| index(*word).map(|word| word as u32))
            .collect::<Option<Vec<u32>>>()?;
        let codes = |(at, word): (usize, &u32)| {
            let word = *word;
            (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at as u32 * 32 + bit)
        };
        Some(words.iter().enumerate().flat_map(codes).collect::<LevelSet>())
    };

    // Decreasing bounds would let runs overlap, so that a short file could contain large sets.
    if bounds.windows(2).any(|ends| ends[0] > ends[1]) {
        return Err("`cat_boundaries` must not decrease".into());
    }

    let sets = bounds
        .windows(2)
        .map(|ends| run(ends).ok_or_else(|| "`cat_threshold` is damaged".to_string()));
    sets.collect()
}

#[cfg(test)]
mod tests;
