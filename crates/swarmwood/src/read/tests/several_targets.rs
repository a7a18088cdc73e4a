//! Targets of several columns: in memory and read again, whole and one by one.

use super::super::{SAMPLE_ROWS, TaskChoice};
use super::*;

const MEMORY: RetentionLimits = RetentionLimits { bytes: usize::MAX, sample: SAMPLE_ROWS };
const STREAM: RetentionLimits = RetentionLimits { bytes: 0, sample: SAMPLE_ROWS };

/// Targets `b` and `a`, around the features; some rows lack one of them.
fn table(rows: usize) -> String {
    let mut text = String::from("a,k,w,b,x\n");
    for row in 0..rows {
        let a = if row % 13 == 4 { String::new() } else { format!("{row}.5") };
        let b = if row % 11 == 3 { "NA".to_string() } else { format!("{}", row * 7) };
        text += &format!("{a},l{},{},{b},{}\n", row * 31 % 5, row % 5 + 1, row % 300);
    }
    text
}

fn options() -> ReadOptions {
    ReadOptions { weight: Some("w".into()), ..target("b,a") }
}

#[test]
fn streaming_equals_memory() {
    let text = table(3000);
    let memory = training_within(&text, &options(), MEMORY).unwrap();
    let stream = training_within(&text, &options(), STREAM).unwrap();
    assert!(!memory.is_streamed() && stream.is_streamed());
    assert_eq!((&memory.schema, &memory.warnings), (&stream.schema, &stream.warnings));
    let incomplete = (0..3000).filter(|row| row % 13 == 4 || row % 11 == 3).count();
    assert_eq!(memory.rows, 3000 - incomplete);

    let parts = |rows: &Rows| {
        let (rest, held) = rows.clone().holdout(0.3, 5).unwrap();
        [rows.clone(), rest, held]
    };
    for (memory, stream) in parts(&memory).into_iter().zip(parts(&stream)) {
        assert_eq!(comparable(&whole(&memory)), comparable(&whole(&stream)));
        assert_eq!(comparable(&memory.sample()), comparable(&stream.sample()));
        for at in 0..2 {
            let (memory, stream) = (memory.of_target(at).unwrap(), stream.of_target(at).unwrap());
            assert_eq!(comparable(&whole(&memory)), comparable(&whole(&stream)));
            assert_eq!(comparable(&memory.sample()), comparable(&stream.sample()));
            assert_eq!(memory.targets().unwrap(), stream.targets().unwrap());
        }
    }
}

#[test]
fn each_target_is_that_of_a_table_without_the_others() {
    let full = "a,x,b\n1,10,4\n2,20,5\n3,30,6\n";
    let rows = training(full, &target("a,b")).unwrap();
    assert_eq!(rows.schema.target.kind, TargetKind::Numbers(vec!["a".into(), "b".into()]));
    assert_eq!(whole(&rows).target, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    for (at, name) in ["a", "b"].into_iter().enumerate() {
        let other = ["b", "a"][at].to_string();
        let task = TaskChoice::Regression;
        let options = ReadOptions { ignore: vec![other], task, ..target(name) };
        let alone = training(full, &options).unwrap();
        let one = rows.of_target(at).unwrap();
        assert_eq!(one.schema, alone.schema);
        assert_eq!(comparable(&whole(&one)), comparable(&whole(&alone)));
    }
    assert!(rows.of_target(2).is_none());
}

#[test]
fn rows_for_a_model_of_several_targets_need_all_of_them() {
    let rows = training("a,x,b\n1,10,4\n2,20,5\n3,30,6\n", &target("a,b")).unwrap();
    let read = |text: &str, options: &ReadOptions| {
        super::super::matching(&source(text), &rows.schema, options)
    };
    let plain = ReadOptions::default();
    let other = read("b,a,x\n7,8,9\n,8,9\n7,,9\n", &plain).unwrap();
    assert_eq!((other.rows, whole(&other).target), (1, vec![8.0, 7.0]));
    assert!(other.warnings.iter().all(|text| !text.contains("another order")), "{other:?}");
    let swapped = read("b,a,x\n7,8,9\n", &target("b,a")).unwrap();
    assert_eq!(whole(&swapped).target, [7.0, 8.0]);

    assert!(failure(read("x,a\n1,2\n", &plain)).contains("no target column 'b'"));
    assert!(failure(read("x,a,b\n1,2,\n", &plain)).contains("only 0 rows have a value"));
    assert!(failure(read("x,a,b\n1,2,red\n", &plain)).contains("'red'"));
    assert!(
        failure(read("x,a,b\n1,2,3\n", &target("a")))
            .contains("the target is 1 column, but the model predicts 2")
    );
}
