//! Decision rules as sentences.

use super::rules_format::{
    RulesFormat, listed_rules, output_names, points_of, rule_support, shown_points, statistics,
    sum_summary, summary, totals,
};
use crate::number_format::{exact, significant};
use crate::rules::{
    AdditiveGroup, AdditiveRule, AdditiveRules, DecisionRule, RuleCondition, RulePrediction,
    RuleSet, ValueSet,
};
use crate::schema::{Kind, Schema};
use crate::text::printable;

/// Significant digits of a predicted number; formats that are executed or parsed write all digits.
const DIGITS: usize = 6;

/// Sentences.
pub(super) const TEXT: RulesFormat = RulesFormat {
    name: "text",
    description: "one sentence per rule",
    extensions: &["txt"],
    is_for_readers: true,
    render: to_text,
    render_sum: sum_to_text,
    refuse: None,
};

/// The rules, one per line.
fn to_text(rules: &RuleSet<'_>) -> String {
    let mut text: String = summary(rules).iter().map(|line| format!("# {line}\n")).collect();
    let conditions = rules.rules.iter().flat_map(|rule| &rule.conditions);
    if conditions
        .into_iter()
        .any(|condition| matches!(condition.feature_in(rules.schema).kind, Kind::Category { .. }))
    {
        text.push_str("# categories that are not in the training data count as missing\n");
    }

    text.push('\n');
    for rule in &rules.rules {
        let conditions: Vec<String> =
            rule.conditions.iter().map(|condition| phrase(rules.schema, condition)).collect();
        text.push_str(&format!(
            "IF {} THEN {}\n",
            conditions.join(" AND "),
            conclusion(rules, rule)
        ));
    }

    text.push_str(&format!("OTHERWISE {}\n", conclusion(rules, &rules.default_rule)));
    text
}

/// The groups of a sum of trees, one rule per line: points, conditions, support.
fn sum_to_text(rules: &AdditiveRules<'_>) -> String {
    let mut text: String = sum_summary(rules).iter().map(|line| format!("# {line}\n")).collect();
    let names = output_names(rules);
    let all = |of: &dyn Fn(usize) -> Option<f64>, show: &dyn Fn(f64) -> String| {
        let one = |(at, name): (usize, &String)| match (of(at), names.len()) {
            (None, _) => None,
            (Some(value), 1) => Some(show(value)),
            (Some(value), _) => Some(format!("{} {}", printable(name), show(value))),
        };
        names.iter().enumerate().filter_map(one).collect::<Vec<_>>().join(", ")
    };
    text.push_str(&format!(
        "\nintercept {}\n",
        all(&|at| rules.intercept.get(at).copied(), &points)
    ));
    let of_features = rules.groups.iter().filter(|group| group.feature.is_some()).count();
    for (at, group) in rules.groups.iter().enumerate() {
        match group.feature {
            Some(feature) => {
                let name = printable(&rules.schema().features[feature as usize].name);
                text.push_str(&format!("\n{name}\n"));
            }
            None => text.push_str(&format!("\ngroup {}\n", at + 1 - of_features)),
        }
        for rule in listed_rules(group) {
            let support = match rule_support(rule, rules.rows) {
                support if support.is_empty() => support,
                support => format!(" ({support})"),
            };
            let show = |value: f64| shown_points(rules, value);
            let told = all(&|output| points_of(group, rule, output), &show);
            let when = when(rules.schema(), group, rule);
            text.push_str(&format!("  {when} {told}{support}\n"));
        }
    }
    let totals = totals(rules);
    if !totals.is_empty() {
        text.push_str("\ntotal points and their prediction\n");
        let width = totals.iter().map(|(total, _)| total.to_string().len()).max().unwrap_or(0);
        for (total, prediction) in totals {
            text.push_str(&format!("  {total:>width$}  {prediction}\n"));
        }
    }
    text
}

/// The condition of a line: the values of the group's feature, or a sentence.
fn when(schema: &Schema, group: &AdditiveGroup, rule: &AdditiveRule) -> String {
    if group.feature.is_some() {
        let values: Vec<String> =
            rule.conditions.iter().map(|one| values_phrase(schema, one)).collect();
        return format!("{}:", values.join(" and "));
    }
    if rule.conditions.is_empty() {
        return "OTHERWISE:".to_string();
    }
    let conditions: Vec<String> = rule.conditions.iter().map(|one| phrase(schema, one)).collect();
    format!("IF {} THEN", conditions.join(" AND "))
}

/// Points with their sign.
pub(super) fn points(value: f64) -> String {
    let sign = if value < 0.0 { "" } else { "+" };
    format!("{sign}{}", significant(value, DIGITS))
}

impl std::fmt::Display for RuleSet<'_> {
    /// The rules as sentences.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&to_text(self))
    }
}

/// What a rule predicts, and its statistics.
fn conclusion(rules: &RuleSet<'_>, rule: &DecisionRule) -> String {
    let statistics = match &statistics(rule, rules.rows)[..] {
        [] => String::new(),
        parts => format!(" ({})", parts.join(", ")),
    };
    format!("{}{statistics}", prediction(rules, rule.prediction))
}

/// What a rule predicts.
pub(super) fn prediction(rules: &RuleSet<'_>, prediction: RulePrediction) -> String {
    match prediction {
        RulePrediction::Number(value) => significant(value, DIGITS),
        RulePrediction::Class(class) => rules
            .class_name(prediction)
            .map_or_else(|| class.to_string(), |name| printable(name).into_owned()),
    }
}

/// A condition in words.
pub(super) fn phrase(schema: &Schema, condition: &RuleCondition) -> String {
    let name = printable(&condition.feature_in(schema).name);
    format!("{name} is {}", values_phrase(schema, condition))
}

/// The values that fulfil a condition, in words.
pub(super) fn values_phrase(schema: &Schema, condition: &RuleCondition) -> String {
    let or_missing = if condition.missing { " or missing" } else { "" };
    match condition.values {
        ValueSet::Nothing => "missing".to_string(),
        ValueSet::Interval { above: None, at_most: None } => "known".to_string(),
        ValueSet::Interval { above: Some(above), at_most: None } => {
            format!("above {}{or_missing}", exact(above))
        }
        ValueSet::Interval { above: None, at_most: Some(at_most) } => {
            format!("at most {}{or_missing}", exact(at_most))
        }
        ValueSet::Interval { above: Some(above), at_most: Some(at_most) } => {
            let comma = if condition.missing { "," } else { "" };
            format!("above {} and at most {}{comma}{or_missing}", exact(above), exact(at_most))
        }
        ValueSet::Levels(_) => {
            let (yes, no) = condition.levels_in(schema);
            match (no.len() < yes.len(), condition.missing) {
                (true, _) if no.is_empty() => "known".to_string(),
                (true, true) => format!("not {}", list(&no)),
                (true, false) => format!("known and not {}", list(&no)),
                (false, _) => format!("{}{or_missing}", list(&yes)),
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
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./+ ".contains(letter);
    let keywords = ["or", "and", "missing", "known", "not", "then"];
    let unambiguous = name.chars().all(is_plain)
        && !name.is_empty()
        && name.trim() == name
        && !name.split(' ').any(|word| keywords.contains(&word.to_lowercase().as_str()));
    if unambiguous { name.to_string() } else { format!("\"{}\"", printable(name)) }
}
