//! The end of the search: particles on the shards of all hosts.
//!
//! Particles are evaluated side by side, some at a time: each of their rounds is one message to
//! every host, which adds the leaf values of the round before and replies with sums by leaf of every
//! shard. The driver merges them in the order of shards and sets the leaves. What consecutive
//! particles share is computed again.

use super::backend::shards_of;
use super::factory::RemoteBackends;
use super::message::{ParticleTrees, ShardReply, ShardTargets, ShardWork};
use super::particle_fit::{LANE_BYTES, MOST_LANES, ROW_BYTES};
use crate::context::Context;
use crate::metric::{EvalMetric, Partial};
use crate::stats::backend::{Backend, BackendError};
use crate::stats::message::{ParticleFitness, Reply, Work};
use crate::stats::particles::{
    ClassedGroup, CodedData, ParticleConfig, ParticleFrame, ParticleLeaves, ParticleSet, TreeForm,
    add_sums, groups,
};

/// Bytes of sums by cell that one message may bring from all shards.
const CELL_BYTES: usize = 1 << 26;

/// Residuals and weights of the rows of each leaf.
type LeafResiduals = Vec<Vec<(f32, f32)>>;

/// Particles on rows that hosts hold.
pub(super) struct RemoteParticles<'a> {
    backends: &'a RemoteBackends<'a>,
    coded: CodedData<'a, u8>,
    frame: ParticleFrame<'a, u8>,
    fit: u32,
    /// The generation of each host that knows the fit.
    seen: Vec<Option<u32>>,
    /// What a new host must do: the work on the particles that are in the lanes.
    log: Vec<ShardWork>,
    /// The weight of all rows.
    weight: f64,
    /// The particle that is alone in the lanes, finished, with its leaves and its fitness.
    last: Option<(Vec<u32>, ParticleLeaves, f64)>,
    /// Columns as the rules see them; made when replacements are asked for.
    classed: Vec<ClassedGroup<u8>>,
}

impl<'a> RemoteParticles<'a> {
    pub(super) fn new(
        backends: &'a RemoteBackends<'a>,
        coded: CodedData<'a, u8>,
        set: ParticleSet<'a>,
        context: Context<'a>,
    ) -> Self {
        let frame = ParticleFrame::new(coded, set, context);
        let (_, weights) = frame.dealt(&coded.data.target, &coded.data.weight);
        // As shards sum their weights, and these are merged.
        let of_shard = |(weights, rows): (&Vec<f32>, usize)| match weights[..] {
            [] => rows as f64,
            _ => weights.iter().map(|&weight| f64::from(weight)).sum(),
        };
        let weight = weights.iter().zip(frame.plan.sizes()).map(of_shard).sum();
        RemoteParticles {
            backends,
            coded,
            frame,
            fit: backends.new_fit(),
            seen: vec![None; backends.hosts.len()],
            log: Vec::new(),
            weight,
            last: None,
            classed: Vec::new(),
        }
    }

    /// Sends work to all hosts; their replies to it.
    fn send(&mut self, work: ShardWork) -> Result<Vec<ShardReply>, BackendError> {
        match work {
            // Nothing that the lanes hold is of use any more.
            ShardWork::BeginParticles { .. } => self.log.clear(),
            ShardWork::ParticleTree { .. } => {
                self.log.retain(|past| !matches!(past, ShardWork::ParticleTree { .. }));
            }
            _ => {}
        }
        let (log, frame, coded, backends) = (&self.log, &self.frame, self.coded, self.backends);
        let past = |host: usize| {
            let mut past = vec![opening(backends, frame, coded, host)];
            past.extend_from_slice(log);
            past
        };
        let work = [work];
        let replies = backends.send(self.fit, &mut self.seen, &past, &work)?;
        self.log.extend(work.into_iter().filter(ShardWork::changes_shards));
        Ok(replies.into_iter().filter_map(|replies| replies.into_iter().next()).collect())
    }

    /// How many particles are evaluated side by side.
    fn lanes(&self) -> usize {
        let sizes = self.frame.plan.sizes();
        let of_host = |shards: &std::ops::Range<usize>| sizes[shards.clone()].iter().sum();
        let rows: usize = self.backends.hosts.iter().map(of_host).max().unwrap_or(1);
        let bytes = rows.max(1) * self.frame.outputs() * ROW_BYTES;
        (LANE_BYTES / bytes).clamp(1, MOST_LANES)
    }

    /// Evaluates some particles side by side, all rounds but for the end of the last one.
    fn grow(&mut self, sequences: &[Vec<u32>]) -> Result<Vec<ParticleLeaves>, BackendError> {
        self.last = None;
        let (rounds, each) = (self.frame.config.trees, self.frame.each_round());
        let mut all = vec![self.frame.no_leaves(); sequences.len()];
        self.send(ShardWork::BeginParticles { lanes: sequences.len() })?;
        for round in 0..rounds {
            let of_round =
                |sequence: &Vec<u32>| sequence[round * each..(round + 1) * each].to_vec();
            let rules = sequences.iter().map(of_round).collect();
            let values = match round {
                0 => Vec::new(),
                _ => self.values(&all, round - 1),
            };
            let replies = self.send(ShardWork::ParticleRound { round, rules, values })?;
            let shards = shards_of(replies, |reply| match reply {
                ShardReply::ParticleSums { shards } => Some(shards),
                _ => None,
            })?;
            let leaves = self.frame.outputs() << self.frame.config.depth;
            let is_whole = |shard: &Vec<Vec<[f64; 2]>>| {
                shard.len() == all.len() && shard.iter().all(|sums| sums.len() == leaves)
            };
            if shards.len() != self.frame.plan.shards || !shards.iter().all(is_whole) {
                return Err(BackendError::Reply { work: "ParticleRound" });
            }
            let mut residuals = self.residuals(round, all.len())?;
            for (lane, own) in all.iter_mut().enumerate() {
                let parts = shards.iter().map(|shard| &shard[lane][..]);
                let residuals = || std::mem::take(&mut residuals[lane]);
                self.frame.settle(own, round, parts, residuals);
            }
        }
        Ok(all)
    }

    /// Residuals by lane and leaf, for losses whose leaves take quantiles.
    fn residuals(
        &mut self,
        round: usize,
        lanes: usize,
    ) -> Result<Vec<LeafResiduals>, BackendError> {
        let mut all = vec![self.frame.no_residuals(round); lanes];
        if self.frame.objective.leaf_quantile().is_none() {
            return Ok(all);
        }
        let replies = self.send(ShardWork::ParticleResiduals { start: self.frame.start(0) })?;
        let shards = shards_of(replies, |reply| match reply {
            ShardReply::ParticleResiduals { shards } => Some(shards),
            _ => None,
        })?;
        for shard in shards {
            for (leaves, part) in all.iter_mut().zip(shard) {
                for (leaf, part) in leaves.iter_mut().zip(part) {
                    leaf.extend(part.into_iter().map(|[residual, weight]| (residual, weight)));
                }
            }
        }
        Ok(all)
    }

    fn values(&self, all: &[ParticleLeaves], round: usize) -> Vec<Vec<Vec<f32>>> {
        all.iter().map(|leaves| self.frame.plain_values(leaves, round)).collect()
    }

    /// Adds the last round of the particles in the lanes; what they measure.
    fn finish(&mut self, all: &[ParticleLeaves]) -> Result<Vec<f64>, BackendError> {
        let ParticleConfig { trees, fitness, .. } = self.frame.config;
        let values = self.values(all, trees - 1);
        let replies = self.send(ShardWork::ParticleFinish { values, metric: fitness })?;
        self.merged(fitness, replies, all.len())
    }

    /// A metric of the particles in the lanes, from the numbers of all shards.
    fn merged(
        &self,
        metric: EvalMetric,
        replies: Vec<ShardReply>,
        lanes: usize,
    ) -> Result<Vec<f64>, BackendError> {
        let shards = shards_of(replies, |reply| match reply {
            ShardReply::ParticleNumbers { shards } => Some(shards),
            _ => None,
        })?;
        if shards.iter().any(|numbers| numbers.len() != lanes) {
            return Err(BackendError::Reply { work: "ParticleFinish" });
        }
        let of_lane = |lane: usize| {
            let sum = shards.iter().map(|numbers| numbers[lane]).sum();
            metric.finish(Partial { sum, weight: self.weight })
        };
        Ok((0..lanes).map(of_lane).collect())
    }

    /// Evaluates particles, as many at a time as there are lanes. Interrupted, the run ends with
    /// those that are in the lanes; the first ones are always evaluated.
    fn evaluate_all(
        &mut self,
        sequences: &[Vec<u32>],
        with_leaves: bool,
    ) -> Result<Vec<Option<ParticleFitness>>, BackendError> {
        let mut found = Vec::with_capacity(sequences.len());
        for some in sequences.chunks(self.lanes()) {
            if !found.is_empty() && self.frame.context.budget.is_interrupted() {
                found.resize(sequences.len(), None);
                break;
            }
            let all = self.grow(some)?;
            let fitness = self.finish(&all)?;
            for (leaves, fitness) in all.into_iter().zip(fitness) {
                let leaves = if with_leaves { leaves.leaves } else { Vec::new() };
                found.push(Some(ParticleFitness { fitness, leaves, reused: 0 }));
            }
        }
        Ok(found)
    }

    /// Evaluates one particle, unless it was the last one; its leaves and its fitness.
    fn evaluate(&mut self, sequence: &[u32]) -> Result<(ParticleLeaves, f64), BackendError> {
        if let Some((last, leaves, fitness)) = &self.last
            && last == sequence
        {
            return Ok((leaves.clone(), *fitness));
        }
        let all = self.grow(&[sequence.to_vec()])?;
        let fitness = self.finish(&all)?.swap_remove(0);
        let leaves = all.into_iter().next().unwrap_or_else(|| self.frame.no_leaves());
        self.last = Some((sequence.to_vec(), leaves.clone(), fitness));
        Ok((leaves, fitness))
    }

    /// Scores of a particle for the training rows, in row order, one vector per output.
    fn scores(&mut self, sequence: &[u32]) -> Result<Vec<Vec<f32>>, BackendError> {
        self.evaluate(sequence)?;
        let replies = self.send(ShardWork::ParticleScores {})?;
        self.backends.gathered(replies, self.frame.outputs())
    }

    /// What an oblivious tree gains with each level replaced by each rule: level after level, rule
    /// after rule.
    fn replacements(&mut self, sequence: &[u32], tree: usize) -> Result<Vec<f64>, BackendError> {
        let (leaves, _) = self.evaluate(sequence)?;
        let frame = &self.frame;
        if self.classed.is_empty() {
            let columns = frame.layout.columns();
            let codes = |column: usize| columns[column].codes;
            self.classed = groups(&frame.questions, codes, &[], frame.context.pool);
        }
        let (round, output) = (tree / frame.outputs(), tree % frame.outputs());
        let values = (0..round).map(|round| frame.plain_values(&leaves, round)).collect();
        let rules = sequence[..(round + 1) * frame.each_round()].to_vec();
        self.send(ShardWork::ParticleTree { rules, values, output })?;

        let (cells, shards) = (1 << self.frame.config.depth, self.frame.plan.shards);
        let sizes: Vec<usize> = self.classed.iter().map(|group| cells * group.classes).collect();
        let (mut worths, mut first) = (Vec::with_capacity(sizes.len()), 0);
        while first < sizes.len() {
            let mut last = first + 1;
            let bytes = |groups: &[usize]| 16 * shards * groups.iter().sum::<usize>();
            while last < sizes.len() && bytes(&sizes[first..=last]) <= CELL_BYTES {
                last += 1;
            }
            let replies = self.send(ShardWork::ParticleCells { groups: [first, last] })?;
            let mut parts = shards_of(replies, |reply| match reply {
                ShardReply::ParticleCells { shards } => Some(shards),
                _ => None,
            })?;
            for (at, &size) in sizes[first..last].iter().enumerate() {
                let mut of_group = Vec::with_capacity(parts.len());
                for part in &mut parts {
                    let sums = part.get_mut(at).map(std::mem::take);
                    let sums = sums.filter(|sums| sums.len() == size);
                    of_group.push(sums.ok_or(BackendError::Reply { work: "ParticleCells" })?);
                }
                let sums = of_group.into_iter().reduce(add_sums).unwrap_or_default();
                worths.push(self.frame.worths_of(&self.classed[first + at], &sums));
            }
            first = last;
        }
        Ok(self.frame.by_level(&self.classed, worths))
    }

    fn execute(&mut self, work: &Work) -> Result<Reply, BackendError> {
        match work {
            Work::Describe {} => Ok(Reply::Description { data: self.frame.description() }),
            Work::EvaluateParticles { sequences, with_leaves } => {
                sequences.iter().try_for_each(|sequence| self.frame.check(work, sequence))?;
                Ok(Reply::Particles { particles: self.evaluate_all(sequences, *with_leaves)? })
            }
            Work::EvaluateParticle { sequence } => {
                self.frame.check(work, sequence)?;
                let (ParticleLeaves { sums, leaves }, fitness) = self.evaluate(sequence)?;
                let particle = ParticleFitness { fitness, leaves, reused: 0 };
                Ok(Reply::Particle { particle, sums })
            }
            Work::MeasureParticle { sequence, fitness } => {
                self.frame.check(work, sequence)?;
                self.evaluate(sequence)?;
                let replies = self.send(ShardWork::MeasureParticles { metric: *fitness })?;
                let value = self.merged(*fitness, replies, 1)?.first().copied();
                Ok(Reply::Value { value })
            }
            Work::ParticleScores { sequence } => {
                self.frame.check(work, sequence)?;
                Ok(Reply::Scores { scores: self.scores(sequence)? })
            }
            Work::ParticleReplacements { sequence, tree } => {
                self.frame.check(work, sequence)?;
                self.frame.check_tree(work, *tree)?;
                Ok(Reply::Replacements { gains: self.replacements(sequence, *tree)? })
            }
            _ => Err(BackendError::Unsupported { work: work.name() }),
        }
    }
}

impl Backend for RemoteParticles<'_> {
    fn run(&mut self, work: &[Work]) -> Result<Vec<Reply>, BackendError> {
        work.iter().map(|work| self.execute(work)).collect()
    }
}

impl Drop for RemoteParticles<'_> {
    fn drop(&mut self) {
        self.backends.close(self.fit, &self.seen);
    }
}

/// What a host must be told first.
fn opening(
    backends: &RemoteBackends<'_>,
    frame: &ParticleFrame<'_, u8>,
    coded: CodedData<'_, u8>,
    host: usize,
) -> ShardWork {
    let (targets, weights) = frame.dealt(&coded.data.target, &coded.data.weight);
    let shard = |shard: usize| ShardTargets {
        target: targets[shard].clone(),
        weight: weights[shard].clone(),
        score: Vec::new(),
    };
    ShardWork::OpenParticles {
        objective: backends.objective.clone(),
        start: frame.starts(),
        trees: ParticleTrees {
            is_free: frame.config.form == TreeForm::Free,
            depth: frame.config.depth,
            rules: coded.rules.to_vec(),
        },
        shards: backends.hosts[host].clone().map(shard).collect(),
    }
}
