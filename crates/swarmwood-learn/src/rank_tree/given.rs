//! The splits that every tree begins with.

use swarmwood_model::Split;

use super::{NodeRef, RankTree, Subtree, fit_rows};
use crate::given_splits::GivenSplit;
use crate::leaf_loss::LeafLoss;
use crate::rank_table::RankTable;
use crate::rule::RankRule;

/// The top of every tree of a table. Missing values are on the side where the loss is lower, if
/// that is to be chosen.
pub(crate) fn given_tree(table: &RankTable, loss: &LeafLoss) -> RankTree {
    let root = (!table.constraints().given_splits().is_empty()).then_some(0);
    let rows = (0..table.rows() as u32).collect();
    RankTree::new(&given_subtree(table, loss, root, rows))
}

fn given_subtree(table: &RankTable, loss: &LeafLoss, at: Option<usize>, rows: Vec<u32>) -> Subtree {
    let Some(at) = at else { return Subtree::Leaf };
    let given = &table.constraints().given_splits().splits()[at];
    let (rule, [left, right]) = choose_rule(table, loss, given, &rows);
    Subtree::split(
        rule,
        given_subtree(table, loss, given.children[0], left),
        given_subtree(table, loss, given.children[1], right),
    )
}

/// The rule of a given split, and the rows on its sides.
fn choose_rule(
    table: &RankTable,
    loss: &LeafLoss,
    given: &GivenSplit,
    rows: &[u32],
) -> (RankRule, [Vec<u32>; 2]) {
    let column = &table.columns()[given.feature];
    let with_missing = |missing_right: bool| {
        let (feature, test) = (given.feature as u32, given.test.clone());
        let rule = RankRule::from_split(&Split { feature, test, missing_right }, column);
        let (right, left): (Vec<u32>, Vec<u32>) =
            rows.iter().partition(|&&row| rule.goes_right(column.codes()[row as usize]));
        (rule, [left, right])
    };
    if let Some(missing_right) = given.missing_right {
        return with_missing(missing_right);
    }
    let loss_of = |sides: &[Vec<u32>; 2]| -> f64 {
        sides.iter().map(|rows| fit_rows(table, rows, loss).loss).sum()
    };
    let (left, right) = (with_missing(false), with_missing(true));
    if loss_of(&right.1) < loss_of(&left.1) { right } else { left }
}

impl RankTree {
    /// The given split of each node of a tree that begins with them; `None` for nodes that are
    /// free.
    pub(crate) fn given_splits<'t>(&self, table: &'t RankTable) -> Vec<Option<&'t GivenSplit>> {
        let given = table.constraints().given_splits().splits();
        let mut of_node = vec![None; self.nodes.len()];
        let mut places = vec![None; self.nodes.len()];
        if let Some(root) = places.first_mut() {
            *root = (!given.is_empty()).then_some(0);
        }
        // Children come after their parents.
        for (at, node) in self.nodes.iter().enumerate() {
            let Some(split) = places[at].and_then(|place: usize| given.get(place)) else {
                continue;
            };
            of_node[at] = Some(split);
            for (child, below) in [node.left, node.right].into_iter().zip(split.children) {
                if let NodeRef::Node(child) = child {
                    places[child as usize] = below;
                }
            }
        }
        of_node
    }

    /// Which nodes are free.
    pub(crate) fn free_nodes(&self, table: &RankTable) -> Vec<bool> {
        self.given_splits(table).iter().map(Option::is_none).collect()
    }
}
