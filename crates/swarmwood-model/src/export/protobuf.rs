//! A writer of protocol buffers: fields by number, as much of the format as ONNX files need.

/// A message under construction.
#[derive(Default, Clone)]
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
}

impl Message {
    /// A whole number; negative ones take ten bytes.
    pub(super) fn integer(mut self, field: u32, value: i64) -> Message {
        self.tag(field, 0);
        self.varint(value as u64);
        self
    }

    /// A text.
    pub(super) fn text(self, field: u32, text: &str) -> Message {
        self.blob(field, text.as_bytes())
    }

    /// Bytes.
    pub(super) fn blob(mut self, field: u32, bytes: &[u8]) -> Message {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// A message in the message.
    pub(super) fn message(self, field: u32, message: &Message) -> Message {
        self.blob(field, &message.bytes)
    }

    /// Several messages in the same field.
    pub(super) fn messages(self, field: u32, messages: &[Message]) -> Message {
        messages.iter().fold(self, |outer, message| outer.message(field, message))
    }

    /// A list of whole numbers, packed.
    pub(super) fn integers(self, field: u32, values: impl IntoIterator<Item = i64>) -> Message {
        let mut packed = Message::default();
        for value in values {
            packed.varint(value as u64);
        }
        self.blob(field, &packed.bytes)
    }

    fn tag(&mut self, field: u32, kind: u32) {
        self.varint(u64::from(field << 3 | kind));
    }

    /// Seven bits per byte, the lowest first; all bytes but the last have the eighth.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's documentation.
    #[test]
    fn fields_are_written_as_documented() {
        assert_eq!(Message::default().integer(1, 150).bytes, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").bytes, b"\x12\x07testing");
        let inner = Message::default().integer(1, 150);
        assert_eq!(Message::default().message(3, &inner).bytes, [0x1a, 3, 0x08, 0x96, 0x01]);
        let packed = Message::default().integers(6, [3, 270, 86_942]);
        assert_eq!(packed.bytes, [0x32, 6, 3, 0x8e, 2, 0x9e, 0xa7, 5]);
        assert_eq!(Message::default().integer(1, -1).bytes.len(), 11);
    }
}
