//! The common schema of some individuals: for each gene, the values that occur (eqs. 22 to 24).
//!
//! A discrete parameter is a gene with one symbol per value. A real parameter is discretised into
//! 64 steps: values in the same step count as one, represented by that of the first individual.
//! Individuals in which a parameter is inactive do not contribute to its gene.

use crate::space::Space;

/// Number of steps of a real parameter.
pub const STEPS: f64 = 64.0;

/// The symbol of a coordinate of the unit interval.
fn symbol(space: &Space, parameter: usize, u: f64) -> u64 {
    match space.cell(parameter, u) {
        Some((low, _)) => low.to_bits(),
        None => (u.clamp(0.0, 1.0) * STEPS) as u64,
    }
}

/// The individuals that are the first with their value, given all coordinates of the parameter, NaN
/// where it is inactive.
pub(crate) fn gene(
    space: &Space,
    parameter: usize,
    coordinates: impl Iterator<Item = f64>,
) -> Vec<usize> {
    let mut symbols = Vec::new();
    let mut holders = Vec::new();
    for (i, u) in coordinates.enumerate() {
        let symbol = symbol(space, parameter, u);
        if !u.is_nan() && !symbols.contains(&symbol) {
            symbols.push(symbol);
            holders.push(i);
        }
    }
    holders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::{Point, PointValue};
    use crate::space::Param;

    /// Equations 25 and 26: (1,4,8), (2,4,7) and (1,4,9) have the schema (⟨1,2⟩, 4, ⟨7,8,9⟩).
    #[test]
    fn the_schema_of_the_papers_example() {
        let space =
            Space::new((0..3).map(|i| Param::integer(&format!("g{i}"), 0, 9)).collect()).unwrap();
        let points = [[1, 4, 8], [2, 4, 7], [1, 4, 9]]
            .map(|genes| Point(genes.map(PointValue::Integer).to_vec()));
        let rows = points.map(|point| space.encode(&point));
        let schema: Vec<Vec<PointValue>> = (0..3)
            .map(|j| {
                let holders = gene(&space, j, rows.iter().map(|row| row[j]));
                let mut values: Vec<i64> = Vec::new();
                for i in holders {
                    let PointValue::Integer(value) = space.value_at(j, rows[i][j]) else {
                        panic!()
                    };
                    values.push(value);
                }
                values.sort_unstable();
                values.into_iter().map(PointValue::Integer).collect()
            })
            .collect();
        let expected: [&[i64]; 3] = [&[1, 2], &[4], &[7, 8, 9]];
        assert_eq!(
            schema,
            expected.map(|gene| gene.iter().copied().map(PointValue::Integer).collect::<Vec<_>>())
        );
    }

    #[test]
    fn reals_are_told_apart_by_steps_and_absent_values_say_nothing() {
        let space =
            Space::new(vec![Param::real("x", 0.0, 1.0), Param::choice("c", &["a", "b"])]).unwrap();
        let coordinates = [0.5, 0.505, f64::NAN, 0.75, 1.0, 0.51];
        assert_eq!(gene(&space, 0, coordinates.into_iter()), [0, 3, 4]);
        assert_eq!(gene(&space, 1, [0.25, 0.75, 0.2].into_iter()), [0, 1]);
        assert!(gene(&space, 1, [f64::NAN].into_iter()).is_empty());
    }
}
