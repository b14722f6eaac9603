//! What terms become when unknowns change places.

use super::{Term, TermKind, TermPool, TermRef, UnknownId};
use crate::work::{self, Work};
use fencepost_dsl::index::Id;

impl TermPool {
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
        let of = &of;
        let all = |members: &[TermRef]| {
            let mut members = members.iter().map(|&member| of(member)).collect::<Option<Vec<_>>>()?;
            members.sort_unstable();
            Some(members.into_boxed_slice())
        };
        // Of two operands without order the later one comes first, and a constant last.
        let pair = |a: TermRef, b: TermRef| {
            let (a, b) = (of(a)?, of(b)?);
            let is_constant = self.constant_value(a).is_some() || self.constant_value(b).is_some();
            Some(if is_constant { (a, b) } else { (a.max(b), a.min(b)) })
        };
        Some(match *kind {
            TermKind::Constant(value) => TermKind::Constant(value),
            TermKind::Unknown(own) => TermKind::Unknown(unknown(own)?),
            TermKind::Not(a) => TermKind::Not(of(a)?),
            TermKind::And(ref members) => TermKind::And(all(members)?),
            TermKind::Or(ref members) => TermKind::Or(all(members)?),
            TermKind::BitAnd(a, b) => pair(a, b).map(|(a, b)| TermKind::BitAnd(a, b))?,
            TermKind::BitOr(a, b) => pair(a, b).map(|(a, b)| TermKind::BitOr(a, b))?,
            TermKind::BitXor(a, b) => pair(a, b).map(|(a, b)| TermKind::BitXor(a, b))?,
            TermKind::Add(a, b) => pair(a, b).map(|(a, b)| TermKind::Add(a, b))?,
            TermKind::Multiply(a, b) => pair(a, b).map(|(a, b)| TermKind::Multiply(a, b))?,
            TermKind::Equal(a, b) => pair(a, b).map(|(a, b)| TermKind::Equal(a, b))?,
            TermKind::Subtract(a, b) => TermKind::Subtract(of(a)?, of(b)?),
            TermKind::Divide(a, b) => TermKind::Divide(of(a)?, of(b)?),
            TermKind::Remainder(a, b) => TermKind::Remainder(of(a)?, of(b)?),
            TermKind::ShiftLeft(a, b) => TermKind::ShiftLeft(of(a)?, of(b)?),
            TermKind::ShiftRight(a, b) => TermKind::ShiftRight(of(a)?, of(b)?),
            TermKind::Less(a, b) => TermKind::Less(of(a)?, of(b)?),
            TermKind::SignedLess(a, b) => TermKind::SignedLess(of(a)?, of(b)?),
            TermKind::IfThenElse(a, b, c) => TermKind::IfThenElse(of(a)?, of(b)?, of(c)?),
            TermKind::Resize(a) => TermKind::Resize(of(a)?),
            TermKind::Extract(a, low) => TermKind::Extract(of(a)?, low),
        })
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
