//! Rules as one `CASE` expression of standard SQL.
//!
//! A missing value is `NULL`. A comparison with it is unknown, which `AND` and `CASE` take for
//! "no", so that only a condition that holds for missing values names it. A level the model never
//! saw counts as missing: where missing values hold, the condition is that the value is none of the
//! levels that do not.

use super::super::{RuleCondition, RulePrediction, RuleSet, ValueSet};
use super::number;
use crate::text::printable;

/// The expression, with the target in a comment.
pub(super) fn write(rules: &RuleSet<'_>) -> String {
    let mut text = format!("-- {}\n", printable(&rules.schema.target.name));
    // An expression without a case is not allowed.
    if rules.rules.is_empty() {
        text.push_str(&format!("{}\n", answer(rules, rules.otherwise.answer)));
        return text;
    }
    text.push_str("CASE\n");
    for rule in &rules.rules {
        let conditions: Vec<String> =
            rule.conditions.iter().map(|condition| test(rules, condition)).collect();
        text.push_str(&format!(
            "  WHEN {} THEN {}\n",
            conditions.join(" AND "),
            answer(rules, rule.answer)
        ));
    }
    text.push_str(&format!("  ELSE {}\nEND\n", answer(rules, rules.otherwise.answer)));
    text
}

fn answer(rules: &RuleSet<'_>, answer: RulePrediction) -> String {
    match (answer, rules.class_name(answer)) {
        (RulePrediction::Class(class), None) => class.to_string(),
        (RulePrediction::Class(_), Some(name)) => text(name),
        // Infinity has no name in SQL; a number too large for a float is read as one.
        (RulePrediction::Number(value), _) if value.is_infinite() => {
            if value > 0.0 { "9e999" } else { "-9e999" }.to_string()
        }
        (RulePrediction::Number(value), _) => number(value),
    }
}

fn test(rules: &RuleSet<'_>, condition: &RuleCondition) -> String {
    let column = format!("\"{}\"", rules.feature(condition).name.replace('"', "\"\""));
    let is_category = !rules.feature(condition).kind.levels().is_empty();
    match condition.holds {
        ValueSet::Interval { above, at_most } => {
            let above = above.map(|above| format!("{column} > {}", number(above)));
            let at_most = at_most.map(|at_most| format!("{column} <= {}", number(at_most)));
            let bounds: Vec<String> = above.into_iter().chain(at_most).collect();
            match (bounds.is_empty(), condition.missing) {
                (true, _) => format!("{column} IS NOT NULL"),
                (false, false) => bounds.join(" AND "),
                (false, true) => format!("({} OR {column} IS NULL)", bounds.join(" AND ")),
            }
        }
        ValueSet::Levels(_) | ValueSet::Nothing => {
            let (yes, no) = rules.levels(condition);
            match (condition.missing, is_category) {
                (false, _) => format!("{column} {}", among(&yes, "=", "IN")),
                (true, false) => format!("{column} IS NULL"),
                (true, true) => {
                    format!("({column} {} OR {column} IS NULL)", among(&no, "<>", "NOT IN"))
                }
            }
        }
    }
}

/// A test for one of several texts.
fn among(names: &[&str], one: &str, several: &str) -> String {
    match names {
        [name] => format!("{one} {}", text(name)),
        _ => format!(
            "{several} ({})",
            names.iter().map(|name| text(name)).collect::<Vec<_>>().join(", ")
        ),
    }
}

fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
