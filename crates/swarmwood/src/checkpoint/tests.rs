//! What is written comes back; what is damaged, foreign, too new or of another run is refused.

use proptest::prelude::*;
use swarmwood_search::Datum;

use super::snapshot::{decode, encode};
use super::*;
use crate::read::{self, ReadOptions, Source};

fn sample() -> Checkpoint {
    let parameters =
        vec![("trees".to_string(), "6".to_string()), ("depth".to_string(), "5".to_string())];
    Checkpoint {
        identity: Identity { method: "sgbdt".into(), parameters, data: 7 << 90 },
        payload: (0..200u8).collect(),
    }
}

#[test]
fn what_is_written_comes_back() {
    let checkpoint = sample();
    assert_eq!(Checkpoint::from_bytes(&checkpoint.to_bytes()), Ok(checkpoint));
}

#[test]
fn every_damaged_byte_and_every_cut_is_seen() {
    let whole = sample().to_bytes();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        assert!(Checkpoint::from_bytes(&damaged).is_err(), "byte {at}");
        assert!(Checkpoint::from_bytes(&whole[..at]).is_err(), "cut at {at}");
    }
    let newer = [b"swarmwood checkpoint 2\n".as_slice(), &whole[23..]].concat();
    assert!(Checkpoint::from_bytes(&newer).unwrap_err().contains("version 2"));
    assert!(Checkpoint::from_bytes(b"a,b\n1,2\n").unwrap_err().contains("no checkpoint"));
}

#[test]
fn another_run_is_refused_with_what_is_different() {
    let own = sample();
    let path = Path::new("run.ckpt");
    assert!(own.payload_for(&own.identity, path).is_ok());
    let message = |change: &dyn Fn(&mut Identity)| {
        let mut other = own.identity.clone();
        change(&mut other);
        own.payload_for(&other, path).unwrap_err().to_string()
    };
    assert!(
        message(&|other| other.method = "psgbdt".into()).contains("with method sgbdt, not psgbdt;")
    );
    let trees = message(&|other| other.parameters[0].1 = "8".into());
    assert!(
        trees.starts_with("run.ckpt: belongs to another run, with trees 6, not 8; repeat"),
        "{trees}"
    );
    assert!(message(&|other| other.parameters.truncate(1)).contains("depth 5, not unset"));
    assert!(message(&|other| other.data += 1).contains("other rows"));
}

#[test]
fn rows_are_known_by_values_names_and_order() {
    let print = |csv: &'static str| {
        let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
        data_fingerprint(
            &read::training(&Source::Bytes("rows.csv".into(), csv.as_bytes()), &options).unwrap(),
        )
        .unwrap()
    };
    let own = print("a,b,y\n1,2,3\n4,5,6\n");
    assert_eq!(own, print("a,b,y\n1,2,3\n4,5,6\n"));
    for other in [
        "a,c,y\n1,2,3\n4,5,6\n",
        "a,b,y\n4,5,6\n1,2,3\n",
        "a,b,y\n1,2,3\n4,5,7\n",
        "a,b,y\n1,,3\n4,5,6\n",
    ] {
        assert_ne!(own, print(other), "{other}");
    }
}

fn datum() -> impl Strategy<Value = Datum> {
    let leaf = prop_oneof![
        any::<u64>().prop_map(Datum::Natural),
        any::<i64>().prop_map(Datum::Integer),
        any::<f64>()
            .prop_filter("NaN is not equal to itself", |x| !x.is_nan())
            .prop_map(Datum::Real),
        ".{0,6}".prop_map(Datum::Text),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Datum::List),
            prop::collection::vec((".{0,4}", inner), 0..4).prop_map(Datum::Record),
        ]
    })
}

proptest! {
    #[test]
    fn values_survive_and_bytes_never_panic(value in datum(), noise in prop::collection::vec(any::<u8>(), 0..80)) {
        let bytes = encode(&value);
        prop_assert_eq!(decode(&bytes), Some(value));
        let _ = decode(&noise);
        let _ = decode(&bytes[..bytes.len() / 2]);
        let _ = Checkpoint::from_bytes(&noise);
    }
}

#[test]
fn deep_nests_are_refused_before_the_stack_ends() {
    let mut bytes = Vec::new();
    for _ in 0..100_000 {
        bytes.push(4);
        bytes.extend_from_slice(&1u64.to_le_bytes());
    }
    assert_eq!(decode(&bytes), None);
}
