//! What the formats of decision rules share: all but how a set of rules is rendered, and statistics
//! in words.
//!
//! Thresholds are written with as many digits as are needed to read the same number again, so that
//! the rules decide as the model does; only predicted numbers are rounded, and only in text for readers.

use super::rules_text::points;
use super::{
    ExportContent, ExportError, ExportFormat, ExportInput, ExportOption, ExportOptions, FormatSpec,
    OptionValues, UnsupportedModel,
};
use crate::ensemble::Link;
use crate::ensemble::Model;
use crate::number_format::{percent, quantity, short};
use crate::rules::{
    AdditiveGroup, AdditiveRule, AdditiveRules, AdditiveRulesError, DecisionRule, MAX_RULE_LEAVES,
    RuleMerge, RuleSet, RuleStats, RulesError,
};
use crate::text::printable;

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
    /// Whether people read it: the trees of a sum that test one feature are added up.
    pub is_for_readers: bool,
    pub render: fn(&RuleSet<'_>) -> String,
    /// The same for a sum of trees.
    pub render_sum: fn(&AdditiveRules<'_>) -> String,
    /// Why the format cannot express the names of a model, if it cannot.
    pub refuse: Option<fn(&Model) -> Option<String>>,
}

impl ExportFormat for RulesFormat {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            content: ExportContent::Rules,
            name: self.name,
            description: self.description,
            extensions: self.extensions,
            options: &[MERGE],
            is_for_readers: self.is_for_readers,
            ..FormatSpec::MODEL
        }
    }

    /// Models with one tree have rules, and sums of trees with few leaves have rules with points.
    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        match model.single_tree() {
            Err(_) => drop(model.additive_rules().map_err(UnsupportedModel::new)?),
            Ok(single) if single.tree.leaves.len() > MAX_RULE_LEAVES => {
                let leaves = single.tree.leaves.len();
                return Err(UnsupportedModel::new(RulesError::Leaves { leaves }));
            }
            Ok(_) => {}
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

        if let Some(rules) = input.additive_rules {
            out.extend_from_slice((self.render_sum)(rules).as_bytes());
            return Ok(());
        }

        let Ok(tree) = input.model.single_tree() else {
            let rules = points_table(self, input.model).map_err(UnsupportedModel::new)?;
            out.extend_from_slice((self.render_sum)(&rules).as_bytes());
            return Ok(());
        };
        let merge = RuleMerge::from_name(&options.get(&MERGE)).unwrap_or_default();
        let rules = tree.rules(merge).map_err(|error| ExportError::Option {
            name: MERGE.name.to_string(),
            message: error.to_string(),
        })?;
        out.extend_from_slice((self.render)(&rules).as_bytes());
        Ok(())
    }
}

/// The table of points of a sum of trees that a format shows: a score card for readers, and for
/// programs the rules tree by tree, which give the same bits as the model.
pub fn points_table<'a>(
    format: &dyn ExportFormat,
    model: &'a Model,
) -> Result<AdditiveRules<'a>, AdditiveRulesError> {
    match format.is_for_readers() {
        true => model.score_card(),
        false => model.additive_rules(),
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

/// What a sum of trees consists of, and what its score is, one sentence each.
pub(super) fn sum_summary(rules: &AdditiveRules<'_>) -> Vec<String> {
    let target = printable(&rules.schema().target.name).into_owned();
    let classes = rules.schema().target.kind.classes();
    let has_columns = !rules.schema().target.kind.columns().is_empty();
    let score = match rules.model.link {
        Link::Identity if has_columns => "each score is the prediction of its column".to_string(),
        Link::Exp if has_columns => "the prediction of a column is exp(its score)".to_string(),
        Link::ExpM1 if has_columns => {
            "the prediction of a column is exp(its score) - 1".to_string()
        }
        Link::Identity => format!("the score is the prediction of {target}"),
        Link::Exp => format!("the prediction of {target} is exp(score)"),
        Link::ExpM1 => format!("the prediction of {target} is exp(score) - 1"),
        Link::Sigmoid => {
            let class = classes.get(1).map_or("the second class", String::as_str);
            format!("the probability of {} is 1 / (1 + exp(-score))", printable(class))
        }
        Link::Softmax => "the probability of a class is exp(its score) divided by the sum of \
                          exp(score) over all classes"
            .to_string(),
    };
    let score = match rules.model.calibration.points_unit {
        Some(unit) => {
            format!("the score is the intercept plus {unit} times the total points; {score}")
        }
        None => score,
    };
    let sum = match rules.model.calibration.points_unit {
        Some(_) => "their points are added up",
        None => "the score is the intercept plus their points",
    };
    let rows = rules.rows.map_or(String::new(), |rows| format!("{rows} "));
    vec![
        format!("{}, and {sum}", sum_contents(rules)),
        score,
        match rules.counted_on_data {
            true => format!("support was counted on {rows}rows of data"),
            false => format!("support is that of the {rows}training rows"),
        },
    ]
}

/// What the lines of a table are.
fn sum_contents(rules: &AdditiveRules<'_>) -> String {
    let of_features = rules.groups.iter().filter(|group| group.feature.is_some()).count();
    let groups = &rules.groups[of_features..];
    let splits: usize = groups.iter().map(|group| group.rules.len() - 1).sum();
    let of_groups = || {
        format!("{} of rules with {}", quantity(groups.len(), "group"), quantity(splits, "split"))
    };
    let listed = "where no rule of a group is listed, there are no points";
    match (of_features, groups.len()) {
        (0, _) => format!("{}: one rule of each applies to a row ({listed})", of_groups()),
        (_, 0) => {
            format!("{}: one line of each applies to a row", quantity(of_features, "feature"))
        }
        _ => format!(
            "{} and {}: one line of each applies to a row ({listed})",
            quantity(of_features, "feature"),
            of_groups()
        ),
    }
}

/// The lines of a group: all values of a feature, or the rules that have points.
pub(super) fn listed_rules(group: &AdditiveGroup) -> impl Iterator<Item = &AdditiveRule> {
    let all = group.feature.is_some();
    group.rules.iter().filter(move |rule| all || rule.has_points())
}

/// The names of a model's scores: one per class for three or more classes, or per column.
pub(super) fn output_names(rules: &AdditiveRules<'_>) -> Vec<String> {
    match rules.model.output_names() {
        [] => vec!["score".to_string()],
        names => names.to_vec(),
    }
}

/// The points of a leaf value: a whole number if the model has a unit, else the value itself.
pub(super) fn shown_points(rules: &AdditiveRules<'_>, value: f64) -> String {
    match rules.model.calibration.points_unit {
        Some(unit) => format!("{:+}", (value / unit).round() as i64),
        None => points(value),
    }
}

/// Total points and what they predict, for models of whole points with one score: from the least
/// total to the largest in about ten steps.
pub(super) fn totals(rules: &AdditiveRules<'_>) -> Vec<(i64, String)> {
    let (Some(unit), &[base]) = (rules.model.calibration.points_unit, &rules.intercept[..]) else {
        return Vec::new();
    };
    let extreme = |choose: fn(f64, f64) -> f64| {
        let of_group = |group: &AdditiveGroup| {
            let points = group.rules.iter().filter_map(|rule| rule.points.first().copied());
            points.reduce(choose).unwrap_or(0.0)
        };
        (rules.groups.iter().map(of_group).sum::<f64>() / unit).round() as i64
    };
    let (least, most) = (extreme(f64::min), extreme(f64::max));
    let step = ((most - least) / 10).max(1);
    let link = rules.model.link;
    let told = |total: i64| {
        let raw = base + unit * total as f64;
        if link == Link::Sigmoid {
            let mut probabilities = Vec::new();
            link.probabilities(&[raw], &mut probabilities);
            return (total, percent(probabilities[1]));
        }
        (total, short(link.number(raw)))
    };
    let mut totals: Vec<i64> = (least..=most).step_by(step as usize).collect();
    if totals.last() != Some(&most) {
        totals.push(most);
    }
    totals.into_iter().map(told).collect()
}

/// The support of a rule with points; empty if it is unknown.
pub(super) fn rule_support(rule: &AdditiveRule, rows: Option<f64>) -> String {
    let Some(share) = rule.support else { return String::new() };
    match rows {
        Some(rows) => quantity((rows * share).round() as usize, "row"),
        None => format!("{} of the rows", percent(share)),
    }
}

/// The points of a rule by output; an output without points gets none.
pub(super) fn points_of(group: &AdditiveGroup, rule: &AdditiveRule, output: usize) -> Option<f64> {
    let at = group.outputs.iter().position(|&own| own as usize == output)?;
    rule.points.get(at).copied()
}
