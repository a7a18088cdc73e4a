//! The log of finished tasks: what a checkpoint stores and a resumed run replays.

use std::collections::VecDeque;

use swarmwood_search::{Datum, Error};

use crate::event::Event;

/// More work units than any run takes; counts up to here can be added up.
pub const MOST_WORK: u64 = 1 << 48;

/// A finished task.
#[derive(Debug, Clone, PartialEq)]
struct LogEntry {
    key: String,
    /// Work units that the task took.
    work: u64,
    result: Datum,
}

/// Hears of every step. The second argument makes the state to resume from, for whoever wants to
/// store it.
pub type PlanObserver<'o> = dyn FnMut(&Event, &dyn Fn() -> Datum) + 'o;

/// The results of finished tasks in the order of the plan, and the state of the task under way.
pub struct TaskLog<'o> {
    finished: Vec<LogEntry>,
    /// Results of an earlier run that the plan has not come to yet.
    replay: VecDeque<LogEntry>,
    /// The state that an earlier run had reached in the task after those.
    partial: Option<(String, Datum)>,
    observer: &'o mut PlanObserver<'o>,
}

impl<'o> TaskLog<'o> {
    /// An empty log; `past` is the state of an earlier run with the same data and parameters.
    pub fn new(past: Option<&Datum>, observer: &'o mut PlanObserver<'o>) -> Result<Self, Error> {
        let mut log =
            TaskLog { finished: Vec::new(), replay: VecDeque::new(), partial: None, observer };
        if let Some(past) = past {
            log.replay =
                past.field("finished")?.list()?.iter().map(load_entry).collect::<Result<_, _>>()?;
            if let [key, state] = past.field("partial")?.list()? {
                log.partial = Some((text(key)?, state.clone()));
            }
        }
        Ok(log)
    }

    /// The result of a task and the work units that it took, if an earlier run finished it.
    pub fn recall(&mut self, key: &str) -> Result<Option<(Datum, u64)>, Error> {
        let Some(entry) = self.replay.pop_front() else { return Ok(None) };
        if entry.key != key {
            let message = format!(
                "holds the result of '{}' where that of '{key}' belongs; it is damaged",
                entry.key
            );
            return Err(Error::Snapshot(message));
        }
        let known = (entry.result.clone(), entry.work);
        self.finished.push(entry);
        Ok(Some(known))
    }

    /// Stores the result of a task, and the work units that it took.
    pub fn record(&mut self, key: &str, work: u64, result: Datum) {
        self.finished.push(LogEntry { key: key.to_string(), work, result });
    }

    /// The state that an earlier run had reached in a task, which it did not finish.
    pub fn take_partial(&mut self, key: &str) -> Option<Datum> {
        if !self.replay.is_empty() {
            return None;
        }
        self.partial.take_if(|(partial, _)| partial == key).map(|(_, state)| state)
    }

    /// Tells the observer of a step between two tasks.
    pub fn notify(&mut self, event: &Event) {
        let finished = &self.finished;
        (self.observer)(event, &|| save_log(finished, None));
    }

    /// Tells the observer of a step inside a task, whose state `partial` makes.
    pub fn notify_partial(&mut self, event: &Event, key: &str, partial: &dyn Fn() -> Datum) {
        let finished = &self.finished;
        (self.observer)(event, &|| save_log(finished, Some((key, partial()))));
    }
}

fn save_log(finished: &[LogEntry], partial: Option<(&str, Datum)>) -> Datum {
    let entry = |entry: &LogEntry| {
        Datum::List(vec![
            Datum::Text(entry.key.clone()),
            Datum::Natural(entry.work),
            entry.result.clone(),
        ])
    };
    let partial =
        partial.map_or(Vec::new(), |(key, state)| vec![Datum::Text(key.to_string()), state]);
    Datum::record([
        ("finished", Datum::List(finished.iter().map(entry).collect())),
        ("partial", Datum::List(partial)),
    ])
}

fn load_entry(datum: &Datum) -> Result<LogEntry, Error> {
    let [key, work, result] = datum.tuple()?;
    let work = work.counter()?;
    if work > MOST_WORK {
        return Err(Error::Snapshot("counts more work than there can be; it is damaged".into()));
    }
    Ok(LogEntry { key: text(key)?, work, result: result.clone() })
}

fn text(datum: &Datum) -> Result<String, Error> {
    match datum {
        Datum::Text(text) => Ok(text.clone()),
        _ => Err(Error::Snapshot("holds no name where one belongs; it is damaged".to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Stage;

    /// Adds up the numbers of ten tasks; every task takes three steps. Stores every state.
    fn sum(past: Option<&Datum>, states: &mut Vec<Datum>, runs: &mut usize) -> Result<u64, Error> {
        let mut observer = |_: &Event, state: &dyn Fn() -> Datum| states.push(state());
        let mut log = TaskLog::new(past, &mut observer)?;
        let mut all = 0;
        for task in 0..10u64 {
            let key = format!("task {task}");
            let result = match log.recall(&key)? {
                Some((result, work)) => {
                    assert_eq!(work, task);
                    result.natural()?
                }
                None => {
                    let mut value = match log.take_partial(&key) {
                        Some(partial) => partial.natural()?,
                        None => 0,
                    };
                    while value < 3 {
                        value += 1;
                        *runs += 1;
                        let event = Event::new(Stage::SWEEPS, value as usize, 3);
                        log.notify_partial(&event, &key, &|| Datum::Natural(value));
                    }
                    log.record(&key, task, Datum::Natural(value * task));
                    log.notify(&Event::new(Stage::COMPARING, task as usize, 10));
                    value * task
                }
            };
            all += result;
        }
        Ok(all)
    }

    #[test]
    fn a_log_resumed_at_any_step_gives_the_same_result_and_runs_no_step_twice() {
        let (mut states, mut runs) = (Vec::new(), 0);
        let whole = sum(None, &mut states, &mut runs).unwrap();
        assert_eq!((whole, runs, states.len()), (135, 30, 40));
        for (at, state) in states.iter().enumerate() {
            let (mut later, mut runs) = (Vec::new(), 0);
            assert_eq!(sum(Some(state), &mut later, &mut runs).unwrap(), whole);
            assert_eq!(
                later,
                states[at + 1..],
                "the states after a resumption are those of the whole run"
            );
        }
    }

    #[test]
    fn a_state_of_another_plan_is_refused() {
        let entry = Datum::List(vec![
            Datum::Text("other".to_string()),
            Datum::Natural(0),
            Datum::Natural(0),
        ]);
        let foreign = Datum::record([
            ("finished", Datum::List(vec![entry])),
            ("partial", Datum::List(Vec::new())),
        ]);
        for state in [foreign, Datum::Natural(3)] {
            assert!(sum(Some(&state), &mut Vec::new(), &mut 0).is_err());
        }
    }
}
