//! A command with places for values.
//!
//! The text is split into words first and values are put in afterwards, so a value is always part
//! of one word, whatever characters it has. A parameter without a value takes its word away, and
//! the flag before it: `--depth {depth}` is gone where there is no depth.

use serde_json::Value as Json;
use swarmwood_search::{PointValue, Space};

use crate::nearest::nearest;
use crate::tune::named;
use crate::tune::objective::Proposal;

/// The words of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Template {
    words: Vec<Vec<WordPart>>,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq)]
enum WordPart {
    Text(String),
    Parameter(usize),
    Trial,
    Everything,
}

const TRIAL: &str = "trial";
const EVERYTHING: &str = "params_json";

impl Template {
    /// The words of a text, or all that is wrong with it.
    pub fn parse(text: &str, space: &Space) -> Result<Template, Vec<String>> {
        let words = split(text).map_err(|fault| vec![fault])?;
        if words.is_empty() {
            return Err(vec!["is empty, must name a program".to_string()]);
        }
        let mut faults = Vec::new();
        let words: Vec<Vec<WordPart>> =
            words.iter().map(|word| parts(word, space, &mut faults)).collect();
        let has = |part: &WordPart| words.iter().flatten().any(|other| other == part);
        // A name that is not known may be a parameter that is missing: reported once.
        if faults.is_empty() && !has(&WordPart::Everything) {
            let missing =
                space.params().iter().enumerate().filter(|(at, _)| !has(&WordPart::Parameter(*at)));
            faults.extend(missing.map(|(_, param)| {
                let name = &param.name;
                let help = format!("write {{{name}}} where its value belongs, or {{{EVERYTHING}}}");
                format!("parameter '{name}' of the space has no place in it; {help}")
            }));
        }
        if faults.is_empty() { Ok(Template { words }) } else { Err(faults) }
    }

    /// The program, if it is the same for every trial.
    pub fn program(&self) -> Option<&str> {
        match self.words.first().map(Vec::as_slice) {
            Some([WordPart::Text(program)]) => Some(program),
            _ => None,
        }
    }

    /// The words of a trial.
    pub fn fill(&self, trial: &Proposal<'_>) -> Vec<String> {
        let value = |at: usize| trial.point.0.get(at).copied().unwrap_or(PointValue::Absent);
        let absent = |part: &WordPart| matches!(part, WordPart::Parameter(at) if value(*at) == PointValue::Absent);
        let gone = |word: &[WordPart]| word.iter().any(absent);
        let mut filled = Vec::new();
        for (at, word) in self.words.iter().enumerate() {
            let value_follows =
                self.words.get(at + 1).is_some_and(|next| next.len() == 1 && gone(next));
            let flag = matches!(&word[..], [WordPart::Text(text)] if text.starts_with('-') && !text.contains('='));
            if gone(word) || (flag && value_follows) {
                continue;
            }
            filled.push(word.iter().map(|part| part.text(trial)).collect());
        }
        filled
    }
}

impl WordPart {
    fn text(&self, trial: &Proposal<'_>) -> String {
        match self {
            WordPart::Text(text) => text.clone(),
            WordPart::Parameter(at) => trial
                .point
                .0
                .get(*at)
                .and_then(|value| named::text(trial.space, *at, *value))
                .unwrap_or_default(),
            WordPart::Trial => trial.id.to_string(),
            WordPart::Everything => Json::Object(named::json(trial.space, trial.point)).to_string(),
        }
    }
}

/// Words as a shell finds them: blanks between, quotes and backslashes to keep blanks.
fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            blank if blank.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let rest = letters.as_str();
                let (inside, after) =
                    rest.split_once('\'').ok_or("has a single quote that is never closed")?;
                word.get_or_insert_default().push_str(inside);
                letters = after.chars();
            }
            '"' => quoted(&mut letters, word.get_or_insert_default())?,
            '\\' => match letters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err("ends in a backslash".to_string()),
            },
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The rest of a word in double quotes, where a backslash keeps quotes and backslashes.
fn quoted(letters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    let open = || "has a double quote that is never closed".to_string();
    loop {
        match letters.next().ok_or_else(open)? {
            '"' => return Ok(()),
            '\\' => match letters.next().ok_or_else(open)? {
                next @ ('"' | '\\') => word.push(next),
                next => word.extend(['\\', next]),
            },
            other => word.push(other),
        }
    }
}

/// The parts of a word. Braces that do not hold a name are left alone; `{{name}}` stands for
/// `{name}`.
fn parts(word: &str, space: &Space, faults: &mut Vec<String>) -> Vec<WordPart> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let doubled = rest
            .strip_prefix("{{")
            .and_then(|inner| inner.split_once("}}"))
            .filter(|(name, _)| is_name(name));
        if let Some((name, after)) = doubled {
            text.push_str(&format!("{{{name}}}"));
            rest = after;
            continue;
        }
        let place = rest[1..]
            .split_once('}')
            .filter(|(name, _)| is_name(name) || space.position(name).is_some());
        let Some((name, after)) = place else {
            text.push('{');
            rest = &rest[1..];
            continue;
        };
        rest = after;
        let part = match (space.position(name), name) {
            (Some(at), _) => WordPart::Parameter(at),
            (None, TRIAL) => WordPart::Trial,
            (None, EVERYTHING) => WordPart::Everything,
            (None, name) => {
                faults.push(unknown(name, space));
                continue;
            }
        };
        if !text.is_empty() {
            parts.push(WordPart::Text(std::mem::take(&mut text)));
        }
        parts.push(part);
    }
    text.push_str(rest);
    if !text.is_empty() || parts.is_empty() {
        parts.push(WordPart::Text(text));
    }
    parts
}

fn is_name(text: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    text.chars().all(letter) && text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn unknown(name: &str, space: &Space) -> String {
    let known = space.params().iter().map(|param| param.name.as_str()).chain([TRIAL, EVERYTHING]);
    let meant = nearest(name, known).map_or(String::new(), |near| format!(", perhaps {{{near}}}"));
    format!(
        "{{{name}}} is no parameter of the space{meant}; write {{{{{name}}}}} for these very letters"
    )
}
