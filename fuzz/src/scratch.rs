//! A directory for readers that take a path, in memory where the system has such a place.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The directory of this process.
fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let directory = parent.join(format!("swarmwood-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory for temporary files");
        directory
    })
}

/// The path of a file of this thread.
pub fn path(name: &str) -> PathBuf {
    directory().join(format!("{:?}-{name}", std::thread::current().id()))
}

/// Writes bytes to a file of this thread and returns its path.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = path(name);
    std::fs::write(&path, bytes).expect("a temporary file");
    path
}

/// Removes the directory.
pub fn clean() {
    let _ = std::fs::remove_dir_all(directory());
}
