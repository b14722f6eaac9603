//! Asks the checker for the exact set of final states and of races of a program.
//!
//! One run compares with an expected set: each state is demanded as reachable, and one assertion says that there is no
//! other. If that fails, states are looked for one by one, each time excluding those found.

use crate::names::Names;
use crate::table::{Behaviour, State};
use fencepost::check::{CheckError, Config, Limits, check};
use fencepost::encode::Treatment;
use fencepost::encode::goal::GoalKind;
use fencepost::verdict::{Finding, Outcome, Property, Vacuity, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::{
    Address, AddressBase, BinaryOp, Expression, ExpressionKind, FinalCondition, FinalKind, Kernel,
    LitmusCondition, Program, Quantifier, UnaryOp,
};
use fencepost_dsl::{FileId, Span};
use fencepost_tests::run::verdict;
use std::collections::{BTreeMap, BTreeSet};

/// More final states than this are a mistake of the author.
const STATES_MAX: usize = 64;
/// A value that nothing in the corpus writes.
const NOBODYS: i64 = 0x7a7b;

/// What the checker says of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// States and races.
    pub behaviour: Behaviour,
    /// Whether the file's own condition, or every claim of its `final` block, is true.
    pub own_claims_hold: bool,
}

/// The checker's answer; `expected` only makes it cheaper, but for whether threads may wait for ever: that is answered
/// if it is there.
pub fn ask(
    program: &Program,
    model: &MemoryModel,
    observed: &[String],
    expected: &Behaviour,
) -> Result<Answer, String> {
    let asks_about_hangs = expected.hangs.is_some();
    let expected = &expected.states;
    let observed = operands(&program.kernels[0], observed)?;
    let mut program = program.clone();
    let kernel = &mut program.kernels[0];
    let n_own = kernel.finals.len();
    let mut finals = Vec::new();
    for (at, state) in expected.iter().enumerate() {
        let condition = is_state(&observed, state);
        finals.push(FinalCondition { span: place(at), kind: FinalKind::Reachable, condition });
    }
    let condition = any_state(&observed, expected);
    finals.push(FinalCondition { span: place(expected.len()), kind: FinalKind::Assert, condition });
    kernel.finals.extend(finals);
    let mut properties = vec![Property::Race, Property::Assert, Property::Reachable, Property::Condition];
    if asks_about_hangs {
        properties.push(Property::Deadlock);
    }
    let outcome = run(&program, model, &properties)?;

    let n_known = n_own + expected.len();
    let broken: Vec<usize> = outcome
        .findings
        .iter()
        .filter_map(|finding| match finding.witness.claim {
            GoalKind::Final(index) => Some(index),
            _ => None,
        })
        .collect();
    let ours = |span: Span| span.file == nowhere();
    let unreached = |of_ours: bool| {
        outcome.vacuity.iter().any(|vacuity| match vacuity {
            Vacuity::Unreachable(span) => ours(*span) == of_ours,
            Vacuity::NothingCompletes | Vacuity::FilteredOut(_) => false,
        })
    };
    let states = if unreached(true) || broken.contains(&n_known) {
        all_states(&program, model, &observed)?
    } else {
        expected.clone()
    };
    let condition = outcome.condition.as_ref().is_none_or(|result| result.holds == Some(true));
    let own_claims_hold = condition && !unreached(false) && broken.iter().all(|&index| index >= n_own);
    let hangs = asks_about_hangs.then(|| verdict(&outcome, Property::Deadlock) == Verdict::Violated);
    Ok(Answer { behaviour: Behaviour { states, races: races(&outcome), hangs }, own_claims_hold })
}

fn run(program: &Program, model: &MemoryModel, properties: &[Property]) -> Result<Outcome, String> {
    let kernel = &program.kernels[0];
    let limits = Limits { findings_max: 10_000, ..Limits::default() };
    let properties = properties.to_vec();
    let config = Config { properties, limits, ..Config::without_deadline(Treatment::DEFAULT) };
    let outcome = match check(program, kernel, &kernel.launches[0], model, &config) {
        Ok(outcome) => outcome,
        Err(CheckError::Unsupported(error)) => return Err(error.message.clone()),
        Err(error @ CheckError::SelfCheck { .. }) => return Err(error.to_string()),
    };
    match (&outcome.limit, outcome.open_loops.is_empty()) {
        (None, true) => Ok(outcome),
        _ => Err("a loop is cut off: the corpus has only shapes that are decided for good".into()),
    }
}

/// Finds states until there are no more.
fn all_states(
    program: &Program,
    model: &MemoryModel,
    observed: &[(String, Expression)],
) -> Result<BTreeSet<State>, String> {
    let mut program = program.clone();
    let mut found: BTreeSet<State> = BTreeSet::new();
    loop {
        // With a state that nobody can reach, so that the first question is about the operands, too.
        let mut excluded = found.clone();
        excluded.insert(vec![NOBODYS; observed.len()]);
        let condition = negation(any_state(observed, &excluded));
        program.kernels[0].condition =
            Some(LitmusCondition { span: place(0), quantifier: Quantifier::Exists, condition, filter: None });
        let outcome = run(&program, model, &[Property::Condition])?;
        let witness = outcome.condition.as_ref().and_then(|result| result.witness.as_ref());
        let (Some(witness), Some(goal)) = (witness, &outcome.graph.condition) else { return Ok(found) };
        let values: BTreeMap<&str, u128> =
            goal.values.iter().map(|(name, term)| (name.as_str(), witness.values[*term])).collect();
        let value = |(name, _): &(String, Expression)| {
            let low = u64::try_from(values[name.as_str()]).map_err(|_| format!("`{name}` is too wide"))?;
            Ok(low.cast_signed())
        };
        let state: Result<State, String> = observed.iter().map(value).collect();
        let is_new = found.insert(state?);
        if !is_new || found.len() > STATES_MAX {
            return Err(format!("no end of final states: {found:?}"));
        }
    }
}

/// A file of its own for what the suite adds.
fn nowhere() -> FileId {
    FileId(u32::MAX)
}

fn place(at: usize) -> Span {
    Span::new(nowhere(), at, at + 1)
}

/// What is observed, by name. In a kernel file the word `p1_r2` stands for the register `P1:r2`.
fn operands(kernel: &Kernel, observed: &[String]) -> Result<Vec<(String, Expression)>, String> {
    observed.iter().map(|name| operand(kernel, name)).collect()
}

fn operand(kernel: &Kernel, name: &str) -> Result<(String, Expression), String> {
    let of_object = |name: &str| {
        let (id, object) = kernel.objects.iter_enumerated().find(|(_, object)| object.name == name)?;
        let address = Address {
            span: place(0),
            base: AddressBase::Object(id),
            indices: Vec::new(),
            rank: None,
            device: None,
        };
        let kind = ExpressionKind::FinalValue(Box::new(address));
        Some((name.to_owned(), Expression { span: place(0), width: object.width, kind }))
    };
    let register = name.split_once(':').and_then(|(thread, _)| thread.strip_prefix('P')?.parse().ok());
    let Some(thread) = register else {
        return of_object(name).ok_or_else(|| format!("there is no location `{name}`"));
    };
    if kernel.condition.is_none() {
        let word = word(name);
        return of_object(&word).ok_or_else(|| format!("there is no word `{word}` for `{name}`"));
    }
    let (id, register) = kernel
        .registers
        .iter_enumerated()
        .find(|(_, register)| register.name == name)
        .ok_or_else(|| format!("there is no register `{name}`"))?;
    let kind = ExpressionKind::FinalRegister(thread, id);
    Ok((name.to_owned(), Expression { span: place(0), width: register.width, kind }))
}

/// `p1_r2` for `P1:r2`; locations keep their names.
pub fn word(name: &str) -> String {
    if name.contains(':') { name.to_lowercase().replace(':', "_") } else { name.to_owned() }
}

fn is_state(observed: &[(String, Expression)], state: &[i64]) -> Expression {
    let parts = observed.iter().zip(state).map(|((_, operand), &value)| {
        let mask = if operand.width >= 64 { u64::MAX } else { (1 << operand.width) - 1 };
        let value = ExpressionKind::Constant(u128::from(value.cast_unsigned() & mask));
        let value = Expression { kind: value, ..operand.clone() };
        binary(BinaryOp::Equal, operand.clone(), value)
    });
    parts.reduce(|left, right| binary(BinaryOp::And, left, right)).unwrap_or_else(|| constant(true))
}

fn any_state(observed: &[(String, Expression)], states: &BTreeSet<State>) -> Expression {
    let parts = states.iter().map(|state| is_state(observed, state));
    parts.reduce(|left, right| binary(BinaryOp::Or, left, right)).unwrap_or_else(|| constant(false))
}

fn binary(op: BinaryOp, left: Expression, right: Expression) -> Expression {
    let kind = ExpressionKind::Binary(op, Box::new(left), Box::new(right));
    Expression { span: place(0), width: 1, kind }
}

fn negation(of: Expression) -> Expression {
    Expression { span: place(0), width: 1, kind: ExpressionKind::Unary(UnaryOp::Not, Box::new(of)) }
}

fn constant(value: bool) -> Expression {
    Expression { span: place(0), width: 1, kind: ExpressionKind::Constant(value.into()) }
}

/// All races, each as its two instructions.
fn races(outcome: &Outcome) -> BTreeSet<String> {
    let names = Names::new(&outcome.graph);
    let ends = |finding: &Finding| match &finding.witness.claim {
        GoalKind::Flag { pair: (a, b), .. } => Some(names.race(names.of(*a), names.of(*b))),
        _ => None,
    };
    outcome.findings.iter().filter(|finding| finding.property == Property::Race).filter_map(ends).collect()
}
