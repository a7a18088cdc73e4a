//! The standard normal distribution, fast rather than exact to the last digit: trees ask for an
//! order, not for digits.

use swarmwood_search::normal::roughly_above;

/// The probability of a number below `x`; absolute error below 1e-7.
pub(super) fn below(x: f64) -> f64 {
    let tail = roughly_above(x.abs());
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// The number that a standard normal one lies below with probability `p`, for `0 < p < 1`; relative
/// error below 2e-9 (Acklam's rational functions).
pub(super) fn quantile(p: f64) -> f64 {
    let polynomial =
        |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        let above = [
            -7.784_894_002_430_293e-3,
            -3.223_964_580_411_365e-1,
            -2.400_758_277_161_838,
            -2.549_732_539_343_734,
            4.374_664_141_464_968,
            2.938_163_982_698_783,
        ];
        let under = [
            7.784_695_709_041_462e-3,
            3.224_671_290_700_398e-1,
            2.445_134_137_142_996,
            3.754_408_661_907_416,
            1.0,
        ];
        return polynomial(&above, q) / polynomial(&under, q);
    }
    let (q, r) = (p - 0.5, (p - 0.5) * (p - 0.5));
    let above = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    let under = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    polynomial(&above, r) * q / polynomial(&under, r)
}

/// The normal scores of losses: each becomes the quantile of `(rank - ½) / n`; equal losses share
/// the mean rank.
pub(super) fn scores(losses: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..losses.len()).collect();
    order.sort_unstable_by(|&a, &b| losses[a].total_cmp(&losses[b]).then(a.cmp(&b)));
    let mut scores = vec![0.0; losses.len()];
    let mut from = 0;
    while from < order.len() {
        let same = order[from..]
            .iter()
            .take_while(|&&at| losses[at] == losses[order[from]])
            .count()
            .max(1);
        let rank = from as f64 + same as f64 / 2.0;
        let score = quantile(rank / losses.len() as f64);
        order[from..from + same].iter().for_each(|&at| scores[at] = score);
        from += same;
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        for (x, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746),
            (-1.959_963_985, 0.025),
            (-3.090_232_306, 0.001),
            (2.5, 0.993_790_335),
        ] {
            assert!((below(x) - p).abs() < 1e-7, "{x}");
            assert!((quantile(p) - x).abs() < 1e-6, "{p}");
        }
        for i in 1..1000 {
            let p = f64::from(i) / 1000.0;
            assert!((below(quantile(p)) - p).abs() < 2e-7);
        }
    }

    #[test]
    fn scores_follow_ranks_and_share_them() {
        let scores = scores(&[3.0, 1.0, 1e9, 1.0, 2.0]);
        assert_eq!(scores[1], scores[3]);
        assert!(scores[1] < scores[4] && scores[4] < scores[0] && scores[0] < scores[2]);
        assert!(
            (scores[1] - quantile(0.2)).abs() < 1e-15 && (scores[2] - quantile(0.9)).abs() < 1e-15
        );
    }
}
