//! A plain evaluation of a memory model: what its terms are in one execution, and between which pairs they can be at all.

use crate::bits::{Relation, Set};
use crate::graph::{Graph, Operator, UnknownKind};
use fencepost_dsl::cat::memory_model::{
    AxiomKind, BaseRelation, BaseSet, MemoryModel, RelationKind, SetKind, TermId, TermKind,
};
use fencepost_dsl::index::Id;
use std::collections::HashMap;

/// A set or a relation.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A set.
    Set(Set),
    /// A relation.
    Relation(Relation),
}

/// Base sets and relations of one execution, of events that happen in it.
#[derive(Debug)]
pub struct Basis {
    /// The events that happen.
    pub executed: Set,
    /// By name.
    pub sets: HashMap<&'static str, Set>,
    /// By name.
    pub relations: HashMap<&'static str, Relation>,
}

impl Basis {
    fn set(&self, base: BaseSet) -> Set {
        self.sets.get(base.name()).cloned().unwrap_or_else(|| Set::empty(self.n()))
    }
    fn relation(&self, base: BaseRelation) -> Relation {
        self.relations.get(base.name()).cloned().unwrap_or_else(|| Relation::empty(self.n()))
    }
    fn n(&self) -> usize {
        self.relations.values().next().map_or(0, Relation::n)
    }
}

/// The base relations that a term is made of.
pub fn bases(model: &MemoryModel, term: TermId) -> Vec<BaseRelation> {
    let needed = model.needed(&[term]);
    let terms = model.terms.ids().filter(|&term| needed[term]);
    let base = |term: TermId| match model.terms[term].kind {
        TermKind::Relation(RelationKind::Base(base)) => Some(base),
        _ => None,
    };
    terms.filter_map(base).collect()
}

/// What some terms are in an execution. A `let rec` grows from nothing until it grows no more.
pub fn evaluate(model: &MemoryModel, basis: &Basis, roots: &[TermId]) -> HashMap<TermId, Value> {
    let needed = model.needed(roots);
    let n = basis.n();
    let mut recursive: Vec<Relation> = vec![Relation::empty(n); model.recursive.len()];
    loop {
        let mut values: HashMap<TermId, Value> = HashMap::new();
        for term in model.terms.ids().filter(|&term| needed[term]) {
            let value = exact(model, basis, &recursive, &values, term);
            values.insert(term, value);
        }
        let mut is_done = true;
        for (id, body) in model.recursive.iter_enumerated() {
            if let Some(Value::Relation(grown)) = values.get(body)
                && *grown != recursive[id.index()]
            {
                recursive[id.index()] = grown.clone();
                is_done = false;
            }
        }
        if is_done {
            return values;
        }
    }
}

fn exact(
    model: &MemoryModel,
    basis: &Basis,
    recursive: &[Relation],
    values: &HashMap<TermId, Value>,
    term: TermId,
) -> Value {
    let n = basis.n();
    let set = |term: TermId| match values.get(&term) {
        Some(Value::Set(set)) => set.clone(),
        _ => Set::empty(n),
    };
    let relation = |term: TermId| match values.get(&term) {
        Some(Value::Relation(relation)) => relation.clone(),
        _ => Relation::empty(n),
    };
    let all = &basis.executed;
    match model.terms[term].kind {
        TermKind::Set(ref kind) => Value::Set(match *kind {
            SetKind::Base(base) => basis.set(base),
            SetKind::Empty => Set::empty(n),
            SetKind::Union(a, b) => set(a).with(&set(b), |a, b| a | b),
            SetKind::Intersection(a, b) => set(a).with(&set(b), |a, b| a & b),
            SetKind::Difference(a, b) => set(a).with(&set(b), |a, b| a & !b),
            SetKind::Complement(a) => all.with(&set(a), |a, b| a & !b),
            SetKind::Domain(a) => relation(a).domain(),
            SetKind::Range(a) => relation(a).range(),
        }),
        TermKind::Relation(ref kind) => Value::Relation(match *kind {
            RelationKind::Base(base) => basis.relation(base),
            RelationKind::Empty => Relation::empty(n),
            RelationKind::Recursive(id) => recursive[id.index()].clone(),
            RelationKind::Union(a, b) => relation(a).with(&relation(b), |a, b| a | b),
            RelationKind::Intersection(a, b) => relation(a).with(&relation(b), |a, b| a & b),
            RelationKind::Difference(a, b) => relation(a).with(&relation(b), |a, b| a & !b),
            RelationKind::Complement(a) => Relation::product(all, all).with(&relation(a), |a, b| a & !b),
            RelationKind::Sequence(a, b) => relation(a).then(&relation(b)),
            RelationKind::Inverse(a) => relation(a).inverse(),
            RelationKind::Optional(a) => relation(a).with(&Relation::identity(all), |a, b| a | b),
            RelationKind::TransitiveClosure(a) => relation(a).closure(),
            RelationKind::ReflexiveTransitiveClosure(a) => {
                relation(a).closure().with(&Relation::identity(all), |a, b| a | b)
            }
            RelationKind::Product(a, b) => Relation::product(&set(a), &set(b)),
            RelationKind::Identity(a) => Relation::identity(&set(a)),
        }),
    }
}

/// Whether what an axiom claims holds.
pub fn holds(kind: AxiomKind, value: &Value) -> bool {
    match (kind, value) {
        (AxiomKind::Empty, Value::Set(set)) => set.is_empty(),
        (AxiomKind::Empty, Value::Relation(relation)) => relation.is_empty(),
        (AxiomKind::Irreflexive, Value::Relation(relation)) => relation.circle().is_none(),
        (AxiomKind::Acyclic, Value::Relation(relation)) => relation.closure().circle().is_none(),
        (AxiomKind::Irreflexive | AxiomKind::Acyclic, Value::Set(_)) => true,
    }
}

/// Between which pairs a relation can be, and between which it is whenever both events happen.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Range {
    pub may: Relation,
    pub must: Relation,
}

/// The pairs that each flag can hold of at most, as far as the graph tells without any axiom; a set is pairs of an event and
/// itself. `None` where the graph has no relations.
pub fn possible(model: &MemoryModel, graph: &Graph) -> Option<HashMap<TermId, Relation>> {
    let roots: Vec<TermId> = model.flags.iter().map(|flag| flag.term).collect();
    let mut ranges = ranges(model, graph, &roots)?;
    Some(roots.into_iter().filter_map(|root| Some((root, ranges.remove(&root)?.may))).collect())
}

/// The ranges of all that some terms are made of. `None` where the graph has no relations.
pub(crate) fn ranges(model: &MemoryModel, graph: &Graph, roots: &[TermId]) -> Option<HashMap<TermId, Range>> {
    let bounds = Bounds::new(graph)?;
    let needed = model.needed(roots);
    let empty = Range { may: Relation::empty(bounds.n), must: Relation::empty(bounds.n) };
    let mut recursive: Vec<Range> = vec![empty; model.recursive.len()];
    loop {
        let mut values: HashMap<TermId, Range> = HashMap::new();
        for term in model.terms.ids().filter(|&term| needed[term]) {
            let range = bounds.of(model, &recursive, &values, term);
            values.insert(term, range);
        }
        let mut is_done = true;
        for (id, body) in model.recursive.iter_enumerated() {
            if let Some(grown) = values.get(body)
                && *grown != recursive[id.index()]
            {
                recursive[id.index()] = grown.clone();
                is_done = false;
            }
        }
        if is_done {
            return Some(values);
        }
    }
}

/// Bounds of base relations.
struct Bounds {
    n: usize,
    /// Pairs of events that may happen, and those of one event.
    both: Relation,
    same: Relation,
    sets: HashMap<&'static str, Set>,
    relations: HashMap<&'static str, Range>,
    /// By event, what has to hold for it to happen.
    guards: Vec<Vec<usize>>,
}

impl Bounds {
    fn new(graph: &Graph) -> Option<Self> {
        let given = graph.relations.as_ref()?;
        let n = graph.events.len();
        let happens = Set::of(n, |event| graph.constant(graph.events[event].guard) != Some(0));
        let mut both = Relation::product(&happens, &happens);
        // Branches exclude each other where one needs what the other denies.
        let guards: Vec<Vec<usize>> = graph.events.iter().map(|event| graph.conjuncts(event.guard)).collect();
        let denied: HashMap<usize, usize> = graph
            .terms
            .iter()
            .enumerate()
            .filter(|(_, term)| term.operator == Operator::Not && term.width == 1)
            .map(|(at, term)| (at, term.operands[0]))
            .collect();
        let excludes = |a: usize, b: usize| {
            let mut own = guards[a].iter().filter_map(|term| denied.get(term));
            own.any(|denied| guards[b].contains(denied))
        };
        let apart = Relation::of_pairs(
            n,
            both.pairs().filter(|&(a, b)| excludes(a, b) || excludes(b, a)).collect::<Vec<_>>(),
        );
        both = both.with(&apart, |a, b| a & !b);
        let within = |relation: Relation| relation.with(&both, |a, b| a & b);
        let sets: HashMap<&'static str, Set> = BaseSet::ALL
            .iter()
            .map(|&(_, name)| {
                let members = graph.sets.get(name).map_or(&[][..], Vec::as_slice);
                (name, Set::of(n, |event| happens.has(event) && members.contains(&event)))
            })
            .collect();
        let mut relations: HashMap<&'static str, Range> = HashMap::new();
        for &(_, name) in BaseRelation::ALL {
            let exact = within(given.get(name).cloned().unwrap_or_else(|| Relation::empty(n)));
            relations.insert(name, Range { may: exact.clone(), must: exact });
        }
        for (name, edges) in &graph.edges {
            let Some(base) = BaseRelation::from_name(name) else { continue };
            let may = within(Relation::of_pairs(n, edges.iter().map(|edge| (edge.0, edge.1))));
            let certain = edges.iter().filter(|edge| graph.constant(edge.2) == Some(1));
            let must = within(Relation::of_pairs(n, certain.map(|edge| (edge.0, edge.1))));
            relations.insert(base.name(), Range { may, must });
        }
        for (name, range) in places(graph) {
            relations.insert(name, Range { may: within(range.may), must: within(range.must) });
        }
        let location = relations[BaseRelation::SameLocation.name()].clone();
        let kind = |event: usize, kinds: &[&str]| kinds.contains(&graph.events[event].kind.as_str());
        let sources =
            location.may.pairs().filter(|&(a, b)| kind(a, &["write", "init"]) && kind(b, &["read"]));
        let reads = Relation::of_pairs(n, sources);
        let is_ordered = |a: usize, b: usize| a != b && kind(a, &["write", "init"]) && kind(b, &["write"]);
        let coherence = Relation::of_pairs(n, location.may.pairs().filter(|&(a, b)| is_ordered(a, b)));
        let first = location.must.pairs().filter(|&(a, b)| kind(a, &["init"]) && kind(b, &["write"]));
        let first = Relation::of_pairs(n, first);
        let from_reads = reads.inverse().then(&coherence).with(&location.may, |a, b| a & b);
        let fences =
            sets[BaseSet::Fence.name()].with(&sets[BaseSet::SequentiallyConsistent.name()], |a, b| a & b);
        let fences = Relation::product(&fences, &fences)
            .with(&relations[BaseRelation::SameScope.name()].may, |a, b| a & b)
            .with(&Relation::identity(&happens), |a, b| a & !b);
        let none = || Relation::empty(n);
        for (base, may, must) in [
            (BaseRelation::ReadsFrom, reads, none()),
            (BaseRelation::Coherence, coherence, first),
            (BaseRelation::FromReads, from_reads, none()),
            (BaseRelation::FenceSc, fences, none()),
        ] {
            relations.insert(base.name(), Range { may: within(may), must: within(must) });
        }
        Some(Self { n, same: Relation::identity(&happens), both, sets, relations, guards })
    }

    /// Whether an event happens whenever two others do.
    fn is_between(&self, between: usize, a: usize, b: usize) -> bool {
        self.guards[between].iter().all(|term| self.guards[a].contains(term) || self.guards[b].contains(term))
    }

    /// What two certain steps make certain, besides what is.
    fn surely(&self, a: &Relation, b: &Relation, mut sure: Relation) -> Relation {
        for (from, via) in a.pairs() {
            // What happens whenever the first of three does is between it and any third.
            if self.guards[via].iter().all(|term| self.guards[from].contains(term)) {
                sure.add_row(from, b.row(via));
                continue;
            }
            let open = b.row(via).with(sure.row(from), |to, known| to & !known);
            for to in open.members() {
                if self.is_between(via, from, to) {
                    sure.insert(from, to);
                }
            }
        }
        sure
    }

    fn closure(&self, of: &Range) -> Range {
        let mut must = of.must.clone();
        loop {
            let grown = self.surely(&must, &must, must.clone());
            if grown == must {
                return Range { may: of.may.closure(), must };
            }
            must = grown;
        }
    }

    /// A set as a relation of each member with itself.
    fn of_set(&self, set: &Set) -> Range {
        let same = Relation::identity(set);
        Range { may: same.clone(), must: same }
    }

    fn of(
        &self,
        model: &MemoryModel,
        recursive: &[Range],
        values: &HashMap<TermId, Range>,
        term: TermId,
    ) -> Range {
        let none = || Relation::empty(self.n);
        let of =
            |term: TermId| values.get(&term).cloned().unwrap_or_else(|| Range { may: none(), must: none() });
        let union = |a: Range, b: Range| Range {
            may: a.may.with(&b.may, |a, b| a | b),
            must: a.must.with(&b.must, |a, b| a | b),
        };
        let meet = |a: Range, b: Range| Range {
            may: a.may.with(&b.may, |a, b| a & b),
            must: a.must.with(&b.must, |a, b| a & b),
        };
        let without = |a: Range, b: Range| Range {
            may: a.may.with(&b.must, |a, b| a & !b),
            must: a.must.with(&b.may, |a, b| a & !b),
        };
        // Members of a set that is given are certain; of the ends of a relation nothing is.
        let open = |set: Set| Range { may: Relation::identity(&set), must: none() };
        let ends = |range: &Range| {
            let set = |of: &Relation| Set::of(self.n, |event| of.has(event, event));
            (set(&range.may), set(&range.must))
        };
        let same = || Range { may: self.same.clone(), must: self.same.clone() };
        let all = || Range { may: self.both.clone(), must: self.both.clone() };
        let range = match model.terms[term].kind {
            TermKind::Set(ref kind) => match *kind {
                SetKind::Base(base) => self.of_set(&self.sets[base.name()]),
                SetKind::Empty => open(Set::empty(self.n)),
                SetKind::Union(a, b) => union(of(a), of(b)),
                SetKind::Intersection(a, b) => meet(of(a), of(b)),
                SetKind::Difference(a, b) => without(of(a), of(b)),
                SetKind::Complement(a) => without(same(), of(a)),
                SetKind::Domain(a) => open(of(a).may.domain()),
                SetKind::Range(a) => open(of(a).may.range()),
            },
            TermKind::Relation(ref kind) => match *kind {
                RelationKind::Base(base) => self.relations[base.name()].clone(),
                RelationKind::Empty => Range { may: none(), must: none() },
                RelationKind::Recursive(id) => recursive[id.index()].clone(),
                RelationKind::Union(a, b) => union(of(a), of(b)),
                RelationKind::Intersection(a, b) => meet(of(a), of(b)),
                RelationKind::Difference(a, b) => without(of(a), of(b)),
                RelationKind::Complement(a) => without(all(), of(a)),
                RelationKind::Sequence(a, b) => {
                    let (a, b) = (of(a), of(b));
                    Range { may: a.may.then(&b.may), must: self.surely(&a.must, &b.must, none()) }
                }
                RelationKind::Inverse(a) => {
                    let a = of(a);
                    Range { may: a.may.inverse(), must: a.must.inverse() }
                }
                RelationKind::Optional(a) => union(of(a), same()),
                RelationKind::TransitiveClosure(a) => self.closure(&of(a)),
                RelationKind::ReflexiveTransitiveClosure(a) => union(self.closure(&of(a)), same()),
                RelationKind::Product(a, b) => {
                    let ((a_may, a_must), (b_may, b_must)) = (ends(&of(a)), ends(&of(b)));
                    Range {
                        may: Relation::product(&a_may, &b_may),
                        must: Relation::product(&a_must, &b_must),
                    }
                }
                RelationKind::Identity(a) => of(a),
            },
        };
        Range {
            may: range.may.with(&self.both, |a, b| a & b),
            must: range.must.with(&self.both, |a, b| a & b),
        }
    }
}

/// Which accesses can share bytes, and which do.
fn places(graph: &Graph) -> [(&'static str, Range); 3] {
    let n = graph.events.len();
    let none = || Range { may: Relation::empty(n), must: Relation::empty(n) };
    let (mut common, mut virtually, mut complete) = (none(), none(), none());
    // An offset that is not known lies between the bounds of its unknown, if it is one, or anywhere.
    let span = |offset: usize| match graph.terms[offset].operator {
        Operator::Constant(value) => (value, value),
        Operator::Unknown(unknown) if graph.unknowns[unknown].kind == UnknownKind::Parameter => {
            (graph.unknowns[unknown].min, graph.unknowns[unknown].max)
        }
        _ => (0, u128::MAX >> 1),
    };
    for (a, first) in graph.events.iter().enumerate() {
        for (b, second) in graph.events.iter().enumerate() {
            let (Some(x), Some(y)) = (first.access, second.access) else { continue };
            if x.location != y.location {
                continue;
            }
            let ((x_min, x_max), (y_min, y_max)) = (span(x.offset), span(y.offset));
            let may = x_min < y_max + y.width && y_min < x_max + x.width;
            let is_known = x_min == x_max && y_min == y_max || x.offset == y.offset;
            let kinds = [
                (&mut common, true),
                (&mut virtually, x.mapping == y.mapping),
                (&mut complete, x.width == y.width),
            ];
            for (range, counts) in kinds {
                if may && counts {
                    range.may.insert(a, b);
                    if is_known {
                        range.must.insert(a, b);
                    }
                }
            }
        }
    }
    // Of two known places that share bytes only those that are the same overlap completely.
    let differ = complete.may.pairs().filter(|&(a, b)| {
        let known = |event: usize| graph.events[event].access.and_then(|own| graph.constant(own.offset));
        known(a).zip(known(b)).is_some_and(|(x, y)| x != y)
    });
    let differ = Relation::of_pairs(n, differ);
    complete.may = complete.may.with(&differ, |a, b| a & !b);
    complete.must = complete.must.with(&differ, |a, b| a & !b);
    [
        (BaseRelation::SameLocation.name(), common),
        (BaseRelation::SameVirtualLocation.name(), virtually),
        (BaseRelation::CompleteOverlap.name(), complete),
    ]
}

/// Base relations that are their own converses.
const SYMMETRIC: [&str; 14] = [
    "id",
    "loc",
    "vloc",
    "overlap-complete",
    "int",
    "ext",
    "sr",
    "scta",
    "home",
    "scluster",
    "ssm",
    "svc",
    "sgpu",
    "mbarloc",
];

/// Whether a relation is its own converse in each execution, by the shape of its definition.
pub fn is_symmetric(model: &MemoryModel, term: TermId) -> bool {
    let kind = |term: TermId| match &model.terms[term].kind {
        TermKind::Relation(kind) => Some(kind),
        TermKind::Set(_) => None,
    };
    let are_converse = |a: TermId, b: TermId| match (kind(a), kind(b)) {
        (_, Some(&RelationKind::Inverse(inner))) if inner == a => true,
        (Some(&RelationKind::Inverse(inner)), _) if inner == b => true,
        (Some(&RelationKind::Product(s, t)), Some(&RelationKind::Product(u, v))) => (s, t) == (v, u),
        _ => false,
    };
    let Some(own) = kind(term) else { return false };
    match *own {
        RelationKind::Base(base) => SYMMETRIC.contains(&base.name()),
        RelationKind::Empty | RelationKind::Identity(_) => true,
        RelationKind::Union(..) => {
            let (mut parts, mut stack) = (Vec::new(), vec![term]);
            while let Some(top) = stack.pop() {
                match kind(top) {
                    Some(&RelationKind::Union(a, b)) => stack.extend([a, b]),
                    _ => parts.push(top),
                }
            }
            parts.iter().all(|&a| is_symmetric(model, a) || parts.iter().any(|&b| are_converse(a, b)))
        }
        RelationKind::Intersection(a, b) => {
            is_symmetric(model, a) && is_symmetric(model, b) || are_converse(a, b)
        }
        RelationKind::Difference(a, b) => is_symmetric(model, a) && is_symmetric(model, b),
        RelationKind::Complement(a)
        | RelationKind::Inverse(a)
        | RelationKind::Optional(a)
        | RelationKind::TransitiveClosure(a)
        | RelationKind::ReflexiveTransitiveClosure(a) => is_symmetric(model, a),
        RelationKind::Product(a, b) => a == b,
        RelationKind::Recursive(_) | RelationKind::Sequence(..) => false,
    }
}
