//! A random configuration that was not asked yet: what every engine without repeats falls back on.
//!
//! Configurations are drawn until there is a new one. When a small space is nearly used up and
//! draws keep failing, the numbered configurations are walked through from a random one on.

use crate::ledger::Ledger;
use crate::point::Point;
use crate::rng::Stream;
use crate::space::Space;

/// After so many draws in vain the walk is cheaper.
const DRAWS: usize = 32;
/// A space without a count cannot be walked, only drawn from; it may have a few heavy
/// configurations that were all asked (a choice one of whose many labels has a real parameter), so
/// it deserves patience.
const PATIENT_DRAWS: usize = 10_000;

/// A random configuration that the ledger has not seen; `None` if there is none.
///
/// ```
/// use swarmwood_search::fresh::fresh;
/// use swarmwood_search::ledger::Ledger;
/// use swarmwood_search::rng::Stream;
/// use swarmwood_search::{Param, Space};
/// let space = Space::new(vec![Param::integer("i", 0, 1)])?;
/// let (mut ledger, mut stream) = (Ledger::new(), Stream::new(7, 0, 0));
/// let first = fresh(&space, &ledger, &mut stream).unwrap();
/// ledger.issue(first.clone());
/// let second = fresh(&space, &ledger, &mut stream).unwrap();
/// assert_ne!(first, second);
/// ledger.issue(second);
/// assert_eq!(fresh(&space, &ledger, &mut stream), None);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub fn fresh(space: &Space, ledger: &Ledger, stream: &mut Stream) -> Option<Point> {
    if is_used_up(space, ledger) {
        return None;
    }
    let size = space.size();
    let draws = if size.is_some() { DRAWS } else { PATIENT_DRAWS };
    let drawn = (0..draws).map(|_| space.draw(stream)).find(|point| !ledger.has_seen(point));
    drawn.or_else(|| walk(space, size?, ledger, stream))
}

/// Whether every configuration was asked.
pub fn is_used_up(space: &Space, ledger: &Ledger) -> bool {
    space.size().is_some_and(|size| ledger.distinct() as u128 >= size)
}

/// Among one more configurations than were asked there is a new one, so the walk is short while the
/// list is.
fn walk(space: &Space, size: u128, ledger: &Ledger, stream: &mut Stream) -> Option<Point> {
    let wide = u128::from(stream.next_u64()) << 64 | u128::from(stream.next_u64());
    let start = wide % size;
    let steps = (ledger.distinct() as u128 + 1).min(size);
    (0..steps)
        .filter_map(|step| space.nth(add_modulo(start, step, size)))
        .find(|point| !ledger.has_seen(point))
}

/// `(a + b) mod size` for `a, b < size`, also where the sum would not fit.
fn add_modulo(a: u128, b: u128, size: u128) -> u128 {
    if a >= size - b { a - (size - b) } else { a + b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::random::Random;
    use crate::space::Param;

    #[test]
    fn heavy_configurations_do_not_end_the_search() {
        let labels: Vec<String> = (0..60).map(|i| i.to_string()).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let space = Space::new(vec![
            Param::choice("c", &labels),
            Param::real("x", 0.0, 1.0).when("c", &["59"]),
        ])
        .unwrap();
        let mut engine = Random::new(&space, 1).unwrap();
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
