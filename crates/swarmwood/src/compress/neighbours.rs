//! Near neighbours of rows, for columns of numbers and categories.
//!
//! The distance of two values is the difference of their ranks, from 0 to 1, so that neither units
//! nor outliers matter; two levels are 1 apart, and so are a missing value and any other. The distance
//! of two rows is the sum over the columns.
//!
//! All pairs of rows would be too many: rows are halved at the median of the column with the most
//! distinct ranks, again and again, and compared within their part. A neighbour across a border is
//! missed, which makes no difference where any near row will do.

use swarmwood_learn::data::{Column, MISSING};
use swarmwood_learn::pool::Pool;

/// Rows of a part, in which all pairs are compared.
const PART_ROWS: usize = 2048;

/// What stands for a missing value among ranks and levels.
const NO_VALUE: f32 = -1.0;

/// The values of a column for comparisons.
struct ComparableColumn {
    is_number: bool,
    /// Ranks from 0 to 1, or levels; [`NO_VALUE`] is missing.
    values: Vec<f32>,
}

impl ComparableColumn {
    fn new(column: &Column) -> ComparableColumn {
        match column {
            Column::Number(values) => {
                ComparableColumn { is_number: true, values: ranks_of(values) }
            }
            Column::Category(codes) => {
                let value = |&code: &u32| if code == MISSING { NO_VALUE } else { code as f32 };
                ComparableColumn { is_number: false, values: codes.iter().map(value).collect() }
            }
        }
    }

    fn distance(&self, a: usize, b: usize) -> f32 {
        let (a, b) = (self.values[a], self.values[b]);
        match self.is_number && a >= 0.0 && b >= 0.0 {
            true => (a - b).abs(),
            false => f32::from(u8::from(a != b)),
        }
    }

    /// How far the values of some rows are apart.
    fn spread(&self, rows: &[u32]) -> f32 {
        let values = || rows.iter().map(|&row| self.values[row as usize]);
        let (least, greatest) = values()
            .fold((f32::MAX, f32::MIN), |(low, high), value| (low.min(value), high.max(value)));
        if self.is_number { greatest - least } else { 0.0 }
    }
}

/// The ranks of numbers, from 0 to 1; equal numbers have equal ranks.
fn ranks_of(values: &[f64]) -> Vec<f32> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    let last = sorted.len().saturating_sub(1).max(1) as f32;
    let rank = |value: &f64| match value.is_nan() {
        true => NO_VALUE,
        false => sorted.partition_point(|other| other < value) as f32 / last,
    };
    values.iter().map(rank).collect()
}

/// For each row the nearest `count` others, or fewer if there are no more rows.
pub(super) fn neighbours(
    columns: &[Column],
    rows: usize,
    count: usize,
    pool: &Pool,
) -> Vec<Vec<u32>> {
    let columns = pool.map(columns.len(), |at| ComparableColumn::new(&columns[at]));
    let mut parts = Vec::new();
    divide((0..rows as u32).collect(), &columns, &mut parts);

    let found = pool.map(parts.len(), |at| nearest_within(&parts[at], &columns, count));
    let mut neighbours = vec![Vec::new(); rows];
    for (part, found) in parts.iter().zip(found) {
        for (&row, nearest) in part.iter().zip(found) {
            neighbours[row as usize] = nearest;
        }
    }
    neighbours
}

/// Halves rows until every part is small enough.
fn divide(rows: Vec<u32>, columns: &[ComparableColumn], parts: &mut Vec<Vec<u32>>) {
    if rows.len() <= PART_ROWS {
        return parts.push(rows);
    }

    let mut rows = rows;
    let spread = |column: &ComparableColumn| column.spread(&rows);
    let widest = columns.iter().max_by(|a, b| spread(a).total_cmp(&spread(b)));
    if let Some(column) = widest {
        rows.sort_by(|&a, &b| {
            column.values[a as usize].total_cmp(&column.values[b as usize]).then(a.cmp(&b))
        });
    }
    let upper = rows.split_off(rows.len() / 2);
    divide(rows, columns, parts);
    divide(upper, columns, parts);
}

/// For each row of a part its nearest others; of equal distances the earlier row.
fn nearest_within(part: &[u32], columns: &[ComparableColumn], count: usize) -> Vec<Vec<u32>> {
    let mut distances = vec![0.0_f32; part.len()];
    let mut nearest_of = |row: u32| {
        distances.fill(0.0);
        for column in columns {
            for (distance, &other) in distances.iter_mut().zip(part) {
                *distance += column.distance(row as usize, other as usize);
            }
        }

        let mut nearest: Vec<(f32, u32)> = Vec::with_capacity(count + 1);
        for (&distance, &other) in distances.iter().zip(part).filter(|(_, other)| **other != row) {
            let is_nearer = |last: &(f32, u32)| (distance, other) < *last;
            if nearest.len() == count && !nearest.last().is_some_and(is_nearer) {
                continue;
            }
            let at = nearest.partition_point(|found| *found < (distance, other));
            nearest.insert(at, (distance, other));
            nearest.truncate(count);
        }
        nearest.into_iter().map(|(_, other)| other).collect()
    };
    part.iter().map(|&row| nearest_of(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rows_are_those_of_brute_force() {
        let numbers: Vec<f64> = (0..50).map(|row| f64::from(row * 37 % 50)).collect();
        let levels: Vec<u32> =
            (0..50).map(|row| if row == 7 { MISSING } else { row % 3 }).collect();
        let columns = [Column::Number(numbers.clone()), Column::Category(levels.clone())];
        let found = neighbours(&columns, 50, 3, &Pool::new(2).unwrap());

        for (row, found) in found.iter().enumerate() {
            let distance = |other: usize| {
                (numbers[row] - numbers[other]).abs() / 49.0
                    + f64::from(u8::from(levels[row] != levels[other]))
            };
            let worst = found.iter().map(|&other| distance(other as usize)).fold(0.0, f64::max);
            let nearer = (0..50)
                .filter(|&other| other != row && distance(other) < worst - 1e-6)
                .filter(|&other| !found.contains(&(other as u32)));
            assert_eq!((found.len(), nearer.count()), (3, 0), "row {row}");
        }
    }

    #[test]
    fn parts_cover_all_rows_and_extreme_numbers_are_ranked() {
        let number = |row: usize| match row % 5 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            _ => row as f64 * 1e300,
        };
        let rows = 3 * PART_ROWS;
        let columns = [Column::Number((0..rows).map(number).collect())];
        let found = neighbours(&columns, rows, 2, &Pool::new(1).unwrap());
        assert!(found.iter().all(|nearest| nearest.len() == 2));
        assert!(neighbours(&columns, 1, 2, &Pool::new(1).unwrap())[0].is_empty());
    }
}
