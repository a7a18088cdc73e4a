//! Rules as one function of Python that needs no imports.
//!
//! A row is a mapping from column names to values. `None`, NaN and a column that is not there are
//! missing. Comparisons with NaN are false, so that a condition that also holds for missing values
//! is written as the denial of its contrary.

use std::collections::BTreeMap;

use super::super::{RuleCondition, RulePrediction, RuleSet, ValueSet};
use super::number;
use crate::schema::Kind;
use crate::text::printable;

/// Words that cannot be variables, or are used by the function itself.
const TAKEN: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "float", "for", "from", "global", "if",
    "import", "in", "is", "lambda", "nan", "nonlocal", "not", "or", "pass", "predict", "raise",
    "return", "row", "try", "while", "with", "yield",
];

/// The function.
pub(super) fn write(rules: &RuleSet<'_>) -> String {
    let variables = variables(rules);
    let mut text = String::from("def predict(row):\n");
    text.push_str(&format!("    # Predicts {}.\n", printable(&rules.schema.target.name)));
    text.push_str(
        "    # A row maps column names to values; None, NaN and absent columns are missing.\n",
    );
    let asks_numbers =
        |feature: &u32| matches!(rules.schema.features[*feature as usize].kind, Kind::Number);
    if variables.keys().any(asks_numbers) {
        text.push_str("    nan = float(\"nan\")\n");
    }
    for (feature, variable) in &variables {
        text.push_str(&format!(
            "    {variable} = row.get({})\n",
            literal(&rules.schema.features[*feature as usize].name)
        ));
        if asks_numbers(feature) {
            text.push_str(&format!("    {variable} = nan if {variable} is None else {variable}\n"));
        }
    }
    for rule in &rules.rules {
        let test = |condition| test(rules, condition, &variables);
        let conditions: Vec<String> = rule.conditions.iter().map(test).collect();
        text.push_str(&format!(
            "    if {}:\n        return {}\n",
            conditions.join(" and "),
            answer(rules, rule.answer)
        ));
    }
    text.push_str(&format!("    return {}\n", answer(rules, rules.otherwise.answer)));
    text
}

/// A name for each feature the rules ask for.
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
        let taken = |name: &String| {
            TAKEN.contains(&name.as_str()) || variables.values().any(|other| other == name)
        };
        let mut free = name.clone();
        let mut number = 2;
        while taken(&free) {
            free = format!("{name}_{number}");
            number += 1;
        }
        variables.insert(condition.feature, free);
    }
    variables
}

fn answer(rules: &RuleSet<'_>, answer: RulePrediction) -> String {
    match (answer, rules.class_name(answer)) {
        (RulePrediction::Class(class), None) => class.to_string(),
        (RulePrediction::Class(_), Some(name)) => literal(name),
        (RulePrediction::Number(value), _) if value.is_infinite() => format!("float(\"{value}\")"),
        (RulePrediction::Number(value), _) => format!("{value:?}"),
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
    let ValueSet::Interval { above, at_most } = condition.holds else {
        return format!("{name} != {name}");
    };
    match (above.map(number), at_most.map(number), condition.missing) {
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
        [text] => format!("{name} {one} {}", literal(text)),
        _ => format!(
            "{name} {several} ({})",
            texts.iter().map(|text| literal(text)).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// A text of Python.
fn literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => literal.extend(['\\', letter]),
            letter if letter.is_control() => {
                literal.push_str(&format!("\\u{:04x}", u32::from(letter)))
            }
            letter => literal.push(letter),
        }
    }
    literal.push('"');
    literal
}
