//! The tasks of the default search in another process, which has the same rows and parameters.

use swarmwood_learn::budget::Budget;
use swarmwood_learn::constraints::Constraints;
use swarmwood_learn::context::Context;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::ensemble::{EnsembleSearchError, FoldTasks};
use swarmwood_learn::pool::Pool;
use swarmwood_learn::stats::TrainingSet;

use super::options::TrainOptions;
use super::{Job, RunObjective, binning, constraints, learner};
use crate::checkpoint::snapshot::{decode, encode};
use crate::error::Violation;
use crate::params::ValidParams;
use crate::read::Rows;
use crate::{Error, Result};

/// Rows that are binned for the tasks of a search. The results of tasks follow from them, from the
/// parameters and from the task alone, whoever runs it, how often and in whatever order.
pub struct FoldTaskRows {
    data: Dataset,
    objective: RunObjective,
    constraints: Constraints,
    folds: FoldTasks,
    one_thread: Pool,
}

impl FoldTaskRows {
    /// Bins the training rows of a search. Of the options only a custom loss is used.
    pub fn new(rows: &Rows, params: &ValidParams, options: &TrainOptions) -> Result<FoldTaskRows> {
        if !learner(params.method)?.has_tasks() {
            let message = format!("the method {} has no tasks", params.method.name());
            return Err(Error::Parameters(vec![Violation::new("method", message)]));
        }
        let target = &rows.schema.target.kind;
        let mut params = (**params).clone().resolve(target);
        let objective = RunObjective::new(&mut params, target, options)?;
        let constraints = constraints::resolve(&params, &rows.schema)?;
        let (one_thread, budget) = (Pool::new(1).map_err(Error::Run)?, Budget::unlimited());

        let data = {
            let job = Job {
                rows,
                valid: None,
                params: &params,
                options,
                spec: objective.spec,
                objective: objective.objective(),
                custom: objective.custom(),
                metric: objective.metric,
                constraints: &constraints,
                pool: &one_thread,
                budget: &budget,
                held_out: None,
            };
            let (data, _) = binning::bin(&job)?;
            job.examine_targets(&data)?;
            data
        };
        Ok(FoldTaskRows { data, objective, constraints, folds: FoldTasks::default(), one_thread })
    }

    /// The result of a task, both encoded.
    pub fn run(&self, task: &[u8]) -> Result<Vec<u8>> {
        let damaged = || Error::Run("the task cannot be decoded".to_string());
        let task = decode(task).ok_or_else(damaged)?;
        let budget = self.objective.limit(Budget::unlimited());
        let context = Context { pool: &self.one_thread, budget: &budget };
        let set = TrainingSet::new(&self.data, None, self.objective.objective())
            .with_constraints(&self.constraints);

        let result = self.folds.run(&task, set, context);

        self.objective.check()?;
        result.map(|result| encode(&result)).map_err(|error| match error {
            EnsembleSearchError::State(message)
            | EnsembleSearchError::Threads(message)
            | EnsembleSearchError::Runner(message) => Error::Run(message),
            EnsembleSearchError::Backend(error) => error.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Method, Params};
    use crate::read::{ReadOptions, Source, training};

    #[test]
    fn other_methods_and_other_bytes_are_refused() {
        fn shared<T: Send + Sync>(value: T) -> T {
            value
        }
        let csv = Source::Bytes("t.csv".into(), b"x,y\n1,2\n2,3\n3,1\n4,4\n");
        let rows = training(&csv, &ReadOptions { target: "y".into(), ..ReadOptions::default() });
        let (rows, options) = (rows.unwrap(), TrainOptions::default());
        let of = |method| {
            FoldTaskRows::new(&rows, &Params::of(method).check().unwrap(), &options).map(shared)
        };
        assert!(of(Method::GREEDY).err().unwrap().to_string().contains("has no tasks"));
        let rows = of(Method::SWARM).unwrap();
        for bytes in [&b""[..], b"x", &encode(&swarmwood_search::Datum::Natural(3))] {
            assert!(rows.run(bytes).is_err());
        }
    }
}
