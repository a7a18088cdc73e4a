//! The whole points that leaves may have.

use super::value::ParamType;
use crate::message::ParamValue;

/// The largest number of points.
const MOST_POINTS: u32 = 10_000;

/// The whole points that leaves may have: from 0 to a largest number, or any real value.
///
/// ```
/// use swarmwood::params::Params;
/// let mut params = Params::default();
/// assert_eq!(params.points.most(), None);
/// params.set("points", "0..100")?;
/// assert_eq!(params.points.most(), Some(100));
/// # Ok::<(), swarmwood::error::Violation>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PointsRange(Option<u32>);

impl PointsRange {
    /// The values that are understood, for messages.
    pub(super) const ALLOWED: &'static str =
        "none, or a range of whole numbers from 0 to at most 10000 such as 0..100";

    /// The largest number of points; `None` for leaf values of any kind.
    pub fn most(self) -> Option<u32> {
        self.0
    }
}

impl ParamType for PointsRange {
    fn read(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(PointsRange(None));
        }
        let most = text.strip_prefix("0..").unwrap_or(text);
        let most = most.parse().ok().filter(|most| (1..=MOST_POINTS).contains(most))?;
        Some(PointsRange(Some(most)))
    }

    fn convert(value: &ParamValue) -> Option<Self> {
        match value {
            ParamValue::Integer(number) => PointsRange::read(&number.to_string()),
            _ => None,
        }
    }

    fn show(&self) -> String {
        self.0.map_or("none".to_string(), |most| format!("0..{most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_nonsense_is_refused() {
        for text in ["none", "0..1", "0..100", "0..10000"] {
            assert_eq!(PointsRange::read(text).map(|range| range.show()), Some(text.to_string()));
        }
        assert_eq!(PointsRange::read("50").and_then(PointsRange::most), Some(50));
        for text in ["", "0..0", "1..100", "0..10001", "0..-1", "100..0", "0..1.5"] {
            assert_eq!(PointsRange::read(text), None, "{text}");
        }
    }
}
