//! Mutation strategies and binomial crossover.
//!
//! - `rand/1/bin`: a random member plus F times the difference of two others (Storn and Price,
//!   "Differential evolution: a simple and efficient heuristic for global optimization over
//!   continuous spaces", 1997).
//! - `current-to-pbest/1/bin` with archive: the target itself, plus F times the difference to one
//!   of the best, plus F times the difference of a random member and a random member or archived
//!   one (Zhang and Sanderson, "JADE: adaptive differential evolution with optional external
//!   archive", 2009; the fraction p of the best is drawn per trial, as in SHADE).
//!
//! Binomial crossover then takes each dimension from the mutant with probability CR, and one in
//! any case. A dimension outside of the unit interval is set half way between parent and bound
//! (JADE).

use super::history::ControlParams;
use crate::position_matrix::PositionMatrix;
use crate::rng::Stream;

/// The largest p, the fraction of the population that counts as the best.
const MAX_P: f64 = 0.2;

/// `rand/1/bin` for one member; needs four members.
pub(super) fn rand_1(
    members: &PositionMatrix,
    i: usize,
    params: ControlParams,
    stream: &mut Stream,
    trial: &mut [f64],
) {
    let a = other_than(members.len(), &[i], stream);
    let b = other_than(members.len(), &[i, a], stream);
    let c = other_than(members.len(), &[i, a, b], stream);
    let (parent, a, b, c) = (members.row(i), members.row(a), members.row(b), members.row(c));
    crossover(parent, |k| a[k] + params.f * (b[k] - c[k]), params.cr, stream, trial);
}

/// The vectors that `current-to-pbest/1` combines.
pub(super) struct DonorPool<'a> {
    pub(super) members: &'a PositionMatrix,
    /// The members, best first.
    pub(super) order: &'a [usize],
    /// Replaced members.
    pub(super) archive: &'a PositionMatrix,
}

/// `current-to-pbest/1/bin` for one member; needs four members.
pub(super) fn current_to_pbest(
    pool: &DonorPool<'_>,
    i: usize,
    params: ControlParams,
    stream: &mut Stream,
    trial: &mut [f64],
) {
    let count = pool.members.len();
    let min_p = 2.0 / count as f64;
    let p = min_p + (MAX_P - min_p).max(0.0) * stream.unit();
    let good = ((p * count as f64) as u64).clamp(1, count as u64);
    let best = pool.members.row(pool.order[stream.below(good) as usize]);
    let a = other_than(count, &[i], stream);
    let b = other_than(count + pool.archive.len(), &[i, a], stream);
    let b = if b < count { pool.members.row(b) } else { pool.archive.row(b - count) };
    let (parent, a) = (pool.members.row(i), pool.members.row(a));
    let mutant = |k: usize| parent[k] + params.f * (best[k] - parent[k]) + params.f * (a[k] - b[k]);
    crossover(parent, mutant, params.cr, stream, trial);
}

/// A random number below `count` that is none of `taken`, which are different and below `count`.
fn other_than(count: usize, taken: &[usize], stream: &mut Stream) -> usize {
    let mut chosen = stream.below((count - taken.len()) as u64) as usize;
    // Skipping the taken ones in ascending order leaves every other equally likely.
    let mut last = None;
    for _ in taken {
        let next = taken.iter().copied().filter(|t| last.is_none_or(|last| *t > last)).min();
        last = next;
        chosen += usize::from(next.is_some_and(|next| chosen >= next));
    }
    chosen
}

/// Binomial crossover.
fn crossover(
    parent: &[f64],
    mutant: impl Fn(usize) -> f64,
    cr: f64,
    stream: &mut Stream,
    trial: &mut [f64],
) {
    let forced = stream.below(parent.len() as u64) as usize;
    for (k, x) in trial.iter_mut().enumerate() {
        let taken = stream.unit() < cr || k == forced;
        *x = if taken { repair(mutant(k), parent[k]) } else { parent[k] };
    }
}

/// Repairs a coordinate outside of the unit interval.
fn repair(x: f64, parent: f64) -> f64 {
    if x < 0.0 {
        parent / 2.0
    } else if x > 1.0 {
        f64::midpoint(parent, 1.0)
    } else {
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_even_and_never_taken() {
        for taken in [vec![], vec![0], vec![4, 0], vec![2, 3, 1]] {
            let mut counts = [0usize; 5];
            let mut stream = Stream::new(1, taken.len() as u64, 0);
            (0..6_000).for_each(|_| counts[other_than(5, &taken, &mut stream)] += 1);
            for (i, count) in counts.iter().enumerate() {
                let expected = if taken.contains(&i) { 0 } else { 6_000 / (5 - taken.len()) };
                assert!(count.abs_diff(expected) <= expected / 10, "{taken:?}: {counts:?}");
            }
        }
    }

    /// Four members of two dimensions; the draws are repeated to know who was chosen.
    #[test]
    fn trials_by_hand() {
        let mut members = PositionMatrix::new(2);
        [[0.1, 0.2], [0.3, 0.5], [0.6, 0.4], [0.9, 0.8]].iter().for_each(|row| members.push(row));
        let params = ControlParams { f: 0.5, cr: 1.0 };
        for item in 0..50 {
            let mut stream = Stream::new(2, 0, item);
            let chosen = {
                let mut stream = stream.clone();
                let a = other_than(4, &[1], &mut stream);
                let b = other_than(4, &[1, a], &mut stream);
                [a, b, other_than(4, &[1, a, b], &mut stream)].map(|i| members.row(i))
            };
            let mut trial = [0.0; 2];
            rand_1(&members, 1, params, &mut stream, &mut trial);
            for k in 0..2 {
                let mutant = chosen[0][k] + 0.5 * (chosen[1][k] - chosen[2][k]);
                let expected = match mutant {
                    below if below < 0.0 => members.row(1)[k] / 2.0,
                    above if above > 1.0 => (members.row(1)[k] + 1.0) / 2.0,
                    inside => inside,
                };
                assert!((trial[k] - expected).abs() < 1e-15, "{item}");
            }
        }
    }

    #[test]
    fn the_way_leads_to_the_best_and_one_dimension_always_changes() {
        // All members but the parent stand on one spot and so does the archive: the differences
        // vanish.
        let members = PositionMatrix::from_fn(5, 3, |row, _| if row == 0 { 0.0 } else { 0.8 });
        let archive = PositionMatrix::from_fn(3, 3, |_, _| 0.8);
        let pool = DonorPool { members: &members, order: &[4, 3, 2, 1, 0], archive: &archive };
        let mut changed = [0; 3];
        for item in 0..300 {
            let mut trial = [0.0; 3];
            current_to_pbest(
                &pool,
                0,
                ControlParams { f: 0.25, cr: 0.0 },
                &mut Stream::new(3, 0, item),
                &mut trial,
            );
            let moved: Vec<usize> = (0..3).filter(|&k| trial[k] != 0.0).collect();
            assert!(moved.len() == 1 && (trial[moved[0]] - 0.2).abs() < 1e-12, "{trial:?}");
            changed[moved[0]] += 1;
        }
        assert!(changed.iter().all(|count| *count > 70), "{changed:?}");
    }
}
