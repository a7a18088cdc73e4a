//! Four hundred fits in one process need no more memory than forty.

use swarmwood::params::{Gather, Method};
use swarmwood::read::{self, ReadOptions, Source};
use swarmwood::search::rng::Stream;
use swarmwood::train;
use swarmwood_fuzz::memory;

/// Bytes in use, beyond those at the mark, after so many fits of every method.
fn fit(rounds: usize, csv: &'static [u8]) {
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    for round in 0..rounds {
        for &method in Method::ALL {
            let mut gather = Gather::default();
            let seed = round.to_string();
            for (name, value) in [
                ("method", method.name()),
                ("trees", "2"),
                ("population", "4"),
                ("iterations", "3"),
                ("budget", "10"),
                ("threads", "2"),
                ("seed", &seed),
            ] {
                if name == "method" || method.spec().uses(name) {
                    gather.set(name, value);
                }
            }
            let rows = read::training(&Source::Bytes("t.csv".into(), csv), &options).unwrap();
            train::train(&rows, None, &gather.finish().unwrap(), &mut |_| {}).unwrap();
        }
    }
}

fn check(rounds: usize) {
    let mut stream = Stream::new(1, 0, 0);
    let mut csv = String::from("a,b,y\n");
    for _ in 0..80 {
        let (a, b) = (stream.unit(), stream.unit());
        csv.push_str(&format!("{a:.3},{b:.3},{}\n", if a > b { "yes" } else { "no" }));
    }
    let csv: &'static [u8] = csv.leak().as_bytes();
    fit(2, csv);
    let mark = memory::start();
    fit(rounds, csv);
    let growth = mark.growth();
    assert!(growth < 64 << 10, "{growth} bytes more after {rounds} rounds");
}

#[test]
fn some_fits_leave_nothing_behind() {
    check(4);
}

#[test]
#[ignore = "make torture"]
fn torture_four_hundred_fits_leave_nothing_behind() {
    check(400 / Method::ALL.len() + 1);
}
