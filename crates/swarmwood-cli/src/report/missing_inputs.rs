//! What else a page could show, and which files it needs for that. Parts without content are left out.

use super::html::{Html, note};
use super::runs::ReportRun;

/// One line, or nothing if the page has everything.
pub fn missing_inputs(run: &ReportRun) -> Html {
    let is_study = run.study.is_some() || run.tuned.is_some();
    let is_evaluated = run.model.as_ref().is_some_and(|loaded| loaded.evaluation.is_some());
    let hints = [
        (run.model.is_none(), "what-if, importances and trees with the model file"),
        (
            run.model.is_some() && !is_evaluated,
            "evaluation with intervals, subgroups, drift and effects with --data FILE",
        ),
        (is_study && run.tuned.is_none(), "the hold-out score with the output of 'tune --json'"),
        (is_study && run.study.is_none(), "all trials with the file of 'tune --study'"),
        (
            !is_study && run.trained.is_none(),
            "the gain over greedy growth and the cost with the output of 'train --json'",
        ),
        (!is_study && run.trace.is_none(), "convergence with the file of 'train --trace'"),
    ];
    let missing: Vec<&str> =
        hints.iter().filter(|(missing, _)| *missing).map(|(_, hint)| *hint).collect();
    if missing.is_empty() {
        return Html::default();
    }
    note(&format!("Given more files, the page also shows: {}.", missing.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_the_files_that_are_missing() {
        let text = |run: &ReportRun| missing_inputs(run).as_str().to_string();
        let nothing = text(&ReportRun::default());
        assert!(nothing.contains("model file") && nothing.contains("train --trace"));
        assert!(!nothing.contains("tune"));

        let recorded = ReportRun { trained: Some(json!({})), ..ReportRun::default() };
        assert!(!text(&recorded).contains("train --json"));

        let tuned = ReportRun { tuned: Some(json!({})), ..ReportRun::default() };
        assert!(text(&tuned).contains("tune --study") && !text(&tuned).contains("train --"));
    }
}
