//! A swarm as plain data and back. What follows from the rest (who is to be asked) is not stored
//! but found again.

use super::indices::{count, decode, encode};
use super::{Groups, PsoDiscrete, Settings, Statistics};
use crate::error::Error;
use crate::evolution::Control;
use crate::ledger::Ledger;
use crate::snapshot::{Datum, Snapshot, damaged};
use crate::space::Space;

const VERSION: u64 = 1;

pub(super) fn save(swarm: &PsoDiscrete) -> Snapshot {
    let position = |indices: &Vec<u64>| match has_hidden(&swarm.space) {
        true => list(indices.iter().copied().map(Datum::Natural)),
        false => Datum::point(&decode(&swarm.space, indices)),
    };
    let answer = |answer: &Option<Option<f64>>| list(answer.map(Datum::optional));
    let own = |own: &Option<(f64, Vec<u64>)>| {
        list(own.as_ref().map(|(loss, at)| Datum::List(vec![Datum::Real(*loss), position(at)])))
    };
    let known =
        |(print, loss): (&u128, &f64)| Datum::List(vec![Datum::wide(*print), Datum::Real(*loss)]);
    let state = Datum::record([
        ("settings", save_settings(&swarm.settings)),
        ("seed", Datum::Natural(swarm.seed)),
        ("ledger", swarm.ledger.save()),
        ("generation", Datum::Natural(swarm.generation)),
        ("positions", list(swarm.positions.iter().map(position))),
        ("answers", list(swarm.answers.iter().map(answer))),
        ("own", list(swarm.own.iter().map(own))),
        ("first", Datum::Natural(swarm.first)),
        ("asked", Datum::Natural(swarm.asked as u64)),
        ("memo", list(swarm.memo.iter().map(known))),
        ("control", swarm.control.save()),
        ("repeats", Datum::Natural(swarm.repeats)),
        ("statistics", list(swarm.statistics.iter().map(save_statistics))),
        ("over", Datum::flag(swarm.over)),
    ]);
    Snapshot {
        engine: PsoDiscrete::NAME.to_owned(),
        version: VERSION,
        space: swarm.space.fingerprint(),
        state,
    }
}

pub(super) fn load(space: &Space, snapshot: &Snapshot) -> Result<PsoDiscrete, Error> {
    snapshot.check(PsoDiscrete::NAME, VERSION, space)?;
    let state = &snapshot.state;
    let natural = |name: &str| state.field(name)?.natural();
    let settings = load_settings(state.field("settings")?)?;
    let unsound =
        |error: Error| Error::Snapshot(format!("holds settings that make no sense: {error}"));
    super::abilities(&settings).check(PsoDiscrete::NAME, space).map_err(unsound)?;
    settings.check(PsoDiscrete::NAME, space).map_err(unsound)?;
    let position = |datum: &Datum| match has_hidden(space) {
        true => load_indices(space, datum),
        false => Ok(encode(space, &datum.to_point(space)?)),
    };
    let answer = |datum: &Datum| datum.list()?.first().map(Datum::to_optional).transpose();
    let own = |datum: &Datum| -> Result<Option<(f64, Vec<u64>)>, Error> {
        let Some(own) = datum.list()?.first() else { return Ok(None) };
        let [loss, at] = own.tuple()?;
        Ok(Some((loss.real()?, position(at)?)))
    };
    let known = |datum: &Datum| -> Result<(u128, f64), Error> {
        let [print, loss] = datum.tuple()?;
        Ok((print.to_wide()?, loss.real()?))
    };
    let mut swarm = PsoDiscrete {
        space: space.clone(),
        settings,
        seed: natural("seed")?,
        ledger: Ledger::load(state.field("ledger")?, space)?,
        generation: natural("generation")?,
        positions: each(state, "positions", position)?,
        answers: each(state, "answers", answer)?,
        own: each(state, "own", own)?,
        first: 0,
        asked: 0,
        memo: each(state, "memo", known)?.into_iter().collect(),
        control: Control::load(state.field("control")?)?,
        repeats: natural("repeats")?,
        statistics: each(state, "statistics", load_statistics)?,
        over: state.field("over")?.to_flag()?,
        prints: Vec::new(),
        sources: Vec::new(),
        queue: Vec::new(),
    };
    let particles = swarm.settings.population;
    if [swarm.positions.len(), swarm.answers.len(), swarm.own.len()]
        .iter()
        .any(|count| *count != particles)
    {
        return Err(damaged("another number of particles than its settings name"));
    }
    swarm.prints = swarm.positions.iter().map(|position| swarm.fingerprint(position)).collect();
    swarm.arrange();
    let (first, asked) = (natural("first")?, natural("asked")?);
    if first.checked_add(asked) != Some(swarm.ledger.next_id()) || asked > swarm.queue.len() as u64
    {
        return Err(damaged("trials that belong to no generation"));
    }
    (swarm.first, swarm.asked) = (first, asked as usize);
    Ok(swarm)
}

/// Whether a point may lack parameters of a position, so that the indices themselves have to be
/// stored.
fn has_hidden(space: &Space) -> bool {
    space.params().iter().any(|param| param.condition.is_some())
}

fn load_indices(space: &Space, data: &Datum) -> Result<Vec<u64>, Error> {
    let indices = data.list()?.iter().map(Datum::natural).collect::<Result<Vec<u64>, Error>>()?;
    let inside = indices.iter().zip(space.params()).all(|(index, param)| *index < count(param));
    if inside && indices.len() == space.len() {
        Ok(indices)
    } else {
        Err(damaged("a position outside the space"))
    }
}

fn list(items: impl IntoIterator<Item = Datum>) -> Datum {
    Datum::List(items.into_iter().collect())
}

fn each<T>(
    state: &Datum,
    name: &str,
    load: impl Fn(&Datum) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    state.field(name)?.list()?.iter().map(load).collect()
}

fn save_settings(settings: &Settings) -> Datum {
    let sizes = |groups: &Groups| list(groups.sizes().map(Datum::Natural));
    Datum::record([
        ("population", Datum::Natural(settings.population as u64)),
        ("alpha", Datum::Real(settings.alpha)),
        ("beta", Datum::Real(settings.beta)),
        ("generations", list(settings.generations.map(Datum::Natural))),
        ("groups", list(settings.groups.as_ref().map(sizes))),
        ("mutation", Datum::Real(settings.mutation)),
        ("adaptive", Datum::flag(settings.adaptive)),
        ("memo", Datum::flag(settings.memo)),
    ])
}

fn load_settings(data: &Datum) -> Result<Settings, Error> {
    let whole =
        |datum: &Datum| datum.natural().map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let groups = |datum: &Datum| -> Result<Groups, Error> {
        let sizes = datum.list()?.iter().map(whole).collect::<Result<Vec<usize>, Error>>()?;
        Ok(Groups::of_sizes(&sizes))
    };
    Ok(Settings {
        population: whole(data.field("population")?)?,
        alpha: data.field("alpha")?.real()?,
        beta: data.field("beta")?.real()?,
        generations: data.field("generations")?.list()?.first().map(Datum::natural).transpose()?,
        groups: data.field("groups")?.list()?.first().map(groups).transpose()?,
        given: Vec::new(),
        mutation: data.field("mutation")?.real()?,
        adaptive: data.field("adaptive")?.to_flag()?,
        memo: data.field("memo")?.to_flag()?,
    })
}

fn save_statistics(of: &Statistics) -> Datum {
    Datum::List(vec![
        Datum::Natural(of.generation),
        Datum::optional(of.best),
        Datum::optional(of.mean),
        Datum::Real(of.diversity),
        Datum::optional(of.factor),
        Datum::Real(of.alpha),
        Datum::Real(of.beta),
        Datum::Natural(of.evaluations),
        Datum::Natural(of.repeats),
        Datum::Natural(of.failures),
    ])
}

fn load_statistics(data: &Datum) -> Result<Statistics, Error> {
    let [generation, best, mean, diversity, factor, alpha, beta, evaluations, repeats, failures] =
        data.tuple()?;
    Ok(Statistics {
        generation: generation.natural()?,
        best: best.to_optional()?,
        mean: mean.to_optional()?,
        diversity: diversity.real()?,
        factor: factor.to_optional()?,
        alpha: alpha.real()?,
        beta: beta.real()?,
        evaluations: evaluations.natural()?,
        repeats: repeats.natural()?,
        failures: failures.natural()?,
    })
}
