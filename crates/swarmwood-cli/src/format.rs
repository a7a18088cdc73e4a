//! Numbers as text: console output, chart labels and report pages share these.

/// A number of things, with the plural where it is needed.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {}", plural(number as u64, noun))
}

/// A number of things, with commas between thousands.
pub fn grouped_count(number: u64, noun: &str) -> String {
    format!("{} {}", grouped(number), plural(number, noun))
}

fn plural(number: u64, noun: &str) -> String {
    match (number, noun) {
        (1, noun) => noun.to_string(),
        (_, "leaf") => "leaves".to_string(),
        (_, noun) => format!("{noun}s"),
    }
}

/// A whole number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();

    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with up to six digits behind the point, for console output and chart labels.
pub fn number(value: f64) -> String {
    if value != 0.0 && value.is_finite() && !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.5e}");
    }

    let whole_digits = if value.abs() < 1.0 { 1 } else { value.abs().log10() as usize + 1 };
    trimmed(format!("{value:.*}", 7_usize.saturating_sub(whole_digits)))
}

/// A number with four significant digits, for tables of report pages.
pub fn rounded(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_string();
    }
    if value != 0.0 && !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.3e}");
    }

    let whole_digits = if value.abs() < 1.0 { 0 } else { value.abs().log10() as usize + 1 };
    // Zeros behind the point are no significant digits.
    let zeros =
        if value != 0.0 && whole_digits == 0 { (-value.abs().log10()).floor() as usize } else { 0 };
    let text = trimmed(format!("{value:.*}", (4 + zeros).saturating_sub(whole_digits).min(7)));
    if text == "-0" { "0".to_string() } else { text }
}

/// The text of a number without trailing zeros.
fn trimmed(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// A number with its sign.
pub fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", rounded(value)) } else { rounded(value) }
}

/// A fraction in per cent.
pub fn percent(fraction: f64) -> String {
    if fraction.is_finite() { format!("{:.1} %", 100.0 * fraction) } else { "–".to_string() }
}

/// A duration in the unit that suits it.
pub fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.1 => format!("{:.1} ms", 1000.0 * seconds),
        seconds if seconds < 10.0 => format!("{seconds:.2} s"),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A size of memory.
pub fn memory_size(bytes: f64) -> String {
    if bytes < 1e9 { format!("{:.0} MB", bytes / 1e6) } else { format!("{:.1} GB", bytes / 1e9) }
}

/// The value of a parameter; numbers with a decimal point are rounded.
pub fn parameter_value(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) if text.contains(['.', 'e']) => rounded(number),
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_up_to_six_decimals() {
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(0.123456789), "0.123457");
        assert_eq!(number(123456.789), "123456.8");
        assert_eq!(number(12345678.9), "12345679");
        assert_eq!(number(1e-7), "1.00000e-7");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(-2.0), "-2");
        assert_eq!(number(f64::NAN), "NaN");
    }

    #[test]
    fn rounded_numbers_have_four_significant_digits() {
        let numbers =
            [0.0, 0.5, 0.81234, 0.012345, 12.3456, 1234.56, -2.0, 1e-7, f64::NAN, -1e-17 * 0.0];
        let texts = ["0", "0.5", "0.8123", "0.01235", "12.35", "1235", "-2", "1.000e-7", "–", "0"];
        assert_eq!(numbers.map(rounded), texts.map(String::from));
        assert_eq!(
            (signed(0.25), signed(-0.25), signed(0.0)),
            ("+0.25".into(), "-0.25".into(), "0".into())
        );
    }

    #[test]
    fn counts_have_the_right_plural() {
        assert_eq!((count(1, "row"), count(2, "leaf")), ("1 row".into(), "2 leaves".into()));
        assert_eq!(
            (grouped_count(1, "leaf"), grouped_count(1_234_567, "leaf")),
            ("1 leaf".into(), "1,234,567 leaves".into())
        );
        assert_eq!((grouped_count(999, "row"), grouped(1000)), ("999 rows".into(), "1,000".into()));
    }

    #[test]
    fn quantities_have_units() {
        assert_eq!(
            [duration(0.0042), duration(1.234), duration(45.2), duration(600.0)],
            ["4.2 ms", "1.23 s", "45 s", "10 min"]
        );
        assert_eq!(
            [parameter_value("0.20635871"), parameter_value("1"), parameter_value("leaf")],
            ["0.2064", "1", "leaf"]
        );
        assert_eq!((memory_size(2.5e7), percent(0.1234)), ("25 MB".into(), "12.3 %".into()));
    }
}
