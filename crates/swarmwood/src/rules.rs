//! Statistics of decision rules on data.

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_model::{AdditiveRules, FeatureValue, RuleSet};

use crate::Result;
use crate::read::Rows;

/// Replaces the statistics of the leaves by support, confidence and lift on these rows.
///
/// ```
/// use swarmwood::read::{ReadOptions, Source, training};
///
/// let csv = Source::Bytes("pets.csv".into(), b"weight,wild\n4,no\n5,no\n40,yes\n45,yes\n50,no\n");
/// let rows = training(&csv, &ReadOptions { target: "wild".into(), ..ReadOptions::default() })?;
/// let text = r#"{"format":"swarmwood","version":1,"objective":"logistic","link":"sigmoid","base":[0.0],
///     "provenance":{"version":"0.1.0","method":"greedy","rows":5,"params":{}},
///     "target":{"name":"wild","classes":["no","yes"]},"features":[{"name":"weight"}],
///     "trees":[{"kind":"ordinary","output":0,"feature":[0],"threshold":[20.0],"missing_right":[0],"left":[-1],
///     "right":[-2],"gain":[1.0],"cover":[5.0],"leaf":[-2.0,2.0],"leaf_cover":[2.0,3.0]}]}"#;
/// let model = swarmwood::model::from_json(text.as_bytes()).unwrap();
/// let tree = model.single_tree().unwrap();
/// let mut rules = tree.rules(swarmwood::model::RuleMerge::Cover).unwrap();
/// swarmwood::rules::count(&mut rules, &rows)?;
/// // Three of five rows are above 20, and two of these are wild.
/// let yes = if rules.rules[0].conditions[0].matches(swarmwood::model::FeatureValue::Number(30.0), rules.schema) {
///     &rules.rules[0]
/// } else {
///     &rules.default_rule
/// };
/// assert_eq!((yes.stats.support, yes.stats.confidence), (0.6, Some(2.0 / 3.0)));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn count(rules: &mut RuleSet<'_>, rows: &Rows) -> Result<()> {
    let mut counts = rules.empty_counts();
    rows.for_each_chunk(&mut |chunk: &Chunk| {
        for (row, &target) in chunk.target.iter().enumerate() {
            rules.count_row(
                &mut counts,
                |feature| value(chunk, row, feature),
                target,
                chunk.weight.get(row).copied().unwrap_or(1.0),
            );
        }
        Ok(())
    })?;
    rules.set_counts(&counts);
    Ok(())
}

/// Replaces the support of rules with points by that on these rows.
pub fn count_additive(rules: &mut AdditiveRules<'_>, rows: &Rows) -> Result<()> {
    let mut weights: Vec<Vec<f64>> =
        rules.groups.iter().map(|group| vec![0.0; group.rules.len()]).collect();
    let mut count = 0;
    rows.for_each_chunk(&mut |chunk: &Chunk| {
        for row in 0..chunk.rows {
            let weight = chunk.weight.get(row).copied().unwrap_or(1.0);
            for (group, weights) in rules.groups.iter().zip(&mut weights) {
                let rule = group.rule_of(|feature| value(chunk, row, feature), rules.schema());
                weights[rule] += weight;
            }
        }
        count += chunk.rows as u64;
        Ok(())
    })?;
    rules.set_support(&weights, count);
    Ok(())
}

fn value(chunk: &Chunk, row: usize, feature: u32) -> FeatureValue {
    match &chunk.columns[feature as usize] {
        Column::Number(values) => FeatureValue::Number(values[row]),
        Column::Category(codes) => FeatureValue::Category(codes[row]),
    }
}
