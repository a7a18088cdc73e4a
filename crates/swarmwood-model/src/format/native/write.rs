//! From a model to JSON: one line per feature and one per tree, so that files are readable and can be
//! compared line by line.

use serde::Serialize;

use super::{FORMAT, tables};
use crate::calibration::{ClassSets, PredictionInterval};
use crate::dates::DateColumn;
use crate::ensemble::{Body, LinearFunction, LinearTerm, Link, Member, Model, Provenance, Shape};
use crate::schema::{Kind, TargetKind};
use crate::training_stats::{Distribution, LeafRows};
use crate::tree::{Child, Leaf, Node, Split, Test};

pub(super) fn write(model: &Model) -> String {
    let target = tables::TargetRecord {
        name: model.schema.target.name.clone(),
        columns: match &model.schema.target.kind {
            TargetKind::Numbers(columns) => Some(columns.clone()),
            TargetKind::Number | TargetKind::Classes(_) => None,
        },
        classes: match &model.schema.target.kind {
            TargetKind::Classes(classes) => Some(classes.clone()),
            TargetKind::Number | TargetKind::Numbers(_) => None,
        },
    };

    let feature = |feature: &crate::Feature| tables::FeatureRecord {
        name: feature.name.clone(),
        levels: match &feature.kind {
            Kind::Number => None,
            Kind::Category { levels } => Some(levels.clone()),
        },
    };

    let mut out = format!("{{\"format\":\"{FORMAT}\",\"version\":{},\n", version(model));
    line(&mut out, "objective", &model.objective);
    line(&mut out, "link", &link(model.link));
    line(&mut out, "base", &model.base);
    line(&mut out, "provenance", &provenance(model));
    line(&mut out, "target", &target);
    if let Some(threshold) = model.calibration.threshold {
        line(&mut out, "threshold", &threshold);
    }
    if let Some(PredictionInterval { level, half_width, scale }) = &model.calibration.interval {
        let scale = scale.as_ref().map(|scale| {
            let shape = Shape::Ordinary(scale.clone());
            tree(&Member { output: 0, shape })
        });
        let record = tables::IntervalRecord { level: *level, half_width: *half_width, scale };
        line(&mut out, "interval", &record);
    }
    if let Some(ClassSets { level, min_probability }) = model.calibration.class_sets {
        line(&mut out, "class_sets", &tables::ClassSetsRecord { level, min_probability });
    }
    if let Some(unit) = model.calibration.points_unit {
        line(&mut out, "points_unit", &unit);
    }
    if !model.schema.dates.is_empty() {
        lines(&mut out, "dates", model.schema.dates.iter().map(date));
        out.push_str(",\n");
    }
    lines(&mut out, "features", model.schema.features.iter().map(feature));
    out.push_str(",\n");
    match &model.body {
        Body::Trees(members) => lines(&mut out, "trees", members.iter().map(tree)),
        Body::Linear(functions) => lines(&mut out, "linear", functions.iter().map(linear)),
    }

    out.push_str("}\n");
    out
}

fn provenance(model: &Model) -> tables::ProvenanceRecord {
    let Provenance { version, method, rows, params, stats } = &model.provenance;
    let width = model.schema.target.kind.classes().len().max(1);
    let leaves = |tree: &LeafRows| tree.counts.chunks(width).map(<[u64]>::to_vec).collect();
    let distribution = |distribution: &Distribution| {
        let Distribution { feature, edges, counts, missing } = distribution.clone();
        tables::DistributionRecord { feature, edges, counts, missing }
    };
    tables::ProvenanceRecord {
        version: version.clone(),
        method: method.clone(),
        rows: *rows,
        params: params.clone(),
        leaf_rows: stats.leaf_rows.iter().map(leaves).collect(),
        distributions: stats.distributions.iter().map(distribution).collect(),
    }
}

fn date(date: &DateColumn) -> tables::DateRecord {
    tables::DateRecord {
        name: date.name.clone(),
        format: date.format.clone(),
        origin: date.origin.to_string(),
        parts: date.parts.iter().map(|part| part.name().to_string()).collect(),
    }
}

/// The oldest version that can express the model: older programs read what they can.
fn version(model: &Model) -> u64 {
    match model.members().iter().any(|member| member.shape.is_vector()) {
        _ if super::needs_version_3(model) => 3,
        true => 2,
        false => 1,
    }
}

fn json(value: &impl Serialize) -> String {
    // The tables contain nothing that JSON cannot express: keys are text, and the numbers of a
    // checked model are finite.
    serde_json::to_string(value).expect("tables of numbers and text can be written as JSON")
}

fn line(out: &mut String, key: &str, value: &impl Serialize) {
    out.push_str(&format!("\"{key}\":{},\n", json(value)));
}

/// A list with one line per element.
fn lines<T: Serialize>(out: &mut String, key: &str, values: impl Iterator<Item = T>) {
    out.push_str(&format!("\"{key}\":["));
    for (index, value) in values.enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&json(&value));
    }
    out.push(']');
}

fn link(link: Link) -> tables::LinkName {
    match link {
        Link::Identity => tables::LinkName::Identity,
        Link::Exp => tables::LinkName::Exp,
        Link::ExpM1 => tables::LinkName::ExpM1,
        Link::Sigmoid => tables::LinkName::Sigmoid,
        Link::Softmax => tables::LinkName::Softmax,
    }
}

fn tree(member: &Member) -> tables::TreeRecord {
    let splits: Vec<&Split> = member.shape.splits().collect();
    let threshold = |split: &&Split| match split.test {
        Test::Above(threshold) => Some(threshold),
        Test::In(_) => None,
    };

    let levels = |split: &&Split| match &split.test {
        Test::Above(_) => None,
        Test::In(set) => Some(set.iter().collect::<Vec<u32>>()),
    };

    let categories = splits.iter().any(|split| matches!(split.test, Test::In(_)));
    let leaves: &[Leaf] = member.shape.leaves();

    let mut table = tables::TreeRecord {
        kind: tables::TreeKind::Oblivious,
        output: Some(member.output),
        feature: splits.iter().map(|split| split.feature).collect(),
        threshold: splits.iter().map(threshold).collect(),
        levels: categories.then(|| splits.iter().map(levels).collect()),
        missing_right: splits.iter().map(|split| tables::Bit(split.missing_right)).collect(),
        left: None,
        right: None,
        gain: Vec::new(),
        cover: None,
        leaf: Some(leaves.iter().map(|leaf| leaf.value).collect()),
        values: None,
        leaf_cover: leaves.iter().map(|leaf| leaf.cover).collect(),
    };

    match &member.shape {
        Shape::Oblivious(tree) => table.gain = tree.levels.iter().map(|level| level.gain).collect(),
        Shape::Ordinary(tree) => {
            table.kind = tables::TreeKind::Ordinary;
            set_nodes(&mut table, &tree.nodes);
        }
        Shape::Vector(vector) => {
            table.kind = tables::TreeKind::Vector;
            set_nodes(&mut table, &vector.tree.nodes);
            (table.output, table.leaf) = (None, None);
            let values = vector.values.chunks(vector.outputs().max(1));
            table.values = Some(values.map(<[f64]>::to_vec).collect());
        }
    }
    table
}

fn set_nodes(table: &mut tables::TreeRecord, nodes: &[Node]) {
    table.gain = nodes.iter().map(|node| node.gain).collect();
    table.cover = Some(nodes.iter().map(|node| node.cover).collect());
    table.left = Some(nodes.iter().map(|node| child(node.left)).collect());
    table.right = Some(nodes.iter().map(|node| child(node.right)).collect());
}

/// Nodes by their index, leaf `i` as `-1 - i`.
fn child(child: Child) -> i64 {
    match child {
        Child::Node(node) => i64::from(node),
        Child::Leaf(leaf) => -1 - i64::from(leaf),
    }
}

fn linear(function: &LinearFunction) -> tables::LinearRecord {
    let term = |term: &LinearTerm| match term {
        LinearTerm::Number { weight, centre } => {
            tables::TermRecord { weight: Some(*weight), centre: Some(*centre), weights: None }
        }
        LinearTerm::Category { weights } => {
            tables::TermRecord { weight: None, centre: None, weights: Some(weights.clone()) }
        }
    };
    tables::LinearRecord { terms: function.terms.iter().map(term).collect() }
}
