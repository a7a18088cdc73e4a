//! Outputs never destroy inputs.

use crate::scratch::Scratch;
use crate::tables::regression;

fn with_model() -> Scratch {
    let dir = Scratch::new();
    dir.file("t.csv", regression(120, 1)).file("v.csv", regression(60, 2));
    dir.file("c.toml", "trees = 3\n");
    dir.run("train t.csv --target price --trees 3 --trace run.csv --out m.json").works();
    let record =
        dir.run("train t.csv --target price --trees 3 --quiet --json --out m2.json").works();
    dir.file("run.json", record.out);
    dir.run(
        "tune t.csv --target price --trials 2 --folds 2 --trees 3 --study s.jsonl --out tuned.json",
    )
    .works();
    dir
}

/// The content of every file.
fn contents(dir: &Scratch) -> Vec<(String, String)> {
    dir.names().into_iter().map(|name| (name.clone(), dir.read(&name))).collect()
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let dir = with_model();
    let before = contents(&dir);
    let train = "train t.csv --target price --trees 3 --valid v.csv --config c.toml";
    let tune = "tune t.csv --target price --trials 2 --folds 2 --study s.jsonl";
    for (line, part) in [
        (&*format!("{train} --out t.csv"), "out: 't.csv' is the same file as the training data"),
        (&format!("{train} --out v.csv"), "out: 'v.csv' is the same file as the validation rows"),
        (&format!("{train} --out c.toml"), "the same file as the configuration"),
        (
            &format!("{train} --method psgbdt --pretrained m.json --out m.json"),
            "the pretrained model",
        ),
        (&format!("{train} --trace t.csv --out n.json"), "trace: 't.csv'"),
        (&format!("{train} --plot t.csv --out n.json"), "plot: 't.csv'"),
        (&format!("{train} --checkpoint t.csv --out n.json"), "checkpoint: 't.csv'"),
        (&format!("{train} --trace n.json --out n.json"), "trace: 'n.json' is the same file as"),
        (&format!("{train} --trace ./n.json --out n.json"), "trace: './n.json' is the same file"),
        (&format!("{tune} --out t.csv"), "out: 't.csv'"),
        (&format!("{tune} --out s.jsonl"), "out: 's.jsonl' is the same file as that of --study"),
        ("predict m.json t.csv --out t.csv", "the rows to predict"),
        ("predict m.json t.csv --out m.json", "the model"),
        ("evaluate m.json t.csv --plot t.csv", "plot: 't.csv'"),
        ("inspect m.json --plot m.json", "plot: 'm.json'"),
        ("rules m.json --data t.csv --out t.csv", "the data"),
        ("study export s.jsonl --out s.jsonl", "the journal of the study"),
        ("report m.json --data t.csv --out t.csv", "the data"),
        ("report m.json run.csv --out run.csv", "a run"),
        // The record names its model.
        ("report run.json --out m2.json", "a model"),
    ] {
        let output = dir.fails(line, 2, &[part, "another file"]);
        assert!(!output.err.contains("round"), "{}", output.err);
        assert_eq!(contents(&dir), before, "{line}");
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::process::Command;

    use super::*;

    #[test]
    fn links_to_an_input_are_recognized() {
        let dir = Scratch::new();
        dir.file("t.csv", regression(120, 1));
        std::fs::hard_link(dir.path().join("t.csv"), dir.path().join("hard.csv")).unwrap();
        std::os::unix::fs::symlink("t.csv", dir.path().join("soft.csv")).unwrap();
        std::os::unix::fs::symlink(".", dir.path().join("here")).unwrap();
        let before = dir.read("t.csv");
        for out in ["hard.csv", "soft.csv", "here/t.csv", "here/hard.csv"] {
            let line = format!("train t.csv --target price --trees 3 --out {out}");
            dir.fails(&line, 2, &[out, "the training data"]);
            assert_eq!(dir.read("t.csv"), before);
        }
        // Two names of a file that does not exist yet.
        let line = "train t.csv --target price --trees 3 --trace here/n --out n";
        dir.fails(line, 2, &["trace: 'here/n'", "--out"]);
    }

    #[test]
    fn standard_streams_are_compared_too() {
        let dir = Scratch::new();
        dir.file("t.csv", regression(120, 1));
        dir.run("train t.csv --target price --trees 3 --out m.json").works();
        let before = dir.read("t.csv");
        let redirected = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
            .args(["predict", "m.json", "-", "--out", "t.csv"])
            .current_dir(dir.path())
            .stdin(File::open(dir.path().join("t.csv")).unwrap())
            .output()
            .unwrap();
        assert_eq!(redirected.status.code(), Some(2), "{redirected:?}");

        let appended = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
            .args(["predict", "m.json", "t.csv"])
            .current_dir(dir.path())
            .stdout(File::options().append(true).open(dir.path().join("t.csv")).unwrap())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&appended.stderr);
        assert_eq!(appended.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("standard output is redirected to the same file"), "{stderr}");
        assert_eq!(dir.read("t.csv"), before);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::unix::fs::MetadataExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_redirected_standard_output_keeps_its_content() {
        let dir = Scratch::new();
        dir.file("t.csv", regression(20, 1));
        dir.run("train t.csv --target price --trees 3 --out m.json").works();
        let predictions = dir.run("predict m.json t.csv").works().out;
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let path = dir.path().join("log");
            let mut log = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(&path)
                .unwrap();
            let inode = log.metadata().unwrap().ino();
            log.write_all(b"before\n").unwrap();
            let status = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
                .args(["predict", "m.json", "t.csv", "--quiet", "--out", name])
                .current_dir(dir.path())
                .stdout(log.try_clone().unwrap())
                .status()
                .unwrap();
            assert!(status.success());
            // Whoever shares the descriptor goes on behind what was written.
            log.write_all(b"after\n").unwrap();
            let mut text = String::new();
            log.rewind().unwrap();
            log.read_to_string(&mut text).unwrap();
            assert_eq!(text, format!("before\n{predictions}after\n"), "{name}");
            assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode, "{name}");
        }
    }

    #[test]
    fn a_limit_of_the_size_of_files_is_an_error() {
        let dir = Scratch::new();
        dir.file("t.csv", regression(3000, 1));
        dir.run("train t.csv --target price --trees 3 --out m.json").works();
        dir.file("p.csv", "old");
        let before = dir.names();
        let program = env!("CARGO_BIN_EXE_swarmwood");
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -f 8; exec '{program}' predict m.json t.csv --out p.csv"))
            .current_dir(dir.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("p.csv: cannot write: File too large"), "{stderr}");
        assert_eq!(dir.names(), before);
        assert_eq!(dir.read("p.csv"), "old");
    }

    #[test]
    fn a_rewritten_file_keeps_mode_and_owner() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let dir = Scratch::new();
        dir.file("t.csv", regression(20, 1)).file("m.json", "old");
        let path = dir.path().join("m.json");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        // Only an administrator may do this; others keep their own files.
        let _ = chown(&path, Some(12345), Some(54321));
        let owner = |metadata: std::fs::Metadata| (metadata.uid(), metadata.gid(), metadata.mode());
        let before = owner(std::fs::metadata(&path).unwrap());
        dir.run("train t.csv --target price --trees 3 --out m.json").works();
        assert_eq!(owner(std::fs::metadata(&path).unwrap()), before);
        assert_ne!(dir.read("m.json"), "old");
    }
}
