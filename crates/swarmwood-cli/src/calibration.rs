//! Charts of an evaluation.
//!
//! For classifiers: the reliability diagram, in bins of equal count, above a histogram of predicted
//! probabilities. For regressors: actual against predicted values, above a histogram of residuals.

use swarmwood::learn::metric::reliability::{BINS, Reliability};
use swarmwood::model::TargetKind;

use crate::chart::{
    BLUE, Chart, ChartArea, GREY, LOW, MARGIN, ORANGE, Series, SeriesMark, TALL, TITLE, WIDTH, page,
};

/// Rows that are drawn as dots.
const DOTS: usize = 1500;

/// Bars of a histogram.
const BARS: usize = 25;

/// Residuals beyond these quantiles are left out of the histogram.
const OUTER: f64 = 0.005;

/// Label of an axis with residuals.
const RESIDUAL: &str = "residual (actual - predicted)";

/// The event whose probability a classifier predicts; `None` for regression.
pub fn predicted_event(target: &TargetKind) -> Option<String> {
    match target.classes() {
        [] => None,
        [_, positive] => Some(format!("'{positive}'")),
        _ => Some("the predicted class".to_string()),
    }
}

/// The two charts of an evaluation with their titles. `event` is the result of
/// [`predicted_event`].
pub fn charts(pairs: &Reliability, event: Option<&str>) -> [(&'static str, Chart); 2] {
    match event {
        Some(event) => [
            ("Reliability diagram", reliability_diagram(pairs, event)),
            ("Histogram of predicted probabilities", probability_histogram(pairs)),
        ],
        None => [
            ("Actual against predicted values", actual_scatter(pairs)),
            ("Histogram of residuals", residual_histogram(pairs)),
        ],
    }
}

/// Both charts as an SVG document.
pub fn draw(title: &str, pairs: &Reliability, event: Option<&str>) -> String {
    let [(_, upper), (_, lower)] = charts(pairs, event);
    let (top, width) = (MARGIN + TITLE, WIDTH - 2.0 * MARGIN);
    let middle = top + TALL * 1.3;

    let upper = upper.draw("upper", ChartArea { left: MARGIN, top, width, height: TALL * 1.3 });
    let lower = lower.draw("lower", ChartArea { left: MARGIN, top: middle, width, height: LOW });
    page(title, &[upper, lower].concat(), middle + LOW + MARGIN)
}

/// Mean predicted probability against observed frequency, per bin.
fn reliability_diagram(pairs: &Reliability, event: &str) -> Chart {
    let bins = pairs.bins(BINS);
    let intervals = bins.iter().flat_map(|bin| {
        let (low, high) = wilson_interval(bin.actual, bin.rows);
        [(bin.predicted, low), (bin.predicted, high)]
    });

    let means = bins.iter().map(|bin| (bin.predicted, bin.actual)).collect();
    let rows = bins.iter().map(|bin| bin.rows).max().unwrap_or(0);
    let bins_name = format!("{} bins of at most {rows} rows", bins.len());

    Chart {
        x_label: format!("predicted probability of {event}"),
        y_label: "observed frequency".to_string(),
        series: vec![
            Series::new("perfectly calibrated", GREY, vec![(0.0, 0.0), (1.0, 1.0)])
                .with_mark(SeriesMark::Dashed),
            Series::new("95 % interval", ORANGE, intervals.collect())
                .with_mark(SeriesMark::Segments),
            Series::new(bins_name, BLUE, means).with_mark(SeriesMark::Dots(4.5, 1.0)),
        ],
    }
}

/// The Wilson score interval of a proportion: inside [0, 1], and never of zero width.
pub fn wilson_interval(proportion: f64, rows: usize) -> (f64, f64) {
    let (n, z) = (rows.max(1) as f64, 1.96_f64);
    let middle = (proportion + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n)
        * (proportion * (1.0 - proportion) / n + z * z / (4.0 * n * n)).sqrt();
    (middle - half, middle + half)
}

/// The histogram of predicted probabilities.
fn probability_histogram(pairs: &Reliability) -> Chart {
    let predicted = pairs.some(usize::MAX).into_iter().map(|pair| pair.0);
    histogram(predicted, (0.0, 1.0), "predicted probability")
}

/// Actual against predicted values.
fn actual_scatter(pairs: &Reliability) -> Chart {
    scatter(pairs, "actual", |point| point, |x| x)
}

/// Residuals against predicted values: a good model leaves no pattern.
pub fn residual_scatter(pairs: &Reliability) -> Chart {
    let residual = |(predicted, actual): (f64, f64)| (predicted, actual - predicted);
    scatter(pairs, RESIDUAL, residual, |_| 0.0)
}

/// Rows and bins against predicted values. `transform` maps a predicted and an actual value to a
/// point, `perfect` is the value of a perfect prediction.
fn scatter(
    pairs: &Reliability,
    y_label: &str,
    transform: impl Fn((f64, f64)) -> (f64, f64),
    perfect: impl Fn(f64) -> f64,
) -> Chart {
    let bins = pairs.bins(BINS);
    let percentiles = bins.iter().flat_map(|bin| {
        [transform((bin.predicted, bin.low)), transform((bin.predicted, bin.high))]
    });
    let means: Vec<(f64, f64)> =
        bins.iter().map(|bin| transform((bin.predicted, bin.actual))).collect();
    let rows: Vec<(f64, f64)> = pairs.some(DOTS).into_iter().map(&transform).collect();

    let predicted = rows.iter().chain(&means).map(|pair| pair.0);
    let (low, high) =
        predicted.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    let means_name = format!("means of {} bins", bins.len());

    Chart {
        x_label: "predicted".to_string(),
        y_label: y_label.to_string(),
        series: vec![
            Series::new("rows", GREY, rows).with_mark(SeriesMark::Dots(1.6, 0.45)).clipped(),
            Series::new(
                "perfect prediction",
                GREY,
                vec![(low, perfect(low)), (high, perfect(high))],
            )
            .with_mark(SeriesMark::Dashed),
            Series::new("10th to 90th percentile", ORANGE, percentiles.collect())
                .with_mark(SeriesMark::Segments),
            Series::new(means_name, BLUE, means).with_mark(SeriesMark::Dots(4.5, 1.0)),
        ],
    }
}

/// The histogram of residuals.
fn residual_histogram(pairs: &Reliability) -> Chart {
    let mut errors: Vec<f64> =
        pairs.some(usize::MAX).into_iter().map(|(predicted, actual)| actual - predicted).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let at = |quantile: f64| {
        errors.get((errors.len().saturating_sub(1) as f64 * quantile).round() as usize).copied()
    };
    let (low, high) = at(OUTER).zip(at(1.0 - OUTER)).unwrap_or((0.0, 1.0));
    let (low, high) = if low < high { (low, high) } else { (low - 0.5, low + 0.5) };
    histogram(errors.into_iter(), (low, high), RESIDUAL)
}

/// A histogram with equal bins over a range.
pub fn histogram(
    values: impl Iterator<Item = f64>,
    (low, high): (f64, f64),
    x_label: &str,
) -> Chart {
    let mut counts = [0.0; BARS];
    for value in values.filter(|value| (low..=high).contains(value)) {
        let at = (value - low) / (high - low) * BARS as f64;
        counts[(at as usize).min(BARS - 1)] += 1.0;
    }

    let width = (high - low) / BARS as f64;
    let corners = counts.iter().enumerate().flat_map(|(at, &count)| {
        let left = low + at as f64 * width;
        [(left, 0.0), (left + width, count)]
    });
    let bars = Series::new("rows", BLUE, corners.collect()).with_mark(SeriesMark::Bars);
    Chart { x_label: x_label.to_string(), y_label: "rows".to_string(), series: vec![bars] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifiers_have_a_diagram_and_regressors_a_scatter() {
        let mut pairs = Reliability::default();
        (0..300).for_each(|row| pairs.add(f64::from(row) / 300.0, f64::from(row % 2), 1.0));
        let svg = draw("a & b", &pairs, Some("'yes'"));
        assert_eq!(svg.matches("<circle").count(), BINS, "{svg}");
        for part in [
            "a &amp; b",
            "predicted probability of &#39;yes&#39;",
            ">perfectly calibrated<",
            ">15 bins of at most 20 rows<",
        ] {
            assert!(svg.contains(part), "no {part} in {svg}");
        }
        let svg = draw("numbers", &pairs, None);
        assert_eq!(svg.matches("<circle").count(), 300 + BINS);
        assert!(svg.contains(">residual (actual - predicted)<") && !svg.contains("NaN"), "{svg}");
        for event in [None, Some("x")] {
            let empty = draw("nothing", &Reliability::default(), event);
            assert!(
                empty.ends_with("</svg>\n") && !empty.contains("NaN") && !empty.contains("inf"),
                "{empty}"
            );
        }
    }

    #[test]
    fn the_wilson_interval_contains_the_proportion() {
        for (rows, actual) in [(1, 1.0), (20, 0.0), (1000, 0.3)] {
            let (low, high) = wilson_interval(actual, rows);
            assert!(low > -1e-12 && high < 1.0 + 1e-12 && low < high, "{low} {high}");
            assert!((low - 1e-12..=high + 1e-12).contains(&actual));
        }
        // Wilson 1927 for 30 of 100.
        let (low, high) = wilson_interval(0.3, 100);
        assert!((low - 0.2189).abs() < 1e-3 && (high - 0.3958).abs() < 1e-3, "{low} {high}");
    }
}
