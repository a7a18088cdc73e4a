//! The section of a training run, and the parts about its model.

use swarmwood::Result;

use super::html::{Html, KeyFigure, cards, chart_figure, gallery};
use super::page::PageSection;
use super::runs::ReportRun;
use super::{cost, data, downloads, drift, evaluation, missing_inputs, model, parameters, whatif};
use crate::format;
use crate::training_chart;

/// Configuration, data, convergence, metrics, cost and model of a training run.
pub fn section(number: usize, run: &ReportRun) -> Result<PageSection> {
    let mut section = PageSection::new(number, run.name(), "training");
    section.part("", cards(&key_figures(run)));
    section.part("Configuration", parameters::configuration(run));
    add_data(&mut section, run)?;
    let convergence = convergence(&mut section, run);
    section.part("Convergence", convergence);
    section.part("Metrics", evaluation::metrics(run));
    section.part("Gain over greedy, and cost", cost::cost(run));
    add_model(&mut section, run)?;
    section.part("", missing_inputs::missing_inputs(run));
    Ok(section)
}

/// The rows that the model was evaluated on, or the features it expects.
fn add_data(section: &mut PageSection, run: &ReportRun) -> Result<()> {
    if let Some(loaded) = &run.model {
        let id = section.ids.next_id();
        section.part("Data", data::data(&loaded.model, loaded.evaluation.as_ref(), &id)?);
        if let Some(evaluation) = &loaded.evaluation {
            section.part("Drift since training", drift::drift(&loaded.model, &evaluation.rows)?);
        }
    }
    Ok(())
}

/// Evaluation, feature importances and trees of a model.
pub fn add_model(section: &mut PageSection, run: &ReportRun) -> Result<()> {
    let Some(loaded) = &run.model else { return Ok(()) };
    section.part("What if", whatif::whatif(loaded));
    evaluation::add_charts(section, loaded);
    if let Some(evaluation) = &loaded.evaluation {
        section.part("Subgroups", evaluation.subgroups.clone());
    }
    section.part("Feature importances", model::importances(&loaded.model));
    if let Some(evaluation) = &loaded.evaluation {
        let effects = evaluation.effects.html(&loaded.model, &mut section.ids);
        section.part("Effects of the features", effects);
    }
    let trees = model::trees(loaded, &mut section.ids)?;
    section
        .part(if loaded.model.single_tree().is_ok() { "Tree and rules" } else { "Trees" }, trees);
    section.part("Download the model", downloads::downloads(&loaded.model));
    Ok(())
}

/// The key figures above all parts.
fn key_figures(run: &ReportRun) -> Vec<KeyFigure> {
    let mut figures = evaluation::key_figures(run);
    if let Some(loaded) = &run.model {
        let (trees, leaves, _) = parameters::tree_counts(&loaded.model);
        let name = if trees == 1 { "tree" } else { "trees" };
        let leaves = format::grouped_count(leaves, "leaf");
        figures.push(KeyFigure::new(name, format::grouped(trees), leaves));
    }

    figures.extend(cost::gain(run));

    if let Some(record) = &run.trained {
        let work = record["search"]["trees_grown"]
            .as_u64()
            .map_or(String::new(), |trees| format::grouped_count(trees, "tree") + " grown");
        let seconds = record["seconds"]["train"].as_f64().map(format::duration);
        figures.extend(seconds.map(|seconds| KeyFigure::new("training", seconds, work)));
    }
    figures
}

fn convergence(section: &mut PageSection, run: &ReportRun) -> Html {
    let Some(steps) = &run.trace else { return Html::default() };
    let charts = training_chart::charts(steps);
    let with_points =
        charts.iter().filter(|(_, _, chart)| chart.series.iter().any(|one| !one.points.is_empty()));
    let figures: Vec<Html> = with_points
        .map(|(_, title, chart)| chart_figure(&section.ids.next_id(), title, chart))
        .collect();
    // A method that computes its loss at the end only has none.
    if figures.is_empty() { Html::default() } else { gallery(figures) }
}
