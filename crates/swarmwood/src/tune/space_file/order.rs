//! Parents before children: a space wants every condition to look back.

use super::parameter::ParamEntry;
use crate::error::SpaceFault;
use crate::nearest::nearest;

/// The same parameters, each as early as the file has it but after the one it depends on. A
/// condition on nothing and a circle of conditions are faults.
pub(super) fn parents_first(
    file: &str,
    entries: Vec<ParamEntry>,
) -> Result<Vec<ParamEntry>, Vec<SpaceFault>> {
    let names: Vec<String> = entries.iter().map(|entry| entry.param.name.clone()).collect();
    let parent = |entry: &ParamEntry| {
        entry.param.condition.as_ref().map(|condition| condition.parent.clone())
    };
    let mut faults = Vec::new();
    for entry in &entries {
        if let Some(parent) = parent(entry).filter(|parent| !names.contains(parent)) {
            let others = names.iter().map(String::as_str).filter(|name| *name != entry.param.name);
            let meant = nearest(&parent, others)
                .map_or(String::new(), |near| format!(", perhaps '{near}'"));
            let message = format!("depends on '{parent}', which is no parameter{meant}");
            let fault = SpaceFault::of_parameter(file, entry.line, &entry.param.name, message);
            faults.push(fault.with_key("when"));
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut waiting: Vec<ParamEntry> = entries;
    let mut placed: Vec<ParamEntry> = Vec::new();
    while !waiting.is_empty() {
        let ready = |entry: &ParamEntry| {
            parent(entry)
                .is_none_or(|parent| placed.iter().any(|earlier| earlier.param.name == parent))
        };
        match waiting.iter().position(ready) {
            Some(at) => placed.push(waiting.remove(at)),
            None => return Err(vec![circle(file, &waiting)]),
        }
    }
    Ok(placed)
}

/// Follows parents from the first parameter that cannot be placed until one comes twice.
fn circle(file: &str, waiting: &[ParamEntry]) -> SpaceFault {
    let find = |name: &str| waiting.iter().find(|entry| entry.param.name == name);
    let mut path: Vec<&ParamEntry> = Vec::new();
    let mut next = waiting.first();
    while let Some(entry) = next {
        if let Some(at) = path.iter().position(|earlier| earlier.param.name == entry.param.name) {
            path.drain(..at);
            break;
        }
        path.push(entry);
        next = entry.param.condition.as_ref().and_then(|condition| find(&condition.parent));
    }
    let mut names: Vec<String> =
        path.iter().map(|entry| format!("'{}'", entry.param.name)).collect();
    names.extend(names.first().cloned());
    let (line, name) = path.first().map_or((None, ""), |entry| (entry.line, &entry.param.name));
    let message = format!("depends on itself: {}", names.join(" → "));
    SpaceFault::of_parameter(file, line, name, message).with_key("when")
}
