//! Hyper-parameter tuning: an engine proposes configurations, an objective evaluates them, a study
//! records the trials.
//!
//! A [`Study`] is one sequence of trials. Which configuration trial `t` has depends on the study's
//! [`StudyHeader`] and on the outcomes of the trials before it, never on threads, processes or time, so a
//! study that was killed and resumed has the same trials as one that was not.
//!
//! [`NativeObjective`] is the objective of the built-in learners, [`spaces`] are the search spaces,
//! and [`finish`] turns the best trial into a model with a hold-out score.

pub mod command;
pub mod engine;
pub mod engine_options;
pub mod ensemble;
pub mod finish;
pub mod header;
pub mod importance;
mod journal;
pub mod named;
pub mod native;
pub mod native_space;
pub mod objective;
pub mod pruning;
pub mod score;
pub mod sequence;
pub mod space_file;
pub mod spaces;
pub mod study;
pub mod surrogate;
pub mod trial;

pub use finish::{FinalFit, ScoreEstimate, TuningResult};
pub use header::{StudyHeader, StudyMetric, StudyTask};
pub use journal::{StudyRecord, read as read_study};
pub use native::{DEFAULT_METHOD, NativeConfig, NativeObjective};
pub use objective::{FoldResult, Proposal, TrialObjective};
pub use score::TuningScore;
pub use study::{
    StopReason, Study, StudyLimits, StudyOutcome, StudyProgress, StudyUpdate, TuneEvent,
};
pub use trial::{TrialOutcome, TrialRecord};
