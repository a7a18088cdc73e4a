//! Random points that were not asked yet: the fallback of every engine that never repeats a point.
//!
//! Points are drawn at random until a new one comes up. In a small space that is nearly exhausted,
//! where draws keep failing, the numbered points are enumerated instead, from a random one on.

use crate::point::Point;
use crate::rng::Stream;
use crate::space::Space;
use crate::trial_log::TrialLog;

/// After this many failed draws, enumerating the space is cheaper.
const DRAWS: usize = 32;
/// The limit for an uncountable space, which cannot be enumerated. It may have a few very likely
/// points that were all asked already (for instance a choice with many labels, one of which has a
/// real parameter), so that many draws may fail.
const UNCOUNTABLE_DRAWS: usize = 10_000;

/// A random point that the log has not seen; `None` if there is none.
pub(crate) fn sample_unseen(
    space: &Space,
    trial_log: &TrialLog,
    stream: &mut Stream,
) -> Option<Point> {
    if is_exhausted(space, trial_log) {
        return None;
    }
    let size = space.size();
    let draws = if size.is_some() { DRAWS } else { UNCOUNTABLE_DRAWS };
    let drawn = (0..draws).map(|_| space.draw(stream)).find(|point| !trial_log.has_seen(point));
    drawn.or_else(|| enumerate(space, size?, trial_log, stream))
}

/// Whether every point of the space was asked.
pub(crate) fn is_exhausted(space: &Space, trial_log: &TrialLog) -> bool {
    space.size().is_some_and(|size| trial_log.distinct_points() as u128 >= size)
}

/// The first unseen point from a random number on. Among `n + 1` points at most `n` were seen, so
/// the loop is short while few points were asked.
fn enumerate(
    space: &Space,
    size: u128,
    trial_log: &TrialLog,
    stream: &mut Stream,
) -> Option<Point> {
    let wide = u128::from(stream.next_u64()) << 64 | u128::from(stream.next_u64());
    let start = wide % size;
    let steps = (trial_log.distinct_points() as u128 + 1).min(size);
    (0..steps)
        .filter_map(|step| space.nth(add_modulo(start, step, size)))
        .find(|point| !trial_log.has_seen(point))
}

/// `(a + b) mod size` for `a, b < size`, also where the sum would not fit.
fn add_modulo(a: u128, b: u128, size: u128) -> u128 {
    if a >= size - b { a - (size - b) } else { a + b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::random::RandomSearch;
    use crate::space::Param;

    #[test]
    fn every_point_comes_once() {
        let space = Space::new(vec![Param::integer("i", 0, 1)]).unwrap();
        let (mut trial_log, mut stream) = (TrialLog::new(), Stream::new(7, 0, 0));
        let first = sample_unseen(&space, &trial_log, &mut stream).unwrap();
        trial_log.create_trial(first.clone());
        let second = sample_unseen(&space, &trial_log, &mut stream).unwrap();
        assert_ne!(first, second);
        trial_log.create_trial(second);
        assert_eq!(sample_unseen(&space, &trial_log, &mut stream), None);
    }

    #[test]
    fn likely_points_do_not_end_the_search() {
        let labels: Vec<String> = (0..60).map(|i| i.to_string()).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let space = Space::new(vec![
            Param::choice("c", &labels),
            Param::real("x", 0.0, 1.0).when("c", &["59"]),
        ])
        .unwrap();
        let mut engine = RandomSearch::new(&space, 1).unwrap();
        assert_eq!(engine.ask(500).len(), 500);
    }

    #[test]
    fn additions_wrap_at_the_size() {
        for size in [1u128, 2, 7] {
            for (a, b) in (0..size).flat_map(|a| (0..size).map(move |b| (a, b))) {
                assert_eq!(add_modulo(a, b, size), (a + b) % size);
            }
        }
        assert_eq!(add_modulo(u128::MAX - 1, u128::MAX - 1, u128::MAX), u128::MAX - 2);
    }
}
