//! How many messages a tree takes, and that splits ahead of their turn change no bit of it.

use super::super::tests::{binned, data_for, fit_with, settings};
use super::*;
use crate::data::{Chunk, Column, Values};
use crate::dataset::Dataset;
use crate::objective::ObjectiveConfig;
use crate::stats::{LocalBackends, LoopbackBackends};
use swarmwood_model::{Feature, Kind};
use swarmwood_search::rng::Stream;

#[test]
fn messages_per_tree_are_one_per_level() {
    let data = data_for(&ObjectiveConfig::SQUARED, 3000);
    // The root, then a message per level. Leaf values and the next derivatives travel along.
    for growth in [Growth::Depth, Growth::Oblivious] {
        for spec in [ObjectiveConfig::SQUARED, ObjectiveConfig::ABSOLUTE] {
            let loopback = LoopbackBackends::default();
            let settings = GreedyConfig { depth: 4, report_every: 0, ..settings(growth) };
            fit_with(&loopback, &data, &spec, &settings, 1);
            // One message describes the rows and two gather scores.
            assert_eq!(loopback.messages(), 10 * 5 + 3, "{growth:?} {spec:?}");
        }
    }
}

/// Tables on which trees take different forms: smooth, stepped, additive over many columns, noise,
/// and long tails, which make chains.
fn generated(kind: usize, rows: usize) -> Dataset {
    let mut stream = Stream::new(5, kind as u64, 0);
    let mut columns = vec![Vec::new(); 8];
    let mut target = Vec::with_capacity(rows);
    for _ in 0..rows {
        let x: Vec<f64> = (0..8).map(|_| stream.unit()).collect();
        let noise = stream.normal();
        target.push(match kind {
            0 => (6.0 * x[0]).sin() + 2.0 * x[1] * x[2] + 0.1 * noise,
            1 => f64::from(u8::from(x[0] > 0.4)) * 3.0 + (x[1] * 4.0).floor() + 0.3 * noise,
            2 => x.iter().enumerate().map(|(at, x)| x * at as f64).sum::<f64>() + noise,
            3 => noise,
            _ => (3.0 * x[0]).exp() + (6.0 * x[1] * x[2]).exp() + noise,
        });
        columns.iter_mut().zip(x).for_each(|(column, x)| column.push(x));
    }
    let columns = columns.into_iter().map(Column::Number).collect();
    let number = |at: usize| Feature { name: format!("x{at}"), kind: Kind::Number };
    let features: Vec<Feature> = (0..8).map(number).collect();
    binned(&Chunk { columns, target, weight: Vec::new(), rows }, &features)
}

#[test]
fn leaf_wise_trees_of_32_leaves_take_at_most_20_messages() {
    for kind in 0..5 {
        let data = generated(kind, 3000);
        for spec in [ObjectiveConfig::SQUARED, ObjectiveConfig::ABSOLUTE] {
            // One message describes the rows and two gather scores.
            let mut before = 3;
            for trees in 1..=6 {
                let loopback = LoopbackBackends::default();
                let of_leaves = GreedyConfig { depth: 0, max_leaves: 32, ..settings(Growth::Leaf) };
                let settings = GreedyConfig { trees, report_every: 0, ..of_leaves };
                let (fit, _) = fit_with(&loopback, &data, &spec, &settings, 1);
                assert_eq!(fit.trees[trees - 1].leaves.len(), 32, "{kind} {spec:?}");

                let messages = loopback.messages() - before;
                assert!(messages <= 20, "{kind} {spec:?} {messages}");
                before = loopback.messages();
            }
        }
    }
}

#[test]
fn splits_ahead_of_their_turn_change_no_bit() {
    for (depth, max_leaves, subsample) in [(0, 32, 1.0), (5, 20, 0.7), (7, 0, 1.0), (0, 2, 0.5)] {
        let limits = GreedyConfig { depth, max_leaves, subsample, ..settings(Growth::Leaf) };
        for spec in [
            ObjectiveConfig::SQUARED,
            ObjectiveConfig::quantile(0.8),
            ObjectiveConfig::LOGISTIC,
            ObjectiveConfig::softmax(3),
        ] {
            let mut data = data_for(&spec, 2500);
            let weight = (0..2500).map(|row| 0.1 + f64::from(row % 7)).collect::<Vec<_>>();
            for weight in [Vec::new(), weight] {
                data.weight = Values::default();
                data.weight.extend(&weight);
                let alone = fit_with(&LocalBackends, &data, &spec, &limits, 1);
                let batched = fit_with(&LoopbackBackends::default(), &data, &spec, &limits, 2);
                assert_eq!(alone.0.trees, batched.0.trees, "{spec:?}");
                let scores = [&alone, &batched].map(|(fit, _)| &fit.ensemble.train_scores);
                assert_eq!(scores[0], scores[1], "{spec:?}");
                assert_eq!(alone.1, batched.1, "{spec:?}");
            }
        }
    }
}
