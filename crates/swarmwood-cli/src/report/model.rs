//! The inside of a model: feature importances, trees, rules.

use swarmwood::Result;
use swarmwood::model::explain::Importance;
use swarmwood::model::text::TextOptions;
use swarmwood::model::{Body, Model, RuleMerge};

use super::html::{Html, IdSequence, TableCell, details, listing, note, table, tree_figure};
use super::runs::LoadedModel;
use crate::format::{self, grouped_count};
use crate::inspect::ranked_importances;

/// Features in the first table of importances.
const LISTED_FEATURES: usize = 20;

/// Maximum number of trees of an ensemble that are drawn.
const MAX_DRAWN: usize = 12;

/// Maximum number of leaves of a drawn tree of an ensemble.
const MAX_DRAWN_LEAVES: usize = 64;

/// Maximum number of lines of a model as text.
const MAX_LINES: usize = 200;

/// The importances as bars.
pub fn importances(model: &Model) -> Html {
    let ranked = ranked_importances(model);
    let total: f64 = ranked.iter().map(|(_, importance)| importance.gain).sum();
    let top = ranked.first().map_or(0.0, |(_, importance)| importance.gain);
    if total.is_nan() || total <= 0.0 {
        return note("The model uses no feature.");
    }

    let row = |(name, importance): &(&str, Importance)| {
        let percent = format::percent(importance.gain / total);
        vec![
            TableCell::text(*name),
            TableCell::Bar(importance.gain / top, percent),
            TableCell::number(importance.splits.to_string()),
        ]
    };

    let used: Vec<Vec<TableCell>> =
        ranked.iter().filter(|(_, importance)| importance.splits > 0).map(row).collect();
    let idle = ranked.len() - used.len();
    let heads = match model.body {
        Body::Trees(_) => ["feature", "fraction of the gain", "splits"],
        Body::Linear(_) => ["feature", "fraction of the weights", "terms"],
    };

    let (first, rest) = used.split_at(used.len().min(LISTED_FEATURES));
    let more =
        details(&format!("{} more", rest.len()), false, table("Other features", &heads, rest));

    let unused = match idle {
        0 => Html::default(),
        idle => note(&format!(
            "{} not used.",
            if idle == 1 { "1 feature is".into() } else { format!("{idle} features are") }
        )),
    };

    table("Importance by total gain", &heads, first).and(more).and(unused)
}

/// One tree as a drawing and as rules, several trees as drawings, other models as text.
pub fn trees(loaded: &LoadedModel, ids: &mut IdSequence) -> Result<Html> {
    let model = &loaded.model;
    let Ok(single) = model.single_tree() else { return Ok(ensemble(model, ids)) };
    let drawing = match single.to_svg_part(&format!("{}-", ids.next_id())) {
        Ok(svg) => {
            tree_figure(0, &svg, &tree_text(model, 0), "The tree, with the root at the left")
        }
        Err(large) => note(&large.to_string()),
    };

    let rules = match single.rules(RuleMerge::Cover) {
        Ok(mut rules) => {
            if let Some(evaluation) = &loaded.evaluation {
                swarmwood::rules::count(&mut rules, &evaluation.rows)?;
            }
            let summary =
                format!("The tree as {}", grouped_count(rules.rules.len() as u64, "rule"));
            details(&summary, true, listing("Rules of the tree", &rules.to_string()))
        }
        Err(error) => note(&error.to_string()),
    };

    Ok(drawing.and(rules))
}

fn ensemble(model: &Model, ids: &mut IdSequence) -> Html {
    let members = model.members();
    if members.is_empty() {
        return model_text(model, "The linear model as text");
    }
    let drawable = |at: &usize| members[*at].shape.leaves().len() <= MAX_DRAWN_LEAVES;
    let small: Vec<usize> = (0..members.len()).filter(drawable).take(MAX_DRAWN).collect();
    if small.is_empty() {
        return model_text(model, "The first tree as text");
    }
    let meaning = match model.outputs() {
        1 => "Each tree adds a value to the raw score of a row.".to_string(),
        _ if members.iter().all(|member| member.shape.is_vector()) => {
            "Each tree adds a value to the raw score of every class.".to_string()
        }
        _ => "Each tree adds a value to the raw score of one class.".to_string(),
    };

    let left = members.len() - small.len();

    let left = match left {
        0 => String::new(),
        left => format!(
            " {} are not drawn; 'swarmwood inspect --trees {}' prints all.",
            format::grouped(left as u64),
            members.len()
        ),
    };

    let drawings = small
        .iter()
        .enumerate()
        .map(|(position, at)| tree_details(model, *at, position == 0, ids))
        .collect::<Html>();

    note(&format!("{meaning}{left}")).and(drawings)
}

/// One tree of an ensemble.
fn tree_details(model: &Model, at: usize, open: bool, ids: &mut IdSequence) -> Html {
    let Some(alone) = model.extract_tree(at) else { return Html::default() };
    let svg = alone
        .single_tree()
        .ok()
        .and_then(|tree| tree.to_svg_part(&format!("{}-", ids.next_id())).ok());

    let Some(svg) = svg else { return Html::default() };
    let member = &model.members()[at];
    let shape = &member.shape;
    let class = model
        .schema
        .target
        .kind
        .classes()
        .get(member.output as usize)
        .filter(|_| model.outputs() > 1 && !member.shape.is_vector());

    let class = class.map_or(String::new(), |class| format!(" for {class}"));

    let summary_line = format!(
        "Tree {}{class}: {}, depth {}",
        at + 1,
        grouped_count(shape.leaves().len() as u64, "leaf"),
        shape.depth()
    );

    details(
        &summary_line,
        open,
        tree_figure(
            scoring_tree(model, at),
            &svg,
            &tree_text(model, at),
            &format!("Contribution of tree {} to the raw score", at + 1),
        ),
    )
}

/// A tree as text, without the heading, which is that of the drawing.
fn tree_text(model: &Model, at: usize) -> String {
    let text = model.tree_text(at, MAX_LINES).unwrap_or_default();
    let lines = text.lines().skip(1).map(|line| line.strip_prefix("  ").unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The number that a tree has in the model inside the page, where a vector tree is one tree per
/// output.
fn scoring_tree(model: &Model, at: usize) -> usize {
    let outputs = model.outputs();
    let members = &model.members()[..at];
    members.iter().map(|member| if member.shape.is_vector() { outputs } else { 1 }).sum()
}

/// The beginning of a model as text.
fn model_text(model: &Model, summary_line: &str) -> Html {
    let (summary, text) =
        (model.summary().to_string(), model.to_text(&TextOptions { trees: 1, lines: MAX_LINES }));
    // The text of a model begins with its summary, which the page shows above.
    let text = text.strip_prefix(&summary).unwrap_or(&text).trim_start();
    details(summary_line, false, listing(summary_line, text))
}
