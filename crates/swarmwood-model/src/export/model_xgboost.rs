//! A model as the JSON file of XGBoost.
//!
//! XGBoost rounds inputs, thresholds and sums to 32 bits and tests `x < t`. A threshold becomes the
//! smallest 32-bit float above it, so that every input that is a 32-bit float takes the same way;
//! leaf values are rounded, and sums with them. The start values are trees of one leaf. Categories
//! in a node's set go right and all others left, as in the intermediate form.

use super::literal::quoted;
use super::model_lightgbm::plain_names;
use super::scoring_form::{ScoringForm, ScoringTree};
use super::{
    ExportError, ExportFormat, ExportInput, ExportOptions, FormatSpec, Harness, InputPrecision,
    Tolerance, UnsupportedModel, Verification,
};
use crate::ensemble::{Body, Link, Model};
use crate::schema::Kind;
use crate::tree::Child;

/// The parent of the root.
const NO_PARENT: i64 = 2_147_483_647;

/// The file of `Booster.save_model`.
pub(super) struct ModelXgboost;

impl ExportFormat for ModelXgboost {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "xgboost",
            description: "the JSON file of XGBoost, for inputs of 32 bits",
            extensions: &["xgboost", "xgb"],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        model.check().map_err(UnsupportedModel::new)?;
        let refuse = |reason: &str| Err(UnsupportedModel::new(reason));
        if matches!(model.body, Body::Linear(_)) {
            return refuse(
                "the model is linear and has no trees; export it as c, js, onnx, python or sql",
            );
        }
        if !model.schema.target.kind.columns().is_empty() && model.link == Link::Exp {
            return refuse(
                "XGBoost's objectives of counts have one target; export it as c, js, onnx or python, \
                 or train one model per column",
            );
        }
        if model.schema.features.is_empty() {
            return refuse("XGBoost has no models without features; export it as json");
        }
        let mut values = model.members().iter().flat_map(|member| member.shape.values());
        if values.any(|value| value.abs() >= f64::from(f32::MAX)) {
            return refuse("a leaf value is beyond 32-bit floats; export it as lightgbm");
        }
        Ok(())
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        _: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        out.extend_from_slice(file(ScoringForm::new(input.model)).as_bytes());
        Ok(())
    }

    fn note(
        &self,
        input: &ExportInput<'_>,
        _: &ExportOptions,
    ) -> Result<Option<String>, ExportError> {
        let note = "XGBoost has no objective for exp(score) - 1: it predicts the raw scores";
        Ok((input.model.link == Link::ExpM1).then(|| note.to_string()))
    }

    fn verification(&self, input: &ExportInput<'_>, _: &ExportOptions) -> Option<Verification> {
        let largest =
            |member: &crate::Member| member.shape.values().map(f64::abs).fold(0.0, f64::max);
        let base = input.model.base.iter().map(|base| base.abs()).fold(0.0, f64::max);
        let members = input.model.members();
        let total = base + members.iter().map(largest).sum::<f64>();
        // Every leaf and every sum is rounded.
        let absolute = total * f64::from(f32::EPSILON) * (members.len() as f64 + 2.0);
        Some(Verification {
            harness: Harness::Python(HARNESS.to_string()),
            tolerance: Tolerance { absolute, relative: 0.0 },
            inputs: InputPrecision::Single,
            overrides: &[],
        })
    }
}

fn file(form: ScoringForm<'_>) -> String {
    let (schema, outputs) = (form.schema, form.base.len());
    let features = schema.features.len();
    let names = plain_names(schema.features.iter().map(|feature| feature.name.as_str()));
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let kinds: Vec<&str> = schema
        .features
        .iter()
        .map(|feature| match feature.kind {
            Kind::Number => "\"float\"",
            Kind::Category { .. } => "\"c\"",
        })
        .collect();
    let (base, objective) = match form.link {
        Link::Identity | Link::ExpM1 => {
            ("0", objective("reg:squarederror", "reg_loss_param", "scale_pos_weight", "1"))
        }
        Link::Exp => {
            ("1", objective("count:poisson", "poisson_regression_param", "max_delta_step", "0.7"))
        }
        Link::Sigmoid => {
            ("0.5", objective("binary:logistic", "reg_loss_param", "scale_pos_weight", "1"))
        }
        Link::Softmax => (
            "0",
            objective(
                "multi:softprob",
                "softmax_multiclass_param",
                "num_class",
                &outputs.to_string(),
            ),
        ),
    };
    let classes = if form.link == Link::Softmax { outputs } else { 0 };
    let targets = form.schema.target.kind.columns().len().max(1);

    let trees = form.trees_with_base();
    let rounds: Vec<String> =
        (0..=trees.len() / outputs.max(1)).map(|round| (round * outputs).to_string()).collect();
    let info: Vec<String> = trees.iter().map(|tree| tree.output.to_string()).collect();
    let texts: Vec<String> =
        trees.iter().enumerate().map(|(id, each)| tree(id, each, features)).collect();
    format!(
        "{{\"learner\":{{\"attributes\":{{}},\"feature_names\":[{}],\"feature_types\":[{}],\
         \"gradient_booster\":{{\"model\":{{\"gbtree_model_param\":{{\"num_parallel_tree\":\"1\",\
         \"num_trees\":\"{}\"}},\"iteration_indptr\":[{}],\"tree_info\":[{}],\"trees\":[\n{}\n]}},\
         \"name\":\"gbtree\"}},\"learner_model_param\":{{\"base_score\":\"{base}\",\
         \"boost_from_average\":\"1\",\"num_class\":\"{classes}\",\"num_feature\":\"{features}\",\
         \"num_target\":\"{targets}\"}},\"objective\":{objective}}},\"version\":[2,1,0]}}\n",
        names.join(","),
        kinds.join(","),
        trees.len(),
        rounds.join(","),
        info.join(","),
        texts.join(",\n"),
    )
}

fn objective(name: &str, group: &str, parameter: &str, value: &str) -> String {
    format!("{{\"name\":\"{name}\",\"{group}\":{{\"{parameter}\":\"{value}\"}}}}")
}

/// The smallest 32-bit float above a threshold.
fn above(threshold: f64) -> f32 {
    let near = threshold as f32;
    if f64::from(near) > threshold { near } else { near.next_up() }
}

/// One tree: nodes, then leaves.
fn tree(id: usize, tree: &ScoringTree, features: usize) -> String {
    let count = tree.nodes.len();
    let size = count + tree.leaves.len();
    let at = |child: Child| match child {
        Child::Node(node) => node as usize,
        Child::Leaf(leaf) => count + leaf as usize,
    };
    let mut parents = vec![NO_PARENT; size];
    let (mut left, mut right) = (vec![-1_i64; size], vec![-1_i64; size]);
    let mut conditions: Vec<f32> = vec![0.0; count];
    conditions.extend(tree.leaves.iter().map(|leaf| leaf.value as f32));
    let mut default_left = vec![0; size];
    let mut is_category = vec![0; size];
    let (mut categories, mut nodes, mut starts, mut sizes) = (vec![], vec![], vec![], vec![]);
    for (index, node) in tree.nodes.iter().enumerate() {
        let (low, high) = match node.levels() {
            None => {
                conditions[index] = above(node.threshold().unwrap_or(0.0));
                default_left[index] = i32::from(node.missing_yes());
                (node.yes, node.no)
            }
            Some(levels) => {
                default_left[index] = 1;
                is_category[index] = 1;
                nodes.push(index);
                starts.push(categories.len());
                sizes.push(levels.len());
                categories.extend(levels.iter().copied());
                (node.no, node.yes)
            }
        };
        (left[index], right[index]) = (at(low) as i64, at(high) as i64);
        parents[at(low)] = index as i64;
        parents[at(high)] = index as i64;
    }

    let gains =
        tree.nodes.iter().map(|node| node.gain as f32).chain(tree.leaves.iter().map(|_| 0.0));
    let covers = tree.nodes.iter().map(|node| node.cover as f32);
    let covers = covers.chain(tree.leaves.iter().map(|leaf| leaf.cover as f32));
    let finite = |number: f32| if number.is_finite() { number } else { 0.0 };
    let split_features =
        tree.nodes.iter().map(|node| node.feature).chain(tree.leaves.iter().map(|_| 0));
    format!(
        "{{\"base_weights\":{},\"categories\":{},\"categories_nodes\":{},\"categories_segments\":{},\
         \"categories_sizes\":{},\"default_left\":{},\"id\":{id},\"left_children\":{},\
         \"loss_changes\":{},\"parents\":{},\"right_children\":{},\"split_conditions\":{},\
         \"split_indices\":{},\"split_type\":{},\"sum_hessian\":{},\"tree_param\":{{\
         \"num_deleted\":\"0\",\"num_feature\":\"{features}\",\"num_nodes\":\"{size}\",\
         \"size_leaf_vector\":\"1\"}}}}",
        array(conditions.iter().enumerate().map(|(at, value)| if at < count {
            0.0
        } else {
            *value
        })),
        array(categories),
        array(nodes),
        array(starts),
        array(sizes),
        array(default_left),
        array(left),
        array(gains.map(finite)),
        array(parents),
        array(right),
        array(conditions.iter()),
        array(split_features),
        array(is_category),
        array(covers.map(finite)),
    )
}

fn array<T: std::fmt::Debug>(values: impl IntoIterator<Item = T>) -> String {
    // A threshold above all 32-bit floats separates missing values from all others.
    let text = |value: T| format!("{value:?}").replace("inf", "Infinity");
    let values: Vec<String> = values.into_iter().map(text).collect();
    format!("[{}]", values.join(","))
}

const HARNESS: &str = r#"
import json, sys
try:
    import numpy, xgboost
except ImportError as error:
    print(f"the Python package '{error.name}' is not installed")
    sys.exit(3)
table = json.load(open(sys.argv[2], encoding="utf-8"))
rows = [[float("nan") if value is None else float(value) for value in row] for row in table["rows"]]
booster = xgboost.Booster(model_file=sys.argv[1])
kinds = ["float" if feature["levels"] is None else "c" for feature in table["features"]]
data = xgboost.DMatrix(
    numpy.array(rows, dtype=numpy.float32),
    feature_names=booster.feature_names,
    feature_types=kinds,
    enable_categorical=True,
)
raw = booster.predict(data, output_margin=True)
for scores in raw.reshape(len(rows), -1):
    print(*(repr(float(score)) for score in scores))
"#;
