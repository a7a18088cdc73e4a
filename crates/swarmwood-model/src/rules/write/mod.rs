//! Rules written for people (text, Markdown) and for machines (SQL, Python, JSON).
//!
//! Thresholds are written with as many digits as are needed to read the same number again, so that
//! what is written says what the model says; only predicted numbers are shortened, and only for
//! people.

mod markdown;
mod python;
mod sql;
mod text;

use super::{DecisionRule, RuleCondition, RulePrediction, RuleSet, RuleStats, ValueSet};
use crate::schema::Feature;

/// A way to write rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RuleFormat {
    /// Sentences that can be read aloud.
    #[default]
    Text,
    /// A table.
    Markdown,
    /// One object with everything there is to know.
    Json,
    /// One `CASE` expression of standard SQL.
    Sql,
    /// One function without imports.
    Python,
}

impl RuleFormat {
    /// Every format with its name and what it is.
    pub const ALL: [(&'static str, RuleFormat, &'static str); 5] = [
        ("text", RuleFormat::Text, "sentences that can be read aloud"),
        ("markdown", RuleFormat::Markdown, "a table"),
        ("json", RuleFormat::Json, "one object with everything there is to know"),
        ("sql", RuleFormat::Sql, "one CASE expression"),
        ("python", RuleFormat::Python, "one function without imports"),
    ];
}

impl RuleSet<'_> {
    /// The rules in a format.
    pub fn to_text(&self, format: RuleFormat) -> String {
        match format {
            RuleFormat::Text => text::write(self),
            RuleFormat::Markdown => markdown::write(self),
            RuleFormat::Json => crate::format::rules_to_json(self),
            RuleFormat::Sql => sql::write(self),
            RuleFormat::Python => python::write(self),
        }
    }

    /// The feature of a condition.
    pub(crate) fn feature(&self, condition: &RuleCondition) -> &Feature {
        &self.schema.features[condition.feature as usize]
    }

    /// The name of a class, or nothing where the answer is a number.
    pub(crate) fn class_name(&self, answer: RulePrediction) -> Option<&str> {
        match answer {
            RulePrediction::Class(class) => {
                self.schema.target.kind.classes().get(class as usize).map(String::as_str)
            }
            RulePrediction::Number(_) => None,
        }
    }

    /// The names of the levels a condition holds for and of those it does not, in code order.
    fn levels(&self, condition: &RuleCondition) -> (Vec<&str>, Vec<&str>) {
        let names = self.feature(condition).kind.levels().iter().map(String::as_str).enumerate();
        let inside = |code: usize| matches!(&condition.holds, ValueSet::Levels(set) if set.contains(code as u32));
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        names.for_each(|(code, name)| if inside(code) { yes.push(name) } else { no.push(name) });
        (yes, no)
    }

    /// Sizes and what figures mean, in a sentence or two.
    fn summary(&self) -> Vec<String> {
        let (size, paths) = (self.size(), self.paths);
        let mut lines = vec![format!(
            "{} with {} and an otherwise; the {} had {}",
            many(size.rules, "rule"),
            many(size.conditions, "condition"),
            many(paths.rules, "leaf path"),
            many(paths.conditions, "condition"),
        )];
        lines.push(
            "the order does not matter: rules with different answers never hold together"
                .to_string(),
        );
        let rows = self.rows.map_or(String::new(), |rows| format!("{rows} "));
        lines.push(match self.counted {
            true => format!("figures were counted on {rows}rows of data"),
            false => format!("figures come from the {rows}training rows in the leaves"),
        });
        lines
    }
}

/// A number of things.
fn many(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A number that reads back as the same one, without rows of zeros.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A share in per cent: no decimals but next to none and all.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = usize::from(percent > 0.0 && percent < 1.0 || percent > 99.0 && percent < 100.0);
    // What is not all must not look like it.
    let rounded = if percent < 100.0 { percent.min(99.9) } else { percent };
    format!("{rounded:.digits$} %")
}

/// The support of a rule: rows where their number is known, else a share.
fn support(figures: &RuleStats, rows: Option<f64>) -> String {
    let Some(rows) = rows else {
        let start = if figures.is_exact() { "" } else { "at least " };
        return format!("{start}{} of the rows", percent(figures.support));
    };
    let (least, most) =
        ((rows * figures.support).round(), (rows * figures.support_at_most).round());
    if least == most {
        return many(least as usize, "row");
    }
    if least == 0.0 {
        format!("at most {}", many(most as usize, "row"))
    } else {
        format!("{least} to {most} rows")
    }
}

/// What is known of the rows of a rule, part by part.
fn figures(rule: &DecisionRule, rows: Option<f64>) -> Vec<String> {
    let figures = &rule.figures;
    let about = if figures.is_exact() { "" } else { "about " };
    let mut parts = Vec::new();
    parts.extend(
        figures.confidence.map(|confidence| format!("confidence {about}{}", percent(confidence))),
    );
    parts.extend(figures.error.map(|error| format!("off by {} on average", short(error))));
    if figures.support_at_most > 0.0 || rows.is_some() {
        parts.push(support(figures, rows));
    }
    parts.extend(figures.lift.map(|lift| format!("lift {lift:.2}")));
    parts
}

/// A number with four digits, for people.
pub(crate) fn short(value: f64) -> String {
    rounded(value, 4)
}

/// A number with so many digits.
fn rounded(value: f64, digits: i32) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e9).contains(&size) {
        return format!("{value:.*e}", digits as usize - 2);
    }
    let whole = size.log10().floor() as i32 + 1;
    let digits = (digits - whole).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}
