//! The events of a search so far, stored in its checkpoint so that a resumed run can replay them.

use swarmwood_learn::event::{Event, SearchStatus, Stage};
use swarmwood_search::Datum;

/// Stages that events may name; a checkpoint stores their positions in this list.
const STAGES: [Stage; 8] = [
    Stage::COMPARING,
    Stage::BOOSTING,
    Stage::SWEEPS,
    Stage::PAIRS,
    Stage::SWARM,
    Stage::PRETRAINING,
    Stage::DESCENTS,
    Stage::FEATURES,
];

/// What events may measure, by position as well.
const MEASURES: [&str; 11] = [
    SCORE, "loss", "accuracy", "rmse", "mix", "gini", "entropy", "squared", "absolute", "cost",
    "recall",
];

/// The name of cross-validated losses in events.
const SCORE: &str = "cross-validated loss";

/// Events in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct EventLog(Vec<Event>);

impl EventLog {
    pub(super) fn push(&mut self, event: &Event) {
        self.0.push(event.clone());
    }

    /// How many there are.
    pub(super) fn steps(&self) -> usize {
        self.0.len()
    }

    /// Candidates evaluated, and candidates that were known already.
    pub(super) fn costs(&self) -> (u64, u64) {
        let last = self.0.last().and_then(|event| event.search);
        last.map_or((0, 0), |search| (search.evaluations, search.repeats))
    }

    /// Replays all events; returns the seconds that they took the first time.
    pub(super) fn replay(&self, observer: &mut dyn FnMut(&Event)) -> f64 {
        for event in &self.0 {
            observer(&Event { replayed: true, ..event.clone() });
        }
        self.0.last().map_or(0.0, |event| event.elapsed)
    }

    pub(super) fn save(&self) -> Datum {
        Datum::List(self.0.iter().map(save_event).collect())
    }

    /// What [`EventLog::save`] stored.
    pub(super) fn load(stored: &Datum) -> Option<Self> {
        stored.list().ok()?.iter().map(load_event).collect::<Option<Vec<_>>>().map(EventLog)
    }
}

/// A value that may not be there: a list of it, or of nothing.
fn save_maybe(value: Option<f64>) -> Datum {
    Datum::List(value.map(Datum::Real).into_iter().collect())
}

fn load_maybe(datum: &Datum) -> Option<Option<f64>> {
    match datum.list().ok()? {
        [] => Some(None),
        [value] => Some(Some(value.real().ok()?)),
        _ => None,
    }
}

fn save_event(event: &Event) -> Datum {
    let place = STAGES.iter().position(|stage| *stage == event.stage).unwrap_or(STAGES.len());
    Datum::List(vec![
        Datum::Natural(place as u64),
        Datum::Natural(event.step as u64),
        Datum::Natural(event.steps as u64),
        save_maybe(event.train),
        save_maybe(event.valid),
        Datum::List(event.search.iter().map(save_search).collect()),
        Datum::Real(event.elapsed),
    ])
}

fn load_event(datum: &Datum) -> Option<Event> {
    let [place, step, steps, train, valid, search, elapsed] = datum.tuple().ok()?;
    let stage = *STAGES.get(place.natural().ok()? as usize)?;
    let search = match search.list().ok()? {
        [] => None,
        [search] => Some(load_search(search)?),
        _ => return None,
    };
    let event = Event::new(stage, step.counter().ok()? as usize, steps.counter().ok()? as usize);
    let (train, valid, elapsed) = (load_maybe(train)?, load_maybe(valid)?, elapsed.real().ok()?);
    Some(Event { train, valid, search, elapsed, ..event })
}

fn save_search(search: &SearchStatus) -> Datum {
    let &SearchStatus {
        measure,
        best,
        gain,
        mean,
        diversity,
        factor,
        alpha,
        beta,
        evaluations,
        repeats,
    } = search;
    let place = MEASURES.iter().position(|known| *known == measure).unwrap_or(MEASURES.len());
    let mut fields = vec![Datum::Natural(place as u64)];
    fields.extend([best, gain, mean, diversity, factor, alpha, beta].map(save_maybe));
    fields.extend([Datum::Natural(evaluations), Datum::Natural(repeats)]);
    Datum::List(fields)
}

fn load_search(datum: &Datum) -> Option<SearchStatus> {
    let [measure, best, gain, mean, diversity, factor, alpha, beta, evaluations, repeats] =
        datum.tuple().ok()?;
    Some(SearchStatus {
        measure: MEASURES.get(measure.natural().ok()? as usize)?,
        best: load_maybe(best)?,
        gain: load_maybe(gain)?,
        mean: load_maybe(mean)?,
        diversity: load_maybe(diversity)?,
        factor: load_maybe(factor)?,
        alpha: load_maybe(alpha)?,
        beta: load_maybe(beta)?,
        evaluations: evaluations.counter().ok()?,
        repeats: repeats.counter().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_learn::metric::EvalMetric;

    #[test]
    fn the_past_survives_its_storage() {
        let search = SearchStatus {
            measure: "loss",
            best: Some(1.5),
            gain: Some(0.1),
            mean: None,
            diversity: Some(3.0),
            factor: None,
            alpha: Some(0.45),
            beta: Some(0.5),
            evaluations: 50,
            repeats: 2,
        };
        let mut events = EventLog::default();
        events.push(&Event {
            train: Some(1.5),
            search: Some(search),
            elapsed: 0.25,
            ..Event::new(Stage::SWEEPS, 1, 8)
        });
        for measure in
            [SCORE, EvalMetric::Accuracy.name(), EvalMetric::Rmse.name(), EvalMetric::Loss.name()]
        {
            let search = Some(SearchStatus { measure, evaluations: 100, ..search });
            events.push(&Event { search, elapsed: 0.5, ..Event::new(Stage::SWARM, 1, 60) });
        }
        events.push(&Event {
            valid: Some(2.0),
            elapsed: 0.5,
            ..Event::new(Stage::COMPARING, 1, 60)
        });
        assert_eq!(EventLog::load(&events.save()), Some(events.clone()));
        let mut heard = 0;
        let seconds = events.replay(&mut |event| {
            heard += usize::from(event.replayed);
        });
        assert_eq!((heard, seconds, events.steps(), events.costs()), (6, 0.5, 6, (0, 0)));
        assert_eq!(EventLog::load(&Datum::List(vec![Datum::Natural(1)])), None);
    }
}
