use proptest::prelude::*;

use super::columns::{EncodeTask, MAX_CUTS, SearchMethod, ThresholdSearch};
use super::kernels::{self, Instructions, ROWS};
use super::*;
use crate::samples::{self, SampleRng, SampleSize, any_model, borrowed, columns};
use crate::*;

fn same_bits(left: &[f64], right: &[f64]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| left.to_bits() == right.to_bits())
}

/// Compares every batch method with the traversal.
fn agree(model: &Model, rows: &[Vec<FeatureValue>], first_rounds: Option<usize>) {
    let owned = columns(model, rows);
    let columns = borrowed(&owned);
    let block = Block { columns: &columns, rows: rows.len() };
    let expected: Vec<f64> =
        rows.iter().flat_map(|row| model.raw_row(row, first_rounds).unwrap()).collect();
    let leaves: Vec<u32> =
        rows.iter().flat_map(|row| model.leaves_row(row, first_rounds).unwrap()).collect();
    let mut predictor = Predictor::new(model);
    for instructions in Instructions::all() {
        predictor.set_instructions(instructions);
        let mut raw = vec![f64::NAN; expected.len()];
        predictor.raw(&block, first_rounds, &mut raw).unwrap();
        assert!(same_bits(&raw, &expected), "{instructions:?}");
        let mut found = vec![u32::MAX; leaves.len()];
        predictor.leaves(&block, first_rounds, &mut found).unwrap();
        assert_eq!(found, leaves, "{instructions:?}");
    }
    // Any cut into ranges gives the same.
    let (outputs, cut) = (model.outputs(), rows.len() / 3);
    let mut raw = vec![f64::NAN; expected.len()];
    let (low, high) = raw.split_at_mut(cut * outputs);
    predictor.raw_range(&block, 0..cut, first_rounds, low).unwrap();
    predictor.raw_range(&block, cut..rows.len(), first_rounds, high).unwrap();
    assert!(same_bits(&raw, &expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn batch_equals_traversal(model in any_model(), seed: u64, count in 0_usize..1400, first in prop::option::of(0_usize..9)) {
        prop_assert_eq!(model.check(), Ok(()));
        agree(&model, &samples::rows(seed, &model, count), first);
    }

    #[test]
    fn cuts_count_thresholds_below(seed: u64, scale in 0_usize..4, count in 1_usize..=MAX_CUTS) {
        let rng = &mut SampleRng(seed);
        let draw = |rng: &mut SampleRng| match scale {
            0 => rng.below(300) as f64,
            1 => rng.unit(),
            2 => rng.unit() * 2_f64.powi(rng.below(2000) as i32 - 1000),
            _ => f64::from_bits(rng.next()),
        };
        let mut thresholds: Vec<f64> = (0..count).map(|_| draw(rng)).filter(|t| t.is_finite()).collect();
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        let mut values = [0.0; ROWS];
        for value in &mut values {
            *value = match rng.below(3) {
                0 if !thresholds.is_empty() => thresholds[rng.below(thresholds.len())],
                1 if !thresholds.is_empty() => thresholds[rng.below(thresholds.len())].next_up(),
                _ => draw(rng),
            };
        }
        values[..3].copy_from_slice(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        let expected: Vec<u8> =
            values.iter().map(|value| thresholds.iter().filter(|t| *value > **t).count() as u8).collect();
        for instructions in Instructions::all() {
            let mut codes = [0; ROWS];
            let cuts = &ThresholdSearch::new(&thresholds);
            kernels::dispatch(instructions, EncodeTask { cuts, values: &values, codes: &mut codes });
            prop_assert_eq!(&codes[..], &expected[..]);
        }
    }
}

/// Each search method is chosen by thresholds made for it.
#[test]
fn method_depends_on_spread() {
    let even: Vec<f64> = (0..100).map(f64::from).collect();
    let skewed: Vec<f64> = (0..100).map(|power| 2_f64.powi(power)).collect();
    let method = |thresholds: &[f64]| ThresholdSearch::new(thresholds).method;
    assert!(matches!(method(&even[..3]), SearchMethod::Few(_)));
    assert!(matches!(method(&even), SearchMethod::Grid(grid) if grid.compares == 1));
    assert!(matches!(method(&skewed), SearchMethod::Search { first_step: 64, .. }));
    assert!(matches!(
        method(&[f64::MIN, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, f64::MAX]),
        SearchMethod::Search { .. }
    ));
}

/// More thresholds than one column can count, more leaves than registers hold or a byte can name,
/// and deep oblivious trees.
#[test]
fn oversized_models_agree() {
    for (leaves, levels) in [(64, 6), (65, 7), (256, 8), (257, 9), (900, 16)] {
        let size = SampleSize { features: 2, rounds: 12, leaves, levels };
        let mut model = samples::model(3, size);
        (model.link, model.base) = (Link::Softmax, vec![0.5, -0.25, 0.0]);
        model.calibration = Calibration::default();
        model.schema.target.kind = TargetKind::Classes(["a", "b", "c"].map(String::from).to_vec());
        let rng = &mut SampleRng(leaves as u64);
        let features = model.schema.features.clone();
        let shape = |rng: &mut SampleRng, index: usize| match index % 2 {
            0 => Shape::Ordinary(samples::tree(rng, &features, leaves)),
            _ => Shape::Oblivious(samples::oblivious(rng, &features, levels)),
        };
        let outputs = model.outputs();
        let members =
            (0..6 * outputs).map(|i| Member { output: (i % outputs) as u32, shape: shape(rng, i) });
        let mut members: Vec<Member> = members.collect();
        if outputs > 1 {
            let vector = samples::vector(rng, &features, leaves, outputs);
            members.insert(outputs, Member { output: 0, shape: Shape::Vector(vector) });
        }
        model.body = Body::Trees(members);
        assert_eq!(model.check(), Ok(()));
        agree(&model, &samples::rows(5, &model, 1500), None);
    }
}

#[test]
fn mismatched_input_is_refused() {
    let model = samples::model(1, SampleSize { features: 5, rounds: 1, leaves: 4, levels: 2 });
    let rows = samples::rows(1, &model, 3);
    let owned = columns(&model, &rows);
    let good = borrowed(&owned);
    let predictor = Predictor::new(&model);
    let mut out = vec![0.0; 3 * model.outputs()];
    let mut run = |columns: &[ColumnView<'_>], rows, range| {
        predictor
            .raw_range(&Block { columns, rows }, range, None, &mut out)
            .map_err(|error| error.to_string())
    };
    assert_eq!(run(&good, 3, 0..3), Ok(()));
    let error = run(&good[1..], 3, 0..3).unwrap_err();
    assert!(error.starts_with("4 columns for 5 features"), "{error}");
    let mut swapped = good.clone();
    swapped.swap(0, 4);
    let error = run(&swapped, 3, 0..3).unwrap_err();
    assert!(
        error.contains("column 0 holds categories, but the model's feature `feature 0` is numbers"),
        "{error}"
    );
    assert!(run(&good, 4, 0..3).unwrap_err().contains("3 values in a block of 4 rows"));
    assert!(run(&good, 3, 1..4).unwrap_err().contains("rows 1..4"));
    assert!(run(&good, 3, 0..2).unwrap_err().contains("output buffer"));
    assert!(matches!(
        model.raw_row(&rows[0][1..], None),
        Err(BlockError::Columns { found: 4, expected: 5 })
    ));
    assert!(matches!(
        model.raw_row(&[FeatureValue::Category(0); 5], None),
        Err(BlockError::Kind { column: 0, .. })
    ));
}

#[test]
fn links_give_probabilities() {
    let mut out = vec![];
    Link::Softmax.probabilities(&[1000.0, 1000.0, -1000.0], &mut out);
    assert_eq!(out, [0.5, 0.5, 0.0]);
    assert_eq!(Link::Softmax.class(&[1.0, 3.0, 3.0]), 1);
    out.clear();
    Link::Sigmoid.probabilities(&[-800.0], &mut out);
    assert_eq!(out[0], 1.0);
    assert!(out[1] == 0.0);
    assert_eq!((Link::Sigmoid.class(&[0.0]), Link::Sigmoid.class(&[1e-9])), (0, 1));
    assert_eq!(Link::Exp.number(0.0), 1.0);
    assert_eq!(Link::ExpM1.number(1e-20), 1e-20);
}

#[test]
fn predictions_of_finite_scores_are_finite() {
    for link in [Link::Exp, Link::ExpM1, Link::Identity] {
        for raw in [-1e308, -800.0, 0.0, 709.0, 800.0, 1e308] {
            assert!(link.number(raw).is_finite(), "{link:?} {raw}");
        }
    }
    assert_eq!((Link::Exp.number(1.5), Link::ExpM1.number(1.5)), (1.5f64.exp(), 1.5f64.exp_m1()));
    let mut probabilities = Vec::new();
    Link::Softmax.probabilities(&[1e308, -1e308, 0.0], &mut probabilities);
    assert_eq!(probabilities, [1.0, 0.0, 0.0]);

    let term = LinearTerm::Number { weight: -1e200, centre: -1e308 };
    let idle = LinearTerm::Number { weight: 0.0, centre: 0.0 };
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, f64::NAN] {
        assert!(term.evaluate(FeatureValue::Number(value)).is_finite(), "{value}");
        assert_eq!(idle.evaluate(FeatureValue::Number(value)), 0.0, "{value}");
    }
}
