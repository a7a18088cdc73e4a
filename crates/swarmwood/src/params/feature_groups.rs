//! Groups of features that may interact.

use serde_json::Value;
use swarmwood_model::Schema;

use super::by_feature::{read_quoted, unknown_feature};
use super::value::ParamType;
use crate::error::Violation;
use crate::message::ParamValue;

/// Which features may be together on a path of a tree: `none` for all of them, `pairwise`,
/// `no_interactions`, or groups such as `age,income;region,*`, where names may be in double quotes
/// and
/// `*` stands for every feature that no group names. In JSON the groups are lists of names or
/// positions.
///
/// ```
/// use swarmwood::params::Params;
///
/// let mut params = Params::default();
/// params.set("interactions", r#"age,income;"a;b",*"#).unwrap();
/// assert_eq!(params.get("interactions").unwrap(), r#"age,income;"a;b",*"#);
/// params.set("interactions", "[[0, 1], [2]]").unwrap();
/// assert_eq!(params.get("interactions").unwrap(), "[[0,1],[2]]");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FeatureGroups {
    /// All features may interact.
    #[default]
    All,
    /// Any two features may.
    Pairwise,
    /// None may: a model is a sum of functions of one feature each.
    Alone,
    /// Those of each group may.
    Groups(Vec<Vec<GroupMember>>),
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupMember {
    /// A feature by name.
    Name(String),
    /// A feature by position.
    Position(usize),
    /// Every feature that no group names.
    Rest,
}

impl FeatureGroups {
    /// Groups of positions in a schema, with one more for the features that are in none of them;
    /// none if all features may interact. A violation of `parameter` for each name that the schema
    /// does not have.
    pub fn resolve(
        &self,
        schema: &Schema,
        parameter: &str,
    ) -> Result<Vec<Vec<usize>>, Vec<Violation>> {
        let count = schema.features.len();
        match self {
            FeatureGroups::All => Ok(Vec::new()),
            FeatureGroups::Alone => Ok((0..count).map(|feature| vec![feature]).collect()),
            FeatureGroups::Pairwise if count < 2 => Ok(Vec::new()),
            FeatureGroups::Pairwise => {
                let with = |first| (first + 1..count).map(move |second| vec![first, second]);
                Ok((0..count).flat_map(with).collect())
            }
            FeatureGroups::Groups(groups) => resolve_groups(groups, schema, parameter),
        }
    }
}

fn resolve_groups(
    groups: &[Vec<GroupMember>],
    schema: &Schema,
    parameter: &str,
) -> Result<Vec<Vec<usize>>, Vec<Violation>> {
    let features = &schema.features;
    let mut violations = Vec::new();
    let mut position = |member: &GroupMember| match member {
        GroupMember::Rest => None,
        GroupMember::Position(at) if *at < features.len() => Some(*at),
        GroupMember::Position(at) => {
            let message = format!("has position {at}, but there are {} features", features.len());
            violations.push(Violation::new(parameter, message));
            None
        }
        GroupMember::Name(name) => {
            let found = features.iter().position(|feature| feature.name == *name);
            if found.is_none() {
                violations.push(unknown_feature(name, features, parameter));
            }
            found
        }
    };
    let mut all: Vec<Vec<usize>> =
        groups.iter().map(|group| group.iter().filter_map(&mut position).collect()).collect();
    if !violations.is_empty() {
        return Err(violations);
    }

    let named: Vec<usize> = all.iter().flatten().copied().collect();
    let rest: Vec<usize> = (0..features.len()).filter(|at| !named.contains(at)).collect();
    let takes_rest: Vec<bool> =
        groups.iter().map(|group| group.contains(&GroupMember::Rest)).collect();
    for (group, _) in all.iter_mut().zip(&takes_rest).filter(|(_, takes)| **takes) {
        group.extend(&rest);
    }
    if !takes_rest.contains(&true) && !rest.is_empty() {
        all.push(rest);
    }
    for group in &mut all {
        group.sort_unstable();
        group.dedup();
    }
    Ok(all)
}

impl ParamType for FeatureGroups {
    fn read(text: &str) -> Option<Self> {
        match text {
            "none" | "" => Some(FeatureGroups::All),
            "pairwise" => Some(FeatureGroups::Pairwise),
            "no_interactions" | "no-interactions" => Some(FeatureGroups::Alone),
            json if json.starts_with('[') => of_json(&serde_json::from_str(json).ok()?),
            _ => read_groups(text).map(FeatureGroups::Groups),
        }
    }

    fn convert(value: &ParamValue) -> Option<Self> {
        let member = |member: &ParamValue| match member {
            ParamValue::Text(name) => Some(named(name)),
            ParamValue::Integer(at) => usize::try_from(*at).ok().map(GroupMember::Position),
            _ => None,
        };
        let group = |group: &ParamValue| match group {
            ParamValue::List(members) if !members.is_empty() => {
                members.iter().map(member).collect::<Option<Vec<_>>>()
            }
            _ => None,
        };
        match value {
            ParamValue::List(groups) if groups.is_empty() => Some(FeatureGroups::All),
            ParamValue::List(groups) => {
                groups.iter().map(group).collect::<Option<_>>().map(FeatureGroups::Groups)
            }
            _ => None,
        }
    }

    fn show(&self) -> String {
        match self {
            FeatureGroups::All => "none".to_string(),
            FeatureGroups::Pairwise => "pairwise".to_string(),
            FeatureGroups::Alone => "no_interactions".to_string(),
            FeatureGroups::Groups(groups) => show_groups(groups),
        }
    }
}

/// A name, or `*`.
fn named(name: &str) -> GroupMember {
    if name == "*" { GroupMember::Rest } else { GroupMember::Name(name.to_string()) }
}

fn of_json(value: &Value) -> Option<FeatureGroups> {
    let member = |member: &Value| match member {
        Value::String(name) => Some(named(name)),
        Value::Number(at) => usize::try_from(at.as_u64()?).ok().map(GroupMember::Position),
        _ => None,
    };
    let group = |group: &Value| match group.as_array()?.as_slice() {
        [] => None,
        members => members.iter().map(member).collect::<Option<Vec<_>>>(),
    };
    let groups = value.as_array()?.iter().map(group).collect::<Option<Vec<_>>>()?;
    Some(if groups.is_empty() { FeatureGroups::All } else { FeatureGroups::Groups(groups) })
}

/// The groups of `a,b;c,*`.
fn read_groups(text: &str) -> Option<Vec<Vec<GroupMember>>> {
    let (mut groups, mut group) = (Vec::new(), Vec::new());
    let mut rest = text.trim();
    loop {
        let (member, after) = read_member(rest)?;
        group.push(member);
        match after.chars().next() {
            None => break,
            Some(';') => groups.push(std::mem::take(&mut group)),
            Some(_) => {}
        }
        rest = after[1..].trim_start();
    }
    groups.push(group);
    Some(groups)
}

/// A name, in quotes or up to the next separator, and what comes from there on.
fn read_member(text: &str) -> Option<(GroupMember, &str)> {
    let Some(rest) = text.strip_prefix('"') else {
        let end = text.find([',', ';']).unwrap_or(text.len());
        let name = text[..end].trim();
        return (!name.is_empty() && !name.contains('"')).then(|| (named(name), &text[end..]));
    };
    let (name, after) = read_quoted(rest)?;
    let ends = after.is_empty() || after.starts_with([',', ';']);
    ends.then_some((GroupMember::Name(name), after))
}

/// The groups as text; as JSON if one has positions.
fn show_groups(groups: &[Vec<GroupMember>]) -> String {
    let has_position = |member: &GroupMember| matches!(member, GroupMember::Position(_));
    if groups.iter().flatten().any(has_position) {
        let member = |member: &GroupMember| match member {
            GroupMember::Name(name) => Value::from(name.as_str()),
            GroupMember::Position(at) => Value::from(*at),
            GroupMember::Rest => Value::from("*"),
        };
        let group = |group: &Vec<GroupMember>| group.iter().map(member).collect::<Value>();
        return groups.iter().map(group).collect::<Value>().to_string();
    }
    let member = |member: &GroupMember| match member {
        GroupMember::Name(name) => quoted(name),
        _ => "*".to_string(),
    };
    let group = |group: &Vec<GroupMember>| group.iter().map(member).collect::<Vec<_>>().join(",");
    groups.iter().map(group).collect::<Vec<_>>().join(";")
}

/// A name as [`read_member`] reads it, and that no word of the parameter is mistaken for.
fn quoted(name: &str) -> String {
    let words = ["none", "pairwise", "no_interactions", "no-interactions", "*"];
    let plain = !name.is_empty()
        && name.trim() == name
        && !name.starts_with('[')
        && !name.contains([',', ';', '"'])
        && !words.contains(&name);
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use swarmwood_model::{Feature, Kind, Target, TargetKind};

    use super::*;

    fn schema(names: &[&str]) -> Schema {
        let feature = |name: &&str| Feature { name: name.to_string(), kind: Kind::Number };
        Schema {
            features: names.iter().map(feature).collect(),
            target: Target { name: "y".to_string(), kind: TargetKind::Number },
            dates: Vec::new(),
        }
    }

    fn resolved(text: &str) -> Vec<Vec<usize>> {
        let groups = FeatureGroups::read(text).unwrap();
        groups.resolve(&schema(&["a", "b", "c", "d"]), "interactions").unwrap()
    }

    #[test]
    fn a_star_is_the_rest_and_without_one_the_rest_is_a_group() {
        assert_eq!(resolved("a,b;c"), [vec![0, 1], vec![2], vec![3]]);
        assert_eq!(resolved("a,b;b,*"), [vec![0, 1], vec![1, 2, 3]]);
        assert_eq!(resolved("*;a"), [vec![1, 2, 3], vec![0]]);
        assert_eq!(resolved("[[1, 0], [\"c\", \"*\"]]"), [vec![0, 1], vec![2, 3]]);
        assert_eq!(resolved("pairwise").len(), 6);
        assert_eq!(resolved("no_interactions"), [[0], [1], [2], [3]]);
        assert!(resolved("none").is_empty());
    }

    #[test]
    fn what_is_no_group_or_no_feature_is_refused() {
        for text in ["a,", ";a", "a,,b", "\"a", "[[]]", "[1]", "[[-1]]", "[[null]]"] {
            assert_eq!(FeatureGroups::read(text), None, "{text}");
        }
        let said = |text: &str| {
            let groups = FeatureGroups::read(text).unwrap();
            groups.resolve(&schema(&["income", "debt"]), "x").unwrap_err()[0].to_string()
        };
        assert!(said("incme,debt").ends_with("did you mean 'income'?"), "{}", said("incme"));
        assert!(said("[[2]]").contains("has position 2, but there are 2 features"));
    }

    proptest! {
        #[test]
        fn every_name_is_read_back(names in prop::collection::vec(".{0,8}", 1..5)) {
            let group = names.into_iter().map(GroupMember::Name).collect();
            let value = FeatureGroups::Groups(vec![group, vec![GroupMember::Rest]]);
            prop_assert_eq!(FeatureGroups::read(value.show().trim()), Some(value));
        }
    }
}
