//! The search keeps exact totals and never raises its value, finds the best of all structures on
//! tiny tables, gives one result for any number of threads, any backend and after any resumption,
//! keeps to its budget, and leaves noise to greedy boosting.

mod compared_rows;
mod feature_budget;
mod fold_task;
mod lookahead;
mod resumed;

use std::sync::atomic::{AtomicUsize, Ordering};

use swarmwood_model::{Feature, Kind};
use swarmwood_search::rng::Stream;

use super::*;
use crate::bins::layout::Layout;
use crate::budget::Budget;
use crate::data::{Chunk, Column};
use crate::dataset::Dataset;
use crate::event::{Event, Stage};
use crate::objective::{Objective, ObjectiveConfig, make};
use crate::pool::Pool;
use crate::stats::test_hosts::{Fault, TestHosts};
use crate::stats::{BackendFactory, LocalBackends, LoopbackBackends, RemoteBackends};

fn data(columns: Vec<Vec<f64>>, target: Vec<f64>, weight: Vec<f64>) -> Dataset {
    let rows = target.len();
    let features: Vec<Feature> = (0..columns.len())
        .map(|at| Feature { name: format!("x{at}"), kind: Kind::Number })
        .collect();
    let chunk =
        Chunk { columns: columns.into_iter().map(Column::Number).collect(), target, weight, rows };
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
    Dataset::from_chunk(&chunk, layout, &pool)
}

/// Five columns of which three matter together.
fn planted(rows: usize, noise: f64, answer: impl Fn(f64) -> f64) -> Dataset {
    let mut stream = Stream::new(7, 0, 0);
    let columns: Vec<Vec<f64>> =
        (0..5).map(|_| (0..rows).map(|_| stream.unit()).collect()).collect();
    let target = (0..rows).map(|row| {
        let (a, b, c) = (columns[0][row], columns[1][row], columns[2][row]);
        let signal = (3.0 * a * b).sin() * 4.0 + if c > 0.5 { 2.0 * a } else { -b };
        answer(signal + noise * stream.normal())
    });
    let target = target.collect();
    data(columns, target, Vec::new())
}

fn shape(trees: usize, max_leaves: usize, growth: Growth) -> EnsembleShape {
    let depth = if growth == Growth::Leaf { 0 } else { max_leaves.ilog2() as usize };
    EnsembleShape {
        trees,
        growth,
        try_oblivious: growth == Growth::Leaf,
        depth,
        max_leaves,
        seed: 3,
        lookahead: Lookahead::Off,
        memory: 1 << 28,
    }
}

fn strategy() -> SearchStrategy {
    SearchStrategy {
        lambda: 5.0,
        ridge: Ridge::Hierarchical,
        kappa: 0.1,
        gamma: 0.01,
        min_child_weight: 2.0,
        start_rate: 0.5,
        refits: 3,
        sweeps: 4,
        pairs: 5,
    }
}

/// Searches with an unlimited budget, unobserved.
fn search(
    (data, valid): (&Dataset, Option<&Dataset>),
    objective: &dyn Objective,
    config: &EnsembleSearchConfig,
    pool: &Pool,
) -> EnsembleSearchFit {
    let budget = Budget::unlimited();
    let context = Context { pool, budget: &budget };
    let set = TrainingSet::new(data, valid, objective);
    train(set, config, context, None, &mut |_, _| ()).unwrap()
}

const SPECS: [ObjectiveConfig; 9] = [
    ObjectiveConfig::SQUARED,
    ObjectiveConfig::SQUARED_LOG,
    ObjectiveConfig::SQUARED_LOG_ERROR,
    ObjectiveConfig::ABSOLUTE,
    ObjectiveConfig::huber(1.0),
    ObjectiveConfig::quantile(0.7),
    ObjectiveConfig::POISSON,
    ObjectiveConfig::LOGISTIC,
    ObjectiveConfig::softmax(3),
];

fn for_spec(spec: &ObjectiveConfig, rows: usize) -> Dataset {
    let classes =
        |count: f64| move |signal: f64| ((signal + 2.0) / 2.0).floor().clamp(0.0, count - 1.0);
    match spec.name() {
        "logistic" => planted(rows, 1.0, classes(2.0)),
        "softmax" => planted(rows, 1.0, classes(make(spec).outputs() as f64)),
        "poisson" | "squared-log" | "squaredlogerror" => {
            planted(rows, 0.5, |signal| signal.abs().round())
        }
        _ => planted(rows, 0.5, |signal| signal),
    }
}

#[test]
fn the_value_is_what_a_fresh_sum_gives_and_never_rises() {
    let pool = Pool::new(2).unwrap();
    for spec in &SPECS {
        let (data, objective) = (for_spec(spec, 600), make(spec));
        for growth in [Growth::Leaf, Growth::Depth, Growth::Oblivious] {
            let (shape, strategy) = (shape(3, 8, growth), strategy());
            let mut last = f64::INFINITY;
            let mut observer = |phase, _, _, ensemble: &Ensemble<'_>| {
                if phase != FitPhase::Start {
                    let value = ensemble.value();
                    assert!(
                        value <= last + 1e-5 * value.abs(),
                        "{} {growth:?}: {last} to {value}",
                        objective.name()
                    );
                    last = value;
                }
            };
            let context = Context { pool: &pool, budget: &Budget::unlimited() };
            let set = TrainingSet::new(&data, None, &*objective);
            let mut ensemble = Ensemble::new(set, &shape, &strategy, context).unwrap();
            backfit::backfit(&mut ensemble, &mut observer).unwrap();
            pairs::search(&mut ensemble, 1, 0..strategy.pairs, &mut observer).unwrap();
            let start = ensemble.loss();
            for at in 0..ensemble.trees.len() {
                ensemble.improve(at).unwrap();
                let kept = ensemble.value();
                ensemble.settle().unwrap();
                let fresh = ensemble.value();
                assert!(
                    (kept - fresh).abs() <= 1e-5 * fresh.abs(),
                    "{} {kept} {fresh}",
                    objective.name()
                );
            }
            let constant = Ensemble::new(set, &shape, &strategy, context).unwrap().loss();
            assert!(start < constant, "{} {growth:?}: {start} {constant}", objective.name());
        }
    }
}

/// The least value of two stumps over all pairs of cuts, leaves solved together by Gaussian
/// elimination.
fn best_pair_of_stumps(columns: &[Vec<f64>], target: &[f64], lambda: f64) -> f64 {
    let mut cuts: Vec<Vec<bool>> = Vec::new();
    for column in columns {
        let mut values = column.clone();
        values.sort_by(f64::total_cmp);
        values.dedup();
        cuts.extend(
            values[1..].iter().map(|&cut| column.iter().map(|&x| x >= cut).collect::<Vec<bool>>()),
        );
    }
    let mean = target.iter().sum::<f64>() / target.len() as f64;
    let mut best = f64::INFINITY;
    for (at, a) in cuts.iter().enumerate() {
        for b in &cuts[at..] {
            best = best.min(solved(&[a, b], target, mean, lambda));
        }
    }
    best
}

/// Unknowns: root, left, right of each stump.
fn solved(stumps: &[&Vec<bool>; 2], target: &[f64], mean: f64, lambda: f64) -> f64 {
    let mut m = [[0.0; 7]; 6];
    for stump in 0..2 {
        let root = 3 * stump;
        m[root][root] += lambda;
        for leaf in [root + 1, root + 2] {
            m[leaf][leaf] += lambda;
            m[root][root] += lambda;
            m[leaf][root] -= lambda;
            m[root][leaf] -= lambda;
        }
    }
    let leaf = |stump: usize, row: usize| 3 * stump + 1 + usize::from(stumps[stump][row]);
    for (row, y) in target.iter().enumerate() {
        for a in 0..2 {
            for b in 0..2 {
                m[leaf(a, row)][leaf(b, row)] += 1.0;
            }
            m[leaf(a, row)][6] += y - mean;
        }
    }
    for pivot in 0..6 {
        for row in 0..6 {
            if row != pivot {
                let factor = m[row][pivot] / m[pivot][pivot];
                let by = m[pivot];
                m[row].iter_mut().zip(by).skip(pivot).for_each(|(cell, by)| *cell -= factor * by);
            }
        }
    }
    let x: Vec<f64> = (0..6).map(|at| m[at][6] / m[at][at]).collect();
    let loss = target
        .iter()
        .enumerate()
        .map(|(row, y)| 0.5 * (y - mean - x[leaf(0, row)] - x[leaf(1, row)]).powi(2));
    let pulls = [x[0], x[1] - x[0], x[2] - x[0], x[3], x[4] - x[3], x[5] - x[3]];
    loss.sum::<f64>() + 0.5 * lambda * pulls.iter().map(|pull| pull * pull).sum::<f64>()
}

#[test]
fn on_tiny_tables_the_search_finds_the_best_of_all_structures() {
    let pool = Pool::new(1).unwrap();
    let objective = make(&ObjectiveConfig::SQUARED);
    for seed in 0..6 {
        let mut stream = Stream::new(seed, 1, 0);
        let columns: Vec<Vec<f64>> =
            (0..4).map(|_| (0..30).map(|_| stream.below(5) as f64).collect()).collect();
        let target: Vec<f64> = (0..30).map(|_| stream.normal()).collect();
        let lambda = 0.5;
        let best = best_pair_of_stumps(&columns, &target, lambda);

        let data = data(columns, target, Vec::new());
        let shape = EnsembleShape { seed, ..shape(2, 2, Growth::Leaf) };
        let strategy = SearchStrategy {
            lambda,
            kappa: 0.0,
            gamma: 0.0,
            min_child_weight: 0.0,
            sweeps: 10,
            pairs: 40,
            ..strategy()
        };
        let context = Context { pool: &pool, budget: &Budget::unlimited() };
        let set = TrainingSet::new(&data, None, &*objective);
        let mut ensemble = Ensemble::new(set, &shape, &strategy, context).unwrap();
        fit_wholly(&mut ensemble, seed);
        let found = ensemble.value();
        assert!(found > best - 1e-4 * best, "nothing is below the best of all: {found} {best}");
        assert!(found < best + 2e-3 * best, "seed {seed}: found {found}, best {best}");
    }
}

/// All that a search does to an ensemble without trees.
fn fit_wholly(ensemble: &mut Ensemble<'_>, seed: u64) {
    let pairs = ensemble.strategy().pairs;
    backfit::backfit(ensemble, &mut |_, _, _, _| ()).unwrap();
    pairs::search(ensemble, seed, 0..pairs, &mut |_, _, _, _| ()).unwrap();
    backfit::refit_jointly(ensemble).unwrap();
}

/// How many messages the steps of the search send: a tree grown again costs one per leaf, and one
/// where its old leaves are fitted instead.
#[test]
fn messages_per_step_are_few() {
    let pool = Pool::new(1).unwrap();
    for (spec, refit) in [
        (ObjectiveConfig::SQUARED, 1),
        (ObjectiveConfig::LOGISTIC, 4),
        (ObjectiveConfig::ABSOLUTE, 2),
    ] {
        let (data, objective) = (for_spec(&spec, 900), make(&spec));
        let (shape, strategy) =
            (shape(3, 8, Growth::Leaf), SearchStrategy { gamma: 0.0, ..strategy() });
        let context = Context { pool: &pool, budget: &Budget::unlimited() };
        let set = TrainingSet::new(&data, None, &*objective);
        let mut ensemble = Ensemble::new(set, &shape, &strategy, context).unwrap();
        for _ in 0..3 {
            let before = ensemble.messages();
            assert!(ensemble.add_round(0.5).unwrap());
            // Seven splits after the root, and the loss.
            assert_eq!(ensemble.messages() - before, 9, "{spec:?}");
        }
        for at in 0..3 {
            assert_eq!(ensemble.trees[at].grown.leaves.len(), 8);
            let before = ensemble.messages();
            ensemble.refit(at).unwrap();
            assert_eq!(ensemble.messages() - before, refit, "{spec:?}");

            let before = ensemble.messages();
            ensemble.improve(at).unwrap();
            // The sums of a quadratic loss serve the old leaves as well.
            let fit = if spec == ObjectiveConfig::SQUARED { 0 } else { 2 * refit - 1 };
            assert!(ensemble.messages() - before <= 8 + fit, "{spec:?}");
        }
    }
}

/// Where messages are dear, leaves are split ahead of their turn.
#[test]
fn trees_of_32_leaves_take_at_most_20_messages_of_a_remote_backend() {
    let pool = Pool::new(1).unwrap();
    for spec in [ObjectiveConfig::SQUARED, ObjectiveConfig::LOGISTIC, ObjectiveConfig::ABSOLUTE] {
        let (data, objective) = (for_spec(&spec, 3000), make(&spec));
        let (shape, strategy) =
            (shape(3, 32, Growth::Leaf), SearchStrategy { gamma: 0.0, ..strategy() });
        let context = Context { pool: &pool, budget: &Budget::unlimited() };
        let loopback = LoopbackBackends::default();
        let local = TrainingSet::new(&data, None, &*objective);
        let set = TrainingSet { backends: &loopback, ..local };
        let mut ensemble = Ensemble::new(set, &shape, &strategy, context).unwrap();
        for round in 0..3 {
            let before = ensemble.messages();
            assert!(ensemble.add_round(0.5).unwrap());
            assert_eq!(ensemble.trees[round].grown.leaves.len(), 32, "{spec:?}");
            let messages = ensemble.messages() - before;
            assert!(messages <= 20, "{spec:?} {messages}");
        }
    }
}

fn config(shapes: &[EnsembleShape]) -> EnsembleSearchConfig {
    let compared_rows = COMPARED_ROWS;
    EnsembleSearchConfig { shapes: shapes.to_vec(), features: None, compared_rows }
}

#[test]
fn threads_and_backends_change_nothing() {
    let small = [u64::MAX, 200].as_slice();
    // Rows of several shards, whose sums are merged.
    let large = [150].as_slice();
    for (spec, growth, rows, limits) in [
        (ObjectiveConfig::SQUARED, Growth::Leaf, 700, small),
        (ObjectiveConfig::softmax(3), Growth::Leaf, 700, small),
        (ObjectiveConfig::quantile(0.7), Growth::Leaf, 700, small),
        (ObjectiveConfig::LOGISTIC, Growth::Leaf, 9000, large),
        (ObjectiveConfig::SQUARED, Growth::Depth, 9000, large),
        (ObjectiveConfig::softmax(3), Growth::Oblivious, 9000, large),
        // The plans of several and of many classes.
        (ObjectiveConfig::softmax(9), Growth::Leaf, 700, &[u64::MAX, 300]),
        (ObjectiveConfig::softmax(9), Growth::Leaf, 9000, &[600]),
        (ObjectiveConfig::softmax(17), Growth::Leaf, 2500, &[u64::MAX]),
    ] {
        let (data, objective) = (for_spec(&spec, rows), make(&spec));
        assert_eq!(data.plan.shards > 1, rows >= 9000);
        let config = config(&[shape(3, 8, growth), shape(6, 4, growth)]);
        let run = |threads: usize, limit: u64, backends: &dyn BackendFactory| {
            let pool = Pool::new(threads).unwrap();
            let budget = Budget::unlimited().with_work_limit(limit);
            let context = Context { pool: &pool, budget: &budget };
            let set = TrainingSet { backends, ..TrainingSet::new(&data, None, &*objective) };
            train(set, &config, context, None, &mut |_, _| ()).unwrap()
        };
        for &limit in limits {
            let one = run(1, limit, &LocalBackends);
            assert!(!one.report.finished || one.report.candidates.len() == one.report.planned);
            let loopback = LoopbackBackends::default();
            // Hosts hold the rows, and are lost now and then.
            let hosts = TestHosts::new(&data, 2, |number, host| match (number + 40 * host) % 97 {
                96 => Fault::Before,
                _ => Fault::None,
            });
            let remote = RemoteBackends::new(&hosts, &data, 2, &spec);
            for other in [
                run(2, limit, &LocalBackends),
                run(8, limit, &LocalBackends),
                run(2, limit, &loopback),
                run(2, limit, &remote),
            ] {
                assert_eq!(one.ensemble, other.ensemble, "{spec:?} {growth:?}");
                assert_eq!(one.report, other.report, "{spec:?} {growth:?}");
            }
        }
    }
}

#[test]
fn signal_is_searched_and_noise_is_left_to_greedy_boosting() {
    let pool = Pool::new(2).unwrap();
    let objective = make(&ObjectiveConfig::SQUARED);
    let config = config(&[shape(4, 16, Growth::Leaf)]);

    let clean = planted(1500, 0.1, |signal| signal);
    let report = search((&clean, None), &*objective, &config, &pool).report;
    assert!(report.searched && report.finished, "{report:?}");
    assert!(report.gain.is_some_and(|gain| gain > 0.05), "{report:?}");
    assert!(report.greedy_loss.is_some_and(|greedy| report.loss < greedy), "{report:?}");
    assert_eq!(report.candidates.len(), report.planned);

    let noise = planted(1500, 1e6, |signal| signal);
    let report = search((&noise, None), &*objective, &config, &pool).report;
    assert!(report.noise > 0.9, "{report:?}");
}

/// A run whose budget is cancelled by its observer after some steps; 0 cancels it from the start.
fn run_steps(
    set: TrainingSet<'_>,
    config: &EnsembleSearchConfig,
    steps: usize,
) -> EnsembleSearchFit {
    let (pool, budget) = (Pool::new(2).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let mut left = steps;
    if steps == 0 {
        budget.cancel();
    }
    let mut observer = |_: &Event, _: &dyn Fn() -> Datum| {
        left = left.saturating_sub(1);
        if left == 0 {
            budget.cancel();
        }
    };
    train(set, config, context, None, &mut observer).unwrap()
}

/// The stages of a whole run.
fn stages_of(set: TrainingSet<'_>, config: &EnsembleSearchConfig) -> Vec<Stage> {
    let (pool, budget) = (Pool::new(2).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let mut stages = Vec::new();
    let mut observer = |event: &Event, _: &dyn Fn() -> Datum| stages.push(event.stage);
    train(set, config, context, None, &mut observer).unwrap();
    stages
}

#[test]
fn a_run_that_is_cut_short_ends_with_the_fallback() {
    let pool = Pool::new(2).unwrap();
    for spec in [ObjectiveConfig::SQUARED, ObjectiveConfig::LOGISTIC] {
        let objective = make(&spec);
        let all = match spec.name() {
            "squared" => planted(3000, 0.1, |signal| signal),
            _ => planted(3000, 0.1, |signal| f64::from(u8::from(signal > 1.0))),
        };
        let data = all.subset(&(0..1500).collect::<Vec<_>>(), &pool);
        let test = all.subset(&(1500..3000).collect::<Vec<_>>(), &pool);
        let set = TrainingSet::new(&data, Some(&test), &*objective);
        let config = config(&[shape(4, 8, Growth::Leaf)]);
        let stages = stages_of(set, &config);
        let first = stages.iter().position(|&stage| stage == Stage::SWEEPS).unwrap();
        let compared = stages.iter().rposition(|&stage| stage == Stage::COMPARING).unwrap();
        assert!(first < 8, "sweeps come early: {stages:?}");

        let loss = |fit: &EnsembleSearchFit| {
            let target: Vec<f32> =
                test.target.iter().map(|y| (y - fit.ensemble.shift) as f32).collect();
            objective.loss(&fit.ensemble.valid_scores[0], &target, &[]) / target.len() as f64
        };
        let (greedy, end) = (run_steps(set, &config, 1), run_steps(set, &config, usize::MAX));
        assert!(end.report.finished && end.report.searched, "{:?}", end.report);
        assert!(
            !greedy.report.searched
                && !greedy.report.finished
                && greedy.ensemble.members.len() == 4
        );

        // The penalties of classes may cost more training loss than the first sweeps gain; then the
        // cross-validated score decides.
        let early = [first + 1, first + 2, (first + compared) / 2]
            .into_iter()
            .filter(|_| spec == ObjectiveConfig::SQUARED);
        for steps in early.chain([compared + 1, compared + 3]) {
            let fit = run_steps(set, &config, steps);
            assert!(
                fit.report.searched && fit.ensemble.members.len() == 4,
                "{steps}: {:?}",
                fit.report
            );
            let share = (loss(&greedy) - loss(&fit)) / (loss(&greedy) - loss(&end));
            assert!(share > 0.3, "{steps} of {}: {share} of the gain", stages.len());
        }
    }
}

#[test]
fn the_final_fit_continues_the_fallback_and_is_the_fit_without_one() {
    let pool = Pool::new(2).unwrap();
    let objective = make(&ObjectiveConfig::SQUARED);
    let data = planted(1500, 0.5, |signal| signal);
    let set = TrainingSet::new(&data, None, &*objective);
    let config = config(&[shape(4, 16, Growth::Leaf)]);
    let whole = run_steps(set, &config, usize::MAX);
    assert_eq!(whole.report.chosen, "search, ridge 48", "{:?}", whole.report);
    let stages = stages_of(set, &config);
    let last = stages.iter().rposition(|&stage| stage == Stage::COMPARING).unwrap();
    assert!(stages[last + 1..].iter().all(|&stage| stage == Stage::PAIRS), "{stages:?}");

    let (shape, noise) = (whole.report.shape, whole.report.noise);
    let profile = candidates::DataProfile {
        classes: false,
        rows: data.rows(),
        hessian: 1.0,
        noise,
        dispersion: 1.0,
    };
    let candidate = candidates::search_candidates(&shape, &profile).swap_remove(0);
    let candidates::FitMethod::Search(strategy) = candidate.method else { panic!("no search") };
    let context = Context { pool: &pool, budget: &Budget::unlimited() };
    let mut ensemble = Ensemble::new(set, &shape, &strategy, context).unwrap();
    fit_wholly(&mut ensemble, shape.seed);
    assert_eq!(ensemble.members(), whole.ensemble.members);
}

#[test]
fn validation_rows_are_scored_by_the_trees_that_are_kept() {
    let pool = Pool::new(1).unwrap();
    let objective = make(&ObjectiveConfig::LOGISTIC);
    let data = for_spec(&ObjectiveConfig::LOGISTIC, 900);
    let rows: Vec<usize> = (0..300).collect();
    let valid = data.subset(&rows, &pool);
    let config = config(&[shape(3, 8, Growth::Leaf)]);
    let fit = search((&data, Some(&valid)), &*objective, &config, &pool);
    for row in rows {
        assert!(
            (fit.ensemble.train_scores[0][row] - fit.ensemble.valid_scores[0][row]).abs() < 1e-4
        );
    }
}

/// A run with a work limit (none if 0) from a state, with every state that it stores on its way.
fn run_from(
    set: TrainingSet<'_>,
    config: &EnsembleSearchConfig,
    limit: u64,
    past: Option<&Datum>,
) -> Result<(EnsembleSearchFit, Vec<Datum>), EnsembleSearchError> {
    let pool = Pool::new(2).unwrap();
    let budget = match limit {
        0 => Budget::unlimited(),
        limit => Budget::unlimited().with_work_limit(limit),
    };
    let context = Context { pool: &pool, budget: &budget };
    let mut states = Vec::new();
    let mut observer = |_: &Event, state: &dyn Fn() -> Datum| states.push(state());
    let fit = train(set, config, context, past, &mut observer)?;
    Ok((fit, states))
}

#[test]
fn a_run_resumed_at_any_step_ends_as_if_it_had_never_been_interrupted() {
    let leaf_wise = |trees, leaves| shape(trees, leaves, Growth::Leaf);
    let oblivious = shape(2, 4, Growth::Oblivious);
    let all_limits = &[0, 1, 10, 40, 44, 300][..];
    for (spec, rows, shapes, limits) in [
        (ObjectiveConfig::SQUARED, 150, vec![leaf_wise(4, 4)], all_limits),
        (ObjectiveConfig::SQUARED, 150, vec![leaf_wise(3, 4), leaf_wise(4, 3)], &[0]),
        (ObjectiveConfig::LOGISTIC, 150, vec![leaf_wise(4, 4)], all_limits),
        (ObjectiveConfig::softmax(3), 150, vec![oblivious], &[0, 44]),
        // The plans of several and of many classes.
        (ObjectiveConfig::softmax(8), 150, vec![leaf_wise(2, 4), leaf_wise(1, 8)], &[0, 200]),
        (ObjectiveConfig::softmax(16), 2100, vec![leaf_wise(1, 4), leaf_wise(2, 2)], &[0]),
    ] {
        let (data, objective) = (for_spec(&spec, rows), make(&spec));
        let set = TrainingSet::new(&data, None, &*objective);
        let config = config(&shapes);
        for &limit in limits {
            let (whole, states) = run_from(set, &config, limit, None).unwrap();
            assert!(limit == 0 || whole.report.work <= limit, "{limit}: {:?}", whole.report);
            for (at, state) in states.iter().enumerate() {
                let (again, later) = run_from(set, &config, limit, Some(state)).unwrap();
                let place = format!("{spec:?}, limit {limit}, state {at} of {}", states.len());
                assert!(
                    again.ensemble.members == whole.ensemble.members
                        && again.ensemble.base == whole.ensemble.base,
                    "{place}"
                );
                assert!(again.ensemble.train_scores == whole.ensemble.train_scores, "{place}");
                assert_eq!(again.report, whole.report, "{place}");
                // A start under way is begun anew, and its steps are heard again.
                assert!(later.ends_with(&states[at + 1..]), "{place}");
            }
        }
    }
}

#[test]
fn few_folds_resume_as_well_and_foreign_states_are_refused() {
    let objective = make(&ObjectiveConfig::LOGISTIC);
    let data = for_spec(&ObjectiveConfig::LOGISTIC, 30_000);
    let set = TrainingSet::new(&data, None, &*objective);
    let config = config(&[shape(2, 4, Growth::Leaf)]);
    let (whole, states) = run_from(set, &config, 0, None).unwrap();
    for state in states.iter().step_by(5) {
        let (again, _) = run_from(set, &config, 0, Some(state)).unwrap();
        assert_eq!(
            (&again.ensemble.members, &again.report),
            (&whole.ensemble.members, &whole.report)
        );
    }
    let foreign = Datum::record([("finished", Datum::Natural(3))]);
    let refused = run_from(set, &config, 0, Some(&foreign));
    assert!(matches!(refused, Err(EnsembleSearchError::State(_))));
}

#[test]
fn work_limits_are_kept_exactly_and_more_work_is_never_worse() {
    let objective = make(&ObjectiveConfig::SQUARED);
    let data = planted(800, 0.1, |signal| signal);
    let set = TrainingSet::new(&data, None, &*objective);
    let config = config(&[shape(4, 8, Growth::Leaf)]);
    let mut losses = Vec::new();
    for limit in [1, 3, 4, 10, 24, 40, 100, 400, 0] {
        let (fit, _) = run_from(set, &config, limit, None).unwrap();
        assert!(limit == 0 || fit.report.work <= limit, "{limit}: {:?}", fit.report);
        assert_eq!(fit.ensemble.members.len() as u64, if limit == 0 { 4 } else { limit.min(4) });
        assert_eq!(fit.report.finished, limit == 0, "{limit}: {:?}", fit.report);
        // A gain over greedy boosting is reported only where that fit was made.
        assert!(fit.report.gain.is_none() || fit.report.greedy_loss.is_some());
        losses.push(fit.report.loss);
    }
    assert!(losses[8] < 0.9 * losses[2] && losses[2] < losses[0], "{losses:?}");

    // A round of several outputs is grown as a whole or not at all.
    let objective = make(&ObjectiveConfig::softmax(3));
    let data = for_spec(&ObjectiveConfig::softmax(3), 300);
    let set = TrainingSet::new(&data, None, &*objective);
    for (limit, trees) in [(2, 0), (3, 3), (8, 6), (13, 12)] {
        let (fit, _) = run_from(set, &config, limit, None).unwrap();
        assert_eq!(
            (fit.ensemble.members.len(), fit.report.work <= limit),
            (trees, true),
            "{limit}"
        );
    }
}

#[test]
fn an_interruption_ends_the_run_anywhere_with_a_model() {
    let data = planted(700, 0.1, |signal| signal);
    let objective = make(&ObjectiveConfig::SQUARED);
    let set = TrainingSet::new(&data, None, &*objective);
    let config = config(&[shape(3, 8, Growth::Leaf)]);
    let constant = data.target.iter().map(|y| y * y).sum::<f64>() / 700.0;
    let mut losses = Vec::new();
    for questions in [0, 1, 5, 20, 60, 200, 600, 2000, 6000, 20_000, usize::MAX] {
        let asked = AtomicUsize::new(0);
        let interrupt = move || asked.fetch_add(1, Ordering::Relaxed) >= questions;
        let (pool, budget) = (Pool::new(2).unwrap(), Budget::unlimited().with_interrupt(interrupt));
        let context = Context { pool: &pool, budget: &budget };
        let mut observer = |event: &Event, _: &dyn Fn() -> Datum| {
            assert!(event.train.is_none_or(f64::is_finite));
        };
        let fit = train(set, &config, context, None, &mut observer).unwrap();

        let target: Vec<f32> =
            data.target.iter().map(|y| (y - fit.ensemble.shift) as f32).collect();
        let loss = objective.loss(&fit.ensemble.train_scores[0], &target, &[]) / 700.0;
        let reported = fit.report.loss;
        assert!((loss - reported).abs() < 1e-6 * loss.max(1.0), "scores are those of the trees");
        assert!(loss < constant, "{questions}: {loss}");
        assert!(
            !fit.report.searched || fit.ensemble.members.len() == 3,
            "a search has all its trees"
        );
        assert!(!fit.report.finished || questions > 6000, "{questions}: {:?}", fit.report);
        assert!(fit.report.finished || questions < usize::MAX, "{:?}", fit.report);
        losses.push(loss);
    }
    assert!(losses[10] < 0.5 * losses[0] && losses[8] < losses[0], "{losses:?}");
}
