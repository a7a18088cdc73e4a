//! Colours, widths of text, and escapes of XML.

/// Colours of classes: distinct for most kinds of colour blindness (after Okabe and Ito 2008,
/// darkened for a white background).
const CLASSES: [&str; 8] =
    ["#3f6fb5", "#e08a1e", "#2c9a73", "#b9508f", "#8a6d3b", "#5bb0d8", "#c8502e", "#6d6d6d"];

/// The two ends of the scale of numbers.
const LOW: [f64; 3] = [222.0, 235.0, 247.0];
const HIGH: [f64; 3] = [8.0, 69.0, 148.0];

/// The colour of a class.
pub(crate) fn class_colour(class: usize) -> String {
    if let Some(colour) = CLASSES.get(class) {
        return (*colour).to_string();
    }
    // Multiples of the golden angle never repeat a hue.
    let hue = (class as f64 * 137.508) % 360.0;
    let channel = |shift: f64| {
        let at = ((hue + shift) % 360.0 / 60.0 - 3.0).abs() - 1.0;
        (70.0 + 120.0 * at.clamp(0.0, 1.0)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(240.0), channel(120.0))
}

/// The colour of a number between the ends of a scale.
pub(crate) fn scale_colour(value: f64, (low, high): (f64, f64)) -> String {
    let share = position(value, (low, high));
    let channel = |at: usize| (LOW[at] + (HIGH[at] - LOW[at]) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2))
}

/// The position of a number between two others, from 0 to 1.
pub(super) fn position(value: f64, (low, high): (f64, f64)) -> f64 {
    // Halved, because the difference of huge numbers may overflow.
    let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 }
}

/// The approximate width of a text in common sans-serif fonts; an overestimate rather than an
/// underestimate.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let letter = |letter: char| match letter {
        'i' | 'j' | 'l' | 't' | 'f' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '('
        | ')' | '[' | ']' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.93,
        'A'..='Z' | '≤' | '>' | '<' | '+' => 0.73,
        letter if (letter as u32) < 0x2000 => 0.63,
        // Wide scripts and pictures.
        _ => 1.05,
    };
    size * text.chars().map(letter).sum::<f64>()
}

/// The text, truncated to a width.
pub(super) fn fit(text: &str, size: f64, max_width: f64) -> String {
    if width(text, size) <= max_width {
        return text.to_string();
    }
    let mut truncated = String::new();
    for letter in text.chars() {
        truncated.push(letter);
        if width(&truncated, size) + size > max_width {
            break;
        }
    }
    truncated.push('…');
    truncated
}

/// Escapes a text for XML.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\'' => escaped.push_str("&#39;"),
            '"' => escaped.push_str("&quot;"),
            // XML does not allow these, not even escaped.
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('?')
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}
