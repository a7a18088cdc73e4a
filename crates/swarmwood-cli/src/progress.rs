//! Shows how training goes: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swarmwood::learn::event::Event;

use crate::talk::{Talk, short};

/// Draws the rounds of one training.
pub struct Progress {
    talk: Talk,
    bar: Option<ProgressBar>,
    said_at: Instant,
    said_round: usize,
    train: Option<f64>,
}

impl Progress {
    /// Chooses the bar or the lines.
    pub fn new(talk: Talk, rounds: usize) -> Self {
        let bar = (!talk.quiet && stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(rounds as u64), ProgressDrawTarget::stderr());
            // The fallback is the plain bar: a template that does not parse is no reason to stop.
            bar.with_style(
                ProgressStyle::with_template("{bar:30} {pos}/{len} rounds, {eta} left  {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            )
        });
        Progress { talk, bar, said_at: Instant::now(), said_round: 0, train: None }
    }

    /// Shows the state after a round.
    pub fn show(&mut self, event: &Event) {
        // The training loss costs a pass over the rows and is not measured in every round; the last one is near enough.
        self.train = event.train.or(self.train);
        if let Some(bar) = &self.bar {
            bar.set_position(event.round as u64);
            bar.set_message(self.losses(event));
            return;
        }
        let tenth = |round: usize| round * 10 / event.rounds.max(1);
        let due = tenth(event.round) > tenth(self.said_round) || self.said_at.elapsed() >= Duration::from_secs(1);
        if due {
            let line = format!("round {}/{}: {}", event.round, event.rounds, self.losses(event));
            self.talk.note(line.trim_end_matches(": "));
            self.said_at = Instant::now();
            self.said_round = event.round;
        }
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn losses(&self, event: &Event) -> String {
        let known = |name: &str, value: Option<f64>| value.map(|value| format!("{name} {}", short(value)));
        let parts = [known("train", self.train), known("valid", event.valid)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
