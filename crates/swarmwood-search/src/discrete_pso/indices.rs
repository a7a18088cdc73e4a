//! Points as sequences of value indices, which the swarm copies and compares.
//!
//! A real parameter is discretised into 64 steps of its scale, each represented by its middle. An
//! inactive parameter has an index too, the value it takes when it becomes active.

use crate::error::Error;
use crate::point::{Point, PointValue};
use crate::space::{Domain, Param, Space};

/// Number of steps of a real parameter.
const STEPS: u64 = 64;

/// The space of sequences of `length` indices into a table of `table` entries.
///
/// ```
/// use swarmwood_search::discrete_pso::{point_of, sequence, sequence_space};
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
    let index = |value: &PointValue| match *value {
        PointValue::Integer(i) => u32::try_from(i).ok(),
        _ => None,
    };
    point.0.iter().map(index).collect()
}

/// The point of a [`sequence_space`] with these indices.
pub fn point_of(sequence: &[u32]) -> Point {
    Point(sequence.iter().map(|&i| PointValue::Integer(i64::from(i))).collect())
}

/// Number of values of a parameter, as the swarm sees it.
pub(super) fn count(param: &Param) -> u64 {
    param.domain.values().unwrap_or(STEPS)
}

/// The index of a value of a parameter; 0 if it is inactive.
pub(super) fn index(space: &Space, parameter: usize, value: PointValue) -> u64 {
    match (&space.params()[parameter].domain, value) {
        (Domain::Integer { low, .. }, PointValue::Integer(i)) => i.abs_diff(*low),
        (domain @ Domain::Real { .. }, PointValue::Real(_)) if domain.values().is_none() => {
            let u = space.coordinate(parameter, value).unwrap_or(0.5);
            ((u * STEPS as f64) as u64).min(STEPS - 1)
        }
        (_, PointValue::Index(i)) => i as u64,
        _ => 0,
    }
}

/// The indices of the values of a point.
pub(super) fn encode(space: &Space, point: &Point) -> Vec<u64> {
    point.0.iter().enumerate().map(|(j, value)| index(space, j, *value)).collect()
}

/// The point with these indices.
pub(super) fn decode(space: &Space, indices: &[u64]) -> Point {
    let mut values = Vec::with_capacity(indices.len());
    for (j, (param, &index)) in space.params().iter().zip(indices).enumerate() {
        let value = match param.domain {
            _ if !space.is_active(j, &values) => PointValue::Absent,
            Domain::Integer { low, .. } => PointValue::Integer(low.saturating_add_unsigned(index)),
            Domain::Real { .. } => space.value_at(j, (index as f64 + 0.5) / STEPS as f64),
            Domain::List(_) | Domain::Choice(_) => PointValue::Index(index as usize),
        };
        values.push(value);
    }
    Point(values)
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
    fn reals_have_steps_and_hidden_parameters_indices() {
        let space = Space::new(vec![
            Param::choice("c", &["a", "b"]),
            Param::real("rate", 1e-4, 1.0).log().when("c", &["b"]),
            Param::real("fixed", 3.0, 3.0),
        ])
        .unwrap();
        assert_eq!(space.params().iter().map(count).collect::<Vec<_>>(), [2, 64, 1]);
        for step in 0..64 {
            let shown = decode(&space, &[1, step, 0]);
            assert!(space.contains(&shown));
            assert_eq!(encode(&space, &shown), [1, step, 0]);
            assert_eq!(decode(&space, &[0, step, 0])[1], PointValue::Absent);
        }
    }

    #[test]
    fn sequences_are_natural_numbers() {
        assert_eq!(sequence(&Point(vec![PointValue::Integer(-1)])), None);
        assert_eq!(sequence(&Point(vec![PointValue::Index(1)])), None);
        assert!(sequence_space(3, 0).is_err(), "an empty table has no entry to point at");
    }
}
