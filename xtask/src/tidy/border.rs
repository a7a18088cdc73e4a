//! Functions that Python calls: a panic in them must become an exception.

use super::Fault;
use super::files::{SourceFile, SourceTree};
use super::functions::{FunctionSpan, functions};

/// The crate that Python calls.
const CRATE: &str = "crates/swarmwood-python/src/";

/// Every function and method that Python can call runs inside `guarded`. Getters only return stored
/// values and are exempt.
pub fn python_calls_are_guarded(tree: &SourceTree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.sources().filter(|file| file.path.starts_with(CRATE)) {
        for function in functions(file).iter().filter(|function| is_called(file, function)) {
            let mut body = file.text.lines().skip(function.line - 1).take(function.length);
            if !body.any(|line| line.contains("guarded(")) {
                let message = format!(
                    "Python calls '{}', which is not guarded against panics",
                    function.name
                );
                faults.push(Fault::new(&file.path, function.line, message));
            }
        }
    }
    faults
}

/// Whether Python calls a function, by the attributes of the function and of its block.
fn is_called(file: &SourceFile, function: &FunctionSpan<'_>) -> bool {
    let above: Vec<&str> = file.text.lines().take(function.line - 1).collect();
    let own = |line: &&&str| ["#", "///"].iter().any(|start| line.trim_start().starts_with(start));
    let attributes: Vec<&str> =
        above.iter().rev().take_while(own).map(|line| line.trim()).collect();
    let block = above.iter().rposition(|line| line.starts_with("impl "));
    let is_method = block.is_some_and(|at| {
        let open = !above[at..].contains(&"}");
        open && at > 0 && above[at - 1] == "#[pymethods]"
    });
    attributes.contains(&"#[pyfunction]") || (is_method && !attributes.contains(&"#[getter]"))
}
