//! Files of earlier versions: what was written once can be read forever. These files are never
//! rewritten.

use std::path::Path;

use swarmwood::search::{Param, Point, PointValue, Space};
use swarmwood::tune::{Ending, FoldResult, read_study};

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
    assert_eq!(study.head.space, space.unwrap());
    assert_eq!((study.head.engine.as_str(), study.head.seed, study.head.lag), ("random", 11, 4));
    assert_eq!((study.head.pieces, study.head.race, study.head.task.fingerprint), (3, true, 7));
    assert_eq!(
        (study.head.task.text.as_str(), study.created_by.as_str()),
        ("made up", "swarmwood 0.1.0")
    );
    assert_eq!(study.head.task.measure.figure(0.25), 0.75);

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
    assert_eq!(first.pieces[0], FoldResult { loss: 0.25, rounds: Some(12) });
    assert_eq!((first.ending.clone(), first.seconds), (Some(Ending::Whole { loss: 0.5 }), 1.0));
    assert_eq!(
        failed.ending,
        Some(Ending::Failed { reason: "exit code 3: no memory".to_string() })
    );
    assert_eq!((failed.worker, failed.point[1]), (0, PointValue::Absent));
    assert_eq!((raced.ending.clone(), raced.pieces.len()), (Some(Ending::Raced { loss: 1.0 }), 2));
    assert_eq!(open.ending, None);
    assert_eq!(study.best().map(|best| best.id), Some(0));
}
