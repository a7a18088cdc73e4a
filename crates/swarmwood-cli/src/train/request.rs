//! What `train` is asked to do: flags over configuration file over defaults, everything that is
//! wrong told at once.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;
use swarmwood::checkpoint::Keep;
use swarmwood::params::{Checked, Gather, Params, TABLE};
use swarmwood::read::{ReadOptions, Source, TaskChoice};
use swarmwood::train::Aids;
use swarmwood::{Error, Result, registry};

use crate::args::{self, FILE_KEYS, TASKS};

/// The target of the data that comes with the program.
const DEMO_TARGET: &str = "quality";

/// Iterations from one checkpoint to the next.
const EVERY: usize = 10;

/// A training that may begin.
pub struct Plan {
    /// The training rows.
    pub source: Source,
    /// How they are read.
    pub options: ReadOptions,
    /// The validation rows, if they have a file of their own.
    pub valid: Option<Source>,
    /// Where the model goes; `None` is standard output.
    pub out: Option<PathBuf>,
    /// What the training may start from and where it stores its state.
    pub aids: Aids,
    /// The table of steps.
    pub trace: Option<PathBuf>,
    /// The picture of the run.
    pub plot: Option<PathBuf>,
    /// The parameters.
    pub params: Checked<Params>,
}

/// The flags and, behind them, the configuration file.
pub struct Given<'a> {
    flags: &'a ArgMatches,
    file: Vec<(String, Vec<String>)>,
}

impl Plan {
    /// Reads flags and configuration file.
    pub fn new(flags: &ArgMatches) -> Result<Plan> {
        let mut gather = Gather::default();
        let file = match flags.get_one::<PathBuf>("config") {
            Some(path) => gather.config(path, FILE_KEYS)?,
            None => Vec::new(),
        };
        let given = Given { flags, file };
        for spec in TABLE {
            if let Some(text) = flags.get_one::<String>(spec.name) {
                gather.set(spec.name, text);
            }
        }
        let options = given.options(&mut gather);
        let valid = given.path("valid", &mut gather).map(|path| args::source(&path));
        let out = given.path("out", &mut gather).unwrap_or_else(|| PathBuf::from("model.json"));
        check_validation(valid.is_some(), &mut gather);
        let out = (out != Path::new("-")).then_some(out);
        if out.is_none() && flags.get_flag("json") {
            gather.violate("out", "is '-', but --json prints its report there; name a file");
        }
        let source = match flags.get_one::<PathBuf>("data") {
            Some(path) => args::source(path),
            None => swarmwood::read::demo(),
        };
        if matches!((&source, &valid), (Source::Stdin, Some(Source::Stdin))) {
            gather.violate(
                "valid",
                "is '-', but the training rows come from standard input already; name a file",
            );
        }
        let aids = given.aids(&mut gather);
        let (trace, plot) = (given.path("trace", &mut gather), given.path("plot", &mut gather));
        if let Err(Error::Parameters(faults)) = registry::check_aids(&gather.so_far(), &aids) {
            faults.into_iter().for_each(|fault| gather.violate(&fault.name, fault.message));
        }
        Ok(Plan { source, options, valid, out, aids, trace, plot, params: gather.finish()? })
    }
}

/// What early stopping and held-out rows ask of each other.
fn check_validation(has_file: bool, gather: &mut Gather) {
    let fraction = gather.so_far().valid_fraction;
    if has_file && fraction > 0.0 {
        gather.violate("valid_fraction", "cannot be used with --valid; choose one of them");
    }
    if !has_file && fraction == 0.0 && gather.so_far().early_stopping_rounds > 0 {
        gather.violate(
            "early_stopping_rounds",
            "needs validation rows; give --valid FILE or --valid-fraction 0.2",
        );
    }
}

impl<'a> Given<'a> {
    /// Flags without a configuration file.
    pub fn of_flags(flags: &'a ArgMatches) -> Self {
        Given { flags, file: Vec::new() }
    }

    /// The words of a flag, or of the file if the flag is not there.
    fn words(&self, name: &str) -> Vec<String> {
        if self.flags.value_source(name) == Some(ValueSource::CommandLine) {
            return self.flags.get_many::<String>(name).into_iter().flatten().cloned().collect();
        }
        self.file
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, words)| words.clone())
            .unwrap_or_default()
    }

    /// The one word of a flag or of the file.
    fn word(&self, name: &str, gather: &mut Gather) -> Option<String> {
        let mut words = self.words(name);
        if words.len() > 1 {
            gather.violate(name, format!("has {} values, must have one", words.len()));
        }
        words.pop()
    }

    /// The file a flag or the configuration file names.
    fn path(&self, name: &str, gather: &mut Gather) -> Option<PathBuf> {
        if let Some(path) = self.flags.get_one::<PathBuf>(name) {
            return Some(path.clone());
        }
        let mut words = self.file.iter().find(|(key, _)| key == name)?.1.clone();
        if words.len() != 1 {
            gather.violate(name, format!("has {} values, must have one", words.len()));
        }
        words.pop().map(PathBuf::from)
    }

    fn aids(&self, gather: &mut Gather) -> Aids {
        let every = self.flags.get_one::<u64>("checkpoint-every").copied();
        let resume = self.flags.get_flag("resume");
        let Some(path) = self.path("checkpoint", gather) else {
            for (name, given) in [("checkpoint-every", every.is_some()), ("resume", resume)] {
                if given {
                    gather.violate(
                        name,
                        "needs --checkpoint FILE, the file with the state of the run",
                    );
                }
            }
            return Aids { pretrained: self.path("pretrained", gather), ..Aids::default() };
        };
        if every == Some(0) {
            gather.violate("checkpoint-every", "is 0, must be at least 1");
        }
        let every = every.map_or(EVERY, |every| usize::try_from(every).unwrap_or(usize::MAX));
        let keep = Keep { path, every: every.max(1), resume };
        Aids { pretrained: self.path("pretrained", gather), keep: Some(keep), ..Aids::default() }
    }

    /// How the rows are read.
    pub fn options(&self, gather: &mut Gather) -> ReadOptions {
        let target = self.word("target", gather).unwrap_or_else(|| {
            if !self.flags.try_get_one::<bool>("demo").ok().flatten().copied().unwrap_or(false) {
                gather.violate(
                    "target",
                    "is missing; name the column to predict with --target COLUMN",
                );
            }
            DEMO_TARGET.to_string()
        });
        ReadOptions {
            target,
            weight: self.word("weight", gather),
            ignore: self.words("ignore"),
            categorical: self.words("categorical"),
            delimiter: self.word("delimiter", gather).and_then(|text| separator(&text, gather)),
            task: self
                .word("task", gather)
                .and_then(|text| task(&text, gather))
                .unwrap_or_default(),
            positive: self.word("positive", gather),
        }
    }
}

fn task(text: &str, gather: &mut Gather) -> Option<TaskChoice> {
    let found = TASKS.iter().find(|(name, _)| *name == text).map(|&(_, task)| task);
    if found.is_none() {
        let names: Vec<&str> = TASKS.iter().map(|&(name, _)| name).collect();
        gather.violate("task", format!("is '{text}', must be one of {}", names.join(", ")));
    }
    found
}

fn separator(text: &str, gather: &mut Gather) -> Option<u8> {
    args::separator(text).map_err(|message| gather.violate("delimiter", message)).ok()
}
