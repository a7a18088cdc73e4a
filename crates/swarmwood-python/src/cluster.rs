//! Rows in other processes: the driver's calls of Python, and what workers call.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};
use swarmwood::learn::stats::{
    self, HostTransport, RemoteBackends, RowDeal, RowPiece, TransportError,
};
use swarmwood::model::{Feature, Kind, Target};
use swarmwood::read::{self, ClusterFacts, ClusterPlan, RowCluster, RowSelection, Rows};
use swarmwood::{Error, Result};

use crate::buffer;
use crate::errors::{SwarmwoodError, guarded, python_error};
use crate::signals::SignalMonitor;
use crate::table::{ColumnTable, PyTable};

/// A cluster behind a Python object with the methods `load`, `exchange` and `rebuild`.
pub struct PythonCluster {
    object: Py<PyAny>,
    hosts: usize,
    monitor: Arc<SignalMonitor>,
}

/// What `train` is told of the rows of a cluster.
pub struct ClusterArguments {
    cluster: Arc<PythonCluster>,
    /// Targets, weights and levels, where the table holds a sample.
    facts: Option<ClusterFacts>,
}

impl ClusterArguments {
    /// Reads the attributes `hosts`, `target`, `weight` and `texts` of a cluster.
    pub fn new(object: &Bound<'_, PyAny>, monitor: &Arc<SignalMonitor>) -> PyResult<Self> {
        let hosts: usize = object.getattr("hosts")?.extract()?;
        let monitor = Arc::clone(monitor);
        let cluster = PythonCluster { object: object.clone().unbind(), hosts, monitor };
        let facts = match numbers(&object.getattr("target")?)? {
            None => None,
            Some(target) => Some(ClusterFacts {
                target,
                weight: numbers(&object.getattr("weight")?)?.unwrap_or_default(),
                texts: object.getattr("texts")?.extract()?,
            }),
        };
        Ok(ClusterArguments { cluster: Arc::new(cluster), facts })
    }

    /// The rows of the cluster.
    pub fn rows(self, table: Arc<ColumnTable>, target: Target) -> Result<Rows> {
        match self.facts {
            None => read::clustered_whole(table, target, self.cluster),
            Some(facts) => read::clustered(table, target, facts, self.cluster),
        }
    }
}

/// The numbers of an array of one column; `None` for None.
fn numbers(array: &Bound<'_, PyAny>) -> PyResult<Option<Vec<f64>>> {
    if array.is_none() {
        return Ok(None);
    }
    let mut values = Vec::new();
    for column in buffer::columns(array)? {
        column.numbers(&RowSelection::Range(0..column.rows()), &mut values);
    }
    Ok(Some(values))
}

impl fmt::Debug for PythonCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonCluster").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl PythonCluster {
    /// Calls a method; an exception ends the run, and is raised when it has ended.
    fn call<T>(
        &self,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> std::result::Result<T, String> {
        Python::attach(|py| {
            call(self.object.bind(py)).map_err(|error| {
                let reason = error.value(py).to_string();
                self.monitor.check(Err(error));
                reason
            })
        })
    }
}

impl HostTransport for PythonCluster {
    fn exchange(
        &self,
        messages: &[(usize, Vec<u8>)],
    ) -> Vec<std::result::Result<Vec<u8>, TransportError>> {
        let answers = self.call(|object| {
            let py = object.py();
            let messages: Vec<_> =
                messages.iter().map(|(host, bytes)| (*host, PyBytes::new(py, bytes))).collect();
            object.call_method1("exchange", (messages,))?.extract::<Vec<Option<PyBackedBytes>>>()
        });
        match answers {
            Ok(answers) => {
                let bytes = |answer: Option<PyBackedBytes>| answer.map(|bytes| bytes.to_vec());
                let answers = answers.into_iter().map(bytes);
                answers.map(|answer| answer.ok_or(TransportError::Lost)).collect()
            }
            Err(reason) => vec![Err(TransportError::Failed { reason }); messages.len()],
        }
    }

    fn rebuild(&self, host: usize) -> std::result::Result<(), TransportError> {
        self.call(|object| object.call_method1("rebuild", (host,)).map(drop))
            .map_err(|reason| TransportError::Failed { reason })
    }
}

impl RowCluster for PythonCluster {
    fn hosts(&self) -> usize {
        self.hosts
    }

    fn load(&self, plan: &ClusterPlan<'_>) -> Result<Vec<usize>> {
        let levels = |feature: &Feature| match &feature.kind {
            Kind::Category { levels } => Some(levels.clone()),
            Kind::Number => None,
        };
        let texts: Vec<Option<Vec<String>>> = plan.schema.features.iter().map(levels).collect();
        let conflicts = self.call(|object| {
            let fields = PyDict::new(object.py());
            fields.set_item(
                "layout",
                PyBytes::new(object.py(), &stats::encode_layout(plan.layout)),
            )?;
            fields.set_item("texts", texts)?;
            fields.set_item("rows", plan.rows)?;
            fields.set_item("order", plan.order.map(<[usize]>::to_vec))?;
            object.call_method1("load", (fields,))?.extract::<Vec<usize>>()
        });
        conflicts.map_err(Error::Run)
    }
}

/// The places of the sample that bins are made from; None if it is all rows.
#[pyfunction]
pub fn sample_places(rows: usize) -> PyResult<Option<Vec<usize>>> {
    guarded(|| Ok(read::sample_places(rows)))
}

/// The number of hosts that hold shards of so many rows, at most so many.
#[pyfunction]
pub fn host_count(rows: usize, hosts: usize) -> PyResult<usize> {
    guarded(|| Ok(RemoteBackends::shards(rows, hosts).len()))
}

/// The texts that occur in each column of categories; None for numbers.
#[pyfunction]
pub fn occurring_texts(table: PyRef<'_, PyTable>) -> PyResult<Vec<Option<Vec<String>>>> {
    guarded(|| read::occurring_texts(&*table.columns()).map_err(python_error))
}

/// The rows of a table, binned: a piece of bytes for each host, or the columns whose features are
/// not exclusive. The rows take consecutive places from `first` on, or those of `places`, where
/// `rows` are rows of the table.
#[pyfunction]
#[pyo3(signature = (table, layout, texts, total, hosts, first=0, rows=None, places=None))]
#[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
pub fn encode_rows<'py>(
    py: Python<'py>,
    table: PyRef<'py, PyTable>,
    layout: PyBackedBytes,
    texts: Vec<Option<Vec<String>>>,
    total: usize,
    hosts: usize,
    first: usize,
    rows: Option<Vec<u32>>,
    places: Option<Vec<u64>>,
) -> PyResult<(Bound<'py, PyList>, Vec<usize>)> {
    guarded(|| {
        let columns = table.columns();
        let count = swarmwood::read::Columns::rows(&*columns);
        let deal = match (&rows, &places) {
            (Some(rows), Some(places)) => RowDeal::At { rows, places },
            _ => RowDeal::From(first),
        };
        let ends = match deal {
            RowDeal::From(first) => first.checked_add(count),
            RowDeal::At { places, .. } => {
                places.iter().max().map_or(Some(0), |&last| (last as usize).checked_add(1))
            }
        };
        if ends.is_none_or(|end| end > total) {
            return Err(PyValueError::new_err(format!("there are only {total} rows")));
        }
        let ranges: Vec<Range<usize>> = RemoteBackends::shards(total, hosts);
        let pieces = py.detach(|| {
            let layout = stats::decode_layout(&layout)
                .map_err(|error| Error::Run(format!("the layout {error}")))?;
            read::encode_part(columns, (&layout, texts), deal, total, &ranges)
        });
        match pieces.map_err(python_error)? {
            Ok(pieces) => {
                let bytes = pieces.iter().map(|piece| PyBytes::new(py, &piece.to_bytes()));
                Ok((PyList::new(py, bytes.collect::<Vec<_>>())?, Vec::new()))
            }
            Err(conflicts) => Ok((PyList::empty(py), conflicts)),
        }
    })
}

/// Holds some shards of all rows, and answers messages of fits on them.
#[pyclass(module = "swarmwood._core", name = "ShardHost", frozen)]
pub struct PyShardHost {
    host: Mutex<stats::ShardHost>,
}

#[pymethods]
impl PyShardHost {
    /// The host of one of `hosts` shares of `total` rows, from the pieces of all tables.
    #[new]
    fn new(
        py: Python<'_>,
        layout: PyBackedBytes,
        total: usize,
        host: usize,
        hosts: usize,
        pieces: Vec<PyBackedBytes>,
        threads: usize,
    ) -> PyResult<PyShardHost> {
        guarded(|| {
            let ranges = RemoteBackends::shards(total, hosts);
            let Some(shards) = ranges.get(host).cloned() else {
                return Err(PyValueError::new_err(format!("there is no host {host}")));
            };
            let made = py.detach(|| {
                let pieces: std::result::Result<Vec<RowPiece>, _> =
                    pieces.iter().map(|bytes| RowPiece::of_bytes(bytes)).collect();
                let broken = |error| format!("a piece of rows cannot be read: {error}");
                let layout = stats::decode_layout(&layout).map_err(broken)?;
                let pieces = pieces.map_err(broken)?;
                stats::ShardHost::new(layout, total, shards, &pieces, threads)
                    .map_err(|error| error.to_string())
            });
            let host = Mutex::new(made.map_err(SwarmwoodError::new_err)?);
            Ok(PyShardHost { host })
        })
    }

    /// Answers a message.
    fn handle<'py>(
        &self,
        py: Python<'py>,
        message: PyBackedBytes,
    ) -> PyResult<Bound<'py, PyBytes>> {
        guarded(|| {
            let reply = py.detach(|| {
                self.host.lock().unwrap_or_else(PoisonError::into_inner).handle(&message)
            });
            Ok(PyBytes::new(py, &reply))
        })
    }
}
