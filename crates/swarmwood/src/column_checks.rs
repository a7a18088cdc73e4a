//! Columns that a user should look at before a model is trained: numbers of rows, columns that
//! hardly vary, and columns that give the target away.

use std::collections::HashMap;

use swarmwood_learn::data::{Chunk, Column, MISSING};
use swarmwood_model::{FeatureSource, TargetKind};

use crate::read::Rows;

/// Fewer rows prove nothing.
const LEAST_ROWS: usize = 50;

/// A column whose most frequent value has this share hardly varies.
const NEARLY_ALL: f64 = 0.999;

/// A column that predicts the target so well by itself: R², or the share of correct classes.
const GIVEN_AWAY_R2: f64 = 0.995;
const GIVEN_AWAY_ACCURACY: f64 = 0.999;

/// If one class has this share, its rows tell little about a column.
const MOST_OF_ONE_CLASS: f64 = 0.95;

/// Groups of equal numbers of rows that a number is cut into.
const GROUPS: usize = 64;

/// Rows of a group, at least, on average: fewer would be predicted by chance.
const ROWS_PER_GROUP: usize = 5;

/// Warnings about columns, from all rows or a sample of them.
///
/// ```
/// use swarmwood::column_checks::warnings;
/// use swarmwood::read::{ReadOptions, Source, training};
///
/// let rows: String = (0..60).map(|row| format!("{row},{}\n", row * row % 7)).collect();
/// let csv = Source::Bytes("t.csv".into(), format!("id,y\n{rows}").leak().as_bytes());
/// let rows = training(&csv, &ReadOptions { target: "y".into(), ..ReadOptions::default() })?;
/// assert!(warnings(&rows)[0].contains("column 'id'"));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn warnings(rows: &Rows) -> Vec<String> {
    let targets = rows.schema.target.kind.columns().len();
    if targets == 0 {
        return warnings_of_target(rows);
    }
    let mut all: Vec<String> = Vec::new();
    for rows in (0..targets).filter_map(|at| rows.of_target(at)) {
        for warning in warnings_of_target(&rows) {
            if !all.contains(&warning) {
                all.push(warning);
            }
        }
    }
    all
}

fn warnings_of_target(rows: &Rows) -> Vec<String> {
    let sample = rows.sample();
    if sample.rows < LEAST_ROWS {
        return Vec::new();
    }
    let is_class = matches!(rows.schema.target.kind, TargetKind::Classes(_));
    let sources = rows.schema.sources();
    let columns = rows.schema.features.iter().zip(sources).zip(&sample.columns);
    let warned = columns.filter_map(|((feature, source), column)| {
        let is_date = matches!(source, FeatureSource::Date(..));
        let fault = fault_of(column, &sample, is_class, is_date)?;
        let escaped = |name: &str| name.chars().flat_map(char::escape_debug).collect::<String>();
        let (name, ignored) = (escaped(&feature.name), escaped(source.column()));
        Some(format!("column '{name}' {fault} (--ignore '{ignored}')"))
    });
    warned.collect()
}

/// What is suspicious about a column.
fn fault_of(column: &Column, sample: &Chunk, is_class: bool, is_date: bool) -> Option<String> {
    // One row per day is no numbering of rows.
    if let Column::Number(values) = column
        && !is_date
        && is_numbering(values)
    {
        return Some(
            "has another whole number in every row; leave it out if it is an identifier"
                .to_string(),
        );
    }
    if let Some(share) =
        most_frequent_share(column).filter(|share| (NEARLY_ALL..1.0).contains(share))
    {
        let share = 100.0 * share;
        return Some(format!("has the same value in {share:.2} % of the rows; leave it out"));
    }
    let groups = groups_of(column)?;
    let (measure, value) = match is_class {
        true => ("accuracy", majority_accuracy(&groups, &sample.target)?),
        false => ("R²", explained(&groups, &sample.target)?),
    };
    let least = if is_class { GIVEN_AWAY_ACCURACY } else { GIVEN_AWAY_R2 };
    (value >= least).then(|| {
        format!(
            "predicts the target almost perfectly by itself ({measure} {value:.4}); leave it out if \
             it is not known when predictions are made"
        )
    })
}

/// Whether all values are different whole numbers without many gaps.
fn is_numbering(values: &[f64]) -> bool {
    if !values.iter().all(|value| value.fract() == 0.0) {
        return false;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let spread = sorted[sorted.len() - 1] - sorted[0];
    sorted.windows(2).all(|pair| pair[0] < pair[1]) && spread < 1.5 * values.len() as f64
}

/// The share of the most frequent value among all rows, missing ones included.
fn most_frequent_share(column: &Column) -> Option<f64> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    let mut count = |key: u64| *counts.entry(key).or_default() += 1;
    let rows = match column {
        Column::Number(values) => {
            values.iter().for_each(|value| count(value.to_bits()));
            values.len()
        }
        Column::Category(codes) => {
            codes.iter().for_each(|&code| count(u64::from(code)));
            codes.len()
        }
    };
    counts.values().max().map(|&most| most as f64 / rows as f64)
}

/// The group of each row: its level, or one of [`GROUPS`] neighbouring ranks; missing values have
/// their own. None if groups would have too few rows.
fn groups_of(column: &Column) -> Option<Vec<usize>> {
    match column {
        Column::Category(codes) => {
            let levels =
                codes.iter().filter(|code| **code != MISSING).max().map_or(0, |&code| code);
            let is_fine = (levels as usize + 1) * ROWS_PER_GROUP > codes.len();
            let group = |&code: &u32| if code == MISSING { 0 } else { code as usize + 1 };
            (!is_fine).then(|| codes.iter().map(group).collect())
        }
        Column::Number(values) => {
            let mut order: Vec<usize> =
                (0..values.len()).filter(|&row| !values[row].is_nan()).collect();
            order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
            let wanted = GROUPS.min(order.len() / ROWS_PER_GROUP).max(1);
            let mut groups = vec![0; values.len()];
            let mut group = 0;
            for (rank, &row) in order.iter().enumerate() {
                // Equal values stay together.
                let is_new = rank == 0 || values[order[rank - 1]] < values[row];
                if is_new && rank * wanted / order.len() >= group {
                    group += 1;
                }
                groups[row] = group;
            }
            Some(groups)
        }
    }
}

/// The share of rows in the most frequent class of their group; none if one class has nearly all.
fn majority_accuracy(groups: &[usize], target: &[f64]) -> Option<f64> {
    let mut counts: HashMap<(usize, u64), usize> = HashMap::new();
    let mut classes: HashMap<u64, usize> = HashMap::new();
    for (&group, class) in groups.iter().zip(target) {
        *counts.entry((group, class.to_bits())).or_default() += 1;
        *classes.entry(class.to_bits()).or_default() += 1;
    }
    let rows = target.len() as f64;
    let largest = classes.values().max().copied().unwrap_or(0) as f64 / rows;
    let mut most: HashMap<usize, usize> = HashMap::new();
    for ((group, _), count) in counts {
        let most = most.entry(group).or_default();
        *most = count.max(*most);
    }
    (largest < MOST_OF_ONE_CLASS).then(|| most.values().sum::<usize>() as f64 / rows)
}

/// The share of the variance that the means of the groups explain; none if there is no variance.
fn explained(groups: &[usize], target: &[f64]) -> Option<f64> {
    let count = groups.iter().max()? + 1;
    let mut sums = vec![(0.0, 0.0); count];
    let mean = target.iter().sum::<f64>() / target.len() as f64;
    let mut total = 0.0;
    for (&group, value) in groups.iter().zip(target) {
        let deviation = value - mean;
        sums[group].0 += 1.0;
        sums[group].1 += deviation;
        total += deviation * deviation;
    }
    let between: f64 =
        sums.iter().filter(|sum| sum.0 > 0.0).map(|(rows, sum)| sum * sum / rows).sum();
    (total > 0.0).then(|| between / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{ReadOptions, Source, training};

    fn warned(header: &str, row: impl Fn(usize) -> String) -> Vec<String> {
        let rows: String = (0..2000).map(|at| row(at) + "\n").collect();
        let text = format!("{header}\n{rows}").leak();
        let source = Source::Bytes("t.csv".into(), text.as_bytes());
        let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
        warnings(&training(&source, &options).unwrap())
    }

    /// A number from 0 to 1 without a pattern.
    fn noise(at: usize, stream: usize) -> f64 {
        let mixed = (at * 7919 + stream * 104_729 + 17).wrapping_mul(2_654_435_761) % 1_000_003;
        mixed as f64 / 1_000_003.0
    }

    #[test]
    fn finds_identifiers_and_columns_that_hardly_vary() {
        let row = |at: usize| {
            let id = (at * 1201) % 2000 + 5000;
            format!("{id},{},{},{}", u8::from(at == 7), noise(at, 1), noise(at, 2))
        };
        let found = warned("id,rare,x,y", row);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("'id' has another whole number in every row"));
        assert!(found[1].contains("'rare' has the same value in 99.95 % of the rows"));
    }

    #[test]
    fn finds_what_gives_a_number_away() {
        let row = |at: usize| {
            let y = noise(at, 1);
            format!("{},{},{y}", 3.0 * y + 1.0, y + 0.2 * noise(at, 3))
        };
        let found = warned("total,hint,y", row);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("'total' predicts the target almost perfectly"), "{found:?}");
    }

    #[test]
    fn finds_what_gives_a_class_away() {
        let row = |at: usize| {
            let ill = noise(at, 1) < 0.3;
            let code = if ill { ["C1", "C2"][at % 2] } else { ["A0", "B0"][at % 2] };
            let hint = f64::from(u8::from(ill)) + noise(at, 2) * 1.5;
            format!("{code},{hint},{}", if ill { "yes" } else { "no" })
        };
        let found = warned("code,hint,y", row);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("'code'") && found[0].contains("accuracy 1.0000"), "{found:?}");
    }

    #[test]
    fn says_nothing_about_usual_columns() {
        let row = |at: usize| {
            let (a, b) = (noise(at, 1), noise(at, 2));
            format!("{a},{},{},{}", (10.0 * b) as u32, ["x", "y"][at % 2], a + b)
        };
        assert_eq!(warned("a,b,c,y", row), Vec::<String>::new());
    }
}
