//! Decision rules as one `CASE` expression of standard SQL.
//!
//! A missing value is `NULL`. A comparison with it is unknown, which `AND` and `CASE` treat as
//! false, so that only a condition that missing values fulfil mentions `NULL`. A level that the
//! model does not know counts as missing: where missing values fulfil a condition, it is written as
//! "none of the levels that do not".
//!
//! In standard SQL a backslash is an ordinary character; MySQL and some others take it for an escape,
//! and double quotes for those of a text. The format `mysql` is for them. Where the two kinds of
//! databases would disagree on the end of a text, what follows it would be executed: the format `sql`
//! writes such a text as a call that both read to the same end, and refuses such names of columns.

use super::rules_format::{RulesFormat, output_names, points_of};
use crate::ensemble::{Link, Model};
use crate::number_format::{exact, sql_literal};
use crate::rules::{AdditiveRules, RuleCondition, RulePrediction, RuleSet, ValueSet};
use crate::schema::Schema;
use crate::text::printable;

/// An expression that a query can contain.
pub(super) const SQL: RulesFormat = RulesFormat {
    name: "sql",
    description: "one CASE expression",
    extensions: &["sql"],
    is_for_readers: false,
    render: |rules| to_sql(rules, RulesDialect::Standard),
    render_sum: |rules| sum_to_sql(rules, RulesDialect::Standard),
    refuse: Some(ambiguous_column),
};

/// The same for databases in which a backslash is an escape.
pub(super) const MYSQL: RulesFormat = RulesFormat {
    name: "mysql",
    description: "one CASE expression for MySQL, MariaDB and others with backslash escapes",
    extensions: &["mysql"],
    is_for_readers: false,
    render: |rules| to_sql(rules, RulesDialect::MySql),
    render_sum: |rules| sum_to_sql(rules, RulesDialect::MySql),
    refuse: None,
};

/// How names and texts are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RulesDialect {
    Standard,
    MySql,
}

impl RulesDialect {
    fn text(self, text: &str) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        match self {
            RulesDialect::MySql => quoted(&text.replace('\\', "\\\\")),
            RulesDialect::Standard if ends_early(text, '\'') => {
                // The backslash of the third text precedes no quote, so that it ends nowhere else.
                let stand_in = ('!'..='~').find(|&letter| letter != '\'' && !text.contains(letter));
                let stand_in = stand_in.unwrap_or('\u{fffd}').to_string();
                let harmless = quoted(&text.replace('\\', &stand_in));
                format!("REPLACE({harmless}, '{stand_in}', SUBSTR('\\.', 1, 1))")
            }
            RulesDialect::Standard => quoted(text),
        }
    }

    fn column(self, name: &str) -> String {
        match self {
            RulesDialect::Standard => format!("\"{}\"", name.replace('"', "\"\"")),
            RulesDialect::MySql => format!("`{}`", name.replace('`', "``")),
        }
    }
}

/// Why the columns of a model cannot be named so that every database reads them to the same end.
fn ambiguous_column(model: &Model) -> Option<String> {
    let mut names = model.schema.features.iter().map(|feature| feature.name.as_str());
    let name = names.find(|name| ends_early(name, '"'))?;
    Some(format!(
        "the backslash in the column '{}' ends its name elsewhere in some databases; use the \
         format mysql for MySQL and MariaDB, or rename the column",
        printable(name)
    ))
}

/// Whether a database with backslash escapes sees another end of a quoted name.
fn ends_early(name: &str, quote: char) -> bool {
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        // An escaped quote, or an escaped end.
        if letter == '\\' && letters.next().is_none_or(|next| next == quote) {
            return true;
        }
    }
    false
}

/// The expression, with the target in a comment.
fn to_sql(rules: &RuleSet<'_>, dialect: RulesDialect) -> String {
    let mut text = format!("-- {}\n", printable(&rules.schema.target.name));
    // An expression without a case is not allowed.
    if rules.rules.is_empty() {
        text.push_str(&format!("{}\n", prediction(rules, rules.default_rule.prediction, dialect)));
        return text;
    }

    text.push_str("CASE\n");
    for rule in &rules.rules {
        let conditions: Vec<String> = rule
            .conditions
            .iter()
            .map(|condition| test(rules.schema, condition, dialect))
            .collect();
        text.push_str(&format!(
            "  WHEN {} THEN {}\n",
            conditions.join(" AND "),
            prediction(rules, rule.prediction, dialect)
        ));
    }

    text.push_str(&format!(
        "  ELSE {}\nEND\n",
        prediction(rules, rules.default_rule.prediction, dialect)
    ));
    text
}

/// The expression of a sum of trees: a number, the probability of the second of two classes, or one
/// score per class or number per column, separated by commas.
fn sum_to_sql(rules: &AdditiveRules<'_>, dialect: RulesDialect) -> String {
    let names = output_names(rules);
    let columns = rules.schema().target.kind.columns();
    let expressions: Vec<String> = (0..names.len())
        .map(|output| {
            let score = score_sql(rules, output, dialect);
            let target = printable(columns.get(output).unwrap_or(&rules.schema().target.name));
            match rules.model.link {
                Link::Identity => format!("-- {target}\n{score}"),
                Link::Exp => format!("-- {target}\nEXP({score})"),
                Link::ExpM1 => format!("-- {target}\nEXP({score}) - 1"),
                Link::Sigmoid => {
                    let class = rules.schema().target.kind.classes().get(1);
                    let class = class.map_or("the second class", String::as_str);
                    let class = printable(class);
                    format!("-- probability that {target} is {class}\n1 / (1 + EXP(-({score})))")
                }
                Link::Softmax => {
                    format!("-- score of {target} {}\n{score}", printable(&names[output]))
                }
            }
        })
        .collect();
    format!("{}\n", expressions.join(",\n"))
}

/// The intercept of an output plus one `CASE` per group.
fn score_sql(rules: &AdditiveRules<'_>, output: usize, dialect: RulesDialect) -> String {
    let mut text = sql_literal(rules.intercept[output]);
    for group in rules.groups.iter().filter(|group| group.outputs.contains(&(output as u32))) {
        let points = |rule| sql_literal(points_of(group, rule, output).unwrap_or_default());
        let Some((default, rules_before)) = group.rules.split_last() else { continue };
        if rules_before.is_empty() {
            text.push_str(&format!("\n+ {}", points(default)));
            continue;
        }
        text.push_str("\n+ CASE\n");
        for rule in rules_before {
            let conditions: Vec<String> =
                rule.conditions.iter().map(|one| test(rules.schema(), one, dialect)).collect();
            text.push_str(&format!("  WHEN {} THEN {}\n", conditions.join(" AND "), points(rule)));
        }
        text.push_str(&format!("  ELSE {}\nEND", points(default)));
    }
    text
}

fn prediction(rules: &RuleSet<'_>, prediction: RulePrediction, dialect: RulesDialect) -> String {
    match (prediction, rules.class_name(prediction)) {
        (RulePrediction::Class(class), None) => class.to_string(),
        (RulePrediction::Class(_), Some(name)) => dialect.text(name),
        (RulePrediction::Number(value), _) => sql_literal(value),
    }
}

fn test(schema: &Schema, condition: &RuleCondition, dialect: RulesDialect) -> String {
    let column = dialect.column(&condition.feature_in(schema).name);
    let is_category = !condition.feature_in(schema).kind.levels().is_empty();
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
            let (yes, no) = condition.levels_in(schema);
            match (condition.missing, is_category) {
                (false, _) => format!("{column} {}", among(&yes, ("=", "IN"), dialect)),
                (true, false) => format!("{column} IS NULL"),
                (true, true) => {
                    format!(
                        "({column} {} OR {column} IS NULL)",
                        among(&no, ("<>", "NOT IN"), dialect)
                    )
                }
            }
        }
    }
}

/// A test for one of several texts.
fn among(names: &[&str], (one, several): (&str, &str), dialect: RulesDialect) -> String {
    match names {
        [name] => format!("{one} {}", dialect.text(name)),
        _ => format!(
            "{several} ({})",
            names.iter().map(|name| dialect.text(name)).collect::<Vec<_>>().join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a database with backslash escapes leaves behind the first text.
    fn rest_after_text(sql: &str) -> String {
        let mut letters = sql.chars().skip(1).peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                '\'' if letters.peek() == Some(&'\'') => drop(letters.next()),
                '\'' => break,
                _ => {}
            }
        }
        letters.collect()
    }

    #[test]
    fn no_name_ends_its_text_early() {
        for name in ["plain", "C:\\data", "it's", "C:\\", "\\' OR 1=1 -- ", "\\\\", "a\\\\' b"] {
            assert_eq!(rest_after_text(&RulesDialect::MySql.text(name)), "", "{name}");
            // Every text of the call ends where it seems to.
            let mut rest = RulesDialect::Standard.text(name);
            while let Some((before, text)) = rest.split_once('\'') {
                let is_code = |c: char| c.is_ascii_alphanumeric() || "(), ".contains(c);
                assert!(before.chars().all(is_code), "{name}: {before}");
                rest = rest_after_text(&format!("'{text}"));
            }
            assert!(rest.chars().all(|c| c.is_ascii_alphanumeric() || "(), ".contains(c)));
        }
        assert!(ends_early("\\' OR 1=1 -- ", '\'') && ends_early("C:\\", '\''));
        assert!(!ends_early("C:\\data", '\'') && !ends_early("it's", '\''));
        assert_eq!(RulesDialect::MySql.column("a`b"), "`a``b`");
    }
}
