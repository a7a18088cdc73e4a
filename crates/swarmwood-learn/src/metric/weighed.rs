//! Numbers that must be put in order before anything can be said about them: all of them are kept.

use crate::objective::order::weighted_quantile;

/// Numbers with weights; as long as every weight is one, no weight takes room.
#[derive(Debug, Clone, Default)]
pub(super) struct WeightedValues {
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl WeightedValues {
    pub(super) fn push(&mut self, value: f64, weight: f64) {
        if weight != 1.0 || !self.weights.is_empty() {
            self.weights.resize(self.values.len(), 1.0);
            self.weights.push(weight);
        }
        self.values.push(value);
    }

    /// The numbers, if each weighs one and none is NaN.
    pub(super) fn plain(&self) -> Option<&[f64]> {
        let is_plain = self.weights.is_empty() && !self.values.iter().any(|value| value.is_nan());
        is_plain.then_some(&self.values[..])
    }

    /// Hands the numbers over in ascending order, each with its weight; of equal numbers the light
    /// ones come first.
    pub(super) fn sorted(self) -> Box<dyn Iterator<Item = (f64, f64)>> {
        let WeightedValues { mut values, weights } = self;
        if weights.is_empty() {
            values.sort_unstable_by(f64::total_cmp);
            return Box::new(values.into_iter().map(|value| (value, 1.0)));
        }
        let mut pairs: Vec<(f64, f64)> = values.into_iter().zip(weights).collect();
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        Box::new(pairs.into_iter())
    }

    /// The weighted median; the middle of the two where they are equally good, `None` if nothing
    /// weighs anything.
    pub(super) fn median(self) -> Option<f64> {
        let WeightedValues { mut values, weights } = self;
        if !weights.is_empty() {
            return weighted_quantile(
                &mut values.into_iter().zip(weights).collect::<Vec<_>>(),
                0.5,
            );
        }
        let count = values.len();
        if count == 0 {
            return None;
        }
        let (_, &mut middle, above) =
            values.select_nth_unstable_by((count - 1) / 2, f64::total_cmp);
        let next = above.iter().copied().min_by(f64::total_cmp).filter(|_| count.is_multiple_of(2));
        Some(next.map_or(middle, |next| middle + (next - middle) / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_median_is_the_weighted_one(rows in prop::collection::vec((-9i8..9, 1u8..3), 0..30), plain: bool) {
            let mut weighed = WeightedValues::default();
            let weight = |w: u8| if plain { 1.0 } else { f64::from(w) };
            rows.iter().for_each(|&(v, w)| weighed.push(f64::from(v), weight(w)));
            let mut pairs: Vec<(f64, f64)> = rows.iter().map(|&(v, w)| (f64::from(v), weight(w))).collect();
            prop_assert_eq!(weighed.clone().median(), weighted_quantile(&mut pairs, 0.5));
            pairs.sort_by(|a, b| a.partial_cmp(b).unwrap());
            prop_assert_eq!(weighed.sorted().collect::<Vec<_>>(), pairs);
        }
    }
}
