//! From JSON to a model. Lengths and ranges are checked here before anything is built; what a model
//! must be is checked by [`Model::check`] afterwards.

use super::{FORMAT, FormatError, VERSION, tables};
use crate::ensemble::{Body, Linear, Link, Member, Model, Provenance, Shape, Term};
use crate::schema::{Feature, Kind, Schema, Target, TargetKind};
use crate::tree::{Child, Leaf, Level, Node, Oblivious, Split, Test, Tree};

pub(super) fn read(bytes: &[u8]) -> Result<Model, FormatError> {
    // The header is read by itself first, so that a file of a newer version is called just that.
    let header: tables::Header<'_> = serde_json::from_slice(bytes).map_err(syntax)?;
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
    // The place is told apart from the message.
    let message =
        text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_string();
    FormatError::Syntax { line, column, message }
}

fn model(file: tables::File) -> Result<Model, FormatError> {
    let kind = |levels: Option<Vec<String>>| {
        levels.map_or(Kind::Number, |levels| Kind::Category { levels })
    };
    let feature =
        |feature: tables::Feature| Feature { name: feature.name, kind: kind(feature.levels) };
    let target = Target {
        name: file.target.name,
        kind: file.target.classes.map_or(TargetKind::Number, TargetKind::Classes),
    };
    let schema = Schema { features: file.features.into_iter().map(feature).collect(), target };
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
            return Err(FormatError::Part { place: "model".into(), problem });
        }
    };
    let link = match file.link {
        tables::Link::Identity => Link::Identity,
        tables::Link::Exp => Link::Exp,
        tables::Link::ExpM1 => Link::ExpM1,
        tables::Link::Sigmoid => Link::Sigmoid,
        tables::Link::Softmax => Link::Softmax,
    };
    let tables::Provenance { version, method, rows, params } = file.provenance;
    let provenance = Provenance { version, method, rows, params };
    Ok(Model { schema, link, objective: file.objective, base: file.base, body, provenance })
}

fn linear(output: usize, function: tables::Linear) -> Result<Linear, FormatError> {
    let term = |(index, term): (usize, tables::Term)| match term {
        tables::Term { weight: Some(weight), centre: Some(centre), weights: None } => {
            Ok(Term::Number { weight, centre })
        }
        tables::Term { weight: None, centre: None, weights: Some(weights) } => {
            Ok(Term::Category { weights })
        }
        _ => Err(FormatError::Part {
            place: format!("linear function {output}, term {index}"),
            problem: "a term has either `weight` and `centre` or `weights`",
        }),
    };
    Ok(Linear {
        terms: function.terms.into_iter().enumerate().map(term).collect::<Result<_, _>>()?,
    })
}

fn member(index: usize, table: tables::Tree) -> Result<Member, FormatError> {
    let rules = table.feature.len();
    let error = |key, problem: String| FormatError::Tree { tree: index, key, problem };
    let length = |key, found: usize, expected: usize| {
        let problem = || error(key, format!("has {found} entries where {expected} are needed"));
        if found == expected { Ok(()) } else { Err(problem()) }
    };
    length("threshold", table.threshold.len(), rules)?;
    length("missing_right", table.missing_right.len(), rules)?;
    length("gain", table.gain.len(), rules)?;
    length("leaf_cover", table.leaf_cover.len(), table.leaf.len())?;
    let sets = match table.levels {
        Some(levels) => {
            length("levels", levels.len(), rules)?;
            levels
        }
        None => (0..rules).map(|_| None).collect(),
    };
    let mut splits = Vec::with_capacity(rules);
    let rows = table.feature.into_iter().zip(table.threshold).zip(sets).zip(table.missing_right);
    for (rule, (((feature, threshold), set), missing_right)) in rows.enumerate() {
        let test = match (threshold, set) {
            (Some(threshold), None) => Test::Above(threshold),
            (None, Some(codes)) => Test::In(codes.into_iter().collect()),
            _ => {
                let problem = "must be null where `levels` is not, and the other way round";
                return Err(error("threshold", format!("{problem} (rule {rule})")));
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
            Shape::Oblivious(Oblivious {
                levels: splits.into_iter().zip(table.gain).map(level).collect(),
                leaves,
            })
        }
        (tables::TreeKind::Ordinary, Some(left), Some(right), Some(covers)) => {
            length("left", left.len(), rules)?;
            length("right", right.len(), rules)?;
            length("cover", covers.len(), rules)?;
            let mut nodes = Vec::with_capacity(rules);
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

/// The place a number stands for, if it can be one.
fn child(number: i64) -> Option<Child> {
    match u32::try_from(number) {
        Ok(node) => Some(Child::Node(node)),
        Err(_) => u32::try_from(-1 - number).ok().map(Child::Leaf),
    }
}
