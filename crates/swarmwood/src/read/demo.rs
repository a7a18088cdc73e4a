//! A data set that comes inside a package.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::Source;

/// Red wine quality (Cortez et al. 2009) as CSV: 1599 wines, eleven measurements, the target
/// `quality` from 3 to 8.
///
/// ```
/// use swarmwood::read::{ReadOptions, demo, training};
///
/// let rows = training(&demo(), &ReadOptions { target: "quality".into(), ..ReadOptions::default() })?;
/// assert_eq!((rows.rows, rows.schema.features.len()), (1599, 11));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn demo() -> Source {
    static CSV: OnceLock<String> = OnceLock::new();
    let csv = CSV.get_or_init(|| {
        let wines = linfa_datasets::winequality();
        let mut csv = String::new();
        for name in wines.feature_names() {
            csv.push_str(name);
            csv.push(',');
        }
        csv.push_str("quality\n");
        for (measurements, quality) in wines.records().rows().into_iter().zip(wines.targets()) {
            for value in measurements {
                // Writing to a string cannot fail.
                let _ = write!(csv, "{value},");
            }
            let _ = writeln!(csv, "{quality}");
        }
        csv
    });
    Source::Bytes(String::from("red wine quality (demo)"), csv.as_bytes())
}
