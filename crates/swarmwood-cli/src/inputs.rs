//! Values of a run that are not training parameters, from flags or from the configuration file.

use std::path::PathBuf;

use clap::ArgMatches;
use clap::parser::ValueSource;
use swarmwood::params::Gather;
use swarmwood::read::{ClassWeight, DateChoice, ReadOptions, TaskChoice, target_of};

use crate::flags::{self, TASKS};

/// The target of the demo data.
const DEMO_TARGET: &str = "quality";

/// The flags, with the configuration file as fallback.
pub struct InputValues<'a> {
    flags: &'a ArgMatches,
    file: Vec<(String, Vec<String>)>,
}

impl<'a> InputValues<'a> {
    /// Flags with the keys and values of a configuration file, which may be empty.
    pub fn new(flags: &'a ArgMatches, file: Vec<(String, Vec<String>)>) -> Self {
        InputValues { flags, file }
    }

    fn in_file(&self, name: &str) -> Option<&Vec<String>> {
        self.file.iter().find(|(key, _)| key == name).map(|(_, values)| values)
    }

    /// All values of a flag, or of the file if the flag was not given.
    fn texts(&self, name: &str) -> Vec<String> {
        if self.flags.value_source(name) == Some(ValueSource::CommandLine) {
            return self.flags.get_many::<String>(name).into_iter().flatten().cloned().collect();
        }
        self.in_file(name).cloned().unwrap_or_default()
    }

    /// The single value of a flag or of the file.
    fn text(&self, name: &str, gather: &mut Gather) -> Option<String> {
        let mut texts = self.texts(name);
        if texts.len() > 1 {
            gather.violate(name, format!("has {} values, must have one", texts.len()));
        }
        texts.pop()
    }

    /// The file that a flag or the configuration file names.
    pub fn path(&self, name: &str, gather: &mut Gather) -> Option<PathBuf> {
        if let Some(path) = self.flags.get_one::<PathBuf>(name) {
            return Some(path.clone());
        }

        let mut texts = self.in_file(name)?.clone();
        if texts.len() != 1 {
            gather.violate(name, format!("has {} values, must have one", texts.len()));
        }
        texts.pop().map(PathBuf::from)
    }

    /// The files that a flag, which may be repeated, or the configuration file names.
    pub fn paths(&self, name: &str) -> Vec<PathBuf> {
        match self.flags.get_many::<PathBuf>(name) {
            Some(paths) => paths.cloned().collect(),
            None => self.in_file(name).into_iter().flatten().map(PathBuf::from).collect(),
        }
    }

    fn class_weight(&self, gather: &mut Gather) -> Option<ClassWeight> {
        // A configuration file may have a list.
        let texts = self.texts("class-weight");
        let text = (!texts.is_empty()).then(|| texts.join(","))?;
        ClassWeight::parse(&text).map_err(|message| gather.violate("class-weight", message)).ok()
    }

    fn scale_pos_weight(&self, gather: &mut Gather) -> Option<f64> {
        let text = self.text("scale-pos-weight", gather)?;
        let weight = text.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight > 0.0);
        if weight.is_none() {
            let message = format!("is '{text}', must be a number above 0");
            gather.violate("scale-pos-weight", message);
        }
        weight
    }

    fn dates(&self, gather: &mut Gather) -> DateChoice {
        let Some(text) = self.text("dates", gather) else { return DateChoice::default() };
        let choice = DateChoice::parse(&text);
        choice.map_err(|message| gather.violate("dates", message)).unwrap_or_default()
    }

    /// How the rows are read.
    pub fn read_options(&self, gather: &mut Gather) -> ReadOptions {
        // A configuration file may have a list.
        let listed = self.texts("target");
        let listed = (listed.len() > 1).then(|| target_of(listed).name);
        let target = listed.or_else(|| self.text("target", gather)).unwrap_or_else(|| {
            let demo = self.flags.try_get_one::<bool>("demo").ok().flatten();
            if demo != Some(&true) {
                gather.violate(
                    "target",
                    "is missing; name the column to predict with --target COLUMN",
                );
            }
            DEMO_TARGET.to_string()
        });

        ReadOptions {
            target,
            weight: self.text("weight", gather),
            class_weight: self.class_weight(gather),
            scale_pos_weight: self.scale_pos_weight(gather),
            ignore: self.texts("ignore"),
            categorical: self.texts("categorical"),
            dates: self.dates(gather),
            format: flags::text_format(|name, gather| self.text(name, gather), gather),
            task: self
                .text("task", gather)
                .and_then(|text| task(&text, gather))
                .unwrap_or_default(),
            positive: self.text("positive", gather),
            max_memory: flags::max_memory(self.flags, gather),
        }
    }
}

fn task(text: &str, gather: &mut Gather) -> Option<TaskChoice> {
    let task = TASKS.iter().find(|(name, _)| *name == text).map(|&(_, task)| task);
    if task.is_none() {
        let names: Vec<&str> = TASKS.iter().map(|&(name, _)| name).collect();
        gather.violate("task", format!("is '{text}', must be one of {}", names.join(", ")));
    }
    task
}
