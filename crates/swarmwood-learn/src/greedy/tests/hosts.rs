//! Rows that hosts hold give the same trees.

use super::*;
use crate::stats::RemoteBackends;
use crate::stats::test_hosts::{Fault, TestHosts};

/// Rows on hosts, some of which are lost: the same trees, by few messages.
#[test]
fn hosts_of_rows_change_nothing() {
    for spec in SPECS {
        let data = data_for(&spec, 20_000);
        for growth in GROWTHS {
            let mut settings = settings(growth);
            settings.subsample = 0.8;
            let (local, losses) = fit(&data, &spec, &settings, 2);
            for hosts in [1, 3] {
                let transport = TestHosts::new(&data, hosts, |number, host| {
                    if number % 13 == 12 && host == number % 3 { Fault::After } else { Fault::None }
                });
                let backends = RemoteBackends::new(&transport, &data, hosts, &spec);
                let (remote, same) = fit_with(&backends, &data, &spec, &settings, 2);
                assert_eq!(remote.ensemble, local.ensemble, "{spec:?} {growth:?} {hosts}");
                assert_eq!(same, losses);
            }
        }
    }
}

/// Rounds of messages per tree on a cluster.
#[test]
fn a_tree_takes_few_rounds_of_messages_to_hosts() {
    let spec = ObjectiveConfig::LOGISTIC;
    let data = data_for(&spec, 20_000);
    for (growth, most) in [(Growth::Depth, 12), (Growth::Leaf, 20)] {
        let settings = GreedyConfig {
            depth: if growth == Growth::Depth { 6 } else { 0 },
            max_leaves: 32,
            report_every: 0,
            ..settings(growth)
        };
        let transport = TestHosts::new(&data, 4, |_, _| Fault::None);
        let backends = RemoteBackends::new(&transport, &data, 4, &spec);
        let (fit, _) = fit_with(&backends, &data, &spec, &settings, 1);
        let traffic = backends.traffic();
        let per_tree = traffic.rounds as f64 / fit.rounds as f64;
        assert!(per_tree <= f64::from(most), "{growth:?} {per_tree}");
    }
}
