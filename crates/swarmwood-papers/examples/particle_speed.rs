//! Times the evaluation of particles:
//! `cargo run --release --example particle_speed [rows] [threads] [objective]`.
//!
//! Six oblivious trees of depth five over 28 columns, as the paper's experiment on higgs; the
//! fastest of many runs, in nanoseconds a row and tree, with codes of one byte (255 bins), two bytes
//! and four bytes (every distinct value). Then all replacements of one rule of a
//! tree, in evaluations of a particle, for tables of few and of many rules.

use std::hint::black_box;
use std::time::Instant;

use swarmwood_learn::bins::Layout;
use swarmwood_learn::bins::distinct::DistinctValues;
use swarmwood_learn::budget::Budget;
use swarmwood_learn::context::Context;
use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::metric::EvalMetric;
use swarmwood_learn::objective::{Objective, ObjectiveConfig, make};
use swarmwood_learn::pool::Pool;
use swarmwood_learn::stats::ParticleCode;
use swarmwood_model::{Feature, Kind};
use swarmwood_papers::particle::{Evaluator, ParticleConfig, TreeForm};
use swarmwood_papers::rule_table::RuleTable;
use swarmwood_search::rng::Stream;

const COLUMNS: usize = 28;
const TREES: usize = 6;
const DEPTH: usize = 5;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, usual: usize| arguments.get(at).map_or(Ok(usual), |text| text.parse::<usize>());
    let rows = number(0, 44_000).map_err(|error| error.to_string())?;
    let pool = Pool::new(number(1, 1).map_err(|error| error.to_string())?)?;
    let wanted =
        |spec: &ObjectiveConfig| arguments.get(2).is_none_or(|name| name == make(spec).name());
    for (spec, fitness) in [
        (ObjectiveConfig::LOGISTIC, EvalMetric::Loss),
        (ObjectiveConfig::LOGISTIC, EvalMetric::Accuracy),
        (ObjectiveConfig::SQUARED, EvalMetric::Rmse),
        (ObjectiveConfig::huber(1.0), EvalMetric::Loss),
    ] {
        if wanted(&spec) {
            time_widths(rows, make(&spec).as_ref(), fitness, TreeForm::Oblivious, &pool)?;
            for bins in [8, 255] {
                time_replacements(rows, make(&spec).as_ref(), fitness, bins, &pool)?;
            }
        }
    }
    if wanted(&ObjectiveConfig::LOGISTIC) {
        let objective = make(&ObjectiveConfig::LOGISTIC);
        time_widths(rows, objective.as_ref(), EvalMetric::Loss, TreeForm::Free, &pool)?;
    }
    Ok(())
}

/// Rows that look like those of higgs, and their features.
fn table(rows: usize) -> (Chunk, Vec<Feature>) {
    let mut stream = Stream::new(1, 2, 3);
    let columns: Vec<Vec<f64>> =
        (0..COLUMNS).map(|_| (0..rows).map(|_| stream.normal()).collect()).collect();
    let class = |row: usize| f64::from(columns[0][row] + columns[1][row] * columns[2][row] > 0.2);
    let target = (0..rows).map(class).collect();
    let columns: Vec<Column> = columns.iter().cloned().map(Column::Number).collect();
    let features =
        (0..COLUMNS).map(|at| Feature { name: format!("x{at}"), kind: Kind::Number }).collect();
    (Chunk { columns, target, weight: Vec::new(), rows }, features)
}

fn binned(rows: usize, bins: usize, pool: &Pool) -> Dataset {
    let (chunk, features) = table(rows);
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, bins, pool);
    Dataset::from_chunk(&chunk, layout, pool)
}

/// Every distinct value has a code.
fn distinct<C: ParticleCode>(rows: usize, pool: &Pool) -> Dataset<C> {
    let (chunk, features) = table(rows);
    let values: Vec<DistinctValues> = chunk
        .columns
        .iter()
        .map(|column| {
            let mut values = DistinctValues::default();
            values.extend(column);
            values
        })
        .collect();
    let layout = Layout::fit_distinct(|at| chunk.columns[at].clone(), &features, &values, pool);
    Dataset::with_codes(&chunk, layout, pool)
}

/// Codes of every width in turn.
fn time_widths(
    rows: usize,
    objective: &dyn Objective,
    fitness: EvalMetric,
    form: TreeForm,
    pool: &Pool,
) -> Result<(), String> {
    time(&binned(rows, 255, pool), objective, fitness, form, pool)?;
    if rows < 1 << 16 {
        time(&distinct::<u16>(rows, pool), objective, fitness, form, pool)?;
    }
    time(&distinct::<u32>(rows, pool), objective, fitness, form, pool)
}

fn time<C: ParticleCode>(
    data: &Dataset<C>,
    objective: &dyn Objective,
    fitness: EvalMetric,
    form: TreeForm,
    pool: &Pool,
) -> Result<(), String> {
    let (rows, table) = (data.rows(), RuleTable::bins(data));
    let settings = ParticleConfig {
        trees: TREES,
        form,
        depth: DEPTH,
        learning_rate: 1.0,
        lambda: 1.0,
        fitness,
        memory: 1 << 30,
    };
    let each = form.rules(DEPTH);
    let mut stream = Stream::new(4, 5, 6);
    let mut draw =
        || (0..TREES * each).map(|_| stream.below(table.len() as u64) as u32).collect::<Vec<u32>>();
    let particles: Vec<Vec<u32>> = (0..50).map(|_| draw()).collect();
    // Alike in all but their last tree.
    let last: Vec<Vec<u32>> = particles
        .iter()
        .map(|particle| {
            let mut alike = particles[0].clone();
            alike[(TREES - 1) * each..].copy_from_slice(&particle[(TREES - 1) * each..]);
            alike
        })
        .collect();

    let context = Context { pool, budget: &Budget::unlimited() };
    let mut evaluator = Evaluator::new(data, &table, objective, settings, context)
        .map_err(|error| error.to_string())?;
    let one = fastest(50, |at| _ = black_box(evaluator.evaluate(&particles[at])));
    let all = fastest(1, |_| _ = black_box(evaluator.evaluate_all(&particles)));
    let last = fastest(50, |at| _ = black_box(evaluator.evaluate(&last[at])));
    let work = 50.0 * rows as f64 * TREES as f64;
    println!(
        "{} {} {form:?}, {} bytes a code, {rows} rows, {} threads, ns a row and tree: one by one {:.2}, beside each other {:.2}; \
         a new last tree costs {:.2} of a particle",
        objective.name(),
        fitness.name(),
        size_of::<C>(),
        pool.threads(),
        one / work,
        all / work,
        last / one
    );
    Ok(())
}

/// All replacements of one rule in each tree of a particle, beside evaluations of whole particles
/// with the same table.
fn time_replacements(
    rows: usize,
    objective: &dyn Objective,
    fitness: EvalMetric,
    bins: usize,
    pool: &Pool,
) -> Result<(), String> {
    let data = binned(rows, bins, pool);
    let table = RuleTable::bins(&data);
    let (form, memory) = (TreeForm::Oblivious, 1 << 30);
    let settings = ParticleConfig {
        trees: TREES,
        form,
        depth: DEPTH,
        learning_rate: 1.0,
        lambda: 1.0,
        fitness,
        memory,
    };
    let mut stream = Stream::new(7, 5, 6);
    let mut draw = || {
        (0..TREES * DEPTH).map(|_| stream.below(table.len() as u64) as u32).collect::<Vec<u32>>()
    };
    let particles: Vec<Vec<u32>> = (0..TREES).map(|_| draw()).collect();
    let context = Context { pool, budget: &Budget::unlimited() };
    let mut evaluator = Evaluator::new(&data, &table, objective, settings, context)
        .map_err(|error| error.to_string())?;
    let whole = fastest(TREES, |at| _ = black_box(evaluator.evaluate(&particles[at])));
    // The particle stays the same, so that its own evaluation is not counted again.
    let replaced =
        fastest(TREES, |tree| _ = black_box(evaluator.replacements(&particles[0], tree)));
    println!(
        "{} {}, {rows} rows, {} threads: all {} replacements of a rule in a tree, {} rules in the table, cost {:.2} \
         particles",
        objective.name(),
        fitness.name(),
        pool.threads(),
        DEPTH * table.len(),
        table.len(),
        replaced / whole
    );
    Ok(())
}

/// Nanoseconds of all pieces, each the fastest of many times, so that other work on the machine
/// counts for little.
fn fastest(pieces: usize, mut run: impl FnMut(usize)) -> f64 {
    let mut least = vec![f64::INFINITY; pieces];
    for _ in 0..40 {
        for (at, least) in least.iter_mut().enumerate() {
            let start = Instant::now();
            run(at);
            *least = least.min(start.elapsed().as_nanos() as f64);
        }
    }
    least.iter().sum()
}
