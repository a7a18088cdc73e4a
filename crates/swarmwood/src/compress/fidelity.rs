//! How closely a student follows its teacher.

use swarmwood_model::Link;

/// How closely a student follows its teacher on rows that it was not fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct Fidelity {
    /// Number of rows.
    pub rows: usize,
    /// Coefficient of determination of the raw scores, for all outputs together: 1 is equal, 0 is as
    /// good as the mean. `None` if the teacher's scores do not differ.
    pub r2: Option<f64>,
    /// Root mean squared difference of the raw scores.
    pub rmse: f64,
    /// The largest difference of raw scores.
    pub largest_difference: f64,
    /// Share of rows in the same class; `None` for numbers.
    pub agreement: Option<f64>,
}

impl Fidelity {
    /// Compares raw scores, row by row one per output.
    pub fn new(teacher: &[f64], student: &[f64], outputs: usize, link: Link) -> Fidelity {
        let rows = teacher.len() / outputs.max(1);
        let mut residual = 0.0;
        let mut total = 0.0;
        let mut largest_difference = 0.0_f64;
        for output in 0..outputs {
            let scores = || teacher.iter().skip(output).step_by(outputs).copied();
            let mean = scores().sum::<f64>() / rows.max(1) as f64;
            total += scores().map(|score| (score - mean).powi(2)).sum::<f64>();
        }
        for (teacher, student) in teacher.iter().zip(student) {
            residual += (teacher - student).powi(2);
            largest_difference = largest_difference.max((teacher - student).abs());
        }

        Fidelity {
            rows,
            r2: (total > 0.0).then(|| 1.0 - residual / total),
            rmse: (residual / teacher.len().max(1) as f64).sqrt(),
            largest_difference,
            agreement: agreement(teacher, student, outputs, link),
        }
    }
}

/// Share of rows whose classes are equal.
fn agreement(teacher: &[f64], student: &[f64], outputs: usize, link: Link) -> Option<f64> {
    let class = |raw: &[f64]| link.is_classification().then(|| link.class(raw));
    let (mut rows, mut equal) = (0, 0);
    for (teacher, student) in teacher.chunks_exact(outputs).zip(student.chunks_exact(outputs)) {
        rows += 1;
        equal += usize::from(class(teacher)? == class(student)?);
    }
    (rows > 0).then(|| equal as f64 / rows as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_and_the_mean_have_known_values() {
        let teacher = [1.0, 2.0, 3.0, 6.0];
        let same = Fidelity::new(&teacher, &teacher, 1, Link::Identity);
        assert_eq!((same.r2, same.rmse, same.agreement), (Some(1.0), 0.0, None));

        let mean = Fidelity::new(&teacher, &[3.0; 4], 1, Link::Identity);
        assert_eq!((mean.r2, mean.largest_difference), (Some(0.0), 3.0));
        assert_eq!(Fidelity::new(&[2.0; 3], &[1.0; 3], 1, Link::Identity).r2, None);
    }

    #[test]
    fn classes_agree_by_sign_or_by_the_largest_score() {
        let two =
            Fidelity::new(&[-1.0, 2.0, 3.0, -4.0], &[-2.0, -1.0, 1.0, -1.0], 1, Link::Sigmoid);
        assert_eq!(two.agreement, Some(0.75));

        let teacher = [0.0, 1.0, 2.0, 5.0, 1.0, 2.0];
        let student = [0.0, 0.5, 1.0, 0.0, 1.0, 2.0];
        let three = Fidelity::new(&teacher, &student, 3, Link::Softmax);
        assert_eq!((three.rows, three.agreement), (2, Some(0.5)));
    }
}
