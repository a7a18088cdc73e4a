//! Racing: a configuration that will hardly come out ahead is not evaluated to the end.
//!
//! FoldResult `k` of a trial and piece `k` of the best trial before it were judged on the same rows, so
//! their differences say more than the losses do (paired as in Birattari et al., "A racing
//! algorithm for configuring metaheuristics", GECCO 2002). How much differences scatter from piece
//! to piece is known from earlier trials ([`noise`], σ). The mean difference after `k` of `n`
//! pieces and the one after all of them are apart by a standard deviation of
//! `σ √((n - k) / (n k))`; a trial that is behind by more than that is given up. At that border it
//! would still have ended ahead one time in six.
//!
//! Deviations: one rival, the best, instead of all survivors; a deviation known from other trials
//! instead of the trial's own. The latter, with two pieces, mostly asks whether both were behind:
//! it keeps on trials that are hopeless in the mean and gives up good ones that are a little behind
//! twice. `bench/runs/2026-11-16-races` has both side by side.

/// As many earlier trials, those with losses most like the rival's, tell how much differences
/// scatter. Trials far from the rival scatter more, for other reasons than chance.
const NEAREST: usize = 12;
/// A deviation that fewer independent differences than these tell is not trusted.
const FEWEST: usize = 4;

/// What the pieces so far say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Evaluate the next piece.
    GoOn,
    /// Behind by more than the pieces to come are likely to make up for.
    Behind {
        /// The rival's loss and the mean difference: what the trial would probably have come to.
        loss: f64,
    },
    /// All pieces are there.
    Whole {
        /// Their mean loss.
        loss: f64,
    },
}

/// Whom a trial races against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rival<'a> {
    /// The losses of all its pieces.
    pub losses: &'a [f64],
    /// The standard deviation of differences to it, piece by piece.
    pub noise: f64,
}

/// Judges a trial by the losses of its first pieces against the best trial before it.
///
/// ```
/// use swarmwood::tune::race::{Rival, Verdict, judge};
/// let rival = Rival { losses: &[1.0, 2.0, 3.0], noise: 0.5 };
/// assert_eq!(judge(&[1.5], Some(rival), 3), Verdict::Behind { loss: 2.5 });
/// assert_eq!(judge(&[1.5, 1.9], Some(rival), 3), Verdict::GoOn);
/// assert_eq!(judge(&[1.0, 2.0, 6.0], None, 3), Verdict::Whole { loss: 3.0 });
/// ```
pub fn judge(seen: &[f64], rival: Option<Rival<'_>>, pieces: usize) -> Verdict {
    if seen.len() >= pieces {
        return Verdict::Whole { loss: mean(seen) };
    }
    let Some(rival) = rival.filter(|rival| !seen.is_empty() && rival.losses.len() == pieces) else {
        return Verdict::GoOn;
    };
    let behind = mean(&differences(seen, rival.losses));
    let (count, all) = (seen.len() as f64, pieces as f64);
    let margin = rival.noise * ((all - count) / (all * count)).sqrt();
    // A mean difference that is not a number gives nothing up.
    if behind > margin {
        Verdict::Behind { loss: mean(rival.losses) + behind }
    } else {
        Verdict::GoOn
    }
}

/// The standard deviation of differences to the rival from piece to piece, pooled over the earlier
/// trials that came nearest to it; `None` as long as too few trials have two pieces.
///
/// ```
/// use swarmwood::tune::race::noise;
/// let rival = [1.0, 1.0, 1.0];
/// let others = [[2.0, 3.0, 4.0], [1.0, 2.0, 3.0]];
/// assert_eq!(noise(&rival, others.iter().map(|losses| &losses[..])), Some(1.0));
/// assert_eq!(noise(&rival, [&[2.0, 3.0][..]].into_iter()), None);
/// ```
pub fn noise<'a>(rival: &[f64], others: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let scatter = |losses: &[f64]| {
        let differences = differences(losses, rival);
        let behind = mean(&differences);
        let squares: f64 = differences.iter().map(|d| (d - behind).powi(2)).sum();
        (behind.abs(), squares, differences.len() - 1)
    };
    let mut known: Vec<(f64, f64, usize)> =
        others.filter(|losses| losses.len() > 1).map(scatter).collect();
    known.retain(|(_, squares, _)| squares.is_finite());
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    known.truncate(NEAREST);
    let free: usize = known.iter().map(|(.., free)| free).sum();
    let squares: f64 = known.iter().map(|(_, squares, _)| squares).sum();
    (free >= FEWEST).then(|| (squares / free as f64).sqrt())
}

fn differences(seen: &[f64], rival: &[f64]) -> Vec<f64> {
    seen.iter().zip(rival).map(|(own, other)| own - other).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_come_is_the_border() {
        // After one of three pieces the mean may move by σ √(2/3), after two by σ √(1/6).
        let rival = Some(Rival { losses: &[5.0, 5.0, 5.0], noise: 1.0 });
        assert_eq!(judge(&[5.8], rival, 3), Verdict::GoOn);
        assert_eq!(judge(&[5.875], rival, 3), Verdict::Behind { loss: 5.875 });
        assert_eq!(judge(&[5.8, 5.0], rival, 3), Verdict::GoOn);
        assert_eq!(judge(&[5.75, 5.25], rival, 3), Verdict::Behind { loss: 5.5 });
        assert_eq!(judge(&[4.0], rival, 3), Verdict::GoOn, "ahead");
        assert_eq!(judge(&[5.0, 5.0], rival, 3), Verdict::GoOn, "level");
        assert_eq!(judge(&[f64::NAN], rival, 3), Verdict::GoOn, "no number");
        let exact = Some(Rival { losses: &[5.0, 5.0, 5.0], noise: 0.0 });
        assert_eq!(judge(&[5.0], exact, 3), Verdict::GoOn, "level without noise");
    }

    #[test]
    fn nothing_is_given_up_without_a_whole_rival() {
        assert_eq!(judge(&[9.0, 9.0], None, 3), Verdict::GoOn);
        let short = Some(Rival { losses: &[1.0, 1.0], noise: 1.0 });
        assert_eq!(judge(&[9.0, 9.0], short, 3), Verdict::GoOn);
        assert_eq!(judge(&[9.0, 9.0], short, 2), Verdict::Whole { loss: 9.0 });
        assert_eq!(judge(&[], short, 2), Verdict::GoOn);
    }

    #[test]
    fn trials_far_from_the_rival_say_nothing_of_chance() {
        let rival = [0.0; 5];
        let near: Vec<[f64; 5]> = (0..NEAREST).map(|_| [1.0, -1.0, 1.0, -1.0, 0.0]).collect();
        let far = [[100.0, 0.0, 200.0, 50.0, 0.0]; 4];
        let all = far.iter().chain(&near).map(|losses| &losses[..]);
        assert_eq!(noise(&rival, all), Some(1.0));
        let odd = [&[f64::NAN, 1.0, 2.0][..], &[f64::INFINITY, 1.0][..], &[3.0][..]];
        assert_eq!(noise(&rival, odd.into_iter()), None);
    }
}
