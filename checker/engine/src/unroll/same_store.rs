//! What lanes of a warp store with one instruction of compiled code: one value to one place.
//!
//! Compilers let all lanes store where one would do. Two of these writes do not race with one another; each stays a write of
//! its own for everybody else.
//!
//! Values are the same where they are made of the same by the same instructions: what nobody computes, such as a
//! floating-point sum, is a function of its operands, and what a lane gets from another is what that one has.

use super::Unroller;
use crate::event::{
    AtomicClass, EventId, EventKind, LocationId, SiteId, TermKind, TermPool, TermRef, UnknownId,
};
use fencepost_dsl::Span;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::{Proxy, Sem};
use rustc_hash::FxHashMap;

/// Of values that nobody computes, what they are made of.
#[derive(Default)]
pub struct Applications {
    of: FxHashMap<UnknownId, (SiteId, Vec<TermRef>)>,
}

impl Applications {
    /// Notes that an unknown is what an instruction makes of some values, the same each time.
    pub fn note(
        &mut self,
        terms: &TermPool,
        unknown: TermRef,
        site: SiteId,
        by: &str,
        mut parts: Vec<TermRef>,
    ) {
        // Sums and the like do not depend on the order of operands.
        if matches!(by.split('.').next(), Some("add" | "mul" | "min" | "max")) {
            parts.sort_unstable();
        }
        if let TermKind::Unknown(unknown) = *terms.kind(unknown)
            && !parts.is_empty()
        {
            self.of.insert(unknown, (site, parts));
        }
    }
}

/// One instruction of a warp, and what and where it stores.
type Stored = (u32, SiteId, Vec<u32>, Vec<Span>, LocationId, TermRef, u32, TermRef);

impl Unroller<'_> {
    /// Notes the writes by which lanes of a warp store one value to one place.
    pub(super) fn relate_same_stores(&mut self) {
        let mut stored: SortedMap<Stored, Vec<EventId>> = SortedMap::new();
        let graph = &self.graph;
        let mut values = Values {
            terms: &graph.terms,
            applications: &self.applications,
            known: FxHashMap::default(),
            first: FxHashMap::default(),
        };
        for (id, event) in graph.events.iter_enumerated() {
            let (Some(agent), Some(site), EventKind::Write(access)) = (event.agent, event.site, &event.kind)
            else {
                continue;
            };
            if !graph.sites[site].is_compiled
                || access.sem != Sem::Weak
                || access.atomic != AtomicClass::None
                || access.proxy != Proxy::Generic
                || graph.hierarchy.issuer(agent) != agent
            {
                continue;
            }
            let (warp, iterations, calls) = (graph.hierarchy.warp_of(agent), &event.iterations, &event.calls);
            let (offset, value) = (values.of(access.offset), values.of(access.value));
            let (location, width) = (access.location, access.width_bytes);
            let key = (warp, site, iterations.clone(), calls.clone(), location, offset, width, value);
            stored.entry(key).or_default().push(id);
        }
        for events in stored.into_values().filter(|events| events.len() > 1) {
            self.graph.edges.add_bundle(BaseRelation::SameStore, events.clone().into(), events.into());
        }
    }
}

/// Terms that have the same value in every execution, each group by one of them.
struct Values<'a> {
    terms: &'a TermPool,
    applications: &'a Applications,
    known: FxHashMap<TermRef, TermRef>,
    first: FxHashMap<Form, TermRef>,
}

/// What a term is made of, by the first of each group.
#[derive(PartialEq, Eq, Hash)]
enum Form {
    Term(u8, TermKind),
    Applied(u8, SiteId, Vec<TermRef>),
}

impl Values<'_> {
    /// The term that stands for all that are surely the same as this one.
    fn of(&mut self, term: TermRef) -> TermRef {
        let mut pending = vec![term];
        // What is made of itself, since lanes wait for one another, stands for itself.
        let mut open = Vec::new();
        while let Some(&top) = pending.last() {
            if self.known.contains_key(&top) {
                pending.pop();
                continue;
            }
            let (definition, applied) = match *self.terms.kind(top) {
                TermKind::Unknown(unknown) => {
                    (self.terms.definition(unknown), self.applications.of.get(&unknown))
                }
                _ => (None, None),
            };
            let operands = match (definition, applied) {
                (Some(definition), _) => vec![definition],
                (None, Some((_, parts))) => parts.clone(),
                (None, None) => self.terms.operands(top),
            };
            let missing: Vec<TermRef> = operands
                .iter()
                .copied()
                .filter(|operand| !self.known.contains_key(operand) && !open.contains(operand))
                .collect();
            if !missing.is_empty() {
                open.push(top);
                pending.extend(missing);
                continue;
            }
            let same = if let Some(definition) = definition {
                self.known.get(&definition).copied().unwrap_or(top)
            } else {
                let width = self.terms.width(top);
                let known = |operand: TermRef| Some(self.known.get(&operand).copied().unwrap_or(operand));
                let form = match applied {
                    Some((site, parts)) => {
                        Form::Applied(width, *site, parts.iter().filter_map(|&part| known(part)).collect())
                    }
                    None => match self.terms.kind_of(self.terms.kind(top), known, Some) {
                        Some(kind) => Form::Term(width, kind),
                        None => Form::Term(width, self.terms.kind(top).clone()),
                    },
                };
                *self.first.entry(form).or_insert(top)
            };
            self.known.insert(top, same);
            pending.pop();
        }
        self.known[&term]
    }
}
