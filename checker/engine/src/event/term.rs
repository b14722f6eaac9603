//! Bit-vector terms over unknowns: guards, addresses, values. Hash-consed and simplified as they are built.
//!
//! In typical kernels everything but a few flags is constant per thread after unrolling; constants must vanish here, so
//! that no SAT variable is spent on them. Conjunctions and disjunctions of width 1 are flat, sorted sets, so that
//! "guard `a` implies guard `b`" is often plain set inclusion.

mod connective;
mod low_bits;
mod path;
mod range;
mod rename;
mod value;

use super::{AgentId, EventId, LocationId, SiteId, UnknownId};
use crate::work::{self, Work};
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{BinaryOp, Width};
use fencepost_dsl::{IndexVec, define_id};
use low_bits::LowBits;
pub use rename::{Renamed, Restricted};
use rustc_hash::FxHashMap;
use value::{fold, signed};

define_id! {
    /// A term of a [`TermPool`].
    pub struct TermRef;
}

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    /// Width in bits.
    pub width: Width,
    /// What it is.
    pub kind: TermKind,
}

/// What a term is. Comparison operands have equal width; `And`, `Or` have width 1 and at least two operands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "bit-vector operators")]
pub enum TermKind {
    Constant(u128),
    Unknown(UnknownId),
    /// Complement of every bit.
    Not(TermRef),
    /// Conjunction, sorted, without duplicates or complements. Width 1.
    And(Box<[TermRef]>),
    /// Disjunction, likewise.
    Or(Box<[TermRef]>),
    BitAnd(TermRef, TermRef),
    BitOr(TermRef, TermRef),
    BitXor(TermRef, TermRef),
    Add(TermRef, TermRef),
    Subtract(TermRef, TermRef),
    Multiply(TermRef, TermRef),
    /// All ones if the divisor is 0.
    Divide(TermRef, TermRef),
    /// The dividend if the divisor is 0.
    Remainder(TermRef, TermRef),
    /// 0 if the amount is at least the width.
    ShiftLeft(TermRef, TermRef),
    /// Logical; 0 if the amount is at least the width.
    ShiftRight(TermRef, TermRef),
    Equal(TermRef, TermRef),
    /// Unsigned.
    Less(TermRef, TermRef),
    /// Two's complement.
    SignedLess(TermRef, TermRef),
    /// Condition of width 1, two branches of equal width.
    IfThenElse(TermRef, TermRef, TermRef),
    /// Zero-extended or truncated to the term's width.
    Resize(TermRef),
    /// Bits `low ..` of the operand, as many as the term is wide.
    Extract(TermRef, Width),
}

/// A value chosen per execution.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// Width in bits.
    pub width: Width,
    /// Smallest value, where something is known.
    pub min: u128,
    /// Largest value.
    pub max: u128,
    /// What it stands for.
    pub kind: UnknownKind,
}

/// What an unknown stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum UnknownKind {
    /// A kernel parameter.
    Parameter,
    /// The value returned by a read event.
    Read(EventId),
    /// The unknown initial value of some bytes.
    Initial {
        /// Where.
        location: LocationId,
        /// First byte.
        offset_bytes: u32,
    },
    /// The final value of some bytes.
    FinalValue {
        /// Where.
        location: LocationId,
        /// First byte.
        offset_bytes: u32,
        /// How many.
        width_bytes: u32,
    },
    /// Whether each byte of a read is of a write that no other is coherence-after.
    ReadsLast(EventId),
    /// Whether each byte of a strong read is of a write that no other is coherence-after which the read is promised to see
    /// (LT-8).
    ReadsPromised(EventId),
    /// Whether a thread makes a failing try of a spin loop.
    Spins(AgentId),
    /// Whether a thread gets past a blocking instruction (or a barrier instance completes).
    Passes,
    /// The phase of an mbarrier in which an operation on it happens.
    Phase,
    /// The number of phases that an mbarrier completes.
    FinalPhase,
    /// Whether an mbarrier wait returned true.
    WaitResult,
    /// Whether an arrival exceeds what its phase of an mbarrier expects.
    Excess,
    /// Whether a phase of an mbarrier ends with an operation.
    Completes,
    /// Whether a warp comes back to a barrier before the generation of its last arrival is complete.
    Early,
    /// Which of two comes first at a barrier or mbarrier, where either can.
    ComesFirst,
    /// How many arrivals at an mbarrier are pending when an operation comes.
    PendingCount,
    /// Whether a cluster has started.
    Starts(u32),
    /// What `clusterlaunchcontrol.try_cancel` answers.
    Response,
    /// Whether a lane is the leader, if no lane of the mask before it is.
    Elected,
    /// Whether a thread is the first of its CTA to let dependent grids start.
    Triggers(AgentId),
    /// Whether a thread is one of those that form a barrier's quorum.
    TakesPart,
    /// Whether one `setmaxnreg` of a CTA comes before another.
    Precedes,
    /// The combined predicate of a `bar.red`.
    BarrierResult,
    /// What a lane of a warp gets from others ([`TermPool::definition`]).
    Exchanged,
    /// What nothing is known of, such as a cache policy.
    Uncomputed(SiteId),
    /// What a thread has read that is not looked at (`crate::slice`): anything.
    Elsewhere,
}

/// All terms of one event graph.
#[derive(Clone, Debug)]
pub struct TermPool {
    terms: IndexVec<TermRef, Term>,
    /// Each term itself, so that one is a list of conjuncts.
    own: IndexVec<TermRef, TermRef>,
    low_bits: IndexVec<TermRef, LowBits>,
    ranges: IndexVec<TermRef, range::Interval>,
    unknowns: IndexVec<UnknownId, Unknown>,
    known: FxHashMap<Term, TermRef>,
    /// What some unknowns are, where those who got them have met the others.
    definitions: FxHashMap<UnknownId, Definition>,
    /// The constraints that say so, which exclude nothing.
    defining: FxHashMap<TermRef, TermRef>,
}

/// What an unknown is, and the constraint that says so.
#[derive(Clone, Copy, Debug)]
struct Definition {
    value: TermRef,
    constraint: TermRef,
}

/// How far a [`TermPool`] had got, for taking back what was built since.
#[derive(Clone, Copy, Debug)]
pub struct TermMark {
    n_terms: usize,
    n_unknowns: usize,
}

impl Default for TermPool {
    fn default() -> Self {
        Self::new()
    }
}

impl TermPool {
    /// A pool with nothing but the truth values.
    pub fn new() -> Self {
        let mut pool = Self {
            terms: IndexVec::new(),
            own: IndexVec::new(),
            low_bits: IndexVec::new(),
            ranges: IndexVec::new(),
            unknowns: IndexVec::new(),
            known: FxHashMap::default(),
            definitions: FxHashMap::default(),
            defining: FxHashMap::default(),
        };
        pool.intern(1, TermKind::Constant(0));
        pool.intern(1, TermKind::Constant(1));
        pool
    }

    /// The constant 0 of width 1.
    pub const FALSE: TermRef = TermRef(0);
    /// The constant 1 of width 1.
    pub const TRUE: TermRef = TermRef(1);

    fn intern(&mut self, width: Width, kind: TermKind) -> TermRef {
        work::count(Work::Term, 1);
        let term = Term { width, kind };
        if let Some(&known) = self.known.get(&term) {
            return known;
        }
        let low_bits = self.low_bits_of(width, &term.kind);
        let range = self.range_of(width, &term.kind);
        if !matches!(term.kind, TermKind::Constant(_) | TermKind::Unknown(_)) {
            let known =
                if range.0 == range.1 { Some(range.0) } else { low_bits.below(width.into()).map(u128::from) };
            if let Some(value) = known {
                return self.constant(value, width);
            }
        }
        let id = self.terms.push(term.clone());
        self.own.push(id);
        self.low_bits.push(low_bits);
        self.ranges.push(range);
        self.known.insert(term, id);
        id
    }

    /// The present extent of the pool.
    pub fn mark(&self) -> TermMark {
        TermMark { n_terms: self.terms.len(), n_unknowns: self.unknowns.len() }
    }
    /// Forgets all terms and unknowns made since `mark`; none of them may be in use any more.
    pub fn rewind(&mut self, mark: TermMark) {
        for index in mark.n_terms..self.terms.len() {
            self.known.remove(&self.terms[TermRef::from_index(index)]);
        }
        self.terms.truncate(mark.n_terms);
        self.own.truncate(mark.n_terms);
        self.low_bits.truncate(mark.n_terms);
        self.ranges.truncate(mark.n_terms);
        self.unknowns.truncate(mark.n_unknowns);
    }

    /// Whether a term is still in the pool.
    pub fn contains(&self, term: TermRef) -> bool {
        (term.0 as usize) < self.terms.len()
    }

    /// A term's node.
    pub fn kind(&self, term: TermRef) -> &TermKind {
        &self.terms[term].kind
    }
    /// A term's width.
    pub fn width(&self, term: TermRef) -> Width {
        self.terms[term].width
    }
    /// The negation of each term that has one in the pool.
    pub fn negations(&self) -> FxHashMap<TermRef, TermRef> {
        let mut negations = FxHashMap::default();
        for (id, term) in self.terms.iter_enumerated() {
            if let TermKind::Not(inner) = term.kind {
                negations.insert(inner, id);
            }
        }
        negations
    }
    /// All terms.
    pub fn all(&self) -> impl Iterator<Item = TermRef> {
        (0..self.terms.len()).map(TermRef::from_index)
    }
    /// Number of terms.
    pub fn n_terms(&self) -> usize {
        self.terms.len()
    }
    /// An unknown's description.
    pub fn unknown(&self, unknown: UnknownId) -> &Unknown {
        &self.unknowns[unknown]
    }
    /// All unknowns.
    pub fn unknowns(&self) -> &IndexVec<UnknownId, Unknown> {
        &self.unknowns
    }
    /// Says anew what unknowns stand for.
    pub fn rename_unknowns(&mut self, name: impl Fn(UnknownId, &UnknownKind) -> UnknownKind) {
        for id in self.unknowns.ids() {
            self.unknowns[id].kind = name(id, &self.unknowns[id].kind);
        }
    }
    /// The constant a term is, if it is one.
    pub fn constant_value(&self, term: TermRef) -> Option<u128> {
        match self.kind(term) {
            TermKind::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// A fresh unknown over the whole width.
    pub fn fresh(&mut self, width: Width, kind: UnknownKind) -> (UnknownId, TermRef) {
        self.fresh_in_range(width, 0, mask(width), kind)
    }
    /// A fresh unknown known to lie in `min..=max`, which has to be stated ([`TermPool::is_in_range`]).
    pub(super) fn fresh_in_range(
        &mut self,
        width: Width,
        min: u128,
        max: u128,
        kind: UnknownKind,
    ) -> (UnknownId, TermRef) {
        let id = self.unknowns.push(Unknown { width, min, max, kind });
        (id, self.intern(width, TermKind::Unknown(id)))
    }
    /// Says what an unknown is, where whoever got it has met those it is of, and by which constraint.
    pub fn define(&mut self, unknown: TermRef, value: TermRef, constraint: TermRef) {
        if let TermKind::Unknown(id) = *self.kind(unknown) {
            self.definitions.insert(id, Definition { value, constraint });
            self.defining.insert(constraint, unknown);
        }
    }
    /// Whether a constraint only says what an unknown is.
    pub fn is_definition(&self, constraint: TermRef) -> bool {
        self.defining.contains_key(&constraint)
    }
    /// Which unknown a constraint only says of what it is.
    pub fn defined_by(&self, constraint: TermRef) -> Option<TermRef> {
        self.defining.get(&constraint).copied()
    }
    /// What an unknown is, if that is known: for dependencies, which go through it, and for running threads in turns. That it
    /// is so is stated by a constraint.
    pub fn definition(&self, unknown: UnknownId) -> Option<TermRef> {
        self.definitions.get(&unknown).map(|definition| definition.value)
    }
    /// The term of an unknown.
    pub fn unknown_term(&mut self, unknown: UnknownId) -> TermRef {
        self.intern(self.unknowns[unknown].width, TermKind::Unknown(unknown))
    }

    /// A constant, reduced to its width.
    pub fn constant(&mut self, value: u128, width: Width) -> TermRef {
        self.intern(width, TermKind::Constant(value & mask(width)))
    }
    /// A truth value.
    pub fn boolean(value: bool) -> TermRef {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// Complement of every bit.
    pub fn not(&mut self, a: TermRef) -> TermRef {
        let width = self.width(a);
        match *self.kind(a) {
            TermKind::Constant(value) => self.constant(!value, width),
            TermKind::Not(inner) => inner,
            _ => self.intern(width, TermKind::Not(a)),
        }
    }
    /// `condition ? then : otherwise`.
    pub fn if_then_else(&mut self, condition: TermRef, then: TermRef, otherwise: TermRef) -> TermRef {
        if then == otherwise || condition == Self::TRUE {
            return then;
        }
        if condition == Self::FALSE {
            return otherwise;
        }
        let width = self.width(then);
        if width == 1 {
            if then == Self::TRUE {
                return self.or(condition, otherwise);
            }
            if then == Self::FALSE {
                let not = self.not(condition);
                return self.and(not, otherwise);
            }
            if otherwise == Self::FALSE {
                return self.and(condition, then);
            }
            if otherwise == Self::TRUE {
                return self.implies(condition, then);
            }
            if otherwise == condition {
                return self.and(condition, then);
            }
            if then == condition {
                return self.or(condition, otherwise);
            }
        }
        if let TermKind::Not(inner) = *self.kind(condition) {
            return self.intern(width, TermKind::IfThenElse(inner, otherwise, then));
        }
        self.intern(width, TermKind::IfThenElse(condition, then, otherwise))
    }

    /// Equality, width 1.
    pub fn equal(&mut self, a: TermRef, b: TermRef) -> TermRef {
        let (a, b) = if self.constant_value(a).is_some() { (b, a) } else { (a.max(b), a.min(b)) };
        let (a, b) = if self.constant_value(a).is_some() { (b, a) } else { (a, b) };
        if a == b {
            return Self::TRUE;
        }
        let ((a_min, a_max), (b_min, b_max)) = (self.range(a), self.range(b));
        if a_max < b_min || b_max < a_min || self.low_bits(a).differ(self.low_bits(b)) {
            return Self::FALSE;
        }
        // No value is itself and something more.
        for (sum, other) in [(a, b), (b, a)] {
            if let TermKind::Add(x, k) = *self.kind(sum)
                && x == other
                && self.constant_value(k).is_some_and(|k| k != 0)
            {
                return Self::FALSE;
            }
        }
        if let Some(value) = self.constant_value(b) {
            if self.constant_value(a).is_some() {
                return Self::FALSE;
            }
            let width = self.width(a);
            match *self.kind(a) {
                _ if width == 1 => return if value == 1 { a } else { self.not(a) },
                TermKind::IfThenElse(c, x, y)
                    if self.constant_value(x).is_some()
                        || self.constant_value(y).is_some()
                        || self.is_choice_of_constants(a) =>
                {
                    let x_equal = self.equal(x, b);
                    let y_equal = self.equal(y, b);
                    return self.if_then_else(c, x_equal, y_equal);
                }
                TermKind::Add(x, k) => {
                    if let Some(k) = self.constant_value(k) {
                        let shifted = self.constant(value.wrapping_sub(k), width);
                        return self.equal(x, shifted);
                    }
                }
                TermKind::Resize(x) if self.width(x) < width => {
                    let narrow = self.constant(value, self.width(x));
                    return if value > mask(self.width(x)) { Self::FALSE } else { self.equal(x, narrow) };
                }
                _ => {}
            }
        }
        self.intern(1, TermKind::Equal(a, b))
    }

    /// Unsigned `a < b`, width 1.
    pub fn less(&mut self, a: TermRef, b: TermRef) -> TermRef {
        let ((a_min, a_max), (b_min, b_max)) = (self.range(a), self.range(b));
        if a_max < b_min {
            return Self::TRUE;
        }
        if a == b || a_min >= b_max {
            return Self::FALSE;
        }
        if let (Some(a), Some(b)) = (self.unflipped(a), self.unflipped(b)) {
            return self.less(a, b);
        }
        // `a < 1` is `a == 0`, and `a < b` with b at most one above a's minimum pins a.
        if b_min == b_max && a_min + 1 == b_min {
            let low = self.constant(a_min, self.width(a));
            return self.equal(a, low);
        }
        for (choice, other) in [(a, b), (b, a)] {
            let TermKind::IfThenElse(c, x, y) = *self.kind(choice) else { continue };
            if self.constant_value(other).is_none() || !self.is_choice_of_constants(choice) {
                continue;
            }
            let [x, y] = [x, y].map(|case| if choice == a { self.less(case, b) } else { self.less(a, case) });
            return self.if_then_else(c, x, y);
        }
        self.intern(1, TermKind::Less(a, b))
    }

    /// Signed `a < b`, width 1.
    pub fn signed_less(&mut self, a: TermRef, b: TermRef) -> TermRef {
        let width = self.width(a);
        if let (Some(x), Some(y)) = (self.constant_value(a), self.constant_value(b)) {
            return Self::boolean(signed(x, width) < signed(y, width));
        }
        if a == b {
            return Self::FALSE;
        }
        let sign = 1 << (width - 1);
        if self.range(a).1 < sign && self.range(b).1 < sign {
            return self.less(a, b);
        }
        self.intern(1, TermKind::SignedLess(a, b))
    }

    /// Zero-extension or truncation.
    pub fn resize(&mut self, a: TermRef, width: Width) -> TermRef {
        let own = self.width(a);
        if own == width {
            return a;
        }
        match *self.kind(a) {
            TermKind::Constant(value) => self.constant(value, width),
            TermKind::Resize(inner) if self.width(inner) <= own.min(width) => self.resize(inner, width),
            TermKind::BitOr(..) | TermKind::ShiftLeft(..) if width < own => match self.field(a, 0, width) {
                Some(field) => field,
                None => self.intern(width, TermKind::Resize(a)),
            },
            _ => self.intern(width, TermKind::Resize(a)),
        }
    }

    /// Bits `low .. low + width` of `a`.
    pub fn extract(&mut self, a: TermRef, low: Width, width: Width) -> TermRef {
        if low == 0 {
            return self.resize(a, width);
        }
        match *self.kind(a) {
            TermKind::Constant(value) => self.constant(value >> low, width),
            _ => match self.field(a, low, width) {
                Some(field) => field,
                None => self.intern(width, TermKind::Extract(a, low)),
            },
        }
    }

    /// Bits of a word that was put together from fields, where they are just one field.
    fn field(&mut self, a: TermRef, low: Width, width: Width) -> Option<TermRef> {
        match *self.kind(a) {
            TermKind::BitOr(x, y) => {
                let (x, y) = (self.extract(x, low, width), self.extract(y, low, width));
                match (self.constant_value(x), self.constant_value(y)) {
                    (Some(x), Some(y)) => Some(self.constant(x | y, width)),
                    (Some(0), None) => Some(y),
                    (None, Some(0)) => Some(x),
                    _ => None,
                }
            }
            TermKind::ShiftLeft(x, amount) => {
                let amount = self.constant_value(amount)?;
                if amount >= u128::from(low) + u128::from(width) {
                    return Some(self.constant(0, width));
                }
                let amount = u8::try_from(amount).ok()?;
                (amount <= low).then(|| self.extract(x, low - amount, width))
            }
            TermKind::Resize(x) if low >= self.width(x) => Some(self.constant(0, width)),
            _ => None,
        }
    }

    /// A binary operator of the kernel language.
    pub fn binary(&mut self, op: BinaryOp, a: TermRef, b: TermRef) -> TermRef {
        match op {
            BinaryOp::Equal => self.equal(a, b),
            BinaryOp::NotEqual => {
                let equal = self.equal(a, b);
                self.not(equal)
            }
            BinaryOp::Less => self.less(a, b),
            BinaryOp::Greater => self.less(b, a),
            BinaryOp::LessEqual => {
                let greater = self.less(b, a);
                self.not(greater)
            }
            BinaryOp::GreaterEqual => {
                let less = self.less(a, b);
                self.not(less)
            }
            BinaryOp::Add => self.arithmetic(a, b, TermKind::Add),
            BinaryOp::Subtract => {
                if let Some(k) = self.constant_value(b) {
                    let width = self.width(b);
                    let negated = self.constant(0u128.wrapping_sub(k), width);
                    return self.arithmetic(a, negated, TermKind::Add);
                }
                self.arithmetic(a, b, TermKind::Subtract)
            }
            BinaryOp::Multiply => self.arithmetic(a, b, TermKind::Multiply),
            BinaryOp::Divide => self.arithmetic(a, b, TermKind::Divide),
            BinaryOp::Remainder => self.arithmetic(a, b, TermKind::Remainder),
            BinaryOp::And if self.width(a) == 1 => self.and(a, b),
            BinaryOp::Or if self.width(a) == 1 => self.or(a, b),
            BinaryOp::And => self.arithmetic(a, b, TermKind::BitAnd),
            BinaryOp::Or => self.arithmetic(a, b, TermKind::BitOr),
            BinaryOp::Xor => self.arithmetic(a, b, TermKind::BitXor),
            BinaryOp::ShiftLeft => self.arithmetic(a, b, TermKind::ShiftLeft),
            BinaryOp::ShiftRight => self.arithmetic(a, b, TermKind::ShiftRight),
        }
    }

    /// Folds constants and neutral elements of the operators that keep their operands' width.
    fn arithmetic(&mut self, a: TermRef, b: TermRef, make: fn(TermRef, TermRef) -> TermKind) -> TermRef {
        let width = self.width(a);
        let probe = make(a, b);
        let commutes = matches!(
            probe,
            TermKind::Add(..)
                | TermKind::Multiply(..)
                | TermKind::BitAnd(..)
                | TermKind::BitOr(..)
                | TermKind::BitXor(..)
        );
        let (x, y) = (self.constant_value(a), self.constant_value(b));
        if let (Some(x), Some(y)) = (x, y) {
            return self.constant(fold(&probe, x, y, width), width);
        }
        if commutes && x.is_some() {
            return self.arithmetic(b, a, make);
        }
        if let Some(y) = y {
            let all = mask(width);
            match probe {
                TermKind::Add(..)
                | TermKind::BitOr(..)
                | TermKind::BitXor(..)
                | TermKind::ShiftLeft(..)
                | TermKind::ShiftRight(..)
                | TermKind::Subtract(..)
                    if y == 0 =>
                {
                    return a;
                }
                TermKind::Multiply(..) | TermKind::Divide(..) if y == 1 => return a,
                TermKind::Multiply(..) | TermKind::BitAnd(..) if y == 0 => return b,
                TermKind::BitAnd(..) if y == all => return a,
                TermKind::BitOr(..) if y == all => return b,
                TermKind::Remainder(..) if y == 1 => return self.constant(0, width),
                TermKind::ShiftLeft(..) | TermKind::ShiftRight(..) if y >= u128::from(width) => {
                    return self.constant(0, width);
                }
                TermKind::Add(..) => {
                    if let TermKind::Add(inner, k) = *self.kind(a)
                        && let Some(k) = self.constant_value(k)
                    {
                        let sum = self.constant(k.wrapping_add(y), width);
                        return self.arithmetic(inner, sum, TermKind::Add);
                    }
                    if let Some(number) = self.sign_extended(a, y, width) {
                        return self.resize(number, width);
                    }
                }
                _ => {}
            }
            if let Some(told) = self.told_by_bits(&probe, a, y) {
                return told;
            }
            // A constant applied to a choice between constants stays a choice between constants.
            if let TermKind::IfThenElse(c, p, q) = *self.kind(a)
                && self.is_choice_of_constants(a)
            {
                let p = self.arithmetic(p, b, make);
                let q = self.arithmetic(q, b, make);
                return self.if_then_else(c, p, q);
            }
        }
        if a == b {
            match probe {
                TermKind::BitAnd(..) | TermKind::BitOr(..) => return a,
                TermKind::BitXor(..) | TermKind::Subtract(..) => return self.constant(0, width),
                _ => {}
            }
        }
        let probe = if commutes && y.is_none() && a < b { make(b, a) } else { probe };
        self.intern(width, probe)
    }

    /// Two's complement.
    pub fn negate(&mut self, a: TermRef) -> TermRef {
        let zero = self.constant(0, self.width(a));
        self.binary(BinaryOp::Subtract, zero, a)
    }

    /// Operands of a node, in order.
    pub fn operands(&self, term: TermRef) -> Vec<TermRef> {
        match *self.kind(term) {
            TermKind::Constant(_) | TermKind::Unknown(_) => vec![],
            TermKind::And(ref all) | TermKind::Or(ref all) => all.to_vec(),
            TermKind::Not(a) | TermKind::Resize(a) | TermKind::Extract(a, _) => vec![a],
            TermKind::BitAnd(a, b)
            | TermKind::BitOr(a, b)
            | TermKind::BitXor(a, b)
            | TermKind::Add(a, b)
            | TermKind::Subtract(a, b)
            | TermKind::Multiply(a, b)
            | TermKind::Divide(a, b)
            | TermKind::Remainder(a, b)
            | TermKind::ShiftLeft(a, b)
            | TermKind::ShiftRight(a, b)
            | TermKind::Equal(a, b)
            | TermKind::Less(a, b)
            | TermKind::SignedLess(a, b) => vec![a, b],
            TermKind::IfThenElse(a, b, c) => vec![a, b, c],
        }
    }
}

/// `2^width - 1`.
pub fn mask(width: Width) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}
