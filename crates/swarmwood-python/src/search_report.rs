//! What a search chose, and why, as a dictionary.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use swarmwood::learn::ensemble::{CrossValidatedMetric, EnsembleSearchReport};
use swarmwood::train::{TrainResult, TreeReport};

/// The report of the search of a run; `None` if there was none.
pub fn search_report<'py>(
    py: Python<'py>,
    trained: &TrainResult,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    match (&trained.search, &trained.tree) {
        (Some(search), _) => Ok(Some(ensemble_report(py, search)?)),
        (None, Some(tree)) if !tree.candidates.is_empty() => Ok(Some(tree_report(py, tree)?)),
        _ => Ok(None),
    }
}

fn ensemble_report<'py>(
    py: Python<'py>,
    search: &EnsembleSearchReport,
) -> PyResult<Bound<'py, PyDict>> {
    let report = PyDict::new(py);
    report.set_item("selected", &search.chosen)?;
    report.set_item("selected_by_search", search.searched)?;
    report.set_item("finished", search.finished)?;
    report.set_item("metric", "cross-validated loss")?;
    report.set_item("gain_over_greedy", search.gain)?;
    report.set_item("trees", search.shape.trees)?;
    report.set_item("max_leaves", search.shape.max_leaves)?;
    report.set_item("trees_grown", search.work)?;
    let mut candidates = Vec::with_capacity(search.candidates.len());
    for one in &search.candidates {
        let candidate = PyDict::new(py);
        candidate.set_item("name", &one.name)?;
        candidate.set_item("score", one.score)?;
        candidate.set_item("standard_error", one.deviation)?;
        candidate.set_item("folds", one.folds)?;
        candidates.push(candidate);
    }
    report.set_item("candidates", candidates)?;
    let expected = PyDict::new(py);
    expected.set_item("folds", search.expected.folds)?;
    expected.set_item("selected", metrics(py, &search.expected.chosen)?)?;
    expected.set_item("greedy", metrics(py, &search.expected.greedy)?)?;
    expected.set_item("constant", metrics(py, &search.expected.constant)?)?;
    report.set_item("expected", expected)?;
    Ok(report)
}

/// Metrics by name, each with its mean and its standard error.
fn metrics<'py>(py: Python<'py>, metrics: &[CrossValidatedMetric]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    for metric in metrics {
        table.set_item(metric.name, (metric.mean, metric.standard_error))?;
    }
    Ok(table)
}

fn tree_report<'py>(py: Python<'py>, tree: &TreeReport) -> PyResult<Bound<'py, PyDict>> {
    let report = PyDict::new(py);
    let name = |searched: bool, leaves: usize| {
        format!("{} with {leaves} leaves", if searched { "search" } else { "cart" })
    };
    report.set_item("selected", name(tree.searched, tree.leaves))?;
    report.set_item("selected_by_search", tree.searched)?;
    report.set_item("finished", true)?;
    report.set_item("metric", "cross-validated error")?;
    let mut candidates = Vec::with_capacity(tree.candidates.len());
    for one in &tree.candidates {
        let candidate = PyDict::new(py);
        candidate.set_item("name", name(one.searched, one.leaves))?;
        candidate.set_item("score", one.error)?;
        candidate.set_item("standard_error", one.deviation)?;
        candidates.push(candidate);
    }
    report.set_item("candidates", candidates)?;
    Ok(report)
}
