//! What formats of nested text cannot express: deep trees, and some characters in names.

use super::UnsupportedModel;
use crate::ensemble::Model;
use crate::schema::Schema;

/// The names of features, levels, classes and the target.
pub(super) fn names(schema: &Schema) -> impl Iterator<Item = &String> {
    let features = schema.features.iter();
    let names = features.flat_map(|feature| feature.kind.levels().iter().chain([&feature.name]));
    names.chain(schema.target.kind.classes()).chain([&schema.target.name])
}

/// Refuses trees with more levels than this.
pub(super) fn check_depth(model: &Model, most: usize) -> Result<(), UnsupportedModel> {
    if model.members().iter().all(|member| member.shape.depth() <= most) {
        return Ok(());
    }
    Err(UnsupportedModel::new(format!(
        "a tree is more than {most} levels deep, too deep for nested text; export it as c, js or python"
    )))
}
