//! Weights that follow the state of the swarm.
//!
//! Zhan et al. ("Adaptive particle swarm optimization", IEEE SMC-B 2009, sections III and IV) read one of four states
//! from the evolutionary factor and push the acceleration coefficients c1 (toward the own best) and c2 (toward the
//! global best) accordingly. Rao 2022 names adaptive α and β as future work.
//!
//! Ours: the discrete swarm has no accelerations, so `α = α₀ · c1 / 2` and `β = β₀ · c2 / 2`, where α₀ and β₀ are the
//! weights that were set. Both coefficients start at 2, hence the run starts as published; they stay within 1.5 and
//! 2.5, hence each weight within 3/4 and 5/4 of its start. There is no inertia to adapt, as a discrete velocity is used
//! up by its move. The paper's elitist learning is left to the option of mutation.

use crate::rng::Stream;

/// Bounds of both coefficients, and of their sum.
const LEAST: f64 = 1.5;
const MOST: f64 = 2.5;
const SUM: f64 = 4.0;

/// What the swarm is doing, in the order in which the states follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Exploration,
    Exploitation,
    Convergence,
    JumpingOut,
}

impl State {
    pub(super) const CYCLE: [State; 4] =
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

    /// The state of a factor. Where two states are possible, the swarm stays in its state, or else goes to the next one
    /// of the cycle, or else to the one with more membership.
    fn of(f: f64, previous: State) -> State {
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
pub(super) struct Control {
    pub(super) own: f64,
    pub(super) global: f64,
    pub(super) state: State,
}

impl Control {
    pub(super) fn new() -> Self {
        Control { own: 2.0, global: 2.0, state: State::Exploration }
    }

    /// Whether the coefficients lie where [`Control::step`] keeps them.
    pub(super) fn is_sound(&self) -> bool {
        [self.own, self.global].iter().all(|c| (LEAST..=MOST).contains(c))
    }

    /// The state of the factor decides where the coefficients go, by a random small step each.
    pub(super) fn step(&mut self, f: f64, stream: &mut Stream) {
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

    /// The weights α and β in force, from those that were set.
    pub(super) fn weights(&self, alpha: f64, beta: f64) -> (f64, f64) {
        ((alpha * self.own / 2.0).min(1.0), (beta * self.global / 2.0).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::State::*;
    use super::*;

    #[test]
    fn memberships_have_the_published_corners() {
        let corners = [
            (Exploration, [(0.4, 0.0), (0.5, 0.5), (0.6, 1.0), (0.7, 1.0), (0.75, 0.5), (0.8, 0.0)]),
            (Exploitation, [(0.2, 0.0), (0.25, 0.5), (0.3, 1.0), (0.4, 1.0), (0.5, 0.5), (0.6, 0.0)]),
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
            let mut control = Control::new();
            control.step(f, &mut Stream::new(1, 0, 0));
            (control.own - 2.0, control.global - 2.0)
        };
        let (own, global) = after(0.65);
        assert!(own > 0.0 && (-0.1..=-0.05).contains(&global), "exploration: {own} {global}");
        let (own, global) = after(0.95);
        assert!(own < 0.0 && global > 0.0, "jumping out: {own} {global}");
        let (own, global) = after(0.05);
        assert!(own.abs() < 0.03 && (own + global).abs() < 1e-12, "convergence keeps the sum: {own} {global}");

        let mut stream = Stream::new(2, 0, 0);
        let mut control = Control::new();
        for _ in 0..5_000 {
            let f = if stream.below(3) == 0 { stream.unit() } else { 0.65 };
            control.step(f, &mut stream);
            assert!(control.is_sound() && control.own + control.global <= SUM + 1e-12, "{control:?}");
        }
        assert_eq!(Control::new().weights(0.45, 0.3), (0.45, 0.3));
        assert_eq!(Control { own: 2.5, ..Control::new() }.weights(1.0, 0.0), (1.0, 0.0));
    }
}
