//! One table of a file becomes a parameter.

use swarmwood_search::space::{Domain, Param, ParamCondition, ParamScale};

use super::node::{Key, SpaceNode};
use crate::error::SpaceFault;
use crate::nearest::nearest;

/// A parameter and the line where it begins.
#[derive(Debug)]
pub(super) struct ParamEntry {
    pub param: Param,
    pub line: Option<usize>,
}

/// The kinds of parameters and the keys each may have beside `type` and `when`.
const KINDS: &[(&str, &[&str])] = &[
    ("integer", &["low", "high", "scale"]),
    ("real", &["low", "high", "scale"]),
    ("list", &["values"]),
    ("choice", &["values"]),
];

/// Collects what is wrong with one parameter.
struct ParamFaults<'a> {
    file: &'a str,
    name: &'a str,
    line: Option<usize>,
    found: Vec<SpaceFault>,
}

impl ParamFaults<'_> {
    fn push(&mut self, line: Option<usize>, key: &str, message: &str) {
        let fault = SpaceFault::of_parameter(self.file, line.or(self.line), self.name, message);
        self.found.push(if key.is_empty() { fault } else { fault.with_key(key) });
    }
}

/// The parameter of a table, or all that is wrong with it.
pub(super) fn entry(file: &str, key: Key) -> Result<ParamEntry, Vec<SpaceFault>> {
    let Key { name, line, node } = key;
    let mut faults = ParamFaults { file, name: &name, line, found: Vec::new() };
    let SpaceNode::Table(keys) = node else {
        faults.push(
            line,
            "",
            &format!("is {}, must be a table such as {{ type = \"real\", … }}", node.kind()),
        );
        return Err(faults.found);
    };
    for (at, key) in keys.iter().enumerate() {
        if keys[..at].iter().any(|other| other.name == key.name) {
            faults.push(key.line, &key.name, "appears twice");
        }
    }
    let Some((kind, allowed)) = kind(&keys, &mut faults) else { return Err(faults.found) };
    for key in keys.iter().filter(|key| !["type", "when"].contains(&key.name.as_str())) {
        if !allowed.contains(&key.name.as_str()) {
            let known = allowed.iter().copied().chain(["type", "when"]);
            let meant = nearest(&key.name, known)
                .map_or(String::new(), |near| format!("did you mean '{near}'? "));
            let all = format!(
                "no such key; {meant}a parameter of type {kind} has type, {}, when",
                allowed.join(", ")
            );
            faults.push(key.line, &key.name, &all);
        }
    }
    let domain = match kind {
        "integer" => integer(&keys, &mut faults),
        "real" => real(&keys, &mut faults),
        "list" => list(&keys, &mut faults),
        _ => choice(&keys, &mut faults),
    };
    let condition = condition(&keys, &mut faults);
    match domain {
        Some(domain) if faults.found.is_empty() => {
            Ok(ParamEntry { param: Param { name, domain, condition }, line })
        }
        _ => Err(faults.found),
    }
}

fn find<'a>(keys: &'a [Key], name: &str) -> Option<&'a Key> {
    keys.iter().find(|key| key.name == name)
}

/// The word of `type` and the keys that go with it.
fn kind(
    keys: &[Key],
    faults: &mut ParamFaults<'_>,
) -> Option<(&'static str, &'static [&'static str])> {
    let words = || KINDS.iter().map(|(kind, _)| *kind);
    let all = words().collect::<Vec<_>>().join(", ");
    let Some(key) = find(keys, "type") else {
        faults.push(None, "", &format!("has no key 'type'; it must be one of {all}"));
        return None;
    };
    let SpaceNode::Text(word) = &key.node else {
        faults.push(key.line, "type", &format!("is {}, must be one of {all}", key.node.kind()));
        return None;
    };
    let found = KINDS.iter().find(|(kind, _)| kind == word).copied();
    if found.is_none() {
        let meant =
            nearest(word, words()).map_or(String::new(), |near| format!(", perhaps {near}"));
        faults.push(key.line, "type", &format!("is '{word}'{meant}; must be one of {all}"));
    }
    found
}

/// A key that must be there.
fn required<'a>(keys: &'a [Key], name: &str, faults: &mut ParamFaults<'_>) -> Option<&'a Key> {
    let found = find(keys, name);
    if found.is_none() {
        faults.push(None, "", &format!("has no key '{name}'"));
    }
    found
}

fn scale(keys: &[Key], faults: &mut ParamFaults<'_>) -> ParamScale {
    let Some(key) = find(keys, "scale") else { return ParamScale::Linear };
    match &key.node {
        SpaceNode::Text(word) if word == "linear" => ParamScale::Linear,
        SpaceNode::Text(word) if word == "log" => ParamScale::Log,
        SpaceNode::Text(word) => {
            faults.push(key.line, "scale", &format!("is '{word}', must be linear or log"));
            ParamScale::Linear
        }
        other => {
            faults.push(key.line, "scale", &format!("is {}, must be linear or log", other.kind()));
            ParamScale::Linear
        }
    }
}

fn integer(keys: &[Key], faults: &mut ParamFaults<'_>) -> Option<Domain> {
    let mut whole = |name: &str| {
        let key = required(keys, name, faults)?;
        match &key.node {
            SpaceNode::Whole(number) => return Some(*number),
            SpaceNode::Number(number) => {
                faults.push(key.line, name, &format!("is {number}, must be a whole number"))
            }
            other => {
                faults.push(key.line, name, &format!("is {}, must be a whole number", other.kind()))
            }
        }
        None
    };
    let (low, high) = (whole("low"), whole("high"));
    let scale = scale(keys, faults);
    Some(Domain::Integer { low: low?, high: high?, scale })
}

fn number(node: &SpaceNode) -> Option<f64> {
    match node {
        SpaceNode::Whole(number) => Some(*number as f64),
        SpaceNode::Number(number) => Some(*number),
        _ => None,
    }
}

fn real(keys: &[Key], faults: &mut ParamFaults<'_>) -> Option<Domain> {
    let mut bound = |name: &str| {
        let key = required(keys, name, faults)?;
        let found = number(&key.node);
        if found.is_none() {
            faults.push(key.line, name, &format!("is {}, must be a number", key.node.kind()));
        }
        found
    };
    let (low, high) = (bound("low"), bound("high"));
    let scale = scale(keys, faults);
    Some(Domain::Real { low: low?, high: high?, scale })
}

/// The items of `values`; an empty list and a wrong kind of item are faults.
fn values<T>(
    keys: &[Key],
    faults: &mut ParamFaults<'_>,
    wanted: &str,
    take: impl Fn(&SpaceNode) -> Option<T>,
) -> Option<(Vec<T>, Option<usize>)> {
    let key = required(keys, "values", faults)?;
    let SpaceNode::List(items) = &key.node else {
        faults.push(
            key.line,
            "values",
            &format!("is {}, must be a list of {wanted}", key.node.kind()),
        );
        return None;
    };
    if items.is_empty() {
        faults.push(key.line, "values", "is empty, must hold at least one value");
        return None;
    }
    let mut found = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match take(item) {
            Some(value) => found.push(value),
            None => {
                let message =
                    format!("item {} is {}, must be a list of {wanted}", at + 1, item.kind());
                faults.push(key.line, "values", &message);
            }
        }
    }
    (found.len() == items.len()).then_some((found, key.line))
}

/// Numbers in any order: neighbours in size are neighbours in the search.
fn list(keys: &[Key], faults: &mut ParamFaults<'_>) -> Option<Domain> {
    let (mut numbers, line) = values(keys, faults, "numbers (labels are of type choice)", number)?;
    numbers.sort_by(f64::total_cmp);
    if let Some(pair) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
        faults.push(line, "values", &format!("{} appears twice", pair[0]));
        return None;
    }
    Some(Domain::List(numbers))
}

fn choice(keys: &[Key], faults: &mut ParamFaults<'_>) -> Option<Domain> {
    let (labels, line) = values(keys, faults, "strings (numbers are of type list)", text)?;
    if let Some((_, twice)) =
        labels.iter().enumerate().find(|(at, label)| labels[..*at].contains(label))
    {
        faults.push(line, "values", &format!("'{twice}' appears twice"));
        return None;
    }
    Some(Domain::Choice(labels))
}

fn text(node: &SpaceNode) -> Option<String> {
    match node {
        SpaceNode::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn condition(keys: &[Key], faults: &mut ParamFaults<'_>) -> Option<ParamCondition> {
    let key = find(keys, "when")?;
    let shape = "must be a table such as { booster = [\"gbtree\", \"dart\"] }";
    let SpaceNode::Table(parents) = &key.node else {
        faults.push(key.line, "when", &format!("is {}, {shape}", key.node.kind()));
        return None;
    };
    let [parent] = &parents[..] else {
        faults.push(
            key.line,
            "when",
            &format!("names {} parameters, must name one; {shape}", parents.len()),
        );
        return None;
    };
    let labels: Option<Vec<String>> = match &parent.node {
        SpaceNode::Text(label) => Some(vec![label.clone()]),
        SpaceNode::List(items) => items.iter().map(text).collect(),
        _ => None,
    };
    if labels.is_none() {
        faults.push(key.line, "when", shape);
    }
    Some(ParamCondition { parent: parent.name.clone(), labels: labels? })
}
