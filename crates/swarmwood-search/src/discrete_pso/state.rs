//! Snapshots of a discrete swarm. What can be derived (which particles need a trial) is not stored.

use super::indices::{count, decode, encode};
use super::{DiscretePso, DiscretePsoConfig, GenerationStats, TableGroups};
use crate::config::invalid_config;
use crate::error::Error;
use crate::evolutionary_state::AdaptiveCoefficients;
use crate::snapshot::{Datum, Snapshot, damaged};
use crate::space::Space;
use crate::trial_log::TrialLog;

/// Version 1 had other field names.
const VERSION: u64 = 2;

pub(super) fn save(swarm: &DiscretePso) -> Snapshot {
    let position = |indices: &Vec<u64>| match has_conditions(&swarm.space) {
        true => list(indices.iter().copied().map(Datum::Natural)),
        false => Datum::point(&decode(&swarm.space, indices)),
    };
    let loss = |loss: &Option<Option<f64>>| list(loss.map(Datum::optional));
    let personal_best = |best: &Option<(f64, Vec<u64>)>| {
        list(best.as_ref().map(|(loss, at)| Datum::List(vec![Datum::Real(*loss), position(at)])))
    };
    let known = |(fingerprint, loss): (&u128, &f64)| {
        Datum::List(vec![Datum::wide(*fingerprint), Datum::Real(*loss)])
    };
    let state = Datum::record([
        ("config", save_config(&swarm.config)),
        ("seed", Datum::Natural(swarm.seed)),
        ("trials", swarm.trial_log.save()),
        ("generation", Datum::Natural(swarm.generation)),
        ("positions", list(swarm.positions.iter().map(position))),
        ("losses", list(swarm.losses.iter().map(loss))),
        ("personal bests", list(swarm.personal_bests.iter().map(personal_best))),
        ("first", Datum::Natural(swarm.first)),
        ("asked", Datum::Natural(swarm.asked as u64)),
        ("memo", list(swarm.memo.iter().map(known))),
        ("coefficients", swarm.coefficients.save()),
        ("repeats", Datum::Natural(swarm.repeats)),
        ("statistics", list(swarm.statistics.iter().map(save_statistics))),
        ("finished", Datum::flag(swarm.finished)),
    ]);
    Snapshot {
        engine: DiscretePso::NAME.to_owned(),
        version: VERSION,
        space: swarm.space.fingerprint(),
        state,
    }
}

pub(super) fn load(space: &Space, snapshot: &Snapshot) -> Result<DiscretePso, Error> {
    snapshot.check(DiscretePso::NAME, VERSION, space)?;
    let state = &snapshot.state;
    let natural = |name: &str| state.field(name)?.natural();
    let counter = |name: &str| state.field(name)?.counter();
    let config = load_config(state.renamed_field("config", "settings")?)?;
    super::capabilities_of(&config).check(DiscretePso::NAME, space).map_err(invalid_config)?;
    config.check(DiscretePso::NAME, space).map_err(invalid_config)?;

    let position = |datum: &Datum| match has_conditions(space) {
        true => load_indices(space, datum),
        false => Ok(encode(space, &datum.to_point(space)?)),
    };
    let loss = |datum: &Datum| datum.list()?.first().map(Datum::to_optional).transpose();
    let personal_best = |datum: &Datum| -> Result<Option<(f64, Vec<u64>)>, Error> {
        let Some(best) = datum.list()?.first() else { return Ok(None) };
        let [loss, at] = best.tuple()?;
        Ok(Some((loss.real()?, position(at)?)))
    };
    let known = |datum: &Datum| -> Result<(u128, f64), Error> {
        let [fingerprint, loss] = datum.tuple()?;
        Ok((fingerprint.to_wide()?, loss.real()?))
    };
    let mut swarm = DiscretePso {
        space: space.clone(),
        config,
        seed: natural("seed")?,
        trial_log: TrialLog::load(state.renamed_field("trials", "ledger")?, space)?,
        generation: counter("generation")?,
        positions: each(state.field("positions")?, position)?,
        losses: each(state.renamed_field("losses", "answers")?, loss)?,
        personal_bests: each(state.renamed_field("personal bests", "own")?, personal_best)?,
        first: 0,
        asked: 0,
        memo: each(state.field("memo")?, known)?.into_iter().collect(),
        coefficients: AdaptiveCoefficients::load(state.renamed_field("coefficients", "control")?)?,
        repeats: counter("repeats")?,
        statistics: each(state.field("statistics")?, load_statistics)?,
        finished: state.renamed_field("finished", "over")?.to_flag()?,
        fingerprints: Vec::new(),
        sources: Vec::new(),
        queue: Vec::new(),
    };

    let particles = swarm.config.population;
    if [swarm.positions.len(), swarm.losses.len(), swarm.personal_bests.len()]
        .iter()
        .any(|count| *count != particles)
    {
        return Err(damaged("a wrong number of particles"));
    }
    swarm.fingerprints =
        swarm.positions.iter().map(|position| swarm.fingerprint(position)).collect();

    swarm.plan_trials();
    let (first, asked) = (natural("first")?, natural("asked")?);
    if first.checked_add(asked) != Some(swarm.trial_log.next_id())
        || asked > swarm.queue.len() as u64
    {
        return Err(damaged("trials that belong to no generation"));
    }
    (swarm.first, swarm.asked) = (first, asked as usize);
    Ok(swarm)
}

/// Whether points may have inactive parameters, so that the indices themselves have to be stored.
fn has_conditions(space: &Space) -> bool {
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

fn each<T>(items: &Datum, load: impl Fn(&Datum) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    items.list()?.iter().map(load).collect()
}

fn save_config(config: &DiscretePsoConfig) -> Datum {
    let sizes = |groups: &TableGroups| list(groups.sizes().map(Datum::Natural));
    Datum::record([
        ("population", Datum::Natural(config.population as u64)),
        ("alpha", Datum::Real(config.alpha)),
        ("beta", Datum::Real(config.beta)),
        ("generations", list(config.generations.map(Datum::Natural))),
        ("groups", list(config.groups.as_ref().map(sizes))),
        ("mutation", Datum::Real(config.mutation)),
        ("adaptive", Datum::flag(config.adaptive)),
        ("memo", Datum::flag(config.memo)),
    ])
}

fn load_config(data: &Datum) -> Result<DiscretePsoConfig, Error> {
    let whole =
        |datum: &Datum| datum.natural().map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let groups = |datum: &Datum| -> Result<TableGroups, Error> {
        let sizes = datum.list()?.iter().map(whole).collect::<Result<Vec<usize>, Error>>()?;
        Ok(TableGroups::of_sizes(&sizes))
    };
    Ok(DiscretePsoConfig {
        population: whole(data.field("population")?)?,
        alpha: data.field("alpha")?.real()?,
        beta: data.field("beta")?.real()?,
        generations: data.field("generations")?.to_optional_natural()?,
        groups: data.field("groups")?.list()?.first().map(groups).transpose()?,
        initial_points: Vec::new(),
        mutation: data.field("mutation")?.real()?,
        adaptive: data.field("adaptive")?.to_flag()?,
        memo: data.field("memo")?.to_flag()?,
    })
}

fn save_statistics(of: &GenerationStats) -> Datum {
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

fn load_statistics(data: &Datum) -> Result<GenerationStats, Error> {
    let [generation, best, mean, diversity, factor, alpha, beta, evaluations, repeats, failures] =
        data.tuple()?;
    Ok(GenerationStats {
        generation: generation.counter()?,
        best: best.to_optional()?,
        mean: mean.to_optional()?,
        diversity: diversity.real()?,
        factor: factor.to_optional()?,
        alpha: alpha.real()?,
        beta: beta.real()?,
        evaluations: evaluations.counter()?,
        repeats: repeats.counter()?,
        failures: failures.counter()?,
    })
}
