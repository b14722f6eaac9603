//! What is wrong with a text, as a value. Rendering is the business of whoever shows it.

use crate::span::Span;

/// A place with a short text of what is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there, in a few words; may be empty.
    pub text: String,
}

/// One error in a user's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// `family::kebab-name`, e.g. `syntax::unexpected-token`, `validate::missing-scope`.
    pub code: &'static str,
    /// One sentence: what is wrong. No final full stop.
    pub message: String,
    /// The place itself first, then places that explain it.
    pub labels: Vec<Label>,
    /// What to do about it, where there is one obvious repair.
    pub help: Option<String>,
    /// The rules it rests on, e.g. `FN-1`.
    pub rules: Vec<&'static str>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn new(code: &'static str, message: impl Into<String>, span: Span, label: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            labels: vec![Label { span, text: label.into() }],
            help: None,
            rules: Vec::new(),
        }
    }
    /// Adds a repair.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// Adds a place that explains the error.
    #[must_use]
    pub fn with_label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }
    /// Adds the rule it rests on; none if it is empty.
    #[must_use]
    pub fn with_rule(mut self, rule: &'static str) -> Self {
        if !rule.is_empty() {
            self.rules.push(rule);
        }
        self
    }
    /// The place of the error.
    pub fn span(&self) -> Span {
        self.labels[0].span
    }
}
