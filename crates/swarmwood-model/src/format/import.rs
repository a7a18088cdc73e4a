//! What the importers share: from the other library's nodes to our trees, from comparisons of
//! 32-bit floats to 64-bit thresholds, and from the trees of each output to a model.

use std::collections::{BTreeMap, VecDeque};

use super::document::ImportResult;
use crate::calibration::Calibration;
use crate::ensemble::{Body, Link, Member, Model, Provenance, Shape};
use crate::schema::{Feature, Kind, Schema, Target, TargetKind};
use crate::training_stats::TrainingStats;
use crate::tree::{Child, Leaf, Node, Split, Tree};

/// Features and levels that a file may have without naming them. Beyond that the number is limited
/// by the length of the file, so that one large number cannot make the reader allocate much.
const UNNAMED_LIMIT: usize = 65_536;

/// A node or leaf of another library's tree; `C` identifies a child there.
pub(super) enum ImportNode<C> {
    /// A leaf.
    Leaf(Leaf),
    /// An inner node, and the children of the rows that fail and that pass the test.
    Inner { split: Split, fails: C, passes: C, gain: f64, cover: f64 },
}

/// Builds a tree from `root` down, its nodes numbered level by level. More than `limit` nodes and
/// leaves are an error: the file has no more, so one of them has two parents.
pub(super) fn tree<C>(
    root: C,
    limit: usize,
    node_at: impl Fn(C) -> ImportResult<ImportNode<C>>,
) -> ImportResult<Tree> {
    let mut tree = Tree { nodes: Vec::new(), leaves: Vec::new() };
    let mut open = VecDeque::from([(root, None)]);
    while let Some((position, edge)) = open.pop_front() {
        if tree.nodes.len() + tree.leaves.len() == limit {
            return Err(format!("the tree has more than {limit} nodes and leaves"));
        }
        let child = match node_at(position)? {
            ImportNode::Leaf(leaf) => {
                tree.leaves
                    .push(Leaf { value: leaf.value, cover: finite_or_zero(leaf.cover).max(0.0) });
                Child::Leaf((tree.leaves.len() - 1) as u32)
            }
            ImportNode::Inner { split, fails, passes, gain, cover } => {
                let index = tree.nodes.len();
                open.extend([(fails, Some((index, false))), (passes, Some((index, true)))]);
                let (gain, cover) = (finite_or_zero(gain), finite_or_zero(cover).max(0.0));
                // Both edges are set when their children get their numbers.
                tree.nodes.push(Node {
                    split,
                    left: Child::Leaf(0),
                    right: Child::Leaf(0),
                    gain,
                    cover,
                });
                Child::Node(index as u32)
            }
        };
        match edge {
            Some((parent, true)) => tree.nodes[parent].right = child,
            Some((parent, false)) => tree.nodes[parent].left = child,
            None => {}
        }
    }
    Ok(tree)
}

/// A number that does not influence predictions, such as a gain: where it is not finite, it becomes
/// 0 instead of an error.
pub(super) fn finite_or_zero(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

/// The number `t` for which `x > t` holds for exactly those 64-bit floats `x` that, rounded to 32
/// bits, are not less than `threshold`.
///
/// The boundary is half-way between the threshold and the 32-bit float below it, which 64 bits
/// represent exactly; whether the midpoint itself passes depends on which of the two it rounds to.
/// A threshold of minus infinity lets every number pass; it becomes the smallest finite number,
/// which only minus infinity itself does not exceed.
pub(super) fn not_less(threshold: f32) -> f64 {
    if threshold == f32::NEG_INFINITY {
        return f64::MIN;
    }
    // Rounding treats infinity as the power of two that would come next.
    let wide = |number: f32| {
        if number.is_infinite() {
            f64::from(number.signum()) * 128_f64.exp2()
        } else {
            number.into()
        }
    };
    let middle = f64::midpoint(wide(threshold), wide(threshold.next_down()));
    if middle as f32 >= threshold { middle.next_down() } else { middle }
}

/// The names of `count` features: `names`, or `f0`, `f1`, … if it is empty.
pub(super) fn feature_names(
    names: Vec<String>,
    count: usize,
    file: usize,
) -> ImportResult<Vec<String>> {
    if names.is_empty() {
        check_unnamed(count, file, "features")?;
        return Ok((0..count).map(|feature| format!("f{feature}")).collect());
    }
    if names.len() == count {
        Ok(names)
    } else {
        Err(format!("{} feature names for {count} features", names.len()))
    }
}

/// Checks a number of things that the file counts but does not name against a limit that grows with
/// the length of the file, `file` bytes.
pub(super) fn check_unnamed(count: usize, file: usize, what: &str) -> ImportResult<()> {
    let limit = UNNAMED_LIMIT.saturating_add(file);
    if count <= limit {
        Ok(())
    } else {
        Err(format!("{count} {what}, but no more than {limit} are read from this file"))
    }
}

/// A numeric feature.
pub(super) fn number_feature(name: String) -> Feature {
    Feature { name, kind: Kind::Number }
}

/// The parts of an imported model.
pub(super) struct ImportParts {
    /// Which library wrote it.
    pub(super) library: &'static str,
    /// Which version of it.
    pub(super) version: String,
    /// The objective: our name where we have one, else the library's.
    pub(super) objective: String,
    pub(super) link: Link,
    /// Names of classes; if there are none and the link needs them, their numbers are their names.
    pub(super) classes: Vec<String>,
    pub(super) features: Vec<Feature>,
    /// One start value per output.
    pub(super) base: Vec<f64>,
    /// For each output its trees, first to last.
    pub(super) trees: Vec<Vec<Shape>>,
    /// Parameters for the provenance.
    pub(super) params: BTreeMap<String, String>,
}

impl ImportParts {
    /// Assembles the model; its invariants are checked afterwards.
    pub(super) fn into_model(mut self) -> ImportResult<Model> {
        let outputs = self.base.len();
        if self.trees.len() != outputs || outputs == 0 {
            return Err(format!(
                "{outputs} start values for trees of {} outputs",
                self.trees.len()
            ));
        }

        let rounds = self.trees[0].len();
        if self.trees.iter().any(|trees| trees.len() != rounds) {
            return Err("some classes have more trees than others".into());
        }

        if self.link == Link::Softmax && outputs == 2 {
            self.fold_two_classes();
        }
        let kind = if self.link.is_classification() {
            let count = if self.link == Link::Sigmoid { 2 } else { outputs };
            let numbered = || (0..count).map(|class| class.to_string()).collect();
            TargetKind::Classes(if self.classes.is_empty() { numbered() } else { self.classes })
        } else if outputs > 1 {
            TargetKind::Numbers((0..outputs).map(|at| format!("target_{at}")).collect())
        } else {
            TargetKind::Number
        };
        let target = match kind.columns() {
            [] => "target".to_string(),
            columns => columns.join(","),
        };

        // Trees take the outputs in turn, whatever the order in the file.
        let mut turns: Vec<_> = self.trees.into_iter().map(Vec::into_iter).collect();
        let mut members = Vec::new();
        let longest = turns.iter().map(|turn| turn.len()).max().unwrap_or(0);
        for _ in 0..longest {
            for (output, turn) in (0..).zip(&mut turns) {
                members.extend(turn.next().map(|shape| Member { output, shape }));
            }
        }

        Ok(Model {
            schema: Schema {
                features: self.features,
                target: Target { name: target, kind },
                dates: Vec::new(),
            },
            link: self.link,
            objective: self.objective,
            base: self.base,
            body: Body::Trees(members),
            provenance: Provenance {
                version: self.version,
                method: self.library.to_string(),
                rows: 0,
                params: self.params,
                stats: TrainingStats::default(),
            },
            calibration: Calibration::default(),
        })
    }

    /// The softmax of two scores is the sigmoid of their difference: the leaf values of the first
    /// class change sign.
    fn fold_two_classes(&mut self) {
        let first_class = std::mem::take(&mut self.trees[0]);
        let mut folded = Vec::with_capacity(2 * first_class.len());
        for (mut first, second) in first_class.into_iter().zip(std::mem::take(&mut self.trees[1])) {
            first.scale_values(-1.0);
            folded.extend([first, second]);
        }
        self.trees = vec![folded];
        self.base = vec![self.base[1] - self.base[0]];
        self.link = Link::Sigmoid;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree::Test;

    /// What XGBoost does with a 64-bit number.
    fn rounded_not_less(number: f64, threshold: f32) -> bool {
        number as f32 >= threshold
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_boundary_is_exact(bits in any::<u32>(), near in -40_i32..40, number in any::<f64>()) {
            let threshold = f32::from_bits(bits);
            prop_assume!(threshold.is_finite());
            let boundary = not_less(threshold);
            prop_assert!(boundary.is_finite());
            // Numbers next to the boundary in 64 bits, next to the threshold in 32 bits, and any.
            let mut beside = boundary;
            let mut step = threshold;
            for _ in 0..near.abs() {
                beside = if near < 0 { beside.next_down() } else { beside.next_up() };
                step = if near < 0 { step.next_down() } else { step.next_up() };
            }
            for number in [beside, f64::from(step), number] {
                prop_assert_eq!(number > boundary, rounded_not_less(number, threshold), "{} {}", number, threshold);
            }
        }
    }

    #[test]
    fn boundaries_of_extreme_thresholds() {
        for threshold in
            [0.0, -0.0, 1.0, f32::MIN_POSITIVE, 1e-45, -1e-45, f32::MAX, f32::MIN, f32::INFINITY]
        {
            let boundary = not_less(threshold);
            assert!(boundary.is_finite());
            for number in [
                boundary,
                boundary.next_down(),
                boundary.next_up(),
                threshold.into(),
                0.0,
                -0.0,
                1e300,
                -1e300,
            ] {
                assert_eq!(
                    number > boundary,
                    rounded_not_less(number, threshold),
                    "{number} {threshold}"
                );
            }
        }
        assert!(-1e300 > not_less(f32::NEG_INFINITY));
    }

    #[test]
    fn nodes_with_two_parents_are_found() {
        let split = || Split { feature: 0, test: Test::Above(0.0), missing_right: false };
        let rule = |fails, passes| {
            Ok(ImportNode::Inner { split: split(), fails, passes, gain: f64::NAN, cover: -1.0 })
        };
        let leaf = || Ok(ImportNode::Leaf(Leaf { value: 1.0, cover: 2.0 }));
        let sound =
            tree(
                0,
                5,
                |place| if [0, 2].contains(&place) { rule(place + 1, place + 2) } else { leaf() },
            )
            .unwrap();
        assert_eq!((sound.nodes.len(), sound.leaves.len()), (2, 3));
        assert_eq!((sound.nodes[0].right, sound.nodes[1].left), (Child::Node(1), Child::Leaf(1)));
        assert_eq!((sound.nodes[0].gain, sound.nodes[0].cover), (0.0, 0.0), "they become zero");
        assert!(tree(0, 5, |_| rule(0, 0)).is_err());
    }
}
