//! Training on rows that a cluster holds.

use std::sync::Arc;

use swarmwood_learn::bins::Layout;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::ensemble::COMPARED_ROWS;
use swarmwood_learn::stats::{BackendFactory, LocalBackends, RemoteBackends};

use super::Job;
use crate::error::Violation;
use crate::params::{Method, RuleTableChoice};
use crate::read::{ClusterPlan, RowCluster};
use crate::{Error, Result};

/// Loads the rows of a cluster in a layout, some of whose bundles may have to be taken apart; the
/// data set without codes.
pub(super) fn load(
    job: &Job<'_>,
    cluster: &dyn RowCluster,
    mut layout: Arc<Layout>,
) -> Result<Dataset> {
    let (target, weight) = job.rows.targets()?;
    loop {
        let (schema, rows) = (&job.rows.schema, job.rows.rows);
        let plan = ClusterPlan { layout: &layout, schema, rows, order: job.rows.caller_order() };
        let conflicts = cluster.load(&plan)?;
        if conflicts.is_empty() {
            return Ok(Dataset::held_elsewhere(layout, &target, &weight));
        }
        layout = Arc::new(layout.without_bundles(&conflicts));
    }
}

/// The backends of a fit.
pub(super) enum JobBackends<'j> {
    Local(LocalBackends),
    Remote(RemoteBackends<'j>),
}

impl<'j> JobBackends<'j> {
    /// The backends of a job's training rows.
    pub(super) fn new(job: &Job<'j>, data: &Dataset) -> Self {
        match job.rows.cluster() {
            None => JobBackends::Local(LocalBackends),
            Some(cluster) => {
                let hosts = cluster.hosts();
                JobBackends::Remote(RemoteBackends::new(cluster, data, hosts, &job.spec))
            }
        }
    }

    /// The backends, for learners.
    pub(super) fn factory(&self) -> &dyn BackendFactory {
        match self {
            JobBackends::Local(backends) => backends,
            JobBackends::Remote(backends) => backends,
        }
    }

    /// The backends of a search that has all codes in this process. It asks the hosts only where most of
    /// its trees are grown on a sample: otherwise it would wait for thousands of messages, and this
    /// process can do their work.
    pub(super) fn of_search(&self, data: &Dataset) -> &dyn BackendFactory {
        if data.rows() <= COMPARED_ROWS { &LocalBackends } else { self.factory() }
    }

    /// The data set with its codes in this process, for learners that take parts of it.
    pub(super) fn whole(&self, data: Dataset) -> Result<Dataset> {
        match self {
            JobBackends::Local(_) => Ok(data),
            JobBackends::Remote(backends) => Ok(backends.fetch(&data)?),
        }
    }

    /// The data set with what must be known of all codes to choose rules from them.
    pub(super) fn examined(&self, data: Dataset) -> Result<Dataset> {
        match self {
            JobBackends::Local(_) => Ok(data),
            JobBackends::Remote(backends) => Ok(backends.examine(data)?),
        }
    }

    /// What a run on a cluster sent, as a note.
    pub(super) fn note(&self) -> Option<String> {
        let JobBackends::Remote(backends) = self else { return None };
        let traffic = backends.traffic();
        let lost = match traffic.rebuilt {
            0 => String::new(),
            1 => "; 1 host was lost and made again".to_string(),
            count => format!("; hosts were lost and made again {count} times"),
        };
        Some(format!(
            "cluster: {} rounds of messages, {} messages, {} bytes{lost}",
            traffic.rounds, traffic.messages, traffic.bytes
        ))
    }
}

/// Refuses what needs rows in this process.
pub(super) fn check(job: &Job<'_>) -> Result<()> {
    if job.rows.cluster().is_none() {
        return Ok(());
    }
    let params = job.params;
    let mut violations = Vec::new();
    let mut refuse = |name: &str, why: &str| violations.push(Violation::new(name, why));
    let sequences = [Method::SGBDT_BINS, Method::PSGBDT, Method::POLICY_GRADIENT];
    let boosting = [Method::GREEDY, Method::SWARM];
    if !boosting.iter().chain(&sequences).any(|method| *method == params.method) {
        refuse(
            "method",
            "is not for rows on a cluster, which greedy, swarm, sgbdt-bins, psgbdt and \
             policy-gradient can train on",
        );
    }
    let is_distinct = params.rule_table == RuleTableChoice::Distinct;
    if params.method == Method::POLICY_GRADIENT && is_distinct {
        refuse("rule_table", "is distinct, but rows on a cluster are binned; use bins");
    }
    if params.is_linear() {
        refuse("booster", "is gblinear, which is not for rows on a cluster");
    }
    if params.method == Method::GREEDY && params.has_feature_budget() {
        refuse("max_features", "is not for greedy boosting of rows on a cluster; use swarm");
    }
    if params.max_bin == 0 {
        refuse("max_bin", "is 0, but rows on a cluster are binned from a sample; use 255");
    }
    if params.method == Method::GREEDY && params.is_calibrated() {
        refuse("interval", "and a tuned threshold need folds, which rows on a cluster do not have");
    }
    if job.options.custom_loss.is_some() {
        refuse("objective", "is a custom loss, which is not for rows on a cluster");
    }
    if job.options.init_model.is_some() {
        refuse("init_model", "is not for rows on a cluster");
    }
    if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
}
