//! The interface of all search engines.

use crate::error::Error;
use crate::options::{OptionSpec, OptionValues};
use crate::point::Point;
use crate::snapshot::Snapshot;
use crate::space::{Domain, ParamScale, Space};
use crate::trial::{ExternalTrial, Trial, TrialResult};

/// A search engine: it is asked for points and told their losses, and never evaluates anything
/// itself.
///
/// The rules, checked for every engine by [`contract`](crate::contract):
/// - Points lie in the space; ids increase and are unique.
/// - Results may arrive in any order, in any grouping, and late; a lost trial is reported as
///   failed. Between two asks the order of results does not matter: the next points depend on the
///   results, not on which worker was faster.
/// - Unknown ids and second results of the same trial are ignored. A failed trial, or a loss that
///   is not finite, is a result without a loss.
/// - While trials are running, an engine may return fewer points than asked for, or none, to wait
///   for results. While no trial is running, an empty answer to an ask of at least one point means
///   that the search has ended.
/// - Several searches may share their trials: each adds those of the others as external trials. The
///   point of an external trial counts as asked, its loss may be the best, and an engine that never
///   repeats a point does not ask for it. An engine learns from external trials in the order in
///   which they were added, after the own results since the last ask; how own results and external
///   trials interleave does not matter. Points outside the space are ignored.
/// - All randomness comes from the seed; `snapshot` holds the whole state, so that resumed ≡
///   uninterrupted.
///
/// ```
/// use swarmwood_search::{Engine, TrialResult, Param, RandomSearch, Space};
/// let space = Space::new(vec![Param::integer("x", -10, 10), Param::integer("y", -10, 10)])?;
/// let mut engine = RandomSearch::new(&space, 7)?;
/// for _ in 0..50 {
///     for trial in engine.ask(4) {
///         let x = space.number(0, trial.point[0]).unwrap();
///         let y = space.number(1, trial.point[1]).unwrap();
///         engine.tell(&[TrialResult::Complete { id: trial.id, loss: x * x + y * y }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss <= 8.0);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub trait Engine: Send {
    /// What the engine supports and guarantees.
    fn capabilities(&self) -> Capabilities;
    /// Up to `at_most` points to evaluate; fewer or none if the engine waits for results.
    fn ask(&mut self, at_most: usize) -> Vec<Trial>;
    /// Reports the results of trials.
    fn tell(&mut self, results: &[TrialResult]);
    /// Adds a trial of another process. Generational engines count its point as seen but do not
    /// take it into their population; the discrete swarm follows it if it is the best.
    fn add_trial(&mut self, trial: ExternalTrial);
    /// The trial with the smallest loss so far; among equal losses the first one, external trials
    /// last. Ids of external trials start at
    /// [`FIRST_EXTERNAL_ID`](crate::trial::FIRST_EXTERNAL_ID).
    fn best(&self) -> Option<BestTrial<'_>>;
    /// The whole state, running trials included.
    fn snapshot(&self) -> Snapshot;
}

/// An engine, or why it cannot be built.
pub type BuildResult = Result<Box<dyn Engine>, Error>;

/// The registration of an engine: everything that is known about it beside its code.
#[derive(Debug, Clone, Copy)]
pub struct EngineSpec {
    /// The name under which users choose it, and the name in its snapshots.
    pub name: &'static str,
    /// One line about it for help texts, without a full stop.
    pub summary: &'static str,
    /// Its options. The defaults are for tuning: any kind of space and some hundred trials.
    pub options: &'static [OptionSpec],
    /// Builds the engine on a space, with a seed and valid options.
    pub build: fn(&Space, u64, &OptionValues) -> BuildResult,
    /// Resumes the engine on a space from a snapshot.
    pub resume: fn(&Space, &Snapshot) -> BuildResult,
}

/// Boxes an engine, for the functions of an [`EngineSpec`].
pub fn boxed<E: Engine + 'static>(engine: Result<E, Error>) -> BuildResult {
    engine.map(|engine| Box::new(engine) as Box<dyn Engine>)
}

/// The best trial so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestTrial<'a> {
    /// Id of the trial.
    pub id: u64,
    /// Its loss.
    pub loss: f64,
    /// Its point.
    pub point: &'a Point,
}

/// What an engine supports and guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Integer parameters.
    pub integer: bool,
    /// Real parameters.
    pub real: bool,
    /// Logarithmic scales.
    pub log: bool,
    /// Lists of numbers.
    pub list: bool,
    /// Choices without an order.
    pub choice: bool,
    /// Conditional parameters.
    pub conditional: bool,
    /// Never waits: returns as many points as asked for while any are left.
    pub batch: bool,
    /// Never asks for the same point twice, and ends when all points were asked.
    pub distinct: bool,
    /// May end before all points were asked: at a limit, or when it has no new point.
    pub terminates: bool,
}

impl Capabilities {
    /// Everything, and no termination: for engines that work on whole points.
    pub const ALL: Capabilities = Capabilities {
        integer: true,
        real: true,
        log: true,
        list: true,
        choice: true,
        conditional: true,
        batch: true,
        distinct: true,
        terminates: false,
    };

    /// Checks that an engine with these capabilities supports the space; called by constructors.
    pub fn check(&self, engine: &'static str, space: &Space) -> Result<(), Error> {
        for param in space.params() {
            let requirements = [
                (matches!(param.domain, Domain::Integer { .. }), self.integer, "integer"),
                (matches!(param.domain, Domain::Real { .. }), self.real, "real"),
                (is_log(&param.domain), self.log, "logarithmic"),
                (matches!(param.domain, Domain::List(_)), self.list, "list"),
                (matches!(param.domain, Domain::Choice(_)), self.choice, "choice"),
                (param.condition.is_some(), self.conditional, "conditional"),
            ];
            if let Some((_, _, kind)) =
                requirements.into_iter().find(|(required, supported, _)| *required && !supported)
            {
                return Err(Error::Unsupported { engine, parameter: param.name.clone(), kind });
            }
        }
        Ok(())
    }
}

fn is_log(domain: &Domain) -> bool {
    matches!(
        domain,
        Domain::Integer { scale: ParamScale::Log, .. }
            | Domain::Real { scale: ParamScale::Log, .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;

    #[test]
    fn an_unsupported_kind_is_named() {
        let space =
            Space::new(vec![Param::integer("a", 1, 2), Param::real("rate", 0.1, 1.0).log()])
                .unwrap();
        assert_eq!(Capabilities::ALL.check("swarm", &space), Ok(()));
        let error =
            Capabilities { log: false, ..Capabilities::ALL }.check("swarm", &space).unwrap_err();
        let text =
            "engine 'swarm' cannot search logarithmic parameters such as 'rate'; choose another";
        assert_eq!(error.to_string(), text);
    }
}
