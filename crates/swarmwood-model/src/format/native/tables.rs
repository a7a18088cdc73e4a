//! The serde types of versions 1 to 3. Keys are documented in `docs/model-format.md`.
//!
//! There are no tagged enums here: serde reads those through a buffer that loses line and column of
//! an error. Which keys belong to which kind is checked when the records are converted to a model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The keys that all versions share.
#[derive(Deserialize)]
pub(super) struct FileHeader<'a> {
    #[serde(borrow)]
    pub(super) format: Cow<'a, str>,
    pub(super) version: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelRecord {
    #[serde(rename = "format")]
    pub(super) _format: String,
    #[serde(rename = "version")]
    pub(super) _version: u64,
    pub(super) objective: String,
    pub(super) link: LinkName,
    pub(super) base: Vec<f64>,
    pub(super) provenance: ProvenanceRecord,
    pub(super) target: TargetRecord,
    /// Version 3.
    pub(super) threshold: Option<f64>,
    /// Version 3.
    pub(super) interval: Option<IntervalRecord>,
    /// Version 3.
    pub(super) class_sets: Option<ClassSetsRecord>,
    /// Version 3.
    pub(super) points_unit: Option<f64>,
    /// Version 3.
    #[serde(default)]
    pub(super) dates: Vec<DateRecord>,
    pub(super) features: Vec<FeatureRecord>,
    pub(super) trees: Option<Vec<TreeRecord>>,
    pub(super) linear: Option<Vec<LinearRecord>>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum LinkName {
    Identity,
    Exp,
    ExpM1,
    Sigmoid,
    Softmax,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProvenanceRecord {
    pub(super) version: String,
    pub(super) method: String,
    pub(super) rows: u64,
    #[serde(deserialize_with = "distinct")]
    pub(super) params: BTreeMap<String, String>,
    /// Version 3: by tree and leaf, rows by class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) leaf_rows: Vec<Vec<Vec<u64>>>,
    /// Version 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) distributions: Vec<DistributionRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DistributionRecord {
    pub(super) feature: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) edges: Vec<f64>,
    pub(super) counts: Vec<u64>,
    pub(super) missing: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DateRecord {
    pub(super) name: String,
    pub(super) format: String,
    pub(super) origin: String,
    pub(super) parts: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetRecord {
    pub(super) name: String,
    /// Version 3: the columns of a target of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) columns: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) classes: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IntervalRecord {
    pub(super) level: f64,
    pub(super) half_width: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scale: Option<TreeRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassSetsRecord {
    pub(super) level: f64,
    pub(super) min_probability: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FeatureRecord {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) levels: Option<Vec<String>>,
}

/// One tree as columns: some with one entry per split, some with one entry per leaf.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeRecord {
    pub(super) kind: TreeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<u32>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) leaf: Option<Vec<f64>>,
    /// Version 2: the values of a vector tree, one list per leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) values: Option<Vec<Vec<f64>>>,
    pub(super) leaf_cover: Vec<f64>,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum TreeKind {
    Ordinary,
    Oblivious,
    /// Version 2.
    Vector,
}

/// A boolean, written as 0 or 1.
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
pub(super) struct LinearRecord {
    pub(super) terms: Vec<TermRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TermRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weight: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) centre: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weights: Option<Vec<f64>>,
}

/// Reads a map with distinct keys; serde's own would silently keep the last of equal keys.
fn distinct<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    struct DistinctVisitor;
    impl<'de> Visitor<'de> for DistinctVisitor {
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
    deserializer.deserialize_map(DistinctVisitor)
}
