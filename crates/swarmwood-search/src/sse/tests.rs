//! The exploiter against the contract and by hand.

use super::*;
use crate::generational::tests::{assert_contract, assert_resumable, plain_start};
use crate::space::Param;

const RANKED: SseMutation = SseMutation::Ranked(0.2);
const NORMAL: SseMutation = SseMutation::Constant(0.15);

#[test]
fn both_mutations_keep_every_rule() {
    for mutation in [RANKED, NORMAL] {
        assert_contract::<SseMethod>(&|_| SseConfig {
            population: 5,
            mutation,
            ..SseConfig::default()
        });
        assert_contract::<SseMethod>(&|space| SseConfig {
            population: 6,
            mutation,
            generations: Some(5),
            start: plain_start(space),
        });
    }
}

#[test]
fn snapshots_and_batches() {
    for mutation in [RANKED, NORMAL] {
        assert_resumable::<SseMethod>(&|space| SseConfig {
            population: 5,
            mutation,
            start: plain_start(space),
            ..SseConfig::default()
        });
    }
}

#[test]
fn rates_follow_the_rank() {
    assert_eq!([0, 1, 9].map(|rank| NORMAL.rate(rank, 10)), [0.0, 0.15, 0.15]);
    let ranked = [0, 1, 5, 9].map(|rank| RANKED.rate(rank, 10));
    assert!(
        ranked.iter().zip([0.0, 0.02, 0.1, 0.18]).all(|(a, b)| (a - b).abs() < 1e-15),
        "{ranked:?}"
    );
}

#[test]
fn faults_are_reported_together() {
    let space = Space::new(vec![Param::integer("a", 0, 3)]).unwrap();
    let config = SseConfig {
        population: 0,
        mutation: SseMutation::Ranked(1.5),
        generations: Some(0),
        ..SseConfig::default()
    };
    assert_eq!(config.check(&space).unwrap_err().to_string().lines().count(), 3);
}

fn new(population: usize, mutation: SseMutation) -> SseMethod {
    let space =
        Space::new((0..6).map(|i| Param::integer(&format!("g{i}"), 0, 99)).collect()).unwrap();
    let config = SseConfig { population, mutation, ..SseConfig::default() };
    SseMethod::new(&space, config, RoundSeed { seed: 3, number: 0 }).unwrap()
}

/// Without mutation the first child is the best individual, and every gene of every child is held
/// by a member of its subset, failures not among them.
#[test]
fn children_hold_what_their_subset_holds() {
    let mut exploiter = new(4, SseMutation::Constant(0.0));
    let parents = exploiter.individuals.clone();
    let losses = [Some(3.0), None, Some(1.0), Some(2.0)];
    assert!(
        exploiter.advance(
            RoundLosses { losses: &losses, start: None },
            RoundSeed { seed: 3, number: 1 }
        )
    );
    assert_eq!(exploiter.individuals.row(0), parents.row(2));
    // Ranks 0, 1, 2 are individuals 2, 3, 0; means 1, 1.5, 2 and 2, of which {0, 1, 2} comes first
    // in the dictionary.
    let subsets: [&[usize]; 4] = [&[2], &[2, 3], &[2, 3, 0], &[2, 0]];
    for (i, subset) in subsets.iter().enumerate() {
        for (j, gene) in exploiter.individuals.row(i).iter().enumerate() {
            assert!(
                subset.iter().any(|&parent| parents.row(parent)[j] == *gene),
                "child {i}, gene {j}"
            );
        }
    }
}

#[test]
fn the_child_of_the_best_is_never_mutated_and_the_others_are() {
    for mutation in [SseMutation::Constant(1.0), SseMutation::Ranked(1.0)] {
        let mut exploiter = new(10, mutation);
        let parents = exploiter.individuals.clone();
        let losses: Vec<Option<f64>> = (0..10).map(|i| Some((i as f64 - 4.0).abs())).collect();
        exploiter.advance(
            RoundLosses { losses: &losses, start: None },
            RoundSeed { seed: 3, number: 1 },
        );
        assert_eq!(exploiter.individuals.row(0), parents.row(4));
        let foreign = |row: &[f64]| {
            (0..6).filter(|&j| parents.iter().all(|parent| parent[j] != row[j])).count()
        };
        assert_eq!(foreign(exploiter.individuals.row(0)), 0);
        assert!(foreign(exploiter.individuals.row(9)) >= 3);
    }
}

#[test]
fn a_start_joins_and_a_generation_of_failures_is_drawn_anew() {
    let mut exploiter = new(4, NORMAL);
    let before = exploiter.individuals.clone();
    exploiter
        .advance(RoundLosses { losses: &[None; 4], start: None }, RoundSeed { seed: 3, number: 1 });
    assert_ne!(exploiter.individuals, before);
    exploiter.advance(
        RoundLosses { losses: &[None; 4], start: Some((&[0.125; 6], 1.0)) },
        RoundSeed { seed: 3, number: 2 },
    );
    assert_eq!(exploiter.individuals.row(0), [0.125; 6]);
}
