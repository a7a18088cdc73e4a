//! The page: a self-contained document with a table of contents and one section per run.

use swarmwood::model::picture::escape;

use super::html::{Html, IdSequence};
use super::script::{policy, script};

/// The style sheet: for screens and print, light and dark, wide and narrow.
const STYLE: &str = include_str!("style.css");

/// The section of a run.
#[derive(Debug)]
pub struct PageSection {
    id: String,
    title: String,
    kind: &'static str,
    parts: Vec<(String, String, Html)>,
    /// Identifiers of figures.
    pub ids: IdSequence,
}

impl PageSection {
    /// A section without parts; `number` is unique on the page.
    pub fn new(number: usize, title: impl Into<String>, kind: &'static str) -> PageSection {
        let id = format!("run-{number}");
        PageSection {
            ids: IdSequence::new(&format!("{id}-figure")),
            id,
            title: title.into(),
            kind,
            parts: Vec::new(),
        }
    }

    /// Adds a part, unless it is empty. A part without a title is not in the table of contents.
    pub fn part(&mut self, title: &str, body: Html) {
        if !body.is_empty() {
            let id = format!("{}-{}", self.id, self.parts.len() + 1);
            self.parts.push((id, title.to_string(), body));
        }
    }

    fn contents(&self) -> String {
        let part = |(id, title, _): &(String, String, Html)| {
            format!("<li><a href='#{id}'>{}</a></li>", escape(title))
        };
        let parts: String =
            self.parts.iter().filter(|(_, title, _)| !title.is_empty()).map(part).collect();
        let (id, title) = (&self.id, escape(&self.title));
        format!("<li><a href='#{id}'>{title}</a>\n<ol>{parts}</ol></li>\n")
    }

    fn html(&self) -> String {
        let part = |(id, title, body): &(String, String, Html)| match title.as_str() {
            "" => body.as_str().to_string(),
            title => {
                let (title, body) = (escape(title), body.as_str());
                format!(
                    "<section aria-labelledby='{id}'>\n<h3 id='{id}'>{title}</h3>\n{body}</section>\n"
                )
            }
        };

        let parts: String = self.parts.iter().map(part).collect();
        let (id, title, kind) = (&self.id, escape(&self.title), self.kind);
        format!(
            "<section class='run' aria-labelledby='{id}'>\n<h2 id='{id}'>{title} <small>{kind}</small></h2>\n{parts}</section>\n"
        )
    }
}

/// The document.
pub fn document(title: &str, sections: &[PageSection]) -> String {
    let (title, version) = (escape(title), env!("CARGO_PKG_VERSION"));
    let contents: String = sections.iter().map(PageSection::contents).collect();
    let body: String = sections.iter().map(PageSection::html).collect();
    // No name contains this: in text `<` is escaped.
    let has_script = body.contains("<div class='widget");
    let policy = policy(has_script);
    let script =
        if has_script { format!("<script>{}</script>\n", script()) } else { String::new() };

    format!(
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n\
         <meta name='viewport' content='width=device-width, initial-scale=1'>\n\
         <meta http-equiv='Content-Security-Policy' content=\"{policy}\">\n\
         <meta name='color-scheme' content='light dark'>\n<meta name='generator' content='swarmwood {version}'>\n\
         <link rel='icon' href='data:,'>\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class='skip' href='#report'>Skip to the report</a>\n\
         <header><h1>{title}</h1></header>\n\
         <nav aria-label='Contents'><details open><summary>Contents</summary>\n<ol>\n{contents}</ol></details></nav>\n\
         <main id='report' tabindex='-1'>\n{body}</main>\n<footer>swarmwood {version}</footer>\n{script}</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::html::paragraph;
    use super::*;

    #[test]
    fn every_entry_of_the_contents_has_a_target() {
        let mut first = PageSection::new(1, "a <b>", "training");
        first.part("", paragraph("above"));
        first.part("Metrics & more", paragraph("0.5"));
        first.part("Nothing", Html::default());
        let page = document("report <1>", &[first, PageSection::new(2, "second", "tuning")]);
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert!(page.contains("<title>report &lt;1&gt;</title>") && page.contains("a &lt;b&gt;"));
        for target in page.split("href='#").skip(1).filter_map(|rest| rest.split('\'').next()) {
            assert_eq!(page.matches(&format!("id='{target}'")).count(), 1, "{target}");
        }
        assert!(page.contains(">Metrics &amp; more</a>") && !page.contains("Nothing"));
        assert!(
            !page.contains("http://") && !page.contains("https://") && !page.contains("<script")
        );
    }

    #[test]
    fn the_style_sheet_requests_nothing() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
        for part in ["prefers-color-scheme: dark", "@media print", ":focus-visible"] {
            assert!(STYLE.contains(part), "{part}");
        }
    }
}
