//! All finished trials of a search with their coordinates, ranked by loss.
//!
//! A new trial is inserted at its rank, so that nothing is ever sorted again. Failures rank last.

use crate::error::Error;
use crate::point::{Point, PointValue};
use crate::position_matrix::PositionMatrix;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::trial_log::FinishedTrial;

/// Finished trials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrialArchive {
    points: Vec<Point>,
    losses: Vec<Option<f64>>,
    /// The coordinates of the points in the unit cube; NaN where a parameter is inactive.
    rows: PositionMatrix,
    /// The trials, best first; among equal losses the oldest, failures last.
    order: Vec<usize>,
    /// Number of trials with a loss.
    known: usize,
}

impl TrialArchive {
    pub(crate) fn new(space: &Space) -> Self {
        TrialArchive {
            points: Vec::new(),
            losses: Vec::new(),
            rows: PositionMatrix::new(space.len()),
            order: Vec::new(),
            known: 0,
        }
    }

    /// Adds a trial.
    pub(crate) fn push(&mut self, space: &Space, finished: FinishedTrial) {
        let FinishedTrial { point, loss, .. } = finished;
        self.rows.push(&coordinates(space, &point));
        let rank = match loss {
            Some(loss) => self.order[..self.known]
                .partition_point(|&i| self.losses[i].is_some_and(|other| other <= loss)),
            None => self.order.len(),
        };
        self.order.insert(rank, self.points.len());
        self.known += usize::from(loss.is_some());
        self.points.push(point);
        self.losses.push(loss);
    }

    /// Number of trials, failures included.
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    /// The trials with a loss, best first.
    pub(crate) fn ranked(&self) -> &[usize] {
        &self.order[..self.known]
    }

    pub(crate) fn point(&self, trial: usize) -> &Point {
        &self.points[trial]
    }

    pub(crate) fn loss(&self, trial: usize) -> Option<f64> {
        self.losses[trial]
    }

    /// The coordinates of a trial; NaN where a parameter is inactive.
    pub(crate) fn row(&self, trial: usize) -> &[f64] {
        self.rows.row(trial)
    }

    pub(crate) fn save(&self) -> Datum {
        let trial = |(point, loss): (&Point, &Option<f64>)| {
            Datum::List(vec![Datum::point(point), Datum::optional(*loss)])
        };
        Datum::List(self.points.iter().zip(&self.losses).map(trial).collect())
    }

    /// The trials that [`TrialArchive::save`] stored, in order, for methods that derive state from
    /// them.
    pub(crate) fn trials(space: &Space, data: &Datum) -> Result<Vec<FinishedTrial>, Error> {
        let trial = |datum: &Datum| {
            let [point, loss] = datum.tuple()?;
            let loss = loss.to_optional()?.filter(|loss| loss.is_finite());
            Ok(FinishedTrial { id: 0, point: point.to_point(space)?, loss })
        };
        data.list()?.iter().map(trial).collect()
    }

    pub(crate) fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let mut archive = TrialArchive::new(space);
        TrialArchive::trials(space, data)?
            .into_iter()
            .for_each(|finished| archive.push(space, finished));
        Ok(archive)
    }
}

/// The coordinates of a point in the unit cube; NaN where a parameter is inactive.
pub(crate) fn coordinates(space: &Space, point: &Point) -> Vec<f64> {
    let one = |(i, value): (usize, &PointValue)| space.coordinate(i, *value).unwrap_or(f64::NAN);
    point.0.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;

    #[test]
    fn trials_are_ranked_by_loss_then_age() {
        let space = Space::new(vec![Param::integer("i", 0, 9)]).unwrap();
        let mut archive = TrialArchive::new(&space);
        for (i, loss) in
            [Some(2.0), None, Some(1.0), Some(2.0), Some(-1.0), None].into_iter().enumerate()
        {
            let point = Point(vec![PointValue::Integer(i as i64)]);
            archive.push(&space, FinishedTrial { id: i as u64, point, loss });
        }
        assert_eq!(archive.ranked(), [4, 2, 0, 3]);
        assert_eq!((archive.order.as_slice(), archive.len()), (&[4, 2, 0, 3, 1, 5][..], 6));
        assert_eq!((archive.row(4), archive.loss(1)), (&[0.45][..], None));
        assert_eq!(TrialArchive::load(&space, &archive.save()), Ok(archive));
    }
}
