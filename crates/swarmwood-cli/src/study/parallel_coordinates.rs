//! Parallel coordinates: one vertical axis per parameter, and one line per trial across them;
//! better trials are darker.

use std::fmt::Write;

use swarmwood::search::PointValue;
use swarmwood::tune::{StudyRecord, TrialRecord};

use super::axis::ParameterAxis;
use super::slices::metric_range;
use super::table::metric_value;
use super::title;
use crate::chart::{self, MARGIN, ORANGE, TITLE, WIDTH, escape};

const HEIGHT: f64 = 380.0;
/// Space for the outermost labels.
const SIDE: f64 = 60.0;
const TOP: f64 = 34.0;
/// Height below the axes, where lines of trials without a value pass.
const BELOW: f64 = 26.0;

/// The chart as an SVG document.
pub(super) fn draw(study: &StudyRecord) -> String {
    chart::page(&title(study), &body(study), MARGIN + TITLE + HEIGHT + MARGIN)
}

/// The chart as SVG elements without a title, and its size.
pub(crate) fn chart(study: &StudyRecord) -> (String, (f64, f64)) {
    let body = format!("<g transform='translate(0 -{TITLE})'>\n{}</g>\n", body(study));
    (body, (WIDTH, MARGIN + HEIGHT + MARGIN))
}

fn body(study: &StudyRecord) -> String {
    let mut body = String::new();
    // Writing to a String cannot fail.
    let _ = lines(&mut body, study);
    let _ = axes(&mut body, study);
    body
}

fn top() -> f64 {
    MARGIN + TITLE + TOP
}

fn bottom() -> f64 {
    MARGIN + TITLE + HEIGHT - BELOW - 10.0
}

/// The position of an axis; the last one is that of the metric.
fn x(study: &StudyRecord, axis: usize) -> f64 {
    let gaps = study.header.space.len().max(1) as f64;
    MARGIN + SIDE + (WIDTH - 2.0 * (MARGIN + SIDE)) * axis as f64 / gaps
}

fn y(share: f64) -> f64 {
    bottom() - share * (bottom() - top())
}

/// The height of a value of the metric: better is higher.
fn height(study: &StudyRecord, metric: f64) -> f64 {
    let (low, high) = metric_range(study);
    let share = ((metric - low) / (high - low)).clamp(0.0, 1.0);
    if study.header.task.metric.from.is_some() { share } else { 1.0 - share }
}

fn lines(svg: &mut String, study: &StudyRecord) -> std::fmt::Result {
    let mut trials: Vec<(&TrialRecord, f64)> = study
        .trials
        .iter()
        .filter_map(|trial| Some((trial, height(study, metric_value(&study.header, trial)?))))
        .collect();

    // Better trials are drawn over the others, the best one last.
    let best = study.best().map(|best| best.id);
    trials.sort_by(|a, b| {
        (Some(a.0.id) == best).cmp(&(Some(b.0.id) == best)).then(a.1.total_cmp(&b.1))
    });

    for (trial, share) in trials {
        let mut points = String::new();
        for parameter in 0..study.header.space.len() {
            let value = trial.point.0.get(parameter).copied().unwrap_or(PointValue::Absent);
            let position = ParameterAxis::new(&study.header.space, parameter).position(value);
            write!(
                points,
                "{:.1},{:.1} ",
                x(study, parameter),
                position.map_or(bottom() + BELOW, y)
            )?;
        }
        write!(points, "{:.1},{:.1}", x(study, study.header.space.len()), y(share))?;
        let (colour, wide, opacity) = match Some(trial.id) == best {
            true => (ORANGE.to_string(), 2.4, 1.0),
            false => (shade(share), 1.0, 0.25 + 0.5 * share),
        };
        writeln!(
            svg,
            "<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='{wide}' \
             stroke-opacity='{opacity:.2}'/>"
        )?;
    }

    Ok(())
}

/// From light grey to blue.
fn shade(share: f64) -> String {
    let mix = |from: f64, to: f64| (from + share * (to - from)) as u8;
    format!("#{:02x}{:02x}{:02x}", mix(200.0, 31.0), mix(200.0, 111.0), mix(205.0, 178.0))
}

fn axes(svg: &mut String, study: &StudyRecord) -> std::fmt::Result {
    let space = &study.header.space;
    for parameter in 0..=space.len() {
        let (x, from, to) = (x(study, parameter), top(), bottom());
        writeln!(svg, "<line x1='{x:.1}' y1='{from:.1}' x2='{x:.1}' y2='{to:.1}' stroke='#555'/>")?;
        let (name, ticks) = match parameter < space.len() {
            true => {
                let axis = ParameterAxis::new(space, parameter);
                (axis.name().to_string(), axis.ticks())
            }
            false => (study.header.task.metric.name.clone(), metric_ticks(study)),
        };
        // Every other name is higher, so that long names do not overlap.
        let above = top() - 12.0 - if parameter % 2 == 1 { 14.0 } else { 0.0 };
        writeln!(
            svg,
            "<text x='{x:.1}' y='{above:.1}' text-anchor='middle'>{}</text>",
            escape(&name)
        )?;
        for (share, label) in ticks {
            let (y, left) = (y(share), x - 4.0);
            writeln!(
                svg,
                "<line x1='{left:.1}' y1='{y:.1}' x2='{x:.1}' y2='{y:.1}' stroke='#555'/>"
            )?;
            // A white outline keeps the label readable on the lines.
            writeln!(
                svg,
                "<text x='{:.1}' y='{:.1}' text-anchor='end' font-size='10' stroke='white' stroke-width='3' \
                 paint-order='stroke'>{}</text>",
                x - 6.0,
                y + 3.5,
                escape(&label)
            )?;
        }
    }

    let conditional = space.params().iter().any(|param| param.condition.is_some());
    let (left, low) = (MARGIN + 4.0, bottom() + BELOW + 4.0);

    if conditional {
        writeln!(
            svg,
            "<text x='{left:.1}' y='{low:.1}' font-size='10' fill='#777'>no value</text>"
        )?;
    }

    Ok(())
}

fn metric_ticks(study: &StudyRecord) -> Vec<(f64, String)> {
    let range = metric_range(study);
    chart::ticks(range)
        .into_iter()
        .map(|tick| (height(study, tick), chart::tick_label(tick, range)))
        .collect()
}
