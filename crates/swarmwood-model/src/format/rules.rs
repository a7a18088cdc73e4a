//! Rules as one JSON object.

use serde_json::{Value, json};

use crate::rules::{DecisionRule, RuleCondition, RulePrediction, RuleSet, ValueSet};

/// The rules with everything there is to know of them.
pub(crate) fn rules_to_json(rules: &RuleSet<'_>) -> String {
    let classes = rules.schema.target.kind.classes();
    let (size, paths) = (rules.size(), rules.paths);
    let object = json!({
        "target": rules.schema.target.name,
        "classes": if classes.is_empty() { Value::Null } else { json!(classes) },
        "rows": rules.rows,
        "counted_on_data": rules.counted,
        "conditions": size.conditions,
        "paths": {"rules": paths.rules, "conditions": paths.conditions},
        "rules": rules.rules.iter().map(|one| rule(rules, one)).collect::<Vec<_>>(),
        "otherwise": rule(rules, &rules.otherwise),
    });
    format!("{object:#}\n")
}

fn rule(rules: &RuleSet<'_>, rule: &DecisionRule) -> Value {
    let figures = &rule.figures;
    let then = match rule.answer {
        RulePrediction::Number(number) => json!(number),
        RulePrediction::Class(class) => {
            rules.class_name(rule.answer).map_or_else(|| json!(class), |name| json!(name))
        }
    };
    json!({
        "if": rule.conditions.iter().map(|one| condition(rules, one)).collect::<Vec<_>>(),
        "then": then,
        "support": figures.support,
        "support_at_most": figures.support_at_most,
        "rows": rules.rows.map(|rows| rows * figures.support),
        "confidence": figures.confidence,
        "lift": figures.lift,
        "error": figures.error,
    })
}

fn condition(rules: &RuleSet<'_>, condition: &RuleCondition) -> Value {
    let feature = rules.feature(condition);
    let missing = match (&condition.holds, condition.missing) {
        (ValueSet::Nothing, _) => "only",
        (_, true) => "in",
        (_, false) => "out",
    };
    match &condition.holds {
        ValueSet::Interval { above, at_most } => {
            json!({"feature": feature.name, "above": above, "at_most": at_most, "missing": missing})
        }
        ValueSet::Levels(set) => {
            let names = feature.kind.levels();
            let levels: Vec<&String> =
                set.iter().filter_map(|code| names.get(code as usize)).collect();
            json!({"feature": feature.name, "levels": levels, "missing": missing})
        }
        ValueSet::Nothing => json!({"feature": feature.name, "missing": missing}),
    }
}
