//! Particles on hosts: the same bits as in one process, for any number of hosts and through lost
//! ones.

use swarmwood_search::rng::Stream;

use super::super::RemoteBackends;
use super::super::test_hosts::{Fault, TestHosts};
use super::{OBJECTIVES, Recorder, binned, data_for, survives_damage};
use crate::bins::layout::{FeatureBins, FeaturePlace};
use crate::budget::Budget;
use crate::context::Context;
use crate::dataset::Dataset;
use crate::metric::EvalMetric;
use crate::objective::{ObjectiveConfig, make};
use crate::pool::Pool;
use crate::rule::{BinRule, Cut};
use crate::stats::{
    BackendFactory, LocalBackends, ParticleConfig, ParticleSet, Reply, TreeForm, Work,
};

/// Some rules about every feature.
fn rules(data: &Dataset) -> Vec<BinRule> {
    let mut rules = Vec::new();
    for (feature, bins) in data.layout.features().iter().enumerate() {
        if data.layout.places()[feature] == FeaturePlace::Dropped {
            continue;
        }
        let rule = |cut, missing_right| BinRule { feature: feature as u32, cut, missing_right };
        for code in (1..bins.bins()).step_by(bins.bins().div_ceil(12)) {
            match bins {
                FeatureBins::Number(_) => {
                    rules.push(rule(Cut::Above(code as u8), code % 2 == 0));
                }
                FeatureBins::Category(_) => {
                    rules.push(rule(Cut::In([code as u8].into_iter().collect()), false));
                }
            }
        }
    }
    rules
}

/// Replies to work of every kind.
fn replies(
    backends: &dyn BackendFactory,
    data: &Dataset,
    objective: &ObjectiveConfig,
    form: TreeForm,
) -> Vec<String> {
    let (pool, budget) = (Pool::new(2).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let (made, rules) = (make(objective), rules(data));
    let (trees, depth, fitness) = (3, 3, EvalMetric::Loss);
    let config = ParticleConfig {
        trees,
        form,
        depth,
        learning_rate: 0.7,
        lambda: 0.5,
        fitness,
        memory: 1 << 20,
    };
    let set = ParticleSet::new(data, &rules, &*made, config);
    let set = ParticleSet { backends, ..set };
    let mut backend = backends.open_particles(set, context).unwrap();
    let mut log = Vec::new();
    let mut ask = |work: Work| {
        let mut reply = backend.run(&[work]).unwrap().pop().unwrap();
        // What is not computed again differs, but nothing else.
        match &mut reply {
            Reply::Particle { particle, .. } => particle.reused = 0,
            Reply::Particles { particles } => {
                particles.iter_mut().flatten().for_each(|particle| particle.reused = 0);
            }
            _ => {}
        }
        log.push(format!("{reply:?}"));
    };

    let mut stream = Stream::new(4, 1, 1);
    let length = trees * made.outputs() * form.rules(depth);
    let mut draw =
        || (0..length).map(|_| stream.below(rules.len() as u64) as u32).collect::<Vec<u32>>();
    let first: Vec<Vec<u32>> = (0..5).map(|_| draw()).collect();
    let second: Vec<Vec<u32>> = (0..4).map(|_| draw()).collect();
    ask(Work::Describe {});
    ask(Work::EvaluateParticles { sequences: first.clone(), with_leaves: true });
    ask(Work::EvaluateParticles { sequences: second, with_leaves: false });
    ask(Work::EvaluateParticle { sequence: first[1].clone() });
    ask(Work::ParticleScores { sequence: first[1].clone() });
    ask(Work::MeasureParticle { sequence: first[2].clone(), fitness: EvalMetric::Loss });
    if form == TreeForm::Oblivious {
        for tree in [0, 1, trees * made.outputs() - 1] {
            let sequence = first[3].clone();
            ask(Work::ParticleReplacements { sequence, tree });
        }
    }
    ask(Work::ParticleScores { sequence: first[4].clone() });
    log
}

#[test]
fn hosts_evaluate_particles_as_one_process_does() {
    for objective in OBJECTIVES {
        let data = data_for(&objective, 70_000);
        for form in [TreeForm::Oblivious, TreeForm::Free] {
            let expected = replies(&LocalBackends, &data, &objective, form);
            for hosts in [1, 2, 3, 8] {
                let transport = TestHosts::new(&data, hosts, |_, _| Fault::None);
                let backends = RemoteBackends::new(&transport, &data, hosts, &objective);
                let found = replies(&backends, &data, &objective, form);
                assert!(found == expected, "{objective:?} {form:?} {hosts}");
            }
        }
    }
}

#[test]
fn hosts_that_are_lost_while_particles_are_evaluated_leave_no_trace() {
    let faults: [fn(usize, usize) -> Fault; 3] = [
        |number, host| if number == 3 && host == 1 { Fault::After } else { Fault::None },
        |number, host| if (number + host) % 5 == 4 { Fault::Before } else { Fault::None },
        |number, host| match (number * 7 + host * 3) % 11 {
            0 => Fault::Before,
            5 => Fault::After,
            _ => Fault::None,
        },
    ];
    for objective in OBJECTIVES {
        let data = data_for(&objective, 20_000);
        let form = TreeForm::Oblivious;
        let expected = replies(&LocalBackends, &data, &objective, form);
        for (at, fault) in faults.into_iter().enumerate() {
            let transport = TestHosts::new(&data, 3, fault);
            let backends = RemoteBackends::new(&transport, &data, 3, &objective);
            assert!(replies(&backends, &data, &objective, form) == expected, "{objective:?} {at}");
            assert!(backends.traffic().rebuilt > 0);
        }
    }
}

#[test]
fn hosts_know_which_codes_occur() {
    let data = binned(20_000, 0);
    let transport = TestHosts::new(&data, 3, |_, _| Fault::None);
    let backends = RemoteBackends::new(&transport, &data, 3, &ObjectiveConfig::SQUARED);
    let (target, weight) = (data.target.to_vec(), data.weight.to_vec());
    let elsewhere = Dataset::held_elsewhere(data.layout.clone(), &target, &weight);
    let examined = backends.examine(elsewhere).unwrap();
    assert_eq!(examined.seen_codes(), data.seen_codes());
    let missed = |data: &Dataset| -> Vec<bool> {
        (0..data.layout.columns().len()).map(|column| data.is_missed(column)).collect()
    };
    assert_eq!(missed(&examined), missed(&data));
    assert!(missed(&data).contains(&true));
}

/// Bytes are changed, cut and put in another order; a host refuses or obeys, and lives.
#[test]
fn no_message_about_particles_brings_a_host_down() {
    let objective = ObjectiveConfig::softmax(3);
    let data = data_for(&objective, 9000);
    let recorder = Recorder::new(TestHosts::new(&data, 1, |_, _| Fault::None));
    let backends = RemoteBackends::new(&recorder, &data, 1, &objective);
    let _ = replies(&backends, &data, &objective, TreeForm::Oblivious);
    let messages = recorder.into_messages();
    assert!(messages.len() > 10);

    survives_damage(&data, &messages);
}
