//! Rules for engines with other options than the defaults.

use super::rules::options_rules;
use super::{EngineUnderTest, spaces};
use crate::engine::EngineSpec;
use crate::options::{EngineOptions, OptionKind, OptionSpec, OptionValue, OptionValues};
use crate::rng::Stream;
use crate::space::Space;

/// The test spaces: all kinds of parameters.
const SPACES: &[&str] = &["conditional", "mixed"];

/// The largest distance of a random whole number from its lower bound, so that a short run sees
/// several generations.
const MAX_STEP: i64 = 11;

/// Builds an engine with `count` random sets of options and runs the cheaper rules on each; the
/// error names the options and what was observed.
pub fn check_options(spec: &EngineSpec, count: u64) -> Result<(), String> {
    for round in 0..count {
        let given = random_options(spec.options, &mut Stream::new(round, 0, 0));
        let fault = |what: String| format!("engine '{}' with {given}: {what}", spec.name);
        let values = OptionValues::check(spec.name, spec.options, &given, |_| Vec::new())
            .map_err(|errors| fault(format!("refused: {errors:?}")))?;

        let start = |space: &Space, seed: u64| (spec.build)(space, seed, &values);
        let subject = EngineUnderTest { start: &start, resume: &spec.resume };
        for (name, space) in spaces().iter().filter(|(name, _)| SPACES.contains(name)) {
            for (rule, test) in options_rules() {
                test(&subject, space)
                    .map_err(|observed| fault(format!("{rule} (space '{name}'): {observed}")))?;
            }
        }
    }
    Ok(())
}

/// Random valid options: about half of those that have an effect.
fn random_options(specs: &'static [OptionSpec], stream: &mut Stream) -> EngineOptions {
    let mut given: Vec<(String, OptionValue)> = Vec::new();
    let (free, conditional): (Vec<&OptionSpec>, Vec<&OptionSpec>) =
        specs.iter().partition(|spec| spec.condition.is_none());
    for spec in free.into_iter().chain(conditional) {
        let options = given.iter().cloned().collect();
        let so_far = OptionValues::check("", specs, &options, |_| Vec::new());
        let applies = |values: &OptionValues| spec.condition.is_none_or(|one| values.holds(one));
        if stream.unit() < 0.5 && so_far.is_ok_and(|values| applies(&values)) {
            given.push((spec.name.to_owned(), random_value(spec, stream)));
        }
    }
    given.into_iter().collect()
}

fn random_value(spec: &OptionSpec, stream: &mut Stream) -> OptionValue {
    if let Some(word) = spec.unset.filter(|_| stream.unit() < 0.25) {
        return OptionValue::Text(word.to_owned());
    }
    match spec.kind {
        OptionKind::Integer { low, high, .. } => {
            let steps = (high - low).min(MAX_STEP) as u64;
            OptionValue::Integer(low + stream.below(steps + 1) as i64)
        }
        // Both bounds are drawn now and then.
        OptionKind::Real { low, high, .. } => {
            let share = (1.2 * stream.unit() - 0.1).clamp(0.0, 1.0);
            OptionValue::Real((low + share * (high - low)).clamp(low, high))
        }
        OptionKind::Choice(choices) => {
            let at = stream.below(choices.len() as u64) as usize;
            OptionValue::Text(choices[at].0.to_owned())
        }
        OptionKind::Flag { .. } => OptionValue::Flag(stream.unit() < 0.5),
    }
}
