//! A model as an ES module without dependencies.

use super::literal::{comment, list, quoted};
use super::scoring_form::{ScoringForm, ScoringTest, ScoringTree};
use super::{
    ExportError, ExportFormat, ExportInput, ExportOptions, FormatSpec, Harness, UnsupportedModel,
    Verification,
};
use crate::ensemble::{LinearFunction, LinearTerm, Model};
use crate::number_format::python_literal as number;
use crate::schema::Kind;
use crate::tree::Child;

/// A module with the functions `raw`, `predict` and `probabilities`.
pub(super) struct ModelJavascript;

impl ExportFormat for ModelJavascript {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "js",
            description: "a JavaScript module (ES2020) without dependencies",
            extensions: &["js", "mjs"],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        model.check().map_err(UnsupportedModel::new)
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        _: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let form = ScoringForm::new(input.model);
        let mut text =
            format!("// Predicts {}. Written by Swarmwood.\n", comment(&form.schema.target.name));
        text.push_str(INTRODUCTION);
        text.push_str(&tables(&form));
        text.push_str(&FUNCTIONS.replace("{CUT}", &number(form.cut)));
        text.push_str(if form.columns().is_empty() { ONE_NUMBER } else { NUMBERS });
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn verification(&self, _: &ExportInput<'_>, _: &ExportOptions) -> Option<Verification> {
        Some(Verification::exact(Harness::Node(HARNESS)))
    }
}

const INTRODUCTION: &str = r#"//
// A row is an array in the order of `features`, a Map or an object with column names as keys. Numbers
// are numbers, categories are strings. null, undefined, NaN, absent columns and categories that the
// model does not know are missing.

"#;

/// The model as data.
fn tables(form: &ScoringForm<'_>) -> String {
    let mut text = String::from("// The columns: a name, and the categories if it has any.\n");
    text.push_str("export const features = [\n");
    for feature in &form.schema.features {
        let levels = match &feature.kind {
            Kind::Number => "null".to_string(),
            Kind::Category { levels } => {
                format!("[\n{}  ]", list(levels.iter().map(|level| quoted(level)), "    "))
            }
        };
        text.push_str(&format!("  [{}, {levels}],\n", quoted(&feature.name)));
    }

    text.push_str("];\n\n// The classes of the target; none if it is a number.\n");
    let classes = list(form.classes().iter().map(|class| quoted(class)), "  ");
    text.push_str(&format!(
        "export const classes = [\n{classes}];\n\nconst link = \"{}\";\n\n",
        form.link_name()
    ));
    let base = list(form.base.iter().map(|value| number(*value)), "  ");
    text.push_str(&format!("// The start value of each raw score.\nconst base = [\n{base}];\n\n"));

    text.push_str(
        "// A tree is its output, its nodes and its leaf values. A node is a feature, a threshold \
         (the test\n// is: at most the threshold) or an array of category numbers, whether the test \
         holds for missing\n// values, and the next node if it holds and if not; -1 - n is leaf n.\n\
         const trees = [\n",
    );
    form.trees.iter().for_each(|each| text.push_str(&tree(each)));
    text.push_str(
        "];\n\n// For each output of a linear model the terms of the features: a weight and a centre, or \
         a weight\n// per category.\nconst linear = [\n",
    );
    form.linear.iter().for_each(|each| text.push_str(&linear(each)));
    text.push_str("];\n");
    text
}

fn tree(tree: &ScoringTree) -> String {
    let child = |child: Child| match child {
        Child::Node(node) => node.to_string(),
        Child::Leaf(leaf) => format!("-{}", u64::from(leaf) + 1),
    };
    let nodes = tree.nodes.iter().map(|node| {
        let (test, missing) = match &node.test {
            ScoringTest::AtMost { threshold, missing } => (number(*threshold), *missing),
            ScoringTest::OneOf(levels) => {
                let codes: Vec<String> = levels.iter().map(u32::to_string).collect();
                (format!("[{}]", codes.join(", ")), false)
            }
        };
        format!("[{}, {test}, {missing}, {}, {}]", node.feature, child(node.yes), child(node.no))
    });
    let leaves = tree.leaves.iter().map(|leaf| number(leaf.value));
    format!(
        "  [\n    {},\n    [\n{}    ],\n    [\n{}    ],\n  ],\n",
        tree.output,
        list(nodes, "      "),
        list(leaves, "      ")
    )
}

fn linear(function: &LinearFunction) -> String {
    let terms = function.terms.iter().map(|term| match term {
        LinearTerm::Number { weight, centre } => {
            format!("[{}, {}]", number(*weight), number(*centre))
        }
        LinearTerm::Category { weights } => {
            let weights: Vec<String> = weights.iter().map(|weight| number(*weight)).collect();
            format!("[{}]", weights.join(", "))
        }
    });
    format!("  [\n{}  ],\n", list(terms, "    "))
}

const FUNCTIONS: &str = r#"
const codes = features.map(([, levels]) =>
  levels === null ? null : new Map(levels.map((level, code) => [level, code])));
for (const [, nodes] of trees) {
  for (const node of nodes) {
    if (Array.isArray(node[1])) node[1] = new Set(node[1]);
  }
}

// The number of a value, the code of a category; NaN if it is missing.
function coded(value, feature) {
  if (value === null || value === undefined || value === "") {
    return value === "" && codes[feature] !== null ? codes[feature].get("") ?? NaN : NaN;
  }
  return codes[feature] === null ? Number(value) : codes[feature].get(String(value)) ?? NaN;
}

function values(row) {
  if (Array.isArray(row)) {
    if (row.length !== features.length) {
      throw new RangeError(`a row has ${row.length} values, must have ${features.length}`);
    }
    return row.map(coded);
  }
  return features.map(([name], feature) => {
    if (row instanceof Map) return coded(row.get(name), feature);
    return coded(Object.prototype.hasOwnProperty.call(row, name) ? row[name] : null, feature);
  });
}

/** The raw scores of a row, one per output. */
export function raw(row) {
  const inputs = values(row);
  const scores = base.slice();
  for (const [output, nodes, leaves] of trees) {
    let at = nodes.length > 0 ? 0 : -1;
    while (at >= 0) {
      const [feature, test, missing, yes, no] = nodes[at];
      const value = inputs[feature];
      const holds = Number.isNaN(value) ? missing
        : codes[feature] === null ? value <= test : test.has(value);
      at = holds ? yes : no;
    }
    scores[output] += leaves[-1 - at];
  }
  linear.forEach((terms, output) => {
    terms.forEach((term, feature) => {
      const value = inputs[feature];
      if (Number.isNaN(value)) return;
      scores[output] += codes[feature] === null ? term[0] * (value - term[1]) : term[value];
    });
  });
  return scores;
}

/** The probability of each class, in the order of `classes`; none for regression. */
export function probabilities(row) {
  const scores = raw(row);
  if (link === "sigmoid") {
    return [1 / (1 + Math.exp(scores[0])), 1 / (1 + Math.exp(-scores[0]))];
  }
  if (link !== "softmax") return [];
  const top = scores.reduce((a, b) => Math.max(a, b));
  const powers = scores.map((score) => Math.exp(score - top));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / total);
}

/** The predicted number, or the predicted class. */
export function predict(row) {
  const scores = raw(row);
  switch (link) {
    case "sigmoid":
      return classes[scores[0] > {CUT} ? 1 : 0];
    case "softmax": {
      let best = 0;
      scores.forEach((score, output) => {
        if (score > scores[best]) best = output;
      });
      return classes[best];
    }
"#;

const ONE_NUMBER: &str = r#"    case "exp":
      return Math.exp(scores[0]);
    case "expm1":
      return Math.expm1(scores[0]);
    default:
      return scores[0];
  }
}
"#;

/// An array, in the order of the columns of the target.
const NUMBERS: &str = r#"    case "exp":
      return scores.map(Math.exp);
    case "expm1":
      return scores.map(Math.expm1);
    default:
      return scores;
  }
}
"#;

/// Scores the rows as arrays, and checks that maps give the same.
const HARNESS: &str = r#"
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const exported = await import(pathToFileURL(process.argv[2]));
const table = JSON.parse(readFileSync(process.argv[3], "utf8"));
const names = table.features.map((feature) => feature.name);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
if (!same(names, exported.features.map(([name]) => name))) throw Error("feature names differ");
if (!same(table.classes, exported.classes)) throw Error("class names differ");
const number = (text) => text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text);
const lines = [];
for (const row of table.rows) {
  const values = row.map((value, at) => {
    const levels = table.features[at].levels;
    if (value === null) return null;
    if (levels === null) return number(value);
    return value < levels.length ? levels[value] : "new" + levels.join("");
  });
  const raw = exported.raw(values);
  const map = new Map(values.map((value, at) => [names[at], value]));
  if (!same(raw, exported.raw(map))) throw Error("a map gives other scores");
  let predicted = exported.probabilities(values);
  if (predicted.length === 0) predicted = [exported.predict(values)].flat();
  else if (raw.length === 1 && exported.predict(values) !== table.classes[raw[0] > table.cut ? 1 : 0])
    throw Error("wrong class");
  lines.push([...raw, ...predicted].join(" "));
}
process.stdout.write(lines.join("\n") + "\n");
"#;
