//! Tuning any program: the request, the search, the report.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches};
use serde_json::{Value, json};
use swarmwood::params::{Gather, TABLE};
use swarmwood::tune::command::{CommandConfig, Program, ValueFrom};
use swarmwood::tune::{
    StopReason, Study, StudyHeader, StudyLimits, StudyOutcome, TrialOutcome, engine,
    engine_options, named, read_study, space_file,
};
use swarmwood::{Error, Result};

use super::engine_flags;
use super::progress::TrialProgress;
use super::summary::{engine_text, stop_reason_name, stop_reason_text};
use super::{OWN, TRIALS};
use crate::console;
use crate::files::CommandFiles;
use crate::flags;
use crate::format::{count, number};
use crate::interrupt::InterruptFlag;

/// Training parameters that apply here.
const SHARED: &[&str] = &["seed", "threads"];

/// Flags that apply to the tuning of built-in learners only.
const BUILTIN: &[&str] = &[
    "data",
    "target",
    "weight",
    "ignore",
    "categorical",
    "dates",
    "task",
    "positive",
    "delimiter",
    "decimal",
    "thousands",
    "encoding",
    "holdout",
    "folds",
    "metric",
    "ensemble",
    "out",
    "no-pruning",
];

/// The flags for tuning a program.
pub(super) fn flags() -> Vec<Arg> {
    let table = TABLE.iter().map(|spec| spec.name);
    let foreign = table
        .filter(|name| !SHARED.contains(name) && !OWN.contains(name))
        .chain(BUILTIN.iter().copied());
    let text = "program to tune instead of a model: a command in which {name} is replaced by the value of \
                parameter 'name', {params_json} by all of them, {trial} by the number of the trial; it runs without a \
                shell and prints its value on the last line";

    let own = [
        flags::number_flag(
            "timeout",
            "SECONDS",
            "seconds after which the program is killed and the trial fails",
        ),
        flags::count_flag(
            "retries",
            "N",
            "retries after a failure before the trial fails [default: 0]",
        ),
        flags::switch_flag("maximize", "maximize the value instead of minimizing it"),
        flags::text_flag(
            "value-file",
            "FILE",
            "JSON file with the value, instead of the last line; {trial} is the number of the trial",
        ),
        flags::text_flag(
            "value-key",
            "KEY",
            "path of the value in that file: keys separated by dots",
        )
        .requires("value-file"),
    ];

    let command = flags::text_flag("command", "COMMAND", text)
        .conflicts_with_all(foreign.collect::<Vec<_>>());

    std::iter::once(command)
        .chain(own.into_iter().map(|arg| arg.requires("command")))
        .map(|arg| arg.help_heading("Any program"))
        .collect()
}

/// A valid request.
struct CommandTuneRequest {
    program: Program,
    header: StudyHeader,
    study: Option<PathBuf>,
    limits: StudyLimits,
}

impl CommandTuneRequest {
    fn new(flags: &ArgMatches, command: &str) -> Result<CommandTuneRequest> {
        let mut gather = Gather::default();
        for name in SHARED {
            if let Some(text) = flags.get_one::<String>(name) {
                gather.set(name, text);
            }
        }

        let study = flags.get_one::<PathBuf>("study").cloned();
        // Flags that were not given have the values of the study.
        let known = known_head(study.as_ref())?;
        let parallel_trials = whole("parallel", flags, &mut gather)
            .or(known.as_ref().map(|header| header.parallel_trials))
            .unwrap_or(1);
        let trials = whole("trials", flags, &mut gather).unwrap_or(TRIALS as usize);
        let time_limit = seconds("time-limit", flags, &mut gather);
        let settings = settings(flags, &mut gather);
        if parallel_trials > 1 && settings.value.is_shared() {
            let message = "is the same file for concurrent trials; put {trial} in its name";
            gather.violate("value-file", message);
        }

        let file = flags.get_one::<String>("space").map(PathBuf::from);

        if file.is_none() && known.is_none() {
            gather.violate(
                "space",
                "is missing; name the TOML or JSON file with the parameters of the program",
            );
        }

        let engine = flags
            .get_one::<String>("engine")
            .or(known.as_ref().map(|header| &header.engine))
            .cloned();
        let engine = engine.unwrap_or_else(|| engine::DEFAULT.to_string());
        let given = engine_flags::engine_options(flags, &engine, &mut gather);
        let of_study = known
            .as_ref()
            .filter(|header| header.engine == engine && !flags.contains_id("engine-options"));
        let engine_options = of_study.map_or(given, |header| header.engine_options.clone());

        let params = gather.finish()?;
        let space = match (&file, &known) {
            (None, Some(header)) => header.space.clone(),
            // There is a file, or the violation above has returned an error.
            (file, _) => space_file::read(file.as_deref().unwrap_or(Path::new("")))?,
        };

        let program = Program::new(command, &space, settings)?;
        let seed_of_study =
            known.as_ref().map(|header| header.seed).filter(|_| !flags.contains_id("seed"));

        let header = StudyHeader {
            engine,
            engine_options,
            seed: seed_of_study.unwrap_or(params.seed),
            space,
            parallel_trials,
            folds: 1,
            prune: false,
            task: program.task(),
        };

        let threads = if params.threads == 0 { parallel_trials } else { params.threads };

        Ok(CommandTuneRequest {
            program,
            header,
            study,
            limits: StudyLimits { trials, seconds: time_limit, threads, ..StudyLimits::default() },
        })
    }
}

/// The header of a study that exists already.
fn known_head(study: Option<&PathBuf>) -> Result<Option<StudyHeader>> {
    let exists = |path: &&PathBuf| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0)
    };
    study.filter(exists).map(|path| Ok(read_study(path)?.header)).transpose()
}

/// How the program is run, and where its value is.
fn settings(flags: &ArgMatches, gather: &mut Gather) -> CommandConfig {
    let text = |name: &str| flags.get_one::<String>(name).cloned();
    let value = match text("value-file") {
        Some(path) => ValueFrom::File { path, key: text("value-key") },
        None => ValueFrom::LastLine,
    };
    CommandConfig {
        value,
        maximize: flags.get_flag("maximize"),
        timeout: seconds("timeout", flags, gather).map(Duration::from_secs_f64),
        retries: whole("retries", flags, gather).unwrap_or(0),
    }
}

/// The whole number of a flag.
fn whole(name: &str, flags: &ArgMatches, gather: &mut Gather) -> Option<usize> {
    let value = flags::count_value(flags, name);
    if value == Some(0) && name != "retries" {
        gather.violate(name, "is 0, must be at least 1");
    }
    value
}

/// The duration of a flag.
fn seconds(name: &str, flags: &ArgMatches, gather: &mut Gather) -> Option<f64> {
    let number = flags::number_value(flags, name, gather)?;
    if !(number > 0.0 && number < 1e9) {
        gather.violate(name, format!("is {number}, must be a number of seconds above 0"));
        return None;
    }
    Some(number)
}

/// Runs the command.
pub(super) fn run(flags: &ArgMatches, command: &str, interrupt: &InterruptFlag) -> Result<()> {
    let console = flags::console(flags);
    let CommandTuneRequest { program, header, study: path, limits } =
        CommandTuneRequest::new(flags, command)?;
    CommandFiles::default()
        .input("the search space", flags.get_one::<String>("space"))
        .input("the file with the value", flags.get_one::<String>("value-file"))
        .journal("study", path.as_ref())
        .check()?;

    let mut study = Study::open(path.as_deref(), header)?;
    console.notes(study.notes());
    let header = study.header().clone();
    let known = study.trials().count();

    console.line(&format!(
        "tuning {1} with {0}, {2} concurrent, seed {3}{4}",
        engine_text(&header),
        count(header.space.len(), "parameter"),
        count(header.parallel_trials, "trial"),
        header.seed,
        if known > 0 {
            format!("; the study has {} already", count(known, "trial"))
        } else {
            String::new()
        }
    ));

    interrupt.arm();
    let mut progress = TrialProgress::new(console, header.task.metric.clone());
    let started = Instant::now();
    let limits = StudyLimits { budget: interrupt.budget(), ..limits };
    let outcome = study.run(&program, &limits, &mut |event| progress.show(event))?;
    progress.finish();
    let seconds = started.elapsed().as_secs_f64();
    if outcome.best().is_none() {
        return Err(Error::Run(no_result_message(&outcome)));
    }

    match flags.get_flag("json") {
        true => console::print_json(&report(&header, &outcome, seconds)),
        false => console::print_result(&text(&header, &outcome, seconds, path.as_ref())),
    }
}

/// Why there is no best trial.
fn no_result_message(outcome: &StudyOutcome) -> String {
    let last = outcome.trials.iter().rev().find_map(|trial| match &trial.outcome {
        Some(TrialOutcome::Failed { reason }) => Some((trial.id, reason)),
        _ => None,
    });

    match last {
        Some((_, reason)) if outcome.tally.failed == 1 => {
            format!("the only trial failed: {reason}")
        }
        Some((id, reason)) => {
            format!(
                "all {} failed, the last one, trial {id}: {reason}",
                count(outcome.tally.failed, "trial")
            )
        }
        None => "no trial was finished".to_string(),
    }
}

fn text(
    header: &StudyHeader,
    outcome: &StudyOutcome,
    seconds: f64,
    path: Option<&PathBuf>,
) -> String {
    let tally = &outcome.tally;
    let mut text = format!(
        "{} in {seconds:.1} s, {} failed{}\n",
        { count(tally.finished, "trial") },
        tally.failed,
        stop_reason_text(outcome.stop_reason)
    );

    if let Some(best) = outcome.best() {
        let value = best
            .complete_loss()
            .map_or(String::new(), |loss| number(header.task.metric.value(loss)));
        text.push_str(&format!("best trial {}: {} {value}\n", best.id, header.task.metric.name));
        let values = named::json(&header.space, &best.point);
        for (name, value) in
            header.space.params().iter().filter_map(|p| Some((&p.name, values.get(&p.name)?)))
        {
            text.push_str(&format!("  {name} = {value}\n"));
        }
    }

    let unfinished = matches!(outcome.stop_reason, StopReason::Time | StopReason::Stopped);
    if let Some(path) = path.filter(|_| unfinished) {
        text.push_str(&format!("run the same command to continue from {}\n", path.display()));
    }
    text
}

fn report(header: &StudyHeader, outcome: &StudyOutcome, seconds: f64) -> Value {
    let metric = &header.task.metric;
    let best = outcome.best().map(|best| {
        json!({
            "trial": best.id,
            "value": best.complete_loss().map(|loss| metric.value(loss)),
            "parameters": named::json(&header.space, &best.point),
        })
    });

    json!({
        "engine": header.engine,
        "engine_options": engine_options::to_json(&header.engine_options),
        "seed": header.seed,
        "parallel": header.parallel_trials,
        "metric": metric.name,
        "trials": outcome.tally.finished,
        "failed": outcome.tally.failed,
        "stop_reason": stop_reason_name(outcome.stop_reason),
        "best": best,
        "seconds": seconds,
    })
}
