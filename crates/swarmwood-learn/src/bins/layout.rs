//! The mapping from raw values to stored bytes, and back from rules to splits.

use std::sync::Arc;

use swarmwood_model::{Feature, Kind, LevelSet, Split, Test};

use super::bundle::{self, Bundle, BundleCandidate};
use super::distinct::DistinctValues;
use super::edges::Edges;
use super::levels::CategoryLevels;
use super::{CODES, MISSING_CODE};
use crate::data::{Chunk, Column};
use crate::pool::Pool;
use crate::rule::{BinRule, BitSet, Code, Cut, Rule};

/// The bins of one feature.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureBins {
    /// A number cut at thresholds.
    Number(Edges),
    /// A category.
    Category(CategoryLevels),
}

impl FeatureBins {
    /// Number of codes, missing not counted: the feature's codes are `1..=bins()`.
    pub fn bins(&self) -> usize {
        match self {
            FeatureBins::Number(edges) => edges.bins(),
            FeatureBins::Category(levels) => levels.bins(),
        }
    }

    fn encode<C: Code>(&self, column: &Column, codes: &mut [C]) {
        match (self, column) {
            (FeatureBins::Number(edges), Column::Number(values)) => edges.encode(values, codes),
            (FeatureBins::Category(levels), Column::Category(values)) => {
                for (code, &value) in codes.iter_mut().zip(values) {
                    *code = C::from(levels.code(value));
                }
            }
            _ => unreachable!("a reader gives every column the kind its schema says"),
        }
    }
}

/// Where a feature's codes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeaturePlace {
    /// Nowhere: the feature is constant.
    Dropped,
    /// In a column of its own, as they are.
    Alone {
        /// The stored column.
        column: usize,
    },
    /// In a shared column: the default code as 0, the others from `first` on.
    Bundled {
        /// The stored column.
        column: usize,
        /// The code stored as 0.
        default: u8,
        /// The stored code of the first code that is not the default.
        first: u8,
    },
}

/// What one stored column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredColumn {
    /// One feature, or several exclusive ones.
    pub features: Vec<u32>,
    /// Stored codes run from 0 to `codes - 1`.
    pub codes: usize,
}

/// Bins of all features and how they are stored.
///
/// A feature of the layout is one of the schema, except where every value is told apart by codes
/// of one byte ([`Layout::fit_exact`]): a number with more thresholds than codes is then several features of
/// the layout, one for each range of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    features: Vec<FeatureBins>,
    /// The position in the schema of each feature.
    sources: Vec<u32>,
    places: Vec<FeaturePlace>,
    columns: Vec<StoredColumn>,
}

/// A rule over a stored column: the side of each of its codes (1 is right).
#[derive(Debug, Clone)]
pub struct Route {
    /// The stored column.
    pub column: usize,
    /// Side by stored code.
    pub right: [u8; CODES],
}

/// Two features of a bundle were active in one row outside the sample the bundles were found on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict {
    /// The stored column to take apart.
    pub column: usize,
}

/// A feature has more distinct values than [`MOST_VALUES`](super::edges::MOST_VALUES), so that they
/// cannot all be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyValues {
    /// The feature's position in the schema.
    pub feature: u32,
}

impl Layout {
    /// Finds bins and bundles from a sample of rows, handed over feature by feature.
    pub fn fit(
        sample: impl Fn(usize) -> Column + Sync,
        features: &[Feature],
        max_bin: usize,
        pool: &Pool,
    ) -> Self {
        Layout::fit_by(sample, features, max_bin, |_, values| Edges::fit(values, max_bin), pool)
    }

    /// Bins cut at given thresholds, feature by feature, in place of those that the rows would ask
    /// for.
    pub fn fit_at(
        sample: impl Fn(usize) -> Column + Sync,
        features: &[Feature],
        thresholds: &[Vec<f64>],
        pool: &Pool,
    ) -> Self {
        let edges = |at: usize, values: &[f64]| {
            Edges::at(thresholds.get(at).map_or(&[], Vec::as_slice), values)
        };
        Layout::fit_by(sample, features, CODES - 1, edges, pool)
    }

    /// Bins that tell all values of every number apart. `values` must give the values of all rows,
    /// not of a sample. Numbers with more values than codes are stored as several features, each of
    /// which tells one range of the values apart and costs as much as a feature of its own.
    pub fn fit_exact(
        values: impl Fn(usize) -> Column + Sync,
        features: &[Feature],
        pool: &Pool,
    ) -> Result<Self, TooManyValues> {
        let parts = pool.map(features.len(), |at| match values(at) {
            Column::Number(values) => Edges::exact(&values),
            Column::Category(_) => Some(vec![Edges::default()]),
        });
        let parts = (0..).zip(parts);
        let all: Vec<(u32, Vec<Edges>)> = parts
            .map(|(feature, parts)| {
                parts.map(|parts| (feature, parts)).ok_or(TooManyValues { feature })
            })
            .collect::<Result<_, _>>()?;
        let all: Vec<(u32, Edges)> = all
            .into_iter()
            .flat_map(|(feature, parts)| parts.into_iter().map(move |edges| (feature, edges)))
            .collect();

        let sources = all.iter().map(|(feature, _)| *feature).collect();
        let edges = |at: usize, _: &[f64]| all[at].1.clone();
        Ok(Layout::fit_sources(values, features, sources, CODES - 1, edges, pool))
    }

    /// Bins that tell all values of every number apart, each number being one feature of the
    /// layout: its codes may take more than a byte ([`Layout::codes`]). `distinct` must hold the
    /// values of all rows; levels of categories and bundles are found from a sample, as in
    /// [`Layout::fit`].
    pub fn fit_distinct(
        sample: impl Fn(usize) -> Column + Sync,
        features: &[Feature],
        distinct: &[DistinctValues],
        pool: &Pool,
    ) -> Self {
        let edges = |at: usize, _: &[f64]| distinct[at].edges();
        let mut layout = Layout::fit_by(sample, features, CODES - 1, edges, pool);

        // A sample may hold one value of a feature that has more.
        let constant: Vec<bool> = distinct
            .iter()
            .map(|values| values.len() + usize::from(values.has_missing()) <= 1)
            .collect();
        let constant_in_sample = |at: &usize| layout.places[*at] == FeaturePlace::Dropped;
        if (0..features.len()).filter(constant_in_sample).any(|at| !constant[at]) {
            layout = layout.placed_again(&constant, |_| true);
        }
        layout
    }

    fn fit_by(
        sample: impl Fn(usize) -> Column + Sync,
        features: &[Feature],
        max_bin: usize,
        edges: impl Fn(usize, &[f64]) -> Edges + Sync,
        pool: &Pool,
    ) -> Self {
        let sources = (0..features.len() as u32).collect();
        Layout::fit_sources(sample, features, sources, max_bin, edges, pool)
    }

    /// Fits the bins of layout features; `sources` are their positions in the schema.
    fn fit_sources(
        sample: impl Fn(usize) -> Column + Sync,
        features: &[Feature],
        sources: Vec<u32>,
        max_bin: usize,
        edges: impl Fn(usize, &[f64]) -> Edges + Sync,
        pool: &Pool,
    ) -> Self {
        let fitted = pool.map(sources.len(), |at| {
            let source = sources[at] as usize;
            let column = sample(source);
            let bins = match (&features[source].kind, &column) {
                (Kind::Category { levels }, Column::Category(values)) => {
                    FeatureBins::Category(CategoryLevels::fit(values, levels.len(), max_bin))
                }
                (_, Column::Number(values)) => FeatureBins::Number(edges(at, values)),
                _ => unreachable!("a reader gives every column the kind its schema says"),
            };
            let mut codes = Vec::new();
            if bins.bins() <= bundle::MOST_BINS {
                codes.resize(column.len(), 0);
                bins.encode(&column, &mut codes);
            }
            let seen: [bool; 2] =
                [codes.contains(&MISSING_CODE), codes.windows(2).any(|w| w[0] != w[1])];
            (bins, codes, seen)
        });

        let mut bins = Vec::with_capacity(fitted.len());
        let mut constant = Vec::with_capacity(fitted.len());
        let mut candidates = Vec::new();
        for (at, (feature, codes, [has_missing, varies])) in fitted.into_iter().enumerate() {
            let small = feature.bins() <= bundle::MOST_BINS;
            constant.push(small && !varies);
            // The last of several parts may be small, but is no flag.
            let whole = at == 0 || sources[at - 1] != sources[at];
            let candidate = small && varies && !has_missing && whole;
            if candidate && matches!(feature, FeatureBins::Number(_)) {
                candidates.push(BundleCandidate {
                    feature: at as u32,
                    bins: feature.bins(),
                    codes,
                });
            }
            bins.push(feature);
        }
        Layout::place(bins, sources, &constant, &bundle::find(&candidates, pool))
    }

    fn place(
        features: Vec<FeatureBins>,
        sources: Vec<u32>,
        constant: &[bool],
        bundles: &[Bundle],
    ) -> Self {
        let mut places = vec![FeaturePlace::Dropped; features.len()];
        let mut columns = Vec::new();
        for bundle in bundles {
            let column = columns.len();
            let mut first = 1;
            for &(feature, bins, default) in &bundle.members {
                places[feature as usize] =
                    FeaturePlace::Bundled { column, default, first: first as u8 };
                first += bins - 1;
            }
            columns.push(StoredColumn {
                features: bundle.members.iter().map(|m| m.0).collect(),
                codes: first,
            });
        }
        for (at, bins) in features.iter().enumerate() {
            if places[at] == FeaturePlace::Dropped && !constant[at] {
                places[at] = FeaturePlace::Alone { column: columns.len() };
                columns.push(StoredColumn { features: vec![at as u32], codes: bins.bins() + 1 });
            }
        }
        Layout { features, sources, places, columns }
    }

    /// Builds something with this layout. Where columns that share a bundle turn out not to be
    /// exclusive outside the sample, the bundle is taken apart and the work begun again, which ends
    /// when no bundle is left.
    pub fn settle<T, E>(
        self,
        mut build: impl FnMut(&Arc<Layout>) -> Result<Result<T, Conflict>, E>,
    ) -> Result<T, E> {
        let mut layout = Arc::new(self);
        loop {
            match build(&layout)? {
                Ok(built) => return Ok(built),
                Err(conflict) => layout = Arc::new(layout.without_bundle(conflict)),
            }
        }
    }

    /// The same bins with one bundle taken apart.
    #[must_use]
    pub(crate) fn without_bundle(&self, conflict: Conflict) -> Self {
        self.without_bundles(&[conflict.column])
    }

    /// The same bins where only some features of the schema are stored, each in a column of its
    /// own; no rule is made from the others.
    #[must_use]
    pub fn with_features(&self, kept: &[bool]) -> Self {
        let is_stored =
            |at: usize| self.places[at] != FeaturePlace::Dropped && kept[self.sources[at] as usize];
        let constant: Vec<bool> = (0..self.places.len()).map(|at| !is_stored(at)).collect();
        Layout::place(self.features.clone(), self.sources.clone(), &constant, &[])
    }

    /// The stored column of a feature, and the feature's own code of each stored code; `None` if it
    /// is constant.
    pub(crate) fn own_codes(&self, feature: usize) -> Option<(usize, [u8; CODES])> {
        let mut own: [u8; CODES] = std::array::from_fn(|code| code as u8);
        match self.places[feature] {
            FeaturePlace::Dropped => None,
            FeaturePlace::Alone { column } => Some((column, own)),
            FeaturePlace::Bundled { column, default, first } => {
                own.fill(default);
                let codes =
                    (1..=self.features[feature].bins() as u8).filter(|&code| code != default);
                codes.for_each(|code| own[usize::from(stored_code(code, default, first))] = code);
                Some((column, own))
            }
        }
    }

    /// The same bins with other constant features, and with some of the bundles.
    fn placed_again(&self, constant: &[bool], keep: impl Fn(usize) -> bool) -> Self {
        let kept = |column: &usize| keep(*column) && self.columns[*column].features.len() > 1;
        let bundles: Vec<Bundle> =
            (0..self.columns.len()).filter(kept).map(|column| self.bundle(column)).collect();
        Layout::place(self.features.clone(), self.sources.clone(), constant, &bundles)
    }

    /// The same with other bins of some features of the schema, which are stored in columns of their
    /// own.
    pub(super) fn stored_alone(&self, features: Vec<FeatureBins>, sources: &[usize]) -> Self {
        let is_chosen = |at: usize| sources.contains(&(self.sources[at] as usize));
        let constant: Vec<bool> = (0..features.len())
            .map(|at| self.places[at] == FeaturePlace::Dropped && !is_chosen(at))
            .collect();
        let is_kept = |column: &usize| {
            let members = &self.columns[*column].features;
            members.len() > 1 && !members.iter().any(|&feature| is_chosen(feature as usize))
        };
        let bundles: Vec<Bundle> =
            (0..self.columns.len()).filter(is_kept).map(|column| self.bundle(column)).collect();
        Layout::place(features, self.sources.clone(), &constant, &bundles)
    }

    fn bundle(&self, column: usize) -> Bundle {
        let member = |&feature: &u32| match self.places[feature as usize] {
            FeaturePlace::Bundled { default, .. } => {
                (feature, self.features[feature as usize].bins(), default)
            }
            _ => unreachable!("only bundled features share a column"),
        };
        Bundle { members: self.columns[column].features.iter().map(member).collect() }
    }

    /// The bundles, in the order of their columns.
    pub(crate) fn bundles(&self) -> Vec<Bundle> {
        let shared = |column: &usize| self.columns[*column].features.len() > 1;
        (0..self.columns.len()).filter(shared).map(|column| self.bundle(column)).collect()
    }

    /// The layout with these bins, where some features are constant and some share a column; `None`
    /// if there is none.
    pub(crate) fn from_parts(
        features: Vec<FeatureBins>,
        sources: Vec<u32>,
        constant: &[bool],
        bundles: &[Bundle],
    ) -> Option<Self> {
        if sources.len() != features.len() || constant.len() != features.len() {
            return None;
        }
        let mut is_taken = constant.to_vec();
        for bundle in bundles {
            let codes: usize = bundle.members.iter().map(|member| member.1.saturating_sub(1)).sum();
            let mut fits = codes < CODES && bundle.members.len() > 1;
            for &(feature, bins, default) in &bundle.members {
                let taken = is_taken.get_mut(feature as usize)?;
                fits &= !std::mem::replace(taken, true)
                    && bins == features[feature as usize].bins()
                    && (1..=bins).contains(&usize::from(default));
            }
            if !fits {
                return None;
            }
        }
        Some(Layout::place(features, sources, constant, bundles))
    }

    /// The same bins with some bundles taken apart, which stand in these columns.
    #[must_use]
    pub fn without_bundles(&self, columns: &[usize]) -> Self {
        let constant: Vec<bool> =
            self.places.iter().map(|place| *place == FeaturePlace::Dropped).collect();
        self.placed_again(&constant, |column| !columns.contains(&column))
    }

    /// The position in the schema of each feature.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The bins of each feature.
    pub fn features(&self) -> &[FeatureBins] {
        &self.features
    }

    /// Where each feature is stored.
    pub fn places(&self) -> &[FeaturePlace] {
        &self.places
    }

    /// The stored columns.
    pub fn columns(&self) -> &[StoredColumn] {
        &self.columns
    }

    /// The greatest number of codes of a stored column, that of missing values included.
    pub fn codes(&self) -> usize {
        self.columns.iter().map(|column| column.codes).max().unwrap_or(0)
    }

    /// Positions in the schema of features that hold one value in the whole sample.
    pub fn constant_features(&self) -> impl Iterator<Item = usize> + '_ {
        let dropped = |at: &usize| self.places[*at] == FeaturePlace::Dropped;
        (0..self.places.len()).filter(dropped).map(|at| self.sources[at] as usize)
    }

    /// Writes the stored codes of one column for every row of a chunk.
    /// The codes must be wide enough ([`Layout::codes`]).
    pub fn encode<C: Code>(
        &self,
        column: usize,
        chunk: &Chunk,
        codes: &mut [C],
    ) -> Result<(), Conflict> {
        let stored = &self.columns[column];
        if let [only] = stored.features[..] {
            let source = self.sources[only as usize] as usize;
            self.features[only as usize].encode(&chunk.columns[source], codes);
            return Ok(());
        }
        codes.fill(C::MISSING);
        let mut own = vec![0u8; codes.len()];
        for &feature in &stored.features {
            let FeaturePlace::Bundled { default, first, .. } = self.places[feature as usize] else {
                continue;
            };
            let source = self.sources[feature as usize] as usize;
            self.features[feature as usize].encode(&chunk.columns[source], &mut own);
            for (code, &own) in codes.iter_mut().zip(&own) {
                if own != default {
                    if *code != C::MISSING || own == MISSING_CODE {
                        return Err(Conflict { column });
                    }
                    *code = C::from(stored_code(own, default, first));
                }
            }
        }
        Ok(())
    }

    /// The rule as a side for every stored code.
    pub fn route(&self, rule: &BinRule) -> Route {
        let mut right = [0; CODES];
        let column = self.write_sides(rule, &mut right);
        Route { column, right }
    }

    /// The stored column that a rule asks about, and the side of each of its codes (1 is right), but
    /// of no fewer than a byte has: that a code does not occur must not change a result.
    pub(crate) fn sides<C: Code>(&self, rule: &Rule<C>) -> (usize, Vec<u8>) {
        let codes = match self.places[rule.feature as usize] {
            FeaturePlace::Alone { column } | FeaturePlace::Bundled { column, .. } => {
                self.columns[column].codes.max(CODES)
            }
            FeaturePlace::Dropped => CODES,
        };
        let mut right = vec![0; codes];
        (self.write_sides(rule, &mut right), right)
    }

    /// Writes the side of each stored code; the column.
    fn write_sides<C: Code>(&self, rule: &Rule<C>, right: &mut [u8]) -> usize {
        let feature = rule.feature as usize;
        match self.places[feature] {
            FeaturePlace::Alone { column } => {
                match &rule.cut {
                    Cut::Above(last) => {
                        right[0] = u8::from(rule.missing_right);
                        if let Some(above) = right.get_mut(last.index() + 1..) {
                            above.fill(1);
                        }
                    }
                    Cut::In(_) => right.iter_mut().enumerate().for_each(|(code, right)| {
                        *right = u8::from(rule.goes_right(C::from_index(code)))
                    }),
                }
                column
            }
            FeaturePlace::Bundled { column, default, first } => {
                right.fill(u8::from(rule.goes_right(C::from(default))));
                for code in
                    (1..=self.features[feature].bins() as u8).filter(|&code| code != default)
                {
                    right[usize::from(stored_code(code, default, first))] =
                        u8::from(rule.goes_right(C::from(code)));
                }
                column
            }
            FeaturePlace::Dropped => unreachable!("no rule is made from a constant feature"),
        }
    }

    /// The rule as a column and a question about its codes, if two numbers can say it.
    pub(crate) fn beyond(&self, rule: &BinRule) -> Option<CodeThreshold> {
        match (self.places[rule.feature as usize], rule.cut) {
            // A missing value has code 0; one less is more than any other code.
            (FeaturePlace::Alone { column }, Cut::Above(last)) if rule.missing_right => {
                Some(CodeThreshold { column, less: 1, last: last.checked_sub(1)? })
            }
            (FeaturePlace::Alone { column }, Cut::Above(last)) => {
                Some(CodeThreshold { column, less: 0, last })
            }
            _ => None,
        }
    }

    /// The rule as a split over values.
    pub fn split<C: Code>(&self, rule: &Rule<C>) -> Split {
        let test = match (&self.features[rule.feature as usize], &rule.cut) {
            (FeatureBins::Number(edges), Cut::Above(code)) => {
                // The last code asks "is the value missing": no finite number lies above the
                // greatest one.
                Test::Above(edges.thresholds().get(code.index() - 1).copied().unwrap_or(f64::MAX))
            }
            (FeatureBins::Category(levels), Cut::In(set)) => {
                let codes = (1..=255u8).filter(|&code| set.contains(C::from(code)));
                Test::In(codes.flat_map(|code| levels.levels_of(code)).collect::<LevelSet>())
            }
            _ => unreachable!("numbers are cut at thresholds and categories by sets"),
        };
        let feature = self.sources[rule.feature as usize];
        Split { feature, test, missing_right: rule.missing_right }
    }
}

/// A rule over the codes of a column that stores one feature of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeThreshold {
    /// The column.
    pub column: usize,
    less: u8,
    last: u8,
}

impl CodeThreshold {
    /// Whether a row with this code goes right.
    #[inline]
    pub fn goes_right(self, code: u8) -> bool {
        code.wrapping_sub(self.less) > self.last
    }
}

/// Bundled codes leave the default out: those below it keep their distance from `first`, those
/// above move down by one.
#[inline]
fn stored_code(own: u8, default: u8, first: u8) -> u8 {
    first + (own - 1) - u8::from(own > default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str) -> Feature {
        Feature { name: name.into(), kind: Kind::Number }
    }

    /// Three exclusive flags, one free number with missing values, one constant.
    fn table(rows: usize) -> (Chunk, Vec<Feature>) {
        let flag = |at: usize| {
            Column::Number((0..rows).map(|r| f64::from(u8::from(r % 4 == at))).collect())
        };
        let free = Column::Number(
            (0..rows).map(|r| if r % 7 == 0 { f64::NAN } else { r as f64 }).collect(),
        );
        let columns = vec![flag(0), free, flag(1), Column::Number(vec![5.0; rows]), flag(2)];
        let features = ["a", "x", "b", "constant", "c"].map(number).to_vec();
        (Chunk { columns, rows, ..Chunk::default() }, features)
    }

    #[test]
    fn flags_share_a_column_and_constants_have_none() {
        let (chunk, features) = table(100);
        let layout =
            Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &Pool::new(1).unwrap());
        assert_eq!(layout.columns().len(), 2);
        assert_eq!(layout.columns()[0].features, [0, 2, 4]);
        assert_eq!(layout.constant_features().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_route_agrees_with_the_split_it_stands_for() {
        let (chunk, features) = table(100);
        let layout =
            Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &Pool::new(1).unwrap());
        for feature in [0u32, 1, 2, 4] {
            for code in 1..=layout.features()[feature as usize].bins() as u8 {
                for missing_right in [false, true] {
                    let rule = BinRule { feature, cut: Cut::Above(code), missing_right };
                    let (route, split) = (layout.route(&rule), layout.split(&rule));
                    let mut codes = vec![0u8; chunk.rows];
                    layout.encode(route.column, &chunk, &mut codes).unwrap();
                    let Column::Number(values) = &chunk.columns[feature as usize] else {
                        unreachable!()
                    };
                    let Test::Above(threshold) = split.test else { unreachable!() };
                    for (&code, &value) in codes.iter().zip(values) {
                        let right = if value.is_nan() { missing_right } else { value > threshold };
                        assert_eq!(route.right[usize::from(code)] == 1, right);
                        assert!(
                            layout
                                .beyond(&rule)
                                .is_none_or(|beyond| beyond.goes_right(code) == right)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn given_thresholds_come_back_from_their_rules() {
        let (chunk, features) = table(100);
        let thresholds = vec![vec![0.5], vec![7.25, 60.0], vec![0.5], vec![], vec![0.5]];
        let pool = Pool::new(1).unwrap();
        let layout = Layout::fit_at(|at| chunk.columns[at].clone(), &features, &thresholds, &pool);
        for (feature, thresholds) in (0u32..).zip(&thresholds) {
            for (code, &threshold) in (1u8..).zip(thresholds) {
                let rule = BinRule { feature, cut: Cut::Above(code), missing_right: false };
                assert_eq!(layout.split(&rule).test, Test::Above(threshold));
            }
        }
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(Edges::at(&many, &[]).thresholds().len(), 254);
    }

    fn distinct(chunk: &Chunk) -> Vec<DistinctValues> {
        let mut distinct = vec![DistinctValues::default(); chunk.columns.len()];
        distinct.iter_mut().zip(&chunk.columns).for_each(|(values, column)| values.extend(column));
        distinct
    }

    #[test]
    fn few_distinct_values_have_the_bins_that_they_always_had() {
        let (mut chunk, mut features) = table(200);
        chunk.columns.push(Column::Category((0..200).map(|row| row % 5).collect()));
        let levels = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        features.push(Feature { name: "level".into(), kind: Kind::Category { levels } });
        let pool = Pool::new(1).unwrap();
        let values = distinct(&chunk);
        let sample = |at: usize| chunk.columns[at].clone();
        let all = Layout::fit_distinct(sample, &features, &values, &pool);
        assert_eq!(all, Layout::fit(sample, &features, 255, &pool));
    }

    #[test]
    fn a_feature_that_is_constant_in_the_sample_alone_is_kept() {
        let (chunk, features) = table(2000);
        let pool = Pool::new(1).unwrap();
        // The flags and the number hold one value in the first row.
        let sample = |at: usize| match &chunk.columns[at] {
            Column::Number(values) => Column::Number(values[1..2].to_vec()),
            Column::Category(_) => unreachable!(),
        };
        let layout = Layout::fit_distinct(sample, &features, &distinct(&chunk), &pool);
        assert_eq!(layout.constant_features().collect::<Vec<_>>(), [3]);
        // Six of seven values of the number are there.
        assert_eq!(layout.codes(), 2000 - 2000_usize.div_ceil(7) + 1);
        let FeaturePlace::Alone { column } = layout.places()[1] else { unreachable!() };
        let (mut wide, mut narrow) = (vec![0u16; 2000], vec![0u32; 2000]);
        layout.encode(column, &chunk, &mut wide).unwrap();
        layout.encode(column, &chunk, &mut narrow).unwrap();
        assert!(wide.iter().zip(&narrow).all(|(&two, &four)| u32::from(two) == four));
        assert_eq!([wide[0], wide[1], wide[6], wide[8]], [0, 1, 6, 7]);
    }

    #[test]
    fn a_conflict_outside_the_sample_is_seen_and_mended() {
        let (mut chunk, features) = table(100);
        let layout =
            Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &Pool::new(1).unwrap());
        let Column::Number(values) = &mut chunk.columns[2] else { unreachable!() };
        values[0] = 1.0;
        let mut codes = vec![0u8; 100];
        let conflict = layout.encode(0, &chunk, &mut codes).unwrap_err();
        let mended = layout.without_bundle(conflict);
        assert_eq!(mended.columns().len(), 4);
        assert!((0..4).all(|column| mended.encode(column, &chunk, &mut codes).is_ok()));
    }
}
