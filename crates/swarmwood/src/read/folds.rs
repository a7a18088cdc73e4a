//! Folds of rows: every row is in one of them, and they are stratified by class.

use std::sync::Arc;

use swarmwood_learn::fold_split::FoldSplit;

use super::rows::{RowSet, Rows};
use super::sample::hash;
use crate::{Error, Result};

impl Rows {
    /// The fold of each row, in row order: rows sorted by class and by a hash of their number and
    /// the seed are assigned in turn, so that every fold has its share of each class.
    ///
    /// ```
    /// use swarmwood::read::{ReadOptions, Source, training};
    ///
    /// let csv = Source::Bytes("t.csv".into(), b"x,y\n1,a\n2,a\n3,a\n4,a\n5,b\n6,b\n");
    /// let rows = training(&csv, &ReadOptions { target: "y".into(), ..ReadOptions::default() })?;
    /// let folds = rows.folds(2, 7)?;
    /// assert_eq!(folds[..4].iter().filter(|&&fold| fold == 0).count(), 2);
    /// assert_ne!(folds[4], folds[5]);
    /// # Ok::<(), swarmwood::Error>(())
    /// ```
    pub fn folds(&self, count: usize, seed: u64) -> Result<Vec<usize>> {
        if count < 2 || count > self.rows {
            return Err(Error::Run(format!(
                "{} rows cannot be split into {count} folds",
                self.rows
            )));
        }
        let numbers = self.numbers();
        let position = |row: u64| numbers.binary_search(&row).ok();
        let mut order = Vec::with_capacity(self.rows);
        for mut class in self.rows_by_class() {
            // Neither the sample nor a holdout is drawn with this stream.
            class.sort_unstable_by_key(|&row| hash(row, seed.wrapping_add(2)));
            order.extend(class.into_iter().filter_map(position));
        }
        Ok(FoldSplit::in_turn(&order, count).fold_of_row())
    }

    /// The rows whose index satisfies the condition, without the warnings.
    pub fn subset(&self, contains: impl Fn(usize) -> bool) -> Rows {
        let mut part = RowSet::empty(self.store_rows());
        let mut rows = 0;
        for (_, &row) in self.numbers().iter().enumerate().filter(|&(index, _)| contains(index)) {
            part.set(row as usize);
            rows += 1;
        }
        self.with_part(Arc::new(part), rows)
    }

    /// The numbers of these rows in the store, ascending.
    fn numbers(&self) -> Vec<u64> {
        (0..self.store_rows()).filter(|&row| self.contains(row)).map(|row| row as u64).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::read::{ReadOptions, Source, training};

    #[test]
    fn folds_partition_the_rows_of_a_part() {
        let csv: &'static [u8] = Box::leak(
            (0..103)
                .fold("x,y\n".to_string(), |text, row| {
                    format!("{text}{row},{}\n", ["a", "b", "b"][row % 3])
                })
                .into_bytes()
                .into_boxed_slice(),
        );
        let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
        let whole = training(&Source::Bytes("t.csv".into(), csv), &options).unwrap();
        let (rows, held) = whole.clone().holdout(0.2, 3).unwrap();
        let folds = rows.folds(5, 3).unwrap();
        assert_eq!((folds.len(), rows.rows + held.rows), (rows.rows, 103));
        let mut seen = Vec::new();
        for fold in 0..5 {
            let part = rows.subset(|row| folds[row] == fold);
            assert!((rows.rows / 5..=rows.rows / 5 + 1).contains(&part.rows));
            let mut classes = [0, 0];
            part.for_each_chunk(&mut |chunk| {
                let swarmwood_learn::data::Column::Number(x) = &chunk.columns[0] else { panic!() };
                seen.extend(x.iter().map(|&x| x as usize));
                chunk.target.iter().for_each(|&class| classes[class as usize] += 1);
                Ok(())
            })
            .unwrap();
            assert!(
                (5..=6).contains(&classes[0]) && (10..=12).contains(&classes[1]),
                "{classes:?}"
            );
        }
        seen.sort_unstable();
        let mut held_rows = Vec::new();
        held.for_each_chunk(&mut |chunk| {
            let swarmwood_learn::data::Column::Number(x) = &chunk.columns[0] else { panic!() };
            held_rows.extend(x.iter().map(|&x| x as usize));
            Ok(())
        })
        .unwrap();
        assert!(held_rows.iter().all(|row| seen.binary_search(row).is_err()));
        assert_eq!(seen.len() + held_rows.len(), 103);
        assert_eq!(rows.folds(5, 3).unwrap(), folds);
        assert_ne!(rows.folds(5, 4).unwrap(), folds);
        assert!(rows.folds(1, 0).is_err() && rows.folds(1000, 0).is_err());
    }
}
