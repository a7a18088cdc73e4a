//! Progress of training: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swarmwood::learn::event::{Event, SearchStatus, Stage};

use super::time_left::{TimeLeft, duration_text};
use crate::console::Console;
use crate::format::number;

/// Plain lines go to log files: at most one in this time.
const BETWEEN_LINES: Duration = Duration::from_secs(2);

/// Positions of the bar.
const BAR_STEPS: u64 = 1000;

/// Shows the steps of a training run, stage by stage.
pub struct TrainProgress {
    console: Console,
    bar: Option<ProgressBar>,
    stage: Option<Stage>,
    printed_at: Instant,
    time_left: TimeLeft,
    train_loss: Option<f64>,
    /// Seconds and evaluations that a resumed run starts from, for the speed of its own steps.
    resumed_at: Option<(f64, u64)>,
}

impl TrainProgress {
    /// Chooses between the bar and plain lines.
    pub fn new(console: Console) -> Self {
        let bar = (!console.quiet && stderr().is_terminal()).then(progress_bar);
        TrainProgress {
            console,
            bar,
            stage: None,
            printed_at: Instant::now(),
            time_left: TimeLeft::default(),
            train_loss: None,
            resumed_at: None,
        }
    }

    /// Shows the state after a step.
    pub fn show(&mut self, event: &Event) {
        if self.stage != Some(event.stage) {
            self.stage = Some(event.stage);
            self.train_loss = None;
        }
        let left = self.time_left.update(event);
        // The training loss costs a pass over the rows and is not computed in every round; the last
        // value is close enough.
        self.train_loss = event.train.or(self.train_loss);
        if event.replayed {
            // Replayed from the checkpoint: not work of this run, so it is not printed.
            self.resumed_at = event.search.map(|search| (event.elapsed, search.evaluations));
            return;
        }

        if let Some(bar) = &self.bar {
            bar.set_position((self.time_left.done() * BAR_STEPS as f64) as u64);
            bar.set_message(self.line(event, left));
        } else if self.printed_at.elapsed() >= BETWEEN_LINES {
            self.console.line(&self.line(event, left));
            self.printed_at = Instant::now();
        }
    }

    /// What is being done, and how long the whole run will still take.
    fn line(&self, event: &Event, left: Option<f64>) -> String {
        let left = left.map(|left| format!("about {} left", duration_text(left)));
        let Event { stage, step, steps, .. } = event;
        let step = format!("{}: {} {step}/{steps}", stage.name, stage.step);
        let state = Some(self.state(event)).filter(|state| !state.is_empty());
        [left, Some(step), state].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn state(&self, event: &Event) -> String {
        let labelled =
            |name: &str, value: Option<f64>| value.map(|value| format!("{name} {}", number(value)));
        let mut parts = vec![labelled("train", self.train_loss), labelled("valid", event.valid)];
        if let Some(search) = &event.search {
            let best = search.best.filter(|_| search.best != self.train_loss);
            parts.push(labelled(&format!("best {}", search.measure), best));
            parts.push(search.gain.map(|gain| {
                let side = if gain < 0.0 { "higher" } else { "lower" };
                format!("{:.1} % {side} loss than greedy", 100.0 * gain.abs())
            }));
            parts.push(labelled("mean", search.mean));
            parts.push(self.speed(event, search));
        }
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Evaluations so far, and evaluations per second.
    fn speed(&self, event: &Event, search: &SearchStatus) -> Option<String> {
        let (since, before) = self.resumed_at.unwrap_or((0.0, 0));
        let seconds = event.elapsed - since;
        let rate = search.evaluations.saturating_sub(before) as f64 / seconds;
        (seconds > 0.0).then(|| format!("{} evaluations, {rate:.0} per second", search.evaluations))
    }
}

/// A bar of the whole run beside one line, which is cut off at the width of the terminal.
fn progress_bar() -> ProgressBar {
    let target = ProgressDrawTarget::stderr();
    let bar = ProgressBar::with_draw_target(Some(BAR_STEPS), target);
    // An invalid template falls back to the plain bar: it is no reason to stop training.
    let style = ProgressStyle::with_template("{bar:16} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style)
}
