//! Markdown as safe HTML: raw HTML is shown as text, images are embedded, and only links to web pages
//! are kept.

use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use swarmwood::model::picture::escape;

use super::html::Html;

/// Level of the first headings: the page uses the levels above.
const FIRST_LEVEL: usize = 4;

/// A text as HTML, and the files of its images.
pub struct RenderedMarkdown {
    pub html: Html,
    pub figures: Vec<PathBuf>,
}

/// Renders a text; images are read from its folder.
pub fn render(text: &str, folder: &Path) -> RenderedMarkdown {
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut figures = Vec::new();
    let mut parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);

    // Links that are dropped become text; their end tags are dropped, too.
    let mut links: Vec<bool> = Vec::new();
    let mut paragraph = false;

    while let Some(event) = parser.next() {
        match event {
            Event::Html(raw) | Event::InlineHtml(raw) => events.push(Event::Text(raw)),
            Event::Start(Tag::Link { dest_url, link_type, title, id }) => {
                links.push(is_web(&dest_url));
                if is_web(&dest_url) {
                    events.push(Event::Start(Tag::Link { dest_url, link_type, title, id }));
                }
            }
            Event::End(TagEnd::Link) => {
                if links.pop() == Some(true) {
                    events.push(event);
                }
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                let alt = alt_text(&mut parser);
                let image = inside(folder, &dest_url)
                    .and_then(|path| Some((image_figure(&path, &alt)?, path)));
                match image {
                    Some((figure, path)) => {
                        let figure = Event::Html(CowStr::from(figure.as_str().to_string()));
                        // A figure must not be inside a paragraph, which continues after it.
                        events.extend(paragraph.then_some(Event::End(TagEnd::Paragraph)));
                        events.push(figure);
                        events.extend(paragraph.then_some(Event::Start(Tag::Paragraph)));
                        figures.push(path);
                    }
                    None => events.push(Event::Text(CowStr::from(alt))),
                }
            }
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                events.push(Event::Start(Tag::Heading {
                    level: lower(level),
                    id: None,
                    classes,
                    attrs,
                }));
            }
            Event::End(TagEnd::Heading(level)) => {
                events.push(Event::End(TagEnd::Heading(lower(level))))
            }
            Event::Start(Tag::Table(_)) => {
                events.push(Event::Html(
                    "<div class='scroll' role='region' tabindex='0' aria-label='Table'>".into(),
                ));
                events.push(event);
            }
            Event::End(TagEnd::Table) => {
                events.push(event);
                events.push(Event::Html("</div>\n".into()));
            }
            other => {
                paragraph = matches!(other, Event::Start(Tag::Paragraph))
                    || paragraph && !matches!(other, Event::End(TagEnd::Paragraph));
                events.push(other);
            }
        }
    }

    drop_empty_paragraphs(&mut events);
    let mut html = String::new();
    html::push_html(&mut html, events.into_iter());
    RenderedMarkdown { html: Html::from_escaped(html), figures }
}

/// Removes paragraphs that figures left empty.
fn drop_empty_paragraphs(events: &mut Vec<Event<'_>>) {
    let opens = |event: &Event<'_>| matches!(event, Event::Start(Tag::Paragraph));
    let blank = |event: &Event<'_>| matches!(event, Event::SoftBreak);
    let mut output: Vec<Event<'_>> = Vec::with_capacity(events.len());
    for event in events.drain(..) {
        let start =
            output.iter().rposition(|before| !blank(before)).filter(|&at| opens(&output[at]));
        match start {
            Some(at) if matches!(event, Event::End(TagEnd::Paragraph)) => output.truncate(at),
            _ => output.push(event),
        }
    }
    *events = output;
}

/// The alternative text of an image.
fn alt_text(parser: &mut Parser<'_>) -> String {
    let mut alt = String::new();
    for event in parser.by_ref() {
        match event {
            Event::End(TagEnd::Image) => break,
            Event::Text(text) | Event::Code(text) => alt.push_str(&text),
            Event::SoftBreak | Event::HardBreak => alt.push(' '),
            _ => {}
        }
    }
    alt
}

fn is_web(address: &str) -> bool {
    address.starts_with("https://") || address.starts_with("http://")
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + FIRST_LEVEL - 1).unwrap_or(HeadingLevel::H6)
}

/// A file in a folder or below it; no other files are embedded.
fn inside(folder: &Path, address: &str) -> Option<PathBuf> {
    let path = Path::new(address);
    let plain =
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    // Without `.`, as a directory lists it.
    plain.then(|| {
        folder
            .join(path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>())
    })
}

/// An SVG file as an embedded image, in which browsers run no scripts and send no requests. `None` if
/// the file is not an SVG file.
pub fn image_figure(path: &Path, alt: &str) -> Option<Html> {
    let bytes =
        std::fs::read(path).ok().filter(|_| path.extension().is_some_and(|end| end == "svg"))?;
    let name = path.file_stem()?.to_string_lossy().replace(['-', '_'], " ");
    let alt = if alt.is_empty() {
        title(&String::from_utf8_lossy(&bytes)).unwrap_or(name)
    } else {
        alt.to_string()
    };
    let (alt, data) = (escape(&alt), percent_encoded(&bytes));
    Some(Html::from_escaped(format!(
        "<figure><img alt='{alt}' src='data:image/svg+xml,{data}'><figcaption>{alt}</figcaption></figure>\n"
    )))
}

/// The title of an SVG file.
fn title(svg: &str) -> Option<String> {
    let (_, rest) = svg.split_once("<title")?;
    let (_, rest) = rest.split_once('>')?;
    let (title, _) = rest.split_once("</title>")?;
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .into_iter()
        .fold(title.trim().to_string(), |text, (from, to)| text.replace(from, to));
    (!plain.is_empty()).then_some(plain)
}

/// Percent-encodes bytes for a URL.
fn percent_encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 3 / 2);
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-_.~!*()/:;=?@,$+".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        render(text, Path::new("no-such-folder")).html.as_str().to_string()
    }

    #[test]
    fn raw_html_and_dangerous_links_are_text() {
        let page = html(
            "a <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n[x](javascript:alert(1)) [y](raw.csv)",
        );
        assert!(
            !page.contains("<script") && !page.contains("<img") && !page.contains("href"),
            "{page}"
        );
        assert!(
            page.contains("&lt;script&gt;") && page.contains('x') && page.contains('y'),
            "{page}"
        );
        assert!(
            html("[p](https://example.org/a)").contains("<a href=\"https://example.org/a\">p</a>")
        );
        assert!(!html("![a picture](https://example.org/a.svg)").contains("example.org"));
    }

    #[test]
    fn tables_scroll_and_headings_are_lower() {
        let page = html("# One\n\n###### Six\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n");
        assert!(page.contains("<h4>One</h4>") && page.contains("<h6>Six</h6>"), "{page}");
        assert!(
            page.contains("tabindex='0'")
                && page.contains("<th style=\"text-align: right\">b</th>"),
            "{page}"
        );
        assert_eq!(page.matches("<div").count(), page.matches("</div>").count());
    }

    #[test]
    fn empty_paragraphs_are_removed() {
        let render = |events: Vec<Event<'static>>| {
            let mut events = events;
            drop_empty_paragraphs(&mut events);
            let mut html = String::new();
            html::push_html(&mut html, events.into_iter());
            html
        };
        let (open, close) = (Event::Start(Tag::Paragraph), Event::End(TagEnd::Paragraph));
        assert_eq!(render(vec![open.clone(), Event::SoftBreak, close.clone()]), "");
        assert_eq!(render(vec![open, Event::Text("a".into()), close]), "<p>a</p>\n");
    }

    #[test]
    fn images_come_from_the_folder_only() {
        let folder = Path::new("runs");
        assert_eq!(inside(folder, "./a.svg"), Some("runs/a.svg".into()));
        assert_eq!(inside(folder, "figures/a.svg"), Some("runs/figures/a.svg".into()));
        assert!(inside(folder, "../a.svg").is_none() && inside(folder, "/etc/a.svg").is_none());
        assert_eq!(
            title("<svg><title id='t'>a &amp;lt; b</title></svg>").as_deref(),
            Some("a &lt; b")
        );
        assert_eq!(percent_encoded(b"<a b='\"#%&>\xc3\xa9"), "%3Ca%20b=%27%22%23%25%26%3E%C3%A9");
    }
}
