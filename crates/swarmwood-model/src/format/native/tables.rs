//! The shape of version 1, as serde sees it. Keys are documented in `docs/model-format.md`.
//!
//! There are no tagged enums here: serde reads those through a buffer that forgets lines and
//! columns. What belongs to the kinds of things is checked when tables become parts of a model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// What all versions share.
#[derive(Deserialize)]
pub(super) struct Header<'a> {
    #[serde(borrow)]
    pub(super) format: Cow<'a, str>,
    pub(super) version: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(rename = "format")]
    pub(super) _format: String,
    #[serde(rename = "version")]
    pub(super) _version: u64,
    pub(super) objective: String,
    pub(super) link: Link,
    pub(super) base: Vec<f64>,
    pub(super) provenance: Provenance,
    pub(super) target: Target,
    pub(super) features: Vec<Feature>,
    pub(super) trees: Option<Vec<Tree>>,
    pub(super) linear: Option<Vec<Linear>>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum Link {
    Identity,
    Exp,
    ExpM1,
    Sigmoid,
    Softmax,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Provenance {
    pub(super) version: String,
    pub(super) method: String,
    pub(super) rows: u64,
    #[serde(deserialize_with = "distinct")]
    pub(super) params: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) classes: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Feature {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) levels: Option<Vec<String>>,
}

/// One tree: a table of rules, a table of leaves.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tree {
    pub(super) kind: TreeKind,
    pub(super) output: u32,
    pub(super) feature: Vec<u32>,
    pub(super) threshold: Vec<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) levels: Option<Vec<Option<Vec<u32>>>>,
    pub(super) missing_right: Vec<Bit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) right: Option<Vec<i64>>,
    pub(super) gain: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cover: Option<Vec<f64>>,
    pub(super) leaf: Vec<f64>,
    pub(super) leaf_cover: Vec<f64>,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum TreeKind {
    Ordinary,
    Oblivious,
}

/// A truth value, written 0 or 1.
#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(into = "u8", try_from = "u8")]
pub(super) struct Bit(pub(super) bool);

impl From<Bit> for u8 {
    fn from(bit: Bit) -> u8 {
        u8::from(bit.0)
    }
}

impl TryFrom<u8> for Bit {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        match number {
            0 => Ok(Bit(false)),
            1 => Ok(Bit(true)),
            _ => Err("expected 0 or 1"),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Linear {
    pub(super) terms: Vec<Term>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Term {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weight: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) centre: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weights: Option<Vec<f64>>,
}

/// A map whose keys are distinct; serde's own would keep the last of equal ones.
fn distinct<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    struct Distinct;
    impl<'de> Visitor<'de> for Distinct {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map from names to text")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = entries.next_entry::<String, String>()? {
                if map.contains_key(&key) {
                    return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
                }
                map.insert(key, value);
            }
            Ok(map)
        }
    }
    deserializer.deserialize_map(Distinct)
}
