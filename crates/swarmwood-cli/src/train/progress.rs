//! Shows how training goes: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swarmwood::learn::event::{Event, Search, Stage};

use crate::console::Console;
use crate::format::number;

/// Draws the steps of one training, stage after stage.
pub(super) struct TrainProgress {
    console: Console,
    bar: Option<ProgressBar>,
    stage: Option<Stage>,
    said_at: Instant,
    said_step: usize,
    /// Seconds of the run when the stage began.
    began: f64,
    /// Seconds of the run at the last step.
    last: f64,
    train: Option<f64>,
    /// Seconds and evaluations where this run's own steps begin, to know how fast they go.
    from: Option<(f64, u64)>,
}

impl TrainProgress {
    /// Chooses the bar or the lines.
    pub(super) fn new(console: Console) -> Self {
        let bar = (!console.quiet && stderr().is_terminal())
            .then(|| ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr()));
        TrainProgress {
            console,
            bar,
            stage: None,
            said_at: Instant::now(),
            said_step: 0,
            began: 0.0,
            last: 0.0,
            train: None,
            from: None,
        }
    }

    /// Shows the state after a step.
    pub(super) fn show(&mut self, event: &Event) {
        if self.stage != Some(event.stage) {
            self.begin(event);
        }
        self.last = event.elapsed;
        // The training loss costs a pass over the rows and is not measured in every round; the last
        // one is near enough.
        self.train = event.train.or(self.train);
        if event.past {
            // Not this run's work: neither fast nor news.
            self.from = event.search.map(|search| (event.elapsed, search.evaluations));
            return;
        }
        if let Some(bar) = &self.bar {
            bar.set_position(event.step as u64);
            bar.set_message(self.state(event));
            return;
        }
        let tenth = |step: usize| step * 10 / event.steps.max(1);
        let due = tenth(event.step) > tenth(self.said_step)
            || self.said_at.elapsed() >= Duration::from_secs(1);
        if due {
            let left = self.left(event).map_or(String::new(), |left| format!(", {left:.0} s left"));
            let line = format!(
                "{} {}/{}: {}{left}",
                event.stage.step,
                event.step,
                event.steps,
                self.state(event)
            );
            self.console.line(line.trim_end_matches(": "));
            self.said_at = Instant::now();
            self.said_step = event.step;
        }
    }

    /// Starts a stage.
    fn begin(&mut self, event: &Event) {
        if self.stage.is_some() && self.bar.is_none() {
            self.console.line(event.stage.name);
        }
        self.stage = Some(event.stage);
        self.began = self.last;
        self.said_step = 0;
        self.train = None;
        if let Some(bar) = &self.bar {
            let template =
                format!("{{bar:30}} {{pos}}/{{len}} {}s, {{eta}} left  {{msg}}", event.stage.step);
            // The fallback is the plain bar: a template that does not parse is no reason to stop.
            let style = ProgressStyle::with_template(&template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style);
            bar.set_length(event.steps as u64);
            bar.reset();
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn state(&self, event: &Event) -> String {
        let known =
            |name: &str, value: Option<f64>| value.map(|value| format!("{name} {}", number(value)));
        let mut parts = vec![known("train", self.train), known("valid", event.valid)];
        if let Some(search) = &event.search {
            let news = search.best.filter(|_| search.best != self.train);
            parts.push(known(&format!("best {}", search.measure), news));
            parts.push(search.gain.map(|gain| format!("{:.1} % below greedy", 100.0 * gain)));
            parts.push(known("mean", search.mean));
            parts.push(self.speed(event, search));
        }
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Evaluations so far and how many there are a second.
    fn speed(&self, event: &Event, search: &Search) -> Option<String> {
        let (since, before) = self.from.unwrap_or((0.0, 0));
        let seconds = event.elapsed - since;
        let rate = search.evaluations.saturating_sub(before) as f64 / seconds;
        (seconds > 0.0).then(|| format!("{} evaluations, {rate:.0} a second", search.evaluations))
    }

    /// Seconds to the end of a search, if its steps go on as they went.
    fn left(&self, event: &Event) -> Option<f64> {
        event.search.filter(|_| event.step > 0 && event.step < event.steps)?;
        Some((event.elapsed - self.began) / event.step as f64 * (event.steps - event.step) as f64)
    }
}
