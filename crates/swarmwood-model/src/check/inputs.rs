//! The invariants of a model's columns and of what is known of its training rows.

use std::collections::HashSet;

use super::ModelError;
use crate::dates::DateColumn;
use crate::ensemble::Model;
use crate::schema::{Kind, Schema, TargetKind};
use crate::training_stats::Distribution;

/// The first name that occurs twice.
fn repeated<'a>(names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(name.as_str()))
}

pub(super) fn check_schema(schema: &Schema) -> Result<(), ModelError> {
    if let Some(name) = repeated(schema.features.iter().map(|feature| &feature.name)) {
        return Err(ModelError::DuplicateFeature { name: name.clone() });
    }
    for feature in &schema.features {
        if let Kind::Category { levels } = &feature.kind
            && let Some(level) = repeated(levels.iter())
        {
            return Err(ModelError::DuplicateLevel {
                feature: feature.name.clone(),
                level: level.clone(),
            });
        }
    }

    if let TargetKind::Classes(classes) = &schema.target.kind
        && let Some(class) = repeated(classes.iter())
    {
        return Err(ModelError::DuplicateClass { class: class.clone() });
    }
    if let TargetKind::Numbers(columns) = &schema.target.kind
        && (columns.len() < 2 || repeated(columns.iter()).is_some())
    {
        return Err(ModelError::TargetColumns { columns: columns.clone() });
    }
    if let Some(name) = repeated(schema.dates.iter().map(|date| &date.name)) {
        let problem = "two dates have this name; give each column its own name";
        return Err(ModelError::Date { date: name.clone(), problem });
    }
    schema.dates.iter().try_for_each(|date| check_date(schema, date))
}

fn check_date(schema: &Schema, date: &DateColumn) -> Result<(), ModelError> {
    let wrong = |problem| ModelError::Date { date: date.name.clone(), problem };
    if schema.features.iter().any(|feature| feature.name == date.name) {
        return Err(wrong("a feature has the same name"));
    }
    if date.parts.is_empty() || !date.parts.is_sorted_by(|one, other| one < other) {
        return Err(wrong("`parts` must be in order, each once, and at least one"));
    }

    // The parts follow one another, so that the order of the input columns is clear.
    let names: Vec<String> = date.parts.iter().map(|&part| date.feature_name(part)).collect();
    let first = schema.features.iter().position(|feature| feature.name == names[0]);
    let features = first.and_then(|first| schema.features.get(first..first + names.len()));
    let fits = features.is_some_and(|features| {
        let mut pairs = features.iter().zip(&names);
        pairs.all(|(feature, name)| feature.name == *name && feature.kind == Kind::Number)
    });
    if fits {
        Ok(())
    } else {
        Err(wrong("its parts must be features of numbers, one after the other"))
    }
}

pub(super) fn check_stats(model: &Model) -> Result<(), ModelError> {
    let stats = &model.provenance.stats;
    let width = model.schema.target.kind.classes().len().max(1);
    let members = model.members();
    let fits = stats.leaf_rows.len() == members.len()
        && members
            .iter()
            .zip(&stats.leaf_rows)
            .all(|(member, rows)| rows.counts.len() == member.shape.leaves().len() * width);
    if !stats.leaf_rows.is_empty() && !fits {
        let problem = "there must be one count per leaf (and class) of every tree";
        return Err(ModelError::TrainingStats { key: "leaf_rows", problem });
    }

    let wrong = |problem| ModelError::TrainingStats { key: "distributions", problem };
    if !stats.distributions.is_sorted_by(|one, other| one.feature < other.feature) {
        return Err(wrong("features must be in ascending order, each once"));
    }
    let fits = |distribution: &Distribution| {
        let Distribution { feature, edges, counts, .. } = distribution;
        let is_ascending = edges.is_sorted_by(|one, other| one < other)
            && edges.iter().all(|edge| edge.is_finite());
        match model.schema.features.get(*feature as usize).map(|feature| &feature.kind) {
            Some(Kind::Number) => is_ascending && counts.len() == edges.len() + 1,
            Some(Kind::Category { levels }) => edges.is_empty() && counts.len() == levels.len(),
            None => false,
        }
    };
    if stats.distributions.iter().all(fits) {
        Ok(())
    } else {
        Err(wrong("numbers need ascending edges and one count more, categories a count per level"))
    }
}
