//! Effects of features over rows, for plots.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use swarmwood::effects::{EffectGrid, feature_effect, output_names};
use swarmwood::learn::data::{Chunk, Column};
use swarmwood::predict::Scorer;
use swarmwood::read;

use crate::errors::{guarded, python_error};
use crate::model::PyModel;
use crate::table::PyTable;

/// The partial dependence and the accumulated local effects of a feature over the rows of a table;
/// `None` if the model does not use the feature, or if no row has a value.
#[pyfunction]
pub fn effect<'py>(
    py: Python<'py>,
    model: PyRef<'py, PyModel>,
    table: PyRef<'py, PyTable>,
    feature: usize,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    guarded(|| {
        let (model, columns) = (model.shared(), table.columns());
        let found = py.detach(|| {
            let mut rows = Chunk::default();
            read::borrowed_scoring(columns, &model.schema, &mut |chunk| {
                append(&mut rows, chunk);
                Ok(())
            })?;
            feature_effect(&Scorer::new(&model, None, 0)?, &rows, feature)
        });
        let Some(effect) = found.map_err(python_error)? else { return Ok(None) };

        let values = PyDict::new(py);
        values.set_item("outputs", output_names(&model))?;
        values.set_item("partial", effect.partial)?;
        values.set_item("accumulated", effect.accumulated)?;
        match effect.grid {
            EffectGrid::Numbers { edges, .. } => values.set_item("edges", edges)?,
            EffectGrid::Levels { codes, .. } => {
                let levels = model.schema.features[feature].kind.levels();
                let name = |code: u32| levels.get(code as usize).cloned();
                let names: Vec<Option<String>> = codes.into_iter().map(name).collect();
                values.set_item("levels", names)?;
            }
        }
        Ok(Some(values))
    })
}

/// Adds the rows of a chunk.
fn append(rows: &mut Chunk, chunk: &Chunk) {
    if rows.columns.is_empty() {
        *rows = chunk.clone();
        return;
    }
    for (column, more) in rows.columns.iter_mut().zip(&chunk.columns) {
        match (column, more) {
            (Column::Number(values), Column::Number(more)) => values.extend(more),
            (Column::Category(codes), Column::Category(more)) => codes.extend(more),
            // All chunks of a table have the same columns.
            _ => {}
        }
    }
    rows.rows += chunk.rows;
}
