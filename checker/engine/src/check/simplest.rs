//! Which execution is shown: one of the smallest values of the parameters that go wrong in the same way, and one in which a read
//! that races with a write has not read from it, if there is any.
//!
//! A hang after three tiles that is there after two is two pages in place of one, and a value that comes from a later step is hard
//! to follow. Nothing is decided here: an execution is known, and another one is asked for that reaches one of the same goals.

use super::Decider;
use crate::cnf::Literal;
use crate::encode::goal::{Goal, GoalKind};
use crate::encode::{Encoding, Problem};
use crate::event::EventId;
use crate::solve::{Answer, Assignment, Effort, solve};

/// Values of a parameter that are tried.
const VALUES_MAX: usize = 8;
/// What part of the steps that were taken so far may be taken for that, and how many at least.
const SHARE: u64 = 2;
const STEPS_MIN: u64 = 2_000_000;

impl Decider<'_> {
    /// An assignment that makes one of some goals true, with the smallest values of the parameters that do so, those that are
    /// declared first before others; the one that is known, if no other is found within a share of the steps.
    pub(super) fn simplest(
        &self,
        problem: Problem<'_>,
        encoding: &Encoding,
        known: Assignment,
        goals: &[&Goal],
    ) -> Assignment {
        // Who stops at the first thing that is found asks whether there is any, as trials of changes do, and shows none.
        if self.config.limits.asks_only_whether() {
            return known;
        }
        let mut extra = vec![goals.iter().map(|goal| goal.literal).collect::<Vec<Literal>>()];
        let allowance = self.allowance.part((self.allowance.used() / SHARE).max(STEPS_MIN));
        // What is found is an execution, and is looked at as any; that there is none is not said to anybody.
        let ask = |asked: &[Vec<Literal>]| match solve(
            &encoding.formula,
            asked,
            &allowance,
            &mut Effort::default(),
        ) {
            Ok(Answer::Satisfiable(found)) => Some(found),
            _ => None,
        };
        let mut least = known;
        for &(_, unknown) in &problem.graph.parameters {
            let Some(bits) = encoding.blaster.unknown_bits.get(&unknown) else { continue };
            let is = |value: u128| {
                bits.iter()
                    .enumerate()
                    .map(move |(at, &bit)| vec![if value >> at & 1 == 1 { bit } else { !bit }])
            };
            let value_of = |assignment: &Assignment| {
                let set = bits.iter().enumerate().filter(|&(_, &bit)| assignment.is_true(bit));
                set.map(|(at, _)| 1 << at).sum::<u128>()
            };
            let smaller = problem.graph.terms.unknown(unknown).min..value_of(&least);
            for value in smaller.take(VALUES_MAX) {
                let asked: Vec<Vec<Literal>> = extra.iter().cloned().chain(is(value)).collect();
                if let Some(found) = ask(&asked) {
                    least = found;
                    break;
                }
            }
            extra.extend(is(value_of(&least)));
        }
        // From the write, or what comes with it or behind it: a copy writes each word by itself.
        let events = &problem.graph.events;
        let read_from = |read: EventId, write: EventId| {
            let sources = encoding.sources.get(&read).into_iter().flatten().flatten();
            let (agent, position) = (events[write].agent, events[write].position);
            let is_later = move |of: EventId| events[of].agent == agent && events[of].position >= position;
            sources.filter(move |source| is_later(source.write)).map(|source| source.literal)
        };
        let mut raced: Vec<Literal> = Vec::new();
        for goal in goals {
            if let GoalKind::Flag { pair: (a, b), .. } = goal.kind
                && events[a].agent != events[b].agent
            {
                raced.extend(read_from(a, b).chain(read_from(b, a)));
            }
        }
        if raced.iter().any(|&literal| least.is_true(literal)) {
            extra.extend(raced.into_iter().map(|literal| vec![!literal]));
            least = ask(&extra).unwrap_or(least);
        }
        least
    }
}
