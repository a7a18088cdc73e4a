//! Points as sequences of indices: the swarm copies and counts values, and never computes with them.

use crate::error::Error;
use crate::point::{Point, Value};
use crate::space::{Domain, Param, Space};

/// The space of sequences of `length` indices into a table of `table` entries.
///
/// ```
/// use swarmwood_search::pso_discrete::{point_of, sequence, sequence_space};
/// let space = sequence_space(30, 1384)?; // six trees of five levels
/// assert_eq!(space.len(), 30);
/// let rules = vec![7; 30];
/// assert!(space.contains(&point_of(&rules)));
/// assert_eq!(sequence(&point_of(&rules)), Some(rules));
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub fn sequence_space(length: usize, table: u32) -> Result<Space, Error> {
    let last = i64::from(table) - 1;
    Space::new((0..length).map(|slot| Param::integer(&format!("slot {slot}"), 0, last)).collect())
}

/// The indices of a point of a [`sequence_space`]; `None` for points of other spaces.
pub fn sequence(point: &Point) -> Option<Vec<u32>> {
    let index = |value: &Value| match *value {
        Value::Integer(i) => u32::try_from(i).ok(),
        _ => None,
    };
    point.0.iter().map(index).collect()
}

/// The point of a [`sequence_space`] with these indices.
pub fn point_of(sequence: &[u32]) -> Point {
    Point(sequence.iter().map(|&i| Value::Integer(i64::from(i))).collect())
}

/// Which value of its parameter each value of the point is, counted from 0.
pub(super) fn encode(space: &Space, point: &Point) -> Vec<u64> {
    let index = |(param, value): (&Param, &Value)| match (&param.domain, *value) {
        (Domain::Integer { low, .. }, Value::Integer(i)) => i.abs_diff(*low),
        (_, Value::Index(i)) => i as u64,
        _ => 0,
    };
    space.params().iter().zip(&point.0).map(index).collect()
}

/// The point with these indices.
pub(super) fn decode(space: &Space, indices: &[u64]) -> Point {
    let value = |(param, &index): (&Param, &u64)| match param.domain {
        Domain::Integer { low, .. } => Value::Integer(low.saturating_add_unsigned(index)),
        Domain::Real { low, .. } => Value::Real(low),
        Domain::List(_) | Domain::Choice(_) => Value::Index(index as usize),
    };
    Point(space.params().iter().zip(indices).map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_has_its_indices() {
        let space = Space::new(vec![
            Param::integer("i", -3, 2),
            Param::integer("log", 1, 4).log(),
            Param::list("l", &[0.5, 2.0]),
            Param::choice("c", &["a", "b", "c"]),
        ])
        .unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for n in 0..space.size().unwrap() {
            let point = space.nth(n).unwrap();
            let indices = encode(&space, &point);
            assert!(indices.iter().zip([6, 4, 2, 3]).all(|(index, count)| *index < count));
            assert_eq!(decode(&space, &indices), point);
            assert!(seen.insert(indices));
        }
    }

    #[test]
    fn sequences_are_natural_numbers() {
        assert_eq!(sequence(&Point(vec![Value::Integer(-1)])), None);
        assert_eq!(sequence(&Point(vec![Value::Index(1)])), None);
        assert!(sequence_space(3, 0).is_err(), "an empty table has no entry to point at");
    }
}
