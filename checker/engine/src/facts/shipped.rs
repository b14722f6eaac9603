//! What a model has in common with those that come along.
//!
//! Some arguments are made axiom by axiom, for those of the models that come along, and say nothing of others that somebody
//! might write. So it is looked up whether an axiom is one of them: the same check of the same term. Terms are compared down
//! to base sets and relations; a name counts for nothing.

use crate::models::{Model, names};

use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::{
    Axiom, BaseRelation, Flag, MemoryModel, RelationKind, SetKind, TermId, TermKind,
};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::OnceLock;

/// The axiom of mbarriers ([`in_phase_order`]).
const PHASES: (&str, &str) = ("ptx", "phases-in-order");
/// The variant in which stores depend on no branches.
const NO_BRANCHES: &str = "no-ctrl-dependencies";

/// Why it is not known that whoever reads from an update that changes nothing might as well have read from its source.
///
/// That holds under the axioms of each model that comes along, if nobody races for the word (`unroll::wait`). So all axioms
/// of one of them must be there, and what else is stated must not be about who reads from whom.
pub fn foreign_reads(model: &MemoryModel) -> Option<String> {
    unlike(model, |_| true, ("who reads from whom", &[BaseRelation::ReadsFrom]))
}

/// Why it is not known that barriers order what their threads do, that a read sees nothing that is overwritten before it, and
/// that no store is there because of itself.
///
/// That holds under the axioms of each of PTX's models, as long as branches count.
pub fn out_of_barrier_order(model: &MemoryModel) -> Option<String> {
    if model.variants.iter().any(|variant| variant == NO_BRANCHES) {
        return Some(format!("with `{NO_BRANCHES}` stores do not depend on branches"));
    }
    let told = [
        BaseRelation::ReadsFrom,
        BaseRelation::AddressDependency,
        BaseRelation::DataDependency,
        BaseRelation::ControlDependency,
        BaseRelation::StoreControlDependency,
    ];
    unlike(model, |name| name.starts_with("ptx"), ("what is read and what depends on it", &told))
}

/// In what a model is like none of some that come along: an axiom that it has not, or one of its own about some relations.
fn unlike(
    model: &MemoryModel,
    is_meant: fn(&str) -> bool,
    (what, told): (&str, &[BaseRelation]),
) -> Option<String> {
    let mut because = None;
    for beside in names().filter(|name| is_meant(name)).filter_map(|name| Beside::new(model, name)) {
        let missing = beside.missing();
        let foreign = told.iter().find_map(|&base| beside.foreign(base));
        match (missing, foreign) {
            (None, None) => return None,
            (None, Some(name)) => {
                return Some(format!("`{name}` says something of its own about {what}"));
            }
            (Some(axiom), _) => {
                because
                    .get_or_insert_with(|| format!("there is no axiom like `{axiom}` of `{}`", beside.name));
            }
        }
    }
    because
}

/// Why it is not known that the operations on an mbarrier are in one order, that of phases, with causality in it (MB-20).
pub fn out_of_phase_order(model: &MemoryModel) -> Option<String> {
    let (of, name) = PHASES;
    let beside = Beside::new(model, of)?;
    let axiom = beside.shipped.axioms.iter().find(|axiom| axiom.name == name)?;
    (!beside.has(axiom)).then(|| format!("there is no axiom like `{name}` of `{of}`"))
}

/// A model, and one that comes along, with the same variants as far as it has them.
struct Beside<'a> {
    own: &'a MemoryModel,
    name: &'static str,
    shipped: Cow<'static, MemoryModel>,
    /// Of each term of the one, which of the other is the same.
    same: IndexVec<TermId, Option<TermId>>,
}

impl<'a> Beside<'a> {
    fn new(own: &'a MemoryModel, name: &'static str) -> Option<Self> {
        let plain = plain(name)?;
        let is_described = |variant: &&String| plain.described.iter().any(|known| known.name == **variant);
        let variants: Vec<String> = own.variants.iter().filter(is_described).cloned().collect();
        let shipped = if variants.is_empty() {
            Cow::Borrowed(plain)
        } else {
            Cow::Owned(Model::shipped(name, &variants).ok()?.resolved)
        };
        let known: FxHashMap<&TermKind, TermId> =
            shipped.terms.iter_enumerated().map(|(id, term)| (&term.kind, id)).collect();
        let mut same: IndexVec<TermId, Option<TermId>> = IndexVec::new();
        for term in own.terms.iter() {
            let image = renamed(&term.kind, &|operand| same.get(operand).copied().flatten());
            same.push(image.and_then(|image| known.get(&image).copied()));
        }
        Some(Self { own, name, shipped, same })
    }

    fn is_same(&self, own: &Axiom, other: &Axiom) -> bool {
        own.kind == other.kind && self.same[own.term] == Some(other.term)
    }

    /// Whether the model has an axiom of the one that comes along.
    fn has(&self, other: &Axiom) -> bool {
        self.own.axioms.iter().any(|own| self.is_same(own, other))
    }

    /// An axiom that the model lacks.
    fn missing(&self) -> Option<&str> {
        self.shipped.axioms.iter().find(|axiom| !self.has(axiom)).map(|axiom| axiom.name.as_str())
    }

    /// An axiom or a flag of the model's own that a base relation occurs in.
    fn foreign(&self, base: BaseRelation) -> Option<&str> {
        let mut occurs: IndexVec<TermId, bool> = IndexVec::repeat(false, self.own.terms.len());
        loop {
            let mut is_news = false;
            for (id, term) in self.own.terms.iter_enumerated() {
                let is_base = term.kind == TermKind::Relation(RelationKind::Base(base));
                if !occurs[id] && (is_base || self.own.operands(id).iter().any(|&of| occurs[of])) {
                    occurs[id] = true;
                    is_news = true;
                }
            }
            // What is recursive may have a later term for its body.
            if !is_news {
                break;
            }
        }
        let is_known_axiom = |own: &Axiom| self.shipped.axioms.iter().any(|other| self.is_same(own, other));
        let is_known_flag =
            |own: &Flag| self.shipped.flags.iter().any(|other| self.same[own.term] == Some(other.term));
        let axioms = self.own.axioms.iter().filter(|axiom| occurs[axiom.term] && !is_known_axiom(axiom));
        let flags = self.own.flags.iter().filter(|flag| occurs[flag.term] && !is_known_flag(flag));
        axioms.map(|axiom| axiom.name.as_str()).chain(flags.map(|flag| flag.name.as_str())).next()
    }
}

/// A model that comes along, without variants.
fn plain(name: &'static str) -> Option<&'static MemoryModel> {
    static PLAIN: OnceLock<Vec<(&str, MemoryModel)>> = OnceLock::new();
    let load = |name| Some((name, Model::shipped(name, &[]).ok()?.resolved));
    let all = PLAIN.get_or_init(|| names().filter_map(load).collect());
    all.iter().find(|(own, _)| *own == name).map(|(_, model)| model)
}

/// A term of the same kind with other operands; `None` if one of them is nothing there, or if it is recursive.
fn renamed(kind: &TermKind, of: &dyn Fn(TermId) -> Option<TermId>) -> Option<TermKind> {
    use {RelationKind as R, SetKind as S};
    Some(match *kind {
        TermKind::Set(ref kind) => TermKind::Set(match *kind {
            S::Base(_) | S::Empty => kind.clone(),
            S::Union(a, b) => S::Union(of(a)?, of(b)?),
            S::Intersection(a, b) => S::Intersection(of(a)?, of(b)?),
            S::Difference(a, b) => S::Difference(of(a)?, of(b)?),
            S::Complement(a) => S::Complement(of(a)?),
            S::Domain(a) => S::Domain(of(a)?),
            S::Range(a) => S::Range(of(a)?),
        }),
        TermKind::Relation(ref kind) => TermKind::Relation(match *kind {
            R::Base(_) | R::Empty => kind.clone(),
            R::Recursive(_) => return None,
            R::Union(a, b) => R::Union(of(a)?, of(b)?),
            R::Intersection(a, b) => R::Intersection(of(a)?, of(b)?),
            R::Difference(a, b) => R::Difference(of(a)?, of(b)?),
            R::Complement(a) => R::Complement(of(a)?),
            R::Sequence(a, b) => R::Sequence(of(a)?, of(b)?),
            R::Inverse(a) => R::Inverse(of(a)?),
            R::Optional(a) => R::Optional(of(a)?),
            R::TransitiveClosure(a) => R::TransitiveClosure(of(a)?),
            R::ReflexiveTransitiveClosure(a) => R::ReflexiveTransitiveClosure(of(a)?),
            R::Product(a, b) => R::Product(of(a)?, of(b)?),
            R::Identity(a) => R::Identity(of(a)?),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::{foreign_reads, out_of_phase_order};
    use crate::models::{Model, names};
    use fencepost_dsl::SourceMap;
    use fencepost_dsl::cat::memory_model::MemoryModel;

    fn own(text: &str) -> MemoryModel {
        let mut read = |path: &str| match path {
            "own.cat" => Ok(text.to_owned()),
            _ => Err("no such file".to_owned()),
        };
        let loaded = Model::load(&mut SourceMap::default(), "own.cat", &[], &mut read);
        loaded.unwrap_or_else(|errors| panic!("{errors:?}")).resolved
    }

    #[test]
    fn models_that_come_along_are_known_with_each_of_their_variants() {
        for name in names() {
            let model = Model::shipped(name, &[]).unwrap_or_else(|errors| panic!("{errors:?}"));
            let with = model.resolved.described.iter().filter_map(|variant| model.with(variant));
            for model in with.chain([model.resolved.clone()]) {
                assert_eq!(foreign_reads(&model), None, "{name} {:?}", model.variants);
                let because = out_of_phase_order(&model);
                assert_eq!(because.is_none(), name == "ptx", "{name} {:?}", model.variants);
            }
        }
    }

    #[test]
    fn what_is_added_counts_only_if_it_speaks_of_reads() {
        let with = |more: &str| own(&format!("include \"ptx.cat\"\n{more}"));
        assert_eq!(foreign_reads(&with("empty (po & (F * F)) as no-two-fences")), None);
        for more in ["empty (rf & ext) as alone", "let rec r = rf | (r ; r)\nempty (r & ext) as alone"] {
            let because = foreign_reads(&with(more)).expect("it is new");
            assert!(because.contains("`alone`"), "{because}");
        }
        let flag = foreign_reads(&with("flag ~empty (rf & ext) as seen")).expect("it is new");
        assert!(flag.contains("`seen`"), "{flag}");
    }

    #[test]
    fn an_axiom_that_is_not_there_or_is_another_is_missed() {
        let mut less = own("include \"ptx.cat\"");
        assert_eq!(out_of_phase_order(&less), None);
        less.axioms.retain(|axiom| axiom.name != "phases-in-order" && axiom.name != "atomicity");
        assert!(foreign_reads(&less).expect("one is missing").contains("`atomicity`"));
        assert!(out_of_phase_order(&less).is_some());
        let text = crate::models::text("ptx").expect("it comes along");
        let other = own(&text.replacen("  | syncbar\n", "", 1));
        assert!(out_of_phase_order(&other).is_some(), "the name is the same, the order is not");
    }
}
