//! The summary and the first trees of a model as readable text.

use super::{
    ExportError, ExportFormat, ExportInput, ExportOption, ExportOptions, FormatSpec, OptionValues,
    UnsupportedModel,
};
use crate::ensemble::Model;
use crate::text::TextOptions;

const TREES: ExportOption = ExportOption {
    name: "trees",
    help: "maximum number of trees",
    values: OptionValues::Count { default: 3 },
};

const LINES: ExportOption = ExportOption {
    name: "lines",
    help: "maximum number of lines per tree or linear function",
    values: OptionValues::Count { default: 200 },
};

/// Never read back.
pub(super) struct ModelText;

impl ExportFormat for ModelText {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "text",
            description: "a summary and the first trees as readable text",
            extensions: &["txt"],
            options: &[TREES, LINES],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, _: &Model) -> Result<(), UnsupportedModel> {
        Ok(())
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let options = TextOptions { trees: options.count(&TREES), lines: options.count(&LINES) };
        out.extend_from_slice(input.model.to_text(&options).as_bytes());
        Ok(())
    }
}
