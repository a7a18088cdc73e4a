//! Weighted order statistics: the constants that minimise absolute and pinball losses.

/// The weighted `alpha` quantile of `(value, weight)` pairs: a constant with the least pinball
/// loss. Where a whole interval is equally good (the median of two values), its middle is taken.
/// Pairs without weight do not count; `None` if no pair is left. The pairs, `f32` or `f64`, are
/// reordered; the time is linear.
///
/// ```
/// use swarmwood_learn::objective::order::weighted_quantile;
/// assert_eq!(weighted_quantile(&mut [(1.0, 1.0), (5.0, 1.0), (2.0, 1.0)], 0.5), Some(2.0));
/// assert_eq!(weighted_quantile(&mut [(1.0, 1.0), (5.0, 1.0)], 0.5), Some(3.0));
/// assert_eq!(weighted_quantile(&mut [(1.0f32, 1.0), (5.0, 3.0)], 0.5), Some(5.0));
/// assert_eq!(weighted_quantile::<f32>(&mut [], 0.5), None);
/// ```
pub fn weighted_quantile<T: Copy + Into<f64>>(pairs: &mut [(T, T)], alpha: f64) -> Option<f64> {
    let mut count = 0;
    for i in 0..pairs.len() {
        if pairs[i].1.into() > 0.0 {
            pairs.swap(i, count);
            count += 1;
        }
    }
    let pairs = &mut pairs[..count];
    let weight_of = |pairs: &[(T, T)]| pairs.iter().map(|pair| pair.1.into()).sum::<f64>();
    let goal = alpha * weight_of(pairs);

    // The answer is the first value, in ascending order, at which the weight so far reaches the
    // goal. It lies in `low..high`; everything left of `low` is smaller and weighs `below`.
    let (mut low, mut high, mut below) = (0, count, 0.0);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        pairs[low..high]
            .select_nth_unstable_by(middle - low, |a, b| a.0.into().total_cmp(&b.0.into()));
        let left = weight_of(&pairs[low..middle]);
        if below + left >= goal {
            high = middle;
        } else {
            below += left;
            low = middle;
        }
    }
    let &(value, weight) = pairs.get(low)?;
    let (value, weight) = (value.into(), weight.into());
    let next = pairs[low + 1..].iter().map(|pair| pair.0.into()).min_by(f64::total_cmp);
    match next {
        Some(next) if below + weight == goal => Some(value + (next - value) / 2.0),
        _ => Some(value),
    }
}

/// The weighted quantile of targets; an empty `weight` means that all weigh one. Zero if there is
/// nothing.
pub(super) fn quantile_of(target: &[f64], weight: &[f64], alpha: f64) -> f64 {
    let mut pairs: Vec<(f64, f64)> = target
        .iter()
        .enumerate()
        .map(|(i, &value)| (value, weight.get(i).copied().unwrap_or(1.0)))
        .collect();
    weighted_quantile(&mut pairs, alpha).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By sorting and walking.
    fn slow(pairs: &[(f64, f64)], alpha: f64) -> Option<f64> {
        let mut pairs: Vec<_> = pairs.iter().copied().filter(|p| p.1 > 0.0).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let goal = alpha * pairs.iter().map(|p| p.1).sum::<f64>();
        let mut sum = 0.0;
        for (i, pair) in pairs.iter().enumerate() {
            sum += pair.1;
            if sum >= goal {
                let next = pairs.get(i + 1).filter(|_| sum == goal).map_or(pair.0, |p| p.0);
                return Some((pair.0 + next) / 2.0);
            }
        }
        None
    }

    proptest! {
        // Whole weights and quarters of one as quantiles keep every sum exact, so equality can be
        // asked for.
        #[test]
        fn equals_sorting_and_walking(
            pairs in prop::collection::vec((-9i8..9, 0u8..4), 0..60),
            quarter in 0u8..=4,
        ) {
            let mut pairs: Vec<(f64, f64)> = pairs.into_iter().map(|(v, w)| (f64::from(v), f64::from(w))).collect();
            let alpha = f64::from(quarter) / 4.0;
            let expected = slow(&pairs, alpha);
            prop_assert_eq!(weighted_quantile(&mut pairs, alpha), expected);
        }
    }
}
