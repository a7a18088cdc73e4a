use proptest::prelude::*;

use super::*;
use crate::samples::{SampleRng, SampleSize, any_model, model, oblivious, rows, tree};
use crate::*;

/// A model of one random tree with few distinct predictions: a number, two classes or three.
fn single(seed: u64, features: usize, leaves: usize) -> Model {
    let mut model = model(seed, SampleSize { features, rounds: 0, leaves: 1, levels: 0 });
    let rng = &mut SampleRng(seed ^ 0x5EED);
    let mut one = if rng.chance(80) {
        tree(rng, &model.schema.features, leaves)
    } else {
        oblivious(rng, &model.schema.features, 3).to_tree()
    };
    let predictions = 2 + rng.below(3);
    one.leaves.iter_mut().for_each(|leaf| leaf.value = rng.below(predictions) as f64 - 0.5);
    let outputs = 1 + 2 * rng.below(2);
    let classes = |count: usize| {
        TargetKind::Classes((0..count).map(|class| format!("class {class}")).collect())
    };
    (model.link, model.schema.target.kind) = match (outputs, rng.chance(50)) {
        (1, true) => (Link::Sigmoid, classes(2)),
        (1, false) => (Link::Identity, TargetKind::Number),
        _ => (Link::Softmax, classes(3)),
    };
    let is_binary = model.link == Link::Sigmoid;
    let threshold = model.calibration.threshold.filter(|_| is_binary);
    model.calibration = Calibration { threshold, ..Calibration::default() };
    model.base = vec![0.0; outputs];
    let member = |output: usize| {
        let mut own = one.clone();
        if outputs > 1 {
            let at = |value: f64| if value as i64 == output as i64 { 1.0 } else { 0.0 };
            own.leaves.iter_mut().for_each(|leaf| leaf.value = at(leaf.value + 0.5));
        }
        Member { output: output as u32, shape: Shape::Ordinary(own) }
    };
    model.body = Body::Trees((0..outputs).map(member).collect());
    model
}

/// One value of each kind that the tree distinguishes, and more: thresholds and their neighbours,
/// infinities, missing values, every level and one that is not there.
fn all_values(model: &Model, feature: usize) -> Vec<FeatureValue> {
    let splits = model.members().iter().flat_map(|member| member.shape.splits());
    match &model.schema.features[feature].kind {
        Kind::Category { levels } => {
            (0..=levels.len() as u32).chain([MISSING]).map(FeatureValue::Category).collect()
        }
        Kind::Number => {
            let mut values = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0];
            for split in splits.filter(|split| split.feature as usize == feature) {
                if let Test::Above(threshold) = split.test {
                    values.extend([threshold, threshold.next_up()]);
                }
            }
            values.into_iter().map(FeatureValue::Number).collect()
        }
    }
}

/// Checks the rules on every combination of values if there are few, and on many random ones.
fn check_agreement(model: &Model, rules: &RuleSet<'_>, seed: u64) {
    let agree = |row: &[FeatureValue]| {
        let expected = RulePrediction::from(&model.predict_row(row).unwrap());
        assert_eq!(rules.predict(|feature| row[feature as usize]), expected, "{row:?}\n{}", rules);
        // No two rules of different predictions hold for one row.
        let holding = rules
            .rules
            .iter()
            .filter(|rule| rule.matches(|feature| row[feature as usize], rules.schema));
        assert!(holding.into_iter().all(|rule| rule.prediction == expected), "{row:?}");
    };
    rows(seed, model, 300).iter().for_each(|row| agree(row));
    let values: Vec<Vec<FeatureValue>> =
        (0..model.schema.features.len()).map(|feature| all_values(model, feature)).collect();
    let used: Vec<usize> = {
        let mut used: Vec<usize> = model
            .members()
            .iter()
            .flat_map(|m| m.shape.splits())
            .map(|split| split.feature as usize)
            .collect();
        used.sort_unstable();
        used.dedup();
        used
    };
    let combinations = used
        .iter()
        .fold(1_usize, |product, &feature| product.saturating_mul(values[feature].len()));
    let mut row: Vec<FeatureValue> = values.iter().map(|values| values[0]).collect();
    let rng = &mut SampleRng(seed);
    for number in 0..combinations.min(3000) {
        let mut rest = number;
        for &feature in &used {
            let count = values[feature].len();
            let at = if combinations <= 3000 { rest % count } else { rng.below(count) };
            rest /= count;
            row[feature] = values[feature][at];
        }
        agree(&row);
    }
}

proptest! {
    #[test]
    fn rules_predict_what_the_tree_predicts(seed in any::<u64>(), features in 1_usize..8, leaves in 1_usize..24) {
        let model = single(seed, features, leaves);
        prop_assert_eq!(model.check(), Ok(()));
        let tree = model.single_tree().unwrap();
        let rules = tree.rules(RuleMerge::Cover).unwrap();
        check_agreement(&model, &rules, seed);
        prop_assert!(rules.size().conditions <= rules.paths.conditions);
        prop_assert!(rules.size().rules <= rules.paths.rules);
        if let Ok(merged) = tree.rules(RuleMerge::Cells) {
            check_agreement(&model, &merged, seed);
        }
    }
}

proptest! {
    #[test]
    fn points_add_up_to_the_raw_scores(model in any_model(), seed in any::<u64>()) {
        let table = match (model.additive_rules(), &model.body) {
            (Ok(table), _) => table,
            (Err(AdditiveRulesError::Linear), Body::Linear(_)) => return Ok(()),
            (Err(AdditiveRulesError::Leaves { leaves }), _) => {
                prop_assert!(leaves > MAX_TABLE_LEAVES);
                return Ok(());
            }
            (Err(other), _) => panic!("{other}"),
        };
        for row in rows(seed, &model, 60) {
            let raw = model.raw_row(&row, None).unwrap();
            prop_assert_eq!(table.scores(|feature| row[feature as usize]), raw);
        }
        let of_group = |group: &AdditiveGroup| {
            let (default, others) = group.rules.split_last().unwrap();
            default.conditions.is_empty() && others.iter().all(|rule| !rule.conditions.is_empty())
        };
        prop_assert!(table.groups.iter().all(of_group));
    }
}

proptest! {
    #[test]
    fn score_cards_add_up_to_the_raw_scores(model in any_model(), seed in any::<u64>()) {
        let Ok(card) = model.score_card() else {
            prop_assert!(model.additive_rules().is_err());
            return Ok(());
        };
        for row in rows(seed, &model, 60) {
            let raw = model.raw_row(&row, None).unwrap();
            let scores = card.scores(|feature| row[feature as usize]);
            for (score, raw) in scores.iter().zip(raw) {
                prop_assert!((score - raw).abs() <= 1e-9 * (1.0 + raw.abs()), "{score} {raw}");
            }
            for group in card.groups.iter().filter(|group| group.feature.is_some()) {
                let matches = |rule: &&AdditiveRule| {
                    let own = |one: &RuleCondition| one.matches(row[one.feature as usize], &model.schema);
                    rule.conditions.iter().all(own)
                };
                prop_assert_eq!(group.rules.iter().filter(matches).count(), 1);
            }
        }
        let mut features: Vec<u32> = card.groups.iter().filter_map(|group| group.feature).collect();
        let count = features.len();
        prop_assert!(card.groups[..count].iter().all(|group| group.feature.is_some()));
        features.sort_unstable();
        features.dedup();
        prop_assert_eq!(features.len(), count);
    }
}

/// A split of a feature with values on both sides.
fn stump(feature: u32, above: f64, values: [f64; 2], missing_right: bool) -> Member {
    let split = Split { feature, test: Test::Above(above), missing_right };
    let leaves = values.map(|value| Leaf { value, cover: 1.0 }).to_vec();
    let node = Node { split, left: Child::Leaf(0), right: Child::Leaf(1), gain: 1.0, cover: 2.0 };
    Member { output: 0, shape: Shape::Ordinary(Tree { nodes: vec![node], leaves }) }
}

/// Two trees of one feature become its intervals; whole points begin at zero.
#[test]
fn trees_of_one_feature_are_added_up() {
    let mut model = single(1, 2, 1);
    model.schema.features =
        ["age", "debt"].map(|name| Feature { name: name.into(), kind: Kind::Number }).to_vec();
    model.base = vec![-3.0];
    model.calibration.points_unit = Some(0.5);
    model.body = Body::Trees(vec![
        stump(0, 30.0, [1.0, 0.0], true),
        stump(1, 5.0, [0.0, 3.0], true),
        stump(0, 50.0, [0.0, 2.0], true),
    ]);
    let card = model.score_card().unwrap();
    assert_eq!(card.intercept, [-3.0]);
    let lines = |at: usize| -> Vec<f64> {
        card.groups[at].rules.iter().map(|rule| rule.points[0]).collect()
    };
    // The range of debt is larger.
    assert_eq!((card.groups[0].feature, lines(0)), (Some(1), vec![0.0, 3.0]));
    assert_eq!((card.groups[1].feature, lines(1)), (Some(0), vec![1.0, 0.0, 2.0]));

    // The least points of age are moved to the intercept.
    model.body =
        Body::Trees(vec![stump(0, 30.0, [1.0, 0.5], false), stump(0, 50.0, [0.5, 2.0], true)]);
    let card = model.score_card().unwrap();
    assert_eq!(card.intercept, [-2.0]);
    let [group] = &card.groups[..] else { panic!("one group") };
    let points: Vec<f64> = group.rules.iter().map(|rule| rule.points[0]).collect();
    assert_eq!(points, [0.5, 0.0, 1.5, 2.0]);
    assert_eq!(group.rules[3].conditions[0].values, ValueSet::Nothing);
}

/// A small tree over three numbers with two predictions, and missing values that always go left.
fn small(seed: u64, leaves: usize) -> (Tree, Schema) {
    let model = single(seed, 3, 1);
    let rng = &mut SampleRng(seed);
    let mut one = tree(rng, &model.schema.features, leaves);
    one.nodes.iter_mut().for_each(|node| node.split.missing_right = false);
    one.leaves.iter_mut().for_each(|leaf| leaf.value = rng.below(2) as f64);
    (one, model.schema)
}

/// The boxes of the reachable leaves with one value.
fn boxes<'a>(tree: &Tree, regions: &'a [Option<Region>], value: f64) -> Vec<&'a Region> {
    let leaves = regions.iter().zip(&tree.leaves).filter(|(_, leaf)| leaf.value == value);
    leaves.filter_map(|(region, _)| region.as_ref()).collect()
}

/// Dropping conditions leaves as few as trying every subset of them.
#[test]
fn relaxed_boxes_have_the_fewest_conditions() {
    for seed in 0..200 {
        let (tree, schema) = small(seed, 9);
        let (space, regions) = TreeSpace::new(&tree, &schema);
        let others = boxes(&tree, &regions, 1.0);
        for own in boxes(&tree, &regions, 0.0) {
            let conditions = space.conditions(own);
            let keeps_out = |subset: u32, other: &Region| {
                (0..conditions.len())
                    .any(|at| subset >> at & 1 == 1 && !space.intersects(&conditions[at], other))
            };
            let is_pure = |subset: &u32| others.iter().all(|other| keeps_out(*subset, other));
            let fewest =
                (0..1_u32 << conditions.len()).filter(is_pure).map(u32::count_ones).min().unwrap();
            for relaxed in relax::relax(&space, own, &others) {
                assert!(
                    relaxed.contains(own)
                        && !others.iter().any(|other| space.intersects(&relaxed, other))
                );
                assert_eq!(space.cost(&relaxed), fewest as usize, "{seed}");
            }
        }
    }
}

/// The fewest conditions that any set of boxes needs, by trying all of them.
struct Oracle {
    /// Cells of a pure box and its conditions, those that are never worse than another.
    boxes: Vec<(u128, usize)>,
    best: usize,
}

impl Oracle {
    fn new(space: &TreeSpace, own: &[&Region], others: &[&Region]) -> (Oracle, u128) {
        let sizes = space.sizes();
        let count: usize = sizes.iter().product();
        let atoms = |number: usize| {
            let mut rest = number;
            let mut digit = |size: &usize| {
                let atom = rest % size;
                rest /= size;
                atom
            };
            sizes.iter().map(&mut digit).collect::<Vec<usize>>()
        };
        let cells: Vec<Region> = (0..count).map(|number| space.cell(&atoms(number))).collect();
        let mask = |region: &Region| {
            (0..count)
                .filter(|&cell| region.contains(&cells[cell]))
                .fold(0, |m, cell| m | 1_u128 << cell)
        };
        let mut boxes: Vec<(u128, usize)> = Vec::new();
        for (first, low) in cells.iter().enumerate() {
            for high in &cells[first..] {
                let hull = space.hull(low, high);
                if !others.iter().any(|other| space.intersects(&hull, other)) {
                    boxes.push((mask(&hull), space.cost(&hull)));
                }
            }
        }
        boxes.sort_unstable_by_key(|&(cells, cost)| {
            (cost, std::cmp::Reverse(cells.count_ones()), cells)
        });
        boxes.dedup();
        let all = own.iter().fold(0, |all, region| all | mask(region));
        let mut maximal: Vec<(u128, usize)> = Vec::new();
        for (cells, cost) in boxes {
            if !maximal.iter().any(|(other, _)| cells & !other == 0) {
                maximal.push((cells, cost));
            }
        }
        (Oracle { boxes: maximal, best: usize::MAX }, all)
    }

    fn search(&mut self, open: u128, cost_so_far: usize) {
        if open == 0 {
            self.best = self.best.min(cost_so_far);
        } else if cost_so_far < self.best {
            let cell = open & open.wrapping_neg();
            for at in 0..self.boxes.len() {
                let (cells, cost) = self.boxes[at];
                if cells & cell != 0 {
                    self.search(open & !cells, cost_so_far + cost);
                }
            }
        }
    }
}

/// On small trees the cover is hardly ever longer than the shortest of all, and never shorter.
#[test]
fn covers_are_nearly_the_shortest() {
    let (mut found, mut optimal, mut equal, mut tried) = (0, 0, 0, 0);
    for seed in 0..300 {
        let (tree, schema) = small(seed, 7);
        let (space, regions) = TreeSpace::new(&tree, &schema);
        let (own, others) = (boxes(&tree, &regions, 0.0), boxes(&tree, &regions, 1.0));
        if own.is_empty() || others.is_empty() {
            continue;
        }
        let (mut oracle, all) = Oracle::new(&space, &own, &others);
        oracle.search(all, 0);
        let task = CoverProblem { space: &space, own, others };
        let (conditions, _) = task.size(&task.cover());
        assert!(
            conditions >= oracle.best,
            "{seed}: {conditions} conditions are fewer than the fewest"
        );
        tried += 1;
        equal += usize::from(conditions == oracle.best);
        (found, optimal) = (found + conditions, optimal + oracle.best);
    }
    // As many trees as ever are covered with the fewest conditions, and the other one with two more
    // than that.
    assert_eq!((tried, optimal), (275, 930));
    assert!(equal >= 274 && found <= 932, "{equal} of {tried}, {found} conditions for {optimal}");
}

/// A tree too large to read still becomes rules that agree with it.
#[test]
fn large_trees_agree_too() {
    let model = single(11, 7, 700);
    let tree = model.single_tree().unwrap();
    let rules = tree.rules(RuleMerge::Cover).unwrap();
    check_agreement(&model, &rules, 5);
    assert!(rules.size().conditions < rules.paths.conditions / 2);
}

fn number(name: &str) -> Feature {
    Feature { name: name.into(), kind: Kind::Number }
}

fn node(split: Split, left: Child, right: Child) -> Node {
    Node { split, left, right, gain: 1.0, cover: 1.0 }
}

fn above(feature: u32, threshold: f64, missing_right: bool) -> Split {
    Split { feature, test: Test::Above(threshold), missing_right }
}

/// Two classes over age, a colour and a dose, with covers of whole rows.
pub(crate) fn worked() -> Model {
    let colour =
        Kind::Category { levels: ["red", "green", "blue", "a or b"].map(String::from).to_vec() };
    let features =
        vec![number("age"), Feature { name: "colour".into(), kind: colour }, number("dose")];
    let colours =
        Split { feature: 1, test: Test::In([0, 2].into_iter().collect()), missing_right: false };
    let nodes = vec![
        node(above(0, 30.0, true), Child::Node(1), Child::Node(2)),
        node(colours.clone(), Child::Leaf(0), Child::Leaf(1)),
        node(above(2, 1.5, true), Child::Leaf(2), Child::Node(3)),
        node(colours, Child::Leaf(3), Child::Leaf(4)),
    ];
    // Logits of 0.2, 0.8, 0.1, 0.2, 0.8.
    let leaf = |share: f64, cover| Leaf { value: (share / (1.0 - share)).ln(), cover };
    let leaves =
        vec![leaf(0.2, 100.0), leaf(0.8, 50.0), leaf(0.1, 40.0), leaf(0.2, 10.0), leaf(0.8, 50.0)];
    let target =
        Target { name: "ill".into(), kind: TargetKind::Classes(vec!["no".into(), "yes".into()]) };
    Model {
        schema: Schema { features, target, dates: Vec::new() },
        link: Link::Sigmoid,
        objective: "logistic".into(),
        base: vec![0.0],
        body: Body::Trees(vec![Member {
            output: 0,
            shape: Shape::Ordinary(Tree { nodes, leaves }),
        }]),
        provenance: Provenance { rows: 250, ..Provenance::default() },
        calibration: Calibration::default(),
    }
}

/// By hand: "no" is any other colour than red and blue, or both age above 30 and dose at most 1.5:
/// three conditions. "yes" would need four, so it is the default. The first rule holds for leaves
/// 0 and 3 and cuts through leaf 2.
#[test]
fn the_worked_example() {
    let model = worked();
    assert_eq!(model.check(), Ok(()));
    let tree = model.single_tree().unwrap();
    let rules = tree.rules(RuleMerge::Cover).unwrap();
    check_agreement(&model, &rules, 1);
    assert_eq!(rules.paths, RuleSetSize { rules: 5, conditions: 12 });
    let text = rules.to_string();
    let expected = "\
# 2 rules with 3 conditions and a default rule; the 5 leaf paths had 12 conditions
# the order does not matter: rules with different predictions never match the same row
# statistics are those of the 250 training rows in the leaves
# categories that are not in the training data count as missing

IF colour is green or \"a or b\" or missing THEN no (confidence about 80 %, 110 to 150 rows, lift 1.39)
IF age is above 30 or missing AND dose is at most 1.5 THEN no (confidence 90 %, 40 rows, lift 1.56)
OTHERWISE yes (confidence 80 %, 100 rows, lift 1.89)
";
    assert_eq!(text, expected);
}

/// Support, confidence and lift of the worked example, counted by hand on six rows.
#[test]
fn statistics_are_counted() {
    let model = worked();
    let tree = model.single_tree().unwrap();
    let mut rules = tree.rules(RuleMerge::Cover).unwrap();
    let mut counts = rules.empty_counts();
    // Age, colour, dose, class and weight.
    let data = [
        (20.0, 0, 9.0, 1.0, 1.0),     // none
        (20.0, 2, 0.0, 0.0, 1.0),     // none
        (40.0, 0, 2.0, 1.0, 2.0),     // none
        (40.0, 1, 1.0, 0.0, 1.0),     // both rules
        (f64::NAN, 3, 2.0, 1.0, 2.0), // the first
        (40.0, 0, 1.0, 0.0, 1.0),     // the second
    ];
    for (age, colour, dose, class, weight) in data {
        let row =
            [FeatureValue::Number(age), FeatureValue::Category(colour), FeatureValue::Number(dose)];
        rules.count_row(&mut counts, |feature| row[feature as usize], class, weight);
    }
    rules.set_counts(&counts);
    assert!(rules.counted_on_data && rules.rows == Some(6.0));
    let stats = |confidence: f64, support: f64, base: f64| RuleStats {
        support,
        max_support: support,
        confidence: Some(confidence),
        lift: Some(confidence / base),
        error: None,
    };
    // Three of eight are "no".
    assert_eq!(rules.rules[0].stats, stats(1.0 / 3.0, 3.0 / 8.0, 3.0 / 8.0));
    assert_eq!(rules.rules[1].stats, stats(1.0, 2.0 / 8.0, 3.0 / 8.0));
    assert_eq!(rules.default_rule.stats, stats(0.75, 4.0 / 8.0, 5.0 / 8.0));
}

/// Leaves with equal numbers merge, and a leaf that no row reaches has no rule.
#[test]
fn numbers_merge_and_unreachable_leaves_vanish() {
    let nodes = vec![
        node(above(0, 0.0, false), Child::Node(1), Child::Leaf(2)),
        // Above 5 after at most 0: no input, not even a missing value.
        node(above(0, 5.0, false), Child::Leaf(0), Child::Leaf(1)),
    ];
    let leaves = [1.0, 7.0, 2.0].map(|value| Leaf { value, cover: 1.0 }).to_vec();
    let mut model = worked();
    model.schema.features = vec![number("x")];
    model.schema.target.kind = TargetKind::Number;
    model.link = Link::Identity;
    model.body =
        Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(Tree { nodes, leaves }) }]);
    let tree = model.single_tree().unwrap();
    let rules = tree.rules(RuleMerge::Cover).unwrap();
    check_agreement(&model, &rules, 2);
    assert_eq!(rules.size(), RuleSetSize { rules: 1, conditions: 1 });
    assert_eq!(
        rules.rules[0].conditions[0].values,
        ValueSet::Interval { above: Some(0.0), at_most: None }
    );
    assert_eq!(
        (rules.rules[0].prediction, rules.default_rule.prediction),
        (RulePrediction::Number(2.0), RulePrediction::Number(1.0))
    );
}

#[test]
fn large_grids_are_refused() {
    let features: Vec<Feature> = (0..20).map(|at| number(&format!("x{at}"))).collect();
    let chain = |at: u32| {
        node(
            above(at, 0.0, at.is_multiple_of(2)),
            Child::Leaf(at),
            if at < 19 { Child::Node(at + 1) } else { Child::Leaf(20) },
        )
    };
    let leaves = (0..21).map(|at| Leaf { value: f64::from(at % 3), cover: 1.0 }).collect();
    let mut model = worked();
    model.schema.features = features;
    (model.schema.target.kind, model.link) = (TargetKind::Number, Link::Identity);
    let tree = Tree { nodes: (0..20).map(chain).collect(), leaves };
    model.body = Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree) }]);
    assert_eq!(model.check(), Ok(()));
    let tree = model.single_tree().unwrap();
    assert_eq!(
        tree.rules(RuleMerge::Cells).unwrap_err(),
        RulesError::Grid { cells: 1048576.0, limit: 16384 }
    );
    check_agreement(&model, &tree.rules(RuleMerge::Cover).unwrap(), 3);
}

/// A hand-made grid of 2 by 3 cells: `a` above 0 is one prediction for b at most 1, and so on; merged
/// cells are known.
#[test]
fn cells_merge_as_published() {
    let nodes = vec![
        node(above(0, 0.0, true), Child::Node(1), Child::Node(2)),
        node(above(1, 1.0, true), Child::Leaf(0), Child::Leaf(1)),
        node(above(1, 2.0, true), Child::Leaf(2), Child::Leaf(3)),
    ];
    let leaves = [1.0, 2.0, 2.0, 1.0].map(|value| Leaf { value, cover: 1.0 }).to_vec();
    let mut model = worked();
    model.schema.features = vec![number("a"), number("b")];
    (model.schema.target.kind, model.link) = (TargetKind::Number, Link::Identity);
    model.body =
        Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(Tree { nodes, leaves }) }]);
    let tree = model.single_tree().unwrap();
    let merged = tree.rules(RuleMerge::Cells).unwrap();
    check_agreement(&model, &merged, 4);
    // Cells of prediction 1: (a <= 0, b <= 1) and (a > 0, b > 2), which nothing adjoins. The least
    // cell of prediction 2, (a <= 0, 1 < b <= 2), adjoins (a <= 0, b > 2) and (a > 0, 1 < b <= 2); the
    // former comes first, and the latter is then combined with (a > 0, b <= 1).
    assert_eq!(merged.default_rule.prediction, RulePrediction::Number(1.0));
    let describe = |rule: &DecisionRule| -> Vec<(u32, ValueSet)> {
        rule.conditions.iter().map(|one| (one.feature, one.values.clone())).collect()
    };
    let interval = |above, at_most| ValueSet::Interval { above, at_most };
    let rules: Vec<_> = merged.rules.iter().map(describe).collect();
    let expected = [
        vec![(0, interval(None, Some(0.0))), (1, interval(Some(1.0), None))],
        vec![(0, interval(Some(0.0), None)), (1, interval(None, Some(2.0)))],
    ];
    assert_eq!(rules, expected);
    assert_eq!(merged.size(), RuleSetSize { rules: 2, conditions: 4 });
}
