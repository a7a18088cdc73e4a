//! Judges configurations that somebody else proposes, exactly as `swarmwood tune` would: the bridge
//! by which another tuner can be compared on the same rows, folds and learners.
//!
//! ```text
//! evaluate_configs DATA TARGET TASK METRIC SPACE FOLDS HOLDOUT SEED [TREES]
//! ```
//!
//! `SPACE` is the name of a built-in space or a file, `TASK` is `regression` or `classification`.
//! Every line of standard input is a JSON object, every line of standard output the answer to it:
//! `{"evaluate": {…}}` gives `losses`, one per fold, and their mean `loss`; `{"holdout": {…}}`
//! gives `score`, the score of that configuration on the held-out rows; `{"folds": true}` gives
//! `folds`, the fold of each row that is not held out, in file order.

use std::io::{BufRead, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use swarmwood::learn::budget::Budget;
use swarmwood::params::{Method, Params};
use swarmwood::read::{ReadOptions, Rows, Source, TaskChoice, training};
use swarmwood::search::{Point, Space};
use swarmwood::tune::sequence::StudyTally;
use swarmwood::tune::{
    FinalFit, NativeConfig, NativeObjective, Proposal, StopReason, StudyOutcome, TrialObjective,
    TrialOutcome, TrialRecord, TuningScore, named, space_file, spaces,
};

type Fault = Box<dyn std::error::Error>;

struct Judge {
    space: Space,
    native: NativeObjective,
    all: Rows,
    held: Option<Rows>,
    folds: Vec<usize>,
}

impl Judge {
    fn new(words: &[String]) -> Result<Judge, Fault> {
        let [data, target, task, metric, space, folds, holdout, seed, more @ ..] = words else {
            return Err("give DATA TARGET TASK METRIC SPACE FOLDS HOLDOUT SEED [TREES]".into());
        };
        let trees = more.first().map_or(Ok(100), |trees| trees.parse())?;
        let mut params = Params { seed: seed.parse()?, trees, ..Params::of(Method::GREEDY) };
        spaces::fix_params(space, &mut params)?;
        let task =
            if task == "regression" { TaskChoice::Regression } else { TaskChoice::Classification };
        let options = ReadOptions { target: target.clone(), task, ..ReadOptions::default() };
        let all = training(&Source::File(PathBuf::from(data)), &options)?;
        let space = match Path::new(space).exists() {
            true => space_file::read(Path::new(space))?,
            false => spaces::built_in(space, &params, &[])?,
        };
        let share: f64 = holdout.parse()?;
        let (rows, held) = match share > 0.0 {
            true => {
                all.clone().holdout(share, params.seed).map(|(rows, held)| (rows, Some(held)))?
            }
            false => (all.clone(), None),
        };
        let score = TuningScore::named(metric, &all.schema.target.kind)?;
        let common = NativeConfig { params, score, folds: folds.parse()?, threads: 1 };
        let native = NativeObjective::new(rows, common, &space)?;
        let folds = native.fold_of_row().to_vec();
        Ok(Judge { space, native, all, held, folds })
    }

    fn losses(&self, point: &Point) -> Result<Vec<f64>, Fault> {
        let proposal = Proposal { id: 0, space: &self.space, point };
        let fold =
            |fold| Ok(self.native.evaluate_fold(&proposal, fold, &Budget::unlimited())?.loss);
        (0..self.native.folds()).map(fold).collect()
    }

    /// The score on the held-out rows, by the same code that ends a tuning.
    fn holdout(&self, point: Point) -> Result<Value, Fault> {
        let fold = |loss| swarmwood::tune::FoldResult { loss, rounds: None };
        let outcome = Some(TrialOutcome::Complete { loss: 0.0 });
        let folds = (0..self.native.folds()).map(|_| fold(0.0)).collect();
        let trial = TrialRecord { id: 0, point, worker: 0, folds, outcome, seconds: 0.0 };
        let outcome = StudyOutcome {
            trials: vec![trial],
            tally: StudyTally::default(),
            stop_reason: StopReason::Trials,
        };
        let finish = FinalFit {
            native: &self.native,
            all: &self.all,
            holdout: self.held.as_ref(),
            ensemble: 1,
            threads: 1,
        };
        let finished = finish.finish(&outcome, &mut |_| {})?;
        let holdout = finished.holdout.ok_or("no rows are held out")?;
        Ok(json!({"score": holdout.best.value, "error": holdout.best.error}))
    }

    fn answer(&self, line: &str) -> Result<Value, Fault> {
        let question: Map<String, Value> = serde_json::from_str(line)?;
        let point = |key: &str| {
            question.get(key).and_then(Value::as_object).map(|it| named::parse(&self.space, it))
        };
        if let Some(point) = point("evaluate") {
            let losses = self.losses(&point?)?;
            let loss = losses.iter().sum::<f64>() / losses.len() as f64;
            return Ok(json!({"loss": loss, "losses": losses}));
        }
        match point("holdout") {
            Some(point) => self.holdout(point?),
            None => Ok(json!({"folds": self.folds})),
        }
    }
}

fn main() -> Result<(), Fault> {
    let judge = Judge::new(&std::env::args().skip(1).collect::<Vec<_>>())?;
    for line in stdin().lock().lines() {
        let answer =
            judge.answer(&line?).unwrap_or_else(|fault| json!({"fault": fault.to_string()}));
        writeln!(stdout(), "{answer}")?;
        stdout().flush()?;
    }
    Ok(())
}
