//! The search against brute force over every cut, side and grouping of small tables.

use proptest::prelude::*;
use swarmwood_model::{Feature, Kind};

use super::*;
use crate::data::{Chunk, Column, MISSING};
use crate::kernels::quantise::{join, pack};
use crate::pool::Pool;

struct Small {
    chunk: Chunk,
    layout: Layout,
    g: Vec<f32>,
    h: Vec<f32>,
}

/// Two numbers with missing values, two exclusive flags, one category of four levels.
fn small(rows: &[(i8, i8, u8, u8, i8, u8)]) -> Small {
    let value = |v: i8| if v < -8 { f64::NAN } else { f64::from(v) };
    let columns = vec![
        Column::Number(rows.iter().map(|r| value(r.0)).collect()),
        Column::Number(rows.iter().map(|r| f64::from(r.1 / 4)).collect()),
        Column::Number(rows.iter().map(|r| f64::from(u8::from(r.2 == 0))).collect()),
        Column::Number(rows.iter().map(|r| f64::from(u8::from(r.2 == 1))).collect()),
        Column::Category(
            rows.iter().map(|r| if r.3 == 4 { MISSING } else { u32::from(r.3) }).collect(),
        ),
    ];
    let number = |name: &str| Feature { name: name.into(), kind: Kind::Number };
    let mut features: Vec<Feature> = ["a", "b", "c", "d"].into_iter().map(number).collect();
    let levels = ["p", "q", "r", "s"].map(String::from).to_vec();
    features.push(Feature { name: "e".into(), kind: Kind::Category { levels } });
    let chunk = Chunk { columns, rows: rows.len(), ..Chunk::default() };
    let layout =
        Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &Pool::new(1).unwrap());
    let g = rows.iter().map(|r| f32::from(r.4)).collect();
    let h = rows.iter().map(|r| f32::from(r.5)).collect();
    Small { chunk, layout, g, h }
}

/// Every rule there is: cuts with both missing sides, and every subset of levels.
fn all_rules(layout: &Layout) -> Vec<BinRule> {
    let mut rules = Vec::new();
    for (feature, bins) in layout.features().iter().enumerate() {
        if layout.places()[feature] == FeaturePlace::Dropped {
            continue;
        }
        let cuts: Vec<Cut<u8>> = match bins {
            FeatureBins::Number(edges) => (1..=edges.bins() as u8).map(Cut::Above).collect(),
            FeatureBins::Category(_) => (0..16u8)
                .map(|subset| {
                    let bits = (0..4).filter(|bit| subset >> bit & 1 == 1);
                    Cut::In(bits.map(|bit| bit + 1).collect())
                })
                .collect(),
        };
        for cut in cuts {
            rules.extend([false, true].map(|missing_right| BinRule {
                feature: feature as u32,
                cut,
                missing_right,
            }));
        }
    }
    rules
}

/// The real gain of a rule, straight from the rows that `keep` lets through.
fn real_gain(
    data: &Small,
    rule: &BinRule,
    penalties: Penalties,
    keep: &dyn Fn(usize) -> bool,
) -> Option<f64> {
    let route = data.layout.route(rule);
    let mut codes = vec![0u8; data.chunk.rows];
    data.layout.encode(route.column, &data.chunk, &mut codes).unwrap();
    let mut sums = [(0.0, 0.0); 2];
    for row in (0..data.chunk.rows).filter(|&row| keep(row)) {
        let side = &mut sums[usize::from(route.right[usize::from(codes[row])])];
        side.0 += f64::from(data.g[row]);
        side.1 += f64::from(data.h[row]);
    }
    if sums.iter().any(|s| s.1 < penalties.min_child_weight.max(1e-9)) {
        return None;
    }
    let parent = (sums[0].0 + sums[1].0, sums[0].1 + sums[1].1);
    let value = penalties.node_value(GradientSums { g: parent.0, h: parent.1 }, KIN);
    let score = |(g, h): (f64, f64)| (g + h * value).powi(2) / (h + penalties.lambda);
    if penalties.ridge == Ridge::Hierarchical {
        return Some(0.5 * (score(sums[0]) + score(sums[1])) - penalties.gamma);
    }
    Some(0.5 * (score(sums[0]) + score(sums[1]) - score(parent)) - penalties.gamma)
}

fn tables(data: &Small, packed: &[u64], keep: &dyn Fn(usize) -> bool) -> (Vec<[u64; TABLE]>, u64) {
    let mut tables = vec![[0u64; TABLE]; data.layout.columns().len()];
    for (column, table) in tables.iter_mut().enumerate() {
        let mut codes = vec![0u8; data.chunk.rows];
        data.layout.encode(column, &data.chunk, &mut codes).unwrap();
        for row in (0..data.chunk.rows).filter(|&row| keep(row)) {
            let sum = &mut table[usize::from(codes[row])];
            *sum = sum.wrapping_add(packed[row]);
        }
    }
    let total = (0..data.chunk.rows)
        .filter(|&row| keep(row))
        .fold(0u64, |sum, row| sum.wrapping_add(packed[row]));
    (tables, total)
}

/// Every column's best rule by the rows of a node is the one by its histogram.
fn rows_say_the_same(
    search: &SplitSearch<'_>,
    data: &Small,
    packed: &[u64],
    tables: &[[u64; TABLE]],
    (total, value): (u64, f64),
) -> Result<(), TestCaseError> {
    let columns: Vec<Vec<u8>> = (0..tables.len())
        .map(|column| {
            let mut codes = vec![0u8; data.chunk.rows];
            data.layout.encode(column, &data.chunk, &mut codes).unwrap();
            codes
        })
        .collect();
    let mut few = FewRows::default();
    few.clear(columns.len());
    for (row, &packed) in packed.iter().enumerate() {
        let codes: Vec<u8> = columns.iter().map(|column| column[row]).collect();
        few.push(codes.chunks(2), packed);
    }
    // One scratch for all: what a column leaves behind must not reach the next.
    let mut scratch = SplitScratch::default();
    for (column, table) in tables.iter().enumerate() {
        let node = NodeTable { table, total, value };
        let mut by_table = search.column(column, &[node], &mut scratch);
        if let Some(found) = &mut by_table {
            search.settle_missing(&mut found.rule, &[node]);
        }
        let by_rows = search.column_of_few(column, column, &few, (total, value), &mut scratch);
        prop_assert_eq!(by_rows, by_table);
    }
    Ok(())
}

fn check(
    rows: &[(i8, i8, u8, u8, i8, u8)],
    penalties: Penalties,
    level: bool,
) -> Result<(), TestCaseError> {
    let data = small(rows);
    let abs: f64 = data.g.iter().map(|&g| f64::from(g.abs())).sum();
    let scale = GradientScale::new(abs, data.h.iter().map(|&h| f64::from(h)).sum(), rows.len());
    let mut packed = vec![0; rows.len()];
    join(&data.g, &data.h, &mut packed);
    pack(&mut packed, scale);
    let keeps: Vec<Box<dyn Fn(usize) -> bool>> = if level {
        vec![Box::new(|row| row % 2 == 0), Box::new(|row| row % 2 == 1)]
    } else {
        vec![Box::new(|_| true)]
    };
    let nodes: Vec<_> = keeps.iter().map(|keep| tables(&data, &packed, keep)).collect();
    let allowed = vec![true; 5];
    let search = SplitSearch {
        layout: &data.layout,
        allowed: &allowed,
        scale,
        dispersion: 1.0,
        penalties,
        directions: &[],
    };
    let mut scratch = SplitScratch::default();
    let value = |total: u64| penalties.node_value(scale.unpack(total), KIN);
    let found = SplitCandidate::best((0..data.layout.columns().len()).map(|column| {
        let nodes: Vec<_> = nodes
            .iter()
            .map(|(t, total)| NodeTable { table: &t[column], total: *total, value: value(*total) })
            .collect();
        search.column(column, &nodes, &mut scratch)
    }));
    if !level {
        let node = (nodes[0].1, value(nodes[0].1));
        rows_say_the_same(&search, &data, &packed, &nodes[0].0, node)?;
    }
    // On a level a node that cannot be split adds nothing, and γ is paid for every node.
    let gain = |rule: &BinRule| {
        let gains: Vec<_> =
            keeps.iter().map(|keep| real_gain(&data, rule, penalties, keep)).collect();
        if level {
            Some(gains.iter().map(|gain| gain.unwrap_or(-penalties.gamma)).sum::<f64>())
        } else {
            gains[0]
        }
    };
    // Where children have a least weight, the best grouping of levels need not be a cut of the
    // ordered line.
    let bounded = penalties.min_child_weight > 0.0;
    let rules = all_rules(&data.layout)
        .into_iter()
        .filter(|rule| !bounded || matches!(rule.cut, Cut::Above(_)));
    let best = rules.filter_map(|rule| gain(&rule)).fold(f64::NEG_INFINITY, f64::max);
    let slack = 1e-5 * (1.0 + abs);
    match found {
        Some(found) => {
            let real = gain(&found.rule).expect("the rule keeps the least child weight");
            prop_assert!((real - found.gain).abs() < slack, "told {} is {real}", found.gain);
            prop_assert!(real > best - slack, "found {real}, best {best}");
            for ((tables, total), keep) in nodes.iter().zip(&keeps) {
                let route = data.layout.route(&found.rule);
                let (left, right) = search.sides(
                    &found.rule,
                    &NodeTable { table: &tables[route.column], total: *total, value: 0.0 },
                );
                prop_assert_eq!(left.wrapping_add(right), *total);
                let mut codes = vec![0u8; data.chunk.rows];
                data.layout.encode(route.column, &data.chunk, &mut codes).unwrap();
                let on_right =
                    (0..rows.len()).filter(|&r| keep(r) && route.right[usize::from(codes[r])] == 1);
                prop_assert_eq!(right, on_right.fold(0u64, |sum, r| sum.wrapping_add(packed[r])));
            }
        }
        None => prop_assert!(best <= slack, "found nothing, best {best}"),
    }
    Ok(())
}

/// The value of the grandparent, where values are passed on.
const KIN: f64 = 0.7;

type Row = (i8, i8, u8, u8, i8, u8);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((-10i8..10, -10i8..10, 0u8..4, 0u8..5, -20i8..20, 1u8..4), 2..40)
}

proptest! {
    #[test]
    fn one_node_finds_the_best_of_all_rules(rows in rows(), lambda in 0.0..5.0f64) {
        check(&rows, Penalties { lambda, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 0.0 }, false)?;
    }

    #[test]
    fn children_keep_their_least_weight(rows in rows(), lambda in 0.0..5.0f64, least in 0.1..6.0f64) {
        check(&rows, Penalties { lambda, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: least }, false)?;
    }

    #[test]
    fn children_deviate_from_their_parent(rows in rows(), lambda in 0.1..5.0f64, least in 0.0..3.0f64) {
        check(&rows, Penalties { lambda, ridge: Ridge::Hierarchical, gamma: 0.0, min_child_weight: least }, false)?;
    }

    #[test]
    fn gamma_is_taken_off(rows in rows(), gamma in 0.0..50.0f64) {
        check(&rows, Penalties { lambda: 1.0, ridge: Ridge::Flat, gamma, min_child_weight: 0.0 }, false)?;
    }
}

#[test]
fn a_level_finds_the_best_shared_rule() {
    // Levels of a category are ordered over the whole level, which need not be the best order for a
    // sum of nodes, so the planted answer is a number.
    let rows: Vec<Row> =
        (0..40).map(|i| ((i % 16) - 8, 0, 3, 0, if i % 16 >= 10 { 9 } else { -3 }, 1)).collect();
    check(
        &rows,
        Penalties { lambda: 1.0, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 1.0 },
        true,
    )
    .unwrap();
    check(
        &rows,
        Penalties { lambda: 1.0, ridge: Ridge::Flat, gamma: 5.0, min_child_weight: 3.0 },
        true,
    )
    .unwrap();
    check(
        &rows,
        Penalties { lambda: 1.0, ridge: Ridge::Hierarchical, gamma: 0.0, min_child_weight: 1.0 },
        true,
    )
    .unwrap();
}

/// Twenty rows of each given level of a category of twelve, of weight 1; the gradient of the first
/// level's rows is -1, that of the others 0. The gain of the best split.
fn gain_of_one_level(levels: &[u32], dispersion: f64) -> Option<f64> {
    let names = (0..12).map(|level| format!("l{level:02}")).collect();
    let features = [Feature { name: "c".into(), kind: Kind::Category { levels: names } }];
    let of_rows: Vec<u32> =
        levels.iter().flat_map(|&level| std::iter::repeat_n(level, 20)).collect();
    let rows = of_rows.len();
    let g: Vec<f32> =
        of_rows.iter().map(|&level| if level == levels[0] { -1.0 } else { 0.0 }).collect();
    let columns = vec![Column::Category(of_rows)];
    let chunk = Chunk { columns, rows, ..Chunk::default() };
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);

    let scale = GradientScale::new(20.0, rows as f64, rows);
    let mut packed = vec![0; rows];
    join(&g, &vec![1.0; rows], &mut packed);
    pack(&mut packed, scale);
    let data = Small { chunk, layout, g, h: vec![1.0; rows] };
    let (tables, total) = tables(&data, &packed, &|_| true);
    let penalties =
        Penalties { lambda: 1.0, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 1.0 };
    let search = SplitSearch {
        layout: &data.layout,
        allowed: &[true],
        scale,
        dispersion,
        penalties,
        directions: &[],
    };
    let node = NodeTable { table: &tables[0], total, value: 0.0 };
    let found = search.column(0, &[node], &mut SplitScratch::default());
    found.map(|found| found.gain)
}

#[test]
fn a_set_of_levels_pays_for_its_choice_among_those_that_have_rows() {
    // Children have ten more of λ than the node: the category has many levels.
    let free = |rows: f64| 0.5 * (400.0 / (20.0 + 11.0) - 400.0 / (rows + 1.0));
    let all: Vec<u32> = (0..12).collect();
    for (levels, dispersion) in [(&all[..], 1.0), (&all[..], 0.5), (&[3, 0, 7][..], 1.0)] {
        let price = 0.5 * dispersion * (levels.len() as f64).ln();
        let wanted = free(20.0 * levels.len() as f64) - price;
        let gain = gain_of_one_level(levels, dispersion).unwrap();
        assert!((gain - wanted).abs() < 1e-5, "{levels:?} {dispersion}: {gain}, not {wanted}");
    }
    assert_eq!(gain_of_one_level(&all, 10.0), None);
}
