//! Inputs on disk: one file per target, each input after its length.

use std::path::{Path, PathBuf};

/// The corpora that are kept with the sources.
pub fn kept_path(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{target}.corpus"))
}

/// The inputs of a file; none if there is no such file.
pub fn load(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let mut rest = &bytes[..];
    let mut inputs = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((input, behind)) = behind.split_at_checked(length) else { break };
        inputs.push(input.to_vec());
        rest = behind;
    }
    inputs
}

/// Writes inputs to a file.
pub fn save(path: &Path, inputs: &[Vec<u8>]) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut bytes = Vec::new();
    for input in inputs {
        bytes.extend_from_slice(&(input.len() as u32).to_le_bytes());
        bytes.extend_from_slice(input);
    }
    std::fs::write(path, bytes)
}
