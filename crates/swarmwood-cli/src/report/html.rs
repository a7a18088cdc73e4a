//! HTML fragments. Text is escaped here and nowhere else: only [`Html`] reaches a page, and text
//! becomes [`Html`] by being escaped.

use swarmwood::model::picture::escape;

use crate::chart::Chart;

/// Width and height of a chart: two fit side by side on a desktop screen, and one fits a phone with
/// legible text.
pub const CHART: (f64, f64) = (400.0, 290.0);

/// Cells with more characters than this are wide.
const WIDE_CELL: usize = 24;

/// Escaped HTML.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Html(String);

impl Html {
    /// Text of several lines, escaped line by line.
    pub fn lines(text: &str) -> Html {
        Html(text.lines().map(escape).collect::<Vec<_>>().join("\n"))
    }

    /// Wraps a text that is HTML already: the caller has escaped everything in it.
    pub fn from_escaped(html: String) -> Html {
        Html(html)
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends a fragment.
    #[must_use]
    pub fn and(mut self, more: Html) -> Html {
        self.0.push_str(&more.0);
        self
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Html {
        parts.into_iter().fold(Html::default(), Html::and)
    }
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub enum TableCell {
    /// Text.
    Text(String),
    /// A number, aligned to the right.
    Number(String),
    /// A fraction as a bar, with a label beside it.
    Bar(f64, String),
    /// A number on a background that is shaded by a fraction.
    Shade(f64, String),
}

impl TableCell {
    /// Text.
    pub fn text(text: impl Into<String>) -> TableCell {
        TableCell::Text(text.into())
    }

    /// A number.
    pub fn number(text: impl Into<String>) -> TableCell {
        TableCell::Number(text.into())
    }

    fn is_empty(&self) -> bool {
        match self {
            TableCell::Text(text) | TableCell::Number(text) => text.is_empty(),
            TableCell::Bar(..) | TableCell::Shade(..) => false,
        }
    }

    fn html(&self) -> String {
        match self {
            // A long text needs a wide column.
            TableCell::Text(text) if text.chars().count() > WIDE_CELL => {
                format!("<td class='w'>{}</td>", escape(text))
            }
            TableCell::Text(text) => format!("<td>{}</td>", escape(text)),
            TableCell::Number(text) => format!("<td class='n'>{}</td>", escape(text)),
            TableCell::Bar(share, text) => format!(
                "<td class='b'><span class='bar' style='--share:{:.1}%'></span><span class='n'>{}</span></td>",
                100.0 * share.clamp(0.0, 1.0),
                escape(text)
            ),
            TableCell::Shade(share, text) => {
                format!(
                    "<td class='n s' style='--share:{:.1}%'>{}</td>",
                    70.0 * share.clamp(0.0, 1.0),
                    escape(text)
                )
            }
        }
    }
}

/// A table with a caption; the first cell of a row is its heading. Columns of numbers are aligned to
/// the right, and columns without content are left out.
pub fn table(caption: &str, heads: &[&str], rows: &[Vec<TableCell>]) -> Html {
    if rows.is_empty() {
        return Html::default();
    }
    let has_content = |at: &usize| {
        *at == 0 || rows.iter().any(|row| row.get(*at).is_some_and(|cell| !cell.is_empty()))
    };
    let shown: Vec<usize> = (0..heads.len()).filter(has_content).collect();
    let numeric = |at: usize| {
        rows.iter()
            .any(|row| matches!(row.get(at), Some(TableCell::Number(_) | TableCell::Shade(..))))
    };

    let head = |(at, head): (usize, &&str)| {
        let class = if numeric(at) { " class='n'" } else { "" };
        format!("<th scope='col'{class}>{}</th>", escape(head))
    };

    let heads: String = shown.iter().map(|&at| head((at, &heads[at]))).collect();
    let cells = |row: &Vec<TableCell>| line(shown.iter().filter_map(|&at| row.get(at)));
    let body: String = rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row))).collect();
    let caption = escape(caption);
    Html(format!(
        "<div class='scroll' role='region' tabindex='0' aria-label='{caption}'><table>\n<caption>{caption}</caption>\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    ))
}

fn line<'a>(row: impl Iterator<Item = &'a TableCell>) -> String {
    let heading = |cell: &TableCell| match cell {
        TableCell::Text(text) => format!("<th scope='row'>{}</th>", escape(text)),
        TableCell::Number(text) => format!("<th scope='row' class='n'>{}</th>", escape(text)),
        other => other.html(),
    };
    row.enumerate().map(|(at, cell)| if at == 0 { heading(cell) } else { cell.html() }).collect()
}

/// A description list; pairs with an empty value are left out.
pub fn facts(pairs: &[(&str, String)]) -> Html {
    let one = |(name, value): &(&str, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value))
    };
    let items: String = pairs.iter().filter(|(_, value)| !value.is_empty()).map(one).collect();
    if items.is_empty() {
        Html::default()
    } else {
        Html(format!("<dl class='facts'>\n{items}</dl>\n"))
    }
}

/// One of the numbers above all parts of a section.
#[derive(Debug, Clone)]
pub struct KeyFigure {
    pub name: String,
    pub value: String,
    /// The interval, or what the value refers to.
    pub remark: String,
}

impl KeyFigure {
    pub fn new(
        name: impl Into<String>,
        value: impl Into<String>,
        remark: impl Into<String>,
    ) -> KeyFigure {
        KeyFigure { name: name.into(), value: value.into(), remark: remark.into() }
    }
}

/// Key figures as cards.
pub fn cards(figures: &[KeyFigure]) -> Html {
    let card = |figure: &KeyFigure| {
        format!(
            "<li><span>{}</span> <strong>{}</strong> <small>{}</small></li>\n",
            escape(&figure.name),
            escape(&figure.value),
            escape(&figure.remark)
        )
    };

    if figures.is_empty() {
        return Html::default();
    }
    Html(format!("<ul class='cards'>\n{}</ul>\n", figures.iter().map(card).collect::<String>()))
}

/// A paragraph.
pub fn paragraph(text: &str) -> Html {
    Html(format!("<p>{}</p>\n", escape(text)))
}

/// A remark in small type.
pub fn note(text: &str) -> Html {
    Html(format!("<p class='note'>{}</p>\n", escape(text)))
}

/// Remarks as a list.
pub fn notes<'a>(texts: impl IntoIterator<Item = &'a str>) -> Html {
    let items: String =
        texts.into_iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
    if items.is_empty() {
        Html::default()
    } else {
        Html(format!("<ul class='notes'>\n{items}</ul>\n"))
    }
}

/// A section that the reader can open and close.
pub fn details(summary: &str, open: bool, body: Html) -> Html {
    if body.is_empty() {
        return body;
    }
    let open = if open { " open" } else { "" };
    Html(format!("<details{open}><summary>{}</summary>\n{}</details>\n", escape(summary), body.0))
}

/// Preformatted text.
pub fn listing(name: &str, text: &str) -> Html {
    let (name, text) = (escape(name), Html::lines(text));
    Html(format!(
        "<pre class='scroll' role='region' tabindex='0' aria-label='{name}'>{}</pre>\n",
        text.0
    ))
}

/// A figure with its caption.
pub fn figure(svg: &str, caption: &str) -> Html {
    Html(format!("<figure>\n{svg}<figcaption>{}</figcaption></figure>\n", escape(caption)))
}

/// A chart as a figure; the title is the caption.
pub fn chart_figure(id: &str, title: &str, chart: &Chart) -> Html {
    figure(&chart.inline(id, title, CHART), title)
}

/// A figure in its full width, which scrolls.
pub fn wide_figure(svg: &str, caption: &str) -> Html {
    let name = escape(caption);
    Html(format!(
        "<figure class='wide'><div class='scroll' role='region' tabindex='0' aria-label='{name}'>\n\
         {svg}</div><figcaption>{name}</figcaption></figure>\n"
    ))
}

/// The drawing of a tree; `tree` is its number in the model inside the page. Where the drawing would
/// be shrunk until it is illegible, the text is shown instead.
pub fn tree_figure(tree: usize, svg: &str, text: &str, caption: &str) -> Html {
    let name = escape(caption);
    let number = svg.split_once("width='").and_then(|(_, rest)| rest.split('\'').next());
    let width: Option<u32> = number.and_then(|number| number.parse().ok());
    // Words that the style sheet knows; each has a least width of the page.
    let size = match width.unwrap_or(0) {
        ..=400 => "small",
        401..=860 => "medium",
        861..=1320 => "large",
        1321..=1560 => "huge",
        _ => "giant",
    };
    Html(format!(
        "<figure class='wide tree' data-tree='{tree}'><div class='scroll drawing {size}' \
         role='region' tabindex='0' aria-label='{name}'>\n{svg}</div>\
         <pre class='as-text {size}'>{}</pre><figcaption>{name}</figcaption></figure>\n",
        Html::lines(text.trim_end()).as_str()
    ))
}

/// Figures side by side.
pub fn gallery(figures: impl IntoIterator<Item = Html>) -> Html {
    let figures: Html = figures.into_iter().collect();
    if figures.is_empty() {
        figures
    } else {
        Html(format!("<div class='gallery'>\n{}</div>\n", figures.0))
    }
}

/// Unique identifiers for the elements of a page.
#[derive(Debug)]
pub struct IdSequence {
    prefix: String,
    next: usize,
}

impl IdSequence {
    /// Identifiers with a prefix.
    pub fn new(prefix: &str) -> IdSequence {
        IdSequence { prefix: prefix.to_string(), next: 0 }
    }

    /// The next identifier.
    pub fn next_id(&mut self) -> String {
        self.next += 1;
        format!("{}-{}", self.prefix, self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "<script>alert('x')</script>&\"";

    #[test]
    fn all_text_is_escaped() {
        let cells = [
            TableCell::text(EVIL),
            TableCell::number(EVIL),
            TableCell::Bar(0.5, EVIL.into()),
            TableCell::Shade(0.5, EVIL.into()),
        ];
        let rows: Vec<Vec<TableCell>> =
            (0..4).map(|at| vec![cells[at].clone(), cells[(at + 1) % 4].clone()]).collect();
        let fragments = [
            Html::lines(EVIL),
            table(EVIL, &[EVIL, EVIL], &rows),
            facts(&[(EVIL, EVIL.to_string())]),
            cards(&[KeyFigure::new(EVIL, EVIL, EVIL)]),
            paragraph(EVIL),
            note(EVIL),
            notes([EVIL]),
            details(EVIL, true, paragraph("x")),
            listing(EVIL, EVIL),
            figure("", EVIL),
            tree_figure(0, "", EVIL, EVIL),
        ];
        for fragment in fragments {
            let html = fragment.as_str();
            assert!(!html.contains("<script") && html.contains("&lt;script&gt;"), "{html}");
            // Attributes are in single quotes, which text must not close.
            assert!(!html.contains("alert('x')"), "{html}");
        }
    }

    #[test]
    fn tables_have_column_and_row_headings() {
        let rows = [
            vec![TableCell::text("rmse"), TableCell::number("0.5")],
            vec![TableCell::text("r2"), TableCell::number("0.9")],
        ];
        let html = table("metrics", &["metric", "value"], &rows);
        assert_eq!(html.as_str().matches("<th scope='col'").count(), 2);
        assert_eq!(html.as_str().matches("<th scope='row'>").count(), 2);
        assert!(html.as_str().contains("<th scope='col' class='n'>value</th>"), "{html:?}");
        assert!(html.as_str().contains("<caption>metrics</caption>"));
        let rows = [vec![TableCell::text("a"), TableCell::number(""), TableCell::text("b")]];
        let html = table("gaps", &["name", "missing", "more"], &rows);
        assert!(!html.as_str().contains("missing") && html.as_str().contains("<td>b</td>"));
        assert!(
            table("nothing", &["a"], &[]).is_empty() && facts(&[("a", String::new())]).is_empty()
        );
        assert!(details("nothing", true, Html::default()).is_empty() && gallery([]).is_empty());
    }
}
