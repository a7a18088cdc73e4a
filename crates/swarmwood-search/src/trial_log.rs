//! The bookkeeping that every engine needs: running and finished trials, points seen, the best.
//!
//! Results wait here until the engine fetches them with `TrialLog::take_finished`, which returns
//! them in id order. This makes the order of arrival irrelevant: an engine that learns only from
//! `take_finished` is deterministic by construction. External trials (`TrialLog::add_external`)
//! have ids of their own, which come after those of the engine.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::BestTrial;
use crate::error::Error;
use crate::point::Point;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::trial::{ExternalTrial, FIRST_EXTERNAL_ID, Trial, TrialResult};

/// A trial that has been evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedTrial {
    /// Id of the trial.
    pub id: u64,
    /// Its configuration.
    pub point: Point,
    /// Its loss; `None` if it failed.
    pub loss: Option<f64>,
}

/// Running trials, results that were not fetched yet, points seen, and the best trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrialLog {
    next: u64,
    running: BTreeMap<u64, Point>,
    /// Results that the engine has not fetched yet.
    finished: BTreeMap<u64, (Point, Option<f64>)>,
    best: Option<(u64, f64, Point)>,
    /// Fingerprints rather than points: sixteen bytes per trial, whatever the dimension.
    seen: BTreeSet<u128>,
    /// External trials that are running, by fingerprint.
    external_running: BTreeMap<u128, Point>,
    /// Number of external trials that finished.
    external_finished: u64,
}

impl TrialLog {
    /// An empty log.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The id of the next trial.
    pub fn next_id(&self) -> u64 {
        self.next
    }

    /// Number of different points seen, external ones included.
    pub(crate) fn distinct_points(&self) -> usize {
        self.seen.len()
    }

    /// Number of own trials that are running.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// The points being evaluated: own running trials in id order, then external ones.
    pub fn pending(&self) -> impl Iterator<Item = &Point> {
        self.running.values().chain(self.external_running.values())
    }

    /// Whether the point was asked before, by this engine or externally.
    pub fn has_seen(&self, point: &Point) -> bool {
        self.has_seen_fingerprint(point.fingerprint())
    }

    /// [`TrialLog::has_seen`] for callers that know the fingerprint, the expensive part for points
    /// with many parameters.
    pub(crate) fn has_seen_fingerprint(&self, fingerprint: u128) -> bool {
        self.seen.contains(&fingerprint)
    }

    /// Creates a running trial.
    pub(crate) fn create_trial(&mut self, point: Point) -> Trial {
        let fingerprint = point.fingerprint();
        self.create_trial_with(point, fingerprint)
    }

    /// [`TrialLog::create_trial`] for callers that know the fingerprint.
    pub(crate) fn create_trial_with(&mut self, point: Point, fingerprint: u128) -> Trial {
        let id = self.next;
        self.next += 1;
        self.seen.insert(fingerprint);
        self.running.insert(id, point.clone());
        Trial { id, point }
    }

    /// Records results in any order; unknown and already finished trials are ignored.
    pub(crate) fn tell(&mut self, results: &[TrialResult]) {
        for result in results {
            let Some(point) = self.running.remove(&result.id()) else { continue };
            self.record(result.id(), point, result.loss());
        }
    }

    /// Records an external trial; a point outside the space is ignored.
    pub(crate) fn add_external(&mut self, space: &Space, trial: ExternalTrial) {
        if !space.contains(trial.point()) {
            return;
        }
        let fingerprint = trial.point().fingerprint();
        self.seen.insert(fingerprint);

        match trial {
            ExternalTrial::Running { point } => {
                self.external_running.insert(fingerprint, point);
            }
            ExternalTrial::Complete { point, loss } => {
                self.external_running.remove(&fingerprint);
                let id = FIRST_EXTERNAL_ID.saturating_add(self.external_finished);
                self.external_finished = self.external_finished.saturating_add(1);
                self.record(id, point, loss.filter(|loss| loss.is_finite()));
            }
        }
    }

    fn record(&mut self, id: u64, point: Point, loss: Option<f64>) {
        if let Some(loss) = loss
            && self.best.as_ref().is_none_or(|(first, least, _)| (loss, id) < (*least, *first))
        {
            self.best = Some((id, loss, point.clone()));
        }
        self.finished.insert(id, (point, loss));
    }

    /// The trials that finished since the last call, in id order: external ones come last.
    pub(crate) fn take_finished(&mut self) -> Vec<FinishedTrial> {
        let finished = std::mem::take(&mut self.finished);
        finished.into_iter().map(|(id, (point, loss))| FinishedTrial { id, point, loss }).collect()
    }

    /// The trial with the smallest loss; among equal losses the first one.
    pub fn best(&self) -> Option<BestTrial<'_>> {
        self.best.as_ref().map(|(id, loss, point)| BestTrial { id: *id, loss: *loss, point })
    }

    /// The log as plain data. The field of external trials exists only if there are any.
    pub(crate) fn save(&self) -> Datum {
        let entry = |id: u64, point: &Point, loss: Option<f64>| {
            let loss = loss.into_iter().map(Datum::Real).collect();
            Datum::List(vec![Datum::Natural(id), Datum::point(point), Datum::List(loss)])
        };
        let mut data = Datum::record([
            ("next", Datum::Natural(self.next)),
            (
                "running",
                Datum::List(
                    self.running.iter().map(|(id, point)| entry(*id, point, None)).collect(),
                ),
            ),
            (
                "finished",
                Datum::List(
                    self.finished
                        .iter()
                        .map(|(id, (point, loss))| entry(*id, point, *loss))
                        .collect(),
                ),
            ),
            (
                "best",
                Datum::List(
                    self.best
                        .iter()
                        .map(|(id, loss, point)| entry(*id, point, Some(*loss)))
                        .collect(),
                ),
            ),
            (
                "seen",
                Datum::List(
                    self.seen.iter().map(|fingerprint| Datum::wide(*fingerprint)).collect(),
                ),
            ),
        ]);
        if let Datum::Record(fields) = &mut data
            && (self.external_finished > 0 || !self.external_running.is_empty())
        {
            let external_running =
                Datum::List(self.external_running.values().map(Datum::point).collect());
            fields.push((
                "external".to_owned(),
                Datum::List(vec![Datum::Natural(self.external_finished), external_running]),
            ));
        }
        data
    }

    /// The log that [`TrialLog::save`] stored; also reads version 1, which has other field names.
    pub(crate) fn load(data: &Datum, space: &Space) -> Result<Self, Error> {
        let entry = |datum: &Datum| -> Result<(u64, (Point, Option<f64>)), Error> {
            let [id, point, loss] = datum.tuple()?;
            let loss = loss.list()?.first().map(Datum::real).transpose()?;
            Ok((id.natural()?, (point.to_point(space)?, loss)))
        };
        let entries = |name: &str, old_name: &str| {
            data.renamed_field(name, old_name)?
                .list()?
                .iter()
                .map(entry)
                .collect::<Result<Vec<_>, Error>>()
        };
        let (external_finished, external_running) = match data.renamed_field("external", "adopted")
        {
            Ok(datum) => {
                let [external_finished, external_running] = datum.tuple()?;
                let external_running =
                    external_running.list()?.iter().map(|point| point.to_point(space));
                (
                    external_finished.natural()?,
                    external_running.collect::<Result<Vec<Point>, Error>>()?,
                )
            }
            Err(_) => (0, Vec::new()),
        };

        let log = TrialLog {
            next: data.field("next")?.counter()?,
            running: entries("running", "open")?
                .into_iter()
                .map(|(id, (point, _))| (id, point))
                .collect(),
            finished: entries("finished", "told")?.into_iter().collect(),
            best: entries("best", "best")?
                .pop()
                .and_then(|(id, (point, loss))| Some((id, loss?, point))),
            seen: data
                .field("seen")?
                .list()?
                .iter()
                .map(Datum::to_wide)
                .collect::<Result<_, _>>()?,
            external_running: external_running
                .into_iter()
                .map(|point| (point.fingerprint(), point))
                .collect(),
            external_finished,
        };

        let end = FIRST_EXTERNAL_ID.saturating_add(log.external_finished);
        let known = |id: &u64| *id < log.next || (FIRST_EXTERNAL_ID..end).contains(id);
        if log.next > FIRST_EXTERNAL_ID || !log.running.keys().chain(log.finished.keys()).all(known)
        {
            return Err(Error::Snapshot(
                "holds a trial that was never asked; it is damaged".to_owned(),
            ));
        }
        Ok(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::PointValue;
    use crate::space::Param;

    fn space() -> Space {
        Space::new(vec![Param::integer("i", 0, 99)]).unwrap()
    }

    fn log_with(points: i64) -> TrialLog {
        let mut log = TrialLog::new();
        (0..points).for_each(|i| drop(log.create_trial(Point(vec![PointValue::Integer(i)]))));
        log
    }

    #[test]
    fn results_come_in_id_order_whatever_the_order_of_arrival() {
        let (a, b, c) = (
            TrialResult::Complete { id: 0, loss: 2.0 },
            TrialResult::Failed { id: 1 },
            TrialResult::Complete { id: 3, loss: 2.0 },
        );
        let mut forward = log_with(5);
        forward.tell(&[a, b, c]);
        let mut backward = log_with(5);
        backward.tell(&[c, TrialResult::Failed { id: 77 }]);
        backward.tell(&[b, TrialResult::Complete { id: 1, loss: 0.0 }]);
        backward.tell(&[a]);
        assert_eq!(forward, backward);
        assert_eq!(forward.best().map(|best| (best.id, best.loss)), Some((0, 2.0)));
        let ids: Vec<(u64, Option<f64>)> =
            forward.take_finished().iter().map(|trial| (trial.id, trial.loss)).collect();
        assert_eq!(ids, [(0, Some(2.0)), (1, None), (3, Some(2.0))]);
        assert_eq!((forward.take_finished().len(), forward.running()), (0, 2));
    }

    #[test]
    fn external_trials_are_seen_and_come_after_own_ones() {
        let at = |i| Point(vec![PointValue::Integer(i)]);
        let mut log = log_with(2);
        log.add_external(&space(), ExternalTrial::Running { point: at(7) });
        log.add_external(&space(), ExternalTrial::Running { point: at(8) });
        log.add_external(&space(), ExternalTrial::Running { point: at(100) }); // outside
        assert_eq!(log.pending().cloned().collect::<Vec<_>>().len(), 4);
        log.add_external(&space(), ExternalTrial::Complete { point: at(7), loss: Some(0.5) });
        log.add_external(&space(), ExternalTrial::Complete { point: at(9), loss: Some(f64::NAN) });
        log.tell(&[
            TrialResult::Complete { id: 1, loss: 0.5 },
            TrialResult::Complete { id: 0, loss: 1.0 },
        ]);
        assert_eq!((log.distinct_points(), log.running(), log.next_id()), (5, 0, 2));
        assert!(log.has_seen(&at(8)) && log.has_seen(&at(9)) && !log.has_seen(&at(100)));
        assert_eq!(log.pending().collect::<Vec<_>>(), [&at(8)]);
        assert_eq!(log.best().map(|best| best.id), Some(1), "among equal losses the own trial");
        assert_eq!(TrialLog::load(&log.save(), &space()), Ok(log.clone()));
        let finished: Vec<(u64, Option<f64>)> =
            log.take_finished().iter().map(|trial| (trial.id, trial.loss)).collect();
        assert_eq!(
            finished,
            [
                (0, Some(1.0)),
                (1, Some(0.5)),
                (FIRST_EXTERNAL_ID, Some(0.5)),
                (FIRST_EXTERNAL_ID + 1, None)
            ]
        );
        let Datum::Record(mut fields) = log.save() else { panic!() };
        fields[5].1 = Datum::Natural(1);
        assert!(TrialLog::load(&Datum::Record(fields), &space()).is_err());
    }

    #[test]
    fn a_log_survives_storage_and_refuses_nonsense() {
        let mut log = log_with(6);
        log.tell(&[
            TrialResult::Complete { id: 2, loss: -1.5 },
            TrialResult::Complete { id: 4, loss: f64::NAN },
        ]);
        let data = log.save();
        assert_eq!(TrialLog::load(&data, &space()), Ok(log));
        let Datum::Record(fields) = &data else { panic!() };
        for i in 0..fields.len() {
            let mut damaged = fields.clone();
            damaged[i].1 = Datum::Text("x".to_owned());
            assert!(TrialLog::load(&Datum::Record(damaged), &space()).is_err(), "{}", fields[i].0);
        }
        let mut early = fields.clone();
        early[0].1 = Datum::Natural(3);
        assert!(TrialLog::load(&Datum::Record(early), &space()).is_err());
        let narrow = Space::new(vec![Param::integer("i", 0, 1)]).unwrap();
        assert!(TrialLog::load(&data, &narrow).is_err());
    }
}
