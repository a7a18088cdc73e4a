//! How an export is checked: the program that runs it, and the rows that it is run on.
//!
//! A [`Harness`] is run beside the exported file and a file `rows.json` ([`rows_json`]) and prints
//! one line per row: the raw scores, and then the predicted number or the probabilities. Whoever
//! runs it compares the lines with the model.

use super::literal::quoted;
use super::model_c::times_power;
use super::scoring_form::{ScoringForm, ScoringNode, ScoringTest, ScoringTree};
use crate::ensemble::{LinearTerm, Model};
use crate::number_format::exact;
use crate::predict::{FeatureValue, MISSING};
use crate::schema::{Feature, Kind};
use crate::tree::Child;

/// How an export is run and how close its scores must be to the model's.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// What runs the export.
    pub harness: Harness,
    /// How close raw scores must be.
    pub tolerance: Tolerance,
    /// Which inputs the runtime distinguishes.
    pub inputs: InputPrecision,
    /// Options that the harness needs to have other values.
    pub overrides: &'static [(&'static str, &'static str)],
}

impl Verification {
    /// An export that must give the model's raw scores for all 64-bit inputs.
    pub fn exact(harness: Harness) -> Verification {
        Verification {
            harness,
            tolerance: Tolerance::EXACT,
            inputs: InputPrecision::Double,
            overrides: &[],
        }
    }
}

/// How close scores must be to the model's: the sum of both bounds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tolerance {
    /// The absolute bound.
    pub absolute: f64,
    /// The bound relative to the model's score.
    pub relative: f64,
}

impl Tolerance {
    /// No difference is accepted.
    pub const EXACT: Tolerance = Tolerance { absolute: 0.0, relative: 0.0 };

    /// Whether a number is close enough to the expected one.
    pub fn accepts(&self, expected: f64, found: f64) -> bool {
        expected == found
            || expected.is_nan() && found.is_nan()
            || (expected - found).abs() <= self.absolute + self.relative * expected.abs()
    }
}

/// A program that runs an export.
#[derive(Debug, Clone, PartialEq)]
pub enum Harness {
    /// The export is a model file that this crate reads itself.
    ReadBack,
    /// A Python script. Its arguments are the export and the rows; it ends with exit code 3 and a
    /// line that says what is missing if a package is not installed.
    Python(String),
    /// A module for Node, with the same arguments.
    Node(&'static str),
    /// A `main` function in C, compiled together with the export, which it includes as
    /// `export.h`. It reads the rows from standard input as numbers, NaN for missing values.
    C(String),
}

/// Which inputs a runtime distinguishes; rows are rounded to these.
#[derive(Debug, Clone, PartialEq)]
pub enum InputPrecision {
    /// All 64-bit floats.
    Double,
    /// All 64-bit floats, but numbers up to this distance from 0 are taken for 0.
    ZeroWithin(f64),
    /// Finite 32-bit floats.
    Single,
    /// Multiples of a power of two: one exponent per feature, the negated power.
    FixedPoint(Vec<i32>),
}

impl InputPrecision {
    /// The input that a runtime sees instead of a number.
    pub fn round(&self, feature: usize, number: f64) -> f64 {
        match self {
            InputPrecision::Double => number,
            InputPrecision::ZeroWithin(zero) if number.abs() <= *zero => 0.0,
            InputPrecision::ZeroWithin(_) => number,
            InputPrecision::Single => f64::from((number as f32).clamp(f32::MIN, f32::MAX)),
            InputPrecision::FixedPoint(shifts) => {
                let shift = shifts.get(feature).copied().unwrap_or(0);
                let limit = f64::from(i32::MAX);
                times_power(times_power(number, shift).ceil().clamp(-limit, limit), -shift)
            }
        }
    }

    /// The threshold or the largest input below it, and the smallest input above it.
    fn neighbours(&self, feature: usize, threshold: f64) -> [f64; 3] {
        match self {
            InputPrecision::Double => [threshold.next_down(), threshold, threshold.next_up()],
            InputPrecision::ZeroWithin(zero) => {
                let around = [threshold.next_down(), threshold, threshold.next_up()];
                around.map(|number| match number.abs() <= *zero && number != 0.0 {
                    true => zero.next_up().copysign(number),
                    false => number,
                })
            }
            InputPrecision::Single => {
                let near = threshold as f32;
                [near.next_down(), near, near.next_up()]
                    .map(|number| self.round(feature, f64::from(number)))
            }
            InputPrecision::FixedPoint(shifts) => {
                let shift = shifts.get(feature).copied().unwrap_or(0);
                let edge = times_power(threshold, shift).floor();
                [edge - 1.0, edge, edge + 1.0].map(|number| times_power(number, -shift))
            }
        }
    }
}

/// Trees with more nodes than this are checked once per threshold, not once per node.
const EVERY_NODE: usize = 20_000;

/// Rows at both neighbours of every threshold, with missing values and unknown categories. Each row
/// follows the path to the node with the threshold; all other values vary.
pub fn probe_rows(model: &Model, inputs: &InputPrecision) -> Vec<Vec<FeatureValue>> {
    let form = ScoringForm::new(model);
    let mut probe = ProbeRows {
        thresholds: form.thresholds(),
        levels: form.level_counts(),
        inputs,
        rows: Vec::new(),
        counter: 0,
    };

    let nodes: usize = form.trees.iter().map(|tree| tree.nodes.len()).sum();
    let mut seen = std::collections::HashSet::new();
    for tree in &form.trees {
        let parents = tree.parents();
        for (index, node) in tree.nodes.iter().enumerate() {
            let key = (node.feature, node.threshold().map(f64::to_bits));
            if nodes <= EVERY_NODE || node.threshold().is_none() || seen.insert(key) {
                probe.add_node(tree, &parents, index);
            }
        }
    }

    for feature in 0..form.schema.features.len() {
        probe.add_extremes(feature);
    }
    for terms in form.linear.iter().map(|function| &function.terms) {
        for (feature, term) in terms.iter().enumerate() {
            if let LinearTerm::Number { centre, .. } = term {
                probe.add_values(feature, &[*centre, centre + 1.0, centre * 3.0]);
            }
        }
    }
    // All values missing, and one row more if there are no features at all.
    let missing = |kind: &Kind| match kind {
        Kind::Number => FeatureValue::Number(f64::NAN),
        Kind::Category { .. } => FeatureValue::Category(MISSING),
    };
    probe.rows.push(form.schema.features.iter().map(|feature| missing(&feature.kind)).collect());
    probe.rows
}

impl ScoringTree {
    /// For each node but the root the node above, and whether its test holds on the way.
    fn parents(&self) -> Vec<Option<(usize, bool)>> {
        let mut parents = vec![None; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for (child, holds) in [(node.yes, true), (node.no, false)] {
                if let Child::Node(child) = child {
                    parents[child as usize] = Some((index, holds));
                }
            }
        }
        parents
    }
}

struct ProbeRows<'a> {
    thresholds: Vec<Vec<f64>>,
    levels: Vec<Option<usize>>,
    inputs: &'a InputPrecision,
    rows: Vec<Vec<FeatureValue>>,
    /// Varies the values that do not matter for a path.
    counter: u64,
}

impl ProbeRows<'_> {
    /// Rows that reach a node and fall on each side of its test.
    fn add_node(&mut self, tree: &ScoringTree, parents: &[Option<(usize, bool)>], index: usize) {
        let ScoringNode { feature, test, .. } = &tree.nodes[index];
        let feature = *feature;
        let mut row = self.any_row();
        let mut low = vec![f64::NEG_INFINITY; row.len()];
        let mut high = vec![f64::INFINITY; row.len()];
        let mut next = parents[index];
        while let Some((above, holds)) = next {
            next = parents[above];
            let node = &tree.nodes[above];
            let at = node.feature;
            match &node.test {
                ScoringTest::AtMost { threshold, .. } => {
                    if holds {
                        high[at] = high[at].min(*threshold);
                    } else {
                        low[at] = low[at].max(*threshold);
                    }
                    let value = if high[at].is_finite() { high[at] } else { low[at].next_up() };
                    row[at] = FeatureValue::Number(self.inputs.round(at, value));
                }
                ScoringTest::OneOf(levels) => {
                    let count = self.levels[at].unwrap_or(0) as u32;
                    let code = (0..count).find(|code| levels.contains(code) == holds);
                    row[at] = FeatureValue::Category(code.unwrap_or(MISSING));
                }
            }
        }

        match test {
            ScoringTest::AtMost { threshold, .. } => {
                for value in self.inputs.neighbours(feature, *threshold) {
                    self.push(&row, feature, FeatureValue::Number(value));
                }
                self.push(&row, feature, FeatureValue::Number(f64::NAN));
            }
            ScoringTest::OneOf(levels) => {
                let count = self.levels[feature].unwrap_or(0) as u32;
                let other = (0..count).find(|code| !levels.contains(code)).unwrap_or(count);
                let member = levels.first().copied().unwrap_or(count);
                for code in [member, other, count, MISSING] {
                    self.push(&row, feature, FeatureValue::Category(code));
                }
            }
        }
    }

    /// Infinities and zero, or every level of a category and a new one.
    fn add_extremes(&mut self, feature: usize) {
        let row = self.any_row();
        match self.levels[feature] {
            None => {
                for value in [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::NAN] {
                    let value = self.inputs.round(feature, value);
                    self.push(&row, feature, FeatureValue::Number(value));
                }
            }
            Some(count) => {
                for code in (0..=count as u32).chain([MISSING]) {
                    self.push(&row, feature, FeatureValue::Category(code));
                }
            }
        }
    }

    fn add_values(&mut self, feature: usize, values: &[f64]) {
        for value in values {
            let row = self.any_row();
            self.push(&row, feature, FeatureValue::Number(self.inputs.round(feature, *value)));
        }
    }

    fn push(&mut self, row: &[FeatureValue], feature: usize, value: FeatureValue) {
        let mut row = row.to_vec();
        row[feature] = value;
        self.rows.push(row);
    }

    /// A row of thresholds, levels and missing values that differs from call to call.
    fn any_row(&mut self) -> Vec<FeatureValue> {
        let mut row = Vec::with_capacity(self.levels.len());
        for (feature, levels) in self.levels.iter().enumerate() {
            self.counter = self
                .counter
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let pick = (self.counter >> 33) as usize;
            row.push(match levels {
                None => {
                    let thresholds = &self.thresholds[feature];
                    let value = match thresholds.get(pick % (thresholds.len() + 2)) {
                        Some(threshold) => *threshold,
                        None if pick.is_multiple_of(2) => f64::NAN,
                        None => (pick % 1000) as f64 / 8.0,
                    };
                    FeatureValue::Number(self.inputs.round(feature, value))
                }
                Some(count) => match pick % (count + 2) {
                    code if code <= *count => FeatureValue::Category(code as u32),
                    _ => FeatureValue::Category(MISSING),
                },
            });
        }
        row
    }
}

/// The rows for a harness: the features with their levels, and for each row the numbers as texts
/// and the categories as numbers; `null` is missing, and a category beyond the last is a new one.
pub fn rows_json(model: &Model, rows: &[Vec<FeatureValue>]) -> String {
    let texts = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        format!("[{}]", names.join(","))
    };
    let feature = |feature: &Feature| {
        let levels = match &feature.kind {
            Kind::Number => "null".to_string(),
            Kind::Category { levels } => texts(levels),
        };
        format!("{{\"name\":{},\"levels\":{levels}}}", quoted(&feature.name))
    };
    let value = |value: &FeatureValue| match *value {
        FeatureValue::Number(number) if number.is_nan() => "null".to_string(),
        FeatureValue::Number(number) => format!("\"{}\"", exact(number)),
        FeatureValue::Category(MISSING) => "null".to_string(),
        FeatureValue::Category(code) => code.to_string(),
    };
    let line = |row: &Vec<FeatureValue>| {
        format!("[{}]", row.iter().map(value).collect::<Vec<_>>().join(","))
    };

    let features: Vec<String> = model.schema.features.iter().map(feature).collect();
    let rows: Vec<String> = rows.iter().map(line).collect();
    format!(
        "{{\"features\":[{}],\"classes\":{},\"outputs\":{},\"cut\":{},\"rows\":[{}]}}\n",
        features.join(","),
        texts(model.schema.target.kind.classes()),
        model.outputs(),
        exact(model.calibration.raw_threshold()),
        rows.join(",\n")
    )
}

/// The rows as numbers for a harness in C: one line each.
pub fn rows_text(rows: &[Vec<FeatureValue>]) -> String {
    let value = |value: &FeatureValue| match *value {
        FeatureValue::Number(number) if number.is_nan() => "nan".to_string(),
        FeatureValue::Number(number) => exact(number),
        FeatureValue::Category(MISSING) => "-1".to_string(),
        FeatureValue::Category(code) => code.to_string(),
    };
    let line = |row: &Vec<FeatureValue>| {
        let values: Vec<String> = row.iter().map(value).collect();
        values.join(" ") + "\n"
    };
    rows.iter().map(line).collect()
}
