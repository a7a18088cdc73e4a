//! Tuning the built-in learners: the request, the search, the final model.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ArgMatches;
use swarmwood::params::{Gather, ParamSpec, Params, TABLE, ValidParams, find};
use swarmwood::read::{self, ReadOptions, Rows, Source};
use swarmwood::search::Space;
use swarmwood::search::options::EngineOptions;
use swarmwood::tune::spaces::{SPACES, built_in, fix_params, refuse_given};
use swarmwood::tune::{
    FinalFit, NativeConfig, NativeObjective, Study, StudyHeader, StudyLimits, StudyMetric,
    StudyTask, TuneEvent, TuningScore, engine, space_file,
};
use swarmwood::{Result, column_checks, store, tune};

use super::engine_flags;
use super::progress::TrialProgress;
use super::summary::{BestTrialUpdate, TuneSeconds, TuneSummary, engine_text};
use super::{FOLDS, HOLDOUT, OWN, PARALLEL, TRIALS};
use crate::console::{self, Console};
use crate::files::CommandFiles;
use crate::flags;
use crate::format::count;
use crate::inputs::InputValues;
use crate::interrupt::InterruptFlag;

/// A valid request.
pub(super) struct BuiltinTuneRequest {
    source: Source,
    options: ReadOptions,
    params: ValidParams,
    /// Names of the parameters that were fixed.
    given: Vec<&'static str>,
    /// The flags that say how the rows are read, with their values.
    read_flags: Vec<(String, Vec<String>)>,
    space: String,
    engine: String,
    engine_options: EngineOptions,
    metric: String,
    folds: usize,
    holdout: f64,
    ensemble: usize,
    parallel_trials: usize,
    prune: bool,
    study: Option<PathBuf>,
    limits: StudyLimits,
    pub(super) out: Option<PathBuf>,
}

impl BuiltinTuneRequest {
    fn new(flags: &ArgMatches) -> Result<BuiltinTuneRequest> {
        let mut gather = Gather::default();
        gather.set("method", tune::DEFAULT_METHOD.name());
        let mut given = Vec::new();

        for spec in TABLE.iter().filter(|spec| !OWN.contains(&spec.name)) {
            if let Some(text) = flags.get_one::<String>(spec.name) {
                gather.set(spec.name, text);
                given.push(spec.name);
            }
        }

        let options = InputValues::new(flags, Vec::new()).read_options(&mut gather);
        let whole =
            |name: &str, default: u64| flags.get_one::<u64>(name).copied().unwrap_or(default);

        let at_least = |name: &str, default: u64, least: u64, gather: &mut Gather| {
            let value = whole(name, default);
            if value < least {
                gather.violate(name, format!("is {value}, must be at least {least}"));
            }
            usize::try_from(value).unwrap_or(usize::MAX)
        };

        let holdout = flags::number_value(flags, "holdout", &mut gather).unwrap_or(HOLDOUT);
        if !(0.0..1.0).contains(&holdout) {
            gather.violate("holdout", format!("is {holdout}, must be a number from 0, below 1"));
        }
        let seconds = flags::number_value(flags, "time-limit", &mut gather);
        if seconds.is_some_and(|seconds| seconds <= 0.0) {
            gather.violate("time-limit", "must be above 0");
        }
        let text = |name: &str, default: &str| {
            flags.get_one::<String>(name).map_or(default, String::as_str).to_string()
        };
        let path = |name: &str| flags.get_one::<PathBuf>(name).cloned();
        let (folds, trials) =
            (at_least("folds", FOLDS, 1, &mut gather), at_least("trials", TRIALS, 1, &mut gather));
        let parallel_trials = at_least("parallel", PARALLEL, 1, &mut gather);
        let ensemble = at_least("ensemble", 1, 1, &mut gather);
        let out = path("out").unwrap_or_else(|| PathBuf::from("model.json"));
        let source = flags::source(
            flags.get_one::<PathBuf>("data").map_or(Path::new("-"), PathBuf::as_path),
        );
        let engine = text("engine", engine::DEFAULT);
        let engine_options = engine_flags::engine_options(flags, &engine, &mut gather);
        engine_flags::refuse_misplaced_options(&engine, &given, &mut gather);
        let params = gather.finish()?;

        Ok(BuiltinTuneRequest {
            source,
            options,
            given,
            read_flags: read_flags(flags),
            space: text("space", "default"),
            engine,
            engine_options,
            metric: text("metric", "auto"),
            folds,
            holdout,
            ensemble,
            parallel_trials,
            prune: !flags.get_flag("no-pruning"),
            study: path("study"),
            limits: StudyLimits {
                trials,
                seconds,
                threads: params.threads,
                ..StudyLimits::default()
            },
            out: (out != Path::new("-")).then_some(out),
            params,
        })
    }

    /// The search space: a built-in one, or a file.
    fn space(&self) -> Result<Space> {
        if SPACES.iter().any(|(name, _)| *name == self.space) || !Path::new(&self.space).exists() {
            return built_in(&self.space, &self.params, &self.given);
        }
        let space = space_file::read(Path::new(&self.space))?;
        refuse_given(&space, &self.given)?;
        Ok(space)
    }
}

/// The flags of the table that were given.
fn read_flags(flags: &ArgMatches) -> Vec<(String, Vec<String>)> {
    let table = flags::table_flags();
    let names = table.iter().map(|flag| flag.get_id().to_string());
    let names = ["target".to_string()].into_iter().chain(names);
    let given = names.filter_map(|name| {
        let values = flags.try_get_many::<String>(&name).ok().flatten()?;
        Some((name, values.cloned().collect::<Vec<String>>()))
    });
    given.filter(|(name, _)| name != "max-memory").collect()
}

/// Runs the command.
pub(super) fn run(flags: &ArgMatches, interrupt: &InterruptFlag) -> Result<()> {
    let request = BuiltinTuneRequest::new(flags)?;
    let console = flags::console(flags);
    CommandFiles::default()
        .rows("the training data", &request.source)
        .input("the search space", Some(&request.space))
        .journal("study", request.study.as_ref())
        .output("out", request.out.as_ref())
        .check_writable()?;

    let summary = tune(&request, console, interrupt)?;
    if let Some(path) = &request.out {
        store::save(&summary.finished.model, path)?;
    }
    if flags.get_flag("json") {
        console::print_json(&summary.json())
    } else {
        console::print_result(&summary.text())
    }
}

/// Reads the rows, searches, trains the final model.
fn tune(
    request: &BuiltinTuneRequest,
    console: Console,
    interrupt: &InterruptFlag,
) -> Result<TuneSummary> {
    let started = Instant::now();
    let space = request.space()?;
    let all = read::training(&request.source, &request.options)?;
    let mut warnings: Vec<String> = request.params.idle().iter().map(ToString::to_string).collect();
    warnings.extend(all.warnings.iter().cloned());
    warnings.extend(column_checks::warnings(&all));
    console.warnings(&warnings);
    let score = TuningScore::named(&request.metric, &all.schema.target.kind)?;
    let (rows, held) = hold_out(&all, request)?;

    let mut params = (*request.params).clone();
    fix_params(&request.space, &mut params)?;
    let fixed = fixed_values(request, &params, &space);
    let common =
        NativeConfig { params, score, folds: request.folds, threads: request.params.threads };

    let native = NativeObjective::new(rows, common, &space)?;
    let header = header(request, &native, space, score, fixed)?;
    let mut study = Study::open(request.study.as_deref(), header)?;
    let mut notes = study.notes().to_vec();
    console.notes(&notes);
    let seconds = TuneSeconds { read: started.elapsed().as_secs_f64(), ..TuneSeconds::default() };
    console.line(&search_line(request, &all, held.as_ref(), study.header()));

    interrupt.arm();
    let mut progress = TrialProgress::new(console, study.header().task.metric.clone());
    let mut improvements = Vec::new();
    let started = Instant::now();
    let outcome = study.run(&native, &request.limits, &mut |event: &TuneEvent<'_>| {
        progress.show(event);
        BestTrialUpdate::record(&mut improvements, event);
    })?;

    progress.finish();
    let seconds = TuneSeconds { tune: started.elapsed().as_secs_f64(), ..seconds };

    let started = Instant::now();
    let finish = FinalFit {
        native: &native,
        all: &all,
        holdout: held.as_ref(),
        ensemble: request.ensemble,
        threads: request.params.threads,
    };

    // The first Ctrl-C has ended the search; a second one ends the program.
    let mut finished = finish.finish(&outcome, &mut |_| {})?;
    notes.append(&mut finished.notes);
    console.notes(&notes);
    let seconds = TuneSeconds { finish: started.elapsed().as_secs_f64(), ..seconds };

    Ok(TuneSummary {
        header: study.header().clone(),
        outcome,
        finished,
        improvements,
        score,
        folds: request.folds,
        rows: all.rows,
        seconds,
        out: request.out.clone(),
        warnings,
        notes,
    })
}

/// The rows for tuning, and the held-out rows.
fn hold_out(all: &Rows, request: &BuiltinTuneRequest) -> Result<(Rows, Option<Rows>)> {
    if request.holdout == 0.0 {
        return Ok((all.clone(), None));
    }
    let (rows, held) = all.clone().holdout(request.holdout, request.params.seed)?;
    Ok((rows, Some(held)))
}

fn header(
    request: &BuiltinTuneRequest,
    native: &NativeObjective,
    space: Space,
    score: TuningScore,
    fixed: Vec<(String, Vec<String>)>,
) -> Result<StudyHeader> {
    let schema = &native.rows().schema;
    let text = format!(
        "method {} on {} rows, target {}, {} folds",
        request.params.method.name(),
        native.rows().rows,
        schema.target.name,
        request.folds
    );

    let metric =
        StudyMetric { name: score.name.to_string(), from: score.higher_is_better.then_some(1.0) };

    Ok(StudyHeader {
        engine: request.engine.clone(),
        engine_options: request.engine_options.clone(),
        seed: request.params.seed,
        space,
        parallel_trials: request.parallel_trials,
        folds: request.folds,
        prune: request.prune,
        task: StudyTask { text, fingerprint: native.fingerprint()?, metric, fixed },
    })
}

/// What `train` needs beside the best configuration: how the rows are read, the method, and the
/// parameters that are not in the space and have other values than by default.
fn fixed_values(
    request: &BuiltinTuneRequest,
    params: &Params,
    space: &Space,
) -> Vec<(String, Vec<String>)> {
    let tuned: Vec<&str> = space
        .params()
        .iter()
        .filter_map(|param| find(&param.name).ok())
        .map(|spec| spec.name)
        .collect();
    let default = Params::of(params.method);
    let is_fixed = |spec: &&ParamSpec| {
        let is_other = spec.show(params) != spec.show(&default);
        is_other && !tuned.contains(&spec.name) && !["method", "threads"].contains(&spec.name)
    };
    let parameters = TABLE.iter().filter(is_fixed);
    let parameters = parameters.map(|spec| (spec.flag(), vec![spec.show(params)]));
    let method = ("method".to_string(), vec![params.method.name().to_string()]);
    request.read_flags.iter().cloned().chain([method]).chain(parameters).collect()
}

/// One line about the search.
fn search_line(
    request: &BuiltinTuneRequest,
    all: &Rows,
    held: Option<&Rows>,
    header: &StudyHeader,
) -> String {
    let held = held.map_or(0, |held| held.rows);
    let (seen, held) = (count(all.rows - held, "row"), count(held, "row"));
    let names: Vec<&str> = header.space.params().iter().map(|param| param.name.as_str()).collect();
    let canonical =
        names.iter().filter_map(|name| find(name).ok()).map(|spec| spec.name).collect::<Vec<_>>();
    format!(
        "{seen} in {}, {held} held out; tuning {} of {} with {}, metric {}",
        count(request.folds, "fold"),
        canonical.join(", "),
        request.params.method.name(),
        engine_text(header),
        header.task.metric.name
    )
}
