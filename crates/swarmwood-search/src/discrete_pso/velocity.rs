//! The velocity of a particle whose position is a sequence of symbols, and the move it makes.
//!
//! Symbols have no differences that could be scaled and added, so a velocity is a list of operators
//! "set this dimension to that value with this probability" (Rao 2022, section 5.3, equation 24 and
//! algorithm 2, after the swap operators of Wang et al. 2003). Operators toward the particle's
//! personal best come first, then those toward the global best; both lists are made from the
//! position the particle *starts* at. Hence a dimension that agrees with the global best at the
//! start and is changed toward the personal best is not changed back.
//!
//! Deviations: the listing of algorithm 2 collects the operators of all particles before it applies
//! any, which the text contradicts; here a list belongs to one particle and one move. It compares
//! with `≤`, the text with `<`; a draw lies in `[0, 1)`, so `<` hits with exactly the weight as
//! probability.

/// One operator of a velocity: set `dimension` to `value` with probability `weight`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SwapOperator<T> {
    /// The dimension to change.
    pub(super) dimension: usize,
    /// Its new value.
    pub(super) value: T,
    /// The probability of the change.
    pub(super) weight: f64,
}

/// Equation 24: `α (personal_best - position) ⊕ β (global - position)`, without the old velocity,
/// which the last move has applied.
pub(super) fn velocity<T: Copy + PartialEq>(
    position: &[T],
    personal_best: &[T],
    global: &[T],
    alpha: f64,
    beta: f64,
) -> Vec<SwapOperator<T>> {
    let toward = |best: &[T], weight: f64| -> Vec<SwapOperator<T>> {
        let pairs = position.iter().zip(best).enumerate();
        pairs
            .filter(|(_, (current, best))| current != best)
            .map(|(dimension, (_, best))| SwapOperator { dimension, value: *best, weight })
            .collect()
    };
    let mut operators = toward(personal_best, alpha);
    operators.extend(toward(global, beta));
    operators
}

/// Applies the operators in their order; `random` returns one number in `[0, 1)` per operator.
pub(super) fn apply<T: Copy>(
    position: &mut [T],
    operators: &[SwapOperator<T>],
    mut random: impl FnMut() -> f64,
) {
    for operator in operators {
        let hit = random() < operator.weight;
        if let Some(value) = position.get_mut(operator.dimension).filter(|_| hit) {
            *value = operator.value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    const POSITION: [u64; 6] = [2, 5, 19, 8, 7, 1];
    const OWN: [u64; 6] = [3, 56, 18, 8, 0, 3];
    const GLOBAL: [u64; 6] = [4, 8, 10, 87, 4, 5];

    /// The worked example of section 5.3.
    #[test]
    fn the_published_example_comes_out() {
        let (alpha, beta) = (0.45, 0.55);
        let operators = velocity(&POSITION, &OWN, &GLOBAL, alpha, beta);
        let expected = [
            (0, 3, alpha),
            (1, 56, alpha),
            (2, 18, alpha),
            (4, 0, alpha),
            (5, 3, alpha),
            (0, 4, beta),
            (1, 8, beta),
            (2, 10, beta),
            (3, 87, beta),
            (4, 4, beta),
            (5, 5, beta),
        ];
        let got: Vec<(usize, u64, f64)> =
            operators.iter().map(|op| (op.dimension, op.value, op.weight)).collect();
        assert_eq!(got, expected);

        let mut moved = POSITION;
        apply(&mut moved, &operators[..1], || 0.1);
        assert_eq!(moved, [3, 5, 19, 8, 7, 1]);
    }

    #[test]
    fn certain_operators_reach_the_personal_best() {
        let (mut position, personal_best, global) = ([2, 5, 19], [3, 5, 18], [2, 8, 10]);
        let operators = velocity(&position, &personal_best, &global, 1.0, 0.0);
        // Dimensions 0 and 2 toward the personal best, 1 and 2 toward the global best.
        assert_eq!(operators.len(), 4);
        apply(&mut position, &operators, || 0.5);
        assert_eq!(position, [3, 5, 18]);
    }

    #[test]
    fn certain_weights_reach_the_bests_and_zero_weights_nothing() {
        let end = |alpha, beta| {
            let mut moved = POSITION;
            let mut stream = Stream::new(1, 2, 3);
            apply(&mut moved, &velocity(&POSITION, &OWN, &GLOBAL, alpha, beta), || stream.unit());
            moved
        };
        assert_eq!(end(0.0, 0.0), POSITION);
        assert_eq!(end(1.0, 0.0), OWN);
        assert_eq!(end(0.0, 1.0), GLOBAL);
        assert_eq!(end(1.0, 1.0), GLOBAL, "operators toward the global best are applied last");
    }

    /// A version that compares with the position as it changes would go back to the global best
    /// here.
    #[test]
    fn the_global_best_counts_from_the_starting_position() {
        let (start, personal_best, global) = ([7, 1], [9, 1], [7, 2]);
        let mut moved = start;
        apply(&mut moved, &velocity(&start, &personal_best, &global, 1.0, 1.0), || 0.0);
        assert_eq!(moved, [9, 2]);
    }

    #[test]
    fn operators_hit_as_often_as_their_weight_says() {
        let (alpha, beta) = (0.3, 0.6);
        let (mut personal_best, mut global) = (0, 0);
        for item in 0..10_000 {
            let mut stream = Stream::new(8, 0, item);
            let mut moved = [0];
            apply(&mut moved, &velocity(&[0], &[1], &[2], alpha, beta), || stream.unit());
            personal_best += i32::from(moved == [1]);
            global += i32::from(moved == [2]);
        }
        // Toward the personal best and not overwritten: .3 · .4; toward the global best: .6.
        assert!(
            (1_080..1_320).contains(&personal_best) && (5_850..6_150).contains(&global),
            "{personal_best} {global}"
        );
    }
}
