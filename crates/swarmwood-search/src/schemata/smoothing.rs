//! Losses averaged over neighbouring trials, so that a single noisy loss has less effect.
//!
//! The smoothed loss of a trial is `(own + ½ Σ w·other) / (1 + ½ Σ w)` over all other trials, with
//! the weight `w = exp(-d² / 0.03)` of their squared distance: coordinates of the unit cube, and ½
//! for every choice that differs and every parameter that is active in only one of the two. The
//! sums are updated with every trial.

use crate::space::{Domain, Space};
use crate::trial_archive::TrialArchive;

const WIDTH: f64 = 0.03;
const NEIGHBOUR_WEIGHT: f64 = 0.5;
/// The squared distance of different labels, and of active and inactive parameters.
const DIFFERENT: f64 = 0.5;
/// Beyond this squared distance the weight is below 10⁻⁶ and is taken as 0.
const CUTOFF: f64 = 14.0 * WIDTH;

/// The sums over the neighbours of every trial of an archive.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NeighbourSums {
    choices: Vec<bool>,
    /// Σ w and Σ w·loss of each trial.
    sums: Vec<(f64, f64)>,
}

impl NeighbourSums {
    pub(super) fn new(space: &Space) -> Self {
        let choices =
            space.params().iter().map(|param| matches!(param.domain, Domain::Choice(_))).collect();
        NeighbourSums { choices, sums: Vec::new() }
    }

    /// Adds the newest trial to the sums of all others, and them to its own. Failures are skipped.
    pub(super) fn add_newest(&mut self, archive: &TrialArchive) {
        let newest = self.sums.len();
        self.sums.push((0.0, 0.0));
        let Some(loss) = archive.loss(newest) else { return };
        let row = archive.row(newest);
        for other in 0..newest {
            let Some(theirs) = archive.loss(other) else { continue };
            let distance = self.distance(row, archive.row(other));
            if distance < CUTOFF {
                let weight = (-distance / WIDTH).exp();
                let (sum, weighted) = &mut self.sums[other];
                (*sum, *weighted) = (*sum + weight, *weighted + weight * loss);
                let (sum, weighted) = &mut self.sums[newest];
                (*sum, *weighted) = (*sum + weight, *weighted + weight * theirs);
            }
        }
    }

    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let mut sum = 0.0;
        for ((x, y), choice) in a.iter().zip(b).zip(&self.choices) {
            sum += match (x.is_nan(), y.is_nan()) {
                (true, true) => 0.0,
                (false, false) if !choice => (x - y) * (x - y),
                (false, false) if x == y => 0.0,
                _ => DIFFERENT,
            };
            if sum >= CUTOFF {
                break;
            }
        }
        sum
    }

    /// The smoothed loss of a trial; the loss itself if the sums overflow.
    pub(super) fn smoothed(&self, trial: usize, own: f64) -> f64 {
        let (sum, weighted) = self.sums.get(trial).copied().unwrap_or_default();
        let smoothed = (own + NEIGHBOUR_WEIGHT * weighted) / (1.0 + NEIGHBOUR_WEIGHT * sum);
        if smoothed.is_finite() { smoothed } else { own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::space::Param;
    use crate::trial_log::FinishedTrial;

    /// The sums that grow equal the formula.
    #[test]
    fn smoothed_losses_equal_their_definition() {
        let space = Space::new(vec![
            Param::choice("c", &["a", "b"]),
            Param::integer("i", 0, 3).when("c", &["a"]),
            Param::real("x", 0.0, 1.0),
        ])
        .unwrap();
        let (mut archive, mut neighbours) = (TrialArchive::new(&space), NeighbourSums::new(&space));
        let mut stream = Stream::new(1, 0, 0);
        for id in 0..60 {
            let point = space.draw(&mut stream);
            let loss = (id % 7 != 3).then(|| stream.normal());
            archive.push(&space, FinishedTrial { id, point, loss });
            neighbours.add_newest(&archive);
        }
        let mut far = 0;
        for a in 0..60 {
            let Some(own) = archive.loss(a) else { continue };
            let (mut above, mut below) = (own, 1.0);
            for b in (0..60).filter(|&b| b != a) {
                let Some(loss) = archive.loss(b) else { continue };
                let (p, q) = (archive.point(a), archive.point(b));
                let mut distance = if p[0] == q[0] { 0.0 } else { 0.5 };
                distance += match (space.number(1, p[1]), space.number(1, q[1])) {
                    (Some(i), Some(j)) => ((i - j) / 4.0).powi(2),
                    (None, None) => 0.0,
                    _ => 0.5,
                };
                distance +=
                    (space.number(2, p[2]).unwrap() - space.number(2, q[2]).unwrap()).powi(2);
                let weight = (-distance / 0.03).exp();
                far += usize::from(weight < 1e-6);
                (above, below) = (above + 0.5 * weight * loss, below + 0.5 * weight);
            }
            assert!((neighbours.smoothed(a, own) - above / below).abs() < 1e-4);
        }
        assert!(far > 100, "the cutoff was tested");
        let beyond = NeighbourSums { choices: Vec::new(), sums: vec![(1.0, f64::INFINITY)] };
        assert_eq!(beyond.smoothed(0, 2.0), 2.0);
    }
}
