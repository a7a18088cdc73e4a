//! Words that only some modules may use: printing, threads, files, clocks, serialisation, `unsafe`.

use super::Fault;
use super::files::Tree;

/// Words, where they may stand, and why nowhere else.
struct Ban {
    words: &'static [&'static str],
    /// Paths (prefixes) the rule looks at.
    within: &'static [&'static str],
    /// Paths (prefixes) it leaves out.
    except: &'static [&'static str],
    reason: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        words: &["println!", "eprintln!", "print!", "eprint!", "dbg!"],
        within: &["crates/"],
        except: &["crates/swarmwood-cli/", "crates/swarmwood-python/"],
        reason: "only fronts print (I3); hand events or warnings to the caller",
    },
    Ban {
        words: &["thread::spawn", "thread::scope", "thread::Builder", "rayon"],
        within: &["crates/"],
        except: &["crates/swarmwood-learn/src/pool.rs", "crates/swarmwood-learn/src/plan/queue.rs"],
        reason: "only learn::pool and learn::plan start threads (I3)",
    },
    Ban {
        words: &["std::fs", "std::net", "std::process", "File::"],
        within: &["crates/swarmwood-search/", "crates/swarmwood-model/", "crates/swarmwood-learn/"],
        except: &[],
        reason: "only readers, writers and fronts touch files (I3)",
    },
    Ban {
        words: &["std::time", "Instant::", "SystemTime"],
        within: &["crates/swarmwood-search/", "crates/swarmwood-model/"],
        except: &[],
        reason: "an engine sees no clock (I1) and a model needs none (I5)",
    },
    Ban {
        words: &["serde"],
        within: &["crates/swarmwood-model/src/"],
        except: &["crates/swarmwood-model/src/format", "crates/swarmwood-model/src/export/"],
        reason: "a model is a value; its formats are separate (I5)",
    },
    Ban {
        words: &["serde", "thread_rng", "from_os_rng", "RandomState"],
        within: &["crates/swarmwood-search/"],
        except: &[],
        reason: "engines are plain data and take their randomness from the seed (I8)",
    },
    Ban {
        words: &["unsafe "],
        within: &["crates/"],
        except: &[
            "crates/swarmwood-learn/src/kernels",
            "crates/swarmwood-learn/src/pool.rs",
            "crates/swarmwood-model/src/predict/kernels",
            "crates/swarmwood-python/src/arrow/",
            "crates/swarmwood-python/src/buffer.rs",
        ],
        reason: "unsafe code lives in the kernels, the pool and the readers of Python's memory alone, each use with its \
                 reason",
    },
    Ban {
        words: &[".unwrap()", "panic!"],
        within: &["crates/"],
        except: &[],
        reason: "no panic may reach a user; return an error, or `expect` with the invariant that rules it out",
    },
    Ban {
        words: &["todo!", "unimplemented!"],
        within: &["crates/", "xtask/"],
        except: &["xtask/src/tidy/source.rs"],
        reason: "finish it or leave it out",
    },
];

/// No banned word in code outside of its place. Tests are free.
pub fn forbidden_words(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for ban in BANS {
        let under =
            |path: &str, prefixes: &[&str]| prefixes.iter().any(|prefix| path.starts_with(prefix));
        let files = tree
            .sources()
            .filter(|file| under(&file.path, ban.within) && !under(&file.path, ban.except));
        for file in files {
            for (line, code) in file.code() {
                if let Some(word) = ban.words.iter().find(|word| has_word(code, word)) {
                    faults.push(Fault::new(
                        &file.path,
                        line,
                        format!("`{}` here: {}", word.trim(), ban.reason),
                    ));
                }
            }
        }
    }
    faults
}

/// Whether the word stands in the code, not as the end of a longer one.
fn has_word(code: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .any(|(at, _)| !word.starts_with(is_letter) || !code[..at].ends_with(is_letter))
}
