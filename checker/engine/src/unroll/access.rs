//! Loads, stores and atomics.

use super::expression::Place;
use super::{State, Step, UnrollError, Unroller};
use crate::event::{
    Access, AtomicClass, EventId, EventKind, Misuse, ObligationKind, SiteId, TermPool, TermRef, UnknownKind,
};
use crate::findings;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{AccessOp, Address, AtomicOp, BinaryOp, Expression, RegisterId, Width};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem};

/// How an access synchronizes.
#[derive(Clone, Copy)]
pub struct Strength {
    pub sem: Sem,
    scope: Scope,
    atomic: AtomicClass,
    /// `ld.global.nc`: through the texture proxy, whatever the object's is (MM-2).
    non_coherent: bool,
}

impl Strength {
    pub fn new(sem: Sem, scope: Scope, atomic: AtomicClass) -> Self {
        Self { sem, scope, atomic, non_coherent: false }
    }
    pub fn with_sem(self, sem: Sem) -> Self {
        Self { sem, ..self }
    }
    pub fn with_class(self, atomic: AtomicClass) -> Self {
        Self { atomic, ..self }
    }
}

/// An atomic read-modify-write, as `atom` and `red` have it in common.
struct Update<'a> {
    destination: Option<RegisterId>,
    op: AtomicOp,
    operands: &'a [Expression],
    address: &'a Address,
    sem: Sem,
    scope: Scope,
    class: AtomicClass,
}

impl Unroller<'_> {
    /// Runs an instruction that accesses memory.
    pub(super) fn access(&mut self, step: &mut Step<'_>, operation: &AccessOp) -> Result<(), UnrollError> {
        match operation {
            AccessOp::Load { destinations, address, sem, scope, non_coherent } => {
                let strength = Strength::new(self.load_sem(*sem), *scope, AtomicClass::None);
                let strength = Strength { non_coherent: *non_coherent, ..strength };
                self.load(step, (destinations, address), strength)
            }
            AccessOp::Store { values, address, sem, scope } => {
                let strength = Strength::new(*sem, *scope, AtomicClass::None);
                self.store(step, (values, address), strength)
            }
            AccessOp::Fill { address, bytes } => self.fill(step, address, *bytes),
            AccessOp::Atomic { destination, op, operands, address, sem, scope } => {
                let class = if destination.is_some() { AtomicClass::Atom } else { AtomicClass::Sink };
                let (destination, op, sem, scope) = (*destination, *op, *sem, *scope);
                self.update(step, &Update { destination, op, operands, address, sem, scope, class })
            }
            AccessOp::Reduction { op, operand, address, sem, scope } => {
                let operands = std::slice::from_ref(operand);
                let (op, sem, scope, class) = (*op, *sem, *scope, AtomicClass::Reduction);
                self.update(step, &Update { destination: None, op, operands, address, sem, scope, class })
            }
        }
    }

    fn load(
        &mut self,
        step: &mut Step<'_>,
        (destinations, address): (&[Option<RegisterId>], &Address),
        strength: Strength,
    ) -> Result<(), UnrollError> {
        if let Some(own) = self.private_bytes(step, address, destinations.len())? {
            for (element, destination) in destinations.iter().enumerate() {
                let value = self.read_private(step.state, &own, element);
                if let Some(register) = *destination {
                    let value = self.graph.terms.resize(value, step.frame.width(register));
                    step.state.env.set(register, value);
                }
            }
            return Ok(());
        }
        let Some(place) = self.resolve(step, address, destinations.len())? else { return Ok(()) };
        self.check_vector(step.state, place, destinations.len(), address.span);
        if step.state.live == TermPool::FALSE {
            return Ok(());
        }
        let position = self.next_position();
        let width = self.kernel.objects[place.object].width;
        for (element, destination) in destinations.iter().enumerate() {
            let mut value = None;
            for part in parts(width, strength) {
                let (read, bits) =
                    self.read(step.state.live, step.site, position, (place, element), part, strength)?;
                let bits = read.and_then(|read| self.forwarded(read)).unwrap_or(bits);
                value = Some(match value {
                    None => bits,
                    Some(lower) => self.concatenate(lower, bits, part.low_bit, width),
                });
            }
            if let (Some(register), Some(value)) = (*destination, value) {
                let value = self.graph.terms.resize(value, step.frame.width(register));
                step.state.env.set(register, value);
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        step: &mut Step<'_>,
        (values, address): (&[Expression], &Address),
        strength: Strength,
    ) -> Result<(), UnrollError> {
        if let Some(own) = self.private_bytes(step, address, values.len())? {
            for (element, value) in values.iter().enumerate() {
                let value = self.evaluate(step.state, step.frame, value)?;
                let value = self.graph.terms.resize(value, own.width());
                self.write_private(step.state, &own, element, value);
            }
            return Ok(());
        }
        let Some(place) = self.resolve(step, address, values.len())? else { return Ok(()) };
        self.check_vector(step.state, place, values.len(), address.span);
        if step.state.live == TermPool::FALSE {
            return Ok(());
        }
        let position = self.next_position();
        let width = self.kernel.objects[place.object].width;
        for (element, value) in values.iter().enumerate() {
            let value = self.evaluate(step.state, step.frame, value)?;
            let value = self.graph.terms.resize(value, width);
            for part in parts(width, strength) {
                let value = self.graph.terms.extract(value, part.low_bit, part.width);
                if self.last_try.is_some() {
                    self.last_write(step.state.live, (place, element), part, value, strength);
                    continue;
                }
                let store = self.write(
                    step.state.live,
                    step.site,
                    position,
                    (place, element),
                    part,
                    value,
                    strength,
                )?;
                self.note_store(store);
            }
        }
        Ok(())
    }

    /// Writes zeros to the elements from an address on.
    fn fill(&mut self, step: &mut Step<'_>, address: &Address, bytes: u32) -> Result<(), UnrollError> {
        if bytes == 0 {
            return Ok(());
        }
        let Some(place) = self.run_of_bytes(step, address, bytes)? else { return Ok(()) };
        self.require_alignment(step.state, place, 8, address.span);
        if step.state.live == TermPool::FALSE {
            return Ok(());
        }
        let strength = Strength::new(Sem::Weak, Scope::Cta, AtomicClass::None);
        let position = self.next_position();
        let width = self.kernel.objects[place.object].width;
        let n_elements = bytes as usize / usize::from(width / 8);
        for element in 0..n_elements {
            for part in parts(width, strength) {
                let zero = self.graph.terms.constant(0, part.width);
                if self.last_try.is_some() {
                    self.last_write(step.state.live, (place, element), part, zero, strength);
                    continue;
                }
                let store =
                    self.write(step.state.live, step.site, position, (place, element), part, zero, strength)?;
                self.note_store(store);
            }
        }
        Ok(())
    }

    /// States that a vector of `n` elements starts at a multiple of its size, and narrows the path to it.
    pub(super) fn check_vector(&mut self, state: &mut State, place: Place, n: usize, span: Span) {
        // Where an address is a number it has been looked at as a whole.
        if n < 2 || place.offset.is_some() {
            return;
        }
        let object = &self.kernel.objects[place.object];
        let (element, offset) = (u128::from(object.width / 8), u128::from(object.offset_bytes));
        let bytes = n as u128 * element;
        let name = object.name.clone();
        let terms = &mut self.graph.terms;
        let (first, size) = (terms.constant(offset, 32), terms.constant(element, 32));
        let index = terms.binary(BinaryOp::Multiply, place.index, size);
        let start = terms.binary(BinaryOp::Add, first, index);
        // Sizes are powers of two, of which a wrapped sum keeps the rest.
        let divisor = terms.constant(bytes, 32);
        let rest = terms.binary(BinaryOp::Remainder, start, divisor);
        let zero = terms.constant(0, 32);
        let aligned = terms.equal(rest, zero);
        if aligned == TermPool::TRUE {
            return;
        }
        let misuse = match terms.constant_value(start) {
            Some(start) => Misuse::new(&findings::bounds::VECTOR_AT).with("start", start),
            None => Misuse::new(&findings::bounds::VECTOR_SOMEWHERE),
        };
        let misuse = misuse.with("bytes", bytes).with("object", name);
        self.oblige(ObligationKind::Discipline(misuse), state.live, aligned, span);
        state.live = self.graph.terms.and(state.live, aligned);
    }

    fn update(&mut self, step: &mut Step<'_>, update: &Update<'_>) -> Result<(), UnrollError> {
        let Some(place) = self.resolve(step, update.address, 1)? else { return Ok(()) };
        let width = self.kernel.objects[place.object].width;
        let mut operands = Vec::with_capacity(2);
        for operand in update.operands {
            let operand = self.evaluate(step.state, step.frame, operand)?;
            operands.push(self.graph.terms.resize(operand, width));
        }
        // Whether the read of a `red`, or of an `atom` without destination, acquires is for the model to say (MM-24, A-7,
        //
        let acquires = matches!(update.sem, Sem::Acquire | Sem::AcqRel);
        let releases = matches!(update.sem, Sem::Release | Sem::AcqRel);
        let strength = |sem| Strength::new(sem, update.scope, update.class);
        let whole = Part { low_bit: 0, width };
        let read_sem = strength(if acquires { Sem::Acquire } else { Sem::Relaxed });
        let position = self.next_position();
        let (read, old) = self.read(step.state.live, step.site, position, (place, 0), whole, read_sem)?;
        let (changes, new) = self.atomic_result((update.op, step.site), old, &operands);
        let guard = self.graph.terms.and(step.state.live, changes);
        if self.last_try.is_some() {
            let same = self.graph.terms.equal(old, new);
            self.repeats_only_if(guard, same);
            self.note_touched(guard, (place, 0), whole, read_sem, true);
        } else if guard != TermPool::FALSE {
            let write_sem = strength(if releases { Sem::Release } else { Sem::Relaxed });
            let position = self.next_position();
            let write = self.write(guard, step.site, position, (place, 0), whole, new, write_sem)?;
            self.graph.rmw.extend(read.map(|read| (read, write)));
            self.note_store(write);
        }
        if let Some(register) = update.destination {
            let value = self.graph.terms.resize(old, step.frame.width(register));
            step.state.env.set(register, value);
        }
        Ok(())
    }

    /// Whether an atomic writes (a failed compare-and-swap does not: A-4), and what.
    pub(super) fn atomic_result(
        &mut self,
        (op, site): (AtomicOp, SiteId),
        old: TermRef,
        operands: &[TermRef],
    ) -> (TermRef, TermRef) {
        let terms = &mut self.graph.terms;
        let width = terms.width(old);
        let zero = terms.constant(0, width);
        let one = terms.constant(1, width);
        let operand = operands.first().copied().unwrap_or(zero);
        let value = match op {
            AtomicOp::Add => terms.binary(BinaryOp::Add, old, operand),
            AtomicOp::And => terms.binary(BinaryOp::And, old, operand),
            AtomicOp::Or => terms.binary(BinaryOp::Or, old, operand),
            AtomicOp::Xor => terms.binary(BinaryOp::Xor, old, operand),
            AtomicOp::Exchange => operand,
            AtomicOp::Inc => {
                let below = terms.less(old, operand);
                let next = terms.binary(BinaryOp::Add, old, one);
                terms.if_then_else(below, next, zero)
            }
            AtomicOp::Dec => {
                let is_zero = terms.equal(old, zero);
                let above = terms.less(operand, old);
                let wraps = terms.or(is_zero, above);
                let previous = terms.binary(BinaryOp::Subtract, old, one);
                terms.if_then_else(wraps, operand, previous)
            }
            AtomicOp::Min | AtomicOp::SignedMin | AtomicOp::Max | AtomicOp::SignedMax => {
                let old_is_less = if matches!(op, AtomicOp::Min | AtomicOp::Max) {
                    terms.less(old, operand)
                } else {
                    terms.signed_less(old, operand)
                };
                let (if_less, if_not) = match op {
                    AtomicOp::Min | AtomicOp::SignedMin => (old, operand),
                    _ => (operand, old),
                };
                terms.if_then_else(old_is_less, if_less, if_not)
            }
            AtomicOp::Float => {
                // Any value, and yet one that is made of these two: dependencies through it are as with numbers.
                let (_, any) = terms.fresh(width, UnknownKind::Uncomputed(site));
                let both = terms.binary(BinaryOp::Xor, old, operand);
                terms.binary(BinaryOp::Xor, any, both)
            }
            AtomicOp::CompareAndSwap => {
                let swap = operands.get(1).copied().unwrap_or(zero);
                let succeeds = terms.equal(old, operand);
                if self.options.failed_cas_writes {
                    return (TermPool::TRUE, terms.if_then_else(succeeds, swap, old));
                }
                return (succeeds, swap);
            }
        };
        (TermPool::TRUE, value)
    }

    pub(super) fn read(
        &mut self,
        guard: TermRef,
        site: SiteId,
        position: u32,
        element: (Place, usize),
        part: Part,
        strength: Strength,
    ) -> Result<(Option<EventId>, TermRef), UnrollError> {
        if self.last_try.is_some() {
            return self.last_look(guard, site, position, element, part, strength);
        }
        self.read_event(guard, site, position, element, part, strength)
    }

    /// A read that happens iff `guard`, and the unknown it returns.
    pub(super) fn read_event(
        &mut self,
        guard: TermRef,
        site: SiteId,
        position: u32,
        element: (Place, usize),
        part: Part,
        strength: Strength,
    ) -> Result<(Option<EventId>, TermRef), UnrollError> {
        let event = self.graph.events.next_id();
        let (_, value) = self.graph.terms.fresh(part.width, UnknownKind::Read(event));
        let access = self.scalar_access(element, part, value, strength);
        let event = self.emit(guard, position, EventKind::Read(access), site)?;
        Ok((Some(event), value))
    }

    #[expect(clippy::too_many_arguments, reason = "an access has that many independent sides")]
    pub(super) fn write(
        &mut self,
        guard: TermRef,
        site: SiteId,
        position: u32,
        element: (Place, usize),
        part: Part,
        value: TermRef,
        strength: Strength,
    ) -> Result<EventId, UnrollError> {
        let access = self.scalar_access(element, part, value, strength);
        self.emit(guard, position, EventKind::Write(access), site)
    }

    pub(super) fn scalar_access(
        &mut self,
        (place, element): (Place, usize),
        part: Part,
        value: TermRef,
        strength: Strength,
    ) -> Access {
        let object = &self.kernel.objects[place.object];
        let location = self.location(place);
        let terms = &mut self.graph.terms;
        let offset = match place.offset {
            Some(offset) => {
                let size = u128::from(object.width / 8);
                let more = terms.constant(element as u128 * size + u128::from(part.low_bit / 8), 32);
                terms.binary(BinaryOp::Add, offset, more)
            }
            None => {
                let element = terms.constant(element as u128, 32);
                let index = terms.binary(BinaryOp::Add, place.index, element);
                let size = terms.constant(u128::from(object.width / 8), 32);
                let relative = terms.binary(BinaryOp::Multiply, index, size);
                let base = terms.constant(u128::from(object.offset_bytes) + u128::from(part.low_bit / 8), 32);
                terms.binary(BinaryOp::Add, relative, base)
            }
        };
        let Strength { sem, scope, atomic, non_coherent } = strength;
        let width_bytes = u32::from(part.width / 8);
        let mapping = object.mapping;
        let proxy = if non_coherent { Proxy::Texture } else { object.proxy };
        Access { location, mapping, proxy, offset, width_bytes, value, sem, scope, atomic }
    }

    fn concatenate(&mut self, low: TermRef, high: TermRef, low_bits: Width, width: Width) -> TermRef {
        let terms = &mut self.graph.terms;
        let low = terms.resize(low, width);
        let high = terms.resize(high, width);
        let amount = terms.constant(u128::from(low_bits), width);
        let high = terms.binary(BinaryOp::ShiftLeft, high, amount);
        terms.binary(BinaryOp::Or, high, low)
    }
}

/// A run of bits of an element that is accessed at once.
#[derive(Clone, Copy)]
pub struct Part {
    pub low_bit: Width,
    pub width: Width,
}

/// How an element is accessed: at once, except that a weak 16-byte cell is two 8-byte accesses.
fn parts(width: Width, strength: Strength) -> Vec<Part> {
    if width == 128 && strength.sem == Sem::Weak {
        return vec![Part { low_bit: 0, width: 64 }, Part { low_bit: 64, width: 64 }];
    }
    vec![Part { low_bit: 0, width }]
}
