//! Decision rules as one Python function that needs no imports.
//!
//! A row is a mapping from column names to values. `None`, NaN and an absent column are missing.
//! Comparisons with NaN are false, so that a condition that missing values fulfil is written as the
//! negation of its contrary.

use std::collections::BTreeMap;

use super::literal::quoted;
use super::rules_format::RulesFormat;
use crate::number_format::{exact, python_literal};
use crate::rules::{RuleCondition, RulePrediction, RuleSet, ValueSet};
use crate::schema::Kind;
use crate::text::printable;

/// Names that cannot be variables, or that the function itself uses.
const RESERVED: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "float", "for", "from", "global", "if",
    "import", "in", "is", "lambda", "nan", "nonlocal", "not", "or", "pass", "predict", "raise",
    "return", "row", "try", "while", "with", "yield",
];

/// A function `predict(row)`.
pub(super) const PYTHON: RulesFormat = RulesFormat {
    name: "python",
    description: "one function without imports",
    extensions: &["py"],
    render: to_python,
    refuse: None,
};

/// The function.
fn to_python(rules: &RuleSet<'_>) -> String {
    let variables = variables(rules);
    let mut text = String::from("def predict(row):\n");
    text.push_str(&format!("    # Predicts {}.\n", printable(&rules.schema.target.name)));
    text.push_str(
        "    # A row maps column names to values; None, NaN and absent columns are missing.\n",
    );

    let is_number =
        |feature: &u32| matches!(rules.schema.features[*feature as usize].kind, Kind::Number);
    if variables.keys().any(is_number) {
        text.push_str("    nan = float(\"nan\")\n");
    }

    for (feature, variable) in &variables {
        text.push_str(&format!(
            "    {variable} = row.get({})\n",
            quoted(&rules.schema.features[*feature as usize].name)
        ));
        if is_number(feature) {
            text.push_str(&format!("    {variable} = nan if {variable} is None else {variable}\n"));
        }
    }

    for rule in &rules.rules {
        let test = |condition| test(rules, condition, &variables);
        let conditions: Vec<String> = rule.conditions.iter().map(test).collect();
        text.push_str(&format!(
            "    if {}:\n        return {}\n",
            conditions.join(" and "),
            prediction(rules, rule.prediction)
        ));
    }

    text.push_str(&format!("    return {}\n", prediction(rules, rules.default_rule.prediction)));
    text
}

/// A variable for each feature that the rules test.
fn variables(rules: &RuleSet<'_>) -> BTreeMap<u32, String> {
    let mut variables: BTreeMap<u32, String> = BTreeMap::new();
    for condition in rules.rules.iter().flat_map(|rule| &rule.conditions) {
        if variables.contains_key(&condition.feature) {
            continue;
        }
        let letters = rules.feature(condition).name.chars();
        let mut name: String =
            letters.map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert_str(0, "x_");
        }
        let is_taken = |name: &String| {
            RESERVED.contains(&name.as_str()) || variables.values().any(|other| other == name)
        };
        let mut free = name.clone();
        let mut number = 2;
        while is_taken(&free) {
            free = format!("{name}_{number}");
            number += 1;
        }
        variables.insert(condition.feature, free);
    }
    variables
}

fn prediction(rules: &RuleSet<'_>, prediction: RulePrediction) -> String {
    match (prediction, rules.class_name(prediction)) {
        (RulePrediction::Class(class), None) => class.to_string(),
        (RulePrediction::Class(_), Some(name)) => quoted(name),
        (RulePrediction::Number(value), _) => python_literal(value),
    }
}

fn test(
    rules: &RuleSet<'_>,
    condition: &RuleCondition,
    variables: &BTreeMap<u32, String>,
) -> String {
    let name = variables.get(&condition.feature).map_or("row", String::as_str);
    if let Kind::Category { .. } = rules.feature(condition).kind {
        let (yes, no) = rules.levels(condition);
        return if condition.missing {
            among(name, &no, "!=", "not in")
        } else {
            among(name, &yes, "==", "in")
        };
    }

    let ValueSet::Interval { above, at_most } = condition.values else {
        return format!("{name} != {name}");
    };
    match (above.map(exact), at_most.map(exact), condition.missing) {
        (None, None, _) => format!("{name} == {name}"),
        (Some(above), None, false) => format!("{name} > {above}"),
        (Some(above), None, true) => format!("not {name} <= {above}"),
        (None, Some(at_most), false) => format!("{name} <= {at_most}"),
        (None, Some(at_most), true) => format!("not {name} > {at_most}"),
        (Some(above), Some(at_most), false) => format!("{above} < {name} <= {at_most}"),
        (Some(above), Some(at_most), true) => {
            format!("not ({name} <= {above} or {name} > {at_most})")
        }
    }
}

/// A test for one of several texts.
fn among(name: &str, texts: &[&str], one: &str, several: &str) -> String {
    match texts {
        [text] => format!("{name} {one} {}", quoted(text)),
        _ => format!(
            "{name} {several} ({})",
            texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")
        ),
    }
}
