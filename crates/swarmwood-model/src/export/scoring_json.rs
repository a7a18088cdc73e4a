//! The data of the JavaScript scorer as a JSON value, for pages that score rows themselves.

use serde_json::{Value, json};

use super::scoring_form::{ScoringForm, ScoringTest, ScoringTree};
use crate::calibration::PredictionInterval;
use crate::ensemble::{LinearFunction, LinearTerm, Model};
use crate::schema::{Feature, Kind};
use crate::tree::Child;

/// A model as the tables that exported programs score rows with, and the covers of the leaves,
/// which contributions need.
///
/// - `features`: `name`, and `levels`, which is null for a number
/// - `target`, `classes` (empty for regression), `link`, `base` (the start value per output)
/// - `trees`, in the order in which their values are added: `output`, `leaves` (values), `covers`,
///   and `nodes` of `[feature, test, missing, yes, no]`. The test is a threshold (holds for values
///   up to it) or an array of category numbers (holds for these); `missing` is whether it holds for
///   missing values; a child `-1 - n` is leaf `n`. Node 0 is the root; a tree of one leaf has no
///   nodes.
/// - `cut`, the raw score above which the second one of two classes is predicted
/// - `interval`, null or `level`, `half_width` and `scale`: null, or a tree whose leaf values the
///   half-width is multiplied by
/// - `linear`, per output of a linear model the terms of the features: `[weight, centre]` of a
///   number, or one weight per category
///
/// A vector tree becomes one tree per output.
pub fn scoring_json(model: &Model) -> Value {
    let form = ScoringForm::new(model);
    json!({
        "features": form.schema.features.iter().map(feature).collect::<Vec<_>>(),
        "target": form.schema.target.name,
        "classes": form.classes(),
        "link": form.link_name(),
        "base": form.base,
        "cut": form.cut,
        "interval": model.calibration.interval.as_ref().map(|found| interval(model, found)),
        "trees": form.trees.iter().map(tree).collect::<Vec<_>>(),
        "linear": form.linear.iter().map(linear).collect::<Vec<_>>(),
    })
}

fn interval(model: &Model, interval: &PredictionInterval) -> Value {
    let scale =
        interval.scale.as_ref().map(|scale| tree(&ScoringTree::new(&model.schema, 0, scale)));
    json!({"level": interval.level, "half_width": interval.half_width, "scale": scale})
}

fn feature(feature: &Feature) -> Value {
    let levels = match &feature.kind {
        Kind::Number => Value::Null,
        Kind::Category { levels } => json!(levels),
    };
    json!({"name": feature.name, "levels": levels})
}

fn tree(tree: &ScoringTree) -> Value {
    let child = |child: Child| match child {
        Child::Node(node) => i64::from(node),
        Child::Leaf(leaf) => -1 - i64::from(leaf),
    };
    let nodes = tree.nodes.iter().map(|node| {
        let test = match &node.test {
            ScoringTest::AtMost { threshold, .. } => json!(threshold),
            ScoringTest::OneOf(levels) => json!(levels),
        };
        let missing = u8::from(node.missing_yes());
        json!([node.feature, test, missing, child(node.yes), child(node.no)])
    });
    json!({
        "output": tree.output,
        "nodes": nodes.collect::<Vec<_>>(),
        "leaves": tree.leaves.iter().map(|leaf| leaf.value).collect::<Vec<_>>(),
        "covers": tree.leaves.iter().map(|leaf| leaf.cover).collect::<Vec<_>>(),
    })
}

fn linear(function: &LinearFunction) -> Value {
    let terms = function.terms.iter().map(|term| match term {
        LinearTerm::Number { weight, centre } => json!([weight, centre]),
        LinearTerm::Category { weights } => json!(weights),
    });
    terms.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::any_model;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_number_is_written_to_the_last_bit(model in any_model()) {
            let json = scoring_json(&model).to_string();
            let read: Value = serde_json::from_str(&json).unwrap();
            let form = ScoringForm::new(&model);
            for (at, tree) in form.trees.iter().enumerate() {
                let found = &read["trees"][at];
                prop_assert_eq!(found["nodes"].as_array().unwrap().len(), tree.nodes.len());
                for (leaf, expected) in tree.leaves.iter().enumerate() {
                    let value = found["leaves"][leaf].as_f64().unwrap();
                    prop_assert_eq!(value.to_bits(), expected.value.to_bits());
                }
                for (node, expected) in tree.nodes.iter().enumerate() {
                    if let Some(threshold) = expected.threshold() {
                        let value = found["nodes"][node][1].as_f64().unwrap();
                        prop_assert_eq!(value.to_bits(), threshold.to_bits());
                    }
                }
            }
        }
    }
}
