//! What the constraints of a graph say of some unknowns.
//!
//! What many threads have in common, that a barrier was passed for one, tells nothing apart and is not counted.
//!
//! A constraint is a disjunction. It says something of the unknowns at hand only if each of its alternatives does: else
//! the others' can always be such that it holds. Of an alternative that is a conjunction only the conjuncts that are about
//! them are kept; that makes it weaker, hence admits more executions.

use crate::event::{AgentId, EventGraph, TermKind, TermPool, TermRef, UnknownId};
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The unknowns of a term.
type Unknowns = Arc<[UnknownId]>;

/// An alternative of a constraint.
#[derive(Clone)]
pub enum Alternative {
    /// A term.
    Term(TermRef),
    /// That it is 0.
    Denied(TermRef),
    /// All of them.
    All(Arc<[TermRef]>),
}

impl Alternative {
    /// As one term.
    pub fn to_term(&self, terms: &mut TermPool) -> TermRef {
        match self {
            Self::Term(term) => *term,
            Self::Denied(term) => terms.not(*term),
            Self::All(conjuncts) => terms.and_all(conjuncts.iter().copied()),
        }
    }
}

/// An alternative as it is in the graph: a term, and whether it has to be 1 or 0.
type Wanted = (TermRef, bool);

/// The constraints of a graph, by what they are about.
pub struct Constraints {
    /// Per constraint its alternatives, the one about the fewest unknowns first.
    constraints: Vec<Vec<Wanted>>,
    of_term: FxHashMap<TermRef, Unknowns>,
    /// Of each alternative that is a conjunction, its conjuncts.
    conjuncts: FxHashMap<TermRef, Conjuncts>,
    /// By the unknowns of the first alternative.
    by_unknown: FxHashMap<UnknownId, Vec<usize>>,
    /// Unknowns on the paths of many threads.
    common: FxHashSet<UnknownId>,
}

/// The conjuncts of a term, and by unknown the places of those that are about it.
struct Conjuncts {
    members: Vec<TermRef>,
    about: FxHashMap<UnknownId, Vec<usize>>,
}

impl Conjuncts {
    /// Those that are about one of some unknowns.
    fn about(&self, unknowns: &SortedSet<UnknownId>) -> Arc<[TermRef]> {
        let places = unknowns.iter().filter_map(|unknown| self.about.get(unknown)).flatten();
        let places: SortedSet<usize> = places.copied().collect();
        places.into_iter().map(|place| self.members[place]).collect()
    }
}

/// An unknown on the paths of more threads than this is common.
const THREADS_MAX: usize = 8;

impl Constraints {
    /// Those of a graph.
    pub fn new(graph: &EventGraph) -> Self {
        let mut this = Self {
            constraints: Vec::new(),
            of_term: FxHashMap::default(),
            conjuncts: FxHashMap::default(),
            by_unknown: FxHashMap::default(),
            common: common(graph),
        };
        for (index, constraint) in graph.constraints.iter().enumerate() {
            let mut alternatives = Vec::new();
            add_alternatives(graph, (constraint.term, true), &mut alternatives);
            for &(term, is_wanted) in &alternatives {
                this.note(graph, term);
                if let TermKind::And(members) = graph.terms.kind(term)
                    && is_wanted
                    && !this.conjuncts.contains_key(&term)
                {
                    let mut about: FxHashMap<UnknownId, Vec<usize>> = FxHashMap::default();
                    for (place, &member) in members.iter().enumerate() {
                        this.note(graph, member);
                        for &unknown in this.of_term[&member].iter() {
                            about.entry(unknown).or_default().push(place);
                        }
                    }
                    this.conjuncts.insert(term, Conjuncts { members: members.to_vec(), about });
                }
            }
            // What is about nothing but what many have in common tells least of which slices it is for.
            let is_common = |term: &TermRef| this.of_term[term].iter().all(|own| this.common.contains(own));
            alternatives.sort_by_key(|(term, _)| (is_common(term), this.of_term[term].len()));
            for &unknown in alternatives.first().into_iter().flat_map(|(term, _)| this.of_term[term].iter()) {
                this.by_unknown.entry(unknown).or_default().push(index);
            }
            this.constraints.push(alternatives);
        }
        this
    }

    fn note(&mut self, graph: &EventGraph, term: TermRef) {
        let all = || match *graph.terms.kind(term) {
            // What gives an unknown its value is about that one.
            TermKind::Equal(a, b) => match (graph.terms.kind(a), graph.terms.kind(b)) {
                (&TermKind::Unknown(a), &TermKind::Unknown(b)) => SortedSet::from([a, b]),
                (&TermKind::Unknown(own), _) | (_, &TermKind::Unknown(own)) => SortedSet::from([own]),
                _ => unknowns_of(graph, vec![term]),
            },
            _ => unknowns_of(graph, vec![term]),
        };
        let of_term = || {
            let all = all();
            let own: Unknowns =
                all.iter().filter(|unknown| !self.common.contains(unknown)).copied().collect();
            if own.is_empty() { all.into_iter().collect() } else { own }
        };
        self.of_term.entry(term).or_insert_with(of_term);
    }

    /// What they say of some unknowns.
    pub fn about(&self, unknowns: &SortedSet<UnknownId>) -> Vec<Vec<Alternative>> {
        let found: SortedSet<usize> =
            unknowns.iter().filter_map(|unknown| self.by_unknown.get(unknown)).flatten().copied().collect();
        let is_about = |term: &TermRef| self.of_term[term].iter().any(|unknown| unknowns.contains(unknown));
        // Long alternatives are shared by many constraints.
        let mut known: FxHashMap<Wanted, Option<Alternative>> = FxHashMap::default();
        let what_is_left = |(term, is_wanted): Wanted| match self.conjuncts.get(&term) {
            Some(conjuncts) if is_wanted => {
                let left = conjuncts.about(unknowns);
                (!left.is_empty()).then_some(Alternative::All(left))
            }
            _ if !is_about(&term) => None,
            _ if is_wanted => Some(Alternative::Term(term)),
            _ => Some(Alternative::Denied(term)),
        };
        let mut kept = Vec::new();
        for index in found {
            let alternatives = self.constraints[index]
                .iter()
                .map(|&wanted| known.entry(wanted).or_insert_with(|| what_is_left(wanted)).clone());
            kept.extend(alternatives.collect::<Option<Vec<Alternative>>>());
        }
        kept
    }
}

/// Takes a disjunction, or what denies a conjunction, apart.
fn add_alternatives(graph: &EventGraph, (term, is_wanted): Wanted, found: &mut Vec<Wanted>) {
    match graph.terms.kind(term) {
        TermKind::Not(inner) => add_alternatives(graph, (*inner, !is_wanted), found),
        TermKind::Or(members) if is_wanted => {
            members.iter().for_each(|&member| add_alternatives(graph, (member, true), found));
        }
        TermKind::And(members) if !is_wanted => {
            members.iter().for_each(|&member| add_alternatives(graph, (member, false), found));
        }
        _ => found.push((term, is_wanted)),
    }
}

/// The unknowns on the paths of many threads.
fn common(graph: &EventGraph) -> FxHashSet<UnknownId> {
    let mut last: FxHashMap<UnknownId, (AgentId, usize)> = FxHashMap::default();
    let mut seen: FxHashSet<(AgentId, TermRef)> = FxHashSet::default();
    for event in graph.events.iter() {
        let Some(agent) = event.agent else { continue };
        let agent = graph.hierarchy.issuer(agent);
        for &conjunct in graph.terms.conjuncts(event.guard) {
            if let (true, TermKind::Unknown(unknown)) =
                (seen.insert((agent, conjunct)), graph.terms.kind(conjunct))
            {
                let (thread, n_threads) = last.entry(*unknown).or_insert((agent, 1));
                if *thread != agent {
                    (*thread, *n_threads) = (agent, *n_threads + 1);
                }
            }
        }
    }
    last.into_iter()
        .filter(|(_, (_, n_threads))| *n_threads > THREADS_MAX)
        .map(|(unknown, _)| unknown)
        .collect()
}

/// The unknowns that occur in terms.
pub fn unknowns_of(graph: &EventGraph, mut terms: Vec<TermRef>) -> SortedSet<UnknownId> {
    let mut seen: FxHashSet<TermRef> = FxHashSet::default();
    let mut found = SortedSet::new();
    while let Some(term) = terms.pop() {
        if !seen.insert(term) {
            continue;
        }
        if let TermKind::Unknown(unknown) = graph.terms.kind(term) {
            found.insert(*unknown);
        }
        terms.extend(graph.terms.operands(term));
    }
    found
}
