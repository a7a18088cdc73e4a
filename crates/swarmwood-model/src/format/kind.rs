//! Whose file it is, told by its first bytes or by the first key that only one format has.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserializer, de::DeserializeSeed};

use super::{catboost, lightgbm, xgboost};

/// A format that is known, if only by sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Ours; also taken for whatever nobody else claims, because its reader says best what is
    /// wrong.
    Native,
    XgboostJson,
    XgboostUbj,
    LightgbmText,
    CatboostJson,
    /// Known, but in a form that is not read.
    Unread {
        library: &'static str,
        advice: &'static str,
    },
}

impl Format {
    pub(super) fn of(bytes: &[u8]) -> Format {
        match bytes {
            [b't', b'r', b'e', b'e', b'\r' | b'\n', ..] => Format::LightgbmText,
            [b'C', b'B', b'M', b'1', ..] => Format::Unread {
                library: catboost::LIBRARY,
                advice: "this is CatBoost's binary format; save the model with format=\"json\"",
            },
            [b'b', b'i', b'n', b'f', ..] => Format::Unread {
                library: xgboost::LIBRARY,
                advice: "this is XGBoost's old binary format; load it there and save it as .json or .ubj",
            },
            // What follows the brace is the length of a key here, and a key or a space in JSON.
            [b'{', b'i' | b'U' | b'I' | b'l' | b'L' | b'#' | b'$' | b'N', ..] => Format::XgboostUbj,
            _ => by_key(bytes),
        }
    }
}

/// The format of a JSON object: as far as it can be read, its keys tell.
fn by_key(bytes: &[u8]) -> Format {
    let mut found = None;
    // Reading stops at the first key that tells, with an error nobody sees; so does a file that is
    // no JSON.
    let _ = Keys(&mut found).deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    found.unwrap_or(Format::Native)
}

struct Keys<'a>(&'a mut Option<Format>);

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            *self.0 = match key.as_str() {
                "format" => Some(Format::Native),
                "learner" => Some(Format::XgboostJson),
                "features_info" | "oblivious_trees" => Some(Format::CatboostJson),
                "tree_info" => Some(Format::Unread {
                    library: lightgbm::LIBRARY,
                    advice: "this is LightGBM's JSON dump, which is for people; save the model as text with save_model",
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
    fn formats_are_told_apart() {
        for (bytes, format) in [
            (b"tree\nversion=v4\n".as_slice(), Format::LightgbmText),
            (b"tree\r\nversion=v4\r\n", Format::LightgbmText),
            (b"trees", Format::Native),
            (b"{L\0\0\0\0\0\0\0\x07learner", Format::XgboostUbj),
            (b"{\"version\":[3,2,0],\"learner\":{", Format::XgboostJson),
            (b" {\n \"model_info\": {\"a\": [1]}, \"oblivious_trees\": [", Format::CatboostJson),
            (b"{\"format\":\"swarmwood\",\"learner\":1}", Format::Native),
            (b"{\"a\":", Format::Native),
            (b"", Format::Native),
            (b"[1]", Format::Native),
        ] {
            assert_eq!(Format::of(bytes), format, "{}", String::from_utf8_lossy(bytes));
        }
        assert!(matches!(Format::of(b"CBM1\0"), Format::Unread { .. }));
        assert!(matches!(
            Format::of(b"{\"name\":\"tree\",\"tree_info\":[]}"),
            Format::Unread { .. }
        ));
    }
}
