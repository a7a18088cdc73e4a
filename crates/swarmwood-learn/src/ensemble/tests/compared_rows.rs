//! Of many rows, candidates are compared on some; the model is fitted to all of them.

use swarmwood_model::Shape;

use super::cross_validation::FoldPlan;
use super::*;

#[test]
fn about_as_many_rows_as_asked_for_are_drawn_whatever_the_rows_are() {
    let plan = FoldPlan { classes: true, seed: 5, most_rows: 1000 };
    let drawn = plan.rows(20_000);
    assert!((900..1100).contains(&drawn), "{drawn}");
    assert_eq!((plan.rows(1000), plan.rows(999)), (1000, 999));
    assert_ne!(FoldPlan { seed: 6, ..plan }.rows(20_000), drawn);

    // Every drawn row is in one test fold, and each fold has its share of both classes.
    let (pool, budget) = (Pool::new(2).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let data = planted(20_000, 0.5, |signal| f64::from(u8::from(signal > 2.0)));
    let folds = plan.folds(&data, 5, context);
    let tested: Vec<usize> = folds.iter().map(|fold| drawn - fold.train().rows()).collect();
    assert_eq!(tested.iter().sum::<usize>(), drawn);
    let ones = |data: &Dataset| data.target.iter().sum::<f64>() / data.rows() as f64;
    for fold in &folds {
        assert!((ones(fold.train()) - ones(&data)).abs() < 0.05);
    }
    for (number, fold) in folds.iter().enumerate() {
        let alone = plan.fold(&data, number, context).unwrap();
        assert_eq!(alone.train().target.to_vec(), fold.train().target.to_vec());
    }
}

#[test]
fn the_model_is_of_all_rows_and_threads_and_resumptions_change_nothing() {
    let objective = make(&ObjectiveConfig::SQUARED);
    let data = planted(600, 0.3, |signal| signal);
    let set = TrainingSet::new(&data, None, &*objective);
    let all = config(&[shape(3, 8, Growth::Leaf)]);
    let some = EnsembleSearchConfig { compared_rows: 250, ..all.clone() };

    let (whole, states) = run_from(set, &some, 0, None).unwrap();
    assert!((200..300).contains(&whole.report.compared_rows), "{:?}", whole.report);
    assert_eq!(whole.ensemble.train_scores[0].len(), 600);
    assert!(whole.report.finished);
    for state in states.iter().step_by(4) {
        let (again, _) = run_from(set, &some, 0, Some(state)).unwrap();
        assert_eq!((&again.ensemble, &again.report), (&whole.ensemble, &whole.report));
    }
    let one_thread = search((&data, None), &*objective, &some, &Pool::new(1).unwrap());
    assert_eq!(one_thread.ensemble, whole.ensemble);

    let (plain, _) = run_from(set, &all, 0, None).unwrap();
    assert_eq!(plain.report.compared_rows, 600);
    assert!(whole.report.loss < 1.2 * plain.report.loss, "{:?}", whole.report);
}

/// What a model says of rows is said of all rows, though its trees were searched on some of them.
#[test]
fn trees_that_were_searched_on_a_sample_count_all_rows() {
    for growth in [Growth::Leaf, Growth::Oblivious] {
        for spec in [ObjectiveConfig::SQUARED, ObjectiveConfig::LOGISTIC, ObjectiveConfig::ABSOLUTE]
        {
            let (data, objective) = (for_spec(&spec, 700), make(&spec));
            let set = TrainingSet::new(&data, None, &*objective);
            let some =
                EnsembleSearchConfig { compared_rows: 300, ..config(&[shape(3, 8, growth)]) };
            let pools = [1, 2].map(|threads| Pool::new(threads).unwrap());
            let [found, same] =
                [0, 1].map(|at: usize| search((&data, None), &*objective, &some, &pools[at]));
            assert_eq!(found.ensemble, same.ensemble);

            let transport = TestHosts::new(&data, 2, |number, _| match number % 5 {
                4 => Fault::Before,
                _ => Fault::None,
            });
            let backends = RemoteBackends::new(&transport, &data, 2, &spec);
            let on_hosts = TrainingSet { backends: &backends, ..set };
            assert_eq!(run_from(on_hosts, &some, 0, None).unwrap().0.ensemble, found.ensemble);

            let all = EnsembleSearchConfig { compared_rows: 700, ..some };
            let plain = run_from(set, &all, 0, None).unwrap().0;
            assert!(found.report.loss < 1.2 * plain.report.loss, "{spec:?} {growth:?}");
            for member in &found.ensemble.members {
                let covers: f64 = member.shape.leaves().iter().map(|leaf| leaf.cover).sum();
                let root = match &member.shape {
                    Shape::Ordinary(tree) => tree.nodes.first().map_or(covers, |node| node.cover),
                    // The covers of its levels follow from the leaves.
                    Shape::Oblivious(_) => covers,
                    Shape::Vector(_) => unreachable!("trees of one output"),
                };
                assert!((covers - root).abs() < 1e-3 * root, "{spec:?} {covers} {root}");
                if spec == ObjectiveConfig::SQUARED {
                    assert!((covers - 700.0).abs() < 1e-3 * covers, "{covers}");
                }
            }
        }
    }
}
