use super::*;
use crate::binned_tree::BinnedSplit;
use crate::rule::{BinRule, Cut};
use proptest::prelude::*;

/// A random tree: each entry says which leaf of the tree so far is split next.
fn tree_of(splits: &[usize]) -> BinnedTree {
    let rule = BinRule { feature: 0, cut: Cut::Above(1), missing_right: false };
    let mut tree = BinnedTree { leaves: vec![Default::default()], ..BinnedTree::default() };
    for &pick in splits {
        let leaf = pick % tree.leaves.len();
        let (number, new) = (tree.nodes.len() as u32, tree.leaves.len() as u32);
        for node in &mut tree.nodes {
            for child in [&mut node.left, &mut node.right] {
                if *child == Child::Leaf(leaf as u32) {
                    *child = Child::Node(number);
                }
            }
        }
        let (left, right) = (Child::Leaf(leaf as u32), Child::Leaf(new));
        tree.nodes.push(BinnedSplit { rule, left, right, gain: 0.0, cover: 0.0 });
        tree.leaves.push(Default::default());
    }
    tree
}

#[test]
fn the_value_of_one_leaf_is_a_newton_step() {
    let solution =
        solve_freely(&tree_of(&[]), &[LeafQuadratic { h: 3.0, b: 8.0 }], 1.0, Ridge::Flat);
    assert_eq!((solution.values[0], solution.penalty), (2.0, 2.0));
}

/// Parent of every node, nodes before leaves; the root has none.
fn parents(tree: &BinnedTree) -> Vec<Option<usize>> {
    let inner = tree.nodes.len();
    if tree.oblivious {
        let depth = inner;
        // Nodes of level l begin at 2^l - 1.
        let mut parents = vec![None];
        for level in 1..=depth {
            parents.extend(
                (0..1usize << level).map(|j| Some((1 << (level - 1)) - 1 + j % (1 << (level - 1)))),
            );
        }
        return parents;
    }
    let mut parents = vec![None; inner + tree.leaves.len()];
    for (at, node) in tree.nodes.iter().enumerate() {
        for child in [node.left, node.right] {
            match child {
                Child::Leaf(leaf) => parents[inner + leaf as usize] = Some(at),
                Child::Node(node) => parents[node as usize] = Some(at),
            }
        }
    }
    parents
}

/// All node values by Gaussian elimination of the dense normal equations.
fn dense(parents: &[Option<usize>], quadratics: &[LeafQuadratic], lambda: f64) -> Vec<f64> {
    let n = parents.len();
    let first_leaf = n - quadratics.len();
    let mut m = vec![vec![0.0; n + 1]; n];
    for (at, parent) in parents.iter().enumerate() {
        m[at][at] += lambda;
        if let Some(parent) = *parent {
            m[parent][parent] += lambda;
            m[at][parent] -= lambda;
            m[parent][at] -= lambda;
        }
        if at >= first_leaf {
            m[at][at] += quadratics[at - first_leaf].h;
            m[at][n] += quadratics[at - first_leaf].b;
        }
    }
    for pivot in 0..n {
        let best =
            (pivot..n).max_by(|&a, &b| m[a][pivot].abs().total_cmp(&m[b][pivot].abs())).unwrap();
        m.swap(pivot, best);
        for row in 0..n {
            if row != pivot {
                let factor = m[row][pivot] / m[pivot][pivot];
                let by = m[pivot].clone();
                m[row].iter_mut().zip(by).skip(pivot).for_each(|(cell, by)| *cell -= factor * by);
            }
        }
    }
    (0..n).map(|at| m[at][n] / m[at][at]).collect()
}

fn check(tree: &BinnedTree, quadratics: &[LeafQuadratic], lambda: f64) {
    let parents = parents(tree);
    let all = dense(&parents, quadratics, lambda);
    let solution = solve_freely(tree, quadratics, lambda, Ridge::Hierarchical);
    let first_leaf = parents.len() - quadratics.len();
    for (value, exact) in solution.values.iter().zip(&all[first_leaf..]) {
        assert!((value - exact).abs() <= 1e-9 * (1.0 + exact.abs()), "{value} {exact}");
    }
    let deviation = |at: usize| all[at] - parents[at].map_or(0.0, |parent| all[parent]);
    let penalty = 0.5 * lambda * (0..parents.len()).map(|at| deviation(at).powi(2)).sum::<f64>();
    assert!(
        (penalty - solution.penalty).abs() <= 1e-9 * (1.0 + penalty),
        "{penalty} {}",
        solution.penalty
    );
}

fn quadratics(count: usize) -> impl Strategy<Value = Vec<LeafQuadratic>> {
    prop::collection::vec((0.0..50.0f64, -20.0..20.0f64), count)
        // A leaf without rows wishes nothing.
        .prop_map(|all| {
            all.into_iter()
                .map(
                    |(h, b)| {
                        if h < 5.0 { LeafQuadratic::default() } else { LeafQuadratic { h, b } }
                    },
                )
                .collect()
        })
}

proptest! {
    #[test]
    fn two_passes_equal_the_dense_solve(
        (splits, quadratics) in prop::collection::vec(0usize..100, 0..20)
            .prop_flat_map(|splits| { let leaves = splits.len() + 1; (Just(splits), quadratics(leaves)) }),
        lambda in 0.01..100.0f64,
    ) {
        check(&tree_of(&splits), &quadratics, lambda);
    }

    #[test]
    fn so_they_do_for_oblivious_trees(
        (depth, quadratics) in (0usize..5).prop_flat_map(|depth| (Just(depth), quadratics(1 << depth))),
        lambda in 0.01..100.0f64,
    ) {
        let rule = BinRule { feature: 0, cut: Cut::Above(1), missing_right: false };
        let level = BinnedSplit { rule, left: Child::Leaf(0), right: Child::Leaf(0), gain: 0.0, cover: 0.0 };
        let tree = BinnedTree { nodes: vec![level; depth], leaves: vec![Default::default(); 1 << depth], oblivious: true };
        check(&tree, &quadratics, lambda);
    }
}

#[test]
fn without_a_penalty_leaves_get_what_they_wish_and_empty_ones_nothing() {
    let tree = tree_of(&[0, 1]);
    let quadratics = [
        LeafQuadratic { h: 2.0, b: 4.0 },
        LeafQuadratic::default(),
        LeafQuadratic { h: 1.0, b: -3.0 },
    ];
    for ridge in [Ridge::Flat, Ridge::Hierarchical] {
        let solution = solve_freely(&tree, &quadratics, 0.0, ridge);
        assert_eq!((solution.values[0], solution.values[2], solution.penalty), (2.0, -3.0, 0.0));
        assert!(solution.values[1].is_finite());
    }
}

/// What is minimised, with the best values of inner nodes.
fn value_of(tree: &BinnedTree, quadratics: &[LeafQuadratic], lambda: f64, leaves: &[f64]) -> f64 {
    // Leaves that are held in place by a steep quadratic pull the inner nodes.
    let steep: Vec<LeafQuadratic> =
        leaves.iter().map(|&value| LeafQuadratic { h: 1e12, b: 1e12 * value }).collect();
    let penalty = solve_freely(tree, &steep, lambda, Ridge::Hierarchical).penalty;
    let of_leaf =
        |(quadratic, &x): (&LeafQuadratic, &f64)| 0.5 * quadratic.h * x * x - quadratic.b * x;
    penalty + quadratics.iter().zip(leaves).map(of_leaf).sum::<f64>()
}

proptest! {
    #[test]
    fn values_in_order_are_the_best_of_those_in_order(
        splits in prop::collection::vec(0..64usize, 1..7),
        rows in prop::collection::vec((0.1..9.0, -9.0..9.0), 128),
        pairs in prop::collection::vec((0..8u32, 0..8u32), 1..6),
        moves in prop::collection::vec(-1.0..1.0, 8),
        oblivious: bool,
        lambda in 0.1..5.0,
    ) {
        let mut tree = tree_of(&splits);
        if oblivious {
            tree.nodes.truncate(3);
            tree.oblivious = true;
            tree.leaves.resize(1 << tree.nodes.len(), Default::default());
        }
        let leaves = tree.leaves.len();
        let quadratics: Vec<LeafQuadratic> =
            rows[..leaves].iter().map(|&(h, b)| LeafQuadratic { h, b }).collect();
        let pairs = pairs.into_iter().filter(|(a, b)| a < b && (*b as usize) < leaves).collect();
        let order = PartialOrder::new(pairs);

        for ridge in [Ridge::Flat, Ridge::Hierarchical] {
            let solution = solve(&tree, &quadratics, (lambda, ridge), &order);
            prop_assert!(order.holds(&solution.values));
            if ridge == Ridge::Flat {
                continue;
            }
            let best = value_of(&tree, &quadratics, lambda, &solution.values);
            // A step towards any other values in order.
            let other: Vec<f64> = (0..leaves).map(|at| solution.values[at] + moves[at % 8]).collect();
            let other = order.project(&other, &vec![1.0; leaves]);
            for step in [1e-3, 0.1, 1.0] {
                let moved: Vec<f64> = solution.values.iter().zip(&other)
                    .map(|(from, to)| from + step * (to - from)).collect();
                let value = value_of(&tree, &quadratics, lambda, &moved);
                prop_assert!(value >= best - 1e-6 * best.abs().max(1.0), "{value} {best}");
            }
        }
    }
}
