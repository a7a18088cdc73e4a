//! Schemata against the contract and by hand.

use super::*;
use crate::engine::Engine;
use crate::space::Param;
use crate::steady_state::tests::{assert_contract, assert_resumable};
use crate::trial::TrialResult;

#[test]
fn both_rankings_keep_every_rule() {
    for smoothing in [false, true] {
        assert_contract::<SchemataMethod>(&|| SchemataConfig {
            smoothing,
            ..SchemataConfig::default()
        });
        let small = || SchemataConfig { start: 3, subsets: 4, mutation: 0.1, smoothing };
        assert_contract::<SchemataMethod>(&small);
        assert_resumable::<SchemataMethod>(&small);
    }
}

#[test]
fn faults_are_reported_together() {
    let config = SchemataConfig { start: 0, subsets: 10_001, mutation: f64::NAN, smoothing: true };
    let text = config.check().unwrap_err().to_string();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(
        text.starts_with(
            "setting 'start' of engine 'schemata': must lie within 1 and 10000, not 0"
        ),
        "{text}"
    );
}

/// Without mutation and with enough values to mix, every gene of every child is held by a member of
/// its subset.
#[test]
fn children_hold_what_their_subset_holds() {
    let space =
        Space::new((0..8).map(|i| Param::integer(&format!("g{i}"), 0, 999)).collect()).unwrap();
    let config = SchemataConfig { start: 6, subsets: 4, mutation: 0.0, smoothing: false };
    let mut engine = Schemata::new(&space, config, 5).unwrap();
    let first = engine.ask(6);
    let results: Vec<TrialResult> = first
        .iter()
        .map(|trial| TrialResult::Complete {
            id: trial.id,
            loss: [5.0, 1.0, 9.0, 2.0, 4.0, 7.0][trial.id as usize],
        })
        .collect();
    engine.tell(&results);
    // Ranked: 1, 3, 4, 0 with losses 1, 2, 4, 5. Means: {1} 1, {1,3} 1.5, {3} 2, {1,3,4} 2.33.
    let subsets: [&[usize]; 4] = [&[1], &[1, 3], &[3], &[1, 3, 4]];
    let children = engine.ask(4);
    for (i, mixes) in [(1, true), (3, true), (0, false), (2, false)] {
        let held = |j: usize| {
            subsets[i].iter().any(|&parent| first[parent].point[j] == children[i].point[j])
        };
        let foreign = (0..8).filter(|&j| !held(j)).count();
        // A copy of a single parent was asked already, so that one is made again with mutation.
        assert!(if mixes { foreign == 0 } else { foreign >= 1 }, "child {i}: {foreign}");
    }
}

#[test]
fn parameters_without_a_model_are_drawn() {
    let space = Space::new(vec![
        Param::choice("c", &["a", "b"]),
        Param::integer("i", 0, 1000).when("c", &["b"]),
    ])
    .unwrap();
    let genes = [vec![PointValue::Index(1)], Vec::new()];
    let child = assemble(&space, &genes, 0.0, &mut Stream::new(1, 0, 0));
    assert!(space.contains(&child) && child[1] != PointValue::Absent);
}
