//! Times the hot derivative loops in cache, on one thread:
//! `cargo run --release --example derivative_speed`.

use std::hint::black_box;
use std::time::Instant;

use swarmwood_learn::kernels::{derivatives, losses};

const ROWS: usize = 2048;
const CLASSES: usize = 7;

/// The fastest of many short runs, in nanoseconds a row.
fn best(mut run: impl FnMut()) -> f64 {
    (0..200)
        .map(|_| {
            let start = Instant::now();
            (0..50).for_each(|_| run());
            start.elapsed().as_nanos() as f64 / (50 * ROWS) as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let score: Vec<f32> =
        (0..ROWS * CLASSES).map(|i| (i * 7919 % 2003) as f32 / 200.0 - 5.0).collect();
    let class: Vec<f32> = (0..ROWS).map(|i| (i % CLASSES) as f32).collect();
    let target: Vec<f32> = (0..ROWS).map(|i| (i % 2) as f32).collect();
    let (mut g, mut h) = (vec![0f32; ROWS * CLASSES], vec![0f32; ROWS * CLASSES]);
    let one = &score[..ROWS];

    let squared = best(|| derivatives::squared(black_box(one), &target, &[], &mut g, &mut h));
    let logistic = best(|| derivatives::logistic(black_box(one), &target, &[], &mut g, &mut h));
    let factor = CLASSES as f32 / (CLASSES - 1) as f32;
    let softmax = best(|| {
        derivatives::softmax(CLASSES, factor, black_box(&score), &class, &[], &mut g, &mut h)
    });
    println!(
        "derivatives, ns a row: squared {squared:.3}, logistic {logistic:.3}, softmax of 7 {softmax:.3}"
    );

    let squared = best(|| _ = black_box(losses::squared(black_box(one), &target, &[])));
    let logistic = best(|| _ = black_box(losses::logistic(black_box(one), &target, &[])));
    let softmax = best(|| _ = black_box(losses::softmax(CLASSES, black_box(&score), &class, &[])));
    println!(
        "loss, ns a row: squared {squared:.3}, logistic {logistic:.3}, softmax of 7 {softmax:.3}"
    );
}
