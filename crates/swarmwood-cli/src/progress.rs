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
        Progress { talk, bar, said_at: Instant::now(), said_round: 0 }
    }

    /// Shows the state after a round.
    pub fn show(&mut self, event: &Event) {
        if let Some(bar) = &self.bar {
            bar.set_position(event.round as u64);
            if !event.train.is_nan() || event.valid.is_some() {
                bar.set_message(losses(event));
            }
            return;
        }
        let tenth = |round: usize| round * 10 / event.rounds.max(1);
        let due = tenth(event.round) > tenth(self.said_round) || self.said_at.elapsed() >= Duration::from_secs(1);
        if due {
            let line = format!("round {}/{}: {}", event.round, event.rounds, losses(event));
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
}

/// The losses of a round. The training loss is not measured in every round: it costs a pass over the rows.
fn losses(event: &Event) -> String {
    let known = |name: &str, value: f64| (!value.is_nan()).then(|| format!("{name} {}", short(value)));
    let parts = [known("train", event.train), event.valid.and_then(|valid| known("valid", valid))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
