//! The values of a feature at which an effect is computed.

use swarmwood_learn::data::{Column, MISSING};
use swarmwood_model::{Body, Kind, Model, Test};

/// Values of a feature.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectGrid {
    /// The prediction is constant between neighbouring edges; the first and the last edge are the
    /// ends of the values of the rows.
    Numbers {
        /// In ascending order, one more than there are cells.
        edges: Vec<f64>,
        /// Whether every threshold of the model in this range is an edge.
        is_exact: bool,
    },
    /// Levels by their position in the schema, the most frequent ones first if there are too many.
    Levels {
        /// The codes.
        codes: Vec<u32>,
        /// Whether these are all levels.
        is_exact: bool,
    },
}

impl EffectGrid {
    /// The cells of a feature in the range of its values, at most so many; `None` if the model does
    /// not use the feature or no row has a value.
    pub(super) fn new(
        model: &Model,
        feature: usize,
        column: &Column,
        most: usize,
    ) -> Option<EffectGrid> {
        match (&model.schema.features[feature].kind, column) {
            (Kind::Number, Column::Number(values)) => number_grid(model, feature, values, most),
            (Kind::Category { levels }, Column::Category(codes)) => {
                let used = matches!(model.body, Body::Linear(_))
                    || model.features_used().contains(&feature);
                used.then(|| level_grid(levels.len(), codes, most))
            }
            _ => None,
        }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            EffectGrid::Numbers { edges, .. } => edges.len() - 1,
            EffectGrid::Levels { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the grid leaves nothing out.
    pub fn is_exact(&self) -> bool {
        match self {
            EffectGrid::Numbers { is_exact, .. } | EffectGrid::Levels { is_exact, .. } => *is_exact,
        }
    }

    /// A column with the value of a cell in all rows.
    pub(super) fn column(&self, cell: usize, rows: usize) -> Column {
        match self {
            // Tests are `x <= threshold`: the upper edge belongs to the cell.
            EffectGrid::Numbers { edges, .. } => Column::Number(vec![edges[cell + 1]; rows]),
            EffectGrid::Levels { codes, .. } => Column::Category(vec![codes[cell]; rows]),
        }
    }
}

fn number_grid(model: &Model, feature: usize, values: &[f64], most: usize) -> Option<EffectGrid> {
    let known = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) =
        known().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    if matches!(model.body, Body::Linear(_)) {
        // A line is drawn through its values.
        let edges = quantiles(values, most.min(20));
        return (edges.len() > 1).then_some(EffectGrid::Numbers { edges, is_exact: true });
    }

    let splits = model.members().iter().flat_map(|member| member.shape.splits());
    let mut thresholds: Vec<f64> = splits
        .filter(|split| split.feature as usize == feature)
        .filter_map(|split| match split.test {
            Test::Above(threshold) if threshold >= low && threshold < high => Some(threshold),
            _ => None,
        })
        .collect();
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup_by(|later, earlier| later == earlier);
    if thresholds.is_empty() {
        return None;
    }

    let is_exact = thresholds.len() < most;
    if !is_exact {
        let step = thresholds.len() as f64 / (most - 1) as f64;
        let chosen = |at: usize| thresholds[((at as f64 + 0.5) * step) as usize];
        thresholds = (0..most - 1).map(chosen).collect();
    }
    let first = if thresholds[0] > low { Some(low) } else { Some(low.next_down()) };
    let edges = first.into_iter().chain(thresholds).chain([high]).collect();
    Some(EffectGrid::Numbers { edges, is_exact })
}

fn level_grid(levels: usize, codes: &[u32], most: usize) -> EffectGrid {
    let mut counts: Vec<(u32, usize)> = (0..levels as u32).map(|code| (code, 0)).collect();
    let known = codes.iter().filter(|code| **code != MISSING && (**code as usize) < levels);
    known.for_each(|code| counts[*code as usize].1 += 1);
    if levels > most {
        // A stable sort: equally frequent levels keep their order.
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.truncate(most);
    }
    let codes = counts.into_iter().map(|(code, _)| code).collect();
    EffectGrid::Levels { codes, is_exact: levels <= most }
}

/// Up to `intervals + 1` different values: the ends, and quantiles in between.
pub(super) fn quantiles(values: &[f64], intervals: usize) -> Vec<f64> {
    let mut known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    known.sort_by(f64::total_cmp);
    let Some(last) = known.len().checked_sub(1) else { return Vec::new() };
    let mut found: Vec<f64> =
        (0..=intervals).map(|at| known[last * at / intervals.max(1)]).collect();
    found.dedup_by(|later, earlier| later == earlier);
    found
}
