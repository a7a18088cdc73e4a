//! What the formats of decision rules share: all but how a set of rules is rendered, and statistics
//! in words.
//!
//! Thresholds are written with as many digits as are needed to read the same number again, so that
//! the rules decide as the model does; only predicted numbers are rounded, and only in text for readers.

use super::{
    ExportContent, ExportError, ExportFormat, ExportInput, ExportOption, ExportOptions,
    OptionValues, UnsupportedModel,
};
use crate::ensemble::Model;
use crate::number_format::{percent, quantity, short};
use crate::rules::{DecisionRule, MAX_RULE_LEAVES, RuleMerge, RuleSet, RuleStats, RulesError};

/// How leaves are merged into rules.
const MERGE: ExportOption = ExportOption {
    name: "merge",
    help: "how leaves are merged into rules",
    values: OptionValues::Choice(RuleMerge::NAMES),
};

/// A format of decision rules: they differ in how a set of rules is rendered.
pub(super) struct RulesFormat {
    pub name: &'static str,
    pub description: &'static str,
    pub extensions: &'static [&'static str],
    pub render: fn(&RuleSet<'_>) -> String,
    /// Why the format cannot express the names of a model, if it cannot.
    pub refuse: Option<fn(&Model) -> Option<String>>,
}

impl ExportFormat for RulesFormat {
    fn content(&self) -> ExportContent {
        ExportContent::Rules
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    fn options(&self) -> &'static [ExportOption] {
        &[MERGE]
    }

    /// Only models with one tree have rules.
    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        let leaves = model.single_tree().map_err(UnsupportedModel::new)?.tree.leaves.len();
        if leaves > MAX_RULE_LEAVES {
            return Err(UnsupportedModel::new(RulesError::Leaves { leaves }));
        }
        match self.refuse.and_then(|refuse| refuse(model)) {
            Some(reason) => Err(UnsupportedModel::new(reason)),
            None => Ok(()),
        }
    }

    /// Writes the rules of the input, or else the rules of the model.
    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        if let Some(rules) = input.rules {
            out.extend_from_slice((self.render)(rules).as_bytes());
            return Ok(());
        }

        let tree = input.model.single_tree().map_err(UnsupportedModel::new)?;
        let merge = RuleMerge::from_name(&options.get(&MERGE)).unwrap_or_default();
        let rules = tree.rules(merge).map_err(|error| ExportError::Option {
            name: MERGE.name.to_string(),
            message: error.to_string(),
        })?;
        out.extend_from_slice((self.render)(&rules).as_bytes());
        Ok(())
    }
}

/// Sizes, and what the statistics are of, one sentence each.
pub(super) fn summary(rules: &RuleSet<'_>) -> Vec<String> {
    let (size, paths) = (rules.size(), rules.paths);
    let rows = rules.rows.map_or(String::new(), |rows| format!("{rows} "));
    vec![
        format!(
            "{} with {} and a default rule; the {} had {}",
            quantity(size.rules, "rule"),
            quantity(size.conditions, "condition"),
            quantity(paths.rules, "leaf path"),
            quantity(paths.conditions, "condition"),
        ),
        "the order does not matter: rules with different predictions never match the same row"
            .to_string(),
        match rules.counted_on_data {
            true => format!("statistics were counted on {rows}rows of data"),
            false => format!("statistics are those of the {rows}training rows in the leaves"),
        },
    ]
}

/// The support of a rule: a number of rows if it is known, else a share.
pub(super) fn support(stats: &RuleStats, rows: Option<f64>) -> String {
    let Some(rows) = rows else {
        let start = if stats.is_exact() { "" } else { "at least " };
        return format!("{start}{} of the rows", percent(stats.support));
    };
    let (low, high) = ((rows * stats.support).round(), (rows * stats.max_support).round());
    if low == high {
        return quantity(low as usize, "row");
    }
    if low == 0.0 {
        format!("at most {}", quantity(high as usize, "row"))
    } else {
        format!("{low} to {high} rows")
    }
}

/// The statistics of a rule, as far as they are known.
pub(super) fn statistics(rule: &DecisionRule, rows: Option<f64>) -> Vec<String> {
    let stats = &rule.stats;
    let about = if stats.is_exact() { "" } else { "about " };
    let mut parts = Vec::new();
    parts.extend(
        stats.confidence.map(|confidence| format!("confidence {about}{}", percent(confidence))),
    );
    parts.extend(stats.error.map(|error| format!("RMSE {}", short(error))));
    if stats.max_support > 0.0 || rows.is_some() {
        parts.push(support(stats, rows));
    }
    parts.extend(stats.lift.map(|lift| format!("lift {lift:.2}")));
    parts
}
