//! The recipe "a search engine" of CONTRIBUTING.md, carried out: a new engine that uses nothing but
//! the public interface, registers itself and passes the contract suite.

use swarmwood_search::contract::{check_options, check_spec};
use swarmwood_search::engine::{EngineSpec, boxed};
use swarmwood_search::options::{EngineOptions, OptionSpec, OptionValues};
use swarmwood_search::registry::{self, ENGINES};
use swarmwood_search::steady_state::{AskContext, SteadyStateEngine, SteadyStateMethod};
use swarmwood_search::trial_log::FinishedTrial;
use swarmwood_search::{Datum, Error, Param, Point, Space, TrialResult};

// Step 1: the engine, its configuration, its options and its registration, in one file.

/// Random local search: a random point between the best one and a random one.
type LocalSearch = SteadyStateEngine<LocalSearchMethod>;

/// Configuration of [`LocalSearch`].
struct LocalSearchConfig {
    /// Number of points of the initial design.
    start: usize,
}

/// The options of [`LocalSearch`].
const OPTIONS: &[OptionSpec] = &[OptionSpec::integer(
    "initial_points",
    (1, 1000),
    5,
    "number of points of the initial design",
)];

impl LocalSearchConfig {
    fn of(options: &OptionValues) -> Self {
        LocalSearchConfig { start: options.count("initial_points") }
    }
}

const SPEC: EngineSpec = EngineSpec {
    name: LocalSearch::NAME,
    summary: "random local search",
    options: OPTIONS,
    build: |space, seed, options| {
        boxed(LocalSearch::new(space, LocalSearchConfig::of(options), seed))
    },
    resume: |space, snapshot| boxed(LocalSearch::resume(space, snapshot)),
};

/// The method of [`LocalSearch`].
struct LocalSearchMethod {
    config: LocalSearchConfig,
    best: Option<(f64, Point)>,
}

impl SteadyStateMethod for LocalSearchMethod {
    const NAME: &'static str = "local";
    type Config = LocalSearchConfig;

    fn new(_: &Space, config: LocalSearchConfig, _: u64) -> Result<Self, Error> {
        Ok(LocalSearchMethod { config, best: None })
    }

    fn observe(&mut self, _: &Space, _: u64, finished: FinishedTrial) {
        let Some(loss) = finished.loss else { return };
        if self.best.as_ref().is_none_or(|(least, _)| loss < *least) {
            self.best = Some((loss, finished.point));
        }
    }

    fn propose(&mut self, context: AskContext<'_>) -> Option<Point> {
        let mut stream = context.stream();
        if let Some(point) = context.initial_design(self.config.start, &mut stream) {
            return Some(point);
        }
        let Some((_, best)) = &self.best else { return context.sample_unseen(&mut stream) };

        let centre = context.space.encode(best);
        context.first_unseen(20, &mut stream, |_, stream| {
            let position: Vec<f64> =
                centre.iter().map(|u| u + stream.unit() * (stream.unit() - u)).collect();
            context.space.decode(&position)
        })
    }

    fn save(&self) -> Datum {
        let best = self.best.iter();
        let best =
            best.map(|(loss, point)| Datum::List(vec![Datum::Real(*loss), Datum::point(point)]));
        Datum::record([
            ("start", Datum::Natural(self.config.start as u64)),
            ("best", Datum::List(best.collect())),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let best = |datum: &Datum| -> Result<(f64, Point), Error> {
            let [loss, point] = datum.tuple()?;
            Ok((loss.real()?, point.to_point(space)?))
        };
        Ok(LocalSearchMethod {
            config: LocalSearchConfig { start: data.field("start")?.count()? },
            best: data.field("best")?.list()?.first().map(best).transpose()?,
        })
    }
}

// Step 2, the line in `lib.rs`, has no counterpart here; step 3 is the line in the registry.

fn registered() -> impl Iterator<Item = &'static EngineSpec> {
    const NEW: &[EngineSpec] = &[SPEC];
    ENGINES.iter().chain(NEW)
}

#[test]
fn the_new_engine_passes_the_contract() {
    check_spec(&SPEC).unwrap();
    check_options(&SPEC, 10).unwrap();
}

#[test]
fn the_new_engine_is_known_by_its_name() {
    let space = Space::new(vec![Param::real("x", 0.0, 1.0), Param::real("y", 0.0, 1.0)]).unwrap();
    let options = EngineOptions::parse("initial_points=9");
    let mut engine = registry::create(registered(), "local", &options, &space, 7).unwrap();
    for _ in 0..200 {
        for trial in engine.ask(1) {
            let loss = space.encode(&trial.point).iter().map(|u| (u - 0.3).powi(2)).sum();
            engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
        }
    }
    assert!(engine.best().unwrap().loss < 1e-3);

    let mut resumed = registry::resume(registered(), &space, &engine.snapshot()).unwrap();
    assert_eq!(resumed.ask(3), engine.ask(3));
    let refused = |name: &str, options: &str| {
        let options = EngineOptions::parse(options);
        registry::create(registered(), name, &options, &space, 7).err().unwrap().to_string()
    };
    assert!(refused("locl", "").ends_with("did you mean 'local'?"));
    assert_eq!(
        refused("local", "initial_points=0"),
        "setting 'initial_points' of engine 'local': is '0', must be a whole number from 1 to 1000"
    );
    assert!(refused("local", "initial_point=3").ends_with("did you mean 'initial_points'?"));
}
