//! The picture of an evaluation: whether predictions mean what they say.
//!
//! For classes it is the reliability diagram, in bins of equal count, above how many rows are given
//! which chance; for numbers what happened against what was predicted, above how large the errors
//! are.

use swarmwood::learn::metric::reliability::{BINS, Bin, Reliability};
use swarmwood::model::TargetKind;

use crate::chart::{
    BLUE, Chart, ChartArea, GREY, LOW, MARGIN, ORANGE, Series, SeriesMark, TALL, TITLE, WIDTH, page,
};

/// Dots of single rows.
const DOTS: usize = 1500;

/// Bars of the lower chart.
const BARS: usize = 25;

/// Errors beyond these quantiles are left out of the lower chart.
const OUTER: f64 = 0.005;

/// What the chances of a model are chances of; numbers have none.
pub fn predicted_event(target: &TargetKind) -> Option<String> {
    match target.classes() {
        [] => None,
        [_, positive] => Some(format!("'{positive}'")),
        _ => Some("the predicted class".to_string()),
    }
}

/// The two charts of an evaluation, each with what it shows. `judged` says what the chances are
/// chances of; numbers have none.
pub fn charts(pairs: &Reliability, judged: Option<&str>) -> [(&'static str, Chart); 2] {
    match judged {
        Some(judged) => [
            ("Whether predicted chances come true", diagram(pairs, judged)),
            ("How many rows are given which chance", chances(pairs)),
        ],
        None => [
            ("What happened against what was predicted", scatter(pairs)),
            ("How many rows are off by how much", errors(pairs)),
        ],
    }
}

/// The document. `judged` says what the chances are chances of; numbers have none.
pub fn draw(title: &str, pairs: &Reliability, judged: Option<&str>) -> String {
    let [(_, upper), (_, lower)] = charts(pairs, judged);
    let (top, width) = (MARGIN + TITLE, WIDTH - 2.0 * MARGIN);
    let upper = upper.draw("upper", ChartArea { left: MARGIN, top, width, height: TALL * 1.3 });
    let below = top + TALL * 1.3;
    let lower = lower.draw("lower", ChartArea { left: MARGIN, top: below, width, height: LOW });
    page(title, &[upper, lower].concat(), below + LOW + MARGIN)
}

/// Chances and how often they came true.
fn diagram(pairs: &Reliability, judged: &str) -> Chart {
    let bins = pairs.bins(BINS);
    let line = |name: &str, colour, mark, points| Series {
        name: name.to_string(),
        colour,
        points,
        whole: true,
        mark,
    };
    let sure = bins.iter().flat_map(|bin| {
        let (low, high) = interval(bin);
        [(bin.predicted, low), (bin.predicted, high)]
    });
    let means: Vec<(f64, f64)> = bins.iter().map(|bin| (bin.predicted, bin.actual)).collect();
    let rows = bins.iter().map(|bin| bin.rows).max().unwrap_or(0);
    Chart {
        x_label: format!("predicted chance of {judged}"),
        y_label: "share that came true".to_string(),
        lines: vec![
            line("perfect", GREY, SeriesMark::Dashed, vec![(0.0, 0.0), (1.0, 1.0)]),
            line("95 % interval", ORANGE, SeriesMark::Stems, sure.collect()),
            line(
                &format!("{} bins of at most {rows} rows", bins.len()),
                BLUE,
                SeriesMark::Dots(4.5, 1.0),
                means,
            ),
        ],
    }
}

/// Wilson's interval for a share: never outside 0 and 1, and of some width even where all rows
/// agree.
fn interval(bin: &Bin) -> (f64, f64) {
    let (n, z) = (bin.rows.max(1) as f64, 1.96_f64);
    let middle = (bin.actual + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n)
        * (bin.actual * (1.0 - bin.actual) / n + z * z / (4.0 * n * n)).sqrt();
    (middle - half, middle + half)
}

/// How many rows are given which chance.
fn chances(pairs: &Reliability) -> Chart {
    let predicted = pairs.some(usize::MAX).into_iter().map(|pair| pair.0);
    bars(predicted, (0.0, 1.0), "predicted chance")
}

/// What happened against what was predicted.
fn scatter(pairs: &Reliability) -> Chart {
    let bins = pairs.bins(BINS);
    let line = |name: &str, colour, whole, mark, points| Series {
        name: name.to_string(),
        colour,
        points,
        whole,
        mark,
    };
    let stems = bins.iter().flat_map(|bin| [(bin.predicted, bin.low), (bin.predicted, bin.high)]);
    let means: Vec<(f64, f64)> = bins.iter().map(|bin| (bin.predicted, bin.actual)).collect();
    let dots = pairs.some(DOTS);
    let across = dots.iter().chain(&means).map(|pair| pair.0);
    let (low, high) =
        across.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    Chart {
        x_label: "predicted".to_string(),
        y_label: "actual".to_string(),
        lines: vec![
            line("rows", GREY, false, SeriesMark::Dots(1.6, 0.45), dots),
            line("perfect", GREY, true, SeriesMark::Dashed, vec![(low, low), (high, high)]),
            line("four in five rows", ORANGE, true, SeriesMark::Stems, stems.collect()),
            line(
                &format!("means of {} bins", bins.len()),
                BLUE,
                true,
                SeriesMark::Dots(4.5, 1.0),
                means,
            ),
        ],
    }
}

/// How far off predictions are, over what was predicted: a good model leaves no pattern.
pub fn residuals(pairs: &Reliability) -> Chart {
    let off = |(predicted, actual): (f64, f64)| (predicted, actual - predicted);
    let line = |name: &str, colour, whole, mark, points| Series {
        name: name.to_string(),
        colour,
        points,
        whole,
        mark,
    };
    let bins = pairs.bins(BINS);
    let stems =
        bins.iter().flat_map(|bin| [off((bin.predicted, bin.low)), off((bin.predicted, bin.high))]);
    let means: Vec<(f64, f64)> = bins.iter().map(|bin| off((bin.predicted, bin.actual))).collect();
    let dots: Vec<(f64, f64)> = pairs.some(DOTS).into_iter().map(off).collect();
    let across = dots.iter().chain(&means).map(|pair| pair.0);
    let (low, high) =
        across.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    Chart {
        x_label: "predicted".to_string(),
        y_label: "actual less predicted".to_string(),
        lines: vec![
            line("rows", GREY, false, SeriesMark::Dots(1.6, 0.45), dots),
            line("perfect", GREY, true, SeriesMark::Dashed, vec![(low, 0.0), (high, 0.0)]),
            line("four in five rows", ORANGE, true, SeriesMark::Stems, stems.collect()),
            line("means", BLUE, true, SeriesMark::Dots(4.5, 1.0), means),
        ],
    }
}

/// How many rows are off by how much.
fn errors(pairs: &Reliability) -> Chart {
    let mut errors: Vec<f64> =
        pairs.some(usize::MAX).into_iter().map(|(predicted, actual)| actual - predicted).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        errors.get((errors.len().saturating_sub(1) as f64 * share).round() as usize).copied()
    };
    let (low, high) = at(OUTER).zip(at(1.0 - OUTER)).unwrap_or((0.0, 1.0));
    let (low, high) = if low < high { (low, high) } else { (low - 0.5, low + 0.5) };
    bars(errors.into_iter(), (low, high), "actual less predicted")
}

/// Counts values in equal parts of a range.
pub fn bars(values: impl Iterator<Item = f64>, (low, high): (f64, f64), x_label: &str) -> Chart {
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
    let points = corners.collect();
    let bars = Series {
        name: "rows".to_string(),
        colour: BLUE,
        points,
        whole: true,
        mark: SeriesMark::Bars,
    };
    Chart { x_label: x_label.to_string(), y_label: "rows".to_string(), lines: vec![bars] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_a_diagram_and_numbers_a_scatter() {
        let mut pairs = Reliability::default();
        (0..300).for_each(|row| pairs.add(f64::from(row) / 300.0, f64::from(row % 2), 1.0));
        let svg = draw("a & b", &pairs, Some("'yes'"));
        assert_eq!(svg.matches("<circle").count(), BINS, "{svg}");
        for part in [
            "a &amp; b",
            "predicted chance of &#39;yes&#39;",
            ">perfect<",
            ">15 bins of at most 20 rows<",
        ] {
            assert!(svg.contains(part), "no {part} in {svg}");
        }
        let svg = draw("numbers", &pairs, None);
        assert_eq!(svg.matches("<circle").count(), 300 + BINS);
        assert!(svg.contains(">actual less predicted<") && !svg.contains("NaN"), "{svg}");
        for judged in [None, Some("x")] {
            let empty = draw("nothing", &Reliability::default(), judged);
            assert!(
                empty.ends_with("</svg>\n") && !empty.contains("NaN") && !empty.contains("inf"),
                "{empty}"
            );
        }
    }

    #[test]
    fn the_interval_holds_the_share_and_stays_inside() {
        for (rows, actual) in [(1, 1.0), (20, 0.0), (1000, 0.3)] {
            let bin =
                Bin { rows, weight: rows as f64, predicted: 0.5, actual, low: 0.0, high: 1.0 };
            let (low, high) = interval(&bin);
            assert!(low > -1e-12 && high < 1.0 + 1e-12 && low < high, "{low} {high}");
            assert!((low - 1e-12..=high + 1e-12).contains(&actual));
        }
        // Wilson 1927 for 30 of 100.
        let (low, high) = interval(&Bin {
            rows: 100,
            weight: 100.0,
            predicted: 0.3,
            actual: 0.3,
            low: 0.0,
            high: 1.0,
        });
        assert!((low - 0.2189).abs() < 1e-3 && (high - 0.3958).abs() < 1e-3, "{low} {high}");
    }
}
