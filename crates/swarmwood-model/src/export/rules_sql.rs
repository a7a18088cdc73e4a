//! Decision rules as one `CASE` expression of standard SQL.
//!
//! A missing value is `NULL`. A comparison with it is unknown, which `AND` and `CASE` treat as
//! false, so that only a condition that missing values fulfil mentions `NULL`. A level that the
//! model does not know counts as missing: where missing values fulfil a condition, it is written as
//! "none of the levels that do not".

use super::rules_format::RulesFormat;
use crate::number_format::{exact, sql_literal};
use crate::rules::{RuleCondition, RulePrediction, RuleSet, ValueSet};
use crate::text::printable;

/// An expression that a query can contain.
pub(super) const SQL: RulesFormat = RulesFormat {
    name: "sql",
    description: "one CASE expression",
    extensions: &["sql"],
    render: to_sql,
};

/// The expression, with the target in a comment.
fn to_sql(rules: &RuleSet<'_>) -> String {
    let mut text = format!("-- {}\n", printable(&rules.schema.target.name));
    // An expression without a case is not allowed.
    if rules.rules.is_empty() {
        text.push_str(&format!("{}\n", prediction(rules, rules.default_rule.prediction)));
        return text;
    }

    text.push_str("CASE\n");
    for rule in &rules.rules {
        let conditions: Vec<String> =
            rule.conditions.iter().map(|condition| test(rules, condition)).collect();
        text.push_str(&format!(
            "  WHEN {} THEN {}\n",
            conditions.join(" AND "),
            prediction(rules, rule.prediction)
        ));
    }

    text.push_str(&format!("  ELSE {}\nEND\n", prediction(rules, rules.default_rule.prediction)));
    text
}

fn prediction(rules: &RuleSet<'_>, prediction: RulePrediction) -> String {
    match (prediction, rules.class_name(prediction)) {
        (RulePrediction::Class(class), None) => class.to_string(),
        (RulePrediction::Class(_), Some(name)) => text(name),
        (RulePrediction::Number(value), _) => sql_literal(value),
    }
}

fn test(rules: &RuleSet<'_>, condition: &RuleCondition) -> String {
    let column = format!("\"{}\"", rules.feature(condition).name.replace('"', "\"\""));
    let is_category = !rules.feature(condition).kind.levels().is_empty();
    match condition.values {
        ValueSet::Interval { above, at_most } => {
            let above = above.map(|above| format!("{column} > {}", exact(above)));
            let at_most = at_most.map(|at_most| format!("{column} <= {}", exact(at_most)));
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
