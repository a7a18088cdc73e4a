//! What a swarm is doing, read from where its best particle stands, and the coefficients that
//! follow from it.
//!
//! The mean distance of every particle to all others says whether the global best stands amid the
//! swarm or apart. Scaled to 0..1 it is the evolutionary factor, which speaks for one of four
//! states; the state pushes the acceleration coefficients c1 (toward the own best) and c2 (toward
//! the global best). Zhan, Zhang, Li, Chung: "Adaptive particle swarm optimization", IEEE
//! Transactions on Systems, Man and Cybernetics B, 2009, sections III and IV; equations 3 and 4 of
//! Jun, Cho, Lee, "Improving tree-based classification rules using a particle swarm optimization",
//! APMS 2012. The distance itself belongs to the engine: Euclidean in [`apso`](crate::apso),
//! Hamming in [`pso_discrete`](crate::pso_discrete).
//!
//! Deviations. The global best is a remembered position that no particle need stand on: its
//! distance is measured from that position to all particles but the one that found it, and the
//! extremes are taken over it too, so that the factor stays within 0 and 1. Where all distances are
//! equal the factor is not defined: 0 for a swarm on one spot, and 1/2 for one whose particles are
//! all equally far apart. Where two states are possible the paper's rule base is read as: stay,
//! else go to the next of the cycle, else to the one with more membership.

use crate::error::Error;
use crate::rng::Stream;
use crate::snapshot::{Datum, damaged};

/// Bounds of both coefficients, and of their sum.
const LEAST: f64 = 1.5;
const MOST: f64 = 2.5;
const SUM: f64 = 4.0;

/// The evolutionary factor from the mean distances of the particles and of the global best.
///
/// ```
/// use swarmwood_search::evolution::factor;
/// assert_eq!(factor(&[1.0, 3.0, 5.0], 2.0), 0.25);
/// ```
pub fn factor(distances: &[f64], best: f64) -> f64 {
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

/// What the swarm is doing, in the order in which the states follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Far apart, looking everywhere.
    Exploration,
    /// Gathering around several good places.
    Exploitation,
    /// Gathered around the global best.
    Convergence,
    /// The global best has left the swarm behind.
    JumpingOut,
}

impl State {
    /// All states in their order.
    pub const CYCLE: [State; 4] =
        [State::Exploration, State::Exploitation, State::Convergence, State::JumpingOut];

    fn next(self) -> State {
        Self::CYCLE[(self as usize + 1) % 4]
    }

    /// How much the factor speaks for the state.
    fn membership(self, f: f64) -> f64 {
        let rise = |from: f64, to: f64| ((f - from) / (to - from)).clamp(0.0, 1.0);
        match self {
            State::Exploration => rise(0.4, 0.6).min(1.0 - rise(0.7, 0.8)),
            State::Exploitation => rise(0.2, 0.3).min(1.0 - rise(0.4, 0.6)),
            State::Convergence => 1.0 - rise(0.1, 0.3),
            State::JumpingOut => rise(0.7, 0.9),
        }
    }

    /// The state of a factor. Where two states are possible, the swarm stays in its state, or else
    /// goes to the next one of the cycle, or else to the one with more membership.
    pub fn of(f: f64, previous: State) -> State {
        let possible = |state: &State| state.membership(f) > 0.0;
        let usual = [previous, previous.next()].into_iter().find(possible);
        usual.unwrap_or_else(|| {
            let more = |a: State, b: State| if b.membership(f) > a.membership(f) { b } else { a };
            Self::CYCLE.into_iter().fold(State::Exploration, more)
        })
    }
}

/// The coefficients and the state they came from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    /// c1, toward the own best.
    pub own: f64,
    /// c2, toward the global best.
    pub global: f64,
    /// What the swarm is doing.
    pub state: State,
}

impl Default for Control {
    fn default() -> Self {
        Control { own: 2.0, global: 2.0, state: State::Exploration }
    }
}

impl Control {
    /// The state of the factor decides where the coefficients go, by a random small step each.
    pub fn step(&mut self, f: f64, stream: &mut Stream) {
        self.state = State::of(f, self.state);
        let (own, global) = match self.state {
            State::Exploration => (1.0, -1.0),
            State::Exploitation => (0.5, -0.5),
            State::Convergence => (0.5, 0.5),
            State::JumpingOut => (-1.0, 1.0),
        };
        let mut delta = || 0.05 + 0.05 * stream.unit();
        self.own = (self.own + own * delta()).clamp(LEAST, MOST);
        self.global = (self.global + global * delta()).clamp(LEAST, MOST);
        let sum = self.own + self.global;
        if sum > SUM {
            // Division may round to just below the bound.
            self.own = (self.own * SUM / sum).max(LEAST);
            self.global = (self.global * SUM / sum).max(LEAST);
        }
    }

    pub(crate) fn save(&self) -> Datum {
        Datum::List(vec![
            Datum::Real(self.own),
            Datum::Real(self.global),
            Datum::Natural(self.state as u64),
        ])
    }

    pub(crate) fn load(data: &Datum) -> Result<Self, Error> {
        let [own, global, state] = data.tuple()?;
        let state =
            usize::try_from(state.natural()?).ok().and_then(|state| State::CYCLE.get(state));
        let state = *state.ok_or_else(|| damaged("a state of the swarm that does not exist"))?;
        let control = Control { own: own.real()?, global: global.real()?, state };
        let sound = [control.own, control.global].iter().all(|c| (LEAST..=MOST).contains(c));
        if sound { Ok(control) } else { Err(damaged("coefficients out of bounds")) }
    }
}

#[cfg(test)]
mod tests {
    use super::State::*;
    use super::*;

    #[test]
    fn the_factor_is_defined_everywhere() {
        assert_eq!((factor(&[0.0, 0.0], 0.0), factor(&[2.0, 2.0], 2.0)), (0.0, 0.5));
        assert_eq!(
            (factor(&[1.0, 2.0], 1.0), factor(&[1.0, 2.0], 2.0), factor(&[1.0, 2.0], 9.0)),
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
        for step in 0..=100 {
            let f = f64::from(step) / 100.0;
            assert!(State::CYCLE.iter().any(|state| state.membership(f) > 0.0), "no state at {f}");
        }
    }

    /// The example of Zhan et al.: a factor of .45 speaks three to one for exploitation.
    #[test]
    fn where_two_states_overlap_the_cycle_decides() {
        assert_eq!(State::of(0.45, JumpingOut), Exploration, "the next of the cycle");
        assert_eq!(State::of(0.45, Exploration), Exploration, "the state it was in");
        assert_eq!(State::of(0.45, Exploitation), Exploitation);
        assert_eq!(State::of(0.45, Convergence), Exploitation, "more membership");
        assert_eq!(State::of(0.55, Convergence), Exploration, "more membership");
        for previous in State::CYCLE {
            assert_eq!(
                [0.05, 0.35, 0.65, 0.95].map(|f| State::of(f, previous)),
                [Convergence, Exploitation, Exploration, JumpingOut]
            );
        }
    }

    #[test]
    fn coefficients_go_where_the_state_sends_them_and_stay_in_bounds() {
        let after = |f: f64| {
            let mut control = Control::default();
            control.step(f, &mut Stream::new(1, 0, 0));
            (control.own - 2.0, control.global - 2.0)
        };
        let (own, global) = after(0.65);
        assert!(own > 0.0 && (-0.1..=-0.05).contains(&global), "exploration: {own} {global}");
        let (own, global) = after(0.95);
        assert!(own < 0.0 && global > 0.0, "jumping out: {own} {global}");
        let (own, global) = after(0.05);
        assert!(
            own.abs() < 0.03 && (own + global).abs() < 1e-12,
            "convergence keeps the sum: {own} {global}"
        );

        let mut stream = Stream::new(2, 0, 0);
        let mut control = Control::default();
        for _ in 0..5_000 {
            let f = if stream.below(3) == 0 { stream.unit() } else { 0.65 };
            control.step(f, &mut stream);
            assert_eq!(Control::load(&control.save()), Ok(control), "bounds");
            assert!(control.own + control.global <= SUM + 1e-12, "{control:?}");
        }
    }
}
