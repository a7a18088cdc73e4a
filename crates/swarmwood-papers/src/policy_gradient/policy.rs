//! The policy: probabilities of the next rule of a sequence, given the rules before it.
//!
//! A rule is chosen in three steps: a feature, one of at most [`MAX_BUCKETS`] ranges of the
//! feature's rules, and a rule of the range, all alike. The first two probabilities come from the
//! network, so that its size does not depend on the number of rules.
//!
//! The network sees the number of the tree, the place of the rule in the tree, and the path from
//! the root to that place: for each rule on it the feature, the side taken, and where among the
//! feature's rules it lies.

use swarmwood_search::rng::Stream;

use super::network::Network;

/// Ranges of a feature's rules.
pub(super) const MAX_BUCKETS: usize = 32;

/// The shape of a sequence of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceShape {
    /// Number of trees.
    pub trees: usize,
    /// Rules of each.
    pub rules_per_tree: usize,
    /// Whether the rules of a tree are its nodes in heap order; otherwise each is a level of an
    /// oblivious tree.
    pub is_heap: bool,
}

impl SequenceShape {
    /// Number of rules of a sequence.
    pub fn length(&self) -> usize {
        self.trees * self.rules_per_tree
    }
}

/// Consecutive rules of one feature.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FeatureGroup {
    first: u32,
    rules: usize,
    buckets: usize,
}

impl FeatureGroup {
    /// The range that a rule, counted from the first of the feature, lies in.
    fn bucket_of(&self, offset: usize) -> usize {
        offset * self.buckets / self.rules
    }

    /// The first rule of a range, counted from the first of the feature.
    fn start_of(&self, bucket: usize) -> usize {
        (bucket * self.rules).div_ceil(self.buckets)
    }
}

/// Probabilities of sequences of rules.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RulePolicy {
    shape: SequenceShape,
    groups: Vec<FeatureGroup>,
    pub(super) network: Network,
}

/// How one rule was chosen.
struct RuleDecision {
    group: usize,
    bucket: usize,
    rule: u32,
}

impl RulePolicy {
    /// A policy over a table with groups of these sizes. At first it draws a feature and then one
    /// of its rules, all alike, or, with `uniform`, all rules of the table alike.
    pub(super) fn new(
        shape: SequenceShape,
        group_sizes: &[usize],
        uniform: bool,
        hidden: usize,
        stream: Stream,
    ) -> Self {
        let mut groups = Vec::with_capacity(group_sizes.len());
        let mut first = 0;
        for &rules in group_sizes.iter().filter(|&&rules| rules > 0) {
            groups.push(FeatureGroup { first, rules, buckets: rules.min(MAX_BUCKETS) });
            first += rules as u32;
        }

        let inputs = shape.trees + shape.rules_per_tree + 2 * groups.len();
        let outputs = [groups.len()].into_iter().chain(groups.iter().map(|group| group.buckets));
        let mut network = Network::new(inputs, hidden, outputs, stream);
        for (at, group) in groups.iter().enumerate() {
            if uniform {
                network.raise(0, at, (group.rules as f64).ln());
            }
            // Ranges differ in size by one rule at most; all rules of a feature are alike.
            for bucket in 0..group.buckets {
                let size = group.start_of(bucket + 1) - group.start_of(bucket);
                network.raise(at + 1, bucket, (size as f64).ln());
            }
        }
        RulePolicy { shape, groups, network }
    }

    /// Draws a sequence.
    pub(super) fn sample(&self, stream: &mut Stream) -> Vec<u32> {
        let mut sequence = Vec::with_capacity(self.shape.length());
        for _ in 0..self.shape.length() {
            let hidden = self.network.hidden(&self.inputs(&sequence));
            let at = draw(&self.network.log_probabilities(0, &hidden), stream);
            let bucket = draw(&self.network.log_probabilities(at + 1, &hidden), stream);

            let group = &self.groups[at];
            let (start, end) = (group.start_of(bucket), group.start_of(bucket + 1));
            let offset = start + stream.below((end - start) as u64) as usize;
            sequence.push(group.first + offset as u32);
        }
        sequence
    }

    /// Adds to `gradient` the gradient of `-advantage ln π(sequence) - entropy_weight H`, where `H`
    /// is the sum of the entropies of the choices of feature and range.
    pub(super) fn accumulate(
        &self,
        sequence: &[u32],
        advantage: f64,
        entropy_weight: f64,
        gradient: &mut [f64],
    ) {
        for slot in 0..sequence.len() {
            let inputs = self.inputs(&sequence[..slot]);
            let hidden = self.network.hidden(&inputs);
            let decision = self.decision(sequence[slot]);

            let mut hidden_gradient = vec![0.0; hidden.len()];
            for (output, chosen) in [(0, decision.group), (decision.group + 1, decision.bucket)] {
                let logs = self.network.log_probabilities(output, &hidden);
                let slopes = logit_gradient(&logs, chosen, advantage, entropy_weight);
                self.network.backward_output(
                    output,
                    &hidden,
                    &slopes,
                    &mut hidden_gradient,
                    gradient,
                );
            }
            self.network.backward_hidden(&inputs, &hidden, &hidden_gradient, gradient);
        }
    }

    /// The logarithm of the probability of a sequence.
    #[cfg(test)]
    pub(super) fn log_probability(&self, sequence: &[u32]) -> f64 {
        let of_slot = |slot: usize| {
            let hidden = self.network.hidden(&self.inputs(&sequence[..slot]));
            let RuleDecision { group, bucket, .. } = self.decision(sequence[slot]);
            let size =
                self.groups[group].start_of(bucket + 1) - self.groups[group].start_of(bucket);
            self.network.log_probabilities(0, &hidden)[group]
                + self.network.log_probabilities(group + 1, &hidden)[bucket]
                - (size as f64).ln()
        };
        (0..sequence.len()).map(of_slot).sum()
    }

    /// Which choices lead to a rule.
    fn decision(&self, rule: u32) -> RuleDecision {
        let group = self.groups.partition_point(|group| group.first <= rule) - 1;
        let offset = (rule - self.groups[group].first) as usize;
        RuleDecision { group, bucket: self.groups[group].bucket_of(offset), rule }
    }

    /// What the network sees when the next rule is chosen.
    fn inputs(&self, sequence: &[u32]) -> Vec<(usize, f64)> {
        let SequenceShape { trees, rules_per_tree, is_heap } = self.shape;
        let (tree, place) = (sequence.len() / rules_per_tree, sequence.len() % rules_per_tree);
        let own = &sequence[tree * rules_per_tree..];
        let mut inputs = vec![(tree, 1.0), (trees + place, 1.0)];

        let features = trees + rules_per_tree;
        let mut add = |rule: u32, side: f64| {
            let RuleDecision { group, rule, .. } = self.decision(rule);
            let FeatureGroup { first, rules, .. } = self.groups[group];
            let position = (f64::from(rule - first) + 0.5) / rules as f64;
            inputs.push((features + group, side));
            inputs.push((features + self.groups.len() + group, 2.0 * position - 1.0));
        };
        if is_heap {
            let mut node = place;
            while node > 0 {
                let side = if node % 2 == 0 { 1.0 } else { -1.0 };
                node = (node - 1) / 2;
                add(own[node], side);
            }
        } else {
            own.iter().for_each(|&rule| add(rule, 1.0));
        }
        inputs
    }
}

/// The derivatives by the logits of a softmax: `p - 1[chosen]` times the advantage, and
/// `p (ln p + H)` times the weight of the entropy `H`.
fn logit_gradient(logs: &[f64], chosen: usize, advantage: f64, entropy_weight: f64) -> Vec<f64> {
    let entropy = -logs.iter().map(|log| log.exp() * log).sum::<f64>();
    let slope = |(class, log): (usize, &f64)| {
        let probability = log.exp();
        let is_chosen = f64::from(u8::from(class == chosen));
        advantage * (probability - is_chosen) + entropy_weight * probability * (log + entropy)
    };
    logs.iter().enumerate().map(slope).collect()
}

/// An index, drawn with these probabilities.
fn draw(logs: &[f64], stream: &mut Stream) -> usize {
    let mut left = stream.unit();
    for (at, log) in logs.iter().enumerate() {
        left -= log.exp();
        if left < 0.0 {
            return at;
        }
    }
    // Rounding may leave a remainder after the last.
    logs.len() - 1
}
