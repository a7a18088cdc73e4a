use swarmwood_model::{Feature, Kind, Test};
use swarmwood_search::Datum;
use swarmwood_search::rng::Stream;

use super::*;
use crate::test_context::TestContext;
use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::event::Event;
use swarmwood_learn::rank_tree::{ClassifierTree, NodeRef};

/// Calls a function with an empty log.
fn with_log<R>(run: impl FnOnce(&mut TaskLog<'_>) -> R) -> R {
    let mut observer = |_: &Event, _: &dyn Fn() -> Datum| ();
    run(&mut TaskLog::new(None, &mut observer).unwrap())
}

fn numbers_table(columns: Vec<Vec<f64>>, target: Vec<f64>, classes: usize) -> RankTable {
    let feature = |at: usize| Feature { name: format!("x{at}"), kind: Kind::Number };
    let features: Vec<Feature> = (0..columns.len()).map(feature).collect();
    let rows = target.len();
    let columns = columns.into_iter().map(Column::Number).collect();
    RankTable::new(
        &Chunk { columns, target, weight: Vec::new(), rows },
        &features,
        Some(classes),
        1000,
    )
}

fn config() -> GridTreeConfig {
    GridTreeConfig {
        limits: TreeLimits { leaves: 0, depth: 0, min_leaf: 1 },
        prune: Some(PruningChoice::Best),
        folds: 5,
        variables: GridVariables::Tree,
        optimizer: ThresholdOptimizer::Apso,
        population: 30,
        iterations: 60,
        fitness: FitnessMeasure::Accuracy,
        empty: EmptyCellRule::Nearest,
        repeats: 1,
        selection: GridSelection::Training,
        max_thresholds: 0,
        seed: 3,
    }
}

fn find(
    table: &RankTable,
    config: &GridTreeConfig,
    threads: usize,
) -> Result<GridTreeResult, GridError> {
    with_log(|log| search(table, config, TestContext::new(threads).context(), log))
}

/// The class that a tree gives a row with these codes.
fn walk(tree: &ClassifierTree, code: impl Fn(u32) -> u16) -> u16 {
    let mut edge = tree.rules.root();
    loop {
        match edge {
            NodeRef::Leaf(leaf) => return tree.classes[leaf as usize],
            NodeRef::Node(node) => {
                let branch = &tree.rules.nodes()[node as usize];
                edge = if branch.rule.goes_right(code(branch.rule.feature)) {
                    branch.right
                } else {
                    branch.left
                };
            }
        }
    }
}

/// Ten rows, one threshold on x and two on y, drawn by hand (a cell's rows, and its class in
/// brackets):
///
/// ```text
///        y <= 2.5        2.5 < y <= 4.5   y > 4.5
/// x<=2.5 0 0     (0)     1 1     (1)      0 0  (0)
/// x> 2.5 0 2 2   (2)     none             1    (1)
/// ```
fn by_hand() -> (RankTable, Vec<GridAxis>) {
    let x = vec![1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0];
    let y = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 2.0, 6.0];
    let classes = vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 2.0, 2.0, 1.0];
    let axis = |feature, thresholds, high| GridAxis {
        feature,
        thresholds,
        range: [1.0, high],
        missing_right: false,
    };
    (numbers_table(vec![x, y], classes, 3), vec![axis(0, 1, 4.0), axis(1, 2, 6.0)])
}

#[test]
fn the_cells_of_the_drawing_are_counted() {
    let (table, axes) = by_hand();
    let class_fitness = ClassFitness::new(&table, FitnessMeasure::Accuracy).unwrap();
    let cells = GridCells::new(&table, &class_fitness, &axes);
    // Any threshold between the same two values is the same cut, in any order.
    let cuts = cells.cuts(&[2.9, 4.0, 2.1]);
    assert_eq!(cuts, [vec![2], vec![2, 4]]);
    let counted: Vec<(Vec<u16>, u16, f64)> = cells
        .occupied(&cuts)
        .into_iter()
        .map(|cell| (cell.intervals, cell.class, cell.weight))
        .collect();
    // In the order of their first rows.
    let expected = [
        (vec![0, 0], 0, 2.0),
        (vec![0, 1], 1, 2.0),
        (vec![0, 2], 0, 2.0),
        (vec![1, 0], 2, 3.0),
        (vec![1, 2], 1, 1.0),
    ];
    assert_eq!(counted, expected);
    assert!((cells.fitness(&cuts) - 0.9).abs() < 1e-12);
    // The mean of the shares of each class that is right: 4 of 5, 3 of 3, 2 of 2.
    let recall = ClassFitness::new(&table, FitnessMeasure::Recall { sensitivity: 0.5 }).unwrap();
    assert!((GridCells::new(&table, &recall, &axes).fitness(&cuts) - 2.8 / 3.0).abs() < 1e-12);
}

#[test]
fn the_cells_of_the_drawing_become_a_tree() {
    let (table, axes) = by_hand();
    let class_fitness = ClassFitness::new(&table, FitnessMeasure::Accuracy).unwrap();
    let config = config();
    let limits = TestContext::new(1);
    let run = GridTreeSearch {
        table: &table,
        config: &config,
        context: limits.context(),
        class_fitness,
        earlier: EarlierSwarms::default(),
    };
    let found = GridCandidate {
        axes: axes.clone(),
        cuts: vec![vec![2], vec![2, 4]],
        fitness: 0.9,
        score: 0.9,
        name: GridName::of_repeat(0),
    };
    let grid = run.finish(&found);
    // Three cells lie one threshold away from the one without rows; the heaviest of them has class
    // 2.
    let boxes: Vec<(Vec<[u16; 2]>, u16)> =
        grid.boxes.iter().map(|one| (one.ranges.clone(), one.class)).collect();
    let expected = [
        (vec![[0, 1], [0, 1]], 0),
        (vec![[0, 1], [1, 2]], 1),
        (vec![[0, 1], [2, 3]], 0),
        (vec![[1, 2], [0, 2]], 2),
        (vec![[1, 2], [2, 3]], 1),
    ];
    assert_eq!(boxes, expected);
    let size = GridSize { features: 2, thresholds: 3, cells: 6.0, occupied: 5 };
    assert_eq!((grid.size, grid.is_filled), (size, true));
    let tree = grid.to_tree(&table);
    let splits: Vec<(u32, f64)> = tree
        .splits
        .iter()
        .map(|split| match split.test {
            Test::Above(threshold) => (split.feature, threshold),
            Test::In(_) => unreachable!(),
        })
        .collect();
    assert_eq!(splits, [(0, 2.5), (1, 2.5), (1, 4.5), (1, 4.5)]);
    assert_eq!(tree.classes, [0, 1, 0, 2, 1], "the empty cell shares a leaf with its neighbour");
    // Thresholds that met, or lie beyond all values, leave the same cells.
    let loose = GridCandidate { cuts: vec![vec![2], vec![2, 2, 4, 6]], ..found };
    assert_eq!(run.finish(&loose), grid);

    let pruned = prune_to_size(tree.clone(), &table, 4);
    assert_eq!((pruned.classes, pruned.splits.len()), (vec![0, 1, 0, 2], 3));
    assert_eq!(prune_to_size(tree.clone(), &table, 5), tree);
    let root = prune_to_size(tree, &table, 1);
    assert_eq!((root.classes, root.splits.len()), (vec![0], 0));
}

#[test]
fn a_tree_decides_as_its_grid_on_every_cell() {
    for round in 0..60 {
        let mut stream = Stream::new(round, 1, 0);
        let mut column = || -> Vec<f64> {
            (0..25)
                .map(|_| if stream.below(6) == 0 { f64::NAN } else { stream.below(7) as f64 })
                .collect()
        };
        let columns = vec![column(), column(), column()];
        let target = (0..25).map(|_| stream.below(3) as f64).collect();
        let table = numbers_table(columns, target, 3);
        let axis = |feature: u32, thresholds: usize, missing_right: bool| GridAxis {
            feature,
            thresholds,
            range: [0.0, 6.0],
            missing_right,
        };
        let axes =
            [axis(0, 2, round % 2 == 0), axis(1, 1, round % 3 == 0), axis(2, 3, round % 5 == 0)];
        let class_fitness = ClassFitness::new(&table, FitnessMeasure::Accuracy).unwrap();
        let thresholds: Vec<f64> = (0..6).map(|_| stream.unit() * 6.0).collect();
        let cuts = GridCells::new(&table, &class_fitness, &axes).cuts(&thresholds);
        let empty = if round % 2 == 0 { EmptyCellRule::Nearest } else { EmptyCellRule::Random };
        let (config, limits) = (GridTreeConfig { empty, ..config() }, TestContext::new(1));
        let fitness = GridCells::new(&table, &class_fitness, &axes).fitness(&cuts);
        let run = GridTreeSearch {
            table: &table,
            config: &config,
            context: limits.context(),
            class_fitness,
            earlier: EarlierSwarms::default(),
        };
        let grid = run.finish(&GridCandidate {
            axes: axes.to_vec(),
            cuts,
            fitness,
            score: fitness,
            name: GridName::of_repeat(0),
        });
        let tree = grid.to_tree(&table);
        let mut right = 0;
        for row in 0..25 {
            let code = |feature: u32| table.columns()[feature as usize].codes()[row];
            let swarmwood_learn::rank_table::RankTarget::Classes { of_row, .. } = table.target()
            else {
                unreachable!()
            };
            right += usize::from(walk(&tree, code) == of_row[row]);
        }
        assert!((right as f64 / 25.0 - fitness).abs() < 1e-12, "round {round}");
        let tops: Vec<u16> = table.columns().iter().map(|column| column.max_code()).collect();
        for (a, b, c) in all_codes(&tops) {
            let code = |feature: u32| [a, b, c][feature as usize];
            assert_eq!(Some(walk(&tree, code)), grid.class(code), "round {round}: {a} {b} {c}");
        }
    }
}

/// All codes of three columns, missing ones included.
fn all_codes(tops: &[u16]) -> Vec<(u16, u16, u16)> {
    let mut all = Vec::new();
    for a in 0..=tops[0] {
        for b in 0..=tops[1] {
            all.extend((0..=tops[2]).map(|c| (a, b, c)));
        }
    }
    all
}

#[test]
fn empty_cells_take_the_nearest_class_or_any_that_rows_have() {
    for round in 0..40 {
        let mut stream = Stream::new(round, 2, 0);
        let shape: Vec<usize> =
            (0..1 + stream.below(3)).map(|_| 1 + stream.below(5) as usize).collect();
        let cells: usize = shape.iter().product();
        let mut order: Vec<u32> = (0..cells as u32).collect();
        stream.shuffle(&mut order);
        let held = 1 + stream.below(cells as u64) as usize;
        let place = |cell: u32| -> Vec<u16> {
            let mut rest = cell as usize;
            let mut place: Vec<u16> = shape
                .iter()
                .rev()
                .map(|&intervals| {
                    let at = rest % intervals;
                    rest /= intervals;
                    at as u16
                })
                .collect();
            place.reverse();
            place
        };
        let mut one = |&cell: &u32| GridCell {
            intervals: place(cell),
            class: [0, 2, 3][stream.below(3) as usize],
            weight: 1.0 + stream.below(3) as f64,
        };
        let occupied: Vec<GridCell> = order[..held].iter().map(&mut one).collect();
        let apart = |a: &GridCell, b: &GridCell| -> u16 {
            a.intervals.iter().zip(&b.intervals).map(|(a, b)| a.abs_diff(*b)).sum()
        };
        let filled = empty_cells::fill(&shape, &occupied, EmptyCellRule::Nearest, 0);
        for (number, cell) in (0..).zip(&filled) {
            assert_eq!(cell.intervals, place(number), "cells are in ascending order");
            let key =
                |one: &&GridCell| (apart(cell, one), -(one.weight as i64), one.intervals.clone());
            assert_eq!(
                Some(cell.class),
                occupied.iter().min_by_key(key).map(|one| one.class),
                "round {round} cell {number}"
            );
        }
        let random = |seed| empty_cells::fill(&shape, &occupied, EmptyCellRule::Random, seed);
        assert_eq!(random(round), random(round));
        let seen = |cell: &GridCell| occupied.iter().any(|one| one.class == cell.class);
        assert!(random(round).iter().all(seen));
        assert!(occupied.iter().all(|one| random(round).contains(one)));
    }
    let occupied = [0, 1].map(|at| GridCell { intervals: vec![at], class: at, weight: 1.0 });
    let drawn = |seed| empty_cells::fill(&[64], &occupied, EmptyCellRule::Random, seed);
    assert_ne!(drawn(0), drawn(1));
}

/// Any thresholds that leave no two classes in one cell, by trying all subsets of them.
#[test]
fn redundant_thresholds_are_dropped_and_no_others() {
    for round in 0..60 {
        let mut stream = Stream::new(round, 4, 0);
        let shape = [1 + stream.below(6) as u16, 1 + stream.below(3) as u16];
        let mut cells = Vec::new();
        for (a, b) in (0..shape[0]).flat_map(|a| (0..shape[1]).map(move |b| (a, b))) {
            if stream.below(3) > 0 {
                let class = stream.below(2) as u16;
                cells.push(GridCell { intervals: vec![a, b], class, weight: 1.0 });
            }
        }
        let counts = shape.map(|intervals| usize::from(intervals) - 1);
        let (merged, kept) = redundant::drop_redundant(cells.clone(), &counts);
        let place = |kept: &[Vec<bool>], intervals: &[u16]| -> Vec<usize> {
            let below = |(kept, &at): (&Vec<bool>, &u16)| {
                kept[..usize::from(at)].iter().filter(|kept| **kept).count()
            };
            kept.iter().zip(intervals).map(below).collect()
        };
        let is_pure = |kept: &[Vec<bool>]| {
            cells.iter().all(|a| {
                cells.iter().all(|b| {
                    place(kept, &a.intervals) != place(kept, &b.intervals) || a.class == b.class
                })
            })
        };
        assert!(is_pure(&kept), "round {round}");
        assert_eq!(
            merged.iter().map(|cell| cell.weight).sum::<f64>(),
            cells.len() as f64,
            "no row is lost"
        );
        // On the first axis no smaller set would do while the second has all its thresholds.
        let whole = vec![true; counts[1]];
        let fewest = (0..1_u32 << counts[0])
            .map(|set| (0..counts[0]).map(|at| set >> at & 1 == 1).collect::<Vec<bool>>())
            .filter(|set| is_pure(&[set.clone(), whole.clone()]))
            .map(|set| set.iter().filter(|kept| **kept).count())
            .min();
        assert_eq!(Some(kept[0].iter().filter(|kept| **kept).count()), fewest, "round {round}");
    }
}

/// A grid with more cells than 64 bits can number, and its tree.
#[test]
fn only_cells_with_rows_cost_memory() {
    let mut stream = Stream::new(5, 6, 0);
    let columns: Vec<Vec<f64>> =
        (0..30).map(|_| (0..200).map(|_| stream.below(50) as f64).collect()).collect();
    let target: Vec<f64> = (0..200).map(|_| stream.below(3) as f64).collect();
    let table = numbers_table(columns.clone(), target.clone(), 3);
    let axis = |feature: u32| GridAxis {
        feature,
        thresholds: 5,
        range: [0.0, 49.0],
        missing_right: false,
    };
    let axes: Vec<GridAxis> = (0..30).map(axis).collect();
    let thresholds: Vec<f64> = (0..150).map(|_| 50.0 * stream.unit()).collect();
    let class_fitness = ClassFitness::new(&table, FitnessMeasure::Accuracy).unwrap();
    let cells = GridCells::new(&table, &class_fitness, &axes);
    let cuts = cells.cuts(&thresholds);
    // Six intervals on each of 30 axes are 2^77 cells.
    let occupied = cells.occupied(&cuts);
    let mut places: Vec<Vec<u16>> = occupied.iter().map(|cell| cell.intervals.clone()).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!((places.len(), occupied.len()), (200, 200));
    assert_eq!(cells.fitness(&cuts), 1.0);

    let grid = CellGrid::simplified((axes, cuts), occupied, EmptyCellRule::Nearest, 0);
    let tree = grid.to_tree(&table);
    for (row, &class) in target.iter().enumerate() {
        let code = |feature: u32| table.columns()[feature as usize].codes()[row];
        assert_eq!(f64::from(walk(&tree, code)), class, "{row}");
    }
    assert!(grid.size.cells > 1e20 && grid.cuts.iter().map(Vec::len).sum::<usize>() < 150);
}

/// Cells found by hashes and by renumbering are those found by comparing rows.
#[test]
fn cells_are_counted_right_in_grids_of_any_size() {
    for round in 0..30 {
        let mut stream = Stream::new(round, 7, 0);
        let columns: Vec<Vec<f64>> =
            (0..25).map(|_| (0..60).map(|_| stream.below(9) as f64).collect()).collect();
        let target = (0..60).map(|_| stream.below(2) as f64).collect();
        let table = numbers_table(columns, target, 2);
        let used = 1 + stream.below(25) as u32;
        let axis = |feature: u32| GridAxis {
            feature: feature % 3,
            thresholds: 7,
            range: [0.0, 8.0],
            missing_right: false,
        };
        // The same three columns again and again: few cells, large numbers.
        let axes: Vec<GridAxis> = (0..used).map(axis).collect();
        let thresholds: Vec<f64> = (0..7 * used).map(|_| 8.0 * stream.unit()).collect();
        let class_fitness = ClassFitness::new(&table, FitnessMeasure::Accuracy).unwrap();
        let cells = GridCells::new(&table, &class_fitness, &axes);
        let cuts = cells.cuts(&thresholds);
        let mut counts: std::collections::BTreeMap<Vec<u16>, f64> = Default::default();
        for row in 0..60 {
            let interval = |(axis, cuts): (&GridAxis, &Vec<u16>)| {
                axis.interval(cuts, table.columns()[axis.feature as usize].codes()[row])
            };
            *counts.entry(axes.iter().zip(&cuts).map(interval).collect()).or_default() += 1.0;
        }
        let found = cells.occupied(&cuts).into_iter().map(|cell| (cell.intervals, cell.weight));
        assert_eq!(found.collect::<std::collections::BTreeMap<_, _>>(), counts, "round {round}");
    }
}

#[test]
fn every_optimiser_improves_the_greedy_thresholds_with_as_many_evaluations() {
    use ThresholdOptimizer::{Aco, Annealing, Apso, CmaEs, De, Ga, Pso, Random};
    let table = noisy(150, 3);
    let limits = TreeLimits { leaves: 0, depth: 3, min_leaf: 1 };
    for optimizer in [Apso, Pso, Ga, De, Annealing, CmaEs, Aco, Random] {
        let small = GridTreeConfig { optimizer, limits, population: 20, ..config() };
        let found = find(&table, &small, 1).unwrap();
        assert!(found.fitness >= found.preliminary_fitness, "{optimizer:?}");
        let [least, most] = if optimizer == Apso { [1200, 1300] } else { [1200, 1200] };
        let evaluations = found.evaluations;
        assert!((least..=most).contains(&evaluations), "{optimizer:?}: {evaluations}");
        assert_eq!(found.iterations, 60, "{optimizer:?}");
        assert_eq!(find(&table, &small, 2), Ok(found), "{optimizer:?}");
    }
}

#[test]
fn an_optimiser_resumes_at_every_iteration() {
    let table = noisy(80, 6);
    for optimizer in [ThresholdOptimizer::Ga, ThresholdOptimizer::CmaEs, ThresholdOptimizer::Pso] {
        let small =
            GridTreeConfig { optimizer, population: 10, iterations: 6, repeats: 2, ..config() };
        let limits = TestContext::new(1);
        let mut states = Vec::new();
        let mut observer = |_: &Event, state: &dyn Fn() -> Datum| states.push(state());
        let mut log = TaskLog::new(None, &mut observer).unwrap();
        let whole = search(&table, &small, limits.context(), &mut log).unwrap();
        assert!(states.len() >= 12, "{optimizer:?}");
        for state in &states {
            let mut observer = |_: &Event, _: &dyn Fn() -> Datum| ();
            let mut log = TaskLog::new(Some(state), &mut observer).unwrap();
            let again = search(&table, &small, limits.context(), &mut log).unwrap();
            assert_eq!(again, whole, "{optimizer:?}");
        }
    }
}

#[test]
fn a_forest_chooses_the_variables_that_matter() {
    // The class follows x0 and x1 of six columns.
    let mut stream = Stream::new(8, 8, 0);
    let columns: Vec<Vec<f64>> =
        (0..6).map(|_| (0..300).map(|_| stream.unit()).collect()).collect();
    let class = |row: usize| f64::from(u8::from(columns[0][row] > 0.6 || columns[1][row] > 0.8));
    let target = (0..300).map(class).collect();
    let table = numbers_table(columns, target, 2);
    let config = GridTreeConfig { variables: GridVariables::Forest, ..config() };
    let found = find(&table, &config, 1).unwrap();
    let features: Vec<u32> = found.grid.axes.iter().map(|axis| axis.feature).collect();
    assert_eq!(features, [0, 1], "{found:?}");
    assert!(found.fitness > 0.97, "{}", found.fitness);
    assert_eq!(found.thresholds, axes::of_tree(&found.preliminary, &table).1.len());
    assert_eq!(find(&table, &config, 4), Ok(found));
}

#[test]
fn grids_are_compared_on_rows_they_were_not_fitted_to() {
    let table = noisy(120, 12);
    let small = GridTreeConfig {
        selection: GridSelection::CrossValidation,
        population: 10,
        iterations: 5,
        repeats: 3,
        prune: None,
        max_thresholds: 4,
        ..config()
    };
    let found = find(&table, &small, 1).unwrap();
    // The grid itself and five folds of each repetition.
    assert_eq!((found.repeats, found.iterations), (3, 3 * 6 * 5));
    assert_eq!(find(&table, &small, 2), Ok(found.clone()));
    let by_training = GridTreeConfig { selection: GridSelection::Training, ..small.clone() };
    let best = find(&table, &by_training, 1).unwrap();
    assert!(best.fitness >= found.fitness && best.iterations == 15);
}

/// Rows of three numbers whose class follows two of them, with noise.
fn noisy(rows: usize, seed: u64) -> RankTable {
    let mut stream = Stream::new(seed, 3, 0);
    let columns: Vec<Vec<f64>> =
        (0..3).map(|_| (0..rows).map(|_| stream.below(12) as f64).collect()).collect();
    let mut class = |row: usize| {
        let clear = u8::from(columns[0][row] > 4.0) + u8::from(columns[1][row] > 7.0);
        f64::from(if stream.below(8) == 0 { stream.below(3) as u8 } else { clear })
    };
    let target = (0..rows).map(&mut class).collect();
    numbers_table(columns, target, 3)
}

#[test]
fn no_swarm_beats_the_best_of_all_placements_and_a_patient_one_finds_it() {
    for seed in 0..6 {
        let table = noisy(30, seed);
        let limits = TreeLimits { leaves: 4, depth: 0, min_leaf: 1 };
        let base = GridTreeConfig { limits, prune: None, seed, ..config() };
        let found = find(&table, &base, 1).unwrap();
        let (axes, start) = axes::of_tree(&found.preliminary, &table);
        let class_fitness = ClassFitness::new(&table, FitnessMeasure::Accuracy).unwrap();
        let cells = GridCells::new(&table, &class_fitness, &axes);
        // Every placement of so many thresholds among the codes of each axis.
        let columns: Vec<u16> = axes
            .iter()
            .flat_map(|axis| {
                vec![table.columns()[axis.feature as usize].max_code(); axis.thresholds]
            })
            .collect();
        let all: usize = columns.iter().map(|&top| usize::from(top)).product();
        let mut best = 0.0_f64;
        for number in 0..all {
            let mut rest = number;
            let codes: Vec<u16> = columns
                .iter()
                .map(|&top| {
                    let code = rest % usize::from(top);
                    rest /= usize::from(top);
                    code as u16 + 1
                })
                .collect();
            let mut codes = codes.as_slice();
            let cuts: Vec<Vec<u16>> = axes
                .iter()
                .map(|axis| {
                    let (own, others) = codes.split_at(axis.thresholds);
                    codes = others;
                    let mut own = own.to_vec();
                    own.sort_unstable();
                    own
                })
                .collect();
            best = best.max(cells.fitness(&cuts));
        }
        assert!((found.fitness - best).abs() < 1e-12, "seed {seed}: {} of {best}", found.fitness);
        let hasty =
            find(&table, &GridTreeConfig { population: 2, iterations: 1, ..base.clone() }, 1)
                .unwrap();
        let greedy = cells.fitness(&cells.cuts(&start));
        assert!(
            greedy <= hasty.fitness && hasty.fitness <= best,
            "the greedy thresholds are where it starts"
        );
        // Cells separate rows at least as finely as the leaves of the tree do.
        assert!(
            found.preliminary_fitness <= greedy + 1e-12,
            "{} {greedy}",
            found.preliminary_fitness
        );
    }
}

#[test]
fn threads_change_nothing_and_repeats_never_worsen_the_fit() {
    let table = noisy(150, 9);
    let small = GridTreeConfig { population: 12, iterations: 10, ..config() };
    let one = find(&table, &small, 1).unwrap();
    assert_eq!(find(&table, &small, 2), Ok(one.clone()));
    assert_eq!(find(&table, &small, 8), Ok(one.clone()));
    let again = find(&table, &GridTreeConfig { repeats: 4, ..small.clone() }, 2).unwrap();
    assert!(again.fitness >= one.fitness && again.repeats == 4, "{again:?}");
    assert_eq!(again.iterations, 10 * again.repeats);
    let mut heard = Vec::new();
    let limits = TestContext::new(1);
    let mut observer = |event: &Event, _: &dyn Fn() -> Datum| {
        heard.push((event.step, event.steps));
        if event.step == 13 {
            limits.budget.cancel();
        }
    };
    let repeated = GridTreeConfig { repeats: 4, ..small };
    let mut log = TaskLog::new(None, &mut observer).unwrap();
    let cancelled = search(&table, &repeated, limits.context(), &mut log);
    assert!(cancelled.is_ok_and(|cancelled| cancelled.iterations <= 13));
    assert_eq!(heard, (1..=heard.len()).map(|step| (step, 40)).collect::<Vec<_>>());
}

#[test]
fn what_no_grid_can_be_made_of_is_rejected() {
    let chunk = Chunk {
        columns: vec![Column::Category(vec![0, 1])],
        target: vec![0.0, 1.0],
        rows: 2,
        ..Chunk::default()
    };
    let levels = Kind::Category { levels: vec!["a".into(), "b".into()] };
    let categories =
        RankTable::new(&chunk, &[Feature { name: "c".into(), kind: levels }], Some(2), 10);
    assert_eq!(find(&categories, &config(), 1).unwrap_err(), GridError::Category { feature: 0 });
    let chunk = Chunk {
        columns: vec![Column::Number(vec![0.0, 1.0])],
        target: vec![0.0, 1.0],
        rows: 2,
        ..Chunk::default()
    };
    let numbers =
        RankTable::new(&chunk, &[Feature { name: "c".into(), kind: Kind::Number }], None, 10);
    assert_eq!(find(&numbers, &config(), 1).unwrap_err(), GridError::NoClasses);
}

#[test]
fn a_fully_grown_tree_is_searched_and_can_be_limited() {
    let table = noisy(300, 4);
    let full = GridTreeConfig { prune: None, population: 10, iterations: 5, ..config() };
    let found = find(&table, &full, 1).unwrap();
    assert!(found.thresholds > 15, "{}", found.thresholds);
    let tree = found.grid.to_tree(&table);
    let RankTarget::Classes { of_row, .. } = table.target() else { unreachable!() };
    let is_right = |&row: &usize| {
        walk(&tree, |feature| table.columns()[feature as usize].codes()[row]) == of_row[row]
    };
    let right = (0..300).filter(is_right).count() as f64 / 300.0;
    assert!((right - found.fitness).abs() < 1e-12, "{right} {}", found.fitness);

    for limit in [3, 4, 9] {
        let limited = find(&table, &GridTreeConfig { max_thresholds: limit, ..full.clone() }, 1);
        let thresholds = limited.unwrap().thresholds;
        assert!((1..=limit).contains(&thresholds), "{thresholds} of {limit}");
    }
}

#[test]
fn a_tree_without_rules_is_a_grid_of_one_cell() {
    let table = numbers_table(vec![vec![1.0, 2.0, 3.0, 4.0]], vec![1.0; 4], 2);
    let found = find(&table, &config(), 1).unwrap();
    assert_eq!(
        (found.grid.boxes.as_slice(), found.fitness, found.iterations),
        ([CellBox { ranges: Vec::new(), class: 1 }].as_slice(), 1.0, 0)
    );
    assert_eq!(found.grid.to_tree(&table).classes, [1]);
}

#[test]
fn values_without_end_have_a_place() {
    let mut x: Vec<f64> = vec![f64::NEG_INFINITY, f64::INFINITY, f64::MAX, f64::MIN, f64::NAN];
    x.extend((0..15).map(f64::from));
    let target = x.iter().map(|&x| f64::from(u8::from(x > 7.0 || x.is_nan()))).collect();
    let table = numbers_table(vec![x], target, 2);
    let found = find(&table, &GridTreeConfig { prune: None, ..config() }, 1).unwrap();
    assert!(found.fitness >= 0.9, "{found:?}");
    found.grid.to_tree(&table);
}

#[test]
fn an_interruption_ends_it_with_a_grid() {
    let mut stream = Stream::new(2, 0, 0);
    let columns: Vec<Vec<f64>> =
        (0..3).map(|_| (0..400).map(|_| (50.0 * stream.unit()).floor()).collect()).collect();
    let target =
        (0..400).map(|row| f64::from(u8::from(columns[0][row] + columns[1][row] > 50.0))).collect();
    let table = numbers_table(columns, target, 2);
    let config = GridTreeConfig { repeats: 3, ..config() };
    for questions in [0, 2, 8, 40, 200, 1000] {
        let limits = TestContext::interrupted_after(2, questions);
        let found = with_log(|log| search(&table, &config, limits.context(), log)).unwrap();
        assert!(found.fitness >= 0.5 && found.repeats >= 1, "{questions}: {}", found.fitness);
        assert!(!found.grid.boxes.is_empty());
    }
}

#[test]
fn an_interruption_with_many_classes_ends_with_a_small_grid() {
    let mut stream = Stream::new(3, 0, 0);
    let columns: Vec<Vec<f64>> =
        (0..2).map(|_| (0..2000).map(|_| stream.unit()).collect()).collect();
    let target = (0..2000).map(|row| f64::from(row % 200)).collect();
    let table = numbers_table(columns, target, 200);
    let config = GridTreeConfig { prune: None, ..config() };
    // The budget is asked once for every split of the preliminary tree and later by the swarm.
    let limits = TestContext::interrupted_after(1, 2_100);
    let found = with_log(|log| search(&table, &config, limits.context(), log)).unwrap();
    assert!(found.preliminary.leaves() > 500, "{}", found.preliminary.leaves());
    assert!(found.thresholds < 16, "{}", found.thresholds);
}
