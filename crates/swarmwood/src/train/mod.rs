//! Trains a model from rows and checked parameters.
//!
//! [`LEARNERS`] lists the learners. Each is given a [`Job`] and ends with a [`Trained`] model; what
//! they have in common is here: binning, checkpoints, metrics, time limits.

mod binning;
mod clock;
mod flight;
mod flown;
mod fold;
mod greedy;
mod job;
mod keeper;
mod learner;
mod linear;
mod options;
mod pretrained;
mod published;
mod report;
mod search_space;
mod single;
mod swarm;
mod told;
mod trees;

use swarmwood_learn::event::{Event, Flow};
use swarmwood_learn::objective;
use swarmwood_learn::pool::Pool;

use crate::error::Violation;
use crate::params::{Checked, Method, Params};
use crate::read::Rows;
use crate::{Error, Result};
use clock::Clock;
pub use fold::{FoldData, FoldFit};
pub use job::Job;
use job::{add_rows, aims, gather, measure};
pub use learner::Learner;
pub use options::{Aids, Halt};
use published::{RuleSequenceSwarm, RuleSource};
pub use report::{FlightReport, GridReport, Trained, TreeFlight, TreeReport};
pub use search_space::SearchSpace;
use single::{SingleTree, TreeFinder};

/// Every learner of the library. A new one is a line here and a constant in `params/methods.rs`.
pub const LEARNERS: &[&dyn Learner] = &[
    &swarm::EnsembleSearch,
    &greedy::GreedyBoosting,
    &RuleSequenceSwarm { method: Method::SGBDT, rules: RuleSource::DistinctValues },
    &RuleSequenceSwarm { method: Method::SGBDT_BINS, rules: RuleSource::BinBoundaries },
    &RuleSequenceSwarm { method: Method::PSGBDT, rules: RuleSource::Pretrained },
    &SingleTree { method: Method::SWARM_TREE, finder: TreeFinder::Search },
    &SingleTree { method: Method::CART, finder: TreeFinder::Cart },
    &SingleTree { method: Method::APSO_TREE, finder: TreeFinder::Grid },
    &SingleTree { method: Method::TSO_TREE, finder: TreeFinder::Symbols },
    &SingleTree { method: Method::SPLIT_TREE, finder: TreeFinder::SplitPoints },
];

/// The learner of a method.
pub fn learner(method: Method) -> Result<&'static dyn Learner> {
    LEARNERS.iter().copied().find(|learner| learner.method() == method).ok_or_else(|| {
        let name = method.name();
        Error::Run(format!("the method {name} has no learner here; use train_learner"))
    })
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
/// let params = Params { trees: 50, learning_rate: 1.0, lambda: 0.0, ..Params::of(Method::GREEDY) };
/// let trained = train::train(&rows, None, &params.check()?, &mut |_| Flow::Continue)?;
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
    train_learner(learner(params.method)?, (rows, valid), params, aids, watch)
}

/// The same with a learner that need not be one of the library's; `rows` are the training and the
/// validation rows, and the parameters name its method.
pub fn train_learner(
    learner: &dyn Learner,
    (rows, valid): (&Rows, Option<&Rows>),
    params: &Checked<Params>,
    aids: &Aids,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Trained> {
    let target = &rows.schema.target.kind;
    let params = &(**params).clone().resolve(target);
    crate::registry::check_task(params, target)?;
    let (spec, metric) = aims(params, target, aids.cut)?;
    if params.early_stopping_rounds > 0 && valid.is_none() {
        let message = "needs validation rows to watch";
        return Err(Error::Parameters(vec![Violation::new("early_stopping_rounds", message)]));
    }
    aids.check(params)?;

    let objective = objective::make(&spec);
    let mut pool = Pool::new(params.threads).map_err(Error::Run)?;
    if let Some(halt) = &aids.halt {
        pool = pool.with_hurry(halt.hurry(options::patience(params.method)));
    }
    let mut clock = Clock::new(params.time_limit);
    let job = Job {
        rows,
        valid,
        params,
        options: aids,
        spec,
        objective: &*objective,
        metric,
        pool: &pool,
        until: clock.until,
    };
    let mut watch = |event: &Event| {
        let elapsed = if event.elapsed > 0.0 { event.elapsed } else { clock.elapsed() };
        clock.check(watch(&Event { elapsed, ..event.clone() }))
    };

    let mut trained = learner.train(&job, &mut watch)?;

    // A round that the deadline interrupts between two classes is taken back without an event.
    let cut = trained.tree.is_none() && trained.rounds < params.trees;
    let noted = trained.search.is_some();
    if !noted && (clock.expired || cut && clock.is_over()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_one_learner() {
        for &method in Method::ALL {
            let count = LEARNERS.iter().filter(|learner| learner.method() == method).count();
            assert_eq!(count, 1, "{}", method.name());
        }
        assert_eq!(LEARNERS.len(), Method::ALL.len());
    }
}
