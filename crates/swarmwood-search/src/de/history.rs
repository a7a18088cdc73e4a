//! Scale factors and crossover rates that succeeded, as the source of new ones.
//!
//! Tanabe and Fukunaga, "Success-history based parameter adaptation for differential evolution",
//! CEC 2013 (SHADE), sections III-A and III-B: a memory of a few pairs of means. A trial draws a
//! slot, and from its means a crossover rate (normal, deviation 0.1) and a scale factor (Cauchy,
//! scale 0.1). After each generation the pairs that made a better member, weighted by how much
//! better, give the next slot its means: the arithmetic one of the rates, and the Lehmer mean of
//! the factors, which favours large steps.
//!
//! Deviation: gains are scaled by the largest of the generation before they are summed, so that no
//! losses overflow.

use crate::error::Error;
use crate::rng::Stream;
use crate::snapshot::{Datum, damaged};

/// Slots of the memory. The paper uses as many as members; six learn faster in short runs (Tanabe
/// and Fukunaga 2014).
const SLOTS: usize = 6;
const SCALE: f64 = 0.1;

/// The scale factor F and the crossover rate CR of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) factor: f64,
    pub(super) rate: f64,
}

/// Means of successful pairs, slot by slot.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct History {
    slots: Vec<Pair>,
    /// Which slot is written next.
    next: usize,
}

impl History {
    pub(super) fn new() -> Self {
        History { slots: vec![Pair { factor: 0.5, rate: 0.5 }; SLOTS], next: 0 }
    }

    /// A pair around the means of a random slot.
    pub(super) fn draw(&self, stream: &mut Stream) -> Pair {
        let slot = self.slots[stream.below(SLOTS as u64) as usize];
        let rate = (slot.rate + SCALE * stream.normal()).clamp(0.0, 1.0);
        // A Cauchy number is the tangent of an even angle. Factors at or below zero are drawn
        // again.
        let mut cauchy =
            || slot.factor + SCALE * (std::f64::consts::PI * (stream.unit() - 0.5)).tan();
        let factor =
            (0..100).map(|_| cauchy()).find(|factor| *factor > 0.0).unwrap_or(slot.factor).min(1.0);
        Pair { factor, rate }
    }

    /// Takes the pairs that made a better member, each with how much better it was.
    pub(super) fn learn(&mut self, successes: &[(Pair, f64)]) {
        let most = successes.iter().map(|(_, gain)| *gain).fold(0.0, f64::max);
        if most <= 0.0 {
            return;
        }
        let sum = |of: &dyn Fn(&Pair) -> f64| {
            successes.iter().map(|(pair, gain)| gain / most * of(pair)).sum::<f64>()
        };
        let rate = sum(&|pair| pair.rate) / sum(&|_| 1.0);
        let factor = sum(&|pair| pair.factor * pair.factor) / sum(&|pair| pair.factor);
        self.slots[self.next] = Pair { factor, rate };
        self.next = (self.next + 1) % SLOTS;
    }

    pub(super) fn save(&self) -> Datum {
        let slots: Vec<f64> = self.slots.iter().flat_map(|slot| [slot.factor, slot.rate]).collect();
        Datum::List(vec![Datum::reals(&slots), Datum::Natural(self.next as u64)])
    }

    pub(super) fn load(data: &Datum) -> Result<Self, Error> {
        let [slots, next] = data.tuple()?;
        let slots: Vec<Pair> = slots
            .to_reals(2 * SLOTS)?
            .chunks(2)
            .map(|slot| Pair { factor: slot[0], rate: slot[1] })
            .collect();
        let next = next.count()?;
        let sound = |slot: &Pair| {
            slot.factor > 0.0 && slot.factor <= 1.0 && (0.0..=1.0).contains(&slot.rate)
        };
        if next >= SLOTS || !slots.iter().all(sound) {
            return Err(damaged("means out of bounds"));
        }
        Ok(History { slots, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_by_gain() {
        let mut history = History::new();
        let (a, b) = (Pair { factor: 0.2, rate: 0.1 }, Pair { factor: 0.8, rate: 0.9 });
        history.learn(&[(a, 1.0), (b, 3.0)]);
        // Rates: (.1 + 3 · .9) / 4. Factors: (.04 + 3 · .64) / (.2 + 3 · .8).
        assert!((history.slots[0].rate - 0.7).abs() < 1e-12);
        assert!((history.slots[0].factor - 1.96 / 2.6).abs() < 1e-12);
        assert_eq!(history.slots[1], Pair { factor: 0.5, rate: 0.5 });
        history.learn(&[(a, 1e308), (a, 1e308)]);
        assert!(
            (history.slots[1].rate - 0.1).abs() < 1e-12
                && (history.slots[1].factor - 0.2).abs() < 1e-12
        );
        let before = history.clone();
        history.learn(&[]);
        assert_eq!(history, before);
        assert_eq!(History::load(&history.save()), Ok(before));
    }

    #[test]
    fn draws_lie_around_the_means() {
        let mut history = History::new();
        history.slots.fill(Pair { factor: 0.3, rate: 0.6 });
        let mut stream = Stream::new(1, 0, 0);
        let pairs: Vec<Pair> = (0..4_000).map(|_| history.draw(&mut stream)).collect();
        assert!(
            pairs
                .iter()
                .all(|p| p.factor > 0.0 && p.factor <= 1.0 && (0.0..=1.0).contains(&p.rate))
        );
        let mean = pairs.iter().map(|pair| pair.rate).sum::<f64>() / 4_000.0;
        assert!((mean - 0.6).abs() < 0.01, "{mean}");
        let mut factors: Vec<f64> = pairs.iter().map(|pair| pair.factor).collect();
        factors.sort_by(f64::total_cmp);
        assert!(
            (factors[2_000] - 0.32).abs() < 0.03,
            "the median, a little up for what was drawn again"
        );
    }
}
