//! Of many rows, candidates are compared on some; the model is fitted to all of them.

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
