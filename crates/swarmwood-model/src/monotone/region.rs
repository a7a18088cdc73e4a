//! Boxes of rows: what the splits on a path leave of each feature.

use crate::predict::{FeatureValue, MISSING};
use crate::tree::{LevelSet, Split, Test};

/// The rows that pass some splits: all of them, but for the features listed.
#[derive(Debug, Clone, Default)]
pub(super) struct RowRegion {
    features: Vec<(u32, Values)>,
}

/// The values of one feature in a region.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    /// Numbers in `(above, upto]`.
    Numbers { above: f64, upto: f64, missing: bool },
    /// Levels: those of `within`, or all if there is none, that are not in `without`.
    Levels { within: Option<LevelSet>, without: LevelSet, missing: bool },
}

impl Values {
    /// All numbers; rows are finite.
    pub(super) const NUMBERS: Values =
        Values::Numbers { above: f64::NEG_INFINITY, upto: f64::MAX, missing: true };

    /// All values that a split could ask about.
    pub(super) fn all(test: &Test) -> Values {
        match test {
            Test::Above(_) => Values::NUMBERS,
            Test::In(_) => {
                Values::Levels { within: None, without: LevelSet::default(), missing: true }
            }
        }
    }

    /// Whether there are values in both.
    pub(super) fn meets(&self, other: &Values) -> bool {
        match (self, other) {
            (
                Values::Numbers { above, upto, missing },
                Values::Numbers { above: least, upto: most, missing: also },
            ) => above.max(*least) < upto.min(*most) || *missing && *also,
            _ => !self.intersection(other).is_empty(None),
        }
    }

    /// Those that go to one side of a split.
    pub(super) fn side(&self, split: &Split, right: bool) -> Values {
        let keeps = split.missing_right == right;
        match (self, &split.test) {
            (Values::Numbers { above, upto, missing }, Test::Above(at)) => {
                let (above, upto) =
                    if right { (above.max(*at), *upto) } else { (*above, upto.min(*at)) };
                Values::Numbers { above, upto, missing: *missing && keeps }
            }
            (Values::Levels { within, without, missing }, Test::In(set)) => {
                let missing = *missing && keeps;
                if right {
                    let within = Some(common(within.as_ref(), set));
                    return Values::Levels { within, without: without.clone(), missing };
                }
                let without = without.iter().chain(set.iter()).collect();
                Values::Levels { within: within.clone(), without, missing }
            }
            // A feature has one kind in all splits of a valid model.
            _ => self.clone(),
        }
    }

    /// Those that are in both.
    fn intersection(&self, other: &Values) -> Values {
        match (self, other) {
            (
                Values::Numbers { above, upto, missing },
                Values::Numbers { above: least, upto: most, missing: also },
            ) => Values::Numbers {
                above: above.max(*least),
                upto: upto.min(*most),
                missing: *missing && *also,
            },
            (
                Values::Levels { within, without, missing },
                Values::Levels { within: inside, without: outside, missing: also },
            ) => Values::Levels {
                within: match inside {
                    Some(inside) => Some(common(within.as_ref(), inside)),
                    None => within.clone(),
                },
                without: without.iter().chain(outside.iter()).collect(),
                missing: *missing && *also,
            },
            _ => self.clone(),
        }
    }

    /// A level of a feature that has `count` of them; if that is unknown, there are others than
    /// those that splits name.
    fn level(&self, count: Option<u32>) -> Option<u32> {
        let Values::Levels { within, without, .. } = self else { return None };
        match (within, count) {
            (Some(within), _) => within.iter().find(|&code| !without.contains(code)),
            (None, count) => (0..count.unwrap_or(MISSING)).find(|&code| !without.contains(code)),
        }
    }

    pub(super) fn is_empty(&self, count: Option<u32>) -> bool {
        match self {
            Values::Numbers { above, upto, missing } => above >= upto && !missing,
            Values::Levels { missing, .. } => !missing && self.level(count).is_none(),
        }
    }

    /// One of the values.
    fn example(&self, count: Option<u32>) -> FeatureValue {
        match *self {
            Values::Numbers { above, upto, .. } if above >= upto => FeatureValue::Number(f64::NAN),
            Values::Numbers { above, upto, .. } => FeatureValue::Number(number_in(above, upto)),
            Values::Levels { .. } => FeatureValue::Category(self.level(count).unwrap_or(MISSING)),
        }
    }
}

/// A number in `(above, upto]`, which is not empty.
pub(super) fn number_in(above: f64, upto: f64) -> f64 {
    if upto < f64::MAX {
        return upto;
    }
    if above == f64::NEG_INFINITY {
        return 0.0;
    }
    let next = above + above.abs().max(1.0);
    if next.is_finite() { next } else { f64::MAX }
}

fn common(within: Option<&LevelSet>, set: &LevelSet) -> LevelSet {
    match within {
        None => set.clone(),
        Some(within) => within.iter().filter(|&code| set.contains(code)).collect(),
    }
}

impl RowRegion {
    /// The rows that go to one side of a split; none if there are no such rows.
    pub(super) fn side(
        &self,
        split: &Split,
        right: bool,
        levels: &[Option<u32>],
    ) -> Option<RowRegion> {
        let at = self.features.iter().position(|(feature, _)| *feature == split.feature);
        let values = match at {
            Some(at) => self.features[at].1.side(split, right),
            None => Values::all(&split.test).side(split, right),
        };
        if values.is_empty(count_of(levels, split.feature)) {
            return None;
        }

        let mut region = self.clone();
        match at {
            Some(at) => region.features[at].1 = values,
            None => region.features.push((split.feature, values)),
        }
        Some(region)
    }

    /// The rows of both; none if there are no such rows.
    pub(super) fn intersection(
        &self,
        other: &RowRegion,
        levels: &[Option<u32>],
    ) -> Option<RowRegion> {
        let mut region = self.clone();
        for (feature, values) in &other.features {
            match region.features.iter_mut().find(|(own, _)| own == feature) {
                None => region.features.push((*feature, values.clone())),
                Some((_, own)) => {
                    *own = own.intersection(values);
                    if own.is_empty(count_of(levels, *feature)) {
                        return None;
                    }
                }
            }
        }
        Some(region)
    }

    /// The numbers of a feature: above the first, up to the second.
    pub(super) fn numbers(&self, feature: u32) -> (f64, f64) {
        match self.features.iter().find(|(own, _)| *own == feature) {
            Some((_, Values::Numbers { above, upto, .. })) => (*above, *upto),
            _ => (f64::NEG_INFINITY, f64::MAX),
        }
    }

    /// The same rows with any value of a feature.
    pub(super) fn without(mut self, feature: u32) -> RowRegion {
        self.features.retain(|(own, _)| *own != feature);
        self
    }

    /// Sets the features of a row so that it is in the region.
    pub(super) fn place(&self, row: &mut [FeatureValue], levels: &[Option<u32>]) {
        for (feature, values) in &self.features {
            row[*feature as usize] = values.example(count_of(levels, *feature));
        }
    }
}

fn count_of(levels: &[Option<u32>], feature: u32) -> Option<u32> {
    levels.get(feature as usize).copied().flatten()
}
