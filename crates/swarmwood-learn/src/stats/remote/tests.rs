//! Hosts change nothing: the same bits as in one process, for any number of hosts and through lost
//! ones; and no message brings a host down.

mod particles;

use std::sync::{Arc, Mutex};

use swarmwood_model::{Feature, Kind};
use swarmwood_search::rng::Stream;

use super::test_hosts::{Fault, TestHosts};
use super::*;
use crate::bins::Layout;
use crate::budget::Budget;
use crate::context::Context;
use crate::data::{Chunk, Column};
use crate::dataset::Dataset;
use crate::metric::EvalMetric;
use crate::objective::{ObjectiveConfig, make};
use crate::pool::Pool;
use crate::stats::{
    BackendFactory, BackendOptions, Client, LocalBackends, RowSample, RowSet, SplitQuery,
    TrainingSet, Work,
};

/// Rows of several shards: numbers with gaps, flags that share a column, a category, weights.
fn rows(count: usize, classes: usize) -> (Chunk, Vec<Feature>) {
    let mut stream = Stream::new(11, 0, 0);
    let mut columns = vec![Vec::new(); 5];
    let (mut levels, mut target, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        let [a, b, c] = [stream.unit(), stream.unit(), stream.unit()];
        let flag = (4.0 * c) as u32;
        columns[0].push(a);
        columns[1].push(if b < 0.1 { f64::NAN } else { (b * 40.0).floor() });
        (0..3).for_each(|at| columns[2 + at as usize].push(f64::from(u8::from(flag == at))));
        levels.push((stream.unit() * 12.0) as u32);
        let signal = 3.0 * (a * 6.0).sin() + b * c * 4.0 + stream.normal() * 0.3;
        target.push(match classes {
            0 => signal,
            _ => signal.abs().rem_euclid(classes as f64).floor(),
        });
        weight.push(0.5 + stream.unit());
    }
    let mut columns: Vec<Column> = columns.into_iter().map(Column::Number).collect();
    columns.push(Column::Category(levels));
    let name = |at: usize| format!("x{at}");
    let mut features: Vec<Feature> =
        (0..5).map(|at| Feature { name: name(at), kind: Kind::Number }).collect();
    let levels = (0..12).map(|level| level.to_string()).collect();
    features.push(Feature { name: name(5), kind: Kind::Category { levels } });
    (Chunk { columns, target, weight, rows: count }, features)
}

fn binned(count: usize, classes: usize) -> Dataset {
    let (chunk, features) = rows(count, classes);
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
    Dataset::from_chunk(&chunk, layout, &pool)
}

const OBJECTIVES: [ObjectiveConfig; 5] = [
    ObjectiveConfig::SQUARED,
    ObjectiveConfig::LOGISTIC,
    ObjectiveConfig::softmax(3),
    ObjectiveConfig::ABSOLUTE,
    ObjectiveConfig::huber(0.5),
];

fn data_for(objective: &ObjectiveConfig, count: usize) -> Dataset {
    let is_logistic = *objective == ObjectiveConfig::LOGISTIC;
    binned(count, if is_logistic { 2 } else { objective.classes() })
}

/// Replies to work of every kind, on a tree that grows by levels.
fn replies(
    backends: &dyn BackendFactory,
    data: &Dataset,
    objective: &ObjectiveConfig,
) -> Vec<String> {
    let (pool, budget) = (Pool::new(2).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let made = make(objective);
    let set = TrainingSet { backends, ..TrainingSet::new(data, Some(data), &*made) };
    let options = BackendOptions { memory: 1 << 20, keep_derivatives: true };
    let mut client = Client::open(set, options, context).unwrap();
    let penalties = crate::split::Penalties {
        lambda: 1.0,
        ridge: crate::split::Ridge::Flat,
        gamma: 0.0,
        min_child_weight: 1.0,
    };
    let allowed = vec![true; client.layout().features().len()];
    let search = client.split_constraints(allowed, penalties);
    let mut log = Vec::new();
    for round in 0..3 {
        let mut note = |reply: crate::stats::Reply| log.push(format!("{reply:?}"));
        note(client.ask(Work::Derive { output: None, extra_hessian: 0.1 }).unwrap());
        let sample = (round == 1).then_some(RowSample { share: 0.5, seed: 1, round });
        let (output, query) = (0, SplitQuery::Each);
        let begin = Work::BeginTree { output, sample, search: search.clone(), query };
        let root = client.begin_tree(begin).unwrap();
        note(client.ask(Work::Screen { most: 4 }).unwrap());
        let rule = root.best.unwrap().rule;
        let command =
            |slot, rule, left| crate::stats::SplitCommand { slot, rule, left, right: left + 1 };
        let first = vec![command(0, rule, 1)];
        let stats = client.split(first, SplitQuery::Each, Vec::new()).unwrap().0;
        let next: Vec<_> = stats[0]
            .iter()
            .zip([1, 2])
            .filter_map(|(stats, slot)| Some(command(slot, stats.best?.rule, 1 + 2 * slot)))
            .collect();
        let leaf_work = vec![Work::LeafQuantiles {
            rows: crate::stats::LeafRows::Slots { slots: vec![3, 4] },
            alpha: 0.3,
        }];
        let (stats, more) = client.split(next, SplitQuery::Sums, leaf_work).unwrap();
        log.push(format!("{stats:?} {more:?}"));
        let leaves: Vec<_> =
            [3, 4, 5, 6].into_iter().zip(0..).map(|(slot, leaf)| LeafSlotOf(slot, leaf)).collect();
        let tree = client.new_tree();
        let leaves = leaves.iter().map(|leaf| leaf.message()).collect();
        client.push(Work::AssignSlots { id: tree.id(), leaves });
        let mut note = |reply: crate::stats::Reply| log.push(format!("{reply:?}"));
        note(client.ask(Work::LeafSums { output, id: tree.id(), leaves: 4 }).unwrap());
        let saved = client.save_scores();
        client.push(Work::Shift { output, id: tree.id(), values: vec![0.1, -0.2, 0.3, 0.05] });
        note(client.ask(Work::Loss {}).unwrap());
        if round == 2 {
            client.push(Work::RestoreScores { id: saved.id() });
        }
        for metric in [EvalMetric::Loss, EvalMetric::Rmse] {
            note(client.ask(Work::Metric { metric, rows: RowSet::Training }).unwrap());
            note(client.ask(Work::Metric { metric, rows: RowSet::Validation }).unwrap());
        }
    }
    log.push(format!("{:?}", client.scores(RowSet::Training).unwrap()));
    log
}

struct LeafSlotOf(usize, usize);

impl LeafSlotOf {
    fn message(&self) -> crate::stats::LeafSlot {
        crate::stats::LeafSlot { slot: self.0, leaf: self.1 }
    }
}

#[test]
fn hosts_reply_as_one_process_does() {
    for objective in OBJECTIVES {
        let data = data_for(&objective, 70_000);
        assert_eq!(data.plan.shards, 8);
        let expected = replies(&LocalBackends, &data, &objective);
        for hosts in [1, 2, 3, 8, 20] {
            let transport = TestHosts::new(&data, hosts, |_, _| Fault::None);
            let backends = RemoteBackends::new(&transport, &data, hosts, &objective);
            assert_eq!(replies(&backends, &data, &objective), expected, "{objective:?} {hosts}");
        }
    }
}

#[test]
fn lost_hosts_are_replaced_without_a_trace() {
    let faults: [fn(usize, usize) -> Fault; 4] = [
        |number, host| if number == 7 && host == 1 { Fault::Before } else { Fault::None },
        |number, host| if number == 9 && host == 0 { Fault::After } else { Fault::None },
        |number, host| if (number + host) % 5 == 4 { Fault::Before } else { Fault::None },
        |number, host| match (number * 7 + host * 3) % 11 {
            0 => Fault::Before,
            5 => Fault::After,
            _ => Fault::None,
        },
    ];
    for objective in OBJECTIVES {
        let data = data_for(&objective, 20_000);
        let expected = replies(&LocalBackends, &data, &objective);
        for (at, fault) in faults.into_iter().enumerate() {
            let transport = TestHosts::new(&data, 3, fault);
            let backends = RemoteBackends::new(&transport, &data, 3, &objective);
            assert_eq!(replies(&backends, &data, &objective), expected, "{objective:?} {at}");
            assert!(backends.traffic().rebuilt > 0);
        }
    }
}

#[test]
fn a_run_whose_hosts_are_always_lost_ends() {
    let data = binned(9000, 0);
    let transport = TestHosts::new(&data, 2, |_, _| Fault::Before);
    let backends = RemoteBackends::new(&transport, &data, 2, &ObjectiveConfig::SQUARED);
    let (pool, budget) = (Pool::new(1).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let objective = make(&ObjectiveConfig::SQUARED);
    let set = TrainingSet { backends: &backends, ..TrainingSet::new(&data, None, &*objective) };
    let options = BackendOptions { memory: 1 << 20, keep_derivatives: false };
    let mut client = Client::open(set, options, context).unwrap();
    assert!(client.loss().unwrap_err().to_string().contains("20 times"));
}

/// Rows that are read in parts of any size, and dealt out, make the same shards.
#[test]
fn pieces_make_the_shards_of_the_data_set() {
    let (chunk, features) = rows(20_000, 0);
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
    let data = Dataset::from_chunk(&chunk, layout, &pool);
    let layout = decode_layout(&encode_layout(&data.layout)).unwrap();
    assert_eq!(*layout, *data.layout);

    let ranges = RemoteBackends::shards(20_000, 3);
    let part = |from: usize, to: usize| Chunk {
        columns: chunk.columns.iter().map(|column| cut(column, from, to)).collect(),
        rows: to - from,
        ..Chunk::default()
    };
    let reversed: Vec<u32> = (0..5000).rev().collect();
    let places: Vec<u64> = reversed.iter().map(|&row| u64::from(row) + 15_000).collect();
    let dealt = [
        (part(0, 1), RowDeal::From(0)),
        (part(1, 9000), RowDeal::From(1)),
        (part(9000, 9000), RowDeal::From(9000)),
        (part(9000, 15_000), RowDeal::From(9000)),
        (part(15_000, 20_000), RowDeal::At { rows: &reversed, places: &places }),
    ];
    let pieces: Vec<Vec<RowPiece>> = dealt
        .iter()
        .map(|(part, deal)| encode_rows(&layout, part, *deal, 20_000, &ranges).unwrap())
        .collect();
    for (host, range) in ranges.iter().enumerate() {
        let own: Vec<RowPiece> = pieces.iter().map(|pieces| pieces[host].clone()).collect();
        let shards = rows::assemble(&layout, data.plan, range.clone(), &own).unwrap();
        for (shard, expected) in shards.iter().zip(&data.shards[range.clone()]) {
            assert_eq!(shard.columns, expected.columns);
        }
        assert!(rows::assemble(&layout, data.plan, range.clone(), &own[2..]).is_err());
        let twice = [&own[..], &own[1..2]].concat();
        assert!(rows::assemble(&layout, data.plan, range.clone(), &twice).is_err());
    }
    let host = ShardHost::new(layout, 20_000, ranges[0].clone(), &[], 1);
    assert!(host.is_err_and(|error| error.to_string().contains("missing")));
}

fn cut(column: &Column, from: usize, to: usize) -> Column {
    match column {
        Column::Number(values) => Column::Number(values[from..to].to_vec()),
        Column::Category(codes) => Column::Category(codes[from..to].to_vec()),
    }
}

/// Records the messages of a fit.
struct Recorder<'d> {
    inner: TestHosts<'d>,
    messages: Mutex<Vec<Vec<u8>>>,
}

impl<'d> Recorder<'d> {
    fn new(inner: TestHosts<'d>) -> Self {
        Recorder { inner, messages: Mutex::default() }
    }

    fn into_messages(self) -> Vec<Vec<u8>> {
        self.messages.into_inner().unwrap()
    }
}

impl HostTransport for Recorder<'_> {
    fn exchange(&self, messages: &[(usize, Vec<u8>)]) -> Vec<Result<Vec<u8>, TransportError>> {
        let own = messages.iter().filter(|(host, _)| *host == 0).map(|(_, bytes)| bytes.clone());
        self.messages.lock().unwrap().extend(own);
        self.inner.exchange(messages)
    }

    fn rebuild(&self, host: usize) -> Result<(), TransportError> {
        self.inner.rebuild(host)
    }
}

/// Bytes are changed, cut and put in another order; a host refuses or obeys, and lives.
#[test]
fn no_message_brings_a_host_down() {
    let data = data_for(&ObjectiveConfig::softmax(3), 9000);
    let inner = TestHosts::new(&data, 1, |_, _| Fault::None);
    let recorder = Recorder::new(inner);
    let objective = ObjectiveConfig::softmax(3);
    let backends = RemoteBackends::new(&recorder, &data, 1, &objective);
    let _ = replies(&backends, &data, &objective);
    let messages = recorder.into_messages();
    assert!(messages.len() > 10);

    survives_damage(&data, &messages);
}

/// Hands damaged messages to hosts in any order; most of what comes of it is refused.
fn survives_damage(data: &Dataset, messages: &[Vec<u8>]) {
    let mut stream = Stream::new(5, 0, 0);
    let mut refused = 0;
    for _ in 0..300 {
        let mut host = ShardHost::of_dataset(data, 0..data.plan.shards, 1).unwrap();
        host.handle(&messages[0]);
        for _ in 0..8 {
            let at = (stream.unit() * messages.len() as f64) as usize;
            let mut message = messages[at].clone();
            // The head is where the structure is; targets are long.
            let reach = message.len().min(400) as f64;
            for _ in 0..(stream.unit() * 4.0) as usize {
                let place = (stream.unit() * reach) as usize;
                message[place] = (stream.unit() * 256.0) as u8;
            }
            if stream.unit() < 0.2 {
                message.truncate((stream.unit() * reach) as usize);
            }
            let reply = host.handle(&message);
            refused += usize::from(reply.first() == Some(&1));
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn damaged_layouts_and_pieces_are_refused_or_valid() {
    let data = binned(9000, 0);
    let bytes = encode_layout(&data.layout);
    let mut stream = Stream::new(6, 0, 0);
    for _ in 0..2000 {
        let mut damaged = bytes.clone();
        let place = (stream.unit() * damaged.len() as f64) as usize;
        damaged[place] = (stream.unit() * 256.0) as u8;
        if stream.unit() < 0.1 {
            damaged.truncate(place);
        }
        if let Ok(layout) = decode_layout(&damaged) {
            let _: Arc<Layout> = layout;
        }
    }
    assert!(RowPiece::of_bytes(&[1, 2, 3]).is_err());
}
