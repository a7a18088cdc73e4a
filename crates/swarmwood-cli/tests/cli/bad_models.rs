//! Model files that cannot be used.

use crate::scratch::Scratch;
use crate::tables::classes;

fn with_model() -> Scratch {
    let dir = Scratch::new();
    dir.file("t.csv", classes(200, 1));
    dir.run("train t.csv --target colour --trees 3 --out m.json").works();
    dir
}

#[test]
fn truncated_models_are_refused_wherever_they_end() {
    let dir = with_model();
    let model = dir.read("m.json");
    for part in [0, 1, model.len() / 3, model.len() / 2, model.trim_end().len() - 1] {
        dir.file("cut.json", &model[..part]);
        dir.fails("predict cut.json t.csv --out p.csv", 2, &["cut.json"]);
    }
    dir.file("cut.json", &model[..model.len() / 2]);
    dir.fails("inspect cut.json", 2, &["cut.json"]);
    dir.fails("evaluate cut.json t.csv", 2, &["cut.json"]);
}

#[test]
fn a_newer_version_is_named() {
    let dir = with_model();
    let model = dir.read("m.json");
    let newer = model.replacen("\"version\":3", "\"version\":999", 1);
    assert_ne!(newer, model, "the header has the version of the format");
    dir.file("newer.json", newer);
    dir.fails(
        "predict newer.json t.csv --out p.csv",
        2,
        &["newer.json", "999", "update swarmwood"],
    );
}

#[test]
fn other_files_are_refused() {
    let dir = with_model();
    dir.file("list.json", "[1, 2, 3]")
        .file("object.json", "{}")
        .file("bytes.json", [0xff, 0x00, 0x80]);
    for name in ["t.csv", "list.json", "object.json", "bytes.json"] {
        dir.fails(&format!("predict {name} t.csv --out p.csv"), 2, &[name]);
    }
}
