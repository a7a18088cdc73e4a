//! `swarmwood inspect`: summary, feature importances and trees of a model, and what it satisfies.

mod monotone;
mod plot;

use std::path::PathBuf;

use clap::{ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use swarmwood::error::Violation;
use swarmwood::model::explain::Importance;
use swarmwood::model::text::TextOptions;
use swarmwood::model::{Body, Model};
use swarmwood::{Error, Result, store};

use crate::console;
use crate::files::CommandFiles;
use crate::flags;
use crate::interactions::{interaction_lines, interactions_json};

/// Features whose importance the text lists; the JSON object has all.
const LISTED_FEATURES: usize = 20;

/// Characters of the longest bar.
const BAR: usize = 30;

/// Maximum number of lines of one tree or linear model.
const MAX_LINES: usize = 500;

/// The subcommand.
pub fn command() -> Command {
    Command::new("inspect")
        .about("Show a model: summary, feature importances, trees")
        .args_override_self(true)
        .arg(flags::model_arg())
        .arg(flags::count_flag("trees", "N", "number of trees to print").default_value("1"))
        .arg(
            flags::count_flag("tree", "N", "print or draw this tree, counted from 0")
                .conflicts_with_all(["trees", "map"]),
        )
        .arg(flags::file_flag(
            "plot",
            "chart of a model with one tree, or of the one of --tree: .svg, or .dot for Graphviz",
        ))
        .arg(
            flags::text_flag(
                "map",
                "FEATURE,FEATURE",
                "draw the predictions over two features instead of the tree",
            )
            .action(ArgAction::Append)
            .value_delimiter(',')
            .requires("plot"),
        )
        .arg(
            flags::text_flag(
                "at",
                "FEATURE=VALUE",
                "value of another feature for --map, ? for missing; repeat the flag",
            )
            .action(ArgAction::Append)
            .requires("map"),
        )
        .arg(
            flags::text_flag(
                "check-monotone",
                "FEATURES",
                "prove that predictions never fall or rise as features grow, such as 'income:+,debt:-' \
                 [default: the directions that the model was trained with]",
            )
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(""),
        )
        .arg(flags::switch_flag("json", "print one JSON object"))
        .arg(flags::quiet_flag())
}

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let path = flags.get_one::<PathBuf>("model").cloned().unwrap_or_default();
    CommandFiles::default()
        .input("the model", Some(&path))
        .output("plot", flags.get_one::<PathBuf>("plot"))
        .check()?;

    let model = store::load(&path)?;
    let tree = flags::count_value(flags, "tree");
    let drawn = tree.map(|tree| chosen_tree(&model, tree)).transpose()?;
    if let Some(plot) = plot::draw(flags, drawn.as_ref().unwrap_or(&model), &path)? {
        flags::console(flags).line(&format!("chart written to {}", plot.display()));
    }
    if let Some(directions) = flags.get_one::<String>("check-monotone") {
        return monotone::run(&model, directions, flags.get_flag("json"));
    }
    let importances = ranked_importances(&model);
    if flags.get_flag("json") {
        return console::print_json(&model_json(&model, &importances));
    }
    let summary = model.summary().to_string();
    let columns = match model.body {
        Body::Trees(_) => "fraction of the gain, number of splits",
        Body::Linear(_) => "fraction of the absolute weights, number of terms",
    };

    let mut text = format!("{summary}{}", importance_bars(&importances, columns));
    text.push_str(&interaction_lines(&model));
    let trees = flags::count_value(flags, "trees").unwrap_or(0);

    if let Some(tree) = tree {
        text.push('\n');
        text.push_str(&model.tree_text(tree, MAX_LINES).unwrap_or_default());
    } else if trees > 0 {
        // The text of a model begins with its summary, which is printed above the importances.
        let body = model.to_text(&TextOptions { trees, lines: MAX_LINES });
        text.push('\n');
        text.push_str(body.strip_prefix(&summary).unwrap_or(&body));
    }

    console::print_result(&text)
}

/// One of the trees as a model of its own.
fn chosen_tree(model: &Model, tree: usize) -> Result<Model> {
    let trees = model.members().len();
    model.extract_tree(tree).ok_or_else(|| {
        let message = match trees {
            0 => "the model has no trees".to_string(),
            _ => format!("is {tree}, but the model has the trees 0 to {}", trees - 1),
        };
        Error::Parameters(vec![Violation::new("tree", message)])
    })
}

/// Features with their importances, the largest gain first.
pub fn ranked_importances(model: &Model) -> Vec<(&str, Importance)> {
    let names = model.schema.features.iter().map(|feature| feature.name.as_str());
    let mut ranked: Vec<(&str, Importance)> = names.zip(model.importances()).collect();
    ranked.sort_by(|a, b| b.1.gain.total_cmp(&a.1.gain));
    ranked
}

/// The importances as bars.
fn importance_bars(importances: &[(&str, Importance)], columns: &str) -> String {
    let total: f64 = importances.iter().map(|(_, importance)| importance.gain).sum();
    let top = importances.first().map_or(0.0, |(_, importance)| importance.gain);
    if total.is_nan() || total <= 0.0 {
        return String::new();
    }
    // A name must not control the terminal.
    let printable = |name: &str| name.replace(char::is_control, "?");
    let rows: Vec<(String, &Importance)> = importances
        .iter()
        .take(LISTED_FEATURES)
        .map(|(name, importance)| (printable(name), importance))
        .collect();

    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("\nimportance ({columns})\n");

    for (name, importance) in rows {
        let bar = "#".repeat((importance.gain / top * BAR as f64).round() as usize);
        let percent = 100.0 * importance.gain / total;
        text.push_str(&format!(
            "  {name:<width$}  {bar:<BAR$}  {percent:>5.1} %  {}\n",
            importance.splits
        ));
    }

    if importances.len() > LISTED_FEATURES {
        text.push_str(&format!("  and {} more\n", importances.len() - LISTED_FEATURES));
    }
    text
}

fn model_json(model: &Model, importances: &[(&str, Importance)]) -> Value {
    let summary = model.summary();
    let importances: Vec<Value> = importances
        .iter()
        .map(|(name, importance)| json!({"feature": name, "gain": importance.gain, "cover": importance.cover, "splits": importance.splits}))
        .collect();

    let is_regression = summary.classes.is_empty();

    json!({
        "kind": summary.kind.name(),
        "task": if is_regression { "regression" } else { "classification" },
        "target": summary.target,
        "classes": if is_regression { Value::Null } else { json!(summary.classes) },
        "objective": summary.objective,
        "method": summary.method,
        "parameters": model.provenance.params,
        "version": summary.version,
        "rows": summary.rows,
        "rounds": summary.rounds,
        "trees": summary.trees,
        "leaves": summary.leaves,
        "max_depth": summary.max_depth,
        "features": summary.features,
        "features_used": summary.features_used,
        "importances": importances,
        "interactions": interactions_json(model),
        "threshold": summary.calibration.threshold,
        "points_unit": summary.calibration.points_unit,
        "interval": summary.calibration.interval.as_ref().map(|interval| json!({
            "level": interval.level,
            "half_width": interval.half_width,
            "kind": if interval.scale.is_some() { "adaptive" } else { "constant" },
        })),
        "class_sets": summary.calibration.class_sets.map(|sets| json!({
            "level": sets.level,
            "min_probability": sets.min_probability,
        })),
    })
}
