//! Numbers as text: the one formatter of the workspace below the fronts.
//!
//! Numbers for machines ([`exact`], literals of Python and SQL) have as many digits as are
//! needed to read the same 64-bit float again. Rounded numbers for readers ([`significant`], [`short`],
//! [`percent`]) are rounded.

/// A number that reads back as the same one. Very large and very small numbers get an exponent
/// instead of a row of zeros.
///
/// ```
/// use swarmwood_model::number_format::exact;
/// assert_eq!([exact(0.1), exact(30.0), exact(1e-7)], ["0.1", "30", "1e-7"]);
/// ```
pub fn exact(value: f64) -> String {
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A number rounded to some significant digits, without trailing zeros.
///
/// ```
/// use swarmwood_model::number_format::significant;
/// assert_eq!([significant(1234.56, 6), significant(0.5, 6)], ["1234.56", "0.5"]);
/// ```
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.*e}", digits.saturating_sub(2));
    }

    let whole_digits = value.abs().log10().floor() as i64 + 1;
    let decimals = (digits as i64 - whole_digits).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// A number rounded to four significant digits.
pub fn short(value: f64) -> String {
    significant(value, 4)
}

/// A share in per cent: no decimals except close to 0 % and 100 %.
///
/// ```
/// use swarmwood_model::number_format::percent;
/// assert_eq!([percent(0.421), percent(0.004), percent(0.9999)], ["42 %", "0.4 %", "99.9 %"]);
/// ```
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = usize::from(percent > 0.0 && percent < 1.0 || percent > 99.0 && percent < 100.0);
    // A share below one must not be rounded to 100 %.
    let rounded = if percent < 100.0 { percent.min(99.9) } else { percent };
    format!("{rounded:.decimals$} %")
}

/// A number of things, with the plural where it is needed.
///
/// ```
/// use swarmwood_model::number_format::quantity;
/// assert_eq!([quantity(1, "leaf"), quantity(2, "leaf"), quantity(0, "row")], ["1 leaf", "2 leaves", "0 rows"]);
/// ```
pub fn quantity(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, noun) => format!("1 {noun}"),
        (count, "leaf") => format!("{count} leaves"),
        (count, noun) => format!("{count} {noun}s"),
    }
}

/// A literal of Python. Finite numbers always have a decimal point or an exponent, so that they are
/// read as floats.
pub(crate) fn python_literal(value: f64) -> String {
    if value.is_infinite() { format!("float(\"{value}\")") } else { format!("{value:?}") }
}

/// A literal of SQL. Infinity has no name there; a number too large for a float is read as it.
pub(crate) fn sql_literal(value: f64) -> String {
    if value.is_infinite() {
        if value > 0.0 { "9e999" } else { "-9e999" }.to_string()
    } else {
        exact(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn exact_numbers_read_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            for text in [exact(value), python_literal(value), sql_literal(value)] {
                prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{}", text);
            }
        }
    }

    #[test]
    fn significant_digits_are_kept() {
        let texts = [123456.7, 12.34567, 0.012345, 1e-7, 1e12, -0.5].map(short);
        assert_eq!(texts, ["123457", "12.35", "0.01235", "1.00e-7", "1.00e12", "-0.5"]);
        assert_eq!([f64::NAN, f64::INFINITY, 0.0].map(short), ["NaN", "inf", "0"]);
    }

    #[test]
    fn infinities_have_literals() {
        assert_eq!(python_literal(f64::INFINITY), "float(\"inf\")");
        assert_eq!(sql_literal(f64::NEG_INFINITY), "-9e999");
        assert_eq!(python_literal(2.0), "2.0");
    }
}
