//! The menu: which ways of fitting are compared, for each kind of loss and size of ensemble.
//!
//! Greedy boosting with several learning rates is always on it. A search arm's penalty follows from
//! the noise: `λ = c · m · s` for m trees, where s is the share of the variance that the best
//! greedy fit leaves unexplained on rows it has not seen; for classes it is `c · m · s/(1-s)`. More
//! arms than these make the choice worse, not better.

use super::{Arm, Frame};
use crate::greedy::Growth;
use crate::split::{Penalties, Ridge};

/// One way of fitting.
#[derive(Debug, Clone, PartialEq)]
pub enum Way {
    /// The best constant.
    Constant,
    /// Greedy boosting.
    Greedy {
        /// Learning rate.
        rate: f64,
        /// Penalties.
        penalties: Penalties,
    },
    /// Search.
    Search(Arm),
}

/// A way of fitting with the size it is to have.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// For people.
    pub name: String,
    /// How.
    pub way: Way,
    /// How large.
    pub frame: Frame,
}

/// What the data say, and the menu depends on.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Whether classes are predicted.
    pub classes: bool,
    /// Number of rows.
    pub rows: usize,
    /// Mean hessian of a row at the start.
    pub hessian: f64,
    /// Share of the variance that greedy boosting leaves unexplained.
    pub noise: f64,
    /// Loss that one useless split gains on average, twice: the residual variance, or 1 where
    /// hessians say it.
    pub dispersion: f64,
}

/// Leaves of all trees together that count as few.
const FEW_LEAVES: usize = 512;

/// Numbers that go with the number of trees.
struct Size {
    rates: &'static [f64],
    start_rate: f64,
    sweeps: usize,
    pairs: usize,
}

fn size(frame: &Frame) -> Size {
    match frame.trees {
        0..=11 => Size { rates: &[1.0, 0.5, 0.3, 0.15], start_rate: 0.5, sweeps: 8, pairs: 60 },
        12..=31 => Size { rates: &[0.5, 0.3, 0.15], start_rate: 0.3, sweeps: 4, pairs: 16 },
        // Many trees of few leaves are quickly grown again.
        trees if trees * frame.max_leaves <= FEW_LEAVES => {
            Size { rates: &[0.3, 0.15, 0.08], start_rate: 0.15, sweeps: 8, pairs: 16 }
        }
        _ => Size { rates: &[0.3, 0.15, 0.08], start_rate: 0.15, sweeps: 3, pairs: 0 },
    }
}

fn greedy(
    frame: &Frame,
    rate: f64,
    lambda: f64,
    gamma: f64,
    min_child_weight: f64,
    label: &str,
) -> Candidate {
    Candidate {
        name: format!("greedy, rate {rate}{label}"),
        way: Way::Greedy {
            rate,
            penalties: Penalties { lambda, ridge: Ridge::Flat, gamma, min_child_weight },
        },
        frame: *frame,
    }
}

/// Greedy candidates. The ones with a price on splits need the noise and come with [`search`].
pub fn greedy_menu(frame: &Frame, facts: &Facts) -> Vec<Candidate> {
    let size = size(frame);
    let h = facts.hessian;
    // A row counts one hessian where it is constant; for classes the recipe counts hessians of a
    // quarter.
    let least = if facts.classes { 5.0 * 0.25 } else { 5.0 * h };
    let mut menu = Vec::new();
    for &rate in size.rates {
        menu.push(greedy(frame, rate, if facts.classes { 1.0 } else { h }, 0.0, least, ""));
    }
    if facts.classes {
        for &rate in &size.rates[..size.rates.len().min(3)] {
            menu.push(greedy(frame, rate, 1.0, 0.0, 1.0, ", smaller leaves"));
        }
        for &rate in size.rates.iter().filter(|&&rate| rate < 1.0).take(2) {
            menu.push(greedy(frame, rate, 10.0, 0.0, least, ", lambda 10"));
        }
        if let Some(frame) = oblivious(frame).filter(|_| frame.trees >= MANY_TREES) {
            // Oblivious trees overfit less, so they bear larger steps.
            for rate in [0.5, 0.3] {
                menu.push(greedy(&frame, rate, 1.0, 0.0, 1.0, ", oblivious trees"));
            }
        }
    } else {
        for &rate in size.rates {
            menu.push(greedy(frame, rate, 10.0 * h, 0.0, least, ", lambda 10"));
        }
        if frame.trees >= MANY_TREES {
            for &rate in &size.rates[1..] {
                menu.push(greedy(frame, rate, h, 0.0, 20.0 * h, ", larger leaves"));
            }
            if let Some(frame) = oblivious(frame) {
                for &rate in &size.rates[..2] {
                    menu.push(greedy(&frame, rate, h, 0.0, least, ", oblivious trees"));
                }
            }
        }
    }
    menu
}

/// From this many trees on, the bias of oblivious trees is worth trying.
const MANY_TREES: usize = 12;

/// The same size in oblivious trees, if they may be tried.
fn oblivious(frame: &Frame) -> Option<Frame> {
    let depth = frame.max_leaves.max(2).ilog2() as usize;
    let wanted = frame.or_oblivious && frame.growth != Growth::Oblivious && depth <= DEEPEST;
    wanted.then_some(Frame { growth: Growth::Oblivious, depth, max_leaves: 1 << depth, ..*frame })
}

/// Levels of an oblivious tree that is tried; deeper ones cost too much memory.
const DEEPEST: usize = 8;

/// Greedy boosting where nothing could be compared.
pub fn plain_greedy(frame: &Frame) -> Candidate {
    greedy(frame, size(frame).start_rate, 1.0, 0.0, 1.0, ", smaller leaves")
}

/// Greedy boosting that pays for splits what chance would gain.
pub fn priced_greedy(frame: &Frame, facts: &Facts) -> Candidate {
    let rate = size(frame).rates.iter().copied().find(|&rate| rate < 1.0).unwrap_or(0.5);
    let (lambda, least) =
        if facts.classes { (1.0, 1.25) } else { (facts.hessian, 5.0 * facts.hessian) };
    greedy(frame, rate, lambda, price(facts), least, ", priced splits")
}

/// Half of the Bayesian information criterion's price of a parameter.
fn price(facts: &Facts) -> f64 {
    0.5 * facts.dispersion * (facts.rows as f64).ln()
}

/// From this many rows a leaf on, each counted by the share of its variance that can be explained,
/// trees need no dropping.
const AMPLE_ROWS: f64 = 100.0;

/// The search arm that is likeliest to win: the first, but for classes the one without dropout
/// where rows are ample.
pub fn likeliest(frame: &Frame, facts: &Facts) -> Candidate {
    let leaves = (frame.trees * frame.max_leaves).max(1) as f64;
    let ample = facts.rows as f64 * (1.0 - facts.noise) / leaves > AMPLE_ROWS;
    search_menu(frame, facts).swap_remove(usize::from(facts.classes && ample))
}

/// The search arms.
pub fn search_menu(frame: &Frame, facts: &Facts) -> Vec<Candidate> {
    let size = size(frame);
    let m = frame.trees as f64;
    let arm = |name: String, lambda: f64, kappa: f64, gamma: f64| {
        let (least, pairs) = if facts.classes {
            (1.0, 0)
        } else {
            (5.0 * facts.hessian * (1.0 + kappa), size.pairs)
        };
        let kappa = if facts.classes { 0.25 * kappa } else { kappa * facts.hessian };
        let ridge = Ridge::Hierarchical;
        let (start_rate, sweeps) = (size.start_rate, size.sweeps);
        let arm =
            Arm { lambda, ridge, kappa, gamma, min_child_weight: least, start_rate, sweeps, pairs };
        Candidate { name, way: Way::Search(arm), frame: *frame }
    };
    if facts.classes {
        let noise = facts.noise.min(0.97);
        let odds = m * noise / (1.0 - noise);
        return vec![
            arm("search, ridge 2, dropout 0.2".to_string(), 2.0 * odds, 0.2, 0.0),
            arm("search, ridge 2".to_string(), 2.0 * odds, 0.0, 0.0),
            arm("search, ridge 6, dropout 0.2".to_string(), 6.0 * odds, 0.2, 0.0),
        ];
    }
    let lambda = |c: f64| c * m * facts.noise * facts.hessian;
    let plain = |c: f64| arm(format!("search, ridge {c}"), lambda(c), 0.0, 0.0);
    let priced =
        || arm("search, ridge 48, priced splits".to_string(), lambda(48.0), 0.0, price(facts));
    let dropping =
        |kappa: f64| arm(format!("search, ridge 48, dropout {kappa:.2}"), lambda(48.0), kappa, 0.0);
    let mut menu = match frame.trees {
        0..=11 => return vec![plain(48.0), plain(12.0), plain(192.0), priced()],
        12..=31 => vec![plain(48.0), dropping(m / 64.0), priced()],
        _ => vec![plain(48.0), dropping(m / 64.0), dropping(m / 32.0)],
    };
    if let Some(frame) = oblivious(frame) {
        for Candidate { name, way, .. } in [plain(48.0), dropping(m / 64.0)] {
            menu.push(Candidate { name: format!("{name}, oblivious trees"), way, frame });
        }
    }
    menu
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(trees: usize, max_leaves: usize) -> Frame {
        Frame {
            trees,
            growth: Growth::Leaf,
            or_oblivious: true,
            depth: 0,
            max_leaves,
            seed: 1,
            memory: 1 << 20,
        }
    }

    const CLASSES: Facts =
        Facts { classes: true, rows: 1000, hessian: 0.25, noise: 0.3, dispersion: 1.0 };

    #[test]
    fn oblivious_trees_are_tried_where_there_are_many_and_they_are_allowed() {
        for facts in [CLASSES, Facts { classes: false, ..CLASSES }] {
            let tried = |frame: Frame| {
                let menu = greedy_menu(&frame, &facts);
                menu.iter().filter(|candidate| candidate.frame.growth == Growth::Oblivious).count()
            };
            assert_eq!((tried(frame(6, 32)), tried(frame(64, 64))), (0, 2));
            assert_eq!(tried(Frame { or_oblivious: false, ..frame(64, 64) }), 0);
        }
    }

    #[test]
    fn pairs_of_many_trees_are_ruined_while_these_are_small() {
        let pairs = |frame: Frame| match &search_menu(&frame, &Facts { classes: false, ..CLASSES })
            [0]
        .way
        {
            Way::Search(arm) => arm.pairs,
            _ => 0,
        };
        assert_eq!((pairs(frame(48, 4)), pairs(frame(64, 64))), (16, 0));
    }
}
