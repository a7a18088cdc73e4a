//! Detects the format of a file from its first bytes, or from the first key that only one format
//! has.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserializer, de::DeserializeSeed};

use super::{catboost, lightgbm, xgboost};

/// A format that can be recognised, though not necessarily read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// The native format; also the answer for unknown content, because its reader has the best
    /// error messages.
    Native,
    XgboostJson,
    XgboostUbj,
    LightgbmText,
    CatboostJson,
    /// Recognised, but not supported.
    Unsupported {
        library: &'static str,
        advice: &'static str,
    },
}

impl FileFormat {
    pub(super) fn detect(bytes: &[u8]) -> FileFormat {
        match bytes {
            [b't', b'r', b'e', b'e', b'\r' | b'\n', ..] => FileFormat::LightgbmText,
            [b'C', b'B', b'M', b'1', ..] => FileFormat::Unsupported {
                library: catboost::LIBRARY,
                advice: "this is CatBoost's binary format; save the model with format=\"json\"",
            },
            [b'b', b'i', b'n', b'f', ..] => FileFormat::Unsupported {
                library: xgboost::LIBRARY,
                advice: "this is XGBoost's old binary format; load it there and save it as .json or .ubj",
            },
            // In UBJ the brace is followed by the length of a key, in JSON by a key or a space.
            [b'{', b'i' | b'U' | b'I' | b'l' | b'L' | b'#' | b'$' | b'N', ..] => {
                FileFormat::XgboostUbj
            }
            _ => by_key(bytes),
        }
    }
}

/// Detects the format of a JSON object by its keys, as far as it can be read.
fn by_key(bytes: &[u8]) -> FileFormat {
    let mut format = None;
    // Reading stops with an error at the first key that decides, or where the file is not JSON. The
    // error itself is not needed.
    let _ = KeyVisitor(&mut format).deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    format.unwrap_or(FileFormat::Native)
}

struct KeyVisitor<'a>(&'a mut Option<FileFormat>);

impl<'de> DeserializeSeed<'de> for KeyVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for KeyVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            *self.0 = match key.as_str() {
                "format" => Some(FileFormat::Native),
                "learner" => Some(FileFormat::XgboostJson),
                "features_info" | "oblivious_trees" => Some(FileFormat::CatboostJson),
                "tree_info" => Some(FileFormat::Unsupported {
                    library: lightgbm::LIBRARY,
                    advice: "this is LightGBM's JSON dump, which cannot be read back; save the model as text with save_model",
                }),
                _ => None,
            };
            if self.0.is_some() {
                return Err(A::Error::custom("known"));
            }
            entries.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_detected() {
        for (bytes, format) in [
            (b"tree\nversion=v4\n".as_slice(), FileFormat::LightgbmText),
            (b"tree\r\nversion=v4\r\n", FileFormat::LightgbmText),
            (b"trees", FileFormat::Native),
            (b"{L\0\0\0\0\0\0\0\x07learner", FileFormat::XgboostUbj),
            (b"{\"version\":[3,2,0],\"learner\":{", FileFormat::XgboostJson),
            (
                b" {\n \"model_info\": {\"a\": [1]}, \"oblivious_trees\": [",
                FileFormat::CatboostJson,
            ),
            (b"{\"format\":\"swarmwood\",\"learner\":1}", FileFormat::Native),
            (b"{\"a\":", FileFormat::Native),
            (b"", FileFormat::Native),
            (b"[1]", FileFormat::Native),
        ] {
            assert_eq!(FileFormat::detect(bytes), format, "{}", String::from_utf8_lossy(bytes));
        }
        assert!(matches!(FileFormat::detect(b"CBM1\0"), FileFormat::Unsupported { .. }));
        assert!(matches!(
            FileFormat::detect(b"{\"name\":\"tree\",\"tree_info\":[]}"),
            FileFormat::Unsupported { .. }
        ));
    }
}
