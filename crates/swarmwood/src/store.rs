//! Models on disk.

use std::path::Path;

use swarmwood_model::{Model, format};

use crate::write::{Output, write_atomically};
use crate::{Error, Result};

/// Reads a model, ours or one of XGBoost, LightGBM or CatBoost ([`format::read`]); whatever the
/// file holds, the answer is a model that can predict or an error that says why not.
pub fn load(path: &Path) -> Result<Model> {
    let bytes =
        std::fs::read(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    format::read(&bytes).map_err(|error| Error::Model {
        path: path.to_path_buf(),
        message: error.to_string().into(),
    })
}

/// Writes a model; the file appears whole or not at all.
pub fn save(model: &Model, path: &Path) -> Result<()> {
    let text = to_text(model)?;
    write_atomically(path, |out| out.write_all(text.as_bytes()))
}

/// The text of a model file.
pub fn to_text(model: &Model) -> Result<String> {
    format::to_json(model)
        .map_err(|error| Error::Run(format!("the model cannot be stored: {error}")))
}

/// Finds out whether a file could be written, before the work whose result it is to hold.
pub fn probe(path: &Path) -> Result<()> {
    // Opening a pipe would wait for its reader, and closing it would send the reader home.
    let special =
        std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    if special { Ok(()) } else { Output::create(path).map(drop) }
}
