//! Leaf values on a grid of whole numbers, found by search.
//!
//! Every leaf gets a whole number of points from 0 to a largest one, or a signed integer of a few
//! bits, and the raw score is an intercept plus a unit times the sum of these numbers. Signed
//! integers are points less half of the most points of their tree, which the intercept makes up
//! for. Rounding each leaf by itself adds up the errors of all trees. Instead, the points of all
//! leaves are chosen together: those that minimise the squared distance to the raw scores of the
//! fitted model over the training rows, weighted by the curvature of the loss there, which is the
//! increase of the loss to second order around a minimum. The distance to the model is minimised
//! and not the loss itself because the model's own leaf values are shrunk: on the training rows, a
//! lower loss than the model's is overfitting.
//!
//! With `e` the differences of leaf values and points times the unit, the distance is `e' W e`, where
//! `W` has the weights of the rows that two leaves share, less what the intercept explains. Moves of
//! one leaf and of two leaves at a time alternate with the best unit, from several first units.

use swarmwood_learn::data::Chunk;
use swarmwood_model::monotone::{self, MonotoneCheck};
use swarmwood_model::number_format::significant;
use swarmwood_model::{Body, Member, Model, Shape};

use super::job::measure_rows;
use super::{Job, TrainResult};
use crate::error::Violation;
use crate::message::Message;
use crate::params::Params;
use crate::predict::Scorer;
use crate::{Error, Result};

/// First units are these shares of the one that the largest leaf needs; smaller ones cut off the
/// largest leaves. Of so many, those with the least distance after rounding are searched.
const FIRST_UNITS: usize = 25;
const LEAST_UNIT: f64 = 0.5;
const SEARCHED_UNITS: usize = 4;

/// Most rounds of moves, each with a new unit, and most passes over the leaves in each.
const ROUNDS: usize = 20;
const PASSES: usize = 20;

/// Leaves of one output for which all pairs can be tried.
const MAX_LEAVES: usize = 4096;

/// A model whose leaf values are points.
struct PointsModel {
    model: Model,
    unit: f64,
    /// The root mean squared distance to the raw scores of the fitted model, weighted by the
    /// curvature, as a share of their standard deviation.
    distance: f64,
    /// The same if every leaf is rounded by itself.
    rounding_distance: f64,
}

/// The whole numbers that leaves may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeafGrid {
    /// The parameter that asks for them.
    parameter: &'static str,
    /// The most points above the least leaf of a tree.
    most: u32,
    /// Whether the numbers of a tree lie around 0, and not from 0 up.
    is_signed: bool,
}

impl LeafGrid {
    /// The grid that the parameters ask for.
    fn new(params: &Params) -> Option<Self> {
        if params.integer_leaves > 0 {
            let most = (1 << params.integer_leaves.min(31)) - 1;
            return Some(LeafGrid { parameter: "integer_leaves", most, is_signed: true });
        }
        let most = params.points.most()?;
        Some(LeafGrid { parameter: "points", most, is_signed: false })
    }
}

/// Replaces the model by one of whole numbers, if the parameters ask for it.
pub(super) fn apply(job: &Job<'_>, trained: &mut TrainResult) -> Result<()> {
    let Some(grid) = LeafGrid::new(job.params) else { return Ok(()) };
    let Some(found) = choose(job, &trained.model, grid)? else {
        trained.warnings.push(
            Message::default()
                .parameter(grid.parameter)
                .text(": the leaves of the model do not differ, so that there are no points"),
        );
        return Ok(());
    };
    let name = if grid.is_signed { "integer leaves" } else { "points" };
    trained.notes.push(format!(
        "{name} of {}: the raw scores differ from those of the fitted model by {:.3} % of their \
         spread, rounding every leaf by itself would differ by {:.3} %",
        significant(found.unit, 4),
        100.0 * found.distance,
        100.0 * found.rounding_distance
    ));
    trained.model = found.model;
    trained.model.calibration.points_unit = Some(found.unit);
    trained.train_metrics = measure_rows(job, &trained.model, job.rows)?;
    if let Some(valid) = job.valid {
        trained.valid_metrics = measure_rows(job, &trained.model, valid)?;
    }
    Ok(())
}

/// Chooses points for all leaves. `None` for a linear model, and where the trees
/// have no value to tell apart.
fn choose(job: &Job<'_>, model: &Model, grid: LeafGrid) -> Result<Option<PointsModel>> {
    let Body::Trees(members) = &model.body else { return Ok(None) };
    let outputs = blocks(job, model, members, grid)?;
    let largest = outputs.iter().flat_map(|block| &block.values).copied().fold(0.0, f64::max);
    let finest = largest / f64::from(grid.most);
    if !(finest.is_normal() && largest.is_finite()) {
        return Ok(None);
    }

    let problem = PointsProblem { outputs, most: grid.most, is_signed: grid.is_signed };
    let (rounded, mut best) = problem.solve(finest);
    // Rounding keeps the order of the leaves of a tree, moves may not.
    if !is_monotone(job, &problem.apply(model, &best)) {
        best = rounded.clone();
    }
    let spread = problem.spread().max(f64::MIN_POSITIVE);
    let share = |solution: &PointsSolution| (problem.distance(solution) / spread).sqrt();
    Ok(Some(PointsModel {
        unit: best.unit,
        model: problem.apply(model, &best),
        distance: share(&best),
        rounding_distance: share(&rounded),
    }))
}

/// Whether a model satisfies the monotone constraints of the run.
fn is_monotone(job: &Job<'_>, model: &Model) -> bool {
    let is_proven = |feature: usize| match job.constraints.direction(feature) {
        Some(direction) => {
            matches!(monotone::check(model, feature, direction), Ok(MonotoneCheck::Proven { .. }))
        }
        None => true,
    };
    (0..model.schema.features.len()).all(is_proven)
}

/// The leaves of all trees by output, with the rows that they share.
fn blocks(
    job: &Job<'_>,
    model: &Model,
    members: &[Member],
    grid: LeafGrid,
) -> Result<Vec<OutputLeaves>> {
    let chunk = job.rows.sample();
    let scorer = Scorer::new(model, None, job.pool.threads())?;
    let (scores, leaves) = (scorer.raw(&chunk)?, scorer.leaves(&chunk)?);
    let weight = curvature(job, &chunk, &scores);
    let (outputs, trees) = (model.outputs(), members.len());

    (0..outputs)
        .map(|output| {
            let mut block = OutputLeaves::default();
            let mut first_leaf = Vec::new();
            for (tree, member) in members.iter().enumerate() {
                let Some(values) = values_above_least(member, output) else { continue };
                first_leaf.push((tree, block.values.len()));
                block.places.extend((0..values.len()).map(|leaf| (tree, leaf)));
                block.values.extend(values);
            }
            if block.values.len() > MAX_LEAVES {
                return Err(too_large(block.values.len(), grid));
            }
            let of_row = |row: usize| {
                let leaf =
                    |&(tree, first): &(usize, usize)| first + leaves[row * trees + tree] as usize;
                (first_leaf.iter().map(leaf).collect(), weight[row * outputs + output])
            };
            block.add_rows(chunk.rows, of_row);
            Ok(block)
        })
        .collect()
}

fn too_large(leaves: usize, grid: LeafGrid) -> Error {
    let message = format!(
        "is for models with at most {MAX_LEAVES} leaves per output, but this one has {leaves}; train \
         fewer or smaller trees"
    );
    Error::Parameters(vec![Violation::new(grid.parameter, message)])
}

/// What a tree adds to an output, without the least value, which belongs to the intercept; `None` if
/// it does not add to it.
fn values_above_least(member: &Member, output: usize) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = match &member.shape {
        Shape::Vector(vector) => {
            vector.values.iter().skip(output).step_by(vector.outputs()).copied().collect()
        }
        shape => (member.output as usize == output).then(|| shape.values().collect())?,
    };
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    values.iter_mut().for_each(|value| *value -= least);
    Some(values)
}

/// The leaves of the trees of one output.
#[derive(Debug, Clone, Default)]
struct OutputLeaves {
    /// The tree of each leaf, and its number there.
    places: Vec<(usize, usize)>,
    /// What it adds.
    values: Vec<f64>,
    /// The weight of its rows, and of all rows.
    weight: Vec<f64>,
    total: f64,
    /// For two leaves the weight of the rows in both, less what is expected if they are independent:
    /// what the intercept explains.
    shared: Vec<f64>,
}

impl OutputLeaves {
    /// Adds rows, given by the leaves that each is in and its weight.
    fn add_rows(&mut self, rows: usize, of_row: impl Fn(usize) -> (Vec<usize>, f64)) {
        let size = self.values.len();
        self.weight = vec![0.0; size];
        self.shared = vec![0.0; size * size];
        for row in 0..rows {
            let (leaves, weight) = of_row(row);
            self.total += weight;
            for &a in &leaves {
                self.weight[a] += weight;
                leaves.iter().for_each(|&b| self.shared[a * size + b] += weight);
            }
        }
        if self.total > 0.0 {
            for (at, shared) in self.shared.iter_mut().enumerate() {
                *shared -= self.weight[at / size] * self.weight[at % size] / self.total;
            }
        }
    }

    /// The row of the matrix for a leaf.
    fn row(&self, leaf: usize) -> &[f64] {
        let size = self.values.len();
        &self.shared[leaf * size..(leaf + 1) * size]
    }

    /// `W e`.
    fn product(&self, e: &[f64]) -> Vec<f64> {
        let dot = |row: &[f64]| row.iter().zip(e).map(|(w, e)| w * e).sum();
        (0..e.len()).map(|leaf| dot(self.row(leaf))).collect()
    }

    /// Differences of the values and so many points.
    fn differences(&self, points: &[u32], unit: f64) -> Vec<f64> {
        let difference = |(value, points): (&f64, &u32)| value - unit * f64::from(*points);
        self.values.iter().zip(points).map(difference).collect()
    }

    /// `e' W e`.
    fn square(&self, e: &[f64]) -> f64 {
        self.product(e).iter().zip(e).map(|(product, e)| product * e).sum::<f64>().max(0.0)
    }
}

/// Points of all leaves, output by output, with their unit.
#[derive(Debug, Clone, PartialEq)]
struct PointsSolution {
    points: Vec<Vec<u32>>,
    unit: f64,
}

/// The leaves of all outputs and the largest number of points.
struct PointsProblem {
    outputs: Vec<OutputLeaves>,
    most: u32,
    /// Whether the numbers of a tree lie around 0.
    is_signed: bool,
}

impl PointsProblem {
    /// The solution that rounds every leaf by itself, and the best one found.
    fn solve(&self, finest: f64) -> (PointsSolution, PointsSolution) {
        let share = |at: usize| 1.0 - (1.0 - LEAST_UNIT) * at as f64 / (FIRST_UNITS - 1) as f64;
        let starts = (0..FIRST_UNITS).map(|at| {
            let start = self.rounded(finest * share(at));
            (self.distance(&start), start)
        });
        let mut starts: Vec<(f64, PointsSolution)> = starts.collect();
        let rounded = starts[0].1.clone();
        // The sort keeps the order of equally good ones.
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        starts.truncate(SEARCHED_UNITS);

        let mut best = (self.distance(&rounded), rounded.clone());
        for start in starts.into_iter().map(|(_, start)| start).chain([rounded.clone()]) {
            let found = self.descend(start);
            let distance = self.distance(&found);
            if distance < best.0 {
                best = (distance, found);
            }
        }
        (rounded, best.1)
    }

    /// Every value rounded by itself.
    fn rounded(&self, unit: f64) -> PointsSolution {
        let point = |value: &f64| (value / unit).round().clamp(0.0, f64::from(self.most)) as u32;
        let points = |block: &OutputLeaves| block.values.iter().map(point).collect();
        PointsSolution { points: self.outputs.iter().map(points).collect(), unit }
    }

    /// The weighted sum of squared distances, with the best intercepts.
    fn distance(&self, solution: &PointsSolution) -> f64 {
        let of_output = |(block, points): (&OutputLeaves, &Vec<u32>)| {
            block.square(&block.differences(points, solution.unit))
        };
        self.outputs.iter().zip(&solution.points).map(of_output).sum()
    }

    /// The weighted sum of squared deviations of the raw scores from their means.
    fn spread(&self) -> f64 {
        self.outputs.iter().map(|block| block.square(&block.values)).sum()
    }

    /// The unit with the least distance, given the points; the old one if points do not differ.
    fn best_unit(&self, solution: &PointsSolution) -> f64 {
        let (mut product, mut square) = (0.0, 0.0);
        for (block, points) in self.outputs.iter().zip(&solution.points) {
            let points: Vec<f64> = points.iter().map(|&points| f64::from(points)).collect();
            let with_points = block.product(&points);
            product += with_points.iter().zip(&block.values).map(|(a, b)| a * b).sum::<f64>();
            square += with_points.iter().zip(&points).map(|(a, b)| a * b).sum::<f64>();
        }
        let unit = product / square;
        if unit.is_normal() && unit > 0.0 { unit } else { solution.unit }
    }

    /// Moves points and the unit in turn until the distance does not get less.
    fn descend(&self, mut solution: PointsSolution) -> PointsSolution {
        let mut distance = self.distance(&solution);
        for _ in 0..ROUNDS {
            let mut next = solution.clone();
            next.unit = self.best_unit(&next);
            for (block, points) in self.outputs.iter().zip(&mut next.points) {
                let mut descent = LeafDescent::new(block, points, next.unit, self.most);
                for _ in 0..PASSES {
                    if !(descent.move_leaves() | descent.move_pairs()) {
                        break;
                    }
                }
            }

            let found = self.distance(&next);
            if found >= distance * (1.0 - 1e-9) {
                break;
            }
            (solution, distance) = (next, found);
        }
        solution
    }

    /// The model with points times the unit in its leaves, and the best intercepts.
    fn apply(&self, model: &Model, solution: &PointsSolution) -> Model {
        let mut model = model.clone();
        let Body::Trees(members) = &mut model.body else { return model };
        for (output, (block, points)) in self.outputs.iter().zip(&solution.points).enumerate() {
            // What the leaves lose goes to the intercept: the least values, and the mean difference.
            let mut base = model.base[output];
            let mut below_zero = 0;
            for (&(tree, leaf), &points) in block.places.iter().zip(points) {
                let value = leaf_value(&mut members[tree], leaf, output);
                if leaf == 0 {
                    base += *value - block.values[self.first_of(block, tree)];
                    below_zero = self.below_zero(block, tree, &solution.points[output]);
                    base += f64::from(below_zero) * solution.unit;
                }
                *value = (f64::from(points) - f64::from(below_zero)) * solution.unit;
            }
            let e = block.differences(points, solution.unit);
            let sum: f64 = e.iter().zip(&block.weight).map(|(e, weight)| e * weight).sum();
            model.base[output] = if block.total > 0.0 { base + sum / block.total } else { base };
        }
        model
    }

    /// What is taken off the points of a tree, so that its numbers lie around 0.
    fn below_zero(&self, block: &OutputLeaves, tree: usize, points: &[u32]) -> u32 {
        let of_tree = block.places.iter().zip(points).filter(|(place, _)| place.0 == tree);
        let most = of_tree.map(|(_, &points)| points).max().unwrap_or(0);
        if self.is_signed { most.div_ceil(2) } else { 0 }
    }

    /// The position of the first leaf of a tree.
    fn first_of(&self, block: &OutputLeaves, tree: usize) -> usize {
        block.places.iter().position(|place| place.0 == tree).unwrap_or(0)
    }
}

/// The value of a leaf for one output.
fn leaf_value(member: &mut Member, leaf: usize, output: usize) -> &mut f64 {
    match &mut member.shape {
        Shape::Ordinary(tree) => &mut tree.leaves[leaf].value,
        Shape::Oblivious(tree) => &mut tree.leaves[leaf].value,
        Shape::Vector(vector) => {
            let outputs = vector.outputs();
            &mut vector.values[leaf * outputs + output]
        }
    }
}

/// Moves of the points of one output, with what they leave to be explained.
struct LeafDescent<'a> {
    block: &'a OutputLeaves,
    points: &'a mut Vec<u32>,
    unit: f64,
    most: f64,
    /// `W e`: half of the slope of the distance, by leaf.
    slope: Vec<f64>,
    /// No move gains less.
    least_gain: f64,
}

impl<'a> LeafDescent<'a> {
    fn new(block: &'a OutputLeaves, points: &'a mut Vec<u32>, unit: f64, most: u32) -> Self {
        let e = block.differences(points, unit);
        let slope = block.product(&e);
        let least_gain = 1e-9 * block.square(&e);
        LeafDescent { block, points, unit, most: f64::from(most), slope, least_gain }
    }

    /// Changes the points of a leaf.
    fn change(&mut self, leaf: usize, step: f64) {
        self.points[leaf] = (f64::from(self.points[leaf]) + step) as u32;
        let change = self.unit * step;
        let row = self.block.row(leaf);
        self.slope.iter_mut().zip(row).for_each(|(slope, shared)| *slope -= change * shared);
    }

    /// The best points of one leaf after another, given all others; whether any changed.
    fn move_leaves(&mut self) -> bool {
        let mut is_changed = false;
        for leaf in 0..self.points.len() {
            let square = self.block.row(leaf)[leaf];
            if square <= 0.0 {
                continue;
            }
            let old = f64::from(self.points[leaf]);
            let new = (old + self.slope[leaf] / (self.unit * square)).round();
            let step = new.clamp(0.0, self.most) - old;
            let gain = self.gain((leaf, step), (leaf, 0.0));
            if step != 0.0 && gain > self.least_gain {
                self.change(leaf, step);
                is_changed = true;
            }
        }
        is_changed
    }

    /// Moves pairs of leaves by one point each where that gains; whether any moved.
    fn move_pairs(&mut self) -> bool {
        let mut is_changed = false;
        for a in 0..self.points.len() {
            for b in a + 1..self.points.len() {
                for (step_a, step_b) in [(1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (-1.0, -1.0)] {
                    let fits = |leaf: usize, step: f64| {
                        (0.0..=self.most).contains(&(f64::from(self.points[leaf]) + step))
                    };
                    if fits(a, step_a)
                        && fits(b, step_b)
                        && self.gain((a, step_a), (b, step_b)) > self.least_gain
                    {
                        self.change(a, step_a);
                        self.change(b, step_b);
                        is_changed = true;
                    }
                }
            }
        }
        is_changed
    }

    /// How much less the distance gets by two moves.
    fn gain(&self, (a, step_a): (usize, f64), (b, step_b): (usize, f64)) -> f64 {
        let (row_a, row_b) = (self.block.row(a), self.block.row(b));
        let slope = step_a * self.slope[a] + step_b * self.slope[b];
        let square = step_a * step_a * row_a[a]
            + step_b * step_b * row_b[b]
            + 2.0 * step_a * step_b * row_a[b];
        self.unit * (2.0 * slope - self.unit * square)
    }
}

/// The second derivative of the loss at the model's scores, times the weight of the row; the weights
/// alone for a loss that has none.
fn curvature(job: &Job<'_>, chunk: &Chunk, scores: &[f64]) -> Vec<f64> {
    let (rows, outputs, objective) = (chunk.rows, job.objective.outputs(), job.objective);
    // Derivatives are of scores that lie output after output.
    let score: Vec<f32> = (0..outputs)
        .flat_map(|output| (0..rows).map(move |row| scores[row * outputs + output] as f32))
        .collect();
    let target: Vec<f32> =
        chunk.target.iter().map(|&target| objective.transform_target(target) as f32).collect();
    let weight: Vec<f32> = chunk.weight.iter().map(|&weight| weight as f32).collect();
    let (mut g, mut h) = (vec![0.0; score.len()], vec![0.0; score.len()]);
    objective.derivatives(&score, &target, &weight, &mut g, &mut h);

    let by_row = |at: usize| f64::from(h[at % outputs * rows + at / outputs]);
    let found: Vec<f64> = (0..rows * outputs).map(by_row).collect();
    if found.iter().all(|h| h.is_finite()) && found.iter().any(|&h| h > 0.0) {
        return found;
    }
    let weight = |at: usize| chunk.weight.get(at / outputs).copied().unwrap_or(1.0);
    (0..rows * outputs).map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_search::rng::Stream;

    /// Rows in random leaves of trees with random values, and a weight each.
    fn problem(seed: u64, rows: usize, leaves: usize, trees: usize, most: u32) -> PointsProblem {
        let mut stream = Stream::new(seed, 0, 0);
        let mut block = OutputLeaves::default();
        for tree in 0..trees {
            block.places.extend((0..leaves).map(|leaf| (tree, leaf)));
            block.values.extend((0..leaves).map(|_| stream.unit()));
        }
        let mut of_rows = Vec::new();
        for _ in 0..rows {
            let leaf = |tree| tree * leaves + (stream.unit() * leaves as f64) as usize;
            let of_row: Vec<usize> = (0..trees).map(leaf).collect();
            of_rows.push((of_row, 0.5 + stream.unit()));
        }
        block.add_rows(rows, |row| of_rows[row].clone());
        PointsProblem { outputs: vec![block], most, is_signed: false }
    }

    #[test]
    fn the_search_is_better_than_rounding() {
        let mut ratios = 0.0;
        for seed in 0..20 {
            let problem = problem(seed, 300, 4, 5, 10);
            let (rounded, found) = problem.solve(0.1);
            let (before, after) = (problem.distance(&rounded), problem.distance(&found));
            assert!(after <= before, "{seed}: {after} and {before}");
            assert!(found.points.iter().flatten().all(|&points| points <= 10));
            ratios += after / before;
        }
        // Random trees are nearly independent, so that there is little to gain beyond the unit.
        assert!(ratios < 0.8 * 20.0, "{ratios}");
    }

    /// With two trees of two leaves, every choice of points can be tried.
    #[test]
    fn the_search_is_near_the_best_of_all_choices() {
        let mut ratio = 0.0;
        for seed in 0..10 {
            let problem = problem(seed, 40, 2, 2, 3);
            let mut best = f64::INFINITY;
            for code in 0..256_u32 {
                let points = (0..4).map(|leaf| code >> (2 * leaf) & 3).collect();
                let mut choice = PointsSolution { points: vec![points], unit: 1.0 };
                choice.unit = problem.best_unit(&choice);
                best = best.min(problem.distance(&choice));
            }
            let largest = problem.outputs[0].values.iter().copied().fold(0.0, f64::max);
            let found = problem.distance(&problem.solve(largest / 3.0).1);
            assert!(found >= best * (1.0 - 1e-9) - 1e-12, "{found} < {best}");
            ratio += (found / problem.spread()).sqrt() - (best / problem.spread()).sqrt();
        }
        // On the average within a tenth of the standard deviation of scores, with four points.
        assert!(ratio / 10.0 < 0.1, "{ratio}");
    }

    /// The moves know the distance without the rows.
    #[test]
    fn gains_equal_differences_of_distances() {
        let problem = problem(3, 100, 3, 3, 10);
        let mut solution = problem.rounded(0.1);
        let block = &problem.outputs[0];
        for (a, b) in [(0, 1), (2, 5), (4, 8), (7, 3)] {
            let before = problem.distance(&solution);
            let mut points = solution.points[0].clone();
            let mut descent = LeafDescent::new(block, &mut points, solution.unit, 10);
            let steps = [a, b].map(|leaf| if descent.points[leaf] < 10 { 1.0 } else { -1.0 });
            let gain = descent.gain((a, steps[0]), (b, steps[1]));
            descent.change(a, steps[0]);
            descent.change(b, steps[1]);
            solution.points[0] = points;
            let after = problem.distance(&solution);
            assert!(
                (before - after - gain).abs() < 1e-9 * before.max(1.0),
                "{before} {after} {gain}"
            );
        }
    }
}
