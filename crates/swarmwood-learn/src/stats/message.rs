//! The messages: what learners request of the rows, and what they receive.

use swarmwood_model::Leaf;
use swarmwood_model::monotone::Direction;

use super::lookahead::{FeatureSet, LookaheadSplit};
use crate::binned_tree::BinnedTree;
use crate::kernels::quantise::GradientSums;
use crate::metric::EvalMetric;
use crate::rule::BinRule;
use crate::split::{Penalties, SplitCandidate};

/// Names the leaf assignment of one tree: the leaf of every training row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeId(pub u32);

/// Names a saved copy of all training scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotId(pub u32);

/// Training or validation rows, or others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSet {
    /// The rows that are learnt from.
    Training,
    /// The rows that are only scored, and by which learners decide.
    Validation,
    /// One of the sets of rows that are only scored, and decide nothing.
    Watched {
        /// Its number.
        set: usize,
    },
}

/// The random sample of rows that one tree is grown on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowSample {
    /// Share of the rows, below one.
    pub share: f64,
    /// Seed of the run.
    pub seed: u64,
    /// Boosting round; every round draws a new sample.
    pub round: u64,
}

/// Which statistics of new nodes are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitQuery {
    /// Only their sums: they will be leaves.
    Sums,
    /// The best rule of each node.
    Each,
    /// One rule for all of them together; it is reported as the best of the first node.
    Shared,
}

/// What the search for rules of one tree is restricted to.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitConstraints {
    /// Which features may be used.
    pub allowed: Vec<bool>,
    /// Penalties on leaf values and splits.
    pub penalties: Penalties,
    /// The direction of each feature of the layout; empty if none has one.
    pub directions: Vec<Option<Direction>>,
    /// Groups of features of the layout, ascending: all features on one path must be in one group.
    /// Empty if all may.
    pub groups: Vec<Vec<u32>>,
}

/// A split to carry out: each row of `slot` is now in one of two new slots as well. The old slot
/// still names all of its rows, because it becomes a leaf if the split is not made after all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitCommand {
    /// Slot to split.
    pub slot: usize,
    /// The rule.
    pub rule: BinRule,
    /// Slot of the failing rows.
    pub left: usize,
    /// Slot of the passing rows.
    pub right: usize,
}

/// Statistics of one node of the growing tree.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NodeStats {
    /// Sums of gradients and hessians; both zero if the node has no rows.
    pub sums: GradientSums,
    /// The best rule, if one was asked for and any gains.
    pub best: Option<SplitCandidate>,
}

/// A slot of the growing tree that became a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafSlot {
    /// The slot.
    pub slot: usize,
    /// The leaf's number in the tree.
    pub leaf: usize,
}

/// Sums over the rows of one leaf.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LeafSums {
    /// Gradients.
    pub g: f64,
    /// Hessians, with the extra hessian of [`Work::Derive`].
    pub h: f64,
    /// Row weights.
    pub weight: f64,
}

impl std::ops::AddAssign for LeafSums {
    fn add_assign(&mut self, other: LeafSums) {
        self.g += other.g;
        self.h += other.h;
        self.weight += other.weight;
    }
}

/// Where the leaves of [`Work::LeafQuantiles`] are.
#[derive(Debug, Clone, PartialEq)]
pub enum LeafRows {
    /// In slots of the growing tree.
    Slots {
        /// The slots, one result each.
        slots: Vec<usize>,
    },
    /// In an assigned tree.
    Tree {
        /// The tree.
        id: TreeId,
        /// Number of its leaves.
        leaves: usize,
    },
}

/// A quantile of the residuals of one leaf's rows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LeafQuantile {
    /// The weighted quantile; zero for a leaf without weight.
    pub value: f64,
    /// Sum of the rows' weights.
    pub weight: f64,
}

/// What a backend must know before the first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendOptions {
    /// Bytes of histograms that may be kept while a tree grows.
    pub memory: usize,
    /// Whether derivatives stay available for [`Work::LeafSums`] after a tree has grown, at eight
    /// bytes per row.
    pub keep_derivatives: bool,
}

/// The facts about the rows that every fit starts from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DataDescription {
    /// Training rows.
    pub rows: usize,
    /// Start value of each output.
    pub base: Vec<f64>,
    /// What to add to a score to get the raw score (see
    /// [`crate::objective::Objective::shift_invariant`]).
    pub shift: f64,
}

/// How a column of the linear booster is standardised: a number becomes `(x - centre) / spread`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnScale {
    /// Weighted mean.
    pub centre: f64,
    /// Standard deviation; zero if the column does not vary.
    pub spread: f64,
}

/// What a coefficient of the linear booster belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinearColumn {
    /// The constant.
    Bias {},
    /// A feature; one coefficient for a number, one per level for a category.
    Feature {
        /// Its position in the schema.
        feature: usize,
    },
}

/// How good one particle is.
#[derive(Debug, Clone, PartialEq)]
pub struct ParticleFitness {
    /// The fitness as users know it: mean loss, accuracy, or RMSE. NaN if no row has weight.
    pub fitness: f64,
    /// Its leaves, tree after tree, if they were asked for.
    pub leaves: Vec<Leaf>,
    /// How many rounds were taken over from the particle before.
    pub reused: usize,
}

/// One request to all rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// The facts about the rows; replied with [`Reply::Description`].
    Describe {},
    /// Derivatives of the loss at the present scores; replied with [`Reply::Hessians`].
    Derive {
        /// The output whose derivatives are needed; all of them if `None`.
        output: Option<usize>,
        /// Added to every hessian, times the row's weight; zero for plain boosting.
        extra_hessian: f64,
    },
    /// Starts a tree: slot 0 holds its rows. Replied with [`Reply::Root`].
    BeginTree {
        /// The output whose derivatives are used.
        output: usize,
        /// The rows it is grown on; all if `None`.
        sample: Option<RowSample>,
        /// Allowed features and penalties.
        search: SplitConstraints,
        /// What is wanted of the root.
        query: SplitQuery,
    },
    /// Splits slots; replied with [`Reply::Children`], in the order of the commands.
    Split {
        /// The splits, for example a whole level.
        commands: Vec<SplitCommand>,
        /// What is wanted of the children.
        query: SplitQuery,
    },
    /// Sets of features that interact in the rows of the growing tree, at its gradients; replied
    /// with [`Reply::FeatureSets`].
    Screen {
        /// Sets at most.
        most: usize,
    },
    /// First splits of trees over some of the sets, slot by slot; replied with
    /// [`Reply::Lookahead`].
    LookAhead {
        /// The slots.
        slots: Vec<usize>,
        /// The sets.
        sets: Vec<FeatureSet>,
    },
    /// Adds the values of the tree that has just grown to all scores.
    FinishTree {
        /// The output.
        output: usize,
        /// The tree.
        tree: BinnedTree,
        /// Which slot became which leaf.
        leaves: Vec<LeafSlot>,
    },
    /// Adds any tree, scaled, to scores.
    AddTree {
        /// The output.
        output: usize,
        /// The tree.
        tree: BinnedTree,
        /// Factor on the leaf values.
        factor: f64,
        /// Whether to add to the scores of training rows.
        training: bool,
        /// Whether to add to the scores of validation rows.
        validation: bool,
    },
    /// Remembers the leaf of every training row in the tree that has just grown.
    AssignSlots {
        /// The new name.
        id: TreeId,
        /// Which slot became which leaf.
        leaves: Vec<LeafSlot>,
    },
    /// Remembers the leaf of every training row in any tree.
    AssignTree {
        /// The new name.
        id: TreeId,
        /// The tree.
        tree: BinnedTree,
    },
    /// Forgets a leaf assignment.
    DropTree {
        /// Its name.
        id: TreeId,
    },
    /// Sums of derivatives over the rows of each leaf; replied with [`Reply::LeafSums`].
    LeafSums {
        /// The output.
        output: usize,
        /// The assigned tree.
        id: TreeId,
        /// Number of its leaves.
        leaves: usize,
    },
    /// Quantiles of the residuals of each leaf; replied with [`Reply::LeafQuantiles`].
    LeafQuantiles {
        /// The leaves.
        rows: LeafRows,
        /// The quantile, from 0 to 1.
        alpha: f64,
    },
    /// Adds a value per leaf to the scores of training rows.
    Shift {
        /// The output.
        output: usize,
        /// The assigned tree.
        id: TreeId,
        /// One value per leaf.
        values: Vec<f64>,
    },
    /// Sets the scores of all training rows to the start values.
    ResetScores {},
    /// The loss summed over all training rows; replied with [`Reply::Value`].
    Loss {},
    /// A metric; replied with [`Reply::Value`], which is `None` if there are no such rows.
    Metric {
        /// What is measured.
        metric: EvalMetric,
        /// On which rows.
        rows: RowSet,
    },
    /// Saves a copy of all training scores.
    SaveScores {
        /// The new name.
        id: SnapshotId,
    },
    /// Returns to a saved copy, which stays available.
    RestoreScores {
        /// Its name.
        id: SnapshotId,
    },
    /// Forgets a saved copy.
    DropScores {
        /// Its name.
        id: SnapshotId,
    },
    /// The scores of all rows, in row order, one vector per output; replied with
    /// [`Reply::Scores`]. Only for the end of a fit.
    GatherScores {
        /// Of which rows.
        rows: RowSet,
    },
    /// Frees what only growing trees need.
    ReleaseBuffers {},
    /// How columns are standardised; replied with [`Reply::LinearScales`].
    LinearScales {},
    /// Derivatives at the scores of the last [`Work::Loss`], and a copy of the scores to return to;
    /// replied with [`Reply::Value`], which is `None` if nothing can be gained.
    LinearDerive {},
    /// Sums of gradients and hessians of a column's coefficients; replied with
    /// [`Reply::LinearSums`].
    LinearSums {
        /// The output.
        output: usize,
        /// The column.
        column: LinearColumn,
    },
    /// Lets gradients follow the steps of a column's coefficients.
    LinearStep {
        /// The output.
        output: usize,
        /// The column.
        column: LinearColumn,
        /// One step per coefficient.
        by: Vec<f64>,
    },
    /// Adds the steps of a round to the scores of an output.
    LinearAdd {
        /// The output.
        output: usize,
        /// The step of the bias.
        bias: f64,
        /// The steps of all coefficients.
        steps: Vec<f64>,
    },
    /// How far scores moved since [`Work::LinearDerive`]; replied with [`Reply::LinearMove`].
    LinearMove {},
    /// Halves the way since [`Work::LinearDerive`].
    LinearHalve {},
    /// Returns to the scores at [`Work::LinearDerive`].
    LinearRestore {},
    /// A metric of a linear model; replied with [`Reply::Value`], which is `None` if there are no
    /// such rows.
    LinearMetric {
        /// What is measured.
        metric: EvalMetric,
        /// On which rows.
        rows: RowSet,
        /// The bias of each output.
        bias: Vec<f64>,
        /// The coefficients, output after output.
        beta: Vec<f64>,
    },
    /// Evaluates particles side by side; replied with [`Reply::Particles`].
    EvaluateParticles {
        /// Rule numbers of each particle.
        sequences: Vec<Vec<u32>>,
        /// Whether the leaves are wanted as well.
        with_leaves: bool,
    },
    /// Evaluates one particle; replied with [`Reply::Particle`].
    EvaluateParticle {
        /// Its rule numbers.
        sequence: Vec<u32>,
    },
    /// Another fitness of a particle; replied with [`Reply::Value`].
    MeasureParticle {
        /// Its rule numbers.
        sequence: Vec<u32>,
        /// What is measured.
        fitness: EvalMetric,
    },
    /// The scores of a particle, in row order, one vector per output; replied with
    /// [`Reply::Scores`]. Only for the end of a fit.
    ParticleScores {
        /// Its rule numbers.
        sequence: Vec<u32>,
    },
    /// What every replacement of one rule of a tree is worth; replied with
    /// [`Reply::Replacements`].
    ParticleReplacements {
        /// The particle's rule numbers.
        sequence: Vec<u32>,
        /// The tree.
        tree: usize,
    },
}

/// The result of one [`Work`].
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Work without a result was done.
    Done {},
    /// To [`Work::Describe`].
    Description {
        /// The facts.
        data: DataDescription,
    },
    /// To [`Work::Derive`]: the sum of all hessians, for each output whose derivatives were asked for.
    Hessians {
        /// The sums.
        sums: Vec<f64>,
    },
    /// To [`Work::BeginTree`].
    Root {
        /// Statistics of the root.
        stats: NodeStats,
    },
    /// To [`Work::Split`].
    Children {
        /// Left and right child per command.
        stats: Vec<[NodeStats; 2]>,
    },
    /// To [`Work::Screen`].
    FeatureSets {
        /// The clearest first.
        sets: Vec<FeatureSet>,
    },
    /// To [`Work::LookAhead`].
    Lookahead {
        /// One entry per slot; `None` where no such tree gains.
        splits: Vec<Option<LookaheadSplit>>,
    },
    /// To [`Work::LeafSums`].
    LeafSums {
        /// One entry per leaf.
        sums: Vec<LeafSums>,
    },
    /// To [`Work::LeafQuantiles`].
    LeafQuantiles {
        /// One entry per leaf.
        quantiles: Vec<LeafQuantile>,
    },
    /// To [`Work::Loss`] and [`Work::Metric`].
    Value {
        /// The number.
        value: Option<f64>,
    },
    /// To [`Work::GatherScores`] and [`Work::ParticleScores`].
    Scores {
        /// One vector per output.
        scores: Vec<Vec<f32>>,
    },
    /// To [`Work::LinearScales`].
    LinearScales {
        /// One entry per feature.
        scales: Vec<ColumnScale>,
        /// Sum of the weights of the training rows.
        total_weight: f64,
    },
    /// To [`Work::LinearSums`].
    LinearSums {
        /// Gradients and hessians of each coefficient.
        sums: Vec<[f64; 2]>,
    },
    /// To [`Work::LinearMove`].
    LinearMove {
        /// The largest absolute score.
        largest: f64,
        /// The largest absolute change.
        moved: f64,
    },
    /// To [`Work::EvaluateParticles`]; `None` where the run was interrupted before.
    Particles {
        /// One entry per particle.
        particles: Vec<Option<ParticleFitness>>,
    },
    /// To [`Work::EvaluateParticle`].
    Particle {
        /// How good it is, with its leaves.
        particle: ParticleFitness,
        /// Sums of derivatives of each leaf, tree after tree.
        sums: Vec<[f64; 2]>,
    },
    /// To [`Work::ParticleReplacements`].
    Replacements {
        /// The value of the tree, level after level and rule after rule.
        gains: Vec<f64>,
    },
}

impl Work {
    /// The name of the request, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Work::Describe {} => "Describe",
            Work::Derive { .. } => "Derive",
            Work::BeginTree { .. } => "BeginTree",
            Work::Split { .. } => "Split",
            Work::Screen { .. } => "Screen",
            Work::LookAhead { .. } => "LookAhead",
            Work::FinishTree { .. } => "FinishTree",
            Work::AddTree { .. } => "AddTree",
            Work::AssignSlots { .. } => "AssignSlots",
            Work::AssignTree { .. } => "AssignTree",
            Work::DropTree { .. } => "DropTree",
            Work::LeafSums { .. } => "LeafSums",
            Work::LeafQuantiles { .. } => "LeafQuantiles",
            Work::Shift { .. } => "Shift",
            Work::ResetScores {} => "ResetScores",
            Work::Loss {} => "Loss",
            Work::Metric { .. } => "Metric",
            Work::SaveScores { .. } => "SaveScores",
            Work::RestoreScores { .. } => "RestoreScores",
            Work::DropScores { .. } => "DropScores",
            Work::GatherScores { .. } => "GatherScores",
            Work::ReleaseBuffers {} => "ReleaseBuffers",
            Work::LinearScales {} => "LinearScales",
            Work::LinearDerive {} => "LinearDerive",
            Work::LinearSums { .. } => "LinearSums",
            Work::LinearStep { .. } => "LinearStep",
            Work::LinearAdd { .. } => "LinearAdd",
            Work::LinearMove {} => "LinearMove",
            Work::LinearHalve {} => "LinearHalve",
            Work::LinearRestore {} => "LinearRestore",
            Work::LinearMetric { .. } => "LinearMetric",
            Work::EvaluateParticles { .. } => "EvaluateParticles",
            Work::EvaluateParticle { .. } => "EvaluateParticle",
            Work::MeasureParticle { .. } => "MeasureParticle",
            Work::ParticleScores { .. } => "ParticleScores",
            Work::ParticleReplacements { .. } => "ParticleReplacements",
        }
    }
}
