//! A budget limits every model, also one that is cut short; resuming, threads and backends change
//! nothing.

use std::collections::BTreeSet;

use super::*;
use swarmwood_model::{Member, Shape};

fn used(members: &[Member]) -> BTreeSet<u32> {
    let of_member = |member: &Member| -> Vec<u32> {
        match &member.shape {
            Shape::Ordinary(tree) => tree.nodes.iter().map(|node| node.split.feature).collect(),
            Shape::Oblivious(tree) => tree.levels.iter().map(|one| one.split.feature).collect(),
            Shape::Vector(_) => unreachable!("ensembles have no vector trees"),
        }
    };
    members.iter().flat_map(of_member).collect()
}

fn config_of(most: usize) -> EnsembleSearchConfig {
    let features =
        FeatureBudget { most, costs: vec![1.0; 5], most_cost: f64::INFINITY, required: Vec::new() };
    EnsembleSearchConfig { features: Some(features), ..config(&[shape(4, 4, Growth::Leaf)]) }
}

#[test]
fn the_features_that_matter_are_used_and_what_the_budget_costs_is_told() {
    let pool = Pool::new(2).unwrap();
    let objective = make(&ObjectiveConfig::SQUARED);
    let data = planted(900, 0.3, |signal| signal);
    let fit = search((&data, None), &*objective, &config_of(3), &pool);
    let report = fit.features.unwrap();
    assert_eq!(report.features, [0, 1, 2]);
    assert_eq!(report.chosen_in_folds, [report.folds; 3], "{report:?}");
    assert_eq!(used(&fit.ensemble.members), BTreeSet::from([0, 1, 2]));
    assert!(report.finished && fit.report.finished, "{report:?}");

    let fit = search((&data, None), &*objective, &config_of(1), &pool);
    let report = fit.features.unwrap();
    assert_eq!(used(&fit.ensemble.members).len(), 1);
    assert!(report.within_budget[0].mean > 1.2 * report.all_features[0].mean, "{report:?}");
    assert_eq!(report.within_budget, fit.report.expected.greedy);
}

#[test]
fn no_run_exceeds_its_budget_of_features_or_of_work() {
    for spec in [ObjectiveConfig::LOGISTIC, ObjectiveConfig::softmax(3)] {
        let (data, objective) = (for_spec(&spec, 200), make(&spec));
        let set = TrainingSet::new(&data, None, &*objective);
        for most in [1, 2, 4] {
            for steps in [0, 1, 2, 5, 20, usize::MAX] {
                let fit = run_steps(set, &config_of(most), steps);
                assert!(used(&fit.ensemble.members).len() <= most, "{steps}: {:?}", fit.report);
            }
            for limit in [1, 10, 100, 1000, 5000] {
                let (fit, _) = run_from(set, &config_of(most), limit, None).unwrap();
                assert!(used(&fit.ensemble.members).len() <= most);
                assert!(fit.report.work <= limit, "{limit}: {:?}", fit.report);
            }
        }
    }
}

#[test]
fn a_resumed_run_chooses_the_same_features() {
    let objective = make(&ObjectiveConfig::SQUARED);
    let data = planted(120, 0.5, |signal| signal);
    let set = TrainingSet::new(&data, None, &*objective);
    for limit in [0, 2000] {
        let (whole, states) = run_from(set, &config_of(2), limit, None).unwrap();
        for (at, state) in states.iter().enumerate() {
            let (again, _) = run_from(set, &config_of(2), limit, Some(state)).unwrap();
            assert!(again.ensemble.members == whole.ensemble.members, "state {at}");
            assert_eq!(again.features, whole.features, "state {at}");
            assert_eq!(again.report, whole.report, "state {at}");
        }
        assert!(run_from(set, &config_of(1), limit, states.last()).is_err(), "another budget");
    }
}

#[test]
fn threads_and_backends_change_nothing_under_a_budget() {
    let objective = make(&ObjectiveConfig::LOGISTIC);
    let data = for_spec(&ObjectiveConfig::LOGISTIC, 300);
    let run = |threads: usize, backends: &dyn BackendFactory| {
        let (pool, budget) = (Pool::new(threads).unwrap(), Budget::unlimited());
        let context = Context { pool: &pool, budget: &budget };
        let set = TrainingSet { backends, ..TrainingSet::new(&data, None, &*objective) };
        train(set, &config_of(2), context, None, &mut |_, _| ()).unwrap()
    };
    let one = run(1, &LocalBackends);
    for other in [run(3, &LocalBackends), run(2, &LoopbackBackends::default())] {
        assert_eq!(one.ensemble, other.ensemble);
        assert_eq!((&one.report, &one.features), (&other.report, &other.features));
    }
}
