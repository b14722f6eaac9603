//! A memory model over a graph as clauses, plainly: a literal for each pair of each term that can be, and nothing that the
//! formulas of the checker have besides: no order among threads that are alike, no counting, no rounds.
//!
//! Pairs that a relation cannot have are left out, and those that it must have are what makes both events happen, by the plain
//! bounds of this crate. A closure is any relation that has what it is the closure of and is closed: larger than it need be it
//! only forbids more and excuses more, so nothing is found that is not there, and whatever is there is found with the closure
//! as it is. Where that is the wrong way round, it is made of ways of twice the length, over and over.

use super::state::State;
use crate::bits::Relation;
use crate::cnf::Goal;
use crate::execution::Shows;
use crate::model::{Range, ranges};
use fencepost_dsl::cat::MemoryModel;
use fencepost_dsl::cat::memory_model::{
    AxiomKind, BaseRelation, BaseSet, RelationKind, SetKind, TermId, TermKind,
};
use std::collections::{BTreeMap, HashMap, HashSet};

type Pair = (usize, usize);

/// Clauses of a graph and its model.
pub struct Plain<'a, 'g> {
    model: &'a MemoryModel,
    pub state: State<'g>,
    ranges: HashMap<TermId, Range>,
    /// By term, who can be before what.
    inverses: HashMap<TermId, Relation>,
    literals: HashMap<(TermId, usize, usize), i32>,
    closures: HashMap<TermId, BTreeMap<Pair, i32>>,
    exact: HashSet<TermId>,
    /// Edges of base relations, with what makes each count.
    edges: HashMap<&'static str, HashMap<Pair, i32>>,
    clauses_max: usize,
}

/// Why something is not stated.
pub type Unstated = String;

/// Terms of which a larger value than they have would be wrong: it would excuse less, or report more.
fn must_be_exact(model: &MemoryModel, axioms: &[TermId], flags: &[TermId]) -> HashSet<TermId> {
    // Of each term, whether it forbids (it may be larger) or reports (it may be smaller).
    let mut seen: HashSet<(TermId, bool)> = HashSet::new();
    let mut stack: Vec<(TermId, bool)> =
        axioms.iter().map(|&term| (term, true)).chain(flags.iter().map(|&term| (term, false))).collect();
    while let Some((term, forbids)) = stack.pop() {
        if !seen.insert((term, forbids)) {
            continue;
        }
        match model.terms[term].kind {
            TermKind::Relation(RelationKind::Difference(a, b)) | TermKind::Set(SetKind::Difference(a, b)) => {
                stack.extend([(a, forbids), (b, !forbids)])
            }
            TermKind::Relation(RelationKind::Complement(a)) | TermKind::Set(SetKind::Complement(a)) => {
                stack.push((a, !forbids));
            }
            _ => stack.extend(model.operands(term).into_iter().map(|operand| (operand, forbids))),
        }
    }
    seen.into_iter().filter(|&(_, forbids)| !forbids).map(|(term, _)| term).collect()
}

impl<'a, 'g> Plain<'a, 'g> {
    /// States the axioms of a model; what of it flags find may be asked afterwards.
    ///
    /// # Errors
    /// If it takes too many clauses, or has something that is not stated plainly.
    pub fn new(
        model: &'a MemoryModel,
        mut state: State<'g>,
        flags: &[TermId],
        clauses_max: usize,
    ) -> Result<Self, Unstated> {
        let axioms: Vec<TermId> = model.axioms.iter().map(|axiom| axiom.term).collect();
        let roots: Vec<TermId> = axioms.iter().chain(flags).copied().collect();
        let none = || "its graph has no relations".to_owned();
        let ranges = ranges(model, state.graph, &roots).ok_or_else(none)?;
        let exact = must_be_exact(model, &axioms, flags);
        let is_recursive =
            |term: TermId| matches!(model.terms[term].kind, TermKind::Relation(RelationKind::Recursive(_)));
        if model.terms.ids().any(|term| ranges.contains_key(&term) && is_recursive(term)) {
            return Err("the model has a `let rec`".to_owned());
        }
        let mut edges: HashMap<&'static str, HashMap<Pair, i32>> = HashMap::new();
        for (name, own) in &state.graph.edges {
            let Some(base) = BaseRelation::from_name(name) else { continue };
            let of_base = edges.entry(base.name()).or_default();
            for &(a, b, condition) in own {
                let counts = state.truth(condition);
                let before = of_base.get(&(a, b)).copied().unwrap_or(-state.one);
                let either = state.or(before, counts);
                of_base.insert((a, b), either);
            }
        }
        let mut this = Self {
            model,
            state,
            ranges,
            inverses: HashMap::new(),
            literals: HashMap::new(),
            closures: HashMap::new(),
            exact,
            edges,
            clauses_max,
        };
        for axiom in &model.axioms {
            this.axiom(axiom.kind, axiom.term)?;
        }
        Ok(this)
    }

    fn deny(&mut self, literal: i32) {
        self.state.sat.add(&[-literal]);
    }

    fn may(&self, term: TermId) -> Vec<Pair> {
        self.ranges.get(&term).map_or_else(Vec::new, |own| own.may.pairs().collect())
    }

    fn axiom(&mut self, kind: AxiomKind, term: TermId) -> Result<(), Unstated> {
        match kind {
            AxiomKind::Empty => {
                for (a, b) in self.may(term) {
                    let literal = self.pair(term, a, b)?;
                    self.deny(literal);
                }
            }
            AxiomKind::Irreflexive => {
                for (a, b) in self.may(term).into_iter().filter(|(a, b)| a == b) {
                    let literal = self.pair(term, a, b)?;
                    self.deny(literal);
                }
            }
            AxiomKind::Acyclic => {
                let Some(own) = self.ranges.get(&term) else { return Ok(()) };
                // Only what can be in a circle matters.
                let after = own.may.closure();
                let circles = own.may.with(&after.inverse(), |a, b| a & b);
                let closed = circles.closure();
                let closure = self.closed(term, &circles, &closed, None)?;
                let around: Vec<i32> =
                    closure.iter().filter(|((a, b), _)| a == b).map(|(_, &literal)| literal).collect();
                around.into_iter().for_each(|literal| self.deny(literal));
            }
        }
        Ok(())
    }

    fn both(&mut self, a: usize, b: usize) -> i32 {
        let (first, second) = (self.state.happens(a), self.state.happens(b));
        self.state.and(first, second)
    }

    /// A relation that is closed and has all pairs of another one.
    fn closed(
        &mut self,
        inner: TermId,
        pairs: &Relation,
        closed: &Relation,
        must: Option<&Relation>,
    ) -> Result<BTreeMap<Pair, i32>, Unstated> {
        let mut closure: BTreeMap<Pair, i32> = BTreeMap::new();
        let mut certain: HashSet<Pair> = HashSet::new();
        for (a, b) in closed.pairs() {
            let literal = if must.is_some_and(|must| must.has(a, b)) {
                certain.insert((a, b));
                self.both(a, b)
            } else {
                self.state.sat.fresh()
            };
            closure.insert((a, b), literal);
        }
        for (a, b) in pairs.pairs() {
            let step = self.pair(inner, a, b)?;
            if step == -self.state.one {
                continue;
            }
            self.check_size()?;
            if !certain.contains(&(a, b)) {
                self.state.sat.add(&[-step, closure[&(a, b)]]);
            }
            for c in closed.row(b).members() {
                if !certain.contains(&(a, c))
                    && let (Some(&then), Some(&whole)) = (closure.get(&(b, c)), closure.get(&(a, c)))
                {
                    self.state.sat.add(&[-step, -then, whole]);
                }
            }
        }
        Ok(closure)
    }

    /// A closure as it is: ways of twice the length, until none can be longer.
    fn squared(
        &mut self,
        inner: TermId,
        pairs: &Relation,
        closed: &Relation,
    ) -> Result<BTreeMap<Pair, i32>, Unstated> {
        let mut ways: BTreeMap<Pair, i32> = BTreeMap::new();
        for (a, b) in pairs.pairs() {
            ways.insert((a, b), self.pair(inner, a, b)?);
        }
        let mut length = 1;
        while length < pairs.n() {
            let mut longer = ways.clone();
            for (a, c) in closed.pairs() {
                let mut all: Vec<i32> = ways.get(&(a, c)).copied().into_iter().collect();
                for b in closed.row(a).members() {
                    if let (Some(&first), Some(&second)) = (ways.get(&(a, b)), ways.get(&(b, c))) {
                        all.push(self.state.and(first, second));
                    }
                }
                self.check_size()?;
                longer.insert((a, c), self.either(&all));
            }
            if longer == ways {
                break;
            }
            ways = longer;
            length *= 2;
        }
        Ok(ways)
    }

    fn check_size(&self) -> Result<(), Unstated> {
        match self.state.sat.n_given > self.clauses_max {
            true => Err(format!("it takes more than {} clauses", self.clauses_max)),
            false => Ok(()),
        }
    }

    /// What is true if a term has a pair; of a set, an event twice.
    pub fn pair(&mut self, term: TermId, a: usize, b: usize) -> Result<i32, Unstated> {
        let Some(range) = self.ranges.get(&term) else { return Err("a term has no bounds".to_owned()) };
        if !range.may.has(a, b) {
            return Ok(-self.state.one);
        }
        if range.must.has(a, b) {
            return Ok(self.both(a, b));
        }
        if let Some(&literal) = self.literals.get(&(term, a, b)) {
            return Ok(literal);
        }
        let literal = self.stated(term, a, b)?;
        self.literals.insert((term, a, b), literal);
        Ok(literal)
    }

    fn either(&mut self, all: &[i32]) -> i32 {
        let one = self.state.one;
        let mut all: Vec<i32> = all.iter().copied().filter(|&literal| literal != -one).collect();
        all.sort_unstable();
        all.dedup();
        if all.contains(&one) {
            return one;
        }
        match all[..] {
            [] => -one,
            [single] => single,
            _ => {
                let gate = self.state.sat.fresh();
                all.iter().for_each(|&literal| self.state.sat.add(&[-literal, gate]));
                all.push(-gate);
                self.state.sat.add(&all);
                gate
            }
        }
    }

    fn inverse(&mut self, term: TermId) -> &Relation {
        let ranges = &self.ranges;
        self.inverses.entry(term).or_insert_with(|| ranges[&term].may.inverse())
    }

    fn stated(&mut self, term: TermId, a: usize, b: usize) -> Result<i32, Unstated> {
        self.check_size()?;
        let model = self.model;
        match model.terms[term].kind {
            TermKind::Set(ref kind) => match *kind {
                SetKind::Base(base) => Ok(self.member(base, a)),
                SetKind::Empty => Ok(-self.state.one),
                SetKind::Union(x, y) => self.joined(x, y, (a, a)),
                SetKind::Intersection(x, y) => self.met(x, (1, y), (a, a)),
                SetKind::Difference(x, y) => self.met(x, (-1, y), (a, a)),
                SetKind::Complement(x) => {
                    let (happens, own) = (self.state.happens(a), self.pair(x, a, a)?);
                    Ok(self.state.and(happens, -own))
                }
                SetKind::Domain(x) => {
                    let to: Vec<usize> = self.ranges[&x].may.row(a).members().collect();
                    let all: Result<Vec<i32>, _> = to.into_iter().map(|b| self.pair(x, a, b)).collect();
                    Ok(self.either(&all?))
                }
                SetKind::Range(x) => {
                    let from: Vec<usize> = self.inverse(x).row(a).members().collect();
                    let all: Result<Vec<i32>, _> = from.into_iter().map(|b| self.pair(x, b, a)).collect();
                    Ok(self.either(&all?))
                }
            },
            TermKind::Relation(ref kind) => match *kind {
                RelationKind::Base(base) => Ok(self.base(base, a, b)),
                RelationKind::Empty => Ok(-self.state.one),
                RelationKind::Recursive(_) => Err("the model has a `let rec`".to_owned()),
                RelationKind::Union(x, y) => self.joined(x, y, (a, b)),
                RelationKind::Intersection(x, y) => self.met(x, (1, y), (a, b)),
                RelationKind::Difference(x, y) => self.met(x, (-1, y), (a, b)),
                RelationKind::Complement(x) => {
                    let (both, own) = (self.both(a, b), self.pair(x, a, b)?);
                    Ok(self.state.and(both, -own))
                }
                RelationKind::Sequence(x, y) => {
                    let to = self.inverse(y).row(b).clone();
                    let via = self.ranges[&x].may.row(a).with(&to, |a, b| a & b);
                    let mut all = Vec::new();
                    for via in via.members() {
                        let first = self.pair(x, a, via)?;
                        if first != -self.state.one {
                            let second = self.pair(y, via, b)?;
                            all.push(self.state.and(first, second));
                        }
                    }
                    Ok(self.either(&all))
                }
                RelationKind::Inverse(x) => self.pair(x, b, a),
                RelationKind::Optional(x) => self.or_same(a, b, |this| this.pair(x, a, b)),
                RelationKind::TransitiveClosure(x) => self.closure(term, x, a, b),
                RelationKind::ReflexiveTransitiveClosure(x) => {
                    self.or_same(a, b, |this| this.closure(term, x, a, b))
                }
                RelationKind::Product(x, y) => {
                    let (first, second) = (self.pair(x, a, a)?, self.pair(y, b, b)?);
                    Ok(self.state.and(first, second))
                }
                RelationKind::Identity(x) if a == b => self.pair(x, a, a),
                RelationKind::Identity(_) => Ok(-self.state.one),
            },
        }
    }

    fn joined(&mut self, x: TermId, y: TermId, (a, b): Pair) -> Result<i32, Unstated> {
        let (first, second) = (self.pair(x, a, b)?, self.pair(y, a, b)?);
        Ok(self.state.or(first, second))
    }

    /// What one has and the other has as well, or, with a sign of -1, has not.
    fn met(&mut self, x: TermId, (sign, y): (i32, TermId), (a, b): Pair) -> Result<i32, Unstated> {
        let first = self.pair(x, a, b)?;
        if first == -self.state.one {
            return Ok(first);
        }
        let second = self.pair(y, a, b)?;
        Ok(self.state.and(first, sign * second))
    }

    fn or_same(
        &mut self,
        a: usize,
        b: usize,
        otherwise: impl FnOnce(&mut Self) -> Result<i32, Unstated>,
    ) -> Result<i32, Unstated> {
        let otherwise = otherwise(self)?;
        if a != b {
            return Ok(otherwise);
        }
        let happens = self.state.happens(a);
        Ok(self.state.or(happens, otherwise))
    }

    fn closure(&mut self, term: TermId, inner: TermId, a: usize, b: usize) -> Result<i32, Unstated> {
        if !self.closures.contains_key(&term) {
            let pairs = self.ranges[&inner].may.clone();
            let closed = pairs.closure();
            let must = self.ranges[&term].must.clone();
            let closure = match self.exact.contains(&term) {
                true => self.squared(inner, &pairs, &closed)?,
                false => self.closed(inner, &pairs, &closed, Some(&must))?,
            };
            self.closures.insert(term, closure);
        }
        Ok(self.closures[&term].get(&(a, b)).copied().unwrap_or(-self.state.one))
    }

    fn member(&self, base: BaseSet, event: usize) -> i32 {
        let is_in = self.state.graph.sets.get(base.name()).is_some_and(|own| own.contains(&event));
        if is_in { self.state.happens(event) } else { -self.state.one }
    }

    /// What is true if a base relation has a pair.
    fn base(&mut self, base: BaseRelation, a: usize, b: usize) -> i32 {
        let both = self.both(a, b);
        let graph = self.state.graph;
        let accesses = (graph.events[a].access, graph.events[b].access);
        let place = match (base, accesses) {
            (BaseRelation::ReadsFrom, _) => {
                let own = (b, 0)..(b + 1, 0);
                let sources = self.state.sources.range(own).flat_map(|(_, found)| found);
                let all: Vec<i32> = sources.filter(|own| own.0 == a).map(|own| own.2).collect();
                self.either(&all)
            }
            (BaseRelation::Coherence, _) => {
                self.state.coherence.get(&(a, b)).copied().unwrap_or(-self.state.one)
            }
            (BaseRelation::FenceSc, _) => {
                self.state.fence_order.get(&(a, b)).copied().unwrap_or(-self.state.one)
            }
            (BaseRelation::FromReads, (Some(own), Some(of))) => {
                let cell = graph.cell_bytes[own.location];
                let mut all = Vec::new();
                for (number, piece) in (0_u32..).zip(0..own.width / cell) {
                    let sources = self.state.sources.get(&(a, number)).cloned().unwrap_or_default();
                    let mut covers = None;
                    for (source, _, literal) in sources {
                        let Some(&before) = self.state.coherence.get(&(source, b)) else { continue };
                        let covers = *covers.get_or_insert_with(|| {
                            (0..of.width / cell).fold(-self.state.one, |covers, from| {
                                let same =
                                    self.state.is_place((own.offset, piece * cell), (of.offset, from * cell));
                                self.state.or(covers, same)
                            })
                        });
                        let of_source = self.state.and(literal, before);
                        all.push(self.state.and(of_source, covers));
                    }
                }
                self.either(&all)
            }
            (BaseRelation::SameLocation, (Some(x), Some(y))) => self.state.meets(x, y),
            (BaseRelation::SameVirtualLocation, (Some(x), Some(y))) if x.mapping == y.mapping => {
                self.state.meets(x, y)
            }
            (BaseRelation::CompleteOverlap, (Some(x), Some(y)))
                if x.location == y.location && x.width == y.width =>
            {
                self.state.is_place((x.offset, 0), (y.offset, 0))
            }
            (
                BaseRelation::FromReads
                | BaseRelation::SameLocation
                | BaseRelation::SameVirtualLocation
                | BaseRelation::CompleteOverlap,
                _,
            ) => -self.state.one,
            _ => match self.edges.get(base.name()) {
                Some(edges) => edges.get(&(a, b)).copied().unwrap_or(-self.state.one),
                None => {
                    let given = graph.relations.as_ref().and_then(|all| all.get(base.name()));
                    if given.is_some_and(|given| given.has(a, b)) { self.state.one } else { -self.state.one }
                }
            },
        };
        self.state.and(both, place)
    }

    /// What is true if an execution shows something; of flags, one pair each.
    pub fn shows(&mut self, shows: &Shows) -> Result<i32, Unstated> {
        let graph = self.state.graph;
        let truth = |this: &Self, term: usize| this.state.truth(term);
        Ok(match shows {
            Shows::Wrong(Goal::Flag(name, a, b)) => {
                match self.model.flags.iter().find(|flag| flag.name == *name) {
                    Some(flag) => self.pair(flag.term, *a, *b)?,
                    None => -self.state.one,
                }
            }
            Shows::Wrong(Goal::Obligation(index)) => {
                let own = &graph.obligations[*index];
                let (guard, condition) = (truth(self, own.guard), truth(self, own.condition));
                self.state.and(guard, -condition)
            }
            Shows::Wrong(Goal::Final(index)) => {
                let (complete, condition) = (self.complete(), truth(self, graph.finals[*index].condition));
                self.state.and(complete, -condition)
            }
            Shows::Wrong(Goal::Deadlock) => self.stuck(true),
            Shows::Wrong(Goal::NotResident) => self.stuck(false),
            Shows::Condition => match &graph.condition {
                None => -self.state.one,
                Some(own) => {
                    let (condition, filter) = (truth(self, own.condition), truth(self, own.filter));
                    let wanted = if own.quantifier == "forall" { -condition } else { condition };
                    let complete = self.complete();
                    self.state.all(&[complete, filter, wanted])
                }
            },
            Shows::Complete => self.complete(),
            Shows::Reachable(place) => {
                let reached = graph.reachable.iter().filter(|own| own.place == *place);
                let mut all: Vec<i32> = reached.map(|own| truth(self, own.condition)).collect();
                for own in graph.finals.iter().filter(|own| own.is_reachable && own.place == *place) {
                    let (complete, condition) = (self.complete(), truth(self, own.condition));
                    all.push(self.state.and(complete, condition));
                }
                self.either(&all)
            }
            Shows::Cut(index) => truth(self, graph.cuts[*index].1),
        })
    }

    /// All pairs that a flag can have.
    pub fn flagged(&self, name: &str) -> Vec<Shows> {
        let flag = self.model.flags.iter().find(|flag| flag.name == name);
        let pairs = flag.map_or_else(Vec::new, |flag| self.may(flag.term));
        pairs.into_iter().map(|(a, b)| Shows::Wrong(Goal::Flag(name.to_owned(), a, b))).collect()
    }

    fn complete(&mut self) -> i32 {
        let all: Vec<i32> =
            self.state.graph.agents.iter().map(|agent| self.state.truth(agent.completed)).collect();
        self.state.all(&all)
    }

    /// Whether threads wait for ever, with all clusters running or because some have not started.
    fn stuck(&mut self, everywhere: bool) -> i32 {
        let graph = self.state.graph;
        let (mut stand, mut hold_up, mut started) = (Vec::new(), Vec::new(), Vec::new());
        for (number, agent) in graph.agents.iter().enumerate() {
            let (runs, ended) = (self.state.truth(agent.started), self.state.truth(agent.completed));
            let own = || graph.blocked.iter().filter(move |blocked| blocked.agent == number);
            let places: Vec<i32> = own().map(|blocked| self.state.truth(blocked.stuck)).collect();
            let resident: Vec<i32> =
                own().filter(|own| own.resident).map(|own| self.state.truth(own.stuck)).collect();
            let stands = self.state.any(&places);
            let holds = if everywhere { self.state.one } else { self.state.any(&resident) };
            stand.push(self.state.any(&[-runs, ended, stands]));
            hold_up.push(self.state.all(&[runs, -ended, holds]));
            started.push(runs);
        }
        let all = self.state.all(&started);
        let as_asked = if everywhere { all } else { -all };
        let (stand, hold_up) = (self.state.all(&stand), self.state.any(&hold_up));
        self.state.all(&[as_asked, stand, hold_up])
    }
}
