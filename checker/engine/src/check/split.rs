//! Kernels with parameters, checked for each of their values.
//!
//! Where a parameter says how often a loop goes round, or whether something happens at all, what follows is under conditions
//! on it, and they multiply: two warps with two barriers a round take thousands of times the clauses that each value takes
//! alone. So a small range is split into its values; of a few threads one formula is the smaller one.
//! Values are checked in any order, and what came of them is joined to one outcome.
//!
//! Sound: a parameter has one value in an execution, the same for all threads. So the executions of a launch are those of each
//! value, and what none of these breaks none breaks. What some execution has to do (`reachable`, an end) one value has to do.
//!
//! Needs: nothing. Values that were not decided are joined as such.

use super::Config;
use crate::evidence::Evidence;
use crate::unroll::{n_threads, registers_of};
use crate::verdict::{Limit, Outcome, Property, Split, Vacuity, Verdict};
use fencepost_dsl::kernel::program::{
    Expression, Function, Kernel, Launch, Parameter, Program, RegisterId, Statement, StatementKind,
    any_statement,
};
use fencepost_dsl::sorted::SortedSet;

/// Values, or combinations of them, that are checked one by one; where there are more, they stay unknowns of one formula.
pub const VALUES_MAX: u64 = 16;

/// Each of them may take this part of the budget, however many there are.
pub(super) const LEAST_SHARE: u64 = 4;

/// A kernel with one value for each parameter.
#[derive(Clone, Debug)]
pub struct Part {
    /// The kernel.
    pub kernel: Kernel,
    /// Its share of the budget.
    pub budget: u64,
}

/// What to check one by one: each combination of values, the smallest first. `None` if it is to be checked as it is, since
/// there are too many of them, or one, or too few threads, or nothing depends on them but values.
pub fn parts(program: &Program, kernel: &Kernel, launch: &Launch, config: &Config) -> Option<Vec<Part>> {
    let n_values = kernel.parameters.iter().try_fold(1_u64, |n_values, own| {
        let width = (own.max - own.min).checked_add(1)?;
        n_values.checked_mul(width).filter(|&n_values| n_values <= VALUES_MAX)
    })?;
    if n_values <= 1
        || n_threads(launch) < config.treatment.split_from
        || kernel.condition.is_some()
        || !decide(program, kernel)
    {
        return None;
    }
    // What takes longest are large values, mostly; but a small one is where a mistake is found soonest.
    let weight = |place: u64| (place + 1) * (place + 1);
    let weights: u64 = (0..n_values).map(weight).sum();
    let share = |place: u64| match config.budget {
        u64::MAX => u64::MAX,
        budget => u64::try_from(u128::from(budget) * u128::from(weight(place)) / u128::from(weights))
            .unwrap_or(u64::MAX)
            .max(budget / LEAST_SHARE),
    };
    let part = |place: u64| {
        let mut kernel = kernel.clone();
        let mut rest = place;
        for own in kernel.parameters.iter_mut().rev() {
            let width = own.max - own.min + 1;
            let value = own.min + rest % width;
            rest /= width;
            *own = Parameter { min: value, max: value, ..own.clone() };
        }
        Part { kernel, budget: share(place) }
    };
    Some((0..n_values).map(part).collect())
}

/// Whether parameters decide what happens: a number of rounds, a branch, or what a function or a grid is called with.
fn decide(program: &Program, kernel: &Kernel) -> bool {
    if !kernel.tasks.is_empty() {
        return true;
    }
    let mut known: SortedSet<RegisterId> = kernel.parameters.iter().map(|own| own.register).collect();
    let depends = |expression: &Expression, known: &SortedSet<RegisterId>| {
        registers_of(expression).iter().any(|register| known.contains(register))
    };
    loop {
        let n_known = known.len();
        let mut found = Vec::new();
        let decides = any_statement(&kernel.body, &mut |statement: &Statement| match &statement.kind {
            StatementKind::Assign { register, value } => {
                if depends(value, &known) {
                    found.push(*register);
                }
                false
            }
            StatementKind::If { condition, .. }
            | StatementKind::While { condition, .. }
            | StatementKind::Await { condition, .. } => depends(condition, &known),
            StatementKind::For { start, end, .. } => depends(start, &known) || depends(end, &known),
            StatementKind::Call { function, values, .. } => {
                has_control(&program.functions[*function])
                    && values.iter().any(|value| depends(value, &known))
            }
            _ => false,
        });
        known.extend(found);
        if decides || known.len() == n_known {
            return decides;
        }
    }
}

/// Whether a function has branches, loops or calls.
fn has_control(function: &Function) -> bool {
    any_statement(&function.body, &mut |statement| {
        !matches!(
            statement.kind,
            StatementKind::Assign { .. } | StatementKind::Instruction(_) | StatementKind::Assert(_)
        )
    })
}

/// What is known of a launch, from what is known of each value, in the order of [`parts`].
///
/// # Panics
/// Without any.
pub fn join(parts: &[Part], mut outcomes: Vec<Outcome>, config: &Config) -> Outcome {
    let value = |place: usize| -> Vec<(String, u64)> {
        parts[place].kernel.parameters.iter().map(|own| (own.name.clone(), own.min)).collect()
    };
    for (place, outcome) in outcomes.iter_mut().enumerate() {
        outcome.evidence.iter_mut().for_each(|kept| kept.values = value(place));
    }
    let n_values = outcomes.len();
    let proved =
        (0..n_values).filter(|&place| outcomes[place].verdict == Verdict::Proved).map(value).collect();
    let elsewhere = elsewhere(&outcomes).into_iter().map(|(property, place)| (property, value(place)));
    let split = Split { n_values, shown: value(shown(&outcomes)), proved, elsewhere: elsewhere.collect() };
    Outcome { split: Some(split), ..join_all(outcomes, config) }
}

/// What is known of a launch, from what is known of it with each of some leaders.
pub(super) fn join_leaders(outcomes: Vec<Outcome>, config: &Config) -> Outcome {
    let others = elsewhere(&outcomes).into_iter();
    let other_leaders = others.map(|(property, place)| (property, outcomes[place].leaders.clone())).collect();
    Outcome { other_leaders, ..join_all(outcomes, config) }
}

/// Properties that others break and what is shown does not, with the first that does.
fn elsewhere(outcomes: &[Outcome]) -> Vec<(Property, usize)> {
    let shown = &outcomes[shown(outcomes)];
    let is_violated = |one: &Outcome, property: Property| {
        one.properties.iter().any(|&(own, verdict)| own == property && verdict == Verdict::Violated)
    };
    let broken = properties(outcomes).into_iter().filter(|&(_, verdict)| verdict == Verdict::Violated);
    let elsewhere = broken.filter(|&(property, _)| !is_violated(shown, property));
    elsewhere
        .filter_map(|(property, _)| {
            let place = outcomes.iter().position(|one| is_violated(one, property))?;
            Some((property, place))
        })
        .collect()
}

/// What is shown: the smallest value, or the first leader, of which something was found; or what keeps it from being proved.
fn shown(outcomes: &[Outcome]) -> usize {
    let ranks = [
        |one: &Outcome| one.verdict == Verdict::Violated,
        |one: &Outcome| one.unasked.is_some(),
        |one: &Outcome| one.limit.is_some(),
        |one: &Outcome| !one.open_loops.is_empty(),
        |one: &Outcome| one.verdict != Verdict::Vacuous,
        |_: &Outcome| true,
    ];
    ranks.iter().find_map(|is_it| outcomes.iter().position(is_it)).expect("something was checked")
}

/// What is known of all executions, from what is known of parts of them.
///
/// # Panics
/// Without any.
fn join_all(mut outcomes: Vec<Outcome>, config: &Config) -> Outcome {
    if outcomes.len() == 1 {
        return outcomes.swap_remove(0);
    }
    let verdicts = properties(&outcomes);
    let unreached = unreached(&outcomes);
    let shown = shown(&outcomes);
    let limit = outcomes.iter().find_map(|one| one.limit.clone()).map(|limit| match limit {
        // What was given is the budget of all.
        Limit::Budget { .. } => Limit::Budget { limit: config.budget },
        limit => limit,
    });
    let mut statistics = outcomes[shown].statistics.clone();
    for (_, other) in outcomes.iter().enumerate().filter(|&(place, _)| place != shown) {
        statistics.add(&other.statistics);
    }
    let mut unstated: Vec<Property> = outcomes.iter().flat_map(|one| one.unstated.clone()).collect();
    unstated.sort_unstable();
    unstated.dedup();
    let mut open_loops: Vec<_> = outcomes.iter().flat_map(|one| one.open_loops.clone()).collect();
    open_loops.sort();
    open_loops.dedup();
    let mut ignored_proxies: Vec<_> = outcomes.iter().flat_map(|one| one.ignored_proxies.clone()).collect();
    ignored_proxies.sort_unstable();
    ignored_proxies.dedup();
    let unroll = outcomes.iter().map(|one| one.unroll).max().unwrap_or(config.unroll);
    let raise_limit = outcomes.iter().find_map(|one| one.raise_limit.clone());
    let mut evidence: Vec<Evidence> = Vec::new();
    for outcome in &mut outcomes {
        evidence.append(&mut outcome.evidence);
    }
    let one = outcomes.remove(shown);
    let mut others = one.others;
    for other in outcomes {
        others.push(other.graph);
        others.extend(other.others);
    }
    Outcome {
        verdict: verdicts.iter().map(|&(_, verdict)| verdict).max().unwrap_or(Verdict::Inconclusive),
        properties: verdicts,
        unstated,
        unroll,
        open_loops,
        vacuity: unreached,
        limit,
        raise_limit,
        ignored_proxies,
        statistics,
        evidence,
        others,
        ..one
    }
}

/// Whether a value tells what no execution of it does.
fn is_decided(one: &Outcome) -> bool {
    one.limit.is_none()
}

/// What no value does.
fn unreached(outcomes: &[Outcome]) -> Vec<Vacuity> {
    let decided: Vec<&Outcome> = outcomes.iter().filter(|one| is_decided(one)).collect();
    let Some((first, others)) = decided.split_first() else { return Vec::new() };
    let is_all = decided.len() == outcomes.len();
    let by_none = first.vacuity.iter().filter(|own| others.iter().all(|other| other.vacuity.contains(own)));
    // A value that was not decided may do it.
    by_none.filter(|_| is_all).cloned().collect()
}

/// The verdict of each property that all values have one of.
fn properties(outcomes: &[Outcome]) -> Vec<(Property, Verdict)> {
    let of = |one: &Outcome, property: Property| {
        one.properties.iter().find(|(own, _)| *own == property).map(|&(_, verdict)| verdict)
    };
    let Some(first) = outcomes.first() else { return Vec::new() };
    let joined = first.properties.iter().filter_map(|&(property, _)| {
        let verdicts: Option<Vec<Verdict>> = outcomes.iter().map(|one| of(one, property)).collect();
        let verdicts = verdicts?;
        let verdict = match property {
            Property::Reachable => reached(outcomes, &verdicts),
            _ => worst(&verdicts),
        };
        Some((property, verdict))
    });
    joined.collect()
}

/// The worst of what says something; vacuous only if nothing does.
fn worst(verdicts: &[Verdict]) -> Verdict {
    let telling = verdicts.iter().copied().filter(|&verdict| verdict != Verdict::Vacuous);
    telling.max().unwrap_or(Verdict::Vacuous)
}

/// The verdict of `reachable`, and of that something ends at all: some value has to do it.
fn reached(outcomes: &[Outcome], verdicts: &[Verdict]) -> Verdict {
    let decided: Vec<&Outcome> = outcomes.iter().filter(|one| is_decided(one)).collect();
    let is_missing = match decided.split_first() {
        Some((first, others)) => {
            let is_asked = |own: &&Vacuity| !matches!(own, Vacuity::FilteredOut(_));
            let mut of_first = first.vacuity.iter().filter(is_asked);
            of_first.any(|own| others.iter().all(|other| other.vacuity.contains(own)))
        }
        None => true,
    };
    let is_open = outcomes.iter().any(|one| !one.open_loops.is_empty());
    match (is_missing, decided.len() == outcomes.len()) {
        (true, false) => Verdict::Inconclusive,
        (true, true) => Verdict::Vacuous,
        // One of the values would have said so, had it been asked alone.
        (false, _) if verdicts.contains(&Verdict::Violated) => Verdict::Violated,
        (false, _) if is_open => Verdict::ProvedUpToBound,
        (false, _) => Verdict::Proved,
    }
}
