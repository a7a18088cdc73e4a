//! A model as the text file of LightGBM, which many tools read.
//!
//! LightGBM compares in 64 bits with `<=` and adds leaf values in order, beginning at 0; the start
//! values are therefore trees of one leaf before the others. Categories in a split's set go left
//! and everything else goes right, missing values included, which is the test of the intermediate
//! form. Counts are integers there: the covers of a tree are scaled if they are not.

use super::literal::quoted;
use super::options::RESULT;
use super::scoring_form::{ScoringForm, ScoringTree};
use super::{
    ExportError, ExportFormat, ExportInput, ExportOptions, FormatSpec, Harness, InputPrecision,
    Tolerance, UnsupportedModel, Verification,
};
use crate::ensemble::{Body, Link, Model};
use crate::schema::Kind;
use crate::tree::Child;

/// LightGBM reads numbers up to this distance from 0 as 0; a 32-bit constant there.
const ZERO: f64 = 1e-35_f32 as f64;

/// The root's count if the covers are not whole numbers; counts are 32-bit integers.
const COUNT: f64 = 2_000_000_000.0;

/// The text file of `Booster.save_model`.
pub(super) struct ModelLightgbm;

impl ExportFormat for ModelLightgbm {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "lightgbm",
            description: "the text file of LightGBM",
            extensions: &["lightgbm", "lgb"],
            options: &[RESULT],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        model.check().map_err(UnsupportedModel::new)?;
        if model.schema.features.is_empty() {
            return Err(UnsupportedModel::new(
                "LightGBM has no models without features; export it as json",
            ));
        }
        match model.body {
            Body::Trees(_) => Ok(()),
            Body::Linear(_) => Err(UnsupportedModel::new(
                "the model is linear and has no trees; export it as c, js, onnx, python or sql",
            )),
        }
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let form = ScoringForm::new(input.model);
        let objective = objective(&form, options);
        out.extend_from_slice(file(form, &objective).as_bytes());
        Ok(())
    }

    fn note(
        &self,
        input: &ExportInput<'_>,
        _: &ExportOptions,
    ) -> Result<Option<String>, ExportError> {
        let model = input.model;
        let has_columns = !model.schema.target.kind.columns().is_empty();
        Ok(match model.link {
            Link::ExpM1 => {
                Some("LightGBM has no objective for exp(score) - 1: it predicts the raw scores")
            }
            Link::Exp if has_columns => {
                Some("LightGBM has no objective for several numbers: it predicts the raw scores")
            }
            _ => None,
        }
        .map(str::to_string))
    }

    fn verification(&self, _: &ExportInput<'_>, _: &ExportOptions) -> Option<Verification> {
        Some(Verification {
            harness: Harness::Python(HARNESS.to_string()),
            tolerance: Tolerance::EXACT,
            inputs: InputPrecision::ZeroWithin(ZERO),
            overrides: &[],
        })
    }
}

/// The objective, which decides what `Booster.predict` makes of raw scores; `custom` leaves them.
fn objective(form: &ScoringForm<'_>, options: &ExportOptions) -> String {
    let raw = options.get(&RESULT) == "raw";
    match form.link {
        Link::Softmax if raw => "custom".to_string(),
        // No objective of LightGBM has several numbers.
        _ if form.base.len() > 1 && form.link != Link::Softmax => "custom".to_string(),
        _ if raw => "regression".to_string(),
        Link::Softmax => format!("multiclass num_class:{}", form.classes().len()),
        Link::Identity => "regression".to_string(),
        Link::Exp => "poisson".to_string(),
        Link::Sigmoid => "binary sigmoid:1".to_string(),
        Link::ExpM1 => "custom".to_string(),
    }
}

fn file(form: ScoringForm<'_>, objective: &str) -> String {
    let (schema, outputs) = (form.schema, form.base.len());
    let names = plain_names(schema.features.iter().map(|feature| feature.name.as_str()));
    let ranges = form.thresholds();
    let infos = schema.features.iter().zip(&ranges).map(|(feature, thresholds)| {
        match (&feature.kind, thresholds.as_slice()) {
            (Kind::Category { levels }, _) if !levels.is_empty() => {
                (0..levels.len()).map(|code| code.to_string()).collect::<Vec<_>>().join(":")
            }
            (Kind::Number, [low, .., high]) => format!("[{low:e}:{high:e}]"),
            (Kind::Number, [only]) => format!("[{only:e}:{only:e}]"),
            _ => "none".to_string(),
        }
    });
    let infos = infos.collect::<Vec<_>>().join(" ");
    let categories: Vec<String> = schema
        .features
        .iter()
        .filter(|feature| !feature.kind.levels().is_empty())
        .map(|feature| {
            let levels: Vec<String> =
                feature.kind.levels().iter().map(|level| quoted(level)).collect();
            format!("[{}]", levels.join(", "))
        })
        .collect();

    let trees: Vec<String> = form
        .trees_with_base()
        .iter()
        .enumerate()
        .map(|(number, each)| tree(number, each))
        .collect();
    let sizes: Vec<String> = trees.iter().map(|tree| tree.len().to_string()).collect();
    format!(
        "tree\nversion=v4\nnum_class={outputs}\nnum_tree_per_iteration={outputs}\nlabel_index=0\n\
         max_feature_idx={}\nobjective={objective}\nfeature_names={}\nfeature_infos={infos}\n\
         tree_sizes={}\n\n{}end of trees\n\nfeature_importances:\n\nparameters:\n[boosting: gbdt]\n\
         [objective: {}]\n\nend of parameters\n\npandas_categorical:{}\n",
        schema.features.len().saturating_sub(1),
        names.join(" "),
        sizes.join(" "),
        trees.concat(),
        objective.split(' ').next().unwrap_or_default(),
        if categories.is_empty() { "null".into() } else { format!("[{}]", categories.join(", ")) },
    )
}

/// Names without the characters that the file or JSON gives a meaning; each stays different from
/// the others.
pub(super) fn plain_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut taken = std::collections::HashSet::new();
    let mut plain_names = Vec::new();
    for name in names {
        let mut base: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        if base.is_empty() {
            base.push('_');
        }
        let mut free = base.clone();
        let mut number = 2;
        while !taken.insert(free.clone()) {
            free = format!("{base}_{number}");
            number += 1;
        }
        plain_names.push(free);
    }
    plain_names
}

/// One section of the file.
fn tree(number: usize, tree: &ScoringTree) -> String {
    let join = |items: Vec<String>| items.join(" ");
    let child = |child: Child| match child {
        Child::Node(node) => node.to_string(),
        Child::Leaf(leaf) => (-1 - i64::from(leaf)).to_string(),
    };
    let mut thresholds = Vec::new();
    let mut boundaries = vec!["0".to_string()];
    let mut words: Vec<String> = Vec::new();
    for node in &tree.nodes {
        match node.levels() {
            None => thresholds.push(format!("{:?}", node.threshold().unwrap_or(0.0))),
            Some(levels) => {
                thresholds.push((boundaries.len() - 1).to_string());
                words.extend(bit_words(levels).iter().map(u32::to_string));
                boundaries.push(words.len().to_string());
            }
        }
    }
    // Bit 0: a category. Bit 1: missing values go left. Bits 2 and 3: missing is NaN.
    let decision = |node: &super::scoring_form::ScoringNode| match node.levels() {
        Some(_) => 1 | 2 << 2,
        None => u32::from(node.missing_yes()) << 1 | 2 << 2,
    };

    let counts = Counts::new(tree);
    let mut text = format!(
        "Tree={number}\nnum_leaves={}\nnum_cat={}\n",
        tree.leaves.len(),
        boundaries.len() - 1
    );
    let nodes = &tree.nodes;
    let mut line = |key: &str, values: Vec<String>| {
        text.push_str(&format!("{key}={}\n", join(values)));
    };
    line("split_feature", nodes.iter().map(|node| node.feature.to_string()).collect());
    line("split_gain", nodes.iter().map(|node| format!("{:?}", node.gain)).collect());
    line("threshold", thresholds);
    line("decision_type", nodes.iter().map(|node| decision(node).to_string()).collect());
    line("left_child", nodes.iter().map(|node| child(node.yes)).collect());
    line("right_child", nodes.iter().map(|node| child(node.no)).collect());
    if boundaries.len() > 1 {
        line("cat_boundaries", boundaries);
        line("cat_threshold", words);
    }
    line("leaf_value", tree.leaves.iter().map(|leaf| format!("{:?}", leaf.value)).collect());
    line("leaf_weight", tree.leaves.iter().map(|leaf| format!("{:?}", leaf.cover)).collect());
    line("leaf_count", counts.leaves.iter().map(i64::to_string).collect());
    line("internal_value", counts.means.iter().map(|mean| format!("{mean:?}")).collect());
    line("internal_weight", nodes.iter().map(|node| format!("{:?}", node.cover)).collect());
    line("internal_count", counts.nodes.iter().map(i64::to_string).collect());
    text.push_str("is_linear=0\nshrinkage=1\n\n\n");
    text
}

/// A set of codes as 32-bit words, at least one.
fn bit_words(codes: &[u32]) -> Vec<u32> {
    let mut words = vec![0_u32; codes.last().map_or(1, |last| *last as usize / 32 + 1)];
    for code in codes {
        words[*code as usize / 32] |= 1 << (code % 32);
    }
    words
}

/// The numbers of rows that LightGBM stores, and the mean of each node's leaves.
struct Counts {
    leaves: Vec<i64>,
    nodes: Vec<i64>,
    means: Vec<f64>,
}

impl Counts {
    fn new(tree: &ScoringTree) -> Counts {
        let total: f64 = tree.leaves.iter().map(|leaf| leaf.cover).sum();
        let whole = tree.leaves.iter().all(|leaf| leaf.cover.fract() == 0.0) && total <= COUNT;
        let factor = if whole || total == 0.0 || !total.is_finite() { 1.0 } else { COUNT / total };
        let count = |cover: f64| (cover * factor).round().clamp(0.0, COUNT) as i64;
        let leaves: Vec<i64> = tree.leaves.iter().map(|leaf| count(leaf.cover)).collect();

        let mut nodes = vec![0_i64; tree.nodes.len()];
        let mut sums = vec![0.0; tree.nodes.len()];
        // Children come after their parent.
        for (index, node) in tree.nodes.iter().enumerate().rev() {
            for child in [node.yes, node.no] {
                let (count, sum) = match child {
                    Child::Node(node) => (nodes[node as usize], sums[node as usize]),
                    Child::Leaf(leaf) => {
                        let count = leaves[leaf as usize];
                        (count, count as f64 * tree.leaves[leaf as usize].value)
                    }
                };
                nodes[index] += count;
                sums[index] += sum;
            }
        }
        let mean = |(sum, count): (&f64, &i64)| match *count > 0 && sum.is_finite() {
            true => sum / *count as f64,
            false => 0.0,
        };
        let means = sums.iter().zip(&nodes).map(mean).collect();
        Counts { leaves, nodes, means }
    }
}

const HARNESS: &str = r#"
import json, sys
# LightGBM takes these packages along if they are installed. Loading them takes most of its start,
# and a booster of a file needs none of them.
sys.modules.update(dict.fromkeys(("dask", "matplotlib", "pandas", "pyarrow", "sklearn")))
try:
    import lightgbm, numpy
except ImportError as error:
    print(f"the Python package '{error.name}' is not installed")
    sys.exit(3)
table = json.load(open(sys.argv[2], encoding="utf-8"))
rows = [[float("nan") if value is None else float(value) for value in row] for row in table["rows"]]
booster = lightgbm.Booster(model_file=sys.argv[1], params={"verbosity": -1})
rows = numpy.array(rows, dtype=float)
# A table of two rows or more is not taken for a row.
raw = booster.predict(rows, raw_score=True, num_threads=1, predict_disable_shape_check=False)
for scores in raw.reshape(len(rows), -1):
    print(*map(repr, map(float, scores)))
"#;
