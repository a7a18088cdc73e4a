//! What the search must keep: its books, its descent, the best of all structures on tiny tables,
//! one answer for any number of threads, and the sense to fall back on greedy boosting.

use std::sync::Arc;

use swarmwood_model::{Feature, Kind};
use swarmwood_search::rng::Stream;

use super::*;
use crate::bins::layout::Layout;
use crate::budget::Budget;
use crate::data::{Chunk, Column};
use crate::dataset::Dataset;
use crate::objective::{Objective, Spec, make};
use crate::pool::{Pool, hurried_after};
use crate::stats::{BackendFactory, LocalBackends, LoopbackBackends};

/// Searches with an unlimited budget.
fn search(
    (data, valid): (&Dataset, Option<&Dataset>),
    objective: &dyn Objective,
    settings: &Settings,
    pool: &Pool,
    past: Option<&Datum>,
    ears: Ears<'_>,
) -> Result<Found, SearchError> {
    let budget = Budget::unlimited();
    let context = Context { pool, budget: &budget };
    train(TrainingSet::new(data, valid, objective), settings, context, past, ears)
}

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

fn frame(trees: usize, max_leaves: usize, growth: Growth) -> Frame {
    let depth = if growth == Growth::Leaf { 0 } else { max_leaves.ilog2() as usize };
    Frame {
        trees,
        growth,
        or_oblivious: growth == Growth::Leaf,
        depth,
        max_leaves,
        seed: 3,
        memory: 1 << 28,
    }
}

fn arm() -> Arm {
    Arm {
        lambda: 5.0,
        ridge: Ridge::Hierarchical,
        kappa: 0.1,
        gamma: 0.01,
        min_child_weight: 2.0,
        start_rate: 0.5,
        sweeps: 4,
        pairs: 5,
    }
}

/// Ears that never halt.
fn ears<'e>(watch: &'e mut dyn FnMut(&Progress<'_>) -> Flow) -> Ears<'e> {
    Ears { watch, halt: &|| false }
}

const SPECS: [Spec; 8] = [
    Spec::Squared,
    Spec::SquaredLog,
    Spec::Absolute,
    Spec::Huber { delta: 1.0 },
    Spec::Quantile { alpha: 0.7 },
    Spec::Poisson,
    Spec::Logistic,
    Spec::Softmax { classes: 3 },
];

fn for_spec(spec: &Spec, rows: usize) -> Dataset {
    let classes =
        |count: f64| move |signal: f64| ((signal + 2.0) / 2.0).floor().clamp(0.0, count - 1.0);
    match spec {
        Spec::Logistic => planted(rows, 1.0, classes(2.0)),
        Spec::Softmax { .. } => planted(rows, 1.0, classes(3.0)),
        Spec::Poisson | Spec::SquaredLog => planted(rows, 0.5, |signal| signal.abs().round()),
        _ => planted(rows, 0.5, |signal| signal),
    }
}

#[test]
fn the_value_is_what_a_fresh_sum_gives_and_never_rises() {
    let pool = Pool::new(2).unwrap();
    for spec in &SPECS {
        let (data, objective) = (for_spec(spec, 600), make(spec));
        for growth in [Growth::Leaf, Growth::Depth, Growth::Oblivious] {
            let (frame, arm) = (frame(3, 8, growth), arm());
            let mut last = f64::INFINITY;
            let mut tell = |stage, _, _, ensemble: &Ensemble<'_>| {
                if stage != Stage::Start {
                    let value = ensemble.value();
                    assert!(
                        value <= last + 1e-5 * value.abs(),
                        "{} {growth:?}: {last} to {value}",
                        objective.name()
                    );
                    last = value;
                }
                Flow::Continue
            };
            let context = Context { pool: &pool, budget: &Budget::unlimited() };
            let set = TrainingSet::new(&data, None, &*objective);
            let mut ensemble = Ensemble::new(set, &frame, &arm, context).unwrap();
            backfit::backfit(&mut ensemble, &mut tell).unwrap();
            pairs::search(&mut ensemble, 1, 0..arm.pairs, &mut tell).unwrap();
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
            let constant = Ensemble::new(set, &frame, &arm, context).unwrap().loss();
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
    let objective = make(&Spec::Squared);
    for seed in 0..6 {
        let mut stream = Stream::new(seed, 1, 0);
        let columns: Vec<Vec<f64>> =
            (0..4).map(|_| (0..30).map(|_| stream.below(5) as f64).collect()).collect();
        let target: Vec<f64> = (0..30).map(|_| stream.normal()).collect();
        let lambda = 0.5;
        let best = best_pair_of_stumps(&columns, &target, lambda);
        let data = data(columns, target, Vec::new());
        let frame = Frame { seed, ..frame(2, 2, Growth::Leaf) };
        let arm = Arm {
            lambda,
            kappa: 0.0,
            gamma: 0.0,
            min_child_weight: 0.0,
            sweeps: 10,
            pairs: 40,
            ..arm()
        };
        let mut quiet = |_: Stage, _: usize, _: usize, _: &Ensemble<'_>| Flow::Continue;
        let context = Context { pool: &pool, budget: &Budget::unlimited() };
        let set = TrainingSet::new(&data, None, &*objective);
        let mut ensemble = Ensemble::new(set, &frame, &arm, context).unwrap();
        backfit::backfit(&mut ensemble, &mut quiet).unwrap();
        pairs::search(&mut ensemble, seed, 0..arm.pairs, &mut quiet).unwrap();
        backfit::agree(&mut ensemble).unwrap();
        let found = ensemble.value();
        assert!(found > best - 1e-4 * best, "nothing is below the best of all: {found} {best}");
        assert!(found < best + 2e-3 * best, "seed {seed}: found {found}, best {best}");
    }
}

/// How many messages the steps of the search send: a tree grown again costs one per leaf, and one
/// where its old leaves are fitted instead.
#[test]
fn messages_per_step_are_few() {
    let pool = Pool::new(1).unwrap();
    for (spec, refit) in [(Spec::Squared, 1), (Spec::Logistic, 4), (Spec::Absolute, 2)] {
        let (data, objective) = (for_spec(&spec, 900), make(&spec));
        let (frame, arm) = (frame(3, 8, Growth::Leaf), Arm { gamma: 0.0, ..arm() });
        let context = Context { pool: &pool, budget: &Budget::unlimited() };
        let set = TrainingSet::new(&data, None, &*objective);
        let mut ensemble = Ensemble::new(set, &frame, &arm, context).unwrap();
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
            let fit = if spec == Spec::Squared { 0 } else { 2 * refit - 1 };
            assert!(ensemble.messages() - before <= 8 + fit, "{spec:?}");
        }
    }
}

#[test]
fn threads_and_backends_change_nothing() {
    for spec in [Spec::Squared, Spec::Softmax { classes: 3 }, Spec::Quantile { alpha: 0.7 }] {
        let (data, objective) = (for_spec(&spec, 700), make(&spec));
        let settings = Settings {
            frames: vec![frame(3, 8, Growth::Leaf), frame(6, 4, Growth::Leaf)],
            budget: 0,
        };
        let run = |threads: usize, backends: &dyn BackendFactory| {
            let pool = Pool::new(threads).unwrap();
            let context = Context { pool: &pool, budget: &Budget::unlimited() };
            let set = TrainingSet { backends, ..TrainingSet::new(&data, None, &*objective) };
            train(set, &settings, context, None, ears(&mut |_| Flow::Continue)).unwrap()
        };
        let one = run(1, &LocalBackends);
        let loopback = LoopbackBackends::default();
        for other in [run(2, &LocalBackends), run(8, &LocalBackends), run(2, &loopback)] {
            assert_eq!((&one.members, &one.base), (&other.members, &other.base));
            assert_eq!((&one.train_scores, &one.report), (&other.train_scores, &other.report));
        }
    }
}

#[test]
fn signal_is_searched_and_noise_is_left_to_greedy_boosting() {
    let pool = Pool::new(2).unwrap();
    let objective = make(&Spec::Squared);
    let settings = Settings { frames: vec![frame(4, 16, Growth::Leaf)], budget: 0 };
    let clean = planted(1500, 0.1, |signal| signal);
    let found =
        search((&clean, None), &*objective, &settings, &pool, None, ears(&mut |_| Flow::Continue))
            .unwrap();
    assert!(found.report.searched && found.report.gain > 0.05, "{:?}", found.report);
    assert!(found.report.loss < found.report.greedy_loss);
    let noise = planted(1500, 1e6, |signal| signal);
    let found =
        search((&noise, None), &*objective, &settings, &pool, None, ears(&mut |_| Flow::Continue))
            .unwrap();
    assert!(found.report.noise > 0.9, "{:?}", found.report);
}

#[test]
fn a_budget_or_a_listener_ends_the_run_with_a_model() {
    let pool = Pool::new(2).unwrap();
    let objective = make(&Spec::Squared);
    let data = planted(800, 0.1, |signal| signal);
    let mut works = Vec::new();
    for budget in [1, 100, 400, 0] {
        let settings = Settings { frames: vec![frame(4, 8, Growth::Leaf)], budget };
        let found = search(
            (&data, None),
            &*objective,
            &settings,
            &pool,
            None,
            ears(&mut |_| Flow::Continue),
        )
        .unwrap();
        assert_eq!(found.members.len(), 4);
        works.push(found.report.work);
    }
    assert!(works.is_sorted() && works[0] < works[3], "{works:?}");
    let settings = Settings { frames: vec![frame(4, 8, Growth::Leaf)], budget: 0 };
    let halted = Ears { watch: &mut |_| Flow::Continue, halt: &|| true };
    let found = search((&data, None), &*objective, &settings, &pool, None, halted).unwrap();
    assert!(!found.members.is_empty() && found.report.work <= 4);
    for steps in [1, 5, 20] {
        let settings = Settings { frames: vec![frame(4, 8, Growth::Leaf)], budget: 0 };
        let mut left = steps;
        let mut watch = |_: &Progress<'_>| {
            left -= 1;
            if left > 0 { Flow::Continue } else { Flow::Stop }
        };
        let found =
            search((&data, None), &*objective, &settings, &pool, None, ears(&mut watch)).unwrap();
        assert!(!found.members.is_empty() && found.report.loss.is_finite());
    }
}

/// The stage of every step of a whole run, and its end.
fn whole_run(
    data: &Dataset,
    objective: &dyn Objective,
    settings: &Settings,
    pool: &Pool,
) -> (Vec<Stage>, Found) {
    let mut stages = Vec::new();
    let mut listen = |progress: &Progress<'_>| {
        stages.push(progress.stage);
        Flow::Continue
    };
    let found = search((data, None), objective, settings, pool, None, ears(&mut listen)).unwrap();
    (stages, found)
}

#[test]
fn a_run_that_is_cut_short_ends_with_the_search_in_hand() {
    let pool = Pool::new(2).unwrap();
    for spec in [Spec::Squared, Spec::Logistic] {
        let objective = make(&spec);
        let all = match spec {
            Spec::Squared => planted(3000, 0.1, |signal| signal),
            _ => planted(3000, 0.1, |signal| f64::from(u8::from(signal > 1.0))),
        };
        let data = all.subset(&(0..1500).collect::<Vec<_>>(), &pool);
        let unseen = all.subset(&(1500..3000).collect::<Vec<_>>(), &pool);
        let settings = Settings { frames: vec![frame(4, 8, Growth::Leaf)], budget: 0 };
        let (stages, whole) = whole_run(&data, &*objective, &settings, &pool);
        assert!(whole.report.finished && whole.report.searched, "{:?}", whole.report);
        let first = stages.iter().position(|&stage| stage == Stage::Sweeps).unwrap();
        let compared = stages.iter().rposition(|&stage| stage == Stage::Compare).unwrap();
        assert!(first < 8, "sweeps come early: {stages:?}");
        let loss = |found: &Found| {
            let scores = &found.valid_scores[0];
            let target: Vec<f32> = unseen.target.iter().map(|y| (y - found.shift) as f32).collect();
            objective.loss(scores, &target, &[]) / target.len() as f64
        };
        let run = |steps: usize| {
            let halted = std::sync::atomic::AtomicBool::new(false);
            let mut left = steps;
            let mut watch = |_: &Progress<'_>| {
                left -= usize::from(left > 0);
                halted.store(left == 0, std::sync::atomic::Ordering::Relaxed);
                if left > 0 { Flow::Continue } else { Flow::Stop }
            };
            let halt = || halted.load(std::sync::atomic::Ordering::Relaxed);
            let ears = Ears { watch: &mut watch, halt: &halt };
            search((&data, Some(&unseen)), &*objective, &settings, &pool, None, ears).unwrap()
        };
        let (greedy, end) = (run(1), run(usize::MAX));
        assert!(!greedy.report.searched && !greedy.report.finished && greedy.members.len() == 4);
        // The penalties of classes may cost more training loss than the first sweeps gain; then
        // unseen rows must tell.
        let early = [first + 1, first + 2, (first + compared) / 2]
            .into_iter()
            .filter(|_| spec == Spec::Squared);
        for steps in early.chain([compared + 1, compared + 3]) {
            let found = run(steps);
            assert!(
                found.report.searched && found.members.len() == 4,
                "{steps}: {:?}",
                found.report
            );
            let share = (loss(&greedy) - loss(&found)) / (loss(&greedy) - loss(&end));
            assert!(share > 0.3, "{steps} of {}: {share} of the gain", stages.len());
        }
    }
}

#[test]
fn the_fit_in_hand_is_gone_on_with_where_its_arm_wins() {
    let pool = Pool::new(2).unwrap();
    let objective = make(&Spec::Squared);
    let data = planted(1500, 0.1, |signal| signal);
    let settings = Settings { frames: vec![frame(4, 16, Growth::Leaf)], budget: 0 };
    let (stages, whole) = whole_run(&data, &*objective, &settings, &pool);
    assert_eq!(whole.report.chosen, "search, ridge 48", "{:?}", whole.report);
    let last = stages.iter().rposition(|&stage| stage == Stage::Compare).unwrap();
    assert!(stages[last + 1..].iter().all(|&stage| stage == Stage::Pairs), "{stages:?}");
    // It is the fit that the arm would have had without it: from the start, all sweeps, all pairs.
    let (frame, noise) = (whole.report.frame, whole.report.noise);
    let facts =
        menu::Facts { classes: false, rows: data.rows(), hessian: 1.0, noise, dispersion: 1.0 };
    let menu::Way::Search(arm) = menu::search_menu(&frame, &facts)[0].way else {
        panic!("no search")
    };
    let mut quiet = |_: Stage, _: usize, _: usize, _: &Ensemble<'_>| Flow::Continue;
    let context = Context { pool: &pool, budget: &Budget::unlimited() };
    let set = TrainingSet::new(&data, None, &*objective);
    let mut ensemble = Ensemble::new(set, &frame, &arm, context).unwrap();
    backfit::backfit(&mut ensemble, &mut quiet).unwrap();
    pairs::search(&mut ensemble, frame.seed, 0..arm.pairs, &mut quiet).unwrap();
    backfit::agree(&mut ensemble).unwrap();
    assert_eq!(ensemble.members(), whole.members);
}

#[test]
fn validation_rows_are_scored_by_the_trees_that_are_kept() {
    let pool = Pool::new(1).unwrap();
    let objective = make(&Spec::Logistic);
    let data = for_spec(&Spec::Logistic, 900);
    let rows: Vec<usize> = (0..300).collect();
    let valid = data.subset(&rows, &pool);
    let settings = Settings { frames: vec![frame(3, 8, Growth::Leaf)], budget: 0 };
    let found = search(
        (&data, Some(&valid)),
        &*objective,
        &settings,
        &pool,
        None,
        ears(&mut |_| Flow::Continue),
    )
    .unwrap();
    for row in rows {
        assert!((found.train_scores[0][row] - found.valid_scores[0][row]).abs() < 1e-4);
    }
}

#[test]
fn a_resumed_run_ends_as_if_it_had_never_been_interrupted() {
    let pool = Pool::new(2).unwrap();
    // The last has too many rows for all folds, so that its fit in hand is begun once.
    for (spec, rows) in [(Spec::Squared, 600), (Spec::Logistic, 600), (Spec::Logistic, 30_000)] {
        let (data, objective) = (for_spec(&spec, rows), make(&spec));
        let settings = match rows {
            600 => Settings {
                frames: vec![frame(3, 8, Growth::Leaf), frame(6, 4, Growth::Leaf)],
                budget: 0,
            },
            _ => Settings { frames: vec![frame(2, 4, Growth::Leaf)], budget: 0 },
        };
        let (mut states, mut stages) = (Vec::new(), Vec::new());
        let mut listen = |progress: &Progress<'_>| {
            states.push((progress.state)());
            stages.push(progress.stage);
            Flow::Continue
        };
        let whole =
            search((&data, None), &*objective, &settings, &pool, None, ears(&mut listen)).unwrap();
        // Every third state, and every one of the fit in hand.
        let compared = stages.iter().rposition(|&stage| stage == Stage::Compare).unwrap();
        let in_hand = |at: usize| at < compared && stages[at] == Stage::Sweeps;
        assert!(states.iter().enumerate().any(|(at, _)| in_hand(at)));
        for (_, state) in states.iter().enumerate().filter(|&(at, _)| at % 3 == 0 || in_hand(at)) {
            let again = search(
                (&data, None),
                &*objective,
                &settings,
                &pool,
                Some(state),
                ears(&mut |_| Flow::Continue),
            )
            .unwrap();
            assert_eq!(
                (&again.members, &again.base, &again.report),
                (&whole.members, &whole.base, &whole.report)
            );
            assert_eq!(again.train_scores, whole.train_scores);
        }
        let broken = Datum::record([("scores", Datum::Natural(3))]);
        let refused = search(
            (&data, None),
            &*objective,
            &settings,
            &pool,
            Some(&broken),
            ears(&mut |_| Flow::Continue),
        );
        assert!(matches!(refused, Err(SearchError::State(_))));
    }
}

#[test]
fn a_hurry_ends_the_run_anywhere_with_a_model() {
    let data = planted(700, 0.1, |signal| signal);
    let objective = make(&Spec::Squared);
    let settings = Settings { frames: vec![frame(3, 8, Growth::Leaf)], budget: 0 };
    let constant = data.target.iter().map(|y| y * y).sum::<f64>() / 700.0;
    let mut losses = Vec::new();
    for questions in [0, 1, 5, 20, 60, 200, 600, 2000, 6000, 20_000, usize::MAX] {
        let pool = Arc::new(hurried_after(2, questions));
        let asked = pool.clone();
        let budget = Budget::unlimited().with_interrupt(move || asked.hurried());
        let context = Context { pool: &pool, budget: &budget };
        let flow = |hurried: bool| if hurried { Flow::Stop } else { Flow::Continue };
        let mut told = 0;
        let mut watch = |progress: &Progress<'_>| {
            // Whatever is told is whole: a state to go on from has all trees.
            told += 1;
            assert!(progress.loss.is_none_or(f64::is_finite));
            flow(pool.hurried())
        };
        let ears = Ears { watch: &mut watch, halt: &|| pool.hurried() };
        let set = TrainingSet::new(&data, None, &*objective);
        let found = train(set, &settings, context, None, ears).unwrap();
        let loss =
            objective.loss(&found.train_scores[0], &targets(&data, found.shift), &[]) / 700.0;
        assert!(
            (loss - found.report.loss).abs() < 1e-6 * loss.max(1.0),
            "the scores are those of the trees"
        );
        assert!(loss < constant, "{questions}: {loss}");
        assert!(
            !found.report.searched || found.members.len() == 3,
            "a part of a search is no search"
        );
        assert!(questions > 0 || !found.report.finished, "what was not compared is not chosen");
        losses.push(loss);
    }
    assert!(losses[10] < 0.5 * losses[0] && losses[8] < losses[0], "{losses:?}");
}

fn targets(data: &Dataset, shift: f64) -> Vec<f32> {
    data.target.iter().map(|y| (y - shift) as f32).collect()
}
