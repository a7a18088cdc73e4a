//! Pieces of HTML. What comes from outside is escaped here and nowhere else: only [`Html`] reaches
//! a page, and text becomes [`Html`] by being escaped.

use swarmwood::model::picture::escape;

use crate::chart::Chart;

/// Width and height of a chart: two stand beside each other on a desk, and one fits a telephone
/// with letters of a legible size.
pub const CHART: (f64, f64) = (400.0, 290.0);

/// Letters from which on a cell is a sentence.
const SENTENCE: usize = 24;

/// Text that may stand on a page as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Html(String);

impl Html {
    /// Text of several lines, escaped line by line.
    pub fn lines(text: &str) -> Html {
        Html(text.lines().map(escape).collect::<Vec<_>>().join("\n"))
    }

    /// What is HTML already. Whoever calls it has escaped what came from outside.
    pub fn made(html: String) -> Html {
        Html(html)
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Adds more.
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
    /// Words.
    Text(String),
    /// A number, at the right edge.
    Number(String),
    /// A share as a bar with what stands beside it.
    Bar(f64, String),
    /// A number on a ground that is the darker the larger the share.
    Shade(f64, String),
}

impl TableCell {
    /// Words.
    pub fn text(text: impl Into<String>) -> TableCell {
        TableCell::Text(text.into())
    }

    /// A number.
    pub fn number(text: impl Into<String>) -> TableCell {
        TableCell::Number(text.into())
    }

    fn html(&self) -> String {
        match self {
            // A sentence in a narrow column would be a tower of words.
            TableCell::Text(text) if text.chars().count() > SENTENCE => {
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

/// A table with a caption; the first cell of a row is its heading. Numbers stand below headings at
/// the right edge.
pub fn table(caption: &str, heads: &[&str], rows: &[Vec<TableCell>]) -> Html {
    if rows.is_empty() {
        return Html::default();
    }
    let numeric = |at: usize| {
        rows.iter()
            .any(|row| matches!(row.get(at), Some(TableCell::Number(_) | TableCell::Shade(..))))
    };
    let head = |(at, head): (usize, &&str)| {
        let class = if numeric(at) { " class='n'" } else { "" };
        format!("<th scope='col'{class}>{}</th>", escape(head))
    };
    let heads: String = heads.iter().enumerate().map(head).collect();
    let body: String = rows.iter().map(|row| format!("<tr>{}</tr>\n", line(row))).collect();
    let caption = escape(caption);
    Html(format!(
        "<div class='scroll' role='region' tabindex='0' aria-label='{caption}'><table>\n<caption>{caption}</caption>\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    ))
}

fn line(row: &[TableCell]) -> String {
    let heading = |cell: &TableCell| match cell {
        TableCell::Text(text) => format!("<th scope='row'>{}</th>", escape(text)),
        TableCell::Number(text) => format!("<th scope='row' class='n'>{}</th>", escape(text)),
        other => other.html(),
    };
    row.iter()
        .enumerate()
        .map(|(at, cell)| if at == 0 { heading(cell) } else { cell.html() })
        .collect()
}

/// Names with what they are, one a line; what is empty is left out.
pub fn facts(pairs: &[(&str, String)]) -> Html {
    let one = |(name, value): &(&str, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value))
    };
    let known: String = pairs.iter().filter(|(_, value)| !value.is_empty()).map(one).collect();
    if known.is_empty() {
        Html::default()
    } else {
        Html(format!("<dl class='facts'>\n{known}</dl>\n"))
    }
}

/// The few figures that stand above all others: name, figure, what goes with it.
pub fn cards(cards: &[(String, String, String)]) -> Html {
    let card = |(name, figure, more): &(String, String, String)| {
        format!(
            "<li><span>{}</span> <strong>{}</strong> <small>{}</small></li>\n",
            escape(name),
            escape(figure),
            escape(more)
        )
    };
    if cards.is_empty() {
        return Html::default();
    }
    Html(format!("<ul class='cards'>\n{}</ul>\n", cards.iter().map(card).collect::<String>()))
}

/// A paragraph.
pub fn paragraph(text: &str) -> Html {
    Html(format!("<p>{}</p>\n", escape(text)))
}

/// A remark in small letters.
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

/// What opens when its headline is asked for.
pub fn details(headline: &str, open: bool, body: Html) -> Html {
    if body.is_empty() {
        return body;
    }
    let open = if open { " open" } else { "" };
    Html(format!("<details{open}><summary>{}</summary>\n{}</details>\n", escape(headline), body.0))
}

/// Text as it is, with its spaces.
pub fn listing(name: &str, text: &str) -> Html {
    let (name, text) = (escape(name), Html::lines(text));
    Html(format!(
        "<pre class='scroll' role='region' tabindex='0' aria-label='{name}'>{}</pre>\n",
        text.0
    ))
}

/// A picture with its caption.
pub fn figure(svg: &str, caption: &str) -> Html {
    Html(format!("<figure>\n{svg}<figcaption>{}</figcaption></figure>\n", escape(caption)))
}

/// A chart with its caption.
pub fn chart_figure(id: &str, title: &str, chart: &Chart) -> Html {
    figure(&chart.inline(id, title, CHART), title)
}

/// A picture that is as wide as it is, in a window that can be moved over it.
pub fn wide(svg: &str, caption: &str) -> Html {
    let name = escape(caption);
    Html(format!(
        "<figure class='wide'><div class='scroll' role='region' tabindex='0' aria-label='{name}'>\n{svg}</div>\
         <figcaption>{name}</figcaption></figure>\n"
    ))
}

/// Pictures beside each other.
pub fn gallery(figures: impl IntoIterator<Item = Html>) -> Html {
    let figures: Html = figures.into_iter().collect();
    if figures.is_empty() {
        figures
    } else {
        Html(format!("<div class='gallery'>\n{}</div>\n", figures.0))
    }
}

/// A list of addresses, no two equal, for the parts of a page.
#[derive(Debug)]
pub struct IdSequence {
    prefix: String,
    next: usize,
}

impl IdSequence {
    /// Addresses that begin alike.
    pub fn new(prefix: &str) -> IdSequence {
        IdSequence { prefix: prefix.to_string(), next: 0 }
    }

    /// One that nobody has.
    pub fn fresh(&mut self) -> String {
        self.next += 1;
        format!("{}-{}", self.prefix, self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "<script>alert('x')</script>&\"";

    #[test]
    fn whatever_comes_from_outside_is_escaped() {
        let cells = [
            TableCell::text(EVIL),
            TableCell::number(EVIL),
            TableCell::Bar(0.5, EVIL.into()),
            TableCell::Shade(0.5, EVIL.into()),
        ];
        let rows: Vec<Vec<TableCell>> =
            (0..4).map(|at| vec![cells[at].clone(), cells[(at + 1) % 4].clone()]).collect();
        let pieces = [
            Html::lines(EVIL),
            table(EVIL, &[EVIL, EVIL], &rows),
            facts(&[(EVIL, EVIL.to_string())]),
            cards(&[(EVIL.into(), EVIL.into(), EVIL.into())]),
            paragraph(EVIL),
            note(EVIL),
            notes([EVIL]),
            details(EVIL, true, paragraph("x")),
            listing(EVIL, EVIL),
            figure("", EVIL),
            wide("", EVIL),
        ];
        for piece in pieces {
            let html = piece.as_str();
            assert!(!html.contains("<script") && html.contains("&lt;script&gt;"), "{html}");
            // Attributes are in single quotes, which a text must not close.
            assert!(!html.contains("alert('x')"), "{html}");
        }
    }

    #[test]
    fn tables_have_headings_for_columns_and_rows() {
        let rows = [
            vec![TableCell::text("rmse"), TableCell::number("0.5")],
            vec![TableCell::text("r2"), TableCell::number("0.9")],
        ];
        let html = table("metrics", &["metric", "value"], &rows);
        assert_eq!(html.as_str().matches("<th scope='col'").count(), 2);
        assert_eq!(html.as_str().matches("<th scope='row'>").count(), 2);
        assert!(html.as_str().contains("<th scope='col' class='n'>value</th>"), "{html:?}");
        assert!(html.as_str().contains("<caption>metrics</caption>"));
        assert!(
            table("nothing", &["a"], &[]).is_empty() && facts(&[("a", String::new())]).is_empty()
        );
        assert!(details("nothing", true, Html::default()).is_empty() && gallery([]).is_empty());
    }
}
