//! What every way of growing must keep: planted answers, conservation, monotone training loss, the
//! same model for any number of threads, and agreement with a plain booster that looks at every row
//! and every cut.

mod exact;
mod hosts;
mod lookahead;
mod monotone;

use swarmwood_model::{Child, Feature, Kind, Shape};

use super::dart::DartConfig;
use super::*;
use crate::bins::Layout;
use crate::budget::Budget;
use crate::data::{Chunk, Column, MISSING};
use crate::dataset::Dataset;
use crate::kernels::quantise::GradientScale;
use crate::objective::{ObjectiveConfig, make};
use crate::pool::Pool;
use crate::split::Ridge;
use crate::stats::{BackendFactory, LocalBackends, LoopbackBackends, SplitCommand, SplitQuery};

pub(super) fn settings(growth: Growth) -> GreedyConfig {
    GreedyConfig {
        trees: 10,
        growth,
        depth: 4,
        max_leaves: 0,
        lookahead: Lookahead::Off,
        learning_rate: 0.3,
        penalties: Penalties { lambda: 1.0, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 1.0 },
        subsample: 1.0,
        colsample_bytree: 1.0,
        dart: None,
        early_stopping_rounds: 0,
        metric: EvalMetric::Loss,
        seed: 7,
        memory: 1 << 30,
        report_every: 1,
    }
}

const GROWTHS: [Growth; 3] = [Growth::Depth, Growth::Leaf, Growth::Oblivious];

/// Numbers, missing values, exclusive flags and a category that all matter, with some noise.
fn table(rows: usize, classes: usize) -> (Chunk, Vec<Feature>) {
    let mut stream = Stream::new(3, 1, 4);
    let mut columns = vec![Vec::new(); 6];
    let (mut category, mut target) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        // A grid of 80 values, so that a planted threshold between two of them is a bin's edge.
        let (a, b, c) = ((stream.unit() * 80.0).floor() / 8.0, stream.unit(), stream.below(4));
        let level = stream.below(8) as u32;
        let signal =
            a.sin() * 3.0 + if b > 0.3 { 2.0 } else { 0.0 } + c as f64 + f64::from(level % 3);
        let noisy = signal + stream.normal() * 0.3;
        target.push(if classes == 0 {
            noisy
        } else {
            (noisy * 0.3).rem_euclid(classes as f64).floor()
        });
        columns[0].push(a);
        columns[1].push(if b < 0.1 { f64::NAN } else { b });
        (0..4).for_each(|flag| columns[2 + flag as usize].push(f64::from(u8::from(c == flag))));
        category.push(if level == 7 { MISSING } else { level });
    }
    let mut columns: Vec<Column> = columns.into_iter().map(Column::Number).collect();
    columns.push(Column::Category(category));
    let number = |at: usize| Feature { name: format!("x{at}"), kind: Kind::Number };
    let mut features: Vec<Feature> = (0..6).map(number).collect();
    let levels = (0..7).map(|level| level.to_string()).collect();
    features.push(Feature { name: "level".into(), kind: Kind::Category { levels } });
    (Chunk { columns, target, weight: Vec::new(), rows }, features)
}

pub(super) fn binned(chunk: &Chunk, features: &[Feature]) -> Dataset {
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), features, 255, &pool);
    Dataset::from_chunk(chunk, layout, &pool)
}

fn fit(
    data: &Dataset,
    spec: &ObjectiveConfig,
    settings: &GreedyConfig,
    threads: usize,
) -> (BoostingFit, Vec<f64>) {
    fit_with(&LocalBackends, data, spec, settings, threads)
}

pub(super) fn fit_with(
    backends: &dyn BackendFactory,
    data: &Dataset,
    spec: &ObjectiveConfig,
    settings: &GreedyConfig,
    threads: usize,
) -> (BoostingFit, Vec<f64>) {
    let mut losses = Vec::new();
    let (pool, budget) = (Pool::new(threads).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let objective = make(spec);
    let set = TrainingSet { backends, ..TrainingSet::new(data, None, &*objective) };
    let fit = train(set, settings, context, &mut |event| losses.extend(event.train)).unwrap();
    (fit, losses)
}

const SPECS: [ObjectiveConfig; 9] = [
    ObjectiveConfig::SQUARED,
    ObjectiveConfig::SQUARED_LOG,
    ObjectiveConfig::SQUARED_LOG_ERROR,
    ObjectiveConfig::ABSOLUTE,
    ObjectiveConfig::huber(1.0),
    ObjectiveConfig::quantile(0.8),
    ObjectiveConfig::POISSON,
    ObjectiveConfig::LOGISTIC,
    ObjectiveConfig::softmax(3),
];

pub(super) fn data_for(spec: &ObjectiveConfig, rows: usize) -> Dataset {
    let classes = if *spec == ObjectiveConfig::LOGISTIC { 2 } else { spec.classes() };
    let (mut chunk, features) = table(rows, classes);
    if classes == 0 {
        // Poisson and squared-log want targets above zero.
        chunk.target.iter_mut().for_each(|y| *y = (*y + 6.0).max(0.0));
    }
    binned(&chunk, &features)
}

#[test]
fn the_training_loss_falls_in_every_round_for_every_objective_and_growth() {
    for spec in SPECS {
        let data = data_for(&spec, 3000);
        for growth in GROWTHS {
            let (_, losses) = fit(&data, &spec, &settings(growth), 1);
            assert_eq!(losses.len(), 10);
            assert!(
                losses.windows(2).all(|pair| pair[1] < pair[0]),
                "{spec:?} {growth:?} {losses:?}"
            );
            assert!(losses[9] < 0.95 * losses[0], "{spec:?} {growth:?} {losses:?}");
        }
    }
}

#[test]
fn any_number_of_threads_and_every_backend_give_the_same_trees() {
    let loopback = LoopbackBackends::default();
    for spec in [
        ObjectiveConfig::SQUARED,
        ObjectiveConfig::LOGISTIC,
        ObjectiveConfig::softmax(3),
        ObjectiveConfig::ABSOLUTE,
    ] {
        let data = data_for(&spec, 20_000);
        assert!(data.plan.shards > 1);
        let drop = DartConfig { rate_drop: 0.5, skip_drop: 0.0, max_drop: 0 };
        for (growth, dart) in
            GROWTHS.iter().flat_map(|&growth| [(growth, None), (growth, Some(drop))])
        {
            let settings = GreedyConfig {
                trees: 4,
                subsample: 0.7,
                colsample_bytree: 0.8,
                dart,
                ..settings(growth)
            };
            let one = fit(&data, &spec, &settings, 1);
            for threads in [2, 3, 8, 0] {
                let many = match threads {
                    0 => fit_with(&loopback, &data, &spec, &settings, 2),
                    _ => fit(&data, &spec, &settings, threads),
                };
                let what = format!("{spec:?} {growth:?} {dart:?} {threads}");
                assert_eq!(one.0.ensemble, many.0.ensemble, "{what}");
                assert_eq!(one.1, many.1, "{what}");
            }
        }
    }
}

#[test]
fn leaf_wise_trees_use_their_budget_on_every_backend() {
    let spec = ObjectiveConfig::SQUARED;
    let data = data_for(&spec, 9000);
    assert!(data.plan.shards > 1);
    for leaves in [2, 3, 7, 31] {
        let settings = GreedyConfig { depth: 0, max_leaves: leaves, ..settings(Growth::Leaf) };
        let one = fit(&data, &spec, &settings, 1).0;
        for other in [
            fit(&data, &spec, &settings, 2).0,
            fit(&data, &spec, &settings, 8).0,
            fit_with(&LoopbackBackends::default(), &data, &spec, &settings, 2).0,
        ] {
            assert_eq!(one.ensemble, other.ensemble);
        }
        for member in &one.ensemble.members {
            let Shape::Ordinary(tree) = &member.shape else {
                panic!("leaf-wise trees are ordinary")
            };
            assert_eq!(tree.leaves.len(), leaves);
        }
    }
}

#[test]
fn scores_are_the_sum_of_the_leaves_each_row_falls_into() {
    let data = data_for(&ObjectiveConfig::SQUARED, 5000);
    for growth in GROWTHS {
        for dart in [None, Some(DartConfig { rate_drop: 0.3, skip_drop: 0.2, max_drop: 3 })] {
            let settings = GreedyConfig { subsample: 0.6, dart, ..settings(growth) };
            let fit = fit(&data, &ObjectiveConfig::SQUARED, &settings, 2).0;
            let traversals: Vec<_> =
                fit.trees.iter().map(|tree| tree.traversal(&data.layout)).collect();
            for (shard, rows) in data.shards.iter().enumerate() {
                for row in (0..rows.rows).step_by(7) {
                    let leaves = traversals.iter().zip(&fit.trees);
                    let sum: f64 =
                        leaves.map(|(w, tree)| tree.leaves[w.leaf(&rows.columns, row)].value).sum();
                    let score =
                        f64::from(fit.ensemble.train_scores[0][data.plan.global(shard, row)]);
                    assert!((sum - score).abs() < 1e-4, "{growth:?} {sum} {score}");
                }
            }
        }
    }
}

#[test]
fn covers_of_children_add_up_to_their_parent() {
    let data = data_for(&ObjectiveConfig::LOGISTIC, 4000);
    let fit = fit(&data, &ObjectiveConfig::LOGISTIC, &settings(Growth::Depth), 1).0;
    for member in &fit.ensemble.members {
        let Shape::Ordinary(tree) = &member.shape else { panic!("depth-wise trees are ordinary") };
        let cover = |child: Child| match child {
            Child::Node(at) => tree.nodes[at as usize].cover,
            Child::Leaf(at) => tree.leaves[at as usize].cover,
        };
        for node in &tree.nodes {
            assert!(
                (cover(node.left) + cover(node.right) - node.cover).abs()
                    < 1e-6 * node.cover.max(1.0)
            );
            assert!(
                cover(node.left) >= 0.99 && cover(node.right) >= 0.99,
                "min_child_weight is kept"
            );
            assert!(node.gain > 0.0);
        }
    }
}

#[test]
fn a_planted_tree_is_found() {
    // y depends on x0 > 5, then on the category, then on whether x1 is missing.
    let rows = 4000;
    let (mut chunk, features) = table(rows, 0);
    let (Column::Number(x0), Column::Number(x1), Column::Category(level)) =
        (&chunk.columns[0], &chunk.columns[1], &chunk.columns[6])
    else {
        unreachable!()
    };
    chunk.target = (0..rows)
        .map(|row| {
            let group = [1, 4, 6].contains(&level[row]);
            if x0[row] > 5.0 {
                if group { 10.0 } else { 20.0 }
            } else if x1[row].is_nan() {
                -30.0
            } else {
                -5.0
            }
        })
        .collect();
    let data = binned(&chunk, &features);
    let settings = GreedyConfig {
        trees: 1,
        depth: 2,
        learning_rate: 1.0,
        penalties: Penalties { lambda: 0.0, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 1.0 },
        ..settings(Growth::Depth)
    };
    let (fit, losses) = fit(&data, &ObjectiveConfig::SQUARED, &settings, 1);
    assert!(losses[0] < 1e-6, "{losses:?}");
    let Shape::Ordinary(tree) = &fit.ensemble.members[0].shape else { unreachable!() };
    let used: Vec<u32> = tree.nodes.iter().map(|node| node.split.feature).collect();
    assert_eq!(used[0], 0);
    assert!(used.contains(&1) && used.contains(&6), "{used:?}");
}

#[test]
fn weights_count_like_repeated_rows() {
    let (mut chunk, features) = table(600, 0);
    let mut doubled = chunk.clone();
    let half = Chunk {
        columns: chunk.columns.iter().map(|column| column_head(column, 300)).collect(),
        target: chunk.target[..300].to_vec(),
        weight: Vec::new(),
        rows: 300,
    };
    doubled.append(&half);
    chunk.weight = (0..600).map(|row| if row < 300 { 2.0 } else { 1.0 }).collect();
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
    let weighted = Dataset::from_chunk(&chunk, layout.clone(), &pool);
    let repeated = Dataset::from_chunk(&doubled, layout, &pool);
    for growth in GROWTHS {
        let (a, b) = (
            fit(&weighted, &ObjectiveConfig::SQUARED, &settings(growth), 1).0,
            fit(&repeated, &ObjectiveConfig::SQUARED, &settings(growth), 1).0,
        );
        for row in 0..600 {
            assert!(
                (a.ensemble.train_scores[0][row] - b.ensemble.train_scores[0][row]).abs() < 1e-4,
                "{growth:?}"
            );
        }
    }
}

fn column_head(column: &Column, rows: usize) -> Column {
    match column {
        Column::Number(values) => Column::Number(values[..rows].to_vec()),
        Column::Category(codes) => Column::Category(codes[..rows].to_vec()),
    }
}

#[test]
fn early_stopping_keeps_the_best_round() {
    let (chunk, features) = table(300, 0);
    let (held_out, _) = table(400, 0);
    let held_out = Chunk { target: held_out.target.iter().rev().copied().collect(), ..held_out };
    let data = binned(&chunk, &features);
    let valid = Dataset::from_chunk(&held_out, (*data.layout).clone(), &Pool::new(1).unwrap());
    let settings = GreedyConfig {
        trees: 50,
        learning_rate: 0.5,
        early_stopping_rounds: 5,
        ..settings(Growth::Depth)
    };
    let (pool, budget) = (Pool::new(1).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let objective = make(&ObjectiveConfig::SQUARED);
    let set = TrainingSet::new(&data, Some(&valid), &*objective);
    let mut seen = Vec::new();
    let fit = train(set, &settings, context, &mut |event| seen.extend(event.valid)).unwrap();
    let best = (0..seen.len()).min_by(|&a, &b| seen[a].total_cmp(&seen[b])).unwrap();
    assert_eq!(fit.rounds, best + 1);
    assert_eq!(fit.rounds_done, best + 1 + 5);
    assert_eq!(fit.ensemble.members.len(), fit.rounds);
    let mean = valid.target.iter().zip(&fit.ensemble.valid_scores[0]);
    let loss =
        mean.map(|(y, &f)| 0.5 * (y - f64::from(f) - fit.ensemble.shift).powi(2)).sum::<f64>()
            / 400.0;
    assert!((loss - seen[best]).abs() < 1e-4, "{loss} {}", seen[best]);
}

#[test]
fn little_memory_gives_the_same_trees() {
    let data = data_for(&ObjectiveConfig::SQUARED, 9000);
    for growth in GROWTHS {
        let plenty = fit(&data, &ObjectiveConfig::SQUARED, &settings(growth), 2).0;
        for memory in [0, 20_000, 100_000] {
            let little = fit(
                &data,
                &ObjectiveConfig::SQUARED,
                &GreedyConfig { memory, ..settings(growth) },
                2,
            )
            .0;
            assert_eq!(plenty.ensemble.members, little.ensemble.members, "{growth:?} {memory}");
        }
    }
}

#[test]
fn a_stop_keeps_what_was_grown() {
    let data = data_for(&ObjectiveConfig::SQUARED, 500);
    let (pool, budget) = (Pool::new(1).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let objective = make(&ObjectiveConfig::SQUARED);
    let set = TrainingSet::new(&data, None, &*objective);
    let mut observer = |event: &Event| {
        if event.step == 3 {
            budget.cancel();
        }
    };
    let fit = train(set, &settings(Growth::Leaf), context, &mut observer).unwrap();
    assert_eq!((fit.rounds, fit.ensemble.members.len()), (3, 3));
}

#[test]
fn data_without_a_usable_column_gives_single_leaves() {
    let chunk = Chunk {
        columns: vec![Column::Number(vec![1.0; 5])],
        target: vec![1.0, 2.0, 3.0, 4.0, 5.0],
        weight: Vec::new(),
        rows: 5,
    };
    let data = binned(&chunk, &[Feature { name: "x".into(), kind: Kind::Number }]);
    for growth in GROWTHS {
        let (fit, _) = fit(&data, &ObjectiveConfig::SQUARED, &settings(growth), 2);
        assert_eq!(fit.ensemble.base, [3.0]);
        assert!(fit.trees.iter().all(|tree| tree.nodes.is_empty() && tree.leaves.len() == 1));
    }
}

/// The plain way: every node looks at every row for every cut, in `f64`.
fn plain_boosting(
    chunk: &Chunk,
    layout: &Layout,
    settings: &GreedyConfig,
    g_of: &dyn Fn(f64, f64) -> (f64, f64),
    start: f64,
) -> Vec<f64> {
    let mut score = vec![start; chunk.rows];
    let codes: Vec<Vec<u8>> = (0..layout.columns().len())
        .map(|column| {
            let mut codes = vec![0u8; chunk.rows];
            layout.encode(column, chunk, &mut codes).unwrap();
            codes
        })
        .collect();
    for _ in 0..settings.trees {
        let gh: Vec<(f64, f64)> =
            score.iter().zip(&chunk.target).map(|(&f, &y)| g_of(f, y)).collect();
        let mut level = vec![(0..chunk.rows).collect::<Vec<usize>>()];
        for depth in 0..=settings.depth {
            let mut next = Vec::new();
            for rows in level {
                match (depth < settings.depth)
                    .then(|| plain_split(&rows, &gh, &codes, layout, settings))
                    .flatten()
                {
                    Some((left, right)) => next.extend([left, right]),
                    None => {
                        let sum =
                            rows.iter().fold((0.0, 0.0), |s, &r| (s.0 + gh[r].0, s.1 + gh[r].1));
                        let value =
                            -sum.0 / (sum.1 + settings.penalties.lambda) * settings.learning_rate;
                        rows.iter().for_each(|&row| score[row] += value);
                    }
                }
            }
            level = next;
        }
    }
    score
}

fn plain_split(
    rows: &[usize],
    gh: &[(f64, f64)],
    codes: &[Vec<u8>],
    layout: &Layout,
    settings: &GreedyConfig,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let lambda = settings.penalties.lambda;
    let score = |rows: &[usize]| {
        let sum = rows.iter().fold((0.0, 0.0), |s, &r| (s.0 + gh[r].0, s.1 + gh[r].1));
        (sum.0 * sum.0 / (sum.1 + lambda), sum.1)
    };
    let parent = score(rows).0;
    let mut best: Option<(f64, Vec<usize>, Vec<usize>)> = None;
    for (feature, bins) in layout.features().iter().enumerate() {
        for code in 1..bins.bins() as u8 {
            let rule = crate::rule::BinRule {
                feature: feature as u32,
                cut: crate::rule::Cut::Above(code),
                missing_right: true,
            };
            let route = layout.route(&rule);
            let (right, left): (Vec<usize>, Vec<usize>) = rows
                .iter()
                .partition(|&&row| route.right[usize::from(codes[route.column][row])] == 1);
            let ((a, ha), (b, hb)) = (score(&left), score(&right));
            let least = settings.penalties.min_child_weight;
            if ha >= least && hb >= least && !left.is_empty() && !right.is_empty() {
                let gain = a + b - parent;
                if gain > 1e-9 && best.as_ref().is_none_or(|best| gain > best.0 * (1.0 + 1e-7)) {
                    best = Some((gain, left, right));
                }
            }
        }
    }
    best.map(|(_, left, right)| (left, right))
}

#[test]
fn a_plain_booster_over_all_cuts_agrees() {
    let mut stream = Stream::new(11, 0, 0);
    let rows = 200;
    let column = |stream: &mut Stream| {
        Column::Number((0..rows).map(|_| (stream.unit() * 50.0).floor()).collect())
    };
    let columns: Vec<Column> = (0..3).map(|_| column(&mut stream)).collect();
    let value = |at: usize, row: usize| match &columns[at] {
        Column::Number(values) => values[row],
        Column::Category(_) => unreachable!(),
    };
    let noise: Vec<f64> = (0..rows).map(|_| stream.normal()).collect();
    let target: Vec<f64> =
        (0..rows).map(|r| value(0, r) * 0.1 + (value(1, r) * 0.2).sin() * 3.0 + noise[r]).collect();
    let features: Vec<Feature> =
        (0..3).map(|at| Feature { name: format!("x{at}"), kind: Kind::Number }).collect();
    let chunk = Chunk { columns: columns.clone(), target, weight: Vec::new(), rows };
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
    let settings = GreedyConfig { trees: 5, depth: 3, ..settings(Growth::Depth) };

    let data = Dataset::from_chunk(&chunk, layout.clone(), &pool);
    let ours = fit(&data, &ObjectiveConfig::SQUARED, &settings, 1).0;
    let mean = chunk.target.iter().sum::<f64>() / rows as f64;
    let plain = plain_boosting(&chunk, &layout, &settings, &|f, y| (f - y, 1.0), mean);
    for (&score, &plain) in ours.ensemble.train_scores[0].iter().zip(&plain) {
        assert!((f64::from(score) + ours.ensemble.shift - plain).abs() < 1e-4, "{score} {plain}");
    }

    let classes = Chunk {
        target: chunk.target.iter().map(|&y| f64::from(u8::from(y > mean))).collect(),
        ..chunk
    };
    let data = Dataset::from_chunk(&classes, layout.clone(), &pool);
    let ours = fit(&data, &ObjectiveConfig::LOGISTIC, &settings, 1).0;
    let sigmoid = |f: f64| 1.0 / (1.0 + (-f).exp());
    let g_of = |f: f64, y: f64| (sigmoid(f) - y, sigmoid(f) * (1.0 - sigmoid(f)));
    let plain = plain_boosting(&classes, &layout, &settings, &g_of, ours.ensemble.base[0]);
    for (&score, &plain) in ours.ensemble.train_scores[0].iter().zip(&plain) {
        assert!((f64::from(score) - plain).abs() < 1e-4, "{score} {plain}");
    }
}

#[test]
fn sums_over_shards_equal_sums_over_the_whole() {
    // The same rows in one shard and in many: only the plan differs.
    let (chunk, features) = table(16_384, 0);
    let data = binned(&chunk, &features);
    assert_eq!(data.plan.shards, 4);
    let objective = make(&ObjectiveConfig::SQUARED);
    let (pool, budget) = (Pool::new(2).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let set = TrainingSet::new(&data, None, &*objective);
    let options = BackendOptions { memory: 1 << 30, keep_derivatives: false };
    let mut client = Client::open(set, options, context).unwrap();
    let shift = client.data().shift;
    let target: Vec<f32> = chunk.target.iter().map(|&y| (y - shift) as f32).collect();
    let sum_abs: f64 = target.iter().map(|&y| f64::from(y.abs())).sum();
    let scale = GradientScale::new(sum_abs, 16_384.0, 16_384);

    client.push(Work::Derive { output: None, extra_hessian: 0.0 });
    let search = client.split_constraints(vec![true; 7], settings(Growth::Depth).penalties);
    let begin = Work::BeginTree { output: 0, sample: None, search, query: SplitQuery::Each };
    let root = client.begin_tree(begin).unwrap();
    let exact: f64 = target.iter().map(|&y| -f64::from(y)).sum();
    assert!((root.sums.g - exact).abs() <= 0.5 * 16_384.0 * scale.g);
    assert!((root.sums.h - 16_384.0).abs() <= 0.5 * 16_384.0 * scale.h);

    let rule = root.best.unwrap().rule;
    let route = data.layout.route(&rule);
    let right: f64 = (0..data.shards.len())
        .flat_map(|shard| (0..data.shards[shard].rows).map(move |row| (shard, row)))
        .filter(|&(shard, row)| {
            route.right[usize::from(data.shards[shard].columns[route.column][row])] == 1
        })
        .map(|(shard, row)| -f64::from(target[data.plan.global(shard, row)]))
        .sum();
    let command = SplitCommand { slot: 0, rule, left: 1, right: 2 };
    let (children, _) = client.split(vec![command], SplitQuery::Sums, Vec::new()).unwrap();
    let [left_sums, right_sums] = children[0].map(|child| child.sums);
    assert!((right_sums.g - right).abs() <= 0.5 * 16_384.0 * scale.g);
    assert_eq!(left_sums.h + right_sums.h, root.sums.h);
}

/// A budget that is interrupted from a question on.
fn interrupted_after(questions: usize) -> Budget {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    Budget::unlimited().with_interrupt(move || {
        asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= questions
    })
}

#[test]
fn an_interruption_keeps_whole_rounds() {
    let (chunk, features) = table(600, 3);
    let data = binned(&chunk, &features);
    let objective = make(&ObjectiveConfig::softmax(3));
    let pool = Pool::new(2).unwrap();
    for growth in GROWTHS {
        for dart in [None, Some(DartConfig { rate_drop: 0.5, skip_drop: 0.0, max_drop: 0 })] {
            let settings = GreedyConfig { dart, ..settings(growth) };
            let loss = |questions: usize| {
                let budget = interrupted_after(questions);
                let context = Context { pool: &pool, budget: &budget };
                let set = TrainingSet::new(&data, None, &*objective);
                let fit = train(set, &settings, context, &mut |_| ()).unwrap();
                assert_eq!(
                    fit.ensemble.members.len(),
                    3 * fit.rounds_done,
                    "a tree for every class"
                );
                assert!(questions < 999 || fit.rounds_done == 10);
                assert!(budget.spent() >= 3 * fit.rounds_done as u64);
                scores_equal_trees(&data, &fit);
                let target: Vec<f32> = data.target.iter().map(|y| y as f32).collect();
                objective.loss(&fit.ensemble.train_scores.concat(), &target, &[])
            };
            let losses = [0, 3, 12, 40, 99_999].map(loss);
            assert!(losses[4] < losses[0], "{losses:?}");
            assert!(
                dart.is_some() || losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-3),
                "{losses:?}"
            );
        }
    }
}

#[test]
fn dart_with_a_rate_of_zero_drops_nothing() {
    let spec = ObjectiveConfig::SQUARED;
    let data = data_for(&spec, 600);
    for growth in GROWTHS {
        let scores = |dart| {
            let settings = GreedyConfig { dart, ..settings(growth) };
            fit(&data, &spec, &settings, 1).0.ensemble.train_scores
        };
        let dart = DartConfig { rate_drop: 0.0, skip_drop: 0.0, max_drop: 50 };
        assert_eq!(scores(Some(dart)), scores(None));
        assert_ne!(scores(Some(DartConfig { rate_drop: 0.01, ..dart })), scores(None));
    }
}

/// Scores must be the base and the leaves of every tree of the output.
fn scores_equal_trees(data: &Dataset, fit: &BoostingFit) {
    let traversals: Vec<_> = fit.trees.iter().map(|tree| tree.traversal(&data.layout)).collect();
    let outputs = fit.ensemble.base.len();
    for (output, scores) in fit.ensemble.train_scores.iter().enumerate() {
        for row in (0..data.shards[0].rows).step_by(37) {
            let trees = traversals.iter().zip(&fit.trees).skip(output).step_by(outputs);
            let columns = &data.shards[0].columns;
            let leaves = trees.map(|(way, tree)| tree.leaves[way.leaf(columns, row)].value);
            let sum = fit.ensemble.base[output] - fit.ensemble.shift + leaves.sum::<f64>();
            let score = f64::from(scores[data.plan.global(0, row)]);
            assert!((sum - score).abs() < 1e-4, "{sum} {score}");
        }
    }
}

#[test]
fn a_work_limit_is_never_exceeded() {
    let (chunk, features) = table(300, 3);
    let data = binned(&chunk, &features);
    let objective = make(&ObjectiveConfig::softmax(3));
    let pool = Pool::new(1).unwrap();
    for (limit, rounds) in [(0, 0), (2, 0), (3, 1), (8, 2), (29, 9), (30, 10), (100, 10)] {
        let budget = Budget::unlimited().with_work_limit(limit);
        let context = Context { pool: &pool, budget: &budget };
        let set = TrainingSet::new(&data, None, &*objective);
        let fit = train(set, &settings(Growth::Depth), context, &mut |_| ()).unwrap();
        assert_eq!((fit.rounds, budget.spent()), (rounds, 3 * rounds as u64));
    }
}
