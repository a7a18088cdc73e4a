//! From JSON to a model. Lengths and ranges are checked here, before anything is built; the
//! invariants of a model are checked by [`Model::check`] afterwards.

use super::{FORMAT, FormatError, VERSION, tables};
use crate::ensemble::{Body, LinearFunction, LinearTerm, Link, Member, Model, Provenance, Shape};
use crate::schema::{Feature, Kind, Schema, Target, TargetKind};
use crate::tree::{Child, Leaf, Level, Node, ObliviousTree, Split, Test, Tree};

pub(super) fn read(bytes: &[u8]) -> Result<Model, FormatError> {
    // The header is read first and by itself, so that a file of a newer version is reported as such
    // and not as a syntax error.
    let header: tables::FileHeader<'_> = serde_json::from_slice(bytes).map_err(syntax)?;
    if header.format != FORMAT {
        return Err(FormatError::OtherFormat { found: header.format.chars().take(40).collect() });
    }
    match header.version {
        0 => return Err(FormatError::UnknownVersion { found: 0 }),
        1 => {}
        found => return Err(FormatError::NewerVersion { found }),
    }
    const _: () = assert!(VERSION == 1, "read every version up to the newest");
    model(serde_json::from_slice(bytes).map_err(syntax)?)
}

fn syntax(error: serde_json::Error) -> FormatError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    // The position is reported separately from the message.
    let message =
        text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_string();
    FormatError::Syntax { line, column, message }
}

fn model(file: tables::ModelRecord) -> Result<Model, FormatError> {
    // The schema.
    let kind = |levels: Option<Vec<String>>| {
        levels.map_or(Kind::Number, |levels| Kind::Category { levels })
    };

    let feature =
        |feature: tables::FeatureRecord| Feature { name: feature.name, kind: kind(feature.levels) };
    let target = Target {
        name: file.target.name,
        kind: file.target.classes.map_or(TargetKind::Number, TargetKind::Classes),
    };

    let schema = Schema { features: file.features.into_iter().map(feature).collect(), target };

    // The body: exactly one of trees and linear functions.
    let body = match (file.trees, file.linear) {
        (Some(trees), None) => {
            let trees = trees.into_iter().enumerate().map(|(index, tree)| member(index, tree));
            Body::Trees(trees.collect::<Result<_, _>>()?)
        }
        (None, Some(functions)) => {
            let functions = functions
                .into_iter()
                .enumerate()
                .map(|(output, function)| linear(output, function));
            Body::Linear(functions.collect::<Result<_, _>>()?)
        }
        _ => {
            let problem = "there must be either `trees` or `linear`, and not both";
            return Err(FormatError::Part { location: "model".into(), problem });
        }
    };

    let link = match file.link {
        tables::LinkName::Identity => Link::Identity,
        tables::LinkName::Exp => Link::Exp,
        tables::LinkName::ExpM1 => Link::ExpM1,
        tables::LinkName::Sigmoid => Link::Sigmoid,
        tables::LinkName::Softmax => Link::Softmax,
    };

    let tables::ProvenanceRecord { version, method, rows, params } = file.provenance;
    let provenance = Provenance { version, method, rows, params };
    Ok(Model { schema, link, objective: file.objective, base: file.base, body, provenance })
}

fn linear(output: usize, function: tables::LinearRecord) -> Result<LinearFunction, FormatError> {
    let term = |(index, term): (usize, tables::TermRecord)| match term {
        tables::TermRecord { weight: Some(weight), centre: Some(centre), weights: None } => {
            Ok(LinearTerm::Number { weight, centre })
        }
        tables::TermRecord { weight: None, centre: None, weights: Some(weights) } => {
            Ok(LinearTerm::Category { weights })
        }
        _ => Err(FormatError::Part {
            location: format!("linear function {output}, term {index}"),
            problem: "a term has either `weight` and `centre` or `weights`",
        }),
    };
    Ok(LinearFunction {
        terms: function.terms.into_iter().enumerate().map(term).collect::<Result<_, _>>()?,
    })
}

fn member(index: usize, table: tables::TreeRecord) -> Result<Member, FormatError> {
    let split_count = table.feature.len();
    let error = |key, problem: String| FormatError::Tree { tree: index, key, problem };
    let length = |key, found: usize, expected: usize| {
        let problem = || error(key, format!("has {found} entries where {expected} are needed"));
        if found == expected { Ok(()) } else { Err(problem()) }
    };

    // All lists of a tree must agree in length before they are zipped.
    length("threshold", table.threshold.len(), split_count)?;
    length("missing_right", table.missing_right.len(), split_count)?;
    length("gain", table.gain.len(), split_count)?;
    length("leaf_cover", table.leaf_cover.len(), table.leaf.len())?;
    let sets = match table.levels {
        Some(levels) => {
            length("levels", levels.len(), split_count)?;
            levels
        }
        None => (0..split_count).map(|_| None).collect(),
    };

    let mut splits = Vec::with_capacity(split_count);
    let rows = table.feature.into_iter().zip(table.threshold).zip(sets).zip(table.missing_right);
    for (at, (((feature, threshold), set), missing_right)) in rows.enumerate() {
        let test = match (threshold, set) {
            (Some(threshold), None) => Test::Above(threshold),
            (None, Some(codes)) => Test::In(codes.into_iter().collect()),
            _ => {
                let problem = "must be null where `levels` is not, and the other way round";
                return Err(error("threshold", format!("{problem} (split {at})")));
            }
        };
        splits.push(Split { feature, test, missing_right: missing_right.0 });
    }

    let leaves: Vec<Leaf> = table
        .leaf
        .into_iter()
        .zip(table.leaf_cover)
        .map(|(value, cover)| Leaf { value, cover })
        .collect();
    let shape = match (table.kind, table.left, table.right, table.cover) {
        (tables::TreeKind::Oblivious, None, None, None) => {
            let level = |(split, gain)| Level { split, gain };
            Shape::Oblivious(ObliviousTree {
                levels: splits.into_iter().zip(table.gain).map(level).collect(),
                leaves,
            })
        }
        (tables::TreeKind::Ordinary, Some(left), Some(right), Some(covers)) => {
            length("left", left.len(), split_count)?;
            length("right", right.len(), split_count)?;
            length("cover", covers.len(), split_count)?;
            let mut nodes = Vec::with_capacity(split_count);
            let edges = left.into_iter().zip(right);
            for (((split, (left, right)), gain), cover) in
                splits.into_iter().zip(edges).zip(table.gain).zip(covers)
            {
                let edge = |key, number| {
                    child(number).ok_or_else(|| error(key, format!("leads to {number}")))
                };
                nodes.push(Node {
                    split,
                    left: edge("left", left)?,
                    right: edge("right", right)?,
                    gain,
                    cover,
                });
            }
            Shape::Ordinary(Tree { nodes, leaves })
        }
        _ => {
            let problem = "needs `left`, `right` and `cover` if it is ordinary, and must not have them if oblivious";
            return Err(error("kind", problem.into()));
        }
    };
    Ok(Member { output: table.output, shape })
}

/// The node or leaf that a number encodes, if it is in range.
fn child(number: i64) -> Option<Child> {
    match u32::try_from(number) {
        Ok(node) => Some(Child::Node(node)),
        Err(_) => u32::try_from(-1 - number).ok().map(Child::Leaf),
    }
}
