//! The options of engines on the command line.

use clap::{Arg, ArgMatches};
use swarmwood::params::{Gather, ParamSpec};
use swarmwood::search::options::EngineOptions;
use swarmwood::tune::{engine, engine_options};
use swarmwood::{Error, Result};

use crate::console;
use crate::flags;

/// `--engine-options`.
pub(super) fn options_flag() -> Arg {
    flags::text_flag(
        "engine-options",
        "OPTIONS",
        "options of the engine: NAME=VALUE, separated by commas; --list-engines shows them",
    )
}

/// `--list-engines`.
pub(super) fn list_flag() -> Arg {
    flags::switch_flag(
        "list-engines",
        "print all engines with their options, ranges and defaults, and exit",
    )
}

/// Prints all engines with their options.
pub(super) fn print_list(flags: &ArgMatches) -> Result<()> {
    match flags.get_flag("json") {
        true => console::print_json(&engine_options::list_json()),
        false => console::print_result(&engine_options::list_text()),
    }
}

/// The options that were given, checked for the engine. What is wrong with them, or with the
/// engine, is reported together with all other violations.
pub(super) fn engine_options(
    flags: &ArgMatches,
    engine: &str,
    gather: &mut Gather,
) -> EngineOptions {
    let text = flags.get_one::<String>("engine-options").map_or("", String::as_str);
    match engine::check_options(engine, &EngineOptions::parse(text)) {
        Ok(options) => options,
        Err(Error::Parameters(violations)) => {
            for violation in violations {
                gather.violate(violation.name(), violation.message.clone());
            }
            EngineOptions::DEFAULTS
        }
        Err(other) => {
            gather.violate("engine", other.to_string());
            EngineOptions::DEFAULTS
        }
    }
}

/// A training parameter with the name of an engine's option says in its help that it is none.
pub(super) fn with_engine_hint(spec: &ParamSpec, arg: Arg) -> Arg {
    let named = engine::specs().any(|one| has_option(one.name, spec.name));
    let help = arg.get_help().map(ToString::to_string).filter(|_| named);
    match help {
        Some(help) => {
            let option = format!("--engine-options {}=VALUE", spec.name);
            arg.help(format!("{help}; of the training method, not of the engine: that is {option}"))
        }
        None => arg,
    }
}

fn has_option(engine: &str, option: &str) -> bool {
    let spec = engine::specs().find(|spec| spec.name == engine);
    spec.is_some_and(|spec| spec.options.iter().any(|one| one.name == option))
}

/// Refuses training parameters that the method ignores and the engine has an option for: the
/// engine's was meant.
pub(super) fn refuse_misplaced_options(engine: &str, given: &[&'static str], gather: &mut Gather) {
    let method = gather.so_far().method;
    for name in given.iter().filter(|name| has_option(engine, name) && !method.spec().uses(name)) {
        let message = format!(
            "is a parameter of training methods and {} does not use it; for engine {engine} give \
             --engine-options {name}=VALUE",
            method.name()
        );
        gather.violate(name, message);
    }
}
