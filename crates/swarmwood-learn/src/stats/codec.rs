//! Messages as bytes: fixed-width little-endian numbers, lengths before lists, a tag before the
//! variants of an enum.
//!
//! The format lives as long as a run; it has no versions and is never stored.

use swarmwood_model::monotone::Direction;
use swarmwood_model::{Child, Leaf};

use super::lookahead::{FeatureSet, LookaheadSplit};
use super::message::{
    ColumnScale, DataDescription, LeafQuantile, LeafRows, LeafSlot, LeafSums, LinearColumn,
    NodeStats, ParticleFitness, Reply, RowSample, RowSet, SnapshotId, SplitCommand,
    SplitConstraints, SplitQuery, TreeId, Work,
};
use crate::binned_tree::{BinnedSplit, BinnedTree};
use crate::kernels::quantise::GradientSums;
use crate::metric::EvalMetric;
use crate::rule::{BinRule, CodeSet, Cut};
use crate::split::{Penalties, Ridge, SplitCandidate};

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes end too soon.
    #[error("it ends too soon")]
    End,
    /// Bytes are left over.
    #[error("{bytes} bytes are left over")]
    Rest {
        /// How many.
        bytes: usize,
    },
    /// A value that breaks the rules of its kind.
    #[error("{kind} is not valid")]
    Invalid {
        /// What it is to be.
        kind: &'static str,
    },
    /// A tag without a variant.
    #[error("{kind} has no variant {tag}")]
    Tag {
        /// The enum.
        kind: &'static str,
        /// The tag.
        tag: u8,
    },
}

/// A value that can be written as bytes and read back.
pub(super) trait Encode: Sized {
    fn write(&self, out: &mut Vec<u8>);
    fn read(from: &mut &[u8]) -> Result<Self, CodecError>;
}

/// The bytes of a value.
pub(super) fn to_bytes<T: Encode>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    value.write(&mut out);
    out
}

/// The value of bytes, all of which must be used.
pub(super) fn of_bytes<T: Encode>(mut bytes: &[u8]) -> Result<T, CodecError> {
    let value = T::read(&mut bytes)?;
    if bytes.is_empty() { Ok(value) } else { Err(CodecError::Rest { bytes: bytes.len() }) }
}

macro_rules! encode_number {
    ($($number:ty),*) => {$(
        impl Encode for $number {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
                let (number, rest) = from.split_first_chunk().ok_or(CodecError::End)?;
                *from = rest;
                Ok(<$number>::from_le_bytes(*number))
            }
        }
    )*};
}

encode_number!(u8, u16, u32, u64, f32, f64);

/// Implements [`Encode`] for a struct with named fields.
macro_rules! encode_struct {
    ($name:ident { $($field:ident),* }) => {
        impl Encode for $name {
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)*
            }

            fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
                $(let $field = Encode::read(from)?;)*
                Ok($name { $($field),* })
            }
        }
    };
}

/// Implements [`Encode`] for an enum whose variants have named fields, or none.
macro_rules! encode_enum {
    ($name:ident { $($tag:literal => $variant:ident { $($field:ident),* }),* $(,)? }) => {
        impl Encode for $name {
            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant { $($field),* } => {
                        out.push($tag);
                        $($field.write(out);)*
                    })*
                }
            }

            fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
                match u8::read(from)? {
                    $($tag => {
                        $(let $field = Encode::read(from)?;)*
                        Ok($name::$variant { $($field),* })
                    })*
                    tag => Err(CodecError::Tag { kind: stringify!($name), tag }),
                }
            }
        }
    };
}

pub(super) use {encode_enum, encode_struct};

impl Encode for usize {
    fn write(&self, out: &mut Vec<u8>) {
        (*self as u64).write(out);
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        Ok(u64::read(from)? as usize)
    }
}

impl Encode for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        Ok(u8::read(from)? != 0)
    }
}

impl<T: Encode> Encode for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        self.iter().for_each(|value| value.write(out));
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        self.iter().for_each(|value| value.write(out));
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        let length = usize::read(from)?;
        // A damaged length must not allocate: every value takes at least one byte.
        if length > from.len() {
            return Err(CodecError::End);
        }
        (0..length).map(|_| T::read(from)).collect()
    }
}

impl Encode for String {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        let length = usize::read(from)?;
        let (text, rest) = from.split_at_checked(length).ok_or(CodecError::End)?;
        *from = rest;
        String::from_utf8(text.to_vec()).map_err(|_| CodecError::Invalid { kind: "a text" })
    }
}

impl<T: Encode> Encode for [T; 2] {
    fn write(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.write(out));
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        Ok([T::read(from)?, T::read(from)?])
    }
}

impl Encode for Child {
    fn write(&self, out: &mut Vec<u8>) {
        let (is_leaf, number) = match *self {
            Child::Leaf(leaf) => (true, leaf),
            Child::Node(node) => (false, node),
        };
        is_leaf.write(out);
        number.write(out);
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        let child = if bool::read(from)? { Child::Leaf } else { Child::Node };
        Ok(child(u32::read(from)?))
    }
}

impl Encode for Cut<u8> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Cut::Above(code) => {
                false.write(out);
                code.write(out);
            }
            Cut::In(set) => {
                true.write(out);
                set.words().iter().for_each(|word| word.write(out));
            }
        }
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        if !bool::read(from)? {
            return Ok(Cut::Above(u8::read(from)?));
        }
        let mut words = [0; 4];
        for word in &mut words {
            *word = u64::read(from)?;
        }
        Ok(Cut::In(CodeSet::from_words(words)))
    }
}

impl Encode for TreeId {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        Ok(TreeId(u32::read(from)?))
    }
}

impl Encode for FeatureSet {
    fn write(&self, out: &mut Vec<u8>) {
        self.features().to_vec().write(out);
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        let features = Vec::<u32>::read(from)?;
        let tag = features.len() as u8;
        FeatureSet::new(&features).ok_or(CodecError::Tag { kind: "FeatureSet", tag })
    }
}

impl Encode for SnapshotId {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        Ok(SnapshotId(u32::read(from)?))
    }
}

encode_struct!(GradientSums { g, h });
encode_struct!(Leaf { value, cover });
encode_struct!(BinRule { feature, cut, missing_right });
encode_struct!(BinnedTree { nodes, leaves, oblivious });
encode_struct!(BinnedSplit { rule, left, right, gain, cover });
encode_struct!(SplitCandidate { rule, gain });
encode_struct!(LookaheadSplit { rule, gain, splits, levels });
encode_struct!(Penalties { lambda, ridge, gamma, min_child_weight });
encode_struct!(RowSample { share, seed, round });
encode_struct!(SplitConstraints { allowed, penalties, directions, groups });
encode_struct!(SplitCommand { slot, rule, left, right });
encode_struct!(NodeStats { sums, best });
encode_struct!(LeafSlot { slot, leaf });
encode_struct!(LeafSums { g, h, weight });
encode_struct!(LeafQuantile { value, weight });
encode_struct!(DataDescription { rows, base, shift });
encode_struct!(ColumnScale { centre, spread });
encode_struct!(ParticleFitness { fitness, leaves, reused });

encode_enum!(Direction { 0 => Increasing {}, 1 => Decreasing {} });
encode_enum!(Ridge { 0 => Flat {}, 1 => Hierarchical {} });
encode_enum!(LinearColumn { 0 => Bias {}, 1 => Feature { feature } });
encode_enum!(RowSet { 0 => Training {}, 1 => Validation {}, 2 => Watched { set } });
encode_enum!(SplitQuery { 0 => Sums {}, 1 => Each {}, 2 => Shared {} });
encode_enum!(LeafRows { 0 => Slots { slots }, 1 => Tree { id, leaves } });
encode_enum!(EvalMetric {
    0 => Loss {}, 1 => Rmse {}, 2 => Mae {}, 3 => LogLoss {}, 4 => Error {}, 5 => Accuracy {},
    6 => R2 {}, 7 => Medae {}, 8 => Mape {}, 9 => BalancedAccuracy {}, 10 => Brier {},
    11 => Auc {}, 12 => F1 {}, 13 => Custom {}, 14 => CustomScore {},
});
encode_enum!(Work {
    0 => Describe {},
    1 => Derive { output, extra_hessian },
    2 => BeginTree { output, sample, search, query },
    3 => Split { commands, query },
    4 => FinishTree { output, tree, leaves },
    5 => AddTree { output, tree, factor, training, validation },
    6 => AssignSlots { id, leaves },
    7 => AssignTree { id, tree },
    8 => DropTree { id },
    9 => LeafSums { output, id, leaves },
    10 => LeafQuantiles { rows, alpha },
    11 => Shift { output, id, values },
    12 => ResetScores {},
    13 => Loss {},
    14 => Metric { metric, rows },
    15 => SaveScores { id },
    16 => RestoreScores { id },
    17 => DropScores { id },
    18 => GatherScores { rows },
    19 => ReleaseBuffers {},
    20 => LinearScales {},
    21 => LinearDerive {},
    22 => LinearSums { output, column },
    23 => LinearStep { output, column, by },
    24 => LinearAdd { output, bias, steps },
    25 => LinearMove {},
    26 => LinearHalve {},
    27 => LinearRestore {},
    28 => LinearMetric { metric, rows, bias, beta },
    29 => EvaluateParticles { sequences, with_leaves },
    30 => EvaluateParticle { sequence },
    31 => MeasureParticle { sequence, fitness },
    32 => ParticleScores { sequence },
    33 => ParticleReplacements { sequence, tree },
    34 => Screen { most },
    35 => LookAhead { slots, sets },
});
encode_enum!(Reply {
    0 => Done {},
    1 => Description { data },
    2 => Hessians { sums },
    3 => Root { stats },
    4 => Children { stats },
    5 => LeafSums { sums },
    6 => LeafQuantiles { quantiles },
    7 => Value { value },
    8 => Scores { scores },
    9 => LinearScales { scales, total_weight },
    10 => LinearSums { sums },
    11 => LinearMove { largest, moved },
    12 => Particles { particles },
    13 => Particle { particle, sums },
    14 => Replacements { gains },
    15 => FeatureSets { sets },
    16 => Lookahead { splits },
});
