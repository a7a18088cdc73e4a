//! Elitist learning: in the convergence state the global best is mutated, to escape from a local
//! optimum.
//!
//! Zhan et al. 2009, section IV: one random dimension of the global best takes a normal step of σ
//! times the range, where σ decreases linearly from 1.0 to 0.1 over the run. The mutated position
//! becomes the global best if it is better, and otherwise replaces the worst particle.

use crate::particle_swarm::ParticleSwarm;
use crate::rng::Stream;

const MAX_SIGMA: f64 = 1.0;
const MIN_SIGMA: f64 = 0.1;

/// σ at a generation.
pub(super) fn width(generation: u64, generations: u64) -> f64 {
    let progress = (generation as f64 / generations.max(1) as f64).min(1.0);
    MAX_SIGMA * (1.0 - progress) + MIN_SIGMA * progress
}

/// The global best with one dimension mutated, clamped to the range.
pub(super) fn mutate(best: &[f64], width: f64, stream: &mut Stream) -> Vec<f64> {
    let mut mutated = best.to_vec();
    let dimension = stream.below(best.len() as u64) as usize;
    if let Some(x) = mutated.get_mut(dimension) {
        *x = (*x + width * stream.normal()).clamp(0.0, 1.0);
    }
    mutated
}

/// Takes the loss of the mutated position.
pub(super) fn observe(swarm: &mut ParticleSwarm, position: &[f64], loss: Option<f64>) {
    let better = loss.is_some_and(|loss| swarm.offer_global_best(loss, position));
    // A failed position replaces no particle.
    if let Some(worst) = swarm.worst().filter(|_| !better && loss.is_some()) {
        swarm.relocate(worst, position, loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generational::{RoundLosses, RoundSeed};

    #[test]
    fn the_width_decreases_linearly() {
        assert_eq!((width(0, 500), width(500, 500), width(9_999, 500)), (1.0, 0.1, 0.1));
        assert!((width(250, 500) - 0.55).abs() < 1e-12);
    }

    #[test]
    fn one_dimension_changes() {
        let best = [0.5; 6];
        let mut hit = [0; 6];
        let mut sum_of_squares = 0.0;
        for item in 0..3_000 {
            let mutated = mutate(&best, 0.05, &mut Stream::new(4, 0, item));
            let moved: Vec<usize> = (0..6).filter(|&k| mutated[k] != 0.5).collect();
            assert_eq!(moved.len(), 1);
            hit[moved[0]] += 1;
            sum_of_squares += (mutated[moved[0]] - 0.5).powi(2);
        }
        assert!(hit.iter().all(|count| (420..580).contains(count)), "{hit:?}");
        let deviation = (sum_of_squares / 3_000.0).sqrt();
        assert!((deviation - 0.05).abs() < 0.003, "{deviation}");
        assert!((0..99).all(|item| {
            (0.0..=1.0).contains(&mutate(&[0.9], 1.0, &mut Stream::new(4, 1, item))[0])
        }));
    }

    #[test]
    fn a_better_change_leads_and_another_replaces_the_worst() {
        let mut swarm = ParticleSwarm::random(3, 1, 0.2, RoundSeed { seed: 1, number: 0 });
        swarm.observe(RoundLosses { losses: &[Some(1.0), Some(5.0), Some(3.0)], start: None });
        let before = swarm.clone();
        observe(&mut swarm, &[0.25], None);
        assert_eq!(swarm, before, "a failure changes nothing");
        observe(&mut swarm, &[0.25], Some(2.0));
        assert_eq!(
            (swarm.positions.row(1), swarm.personal_best.row(1)),
            (&[0.25][..], &[0.25][..])
        );
        assert_eq!((swarm.losses[1], swarm.personal_best_losses[1]), (Some(2.0), Some(2.0)));
        assert_eq!(
            (&swarm.global_best, swarm.velocities.row(1)),
            (&before.global_best, before.velocities.row(1))
        );
        observe(&mut swarm, &[0.75], Some(0.5));
        let best = swarm.global_best.clone().unwrap();
        assert_eq!((best.loss, best.position, best.finder), (0.5, vec![0.75], None));
        assert_eq!(swarm.worst(), Some(2), "no particle moved");
    }
}
