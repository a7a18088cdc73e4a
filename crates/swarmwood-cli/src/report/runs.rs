//! The runs of a report: which files belong to which run.
//!
//! Files are recognized by their content: a model, the record of `train --json` or `tune --json`, the
//! table of `--trace`, the journal of a study, a directory with the results of an experiment. A record
//! and a model belong together if they have the same method, rows and parameters; a record whose
//! model was not named loads it from the path in the record if it is the right one. A record and a
//! study belong together if they have the same search and the same best trial. A trace does not
//! identify its run: it belongs to the training run before it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use swarmwood::memory;
use swarmwood::model::Model;
use swarmwood::tune::{self, StudyRecord};
use swarmwood::{Error, Result, store};

use super::test_evaluation::TestEvaluation;
use crate::trace::{TraceStep, is_trace, read_trace};

/// The first bytes of the journal of a study.
const STUDY: &[u8] = b"{\"swarmwood_study\":";

/// Files that make a directory an experiment, the most important one first.
pub const EXPERIMENT_FILES: [&str; 2] = ["summary.md", "README.md"];

/// A model and its file.
#[derive(Debug)]
pub struct LoadedModel {
    pub path: PathBuf,
    pub model: Model,
    /// Its evaluation on the rows of `--data`.
    pub evaluation: Option<TestEvaluation>,
}

/// One run.
#[derive(Debug, Default)]
pub struct ReportRun {
    /// The first file of the run.
    pub path: PathBuf,
    pub model: Option<LoadedModel>,
    /// The output of `train --json`.
    pub trained: Option<Value>,
    pub trace: Option<Vec<TraceStep>>,
    /// The output of `tune --json`.
    pub tuned: Option<Value>,
    pub study: Option<StudyRecord>,
    /// The directory of an experiment.
    pub experiment: Option<PathBuf>,
}

/// The content of one file.
enum RunFile {
    Model(Box<Model>),
    TrainRecord(Value),
    TuneRecord(Value),
    Trace(Vec<TraceStep>),
    Study(Box<StudyRecord>),
    Experiment,
}

/// Reads all files and combines those of the same run, in the order in which they were named.
pub fn read(paths: &[PathBuf], warnings: &mut Vec<String>) -> Result<Vec<ReportRun>> {
    let mut runs: Vec<ReportRun> = Vec::new();
    let mut traces = Vec::new();

    for path in paths {
        let mut run = ReportRun { path: path.clone(), ..ReportRun::default() };
        match read_file(path)? {
            RunFile::Model(model) => {
                run.model =
                    Some(LoadedModel { path: path.clone(), model: *model, evaluation: None })
            }
            RunFile::TrainRecord(record) => run.trained = Some(record),
            RunFile::TuneRecord(record) => run.tuned = Some(record),
            RunFile::Study(study) => {
                warnings
                    .extend(study.notes.iter().map(|note| format!("{}: {note}", path.display())));
                run.study = Some(*study);
            }
            RunFile::Experiment => run.experiment = Some(path.clone()),
            RunFile::Trace(steps) => {
                traces.push((runs.len(), path.clone(), steps));
                continue;
            }
        }
        runs.push(run);
    }

    combine(
        &mut runs,
        |a, b| matches!((&a.trained, &b.model), (Some(record), Some(loaded)) if matches_model(record, &loaded.model)),
    );

    combine(
        &mut runs,
        |a, b| matches!((&a.tuned, &b.study), (Some(record), Some(study)) if matches_study(record, study)),
    );

    combine(
        &mut runs,
        |a, b| matches!((&a.tuned, &b.model), (Some(record), Some(loaded)) if matches_model(record, &loaded.model)),
    );

    for run in &mut runs {
        load_recorded_model(run, warnings);
    }
    add_traces(&mut runs, traces);
    Ok(runs)
}

/// Reads a file or directory.
fn read_file(path: &Path) -> Result<RunFile> {
    let unreadable = |source| Error::Read { path: path.to_path_buf(), source };
    if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        if EXPERIMENT_FILES.iter().any(|name| path.join(name).is_file()) {
            return Ok(RunFile::Experiment);
        }
        let message =
            "is a directory without summary.md; name a model, a record, a trace, a study, or the \
             directory of an experiment"
                .to_string();
        return Err(Error::Model { path: path.to_path_buf(), message: message.into() });
    }

    let bytes = memory::read_file(path)?;
    if bytes.starts_with(STUDY) {
        return tune::read_study(path).map(|study| RunFile::Study(Box::new(study)));
    }

    if is_trace(&bytes) {
        let wrong = |message: String| Error::Model {
            path: path.to_path_buf(),
            message: format!("is a trace, but {message}").into(),
        };
        return read_trace(&String::from_utf8_lossy(&bytes)).map(RunFile::Trace).map_err(wrong);
    }

    let several = |count: usize| Error::Model {
        path: path.to_path_buf(),
        message: format!(
            "predicts {count} columns, but a report is about one target; train one model per \
             column and report on each, or use 'evaluate' and 'inspect'"
        )
        .into(),
    };
    match record(&bytes) {
        Some(RunFile::TrainRecord(value)) if value["targets"].is_array() => {
            return Err(several(value["targets"].as_array().map_or(0, Vec::len)));
        }
        Some(record) => return Ok(record),
        None => {}
    }

    match store::load(path) {
        Ok(model) if !model.schema.target.kind.columns().is_empty() => {
            Err(several(model.schema.target.kind.columns().len()))
        }
        Ok(model) => Ok(RunFile::Model(Box::new(model))),
        Err(Error::Model { path, message }) => {
            let message = format!(
                "is not a run: neither a model, nor a trace, nor a study, nor the output of \
                 'train --json' or 'tune --json'; as a model: {message}"
            );
            Err(Error::Model { path, message: message.into() })
        }
        Err(other) => Err(other),
    }
}

/// The record of a training or tuning run, if it is one.
fn record(bytes: &[u8]) -> Option<RunFile> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let has = |names: &[&str]| names.iter().all(|name| value.get(name).is_some());
    if has(&["method", "parameters", "metrics", "rounds", "seconds"]) {
        return Some(RunFile::TrainRecord(value));
    }
    has(&["engine", "seed", "trials", "best", "stop_reason"]).then_some(RunFile::TuneRecord(value))
}

/// Combines every pair of runs of which the first belongs to the second, at the position of the
/// earlier one.
fn combine(runs: &mut Vec<ReportRun>, belongs: impl Fn(&ReportRun, &ReportRun) -> bool) {
    let mut at = 0;
    while at < runs.len() {
        let other = (0..runs.len()).find(|&other| {
            let (a, b) = (&runs[at], &runs[other]);
            other != at && a.is_disjoint(b) && belongs(a, b)
        });
        match other {
            None => at += 1,
            Some(other) => {
                let (first, last) = (at.min(other), at.max(other));
                let later = runs.remove(last);
                runs[first].absorb(later);
                at = first;
            }
        }
    }
}

impl ReportRun {
    /// Whether no kind of file is in both runs.
    fn is_disjoint(&self, other: &ReportRun) -> bool {
        let (a, b) = (self.file_kinds(), other.file_kinds());
        a.iter().zip(b).all(|(a, b)| !(*a && b))
            && !((self.trained.is_some() && other.tuned.is_some())
                || (self.tuned.is_some() && other.trained.is_some()))
    }

    /// Which kinds of files the run has.
    fn file_kinds(&self) -> [bool; 6] {
        [
            self.model.is_some(),
            self.trained.is_some(),
            self.trace.is_some(),
            self.tuned.is_some(),
            self.study.is_some(),
            self.experiment.is_some(),
        ]
    }

    /// Adds the files of another run.
    fn absorb(&mut self, other: ReportRun) {
        self.model = self.model.take().or(other.model);
        self.trained = self.trained.take().or(other.trained);
        self.tuned = self.tuned.take().or(other.tuned);
        self.study = self.study.take().or(other.study);
    }

    /// Whether it is a training run, which a trace can belong to.
    fn is_training(&self) -> bool {
        self.experiment.is_none() && self.study.is_none() && self.tuned.is_none()
    }

    /// The name on the page.
    pub fn name(&self) -> String {
        let model = self.model.as_ref().filter(|_| self.is_training());
        let path = model.map_or(&self.path, |loaded| &loaded.path);
        path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    }
}

/// Whether a record belongs to a model: the same method, rows, target and parameters, including the
/// seed.
fn matches_model(record: &Value, model: &Model) -> bool {
    let provenance = &model.provenance;
    // A parameter that was left to the data is 'auto' in a tuning record and resolved in the model.
    let same = |(name, value): (&String, &String)| {
        let recorded = record["parameters"].get(name).map(value_text);
        recorded.is_none_or(|recorded| recorded == "auto" || same_value(&recorded, value))
    };
    let target = record.get("target").and_then(Value::as_str);
    record["method"].as_str() == Some(&provenance.method)
        && record["rows"].as_u64() == Some(provenance.rows)
        && target.is_none_or(|target| target == model.schema.target.name)
        && provenance.params.iter().all(same)
}

/// A value of a record as text.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Whether two values are equal; numbers may be written differently.
pub fn same_value(a: &str, b: &str) -> bool {
    a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}

/// Whether a record belongs to a study: the same search, the same best trial.
fn matches_study(record: &Value, study: &StudyRecord) -> bool {
    let header = &study.header;
    let metric = record["metric"].as_str();
    record["engine"].as_str() == Some(&header.engine)
        && record["seed"].as_u64() == Some(header.seed)
        && metric == Some(&header.task.metric.name)
        && record["best"]["trial"].as_u64() == study.best().map(|best| best.id)
}

/// Loads the model that a record names: at its path, or in the directory of the record.
fn load_recorded_model(run: &mut ReportRun, warnings: &mut Vec<String>) {
    let Some(record) = run.trained.as_ref().or(run.tuned.as_ref()).filter(|_| run.model.is_none())
    else {
        return;
    };

    let Some(named) = record["model"].as_str().map(PathBuf::from) else { return };
    let beside = run.path.parent().zip(named.file_name()).map(|(folder, name)| folder.join(name));
    let files = [Some(named.clone()), beside].into_iter().flatten();
    let mut models = files.filter_map(|path| store::load(&path).ok().map(|model| (path, model)));
    let own_model = models.find(|(_, model)| matches_model(record, model));

    match own_model {
        Some((path, model)) => run.model = Some(LoadedModel { path, model, evaluation: None }),
        None => warnings.push(format!(
            "{}: its model {} does not exist or belongs to another run; name the model to include its trees",
            run.path.display(),
            named.display()
        )),
    }
}

/// Adds every trace to the training run before it, or to the one after it, or as a run of its own.
fn add_traces(runs: &mut Vec<ReportRun>, traces: Vec<(usize, PathBuf, Vec<TraceStep>)>) {
    for (at, path, steps) in traces {
        let at = at.min(runs.len());
        let free = |run: &ReportRun| run.is_training() && run.trace.is_none();
        let before = runs[..at].iter().rposition(free);
        let owner = before.or_else(|| runs[at..].iter().position(free).map(|after| at + after));
        match owner {
            Some(owner) => runs[owner].trace = Some(steps),
            None => runs.push(ReportRun { path, trace: Some(steps), ..ReportRun::default() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn model(seed: &str) -> Model {
        let text = format!(
            r#"{{"format":"swarmwood","version":1,"objective":"squared","link":"identity","base":[0.0],
            "provenance":{{"version":"0.1.0","method":"greedy","rows":5,"params":{{"seed":"{seed}","lambda":"1"}}}},
            "target":{{"name":"y"}},"features":[{{"name":"x"}}],"trees":[]}}"#
        );
        swarmwood::model::from_json(text.as_bytes()).unwrap()
    }

    fn run_of_model(seed: &str) -> ReportRun {
        let loaded = LoadedModel {
            path: format!("{seed}.json").into(),
            model: model(seed),
            evaluation: None,
        };
        ReportRun { path: loaded.path.clone(), model: Some(loaded), ..ReportRun::default() }
    }

    fn run_of_record(seed: u64) -> ReportRun {
        let record = json!({"method": "greedy", "rows": 5, "target": "y", "parameters": {"seed": seed, "lambda": 1.0}});
        ReportRun { path: "run.json".into(), trained: Some(record), ..ReportRun::default() }
    }

    #[test]
    fn a_record_is_combined_with_its_model() {
        let mut runs = vec![
            run_of_record(2),
            run_of_model("1"),
            run_of_model("2"),
            run_of_record(1),
            run_of_record(3),
        ];
        combine(
            &mut runs,
            |a, b| matches!((&a.trained, &b.model), (Some(record), Some(loaded)) if matches_model(record, &loaded.model)),
        );
        assert_eq!(
            runs.iter().map(ReportRun::name).collect::<Vec<_>>(),
            ["2.json", "1.json", "run.json"]
        );
        assert!(runs[..2].iter().all(|run| run.trained.is_some() && run.model.is_some()));
        let mut other = run_of_record(1).trained.unwrap();
        other["rows"] = json!(6);
        assert!(
            !matches_model(&other, &model("1"))
                && matches_model(&run_of_record(1).trained.unwrap(), &model("1"))
        );
    }

    #[test]
    fn a_trace_belongs_to_the_training_run_before_it() {
        let trace = |at: usize| (at, PathBuf::from("t.csv"), vec![TraceStep::default(); at + 1]);
        let steps = |run: &ReportRun| run.trace.as_ref().map(Vec::len);
        let mut runs = vec![run_of_model("1"), run_of_model("2")];
        add_traces(&mut runs, vec![trace(1), trace(2)]);
        assert_eq!(runs.iter().map(steps).collect::<Vec<_>>(), [Some(2), Some(3)]);
        let mut runs = vec![run_of_model("1")];
        add_traces(&mut runs, vec![trace(0), trace(0)]);
        assert_eq!(runs.iter().map(steps).collect::<Vec<_>>(), [Some(1), Some(1)]);
        assert_eq!(runs[1].name(), "t.csv");
    }
}
