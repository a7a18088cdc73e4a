//! A weighted mean that is fed row by row.

/// The weighted mean of a quantity of rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mean {
    sum: f64,
    total: f64,
}

impl Mean {
    pub(super) fn add(&mut self, value: f64, weight: f64) {
        // A row without weight must not count even if its value is infinite.
        if weight > 0.0 {
            self.sum += weight * value;
            self.total += weight;
        }
    }

    /// The mean; `None` if nothing weighs anything.
    pub(super) fn get(self) -> Option<f64> {
        (self.total > 0.0).then(|| self.sum / self.total)
    }

    /// The plain mean of some values.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<f64> {
        let mut mean = Mean::default();
        values.for_each(|value| mean.add(value, 1.0));
        mean.get()
    }
}
