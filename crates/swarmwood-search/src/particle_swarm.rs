//! A particle swarm in the unit cube: positions, velocities, personal bests and the global best.
//!
//! Every particle accelerates toward its personal best and toward the global best. Kennedy and
//! Eberhart, "Particle swarm optimization", 1995, with the inertia weight of Shi and Eberhart 1998;
//! equations 1 and 2 of Jun, Cho, Lee 2012. The engines [`pso`](crate::pso) and
//! [`apso`](crate::apso) share this swarm and differ in how the coefficients are set.
//!
//! Deviations, all where the papers are silent. Positions are those of the unit cube, so that
//! distances and velocities of parameters with different units and scales are comparable. Positions
//! and velocities are clamped independently; a particle at the border keeps its velocity. A
//! position must be strictly better to become a best. A particle whose trials all failed follows
//! the global best alone; while there is no global best, positions are drawn at random.

use crate::error::Error;
use crate::generational::{RoundLosses, RoundSeed};
use crate::position_matrix::PositionMatrix;
use crate::snapshot::{Datum, damaged};

/// The best position found by any particle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GlobalBest {
    pub(crate) loss: f64,
    pub(crate) position: Vec<f64>,
    /// The particle that found it; `None` for the initial point and for elitist learning.
    pub(crate) finder: Option<usize>,
}

/// The coefficients of the velocity update (eq. 2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MoveCoefficients {
    /// w, the inertia weight.
    pub(crate) inertia: f64,
    /// c1, the acceleration toward the personal best.
    pub(crate) c1: f64,
    /// c2, the acceleration toward the global best.
    pub(crate) c2: f64,
    /// The largest velocity per dimension.
    pub(crate) max_velocity: f64,
}

/// The state of a swarm.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParticleSwarm {
    pub(crate) positions: PositionMatrix,
    pub(crate) velocities: PositionMatrix,
    /// The best position of each particle; its current one while it has none.
    pub(crate) personal_best: PositionMatrix,
    /// The losses of `personal_best`.
    pub(crate) personal_best_losses: Vec<Option<f64>>,
    /// The losses of `positions`, once they are known.
    pub(crate) losses: Vec<Option<f64>>,
    pub(crate) global_best: Option<GlobalBest>,
}

impl ParticleSwarm {
    /// Particles at random positions with random velocities.
    pub(crate) fn random(count: usize, width: usize, max_velocity: f64, round: RoundSeed) -> Self {
        let mut positions = PositionMatrix::new(width);
        let mut velocities = PositionMatrix::new(width);
        let mut row = vec![0.0; width];
        for particle in 0..count {
            let mut stream = round.stream(particle);
            row.fill_with(|| stream.unit());
            positions.push(&row);
            row.fill_with(|| max_velocity * (2.0 * stream.unit() - 1.0));
            velocities.push(&row);
        }
        let personal_best = positions.clone();
        ParticleSwarm {
            positions,
            velocities,
            personal_best,
            personal_best_losses: vec![None; count],
            losses: vec![None; count],
            global_best: None,
        }
    }

    /// Takes the losses of the current positions; the initial point comes before all particles.
    pub(crate) fn observe(&mut self, results: RoundLosses<'_>) {
        if let Some((position, loss)) = results.start {
            self.offer_global_best(loss, position);
        }
        self.losses.copy_from_slice(results.losses);
        for particle in 0..self.losses.len() {
            self.update_bests(particle);
        }
    }

    /// Updates the personal best of a particle and the global best.
    fn update_bests(&mut self, particle: usize) {
        let Some(loss) = self.losses[particle] else { return };
        if self.personal_best_losses[particle].is_none_or(|least| loss < least) {
            self.personal_best_losses[particle] = Some(loss);
            self.personal_best.row_mut(particle).copy_from_slice(self.positions.row(particle));
        }
        improve_global_best(
            &mut self.global_best,
            loss,
            self.positions.row(particle),
            Some(particle),
        );
    }

    /// Makes a position that no particle found the global best if it is better; returns whether it
    /// was.
    pub(crate) fn offer_global_best(&mut self, loss: f64, position: &[f64]) -> bool {
        improve_global_best(&mut self.global_best, loss, position, None)
    }

    /// The particle with the largest loss; a particle without a loss is worse than all others, and
    /// among equal ones it is the first.
    pub(crate) fn worst(&self) -> Option<usize> {
        let worse = |a: usize, b: usize| match (self.losses[a], self.losses[b]) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(a), Some(b)) => b > a,
        };
        (0..self.losses.len())
            .reduce(|worst, particle| if worse(worst, particle) { particle } else { worst })
    }

    /// Moves a particle to a position whose loss is known; its velocity stays.
    pub(crate) fn relocate(&mut self, particle: usize, position: &[f64], loss: Option<f64>) {
        self.positions.row_mut(particle).copy_from_slice(position);
        self.losses[particle] = loss;
        self.update_bests(particle);
    }

    /// Updates velocities and positions of all particles.
    pub(crate) fn move_particles(&mut self, coefficients: MoveCoefficients, round: RoundSeed) {
        let MoveCoefficients { inertia, c1, c2, max_velocity } = coefficients;
        for particle in 0..self.positions.len() {
            let mut stream = round.stream(particle);
            let position = self.positions.row_mut(particle);
            let Some(global_best) = &self.global_best else {
                position.fill_with(|| stream.unit());
                continue;
            };

            let has_best = self.personal_best_losses[particle].is_some();
            let personal_best = has_best.then(|| self.personal_best.row(particle));
            let velocity = self.velocities.row_mut(particle);
            for (k, (x, v)) in position.iter_mut().zip(velocity).enumerate() {
                let (r1, r2) = (stream.unit(), stream.unit());
                let to_personal = personal_best.map_or(0.0, |position| position[k] - *x);
                let to_global = global_best.position[k] - *x;
                *v = inertia * *v + c1 * r1 * to_personal + c2 * r2 * to_global; // (eq. 2)
                *v = v.clamp(-max_velocity, max_velocity);
                *x = (*x + *v).clamp(0.0, 1.0); // (eq. 1)
            }
        }
    }

    pub(crate) fn save(&self) -> Datum {
        let losses = |losses: &[Option<f64>]| {
            Datum::List(losses.iter().map(|loss| Datum::optional(*loss)).collect())
        };
        let global_best = |global_best: &GlobalBest| {
            let finder = global_best.finder.map(|finder| Datum::Natural(finder as u64));
            let finder = Datum::List(finder.into_iter().collect());
            Datum::List(vec![
                Datum::Real(global_best.loss),
                Datum::reals(&global_best.position),
                finder,
            ])
        };
        Datum::record([
            ("positions", self.positions.save()),
            ("velocities", self.velocities.save()),
            ("personal best", self.personal_best.save()),
            ("personal best losses", losses(&self.personal_best_losses)),
            ("losses", losses(&self.losses)),
            ("global best", Datum::List(self.global_best.iter().map(global_best).collect())),
        ])
    }

    pub(crate) fn load(data: &Datum, count: usize, width: usize) -> Result<Self, Error> {
        let rows = |name: &str, old_name: &str| {
            PositionMatrix::load_exactly(data.renamed_field(name, old_name)?, count, width)
        };
        let losses = |name: &str, old_name: &str| -> Result<Vec<Option<f64>>, Error> {
            let losses = data
                .renamed_field(name, old_name)?
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
        let global_best = |datum: &Datum| -> Result<GlobalBest, Error> {
            let [loss, position, finder] = datum.tuple()?;
            let finder = finder.list()?.first().map(Datum::count).transpose()?;
            Ok(GlobalBest { loss: loss.real()?, position: position.to_reals(width)?, finder })
        };
        Ok(ParticleSwarm {
            positions: rows("positions", "positions")?,
            velocities: rows("velocities", "velocities")?,
            personal_best: rows("personal best", "own")?,
            personal_best_losses: losses("personal best losses", "own losses")?,
            losses: losses("losses", "losses")?,
            global_best: data
                .renamed_field("global best", "global")?
                .list()?
                .first()
                .map(global_best)
                .transpose()?,
        })
    }
}

fn improve_global_best(
    global_best: &mut Option<GlobalBest>,
    loss: f64,
    position: &[f64],
    finder: Option<usize>,
) -> bool {
    let better = global_best.as_ref().is_none_or(|global_best| loss < global_best.loss);
    if better {
        *global_best = Some(GlobalBest { loss, position: position.to_vec(), finder });
    }
    better
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two moves of two particles in one dimension, computed by hand.
    #[test]
    fn a_move_by_hand() {
        let round = RoundSeed { seed: 3, number: 5 };
        let mut swarm = ParticleSwarm::random(2, 1, 0.2, RoundSeed { seed: 3, number: 4 });
        swarm.positions.row_mut(0)[0] = 0.5;
        swarm.positions.row_mut(1)[0] = 0.9;
        swarm.velocities.row_mut(0)[0] = 0.1;
        swarm.velocities.row_mut(1)[0] = -0.2;
        swarm.observe(RoundLosses { losses: &[Some(1.0), Some(4.0)], start: Some((&[0.45], 1.5)) });
        assert_eq!(
            swarm.global_best,
            Some(GlobalBest { loss: 1.0, position: vec![0.5], finder: Some(0) })
        );
        let coefficients = MoveCoefficients { inertia: 0.5, c1: 2.0, c2: 1.0, max_velocity: 0.2 };
        swarm.move_particles(coefficients, round);
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

        // The next losses: particle 0 got worse and is drawn back to its personal best, particle 1
        // has the global best.
        swarm.observe(RoundLosses { losses: &[Some(2.0), Some(0.5)], start: None });
        let (x0, x1) = (swarm.positions.row(0)[0], swarm.positions.row(1)[0]);
        assert_eq!(swarm.personal_best.row(0), [0.5]);
        assert_eq!(
            swarm.global_best,
            Some(GlobalBest { loss: 0.5, position: vec![x1], finder: Some(1) })
        );
        let round = RoundSeed { seed: 3, number: 6 };
        swarm.move_particles(coefficients, round);
        let mut stream = round.stream(0);
        let (r1, r2) = (stream.unit(), stream.unit());
        let v = (0.5 * 0.05 + 2.0 * r1 * (0.5 - x0) + r2 * (x1 - x0)).clamp(-0.2, 0.2);
        assert!((swarm.positions.row(0)[0] - (x0 + v).clamp(0.0, 1.0)).abs() < 1e-15);
    }

    #[test]
    fn failures_are_the_worst_and_set_no_best() {
        let mut swarm = ParticleSwarm::random(3, 2, 0.2, RoundSeed { seed: 1, number: 0 });
        let before = swarm.positions.clone();
        swarm.observe(RoundLosses { losses: &[None; 3], start: None });
        assert_eq!((swarm.global_best.clone(), swarm.worst()), (None, Some(0)));
        let coefficients = MoveCoefficients { inertia: 0.0, c1: 0.0, c2: 0.0, max_velocity: 0.2 };
        swarm.move_particles(coefficients, RoundSeed { seed: 1, number: 1 });
        assert!(before.iter().zip(swarm.positions.iter()).all(|(a, b)| a != b), "drawn at random");
        swarm.observe(RoundLosses { losses: &[Some(1.0), None, Some(3.0)], start: None });
        assert_eq!(
            (swarm.worst(), &swarm.personal_best_losses[..]),
            (Some(1), &[Some(1.0), None, Some(3.0)][..])
        );
        swarm.observe(RoundLosses {
            losses: &[Some(1.0), Some(3.0), Some(3.0)],
            start: Some((&[0.5, 0.5], 1.0)),
        });
        assert_eq!(swarm.worst(), Some(1), "among equal losses the first");
        assert_eq!(
            swarm.global_best.as_ref().and_then(|global_best| global_best.finder),
            Some(0),
            "strictly better"
        );
    }
}
