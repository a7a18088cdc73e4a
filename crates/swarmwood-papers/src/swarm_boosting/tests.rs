//! Brute force as a bound, resumed runs, greedy seeds, and the same bits on any backend.

use swarmwood_learn::bins::Layout;
use swarmwood_learn::context::Context;
use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::greedy;
use swarmwood_learn::metric::EvalMetric;
use swarmwood_learn::objective::{Logistic, Objective, Softmax, Squared};
use swarmwood_learn::pool::Pool;
use swarmwood_learn::rule::BinRule;
use swarmwood_learn::split::{Penalties, Ridge};
use swarmwood_learn::stats::{
    BackendFactory, LocalBackends, LoopbackBackends, ParticleCode, ParticleSet, TrainingSet,
};
use swarmwood_model::{Feature, Kind, Member};
use swarmwood_search::rng::Stream;

use super::*;
use crate::particle::{ParticleConfig, TreeForm};
use crate::test_context::{TestContext, distinct};

/// Three columns of which two matter together.
fn rows(rows: usize, values: u64, class: impl Fn(f64) -> f64) -> (Chunk, Vec<Feature>) {
    let mut stream = Stream::new(3, 1, 4);
    let mut columns = vec![Vec::new(); 3];
    let mut target = Vec::new();
    for _ in 0..rows {
        let row: Vec<f64> = (0..3).map(|_| stream.below(values) as f64).collect();
        let half = values as f64 / 2.0;
        let signal = f64::from((row[0] > half) != (row[1] > half)) + row[2] / values as f64 * 0.4;
        target.push(class(signal + 0.1 * stream.normal()));
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let columns = columns.into_iter().map(Column::Number).collect();
    let chunk = Chunk { columns, target, weight: Vec::new(), rows };
    let features: Vec<Feature> =
        (0..3).map(|at| Feature { name: format!("x{at}"), kind: Kind::Number }).collect();
    (chunk, features)
}

/// The same in bins.
fn dataset(count: usize, values: u64, class: impl Fn(f64) -> f64) -> Dataset {
    let (chunk, features) = rows(count, values, class);
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
    Dataset::from_chunk(&chunk, layout, &pool)
}

fn trees(trees: usize, depth: usize, form: TreeForm, fitness: EvalMetric) -> ParticleConfig {
    ParticleConfig { trees, form, depth, learning_rate: 1.0, lambda: 0.0, fitness, memory: 1 << 20 }
}

/// Runs to the end.
fn run(mut run: SwarmRun<'_>) -> (SwarmFit, Vec<(usize, SearchStatus)>) {
    let steps = std::iter::from_fn(|| run.step(false).unwrap()).collect();
    (run.finish().unwrap(), steps)
}

/// Every sequence of so many rules.
fn all_sequences(rules: u32, length: u32) -> Vec<Vec<u32>> {
    let digit = |number: u32, place: u32| number / rules.pow(place) % rules;
    (0..rules.pow(length))
        .map(|number| (0..length).map(|place| digit(number, place)).collect())
        .collect()
}

#[test]
fn brute_force_bounds_the_swarm_and_mutation_reaches_the_bound() {
    let limits = TestContext::new(1);
    let data = dataset(300, 4, |signal| signal);
    let table = RuleTable::bins(&data);
    assert_eq!(table.len(), 9);
    for (form, rounds, depth) in
        [(TreeForm::Oblivious, 2, 2), (TreeForm::Oblivious, 1, 3), (TreeForm::Free, 1, 2)]
    {
        let settings = trees(rounds, depth, form, EvalMetric::Rmse);
        let evaluator =
            || Evaluator::new(&data, &table, &Squared, settings, limits.context()).unwrap();
        let all = all_sequences(9, evaluator().length() as u32);
        let least = evaluator()
            .evaluate_all(&all)
            .unwrap()
            .iter()
            .flatten()
            .map(|found| found.cost)
            .fold(f64::MAX, f64::min);
        let mut reached = 0;
        for seed in 0..6 {
            let published =
                SwarmConfig { population: 20, iterations: 40, seed, ..SwarmConfig::default() };
            let (found, steps) = run(SwarmRun::new(evaluator(), &table, &published, &[]).unwrap());
            assert!(found.fitness >= least - 1e-12, "better than the best there is");
            let best: Vec<f64> = steps.iter().filter_map(|(_, search)| search.best).collect();
            assert!(best.windows(2).all(|pair| pair[1] <= pair[0]), "the best never gets worse");
            assert_eq!(best.last(), Some(&found.fitness));
            let long = SwarmConfig { mutation: 0.7, iterations: 2500, ..published };
            let (found, _) = run(SwarmRun::new(evaluator(), &table, &long, &[]).unwrap());
            reached += usize::from(found.fitness <= least + 1e-9);
        }
        assert_eq!(reached, 6, "{form:?}");
    }
}

#[test]
fn a_resumed_run_ends_as_an_uninterrupted_one() {
    let limits = TestContext::new(2);
    let data = dataset(500, 12, |signal| f64::from(signal > 0.6));
    let table = RuleTable::distinct(&data);
    let settings = trees(2, 3, TreeForm::Oblivious, EvalMetric::Accuracy);
    let evaluator =
        || Evaluator::new(&data, &table, &Logistic, settings, limits.context()).unwrap();
    let swarm = SwarmConfig {
        population: 12,
        iterations: 15,
        adaptive: true,
        mutation: 0.02,
        seed: 5,
        ..SwarmConfig::default()
    };
    let (whole, steps) = run(SwarmRun::new(evaluator(), &table, &swarm, &[]).unwrap());
    assert_eq!(steps.len(), 15);
    for stop in 1..=steps.len() {
        let mut first = SwarmRun::new(evaluator(), &table, &swarm, &[]).unwrap();
        (0..stop).for_each(|_| _ = first.step(true).unwrap());
        let snapshot = first.snapshot().expect("a step was kept");
        let (found, rest) = run(SwarmRun::resume(evaluator(), &snapshot, 0).unwrap());
        assert_eq!(found.sequence, whole.sequence);
        assert_eq!(rest, steps[steps.len() - rest.len()..], "stopped after {stop}");
        assert!(rest[0].0 <= stop + 1 && rest.len() >= steps.len() - stop);
    }
}

/// A greedy ensemble of the same size.
fn grow(
    data: &Dataset,
    objective: &dyn Objective,
    trees: &ParticleConfig,
    context: Context<'_>,
) -> greedy::BoostingFit {
    let growth = if trees.form == TreeForm::Free {
        greedy::Growth::Depth
    } else {
        greedy::Growth::Oblivious
    };
    let settings = greedy::GreedyConfig {
        trees: trees.trees,
        growth,
        depth: trees.depth,
        max_leaves: 0,
        lookahead: greedy::lookahead::Lookahead::Off,
        learning_rate: trees.learning_rate,
        penalties: Penalties {
            lambda: trees.lambda,
            ridge: Ridge::Flat,
            gamma: 0.0,
            min_child_weight: 0.0,
        },
        subsample: 1.0,
        colsample_bytree: 1.0,
        dart: None,
        early_stopping_rounds: 0,
        metric: EvalMetric::Loss,
        seed: 0,
        memory: 1 << 24,
        report_every: 0,
    };
    let set = TrainingSet::new(data, None, objective);
    greedy::train(set, &settings, context, &mut |_| ()).unwrap()
}

#[test]
fn a_seeded_swarm_starts_where_greed_ends() {
    let limits = TestContext::new(1);
    let squared: &dyn Objective = &Squared;
    let softmax: &dyn Objective = &Softmax { classes: 3 };
    let numbers = dataset(2000, 30, |signal| signal);
    let classes = dataset(2000, 30, |signal| (signal * 2.0).floor().clamp(0.0, 2.0));
    for (data, objective, form) in [
        (&numbers, squared, TreeForm::Oblivious),
        (&numbers, squared, TreeForm::Free),
        (&classes, softmax, TreeForm::Oblivious),
        (&classes, softmax, TreeForm::Free),
    ] {
        // Without a penalty the Newton steps of rare classes are hundreds long, and rounding with
        // them.
        let settings = ParticleConfig {
            lambda: 1.0,
            learning_rate: 0.5,
            ..trees(3, 4, form, EvalMetric::Loss)
        };
        let fit = grow(data, objective, &settings, limits.context());
        let table = RuleTable::bins(data).with(seeds::rules(&fit.trees));
        let seed = seeds::sequence(&fit.trees, |rule| table.index_of(rule), form, 4)
            .expect("every rule is in the table");
        let evaluator =
            || Evaluator::new(data, &table, objective, settings, limits.context()).unwrap();
        assert_eq!(seed.len(), evaluator().length());
        // The same structure gives the same scores, but for the rounding of the greedy learner's
        // histograms.
        let scores = evaluator().training_scores(&seed).unwrap();
        for (own, greedy) in scores.iter().flatten().zip(fit.ensemble.train_scores.iter().flatten())
        {
            assert!((own - greedy).abs() < 0.02, "{form:?} {own} {greedy}");
        }
        let cost = evaluator().evaluate(&seed).unwrap().cost;
        let swarm = SwarmConfig { population: 10, iterations: 3, ..SwarmConfig::default() };
        let mut seeded =
            SwarmRun::new(evaluator(), &table, &swarm, std::slice::from_ref(&seed)).unwrap();
        let first = seeded.step(false).unwrap().and_then(|(_, search)| search.best).unwrap();
        assert!(first <= cost);
    }
    // Rules that the table lacks, and trees of the other form.
    let fit =
        grow(&numbers, squared, &trees(1, 4, TreeForm::Free, EvalMetric::Loss), limits.context());
    let table = RuleTable::of_rules(&numbers, seeds::rules(&fit.trees).take(1));
    let number = |rule: &BinRule| table.index_of(rule);
    assert_eq!(seeds::sequence(&fit.trees, number, TreeForm::Free, 4), None);
    assert_eq!(
        seeds::sequence(
            &fit.trees,
            |rule| RuleTable::bins(&numbers).index_of(rule),
            TreeForm::Oblivious,
            4
        ),
        None
    );
}

#[test]
fn a_swarm_without_rules_says_so() {
    let limits = TestContext::new(1);
    let data = dataset(50, 1, |signal| signal);
    let table = RuleTable::bins(&data);
    let evaluator = Evaluator::new(
        &data,
        &table,
        &Squared,
        trees(1, 1, TreeForm::Oblivious, EvalMetric::Rmse),
        limits.context(),
    )
    .unwrap();
    assert_eq!(
        SwarmRun::new(evaluator, &table, &SwarmConfig::default(), &[]).err(),
        Some(SwarmError::NoRules)
    );
}

/// Where a local search ends, no replacement of a single rule is better: tried one by one.
#[test]
fn local_search_ends_where_no_single_replacement_helps() {
    let (data, limits) = (dataset(700, 12, |signal| signal), TestContext::new(2));
    let table = RuleTable::bins(&data);
    let short = SwarmConfig { population: 4, iterations: 2, seed: 3, ..SwarmConfig::default() };
    let evaluator = || {
        Evaluator::new(
            &data,
            &table,
            &Squared,
            trees(1, 3, TreeForm::Oblivious, EvalMetric::Rmse),
            limits.context(),
        )
        .unwrap()
    };
    let swarm = run(SwarmRun::new(evaluator(), &table, &short, &[]).unwrap()).0;
    let mut descending = SwarmRun::new(evaluator(), &table, &short, &[]).unwrap();
    while descending.step(false).unwrap().is_some() {}
    let (mut steps, mut last) = (0, f64::INFINITY);
    while let Some((step, search)) = descending.descend().unwrap() {
        assert!(step == steps + 1 && search.best.unwrap() <= last && search.evaluations > 0);
        (steps, last) = (step, search.best.unwrap());
    }
    let found = descending.finish().unwrap();
    let descended = found.local_search.unwrap();
    assert!(
        descended.replaced > 0
            && descended.before == swarm.fitness
            && found.fitness < swarm.fitness
    );
    assert_eq!(found.fitness, last);
    let mut evaluator = evaluator();
    for position in 0..3 {
        for rule in 0..table.len() as u32 {
            let mut replaced = found.sequence.clone();
            replaced[position] = rule;
            assert!(evaluator.evaluate(&replaced).unwrap().fitness >= found.fitness - 1e-12);
        }
    }
}

#[test]
fn local_search_wants_oblivious_trees() {
    let (data, limits) = (dataset(100, 4, |signal| signal), TestContext::new(1));
    let table = RuleTable::bins(&data);
    let free = Evaluator::new(
        &data,
        &table,
        &Squared,
        trees(1, 2, TreeForm::Free, EvalMetric::Rmse),
        limits.context(),
    )
    .unwrap();
    let few = SwarmConfig { population: 2, iterations: 1, ..SwarmConfig::default() };
    let mut run = SwarmRun::new(free, &table, &few, &[]).unwrap();
    while run.step(false).unwrap().is_some() {}
    assert_eq!(run.descend(), Err(SwarmError::Particle(ParticleError::Replace)));
    assert!(run.finish().is_ok());
}

#[test]
fn an_interruption_amid_an_iteration_keeps_the_best_and_the_state_before() {
    let calm = TestContext::new(2);
    let data = dataset(400, 12, |signal| f64::from(signal > 0.6));
    let table = RuleTable::distinct(&data);
    let settings = trees(2, 3, TreeForm::Oblivious, EvalMetric::Accuracy);
    let swarm = SwarmConfig {
        population: 10,
        iterations: 8,
        mutation: 0.05,
        seed: 5,
        ..SwarmConfig::default()
    };
    let (whole, _) = run(SwarmRun::new(
        evaluator_in(&data, &table, settings, calm.context()),
        &table,
        &swarm,
        &[],
    )
    .unwrap());
    for questions in [0, 3, 8, 20] {
        let limits = TestContext::interrupted_after(2, questions);
        let evaluator = evaluator_in(&data, &table, settings, limits.context());
        let mut interrupted = SwarmRun::new(evaluator, &table, &swarm, &[]).unwrap();
        let told: Vec<(usize, SearchStatus)> =
            std::iter::from_fn(|| interrupted.step(true).unwrap()).collect();
        assert!(interrupted.is_interrupted() && told.len() < 8, "{questions}: {}", told.len());
        let snapshot = interrupted.snapshot();
        let found = interrupted.finish().unwrap();
        assert!(told.iter().all(|(_, search)| search.best <= Some(found.fitness)), "{questions}");
        let mut again = evaluator_in(&data, &table, settings, calm.context());
        assert_eq!(again.evaluate(&found.sequence).unwrap().fitness, found.fitness);
        // Amid the first iteration there is no state to go on from; else the run goes on as if
        // nothing had happened.
        assert_eq!(snapshot.is_some(), questions >= 8, "{questions}");
        if let Some(snapshot) = snapshot {
            let (resumed, _) = run(SwarmRun::resume(again, &snapshot, 0).unwrap());
            assert_eq!(resumed.sequence, whole.sequence);
        }
    }
}

fn evaluator_in<'a>(
    data: &'a Dataset,
    table: &'a RuleTable,
    settings: ParticleConfig,
    context: Context<'a>,
) -> Evaluator<'a> {
    Evaluator::new(data, table, &Logistic, settings, context).unwrap()
}

/// What a run returned, with every number as bits, and the messages of each iteration and of each
/// visit of the local search.
#[derive(Debug, PartialEq)]
struct RunRecord {
    sequence: Vec<u32>,
    fitness: u64,
    members: Vec<Member>,
    scores: Vec<Vec<u32>>,
    iterations: Vec<u64>,
    visits: Vec<u64>,
}

/// Runs a swarm to its end, and a local search after it where trees allow one.
fn run_on<C: Code>(
    backends: &dyn BackendFactory,
    messages: &dyn Fn() -> u64,
    (set, table): (ParticleSet<'_>, &RuleTable<C>),
    swarm: &SwarmConfig,
    threads: usize,
) -> RunRecord {
    let limits = TestContext::new(threads);
    let context = limits.context();
    let evaluator = Evaluator::with_backends(set, context, backends).unwrap();
    let mut run = SwarmRun::new(evaluator, table, swarm, &[]).unwrap();

    let (mut iterations, mut visits, mut before) = (Vec::new(), Vec::new(), messages());
    while run.step(false).unwrap().is_some() {
        iterations.push(messages() - before);
        before = messages();
    }
    while set.config.form == TreeForm::Oblivious && run.descend().unwrap().is_some() {
        visits.push(messages() - before);
        before = messages();
    }

    let SwarmFit { sequence, fitness, ensemble, .. } = run.finish().unwrap();
    let bits = |scores: &Vec<f32>| scores.iter().map(|score| score.to_bits()).collect();
    RunRecord {
        sequence,
        fitness: fitness.to_bits(),
        members: ensemble.members,
        scores: ensemble.train_scores.iter().map(bits).collect(),
        iterations,
        visits,
    }
}

/// The tables of rules in which the three methods differ, and whether a start draws a feature
/// first.
fn methods(
    data: &Dataset,
    objective: &dyn Objective,
    config: &ParticleConfig,
) -> [(&'static str, RuleTable, bool); 3] {
    let limits = TestContext::new(1);
    let pretrained = grow(data, objective, config, limits.context());
    [
        ("SGBDT", RuleTable::distinct(data), true),
        ("SGBDT-bins", RuleTable::bins(data), true),
        ("PSGBDT", RuleTable::pretrained(data, &pretrained.trees), false),
    ]
}

/// One, two and eight threads and encoded messages: the same bits, and one message per iteration.
fn check_method<C: ParticleCode>(
    data: &Dataset<C>,
    table: &RuleTable<C>,
    (objective, config): (&dyn Objective, ParticleConfig),
    by_feature: bool,
    what: &str,
) {
    let swarm =
        SwarmConfig { population: 8, iterations: 4, by_feature, seed: 2, ..SwarmConfig::default() };
    let set = ParticleSet::new(data, table.rules(), objective, config);
    let local = |threads| run_on(&LocalBackends, &|| 0, (set, table), &swarm, threads);
    let one = local(1);
    assert_eq!(one, local(2), "{what}");
    assert_eq!(one, local(8), "{what}");

    let loopback = LoopbackBackends::default();
    let count = || loopback.messages();
    let encoded = run_on(&loopback, &count, (set, table), &swarm, 2);
    assert_eq!(encoded.iterations, [1; 4], "{what}");
    // The gains of all replacements, and the fitness of those that promise most.
    assert!(encoded.visits.iter().all(|&messages| messages == 2), "{what}");
    assert_eq!(encoded.visits.is_empty(), config.form == TreeForm::Free, "{what}");
    // One message describes the rows; three evaluate the best particle, make its members and
    // gather its scores.
    let all = 1 + 4 + 2 * encoded.visits.len() as u64 + 3;
    assert_eq!(loopback.messages(), all, "{what}");

    let (iterations, visits) = (vec![0; 4], vec![0; encoded.visits.len()]);
    assert_eq!(one, RunRecord { iterations, visits, ..encoded }, "{what}");
}

/// Every published method; SGBDT with codes of one and of two bytes.
#[test]
fn threads_and_backends_change_no_bit_of_any_method() {
    let class = |signal: f64| f64::from(signal > 0.6);
    let numbers = dataset(9000, 12, |signal| signal);
    let binary = dataset(9000, 12, class);
    let classes = dataset(9000, 12, |signal| (signal * 2.0).floor().clamp(0.0, 2.0));
    let (chunk, features) = rows(9000, 2000, class);
    let wide = distinct::<u16>(&chunk, &features);
    assert!(numbers.plan.shards > 1 && wide.layout.codes() > 256);

    let targets: [(&Dataset, &dyn Objective, EvalMetric); 3] = [
        (&numbers, &Squared, EvalMetric::Rmse),
        (&binary, &Logistic, EvalMetric::Accuracy),
        (&classes, &Softmax { classes: 3 }, EvalMetric::Loss),
    ];
    for form in [TreeForm::Oblivious, TreeForm::Free] {
        for (data, objective, fitness) in targets {
            let config = ParticleConfig { lambda: 1.0, ..trees(2, 3, form, fitness) };
            for (method, table, by_feature) in methods(data, objective, &config) {
                let what = format!("{method} {} {form:?}", objective.name());
                check_method(data, &table, (objective, config), by_feature, &what);
            }
        }
        let config = trees(2, 3, form, EvalMetric::Accuracy);
        let table = RuleTable::distinct(&wide);
        check_method(&wide, &table, (&Logistic, config), true, "two bytes");
    }
}
