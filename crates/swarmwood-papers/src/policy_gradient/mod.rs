//! Sequences of rules by reinforcement learning: REINFORCE (Williams 1992) with a baseline and an
//! entropy bonus.
//!
//! Rao 2022 ends with the plan to "try deep RL to induce the GBDT" (section 8.2). An episode is a
//! sequence of rules out of the index table, drawn rule by rule from a policy, a small network that
//! sees the path so far (`policy.rs`); its cost is that of the particle of the same rules, so that
//! a search can be compared with the swarm at the same number of evaluations. After each round of
//! episodes the policy takes one step of Adam down the gradient of
//! `-mean(advantage * ln π) - entropy_weight * mean(H)`.
//!
//! The advantage of an episode is `(baseline - cost) / deviation`: the baseline is a moving average
//! of the mean cost of a round, the deviation one of its standard deviation, so that the scale of
//! the costs does not matter. The search keeps the best episode, not the last policy.

mod adam;
mod network;
mod policy;
#[cfg(test)]
mod tests;

use swarmwood_search::error::ParamError;
use swarmwood_search::generational::{
    GenerationalEngine, GenerationalMethod, RoundLosses, RoundSeed,
};
use swarmwood_search::position_matrix::PositionMatrix;
use swarmwood_search::{Datum, Engine, Error, Point, Snapshot, Space};

use crate::engine_loop::{IterationStats, IterativeEngine};
use adam::Adam;
use policy::RulePolicy;
pub use policy::SequenceShape;

/// The share of the newest round in the moving averages.
const NEWEST: f64 = 0.2;

/// How the policy learns.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyConfig {
    /// The shape of a sequence.
    pub shape: SequenceShape,
    /// Sizes of the groups of the table: the rules of each feature.
    pub group_sizes: Vec<usize>,
    /// Whether the first policy draws all rules of the table alike, instead of a feature first.
    pub uniform: bool,
    /// Episodes per round.
    pub population: usize,
    /// Rounds.
    pub rounds: u64,
    /// Units of the hidden layer.
    pub hidden: usize,
    /// Learning rate of Adam.
    pub rate: f64,
    /// Weight of the entropy.
    pub entropy_weight: f64,
}

impl PolicyConfig {
    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut errors = Vec::new();
        let mut require = |holds: bool, parameter: &str, message: &str| {
            if !holds {
                let (parameter, message) = (parameter.to_string(), message.to_string());
                errors.push(ParamError { parameter, message });
            }
        };
        require(self.population > 0, "population", "must be at least 1");
        require(self.rounds > 0, "rounds", "must be at least 1");
        require(self.hidden > 0, "hidden", "must be at least 1");
        require(self.rate > 0.0 && self.rate.is_finite(), "rate", "must be above 0");
        let is_weight = self.entropy_weight >= 0.0 && self.entropy_weight.is_finite();
        require(is_weight, "entropy_weight", "must be 0 or more");

        let table = self.group_sizes.iter().sum::<usize>() as u64;
        let fits = space.params().iter().all(|param| param.domain.values() == Some(table));
        let fits = fits && space.len() == self.shape.length();
        require(fits, "space", "holds other sequences than the shape and the groups");
        if errors.is_empty() {
            return Ok(());
        }
        Err(Error::Config { engine: PolicyMethod::NAME, errors })
    }
}

/// A search by policy gradient over sequences of rules
/// ([`sequence_space`](swarmwood_search::discrete_pso::sequence_space)).
///
/// ```
/// use swarmwood_papers::policy_gradient::{PolicyConfig, PolicyGradient, SequenceShape};
/// use swarmwood_search::discrete_pso::{sequence, sequence_space};
/// use swarmwood_search::{Engine, TrialResult};
///
/// let config = PolicyConfig {
///     shape: SequenceShape { trees: 1, rules_per_tree: 4, is_heap: false },
///     group_sizes: vec![3, 5],
///     uniform: false,
///     population: 20,
///     rounds: 60,
///     hidden: 8,
///     rate: 0.05,
///     entropy_weight: 0.01,
/// };
/// let mut engine = PolicyGradient::new(&sequence_space(4, 8)?, config, 7)?;
/// loop {
///     let trials = engine.ask(usize::MAX);
///     if trials.is_empty() {
///         break;
///     }
///     let wrong = |rules: Vec<u32>| rules.iter().zip([6, 1, 4, 4]).filter(|(a, b)| **a != *b).count();
///     let loss = |point| wrong(sequence(point).unwrap_or_default()) as f64;
///     let results: Vec<TrialResult> = trials
///         .iter()
///         .map(|trial| TrialResult::Complete { id: trial.id, loss: loss(&trial.point) })
///         .collect();
///     engine.tell(&results);
/// }
/// assert_eq!(engine.best().map(|best| best.loss), Some(0.0));
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type PolicyGradient = GenerationalEngine<PolicyMethod>;

/// The method of [`PolicyGradient`].
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyMethod {
    config: PolicyConfig,
    policy: RulePolicy,
    optimiser: Adam,
    /// Moving averages of the mean and of the standard deviation of a round's costs.
    baseline: Option<[f64; 2]>,
    /// The mean cost of the last round.
    mean: Option<f64>,
    /// The episodes of this round.
    sequences: Vec<Vec<u32>>,
    positions: PositionMatrix,
    round: u64,
}

impl PolicyMethod {
    fn of(config: PolicyConfig, seed: RoundSeed) -> Self {
        let PolicyConfig { shape, uniform, hidden, .. } = config;
        let policy = RulePolicy::new(shape, &config.group_sizes, uniform, hidden, seed.whole());
        let optimiser = Adam::new(config.rate, policy.network.weights.len());
        PolicyMethod {
            policy,
            optimiser,
            baseline: None,
            mean: None,
            sequences: Vec::new(),
            positions: PositionMatrix::default(),
            round: 0,
            config,
        }
    }

    /// Draws the episodes of a round.
    fn sample(&mut self, round: RoundSeed) {
        let episode = |item: usize| self.policy.sample(&mut round.stream(item));
        self.take_sequences((0..self.config.population).map(episode).collect());
    }

    fn take_sequences(&mut self, sequences: Vec<Vec<u32>>) {
        let rules = self.config.group_sizes.iter().sum::<usize>() as f64;
        let length = self.config.shape.length();
        self.positions = PositionMatrix::from_fn(sequences.len(), length, |row, column| {
            (f64::from(sequences[row][column]) + 0.5) / rules
        });
        self.sequences = sequences;
    }

    /// One step of the policy. Episodes that failed teach nothing.
    fn learn(&mut self, losses: &[Option<f64>]) {
        let known: Vec<(usize, f64)> =
            losses.iter().enumerate().filter_map(|(at, loss)| Some((at, (*loss)?))).collect();
        if known.is_empty() {
            return;
        }
        let count = known.len() as f64;
        let mean = known.iter().map(|(_, loss)| loss).sum::<f64>() / count;
        let squares = known.iter().map(|(_, loss)| (loss - mean).powi(2)).sum::<f64>();
        let deviation = (squares / count).sqrt();
        self.mean = Some(mean);
        let [baseline, scale] = self.baseline.unwrap_or([mean, deviation]);

        let mut gradient = vec![0.0; self.policy.network.weights.len()];
        for &(at, loss) in &known {
            let advantage = if scale > 0.0 { (baseline - loss) / scale } else { 0.0 };
            let weight = self.config.entropy_weight / count;
            self.policy.accumulate(&self.sequences[at], advantage / count, weight, &mut gradient);
        }
        self.optimiser.step(&mut self.policy.network.weights, &gradient);

        let blend = |old: f64, new: f64| (1.0 - NEWEST) * old + NEWEST * new;
        self.baseline = Some([blend(baseline, mean), blend(scale, deviation)]);
    }
}

impl IterativeEngine for PolicyGradient {
    fn completed(&mut self, done: usize) -> Vec<IterationStats> {
        let iteration = self.rounds() as usize;
        if iteration <= done {
            return Vec::new();
        }
        vec![IterationStats {
            iteration,
            best: self.best().map(|best| best.loss),
            mean: self.method().mean,
            evaluations: self.rounds() * self.method().config.population as u64,
            ..IterationStats::default()
        }]
    }

    fn restore(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        PolicyGradient::resume(space, snapshot)
    }
}

impl GenerationalMethod for PolicyMethod {
    const NAME: &'static str = "policy-gradient";
    type Config = PolicyConfig;

    fn initial_point(_: &PolicyConfig) -> Option<&Point> {
        None
    }

    fn new(space: &Space, config: PolicyConfig, round: RoundSeed) -> Result<Self, Error> {
        config.check(space)?;
        let mut method = PolicyMethod::of(config, round);
        method.sample(round);
        Ok(method)
    }

    fn positions(&self) -> &PositionMatrix {
        &self.positions
    }

    fn advance(&mut self, results: RoundLosses<'_>, next: RoundSeed) -> bool {
        self.learn(results.losses);
        self.round = self.round.saturating_add(1);
        if self.round >= self.config.rounds {
            return false;
        }
        self.sample(next);
        true
    }

    fn terminates(&self) -> bool {
        true
    }

    fn save(&self) -> Datum {
        let PolicyConfig { shape, group_sizes, uniform, population, rounds, hidden, .. } =
            &self.config;
        let naturals = |values: &[usize]| {
            Datum::List(values.iter().map(|&value| Datum::Natural(value as u64)).collect())
        };
        let sequence = |sequence: &Vec<u32>| {
            Datum::List(sequence.iter().map(|&rule| Datum::Natural(u64::from(rule))).collect())
        };
        Datum::record([
            ("shape", naturals(&[shape.trees, shape.rules_per_tree, usize::from(shape.is_heap)])),
            ("groups", naturals(group_sizes)),
            ("uniform", Datum::flag(*uniform)),
            ("population", Datum::Natural(*population as u64)),
            ("rounds", Datum::Natural(*rounds)),
            ("hidden", Datum::Natural(*hidden as u64)),
            ("rates", Datum::reals(&[self.config.rate, self.config.entropy_weight])),
            ("weights", Datum::reals(&self.policy.network.weights)),
            ("optimiser", self.optimiser.save()),
            ("baseline", Datum::reals(self.baseline.as_ref().map_or(&[], |pair| pair))),
            ("mean", Datum::optional(self.mean)),
            ("sequences", Datum::List(self.sequences.iter().map(sequence).collect())),
            ("round", Datum::Natural(self.round)),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let config = load_config(data)?;
        config.check(space).map_err(|error| Error::Snapshot(error.to_string()))?;

        // Seeds determine the first weights only, which are replaced here.
        let mut method = PolicyMethod::of(config, RoundSeed { seed: 0, number: 0 });
        let weights = method.policy.network.weights.len();
        method.policy.network.weights = data.field("weights")?.to_reals(weights)?;
        method.optimiser = Adam::load(data.field("optimiser")?, method.config.rate, weights)?;
        method.baseline = match data.field("baseline")?.list()? {
            [] => None,
            _ => data.field("baseline")?.to_reals(2)?.try_into().ok(),
        };
        method.mean = data.field("mean")?.to_optional()?;
        method.round = data.field("round")?.counter()?;
        method.take_sequences(load_sequences(data.field("sequences")?, &method.config)?);
        Ok(method)
    }
}

fn load_config(data: &Datum) -> Result<PolicyConfig, Error> {
    let [trees, rules_per_tree, is_heap] = data.field("shape")?.tuple()?;
    let rates = data.field("rates")?.to_reals(2)?;
    let shape = SequenceShape {
        trees: trees.count()?,
        rules_per_tree: rules_per_tree.count()?,
        is_heap: is_heap.to_flag()?,
    };
    Ok(PolicyConfig {
        shape,
        group_sizes: data
            .field("groups")?
            .list()?
            .iter()
            .map(Datum::count)
            .collect::<Result<_, _>>()?,
        uniform: data.field("uniform")?.to_flag()?,
        population: data.field("population")?.count()?,
        rounds: data.field("rounds")?.natural()?,
        hidden: data.field("hidden")?.count()?,
        rate: rates[0],
        entropy_weight: rates[1],
    })
}

/// The stored episodes of a round, whose rules must be in the table.
fn load_sequences(data: &Datum, config: &PolicyConfig) -> Result<Vec<Vec<u32>>, Error> {
    let unfit = || Error::Snapshot("holds sequences of another table; it is damaged".to_string());
    let table = config.group_sizes.iter().sum::<usize>();
    let rule = |rule: &Datum| {
        let rule = u32::try_from(rule.natural()?).ok().filter(|&rule| (rule as usize) < table);
        rule.ok_or_else(unfit)
    };
    let sequence = |sequence: &Datum| -> Result<Vec<u32>, Error> {
        let sequence: Vec<u32> = sequence.list()?.iter().map(rule).collect::<Result<_, _>>()?;
        if sequence.len() == config.shape.length() { Ok(sequence) } else { Err(unfit()) }
    };
    let sequences: Vec<Vec<u32>> = data.list()?.iter().map(sequence).collect::<Result<_, _>>()?;
    if sequences.len() == config.population { Ok(sequences) } else { Err(unfit()) }
}
