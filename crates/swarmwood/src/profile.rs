//! Summary statistics of the columns of a table, in one pass over its rows.

use swarmwood_learn::data::{Chunk, Column, MISSING};
use swarmwood_model::Kind;

use crate::Result;
use crate::read::Rows;

/// The profile of one column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnProfile {
    /// Name of the column.
    pub name: String,
    /// Number of missing values.
    pub missing: usize,
    /// Summary of the other values.
    pub values: ColumnSummary,
}

/// Summary of the values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnSummary {
    /// Of numbers; all NaN if there are no values.
    Numbers {
        /// The minimum.
        low: f64,
        /// The mean.
        mean: f64,
        /// The maximum.
        high: f64,
    },
    /// The levels that occur and how often, the most frequent first.
    Levels(Vec<(String, usize)>),
}

/// Computes the profile of every feature.
///
/// ```
/// use swarmwood::profile::{ColumnSummary, profile};
/// use swarmwood::read::{ReadOptions, Source, training};
///
/// let csv = Source::Bytes("pets.csv".into(), b"kind,weight,wild\ncat,4,no\nwolf,40,yes\ncat,NA,no\n");
/// let rows = training(&csv, &ReadOptions { target: "wild".into(), ..ReadOptions::default() })?;
/// let columns = profile(&rows)?;
/// assert_eq!(columns[0].values, ColumnSummary::Levels(vec![("cat".into(), 2), ("wolf".into(), 1)]));
/// assert_eq!(columns[1].values, ColumnSummary::Numbers { low: 4.0, mean: 22.0, high: 40.0 });
/// assert_eq!(columns[1].missing, 1);
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn profile(rows: &Rows) -> Result<Vec<ColumnProfile>> {
    let mut sums: Vec<ColumnAccumulator> =
        rows.schema.features.iter().map(|feature| ColumnAccumulator::new(&feature.kind)).collect();
    rows.for_each_chunk(&mut |chunk: &Chunk| {
        sums.iter_mut().zip(&chunk.columns).for_each(|(sum, column)| sum.add(column));
        Ok(())
    })?;
    let named = rows.schema.features.iter().zip(sums);
    Ok(named
        .map(|(feature, sum)| ColumnProfile {
            name: feature.name.clone(),
            missing: sum.missing,
            values: sum.values(&feature.kind),
        })
        .collect())
}

/// The running statistics of one column.
struct ColumnAccumulator {
    missing: usize,
    count: usize,
    low: f64,
    high: f64,
    total: f64,
    levels: Vec<usize>,
}

impl ColumnAccumulator {
    fn new(kind: &Kind) -> Self {
        let levels = vec![0; kind.levels().len()];
        ColumnAccumulator {
            missing: 0,
            count: 0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            total: 0.0,
            levels,
        }
    }

    fn add(&mut self, column: &Column) {
        match column {
            Column::Number(values) => values.iter().for_each(|&value| self.add_number(value)),
            Column::Category(codes) => {
                codes.iter().for_each(|&code| match self.levels.get_mut(code as usize) {
                    Some(count) if code != MISSING => *count += 1,
                    _ => self.missing += 1,
                })
            }
        }
    }

    fn add_number(&mut self, value: f64) {
        if value.is_nan() {
            self.missing += 1;
            return;
        }
        self.count += 1;
        self.total += value;
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }

    fn values(self, kind: &Kind) -> ColumnSummary {
        if let Kind::Category { levels } = kind {
            let counted = levels.iter().cloned().zip(self.levels).filter(|(_, count)| *count > 0);
            let mut found: Vec<(String, usize)> = counted.collect();
            // A stable sort: equally frequent levels keep their order.
            found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            return ColumnSummary::Levels(found);
        }
        if self.count == 0 {
            return ColumnSummary::Numbers { low: f64::NAN, mean: f64::NAN, high: f64::NAN };
        }
        ColumnSummary::Numbers {
            low: self.low,
            mean: self.total / self.count as f64,
            high: self.high,
        }
    }
}
