//! A run whose greedy fit misses an interaction looks ahead; others do not.

use super::*;

/// The sign of a product of three columns among ten, sometimes wrong.
fn parity(rows: usize) -> Dataset {
    let mut stream = Stream::new(9, 0, 0);
    let columns: Vec<Vec<f64>> =
        (0..10).map(|_| (0..rows).map(|_| stream.normal()).collect()).collect();
    let target = (0..rows).map(|row| {
        let product = columns[1][row] * columns[4][row] * columns[6][row];
        f64::from(u8::from((product > 0.0) != (stream.unit() < 0.05)))
    });
    let target = target.collect();
    data(columns, target, Vec::new())
}

fn looks_ahead(report: &EnsembleSearchReport) -> bool {
    report.chosen.contains("look-ahead")
}

#[test]
fn a_parity_that_greedy_boosting_misses_is_found() {
    let (data, objective) = (parity(2500), make(&ObjectiveConfig::LOGISTIC));
    let config = config(&[shape(2, 8, Growth::Leaf), shape(4, 4, Growth::Leaf)]);
    let found = search((&data, None), &*objective, &config, &Pool::new(2).unwrap());
    assert!(looks_ahead(&found.report), "{:?}", found.report);
    let best = found.report.candidates.iter().map(|candidate| candidate.score);
    assert!(best.fold(f64::INFINITY, f64::min) < 0.35, "{:?}", found.report);

    let set = TrainingSet::new(&data, None, &*objective);
    let backends = LoopbackBackends::default();
    for limit in [0, 70] {
        let (whole, states) = run_from(set, &config, limit, None).unwrap();
        assert!(limit == 0 || whole.report.work <= limit);
        let remote = TrainingSet { backends: &backends, ..set };
        let (again, _) = run_from(remote, &config, limit, None).unwrap();
        assert_eq!((&again.ensemble, &again.report), (&whole.ensemble, &whole.report));
        for state in states.iter().step_by(3) {
            let (again, _) = run_from(set, &config, limit, Some(state)).unwrap();
            assert_eq!(again.ensemble.members, whole.ensemble.members);
            assert_eq!(again.report, whole.report);
        }
    }
}

#[test]
fn sums_and_noise_need_no_look_ahead() {
    for (spec, rows) in [(ObjectiveConfig::SQUARED, 700), (ObjectiveConfig::softmax(3), 700)] {
        let (data, objective) = (for_spec(&spec, rows), make(&spec));
        let config = config(&[shape(3, 8, Growth::Leaf)]);
        let found = search((&data, None), &*objective, &config, &Pool::new(1).unwrap());
        assert!(found.report.candidates.iter().all(|one| !one.name.contains("look-ahead")));
    }
}
