//! Progress of training: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swarmwood::learn::event::{Event, SearchStatus, Stage};

use crate::console::Console;
use crate::format::number;

/// Plain lines go to log files: at most one in this time.
const BETWEEN_LINES: Duration = Duration::from_secs(2);

/// Shows the steps of a training run, stage by stage.
pub struct TrainProgress {
    console: Console,
    bar: Option<ProgressBar>,
    stage: Option<Stage>,
    printed_at: Instant,
    /// Seconds of the run when the stage began.
    stage_began: f64,
    /// Seconds of the run at the last step.
    last_elapsed: f64,
    train_loss: Option<f64>,
    /// Seconds and evaluations that a resumed run starts from, for the speed of its own steps.
    resumed_at: Option<(f64, u64)>,
}

impl TrainProgress {
    /// Chooses between the bar and plain lines.
    pub fn new(console: Console) -> Self {
        let bar = (!console.quiet && stderr().is_terminal())
            .then(|| ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr()));
        TrainProgress {
            console,
            bar,
            stage: None,
            printed_at: Instant::now(),
            stage_began: 0.0,
            last_elapsed: 0.0,
            train_loss: None,
            resumed_at: None,
        }
    }

    /// Shows the state after a step.
    pub fn show(&mut self, event: &Event) {
        if self.stage != Some(event.stage) {
            self.begin(event);
        }
        self.last_elapsed = event.elapsed;
        // The training loss costs a pass over the rows and is not computed in every round; the last
        // value is close enough.
        self.train_loss = event.train.or(self.train_loss);
        if event.replayed {
            // Replayed from the checkpoint: not work of this run, so it is not printed.
            self.resumed_at = event.search.map(|search| (event.elapsed, search.evaluations));
            return;
        }

        if let Some(bar) = &self.bar {
            bar.set_position(event.step as u64);
            bar.set_message(self.state(event));
            return;
        }

        if self.printed_at.elapsed() >= BETWEEN_LINES {
            let left = self
                .remaining_seconds(event)
                .map_or(String::new(), |left| format!(", {left:.0} s left"));
            let Event { stage, step, steps, .. } = event;
            let line = format!(
                "{}: {} {step}/{steps}: {}{left}",
                stage.name,
                stage.step,
                self.state(event)
            );
            self.console.line(line.trim_end_matches(": "));
            self.printed_at = Instant::now();
        }
    }

    /// Starts a stage.
    fn begin(&mut self, event: &Event) {
        self.stage = Some(event.stage);
        self.stage_began = self.last_elapsed;
        self.train_loss = None;

        if let Some(bar) = &self.bar {
            let template = format!(
                "{{bar:30}} {{pos}}/{{len}} {}s, {{eta}} left  {{wide_msg}}",
                event.stage.step
            );
            // An invalid template falls back to the plain bar: it is no reason to stop training.
            let style = ProgressStyle::with_template(&template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style);
            bar.set_length(event.steps as u64);
            bar.reset();
        }
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

    /// Estimated seconds to the end of a search.
    fn remaining_seconds(&self, event: &Event) -> Option<f64> {
        event.search.filter(|_| event.step > 0 && event.step < event.steps)?;
        Some(
            (event.elapsed - self.stage_began) / event.step as f64
                * (event.steps - event.step) as f64,
        )
    }
}
