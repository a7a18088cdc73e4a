//! What the readers of other libraries' models share: the way from their nodes to our trees, from
//! comparisons of 32-bit floats to ours, and from lists of trees an output to a model.

use std::collections::{BTreeMap, VecDeque};

use super::document::Found;
use crate::ensemble::{Body, Link, Member, Model, Provenance, Shape};
use crate::schema::{Feature, Kind, Schema, Target, TargetKind};
use crate::tree::{Child, Leaf, Node, Split, Tree};

/// Features and levels a file may have without naming them: more than that it must pay for with its
/// own length, so that one large number cannot make its reader allocate much.
const FREE: usize = 65_536;

/// What stands at a place of somebody else's tree.
pub(super) enum Step<P> {
    /// A leaf.
    Leaf(Leaf),
    /// A rule, and the places of the rows that fail and that pass it.
    Rule { split: Split, fails: P, passes: P, gain: f64, cover: f64 },
}

/// The tree that hangs from `root`, its nodes numbered level by level. More than `most` places are
/// an error: the file has no more, so some place has two parents.
pub(super) fn tree<P>(root: P, most: usize, at: impl Fn(P) -> Found<Step<P>>) -> Found<Tree> {
    let mut tree = Tree { nodes: Vec::new(), leaves: Vec::new() };
    let mut open = VecDeque::from([(root, None)]);
    while let Some((place, edge)) = open.pop_front() {
        if tree.nodes.len() + tree.leaves.len() == most {
            return Err(format!("more than {most} places hang from the root"));
        }
        let child = match at(place)? {
            Step::Leaf(leaf) => {
                tree.leaves.push(Leaf { value: leaf.value, cover: recorded(leaf.cover).max(0.0) });
                Child::Leaf((tree.leaves.len() - 1) as u32)
            }
            Step::Rule { split, fails, passes, gain, cover } => {
                let index = tree.nodes.len();
                open.extend([(fails, Some((index, false))), (passes, Some((index, true)))]);
                let (gain, cover) = (recorded(gain), recorded(cover).max(0.0));
                // Both edges are set when the places they lead to get their numbers.
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

/// A number that is kept for the record only: a model is not refused for it.
pub(super) fn recorded(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

/// The number `t` for which `x > t` holds for exactly those 64-bit floats `x` that, rounded to 32
/// bits, are not less than `threshold`.
///
/// The border lies half-way between the threshold and the 32-bit float below it, which 64 bits hold
/// exactly; whether the middle itself belongs above depends on which of the two it rounds to. No
/// number is rounded below minus infinity, so that as threshold stands for "any number"; the
/// smallest of all numbers is then taken for minus infinity.
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

/// The names of `count` features: those given, or `f0`, `f1`, … if none are.
pub(super) fn feature_names(given: Vec<String>, count: usize, file: usize) -> Found<Vec<String>> {
    if given.is_empty() {
        affordable(count, file, "features")?;
        return Ok((0..count).map(|feature| format!("f{feature}")).collect());
    }
    if given.len() == count {
        Ok(given)
    } else {
        Err(format!("{} feature names for {count} features", given.len()))
    }
}

/// Whether `count` things that take no room in a file of `file` bytes may be made up.
pub(super) fn affordable(count: usize, file: usize, what: &str) -> Found<()> {
    let most = FREE.saturating_add(file);
    if count <= most {
        Ok(())
    } else {
        Err(format!("{count} {what}, but no more than {most} are read from this file"))
    }
}

/// A feature of numbers.
pub(super) fn number(name: String) -> Feature {
    Feature { name, kind: Kind::Number }
}

/// All leaf values times a factor.
pub(super) fn scale(shape: &mut Shape, factor: f64) {
    let leaves = match shape {
        Shape::Ordinary(tree) => &mut tree.leaves,
        Shape::Oblivious(tree) => &mut tree.leaves,
    };
    leaves.iter_mut().for_each(|leaf| leaf.value *= factor);
}

/// A model as its library sees it.
pub(super) struct Foreign {
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
    /// One start value an output.
    pub(super) base: Vec<f64>,
    /// For each output its trees, first to last.
    pub(super) trees: Vec<Vec<Shape>>,
    /// More for the record.
    pub(super) params: BTreeMap<String, String>,
}

impl Foreign {
    /// The model; what a model must be is checked afterwards.
    pub(super) fn into_model(mut self) -> Found<Model> {
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
        } else {
            TargetKind::Number
        };
        // Trees take the outputs in turn, whatever the order of the library was.
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
                target: Target { name: "target".into(), kind },
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
            },
        })
    }

    /// The softmax of two scores is the sigmoid of their difference: the trees of the first class
    /// count against it.
    fn fold_two_classes(&mut self) {
        let against = std::mem::take(&mut self.trees[0]);
        let mut joined = Vec::with_capacity(2 * against.len());
        for (mut first, second) in against.into_iter().zip(std::mem::take(&mut self.trees[1])) {
            scale(&mut first, -1.0);
            joined.extend([first, second]);
        }
        self.trees = vec![joined];
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
        fn the_border_is_exact(bits in any::<u32>(), near in -40_i32..40, number in any::<f64>()) {
            let threshold = f32::from_bits(bits);
            prop_assume!(threshold.is_finite());
            let border = not_less(threshold);
            prop_assert!(border.is_finite());
            // Numbers next to the border in 64 bits, next to the threshold in 32 bits, and any.
            let mut beside = border;
            let mut step = threshold;
            for _ in 0..near.abs() {
                beside = if near < 0 { beside.next_down() } else { beside.next_up() };
                step = if near < 0 { step.next_down() } else { step.next_up() };
            }
            for number in [beside, f64::from(step), number] {
                prop_assert_eq!(number > border, rounded_not_less(number, threshold), "{} {}", number, threshold);
            }
        }
    }

    #[test]
    fn borders_of_extreme_thresholds() {
        for threshold in
            [0.0, -0.0, 1.0, f32::MIN_POSITIVE, 1e-45, -1e-45, f32::MAX, f32::MIN, f32::INFINITY]
        {
            let border = not_less(threshold);
            assert!(border.is_finite());
            for number in [
                border,
                border.next_down(),
                border.next_up(),
                threshold.into(),
                0.0,
                -0.0,
                1e300,
                -1e300,
            ] {
                assert_eq!(
                    number > border,
                    rounded_not_less(number, threshold),
                    "{number} {threshold}"
                );
            }
        }
        assert!(-1e300 > not_less(f32::NEG_INFINITY));
    }

    #[test]
    fn places_with_two_parents_are_found() {
        let split = || Split { feature: 0, test: Test::Above(0.0), missing_right: false };
        let rule = |fails, passes| {
            Ok(Step::Rule { split: split(), fails, passes, gain: f64::NAN, cover: -1.0 })
        };
        let leaf = || Ok(Step::Leaf(Leaf { value: 1.0, cover: 2.0 }));
        let sound =
            tree(
                0,
                5,
                |place| if [0, 2].contains(&place) { rule(place + 1, place + 2) } else { leaf() },
            )
            .unwrap();
        assert_eq!((sound.nodes.len(), sound.leaves.len()), (2, 3));
        assert_eq!((sound.nodes[0].right, sound.nodes[1].left), (Child::Node(1), Child::Leaf(1)));
        assert_eq!((sound.nodes[0].gain, sound.nodes[0].cover), (0.0, 0.0), "records are mended");
        assert!(tree(0, 5, |_| rule(0, 0)).is_err());
    }
}
