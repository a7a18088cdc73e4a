//! The feature space as a tree divides it, and boxes in it.
//!
//! Two values of a feature that no split of the tree separates belong to the same *atom*: for
//! numbers the interval between two neighbouring thresholds, for categories the levels that are in
//! the same sets. A missing value is treated like any other: it belongs to an atom that all splits
//! send the same way, or is an atom of its own. A box is a set of atoms per feature. There are
//! finitely many, so that whatever holds for boxes holds for every input, infinities, missing
//! values and unknown levels included.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::rules::{RuleCondition, ValueSet};
use crate::schema::{Kind, Schema};
use crate::tree::{Child, LevelSet, Split, Test, Tree};

/// A box: for each axis a set of atoms, one bit each. Never empty on any axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Region(Vec<u64>);

/// The atoms of an axis.
#[derive(Debug)]
enum AxisAtoms {
    /// Thresholds in ascending order: atom `i` has the numbers above threshold `i - 1` up to
    /// threshold `i`.
    Numbers(Vec<f64>),
    /// The levels of each atom; the last may have none.
    Levels(Vec<LevelSet>),
}

/// A feature that the tree tests.
#[derive(Debug)]
struct FeatureAxis {
    feature: u32,
    atoms: AxisAtoms,
    /// Number of atoms.
    count: usize,
    /// The atom that missing values belong to.
    missing: usize,
    /// The words of the axis in a region.
    words: Range<usize>,
}

/// The axes of a tree, in the order in which their features are first tested.
#[derive(Debug)]
pub(super) struct TreeSpace {
    axes: Vec<FeatureAxis>,
    everything: Region,
}

impl FeatureAxis {
    fn new(feature: u32, kind: &Kind, splits: &[&Split], first_word: usize) -> FeatureAxis {
        let (atoms, distinct, missing) = match kind {
            Kind::Number => {
                let thresholds = thresholds(splits);
                let atoms = thresholds.len() + 1;
                let like_missing = |atom: &usize| {
                    splits.iter().all(|split| {
                        number_passes(&thresholds, split, *atom) == split.missing_right
                    })
                };
                let missing = (0..atoms).find(like_missing).unwrap_or(atoms);
                (AxisAtoms::Numbers(thresholds), atoms, missing)
            }
            Kind::Category { levels } => {
                let mut groups: BTreeMap<Vec<bool>, Vec<u32>> = BTreeMap::new();
                for code in 0..levels.len() as u32 {
                    groups
                        .entry(splits.iter().map(|split| level_passes(split, code)).collect())
                        .or_default()
                        .push(code);
                }
                let missing_sides: Vec<bool> =
                    splits.iter().map(|split| split.missing_right).collect();
                let mut atoms: Vec<(LevelSet, bool)> = groups
                    .into_iter()
                    .map(|(sides, codes)| (codes.into_iter().collect(), sides == missing_sides))
                    .collect();
                atoms.sort_by_key(|(codes, _)| codes.iter().next());
                let missing =
                    atoms.iter().position(|(_, like_missing)| *like_missing).unwrap_or(atoms.len());
                let distinct = atoms.len();
                let mut sets: Vec<LevelSet> = atoms.into_iter().map(|(codes, _)| codes).collect();
                sets.resize(distinct.max(missing + 1), LevelSet::default());
                (AxisAtoms::Levels(sets), distinct, missing)
            }
        };

        let count = distinct.max(missing + 1);
        FeatureAxis {
            feature,
            atoms,
            count,
            missing,
            words: first_word..first_word + count.div_ceil(64),
        }
    }

    /// The atoms that pass a split on this axis.
    fn passing(&self, split: &Split) -> Vec<bool> {
        let passes = |atom: usize| match &self.atoms {
            AxisAtoms::Numbers(thresholds) if atom <= thresholds.len() => {
                number_passes(thresholds, split, atom)
            }
            AxisAtoms::Levels(sets) => sets[atom]
                .iter()
                .next()
                .map_or(split.missing_right, |code| level_passes(split, code)),
            // The atom that contains only missing values.
            AxisAtoms::Numbers(_) => split.missing_right,
        };
        (0..self.count).map(passes).collect()
    }

    /// Number of atoms that are intervals, which a box contains without a gap.
    fn interval_count(&self) -> usize {
        match &self.atoms {
            AxisAtoms::Numbers(thresholds) => thresholds.len() + 1,
            AxisAtoms::Levels(_) => 0,
        }
    }
}

/// The distinct thresholds of some splits. Zero and minus zero are the same threshold.
fn thresholds(splits: &[&Split]) -> Vec<f64> {
    let threshold = |split: &&Split| {
        if let Test::Above(threshold) = split.test { Some(threshold) } else { None }
    };
    let mut thresholds: Vec<f64> = splits.iter().filter_map(threshold).collect();
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup();
    thresholds
}

fn number_passes(thresholds: &[f64], split: &Split, atom: usize) -> bool {
    // The largest number of an atom is its upper threshold; the last atom has none and passes every
    // test.
    matches!(split.test, Test::Above(threshold) if thresholds.get(atom).is_none_or(|&top| top > threshold))
}

fn level_passes(split: &Split, code: u32) -> bool {
    matches!(&split.test, Test::In(set) if set.contains(code))
}

impl TreeSpace {
    /// The space of a tree and the box of each of its leaves; `None` for a leaf that no input
    /// reaches.
    pub(super) fn new(tree: &Tree, schema: &Schema) -> (TreeSpace, Vec<Option<Region>>) {
        let mut order: Vec<u32> = Vec::new();
        let mut splits: BTreeMap<u32, Vec<&Split>> = BTreeMap::new();
        for node in &tree.nodes {
            let feature_splits = splits.entry(node.split.feature).or_default();
            if feature_splits.is_empty() {
                order.push(node.split.feature);
            }
            feature_splits.push(&node.split);
        }

        let mut axes: Vec<FeatureAxis> = Vec::new();
        for feature in order {
            let first_word = axes.last().map_or(0, |axis| axis.words.end);
            axes.push(FeatureAxis::new(
                feature,
                &schema.features[feature as usize].kind,
                &splits[&feature],
                first_word,
            ));
        }

        let space = TreeSpace::of_axes(axes);
        let leaves = space.leaves(tree);
        (space, leaves)
    }

    fn of_axes(axes: Vec<FeatureAxis>) -> TreeSpace {
        let words = axes.last().map_or(0, |axis| axis.words.end);
        let mut everything = Region(vec![0; words]);
        for axis in &axes {
            (0..axis.count).for_each(|atom| everything.insert(axis, atom));
        }
        TreeSpace { axes, everything }
    }

    /// The space of some splits of one feature.
    pub(super) fn of_feature(feature: u32, schema: &Schema, splits: &[&Split]) -> TreeSpace {
        let kind = &schema.features[feature as usize].kind;
        TreeSpace::of_axes(vec![FeatureAxis::new(feature, kind, splits, 0)])
    }

    /// The number of atoms of a space of one feature that are intervals.
    pub(super) fn interval_count(&self) -> usize {
        self.axes[0].interval_count()
    }

    /// The atom of missing values in a space of one feature.
    pub(super) fn missing_atom(&self) -> usize {
        self.axes[0].missing
    }

    /// The levels of each atom of a space of one feature, if it is a category.
    pub(super) fn level_sets(&self) -> Option<&[LevelSet]> {
        match &self.axes[0].atoms {
            AxisAtoms::Numbers(_) => None,
            AxisAtoms::Levels(sets) => Some(sets),
        }
    }

    /// Whether a box of a space of one feature has an atom.
    pub(super) fn has_atom(&self, region: &Region, atom: usize) -> bool {
        region.has(&self.axes[0], atom)
    }

    /// The box of some atoms of a space of one feature.
    pub(super) fn region_of(&self, atoms: &[usize]) -> Region {
        let mut region = Region(vec![0; self.everything.0.len()]);
        atoms.iter().for_each(|&atom| region.insert(&self.axes[0], atom));
        region
    }

    /// The box of each leaf of a tree that tests features of the space only; `None` for a leaf that
    /// no input reaches.
    pub(super) fn leaves(&self, tree: &Tree) -> Vec<Option<Region>> {
        let axis_of: BTreeMap<u32, &FeatureAxis> =
            self.axes.iter().map(|axis| (axis.feature, axis)).collect();
        let mut regions = vec![None; tree.leaves.len()];

        // A stack instead of recursion, because the depth of a tree has no bound.
        let mut open = vec![(tree.root(), Some(self.everything.clone()))];
        while let Some((at, region)) = open.pop() {
            match at {
                Child::Leaf(leaf) => regions[leaf as usize] = region,
                Child::Node(index) => {
                    let node = &tree.nodes[index as usize];
                    let axis = axis_of[&node.split.feature];
                    let passing = axis.passing(&node.split);
                    let side = |right: bool| {
                        let mut part = region.clone()?;
                        (0..axis.count)
                            .filter(|&atom| passing[atom] != right)
                            .for_each(|atom| part.remove(axis, atom));
                        (!part.is_empty_on(axis)).then_some(part)
                    };
                    open.push((node.right, side(true)));
                    open.push((node.left, side(false)));
                }
            }
        }
        regions
    }

    /// The box of every input.
    pub(super) fn everything(&self) -> &Region {
        &self.everything
    }

    /// Whether some input is in both boxes.
    pub(super) fn intersects(&self, a: &Region, b: &Region) -> bool {
        self.axes.iter().all(|axis| axis.words.clone().any(|word| a.0[word] & b.0[word] != 0))
    }

    /// The intersection of two boxes; `None` if it is empty.
    pub(super) fn intersection(&self, a: &Region, b: &Region) -> Option<Region> {
        self.intersects(a, b).then(|| Region(a.0.iter().zip(&b.0).map(|(a, b)| a & b).collect()))
    }

    /// The smallest box that contains two boxes; what lies between two intervals belongs to it.
    pub(super) fn hull(&self, a: &Region, b: &Region) -> Region {
        let mut hull = Region(a.0.iter().zip(&b.0).map(|(a, b)| a | b).collect());
        for axis in &self.axes {
            let inside = |atom: &usize| hull.has(axis, *atom);
            let first = (0..axis.interval_count()).find(inside);
            let last = (0..axis.interval_count()).rev().find(inside);
            if let (Some(first), Some(last)) = (first, last) {
                (first..last).for_each(|atom| hull.insert(axis, atom));
            }
        }
        hull
    }

    /// Adds disjoint boxes to `pieces` that together are the difference of `a` and `b`. A piece may
    /// have gaps.
    pub(super) fn subtract(&self, a: &Region, b: &Region, pieces: &mut Vec<Region>) {
        if !self.intersects(a, b) {
            pieces.push(a.clone());
            return;
        }
        let mut rest = a.clone();
        for axis in &self.axes {
            let mut piece = rest.clone();
            axis.words.clone().for_each(|word| piece.0[word] &= !b.0[word]);
            if !piece.is_empty_on(axis) {
                pieces.push(piece);
            }
            axis.words.clone().for_each(|word| rest.0[word] &= b.0[word]);
        }
    }

    /// The conditions of a box, each as the box of all inputs that fulfil this condition. An
    /// interval with two bounds is two conditions; a set of levels, "is missing" and "is not
    /// missing" are one each.
    pub(super) fn conditions(&self, region: &Region) -> Vec<Region> {
        let mut conditions = Vec::new();
        for axis in self.axes.iter().filter(|axis| !self.is_free(region, axis)) {
            let Some((first, last)) = interval(region, axis) else {
                conditions.push(self.restricted_on(axis, |atom| region.has(axis, atom)));
                continue;
            };
            let missing = |atom: usize| atom >= axis.interval_count() && region.has(axis, atom);
            let bounds = [first > 0, last + 1 < axis.interval_count()];
            if bounds[0] || !bounds[1] {
                conditions.push(self.restricted_on(axis, |atom| {
                    missing(atom) || (first..axis.interval_count()).contains(&atom)
                }));
            }
            if bounds[1] {
                conditions.push(self.restricted_on(axis, |atom| missing(atom) || atom <= last));
            }
        }
        conditions
    }

    /// Number of conditions of a box.
    pub(super) fn cost(&self, region: &Region) -> usize {
        self.conditions(region).len()
    }

    /// The conditions of a box in terms of values.
    pub(super) fn describe(&self, region: &Region) -> Vec<RuleCondition> {
        let bound = self.axes.iter().filter(|axis| !self.is_free(region, axis));
        let describe = |axis: &FeatureAxis| {
            let values = match &axis.atoms {
                AxisAtoms::Numbers(thresholds) => match interval(region, axis) {
                    Some((first, last)) => ValueSet::Interval {
                        above: first.checked_sub(1).map(|below| thresholds[below]),
                        at_most: thresholds.get(last).copied(),
                    },
                    None => ValueSet::Nothing,
                },
                AxisAtoms::Levels(sets) => {
                    let inside = (0..axis.count).filter(|&atom| region.has(axis, atom));
                    let levels: LevelSet = inside.flat_map(|atom| sets[atom].iter()).collect();
                    if levels.is_empty() { ValueSet::Nothing } else { ValueSet::Levels(levels) }
                }
            };
            RuleCondition { feature: axis.feature, values, missing: region.has(axis, axis.missing) }
        };
        bound.map(describe).collect()
    }

    /// The number of atoms of each axis.
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.count).collect()
    }

    /// The box of one atom per axis.
    pub(super) fn cell(&self, atoms: &[usize]) -> Region {
        let mut cell = Region(vec![0; self.everything.0.len()]);
        self.axes.iter().zip(atoms).for_each(|(axis, &atom)| cell.insert(axis, atom));
        cell
    }

    /// A box without its set on one axis: what boxes that differ there only have in common.
    pub(super) fn without_axis(&self, region: &Region, axis: usize) -> Region {
        let mut rest = region.clone();
        rest.0[self.axes[axis].words.clone()].fill(0);
        rest
    }

    /// Joins two boxes that differ on one axis only, if there is no gap between them: neighbouring
    /// intervals, or any two sets of categories. An atom of missing values adjoins every other.
    pub(super) fn join(&self, a: &Region, b: &Region, axis: usize) -> Option<Region> {
        let axis = &self.axes[axis];
        let union = Region(a.0.iter().zip(&b.0).map(|(a, b)| a | b).collect());
        match interval(&union, axis) {
            Some((first, last)) => {
                (first..=last).all(|atom| union.has(axis, atom)).then_some(union)
            }
            None => Some(union),
        }
    }

    fn is_free(&self, region: &Region, axis: &FeatureAxis) -> bool {
        axis.words.clone().all(|word| region.0[word] == self.everything.0[word])
    }

    /// The box of all inputs whose atom on one axis fulfils a condition.
    fn restricted_on(&self, axis: &FeatureAxis, contains: impl Fn(usize) -> bool) -> Region {
        let mut region = self.everything.clone();
        (0..axis.count).filter(|&atom| !contains(atom)).for_each(|atom| region.remove(axis, atom));
        region
    }
}

/// The first and the last interval of a box on an axis of numbers.
fn interval(region: &Region, axis: &FeatureAxis) -> Option<(usize, usize)> {
    let inside = |atom: &usize| region.has(axis, *atom);
    Some(((0..axis.interval_count()).find(inside)?, (0..axis.interval_count()).rev().find(inside)?))
}

impl Region {
    fn insert(&mut self, axis: &FeatureAxis, atom: usize) {
        self.0[axis.words.start + atom / 64] |= 1 << (atom % 64);
    }

    fn remove(&mut self, axis: &FeatureAxis, atom: usize) {
        self.0[axis.words.start + atom / 64] &= !(1 << (atom % 64));
    }

    fn has(&self, axis: &FeatureAxis, atom: usize) -> bool {
        self.0[axis.words.start + atom / 64] >> (atom % 64) & 1 == 1
    }

    fn is_empty_on(&self, axis: &FeatureAxis) -> bool {
        self.0[axis.words.clone()].iter().all(|word| *word == 0)
    }

    /// Whether every input of `other` is in this box.
    pub(super) fn contains(&self, other: &Region) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| other & !own == 0)
    }
}
