//! Text in documents of markup.

/// Text for XML and HTML, whatever characters it has.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            // XML has no other control characters, not even escaped.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
        assert_eq!(escaped("\u{1b}[0m\0"), "\u{fffd}[0m\u{fffd}");
    }

    #[test]
    fn markup_and_what_xml_cannot_hold_are_replaced() {
        assert_eq!(escaped("a < b && \"c\"\n\u{1b}"), "a &lt; b &amp;&amp; &quot;c&quot;\n\u{fffd}");
    }
}
