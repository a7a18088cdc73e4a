//! What a model must satisfy beside fitting its rows: one value that every learner is handed.
//!
//! Features are those of the schema, not of a layout of bins, which may have several for a number.

use swarmwood_model::Tree;
use swarmwood_model::monotone::{Direction, neighbours};

use crate::given_splits::GivenSplits;
use crate::isotonic::PartialOrder;

/// The constraints of a run.
///
/// ```
/// use swarmwood_learn::constraints::Constraints;
/// use swarmwood_model::monotone::Direction;
///
/// let constraints = Constraints::default().with_monotone(vec![None, Some(Direction::Increasing)]);
/// assert_eq!(constraints.direction(1), Some(Direction::Increasing));
/// assert!(Constraints::NONE.direction(1).is_none() && !Constraints::NONE.has_monotone());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Constraints {
    /// The direction of each feature; features beyond the end have none.
    monotone: Vec<Option<Direction>>,
    /// Groups of features, ascending; features may be on one path only if a group holds all of
    /// them. None if there are no groups.
    interactions: Vec<Vec<usize>>,
    /// The top of every tree.
    given: GivenSplits,
}

impl Constraints {
    /// No constraints.
    pub const NONE: &'static Constraints =
        &Constraints { monotone: Vec::new(), interactions: Vec::new(), given: GivenSplits::NONE };

    /// With the direction of each feature; features beyond the end have none.
    #[must_use]
    pub fn with_monotone(mut self, directions: Vec<Option<Direction>>) -> Self {
        self.monotone = directions;
        self
    }

    /// With groups of features: those on one path from the root of a tree to a leaf must all be in
    /// one group. Features that are in no group are not used.
    ///
    /// ```
    /// use swarmwood_learn::constraints::Constraints;
    ///
    /// let constraints = Constraints::default().with_interactions(vec![vec![0, 1], vec![2, 1]]);
    /// assert!(constraints.allows_together(&[1, 2]) && !constraints.allows_together(&[0, 2]));
    /// ```
    #[must_use]
    pub fn with_interactions(mut self, mut groups: Vec<Vec<usize>>) -> Self {
        groups.iter_mut().for_each(|group| group.sort_unstable());
        self.interactions = groups;
        self
    }

    /// With splits that every tree begins with.
    #[must_use]
    pub fn with_given_splits(mut self, splits: GivenSplits) -> Self {
        self.given = splits;
        self
    }

    /// The splits that every tree begins with.
    pub fn given_splits(&self) -> &GivenSplits {
        &self.given
    }

    /// The groups of features, ascending; none if all features may interact.
    pub fn interactions(&self) -> &[Vec<usize>] {
        &self.interactions
    }

    /// Whether some features may be on one path.
    pub fn allows_together(&self, features: &[usize]) -> bool {
        let holds = |group: &Vec<usize>| {
            features.iter().all(|feature| group.binary_search(feature).is_ok())
        };
        self.interactions.is_empty() || self.interactions.iter().any(holds)
    }

    /// The direction of a feature of the schema.
    pub fn direction(&self, feature: usize) -> Option<Direction> {
        self.monotone.get(feature).copied().flatten()
    }

    /// The order of the leaves of a tree in which it is monotone.
    pub(crate) fn leaf_order(&self, tree: &Tree) -> PartialOrder {
        let mut features: Vec<u32> = tree.nodes.iter().map(|node| node.split.feature).collect();
        features.sort_unstable();
        features.dedup();
        features.retain(|&feature| self.direction(feature as usize).is_some());
        if features.is_empty() {
            return PartialOrder::default();
        }
        let mut pairs = Vec::new();
        for (&feature, ascending) in features.iter().zip(neighbours(tree, &features)) {
            match self.direction(feature as usize) {
                Some(Direction::Decreasing) => {
                    pairs.extend(ascending.into_iter().map(|(low, high)| (high, low)));
                }
                _ => pairs.extend(ascending),
            }
        }
        PartialOrder::new(pairs)
    }

    /// Whether any feature has a direction.
    pub fn has_monotone(&self) -> bool {
        self.monotone.iter().any(Option::is_some)
    }
}
