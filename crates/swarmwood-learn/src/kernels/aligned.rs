//! Numbers that begin at a cache line.
//!
//! The widest registers are as long as a line: where numbers begin elsewhere, every load and store
//! of such a register touches two lines. The numbers stand in an ordinary vector with room to
//! spare, from the first place that is a line's beginning; no value depends on where that is.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = 64;

/// A fixed number of values whose first one begins a cache line.
#[derive(Debug)]
pub struct AlignedVec<T> {
    /// Where the first value stands.
    start: usize,
    len: usize,
    /// Never grows, so that its values stay where they are.
    room: Vec<T>,
}

impl<T: Copy + Default> AlignedVec<T> {
    /// The values of a slice.
    pub fn new(values: impl AsRef<[T]>) -> Self {
        let values = values.as_ref();
        let mut aligned = AlignedVec::zeroed(values.len());
        aligned.copy_from_slice(values);
        aligned
    }

    /// So many default values.
    pub fn zeroed(len: usize) -> Self {
        let spare = LINE / size_of::<T>().clamp(1, LINE);
        let room = vec![T::default(); len + spare];
        // Where the offset cannot be known it is no fault: the loops are slower there and right all
        // the same.
        let start = room.as_ptr().align_offset(LINE).min(spare);
        AlignedVec { start, len, room }
    }
}

impl<T> Deref for AlignedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.room[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for AlignedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.room[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_and_begin_a_line() {
        for len in [0, 1, 15, 16, 17, 1000] {
            let numbers: Vec<f32> = (0..len).map(|at| at as f32).collect();
            let aligned = AlignedVec::new(&numbers);
            assert_eq!(aligned[..], numbers);
            assert_eq!(aligned.as_ptr().addr() % LINE, 0);
            let bytes = AlignedVec::<u8>::zeroed(len);
            assert!(bytes.len() == len && bytes.as_ptr().addr().is_multiple_of(LINE));
            let pairs = AlignedVec::<[f32; 2]>::zeroed(len);
            assert!(pairs.len() == len && pairs.as_ptr().addr().is_multiple_of(LINE));
        }
    }
}
