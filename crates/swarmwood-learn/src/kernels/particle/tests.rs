//! Every loop against the plain way to say it, for lengths that leave ragged ends, and all compiled
//! versions alike, with codes of every width.

use super::*;
use crate::bins::CODES;
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

    fn codes<C: Code>(&mut self, n: usize, below: usize) -> Vec<C> {
        (0..n).map(|_| C::from_index(self.next() as usize % below)).collect()
    }

    fn floats(&mut self, n: usize, size: f32) -> Vec<f32> {
        (0..n).map(|_| (self.next() as f32 / (1u32 << 31) as f32 - 0.5) * 2.0 * size).collect()
    }
}

/// The side of the codes below a number.
fn sides(codes: usize, right: impl Fn(usize) -> bool) -> Vec<u8> {
    (0..codes).map(|code| u8::from(right(code))).collect()
}

/// Every code of a column is sent where the sides say; how many of the questions are tables.
fn check_questions<C: Code>(codes: usize, step: usize) -> usize {
    let all: Vec<C> = (0..codes).map(C::from_index).collect();
    let mut routes: Vec<Vec<u8>> =
        vec![sides(codes, |_| false), sides(codes, |_| true), sides(codes, |code| code % 3 == 0)];
    for at in (0..codes).step_by(step).chain([codes - 1]) {
        routes.push(sides(codes, |code| code > at));
        routes.push(sides(codes, |code| code == 0 || code > at));
        routes.push(sides(codes, |code| code == at));
        routes.push(sides(codes, |code| code != at));
        routes.push(sides(codes, |code| code >= at / 2 && code <= at));
        routes.push(sides(codes, |code| code < at / 2 || code > at));
        for missing_right in [false, true] {
            let above = RuleTest::above(0, C::from_index(at), missing_right);
            let right = sides(codes, |code| if code == 0 { missing_right } else { code > at });
            assert!(
                all.iter().zip(right).all(|(&code, side)| above.goes_right(code) as u8 == side)
            );
        }
    }
    let mut tables = 0;
    for right in routes {
        let question = RuleTest::of_sides(0, &right);
        tables += usize::from(matches!(question.side, Side::Table(_)));
        let mut leaf = vec![0; codes];
        leaves(&[&question], |_| &all, &mut leaf);
        assert_eq!(leaf, right);
    }
    tables
}

#[test]
fn a_question_sends_every_code_where_its_sides_say() {
    // Of all these only "every third" and those that send every code right are no runs.
    let tables = [
        check_questions::<u8>(CODES, 1),
        check_questions::<u8>(17, 1),
        check_questions::<u16>(1000, 37),
        check_questions::<u16>(65_536, 9999),
        check_questions::<u32>(70_000, 9999),
    ];
    assert!(tables.iter().all(|&tables| tables < 12), "{tables:?}");
}

fn check_bits<C: Code>(codes: usize) {
    let mut draws = Draws(1);
    let sides = [
        sides(codes, |code| code > 2 * codes / 5),
        sides(codes, |code| code == 0 || code > 7 * codes / 10),
        sides(codes, |code| code % 5 == 2),
    ];
    for n in LENGTHS {
        let columns: Vec<Vec<C>> = (0..3).map(|_| draws.codes(n, codes)).collect();
        let questions: Vec<RuleTest<C>> = sides
            .iter()
            .enumerate()
            .map(|(column, right)| RuleTest::of_sides(column, right))
            .collect();
        let asked: Vec<&RuleTest<C>> = questions.iter().collect();
        let mut leaf = vec![255; n];
        leaves(&asked, |column| &columns[column], &mut leaf);
        for row in 0..n {
            let bit = |level: usize| sides[level][columns[level][row].index()] << level;
            assert_eq!(leaf[row], bit(0) | bit(1) | bit(2));
        }
    }
}

#[test]
fn leaves_are_the_bits_of_the_answers() {
    check_bits::<u8>(100);
    check_bits::<u16>(5000);
    check_bits::<u32>(80_000);
}

/// The leaf numbers of all versions that this machine runs.
#[allow(unsafe_code)]
fn versions_of_run_leaves<C: Code>(runs: &[Run<'_, C>], n: usize) -> Vec<Vec<u8>> {
    let mut all = vec![vec![9; n], vec![7; n]];
    run_leaves(runs, &mut all[0]);
    run_leaves::portable(runs, &mut all[1]);
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx2") {
            let mut leaf = vec![5; n];
            // SAFETY: the machine runs AVX2 instructions, as was just found.
            unsafe { run_leaves::avx2(runs, &mut leaf) };
            all.push(leaf);
        }
        if crate::kernels::dispatch::has_avx512() {
            let mut leaf = vec![3; n];
            // SAFETY: the machine runs AVX-512 instructions, as was just found.
            unsafe { run_leaves::avx512(runs, &mut leaf) };
            all.push(leaf);
        }
    }
    all
}

fn check_versions<C: Code>() {
    let mut draws = Draws(7);
    let codes = C::GREATEST.index().min(1 << 30) + 1;
    for levels in 0..=LEVELS {
        for n in LENGTHS {
            let columns: Vec<Vec<C>> = (0..levels).map(|_| draws.codes(n, codes)).collect();
            let ends: Vec<Vec<C>> = (0..levels).map(|_| draws.codes(2, codes)).collect();
            let runs: Vec<Run<'_, C>> = columns
                .iter()
                .zip(&ends)
                .map(|(codes, ends)| Run { codes, first: ends[0], beyond: ends[1] })
                .collect();
            let right = |run: &Run<'_, C>, row: usize| run.codes[row].minus(run.first) > run.beyond;
            let walk = |row: usize| -> u8 {
                let bits = runs.iter().enumerate();
                bits.map(|(level, run)| u8::from(right(run, row)) << level).sum()
            };
            let walked: Vec<u8> = (0..n).map(walk).collect();
            for leaf in versions_of_run_leaves(&runs, n) {
                assert_eq!(leaf, walked);
            }
        }
    }
}

#[test]
fn leaves_of_any_number_of_levels_are_the_same_in_all_versions() {
    check_versions::<u8>();
    check_versions::<u16>();
    check_versions::<u32>();
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

fn check_free_trees<C: Code>(codes: usize) {
    let mut draws = Draws(9);
    for depth in 1..=LEVELS {
        let nodes = (1 << depth) - 1;
        let columns: Vec<Vec<C>> = (0..5).map(|_| draws.codes(BLOCK, codes)).collect();
        let questions: Vec<RuleTest<C>> = (0..nodes)
            .map(|_| {
                let (cut, column, odd) = (
                    draws.next() as usize % codes,
                    draws.next() as usize % 5,
                    draws.next().is_multiple_of(4),
                );
                let right = |code: usize| if odd { code % 3 == cut % 3 } else { code > cut };
                RuleTest::of_sides(column, &sides(codes, right))
            })
            .collect();
        let all: Vec<&RuleTest<C>> = questions.iter().collect();
        for n in LENGTHS {
            let mut leaf = vec![7; n];
            free_leaves(&all, |column| &columns[column][..n], &mut leaf);
            for (row, &leaf) in leaf.iter().enumerate() {
                let (mut node, mut walked) = (0, 0);
                for level in 0..depth {
                    let question = &questions[node];
                    let right = question.goes_right(columns[question.column][row]);
                    assert_eq!(usize::from(path_to(node)), walked);
                    walked |= usize::from(right) << level;
                    node = 2 * node + 1 + usize::from(right);
                }
                assert_eq!(usize::from(leaf), walked, "depth {depth}, row {row}");
            }
        }
    }
}

#[test]
fn leaves_of_free_trees_are_the_ends_of_walks() {
    check_free_trees::<u8>(200);
    check_free_trees::<u16>(3000);
    check_free_trees::<u32>(3000);
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn check_node_pass<C: Code>(first: usize, beyond: usize) {
    let mut draws = Draws(10);
    let run = (C::from_index(first), C::from_index(beyond));
    for n in LENGTHS {
        let codes: Vec<C> = draws.codes(n, C::GREATEST.index().min(1 << 30) + 1);
        let leaf = draws.bytes(n, 8);
        let (mut portable, mut wide) = (leaf.clone(), leaf);
        add_run_at::portable(&codes, run, 5, 8, &mut portable);
        // SAFETY: the caller found that the machine runs AVX2 instructions.
        unsafe { add_run_at::avx2(&codes, run, 5, 8, &mut wide) };
        assert_eq!(portable, wide);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn both_versions_of_the_node_pass_agree() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return;
    }
    check_node_pass::<u8>(30, 90);
    check_node_pass::<u16>(9000, 30_000);
    check_node_pass::<u32>(1 << 20, 1 << 29);
}
