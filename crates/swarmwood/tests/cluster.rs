//! Rows on a cluster, here in one process: the model of local training, byte for byte, for any
//! number of hosts, uneven parts, and hosts that are lost.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use swarmwood::checkpoint::Keep;
use swarmwood::learn::budget::Budget;
use swarmwood::learn::event::Event;
use swarmwood::learn::stats::{
    HostTransport, RemoteBackends, RowDeal, RowPiece, ShardHost, TransportError, decode_layout,
    encode_layout,
};
use swarmwood::model::format::to_json;
use swarmwood::model::{Kind, Target, TargetKind};
use swarmwood::params::{Auto, Growth, Method, ObjectiveChoice, Params, RuleTableChoice};
use swarmwood::read::{
    ClusterFacts, ClusterPlan, Columns, Field, RowCluster, RowSelection, Rows, TableColumn,
    borrowed, clustered, clustered_whole, encode_part, occurring_texts, sample_places,
};
use swarmwood::train::TrainOptions;
use swarmwood::{Result, train};

/// A table that follows from row numbers, and parts and samples of it.
#[derive(Debug, Clone)]
struct Table {
    fields: Vec<Field>,
    rows: Arc<Vec<usize>>,
    weighted: bool,
}

impl Table {
    fn new(rows: impl Iterator<Item = usize>, weighted: bool) -> Table {
        let number = |at: usize| Field { name: format!("x{at}"), texts: None };
        let mut fields: Vec<Field> = (0..5).map(number).collect();
        let texts = ["oslo", "bern", "rome", "", "lima"].map(|text| Some(text.to_string()));
        fields.push(Field { name: "city".to_string(), texts: Some(texts.to_vec()) });
        Table { fields, rows: Arc::new(rows.collect()), weighted }
    }

    fn part(&self, rows: Range<usize>) -> Table {
        Table { rows: Arc::new(self.rows[rows].to_vec()), ..self.clone() }
    }
}

/// Mixed bits of a row and a column, from 0 to 1.
fn unit(row: usize, column: usize) -> f64 {
    let mut bits = (row as u64 * 8 + column as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (bits >> 40) as f64 / f64::from(1 << 24)
}

fn value(row: usize, column: usize) -> f64 {
    match column {
        0 | 1 if unit(row, column + 10) < 0.05 => f64::NAN,
        0 | 1 => unit(row, column),
        // Flags that are almost exclusive: the sample may not show that they are not.
        2 | 3 => f64::from(u8::from((3.0 * unit(row, 2)) as usize == column - 2 || row == 77_777)),
        _ => (unit(row, column) * 20.0).floor(),
    }
}

fn target(row: usize) -> f64 {
    let city = f64::from(u8::from(code(row) == 1));
    let known = |value: f64| if value.is_nan() { 0.3 } else { value };
    4.0 * known(value(row, 0)) * known(value(row, 1)) + city + 0.3 * unit(row, 7)
}

fn code(row: usize) -> u32 {
    (unit(row, 5) * 5.0) as u32
}

impl Columns for Table {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn has_weight(&self) -> bool {
        self.weighted
    }

    fn numbers(&self, part: TableColumn, rows: &RowSelection<'_>, out: &mut Vec<f64>) {
        let of_row = |row: usize| match part {
            TableColumn::Feature(column) => value(self.rows[row], column),
            TableColumn::Target => target(self.rows[row]),
            TableColumn::Weight => weight(self.rows[row]),
        };
        match rows {
            RowSelection::Range(run) => out.extend(run.clone().map(of_row)),
            RowSelection::Indices(rows) => out.extend(rows.iter().map(|&row| of_row(row))),
        }
    }

    fn codes(&self, _: usize, rows: &RowSelection<'_>, out: &mut Vec<u32>) {
        match rows {
            RowSelection::Range(run) => out.extend(run.clone().map(|row| code(self.rows[row]))),
            RowSelection::Indices(rows) => out.extend(rows.iter().map(|&row| code(self.rows[row]))),
        }
    }
}

fn weight(row: usize) -> f64 {
    0.5 + unit(row, 9)
}

/// Hosts in this process; one of them is lost in every so many exchanges.
#[derive(Debug)]
struct Cluster {
    parts: Vec<Table>,
    hosts: usize,
    lost_every: usize,
    exchanges: AtomicUsize,
    loaded: Mutex<Option<Loaded>>,
    held: Mutex<Vec<Option<HostBox>>>,
}

/// What hosts are made of.
#[derive(Debug, Clone)]
struct Loaded {
    layout: Vec<u8>,
    rows: usize,
    pieces: Vec<Vec<Vec<u8>>>,
}

struct HostBox(ShardHost);

impl std::fmt::Debug for HostBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("host")
    }
}

impl Cluster {
    fn make(&self, host: usize) -> HostBox {
        let loaded = self.loaded.lock().unwrap().clone().unwrap();
        let shards = RemoteBackends::shards(loaded.rows, self.hosts)[host].clone();
        let pieces: Vec<RowPiece> =
            loaded.pieces.iter().map(|part| RowPiece::of_bytes(&part[host]).unwrap()).collect();
        let layout = decode_layout(&loaded.layout).unwrap();
        HostBox(ShardHost::new(layout, loaded.rows, shards, &pieces, 1).unwrap())
    }
}

impl HostTransport for Cluster {
    fn exchange(
        &self,
        messages: &[(usize, Vec<u8>)],
    ) -> Vec<std::result::Result<Vec<u8>, TransportError>> {
        let number = 1 + self.exchanges.fetch_add(1, Ordering::Relaxed);
        let mut held = self.held.lock().unwrap();
        if number.is_multiple_of(self.lost_every) {
            let host = number % held.len();
            held[host] = None;
        }
        let reply = |(host, message): &(usize, Vec<u8>)| match &mut held[*host] {
            Some(host) => Ok(host.0.handle(message)),
            None => Err(TransportError::Lost),
        };
        messages.iter().map(reply).collect()
    }

    fn rebuild(&self, host: usize) -> std::result::Result<(), TransportError> {
        let made = self.make(host);
        self.held.lock().unwrap()[host] = Some(made);
        Ok(())
    }
}

impl RowCluster for Cluster {
    fn hosts(&self) -> usize {
        self.hosts
    }

    fn load(&self, plan: &ClusterPlan<'_>) -> Result<Vec<usize>> {
        let texts: Vec<Option<Vec<String>>> = plan
            .schema
            .features
            .iter()
            .map(|feature| match &feature.kind {
                Kind::Category { levels } => Some(levels.clone()),
                Kind::Number => None,
            })
            .collect();
        let ranges = RemoteBackends::shards(plan.rows, self.hosts);
        let (mut first, mut pieces, mut conflicts) = (0, Vec::new(), Vec::new());
        for part in &self.parts {
            let own = first..first + part.rows();
            first = own.end;
            let (rows, places): (Vec<u32>, Vec<u64>) = match plan.order {
                None => own.clone().map(|row| ((row - own.start) as u32, row as u64)).unzip(),
                Some(order) => order
                    .iter()
                    .enumerate()
                    .filter(|(_, row)| own.contains(row))
                    .map(|(place, row)| ((row - own.start) as u32, place as u64))
                    .unzip(),
            };
            let deal = RowDeal::At { rows: &rows, places: &places };
            let layout = (plan.layout, texts.clone());
            match encode_part(Arc::new(part.clone()), layout, deal, plan.rows, &ranges)? {
                Ok(own) => pieces.push(own.iter().map(RowPiece::to_bytes).collect()),
                Err(found) => conflicts.extend(found),
            }
        }
        if conflicts.is_empty() {
            let layout = encode_layout(plan.layout);
            *self.loaded.lock().unwrap() = Some(Loaded { layout, rows: plan.rows, pieces });
            let made = (0..ranges.len()).map(|host| Some(self.make(host))).collect();
            *self.held.lock().unwrap() = made;
        }
        Ok(conflicts)
    }
}

fn target_column() -> Target {
    Target { name: "y".to_string(), kind: TargetKind::Number }
}

/// The rows of a table that uneven parts of it are given of.
fn on_cluster(table: &Table, hosts: usize, lost_every: usize) -> (Rows, Arc<Cluster>) {
    let rows = table.rows();
    let cuts = [0, rows / 7, rows / 7, rows / 2, rows - 5, rows];
    let parts: Vec<Table> = cuts.windows(2).map(|cut| table.part(cut[0]..cut[1])).collect();
    let cluster = Arc::new(Cluster {
        parts,
        hosts,
        lost_every,
        exchanges: AtomicUsize::new(0),
        loaded: Mutex::default(),
        held: Mutex::default(),
    });
    let handle: Arc<dyn RowCluster> = cluster.clone();
    let made = match sample_places(rows) {
        None => clustered_whole(Arc::new(table.clone()), target_column(), handle),
        Some(places) => {
            let weight = |&row: &usize| weight(row);
            let facts = ClusterFacts {
                target: table.rows.iter().map(|&row| target(row)).collect(),
                weight: match table.weighted {
                    true => table.rows.iter().map(weight).collect(),
                    false => Vec::new(),
                },
                texts: occurring_texts(table).unwrap(),
            };
            let sample = Table {
                rows: Arc::new(places.iter().map(|&place| table.rows[place]).collect()),
                ..table.clone()
            };
            clustered(Arc::new(sample), target_column(), facts, handle)
        }
    };
    (made.unwrap(), cluster)
}

fn model(rows: &Rows, params: &Params) -> String {
    let params = params.clone().check().unwrap();
    to_json(&train::train(rows, None, &params, &mut |_| {}).unwrap().model).unwrap()
}

fn greedy() -> Params {
    Params { trees: 6, depth: 4, ..Params::of(Method::GREEDY) }
}

#[test]
fn rows_on_hosts_give_the_model_of_rows_in_one_process() {
    let swarm = Params { trees: 2, max_leaves: 6, budget: 40, ..Params::of(Method::SWARM) };
    for params in [greedy(), Params { trees: 4, ..swarm }] {
        let table = Table::new(0..20_000, true);
        let local = borrowed(Arc::new(table.clone()), target_column()).unwrap();
        let expected = model(&local, &params);
        for (hosts, lost_every) in [(1, 0), (3, 0), (4, 7)] {
            let (rows, _) = on_cluster(&table, hosts, lost_every);
            assert_eq!(model(&rows, &params), expected, "{hosts} {lost_every}");
        }
    }
}

/// Swarms over sequences of rules: from the splits of a greedy run, from bins, with a local search, for
/// losses whose leaves take quantiles, and with trees whose nodes have rules of their own.
#[test]
fn particles_on_hosts_give_the_model_of_particles_in_one_process() {
    let swarm = |method| Params {
        trees: 3,
        depth: 3,
        population: Auto::Is(6),
        iterations: 4,
        ..Params::of(method)
    };
    let psgbdt = swarm(Method::PSGBDT);
    let searches = [
        psgbdt.clone(),
        Params { local_search: true, greedy_seed: true, ..psgbdt.clone() },
        Params {
            objective: ObjectiveChoice::named("absolute").unwrap(),
            growth: Growth::Depth,
            ..psgbdt
        },
        Params { mutation: 0.1, ..swarm(Method::SGBDT_BINS) },
        Params { rule_table: RuleTableChoice::Bins, ..swarm(Method::POLICY_GRADIENT) },
    ];
    let table = Table::new(0..20_000, true);
    let local = borrowed(Arc::new(table.clone()), target_column()).unwrap();
    for params in searches {
        let expected = model(&local, &params);
        for (hosts, lost_every) in [(1, 0), (2, 0), (3, 0), (8, 0), (4, 7), (3, 5)] {
            let (rows, _) = on_cluster(&table, hosts, lost_every);
            assert!(model(&rows, &params) == expected, "{params:?} {hosts} {lost_every}");
        }
    }
}

#[test]
fn a_run_that_was_cut_short_resumes_on_another_number_of_hosts() {
    let params = Params { trees: 4, max_leaves: 6, budget: 80, ..Params::of(Method::SWARM) };
    let table = Table::new(0..20_000, true);
    let local = borrowed(Arc::new(table.clone()), target_column()).unwrap();
    let expected = model(&local, &params);
    let params = params.check().unwrap();
    let path = std::env::temp_dir().join(format!("swarmwood-cluster-{}", std::process::id()));
    let train = |hosts: usize, resume: bool, events: usize| {
        let budget = Budget::unlimited();
        let keep = Keep { path: path.clone(), every: 1, resume };
        let options = TrainOptions {
            keep: Some(keep),
            budget: Some(budget.clone()),
            ..TrainOptions::default()
        };
        let mut seen = 0;
        let mut observer = |_: &Event| {
            seen += 1;
            if seen == events {
                budget.cancel();
            }
        };
        let (rows, _) = on_cluster(&table, hosts, 9);
        let trained = train::train_with(&rows, None, &params, &options, &mut observer);
        trained.map(|trained| (to_json(&trained.model).unwrap(), seen))
    };

    let (_, whole) = train(2, false, usize::MAX).unwrap();
    for events in [1, whole / 3, whole / 2] {
        let (cut, _) = train(2, false, events).unwrap();
        assert_ne!(cut, expected, "{events} of {whole}");
        let (resumed, _) = train(3, true, usize::MAX).unwrap();
        assert_eq!(resumed, expected, "{events} of {whole}");
    }
    let (other, _) = on_cluster(&Table::new(1..20_001, true), 2, 0);
    let keep = Keep { path: path.clone(), every: 1, resume: true };
    let options = TrainOptions { keep: Some(keep), ..TrainOptions::default() };
    let error = train::train_with(&other, None, &params, &options, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("other rows"), "{error}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn repeated_rows_are_ordered_as_in_one_process() {
    let table = Table::new((0..9000).chain(0..300), false);
    let local = borrowed(Arc::new(table.clone()), target_column()).unwrap();
    let (rows, _) = on_cluster(&table, 2, 11);
    assert_eq!(model(&rows, &greedy()), model(&local, &greedy()));
}

#[test]
fn bins_of_more_rows_than_the_sample_are_those_of_one_process() {
    for weighted in [false, true] {
        let table = Table::new(0..140_000, weighted);
        let local = borrowed(Arc::new(table.clone()), target_column()).unwrap();
        let (rows, _) = on_cluster(&table, 3, 13);
        assert_eq!(rows.schema, local.schema);
        assert_eq!(model(&rows, &greedy()), model(&local, &greedy()), "{weighted}");
    }
}

#[test]
fn what_needs_all_rows_in_one_process_is_refused() {
    let (rows, _) = on_cluster(&Table::new(0..5000, false), 2, 0);
    let policy =
        Params { rule_table: RuleTableChoice::Distinct, ..Params::of(Method::POLICY_GRADIENT) };
    for params in [Params::of(Method::SGBDT), policy, Params { max_bin: 0, ..greedy() }] {
        let params = params.check().unwrap();
        let error = train::train(&rows, None, &params, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("cluster"), "{error}");
    }
}
