//! Rules as a table of Markdown.

use super::super::{DecisionRule, RuleSet};
use super::text::{answer, phrase};
use super::{percent, short, support};
use crate::text::printable;

/// A heading, what the figures mean, and one line per rule.
pub(super) fn write(rules: &RuleSet<'_>) -> String {
    let classes = !rules.schema.target.kind.classes().is_empty();
    let mut text = format!("## Rules for {}\n\n", escape(&printable(&rules.schema.target.name)));
    text.push_str(&rules.summary().iter().map(|line| format!("- {line}\n")).collect::<String>());
    let columns = if classes { ["confidence", "rows", "lift"] } else { ["error", "rows", ""] };
    let columns: Vec<&str> = columns.into_iter().filter(|column| !column.is_empty()).collect();
    text.push_str(&format!("\n| if | then | {} |\n", columns.join(" | ")));
    text.push_str(&format!("| --- | --- |{}\n", " ---: |".repeat(columns.len())));
    for rule in &rules.rules {
        let conditions: Vec<String> =
            rule.conditions.iter().map(|condition| escape(&phrase(rules, condition))).collect();
        text.push_str(&line(rules, rule, &conditions.join(" **and** "), classes));
    }
    text.push_str(&line(rules, &rules.otherwise, "*otherwise*", classes));
    text
}

fn line(rules: &RuleSet<'_>, rule: &DecisionRule, conditions: &str, classes: bool) -> String {
    let figures = &rule.figures;
    let known = |value: Option<String>| value.unwrap_or_default();
    let first = if classes { figures.confidence.map(percent) } else { figures.error.map(short) };
    let rows = support(figures, rules.rows);
    let rows = rows.trim_end_matches(" rows").trim_end_matches(" row");
    let answer = escape(&answer(rules, rule.answer));
    let mut line = format!("| {conditions} | **{answer}** | {} | {rows} |", known(first));
    if classes {
        line.push_str(&format!(" {} |", known(figures.lift.map(|lift| format!("{lift:.2}")))));
    }
    line.push('\n');
    line
}

/// Text that Markdown leaves alone.
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
