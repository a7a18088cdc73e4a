//! Everything a search has learned, kept in order: trials with their coordinates, best first.
//!
//! A new trial is put into its place, so that the order is never made anew. Failures stand last.

use crate::error::Error;
use crate::ledger::Settled;
use crate::point::{Point, Value};
use crate::rows::Rows;
use crate::snapshot::Datum;
use crate::space::Space;

/// Settled trials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Archive {
    points: Vec<Point>,
    losses: Vec<Option<f64>>,
    /// The coordinates of the points; NaN where a parameter has no value.
    rows: Rows,
    /// The trials, best first; of equals the oldest, and failures last.
    order: Vec<usize>,
    /// How many have a loss.
    known: usize,
}

impl Archive {
    pub(crate) fn new(space: &Space) -> Self {
        Archive {
            points: Vec::new(),
            losses: Vec::new(),
            rows: Rows::new(space.len()),
            order: Vec::new(),
            known: 0,
        }
    }

    /// Adds a trial.
    pub(crate) fn push(&mut self, space: &Space, settled: Settled) {
        let Settled { point, loss, .. } = settled;
        self.rows.push(&coordinates(space, &point));
        let place = match loss {
            Some(loss) => self.order[..self.known]
                .partition_point(|&i| self.losses[i].is_some_and(|other| other <= loss)),
            None => self.order.len(),
        };
        self.order.insert(place, self.points.len());
        self.known += usize::from(loss.is_some());
        self.points.push(point);
        self.losses.push(loss);
    }

    /// How many trials there are, failures included.
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    /// The trials that have a loss, best first.
    pub(crate) fn ranked(&self) -> &[usize] {
        &self.order[..self.known]
    }

    pub(crate) fn point(&self, trial: usize) -> &Point {
        &self.points[trial]
    }

    pub(crate) fn loss(&self, trial: usize) -> Option<f64> {
        self.losses[trial]
    }

    /// The coordinates of a trial; NaN where a parameter has no value.
    pub(crate) fn row(&self, trial: usize) -> &[f64] {
        self.rows.row(trial)
    }

    pub(crate) fn save(&self) -> Datum {
        let trial = |(point, loss): (&Point, &Option<f64>)| {
            Datum::List(vec![Datum::point(point), Datum::optional(*loss)])
        };
        Datum::List(self.points.iter().zip(&self.losses).map(trial).collect())
    }

    /// The trials that [`Archive::save`] stored, in their order; whoever derives something from
    /// them adds them again.
    pub(crate) fn trials(space: &Space, data: &Datum) -> Result<Vec<Settled>, Error> {
        let trial = |datum: &Datum| {
            let [point, loss] = datum.tuple()?;
            let loss = loss.to_optional()?.filter(|loss| loss.is_finite());
            Ok(Settled { id: 0, point: point.to_point(space)?, loss })
        };
        data.list()?.iter().map(trial).collect()
    }

    pub(crate) fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let mut archive = Archive::new(space);
        Archive::trials(space, data)?.into_iter().for_each(|settled| archive.push(space, settled));
        Ok(archive)
    }
}

/// The coordinates of a point; NaN where a parameter has no value.
pub(crate) fn coordinates(space: &Space, point: &Point) -> Vec<f64> {
    let one = |(i, value): (usize, &Value)| space.coordinate(i, *value).unwrap_or(f64::NAN);
    point.0.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;

    #[test]
    fn trials_stand_in_order_of_loss_then_age() {
        let space = Space::new(vec![Param::integer("i", 0, 9)]).unwrap();
        let mut archive = Archive::new(&space);
        for (i, loss) in
            [Some(2.0), None, Some(1.0), Some(2.0), Some(-1.0), None].into_iter().enumerate()
        {
            let point = Point(vec![Value::Integer(i as i64)]);
            archive.push(&space, Settled { id: i as u64, point, loss });
        }
        assert_eq!(archive.ranked(), [4, 2, 0, 3]);
        assert_eq!((archive.order.as_slice(), archive.len()), (&[4, 2, 0, 3, 1, 5][..], 6));
        assert_eq!((archive.row(4), archive.loss(1)), (&[0.45][..], None));
        assert_eq!(Archive::load(&space, &archive.save()), Ok(archive));
    }
}
