//! Training rows in which every distinct number has a code of its own, as wide as their count
//! needs: what SGBDT chooses rules from.
//!
//! The values are collected in a pass over the rows, so that no more is held than the distinct ones
//! and a chunk. Both the number of rules and the memory of wide codes are limited.

use swarmwood_learn::bins::Layout;
use swarmwood_learn::bins::distinct::DistinctValues;
use swarmwood_learn::data::Column;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::pool::Pool;
use swarmwood_learn::rule::Code;

use super::{Job, binning};
use crate::error::Violation;
use crate::message::Message;
use crate::params::Method;
use crate::read::Rows;
use crate::{Error, Result};

/// The most distinct values of all features together; a rule takes about a hundred bytes.
const MOST_RULES: usize = 1 << 23;

/// Wide codes may take this much memory.
const MOST_BYTES: usize = 4 << 30;

/// Binned rows with codes of one of three widths.
pub(super) enum DistinctRows {
    OneByte(Dataset),
    TwoBytes(Dataset<u16>),
    FourBytes(Dataset<u32>),
}

/// Bins the training rows; also the number of distinct values of all features together, missing
/// ones not counted: the length of the paper's index table (table 11).
pub(super) fn bin(job: &Job<'_>) -> Result<(DistinctRows, u64)> {
    let Some(distinct) = collect(job.rows, MOST_RULES, job.pool)? else {
        return Err(refuse(job, format!("there are more than {MOST_RULES} of them")));
    };
    let none = || Column::Number(Vec::new());
    let sample = |feature: usize| job.rows.sample_column(feature).unwrap_or_else(none);
    let layout = Layout::fit_distinct(sample, &job.rows.schema.features, &distinct, job.pool);
    let values = distinct.iter().map(|values| values.len() as u64).sum();
    drop(distinct);

    let rows = match layout.codes() {
        0..=0x100 => DistinctRows::OneByte(build(job, layout)?),
        0x101..=0x1_0000 => DistinctRows::TwoBytes(build(job, layout)?),
        _ => DistinctRows::FourBytes(build(job, layout)?),
    };
    Ok((rows, values))
}

/// The distinct values of every feature; `None` if there are more than `most` of them in all.
fn collect(rows: &Rows, most: usize, pool: &Pool) -> Result<Option<Vec<DistinctValues>>> {
    let mut distinct = vec![DistinctValues::default(); rows.schema.features.len()];
    let mut is_too_many = false;
    rows.for_each_chunk(&mut |chunk| {
        if !is_too_many {
            pool.each(&mut distinct, |at, values| values.extend(&chunk.columns[at]));
            is_too_many = distinct.iter().map(DistinctValues::len).sum::<usize>() > most;
        }
        Ok(())
    })?;
    Ok((!is_too_many).then_some(distinct))
}

fn build<C: Code>(job: &Job<'_>, layout: Layout) -> Result<Dataset<C>> {
    let bytes = layout.columns().len().saturating_mul(job.rows.rows) * size_of::<C>();
    if size_of::<C>() > 1 && bytes > MOST_BYTES {
        let reason = format!("their codes need {} GB for {} rows", bytes >> 30, job.rows.rows);
        return Err(refuse(job, reason));
    }
    layout.settle(|layout| binning::build(job, job.rows, layout))
}

fn refuse(job: &Job<'_>, reason: String) -> Error {
    let (name, value, instead) = if job.params.method == Method::POLICY_GRADIENT {
        ("rule_table", "distinct", "bins")
    } else {
        ("method", "sgbdt", "sgbdt-bins")
    };
    let message =
        format!("is {value} (every distinct value of a feature is a rule), but {reason}; use ");
    let message = Message::from(message).setting(name, instead);
    Error::Parameters(vec![Violation::new(name, message)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{self, ReadOptions, Source};

    #[test]
    fn values_are_counted_once_and_missing_ones_not_at_all() {
        let csv = b"a,b,c,y\n1,x,0,1\n2,y,-0.0,2\n1,,,3\n2.5,x,7,4\n";
        let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
        let rows = read::training(&Source::Bytes("t.csv".into(), csv), &options).unwrap();
        let pool = Pool::new(2).unwrap();
        let distinct = collect(&rows, 7, &pool).unwrap().expect("seven are not too many");
        assert_eq!(distinct.iter().map(DistinctValues::len).collect::<Vec<_>>(), [3, 2, 2]);
        assert_eq!(
            distinct.iter().map(DistinctValues::has_missing).collect::<Vec<_>>(),
            [false, true, true]
        );
        assert!(collect(&rows, 6, &pool).unwrap().is_none());
    }
}
