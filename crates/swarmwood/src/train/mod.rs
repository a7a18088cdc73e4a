//! Trains a model from rows and checked parameters.
//!
//! `binning` turns rows into binned shards; the greedy tree booster, the linear booster and the
//! published swarms are called from here, and what they end with becomes a [`Model`] with its
//! metrics.

mod binning;
mod flight;
mod flown;
pub(crate) mod fold;
mod keeper;
mod linear;
mod pretrained;
mod published;
mod search_space;
mod single;
mod swarm;
mod told;
mod trees;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use swarmwood_learn::data::Chunk;
use swarmwood_learn::event::{Event, Flow};
use swarmwood_learn::metric::{Tally, Task, Watch};
use swarmwood_learn::objective::{self, Objective, Spec};
use swarmwood_learn::pool::Pool;
use swarmwood_learn::swarm::Report;
use swarmwood_learn::tree_search::Arm;
use swarmwood_model::predict::Predictions;
use swarmwood_model::{Body, Model, Provenance, TargetKind};

use crate::checkpoint::Keep;
use crate::error::{DataError, Violation};
use crate::params::{Booster, Checked, Method, Params};
use crate::read::Rows;
use crate::{Error, Result, registry};
pub use search_space::SearchSpace;

/// A trained model and what there is to say about the run.
#[derive(Debug)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// The parameters, every `auto` that follows from the data resolved.
    pub params: Params,
    /// Seconds spent making bins.
    pub bin_seconds: f64,
    /// Seconds spent training.
    pub train_seconds: f64,
    /// Rounds in the model (after early stopping, interruption or a time limit).
    pub rounds: usize,
    /// Metrics of the task on the training rows, by name.
    pub train_metrics: Vec<(&'static str, f64)>,
    /// The same on the validation rows, if there are any.
    pub valid_metrics: Vec<(&'static str, f64)>,
    /// What a search chose, and why.
    pub search: Option<Report>,
    /// How a published swarm flew.
    pub flight: Option<FlightReport>,
    /// How a single tree was found.
    pub tree: Option<TreeReport>,
    /// What may be wrong and the user should look into (constant columns, ...).
    pub warnings: Vec<String>,
    /// How the run went, with nothing wrong (early stop, time limit, ...).
    pub notes: Vec<String>,
}

/// What a published swarm did.
#[derive(Debug, Clone, PartialEq)]
pub struct FlightReport {
    /// What was searched.
    pub space: SearchSpace,
    /// What was made best, by the name users say.
    pub measure: &'static str,
    /// Its best value on the training rows.
    pub best: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Candidates evaluated.
    pub evaluations: u64,
    /// Candidates that were known already.
    pub repeats: u64,
}

/// How a single tree was found.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeReport {
    /// Its leaves.
    pub leaves: usize,
    /// Rules on the longest way down.
    pub depth: usize,
    /// What was made small, a mean over the training rows, by the name users say.
    pub measure: &'static str,
    /// Its value for the tree.
    pub loss: f64,
    /// Its value for the greedy tree of the same size limits that a search started from.
    pub start: Option<f64>,
    /// Descents of the search, and sweeps of nodes in them.
    pub descents: usize,
    /// Sweeps of nodes.
    pub sweeps: u64,
    /// Whether the tree was searched; otherwise it is the greedy one.
    pub searched: bool,
    /// What cross-validation compared; for a search the chosen way comes first.
    pub arms: Vec<Arm>,
    /// How a particle swarm over one tree flew.
    pub flight: Option<TreeFlight>,
}

/// What a particle swarm over one tree did.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeFlight {
    /// What was made best, by the name users say.
    pub measure: &'static str,
    /// Its best value on the training rows.
    pub best: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Candidates evaluated.
    pub evaluations: u64,
    /// Candidates that were known already.
    pub repeats: u64,
    /// What there was to choose from at each place: symbols or split points; for a grid the
    /// thresholds that moved.
    pub choices: usize,
    /// The grid, if there is one.
    pub grid: Option<GridReport>,
}

/// The grid that a tree was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridReport {
    /// Features that are cut.
    pub features: usize,
    /// Different thresholds on them.
    pub thresholds: usize,
    /// The cells that they make.
    pub cells: usize,
    /// Cells with training rows.
    pub occupied: usize,
    /// Grids that were searched.
    pub searched: usize,
}

/// Asked inside of long work whether to stop, beside the listener, who is only asked between two
/// steps.
#[derive(Clone)]
pub struct Halt(Arc<dyn Fn() -> bool + Send + Sync>);

/// How long after the wish to stop work may still be brought to a good end: a greedy fit of all
/// trees, while a single tree is of use wherever its growing ends.
fn patience(method: Method) -> Duration {
    match method {
        Method::Greedy | Method::Swarm | Method::Sgbdt | Method::SgbdtBins | Method::Psgbdt => {
            Duration::from_millis(250)
        }
        Method::SwarmTree
        | Method::Cart
        | Method::ApsoTree
        | Method::TsoTree
        | Method::SplitTree => Duration::from_millis(50),
    }
}

impl Halt {
    /// Stops the run as soon as the answer is yes, which must stay one; any thread may ask. For a
    /// moment work is still brought to a good end, such as a greedy fit of all trees; then it is
    /// cut short where it is.
    pub fn new(ask: impl Fn() -> bool + Send + Sync + 'static) -> Halt {
        Halt(Arc::new(ask))
    }

    /// Whether the moment is over.
    fn hurry(&self, patience: Duration) -> impl Fn() -> bool + Send + Sync + 'static {
        let (ask, since) = (Arc::clone(&self.0), OnceLock::new());
        move || ask() && since.get_or_init(Instant::now).elapsed() >= patience
    }
}

impl std::fmt::Debug for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Halt")
    }
}

/// What a training may have beside rows and parameters.
#[derive(Debug, Clone, Default)]
pub struct Aids {
    /// A model whose splits a search starts from: ours, XGBoost's, LightGBM's or CatBoost's.
    pub pretrained: Option<PathBuf>,
    /// Where the run stores its state.
    pub keep: Option<Keep>,
    /// Who else may end the run.
    pub halt: Option<Halt>,
    /// Whether losses of numbers may be used on two classes (see [`registry::objective_or_cut`]).
    pub cut: bool,
}

/// Trains with the method the parameters name. `watch` hears of every round and may stop the run;
/// the best model so far is then what comes back.
///
/// ```
/// use swarmwood::learn::event::Flow;
/// use swarmwood::params::{Method, Params};
/// use swarmwood::read::{self, ReadOptions, Source};
/// use swarmwood::train;
///
/// let csv = b"size,price\n1,10\n2,20\n3,30\n4,40\n";
/// let options = ReadOptions { target: "price".into(), ..ReadOptions::default() };
/// let rows = read::training(&Source::Bytes("houses.csv".into(), csv), &options)?;
/// let params = Params { trees: 50, learning_rate: 1.0, lambda: 0.0, ..Params::of(Method::Greedy) }.check()?;
/// let trained = train::train(&rows, None, &params, &mut |_| Flow::Continue)?;
/// let rmse = trained.train_metrics.iter().find(|metric| metric.0 == "rmse").map(|metric| metric.1);
/// assert!(rmse.is_some_and(|rmse| rmse < 1e-3));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn train(
    rows: &Rows,
    valid: Option<&Rows>,
    params: &Checked<Params>,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Trained> {
    train_with(rows, valid, params, &Aids::default(), watch)
}

/// The same with a model to start from, or with checkpoints.
pub fn train_with(
    rows: &Rows,
    valid: Option<&Rows>,
    params: &Checked<Params>,
    aids: &Aids,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Trained> {
    let params = &(**params).clone().resolve(&rows.schema.target.kind);
    let (spec, metric) = aims(params, &rows.schema.target.kind, aids.cut)?;
    if params.early_stopping_rounds > 0 && valid.is_none() {
        let message = "needs validation rows to watch".to_string();
        return Err(Error::Parameters(vec![Violation {
            name: "early_stopping_rounds".to_string(),
            message,
        }]));
    }
    registry::check_aids(params, aids)?;
    let objective = objective::make(&spec);
    let mut pool = Pool::new(params.threads).map_err(Error::Run)?;
    if let Some(halt) = &aids.halt {
        pool = pool.with_hurry(halt.hurry(patience(params.method)));
    }
    let mut clock = Clock::new(params.time_limit);
    let until = clock.until;
    let halt = aids.halt.as_ref();
    let job =
        Job { rows, valid, params, spec, objective: &*objective, metric, pool: &pool, until, halt };
    let mut watch = |event: &Event| {
        let elapsed = if event.elapsed > 0.0 { event.elapsed } else { clock.elapsed() };
        clock.check(watch(&Event { elapsed, ..event.clone() }))
    };
    let mut trained = match (params.method, params.booster) {
        (Method::Greedy, Booster::Gbtree | Booster::Dart) => trees::train(&job, &mut watch)?,
        (Method::Greedy, Booster::Gblinear) => linear::train(&job, &mut watch)?,
        (Method::Sgbdt | Method::SgbdtBins | Method::Psgbdt, _) => {
            published::train(&job, aids, &mut watch)?
        }
        (Method::Swarm, _) => swarm::train(&job, aids, &mut watch)?,
        (
            Method::SwarmTree
            | Method::Cart
            | Method::ApsoTree
            | Method::TsoTree
            | Method::SplitTree,
            _,
        ) => single::train(&job, aids, &mut watch)?,
    };
    if clock.expired {
        let limit = params.time_limit;
        let of_tree = trained.tree.as_ref().and_then(|tree| tree.flight.as_ref());
        let flown = trained.flight.as_ref().map(|flight| flight.iterations);
        let done = match flown.or(of_tree.map(|flight| flight.iterations)) {
            Some(iterations) => format!("{iterations} iterations"),
            None => format!("{} rounds", trained.rounds),
        };
        trained.notes.push(format!("the time limit of {limit} s ended training after {done}"));
    }
    Ok(trained)
}

/// What is minimised, and what early stopping watches.
fn aims(params: &Params, target: &TargetKind, cut: bool) -> Result<(Spec, Watch)> {
    let spec = if cut {
        registry::objective_or_cut(params, target)
    } else {
        registry::objective(params, target)
    }?;
    let metric = registry::watch(params, target)?;
    // The scores of a cut loss are read as chances only in the end; while it is minimised it is its
    // own measure.
    Ok((spec, if matches!(spec, Spec::Cut { .. }) { Watch::Loss } else { metric }))
}

/// What is trained, on what, and how.
struct Job<'a> {
    rows: &'a Rows,
    valid: Option<&'a Rows>,
    params: &'a Params,
    spec: Spec,
    objective: &'a dyn Objective,
    metric: Watch,
    pool: &'a Pool,
    /// When the time is over, for work between two events.
    until: Option<Instant>,
    /// Who else may end the run.
    halt: Option<&'a Halt>,
}

/// The one place that looks at the time: an extra stop, which no learner knows of.
struct Clock {
    started: Instant,
    until: Option<Instant>,
    expired: bool,
}

impl Clock {
    fn new(seconds: f64) -> Self {
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
        Clock {
            started: Instant::now(),
            until: limit.and_then(|limit| Instant::now().checked_add(limit)),
            expired: false,
        }
    }

    /// Seconds since training began.
    fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn check(&mut self, flow: Flow) -> Flow {
        self.expired = self.until.is_some_and(|until| Instant::now() >= until);
        if self.expired { Flow::Stop } else { flow }
    }
}

impl Job<'_> {
    /// Whether to stop inside of long work.
    fn halted(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
            || self.halt.is_some_and(|halt| (halt.0)())
    }

    fn model(&self, base: Vec<f64>, body: Body) -> Model {
        let params = self
            .params
            .entries()
            .into_iter()
            .map(|(name, value)| (name.to_string(), value))
            .collect();
        Model {
            schema: self.rows.schema.clone(),
            link: self.objective.link(),
            objective: self.objective.name().to_string(),
            base,
            body,
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").to_string(),
                method: self.params.method.name().to_string(),
                rows: self.rows.rows as u64,
                params,
            },
        }
    }

    /// Collects every metric of the task, the objective's own among them.
    fn tally(&self) -> Tally {
        let task = match &self.rows.schema.target.kind {
            TargetKind::Number => Task::Regression,
            TargetKind::Classes(classes) => Task::Classes(classes.len()),
        };
        Tally::new(task, Some(&self.spec))
    }

    /// Refuses targets outside the domain of the loss.
    fn check_targets(&self, target: impl Iterator<Item = f64>) -> Result<()> {
        for (row, value) in target.enumerate() {
            self.objective.check_target(value).map_err(|allowed| {
                Error::Data(DataError {
                    file: format!("row {} with a target", row + 1),
                    column: Some(self.rows.schema.target.name.clone()),
                    message: format!(
                        "the target is {value}, but for the {} loss it {allowed}",
                        self.objective.name()
                    ),
                    help: "remove the row or choose another --objective".to_string(),
                    ..DataError::default()
                })
            })?;
        }
        Ok(())
    }

    /// Says how a run ended that was to stop at its best round.
    fn tell_rounds(&self, kept: usize, done: usize) -> Vec<String> {
        if self.params.early_stopping_rounds == 0 || kept == done {
            return Vec::new();
        }
        let name = self.metric.name();
        vec![format!(
            "the validation {name} was best after {kept} of {done} rounds; the rest is left out"
        )]
    }
}

/// Adds rows to a tally, given their raw scores.
fn add_rows(tally: &mut Tally, model: &Model, raw: &[f64], target: &[f64], weight: &[f64]) {
    match model.predictions(raw) {
        Predictions::Numbers(numbers) => tally.add(&numbers, target, weight),
        Predictions::Classes { probabilities, .. } => tally.add(&probabilities, target, weight),
    }
}

/// All rows in one chunk.
fn gather(rows: &Rows) -> Result<Chunk> {
    let mut all: Option<Chunk> = None;
    rows.for_each_chunk(&mut |chunk| {
        match &mut all {
            None => all = Some(chunk.clone()),
            Some(all) => all.append(chunk),
        }
        Ok(())
    })?;
    Ok(all.unwrap_or_default())
}
