//! Rows that live in other processes: here are their schema, targets and weights, and the sample that
//! bins are made from.

use std::fmt::Debug;
use std::sync::Arc;

use swarmwood_learn::bins::Layout;
use swarmwood_learn::data::Chunk;
use swarmwood_learn::stats::{HostTransport, RowDeal, RowPiece, encode_rows};
use swarmwood_model::{Feature, Kind, Schema, Target, TargetKind};

use super::borrowed::{BorrowedTable, Columns, Field, levels_of};
use super::rows::Rows;
use super::sample::{is_sampled, threshold};
use super::{SAMPLE_ROWS, borrowed};
use crate::error::DataError;
use crate::{Error, Result};

/// Processes that hold rows: they bin them, and answer messages of fits.
pub trait RowCluster: HostTransport + Debug + Send + Sync {
    /// How many hosts there are at most.
    fn hosts(&self) -> usize;

    /// Bins all rows with a layout, and hands them to the hosts of their shards. Returns the columns
    /// whose features turned out not to be exclusive; if there are any, the rows are not loaded.
    fn load(&self, plan: &ClusterPlan<'_>) -> Result<Vec<usize>>;
}

/// How rows are binned and dealt out.
#[derive(Debug, Clone, Copy)]
pub struct ClusterPlan<'a> {
    /// How values are binned.
    pub layout: &'a Layout,
    /// Features and levels.
    pub schema: &'a Schema,
    /// How many rows there are.
    pub rows: usize,
    /// The caller's row at each place, where they are not as the caller has them.
    pub order: Option<&'a [usize]>,
}

/// What is known of the rows of a cluster, beside their sample.
#[derive(Debug, Clone)]
pub struct ClusterFacts {
    /// The targets of all rows.
    pub target: Vec<f64>,
    /// The weights of all rows; empty if every row weighs one.
    pub weight: Vec<f64>,
    /// The texts that occur in each column of categories; `None` for numbers.
    pub texts: Vec<Option<Vec<String>>>,
}

/// The places of the sample that bins are made from, among so many rows; `None` if it is all of them.
pub fn sample_places(rows: usize) -> Option<Vec<usize>> {
    let threshold = threshold(rows as u64, SAMPLE_ROWS);
    let sampled = |row: &usize| is_sampled(*row as u64, threshold);
    (rows > SAMPLE_ROWS).then(|| (0..rows).filter(sampled).collect())
}

/// The texts that occur in each column of categories of a table, without those that mean a missing
/// value; `None` for numbers.
pub fn occurring_texts(columns: &dyn Columns) -> Result<Vec<Option<Vec<String>>>> {
    let of_field = |(at, field): (usize, &Field)| {
        let levels = field.texts.as_ref().map(|texts| levels_of(columns, at, texts, &field.name));
        Ok(levels.transpose()?.map(|(levels, _)| levels))
    };
    columns.fields().iter().enumerate().map(of_field).collect()
}

/// The rows of a cluster for training, all of which are in the table as well: there are no more of
/// them than the sample has.
pub fn clustered_whole(
    columns: Arc<dyn Columns>,
    target: Target,
    cluster: Arc<dyn RowCluster>,
) -> Result<Rows> {
    Ok(borrowed(columns, target)?.on_cluster(cluster))
}

/// The rows of a cluster for training; the table holds the sample of [`sample_places`].
pub fn clustered(
    columns: Arc<dyn Columns>,
    target: Target,
    facts: ClusterFacts,
    cluster: Arc<dyn RowCluster>,
) -> Result<Rows> {
    let rows = facts.target.len();
    let expected = sample_places(rows).map_or(rows, |places| places.len());
    if columns.rows() != expected || (facts.weight.len() != rows && !facts.weight.is_empty()) {
        let message = format!("{} rows of a sample of {expected}, of {rows}", columns.rows());
        return Err(Error::Run(message));
    }
    check_targets(&facts.target, &target)?;
    let schema = schema_of(columns.fields(), facts.texts, target);
    let (sample, warnings) = BorrowedTable::following(columns, &schema, true)?;
    let rows = Rows::held_elsewhere(schema, sample, (facts.target, facts.weight), warnings);
    Ok(rows.on_cluster(cluster))
}

fn schema_of(fields: &[Field], texts: Vec<Option<Vec<String>>>, target: Target) -> Schema {
    let feature = |(field, texts): (&Field, Option<Vec<String>>)| {
        let kind = match texts {
            Some(mut levels) => {
                levels.sort();
                levels.dedup();
                Kind::Category { levels }
            }
            None => Kind::Number,
        };
        Feature { name: field.name.clone(), kind }
    };
    // Dates are not expanded on a cluster; a column of dates is refused.
    let features = fields.iter().zip(texts).map(feature).collect();
    Schema { features, target, dates: Vec::new() }
}

fn check_targets(values: &[f64], target: &Target) -> Result<()> {
    let fits = |value: &f64| match &target.kind {
        TargetKind::Number | TargetKind::Numbers(_) => value.is_finite(),
        TargetKind::Classes(names) => {
            value.fract() == 0.0 && (0.0..names.len() as f64).contains(value)
        }
    };
    match values.iter().position(|value| !fits(value)) {
        None => Ok(()),
        Some(row) => Err(Error::Data(Box::new(DataError {
            file: "the data".to_string(),
            column: Some(target.name.clone()),
            row: Some(row as u64 + 1),
            message: format!("the target is {}", values[row]).into(),
            help: "targets must be finite numbers, or numbers of classes".into(),
            ..DataError::default()
        }))),
    }
}

/// Bins the rows of a table with the layout and the levels of a plan, and parts them by host. The
/// inner error is the columns whose features are not exclusive.
pub fn encode_part(
    columns: Arc<dyn Columns>,
    (layout, texts): (&Layout, Vec<Option<Vec<String>>>),
    deal: RowDeal<'_>,
    rows: usize,
    hosts: &[std::ops::Range<usize>],
) -> Result<std::result::Result<Vec<RowPiece>, Vec<usize>>> {
    let target = Target { name: String::new(), kind: TargetKind::Number };
    let fits = texts.len() == columns.fields().len()
        && layout.sources().iter().all(|&source| (source as usize) < texts.len());
    if !fits {
        return Err(Error::Run("the columns of a part are not those of the plan".to_string()));
    }
    let schema = schema_of(columns.fields(), texts, target);
    let (table, _) = BorrowedTable::following(columns, &schema, false)?;
    let mut all: Option<Chunk> = None;
    table.for_each_chunk(&mut |chunk| {
        match &mut all {
            None => all = Some(chunk.clone()),
            Some(all) => all.append(chunk),
        }
        Ok(())
    })?;
    let empty = || Chunk { columns: table.empty_columns(), ..Chunk::default() };
    Ok(encode_rows(layout, &all.unwrap_or_else(empty), deal, rows, hosts))
}
