//! One policy for extreme values, whatever the method: targets that cannot be computed with are
//! refused with a remedy, and others train as if they were scaled to ordinary numbers.

use swarmwood::params::{Method, Params, ValidParams};
use swarmwood::read::{self, ReadOptions, Rows, Source};
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
