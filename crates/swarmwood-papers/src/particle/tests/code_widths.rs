//! Codes of two and four bytes: the results of the plain booster, and the bits of codes of one byte
//! where those suffice.

use proptest::prelude::*;
use swarmwood_model::Split;

use super::*;

/// A table with a feature that has so many distinct values, one that is often missing, and one of
/// few values.
fn values_table(
    rows: usize,
    values: u64,
    spec: &ObjectiveConfig,
    seed: u64,
) -> (Chunk, Vec<Feature>) {
    let mut stream = Stream::new(seed, 7, 7);
    let mut columns = vec![Vec::new(); 3];
    let (mut target, mut weight) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let row = [stream.below(values), stream.below(values), stream.below(4)].map(|x| x as f64);
        let signal = (row[0] / values as f64 * 9.0).sin() + row[1] / values as f64 + row[2] / 2.0;
        let noisy = signal + 0.3 * stream.normal();
        target.push(if spec.name() == "logistic" { f64::from(noisy > 1.0) } else { noisy });
        weight.push(0.25 + stream.unit());
        columns[0].push(row[0] * 0.37 - 5.0);
        columns[1].push(if stream.below(5) == 0 { f64::NAN } else { -row[1] });
        columns[2].push(row[2]);
    }
    let columns = columns.into_iter().map(Column::Number).collect();
    let features =
        (0..3).map(|at| Feature { name: format!("x{at}"), kind: Kind::Number }).collect();
    (Chunk { columns, target, weight, rows }, features)
}

/// What one particle is worth with codes of one width: leaves and fitness as bits, and the gains of
/// all replacements in the last of its oblivious trees.
fn worth<C: ParticleCode>(
    data: &Dataset<C>,
    spec: &ObjectiveConfig,
    settings: ParticleConfig,
    sequence: &[u32],
) -> (Vec<u64>, Option<Replacements>) {
    let (rules, objective, limits) = (RuleTable::distinct(data), make(spec), TestContext::new(2));
    let mut evaluator =
        Evaluator::new(data, &rules, objective.as_ref(), settings, limits.context()).unwrap();
    let found = bits(&evaluator.evaluate(sequence).unwrap());
    let last = evaluator.trees() - 1;
    let gains = (settings.form == TreeForm::Oblivious)
        .then(|| evaluator.replacements(sequence, last).unwrap());
    (found, gains)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The leaf of every row by walking on values, sums in `f64`.
    #[test]
    fn wide_codes_equal_the_plain_booster(
        seed in 0u64..1000,
        rows in 50usize..1500,
        values in prop_oneof![Just(3u64), Just(200), Just(600), Just(100_000)],
        depth in 1usize..=5,
        logistic in any::<bool>(),
    ) {
        let spec = if logistic { ObjectiveConfig::LOGISTIC } else { ObjectiveConfig::SQUARED };
        let (chunk, features) = values_table(rows, values, &spec, seed);
        let data = distinct::<u16>(&chunk, &features);
        let (rules, limits) = (RuleTable::distinct(&data), TestContext::new(1));
        let settings = ParticleConfig { learning_rate: 0.5, lambda: 1.0, ..settings(3, depth) };
        let objective = make(&spec);
        let mut evaluator =
            Evaluator::new(&data, &rules, objective.as_ref(), settings, limits.context()).unwrap();
        let sequence = draw(&mut Stream::new(seed, 1, 1), &rules, 3 * depth);
        let split = |&at: &u32| data.layout.split(rules.rule(at).unwrap());
        let splits: Vec<Vec<Split>> =
            sequence.chunks(depth).map(|tree| tree.iter().map(split).collect()).collect();

        let expected = plain(&chunk, &splits, &spec, &settings);
        let found = evaluator.evaluate(&sequence).unwrap();
        for (own, value) in found.leaves.iter().zip(expected.leaves.iter().flatten()) {
            prop_assert!((own.value - value).abs() < 2e-4 * (1.0 + value.abs()));
        }
        prop_assert!((found.fitness - expected.loss).abs() < 1e-4 * (1.0 + expected.loss));
        let members = evaluator.to_members(&sequence).unwrap();
        for row in 0..rows {
            let leaf = |member: &Member| {
                let leaf = member.shape.leaf_of(|feature| value_of(&chunk, row, feature));
                member.shape.leaves()[leaf as usize].value
            };
            let sum = evaluator.base()[0] + members.iter().map(leaf).sum::<f64>();
            prop_assert!((sum - expected.score[row]).abs() < 1e-3);
        }
    }

    /// No bit depends on how many bytes a code takes.
    #[test]
    fn every_width_has_the_same_bits(
        seed in 0u64..1000,
        rows in 50usize..6000,
        values in prop_oneof![Just(5u64), Just(255), Just(3000)],
        depth in 1usize..=4,
        free in any::<bool>(),
    ) {
        let spec = ObjectiveConfig::LOGISTIC;
        let (chunk, features) = values_table(rows, values, &spec, seed);
        let form = if free { TreeForm::Free } else { TreeForm::Oblivious };
        let settings = ParticleConfig { lambda: 1.0, form, ..settings(2, depth) };
        let four = distinct::<u32>(&chunk, &features);
        let rules = RuleTable::distinct(&four);
        let sequence = draw(&mut Stream::new(seed, 2, 2), &rules, 2 * form.rules(depth));

        let expected = worth(&four, &spec, settings, &sequence);
        let two = worth(&distinct::<u16>(&chunk, &features), &spec, settings, &sequence);
        prop_assert_eq!(&two, &expected);
        if four.layout.codes() <= 256 {
            let one = worth(&distinct::<u8>(&chunk, &features), &spec, settings, &sequence);
            prop_assert_eq!(&one, &expected);
        }
    }
}

/// The paper's `n` counts every value, however many there are.
#[test]
fn every_distinct_value_has_a_rule() {
    let rows = 70_000;
    let column = Column::Number((0..rows).map(|row| f64::from(row) * 0.5).collect());
    let few = Column::Number((0..rows).map(|row| f64::from(row % 300)).collect());
    let features = ["many", "few"].map(|name| Feature { name: name.into(), kind: Kind::Number });
    let target = (0..rows).map(|row| f64::from(u8::from(row > 68_000))).collect();
    let rows = rows as usize;
    let chunk = Chunk { columns: vec![column, few], target, weight: Vec::new(), rows };
    let data = distinct::<u32>(&chunk, &features);
    assert_eq!(data.layout.codes(), 70_001);
    let (rules, limits) = (RuleTable::distinct(&data), TestContext::new(1));
    assert_eq!(
        rules.groups().iter().map(|group| group.rules.len()).collect::<Vec<_>>(),
        [70_000, 300]
    );
    for index in [0, 65_535, 65_536, 69_999, 70_000] {
        assert_eq!(rules.index_of(rules.rule(index).unwrap()), Some(index));
    }

    // One stump beyond what two bytes can number parts the classes.
    let stump = settings(1, 1);
    let mut evaluator = Evaluator::new(&data, &rules, &Squared, stump, limits.context()).unwrap();
    assert!(evaluator.evaluate(&[68_000]).unwrap().fitness < 1e-9);
    let best = evaluator.replacements(&[3], 0).unwrap().best(1);
    assert_eq!(best[0].rule, 68_000);
}
