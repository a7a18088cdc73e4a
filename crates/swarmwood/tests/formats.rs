//! Files of earlier versions: what was written once can be read forever. These files are never
//! rewritten.

use std::path::Path;

use swarmwood::search::{Param, Point, PointValue, Space};
use swarmwood::tune::{FoldResult, TrialOutcome, read_study};

#[test]
fn the_first_version_of_a_study_can_be_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/study-v1.jsonl");
    let study = read_study(&path).unwrap();
    let space = Space::new(vec![
        Param::choice("kind", &["a", "b"]),
        Param::integer("depth", 1, 30).when("kind", &["a"]),
        Param::real("rate", 0.001, 1.0).log(),
        Param::list("bins", &[15.0, 63.0, 255.0]),
    ]);
    assert_eq!(study.header.space, space.unwrap());
    assert_eq!(
        (study.header.engine.as_str(), study.header.seed, study.header.parallel_trials),
        ("random", 11, 4)
    );
    assert_eq!(
        (study.header.folds, study.header.prune, study.header.task.fingerprint),
        (3, true, 7)
    );
    assert_eq!(
        (study.header.task.text.as_str(), study.created_by.as_str()),
        ("made up", "swarmwood 0.1.0")
    );
    assert_eq!(study.header.task.metric.value(0.25), 0.75);

    let [first, failed, raced, open] = &study.trials[..] else { panic!("{:?}", study.trials) };
    assert_eq!(
        first.point,
        Point(vec![
            PointValue::Index(0),
            PointValue::Integer(7),
            PointValue::Real(0.125),
            PointValue::Index(1)
        ])
    );
    assert_eq!(first.folds[0], FoldResult { loss: 0.25, rounds: Some(12) });
    assert_eq!(
        (first.outcome.clone(), first.seconds),
        (Some(TrialOutcome::Complete { loss: 0.5 }), 1.0)
    );
    assert_eq!(
        failed.outcome,
        Some(TrialOutcome::Failed { reason: "exit code 3: no memory".to_string() })
    );
    assert_eq!((failed.worker, failed.point[1]), (0, PointValue::Absent));
    assert_eq!(
        (raced.outcome.clone(), raced.folds.len()),
        (Some(TrialOutcome::Pruned { loss: 1.0 }), 2)
    );
    assert_eq!(open.outcome, None);
    assert_eq!(study.best().map(|best| best.id), Some(0));
}
