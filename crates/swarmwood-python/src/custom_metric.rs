//! Metrics of early stopping that Python computes.

use std::sync::Arc;

use pyo3::prelude::*;
use swarmwood::learn::metric::CustomMetric;

use crate::custom_loss::doubles;
use crate::signals::SignalMonitor;

/// A metric as `swarmwood._metric` passes it: a function of the bytes of predictions, targets and
/// weights. An exception ends the run.
pub struct PythonMetric {
    function: Py<PyAny>,
    higher_is_better: bool,
    monitor: Arc<SignalMonitor>,
}

impl PythonMetric {
    /// Reads the attributes of the object.
    pub fn new(
        object: &Bound<'_, PyAny>,
        monitor: &Arc<SignalMonitor>,
    ) -> PyResult<Arc<PythonMetric>> {
        Ok(Arc::new(PythonMetric {
            function: object.getattr("value")?.unbind(),
            higher_is_better: object.getattr("greater_is_better")?.extract()?,
            monitor: Arc::clone(monitor),
        }))
    }
}

impl CustomMetric for PythonMetric {
    fn value(&self, prediction: &[f64], target: &[f64], weight: &[f64]) -> f64 {
        let called = Python::attach(|py| {
            let bytes = |values: &[f64]| doubles(py, values);
            let arguments = (bytes(prediction)?, bytes(target)?, bytes(weight)?);
            self.function.call1(py, arguments)?.extract::<f64>(py)
        });
        called.unwrap_or_else(|error| {
            self.monitor.check(Err(error));
            f64::NAN
        })
    }

    fn higher_is_better(&self) -> bool {
        self.higher_is_better
    }
}
