//! Which features are searched in pairs, where there are too many to try all pairs.
//!
//! Searches over pairs of features cost the square of their number, and those of three levels its
//! cube. Of more than [`MAX_PAIR_FEATURES`], [`SCREENED_FEATURES`] are chosen for each node: half
//! of the places go to the features with the best single split, and the others to pairs by their
//! interaction: how much purer the four cells of two median cuts are
//! than the two cuts explain by themselves. So the features of an exclusive or are found, none of
//! which gains anything alone. The cells of all pairs are counted 64 rows at a time, which keeps
//! the cost to a small multiple of that of CART's first split.

use crate::context::Context;
use crate::rank_table::{RankTable, RankTarget};

/// Maximum number of features that are searched in pairs; so many or fewer are never screened.
pub(super) const MAX_PAIR_FEATURES: usize = 40;

/// How many are chosen of more. Fewer than the maximum, so that the searches of a wide table leave
/// time for descents, which use all features.
const SCREENED_FEATURES: usize = 24;

/// Maximum number of features, the best by themselves, whose interactions are measured.
const MAX_SCREENED: usize = 1024;

/// Maximum number of rows that features are screened on.
const MAX_ROWS: usize = 4096;

/// Those of some features that are not constant.
pub(super) fn varying(table: &RankTable, features: &[u32]) -> Vec<u32> {
    let columns = table.columns();
    features.iter().copied().filter(|&at| columns[at as usize].max_code() > 0).collect()
}

/// Those of some features to search in pairs for the rows of a node, in their order: all if they
/// are few.
pub(super) fn pair_features(
    table: &RankTable,
    features: &[u32],
    rows: &[u32],
    context: Context<'_>,
) -> Vec<u32> {
    let features = varying(table, features);
    if features.len() <= MAX_PAIR_FEATURES {
        return features;
    }

    let step = rows.len().div_ceil(MAX_ROWS).max(1);
    let rows: Vec<u32> = rows.iter().copied().step_by(step).collect();
    let classes = ClassLabels::new(table, &rows);
    let mut screened: Vec<ScreenedFeature> = context
        .pool
        .map(features.len(), |at| ScreenedFeature::new(table, features[at], &rows, &classes));
    screened.sort_by(|a, b| b.alone.total_cmp(&a.alone).then(a.feature.cmp(&b.feature)));
    screened.truncate(MAX_SCREENED);

    let mut chosen: Vec<u32> =
        screened.iter().take(SCREENED_FEATURES / 2).map(|screened| screened.feature).collect();
    for [a, b] in pairs_by_interaction(&screened, &classes, context) {
        if chosen.len() + 2 > SCREENED_FEATURES {
            break;
        }
        chosen.extend([a, b].into_iter().filter(|at| !chosen.contains(at)).collect::<Vec<_>>());
    }
    chosen.sort_unstable();
    chosen
}

/// The class of each row; numbers count as two classes, below and above their median.
struct ClassLabels {
    of_row: Vec<u16>,
    totals: Vec<f64>,
}

impl ClassLabels {
    fn new(table: &RankTable, rows: &[u32]) -> Self {
        let (of_row, count): (Vec<u16>, usize) = match table.target() {
            RankTarget::Classes { of_row, count } => {
                (rows.iter().map(|&row| of_row[row as usize]).collect(), *count)
            }
            RankTarget::Numbers { of_row, .. } => {
                let values: Vec<f64> = rows.iter().map(|&row| of_row[row as usize]).collect();
                let mut sorted = values.clone();
                sorted.sort_by(f64::total_cmp);
                let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
                (values.iter().map(|&value| u16::from(value >= median)).collect(), 2)
            }
        };
        let mut totals = vec![0.0; count];
        of_row.iter().for_each(|&class| totals[usize::from(class)] += 1.0);
        ClassLabels { of_row, totals }
    }
}

/// A feature with what its screening needs.
struct ScreenedFeature {
    feature: u32,
    /// The purity of its best single split.
    alone: f64,
    /// Which rows lie above its median: a bit per row.
    above: Vec<u64>,
    /// The same, for the rows of each class.
    above_by_class: Vec<Vec<u64>>,
    /// The number of rows above, by class.
    counts: Vec<f64>,
    /// The purity of the cut at the median.
    at_median: f64,
}

impl ScreenedFeature {
    fn new(table: &RankTable, feature: u32, rows: &[u32], classes: &ClassLabels) -> Self {
        let column = &table.columns()[feature as usize];
        let code = |row: u32| usize::from(column.codes()[row as usize]);
        // Missing values come first.
        let mut order: Vec<u16> = (0..=column.max_code()).collect();
        if column.is_category() {
            let levels = table.levels_by_target(feature, rows);
            order = std::iter::once(0).chain(levels).collect();
        }
        let count = classes.totals.len();
        let mut by_code = vec![0.0; (usize::from(column.max_code()) + 1) * count];
        for (&row, &class) in rows.iter().zip(&classes.of_row) {
            by_code[code(row) * count + usize::from(class)] += 1.0;
        }

        let (mut alone, mut median) = (0.0_f64, (f64::INFINITY, 0));
        let mut below = vec![0.0; count];
        for (position, &code) in order.iter().enumerate() {
            let cell = &by_code[usize::from(code) * count..][..count];
            below.iter_mut().zip(cell).for_each(|(below, cell)| *below += cell);
            alone = alone.max(purity(&below) + purity(&difference(&classes.totals, &below)));
            let from_middle = (below.iter().sum::<f64>() - rows.len() as f64 / 2.0).abs();
            if from_middle < median.0 {
                median = (from_middle, position);
            }
        }

        let mut is_above = vec![false; usize::from(column.max_code()) + 1];
        order.iter().skip(median.1 + 1).for_each(|&code| is_above[usize::from(code)] = true);
        let words = rows.len().div_ceil(64);
        let (mut above, mut above_by_class) = (vec![0; words], vec![vec![0; words]; count]);
        let mut counts = vec![0.0; count];
        for (at, (&row, &class)) in rows.iter().zip(&classes.of_row).enumerate() {
            let bit = u64::from(is_above[code(row)]) << (at % 64);
            above[at / 64] |= bit;
            above_by_class[usize::from(class)][at / 64] |= bit;
            counts[usize::from(class)] += f64::from(u8::from(bit > 0));
        }
        let at_median = purity(&counts) + purity(&difference(&classes.totals, &counts));
        ScreenedFeature { feature, alone, above, above_by_class, counts, at_median }
    }

    /// How much purer the four cells of two cuts are than the cuts explain by themselves.
    fn interaction(&self, other: &ScreenedFeature, totals: &[f64]) -> f64 {
        let both: Vec<f64> = self
            .above_by_class
            .iter()
            .map(|mine| {
                let words = mine.iter().zip(&other.above);
                f64::from(words.map(|(mine, other)| (mine & other).count_ones()).sum::<u32>())
            })
            .collect();
        let one = difference(&self.counts, &both);
        let two = difference(&other.counts, &both);
        let none = difference(&difference(totals, &self.counts), &two);
        let cells = purity(&both) + purity(&one) + purity(&two) + purity(&none);
        cells - self.at_median - other.at_median + purity(totals)
    }
}

/// The pairs of features that interact most, the strongest first.
fn pairs_by_interaction(
    screened: &[ScreenedFeature],
    classes: &ClassLabels,
    context: Context<'_>,
) -> Vec<[u32; 2]> {
    let stronger =
        |a: &(f64, [u32; 2]), b: &(f64, [u32; 2])| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    let of_first = |first: usize| {
        let mut pairs = Vec::new();
        if context.budget.is_interrupted() {
            return pairs;
        }
        for second in &screened[first + 1..] {
            let value = screened[first].interaction(second, &classes.totals);
            pairs.push((value, [screened[first].feature, second.feature]));
        }
        // No more of them can find a place.
        pairs.sort_by(stronger);
        pairs.truncate(SCREENED_FEATURES);
        pairs
    };
    let mut pairs: Vec<(f64, [u32; 2])> =
        context.pool.map(screened.len(), of_first).into_iter().flatten().collect();
    pairs.sort_by(stronger);
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

/// The number of rows times the probability that two of them are of one class: what a Gini split
/// maximises.
fn purity(counts: &[f64]) -> f64 {
    let total: f64 = counts.iter().sum();
    if total > 0.0 { counts.iter().map(|count| count * count).sum::<f64>() / total } else { 0.0 }
}

fn difference(all: &[f64], part: &[f64]) -> Vec<f64> {
    all.iter().zip(part).map(|(all, part)| all - part).collect()
}

#[cfg(test)]
mod tests {
    use swarmwood_model::{Feature, Kind};
    use swarmwood_search::rng::Stream;

    use super::*;
    use crate::context::TestContext;
    use crate::data::{Chunk, Column};

    /// Uniform columns and a class that depends on column 7 alone and on columns 60 and 90
    /// together.
    fn table(columns: usize) -> RankTable {
        let mut stream = Stream::new(1, 2, 3);
        let rows = 600;
        let x: Vec<Vec<f64>> =
            (0..columns).map(|_| (0..rows).map(|_| stream.unit()).collect()).collect();
        let above = |at: usize, row: usize| x.get(at).is_some_and(|column| column[row] > 0.45);
        let class = |row: usize| {
            f64::from(u8::from(if row.is_multiple_of(3) {
                above(7, row)
            } else {
                above(60, row) != above(90, row)
            }))
        };
        let chunk = Chunk {
            target: (0..rows).map(class).collect(),
            columns: x.iter().cloned().map(Column::Number).collect(),
            rows,
            ..Chunk::default()
        };
        let number = |at: usize| Feature { name: format!("x{at}"), kind: Kind::Number };
        let features: Vec<Feature> = (0..columns).map(number).collect();
        RankTable::new(&chunk, &features, Some(2), 255)
    }

    #[test]
    fn features_that_matter_alone_or_in_pairs_are_chosen() {
        let run = TestContext::new(2);
        let table = table(120);
        let rows: Vec<u32> = (0..600).collect();
        let features: Vec<u32> = (0..table.columns().len() as u32).collect();
        let chosen = pair_features(&table, &features, &rows, run.context());
        assert!([7, 60, 90].iter().all(|feature| chosen.contains(feature)), "{chosen:?}");
        assert!(chosen.len() <= SCREENED_FEATURES && chosen.is_sorted());
        let alone = TestContext::new(1);
        assert_eq!(pair_features(&table, &features, &rows, alone.context()), chosen);
    }

    #[test]
    fn few_features_are_all_chosen() {
        let run = TestContext::new(1);
        let all: Vec<u32> = (0..MAX_PAIR_FEATURES as u32).collect();
        let table = table(MAX_PAIR_FEATURES);
        assert_eq!(pair_features(&table, &all, &[0, 5], run.context()), all);
    }
}
