//! Tasks that run somewhere else change nothing, whatever the order they run in.

use super::*;
use crate::plan::TaskRunner;

/// Runs tasks as another process would: from the last to the first, each of them twice, on rows of
/// its own.
struct Elsewhere<'a> {
    set: TrainingSet<'a>,
    folds: FoldTasks,
    pool: Pool,
    tasks: AtomicUsize,
}

impl<'a> Elsewhere<'a> {
    fn new(set: TrainingSet<'a>) -> Self {
        let pool = Pool::new(1).unwrap();
        Elsewhere { set, folds: FoldTasks::default(), pool, tasks: AtomicUsize::new(0) }
    }
}

impl TaskRunner for Elsewhere<'_> {
    fn run(&self, tasks: &[Datum], _: &Budget) -> Result<Option<Vec<Datum>>, String> {
        let budget = Budget::unlimited();
        let context = Context { pool: &self.pool, budget: &budget };
        self.tasks.fetch_add(tasks.len(), Ordering::Relaxed);
        let run = |task: &Datum| {
            let result = self.folds.run(task, self.set, context).unwrap();
            assert_eq!(self.folds.run(task, self.set, context).as_ref(), Ok(&result));
            result
        };
        let mut results: Vec<Datum> = tasks.iter().rev().map(run).collect();
        results.reverse();
        Ok(Some(results))
    }
}

#[test]
fn tasks_of_another_process_change_nothing() {
    let features = FeatureBudget {
        most: 2,
        costs: vec![1.0; 5],
        most_cost: f64::INFINITY,
        required: Vec::new(),
    };
    for (spec, rows, features) in [
        (ObjectiveConfig::SQUARED, 300, None),
        (ObjectiveConfig::LOGISTIC, 300, None),
        (ObjectiveConfig::softmax(3), 200, None),
        (ObjectiveConfig::SQUARED, 200, Some(features)),
    ] {
        let (mine, theirs) = (for_spec(&spec, rows), for_spec(&spec, rows));
        let objective = make(&spec);
        let shapes = vec![shape(3, 8, Growth::Leaf), shape(6, 4, Growth::Leaf)];
        // The last of them compares its candidates on some of the rows.
        let compared_rows = if features.is_some() { 120 } else { COMPARED_ROWS };
        let config = EnsembleSearchConfig { shapes, features, compared_rows };
        let elsewhere = Elsewhere::new(TrainingSet::new(&theirs, None, &*objective));
        for limit in [0, 500] {
            let set = TrainingSet::new(&mine, None, &*objective);
            let (here, states) = run_from(set, &config, limit, None).unwrap();
            let set = set.with_runner(Some(&elsewhere));
            let (there, other_states) = run_from(set, &config, limit, None).unwrap();
            assert_eq!(here.ensemble, there.ensemble, "{spec:?}");
            assert_eq!((&here.report, &here.features), (&there.report, &there.features));
            assert_eq!(states, other_states, "{spec:?}");
        }
        assert!(elsewhere.tasks.load(Ordering::Relaxed) > 10);
    }
}

#[test]
fn a_runner_that_fails_ends_the_run() {
    struct Broken(Result<Option<Vec<Datum>>, String>);
    impl TaskRunner for Broken {
        fn run(&self, _: &[Datum], _: &Budget) -> Result<Option<Vec<Datum>>, String> {
            self.0.clone()
        }
    }
    let (data, objective) = (planted(200, 0.5, |signal| signal), make(&ObjectiveConfig::SQUARED));
    let config = config(&[shape(3, 8, Growth::Leaf)]);
    let run = |broken: Broken| {
        let set = TrainingSet::new(&data, None, &*objective).with_runner(Some(&broken));
        run_from(set, &config, 0, None).map(|(fit, _)| fit.report.finished)
    };

    let lost = Err("no worker is left".to_string());
    assert_eq!(run(Broken(lost)), Err(EnsembleSearchError::Runner("no worker is left".into())));
    assert!(matches!(run(Broken(Ok(Some(Vec::new())))), Err(EnsembleSearchError::Runner(_))));
    let wrong = vec![Datum::Natural(1); 2];
    assert!(run(Broken(Ok(Some(wrong)))).is_err());
    assert_eq!(run(Broken(Ok(None))), Ok(false), "interrupted");
}

#[test]
fn a_damaged_task_is_refused() {
    let (data, objective) = (planted(60, 0.5, |signal| signal), make(&ObjectiveConfig::SQUARED));
    let set = TrainingSet::new(&data, None, &*objective);
    let (folds, pool, budget) = (FoldTasks::default(), Pool::new(1).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let text = |text: &str| Datum::Text(text.to_string());
    let natural = Datum::Natural;
    let shape = |growth: u64, lookahead: Datum| {
        let sizes = [natural(2), natural(growth), natural(0), natural(0), natural(4)];
        let rest = [natural(3), natural(1 << 20), lookahead];
        Datum::List(sizes.into_iter().chain(rest).collect())
    };
    let task = |method: Datum, shape: Datum, fold: u64, kept: Vec<Datum>| {
        Datum::record([
            ("name", text("c")),
            ("method", method),
            ("shape", shape),
            ("fold", natural(fold)),
            ("most_rows", natural(40)),
            ("kept", Datum::List(kept)),
        ])
    };
    let off = || Datum::flag(false);
    let constant = || Datum::List(Vec::new());
    let sets = |feature: u64| {
        Datum::List(vec![Datum::List(vec![Datum::Natural(0), Datum::Natural(feature)])])
    };
    let all = || vec![Datum::List(vec![Datum::flag(true); 5])];

    assert!(folds.run(&task(constant(), shape(1, off()), 1, all()), set, context).is_ok());
    assert!(folds.run(&task(constant(), shape(1, sets(4)), 1, Vec::new()), set, context).is_ok());
    for damaged in [
        natural(3),
        task(text("x"), shape(1, off()), 1, all()),
        task(constant(), shape(9, off()), 1, all()),
        task(constant(), shape(1, sets(5)), 1, all()),
        task(constant(), shape(1, off()), 1 << 40, all()),
        task(constant(), shape(1, off()), 1, vec![Datum::List(vec![Datum::flag(true); 4])]),
    ] {
        assert!(folds.run(&damaged, set, context).is_err(), "{damaged:?}");
    }
}
