//! Times a descent beside greedy growth:
//! `cargo run --release --example descent_speed [rows] [columns] [threads]`.
//!
//! A table of normal numbers, and a tree of depth four. Growth chooses the rules of 15 nodes from
//! their rows; a pass of a descent chooses all of them again, each with the whole tree below it in
//! place. Both in turns, five rounds each, with all values as ranks and with 255 of them, for
//! classes by half mistakes, half impurity, and for numbers.

use std::hint::black_box;
use std::time::Instant;

use swarmwood_learn::budget::Budget;
use swarmwood_learn::cart::{CartGrower, RuleSelection, TreeLimits};
use swarmwood_learn::context::Context;
use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::leaf_loss::LeafLoss;
use swarmwood_learn::pool::Pool;
use swarmwood_learn::rank_table::{MAX_CODES, RankTable};
use swarmwood_learn::tree_search::{self, TreeSearchConfig};
use swarmwood_model::{Feature, Kind};
use swarmwood_search::rng::Stream;

const ROUNDS: usize = 5;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| match arguments.get(at) {
        Some(text) => text.parse::<usize>().map_err(|error| format!("{text}: {error}")),
        None => Ok(usual),
    };
    let (rows, columns, threads) = (number(0, 100_000)?, number(1, 30)?, number(2, 1)?);
    let pool = Pool::new(threads)?;
    println!(
        "{rows} rows, {columns} columns, {threads} threads; seconds of growth and of a pass, {ROUNDS} rounds"
    );
    for classes in [Some(2), None] {
        let (chunk, features) = table(rows, columns, classes.is_some());
        for codes in [MAX_CODES, 255] {
            let table = RankTable::new(&chunk, &features, classes, codes);
            time(
                &table,
                if classes.is_some() { LeafLoss::Mix { share: 0.5 } } else { LeafLoss::Squared },
                codes,
                &pool,
            );
        }
    }
    Ok(())
}

/// Five columns matter, two of them together.
fn table(rows: usize, columns: usize, classes: bool) -> (Chunk, Vec<Feature>) {
    let mut stream = Stream::new(1, 2, 3);
    let values: Vec<Vec<f64>> =
        (0..columns).map(|_| (0..rows).map(|_| stream.normal()).collect()).collect();
    let at = |column: usize, row: usize| values[column % columns][row];
    let truth = |row: usize| {
        at(0, row) * at(1, row) + at(2, row).abs() - 0.5 * at(3, row) + 0.3 * at(4, row)
    };
    let noisy: Vec<f64> = (0..rows).map(|row| truth(row) + 0.5 * stream.normal()).collect();
    let target = noisy
        .into_iter()
        .map(|value| if classes { f64::from(value > 0.8) } else { value })
        .collect();
    let features =
        (0..columns).map(|at| Feature { name: format!("x{at}"), kind: Kind::Number }).collect();
    (
        Chunk {
            columns: values.into_iter().map(Column::Number).collect(),
            target,
            rows,
            ..Chunk::default()
        },
        features,
    )
}

fn time(table: &RankTable, loss: LeafLoss, codes: usize, pool: &Pool) {
    let limits = TreeLimits { leaves: 0, depth: 4, min_leaf: 5 };
    let features: Vec<u32> = (0..table.columns().len() as u32).collect();
    let by = if loss == LeafLoss::Squared { LeafLoss::Squared } else { LeafLoss::Gini };
    let budget = Budget::unlimited();
    let context = Context { pool, budget: &budget };
    let selection = RuleSelection::LeastLoss;
    let grower = CartGrower { table, loss: &by, selection, limits, features: &features, context };
    let config = TreeSearchConfig { loss, limits, population: 1, descents: 0, seed: 0 };
    let start = tree_search::greedy_only(table, &config, context).best;
    let mut spent = [Vec::new(), Vec::new()];
    let mut after = start.loss;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        black_box(grower.grow());
        spent[0].push(started.elapsed().as_secs_f64());
        let started = Instant::now();
        after = tree_search::coordinate_pass(table, &config, context, start.clone()).loss;
        spent[1].push(started.elapsed().as_secs_f64());
    }
    let least = spent.each_ref().map(|all| all.iter().copied().fold(f64::INFINITY, f64::min));
    println!(
        "{:?}, {codes} codes: growth {:.3?}, pass {:.3?}; least over least {:.2}; {} leaves, loss {:.1} to {after:.1}",
        config.loss,
        spent[0],
        spent[1],
        least[1] / least[0],
        start.tree.leaves(),
        start.loss,
    );
}
