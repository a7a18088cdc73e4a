//! The training rows of a sum of trees: coarse codes for scans, standardised targets, weights of
//! mean one.

use crate::rank_table::{RankColumn, RankTable, RankTarget};

/// Candidate thresholds near both ends of a column, by the number of rows beyond them: quantiles
/// alone cannot set few extreme rows apart.
const TAIL_ROWS: [usize; 6] = [5, 7, 10, 14, 20, 28];

/// The rows that a sum of trees is fitted to.
pub(super) struct SumRows<'a> {
    /// The rows by rank, which rules refer to.
    pub(super) table: &'a RankTable,
    /// The columns as scans read them.
    pub(super) columns: Vec<CoarseRanks>,
    /// The target of each row, output by output.
    pub(super) targets: Vec<Vec<f64>>,
    /// Weights of mean one.
    pub(super) weight: Vec<f64>,
    /// Whether there are two classes, so that the loss is the log loss.
    pub(super) is_logistic: bool,
    /// What targets were divided by.
    pub(super) scale: f64,
}

/// A column with few codes.
pub(super) struct CoarseRanks {
    /// One code per row; 0 is a missing value.
    pub(super) codes: Vec<u16>,
    /// The greatest rank of each code, from code 1 on.
    pub(super) last_rank: Vec<u16>,
    /// Whether the codes are levels of a category, which are ranks.
    pub(super) is_category: bool,
    /// Whether a rule can part missing values from all others.
    pub(super) parts_missing: bool,
}

impl<'a> SumRows<'a> {
    /// The rows of a table, whose numbers are cut into about `bins` bins each.
    pub(super) fn new(table: &'a RankTable, bins: usize) -> Self {
        let rows = table.rows();
        let mean_weight = table.total_weight() / rows.max(1) as f64;
        let scale = if mean_weight > 0.0 { 1.0 / mean_weight } else { 1.0 };
        let weight: Vec<f64> = (0..rows as u32).map(|row| table.weight(row) * scale).collect();
        let (targets, is_logistic, scale) = match table.target() {
            RankTarget::Numbers { of_row, .. } => {
                let squares = of_row.iter().zip(&weight).map(|(y, w)| w * y * y).sum::<f64>();
                let deviation = (squares / rows.max(1) as f64).sqrt();
                let scale = if deviation > 0.0 { deviation } else { 1.0 };
                (vec![of_row.iter().map(|y| y / scale).collect()], false, scale)
            }
            RankTarget::Classes { of_row, count } => {
                let is = |class: usize| {
                    let one = |&of_row: &u16| f64::from(u8::from(usize::from(of_row) == class));
                    of_row.iter().map(one).collect::<Vec<f64>>()
                };
                match count {
                    0..=2 => (vec![is(1)], true, 1.0),
                    _ => ((0..*count).map(is).collect(), false, 1.0),
                }
            }
        };
        let columns = table.columns().iter().map(|column| CoarseRanks::new(column, bins)).collect();
        SumRows { table, columns, targets, weight, is_logistic, scale }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.weight.len()
    }

    /// Number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.targets.len()
    }
}

impl CoarseRanks {
    fn new(column: &RankColumn, bins: usize) -> Self {
        let ranks = usize::from(column.max_code());
        let mut counts = vec![0_usize; ranks + 1];
        column.codes().iter().for_each(|&rank| counts[usize::from(rank)] += 1);

        let has_missing = counts[0] > 0;
        let parts_missing = has_missing && column.is_bounded();
        if column.is_category() || ranks <= bins {
            let last_rank = (1..=column.max_code()).collect();
            return CoarseRanks {
                codes: column.codes().to_vec(),
                last_rank,
                is_category: column.is_category(),
                parts_missing,
            };
        }

        let last_rank = bin_ends(&counts[1..], bins);
        let mut of_rank = vec![0_u16; ranks + 1];
        let mut code = 1;
        for (rank, of_rank) in of_rank.iter_mut().enumerate().skip(1) {
            *of_rank = code;
            if usize::from(last_rank[usize::from(code) - 1]) == rank {
                code += 1;
            }
        }
        let codes = column.codes().iter().map(|&rank| of_rank[usize::from(rank)]).collect();
        CoarseRanks { codes, last_rank, is_category: false, parts_missing }
    }

    /// The greatest code.
    pub(super) fn max_code(&self) -> usize {
        self.last_rank.len()
    }
}

/// The last rank of each bin: quantiles of the rows, and thresholds near both ends. `counts` are
/// those of the ranks from 1 on.
fn bin_ends(counts: &[usize], bins: usize) -> Vec<u16> {
    let total: usize = counts.iter().sum();
    let mut wanted: Vec<usize> = (1..bins).map(|bin| bin * total / bins).collect();
    let tails = TAIL_ROWS.into_iter().filter(|&rows| 2 * rows < total);
    wanted.extend(tails.flat_map(|rows| [rows, total - rows]));
    wanted.sort_unstable();

    let mut ends: Vec<u16> = Vec::new();
    let (mut rank, mut below) = (0, 0);
    for wanted in wanted {
        // The boundary between two values that is nearest to the wanted number of rows.
        while rank < counts.len() && below + counts[rank] <= wanted {
            below += counts[rank];
            rank += 1;
        }
        let above = below + counts.get(rank).copied().unwrap_or(0);
        let end = if wanted - below <= above - wanted { rank } else { rank + 1 };
        let is_inside = end > 0 && end < counts.len();
        if is_inside && ends.last().is_none_or(|&last| usize::from(last) < end) {
            ends.push(end as u16);
        }
    }
    ends.push(counts.len() as u16);
    ends
}
