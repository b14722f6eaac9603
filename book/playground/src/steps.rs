//! An execution, step by step: each request names all that was chosen, and is answered with what has happened and what can come.

use crate::requests::Request;
use fencepost::check::executions::{Executions, NoExecution};
use fencepost::check::{CheckError, Config, UNROLL, UNROLL_MAX, usual_properties};
use fencepost::dsl::index::Id;
use fencepost::dsl::kernel::{LoadOptions, load};
use fencepost::dsl::{Diagnostic, SourceMap, litmus};
use fencepost::encode::Treatment;
use fencepost::event::AgentId;
use fencepost::models::{self, Model};
use fencepost::report::picture::svg;
use fencepost::report::run::{self, Choice, Run, Standing};
use fencepost::report::Standing as Known;
use fencepost::report::{Case, Style, diagnostic};
use serde_json::{Value, json};

/// What a page writes for a step that nobody chose.
const NEXT: &str = "+";
/// And for all that are left.
const ALL: &str = "*";
/// Steps taken at most.
const STEPS_MAX: usize = 2_000;
/// What all of them could come to is told of few threads only; of more, what the next one could.
const AGENTS_MAX: usize = 8;

/// What has happened and what can come, or what is wrong.
pub(crate) fn run(request: &Request<'_>) -> Value {
    told(request).unwrap_or_else(|error| json!({ "error": error }))
}

fn told(request: &Request<'_>) -> Result<Value, String> {
    let mut sources = SourceMap::default();
    let draw = |sources: &SourceMap, errors: &[Diagnostic]| {
        let drawn: Vec<String> =
            errors.iter().map(|error| diagnostic::input_error(sources, error, request.style())).collect();
        drawn.join("\n")
    };
    let mut read = |wanted: &str| request.read(wanted);
    let program = if request.is_litmus() {
        litmus::load(&mut sources, request.name, &mut read)
    } else {
        load(&mut sources, request.name, &mut read, &LoadOptions::default())
    };
    let program = program.map_err(|errors| draw(&sources, &errors))?;
    let name = models::usual(&program);
    let model = Model::load(&mut sources, name, &[], &mut read).map_err(|errors| draw(&sources, &errors))?;
    let wanted = (request.word("entry"), request.word("launch"));
    let (kernel, launch) = run::meant(&program, wanted, request.name)?;
    let config = Config {
        properties: usual_properties(kernel),
        unroll: UNROLL,
        unroll_max: UNROLL_MAX,
        ..Config::without_deadline(Treatment::DEFAULT)
    };
    let executions = Executions::new(&program, kernel, &launch, &model.resolved, &config);
    let executions = executions.map_err(|why| match &why {
        NoExecution::Error(CheckError::Unsupported(error)) => draw(&sources, &[(**error).clone()]),
        _ => run::none(&why, (request.name, kernel, &launch)),
    })?;
    let case = Case {
        sources: &sources,
        file: request.name,
        program: &program,
        kernel,
        model: name,
        variants: &[],
        outcome: executions.outcome(),
        explanations: &[],
        standing: Known::default(),
    };
    let mut run = Run::new(case, &executions);
    for choice in request.words("choices") {
        take(&mut run, choice)?;
    }
    shown(&mut run, &model, request.style())
}

fn take(run: &mut Run<'_>, choice: &str) -> Result<(), String> {
    match choice {
        NEXT => run.go_on().map(|_| ()).map_err(|error| error.to_string()),
        ALL => {
            while run.done().len() < STEPS_MAX && run.go_on().map_err(|error| error.to_string())? {}
            Ok(())
        }
        _ => run.choose(&Choice::parse(choice)?).map_err(|error| error.to_string()),
    }
}

fn shown(run: &mut Run<'_>, model: &Model, style: Style) -> Result<Value, String> {
    let next = run.next();
    let agents = run.agents();
    let mut standing = Vec::new();
    for &agent in &agents {
        let can = matches!(run.standing(agent), Standing::Can(_) | Standing::Stops);
        let Some(told) = run::standing(run, agent) else { continue };
        let is_next = next == Some(agent);
        let has_ways = can && (is_next || agents.len() <= AGENTS_MAX);
        standing.push(json!({
            "agent": format!("t{}", agent.index()),
            "name": run.name(agent),
            "told": told,
            "can": can,
            "next": is_next,
            "ways": if has_ways { ways(run, agent)? } else { json!([]) },
        }));
    }
    let steps: Vec<String> = (0..run.done().len()).map(|at| run::deed(run, at, Style::PLAIN)).collect();
    Ok(json!({
        "steps": steps,
        "standing": standing,
        "over": next.is_none(),
        "end": run::end(run),
        "text": if next.is_none() { run::text(run, &model.resolved, style) } else { String::new() },
        "picture": if steps_of_memory(run) { svg::svg(&run::story(run)) } else { String::new() },
    }))
}

fn ways(run: &mut Run<'_>, agent: AgentId) -> Result<Value, String> {
    let ways = run.ways(agent).map_err(|error| error.to_string())?;
    Ok(json!(run::ways(run, agent, &ways)))
}

/// Whether anything was done that there is a picture of.
fn steps_of_memory(run: &Run<'_>) -> bool {
    run.done().iter().any(|done| !done.deed.events.is_empty())
}
