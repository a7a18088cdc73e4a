//! Decision rules as one JSON object.

use serde_json::{Value, json};

use super::rules_format::RulesFormat;
use crate::ensemble::Link;
use crate::rules::{
    AdditiveGroup, AdditiveRule, AdditiveRules, DecisionRule, RuleCondition, RulePrediction,
    RuleSet, ValueSet,
};
use crate::schema::Schema;

/// Everything that is known about the rules.
pub(super) const JSON: RulesFormat = RulesFormat {
    name: "json",
    description: "one object with everything there is to know",
    extensions: &["json"],
    is_for_readers: false,
    render: to_json,
    render_sum: sum_to_json,
    refuse: None,
};

fn to_json(rules: &RuleSet<'_>) -> String {
    let classes = rules.schema.target.kind.classes();
    let (size, paths) = (rules.size(), rules.paths);
    let object = json!({
        "target": rules.schema.target.name,
        "classes": if classes.is_empty() { Value::Null } else { json!(classes) },
        "rows": rules.rows,
        "counted_on_data": rules.counted_on_data,
        "condition_count": size.conditions,
        "leaf_paths": {"rule_count": paths.rules, "condition_count": paths.conditions},
        "rules": rules.rules.iter().map(|one| rule(rules, one)).collect::<Vec<_>>(),
        "default_rule": rule(rules, &rules.default_rule),
    });
    format!("{object:#}\n")
}

fn sum_to_json(rules: &AdditiveRules<'_>) -> String {
    let link = match rules.model.link {
        Link::Identity => "identity",
        Link::Exp => "exp",
        Link::ExpM1 => "expm1",
        Link::Sigmoid => "sigmoid",
        Link::Softmax => "softmax",
    };
    let classes = rules.schema().target.kind.classes();
    let columns = rules.schema().target.kind.columns();
    let mut object = json!({
        "target": rules.schema().target.name,
        "classes": if classes.is_empty() { Value::Null } else { json!(classes) },
        "rows": rules.rows,
        "counted_on_data": rules.counted_on_data,
        "link": link,
        "intercept": rules.intercept,
        "points_unit": rules.model.calibration.points_unit,
        "groups": rules.groups.iter().map(|one| group(rules, one)).collect::<Vec<_>>(),
    });
    if !columns.is_empty() {
        object["columns"] = json!(columns);
    }
    format!("{object:#}\n")
}

fn group(rules: &AdditiveRules<'_>, group: &AdditiveGroup) -> Value {
    let rule = |rule: &AdditiveRule| {
        let conditions: Vec<Value> =
            rule.conditions.iter().map(|one| condition(rules.schema(), one)).collect();
        json!({
            "conditions": conditions,
            "points": rule.points.iter().map(|&value| points(rules, value)).collect::<Vec<_>>(),
            "support": rule.support,
            "rows": rules.rows.zip(rule.support).map(|(rows, share)| rows * share),
        })
    };
    json!({
        "outputs": group.outputs,
        "rules": group.rules.iter().map(rule).collect::<Vec<_>>(),
    })
}

/// The points of a leaf value as the card shows them: a whole number if the model has a unit, else
/// the value itself.
fn points(rules: &AdditiveRules<'_>, value: f64) -> Value {
    match rules.model.calibration.points_unit {
        Some(unit) => json!((value / unit).round() as i64),
        None => json!(value),
    }
}

fn rule(rules: &RuleSet<'_>, rule: &DecisionRule) -> Value {
    let stats = &rule.stats;
    let prediction = match rule.prediction {
        RulePrediction::Number(number) => json!(number),
        RulePrediction::Class(class) => {
            rules.class_name(rule.prediction).map_or_else(|| json!(class), |name| json!(name))
        }
    };

    json!({
        "conditions": rule.conditions.iter().map(|one| condition(rules.schema, one)).collect::<Vec<_>>(),
        "prediction": prediction,
        "support": stats.support,
        "max_support": stats.max_support,
        "rows": rules.rows.map(|rows| rows * stats.support),
        "confidence": stats.confidence,
        "lift": stats.lift,
        "error": stats.error,
    })
}

fn condition(schema: &Schema, condition: &RuleCondition) -> Value {
    let feature = condition.feature_in(schema);
    let missing = match (&condition.values, condition.missing) {
        (ValueSet::Nothing, _) => "only",
        (_, true) => "included",
        (_, false) => "excluded",
    };

    match &condition.values {
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
