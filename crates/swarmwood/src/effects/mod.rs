//! Effects of features on the predictions of a model over rows: partial dependence and accumulated
//! local effects.
//!
//! *Partial dependence* (Friedman 2001) is the mean prediction when a feature has a given value in
//! all rows. A model of trees is constant between neighbouring thresholds, so one mean per cell is
//! the whole curve. *Accumulated local effects* (Apley and Zhu 2020) add up the mean changes of the
//! prediction across small intervals, each over the rows inside it: features that are correlated
//! with the feature do not take values that they never have together.
//!
//! Predictions are numbers, or probabilities of classes: of the second of two, or of each.

mod grid;

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_model::predict::Predictions;
use swarmwood_model::{Kind, Model};

pub use grid::EffectGrid;

use crate::Result;
use crate::predict::Scorer;

/// Maximum number of values of a curve; a curve is exact if its model has fewer thresholds.
pub const MAX_STEPS: usize = 200;

/// Intervals of accumulated local effects.
const INTERVALS: usize = 20;

/// Values per axis of an interaction.
const MAP_VALUES: usize = 9;

/// The effect of one feature.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureEffect {
    /// Position in the schema.
    pub feature: usize,
    /// The values of the feature.
    pub grid: EffectGrid,
    /// The mean prediction at each value of the grid, per output of [`output_names`].
    pub partial: Vec<Vec<f64>>,
    /// Accumulated local effects: a value of the feature and the effect there, which is centred at
    /// the mean prediction; per output. Empty for categories.
    pub accumulated: Vec<Vec<(f64, f64)>>,
}

/// The joint effect of two features.
#[derive(Debug, Clone, PartialEq)]
pub struct PairEffect {
    /// Positions in the schema.
    pub features: (usize, usize),
    /// The values of both.
    pub grids: (EffectGrid, EffectGrid),
    /// The mean predictions, value by value of the first feature, per output.
    pub partial: Vec<Vec<Vec<f64>>>,
}

/// What the predictions of an output are: the name of a class or of a column, or nothing for a
/// number.
pub fn output_names(model: &Model) -> Vec<String> {
    if let columns @ [_, ..] = model.schema.target.kind.columns() {
        return columns.to_vec();
    }
    match model.schema.target.kind.classes() {
        [] => vec![String::new()],
        [_, second] => vec![second.clone()],
        classes => classes.to_vec(),
    }
}

/// The effect of a feature over rows; `None` if no row has a value or no split tests the feature.
///
/// ```
/// use swarmwood::effects::feature_effect;
/// use swarmwood::params::{Auto, Method, Params, Prune};
/// use swarmwood::predict::Scorer;
/// use swarmwood::read::{ReadOptions, Source, TaskChoice, training};
///
/// let csv = b"x,y\n1,10\n2,10\n3,10\n4,30\n5,30\n6,30\n";
/// let task = TaskChoice::Regression;
/// let options = ReadOptions { target: "y".into(), task, ..ReadOptions::default() };
/// let rows = training(&Source::Bytes("steps.csv".into(), csv), &options)?;
/// let (min_leaf, prune) = (Auto::Is(1), Prune::None);
/// let params = Params { min_leaf, prune, ..Params::of(Method::CART) }.check()?;
/// let model = swarmwood::train::train(&rows, None, &params, &mut |_| {})?.model;
/// let effect = feature_effect(&Scorer::new(&model, None, 1)?, &rows.sample(), 0)?;
/// let effect = effect.expect("the tree tests x");
/// assert_eq!(effect.partial, [[10.0, 30.0]]);
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn feature_effect(
    scorer: &Scorer<'_>,
    rows: &Chunk,
    feature: usize,
) -> Result<Option<FeatureEffect>> {
    let model = scorer.model();
    let Some(grid) = EffectGrid::new(model, feature, &rows.columns[feature], MAX_STEPS) else {
        return Ok(None);
    };
    let mut partial = vec![Vec::new(); output_names(model).len()];
    let mut changed = rows.clone();
    for at in 0..grid.len() {
        changed.columns[feature] = grid.column(at, rows.rows);
        let means = means(&predict(scorer, &changed)?, &rows.weight);
        partial.iter_mut().zip(means).for_each(|(curve, mean)| curve.push(mean));
    }

    let accumulated = match (&model.schema.features[feature].kind, &rows.columns[feature]) {
        (Kind::Number, Column::Number(values)) => accumulate(scorer, rows, feature, values)?,
        _ => Vec::new(),
    };
    Ok(Some(FeatureEffect { feature, grid, partial, accumulated }))
}

/// The joint effect of two features over rows.
pub fn pair_effect(
    scorer: &Scorer<'_>,
    rows: &Chunk,
    (a, b): (usize, usize),
) -> Result<Option<PairEffect>> {
    let model = scorer.model();
    let grid = |feature: usize| EffectGrid::new(model, feature, &rows.columns[feature], MAP_VALUES);
    let (Some(first), Some(second)) = (grid(a), grid(b)) else { return Ok(None) };
    let mut partial = vec![vec![Vec::new(); first.len()]; output_names(model).len()];
    let mut changed = rows.clone();
    for at in 0..first.len() {
        changed.columns[a] = first.column(at, rows.rows);
        for across in 0..second.len() {
            changed.columns[b] = second.column(across, rows.rows);
            let means = means(&predict(scorer, &changed)?, &rows.weight);
            partial.iter_mut().zip(means).for_each(|(map, mean)| map[at].push(mean));
        }
    }
    Ok(Some(PairEffect { features: (a, b), grids: (first, second), partial }))
}

/// The predictions, one list per output.
fn predict(scorer: &Scorer<'_>, rows: &Chunk) -> Result<Vec<Vec<f64>>> {
    Ok(match scorer.predictions(rows)? {
        Predictions::Numbers(numbers) => {
            let outputs = scorer.model().outputs();
            let of = |output| numbers.iter().skip(output).step_by(outputs).copied().collect();
            (0..outputs).map(of).collect()
        }
        Predictions::Classes { probabilities, .. } => {
            let classes = scorer.model().schema.target.kind.classes().len();
            let of = |class| probabilities.iter().skip(class).step_by(classes).copied().collect();
            if classes == 2 { vec![of(1)] } else { (0..classes).map(of).collect() }
        }
    })
}

/// The weighted mean of each list.
fn means(lists: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let weight = |row: usize| weights.get(row).copied().unwrap_or(1.0);
    let mean = |list: &Vec<f64>| {
        let total: f64 = (0..list.len()).map(weight).sum();
        let sum: f64 = list.iter().enumerate().map(|(row, value)| weight(row) * value).sum();
        sum / total
    };
    lists.iter().map(mean).collect()
}

/// Accumulated local effects of a number at the quantiles of its values.
fn accumulate(
    scorer: &Scorer<'_>,
    rows: &Chunk,
    feature: usize,
    values: &[f64],
) -> Result<Vec<Vec<(f64, f64)>>> {
    let edges = grid::quantiles(values, INTERVALS);
    if edges.len() < 2 {
        return Ok(Vec::new());
    }
    // The interval of each row; the first one includes its lower end.
    let interval = |value: f64| edges[1..].partition_point(|edge| *edge < value);
    let kept: Vec<usize> = (0..values.len()).filter(|row| values[*row].is_finite()).collect();
    let ends = |upper: usize| -> Vec<f64> {
        let end = |row| {
            if f64::is_finite(values[row]) {
                edges[interval(values[row]) + upper]
            } else {
                values[row]
            }
        };
        (0..values.len()).map(end).collect()
    };
    let mut changed = rows.clone();
    changed.columns[feature] = Column::Number(ends(0));
    let below = predict(scorer, &changed)?;
    changed.columns[feature] = Column::Number(ends(1));
    let above = predict(scorer, &changed)?;
    let centre = means(&predict(scorer, rows)?, &rows.weight);

    let weight = |row: usize| rows.weight.get(row).copied().unwrap_or(1.0);
    let curve = |output: usize| {
        let mut sums = vec![(0.0, 0.0); edges.len() - 1];
        for &row in &kept {
            let sum = &mut sums[interval(values[row])];
            sum.0 += weight(row) * (above[output][row] - below[output][row]);
            sum.1 += weight(row);
        }
        let mut points = vec![(edges[0], 0.0)];
        let mut level = 0.0;
        for (at, (sum, weight)) in sums.iter().enumerate() {
            level += if *weight > 0.0 { sum / weight } else { 0.0 };
            points.push((edges[at + 1], level));
        }
        // The mean over the rows is that of the predictions.
        let middle = |at: usize| (points[at].1 + points[at + 1].1) / 2.0;
        let total: f64 = sums.iter().map(|(_, weight)| weight).sum();
        let mean: f64 =
            sums.iter().enumerate().map(|(at, (_, weight))| weight * middle(at)).sum::<f64>()
                / total;
        points.iter_mut().for_each(|(_, effect)| *effect += centre[output] - mean);
        points
    };
    Ok((0..centre.len()).map(curve).collect())
}

#[cfg(test)]
mod tests {
    use swarmwood_model::predict::FeatureValue;
    use swarmwood_model::{
        Body, Child, Feature, Leaf, Link, Member, Node, Provenance, Schema, Shape, Split, Target,
        TargetKind, Test, Tree,
    };

    use super::*;

    fn rows() -> Chunk {
        let x =
            |row: usize| if row.is_multiple_of(29) { f64::NAN } else { (row * 37 % 100) as f64 };
        Chunk {
            columns: vec![
                Column::Number((0..300).map(x).collect()),
                Column::Category((0..300).map(|row| row % 3).collect()),
                Column::Number((0..300).map(|row| f64::from(row * 13 % 50)).collect()),
            ],
            target: vec![0.0; 300],
            weight: Vec::new(),
            rows: 300,
        }
    }

    fn stump(feature: u32, test: Test, values: [f64; 2]) -> Tree {
        let split = Split { feature, test, missing_right: false };
        let leaf = |value| Leaf { value, cover: 1.0 };
        let (left, right) = (Child::Leaf(0), Child::Leaf(1));
        let node = Node { split, left, right, gain: 1.0, cover: 2.0 };
        Tree { nodes: vec![node], leaves: values.map(leaf).to_vec() }
    }

    /// A sum of steps of z, and a tree that combines x with the level.
    fn model() -> Model {
        let mut joint = stump(1, Test::In([1].into_iter().collect()), [0.0, 5.0]);
        let mut below = stump(0, Test::Above(40.0), [0.0, 30.0]).nodes.remove(0);
        (below.left, below.right) = (Child::Leaf(1), Child::Leaf(2));
        joint.nodes[0].right = Child::Node(1);
        joint.nodes.push(below);
        joint.leaves.push(Leaf { value: 30.0, cover: 1.0 });
        let steps = (0..9).map(|at| stump(2, Test::Above(f64::from(5 * at)), [-1.0, 1.5]));
        let member = |tree| Member { output: 0, shape: Shape::Ordinary(tree) };
        let feature = |name: &str, kind| Feature { name: name.into(), kind };
        let levels = ["a", "b", "c"].map(String::from).to_vec();
        Model {
            schema: Schema {
                features: vec![
                    feature("x", Kind::Number),
                    feature("level", Kind::Category { levels }),
                    feature("z", Kind::Number),
                ],
                target: Target { name: "y".into(), kind: TargetKind::Number },
                dates: Vec::new(),
            },
            link: Link::Identity,
            objective: "squared".into(),
            base: vec![0.5],
            body: Body::Trees([joint].into_iter().chain(steps).map(member).collect()),
            calibration: Default::default(),
            provenance: Provenance::default(),
        }
    }

    /// By definition: every row predicted on its own.
    #[test]
    fn partial_dependence_is_the_mean_over_the_rows() {
        let (chunk, model) = (rows(), model());
        let scorer = Scorer::new(&model, None, 2).unwrap();
        let value = |column: &Column, row: usize| match column {
            Column::Number(values) => FeatureValue::Number(values[row]),
            Column::Category(codes) => FeatureValue::Category(codes[row]),
        };
        for feature in 0..3 {
            let effect = feature_effect(&scorer, &chunk, feature).unwrap().unwrap();
            assert!(effect.grid.len() > 1 && effect.grid.is_exact());
            for (at, found) in effect.partial[0].iter().enumerate() {
                let mut sum = 0.0;
                for row in 0..chunk.rows {
                    let mut one: Vec<FeatureValue> =
                        chunk.columns.iter().map(|column| value(column, row)).collect();
                    one[feature] = value(&effect.grid.column(at, 1), 0);
                    sum += model.raw_row(&one, None).unwrap()[0];
                }
                assert!((found - sum / chunk.rows as f64).abs() < 1e-9, "{found}");
            }
        }
    }

    /// Where a feature is added, its effect is the same for all rows.
    #[test]
    fn accumulated_effects_of_an_additive_feature_follow_the_partial_dependence() {
        let (rows, model) = (rows(), model());
        let scorer = Scorer::new(&model, None, 1).unwrap();
        let effect = feature_effect(&scorer, &rows, 2).unwrap().unwrap();
        let curve = &effect.accumulated[0];
        let (first, last) = (curve[0].1, curve[curve.len() - 1].1);
        let partial = &effect.partial[0];
        let rise = partial[partial.len() - 1] - partial[0];
        assert!((last - first - rise).abs() < 1e-9, "{first} {last} {rise}");
        let pair = pair_effect(&scorer, &rows, (0, 1)).unwrap().unwrap();
        assert_eq!((pair.partial[0].len(), pair.partial[0][0].len()), (pair.grids.0.len(), 3));
    }
}
