//! Decision rules as one Python function that needs no imports.
//!
//! A row is a mapping from column names to values. `None`, NaN and an absent column are missing.
//! Comparisons with NaN are false, so that a condition that missing values fulfil is written as the
//! negation of its contrary.

use std::collections::BTreeMap;

use super::literal::quoted;
use super::rules_format::{RulesFormat, points_of};
use crate::ensemble::Link;
use crate::number_format::{exact, python_literal};
use crate::rules::{AdditiveRules, RuleCondition, RulePrediction, RuleSet, ValueSet};
use crate::schema::{Kind, Schema};
use crate::text::printable;

/// Names that cannot be variables, or that the function itself uses.
const RESERVED: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "exp", "finally", "float", "for", "from", "global",
    "if", "import", "in", "is", "lambda", "max", "most", "name", "names", "nan", "nonlocal", "not",
    "odd", "odds", "or", "pass", "predict", "raise", "return", "row", "score", "scores", "sum",
    "try", "while", "with", "yield", "zip",
];

/// A function `predict(row)`.
pub(super) const PYTHON: RulesFormat = RulesFormat {
    name: "python",
    description: "one function without imports",
    extensions: &["py"],
    is_for_readers: false,
    render: to_python,
    render_sum: sum_to_python,
    refuse: None,
};

/// The function.
fn to_python(rules: &RuleSet<'_>) -> String {
    let conditions = rules.rules.iter().flat_map(|rule| &rule.conditions);
    let variables = variables(rules.schema, conditions);
    let mut text = header(rules.schema, "Predicts", &variables);
    for rule in &rules.rules {
        let test = |condition| test(rules.schema, condition, &variables);
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

/// The function of a sum of trees: a number, the probability of the second of two classes, or by
/// name the probabilities of more classes or the numbers of several columns.
fn sum_to_python(rules: &AdditiveRules<'_>) -> String {
    let of_groups = rules.groups.iter().flat_map(|group| &group.rules);
    let variables = variables(rules.schema(), of_groups.flat_map(|rule| &rule.conditions));
    let what = match rules.model.link {
        Link::Sigmoid => "The probability of the second class of",
        Link::Softmax => "The probability of each class of",
        _ => "Predicts",
    };
    let mut text = String::new();
    if rules.model.link != Link::Identity {
        text.push_str("from math import exp\n\n\n");
    }
    text.push_str(&header(rules.schema(), what, &variables));
    let base: Vec<String> = rules.intercept.iter().map(|&value| python_literal(value)).collect();
    text.push_str(&format!("    scores = [{}]\n", base.join(", ")));
    for group in &rules.groups {
        for (at, rule) in group.rules.iter().enumerate() {
            let test = |condition| test(rules.schema(), condition, &variables);
            let conditions: Vec<String> = rule.conditions.iter().map(test).collect();
            let indent = match (at, conditions.is_empty()) {
                // A tree without a split.
                (0, true) => "    ",
                (0, false) => {
                    text.push_str(&format!("    if {}:\n", conditions.join(" and ")));
                    "        "
                }
                (_, false) => {
                    text.push_str(&format!("    elif {}:\n", conditions.join(" and ")));
                    "        "
                }
                (_, true) => {
                    text.push_str("    else:\n");
                    "        "
                }
            };
            for output in 0..rules.intercept.len() {
                if let Some(points) = points_of(group, rule, output) {
                    let points = python_literal(points);
                    text.push_str(&format!("{indent}scores[{output}] += {points}\n"));
                }
            }
        }
    }

    let classes = rules.schema().target.kind.classes();
    text.push_str(&match rules.model.link {
        link if rules.model.outputs() > 1 && link != Link::Softmax => {
            let number = match link {
                Link::Exp => "exp(score)",
                Link::ExpM1 => "exp(score) - 1.0",
                _ => "score",
            };
            let names: Vec<String> =
                rules.model.output_names().iter().map(|name| quoted(name)).collect();
            format!(
                "    names = [{}]\n    return {{name: {number} for name, score in zip(names, \
                 scores)}}\n",
                names.join(", ")
            )
        }
        Link::Identity => "    return scores[0]\n".to_string(),
        Link::Exp => "    return exp(scores[0])\n".to_string(),
        Link::ExpM1 => "    return exp(scores[0]) - 1.0\n".to_string(),
        Link::Sigmoid => "    return 1.0 / (1.0 + exp(-scores[0]))\n".to_string(),
        Link::Softmax => {
            let names: Vec<String> = classes.iter().map(|name| quoted(name)).collect();
            format!(
                "    most = max(scores)\n    odds = [exp(score - most) for score in scores]\n    \
                 names = [{}]\n    return {{name: odd / sum(odds) for name, odd in zip(names, \
                 odds)}}\n",
                names.join(", ")
            )
        }
    });
    text
}

/// The beginning of a function, with the values of a row as variables.
fn header(schema: &Schema, what: &str, variables: &BTreeMap<u32, String>) -> String {
    let mut text = String::from("def predict(row):\n");
    text.push_str(&format!("    # {what} {}.\n", printable(&schema.target.name)));
    text.push_str(
        "    # A row maps column names to values; None, NaN and absent columns are missing.\n",
    );

    let is_number = |feature: &u32| matches!(schema.features[*feature as usize].kind, Kind::Number);
    if variables.keys().any(is_number) {
        text.push_str("    nan = float(\"nan\")\n");
    }

    for (feature, variable) in variables {
        text.push_str(&format!(
            "    {variable} = row.get({})\n",
            quoted(&schema.features[*feature as usize].name)
        ));
        if is_number(feature) {
            text.push_str(&format!("    {variable} = nan if {variable} is None else {variable}\n"));
        }
    }
    text
}

/// A variable for each feature that the rules test.
fn variables<'r>(
    schema: &Schema,
    conditions: impl Iterator<Item = &'r RuleCondition>,
) -> BTreeMap<u32, String> {
    let mut variables: BTreeMap<u32, String> = BTreeMap::new();
    for condition in conditions {
        if variables.contains_key(&condition.feature) {
            continue;
        }
        let letters = condition.feature_in(schema).name.chars();
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

fn test(schema: &Schema, condition: &RuleCondition, variables: &BTreeMap<u32, String>) -> String {
    let name = variables.get(&condition.feature).map_or("row", String::as_str);
    if let Kind::Category { .. } = condition.feature_in(schema).kind {
        let (yes, no) = condition.levels_in(schema);
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
