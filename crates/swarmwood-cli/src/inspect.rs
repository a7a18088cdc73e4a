//! `swarmwood inspect`: what a model is made of.

use std::path::PathBuf;

use clap::ArgMatches;
use serde_json::{Value, json};
use swarmwood::model::explain::Importance;
use swarmwood::model::{Body, Model, TargetKind};
use swarmwood::{Result, store};

use crate::talk::{self, short};

/// Features whose importance the text shows; the JSON object has them all.
const SHOWN: usize = 20;

/// Letters of the longest bar.
const BAR: usize = 30;

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let model = store::load(&flags.get_one::<PathBuf>("model").cloned().unwrap_or_default())?;
    let importances = ranked(&model);
    if flags.get_flag("json") {
        return talk::json(&object(&model, &importances));
    }
    let trees = flags.get_one::<u64>("trees").map_or(0, |&trees| usize::try_from(trees).unwrap_or(usize::MAX));
    let mut text = summary(&model);
    text.push_str(&bars(&importances));
    if trees > 0 {
        text.push('\n');
        text.push_str(&model.to_text(Some(trees)));
    }
    talk::result(&text)
}

/// Features with their importances, the largest gain first.
fn ranked(model: &Model) -> Vec<(&str, Importance)> {
    let names = model.schema.features.iter().map(|feature| feature.name.as_str());
    let mut ranked: Vec<(&str, Importance)> = names.zip(model.importances()).collect();
    ranked.sort_by(|a, b| b.1.gain.total_cmp(&a.1.gain));
    ranked
}

/// Numbers that describe the body.
struct Size {
    kind: &'static str,
    leaves: usize,
    depth: usize,
}

fn size(model: &Model) -> Size {
    let members = model.members();
    Size {
        kind: match model.body {
            Body::Trees(_) => "trees",
            Body::Linear(_) => "linear",
        },
        leaves: members.iter().map(|member| member.shape.leaves().len()).sum(),
        depth: members.iter().map(|member| member.shape.depth()).max().unwrap_or(0),
    }
}

fn task(model: &Model) -> (&'static str, &[String]) {
    match &model.schema.target.kind {
        TargetKind::Number => ("regression", &[]),
        TargetKind::Classes(classes) => ("classification", classes),
    }
}

fn summary(model: &Model) -> String {
    let (task, classes) = task(model);
    let size = size(model);
    let record = &model.provenance;
    let mut lines = vec![
        ("target", format!("{} ({task})", model.schema.target.name)),
        ("trained", format!("by method {} on {} rows, swarmwood {}", record.method, record.rows, record.version)),
        ("objective", model.objective.clone()),
    ];
    if !classes.is_empty() {
        let shown: Vec<&str> = classes.iter().take(SHOWN).map(String::as_str).collect();
        let more = if classes.len() > SHOWN { ", ..." } else { "" };
        lines.push(("classes", format!("{}: {}{more}", classes.len(), shown.join(", "))));
    }
    lines.push((
        "body",
        match model.body {
            Body::Trees(_) => format!(
                "{} rounds, {} trees, {} leaves, depth at most {}",
                model.rounds(),
                model.members().len(),
                size.leaves,
                size.depth
            ),
            Body::Linear(_) => "a linear function of the features".to_string(),
        },
    ));
    let used = model.importances().iter().filter(|importance| importance.splits > 0).count();
    lines.push(("features", format!("{}, {used} of them used", model.schema.features.len())));
    lines.iter().map(|(name, text)| format!("{name:<10} {text}\n")).collect()
}

/// The importances as bars.
fn bars(importances: &[(&str, Importance)]) -> String {
    let total: f64 = importances.iter().map(|(_, importance)| importance.gain).sum();
    let top = importances.first().map_or(0.0, |(_, importance)| importance.gain);
    if total.is_nan() || total <= 0.0 {
        return String::new();
    }
    let shown = &importances[..importances.len().min(SHOWN)];
    let width = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = "\nimportance (share of the gain, number of splits)\n".to_string();
    for (name, importance) in shown {
        let bar = "#".repeat((importance.gain / top * BAR as f64).round() as usize);
        let share = short(100.0 * importance.gain / total);
        text.push_str(&format!("  {name:<width$}  {bar:<BAR$}  {share:>8} %  {}\n", importance.splits));
    }
    if importances.len() > SHOWN {
        text.push_str(&format!("  and {} more\n", importances.len() - SHOWN));
    }
    text
}

fn object(model: &Model, importances: &[(&str, Importance)]) -> Value {
    let (task, classes) = task(model);
    let size = size(model);
    let importances: Vec<Value> = importances
        .iter()
        .map(|(name, found)| {
            json!({"feature": name, "gain": found.gain, "cover": found.cover, "splits": found.splits})
        })
        .collect();
    json!({
        "kind": size.kind,
        "task": task,
        "target": model.schema.target.name,
        "classes": if classes.is_empty() { Value::Null } else { json!(classes) },
        "objective": model.objective,
        "method": model.provenance.method,
        "parameters": model.provenance.params,
        "version": model.provenance.version,
        "rows": model.provenance.rows,
        "rounds": model.rounds(),
        "trees": model.members().len(),
        "leaves": size.leaves,
        "depth": size.depth,
        "features": model.schema.features.len(),
        "importances": importances,
    })
}
