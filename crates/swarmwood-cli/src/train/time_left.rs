//! How long a training run will still take, all stages together.

use swarmwood::learn::event::{Event, Stage};

/// The shares of a run that stages begin and end at. A run has some of them, and the last one ends
/// it; how long they take is known only roughly before.
const SHARES: [(Stage, f64, f64); 9] = [
    (Stage::FEATURES, 0.0, 0.2),
    (Stage::PRETRAINING, 0.0, 0.1),
    (Stage::COMPARING, 0.2, 0.8),
    (Stage::SWEEPS, 0.8, 0.9),
    (Stage::PAIRS, 0.9, 1.0),
    (Stage::SWARM, 0.1, 0.9),
    (Stage::LOCAL_SEARCH, 0.9, 1.0),
    (Stage::BOOSTING, 0.0, 1.0),
    (Stage::DESCENTS, 0.0, 1.0),
];

/// The same of the stages that fit a model to all rows, in a run that compares candidates first. While
/// candidates are compared, some of them are fitted to all rows, too.
const FIT_SHARES: [(Stage, f64, f64); 3] =
    [(Stage::BOOSTING, 0.8, 0.82), (Stage::SWEEPS, 0.82, 0.9), (Stage::PAIRS, 0.9, 1.0)];

/// Before this share is done, and before so many seconds, a run tells nothing about its end.
const LEAST_DONE: f64 = 0.02;
const LEAST_SECONDS: f64 = 1.0;

/// Seconds in which two thirds of a difference between the estimate and its past are taken over.
const SMOOTHING: f64 = 8.0;

/// An estimate of the seconds that are left, which does not jump.
#[derive(Debug, Default)]
pub(super) struct TimeLeft {
    /// The greatest share that was reached.
    done: f64,
    /// Share and seconds that a resumed run began with.
    resumed: (f64, f64),
    /// The share at which the first stage began.
    first: Option<f64>,
    /// Whether all candidates have been compared; `None` if there are none to compare.
    compared: Option<bool>,
    /// The last estimate, and when it was made.
    last: Option<(f64, f64)>,
}

impl TimeLeft {
    /// The share of the run that is done, from 0 to 1.
    pub(super) fn done(&self) -> f64 {
        let first = self.first.unwrap_or(0.0);
        ((self.done - first) / (1.0 - first)).clamp(0.0, 1.0)
    }

    /// Takes an event into account; the estimate in seconds, if there is one yet.
    pub(super) fn update(&mut self, event: &Event) -> Option<f64> {
        self.advance(event);
        if event.replayed {
            self.resumed = (self.done(), event.elapsed);
            return None;
        }

        let done = self.done() - self.resumed.0;
        let seconds = event.elapsed - self.resumed.1;
        if done < LEAST_DONE || seconds < LEAST_SECONDS {
            return None;
        }
        let estimate = seconds * (1.0 - self.done()) / done;
        let left = match self.last {
            None => estimate,
            Some((last, at)) => {
                let passed = (event.elapsed - at).max(0.0);
                let weight = 1.0 - (-passed / SMOOTHING).exp();
                let expected = (last - passed).max(0.0);
                expected + weight * (estimate - expected)
            }
        };
        self.last = Some((left, event.elapsed));
        Some(left)
    }
}

impl TimeLeft {
    /// Updates the share that is done.
    fn advance(&mut self, event: &Event) {
        if event.stage == Stage::COMPARING {
            self.compared = Some(event.step >= event.steps);
        }
        let fit = FIT_SHARES.into_iter().find(|(stage, ..)| *stage == event.stage);
        let of_stage = SHARES.into_iter().find(|(stage, ..)| *stage == event.stage);
        let share = match (self.compared, fit) {
            // A fit of one of the candidates.
            (Some(false), Some(_)) => return,
            (Some(true), Some(fit)) => fit,
            _ => of_stage.unwrap_or((event.stage, 0.0, 1.0)),
        };

        let (_, begin, end) = share;
        // A run that begins with a later stage has only the stages from there on.
        self.first.get_or_insert(begin);
        let part = event.step as f64 / event.steps.max(1) as f64;
        self.done = self.done.max(begin + (end - begin) * part.min(1.0));
    }
}

/// Seconds as text, rounder the longer they are: `42 s`, `7 min`, `2.5 h`.
pub(super) fn duration_text(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(stage: Stage, step: usize, steps: usize, elapsed: f64) -> Event {
        Event { elapsed, ..Event::new(stage, step, steps) }
    }

    #[test]
    fn an_even_run_is_estimated_exactly() {
        let mut left = TimeLeft::default();
        assert_eq!(left.update(&event(Stage::BOOSTING, 1, 100, 0.5)), None);
        for round in 10..100 {
            let seconds = left.update(&event(Stage::BOOSTING, round, 100, 0.5 * round as f64));
            assert!((seconds.unwrap() - 0.5 * (100 - round) as f64).abs() < 1e-9);
        }
    }

    #[test]
    fn the_estimate_does_not_jump_between_stages() {
        let mut left = TimeLeft::default();
        for fit in 1..=20 {
            left.update(&event(Stage::COMPARING, fit, 20, fit as f64));
        }
        let before = left.last.unwrap().0;
        // The next stage is much slower than the first one.
        let after = left.update(&event(Stage::SWEEPS, 1, 10, 23.0)).unwrap();
        assert!((after - before).abs() < 4.0, "{before} {after}");
        assert!(left.done() > 0.7 && left.done() < 0.8, "{}", left.done());
        assert_eq!(left.update(&event(Stage::PAIRS, 10, 10, 40.0)).map(f64::round), Some(0.0));
    }

    #[test]
    fn fits_of_candidates_are_not_the_end_of_the_run() {
        let mut left = TimeLeft::default();
        left.update(&event(Stage::COMPARING, 1, 33, 0.5));
        for round in 1..=12 {
            left.update(&event(Stage::BOOSTING, round, 12, 0.5 + 0.1 * round as f64));
        }
        left.update(&event(Stage::SWEEPS, 4, 4, 2.0));
        assert!(left.done() < 0.05, "{}", left.done());
        let third = left.update(&event(Stage::COMPARING, 11, 33, 11.0)).unwrap();
        assert!(third > 20.0 && third < 45.0, "{third}");

        left.update(&event(Stage::COMPARING, 33, 33, 33.0));
        left.update(&event(Stage::BOOSTING, 12, 12, 34.0));
        assert!(left.done() > 0.75 && left.done() < 0.85, "{}", left.done());
        left.update(&event(Stage::PAIRS, 16, 16, 43.0));
        assert_eq!(left.done(), 1.0);
    }

    #[test]
    fn what_a_resumed_run_replays_costs_no_time() {
        let mut left = TimeLeft::default();
        let replayed = Event { replayed: true, ..event(Stage::SWARM, 50, 100, 0.1) };
        assert_eq!(left.update(&replayed), None);
        let seconds = left.update(&event(Stage::SWARM, 75, 100, 25.1)).unwrap();
        assert!(seconds > 20.0 && seconds < 60.0, "{seconds}");
    }

    #[test]
    fn durations_are_round() {
        assert_eq!(duration_text(4.4), "4 s");
        assert_eq!(duration_text(300.0), "5 min");
        assert_eq!(duration_text(9000.0), "2.5 h");
    }
}
