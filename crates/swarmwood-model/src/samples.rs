//! Random models and rows for tests.

use proptest::prelude::*;
use proptest::sample::select;

use crate::predict::{FeatureValue, MISSING};
use crate::*;

/// A generator of pseudo-random numbers (splitmix64), so that a model is a function of one seed.
pub(crate) struct SampleRng(pub(crate) u64);

impl SampleRng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A number between -1 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// How large a random model is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleSize {
    pub(crate) features: usize,
    pub(crate) rounds: usize,
    pub(crate) leaves: usize,
    pub(crate) levels: usize,
}

/// Thresholds and values: from a small set, so that ties happen, and from all scales, so that many
/// thresholds fall into one cell of a lookup grid.
fn number(rng: &mut SampleRng, feature: usize) -> f64 {
    match feature % 4 {
        0 => rng.below(9) as f64 - 4.0,
        1 => rng.unit(),
        2 => rng.unit() * 10_f64.powi(rng.below(600) as i32 - 300),
        _ => [0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 1.0, 1.0 + f64::EPSILON]
            [rng.below(8)],
    }
}

fn feature(rng: &mut SampleRng, index: usize) -> Feature {
    let kind = match index % 6 {
        4 => Kind::Category {
            levels: (0..1 + rng.below(9)).map(|level| format!("level {level}")).collect(),
        },
        5 => Kind::Category {
            levels: (0..250 + rng.below(60)).map(|level| format!("l{level}")).collect(),
        },
        _ => Kind::Number,
    };
    Feature { name: format!("feature {index}"), kind }
}

fn split(rng: &mut SampleRng, features: &[Feature]) -> Split {
    let feature = rng.below(features.len());
    let test = match &features[feature].kind {
        Kind::Number => Test::Above(number(rng, feature)),
        Kind::Category { levels } => {
            let percent = [10, 50, 90][rng.below(3)];
            Test::In((0..levels.len() as u32).filter(|_| rng.chance(percent)).collect())
        }
    };
    Split { feature: feature as u32, test, missing_right: rng.chance(50) }
}

fn leaf(rng: &mut SampleRng) -> Leaf {
    Leaf { value: rng.unit(), cover: if rng.chance(15) { 0.0 } else { rng.below(100) as f64 } }
}

/// A tree of any shape: each step turns a random leaf into a node.
pub(crate) fn tree(rng: &mut SampleRng, features: &[Feature], leaves: usize) -> Tree {
    let mut tree = Tree::leaf(leaf(rng));
    // Where the edge to each leaf is: a node and a side.
    let mut edges: Vec<Option<(usize, bool)>> = vec![None];
    while tree.leaves.len() < leaves && !features.is_empty() {
        let leaf_index =
            if rng.chance(30) { tree.leaves.len() - 1 } else { rng.below(tree.leaves.len()) };
        let (node, new) = (tree.nodes.len(), tree.leaves.len());
        if let Some((parent, right)) = edges[leaf_index] {
            let parent = &mut tree.nodes[parent];
            *(if right { &mut parent.right } else { &mut parent.left }) = Child::Node(node as u32);
        }
        let (left, right) = (Child::Leaf(leaf_index as u32), Child::Leaf(new as u32));
        let split = split(rng, features);
        tree.nodes.push(Node { split, left, right, gain: rng.unit().abs(), cover: 1.0 });
        tree.leaves.push(leaf(rng));
        edges[leaf_index] = Some((node, false));
        edges.push(Some((node, true)));
    }
    tree
}

/// A vector tree.
pub(crate) fn vector(
    rng: &mut SampleRng,
    features: &[Feature],
    leaves: usize,
    outputs: usize,
) -> VectorTree {
    let mut tree = tree(rng, features, leaves);
    tree.leaves.iter_mut().for_each(|leaf| leaf.value = 0.0);
    let values = (0..tree.leaves.len() * outputs).map(|_| rng.unit()).collect();
    VectorTree { tree, values }
}

/// An oblivious tree.
pub(crate) fn oblivious(rng: &mut SampleRng, features: &[Feature], levels: usize) -> ObliviousTree {
    let levels = if features.is_empty() { 0 } else { levels };
    let level = |rng: &mut SampleRng| Level { split: split(rng, features), gain: rng.unit().abs() };
    let levels: Vec<Level> = (0..levels).map(|_| level(rng)).collect();
    let leaves = (0..1 << levels.len()).map(|_| leaf(rng)).collect();
    ObliviousTree { levels, leaves }
}

/// A model as random as the seed, that passes the check.
pub(crate) fn model(seed: u64, size: SampleSize) -> Model {
    let rng = &mut SampleRng(seed);
    let features: Vec<Feature> = (0..size.features).map(|index| feature(rng, index)).collect();
    let link = [Link::Identity, Link::Exp, Link::ExpM1, Link::Sigmoid, Link::Softmax][rng.below(5)];
    let classes =
        |count| TargetKind::Classes((0..count).map(|class| format!("class {class}")).collect());
    let (kind, outputs) = match link {
        Link::Sigmoid => (classes(2), 1),
        Link::Softmax => (classes(3), 3),
        // A generator of its own leaves the other models as they are.
        _ if SampleRng(!seed).chance(25) => {
            (TargetKind::Numbers(["a", "b \"c\", d"].map(String::from).to_vec()), 2)
        }
        _ => (TargetKind::Number, 1),
    };

    let base = (0..outputs).map(|_| rng.unit()).collect();
    let body = if rng.chance(10) {
        Body::Linear((0..outputs).map(|_| linear(rng, &features)).collect())
    } else {
        let shape = |rng: &mut SampleRng| {
            if rng.chance(50) {
                let leaves = 1 + rng.below(size.leaves);
                Shape::Ordinary(tree(rng, &features, leaves))
            } else {
                let levels = rng.below(size.levels + 1);
                Shape::Oblivious(oblivious(rng, &features, levels))
            }
        };
        let mut members = Vec::new();
        for _ in 0..size.rounds {
            if outputs > 1 && rng.chance(40) {
                let leaves = 1 + rng.below(size.leaves);
                let shape = Shape::Vector(vector(rng, &features, leaves, outputs));
                members.push(Member { output: 0, shape });
                continue;
            }
            members.extend(
                (0..outputs).map(|output| Member { output: output as u32, shape: shape(rng) }),
            );
        }
        Body::Trees(members)
    };

    let provenance = Provenance {
        version: "0.1.0".into(),
        method: "greedy".into(),
        rows: rng.next(),
        params: [("depth".into(), "6".into()), ("learning_rate".into(), "0.1".into())].into(),
        stats: TrainingStats::default(),
    };

    let mut calibration = calibration(rng, link, &features);
    if kind.columns().len() > 1 {
        calibration = Calibration::default();
    }
    let target = Target { name: "target".into(), kind };
    Model {
        schema: Schema { features, target, dates: Vec::new() },
        link,
        objective: "random".into(),
        base,
        body,
        provenance,
        calibration,
    }
}

/// Thresholds, intervals and sets of some models.
fn calibration(rng: &mut SampleRng, link: Link, features: &[Feature]) -> Calibration {
    let share = |rng: &mut SampleRng| 0.5 + 0.49 * rng.unit();
    let mut calibration = Calibration::default();
    if link == Link::Sigmoid && rng.chance(50) {
        calibration.threshold = Some(share(rng));
    }
    if rng.chance(70) {
        return calibration;
    }
    if link.is_classification() {
        let (level, min_probability) = (share(rng), share(rng));
        calibration.class_sets = Some(ClassSets { level, min_probability });
    } else {
        let mut scale = rng.chance(50).then(|| tree(rng, features, 4));
        let leaves = scale.iter_mut().flat_map(|tree| &mut tree.leaves);
        leaves.for_each(|leaf| leaf.value = leaf.value.abs() + 0.5);
        let (level, half_width) = (share(rng), 3.0 * share(rng));
        calibration.interval = Some(PredictionInterval { level, half_width, scale });
    }
    calibration
}

fn linear(rng: &mut SampleRng, features: &[Feature]) -> LinearFunction {
    let term = |feature: &Feature| match &feature.kind {
        Kind::Number => LinearTerm::Number { weight: rng.unit(), centre: rng.unit() },
        Kind::Category { levels } => {
            LinearTerm::Category { weights: levels.iter().map(|_| rng.unit()).collect() }
        }
    };
    LinearFunction { terms: features.iter().map(term).collect() }
}

/// Rows for a model, with missing values, unknown levels, infinities and the model's own
/// thresholds.
pub(crate) fn rows(seed: u64, model: &Model, count: usize) -> Vec<Vec<FeatureValue>> {
    let rng = &mut SampleRng(seed ^ 0xABCD);
    let splits: Vec<&Split> =
        model.members().iter().flat_map(|member| member.shape.splits()).collect();
    let mut value = |index: usize, feature: &Feature| match &feature.kind {
        Kind::Category { levels } => FeatureValue::Category(if rng.chance(10) {
            MISSING
        } else {
            rng.below(levels.len() + 2) as u32
        }),
        Kind::Number => FeatureValue::Number(match rng.below(12) {
            0 => f64::NAN,
            1 => [f64::INFINITY, f64::NEG_INFINITY][rng.below(2)],
            2..6 if !splits.is_empty() => match splits[rng.below(splits.len())].test {
                Test::Above(threshold) => {
                    [threshold, threshold.next_up(), threshold.next_down()][rng.below(3)]
                }
                Test::In(_) => number(rng, index),
            },
            _ => number(rng, index),
        }),
    };

    let features = &model.schema.features;
    (0..count)
        .map(|_| {
            features.iter().enumerate().map(|(index, feature)| value(index, feature)).collect()
        })
        .collect()
}

/// Sizes and seeds of random models.
pub(crate) fn any_model() -> impl Strategy<Value = Model> {
    let size =
        (0_usize..14, 0_usize..8, select(vec![2_usize, 8, 64, 300]), select(vec![2_usize, 6, 10]));
    (any::<u64>(), size).prop_map(|(seed, (features, rounds, leaves, levels))| {
        model(seed, SampleSize { features, rounds, leaves, levels })
    })
}

/// The owned values of a column.
pub(crate) enum OwnedColumn {
    Number(Vec<f64>),
    Category(Vec<u32>),
}

/// The columns of some rows, in schema order.
pub(crate) fn columns(model: &Model, rows: &[Vec<FeatureValue>]) -> Vec<OwnedColumn> {
    let number = |value: &FeatureValue| {
        if let FeatureValue::Number(number) = value { *number } else { f64::NAN }
    };
    let code = |value: &FeatureValue| {
        if let FeatureValue::Category(code) = value { *code } else { MISSING }
    };

    let column = |index: usize, kind: &Kind| match kind {
        Kind::Number => OwnedColumn::Number(rows.iter().map(|row| number(&row[index])).collect()),
        Kind::Category { .. } => {
            OwnedColumn::Category(rows.iter().map(|row| code(&row[index])).collect())
        }
    };

    model
        .schema
        .features
        .iter()
        .enumerate()
        .map(|(index, feature)| column(index, &feature.kind))
        .collect()
}

/// Borrowed columns.
pub(crate) fn borrowed(columns: &[OwnedColumn]) -> Vec<ColumnView<'_>> {
    let mut out = Vec::with_capacity(columns.len());
    for column in columns {
        out.push(match column {
            OwnedColumn::Number(values) => ColumnView::Number(values),
            OwnedColumn::Category(codes) => ColumnView::Category(codes),
        });
    }
    out
}
