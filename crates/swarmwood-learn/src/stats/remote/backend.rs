//! The end of the learner: one fit on the shards of all hosts.

use super::check::unknown;
use super::factory::RemoteBackends;
use super::growth::RemoteTree;
use super::message::{ShardReply, ShardTargets, ShardWork};
use super::replay::ReplayLog;
use crate::binned_tree::BinnedTree;
use crate::context::Context;
use crate::metric::{EvalMetric, Partial};
use crate::objective::order::weighted_quantile;
use crate::stats::backend::{Backend, BackendError};
use crate::stats::evaluation::{EvaluationSet, Evaluator, FitStart, gather};
use crate::stats::factory::TrainingSet;
use crate::stats::message::{
    BackendOptions, DataDescription, LeafQuantile, LeafSums, Reply, RowSet, Work,
};
use crate::stats::shard::{DerivativeSums, Shard};

/// A message costs more than some splits in vain.
const SPLITS_PER_MESSAGE: usize = 16;

/// One fit on rows that hosts hold. Rows that are only scored are in this process.
pub(super) struct Remote<'a> {
    pub(super) backends: &'a RemoteBackends<'a>,
    pub(super) set: TrainingSet<'a>,
    pub(super) context: Context<'a>,
    options: BackendOptions,
    start: FitStart,
    fit: u32,
    /// The generation of each host that knows the fit.
    seen: Vec<Option<u32>>,
    log: ReplayLog,
    /// Work without a result that waits for the next message.
    waiting: Vec<ShardWork>,
    valid: Option<EvaluationSet<'a>>,
    watched: Vec<EvaluationSet<'a>>,
    pub(super) derivative_sums: Vec<DerivativeSums>,
    pub(super) tree: RemoteTree,
}

/// What becomes of the reply to work that was sent.
enum Pending {
    /// Nothing.
    Ignored,
    Derive {
        output: Option<usize>,
    },
    LeafSums,
    Quantiles {
        alpha: f64,
    },
    Loss,
    Metric {
        metric: EvalMetric,
    },
    Scores {
        metric: Option<EvalMetric>,
    },
}

impl<'a> Remote<'a> {
    pub(super) fn new(
        backends: &'a RemoteBackends<'a>,
        set: TrainingSet<'a>,
        options: BackendOptions,
        context: Context<'a>,
    ) -> Self {
        let start = FitStart::of(&set);
        let (valid, watched) = EvaluationSet::all(&set, &start);
        Remote {
            backends,
            set,
            context,
            options,
            start,
            fit: backends.new_fit(),
            seen: vec![None; backends.hosts.len()],
            log: ReplayLog::default(),
            waiting: Vec::new(),
            valid,
            watched,
            derivative_sums: Vec::new(),
            tree: RemoteTree::new(options.memory),
        }
    }

    /// Sends work, after all that waits; the replies of each host to this work.
    pub(super) fn send(
        &mut self,
        work: Vec<ShardWork>,
    ) -> Result<Vec<Vec<ShardReply>>, BackendError> {
        let mut all = std::mem::take(&mut self.waiting);
        let first = all.len();
        all.extend(work);

        let (log, start, options) = (&self.log, &self.start, self.options);
        let (backends, set) = (self.backends, &self.set);
        let past = |host: usize| {
            let mut past = vec![opening(backends, set, start, options, host)];
            past.extend_from_slice(log.work());
            past
        };
        let mut replies = backends.send(self.fit, &mut self.seen, &past, &all)?;
        all.iter().for_each(|work| self.log.push(work));
        replies.iter_mut().for_each(|replies| drop(replies.drain(..first)));
        Ok(replies)
    }

    /// Work without a result that travels with the next message.
    pub(super) fn wait(&mut self, work: ShardWork) {
        self.waiting.push(work);
    }

    fn evaluator(&self) -> Evaluator<'_> {
        let TrainingSet { objective, metric, .. } = self.set;
        Evaluator { objective, metric, pool: self.context.pool, shift: self.start.shift }
    }

    fn outputs(&self) -> usize {
        self.start.base.len()
    }

    /// The work of hosts, where it does not depend on what they reply to earlier work.
    fn translate(&mut self, work: &Work) -> Result<Option<(ShardWork, Pending)>, BackendError> {
        let plain = |work: ShardWork| Ok(Some((work, Pending::Ignored)));
        match work.clone() {
            Work::Derive { output, extra_hessian } => {
                output.map_or(Ok(()), |output| self.check_output(work, output))?;
                let pending = Pending::Derive { output };
                Ok(Some((ShardWork::Derive { output, extra_hessian }, pending)))
            }
            Work::FinishTree { output, tree, leaves } => {
                self.check_output(work, output)?;
                self.add_to_scored(output, &tree, 1.0);
                plain(ShardWork::FinishTree { output, tree, leaves })
            }
            Work::AddTree { output, tree, factor, training, validation } => {
                self.check_output(work, output)?;
                if validation {
                    self.add_to_scored(output, &tree, factor);
                }
                let work = ShardWork::AddTree { output, tree, factor };
                Ok(training.then_some((work, Pending::Ignored)))
            }
            Work::AssignSlots { id, leaves } => plain(ShardWork::AssignSlots { id, leaves }),
            Work::AssignTree { id, tree } => plain(ShardWork::AssignTree { id, tree }),
            Work::DropTree { id } => plain(ShardWork::DropTree { id }),
            Work::Shift { output, id, values } => plain(ShardWork::Shift { output, id, values }),
            Work::ResetScores {} => plain(ShardWork::ResetScores {}),
            Work::SaveScores { id } => plain(ShardWork::SaveScores { id }),
            Work::RestoreScores { id } => plain(ShardWork::RestoreScores { id }),
            Work::DropScores { id } => plain(ShardWork::DropScores { id }),
            Work::ReleaseBuffers {} => {
                self.tree = RemoteTree::new(self.options.memory);
                plain(ShardWork::ReleaseBuffers {})
            }
            Work::LeafSums { output, id, leaves } => {
                Ok(Some((ShardWork::LeafSums { output, id, leaves }, Pending::LeafSums)))
            }
            Work::LeafQuantiles { rows, alpha } => {
                Ok(Some((ShardWork::Residuals { rows }, Pending::Quantiles { alpha })))
            }
            Work::Loss {} => Ok(Some((ShardWork::Loss {}, Pending::Loss))),
            Work::Metric { metric, rows: RowSet::Training } if metric.takes_all_rows() => {
                Ok(Some((ShardWork::Scores {}, Pending::Scores { metric: Some(metric) })))
            }
            Work::Metric { metric, rows: RowSet::Training } => {
                Ok(Some((ShardWork::Metric { metric }, Pending::Metric { metric })))
            }
            Work::GatherScores { rows: RowSet::Training } => {
                Ok(Some((ShardWork::Scores {}, Pending::Scores { metric: None })))
            }
            _ => Ok(None),
        }
    }

    /// Work that is done here, or that needs replies to earlier work.
    fn execute(&mut self, work: &Work) -> Result<Reply, BackendError> {
        match work {
            Work::Describe {} => {
                let (rows, base) = (self.set.data.rows(), self.start.base.clone());
                let data = DataDescription { rows, base, shift: self.start.shift };
                Ok(Reply::Description { data })
            }
            Work::BeginTree { output, sample, search, query } => {
                if *output >= self.derivative_sums.len() {
                    return Err(unknown("BeginTree", "output", *output));
                }
                if search.allowed.len() != self.backends.layout.features().len() {
                    return Err(unknown("BeginTree", "feature", search.allowed.len()));
                }
                let stats = self.begin_tree(*output, *sample, search, *query)?;
                Ok(Reply::Root { stats })
            }
            Work::Split { commands, query } => {
                Ok(Reply::Children { stats: self.split(commands, *query)? })
            }
            Work::Screen { most } => Ok(Reply::FeatureSets { sets: self.screen(*most)? }),
            Work::LookAhead { slots, sets } => {
                Ok(Reply::Lookahead { splits: self.look_ahead(slots, sets)? })
            }
            Work::Metric { metric, rows } => {
                let set = self.scored(*rows);
                let value = set.map(|set| {
                    let shards: Vec<&Shard> = set.shards.iter().collect();
                    self.evaluator().metric_of(*metric, set.rows, &shards)
                });
                Ok(Reply::Value { value })
            }
            Work::GatherScores { rows } => {
                let of = |set: &EvaluationSet<'_>| {
                    let shards: Vec<&Shard> = set.shards.iter().collect();
                    gather(&set.rows.plan, &shards, self.outputs())
                };
                Ok(Reply::Scores { scores: self.scored(*rows).map(of).unwrap_or_default() })
            }
            // Trees that are added to rows in this process alone.
            Work::AddTree { .. } => Ok(Reply::Done {}),
            _ => Err(BackendError::Unsupported { work: work.name() }),
        }
    }

    fn scored(&self, rows: RowSet) -> Option<&EvaluationSet<'a>> {
        match rows {
            RowSet::Training => None,
            RowSet::Validation => self.valid.as_ref(),
            RowSet::Watched { set } => self.watched.get(set),
        }
    }

    /// Adds the values of a tree to the rows that are only scored.
    fn add_to_scored(&mut self, output: usize, tree: &BinnedTree, factor: f64) {
        let values: Vec<f32> =
            tree.leaves.iter().map(|leaf| (leaf.value * factor) as f32).collect();
        let traversal = tree.traversal(&self.backends.layout);
        for set in self.valid.iter_mut().chain(&mut self.watched) {
            self.context
                .pool
                .each(&mut set.shards, |_, shard| shard.add_tree(output, &values, &traversal));
        }
    }

    /// Merges the replies of all hosts.
    fn merge(&mut self, pending: Pending, replies: Vec<ShardReply>) -> Result<Reply, BackendError> {
        match pending {
            Pending::Ignored => Ok(Reply::Done {}),
            Pending::Derive { output } => self.merge_derivatives(output, replies),
            Pending::LeafSums => {
                let parts = shards_of(replies, |reply| match reply {
                    ShardReply::LeafSums { shards } => Some(shards),
                    _ => None,
                })?;
                let add = |mut all: Vec<LeafSums>, part: Vec<LeafSums>| {
                    all.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
                    all
                };
                Ok(Reply::LeafSums { sums: parts.into_iter().reduce(add).unwrap_or_default() })
            }
            Pending::Quantiles { alpha } => merge_quantiles(alpha, replies),
            Pending::Loss => {
                let losses = shards_of(replies, |reply| match reply {
                    ShardReply::Numbers { shards } => Some(shards),
                    _ => None,
                })?;
                // As sums over shards are merged in this process, from the first one on.
                let total = losses.into_iter().reduce(|sum, part| sum + part);
                Ok(Reply::Value { value: Some(total.unwrap_or(0.0)) })
            }
            Pending::Metric { metric } => {
                let parts = shards_of(replies, |reply| match reply {
                    ShardReply::Metric { shards } => Some(shards),
                    _ => None,
                })?;
                let merge = |mut all: Partial, part: Partial| {
                    all.merge(part);
                    all
                };
                let all = parts.into_iter().reduce(merge).unwrap_or_default();
                Ok(Reply::Value { value: Some(metric.finish(all)) })
            }
            Pending::Scores { metric } => {
                let scores = self.backends.gathered(replies, self.outputs())?;
                Ok(match metric {
                    None => Reply::Scores { scores },
                    Some(metric) => {
                        let data = self.set.data;
                        let value = self.evaluator().metric_of_scores(metric, data, scores);
                        Reply::Value { value: Some(value) }
                    }
                })
            }
        }
    }

    fn merge_derivatives(
        &mut self,
        output: Option<usize>,
        replies: Vec<ShardReply>,
    ) -> Result<Reply, BackendError> {
        let parts = shards_of(replies, |reply| match reply {
            ShardReply::Derivatives { shards } => Some(shards),
            _ => None,
        })?;
        let outputs = self.outputs();
        self.derivative_sums.resize(outputs, DerivativeSums::default());
        let one = output.filter(|_| self.set.objective.one_output().is_some());
        let changed = one.map_or(0..outputs, |output| output..output + 1);
        if parts.iter().any(|sums| sums.len() != changed.len()) {
            return Err(BackendError::Reply { work: "Derive" });
        }
        let changed = &mut self.derivative_sums[changed];
        changed.fill(DerivativeSums::default());
        for sums in &parts {
            changed.iter_mut().zip(sums).for_each(|(sum, &part)| *sum += part);
        }
        Ok(Reply::Hessians { sums: changed.iter().map(|sums| sums.h).collect() })
    }

    fn check_output(&self, work: &Work, output: usize) -> Result<(), BackendError> {
        if output < self.outputs() { Ok(()) } else { Err(unknown(work.name(), "output", output)) }
    }

    /// Sends what was translated so far, if any of it has a result, and notes the replies.
    fn flush(
        &mut self,
        sent: &mut Vec<(usize, ShardWork, Pending)>,
        replies: &mut [Reply],
    ) -> Result<(), BackendError> {
        if sent.iter().all(|(_, _, pending)| matches!(pending, Pending::Ignored)) {
            self.waiting.extend(sent.drain(..).map(|(_, work, _)| work));
            return Ok(());
        }
        let all = std::mem::take(sent);
        let work = all.iter().map(|(_, work, _)| work.clone()).collect();
        let of_hosts = self.send(work)?;
        let mut of_hosts: Vec<_> = of_hosts.into_iter().map(Vec::into_iter).collect();
        for (at, _, pending) in all {
            let parts: Vec<ShardReply> = of_hosts.iter_mut().filter_map(Iterator::next).collect();
            replies[at] = self.merge(pending, parts)?;
        }
        Ok(())
    }
}

impl Backend for Remote<'_> {
    fn run(&mut self, work: &[Work]) -> Result<Vec<Reply>, BackendError> {
        let mut replies = vec![Reply::Done {}; work.len()];
        let mut sent = Vec::new();
        for (at, work) in work.iter().enumerate() {
            match self.translate(work)? {
                Some((work, pending)) => sent.push((at, work, pending)),
                None => {
                    self.flush(&mut sent, &mut replies)?;
                    replies[at] = self.execute(work)?;
                }
            }
        }
        self.flush(&mut sent, &mut replies)?;
        Ok(replies)
    }

    fn splits_per_message(&self) -> usize {
        SPLITS_PER_MESSAGE
    }
}

impl Drop for Remote<'_> {
    fn drop(&mut self) {
        self.backends.close(self.fit, &self.seen);
    }
}

/// What a host must be told first.
fn opening(
    backends: &RemoteBackends<'_>,
    set: &TrainingSet<'_>,
    start: &FitStart,
    options: BackendOptions,
    host: usize,
) -> ShardWork {
    let plan = backends.plan;
    let weight: Vec<f32> = set.data.weight.iter().map(|weight| weight as f32).collect();
    let (targets, weights) = (plan.deal(&start.target), plan.deal(&weight));
    let scores: Vec<Vec<Vec<f32>>> = set.initial.map_or(Vec::new(), |initial| {
        initial.training.iter().map(|scores| plan.deal(scores)).collect()
    });
    let shard = |shard: usize| ShardTargets {
        target: targets[shard].clone(),
        weight: weights[shard].clone(),
        score: scores.iter().flat_map(|scores| scores[shard].iter().copied()).collect(),
    };
    ShardWork::Open {
        objective: backends.objective.clone(),
        start: start.scores.clone(),
        keep_derivatives: options.keep_derivatives,
        shards: backends.hosts[host].clone().map(shard).collect(),
    }
}

/// The entries of all shards, in their order.
pub(super) fn shards_of<T>(
    replies: Vec<ShardReply>,
    entries: impl Fn(ShardReply) -> Option<Vec<T>>,
) -> Result<Vec<T>, BackendError> {
    let mut all = Vec::new();
    for reply in replies {
        all.extend(entries(reply).ok_or(BackendError::Reply { work: "a message" })?);
    }
    Ok(all)
}

fn merge_quantiles(alpha: f64, replies: Vec<ShardReply>) -> Result<Reply, BackendError> {
    let shards = shards_of(replies, |reply| match reply {
        ShardReply::Residuals { shards } => Some(shards),
        _ => None,
    })?;
    let leaves = shards.first().map_or(0, Vec::len);
    let mut residuals: Vec<Vec<(f32, f32)>> = vec![Vec::new(); leaves];
    for shard in shards {
        for (all, part) in residuals.iter_mut().zip(shard) {
            all.extend(part.into_iter().map(|[residual, weight]| (residual, weight)));
        }
    }
    let quantile = |mut residuals: Vec<(f32, f32)>| {
        let weight = residuals.iter().map(|&(_, weight)| f64::from(weight)).sum();
        let value = weighted_quantile(&mut residuals, alpha).unwrap_or(0.0);
        LeafQuantile { value, weight }
    };
    Ok(Reply::LeafQuantiles { quantiles: residuals.into_iter().map(quantile).collect() })
}
