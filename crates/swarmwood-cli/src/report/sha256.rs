//! SHA-256 (FIPS 180-4): in base64, as content security policies name scripts, and in hexadecimal, as
//! the fingerprint of a file.
//!
//! Scripts and files of rows are hashed once, so this is the textbook algorithm; it keeps no secret.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The value of `script-src` that allows a script: `'sha256-…'`.
pub fn script_source(script: &str) -> String {
    format!("'sha256-{}'", base64(&sha256(script.as_bytes())))
}

/// The digest of a file as `sha256sum` prints it.
pub fn file_digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut digest = Digest::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&digest.finish())),
            length => digest.update(&buffer[..length]),
        }
    }
}

/// The digest of a message.
fn sha256(message: &[u8]) -> [u8; 32] {
    let mut digest = Digest::new();
    digest.update(message);
    digest.finish()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of bytes that come in pieces.
struct Digest {
    state: [u32; 8],
    rounds: [u32; 64],
    /// Bytes of the block that is not yet complete.
    open: Vec<u8>,
    length: u64,
}

impl Digest {
    fn new() -> Digest {
        let constants = RoundConstants::new();
        Digest { state: constants.start, rounds: constants.rounds, open: Vec::new(), length: 0 }
    }

    fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.open.extend_from_slice(bytes);
        let complete = self.open.len() / 64 * 64;
        for block in self.open[..complete].chunks_exact(64) {
            compress(&mut self.state, block, &self.rounds);
        }
        self.open.drain(..complete);
    }

    fn finish(mut self) -> [u8; 32] {
        let bits = 8 * self.length;
        let zeros = (119 - self.open.len() % 64) % 64;
        let padding: Vec<u8> = std::iter::once(0x80).chain((0..zeros).map(|_| 0)).collect();
        self.update(&padding);
        self.update(&bits.to_be_bytes());

        let mut digest = [0; 32];
        for (bytes, word) in digest.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        digest
    }
}

/// Section 6.2.2 of the standard.
fn compress(state: &mut [u32; 8], block: &[u8], rounds: &[u32; 64]) {
    let mut schedule = [0_u32; 64];
    for (word, bytes) in schedule.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for at in 16..64 {
        let (a, b) = (schedule[at - 15], schedule[at - 2]);
        let first = a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3;
        let second = b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10;
        schedule[at] = schedule[at - 16]
            .wrapping_add(first)
            .wrapping_add(schedule[at - 7])
            .wrapping_add(second);
    }

    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in schedule.iter().zip(rounds) {
        let sum = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let first = h
            .wrapping_add(sum)
            .wrapping_add(e & f ^ !e & g)
            .wrapping_add(*constant)
            .wrapping_add(*word);
        let sum = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = sum.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (word, added) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(added);
    }
}

/// The constants of the standard: the first 32 bits of the fractional parts of the square roots
/// (start) and cube roots (rounds) of the first primes.
struct RoundConstants {
    start: [u32; 8],
    rounds: [u32; 64],
}

impl RoundConstants {
    fn new() -> RoundConstants {
        let is_prime = |n: &u64| (2..*n).all(|divisor| !n.is_multiple_of(divisor));
        let primes: Vec<u64> = (2..).filter(is_prime).take(64).collect();
        let square = |at: usize| root(u128::from(primes[at]) << 64, 2);
        let cube = |at: usize| root(u128::from(primes[at]) << 96, 3);
        RoundConstants { start: std::array::from_fn(square), rounds: std::array::from_fn(cube) }
    }
}

/// The low 32 bits of the integer part of a square or cube root.
fn root(number: u128, power: u32) -> u32 {
    let (mut low, mut high) = (0_u128, 1 << 40);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if middle.pow(power) <= number { low = middle } else { high = middle }
    }
    low as u32
}

/// Bytes in base64 (RFC 4648), with padding.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word = (0..3)
            .fold(0_u32, |word, at| word << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of FIPS 180-4, and one of several blocks.
    #[test]
    fn the_examples_of_the_standard_have_their_digests() {
        let hex = |text: &str| hexadecimal(&sha256(text.as_bytes()));
        assert_eq!(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
        assert_eq!(
            hex(&"a".repeat(1_000_000)),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        );
    }

    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        for length in [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000] {
            let message: Vec<u8> = (0..length).map(|at| at as u8).collect();
            for size in [1, 7, 64, 100] {
                let mut digest = Digest::new();
                message.chunks(size).for_each(|piece| digest.update(piece));
                assert_eq!(digest.finish(), sha256(&message), "{length} bytes in pieces of {size}");
            }
        }
    }

    #[test]
    fn base64_is_padded() {
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
        assert_eq!(script_source(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }
}
