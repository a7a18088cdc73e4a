//! A random step along one parameter, to a value near by: how engines look around a good
//! configuration.

use crate::point::{Point, Value};
use crate::rng::Stream;
use crate::space::{Domain, Space};

/// How far a step usually goes, as a share of the range.
pub(crate) const WIDTH: f64 = 0.08;

/// Another value of a parameter, near the given one. Along an ordered parameter the step is Cauchy
/// distributed, mostly about `width` of the range and now and then far, mirrored at the ends, and
/// at least to the neighbour; a choice takes any other label. A parameter with one value keeps it.
pub(crate) fn step(
    space: &Space,
    parameter: usize,
    value: Value,
    width: f64,
    stream: &mut Stream,
) -> Value {
    let Some(u) = space.coordinate(parameter, value) else { return value };
    match (&space.params()[parameter].domain, value) {
        (Domain::Choice(labels), Value::Index(label)) => {
            let other = stream.below(labels.len().saturating_sub(1) as u64) as usize;
            if labels.len() < 2 { value } else { Value::Index(other + usize::from(other >= label)) }
        }
        (domain, _) => {
            let far = width * (std::f64::consts::PI * (stream.unit() - 0.5)).tan();
            let moved = space.value_at(parameter, mirror(u + far));
            if moved == value { neighbour(domain, value, far > 0.0) } else { moved }
        }
    }
}

/// A configuration near another: each value takes a [`step`] with probability `rate`, and `one` of
/// them for sure. A parameter that becomes active is drawn.
pub(crate) fn vary(
    space: &Space,
    point: &Point,
    one: Option<usize>,
    rate: f64,
    width: f64,
    stream: &mut Stream,
) -> Point {
    let mut values = Vec::with_capacity(point.0.len());
    for (j, &value) in point.0.iter().enumerate() {
        let varied = match value {
            _ if !space.is_active(j, &values) => Value::Absent,
            Value::Absent => space.draw_value(j, stream),
            _ if stream.unit() < rate || one == Some(j) => step(space, j, value, width, stream),
            _ => value,
        };
        values.push(varied);
    }
    Point(values)
}

/// Folds the line into the unit interval, as between two mirrors.
pub(crate) fn mirror(x: f64) -> f64 {
    let folded = x.rem_euclid(2.0);
    if folded > 1.0 { 2.0 - folded } else { folded }
}

/// The next value up or down; at the end the other way.
fn neighbour(domain: &Domain, value: Value, up: bool) -> Value {
    let next = |at: i64, low: i64, high: i64| match up {
        _ if low == high => at,
        true if at < high => at + 1,
        true => at - 1,
        false if at > low => at - 1,
        false => at + 1,
    };
    match (domain, value) {
        (Domain::Integer { low, high, .. }, Value::Integer(i)) => {
            Value::Integer(next(i, *low, *high))
        }
        (Domain::List(values), Value::Index(i)) => {
            Value::Index(next(i as i64, 0, values.len() as i64 - 1) as usize)
        }
        _ => value, // a real number that did not move
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;

    #[test]
    fn every_step_goes_to_another_value_inside() {
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
                let moved = step(&space, i, point[i], 0.05, &mut stream);
                assert_ne!(moved, point[i]);
                point.0[i] = moved;
            }
            assert!(space.contains(&point));
            labels.insert(format!("{:?}", step(&space, 3, Value::Index(1), 0.05, &mut stream)));
        }
        assert_eq!(labels.len(), 2);
    }

    #[test]
    fn variations_keep_to_conditions() {
        let space = Space::new(vec![
            Param::choice("c", &["a", "b"]),
            Param::integer("i", 0, 9).when("c", &["a"]),
            Param::integer("k", 0, 9).when("c", &["b"]),
        ])
        .unwrap();
        let point = Point(vec![Value::Index(0), Value::Integer(3), Value::Absent]);
        let mut stream = Stream::new(1, 0, 0);
        assert_eq!(vary(&space, &point, None, 0.0, 0.1, &mut stream), point);
        let other = vary(&space, &point, Some(0), 0.0, 0.1, &mut stream);
        assert!(
            space.contains(&other) && other[0] == Value::Index(1) && other[2] != Value::Absent,
            "{other:?}"
        );
        let near = vary(&space, &point, Some(1), 0.0, 0.1, &mut stream);
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
            assert_eq!(step(&space, i, point[i], 0.1, &mut stream), point[i]);
        }
        assert_eq!(step(&space, 0, Value::Absent, 0.1, &mut stream), Value::Absent);
    }
}
