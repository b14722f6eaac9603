//! `--format github`: workflow commands, which GitHub shows as annotations of the lines they are about.

use super::case::Case;
use super::json;
use super::place::{Position, position};
use super::remark::{remarks, subject};
use fencepost_dsl::{Diagnostic, SourceMap};

/// A line for each finding, and for each reason why nothing is decided; nothing for a proof. What is known or accepted is a
/// notice.
pub fn annotations(case: &Case<'_>) -> String {
    let own = || position(case.sources, case.kernel.span);
    let mut text = String::new();
    for finding in json::findings(case) {
        let at = finding.primary.map_or_else(own, |place| place.at);
        let mut message = vec![format!("{} ({})", finding.message, subject(case))];
        message.extend(finding.why.iter().map(|why| format!("why: {why}")));
        message.extend(finding.help.iter().map(|help| format!("help: {help}")));
        let level = if finding.known { "notice" } else { "error" };
        message.extend(finding.known.then(|| {
            format!("known: this is listed in {}", case.standing.baseline.unwrap_or("the baseline"))
        }));
        text += &command(level, Some(&at), finding.code, &message.join("\n"));
    }
    for remark in remarks(case) {
        let mut message = format!("{}: {}", subject(case), remark.text);
        let mut level = "warning";
        if let (Some((accepted, _)), Some(at)) = (case.standing.accepted, case.standing.accepted_at()) {
            message += &format!("\naccepted: {}, says {at}", accepted.reason);
            level = "notice";
        }
        let at = remark.at.unwrap_or_else(own);
        text += &command(level, Some(&at), remark.code.unwrap_or("inconclusive"), &message);
    }
    text
}

/// Lines for errors in a text.
pub fn rejected(sources: &SourceMap, errors: &[Diagnostic]) -> String {
    let line = |error: &Diagnostic| {
        let help = error.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"));
        let at = position(sources, error.span());
        command("error", Some(&at), error.code, &format!("{}{help}", error.message))
    };
    errors.iter().map(line).collect()
}

/// A line for something that was not checked, for a reason that has no place in a text.
pub fn refused(file: &str, code: &str, reason: &str) -> String {
    command(
        "error",
        None,
        if code.is_empty() { "internal error" } else { code },
        &format!("{file}: {reason}"),
    )
}

/// A workflow command. Of columns, GitHub wants both on one line.
pub(super) fn command(level: &str, at: Option<&Position>, title: &str, message: &str) -> String {
    let mut properties = Vec::new();
    if let Some(at) = at {
        // A runner takes it for a path.
        let file = if at.file == "<stdin>" { "stdin" } else { &at.file };
        properties.push(format!("file={}", property(file)));
        properties.push(format!("line={},endLine={}", at.line, at.end_line));
        if at.line == at.end_line {
            properties.push(format!("col={},endColumn={}", at.column, at.end_column));
        }
    }
    properties.push(format!("title={}", property(title)));
    format!("::{level} {}::{}\n", properties.join(","), data(message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::command;
    use crate::report::place::Position;

    #[test]
    fn standard_input_is_no_path_with_brackets() {
        let at = Position {
            file: "<stdin>".to_owned(),
            line: 2,
            column: 3,
            end_line: 3,
            end_column: 9,
            source: None,
            bytes: 12..18,
        };
        assert_eq!(command("error", Some(&at), "t", "m"), "::error file=stdin,line=2,endLine=3,title=t::m\n");
    }

    #[test]
    fn what_means_something_to_the_runner_is_escaped() {
        let file = "a,b:c.fence".to_owned();
        let at =
            Position { file, line: 2, column: 3, end_line: 2, end_column: 9, source: None, bytes: 12..18 };
        assert_eq!(
            command("error", Some(&at), "race::uniform", "100%\nsure: yes"),
            "::error file=a%2Cb%3Ac.fence,line=2,endLine=2,col=3,endColumn=9,title=race%3A%3Auniform::100%25%0Asure: yes\n"
        );
    }
}
