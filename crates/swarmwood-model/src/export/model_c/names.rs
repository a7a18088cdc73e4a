//! The names of features, categories and classes as strings of C, and their lookup.

use std::fmt::Write;

use super::super::scoring_form::ScoringForm;
use super::table::CTables;

/// C99 compilers need not accept longer string literals than 4095 bytes.
const LONGEST_LITERAL: usize = 1000;

/// The tables of names and the function that finds the code of a category. They are left out if the
/// macro `NAME_NO_NAMES` is defined, where memory is scarce.
pub(super) fn names(form: &ScoringForm<'_>, name: &str) -> String {
    let upper = name.to_uppercase();
    let features: Vec<&str> = form.schema.features.iter().map(|each| each.name.as_str()).collect();
    let classes: Vec<&str> = form.classes().iter().map(String::as_str).collect();
    let levels: Vec<&str> = form
        .schema
        .features
        .iter()
        .flat_map(|each| each.kind.levels())
        .map(String::as_str)
        .collect();

    let mut text = format!("#ifndef {upper}_NO_NAMES\n");
    for (what, names) in [("feature", &features), ("class", &classes), ("level", &levels)] {
        text.push_str(&strings(&format!("{name}_{what}"), names));
    }
    let mut starts = CTables::default();
    let mut start = 0;
    let mut positions = vec![0];
    for feature in &form.schema.features {
        start += feature.kind.levels().len() as i64;
        positions.push(start);
    }
    if form.schema.features.is_empty() {
        positions.push(0);
    }
    starts.integers(
        &format!("{name}_level_start"),
        "the first category of each feature, and the end",
        &positions,
    );
    text.push_str(&starts.text);
    // A comparison with 0 that is always false is an error for some compilers; the tables have an
    // entry at least.
    let count = features.len().max(1);
    text.push_str(&format!(
        r#"const char *{name}_feature_name(unsigned feature)
{{
    return feature < {count}u ? {name}_feature_names[feature] : "";
}}

const char *{name}_class_name(unsigned class_number)
{{
    return class_number < {classes}u ? {name}_class_names[class_number] : "";
}}

int32_t {name}_category(unsigned feature, const char *category)
{{
    uint32_t at;
    uint32_t end;
    if (feature >= {count}u) {{
        return -1;
    }}
    end = {name}_level_start[feature + 1u];
    for (at = {name}_level_start[feature]; at < end; at++) {{
        const char *a = {name}_level_names[at];
        const char *b = category;
        while ((*a != '\0') && (*a == *b)) {{
            a++;
            b++;
        }}
        if (*a == *b) {{
            return (int32_t)(at - {name}_level_start[feature]);
        }}
    }}
    return -1;
}}
#endif
"#,
        classes = classes.len().max(1)
    ));
    text
}

/// What the header declares of it.
pub(super) fn declarations(name: &str) -> String {
    let upper = name.to_uppercase();
    format!(
        r#"#ifndef {upper}_NO_NAMES
/* The name of a feature and of a class, in UTF-8; an empty text if there is no such number. */
const char *{name}_feature_name(unsigned feature);
const char *{name}_class_name(unsigned class_number);

/* The number of a category of a feature, which is its input; -1 (missing) if it is not known. */
int32_t {name}_category(unsigned feature, const char *category);
#endif
"#
    )
}

/// A table of pointers to strings.
fn strings(name: &str, texts: &[&str]) -> String {
    let mut text = String::new();
    for (index, content) in texts.iter().enumerate() {
        text.push_str(&format!("static const char {name}_{index}[] = {};\n", literal(content)));
    }
    let count = texts.len().max(1);
    text.push_str(&format!("static const char *const {name}_names[{count}] = {{\n"));
    let mut entries: Vec<String> =
        (0..texts.len()).map(|index| format!("    {name}_{index}")).collect();
    if entries.is_empty() {
        entries.push("    \"\"".to_string());
    }
    text.push_str(&format!("{}\n}};\n\n", entries.join(",\n")));
    text
}

/// A string; every byte that is not a plain ASCII character is written as an octal number, which
/// has three digits and therefore an end. Question marks could form trigraphs.
fn literal(text: &str) -> String {
    if text.len() > LONGEST_LITERAL {
        let bytes: Vec<String> = text.bytes().map(|byte| format!("(char){byte}")).collect();
        return format!("{{\n{}    0\n}}", super::super::literal::list(bytes, "    "));
    }
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => literal.extend(['\\', char::from(byte)]),
            b' '..=b'~' if byte != b'?' => literal.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => {
                let _ = write!(literal, "\\{byte:03o}");
            }
        }
    }
    literal.push('"');
    literal
}
