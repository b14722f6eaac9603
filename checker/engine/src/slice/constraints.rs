//! What the constraints of a graph say of some unknowns.
//!
//! What many threads have in common, that a barrier was passed for one, tells nothing apart and is not counted.
//!
//! A constraint is a disjunction. It says something of the unknowns at hand only if each of its alternatives does: else
//! the others' can always be such that it holds. Of an alternative that is a conjunction only the conjuncts that are about
//! them are kept; that makes it weaker, hence admits more executions.
//!
//! An unknown that no event depends on, as the phase that an operation finds its mbarrier in, ties constraints together: each
//! can hold by its value, and not all. It is at hand where all else is that such a constraint is about.

use crate::event::{AgentId, EventGraph, TermKind, TermPool, TermRef, UnknownId};
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The unknowns of a term.
pub type Unknowns = Arc<[UnknownId]>;

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
    /// As one term of a pool that has these terms by other numbers.
    pub fn to_term(&self, terms: &mut TermPool, of: impl Fn(TermRef) -> TermRef) -> TermRef {
        match self {
            Self::Term(term) => of(*term),
            Self::Denied(term) => terms.not(of(*term)),
            Self::All(conjuncts) => terms.and_all(conjuncts.iter().map(|&term| of(term))),
        }
    }
    /// The terms that it is made of.
    pub fn terms(&self) -> &[TermRef] {
        match self {
            Self::Term(term) | Self::Denied(term) => std::slice::from_ref(term),
            Self::All(conjuncts) => conjuncts,
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
    /// Unknowns on which something of an event depends.
    of_events: FxHashSet<UnknownId>,
    /// Constraints with an alternative that is about none of these.
    with_auxiliary: FxHashSet<usize>,
    n_unknowns: usize,
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
            of_events: of_events(graph),
            with_auxiliary: FxHashSet::default(),
            n_unknowns: graph.terms.unknowns().len(),
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
            let is_common = |term: &TermRef| {
                this.of_term[term].iter().all(|own| this.common.contains(own)) || this.is_auxiliary(term)
            };
            alternatives.sort_by_key(|(term, _)| (is_common(term), this.of_term[term].len()));
            for &unknown in alternatives.first().into_iter().flat_map(|(term, _)| this.of_term[term].iter()) {
                this.by_unknown.entry(unknown).or_default().push(index);
            }
            if alternatives.iter().any(|(term, _)| this.is_auxiliary(term)) {
                this.with_auxiliary.insert(index);
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

    /// Whether a term is about nothing that an event depends on.
    fn is_auxiliary(&self, term: &TermRef) -> bool {
        self.of_term[term].iter().all(|unknown| !self.of_events.contains(unknown))
    }

    /// What they say of some unknowns; and these, with those that tie constraints about them together.
    pub fn about(&self, unknowns: SortedSet<UnknownId>) -> (Vec<Vec<Alternative>>, Here) {
        let mut here = Here::new(unknowns, self.n_unknowns);
        // What constraints about these are about besides may be what others are about.
        while self.add_auxiliary(&mut here) {}
        // Long alternatives are shared by many constraints.
        let mut known: FxHashMap<Wanted, Option<Alternative>> = FxHashMap::default();
        let what_is_left = |(term, is_wanted): Wanted| match self.conjuncts.get(&term) {
            Some(conjuncts) if is_wanted => {
                let left = conjuncts.about(&here.unknowns);
                (!left.is_empty()).then_some(Alternative::All(left))
            }
            _ if !here.is_about(&self.of_term[&term]) => None,
            _ if is_wanted => Some(Alternative::Term(term)),
            _ => Some(Alternative::Denied(term)),
        };
        let mut kept = Vec::new();
        for index in self.found(&here) {
            let alternatives = self.constraints[index]
                .iter()
                .map(|&wanted| known.entry(wanted).or_insert_with(|| what_is_left(wanted)).clone());
            kept.extend(alternatives.collect::<Option<Vec<Alternative>>>());
        }
        (kept, here)
    }

    /// The constraints that may say something of unknowns.
    fn found(&self, here: &Here) -> SortedSet<usize> {
        here.unknowns.iter().filter_map(|unknown| self.by_unknown.get(unknown)).flatten().copied().collect()
    }

    /// Adds unknowns of constraints of which all else is about what is there. Whether there were any.
    fn add_auxiliary(&self, here: &mut Here) -> bool {
        if self.with_auxiliary.is_empty() {
            return false;
        }
        let mut added: Vec<UnknownId> = Vec::new();
        for index in self.found(here).into_iter().filter(|index| self.with_auxiliary.contains(index)) {
            let mut others = Vec::new();
            let mut is_about = false;
            for (term, _) in &self.constraints[index] {
                if here.is_about(&self.of_term[term]) {
                    is_about = true;
                } else {
                    others.push(term);
                }
            }
            if is_about && others.iter().all(|term| self.is_auxiliary(term)) {
                added.extend(others.iter().flat_map(|term| self.of_term[term].iter()));
            }
        }
        let n_before = here.unknowns.len();
        added.into_iter().for_each(|unknown| here.add(unknown));
        here.unknowns.len() > n_before
    }
}

/// Unknowns at hand.
pub struct Here {
    unknowns: SortedSet<UnknownId>,
    is_there: Vec<bool>,
}

impl Here {
    fn new(unknowns: SortedSet<UnknownId>, n_unknowns: usize) -> Self {
        let mut is_there = vec![false; n_unknowns];
        unknowns.iter().for_each(|unknown| is_there[unknown.index()] = true);
        Self { unknowns, is_there }
    }

    fn add(&mut self, unknown: UnknownId) {
        self.is_there[unknown.index()] = true;
        self.unknowns.insert(unknown);
    }

    /// Whether one of these is among them.
    pub fn is_about(&self, of_term: &Unknowns) -> bool {
        of_term.iter().any(|unknown| self.is_there[unknown.index()])
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

/// The unknowns on which paths, places and values of events depend, and what is asked of threads.
fn of_events(graph: &EventGraph) -> FxHashSet<UnknownId> {
    let events = graph.events.iter().flat_map(|event| {
        let access = event.kind.access().into_iter().flat_map(|access| [access.offset, access.value]);
        access.chain([event.guard])
    });
    let obligations = graph.obligations.iter().flat_map(|own| [own.guard, own.condition]);
    let terms = events.chain(obligations).chain(graph.cuts.iter().map(|cut| cut.guard));
    unknowns_of(graph, terms.collect()).into_iter().collect()
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
