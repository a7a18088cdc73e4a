//! The targets: every reader of bytes from outside, and training.

mod models;
mod parquet_files;
mod runs;
mod settings;
mod tables;
mod training;
mod ubj;

use crate::target::FuzzTarget;

/// All targets.
pub const TARGETS: &[FuzzTarget] = &[
    tables::CSV_TRAIN,
    tables::CSV_SCORE,
    parquet_files::PARQUET,
    models::NATIVE,
    models::XGBOOST_JSON,
    models::XGBOOST_UBJ,
    models::LIGHTGBM,
    models::CATBOOST,
    models::EXPORTS,
    settings::SPACE,
    settings::CONFIG,
    runs::JOURNAL,
    runs::CHECKPOINT,
    training::TRAIN,
];
