//! An event as a line of a journal.

use serde_json::{Map, Value, json};
use swarmwood_search::{Point, Space};

use super::worker::MOST_WORKERS;
use crate::tune::named;
use crate::tune::objective::FoldResult;
use crate::tune::trial::TrialOutcome;

/// An event of a study.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::tune) enum Record {
    /// A process asked for the next trial and evaluates it.
    Ask { id: u64, point: Point, worker: u64 },
    /// A process takes over the trial of one that died.
    Take { id: u64, worker: u64 },
    /// The next fold of a trial was evaluated.
    Fold { id: u64, fold: usize, result: FoldResult, seconds: f64 },
    /// A trial is finished.
    Tell { id: u64, outcome: TrialOutcome, seconds: f64 },
}

impl Record {
    /// The trial that it is about.
    pub fn id(&self) -> u64 {
        match self {
            Record::Ask { id, .. }
            | Record::Take { id, .. }
            | Record::Fold { id, .. }
            | Record::Tell { id, .. } => *id,
        }
    }

    /// The record as a line, without its end.
    pub fn line(&self, space: &Space) -> String {
        let value = match self {
            Record::Ask { id, point, worker } => {
                json!({"event": "ask", "id": id, "point": named::json(space, point), "worker": worker})
            }
            Record::Take { id, worker } => json!({"event": "take", "id": id, "worker": worker}),
            Record::Fold { id, fold, result: FoldResult { loss, rounds }, seconds } => json!({
                "event": "fold", "id": id, "fold": fold,
                "loss": loss, "rounds": rounds, "seconds": seconds,
            }),
            Record::Tell { id, outcome, seconds } => {
                let mut value = json!({"event": "tell", "id": id, "seconds": seconds});
                match outcome {
                    TrialOutcome::Complete { loss } => value["loss"] = json!(loss),
                    TrialOutcome::Pruned { loss } => {
                        value["loss"] = json!(loss);
                        value["pruned"] = json!(true);
                    }
                    TrialOutcome::Failed { reason } => value["failed"] = json!(reason),
                }
                value
            }
        };
        value.to_string()
    }

    /// The record of a line; the error says what is wrong with it.
    pub fn parse(line: &str, space: &Space) -> Result<Record, String> {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("is damaged: {error}"))?;
        let fields = value.as_object().ok_or("is damaged: not an object")?;
        let id = natural(fields, "id")?;
        match fields.get("event").and_then(Value::as_str).ok_or_else(|| damaged("event"))? {
            "ask" => {
                let point = fields
                    .get("point")
                    .and_then(Value::as_object)
                    .ok_or_else(|| damaged("point"))?;
                Ok(Record::Ask { id, point: named::parse(space, point)?, worker: worker(fields)? })
            }
            "take" => Ok(Record::Take { id, worker: worker(fields)? }),
            // Version 1 called a fold a piece.
            event @ ("fold" | "piece") => {
                let rounds = fields
                    .get("rounds")
                    .and_then(Value::as_u64)
                    .and_then(|n| usize::try_from(n).ok());
                let fold = usize::try_from(natural(fields, event)?).map_err(|_| damaged(event))?;
                let result = FoldResult { loss: number(fields, "loss")?, rounds };
                Ok(Record::Fold { id, fold, result, seconds: duration(fields)? })
            }
            "tell" => {
                Ok(Record::Tell { id, outcome: outcome(fields)?, seconds: duration(fields)? })
            }
            other => Err(format!(
                "has the event '{other}', which this program does not know; use a newer one"
            )),
        }
    }
}

fn outcome(fields: &Map<String, Value>) -> Result<TrialOutcome, String> {
    if let Some(reason) = fields.get("failed").and_then(Value::as_str) {
        return Ok(TrialOutcome::Failed { reason: reason.to_owned() });
    }
    let loss = number(fields, "loss")?;
    // Version 1 called pruning racing.
    let pruned = fields.get("pruned").or_else(|| fields.get("raced"));
    let pruned = pruned.and_then(Value::as_bool).unwrap_or(false);
    Ok(if pruned { TrialOutcome::Pruned { loss } } else { TrialOutcome::Complete { loss } })
}

fn damaged(field: &str) -> String {
    format!("is damaged: no usable '{field}'")
}

fn natural(fields: &Map<String, Value>, name: &str) -> Result<u64, String> {
    fields.get(name).and_then(Value::as_u64).ok_or_else(|| damaged(name))
}

/// The number of a process; they are small, because the least free one is taken.
fn worker(fields: &Map<String, Value>) -> Result<u64, String> {
    let number = natural(fields, "worker")?;
    if number < MOST_WORKERS { Ok(number) } else { Err(damaged("worker")) }
}

fn duration(fields: &Map<String, Value>) -> Result<f64, String> {
    let seconds = number(fields, "seconds")?;
    if seconds >= 0.0 { Ok(seconds) } else { Err(damaged("seconds")) }
}

fn number(fields: &Map<String, Value>, name: &str) -> Result<f64, String> {
    fields.get(name).and_then(Value::as_f64).ok_or_else(|| damaged(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use swarmwood_search::Param;
    use swarmwood_search::rng::Stream;

    fn space() -> Space {
        Space::new(vec![
            Param::choice("booster", &["tree", "lin\"ear\n"]),
            Param::integer("depth", -4, 9).when("booster", &["tree"]),
            Param::real("rate", 1e-7, 1.0).log(),
            Param::list("bins", &[0.1, 16.0, 64.5]),
        ])
        .unwrap()
    }

    proptest! {
        #[test]
        fn every_record_comes_back(seed in proptest::num::u64::ANY, loss in -1e300..1e300f64, reason in ".*") {
            let point = space().draw(&mut Stream::new(seed, 0, 0));
            for record in [
                Record::Ask { id: 7, point, worker: 1 },
                Record::Take { id: u64::MAX, worker: 0 },
                Record::Fold { id: 7, fold: 3, result: FoldResult { loss, rounds: Some(9) }, seconds: loss.abs() },
                Record::Fold { id: 7, fold: 3, result: FoldResult { loss, rounds: None }, seconds: 0.0 },
                Record::Tell { id: 7, outcome: TrialOutcome::Complete { loss }, seconds: 0.25 },
                Record::Tell { id: 7, outcome: TrialOutcome::Pruned { loss }, seconds: 0.25 },
                Record::Tell { id: 7, outcome: TrialOutcome::Failed { reason: reason.clone() }, seconds: 0.25 },
            ] {
                let line = record.line(&space());
                prop_assert!(!line.contains('\n'));
                prop_assert_eq!(Record::parse(&line, &space()), Ok(record));
            }
        }
    }

    #[test]
    fn each_invalid_line_has_its_own_message() {
        for (line, words) in [
            ("{", "is damaged"),
            ("[]", "not an object"),
            ("{\"event\":\"ask\"}", "no usable 'id'"),
            ("{\"event\":\"sing\",\"id\":1}", "'sing'"),
            ("{\"event\":\"tell\",\"id\":1,\"seconds\":1}", "no usable 'loss'"),
            (
                "{\"event\":\"ask\",\"id\":1,\"worker\":0,\"point\":{\"x\":1}}",
                "'x' is no parameter",
            ),
            ("{\"event\":\"ask\",\"id\":1,\"worker\":0,\"point\":{\"bins\":2}}", "'bins' is 2"),
            (
                "{\"event\":\"ask\",\"id\":1,\"worker\":0,\"point\":{\"bins\":16}}",
                "does not lie in the space",
            ),
        ] {
            let fault = Record::parse(line, &space()).unwrap_err();
            assert!(fault.contains(words), "{line}: {fault}");
        }
    }
}
