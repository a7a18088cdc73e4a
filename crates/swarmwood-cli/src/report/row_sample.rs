//! The rows of `--data` in memory, or an even sample of them, for the parts of the page that need
//! values and not only predictions.

use swarmwood::Result;
use swarmwood::learn::data::{Chunk, Column, MISSING};
use swarmwood::model::Kind;
use swarmwood::read::Rows;

/// Maximum number of rows in memory.
const MAX_ROWS: usize = 10_000;

/// Every `step`-th row.
#[derive(Debug)]
pub struct RowSample {
    pub chunk: Chunk,
    /// Rows of the file per row of the sample.
    pub step: usize,
}

impl RowSample {
    /// Takes the rows, or every second, third … one if there are many.
    pub fn new(rows: &Rows) -> Result<RowSample> {
        let step = rows.rows.div_ceil(MAX_ROWS).max(1);
        let columns = rows.schema.features.iter().map(|feature| match feature.kind {
            Kind::Number => Column::Number(Vec::new()),
            Kind::Category { .. } => Column::Category(Vec::new()),
        });
        let mut sample =
            Chunk { columns: columns.collect(), target: Vec::new(), weight: Vec::new(), rows: 0 };

        let mut skipped = 0;
        rows.for_each_chunk(&mut |chunk: &Chunk| {
            let kept: Vec<usize> =
                (0..chunk.rows).filter(|row| (skipped + row) % step == 0).collect();
            skipped += chunk.rows;
            take(chunk, &kept, &mut sample);
            Ok(())
        })?;
        Ok(RowSample { chunk: sample, step })
    }

    /// The rows that a part of the page uses: at most so many, evenly spaced.
    pub fn thinned(&self, most: usize) -> Chunk {
        let step = self.chunk.rows.div_ceil(most.max(1)).max(1);
        let kept: Vec<usize> = (0..self.chunk.rows).step_by(step).collect();
        let columns = self.chunk.columns.iter().map(|column| match column {
            Column::Number(_) => Column::Number(Vec::new()),
            Column::Category(_) => Column::Category(Vec::new()),
        });
        let mut thin =
            Chunk { columns: columns.collect(), target: Vec::new(), weight: Vec::new(), rows: 0 };
        take(&self.chunk, &kept, &mut thin);
        thin
    }
}

/// Appends some rows of a chunk to another one.
fn take(from: &Chunk, rows: &[usize], to: &mut Chunk) {
    for (to, from) in to.columns.iter_mut().zip(&from.columns) {
        match (to, from) {
            (Column::Number(to), Column::Number(from)) => {
                to.extend(rows.iter().map(|row| from[*row]));
            }
            (Column::Category(to), Column::Category(from)) => {
                to.extend(rows.iter().map(|row| from[*row]));
            }
            // Chunks of one file agree on the kinds of their columns.
            _ => {}
        }
    }
    to.target.extend(rows.iter().filter_map(|row| from.target.get(*row)));
    to.weight.extend(rows.iter().filter_map(|row| from.weight.get(*row)));
    to.rows += rows.len();
}

/// The code of a level in a column, `None` if it is missing or unknown to the model.
pub fn known_level(code: u32, levels: usize) -> Option<usize> {
    (code != MISSING && (code as usize) < levels).then_some(code as usize)
}

#[cfg(test)]
mod tests {
    use swarmwood::read::{ReadOptions, Source, training};

    use super::*;

    #[test]
    fn a_sample_has_evenly_spaced_rows() {
        let mut csv = String::from("number,level,y\n");
        for row in 0..25_000 {
            csv.push_str(&format!("{row},{},{}\n", ["a", "b"][row % 2], row % 7));
        }
        let source = Source::Bytes("rows.csv".into(), csv.leak().as_bytes());
        let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
        let rows = training(&source, &options).unwrap();
        let sample = RowSample::new(&rows).unwrap();
        assert_eq!((sample.step, sample.chunk.rows), (3, 8334));
        let Column::Number(numbers) = &sample.chunk.columns[0] else { panic!("not numbers") };
        assert_eq!(numbers[..3], [0.0, 3.0, 6.0]);
        assert_eq!(sample.chunk.target[..3], [0.0, 3.0, 6.0]);

        let thin = sample.thinned(100);
        assert_eq!((thin.rows, thin.target.len()), (100, 100));
    }
}
