//! The options that `predict`, `evaluate` and `report` share.

use std::path::PathBuf;

use clap::ArgMatches;
use swarmwood::error::Violation;
use swarmwood::model::Model;
use swarmwood::params::Gather;
use swarmwood::read::ReadOptions;
use swarmwood::{Error, Result};

use crate::flags;

/// How a model is applied to the rows of a file.
pub struct ScoringOptions {
    /// The model file; empty where the command has no such argument.
    pub model: PathBuf,
    /// How rows are read.
    pub read: ReadOptions,
    /// Limits prediction to this number of first rounds.
    pub first_rounds: Option<usize>,
    /// A decision threshold instead of the model's.
    pub threshold: Option<f64>,
    /// Number of threads.
    pub threads: usize,
}

impl ScoringOptions {
    /// Reads the flags; all violations are reported together.
    pub fn new(flags: &ArgMatches) -> Result<ScoringOptions> {
        let mut gather = Gather::default();
        if let Some(text) = flags.get_one::<String>("threads") {
            gather.set("threads", text);
        }

        let format = flags::text_format_of(flags, &mut gather);

        // `report` has neither `--first` nor a positional model.
        let first_rounds = flags.try_get_one::<u64>("first").ok().flatten();
        let first_rounds =
            first_rounds.map(|&rounds| usize::try_from(rounds).unwrap_or(usize::MAX));
        if first_rounds == Some(0) {
            gather.violate("first", "is 0, must be a whole number from 1");
        }
        let model =
            flags.try_get_one::<PathBuf>("model").ok().flatten().cloned().unwrap_or_default();

        // `report` has no threshold.
        let threshold = flags.try_get_one::<String>("threshold").ok().flatten();
        if let Some(text) = threshold {
            gather.set("threshold", text);
        }

        let max_memory = flags::max_memory(flags, &mut gather);
        let params = gather.finish()?;

        Ok(ScoringOptions {
            model,
            read: ReadOptions { format, max_memory, ..ReadOptions::default() },
            first_rounds,
            threshold: threshold.map(|_| params.threshold),
            threads: params.threads,
        })
    }

    /// The model with the decision threshold of the flags, if they have one.
    pub fn decide(&self, mut model: Model) -> Result<Model> {
        let Some(threshold) = self.threshold else { return Ok(model) };
        let classes = model.schema.target.kind.classes().len();
        if classes != 2 {
            let message = format!(
                "is for models of two classes, but {} predicts {}",
                self.model.display(),
                if classes == 0 { "numbers".to_string() } else { format!("{classes} classes") }
            );
            return Err(Error::Parameters(vec![Violation::new("threshold", message)]));
        }
        model.calibration.threshold = Some(threshold);
        Ok(model)
    }

    /// Adds the columns that rows with a known target have.
    pub fn with_target(mut self, flags: &ArgMatches, model: &Model) -> ScoringOptions {
        // Models of other libraries do not store the name of their target.
        let requested = flags.get_one::<String>("target").cloned();
        self.read.target = match model.schema.target.kind.columns() {
            [] => requested.unwrap_or_else(|| model.schema.target.name.clone()),
            _ => requested.unwrap_or_default(),
        };
        self.read.weight = flags.get_one::<String>("weight").cloned();
        self
    }
}
