//! The gain of a search over greedy growth, and its cost.

use serde_json::Value;

use super::html::{Html, KeyFigure, TableCell, details, facts, note, paragraph, table};
use super::runs::ReportRun;
use crate::format::{self, grouped_count};

/// Tables with up to this number of candidates are open.
const OPEN_ROWS: usize = 10;

/// Gain and cost from the record; a trace has the last gain only.
pub fn cost(run: &ReportRun) -> Html {
    let Some(record) = &run.trained else {
        let gain = run
            .trace
            .iter()
            .flatten()
            .rev()
            .find_map(|step| Some((step.gain_over_greedy?, step.evaluations?, step.seconds)));
        return match gain {
            Some((gain, trees, seconds)) => paragraph(&format!(
                "The last step had {} lower loss than the best greedy fit, after {} and {}.",
                format::percent(gain),
                grouped_count(trees, "tree"),
                format::duration(seconds)
            )),
            None => Html::default(),
        };
    };

    let search = &record["search"];

    let gain = if search.get("gain_over_greedy").is_some() {
        ensemble_search(search)
    } else if search.get("greedy_loss").is_some() {
        tree_search(search)
    } else if search.get("evaluations").is_some() {
        particle_swarm(search)
    } else {
        note("No search: the model was grown greedily.")
    };

    gain.and(resources(record))
}

/// The gain as a key figure, if the record has it.
pub fn gain(run: &ReportRun) -> Option<KeyFigure> {
    let search = &run.trained.as_ref()?["search"];
    let name = "gain over greedy";
    if let Some(gain) = search["gain_over_greedy"].as_f64() {
        let remark =
            if gain > 0.0 { "lower cross-validated loss" } else { "greedy model selected" };
        return Some(KeyFigure::new(name, format::percent(gain), remark));
    }

    let (loss, greedy) = (search["loss"].as_f64()?, search["greedy_loss"].as_f64()?);
    if search["selected_by_search"].as_bool() == Some(false) {
        return Some(KeyFigure::new(name, "none", "greedy model selected"));
    }
    let gain = if greedy > 0.0 { 1.0 - loss / greedy } else { 0.0 };
    let remark = format!("training {}", search["criterion"].as_str().unwrap_or("loss"));
    Some(KeyFigure::new(name, format::percent(gain), remark))
}

/// The search over ensembles.
fn ensemble_search(search: &Value) -> Html {
    let number = |value: &Value| value.as_f64().map_or(String::new(), format::rounded);
    let selected = search["selected"].as_str().unwrap_or_default();

    let outcome = match (
        search["selected_by_search"].as_bool(),
        search["gain_over_greedy"].as_f64(),
    ) {
        (Some(true), Some(gain)) => {
            format!(
                "Selected: {selected}, with {} lower cross-validated loss than the best greedy candidate.",
                format::percent(gain)
            )
        }
        (Some(true), None) => {
            format!(
                "Selected: {selected}. It was not compared with greedy boosting by cross-validation."
            )
        }
        _ => format!(
            "Selected: {selected}. No search had a lower cross-validated loss than greedy boosting."
        ),
    };

    let unfinished = search["selection_finished"].as_bool() == Some(false);
    let unfinished = if unfinished {
        note("The run was cut short, and the selection was not finished.")
    } else {
        Html::default()
    };

    let pairs = [
        ("Training loss", number(&search["train_loss"]["selected"])),
        ("Training loss of greedy boosting", number(&search["train_loss"]["greedy"])),
        ("Trees grown", search["trees_grown"].as_u64().map_or(String::new(), format::grouped)),
        (
            "Unexplained variance",
            search["unexplained_variance"].as_f64().map_or(String::new(), format::percent),
        ),
        (
            "Calibration factor",
            search["calibration_factor"]
                .as_f64()
                .filter(|factor| *factor != 1.0)
                .map_or(String::new(), format::rounded),
        ),
    ];

    let row = |one: &Value| {
        let name = one["name"].as_str().unwrap_or_default();
        let mark = if name == selected { "selected" } else { "" };
        (
            one["cv_loss"].as_f64(),
            vec![
                TableCell::text(name),
                TableCell::number(number(&one["cv_loss"])),
                TableCell::text(mark),
            ],
        )
    };

    let mut rows: Vec<(Option<f64>, Vec<TableCell>)> =
        search["candidates"].as_array().into_iter().flatten().map(row).collect();
    // Candidates without a score come last.
    rows.sort_by(|a, b| a.0.unwrap_or(f64::INFINITY).total_cmp(&b.0.unwrap_or(f64::INFINITY)));
    let rows: Vec<Vec<TableCell>> = rows.into_iter().map(|(_, cells)| cells).collect();
    let heads = ["candidate", "cross-validated loss", ""];
    let summary = format!("Comparison of {}", grouped_count(rows.len() as u64, "candidate"));
    let compared = table("Candidates, best first; lower is better", &heads, &rows);

    paragraph(&outcome).and(unfinished).and(facts(&pairs)).and(details(
        &summary,
        rows.len() <= OPEN_ROWS,
        compared,
    ))
}

/// A search for one tree.
fn tree_search(search: &Value) -> Html {
    let number = |name: &str| search[name].as_f64().map_or(String::new(), format::rounded);
    let criterion = search["criterion"].as_str().unwrap_or("loss");

    let outcome = match search["selected_by_search"].as_bool() {
        Some(true) => format!(
            "The searched tree has {criterion} {} on the training rows, the greedy tree {}.",
            number("loss"),
            number("greedy_loss")
        ),
        _ => format!(
            "The greedy tree was selected: no searched tree had a lower cross-validated error. Its {criterion} is {}.",
            number("loss")
        ),
    };

    let swarm = &search["swarm"];
    let whole = |value: &Value| value.as_u64().map_or(String::new(), format::grouped);

    let pairs = [
        ("Descents", whole(&search["descents"])),
        ("Sweeps", whole(&search["sweeps"])),
        ("Iterations", whole(&swarm["iterations"])),
        ("Evaluations", whole(&swarm["evaluations"])),
    ];

    let row = |candidate: &Value| {
        let number = |name: &str| candidate[name].as_f64().map_or(String::new(), format::rounded);
        vec![
            TableCell::text(candidate["kind"].as_str().unwrap_or_default()),
            TableCell::number(whole(&candidate["max_leaves"])),
            TableCell::number(number("cv_error")),
            TableCell::number(number("standard_error")),
        ]
    };

    let rows: Vec<Vec<TableCell>> =
        search["candidates"].as_array().into_iter().flatten().map(row).collect();
    let heads = ["tree", "maximum leaves", "cross-validated error", "standard error"];

    paragraph(&outcome).and(facts(&pairs)).and(table(
        "Candidates compared by cross-validation",
        &heads,
        &rows,
    ))
}

/// A particle swarm over ensembles.
fn particle_swarm(search: &Value) -> Html {
    let whole = |name: &str| search[name].as_u64().map_or(String::new(), format::grouped);
    let metric = search["metric"].as_str().unwrap_or("fitness");
    let best = search["best"].as_f64().map_or(String::new(), format::rounded);
    let space = &search["space"];

    let pairs = [
        ("Best", format!("{metric} {best}")),
        ("Iterations", whole("iterations")),
        ("Evaluations", whole("evaluations")),
        ("Cache hits", whole("cache_hits")),
        ("Rules", space["n"].as_u64().map_or(String::new(), format::grouped)),
        (
            "Size of the search space",
            space["all_levels"]["size"].as_str().map_or(String::new(), str::to_string),
        ),
    ];

    facts(&pairs).and(note("The run did not fit a greedy model of the same size for comparison."))
}

/// Seconds and memory.
fn resources(record: &Value) -> Html {
    let seconds =
        |name: &str| record["seconds"][name].as_f64().map_or(String::new(), format::duration);
    facts(&[
        ("Reading", seconds("read")),
        ("Binning", seconds("bin")),
        ("Training", seconds("train")),
        (
            "Peak memory",
            record["peak_memory_bytes"].as_f64().map_or(String::new(), format::memory_size),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceStep;
    use serde_json::json;

    fn run_with(search: Value) -> ReportRun {
        let record = json!({"search": search, "seconds": {"train": 1.5}, "peak_memory_bytes": 5e7});
        ReportRun { trained: Some(record), ..ReportRun::default() }
    }

    #[test]
    fn every_kind_of_search_has_its_gain() {
        let run = run_with(
            json!({"selected": "<pairs>", "selected_by_search": true, "gain_over_greedy": 0.125, "trees_grown": 1234,
            "train_loss": {"greedy": 2.0, "selected": 1.5}, "candidates": [{"name": "greedy", "cv_loss": 2.0}, {"name": "<pairs>", "cv_loss": 1.0}]}),
        );
        let html = cost(&run);
        for part in [
            "12.5 % lower cross-validated loss",
            "&lt;pairs&gt;",
            "1,234",
            "1.50 s",
            "50 MB",
            ">selected<",
        ] {
            assert!(html.as_str().contains(part), "no {part} in {html:?}");
        }
        // The best candidate is first.
        assert!(
            html.as_str().find("row'>&lt;pairs&gt;").unwrap()
                < html.as_str().find("row'>greedy").unwrap()
        );
        assert_eq!(gain(&run).unwrap().value, "12.5 %");
        let run = run_with(
            json!({"criterion": "gini", "loss": 0.3, "greedy_loss": 0.4, "selected_by_search": true, "descents": 40}),
        );
        assert!(cost(&run).as_str().contains("gini 0.3 on the training rows, the greedy tree 0.4"));
        assert_eq!(gain(&run).unwrap().value, "25.0 %");
        let run = run_with(
            json!({"metric": "rmse", "best": 0.5, "evaluations": 5000, "space": {"n": 7}}),
        );
        assert!(cost(&run).as_str().contains("5,000") && gain(&run).is_none());
        assert!(cost(&run_with(Value::Null)).as_str().contains("grown greedily"));
    }

    #[test]
    fn without_a_record_the_trace_has_the_last_gain() {
        let step = TraceStep {
            gain_over_greedy: Some(0.2),
            evaluations: Some(90),
            seconds: 3.0,
            ..TraceStep::default()
        };
        let run =
            ReportRun { trace: Some(vec![step, TraceStep::default()]), ..ReportRun::default() };
        assert!(
            cost(&run)
                .as_str()
                .contains("20.0 % lower loss than the best greedy fit, after 90 trees and 3.00 s")
        );
        assert!(cost(&ReportRun::default()).is_empty());
    }
}
