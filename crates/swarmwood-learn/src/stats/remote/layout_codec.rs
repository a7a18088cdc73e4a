//! A layout as bytes: its bins, which features are constant, and which share a column. Where codes
//! are stored follows from these.

use crate::bins::Layout;
use crate::bins::bundle::Bundle;
use crate::bins::edges::Edges;
use crate::bins::layout::{FeatureBins, FeaturePlace};
use crate::bins::levels::CategoryLevels;
use crate::stats::codec::{CodecError, Encode};

impl Encode for FeatureBins {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            FeatureBins::Number(edges) => {
                out.push(0);
                edges.thresholds().to_vec().write(out);
                edges.bounded().write(out);
            }
            FeatureBins::Category(levels) => {
                out.push(1);
                levels.codes().to_vec().write(out);
                levels.bins().write(out);
            }
        }
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        match u8::read(from)? {
            0 => {
                let (thresholds, bounded) = (Encode::read(from)?, bool::read(from)?);
                let edges = Edges::from_parts(thresholds, !bounded);
                edges.map(FeatureBins::Number).ok_or(CodecError::Invalid { kind: "the edges" })
            }
            1 => {
                let levels = CategoryLevels::from_parts(Encode::read(from)?, usize::read(from)?);
                levels.map(FeatureBins::Category).ok_or(CodecError::Invalid { kind: "the levels" })
            }
            tag => Err(CodecError::Tag { kind: "FeatureBins", tag }),
        }
    }
}

impl Encode for Bundle {
    fn write(&self, out: &mut Vec<u8>) {
        self.members.len().write(out);
        for &(feature, bins, default) in &self.members {
            feature.write(out);
            bins.write(out);
            default.write(out);
        }
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        let count = usize::read(from)?;
        if count > from.len() {
            return Err(CodecError::End);
        }
        let mut member = || Ok((Encode::read(from)?, Encode::read(from)?, Encode::read(from)?));
        let members = (0..count).map(|_| member()).collect::<Result<_, CodecError>>()?;
        Ok(Bundle { members })
    }
}

impl Encode for Layout {
    fn write(&self, out: &mut Vec<u8>) {
        let constant: Vec<bool> =
            self.places().iter().map(|place| *place == FeaturePlace::Dropped).collect();
        self.features().to_vec().write(out);
        self.sources().to_vec().write(out);
        constant.write(out);
        self.bundles().write(out);
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        let (features, sources) = (Vec::<FeatureBins>::read(from)?, Encode::read(from)?);
        let (constant, bundles) = (Vec::<bool>::read(from)?, Vec::<Bundle>::read(from)?);
        // Codes are bytes, and one of them is for missing values.
        if features.iter().any(|bins| bins.bins() > 255) {
            return Err(CodecError::Invalid { kind: "the bins" });
        }
        Layout::from_parts(features, sources, &constant, &bundles)
            .ok_or(CodecError::Invalid { kind: "the layout" })
    }
}
