//! How much of the help is shown: `-h` has the flags that most runs need, `--help` those of all
//! methods but the published swarms, `--help-all` every flag.

use clap::{Arg, ArgAction, Command};
use swarmwood::params::{Method, ParamSpec, TABLE};

/// The flag that shows every flag.
const ALL: &str = "help-all";

/// Methods whose parameters the help shows.
const SHOWN: [Method; 5] =
    [Method::SWARM, Method::GREEDY, Method::TREE_SUM, Method::SWARM_TREE, Method::CART];

/// A command with three levels of help; `common` are the flags that the shortest has.
pub fn with_levels(command: Command, common: &'static [&'static str]) -> Command {
    let all = Arg::new(ALL)
        .long(ALL)
        .action(ArgAction::SetTrue)
        .help("print help with the flags of all methods, the published swarms included");
    command.arg(all).mut_args(|arg| {
        let name = arg.get_id().as_str();
        let is_common = common.contains(&name) || name == ALL || arg.is_positional();
        let is_hidden = TABLE.iter().any(|spec| spec.name == name && !is_shown(spec));
        arg.hide_short_help(!is_common).hide_long_help(is_hidden)
    })
}

fn is_shown(spec: &ParamSpec) -> bool {
    SHOWN.iter().any(|&method| spec.applies_to(method))
}

/// The help with every flag, if the arguments ask for that.
pub fn requested(command: Command, mut arguments: impl Iterator<Item = String>) -> Option<String> {
    let name = arguments.nth(1)?;
    if !arguments.any(|argument| argument == format!("--{ALL}")) {
        return None;
    }
    let mut command = command;
    command.build();
    let subcommand = command.find_subcommand_mut(&name)?;
    subcommand.get_arguments().find(|arg| arg.get_id() == ALL)?;
    let shown = |arg: Arg| arg.hide_short_help(false).hide_long_help(false);
    Some(subcommand.clone().mut_args(shown).render_long_help().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a screen.
    const SCREEN: usize = 60;

    /// The shortest help fits on a screen, and every level has the flags of the one before.
    #[test]
    fn each_level_of_help_has_more_flags() {
        for name in ["train", "tune", "compress"] {
            let mut whole = crate::cli::command();
            whole.build();
            let command = whole.find_subcommand_mut(name).unwrap();
            let short = command.render_help().to_string();
            let long = command.render_long_help().to_string();
            let arguments = ["swarmwood", name, "--help-all"].map(String::from);
            let all = requested(crate::cli::command(), arguments.into_iter()).unwrap();

            let flags = |help: &str| -> Vec<String> {
                let is_flag = |line: &&str| line.trim_start().starts_with('-');
                let flag = |line: &str| {
                    line.split_whitespace().find(|word| word.starts_with("--")).map(str::to_string)
                };
                help.lines().filter(is_flag).filter_map(flag).collect()
            };
            assert!(short.lines().count() <= SCREEN, "{short}");
            let [short, long, all] = [short, long, all].map(|help| flags(&help));
            assert!(short.len() <= 20, "{name} -h has {} flags", short.len());
            let holds = |outer: &[String], inner: &[String]| {
                inner.iter().all(|flag| outer.contains(flag)) && inner.len() < outer.len()
            };
            assert!(holds(&long, &short) && holds(&all, &long), "{short:?} {long:?} {all:?}");
            assert!(!long.iter().any(|flag| flag == "--grid-thresholds"));
        }
    }

    #[test]
    fn other_commands_have_one_help() {
        let mut whole = crate::cli::command();
        whole.build();
        for command in whole.get_subcommands_mut() {
            let short = command.render_help().to_string();
            assert!(short.lines().count() <= SCREEN, "{short}");
        }
        let arguments = |words: [&str; 3]| words.map(String::from).into_iter();
        let command = crate::cli::command;
        assert!(requested(command(), arguments(["swarmwood", "predict", "--help-all"])).is_none());
        assert!(requested(command(), arguments(["swarmwood", "train", "--help"])).is_none());
    }
}
