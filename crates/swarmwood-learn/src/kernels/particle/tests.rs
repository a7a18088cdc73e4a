//! Every loop against the plain way to say it, for lengths that leave ragged ends, and both
//! compiled versions alike.

use super::*;
use crate::kernels::derivatives;

const LENGTHS: [usize; 9] = [0, 1, 7, 8, 9, 255, 257, 1000, BLOCK];

/// Numbers that look random.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn bytes(&mut self, n: usize, below: u64) -> Vec<u8> {
        (0..n).map(|_| (self.next() % below) as u8).collect()
    }

    fn floats(&mut self, n: usize, size: f32) -> Vec<f32> {
        (0..n).map(|_| (self.next() as f32 / (1u32 << 31) as f32 - 0.5) * 2.0 * size).collect()
    }
}

fn route(right: impl Fn(u8) -> bool) -> Route {
    let mut table = [0; CODES];
    (0..=255u8).for_each(|code| table[usize::from(code)] = u8::from(right(code)));
    Route { column: 0, right: table }
}

#[test]
fn a_question_sends_every_code_where_the_route_does() {
    let all: Vec<u8> = (0..=255).collect();
    let mut routes = vec![route(|_| false), route(|_| true), route(|code| code % 3 == 0)];
    for at in 0..=255u8 {
        routes.push(route(move |code| code > at));
        routes.push(route(move |code| code == 0 || code > at));
        routes.push(route(move |code| code == at));
        routes.push(route(move |code| code != at));
        routes.push(route(move |code| code >= at / 2 && code <= at));
        routes.push(route(move |code| code < at / 2 || code > at));
    }
    let mut tables = 0;
    for route in routes {
        let question = RuleTest::new(&route);
        tables += usize::from(matches!(question.side, Side::Table(_)));
        let mut leaf = vec![0; CODES];
        leaves(&[&question], |_| &all, &mut leaf);
        assert_eq!(leaf, route.right);
    }
    // Of all these only "every third" and those that send every code right are no runs.
    assert!(tables < 12, "{tables}");
}

#[test]
fn leaves_are_the_bits_of_the_answers() {
    let mut draws = Draws(1);
    let sides = [
        route(|code| code > 40),
        route(|code| code == 0 || code > 70),
        route(|code| code % 5 == 2),
    ];
    for n in LENGTHS {
        let columns: Vec<Vec<u8>> = (0..3).map(|_| draws.bytes(n, 100)).collect();
        let questions: Vec<RuleTest> = sides
            .iter()
            .enumerate()
            .map(|(column, side)| RuleTest::new(&Route { column, ..side.clone() }))
            .collect();
        let asked: Vec<&RuleTest> = questions.iter().collect();
        let mut leaf = vec![255; n];
        leaves(&asked, |column| &columns[column], &mut leaf);
        for row in 0..n {
            let bit = |level: usize| sides[level].right[usize::from(columns[level][row])] << level;
            assert_eq!(leaf[row], bit(0) | bit(1) | bit(2));
        }
    }
}

#[test]
fn leaves_of_any_number_of_levels_are_the_same_in_all_versions() {
    let mut draws = Draws(7);
    for levels in 0..=LEVELS {
        for n in LENGTHS {
            let columns: Vec<Vec<u8>> = (0..levels).map(|_| draws.bytes(n, 256)).collect();
            let side = |codes| (codes, draws.next() as u8, draws.next() as u8);
            let sides: Vec<(&Vec<u8>, u8, u8)> = columns.iter().map(side).collect();
            let runs: Vec<Run<'_>> =
                sides.iter().map(|&(codes, first, beyond)| Run { codes, first, beyond }).collect();
            let (mut leaf, mut plain) = (vec![9; n], vec![7; n]);
            run_leaves(&runs, &mut leaf);
            run_leaves::portable(&runs, &mut plain);
            assert_eq!(leaf, plain);
            for (row, &leaf) in leaf.iter().enumerate() {
                let right = |run: &Run<'_>| run.codes[row].wrapping_sub(run.first) > run.beyond;
                let walked = runs
                    .iter()
                    .enumerate()
                    .map(|(level, run)| u8::from(right(run)) << level)
                    .sum::<u8>();
                assert_eq!(leaf, walked);
            }
        }
    }
}

#[test]
fn pairs_hold_the_derivatives_to_the_bit() {
    let mut draws = Draws(3);
    for n in LENGTHS {
        let score = draws.floats(n, 30.0);
        let target: Vec<f32> = draws.bytes(n, 2).into_iter().map(f32::from).collect();
        let weight = draws.floats(n, 2.0);
        for weight in [&[][..], &weight] {
            let (mut g, mut h, mut expected) = (vec![0.0; n], vec![0.0; n], vec![[0.0; 2]; n]);
            let mut pairs = expected.clone();
            derivatives::logistic(&score, &target, weight, &mut g, &mut h);
            pair_up(&g, &h, &mut expected);
            assert!((0..n).all(|row| expected[row] == [g[row], h[row]]));
            logistic_pairs(&score, &target, &mut pairs);
            weigh_pairs(weight, &mut pairs);
            assert_eq!(pairs, expected);
            derivatives::squared(&score, &target, weight, &mut g, &mut h);
            pair_up(&g, &h, &mut expected);
            squared_pairs(&score, &target, &mut pairs);
            weigh_pairs(weight, &mut pairs);
            assert_eq!(pairs, expected);
        }
        let (mut a, mut b) = (vec![[0.0; 2]; n], vec![[0.0; 2]; n]);
        logistic_pairs(&score, &target, &mut a);
        logistic_pairs::portable(&score, &target, &mut b);
        assert_eq!(a, b);
        squared_pairs(&score, &target, &mut a);
        squared_pairs::portable(&score, &target, &mut b);
        assert_eq!(a, b);
    }
}

#[test]
fn sums_by_leaf_are_those_of_a_plain_loop() {
    let mut draws = Draws(4);
    for width in [1, 2, 32, 256] {
        for n in LENGTHS {
            let leaf = draws.bytes(n, width as u64);
            let pairs: Vec<DerivativePair> =
                draws.floats(2 * n, 1.0).chunks(2).map(|pair| [pair[0], pair[1]]).collect();
            // The plain loop: the same copies and the same order of additions, said row by row.
            let mut copies = vec![[[0.0f32; 2]; LEAVES]; COPIES];
            for row in 0..n {
                for part in 0..2 {
                    copies[row % COPIES][usize::from(leaf[row])][part] += pairs[row][part];
                }
            }
            let (mut expected, mut exact) = (vec![[0.5f64; 2]; width], vec![[0.5f64; 2]; width]);
            for leaf in 0..width {
                for part in 0..2 {
                    let copy = |at: usize| copies[at][leaf][part];
                    let halves =
                        [0, 4].map(|at| (copy(at) + copy(at + 1)) + (copy(at + 2) + copy(at + 3)));
                    expected[leaf][part] += f64::from(halves[0] + halves[1]);
                }
            }
            for row in 0..n {
                (0..2).for_each(|part| {
                    exact[usize::from(leaf[row])][part] += f64::from(pairs[row][part])
                });
            }
            let mut block = BlockSums::default();
            let mut sums = vec![[0.5; 2]; width];
            block.add(&leaf, &pairs, &mut sums);
            assert_eq!(sums, expected);
            for (sum, exact) in sums.iter().zip(&exact) {
                assert!((0..2).all(|part| (sum[part] - exact[part]).abs() < 1e-4));
            }
            assert!(
                block.copies.iter().flatten().all(|&pair| pair == [0.0; 2]),
                "cleared for the next block"
            );
        }
    }
}

#[test]
fn pairs_add_up_number_by_number() {
    let mut draws = Draws(6);
    let odd = [0.0, -0.0, f32::INFINITY, f32::MIN_POSITIVE, 1e-42, f32::MAX];
    let values: Vec<f32> = odd.into_iter().chain(draws.floats(60, 1e3)).collect();
    let pairs: Vec<DerivativePair> =
        values.iter().zip(values.iter().rev()).map(|(&a, &b)| [a, b]).collect();
    for &a in &pairs {
        for &b in &pairs {
            assert_eq!(
                add_pairs(a, b).map(f32::to_bits),
                [a[0] + b[0], a[1] + b[1]].map(f32::to_bits)
            );
        }
    }
}

#[test]
fn hits_are_rows_on_their_side() {
    let mut draws = Draws(5);
    for n in LENGTHS {
        let mut score = draws.floats(n, 1.0);
        score.iter_mut().step_by(3).for_each(|score| *score = 0.0);
        let target: Vec<f32> = draws.bytes(n, 2).into_iter().map(f32::from).collect();
        let weight: Vec<f32> = draws.bytes(n, 5).into_iter().map(f32::from).collect();
        let hit = |row: usize| u8::from(score[row] > 0.0) == target[row] as u8;
        let plain = (0..n).filter(|&row| hit(row)).count() as f64;
        assert_eq!(hits(&score, &target, &[]), plain);
        let weighted: f64 = (0..n).filter(|&row| hit(row)).map(|row| f64::from(weight[row])).sum();
        assert_eq!(hits(&score, &target, &weight), weighted);
    }
}

#[test]
fn leaves_of_free_trees_are_the_ends_of_walks() {
    let mut draws = Draws(9);
    for depth in 1..=LEVELS {
        let nodes = (1 << depth) - 1;
        let columns: Vec<Vec<u8>> = (0..5).map(|_| draws.bytes(BLOCK, 200)).collect();
        let questions: Vec<RuleTest> = (0..nodes)
            .map(|_| {
                let (cut, column, odd) = (
                    draws.next() as u8 % 200,
                    draws.next() as usize % 5,
                    draws.next().is_multiple_of(4),
                );
                let side = route(|code| if odd { code % 3 == cut % 3 } else { code > cut });
                RuleTest { column, ..RuleTest::new(&side) }
            })
            .collect();
        let all: Vec<&RuleTest> = questions.iter().collect();
        for n in LENGTHS {
            let mut leaf = vec![7; n];
            free_leaves(&all, |column| &columns[column][..n], &mut leaf);
            for (row, &leaf) in leaf.iter().enumerate() {
                let (mut node, mut walked) = (0, 0);
                for level in 0..depth {
                    let question = &questions[node];
                    let code = columns[question.column][row];
                    let right = match &question.side {
                        Side::Run { first, beyond } => code.wrapping_sub(*first) > *beyond,
                        Side::Table(right) => right[usize::from(code)] == 1,
                    };
                    assert_eq!(usize::from(path_to(node)), walked);
                    walked |= usize::from(right) << level;
                    node = 2 * node + 1 + usize::from(right);
                }
                assert_eq!(usize::from(leaf), walked, "depth {depth}, row {row}");
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
#[allow(unsafe_code)]
fn both_versions_of_the_node_pass_agree() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return;
    }
    let mut draws = Draws(10);
    for n in LENGTHS {
        let (codes, leaf) = (draws.bytes(n, 256), draws.bytes(n, 8));
        let (mut portable, mut wide) = (leaf.clone(), leaf);
        add_run_at::portable(&codes, 30, 90, 5, 8, &mut portable);
        // SAFETY: the machine runs AVX2 instructions, as was just found.
        unsafe { add_run_at::avx2(&codes, 30, 90, 5, 8, &mut wide) };
        assert_eq!(portable, wide);
    }
}
