//! The distinct values of a feature, collected chunk after chunk.

use std::collections::HashSet;

use super::edges::{Edges, from_order_key, order_key};
use crate::data::{Column, MISSING};

/// The distinct values of one feature. Zero and minus zero are one value; missing values are none.
///
/// ```
/// use swarmwood_learn::bins::distinct::DistinctValues;
/// use swarmwood_learn::data::Column;
///
/// let mut values = DistinctValues::default();
/// values.extend(&Column::Number(vec![2.0, 0.0, f64::NAN]));
/// values.extend(&Column::Number(vec![-0.0, 2.0, 5.0]));
/// assert_eq!((values.len(), values.has_missing()), (3, true));
/// assert_eq!(values.edges().thresholds(), [1.0, 4.0]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct DistinctValues {
    /// Numbers as keys in their order, or levels.
    keys: HashSet<u64>,
    missing: bool,
}

impl DistinctValues {
    /// Adds the values of more rows.
    pub fn extend(&mut self, column: &Column) {
        match column {
            Column::Number(values) => {
                self.missing |= values.iter().any(|value| value.is_nan());
                let numbers = values.iter().filter(|value| !value.is_nan());
                self.keys.extend(numbers.map(|&value| order_key(value)));
            }
            Column::Category(levels) => {
                self.missing |= levels.contains(&MISSING);
                let known = levels.iter().filter(|&&level| level != MISSING);
                self.keys.extend(known.map(|&level| u64::from(level)));
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none: every row misses the feature, or there is no row.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether some row misses the feature.
    pub fn has_missing(&self) -> bool {
        self.missing
    }

    /// A threshold between any two neighbouring values of a number.
    pub fn edges(&self) -> Edges {
        let mut keys: Vec<u64> = self.keys.iter().copied().collect();
        keys.sort_unstable();
        let values: Vec<f64> = keys.into_iter().map(from_order_key).collect();
        Edges::between_all(&values)
    }
}
