//! The index table: the rules a particle may be made of, each known by its number.
//!
//! A particle of swarm boosting is a sequence of numbers, and each stands for a rule "feature above
//! threshold" in this table (Rao 2022, section 5.1, tables 4 and 5). There are three sources: every
//! distinct value ([`RuleTable::distinct`], SGBDT), the boundaries of bins ([`RuleTable::bins`],
//! SGBDT-bins), and the splits of trees that were grown before ([`RuleTable::pretrained`], PSGBDT).
//!
//! Where this differs from the paper:
//! - Rules are cuts between the bins of the layout, so `distinct` has all values of a number only in
//!   a layout that tells them all apart (`Layout::fit_distinct`), whose codes are as wide as they
//!   need. Thresholds lie midway between values, where the paper takes the values themselves.
//! - Rules stand in ascending order of their thresholds; the paper's table 5 takes values as they
//!   come.
//! - The paper's data have no missing values and no categories. Here a missing value fails every
//!   test, except that of the greatest value of a feature, which asks whether the value is missing.
//!   A category has one rule a level, "is it this one", or a single one if there are but two; the
//!   rarest of more than 255 levels share a rule.

use std::ops::Range;

use swarmwood_learn::binned_tree::BinnedTree;
use swarmwood_learn::bins::layout::{FeatureBins, FeaturePlace};
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::rule::{Code, Cut, Rule};

/// Numbered rules, feature after feature.
///
/// ```
/// use swarmwood_learn::bins::Layout;
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_learn::{dataset::Dataset, pool::Pool};
/// use swarmwood_papers::rule_table::RuleTable;
/// use swarmwood_model::{Feature, Kind};
///
/// let features = ["a", "b"].map(|name| Feature { name: name.into(), kind: Kind::Number });
/// let columns = vec![Column::Number(vec![1.0, 2.0, 3.0]), Column::Number(vec![5.0, 7.0, 5.0])];
/// let chunk = Chunk { columns, target: vec![0.0; 3], weight: Vec::new(), rows: 3 };
/// let pool = Pool::new(1)?;
/// let data = Dataset::from_chunk(&chunk, Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool), &pool);
///
/// let table = RuleTable::distinct(&data);
/// assert_eq!(table.len(), 3 + 2);
/// assert_eq!(table.groups()[1].rules, 3..5);
/// assert_eq!(table.rule(4).and_then(|rule| table.index_of(rule)), Some(4));
/// assert_eq!(RuleTable::bins(&data).len(), 2 + 1);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RuleTable<C: Code = u8> {
    rules: Vec<Rule<C>>,
    groups: Vec<FeatureRules>,
    /// Whether some training row misses the feature: only then does a rule's side for missing
    /// values matter.
    missed: Vec<bool>,
}

/// The rules of one feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureRules {
    /// The feature's position in the schema.
    pub feature: u32,
    /// The numbers of its rules.
    pub rules: Range<u32>,
}

impl<C: Code> RuleTable<C> {
    /// A rule for every value: it parts this value and lower ones from higher ones. The greatest
    /// value of a feature has a rule too, as in the paper's table 5, so that the length is the
    /// paper's `n` (section 5.4, table 11); the rule parts missing values from all others, and
    /// nothing where none is missing.
    pub fn distinct(data: &Dataset<C>) -> Self {
        Self::of_layout(data, |_| true)
    }

    /// A rule for every boundary between two bins. The question whether a value is missing is asked
    /// of the features that some row misses.
    pub fn bins(data: &Dataset<C>) -> Self {
        Self::of_layout(data, |missed| missed)
    }

    /// The table with more rules; those that no row can tell from one of its own are left out. The
    /// numbers of rules that follow a new one change.
    #[must_use]
    pub fn with(self, more: impl IntoIterator<Item = Rule<C>>) -> Self {
        let mut rules = self.rules;
        rules.extend(more);
        Self::new(rules, self.missed)
    }

    /// A table of these rules, whose bins must be those of the data set.
    pub fn of_rules(data: &Dataset<C>, rules: impl IntoIterator<Item = Rule<C>>) -> Self {
        Self::new(rules.into_iter().collect(), missed_features(data))
    }

    fn of_layout(data: &Dataset<C>, ask_missing: impl Fn(bool) -> bool) -> Self {
        let missed = missed_features(data);
        let mut rules = Vec::new();
        for (at, bins) in data.layout.features().iter().enumerate() {
            if data.layout.places()[at] == FeaturePlace::Dropped {
                continue;
            }
            let (feature, count) = (at as u32, bins.bins());
            match bins {
                FeatureBins::Number(edges) => {
                    let cut = |code: usize| Rule {
                        feature,
                        cut: Cut::Above(C::from_index(code)),
                        missing_right: code == count,
                    };
                    rules.extend((1..count).map(cut));
                    // No threshold lies above an infinite value.
                    if edges.bounded() && ask_missing(missed[at]) {
                        rules.push(cut(count));
                    }
                }
                FeatureBins::Category(_) => {
                    // Of two levels, each is the other's complement; one alone differs from missing
                    // values only.
                    let levels = if count == 2 && !missed[at] { 1..=1 } else { 1..=count };
                    rules.extend(levels.map(|code| Rule {
                        feature,
                        cut: Cut::In([C::from_index(code)].into_iter().collect()),
                        missing_right: false,
                    }));
                }
            }
        }
        Self::new(rules, missed)
    }

    fn new(mut rules: Vec<Rule<C>>, missed: Vec<bool>) -> Self {
        rules.sort_by_key(|rule| told(rule, &missed));
        rules.dedup_by_key(|rule| told(rule, &missed));
        let mut groups: Vec<FeatureRules> = Vec::new();
        for (at, rule) in (0u32..).zip(&rules) {
            match groups.last_mut() {
                Some(last) if last.feature == rule.feature => last.rules.end = at + 1,
                _ => groups.push(FeatureRules { feature: rule.feature, rules: at..at + 1 }),
            }
        }
        RuleTable { rules, groups, missed }
    }

    /// How many rules there are: the paper's `n`.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none: then every feature is constant, or no tree has a node.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules in the order of their numbers.
    pub fn rules(&self) -> &[Rule<C>] {
        &self.rules
    }

    /// The rule of a number.
    pub fn rule(&self, index: u32) -> Option<&Rule<C>> {
        self.rules.get(index as usize)
    }

    /// The number of a rule, or of one that no training row can tell from it.
    pub fn index_of(&self, rule: &Rule<C>) -> Option<u32> {
        let wanted = told(rule, &self.missed);
        self.rules
            .binary_search_by_key(&wanted, |rule| told(rule, &self.missed))
            .ok()
            .map(|at| at as u32)
    }

    /// The rules by feature, ascending, for the two-level draw of the paper's algorithm 4: a
    /// feature, then one of its rules.
    pub fn groups(&self) -> &[FeatureRules] {
        &self.groups
    }
}

impl RuleTable {
    /// The distinct rules of trees, whose bins must be those of the data set. Of rules that differ
    /// only in their side for missing values, and that no row can therefore tell apart, the first
    /// counts.
    pub fn pretrained(data: &Dataset, trees: &[BinnedTree]) -> Self {
        RuleTable::of_rules(data, trees.iter().flat_map(|tree| &tree.nodes).map(|node| node.rule))
    }
}

/// The rule as far as training rows can tell: the side of missing values counts only where there
/// are some.
fn told<C: Code>(rule: &Rule<C>, missed: &[bool]) -> Rule<C> {
    let matters = missed.get(rule.feature as usize).copied().unwrap_or(true);
    Rule { missing_right: rule.missing_right && matters, ..rule.clone() }
}

/// Which features some row misses. A feature that shares a column never is missing.
fn missed_features<C: Code>(data: &Dataset<C>) -> Vec<bool> {
    let missed = |place: &FeaturePlace| match *place {
        FeaturePlace::Alone { column } => data.is_missed(column),
        FeaturePlace::Bundled { .. } | FeaturePlace::Dropped => false,
    };
    data.layout.places().iter().map(missed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_learn::binned_tree::BinnedSplit;
    use swarmwood_learn::bins::Layout;
    use swarmwood_learn::data::{Chunk, Column, MISSING};
    use swarmwood_learn::pool::Pool;
    use swarmwood_learn::rule::BinRule;
    use swarmwood_model::{Child, Feature, Kind};

    fn dataset(columns: Vec<Column>, kinds: Vec<Kind>) -> Dataset {
        let rows = columns[0].len();
        let feature = |(at, kind): (usize, Kind)| Feature { name: format!("F{}", at + 1), kind };
        let features: Vec<Feature> = kinds.into_iter().enumerate().map(feature).collect();
        let chunk = Chunk { columns, target: vec![0.0; rows], weight: Vec::new(), rows };
        let pool = Pool::new(1).unwrap();
        let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
        Dataset::from_chunk(&chunk, layout, &pool)
    }

    fn numbers(columns: &[&[f64]]) -> Dataset {
        let kinds = vec![Kind::Number; columns.len()];
        dataset(columns.iter().map(|values| Column::Number(values.to_vec())).collect(), kinds)
    }

    /// Table 3 of the paper.
    fn table_3() -> Dataset {
        numbers(&[&[0.1, 0.2, 0.3, 0.8], &[100.0, 100.0, 130.0, 199.0], &[-1.8, 2.1, 3.4, -1.7]])
    }

    /// The rule that the paper writes as `(feature, value)`.
    fn above(data: &Dataset, feature: u32, value: f64) -> BinRule {
        let FeatureBins::Number(edges) = &data.layout.features()[feature as usize] else {
            unreachable!()
        };
        BinRule { feature, cut: Cut::Above(edges.code(value)), missing_right: false }
    }

    #[test]
    fn the_tree_of_section_5_1_is_the_sequence_of_the_paper() {
        let data = table_3();
        let table = RuleTable::distinct(&data);
        assert_eq!(table.len(), 11, "table 5");
        // Breadth first; the paper's "(F3, 0.3)" is a slip for (F1, 0.3), the only value 0.3 there
        // is.
        let tree = [(1, 130.0), (0, 0.8), (0, 0.2), (0, 0.1), (0, 0.3), (1, 100.0), (2, -1.8)];
        let sequence: Vec<u32> = tree
            .iter()
            .map(|&(feature, value)| table.index_of(&above(&data, feature, value)).unwrap())
            .collect();
        assert_eq!(sequence, [5, 3, 1, 0, 2, 4, 7]);
        let rules: Vec<BinRule> =
            sequence.iter().map(|&index| *table.rule(index).unwrap()).collect();
        for (rule, (feature, value)) in rules.iter().zip(tree) {
            assert_eq!((rule.feature, rule.cut), (feature, above(&data, feature, value).cut));
        }
    }

    #[test]
    fn groups_hold_every_rule_once() {
        let table = RuleTable::distinct(&table_3());
        let spans: Vec<(u32, Range<u32>)> =
            table.groups().iter().map(|group| (group.feature, group.rules.clone())).collect();
        assert_eq!(spans, [(0, 0..4), (1, 4..7), (2, 7..11)]);
        for (feature, span) in spans {
            assert!(span.clone().all(|index| table.rule(index).unwrap().feature == feature));
        }
        assert_eq!(table.rule(11), None);
    }

    #[test]
    fn bins_are_boundaries_and_ask_about_missing_values_where_there_are_some() {
        let data =
            numbers(&[&[1.0, 2.0, f64::NAN, 3.0], &[4.0, 5.0, 6.0, 7.0], &[9.0, 9.0, 9.0, 9.0]]);
        let table = RuleTable::bins(&data);
        let lengths: Vec<(u32, usize)> =
            table.groups().iter().map(|group| (group.feature, group.rules.len())).collect();
        assert_eq!(lengths, [(0, 3), (1, 3)], "the constant has none");
        assert_eq!(
            table.rule(2),
            Some(&BinRule { feature: 0, cut: Cut::Above(3), missing_right: true })
        );
        // No threshold above infinity.
        let data = numbers(&[&[1.0, 2.0, f64::NAN, f64::INFINITY]]);
        assert_eq!(RuleTable::bins(&data).len(), 2);
        assert_eq!(RuleTable::distinct(&data).len(), 2);
    }

    #[test]
    fn categories_have_a_rule_a_level() {
        let levels = |count: usize| Kind::Category {
            levels: (0..count).map(|level| level.to_string()).collect(),
        };
        let three = Column::Category(vec![0, 1, 2, 1]);
        let two = Column::Category(vec![0, 1, 1, 0]);
        let two_and_missing = Column::Category(vec![0, 1, MISSING, 0]);
        let data =
            dataset(vec![three, two, two_and_missing], vec![levels(3), levels(2), levels(2)]);
        let table = RuleTable::bins(&data);
        let lengths: Vec<usize> = table.groups().iter().map(|group| group.rules.len()).collect();
        assert_eq!(lengths, [3, 1, 2]);
        for (index, rule) in (0..).zip(table.rules()) {
            assert_eq!(table.index_of(rule), Some(index));
        }
    }

    #[test]
    fn pretrained_keeps_each_rule_that_rows_can_tell_once() {
        let data = numbers(&[&[1.0, 2.0, f64::NAN, 3.0], &[4.0, 5.0, 6.0, 7.0]]);
        let rule = |feature, code, missing_right| BinRule {
            feature,
            cut: Cut::Above(code),
            missing_right,
        };
        let tree = |rules: &[BinRule]| {
            let node = |&rule: &BinRule| BinnedSplit {
                rule,
                left: Child::Leaf(0),
                right: Child::Leaf(0),
                gain: 0.0,
                cover: 0.0,
            };
            BinnedTree { nodes: rules.iter().map(node).collect(), ..BinnedTree::default() }
        };
        let trees = [
            tree(&[rule(1, 2, true), rule(0, 1, false)]),
            tree(&[rule(0, 1, true), rule(1, 2, false), rule(1, 1, false), rule(0, 1, true)]),
        ];
        let table = RuleTable::pretrained(&data, &trees);
        assert_eq!(
            table.rules(),
            [rule(0, 1, false), rule(0, 1, true), rule(1, 1, false), rule(1, 2, true)]
        );
        assert_eq!(table.index_of(&rule(1, 2, false)), Some(3), "no row misses the second feature");
        assert_eq!(table.index_of(&rule(0, 2, false)), None);
        assert!(RuleTable::pretrained(&data, &[]).is_empty());
        let more = table.clone().with([rule(1, 2, false), rule(0, 2, false)]);
        assert_eq!(more.len(), table.len() + 1, "one of them cannot be told from the last rule");
        assert_eq!(more.index_of(&rule(0, 2, false)), Some(2));
    }
}
