//! The iterations of a search so far, kept with its checkpoint so that a resumed run can tell all of its past.

use swarmwood_learn::event::Search;
use swarmwood_learn::particle::Fitness;
use swarmwood_search::Datum;

/// How the search stood after each iteration, and when.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct History(Vec<(Search, f64)>);

impl History {
    pub(super) fn push(&mut self, search: Search, elapsed: f64) {
        self.0.push((search, elapsed));
    }

    pub(super) fn iterations(&self) -> &[(Search, f64)] {
        &self.0
    }

    /// How many iterations there were.
    pub(super) fn steps(&self) -> usize {
        self.0.len()
    }

    /// Seconds up to the last one.
    pub(super) fn elapsed(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, elapsed)| *elapsed)
    }

    /// Candidates evaluated, and candidates that were known already.
    pub(super) fn costs(&self) -> (u64, u64) {
        self.0.last().map_or((0, 0), |(search, _)| (search.evaluations, search.repeats))
    }

    pub(super) fn save(&self) -> Datum {
        let maybe = |value: Option<f64>| Datum::List(value.map(Datum::Real).into_iter().collect());
        let iteration = |(search, elapsed): &(Search, f64)| {
            let &Search { best, gain, mean, diversity, factor, alpha, beta, evaluations, repeats, measure: _ } = search;
            let mut fields: Vec<Datum> = [best, gain, mean, diversity, factor, alpha, beta].map(maybe).to_vec();
            fields.extend([Datum::Natural(evaluations), Datum::Natural(repeats), Datum::Real(*elapsed)]);
            Datum::List(fields)
        };
        Datum::List(self.0.iter().map(iteration).collect())
    }

    /// What [`History::save`] stored of a search with this fitness.
    pub(super) fn load(stored: &Datum, fitness: Fitness) -> Option<Self> {
        let maybe = |datum: &Datum| -> Option<Option<f64>> {
            match datum.list().ok()? {
                [] => Some(None),
                [value] => Some(Some(value.real().ok()?)),
                _ => None,
            }
        };
        let iteration = |datum: &Datum| -> Option<(Search, f64)> {
            let [best, gain, mean, diversity, factor, alpha, beta, evaluations, repeats, elapsed] =
                datum.tuple().ok()?;
            let search = Search {
                measure: fitness.name(),
                best: maybe(best)?,
                gain: maybe(gain)?,
                mean: maybe(mean)?,
                diversity: maybe(diversity)?,
                factor: maybe(factor)?,
                alpha: maybe(alpha)?,
                beta: maybe(beta)?,
                evaluations: evaluations.natural().ok()?,
                repeats: repeats.natural().ok()?,
            };
            Some((search, elapsed.real().ok()?))
        };
        stored.list().ok()?.iter().map(iteration).collect::<Option<Vec<_>>>().map(History)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_survives_its_storage() {
        let search = Search {
            measure: "rmse",
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
        let mut history = History::default();
        history.push(search, 0.25);
        history.push(Search { evaluations: 100, ..search }, 0.5);
        assert_eq!(History::load(&history.save(), Fitness::Rmse), Some(history.clone()));
        assert_eq!((history.steps(), history.elapsed()), (2, 0.5));
        assert_eq!(History::load(&Datum::List(vec![Datum::Natural(1)]), Fitness::Rmse), None);
    }
}
