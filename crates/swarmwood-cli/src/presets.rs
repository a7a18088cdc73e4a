//! Named sets of parameters.

use clap::{Arg, ArgMatches};
use swarmwood::params::Gather;

use crate::flags;

/// A name, what it is for, and the parameters it sets.
type Preset = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const PRESETS: [Preset; 4] = [
    ("default", "192 leaves in all trees", &[]),
    ("tiny", "32 leaves", &[("total_leaves", "32")]),
    ("accurate", "768 leaves", &[("total_leaves", "768")]),
    (
        "fast",
        "100 greedy trees",
        &[("method", "greedy"), ("trees", "100"), ("depth", "6"), ("learning_rate", "0.1")],
    ),
];

/// The flag.
pub fn flag() -> Arg {
    let each = PRESETS.iter().map(|(name, help, _)| format!("{name} ({help})"));
    flags::text_flag("preset", "NAME", "named set of parameters, which other flags change").help(
        format!("parameters that other flags change: {}", each.collect::<Vec<_>>().join(", ")),
    )
}

/// Sets the parameters of the preset; what is set later has precedence.
pub fn apply(flags: &ArgMatches, gather: &mut Gather) {
    let Some(text) = flags.get_one::<String>("preset") else { return };
    match PRESETS.iter().find(|(name, ..)| name == text) {
        Some((_, _, parameters)) => {
            parameters.iter().for_each(|(name, value)| gather.set(name, value));
        }
        None => {
            let names: Vec<&str> = PRESETS.iter().map(|(name, ..)| *name).collect();
            gather.violate("preset", format!("is '{text}', must be one of {}", names.join(", ")));
        }
    }
}
