//! The class of cells without rows.
//!
//! A row that lands in such a cell needs an answer. The nearest cell with rows gives it: the one
//! that the fewest thresholds lie between, of equally near ones the one with most weight, of equals
//! the one with the least number. The paper says that the class "may be determined randomly"
//! (section 3).

use super::cells::GridCell;
use swarmwood_search::rng::Stream;

/// How cells without rows get a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyCellRule {
    /// That of the nearest cell with rows.
    Nearest,
    /// Any class that some row has, drawn for each cell.
    Random,
}

/// All cells of a grid with so many intervals on each axis, in ascending order: the last axis runs
/// fastest.
pub(super) fn fill(
    shape: &[usize],
    occupied: &[GridCell],
    rule: EmptyCellRule,
    seed: u64,
) -> Vec<GridCell> {
    let numbers: Vec<usize> = occupied.iter().map(|cell| number_of(shape, cell)).collect();
    let classes = match rule {
        EmptyCellRule::Nearest => nearest(shape, occupied, &numbers),
        EmptyCellRule::Random => random(shape, occupied, &numbers, seed),
    };
    let mut all: Vec<GridCell> = (0..)
        .zip(classes)
        .map(|(number, class)| GridCell {
            intervals: intervals_of(shape, number),
            class,
            weight: 0.0,
        })
        .collect();
    numbers.iter().zip(occupied).for_each(|(&number, cell)| all[number] = cell.clone());
    all
}

/// The number of a cell, the last axis running fastest.
fn number_of(shape: &[usize], cell: &GridCell) -> usize {
    let digits = shape.iter().zip(&cell.intervals);
    digits.fold(0, |number, (size, &interval)| number * size + usize::from(interval))
}

fn intervals_of(shape: &[usize], number: usize) -> Vec<u16> {
    let mut rest = number;
    let mut intervals = vec![0; shape.len()];
    for (interval, size) in intervals.iter_mut().zip(shape).rev() {
        *interval = (rest % size) as u16;
        rest /= size;
    }
    intervals
}

/// A wave from all cells with rows at once: a cell at distance d hears of its nearest cells with
/// rows from its neighbours at distance d - 1, and from no other.
fn nearest(shape: &[usize], occupied: &[GridCell], numbers: &[usize]) -> Vec<u16> {
    const NONE: u32 = u32::MAX;
    let cells: usize = shape.iter().product();
    let mut source = vec![NONE; cells];
    let mut distance = vec![NONE; cells];
    for (at, &number) in (0..).zip(numbers) {
        (source[number], distance[number]) = (at, 0);
    }
    let better = |a: u32, b: u32| {
        let (a, b) = (a as usize, b as usize);
        let (heavy, light) = (occupied[a].weight, occupied[b].weight);
        heavy > light || (heavy == light && numbers[a] < numbers[b])
    };
    let mut wave: Vec<usize> = numbers.to_vec();
    let mut reached = 0;
    while !wave.is_empty() {
        reached += 1;
        let mut next = Vec::new();
        for &cell in &wave {
            neighbours(shape, cell, |to| {
                if distance[to] == NONE {
                    distance[to] = reached;
                    next.push(to);
                }
                let told = source[cell];
                if distance[to] == reached && (source[to] == NONE || better(told, source[to])) {
                    source[to] = told;
                }
            });
        }
        wave = next;
    }
    source.iter().map(|&at| occupied.get(at as usize).map_or(0, |one| one.class)).collect()
}

/// The cells on the other side of one threshold.
fn neighbours(shape: &[usize], cell: usize, mut visit: impl FnMut(usize)) {
    let mut stride = 1;
    for &intervals in shape.iter().rev() {
        let at = cell / stride % intervals;
        if at > 0 {
            visit(cell - stride);
        }
        if at + 1 < intervals {
            visit(cell + stride);
        }
        stride *= intervals;
    }
}

fn random(shape: &[usize], occupied: &[GridCell], numbers: &[usize], seed: u64) -> Vec<u16> {
    let cells: usize = shape.iter().product();
    let mut held: Vec<u16> = occupied.iter().map(|one| one.class).collect();
    held.sort_unstable();
    held.dedup();
    let draw = |cell: usize| {
        let at = Stream::new(seed, 0, cell as u64).below(held.len().max(1) as u64);
        held.get(at as usize).copied().unwrap_or(0)
    };
    let mut all: Vec<u16> = (0..cells).map(draw).collect();
    numbers.iter().zip(occupied).for_each(|(&number, one)| all[number] = one.class);
    all
}
