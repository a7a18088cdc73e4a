//! The leaf of every row in one tree, in as few bits as the number of leaves asks for.
//!
//! A search over ensembles remembers the leaves of all its trees at once. Trees of few leaves are
//! many, so that their leaves in 16 bits each would take more memory than the rows themselves.

/// Rows that are unpacked together.
const BLOCK: usize = 2048;

/// The leaf of every row of a shard in one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLeaves {
    width: LeafWidth,
    /// From the low bits of each byte to the high ones.
    bytes: Vec<u8>,
    rows: usize,
}

/// Bits of the number of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeafWidth {
    One,
    Two,
    Four,
    Eight,
    Sixteen,
}

impl LeafWidth {
    fn of(leaves: usize) -> Self {
        match leaves {
            0..=2 => LeafWidth::One,
            3..=4 => LeafWidth::Two,
            5..=16 => LeafWidth::Four,
            17..=256 => LeafWidth::Eight,
            _ => LeafWidth::Sixteen,
        }
    }
}

impl RowLeaves {
    /// The numbers of leaves of a tree that has so many.
    pub fn new(numbers: &[u16], leaves: usize) -> Self {
        let width = LeafWidth::of(leaves);
        let bytes = match width {
            LeafWidth::One => pack::<1>(numbers),
            LeafWidth::Two => pack::<2>(numbers),
            LeafWidth::Four => pack::<4>(numbers),
            LeafWidth::Eight => pack::<8>(numbers),
            LeafWidth::Sixteen => numbers.iter().flat_map(|leaf| leaf.to_le_bytes()).collect(),
        };
        RowLeaves { width, bytes, rows: numbers.len() }
    }

    /// Calls `each(first row, leaves)` for one block of rows after the other.
    pub fn each_block(&self, mut each: impl FnMut(usize, &[u16])) {
        let mut numbers = [0; BLOCK];
        for start in (0..self.rows).step_by(BLOCK) {
            let numbers = &mut numbers[..BLOCK.min(self.rows - start)];
            match self.width {
                LeafWidth::One => unpack::<1>(&self.bytes, start, numbers),
                LeafWidth::Two => unpack::<2>(&self.bytes, start, numbers),
                LeafWidth::Four => unpack::<4>(&self.bytes, start, numbers),
                LeafWidth::Eight => unpack::<8>(&self.bytes, start, numbers),
                LeafWidth::Sixteen => {
                    let pairs = self.bytes[2 * start..].chunks_exact(2);
                    let of_pair = |pair: &[u8]| u16::from_le_bytes([pair[0], pair[1]]);
                    numbers.iter_mut().zip(pairs).for_each(|(leaf, pair)| *leaf = of_pair(pair));
                }
            }
            each(start, numbers);
        }
    }
}

/// Numbers of so many bits each, which divide a byte.
fn pack<const BITS: usize>(numbers: &[u16]) -> Vec<u8> {
    let byte = |numbers: &[u16]| {
        let shifted = numbers.iter().enumerate().map(|(at, &leaf)| (leaf as u8) << (at * BITS));
        shifted.fold(0, |byte, leaf| byte | leaf)
    };
    numbers.chunks(8 / BITS).map(byte).collect()
}

/// The numbers from a row on, which begins a byte.
fn unpack<const BITS: usize>(bytes: &[u8], start: usize, numbers: &mut [u16]) {
    let mask = u8::MAX >> (8 - BITS);
    for (numbers, &byte) in numbers.chunks_mut(8 / BITS).zip(&bytes[start * BITS / 8..]) {
        for (at, leaf) in numbers.iter_mut().enumerate() {
            *leaf = u16::from(byte >> (at * BITS) & mask);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_come_back_from_as_few_bits_as_they_need() {
        for (leaves, bits) in
            [(1, 1), (2, 1), (3, 2), (4, 2), (5, 4), (16, 4), (17, 8), (256, 8), (257, 16)]
        {
            for rows in [0, 1, 7, BLOCK - 1, BLOCK, 3 * BLOCK + 5] {
                let numbers: Vec<u16> = (0..rows).map(|row| (row * 31 % leaves) as u16).collect();
                let packed = RowLeaves::new(&numbers, leaves);
                assert_eq!(packed.bytes.len(), (rows * bits).div_ceil(8), "{leaves} leaves");
                let mut back = Vec::new();
                packed.each_block(|start, block| {
                    assert_eq!(start, back.len());
                    back.extend_from_slice(block);
                });
                assert_eq!(back, numbers, "{leaves} leaves");
            }
        }
        let last = RowLeaves::new(&[u16::MAX], 1 << 16);
        last.each_block(|_, block| assert_eq!(block, [u16::MAX]));
    }
}
