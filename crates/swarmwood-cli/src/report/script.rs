//! The script of the page and the data that it reads.
//!
//! The script is the same on every page and is allowed by its hash; anything else that looks like a
//! script is refused by the browser. Data is JSON in an element that is not executed, without any
//! `<`, so that no name can end it.

use serde_json::Value;

use super::html::Html;
use super::sha256::script_source;

/// The parts of the script in the order in which they are joined.
const PARTS: [&str; 5] = [
    include_str!("script/scorer.js"),
    include_str!("script/nearest.js"),
    include_str!("script/elements.js"),
    include_str!("script/threshold.js"),
    include_str!("script/whatif.js"),
];

/// The whole script.
pub fn script() -> String {
    let parts = PARTS.join("\n");
    format!("(() => {{\n\"use strict\";\n\n{parts}\nstart();\n}})();\n")
}

/// The content security policy of a page: no requests, and no script but [`script`].
pub fn policy(has_script: bool) -> String {
    let scripts = match has_script {
        true => format!("; script-src {}", script_source(&script())),
        false => String::new(),
    };
    format!("default-src 'none'; style-src 'unsafe-inline'; img-src data:{scripts}")
}

/// An element that the script fills, with its data; `fallback` is shown without JavaScript.
pub fn widget(kind: &str, data: &Value, fallback: Html) -> Html {
    let data = data.to_string().replace('<', "\\u003c");
    Html::from_escaped(format!(
        "<div class='widget {kind}' data-widget='{kind}'><noscript>{}</noscript>\n\
         <script type='application/json'>{data}</script></div>\n",
        fallback.as_str()
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_name_ends_the_data() {
        let data = json!({"name": "</script><script>alert(1)</script>"});
        let html = widget("whatif", &data, Html::default());
        assert_eq!(html.as_str().matches("</script").count(), 1, "{html:?}");
        assert!(html.as_str().contains("\\u003c/script>\\u003cscript>alert(1)"), "{html:?}");
    }

    #[test]
    fn the_policy_allows_the_script_by_its_hash() {
        assert!(policy(true).contains("; script-src 'sha256-"));
        assert!(!policy(false).contains("script-src"));
        // The hash is over the text between the tags, which HTML must not change.
        assert!(!script().contains("</script") && !script().contains("<!--"));
        assert!(!script().contains('\r') && !script().contains("innerHTML"));
    }
}
