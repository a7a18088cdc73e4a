//! Whether a file is still the same when it is read again.
//!
//! Rows are read more than once: first for the types of columns, then for values. If another program
//! writes the file in between, the passes would not fit together. Bytes that are read from the
//! beginning to the end are hashed, and compared with those of the first pass; a file that is read
//! at any position is known by its identity, length and time of modification.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// What identifies a file that nobody has changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SourceStamp {
    length: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: (u64, u64),
    /// The hash of all bytes, known after the first pass.
    hash: Arc<OnceLock<u64>>,
}

impl SourceStamp {
    pub(super) fn new(metadata: &Metadata) -> SourceStamp {
        SourceStamp {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: {
                use std::os::unix::fs::MetadataExt;
                (metadata.dev(), metadata.ino())
            },
            hash: Arc::default(),
        }
    }

    /// Checks that an open file is still the same by its metadata.
    pub(super) fn check(&self, file: &File) -> io::Result<()> {
        let now = SourceStamp::new(&file.metadata()?);
        let same = SourceStamp { hash: Arc::clone(&self.hash), ..now } == *self;
        if same { Ok(()) } else { Err(changed()) }
    }

    /// A reader that compares all bytes with those of the first pass.
    pub(super) fn checked(&self, inner: Box<dyn Read>) -> Box<dyn Read> {
        Box::new(HashingReader { inner, hash: ByteHash::default(), first: Arc::clone(&self.hash) })
    }
}

fn changed() -> io::Error {
    io::Error::other(
        "the file changed while it was being read; use a copy that no other program writes to",
    )
}

/// Passes bytes on and hashes them; at the end the hash must be that of the first pass.
struct HashingReader {
    inner: Box<dyn Read>,
    hash: ByteHash,
    first: Arc<OnceLock<u64>>,
}

impl Read for HashingReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.hash.add(&into[..read]);
        if read == 0 && !into.is_empty() {
            let hash = self.hash.finish();
            if *self.first.get_or_init(|| hash) != hash {
                return Err(changed());
            }
        }
        Ok(read)
    }
}

/// A fast hash of a stream of bytes, in words of eight. It recognizes accidents, not attacks.
#[derive(Debug, Clone, Copy, Default)]
struct ByteHash {
    state: u64,
    length: u64,
    /// Bytes that do not fill a word yet: the last `length % 8`.
    tail: [u8; 8],
}

impl ByteHash {
    fn add(&mut self, mut bytes: &[u8]) {
        while !self.length.is_multiple_of(8) && !bytes.is_empty() {
            self.push(bytes[0]);
            bytes = &bytes[1..];
        }

        let words = bytes.chunks_exact(8);
        let rest = words.remainder();
        for word in words {
            self.mix(u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
        self.length += (bytes.len() - rest.len()) as u64;
        rest.iter().for_each(|&byte| self.push(byte));
    }

    fn push(&mut self, byte: u8) {
        self.tail[(self.length % 8) as usize] = byte;
        self.length += 1;
        if self.length.is_multiple_of(8) {
            self.mix(u64::from_le_bytes(self.tail));
        }
    }

    fn mix(&mut self, word: u64) {
        // An odd factor and a rotation keep every bit of the word.
        self.state = (self.state ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    fn finish(mut self) -> u64 {
        let left = (self.length % 8) as usize;
        self.tail[left..].fill(0);
        self.mix(u64::from_le_bytes(self.tail));
        self.mix(self.length);
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(parts: &[&[u8]]) -> u64 {
        let mut hash = ByteHash::default();
        parts.iter().for_each(|part| hash.add(part));
        hash.finish()
    }

    #[test]
    fn the_hash_depends_on_the_bytes_and_not_on_how_they_are_read() {
        let bytes: Vec<u8> = (0..100u8).collect();
        let whole = hash_of(&[&bytes]);
        for cut in 0..bytes.len() {
            assert_eq!(hash_of(&[&bytes[..cut], &bytes[cut..]]), whole);
            assert_ne!(hash_of(&[&bytes[..cut]]), whole);
            let mut other = bytes.clone();
            other[cut] ^= 1;
            assert_ne!(hash_of(&[&other]), whole);
        }
        assert_ne!(hash_of(&[b"a"]), hash_of(&[b"a\0"]));
    }
}
