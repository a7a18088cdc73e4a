//! Studies of programs: killed, shared, damaged, on a full disk, and what they show afterwards.
//!
//! The program is a line of `sh` and `awk`: it writes down that it was started and prints a made-up
//! loss.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scratch::{RunOutput, Scratch};

const SPACE: &str = r#"
[kind]
type = "choice"
values = ["steep", "flat"]

[rate]
type = "real"
low = 0.001
high = 1
scale = "log"

[depth]
type = "integer"
low = 1
high = 12
when = { kind = "steep" }
"#;

/// Appends its number to a file when it begins and when it ends, and prints a loss.
const SCRIPT: &str = r#"
echo "begin $SWARMWOOD_TRIAL" >> log
awk -v r="$1" -v d="${2:-6}" 'BEGIN { x = log(r) + 3; y = d - 4; print x * x + y * y / 10 }'
echo "end $SWARMWOOD_TRIAL" >> log
"#;

/// The script prints its value before it ends, so the last line is the value.
fn study_dir() -> Scratch {
    let dir = Scratch::new();
    dir.file("space.toml", SPACE).file("run.sh", SCRIPT);
    dir
}

fn arguments(more: &str) -> Vec<String> {
    let mut words: Vec<String> =
        ["tune", "--command", "sh run.sh {rate} {depth} '' {kind}", "--space", "space.toml"]
            .map(String::from)
            .to_vec();
    words.extend(more.split_whitespace().map(String::from));
    words
}

fn start(dir: &Scratch, more: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_swarmwood"))
        .args(arguments(more))
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ended(child: Child) -> RunOutput {
    let output = child.wait_with_output().unwrap();
    RunOutput {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn tune(dir: &Scratch, more: &str) -> RunOutput {
    ended(start(dir, more))
}

/// The trials of a study without what depends on time and on who worked.
fn trials(dir: &Scratch, study: &str) -> Vec<(Value, Value, Value)> {
    let shown = dir.run(&format!("study show {study} --json --quiet")).works().json();
    let trials = shown["trials"].as_array().unwrap().clone();
    trials
        .iter()
        .map(|trial| (trial["state"].clone(), trial["value"].clone(), trial["parameters"].clone()))
        .collect()
}

#[test]
fn a_study_killed_fifty_times_ends_as_an_uninterrupted_one() {
    const TRIALS: usize = 150;
    let line = format!("--trials {TRIALS} --seed 3 --study s.jsonl --engine tpe --quiet");
    let whole = study_dir();
    let started = Instant::now();
    tune(&whole, &line).works();
    let took = started.elapsed();
    let expected = trials(&whole, "s.jsonl");
    assert_eq!(expected.len(), TRIALS);

    let dir = study_dir();
    let mut finished: BTreeMap<u64, String> = BTreeMap::new();
    for moment in 0..50u32 {
        let mut child = start(&dir, &line);
        // Moments that have nothing to do with what the process does just then, and so short that
        // they never suffice to finish.
        std::thread::sleep(took / 40 * (moment * 37 % 50) / 50);
        assert!(
            child.try_wait().unwrap().is_none(),
            "the run ended before it was killed: {:?}",
            ended(child)
        );
        child.kill().unwrap();
        child.wait().unwrap();
        // Finished trials do not change.
        let now = finished_trials(&dir);
        assert!(
            finished.iter().all(|(id, line)| now.get(id) == Some(line)),
            "a finished trial was lost or repeated"
        );
        finished = now;
    }
    tune(&dir, &line).works();
    assert_eq!(trials(&dir, "s.jsonl"), expected);
    let best = |dir: &Scratch| dir.run("study best s.jsonl --format json").works().out;
    assert_eq!(best(&dir), best(&whole));
    // No trial was finished twice, and the lock files are gone.
    let text = dir.read("s.jsonl");
    assert_eq!(text.matches("\"event\":\"tell\"").count(), TRIALS);
    assert_eq!(dir.names(), ["log", "run.sh", "s.jsonl", "space.toml"]);
}

/// The lines that tell how trials ended, by trial.
fn finished_trials(dir: &Scratch) -> BTreeMap<u64, String> {
    let text = std::fs::read_to_string(dir.path().join("s.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().filter(|line| line.contains("\"event\":\"tell\""));
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap();
    lines.map(|line| (id(line), line.to_string())).collect()
}

#[test]
fn two_processes_share_a_study_of_500_trials() {
    let dir = study_dir();
    dir.file("fast.toml", "x = { type = 'real', low = 0, high = 1 }");
    // The quickest program there is that says something; the journal says who did what.
    let words = [
        "tune",
        "--command",
        "echo {x}",
        "--space",
        "fast.toml",
        "--trials",
        "500",
        "--parallel",
        "4",
    ];
    let more = ["--study", "s.jsonl", "--engine", "random", "--threads", "2", "--json", "--quiet"];
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_swarmwood"))
            .args(words)
            .args(more)
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let (first, second) = (start(), start());
    let (first, second) = (ended(first).works().json(), ended(second).works().json());
    for report in [&first, &second] {
        assert_eq!(
            (report["trials"].as_u64(), report["failed"].as_u64()),
            (Some(500), Some(0)),
            "{report}"
        );
    }
    assert_eq!(first["best"], second["best"]);
    let text = dir.read("s.jsonl");
    for event in ["ask", "tell"] {
        let mut ids: Vec<u64> = text
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|value| value["event"] == event)
            .map(|value| value["id"].as_u64().unwrap())
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..500).collect::<Vec<_>>(), "{event}");
    }
    let mut points: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("\"point\":"))
        .map(|(_, rest)| rest)
        .collect();
    points.sort_unstable();
    points.dedup();
    assert!(points.len() >= 500, "a configuration was repeated");
    assert!(
        text.contains("\"worker\":0") && text.contains("\"worker\":1"),
        "one of them did nothing"
    );
    assert_eq!(dir.names().iter().filter(|name| name.contains("worker")).count(), 0);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let dir = study_dir();
    for threads in [1, 8] {
        tune(
            &dir,
            &format!("--trials 24 --parallel 6 --threads {threads} --study {threads}.jsonl --engine ga --quiet"),
        )
        .works();
    }
    assert_eq!(trials(&dir, "1.jsonl"), trials(&dir, "8.jsonl"));
}

#[test]
fn a_full_disk_leaves_the_journal_whole() {
    let whole = study_dir();
    tune(&whole, "--trials 30 --study s.jsonl --seed 5 --quiet").works();
    let dir = study_dir();
    // A limit on the size of files fails as a full disk does, in the middle of a write; the signal
    // it sends is ignored. The shell counts blocks of 512 bytes or of 1024.
    let line = arguments("--trials 30 --study s.jsonl --seed 5 --quiet");
    let quoted: Vec<String> =
        line.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let script = format!(
        "trap '' XFSZ; ulimit -f 4; exec {} {}",
        env!("CARGO_BIN_EXE_swarmwood"),
        quoted.join(" ")
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(dir.path()).stdin(Stdio::null());
    ended(shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .ends(1, &["s.jsonl: cannot write", "make room and start the same command again"]);
    let text = dir.read("s.jsonl");
    assert!(text.ends_with('\n') && text.len() > 512, "half a line was left: {text}");
    dir.run("study show s.jsonl").works();
    tune(&dir, "--trials 30 --study s.jsonl --seed 5 --quiet").works();
    assert_eq!(trials(&dir, "s.jsonl"), trials(&whole, "s.jsonl"));
}

#[test]
fn an_unwritable_directory_is_an_error() {
    let dir = study_dir();
    let child = tune(&dir, "--trials 3 --study no/such/s.jsonl");
    child.ends(1, &["no/such/s.jsonl: cannot write"]);
    if cfg!(target_os = "linux") {
        // The kernel lets nobody, not even its administrator, make files here.
        tune(&dir, "--trials 3 --study /proc/s.jsonl").ends(1, &["/proc/s.jsonl: cannot write"]);
        tune(&dir, "--trials 3 --study /dev/full").ends(2, &["/dev/full: is not a file"]);
    }
    assert_eq!(dir.names(), ["run.sh", "space.toml"]);
}

#[test]
fn an_incomplete_line_is_removed_and_damage_is_refused() {
    let dir = study_dir();
    tune(&dir, "--trials 12 --study s.jsonl --quiet").works();
    let text = dir.read("s.jsonl");
    dir.file("s.jsonl", &text[..text.len() - 9]);
    dir.run("study show s.jsonl").ends(0, &["the last line is not finished and was left out"]);
    assert_eq!(dir.read("s.jsonl").len(), text.len() - 9, "who only looks cut the journal");
    tune(&dir, "--trials 12 --study s.jsonl")
        .ends(0, &["note: s.jsonl: the last line was not finished and was removed"]);
    let lines: Vec<&str> = text.lines().collect();
    let damaged = format!("{}\n{}\n{}\n", lines[0], &lines[1][..20], lines[2]);
    dir.file("s.jsonl", &damaged);
    tune(&dir, "--trials 12 --study s.jsonl").ends(2, &["s.jsonl: line 2: is damaged"]);
    dir.run("study show s.jsonl").ends(2, &["s.jsonl: line 2: is damaged"]);
    assert_eq!(dir.read("s.jsonl"), damaged);
    tune(&dir, "--trials 12 --study space.toml")
        .ends(2, &["space.toml: is not a study; name another file"]);
}

#[test]
fn another_run_is_refused_and_missing_flags_come_from_the_study() {
    let dir = study_dir();
    tune(&dir, "--trials 6 --study s.jsonl --engine random --seed 9 --parallel 2 --quiet").works();
    tune(&dir, "--trials 8 --study s.jsonl --seed 10")
        .ends(2, &["the seed is 9 in the study, not 10"]);
    tune(&dir, "--trials 8 --study s.jsonl --maximize").ends(2, &["are not those of the study"]);
    tune(&dir, "--trials 8 --study s.jsonl").ends(
        0,
        &["tuning 3 parameters with random, 2 trials concurrent, seed 9; the study has 6"],
    );
    assert_eq!(trials(&dir, "s.jsonl").len(), 8);
}

#[test]
fn missing_engine_options_come_from_the_study_and_others_are_refused() {
    let dir = study_dir();
    let options = "--engine sse --engine-options mutation=rank,population=3";
    tune(&dir, &format!("--trials 4 --study s.jsonl {options} --quiet")).works();
    tune(&dir, "--trials 8 --study s.jsonl")
        .ends(0, &["with sse (mutation=rank, population=3)", "the study has 4"]);
    tune(&dir, &format!("--trials 8 --study whole.jsonl {options} --quiet")).works();
    assert_eq!(trials(&dir, "s.jsonl"), trials(&dir, "whole.jsonl"));

    let has = "engine_options is 'mutation=rank, population=3' in the study";
    tune(&dir, "--trials 8 --study s.jsonl --engine-options population=3").ends(2, &[has]);
    tune(&dir, "--trials 8 --study s.jsonl --engine-options rate=2,bogus=1")
        .ends(2, &["'rate' is '2'", "'bogus' is no option of engine 'sse'"]);
}

#[test]
fn failed_trials_are_recorded_and_only_failures_are_an_error() {
    let dir = Scratch::new();
    dir.file("space.toml", "x = { type = 'integer', low = 0, high = 9 }");
    dir.file("run.sh", "test $1 -gt 3 || { echo too small >&2; exit 7; }\necho $1");
    let report = tune_program(
        &dir,
        "sh run.sh {x}",
        "--trials 50 --maximize --study s.jsonl --json --quiet",
    )
    .works()
    .json();
    assert_eq!(
        (&report["trials"], &report["failed"], &report["stop_reason"]),
        (&10.into(), &4.into(), &"space_exhausted".into())
    );
    assert_eq!(
        (&report["best"]["value"], &report["best"]["parameters"]["x"]),
        (&9.0.into(), &9.into())
    );
    let shown = dir.run("study show s.jsonl --all").works().out;
    assert!(
        shown.contains("exit code 7: too small") && shown.contains("higher is better"),
        "{shown}"
    );
    tune_program(&dir, "false {x}", "--trials 3")
        .ends(1, &["all 3 trials failed, the last one, trial 2: exit code 1"]);
}

fn tune_program(dir: &Scratch, command: &str, more: &str) -> RunOutput {
    let child = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
        .args(["tune", "--command", command, "--space", "space.toml"])
        .args(more.split_whitespace())
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    ended(child.unwrap())
}

#[test]
fn time_limits_timeouts_and_interrupts_leave_a_resumable_study() {
    let dir = Scratch::new();
    dir.file("space.toml", "x = { type = 'integer', low = 0, high = 9 }");
    dir.file("run.sh", "sleep $2; echo $1");
    let late = tune_program(&dir, "sh run.sh {x} 60", "--trials 2 --timeout 0.1");
    late.ends(1, &["all 2 trials failed", "took longer than 0.1 s"]);
    let started = Instant::now();
    let stopped =
        tune_program(&dir, "sh run.sh {x} 0.2", "--trials 10 --time-limit 1 --study s.jsonl")
            .works();
    assert!(
        stopped.out.contains("time limit reached")
            && stopped.out.contains("to continue from s.jsonl"),
        "{stopped:?}"
    );
    assert!(started.elapsed() < Duration::from_secs(30), "the program was waited for");

    let child = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
        .args([
            "tune",
            "--command",
            "sh run.sh {x} 30",
            "--space",
            "space.toml",
            "--study",
            "i.jsonl",
        ])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !std::fs::read_to_string(dir.path().join("i.jsonl")).unwrap_or_default().contains("ask") {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Until the handler is set, an interrupt ends the program as it ends any; both are fine for the
    // journal.
    std::thread::sleep(Duration::from_millis(200));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = ended(child);
    assert_eq!(output.code, 130, "{output:?}");
    assert!(output.err.contains("no trial was finished"), "{output:?}");
    assert_eq!(trials(&dir, "i.jsonl").len(), 1);
}

#[test]
fn bad_spaces_and_commands_are_refused_before_anything_runs() {
    let dir = study_dir();
    for (text, words) in [
        (
            "x = { type = 'list', values = [] }",
            "space.toml:1: parameter 'x', key 'values': is empty",
        ),
        (
            "[x]\ntype = 'real'\nlow = 2\nhigh = 1",
            "space.toml:1: parameter 'x': low bound 2 lies above high bound 1",
        ),
        (
            "[x]\ntype = 'real'\nlow = 0\nhigh = 1\nscale = 'log'",
            "a logarithmic scale needs a low bound above 0",
        ),
        (
            "x = { type = 'list', values = [1], when = { y = 'a' } }",
            "depends on 'y', which is no parameter",
        ),
        (
            "x = { type = 'choice', values = ['a'], when = { x = 'a' } }",
            "depends on itself: 'x' → 'x'",
        ),
        ("x = {", "space.toml:1: "),
    ] {
        dir.file("space.toml", text);
        tune_program(&dir, "echo {x}", "--study s.jsonl").ends(2, &["error: ", words]);
    }
    dir.file("space.toml", "x = { type = 'integer', low = 0, high = 9 }");
    for (command, more, words) in [
        ("echo {y}", "", "command: {y} is no parameter of the space"),
        ("echo", "", "command: parameter 'x' of the space has no place in it"),
        ("no-such-program-here {x}", "", "there is no program 'no-such-program-here'"),
        ("echo {x}", "--engine tpf", "engine: is 'tpf', perhaps tpe"),
        ("echo {x}", "--trials 0", "trials: is 0, must be at least 1"),
        ("echo {x}", "--timeout -1", "timeout: is -1, must be a number of seconds above 0"),
        (
            "echo {x}",
            "--value-file v.json --parallel 2",
            "value-file: is the same file for concurrent trials",
        ),
        ("echo {x}", "--target y", "cannot be used with"),
        ("echo {x}", "--depth 3", "cannot be used with"),
    ] {
        tune_program(&dir, command, &format!("{more} --study s.jsonl")).ends(2, &[words]);
    }
    assert_eq!(dir.names(), ["run.sh", "space.toml"], "something was begun");
}

#[test]
fn a_study_can_be_shown_exported_and_drawn() {
    let dir = study_dir();
    tune(&dir, "--trials 40 --study s.jsonl --engine random --quiet").works();
    let shown = dir.run("study show s.jsonl --top 3").works().out;
    for part in [
        "sh run.sh {rate}",
        "lower is better",
        "random, seed 0, 1 concurrent trial",
        "40 (40 complete)",
        "variance",
    ] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    assert_eq!(shown.lines().filter(|line| line.contains(" complete ")).count(), 3);

    let json = dir.run("study best s.jsonl --format json").works().json();
    let toml = dir.run("study best s.jsonl").works().out;
    assert!(
        toml.starts_with("# trial ") && toml.contains(&format!("rate = {}", json["rate"])),
        "{toml}"
    );
    let flags = dir.run("study best s.jsonl --format flags").works().out;
    assert!(flags.contains(&format!("--kind {}", json["kind"].as_str().unwrap())), "{flags}");

    dir.run("study export s.jsonl --out t.csv").works();
    let table = dir.read("t.csv");
    assert!(
        table.starts_with(
            "trial,state,value,loss,seconds,worker,failure,fold_0_loss,kind,rate,depth\n"
        ),
        "{table}"
    );
    assert_eq!(table.lines().count(), 41);

    for kind in ["best", "history", "slice", "parallel", "importance"] {
        dir.run(&format!("study plot s.jsonl --kind {kind} --out p.svg")).works();
        let svg = dir.read("p.svg");
        assert!(
            svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"),
            "{kind}: {svg}"
        );
        assert!(svg.contains("40 trials by random"), "{kind}");
    }
    dir.fails("study show none.jsonl", 2, &["none.jsonl: cannot read"]);
    dir.fails("study plot s.jsonl --kind pie --out q.svg", 2, &["pie"]);
}

/// The best configuration comes with the method and all that was fixed, as flags and as a file.
#[test]
fn the_best_configuration_can_be_run_as_it_is() {
    let dir = Scratch::new();
    let rows: String =
        (0..120).map(|row| format!("{row},{},{},{}\n", row % 7, row % 5, row % 7 * 3)).collect();
    dir.file("t.csv", format!("id,the a,b,y\n{rows}"));
    let tune = "tune t.csv --target y --ignore id --trials 4 --folds 2 --max-bin 32 --seed 3 \
                --study s.jsonl --out m.json";
    dir.run(tune).works();

    let flags = dir.run("study best s.jsonl --format flags").works().out;
    for part in ["--target y", "--ignore id", "--method greedy", "--max-bin 32", "--seed 3"] {
        assert!(flags.contains(part), "no {part} in {flags}");
    }
    dir.run(&format!("train t.csv {} --out flags.json", flags.trim())).works();

    dir.file("best.toml", dir.run("study best s.jsonl").works().out);
    dir.run("train t.csv --config best.toml --out toml.json").works();
    assert_eq!(dir.read("flags.json"), dir.read("toml.json"));
}
