//! Drawings as SVG: of one tree with its nodes and leaves, and of the predictions over two features
//! as a map.
//!
//! The documents stand on their own: no scripts, no fonts to load, a title and a description for
//! screen readers. A tree grows from left to right, because names and numbers are wide and low; its
//! leaves are in one column, one per line, so that their bars can be compared and a tree of 31
//! leaves stays legible.

mod layout;
mod map;
mod palette;
mod tree;

#[cfg(test)]
pub(crate) mod tests;

pub use map::MapError;
pub use palette::escape;

pub(crate) use palette::{class_colour, scale_colour};
pub(crate) use tree::prediction_name;

use crate::number_format::{exact, percent, short};
use crate::predict::Prediction;
use crate::schema::Schema;
use crate::single_tree::SingleTree;
use crate::text::printable;
use crate::tree::{Child, Split, Test};

/// Maximum number of leaves of a tree that is drawn.
const MAX_LEAVES: usize = 512;

/// The tree has too many leaves to be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tree has {leaves} leaves, and a picture of more than {MAX_LEAVES} cannot be read; train a smaller one"
)]
pub struct TreeTooLarge {
    /// Number of leaves.
    pub leaves: usize,
}

impl SingleTree<'_> {
    /// The tree as an SVG document.
    pub(crate) fn to_svg(&self) -> Result<String, TreeTooLarge> {
        self.to_svg_part("")
    }

    /// The same as a part of a larger document: `id`, which must be a name in XML, is the prefix of
    /// every identifier in it.
    pub fn to_svg_part(&self, id: &str) -> Result<String, TreeTooLarge> {
        self.check_drawable().map(|()| tree::draw(self, id))
    }

    /// Whether the tree is small enough to be drawn.
    pub(crate) fn check_drawable(&self) -> Result<(), TreeTooLarge> {
        let leaves = self.tree.leaves.len();
        if leaves > MAX_LEAVES { Err(TreeTooLarge { leaves }) } else { Ok(()) }
    }

    /// The leaves below a node, or the leaf itself.
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

    /// A share of the training rows as text; empty if covers are unknown.
    pub(crate) fn rows_text(&self, share: f64) -> String {
        match self.rows() {
            _ if self.shares.iter().all(|share| *share == 0.0) => String::new(),
            Some(rows) => format!("{:.0}", rows * share),
            None => percent(share),
        }
    }

    /// The smallest and the largest predicted number.
    pub(crate) fn number_range(&self) -> (f64, f64) {
        let numbers = self.predictions.iter().filter_map(|prediction| match prediction {
            Prediction::Number(number) => Some(*number),
            Prediction::Numbers(_) | Prediction::Class { .. } => None,
        });
        numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
            (low.min(number), high.max(number))
        })
    }

    /// What the drawing shows, in one line.
    pub(crate) fn title(&self) -> String {
        let leaves = self.tree.leaves.len();
        let rows = self.rows().map_or(String::new(), |rows| format!(", {rows} training rows"));
        let target = printable(&self.model.schema.target.name);
        let plural = if leaves == 1 { "leaf" } else { "leaves" };
        format!("Tree for {target}: {leaves} {plural}, depth {}{rows}", self.tree.depth())
    }
}

/// The condition of one side of a split, without the feature's name; `shorten` rounds numbers and
/// abbreviates lists.
///
/// ```
/// use swarmwood_model::picture::split_side;
/// use swarmwood_model::{Feature, Kind, Schema, Split, Target, TargetKind, Test};
/// let features = vec![Feature { name: "age".into(), kind: Kind::Number }];
/// let schema = Schema { features, target: Target { name: "price".into(), kind: TargetKind::Number }, dates: Vec::new() };
/// let split = Split { feature: 0, test: Test::Above(30.000001), missing_right: true };
/// assert_eq!(split_side(&schema, &split, false, true), "≤ 30");
/// assert_eq!(split_side(&schema, &split, true, false), "> 30.000001");
/// ```
pub fn split_side(schema: &Schema, split: &Split, right: bool, shorten: bool) -> String {
    match &split.test {
        // Only infinity is greater: the split separates missing values from numbers.
        Test::Above(threshold) if shorten && *threshold == f64::MAX => {
            match (right, split.missing_right) {
                (false, _) => "known".to_string(),
                (true, true) => "missing".to_string(),
                (true, false) => "infinite".to_string(),
            }
        }
        Test::Above(threshold) => {
            let number = if shorten { short(*threshold) } else { exact(*threshold) };
            format!("{} {number}", if right { ">" } else { "≤" })
        }
        Test::In(set) => {
            let levels = schema
                .features
                .get(split.feature as usize)
                .map_or(&[][..], |feature| feature.kind.levels());
            let inside = |code: &usize| set.contains(*code as u32) == right;
            let count = (0..levels.len()).filter(inside).count();
            // The shorter list of names describes the side, negated if it is the other side's.
            let negated = count > levels.len() - count;
            let shown = (0..levels.len()).filter(|code| inside(code) != negated);
            let names: Vec<_> = shown.map(|code| printable(&levels[code])).collect();
            let text = if shorten && names.len() > 3 {
                format!("{}, {}, +{}", names[0], names[1], names.len() - 2)
            } else {
                names.join(", ")
            };
            match (negated, text.is_empty()) {
                (true, true) => "any".to_string(),
                (false, true) => "none".to_string(),
                (true, false) => format!("not {text}"),
                (false, false) => text,
            }
        }
    }
}
