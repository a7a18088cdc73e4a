//! Decision rules as a table of Markdown.

use super::rules_format::{
    RulesFormat, listed_rules, output_names, points_of, rule_support, shown_points, sum_summary,
    summary, support, totals,
};
use super::rules_text::{phrase, points, prediction, values_phrase};
use crate::number_format::{percent, short};
use crate::rules::{AdditiveRules, DecisionRule, RuleSet};
use crate::text::printable;

/// A table, one line per rule.
pub(super) const MARKDOWN: RulesFormat = RulesFormat {
    name: "markdown",
    description: "a table",
    extensions: &["md"],
    is_for_readers: true,
    render: to_text,
    render_sum: sum_to_text,
    refuse: None,
};

/// A heading, what the statistics are of, and one line per rule.
fn to_text(rules: &RuleSet<'_>) -> String {
    let classes = !rules.schema.target.kind.classes().is_empty();
    let mut text = format!("## Rules for {}\n\n", escape(&printable(&rules.schema.target.name)));
    text.push_str(&summary(rules).iter().map(|line| format!("- {line}\n")).collect::<String>());
    let columns = if classes { ["confidence", "rows", "lift"] } else { ["RMSE", "rows", ""] };
    let columns: Vec<&str> = columns.into_iter().filter(|column| !column.is_empty()).collect();
    text.push_str(&format!("\n| if | then | {} |\n", columns.join(" | ")));
    text.push_str(&format!("| --- | --- |{}\n", " ---: |".repeat(columns.len())));
    for rule in &rules.rules {
        let conditions: Vec<String> = rule
            .conditions
            .iter()
            .map(|condition| escape(&phrase(rules.schema, condition)))
            .collect();
        text.push_str(&line(rules, rule, &conditions.join(" **and** "), classes));
    }
    text.push_str(&line(rules, &rules.default_rule, "*otherwise*", classes));
    text
}

/// A heading, what the score is, and one line per rule of a sum of trees.
fn sum_to_text(rules: &AdditiveRules<'_>) -> String {
    let target = escape(&printable(&rules.schema().target.name));
    let mut text = format!("## Rules for {target}\n\n");
    text.push_str(
        &sum_summary(rules).iter().map(|line| format!("- {}\n", escape(line))).collect::<String>(),
    );
    let names = output_names(rules);
    let columns: Vec<String> = match names.len() {
        1 => vec!["points".to_string()],
        _ => names.iter().map(|name| escape(&printable(name))).collect(),
    };
    let first = match rules.groups.iter().any(|group| group.feature.is_none()) {
        true => "group | if",
        false => "feature | values",
    };
    text.push_str(&format!("\n| {first} | {} | rows |\n", columns.join(" | ")));
    text.push_str(&format!("| --- | --- |{} ---: |\n", " ---: |".repeat(columns.len())));
    let base: Vec<String> = rules.intercept.iter().map(|&value| points(value)).collect();
    text.push_str(&format!("| | *intercept* | {} | |\n", base.join(" | ")));
    let of_features = rules.groups.iter().filter(|group| group.feature.is_some()).count();
    for (at, group) in rules.groups.iter().enumerate() {
        let name = match group.feature {
            Some(feature) => escape(&printable(&rules.schema().features[feature as usize].name)),
            None => (at + 1 - of_features).to_string(),
        };
        for (line, rule) in listed_rules(group).enumerate() {
            // A feature is named once.
            let name = if line > 0 && group.feature.is_some() { "" } else { &*name };
            let words = if group.feature.is_some() { values_phrase } else { phrase };
            let conditions: Vec<String> =
                rule.conditions.iter().map(|one| escape(&words(rules.schema(), one))).collect();
            let when = match conditions.is_empty() {
                true => "*otherwise*".to_string(),
                false => conditions.join(" **and** "),
            };
            let told: Vec<String> = (0..names.len())
                .map(|output| {
                    let value = points_of(group, rule, output);
                    value.map(|value| shown_points(rules, value)).unwrap_or_default()
                })
                .collect();
            let support = rule_support(rule, rules.rows);
            let support = support.trim_end_matches(" rows").trim_end_matches(" row");
            text.push_str(&format!("| {name} | {when} | {} | {support} |\n", told.join(" | ")));
        }
    }
    let totals = totals(rules);
    if !totals.is_empty() {
        text.push_str("\n| total points | prediction |\n| ---: | ---: |\n");
        for (total, prediction) in totals {
            text.push_str(&format!("| {total} | {prediction} |\n"));
        }
    }
    text
}

fn line(rules: &RuleSet<'_>, rule: &DecisionRule, conditions: &str, classes: bool) -> String {
    let stats = &rule.stats;
    let first = if classes { stats.confidence.map(percent) } else { stats.error.map(short) };
    let rows = support(stats, rules.rows);
    let rows = rows.trim_end_matches(" rows").trim_end_matches(" row");
    let prediction = escape(&prediction(rules, rule.prediction));
    let mut line =
        format!("| {conditions} | **{prediction}** | {} | {rows} |", first.unwrap_or_default());
    if classes {
        line.push_str(&format!(
            " {} |",
            stats.lift.map(|lift| format!("{lift:.2}")).unwrap_or_default()
        ));
    }
    line.push('\n');
    line
}

/// Text without any markup of Markdown.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => escaped.extend(['\\', letter]),
            _ => escaped.push(letter),
        }
    }
    escaped
}
