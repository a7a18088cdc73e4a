//! Points of a search space: one value per parameter.

use crate::rng;

/// The value of one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PointValue {
    /// The value of an integer parameter.
    Integer(i64),
    /// The value of a real parameter.
    Real(f64),
    /// The position in a list or choice.
    Index(usize),
    /// The parameter is inactive because its condition does not hold.
    Absent,
}

/// A point of a search space (a configuration): one value per parameter, in the order of the space.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Point(pub Vec<PointValue>);

impl Point {
    /// A 128-bit hash: equal for equal points, different for different ones.
    pub fn fingerprint(&self) -> u128 {
        rng::fingerprint(self.0.iter().flat_map(|value| match *value {
            PointValue::Integer(i) => [0, i as u64],
            PointValue::Real(x) => [1, (x + 0.0).to_bits()], // adding zero turns -0.0 into 0.0
            PointValue::Index(i) => [2, i as u64],
            PointValue::Absent => [3, 0],
        }))
    }
}

impl std::ops::Index<usize> for Point {
    type Output = PointValue;
    fn index(&self, parameter: usize) -> &PointValue {
        &self.0[parameter]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_named_by_value_and_kind() {
        let print = |value| Point(vec![value]).fingerprint();
        assert_eq!(print(PointValue::Real(0.0)), print(PointValue::Real(-0.0)));
        let kinds = [
            PointValue::Integer(0),
            PointValue::Real(0.0),
            PointValue::Index(0),
            PointValue::Absent,
            PointValue::Integer(1),
        ];
        for (i, a) in kinds.iter().enumerate() {
            assert!(kinds[..i].iter().all(|b| print(*a) != print(*b)));
        }
    }
}
