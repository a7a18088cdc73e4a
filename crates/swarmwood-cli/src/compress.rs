//! `swarmwood compress`: a small model that behaves like a large one.

use std::path::PathBuf;

use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use swarmwood::compress::{CompressRequest, CompressResult, LabelMetrics, ModelTeacher, compress};
use swarmwood::evaluate::{Bootstrap, Interval};
use swarmwood::learn::event::Event;
use swarmwood::model::Model;
use swarmwood::params::{Auto, Gather, TABLE, ValidParams};
use swarmwood::read::{self, ReadOptions, Rows, Source};
use swarmwood::train::TrainOptions;
use swarmwood::{Result, store};

use crate::console::{self, Console};
use crate::files::CommandFiles;
use crate::flags;
use crate::format::{count, number, percent};
use crate::help;
use crate::inputs::InputValues;
use crate::interrupt::InterruptFlag;
use crate::train::{TrainProgress, checkpoint_flags, checkpoint_options};

const AFTER: &str = "\
The student is fitted to the raw scores of MODEL (logits for classes) on the rows of DATA, which need
no target, and on rows that are made by exchanging values between neighbours. It keeps the behaviour
of the model; if the best predictions of a small model are wanted instead, train on the targets.

Examples:
  swarmwood compress lightgbm.txt rows.csv --total-leaves 192 --out small.json
  swarmwood compress big.json rows.csv --valid test.csv --total-leaves 1024 --out small.json";

/// The share of rows that are held out if nothing else is said.
const HELD_OUT: &str = "0.2";

/// What the shortest help has.
const COMMON: &[&str] = &[
    "target",
    "weight",
    "valid",
    "swaps",
    "out",
    "json",
    "quiet",
    "method",
    "total_leaves",
    "trees",
    "max_leaves",
    "valid_fraction",
    "time_limit",
    "seed",
    "threads",
];

/// The subcommand.
pub fn command() -> Command {
    let command = Command::new("compress")
        .about("Fit a small model to the scores of a large one: Swarmwood, XGBoost, LightGBM, CatBoost")
        .args_override_self(true)
        .arg(flags::path_arg(
            "model",
            "MODEL",
            "the large model: a file of Swarmwood, XGBoost, LightGBM or CatBoost",
        ))
        .arg(
            flags::data_arg(
                "rows, with or without the target: CSV (plain or gzip), Parquet, or - for standard \
                 input",
            )
            .required(true),
        )
        .arg(flags::out_flag("file of the small model").required(true))
        .arg(flags::text_flag(
            "target",
            "COLUMN",
            "column with the true target, for metrics [default: the name in the model, if there is one]",
        ))
        .arg(flags::text_flag("weight", "COLUMN", "column with the weight of each row, for metrics"))
        .arg(flags::file_flag(
            "valid",
            "rows to compare the models on [default: a fifth of the rows, held out]",
        ))
        .arg(flags::count_flag(
            "swaps",
            "N",
            "extra rows per row, made by exchanging values between neighbours [default: 4]",
        ))
        .args(checkpoint_flags())
        .args(flags::text_format_flags())
        .arg(flags::max_memory_flag())
        .args(flags::console_flags())
        .args(TABLE.iter().map(flags::parameter_flag))
        .after_help(AFTER);
    help::with_levels(command, COMMON)
}

/// A valid request.
struct CompressCommand {
    model: PathBuf,
    source: Source,
    valid: Option<Source>,
    out: PathBuf,
    read: ReadOptions,
    swaps: Auto<usize>,
    params: ValidParams,
    options: TrainOptions,
}

impl CompressCommand {
    /// Reads the flags; all violations are reported together.
    fn new(flags: &ArgMatches) -> Result<CompressCommand> {
        let mut gather = Gather::default();
        for spec in TABLE {
            if let Some(text) = flags.get_one::<String>(spec.name) {
                gather.set(spec.name, text);
            }
        }
        let valid = flags.get_one::<PathBuf>("valid").map(|path| flags::source(path));
        match (valid.is_some(), flags.contains_id("valid_fraction")) {
            (false, false) => gather.set("valid_fraction", HELD_OUT),
            (true, true) => {
                gather.violate("valid_fraction", "cannot be used with --valid; choose one of them")
            }
            (false, true) if gather.so_far().valid_fraction == 0.0 => gather.violate(
                "valid_fraction",
                "is 0, but the models are compared on rows that were held out; give --valid FILE \
                 instead",
            ),
            _ => {}
        }

        let format = flags::text_format_of(flags, &mut gather);
        let read = ReadOptions {
            target: flags.get_one::<String>("target").cloned().unwrap_or_default(),
            weight: flags.get_one::<String>("weight").cloned(),
            format,
            max_memory: flags::max_memory(flags, &mut gather),
            ..ReadOptions::default()
        };

        let source = flags::data_source(flags);
        if matches!((&source, &valid), (Source::Stdin, Some(Source::Stdin))) {
            gather.violate("valid", "is '-', but the rows come from standard input already");
        }
        let out = flags::out_file(flags).cloned().unwrap_or_default();
        if out.as_os_str().is_empty() {
            gather.violate("out", "must be a file");
        }

        let inputs = InputValues::new(flags, Vec::new());
        let options = checkpoint_options(flags, &inputs, &mut gather);
        Ok(CompressCommand {
            model: flags.get_one::<PathBuf>("model").cloned().unwrap_or_default(),
            source,
            valid,
            out,
            read,
            swaps: flags::count_value(flags, "swaps").map_or(Auto::Auto, Auto::Is),
            params: gather.finish()?,
            options,
        })
    }

    /// Every file that the run reads or writes.
    fn files(&self) -> CommandFiles {
        let files = CommandFiles::default()
            .input("the large model", Some(&self.model))
            .rows("the data", &self.source)
            .output("out", Some(&self.out))
            .output("checkpoint", self.options.keep.as_ref().map(|keep| &keep.path));
        match &self.valid {
            Some(valid) => files.rows("the validation rows", valid),
            None => files,
        }
    }

    /// The rows for the student, those that are held out, and whether the latter have targets.
    fn read(&self, model: &Model) -> Result<(Rows, Rows, bool)> {
        let (rows, is_labelled) = read::maybe_labelled(&self.source, &model.schema, &self.read)?;
        match &self.valid {
            Some(valid) => {
                let (valid, is_labelled) = read::maybe_labelled(valid, &model.schema, &self.read)?;
                Ok((rows, valid, is_labelled))
            }
            None => {
                let (rest, held_out) =
                    rows.holdout(self.params.valid_fraction, self.params.seed)?;
                Ok((rest, held_out, is_labelled))
            }
        }
    }
}

/// Runs the command.
pub fn run(flags: &ArgMatches, interrupt: &InterruptFlag) -> Result<()> {
    let command = CompressCommand::new(flags)?;
    let console = flags::console(flags);
    command.files().check_writable()?;

    let model = store::load(&command.model)?;
    let (rows, held_out, is_labelled) = command.read(&model)?;
    let idle = command.params.idle();
    let mut warnings: Vec<String> = idle.iter().map(ToString::to_string).collect();
    warnings.extend(rows.warnings.iter().chain(&held_out.warnings).cloned());
    console.warnings(&warnings);

    interrupt.arm();
    let mut progress = TrainProgress::new(console);
    let result = compress(
        &CompressRequest {
            teacher: &ModelTeacher::new(&model, command.params.threads)?,
            rows: &rows,
            held_out: &held_out,
            is_labelled,
            swaps: command.swaps,
            params: &command.params,
            options: &TrainOptions { budget: Some(interrupt.budget()), ..command.options.clone() },
        },
        &mut |event: &Event| progress.show(event),
    )?;
    progress.finish();

    store::save(&result.model, &command.out)?;
    let late: Vec<String> = result.warnings.iter().map(ToString::to_string).collect();
    console.warnings(&late);
    console.notes(&result.notes);
    warnings.extend(late);
    if flags.get_flag("json") {
        return console::print_json(&report_json(&command, &model, &result, &warnings));
    }
    print_report(console, &command, &model, &result)
}

/// The number of trees and of their leaves.
fn size(model: &Model) -> (usize, usize) {
    let leaves = model.members().iter().map(|member| member.shape.leaves().len());
    (model.members().len(), leaves.sum())
}

fn print_report(
    console: Console,
    command: &CompressCommand,
    teacher: &Model,
    result: &CompressResult,
) -> Result<()> {
    let size_text = |model: &Model| {
        let (trees, leaves) = size(model);
        format!("{} with {leaves} leaves", count(trees, "tree"))
    };
    let fidelity = &result.fidelity;
    let r2 = fidelity.r2.map_or("undefined".to_string(), |r2| format!("{r2:.4}"));
    let mut text = format!(
        "large model: {}\nsmall model: {}\nfitted to {} and to {} made of them\n\
         on {} that were held out: R2 of raw scores {r2}, root mean squared difference {}\n",
        size_text(teacher),
        size_text(&result.model),
        count(result.data_rows, "row"),
        count(result.extra_rows, "row"),
        count(fidelity.rows, "row"),
        number(fidelity.rmse),
    );
    if let Some(agreement) = fidelity.agreement {
        text.push_str(&format!("the same class in {} of them\n", percent(agreement)));
    }
    if let Some(labels) = &result.labels {
        text.push_str(&labels_text(labels));
    }
    console::print_result(&text)?;
    console.line(&format!("written to {}", command.out.display()));
    Ok(())
}

/// A line per metric: teacher, student, and their difference.
fn labels_text(labels: &LabelMetrics) -> String {
    let shown = |bootstrap: &Bootstrap, name: &str| {
        let value = bootstrap.value(name).map_or("-".to_string(), number);
        let interval = bootstrap.interval(name).map_or(String::new(), |interval| {
            format!(" ({} to {})", number(interval.low), number(interval.high))
        });
        format!("{value}{interval}")
    };
    let mut text = format!(
        "\n{:<18} {:<34} {:<34} small - large\n",
        "metric (95 %)", "large model", "small model"
    );
    for (name, _) in labels.student.values() {
        let difference = labels.student.less(&labels.teacher, name);
        let difference = difference.map_or("-".to_string(), |(value, interval)| {
            format!("{} ({} to {})", number(value), number(interval.low), number(interval.high))
        });
        let (large, small) = (shown(&labels.teacher, name), shown(&labels.student, name));
        text.push_str(&format!("{name:<18} {large:<34} {small:<34} {difference}\n"));
    }
    text
}

fn report_json(
    command: &CompressCommand,
    teacher: &Model,
    result: &CompressResult,
    warnings: &[String],
) -> Value {
    let interval = |interval: Option<Interval>| interval.map(|ends| json!([ends.low, ends.high]));
    let metrics = |bootstrap: &Bootstrap| -> Value {
        let metric = |(name, value): &(&'static str, f64)| {
            let ends = interval(bootstrap.interval(name));
            ((*name).to_string(), json!({ "value": value, "interval": ends }))
        };
        bootstrap.values().iter().map(metric).collect::<serde_json::Map<_, _>>().into()
    };
    let differences = |labels: &LabelMetrics| -> Value {
        let difference = |(name, _): &(&'static str, f64)| {
            let (value, ends) = labels.student.less(&labels.teacher, name)?;
            let ends = interval(Some(ends));
            Some(((*name).to_string(), json!({ "value": value, "interval": ends })))
        };
        let all = labels.student.values().iter().filter_map(difference);
        all.collect::<serde_json::Map<_, _>>().into()
    };
    let labels = result.labels.as_ref().map(|labels| {
        json!({
            "large_model": metrics(&labels.teacher),
            "small_model": metrics(&labels.student),
            "difference": differences(labels),
        })
    });
    let model = |model: &Model| {
        let (trees, leaves) = size(model);
        json!({ "trees": trees, "leaves": leaves })
    };
    let fidelity = &result.fidelity;
    json!({
        "model": command.out.display().to_string(),
        "large_model": model(teacher),
        "small_model": model(&result.model),
        "rows": result.data_rows,
        "extra_rows": result.extra_rows,
        "fidelity": {
            "rows": fidelity.rows,
            "r2": fidelity.r2,
            "rmse": fidelity.rmse,
            "largest_difference": fidelity.largest_difference,
            "agreement": fidelity.agreement,
        },
        "metrics": labels,
        "warnings": warnings,
        "notes": result.notes,
    })
}
