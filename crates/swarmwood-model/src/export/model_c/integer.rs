//! The version without floating point.
//!
//! An input is a number of fixed point: the value times a power of two, rounded up. A threshold is
//! rounded down to the same grid, so that an input that is on the grid is compared as in the model;
//! if the threshold is on the grid, so is every other input. Leaf values are multiples of one step.

use super::super::literal::comment;
use super::super::scoring_form::{ScoringForm, ScoringNode, ScoringTree};
use super::super::{ExportError, UnsupportedModel};
use super::node_tables::NodeTables;
use super::table::CTables;
use super::{CProgram, names};
use crate::ensemble::Link;

/// Thresholds stay below 2 to this power.
const THRESHOLD_BITS: i32 = 30;

/// How a model is expressed in integers.
pub(in crate::export) struct IntegerForm {
    /// An input of a feature is its value times 2 to this power.
    pub(in crate::export) shifts: Vec<i32>,
    /// A raw score is an integer score times this.
    step: f64,
    /// By how much a raw score can differ from the model's.
    pub(in crate::export) tolerance: f64,
}

impl IntegerForm {
    /// The form of a model with leaf values of `bits` bits.
    pub(in crate::export) fn new(form: &ScoringForm<'_>, bits: u32) -> IntegerForm {
        let largest_leaf = |tree: &ScoringTree| {
            tree.leaves.iter().map(|leaf| leaf.value.abs()).fold(0.0, f64::max)
        };
        let largest = form.trees.iter().map(largest_leaf).fold(0.0, f64::max);
        let total: f64 = form.trees.iter().map(largest_leaf).sum::<f64>()
            + form.base.iter().map(|base| base.abs()).fold(0.0, f64::max);
        let rounds = form.trees.len() as f64 / form.base.len().max(1) as f64;

        // Neither a leaf nor a sum may overflow, rounding included.
        let leaf_limit = (2_f64.powi(bits as i32 - 1) - 1.0).floor();
        let sum_limit = 2_f64.powi(31) - 2.0 - form.trees.len() as f64;
        let step = (largest / leaf_limit).max(total / sum_limit);
        let step = if step.is_normal() { step } else { f64::MIN_POSITIVE.max(step) };
        // Leaves that are whole multiples of a unit stay what they are.
        let parts = form.unit.map_or(0.0, |unit| (unit / step).floor());
        let (step, rounds) = match form.unit {
            Some(unit) if parts >= 1.0 => (unit / parts, 0.0),
            _ => (step, rounds),
        };
        // The sums of the model itself are rounded, too.
        let rounding = total * f64::EPSILON * (form.trees.len() as f64 + 2.0);
        IntegerForm {
            shifts: form.thresholds().iter().map(|thresholds| shift(thresholds)).collect(),
            step,
            tolerance: 0.5 * step * (rounds + 1.0) * 1.000_001 + rounding,
        }
    }

    fn rounded(&self, value: f64) -> i64 {
        (value / self.step).round() as i64
    }
}

/// The smallest shift that represents all thresholds exactly; if there is none, the largest one
/// without overflow.
fn shift(thresholds: &[f64]) -> i32 {
    let largest = thresholds.iter().map(|threshold| threshold.abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return 0;
    }
    let fits = |shift: i32| times_power(largest, shift) < 2_f64.powi(THRESHOLD_BITS);
    let mut most = THRESHOLD_BITS - 1 - largest.log2().floor() as i32;
    while !fits(most) {
        most -= 1;
    }
    let exact = |shift: &i32| {
        thresholds.iter().all(|threshold| times_power(*threshold, *shift).fract() == 0.0)
    };
    (0..=most).find(exact).unwrap_or(most)
}

/// `value * 2^shift`; the power alone may not be representable.
pub(in crate::export) fn times_power(value: f64, shift: i32) -> f64 {
    let third = shift / 3;
    value * 2_f64.powi(third) * 2_f64.powi(third) * 2_f64.powi(shift - 2 * third)
}

pub(super) fn program(
    form: &ScoringForm<'_>,
    name: &str,
    stem: &str,
    bits: u32,
) -> Result<CProgram, ExportError> {
    if !form.linear.is_empty() {
        let reason = "the model is linear, and a linear model has no version in integers; leave out \
                      the option integer";
        return Err(UnsupportedModel::new(reason).into());
    }
    let integers = IntegerForm::new(form, bits);
    let mut tables = CTables::default();
    let body = if form.trees.is_empty() {
        constant(form, &integers, name, &mut tables)
    } else {
        trees(form, &integers, name, &mut tables)
    };
    let mut source =
        format!("/* Written by Swarmwood. */\n#include \"{stem}.h\"\n\n{}", tables.text);
    source.push_str(&body);
    source.push_str(&class(form, &integers, name));
    source.push_str(&names::names(form, name));
    Ok(CProgram { source, header: header(form, &integers, name), table_bytes: tables.bytes })
}

fn header(form: &ScoringForm<'_>, integers: &IntegerForm, name: &str) -> String {
    let upper = name.to_uppercase();
    let mut columns = String::new();
    for ((index, feature), shift) in form.schema.features.iter().enumerate().zip(&integers.shifts) {
        let kind = match feature.kind.levels().len() {
            0 => format!("number, times 2^{shift}, rounded up"),
            levels => format!("category, {levels} levels"),
        };
        columns.push_str(&format!(" *   {index}: {} ({kind})\n", comment(&feature.name)));
    }
    let shifts: Vec<String> = integers.shifts.iter().map(i32::to_string).collect();
    format!(
        r#"/* Predicts {target} without floating point. Written by Swarmwood.
 *
 * A row has one integer per feature: a number of fixed point, or the number of a category, which
 * {name}_category finds; {upper}_MISSING, and numbers that are no category's, are missing values.
{columns} *
 * A raw score is a score times {upper}_STEP; it differs from the model's by at most {upper}_ERROR.
 */
#ifndef {upper}_H
#define {upper}_H

#include <stdint.h>

#define {upper}_FEATURES {features}u
#define {upper}_OUTPUTS {outputs}u
#define {upper}_CLASSES {classes}u
#define {upper}_MISSING (-2147483647 - 1)

/* For the program that prepares inputs and reads scores; {name}_score does not use them. */
#define {upper}_SHIFTS {{{shifts}}}
#define {upper}_STEP {step:?}
#define {upper}_ERROR {error:?}

/* The scores of a row, {upper}_OUTPUTS of them. */
void {name}_score(const int32_t *row, int32_t *score);

/* The predicted class for scores; 0 for regression. */
unsigned {name}_class(const int32_t *score);

{names}
#endif
"#,
        target = comment(&form.schema.target.name),
        features = form.schema.features.len(),
        outputs = form.base.len(),
        classes = form.classes().len(),
        // C has no empty lists.
        shifts = if shifts.is_empty() { "0".to_string() } else { shifts.join(", ") },
        step = integers.step,
        error = integers.tolerance,
        names = names::declarations(name),
    )
}

/// A model that predicts its start values.
fn constant(
    form: &ScoringForm<'_>,
    integers: &IntegerForm,
    name: &str,
    tables: &mut CTables,
) -> String {
    let base: Vec<i64> = form.base.iter().map(|value| integers.rounded(*value)).collect();
    tables.signed(&format!("{name}_base"), "start values", &base);
    let outputs = form.base.len();
    format!(
        r#"void {name}_score(const int32_t *row, int32_t *score)
{{
    uint32_t output;
    (void)row;
    for (output = 0u; output < {outputs}u; output++) {{
        score[output] = {name}_base[output];
    }}
}}

"#
    )
}

fn trees(
    form: &ScoringForm<'_>,
    integers: &IntegerForm,
    name: &str,
    tables: &mut CTables,
) -> String {
    let edges = edges(form, integers);
    let threshold = |node: &ScoringNode| {
        let edge = edge(node.threshold().unwrap_or(0.0), integers.shifts[node.feature]);
        edges.binary_search(&edge).unwrap_or(0) as i64
    };
    let leaf = |value: f64| integers.rounded(value);
    let nodes = NodeTables::new(&form.trees, threshold, |start| start as i64, leaf);
    let counts: Vec<i64> =
        form.level_counts().iter().map(|levels| levels.unwrap_or(0) as i64).collect();
    let base: Vec<i64> = form.base.iter().map(|value| integers.rounded(*value)).collect();
    let mut table = |what: &str, comment: &str, values: &[i64], signed: bool| {
        let name = format!("{name}_{what}");
        if signed {
            tables.signed(&name, comment, values);
        } else {
            tables.integers(&name, comment, values);
        }
    };
    table("base", "start values", &base, true);
    table("root", "where each tree begins; below 0: a leaf", &nodes.root, true);
    table("output", "the score that each tree adds to", &nodes.output, false);
    table("feature", "the feature of each node", &nodes.feature, false);
    table("test", "1: missing values pass; 2: a category", &nodes.kind, false);
    table("cut", "the number of a threshold, or where a set begins", &nodes.threshold, false);
    table("yes", "the next node if the test passes", &nodes.yes, true);
    table("no", "and if not; -1 - n is leaf n", &nodes.no, true);
    table("edge", "thresholds: a number passes up to this", &edges, true);
    table("set", "sets of categories, one bit each", &nodes.sets, false);
    table("levels", "the number of categories of each feature", &counts, false);
    table("leaf", "leaf values", &nodes.leaf, true);
    walk(name, form.base.len(), form.trees.len())
}

fn walk(name: &str, outputs: usize, trees: usize) -> String {
    let upper = name.to_uppercase();
    format!(
        r#"/* Whether a value passes the test of a node. */
static int {name}_passes(int32_t node, const int32_t *row)
{{
    const unsigned test = {name}_test[node];
    const unsigned feature = {name}_feature[node];
    const int32_t value = row[feature];
    if ((test & 2u) != 0u) {{
        uint32_t code;
        if ((value < 0) || ((uint32_t)value >= (uint32_t){name}_levels[feature])) {{
            return 0;
        }}
        code = (uint32_t)value;
        return (int)((uint32_t)({name}_set[{name}_cut[node] + (code >> 3u)] >> (code & 7u)) & 1u);
    }}
    if (value == {upper}_MISSING) {{
        return (int)(test & 1u);
    }}
    return value <= {name}_edge[{name}_cut[node]];
}}

void {name}_score(const int32_t *row, int32_t *score)
{{
    uint32_t output;
    uint32_t tree;
    for (output = 0u; output < {outputs}u; output++) {{
        score[output] = {name}_base[output];
    }}
    for (tree = 0u; tree < {trees}u; tree++) {{
        int32_t at = {name}_root[tree];
        while (at >= 0) {{
            at = ({name}_passes(at, row) != 0) ? {name}_yes[at] : {name}_no[at];
        }}
        score[{name}_output[tree]] += {name}_leaf[-1 - at];
    }}
}}

"#
    )
}

/// A threshold on the grid of its feature.
fn edge(threshold: f64, shift: i32) -> i64 {
    let scaled = times_power(threshold, shift);
    // A small negative number may have become 0.
    if scaled == 0.0 && threshold < 0.0 { -1 } else { scaled.floor() as i64 }
}

/// The thresholds of all features on their grids, each number once.
fn edges(form: &ScoringForm<'_>, integers: &IntegerForm) -> Vec<i64> {
    let mut edges: Vec<i64> = form
        .thresholds()
        .iter()
        .zip(&integers.shifts)
        .flat_map(|(thresholds, shift)| {
            thresholds.iter().map(|threshold| edge(*threshold, *shift)).collect::<Vec<_>>()
        })
        .collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The predicted class.
fn class(form: &ScoringForm<'_>, integers: &IntegerForm, name: &str) -> String {
    let upper = name.to_uppercase();
    let body = match form.link {
        Link::Sigmoid => {
            // A whole number is above the cut exactly if it is above the next lower whole number.
            let cut = (form.cut / integers.step).floor().clamp(-2_147_483_647.0, 2_147_483_647.0);
            format!("    return (score[0] > {cut}) ? 1u : 0u;\n")
        }
        Link::Softmax => format!(
            "    unsigned best = 0u;\n    unsigned output;\n    for (output = 1u; output < {upper}_OUTPUTS; \
             output++) {{\n        if (score[output] > score[best]) {{\n            best = output;\n        \
             }}\n    }}\n    return best;\n"
        ),
        _ => "    (void)score;\n    return 0u;\n".to_string(),
    };
    format!("unsigned {name}_class(const int32_t *score)\n{{\n{body}}}\n\n")
}

/// A program that scores the rows of standard input and prints raw scores.
pub(super) fn harness(name: &str) -> String {
    let upper = name.to_uppercase();
    format!(
        r#"#include <math.h>
#include <stdio.h>
#include "export.h"

static const int shifts[{upper}_FEATURES + 1u] = {upper}_SHIFTS;

int main(void)
{{
    static int32_t row[{upper}_FEATURES + 1u];
    static int32_t score[{upper}_OUTPUTS];
    unsigned features = {upper}_FEATURES;
    unsigned rows;
    unsigned at;
    if (scanf("%u", &rows) != 1) {{
        return 1;
    }}
    while (rows-- > 0u) {{
        for (at = 0u; at < features; at++) {{
            double value;
            if (scanf("%lf", &value) != 1) {{
                return 1;
            }}
            value = ceil(ldexp(value, shifts[at]));
            row[at] = (value != value) ? {upper}_MISSING
                : (value > 2147483647.0) ? 2147483647
                : (value < -2147483647.0) ? -2147483647 : (int32_t)value;
        }}
        {name}_score(row, score);
        for (at = 0u; at < {upper}_OUTPUTS; at++) {{
            printf("%.17g ", score[at] * {upper}_STEP);
        }}
        printf("\n");
    }}
    return 0;
}}
"#
    )
}
