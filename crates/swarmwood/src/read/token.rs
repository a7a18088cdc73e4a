//! What a cell's text means: a missing value, a number or a word.

/// Powers of ten that a double holds exactly.
const EXACT_TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Whether a cell stands for a missing value: it is empty, `NA`, `None` or `?`, or, in any mixture
/// of upper and lower case, `nan` (with or without a sign), `null`, `n/a`, `#n/a` or `<na>`. Quotes
/// around the text make no difference.
pub(super) fn is_missing(token: &[u8]) -> bool {
    match token {
        [] | b"NA" | b"None" | b"?" => true,
        [b'n' | b'N' | b'+' | b'-' | b'#' | b'<', ..] if token.len() <= 4 => {
            [&b"nan"[..], b"-nan", b"+nan", b"null", b"n/a", b"#n/a", b"<na>"]
                .iter()
                .any(|word| token.eq_ignore_ascii_case(word))
        }
        _ => false,
    }
}

/// The number a cell holds: decimal digits with an optional sign, point and exponent, or an
/// infinity (`inf`, `infinity`, any case), which is a value like any other and lies beyond all of
/// them. Never NaN.
pub(super) fn number(token: &[u8]) -> Option<f64> {
    // One digit is the commonest cell of all: flags and small counts.
    if let [digit @ b'0'..=b'9'] = token {
        return Some(f64::from(digit - b'0'));
    }
    short_decimal(token).or_else(|| any_number(token))
}

/// Reads digits with at most one point when both the digits and the power of ten are exact doubles,
/// so that one division gives the nearest double (Clinger 1990); this is nearly every number in
/// practice.
fn short_decimal(token: &[u8]) -> Option<f64> {
    let (negative, digits) = match token {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, token),
    };
    if digits.len() > 17 {
        return None;
    }
    let mut mantissa = 0_u64;
    let mut point = None;
    for (at, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            mantissa = mantissa * 10 + u64::from(digit);
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let decimals = point.map_or(0, |at| digits.len() - 1 - at);
    let has_digits = digits.len() > usize::from(point.is_some());
    if !has_digits || mantissa > 1 << 53 {
        return None;
    }
    let value = mantissa as f64 / EXACT_TENS[decimals];
    Some(if negative { -value } else { value })
}

fn any_number(token: &[u8]) -> Option<f64> {
    // Words fail here by their first byte, without the cost of a real attempt.
    if !matches!(token.first()?, b'0'..=b'9' | b'+' | b'-' | b'.' | b'i' | b'I') {
        return None;
    }
    let value: f64 = std::str::from_utf8(token).ok()?.parse().ok()?;
    if value.is_nan() { None } else { Some(value) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn knows_the_missing_tokens_and_nothing_else() {
        for token in [
            "", "NA", "NaN", "nan", "-nan", "null", "NULL", "None", "n/a", "N/A", "#N/A", "<NA>",
            "?",
        ] {
            assert!(is_missing(token.as_bytes()), "{token}");
        }
        for token in ["-", "none", "na", "no", "0", ".", "nana", "Nancy", "null0", "#", "??"] {
            assert!(!is_missing(token.as_bytes()), "{token}");
        }
    }

    #[test]
    fn reads_numbers_and_refuses_words() {
        for (token, value) in [
            ("0", 0.0),
            ("-1.5", -1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("+2", 2.0),
            ("1e3", 1000.0),
            ("9007199254740993", 9007199254740992.0),
        ] {
            assert_eq!(number(token.as_bytes()), Some(value), "{token}");
        }
        assert_eq!(number(b"-Inf"), Some(f64::NEG_INFINITY));
        for token in [
            "", ".", "-", "1,5", "1 2", "0x10", "1_000", "12abc", "nan", "+nan", "1.2.3", "\u{661}",
        ] {
            assert_eq!(number(token.as_bytes()), None, "{token}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_parser(value in any::<f64>().prop_filter("a number", |v| !v.is_nan())) {
            for token in [format!("{value}"), format!("{value:e}")] {
                prop_assert_eq!(number(token.as_bytes()).map(f64::to_bits), Some(value.to_bits()));
            }
        }

        #[test]
        fn agrees_on_short_decimals(token in "-?[0-9]{1,12}(\\.[0-9]{0,12})?") {
            prop_assert_eq!(number(token.as_bytes()).map(f64::to_bits), token.parse::<f64>().ok().map(f64::to_bits));
        }
    }
}
