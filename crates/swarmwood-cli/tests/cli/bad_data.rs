//! Data that is refused, or accepted with a warning.

use crate::scratch::Scratch;
use crate::tables::{binary, column, fields, regression};

const TRAIN: &str = "train t.csv --target y --trees 5 --out m.json";

/// Trains on a table and expects an error message with these parts.
#[track_caller]
fn refused(table: impl AsRef<[u8]>, parts: &[&str]) {
    let dir = Scratch::new();
    dir.file("t.csv", table);
    dir.fails(TRAIN, 2, parts);
}

#[test]
fn unreadable_files_are_refused() {
    let dir = Scratch::new();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    dir.fails("train absent.csv --target y --out m.json", 2, &["absent.csv", "No such file"]);
    dir.fails("train folder --target y --out m.json", 2, &["folder", "directory"]);
    dir.file("t.csv", "x,y\n1,2\n2,3\n3,4\n");
    dir.fails("train t.csv --target y --valid absent.csv --out m.json", 2, &["absent.csv"]);
    dir.fails("train t.csv --target y --config absent.toml --out m.json", 2, &["absent.toml"]);
    dir.fails("predict absent.json t.csv --out p.csv", 2, &["absent.json"]);
    dir.fails("evaluate folder t.csv", 2, &["folder"]);
    dir.fails("inspect absent.json", 2, &["absent.json"]);
}

#[test]
fn tables_without_rows_are_refused() {
    refused("", &["t.csv", "empty"]);
    refused("x,y\n", &["t.csv", "row"]);
    refused("x,y\n1,2\n", &["t.csv", "row"]);
}

#[test]
fn malformed_tables_are_refused() {
    refused("x,y\n1,2\n3\n5,6\n", &["t.csv:3", "2", "1"]);
    refused("x,y\n1,2\n3,4,5\n5,6\n", &["t.csv:3", "3"]);
    refused("x,y\n1,2\n\"3,4\n5,6\n7,8\n", &["t.csv:3", "quote"]);
    refused(b"x,y\n\xc3\xa9,2\n\xff\xfe,4\n5,6\n", &["t.csv:3", "UTF-8", "--encoding"]);
    refused("x,x,y\n1,1,2\n2,2,3\n", &["t.csv", "'x'"]);
    refused([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3], &["t.csv"]);
}

#[test]
fn unusable_targets_are_refused() {
    let dir = Scratch::new();
    dir.file("t.csv", "x,price\n1,2\n2,3\n3,5\n");
    dir.fails("train t.csv --target prise --out m.json", 2, &["t.csv", "prise", "price"]);
    refused("x,y\n1,\n2,NA\n3,\n", &["t.csv", "'y'", "missing"]);
    refused("x,y\n1,a\n2,a\n3,a\n", &["t.csv", "'y'", "only one value, 'a'"]);
    refused("x,y\n1,2\n2,inf\n3,4\n4,7\n", &["t.csv:3", "'y'", "inf"]);
}

#[test]
fn unknown_and_conflicting_columns_are_refused() {
    let dir = Scratch::new();
    dir.file("t.csv", "x,z,y\n1,1,2\n2,1,3\n3,2,5\n");
    dir.fails(&format!("{TRAIN} --weight zz"), 2, &["t.csv", "zz"]);
    dir.fails(&format!("{TRAIN} --ignore zz"), 2, &["t.csv", "zz"]);
    dir.fails(&format!("{TRAIN} --categorical zz"), 2, &["t.csv", "zz"]);
    dir.fails(&format!("{TRAIN} --ignore y"), 2, &["y"]);
    dir.fails(&format!("{TRAIN} --weight y"), 2, &["y"]);
}

#[test]
fn invalid_weights_are_refused() {
    for weight in ["-1", "inf", "", "heavy"] {
        let dir = Scratch::new();
        dir.file("t.csv", format!("x,w,y\n1,1,2\n2,{weight},3\n3,2,5\n"));
        dir.fails(&format!("{TRAIN} --weight w"), 2, &["t.csv:3", "'w'"]);
    }
}

#[test]
fn rows_without_target_are_dropped_with_a_warning() {
    let dir = Scratch::new();
    dir.file("t.csv", "x,y\n1,2\n2,nan\n3,4.5\n4,7\n5,\n6,9\n");
    let output = dir.run(&format!("{TRAIN} --json")).ends(0, &["warning: ", "2 rows"]);
    assert_eq!(output.json()["rows"], 4);
    assert!(!output.json()["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn constant_columns_give_a_warning() {
    let dir = Scratch::new();
    let mut table = "same,x,y\n".to_string();
    (0..50).for_each(|i| table.push_str(&format!("3,{i},{}\n", i * i)));
    dir.file("t.csv", table);
    dir.run(TRAIN).ends(0, &["warning: column 'same' holds one value"]);
}

#[test]
fn only_constant_columns_still_give_a_model() {
    let dir = Scratch::new();
    let mut table = "same,y\n".to_string();
    (0..50).for_each(|i| table.push_str(&format!("3,{}\n", i * i)));
    dir.file("t.csv", table);
    dir.run(TRAIN).ends(0, &["one value"]);
    let predictions = column(&dir.run("predict m.json t.csv").works().out, "prediction");
    let mean = (0..50).map(|i| f64::from(i * i)).sum::<f64>() / 50.0;
    assert!(
        predictions.iter().all(|value| (value.parse::<f64>().unwrap() - mean).abs() < 1e-3),
        "{}",
        predictions[0]
    );
}

#[test]
fn numbers_that_look_like_classes_get_a_hint() {
    let dir = Scratch::new();
    let mut table = "x,y\n".to_string();
    (0..300).for_each(|i| table.push_str(&format!("{i},{}\n", i / 100)));
    dir.file("t.csv", table);
    dir.run(TRAIN).ends(0, &["regression", "--task classification"]);
    let report = dir.run(&format!("{TRAIN} --task classification --json")).works().json();
    assert_eq!(report["classes"], serde_json::json!(["0", "1", "2"]));
    dir.file("t.csv", regression(50, 1).replace("price", "y"));
    dir.run(&format!("{TRAIN} --task regression")).works();
}

/// A directory with a model for `sold` from size, age and town.
fn with_model() -> Scratch {
    let dir = Scratch::new();
    dir.file("t.csv", binary(300, 1));
    dir.run("train t.csv --target sold --trees 10 --out m.json").works();
    dir
}

#[test]
fn a_new_category_counts_as_missing() {
    let dir = with_model();
    dir.file("new.csv", "size,age,town\n10,20,Ash\n10,20,Elm\n10,20,\n10,20,Elm\n");
    let output = dir.run("predict m.json new.csv").ends(0, &["warning: ", "town", "Elm"]);
    assert_eq!(
        output.err.matches("warning: ").count(),
        1,
        "one warning per column: {}",
        output.err
    );
    let lines: Vec<&str> = output.out.lines().collect();
    assert_eq!((lines[2], lines[4]), (lines[3], lines[3]));
}

#[test]
fn a_number_in_a_categorical_column_is_a_new_category() {
    let dir = with_model();
    dir.file("new.csv", "size,age,town\n10,20,7\n10,20,\n");
    let output = dir.run("predict m.json new.csv").ends(0, &["warning: ", "town", "7"]);
    let lines: Vec<&str> = output.out.lines().collect();
    assert_eq!(lines[1], lines[2]);
}

#[test]
fn text_in_a_numeric_column_is_an_error() {
    let dir = with_model();
    dir.file("new.csv", "size,age,town\n10,20,Ash\n10,old,Ash\n");
    dir.fails("predict m.json new.csv --out p.csv", 2, &["new.csv:3", "'age'", "old"]);
}

#[test]
fn missing_columns_are_all_named() {
    let dir = with_model();
    dir.file("new.csv", "age,extra\n10,20\n");
    dir.fails("predict m.json new.csv --out p.csv", 2, &["new.csv", "size", "town"]);
    assert_eq!(
        dir.run("predict m.json new.csv").ends(2, &["new.csv"]).out,
        "",
        "not even a header is printed"
    );
    dir.file("new.csv", "size,age,town\n10,20,Ash\n");
    dir.fails("evaluate m.json new.csv", 2, &["new.csv", "sold"]);
}

#[test]
fn columns_may_come_in_another_order() {
    let dir = with_model();
    let table = dir.read("t.csv");
    let mut reordered = String::new();
    for line in table.lines() {
        let fields = fields(line);
        reordered.push_str(&format!(
            "{},\"{}\",extra,{},{}\n",
            fields[1], fields[2], fields[0], fields[3]
        ));
    }
    dir.file("reordered.csv", reordered);
    let plain = dir.run("predict m.json t.csv").works();
    assert!(!plain.err.contains("order"), "{}", plain.err);
    let output = dir.run("predict m.json reordered.csv").ends(0, &["warning: ", "order"]);
    assert_eq!(output.out, plain.out);
}

#[test]
fn rows_to_predict_may_be_absent_or_broken() {
    let dir = with_model();
    dir.file("none.csv", "size,age,town\n").file("ragged.csv", "size,age,town\n1,2,Ash\n1,2\n");
    dir.file("empty.csv", "");
    dir.fails("predict m.json ragged.csv --out p.csv", 2, &["ragged.csv:3"]);
    dir.fails("predict m.json empty.csv --out p.csv", 2, &["empty.csv"]);
    dir.fails("evaluate m.json none.csv", 2, &["none.csv"]);
}

#[test]
fn unknown_labels_are_an_error() {
    let dir = with_model();
    dir.file("new.csv", "size,age,town,sold\n10,20,Ash,yes\n10,20,Ash,perhaps\n");
    dir.fails("evaluate m.json new.csv", 2, &["new.csv:3", "perhaps"]);
}

#[test]
fn validation_rows_must_match_the_training_rows() {
    let dir = Scratch::new();
    dir.file("t.csv", regression(100, 1)).file("v.csv", "size,price\n1,2\n3,4\n");
    dir.fails(
        "train t.csv --target price --valid v.csv --out m.json",
        2,
        &["v.csv", "age", "town"],
    );
}
