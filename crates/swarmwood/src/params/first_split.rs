//! The splits that every tree begins with.

use serde_json::{Value, json};
use swarmwood_learn::given_splits::{GivenSplit, GivenSplits};
use swarmwood_model::{Feature, Kind, LevelSet, Schema, Test};

use super::by_feature::{json_value, read_quoted, unknown_feature};
use super::value::ParamType;
use crate::error::Violation;
use crate::message::ParamValue;
use crate::nearest::nearest;

/// The splits at the top of every tree: `none`, one split such as `age<=25` or `region in {a,b}`,
/// perhaps with the side of missing values (`age<=25; missing right`), or a JSON object with the
/// keys `feature`, `threshold` or `in`, `missing`, `left` and `right`. Rows that fulfil the
/// condition go left.
///
/// ```
/// use swarmwood::params::Params;
///
/// let mut params = Params::default();
/// params.set("first_split", "age <= 25; missing right").unwrap();
/// assert_eq!(params.get("first_split").unwrap(), "age<=25; missing right");
/// let json = r#"{"feature": "age", "threshold": 25, "right": {"feature": 2, "in": ["a"]}}"#;
/// params.set("first_split", json).unwrap();
/// assert_eq!(params.first_split.leaves(), 3);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FirstSplit {
    root: Option<Box<SplitNode>>,
}

/// One split with those below it.
#[derive(Debug, Clone, PartialEq)]
struct SplitNode {
    feature: FeatureRef,
    condition: SplitCondition,
    missing_right: Option<bool>,
    children: [Option<Box<SplitNode>>; 2],
}

/// A feature as users name it.
#[derive(Debug, Clone, PartialEq)]
enum FeatureRef {
    Name(String),
    Position(usize),
}

/// Which rows go left.
#[derive(Debug, Clone, PartialEq)]
enum SplitCondition {
    AtMost(f64),
    In(Vec<String>),
}

impl FirstSplit {
    /// The values that are understood, for messages.
    pub(super) const ALLOWED: &'static str = "none, a split such as 'age<=25', 'region in {a,b}' or \
         'age<=25; missing right', or JSON such as {\"feature\": \"age\", \"threshold\": 25, \
         \"left\": {\"feature\": \"region\", \"in\": [\"a\", \"b\"]}}";

    /// Whether no split is given.
    pub fn is_none(&self) -> bool {
        self.root.is_none()
    }

    /// Leaves of the splits by themselves.
    pub fn leaves(&self) -> usize {
        self.root.as_ref().map_or(1, |root| root.leaves())
    }

    /// Splits on the longest path.
    pub fn depth(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.depth())
    }

    /// The splits over the features of a schema; a violation of `parameter` for everything that the
    /// schema does not have.
    pub fn resolve(&self, schema: &Schema, parameter: &str) -> Result<GivenSplits, Vec<Violation>> {
        let (mut splits, mut violations) = (Vec::new(), Vec::new());
        if let Some(root) = &self.root {
            root.resolve(&schema.features, parameter, &mut splits, &mut violations);
        }
        if violations.is_empty() { Ok(GivenSplits::new(splits)) } else { Err(violations) }
    }
}

impl SplitNode {
    fn below(&self) -> impl Iterator<Item = &SplitNode> {
        self.children.iter().flatten().map(|node| &**node)
    }

    fn leaves(&self) -> usize {
        let inner: usize = self.below().map(SplitNode::leaves).sum();
        inner + self.children.iter().filter(|child| child.is_none()).count()
    }

    fn depth(&self) -> usize {
        1 + self.below().map(SplitNode::depth).max().unwrap_or(0)
    }

    /// Appends the splits, parents first; returns the place of this one.
    fn resolve(
        &self,
        features: &[Feature],
        parameter: &str,
        splits: &mut Vec<GivenSplit>,
        violations: &mut Vec<Violation>,
    ) -> usize {
        let at = splits.len();
        let feature = self.feature.resolve(features, parameter);
        let test = feature.and_then(|feature| {
            let test = self.condition.test(&features[feature]);
            test.map(|test| (feature, test)).map_err(|text| Violation::new(parameter, text))
        });
        let (feature, test) = test.unwrap_or_else(|violation| {
            violations.push(violation);
            (0, Test::Above(0.0))
        });
        let missing_right = self.missing_right;
        splits.push(GivenSplit { feature, test, missing_right, children: [None; 2] });

        for (side, child) in self.children.iter().enumerate() {
            if let Some(child) = child {
                let place = child.resolve(features, parameter, splits, violations);
                splits[at].children[side] = Some(place);
            }
        }
        at
    }

    fn of(value: &ParamValue) -> Option<Box<SplitNode>> {
        let ParamValue::Map(entries) = value else { return None };
        let get = |key: &str| entries.iter().find(|(name, _)| name == key).map(|(_, value)| value);
        let keys = ["feature", "threshold", "in", "missing", "left", "right"];
        if entries.iter().any(|(name, _)| !keys.contains(&name.as_str())) {
            return None;
        }
        let feature = match get("feature")? {
            ParamValue::Text(name) => FeatureRef::Name(name.clone()),
            ParamValue::Integer(at) => FeatureRef::Position(usize::try_from(*at).ok()?),
            _ => return None,
        };
        let condition = match (get("threshold"), get("in")) {
            (Some(threshold), None) => SplitCondition::AtMost(f64::of(threshold)?),
            (None, Some(ParamValue::List(levels))) if !levels.is_empty() => {
                SplitCondition::In(levels.iter().map(level).collect::<Option<_>>()?)
            }
            _ => return None,
        };
        let missing_right = match get("missing") {
            None => None,
            Some(ParamValue::Text(side)) => Some(read_side(side)?),
            Some(_) => return None,
        };
        let child = |key: &str| match get(key) {
            None => Some(None),
            Some(value) => SplitNode::of(value).map(Some),
        };
        let children = [child("left")?, child("right")?];
        Some(Box::new(SplitNode { feature, condition, missing_right, children }))
    }

    fn to_json(&self) -> Value {
        let mut entries = serde_json::Map::new();
        let feature = match &self.feature {
            FeatureRef::Name(name) => json!(name),
            FeatureRef::Position(at) => json!(at),
        };
        entries.insert("feature".to_string(), feature);
        let (key, value) = match &self.condition {
            SplitCondition::AtMost(threshold) => ("threshold", json!(threshold)),
            SplitCondition::In(levels) => ("in", json!(levels)),
        };
        entries.insert(key.to_string(), value);
        if let Some(right) = self.missing_right {
            entries.insert("missing".to_string(), json!(side_name(right)));
        }
        for (key, child) in ["left", "right"].into_iter().zip(&self.children) {
            if let Some(child) = child {
                entries.insert(key.to_string(), child.to_json());
            }
        }
        Value::Object(entries)
    }

    /// One split as text, if it has a name and nothing below it.
    fn to_text(&self) -> Option<String> {
        let FeatureRef::Name(name) = &self.feature else { return None };
        if self.children.iter().any(Option::is_some) {
            return None;
        }
        let name = quoted(name);
        let condition = match &self.condition {
            SplitCondition::AtMost(threshold) => format!("{name}<={threshold}"),
            SplitCondition::In(levels) => {
                let levels: Vec<String> = levels.iter().map(|level| quoted(level)).collect();
                format!("{name} in {{{}}}", levels.join(","))
            }
        };
        let missing = self.missing_right.map(|right| format!("; missing {}", side_name(right)));
        Some(condition + &missing.unwrap_or_default())
    }
}

impl FeatureRef {
    fn resolve(&self, features: &[Feature], parameter: &str) -> Result<usize, Violation> {
        let (count, known) = (features.len(), |at: &usize| *at < features.len());
        match self {
            FeatureRef::Position(at) => Some(*at).filter(known).ok_or_else(|| {
                let message = format!("has position {at}, but there are {count} features");
                Violation::new(parameter, message)
            }),
            FeatureRef::Name(name) => features
                .iter()
                .position(|feature| feature.name == *name)
                .ok_or_else(|| unknown_feature(name, features, parameter)),
        }
    }
}

impl SplitCondition {
    /// The test that rows pass which do not fulfil the condition.
    fn test(&self, feature: &Feature) -> Result<Test, String> {
        let name = &feature.name;
        match (self, &feature.kind) {
            (SplitCondition::AtMost(threshold), Kind::Number) => Ok(Test::Above(*threshold)),
            (SplitCondition::AtMost(_), Kind::Category { .. }) => Err(format!(
                "has a threshold of '{name}', whose values are categories; use '{name} in {{a,b}}'"
            )),
            (SplitCondition::In(_), Kind::Number) => {
                Err(format!("has levels of '{name}', which is a number; use '{name}<=25'"))
            }
            (SplitCondition::In(named), Kind::Category { levels }) => {
                let is_level = |level: &&String| levels.contains(level);
                if let Some(level) = named.iter().find(|level| !is_level(level)) {
                    let near = nearest(level, levels.iter().map(String::as_str));
                    let hint = near.map(|near| format!("; did you mean '{near}'?"));
                    return Err(format!(
                        "has level '{level}', which '{name}' does not have{}",
                        hint.unwrap_or_default()
                    ));
                }
                let others = (0..).zip(levels).filter(|(_, level)| !named.contains(level));
                Ok(Test::In(others.map(|(code, _)| code).collect::<LevelSet>()))
            }
        }
    }
}

impl ParamType for FirstSplit {
    fn read(text: &str) -> Option<Self> {
        let root = match text {
            "none" | "" => None,
            json if json.starts_with('{') => {
                Some(SplitNode::of(&json_value(&serde_json::from_str(json).ok()?)?)?)
            }
            _ => Some(Box::new(read_split(text)?)),
        };
        Some(FirstSplit { root })
    }

    fn convert(value: &ParamValue) -> Option<Self> {
        SplitNode::of(value).map(|root| FirstSplit { root: Some(root) })
    }

    fn show(&self) -> String {
        match &self.root {
            None => "none".to_string(),
            Some(root) => root.to_text().unwrap_or_else(|| root.to_json().to_string()),
        }
    }
}

/// A level as text; numbers are levels where a column of numbers was read as categories.
fn level(value: &ParamValue) -> Option<String> {
    match value {
        ParamValue::Text(text) => Some(text.clone()),
        ParamValue::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

fn read_side(word: &str) -> Option<bool> {
    match word {
        "left" => Some(false),
        "right" => Some(true),
        _ => None,
    }
}

fn side_name(right: bool) -> &'static str {
    if right { "right" } else { "left" }
}

/// A split such as `age<=25` or `region in {a,b}; missing left`.
fn read_split(text: &str) -> Option<SplitNode> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(rest) => read_quoted(rest)?,
        None => {
            let end = ["<=", " in {"].iter().filter_map(|sign| text.find(sign)).min()?;
            (text[..end].trim().to_string(), text[end..].trim_start())
        }
    };
    let (condition, rest) = match rest.strip_prefix("<=") {
        Some(rest) => {
            let end = rest.find(';').unwrap_or(rest.len());
            (SplitCondition::AtMost(f64::read(rest[..end].trim())?), &rest[end..])
        }
        None => {
            let (levels, rest) = read_levels(rest.strip_prefix("in")?.trim_start())?;
            (SplitCondition::In(levels), rest)
        }
    };
    let missing_right = match rest.trim() {
        "" => None,
        rest => {
            let words = rest.strip_prefix(';')?.trim_start().strip_prefix("missing ")?;
            Some(read_side(words.trim())?)
        }
    };
    let feature = FeatureRef::Name(name).not_empty()?;
    Some(SplitNode { feature, condition, missing_right, children: [None, None] })
}

impl FeatureRef {
    fn not_empty(self) -> Option<Self> {
        (self != FeatureRef::Name(String::new())).then_some(self)
    }
}

/// The levels of `{a,"b, c"}`, and what follows.
fn read_levels(text: &str) -> Option<(Vec<String>, &str)> {
    let mut rest = text.strip_prefix('{')?.trim_start();
    let mut levels = Vec::new();
    loop {
        let (level, after) = match rest.strip_prefix('"') {
            Some(quoted) => read_quoted(quoted)?,
            None => {
                let end = rest.find([',', '}'])?;
                let level = rest[..end].trim();
                if level.is_empty() || level.contains('"') {
                    return None;
                }
                (level.to_string(), &rest[end..])
            }
        };
        levels.push(level);
        match after.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => return Some((levels, after.strip_prefix('}')?)),
        }
    }
}

/// A name or level as [`read_split`] reads it.
fn quoted(name: &str) -> String {
    let plain = !name.is_empty()
        && name.trim() == name
        && name != "none"
        && !name.contains([',', ';', '"', '{', '}', '<'])
        && !name.contains(" in");
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use swarmwood_model::{Target, TargetKind};

    use super::*;

    fn schema() -> Schema {
        let levels = ["a", "b", "c, d"].map(String::from).to_vec();
        let feature = |name: &str, kind: Kind| Feature { name: name.to_string(), kind };
        Schema {
            features: vec![
                feature("age", Kind::Number),
                feature("region", Kind::Category { levels }),
            ],
            target: Target { name: "y".to_string(), kind: TargetKind::Number },
            dates: Vec::new(),
        }
    }

    fn read(text: &str) -> FirstSplit {
        FirstSplit::read(text).unwrap_or_else(|| panic!("{text}"))
    }

    fn said(text: &str) -> String {
        read(text).resolve(&schema(), "first_split").unwrap_err()[0].to_string()
    }

    #[test]
    fn text_and_json_say_the_same() {
        let text = read(r#"region in {a, "c, d"}; missing left"#);
        let json = read(
            r#"{"feature": 1, "in": ["a", "c, d"], "missing": "left", "left": {"feature": "age",
                 "threshold": 2.5}}"#,
        );
        assert_eq!(text.show(), r#"region in {a,"c, d"}; missing left"#);
        assert_eq!((json.leaves(), json.depth()), (3, 2));
        let [text, json] =
            [text, json].map(|split| split.resolve(&schema(), "first_split").unwrap());
        let right: LevelSet = [1].into_iter().collect();
        assert_eq!(text.splits()[0].test, Test::In(right));
        assert_eq!(text.splits()[0].missing_right, Some(false));
        assert_eq!(text.splits()[0].test, json.splits()[0].test);
        assert_eq!(json.splits()[0].children, [Some(1), None]);
        assert_eq!((json.splits()[1].feature, &json.splits()[1].test), (0, &Test::Above(2.5)));
    }

    #[test]
    fn what_is_no_split_is_refused() {
        let texts = [
            "age",
            "age<25",
            "age<=",
            "age<=nan",
            "<=3",
            "age in a",
            "age in {}",
            "age in {a",
            "age<=3; missing",
            "age<=3; missing up",
            "age<=3 left",
            r#"{"feature": "age"}"#,
            r#"{"feature": "age", "threshold": 1, "in": ["a"]}"#,
            r#"{"feature": "age", "threshold": 1, "le": {}}"#,
            "{",
            r#"{"feature": "age", "threshold": 1, "left": 3}"#,
            r#"["age"]"#,
        ];
        for text in texts {
            assert_eq!(FirstSplit::read(text), None, "{text}");
        }
    }

    #[test]
    fn what_the_schema_does_not_have_is_said() {
        assert!(said("aeg<=3").contains("did you mean 'age'"));
        assert!(said("region<=3").contains("categories"));
        assert!(said("age in {a}").contains("is a number"));
        assert!(said("region in {a,e}").contains("level 'e'"));
        assert!(said(r#"{"feature": 7, "threshold": 1}"#).contains("2 features"));
    }

    proptest! {
        #[test]
        fn every_name_and_level_is_read_back(
            name in ".{1,8}",
            levels in prop::collection::vec(".{1,6}", 1..4),
            threshold in any::<f64>().prop_filter("finite", |value| value.is_finite()),
            missing_right in any::<Option<bool>>(),
        ) {
            for condition in [SplitCondition::AtMost(threshold), SplitCondition::In(levels)] {
                let feature = FeatureRef::Name(name.clone());
                let children = [None, None];
                let node = SplitNode { feature, condition, missing_right, children };
                let split = FirstSplit { root: Some(Box::new(node)) };
                prop_assert_eq!(FirstSplit::read(split.show().trim()), Some(split.clone()));
                let json = split.root.as_ref().map(|root| root.to_json().to_string());
                prop_assert_eq!(json.as_deref().and_then(FirstSplit::read), Some(split));
            }
        }
    }
}
