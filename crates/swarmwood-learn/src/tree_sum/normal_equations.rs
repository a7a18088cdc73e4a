//! Symmetric positive definite systems of a few dozen unknowns.

/// A symmetric matrix, row by row; only the upper triangle is read.
#[derive(Debug, Clone, Default)]
pub(super) struct NormalMatrix {
    size: usize,
    entries: Vec<f64>,
}

impl NormalMatrix {
    /// A matrix of zeros.
    pub(super) fn zeros(size: usize) -> Self {
        NormalMatrix { size, entries: vec![0.0; size * size] }
    }

    /// Number of rows.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The entry of two unknowns, in any order.
    #[inline]
    pub(super) fn entry(&mut self, one: usize, other: usize) -> &mut f64 {
        &mut self.entries[one.min(other) * self.size + one.max(other)]
    }

    /// The same matrix with more rows of zeros.
    pub(super) fn extended(&self, more: usize) -> Self {
        let mut larger = NormalMatrix::zeros(self.size + more);
        for row in 0..self.size {
            let from = &self.entries[row * self.size..][row..self.size];
            larger.entries[row * larger.size..][row..self.size].copy_from_slice(from);
        }
        larger
    }

    /// Replaces the matrix by its Cholesky factor.
    pub(super) fn factor(mut self) -> CholeskyFactor {
        let size = self.size;
        for row in 0..size {
            let (until_row, below) = self.entries.split_at_mut((row + 1) * size);
            let own = &mut until_row[row * size..][row..];
            // Rounding may leave nothing of an unknown that others determine.
            own[0] = own[0].max(1e-12).sqrt();
            let pivot = own[0];
            own[1..].iter_mut().for_each(|entry| *entry /= pivot);

            // Rows below lose their part in this one: updates of whole rows, which vectorise.
            let own = &own[1..];
            for (at, other) in below.chunks_exact_mut(size).enumerate() {
                let factor = own[at];
                let other = &mut other[row + 1 + at..];
                other.iter_mut().zip(&own[at..]).for_each(|(entry, own)| *entry -= factor * own);
            }
        }
        CholeskyFactor(self)
    }
}

/// An upper triangular matrix whose transpose times itself is the matrix of a system.
pub(super) struct CholeskyFactor(NormalMatrix);

impl CholeskyFactor {
    /// Solves the system of the transpose; the squared length of the result is `b A⁻¹ b`.
    pub(super) fn forward(&self, right: &mut [f64]) {
        let NormalMatrix { size, entries } = &self.0;
        for row in 0..*size {
            let own = &entries[row * size..][row..*size];
            let value = right[row] / own[0];
            right[row] = value;
            let below = right[row + 1..].iter_mut().zip(&own[1..]);
            below.for_each(|(other, entry)| *other -= entry * value);
        }
    }

    /// Solves the system.
    pub(super) fn solve(&self, right: &mut [f64]) {
        self.forward(right);
        let NormalMatrix { size, entries } = &self.0;
        for row in (0..*size).rev() {
            let own = &entries[row * size..][row..*size];
            let known: f64 = own[1..].iter().zip(&right[row + 1..]).map(|(a, b)| a * b).sum();
            right[row] = (right[row] - known) / own[0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_fulfils_its_system() {
        let size = 7;
        let basis = |row: usize, column: usize| ((row * 5 + column * 3) % 11) as f64 - 5.0;
        let mut matrix = NormalMatrix::zeros(size);
        for row in 0..size {
            for column in 0..=row {
                let product: f64 = (0..size).map(|k| basis(row, k) * basis(column, k)).sum();
                *matrix.entry(row, column) += product + f64::from(u8::from(row == column));
            }
        }
        let wanted: Vec<f64> = (0..size).map(|row| row as f64 - 2.5).collect();
        let right: Vec<f64> = (0..size)
            .map(|row| (0..size).map(|column| *matrix.entry(row, column) * wanted[column]).sum())
            .collect();

        let mut solved = right.clone();
        let factor = matrix.clone().factor();
        factor.solve(&mut solved);
        for (found, wanted) in solved.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        }

        let mut forward = right.clone();
        factor.forward(&mut forward);
        let length: f64 = forward.iter().map(|value| value * value).sum();
        let product: f64 = right.iter().zip(&wanted).map(|(b, x)| b * x).sum();
        assert!((length - product).abs() < 1e-9 * product.abs());
    }
}
