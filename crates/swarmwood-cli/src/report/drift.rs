//! How far the distributions of features in the rows are from those of the training rows.

use swarmwood::Result;
use swarmwood::learn::data::Column;
use swarmwood::model::{Distribution, Model};
use swarmwood::read::Rows;

use super::html::{Html, TableCell, details, note, table};
use crate::format::{self, grouped_count};

/// Features in the first table.
const LISTED: usize = 12;

/// Above these values drift is usually called moderate and large.
const MODERATE: f64 = 0.1;
const LARGE: f64 = 0.25;

/// Drift that chance alone explains is below so many times what is expected of it.
const CHANCE: f64 = 2.0;

/// The drift of one feature.
struct FeatureDrift {
    name: String,
    index: f64,
    /// What is expected without drift.
    by_chance: f64,
    missing: (f64, f64),
}

/// The population stability index of every feature that the model uses.
pub fn drift(model: &Model, rows: &Rows) -> Result<Html> {
    let stats = &model.provenance.stats.distributions;
    let mut counts: Vec<Counts> = stats.iter().map(Counts::new).collect();
    rows.for_each_chunk(&mut |chunk| {
        for (counts, distribution) in counts.iter_mut().zip(stats) {
            counts.add(distribution, &chunk.columns[distribution.feature as usize]);
        }
        Ok(())
    })?;

    let found = stats.iter().zip(&counts).filter_map(|(distribution, counts)| {
        let index = distribution.stability_index(&counts.bins, counts.missing)?;
        let (old, new) = (total(&distribution.counts, distribution.missing), counts.rows());
        if old == 0.0 || new == 0.0 {
            return None;
        }
        let bins = distribution.counts.len() as f64;
        Some(FeatureDrift {
            name: model.schema.features[distribution.feature as usize].name.clone(),
            index,
            by_chance: (bins - 1.0).max(1.0) * (1.0 / old + 1.0 / new),
            missing: (distribution.missing as f64 / old, counts.missing as f64 / new),
        })
    });
    let mut found: Vec<FeatureDrift> = found.collect();
    found.sort_by(|one, other| other.index.total_cmp(&one.index));
    Ok(drift_table(&found))
}

fn drift_table(found: &[FeatureDrift]) -> Html {
    if found.is_empty() {
        return Html::default();
    }
    let greatest = found.iter().map(|one| one.index).fold(LARGE, f64::max);
    let line = |one: &FeatureDrift| {
        let missing = match one.missing {
            (0.0, 0.0) => String::new(),
            (old, new) => format!("{} → {}", format::percent(old), format::percent(new)),
        };
        vec![
            TableCell::text(one.name.clone()),
            TableCell::Bar(one.index / greatest, format!("{:.3}", one.index)),
            TableCell::text(one.verdict()),
            TableCell::number(format!("{:.3}", one.by_chance)),
            TableCell::number(missing),
        ]
    };
    let lines: Vec<Vec<TableCell>> = found.iter().map(line).collect();
    let heads = ["feature", "PSI", "drift", "PSI by chance", "missing"];
    let (first, rest) = lines.split_at(lines.len().min(LISTED));
    let more = details(
        &grouped_count(rest.len() as u64, "more feature"),
        false,
        table("Other features", &heads, rest),
    );
    let hint = "The population stability index compares the shares of these rows with those of the \
                training rows: in ten bins of the training rows, or by level. Up to 0.1 there is \
                little drift, above 0.25 much; 'PSI by chance' is what rows without drift have on \
                average.";
    table("Drift of the features since training", &heads, first).and(more).and(note(hint))
}

impl FeatureDrift {
    fn verdict(&self) -> &'static str {
        match self.index {
            index if index <= MODERATE || index <= CHANCE * self.by_chance => "little",
            index if index <= LARGE => "moderate",
            _ => "large",
        }
    }
}

/// The rows in the bins of a distribution.
struct Counts {
    bins: Vec<u64>,
    missing: u64,
}

impl Counts {
    fn new(distribution: &Distribution) -> Counts {
        Counts { bins: vec![0; distribution.counts.len()], missing: 0 }
    }

    fn add(&mut self, distribution: &Distribution, column: &Column) {
        let mut count = |bin: Option<usize>| match bin.and_then(|bin| self.bins.get_mut(bin)) {
            Some(bin) => *bin += 1,
            None => self.missing += 1,
        };
        match column {
            Column::Number(values) => values.iter().for_each(|&value| {
                count((!value.is_nan()).then(|| distribution.bin(value)));
            }),
            // A level that the model does not know is missing, and has no bin.
            Column::Category(codes) => codes.iter().for_each(|&code| count(Some(code as usize))),
        }
    }

    fn rows(&self) -> f64 {
        total(&self.bins, self.missing)
    }
}

fn total(counts: &[u64], missing: u64) -> f64 {
    (counts.iter().sum::<u64>() + missing) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_in_the_bins_of_training() {
        let distribution =
            Distribution { feature: 0, edges: vec![1.0, 2.0], counts: vec![5, 5, 5], missing: 0 };
        let mut counts = Counts::new(&distribution);
        counts.add(&distribution, &Column::Number(vec![0.0, 1.0, 1.5, 9.0, f64::NAN]));
        assert_eq!((counts.bins.as_slice(), counts.missing), (&[2, 1, 1][..], 1));
        let levels = Distribution { feature: 0, edges: vec![], counts: vec![5, 5], missing: 0 };
        let mut counts = Counts::new(&levels);
        counts.add(&levels, &Column::Category(vec![0, 1, 1, u32::MAX]));
        assert_eq!((counts.bins.as_slice(), counts.missing), (&[1, 2][..], 1));
    }

    #[test]
    fn chance_is_no_drift() {
        let drift = |index, by_chance| FeatureDrift {
            name: "<x>".into(),
            index,
            by_chance,
            missing: (0.0, 0.5),
        };
        assert_eq!(drift(0.05, 0.01).verdict(), "little");
        assert_eq!(drift(0.3, 0.2).verdict(), "little");
        assert_eq!(drift(0.2, 0.01).verdict(), "moderate");
        assert_eq!(drift(0.9, 0.01).verdict(), "large");
        let html = drift_table(&[drift(0.9, 0.01)]);
        assert!(html.as_str().contains("&lt;x&gt;") && html.as_str().contains("0.0 % → 50.0 %"));
    }
}
