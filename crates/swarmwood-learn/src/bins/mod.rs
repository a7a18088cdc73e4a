//! From values to bins: every feature becomes at most 255 codes, and code 0 stands for a missing
//! value.
//!
//! [`edges`] cuts numbers, [`levels`] maps category levels, [`bundle`] puts exclusive columns into
//! one, and [`layout`] holds the whole mapping, from raw value to stored byte and from a rule over
//! codes to a split over values.

pub mod bundle;
pub mod edges;
pub mod layout;
pub mod levels;

use crate::rule::Code;
pub use layout::Layout;

/// The code of a missing value, in every feature.
pub const MISSING_CODE: u8 = <u8 as Code>::MISSING;

/// Codes of one stored column, missing included.
pub const CODES: usize = 256;
