//! Worked examples of the paper, a plain booster as oracle, and the same bits whatever the threads,
//! the memory and the particles before.

use swarmwood_learn::bins::Layout;
use swarmwood_learn::data::{Chunk, Column, MISSING};
use swarmwood_learn::objective::order::weighted_quantile;
use swarmwood_learn::objective::{Logistic, ObjectiveConfig, Squared, make};
use swarmwood_learn::pool::Pool;
use swarmwood_learn::rule::Code;
use swarmwood_learn::stats::LoopbackBackends;
use swarmwood_model::{Feature, FeatureValue, Kind, Shape};
use swarmwood_search::rng::Stream;

use super::*;
use crate::test_context::{TestContext, distinct};

mod code_widths;

pub(super) fn settings(trees: usize, depth: usize) -> ParticleConfig {
    ParticleConfig {
        trees,
        form: TreeForm::Oblivious,
        depth,
        learning_rate: 1.0,
        lambda: 0.0,
        fitness: EvalMetric::Loss,
        memory: 1 << 30,
    }
}

pub(super) fn binned(chunk: &Chunk, features: &[Feature]) -> Dataset {
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), features, 60, &pool);
    Dataset::from_chunk(chunk, layout, &pool)
}

/// Numbers, missing values, exclusive flags and a category; the target suits the objective.
pub(super) fn table(rows: usize, spec: &ObjectiveConfig, weighted: bool) -> (Chunk, Vec<Feature>) {
    let mut stream = Stream::new(11, 1, 4);
    let mut columns = vec![Vec::new(); 6];
    let (mut category, mut target, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let (a, b, c, level) =
            (stream.unit(), stream.unit(), stream.below(4), stream.below(8) as u32);
        let signal = (a * 9.0).sin()
            + if b > 0.3 { 1.0 } else { 0.0 }
            + c as f64 / 2.0
            + f64::from(level % 3);
        let noisy = signal + stream.normal() * 0.5;
        target.push(match spec.name() {
            "logistic" => f64::from(noisy > 2.5),
            "softmax" => noisy.floor().clamp(0.0, spec.classes() as f64 - 1.0),
            "poisson" => noisy.abs().round(),
            "squared-log" | "squaredlogerror" => noisy.abs(),
            _ => noisy,
        });
        weight.push(0.25 + stream.unit());
        columns[0].push(a);
        columns[1].push(if b < 0.1 { f64::NAN } else { b });
        (0..4).for_each(|flag| columns[2 + flag as usize].push(f64::from(u8::from(c == flag))));
        category.push(if level == 7 { MISSING } else { level });
    }
    let mut columns: Vec<Column> = columns.into_iter().map(Column::Number).collect();
    columns.push(Column::Category(category));
    let mut features: Vec<Feature> =
        (0..6).map(|at| Feature { name: format!("x{at}"), kind: Kind::Number }).collect();
    let levels = (0..7).map(|level| level.to_string()).collect();
    features.push(Feature { name: "level".into(), kind: Kind::Category { levels } });
    if !weighted {
        weight.clear();
    }
    (Chunk { columns, target, weight, rows }, features)
}

pub(super) fn draw<C: Code>(stream: &mut Stream, table: &RuleTable<C>, length: usize) -> Vec<u32> {
    (0..length).map(|_| stream.below(table.len() as u64) as u32).collect()
}

fn value_of(chunk: &Chunk, row: usize, feature: u32) -> FeatureValue {
    match &chunk.columns[feature as usize] {
        Column::Number(values) => FeatureValue::Number(values[row]),
        Column::Category(codes) => FeatureValue::Category(codes[row]),
    }
}

/// Table 1 of the paper, in thousands.
fn table_1() -> (Chunk, Vec<Feature>) {
    let columns = vec![
        Column::Number(vec![100.0, 200.0, 600.0, 80.0, 1200.0, 1011.0]),
        Column::Number(vec![10.0, 20.0, 58.0, 61.0, 5.0, 250.0]),
    ];
    let target = vec![15.0, 90.0, 110.0, 180.0, 580.0, 780.0];
    let features =
        ["Ind", "Pop"].map(|name| Feature { name: name.into(), kind: Kind::Number }).to_vec();
    (Chunk { columns, target, weight: Vec::new(), rows: 6 }, features)
}

#[test]
fn the_worked_example_of_boosting_comes_out() {
    let (chunk, features) = table_1();
    let (data, limits) = (binned(&chunk, &features), TestContext::new(1));
    let rules = RuleTable::distinct(&data);
    let mut evaluator =
        Evaluator::new(&data, &rules, &Squared, settings(1, 1), limits.context()).unwrap();
    assert_eq!(evaluator.base(), [292.5], "F0");
    // Figure 1 parts rows 0 and 3 from the others: Ind above 150, midway between 100 and 200.
    let found = evaluator.evaluate(&[1]).unwrap();
    assert_eq!(
        found.leaves,
        [Leaf { value: -195.0, cover: 2.0 }, Leaf { value: 97.5, cover: 4.0 }]
    );
    let scores = evaluator.training_scores(&[1]).unwrap();
    assert_eq!(scores, [[-195.0, 97.5, 97.5, -195.0, 97.5, 97.5]]);
    let Shape::Oblivious(tree) = &evaluator.to_members(&[1]).unwrap()[0].shape else {
        unreachable!()
    };
    assert_eq!(tree.levels[0].split.test, swarmwood_model::Test::Above(150.0));
    // ½ (390² / 2 + 390² / 4): the root's sum is zero.
    assert_eq!(tree.levels[0].gain, 57037.5);
}

#[test]
fn a_sequence_of_section_5_1_is_level_after_level() {
    // Table 3, and its rules (F2, 130) and (F1, 0.2): numbers 5 and 1.
    let values: [&[f64]; 3] =
        [&[0.1, 0.2, 0.3, 0.8], &[100.0, 100.0, 130.0, 199.0], &[-1.8, 2.1, 3.4, -1.7]];
    let columns = values.map(|values| Column::Number(values.to_vec())).to_vec();
    let features: Vec<Feature> =
        (1..4).map(|at| Feature { name: format!("F{at}"), kind: Kind::Number }).collect();
    let chunk = Chunk { columns, target: vec![1.0, 2.0, 4.0, 9.0], weight: Vec::new(), rows: 4 };
    let (data, limits) = (binned(&chunk, &features), TestContext::new(1));
    let rules = RuleTable::distinct(&data);
    let mut evaluator =
        Evaluator::new(&data, &rules, &Squared, settings(1, 2), limits.context()).unwrap();
    // Only row 3 is above 130 (bit 0), rows 2 and 3 are above 0.2 (bit 1): leaves 0, 0, 2, 3,
    // targets less the mean 4.
    let values: Vec<f64> =
        evaluator.evaluate(&[5, 1]).unwrap().leaves.iter().map(|leaf| leaf.value).collect();
    assert_eq!(values, [-2.5, 0.0, 0.0, 5.0]);
    // The whole sequence of the paper, as one particle of seven stumps: every number has a rule.
    let mut evaluator =
        Evaluator::new(&data, &rules, &Squared, settings(7, 1), limits.context()).unwrap();
    let found = evaluator.evaluate(&[5, 3, 1, 0, 2, 4, 7]).unwrap();
    assert!(found.fitness < 1.0 && found.leaves.len() == 14);
}

/// Boosting said row by row, on values rather than codes, in `f64`.
struct Plain {
    leaves: Vec<Vec<f64>>,
    loss: f64,
    score: Vec<f64>,
}

fn plain(
    chunk: &Chunk,
    trees: &[Vec<swarmwood_model::Split>],
    spec: &ObjectiveConfig,
    s: &ParticleConfig,
) -> Plain {
    let objective = make(spec);
    let target: Vec<f64> = chunk.target.iter().map(|&y| objective.transform_target(y)).collect();
    let start = objective.start(&target, &chunk.weight)[0];
    let mut score = vec![start; chunk.rows];
    let narrow =
        |values: &[f64]| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() };
    let (target, weight) = (narrow(&target), narrow(&chunk.weight));
    let mut all = Vec::new();
    for splits in trees {
        let leaf_of = |row: usize| {
            let side = |split: &swarmwood_model::Split| {
                split.goes_right(value_of(chunk, row, split.feature))
            };
            splits
                .iter()
                .enumerate()
                .map(|(level, split)| usize::from(side(split)) << level)
                .sum::<usize>()
        };
        let (mut g, mut h) = (vec![0.0; chunk.rows], vec![0.0; chunk.rows]);
        objective.derivatives(&narrow(&score), &target, &weight, &mut g, &mut h);
        let mut values = vec![0.0; 1 << splits.len()];
        for (leaf, value) in values.iter_mut().enumerate() {
            let rows: Vec<usize> = (0..chunk.rows).filter(|&row| leaf_of(row) == leaf).collect();
            let sum = |of: &[f32]| rows.iter().map(|&row| f64::from(of[row])).sum::<f64>();
            *value = if rows.is_empty() { 0.0 } else { -sum(&g) / (sum(&h) + s.lambda) };
            if let Some(alpha) = objective.leaf_quantile() {
                let weight = |row: usize| chunk.weight.get(row).copied().unwrap_or(1.0);
                let mut pairs: Vec<(f64, f64)> = rows
                    .iter()
                    .map(|&row| (f64::from(target[row]) - score[row], weight(row)))
                    .collect();
                *value = weighted_quantile(&mut pairs, alpha).unwrap_or(0.0);
            }
            *value *= s.learning_rate;
        }
        (0..chunk.rows).for_each(|row| score[row] += values[leaf_of(row)]);
        all.push(values);
    }
    let total = if weight.is_empty() { chunk.rows as f64 } else { chunk.weight.iter().sum() };
    let loss = objective.loss(&narrow(&score), &target, &weight) / total;
    Plain { leaves: all, loss, score }
}

#[test]
fn every_objective_of_one_output_equals_the_plain_booster() {
    let specs = [
        ObjectiveConfig::SQUARED,
        ObjectiveConfig::SQUARED_LOG,
        ObjectiveConfig::ABSOLUTE,
        ObjectiveConfig::huber(0.7),
        ObjectiveConfig::quantile(0.8),
        ObjectiveConfig::POISSON,
        ObjectiveConfig::LOGISTIC,
    ];
    let limits = TestContext::new(2);
    let mut stream = Stream::new(5, 0, 0);
    for (spec, weighted) in specs.iter().flat_map(|spec| [(spec, false), (spec, true)]) {
        let (chunk, features) = table(5000, spec, weighted);
        let data = binned(&chunk, &features);
        let (rules, objective) = (RuleTable::distinct(&data), make(spec));
        for (depth, learning_rate, lambda) in [(1, 1.0, 0.0), (3, 0.5, 1.0), (5, 0.3, 2.0)] {
            let settings = ParticleConfig { learning_rate, lambda, ..settings(4, depth) };
            let mut evaluator =
                Evaluator::new(&data, &rules, objective.as_ref(), settings, limits.context())
                    .unwrap();
            let sequence = draw(&mut stream, &rules, 4 * depth);
            let splits: Vec<Vec<_>> = sequence
                .chunks(depth)
                .map(|tree| {
                    tree.iter().map(|&at| data.layout.split(&rules.rules()[at as usize])).collect()
                })
                .collect();
            let expected = plain(&chunk, &splits, spec, &settings);
            let found = evaluator.evaluate(&sequence).unwrap();
            for (tree, values) in expected.leaves.iter().enumerate() {
                for (at, value) in values.iter().enumerate() {
                    let own = found.leaves[(tree << depth) + at].value;
                    assert!(
                        (own - value).abs() < 2e-4 * (1.0 + value.abs()),
                        "{spec:?} {own} is not {value}"
                    );
                }
            }
            assert!(
                (found.fitness - expected.loss).abs() < 1e-4 * (1.0 + expected.loss),
                "{spec:?}"
            );
            let scores = evaluator.training_scores(&sequence).unwrap();
            let shift = evaluator.shift();
            let near = |(own, plain): (&f32, &f64)| (f64::from(*own) + shift - plain).abs() < 1e-3;
            assert!(scores[0].iter().zip(&expected.score).all(near), "{spec:?}");
        }
    }
}

#[test]
fn members_predict_what_was_trained() {
    let (chunk, features) = table(9000, &ObjectiveConfig::LOGISTIC, false);
    let (data, limits) = (binned(&chunk, &features), TestContext::new(1));
    let rules = RuleTable::bins(&data);
    let mut evaluator =
        Evaluator::new(&data, &rules, &Logistic, settings(6, 5), limits.context()).unwrap();
    let sequence = draw(&mut Stream::new(1, 2, 3), &rules, 30);
    let members = evaluator.to_members(&sequence).unwrap();
    let scores = evaluator.training_scores(&sequence).unwrap();
    for (row, score) in scores[0].iter().enumerate() {
        let leaf = |member: &Member| {
            member.shape.leaf_of(|feature| value_of(&chunk, row, feature)) as usize
        };
        let sum: f64 = members.iter().map(|member| member.shape.leaves()[leaf(member)].value).sum();
        assert!((evaluator.base()[0] + sum - f64::from(*score)).abs() < 1e-4);
    }
    // Without a penalty no level can lose, and the levels' gains are the tree's.
    for member in &members {
        let Shape::Oblivious(tree) = &member.shape else { unreachable!() };
        assert!(tree.levels.iter().all(|level| level.gain >= -1e-9));
        let whole: f64 =
            tree.leaves.iter().map(|leaf| 0.5 * leaf.value * leaf.value * leaf.cover).sum();
        let covers: f64 = tree.leaves.iter().map(|leaf| leaf.cover).sum();
        let slope: f64 = tree.leaves.iter().map(|leaf| leaf.value * leaf.cover).sum();
        let gains: f64 = tree.levels.iter().map(|level| level.gain).sum();
        assert!((gains - (whole - 0.5 * slope * slope / covers)).abs() < 1e-6 * (1.0 + whole));
    }
}

/// Particles as a swarm makes them: some begin like the one before, some are repeated.
fn swarm<C: Code>(rules: &RuleTable<C>, trees: usize, depth: usize) -> Vec<Vec<u32>> {
    let mut stream = Stream::new(8, 8, 8);
    let mut all: Vec<Vec<u32>> = vec![draw(&mut stream, rules, trees * depth)];
    for at in 1..20 {
        let mut next = all[at - 1].clone();
        let from = stream.below(trees as u64 * depth as u64 + 1) as usize;
        let tail = draw(&mut stream, rules, trees * depth - from);
        next[from..].copy_from_slice(&tail);
        all.push(next);
    }
    all
}

/// Leaves and fitness as bits.
fn bits(found: &Evaluation) -> Vec<u64> {
    let leaves = found.leaves.iter().map(|leaf| leaf.value.to_bits());
    leaves.chain([found.fitness.to_bits()]).collect()
}

/// Evaluates the particles of a swarm in every way there is; their bits.
fn check_history<C: ParticleCode>(
    data: &Dataset<C>,
    objective: &dyn Objective,
    form: TreeForm,
) -> Vec<Vec<u64>> {
    let settings = ParticleConfig { form, ..settings(4, 3) };
    let rules = RuleTable::distinct(data);
    assert!(data.plan.shards > 2);
    let particles = swarm(&rules, 4, form.rules(3) * objective.outputs());
    let one = TestContext::new(1);
    let fresh = |particle: &Vec<u32>| {
        let mut evaluator =
            Evaluator::new(data, &rules, objective, settings, one.context()).unwrap();
        bits(&evaluator.evaluate(particle).unwrap())
    };
    let expected: Vec<Vec<u64>> = particles.iter().map(fresh).collect();
    let loopback = LoopbackBackends::default();
    let set = ParticleSet::new(data, rules.rules(), objective, settings);
    let mut encoded = Evaluator::with_backends(set, one.context(), &loopback).unwrap();
    for (particle, expected) in particles.iter().zip(&expected) {
        assert_eq!(&bits(&encoded.evaluate(particle).unwrap()), expected);
    }
    for (threads, memory) in [
        (1, 1 << 30),
        (2, 1 << 30),
        (3, 0),
        (2, data.rows() * 4 * 2 * 2 * objective.outputs()),
        (8, 1 << 30),
    ] {
        let limits = TestContext::new(threads);
        let settings = ParticleConfig { memory, ..settings };
        let mut evaluator =
            Evaluator::new(data, &rules, objective, settings, limits.context()).unwrap();
        let mut reused = 0;
        for (particle, expected) in particles.iter().zip(&expected) {
            let found = evaluator.evaluate(particle).unwrap();
            reused += found.reused;
            assert_eq!(&bits(&found), expected, "{threads} threads, {memory} bytes");
        }
        assert!((memory == 0) || reused > 5, "{reused}");
        let all = evaluator.evaluate_all(&particles).unwrap();
        let all: Vec<Vec<u64>> = all.iter().flatten().map(bits).collect();
        assert_eq!(all, expected);
    }
    expected
}

#[test]
fn threads_memory_and_history_change_no_bit() {
    let kinds = [
        (ObjectiveConfig::LOGISTIC, TreeForm::Oblivious),
        (ObjectiveConfig::ABSOLUTE, TreeForm::Free),
        (ObjectiveConfig::softmax(3), TreeForm::Free),
    ];
    for (spec, form) in kinds {
        let (chunk, features) = table(20_000, &spec, false);
        let objective = make(&spec);
        check_history(&binned(&chunk, &features), objective.as_ref(), form);
        let two = check_history(&distinct::<u16>(&chunk, &features), objective.as_ref(), form);
        let four = check_history(&distinct::<u32>(&chunk, &features), objective.as_ref(), form);
        assert_eq!(two, four);
    }
}

#[test]
fn what_is_shared_is_reused() {
    let (chunk, features) = table(3000, &ObjectiveConfig::SQUARED, false);
    let (data, limits) = (binned(&chunk, &features), TestContext::new(1));
    let rules = RuleTable::distinct(&data);
    let mut evaluator =
        Evaluator::new(&data, &rules, &Squared, settings(3, 2), limits.context()).unwrap();
    let mut reused = |sequence: &[u32]| evaluator.evaluate(sequence).unwrap().reused;
    assert_eq!(reused(&[1, 2, 3, 4, 5, 6]), 0);
    assert_eq!(reused(&[1, 2, 3, 4, 5, 6]), 3);
    assert_eq!(reused(&[1, 2, 3, 4, 5, 7]), 2);
    assert_eq!(reused(&[1, 2, 3, 9, 5, 7]), 1);
    assert_eq!(reused(&[0, 2, 3, 9, 5, 7]), 0);
    // Room for the scores after one tree alone: only a repetition saves anything.
    let little = ParticleConfig { memory: 0, ..settings(3, 2) };
    let mut evaluator = Evaluator::new(&data, &rules, &Squared, little, limits.context()).unwrap();
    let mut reused = |sequence: &[u32]| evaluator.evaluate(sequence).unwrap().reused;
    assert_eq!(
        [reused(&[1, 2, 3, 4, 5, 6]), reused(&[1, 2, 3, 4, 5, 7]), reused(&[1, 2, 3, 4, 5, 7])],
        [0, 0, 3]
    );
}

#[test]
fn fitness_is_the_metric_of_that_name() {
    let limits = TestContext::new(1);
    for (spec, weighted) in [
        (ObjectiveConfig::LOGISTIC, false),
        (ObjectiveConfig::LOGISTIC, true),
        (ObjectiveConfig::SQUARED, true),
        (ObjectiveConfig::POISSON, false),
    ] {
        let (chunk, features) = table(6000, &spec, weighted);
        let data = binned(&chunk, &features);
        let (rules, objective) = (RuleTable::bins(&data), make(&spec));
        let sequence = draw(&mut Stream::new(2, 2, 2), &rules, 12);
        for fitness in [EvalMetric::Loss, EvalMetric::Accuracy, EvalMetric::Rmse] {
            let settings = ParticleConfig { fitness, ..settings(4, 3) };
            let made =
                Evaluator::new(&data, &rules, objective.as_ref(), settings, limits.context());
            let Ok(mut evaluator) = made else {
                assert!(fitness == EvalMetric::Accuracy && spec != ObjectiveConfig::LOGISTIC);
                continue;
            };
            let found = evaluator.evaluate(&sequence).unwrap();
            let scores = evaluator.training_scores(&sequence).unwrap();
            let shift = evaluator.shift();
            let target: Vec<f32> = data.target.iter().map(|y| (y - shift) as f32).collect();
            let weight: Vec<f32> = data.weight.iter().map(|weight| weight as f32).collect();
            let watch = fitness;
            let expected =
                watch.finish(watch.partial(&scores[0], &target, &weight, objective.as_ref()));
            assert!(
                (found.fitness - expected).abs() < 1e-6,
                "{spec:?} {fitness:?} {} {expected}",
                found.fitness
            );
            assert_eq!(
                found.cost,
                if fitness == EvalMetric::Accuracy { 1.0 - found.fitness } else { found.fitness }
            );
            assert_eq!(evaluator.measure(&sequence, fitness), Ok(found.fitness));
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let (chunk, features) = table_1();
    let (data, limits) = (binned(&chunk, &features), TestContext::new(1));
    let rules = RuleTable::distinct(&data);
    let fault = |objective: &dyn Objective, settings: ParticleConfig| {
        Evaluator::new(&data, &rules, objective, settings, limits.context())
            .err()
            .map(|error| error.to_string())
    };
    assert!(fault(&Squared, settings(0, 3)).unwrap().contains("at least one tree"));
    assert!(fault(&Squared, settings(1, 0)).is_some() && fault(&Squared, settings(1, 9)).is_some());
    assert!(
        fault(&Squared, ParticleConfig { fitness: EvalMetric::Accuracy, ..settings(1, 1) })
            .unwrap()
            .contains("rmse")
    );
    let mut evaluator =
        Evaluator::new(&data, &rules, &Squared, settings(2, 2), limits.context()).unwrap();
    assert_eq!(
        evaluator.evaluate(&[0; 3]).unwrap_err().to_string(),
        "a sequence of 3 rules; 2 trees with 2 rules each need 4"
    );
    assert_eq!(
        evaluator.evaluate(&[0, 0, 12, 0]),
        Err(ParticleError::Rule { index: 12, position: 2, rules: 12 })
    );
    assert!(evaluator.evaluate_all(&[vec![0; 4], vec![0; 5]]).is_err());
    assert_eq!(evaluator.evaluate_all::<Vec<u32>>(&[]), Ok(Vec::new()));
}

/// Where a row ends in the trees of one round, walking on values.
fn walk(
    chunk: &Chunk,
    row: usize,
    splits: &[swarmwood_model::Split],
    form: TreeForm,
    depth: usize,
) -> usize {
    let (mut node, mut leaf) = (0, 0);
    for level in 0..depth {
        let split = &splits[if form == TreeForm::Free { node } else { level }];
        let right = usize::from(split.goes_right(value_of(chunk, row, split.feature)));
        leaf |= right << level;
        node = 2 * node + 1 + right;
    }
    leaf
}

/// Softmax and trees of free nodes, said row by row: every round fits one tree a class to the
/// derivatives before it.
#[test]
fn classes_and_free_trees_equal_the_plain_booster() {
    let limits = TestContext::new(2);
    let mut stream = Stream::new(6, 0, 0);
    let classes = ObjectiveConfig::softmax(3);
    for (spec, form, weighted) in [
        (&classes, TreeForm::Oblivious, false),
        (&classes, TreeForm::Free, true),
        (&ObjectiveConfig::SQUARED, TreeForm::Free, false),
        (&ObjectiveConfig::LOGISTIC, TreeForm::Free, true),
    ] {
        let (chunk, features) = table(5000, spec, weighted);
        let data = binned(&chunk, &features);
        let (rules, objective, depth, rounds) = (RuleTable::distinct(&data), make(spec), 3, 3);
        let (outputs, rows) = (objective.outputs(), chunk.rows);
        let settings =
            ParticleConfig { learning_rate: 0.6, lambda: 1.0, form, ..settings(rounds, depth) };
        let mut evaluator =
            Evaluator::new(&data, &rules, objective.as_ref(), settings, limits.context()).unwrap();
        let sequence = draw(&mut stream, &rules, evaluator.length());
        assert_eq!(sequence.len(), rounds * outputs * form.rules(depth));
        let narrow =
            |values: &[f64]| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() };
        let (target, weight) = (narrow(&chunk.target), narrow(&chunk.weight));
        let start = objective.start(&chunk.target, &chunk.weight);
        let mut score: Vec<f64> = start.iter().flat_map(|&start| vec![start; rows]).collect();
        let found = evaluator.evaluate(&sequence).unwrap();
        let mut trees = sequence.chunks(form.rules(depth)).zip(found.leaves.chunks(1 << depth));
        for _ in 0..rounds {
            let (mut g, mut h) = (vec![0.0; score.len()], vec![0.0; score.len()]);
            objective.derivatives(&narrow(&score), &target, &weight, &mut g, &mut h);
            for output in 0..outputs {
                let (tree, leaves) = trees.next().unwrap();
                let splits: Vec<_> =
                    tree.iter().map(|&at| data.layout.split(&rules.rules()[at as usize])).collect();
                let mut sums = vec![[0.0; 2]; 1 << depth];
                let ends: Vec<usize> =
                    (0..rows).map(|row| walk(&chunk, row, &splits, form, depth)).collect();
                for (row, &leaf) in ends.iter().enumerate() {
                    sums[leaf][0] += f64::from(g[output * rows + row]);
                    sums[leaf][1] += f64::from(h[output * rows + row]);
                }
                let values: Vec<f64> = sums.iter().map(|[g, h]| -g / (h + 1.0) * 0.6).collect();
                for (leaf, value) in leaves.iter().zip(&values) {
                    assert!(
                        (leaf.value - value).abs() < 2e-4 * (1.0 + value.abs()),
                        "{spec:?} {form:?}"
                    );
                }
                ends.iter()
                    .enumerate()
                    .for_each(|(row, &leaf)| score[output * rows + row] += values[leaf]);
            }
        }
        let total = if weight.is_empty() { rows as f64 } else { chunk.weight.iter().sum() };
        let loss = objective.loss(&narrow(&score), &target, &weight) / total;
        assert!(
            (found.fitness - loss).abs() < 1e-4 * (1.0 + loss),
            "{spec:?} {form:?} {} {loss}",
            found.fitness
        );

        // The members of the model give the same scores.
        let members = evaluator.to_members(&sequence).unwrap();
        let scores = evaluator.training_scores(&sequence).unwrap();
        for row in 0..300 {
            for output in 0..outputs {
                let own = members.iter().filter(|member| member.output as usize == output);
                let value = |member: &Member| {
                    let leaf = member.shape.leaf_of(|feature| value_of(&chunk, row, feature));
                    member.shape.leaves()[leaf as usize].value
                };
                let sum = start[output] + own.map(value).sum::<f64>();
                assert!((sum - score[output * rows + row]).abs() < 1e-3);
                assert!((sum - f64::from(scores[output][row]) - evaluator.shift()).abs() < 1e-3);
            }
        }
    }
}

#[test]
fn gains_of_free_nodes_add_up_to_the_tree() {
    let (chunk, features) = table(4000, &ObjectiveConfig::SQUARED, false);
    let (data, limits) = (binned(&chunk, &features), TestContext::new(1));
    let rules = RuleTable::bins(&data);
    let settings = ParticleConfig { form: TreeForm::Free, ..settings(1, 4) };
    let mut evaluator =
        Evaluator::new(&data, &rules, &Squared, settings, limits.context()).unwrap();
    let sequence = draw(&mut Stream::new(1, 2, 3), &rules, 15);
    let Shape::Ordinary(tree) = evaluator.to_members(&sequence).unwrap().remove(0).shape else {
        unreachable!()
    };
    assert_eq!((tree.nodes.len(), tree.leaves.len(), tree.depth()), (15, 16, 4));
    let whole: f64 =
        tree.leaves.iter().map(|leaf| 0.5 * leaf.value * leaf.value * leaf.cover).sum();
    let gains: f64 = tree.nodes.iter().map(|node| node.gain).sum();
    // The first tree of a squared loss starts at the mean, so the root has nothing to gain.
    assert!((gains - whole).abs() < 1e-3 * whole, "{gains} {whole}");
    assert_eq!(tree.nodes[0].cover, 4000.0);
}
