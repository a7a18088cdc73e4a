//! Counts and enumerates the points of a space.
//!
//! A conditional parameter depends on one choice, so the parameters form a forest. The number of
//! combinations of a parameter and its descendants is the sum over its values of the products over
//! the children that are active under that value; the number of points is the product over the
//! roots.

use super::{Domain, Space};
use crate::point::{Point, PointValue};

impl Space {
    /// The number of points; `None` if they are uncountable or more than a `u128` holds.
    pub fn size(&self) -> Option<u128> {
        product((0..self.len()).filter(|&i| self.gates[i].is_none()).map(|i| self.counts[i]))
    }

    /// The point with this number, `index < size()`; every point has exactly one number.
    pub fn nth(&self, index: u128) -> Option<Point> {
        if index >= self.size()? {
            return None;
        }
        let mut values = vec![PointValue::Absent; self.len()];
        let mut rest = index;
        for i in (0..self.len()).filter(|&i| self.gates[i].is_none()) {
            let count = self.counts[i]?;
            self.assign(i, rest % count, &mut values)?;
            rest /= count;
        }
        Some(Point(values))
    }

    /// The children of a choice that are active under a label.
    fn children(&self, parent: usize, label: usize) -> impl Iterator<Item = usize> + '_ {
        (parent + 1..self.len()).filter(move |&child| {
            self.gates[child].as_ref().is_some_and(|gate| gate.parent == parent && gate.open[label])
        })
    }

    /// Children come after their parents, so the counts are computed from the last parameter to the
    /// first.
    pub(super) fn count_all(&self) -> Vec<Option<u128>> {
        let mut counts = vec![None; self.len()];
        for (i, param) in self.params.iter().enumerate().rev() {
            counts[i] = match &param.domain {
                Domain::Choice(labels) => (0..labels.len()).try_fold(0u128, |sum, label| {
                    sum.checked_add(product(self.children(i, label).map(|child| counts[child]))?)
                }),
                other => other.values().map(u128::from),
            };
        }
        counts
    }

    /// Writes the values of parameter `i` and of its descendants.
    fn assign(&self, i: usize, mut index: u128, values: &mut [PointValue]) -> Option<()> {
        match &self.params[i].domain {
            Domain::Integer { low, .. } => values[i] = PointValue::Integer(low + index as i64),
            Domain::Real { low, .. } => values[i] = PointValue::Real(*low), // a single value, or there would be no count
            Domain::List(_) => values[i] = PointValue::Index(index as usize),
            Domain::Choice(labels) => {
                for label in 0..labels.len() {
                    let block = product(self.children(i, label).map(|child| self.counts[child]))?;
                    if index >= block {
                        index -= block;
                        continue;
                    }
                    values[i] = PointValue::Index(label);
                    for child in self.children(i, label) {
                        let count = self.counts[child]?;
                        self.assign(child, index % count, values)?;
                        index /= count;
                    }
                    break;
                }
            }
        }
        Some(())
    }
}

fn product(mut counts: impl Iterator<Item = Option<u128>>) -> Option<u128> {
    counts.try_fold(1u128, |all, count| all.checked_mul(count?))
}
