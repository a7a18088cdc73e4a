use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use swarmwood_search::{Param, Point, PointValue};

use super::*;

fn space() -> Space {
    Space::new(vec![
        Param::choice("kind", &["tree", "a b; rm -rf \"$HOME\""]),
        Param::integer("depth", 1, 8).when("kind", &["tree"]),
        Param::real("rate", 0.0, 1.0),
    ])
    .unwrap()
}

fn point(kind: usize) -> Point {
    let depth = if kind == 0 { PointValue::Integer(3) } else { PointValue::Absent };
    Point(vec![PointValue::Index(kind), depth, PointValue::Real(0.125)])
}

fn filled(text: &str, kind: usize) -> Vec<String> {
    let space = space();
    Template::parse(text, &space).unwrap().fill(&Proposal {
        id: 7,
        space: &space,
        point: &point(kind),
    })
}

#[test]
fn words_are_those_of_a_shell() {
    for (text, words) in [
        ("run {params_json}x  'a b' \"c \\\" d\\n\"", vec!["run", "", "a b", "c \" d\\n"]),
        ("run e\\ f'g'\"h\" '' \"\" {params_json}", vec!["run", "e fgh", "", "", ""]),
        ("run 'x{print}}' {params_json}", vec!["run"]),
        ("run awk '{{print}} {a b} {' {params_json}", vec!["run", "awk", "{print} {a b} {", ""]),
    ] {
        let Ok(template) = Template::parse(text, &space()) else {
            assert_eq!(words.len(), 1, "{text}");
            continue;
        };
        let filled = template.fill(&Proposal { id: 7, space: &space(), point: &point(0) });
        for (found, expected) in
            filled.iter().zip(&words).filter(|(found, _)| !found.starts_with("{\""))
        {
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(filled.len(), words.len(), "{text}");
    }
    for (text, fault) in [
        ("", "is empty, must name a program"),
        ("run 'a", "has a single quote that is never closed"),
        ("run \"a\" '", "has a single quote that is never closed"),
        ("run \"a", "has a double quote that is never closed"),
        ("run a\\", "ends in a backslash"),
    ] {
        assert_eq!(Template::parse(text, &space()), Err(vec![fault.to_string()]), "{text}");
    }
}

#[test]
fn values_take_their_places_and_nothing_else() {
    let text = "run --kind {kind} --depth {depth} --rate={rate} t{trial}-{rate} {params_json}";
    let json = "{\"depth\":3,\"kind\":\"tree\",\"rate\":0.125}";
    let expected = ["run", "--kind", "tree", "--depth", "3", "--rate=0.125", "t7-0.125", json];
    assert_eq!(filled(text, 0), expected);
    // A label stays one word, and a parameter without a value takes its flag along.
    let odd = filled(text, 1);
    assert_eq!(odd[..4], ["run", "--kind", "a b; rm -rf \"$HOME\"", "--rate=0.125"]);
    assert_eq!(filled("run {kind} {rate} --all -d{depth} x", 1)[3..], ["--all", "x"]);
}

#[test]
fn every_parameter_needs_a_place() {
    let faults = Template::parse("run {kind}", &space()).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(
        faults[0].starts_with("parameter 'depth' of the space has no place in it; write {depth}"),
        "{faults:?}"
    );
    let faults = Template::parse("run {kind} {dept} {rate}", &space()).unwrap_err();
    let fault = "{dept} is no parameter of the space, perhaps {depth}; write {{dept}} for these very letters";
    assert_eq!(faults, [fault]);
}

#[cfg(unix)]
mod on_unix {
    use super::*;

    fn try_out(
        script: &str,
        settings: CommandConfig,
        budget: &Budget,
    ) -> std::result::Result<f64, String> {
        let space = Space::new(vec![Param::integer("x", 0, 9)]).unwrap();
        let script = script.replace('\'', "\"");
        let program = Program::new(&format!("sh -c '{script}' {{x}}"), &space, settings).unwrap();
        let point = Point(vec![PointValue::Integer(4)]);
        program
            .evaluate_fold(&Proposal { id: 3, space: &space, point: &point }, 0, budget)
            .map(|fold| fold.loss)
    }

    fn said(script: &str) -> std::result::Result<f64, String> {
        try_out(script, CommandConfig::default(), &Budget::unlimited())
    }

    #[test]
    fn the_last_line_is_the_value() {
        assert_eq!(said("echo epoch 1; echo; echo \"  0.25 \"; echo"), Ok(0.25));
        assert_eq!(said("echo $SWARMWOOD_TRIAL"), Ok(3.0));
        assert_eq!(said("echo $0"), Ok(4.0));
        // More than a pipe holds, on both channels.
        assert_eq!(said("seq 1 100000; seq 1 100000 >&2"), Ok(100_000.0));
        assert_eq!(
            try_out(
                "echo 2",
                CommandConfig { maximize: true, ..CommandConfig::default() },
                &Budget::unlimited()
            ),
            Ok(-2.0)
        );
    }

    #[test]
    fn every_failure_has_its_reason() {
        assert_eq!(
            said("echo warning >&2; echo no memory >&2; exit 3"),
            Err("exit code 3: no memory".to_string())
        );
        assert_eq!(said("exit 1"), Err("exit code 1".to_string()));
        assert_eq!(said("true"), Err("printed no value".to_string()));
        assert_eq!(
            said("echo loss 3"),
            Err("the last line of its output is 'loss 3', not a number".to_string())
        );
        assert_eq!(said("echo nan"), Err("the value is NaN".to_string()));
        assert!(said("kill -9 $$").unwrap_err().contains("signal"));
        let long = said("printf %01000d 1 >&2; exit 1").unwrap_err();
        assert!(long.len() < 350, "{}", long.len());
    }

    #[test]
    fn a_program_that_is_not_there_is_told_before_anything_is_run() {
        let space = Space::new(vec![Param::integer("x", 0, 9)]).unwrap();
        for name in ["no-such-program-anywhere", "./no/such/program"] {
            let fault = Program::new(&format!("{name} {{x}}"), &space, CommandConfig::default())
                .unwrap_err();
            assert!(
                fault.to_string().contains(&format!("there is no program '{name}'")),
                "{fault}"
            );
            assert_eq!(fault.exit_code(), 2);
        }
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_it_started() {
        let mark = std::env::temp_dir().join(format!("swarmwood-late-{}", std::process::id()));
        let script = format!("(sleep 2; echo late > {}) & sleep 60", mark.display());
        let settings =
            CommandConfig { timeout: Some(Duration::from_millis(100)), ..CommandConfig::default() };
        let started = Instant::now();
        assert_eq!(
            try_out(&script, settings, &Budget::unlimited()),
            Err("took longer than 0.1 s".to_string())
        );
        assert!(started.elapsed() < Duration::from_secs(30), "it was waited for");
        std::thread::sleep(Duration::from_millis(2300));
        assert!(!mark.exists(), "a child of the program lived on");
    }

    #[test]
    fn a_stubborn_program_is_killed() {
        let looks = AtomicUsize::new(0);
        let budget =
            Budget::unlimited().with_interrupt(move || looks.fetch_add(1, Ordering::Relaxed) > 5);
        let stopped =
            try_out("trap : TERM; while :; do sleep 0.05; done", CommandConfig::default(), &budget);
        assert!(stopped.as_ref().is_err_and(|reason| reason.starts_with("stopped")), "{stopped:?}");
    }

    #[test]
    fn failures_are_tried_again() {
        let mark = std::env::temp_dir().join(format!("swarmwood-again-{}", std::process::id()));
        let script = format!("echo x >> {0}; test $(wc -l < {0}) = 3 && echo 8", mark.display());
        let settings = |retries| CommandConfig { retries, ..CommandConfig::default() };
        assert_eq!(
            try_out(&script, settings(1), &Budget::unlimited()),
            Err("exit code 1".to_string())
        );
        std::fs::remove_file(&mark).unwrap();
        assert_eq!(try_out(&script, settings(2), &Budget::unlimited()), Ok(8.0));
        std::fs::remove_file(&mark).unwrap();
    }

    #[test]
    fn a_file_can_hold_the_value() {
        let base = std::env::temp_dir().join(format!("swarmwood-value-{}", std::process::id()));
        let path = format!("{}-{{trial}}.json", base.display());
        let value = |key: Option<&str>| ValueFrom::File {
            path: path.clone(),
            key: key.map(str::to_string),
        };
        let from = |script: &str, key: Option<&str>| {
            let settings = CommandConfig { value: value(key), ..CommandConfig::default() };
            let script =
                script.replace("OUT", &format!("{}-$SWARMWOOD_TRIAL.json", base.display()));
            try_out(&script, settings, &Budget::unlimited())
        };
        assert_eq!(from("echo {\\\"a\\\":{\\\"b\\\":1.5}} > OUT; echo 9", Some("a.b")), Ok(1.5));
        assert_eq!(from("echo 2.5 > OUT", None), Ok(2.5));
        assert!(
            from("echo {\\\"a\\\":1} > OUT", Some("b")).unwrap_err().ends_with("no number at 'b'")
        );
        // The file of the attempt before does not count.
        assert!(from("true", Some("a")).unwrap_err().starts_with("cannot read "));
        assert!(
            !value(None).is_shared()
                && ValueFrom::File { path: "x.json".into(), key: None }.is_shared()
        );
    }
}
