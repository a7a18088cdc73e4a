//! A configuration: one value a parameter.

use crate::rng;

/// The value of one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Of an integer parameter.
    Integer(i64),
    /// Of a real parameter.
    Real(f64),
    /// Of a list or a choice: the position in it.
    Index(usize),
    /// The parameter's condition does not hold, so it has no value.
    Absent,
}

/// A configuration: one value a parameter, in the order of the space.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Point(pub Vec<Value>);

impl Point {
    /// A name that equal points share and different points do not.
    pub fn fingerprint(&self) -> u128 {
        rng::fingerprint(self.0.iter().flat_map(|value| match *value {
            Value::Integer(i) => [0, i as u64],
            Value::Real(x) => [1, (x + 0.0).to_bits()], // adding zero turns -0.0 into 0.0
            Value::Index(i) => [2, i as u64],
            Value::Absent => [3, 0],
        }))
    }
}

impl std::ops::Index<usize> for Point {
    type Output = Value;
    fn index(&self, parameter: usize) -> &Value {
        &self.0[parameter]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_named_by_value_and_kind() {
        let print = |value| Point(vec![value]).fingerprint();
        assert_eq!(print(Value::Real(0.0)), print(Value::Real(-0.0)));
        let kinds = [
            Value::Integer(0),
            Value::Real(0.0),
            Value::Index(0),
            Value::Absent,
            Value::Integer(1),
        ];
        for (i, a) in kinds.iter().enumerate() {
            assert!(kinds[..i].iter().all(|b| print(*a) != print(*b)));
        }
    }
}
