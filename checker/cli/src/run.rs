//! `fencepost run`: one execution, step by step.

use super::arguments::{Ask, RunFormat, RunOptions};
use super::output::Output;
use super::{Status, graph, load};
use fencepost::check::executions::{Executions, NoExecution, Ways};
use fencepost::check::{CheckError, Config, usual_properties};
use fencepost::models::{self, Model};
use fencepost::parallel::on_large_stack;
use fencepost::paths::Input;
use fencepost::report::Standing;
use fencepost::report::run::{self, Choice, NotDone, Run};
use fencepost::report::{Case, diagnostic};
use fencepost_dsl::kernel::program::{Kernel, Launch};
use fencepost_dsl::{Diagnostic, SourceMap};
use std::io::{self, BufRead, IsTerminal, Read};

/// Choices on standard input are no longer than this.
const CHOICES_BYTES_MAX: u64 = 1 << 20;

/// What each answer means.
const HELP: &str = "  Enter   the step that is marked, in its first way
  =0      the same step, but it reads 0
  #2      the same step, in its second way
  t1      the next step of t1; also t1=0 and t1#2
  5       on to step 5; also 5=0, 5#2 and 5t1
  e       on to the end
  u       take the last step back
  l       all steps so far
  q       no more
";

/// Goes through an execution and shows it.
pub fn run(options: &RunOptions, output: &mut Output) -> Status {
    let done = on_large_stack(|| done(options, output));
    match done.unwrap_or_else(|panic| Err((Status::Internal, panic))) {
        Ok(status) => status,
        Err((status, text)) => {
            output.complain(&format!("{}\n", text.trim_end()));
            status
        }
    }
}

type Failed = (Status, String);

fn rejected(reason: impl std::fmt::Display) -> Failed {
    (Status::Rejected, format!("error: {reason}"))
}

fn internal(error: &CheckError) -> Failed {
    (Status::Internal, format!("internal error: {error}"))
}

fn done(options: &RunOptions, output: &mut Output) -> Result<Status, Failed> {
    let choices = choices(options)?;
    let input = Input::named(&options.file);
    let style = output.error_style;
    let mut sources = SourceMap::default();
    let draw = |sources: &SourceMap, errors: &[Diagnostic]| {
        let drawn: Vec<String> =
            errors.iter().map(|error| diagnostic::input_error(sources, error, style)).collect();
        (Status::Rejected, drawn.join("\n"))
    };
    let program =
        load::program(&mut sources, &input, &options.program).map_err(|errors| draw(&sources, &errors))?;
    let name = options.program.model.as_deref().unwrap_or(models::usual(&program));
    let model = load::model(&mut sources, name, &options.program.variant)
        .map_err(|errors| draw(&sources, &errors))?;
    let wanted = (options.entry.as_deref(), options.launch.as_deref());
    let (kernel, launch) = run::meant(&program, wanted, &input.name).map_err(rejected)?;
    let config =
        Config { properties: usual_properties(kernel), ..load::config(&options.program, options.unroll_max) };
    let executions = Executions::new(&program, kernel, &launch, &model.resolved, &config)
        .map_err(|why| none(&why, (&input.name, kernel, &launch), |error| draw(&sources, &[error]).1))?;
    let case = Case {
        sources: &sources,
        file: &input.name,
        program: &program,
        kernel,
        model: name,
        variants: &options.program.variant,
        outcome: executions.outcome(),
        explanations: &[],
        standing: Standing::default(),
    };
    let mut run = Run::new(case, &executions);
    for choice in &choices {
        run.choose(choice).map_err(|error| match error {
            NotDone::Choice(why) => rejected(format!("--choose: {why}")),
            NotDone::Error(error) => internal(&error),
        })?;
    }
    if asks(options) {
        run = asked(run, output)?;
    } else {
        while run.go_on().map_err(|error| internal(&error))? {}
    }
    shown(&run, &model, options, output)
}

/// What is said at the end.
fn shown(run: &Run<'_>, model: &Model, options: &RunOptions, output: &mut Output) -> Result<Status, Failed> {
    let text = match options.format {
        RunFormat::Pretty => run::text(run, &model.resolved, output.style),
        RunFormat::Json => run::json(run, &model.resolved),
    };
    output.print(&text);
    Ok(match &options.graph {
        Some(file) => graph::write(file, &[graph::drawn(file, run.case(), &run::story(run))], output),
        None => Status::Fine,
    })
}

fn asks(options: &RunOptions) -> bool {
    match options.ask {
        Ask::Always => true,
        Ask::Never => false,
        Ask::Auto => {
            options.choose.is_empty()
                && options.format == RunFormat::Pretty
                && io::stdin().is_terminal()
                && io::stdout().is_terminal()
        }
    }
}

fn choices(options: &RunOptions) -> Result<Vec<Choice>, Failed> {
    let mut choices = Vec::new();
    for text in &options.choose {
        let text = if text == "-" {
            if options.file.as_os_str() == "-" {
                return Err(rejected("standard input can be the kernel or the choices, not both"));
            }
            let mut text = String::new();
            let read = io::stdin().lock().take(CHOICES_BYTES_MAX).read_to_string(&mut text);
            read.map_err(|error| rejected(format!("--choose -: {error}")))?;
            text
        } else {
            text.clone()
        };
        choices.extend(Choice::parse_all(&text).map_err(|why| rejected(format!("--choose: {why}")))?);
    }
    Ok(choices)
}

/// Why there is nothing to show.
fn none(why: &NoExecution, of: (&str, &Kernel, &Launch), draw: impl FnOnce(Diagnostic) -> String) -> Failed {
    match why {
        NoExecution::Limit(_) | NoExecution::Excluded => (Status::Undecided, run::none(why, of)),
        NoExecution::Error(CheckError::Unsupported(error)) => (Status::Rejected, draw((**error).clone())),
        NoExecution::Error(error) => internal(error),
    }
}

/// What somebody wants.
enum Wish {
    Choose(Choice),
    Until(usize),
    Next,
    End,
    Undo,
    List,
    Quit,
    Help,
}

fn wish(line: &str) -> Result<Wish, String> {
    Ok(match line.trim() {
        "" | "n" => Wish::Next,
        "e" => Wish::End,
        "u" => Wish::Undo,
        "l" => Wish::List,
        "q" => Wish::Quit,
        "?" | "h" => Wish::Help,
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => match number.parse() {
            Ok(step) => Wish::Until(step),
            Err(_) => return Err(format!("there is no step {number}")),
        },
        other => {
            Wish::Choose(Choice::parse(other).map_err(|_| format!("`{other}` is no answer; `?` lists them"))?)
        }
    })
}

/// Asks before each step what is to come.
fn asked<'a>(mut run: Run<'a>, output: &mut Output) -> Result<Run<'a>, Failed> {
    let style = output.style;
    output.print(&format!("{}: `?` lists the answers\n", run.case().file));
    let mut shown = 0;
    loop {
        for at in shown..run.done().len() {
            output.print(&run::deed(&run, at, style));
        }
        shown = run.done().len();
        let pending = pending(&mut run)?;
        output.print(&run::prompt(&run, pending.as_ref().map(|(agent, ways)| (*agent, ways)), style));
        if pending.is_none() {
            output.print(&format!("{}; `u` takes the last step back, `q` ends\n", run::end(&run)));
        }
        output.print("? ");
        output.flush();
        let mut line = String::new();
        let n_read = io::stdin().lock().read_line(&mut line).map_err(rejected)?;
        if n_read == 0 {
            // Whoever has hung up gets the rest.
            output.print("\n");
            while run.go_on().map_err(|error| internal(&error))? {}
            return Ok(run);
        }
        match wish(&line) {
            Ok(Wish::Quit) => return Ok(run),
            Ok(Wish::Help) => output.print(HELP),
            Ok(Wish::List) => shown = 0,
            Ok(Wish::Undo) if run.done().is_empty() => output.print("  nothing is done yet\n"),
            Ok(Wish::Undo) => {
                run = run.without_last().map_err(|error| internal(&error))?;
                shown = run.done().len();
            }
            Ok(Wish::Next) => advance(&mut run, |n| n == 1, output)?,
            Ok(Wish::End) => advance(&mut run, |_| false, output)?,
            Ok(Wish::Until(step)) => {
                let n_done = run.done().len();
                advance(&mut run, |n| n_done + n >= step, output)?;
            }
            Ok(Wish::Choose(choice)) => match run.choose(&choice) {
                Ok(()) => {}
                Err(NotDone::Choice(why)) => output.print(&format!("  {why}\n")),
                Err(NotDone::Error(error)) => return Err(internal(&error)),
            },
            Err(why) => output.print(&format!("  {why}\n")),
        }
    }
}

type Pending = Option<(fencepost::event::AgentId, Ways)>;

/// The step that comes next, and what it may come to.
fn pending(run: &mut Run<'_>) -> Result<Pending, Failed> {
    let Some(agent) = run.next() else { return Ok(None) };
    let ways = run.ways(agent).map_err(|error| internal(&error))?;
    Ok(Some((agent, ways)))
}

/// Takes steps until there have been enough of them.
fn advance(run: &mut Run<'_>, is_enough: impl Fn(usize) -> bool, output: &mut Output) -> Result<(), Failed> {
    let mut n = 0;
    while !is_enough(n) {
        if !run.go_on().map_err(|error| internal(&error))? {
            if n == 0 {
                output.print("  there is no other step\n");
            }
            break;
        }
        n += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Wish, wish};
    use fencepost::report::Style;

    #[test]
    fn answers_are_read() {
        assert!(matches!(wish("\n"), Ok(Wish::Next)));
        assert!(matches!(wish(" 12\n"), Ok(Wish::Until(12))));
        assert!(matches!(wish("t1=0"), Ok(Wish::Choose(_))));
        for bad in ["x", "99999999999999999999999", "t", "=,", "\u{1f600}"] {
            assert!(wish(bad).is_err_and(|why| why.chars().count() < Style::PLAIN.width), "{bad}");
        }
    }
}
