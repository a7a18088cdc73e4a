//! Rows into binned shards, without ever holding more than one chunk of raw values beside the bins.

use std::sync::Arc;

use swarmwood_learn::bins::Layout;
use swarmwood_learn::bins::edges::MOST_VALUES;
use swarmwood_learn::bins::layout::{Conflict, TooManyValues};
use swarmwood_learn::data::Column;
use swarmwood_learn::dataset::{Dataset, DatasetBuilder};
use swarmwood_learn::rule::Code;

use super::{Job, cluster, gather};
use crate::error::Violation;
use crate::message::Message;
use crate::read::Rows;
use crate::{Error, Result};

/// The codes of exact bins may take this much memory.
const MOST_BYTES: usize = 4 << 30;

/// What binning ends with, or the bundle that must be taken apart first.
pub(super) type BinningResult<T> = std::result::Result<T, Conflict>;

/// The training and the validation rows, binned alike.
pub fn bin(job: &Job<'_>) -> Result<(Dataset, Option<Dataset>)> {
    let sets = bin_all(job, &[])?;
    Ok((sets.training, sets.valid))
}

/// Sets of rows that are binned alike.
pub struct BinnedSets {
    pub training: Dataset,
    pub valid: Option<Dataset>,
    pub watched: Vec<Dataset>,
}

/// The training rows, the validation rows and others, binned alike.
pub fn bin_all(job: &Job<'_>, watched: &[Arc<Rows>]) -> Result<BinnedSets> {
    let Some(cluster) = job.rows.cluster() else {
        return fit(job)?.settle(|layout| bin_with(job, watched, layout));
    };

    // The rows that are only scored are here; those of the cluster may take more bundles apart.
    let scored: Vec<&Rows> =
        job.valid.into_iter().chain(watched.iter().map(|rows| &**rows)).collect();
    let build_scored = |layout: &Arc<Layout>| -> Result<BinningResult<Vec<Dataset>>> {
        scored.iter().map(|rows| build(job, rows, layout)).collect()
    };
    let (layout, _) = fit(job)?.settle(|layout| {
        Ok::<_, Error>(build_scored(layout)?.map(|sets| (layout.clone(), sets)))
    })?;
    let training = cluster::load(job, cluster, layout)?;
    let mut sets = build_scored(&training.layout)?
        .map_err(|_| Error::Run("rows that fitted their bins no longer do".to_string()))?;
    let watched = sets.split_off(usize::from(job.valid.is_some()));
    Ok(BinnedSets { training, valid: sets.pop(), watched })
}

/// The training rows alone, in bins of their own or in given ones.
pub fn training(job: &Job<'_>, layout: Option<Layout>) -> Result<Dataset> {
    let layout = match layout {
        Some(layout) => layout,
        None => fit(job)?,
    };
    match job.rows.cluster() {
        None => layout.settle(|layout| build(job, job.rows, layout)),
        Some(cluster) => cluster::load(job, cluster, Arc::new(layout)),
    }
}

fn fit(job: &Job<'_>) -> Result<Layout> {
    let layout = if job.params.max_bin == 0 {
        fit_exact(job)?
    } else {
        let none = || Column::Number(Vec::new());
        let sample = |feature: usize| job.rows.sample_column(feature).unwrap_or_else(none);
        Layout::fit(sample, &job.rows.schema.features, job.params.max_bin, job.pool)
    };
    let given = job.constraints.given_splits();
    if given.is_empty() {
        return Ok(layout);
    }

    let layout = layout.with_given_splits(given);
    match layout.unsayable_split(given) {
        None => Ok(layout),
        Some(feature) => {
            let name = &job.rows.schema.features[feature].name;
            let message = format!(
                "separates values of '{name}' that share a bin: it has too many thresholds or rare \
                 levels; use fewer of them, or method cart"
            );
            Err(Error::Parameters(vec![Violation::new("first_split", message)]))
        }
    }
}

/// Bins that tell all values apart.
fn fit_exact(job: &Job<'_>) -> Result<Layout> {
    let features = &job.rows.schema.features;
    let chunk = gather(job.rows)?;
    let layout = Layout::fit_exact(|at| chunk.columns[at].clone(), features, job.pool);
    let layout = layout.map_err(|TooManyValues { feature }| {
        let name = &features[feature as usize].name;
        let message = format!(
            "is 0 (every value is a candidate threshold), but column '{name}' has more than \
             {MOST_VALUES} distinct values; use "
        );
        too_large(Message::from(message).setting("max_bin", 255))
    })?;

    // Codes are stored twice, by column and by row.
    let bytes = 2 * layout.columns().len().saturating_mul(chunk.rows);
    if bytes > MOST_BYTES {
        let message = format!(
            "is 0 (every value is a candidate threshold), which needs {} GB for {} rows; use ",
            bytes >> 30,
            chunk.rows
        );
        return Err(too_large(Message::from(message).setting("max_bin", 255)));
    }
    Ok(layout)
}

fn too_large(message: Message) -> Error {
    Error::Parameters(vec![Violation::new("max_bin", message)])
}

fn bin_with(
    job: &Job<'_>,
    watched: &[Arc<Rows>],
    layout: &Arc<Layout>,
) -> Result<BinningResult<BinnedSets>> {
    let all = [job.rows].into_iter().chain(job.valid).chain(watched.iter().map(|rows| &**rows));
    let mut sets = Vec::new();
    for rows in all {
        match build(job, rows, layout)? {
            Ok(set) => sets.push(set),
            Err(conflict) => return Ok(Err(conflict)),
        }
    }
    let watched = sets.split_off(1 + usize::from(job.valid.is_some()));
    let valid = sets.split_off(1).pop();
    let Some(training) = sets.pop() else { return Err(Error::Run("no rows".to_string())) };
    Ok(Ok(BinnedSets { training, valid, watched }))
}

/// Bins rows with a layout that they need not fit yet.
pub(super) fn build<C: Code>(
    job: &Job<'_>,
    rows: &Rows,
    layout: &Arc<Layout>,
) -> Result<BinningResult<Dataset<C>>> {
    let mut builder = DatasetBuilder::new(layout.clone(), rows.rows);
    let mut conflict = None;
    rows.for_each_chunk(&mut |chunk| {
        if conflict.is_none() {
            conflict = builder.push(chunk, job.pool).err();
        }
        Ok(())
    })?;
    Ok(match conflict {
        Some(conflict) => Err(conflict),
        None => Ok(builder.finish(job.pool)),
    })
}
