//! The training rows for learners of a single tree, every value replaced by its rank.
//!
//! A single small tree can afford exact thresholds: a column keeps all its distinct values as long
//! as 16 bits can number them, instead of the few bins that boosting uses. Code 0 is a missing
//! value; numbers are coded from 1 in ascending order, levels of a category in the order of the
//! schema.
//!
//! **Invariant:** a rule over codes and the split it becomes send every row of the table the same
//! way.

mod rule;
#[cfg(test)]
mod tests;

use swarmwood_model::{Feature, Kind};

use crate::bins::edges;
use crate::constraints::Constraints;
use crate::context::Context;
use crate::data::{Chunk, Column};

/// Maximum number of codes per column, the missing code not counted.
pub const MAX_CODES: usize = u16::MAX as usize - 1;

/// All rows in memory, column by column.
#[derive(Debug, Clone)]
pub struct RankTable {
    columns: Vec<RankColumn>,
    target: RankTarget,
    /// Empty if every row has weight one.
    weight: Vec<f64>,
    rows: usize,
    constraints: Constraints,
}

/// The target column.
#[derive(Debug, Clone)]
pub enum RankTarget {
    /// The class of each row.
    Classes {
        /// Class numbers.
        of_row: Vec<u16>,
        /// How many classes there are.
        count: usize,
    },
    /// Numbers minus `centre`, so that sums of squares do not lose precision.
    Numbers {
        /// The value of each row minus the centre.
        of_row: Vec<f64>,
        /// The weighted mean.
        centre: f64,
    },
}

/// One feature column.
#[derive(Debug, Clone)]
pub struct RankColumn {
    codes: Vec<u16>,
    /// Codes run from 1 to `max_code`.
    max_code: u16,
    meaning: CodeMeaning,
}

/// What codes stand for.
#[derive(Debug, Clone)]
enum CodeMeaning {
    /// The least and the greatest value of each code.
    Number(Vec<[f64; 2]>),
    /// Code `c` is level `c - 1`.
    Category,
}

impl RankTable {
    /// Ranks the values of a table. `classes` is the number of classes, `None` for a numeric target.
    /// Columns with more than `max_codes` distinct numbers are cut into so many bins of equal
    /// size.
    ///
    /// ```
    /// use swarmwood_learn::data::{Chunk, Column};
    /// use swarmwood_learn::rank_table::RankTable;
    /// use swarmwood_model::{Feature, Kind};
    ///
    /// let columns = vec![Column::Number(vec![0.5, f64::NAN, -1.0, 0.5])];
    /// let chunk = Chunk { columns, target: vec![0.0, 1.0, 1.0, 0.0], rows: 4, ..Chunk::default() };
    /// let features = [Feature { name: "x".into(), kind: Kind::Number }];
    /// let table = RankTable::new(&chunk, &features, Some(2), 100);
    /// assert_eq!(table.columns()[0].codes(), [2, 0, 1, 2]);
    /// ```
    pub fn new(
        chunk: &Chunk,
        features: &[Feature],
        classes: Option<usize>,
        max_codes: usize,
    ) -> Self {
        RankTable::of_columns(
            chunk,
            classes,
            |most| {
                let columns = chunk.columns.iter().zip(features);
                columns.map(|(column, feature)| RankColumn::new(column, feature, most)).collect()
            },
            max_codes,
        )
    }

    /// Like [`RankTable::new`] on all threads. When the budget is interrupted, the remaining columns
    /// are left empty, as if every value were missing, so that no rule uses them.
    pub fn in_context(
        chunk: &Chunk,
        features: &[Feature],
        classes: Option<usize>,
        max_codes: usize,
        context: Context<'_>,
    ) -> Self {
        let ranks = |at: usize, most: usize| match context.budget.is_interrupted() {
            true => RankColumn {
                codes: vec![0; chunk.rows],
                max_code: 0,
                meaning: CodeMeaning::Number(Vec::new()),
            },
            false => RankColumn::new(&chunk.columns[at], &features[at], most),
        };
        let count = chunk.columns.len().min(features.len());
        RankTable::of_columns(
            chunk,
            classes,
            |most| context.pool.map(count, |at| ranks(at, most)),
            max_codes,
        )
    }

    fn of_columns(
        chunk: &Chunk,
        classes: Option<usize>,
        columns: impl Fn(usize) -> Vec<RankColumn>,
        max_codes: usize,
    ) -> Self {
        let columns = columns(max_codes.clamp(2, MAX_CODES));
        let target = match classes {
            Some(count) => RankTarget::Classes {
                of_row: chunk.target.iter().map(|&class| class as u16).collect(),
                count,
            },
            None => centred(&chunk.target, &chunk.weight),
        };
        let (weight, rows) = (chunk.weight.clone(), chunk.rows);
        RankTable { columns, target, weight, rows, constraints: Constraints::default() }
    }

    /// The columns, in the order of the schema.
    pub fn columns(&self) -> &[RankColumn] {
        &self.columns
    }

    /// The target.
    pub fn target(&self) -> &RankTarget {
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

    /// The levels of a category, sorted by the mean score of their rows; `score` is called with the
    /// position in `rows`. Levels without a row come last.
    pub fn levels_by_mean(
        &self,
        feature: u32,
        rows: &[u32],
        score: impl Fn(usize) -> f64,
    ) -> Vec<u16> {
        let column = &self.columns[feature as usize];
        let mut sums = vec![[0.0_f64; 2]; usize::from(column.max_code) + 1];
        for (at, &row) in rows.iter().enumerate() {
            let weight = self.weight(row);
            let sum = &mut sums[usize::from(column.codes[row as usize])];
            *sum = [sum[0] + weight, sum[1] + weight * score(at)];
        }
        let mean = |code: u16| match sums[usize::from(code)] {
            [weight, sum] if weight > 0.0 => sum / weight,
            _ => f64::INFINITY,
        };
        let mut order: Vec<u16> = (1..=column.max_code).collect();
        order.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)));
        order
    }

    /// The levels of a category, sorted by the mean target, or by the share of the first class.
    pub fn levels_by_target(&self, feature: u32, rows: &[u32]) -> Vec<u16> {
        match &self.target {
            RankTarget::Numbers { of_row, .. } => {
                self.levels_by_mean(feature, rows, |at| of_row[rows[at] as usize])
            }
            RankTarget::Classes { of_row, .. } => self.levels_by_mean(feature, rows, |at| {
                f64::from(u8::from(of_row[rows[at] as usize] == 0))
            }),
        }
    }

    /// A subset of the rows that keeps the codes of this table.
    #[must_use]
    pub fn subset(&self, rows: &[u32]) -> Self {
        fn pick<T: Copy>(of: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|&row| of[row as usize]).collect()
        }
        let columns = self
            .columns
            .iter()
            .map(|column| RankColumn { codes: pick(&column.codes, rows), ..column.without_rows() });
        let target = match &self.target {
            RankTarget::Classes { of_row, count } => {
                RankTarget::Classes { of_row: pick(of_row, rows), count: *count }
            }
            RankTarget::Numbers { of_row, centre } => {
                RankTarget::Numbers { of_row: pick(of_row, rows), centre: *centre }
            }
        };
        let weight = if self.weight.is_empty() { Vec::new() } else { pick(&self.weight, rows) };
        RankTable {
            columns: columns.collect(),
            target,
            weight,
            rows: rows.len(),
            constraints: self.constraints.clone(),
        }
    }

    /// The same rows with constraints on the tree; directions are for numbers and two classes.
    #[must_use]
    pub fn with_constraints(mut self, constraints: Constraints) -> Self {
        self.constraints = constraints;
        self
    }

    /// The same rows with codes that no threshold of the given splits lies within; `columns` are
    /// the values that the codes stand for.
    #[must_use]
    pub fn with_given_thresholds(mut self, columns: &[Column]) -> Self {
        let given = self.constraints.given_splits();
        for feature in given.features() {
            if let Column::Number(values) = &columns[feature] {
                let thresholds = given.thresholds(feature);
                let most = usize::from(self.columns[feature].max_code);
                self.columns[feature] = RankColumn::cut_at(values, most, &thresholds);
            }
        }
        self
    }

    /// The same rows with the values of some features alone; all others are missing, so that no
    /// rule uses them.
    #[must_use]
    pub fn with_features(mut self, kept: &[bool]) -> Self {
        for (column, _) in self.columns.iter_mut().zip(kept).filter(|(_, kept)| !**kept) {
            column.codes.fill(0);
            column.max_code = 0;
        }
        self
    }

    /// What a tree of the rows must satisfy.
    pub fn constraints(&self) -> &Constraints {
        &self.constraints
    }
}

impl RankColumn {
    fn new(column: &Column, feature: &Feature, max_codes: usize) -> Self {
        match (column, &feature.kind) {
            (Column::Number(values), _) => RankColumn::of_numbers(values, max_codes),
            (Column::Category(levels), Kind::Category { levels: names }) => {
                // A level beyond what two bytes can number counts as missing; readers refuse so
                // many levels long before.
                let max_code = names.len().min(MAX_CODES) as u16;
                let code =
                    |&level: &u32| if level < u32::from(max_code) { level as u16 + 1 } else { 0 };
                RankColumn {
                    codes: levels.iter().map(code).collect(),
                    max_code,
                    meaning: CodeMeaning::Category,
                }
            }
            _ => unreachable!("a reader gives every column the kind its schema says"),
        }
    }

    fn of_numbers(values: &[f64], max_codes: usize) -> Self {
        RankColumn::of_bounds(values, edges::bounds(values, max_codes))
    }

    fn of_bounds(values: &[f64], bounds: Vec<[f64; 2]>) -> Self {
        // Every number is at least the least one of some bin, so a code of 0 is left to NaN.
        let code = |&value: &f64| bounds.partition_point(|bound| bound[0] <= value) as u16;
        let codes = values.iter().map(code).collect();
        RankColumn { codes, max_code: bounds.len() as u16, meaning: CodeMeaning::Number(bounds) }
    }

    /// Like [`RankColumn::of_numbers`], with no code on both sides of a threshold.
    fn cut_at(values: &[f64], max_codes: usize, thresholds: &[f64]) -> Self {
        let most = max_codes.min(MAX_CODES - thresholds.len().min(MAX_CODES - 2)).max(2);
        let mut bounds = edges::bounds(values, most);
        for &threshold in thresholds {
            let cut = |bound: &[f64; 2]| bound[0] <= threshold && threshold < bound[1];
            let Some(at) = bounds.iter().position(cut) else { continue };
            let [least, greatest] = bounds[at];
            let inside = values.iter().filter(|&&value| value >= least && value <= greatest);
            let below = inside.clone().filter(|&&value| value <= threshold);
            let below = below.copied().fold(least, f64::max);
            let above = inside.filter(|&&value| value > threshold).copied();
            let above = above.fold(greatest, f64::min);
            bounds[at] = [least, below];
            bounds.insert(at + 1, [above, greatest]);
        }
        RankColumn::of_bounds(values, bounds)
    }

    /// The same column without rows.
    fn without_rows(&self) -> RankColumn {
        RankColumn { codes: Vec::new(), max_code: self.max_code, meaning: self.meaning.clone() }
    }

    /// One code per row; 0 is a missing value.
    pub fn codes(&self) -> &[u16] {
        &self.codes
    }

    /// The greatest code.
    pub fn max_code(&self) -> u16 {
        self.max_code
    }

    /// Whether the column holds levels of a category.
    pub fn is_category(&self) -> bool {
        matches!(self.meaning, CodeMeaning::Category)
    }

    /// Whether a finite threshold can lie above all values.
    pub fn is_bounded(&self) -> bool {
        match &self.meaning {
            CodeMeaning::Number(bounds) => bounds.last().is_none_or(|last| last[1] < f64::INFINITY),
            CodeMeaning::Category => true,
        }
    }

    /// The greatest code of a numeric column whose values all lie at or below a threshold; 0 if
    /// there is none.
    pub fn code_at_threshold(&self, threshold: f64) -> u16 {
        match &self.meaning {
            CodeMeaning::Number(bounds) => {
                bounds.partition_point(|bound| bound[1] <= threshold) as u16
            }
            CodeMeaning::Category => 0,
        }
    }

    /// Whether a threshold separates values that share one code, so that no rule over codes is
    /// equivalent to it.
    pub fn is_within_code(&self, threshold: f64) -> bool {
        let CodeMeaning::Number(bounds) = &self.meaning else { return false };
        bounds
            .get(usize::from(self.code_at_threshold(threshold)))
            .is_some_and(|bound| bound[0] <= threshold)
    }

    /// The least and the greatest finite value of a numeric column; `None` if it has none.
    pub fn finite_range(&self) -> Option<[f64; 2]> {
        let CodeMeaning::Number(bounds) = &self.meaning else { return None };
        let mut finite = bounds.iter().flatten().copied().filter(|value| value.is_finite());
        let low = finite.next()?;
        Some([low, finite.next_back().unwrap_or(low)])
    }

    /// The threshold between two codes of a numeric column, given that the rows of a node have no
    /// code in between, and the greatest code below that threshold.
    pub fn threshold_between(&self, low: u16, high: u16) -> (f64, u16) {
        let CodeMeaning::Number(bounds) = &self.meaning else {
            unreachable!("categories have no thresholds")
        };
        if high > self.max_code {
            return (f64::MAX, self.max_code);
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

fn centred(values: &[f64], weight: &[f64]) -> RankTarget {
    let weight_of = |row: usize| weight.get(row).copied().unwrap_or(1.0);
    let (mut sum, mut total) = (0.0, 0.0);
    for (row, value) in values.iter().enumerate() {
        sum += weight_of(row) * value;
        total += weight_of(row);
    }
    let centre = if total > 0.0 { sum / total } else { 0.0 };
    RankTarget::Numbers { of_row: values.iter().map(|value| value - centre).collect(), centre }
}
