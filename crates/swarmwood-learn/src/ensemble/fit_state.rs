//! The state of a fit as plain data: what a checkpoint stores of it.
//!
//! The leaf of every row is not stored: the trees give it again. States are taken when all scores
//! have been summed up from the trees, so that summing them up again gives the same bits.

use swarmwood_model::{Child, Leaf};
use swarmwood_search::{Datum, Error};

use super::FitPhase;
use super::fit::{Ensemble, EnsembleTree};
use crate::binned_tree::{BinnedSplit, BinnedTree};
use crate::bins::Layout;
use crate::bins::layout::FeatureBins;
use crate::plan::MOST_WORK;
use crate::rule::{BinRule, Cut};

/// A tree of an ensemble.
#[derive(Debug, Clone)]
pub struct TreeState {
    pub grown: BinnedTree,
    pub output: usize,
    /// All penalties of the tree.
    pub cost: f64,
}

/// An ensemble after a step of its fit.
#[derive(Debug, Clone)]
pub struct EnsembleState {
    pub phase: FitPhase,
    /// Steps of the phase that are done.
    pub done: usize,
    /// Trees grown so far.
    pub work: usize,
    pub trees: Vec<TreeState>,
}

impl EnsembleState {
    /// The present state of a fit.
    pub fn of(phase: FitPhase, done: usize, ensemble: &Ensemble<'_>) -> Self {
        let tree = |tree: &EnsembleTree| TreeState {
            grown: tree.grown.clone(),
            output: tree.output,
            cost: tree.cost,
        };
        EnsembleState {
            phase,
            done,
            work: ensemble.work,
            trees: ensemble.trees.iter().map(tree).collect(),
        }
    }

    /// Sweeps that are done; all of them, where pairs have begun.
    pub fn sweeps_done(&self, all: usize) -> usize {
        match self.phase {
            FitPhase::Start => 0,
            FitPhase::Sweeps => self.done,
            FitPhase::Pairs => all,
        }
    }

    /// As plain data.
    pub fn save(&self) -> Datum {
        let tree = |tree: &TreeState| {
            Datum::record([
                ("output", Datum::Natural(tree.output as u64)),
                ("cost", Datum::Real(tree.cost)),
                ("oblivious", Datum::flag(tree.grown.oblivious)),
                ("nodes", Datum::List(tree.grown.nodes.iter().map(save_node).collect())),
                ("leaves", Datum::List(tree.grown.leaves.iter().map(save_leaf).collect())),
            ])
        };
        Datum::record([
            ("pairs", Datum::flag(self.phase == FitPhase::Pairs)),
            ("done", Datum::Natural(self.done as u64)),
            ("work", Datum::Natural(self.work as u64)),
            ("trees", Datum::List(self.trees.iter().map(tree).collect())),
        ])
    }

    /// From plain data; trees that do not fit the layout of the rows or the number of outputs are
    /// refused.
    pub fn load(datum: &Datum, layout: &Layout, outputs: usize) -> Result<EnsembleState, Error> {
        let tree = |(at, datum): (usize, &Datum)| {
            let nodes = datum.field("nodes")?.list()?.iter().map(load_node);
            let leaves = datum.field("leaves")?.list()?.iter().map(load_leaf);
            let grown = BinnedTree {
                nodes: nodes.collect::<Result<_, Error>>()?,
                leaves: leaves.collect::<Result<_, Error>>()?,
                oblivious: datum.field("oblivious")?.to_flag()?,
            };
            if !is_valid(&grown, layout) {
                let message = "holds a tree that cannot be traversed; it is damaged";
                return Err(Error::Snapshot(message.to_string()));
            }
            let (output, cost) = (datum.field("output")?.count()?, datum.field("cost")?.real()?);
            // Every round has a tree for each output, in their order.
            if output != at % outputs.max(1) || !cost.is_finite() {
                let message = format!("holds a tree of output {output} at {at}; it is damaged");
                return Err(Error::Snapshot(message));
            }
            Ok(TreeState { grown, output, cost })
        };

        let pairs = datum.field("pairs")?.to_flag()?;
        let trees = datum.field("trees")?.list()?;
        let state = EnsembleState {
            phase: if pairs { FitPhase::Pairs } else { FitPhase::Sweeps },
            done: datum.field("done")?.count()?,
            work: datum.field("work")?.count()?,
            trees: trees.iter().enumerate().map(tree).collect::<Result<_, Error>>()?,
        };
        if !state.trees.len().is_multiple_of(outputs.max(1)) || state.work as u64 > MOST_WORK {
            let message = "holds half a round, or more work than there can be; it is damaged";
            return Err(Error::Snapshot(message.to_string()));
        }
        Ok(state)
    }

    /// Trees grown since there were `earlier` of them; an error if there are fewer.
    pub fn work_since(&self, earlier: usize) -> Result<usize, Error> {
        self.work.checked_sub(earlier).ok_or_else(|| {
            Error::Snapshot("holds less work than the task before it; it is damaged".to_string())
        })
    }
}

/// Whether a tree can be traversed: stored features, children after their parents, every leaf in its
/// place, numbers that are finite.
fn is_valid(tree: &BinnedTree, layout: &Layout) -> bool {
    let constant: Vec<usize> = layout.constant_features().collect();
    let known = |rule: &BinRule| {
        let feature = rule.feature as usize;
        let cut_fits = match layout.features().get(feature) {
            Some(FeatureBins::Number(_)) => matches!(rule.cut, Cut::Above(1..)),
            Some(FeatureBins::Category(_)) => matches!(rule.cut, Cut::In(_)),
            None => false,
        };
        cut_fits && !constant.contains(&feature)
    };
    let leads = |at: usize, child: Child| match child {
        Child::Leaf(leaf) => (leaf as usize) < tree.leaves.len(),
        Child::Node(node) => node as usize > at && (node as usize) < tree.nodes.len(),
    };
    let whole = match tree.oblivious {
        true => tree.nodes.len() < 32 && tree.leaves.len() == 1 << tree.nodes.len(),
        false => tree.leaves.len() == tree.nodes.len() + 1,
    };
    let sound = |(at, node): (usize, &BinnedSplit)| {
        known(&node.rule) && (tree.oblivious || leads(at, node.left) && leads(at, node.right))
    };
    let finite = |leaf: &Leaf| leaf.value.is_finite() && leaf.cover.is_finite();
    whole
        && tree.nodes.iter().enumerate().all(sound)
        && tree.leaves.iter().all(finite)
        && (tree.oblivious || each_child_has_one_parent(tree))
}

/// Whether every leaf and every node but the root is the child of one node.
fn each_child_has_one_parent(tree: &BinnedTree) -> bool {
    let mut leaves = vec![0; tree.leaves.len()];
    let mut nodes = vec![0; tree.nodes.len()];
    for child in tree.nodes.iter().flat_map(|node| [node.left, node.right]) {
        match child {
            Child::Leaf(leaf) => leaves[leaf as usize] += 1,
            Child::Node(node) => nodes[node as usize] += 1,
        }
    }
    tree.nodes.is_empty() || leaves.iter().chain(nodes.iter().skip(1)).all(|&parents| parents == 1)
}

fn save_leaf(leaf: &Leaf) -> Datum {
    Datum::List(vec![Datum::Real(leaf.value), Datum::Real(leaf.cover)])
}

fn load_leaf(datum: &Datum) -> Result<Leaf, Error> {
    let [value, cover] = datum.tuple()?;
    Ok(Leaf { value: value.real()?, cover: cover.real()? })
}

fn save_node(node: &BinnedSplit) -> Datum {
    let child = |child: Child| match child {
        Child::Leaf(leaf) => Datum::Integer(-1 - i64::from(leaf)),
        Child::Node(node) => Datum::Integer(i64::from(node)),
    };
    let [feature, cut, missing_right] = node.rule.to_data();
    Datum::List(vec![
        feature,
        cut,
        missing_right,
        child(node.left),
        child(node.right),
        Datum::Real(node.gain),
        Datum::Real(node.cover),
    ])
}

fn load_node(datum: &Datum) -> Result<BinnedSplit, Error> {
    let [feature, cut, missing_right, left, right, gain, cover] = datum.tuple()?;
    let damaged =
        || Error::Snapshot("holds a child that is out of range; it is damaged".to_string());
    let child = |datum: &Datum| match datum {
        Datum::Integer(node @ 0..) => u32::try_from(*node).map(Child::Node).map_err(|_| damaged()),
        Datum::Integer(leaf) => u32::try_from(-1 - leaf).map(Child::Leaf).map_err(|_| damaged()),
        _ => Err(damaged()),
    };
    Ok(BinnedSplit {
        rule: BinRule::from_data([feature, cut, missing_right])?,
        left: child(left)?,
        right: child(right)?,
        gain: gain.real()?,
        cover: cover.real()?,
    })
}

#[cfg(test)]
mod tests {
    use swarmwood_model::{Feature, Kind};

    use super::*;
    use crate::data::Column;
    use crate::pool::Pool;

    /// A number, a category and a constant.
    fn layout() -> Layout {
        let columns = [
            Column::Number(vec![1.0, 2.0, 3.0]),
            Column::Category(vec![0, 1, 0]),
            Column::Number(vec![5.0; 3]),
        ];
        let levels = vec!["a".into(), "b".into()];
        let kinds = [Kind::Number, Kind::Category { levels }, Kind::Number];
        let features: Vec<Feature> =
            kinds.into_iter().map(|kind| Feature { name: "x".into(), kind }).collect();
        Layout::fit(|at| columns[at].clone(), &features, 255, &Pool::new(1).unwrap())
    }

    #[test]
    fn rules_that_do_not_fit_their_feature_are_refused() {
        let layout = layout();
        let load = |feature: u32, cut: Cut<u8>| {
            let rule = BinRule { feature, cut, missing_right: false };
            let (left, right) = (Child::Leaf(0), Child::Leaf(1));
            let node = BinnedSplit { rule, left, right, gain: 0.0, cover: 0.0 };
            let leaves = vec![Leaf::default(); 2];
            let grown = BinnedTree { nodes: vec![node], leaves, oblivious: false };
            let tree = TreeState { grown, output: 0, cost: 0.0 };
            let state =
                EnsembleState { phase: FitPhase::Sweeps, done: 0, work: 1, trees: vec![tree] };
            EnsembleState::load(&state.save(), &layout, 1)
        };

        let set = || Cut::In([1u8].into_iter().collect());
        assert!(load(0, Cut::Above(1)).is_ok() && load(1, set()).is_ok());
        for (feature, cut) in
            [(0, Cut::Above(0)), (0, set()), (1, Cut::Above(1)), (2, Cut::Above(1)), (3, set())]
        {
            assert!(load(feature, cut).is_err(), "{feature} {cut:?}");
        }
    }

    #[test]
    fn trees_of_outputs_that_do_not_exist_are_refused() {
        let tree = |output: usize| {
            let grown = BinnedTree { leaves: vec![Leaf::default()], ..BinnedTree::default() };
            TreeState { grown, output, cost: 0.0 }
        };
        let load = |trees: Vec<TreeState>, outputs: usize, work: usize| {
            let state = EnsembleState { phase: FitPhase::Sweeps, done: 0, work, trees };
            EnsembleState::load(&state.save(), &layout(), outputs)
        };
        assert!(load(vec![tree(0), tree(1)], 2, 2).is_ok());
        assert!(load(vec![tree(0), tree(2)], 2, 2).is_err(), "no such output");
        assert!(load(vec![tree(1), tree(0)], 2, 2).is_err(), "another order");
        assert!(load(vec![tree(0)], 2, 2).is_err(), "half a round");
        assert!(load(vec![tree(0)], 1, usize::MAX).is_err(), "too much work");
        let mut endless = tree(0);
        endless.grown.leaves[0].value = f64::NAN;
        assert!(load(vec![endless], 1, 1).is_err(), "not a number");
    }
}
