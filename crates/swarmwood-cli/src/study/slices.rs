//! Slice plots: one panel per parameter, the metric against its values.

use std::fmt::Write;

use swarmwood::search::PointValue;
use swarmwood::tune::{StudyRecord, TrialOutcome, TrialRecord};

use super::axis::ParameterAxis;
use super::table::metric_value;
use super::title;
use crate::chart::{self, BLUE, GREY, MARGIN, ORANGE, TITLE, WIDTH, escape};

/// Panels per row.
const COLUMNS: usize = 3;
const HEIGHT: f64 = 230.0;
/// Space around the plot area of a panel.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;

/// All panels as an SVG document.
pub(super) fn draw(study: &StudyRecord) -> String {
    let space = &study.header.space;
    let width = (WIDTH - 2.0 * MARGIN) / COLUMNS as f64;
    let range = metric_range(study);
    let mut body = String::new();

    for at in 0..space.len() {
        let left = MARGIN + width * (at % COLUMNS) as f64;
        let top = MARGIN + TITLE + HEIGHT * (at / COLUMNS) as f64;
        let labelled = at.is_multiple_of(COLUMNS);
        let panel = SlicePanel {
            left: left + LEFT,
            top: top + TOP,
            width: width - LEFT - RIGHT,
            range,
            labelled,
        };
        // Writing to a String cannot fail.
        let _ = panel.draw(&mut body, study, at);
    }

    let rows = space.len().div_ceil(COLUMNS).max(1);
    chart::page(&title(study), &body, MARGIN + TITLE + HEIGHT * rows as f64 + MARGIN)
}

/// The panel of one parameter as SVG elements, and its height.
pub(crate) fn panel(study: &StudyRecord, parameter: usize, width: f64) -> (String, f64) {
    let range = metric_range(study);
    let panel =
        SlicePanel { left: LEFT, top: TOP, width: width - LEFT - RIGHT, range, labelled: true };
    let mut body = String::new();
    // Writing to a String cannot fail.
    let _ = panel.draw(&mut body, study, parameter);
    (body, HEIGHT)
}

/// The range of the metric over all trials, without the worst tenth if that is far off.
pub(super) fn metric_range(study: &StudyRecord) -> (f64, f64) {
    let mut losses: Vec<f64> = study
        .trials
        .iter()
        .filter_map(|trial| trial.outcome.as_ref().and_then(TrialOutcome::loss))
        .collect();

    losses.sort_by(f64::total_cmp);
    let (Some(&best), Some(&worst)) = (losses.first(), losses.last()) else { return (0.0, 1.0) };
    let most = losses[(losses.len() - 1) * 9 / 10];
    let limit = if worst - best > 2.0 * (most - best) && most > best {
        best + 1.3 * (most - best)
    } else {
        worst
    };

    let metric = |loss: f64| study.header.task.metric.value(loss);
    let (a, b) = (metric(best), metric(limit));
    let padding = if a == b { a.abs().max(1.0) * 0.05 } else { (a - b).abs() * 0.05 };
    (a.min(b) - padding, a.max(b) + padding)
}

struct SlicePanel {
    left: f64,
    top: f64,
    width: f64,
    range: (f64, f64),
    /// Whether the vertical axis has a label.
    labelled: bool,
}

impl SlicePanel {
    fn bottom(&self) -> f64 {
        self.top + HEIGHT - TOP - BOTTOM
    }

    fn y(&self, metric: f64) -> f64 {
        let (low, high) = self.range;
        let fraction = ((metric - low) / (high - low)).clamp(0.0, 1.0);
        self.bottom() - fraction * (self.bottom() - self.top)
    }

    fn draw(&self, svg: &mut String, study: &StudyRecord, parameter: usize) -> std::fmt::Result {
        let axis = ParameterAxis::new(&study.header.space, parameter);
        self.frame(svg, &axis, self.labelled.then_some(&study.header.task.metric.name))?;
        let best = study.best().map(|best| best.id);
        let (first, last): (Vec<&TrialRecord>, Vec<&TrialRecord>) =
            study.trials.iter().partition(|trial| Some(trial.id) != best);

        for trial in first.into_iter().chain(last) {
            let value = trial.point.0.get(parameter).copied().unwrap_or(PointValue::Absent);
            let (Some(position), Some(metric)) =
                (axis.position(value), metric_value(&study.header, trial))
            else {
                continue;
            };
            let (x, y) = (self.left + position * self.width, self.y(metric));
            let (colour, radius, opacity) =
                match (Some(trial.id) == best, trial.complete_loss().is_some()) {
                    (true, _) => (ORANGE, 4.5, 1.0),
                    (false, true) => (BLUE, 3.0, 0.5),
                    (false, false) => (GREY, 2.2, 0.5),
                };
            writeln!(
                svg,
                "<circle cx='{x:.1}' cy='{y:.1}' r='{radius}' fill='{colour}' fill-opacity='{opacity}'/>"
            )?;
        }

        Ok(())
    }

    fn frame(
        &self,
        svg: &mut String,
        axis: &ParameterAxis<'_>,
        metric: Option<&String>,
    ) -> std::fmt::Result {
        let (left, top, bottom, right) =
            (self.left, self.top, self.bottom(), self.left + self.width);
        for tick in chart::ticks(self.range) {
            let y = self.y(tick);
            writeln!(
                svg,
                "<line x1='{left:.1}' y1='{y:.1}' x2='{right:.1}' y2='{y:.1}' stroke='#e4e4e4'/>"
            )?;
            let label = chart::tick_label(tick, self.range);
            let (x, y) = (left - 6.0, y + 4.0);
            writeln!(
                svg,
                "<text x='{x:.1}' y='{y:.1}' text-anchor='end' font-size='10'>{label}</text>"
            )?;
        }

        let mut free = f64::NEG_INFINITY;

        for (position, label) in axis.ticks() {
            let x = left + position * self.width;
            writeln!(
                svg,
                "<line x1='{x:.1}' y1='{bottom:.1}' x2='{x:.1}' y2='{:.1}' stroke='#888'/>",
                bottom + 4.0
            )?;
            // Labels that would overlap are left out.
            let half = 3.0 * label.chars().count() as f64;
            if x - half > free {
                let (y, label) = (bottom + 16.0, escape(&label));
                writeln!(
                    svg,
                    "<text x='{x:.1}' y='{y:.1}' text-anchor='middle' font-size='10'>{label}</text>"
                )?;
                free = x + half + 4.0;
            }
        }

        writeln!(
            svg,
            "<path d='M{left:.1} {top:.1}V{bottom:.1}H{right:.1}' fill='none' stroke='#888'/>"
        )?;

        let (middle, name) = (left + self.width / 2.0, escape(axis.name()));
        writeln!(
            svg,
            "<text x='{middle:.1}' y='{:.1}' text-anchor='middle'>{name}</text>",
            bottom + 33.0
        )?;

        if let Some(metric) = metric {
            let (x, y) = (left - 50.0, (top + bottom) / 2.0);
            let turn = format!("transform='rotate(-90 {x:.1} {y:.1})'");
            writeln!(
                svg,
                "<text x='{x:.1}' y='{y:.1}' text-anchor='middle' {turn}>{}</text>",
                escape(metric)
            )?;
        }

        Ok(())
    }
}
