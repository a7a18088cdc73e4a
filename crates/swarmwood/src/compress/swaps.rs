//! More rows for a teacher to label: MUNGE (Bucila, Caruana, Niculescu-Mizil 2006), with exchanged
//! values only.
//!
//! An extra row is a row of the data in which each value is, with probability one half, that of a near
//! neighbour. Every value is one that occurs in its column, so that numbers keep their grid and
//! levels stay levels. The published method also adds noise to numbers.

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::pool::Pool;
use swarmwood_search::rng::Stream;

use super::neighbours::neighbours;

/// Neighbours that values are taken from.
const NEIGHBOURS: usize = 5;

/// The round of the random streams, apart from those of the search.
const ROUND: u64 = 0x5357_4150;

/// Draws extra rows from those of a chunk.
pub(super) struct NeighbourSwaps<'a> {
    chunk: &'a Chunk,
    neighbours: Vec<Vec<u32>>,
    seed: u64,
}

impl<'a> NeighbourSwaps<'a> {
    /// Finds the neighbours of all rows.
    pub(super) fn new(chunk: &'a Chunk, seed: u64, pool: &Pool) -> NeighbourSwaps<'a> {
        let neighbours = neighbours(&chunk.columns, chunk.rows, NEIGHBOURS, pool);
        NeighbourSwaps { chunk, neighbours, seed }
    }

    /// One extra row for each row: for each column the positions that values are taken from.
    pub(super) fn pass(&self, pass: usize) -> Vec<Vec<u32>> {
        let mut sources = vec![Vec::with_capacity(self.chunk.rows); self.chunk.columns.len()];
        for (row, near) in self.neighbours.iter().enumerate() {
            let item = (pass * self.chunk.rows + row) as u64;
            let mut stream = Stream::new(self.seed, ROUND, item);
            let own = row as u32;
            let other = match near.len() {
                0 => own,
                count => near[stream.below(count as u64) as usize],
            };
            for sources in &mut sources {
                sources.push(if stream.below(2) == 0 { own } else { other });
            }
        }
        sources
    }
}

/// The rows whose values are at these positions, without targets and weights.
pub(super) fn rows_at(chunk: &Chunk, sources: &[Vec<u32>]) -> Chunk {
    let at = |row: &u32| *row as usize;
    let column = |(column, sources): (&Column, &Vec<u32>)| match column {
        Column::Number(values) => {
            Column::Number(sources.iter().map(|row| values[at(row)]).collect())
        }
        Column::Category(codes) => {
            Column::Category(sources.iter().map(|row| codes[at(row)]).collect())
        }
    };
    let rows = sources.first().map_or(0, Vec::len);
    let columns = chunk.columns.iter().zip(sources).map(column).collect();
    Chunk { columns, rows, ..Chunk::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_rows_mix_two_near_rows_and_follow_from_the_seed() {
        let numbers: Vec<f64> = (0..40).map(f64::from).collect();
        let columns = vec![Column::Number(numbers); 6];
        let chunk = Chunk { columns, rows: 40, ..Chunk::default() };
        let pool = Pool::new(2).unwrap();
        let swaps = NeighbourSwaps::new(&chunk, 7, &pool);
        let first = swaps.pass(0);

        for row in 0..40 {
            let mut values: Vec<u32> = first.iter().map(|sources| sources[row]).collect();
            values.sort_unstable();
            values.dedup();
            assert!(values.len() <= 2, "row {row}: {values:?}");
            assert!(values.iter().all(|&value| value.abs_diff(row as u32) <= 5));
        }
        assert_ne!(first, swaps.pass(1));
        assert_eq!(first, NeighbourSwaps::new(&chunk, 7, &Pool::new(1).unwrap()).pass(0));
        assert_ne!(first, NeighbourSwaps::new(&chunk, 8, &pool).pass(0));
    }
}
