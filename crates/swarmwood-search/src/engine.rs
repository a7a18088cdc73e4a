//! The one interface of all search engines.

use crate::error::Error;
use crate::point::Point;
use crate::snapshot::Snapshot;
use crate::space::{Domain, Scale, Space};
use crate::trial::{Adopted, Outcome, Trial};

/// A search engine: it is asked for points and told their losses, and never evaluates anything
/// itself.
///
/// The rules, checked for every engine by [`contract`](crate::contract):
/// - Points lie in the space; ids grow and are never given twice.
/// - Outcomes may come in any order, in any grouping, and late; a trial that got lost is told as
///   failed. Between two asks their order does not matter: the next points depend on what was told,
///   not on who was faster.
/// - Unknown ids and second answers to the same id are ignored. A failed trial, or a loss that is
///   not finite, is an answer without a value.
/// - With trials open an engine may give fewer points than asked, or none, and so wait for answers.
///   With no trial open, no answer to an ask of at least one means that the search is over.
/// - Several searches may share their work: what one asked, the others adopt. An adopted
///   configuration counts as asked, its loss may be the best, and an engine that never repeats
///   itself does not ask for it. Adopted trials are learned from in the order of adoption, after
///   the own ones told since the last ask; how own answers and adoptions are interleaved does not
///   matter. Configurations outside the space are ignored.
/// - All randomness comes from the seed; `snapshot` holds everything, so that resumed ≡
///   uninterrupted.
///
/// ```
/// use swarmwood_search::{Engine, Outcome, Param, Random, Space};
/// let space = Space::new(vec![Param::integer("x", -10, 10), Param::integer("y", -10, 10)])?;
/// let mut engine = Random::new(&space, 7)?;
/// for _ in 0..50 {
///     for trial in engine.ask(4) {
///         let x = space.number(0, trial.point[0]).unwrap();
///         let y = space.number(1, trial.point[1]).unwrap();
///         engine.tell(&[Outcome::Value { id: trial.id, loss: x * x + y * y }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss <= 8.0);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub trait Engine: Send {
    /// What the engine can handle and promises.
    fn capabilities(&self) -> Capabilities;
    /// Up to `at_most` points to evaluate; fewer or none means that it waits for outcomes.
    fn ask(&mut self, at_most: usize) -> Vec<Trial>;
    /// What came of trials.
    fn tell(&mut self, outcomes: &[Outcome]);
    /// What somebody else asked. Engines that work in rounds count it as seen and take none of it
    /// into their population; the discrete swarm follows it if it is the best.
    fn adopt(&mut self, trial: Adopted);
    /// The trial with the smallest loss so far; of equals the one asked first, and adopted ones
    /// after the own. Ids of adopted trials begin at
    /// [`FIRST_ADOPTED`](crate::trial::FIRST_ADOPTED).
    fn best(&self) -> Option<Best<'_>>;
    /// Everything needed to continue, open trials included.
    fn snapshot(&self) -> Snapshot;
}

/// The best trial so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Best<'a> {
    /// The trial.
    pub id: u64,
    /// Its loss.
    pub loss: f64,
    /// Its configuration.
    pub point: &'a Point,
}

/// What an engine can handle and what it promises.
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
    /// Parameters under a condition.
    pub conditional: bool,
    /// Never waits: gives as many points as asked while there are any left, whatever is still open.
    pub batch: bool,
    /// Never asks for the same configuration twice, and ends when all were asked.
    pub distinct: bool,
    /// May end before all configurations were asked, for good: at a limit, or when it has nothing
    /// new to ask.
    pub ends: bool,
}

impl Capabilities {
    /// Everything, and no end of its own: for engines that work on whole configurations.
    pub const ALL: Capabilities = Capabilities {
        integer: true,
        real: true,
        log: true,
        list: true,
        choice: true,
        conditional: true,
        batch: true,
        distinct: true,
        ends: false,
    };

    /// Checks that an engine with these capabilities can search the space; constructors call it.
    pub fn check(&self, engine: &'static str, space: &Space) -> Result<(), Error> {
        for param in space.params() {
            let needs = [
                (matches!(param.domain, Domain::Integer { .. }), self.integer, "integer"),
                (matches!(param.domain, Domain::Real { .. }), self.real, "real"),
                (is_log(&param.domain), self.log, "logarithmic"),
                (matches!(param.domain, Domain::List(_)), self.list, "list"),
                (matches!(param.domain, Domain::Choice(_)), self.choice, "choice"),
                (param.condition.is_some(), self.conditional, "conditional"),
            ];
            if let Some((_, _, ability)) =
                needs.into_iter().find(|(needed, able, _)| *needed && !able)
            {
                return Err(Error::Unsupported { engine, parameter: param.name.clone(), ability });
            }
        }
        Ok(())
    }
}

fn is_log(domain: &Domain) -> bool {
    matches!(
        domain,
        Domain::Integer { scale: Scale::Log, .. } | Domain::Real { scale: Scale::Log, .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;

    #[test]
    fn a_missing_ability_is_named() {
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
