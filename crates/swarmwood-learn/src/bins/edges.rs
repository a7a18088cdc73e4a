//! Cuts a column of numbers into bins.
//!
//! Few distinct values: each its own bin. Many: bins of equal row counts, except that a value which
//! holds at least one bin's share of the rows gets a bin to itself. Plain quantiles would spend
//! several edges on such a value and have too few left for the rest.

use crate::rule::Code;

/// Thresholds between bins, ascending: a value lies above `edges[i]` exactly if its bin is greater
/// than `i`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Edges {
    thresholds: Vec<f64>,
    /// The thresholds again, padded with infinity to a power of two, for the branch-free search.
    padded: Vec<f64>,
    /// Whether some value lies above every finite number.
    unbounded: bool,
}

/// The most thresholds: codes are bytes, and one of them is for missing values.
pub const MOST: usize = 254;

/// The most distinct values of a feature whose values are all told apart ([`Edges::exact`]).
pub const MOST_VALUES: usize = 65_534;

impl Edges {
    /// Finds at most `max_bin` bins for the values of a sample; NaN is skipped.
    ///
    /// ```
    /// use swarmwood_learn::bins::edges::Edges;
    /// let edges = Edges::fit(&[3.0, 1.0, 1.0, f64::NAN, 2.0], 255);
    /// assert_eq!(edges.thresholds(), [1.5, 2.5]);
    /// assert_eq!([1.5, 1.6, f64::NAN].map(|value| edges.code::<u8>(value)), [1, 2, 0]);
    /// ```
    pub fn fit(values: &[f64], max_bin: usize) -> Self {
        let counted = count_distinct(values);
        let unbounded = counted.last().is_some_and(|last| last.0 == f64::INFINITY);
        Edges::new(thresholds(&counted, max_bin.clamp(2, 255)), unbounded)
    }

    /// Cuts at given thresholds: those of a model that was trained elsewhere. They must be finite;
    /// where there are more than 254, so many of them, evenly spread, are kept.
    ///
    /// ```
    /// use swarmwood_learn::bins::edges::Edges;
    /// let edges = Edges::at(&[2.0, 0.5, 2.0], &[1.0, 3.0]);
    /// assert_eq!(edges.thresholds(), [0.5, 2.0]);
    /// ```
    pub fn at(thresholds: &[f64], values: &[f64]) -> Self {
        let mut all: Vec<f64> =
            thresholds.iter().copied().filter(|threshold| threshold.is_finite()).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let kept = all.len().min(MOST);
        let thinned = (0..kept).map(|at| all[at * all.len() / kept]).collect();
        Edges::new(thinned, values.contains(&f64::INFINITY))
    }

    /// A threshold between any two neighbouring values, in parts of at most [`MOST`] thresholds:
    /// every part tells the values of one range apart, and the parts together all values. `None` if
    /// there are more than [`MOST_VALUES`] distinct values.
    ///
    /// ```
    /// use swarmwood_learn::bins::edges::Edges;
    /// let values: Vec<f64> = (0..600).map(f64::from).collect();
    /// let parts = Edges::exact(&values).unwrap();
    /// assert_eq!(parts.iter().map(|part| part.thresholds().len()).sum::<usize>(), 599);
    /// assert_eq!(parts.iter().map(|part| part.code(300.0)).collect::<Vec<u8>>(), [255, 47, 1]);
    /// ```
    pub fn exact(values: &[f64]) -> Option<Vec<Self>> {
        let counted = count_distinct(values);
        if counted.len() > MOST_VALUES {
            return None;
        }
        let unbounded = counted.last().is_some_and(|last| last.0 == f64::INFINITY);
        let all = thresholds(&counted, counted.len().max(2));
        if all.is_empty() {
            return Some(vec![Edges::new(all, unbounded)]);
        }
        Some(all.chunks(MOST).map(|part| Edges::new(part.to_vec(), unbounded)).collect())
    }

    /// A threshold between any two neighbours of ascending values, however many there are: codes
    /// of one byte may be too narrow for them.
    ///
    /// ```
    /// use swarmwood_learn::bins::edges::Edges;
    /// let values: Vec<f64> = (0..600).map(f64::from).collect();
    /// let edges = Edges::between_all(&values);
    /// assert_eq!((edges.bins(), edges.code::<u16>(300.0)), (600, 301));
    /// ```
    pub fn between_all(values: &[f64]) -> Self {
        let thresholds = values.windows(2).map(|pair| between(pair[0], pair[1])).collect();
        Edges::new(thresholds, values.last() == Some(&f64::INFINITY))
    }

    /// The edges with these thresholds; `None` unless they are finite and ascend.
    pub(crate) fn from_parts(thresholds: Vec<f64>, unbounded: bool) -> Option<Self> {
        let is_finite = thresholds.iter().all(|threshold| threshold.is_finite());
        let ascends = thresholds.windows(2).all(|pair| pair[0] < pair[1]);
        (is_finite && ascends).then(|| Edges::new(thresholds, unbounded))
    }

    fn new(thresholds: Vec<f64>, unbounded: bool) -> Self {
        let size = (thresholds.len() + 1).next_power_of_two();
        let mut padded = thresholds.clone();
        padded.resize(size, f64::INFINITY);
        Edges { thresholds, padded, unbounded }
    }

    /// The same with one threshold more, which takes the place of the nearest one if there are
    /// [`MOST`] already.
    ///
    /// ```
    /// use swarmwood_learn::bins::edges::Edges;
    /// let edges = Edges::fit(&[1.0, 2.0, 3.0], 255).with_threshold(1.75);
    /// assert_eq!(edges.thresholds(), [1.5, 1.75, 2.5]);
    /// ```
    #[must_use]
    pub fn with_threshold(&self, threshold: f64) -> Self {
        let mut thresholds = self.thresholds.clone();
        let at = thresholds.partition_point(|&other| other < threshold);
        if thresholds.get(at) == Some(&threshold) {
            return self.clone();
        }
        if thresholds.len() < MOST {
            thresholds.insert(at, threshold);
        } else {
            let is_below =
                at == MOST || at > 0 && threshold - thresholds[at - 1] < thresholds[at] - threshold;
            thresholds[at - usize::from(is_below)] = threshold;
        }
        Edges::new(thresholds, self.unbounded)
    }

    /// The thresholds, ascending.
    pub fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    /// Whether a threshold can lie above all values, so that a split may part the missing ones from
    /// all others.
    pub fn bounded(&self) -> bool {
        !self.unbounded
    }

    /// Number of bins, missing not counted.
    pub fn bins(&self) -> usize {
        self.thresholds.len() + 1
    }

    /// The code of a value: 0 for NaN, else one more than the number of thresholds below the value.
    /// There must be as many codes as bins.
    #[inline]
    pub fn code<C: Code>(&self, value: f64) -> C {
        if value.is_nan() { C::MISSING } else { C::from_index(1 + self.rank(value)) }
    }

    /// How many thresholds lie below `value`, without a branch that depends on it.
    #[inline]
    fn rank(&self, value: f64) -> usize {
        let mut base = 0;
        let mut half = self.padded.len() / 2;
        while half > 0 {
            // The padding is infinite, so the search never leaves the real thresholds.
            base += if self.padded[base + half - 1] < value { half } else { 0 };
            half /= 2;
        }
        base
    }

    /// Codes a run of values.
    pub fn encode<C: Code>(&self, values: &[f64], codes: &mut [C]) {
        if let [only] = self.thresholds[..] {
            for (code, &value) in codes.iter_mut().zip(values) {
                let above = C::from(1 + u8::from(value > only));
                *code = if value.is_nan() { C::MISSING } else { above };
            }
            return;
        }
        for (code, &value) in codes.iter_mut().zip(values) {
            *code = self.code(value);
        }
    }
}

/// The least and the greatest value of each of at most `most` bins, ascending: of each distinct
/// value where there are no more of them.
pub(crate) fn bounds(values: &[f64], most: usize) -> Vec<[f64; 2]> {
    let counted = count_distinct(values);
    if counted.len() <= most {
        return counted.into_iter().map(|(value, _)| [value; 2]).collect();
    }
    let ends = bin_ends(&counted, most);
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let ends = ends.iter().copied().chain([counted.len()]);
    starts.zip(ends).map(|(start, end)| [counted[start].0, counted[end - 1].0]).collect()
}

/// Distinct values in ascending order with their counts. Zero and minus zero are one value.
fn count_distinct(values: &[f64]) -> Vec<(f64, usize)> {
    if let Some(few) = count_few(values) {
        return few;
    }
    let mut keys: Vec<u64> = values.iter().filter(|v| !v.is_nan()).map(|&v| order_key(v)).collect();
    keys.sort_unstable();
    let mut counted: Vec<(f64, usize)> = Vec::new();
    let mut start = 0;
    while start < keys.len() {
        let run = keys[start..].iter().take_while(|&&key| key == keys[start]).count();
        counted.push((from_order_key(keys[start]), run));
        start += run;
    }
    counted
}

/// Columns with a handful of values (flags, one-hot) need no sort.
fn count_few(values: &[f64]) -> Option<Vec<(f64, usize)>> {
    const FEW: usize = 8;
    let mut counted: Vec<(f64, usize)> = Vec::with_capacity(FEW);
    for &value in values.iter().filter(|v| !v.is_nan()) {
        match counted.iter().position(|entry| entry.0 == value) {
            Some(at) => counted[at].1 += 1,
            None if counted.len() == FEW => return None,
            None => counted.push((value + 0.0, 1)),
        }
    }
    counted.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(counted)
}

/// An unsigned key in the order of the numbers; adding zero turns minus zero into zero.
pub(super) fn order_key(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    bits ^ (((bits as i64 >> 63) as u64) | 1 << 63)
}

pub(super) fn from_order_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key ^ 1 << 63 } else { !key })
}

fn thresholds(counted: &[(f64, usize)], max_bin: usize) -> Vec<f64> {
    let ends = if counted.len() <= max_bin {
        (1..counted.len()).collect()
    } else {
        bin_ends(counted, max_bin)
    };
    ends.into_iter().map(|end| between(counted[end - 1].0, counted[end].0)).collect()
}

/// A number `t` with `low <= t < high`: the shortest decimal in the middle half of the gap, where
/// people would put it (11.65, not 11.649999999999999). Always finite.
///
/// Shorter ones may lie near the ends of the gap; new values there should not change sides for the
/// sake of a digit.
pub(crate) fn between(low: f64, high: f64) -> f64 {
    let middle = low / 2.0 + high / 2.0;
    if !(middle.is_finite() && low <= middle && middle < high) {
        return low.max(f64::MIN);
    }
    let quarter = high / 4.0 - low / 4.0;
    // Of all decimals with so many digits the nearest to the middle is in the middle half if any
    // is. Seventeen digits tell every number from its neighbours.
    let rounded = (0..17).filter_map(|digits| format!("{middle:.digits$e}").parse::<f64>().ok());
    let fits = |&short: &f64| low < short && short < high && (short - middle).abs() <= quarter;
    rounded.into_iter().find(fits).unwrap_or(middle)
}

/// Where bins end (exclusive positions in `counted`), the last end left out.
fn bin_ends(counted: &[(f64, usize)], max_bin: usize) -> Vec<usize> {
    let total: usize = counted.iter().map(|entry| entry.1).sum();
    let mut heavy_from = total as f64 / max_bin as f64;
    // Heavy values and the runs of light ones between them all want a bin; where that is too many,
    // only the heavier values keep theirs.
    let segments = loop {
        let segments = cut_at_heavy(counted, heavy_from);
        if segments.len() <= max_bin {
            break segments;
        }
        heavy_from *= 1.25;
    };
    let heavy = segments.iter().filter(|s| s.heavy).count();
    let mut light_mass = segments.iter().filter(|s| !s.heavy).map(|s| s.mass).sum::<usize>();
    let mut light_bins = max_bin - heavy;
    let mut light_left = segments.len() - heavy;
    let mut ends = Vec::with_capacity(max_bin);
    for segment in &segments {
        if segment.heavy {
            ends.push(segment.end);
            continue;
        }
        light_left -= 1;
        let share = segment.mass as f64 / light_mass as f64 * light_bins as f64;
        let bins = (share.round() as usize)
            .clamp(1, light_bins - light_left)
            .min(segment.end - segment.start);
        cut_evenly(
            &counted[segment.start..segment.end],
            segment.start,
            segment.mass,
            bins,
            &mut ends,
        );
        light_mass -= segment.mass;
        light_bins -= bins;
    }
    ends.pop();
    ends
}

struct Segment {
    start: usize,
    end: usize,
    mass: usize,
    heavy: bool,
}

/// Single heavy values and the runs between them.
fn cut_at_heavy(counted: &[(f64, usize)], heavy_from: f64) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for (at, &(_, count)) in counted.iter().enumerate() {
        let heavy = count as f64 >= heavy_from;
        match segments.last_mut() {
            Some(last) if !heavy && !last.heavy => {
                last.end = at + 1;
                last.mass += count;
            }
            _ => segments.push(Segment { start: at, end: at + 1, mass: count, heavy }),
        }
    }
    segments
}

/// Cuts a run into `bins` pieces of nearly equal mass and pushes where each ends.
fn cut_evenly(
    run: &[(f64, usize)],
    offset: usize,
    mass: usize,
    bins: usize,
    ends: &mut Vec<usize>,
) {
    let (mut mass, mut bins, mut held) = (mass as f64, bins, 0.0);
    for (at, &(_, count)) in run.iter().enumerate() {
        held += count as f64;
        let next = run.get(at + 1).map_or(0.0, |entry| entry.1 as f64);
        let values_left = run.len() - at - 1;
        // Close the bin where its mass is nearest to the mean of what is left, and in time for
        // every later bin to get at least one value.
        if values_left == 0
            || bins > 1 && (held + next / 2.0 >= mass / bins as f64 || values_left < bins)
        {
            ends.push(offset + at + 1);
            mass -= held;
            bins -= 1;
            held = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bins_of(values: &[f64], max_bin: usize) -> Vec<usize> {
        let edges = Edges::fit(values, max_bin);
        let mut counts = vec![0; edges.bins()];
        values
            .iter()
            .filter(|v| !v.is_nan())
            .for_each(|&v| counts[edges.code::<u8>(v) as usize - 1] += 1);
        counts
    }

    #[test]
    fn few_values_get_a_bin_each() {
        assert_eq!(Edges::fit(&[2.0, 0.0, 2.0, -0.0], 255).thresholds(), [1.0]);
        assert_eq!(Edges::fit(&[7.0, 7.0, f64::NAN], 255).bins(), 1);
        assert_eq!(Edges::fit(&[], 255).bins(), 1);
    }

    #[test]
    fn many_values_get_even_bins() {
        let values: Vec<f64> = (0..10_000).map(|i| f64::from(i * 7919 % 10_007)).collect();
        let counts = bins_of(&values, 100);
        assert_eq!(counts.len(), 100);
        assert!(counts.iter().all(|&c| (98..=102).contains(&c)), "{counts:?}");
    }

    #[test]
    fn a_heavy_value_gets_its_own_bin_and_wastes_no_other() {
        let mut values: Vec<f64> = (0..5000).map(|i| f64::from(i) / 10.0).collect();
        values.extend(std::iter::repeat_n(123.45, 5000));
        let counts = bins_of(&values, 50);
        assert_eq!(counts.len(), 50);
        assert_eq!(counts.iter().filter(|&&c| c == 5000).count(), 1);
        assert!(counts.iter().all(|&c| c == 5000 || c < 130), "{counts:?}");
    }

    #[test]
    fn many_heavy_values_never_exceed_the_limit() {
        let mut values = Vec::new();
        for v in 0..40 {
            values.extend(std::iter::repeat_n(f64::from(v), 100));
            values.extend((1..10).map(|i| f64::from(v) + f64::from(i) / 10.0));
        }
        for max_bin in [2, 3, 16, 41, 64, 255] {
            let counts = bins_of(&values, max_bin);
            assert!(counts.len() <= max_bin, "{max_bin}: {}", counts.len());
            assert!(counts.iter().all(|&c| c > 0));
        }
    }

    #[test]
    fn infinite_and_extreme_values_are_ordered() {
        let values = [f64::NEG_INFINITY, f64::MIN, -1.0, 0.0, f64::MAX, f64::INFINITY];
        let edges = Edges::fit(&values, 255);
        assert!(edges.thresholds().iter().all(|t| t.is_finite()) && !edges.bounded());
        let codes: Vec<u8> = values.iter().map(|&v| edges.code(v)).collect();
        assert!(codes.windows(2).all(|w| w[0] <= w[1]), "{codes:?}");
        assert!(codes[1] < codes[2] && codes[3] < codes[4] && codes[4] < codes[5], "{codes:?}");
    }

    #[test]
    fn neighbours_in_f64_are_told_apart() {
        let (low, high) = (1.0f64, 1.0f64.next_up());
        let edges = Edges::fit(&[low, high], 255);
        assert_eq!([low, high].map(|value| edges.code::<u8>(value)), [1, 2]);
    }

    #[test]
    fn thresholds_are_short_decimals() {
        for (low, high, expected) in [
            (11.6, 11.7, 11.65),
            (2.0, 3.0, 2.5),
            (-3.0, -2.0, -2.5),
            (0.0, 1.0, 0.5),
            (2.0, 3.2, 2.6),
            (999.3, 1001.4, 1000.0),
            (0.123456, 0.123466, 0.12346),
            (-1.0, 1.0, 0.0),
            (1e-300, 3e-300, 2e-300),
        ] {
            assert_eq!(between(low, high), expected);
        }
    }

    /// Digits of the shortest spelling that gives the number back, zeros before and behind them
    /// left out.
    fn digits(value: f64) -> usize {
        let text = format!("{value:e}");
        let mantissa = text.split('e').next().unwrap();
        mantissa.chars().filter(char::is_ascii_digit).collect::<String>().trim_matches('0').len()
    }

    proptest! {
        /// A threshold parts its neighbours, stays in the middle half of their gap, and no decimal
        /// there is shorter.
        #[test]
        fn thresholds_separate_with_few_digits(
            pair in prop_oneof![
                (any::<f64>(), any::<f64>()),
                (-1e6..1e6f64, 0.0..1.0f64).prop_map(|(low, gap)| (low, low + gap)),
                (-9999i32..9999, 1i32..9).prop_map(|(low, gap)| (f64::from(low) / 10.0, f64::from(low + gap) / 10.0)),
                any::<f64>().prop_map(|low| (low, low.next_up())),
            ],
        ) {
            let (low, high) = if pair.0 < pair.1 { pair } else { (pair.1, pair.0) };
            prop_assume!(low < high);
            let threshold = between(low, high);
            prop_assert!(threshold.is_finite() && threshold < high && (low <= threshold || low == f64::NEG_INFINITY));
            let (middle, quarter) = (low / 2.0 + high / 2.0, high / 4.0 - low / 4.0);
            if middle.is_finite() && low < middle && middle < high {
                prop_assert!((threshold - middle).abs() <= quarter && digits(threshold) <= digits(middle));
                // The decimals with one digit less that stand next to the middle on either side lie
                // outside.
                let shorter = digits(threshold).saturating_sub(2);
                for near in [middle, middle - quarter, middle + quarter].iter().filter(|_| digits(threshold) > 1) {
                    let short: f64 = format!("{near:.shorter$e}").parse().unwrap();
                    prop_assert!((short - middle).abs() > quarter || short <= low || short >= high || short == 0.0);
                }
            }
        }
    }

    #[test]
    fn codes_count_the_thresholds_below() {
        let values: Vec<f64> = (0..700).map(|i| f64::from(i * i % 997) * 0.37).collect();
        for max_bin in [2, 5, 31, 255] {
            let edges = Edges::fit(&values, max_bin);
            let mut codes = vec![0u8; values.len()];
            edges.encode(&values, &mut codes);
            for (&value, &code) in values.iter().zip(&codes) {
                let below = edges.thresholds().iter().filter(|&&t| value > t).count();
                assert_eq!(usize::from(code), 1 + below);
            }
        }
    }
}
