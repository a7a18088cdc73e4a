//! The policy's gradient against finite differences, its draws against its probabilities, learning
//! on a planted problem, and resumption.

use swarmwood_search::discrete_pso::{sequence, sequence_space};
use swarmwood_search::rng::Stream;
use swarmwood_search::{Engine, Snapshot, Trial, TrialResult};

use super::*;

const SHAPE: SequenceShape = SequenceShape { trees: 2, rules_per_tree: 3, is_heap: false };

fn policy(shape: SequenceShape, groups: &[usize], uniform: bool) -> RulePolicy {
    RulePolicy::new(shape, groups, uniform, 5, Stream::new(1, 0, 0))
}

/// A policy whose outputs are no longer uniform.
fn shaken(shape: SequenceShape, groups: &[usize]) -> RulePolicy {
    let mut policy = policy(shape, groups, false);
    let mut stream = Stream::new(2, 0, 0);
    policy.network.weights.iter_mut().for_each(|weight| *weight += 0.7 * stream.normal());
    policy
}

/// Every sequence of so many rules of a table.
fn all_sequences(length: usize, table: u32) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    for _ in 0..length {
        let longer = |sequence: &Vec<u32>| {
            let sequence = sequence.clone();
            (0..table).map(move |rule| [&sequence[..], &[rule]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

#[test]
fn probabilities_sum_to_one_and_draws_follow_them() {
    for is_heap in [false, true] {
        let shape = SequenceShape { trees: 1, rules_per_tree: 3, is_heap };
        let policy = shaken(shape, &[1, 3]);
        let all = all_sequences(3, 4);
        let total: f64 = all.iter().map(|one| policy.log_probability(one).exp()).sum();
        assert!((total - 1.0).abs() < 1e-12, "{total}");

        let draws = 20_000;
        let mut counts = vec![0; all.len()];
        for item in 0..draws {
            let drawn = policy.sample(&mut Stream::new(3, 0, item));
            counts[all.iter().position(|one| *one == drawn).unwrap()] += 1;
        }
        for (one, count) in all.iter().zip(counts) {
            let expected = policy.log_probability(one).exp() * draws as f64;
            let deviation = expected.sqrt().max(1.0);
            assert!((f64::from(count) - expected).abs() < 5.0 * deviation, "{one:?} {count}");
        }
    }
}

/// More rules than ranges: 70 rules in 32 ranges of 2 or 3.
#[test]
fn the_first_policy_is_the_draw_of_algorithm_4_or_uniform() {
    let (by_feature, uniform) = (policy(SHAPE, &[70, 2], false), policy(SHAPE, &[70, 2], true));
    for rule in 0..72 {
        let share = if rule < 70 { 0.5 / 70.0 } else { 0.25 };
        assert!((by_feature.log_probability(&[rule]).exp() - share).abs() < 1e-12, "{rule}");
        assert!((uniform.log_probability(&[rule]).exp() - 1.0 / 72.0).abs() < 1e-12, "{rule}");
    }
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    let heap = SequenceShape { trees: 2, rules_per_tree: 7, is_heap: true };
    for shape in [SHAPE, heap] {
        let mut policy = shaken(shape, &[2, 40, 1]);
        let sequence: Vec<u32> = (0..shape.length()).map(|slot| (slot as u32 * 17) % 43).collect();
        let mut gradient = vec![0.0; policy.network.weights.len()];
        policy.accumulate(&sequence, 1.5, 0.0, &mut gradient);
        for (at, slope) in gradient.iter().enumerate() {
            let weight = policy.network.weights[at];
            let mut loss = |step: f64| {
                policy.network.weights[at] = weight + step;
                -1.5 * policy.log_probability(&sequence)
            };
            let expected = (loss(1e-5) - loss(-1e-5)) / 2e-5;
            policy.network.weights[at] = weight;
            assert!((slope - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{at}");
        }
    }
}

/// The entropy of one choice: its gradient against finite differences.
#[test]
fn the_gradient_of_the_entropy_is_that_of_finite_differences() {
    let shape = SequenceShape { trees: 1, rules_per_tree: 1, is_heap: false };
    let mut policy = shaken(shape, &[3, 4]);
    let mut gradient = vec![0.0; policy.network.weights.len()];
    policy.accumulate(&[4], 0.0, 0.3, &mut gradient);
    for (at, slope) in gradient.iter().enumerate() {
        let weight = policy.network.weights[at];
        let mut loss = |step: f64| {
            policy.network.weights[at] = weight + step;
            let hidden = policy.network.hidden(&[(0, 1.0), (1, 1.0)]);
            let entropy = |output: usize| {
                let logs = policy.network.log_probabilities(output, &hidden);
                -logs.iter().map(|log| log.exp() * log).sum::<f64>()
            };
            -0.3 * (entropy(0) + entropy(2))
        };
        let expected = (loss(1e-5) - loss(-1e-5)) / 2e-5;
        policy.network.weights[at] = weight;
        assert!((slope - expected).abs() < 1e-7, "{at} {slope} {expected}");
    }
}

fn config(rounds: u64) -> PolicyConfig {
    PolicyConfig {
        shape: SHAPE,
        group_sizes: vec![20, 3, 7],
        uniform: false,
        population: 30,
        rounds,
        hidden: 16,
        rate: 0.03,
        entropy_weight: 0.01,
    }
}

/// The distance from a planted sequence; some trials fail.
fn result(trial: &Trial) -> TrialResult {
    let planted = [25, 4, 21, 11, 29, 2];
    let rules = sequence(&trial.point).unwrap();
    let wrong = rules.iter().zip(planted).map(|(&a, b)| f64::from(a.abs_diff(b).min(5))).sum();
    match trial.id % 11 {
        5 => TrialResult::Failed { id: trial.id },
        _ => TrialResult::Complete { id: trial.id, loss: wrong },
    }
}

/// The mean loss of each round, and the state before it.
fn run(mut engine: PolicyGradient) -> Vec<(f64, Snapshot)> {
    let mut rounds = Vec::new();
    loop {
        let state = engine.snapshot();
        let trials = engine.ask(usize::MAX);
        if trials.is_empty() {
            return rounds;
        }
        let results: Vec<TrialResult> = trials.iter().map(result).collect();
        let losses: Vec<f64> = results
            .iter()
            .filter_map(|result| match result {
                TrialResult::Complete { loss, .. } => Some(*loss),
                TrialResult::Failed { .. } => None,
            })
            .collect();
        engine.tell(&results);
        rounds.push((losses.iter().sum::<f64>() / losses.len() as f64, state));
    }
}

#[test]
fn the_policy_learns_a_planted_sequence() {
    let space = sequence_space(6, 30).unwrap();
    let rounds = run(PolicyGradient::new(&space, config(150), 5).unwrap());
    let (first, last) = (rounds[0].0, rounds[149].0);
    assert!(last < 0.35 * first, "{first} {last}");
}

#[test]
fn a_search_goes_on_from_any_state() {
    let space = sequence_space(6, 30).unwrap();
    let whole = run(PolicyGradient::new(&space, config(8), 5).unwrap());
    for at in 0..whole.len() {
        let resumed = run(PolicyGradient::resume(&space, &whole[at].1).unwrap());
        assert_eq!(resumed, whole[at..], "round {at}");
    }

    let mut foreign = whole[3].1.clone();
    foreign.space ^= 1;
    assert!(PolicyGradient::resume(&space, &foreign).is_err());
    let mut config = config(8);
    config.group_sizes = vec![29];
    assert!(PolicyGradient::new(&space, config, 5).is_err(), "groups of another table");
}
