//! The splits that every tree begins with.

use super::GrowingTree;
use crate::bins::GivenRule;
use crate::kernels::quantise::GradientSums;
use crate::rule::BinRule;
use crate::split::SplitCandidate;
use crate::stats::{BackendError, NodeStats, SplitCommand, SplitQuery};

impl GrowingTree<'_, '_> {
    /// Makes the given splits level by level; returns the leaves below them.
    pub(super) fn make_given(&mut self) -> Result<Vec<usize>, BackendError> {
        let given = self.client.given_rules().to_vec();
        let mut leaves = Vec::new();
        let mut level: Vec<(usize, Option<usize>)> = vec![(0, (!given.is_empty()).then_some(0))];
        while !level.is_empty() {
            leaves.extend(level.iter().filter(|(_, at)| at.is_none()).map(|&(slot, _)| slot));
            let splits: Vec<(usize, GivenRule)> =
                level.iter().filter_map(|&(slot, at)| Some((slot, given[at?]))).collect();
            level = self.make_level(&splits)?;
        }
        leaves.sort_unstable();
        Ok(leaves)
    }

    /// Makes some of them; returns their children with the given split of each.
    fn make_level(
        &mut self,
        splits: &[(usize, GivenRule)],
    ) -> Result<Vec<(usize, Option<usize>)>, BackendError> {
        if splits.is_empty() {
            return Ok(Vec::new());
        }
        let rules = self.choose_missing(splits)?;
        let mut commands = Vec::with_capacity(splits.len());
        for (&(slot, _), rule) in splits.iter().zip(rules) {
            self.nodes[slot].stats.best = Some(SplitCandidate { rule, gain: 0.0 });
            commands.extend(self.add_children(slot));
            self.make_split(slot);
        }
        let (stats, _) = self.client.split(commands, SplitQuery::Each, Vec::new())?;

        let mut children = Vec::with_capacity(2 * splits.len());
        for ((slot, given), sides) in splits.iter().zip(stats) {
            let gain = self.gain_of(self.nodes[*slot].stats.sums, sides.map(|side| side.sums));
            if let Some(best) = &mut self.nodes[*slot].stats.best {
                best.gain = gain;
            }
            let slots = self.nodes[*slot].children.into_iter().flatten();
            for ((slot, stats), below) in slots.zip(sides).zip(given.children) {
                let best = stats.best.filter(|_| !self.is_deepest(self.nodes[slot].depth));
                self.nodes[slot].stats = NodeStats { best, ..stats };
                children.push((slot, below));
            }
        }
        Ok(children)
    }

    /// The rules with missing values on the side where they gain more, if that is to be chosen;
    /// without any, on the side of more rows.
    fn choose_missing(
        &mut self,
        splits: &[(usize, GivenRule)],
    ) -> Result<Vec<BinRule>, BackendError> {
        let mut rules: Vec<BinRule> = splits.iter().map(|(_, given)| given.rule).collect();
        let open: Vec<usize> =
            (0..splits.len()).filter(|&at| splits[at].1.chooses_missing).collect();
        if open.is_empty() {
            return Ok(rules);
        }

        // Slots that are split in vain stay as they are, and their children are overwritten.
        let mut sums: Vec<Vec<[GradientSums; 2]>> = Vec::with_capacity(2);
        for missing_right in [false, true] {
            let command = |(number, &at): (usize, &usize)| {
                let left = self.nodes.len() + 2 * number;
                let rule = BinRule { missing_right, ..rules[at] };
                SplitCommand { slot: splits[at].0, rule, left, right: left + 1 }
            };
            let commands = open.iter().enumerate().map(command).collect();
            let (stats, _) = self.client.split(commands, SplitQuery::Sums, Vec::new())?;
            sums.push(stats.iter().map(|sides| sides.map(|side| side.sums)).collect());
        }
        for (number, &at) in open.iter().enumerate() {
            let parent = self.nodes[splits[at].0].stats.sums;
            let [left, right] = [sums[0][number], sums[1][number]];
            rules[at].missing_right = match left == right {
                true => left[1].h > left[0].h,
                false => self.gain_of(parent, right) > self.gain_of(parent, left),
            };
        }
        Ok(rules)
    }

    /// What a split gains under a penalty towards zero; not less than nothing.
    fn gain_of(&self, parent: GradientSums, sides: [GradientSums; 2]) -> f64 {
        let lambda = self.settings.penalties.lambda;
        let score = |sums: GradientSums| match sums.h + lambda {
            divisor if divisor > 0.0 => sums.g * sums.g / divisor,
            _ => 0.0,
        };
        (0.5 * (score(sides[0]) + score(sides[1]) - score(parent))).max(0.0)
    }
}
