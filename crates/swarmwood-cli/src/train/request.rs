//! The request of a training run: flags take precedence over the configuration file, which takes
//! precedence over defaults. All violations are reported together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use swarmwood::checkpoint::Keep;
use swarmwood::params::{Gather, TABLE, ValidParams};
use swarmwood::read::{ReadOptions, Source};
use swarmwood::train::TrainOptions;
use swarmwood::{Error, Result, store};

use crate::files::CommandFiles;
use crate::flags;
use crate::inputs::InputValues;
use crate::presets;

/// Flags that a configuration file may hold beside the parameters.
const FILE_KEYS: &[&str] = &[
    "target",
    "weight",
    "class-weight",
    "scale-pos-weight",
    "ignore",
    "categorical",
    "dates",
    "delimiter",
    "decimal",
    "thousands",
    "encoding",
    "task",
    "positive",
    "valid",
    "out",
    "pretrained",
    "init-model",
    "checkpoint",
    "trace",
    "plot",
];

/// Iterations from one checkpoint to the next.
const CHECKPOINT_EVERY: usize = 10;

/// A valid request.
pub(super) struct TrainRequest {
    /// The training rows.
    pub source: Source,
    /// How they are read.
    pub options: ReadOptions,
    /// The sets of validation rows that have files of their own; the last one decides.
    pub valid: Vec<Source>,
    /// Where the model goes; `None` is standard output.
    pub out: Option<PathBuf>,
    /// Pretrained model and checkpoint.
    pub train_options: TrainOptions,
    /// The file of the model that is continued.
    init_path: Option<PathBuf>,
    /// The CSV file with one line per step.
    pub trace: Option<PathBuf>,
    /// The chart of the run.
    pub plot: Option<PathBuf>,
    pub params: ValidParams,
}

impl TrainRequest {
    /// Reads flags and configuration file.
    pub(super) fn new(flags: &ArgMatches) -> Result<TrainRequest> {
        let mut gather = Gather::default();
        presets::apply(flags, &mut gather);
        let file = match flags.get_one::<PathBuf>("config") {
            Some(path) => gather.config(path, FILE_KEYS)?,
            None => Vec::new(),
        };

        let inputs = InputValues::new(flags, file);
        for spec in TABLE {
            if let Some(text) = flags.get_one::<String>(spec.name) {
                gather.set(spec.name, &flags::parameter_text(spec, text)?);
            }
        }

        let options = inputs.read_options(&mut gather);
        let valid: Vec<Source> =
            inputs.paths("valid").iter().map(|path| flags::source(path)).collect();
        check_validation(!valid.is_empty(), &mut gather);

        let out = inputs.path("out", &mut gather).unwrap_or_else(|| PathBuf::from("model.json"));
        let out = (out != Path::new("-")).then_some(out);
        if out.is_none() && flags.get_flag("json") {
            gather.violate("out", "is '-', but --json prints its report there; name a file");
        }

        let source = match flags.get_one::<PathBuf>("data") {
            Some(path) => flags::source(path),
            None => swarmwood::read::demo(),
        };

        let from_stdin = |source: &&Source| matches!(source, Source::Stdin);
        if [&source].into_iter().chain(&valid).filter(from_stdin).count() > 1 {
            let message = if matches!(source, Source::Stdin) {
                "is '-', but the training rows come from standard input already; name a file"
            } else {
                "is '-' twice, but standard input has one set of rows; name files"
            };
            gather.violate("valid", message);
        }

        let pretrained = inputs.path("pretrained", &mut gather);
        let init_path = inputs.path("init-model", &mut gather);
        let init_model = init_path.as_deref().map(store::load).transpose()?.map(Arc::new);
        let train_options = TrainOptions {
            pretrained,
            init_model,
            ..checkpoint_options(flags, &inputs, &mut gather)
        };
        let trace = inputs.path("trace", &mut gather);
        let plot = inputs.path("plot", &mut gather);
        if let Err(Error::Parameters(violations)) = train_options.check(&gather.so_far()) {
            violations
                .into_iter()
                .for_each(|violation| gather.violate(violation.name(), violation.message.clone()));
        }

        let params = gather.finish()?;
        Ok(TrainRequest {
            source,
            options,
            valid,
            out,
            train_options,
            init_path,
            trace,
            plot,
            params,
        })
    }

    /// Every file that the run reads or writes.
    pub(super) fn files(&self, flags: &ArgMatches) -> CommandFiles {
        let mut files = CommandFiles::default()
            .rows("the training data", &self.source)
            .input("the configuration", flags.get_one::<PathBuf>("config"))
            .input("the pretrained model", self.train_options.pretrained.as_ref())
            .input("the model that is continued", self.init_path.as_ref())
            .output("out", self.out.as_ref())
            .output("trace", self.trace.as_ref())
            .output("plot", self.plot.as_ref())
            .output("checkpoint", self.train_options.keep.as_ref().map(|keep| &keep.path));

        for valid in &self.valid {
            files = files.rows("the validation rows", valid);
        }
        files
    }
}

/// Early stopping needs validation rows, and there is one source of them.
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

/// The checkpoint, as options of a training run.
pub fn checkpoint_options(
    flags: &ArgMatches,
    inputs: &InputValues<'_>,
    gather: &mut Gather,
) -> TrainOptions {
    let every = flags::count_value(flags, "checkpoint-every");
    let resume = flags.get_flag("resume");

    let Some(path) = inputs.path("checkpoint", gather) else {
        for (name, is_set) in [("checkpoint-every", every.is_some()), ("resume", resume)] {
            if is_set {
                gather.violate(name, "needs --checkpoint FILE, the file with the state of the run");
            }
        }
        return TrainOptions::default();
    };

    if every == Some(0) {
        gather.violate("checkpoint-every", "is 0, must be at least 1");
    }
    let every = every.unwrap_or(CHECKPOINT_EVERY).max(1);
    TrainOptions { keep: Some(Keep { path, every, resume }), ..TrainOptions::default() }
}
