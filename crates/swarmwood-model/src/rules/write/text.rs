//! Rules as sentences.

use super::super::{DecisionRule, RuleCondition, RulePrediction, RuleSet, ValueSet};
use super::{figures, number, rounded};
use crate::schema::Kind;
use crate::text::printable;

/// The rules, one per line.
pub(super) fn write(rules: &RuleSet<'_>) -> String {
    let mut text: String = rules.summary().iter().map(|line| format!("# {line}\n")).collect();
    let asks_categories = rules.rules.iter().flat_map(|rule| &rule.conditions);
    if asks_categories
        .into_iter()
        .any(|condition| matches!(rules.feature(condition).kind, Kind::Category { .. }))
    {
        text.push_str("# a category the model never saw counts as missing\n");
    }
    text.push('\n');
    for rule in &rules.rules {
        let conditions: Vec<String> =
            rule.conditions.iter().map(|condition| phrase(rules, condition)).collect();
        text.push_str(&format!(
            "IF {} THEN {}\n",
            conditions.join(" AND "),
            conclusion(rules, rule)
        ));
    }
    text.push_str(&format!("OTHERWISE {}\n", conclusion(rules, &rules.otherwise)));
    text
}

fn conclusion(rules: &RuleSet<'_>, rule: &DecisionRule) -> String {
    let figures = figures(rule, rules.rows);
    let figures =
        if figures.is_empty() { String::new() } else { format!(" ({})", figures.join(", ")) };
    format!("{}{figures}", answer(rules, rule.answer))
}

/// What a rule says.
pub(super) fn answer(rules: &RuleSet<'_>, answer: RulePrediction) -> String {
    match answer {
        // Six digits are enough to read; machines get them all.
        RulePrediction::Number(value) => rounded(value, 6),
        RulePrediction::Class(class) => rules
            .class_name(answer)
            .map_or_else(|| class.to_string(), |name| printable(name).into_owned()),
    }
}

/// A condition in words.
pub(super) fn phrase(rules: &RuleSet<'_>, condition: &RuleCondition) -> String {
    let name = printable(&rules.feature(condition).name);
    let or_missing = if condition.missing { " or missing" } else { "" };
    match condition.holds {
        ValueSet::Nothing => format!("{name} is missing"),
        ValueSet::Interval { above: None, at_most: None } => format!("{name} is known"),
        ValueSet::Interval { above: Some(above), at_most: None } => {
            format!("{name} is above {}{or_missing}", number(above))
        }
        ValueSet::Interval { above: None, at_most: Some(at_most) } => {
            format!("{name} is at most {}{or_missing}", number(at_most))
        }
        ValueSet::Interval { above: Some(above), at_most: Some(at_most) } => {
            let comma = if condition.missing { "," } else { "" };
            format!(
                "{name} is above {} and at most {}{comma}{or_missing}",
                number(above),
                number(at_most)
            )
        }
        ValueSet::Levels(_) => {
            let (yes, no) = rules.levels(condition);
            match (no.len() < yes.len(), condition.missing) {
                (true, _) if no.is_empty() => format!("{name} is known"),
                (true, true) => format!("{name} is not {}", list(&no)),
                (true, false) => format!("{name} is known and not {}", list(&no)),
                (false, _) => format!("{name} is {}{or_missing}", list(&yes)),
            }
        }
    }
}

/// Names with commas and a last "or".
fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// A level's name, in quotes where it could be taken for a part of the sentence.
fn quoted(name: &str) -> String {
    let harmless = |letter: char| letter.is_alphanumeric() || "_-./+ ".contains(letter);
    let words = ["or", "and", "missing", "known", "not", "then"];
    let clear = name.chars().all(harmless)
        && !name.is_empty()
        && name.trim() == name
        && !name.split(' ').any(|word| words.contains(&word.to_lowercase().as_str()));
    if clear { name.to_string() } else { format!("\"{}\"", printable(name)) }
}
