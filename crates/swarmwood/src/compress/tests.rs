//! Students of small teachers.

use swarmwood_model::{Link, TargetKind};

use super::*;
use crate::params::{Method, Params};
use crate::read::{self, ReadOptions, Source};
use crate::train::train;

/// A table with numbers, a category and missing values; the target has so many classes, or is a
/// number.
fn table(classes: usize) -> Rows {
    let mut csv = String::from("a,b,kind,y\n");
    for row in 0..600_u32 {
        let (a, b) = (f64::from(row * 37 % 101) / 10.0, f64::from(row * 53 % 97) / 10.0);
        let kind = ["red", "green", "blue"][row as usize % 3];
        let score = a * b / 10.0 + if kind == "red" { 3.0 } else { 0.0 };
        let target = match classes {
            0 => format!("{score}"),
            _ => format!("class {}", (score / 13.0 * classes as f64) as usize % classes),
        };
        let b = if row % 11 == 0 { String::new() } else { b.to_string() };
        csv.push_str(&format!("{a},{b},{kind},{target}\n"));
    }
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    let bytes: &'static [u8] = Box::leak(csv.into_bytes().into_boxed_slice());
    read::training(&Source::Bytes("table.csv".into(), bytes), &options).unwrap()
}

fn big_model(rows: &Rows) -> Model {
    let params = Params { trees: 60, ..Params::of(Method::GREEDY) }.check().unwrap();
    train(rows, None, &params, &mut |_| {}).unwrap().model
}

fn compressed(rows: Rows, threads: usize, swaps: Auto<usize>) -> CompressResult {
    let model = big_model(&rows);
    let (rows, held_out) = rows.holdout(0.25, 3).unwrap();
    let params = Params { total_leaves: 64, threads, ..Params::default() }.check().unwrap();
    let request = CompressRequest {
        teacher: &ModelTeacher::new(&model, threads).unwrap(),
        rows: &rows,
        held_out: &held_out,
        is_labelled: true,
        swaps,
        params: &params,
        options: &TrainOptions::default(),
    };
    compress(&request, &mut |_| {}).unwrap()
}

#[test]
fn a_student_of_numbers_follows_its_teacher_with_few_leaves() {
    let result = compressed(table(0), 1, Auto::Auto);
    let leaves: usize =
        result.model.members().iter().map(|member| member.shape.leaves().len()).sum();
    assert!(leaves <= 64, "{leaves}");
    assert!(result.fidelity.r2.unwrap() > 0.9, "{:?}", result.fidelity);
    assert_eq!((result.data_rows, result.extra_rows), (450, 4 * 450));
    assert_eq!(result.fidelity.agreement, None);
    assert!(result.labels.unwrap().student.value("rmse").is_some());
}

#[test]
fn students_of_classes_predict_probabilities() {
    for classes in [2, 4] {
        let result = compressed(table(classes), 1, Auto::Is(4));
        let model = &result.model;
        let link = if classes == 2 { Link::Sigmoid } else { Link::Softmax };
        assert_eq!(model.link, link);
        assert!(
            matches!(&model.schema.target.kind, TargetKind::Classes(names) if names.len() == classes)
        );
        assert!(result.fidelity.agreement.unwrap() > 0.85, "{:?}", result.fidelity);
        let labels = result.labels.unwrap();
        assert!(labels.student.value("accuracy").unwrap() > 0.8);
        assert!(labels.teacher.interval("accuracy").is_some());
    }
}

#[test]
fn threads_do_not_change_a_student() {
    let one = compressed(table(4), 1, Auto::Is(2));
    let two = compressed(table(4), 2, Auto::Is(2));
    assert_eq!(one.model, two.model);
    assert_eq!(one.fidelity, two.fidelity);
}

#[test]
fn extra_rows_are_limited_and_can_be_left_out() {
    assert_eq!(passes(Auto::Is(0), 100), 0);
    assert_eq!(passes(Auto::Auto, 100), 4);
    assert_eq!(passes(Auto::Auto, 1 << 17), 4);
    assert_eq!(passes(Auto::Is(1000), 1 << 17), 8);
    assert_eq!(compressed(table(0), 1, Auto::Is(0)).extra_rows, 0);
}
