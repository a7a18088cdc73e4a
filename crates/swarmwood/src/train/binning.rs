//! Rows into binned shards, without ever holding more than one chunk of raw values beside the bins.

use std::sync::Arc;

use swarmwood_learn::bins::Layout;
use swarmwood_learn::bins::layout::Conflict;
use swarmwood_learn::data::Column;
use swarmwood_learn::dataset::{Dataset, DatasetBuilder};

use super::Job;
use crate::Result;
use crate::read::Rows;

/// What binning ends with, or the bundle that must be taken apart first.
type BinningResult<T> = std::result::Result<T, Conflict>;

/// The training and the validation rows, binned alike.
pub fn bin(job: &Job<'_>) -> Result<(Dataset, Option<Dataset>)> {
    fit(job).settle(|layout| bin_with(job, layout))
}

/// The training rows alone, in bins of their own or in given ones.
pub fn training(job: &Job<'_>, layout: Option<Layout>) -> Result<Dataset> {
    layout.unwrap_or_else(|| fit(job)).settle(|layout| build(job, job.rows, layout))
}

fn fit(job: &Job<'_>) -> Layout {
    let none = || Column::Number(Vec::new());
    let sample = |feature: usize| job.rows.sample_column(feature).unwrap_or_else(none);
    Layout::fit(sample, &job.rows.schema.features, job.params.max_bin, job.pool)
}

fn bin_with(
    job: &Job<'_>,
    layout: &Arc<Layout>,
) -> Result<BinningResult<(Dataset, Option<Dataset>)>> {
    let training = match build(job, job.rows, layout)? {
        Ok(training) => training,
        Err(conflict) => return Ok(Err(conflict)),
    };
    let Some(valid) = job.valid else { return Ok(Ok((training, None))) };
    Ok(build(job, valid, layout)?.map(|valid| (training, Some(valid))))
}

fn build(job: &Job<'_>, rows: &Rows, layout: &Arc<Layout>) -> Result<BinningResult<Dataset>> {
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
