//! A drawing of a model with one tree as SVG.

use super::{
    ExportContent, ExportError, ExportFormat, ExportInput, ExportOptions, FormatSpec,
    UnsupportedModel,
};
use crate::ensemble::Model;

/// A document that stands on its own.
pub(super) struct TreeSvg;

impl ExportFormat for TreeSvg {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            content: ExportContent::Drawing,
            name: "svg",
            description: "a picture",
            extensions: &["svg"],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        let tree = model.single_tree().map_err(UnsupportedModel::new)?;
        tree.check_drawable().map_err(UnsupportedModel::new)
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        _: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let tree = input.model.single_tree().map_err(UnsupportedModel::new)?;
        let svg = tree.to_svg().map_err(UnsupportedModel::new)?;
        out.extend_from_slice(svg.as_bytes());
        Ok(())
    }
}
