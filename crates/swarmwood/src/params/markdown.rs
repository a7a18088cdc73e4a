//! Writes `docs/parameters.md` from the table.

use std::fmt::Write;

use super::spec::{AllowedValues, ParamGroup, ParamSpec};
use super::table::TABLE;

const INTRODUCTION: &str = "\
# Parameters

<!-- Generated from the parameter table in crates/swarmwood/src/params/table.rs by `cargo xtask generate`. -->

Every parameter is a flag of `swarmwood train` (`--learning-rate 0.05`) and a key of the file given with `--config`
(`learning_rate = 0.05`, TOML). In both, `-` and `_` are the same, other names are understood too, and a flag wins over
the file. Values are checked before any data is read, and all that is wrong is reported together.
";

/// The text of `docs/parameters.md`.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_string();
    for &group in ParamGroup::ALL {
        section(&mut page, group);
    }
    page
}

/// The default, and in brackets where a method has another one.
fn default(spec: &ParamSpec) -> String {
    let (all, first) = (spec.defaults_text(), spec.default_text());
    format!("`{first}`{}", all.strip_prefix(&first).unwrap_or_default())
}

fn section(page: &mut String, group: ParamGroup) {
    let specs: Vec<&ParamSpec> = TABLE.iter().filter(|spec| spec.group == group).collect();
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "\n## {}\n\n| name | default | allowed | what it is |\n|---|---|---|---|\n",
        group.title()
    );
    for spec in &specs {
        let allowed = match spec.allowed {
            AllowedValues::Choices(_) => "see below".to_string(),
            allowed => allowed.to_string(),
        };
        let mut about = spec.help.to_string();
        let conditions = spec.only.iter().map(ToString::to_string);
        let only: Vec<String> = spec.methods_text().into_iter().chain(conditions).collect();
        if !only.is_empty() {
            let _ = write!(about, " (only with {})", only.join(", "));
        }
        if !spec.aliases.is_empty() {
            let aliases: Vec<String> =
                spec.aliases.iter().map(|alias| format!("`{alias}`")).collect();
            let _ = write!(about, "; also called {}", aliases.join(", "));
        }
        let _ = writeln!(page, "| `{}` | {} | {allowed} | {about} |", spec.name, default(spec));
    }
    for spec in specs {
        if let AllowedValues::Choices(choices) = spec.allowed {
            let _ = write!(page, "\n`{}` is one of\n\n", spec.name);
            for choice in choices {
                let _ = writeln!(page, "- `{}`: {}", choice.name, choice.help);
            }
        }
    }
}
