//! What a fit asks of the hosts of its shards, and what they reply.

use crate::binned_tree::BinnedTree;
use crate::kernels::quantise::GradientScale;
use crate::metric::{EvalMetric, Partial};
use crate::rule::BinRule;
use crate::stats::codec::{CodecError, Encode, encode_enum, encode_struct};
use crate::stats::message::{
    LeafRows, LeafSlot, LeafSums, RowSample, SnapshotId, SplitCommand, TreeId,
};
use crate::stats::shard::{DerivativeSums, SampledRows};

/// Work of one fit, in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShardRequest {
    /// The fit.
    pub fit: u32,
    /// What to do.
    pub work: Vec<ShardWork>,
}

/// The targets and weights of the rows of one shard.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShardTargets {
    /// As the objective sees them.
    pub target: Vec<f32>,
    /// Empty if every row weighs one.
    pub weight: Vec<f32>,
    /// Scores that differ from the start values, output after output; empty otherwise.
    pub score: Vec<f32>,
}

/// An objective as plain data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ObjectiveName {
    pub name: String,
    pub parameter: f64,
    pub classes: usize,
}

/// One request to the shards of a host.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ShardWork {
    /// Begins a fit.
    Open {
        objective: ObjectiveName,
        /// Scores that rows start from, one per output.
        start: Vec<f32>,
        keep_derivatives: bool,
        /// One entry per shard of the host.
        shards: Vec<ShardTargets>,
    },
    /// Forgets the fit.
    Close {},
    /// Replied with [`ShardReply::Derivatives`].
    Derive {
        output: Option<usize>,
        extra_hessian: f64,
    },
    /// Replied with [`ShardReply::Root`].
    BeginTree {
        output: usize,
        scale: GradientScale,
        sample: Option<RowSample>,
    },
    /// Moves rows; replied with [`ShardReply::Counts`].
    Split {
        commands: Vec<SplitCommand>,
    },
    /// Adds the values of the tree that has just grown.
    FinishTree {
        output: usize,
        tree: BinnedTree,
        leaves: Vec<LeafSlot>,
    },
    AddTree {
        output: usize,
        tree: BinnedTree,
        factor: f64,
    },
    AssignSlots {
        id: TreeId,
        leaves: Vec<LeafSlot>,
    },
    AssignTree {
        id: TreeId,
        tree: BinnedTree,
    },
    DropTree {
        id: TreeId,
    },
    Shift {
        output: usize,
        id: TreeId,
        values: Vec<f64>,
    },
    ResetScores {},
    SaveScores {
        id: SnapshotId,
    },
    RestoreScores {
        id: SnapshotId,
    },
    DropScores {
        id: SnapshotId,
    },
    ReleaseBuffers {},
    /// Histograms of slots; replied with [`ShardReply::Tables`].
    Count {
        slots: Vec<usize>,
    },
    /// Replied with [`ShardReply::Samples`].
    Sample {
        slot: usize,
        below: u32,
        columns: Vec<usize>,
    },
    /// Replied with [`ShardReply::LeafSums`].
    LeafSums {
        output: usize,
        id: TreeId,
        leaves: usize,
    },
    /// Replied with [`ShardReply::Residuals`].
    Residuals {
        rows: LeafRows,
    },
    /// Replied with [`ShardReply::Numbers`].
    Loss {},
    /// Replied with [`ShardReply::Metric`].
    Metric {
        metric: EvalMetric,
    },
    /// Replied with [`ShardReply::Scores`].
    Scores {},
    /// The binned rows; replied with [`ShardReply::Codes`]. Needs no fit.
    Codes {},
    /// Which codes occur; replied with [`ShardReply::SeenCodes`]. Needs no fit.
    SeenCodes {},
    /// Begins a fit by particles.
    OpenParticles {
        objective: ObjectiveName,
        /// Scores that rows start from, one per output.
        start: Vec<f32>,
        trees: ParticleTrees,
        /// One entry per shard of the host.
        shards: Vec<ShardTargets>,
    },
    /// Makes room for particles that are evaluated side by side.
    BeginParticles {
        lanes: usize,
    },
    /// Adds the leaf values of the round before, and sums derivatives by leaf of the next trees;
    /// replied with [`ShardReply::ParticleSums`].
    ParticleRound {
        round: usize,
        /// The rules of a round by lane, one tree per output.
        rules: Vec<Vec<u32>>,
        /// Leaf values by lane and output; empty in the first round.
        values: Vec<Vec<Vec<f32>>>,
    },
    /// Residuals of the latest round; replied with [`ShardReply::ParticleResiduals`].
    ParticleResiduals {
        start: f32,
    },
    /// Adds the leaf values of the last round; replied with [`ShardReply::ParticleNumbers`].
    ParticleFinish {
        values: Vec<Vec<Vec<f32>>>,
        metric: EvalMetric,
    },
    /// Replied with [`ShardReply::ParticleNumbers`].
    MeasureParticles {
        metric: EvalMetric,
    },
    /// The scores of the first lane; replied with [`ShardReply::Scores`].
    ParticleScores {},
    /// Looks at the rows before a tree.
    ParticleTree {
        /// The rules of all trees up to the end of its round.
        rules: Vec<u32>,
        /// Leaf values by round and output, of the rounds before.
        values: Vec<Vec<Vec<f32>>>,
        output: usize,
    },
    /// Sums by leaf of that tree and class of some groups of columns, from the first one to the one
    /// before the second; replied with [`ShardReply::ParticleCells`].
    ParticleCells {
        groups: [usize; 2],
    },
}

/// The trees of particles.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParticleTrees {
    /// Whether every node has its own rule.
    pub is_free: bool,
    pub depth: usize,
    /// The rules by number.
    pub rules: Vec<BinRule>,
}

/// The result of one [`ShardWork`]; vectors have one entry per shard of the host unless said
/// otherwise.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ShardReply {
    Done {},
    /// Sums per output.
    Derivatives {
        shards: Vec<Vec<DerivativeSums>>,
    },
    /// The packed sum and the number of the rows that the tree sees, of all shards.
    Root {
        total: u64,
        rows: usize,
    },
    /// Rows that went left and right by command, of all shards.
    Counts {
        rows: Vec<[usize; 2]>,
    },
    /// By slot, of all shards: the sums of each stored code, column after column.
    Tables {
        slots: Vec<Vec<u64>>,
    },
    Samples {
        shards: Vec<SampledRows>,
    },
    LeafSums {
        shards: Vec<Vec<LeafSums>>,
    },
    /// By shard and leaf: residuals and weights of the rows.
    Residuals {
        shards: Vec<Vec<Vec<[f32; 2]>>>,
    },
    Numbers {
        shards: Vec<f64>,
    },
    Metric {
        shards: Vec<Partial>,
    },
    /// Output after output.
    Scores {
        shards: Vec<Vec<f32>>,
    },
    /// Column after column.
    Codes {
        shards: Vec<Vec<u8>>,
    },
    /// By column and code, of all shards.
    SeenCodes {
        columns: Vec<Vec<bool>>,
    },
    /// By lane and leaf.
    ParticleSums {
        shards: Vec<Vec<Vec<[f64; 2]>>>,
    },
    /// By lane and leaf: residuals and weights of the rows.
    ParticleResiduals {
        shards: Vec<Vec<Vec<Vec<[f32; 2]>>>>,
    },
    /// By lane.
    ParticleNumbers {
        shards: Vec<Vec<f64>>,
    },
    /// By group, leaf and class.
    ParticleCells {
        shards: Vec<Vec<Vec<[f64; 2]>>>,
    },
}

/// What a host answers to a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum HostReply {
    /// One reply per work.
    Replies { replies: Vec<ShardReply> },
    /// Why the request was refused.
    Refused { reason: String },
}

impl ShardWork {
    /// Whether the state of a shard is another one afterwards.
    pub fn changes_shards(&self) -> bool {
        !matches!(
            self,
            ShardWork::Count { .. }
                | ShardWork::Sample { .. }
                | ShardWork::LeafSums { .. }
                | ShardWork::Residuals { .. }
                | ShardWork::Loss {}
                | ShardWork::Metric { .. }
                | ShardWork::Scores {}
                | ShardWork::Codes {}
                | ShardWork::SeenCodes {}
                | ShardWork::ParticleResiduals { .. }
                | ShardWork::MeasureParticles { .. }
                | ShardWork::ParticleScores {}
                | ShardWork::ParticleCells { .. }
        )
    }

    /// The name of the request, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            ShardWork::Open { .. } => "Open",
            ShardWork::Close {} => "Close",
            ShardWork::Derive { .. } => "Derive",
            ShardWork::BeginTree { .. } => "BeginTree",
            ShardWork::Split { .. } => "Split",
            ShardWork::FinishTree { .. } => "FinishTree",
            ShardWork::AddTree { .. } => "AddTree",
            ShardWork::AssignSlots { .. } => "AssignSlots",
            ShardWork::AssignTree { .. } => "AssignTree",
            ShardWork::DropTree { .. } => "DropTree",
            ShardWork::Shift { .. } => "Shift",
            ShardWork::ResetScores {} => "ResetScores",
            ShardWork::SaveScores { .. } => "SaveScores",
            ShardWork::RestoreScores { .. } => "RestoreScores",
            ShardWork::DropScores { .. } => "DropScores",
            ShardWork::ReleaseBuffers {} => "ReleaseBuffers",
            ShardWork::Count { .. } => "Count",
            ShardWork::Sample { .. } => "Sample",
            ShardWork::LeafSums { .. } => "LeafSums",
            ShardWork::Residuals { .. } => "Residuals",
            ShardWork::Loss {} => "Loss",
            ShardWork::Metric { .. } => "Metric",
            ShardWork::Scores {} => "Scores",
            ShardWork::Codes {} => "Codes",
            ShardWork::SeenCodes {} => "SeenCodes",
            ShardWork::OpenParticles { .. } => "OpenParticles",
            ShardWork::BeginParticles { .. } => "BeginParticles",
            ShardWork::ParticleRound { .. } => "ParticleRound",
            ShardWork::ParticleResiduals { .. } => "ParticleResiduals",
            ShardWork::ParticleFinish { .. } => "ParticleFinish",
            ShardWork::MeasureParticles { .. } => "MeasureParticles",
            ShardWork::ParticleScores {} => "ParticleScores",
            ShardWork::ParticleTree { .. } => "ParticleTree",
            ShardWork::ParticleCells { .. } => "ParticleCells",
        }
    }
}

encode_struct!(GradientScale { g, h });
encode_struct!(DerivativeSums { abs_g, h });
encode_struct!(Partial { sum, weight });
encode_struct!(ShardTargets { target, weight, score });
encode_struct!(ObjectiveName { name, parameter, classes });
encode_struct!(ParticleTrees { is_free, depth, rules });
encode_struct!(ShardRequest { fit, work });
encode_enum!(HostReply { 0 => Replies { replies }, 1 => Refused { reason } });
encode_enum!(ShardWork {
    0 => Open { objective, start, keep_derivatives, shards },
    1 => Close {},
    2 => Derive { output, extra_hessian },
    3 => BeginTree { output, scale, sample },
    4 => Split { commands },
    5 => FinishTree { output, tree, leaves },
    6 => AddTree { output, tree, factor },
    7 => AssignSlots { id, leaves },
    8 => AssignTree { id, tree },
    9 => DropTree { id },
    10 => Shift { output, id, values },
    11 => ResetScores {},
    12 => SaveScores { id },
    13 => RestoreScores { id },
    14 => DropScores { id },
    15 => ReleaseBuffers {},
    16 => Count { slots },
    17 => Sample { slot, below, columns },
    18 => LeafSums { output, id, leaves },
    19 => Residuals { rows },
    20 => Loss {},
    21 => Metric { metric },
    22 => Scores {},
    23 => Codes {},
    24 => SeenCodes {},
    25 => OpenParticles { objective, start, trees, shards },
    26 => BeginParticles { lanes },
    27 => ParticleRound { round, rules, values },
    28 => ParticleResiduals { start },
    29 => ParticleFinish { values, metric },
    30 => MeasureParticles { metric },
    31 => ParticleScores {},
    32 => ParticleTree { rules, values, output },
    33 => ParticleCells { groups },
});
encode_enum!(ShardReply {
    0 => Done {},
    1 => Derivatives { shards },
    2 => Root { total, rows },
    3 => Counts { rows },
    4 => Tables { slots },
    5 => Samples { shards },
    6 => LeafSums { shards },
    7 => Residuals { shards },
    8 => Numbers { shards },
    9 => Metric { shards },
    10 => Scores { shards },
    11 => Codes { shards },
    12 => SeenCodes { columns },
    13 => ParticleSums { shards },
    14 => ParticleResiduals { shards },
    15 => ParticleNumbers { shards },
    16 => ParticleCells { shards },
});
