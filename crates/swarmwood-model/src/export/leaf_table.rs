//! The leaves of a model as CSV: a format for tests only, which carries out the recipe "An export
//! format" of CONTRIBUTING.md. This file and its two lines in `mod.rs` are all there is.

use super::{
    ExportError, ExportFormat, ExportInput, ExportOption, ExportOptions, FormatSpec, OptionValues,
    UnsupportedModel,
};
use crate::ensemble::{Body, Model};
use crate::number_format::exact;

const TREES: ExportOption = ExportOption {
    name: "trees",
    help: "maximum number of trees",
    values: OptionValues::Count { default: 100 },
};

/// One line per leaf.
pub(super) struct LeafTable;

impl ExportFormat for LeafTable {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "leaves",
            description: "a table of the leaves",
            extensions: &["csv"],
            options: &[TREES],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        match model.body {
            Body::Trees(_) => Ok(()),
            Body::Linear(_) => Err(UnsupportedModel::new(
                "the model is linear and has no leaves; export it as json",
            )),
        }
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let mut csv = String::from("tree,leaf,value\n");
        for (tree, member) in input.model.members().iter().take(options.count(&TREES)).enumerate() {
            for (leaf, value) in member.shape.values().enumerate() {
                csv.push_str(&format!("{tree},{leaf},{}\n", exact(value)));
            }
        }
        out.extend_from_slice(csv.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::export::{ExportContent, ExportInput, ExportOptions, export_text, find};
    use crate::rules::tests::worked;

    #[test]
    fn every_leaf_has_a_line() {
        let model = worked();
        let format = find(ExportContent::Model, "leaves").unwrap();
        let csv =
            export_text(format, &ExportInput::new(&model), &ExportOptions::default()).unwrap();
        let leaves: usize = model.members().iter().map(|member| member.shape.leaves().len()).sum();
        assert_eq!(csv.lines().count(), 1 + leaves);
        assert!(csv.starts_with("tree,leaf,value\n0,0,"));
    }
}
