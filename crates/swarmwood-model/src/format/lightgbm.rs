//! Models of LightGBM (Ke et al. 2017), written by its `save_model` as text.
//!
//! A row goes left if `x <= t` in 64 bits, which is the opposite of our test. What a missing value
//! is belongs to each rule: nothing (NaN then counts as 0), zero (NaN and what is almost 0 go the
//! default way) or NaN. A category in the rule's set goes left, anything else right, missing values
//! included. Where zero is missing and its default way is not the way of its value, the rule is
//! taken apart by sign: three rules that copy what hangs below, where later rules about the same
//! feature then know the sign.

mod sections;

use std::collections::{BTreeMap, BTreeSet};

use self::sections::{Section, Sections};
use super::FormatError;
use super::document::{Document, Found, index};
use super::graft::{self, Foreign, Step};
use crate::ensemble::{Link, Model, Shape};
use crate::schema::{Feature, Kind};
use crate::tree::{Leaf, LevelSet, Split, Test, Tree};

/// The library's name.
pub(super) const LIBRARY: &str = "lightgbm";

/// LightGBM takes numbers up to this distance from 0 for 0; its source gives it as a 32-bit
/// constant.
const ZERO: f64 = 1e-35_f32 as f64;

/// Words of the largest set: codes are 32-bit numbers.
const MOST_WORDS: usize = 1 << 27;

/// How many times more places a tree may have after its rules about zero were taken apart.
const UNFOLDED: usize = 64;

/// The model that LightGBM wrote as text. It has passed [`Model::check`].
pub fn from_text(bytes: &[u8]) -> Result<Model, FormatError> {
    super::checked(LIBRARY, read(bytes))
}

fn read(bytes: &[u8]) -> Found<Model> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_string())?;
    let Sections { header, trees, average, whole, pandas } = Sections::of(text)?;
    let version = header.need("version")?;
    if !["v2", "v3", "v4"].contains(&version) {
        return Err(format!("files of version '{version}' are not read; v2, v3 and v4 are"));
    }
    let objective = header.get("objective").unwrap_or("none");
    let Objective { link, ours, sigmoid } = link(objective)?;
    let outputs = header.count("num_tree_per_iteration")?;
    if outputs == 0 || (link == Link::Softmax) != (outputs > 1) {
        return Err(format!("objective '{objective}' does not fit {outputs} trees an iteration"));
    }
    graft::affordable(outputs, bytes.len(), "classes")?;
    let names: Vec<String> = header.need("feature_names")?.split(' ').map(str::to_string).collect();
    let count = header.count("max_feature_idx")?.saturating_add(1);
    let names = graft::feature_names(names, count, bytes.len())?;
    let tables = trees.iter().map(Table::of);
    let named = |(tree, table): (usize, Found<Table>)| {
        table.map_err(|fault| format!("tree {tree}: {fault}"))
    };
    let tables = tables.enumerate().map(named).collect::<Found<Vec<Table>>>()?;
    let infos = header.get("feature_infos").unwrap_or_default();
    let levels = level_names(&tables, &names, infos, pandas.as_ref())?;
    if !levels.is_empty() && !whole {
        return Err("the file ends before the names of categories; it is damaged".into());
    }
    // Forests predict the mean of their trees.
    let factor = if average { sigmoid / (tables.len() / outputs).max(1) as f64 } else { sigmoid };
    let mut grown: Vec<Vec<Shape>> = vec![Vec::new(); outputs];
    for (number, table) in tables.iter().enumerate() {
        let tree = table.tree(&levels).map_err(|fault| format!("tree {number}: {fault}"))?;
        let mut shape = Shape::Ordinary(tree);
        if factor != 1.0 {
            graft::scale(&mut shape, factor);
        }
        grown[number % outputs].push(shape);
    }
    let kind = |levels: Option<&Levels>| {
        levels.map_or(Kind::Number, |levels| Kind::Category { levels: levels.names.clone() })
    };
    let feature = |(feature, name)| Feature { name, kind: kind(levels.get(&feature)) };
    Foreign {
        library: LIBRARY,
        version: version.to_string(),
        objective: ours.unwrap_or(objective).to_string(),
        link,
        classes: Vec::new(),
        features: names.into_iter().enumerate().map(feature).collect(),
        // LightGBM adds its start value to the leaves of the first trees.
        base: vec![0.0; outputs],
        trees: grown,
        params: BTreeMap::from([("objective".to_string(), objective.to_string())]),
    }
    .into_model()
}

/// What an objective means here.
struct Objective {
    link: Link,
    /// The objective's name here.
    ours: Option<&'static str>,
    /// What scores are multiplied with before the link.
    sigmoid: f64,
}

fn link(objective: &str) -> Found<Objective> {
    let mut words = objective.split(' ');
    let name = words.next().unwrap_or_default();
    let options: Vec<&str> = words.collect();
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
    Ok(Objective { link, ours, sigmoid })
}

/// The levels of a feature: their names, and which code each has in the file.
struct Levels {
    names: Vec<String>,
    codes: Vec<u32>,
}

/// The levels of all categories. A data frame's own names are in the file; otherwise codes are
/// names, and those that occur in no rule need none: LightGBM sends them where it sends missing
/// values.
fn level_names(
    tables: &[Table],
    names: &[String],
    infos: &str,
    pandas: Option<&Document>,
) -> Found<BTreeMap<usize, Levels>> {
    let mut codes: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    // A category's summary is a list of codes, a number's is a range in brackets.
    let listed =
        infos.split(' ').enumerate().filter(|(_, info)| !info.starts_with('[') && *info != "none");
    codes.extend(
        listed
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
        let found = match frames.next() {
            Some(frame) => {
                let names =
                    frame_levels(frame).ok_or("`pandas_categorical` must be lists of names")?;
                Levels { codes: (0..names.len() as u32).collect(), names }
            }
            None => Levels {
                names: codes.iter().map(u32::to_string).collect(),
                codes: codes.into_iter().collect(),
            },
        };
        levels.insert(feature, found);
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

/// The tables of a tree.
struct Table {
    feature: Vec<f64>,
    threshold: Vec<f64>,
    decision: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
    gain: Vec<f64>,
    cover: Vec<f64>,
    leaf: Vec<f64>,
    leaf_cover: Vec<f64>,
    /// The codes of each category rule, in the order of the file.
    sets: Vec<LevelSet>,
}

/// A place of a tree: where in the file it is, and what the way to it has told of the signs of
/// numbers.
#[derive(Clone)]
struct Place {
    at: At,
    signs: Vec<(u32, Sign)>,
}

#[derive(Clone, Copy)]
enum At {
    /// A child as the file numbers it: a node, or below 0 a leaf.
    Child(f64),
    /// A node whose number is known not to be above zero.
    NotPositive(usize),
}

/// What is known of a number.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Negative,
    /// Zero, or missing.
    Zero,
    Positive,
}

impl Place {
    fn child(&self, number: f64) -> Place {
        Place { at: At::Child(number), signs: self.signs.clone() }
    }

    fn learn(&self, node: usize, feature: u32, sign: Sign) -> Place {
        let mut place = self.child(node as f64);
        place.signs.push((feature, sign));
        place
    }
}

impl Table {
    fn of(section: &Section<'_>) -> Found<Table> {
        if section.get("is_linear").is_some_and(|linear| linear.trim() != "0") {
            return Err("leaves are linear functions, which have no counterpart here".into());
        }
        let leaves = section.count("num_leaves")?;
        let leaf = section.numbers("leaf_value", leaves)?;
        // Some versions leave out what trees of one leaf do not need.
        let rules = leaf.len().checked_sub(1).ok_or("a tree has no leaf")?;
        let list = |key| if rules == 0 { Ok(Vec::new()) } else { section.numbers(key, rules) };
        let cover = |key, count| match section.get(key).filter(|text| !text.is_empty()) {
            Some(_) => section.numbers(key, count),
            None => Ok(vec![0.0; count]),
        };
        Ok(Table {
            feature: list("split_feature")?,
            threshold: list("threshold")?,
            decision: list("decision_type")?,
            left: list("left_child")?,
            right: list("right_child")?,
            gain: list("split_gain")?,
            cover: cover("internal_weight", rules)?,
            leaf_cover: cover("leaf_weight", leaves)?,
            leaf,
            sets: category_sets(section)?,
        })
    }

    fn is_category(&self, node: usize) -> bool {
        self.decision[node] as u64 & 1 == 1
    }

    /// The set of a category rule: its threshold is the number of the set.
    fn set(&self, node: usize) -> Option<&LevelSet> {
        index(self.threshold[node]).and_then(|set| self.sets.get(set))
    }

    /// The features and sets of all category rules.
    fn sets(&self) -> impl Iterator<Item = (usize, &LevelSet)> {
        let rules = (0..self.feature.len()).filter(|node| self.is_category(*node));
        rules.filter_map(|node| Some((index(self.feature[node])?, self.set(node)?)))
    }

    fn tree(&self, levels: &BTreeMap<usize, Levels>) -> Found<Tree> {
        let places = self.feature.len() + self.leaf.len();
        let categories = (0..self.feature.len()).filter(|node| self.is_category(*node)).count();
        // Rules that share a set could make a large model of a small file.
        if categories > self.sets.len() {
            return Err("there are more category rules than sets of categories".into());
        }
        let most = if self.unfolds() { places.saturating_mul(UNFOLDED) } else { places };
        let root = At::Child(if self.feature.is_empty() { -1.0 } else { 0.0 });
        graft::tree(Place { at: root, signs: Vec::new() }, most, |place| match place.at {
            At::NotPositive(node) => {
                let feature = self.feature(node)?;
                let (fails, passes) = (
                    place.learn(node, feature, Sign::Negative),
                    place.learn(node, feature, Sign::Zero),
                );
                self.step(node, (-ZERO).next_down(), true, fails, passes)
            }
            At::Child(number) => self.child(&place, number, levels),
        })
    }

    /// What stands at a child, after the rules that what is known already decides.
    fn child(
        &self,
        place: &Place,
        mut number: f64,
        levels: &BTreeMap<usize, Levels>,
    ) -> Found<Step<Place>> {
        for _ in 0..=self.feature.len() {
            if number < 0.0 {
                let leaf = index(-1.0 - number).filter(|leaf| *leaf < self.leaf.len());
                let leaf = leaf.ok_or_else(|| format!("there is no leaf {}", -1.0 - number))?;
                return Ok(Step::Leaf(Leaf {
                    value: self.leaf[leaf],
                    cover: self.leaf_cover[leaf],
                }));
            }
            let node = index(number).filter(|node| *node < self.feature.len());
            let node = node.ok_or_else(|| format!("there is no node {number}"))?;
            if self.is_category(node) {
                return self.category_rule(place, node, levels);
            }
            match self.known_way(place, node)? {
                Some(left) => number = if left { self.left[node] } else { self.right[node] },
                None => return self.number_rule(place, node),
            }
        }
        Err("a node leads back to itself".into())
    }

    /// Whether a node where zero is missing is known to send its rows left, or known not to.
    fn known_way(&self, place: &Place, node: usize) -> Found<Option<bool>> {
        let threshold = self.threshold[node];
        Ok(match self.sign(place, node)? {
            Some(Sign::Zero) => Some(self.default_left(node)),
            Some(Sign::Positive) if threshold <= ZERO => Some(false),
            Some(Sign::Negative) if threshold >= -ZERO => Some(true),
            _ => None,
        })
    }

    /// What is known of a node's number, if zero is missing there.
    fn sign(&self, place: &Place, node: usize) -> Found<Option<Sign>> {
        let feature = self.feature(node)?;
        let known = place.signs.iter().find(|(known, _)| *known == feature);
        Ok(known.filter(|_| self.missing(node) == 1).map(|(_, sign)| *sign))
    }

    fn feature(&self, node: usize) -> Found<u32> {
        let feature =
            index(self.feature[node]).ok_or_else(|| format!("node {node} asks for no feature"))?;
        Ok(feature as u32)
    }

    fn category_rule(
        &self,
        place: &Place,
        node: usize,
        levels: &BTreeMap<usize, Levels>,
    ) -> Found<Step<Place>> {
        let set = self.set(node).ok_or_else(|| format!("node {node} has no categories"))?;
        let feature = self.feature(node)?;
        let levels = levels
            .get(&(feature as usize))
            .ok_or_else(|| format!("node {node} asks for no category"))?;
        let code = |code| levels.codes.binary_search(&code).ok().map(|level| level as u32);
        let test = Test::In(set.iter().filter_map(code).collect());
        let split = Split { feature, test, missing_right: false };
        // What is in the set passes here and goes left there.
        let (fails, passes) = (place.child(self.right[node]), place.child(self.left[node]));
        Ok(Step::Rule { split, fails, passes, gain: self.gain[node], cover: self.cover[node] })
    }

    fn default_left(&self, node: usize) -> bool {
        self.decision[node] as u64 & 2 == 2
    }

    /// Whether zero is missing and its value would go another way than missing values do.
    fn parts_zero(&self, node: usize) -> bool {
        let threshold = self.threshold[node];
        let agrees = if self.default_left(node) { threshold >= ZERO } else { threshold < -ZERO };
        self.missing(node) == 1 && !agrees
    }

    /// 0 if nothing is missing, 1 if zero is, 2 if NaN is.
    fn missing(&self, node: usize) -> u64 {
        self.decision[node] as u64 >> 2 & 3
    }

    fn unfolds(&self) -> bool {
        (0..self.feature.len()).any(|node| !self.is_category(node) && self.parts_zero(node))
    }

    fn number_rule(&self, place: &Place, node: usize) -> Found<Step<Place>> {
        let threshold = self.threshold[node];
        let (left, right) = (place.child(self.left[node]), place.child(self.right[node]));
        if self.sign(place, node)?.is_some() {
            // Neither zero nor missing values come here.
            return self.step(node, threshold, false, left, right);
        }
        if self.parts_zero(node) {
            let rest = Place { at: At::NotPositive(node), signs: place.signs.clone() };
            return self.step(
                node,
                ZERO,
                false,
                rest,
                place.learn(node, self.feature(node)?, Sign::Positive),
            );
        }
        let missing_right = match self.missing(node) {
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
        fails: Place,
        passes: Place,
    ) -> Found<Step<Place>> {
        let split = Split { feature: self.feature(node)?, test: Test::Above(above), missing_right };
        Ok(Step::Rule { split, fails, passes, gain: self.gain[node], cover: self.cover[node] })
    }
}

/// The sets of a tree's category rules: each is a run of 32-bit words, the runs lie one after the
/// other.
fn category_sets(section: &Section<'_>) -> Found<Vec<LevelSet>> {
    let count = section.get("num_cat").map_or(Ok(0), |_| section.count("num_cat"))?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let bounds = section.numbers("cat_boundaries", count.saturating_add(1))?;
    let words = section.all_numbers("cat_threshold")?;
    let run = |ends: &[f64]| {
        let words =
            words.get(index(ends[0])?..index(ends[1])?).filter(|words| words.len() < MOST_WORDS)?;
        let words = words
            .iter()
            .map(|word| index(*word).map(|word| word as u32))
            .collect::<Option<Vec<u32>>>()?;
        let held = |(place, word): (usize, &u32)| {
            let word = *word;
            (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| place as u32 * 32 + bit)
        };
        Some(words.iter().enumerate().flat_map(held).collect::<LevelSet>())
    };
    // Bounds that go back would let runs overlap, and a short file hold large sets.
    if bounds.windows(2).any(|ends| ends[0] > ends[1]) {
        return Err("`cat_boundaries` must not fall".into());
    }
    let sets = bounds
        .windows(2)
        .map(|ends| run(ends).ok_or_else(|| "`cat_threshold` is damaged".to_string()));
    sets.collect()
}

#[cfg(test)]
mod tests;
