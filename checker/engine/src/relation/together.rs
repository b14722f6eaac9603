//! Which events may happen in one execution, and which always do together: by unit propagation over their guards.

use crate::bits::{BitMatrix, EventSet};
use crate::event::{EventGraph, EventId, EventKind, TermKind, TermPool, TermRef};
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedSet;
use indexmap::IndexSet;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// Which events exclude or imply one another, by unit propagation over guards and constraints.
pub(super) struct Togetherness {
    /// Pairs that may happen in one execution.
    pub(super) coexist: BitMatrix,
    /// The second happens in every execution in which the first does.
    pub(super) implies: BitMatrix,
    /// Of each read, what follows from its happening about the value that it returns.
    pub(super) about_values: FxHashMap<EventId, Vec<TermRef>>,
    /// The guard of each event, and what follows from each guard, if it does not contradict itself.
    guard_of: Vec<usize>,
    facts: Vec<Option<SortedSet<TermRef>>>,
}

impl Togetherness {
    /// Compares guards by sets of them: for each fact, the guards that it follows from.
    pub(super) fn new(graph: &EventGraph) -> Self {
        let n = graph.events.len();
        let propagation = Propagation::new(graph);
        let guards: IndexSet<TermRef> = graph.events.iter().map(|event| event.guard).collect();
        let guard_of: Vec<usize> =
            graph.events.iter().filter_map(|event| guards.get_index_of(&event.guard)).collect();
        let mut known = Known::nothing(&graph.terms);
        let closures: Vec<Option<SortedSet<TermRef>>> =
            guards.iter().map(|&guard| propagation.closure(&graph.terms, guard, &mut known)).collect();
        let numbers = |range: std::ops::Range<usize>| range.map(EventId::from_index);
        let mut known_by: FxHashMap<TermRef, EventSet> = FxHashMap::default();
        for (guard, facts) in numbers(0..guards.len()).zip(&closures) {
            for &fact in facts.iter().flatten() {
                known_by.entry(fact).or_insert_with(|| EventSet::empty(guards.len())).insert(guard);
            }
            crate::work::count(crate::work::Work::Word, 4 * facts.as_ref().map_or(0, SortedSet::len));
        }
        let nobody = EventSet::empty(guards.len());
        // Per guard, what it implies.
        let mut implied: Vec<EventSet> = vec![nobody.clone(); guards.len()];
        for (index, &guard) in guards.iter().enumerate() {
            if closures[index].is_none() {
                continue;
            }
            let conjuncts = graph.terms.conjuncts(guard).iter();
            let of = |fact| known_by.get(fact).unwrap_or(&nobody);
            let implying = conjuncts.map(of).fold(None, |all: Option<EventSet>, of_fact| {
                Some(all.map_or_else(|| of_fact.clone(), |all| all.intersection(of_fact)))
            });
            let implying = implying.unwrap_or_else(|| EventSet::full(guards.len()));
            crate::work::count(crate::work::Work::Word, guards.len() / 2);
            implying.iter().for_each(|by| implied[by.index()].insert(EventId::from_index(index)));
        }
        let never = EventSet::from_iter(
            guards.len(),
            numbers(0..guards.len()).filter(|guard| closures[guard.index()].is_none()),
        );
        let (mut coexist, mut implies) = (BitMatrix::empty(n), BitMatrix::empty(n));
        for (index, facts) in closures.iter().enumerate() {
            let Some(facts) = facts else { continue };
            let mut excluded = never.clone();
            for fact in facts {
                let opposite = match *graph.terms.kind(*fact) {
                    TermKind::Not(inner) => Some(inner),
                    _ => propagation.negations.get(fact).copied(),
                };
                if let Some(others) = opposite.and_then(|opposite| known_by.get(&opposite)) {
                    excluded.extend(others);
                }
            }
            crate::work::count(crate::work::Work::Word, n + facts.len() * (4 + guards.len() / 16));
            let events_of = |of: &dyn Fn(EventId) -> bool| {
                EventSet::from_fn(n, |event| of(EventId::from_index(guard_of[event.index()])))
            };
            let own = events_of(&|guard| guard.index() == index);
            coexist.fill(&own, &events_of(&|guard| !excluded.contains(guard)));
            implies.fill(&own, &events_of(&|guard| implied[index].contains(guard)));
        }
        let about_values = about_values(graph, |event| closures[guard_of[event.index()]].as_ref());
        Self { coexist, implies, about_values, guard_of, facts: closures }
    }

    /// What follows from an event's happening.
    pub(super) fn facts(&self, event: EventId) -> Option<&SortedSet<TermRef>> {
        self.facts[self.guard_of[event.index()]].as_ref()
    }
}

/// Of each of some guards, whether it contradicts the constraints.
pub fn contradict(graph: &EventGraph, guards: &[TermRef]) -> Vec<bool> {
    let propagation = Propagation::new(graph);
    let mut known = Known::nothing(&graph.terms);
    guards.iter().map(|&guard| propagation.closure(&graph.terms, guard, &mut known).is_none()).collect()
}

/// Of each read, the facts in which its value is compared with a constant.
fn about_values<'a>(
    graph: &EventGraph,
    facts: impl Fn(EventId) -> Option<&'a SortedSet<TermRef>>,
) -> FxHashMap<EventId, Vec<TermRef>> {
    let terms = &graph.terms;
    let mut of_unknown: FxHashMap<TermRef, EventId> = FxHashMap::default();
    for (id, event) in graph.events.iter_enumerated() {
        if let EventKind::Read(access) = &event.kind {
            of_unknown.insert(access.value, id);
        }
    }
    // Which comparisons there are, by the read that they are about.
    let mut comparisons: FxHashMap<EventId, Vec<TermRef>> = FxHashMap::default();
    for term in terms.all() {
        let compared = match *terms.kind(term) {
            TermKind::Not(inner) => inner,
            _ => term,
        };
        if let TermKind::Equal(a, b) | TermKind::Less(a, b) = *terms.kind(compared) {
            let (value, other) = if of_unknown.contains_key(&a) { (a, b) } else { (b, a) };
            if let (Some(&read), Some(_)) = (of_unknown.get(&value), terms.constant_value(other)) {
                comparisons.entry(read).or_default().push(term);
            }
        }
    }
    let known = |read: EventId, comparisons: Vec<TermRef>| {
        let facts = facts(read)?;
        let known: Vec<TermRef> = comparisons.into_iter().filter(|fact| facts.contains(fact)).collect();
        (!known.is_empty()).then_some((read, known))
    };
    comparisons.into_iter().filter_map(|(read, comparisons)| known(read, comparisons)).collect()
}

/// A constraint over terms.
struct Clause {
    members: Vec<TermRef>,
    /// Whether some member is 0; if not, some member is 1.
    are_denied: bool,
    /// Two members that were open when it was last looked at: where they still are, nothing follows.
    open: Cell<[usize; 2]>,
}

impl Clause {
    fn new(members: Vec<TermRef>, are_denied: bool) -> Self {
        let last = members.len().saturating_sub(1);
        Self { members, are_denied, open: Cell::new([0, last]) }
    }
}

/// Constraints as clauses over terms.
struct Propagation {
    clauses: Vec<Clause>,
    /// Clauses in which a term or its negation occurs.
    watching: FxHashMap<TermRef, Vec<usize>>,
    /// Clauses with a single member.
    facts: Vec<TermRef>,
    /// The negation of each term that has one in the pool.
    negations: FxHashMap<TermRef, TermRef>,
    /// Of a fact, the conjunctions among the members of clauses that it makes false by one conjunct.
    breaks: FxHashMap<TermRef, Vec<TermRef>>,
    /// Of such conjunctions, the conjuncts of which no single fact says so.
    others: FxHashMap<TermRef, Vec<TermRef>>,
    /// The conjunctions that clauses deny, each by the youngest of its conjuncts: they hold once all conjuncts do, and most often
    /// that is the last one to.
    denied: FxHashMap<TermRef, Vec<TermRef>>,
}

/// What follows from a guard, so far.
struct Known {
    facts: Vec<TermRef>,
    /// By term: whether it is a fact, and whether it is a conjunction that a fact makes false.
    is_fact: Vec<bool>,
    is_broken: Vec<bool>,
    broken: Vec<TermRef>,
}

impl Known {
    fn nothing(terms: &TermPool) -> Self {
        let unknown = vec![false; terms.n_terms()];
        Self { facts: Vec::new(), is_fact: unknown.clone(), is_broken: unknown, broken: Vec::new() }
    }
    /// Forgets all of it.
    fn clear(&mut self) {
        self.facts.drain(..).for_each(|fact| self.is_fact[fact.index()] = false);
        self.broken.drain(..).for_each(|broken| self.is_broken[broken.index()] = false);
    }
    fn contains(&self, term: TermRef) -> bool {
        self.is_fact[term.index()]
    }
    /// Whether a term is known, or all of its conjuncts are.
    fn is_true(&self, terms: &TermPool, term: TermRef) -> bool {
        self.contains(term) || terms.conjuncts(term).iter().all(|&conjunct| self.contains(conjunct))
    }
}

impl Propagation {
    fn new(graph: &EventGraph) -> Self {
        let mut this = Self {
            clauses: Vec::new(),
            watching: FxHashMap::default(),
            facts: Vec::new(),
            negations: graph.terms.negations(),
            breaks: FxHashMap::default(),
            others: FxHashMap::default(),
            denied: FxHashMap::default(),
        };
        let constraints = graph.constraints.iter().map(|constraint| constraint.term);
        for term in constraints.chain(graph.representative.iter().copied()) {
            for &conjunct in graph.terms.conjuncts(term) {
                match *graph.terms.kind(conjunct) {
                    TermKind::Or(ref members) => {
                        this.add(graph, Clause::new(members.to_vec(), false));
                    }
                    TermKind::Not(inner) => {
                        this.facts.push(conjunct);
                        this.add(graph, Clause::new(graph.terms.conjuncts(inner).to_vec(), true));
                    }
                    _ => this.facts.push(conjunct),
                }
            }
        }
        this
    }
    fn add(&mut self, graph: &EventGraph, clause: Clause) {
        let index = self.clauses.len();
        for &member in &clause.members {
            // `¬x` and `x` are both indexed under `x`: a new fact about `x` of either sign may falsify a member.
            let (key, is_denied) = match *graph.terms.kind(member) {
                TermKind::Not(inner) => (inner, true),
                _ => (member, false),
            };
            self.watching.entry(key).or_default().push(index);
            if is_denied != clause.are_denied
                && let TermKind::And(conjuncts) = graph.terms.kind(key)
                && let Some(&youngest) = conjuncts.iter().max()
            {
                let denied = self.denied.entry(youngest).or_default();
                if !denied.contains(&key) {
                    denied.push(key);
                }
            }
            if !clause.are_denied {
                self.note_conjunction(graph, member);
            }
        }
        self.clauses.push(clause);
    }

    /// Which facts make a conjunction false.
    fn note_conjunction(&mut self, graph: &EventGraph, member: TermRef) {
        let TermKind::And(conjuncts) = graph.terms.kind(member) else { return };
        if self.others.contains_key(&member) {
            return;
        }
        let mut others = Vec::new();
        for &conjunct in conjuncts {
            let opposite = match *graph.terms.kind(conjunct) {
                TermKind::Not(inner) if graph.terms.conjuncts(inner) == [inner] => Some(inner),
                TermKind::Not(_) | TermKind::And(_) => {
                    others.push(conjunct);
                    None
                }
                _ => self.negations.get(&conjunct).copied(),
            };
            opposite.into_iter().for_each(|fact| self.breaks.entry(fact).or_default().push(member));
        }
        self.others.insert(member, others);
    }
    /// Everything that follows from `guard` by unit propagation; `None` if a contradiction does. `known` is room for it.
    fn closure(&self, terms: &TermPool, guard: TermRef, known: &mut Known) -> Option<SortedSet<TermRef>> {
        if guard == TermPool::FALSE {
            return None;
        }
        known.clear();
        let mut queue: Vec<TermRef> = terms.conjuncts(guard).to_vec();
        queue.extend(&self.facts);
        // Conjunctions of which one conjunct is known.
        let mut partly: Vec<TermRef> = Vec::new();
        loop {
            let Some(fact) = queue.pop() else {
                let n_before = partly.len();
                partly.retain(|&all| {
                    let holds = terms.conjuncts(all).iter().all(|&conjunct| known.contains(conjunct));
                    if holds {
                        queue.push(all);
                    }
                    !holds
                });
                crate::work::count(crate::work::Work::Member, n_before);
                if queue.is_empty() {
                    break;
                }
                continue;
            };
            if fact == TermPool::FALSE {
                return None;
            }
            if fact == TermPool::TRUE || known.contains(fact) {
                continue;
            }
            known.facts.push(fact);
            known.is_fact[fact.index()] = true;
            for &broken in self.breaks.get(&fact).into_iter().flatten() {
                known.is_broken[broken.index()] = true;
                known.broken.push(broken);
            }
            queue.extend(terms.conjuncts(fact).iter().filter(|&&c| c != fact));
            partly.extend(self.denied.get(&fact).into_iter().flatten().filter(|&&all| !known.contains(all)));
            let key = match *terms.kind(fact) {
                TermKind::Not(inner) => inner,
                _ => fact,
            };
            for &clause in self.watching.get(&key).into_iter().flatten() {
                crate::work::count(crate::work::Work::Member, 1);
                queue.extend(self.unit(terms, &self.clauses[clause], known)?);
            }
        }
        Some(known.facts.iter().copied().collect())
    }

    /// The last member that can still be true, if all others are known false; `None` if all are.
    #[expect(clippy::option_option, reason = "contradiction, nothing new and a new fact are three outcomes")]
    fn unit(&self, terms: &TermPool, clause: &Clause, known: &Known) -> Option<Option<TermRef>> {
        let is_out = |member: TermRef| match clause.are_denied {
            true => known.is_true(terms, member),
            false => self.is_false(terms, member, known),
        };
        let [one, other] = clause.open.get();
        if one != other && [one, other].iter().all(|&at| !is_out(clause.members[at])) {
            return Some(None);
        }
        crate::work::count(crate::work::Work::Member, clause.members.len());
        let mut open = (0..clause.members.len()).filter(|&at| !is_out(clause.members[at]));
        match (open.next(), open.next()) {
            (None, _) => None,
            (Some(only), None) if clause.are_denied => Some(self.negation(terms, clause.members[only])),
            (Some(only), None) => Some(Some(clause.members[only])),
            (Some(one), Some(other)) => {
                clause.open.set([one, other]);
                Some(None)
            }
        }
    }

    /// The negation of a term, if there is a term for it.
    fn negation(&self, terms: &TermPool, term: TermRef) -> Option<TermRef> {
        match *terms.kind(term) {
            TermKind::Not(inner) => Some(inner),
            _ => self.negations.get(&term).copied(),
        }
    }

    fn is_false(&self, terms: &TermPool, member: TermRef, known: &Known) -> bool {
        match terms.kind(member) {
            TermKind::Not(inner) => known.is_true(terms, *inner),
            TermKind::And(members) => match self.others.get(&member) {
                Some(others) => {
                    known.is_broken[member.index()] || others.iter().any(|&m| self.is_false(terms, m, known))
                }
                None => members.iter().any(|&m| self.is_false(terms, m, known)),
            },
            _ => self.negations.get(&member).is_some_and(|&negation| known.contains(negation)),
        }
    }
}
