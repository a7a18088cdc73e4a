//! A model as a Python module that needs nothing but the standard library.

use super::literal::{comment, list, quoted};
use super::scoring_form::{ScoringForm, ScoringTest, ScoringTree};
use super::{
    ExportError, ExportFormat, ExportInput, ExportOptions, FormatSpec, Harness, UnsupportedModel,
    Verification,
};
use crate::ensemble::{LinearFunction, LinearTerm, Model};
use crate::number_format::python_literal;
use crate::schema::Kind;
use crate::tree::Child;

/// A module with the functions `raw`, `predict` and `probabilities`.
pub(super) struct ModelPython;

impl ExportFormat for ModelPython {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "python",
            description: "a Python module without dependencies",
            extensions: &["py"],
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
            format!("# Predicts {}. Written by Swarmwood.\n", comment(&form.schema.target.name));
        text.push_str(INTRODUCTION);
        text.push_str(&tables(&form));
        text.push_str(&FUNCTIONS.replace("{CUT}", &python_literal(form.cut)));
        text.push_str(if form.columns().is_empty() { ONE_NUMBER } else { NUMBERS });
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn verification(&self, _: &ExportInput<'_>, _: &ExportOptions) -> Option<Verification> {
        Some(Verification::exact(Harness::Python(HARNESS.to_string())))
    }
}

const INTRODUCTION: &str = r#"#
# A row is a mapping from column names to values, or a sequence in the order of FEATURES. Numbers
# are numbers, categories are texts. None, NaN, absent columns and categories that the model does
# not know are missing.
import math

"#;

/// The model as data.
fn tables(form: &ScoringForm<'_>) -> String {
    let mut text = String::from("# The columns: a name, and the categories if it has any.\n");
    text.push_str("FEATURES = (\n");
    for feature in &form.schema.features {
        let levels = match &feature.kind {
            Kind::Number => "None".to_string(),
            Kind::Category { levels } => {
                format!("(\n{}    )", list(levels.iter().map(|level| quoted(level)), "        "))
            }
        };
        text.push_str(&format!("    ({}, {levels}),\n", quoted(&feature.name)));
    }

    text.push_str(")\n\n# The classes of the target; none if it is a number.\n");
    let classes = list(form.classes().iter().map(|class| quoted(class)), "    ");
    text.push_str(&format!("CLASSES = (\n{classes})\n\nLINK = \"{}\"\n\n", form.link_name()));
    let base = list(form.base.iter().map(|value| python_literal(*value)), "    ");
    text.push_str(&format!("# The start value of each raw score.\nBASE = (\n{base})\n\n"));

    text.push_str(
        "# A tree is its output, its nodes and its leaf values. A node is a feature, a threshold \
         (the test\n# is: at most the threshold) or a set of category numbers, whether the test \
         holds for missing\n# values, and the next node if it holds and if not; -1 - n is leaf n.\n\
         TREES = (\n",
    );
    form.trees.iter().for_each(|each| text.push_str(&tree(each)));
    text.push_str(
        ")\n\n# For each output of a linear model the terms of the features: a weight and a centre, or a \
         weight\n# per category.\nLINEAR = (\n",
    );
    form.linear.iter().for_each(|each| text.push_str(&linear(each)));
    text.push_str(")\n");
    text
}

fn tree(tree: &ScoringTree) -> String {
    let child = |child: Child| match child {
        Child::Node(node) => node.to_string(),
        Child::Leaf(leaf) => format!("-{}", u64::from(leaf) + 1),
    };
    let nodes = tree.nodes.iter().map(|node| {
        let (test, missing) = match &node.test {
            ScoringTest::AtMost { threshold, missing } => (python_literal(*threshold), *missing),
            ScoringTest::OneOf(levels) => {
                let codes: Vec<String> = levels.iter().map(u32::to_string).collect();
                (
                    format!(
                        "frozenset(({}))",
                        codes.iter().map(|code| format!("{code}, ")).collect::<String>().trim_end()
                    ),
                    false,
                )
            }
        };
        let missing = if missing { "True" } else { "False" };
        format!("({}, {test}, {missing}, {}, {})", node.feature, child(node.yes), child(node.no))
    });
    let leaves = tree.leaves.iter().map(|leaf| python_literal(leaf.value));
    format!(
        "    (\n        {},\n        (\n{}        ),\n        (\n{}        ),\n    ),\n",
        tree.output,
        list(nodes, "            "),
        list(leaves, "            ")
    )
}

fn linear(function: &LinearFunction) -> String {
    let terms = function.terms.iter().map(|term| match term {
        LinearTerm::Number { weight, centre } => {
            format!("({}, {})", python_literal(*weight), python_literal(*centre))
        }
        LinearTerm::Category { weights } => {
            let weights: String =
                weights.iter().map(|weight| format!("{}, ", python_literal(*weight))).collect();
            format!("({})", weights.trim_end())
        }
    });
    format!("    (\n{}    ),\n", list(terms, "        "))
}

const FUNCTIONS: &str = r#"
_CODES = [
    None if levels is None else {level: code for code, level in enumerate(levels)}
    for _, levels in FEATURES
]


def _value(value, codes):
    """The number of a value, the code of a category; None if it is missing."""
    if value is None:
        return None
    if codes is None:
        value = float(value)
        return None if value != value else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return codes.get(str(value))


def _values(row):
    if hasattr(row, "get"):
        row = [row.get(name) for name, _ in FEATURES]
    elif len(row) != len(FEATURES):
        raise ValueError(f"a row has {len(row)} values, must have {len(FEATURES)}")
    return [_value(value, codes) for value, codes in zip(row, _CODES)]


def _exp(x):
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def raw(row):
    """The raw scores of a row, one per output."""
    values = _values(row)
    scores = list(BASE)
    for output, nodes, leaves in TREES:
        at = 0 if nodes else -1
        while at >= 0:
            feature, test, missing, yes, no = nodes[at]
            value = values[feature]
            if value is None:
                holds = missing
            elif _CODES[feature] is None:
                holds = value <= test
            else:
                holds = value in test
            at = yes if holds else no
        scores[output] += leaves[-1 - at]
    for output, terms in enumerate(LINEAR):
        for value, codes, term in zip(values, _CODES, terms):
            if value is None:
                continue
            scores[output] += term[0] * (value - term[1]) if codes is None else term[value]
    return scores


def probabilities(row):
    """The probability of each class, in the order of CLASSES; none for regression."""
    scores = raw(row)
    if LINK == "sigmoid":
        return [1.0 / (1.0 + _exp(scores[0])), 1.0 / (1.0 + _exp(-scores[0]))]
    if LINK != "softmax":
        return []
    top = max(scores)
    powers = [_exp(score - top) for score in scores]
    total = 0.0
    for power in powers:
        total += power
    return [power / total for power in powers]


def predict(row):
    """The predicted number, or the predicted class."""
    scores = raw(row)
    if LINK == "sigmoid":
        return CLASSES[1 if scores[0] > {CUT} else 0]
    if LINK == "softmax":
        return CLASSES[max(range(len(scores)), key=lambda output: (scores[output], -output))]
"#;

const ONE_NUMBER: &str = r#"    if LINK == "exp":
        return _exp(scores[0])
    if LINK == "expm1":
        return _exp(scores[0]) if scores[0] > 700.0 else math.expm1(scores[0])
    return scores[0]
"#;

/// A list, in the order of the columns of the target.
const NUMBERS: &str = r#"    if LINK == "exp":
        return [_exp(score) for score in scores]
    if LINK == "expm1":
        return [_exp(score) if score > 700.0 else math.expm1(score) for score in scores]
    return scores
"#;

/// Scores the rows as sequences, and checks that mappings give the same.
const HARNESS: &str = r#"
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("exported", sys.argv[1])
exported = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exported)
table = json.load(open(sys.argv[2], encoding="utf-8"))
names = [feature["name"] for feature in table["features"]]
levels = [feature["levels"] for feature in table["features"]]
assert names == [name for name, _ in exported.FEATURES], "feature names differ"
assert list(exported.CLASSES) == table["classes"], "class names differ"
for row in table["rows"]:
    values = []
    for value, names_of in zip(row, levels):
        if value is not None and names_of is None:
            value = float(value)
        elif value is not None:
            value = names_of[value] if value < len(names_of) else "new" + "".join(names_of)
        values.append(value)
    raw = exported.raw(values)
    assert repr(raw) == repr(exported.raw(dict(zip(names, values)))), "a mapping gives other scores"
    predicted = exported.probabilities(values)
    if predicted:
        best = exported.CLASSES.index(exported.predict(values))
        assert best == (raw.index(max(raw)) if len(raw) > 1 else raw[0] > table["cut"]), "wrong class"
    else:
        predicted = exported.predict(values)
        predicted = predicted if isinstance(predicted, list) else [predicted]
    print(*map(repr, raw + predicted))
"#;
