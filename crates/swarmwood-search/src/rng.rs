//! Counter-based random numbers: functions of where they are used, not of the order of draws.
//!
//! The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
//! 1, 2, 3", SC 2011, section 3.3): a keyed bijection of 128-bit counters. There is no state to
//! advance, so a stream is a pure function of `(seed, round, item)` and any thread may draw from it
//! at any time with the same result. The algorithm lives here, and not in a dependency, so that no
//! version bump can change a result.
//!
//! Deviation from the paper's own use: the key is 64 bits and a stream's name has 192, so
//! `(round, item)` is first sent through the bijection under the seed; its image is the key and the
//! upper counter half of the stream.

use std::collections::HashMap;

/// Multipliers of the two lanes (table 2 of the paper).
const MULTIPLIER: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// What the key grows by each round: the golden ratio and the root of three, less one.
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
/// Ten rounds pass all of BigCrush with a margin (section 4.3 of the paper).
const ROUNDS: usize = 10;

/// The bijection: 128 bits of counter to 128 random bits under a 64-bit key.
#[inline]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let a = u64::from(MULTIPLIER[0]) * u64::from(counter[0]);
        let b = u64::from(MULTIPLIER[1]) * u64::from(counter[2]);
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The image of `(round, item)` under the seed.
fn name(seed: u64, round: u64, item: u64) -> [u32; 4] {
    let ([a, b], [c, d]) = (halves(item), halves(round));
    philox([a, b, c, d], halves(seed))
}

/// Sixty-four random bits without a stream: one draw per row or column.
///
/// ```
/// use swarmwood_search::rng::hash;
/// let (seed, round, row) = (7, 3, 1_000_000);
/// let kept = hash(seed, round, row) < u64::MAX / 2; // keeps each row with probability 1/2
/// assert_eq!(kept, hash(seed, round, row) < u64::MAX / 2);
/// ```
pub fn hash(seed: u64, round: u64, item: u64) -> u64 {
    let [a, b, _, _] = name(seed, round, item);
    join(a, b)
}

/// A 128-bit fingerprint of a sequence of words: equal for equal sequences, and for no others in
/// practice.
///
/// The sequence is absorbed word by word through the bijection; it names configurations and spaces,
/// it is no defence against an adversary.
pub fn fingerprint(words: impl IntoIterator<Item = u64>) -> u128 {
    let mut state = [0; 4];
    let mut length = 0;
    for word in words {
        state = philox(state, halves(word));
        length += 1;
    }
    let [a, b, c, d] = philox(state, halves(length));
    u128::from(join(c, d)) << 64 | u128::from(join(a, b))
}

/// A stream of random numbers that depends on `(seed, round, item)` only.
///
/// The state of a stream are [`Stream::position`] and its three numbers; [`Stream::at`] continues
/// from there.
///
/// ```
/// use swarmwood_search::rng::Stream;
/// let mut stream = Stream::new(42, 0, 5);
/// let die = 1 + stream.below(6);
/// assert!((1..=6).contains(&die));
/// let mut resumed = Stream::at(42, 0, 5, stream.position());
/// assert_eq!(stream.next_u64(), resumed.next_u64());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    key: [u32; 2],
    high: [u32; 2],
    /// Number of 32-bit words drawn.
    position: u64,
    /// The block that holds the word before `position`; stale while `position` is a multiple of
    /// four.
    block: [u32; 4],
}

impl Stream {
    /// The stream of an item (a particle, a feature, a trial) in a round.
    pub fn new(seed: u64, round: u64, item: u64) -> Self {
        Self::at(seed, round, item, 0)
    }

    /// The same stream after `position` words of 32 bits were drawn.
    pub fn at(seed: u64, round: u64, item: u64, position: u64) -> Self {
        let [a, b, c, d] = name(seed, round, item);
        let mut stream = Stream { key: [a, b], high: [c, d], position, block: [0; 4] };
        if !position.is_multiple_of(4) {
            stream.block = stream.block_at(position / 4);
        }
        stream
    }

    /// Number of 32-bit words drawn so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    #[inline]
    fn block_at(&self, index: u64) -> [u32; 4] {
        let [a, b] = halves(index);
        philox([a, b, self.high[0], self.high[1]], self.key)
    }

    /// Thirty-two random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.position.is_multiple_of(4) {
            self.block = self.block_at(self.position / 4);
        }
        let word = self.block[(self.position % 4) as usize];
        self.position = self.position.wrapping_add(1);
        word
    }

    /// Fills the slice like repeated calls of [`Stream::next_u32`], but faster: for one draw per
    /// row.
    ///
    /// ```
    /// use swarmwood_search::rng::Stream;
    /// let (seed, round, block) = (7, 3, 12); // 1024 rows per block, on any thread
    /// let mut draws = [0; 1024];
    /// Stream::new(seed, round, block).fill(&mut draws);
    /// let kept = draws.iter().filter(|&&draw| draw < u32::MAX / 4).count();
    /// assert!((200..312).contains(&kept));
    /// ```
    pub fn fill(&mut self, words: &mut [u32]) {
        let started = (self.position.wrapping_neg() % 4).min(words.len() as u64) as usize;
        let (head, rest) = words.split_at_mut(started);
        head.iter_mut().for_each(|word| *word = self.next_u32());
        let (blocks, tail) = rest.as_chunks_mut::<4>();
        for block in blocks {
            *block = self.block_at(self.position / 4);
            self.position = self.position.wrapping_add(4);
        }
        tail.iter_mut().for_each(|word| *word = self.next_u32());
    }

    /// Sixty-four random bits.
    pub fn next_u64(&mut self) -> u64 {
        let low = self.next_u32();
        join(low, self.next_u32())
    }

    /// A number in `[0, 1)`, a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in `0..n`, every one equally likely; 0 for `n` = 0.
    ///
    /// Lemire, "Fast random integer generation in an interval", 2019, algorithm 5: the upper half
    /// of a product, drawn again in the few cases that would favour some numbers.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let uneven = n.wrapping_neg() % n; // 2⁶⁴ mod n
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= uneven {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number from the standard normal distribution (Box and Muller 1958; the second of the pair
    /// is not kept, so that a stream's state stays its position).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt(); // 1 - u lies in (0, 1]
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Shuffles the items, every order equally likely (Fisher and Yates, in
    /// Durstenfeld's form).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }

    /// `k` different numbers of `0..n`, in random order; all `n` of them if `k` is larger. Costs
    /// O(k), whatever `n`.
    pub fn sample_without(&mut self, n: usize, k: usize) -> Vec<usize> {
        // The first k steps of a shuffle; only slots that were swapped are stored.
        let mut moved: HashMap<usize, usize> = HashMap::new();
        (0..k.min(n))
            .map(|slot| {
                let other = slot + self.below((n - slot) as u64) as usize;
                let here = moved.remove(&slot).unwrap_or(slot);
                if other == slot { here } else { moved.insert(other, here).unwrap_or(other) }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of Random123 1.14 (`tests/kat_vectors`, philox4x32 10).
    #[test]
    fn the_bijection_gives_the_published_answers() {
        let ones = u32::MAX;
        assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox([ones; 4], [ones; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        let pi = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
        assert_eq!(
            philox(pi, [0xa4093822, 0x299f31d0]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    /// Pins the way streams are named: a change here changes every trained model.
    #[test]
    fn streams_never_change() {
        let mut stream = Stream::new(1, 2, 3);
        let first: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(first, PINNED);
        assert_eq!(hash(0, 0, 0), 0xe169c58d_6627e8d5);
    }
    const PINNED: [u64; 3] =
        [500_891_505_732_865_881, 4_112_144_782_894_087_120, 4_159_442_342_978_253_037];

    #[test]
    fn a_stream_goes_on_from_any_position() {
        let mut whole = Stream::new(9, 8, 7);
        let words: Vec<u32> = (0..41).map(|_| whole.next_u32()).collect();
        for start in 0..words.len() {
            let mut rest = Stream::at(9, 8, 7, start as u64);
            let got: Vec<u32> = words[start..].iter().map(|_| rest.next_u32()).collect();
            assert_eq!(got, words[start..], "from position {start}");
            assert_eq!(rest.position(), whole.position());
        }
    }

    #[test]
    fn filling_equals_drawing() {
        for (before, length) in
            (0..9).flat_map(|before| (0..14).map(move |length| (before, length)))
        {
            let mut drawn = Stream::at(3, 2, 1, before);
            let mut filled = drawn.clone();
            let expected: Vec<u32> = (0..length).map(|_| drawn.next_u32()).collect();
            let mut got = vec![0; length];
            filled.fill(&mut got);
            assert_eq!(got, expected, "{length} from {before}");
            assert_eq!(filled.next_u64(), drawn.next_u64(), "after {length} from {before}");
        }
    }

    #[test]
    fn neighbouring_streams_share_nothing() {
        let mut seen = std::collections::HashSet::new();
        for (seed, round, item) in (0..1000).map(|i| (i / 100, i / 10 % 10, i % 10)) {
            assert!(seen.insert(Stream::new(seed, round, item).next_u64()));
            assert!(seen.insert(hash(seed, round, item)));
        }
    }

    #[test]
    fn fingerprints_tell_sequences_apart() {
        let mut seen = std::collections::HashSet::new();
        for a in 0..20 {
            assert!(seen.insert(fingerprint([a])));
            assert!((0..20).all(|b| seen.insert(fingerprint([a, b]))));
        }
        assert!(seen.insert(fingerprint([])));
        assert_eq!(fingerprint([1, 2]), fingerprint([1, 2]));
    }

    #[test]
    fn below_is_even_and_bounded() {
        let mut stream = Stream::new(4, 0, 0);
        assert_eq!((stream.below(0), stream.below(1)), (0, 0));
        let mut counts = [0f64; 7];
        (0..70_000).for_each(|_| counts[stream.below(7) as usize] += 1.0);
        let chi_squared: f64 = counts.iter().map(|c| (c - 1e4).powi(2) / 1e4).sum();
        assert!(chi_squared < 22.5, "six degrees of freedom, p < .001: {chi_squared}");
        // A bound just above 2⁶³ rejects nearly half of the draws; a biased method favours the
        // lower half two to one.
        let bound = (1 << 63) + 1;
        let low = (0..10_000).filter(|_| stream.below(bound) < bound / 2).count();
        assert!((4_800..5_200).contains(&low), "{low}");
    }

    #[test]
    fn unit_and_normal_have_their_moments() {
        let mut stream = Stream::new(5, 0, 0);
        let n = 100_000;
        let units: Vec<f64> = (0..n).map(|_| stream.unit()).collect();
        assert!(units.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = units.iter().sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        let normals: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let moment = |k: i32| normals.iter().map(|x| x.powi(k)).sum::<f64>() / f64::from(n);
        assert!(
            moment(1).abs() < 0.015 && (moment(2) - 1.0).abs() < 0.02,
            "{} {}",
            moment(1),
            moment(2)
        );
        assert!(
            moment(3).abs() < 0.06 && (moment(4) - 3.0).abs() < 0.15,
            "{} {}",
            moment(3),
            moment(4)
        );
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut counts: HashMap<[u8; 3], u32> = HashMap::new();
        for item in 0..6_000 {
            let mut order = [0, 1, 2];
            Stream::new(6, 0, item).shuffle(&mut order);
            *counts.entry(order).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|&c| (880..1120).contains(&c)), "{counts:?}");
    }

    #[test]
    fn samples_are_distinct_complete_and_even() {
        for (n, k) in [(0, 0), (0, 3), (1, 1), (5, 9), (10, 4), (1000, 999), (usize::MAX, 50)] {
            let mut sample = Stream::new(1, n as u64, k as u64).sample_without(n, k);
            assert!(sample.iter().all(|&i| i < n));
            sample.sort_unstable();
            sample.dedup();
            assert_eq!(sample.len(), k.min(n));
        }
        let mut counts = [0u32; 5];
        for item in 0..10_000 {
            Stream::new(2, 0, item).sample_without(5, 2).iter().for_each(|&i| counts[i] += 1);
        }
        assert!(counts.iter().all(|c| (3_800..4_200).contains(c)), "{counts:?}");
    }
}
