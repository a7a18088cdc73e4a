//! The size of the search space of a swarm.
//!
//! The paper counts the ordered choices of `r` different entries out of a table of `n` (Rao 2022,
//! equations 25 and 26): `n! / (n - r)!`, where `r` is the number of rules of a model. Equation 25
//! prints the factor `n - 1` twice; the worked examples and table 12 are right. The number
//! overflows any float, so it is kept as its logarithm.
//!
//! Note that the swarm itself may hold an entry twice in a sequence, so its true space has `n^r`
//! sequences, a little more; the published count is kept for comparison.

/// `log10(n! / (n - r)!)`, equation 26; minus infinity if `r` exceeds `n`, as there is no such
/// choice.
///
/// ```
/// use swarmwood_search::discrete_pso::size::{log10_arrangements, scientific};
/// // Three trees of depth four finished two features with 500 values each, then with 8 bins each (section 5.4).
/// assert_eq!(scientific(log10_arrangements(16, 3 * (4 - 1))), "4.15e9");
/// assert!((log10_arrangements(1000, 9) - 9.64e26f64.log10()).abs() < 1e-3);
/// ```
pub fn log10_arrangements(n: u64, r: u64) -> f64 {
    if r > n {
        return f64::NEG_INFINITY;
    }
    (n - r + 1..=n).map(|factor| (factor as f64).log10()).sum()
}

/// A number given by its logarithm, with three digits and a power of ten: `8.45e61`.
pub fn scientific(log10: f64) -> String {
    if !log10.is_finite() {
        return if log10 < 0.0 { "0".to_owned() } else { "too large".to_owned() };
    }
    let power = log10.floor();
    let hundredths = (10f64.powf(log10 - power) * 100.0).round();
    // Rounding may reach ten, which belongs to the next power.
    let (hundredths, power) =
        if hundredths >= 1000.0 { (100.0, power + 1.0) } else { (hundredths, power) };
    format!("{:.2}e{power}", hundredths / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_counts_equal_their_products() {
        for (n, r, count) in
            [(5, 0, 1.0), (5, 1, 5.0), (5, 3, 60.0), (5, 5, 120.0), (1, 1, 1.0), (0, 0, 1.0)]
        {
            assert!((log10_arrangements(n, r) - f64::log10(count)).abs() < 1e-12, "{n} {r}");
        }
        assert_eq!(log10_arrangements(5, 6), f64::NEG_INFINITY);
    }

    /// The examples of section 5.4.
    #[test]
    fn the_worked_examples_come_out() {
        let ratio = |n, r, printed: f64| 10f64.powf(log10_arrangements(n, r) - printed.log10());
        assert!((ratio(1000, 9, 9.64e26) - 1.0).abs() < 1e-3);
        assert!((ratio(16, 9, 4.15e9) - 1.0).abs() < 1e-3);
    }

    /// Table 12 from table 11 with six trees of four rules. The paper cuts some numbers and rounds
    /// others, so a printed mantissa may be off by one unit of its last digit.
    #[test]
    fn table_12_follows_from_table_11() {
        let sizes: [u64; 21] = [
            4082, 392, 61, 1384, 831, 128, 15044, 896, 158, 469488, 2356, 181, 24768, 1054, 73,
            555, 148, 145, 1385, 828, 141,
        ];
        let printed = [
            (4.2, 86),
            (8.4, 61),
            (3.7, 40),
            (2.0, 75),
            (8.4, 69),
            (3.7, 49),
            (1.8, 100),
            (5.3, 70),
            (9.3, 51),
            (1.3, 136),
            (7.6, 80),
            (3.1, 53),
            (2.8, 105),
            (2.7, 72),
            (7.3, 42),
            (4.4, 65),
            (1.7, 51),
            (9.9, 50),
            (2.0, 75),
            (7.7, 69),
            (4.8, 50),
        ];
        for (n, (mantissa, power)) in sizes.into_iter().zip(printed) {
            let got = 10f64.powf(log10_arrangements(n, 24) - f64::from(power));
            assert!(
                (got - mantissa).abs() < 0.1,
                "n = {n}: {got}e{power} and not {mantissa}e{power}"
            );
        }
    }

    #[test]
    fn numbers_read_well() {
        for (log10, text) in
            [(0.0, "1.00e0"), (2.0, "1.00e2"), (9.6182, "4.15e9"), (2.99999, "1.00e3")]
        {
            assert_eq!(scientific(log10), text);
        }
        assert_eq!(scientific(-0.301), "5.00e-1");
        assert_eq!(scientific(f64::NEG_INFINITY), "0");
    }
}
