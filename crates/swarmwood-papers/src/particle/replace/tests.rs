//! Every replacement against a plain evaluation of the particle that has it.

use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::metric::EvalMetric;
use swarmwood_learn::objective::{Logistic, ObjectiveConfig, Squared, make};
use swarmwood_learn::stats::ParticleCode;
use swarmwood_search::rng::Stream;

use super::*;
use crate::particle::ParticleConfig;
use crate::particle::tests::{binned, draw, settings, table};
use crate::rule_table::RuleTable;
use crate::test_context::{TestContext, distinct};

/// The leaves of each replaced tree, as evaluated, are worth what the table says, in any round and
/// for any output.
#[test]
fn every_replacement_has_the_leaves_of_its_evaluation() {
    for (spec, weighted) in [
        (ObjectiveConfig::SQUARED, false),
        (ObjectiveConfig::LOGISTIC, true),
        (ObjectiveConfig::POISSON, false),
        (ObjectiveConfig::softmax(3), false),
    ] {
        let (chunk, features) = table(5000, &spec, weighted);
        check_replacements(&binned(&chunk, &features), &spec, 7);
        let (chunk, features) = table(1000, &spec, weighted);
        check_replacements(&distinct::<u16>(&chunk, &features), &spec, 97);
    }
}

/// Compares every `step`-th rule.
fn check_replacements<C: ParticleCode>(data: &Dataset<C>, spec: &ObjectiveConfig, step: usize) {
    let (limits, mut stream) = (TestContext::new(2), Stream::new(21, 0, 0));
    let (rules, objective) = (RuleTable::bins(data), make(spec));
    let settings = ParticleConfig { learning_rate: 0.7, lambda: 0.5, memory: 0, ..settings(3, 3) };
    let mut evaluator =
        Evaluator::new(data, &rules, objective.as_ref(), settings, limits.context()).unwrap();
    let sequence = draw(&mut stream, &rules, evaluator.length());
    // By how much a leaf lowers the second-order model of the loss.
    let leaf_worth = |&[g, h]: &[f64; 2]| {
        let value = -0.7 * g / (h + 0.5);
        -(g * value + 0.5 * h * value * value)
    };
    let worth = |evaluator: &mut Evaluator<'_>, sequence: &[u32], tree: usize| -> f64 {
        let (_, sums) = evaluator.evaluate_with_sums(sequence).unwrap();
        sums[tree * 8..(tree + 1) * 8].iter().map(leaf_worth).sum()
    };
    for tree in 0..evaluator.trees() {
        let found = evaluator.replacements(&sequence, tree).unwrap();
        let own = worth(&mut evaluator, &sequence, tree);
        for level in 0..3 {
            assert_eq!(found.gain(level, sequence[tree * 3 + level]), 0.0, "itself");
            for rule in (0..rules.len() as u32).step_by(step) {
                let mut replaced = sequence.clone();
                replaced[tree * 3 + level] = rule;
                let now = worth(&mut evaluator, &replaced, tree);
                let (gain, plain) = (found.gain(level, rule), now - own);
                assert!(
                    (gain - plain).abs() < 1e-5 * (1.0 + own),
                    "{spec:?} tree {tree}: {gain} {plain}"
                );
            }
        }
    }
}

/// For the squared loss and the last tree the gain is that of the fitness, and the best replacement
/// the best of all.
#[test]
fn gains_of_the_last_tree_are_those_of_the_squared_loss() {
    let (chunk, features) = table(4200, &ObjectiveConfig::SQUARED, false);
    let (data, limits) = (binned(&chunk, &features), TestContext::new(1));
    let rules = RuleTable::distinct(&data);
    let mut evaluator =
        Evaluator::new(&data, &rules, &Squared, settings(2, 3), limits.context()).unwrap();
    let sequence = draw(&mut Stream::new(22, 0, 0), &rules, 6);
    let found = evaluator.replacements(&sequence, 1).unwrap();
    let own = evaluator.evaluate(&sequence).unwrap().fitness;
    let mut least = (f64::INFINITY, 0, 0);
    for level in 0..3 {
        for rule in 0..rules.len() as u32 {
            let mut replaced = sequence.clone();
            replaced[3 + level] = rule;
            let fitness = evaluator.evaluate(&replaced).unwrap().fitness;
            assert!((own - found.gain(level, rule) / 4200.0 - fitness).abs() < 1e-6 * (1.0 + own));
            if fitness < least.0 {
                least = (fitness, 3 + level, rule);
            }
        }
    }
    let best = found.best(5);
    assert_eq!((best[0].position, best[0].rule), (least.1, least.2));
    assert!(best.is_sorted_by(|a, b| a.gain >= b.gain) && best.len() == 5 && best[4].gain > 0.0);
}

#[test]
fn threads_and_memory_change_no_gain() {
    let (chunk, features) = table(9000, &ObjectiveConfig::LOGISTIC, true);
    check_gains(&binned(&chunk, &features));
    check_gains(&distinct::<u16>(&chunk, &features));
}

fn check_gains<C: ParticleCode>(data: &Dataset<C>) {
    let rules = RuleTable::bins(data);
    let sequence = draw(&mut Stream::new(23, 0, 0), &rules, 8);
    let gains = |threads: usize, memory: usize| {
        let limits = TestContext::new(threads);
        let settings = ParticleConfig { memory, fitness: EvalMetric::Accuracy, ..settings(2, 4) };
        let mut evaluator =
            Evaluator::new(data, &rules, &Logistic, settings, limits.context()).unwrap();
        [0, 1].map(|tree| evaluator.replacements(&sequence, tree).unwrap())
    };
    assert_eq!(gains(1, 0), gains(3, 1 << 20));
}

#[test]
fn what_cannot_be_replaced_is_refused() {
    let (chunk, features) = table(600, &ObjectiveConfig::SQUARED, false);
    let (data, limits) = (binned(&chunk, &features), TestContext::new(1));
    let rules = RuleTable::bins(&data);
    let free = ParticleConfig { form: TreeForm::Free, ..settings(1, 2) };
    let mut evaluator = Evaluator::new(&data, &rules, &Squared, free, limits.context()).unwrap();
    assert_eq!(evaluator.replacements(&[0, 1, 2], 0), Err(ParticleError::Replace));
    let mut evaluator =
        Evaluator::new(&data, &rules, &Squared, settings(1, 2), limits.context()).unwrap();
    let refused = evaluator.replacements(&[0, 1], 1).unwrap_err();
    assert_eq!(refused.to_string(), "tree 1; a particle has 1, counted from 0");
    assert!(evaluator.replacements(&[0, 1], 0).unwrap().gain(2, 0).is_nan());
    assert!(evaluator.replacements(&[0, 1], 0).unwrap().gain(0, 1 << 20).is_nan());
}
