//! The native model file (`docs/model-format.md`).

use super::{
    ExportContent, ExportError, ExportFormat, ExportInput, ExportOptions, Harness,
    UnsupportedModel, Verification,
};
use crate::ensemble::Model;
use crate::format;

/// The only format that is read back without a loss.
pub(super) struct ModelJson;

impl ExportFormat for ModelJson {
    fn content(&self) -> ExportContent {
        ExportContent::Model
    }

    fn name(&self) -> &'static str {
        "json"
    }

    fn description(&self) -> &'static str {
        "the native model file"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["json"]
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        model.check().map_err(UnsupportedModel::new)
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        _: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let json = format::to_json(input.model).map_err(UnsupportedModel::new)?;
        out.extend_from_slice(json.as_bytes());
        Ok(())
    }

    fn verification(&self, _: &ExportInput<'_>, _: &ExportOptions) -> Option<Verification> {
        Some(Verification::exact(Harness::ReadBack))
    }
}
