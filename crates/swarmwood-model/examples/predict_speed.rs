//! Times batch and one-row prediction on random models:
//! `cargo run --release --example predict_speed`.
//!
//! Prints the minimum over repetitions, in nanoseconds a row and tree.

use std::hint::black_box;
use std::time::Instant;

use swarmwood_model::*;

const FEATURES: usize = 28;

/// A generator of pseudo-random numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// About a normal number.
    fn normal(&mut self) -> f64 {
        (0..6).map(|_| (self.next() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 3.0
    }

    /// A normal number, or for a skewed feature its exponential, squared.
    fn value(&mut self, skewed: bool) -> f64 {
        let normal = self.normal();
        if skewed { (2.0 * normal).exp() } else { normal }
    }
}

fn split(dice: &mut Dice, skewed: bool) -> Split {
    Split {
        feature: dice.below(FEATURES) as u32,
        test: Test::Above(dice.value(skewed)),
        missing_right: false,
    }
}

fn leaf(dice: &mut Dice) -> Leaf {
    Leaf { value: dice.normal(), cover: 1.0 }
}

fn oblivious(dice: &mut Dice, skewed: bool) -> Shape {
    let levels = (0..6).map(|_| Level { split: split(dice, skewed), gain: 1.0 }).collect();
    Shape::Oblivious(ObliviousTree { levels, leaves: (0..64).map(|_| leaf(dice)).collect() })
}

/// Grows leaf by leaf, more often where it grew last, as leaf-wise learners do.
fn ordinary(dice: &mut Dice, skewed: bool, leaves: usize) -> Shape {
    let mut tree = Tree::leaf(leaf(dice));
    let mut edges: Vec<Option<(usize, bool)>> = vec![None];
    while tree.leaves.len() < leaves {
        let leaf_index = dice.below(tree.leaves.len());
        let (node, new) = (tree.nodes.len(), tree.leaves.len());
        if let Some((parent, right)) = edges[leaf_index] {
            let parent = &mut tree.nodes[parent];
            *(if right { &mut parent.right } else { &mut parent.left }) = Child::Node(node as u32);
        }
        let (left, right) = (Child::Leaf(leaf_index as u32), Child::Leaf(new as u32));
        tree.nodes.push(Node { split: split(dice, skewed), left, right, gain: 1.0, cover: 1.0 });
        tree.leaves.push(leaf(dice));
        edges[leaf_index] = Some((node, false));
        edges.push(Some((node, true)));
    }
    Shape::Ordinary(tree)
}

fn model(shapes: Vec<Shape>) -> Model {
    let feature = |index| Feature { name: format!("f{index}"), kind: Kind::Number };
    Model {
        schema: Schema {
            features: (0..FEATURES).map(feature).collect(),
            target: Target { name: "target".into(), kind: TargetKind::Number },
            dates: Vec::new(),
        },
        link: Link::Identity,
        objective: "squared".into(),
        base: vec![0.0],
        body: Body::Trees(shapes.into_iter().map(|shape| Member { output: 0, shape }).collect()),
        provenance: Provenance::default(),
        calibration: Calibration::default(),
    }
}

/// The shortest of many runs, in nanoseconds.
fn shortest(repetitions: usize, mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos() as f64
    };
    (0..repetitions).map(time).fold(f64::INFINITY, f64::min)
}

fn time(name: &str, model: &Model, rows: usize, skewed: bool) {
    let dice = &mut Dice(7);
    let data: Vec<Vec<f64>> =
        (0..FEATURES).map(|_| (0..rows).map(|_| dice.value(skewed)).collect()).collect();
    let columns: Vec<ColumnView<'_>> =
        data.iter().map(|column| ColumnView::Number(column)).collect();
    let block = Block { columns: &columns, rows };
    let predictor = Predictor::new(model);
    let mut raw = vec![0.0; rows];
    let batch =
        shortest(200, || predictor.raw(&block, None, black_box(&mut raw)).expect("the block fits"));
    let row: Vec<FeatureValue> =
        data.iter().map(|column| FeatureValue::Number(column[0])).collect();
    let one = shortest(300, || drop(black_box(model.raw_row(black_box(&row), None))));
    let few = shortest(300, || drop(black_box(model.raw_row(black_box(&row), Some(6)))));
    let per_tree = batch / rows as f64 / model.rounds() as f64;
    println!(
        "{name:<28} {per_tree:>6.2} ns/row/tree   one row: all {one:>6.0} ns, 6 trees {few:>4.0} ns"
    );
}

fn main() {
    let dice = &mut Dice(1);
    // Few rows and many runs: a short run is less likely to be interrupted.
    let rows = 8192;
    for skewed in [false, true] {
        let tail = if skewed { ", skewed" } else { "" };
        let shapes = (0..100).map(|_| oblivious(dice, skewed)).collect();
        time(&format!("100 oblivious, depth 6{tail}"), &model(shapes), rows, skewed);
        for (trees, leaves) in [(100, 63), (100, 255), (20, 1000)] {
            let shapes = (0..trees).map(|_| ordinary(dice, skewed, leaves)).collect();
            time(&format!("{trees} x {leaves} leaves{tail}"), &model(shapes), rows, skewed);
        }
    }
}
