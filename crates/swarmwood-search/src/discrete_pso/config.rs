//! The configuration of a discrete swarm.

use super::TableGroups;
use crate::config::{ConfigErrors, GENERATIONS, population_bounds};
use crate::error::Error;
use crate::options::{OptionSpec, OptionValues};
use crate::point::Point;
use crate::space::Space;

/// Configuration of [`DiscretePso`](super::DiscretePso). The default is the published method (Rao
/// 2022, section 7.1): 50 particles, α = β = 0.45, no memo, nothing adaptive. The paper uses 200
/// particles for regression.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscretePsoConfig {
    /// Number of particles; 50.
    pub population: usize,
    /// The probability that a dimension takes the value of the personal best; 0.45.
    pub alpha: f64,
    /// The probability that a dimension takes the value of the global best; 0.45.
    pub beta: f64,
    /// Number of generations, the initial swarm included; unlimited if `None`.
    pub generations: Option<u64>,
    /// How new values are drawn: uniformly if `None`, or a group first and then one of its members.
    /// Needs a space whose parameters all have as many values as the groups have entries.
    pub groups: Option<TableGroups>,
    /// Initial positions of the first particles, for example a greedy solution; the others are
    /// random.
    pub initial_points: Vec<Point>,
    /// The probability that a dimension is drawn at random after a move; 0. Without mutation a
    /// dimension can only take values that some particle started with.
    pub mutation: f64,
    /// Whether α and β follow the state of the swarm; false.
    pub adaptive: bool,
    /// Whether a position whose loss is known takes that loss instead of being evaluated again;
    /// false. The trajectory of the swarm stays the same, and the search ends early once no new
    /// position can occur.
    pub memo: bool,
}

impl Default for DiscretePsoConfig {
    fn default() -> Self {
        DiscretePsoConfig {
            population: 50,
            alpha: 0.45,
            beta: 0.45,
            generations: None,
            groups: None,
            initial_points: Vec::new(),
            mutation: 0.0,
            adaptive: false,
            memo: false,
        }
    }
}

/// The options of [`DiscretePso`](super::DiscretePso). For tuning, the memo avoids trials that
/// repeat a known point, and mutation reaches values that no particle started with.
pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer("population", population_bounds(1), 20, "number of particles"),
    GENERATIONS,
    OptionSpec::real(
        "alpha",
        (0.0, 1.0),
        0.45,
        "probability that a parameter takes the value of the personal best",
    ),
    OptionSpec::real(
        "beta",
        (0.0, 1.0),
        0.45,
        "probability that a parameter takes the value of the global best",
    ),
    OptionSpec::real(
        "mutation",
        (0.0, 1.0),
        0.1,
        "probability that a parameter is drawn at random after a move",
    ),
    OptionSpec::flag("adaptive", false, "whether alpha and beta follow the state of the swarm"),
    OptionSpec::flag(
        "memo",
        true,
        "whether a known configuration takes its known loss instead of being evaluated again",
    ),
];

impl DiscretePsoConfig {
    pub(super) fn of(options: &OptionValues) -> Self {
        DiscretePsoConfig {
            population: options.count("population"),
            alpha: options.real("alpha"),
            beta: options.real("beta"),
            generations: options.optional_natural("generations"),
            groups: None,
            initial_points: Vec::new(),
            mutation: options.real("mutation"),
            adaptive: options.flag("adaptive"),
            memo: options.flag("memo"),
        }
    }

    /// Reports all errors at once.
    pub(super) fn check(&self, engine: &'static str, space: &Space) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        errors.check_population(self.population, 1);
        errors.check_generations(self.generations);
        for (name, value) in
            [("alpha", self.alpha), ("beta", self.beta), ("mutation", self.mutation)]
        {
            if !(0.0..=1.0).contains(&value) {
                let message = format!("is a probability and must lie within 0 and 1, not {value}");
                errors.add(name, message);
            }
        }

        if let Some(groups) = &self.groups {
            let other = |values: Option<u64>| values != Some(groups.table());
            if let Some(param) = space.params().iter().find(|param| other(param.domain.values())) {
                let entries = groups.table();
                errors.add(
                    "groups",
                    format!(
                        "hold {entries} entries, but parameter '{}' has another number",
                        param.name
                    ),
                );
            }
        }

        if self.initial_points.len() > self.population {
            let (points, particles) = (self.initial_points.len(), self.population);
            let message = format!("{points} points are given to {particles} particles; give fewer");
            errors.add("initial_points", message);
        }
        if let Some(stray) = self.initial_points.iter().position(|point| !space.contains(point)) {
            errors.add("initial_points", format!("point {stray} lies outside the space"));
        }
        errors.into_result(engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discrete_pso::{point_of, sequence_space};

    #[test]
    fn all_errors_are_reported_at_once() {
        let space = sequence_space(2, 5).unwrap();
        assert_eq!(DiscretePsoConfig::default().check("swarm", &space), Ok(()));
        let config = DiscretePsoConfig {
            population: 1,
            alpha: f64::NAN,
            beta: 1.5,
            generations: Some(0),
            groups: Some(TableGroups::of_sizes(&[1, 3])),
            initial_points: vec![point_of(&[0, 1]), point_of(&[0, 5])],
            mutation: -0.1,
            ..DiscretePsoConfig::default()
        };
        let text = config.check("swarm", &space).unwrap_err().to_string();
        for part in [
            "'generations' of engine 'swarm': must be at least 1",
            "'alpha' of engine 'swarm': is a probability and must lie within 0 and 1, not NaN",
            "'beta'",
            "'mutation'",
            "'groups' of engine 'swarm': hold 4 entries, but parameter 'slot 0' has another number",
            "2 points are given to 1 particles",
            "point 1 lies outside the space",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert_eq!(text.lines().count(), 7);
        let none = DiscretePsoConfig { population: 0, ..DiscretePsoConfig::default() }
            .check("swarm", &space)
            .unwrap_err();
        assert_eq!(
            none.to_string(),
            "setting 'population' of engine 'swarm': must lie within 1 and 1000000, not 0"
        );
    }
}
