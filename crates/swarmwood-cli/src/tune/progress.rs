//! Shows how a search goes: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swarmwood::tune::{Measure, News, TuneEvent};

use crate::console::Console;
use crate::format::{count, number};

/// Draws the trials of one search.
pub(super) struct TrialProgress {
    console: Console,
    measure: Measure,
    bar: Option<ProgressBar>,
    said_at: Instant,
    said: usize,
}

impl TrialProgress {
    /// Chooses the bar or the lines.
    pub(super) fn new(console: Console, measure: Measure) -> Self {
        let bar = (!console.quiet && stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style =
                ProgressStyle::with_template("{bar:30} {pos}/{len} trials, {eta} left  {msg}");
            // The fallback is the plain bar: a template that does not parse is no reason to stop.
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        TrialProgress { console, measure, bar, said_at: Instant::now(), said: 0 }
    }

    /// Shows how the search stands.
    pub(super) fn show(&mut self, event: &TuneEvent<'_>) {
        if matches!(event.news, News::Nothing) {
            return;
        }
        let (tally, trials) = (event.standing.tally, event.standing.trials);
        let best = tally.best.map(|(id, loss)| {
            format!("best {} {} (trial {id})", self.measure.name, number(self.measure.figure(loss)))
        });
        // A program is one piece, of which nothing can be spared.
        let fits = (tally.pieces > tally.ended)
            .then(|| format!("{}, {} spared", count(tally.pieces, "fit"), tally.spared));
        let failed = (tally.failed > 0).then(|| format!("{} failed", tally.failed));
        let state = [best, fits, failed].into_iter().flatten().collect::<Vec<_>>().join(", ");
        if let Some(bar) = &self.bar {
            bar.set_length(trials as u64);
            bar.set_position(tally.ended as u64);
            bar.set_message(state);
            return;
        }
        let tenth = |ended: usize| ended * 10 / trials.max(1);
        let due = tenth(tally.ended) > tenth(self.said)
            || self.said_at.elapsed() >= Duration::from_secs(5);
        if due {
            self.console.line(&format!("trial {}/{trials}: {state}", tally.ended));
            (self.said_at, self.said) = (Instant::now(), tally.ended);
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
