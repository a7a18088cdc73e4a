//! Racing: a configuration that is clearly behind is not evaluated to the end.
//!
//! Piece `k` of a trial and piece `k` of the best trial before it were judged on the same rows, so their differences say
//! more than the losses do. After at least two pieces the trial is given up when the mean difference is more than one
//! standard error above zero (the idea of Maron and Moore, "Hoeffding races", NIPS 1993; paired as in Birattari et al.,
//! "A racing algorithm for configuring metaheuristics", GECCO 2002).
//!
//! Deviations: one rival, the best, instead of all survivors; one standard error instead of a test at a level.

/// Pieces before which nothing is given up: one difference has no spread.
pub const FEWEST: usize = 2;

/// What the pieces so far say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Evaluate the next piece.
    GoOn,
    /// Behind by more than a standard error.
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

/// Judges a trial by the losses of its first pieces; `rival` has the losses of all pieces of the best trial before it.
///
/// ```
/// use swarmwood::tune::race::{Verdict, judge};
/// let rival = [1.0, 2.0, 3.0];
/// assert_eq!(judge(&[1.5, 2.5], Some(&rival), 3), Verdict::Behind { loss: 2.5 });
/// assert_eq!(judge(&[1.5, 1.9], Some(&rival), 3), Verdict::GoOn);
/// assert_eq!(judge(&[1.0, 2.0, 6.0], None, 3), Verdict::Whole { loss: 3.0 });
/// ```
pub fn judge(seen: &[f64], rival: Option<&[f64]>, pieces: usize) -> Verdict {
    if seen.len() >= pieces {
        return Verdict::Whole { loss: mean(seen) };
    }
    let Some(rival) = rival.filter(|rival| seen.len() >= FEWEST && rival.len() == pieces) else {
        return Verdict::GoOn;
    };
    let differences: Vec<f64> = seen.iter().zip(rival).map(|(own, other)| own - other).collect();
    let behind = mean(&differences);
    let spread = differences.iter().map(|d| (d - behind).powi(2)).sum::<f64>();
    let count = differences.len() as f64;
    let standard_error = (spread / (count - 1.0) / count).sqrt();
    // A mean difference that is not a number gives nothing up.
    if behind - standard_error > 0.0 { Verdict::Behind { loss: mean(rival) + behind } } else { Verdict::GoOn }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_standard_error_is_the_border() {
        // Differences 0 and 2: mean 1, standard error 1. Exactly one behind goes on, a little more does not.
        let rival = [5.0, 5.0, 5.0];
        assert_eq!(judge(&[5.0, 7.0], Some(&rival), 3), Verdict::GoOn);
        assert_eq!(judge(&[5.25, 7.0], Some(&rival), 3), Verdict::Behind { loss: 6.125 });
        assert_eq!(judge(&[9.0], Some(&rival), 3), Verdict::GoOn, "one piece has no spread");
        assert_eq!(judge(&[4.0, 3.0], Some(&rival), 3), Verdict::GoOn, "ahead");
        assert_eq!(judge(&[5.0, 5.0], Some(&rival), 3), Verdict::GoOn, "level");
    }

    #[test]
    fn nothing_is_given_up_without_a_whole_rival() {
        assert_eq!(judge(&[9.0, 9.0], None, 3), Verdict::GoOn);
        assert_eq!(judge(&[9.0, 9.0], Some(&[1.0, 1.0]), 3), Verdict::GoOn);
        assert_eq!(judge(&[9.0, 9.0], Some(&[1.0, 1.0]), 2), Verdict::Whole { loss: 9.0 });
    }
}
