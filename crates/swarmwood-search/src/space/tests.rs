use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::rng::Stream;

fn mixed() -> Space {
    Space::new(vec![
        Param::choice("booster", &["tree", "dart", "linear"]),
        Param::integer("depth", 1, 4).when("booster", &["tree", "dart"]),
        Param::choice("normal", &["forest", "tree"]).when("booster", &["dart"]),
        Param::list("skip", &[0.0, 0.5]).when("normal", &["forest"]),
        Param::list("bins", &[16.0, 64.0, 255.0]),
    ])
    .unwrap()
}

#[test]
fn sizes_count_active_parameters_only() {
    // tree: 4; dart: 4 depths × (forest: 2 + tree: 1); linear: 1; all times 3 bins.
    assert_eq!(mixed().size(), Some((4 + 4 * 3 + 1) * 3));
    assert_eq!(Space::new(vec![]).unwrap().size(), Some(1));
    assert_eq!(Space::new(vec![Param::real("x", 0.0, 1.0)]).unwrap().size(), None);
    assert_eq!(Space::new(vec![Param::real("x", 2.0, 2.0)]).unwrap().size(), Some(1));
    let wide = (0..4).map(|i| Param::integer(&format!("i{i}"), 1, INTEGER_LIMIT)).collect();
    assert_eq!(Space::new(wide).unwrap().size(), None, "2^160 does not fit");
}

#[test]
fn numbering_visits_every_configuration_once() {
    let space = mixed();
    let size = space.size().unwrap();
    let points: Vec<Point> = (0..size).map(|i| space.nth(i).unwrap()).collect();
    assert!(points.iter().all(|point| space.contains(point)));
    let distinct: HashSet<u128> = points.iter().map(Point::fingerprint).collect();
    assert_eq!(distinct.len() as u128, size);
    assert_eq!(space.nth(size), None);
    assert_eq!(Space::new(vec![]).unwrap().nth(0), Some(Point(vec![])));
}

#[test]
fn every_fault_is_reported_at_once() {
    let error = Space::new(vec![
        Param::integer("a", 3, 2),
        Param::integer("b", 0, 9).log(),
        Param::integer("c", 0, i64::MAX),
        Param::real("d", f64::NAN, 1.0),
        Param::real("e", -f64::MAX, f64::MAX),
        Param::real("f", 0.0, 1.0).log(),
        Param::list("g", &[1.0, 1.0]),
        Param::list("h", &[]),
        Param::choice("i", &["x", "x"]),
        Param::choice("j", &[]),
        Param::choice("k", &["x", "y"]),
        Param::integer("k", 0, 1),
        Param::integer("l", 0, 1).when("m", &["x"]),
        Param::integer("m", 0, 1).when("a", &["x"]),
        Param::integer("n", 0, 1).when("k", &["z"]),
        Param::integer("", 0, 1).when("k", &[]),
    ])
    .unwrap_err();
    let Error::Space(errors) = &error else { panic!("{error}") };
    let names: Vec<&str> = errors.iter().map(|error| error.parameter.as_str()).collect();
    assert_eq!(
        names,
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "", ""]
    );
    assert!(
        error
            .to_string()
            .contains("parameter 'n': depends on label 'z' of 'k', which has only x, y"),
        "{error}"
    );
}

#[test]
fn contains_knows_kinds_bounds_and_conditions() {
    let space = mixed();
    let good = vec![
        PointValue::Index(0),
        PointValue::Integer(4),
        PointValue::Absent,
        PointValue::Absent,
        PointValue::Index(2),
    ];
    assert!(space.contains(&Point(good.clone())));
    for (i, wrong) in [
        (0, PointValue::Index(3)),
        (0, PointValue::Integer(0)),
        (0, PointValue::Absent),
        (1, PointValue::Integer(5)),
        (1, PointValue::Integer(0)),
        (1, PointValue::Real(2.0)),
        (1, PointValue::Absent),
        (2, PointValue::Index(0)),
        (4, PointValue::Index(3)),
    ] {
        let mut values = good.clone();
        values[i] = wrong;
        assert!(!space.contains(&Point(values)), "{i}: {wrong:?}");
    }
    assert!(!space.contains(&Point(good[..4].to_vec())));
    let real = Space::new(vec![Param::real("x", 0.0, 1.0)]).unwrap();
    assert!(!real.contains(&Point(vec![PointValue::Real(f64::NAN)])));
}

#[test]
fn decoding_takes_any_position() {
    let space = mixed();
    for odd in [vec![], vec![f64::NAN; 5], vec![-1e300; 5], vec![f64::INFINITY; 9]] {
        assert!(space.contains(&space.decode(&odd)), "{odd:?}");
    }
    let space = Space::new(vec![Param::integer("i", 1, 3).log(), Param::real("x", 2.0, 2.0).log()])
        .unwrap();
    assert_eq!(
        space.decode(&[0.0, 0.3]),
        Point(vec![PointValue::Integer(1), PointValue::Real(2.0)])
    );
    assert_eq!(
        space.decode(&[1.0, 0.3]),
        Point(vec![PointValue::Integer(3), PointValue::Real(2.0)])
    );
}

#[test]
fn the_fingerprint_sees_every_change() {
    let base = || Param::integer("a", 1, 5);
    let variants = [
        vec![base()],
        vec![base().log()],
        vec![Param::integer("a", 1, 6)],
        vec![Param::integer("b", 1, 5)],
        vec![Param::real("a", 1.0, 5.0)],
        vec![Param::list("a", &[1.0, 5.0])],
        vec![Param::choice("a", &["1", "5"])],
        vec![Param::choice("a", &["15"])],
        vec![base(), Param::choice("c", &["x", "y"]), Param::integer("d", 0, 1)],
        vec![base(), Param::choice("c", &["x", "y"]), Param::integer("d", 0, 1).when("c", &["x"])],
    ];
    let names: HashSet<u128> =
        variants.iter().map(|v| Space::new(v.clone()).unwrap().fingerprint()).collect();
    assert_eq!(names.len(), variants.len());
}

#[test]
fn draws_follow_the_scale() {
    let space =
        Space::new(vec![Param::real("x", 1e-4, 1.0).log(), Param::integer("i", 1, 1000).log()])
            .unwrap();
    let mut stream = Stream::new(1, 0, 0);
    let points: Vec<Point> = (0..2_000).map(|_| space.draw(&mut stream)).collect();
    let below = |i: usize, limit: f64| {
        points.iter().filter(|p| space.number(i, p[i]).unwrap() < limit).count()
    };
    assert!(
        (900..1100).contains(&below(0, 1e-2)),
        "half of the draws lie below the geometric middle"
    );
    assert!((900..1150).contains(&below(1, 27.0)), "{}", below(1, 27.0));
}

fn any_param(i: usize) -> impl Strategy<Value = Param> {
    let name = format!("p{i}");
    let (a, b, c, d, e, f) =
        (name.clone(), name.clone(), name.clone(), name.clone(), name.clone(), name);
    prop_oneof![
        (-INTEGER_LIMIT..=INTEGER_LIMIT, -INTEGER_LIMIT..=INTEGER_LIMIT)
            .prop_map(move |(x, y)| Param::integer(&a, x.min(y), x.max(y))),
        (1..=INTEGER_LIMIT, 1..=INTEGER_LIMIT).prop_map(move |(x, y)| Param::integer(
            &b,
            x.min(y),
            x.max(y)
        )
        .log()),
        (-1e9..1e9f64, -1e9..1e9f64).prop_map(move |(x, y)| Param::real(&c, x.min(y), x.max(y))),
        (1e-9..1e9f64, 1e-9..1e9f64)
            .prop_map(move |(x, y)| Param::real(&d, x.min(y), x.max(y)).log()),
        (1..40i32).prop_map(move |n| Param::list(&e, &(0..n).map(f64::from).collect::<Vec<_>>())),
        Just(Param::choice(&f, &["x", "y", "z"])),
    ]
}

fn any_space() -> impl Strategy<Value = Space> {
    (any_param(0), any_param(1), any_param(2), proptest::bool::ANY).prop_map(
        |(a, b, c, conditional)| {
            let gate = Param::choice("gate", &["x", "y"]);
            let b = if conditional { b.when("gate", &["y"]) } else { b };
            Space::new(vec![gate, a, b, c]).unwrap()
        },
    )
}

proptest! {
    #[test]
    fn encoding_comes_back(space in any_space(), seed in proptest::num::u64::ANY) {
        let point = space.draw(&mut Stream::new(seed, 0, 0));
        prop_assert!(space.contains(&point));
        let position = space.encode(&point);
        prop_assert!(position.iter().all(|u| (0.0..=1.0).contains(u)));
        let back = space.decode(&position);
        prop_assert!(space.contains(&back));
        for (i, (&there, &here)) in point.0.iter().zip(&back.0).enumerate() {
            match (there, here) {
                (PointValue::Real(x), PointValue::Real(y)) => {
                    let Domain::Real { low, high, .. } = space.params()[i].domain else { unreachable!() };
                    prop_assert!((x - y).abs() <= 1e-12 * (high - low).max(x.abs()), "{x} {y}");
                }
                _ => prop_assert_eq!(there, here),
            }
        }
    }

    #[test]
    fn every_position_decodes_into_the_space(space in any_space(), position in proptest::array::uniform4(-0.5..1.5f64)) {
        prop_assert!(space.contains(&space.decode(&position)));
    }
}

#[test]
fn cells_hold_what_decodes_alike() {
    let space = Space::new(vec![
        Param::integer("i", -3, 6),
        Param::integer("log", 2, 90).log(),
        Param::list("l", &[0.5, 2.0, 9.0]),
        Param::choice("c", &["a", "b"]),
        Param::integer("one", 5, 5),
        Param::real("fixed", 2.0, 2.0),
    ])
    .unwrap();
    for parameter in 0..space.len() {
        for step in 0..=1000 {
            let u = f64::from(step) / 1000.0;
            let (low, high) = space.cell(parameter, u).unwrap();
            let value = |u: f64| space.decode(&vec![u; space.len()])[parameter];
            assert!(
                low - 1e-12 <= u && u <= high + 1e-12 && (0.0..=1.0).contains(&low) && high <= 1.0
            );
            assert_eq!(value(low + 1e-9), value(u), "parameter {parameter} at {u}");
            assert_eq!(value(high - 1e-9), value(u), "parameter {parameter} at {u}");
            assert!(low == 0.0 || value(low - 1e-9) != value(u), "parameter {parameter} at {u}");
            assert!(high == 1.0 || value(high + 1e-9) != value(u), "parameter {parameter} at {u}");
        }
    }
    assert_eq!(Space::new(vec![Param::real("x", 0.0, 1.0)]).unwrap().cell(0, 0.5), None);
    assert_eq!(space.cell(0, f64::NAN), Some((0.0, 0.1)));
}
