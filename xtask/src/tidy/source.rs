//! Words that only some modules may use: printing, threads, files, clocks, serialisation, `unsafe`.

use super::Fault;
use super::files::SourceTree;

/// Words, the paths where they are forbidden, and the reason.
struct ForbiddenWords {
    words: &'static [&'static str],
    /// Checked paths (prefixes).
    within: &'static [&'static str],
    /// Exempt paths (prefixes).
    except: &'static [&'static str],
    reason: &'static str,
}

const RULES: &[ForbiddenWords] = &[
    ForbiddenWords {
        words: &["println!", "eprintln!", "print!", "eprint!", "dbg!"],
        within: &["crates/"],
        except: &["crates/swarmwood-cli/", "crates/swarmwood-python/"],
        reason: "only fronts print (I3); return events or warnings to the caller",
    },
    ForbiddenWords {
        words: &["thread::spawn", "thread::scope", "thread::Builder", "rayon"],
        within: &["crates/"],
        except: &["crates/swarmwood-learn/src/pool.rs", "crates/swarmwood-learn/src/plan/queue.rs"],
        reason: "only learn::pool and learn::plan start threads (I3)",
    },
    ForbiddenWords {
        words: &["std::fs", "std::net", "std::process", "File::"],
        within: &["crates/swarmwood-search/", "crates/swarmwood-model/", "crates/swarmwood-learn/"],
        except: &[],
        reason: "only readers, writers and fronts touch files (I3)",
    },
    ForbiddenWords {
        words: &["std::time", "Instant::", "SystemTime"],
        within: &["crates/swarmwood-search/", "crates/swarmwood-model/"],
        except: &[],
        reason: "an engine sees no clock (I1) and a model needs none (I5)",
    },
    ForbiddenWords {
        words: &["serde"],
        within: &["crates/swarmwood-model/src/"],
        except: &["crates/swarmwood-model/src/format", "crates/swarmwood-model/src/export/"],
        reason: "a model is a value; its formats are separate (I5)",
    },
    ForbiddenWords {
        words: &["serde", "thread_rng", "from_os_rng", "RandomState"],
        within: &["crates/swarmwood-search/"],
        except: &[],
        reason: "engines are plain data and take their randomness from the seed (I8)",
    },
    ForbiddenWords {
        words: &["unsafe "],
        within: &["crates/"],
        except: &[
            "crates/swarmwood-learn/src/kernels",
            "crates/swarmwood-learn/src/pool.rs",
            "crates/swarmwood-model/src/predict/kernels",
            "crates/swarmwood-python/src/arrow/",
            "crates/swarmwood-python/src/buffer.rs",
        ],
        reason: "unsafe code is only in the kernels, the pool and the readers of Python's memory, each use with \
                 its reason",
    },
    ForbiddenWords {
        words: &[".unwrap()", "panic!"],
        within: &["crates/"],
        except: &[],
        reason: "no panic may reach a user; return an error, or `expect` with the invariant that rules it out",
    },
    ForbiddenWords {
        words: &["todo!", "unimplemented!"],
        within: &["crates/", "xtask/"],
        except: &["xtask/src/tidy/source.rs"],
        reason: "finish it or leave it out",
    },
];

/// No forbidden word in code. Tests are exempt.
pub fn forbidden_words(tree: &SourceTree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for rule in RULES {
        let under =
            |path: &str, prefixes: &[&str]| prefixes.iter().any(|prefix| path.starts_with(prefix));
        let files = tree
            .sources()
            .filter(|file| under(&file.path, rule.within) && !under(&file.path, rule.except));
        for file in files {
            for (line, code) in file.code() {
                if let Some(word) = rule.words.iter().find(|word| has_word(code, word)) {
                    faults.push(Fault::new(
                        &file.path,
                        line,
                        format!("`{}` is forbidden here: {}", word.trim(), rule.reason),
                    ));
                }
            }
        }
    }
    faults
}

/// Whether the code contains the word, not as the end of a longer one.
fn has_word(code: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .any(|(at, _)| !word.starts_with(is_letter) || !code[..at].ends_with(is_letter))
}
