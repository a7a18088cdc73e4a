//! One small tree, its rules found together: the default method for a single tree.
//!
//! CART chooses each rule as if none came after it. Here a tree is a whole: a descent re-chooses
//! the rule of one node at a time, over all features and cuts, with everything above and below in
//! place and every leaf at its best value, until no node can be bettered; takes leaves from where
//! they help least to where they help most; and, for losses that allow it, puts the proven best
//! twig of two levels at the bottom (`descend.rs`, `pair.rs`). A descent ends in a local best, so a
//! swarm of trees is kicked and descends again (`moves.rs`): rules drawn at random, twigs regrown
//! on half of the features, twigs taken from other trees of the swarm.
//!
//! After the findings that exact coordinate descent with refitted leaves beats particle swarms over
//! thresholds at a small part of the cost. Related: TAO (Carreira-Perpiñán and Tavallali 2018),
//! which chooses a node's rule without refitting leaves; evolutionary trees (Grubinger, Zeileis,
//! Pfeiffer 2014).

mod choose;
mod descend;
mod lookahead;
mod moves;
mod pair;
mod roots;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Mutex;

use swarmwood_search::rng::Stream;

use crate::cart::{self, Growing, Limits};
use crate::event::Flow;
use crate::leaf_loss::Loss;
use crate::pool::Pool;
use crate::ranked::Ranked;
use crate::sketch::{self, Sketch, Twig};

pub use choose::{Arm, Menu, SIZES, choose};

/// Streams of the swarm: a round is a generation, an item a tree.
const STREAM: u64 = 6 << 32;

/// Generations after which the worst tree becomes a copy of the best.
const RENEWAL: usize = 5;

/// Descents of a search that is not told how many.
pub const DESCENTS: usize = 40;

/// What is searched, and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What the tree is to make small.
    pub loss: Loss,
    /// How large the tree may get.
    pub limits: Limits,
    /// Trees of the swarm.
    pub population: usize,
    /// Descents after the first; 0 is the first alone.
    pub descents: usize,
    /// Start of the random streams.
    pub seed: u64,
}

/// A tree and its loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The tree.
    pub sketch: Sketch,
    /// Its loss on the training rows.
    pub loss: f64,
}

/// How the search stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Descents done.
    pub descents: usize,
    /// Of so many.
    pub of: usize,
    /// The least loss.
    pub best: f64,
    /// The mean loss of the swarm.
    pub mean: f64,
    /// The loss of the tree that CART made.
    pub cart: f64,
    /// Rules tried so far, a sweep of one node counted once.
    pub sweeps: u64,
}

/// What a search ends with.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The best tree.
    pub best: Tried,
    /// The tree that CART made, of the same size.
    pub cart: Tried,
    /// Descents done.
    pub descents: usize,
    /// Sweeps of nodes.
    pub sweeps: u64,
}

/// What all steps need to know.
struct Problem<'a> {
    table: &'a Ranked,
    settings: &'a Settings,
    features: Vec<u32>,
    pool: &'a Pool,
    halt: &'a (dyn Fn() -> bool + Sync),
    /// The best twigs of two levels that were found so far: they change what a search costs and
    /// nothing else.
    bottoms: Mutex<HashMap<descend::Bottom, Option<Twig>>>,
}

impl<'a> Problem<'a> {
    fn new(
        table: &'a Ranked,
        settings: &'a Settings,
        pool: &'a Pool,
        halt: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        let features = (0..table.columns().len() as u32).collect();
        Problem { table, settings, features, pool, halt, bottoms: Mutex::default() }
    }

    /// CART's tree.
    fn greedy(&self) -> Tried {
        let sketch = cart::grow(&self.growing(&self.features, self.greedy_loss()));
        Tried { loss: self.loss(&sketch), sketch }
    }
}

impl Problem<'_> {
    fn loss(&self, sketch: &Sketch) -> f64 {
        let (_, leaves) = sketch::fit(sketch, self.table, &self.settings.loss);
        leaves.iter().map(|leaf| leaf.loss).sum()
    }

    fn growing<'b>(&'b self, features: &'b [u32], loss: &'b Loss) -> Growing<'b> {
        Growing { table: self.table, loss, limits: self.settings.limits, features, pool: self.pool }
    }

    /// What greedy growth chooses splits by: counting mistakes alone sees no gain in most good
    /// first splits.
    fn greedy_loss(&self) -> &Loss {
        match &self.settings.loss {
            Loss::Error | Loss::Mix { .. } | Loss::Costs(_) => &Loss::Gini,
            other => other,
        }
    }

    /// A loss below another by more than rounding.
    fn better(&self, loss: f64, than: f64) -> bool {
        loss < than - 1e-9 * (1.0 + than.abs())
    }
}

/// Searches. `watch` hears of every generation; `halt` is asked inside of long work.
///
/// ```
/// use swarmwood_learn::cart::Limits;
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_learn::event::Flow;
/// use swarmwood_learn::leaf_loss::Loss;
/// use swarmwood_learn::pool::Pool;
/// use swarmwood_learn::ranked::Ranked;
/// use swarmwood_learn::tree_search::{Settings, search};
/// use swarmwood_model::{Feature, Kind};
///
/// // The class is whether x and y lie on the same side of their middle: no first split helps by itself.
/// let cell = |row: usize| [(row % 10) as f64, (row / 10) as f64];
/// let columns = (0..2).map(|at| Column::Number((0..100).map(|row| cell(row)[at]).collect())).collect();
/// let target = (0..100).map(|row| f64::from(u8::from((cell(row)[0] < 5.0) == (cell(row)[1] < 5.0)))).collect();
/// let chunk = Chunk { columns, target, rows: 100, ..Chunk::default() };
/// let features = ["x", "y"].map(|name| Feature { name: name.into(), kind: Kind::Number });
/// let table = Ranked::new(&chunk, &features, Some(2), 255);
/// let limits = Limits { leaves: 4, depth: 0, min_leaf: 1 };
/// let settings = Settings { loss: Loss::Error, limits, population: 2, descents: 8, seed: 0 };
/// let found = search(&table, &settings, &Pool::new(1)?, &mut |_| Flow::Continue, &|| false);
/// assert_eq!(found.best.loss, 0.0);
/// # Ok::<(), String>(())
/// ```
pub fn search(
    table: &Ranked,
    settings: &Settings,
    pool: &Pool,
    watch: &mut dyn FnMut(&Standing) -> Flow,
    halt: &(dyn Fn() -> bool + Sync),
) -> Outcome {
    let problem = Problem::new(table, settings, pool, halt);
    let cart = problem.greedy();
    if halt() {
        return Outcome { best: cart.clone(), cart, descents: 0, sweeps: 0 };
    }
    let (mut swarm, mut sweeps) = problem.start(&cart);
    let mut done = 0;
    // The proven best tree cannot be bettered.
    let proven = (1..=2).contains(&settings.limits.depth) && settings.limits.leaves == 0;
    let most = if proven && pair::can_solve(table, &settings.loss) { 0 } else { settings.descents };
    let stand = |swarm: &[Tried], done: usize, sweeps: u64| {
        let mean = swarm.iter().map(|tried| tried.loss).sum::<f64>() / swarm.len() as f64;
        Standing { descents: done, of: most, best: best(swarm).loss, mean, cart: cart.loss, sweeps }
    };
    let mut flow = watch(&stand(&swarm, done, sweeps));
    let mut generation = 1;
    while flow == Flow::Continue && done < most && !halt() {
        let trials = settings.population.max(1).min(most - done);
        let offspring = pool.map(trials, |at| {
            let mut stream = Stream::new(settings.seed, STREAM + generation as u64, at as u64);
            let kicked = problem.kick(&swarm, at, &mut stream);
            problem.descend(kicked, &mut stream)
        });
        for (own, (tried, work)) in swarm.iter_mut().zip(offspring) {
            sweeps += work;
            if tried.loss <= own.loss {
                *own = tried;
            }
        }
        if generation % RENEWAL == 0 {
            renew(&mut swarm);
        }
        done += trials;
        generation += 1;
        flow = watch(&stand(&swarm, done, sweeps));
    }
    // A descent never ends above its start, so that the swarm cannot end above CART.
    Outcome { best: best(&swarm).clone(), cart, descents: done, sweeps }
}

impl Problem<'_> {
    /// The first swarm: the descent from CART, and descents from the best roots by a look at three
    /// levels. Where there is room for two levels only, looking that far ahead is part of every
    /// descent.
    fn start(&self, cart: &Tried) -> (Vec<Tried>, u64) {
        let population = self.settings.population.max(1);
        let limits = self.settings.limits;
        let roomy = limits.allow_more(4) && limits.allow_below(2);
        let ahead = if roomy { self.best_of_three_levels(population) } else { Vec::new() };
        let mut starts = vec![cart.clone()];
        for twig in ahead {
            let fitting = self.fitting(self.tidy(Sketch::new(&twig)));
            let grown = cart::regrow(&self.growing(&self.features, self.greedy_loss()), &fitting);
            starts.push(Tried { loss: self.loss(&grown), sketch: grown });
        }
        let descents = self.pool.map(starts.len(), |at| {
            let mut stream = Stream::new(self.settings.seed, STREAM, at as u64);
            self.descend(starts[at].clone(), &mut stream)
        });
        let sweeps = descents.iter().map(|(_, sweeps)| sweeps).sum();
        let mut tried: Vec<Tried> = descents.into_iter().map(|(tried, _)| tried).collect();
        tried.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        let swarm = (0..population).map(|at| tried[at % tried.len()].clone()).collect();
        (swarm, sweeps)
    }
}

/// One pass of a descent: the rule of every node chosen anew once, from the root down. What
/// descents are made of, for those who want to know what it costs.
pub fn pass(table: &Ranked, settings: &Settings, pool: &Pool, mut tree: Tried) -> Tried {
    let problem = Problem::new(table, settings, pool, &|| false);
    for node in 0..tree.sketch.nodes().len() as u32 {
        tree.loss -= problem.rechoose_node(&mut tree.sketch, node).unwrap_or(0.0);
    }
    tree
}

/// The tree that a search would start from, and no search.
pub fn without_search(table: &Ranked, settings: &Settings, pool: &Pool) -> Outcome {
    let cart = Problem::new(table, settings, pool, &|| false).greedy();
    Outcome { best: cart.clone(), cart, descents: 0, sweeps: 0 }
}

/// The best of the swarm: the least loss, of equals the fewest leaves, of equals the first.
fn best(swarm: &[Tried]) -> &Tried {
    let better = |a: &Tried, b: &Tried| {
        b.loss < a.loss || (b.loss == a.loss && b.sketch.leaves() < a.sketch.leaves())
    };
    swarm.iter().skip(1).fold(&swarm[0], |a, b| if better(a, b) { b } else { a })
}

fn renew(swarm: &mut [Tried]) {
    let best = best(swarm).clone();
    let worst = (0..swarm.len())
        .reduce(|worst, at| if swarm[at].loss > swarm[worst].loss { at } else { worst });
    if let Some(worst) = worst {
        swarm[worst] = best;
    }
}
