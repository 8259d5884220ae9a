//! HTML, written safely.

use std::fmt::Write as _;

/// A piece of HTML: text gets into it escaped only.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of ours.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }

    /// An element without attributes around text.
    pub(super) fn element(&mut self, name: &'static str, text: &str) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "<{name}>");
        self.text(text);
        let _ = write!(self.0, "</{name}>");
        self
    }

    /// A link within the page.
    pub(super) fn link(&mut self, anchor: &str, text: &str) -> &mut Self {
        self.raw("<a href=\"#").text(anchor).raw("\">").text(text).raw("</a>")
    }

    /// Text in which backticks enclose code.
    pub(super) fn inline(&mut self, text: &str) -> &mut Self {
        for (index, part) in text.split('`').enumerate() {
            if index % 2 == 1 {
                self.element("code", part);
            } else {
                self.text(part);
            }
        }
        self
    }

    /// Paragraphs of such text, with empty lines between them.
    pub(super) fn prose(&mut self, text: &str) -> &mut Self {
        for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            self.raw("<p>").inline(paragraph).raw("</p>");
        }
        self
    }

    /// The whole.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut html = Html::default();
        html.prose("a `<b>` & \"c\"\n\n<script>alert('x')</script>");
        assert_eq!(
            html.finish(),
            "<p>a <code>&lt;b&gt;</code> &amp; &quot;c&quot;</p>\
             <p>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</p>"
        );
    }
}
