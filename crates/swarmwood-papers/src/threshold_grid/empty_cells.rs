//! The class of cells without rows.
//!
//! A row that lands in such a cell needs an answer. The nearest cell with rows gives it: the one
//! that the fewest thresholds lie between, of equally near ones the one with most weight, of equals
//! the one with the least number. The paper says that the class "may be determined randomly"
//! (section 3).

use swarmwood_search::rng::Stream;

/// How cells without rows get a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyCellRule {
    /// That of the nearest cell with rows.
    Nearest,
    /// Any class that some row has, drawn for each cell.
    Random,
}

/// A cell with rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OccupiedCell {
    pub(super) cell: u32,
    pub(super) class: u16,
    pub(super) weight: f64,
}

/// The class of every cell of a grid with so many intervals on each axis, the last axis running
/// fastest.
pub(super) fn fill(
    shape: &[usize],
    occupied: &[OccupiedCell],
    rule: EmptyCellRule,
    classes: usize,
    seed: u64,
) -> Vec<u16> {
    match rule {
        EmptyCellRule::Nearest => nearest(shape, occupied),
        EmptyCellRule::Random => random(shape, occupied, classes, seed),
    }
}

/// A wave from all cells with rows at once: a cell at distance d hears of its nearest cells with
/// rows from its neighbours at distance d - 1, and from no other.
fn nearest(shape: &[usize], occupied: &[OccupiedCell]) -> Vec<u16> {
    const NONE: u32 = u32::MAX;
    let cells: usize = shape.iter().product();
    let mut source = vec![NONE; cells];
    let mut distance = vec![NONE; cells];
    for (at, one) in (0..).zip(occupied) {
        (source[one.cell as usize], distance[one.cell as usize]) = (at, 0);
    }
    let better = |a: u32, b: u32| {
        let (a, b) = (occupied[a as usize], occupied[b as usize]);
        a.weight > b.weight || (a.weight == b.weight && a.cell < b.cell)
    };
    let mut wave: Vec<u32> = occupied.iter().map(|one| one.cell).collect();
    let mut reached = 0;
    while !wave.is_empty() {
        reached += 1;
        let mut next = Vec::new();
        for &cell in &wave {
            neighbours(shape, cell as usize, |to| {
                if distance[to] == NONE {
                    distance[to] = reached;
                    next.push(to as u32);
                }
                let told = source[cell as usize];
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

fn random(shape: &[usize], occupied: &[OccupiedCell], classes: usize, seed: u64) -> Vec<u16> {
    let cells: usize = shape.iter().product();
    let mut held: Vec<u16> = occupied.iter().map(|one| one.class).collect();
    held.sort_unstable();
    held.dedup();
    debug_assert!(held.len() <= classes);
    let draw = |cell: usize| {
        let at = Stream::new(seed, 0, cell as u64).below(held.len().max(1) as u64);
        held.get(at as usize).copied().unwrap_or(0)
    };
    let mut all: Vec<u16> = (0..cells).map(draw).collect();
    occupied.iter().for_each(|one| all[one.cell as usize] = one.class);
    all
}
