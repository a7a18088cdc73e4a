//! What the default method has told so far, kept with its checkpoint so that a resumed run can tell all of its past.

use swarmwood_learn::event::{Event, Flow, Search, Stage};
use swarmwood_search::Datum;

/// Stages that events may name, and what is measured in them.
const STAGES: [(Stage, &str); 4] = [
    (Stage::COMPARING, "cross-validated score"),
    (Stage::BOOSTING, "loss"),
    (Stage::SWEEPS, "loss"),
    (Stage::PAIRS, "loss"),
];

/// Events in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Told(Vec<Event>);

impl Told {
    pub(super) fn push(&mut self, event: &Event) {
        self.0.push(event.clone());
    }

    /// Tells everything once more; answers the seconds that it took the first time.
    pub(super) fn tell_again(&self, watch: &mut dyn FnMut(&Event) -> Flow) -> f64 {
        for event in &self.0 {
            watch(&Event { past: true, ..event.clone() });
        }
        self.0.last().map_or(0.0, |event| event.elapsed)
    }

    pub(super) fn save(&self) -> Datum {
        let maybe = |value: Option<f64>| Datum::List(value.map(Datum::Real).into_iter().collect());
        let one = |event: &Event| {
            let stage = STAGES.iter().position(|(stage, _)| *stage == event.stage).unwrap_or(0);
            let search = event.search.as_ref();
            Datum::List(vec![
                Datum::Natural(stage as u64),
                Datum::Natural(event.step as u64),
                Datum::Natural(event.steps as u64),
                maybe(event.train),
                maybe(search.and_then(|search| search.best)),
                maybe(search.and_then(|search| search.gain)),
                Datum::Natural(search.map_or(0, |search| search.evaluations)),
                Datum::Real(event.elapsed),
            ])
        };
        Datum::List(self.0.iter().map(one).collect())
    }

    /// What [`Told::save`] stored.
    pub(super) fn load(stored: &Datum) -> Option<Self> {
        let maybe = |datum: &Datum| -> Option<Option<f64>> {
            match datum.list().ok()? {
                [] => Some(None),
                [value] => Some(Some(value.real().ok()?)),
                _ => None,
            }
        };
        let one = |datum: &Datum| -> Option<Event> {
            let [stage, step, steps, train, best, gain, evaluations, elapsed] = datum.tuple().ok()?;
            let (stage, measure) = *STAGES.get(stage.natural().ok()? as usize)?;
            let search = Search {
                measure,
                best: maybe(best)?,
                gain: maybe(gain)?,
                mean: None,
                diversity: None,
                factor: None,
                alpha: None,
                beta: None,
                evaluations: evaluations.natural().ok()?,
                repeats: 0,
            };
            let event = Event::new(stage, step.natural().ok()? as usize, steps.natural().ok()? as usize);
            Some(Event { train: maybe(train)?, search: Some(search), elapsed: elapsed.real().ok()?, ..event })
        };
        stored.list().ok()?.iter().map(one).collect::<Option<Vec<_>>>().map(Told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_survives_its_storage() {
        let search = Search {
            measure: "loss",
            best: Some(1.5),
            gain: Some(0.1),
            mean: None,
            diversity: None,
            factor: None,
            alpha: None,
            beta: None,
            evaluations: 50,
            repeats: 0,
        };
        let mut told = Told::default();
        told.push(&Event { train: Some(1.5), search: Some(search), elapsed: 0.25, ..Event::new(Stage::SWEEPS, 1, 8) });
        told.push(&Event { search: Some(search), elapsed: 0.5, ..Event::new(Stage::PAIRS, 1, 60) });
        assert_eq!(Told::load(&told.save()), Some(told.clone()));
        let mut heard = 0;
        let seconds = told.tell_again(&mut |event| {
            heard += usize::from(event.past);
            Flow::Continue
        });
        assert_eq!((heard, seconds), (2, 0.5));
        assert_eq!(Told::load(&Datum::List(vec![Datum::Natural(1)])), None);
    }
}
