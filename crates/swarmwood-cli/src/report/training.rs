//! The section of a training, and what a model adds to any section.

use swarmwood::Result;

use super::html::{Html, cards, chart_figure, gallery, note};
use super::page::Section;
use super::runs::Run;
use super::{asked, cost, evaluation, inside, words};
use crate::plot;

/// A training: what was asked, how it went, how good it is, what is inside, what it cost.
pub fn section(number: usize, run: &Run) -> Result<Section> {
    let mut section = Section::new(number, run.name(), "training");
    section.part("", cards(&headline(run)));
    section.part("What was asked", asked::asked(run));
    add_data(&mut section, run)?;
    let convergence = convergence(&mut section, run);
    section.part("Convergence", convergence);
    section.part("Metrics", evaluation::metrics(run));
    section.part("Gain over greedy, and what it cost", cost::cost(run));
    add_model(&mut section, run)?;
    Ok(section)
}

/// The rows, where a model tells or was measured on some.
fn add_data(section: &mut Section, run: &Run) -> Result<()> {
    if let Some(loaded) = &run.model {
        let id = section.ids.fresh();
        section.part("Data", asked::data(&loaded.model, loaded.measured.as_ref(), &id)?);
    }
    Ok(())
}

/// What rows and trees say of a model.
pub fn add_model(section: &mut Section, run: &Run) -> Result<()> {
    let Some(loaded) = &run.model else {
        section
            .part("Model", note("No model was given: its importances and trees are in its file."));
        return Ok(());
    };
    evaluation::pictures(section, loaded);
    section.part("What matters", inside::importances(&loaded.model));
    let trees = inside::trees(loaded, &mut section.ids)?;
    section
        .part(if loaded.model.single_tree().is_ok() { "Tree and rules" } else { "Trees" }, trees);
    Ok(())
}

/// The few figures that stand above all others.
fn headline(run: &Run) -> Vec<(String, String, String)> {
    let mut cards = evaluation::headline(run);
    if let Some(loaded) = &run.model {
        let (trees, leaves, _) = asked::trees(&loaded.model);
        let name = if trees == 1 { "tree" } else { "trees" };
        cards.push((name.to_string(), words::grouped(trees), words::count(leaves, "leaf")));
    }
    cards.extend(cost::gain(run));
    if let Some(record) = &run.trained {
        let grown = record["search"]["trees_grown"]
            .as_u64()
            .map_or(String::new(), |grown| words::count(grown, "tree") + " grown");
        let seconds = record["seconds"]["train"].as_f64().map(words::seconds);
        cards.extend(seconds.map(|seconds| ("training".to_string(), seconds, grown)));
    }
    cards
}

fn convergence(section: &mut Section, run: &Run) -> Html {
    let Some(steps) = &run.trace else {
        return note("No trace was given: 'train --trace FILE' keeps every step of a run.");
    };
    let charts = plot::charts(steps);
    let told = charts
        .iter()
        .filter(|(_, _, chart)| chart.lines.iter().any(|line| !line.points.is_empty()));
    let figures: Vec<Html> =
        told.map(|(_, title, chart)| chart_figure(&section.ids.fresh(), title, chart)).collect();
    if figures.is_empty() {
        return note(
            "The trace tells of no losses on the way: this method knows its loss in the end alone.",
        );
    }
    gallery(figures)
}
