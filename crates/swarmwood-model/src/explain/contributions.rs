//! Contributions (SHAP values): the share of each feature in one row's raw score.
//!
//! Shapley values of the path-dependent game of TreeSHAP: Lundberg, Erion and Lee, *Consistent
//! individualized feature attribution for tree ensembles* (2018, arXiv 1802.03888), algorithm 2. A
//! coalition `S` is worth the tree's expected value when the features in `S` are known and, at a
//! split on any other feature, a row goes to each child in proportion to the child's cover.
//!
//! We arrange the algorithm by leaves. On the path to a leaf there are `d` different features.
//! Feature `i` has `o_i` = 1 if the row follows the path at all splits on `i`, else 0, and `z_i` =
//! the product of the cover shares of the edges of these splits. The leaf with value `v` gives
//! feature `i`
//!
//! ```text
//!     v (o_i - z_i) sum_k k! (d-k-1)! / d! [y^k] prod_{j != i} (o_j y + z_j)
//!   = v (o_i - z_i) integral_0^1 prod_{j != i} (o_j t + z_j (1 - t)) dt
//! ```
//!
//! The first line is what EXTEND and UNWIND of the paper compute; the second one is the same number
//! (k! (d-k-1)! / d! is a beta integral; Owen, *Multilinear extensions of games*, 1972). The
//! integrand is a polynomial of degree `d - 1`, so Gauss-Legendre quadrature with at least `d / 2`
//! nodes gives the integral exactly, and with positive factors only. UNWIND subtracts: on a path
//! with 60 features it has no correct digit left. Work is O(leaves x depth²) per tree and row, as in
//! the paper.
//!
//! **Deviations from the paper.** A node's cover is the sum over its leaves, so shares always sum
//! to one. If both children of a node have cover 0, each gets half.

use crate::ensemble::{Body, Model, Shape};
use crate::predict::{Block, BlockError, level_counts, unknown_to_missing};
use crate::schema::Schema;
use crate::tree::{Child, Split, Tree, VectorTree};

/// Maximum number of edges on all paths to the leaves of the model; 12 bytes each.
const MAX_EDGES: usize = 1 << 26;

/// Why contributions cannot be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The model is too large to be explained.
    #[error(
        "the trees up to tree {tree} are too large to be explained; explain fewer rounds or train smaller trees"
    )]
    TooLarge {
        /// The tree at which the limit was exceeded, counted from 0.
        tree: usize,
    },
    /// The rows do not match the model.
    #[error(transparent)]
    Block(#[from] BlockError),
}

/// A model prepared for contributions.
///
/// ```
/// use swarmwood_model::{*, explain::Explainer};
/// # let split = Split { feature: 0, test: Test::Above(30.0), missing_right: true };
/// # let leaf = |value, cover| Leaf { value, cover };
/// # let node = Node { split, left: Child::Leaf(0), right: Child::Leaf(1), gain: 7.0, cover: 4.0 };
/// # let tree = Tree { nodes: vec![node], leaves: vec![leaf(1.0, 3.0), leaf(2.0, 1.0)] };
/// # let model = Model {
/// #     schema: Schema {
/// #         features: vec![Feature { name: "age".into(), kind: Kind::Number }],
/// #         target: Target { name: "price".into(), kind: TargetKind::Number },
/// #         dates: Vec::new(),
/// #     },
/// #     link: Link::Identity,
/// #     objective: "squared".into(),
/// #     base: vec![0.5],
/// #     body: Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree) }]),
/// #     provenance: Provenance::default(),
/// #     calibration: Calibration::default(),
/// # };
/// // A model with one split: age > 30 (a quarter of the training rows) adds 2, else 1; it starts from 0.5.
/// let columns = [ColumnView::Number(&[31.0])];
/// let mut contributions = [0.0; 2];
/// Explainer::new(&model, None)?.contributions(&Block { columns: &columns, rows: 1 }, &mut contributions)?;
/// assert_eq!(contributions, [0.75, 1.75]); // the feature's, and the expected raw score
/// # Ok::<(), explain::ExplainError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Explainer<'m> {
    schema: &'m Schema,
    levels: Vec<Option<u32>>,
    body: &'m Body,
    trees: Vec<TreePaths<'m>>,
    /// The expected raw score of each output.
    expected: Vec<f64>,
    /// The quadratures in ascending number of nodes.
    quadratures: Vec<Quadrature>,
    /// For each number of features the index of the quadrature to use.
    quadrature_for: Vec<usize>,
}

/// The paths to all leaves of one tree.
#[derive(Debug, Clone)]
struct TreePaths<'m> {
    /// The first output that it adds to.
    output: usize,
    /// The splits, by node.
    splits: Vec<&'m Split>,
    leaves: Vec<LeafPath>,
}

/// The path to one leaf.
#[derive(Debug, Clone)]
struct LeafPath {
    /// The values of the leaf, one per output that the tree adds to.
    values: Vec<f64>,
    features: Vec<PathFeature>,
    /// The edges of all features: a node and the side of the path (`true` for right).
    edges: Vec<(u32, bool)>,
}

/// One feature on the path to a leaf.
#[derive(Debug, Clone)]
struct PathFeature {
    feature: u32,
    /// `z_i` of the module documentation.
    share: f64,
    /// End of this feature's edges in [`LeafPath::edges`]; they start where those of the feature
    /// before end.
    end: u32,
}

impl TreePaths<'_> {
    /// Number of outputs that the tree adds to.
    fn outputs(&self) -> usize {
        self.leaves.first().map_or(0, |path| path.values.len())
    }
}

impl<'m> Explainer<'m> {
    /// Prepares the first `first_rounds` rounds of a model, or all. The model must pass
    /// [`Model::check`].
    pub fn new(model: &'m Model, first_rounds: Option<usize>) -> Result<Self, ExplainError> {
        let mut expected = model.base.clone();
        let mut trees = Vec::new();
        let (mut edges, mut deepest) = (0, 0);
        for (index, member) in model.first_members(first_rounds).iter().enumerate() {
            let converted;
            let (tree, rules) = match &member.shape {
                Shape::Ordinary(tree) | Shape::Vector(VectorTree { tree, .. }) => {
                    (tree, tree.nodes.iter().map(|node| &node.split).collect())
                }
                Shape::Oblivious(tree) => {
                    converted = tree.to_tree();
                    let level = |node: usize| (node + 1).ilog2() as usize;
                    (
                        &converted,
                        (0..converted.nodes.len())
                            .map(|node| &tree.levels[level(node)].split)
                            .collect(),
                    )
                }
            };
            let output = member.output as usize;
            edges += edge_count(tree);
            if edges > MAX_EDGES {
                return Err(ExplainError::TooLarge { tree: index });
            }
            let values = |leaf: usize| match &member.shape {
                Shape::Vector(vector) => vector.leaf_values(leaf).to_vec(),
                _ => vec![tree.leaves[leaf].value],
            };
            let leaves = paths(tree, values);
            for path in &leaves {
                let share = path.features.iter().map(|feature| feature.share).product::<f64>();
                let added = expected[output..].iter_mut().zip(&path.values);
                added.for_each(|(expected, value)| *expected += value * share);
                deepest = deepest.max(path.features.len());
            }
            trees.push(TreePaths { output, splits: rules, leaves });
        }

        let levels = level_counts(&model.schema);
        let mut quadratures: Vec<Quadrature> = Vec::new();
        let mut quadrature_for = Vec::with_capacity(deepest + 1);
        for features in 0..=deepest {
            let nodes = features.div_ceil(2).max(1);
            if quadratures.last().is_none_or(|last| last.nodes.len() < nodes) {
                // More nodes than needed do no harm, so a few quadratures serve all numbers of
                // features.
                quadratures.push(Quadrature::new(if nodes <= 8 {
                    nodes
                } else {
                    nodes + nodes / 4
                }));
            }
            quadrature_for.push(quadratures.len() - 1);
        }

        let (schema, body) = (&model.schema, &model.body);
        Ok(Explainer { schema, levels, body, trees, expected, quadratures, quadrature_for })
    }

    /// Writes the contributions to the raw scores: row by row, output by output, one number per
    /// feature and last the expected raw score. Together they sum to the raw score.
    ///
    /// For a linear model a feature's contribution is its term, and the last number is the start
    /// value.
    pub fn contributions(&self, block: &Block<'_>, out: &mut [f64]) -> Result<(), ExplainError> {
        block.check(self.schema)?;
        let features = self.schema.features.len();
        let row_size = self.expected.len() * (features + 1);
        if out.len() != block.rows * row_size {
            return Err(
                BlockError::Output { found: out.len(), expected: block.rows * row_size }.into()
            );
        }

        let mut work = ShapScratch::default();
        for (row, out) in out.chunks_mut(row_size.max(1)).enumerate() {
            out.fill(0.0);
            let value = |feature: u32| {
                unknown_to_missing(
                    self.levels[feature as usize],
                    block.columns[feature as usize].get(row),
                )
            };
            for (out, expected) in out.chunks_mut(features + 1).zip(&self.expected) {
                out[features] = *expected;
            }
            for tree in &self.trees {
                work.right.clear();
                work.right
                    .extend(tree.splits.iter().map(|split| split.goes_right(value(split.feature))));
                let outputs = out[tree.output * (features + 1)..].chunks_mut(features + 1);
                for (at, out) in outputs.enumerate().take(tree.outputs()) {
                    for path in &tree.leaves {
                        self.add_leaf(path, path.values[at], &mut work, &mut out[..features]);
                    }
                }
            }
            if let Body::Linear(functions) = self.body {
                for (out, function) in out.chunks_mut(features + 1).zip(functions) {
                    for ((feature, term), out) in function.terms.iter().enumerate().zip(out) {
                        *out = term.evaluate(value(feature as u32));
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the contribution of one value of a leaf to each feature on its path.
    fn add_leaf(&self, path: &LeafPath, value: f64, work: &mut ShapScratch, out: &mut [f64]) {
        let ShapScratch { right, passed, integrand, factors } = work;
        let quadrature = &self.quadratures[self.quadrature_for[path.features.len()]];
        integrand.clear();
        integrand.extend(&quadrature.weights);
        factors.clear();
        passed.clear();

        // Features that follow the path are factors t + z (1 - t), stored to be divided out again;
        // the others are z (1 - t), where z is constant and one of the factors 1 - t is deferred.
        let mut scale = value;
        let mut failures = 0;
        let mut start = 0;
        for feature in &path.features {
            let edges = &path.edges[start..feature.end as usize];
            start = feature.end as usize;
            let passes = edges.iter().all(|(node, side)| right[*node as usize] == *side);
            passed.push(passes);
            if passes {
                for (value, node) in integrand.iter_mut().zip(&quadrature.nodes) {
                    let factor = node + feature.share * (1.0 - node);
                    *value *= factor;
                    factors.push(factor);
                }
            } else {
                scale *= feature.share;
                failures += 1;
                if failures > 1 {
                    integrand
                        .iter_mut()
                        .zip(&quadrature.nodes)
                        .for_each(|(value, node)| *value *= 1.0 - node);
                }
            }
        }

        if scale == 0.0 {
            return;
        }
        let failed = -scale * integrand.iter().sum::<f64>();
        if failures > 0 {
            integrand
                .iter_mut()
                .zip(&quadrature.nodes)
                .for_each(|(value, node)| *value *= 1.0 - node);
        }

        let mut factors = factors.chunks_exact(quadrature.nodes.len());
        for (feature, passes) in path.features.iter().zip(&*passed) {
            out[feature.feature as usize] += match passes.then(|| factors.next()).flatten() {
                Some(factors) => {
                    let integral: f64 =
                        integrand.iter().zip(factors).map(|(value, factor)| value / factor).sum();
                    scale * (1.0 - feature.share) * integral
                }
                None => failed,
            };
        }
    }
}

/// Memory that is reused for each leaf.
#[derive(Default)]
struct ShapScratch {
    right: Vec<bool>,
    passed: Vec<bool>,
    integrand: Vec<f64>,
    factors: Vec<f64>,
}

/// Gauss-Legendre quadrature on the interval from 0 to 1.
#[derive(Debug, Clone)]
struct Quadrature {
    nodes: Vec<f64>,
    weights: Vec<f64>,
}

impl Quadrature {
    /// The roots of the Legendre polynomial of degree `count` by Newton's method, mapped to the
    /// interval from 0 to 1.
    fn new(count: usize) -> Self {
        let degree = count as f64;
        let mut quadrature =
            Quadrature { nodes: Vec::with_capacity(count), weights: Vec::with_capacity(count) };
        for root in 0..count {
            let mut x = (std::f64::consts::PI * (root as f64 + 0.75) / (degree + 0.5)).cos();
            let mut slope = 1.0;
            // Newton's method converges quadratically from this start; eight iterations are more
            // than any degree needs.
            for _ in 0..8 {
                let (mut before, mut value) = (1.0, x);
                for k in 2..=count {
                    let k = k as f64;
                    (before, value) =
                        (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
                }
                slope = degree * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            quadrature.nodes.push((1.0 - x) / 2.0);
            quadrature.weights.push(1.0 / ((1.0 - x * x) * slope * slope));
        }
        quadrature
    }
}

/// Upper bound of the number of edges on all paths to the leaves.
fn edge_count(tree: &Tree) -> usize {
    let mut depths = vec![0_usize; tree.nodes.len()];
    let mut sum = 0_usize;
    for (index, node) in tree.nodes.iter().enumerate() {
        for child in [node.left, node.right] {
            match child {
                Child::Node(child) => depths[child as usize] = depths[index] + 1,
                Child::Leaf(_) => sum = sum.saturating_add(depths[index] + 1),
            }
        }
    }
    sum
}

/// Each node's share of cover that goes right.
fn right_shares(tree: &Tree) -> Vec<f64> {
    let mut covers = vec![0.0_f64; tree.nodes.len()];
    let mut shares = vec![0.0; tree.nodes.len()];
    for (index, node) in tree.nodes.iter().enumerate().rev() {
        // Halved, so that the sum cannot overflow.
        let cover = |child| match child {
            Child::Node(child) => covers[child as usize] / 2.0,
            Child::Leaf(leaf) => tree.leaves[leaf as usize].cover / 2.0,
        };
        let (left, right) = (cover(node.left), cover(node.right));
        shares[index] = if left + right > 0.0 { right / (left + right) } else { 0.5 };
        covers[index] = ((left + right) * 2.0).min(f64::MAX);
    }
    shares
}

/// The paths to all leaves, in depth-first order; `values` gives the values of a leaf.
fn paths(tree: &Tree, values: impl Fn(usize) -> Vec<f64>) -> Vec<LeafPath> {
    let shares = right_shares(tree);
    let mut paths = Vec::with_capacity(tree.leaves.len());
    // The path to the present node; a stack entry has the length of the path at its parent.
    let mut current: Vec<(u32, bool)> = Vec::new();
    let mut stack = vec![(tree.root(), 0, None)];
    while let Some((at, length, edge)) = stack.pop() {
        current.truncate(length);
        current.extend(edge);
        match at {
            Child::Leaf(leaf) => paths.push(path(tree, &shares, &current, values(leaf as usize))),
            Child::Node(index) => {
                let node = &tree.nodes[index as usize];
                stack.push((node.right, current.len(), Some((index, true))));
                stack.push((node.left, current.len(), Some((index, false))));
            }
        }
    }
    paths
}

/// A path whose edges are grouped by feature.
fn path(tree: &Tree, shares: &[f64], path: &[(u32, bool)], values: Vec<f64>) -> LeafPath {
    let feature = |edge: &(u32, bool)| tree.nodes[edge.0 as usize].split.feature;
    let mut edges = path.to_vec();
    edges.sort_by_key(feature);
    let mut features: Vec<PathFeature> = Vec::new();
    for (at, edge) in edges.iter().enumerate() {
        let right = shares[edge.0 as usize];
        let share = if edge.1 { right } else { 1.0 - right };
        let end = at as u32 + 1;
        match features.last_mut() {
            Some(last) if last.feature == feature(edge) => {
                last.share *= share;
                last.end = end;
            }
            _ => features.push(PathFeature { feature: feature(edge), share, end }),
        }
    }
    LeafPath { values, features, edges }
}
