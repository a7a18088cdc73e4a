//! Pictures of one tree: as SVG with nodes and leaves, as DOT for Graphviz, and as a map of what it
//! says over two features.
//!
//! The SVG stands on its own: no scripts, no fonts to load, a title and a description for readers
//! that cannot see it. The tree grows from left to right, because names and numbers are wide and
//! low; leaves stand in one column, one per line, so that their bars can be compared and a tree of 31
//! leaves stays legible.

mod dot;
mod layout;
mod map;
mod palette;
mod tree;

#[cfg(test)]
mod tests;

pub use map::MapError;
pub use palette::escape;

use crate::predict::Prediction;
use crate::rules::percent;
use crate::schema::Schema;
use crate::single_tree::SingleTree;
use crate::text::printable;
use crate::tree::{Child, Split, Test};

/// Leaves of the largest tree that is drawn.
pub const MOST_LEAVES: usize = 512;

/// Why a tree is not drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tree has {leaves} leaves, and a picture of more than {MOST_LEAVES} cannot be read; train a smaller one"
)]
pub struct TooLarge {
    /// How many leaves.
    pub leaves: usize,
}

impl SingleTree<'_> {
    /// The tree as an SVG document.
    pub fn to_svg(&self) -> Result<String, TooLarge> {
        self.to_svg_part("")
    }

    /// The same as a part of a larger document: `id`, which must be a name in XML, begins every
    /// identifier in it.
    pub fn to_svg_part(&self, id: &str) -> Result<String, TooLarge> {
        self.drawable().map(|()| tree::draw(self, id))
    }

    /// The tree in the language of Graphviz.
    pub fn to_dot(&self) -> Result<String, TooLarge> {
        self.drawable().map(|()| dot::write(self))
    }

    fn drawable(&self) -> Result<(), TooLarge> {
        let leaves = self.tree.leaves.len();
        if leaves > MOST_LEAVES { Err(TooLarge { leaves }) } else { Ok(()) }
    }

    /// The leaves below a place.
    fn leaves_below(&self, at: Child) -> Vec<usize> {
        let mut leaves = Vec::new();
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            match at {
                Child::Leaf(leaf) => leaves.push(leaf as usize),
                Child::Node(node) => {
                    let node = &self.tree.nodes[node as usize];
                    open.extend([node.right, node.left]);
                }
            }
        }
        leaves
    }

    /// The rows below a place, in words; nothing where it is not known.
    fn rows_in_words(&self, share: f64) -> String {
        match self.rows() {
            _ if self.shares.iter().all(|share| *share == 0.0) => String::new(),
            Some(rows) => format!("{:.0}", rows * share),
            None => percent(share),
        }
    }

    /// The least and the largest number in a leaf.
    fn number_range(&self) -> (f64, f64) {
        let numbers = self.predictions.iter().filter_map(|prediction| match prediction {
            Prediction::Number(number) => Some(*number),
            Prediction::Class { .. } => None,
        });
        numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
            (low.min(number), high.max(number))
        })
    }

    /// What the whole picture shows, in a line.
    fn title(&self) -> String {
        let leaves = self.tree.leaves.len();
        let rows = self.rows().map_or(String::new(), |rows| format!(", {rows} training rows"));
        let target = printable(&self.model.schema.target.name);
        let plural = if leaves == 1 { "leaf" } else { "leaves" };
        format!("Tree for {target}: {leaves} {plural}, depth {}{rows}", self.tree.depth())
    }
}

/// What holds on one side of a split, without the feature's name; `digits` shortens numbers and
/// lists.
///
/// ```
/// use swarmwood_model::picture::side;
/// use swarmwood_model::{Feature, Kind, Schema, Split, Target, TargetKind, Test};
/// let features = vec![Feature { name: "age".into(), kind: Kind::Number }];
/// let schema = Schema { features, target: Target { name: "price".into(), kind: TargetKind::Number } };
/// let split = Split { feature: 0, test: Test::Above(30.000001), missing_right: true };
/// assert_eq!((side(&schema, &split, false, true), side(&schema, &split, true, false)), ("≤ 30".into(), "> 30.000001".into()));
/// ```
pub fn side(schema: &Schema, split: &Split, right: bool, digits: bool) -> String {
    match &split.test {
        // No number lies above but the infinite one: the rule asks whether there is a value.
        Test::Above(threshold) if digits && *threshold == f64::MAX => {
            match (right, split.missing_right) {
                (false, _) => "known".to_string(),
                (true, true) => "missing".to_string(),
                (true, false) => "infinite".to_string(),
            }
        }
        Test::Above(threshold) => {
            let number = if digits {
                crate::rules::short(*threshold)
            } else {
                crate::rules::number(*threshold)
            };
            format!("{} {number}", if right { ">" } else { "≤" })
        }
        Test::In(set) => {
            let levels = schema
                .features
                .get(split.feature as usize)
                .map_or(&[][..], |feature| feature.kind.levels());
            let inside = |code: &usize| set.contains(*code as u32) == right;
            let count = (0..levels.len()).filter(inside).count();
            // The side with fewer names speaks for both.
            let negated = count > levels.len() - count;
            let named = (0..levels.len()).filter(|code| inside(code) != negated);
            let names: Vec<_> = named.map(|code| printable(&levels[code])).collect();
            let shown = if digits && names.len() > 3 {
                format!("{}, {}, +{}", names[0], names[1], names.len() - 2)
            } else {
                names.join(", ")
            };
            match (negated, shown.is_empty()) {
                (true, true) => "any".to_string(),
                (false, true) => "none".to_string(),
                (true, false) => format!("not {shown}"),
                (false, false) => shown,
            }
        }
    }
}
