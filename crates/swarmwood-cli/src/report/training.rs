//! The section of a training, and what a model adds to any section.

use swarmwood::Result;

use super::html::{Html, cards, chart_figure, gallery, note};
use super::page::PageSection;
use super::runs::ReportRun;
use super::{cost, evaluation, model, parameters};
use crate::format;
use crate::training_chart;

/// A training: what was asked, how it went, how good it is, what is inside, what it cost.
pub fn section(number: usize, run: &ReportRun) -> Result<PageSection> {
    let mut section = PageSection::new(number, run.name(), "training");
    section.part("", cards(&headline(run)));
    section.part("What was asked", parameters::asked(run));
    add_data(&mut section, run)?;
    let convergence = convergence(&mut section, run);
    section.part("Convergence", convergence);
    section.part("Metrics", evaluation::metrics(run));
    section.part("Gain over greedy, and what it cost", cost::cost(run));
    add_model(&mut section, run)?;
    Ok(section)
}

/// The rows, where a model tells or was measured on some.
fn add_data(section: &mut PageSection, run: &ReportRun) -> Result<()> {
    if let Some(loaded) = &run.model {
        let id = section.ids.fresh();
        section.part("Data", parameters::data(&loaded.model, loaded.measured.as_ref(), &id)?);
    }
    Ok(())
}

/// What rows and trees say of a model.
pub fn add_model(section: &mut PageSection, run: &ReportRun) -> Result<()> {
    let Some(loaded) = &run.model else {
        section
            .part("Model", note("No model was given: its importances and trees are in its file."));
        return Ok(());
    };
    evaluation::pictures(section, loaded);
    section.part("What matters", model::importances(&loaded.model));
    let trees = model::trees(loaded, &mut section.ids)?;
    section
        .part(if loaded.model.single_tree().is_ok() { "Tree and rules" } else { "Trees" }, trees);
    Ok(())
}

/// The few figures that stand above all others.
fn headline(run: &ReportRun) -> Vec<(String, String, String)> {
    let mut cards = evaluation::headline(run);
    if let Some(loaded) = &run.model {
        let (trees, leaves, _) = parameters::trees(&loaded.model);
        let name = if trees == 1 { "tree" } else { "trees" };
        cards.push((
            name.to_string(),
            format::grouped(trees),
            format::grouped_count(leaves, "leaf"),
        ));
    }
    cards.extend(cost::gain(run));
    if let Some(record) = &run.trained {
        let grown = record["search"]["trees_grown"]
            .as_u64()
            .map_or(String::new(), |grown| format::grouped_count(grown, "tree") + " grown");
        let seconds = record["seconds"]["train"].as_f64().map(format::duration);
        cards.extend(seconds.map(|seconds| ("training".to_string(), seconds, grown)));
    }
    cards
}

fn convergence(section: &mut PageSection, run: &ReportRun) -> Html {
    let Some(steps) = &run.trace else {
        return note("No trace was given: 'train --trace FILE' keeps every step of a run.");
    };
    let charts = training_chart::charts(steps);
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
