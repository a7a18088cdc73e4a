//! The native model file (`docs/model-format.md`).

use super::{
    ExportError, ExportFormat, ExportInput, ExportOptions, FormatSpec, Harness, UnsupportedModel,
    Verification,
};
use crate::ensemble::Model;
use crate::format;

/// The only format that is read back without a loss.
pub(super) struct ModelJson;

impl ExportFormat for ModelJson {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "json",
            description: "the native model file",
            extensions: &["json"],
            ..FormatSpec::MODEL
        }
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
