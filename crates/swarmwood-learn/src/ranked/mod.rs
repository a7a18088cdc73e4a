//! The rows of one table for learners of a single tree: every value as its rank.
//!
//! One small tree deserves exact thresholds: a column keeps all its distinct values as long as two
//! bytes can number them, instead of the few bins that boosting needs. Code 0 is a missing value;
//! numbers count up from 1 in their order, levels of a category in the order of the schema.
//!
//! **Invariant:** a rule over codes and the split it becomes send every row of the table the same
//! way.

mod rule;
#[cfg(test)]
mod tests;

use swarmwood_model::{Feature, Kind};

use crate::bins::edges;
use crate::data::{Chunk, Column};
use crate::pool::Pool;

pub use rule::{CodeSet, Cut, Rule};

/// The most codes of a column, missing not counted.
pub const MOST_CODES: usize = u16::MAX as usize - 1;

/// The rows.
#[derive(Debug, Clone)]
pub struct Ranked {
    columns: Vec<Ranks>,
    target: Target,
    /// Empty if every row weighs one.
    weight: Vec<f64>,
    rows: usize,
}

/// What is to be predicted.
#[derive(Debug, Clone)]
pub enum Target {
    /// The class of each row.
    Classes {
        /// Class numbers.
        of_row: Vec<u16>,
        /// How many classes there are.
        count: usize,
    },
    /// Numbers, less `centre`, so that sums of squares keep their digits.
    Numbers {
        /// The value of each row less the centre.
        of_row: Vec<f64>,
        /// The weighted mean.
        centre: f64,
    },
}

/// One column.
#[derive(Debug, Clone)]
pub struct Ranks {
    codes: Vec<u16>,
    /// Codes run from 1 to `top`.
    top: u16,
    meaning: Meaning,
}

/// What codes stand for.
#[derive(Debug, Clone)]
enum Meaning {
    /// The least and the greatest value of each code.
    Number(Vec<[f64; 2]>),
    /// Code `c` is level `c - 1`.
    Category,
}

impl Ranked {
    /// Ranks the values of a table. `classes` is the number of classes, or none for numbers.
    /// Columns with more than `most_codes` distinct numbers are cut into so many bins of equal
    /// size.
    ///
    /// ```
    /// use swarmwood_learn::data::{Chunk, Column};
    /// use swarmwood_learn::ranked::Ranked;
    /// use swarmwood_model::{Feature, Kind};
    ///
    /// let columns = vec![Column::Number(vec![0.5, f64::NAN, -1.0, 0.5])];
    /// let chunk = Chunk { columns, target: vec![0.0, 1.0, 1.0, 0.0], rows: 4, ..Chunk::default() };
    /// let features = [Feature { name: "x".into(), kind: Kind::Number }];
    /// let table = Ranked::new(&chunk, &features, Some(2), 100);
    /// assert_eq!(table.columns()[0].codes(), [2, 0, 1, 2]);
    /// ```
    pub fn new(
        chunk: &Chunk,
        features: &[Feature],
        classes: Option<usize>,
        most_codes: usize,
    ) -> Self {
        Ranked::of_columns(
            chunk,
            classes,
            |most| {
                let columns = chunk.columns.iter().zip(features);
                columns.map(|(column, feature)| Ranks::new(column, feature, most)).collect()
            },
            most_codes,
        )
    }

    /// The same on all threads of a pool. In a hurry columns are left out: they seem to have no
    /// value at all, and no rule asks for them.
    pub fn in_pool(
        chunk: &Chunk,
        features: &[Feature],
        classes: Option<usize>,
        most_codes: usize,
        pool: &Pool,
    ) -> Self {
        let ranks = |at: usize, most: usize| match pool.hurried() {
            true => {
                Ranks { codes: vec![0; chunk.rows], top: 0, meaning: Meaning::Number(Vec::new()) }
            }
            false => Ranks::new(&chunk.columns[at], &features[at], most),
        };
        let count = chunk.columns.len().min(features.len());
        Ranked::of_columns(chunk, classes, |most| pool.map(count, |at| ranks(at, most)), most_codes)
    }

    fn of_columns(
        chunk: &Chunk,
        classes: Option<usize>,
        columns: impl Fn(usize) -> Vec<Ranks>,
        most_codes: usize,
    ) -> Self {
        let columns = columns(most_codes.clamp(2, MOST_CODES));
        let target = match classes {
            Some(count) => Target::Classes {
                of_row: chunk.target.iter().map(|&class| class as u16).collect(),
                count,
            },
            None => centred(&chunk.target, &chunk.weight),
        };
        Ranked { columns, target, weight: chunk.weight.clone(), rows: chunk.rows }
    }

    /// The columns, in the order of the schema.
    pub fn columns(&self) -> &[Ranks] {
        &self.columns
    }

    /// What is to be predicted.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The weight of a row.
    #[inline]
    pub fn weight(&self, row: u32) -> f64 {
        if self.weight.is_empty() { 1.0 } else { self.weight[row as usize] }
    }

    /// Whether rows differ in weight.
    pub fn is_weighted(&self) -> bool {
        !self.weight.is_empty()
    }

    /// The weight of all rows together.
    pub fn total_weight(&self) -> f64 {
        if self.weight.is_empty() { self.rows as f64 } else { self.weight.iter().sum() }
    }

    /// The levels of a category in the order of a mean over some rows, of which the score is given
    /// by place; levels without a row come last.
    pub fn levels_by_mean(
        &self,
        feature: u32,
        rows: &[u32],
        score: impl Fn(usize) -> f64,
    ) -> Vec<u16> {
        let column = &self.columns[feature as usize];
        let mut sums = vec![[0.0_f64; 2]; usize::from(column.top) + 1];
        for (at, &row) in rows.iter().enumerate() {
            let weight = self.weight(row);
            let sum = &mut sums[usize::from(column.codes[row as usize])];
            *sum = [sum[0] + weight, sum[1] + weight * score(at)];
        }
        let mean = |code: u16| match sums[usize::from(code)] {
            [weight, sum] if weight > 0.0 => sum / weight,
            _ => f64::INFINITY,
        };
        let mut order: Vec<u16> = (1..=column.top).collect();
        order.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)));
        order
    }

    /// The same in the order of the mean target, or of the share of the first class.
    pub fn levels_by_target(&self, feature: u32, rows: &[u32]) -> Vec<u16> {
        match &self.target {
            Target::Numbers { of_row, .. } => {
                self.levels_by_mean(feature, rows, |at| of_row[rows[at] as usize])
            }
            Target::Classes { of_row, .. } => self.levels_by_mean(feature, rows, |at| {
                f64::from(u8::from(of_row[rows[at] as usize] == 0))
            }),
        }
    }

    /// Some of the rows with the codes that they have here.
    #[must_use]
    pub fn subset(&self, rows: &[u32]) -> Self {
        fn pick<T: Copy>(of: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|&row| of[row as usize]).collect()
        }
        let columns = self
            .columns
            .iter()
            .map(|column| Ranks { codes: pick(&column.codes, rows), ..column.shell() });
        let target = match &self.target {
            Target::Classes { of_row, count } => {
                Target::Classes { of_row: pick(of_row, rows), count: *count }
            }
            Target::Numbers { of_row, centre } => {
                Target::Numbers { of_row: pick(of_row, rows), centre: *centre }
            }
        };
        let weight = if self.weight.is_empty() { Vec::new() } else { pick(&self.weight, rows) };
        Ranked { columns: columns.collect(), target, weight, rows: rows.len() }
    }

    /// The same rows with other weights.
    #[must_use]
    pub fn with_weight(mut self, weight: Vec<f64>) -> Self {
        self.weight = weight;
        self
    }
}

impl Ranks {
    fn new(column: &Column, feature: &Feature, most_codes: usize) -> Self {
        match (column, &feature.kind) {
            (Column::Number(values), _) => Ranks::of_numbers(values, most_codes),
            (Column::Category(levels), Kind::Category { levels: names }) => {
                // A level beyond what two bytes can number counts as missing; readers refuse so
                // many levels long before.
                let top = names.len().min(MOST_CODES) as u16;
                let code = |&level: &u32| if level < u32::from(top) { level as u16 + 1 } else { 0 };
                Ranks { codes: levels.iter().map(code).collect(), top, meaning: Meaning::Category }
            }
            _ => unreachable!("a reader gives every column the kind its schema says"),
        }
    }

    fn of_numbers(values: &[f64], most_codes: usize) -> Self {
        let bounds = edges::bounds(values, most_codes);
        // Every number is at least the least one of some bin, so a code of 0 is left to NaN.
        let code = |&value: &f64| bounds.partition_point(|bound| bound[0] <= value) as u16;
        let codes = values.iter().map(code).collect();
        Ranks { codes, top: bounds.len() as u16, meaning: Meaning::Number(bounds) }
    }

    /// The column without its rows.
    fn shell(&self) -> Ranks {
        Ranks { codes: Vec::new(), top: self.top, meaning: self.meaning.clone() }
    }

    /// One code a row; 0 is a missing value.
    pub fn codes(&self) -> &[u16] {
        &self.codes
    }

    /// The greatest code.
    pub fn top(&self) -> u16 {
        self.top
    }

    /// Whether the column holds levels of a category.
    pub fn is_category(&self) -> bool {
        matches!(self.meaning, Meaning::Category)
    }

    /// Whether a threshold can lie above all values.
    pub fn is_bounded(&self) -> bool {
        match &self.meaning {
            Meaning::Number(bounds) => bounds.last().is_none_or(|last| last[1] < f64::INFINITY),
            Meaning::Category => true,
        }
    }

    /// The greatest code of a number whose values all lie at or below a threshold; 0 if there is
    /// none.
    pub fn cut_at(&self, threshold: f64) -> u16 {
        match &self.meaning {
            Meaning::Number(bounds) => bounds.partition_point(|bound| bound[1] <= threshold) as u16,
            Meaning::Category => 0,
        }
    }

    /// Whether a threshold lies among the values of one code, so that no rule over codes is quite
    /// the same.
    pub fn is_within_code(&self, threshold: f64) -> bool {
        let Meaning::Number(bounds) = &self.meaning else { return false };
        bounds.get(usize::from(self.cut_at(threshold))).is_some_and(|bound| bound[0] <= threshold)
    }

    /// The least and the greatest finite value of a number; none if it has none.
    pub fn finite_range(&self) -> Option<[f64; 2]> {
        let Meaning::Number(bounds) = &self.meaning else { return None };
        let mut finite = bounds.iter().flatten().copied().filter(|value| value.is_finite());
        let low = finite.next()?;
        Some([low, finite.next_back().unwrap_or(low)])
    }

    /// The threshold between two codes of a number, of which the rows at a node hold none in
    /// between, and the greatest code that lies below it.
    pub fn between(&self, low: u16, high: u16) -> (f64, u16) {
        let Meaning::Number(bounds) = &self.meaning else {
            unreachable!("categories have no thresholds")
        };
        if high > self.top {
            return (f64::MAX, self.top);
        }
        let (below, above) = (bounds[usize::from(low) - 1][1], bounds[usize::from(high) - 1][0]);
        let threshold = edges::between(below, above);
        let code = (low..high)
            .rev()
            .find(|&code| bounds[usize::from(code) - 1][1] <= threshold)
            .unwrap_or(low);
        // A bin between the two that the threshold would cut through lies wholly above it.
        let next = bounds.get(usize::from(code)).map_or(f64::INFINITY, |bound| bound[0]);
        (if next <= threshold { bounds[usize::from(code) - 1][1] } else { threshold }, code)
    }
}

fn centred(values: &[f64], weight: &[f64]) -> Target {
    let weight_of = |row: usize| weight.get(row).copied().unwrap_or(1.0);
    let (mut sum, mut total) = (0.0, 0.0);
    for (row, value) in values.iter().enumerate() {
        sum += weight_of(row) * value;
        total += weight_of(row);
    }
    let centre = if total > 0.0 { sum / total } else { 0.0 };
    Target::Numbers { of_row: values.iter().map(|value| value - centre).collect(), centre }
}
