//! Model files.

use std::path::Path;

use swarmwood_model::{Model, format};

use crate::memory::read_file;
use crate::write::{Output, write_atomically};
use crate::{Error, Result};

/// Reads a model file, native or of XGBoost, LightGBM or CatBoost ([`format::read`]). The result is
/// a model that can predict or an error that says what is wrong with the file.
pub fn load(path: &Path) -> Result<Model> {
    let bytes = read_file(path)?;
    format::read(&bytes).map_err(|error| Error::Model {
        path: path.to_path_buf(),
        message: error.to_string().into(),
    })
}

/// Writes a model file atomically.
pub fn save(model: &Model, path: &Path) -> Result<()> {
    let text = to_text(model)?;
    write_atomically(path, |out| out.write_all(text.as_bytes()))
}

/// The text of a model file.
pub fn to_text(model: &Model) -> Result<String> {
    format::to_json(model)
        .map_err(|error| Error::Run(format!("the model cannot be stored: {error}")))
}

/// Checks that a file can be written, before the work whose result it will contain.
pub fn probe(path: &Path) -> Result<()> {
    // Opening a pipe would wait for its reader, and closing it would end the reader's input.
    let special =
        std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    if special { Ok(()) } else { Output::create(path).map(drop) }
}
