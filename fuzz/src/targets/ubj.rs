//! JSON as Universal Binary JSON, the way XGBoost writes it, to make inputs.

/// The UBJSON of a JSON text; `None` if the text is no JSON.
pub fn from_json(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let end = value(text, skip_space(text, 0), 0, &mut out)?;
    (skip_space(text, end) == text.len()).then_some(out)
}

fn skip_space(text: &[u8], at: usize) -> usize {
    let length = text[at..].iter().position(|byte| !byte.is_ascii_whitespace());
    length.map_or(text.len(), |length| at + length)
}

fn value(text: &[u8], at: usize, depth: usize, out: &mut Vec<u8>) -> Option<usize> {
    match text.get(at)? {
        b'{' | b'[' if depth < 100 => container(text, at, depth, out),
        b'"' => {
            out.push(b'S');
            string(text, at, out)
        }
        _ => {
            let is_end = |byte: &u8| b",]}".contains(byte) || byte.is_ascii_whitespace();
            let length = text[at..].iter().position(is_end).unwrap_or(text.len() - at);
            scalar(std::str::from_utf8(&text[at..at + length]).ok()?, out)?;
            Some(at + length)
        }
    }
}

fn scalar(word: &str, out: &mut Vec<u8>) -> Option<()> {
    match word {
        "null" => out.push(b'Z'),
        "true" => out.push(b'T'),
        "false" => out.push(b'F'),
        _ => match word.parse::<i64>() {
            Ok(number) => {
                out.push(b'L');
                out.extend_from_slice(&number.to_be_bytes());
            }
            Err(_) => {
                out.push(b'd');
                out.extend_from_slice(&word.parse::<f32>().ok()?.to_be_bytes());
            }
        },
    }
    Some(())
}

fn container(text: &[u8], at: usize, depth: usize, out: &mut Vec<u8>) -> Option<usize> {
    let is_object = text[at] == b'{';
    out.push(text[at]);
    let mut at = skip_space(text, at + 1);
    loop {
        match text.get(at)? {
            end @ (b'}' | b']') => {
                out.push(*end);
                return Some(at + 1);
            }
            b',' => at = skip_space(text, at + 1),
            _ => {
                if is_object {
                    at = skip_space(text, string(text, at, out)?);
                    at = skip_space(text, (text.get(at) == Some(&b':')).then_some(at + 1)?);
                }
                at = skip_space(text, value(text, at, depth + 1, out)?);
            }
        }
    }
}

/// A string without its mark, as keys have none; escapes are left as they are.
fn string(text: &[u8], start: usize, out: &mut Vec<u8>) -> Option<usize> {
    let mut at = start + 1;
    while *text.get(at)? != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    let bytes = text.get(start + 1..at)?;
    out.push(b'L');
    out.extend_from_slice(&(bytes.len() as i64).to_be_bytes());
    out.extend_from_slice(bytes);
    Some(at + 1)
}
