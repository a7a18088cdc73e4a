//! The optimization history of a study, and the importance of its parameters.

use std::fmt::Write;

use swarmwood::tune::importance::ranked;
use swarmwood::tune::{StudyRecord, TrialOutcome, TrialRecord};

use super::table::metric_value;
use super::title;
use crate::chart::{
    self, BLUE, Chart, ChartArea, GREY, MARGIN, ORANGE, Series, SeriesMark, TALL, TITLE, WIDTH,
    escape,
};
use crate::format::percent;

/// The optimization history as an SVG document.
pub(super) fn draw_history(study: &StudyRecord) -> String {
    let area =
        ChartArea { left: MARGIN, top: MARGIN + TITLE, width: WIDTH - 2.0 * MARGIN, height: TALL };
    chart::page(
        &title(study),
        &history(study).draw("history", area),
        MARGIN + TITLE + TALL + MARGIN,
    )
}

/// Every trial, and the best value so far.
pub(crate) fn history(study: &StudyRecord) -> Chart {
    let point = |trial: &TrialRecord| Some((trial.id as f64, metric_value(&study.header, trial)?));
    let points = |pruned: bool| -> Vec<(f64, f64)> {
        let kind = |trial: &&TrialRecord| {
            matches!(trial.outcome, Some(TrialOutcome::Pruned { .. })) == pruned
        };
        study.trials.iter().filter(kind).filter_map(point).collect()
    };

    let dots = |name: &str, colour, points| {
        Series::new(name, colour, points).with_mark(SeriesMark::Dots(2.6, 0.5)).clipped()
    };

    let mut series = vec![
        dots("complete trials", BLUE, points(false)),
        dots("pruned trials", GREY, points(true)),
    ];

    series.retain(|one| !one.points.is_empty());
    series.push(Series::new("best so far", ORANGE, best_so_far(study)));
    Chart { x_label: "trial".to_string(), y_label: study.header.task.metric.name.clone(), series }
}

/// The best value so far as a step function.
fn best_so_far(study: &StudyRecord) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let mut least = f64::INFINITY;
    for (trial, loss) in
        study.trials.iter().filter_map(|trial| Some((trial, trial.complete_loss()?)))
    {
        let at = trial.id as f64;
        if loss < least {
            steps.extend(steps.last().map(|last| (at, last.1)));
            steps.push((at, study.header.task.metric.value(loss)));
            least = loss;
        }
    }
    let end = study.trials.last().map_or(0.0, |trial| trial.id as f64);
    steps.extend(steps.last().map(|last| (end, last.1)));
    steps
}

/// The importance of parameters as bars, as an SVG document.
pub(super) fn draw_importance(study: &StudyRecord) -> String {
    const BAR: f64 = 22.0;
    let importances = ranked(&study.header.space, &study.trials);
    let (left, right) = (190.0, WIDTH - 90.0);
    let top = MARGIN + TITLE + 26.0;
    let most = importances.iter().filter_map(|(_, importance)| *importance).fold(0.01, f64::max);
    let mut body = String::new();
    let caption = "fraction of the variance of ranks explained by each parameter alone";
    // Writing to a String cannot fail.
    let _ = writeln!(
        body,
        "<text x='{left:.1}' y='{:.1}' fill='#777'>{caption}</text>",
        MARGIN + TITLE + 12.0
    );

    for (at, (name, importance)) in importances.iter().enumerate() {
        let y = top + (BAR + 8.0) * at as f64;
        let middle = y + BAR / 2.0 + 4.0;
        let name = escape(name);
        let _ = writeln!(
            body,
            "<text x='{:.1}' y='{middle:.1}' text-anchor='end'>{name}</text>",
            left - 8.0
        );
        let width = importance.unwrap_or(0.0) / most * (right - left);
        let _ = writeln!(
            body,
            "<rect x='{left:.1}' y='{y:.1}' width='{:.1}' height='{BAR}' fill='{BLUE}' fill-opacity='0.8'/>",
            width.max(1.0)
        );
        let text = importance.map_or("too few trials".to_string(), percent);
        let _ = writeln!(body, "<text x='{:.1}' y='{middle:.1}'>{text}</text>", left + width + 8.0);
    }

    chart::page(&title(study), &body, top + (BAR + 8.0) * importances.len() as f64 + MARGIN)
}
