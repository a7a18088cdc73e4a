//! Progress of tuning: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swarmwood::tune::{StudyMetric, StudyUpdate, TuneEvent};

use crate::console::Console;
use crate::format::{count, number};

/// Plain lines go to log files: at most one in this time.
const BETWEEN_LINES: Duration = Duration::from_secs(2);

/// Shows the trials of a search.
pub(super) struct TrialProgress {
    console: Console,
    metric: StudyMetric,
    bar: Option<ProgressBar>,
    printed_at: Instant,
}

impl TrialProgress {
    /// Chooses between the bar and plain lines.
    pub(super) fn new(console: Console, metric: StudyMetric) -> Self {
        let bar = (!console.quiet && stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style =
                ProgressStyle::with_template("{bar:30} {pos}/{len} trials, {eta} left  {wide_msg}");
            // An invalid template falls back to the plain bar: it is no reason to stop.
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        TrialProgress { console, metric, bar, printed_at: Instant::now() }
    }

    /// Shows the state of the search.
    pub(super) fn show(&mut self, event: &TuneEvent<'_>) {
        if matches!(event.update, StudyUpdate::Tick) {
            return;
        }
        let (tally, trials) = (event.progress.tally, event.progress.trials);
        let best = tally.best.map(|(id, loss)| {
            format!("best {} {} (trial {id})", self.metric.name, number(self.metric.value(loss)))
        });
        // A program has one evaluation per trial, which pruning cannot skip.
        let fits = (tally.folds > tally.finished)
            .then(|| format!("{}, {} skipped", count(tally.folds, "fit"), tally.folds_skipped));
        let failed = (tally.failed > 0).then(|| format!("{} failed", tally.failed));
        let state = [best, fits, failed].into_iter().flatten().collect::<Vec<_>>().join(", ");

        if let Some(bar) = &self.bar {
            bar.set_length(trials as u64);
            bar.set_position(tally.finished as u64);
            bar.set_message(state);
            return;
        }

        if self.printed_at.elapsed() >= BETWEEN_LINES {
            self.console.line(&format!("trial {}/{trials}: {state}", tally.finished));
            self.printed_at = Instant::now();
        }
    }

    /// Removes the bar.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
