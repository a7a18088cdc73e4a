//! Decision rules as one JSON object.

use serde_json::{Value, json};

use super::rule_phrases::{MERGE, check_single_tree, write_rules};
use super::{
    ExportContent, ExportError, ExportFormat, ExportInput, ExportOption, ExportOptions,
    UnsupportedModel,
};
use crate::ensemble::Model;
use crate::rules::{DecisionRule, RuleCondition, RulePrediction, RuleSet, ValueSet};

/// Everything that is known about the rules.
pub(super) struct RulesJson;

impl ExportFormat for RulesJson {
    fn content(&self) -> ExportContent {
        ExportContent::Rules
    }

    fn name(&self) -> &'static str {
        "json"
    }

    fn description(&self) -> &'static str {
        "one object with everything there is to know"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["json"]
    }

    fn options(&self) -> &'static [ExportOption] {
        &[MERGE]
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        check_single_tree(model)
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        write_rules(input, options, out, to_json)
    }
}

fn to_json(rules: &RuleSet<'_>) -> String {
    let classes = rules.schema.target.kind.classes();
    let (size, paths) = (rules.size(), rules.paths);
    let object = json!({
        "target": rules.schema.target.name,
        "classes": if classes.is_empty() { Value::Null } else { json!(classes) },
        "rows": rules.rows,
        "counted_on_data": rules.counted_on_data,
        "conditions": size.conditions,
        "paths": {"rules": paths.rules, "conditions": paths.conditions},
        "rules": rules.rules.iter().map(|one| rule(rules, one)).collect::<Vec<_>>(),
        "otherwise": rule(rules, &rules.otherwise),
    });
    format!("{object:#}\n")
}

fn rule(rules: &RuleSet<'_>, rule: &DecisionRule) -> Value {
    let stats = &rule.stats;
    let then = match rule.prediction {
        RulePrediction::Number(number) => json!(number),
        RulePrediction::Class(class) => {
            rules.class_name(rule.prediction).map_or_else(|| json!(class), |name| json!(name))
        }
    };
    json!({
        "if": rule.conditions.iter().map(|one| condition(rules, one)).collect::<Vec<_>>(),
        "then": then,
        "support": stats.support,
        "support_at_most": stats.max_support,
        "rows": rules.rows.map(|rows| rows * stats.support),
        "confidence": stats.confidence,
        "lift": stats.lift,
        "error": stats.error,
    })
}

fn condition(rules: &RuleSet<'_>, condition: &RuleCondition) -> Value {
    let feature = rules.feature(condition);
    let missing = match (&condition.values, condition.missing) {
        (ValueSet::Nothing, _) => "only",
        (_, true) => "in",
        (_, false) => "out",
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
