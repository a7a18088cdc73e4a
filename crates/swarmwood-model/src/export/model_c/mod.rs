//! A model as freestanding C99: one source and one header, tables and a few short functions.
//!
//! Nothing of the C library is used but `stdint.h`, no memory is allocated, and all data is
//! constant, so that the functions are reentrant. Sums are added in the order of the trees, as the
//! model itself does, in `double`. With the option `integer` inputs, tables and sums are integers
//! (`integer.rs`).

mod doubles;
mod integer;
mod names;
mod node_tables;
mod table;

use self::integer::IntegerForm;
use super::scoring_form::ScoringForm;
use super::{
    CompanionFile, ExportError, ExportFormat, ExportInput, ExportOption, ExportOptions, FormatSpec,
    Harness, InputPrecision, OptionValues, Tolerance, UnsupportedModel, Verification,
};
use crate::ensemble::Model;

pub(super) use integer::times_power;

const NAME: ExportOption = ExportOption {
    name: "name",
    help: "how the names of functions and macros begin",
    values: OptionValues::Text { default: "model" },
};

const INTEGER: ExportOption = ExportOption {
    name: "integer",
    help: "bits of the leaf values of a version without floating point",
    values: OptionValues::Choice(&[
        ("no", "inputs and sums are doubles"),
        ("8", "leaf values of 8 bits"),
        ("16", "leaf values of 16 bits"),
        ("32", "leaf values of 32 bits"),
    ]),
};

/// Words that cannot begin the names.
const RESERVED: &[&str] = &["int", "double", "static", "const", "uint"];

/// Source and header.
pub(super) struct ModelC;

impl ExportFormat for ModelC {
    fn spec(&self) -> FormatSpec {
        FormatSpec {
            name: "c",
            description: "C99 without libraries: a source and a header beside it",
            extensions: &["c"],
            options: &[NAME, INTEGER],
            ..FormatSpec::MODEL
        }
    }

    fn supports(&self, model: &Model) -> Result<(), UnsupportedModel> {
        model.check().map_err(UnsupportedModel::new)
    }

    fn write(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        out.extend_from_slice(program(input, options)?.source.as_bytes());
        Ok(())
    }

    fn companions(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
    ) -> Result<Vec<CompanionFile>, ExportError> {
        let program = program(input, options)?;
        Ok(vec![CompanionFile { extension: "h", bytes: program.header.into_bytes() }])
    }

    fn verification(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
    ) -> Option<Verification> {
        let name = checked_name(options).ok()?;
        let form = ScoringForm::new(input.model);
        Some(match integer_bits(options) {
            None => Verification::exact(Harness::C(doubles::harness(&name))),
            Some(bits) => {
                let integers = IntegerForm::new(&form, bits);
                Verification {
                    harness: Harness::C(integer::harness(&name)),
                    tolerance: Tolerance { absolute: integers.tolerance, relative: 0.0 },
                    inputs: InputPrecision::FixedPoint(integers.shifts),
                    overrides: &[],
                }
            }
        })
    }

    fn note(
        &self,
        input: &ExportInput<'_>,
        options: &ExportOptions,
    ) -> Result<Option<String>, ExportError> {
        let bytes = program(input, options)?.table_bytes;
        Ok(Some(format!("{bytes} bytes of tables, without names")))
    }
}

/// A source, its header and the size of its tables.
pub(super) struct CProgram {
    pub(super) source: String,
    pub(super) header: String,
    pub(super) table_bytes: usize,
}

fn program(input: &ExportInput<'_>, options: &ExportOptions) -> Result<CProgram, ExportError> {
    let name = checked_name(options)?;
    let form = ScoringForm::new(input.model);
    let stem = input.file_stem();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if stem.is_empty() || !stem.chars().all(plain) {
        let message = format!(
            "the source includes its header '{}.h' by name: use letters, digits, '_', '-' and '.' only",
            stem.escape_debug()
        );
        return Err(ExportError::FileName { message });
    }

    match integer_bits(options) {
        None => Ok(doubles::program(&form, &name, stem)),
        Some(bits) => integer::program(&form, &name, stem, bits),
    }
}

/// The bits of leaf values, if no floating point is to be used.
fn integer_bits(options: &ExportOptions) -> Option<u32> {
    options.get(&INTEGER).parse().ok()
}

fn checked_name(options: &ExportOptions) -> Result<String, ExportError> {
    let name = options.get(&NAME);
    let first = name.chars().next();
    let is_identifier = first.is_some_and(|c| c.is_ascii_alphabetic())
        && name.len() <= 40
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !RESERVED.contains(&name.as_str());
    if is_identifier {
        return Ok(name);
    }
    Err(ExportError::Option {
        name: NAME.name.to_string(),
        message: "must be a name of C: a letter, then letters, digits or '_', 40 at most".into(),
    })
}
