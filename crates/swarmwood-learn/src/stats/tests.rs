//! What messages must keep: every value survives the way through bytes, and what cannot be is
//! refused.

use swarmwood_model::monotone::Direction;
use swarmwood_model::{Child, Leaf};

use super::codec::{CodecError, of_bytes, to_bytes};
use super::*;
use crate::binned_tree::{BinnedSplit, BinnedTree};
use crate::kernels::quantise::GradientSums;
use crate::metric::EvalMetric;
use crate::rule::{BinRule, CodeSet, Cut};
use crate::split::{Penalties, Ridge, SplitCandidate};

fn rules() -> [BinRule; 2] {
    let set = CodeSet::from_iter([1, 64, 255]);
    [
        BinRule { feature: 3, cut: Cut::Above(7), missing_right: true },
        BinRule { feature: 70_000, cut: Cut::In(set), missing_right: false },
    ]
}

fn tree() -> BinnedTree {
    let [rule, _] = rules();
    let (left, right) = (Child::Leaf(1), Child::Node(9));
    BinnedTree {
        nodes: vec![BinnedSplit { rule, left, right, gain: 0.1, cover: f64::INFINITY }],
        leaves: vec![Leaf { value: -0.0, cover: 1e-300 }, Leaf { value: 0.1, cover: 2.0 }],
        oblivious: true,
    }
}

fn all_work() -> Vec<Work> {
    let [rule, other] = rules();
    let penalties =
        Penalties { lambda: 1.0, ridge: Ridge::Hierarchical, gamma: 0.5, min_child_weight: 2.0 };
    let directions = vec![None, Some(Direction::Increasing), Some(Direction::Decreasing)];
    let search = SplitConstraints {
        allowed: vec![true, false],
        penalties,
        directions,
        groups: vec![vec![0, 1], vec![]],
    };
    let sample = Some(RowSample { share: 0.3, seed: u64::MAX, round: 1 << 33 });
    let command = |rule| SplitCommand { slot: 1, rule, left: 2, right: 3 };
    let leaves = vec![LeafSlot { slot: 4, leaf: 0 }];
    let (id, snapshot) = (TreeId(7), SnapshotId(8));
    vec![
        Work::Describe {},
        Work::Derive { output: Some(1), extra_hessian: 0.25 },
        Work::BeginTree { output: 2, sample, search, query: SplitQuery::Shared },
        Work::Split { commands: vec![command(rule), command(other)], query: SplitQuery::Each },
        Work::Screen { most: 8 },
        Work::LookAhead { slots: vec![0, 3], sets: FeatureSet::new(&[4, 1]).into_iter().collect() },
        Work::FinishTree { output: 0, tree: tree(), leaves: leaves.clone() },
        Work::AddTree { output: 0, tree: tree(), factor: -1.0, training: true, validation: false },
        Work::AssignSlots { id, leaves },
        Work::AssignTree { id, tree: tree() },
        Work::DropTree { id },
        Work::LeafSums { output: 1, id, leaves: 5 },
        Work::LeafQuantiles { rows: LeafRows::Slots { slots: vec![1, 2] }, alpha: 0.5 },
        Work::LeafQuantiles { rows: LeafRows::Tree { id, leaves: 3 }, alpha: 0.9 },
        Work::Shift { output: 0, id, values: vec![1.0, f64::MIN_POSITIVE] },
        Work::ResetScores {},
        Work::Loss {},
        Work::Metric { metric: EvalMetric::Accuracy, rows: RowSet::Validation },
        Work::SaveScores { id: snapshot },
        Work::RestoreScores { id: snapshot },
        Work::DropScores { id: snapshot },
        Work::GatherScores { rows: RowSet::Training },
        Work::ReleaseBuffers {},
        Work::LinearScales {},
        Work::LinearDerive {},
        Work::LinearSums { output: 0, column: LinearColumn::Bias {} },
        Work::LinearStep {
            output: 1,
            column: LinearColumn::Feature { feature: 3 },
            by: vec![0.5, -0.5],
        },
        Work::LinearAdd { output: 0, bias: 0.1, steps: vec![1.0] },
        Work::LinearMove {},
        Work::LinearHalve {},
        Work::LinearRestore {},
        Work::LinearMetric {
            metric: EvalMetric::Rmse,
            rows: RowSet::Validation,
            bias: vec![0.0],
            beta: vec![1.0, 2.0],
        },
        Work::EvaluateParticles { sequences: vec![vec![1, 2], vec![3]], with_leaves: true },
        Work::EvaluateParticle { sequence: vec![u32::MAX] },
        Work::MeasureParticle { sequence: vec![0], fitness: EvalMetric::Accuracy },
        Work::ParticleScores { sequence: vec![7] },
        Work::ParticleReplacements { sequence: vec![7, 8], tree: 1 },
    ]
}

fn all_replies() -> Vec<Reply> {
    let [_, rule] = rules();
    let sums = GradientSums { g: -3.5, h: 0.1 };
    let stats = NodeStats { sums, best: Some(SplitCandidate { rule, gain: 0.7 }) };
    let leaves = vec![Leaf { value: 0.5, cover: 2.0 }];
    let particle = ParticleFitness { fitness: 0.9, leaves, reused: 3 };
    let data = DataDescription { rows: 9, base: vec![0.1, 0.2], shift: -1.0 };
    vec![
        Reply::Done {},
        Reply::Description { data },
        Reply::Hessians { sums: vec![1.0, 2.0] },
        Reply::Root { stats },
        Reply::Children { stats: vec![[stats, NodeStats::default()]] },
        Reply::FeatureSets { sets: FeatureSet::new(&[4, 1, 2]).into_iter().collect() },
        Reply::Lookahead {
            splits: vec![None, Some(LookaheadSplit { rule, gain: 0.3, splits: 3, levels: 2 })],
        },
        Reply::LeafSums { sums: vec![LeafSums { g: 1.0, h: 2.0, weight: 3.0 }] },
        Reply::LeafQuantiles { quantiles: vec![LeafQuantile { value: 0.5, weight: 2.0 }] },
        Reply::Value { value: None },
        Reply::Value { value: Some(0.3) },
        Reply::Scores { scores: vec![vec![0.1, f32::MAX], Vec::new()] },
        Reply::LinearScales {
            scales: vec![ColumnScale { centre: 1.0, spread: 0.0 }],
            total_weight: 5.0,
        },
        Reply::LinearSums { sums: vec![[1.0, 2.0]] },
        Reply::LinearMove { largest: 3.0, moved: 0.1 },
        Reply::Particles { particles: vec![None, Some(particle.clone())] },
        Reply::Particle { particle, sums: vec![[0.1, 0.2]] },
        Reply::Replacements { gains: vec![1.0, -1.0] },
    ]
}

#[test]
fn every_message_survives_the_way_through_bytes() {
    let (work, replies) = (all_work(), all_replies());
    assert_eq!(of_bytes::<Vec<Work>>(&to_bytes(&work)), Ok(work));
    assert_eq!(of_bytes::<Vec<Reply>>(&to_bytes(&replies)), Ok(replies));
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    let bytes = to_bytes(&all_work());
    for length in 0..bytes.len() {
        assert!(of_bytes::<Vec<Work>>(&bytes[..length]).is_err(), "{length}");
    }
    let more = [&bytes[..], &[0]].concat();
    assert_eq!(of_bytes::<Vec<Work>>(&more), Err(CodecError::Rest { bytes: 1 }));
    let mut unknown = bytes;
    unknown[8] = 200;
    assert_eq!(of_bytes::<Vec<Work>>(&unknown), Err(CodecError::Tag { kind: "Work", tag: 200 }));
    // A length that no message of this size can have must not be allocated.
    assert_eq!(of_bytes::<Vec<Work>>(&[255; 16]), Err(CodecError::End));
}
