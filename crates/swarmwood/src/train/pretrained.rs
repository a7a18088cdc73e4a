//! The rules of a model that was trained before, as cuts of the rows at hand: the table of PSGBDT
//! from a file.
//!
//! Features are matched by name. The bins are cut at the model's own thresholds, so that a rule is
//! taken over exactly. Rules that part no training row are left out; if none is left, the model
//! belongs to other data.

use std::path::{Path, PathBuf};

use swarmwood_learn::bins::Layout;
use swarmwood_learn::bins::edges::MOST;
use swarmwood_learn::bins::layout::{FeatureBins, FeaturePlace};
use swarmwood_learn::data::Column;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::rule::{BinRule, Cut};
use swarmwood_model::{Feature, Kind, Model, Schema, Split, Test};
use swarmwood_papers::rule_table::RuleTable;
use swarmwood_search::rng::fingerprint;

use super::Job;
use crate::message::Message;
use crate::nearest::nearest;
use crate::{Error, Result, store};

/// Splits of a model over the features of our rows.
pub(super) struct PretrainedSplits {
    path: PathBuf,
    splits: Vec<Split>,
    /// Thresholds by feature.
    thresholds: Vec<Vec<f64>>,
}

impl PretrainedSplits {
    /// Reads a model of this program or of another library and matches its features.
    pub(super) fn load(path: &Path, schema: &Schema) -> Result<Self> {
        let model = store::load(path)?;
        let refused = |message: Message| Error::Model { path: path.to_path_buf(), message };
        let mut splits = Vec::new();
        for split in model.members().iter().flat_map(|member| member.shape.splits()) {
            splits.push(matched(split, &model, schema).map_err(refused)?);
        }
        if splits.is_empty() {
            return Err(refused("has no split to take rules from; name a model of trees".into()));
        }
        let mut thresholds = vec![Vec::new(); schema.features.len()];
        for split in &splits {
            if let Test::Above(threshold) = split.test {
                thresholds[split.feature as usize].push(threshold);
            }
        }
        Ok(PretrainedSplits { path: path.to_path_buf(), splits, thresholds })
    }

    /// A number that names the rules.
    pub(super) fn fingerprint(&self) -> u128 {
        fingerprint(format!("{:?}", self.splits).bytes().map(u64::from))
    }

    /// The splits, in the order of the trees.
    pub(super) fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// Bins that are cut where the model cuts.
    pub(super) fn layout(&self, job: &Job<'_>) -> Layout {
        let none = || Column::Number(Vec::new());
        let sample = |feature: usize| job.rows.sample_column(feature).unwrap_or_else(none);
        Layout::fit_at(sample, &job.rows.schema.features, &self.thresholds, job.pool)
    }

    /// The model's rules that part training rows, and what is to be said about the others.
    pub(super) fn table(
        &self,
        data: &Dataset,
        schema: &Schema,
    ) -> Result<(RuleTable, Vec<Message>)> {
        let rules: Vec<Option<BinRule>> =
            self.splits.iter().map(|split| rule(split, &data.layout)).collect();
        let thinned = rules.iter().filter(|rule| rule.is_none()).count();
        let dropped: Vec<usize> = data.layout.constant_features().collect();
        let seen = data.seen_codes();
        let parts = |rule: &BinRule| {
            if dropped.contains(&(rule.feature as usize)) {
                return false;
            }
            let route = data.layout.route(rule);
            let alone =
                matches!(data.layout.places()[rule.feature as usize], FeaturePlace::Alone { .. });
            // A threshold beyond all values parts the missing ones at best, which only a rule about
            // them is meant to do.
            let known = alone && !asks_about_missing(&data.layout.split(rule));
            let codes = usize::from(known)..256;
            let sides =
                codes.filter(|&code| seen[route.column][code]).map(|code| route.right[code]);
            sides.clone().any(|side| side == 1) && sides.clone().any(|side| side == 0)
        };
        let (useful, useless): (Vec<BinRule>, Vec<BinRule>) =
            rules.into_iter().flatten().partition(parts);
        if useful.is_empty() {
            let message = format!(
                "none of its {} splits parts the training rows; was it trained on other data or in other units?",
                self.splits.len()
            );
            return Err(Error::Model { path: self.path.clone(), message: message.into() });
        }
        let mut warnings = Vec::new();
        if thinned > 0 {
            let message = format!(
                "{thinned} splits of {} are left out: a feature can have {MOST} thresholds here",
                self.path.display()
            );
            warnings.push(message.into());
        }
        if !useless.is_empty() {
            let mut names: Vec<String> = useless
                .iter()
                .map(|rule| format!("'{}'", schema.features[rule.feature as usize].name))
                .collect();
            names.sort();
            names.dedup();
            names.truncate(10);
            let message = format!(
                "{} of the {} splits of {} lie outside the training rows and are left out: {}",
                useless.len(),
                self.splits.len(),
                self.path.display(),
                names.join(", ")
            );
            warnings.push(message.into());
        }
        Ok((RuleTable::of_rules(data, useful), warnings))
    }
}

/// A split of the model over our features and levels.
fn matched(split: &Split, model: &Model, schema: &Schema) -> std::result::Result<Split, Message> {
    let theirs = &model.schema.features[split.feature as usize];
    let name = &theirs.name;
    let Some(at) = schema.features.iter().position(|feature| feature.name == *name) else {
        let near = nearest(name, schema.features.iter().map(|feature| feature.name.as_str()));
        let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        return Err(format!(
            "asks for the feature '{name}', which is no feature of the data{hint} (features are matched by name; train \
             the model with the column names of the data)"
        )
        .into());
    };
    let test = match (&split.test, &theirs.kind, &schema.features[at].kind) {
        (Test::Above(threshold), _, Kind::Number) => Test::Above(*threshold),
        (Test::In(set), Kind::Category { levels }, Kind::Category { levels: ours }) => {
            let code = |code: u32| {
                let level = levels.get(code as usize)?;
                ours.iter().position(|own| own == level).map(|at| at as u32)
            };
            Test::In(set.iter().filter_map(code).collect())
        }
        _ => return Err(mismatch(theirs, &schema.features[at])),
    };
    Ok(Split { feature: at as u32, test, missing_right: split.missing_right })
}

fn mismatch(theirs: &Feature, ours: &Feature) -> Message {
    let kind = |feature: &Feature| match feature.kind {
        Kind::Number => "a number",
        Kind::Category { .. } => "a category",
    };
    let message = format!(
        "takes the feature '{}' for {}, but in the data it is {}; ",
        theirs.name,
        kind(theirs),
        kind(ours)
    );
    Message::from(message).option("categorical").text(" reads numbers as categories")
}

/// The split over codes; `None` if its threshold had no place among the bins.
fn rule(split: &Split, layout: &Layout) -> Option<BinRule> {
    let cut = match (&split.test, &layout.features()[split.feature as usize]) {
        (Test::Above(threshold), FeatureBins::Number(edges)) => {
            let at = edges.thresholds().binary_search_by(|edge| edge.total_cmp(threshold)).ok()?;
            Cut::Above(at as u8 + 1)
        }
        (Test::In(set), FeatureBins::Category(levels)) => {
            let codes = set.iter().map(|level| levels.code(level));
            Cut::In(codes.filter(|&code| code > 0).collect())
        }
        _ => return None,
    };
    Some(BinRule { feature: split.feature, cut, missing_right: split.missing_right })
}

/// Whether a split parts missing values from all others.
fn asks_about_missing(split: &Split) -> bool {
    match &split.test {
        Test::Above(threshold) => *threshold == f64::MAX,
        Test::In(_) => true,
    }
}
