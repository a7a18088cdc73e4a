//! Local perturbations of points: how engines explore the neighbourhood of a good one.

use crate::point::{Point, PointValue};
use crate::rng::Stream;
use crate::space::{Domain, Space};

/// The usual length of a perturbation, as a fraction of the range.
pub(crate) const DEFAULT_WIDTH: f64 = 0.08;

/// A value of a parameter near the given one. Along an ordered parameter the step is Cauchy
/// distributed with scale `width`, reflected at the bounds, and at least one value long; a choice
/// takes any other label. A parameter with a single value keeps it.
pub(crate) fn perturb(
    space: &Space,
    parameter: usize,
    value: PointValue,
    width: f64,
    stream: &mut Stream,
) -> PointValue {
    let Some(u) = space.coordinate(parameter, value) else { return value };
    match (&space.params()[parameter].domain, value) {
        (Domain::Choice(labels), PointValue::Index(label)) => {
            let other = stream.below(labels.len().saturating_sub(1) as u64) as usize;
            if labels.len() < 2 {
                value
            } else {
                PointValue::Index(other + usize::from(other >= label))
            }
        }
        (domain, _) => {
            let far = width * (std::f64::consts::PI * (stream.unit() - 0.5)).tan();
            let moved = space.value_at(parameter, reflect(u + far));
            if moved == value { neighbour(domain, value, far > 0.0) } else { moved }
        }
    }
}

/// How [`mutate`] changes a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PointMutation {
    /// The probability that a value is perturbed.
    pub(crate) rate: f64,
    /// The scale of perturbations, as a fraction of the range.
    pub(crate) width: f64,
    /// A parameter that is perturbed in any case.
    pub(crate) always: Option<usize>,
}

/// A point near another: some of its values are perturbed. A parameter that becomes active is drawn
/// at random.
pub(crate) fn mutate(
    space: &Space,
    point: &Point,
    mutation: PointMutation,
    stream: &mut Stream,
) -> Point {
    let PointMutation { rate, width, always } = mutation;
    let mut values = Vec::with_capacity(point.0.len());
    for (j, &value) in point.0.iter().enumerate() {
        let mutated = match value {
            _ if !space.is_active(j, &values) => PointValue::Absent,
            PointValue::Absent => space.draw_value(j, stream),
            _ if stream.unit() < rate || always == Some(j) => {
                perturb(space, j, value, width, stream)
            }
            _ => value,
        };
        values.push(mutated);
    }
    Point(values)
}

/// Reflects a number at 0 and 1 until it lies in the unit interval.
pub(crate) fn reflect(x: f64) -> f64 {
    let folded = x.rem_euclid(2.0);
    if folded > 1.0 { 2.0 - folded } else { folded }
}

/// The next larger or smaller value; at a bound the one on the other side.
fn neighbour(domain: &Domain, value: PointValue, up: bool) -> PointValue {
    let next = |at: i64, low: i64, high: i64| match up {
        _ if low == high => at,
        true if at < high => at + 1,
        true => at - 1,
        false if at > low => at - 1,
        false => at + 1,
    };
    match (domain, value) {
        (Domain::Integer { low, high, .. }, PointValue::Integer(i)) => {
            PointValue::Integer(next(i, *low, *high))
        }
        (Domain::List(values), PointValue::Index(i)) => {
            PointValue::Index(next(i as i64, 0, values.len() as i64 - 1) as usize)
        }
        _ => value, // a real number that did not change
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;

    #[test]
    fn every_perturbation_goes_to_another_value_inside() {
        let space = Space::new(vec![
            Param::integer("i", 0, 1),
            Param::integer("log", 1, 1000).log(),
            Param::list("l", &[0.5, 1.0, 4.0]),
            Param::choice("c", &["a", "b", "c"]),
            Param::real("x", 0.0, 2.0),
        ])
        .unwrap();
        let mut stream = Stream::new(1, 0, 0);
        let mut labels = std::collections::BTreeSet::new();
        for _ in 0..500 {
            let mut point = space.draw(&mut stream);
            for i in 0..space.len() {
                let moved = perturb(&space, i, point[i], 0.05, &mut stream);
                assert_ne!(moved, point[i]);
                point.0[i] = moved;
            }
            assert!(space.contains(&point));
            labels.insert(format!(
                "{:?}",
                perturb(&space, 3, PointValue::Index(1), 0.05, &mut stream)
            ));
        }
        assert_eq!(labels.len(), 2);
    }

    #[test]
    fn mutated_points_respect_conditions() {
        let space = Space::new(vec![
            Param::choice("c", &["a", "b"]),
            Param::integer("i", 0, 9).when("c", &["a"]),
            Param::integer("k", 0, 9).when("c", &["b"]),
        ])
        .unwrap();
        let point = Point(vec![PointValue::Index(0), PointValue::Integer(3), PointValue::Absent]);
        let mut stream = Stream::new(1, 0, 0);
        assert_eq!(
            mutate(
                &space,
                &point,
                PointMutation { rate: 0.0, width: 0.1, always: None },
                &mut stream
            ),
            point
        );
        let other = mutate(
            &space,
            &point,
            PointMutation { rate: 0.0, width: 0.1, always: Some(0) },
            &mut stream,
        );
        assert!(
            space.contains(&other)
                && other[0] == PointValue::Index(1)
                && other[2] != PointValue::Absent,
            "{other:?}"
        );
        let near = mutate(
            &space,
            &point,
            PointMutation { rate: 0.0, width: 0.1, always: Some(1) },
            &mut stream,
        );
        assert!(space.contains(&near) && near[0] == point[0] && near[1] != point[1], "{near:?}");
    }

    #[test]
    fn single_values_stay() {
        let space = Space::new(vec![
            Param::integer("i", 3, 3),
            Param::list("l", &[0.5]),
            Param::choice("c", &["a"]),
            Param::real("x", 2.0, 2.0),
        ])
        .unwrap();
        let mut stream = Stream::new(1, 0, 0);
        let point = space.draw(&mut stream);
        for i in 0..space.len() {
            assert_eq!(perturb(&space, i, point[i], 0.1, &mut stream), point[i]);
        }
        assert_eq!(perturb(&space, 0, PointValue::Absent, 0.1, &mut stream), PointValue::Absent);
    }
}
