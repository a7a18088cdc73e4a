//! Eigenvalues and eigenvectors of a symmetric matrix by Jacobi's rotations.
//!
//! Each rotation turns two axes so that the entry between them becomes zero; sweeps over all pairs
//! converge quadratically (Golub and Van Loan, "Matrix computations", section 8.5, cyclic by rows).
//! Slower than tridiagonal methods beyond some thirty dimensions, but short, exact to the last
//! digits for small eigenvalues too, and without a dependency.

/// Sweeps needed are six to ten; a matrix that needs more holds values that are not numbers.
const SWEEPS: usize = 40;

/// The eigenvalues of the symmetric matrix `a` (row by row, n²) and the eigenvectors, as columns.
pub(super) fn decompose(a: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = a.to_vec();
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    for _ in 0..SWEEPS {
        let off: f64 = (0..n)
            .flat_map(|p| (p + 1..n).map(move |q| (p, q)))
            .map(|(p, q)| a[p * n + q].abs())
            .sum();
        let diagonal: f64 = (0..n).map(|i| a[i * n + i].abs()).sum();
        if off.is_nan() || off <= f64::EPSILON * 1e-3 * diagonal {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut vectors, n, p, q);
            }
        }
    }
    ((0..n).map(|i| a[i * n + i]).collect(), vectors)
}

/// Makes the entry `(p, q)` zero.
fn rotate(a: &mut [f64], vectors: &mut [f64], n: usize, p: usize, q: usize) {
    let between = a[p * n + q];
    if between == 0.0 {
        return;
    }
    // The smaller root of t² + 2θt - 1 = 0 is the tangent of the smaller angle.
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * between);
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for k in 0..n {
        let (kp, kq) = (a[k * n + p], a[k * n + q]);
        a[k * n + p] = cosine * kp - sine * kq;
        a[k * n + q] = sine * kp + cosine * kq;
    }
    for k in 0..n {
        let (pk, qk) = (a[p * n + k], a[q * n + k]);
        a[p * n + k] = cosine * pk - sine * qk;
        a[q * n + k] = sine * pk + cosine * qk;
    }
    (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
    for k in 0..n {
        let (kp, kq) = (vectors[k * n + p], vectors[k * n + q]);
        vectors[k * n + p] = cosine * kp - sine * kq;
        vectors[k * n + q] = sine * kp + cosine * kq;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn a_matrix_of_two_by_hand() {
        let (values, vectors) = decompose(&[2.0, 1.0, 1.0, 2.0], 2);
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        assert!((sorted[0] - 1.0).abs() < 1e-14 && (sorted[1] - 3.0).abs() < 1e-14);
        assert!((vectors[0].abs() - 0.5f64.sqrt()).abs() < 1e-14);
        assert_eq!(decompose(&[5.0], 1), (vec![5.0], vec![1.0]));
        decompose(&[f64::NAN; 9], 3); // ends
    }

    #[test]
    fn the_parts_make_the_whole_again() {
        for n in 1..15 {
            let mut stream = Stream::new(1, n as u64, 0);
            let half: Vec<f64> = (0..n * n)
                .map(|_| stream.normal() * 10f64.powi((stream.below(9) as i32) - 4))
                .collect();
            let entry =
                |i: usize, j: usize| (0..n).map(|k| half[i * n + k] * half[j * n + k]).sum::<f64>();
            let matrix: Vec<f64> = (0..n * n).map(|ij| entry(ij / n, ij % n)).collect();
            let (values, vectors) = decompose(&matrix, n);
            let scale = values.iter().copied().fold(0.0, f64::max);
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
                let again = sum(&|k| vectors[i * n + k] * values[k] * vectors[j * n + k]);
                assert!((again - matrix[i * n + j]).abs() < 1e-13 * scale, "entry {i} {j} of {n}");
                let product = sum(&|k| vectors[k * n + i] * vectors[k * n + j]);
                assert!(
                    (product - f64::from(u8::from(i == j))).abs() < 1e-13,
                    "columns {i} {j} of {n}"
                );
            }
        }
    }
}
