//! What an interrupted search needs to go on: the scores of the candidates so far, and the trees of
//! the fit in hand and of the final one.
//!
//! Where rows stand in the trees is not kept: the trees tell it again. The state is told when all
//! scores were summed up anew, so that summing them up once more gives the same bits.

use swarmwood_model::{Child, Leaf};
use swarmwood_search::{Datum, Error};

use super::Stage;
use super::ensemble::Ensemble;
use crate::bins::{CodeSet, Cut, Layout, Rule};
use crate::grown::{Grown, GrownNode};

/// A candidate's score with what it cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    pub score: f64,
    pub factor: f64,
    pub squares: f64,
    pub work: usize,
}

/// A tree of the final fit.
#[derive(Debug, Clone)]
pub struct Carried {
    pub grown: Grown,
    pub output: usize,
    pub cost: f64,
}

/// The final fit on its way.
#[derive(Debug, Clone)]
pub struct Flight {
    pub stage: Stage,
    pub done: usize,
    pub work: usize,
    pub trees: Vec<Carried>,
}

/// The fit in hand on its way.
#[derive(Debug, Clone)]
pub struct InHand {
    /// Whether its penalties are the ones that the menu has in the end.
    pub exact: bool,
    /// Trees grown for what it took the place of, and to compare it with.
    pub spent: usize,
    pub flight: Flight,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Past {
    pub scores: Vec<Score>,
    pub held: Option<InHand>,
    pub flight: Option<Flight>,
}

impl Flight {
    /// A fit that has not begun.
    pub fn nothing() -> Self {
        Flight { stage: Stage::Start, done: 0, work: 0, trees: Vec::new() }
    }

    /// The present state of a fit.
    pub fn of(stage: Stage, done: usize, ensemble: &Ensemble<'_>) -> Self {
        let carried = |tree: &super::ensemble::Placed| Carried {
            grown: tree.grown.clone(),
            output: tree.output,
            cost: tree.cost,
        };
        Flight {
            stage,
            done,
            work: ensemble.work,
            trees: ensemble.trees.iter().map(carried).collect(),
        }
    }
}

impl Past {
    /// As plain data.
    pub fn save(&self) -> Datum {
        let score = |score: &Score| {
            let &Score { score, factor, squares, work } = score;
            let reals = [score, factor, squares].map(Datum::Real);
            Datum::List(reals.into_iter().chain([Datum::Natural(work as u64)]).collect())
        };
        let held = |held: &InHand| {
            Datum::record([
                ("exact", Datum::Natural(u64::from(held.exact))),
                ("spent", Datum::Natural(held.spent as u64)),
                ("flight", save_flight(&held.flight)),
            ])
        };
        Datum::record([
            ("scores", Datum::List(self.scores.iter().map(score).collect())),
            ("held", Datum::List(self.held.iter().map(held).collect())),
            ("flight", Datum::List(self.flight.iter().map(save_flight).collect())),
        ])
    }

    /// From plain data; what does not fit the layout of the rows is refused.
    pub fn load(datum: &Datum, layout: &Layout) -> Result<Past, Error> {
        let score = |datum: &Datum| {
            let [score, factor, squares, work] = datum.tuple()?;
            let (score, factor, squares) = (score.real()?, factor.real()?, squares.real()?);
            Ok(Score { score, factor, squares, work: work.natural()? as usize })
        };
        let scores =
            datum.field("scores")?.list()?.iter().map(score).collect::<Result<_, Error>>()?;
        let flight = match datum.field("flight")?.list()? {
            [] => None,
            [flight, ..] => Some(load_flight(flight, layout)?),
        };
        let held = match datum.field("held")?.list()? {
            [] => None,
            [held, ..] => Some(InHand {
                exact: held.field("exact")?.natural()? == 1,
                spent: held.field("spent")?.natural()? as usize,
                flight: load_flight(held.field("flight")?, layout)?,
            }),
        };
        Ok(Past { scores, held, flight })
    }
}

fn save_flight(flight: &Flight) -> Datum {
    let tree = |tree: &Carried| {
        Datum::record([
            ("output", Datum::Natural(tree.output as u64)),
            ("cost", Datum::Real(tree.cost)),
            ("oblivious", Datum::Natural(u64::from(tree.grown.oblivious))),
            ("nodes", Datum::List(tree.grown.nodes.iter().map(save_node).collect())),
            ("leaves", Datum::List(tree.grown.leaves.iter().map(save_leaf).collect())),
        ])
    };
    Datum::record([
        ("pairs", Datum::Natural(u64::from(flight.stage == Stage::Pairs))),
        ("done", Datum::Natural(flight.done as u64)),
        ("work", Datum::Natural(flight.work as u64)),
        ("trees", Datum::List(flight.trees.iter().map(tree).collect())),
    ])
}

fn load_flight(datum: &Datum, layout: &Layout) -> Result<Flight, Error> {
    let tree = |datum: &Datum| {
        let nodes =
            datum.field("nodes")?.list()?.iter().map(load_node).collect::<Result<_, Error>>()?;
        let leaves =
            datum.field("leaves")?.list()?.iter().map(load_leaf).collect::<Result<_, Error>>()?;
        let grown = Grown { nodes, leaves, oblivious: datum.field("oblivious")?.natural()? == 1 };
        if !makes_sense(&grown, layout) {
            return Err(Error::Snapshot(
                "holds a tree that makes no sense; it is damaged".to_string(),
            ));
        }
        let output = datum.field("output")?.natural()? as usize;
        Ok(Carried { grown, output, cost: datum.field("cost")?.real()? })
    };
    Ok(Flight {
        stage: if datum.field("pairs")?.natural()? == 1 { Stage::Pairs } else { Stage::Sweeps },
        done: datum.field("done")?.natural()? as usize,
        work: datum.field("work")?.natural()? as usize,
        trees: datum.field("trees")?.list()?.iter().map(tree).collect::<Result<_, Error>>()?,
    })
}

/// Whether a tree can be walked: features that are stored, children that come later, leaves that
/// are there.
fn makes_sense(tree: &Grown, layout: &Layout) -> bool {
    let constant: Vec<usize> = layout.constant_features().collect();
    let known = |rule: &Rule| {
        (rule.feature as usize) < layout.features().len()
            && !constant.contains(&(rule.feature as usize))
    };
    let leads = |at: usize, child: Child| match child {
        Child::Leaf(leaf) => (leaf as usize) < tree.leaves.len(),
        Child::Node(node) => node as usize > at && (node as usize) < tree.nodes.len(),
    };
    let whole = match tree.oblivious {
        true => tree.nodes.len() < 32 && tree.leaves.len() == 1 << tree.nodes.len(),
        false => tree.leaves.len() == tree.nodes.len() + 1,
    };
    let sound = |(at, node): (usize, &GrownNode)| {
        known(&node.rule) && (tree.oblivious || leads(at, node.left) && leads(at, node.right))
    };
    whole && tree.nodes.iter().enumerate().all(sound)
}

fn save_leaf(leaf: &Leaf) -> Datum {
    Datum::List(vec![Datum::Real(leaf.value), Datum::Real(leaf.cover)])
}

fn load_leaf(datum: &Datum) -> Result<Leaf, Error> {
    let [value, cover] = datum.tuple()?;
    Ok(Leaf { value: value.real()?, cover: cover.real()? })
}

fn save_node(node: &GrownNode) -> Datum {
    let child = |child: Child| match child {
        Child::Leaf(leaf) => Datum::Integer(-1 - i64::from(leaf)),
        Child::Node(node) => Datum::Integer(i64::from(node)),
    };
    let cut = match node.rule.cut {
        Cut::Above(code) => Datum::Natural(u64::from(code)),
        Cut::In(set) => Datum::List(
            (0..=u8::MAX)
                .filter(|&code| set.contains(code))
                .map(|c| Datum::Natural(c.into()))
                .collect(),
        ),
    };
    Datum::List(vec![
        Datum::Natural(u64::from(node.rule.feature)),
        cut,
        Datum::Natural(u64::from(node.rule.missing_right)),
        child(node.left),
        child(node.right),
        Datum::Real(node.gain),
        Datum::Real(node.cover),
    ])
}

fn load_node(datum: &Datum) -> Result<GrownNode, Error> {
    let [feature, cut, missing_right, left, right, gain, cover] = datum.tuple()?;
    let damaged =
        |what: &str| Error::Snapshot(format!("holds {what} that is out of range; it is damaged"));
    let code = |datum: &Datum| u8::try_from(datum.natural()?).map_err(|_| damaged("a code"));
    let cut = match cut {
        Datum::List(codes) => {
            let mut set = CodeSet::default();
            for datum in codes {
                set.insert(code(datum)?);
            }
            Cut::In(set)
        }
        datum => Cut::Above(code(datum)?),
    };
    let child = |datum: &Datum| match datum {
        Datum::Integer(node @ 0..) => {
            u32::try_from(*node).map(Child::Node).map_err(|_| damaged("a child"))
        }
        Datum::Integer(leaf) => {
            u32::try_from(-1 - leaf).map(Child::Leaf).map_err(|_| damaged("a child"))
        }
        _ => Err(damaged("a child")),
    };
    let feature = u32::try_from(feature.natural()?).map_err(|_| damaged("a feature"))?;
    Ok(GrownNode {
        rule: Rule { feature, cut, missing_right: missing_right.natural()? == 1 },
        left: child(left)?,
        right: child(right)?,
        gain: gain.real()?,
        cover: cover.real()?,
    })
}
