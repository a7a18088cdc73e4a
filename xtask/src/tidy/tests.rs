//! Every rule reports a planted fault and accepts correct code.

use super::files::SourceFile;
use super::*;

fn tree(files: &[(&str, &str)]) -> SourceTree {
    let file =
        |(path, text): &(&str, &str)| SourceFile { path: path.to_string(), text: text.to_string() };
    SourceTree { files: files.iter().map(file).collect() }
}

fn faults_of(rule: TidyRule, files: &[(&str, &str)]) -> Vec<String> {
    rule(&tree(files)).iter().map(Fault::to_string).collect()
}

#[test]
fn the_workspace_is_tidy() {
    let tree = SourceTree::of_workspace().unwrap();
    let faults: Vec<String> = faults(&tree).unwrap().iter().map(Fault::to_string).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn crates_with_other_features_are_reported() {
    let workspace = "a v1: std\nb v2: default,std (*)\na v1: std (*)\n\nc v1: \n";
    let reported = |wheel: &str| {
        features::compiled_twice(wheel, workspace).iter().map(Fault::to_string).collect::<Vec<_>>()
    };
    assert_eq!(reported("b v2: default,std\na v1: std\nc v1: \n"), [""; 0]);
    let manifest = "crates/swarmwood-python/Cargo.toml";
    let fault = |line: &str| {
        format!(
            "{manifest}: '{line}' is compiled for the wheel alone; fix the feature as-in-workspace"
        )
    };
    assert_eq!(
        reported("b v2: std\nb v2: std (*)\na v1: std\nd v1: \n"),
        [fault("b v2: std"), fault("d v1: ")]
    );
}

#[test]
fn arrows_between_crates_point_down() {
    let model = "[package]\nname = \"swarmwood-model\"\n[dependencies]\nserde.workspace = true\nswarmwood-learn.workspace = true\n";
    let cli = "[package]\nname = \"swarmwood-cli\"\n[dependencies]\nswarmwood = { workspace = true }\n\
               [dev-dependencies]\nswarmwood-model = \"1\"\n[target.'cfg(unix)'.dependencies.swarmwood-python]\n";
    let new = "[package]\nname = \"swarmwood-extra\"\n";
    let files = [("a/Cargo.toml", model), ("b/Cargo.toml", cli), ("c/Cargo.toml", new)];
    assert_eq!(
        faults_of(layers::between_crates, &files),
        [
            "a/Cargo.toml:5: forbidden arrow swarmwood-model → swarmwood-learn",
            "b/Cargo.toml:6: forbidden arrow swarmwood-cli → swarmwood-model",
            "b/Cargo.toml:7: forbidden arrow swarmwood-cli → swarmwood-python",
            "c/Cargo.toml: crate 'swarmwood-extra' is not in the table CRATES; add it",
        ]
    );
}

#[test]
fn arrows_between_modules_point_down() {
    let path = |name: &str| format!("crates/swarmwood-learn/src/{name}");
    let check = |name: &str, text: &str| faults_of(layers::between_modules, &[(&path(name), text)]);
    for (name, text) in [
        ("split.rs", "use crate::bins::Bins;\nuse crate::data::{Chunk, Column};\n"),
        ("split/gain.rs", "use super::Sums; use crate::split::x; use super::super::bins::Edges;"),
        ("split.rs", "// use crate::greedy::Grow; says a comment\nuse super::data;"),
        ("data.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::greedy::Grow;\n}\n"),
        ("data/tests.rs", "use crate::greedy::Grow;"),
        ("lib.rs", "pub use crate::greedy::Grow;"),
        ("greedy/grow.rs", "use crate::{\n    bins::{Bins, Edges},\n    stats::Work,\n};"),
    ] {
        assert_eq!(check(name, text), [""; 0], "{name}: {text}");
    }
    for (name, text, arrow) in [
        ("data.rs", "use crate::bins::Bins;", "1: forbidden arrow learn::data → learn::bins"),
        ("data.rs", "use super::bins;", "1: forbidden arrow learn::data → learn::bins"),
        ("data/mod.rs", "use super::bins;", "1: forbidden arrow learn::data → learn::bins"),
        ("data/fold.rs", "use super::super::bins;", "1: forbidden arrow learn::data → learn::bins"),
        (
            "objective/logistic.rs",
            "let x = crate::metric::f();",
            "1: forbidden arrow learn::objective → learn::metric",
        ),
        (
            "bins.rs",
            "use crate::{data::Chunk, stats::Shard};",
            "1: forbidden arrow learn::bins → learn::stats",
        ),
        (
            "bins.rs",
            "use crate::{\n    data::Chunk,\n    stats::Shard,\n};",
            "3: forbidden arrow learn::bins → learn::stats",
        ),
        (
            "linear.rs",
            "use crate::greedy::Grow;",
            "1: forbidden arrow learn::linear → learn::greedy",
        ),
    ] {
        assert_eq!(check(name, text), [format!("{}:{arrow}", path(name))], "{text}");
    }
    assert_eq!(check("sorcery.rs", "").len(), 1);
}

/// Modules that a table does not name share the row of `OTHERS`.
#[test]
fn unnamed_modules_share_a_row() {
    let path = |name: &str| format!("crates/swarmwood-search/src/{name}");
    let check = |name: &str, text: &str| {
        let files = [(path(name), text), (path("new_engine.rs"), "")];
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        faults_of(layers::between_modules, &files)
    };
    assert_eq!(check("tpe.rs", "use crate::space::Space; use crate::not_a_module;"), [""; 0]);
    assert_eq!(check("registry.rs", "use crate::new_engine::SPEC;"), [""; 0]);
    for (name, text, arrow) in [
        ("tpe.rs", "use crate::new_engine::SPEC;", "search::tpe → search::new_engine"),
        ("space.rs", "use crate::new_engine::SPEC;", "search::space → search::new_engine"),
        ("tpe.rs", "use crate::registry::ENGINES;", "search::tpe → search::registry"),
    ] {
        assert_eq!(check(name, text), [format!("{}:1: forbidden arrow {arrow}", path(name))]);
    }
}

/// A name that the root of a crate re-exports counts as an import from its module.
#[test]
fn arrows_through_the_root_of_a_crate_are_reported() {
    let root = "pub mod data;\npub use greedy::{Config as GreedyConfig,\n    Grow};\npub use bins::Bins;\n";
    let check = |name: &str, text: &str| {
        let path = format!("crates/swarmwood-learn/src/{name}");
        faults_of(
            layers::between_modules,
            &[("crates/swarmwood-learn/src/lib.rs", root), (&path, text)],
        )
    };
    assert_eq!(check("greedy.rs", "use crate::Bins; use crate::Grow;"), [""; 0]);
    for (name, text) in [
        ("data.rs", "use crate::Grow;"),
        ("data.rs", "use crate::{Bins, x};"),
        ("data/fold.rs", "fn f(config: &super::super::GreedyConfig) {}"),
        ("data/fold/deep.rs", "use super::super::super::greedy::Grow;"),
    ] {
        assert_eq!(check(name, text).len(), 1, "{name}: {text}");
    }
}

#[test]
fn generic_names_long_files_and_machine_paths_are_reported() {
    assert_eq!(
        faults_of(
            names::file_names,
            &[("a/utils.rs", ""), ("a/core/x.rs", ""), ("a/score.rs", "")]
        )
        .len(),
        2
    );
    let long = "fn f() {}\n".repeat(701);
    let tested = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
    let files = [
        ("crates/a/src/x.rs", long.as_str()),
        ("crates/a/src/y.rs", &tested),
        ("crates/a/tests/z.rs", &long),
    ];
    assert_eq!(faults_of(names::file_lengths, &files).len(), 1);
    let traces = [
        ("a.md", "see /home/ann/x\nand ./work/x, target/tmp/y"),
        ("b.rs", "\"/tmp/x\""),
        ("c.py", "http://127.0.0.1:80"),
        ("d.md", "the URL https://example.org/home/x"),
    ];
    let faults = faults_of(names::machine_traces, &traces);
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert!(faults[0].starts_with("a.md:1: "));
}

#[test]
fn long_functions_are_reported() {
    let body = "        step();\n".repeat(79);
    let text = format!(
        "trait T {{\n    fn declared(&self);\n    fn short(&self) {{ step() }}\n    fn fits(\n        &self,\n    ) {{\n{}    }}\n\
         }}\nimpl X {{\n    pub(crate) const fn long<T>() {{\n{body}    }}\n}}\n",
        &body[..body.len() / 79 * 76]
    );
    let faults = faults_of(functions::function_lengths, &[("crates/a/src/x.rs", &text)]);
    assert_eq!(
        faults,
        ["crates/a/src/x.rs:86: function 'long' has 81 lines, at most 80; extract a step"]
    );
}

#[test]
fn unguarded_python_calls_are_reported() {
    let text = "#[pyfunction]\n#[pyo3(signature = (a))]\npub fn bare(a: u8) -> u8 {\n    a + 1\n}\n\n\
                #[pyfunction]\nfn safe() -> PyResult<u8> {\n    guarded(|| Ok(1))\n}\n\n\
                fn inner() {}\n\n\
                #[pymethods]\nimpl Model {\n    #[getter]\n    fn name(&self) -> u8 {\n        1\n    }\n\n    \
                /// Doc.\n    fn method(&self) -> u8 {\n        2\n    }\n}\n\n\
                impl Model {\n    fn helper(&self) {\n        work()\n    }\n}\n";
    let reported =
        faults_of(border::python_calls_are_guarded, &[("crates/swarmwood-python/src/a.rs", text)]);
    let fault = |line, name| {
        format!(
            "crates/swarmwood-python/src/a.rs:{line}: Python calls '{name}', which is not guarded against panics"
        )
    };
    assert_eq!(reported, [fault(3, "bare"), fault(22, "method")]);
    assert_eq!(
        faults_of(border::python_calls_are_guarded, &[("crates/swarmwood/src/a.rs", text)]),
        [""; 0]
    );
}

#[test]
fn forbidden_words_are_reported() {
    let cases = [
        ("crates/swarmwood/src/a.rs", "println!(\"x\");", 1),
        ("crates/swarmwood/src/a.rs", "sprintln!(\"x\"); // println!", 0),
        ("crates/swarmwood-cli/src/main.rs", "println!(\"x\");", 0),
        ("crates/swarmwood-learn/src/greedy/a.rs", "use rayon::prelude::*;", 1),
        ("crates/swarmwood-learn/src/pool.rs", "std::thread::Builder::new()", 0),
        ("crates/swarmwood-model/src/tree.rs", "#[derive(serde::Serialize)]", 1),
        ("crates/swarmwood-model/src/format/native.rs", "#[derive(serde::Serialize)]", 0),
        ("crates/swarmwood-search/src/tpe.rs", "let start = Instant::now();", 1),
        ("crates/swarmwood-learn/src/kernels/avx2.rs", "unsafe { load(p) }", 0),
        ("crates/swarmwood-learn/src/bins.rs", "unsafe { load(p) }", 1),
        ("crates/swarmwood-learn/src/bins.rs", "std::fs::read(p)", 1),
        ("crates/swarmwood-learn/tests/a.rs", "std::fs::read(p); println!()", 0),
        ("crates/swarmwood/src/a.rs", "fn f() { todo!() }", 1),
        ("crates/swarmwood/src/a.rs", "let x = y.unwrap();", 1),
        ("crates/swarmwood/src/a.rs", "let x = y.unwrap_or(1);\n    /// let x = y.unwrap();", 0),
        ("crates/swarmwood/src/a.rs", "#[cfg(test)]\nmod tests {\n    let x = y.unwrap();\n}", 0),
    ];
    for (path, text, count) in cases {
        assert_eq!(
            faults_of(source::forbidden_words, &[(path, text)]).len(),
            count,
            "{path}: {text}"
        );
    }
}

#[test]
fn dead_links_and_paths_are_reported() {
    let text = "[a](docs/a.md#part) [b](docs/b.md) [c](https://example.org) [d](#here)\n\
                `crates/x/src/lib.rs` `crates/y/src/lib.rs` `crates/*/src` `bench/runs/<date>` `cargo test`\n\
                ```\n[e](nowhere.md) `crates/z`\n```\n";
    let nested = "[up](../README.md) [beside](a.md) [lost](../a.md)";
    let files = [("README.md", text), ("docs/a.md", nested), ("crates/x/src/lib.rs", "")];
    assert_eq!(
        faults_of(links::links_exist, &files),
        [
            "README.md:1: link to 'docs/b.md', which does not exist",
            "README.md:2: names 'crates/y/src/lib.rs', which does not exist",
            "docs/a.md:1: link to '../a.md', which does not exist",
        ]
    );
    assert_eq!(
        faults_of(links::architecture_is_short, &[("ARCHITECTURE.md", &"x\n".repeat(301))]).len(),
        1
    );
    assert_eq!(
        faults_of(links::architecture_is_short, &[("ARCHITECTURE.md", &"x\n".repeat(300))]).len(),
        0
    );
}

#[test]
fn dialect_is_reported() {
    let files = [
        ("a.md", "Its Manners are those of the house.\nA mannerism."),
        ("b.rs", "let desk_size = 3; // grown  by greed"),
        ("c.rs", "let deskew = by_greedy();"),
        ("bench/runs/d.md", "the crew"),
    ];
    assert_eq!(
        faults_of(vocabulary::no_dialect, &files),
        [
            "a.md:1: 'manners' is dialect; say 'conventions'",
            "b.rs:1: 'by greed' is dialect; say 'greedily'",
            "b.rs:1: 'desk' is dialect; say 'queue'",
        ]
    );
}

#[test]
fn repeated_type_names_are_reported() {
    let files = [
        ("crates/a/src/x.rs", "pub struct Node<T> {\n}\nenum Side {}\n// struct Side;\n"),
        ("crates/a/src/y.rs", "pub(crate) trait Node {\n    struct_like();\n}\n"),
        ("crates/a/src/tests.rs", "struct Side;\n"),
        ("crates/b/src/x.rs", "struct Node;\n#[cfg(test)]\nmod tests {\nstruct Node;\n}\n"),
    ];
    assert_eq!(
        faults_of(vocabulary::type_names_are_unique, &files),
        ["crates/a/src/y.rs:1: type 'Node' is defined in crates/a/src/x.rs, too; rename one"]
    );
}

#[test]
fn packages_beyond_the_budget_and_from_elsewhere_are_reported() {
    let registry = "[[package]]\nname = \"a\"\nsource = \"registry+https://r\"\n";
    let own = "[[package]]\nname = \"swarmwood\"\n";
    let rule = dependencies::packages_are_budgeted;
    assert_eq!(faults_of(rule, &[("Cargo.lock", &[own, registry].concat())]), [""; 0]);

    let git = "[[package]]\nname = \"b\"\nsource = \"git+https://g\"\n";
    let reported = faults_of(rule, &[("Cargo.lock", &[own, git].concat())]);
    let fault = "a package comes from \"git+https://g\"; use a released version";
    assert_eq!(reported, [format!("Cargo.lock:5: {fault}")]);

    let many = faults_of(rule, &[("Cargo.lock", &registry.repeat(1000))]);
    assert!(many[0].contains("1000 packages, but the budget is"), "{many:?}");
}
