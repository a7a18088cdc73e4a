//! Tuning: an engine proposes configurations, an objective judges them, a study remembers.
//!
//! A [`Study`] is one sequence of trials. Which configuration trial `t` has depends on the study's
//! [`StudyHeader`] and on the outcomes of the trials before it, never on threads, processes or time, so a
//! study that was killed goes on as if nothing had happened.
//!
//! [`NativeObjective`] is the objective of our own learners, [`spaces`] are what may be tried, and
//! [`finish`] turns the best trial into a model and honest figures.

pub mod command;
pub mod engine;
pub mod ensemble;
pub mod finish;
pub mod head;
pub mod importance;
mod journal;
pub mod named;
pub mod native;
pub mod native_space;
pub mod objective;
pub mod race;
mod schedule;
pub mod score;
pub mod sequence;
pub mod space_file;
pub mod spaces;
pub mod study;
pub mod surrogate;
pub mod trial;

pub use finish::{Figure, FinalFit, TuningResult};
pub use head::{StudyHeader, StudyMetric, StudyTask};
pub use journal::{StudyRecord, read as read_study};
pub use native::{DEFAULT_METHOD, NativeConfig, NativeObjective};
pub use objective::{FoldResult, Proposal, TrialObjective};
pub use score::TuningScore;
pub use study::{
    StopReason, Study, StudyLimits, StudyNews, StudyOutcome, StudyProgress, TuneEvent,
};
pub use trial::{Ending, TrialRecord};
