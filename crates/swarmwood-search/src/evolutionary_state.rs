//! Evolutionary state estimation of adaptive PSO, and the acceleration coefficients that follow
//! from the state.
//!
//! The mean distances of the particles to all others tell whether the global best lies inside the
//! swarm or apart from it. Scaled to 0..1 this is the evolutionary factor f, which determines one
//! of four states; the state increases or decreases the acceleration coefficients c1 (toward the
//! personal best) and c2 (toward the global best). Zhan, Zhang, Li, Chung: "Adaptive particle swarm
//! optimization", IEEE Transactions on Systems, Man and Cybernetics B, 2009, sections III and IV;
//! equations 3 and 4 of Jun, Cho, Lee, "Improving tree-based classification rules using a particle
//! swarm optimization", APMS 2012. The distance itself is up to the engine: Euclidean in
//! [`apso`](crate::apso), Hamming in [`discrete_pso`](crate::discrete_pso).
//!
//! Deviations. The global best is a stored position where no particle need be: its distance is
//! measured from that position to all particles except the one that found it, and it is included in
//! the extremes, so that f stays within 0 and 1. If all distances are equal, f is undefined: here
//! it is 0 for a swarm at a single position and 1/2 for one whose particles are equally far apart.
//! Where two states are possible, the paper's rule base is read as: keep the state, else take the
//! next one of the cycle, else the one with the larger membership.

use crate::error::Error;
use crate::rng::Stream;
use crate::snapshot::{Datum, damaged};

/// Bounds of both coefficients, and of their sum.
const MIN_COEFFICIENT: f64 = 1.5;
const MAX_COEFFICIENT: f64 = 2.5;
const MAX_SUM: f64 = 4.0;

/// The evolutionary factor from the mean distances of the particles and of the global best.
///
/// ```
/// use swarmwood_search::evolutionary_state::evolutionary_factor;
/// assert_eq!(evolutionary_factor(&[1.0, 3.0, 5.0], 2.0), 0.25);
/// ```
pub fn evolutionary_factor(distances: &[f64], best: f64) -> f64 {
    let least = distances.iter().copied().fold(best, f64::min);
    let most = distances.iter().copied().fold(best, f64::max);
    if most > least {
        (best - least) / (most - least)
    } else if most > 0.0 {
        0.5
    } else {
        0.0
    }
}

/// The state of a swarm, in the order of the cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvolutionaryState {
    /// The particles are far apart (S1).
    Exploration,
    /// The particles gather around several good positions (S2).
    Exploitation,
    /// The particles have gathered around the global best (S3).
    Convergence,
    /// The global best is far away from the swarm (S4).
    JumpingOut,
}

impl EvolutionaryState {
    /// All states in the order of the cycle.
    pub const CYCLE: [EvolutionaryState; 4] = [
        EvolutionaryState::Exploration,
        EvolutionaryState::Exploitation,
        EvolutionaryState::Convergence,
        EvolutionaryState::JumpingOut,
    ];

    fn next(self) -> EvolutionaryState {
        Self::CYCLE[(self as usize + 1) % 4]
    }

    /// The membership of the state at the evolutionary factor f.
    fn membership(self, f: f64) -> f64 {
        let rise = |from: f64, to: f64| ((f - from) / (to - from)).clamp(0.0, 1.0);
        match self {
            EvolutionaryState::Exploration => rise(0.4, 0.6).min(1.0 - rise(0.7, 0.8)),
            EvolutionaryState::Exploitation => rise(0.2, 0.3).min(1.0 - rise(0.4, 0.6)),
            EvolutionaryState::Convergence => 1.0 - rise(0.1, 0.3),
            EvolutionaryState::JumpingOut => rise(0.7, 0.9),
        }
    }

    /// The state at the evolutionary factor f. Where two states are possible, the swarm keeps its
    /// state, else takes the next one of the cycle, else the one with the larger membership.
    pub fn of(f: f64, previous: EvolutionaryState) -> EvolutionaryState {
        let possible = |state: &EvolutionaryState| state.membership(f) > 0.0;
        let usual = [previous, previous.next()].into_iter().find(possible);
        usual.unwrap_or_else(|| {
            let more = |a: EvolutionaryState, b: EvolutionaryState| {
                if b.membership(f) > a.membership(f) { b } else { a }
            };
            Self::CYCLE.into_iter().fold(EvolutionaryState::Exploration, more)
        })
    }
}

/// The acceleration coefficients and the state they follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptiveCoefficients {
    /// c1, toward the personal best.
    pub c1: f64,
    /// c2, toward the global best.
    pub c2: f64,
    /// The state of the swarm.
    pub state: EvolutionaryState,
}

impl Default for AdaptiveCoefficients {
    fn default() -> Self {
        AdaptiveCoefficients { c1: 2.0, c2: 2.0, state: EvolutionaryState::Exploration }
    }
}

impl AdaptiveCoefficients {
    /// Updates the state, and both coefficients by a small random step in its direction.
    pub fn adapt(&mut self, f: f64, stream: &mut Stream) {
        self.state = EvolutionaryState::of(f, self.state);
        let (c1, c2) = match self.state {
            EvolutionaryState::Exploration => (1.0, -1.0),
            EvolutionaryState::Exploitation => (0.5, -0.5),
            EvolutionaryState::Convergence => (0.5, 0.5),
            EvolutionaryState::JumpingOut => (-1.0, 1.0),
        };
        let mut delta = || 0.05 + 0.05 * stream.unit();
        self.c1 = (self.c1 + c1 * delta()).clamp(MIN_COEFFICIENT, MAX_COEFFICIENT);
        self.c2 = (self.c2 + c2 * delta()).clamp(MIN_COEFFICIENT, MAX_COEFFICIENT);
        let sum = self.c1 + self.c2;
        if sum > MAX_SUM {
            // Division may round to just below the bound.
            self.c1 = (self.c1 * MAX_SUM / sum).max(MIN_COEFFICIENT);
            self.c2 = (self.c2 * MAX_SUM / sum).max(MIN_COEFFICIENT);
        }
    }

    pub(crate) fn save(&self) -> Datum {
        Datum::List(vec![
            Datum::Real(self.c1),
            Datum::Real(self.c2),
            Datum::Natural(self.state as u64),
        ])
    }

    pub(crate) fn load(data: &Datum) -> Result<Self, Error> {
        let [c1, c2, state] = data.tuple()?;
        let state = usize::try_from(state.natural()?)
            .ok()
            .and_then(|state| EvolutionaryState::CYCLE.get(state));
        let state = *state.ok_or_else(|| damaged("a state of the swarm that does not exist"))?;
        let coefficients = AdaptiveCoefficients { c1: c1.real()?, c2: c2.real()?, state };
        let sound = [coefficients.c1, coefficients.c2]
            .iter()
            .all(|c| (MIN_COEFFICIENT..=MAX_COEFFICIENT).contains(c));
        if sound { Ok(coefficients) } else { Err(damaged("coefficients out of bounds")) }
    }
}

#[cfg(test)]
mod tests {
    use super::EvolutionaryState::*;
    use super::*;

    #[test]
    fn the_factor_is_defined_everywhere() {
        assert_eq!(
            (evolutionary_factor(&[0.0, 0.0], 0.0), evolutionary_factor(&[2.0, 2.0], 2.0)),
            (0.0, 0.5)
        );
        assert_eq!(
            (
                evolutionary_factor(&[1.0, 2.0], 1.0),
                evolutionary_factor(&[1.0, 2.0], 2.0),
                evolutionary_factor(&[1.0, 2.0], 9.0)
            ),
            (0.0, 1.0, 1.0)
        );
    }

    #[test]
    fn memberships_have_the_published_corners() {
        let corners = [
            (
                Exploration,
                [(0.4, 0.0), (0.5, 0.5), (0.6, 1.0), (0.7, 1.0), (0.75, 0.5), (0.8, 0.0)],
            ),
            (
                Exploitation,
                [(0.2, 0.0), (0.25, 0.5), (0.3, 1.0), (0.4, 1.0), (0.5, 0.5), (0.6, 0.0)],
            ),
            (Convergence, [(0.0, 1.0), (0.1, 1.0), (0.2, 0.5), (0.3, 0.0), (0.5, 0.0), (1.0, 0.0)]),
            (JumpingOut, [(0.0, 0.0), (0.7, 0.0), (0.8, 0.5), (0.9, 1.0), (0.95, 1.0), (1.0, 1.0)]),
        ];
        for (state, points) in corners {
            for (f, membership) in points {
                assert!((state.membership(f) - membership).abs() < 1e-12, "{state:?} at {f}");
            }
        }
        for adapt in 0..=100 {
            let f = f64::from(adapt) / 100.0;
            assert!(
                EvolutionaryState::CYCLE.iter().any(|state| state.membership(f) > 0.0),
                "no state at {f}"
            );
        }
    }

    /// The example of Zhan et al.: at f = .45 the memberships are three to one for exploitation.
    #[test]
    fn where_two_states_overlap_the_cycle_decides() {
        assert_eq!(EvolutionaryState::of(0.45, JumpingOut), Exploration, "the next of the cycle");
        assert_eq!(EvolutionaryState::of(0.45, Exploration), Exploration, "the state it was in");
        assert_eq!(EvolutionaryState::of(0.45, Exploitation), Exploitation);
        assert_eq!(EvolutionaryState::of(0.45, Convergence), Exploitation, "more membership");
        assert_eq!(EvolutionaryState::of(0.55, Convergence), Exploration, "more membership");
        for previous in EvolutionaryState::CYCLE {
            assert_eq!(
                [0.05, 0.35, 0.65, 0.95].map(|f| EvolutionaryState::of(f, previous)),
                [Convergence, Exploitation, Exploration, JumpingOut]
            );
        }
    }

    #[test]
    fn coefficients_follow_the_state_and_stay_in_bounds() {
        let after = |f: f64| {
            let mut coefficients = AdaptiveCoefficients::default();
            coefficients.adapt(f, &mut Stream::new(1, 0, 0));
            (coefficients.c1 - 2.0, coefficients.c2 - 2.0)
        };
        let (c1, c2) = after(0.65);
        assert!(c1 > 0.0 && (-0.1..=-0.05).contains(&c2), "exploration: {c1} {c2}");
        let (c1, c2) = after(0.95);
        assert!(c1 < 0.0 && c2 > 0.0, "jumping out: {c1} {c2}");
        let (c1, c2) = after(0.05);
        assert!(c1.abs() < 0.03 && (c1 + c2).abs() < 1e-12, "convergence keeps the sum: {c1} {c2}");

        let mut stream = Stream::new(2, 0, 0);
        let mut coefficients = AdaptiveCoefficients::default();
        for _ in 0..5_000 {
            let f = if stream.below(3) == 0 { stream.unit() } else { 0.65 };
            coefficients.adapt(f, &mut stream);
            assert_eq!(
                AdaptiveCoefficients::load(&coefficients.save()),
                Ok(coefficients),
                "bounds"
            );
            assert!(coefficients.c1 + coefficients.c2 <= MAX_SUM + 1e-12, "{coefficients:?}");
        }
    }
}
