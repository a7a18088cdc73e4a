//! Reader of UBJ (universal binary JSON, draft 12), XGBoost's default file format.
//!
//! A value is a marker byte and its payload, numbers in big-endian order; containers may declare
//! the type and the number of their elements. A declared number is not trusted: memory is allocated
//! for elements that are present, and element types without a payload, with which a few bytes could
//! claim any number of elements, are refused.

use std::collections::BTreeMap;

use super::document::{Document, ImportResult, ListBuilder};

/// Maximum nesting depth of containers, which bounds the recursion.
const MAX_NESTING: usize = 128;

/// Reads a whole file.
pub(super) fn from_ubj(bytes: &[u8]) -> ImportResult<Document> {
    let mut reader = UbjReader { rest: bytes, length: bytes.len() };
    let marker = reader.marker()?;
    let document = reader.value(marker, 0)?;
    if reader.rest.is_empty() {
        Ok(document)
    } else {
        Err(reader.fault("more bytes than the model needs"))
    }
}

struct UbjReader<'a> {
    rest: &'a [u8],
    /// Length of the whole file, for positions in error messages.
    length: usize,
}

/// What a container declares about its elements.
struct ContainerHeader {
    kind: Option<u8>,
    count: Option<usize>,
}

impl<'a> UbjReader<'a> {
    fn fault(&self, problem: &str) -> String {
        format!("byte {}: {problem}; the file is damaged", self.length - self.rest.len())
    }

    fn take(&mut self, count: usize) -> ImportResult<&'a [u8]> {
        let (bytes, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| self.fault("the file ends early"))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> ImportResult<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| self.fault("the file ends early"))
    }

    fn byte(&mut self) -> ImportResult<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// The next marker; `N` (no-op) is skipped.
    fn marker(&mut self) -> ImportResult<u8> {
        loop {
            let marker = self.byte()?;
            if marker != b'N' {
                return Ok(marker);
            }
        }
    }

    fn integer(&mut self, marker: u8) -> ImportResult<i64> {
        Ok(match marker {
            b'i' => i64::from(i8::from_be_bytes(self.array()?)),
            b'U' => i64::from(self.byte()?),
            b'I' => i64::from(i16::from_be_bytes(self.array()?)),
            b'l' => i64::from(i32::from_be_bytes(self.array()?)),
            b'L' => i64::from_be_bytes(self.array()?),
            _ => return Err(self.fault("a whole number was expected")),
        })
    }

    fn length(&mut self) -> ImportResult<usize> {
        let marker = self.byte()?;
        let length = self.integer(marker)?;
        usize::try_from(length).map_err(|_| self.fault("a length is negative"))
    }

    fn text(&mut self) -> ImportResult<String> {
        let length = self.length()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes)
            .map(str::to_string)
            .map_err(|_| self.fault("a text is not UTF-8"))
    }

    fn value(&mut self, marker: u8, depth: usize) -> ImportResult<Document> {
        if depth > MAX_NESTING {
            return Err(self.fault("containers are nested too deeply"));
        }
        Ok(match marker {
            b'Z' => Document::Null,
            b'T' => Document::Boolean(true),
            b'F' => Document::Boolean(false),
            b'd' => Document::Number(f64::from(f32::from_be_bytes(self.array()?))),
            b'D' => Document::Number(f64::from_be_bytes(self.array()?)),
            b'S' => Document::Text(self.text()?),
            b'C' => Document::Text(char::from(self.byte()?).to_string()),
            b'H' => Document::Number(
                self.text()?.parse().map_err(|_| self.fault("a number was expected"))?,
            ),
            b'[' => self.list(depth)?,
            b'{' => self.object(depth)?,
            _ => Document::Number(self.integer(marker)? as f64),
        })
    }

    fn header(&mut self) -> ImportResult<ContainerHeader> {
        let mut header = ContainerHeader { kind: None, count: None };
        if self.rest.first() == Some(&b'$') {
            self.byte()?;
            let kind = self.byte()?;
            if b"ZTFN".contains(&kind) {
                return Err(self.fault("a list of elements without content"));
            }
            header.kind = Some(kind);
        }

        if self.rest.first() == Some(&b'#') {
            self.byte()?;
            header.count = Some(self.length()?);
        } else if header.kind.is_some() {
            return Err(self.fault("a type without a count"));
        }
        Ok(header)
    }

    /// The marker of a container's next element; `None` at its end, which follows from the declared
    /// count or from the end marker.
    fn next(
        &mut self,
        header: &ContainerHeader,
        passed: usize,
        end: u8,
    ) -> ImportResult<Option<u8>> {
        match (header.count, header.kind) {
            (Some(count), _) if passed == count => Ok(None),
            (Some(_), Some(kind)) => Ok(Some(kind)),
            (Some(_), None) => self.marker().map(Some),
            (None, _) => self.marker().map(|marker| Some(marker).filter(|marker| *marker != end)),
        }
    }

    fn list(&mut self, depth: usize) -> ImportResult<Document> {
        let header = self.header()?;
        let (mut list, mut passed) = (ListBuilder::default(), 0);
        while let Some(marker) = self.next(&header, passed, b']')? {
            list.push(self.value(marker, depth + 1)?);
            passed += 1;
        }
        Ok(list.into_document())
    }

    fn object(&mut self, depth: usize) -> ImportResult<Document> {
        let header = self.header()?;
        let mut object = BTreeMap::new();
        loop {
            // The marker before a key belongs to the key's length, so the end marker is looked for
            // first.
            let ends = match header.count {
                Some(count) => object.len() == count,
                None => self.rest.first() == Some(&b'}'),
            };
            if ends {
                if header.count.is_none() {
                    self.byte()?;
                }
                return Ok(Document::Object(object));
            }
            let key = self.text()?;
            let marker = header.kind.map_or_else(|| self.marker(), Ok)?;
            let value = self.value(marker, depth + 1)?;
            if object.insert(key, value).is_some() {
                return Err(self.fault("a key occurs twice"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_read() {
        let bytes = b"{i\x01aSi\x02hii\x01b[$d#i\x02\x3f\x80\0\0\xc0\0\0\0i\x01c[i\x05I\x01\0l\0\0\0\x07L\0\0\0\0\0\0\0\x08]i\x01d[#U\x03TFZi\x01eU\xffi\x01fD\x40\x04\0\0\0\0\0\0}";
        let document = from_ubj(bytes).unwrap();
        assert_eq!(document.text("a"), Ok("hi"));
        assert_eq!(document.numbers("b"), Ok([1.0, -2.0].as_slice()));
        assert_eq!(document.numbers("c"), Ok([5.0, 256.0, 7.0, 8.0].as_slice()));
        let values = [Document::Boolean(true), Document::Boolean(false), Document::Null];
        assert_eq!(document.list("d"), Ok(values.as_slice()));
        assert_eq!(document.get("e"), Some(&Document::Number(255.0)));
        assert_eq!(document.get("f"), Some(&Document::Number(2.5)));
        for end in 0..bytes.len() {
            assert!(from_ubj(&bytes[..end]).is_err(), "{end}");
        }
        assert!(from_ubj(&[bytes.as_slice(), b"Z"].concat()).is_err());
    }

    #[test]
    fn declared_sizes_are_not_trusted() {
        for bytes in [
            b"[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff".as_slice(),
            b"[$Z#L\x00\x00\x00\xff\xff\xff\xff\xff",
            b"[#L\x7f\xff\xff\xff\xff\xff\xff\xffi\x01",
            b"{#L\x7f\xff\xff\xff\xff\xff\xff\xffi\x01ai\x01",
            b"SL\x7f\xff\xff\xff\xff\xff\xff\xffabc",
            b"Si\xffabc",
            b"{i\x01aZi\x01aZ}",
            b"[$d",
            b"",
        ] {
            assert!(from_ubj(bytes).is_err(), "{bytes:?}");
        }
        assert!(from_ubj(&b"[".repeat(1_000_000)).unwrap_err().contains("too deeply"));
        assert!(from_ubj(&b"[$[#i\x01".repeat(100_000)).is_err());
    }
}
