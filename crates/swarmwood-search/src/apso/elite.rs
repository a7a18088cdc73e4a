//! Elitist learning: in the convergence state the global best tries a change, to get out of a local
//! optimum.
//!
//! Zhan et al. 2009, section IV: one random dimension of the global best takes a normal step of the
//! range times σ, where σ falls linearly from 1.0 to 0.1 over the run. The changed position becomes
//! the global best if it is better, and otherwise it takes the place of the worst particle.

use crate::particles::Particles;
use crate::rng::Stream;

const WIDEST: f64 = 1.0;
const NARROWEST: f64 = 0.1;

/// σ after so many of all generations.
pub(super) fn width(generation: u64, generations: u64) -> f64 {
    let gone = (generation as f64 / generations.max(1) as f64).min(1.0);
    WIDEST * (1.0 - gone) + NARROWEST * gone
}

/// The global best with one dimension changed, within the range.
pub(super) fn change(best: &[f64], width: f64, stream: &mut Stream) -> Vec<f64> {
    let mut changed = best.to_vec();
    let dimension = stream.below(best.len() as u64) as usize;
    if let Some(x) = changed.get_mut(dimension) {
        *x = (*x + width * stream.normal()).clamp(0.0, 1.0);
    }
    changed
}

/// Takes what came of the changed position.
pub(super) fn take(particles: &mut Particles, position: &[f64], loss: Option<f64>) {
    let better = loss.is_some_and(|loss| particles.offer(loss, position));
    // A failed change is no place for a particle.
    if let Some(worst) = particles.worst().filter(|_| !better && loss.is_some()) {
        particles.put(worst, position, loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generational::{Round, Told};

    #[test]
    fn the_width_falls_linearly() {
        assert_eq!((width(0, 500), width(500, 500), width(9_999, 500)), (1.0, 0.1, 0.1));
        assert!((width(250, 500) - 0.55).abs() < 1e-12);
    }

    #[test]
    fn one_dimension_changes() {
        let best = [0.5; 6];
        let mut hit = [0; 6];
        let mut sum_of_squares = 0.0;
        for item in 0..3_000 {
            let changed = change(&best, 0.05, &mut Stream::new(4, 0, item));
            let moved: Vec<usize> = (0..6).filter(|&k| changed[k] != 0.5).collect();
            assert_eq!(moved.len(), 1);
            hit[moved[0]] += 1;
            sum_of_squares += (changed[moved[0]] - 0.5).powi(2);
        }
        assert!(hit.iter().all(|count| (420..580).contains(count)), "{hit:?}");
        let deviation = (sum_of_squares / 3_000.0).sqrt();
        assert!((deviation - 0.05).abs() < 0.003, "{deviation}");
        assert!((0..99).all(|item| {
            (0.0..=1.0).contains(&change(&[0.9], 1.0, &mut Stream::new(4, 1, item))[0])
        }));
    }

    #[test]
    fn a_better_change_leads_and_another_replaces_the_worst() {
        let mut swarm = Particles::scatter(3, 1, 0.2, Round { seed: 1, number: 0 });
        swarm.take(Told { losses: &[Some(1.0), Some(5.0), Some(3.0)], start: None });
        let before = swarm.clone();
        take(&mut swarm, &[0.25], None);
        assert_eq!(swarm, before, "a failure changes nothing");
        take(&mut swarm, &[0.25], Some(2.0));
        assert_eq!((swarm.positions.row(1), swarm.own.row(1)), (&[0.25][..], &[0.25][..]));
        assert_eq!((swarm.losses[1], swarm.own_losses[1]), (Some(2.0), Some(2.0)));
        assert_eq!(
            (&swarm.global, swarm.velocities.row(1)),
            (&before.global, before.velocities.row(1))
        );
        take(&mut swarm, &[0.75], Some(0.5));
        let global = swarm.global.clone().unwrap();
        assert_eq!((global.loss, global.position, global.finder), (0.5, vec![0.75], None));
        assert_eq!(swarm.worst(), Some(2), "no particle moved");
    }
}
