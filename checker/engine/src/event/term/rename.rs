//! What terms become when unknowns change places, or only some are there.

use super::{Definition, Term, TermKind, TermPool, TermRef, Unknown, UnknownId, UnknownKind};
use crate::work::{self, Work};
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::{FxHashMap, FxHashSet};

/// Some terms of a pool as a pool of their own.
pub struct Restricted {
    /// It.
    pub pool: TermPool,
    /// By number there, which unknown of the larger pool each is.
    pub unknowns: Vec<UnknownId>,
    terms: FxHashMap<TermRef, TermRef>,
    places: FxHashMap<UnknownId, UnknownId>,
}

impl Restricted {
    /// What a term is there; it has to be one of those that it was made for.
    pub fn term(&self, term: TermRef) -> TermRef {
        self.terms[&term]
    }
    /// What an unknown is there, if it is.
    pub fn unknown(&self, unknown: UnknownId) -> Option<UnknownId> {
        self.places.get(&unknown).copied()
    }
}

/// What terms become when a few unknowns change places, looked up when it is asked for.
pub struct Renamed<'a> {
    pool: &'a TermPool,
    unknowns: FxHashMap<UnknownId, UnknownId>,
    /// No term before it has one of them in it.
    first: Option<TermRef>,
    images: FxHashMap<TermRef, Option<TermRef>>,
}

impl<'a> Renamed<'a> {
    /// Where some unknowns go, which have the same width and range; all others stay.
    pub fn new(pool: &'a TermPool, moves: impl IntoIterator<Item = (UnknownId, UnknownId)>) -> Self {
        let unknowns: FxHashMap<UnknownId, UnknownId> = moves.into_iter().collect();
        // Of each there is a term, or none has it in it.
        let of = |unknown: &UnknownId| pool.known_unknown(*unknown);
        let first = unknowns.keys().filter_map(of).min();
        Self { pool, unknowns, first, images: FxHashMap::default() }
    }

    /// Where an unknown goes.
    pub fn unknown(&self, unknown: UnknownId) -> UnknownId {
        self.unknowns.get(&unknown).copied().unwrap_or(unknown)
    }

    /// What a term becomes; `None` if the pool has no such term.
    pub fn term(&mut self, term: TermRef) -> Option<TermRef> {
        let stays = |first: Option<TermRef>, term: TermRef| first.is_none_or(|first| term < first);
        let mut open = vec![term];
        while let Some(&next) = open.last() {
            if stays(self.first, next) || self.images.contains_key(&next) {
                open.pop();
                continue;
            }
            let n_open = open.len();
            let operands = self.pool.operands(next).into_iter();
            open.extend(operands.filter(|&of| !stays(self.first, of) && !self.images.contains_key(&of)));
            if open.len() > n_open {
                continue;
            }
            open.pop();
            work::count(Work::Term, 1);
            let Term { width, kind } = &self.pool.terms[next];
            let of = |of| if stays(self.first, of) { Some(of) } else { self.images[&of] };
            let image = self.pool.kind_of(kind, of, |unknown| Some(self.unknown(unknown))).and_then(|kind| {
                if kind == *self.pool.kind(next) {
                    return Some(next);
                }
                self.pool.known.get(&Term { width: *width, kind }).copied()
            });
            self.images.insert(next, image);
        }
        if stays(self.first, term) { Some(term) } else { self.images[&term] }
    }
}

impl TermPool {
    /// The term of an unknown, if there is one.
    fn known_unknown(&self, unknown: UnknownId) -> Option<TermRef> {
        let width = self.unknowns[unknown].width;
        self.known.get(&Term { width, kind: TermKind::Unknown(unknown) }).copied()
    }

    /// A pool with no terms but some, what they are made of, and some unknowns; `name` says what unknowns stand for there.
    pub fn restricted(
        &self,
        terms: impl IntoIterator<Item = TermRef>,
        unknowns: impl IntoIterator<Item = UnknownId>,
        name: impl Fn(UnknownId, &UnknownKind) -> UnknownKind,
    ) -> Restricted {
        let mut found: FxHashSet<TermRef> = FxHashSet::default();
        let mut kept: Vec<TermRef> = Vec::new();
        let mut pending: Vec<TermRef> = terms.into_iter().collect();
        while let Some(term) = pending.pop() {
            if found.insert(term) {
                kept.push(term);
                pending.extend(self.operands(term));
                if let TermKind::Unknown(unknown) = self.terms[term].kind {
                    let definition = self.definitions.get(&unknown);
                    pending.extend(definition.into_iter().flat_map(|own| [own.value, own.constraint]));
                }
            }
        }
        kept.sort_unstable();
        work::count(Work::Term, kept.len());
        let of_term = |&term: &TermRef| match self.terms[term].kind {
            TermKind::Unknown(unknown) => Some(unknown),
            _ => None,
        };
        let ids: SortedSet<UnknownId> = kept.iter().filter_map(of_term).chain(unknowns).collect();
        let mut restricted = Restricted {
            pool: Self::new(),
            unknowns: Vec::new(),
            terms: FxHashMap::default(),
            places: FxHashMap::default(),
        };
        for unknown in ids {
            let Unknown { width, min, max, ref kind } = self.unknowns[unknown];
            let place = restricted.pool.unknowns.push(Unknown { width, min, max, kind: name(unknown, kind) });
            restricted.places.insert(unknown, place);
            restricted.unknowns.push(unknown);
        }
        // Operands come before what is made of them, and the order of terms stays, by which their operands are in order.
        for term in kept {
            let Term { width, kind } = &self.terms[term];
            let of = |operand: TermRef| restricted.terms.get(&operand).copied();
            let unknown = |unknown: UnknownId| restricted.places.get(&unknown).copied();
            if let Some(kind) = with_operands(kind, of, unknown) {
                let place = restricted.pool.intern(*width, kind);
                restricted.terms.insert(term, place);
            }
        }
        for (&unknown, own) in restricted.unknowns.iter().zip(restricted.pool.unknowns.ids()) {
            if let Some(&Definition { value, constraint }) = self.definitions.get(&unknown)
                && let (Some(&value), Some(&constraint)) =
                    (restricted.terms.get(&value), restricted.terms.get(&constraint))
            {
                let term = restricted.pool.unknown_term(own);
                restricted.pool.define(term, value, constraint);
            }
        }
        restricted
    }

    /// The image of each term under a renaming of unknowns that keeps their widths and ranges; `None` where the pool has no
    /// such term.
    ///
    /// Terms are kept in one form each, which renaming keeps but for the order of operands that have none; so a term is
    /// only looked up, never built.
    pub fn renamed(&self, unknowns: &[UnknownId]) -> Vec<Option<TermRef>> {
        let mut images: Vec<Option<TermRef>> = Vec::with_capacity(self.terms.len());
        for (id, term) in self.terms.iter_enumerated() {
            // Operands come before what is made of them.
            let of = |term: TermRef| images[term.index()];
            let unknown = |unknown: UnknownId| unknowns.get(unknown.index()).copied();
            let image = self.kind_of(&term.kind, of, unknown).and_then(|kind| {
                if kind == term.kind {
                    return Some(id);
                }
                self.known.get(&Term { width: term.width, kind }).copied()
            });
            images.push(image);
        }
        work::count(Work::Term, images.len());
        images
    }

    /// What a kind becomes with other operands and unknowns, in the form in which the pool keeps it; `None` where one of them
    /// has none.
    pub fn kind_of(
        &self,
        kind: &TermKind,
        of: impl Fn(TermRef) -> Option<TermRef>,
        unknown: impl Fn(UnknownId) -> Option<UnknownId>,
    ) -> Option<TermKind> {
        let mut kind = with_operands(kind, of, unknown)?;
        match &mut kind {
            TermKind::And(members) | TermKind::Or(members) => members.sort_unstable(),
            // Of two operands without order the later one comes first, and a constant last.
            TermKind::BitAnd(a, b)
            | TermKind::BitOr(a, b)
            | TermKind::BitXor(a, b)
            | TermKind::Add(a, b)
            | TermKind::Multiply(a, b)
            | TermKind::Equal(a, b) => {
                let is_constant = self.constant_value(*a).is_some() || self.constant_value(*b).is_some();
                if !is_constant && *a < *b {
                    std::mem::swap(a, b);
                }
            }
            _ => {}
        }
        Some(kind)
    }

    /// A constant, if the pool has it.
    pub fn known_constant(
        &self,
        value: u128,
        width: fencepost_dsl::kernel::program::Width,
    ) -> Option<TermRef> {
        self.known.get(&Term { width, kind: TermKind::Constant(value) }).copied()
    }
}

/// What a kind becomes with other operands, in their order, and unknowns; `None` where one of them has none.
fn with_operands(
    kind: &TermKind,
    of: impl Fn(TermRef) -> Option<TermRef>,
    unknown: impl Fn(UnknownId) -> Option<UnknownId>,
) -> Option<TermKind> {
    let all = |members: &[TermRef]| members.iter().map(|&member| of(member)).collect::<Option<Box<[_]>>>();
    Some(match *kind {
        TermKind::Constant(value) => TermKind::Constant(value),
        TermKind::Unknown(own) => TermKind::Unknown(unknown(own)?),
        TermKind::Not(a) => TermKind::Not(of(a)?),
        TermKind::And(ref members) => TermKind::And(all(members)?),
        TermKind::Or(ref members) => TermKind::Or(all(members)?),
        TermKind::BitAnd(a, b) => TermKind::BitAnd(of(a)?, of(b)?),
        TermKind::BitOr(a, b) => TermKind::BitOr(of(a)?, of(b)?),
        TermKind::BitXor(a, b) => TermKind::BitXor(of(a)?, of(b)?),
        TermKind::Add(a, b) => TermKind::Add(of(a)?, of(b)?),
        TermKind::Subtract(a, b) => TermKind::Subtract(of(a)?, of(b)?),
        TermKind::Multiply(a, b) => TermKind::Multiply(of(a)?, of(b)?),
        TermKind::Divide(a, b) => TermKind::Divide(of(a)?, of(b)?),
        TermKind::Remainder(a, b) => TermKind::Remainder(of(a)?, of(b)?),
        TermKind::ShiftLeft(a, b) => TermKind::ShiftLeft(of(a)?, of(b)?),
        TermKind::ShiftRight(a, b) => TermKind::ShiftRight(of(a)?, of(b)?),
        TermKind::Equal(a, b) => TermKind::Equal(of(a)?, of(b)?),
        TermKind::Less(a, b) => TermKind::Less(of(a)?, of(b)?),
        TermKind::SignedLess(a, b) => TermKind::SignedLess(of(a)?, of(b)?),
        TermKind::IfThenElse(a, b, c) => TermKind::IfThenElse(of(a)?, of(b)?, of(c)?),
        TermKind::Resize(a) => TermKind::Resize(of(a)?),
        TermKind::Extract(a, low) => TermKind::Extract(of(a)?, low),
    })
}
