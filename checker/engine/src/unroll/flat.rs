//! Addresses that are numbers: which object is there, and bytes that belong to a thread alone.
//!
//! Most addresses are constants by the time an instruction is run. Of one that depends on what was read, the objects of the
//! constants in it are looked at, each on a path of its own; whoever leaves them is found to be nowhere.

use super::expression::{Frame, Place};
use super::{State, Step, UnrollError, Unroller};
use crate::event::{Misuse, ObligationKind, Site, TermKind, TermPool, TermRef, UnknownKind};
use crate::findings;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::flat::{GLOBAL_WINDOW, LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW};
use fencepost_dsl::kernel::program::{
    Address, AddressBase, BinaryOp, ElementKind, Expression, FlatMemory, FlatObject, FlatSpace, Instruction,
    RegisterId, ResolvedOperand, Width,
};
use fencepost_dsl::sorted::SortedSet;

/// Most sums of constants that are followed in one address.
const SUMS_MAX: usize = 64;

/// Bytes behind the end of an object from which on an access is said to be nowhere, rather than behind it.
const FAR: u64 = 1 << 20;

/// What an address may be the address of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// An object, by its number; in shared memory of the CTA of this rank, if it is not the own.
    Object(usize, Option<u32>),
    /// Bytes of the thread.
    Private(usize),
}

/// An address, and what an instruction accesses there.
#[derive(Clone, Copy)]
struct Number {
    value: TermRef,
    width: Width,
    element: ElementKind,
    space: FlatSpace,
    bytes: u64,
}

impl<'a> Unroller<'a> {
    fn flat(&self) -> Option<&'a FlatMemory> {
        self.kernel.flat.as_deref()
    }

    /// The value of an expression that is made of others, and that nobody computes.
    pub(super) fn uncomputed(
        &mut self,
        (state, frame): (&State, &Frame<'_>),
        (by, of, is_function): (&str, &[Expression], bool),
        (width, span): (Width, Span),
    ) -> Result<TermRef, UnrollError> {
        let site = self.intern_site(Site::of_text(span, by.to_owned()));
        let (_, mut value) = self.graph.terms.fresh(width, UnknownKind::Uncomputed(site));
        // Any value, and yet one that is made of these: dependencies through it are as with numbers.
        let mut parts = SortedSet::new();
        let mut operands = Vec::new();
        for part in of {
            let part = self.evaluate(state, frame, part)?;
            operands.push(part);
            parts.insert(self.graph.terms.resize(part, width));
        }
        if is_function {
            self.applications.note(&self.graph.terms, value, site, by, operands);
        }
        for part in parts {
            value = self.graph.terms.binary(BinaryOp::Xor, value, part);
        }
        Ok(value)
    }

    /// Registers of the text hold anything before they are assigned, another value in each thread where that can matter.
    pub(super) fn fill_registers(&mut self, state: &mut State) {
        let Some(flat) = self.flat() else { return };
        let text = "a register that nothing was assigned to".to_owned();
        let site = self.intern_site(Site::of_text(self.kernel.span, text));
        let private = flat
            .private
            .iter()
            .flat_map(|private| (0..private.bytes).map(|byte| RegisterId(private.first.0 + byte)));
        for register in flat.registers.iter().copied().chain(private) {
            let width = self.kernel.registers[register].width;
            let value = if self.live.may_be_unassigned(register) {
                self.graph.terms.fresh(width, UnknownKind::Uncomputed(site)).1
            } else {
                // Nothing reads it before it is assigned.
                self.graph.terms.constant(0, width)
            };
            state.env.set(register, value);
        }
    }

    fn number(
        &mut self,
        (state, frame): (&State, &Frame<'_>),
        address: &Address,
        n_elements: usize,
    ) -> Result<Option<Number>, UnrollError> {
        let AddressBase::Flat { width, element, space } = address.base else { return Ok(None) };
        let Some(index) = address.indices.first() else { return Ok(None) };
        let value = self.evaluate(state, frame, index)?;
        let bytes = u64::from(width / 8) * n_elements.max(1) as u64;
        Ok(Some(Number { value, width, element, space, bytes }))
    }

    /// Runs an instruction once for each object that its address may be in, if there are several; whether it did.
    pub(super) fn split_by_target(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        span: Span,
        instruction: &Instruction,
    ) -> Result<bool, UnrollError> {
        if self.flat().is_none() || self.target.is_some() {
            return Ok(false);
        }
        let addresses = instruction.operands.iter().filter_map(|operand| match operand {
            ResolvedOperand::Memory(address) => Some(address),
            ResolvedOperand::Registers(_) | ResolvedOperand::Value(_) => None,
        });
        let mut choice = None;
        for address in addresses {
            let Some(number) = self.number((state, frame), address, 1)? else { continue };
            let targets = self.flat_targets(number);
            if targets.len() > 1 && choice.replace((number, targets, address.span)).is_some() {
                let message = "an instruction with two addresses that depend on what was read is not checked";
                return Err(UnrollError::unsupported("unsupported::flat-address", message, span, "this one"));
            }
        }
        let Some((number, targets, place)) = choice else { return Ok(false) };
        if Self::may_block(&instruction.kind) {
            let message =
                "what this waits for depends on what was read, which is not checked by this version";
            return Err(UnrollError::unsupported("unsupported::flat-address", message, span, "this one"));
        }
        let mut rest = state.live;
        let mut ways = Vec::new();
        for target in targets {
            let is_there = self.is_at(number, target);
            let (yes, no) = self.split(rest, is_there);
            rest = no;
            if yes == TermPool::FALSE {
                continue;
            }
            let mut taken = State { live: yes, env: state.env.clone() };
            self.target = Some(target);
            let run = self.instruction(&mut taken, frame, span, instruction);
            self.target = None;
            run?;
            ways.push(taken);
        }
        self.nowhere(rest, TermPool::FALSE, number, place);
        *state = self.join_all(ways);
        Ok(true)
    }

    /// The element that a number is the address of; the path goes on only where there is one.
    pub(super) fn resolve_flat(
        &mut self,
        step: &mut Step<'_>,
        address: &Address,
        n_elements: usize,
    ) -> Result<Option<Place>, UnrollError> {
        let Some(number) = self.number((step.state, step.frame), address, n_elements)? else {
            return Ok(None);
        };
        self.place_of(step, number, address.span)
    }

    fn place_of(
        &mut self,
        step: &mut Step<'_>,
        number: Number,
        span: Span,
    ) -> Result<Option<Place>, UnrollError> {
        let (index, rank) = match self.find_target(step, number, span)? {
            Some(Target::Object(index, rank)) => (index, rank),
            // Loads and stores have looked at these before.
            Some(Target::Private(_)) => {
                let message = "an instruction other than a load or a store on local memory is not checked";
                return Err(UnrollError::unsupported(
                    "unsupported::flat-address",
                    message,
                    span,
                    "in local memory",
                ));
            }
            None => return Ok(None),
        };
        let Some(flat) = self.flat() else { return Ok(None) };
        let object = &flat.objects[index];
        let Some(view) = object.view(number.width, number.element) else { return Ok(None) };
        let terms = &mut self.graph.terms;
        let low = lower_half(terms, number.value);
        let start = terms.constant(u128::from(start_of(object, rank)), 32);
        let offset = terms.binary(BinaryOp::Subtract, low, start);
        let size = terms.constant(u128::from(number.width / 8), 32);
        let index = terms.binary(BinaryOp::Divide, offset, size);
        Ok(Some(Place { object: view, index, offset: Some(offset), rank, device: None }))
    }

    /// The word of shared memory that a number is the address of.
    pub(super) fn word_at(
        &mut self,
        step: &mut Step<'_>,
        value: TermRef,
        span: Span,
    ) -> Result<Option<Place>, UnrollError> {
        let (element, space) = (ElementKind::Data, FlatSpace::Shared);
        self.place_of(step, Number { value, width: 64, element, space, bytes: 8 }, span)
    }

    /// What a number is the address of, if that is one thing: nothing it can be the address of, or of several none is chosen
    /// (`Some(None)`). The choice is that of the one address of an instruction that may be of several.
    #[expect(clippy::option_option, reason = "nothing, several and one are three outcomes")]
    fn chosen_target(&mut self, number: Number) -> Option<Option<Target>> {
        match *self.flat_targets(number).as_slice() {
            [] => None,
            [target] => Some(Some(target)),
            _ => Some(self.target),
        }
    }

    /// What the address of an instruction is the address of, inside of it and aligned; the path ends elsewhere.
    fn find_target(
        &mut self,
        step: &mut Step<'_>,
        number: Number,
        span: Span,
    ) -> Result<Option<Target>, UnrollError> {
        let found = self.chosen_target(number);
        if found == Some(None) {
            let message = "this address depends on what was read, which is not checked here";
            return Err(UnrollError::unsupported(
                "unsupported::flat-address",
                message,
                span,
                "several objects",
            ));
        }
        let Some(target) = found.flatten() else {
            self.nowhere(step.state.live, TermPool::FALSE, number, span);
            step.state.live = TermPool::FALSE;
            return Ok(None);
        };
        let inside = self.is_at(number, target);
        self.nowhere(step.state.live, inside, number, span);
        step.state.live = self.graph.terms.and(step.state.live, inside);
        if step.state.live == TermPool::FALSE {
            return Ok(None);
        }
        self.aligned_at(step.state, number, span);
        Ok((step.state.live != TermPool::FALSE).then_some(target))
    }

    /// States that an address is that of an object.
    fn nowhere(&mut self, guard: TermRef, inside: TermRef, number: Number, span: Span) {
        if guard == TermPool::FALSE || self.graph.terms.and(guard, inside) == guard {
            return;
        }
        let bytes = u128::from(number.bytes);
        let misuse = match self.graph.terms.constant_value(number.value) {
            Some(at) => match self.last_before(at) {
                Some((object, 0)) => Misuse::new(&findings::bounds::BEHIND)
                    .with("object", object)
                    .with("distance", "right behind the end".to_owned()),
                Some((object, distance)) => Misuse::new(&findings::bounds::BEHIND)
                    .with("object", object)
                    .with("distance", format!("{distance} bytes behind the end")),
                None => Misuse::new(&findings::bounds::NOWHERE_AT).with("address", format!("{at:#x}")),
            },
            None => Misuse::new(&findings::bounds::NOWHERE),
        };
        let misuse = misuse.with("bytes", bytes).with("space", number.space.name().to_owned());
        self.oblige(ObligationKind::Discipline(misuse), guard, inside, span);
    }

    /// The object behind whose end an address is in the same state space, and how many bytes, if that is not far.
    fn last_before(&self, address: u128) -> Option<(String, u64)> {
        let address = u64::try_from(address).ok()?;
        let ends = self
            .flat()?
            .objects
            .iter()
            .map(|object| (object.start, object.start + u64::from(object.bytes), &object.name));
        if ends.clone().any(|(start, end, _)| (start..end).contains(&address)) {
            return None;
        }
        let near =
            ends.map(|(_, end, name)| (end, name)).filter(|(end, _)| *end <= address && address - end < FAR);
        near.max_by_key(|(end, _)| *end).map(|(end, name)| (name.clone(), address - end))
    }

    /// States that an address is a multiple of what is accessed there, and narrows the path to it.
    fn aligned_at(&mut self, state: &mut State, number: Number, span: Span) {
        let terms = &mut self.graph.terms;
        // The size of one access is a power of two, of which the lowest bits tell.
        let size = terms.constant(u128::from(number.bytes), 64);
        let rest = terms.binary(BinaryOp::Remainder, number.value, size);
        let zero = terms.constant(0, 64);
        let aligned = terms.equal(rest, zero);
        let guard = state.live;
        state.live = terms.and(guard, aligned);
        if state.live == guard {
            return;
        }
        let misuse =
            Misuse::new(&findings::bounds::MISALIGNED_NUMBER).with("bytes", u128::from(number.bytes));
        self.oblige(ObligationKind::Discipline(misuse), guard, aligned, span);
    }

    /// Whether an access of a number is inside of a target.
    fn is_at(&mut self, number: Number, target: Target) -> TermRef {
        let Some(flat) = self.flat() else { return TermPool::FALSE };
        let (start, size) = match target {
            Target::Object(index, rank) => {
                let object = &flat.objects[index];
                (start_of(object, rank), u64::from(object.bytes))
            }
            Target::Private(index) => (flat.private[index].start, u64::from(flat.private[index].bytes)),
        };
        let Some(limit) = (size + 1).checked_sub(number.bytes) else { return TermPool::FALSE };
        let terms = &mut self.graph.terms;
        let start = terms.constant(u128::from(start), 64);
        let offset = terms.binary(BinaryOp::Subtract, number.value, start);
        let limit = terms.constant(u128::from(limit), 64);
        terms.less(offset, limit)
    }

    /// What a number may be the address of.
    fn flat_targets(&mut self, number: Number) -> Vec<Target> {
        let Some(flat) = self.flat() else { return Vec::new() };
        let n_ctas = self.graph.hierarchy.launch_of(self.agent).cluster;
        let fits = |target: &Target| match *target {
            Target::Object(index, rank) => {
                let object = &flat.objects[index];
                let in_space = match number.space {
                    FlatSpace::Generic => true,
                    FlatSpace::Global => !object.is_shared(),
                    FlatSpace::Shared => object.is_shared() && rank.is_none(),
                    FlatSpace::Cluster => object.is_shared(),
                    FlatSpace::Private => false,
                };
                in_space && object.view(number.width, number.element).is_some()
            }
            Target::Private(_) => matches!(number.space, FlatSpace::Generic | FlatSpace::Private),
        };
        let at = |value: u64| target_at(flat, value, n_ctas);
        if let Some(value) = self.graph.terms.constant_value(number.value) {
            let found = u64::try_from(value).ok().and_then(at);
            return found.filter(fits).into_iter().collect();
        }
        let mut sums = Sums { found: SortedSet::new(), is_open: false };
        sums.of(&self.graph.terms, number.value);
        let mut targets = Vec::new();
        for &sum in &sums.found {
            match at(sum).filter(fits) {
                Some(target) if targets.contains(&target) => {}
                Some(target) => targets.push(target),
                None => sums.is_open = true,
            }
        }
        if sums.is_open {
            let objects = (0..flat.objects.len()).map(|index| Target::Object(index, None));
            let private = (0..flat.private.len()).map(Target::Private);
            for target in objects.chain(private).filter(fits) {
                if !targets.contains(&target) {
                    targets.push(target);
                }
            }
        }
        // Which CTA of the cluster it is may be a part of what was read.
        if n_ctas > 1 && matches!(number.space, FlatSpace::Cluster | FlatSpace::Generic) {
            let shared = targets.clone().into_iter().filter_map(|target| match target {
                Target::Object(index, _) if flat.objects[index].is_shared() => Some(index),
                Target::Object(..) | Target::Private(_) => None,
            });
            let of_ranks =
                shared.flat_map(|index| (0..n_ctas).map(move |rank| Target::Object(index, Some(rank))));
            for target in of_ranks {
                if !targets.contains(&target) {
                    targets.push(target);
                }
            }
        }
        targets
    }

    /// The bytes of the thread that an instruction accesses, if it does; the path goes on only where they are there.
    pub(super) fn private_bytes(
        &mut self,
        step: &mut Step<'_>,
        address: &Address,
        n_elements: usize,
    ) -> Result<Option<PrivateBytes>, UnrollError> {
        let Some(number) = self.number((step.state, step.frame), address, n_elements)? else {
            return Ok(None);
        };
        let Some(Some(Target::Private(index))) = self.chosen_target(number) else { return Ok(None) };
        self.find_target(step, number, address.span)?;
        let Some(flat) = self.flat() else { return Ok(None) };
        let private = &flat.private[index];
        let low = lower_half(&mut self.graph.terms, number.value);
        let start = self.graph.terms.constant(u128::from(private.start), 32);
        let offset = self.graph.terms.binary(BinaryOp::Subtract, low, start);
        Ok(Some(PrivateBytes { first: private.first, bytes: private.bytes, offset, width: number.width }))
    }

    /// Reads an element of a thread's own bytes.
    pub(super) fn read_private(&mut self, state: &State, at: &PrivateBytes, element: usize) -> TermRef {
        let size = u32::from(at.width / 8);
        let first = element as u32 * size;
        let mut value = None;
        for start in at.starts(&self.graph.terms, size, first) {
            let mut bytes = Vec::new();
            for byte in 0..size {
                let register = RegisterId(at.first.0 + start + byte);
                let held = state.env.get(register);
                if held.is_none() {
                    self.missing_register.get_or_insert(register);
                }
                let zero = self.graph.terms.constant(0, 8);
                bytes.push(held.unwrap_or(zero));
            }
            let whole = joined(&mut self.graph.terms, &bytes, at.width);
            value = Some(match value {
                None => whole,
                Some(other) => {
                    let is_here = at.is_at(&mut self.graph.terms, start, first);
                    self.graph.terms.if_then_else(is_here, whole, other)
                }
            });
        }
        value.unwrap_or_else(|| self.graph.terms.constant(0, at.width))
    }

    /// Writes an element of a thread's own bytes.
    pub(super) fn write_private(
        &mut self,
        state: &mut State,
        at: &PrivateBytes,
        element: usize,
        value: TermRef,
    ) {
        let size = u32::from(at.width / 8);
        let first = element as u32 * size;
        for start in at.starts(&self.graph.terms, size, first) {
            let is_here = at.is_at(&mut self.graph.terms, start, first);
            for byte in 0..size {
                let register = RegisterId(at.first.0 + start + byte);
                let low = Width::try_from(8 * byte).unwrap_or(0);
                let mut new = self.graph.terms.extract(value, low, 8);
                if let Some(old) = state.env.get(register) {
                    new = self.graph.terms.if_then_else(is_here, new, old);
                }
                state.env.set(register, new);
            }
        }
    }
}

/// Bytes of a thread that an instruction accesses.
pub struct PrivateBytes {
    first: RegisterId,
    bytes: u32,
    /// Where in them, 32 bits.
    offset: TermRef,
    width: Width,
}

impl PrivateBytes {
    /// Width of an element.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Where an element that starts `first` bytes behind the address may start.
    fn starts(&self, terms: &TermPool, size: u32, first: u32) -> Vec<u32> {
        match terms.constant_value(self.offset).and_then(|offset| u32::try_from(offset).ok()) {
            Some(offset) => vec![offset + first],
            None => {
                (0..self.bytes / size).map(|element| element * size).filter(|&start| start >= first).collect()
            }
        }
    }

    fn is_at(&self, terms: &mut TermPool, start: u32, first: u32) -> TermRef {
        let start = terms.constant(u128::from(start - first), 32);
        terms.equal(self.offset, start)
    }
}

/// The generic address of an object, of the CTA of a rank.
fn start_of(object: &FlatObject, rank: Option<u32>) -> u64 {
    object.start + rank.map_or(0, |rank| u64::from(rank + 1) << RANK_SHIFT)
}

/// What is at an address.
fn target_at(flat: &FlatMemory, value: u64, n_ctas: u32) -> Option<Target> {
    let holds = |start: u64, bytes: u32| (start..start + u64::from(bytes)).contains(&value);
    if (LOCAL_WINDOW..GLOBAL_WINDOW).contains(&value)
        && let Some(index) = flat.private.iter().position(|private| holds(private.start, private.bytes))
    {
        return Some(Target::Private(index));
    }
    let (value, rank) = match value {
        SHARED_WINDOW..LOCAL_WINDOW => {
            let offset = value - SHARED_WINDOW;
            let rank = u32::try_from(offset >> RANK_SHIFT).ok()?;
            (SHARED_WINDOW + (offset & ((1 << RANK_SHIFT) - 1)), rank.checked_sub(1))
        }
        _ => (value, None),
    };
    if rank.is_some_and(|rank| rank >= n_ctas) {
        return None;
    }
    let holds = |object: &FlatObject| (object.start..object.start + u64::from(object.bytes)).contains(&value);
    let index = flat.objects.iter().position(holds)?;
    Some(Target::Object(index, rank))
}

/// The sums of constants in an address.
struct Sums {
    found: SortedSet<u64>,
    /// Whether something else in it may be an address by itself.
    is_open: bool,
}

impl Sums {
    fn of(&mut self, terms: &TermPool, value: TermRef) {
        let sums = self.sums(terms, value, 0);
        self.found.extend(sums);
    }

    fn sums(&mut self, terms: &TermPool, value: TermRef, depth: usize) -> Vec<u64> {
        if depth > 64 {
            self.is_open = true;
            return vec![0];
        }
        match *terms.kind(value) {
            TermKind::Constant(constant) => vec![u64::try_from(constant).unwrap_or(u64::MAX)],
            TermKind::Add(a, b) => {
                let (a, b) = (self.sums(terms, a, depth + 1), self.sums(terms, b, depth + 1));
                let mask = if terms.width(value) >= 64 { u64::MAX } else { (1 << terms.width(value)) - 1 };
                let each = a.iter().flat_map(|a| b.iter().map(move |b| a.wrapping_add(*b) & mask));
                self.limited(each.collect())
            }
            TermKind::IfThenElse(_, a, b) => {
                let mut all = self.sums(terms, a, depth + 1);
                all.extend(self.sums(terms, b, depth + 1));
                all.sort_unstable();
                all.dedup();
                self.limited(all)
            }
            TermKind::Resize(a) if terms.width(a) <= terms.width(value) => self.sums(terms, a, depth + 1),
            // What is shifted or multiplied is an index.
            TermKind::Multiply(..) | TermKind::ShiftLeft(..) => vec![0],
            TermKind::Unknown(_) if terms.width(value) < 64 => vec![0],
            _ if terms.width(value) < 32 => vec![0],
            TermKind::Subtract(a, b)
                if !matches!(terms.kind(b), TermKind::Unknown(_)) || terms.width(b) < 64 =>
            {
                self.sums(terms, a, depth + 1)
            }
            _ => {
                self.is_open |= terms.width(value) >= 64;
                vec![0]
            }
        }
    }

    fn limited(&mut self, mut sums: Vec<u64>) -> Vec<u64> {
        if sums.len() > SUMS_MAX {
            self.is_open = true;
            sums.truncate(SUMS_MAX);
        }
        sums
    }
}

/// The lower 32 bits of an address, which are the same whatever is above.
fn lower_half(terms: &mut TermPool, value: TermRef) -> TermRef {
    let half = |terms: &mut TermPool, a: TermRef, b: TermRef, op: BinaryOp| {
        let (a, b) = (lower_half(terms, a), lower_half(terms, b));
        terms.binary(op, a, b)
    };
    if terms.width(value) <= 32 {
        return terms.resize(value, 32);
    }
    match *terms.kind(value) {
        TermKind::Add(a, b) => half(terms, a, b, BinaryOp::Add),
        TermKind::Subtract(a, b) => half(terms, a, b, BinaryOp::Subtract),
        TermKind::Multiply(a, b) => half(terms, a, b, BinaryOp::Multiply),
        TermKind::IfThenElse(condition, a, b) => {
            let (a, b) = (lower_half(terms, a), lower_half(terms, b));
            terms.if_then_else(condition, a, b)
        }
        TermKind::Resize(a) if terms.width(a) >= 32 => lower_half(terms, a),
        TermKind::Resize(a) => terms.resize(a, 32),
        _ => terms.resize(value, 32),
    }
}

/// Bytes put together, the lowest first; parts of one value in their order are that value.
fn joined(terms: &mut TermPool, bytes: &[TermRef], width: Width) -> TermRef {
    if let Some(&first) = bytes.first()
        && let TermKind::Resize(whole) = *terms.kind(first)
        && terms.width(whole) == width
    {
        let is_part = |terms: &mut TermPool, (number, &byte): (usize, &TermRef)| {
            terms.extract(whole, Width::try_from(8 * number).unwrap_or(0), 8) == byte
        };
        if bytes.iter().enumerate().all(|part| is_part(terms, part)) {
            return whole;
        }
    }
    let mut value = terms.constant(0, width);
    for (number, &byte) in bytes.iter().enumerate() {
        let wide = terms.resize(byte, width);
        let amount = terms.constant(8 * number as u128, width);
        let shifted = terms.binary(BinaryOp::ShiftLeft, wide, amount);
        value = terms.binary(BinaryOp::Or, value, shifted);
    }
    value
}
