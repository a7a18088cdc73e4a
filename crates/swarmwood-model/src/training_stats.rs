//! What is known of the training rows: how many reached each leaf, and how the values of features
//! were distributed. Not used to predict.

/// Counts of training rows. All lists are empty in models that were not trained here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrainingStats {
    /// One entry per tree.
    pub leaf_rows: Vec<LeafRows>,
    /// The features that the model uses, in ascending order.
    pub distributions: Vec<Distribution>,
}

/// How many training rows reached each leaf of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct LeafRows {
    /// Leaf after leaf: one count per class, or a single one for regression.
    pub counts: Vec<u64>,
}

/// How many training rows had which values of a feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Position in [`Schema::features`](crate::Schema::features).
    pub feature: u32,
    /// Numbers: ascending edges between bins; a value belongs to the first bin whose edge is not
    /// less than it. Categories have none.
    pub edges: Vec<f64>,
    /// Rows by bin, one more than there are edges, or by level.
    pub counts: Vec<u64>,
    /// Rows without a value.
    pub missing: u64,
}

impl TrainingStats {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.leaf_rows.is_empty() && self.distributions.is_empty()
    }

    /// The rows of a leaf by class, or their number for regression; `None` if they were not counted.
    pub fn leaf(&self, tree: usize, leaf: usize, classes: usize) -> Option<&[u64]> {
        let width = classes.max(1);
        self.leaf_rows.get(tree)?.counts.get(leaf * width..(leaf + 1) * width)
    }
}

impl Distribution {
    /// The bin of a number.
    pub fn bin(&self, value: f64) -> usize {
        self.edges.partition_point(|&edge| edge < value)
    }

    /// The population stability index of other rows, given by their counts in the same bins and
    /// their missing values: Σ (q - p) ln(q / p) over the shares p of training rows and q of the
    /// others. Half a row is added to every count, so that empty bins have a logarithm.
    ///
    /// ```
    /// use swarmwood_model::Distribution;
    /// let trained = Distribution { feature: 0, edges: vec![5.0], counts: vec![50, 50], missing: 0 };
    /// assert_eq!(trained.stability_index(&[500, 500], 0).map(|psi| psi < 1e-4), Some(true));
    /// assert!(trained.stability_index(&[900, 100], 0).is_some_and(|psi| psi > 0.8));
    /// ```
    pub fn stability_index(&self, counts: &[u64], missing: u64) -> Option<f64> {
        if counts.len() != self.counts.len() {
            return None;
        }
        // Missing values are one more bin where there are any.
        let has_missing = self.missing + missing > 0;
        let extra = |missing: u64| has_missing.then_some(missing);
        let shares = |counts: &[u64], missing: u64| -> Vec<f64> {
            let all: Vec<f64> = counts
                .iter()
                .copied()
                .chain(extra(missing))
                .map(|count| count as f64 + 0.5)
                .collect();
            let total: f64 = all.iter().sum();
            all.into_iter().map(|count| count / total).collect()
        };
        let (old, new) = (shares(&self.counts, self.missing), shares(counts, missing));
        Some(old.iter().zip(&new).map(|(p, q)| (q - p) * (q / p).ln()).sum())
    }
}
