//! Progress of tuning: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swarmwood::tune::{StudyMetric, StudyNews, TuneEvent};

use crate::console::Console;
use crate::format::{count, number};

/// Shows the trials of a search.
pub(super) struct TrialProgress {
    console: Console,
    measure: StudyMetric,
    bar: Option<ProgressBar>,
    printed_at: Instant,
    printed_trials: usize,
}

impl TrialProgress {
    /// Chooses between the bar and plain lines.
    pub(super) fn new(console: Console, measure: StudyMetric) -> Self {
        let bar = (!console.quiet && stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style =
                ProgressStyle::with_template("{bar:30} {pos}/{len} trials, {eta} left  {msg}");
            // An invalid template falls back to the plain bar: it is no reason to stop.
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        TrialProgress { console, measure, bar, printed_at: Instant::now(), printed_trials: 0 }
    }

    /// Shows the state of the search.
    pub(super) fn show(&mut self, event: &TuneEvent<'_>) {
        if matches!(event.news, StudyNews::Nothing) {
            return;
        }
        let (tally, trials) = (event.standing.tally, event.standing.trials);
        let best = tally.best.map(|(id, loss)| {
            format!("best {} {} (trial {id})", self.measure.name, number(self.measure.figure(loss)))
        });
        // A program has one evaluation per trial, which pruning cannot skip.
        let fits = (tally.pieces > tally.ended)
            .then(|| format!("{}, {} skipped", count(tally.pieces, "fit"), tally.spared));
        let failed = (tally.failed > 0).then(|| format!("{} failed", tally.failed));
        let state = [best, fits, failed].into_iter().flatten().collect::<Vec<_>>().join(", ");

        if let Some(bar) = &self.bar {
            bar.set_length(trials as u64);
            bar.set_position(tally.ended as u64);
            bar.set_message(state);
            return;
        }

        let tenth = |ended: usize| ended * 10 / trials.max(1);
        let due = tenth(tally.ended) > tenth(self.printed_trials)
            || self.printed_at.elapsed() >= Duration::from_secs(5);

        if due {
            self.console.line(&format!("trial {}/{trials}: {state}", tally.ended));
            (self.printed_at, self.printed_trials) = (Instant::now(), tally.ended);
        }
    }

    /// Removes the bar.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
