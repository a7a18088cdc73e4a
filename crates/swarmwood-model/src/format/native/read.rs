//! From JSON to a model. Lengths and ranges are checked here, before anything is built; the
//! invariants of a model are checked by [`Model::check`] afterwards.

use super::{FORMAT, FormatError, VERSION, tables};
use crate::calibration::{Calibration, ClassSets, PredictionInterval};
use crate::dates::{CalendarDate, DateColumn, DatePart};
use crate::ensemble::{Body, LinearFunction, LinearTerm, Link, Member, Model, Provenance, Shape};
use crate::schema::{Feature, Kind, Schema, Target, TargetKind};
use crate::training_stats::{Distribution, LeafRows, TrainingStats};
use crate::tree::{Child, Leaf, Level, Node, ObliviousTree, Split, Test, Tree, VectorTree};

pub(super) fn read(bytes: &[u8]) -> Result<Model, FormatError> {
    // The header is read first and by itself, so that a file of a newer version is reported as such
    // and not as a syntax error.
    let header: tables::FileHeader<'_> = serde_json::from_slice(bytes).map_err(syntax)?;
    if header.format != FORMAT {
        return Err(FormatError::OtherFormat { found: header.format.chars().take(40).collect() });
    }
    match header.version {
        0 => return Err(FormatError::UnknownVersion { found: 0 }),
        1..=VERSION => {}
        found => return Err(FormatError::NewerVersion { found }),
    }
    let model = model(serde_json::from_slice(bytes).map_err(syntax)?)?;
    if header.version < 3 && super::needs_version_3(&model) {
        let problem = "`threshold`, `interval`, `class_sets`, `points_unit`, `dates`, `leaf_rows`, \
                       `distributions` and `columns` need version 3";
        return Err(FormatError::Part { location: "model".into(), problem });
    }
    let vector = model.members().iter().position(|member| member.shape.is_vector());
    match vector.filter(|_| header.version < 2) {
        Some(tree) => {
            let problem = "is `vector`, which version 1 does not have".to_string();
            Err(FormatError::Tree { tree, key: "kind", problem })
        }
        None => Ok(model),
    }
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
    let kind = match (file.target.columns, file.target.classes) {
        (None, None) => TargetKind::Number,
        (Some(columns), None) => TargetKind::Numbers(columns),
        (None, Some(classes)) => TargetKind::Classes(classes),
        (Some(_), Some(_)) => {
            let problem = "there must not be both `columns` and `classes`";
            return Err(FormatError::Part { location: "target".into(), problem });
        }
    };
    let target = Target { name: file.target.name, kind };

    let dates = file.dates.into_iter().map(date).collect::<Result<_, _>>()?;
    let features = file.features.into_iter().map(feature).collect();
    let schema = Schema { features, target, dates };

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

    let provenance = provenance(file.provenance, schema.target.kind.classes().len())?;
    let sets = |record: tables::ClassSetsRecord| {
        let tables::ClassSetsRecord { level, min_probability } = record;
        ClassSets { level, min_probability }
    };
    let calibration = Calibration {
        threshold: file.threshold,
        interval: file.interval.map(interval).transpose()?,
        class_sets: file.class_sets.map(sets),
        points_unit: file.points_unit,
    };
    let (objective, base) = (file.objective, file.base);
    Ok(Model { schema, link, objective, base, body, provenance, calibration })
}

fn provenance(record: tables::ProvenanceRecord, classes: usize) -> Result<Provenance, FormatError> {
    let tables::ProvenanceRecord { version, method, rows, params, leaf_rows, distributions } =
        record;
    let problem = "a leaf of `leaf_rows` must have one number per class, or one for regression";
    let leaf = |tree: Vec<Vec<u64>>| {
        if tree.iter().any(|counts| counts.len() != classes.max(1)) {
            return Err(FormatError::Part { location: "provenance".into(), problem });
        }
        Ok(LeafRows { counts: tree.concat() })
    };
    let distribution = |record: tables::DistributionRecord| {
        let tables::DistributionRecord { feature, edges, counts, missing } = record;
        Distribution { feature, edges, counts, missing }
    };
    let stats = TrainingStats {
        leaf_rows: leaf_rows.into_iter().map(leaf).collect::<Result<_, _>>()?,
        distributions: distributions.into_iter().map(distribution).collect(),
    };
    Ok(Provenance { version, method, rows, params, stats })
}

fn date(record: tables::DateRecord) -> Result<DateColumn, FormatError> {
    let tables::DateRecord { name, format, origin, parts } = record;
    let wrong = |problem| FormatError::Part { location: format!("date `{name}`"), problem };
    let origin = CalendarDate::parse(&origin)
        .ok_or_else(|| wrong("`origin` must be a date such as \"2024-02-29\""))?;
    let part = |part: &String| {
        let problem = "`parts` are `year`, `month`, `day_of_week`, `hour` and `elapsed`";
        DatePart::from_name(part).ok_or_else(|| wrong(problem))
    };
    let parts = parts.iter().map(part).collect::<Result<_, _>>()?;
    Ok(DateColumn { name, format, origin, parts })
}

fn interval(record: tables::IntervalRecord) -> Result<PredictionInterval, FormatError> {
    let tables::IntervalRecord { level, half_width, scale } = record;
    let problem = "`scale` must be an ordinary tree with output 0";
    let wrong = || FormatError::Part { location: "interval".into(), problem };
    let scale = match scale {
        None => None,
        Some(record) => match member(0, record).map_err(|_| wrong())? {
            Member { output: 0, shape: Shape::Ordinary(tree) } => Some(tree),
            _ => return Err(wrong()),
        },
    };
    Ok(PredictionInterval { level, half_width, scale })
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

fn member(index: usize, mut table: tables::TreeRecord) -> Result<Member, FormatError> {
    let split_count = table.feature.len();
    let error = |key, problem: String| FormatError::Tree { tree: index, key, problem };
    let length = |key, found: usize, expected: usize| {
        let problem = || error(key, format!("has {found} entries where {expected} are needed"));
        if found == expected { Ok(()) } else { Err(problem()) }
    };

    let (output, values) =
        output_and_values(&mut table).map_err(|(key, text)| error(key, text.into()))?;

    // All lists of a tree must agree in length before they are zipped.
    length("leaf_cover", table.leaf_cover.len(), values.len())?;
    length("threshold", table.threshold.len(), split_count)?;
    length("missing_right", table.missing_right.len(), split_count)?;
    length("gain", table.gain.len(), split_count)?;
    let sets = match table.levels {
        Some(levels) => {
            length("levels", levels.len(), split_count)?;
            levels
        }
        None => (0..split_count).map(|_| None).collect(),
    };

    let rows = table.feature.into_iter().zip(table.threshold).zip(sets).zip(table.missing_right);
    let split = |(at, (((feature, threshold), set), tables::Bit(missing_right)))| {
        let test = split_test(threshold, set).ok_or_else(|| {
            let problem = "must be null where `levels` is not, and the other way round";
            error("threshold", format!("{problem} (split {at})"))
        })?;
        Ok(Split { feature, test, missing_right })
    };
    let splits: Vec<Split> = rows.enumerate().map(split).collect::<Result<_, FormatError>>()?;

    let leaf = |(leaf, cover)| Leaf { value: values.single(leaf), cover };
    let leaves: Vec<Leaf> = table.leaf_cover.into_iter().enumerate().map(leaf).collect();
    let shape = match (table.kind, table.left, table.right, table.cover) {
        (tables::TreeKind::Oblivious, None, None, None) => {
            let level = |(split, gain)| Level { split, gain };
            Shape::Oblivious(ObliviousTree {
                levels: splits.into_iter().zip(table.gain).map(level).collect(),
                leaves,
            })
        }
        (
            tables::TreeKind::Ordinary | tables::TreeKind::Vector,
            Some(left),
            Some(right),
            Some(covers),
        ) => {
            length("left", left.len(), split_count)?;
            length("right", right.len(), split_count)?;
            length("cover", covers.len(), split_count)?;
            let edges = left.into_iter().zip(right);
            let rows = splits.into_iter().zip(edges).zip(table.gain).zip(covers);
            let node = |(((split, (left, right)), gain), cover)| {
                let edge = |key, number| {
                    child(number).ok_or_else(|| error(key, format!("leads to {number}")))
                };
                let (left, right) = (edge("left", left)?, edge("right", right)?);
                Ok(Node { split, left, right, gain, cover })
            };
            let tree = Tree { nodes: rows.map(node).collect::<Result<_, FormatError>>()?, leaves };
            match values {
                LeafValues::Single(_) => Shape::Ordinary(tree),
                LeafValues::Vectors(values) => {
                    let outputs = values.first().map_or(0, Vec::len);
                    values.iter().try_for_each(|value| length("values", value.len(), outputs))?;
                    Shape::Vector(VectorTree { tree, values: values.concat() })
                }
            }
        }
        _ => {
            let problem =
                "needs `left`, `right` and `cover`, and must not have them if it is oblivious";
            return Err(error("kind", problem.into()));
        }
    };
    Ok(Member { output, shape })
}

/// The test of a split with a threshold, or with a set of levels.
fn split_test(threshold: Option<f64>, set: Option<Vec<u32>>) -> Option<Test> {
    match (threshold, set) {
        (Some(threshold), None) => Some(Test::Above(threshold)),
        (None, Some(codes)) => Some(Test::In(codes.into_iter().collect())),
        _ => None,
    }
}

/// The output of a tree and the values of its leaves, or which key is wrong, and why.
fn output_and_values(
    table: &mut tables::TreeRecord,
) -> Result<(u32, LeafValues), (&'static str, &'static str)> {
    let only = "must be there unless the tree is a vector tree, and then it must not be";
    let is_vector = table.kind == tables::TreeKind::Vector;
    let values = match (is_vector, table.leaf.take(), table.values.take()) {
        (false, Some(leaf), None) => LeafValues::Single(leaf),
        (true, None, Some(values)) => LeafValues::Vectors(values),
        (true, _, None) => return Err(("values", "must be there in a vector tree")),
        (false, _, Some(_)) => return Err(("values", "is for vector trees only")),
        _ => return Err(("leaf", only)),
    };
    match (is_vector, table.output) {
        (false, Some(output)) => Ok((output, values)),
        (true, None) => Ok((0, values)),
        _ => Err(("output", only)),
    }
}

/// The values of the leaves of a tree.
enum LeafValues {
    /// One per leaf.
    Single(Vec<f64>),
    /// One list per leaf, with one value per output.
    Vectors(Vec<Vec<f64>>),
}

impl LeafValues {
    /// Number of leaves.
    fn len(&self) -> usize {
        match self {
            LeafValues::Single(values) => values.len(),
            LeafValues::Vectors(values) => values.len(),
        }
    }

    /// The only value of a leaf; 0 if it has a vector.
    fn single(&self, leaf: usize) -> f64 {
        match self {
            LeafValues::Single(values) => values.get(leaf).copied().unwrap_or(0.0),
            LeafValues::Vectors(_) => 0.0,
        }
    }
}

/// The node or leaf that a number encodes, if it is in range.
fn child(number: i64) -> Option<Child> {
    match u32::try_from(number) {
        Ok(node) => Some(Child::Node(node)),
        Err(_) => u32::try_from(-1 - number).ok().map(Child::Leaf),
    }
}
