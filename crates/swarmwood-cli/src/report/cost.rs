//! What a search gained over greedy growth, and what it cost.

use serde_json::Value;

use super::html::{Html, TableCell, details, facts, note, paragraph, table};
use super::runs::ReportRun;
use crate::format::{self, grouped_count};

/// Compared ways that are listed without being asked for.
const SHOWN: usize = 10;

/// The gain and the cost, as the record tells them; of a trace the last gain alone is known.
pub fn cost(run: &ReportRun) -> Html {
    let Some(record) = &run.trained else {
        let gain = run
            .trace
            .iter()
            .flatten()
            .rev()
            .find_map(|step| Some((step.gain?, step.evaluations?, step.seconds)));
        return match gain {
            Some((gain, trees, seconds)) => paragraph(&format!(
                "The last step told {} lower loss than the best greedy fit, after {} and {}.",
                format::percent(gain),
                grouped_count(trees, "tree"),
                format::duration(seconds)
            )),
            None => note("Not told by these files: the record that 'train --json' prints has it."),
        };
    };
    let search = &record["search"];
    let told = if search.get("gain_over_greedy").is_some() {
        ensemble(search)
    } else if search.get("greedy_loss").is_some() {
        single(search)
    } else if search.get("evaluations").is_some() {
        swarm(search)
    } else {
        note("Nothing was searched: this is greedy growth itself.")
    };
    told.and(spent(record))
}

/// The gain in a word or two, if a record tells it.
pub fn gain(run: &ReportRun) -> Option<(String, String, String)> {
    let search = &run.trained.as_ref()?["search"];
    let name = "gain over greedy".to_string();
    if let Some(gain) = search["gain_over_greedy"].as_f64() {
        let more = if gain > 0.0 { "lower loss on unseen rows" } else { "greedy was kept" };
        return Some((name, format::percent(gain), more.to_string()));
    }
    let (loss, greedy) = (search["loss"].as_f64()?, search["greedy_loss"].as_f64()?);
    if search["searched"].as_bool() == Some(false) {
        return Some((name, "none".to_string(), "greedy was kept".to_string()));
    }
    let share = if greedy > 0.0 { 1.0 - loss / greedy } else { 0.0 };
    Some((
        name,
        format::percent(share),
        format!("{} on training rows", search["measure"].as_str().unwrap_or("loss")),
    ))
}

/// The default search over ensembles.
fn ensemble(search: &Value) -> Html {
    let number = |value: &Value| value.as_f64().map_or(String::new(), format::rounded);
    let chosen = search["chosen"].as_str().unwrap_or_default();
    let opening = match (search["searched"].as_bool(), search["gain_over_greedy"].as_f64()) {
        (Some(true), Some(gain)) => {
            format!(
                "Chosen: {chosen}, with {} lower loss than the best greedy fit on unseen rows.",
                format::percent(gain)
            )
        }
        (Some(true), None) => {
            format!("Chosen: {chosen}. It was not compared with greedy boosting on unseen rows.")
        }
        _ => format!("Chosen: {chosen}. No search was better than greedy boosting on unseen rows."),
    };
    let unfinished = search["choice_finished"].as_bool() == Some(false);
    let unfinished = if unfinished {
        note("The run was cut number, and the choice was not finished.")
    } else {
        Html::default()
    };
    let pairs = [
        ("Training loss", number(&search["loss"]["chosen"])),
        ("Of greedy boosting", number(&search["loss"]["greedy"])),
        ("Trees grown", search["trees_grown"].as_u64().map_or(String::new(), format::grouped)),
        ("Unexplained", search["noise"].as_f64().map_or(String::new(), format::percent)),
        (
            "Calibration",
            search["calibration"]
                .as_f64()
                .filter(|factor| *factor != 1.0)
                .map_or(String::new(), format::rounded),
        ),
    ];
    let row = |one: &Value| {
        let name = one["name"].as_str().unwrap_or_default();
        let mark = if name == chosen { "chosen" } else { "" };
        (
            one["score"].as_f64(),
            vec![
                TableCell::text(name),
                TableCell::number(number(&one["score"])),
                TableCell::text(mark),
            ],
        )
    };
    let mut rows: Vec<(Option<f64>, Vec<TableCell>)> =
        search["compared"].as_array().into_iter().flatten().map(row).collect();
    // Those that were not compared to the end come last.
    rows.sort_by(|a, b| a.0.unwrap_or(f64::INFINITY).total_cmp(&b.0.unwrap_or(f64::INFINITY)));
    let rows: Vec<Vec<TableCell>> = rows.into_iter().map(|(_, cells)| cells).collect();
    let heads = ["candidate", "score on unseen rows", ""];
    let headline = format!("What was compared: {}", grouped_count(rows.len() as u64, "candidate"));
    let compared = table("Candidates, the best first; less is better", &heads, &rows);
    paragraph(&opening).and(unfinished).and(facts(&pairs)).and(details(
        &headline,
        rows.len() <= SHOWN,
        compared,
    ))
}

/// The search for one tree.
fn single(search: &Value) -> Html {
    let number = |name: &str| search[name].as_f64().map_or(String::new(), format::rounded);
    let measure = search["measure"].as_str().unwrap_or("loss");
    let opening = match search["searched"].as_bool() {
        Some(true) => format!(
            "The searched tree has {measure} {} on the training rows, the greedy one {}.",
            number("loss"),
            number("greedy_loss")
        ),
        _ => format!(
            "The greedy tree was kept: no searched one was better on unseen rows. Its {measure} is {}.",
            number("loss")
        ),
    };
    let flight = &search["flight"];
    let whole = |value: &Value| value.as_u64().map_or(String::new(), format::grouped);
    let pairs = [
        ("Descents", whole(&search["descents"])),
        ("Sweeps", whole(&search["sweeps"])),
        ("Iterations", whole(&flight["iterations"])),
        ("Evaluations", whole(&flight["evaluations"])),
    ];
    let row = |arm: &Value| {
        let kind = if arm["searched"].as_bool() == Some(true) { "searched" } else { "greedy" };
        let of = |name: &str| arm[name].as_f64().map_or(String::new(), format::rounded);
        vec![
            TableCell::text(kind),
            TableCell::number(whole(&arm["leaves"])),
            TableCell::number(of("error")),
            TableCell::number(of("standard_error")),
        ]
    };
    let rows: Vec<Vec<TableCell>> =
        search["compared"].as_array().into_iter().flatten().map(row).collect();
    let heads = ["tree", "leaves at most", "error on unseen rows", "standard error"];
    paragraph(&opening).and(facts(&pairs)).and(table(
        "What was compared by cross-validation",
        &heads,
        &rows,
    ))
}

/// A published swarm.
fn swarm(search: &Value) -> Html {
    let whole = |name: &str| search[name].as_u64().map_or(String::new(), format::grouped);
    let measure = search["measure"].as_str().unwrap_or("fitness");
    let best = search["best"].as_f64().map_or(String::new(), format::rounded);
    let space = &search["space"];
    let pairs = [
        ("Best", format!("{measure} {best}")),
        ("Iterations", whole("iterations")),
        ("Evaluations", whole("evaluations")),
        ("Known already", whole("repeats")),
        ("Rules", space["n"].as_u64().map_or(String::new(), format::grouped)),
        (
            "Size of the space",
            space["drawn"]["size"].as_str().map_or(String::new(), str::to_string),
        ),
    ];
    facts(&pairs).and(note("The run measured no greedy model of the same size to compare with."))
}

/// Time and memory.
fn spent(record: &Value) -> Html {
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

    fn of(search: Value) -> ReportRun {
        let record = json!({"search": search, "seconds": {"train": 1.5}, "peak_memory_bytes": 5e7});
        ReportRun { trained: Some(record), ..ReportRun::default() }
    }

    #[test]
    fn every_kind_of_search_tells_its_gain() {
        let run = of(
            json!({"chosen": "<pairs>", "searched": true, "gain_over_greedy": 0.125, "trees_grown": 1234,
            "loss": {"greedy": 2.0, "chosen": 1.5}, "compared": [{"name": "greedy", "score": 2.0}, {"name": "<pairs>", "score": 1.0}]}),
        );
        let html = cost(&run);
        for part in ["12.5 % lower loss", "&lt;pairs&gt;", "1,234", "1.50 s", "50 MB", ">chosen<"] {
            assert!(html.as_str().contains(part), "no {part} in {html:?}");
        }
        // The best of the candidates stands first.
        assert!(
            html.as_str().find("row'>&lt;pairs&gt;").unwrap()
                < html.as_str().find("row'>greedy").unwrap()
        );
        assert_eq!(gain(&run).unwrap().1, "12.5 %");
        let run = of(
            json!({"measure": "gini", "loss": 0.3, "greedy_loss": 0.4, "searched": true, "descents": 40}),
        );
        assert!(cost(&run).as_str().contains("gini 0.3 on the training rows, the greedy one 0.4"));
        assert_eq!(gain(&run).unwrap().1, "25.0 %");
        let run =
            of(json!({"measure": "rmse", "best": 0.5, "evaluations": 5000, "space": {"n": 7}}));
        assert!(cost(&run).as_str().contains("5,000") && gain(&run).is_none());
        assert!(cost(&of(Value::Null)).as_str().contains("greedy growth itself"));
    }

    #[test]
    fn without_a_record_the_trace_tells_what_it_can() {
        let step = TraceStep {
            gain: Some(0.2),
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
        assert!(cost(&ReportRun::default()).as_str().contains("train --json"));
    }
}
