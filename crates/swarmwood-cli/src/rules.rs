//! `swarmwood rules`: a tree as a short set of rules, a sum of trees as a table of points.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use swarmwood::error::Violation;
use swarmwood::model::export::{
    ExportContent, ExportFormat, ExportInput, ExportOptions, export_text, find, formats,
    points_table,
};
use swarmwood::model::rules::RulesError;
use swarmwood::model::{Model, RuleMerge, SingleTree};
use swarmwood::params::Gather;
use swarmwood::read::{ReadOptions, Rows};
use swarmwood::write::write_atomically;
use swarmwood::{Error, Result, read, rules, store};

use crate::console;
use crate::files::CommandFiles;
use crate::flags;
use crate::format::count;

/// The subcommand.
pub fn command() -> Command {
    Command::new("rules")
        .about("Write one tree as a short, unordered set of rules, or a sum of trees as rules with points")
        .args_override_self(true)
        .arg(flags::model_arg())
        .arg(flags::choice_flag(
            "format",
            formats(ExportContent::Rules).map(|format| (format.name(), format.description())),
            "output format",
        ))
        .arg(flags::choice_flag(
            "merge",
            RuleMerge::NAMES.iter().copied(),
            "how leaves are merged into rules",
        ))
        .arg(flags::out_flag("file for the rules; - for standard output").default_value("-"))
        .arg(flags::file_flag(
            "data",
            "rows with the target to compute support, confidence and lift on \
             [default: the statistics of the leaves]",
        ))
        .arg(flags::text_flag(
            "target",
            "COLUMN",
            "column of the target in the data [default: the name in the model]",
        ))
        .arg(flags::text_flag("weight", "COLUMN", "column with the weight of each row of the data"))
        .args(flags::text_format_flags())
        .arg(flags::quiet_flag())
        .after_help(
            "The rules agree with the model on every input, missing values and new categories included.",
        )
}

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let console = flags::console(flags);
    let path = flags.get_one::<PathBuf>("model").cloned().unwrap_or_default();
    let out = flags::out_file(flags);
    CommandFiles::default()
        .input("the model", Some(&path))
        .input("the data", flags.get_one::<PathBuf>("data"))
        .output("out", out)
        .check_writable()?;

    let model = store::load(&path)?;
    let name = flags.get_one::<String>("format").map_or("", String::as_str);
    let format = find(ExportContent::Rules, name).ok_or_else(|| {
        let message = format!("there is no format '{name}' of rules");
        Error::Parameters(vec![Violation::new("format", message)])
    })?;

    let (text, rules) = match model.single_tree() {
        Ok(tree) => of_tree(flags, (&path, &tree), format)?,
        Err(_) => of_sum(flags, (&path, &model), format)?,
    };
    match out {
        Some(path) => {
            write_atomically(path, |file| file.write_all(text.as_bytes()))?;
            console.line(&format!("{} written to {}", count(rules, "rule"), path.display()));
            Ok(())
        }
        None => console::print_result(&text),
    }
}

/// The rules of one tree as text, and their number.
fn of_tree(
    flags: &ArgMatches,
    (path, tree): (&Path, &SingleTree<'_>),
    format: &dyn ExportFormat,
) -> Result<(String, usize)> {
    let merge = flags.get_one::<String>("merge").and_then(|name| RuleMerge::from_name(name));
    let violation = |message: String| Error::Parameters(vec![Violation::new("merge", message)]);
    let mut rule_set = tree.rules(merge.unwrap_or_default()).map_err(|error| match error {
        RulesError::Leaves { .. } => model_error(path, &error),
        _ => violation(error.to_string()),
    })?;
    if let Some(rows) = data_rows(flags, tree.model)? {
        rules::count(&mut rule_set, &rows)?;
    }

    let input = ExportInput::with_rules(tree.model, &rule_set);
    let text = export_text(format, &input, &ExportOptions::default())
        .map_err(|error| model_error(path, &error))?;
    Ok((text, rule_set.rules.len()))
}

/// The rules with points of a sum of trees as text, and their number.
fn of_sum(
    flags: &ArgMatches,
    (path, model): (&Path, &Model),
    format: &dyn ExportFormat,
) -> Result<(String, usize)> {
    let mut table = points_table(format, model).map_err(|error| model_error(path, &error))?;
    if let Some(rows) = data_rows(flags, model)? {
        rules::count_additive(&mut table, &rows)?;
    }

    let input = ExportInput::with_additive_rules(model, &table);
    let text = export_text(format, &input, &ExportOptions::default())
        .map_err(|error| model_error(path, &error))?;
    Ok((text, table.rule_count()))
}

fn model_error(path: &Path, error: &dyn std::error::Error) -> Error {
    Error::Model { path: path.to_path_buf(), message: error.to_string().into() }
}

/// The rows that statistics are counted on, if there are any.
fn data_rows(flags: &ArgMatches, model: &Model) -> Result<Option<Rows>> {
    let Some(data) = flags.get_one::<PathBuf>("data") else { return Ok(None) };
    let options = read_options(flags, &model.schema.target.name)?;
    let rows = read::matching(&flags::source(data), &model.schema, &options)?;
    flags::console(flags).warnings(&rows.warnings);
    Ok(Some(rows))
}

/// How the data is read.
fn read_options(flags: &ArgMatches, target: &str) -> Result<ReadOptions> {
    let mut gather = Gather::default();
    let format = flags::text_format_of(flags, &mut gather);
    gather.finish()?;

    // Models of other libraries do not store the name of their target.
    let requested = flags.get_one::<String>("target").cloned();
    let target = requested.unwrap_or_else(|| target.to_string());

    Ok(ReadOptions {
        target,
        weight: flags.get_one::<String>("weight").cloned(),
        format,
        ..ReadOptions::default()
    })
}
