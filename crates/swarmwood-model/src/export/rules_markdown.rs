//! Decision rules as a table of Markdown.

use super::rules_format::{RulesFormat, summary, support};
use super::rules_text::{phrase, prediction};
use crate::number_format::{percent, short};
use crate::rules::{DecisionRule, RuleSet};
use crate::text::printable;

/// A table, one line per rule.
pub(super) const MARKDOWN: RulesFormat = RulesFormat {
    name: "markdown",
    description: "a table",
    extensions: &["md"],
    render: to_text,
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
        let conditions: Vec<String> =
            rule.conditions.iter().map(|condition| escape(&phrase(rules, condition))).collect();
        text.push_str(&line(rules, rule, &conditions.join(" **and** "), classes));
    }
    text.push_str(&line(rules, &rules.default_rule, "*otherwise*", classes));
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
