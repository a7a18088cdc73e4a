//! Searches over sequences of rules: the published swarms and a policy that reinforcement learning
//! trains. A table of rules, a search over it, and what is kept between iterations.
//!
//! SGBDT takes its table from every distinct value, SGBDT-bins from the boundaries of bins, and
//! PSGBDT from the splits of a model: one from a file, or a greedy run of our own with as many
//! trees, as deep, and with the same learning rate, but trees of any shape and λ = 1, as XGBoost
//! would grow them.

use std::time::Instant;

use swarmwood_learn::binned_tree::BinnedTree;
use swarmwood_learn::bins::Layout;
use swarmwood_learn::bins::layout::{FeatureBins, FeaturePlace};
use swarmwood_learn::budget::Budget;
use swarmwood_learn::context::Context;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::event::{Event, Stage};
use swarmwood_learn::greedy;
use swarmwood_learn::metric::EvalMetric;
use swarmwood_learn::rule::{BinRule, Code, Cut, Rule};
use swarmwood_learn::split::{Penalties, Ridge};
use swarmwood_learn::stats::{
    BackendFactory, LocalBackends, ParticleCode, ParticleSet, TrainingSet,
};
use swarmwood_model::{Body, Model, Split, Test};
use swarmwood_papers::particle::{Evaluator, ParticleConfig, ParticleError, TreeForm};
use swarmwood_papers::policy_gradient::{PolicyConfig, PolicyGradient, SequenceShape};
use swarmwood_papers::rule_table::RuleTable;
use swarmwood_papers::swarm_boosting::{LocalSearchStats, SwarmConfig, SwarmFit, SwarmRun, seeds};

use super::checkpoint_writer::CheckpointWriter;
use super::cluster::JobBackends;
use super::distinct_rows::{self, DistinctRows};
use super::event_log::EventLog;
use super::pretrained::PretrainedSplits;
use super::swarm_run::{SequenceSearch, run_search};
use super::{Job, Learner, SearchSpace, SwarmReport, TrainResult, binning, gather, measure, trees};
use crate::error::Violation;
use crate::message::Message;
use crate::params::{FitnessChoice, Growth, InitialDraw, Method, Params, RuleTableChoice};
use crate::{Error, Result};

/// Scores kept for particles that begin alike may take this much memory.
const KEPT_BYTES: usize = 1 << 30;

/// The sums of a local search over the rules of one feature may take this much memory.
const LOCAL_SEARCH_BYTES: usize = 1 << 30;

/// What is said where a greedy run of our own gives no rules: small or skewed tables, where no
/// split pays.
const NO_SPLIT: &str =
    "the greedy run before found no split that pays; the rules are the boundaries of bins instead";

/// Where the rules of the table come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleSource {
    /// Every distinct value.
    DistinctValues,
    /// The boundaries of bins.
    BinBoundaries,
    /// The splits of a model.
    Pretrained,
}

/// A learner of trees as sequences of rules out of a table.
pub(super) struct RuleSequenceSwarm {
    pub(super) method: Method,
    pub(super) rules: RuleSource,
}

impl Learner for RuleSequenceSwarm {
    fn method(&self) -> Method {
        self.method
    }

    fn train(&self, job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
        train(job, self.rules, SequenceEngine::Swarm, observer)
    }
}

/// The learner `policy-gradient`.
pub(super) struct RuleSequencePolicy;

impl Learner for RuleSequencePolicy {
    fn method(&self) -> Method {
        Method::POLICY_GRADIENT
    }

    fn train(&self, job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
        let rules = match job.params.rule_table {
            RuleTableChoice::Distinct => RuleSource::DistinctValues,
            RuleTableChoice::Bins => RuleSource::BinBoundaries,
            RuleTableChoice::Pretrained => RuleSource::Pretrained,
        };
        if rules != RuleSource::Pretrained && job.options.pretrained.is_some() {
            let name = job.params.rule_table.name();
            let message = format!("is {name}, but the rules of a pretrained model are given");
            return Err(Error::Parameters(vec![Violation::new("rule_table", message)]));
        }
        train(job, rules, SequenceEngine::Policy, observer)
    }
}

/// What proposes sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SequenceEngine {
    /// The discrete particle swarm.
    Swarm,
    /// The policy.
    Policy,
}

/// Bins the rows, makes the table of rules, and runs the search.
fn train(
    job: &Job<'_>,
    rules: RuleSource,
    engine: SequenceEngine,
    observer: &mut dyn FnMut(&Event),
) -> Result<TrainResult> {
    let started = Instant::now();
    if rules != RuleSource::DistinctValues {
        let prepared = prepare_bins(job, rules, started, observer)?;
        return run(job, prepared, engine, observer);
    }
    let (rows, values) = distinct_rows::bin(job)?;
    match rows {
        DistinctRows::OneByte(data) => {
            let prepared = prepare_distinct(job, (data, values), started, observer)?;
            run(job, prepared, engine, observer)
        }
        DistinctRows::TwoBytes(data) => {
            let prepared = prepare_distinct(job, (data, values), started, observer)?;
            run(job, prepared, engine, observer)
        }
        DistinctRows::FourBytes(data) => {
            let prepared = prepare_distinct(job, (data, values), started, observer)?;
            run(job, prepared, engine, observer)
        }
    }
}

/// What a search works with.
struct PreparedSearch<'j, C: Code> {
    data: Dataset<C>,
    /// Who evaluates particles on the rows.
    backends: JobBackends<'j>,
    table: RuleTable<C>,
    /// Positions that particles start at.
    seeds: Vec<Vec<u32>>,
    /// The paper's `n`; `None` if it is the length of the table.
    distinct_values: Option<u64>,
    /// A number that names the rules of a model from a file.
    pretrained_print: Option<u128>,
    warnings: Vec<Message>,
    bin_seconds: f64,
    /// When the work after binning began.
    started: Instant,
}

/// Searches a prepared table.
fn run<C: ParticleCode>(
    job: &Job<'_>,
    mut prepared: PreparedSearch<'_, C>,
    engine: SequenceEngine,
    observer: &mut dyn FnMut(&Event),
) -> Result<TrainResult> {
    if job.params.local_search && form(job) == TreeForm::Oblivious {
        check_local_search(job, &prepared)?;
    }
    let space = search_space(job, prepared.distinct_values, prepared.table.len() as u64);
    let checkpoints = job
        .options
        .keep
        .as_ref()
        .map(|keep| CheckpointWriter::new(keep, job, prepared.pretrained_print))
        .transpose()?;
    let mut warnings = std::mem::take(&mut prepared.warnings);
    let (found, events) =
        search(job, &prepared, engine, checkpoints.as_ref(), observer, &mut warnings)?;
    let train_seconds = prepared.started.elapsed().as_secs_f64();
    let (swarm, mut notes) = report(job, space, &found, &events);
    notes.extend(prepared.backends.note());

    let mut model = job.model(found.ensemble.base, Body::Trees(found.ensemble.members));
    name_pretrained(&mut model, job);
    let known = (prepared.data.target, prepared.data.weight);
    let train_metrics = trees::measure(
        job.tally(),
        &model,
        &found.ensemble.train_scores,
        found.ensemble.shift,
        (&known.0, &known.1),
    );
    let valid_metrics = match job.valid {
        Some(valid) => measure(job, &model, &gather(valid)?)?,
        None => Vec::new(),
    };
    Ok(TrainResult {
        rounds: model.rounds(),
        model,
        params: job.params.clone(),
        bin_seconds: prepared.bin_seconds,
        train_seconds,
        train_metrics,
        valid_metrics,
        held_out: None,
        watched_metrics: Vec::new(),
        search: None,
        features: None,
        swarm: Some(swarm),
        tree: None,
        warnings,
        notes,
        columns: Vec::new(),
    })
}

/// Runs the engine.
fn search<C: ParticleCode>(
    job: &Job<'_>,
    prepared: &PreparedSearch<'_, C>,
    engine: SequenceEngine,
    checkpoints: Option<&CheckpointWriter<'_>>,
    observer: &mut dyn FnMut(&Event),
    warnings: &mut Vec<Message>,
) -> Result<(SwarmFit, EventLog)> {
    let PreparedSearch { data, backends, table, seeds, .. } = prepared;
    let evaluator = evaluator(job, (data, table), backends, job.context())?;
    match engine {
        SequenceEngine::Swarm => {
            let config = swarm_config(job.params);
            let begin = |evaluator| SwarmRun::new(evaluator, table, &config, seeds);
            let search = SequenceSearch { evaluator, begin };
            run_search(job.params, search, checkpoints, observer, warnings)
        }
        SequenceEngine::Policy => {
            let config = policy_config(job, &evaluator, table);
            let begin = |evaluator| {
                let engine = |space: &_| PolicyGradient::new(space, config, job.params.seed);
                SwarmRun::start(evaluator, engine)
            };
            let search = SequenceSearch { evaluator, begin };
            run_search(job.params, search, checkpoints, observer, warnings)
        }
    }
}

/// What the swarm did, and a note on its local search.
fn report(
    job: &Job<'_>,
    space: SearchSpace,
    found: &SwarmFit,
    events: &EventLog,
) -> (SwarmReport, Vec<String>) {
    let metric = fitness(job).name();
    // An iteration that the budget cut short has evaluations, but no event.
    let (mut evaluations, cache_hits) = (found.evaluations, events.costs().1);
    let mut notes = Vec::new();
    if job.budget.remaining() == Some(0) {
        let (limit, done) = (job.params.budget, events.steps());
        notes.push(format!(
            "the budget of {limit} evaluations ended the search after {done} iterations"
        ));
    }
    if let Some(LocalSearchStats { replaced, evaluations: more, before }) = found.local_search {
        evaluations += more;
        let after = found.fitness;
        notes.push(format!(
            "local search replaced {replaced} rules: {metric} {before:.6} became {after:.6}"
        ));
    }
    let report = SwarmReport {
        space,
        metric,
        best: found.fitness,
        iterations: events.steps(),
        evaluations,
        cache_hits,
    };
    (report, notes)
}

/// Writes the file that rules came from into the model.
fn name_pretrained(model: &mut Model, job: &Job<'_>) {
    if let Some(name) = job.options.pretrained.as_deref().and_then(|path| path.file_name()) {
        // The name alone: where the file lay is no part of the model.
        model
            .provenance
            .params
            .insert("pretrained".to_string(), name.to_string_lossy().into_owned());
    }
}

/// The shape of the trees.
fn form(job: &Job<'_>) -> TreeForm {
    if job.params.growth == Growth::Oblivious { TreeForm::Oblivious } else { TreeForm::Free }
}

/// The boundaries of bins, or the splits of a model.
fn prepare_bins<'j>(
    job: &Job<'j>,
    rules: RuleSource,
    started: Instant,
    observer: &mut dyn FnMut(&Event),
) -> Result<PreparedSearch<'j, u8>> {
    let pretrained = job
        .options
        .pretrained
        .as_deref()
        .map(|path| PretrainedSplits::load(path, &job.rows.schema))
        .transpose()?;
    let layout = pretrained.as_ref().map(|pretrained| pretrained.layout(job));
    let data = binning::training(job, layout)?;
    job.check_targets(data.target.iter())?;
    let backends = JobBackends::new(job, &data);
    let data = backends.examined(data)?;
    let bin_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();

    // Bins that were cut where a model cuts say nothing of columns that it does not ask for.
    let mut warnings =
        if pretrained.is_some() { Vec::new() } else { trees::constant_columns(job, &data.layout) };
    let mut table = match (rules, &pretrained) {
        (RuleSource::Pretrained, Some(pretrained)) => {
            let (table, notes) = pretrained.table(&data, &job.rows.schema)?;
            warnings.extend(notes);
            table
        }
        (RuleSource::Pretrained, None) => {
            let form = TreeForm::Free;
            let grown = grow(job, (&data, backends.factory()), form, 1.0, observer)?;
            let table = RuleTable::pretrained(&data, &grown);
            if table.is_empty() {
                warnings.push(NO_SPLIT.into());
            }
            if table.is_empty() { RuleTable::bins(&data) } else { table }
        }
        _ => RuleTable::bins(&data),
    };
    let mut seeds = Vec::new();
    if job.params.greedy_seed {
        let grown = grow_seed(job, (&data, backends.factory()), observer)?;
        table = table.with(seeds::rules(&grown));
        let number = |rule: &BinRule| table.index_of(rule);
        seeds.extend(seeds::sequence(&grown, number, form(job), job.params.depth));
    }
    let pretrained_print = pretrained.as_ref().map(PretrainedSplits::fingerprint);
    let distinct_values = None;
    Ok(PreparedSearch {
        data,
        backends,
        table,
        seeds,
        distinct_values,
        pretrained_print,
        warnings,
        bin_seconds,
        started,
    })
}

/// Every distinct value.
fn prepare_distinct<'j, C: Code>(
    job: &Job<'j>,
    (data, values): (Dataset<C>, u64),
    started: Instant,
    observer: &mut dyn FnMut(&Event),
) -> Result<PreparedSearch<'j, C>> {
    job.check_targets(data.target.iter())?;
    let bin_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();

    let warnings = trees::constant_columns(job, &data.layout);
    let mut table = RuleTable::distinct(&data);
    let mut seeds = Vec::new();
    if job.params.greedy_seed {
        // Trees grow from histograms, and those have bins.
        let bins = binning::training(job, None)?;
        let grown = grow_seed(job, (&bins, &LocalBackends), observer)?;
        let rule = |rule: &BinRule| exact_rule(&bins.layout.split(rule), &data.layout);
        table = table.with(seeds::rules(&grown).filter_map(|binned| rule(&binned)));
        let number = |binned: &BinRule| rule(binned).and_then(|rule| table.index_of(&rule));
        seeds.extend(seeds::sequence(&grown, number, form(job), job.params.depth));
    }
    Ok(PreparedSearch {
        data,
        backends: JobBackends::Local(LocalBackends),
        table,
        seeds,
        distinct_values: Some(values),
        pretrained_print: None,
        warnings,
        bin_seconds,
        started,
    })
}

/// A split of binned rows over codes that tell all values apart. Bins end between two neighbouring
/// values, at the threshold that parts these here; where they come from a sample of the rows, the
/// next threshold above is taken. `None` for a feature that holds one value.
fn exact_rule<C: Code>(split: &Split, layout: &Layout) -> Option<Rule<C>> {
    if layout.places()[split.feature as usize] == FeaturePlace::Dropped {
        return None;
    }
    let cut = match (&split.test, &layout.features()[split.feature as usize]) {
        (Test::Above(threshold), FeatureBins::Number(edges)) => Cut::Above(edges.code(*threshold)),
        (Test::In(set), FeatureBins::Category(levels)) => {
            let codes = set.iter().map(|level| levels.code(level));
            Cut::In(codes.filter(|&code| code > 0).map(C::from).collect())
        }
        _ => return None,
    };
    Some(Rule { feature: split.feature, cut, missing_right: split.missing_right })
}

/// The greedy trees that a particle starts at.
fn grow_seed(
    job: &Job<'_>,
    rows: (&Dataset, &dyn BackendFactory),
    observer: &mut dyn FnMut(&Event),
) -> Result<Vec<BinnedTree>> {
    let form = form(job);
    if form == TreeForm::Oblivious {
        trees::check_memory(job.params, rows.0)?;
    }
    grow(job, rows, form, job.params.lambda, observer)
}

/// Refuses a local search whose sums by leaf and value could not be held in memory.
fn check_local_search<C: Code>(job: &Job<'_>, prepared: &PreparedSearch<'_, C>) -> Result<()> {
    let depth = job.params.depth;
    for group in prepared.table.groups() {
        let bins = prepared.data.layout.features()[group.feature as usize].bins();
        // First and second derivatives, by leaf and value, and by leaf and rule.
        let bytes = (2 * size_of::<f64>() * (bins + group.rules.len())) << depth;
        if bytes > LOCAL_SEARCH_BYTES {
            let name = &job.rows.schema.features[group.feature as usize].name;
            let message = format!(
                "is true, but needs {} GB per thread for the {bins} values of column '{name}' and trees of \
                 depth {depth}; choose less depth or ",
                bytes >> 30
            );
            let message = Message::from(message).setting("method", "sgbdt-bins");
            return Err(Error::Parameters(vec![Violation::new("local_search", message)]));
        }
    }
    Ok(())
}

/// A greedy ensemble of the size that is searched for.
pub(super) fn grow(
    job: &Job<'_>,
    (data, backends): (&Dataset, &dyn BackendFactory),
    form: TreeForm,
    lambda: f64,
    observer: &mut dyn FnMut(&Event),
) -> Result<Vec<BinnedTree>> {
    let growth =
        if form == TreeForm::Free { greedy::Growth::Depth } else { greedy::Growth::Oblivious };
    let settings = greedy::GreedyConfig {
        growth,
        max_leaves: 1 << job.params.depth,
        lookahead: greedy::lookahead::Lookahead::Off,
        penalties: Penalties { lambda, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 1.0 },
        subsample: 1.0,
        colsample_bytree: 1.0,
        dart: None,
        early_stopping_rounds: 0,
        ..trees::settings(job)
    };
    // The watcher's answer follows from the budget, which the booster asks itself.
    let mut pretraining = |event: &Event| {
        observer(&Event { stage: Stage::PRETRAINING, ..event.clone() });
    };
    // The work limit counts evaluations of sequences, not these trees.
    let run = job.budget.clone();
    let budget = Budget::unlimited().with_interrupt(move || run.is_interrupted());
    let context = Context { pool: job.pool, budget: &budget };
    let set = TrainingSet { backends, ..TrainingSet::new(data, None, job.objective) };
    Ok(greedy::train(set, &settings, context, &mut pretraining)?.trees)
}

/// What makes one particle better than another.
fn fitness(job: &Job<'_>) -> EvalMetric {
    match job.params.fitness {
        FitnessChoice::Accuracy => EvalMetric::Accuracy,
        FitnessChoice::Rmse => EvalMetric::Rmse,
        // Every `auto` was resolved with the target; `recall` was refused with the parameters.
        FitnessChoice::Loss | FitnessChoice::Recall | FitnessChoice::Auto => EvalMetric::Loss,
    }
}

fn evaluator<'a, C: ParticleCode>(
    job: &'a Job<'_>,
    (data, table): (&'a Dataset<C>, &'a RuleTable<C>),
    backends: &'a JobBackends<'_>,
    context: Context<'a>,
) -> Result<Evaluator<'a>> {
    let params = job.params;
    let config = ParticleConfig {
        trees: params.trees,
        form: form(job),
        depth: params.depth,
        learning_rate: params.learning_rate,
        lambda: params.lambda,
        fitness: fitness(job),
        memory: KEPT_BYTES,
    };
    let set = ParticleSet::new(data, table.rules(), job.objective, config);
    let made = Evaluator::with_backends(set, context, backends.factory());
    made.map_err(|error| match error {
        ParticleError::Backend(error) => error.into(),
        // Trees and depth were checked with the parameters; the target was not known then.
        other => Error::Parameters(vec![Violation::new("fitness", other.to_string())]),
    })
}

fn swarm_config(params: &Params) -> SwarmConfig {
    SwarmConfig {
        population: params.population.unwrap_or(50),
        iterations: params.iterations,
        alpha: params.alpha,
        beta: params.beta,
        adaptive: params.adaptive,
        mutation: params.mutation,
        by_feature: params.initial == InitialDraw::FeatureFirst,
        seed: params.seed,
    }
}

fn policy_config<C: Code>(
    job: &Job<'_>,
    evaluator: &Evaluator<'_>,
    table: &RuleTable<C>,
) -> PolicyConfig {
    let params = job.params;
    let form = form(job);
    PolicyConfig {
        shape: SequenceShape {
            trees: evaluator.trees(),
            rules_per_tree: form.rules(params.depth),
            is_heap: form == TreeForm::Free,
        },
        group_sizes: table.groups().iter().map(|group| group.rules.len()).collect(),
        uniform: params.initial == InitialDraw::Uniform,
        population: params.population.unwrap_or(50),
        rounds: params.iterations as u64,
        hidden: params.hidden_units,
        rate: params.policy_rate,
        entropy_weight: params.entropy_weight,
    }
}

/// The size of the search space, with both values of the paper's `r`.
fn search_space(job: &Job<'_>, distinct_values: Option<u64>, table_rules: u64) -> SearchSpace {
    let rounds = (job.params.trees * job.objective.outputs()) as u64;
    let rules = |depth: usize| rounds * form(job).rules(depth) as u64;
    SearchSpace {
        rules: distinct_values.unwrap_or(table_rules),
        table_rules,
        all_levels: rules(job.params.depth),
        one_level_less: rules(job.params.depth - 1),
    }
}
