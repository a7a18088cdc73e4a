//! A learner's end of the boundary.

use std::sync::{Arc, Mutex, PoisonError};

use super::backend::{Backend, BackendError};
use super::factory::TrainingSet;
use super::message::{
    BackendOptions, DataDescription, LeafQuantile, LeafSums, NodeStats, Reply, RowSet, SnapshotId,
    SplitCommand, SplitConstraints, SplitQuery, TreeId, Work,
};
use crate::binned_tree::BinnedTree;
use crate::bins::{GivenRule, Layout};
use crate::constraints::Constraints;
use crate::context::Context;
use crate::metric::EvalMetric;
use crate::split::Penalties;

/// Sends work to a backend. Work without a result waits and travels with the next request, so that
/// it costs no message of its own.
pub struct Client<'a> {
    backend: Box<dyn Backend + 'a>,
    layout: &'a Layout,
    constraints: &'a Constraints,
    /// The splits that every tree begins with.
    given: Vec<GivenRule>,
    data: DataDescription,
    pending: Vec<Work>,
    /// Whose replies are kept: places in `pending`, with their tickets.
    deferred: Vec<(usize, Ticket)>,
    /// Replies to deferred work that were not taken yet.
    replies: Vec<(Ticket, Reply)>,
    dropped: DropList,
    last_id: u32,
    messages: u64,
}

/// Names the reply to deferred work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket(u32);

/// Work that frees what dropped handles named.
type DropList = Arc<Mutex<Vec<Work>>>;

/// Owns the leaf assignment of a tree behind the boundary, which is freed with the last clone.
#[derive(Debug, Clone)]
pub struct TreeHandle(Arc<HandleId<TreeId>>);

/// Owns a saved copy of all training scores behind the boundary.
#[derive(Debug, Clone)]
pub struct SnapshotHandle(Arc<HandleId<SnapshotId>>);

#[derive(Debug)]
struct HandleId<T: Copy + Into<Work>> {
    id: T,
    dropped: DropList,
}

impl From<TreeId> for Work {
    fn from(id: TreeId) -> Work {
        Work::DropTree { id }
    }
}

impl From<SnapshotId> for Work {
    fn from(id: SnapshotId) -> Work {
        Work::DropScores { id }
    }
}

impl<T: Copy + Into<Work>> Drop for HandleId<T> {
    fn drop(&mut self) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(self.id.into());
    }
}

impl TreeHandle {
    /// The name of the assignment.
    pub fn id(&self) -> TreeId {
        self.0.id
    }
}

impl SnapshotHandle {
    /// The name of the copy.
    pub fn id(&self) -> SnapshotId {
        self.0.id
    }
}

impl<'a> Client<'a> {
    /// Opens a backend for rows.
    pub fn open(
        set: TrainingSet<'a>,
        options: BackendOptions,
        context: Context<'a>,
    ) -> Result<Self, BackendError> {
        let unknown =
            |number| BackendError::Unknown { work: "a given split", what: "feature", number };
        let given = set.layout().given_rules(set.constraints.given_splits()).map_err(unknown)?;
        let mut client = Client {
            backend: set.backends.open(set, options, context)?,
            layout: set.layout(),
            constraints: set.constraints,
            given,
            data: DataDescription::default(),
            pending: Vec::new(),
            deferred: Vec::new(),
            replies: Vec::new(),
            dropped: DropList::default(),
            last_id: 0,
            messages: 0,
        };
        client.data = match client.ask(Work::Describe {})? {
            Reply::Description { data } => data,
            _ => return Err(BackendError::Reply { work: "Describe" }),
        };
        Ok(client)
    }

    /// How values are binned.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// What the model must satisfy.
    pub fn constraints(&self) -> &'a Constraints {
        self.constraints
    }

    /// The splits that every tree begins with, parents before children.
    pub(crate) fn given_rules(&self) -> &[GivenRule] {
        &self.given
    }

    /// What the search for rules of a tree is restricted to, given the features that it may use.
    pub fn split_constraints(&self, allowed: Vec<bool>, penalties: Penalties) -> SplitConstraints {
        let of_source = |&source: &u32| self.constraints.direction(source as usize);
        let directions = match self.constraints.has_monotone() {
            true => self.layout.sources().iter().map(of_source).collect(),
            false => Vec::new(),
        };
        let group = |group: &Vec<usize>| {
            let sources = (0..).zip(self.layout.sources());
            let holds = |source: &u32| group.binary_search(&(*source as usize)).is_ok();
            sources.filter(|(_, source)| holds(source)).map(|(feature, _)| feature).collect()
        };
        let groups = self.constraints.interactions().iter().map(group).collect();
        SplitConstraints { allowed, penalties, directions, groups }
    }

    /// The facts about the rows.
    pub fn data(&self) -> &DataDescription {
        &self.data
    }

    /// Messages sent so far.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// How many leaves leaf-wise growth may split with one message.
    pub fn splits_per_message(&self) -> usize {
        self.backend.splits_per_message()
    }

    /// Work whose reply is not needed; it travels with the next request.
    pub fn push(&mut self, work: Work) {
        self.pending.push(work);
    }

    /// Work whose reply is needed later; it travels with the next request, and
    /// [`Client::take`] gives the reply.
    pub fn defer(&mut self, work: Work) -> Ticket {
        self.last_id += 1;
        let ticket = Ticket(self.last_id);
        self.deferred.push((self.pending.len(), ticket));
        self.pending.push(work);
        ticket
    }

    /// The reply to deferred work, which is sent now if it is still pending.
    pub fn take(&mut self, ticket: Ticket) -> Result<Option<Reply>, BackendError> {
        if self.deferred.iter().any(|(_, pending)| *pending == ticket) {
            self.ask_all([])?;
        }
        let at = self.replies.iter().position(|(known, _)| *known == ticket);
        Ok(at.map(|at| self.replies.swap_remove(at).1))
    }

    /// Sends all pending work and one request; its reply.
    pub fn ask(&mut self, work: Work) -> Result<Reply, BackendError> {
        let name = work.name();
        self.ask_all([work])?.pop().ok_or(BackendError::Reply { work: name })
    }

    /// Sends all pending work and some requests in one message; the replies to the requests.
    pub fn ask_all(
        &mut self,
        work: impl IntoIterator<Item = Work>,
    ) -> Result<Vec<Reply>, BackendError> {
        let first = self.pending.len();
        self.pending.extend(work);
        // What handles named is freed after everything that still uses it.
        self.pending.append(&mut self.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        let asked = self.pending.iter().skip(first);
        let asked = asked.filter(|work| !is_drop(work)).count();

        let mut replies = self.backend.run(&self.pending)?;
        self.messages += 1;
        if replies.len() != self.pending.len() {
            return Err(BackendError::Reply { work: "a message" });
        }
        self.pending.clear();
        replies.truncate(first + asked);
        let asked = replies.split_off(first);
        for (at, ticket) in self.deferred.drain(..) {
            self.replies.push((ticket, std::mem::replace(&mut replies[at], Reply::Done {})));
        }
        Ok(asked)
    }

    /// Starts a tree; see [`Work::BeginTree`].
    pub fn begin_tree(&mut self, begin: Work) -> Result<NodeStats, BackendError> {
        match self.ask(begin)? {
            Reply::Root { stats } => Ok(stats),
            _ => Err(BackendError::Reply { work: "BeginTree" }),
        }
    }

    /// Splits slots; the replies to `leaf_work`, which follows the splits, come along.
    pub fn split(
        &mut self,
        commands: Vec<SplitCommand>,
        query: SplitQuery,
        leaf_work: Vec<Work>,
    ) -> Result<(Vec<[NodeStats; 2]>, Vec<Reply>), BackendError> {
        let count = commands.len();
        let split = Work::Split { commands, query };
        let mut replies = self.ask_all(std::iter::once(split).chain(leaf_work))?.into_iter();
        match replies.next() {
            Some(Reply::Children { stats }) if stats.len() == count => {
                Ok((stats, replies.collect()))
            }
            _ => Err(BackendError::Reply { work: "Split" }),
        }
    }

    /// The loss summed over all training rows.
    pub fn loss(&mut self) -> Result<f64, BackendError> {
        let value = value_of(self.ask(Work::Loss {})?)?;
        value.ok_or(BackendError::Reply { work: "Loss" })
    }

    /// A metric; `None` if there are no such rows.
    pub fn metric(
        &mut self,
        metric: EvalMetric,
        rows: RowSet,
    ) -> Result<Option<f64>, BackendError> {
        value_of(self.ask(Work::Metric { metric, rows })?)
    }

    /// The sum of all hessians of each output, at the present scores.
    pub fn hessians(&mut self) -> Result<Vec<f64>, BackendError> {
        match self.ask(Work::Derive { output: None, extra_hessian: 0.0 })? {
            Reply::Hessians { sums } => Ok(sums),
            _ => Err(BackendError::Reply { work: "Derive" }),
        }
    }

    /// The scores of all rows; see [`Work::GatherScores`].
    pub fn scores(&mut self, rows: RowSet) -> Result<Vec<Vec<f32>>, BackendError> {
        match self.ask(Work::GatherScores { rows })? {
            Reply::Scores { scores } => Ok(scores),
            _ => Err(BackendError::Reply { work: "GatherScores" }),
        }
    }

    /// Remembers the leaf of every training row in a tree.
    pub fn assign_tree(&mut self, tree: BinnedTree) -> TreeHandle {
        let handle = self.new_tree();
        self.push(Work::AssignTree { id: handle.id(), tree });
        handle
    }

    /// Saves a copy of all training scores.
    pub fn save_scores(&mut self) -> SnapshotHandle {
        self.last_id += 1;
        let (id, dropped) = (SnapshotId(self.last_id), self.dropped.clone());
        self.push(Work::SaveScores { id });
        SnapshotHandle(Arc::new(HandleId { id, dropped }))
    }

    /// A new name for a leaf assignment, which [`Work::AssignSlots`] makes.
    pub fn new_tree(&mut self) -> TreeHandle {
        self.last_id += 1;
        TreeHandle(Arc::new(HandleId { id: TreeId(self.last_id), dropped: self.dropped.clone() }))
    }
}

fn is_drop(work: &Work) -> bool {
    matches!(work, Work::DropTree { .. } | Work::DropScores { .. })
}

fn value_of(reply: Reply) -> Result<Option<f64>, BackendError> {
    match reply {
        Reply::Value { value } => Ok(value),
        _ => Err(BackendError::Reply { work: "Metric" }),
    }
}

/// The sums of a reply to [`Work::LeafSums`].
pub(crate) fn leaf_sums_of(reply: Option<Reply>) -> Result<Vec<LeafSums>, BackendError> {
    match reply {
        Some(Reply::LeafSums { sums }) => Ok(sums),
        _ => Err(BackendError::Reply { work: "LeafSums" }),
    }
}

/// The quantiles of a reply to [`Work::LeafQuantiles`].
pub(crate) fn quantiles_of(reply: Option<Reply>) -> Result<Vec<LeafQuantile>, BackendError> {
    match reply {
        Some(Reply::LeafQuantiles { quantiles }) => Ok(quantiles),
        _ => Err(BackendError::Reply { work: "LeafQuantiles" }),
    }
}
