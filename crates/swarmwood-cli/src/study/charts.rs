//! The course of a study and what mattered in it.

use std::fmt::Write;

use swarmwood::tune::importance::ranked;
use swarmwood::tune::{Ending, Recorded, TrialRecord};

use super::slices::figure;
use super::title;
use crate::chart::{
    self, BLUE, Chart, ChartArea, GREY, MARGIN, ORANGE, Series, SeriesMark, TALL, TITLE, WIDTH,
    escape,
};

/// Every trial, and the best so far.
pub(super) fn best(study: &Recorded) -> String {
    let place =
        ChartArea { left: MARGIN, top: MARGIN + TITLE, width: WIDTH - 2.0 * MARGIN, height: TALL };
    chart::page(&title(study), &course(study).draw("best", place), MARGIN + TITLE + TALL + MARGIN)
}

/// The same as a chart.
pub(crate) fn course(study: &Recorded) -> Chart {
    let point = |trial: &TrialRecord| Some((trial.id as f64, figure(study, trial)?));
    let points = |raced: bool| -> Vec<(f64, f64)> {
        let kind =
            |trial: &&TrialRecord| matches!(trial.ending, Some(Ending::Raced { .. })) == raced;
        study.trials.iter().filter(kind).filter_map(point).collect()
    };
    let dots = |name: &str, colour, points, opacity| Series {
        name: name.to_string(),
        colour,
        points,
        whole: false,
        mark: SeriesMark::Dots(2.6, opacity),
    };
    let mut lines = vec![
        dots("trials", BLUE, points(false), 0.5),
        dots("given up early", GREY, points(true), 0.5),
    ];
    lines.retain(|line| !line.points.is_empty());
    let best = Series {
        name: "best so far".to_string(),
        colour: ORANGE,
        points: steps(study),
        whole: true,
        mark: SeriesMark::Line,
    };
    lines.push(best);
    Chart { x_label: "trial".to_string(), y_label: study.head.task.measure.name.clone(), lines }
}

/// The best figure so far as stairs.
fn steps(study: &Recorded) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let mut least = f64::INFINITY;
    for (trial, loss) in study.trials.iter().filter_map(|trial| Some((trial, trial.whole()?))) {
        let at = trial.id as f64;
        if loss < least {
            steps.extend(steps.last().map(|last| (at, last.1)));
            steps.push((at, study.head.task.measure.figure(loss)));
            least = loss;
        }
    }
    let end = study.trials.last().map_or(0.0, |trial| trial.id as f64);
    steps.extend(steps.last().map(|last| (end, last.1)));
    steps
}

/// A bar a parameter.
pub(super) fn importance(study: &Recorded) -> String {
    const BAR: f64 = 22.0;
    let shares = ranked(&study.head.space, &study.trials);
    let (left, right) = (190.0, WIDTH - 90.0);
    let top = MARGIN + TITLE + 26.0;
    let most = shares.iter().filter_map(|(_, share)| *share).fold(0.01, f64::max);
    let mut body = String::new();
    let words = "share of the differences between trials (ranks) that the parameter alone explains";
    // Writing to a String cannot fail.
    let _ = writeln!(
        body,
        "<text x='{left:.1}' y='{:.1}' fill='#777'>{words}</text>",
        MARGIN + TITLE + 12.0
    );
    for (at, (name, share)) in shares.iter().enumerate() {
        let y = top + (BAR + 8.0) * at as f64;
        let middle = y + BAR / 2.0 + 4.0;
        let name = escape(name);
        let _ = writeln!(
            body,
            "<text x='{:.1}' y='{middle:.1}' text-anchor='end'>{name}</text>",
            left - 8.0
        );
        let width = share.unwrap_or(0.0) / most * (right - left);
        let _ = writeln!(
            body,
            "<rect x='{left:.1}' y='{y:.1}' width='{:.1}' height='{BAR}' fill='{BLUE}' fill-opacity='0.8'/>",
            width.max(1.0)
        );
        let text =
            share.map_or("too few trials".to_string(), |share| format!("{:.1} %", 100.0 * share));
        let _ = writeln!(body, "<text x='{:.1}' y='{middle:.1}'>{text}</text>", left + width + 8.0);
    }
    chart::page(&title(study), &body, top + (BAR + 8.0) * shares.len() as f64 + MARGIN)
}
