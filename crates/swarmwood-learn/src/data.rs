//! Raw columns on their way from a reader to the bins.

/// A run of rows, column by column, in the order of the schema's features.
#[derive(Debug, Clone, Default)]
pub struct Chunk {
    /// One entry a feature, all of [`Chunk::rows`] length.
    pub columns: Vec<Column>,
    /// Regression: the value. Classification: the class index. Empty where there is no target
    /// (prediction).
    pub target: Vec<f64>,
    /// Row weights; empty if every row weighs one.
    pub weight: Vec<f64>,
    /// Number of rows.
    pub rows: usize,
}

impl Chunk {
    /// Adds the rows of a chunk with the same columns.
    pub fn append(&mut self, other: &Chunk) {
        for (column, more) in self.columns.iter_mut().zip(&other.columns) {
            match (column, more) {
                (Column::Number(values), Column::Number(more)) => values.extend_from_slice(more),
                (Column::Category(codes), Column::Category(more)) => codes.extend_from_slice(more),
                _ => unreachable!("chunks of one source agree on the kinds of their columns"),
            }
        }
        self.target.extend_from_slice(&other.target);
        self.weight.extend_from_slice(&other.weight);
        self.rows += other.rows;
    }
}

/// The values of one column.
#[derive(Debug, Clone)]
pub enum Column {
    /// Numbers; NaN is a missing value.
    Number(Vec<f64>),
    /// Codes of levels; [`MISSING`] is a missing (or never seen) level.
    Category(Vec<u32>),
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Number(values) => values.len(),
            Column::Category(codes) => codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The code of a missing level.
pub const MISSING: u32 = u32::MAX;

/// A long column of numbers in the narrowest form that gives back the very same values: targets are
/// class numbers or short decimals more often than not, and they stay in memory as long as the bins
/// do.
///
/// ```
/// use swarmwood_learn::data::Values;
/// let mut target = Values::with_capacity(4);
/// target.extend(&[0.0, 1.0]);
/// assert_eq!(target.bytes(), 2);
/// target.extend(&[0.1]);
/// assert_eq!(target.iter().collect::<Vec<_>>(), [0.0, 1.0, 0.1]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Values {
    form: ValueForm,
    /// How many numbers are expected, so that a wider form is made in its full size at once.
    room: usize,
}

#[derive(Debug, Clone)]
enum ValueForm {
    Bytes(Vec<u8>),
    Singles(Vec<f32>),
    Doubles(Vec<f64>),
}

impl Default for ValueForm {
    fn default() -> Self {
        ValueForm::Bytes(Vec::new())
    }
}

impl Values {
    /// No numbers yet, with room for some.
    pub fn with_capacity(room: usize) -> Self {
        Values { form: ValueForm::Bytes(Vec::with_capacity(room)), room }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match &self.form {
            ValueForm::Bytes(values) => values.len(),
            ValueForm::Singles(values) => values.len(),
            ValueForm::Doubles(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the values take.
    pub fn bytes(&self) -> usize {
        match &self.form {
            ValueForm::Bytes(values) => values.len(),
            ValueForm::Singles(values) => values.len() * size_of::<f32>(),
            ValueForm::Doubles(values) => values.len() * size_of::<f64>(),
        }
    }

    /// Adds values, and makes room for all of them where the present form is too narrow.
    pub fn extend(&mut self, more: &[f64]) {
        let fits = |narrow: &dyn Fn(f64) -> f64| {
            more.iter().all(|&value| narrow(value).to_bits() == value.to_bits())
        };
        if matches!(self.form, ValueForm::Bytes(_)) && !fits(&|value| f64::from(value as u8)) {
            self.form = ValueForm::Singles(self.widened(|value| value as f32));
        }
        if matches!(self.form, ValueForm::Singles(_)) && !fits(&|value| f64::from(value as f32)) {
            self.form = ValueForm::Doubles(self.widened(|value| value));
        }
        match &mut self.form {
            ValueForm::Bytes(values) => values.extend(more.iter().map(|&value| value as u8)),
            ValueForm::Singles(values) => values.extend(more.iter().map(|&value| value as f32)),
            ValueForm::Doubles(values) => values.extend_from_slice(more),
        }
    }

    fn widened<T>(&self, wide: impl Fn(f64) -> T) -> Vec<T> {
        let mut values = Vec::with_capacity(self.room.max(self.len()));
        values.extend(self.iter().map(wide));
        values
    }

    /// One value.
    pub fn get(&self, at: usize) -> Option<f64> {
        match &self.form {
            ValueForm::Bytes(values) => values.get(at).map(|&value| f64::from(value)),
            ValueForm::Singles(values) => values.get(at).map(|&value| f64::from(value)),
            ValueForm::Doubles(values) => values.get(at).copied(),
        }
    }

    /// All values, in order.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.range(0..self.len())
    }

    /// Some values, in order; none where the range lies outside.
    pub fn range(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = f64> + '_ {
        range.map_while(|at| self.get(at))
    }

    /// All values as they came.
    pub fn to_vec(&self) -> Vec<f64> {
        self.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_come_back_the_same(parts in prop::collection::vec(prop_oneof![
            prop::collection::vec((0u8..=255).prop_map(f64::from), 0..5),
            prop::collection::vec(any::<f32>().prop_map(f64::from), 0..5),
            prop::collection::vec(any::<f64>(), 0..5),
        ], 0..6)) {
            let mut values = Values::with_capacity(3);
            parts.iter().for_each(|part| values.extend(part));
            let expected: Vec<u64> = parts.concat().iter().map(|value| value.to_bits()).collect();
            prop_assert_eq!(values.iter().map(f64::to_bits).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn the_narrowest_form_is_taken() {
        let bytes = |values: &[f64]| {
            let mut all = Values::default();
            all.extend(values);
            all.bytes()
        };
        assert_eq!(bytes(&[0.0, 255.0]), 2);
        assert_eq!(
            [bytes(&[256.0]), bytes(&[-0.0]), bytes(&[0.5]), bytes(&[f64::INFINITY])],
            [4; 4]
        );
        assert_eq!(bytes(&[0.1]), 8);
    }
}
