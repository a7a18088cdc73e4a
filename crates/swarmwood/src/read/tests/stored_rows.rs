//! Rows in memory and rows read again are the same rows; so are samples and splits.

use proptest::prelude::*;

use super::*;

const MEMORY: RetentionLimits =
    RetentionLimits { bytes: usize::MAX, sample: super::super::SAMPLE_ROWS };
const STREAM: RetentionLimits = RetentionLimits { bytes: 0, sample: super::super::SAMPLE_ROWS };

fn table(rows: usize) -> String {
    let mut text = String::from("a,k,w,b,y\n");
    for row in 0..rows {
        let target = if row % 11 == 3 { String::new() } else { format!("c{}", row * row % 3) };
        text += &format!("{},l{},{},{}.25,{target}\n", row, row * 31 % 17, row % 5 + 1, row % 300);
    }
    text
}

fn options() -> ReadOptions {
    ReadOptions { weight: Some("w".into()), ..target("y") }
}

fn both(rows: usize) -> (Rows, Rows) {
    let text = table(rows);
    let memory = training_within(&text, &options(), MEMORY).unwrap();
    let stream = training_within(&text, &options(), STREAM).unwrap();
    assert!(!memory.is_streamed() && stream.is_streamed());
    (memory, stream)
}

#[test]
fn streaming_equals_memory() {
    let (memory, stream) = both(40_000);
    assert_eq!(memory.schema, stream.schema);
    assert_eq!(memory.warnings, stream.warnings);
    assert_eq!(comparable(&whole(&memory)), comparable(&whole(&stream)));
    assert_eq!(comparable(&memory.sample()), comparable(&stream.sample()));
    let (memory, stream) = (memory.holdout(0.3, 5).unwrap(), stream.holdout(0.3, 5).unwrap());
    assert_eq!(comparable(&whole(&memory.0)), comparable(&whole(&stream.0)));
    assert_eq!(comparable(&whole(&memory.1)), comparable(&whole(&stream.1)));
    assert_eq!(comparable(&memory.0.sample()), comparable(&stream.0.sample()));
}

#[test]
fn a_large_table_has_a_sample_of_exact_size_in_row_order() {
    let size = super::super::SAMPLE_ROWS;
    let rows = size + 40_000;
    let text: String = (0..rows).map(|row| format!("{row},{}\n", row % 2)).collect();
    let text = format!("a,y\n{text}");
    let memory = training_within(&text, &target("y"), MEMORY).unwrap();
    let stream =
        training_within(&text, &target("y"), RetentionLimits { bytes: 100_000, ..STREAM }).unwrap();
    assert!(stream.is_streamed());
    let sample = memory.sample();
    assert_eq!(sample.rows, size);
    assert!(numbers(&sample, 0).is_sorted());
    assert_eq!(comparable(&sample), comparable(&stream.sample()));
    let column = stream.sample_column(0).unwrap();
    assert_eq!(
        comparable(&Chunk { columns: vec![column], ..Chunk::default() }).0[0],
        comparable(&sample).0[0]
    );
    assert!(memory.sample_column(1).is_none());
    let (rest, held) = memory.holdout(0.25, 1).unwrap();
    assert_eq!(rest.sample().rows + held.sample().rows, size);
}

#[test]
fn a_small_table_is_its_own_sample() {
    let (memory, _) = both(500);
    assert_eq!(comparable(&memory.sample()), comparable(&whole(&memory)));
}

#[test]
fn a_split_parts_all_rows_by_class() {
    let (rows, _) = both(3000);
    let all = whole(&rows);
    let total = rows.rows;
    let (rest, held) = rows.holdout(0.2, 9).unwrap();
    assert_eq!(rest.rows + held.rows, total);
    let (rest, held) = (whole(&rest), whole(&held));
    let mut ids = [numbers(&rest, 0), numbers(&held, 0)].concat();
    ids.sort_by(f64::total_cmp);
    assert_eq!(ids, numbers(&all, 0));
    for class in [0.0, 1.0] {
        let count = |chunk: &Chunk| chunk.target.iter().filter(|&&target| target == class).count();
        assert_eq!(count(&held), (count(&all) as f64 * 0.2).round() as usize);
    }
}

#[test]
fn a_split_can_be_split_again_and_depends_on_the_seed() {
    let split = |seed| both(1000).0.holdout(0.5, seed).unwrap();
    let ids = |rows: &Rows| numbers(&whole(rows), 0).to_vec();
    let (rest, held) = split(1);
    assert_eq!(ids(&split(1).1), ids(&held));
    assert_ne!(ids(&split(2).1), ids(&held));
    let before = ids(&rest);
    let (again, second) = rest.holdout(0.5, 1).unwrap();
    let mut joined = [ids(&again), ids(&second)].concat();
    joined.sort_by(f64::total_cmp);
    assert_eq!(joined, before);
}

#[test]
fn a_split_leaves_no_part_empty() {
    let rows = || training("a,y\n1,p\n2,q\n3,p\n", &target("y")).unwrap();
    let (rest, held) = rows().holdout(0.01, 0).unwrap();
    assert_eq!((rest.rows, held.rows), (2, 1));
    let (rest, held) = rows().holdout(0.99, 0).unwrap();
    assert_eq!((rest.rows, held.rows), (2, 1));
    assert_eq!(rows().holdout(0.0, 0).unwrap_err().exit_code(), 1);
    let numbers = training("a,y\n1,1\n2,2.5\n3,3\n", &target("y")).unwrap();
    let (rest, held) = numbers.holdout(0.9, 0).unwrap();
    assert_eq!((rest.rows, held.rows), (1, 2));
}

#[test]
fn a_file_that_changes_between_readings_is_noticed() {
    let path =
        std::env::temp_dir().join(format!("swarmwood-read-changing-{}.csv", std::process::id()));
    std::fs::write(&path, "a,y\n1,1\n2,2\n3,3.5\n").unwrap();
    let rows = super::super::schema_inference::read_training(
        RereadableSource::new(&Source::File(path.clone()), 1 << 20).unwrap(),
        &target("y"),
        STREAM,
    )
    .unwrap();
    std::fs::write(&path, "a,y\n1,1\n2,2\n").unwrap();
    let error = rows.for_each_chunk(&mut |_| Ok(())).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(error.to_string().contains("changed while it was being read"), "{error}");
}

proptest! {
    /// Wherever the memory ends, the rows are the same.
    #[test]
    fn the_limit_does_not_show(rows in 2_usize..300, bytes in 0_usize..5000, sample in 1_usize..100) {
        let text = table(rows + 5);
        let memory = training_within(&text, &options(), MEMORY).unwrap();
        let other = training_within(&text, &options(), RetentionLimits { bytes, sample }).unwrap();
        prop_assert_eq!(&memory.schema, &other.schema);
        prop_assert_eq!(comparable(&whole(&memory)), comparable(&whole(&other)));
    }
}
