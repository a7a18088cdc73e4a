//! How well scores order rows.

use super::mean;

/// Area under the receiver operating characteristic: the chance that a positive row scores higher than a negative one,
/// where a tie counts half. Takes `(score, positive, weight)` rows, which are reordered; `None` unless rows of both
/// kinds have weight.
///
/// ```
/// use swarmwood_learn::metric::ranking::binary_auc;
/// assert_eq!(binary_auc(&mut [(0.1, false, 1.0), (0.4, true, 1.0), (0.4, false, 1.0)]), Some(0.75));
/// ```
pub fn binary_auc(rows: &mut [(f64, bool, f64)]) -> Option<f64> {
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2)));
    let (mut positive, mut negative, mut ordered) = (0.0, 0.0, 0.0);
    for ties in rows.chunk_by(|a, b| a.0 == b.0) {
        let weight_of = |kind: bool| ties.iter().filter(|row| row.1 == kind).map(|row| row.2).sum::<f64>();
        let (ups, downs) = (weight_of(true), weight_of(false));
        ordered += ups * (negative + 0.5 * downs);
        positive += ups;
        negative += downs;
    }
    (positive > 0.0 && negative > 0.0).then(|| ordered / (positive * negative))
}

/// [`binary_auc`] of the positive class; with more than two classes the mean over classes, each against the rest, of
/// those that occur. `prediction` holds one probability a class, row after row; `weight` may be empty.
pub fn auc(classes: usize, prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    let against_rest = |class: usize| {
        let mut rows: Vec<(f64, bool, f64)> = prediction
            .chunks_exact(classes)
            .zip(target)
            .enumerate()
            .map(|(i, (row, &y))| (row[class], y == class as f64, weight.get(i).copied().unwrap_or(1.0)))
            .collect();
        binary_auc(&mut rows)
    };
    if classes == 2 { against_rest(1) } else { mean((0..classes).filter_map(against_rest), &[]) }
}
