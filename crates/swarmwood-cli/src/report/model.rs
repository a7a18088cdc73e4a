//! What a model is made of: importances, trees, rules.

use swarmwood::model::explain::Importance;
use swarmwood::model::text::TextOptions;
use swarmwood::model::{Body, Model, RuleFormat, RuleMerge};
use swarmwood::{Result, rules};

use super::html::{Html, IdSequence, TableCell, details, listing, note, table, wide};
use super::runs::LoadedModel;
use crate::format::{self, grouped_count};
use crate::inspect::ranked_importances;

/// Features whose importance is shown without being asked for.
const SHOWN: usize = 20;

/// Trees of an ensemble that are drawn.
const DRAWN: usize = 12;

/// Leaves of the largest tree of an ensemble that is drawn.
const DRAWN_LEAVES: usize = 64;

/// Lines of what is written and not drawn.
const LINES: usize = 200;

/// The importances as bars.
pub fn importances(model: &Model) -> Html {
    let ranked = ranked_importances(model);
    let total: f64 = ranked.iter().map(|(_, importance)| importance.gain).sum();
    let top = ranked.first().map_or(0.0, |(_, importance)| importance.gain);
    if total.is_nan() || total <= 0.0 {
        return note("No feature is asked for.");
    }
    let row = |(name, importance): &(&str, Importance)| {
        let share = format::percent(importance.gain / total);
        vec![
            TableCell::text(*name),
            TableCell::Bar(importance.gain / top, share),
            TableCell::number(importance.splits.to_string()),
        ]
    };
    let used: Vec<Vec<TableCell>> =
        ranked.iter().filter(|(_, found)| found.splits > 0).map(row).collect();
    let idle = ranked.len() - used.len();
    let heads = match model.body {
        Body::Trees(_) => ["feature", "share of the gain", "splits"],
        Body::Linear(_) => ["feature", "share of the weights", "terms"],
    };
    let (first, rest) = used.split_at(used.len().min(SHOWN));
    let more = details(&format!("{} more", rest.len()), false, table("The others", &heads, rest));
    let unused = match idle {
        0 => Html::default(),
        idle => note(&format!(
            "{} not used.",
            if idle == 1 { "1 feature is".into() } else { format!("{idle} features are") }
        )),
    };
    table("How much each feature lowered the training loss", &heads, first).and(more).and(unused)
}

/// One tree as a picture and as rules, several as pictures, what cannot be drawn as text.
pub fn trees(loaded: &LoadedModel, ids: &mut IdSequence) -> Result<Html> {
    let model = &loaded.model;
    let Ok(single) = model.single_tree() else { return Ok(several(model, ids)) };
    let picture = match single.to_svg_part(&format!("{}-", ids.fresh())) {
        Ok(svg) => wide(&svg, "The tree, from left to right"),
        Err(large) => note(&large.to_string()),
    };
    let rules = match single.rules(RuleMerge::Cover) {
        Ok(mut found) => {
            if let Some(measured) = &loaded.measured {
                rules::count(&mut found, &measured.rows)?;
            }
            let headline =
                format!("The tree as {}", grouped_count(found.rules.len() as u64, "rule"));
            details(
                &headline,
                true,
                listing("The rules of the tree", &found.to_text(RuleFormat::Text)),
            )
        }
        Err(error) => note(&error.to_string()),
    };
    Ok(picture.and(rules))
}

fn several(model: &Model, ids: &mut IdSequence) -> Html {
    let members = model.members();
    if members.is_empty() {
        return written(model, "The linear function");
    }
    let drawable = |at: &usize| members[*at].shape.leaves().len() <= DRAWN_LEAVES;
    let small: Vec<usize> = (0..members.len()).filter(drawable).take(DRAWN).collect();
    if small.is_empty() {
        return written(model, "The first tree, in words");
    }
    let what = match model.outputs() {
        1 => "Each tree adds a number to the raw score of a row.".to_string(),
        _ => "Each tree adds a number to the raw score of one class.".to_string(),
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
    let drawn = small
        .iter()
        .enumerate()
        .map(|(place, at)| drawn(model, *at, place == 0, ids))
        .collect::<Html>();
    note(&format!("{what}{left}")).and(drawn)
}

/// One tree of several.
fn drawn(model: &Model, at: usize, open: bool, ids: &mut IdSequence) -> Html {
    let Some(alone) = model.extract_tree(at) else { return Html::default() };
    let svg = alone
        .single_tree()
        .ok()
        .and_then(|tree| tree.to_svg_part(&format!("{}-", ids.fresh())).ok());
    let Some(svg) = svg else { return Html::default() };
    let shape = &model.members()[at].shape;
    let class = model
        .schema
        .target
        .kind
        .classes()
        .get(at % model.outputs().max(1))
        .filter(|_| model.outputs() > 1);
    let class = class.map_or(String::new(), |class| format!(" for {class}"));
    let headline = format!(
        "Tree {}{class}: {}, depth {}",
        at + 1,
        grouped_count(shape.leaves().len() as u64, "leaf"),
        shape.depth()
    );
    details(&headline, open, wide(&svg, &format!("What tree {} adds to the raw score", at + 1)))
}

/// The beginning of a model in words.
fn written(model: &Model, headline: &str) -> Html {
    let (summary, text) =
        (model.summary().to_string(), model.to_text(&TextOptions { trees: 1, lines: LINES }));
    // The text of a model begins with its summary, which stands above already.
    let text = text.strip_prefix(&summary).unwrap_or(&text).trim_start();
    details(headline, false, listing(headline, text))
}
