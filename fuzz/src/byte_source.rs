//! Choices from bytes: how a target that is no file format makes sense of its input.

/// Bytes that choices are read from; at their end every choice is the first.
#[derive(Debug)]
pub struct ByteSource<'a>(&'a [u8]);

impl<'a> ByteSource<'a> {
    /// Reads from these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        ByteSource(bytes)
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// One of some values.
    pub fn choose<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }
}
