//! The direction of dependencies: between the crates, and between the modules of a crate.

use super::Fault;
use super::files::{SourceFile, SourceTree};

/// What each crate of the workspace may depend on.
const CRATES: &[(&str, &[&str])] = &[
    ("swarmwood-search", &[]),
    ("swarmwood-model", &[]),
    ("swarmwood-learn", &["swarmwood-search", "swarmwood-model"]),
    ("swarmwood-papers", &["swarmwood-search", "swarmwood-model", "swarmwood-learn"]),
    ("swarmwood", &["swarmwood-search", "swarmwood-model", "swarmwood-learn", "swarmwood-papers"]),
    ("swarmwood-cli", &["swarmwood"]),
    ("swarmwood-python", &["swarmwood", "swarmwood-cli"]),
    ("swarmwood-fuzz", &["swarmwood"]),
    ("swarmwood-pool-model", &[]),
    ("xtask", &[]),
];

/// In a table: all modules that the table does not name.
const OTHERS: &str = "*";

/// The top-level modules of a crate in layers, lowest first.
struct ModuleLayers {
    /// The crate's directory in `crates/`.
    package: &'static str,
    /// A module may import from lower rows only, never from its own row.
    rows: &'static [&'static [&'static str]],
}

/// One table per crate. A crate without a table is not checked.
const MODULES: &[ModuleLayers] = &[
    ModuleLayers {
        package: "swarmwood-search",
        rows: &[
            &["error", "nearest", "normal", "rng"],
            &["point", "latin_hypercube"],
            &["space", "trial"],
            &["options"],
            &["snapshot", "config", "perturbation"],
            &["engine", "position_matrix", "evolutionary_state"],
            &["trial_log"],
            &["contract", "trial_archive", "unseen"],
            &["generational", "steady_state"],
            &["particle_swarm", "sse"],
            &[OTHERS], // the engines
            &["registry"],
        ],
    },
    ModuleLayers {
        package: "swarmwood",
        rows: &[
            &["file_faults", "message"],
            &["error"],
            &["memory", "params", "write"],
            &["read", "registry", "store"],
            &["checkpoint", "column_checks", "export", "monotone", "predict", "profile", "rules"],
            &["effects", "evaluate"],
            &["train"],
            &["compress", "tune"],
        ],
    },
    ModuleLayers {
        package: "swarmwood-model",
        rows: &[
            &["dates", "number_format", "training_stats", "tree"],
            &["calibration", "schema"],
            &["ensemble"],
            &["check", "predict", "text"],
            &["explain", "format", "monotone", "samples", "single_tree"],
            &["rules"],
            &["picture"],
            &["export"],
        ],
    },
    ModuleLayers {
        package: "swarmwood-learn",
        rows: &[
            &["budget", "data", "event", "execution", "pool", "fold_split", "isotonic", "rule"],
            &["given_splits"],
            &["constraints", "context"],
            &["plan"],
            &["task_batches"],
            &["bins"],
            &["dataset", "rank_table"],
            &["leaf_loss"],
            &["kernels"],
            &["objective"],
            &["metric"],
            &["split", "binned_tree", "ensemble_fit", "rank_tree", "threshold_scan"],
            &["ridge"],
            &["stats"],
            &["greedy", "linear", "cart"],
            &["feature_selection"],
            &["ensemble", "tree_search"],
            &["tree_sum"],
        ],
    },
    ModuleLayers {
        package: "swarmwood-papers",
        rows: &[
            &["test_context"],
            &["class_fitness", "engine_loop", "rule_table"],
            &["full_tree", "particle", "policy_gradient", "threshold_grid"],
            &["swarm_boosting"],
        ],
    },
    ModuleLayers {
        package: "swarmwood-cli",
        rows: &[
            &["console", "files", "format", "interrupt", "json", "memory", "trace"],
            &["chart", "flags", "help"],
            &["calibration", "inputs", "interactions", "presets", "scoring", "training_chart"],
            &["evaluate", "export", "inspect", "predict", "rules", "study", "train", "tune"],
            &["compress", "report"],
            &["cli"],
        ],
    },
    ModuleLayers {
        package: "swarmwood-python",
        rows: &[
            &["arrow", "buffer", "names"],
            &["errors", "sparse"],
            &[
                "command_line",
                "custom_loss",
                "parameters",
                "point_dict",
                "row_scorer",
                "search_report",
                "signals",
                "table",
            ],
            &["cluster", "custom_metric", "engine", "prediction_buffer", "study", "tasks"],
            &["model"],
            &["effects", "plot_data", "training"],
            &["compression", "panic_injection"],
        ],
    },
];

/// Dependencies between the workspace's crates, development dependencies included, must be in the
/// table.
pub fn between_crates(tree: &SourceTree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let Some(package) = package_name(&file.text) else { continue };
        let Some((_, allowed)) = CRATES.iter().find(|(name, _)| *name == package) else {
            faults.push(Fault::new(
                &file.path,
                None,
                format!("crate '{package}' is not in the table CRATES; add it"),
            ));
            continue;
        };
        for (line, dependency) in dependencies(&file.text) {
            let ours = CRATES.iter().any(|(name, _)| *name == dependency);
            if ours && !allowed.contains(&dependency) {
                faults.push(Fault::new(
                    &file.path,
                    line,
                    format!("forbidden arrow {package} → {dependency}"),
                ));
            }
        }
    }
    faults
}

fn package_name(manifest: &str) -> Option<&str> {
    let (_, package) = manifest.split_once("[package]")?;
    let line = package.lines().find(|line| line.trim_start().starts_with("name"))?;
    line.split('"').nth(1)
}

/// The names in every section whose title ends in `dependencies`, and titles such as
/// `[dependencies.name]`.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    let mut inside = false;
    for (i, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(title) = line.strip_prefix('[') {
            let title = title.trim_end_matches(']');
            inside = title.ends_with("dependencies");
            if let Some((_, name)) = title.rsplit_once("dependencies.") {
                names.push((i + 1, name.trim_matches('"')));
            }
        } else if inside && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if !name.is_empty() {
                names.push((i + 1, name.trim_matches('"')));
            }
        }
    }
    names
}

/// Every path `crate::module` or `super::module` in a crate with a table must point down the table.
pub fn between_modules(tree: &SourceTree) -> Vec<Fault> {
    MODULES.iter().flat_map(|layers| inside_crate(tree, layers)).collect()
}

fn inside_crate(tree: &SourceTree, layers: &ModuleLayers) -> Vec<Fault> {
    let root = format!("crates/{}/src/", layers.package);
    let label = layers.package.trim_start_matches("swarmwood-");
    let reexports = tree.file(&format!("{root}lib.rs")).map(reexports).unwrap_or_default();

    let mut faults = Vec::new();
    let mut unknown: Vec<&str> = Vec::new();
    for file in tree.sources() {
        let Some(path) = file.path.strip_prefix(&root) else { continue };
        if path == "lib.rs" || path == "main.rs" {
            continue;
        }

        let from = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let Some(height) = layers.row_of_module(from) else {
            if !unknown.contains(&from) {
                unknown.push(from);
                let message = format!("module '{from}' is not in the table MODULES; add it");
                faults.push(Fault::new(&file.path, None, message));
            }
            continue;
        };

        for (line, name) in imports(file, path) {
            // `crate::Name` is an import from the module that the crate's root re-exports it from.
            let reexported = reexports.iter().find(|(item, _)| *item == name);
            let to = reexported.map_or(name, |(_, module)| module);
            let is_module = |to: &str| {
                let files = [format!("{root}{to}.rs"), format!("{root}{to}/mod.rs")];
                files.iter().any(|path| tree.file(path).is_some())
            };
            // A name that is neither in the table nor a module, such as a macro, has no row.
            let row = layers
                .row_of(to)
                .or_else(|| if is_module(to) { layers.row_of_module(to) } else { None });
            let downwards = row.is_none_or(|other| other < height);
            if to != from && !downwards {
                let message = format!("forbidden arrow {label}::{from} → {label}::{to}");
                faults.push(Fault::new(&file.path, line, message));
            }
        }
    }
    faults
}

impl ModuleLayers {
    fn row_of(&self, module: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.contains(&module))
    }

    /// The row of a module, which may be among the [`OTHERS`].
    fn row_of_module(&self, module: &str) -> Option<usize> {
        self.row_of(module).or_else(|| self.row_of(OTHERS))
    }
}

/// What the root of a crate re-exports: names of items and the modules they come from.
fn reexports(root: &SourceFile) -> Vec<(String, String)> {
    let code: Vec<&str> = root.code().map(|(_, code)| code.trim()).collect();
    let code = code.join(" ");
    let mut items_and_modules = Vec::new();
    for statement in code.split(';') {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let path = path.trim().trim_start_matches("crate::");
        let Some((module, items)) = path.split_once("::") else { continue };

        let list = items.split_once('{').map_or(items, |(_, list)| list.trim_end_matches('}'));
        for item in list.split(',').map(str::trim) {
            // The last word of `a::B` and of `B as C` is the name in the root.
            let name = item.rsplit([' ', ':']).next().unwrap_or_default();
            items_and_modules.push((name.to_owned(), module.to_owned()));
        }
    }
    items_and_modules
}

/// The names right below the crate's root that a file uses. A file `a/b.rs` is the module `a::b`,
/// so that two `super` lead from it to the root.
fn imports<'a>(file: &'a SourceFile, path: &str) -> Vec<(usize, &'a str)> {
    let depth = path.trim_end_matches("/mod.rs").matches('/').count() + 1;
    let supers = "super::".repeat(depth);
    let mut names = Vec::new();
    let mut group = false;
    for (line, code) in file.code() {
        // The rest of a `use crate::{` that goes over several lines: every item at its top level
        // starts a line.
        if group {
            names.extend(first_name(code.trim_start()).map(|name| (line, name)));
            group = !code.contains("};");
        }

        let roots = ["crate::", supers.as_str()];
        for (at, root) in roots.iter().flat_map(|root| code.match_indices(root)) {
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                Some(list) => {
                    let items = top_level_items(list.split("};").next().unwrap_or_default());
                    names.extend(items.into_iter().filter_map(first_name).map(|name| (line, name)));
                    group = !list.contains("};");
                }
                None => names.extend(first_name(rest).map(|name| (line, name))),
            }
        }
    }
    names
}

fn first_name(path: &str) -> Option<&str> {
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    (end > 0).then(|| &path[..end])
}

/// Splits `a::{b, c}, d` at the commas outside of braces.
fn top_level_items(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut start = 0;
    let mut items = Vec::new();
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
            }
            _ => (),
        }
    }

    items.push(list[start..].trim());
    items
}
