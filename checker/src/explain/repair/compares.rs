//! Proposals for what a wait compares with, and how: the comparison the other way round, or one that holds later, in any of
//! the forms that a wait has: `await`, an empty `while`, and a loop that is left.
//!
//! Cannot: see what is wrong with conditions of several comparisons.

use super::super::Subject;
use super::propose::{Ground, Proposal};
use super::syntax::NodeKind;
use super::text::Edit;
use fencepost_dsl::Span;

/// Comparisons, longer ones first; what holds instead, and what holds later: for waits until it holds, and while it does.
const SIGNS: &[Sign] = &[
    Sign { text: "==", other: Some("!="), until: None, during: None },
    Sign { text: "!=", other: Some("=="), until: None, during: None },
    Sign { text: ">=", other: None, until: Some(">"), during: None },
    Sign { text: "<=", other: None, until: Some("<"), during: None },
    Sign { text: ">", other: None, until: None, during: Some(">=") },
    Sign { text: "<", other: None, until: None, during: Some("<=") },
];

struct Sign {
    text: &'static str,
    other: Option<&'static str>,
    until: Option<&'static str>,
    during: Option<&'static str>,
}

/// The condition of a wait.
struct Condition {
    span: Span,
    /// Whether it waits until that holds; else while it does.
    until: bool,
}

/// Other comparisons, and numbers that are reached later.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    // What never ends would only be ended that way.
    if matches!(ground.explanation.subject, Subject::Deadlock { .. }) {
        return;
    }
    let sources = ground.texts.sources();
    for Condition { span, until } in conditions(ground) {
        let text = sources.text(span);
        let Some((at, sign)) = sign_of(text) else { continue };
        let part = |start: usize, end: usize| {
            let first = span.start as usize;
            Span::new(span.file, first + start, first + end)
        };
        let place = part(at, at + sign.text.len());
        let mut push = |rank: u32, place: Span, after: &str| {
            found.push(Proposal { rank, edits: vec![Edit::replace(sources, place, after)] });
        };
        if let Some(other) = sign.other {
            push(16, place, other);
        }
        if let Some(later) = if until { sign.until } else { sign.during } {
            push(17, place, later);
        }
        let behind = &text[at + sign.text.len()..];
        let number = behind.trim();
        let start = at + sign.text.len() + (behind.len() - behind.trim_start().len());
        let grows = if until { [">", ">="] } else { ["<", "<="] }.contains(&sign.text);
        if let Some(all) = number.strip_suffix("- 1").filter(|_| grows) {
            push(4, part(start, start + number.len()), all.trim_end());
        }
    }
}

/// The conditions of the waits of the text on memory.
fn conditions(ground: &Ground<'_>) -> Vec<Condition> {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let nodes = (0..syntax.nodes.len()).filter(|&node| ground.can_change(node));
    let condition = |node: usize| {
        let of = &syntax.nodes[node];
        let text = sources.text(of.span);
        let start = of.span.start as usize;
        let within = |from: usize, to: usize| Span::new(of.span.file, start + from, start + to);
        if let Some(rest) = text.strip_prefix("await ") {
            let end = text.len() - rest.len() + rest.trim_end().trim_end_matches(';').len();
            return Some(Condition { span: within("await ".len(), end), until: true });
        }
        let head = |word: &str| {
            let (head, body) = text.split_once('{')?;
            head.strip_prefix(word)?;
            Some((within(word.len(), head.trim_end().len()), body.trim_end().strip_suffix('}')?.trim()))
        };
        if let (Some((span, "")), NodeKind::Loop) = (head("while "), of.kind) {
            return Some(Condition { span, until: false });
        }
        let is_in_loop = of.parent.is_some_and(|around| syntax.nodes[around].kind == NodeKind::Loop);
        match head("if ") {
            Some((span, "break;")) if is_in_loop => Some(Condition { span, until: true }),
            _ => None,
        }
    };
    nodes.filter_map(condition).collect()
}

/// The one comparison of a condition, outside brackets.
fn sign_of(text: &str) -> Option<(usize, &'static Sign)> {
    if ["&&", "||", "<<", ">>", "?"].iter().any(|other| text.contains(other)) {
        return None;
    }
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => {
                if let Some(sign) = SIGNS.iter().find(|sign| text[at..].starts_with(sign.text)) {
                    return Some((at, sign));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::sign_of;

    #[test]
    fn a_comparison_is_found_outside_brackets() {
        let text = |condition| sign_of(condition).map(|(at, sign)| (at, sign.text));
        assert_eq!(text("ld.relaxed.gpu [a[i < 2 ? 1 : 0]] >= 3"), None, "two in one");
        assert_eq!(text("(atom.add.gpu.u32 [a], 1) == 0"), Some((26, "==")));
        assert_eq!(text("seen <= n - 1"), Some((5, "<=")));
        assert_eq!(text("ready"), None);
        assert_eq!(text("a == 1 && b == 2"), None);
    }
}
