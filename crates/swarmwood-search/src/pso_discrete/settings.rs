//! What can be set about a swarm, and what may not.

use super::Groups;
use crate::error::{Error, Fault};
use crate::point::Point;
use crate::space::Space;

/// The most particles a swarm may have.
const MOST: usize = 1_000_000;

/// The settings of a swarm. The default is the published method (Rao 2022, section 7.1): 50
/// particles, α = β = 0.45, every position evaluated anew, nothing adaptive. The paper uses 200
/// particles for regression.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many particles there are; 50.
    pub population: usize,
    /// The probability that a dimension takes the value of the particle's own best; 0.45.
    pub alpha: f64,
    /// The probability that a dimension takes the value of the global best; 0.45.
    pub beta: f64,
    /// After how many generations the search ends, the initial swarm being the first; endless if
    /// `None`.
    pub generations: Option<u64>,
    /// How new values are drawn: uniformly if `None`, or a group first and then one of its members.
    /// Needs a space whose parameters all have as many values as the groups have entries.
    pub groups: Option<Groups>,
    /// Where the first particles start, for example at a greedy solution; the others are drawn.
    pub given: Vec<Point>,
    /// The probability that a dimension is drawn anew after a move; 0. Without it a dimension can
    /// only ever hold values that some particle started with there.
    pub mutation: f64,
    /// Whether α and β follow the state of the swarm.
    pub adaptive: bool,
    /// Whether a position with a known value takes that value instead of being asked again. The
    /// path of the swarm stays the same; only repeated evaluations fall away, and the search ends
    /// early once nothing new can come.
    pub memo: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            population: 50,
            alpha: 0.45,
            beta: 0.45,
            generations: None,
            groups: None,
            given: Vec::new(),
            mutation: 0.0,
            adaptive: false,
            memo: false,
        }
    }
}

impl Settings {
    /// Reports every fault at once.
    pub(super) fn check(&self, engine: &'static str, space: &Space) -> Result<(), Error> {
        let mut faults = Vec::new();
        let mut fault = |setting: &str, message: String| {
            faults.push(Fault { parameter: setting.to_owned(), message })
        };
        if !(1..=MOST).contains(&self.population) {
            fault("population", format!("must lie within 1 and {MOST}, not {}", self.population));
        }
        if self.generations == Some(0) {
            fault(
                "generations",
                "must be at least 1; the initial swarm is the first generation".to_owned(),
            );
        }
        for (name, value) in
            [("alpha", self.alpha), ("beta", self.beta), ("mutation", self.mutation)]
        {
            if !(0.0..=1.0).contains(&value) {
                fault(name, format!("is a probability and must lie within 0 and 1, not {value}"));
            }
        }
        if let Some(groups) = &self.groups {
            let other = |values: Option<u64>| values != Some(groups.table());
            if let Some(param) = space.params().iter().find(|param| other(param.domain.values())) {
                let entries = groups.table();
                fault(
                    "groups",
                    format!(
                        "hold {entries} entries, but parameter '{}' has another number",
                        param.name
                    ),
                );
            }
        }
        if self.given.len() > self.population {
            let (given, particles) = (self.given.len(), self.population);
            fault(
                "given",
                format!("{given} positions are given to {particles} particles; give fewer"),
            );
        }
        if let Some(stray) = self.given.iter().position(|point| !space.contains(point)) {
            fault("given", format!("position {stray} lies outside the space"));
        }
        if faults.is_empty() { Ok(()) } else { Err(Error::Settings { engine, faults }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pso_discrete::{point_of, sequence_space};

    #[test]
    fn all_faults_are_reported_at_once() {
        let space = sequence_space(2, 5).unwrap();
        assert_eq!(Settings::default().check("swarm", &space), Ok(()));
        let settings = Settings {
            population: 1,
            alpha: f64::NAN,
            beta: 1.5,
            generations: Some(0),
            groups: Some(Groups::of_sizes(&[1, 3])),
            given: vec![point_of(&[0, 1]), point_of(&[0, 5])],
            mutation: -0.1,
            ..Settings::default()
        };
        let text = settings.check("swarm", &space).unwrap_err().to_string();
        for part in [
            "'generations' of engine 'swarm': must be at least 1",
            "'alpha' of engine 'swarm': is a probability and must lie within 0 and 1, not NaN",
            "'beta'",
            "'mutation'",
            "'groups' of engine 'swarm': hold 4 entries, but parameter 'slot 0' has another number",
            "2 positions are given to 1 particles",
            "position 1 lies outside the space",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert_eq!(text.lines().count(), 7);
        let none =
            Settings { population: 0, ..Settings::default() }.check("swarm", &space).unwrap_err();
        assert_eq!(
            none.to_string(),
            "setting 'population' of engine 'swarm': must lie within 1 and 1000000, not 0"
        );
    }
}
