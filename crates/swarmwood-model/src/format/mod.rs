//! Models as files: one module a format. A format is a function from a model to bytes and one back;
//! both are separate from the model's types, and whatever a reader accepts has passed
//! [`Model::check`](crate::Model::check).
//!
//! [`read`] tells formats apart by content: our own JSON, and what XGBoost, LightGBM and CatBoost
//! write. Only our own is written. `docs/model-format.md` says what is read of the others' models
//! and what is not.
//!
//! **Invariant:** the only serde of the crate lives below this module, and no reader panics or
//! allocates more than a small multiple of its input, whatever the input is.

pub mod catboost;
mod document;
mod graft;
mod kind;
pub mod lightgbm;
pub mod native;
mod rules;
mod ubj;
pub mod xgboost;

use crate::ensemble::Model;
use document::Found;
pub use native::{FormatError, from_json, to_json};

pub(crate) use rules::rules_to_json;

use self::kind::Format;

/// The model that bytes hold, whichever of the known formats they are in. It has passed
/// [`Model::check`].
///
/// ```
/// use swarmwood_model::{Value, format};
/// // A small model as LightGBM writes it: one tree with the rule age <= 30.
/// let text = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=regression\n\
///     feature_names=age\nfeature_infos=[0:99]\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=1\n\
///     threshold=30\ndecision_type=10\nleft_child=-1\nright_child=-2\nleaf_value=1.5 2.5\n\nend of trees\n";
/// let model = format::read(text.as_bytes())?;
/// assert_eq!(model.raw_row(&[Value::Number(30.0)], None), Ok(vec![1.5]));
/// assert_eq!(model.provenance.method, "lightgbm");
/// # Ok::<(), format::FormatError>(())
/// ```
pub fn read(bytes: &[u8]) -> Result<Model, FormatError> {
    match Format::of(bytes) {
        Format::Native => native::from_json(bytes),
        Format::XgboostJson => xgboost::from_json(bytes),
        Format::XgboostUbj => xgboost::from_ubj(bytes),
        Format::LightgbmText => lightgbm::from_text(bytes),
        Format::CatboostJson => catboost::from_json(bytes),
        Format::Unread { library, advice } => {
            Err(FormatError::Foreign { library, problem: advice.into() })
        }
    }
}

/// The model a reader found, if it is one.
fn checked(library: &'static str, model: Found<Model>) -> Result<Model, FormatError> {
    let model = model.map_err(|problem| FormatError::Foreign { library, problem })?;
    model.check().map_err(|error| FormatError::Foreign { library, problem: error.to_string() })?;
    Ok(model)
}
