//! From values to bins: every feature becomes at most 255 codes, and code 0 stands for a missing
//! value. Only where each distinct value has a code ([`Layout::fit_distinct`]) may a number have
//! more, which then take more than a byte.
//!
//! [`edges`] cuts numbers, [`levels`] maps category levels, [`bundle`] puts exclusive columns into
//! one, [`distinct`] collects values, and [`layout`] holds the whole mapping, from raw value to
//! stored code and from a rule over codes to a split over values.

pub mod bundle;
pub mod distinct;
pub mod edges;
mod given;
pub mod layout;
pub mod levels;

use crate::rule::Code;
pub(crate) use given::GivenRule;
pub use layout::Layout;

/// The code of a missing value, in every feature.
pub const MISSING_CODE: u8 = <u8 as Code>::MISSING;

/// Codes of one stored column, missing included.
pub const CODES: usize = 256;
