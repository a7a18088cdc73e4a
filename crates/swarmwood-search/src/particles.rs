//! Particles in the unit cube: where they are, where they are going, and what they remember.
//!
//! Every particle is drawn toward the best position it has seen and toward the best that any has
//! seen. Kennedy and Eberhart, "Particle swarm optimization", 1995, with the inertia of Shi and
//! Eberhart 1998; equations 1 and 2 of Jun, Cho, Lee 2012. Both particle swarms of the crate fly
//! like this and differ in who sets the coefficients.
//!
//! Deviations, all where the papers are silent. Positions are those of the unit cube, so that
//! distances and velocities of parameters with different units and scales compare. Positions and
//! velocities are clamped each for itself; a particle at the border keeps its velocity. A position
//! must be better, not as good, to become a best. A particle whose trials all failed follows the
//! global best alone; while there is no global best, positions are drawn anew.

use crate::error::Error;
use crate::generational::{Round, Told};
use crate::rows::Rows;
use crate::snapshot::{Datum, damaged};

/// The best position any particle has seen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Global {
    pub(crate) loss: f64,
    pub(crate) position: Vec<f64>,
    /// Who found it; nobody if it was the start, or was learnt from the best before it.
    pub(crate) finder: Option<usize>,
}

/// The coefficients of a move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Flight {
    /// w, how much of the velocity is kept.
    pub(crate) inertia: f64,
    /// c1, toward the own best.
    pub(crate) own: f64,
    /// c2, toward the global best.
    pub(crate) global: f64,
    /// The largest velocity of a dimension.
    pub(crate) limit: f64,
}

/// A swarm.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Particles {
    pub(crate) positions: Rows,
    pub(crate) velocities: Rows,
    /// The best position of each particle; its present one while it has none.
    pub(crate) own: Rows,
    /// The losses of `own`.
    pub(crate) own_losses: Vec<Option<f64>>,
    /// The losses of `positions`, once they are told.
    pub(crate) losses: Vec<Option<f64>>,
    pub(crate) global: Option<Global>,
}

impl Particles {
    /// Particles at random positions with random velocities up to the limit.
    pub(crate) fn scatter(count: usize, width: usize, limit: f64, round: Round) -> Self {
        let mut positions = Rows::new(width);
        let mut velocities = Rows::new(width);
        let mut row = vec![0.0; width];
        for particle in 0..count {
            let mut stream = round.stream(particle);
            row.fill_with(|| stream.unit());
            positions.push(&row);
            row.fill_with(|| limit * (2.0 * stream.unit() - 1.0));
            velocities.push(&row);
        }
        let own = positions.clone();
        Particles {
            positions,
            velocities,
            own,
            own_losses: vec![None; count],
            losses: vec![None; count],
            global: None,
        }
    }

    /// Takes the losses of the present positions; the start comes before all particles.
    pub(crate) fn take(&mut self, told: Told<'_>) {
        if let Some((position, loss)) = told.start {
            self.offer(loss, position);
        }
        self.losses.copy_from_slice(told.losses);
        for particle in 0..self.losses.len() {
            self.remember(particle);
        }
    }

    /// Lets a particle's present position become its best and the best of all, if it is better.
    fn remember(&mut self, particle: usize) {
        let Some(loss) = self.losses[particle] else { return };
        if self.own_losses[particle].is_none_or(|least| loss < least) {
            self.own_losses[particle] = Some(loss);
            self.own.row_mut(particle).copy_from_slice(self.positions.row(particle));
        }
        improve(&mut self.global, loss, self.positions.row(particle), Some(particle));
    }

    /// Makes a position that no particle found the best of all if it is better; says whether it
    /// was.
    pub(crate) fn offer(&mut self, loss: f64, position: &[f64]) -> bool {
        improve(&mut self.global, loss, position, None)
    }

    /// The particle with the greatest loss; one without a loss is worse than any, and of equals it
    /// is the first.
    pub(crate) fn worst(&self) -> Option<usize> {
        let worse = |a: usize, b: usize| match (self.losses[a], self.losses[b]) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(a), Some(b)) => b > a,
        };
        (0..self.losses.len())
            .reduce(|worst, particle| if worse(worst, particle) { particle } else { worst })
    }

    /// Puts a particle elsewhere, where its loss is known; its velocity stays.
    pub(crate) fn put(&mut self, particle: usize, position: &[f64], loss: Option<f64>) {
        self.positions.row_mut(particle).copy_from_slice(position);
        self.losses[particle] = loss;
        self.remember(particle);
    }

    /// Moves every particle.
    pub(crate) fn fly(&mut self, flight: Flight, round: Round) {
        for particle in 0..self.positions.len() {
            let mut stream = round.stream(particle);
            let position = self.positions.row_mut(particle);
            let Some(global) = &self.global else {
                position.fill_with(|| stream.unit());
                continue;
            };
            let own = self.own_losses[particle].map(|_| self.own.row(particle));
            let velocity = self.velocities.row_mut(particle);
            for (k, (x, v)) in position.iter_mut().zip(velocity).enumerate() {
                let (r1, r2) = (stream.unit(), stream.unit());
                let to_own = own.map_or(0.0, |own| own[k] - *x);
                let to_global = global.position[k] - *x;
                *v =
                    flight.inertia * *v + flight.own * r1 * to_own + flight.global * r2 * to_global; // (eq. 2)
                *v = v.clamp(-flight.limit, flight.limit);
                *x = (*x + *v).clamp(0.0, 1.0); // (eq. 1)
            }
        }
    }

    pub(crate) fn save(&self) -> Datum {
        let losses = |losses: &[Option<f64>]| {
            Datum::List(losses.iter().map(|loss| Datum::optional(*loss)).collect())
        };
        let global = |global: &Global| {
            let finder = global.finder.map(|finder| Datum::Natural(finder as u64));
            let finder = Datum::List(finder.into_iter().collect());
            Datum::List(vec![Datum::Real(global.loss), Datum::reals(&global.position), finder])
        };
        Datum::record([
            ("positions", self.positions.save()),
            ("velocities", self.velocities.save()),
            ("own", self.own.save()),
            ("own losses", losses(&self.own_losses)),
            ("losses", losses(&self.losses)),
            ("global", Datum::List(self.global.iter().map(global).collect())),
        ])
    }

    pub(crate) fn load(data: &Datum, count: usize, width: usize) -> Result<Self, Error> {
        let rows = |name: &str| Rows::load_exactly(data.field(name)?, count, width);
        let losses = |name: &str| -> Result<Vec<Option<f64>>, Error> {
            let losses = data
                .field(name)?
                .list()?
                .iter()
                .map(Datum::to_optional)
                .collect::<Result<Vec<_>, Error>>()?;
            if losses.len() == count {
                Ok(losses)
            } else {
                Err(damaged("another number of losses than particles"))
            }
        };
        let global = |datum: &Datum| -> Result<Global, Error> {
            let [loss, position, finder] = datum.tuple()?;
            let finder = finder.list()?.first().map(Datum::count).transpose()?;
            Ok(Global { loss: loss.real()?, position: position.to_reals(width)?, finder })
        };
        Ok(Particles {
            positions: rows("positions")?,
            velocities: rows("velocities")?,
            own: rows("own")?,
            own_losses: losses("own losses")?,
            losses: losses("losses")?,
            global: data.field("global")?.list()?.first().map(global).transpose()?,
        })
    }
}

fn improve(
    global: &mut Option<Global>,
    loss: f64,
    position: &[f64],
    finder: Option<usize>,
) -> bool {
    let better = global.as_ref().is_none_or(|global| loss < global.loss);
    if better {
        *global = Some(Global { loss, position: position.to_vec(), finder });
    }
    better
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two particles in one dimension, twice.
    #[test]
    fn a_move_by_hand() {
        let round = Round { seed: 3, number: 5 };
        let mut swarm = Particles::scatter(2, 1, 0.2, Round { seed: 3, number: 4 });
        swarm.positions.row_mut(0)[0] = 0.5;
        swarm.positions.row_mut(1)[0] = 0.9;
        swarm.velocities.row_mut(0)[0] = 0.1;
        swarm.velocities.row_mut(1)[0] = -0.2;
        swarm.take(Told { losses: &[Some(1.0), Some(4.0)], start: Some((&[0.45], 1.5)) });
        assert_eq!(swarm.global, Some(Global { loss: 1.0, position: vec![0.5], finder: Some(0) }));
        let flight = Flight { inertia: 0.5, own: 2.0, global: 1.0, limit: 0.2 };
        swarm.fly(flight, round);
        // Particle 0 stands on both bests: v = .5 · .1. Particle 1: v = .5 · -.2 + r2 · (.5 - .9),
        // not below -.2.
        let mut stream = round.stream(1);
        let r2 = [stream.unit(), stream.unit()][1];
        let v = (-0.1 - 0.4 * r2).max(-0.2);
        assert_eq!(swarm.velocities.row(0), [0.05]);
        assert_eq!(swarm.positions.row(0), [0.55]);
        assert!(
            (swarm.velocities.row(1)[0] - v).abs() < 1e-15
                && (swarm.positions.row(1)[0] - 0.9 - v).abs() < 1e-15
        );

        // The next losses: particle 0 got worse and is drawn back to its own best, particle 1 has
        // the best of all.
        swarm.take(Told { losses: &[Some(2.0), Some(0.5)], start: None });
        let (x0, x1) = (swarm.positions.row(0)[0], swarm.positions.row(1)[0]);
        assert_eq!(swarm.own.row(0), [0.5]);
        assert_eq!(swarm.global, Some(Global { loss: 0.5, position: vec![x1], finder: Some(1) }));
        let round = Round { seed: 3, number: 6 };
        swarm.fly(flight, round);
        let mut stream = round.stream(0);
        let (r1, r2) = (stream.unit(), stream.unit());
        let v = (0.5 * 0.05 + 2.0 * r1 * (0.5 - x0) + r2 * (x1 - x0)).clamp(-0.2, 0.2);
        assert!((swarm.positions.row(0)[0] - (x0 + v).clamp(0.0, 1.0)).abs() < 1e-15);
    }

    #[test]
    fn failures_are_the_worst_and_leave_no_memory() {
        let mut swarm = Particles::scatter(3, 2, 0.2, Round { seed: 1, number: 0 });
        let before = swarm.positions.clone();
        swarm.take(Told { losses: &[None; 3], start: None });
        assert_eq!((swarm.global.clone(), swarm.worst()), (None, Some(0)));
        let flight = Flight { inertia: 0.0, own: 0.0, global: 0.0, limit: 0.2 };
        swarm.fly(flight, Round { seed: 1, number: 1 });
        assert!(before.iter().zip(swarm.positions.iter()).all(|(a, b)| a != b), "drawn anew");
        swarm.take(Told { losses: &[Some(1.0), None, Some(3.0)], start: None });
        assert_eq!(
            (swarm.worst(), &swarm.own_losses[..]),
            (Some(1), &[Some(1.0), None, Some(3.0)][..])
        );
        swarm.take(Told {
            losses: &[Some(1.0), Some(3.0), Some(3.0)],
            start: Some((&[0.5, 0.5], 1.0)),
        });
        assert_eq!(swarm.worst(), Some(1), "of equals the first");
        assert_eq!(
            swarm.global.as_ref().and_then(|global| global.finder),
            Some(0),
            "better, not as good"
        );
    }
}
