//! Model files: the native JSON format, and importers of XGBoost's, LightGBM's and CatBoost's
//! models, one module each. The types of a file are separate from the model's types, and every
//! model that a reader returns has passed [`Model::check`](crate::Model::check).
//!
//! [`read`] detects the format from the content. `docs/model-format.md` describes the native format
//! and which parts of the other libraries' models are supported.
//!
//! **Invariant:** no reader panics or allocates more than a small multiple of its input, whatever
//! the input is.

mod catboost;
mod detect;
mod document;
mod import;
mod lightgbm;
mod native;
mod ubj;
mod xgboost;

use crate::ensemble::Model;
use document::ImportResult;
pub use native::{FormatError, from_json, to_json};

use self::detect::FileFormat;

/// Reads a model in any of the known formats. The result has passed [`Model::check`].
///
/// ```
/// use swarmwood_model::{FeatureValue, format};
/// // A small model as LightGBM writes it: one tree with the split age <= 30.
/// let text = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=regression\n\
///     feature_names=age\nfeature_infos=[0:99]\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=1\n\
///     threshold=30\ndecision_type=10\nleft_child=-1\nright_child=-2\nleaf_value=1.5 2.5\n\nend of trees\n";
/// let model = format::read(text.as_bytes())?;
/// assert_eq!(model.raw_row(&[FeatureValue::Number(30.0)], None), Ok(vec![1.5]));
/// assert_eq!(model.provenance.method, "lightgbm");
/// # Ok::<(), format::FormatError>(())
/// ```
pub fn read(bytes: &[u8]) -> Result<Model, FormatError> {
    match FileFormat::detect(bytes) {
        FileFormat::Native => native::from_json(bytes),
        FileFormat::XgboostJson => xgboost::from_json(bytes),
        FileFormat::XgboostUbj => xgboost::from_ubj(bytes),
        FileFormat::LightgbmText => lightgbm::from_text(bytes),
        FileFormat::CatboostJson => catboost::from_json(bytes),
        FileFormat::Unsupported { library, advice } => {
            Err(FormatError::Foreign { library, problem: advice.into() })
        }
    }
}

/// Checks an imported model.
fn check_imported(library: &'static str, model: ImportResult<Model>) -> Result<Model, FormatError> {
    let model = model.map_err(|problem| FormatError::Foreign { library, problem })?;
    model.check().map_err(|error| FormatError::Foreign { library, problem: error.to_string() })?;
    Ok(model)
}
