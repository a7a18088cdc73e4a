//! What a model remembers of its training rows: how many reached each leaf, by class, and how the
//! values of its features were distributed.

use std::collections::BTreeSet;

use swarmwood_learn::data::{Column, MISSING};
use swarmwood_model::{Body, Distribution, LeafRows, Model, TargetKind, TrainingStats};

use super::job::Job;
use crate::Result;
use crate::predict::Scorer;
use crate::read::SAMPLE_ROWS;

/// Larger models are not counted: the counts are for readers of the model, and nobody reads so many
/// leaves.
pub(super) const MOST_COUNTS: usize = 4096;

/// Bins of a number.
const BINS: usize = 10;

/// Categories with more levels have no counts.
const MOST_LEVELS: usize = 200;

/// Features of a linear model whose distributions are stored, at most.
const MOST_LINEAR: usize = 200;

/// Stores the counts of the training rows with the model.
pub(super) fn store(job: &Job<'_>, model: &mut Model) -> Result<()> {
    let leaf_rows = leaf_rows(job, model)?;
    let distributions = distributions(job, model);
    model.provenance.stats = TrainingStats { leaf_rows, distributions };
    Ok(())
}

/// The rows of every leaf; none if there are too many leaves, or more rows than the sample has that
/// bins are made from: these may be on a cluster, and files would be read once more.
fn leaf_rows(job: &Job<'_>, model: &Model) -> Result<Vec<LeafRows>> {
    if job.rows.rows > SAMPLE_ROWS {
        return Ok(Vec::new());
    }
    let width = model.schema.target.kind.classes().len().max(1);
    let leaves: Vec<usize> =
        model.members().iter().map(|member| member.shape.leaves().len()).collect();
    if leaves.iter().sum::<usize>().saturating_mul(width) > MOST_COUNTS {
        return Ok(Vec::new());
    }

    let is_class = matches!(model.schema.target.kind, TargetKind::Classes(_));
    let mut counts: Vec<LeafRows> =
        leaves.iter().map(|leaves| LeafRows { counts: vec![0; leaves * width] }).collect();
    let scorer = Scorer::new(model, None, job.params.threads)?;
    job.rows.for_each_chunk(&mut |chunk| {
        let found = scorer.leaves(chunk)?;
        for (row, leaves) in found.chunks(counts.len().max(1)).enumerate().take(chunk.rows) {
            let class = if is_class { chunk.target[row] as usize } else { 0 };
            for (tree, &leaf) in counts.iter_mut().zip(leaves) {
                tree.counts[leaf as usize * width + class] += 1;
            }
        }
        Ok(())
    })?;
    Ok(counts)
}

/// The distributions of the features that the model uses, from the rows that bins are made from.
fn distributions(job: &Job<'_>, model: &Model) -> Vec<Distribution> {
    let splits = model.members().iter().flat_map(|member| member.shape.splits());
    let linear = match &model.body {
        Body::Linear(_) => model.schema.features.len(),
        Body::Trees(_) => 0,
    };
    let linear = (0..linear as u32).take(MOST_LINEAR);
    let used: BTreeSet<u32> = splits.map(|split| split.feature).chain(linear).collect();
    let distribution = |feature: u32| {
        let levels = model.schema.features[feature as usize].kind.levels().len();
        match job.rows.sample_column(feature as usize)? {
            Column::Number(values) => Some(of_numbers(feature, values)),
            Column::Category(codes) if levels <= MOST_LEVELS => {
                Some(of_codes(feature, &codes, levels))
            }
            Column::Category(_) => None,
        }
    };
    used.into_iter().filter_map(distribution).collect()
}

/// Bins between quantiles, as far as they differ.
fn of_numbers(feature: u32, values: Vec<f64>) -> Distribution {
    let rows = values.len();
    let mut sorted: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let quantiles = (1..BINS).filter_map(|bin| sorted.get(bin * last / BINS).copied());
    let greatest = sorted.last().copied().unwrap_or(0.0);

    // A bin above the greatest value would be empty.
    let inner = quantiles.filter(|edge| edge.is_finite() && *edge < greatest);
    // Both zeros are the same edge, whichever the source has.
    let mut edges: Vec<f64> = inner.map(|edge| edge + 0.0).collect();
    edges.dedup();
    let mut found = Distribution { feature, counts: vec![0; edges.len() + 1], edges, missing: 0 };
    found.missing = (rows - sorted.len()) as u64;
    for value in sorted {
        let bin = found.bin(value);
        found.counts[bin] += 1;
    }
    found
}

fn of_codes(feature: u32, codes: &[u32], levels: usize) -> Distribution {
    let mut found =
        Distribution { feature, edges: Vec::new(), counts: vec![0; levels], missing: 0 };
    for &code in codes {
        match found.counts.get_mut(code as usize) {
            Some(count) if code != MISSING => *count += 1,
            _ => found.missing += 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_numbers_have_equal_shares_and_count_missing_values() {
        let values = (0..1000).map(|value| f64::from(value % 500)).chain([f64::NAN; 3]).collect();
        let found = of_numbers(2, values);
        assert_eq!((found.feature, found.missing, found.edges.len()), (2, 3, 9));
        assert_eq!(found.counts.iter().sum::<u64>(), 1000);
        assert!(found.counts.iter().all(|count| (98..=102).contains(count)), "{found:?}");
    }

    #[test]
    fn flags_have_two_bins_and_constants_one() {
        let flags = of_numbers(0, [0.0, 1.0, 0.0, 1.0].to_vec());
        assert_eq!((flags.edges, flags.counts), (vec![0.0], vec![2, 2]));
        let constant = of_numbers(0, vec![f64::INFINITY; 4]);
        assert_eq!((constant.edges, constant.counts), (vec![], vec![4]));
        let zeros = of_numbers(0, vec![-0.0, -0.0, 0.0, 1.0]);
        assert!(zeros.edges.iter().all(|edge| edge.is_sign_positive()), "{zeros:?}");
        let nothing = of_numbers(0, vec![f64::NAN]);
        assert_eq!((nothing.edges, nothing.counts, nothing.missing), (vec![], vec![0], 1));
        let codes = of_codes(1, &[0, 2, MISSING, 0], 3);
        assert_eq!((codes.counts, codes.missing), (vec![2, 0, 1], 1));
    }
}
