//! Figures for people, and what metrics mean.

use swarmwood::evaluate::Interval;

/// Every metric in a few words, and whether more is better.
const METRICS: &[(&str, &str, bool)] = &[
    ("accuracy", "share of rows whose class is right", true),
    ("balanced_accuracy", "mean share of right rows over the classes", true),
    ("logloss", "mean of -ln of the chance given to the true class", false),
    ("brier", "mean squared error of the chances", false),
    ("auc", "chance that a row of a class is ranked above another", true),
    ("f1", "harmonic mean of precision and recall", true),
    ("precision", "share of rows called positive that are", true),
    ("recall", "share of positive rows that are called so", true),
    ("macro_f1", "mean F1 of the classes", true),
    ("ece", "mean distance of chances from what came true", false),
    ("rmse", "root of the mean squared error", false),
    ("mae", "mean absolute error", false),
    ("r2", "share of the variance that is explained", true),
    ("medae", "median absolute error", false),
    ("mape", "mean absolute error as a share of the target", false),
    ("rmsle", "root of the mean squared error of ln(1 + y)", false),
    ("huber", "mean Huber loss", false),
    ("pinball", "mean loss of the quantile", false),
    ("poisson_deviance", "mean deviance of counts", false),
];

/// What a metric is, in a few words; nothing where it is not known.
pub fn meaning(metric: &str) -> &'static str {
    METRICS.iter().find(|(name, _, _)| *name == metric).map_or("", |(_, meaning, _)| meaning)
}

/// Whether more of a metric is better; `None` where it is not known.
pub fn more_is_better(metric: &str) -> Option<bool> {
    METRICS.iter().find(|(name, _, _)| *name == metric).map(|(_, _, more)| *more)
}

/// A number with four digits that count, no more than needed.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_string();
    }
    if value != 0.0 && !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    let whole = if value.abs() < 1.0 { 0 } else { value.abs().log10() as usize + 1 };
    // A number below a tenth begins behind zeros.
    let zeros =
        if value != 0.0 && whole == 0 { (-value.abs().log10()).floor() as usize } else { 0 };
    let text = format!("{value:.*}", (4 + zeros).saturating_sub(whole).min(7));
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    };
    if text == "-0" { "0".to_string() } else { text }
}

/// Two ends.
pub fn interval(interval: Interval) -> String {
    format!("{} to {}", figure(interval.low), figure(interval.high))
}

/// A number with its sign.
pub fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", figure(value)) } else { figure(value) }
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", 100.0 * share) } else { "–".to_string() }
}

/// A time that is easy to grasp.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.1 => format!("{:.1} ms", 1000.0 * seconds),
        seconds if seconds < 10.0 => format!("{seconds:.2} s"),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A value of a parameter: numbers with a point are shortened.
pub fn value(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) if text.contains(['.', 'e']) => figure(number),
        _ => text.to_string(),
    }
}

/// A size of memory.
pub fn bytes(bytes: f64) -> String {
    if bytes < 1e9 { format!("{:.0} MB", bytes / 1e6) } else { format!("{:.1} GB", bytes / 1e9) }
}

/// A whole number with its thousands apart, and a thing.
pub fn count(number: u64, thing: &str) -> String {
    let plural = match (number, thing) {
        (1, thing) => thing.to_string(),
        (_, "leaf") => "leaves".to_string(),
        (_, thing) => format!("{thing}s"),
    };
    format!("{} {plural}", grouped(number))
}

/// A whole number with its thousands apart.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits_that_count() {
        let figures =
            [0.0, 0.5, 0.81234, 0.012345, 12.3456, 1234.56, -2.0, 1e-7, f64::NAN, -1e-17 * 0.0];
        let texts = ["0", "0.5", "0.8123", "0.01235", "12.35", "1235", "-2", "1.000e-7", "–", "0"];
        assert_eq!(figures.map(figure), texts.map(String::from));
        assert_eq!(
            (signed(0.25), signed(-0.25), signed(0.0)),
            ("+0.25".into(), "-0.25".into(), "0".into())
        );
    }

    #[test]
    fn words_fit_numbers() {
        assert_eq!(
            (count(1, "leaf"), count(1_234_567, "leaf")),
            ("1 leaf".into(), "1,234,567 leaves".into())
        );
        assert_eq!((count(999, "row"), grouped(1000)), ("999 rows".into(), "1,000".into()));
        assert_eq!(
            [seconds(0.0042), seconds(1.234), seconds(45.2), seconds(600.0)],
            ["4.2 ms", "1.23 s", "45 s", "10 min"]
        );
        assert_eq!([value("0.20635871"), value("1"), value("leaf")], ["0.2064", "1", "leaf"]);
        assert_eq!((bytes(2.5e7), percent(0.1234)), ("25 MB".into(), "12.3 %".into()));
        assert_eq!(
            (more_is_better("auc"), more_is_better("?"), meaning("?")),
            (Some(true), None, "")
        );
    }
}
