//! How much memory a run may need, and files that must fit into it.

use std::io::Read;
use std::path::Path;

use crate::{Error, Result};

/// The share of the machine's memory that a run may need by default: one half.
const SHARE: u64 = 2;

/// Memory that the machine is taken to have where the system does not say.
const UNKNOWN: u64 = 16 << 30;

/// Bytes that a run may need unless a limit is given: half of what the machine, or the container that
/// the program runs in, has.
pub fn default_limit() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    });
    let container = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .into_iter()
        .filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok());
    machine.into_iter().chain(container).min().unwrap_or(UNKNOWN) / SHARE
}

/// A size as text, such as `2.5 GB`.
pub fn size_text(bytes: u64) -> String {
    let units = [(1u64 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Bytes of a size such as `4G`, `512 MB` or `1000000`; the error says what is allowed.
///
/// ```
/// use swarmwood::memory::parse_size;
/// assert_eq!(parse_size("1.5G"), Ok(3 << 29));
/// assert_eq!(parse_size("512 mb"), Ok(512 << 20));
/// assert!(parse_size("much").is_err());
/// ```
pub fn parse_size(text: &str) -> std::result::Result<u64, String> {
    let lower = text.trim().to_lowercase();
    let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match lower[digits.len()..].trim_end_matches('b').trim_end_matches('i') {
        "" => Some(1u64),
        "k" => Some(1 << 10),
        "m" => Some(1 << 20),
        "g" => Some(1 << 30),
        "t" => Some(1 << 40),
        _ => None,
    };
    let number = digits.trim().parse::<f64>().ok().filter(|number| *number > 0.0);
    match (number, unit) {
        // Casts saturate.
        (Some(number), Some(unit)) if number.is_finite() => Ok((number * unit as f64) as u64),
        _ => Err(format!("is '{text}', must be a size such as 4G, 512M or 1000000")),
    }
}

/// Reads a file that must fit into memory several times over: a model, a checkpoint, a journal.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    read_file_within(path, default_limit() / 8)
}

fn read_file_within(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let failed = |source| Error::Read { path: path.to_path_buf(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    // A device, or a file that grows, may have no end.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        let message = format!("is larger than {}, too large for this machine", size_text(limit));
        return Err(failed(std::io::Error::other(message)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [("1", 1), ("2k", 2048), ("3 MiB", 3 << 20), ("1tb", 1 << 40)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "-1", "0", "4x", "G", "nan", "inf", "1e400"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert_eq!((size_text(3 << 29), size_text(12)), ("1.5 GB".into(), "12 bytes".into()));
        assert!(default_limit() > 1 << 20);
    }

    #[test]
    fn files_without_an_end_are_refused() {
        let path = std::env::temp_dir().join(format!("swarmwood-memory-{}", std::process::id()));
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_file_within(&path, 10).unwrap(), b"0123456789");
        assert!(read_file_within(&path, 9).is_err());
        std::fs::remove_file(path).unwrap();
        #[cfg(target_os = "linux")]
        assert!(read_file_within(Path::new("/dev/zero"), 1 << 16).is_err());
    }
}
