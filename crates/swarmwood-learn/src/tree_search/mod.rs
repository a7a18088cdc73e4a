//! One small tree whose rules are optimised together: the default method for a single tree.
//!
//! CART chooses each rule without regard to the rules below it. Here the tree is optimised as a
//! whole. A descent re-selects the rule of one node at a time, over all features and cuts, with
//! everything above and below in place and every leaf at its optimal value, until no node can be
//! improved; moves leaves from where they help least to where they help most; and, for losses that
//! allow it, replaces subtrees at the bottom by the provably best subtree of two levels
//! (`descent.rs`, `depth_two.rs`). A descent ends in a local optimum, so a population of trees is
//! perturbed and descends again (`perturb.rs`), as in iterated local search: random rules, subtrees
//! regrown on half of the features, subtrees taken from other trees of the population.
//!
//! Exact coordinate descent with refitted leaves beats particle swarms over thresholds at a small
//! part of the cost. Related: TAO (Carreira-Perpiñán and Tavallali 2018), which chooses a node's
//! rule without refitting leaves; evolutionary trees (Grubinger, Zeileis, Pfeiffer 2014).

mod allowed_rules;
mod depth_two;
mod descent;
mod error_counts;
mod feature_screen;
mod lookahead;
mod perturb;
mod select;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Mutex;

use swarmwood_search::rng::Stream;
use swarmwood_search::{Datum, Error};

use crate::cart::{CartGrower, RuleSelection, TreeLimits};
use crate::context::Context;
use crate::event::Event;
use crate::leaf_loss::LeafLoss;
use crate::plan::TaskLog;
use crate::rank_table::RankTable;
use crate::rank_tree::{RankTree, Subtree, fit_nodes};

pub use select::{DEFAULT_SIZES, TreeCandidateScore, TreeCvConfig, TreeSelection, select};

/// Random streams of the search: a round is a generation, an item is a tree.
const STREAM: u64 = 6 << 32;

/// Number of generations after which the worst tree is replaced by a copy of the best.
const RENEWAL: usize = 5;

/// Default number of descents.
pub const DEFAULT_DESCENTS: usize = 40;

/// What is searched, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSearchConfig {
    /// The training loss to minimise.
    pub loss: LeafLoss,
    /// The maximum size of the tree.
    pub limits: TreeLimits,
    /// Number of trees in the population.
    pub population: usize,
    /// Number of descents after the initial ones; 0 keeps the initial ones alone.
    pub descents: usize,
    /// Seed of the random streams.
    pub seed: u64,
}

/// A tree and its training loss.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredTree {
    /// The tree.
    pub tree: RankTree,
    /// Its loss on the training rows.
    pub loss: f64,
}

/// The state of a search after a generation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeSearchProgress {
    /// Descents done.
    pub descents: usize,
    /// Descents planned.
    pub max_descents: usize,
    /// The least loss.
    pub best: f64,
    /// The mean loss of the population.
    pub mean: f64,
    /// The loss of CART's tree.
    pub cart: f64,
    /// Number of node scans so far.
    pub scans: u64,
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct TreeSearchResult {
    /// The best tree.
    pub best: ScoredTree,
    /// CART's tree of the same maximum size.
    pub cart: ScoredTree,
    /// Whether CART's tree was grown to its end before the budget was interrupted.
    pub cart_is_complete: bool,
    /// Descents done.
    pub descents: usize,
    /// Number of node scans.
    pub scans: u64,
}

impl TreeSearchResult {
    /// CART's tree without a search.
    fn of_cart(cart: ScoredTree, cart_is_complete: bool) -> Self {
        TreeSearchResult { best: cart.clone(), cart, cart_is_complete, descents: 0, scans: 0 }
    }
}

/// What all steps of a search share.
struct SearchContext<'a> {
    table: &'a RankTable,
    config: &'a TreeSearchConfig,
    features: Vec<u32>,
    context: Context<'a>,
    /// The best subtrees of two levels found so far. They change the cost of a search, never its
    /// result.
    subtree_cache: Mutex<HashMap<descent::SubtreeKey, Option<Subtree>>>,
}

impl<'a> SearchContext<'a> {
    fn new(table: &'a RankTable, config: &'a TreeSearchConfig, context: Context<'a>) -> Self {
        let features = (0..table.columns().len() as u32).collect();
        SearchContext { table, config, features, context, subtree_cache: Mutex::default() }
    }

    /// CART's tree.
    fn greedy(&self) -> ScoredTree {
        let tree = self.grower(&self.features, self.greedy_loss()).grow();
        ScoredTree { loss: self.loss(&tree), tree }
    }
}

impl SearchContext<'_> {
    fn is_interrupted(&self) -> bool {
        self.context.budget.is_interrupted()
    }

    fn loss(&self, tree: &RankTree) -> f64 {
        let (_, leaves) = fit_nodes(tree, self.table, &self.config.loss);
        leaves.iter().map(|leaf| leaf.loss).sum()
    }

    fn grower<'b>(&'b self, features: &'b [u32], loss: &'b LeafLoss) -> CartGrower<'b> {
        let limits = self.config.limits;
        CartGrower {
            table: self.table,
            loss,
            selection: RuleSelection::LeastLoss,
            limits,
            features,
            context: self.context,
        }
    }

    /// The loss that greedy growth minimises: misclassifications alone see no gain in most good
    /// first splits.
    fn greedy_loss(&self) -> &LeafLoss {
        match &self.config.loss {
            LeafLoss::Error | LeafLoss::Mix { .. } | LeafLoss::Costs(_) => &LeafLoss::Gini,
            other => other,
        }
    }

    /// Whether a loss is below another by more than rounding.
    fn is_better(&self, loss: f64, than: f64) -> bool {
        loss < than - 1e-9 * (1.0 + than.abs())
    }
}

/// Searches. `observer` is called after every generation. When the budget is interrupted, the
/// search ends with the best tree so far.
///
/// ```
/// use swarmwood_learn::budget::Budget;
/// use swarmwood_learn::cart::TreeLimits;
/// use swarmwood_learn::context::Context;
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_learn::leaf_loss::LeafLoss;
/// use swarmwood_learn::pool::Pool;
/// use swarmwood_learn::rank_table::RankTable;
/// use swarmwood_learn::tree_search::{TreeSearchConfig, search};
/// use swarmwood_model::{Feature, Kind};
///
/// // The class is whether x and y lie on the same side of their middle: no first split helps alone.
/// let cell = |row: usize| [(row % 10) as f64, (row / 10) as f64];
/// let class = |row: usize| f64::from(u8::from((cell(row)[0] < 5.0) == (cell(row)[1] < 5.0)));
/// let column = |at: usize| Column::Number((0..100).map(|row| cell(row)[at]).collect());
/// let chunk = Chunk {
///     columns: vec![column(0), column(1)],
///     target: (0..100).map(class).collect(),
///     rows: 100,
///     ..Chunk::default()
/// };
/// let features = ["x", "y"].map(|name| Feature { name: name.into(), kind: Kind::Number });
/// let table = RankTable::new(&chunk, &features, Some(2), 255);
///
/// let limits = TreeLimits { leaves: 4, depth: 0, min_leaf: 1 };
/// let config =
///     TreeSearchConfig { loss: LeafLoss::Error, limits, population: 2, descents: 8, seed: 0 };
/// let (pool, budget) = (Pool::new(1)?, Budget::unlimited());
/// let found = search(&table, &config, Context { pool: &pool, budget: &budget }, &mut |_| ());
/// assert_eq!(found.best.loss, 0.0);
/// # Ok::<(), String>(())
/// ```
pub fn search(
    table: &RankTable,
    config: &TreeSearchConfig,
    context: Context<'_>,
    observer: &mut dyn FnMut(&TreeSearchProgress),
) -> TreeSearchResult {
    let search = SearchContext::new(table, config, context);
    match search.begin() {
        Ok(state) => search.run(state, &mut |progress, _| observer(progress)).finish(),
        Err(cart) => TreeSearchResult::of_cart(cart, false),
    }
}

/// Like [`search`], as one task of a log, which stores the state after every generation. `event`
/// makes the event of a generation.
pub fn search_logged(
    table: &RankTable,
    config: &TreeSearchConfig,
    context: Context<'_>,
    log: &mut TaskLog<'_>,
    event: &dyn Fn(&TreeSearchProgress) -> Event,
) -> Result<TreeSearchResult, Error> {
    const KEY: &str = "search";
    let search = SearchContext::new(table, config, context);
    if let Some((stored, _)) = log.recall(KEY)? {
        return Ok(TreeSearchState::from_datum(&stored, table)?.finish());
    }

    let state = match log.take_partial(KEY) {
        Some(stored) => TreeSearchState::from_datum(&stored, table)?,
        None => match search.begin() {
            Err(cart) => return Ok(TreeSearchResult::of_cart(cart, false)),
            Ok(state) => {
                // Only a population whose descents were not cut short may be resumed from.
                if !search.is_interrupted() {
                    let progress = state.progress(search.max_descents());
                    log.notify_partial(&event(&progress), KEY, &|| state.to_datum());
                }
                state
            }
        },
    };
    let mut observer = |progress: &TreeSearchProgress, state: &TreeSearchState| {
        if progress.descents > 0 {
            log.notify_partial(&event(progress), KEY, &|| state.to_datum());
        }
    };
    let state = search.run(state, &mut observer);
    if !search.is_interrupted() {
        log.record(KEY, state.descents as u64, state.to_datum());
    }
    Ok(state.finish())
}

/// The state of a search between two generations.
#[derive(Debug, Clone, PartialEq)]
struct TreeSearchState {
    cart: ScoredTree,
    population: Vec<ScoredTree>,
    descents: usize,
    /// The number of the next generation.
    generation: usize,
    scans: u64,
}

impl TreeSearchState {
    fn progress(&self, max_descents: usize) -> TreeSearchProgress {
        let losses = self.population.iter().map(|scored| scored.loss);
        TreeSearchProgress {
            descents: self.descents,
            max_descents,
            best: best_tree(&self.population).loss,
            mean: losses.sum::<f64>() / self.population.len() as f64,
            cart: self.cart.loss,
            scans: self.scans,
        }
    }

    /// A descent never ends above its start, so that the result is never worse than CART.
    fn finish(self) -> TreeSearchResult {
        TreeSearchResult {
            best: best_tree(&self.population).clone(),
            cart: self.cart,
            cart_is_complete: true,
            descents: self.descents,
            scans: self.scans,
        }
    }

    fn to_datum(&self) -> Datum {
        let counts = [self.descents as u64, self.generation as u64, self.scans];
        Datum::record([
            ("cart", self.cart.to_datum()),
            ("population", Datum::List(self.population.iter().map(ScoredTree::to_datum).collect())),
            ("counts", Datum::List(counts.map(Datum::Natural).to_vec())),
        ])
    }

    fn from_datum(datum: &Datum, table: &RankTable) -> Result<Self, Error> {
        let tree = |datum: &Datum| ScoredTree::from_datum(datum, table);
        let population: Vec<ScoredTree> =
            datum.field("population")?.list()?.iter().map(tree).collect::<Result<_, _>>()?;
        if population.is_empty() {
            return Err(Error::Snapshot("holds no tree; it is damaged".to_string()));
        }
        let [descents, generation, scans] = datum.field("counts")?.tuple()?;
        Ok(TreeSearchState {
            cart: tree(datum.field("cart")?)?,
            population,
            descents: descents.count()?,
            generation: generation.count()?,
            scans: scans.counter()?,
        })
    }
}

impl ScoredTree {
    fn to_datum(&self) -> Datum {
        Datum::List(vec![self.tree.to_datum(), Datum::Real(self.loss)])
    }

    fn from_datum(datum: &Datum, table: &RankTable) -> Result<Self, Error> {
        let [tree, loss] = datum.tuple()?;
        Ok(ScoredTree { tree: RankTree::from_datum(tree, table)?, loss: loss.real()? })
    }
}

impl SearchContext<'_> {
    /// CART's tree and the initial population; CART's tree alone when the budget is interrupted
    /// before it is complete.
    fn begin(&self) -> Result<TreeSearchState, ScoredTree> {
        let cart = self.greedy();
        if self.is_interrupted() {
            return Err(cart);
        }
        let (population, scans) = self.initial_population(&cart);
        Ok(TreeSearchState { cart, population, descents: 0, generation: 1, scans })
    }

    /// Runs generations until all descents are done or the budget is interrupted. `observer` is
    /// called with the state before the first generation and after each one.
    fn run(
        &self,
        mut state: TreeSearchState,
        observer: &mut dyn FnMut(&TreeSearchProgress, &TreeSearchState),
    ) -> TreeSearchState {
        let max_descents = self.max_descents();
        if state.descents == 0 {
            observer(&state.progress(max_descents), &state);
        }
        while state.descents < max_descents && !self.is_interrupted() {
            let trials = self.config.population.max(1).min(max_descents - state.descents);
            state.scans += self.advance(&mut state.population, state.generation, trials);
            if self.is_interrupted() {
                // What an incomplete generation improved counts; its descents do not.
                break;
            }
            state.descents += trials;
            state.generation += 1;
            observer(&state.progress(max_descents), &state);
        }
        state
    }
}

impl SearchContext<'_> {
    /// The initial population: the descent from CART, and descents from the best roots of a
    /// lookahead over three levels. Where there is room for two levels only, that lookahead is part
    /// of every descent.
    fn initial_population(&self, cart: &ScoredTree) -> (Vec<ScoredTree>, u64) {
        let population = self.config.population.max(1);
        let limits = self.config.limits;
        let has_room =
            limits.allow_more_than(4) && limits.allow_split_at(2) && !self.restricts_rules();
        let ahead = if has_room { self.best_of_three_levels(population) } else { Vec::new() };

        let mut starts = vec![cart.clone()];
        for subtree in ahead {
            if self.is_interrupted() {
                break;
            }
            let start = self.prune_to_limits(self.drop_small_leaves(RankTree::new(&subtree)));
            let tree = self.grower(&self.features, self.greedy_loss()).grow_leaves(&start);
            starts.push(ScoredTree { loss: self.loss(&tree), tree });
        }

        let descents = self.context.pool.map(starts.len(), |at| {
            let mut stream = Stream::new(self.config.seed, STREAM, at as u64);
            self.descend(starts[at].clone(), &mut stream)
        });
        let scans = descents.iter().map(|(_, scans)| scans).sum();
        let mut trees: Vec<ScoredTree> = descents.into_iter().map(|(scored, _)| scored).collect();
        trees.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        ((0..population).map(|at| trees[at % trees.len()].clone()).collect(), scans)
    }

    /// Descents after the initial ones; none if the initial ones end in a provably best tree.
    fn max_descents(&self) -> usize {
        let TreeLimits { depth, leaves, .. } = self.config.limits;
        let is_proven = (1..=2).contains(&depth)
            && leaves == 0
            && depth_two::can_solve(self.table, &self.config.loss)
            && depth_two::is_exhaustive(self.table, &self.features)
            && !self.restricts_rules()
            && !self.table.constraints().has_monotone();
        if is_proven { 0 } else { self.config.descents }
    }

    /// One generation: the first `trials` trees are perturbed and descend again, and a tree that
    /// does not get worse replaces its origin. Returns the number of node scans.
    fn advance(&self, population: &mut [ScoredTree], generation: usize, trials: usize) -> u64 {
        let parents = &*population;
        let offspring = self.context.pool.map(trials, |at| {
            let mut stream = Stream::new(self.config.seed, STREAM + generation as u64, at as u64);
            let perturbed = self.perturb(parents, at, &mut stream);
            self.descend(perturbed, &mut stream)
        });

        let mut scans = 0;
        for (own, (scored, work)) in population.iter_mut().zip(offspring) {
            scans += work;
            if scored.loss <= own.loss {
                *own = scored;
            }
        }
        if generation.is_multiple_of(RENEWAL) {
            replace_worst(population);
        }
        scans
    }
}

/// One pass of a descent: the rule of every node is re-selected once, from the root down. For
/// measurements of its cost.
pub fn coordinate_pass(
    table: &RankTable,
    config: &TreeSearchConfig,
    context: Context<'_>,
    mut scored: ScoredTree,
) -> ScoredTree {
    let search = SearchContext::new(table, config, context);
    for node in 0..scored.tree.nodes().len() as u32 {
        scored.loss -= search.reselect_rule(&mut scored.tree, node).unwrap_or(0.0);
    }
    scored
}

/// CART's tree, which a search would start from, as a result.
pub fn greedy_only(
    table: &RankTable,
    config: &TreeSearchConfig,
    context: Context<'_>,
) -> TreeSearchResult {
    let cart = SearchContext::new(table, config, context).greedy();
    TreeSearchResult::of_cart(cart, !context.budget.is_interrupted())
}

/// The best of the population: the least loss, of equals the fewest leaves, of equals the first.
fn best_tree(population: &[ScoredTree]) -> &ScoredTree {
    let better = |a: &ScoredTree, b: &ScoredTree| {
        b.loss < a.loss || (b.loss == a.loss && b.tree.leaves() < a.tree.leaves())
    };
    population.iter().skip(1).fold(&population[0], |a, b| if better(a, b) { b } else { a })
}

fn replace_worst(population: &mut [ScoredTree]) {
    let best = best_tree(population).clone();
    let worst = (0..population.len())
        .reduce(|worst, at| if population[at].loss > population[worst].loss { at } else { worst });
    if let Some(worst) = worst {
        population[worst] = best;
    }
}
