//! One policy for extreme values, whatever the method: targets that cannot be computed with are
//! refused with a remedy, and others train as if they were scaled to ordinary numbers.

use swarmwood::params::{LearnerOutput, Method, Params, ValidParams};
use swarmwood::read::{self, ClassWeight, ReadOptions, Rows, Source};
use swarmwood::search::rng::Stream;
use swarmwood::train;

/// A table whose targets are multiplied by a power of ten.
fn rows(exponent: i32, weight: Option<&str>) -> swarmwood::Result<Rows> {
    let mut stream = Stream::new(4, 0, 0);
    let mut csv = String::from("a,b,town,w,y\n");
    for _ in 0..60 {
        let (a, b, town) = (stream.unit(), stream.unit(), stream.below(3));
        let y = 3.0 * a + b * b + town as f64 - 2.0;
        let weight = weight.unwrap_or("1");
        csv.push_str(&format!("{a:.3},{b:.3},t{town},{weight},{y:.5}e{exponent}\n"));
    }
    let options = ReadOptions {
        target: "y".into(),
        weight: weight.map(|_| "w".into()),
        ignore: if weight.is_none() { vec!["w".into()] } else { Vec::new() },
        ..ReadOptions::default()
    };
    read::training(&Source::Bytes("rows.csv".into(), csv.leak().as_bytes()), &options)
}

/// Short runs of every method of regression.
fn methods() -> Vec<(&'static str, ValidParams)> {
    let params = |method: Method| {
        let mut params = Params::default();
        for (name, value) in [
            ("method", method.name()),
            ("threads", "1"),
            ("trees", "4"),
            ("depth", "3"),
            ("population", "4"),
            ("iterations", "2"),
        ] {
            params.set(name, value).unwrap();
        }
        // Parameters that a method has another name or no use for keep their defaults.
        params.check().or_else(|_| {
            let mut least = Params::default();
            least.set("method", method.name()).unwrap();
            least.check()
        })
    };
    let named =
        Method::ALL.iter().filter_map(|&method| Some((method.name(), params(method).ok()?)));
    named.collect()
}

/// The error of training, if the method is one of regression.
fn refusal(params: &ValidParams, rows: &Rows) -> Option<String> {
    train::train(rows, None, params, &mut |_| {}).err().map(|error| error.to_string())
}

#[test]
fn targets_that_cannot_be_computed_with_are_refused_by_every_method() {
    let ordinary = rows(0, None).unwrap();
    let mut checked = 0;
    for (name, params) in methods() {
        if refusal(&params, &ordinary).is_some() {
            // A method of classification.
            continue;
        }
        checked += 1;
        for exponent in [32, 100, 307] {
            let error = refusal(&params, &rows(exponent, None).unwrap()).expect(name);
            assert!(error.contains("help: divide all targets by a constant"), "{name}: {error}");
        }
        for exponent in [-32, -100, -300] {
            let error = refusal(&params, &rows(exponent, None).unwrap()).expect(name);
            assert!(error.contains("help: multiply all targets by"), "{name}: {error}");
        }
    }
    assert!(checked >= 6, "only {checked} methods of regression");
}

#[test]
fn targets_of_any_other_scale_are_learned() {
    let mut checked = 0;
    for (name, params) in methods() {
        let quality = |exponent: i32| {
            let trained =
                train::train(&rows(exponent, None).unwrap(), None, &params, &mut |_| {}).ok()?;
            let rmse = trained.train_metrics.iter().find(|(metric, _)| *metric == "rmse")?.1;
            Some(rmse / 10f64.powi(exponent))
        };
        let Some(ordinary) = quality(0) else { continue };
        checked += 1;
        for exponent in [-29, 29] {
            let scaled = quality(exponent).expect(name);
            // Ties may be broken another way.
            assert!(scaled < 1.5 * ordinary + 0.1, "{name} 1e{exponent}: {scaled}, {ordinary}");
        }
    }
    assert!(checked >= 6, "only {checked} methods of regression");
}

#[test]
fn weights_that_cannot_be_added_up_are_refused() {
    assert!(rows(0, Some("1e25")).is_ok() && rows(0, Some("1e-25")).is_ok());
    for weight in ["1e30", "1e300", "1e-40", "1e-300", "0"] {
        let error = rows(0, Some(weight)).unwrap_err().to_string();
        assert!(error.contains("from 1e-30 to 1e30"), "{error}");
    }
}

/// Rows whose weights span forty orders of magnitude.
const UNEVEN: &[u8] = b"c0,c1,c2,w,y
x,2.125,4.75,0.001,no
v,14,1.6875,1,yes
z,13.625,3.0625,1,yes
,3.875,9.8125,1e20,yes
y,12.875,11.125,0,no
z,8.75,12.1875,0.001,yes
x,14.3125,14.3125,1e20,no
z,12.6875,11.125,1,yes
v,8.625,0.5625,0,no
v,10.5625,9.3125,1e20,yes
v,9.5,14.5,1e20,yes
y,1.5625,3.4375,2,yes
,11.25,11.1875,1,no
y,9.3125,2.6875,1,yes
x,5.6875,5.8125,1,no
z,1.4375,13.25,0.001,yes
z,15.4375,5.8125,0.001,yes
,11.5625,7.6875,1e-20,no
y,7.375,7.6875,0,no
,2.25,11.4375,1,no
";

#[test]
fn uneven_weights_do_not_keep_a_search_from_ending() {
    let options =
        ReadOptions { target: "y".into(), weight: Some("w".into()), ..ReadOptions::default() };
    let rows = read::training(&Source::Bytes("uneven.csv".into(), UNEVEN), &options).unwrap();
    for method in ["swarm-tree", "cart"] {
        let mut params = Params::of(Method::named(method).unwrap());
        params.set("threads", "1").unwrap();
        let trained = train::train(&rows, None, &params.check().unwrap(), &mut |_| {}).unwrap();
        assert!(trained.model.check().is_ok());
    }
}

#[test]
fn a_class_without_weight_can_be_balanced() {
    let csv = b"a,w,y\n1,1,p\n1,1e-20,q\n2,0.001,r\n0,0,s\n3,0,s\n";
    let options = ReadOptions {
        target: "y".into(),
        weight: Some("w".into()),
        class_weight: Some(ClassWeight::Balanced),
        ..ReadOptions::default()
    };
    let rows = read::training(&Source::Bytes("classes.csv".into(), csv), &options).unwrap();
    let of_one_tree = |method: &&Method| method.spec().output == LearnerOutput::SingleTree;
    for &method in Method::ALL.iter().filter(of_one_tree) {
        let mut params = Params::of(method);
        params.set("threads", "1").unwrap();
        if method.spec().uses("iterations") {
            params.set("iterations", "2").unwrap();
        }
        let trained = train::train(&rows, None, &params.check().unwrap(), &mut |_| {}).unwrap();
        assert_eq!(trained.model.check(), Ok(()), "{}", method.name());
    }
}
