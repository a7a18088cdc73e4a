//! Runs with a work limit that are resumed from every state they store.

use super::*;

/// A run, and the states it stores.
fn run(
    set: TrainingSet<'_>,
    config: &EnsembleSearchConfig,
    limit: u64,
    past: Option<&Datum>,
) -> (EnsembleSearchFit, Vec<Datum>) {
    let pool = Pool::new(1).unwrap();
    let budget = Budget::unlimited().with_work_limit(limit);
    let context = Context { pool: &pool, budget: &budget };
    let mut states = Vec::new();
    let mut observer = |_: &Event, state: &dyn Fn() -> Datum| states.push(state());
    let fit = train(set, config, context, past, &mut observer).unwrap();
    (fit, states)
}

/// What is left out for want of work is not stored, and what comes after it may be cheaper: a
/// resumed run must leave out the same.
#[test]
fn a_limited_run_resumed_from_any_state_ends_as_if_it_had_not_been() {
    let mut left_out = 0;
    for (spec, limits) in [
        (ObjectiveConfig::softmax(3), [30, 40, 55, 70, 100, 160, 300]),
        (ObjectiveConfig::SQUARED, [8, 12, 14, 20, 33, 60, 110]),
    ] {
        let (data, objective) = (for_spec(&spec, 120), make(&spec));
        let set = TrainingSet::new(&data, None, &*objective);
        for config in [
            config(&[shape(4, 4, Growth::Leaf)]),
            config(&[shape(4, 4, Growth::Leaf), shape(8, 2, Growth::Leaf)]),
        ] {
            for limit in limits {
                let (whole, states) = run(set, &config, limit, None);
                left_out += usize::from(!whole.report.finished);
                for state in &states {
                    let (resumed, _) = run(set, &config, limit, Some(state));
                    assert_eq!(resumed.ensemble, whole.ensemble, "{spec:?}, {limit}");
                    assert_eq!(resumed.report, whole.report, "{spec:?}, {limit}");
                }
            }
        }
    }
    assert!(left_out > 10, "{left_out}");
}
