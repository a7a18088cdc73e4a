//! The version in doubles, whose raw scores are the model's to the bit.

use super::super::literal::comment;
use super::super::scoring_form::{ScoringForm, ScoringNode};
use super::node_tables::NodeTables;
use super::table::CTables;
use super::{CProgram, names};
use crate::ensemble::{LinearTerm, Link};
use crate::number_format::python_literal;

pub(super) fn program(form: &ScoringForm<'_>, name: &str, stem: &str) -> CProgram {
    let mut tables = CTables::default();
    tables.doubles(&format!("{name}_base"), "start values", form.base);
    let body = match (form.trees.is_empty(), form.linear.is_empty()) {
        (false, _) => trees(form, name, &mut tables),
        (true, false) if !form.schema.features.is_empty() => linear(form, name, &mut tables),
        _ => constant(form, name),
    };

    let mut source =
        format!("/* Written by Swarmwood. */\n#include \"{stem}.h\"\n\n{}", tables.text);
    source.push_str(&body);
    source.push_str(&predictions(form, name));
    source.push_str(&names::names(form, name));
    CProgram { source, header: header(form, name), table_bytes: tables.bytes }
}

/// Number of values that `predict` writes: probabilities, or one number per column of the target.
fn prediction_count(form: &ScoringForm<'_>) -> usize {
    form.classes().len().max(form.columns().len()).max(1)
}

fn header(form: &ScoringForm<'_>, name: &str) -> String {
    let upper = name.to_uppercase();
    let (features, outputs) = (form.schema.features.len(), form.base.len());
    let mut columns = String::new();
    for (index, feature) in form.schema.features.iter().enumerate() {
        let kind = match feature.kind.levels().len() {
            0 => "number".to_string(),
            levels => format!("category, {levels} levels"),
        };
        columns.push_str(&format!(" *   {index}: {} ({kind})\n", comment(&feature.name)));
    }
    let names = names::declarations(name);
    for (index, column) in form.columns().iter().enumerate() {
        columns.push_str(&format!(" *   predicted {index}: {}\n", comment(column)));
    }
    format!(
        r#"/* Predicts {target}. Written by Swarmwood.
 *
 * A row has one double per feature. A category is its number, which {name}_category finds; NaN, and
 * numbers that are no category's, are missing values.
{columns} */
#ifndef {upper}_H
#define {upper}_H

#include <stdint.h>

#define {upper}_FEATURES {features}u
#define {upper}_OUTPUTS {outputs}u
#define {upper}_CLASSES {classes}u
#define {upper}_PREDICTIONS {predictions}u

/* The raw scores of a row, {upper}_OUTPUTS of them. */
void {name}_raw(const double *row, double *raw);

/* The predicted class for raw scores; 0 for regression. */
unsigned {name}_class(const double *raw);

/* {predicted}: {upper}_PREDICTIONS values. */
void {name}_predict(const double *row, double *prediction);

{names}
#endif
"#,
        target = comment(&form.schema.target.name),
        classes = form.classes().len(),
        predictions = prediction_count(form),
        predicted = match form.columns() {
            [] => "The predicted number, or the probability of each class",
            _ => "The predicted numbers, in the order of the columns above",
        },
    )
}

/// The tables of all trees one after the other, and the function that goes through them.
fn trees(form: &ScoringForm<'_>, name: &str, tables: &mut CTables) -> String {
    let threshold = |node: &ScoringNode| node.threshold().unwrap_or(0.0);
    let nodes = NodeTables::new(&form.trees, threshold, |start| start as f64, |value| value);
    let counts: Vec<i64> =
        form.level_counts().iter().map(|levels| levels.unwrap_or(0) as i64).collect();
    tables.signed(&format!("{name}_root"), "where each tree begins; below 0: a leaf", &nodes.root);
    tables.integers(
        &format!("{name}_output"),
        "the raw score that each tree adds to",
        &nodes.output,
    );
    tables.integers(&format!("{name}_feature"), "the feature of each node", &nodes.feature);
    tables.integers(&format!("{name}_test"), "1: missing values pass; 2: a category", &nodes.kind);
    tables.doubles(
        &format!("{name}_threshold"),
        "a number passes up to this; of a category: where its set begins",
        &nodes.threshold,
    );
    tables.signed(&format!("{name}_yes"), "the next node if the test passes", &nodes.yes);
    tables.signed(&format!("{name}_no"), "and if not; -1 - n is leaf n", &nodes.no);
    tables.integers(&format!("{name}_set"), "sets of categories, one bit each", &nodes.sets);
    tables.integers(&format!("{name}_levels"), "the number of categories of each feature", &counts);
    tables.doubles(&format!("{name}_leaf"), "leaf values", &nodes.leaf);
    let (outputs, trees) = (form.base.len(), form.trees.len());
    let passes = passes(name);
    format!(
        r#"{passes}void {name}_raw(const double *row, double *raw)
{{
    uint32_t output;
    uint32_t tree;
    for (output = 0u; output < {outputs}u; output++) {{
        raw[output] = {name}_base[output];
    }}
    for (tree = 0u; tree < {trees}u; tree++) {{
        int32_t at = {name}_root[tree];
        while (at >= 0) {{
            at = ({name}_passes(at, row) != 0) ? {name}_yes[at] : {name}_no[at];
        }}
        raw[{name}_output[tree]] += {name}_leaf[-1 - at];
    }}
}}

"#
    )
}

/// A model that predicts its start values.
fn constant(form: &ScoringForm<'_>, name: &str) -> String {
    let outputs = form.base.len();
    format!(
        r#"void {name}_raw(const double *row, double *raw)
{{
    uint32_t output;
    (void)row;
    for (output = 0u; output < {outputs}u; output++) {{
        raw[output] = {name}_base[output];
    }}
}}

"#
    )
}

fn passes(name: &str) -> String {
    format!(
        r#"/* Whether a value passes the test of a node. */
static int {name}_passes(int32_t node, const double *row)
{{
    const unsigned test = {name}_test[node];
    const unsigned feature = {name}_feature[node];
    const double value = row[feature];
    if ((test & 2u) != 0u) {{
        uint32_t code;
        uint32_t at;
        if (!((value >= 0.0) && (value < (double){name}_levels[feature]))) {{
            return 0;
        }}
        code = (uint32_t)value;
        at = (uint32_t){name}_threshold[node] + (code >> 3u);
        return (int)(({name}_set[at] >> (code & 7u)) & 1u);
    }}
    if (value != value) {{
        return (int)(test & 1u);
    }}
    return value <= {name}_threshold[node];
}}

"#
    )
}

/// The tables of a linear model, and the function that adds its terms in the order of the features.
fn linear(form: &ScoringForm<'_>, name: &str, tables: &mut CTables) -> String {
    let counts: Vec<i64> = form
        .level_counts()
        .iter()
        .map(|levels| levels.map_or(0, |count| count as i64 + 1))
        .collect();
    let mut starts = Vec::new();
    let mut weights = Vec::new();
    for term in form.linear.iter().flat_map(|function| &function.terms) {
        starts.push(weights.len() as i64);
        match term {
            LinearTerm::Number { weight, centre } => weights.extend([*weight, *centre]),
            LinearTerm::Category { weights: levels } => weights.extend(levels),
        }
    }
    tables.integers(
        &format!("{name}_levels"),
        "1 + the number of categories of each feature; 0 for numbers",
        &counts,
    );
    tables.integers(&format!("{name}_start"), "where the weights of each term begin", &starts);
    tables.doubles(
        &format!("{name}_weight"),
        "a weight and a centre, or a weight per category",
        &weights,
    );
    let (outputs, features) = (form.base.len(), form.schema.features.len());
    format!(
        r#"void {name}_raw(const double *row, double *raw)
{{
    uint32_t output;
    uint32_t feature;
    for (output = 0u; output < {outputs}u; output++) {{
        double sum = {name}_base[output];
        for (feature = 0u; feature < {features}u; feature++) {{
            const double *weight = &{name}_weight[{name}_start[(output * {features}u) + feature]];
            const double value = row[feature];
            const uint32_t levels = {name}_levels[feature];
            double term = 0.0;
            if (levels == 0u) {{
                if (value == value) {{
                    const double distance = value - weight[1];
                    term = weight[0] * distance;
                }}
            }} else if ((value >= 0.0) && (value < (double)(levels - 1u))) {{
                term = weight[(uint32_t)value];
            }} else {{
                term = 0.0;
            }}
            sum += term;
        }}
        raw[output] = sum;
    }}
}}

"#
    )
}

/// Classes and predictions from raw scores.
fn predictions(form: &ScoringForm<'_>, name: &str) -> String {
    let upper = name.to_uppercase();
    let class = match form.link {
        Link::Sigmoid => {
            format!("    return (raw[0] > {}) ? 1u : 0u;\n", python_literal(form.cut))
        }
        Link::Softmax => format!(
            "    unsigned best = 0u;\n    unsigned output;\n    for (output = 1u; output < {upper}_OUTPUTS; \
             output++) {{\n        if (raw[output] > raw[best]) {{\n            best = output;\n        \
             }}\n    }}\n    return best;\n"
        ),
        _ => "    (void)raw;\n    return 0u;\n".to_string(),
    };
    let (helpers, body) = match form.link {
        Link::Identity => (String::new(), number_link("    prediction[0] = raw[0];\n", form)),
        Link::Exp => {
            let body = format!("    prediction[0] = {name}_exp(raw[0]);\n");
            (exp(name), number_link(&body, form))
        }
        Link::ExpM1 => (exp(name), number_link(&expm1(name), form)),
        Link::Sigmoid => (
            exp(name),
            format!(
                "    prediction[0] = 1.0 / (1.0 + {name}_exp(raw[0]));\n    \
                 prediction[1] = 1.0 / (1.0 + {name}_exp(-raw[0]));\n"
            ),
        ),
        Link::Softmax => (
            exp(name),
            format!(
                r#"    unsigned output;
    double sum = 0.0;
    const double top = raw[{name}_class(raw)];
    for (output = 0u; output < {upper}_OUTPUTS; output++) {{
        prediction[output] = {name}_exp(raw[output] - top);
        sum += prediction[output];
    }}
    for (output = 0u; output < {upper}_OUTPUTS; output++) {{
        prediction[output] /= sum;
    }}
"#
            ),
        ),
    };
    format!(
        r#"unsigned {name}_class(const double *raw)
{{
{class}}}

{helpers}static void {name}_link(const double *raw, double *prediction)
{{
{body}}}

void {name}_predict(const double *row, double *prediction)
{{
    double raw[{upper}_OUTPUTS];
    {name}_raw(row, raw);
    {name}_link(raw, prediction);
}}

"#
    )
}

/// Statements that turn the first raw score into a number, for all of them if there are several.
fn number_link(body: &str, form: &ScoringForm<'_>) -> String {
    if form.columns().is_empty() {
        return body.to_string();
    }
    let lines = body.lines().map(|line| format!("    {}\n", line.replace("[0]", "[output]")));
    let lines: String = lines.collect();
    let count = form.base.len();
    format!(
        "    unsigned output;\n    for (output = 0u; output < {count}u; output++) {{\n{lines}    }}\n"
    )
}

/// The first number of `exp(raw) - 1`.
fn expm1(name: &str) -> String {
    format!(
        r#"    if ((raw[0] > -0.25) && (raw[0] < 0.25)) {{
        /* The series of exp(x) - 1 has no cancellation near 0. */
        double sum = 0.0;
        int step;
        for (step = 14; step > 1; step--) {{
            sum = (sum + 1.0) * (raw[0] / (double)step);
        }}
        prediction[0] = (sum + 1.0) * raw[0];
    }} else {{
        prediction[0] = {name}_exp(raw[0]) - 1.0;
    }}
"#
    )
}

/// The exponential function: a series on the remainder of a division by ln 2, which has two parts so
/// that the remainder is exact, and two powers of two, each of which is representable.
fn exp(name: &str) -> String {
    format!(
        r#"/* 2 to the power of an exponent between -600 and 600. */
static double {name}_power_of_two(int32_t exponent)
{{
    double factor = (exponent < 0) ? 0.5 : 2.0;
    double power = 1.0;
    uint32_t bits = (uint32_t)((exponent < 0) ? -exponent : exponent);
    while (bits > 0u) {{
        if ((bits & 1u) != 0u) {{
            power *= factor;
        }}
        factor *= factor;
        bits >>= 1u;
    }}
    return power;
}}

/* exp(x), within two units in the last place. */
static double {name}_exp(double x)
{{
    double sum = 0.0;
    double rest;
    int32_t exponent;
    int step;
    if (x != x) {{
        return x;
    }}
    if (x > 709.782712893384) {{
        return x * 1e308;
    }}
    if (x < -745.2) {{
        return 0.0;
    }}
    exponent = (int32_t)((x * 1.4426950408889634) + ((x < 0.0) ? -0.5 : 0.5));
    rest = x - ((double)exponent * 0.693147180369123816490);
    rest -= (double)exponent * 1.90821492927058770002e-10;
    for (step = 14; step > 0; step--) {{
        sum = (sum + 1.0) * (rest / (double)step);
    }}
    sum = (sum + 1.0) * {name}_power_of_two(exponent / 2);
    return sum * {name}_power_of_two(exponent - (exponent / 2));
}}

"#
    )
}

/// A program that scores the rows of standard input.
pub(super) fn harness(name: &str) -> String {
    let upper = name.to_uppercase();
    format!(
        r#"#include <stdio.h>
#include "export.h"

int main(void)
{{
    static double row[{upper}_FEATURES + 1u];
    static double raw[{upper}_OUTPUTS];
    static double prediction[{upper}_PREDICTIONS];
    unsigned features = {upper}_FEATURES;
    unsigned rows;
    unsigned at;
    if (scanf("%u", &rows) != 1) {{
        return 1;
    }}
    while (rows-- > 0u) {{
        for (at = 0u; at < features; at++) {{
            if (scanf("%lf", &row[at]) != 1) {{
                return 1;
            }}
        }}
        {name}_raw(row, raw);
        {name}_predict(row, prediction);
        for (at = 0u; at < {upper}_OUTPUTS; at++) {{
            printf("%.17g ", raw[at]);
        }}
        for (at = 0u; at < {upper}_PREDICTIONS; at++) {{
            printf("%.17g ", prediction[at]);
        }}
        printf("\n");
    }}
    return 0;
}}
"#
    )
}
