//! Expressions and memory operands: from typed syntax to terms, and the bounds obligations of indices.

use super::{Doing, State, Step, UnrollError, Unroller};
use crate::event::{LocationId, Obligation, ObligationKind, TermPool, TermRef, UnknownKind};
use fencepost_dsl::kernel::program::{
    Address, AddressBase, BinaryOp, Expression, ExpressionKind, Instruction, Kernel, Object, ObjectId,
    Reference, ReferenceId, Register, RegisterId, UnaryOp, Width,
};
use fencepost_dsl::vocabulary::{Replication, Space};
use fencepost_dsl::{Diagnostic, IndexVec, Span};

/// What the names of a body stand for: the kernel's own, or those of one call of a function.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    pub(super) registers: &'a IndexVec<RegisterId, Register>,
    references: Option<&'a IndexVec<ReferenceId, Reference>>,
    bindings: Vec<Extent>,
}

/// An element of an object.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The object.
    pub object: ObjectId,
    /// Flattened element index, 32 bits.
    pub index: TermRef,
    /// Byte offset in the storage, 32 bits, where that is known by itself and not by object and index.
    pub offset: Option<TermRef>,
    /// The CTA whose instance it is, by its rank in the cluster; `None` for the own.
    pub rank: Option<u32>,
    /// The device whose instance of symmetric memory it is; `None` for the own.
    pub device: Option<u32>,
}

/// Consecutive elements of an object: what a memory operand names.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The first.
    pub first: Place,
    /// How many.
    pub count: u32,
}

impl<'a> Frame<'a> {
    /// The frame of the kernel's own body.
    pub fn of_kernel(kernel: &'a Kernel) -> Self {
        Self { registers: &kernel.registers, references: None, bindings: Vec::new() }
    }
    /// The frame of a call.
    pub fn of_call(
        registers: &'a IndexVec<RegisterId, Register>,
        references: &'a IndexVec<ReferenceId, Reference>,
        bindings: Vec<Extent>,
    ) -> Self {
        Self { registers, references: Some(references), bindings }
    }
    /// The width of a register.
    pub fn width(&self, register: RegisterId) -> Width {
        self.registers[register].width
    }
}

impl Unroller<'_> {
    /// The value of an expression on a path, which something depends on.
    pub(super) fn evaluate(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        expression: &Expression,
    ) -> Result<TermRef, UnrollError> {
        let value = self.compute(state, frame, expression)?;
        self.doings.note(self.agent, Doing::Value(value));
        Ok(value)
    }

    /// The value of an expression on a path, which goes into a register.
    pub(super) fn compute(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        expression: &Expression,
    ) -> Result<TermRef, UnrollError> {
        Ok(match &expression.kind {
            ExpressionKind::Constant(value) => self.graph.terms.constant(*value, expression.width),
            ExpressionKind::Register(register) => match state.env.get(*register) {
                Some(value) if self.options.paths => self.graph.terms.known_where(state.live, value),
                Some(value) => value,
                None => {
                    self.missing_register.get_or_insert(*register);
                    self.graph.terms.constant(0, frame.width(*register))
                }
            },
            ExpressionKind::Coordinate(coordinate) => {
                let value = self.graph.hierarchy.coordinate(self.agent, *coordinate);
                self.graph.terms.constant(u128::from(value), expression.width)
            }
            ExpressionKind::Unary(op, operand) => {
                let operand = self.compute(state, frame, operand)?;
                match op {
                    UnaryOp::Not => self.graph.terms.not(operand),
                    UnaryOp::Negate => self.graph.terms.negate(operand),
                }
            }
            ExpressionKind::Binary(op, left, right) => {
                let left = self.compute(state, frame, left)?;
                let right = self.compute(state, frame, right)?;
                self.graph.terms.binary(*op, left, right)
            }
            ExpressionKind::Select(condition, then, otherwise) => {
                let condition = self.compute(state, frame, condition)?;
                let then = self.compute(state, frame, then)?;
                let otherwise = self.compute(state, frame, otherwise)?;
                self.graph.terms.if_then_else(condition, then, otherwise)
            }
            ExpressionKind::Convert(operand) => {
                let operand = self.compute(state, frame, operand)?;
                self.graph.terms.resize(operand, expression.width)
            }
            ExpressionKind::FinalRegister(thread, register) => {
                // A thread that cannot end leaves no value; nothing is asked of executions without its end.
                let value = self.last_envs.get(*thread as usize).and_then(|env| env.get(*register));
                value.unwrap_or_else(|| self.graph.terms.constant(0, expression.width))
            }
            ExpressionKind::Uncomputed { by, of, is_function } => {
                self.uncomputed((state, frame), (by, of, *is_function), (expression.width, expression.span))?
            }
            ExpressionKind::FinalValue(address) => self.final_value(state, frame, address)?,
        })
    }

    /// The element a memory operand names; the path goes on only where `n_elements` from there are inside the object.
    ///
    /// `None` if they never are: the path has ended.
    pub(super) fn resolve(
        &mut self,
        step: &mut Step<'_>,
        address: &Address,
        n_elements: usize,
    ) -> Result<Option<Place>, UnrollError> {
        let extra = n_elements.saturating_sub(1) as u64;
        let place = match address.base {
            AddressBase::Object(id) => {
                let indices = self.indices(step.state, step.frame, address)?;
                let object = &self.kernel.objects[id];
                let zero = self.graph.terms.constant(0, 32);
                let dimensions = if object.dimensions.is_empty() { &[1][..] } else { &object.dimensions };
                for (dimension, &n) in dimensions.iter().enumerate() {
                    let index = indices.get(dimension).copied().unwrap_or(zero);
                    // The elements of a vector access follow each other in the last dimension.
                    let extra = if dimension + 1 == dimensions.len() { extra } else { 0 };
                    self.check_bounds(step.state, object, u64::from(n), index, extra, address.span);
                }
                let rank = self.rank_value(step.state, step.frame, address)?;
                let device = self.device_value(step.state, step.frame, address)?;
                let object = &self.kernel.objects[id];
                Place { object: id, index: self.flatten(object, &indices), offset: None, rank, device }
            }
            AddressBase::Flat { .. } => return self.resolve_flat(step, address, n_elements),
            AddressBase::Reference(_) => {
                let place = self.place(step.state, step.frame, address)?;
                let object = &self.kernel.objects[place.object];
                self.check_bounds(step.state, object, object.n_elements(), place.index, extra, address.span);
                place
            }
        };
        Ok((step.state.live != TermPool::FALSE).then_some(place))
    }

    /// All elements that a memory operand names; the path goes on only where they are inside the object.
    ///
    /// This is what an instruction accesses that states no size: one element if all indices are given, the array that is left
    /// if trailing ones are missing, and what the argument names if it is a reference.
    pub(super) fn named(
        &mut self,
        step: &mut Step<'_>,
        address: &Address,
    ) -> Result<Option<Extent>, UnrollError> {
        let count = self.n_named(step.frame, address);
        // Of an object, what is left below the given indices is inside if they are; a reference may stand for less.
        let n_elements = match address.base {
            AddressBase::Object(_) => 1,
            AddressBase::Reference(_) | AddressBase::Flat { .. } => count as usize,
        };
        let first = self.resolve(step, address, n_elements)?;
        Ok(first.map(|first| Extent { first, count }))
    }

    /// How many they are.
    pub(super) fn n_named(&self, frame: &Frame<'_>, address: &Address) -> u32 {
        match address.base {
            AddressBase::Object(id) => self.kernel.objects[id].n_elements_below(address.indices.len()),
            AddressBase::Reference(id) if address.indices.is_empty() => frame.bindings[id.0 as usize].count,
            AddressBase::Reference(_) | AddressBase::Flat { .. } => 1,
        }
    }

    /// The first element a memory operand names, without any check: what a reference is bound to.
    pub(super) fn place(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        address: &Address,
    ) -> Result<Place, UnrollError> {
        let rank = self.rank_value(state, frame, address)?;
        let device = self.device_value(state, frame, address)?;
        let indices = self.indices(state, frame, address)?;
        Ok(match address.base {
            AddressBase::Object(id) => {
                let index = self.flatten(&self.kernel.objects[id], &indices);
                Place { object: id, index, offset: None, rank, device }
            }
            AddressBase::Reference(id) => {
                let base = frame.bindings[id.0 as usize].first;
                let index = match indices.first() {
                    Some(&index) => self.graph.terms.binary(BinaryOp::Add, base.index, index),
                    None => base.index,
                };
                let (rank, device) = (rank.or(base.rank), device.or(base.device));
                Place { object: base.object, index, offset: None, rank, device }
            }
            AddressBase::Flat { .. } => {
                return Err(UnrollError::unsupported(
                    "unsupported::flat-address",
                    "an address that is a number is not checked in this place",
                    address.span,
                    "a number",
                ));
            }
        })
    }

    /// The CTA that `mapa` names.
    fn rank_value(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        address: &Address,
    ) -> Result<Option<u32>, UnrollError> {
        let Some(rank) = &address.rank else { return Ok(None) };
        let value = self.evaluate(state, frame, rank)?;
        let n_ctas = self.graph.hierarchy.launch_of(self.agent).cluster;
        match self.graph.terms.constant_value(value) {
            Some(value) if value < u128::from(n_ctas) => Ok(u32::try_from(value).ok()),
            Some(value) => Err(UnrollError::unsupported(
                "unsupported::peer-rank",
                format!("there is no CTA of rank {value}: a cluster of this launch has {n_ctas}"),
                rank.span,
                "this rank",
            )),
            None => Err(UnrollError::unsupported(
                "unsupported::peer-rank",
                "which peer CTA this is must be known before the kernel runs",
                rank.span,
                "this rank depends on values read or on parameters",
            )),
        }
    }

    fn indices(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        address: &Address,
    ) -> Result<Vec<TermRef>, UnrollError> {
        let mut indices = Vec::with_capacity(address.indices.len());
        for index in &address.indices {
            let index = self.evaluate(state, frame, index)?;
            indices.push(self.graph.terms.resize(index, 32));
        }
        Ok(indices)
    }

    /// Row-major, the first element of what is named: indices that are left out are 0.
    fn flatten(&mut self, object: &Object, indices: &[TermRef]) -> TermRef {
        let terms = &mut self.graph.terms;
        let mut flat = terms.constant(0, 32);
        for (dimension, &n) in object.dimensions.iter().enumerate() {
            let n = terms.constant(u128::from(n), 32);
            flat = terms.binary(BinaryOp::Multiply, flat, n);
            if let Some(&index) = indices.get(dimension) {
                flat = terms.binary(BinaryOp::Add, flat, index);
            }
        }
        flat
    }

    /// States that `index .. index + extra` is below `n`, where that is not plain, and narrows the path to it.
    pub(super) fn check_bounds(
        &mut self,
        state: &mut State,
        object: &Object,
        n: u64,
        index: TermRef,
        extra: u64,
        span: Span,
    ) {
        let terms = &mut self.graph.terms;
        // `index < n - extra`, so that nothing wraps around.
        let inside = match n.checked_sub(extra) {
            Some(0) | None => TermPool::FALSE,
            Some(limit) if limit > u64::from(u32::MAX) => TermPool::TRUE,
            Some(limit) => {
                let limit = terms.constant(u128::from(limit), 32);
                terms.less(index, limit)
            }
        };
        if inside == TermPool::TRUE || state.live == TermPool::FALSE {
            return;
        }
        let index = match terms.constant_value(index) {
            // For a vector, the first element outside is the one to show.
            Some(first) => terms.constant(first.max(u128::from(n).min(first + u128::from(extra))), 32),
            None => index,
        };
        let guard = state.live;
        state.live = terms.and(guard, inside);
        if state.live == guard {
            return;
        }
        let kind = ObligationKind::Bounds { object: object.name.clone(), n_elements: n, index };
        self.oblige(kind, guard, inside, span);
    }

    /// Records something that must hold.
    pub(super) fn oblige(&mut self, kind: ObligationKind, guard: TermRef, condition: TermRef, span: Span) {
        if self.last_try.is_some() {
            return;
        }
        self.graph.obligations.push(Obligation {
            kind,
            agent: self.agent,
            guard,
            condition,
            span,
            iterations: self.iterations.clone(),
            calls: self.calls.clone(),
            position: self.position,
        });
    }

    /// The instance of an object's storage that the current thread names.
    pub(super) fn location(&self, place: Place) -> LocationId {
        let object = &self.kernel.objects[place.object];
        let hierarchy = &self.graph.hierarchy;
        let instance = match (object.space, place.rank) {
            (Space::Global, _) if object.replication != Replication::Single => {
                place.device.unwrap_or(hierarchy.threads[self.agent].gpu)
            }
            (Space::Global | Space::Param, _) => 0,
            (Space::Register, _) => self.agent.0,
            (Space::Tensor, _) => hierarchy.cta_of(self.agent).0,
            (Space::Shared, None) => hierarchy.cta_of(self.agent).0,
            (Space::Shared, Some(rank)) => hierarchy.peer(self.agent, rank).0,
        };
        self.instance(place.object, instance)
    }

    fn final_value(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        address: &Address,
    ) -> Result<TermRef, UnrollError> {
        let place = self.place(state, frame, address)?;
        let object = &self.kernel.objects[place.object];
        if object.space == Space::Shared && self.graph.hierarchy.n_ctas() > 1 {
            let diagnostic = Diagnostic::new(
                "unsupported::final-shared",
                format!("`{}` is shared memory, of which this launch has one instance per CTA", object.name),
                address.span,
                "which CTA's instance is not said",
            );
            let help =
                format!("copy `{}` to global memory at the end of the kernel and test that", object.name);
            return Err(UnrollError::Unsupported(diagnostic.with_help(help)));
        }
        self.check_final_device(place, address)?;
        let index = self.graph.terms.constant_value(place.index);
        let Some(index) = index.filter(|&index| index < u128::from(object.n_elements())) else {
            return Err(UnrollError::unsupported(
                "unsupported::final-index",
                "a `final` condition needs a constant index inside the object",
                address.span,
                format!("`{}` has {} elements", object.name, object.n_elements()),
            ));
        };
        let width_bytes = u32::from(object.width / 8);
        let offset = u128::from(object.offset_bytes) + index * u128::from(width_bytes);
        let offset_bytes = u32::try_from(offset).unwrap_or(u32::MAX);
        Ok(self.final_bytes(self.location(place), offset_bytes, object.width))
    }

    /// What some bytes hold in the end.
    pub(super) fn final_bytes(&mut self, location: LocationId, offset_bytes: u32, width: Width) -> TermRef {
        let width_bytes = u32::from(width / 8);
        let key = (location, offset_bytes, width_bytes);
        if let Some(&known) = self.final_values.get(&key) {
            return known;
        }
        let kind = UnknownKind::FinalValue { location, offset_bytes, width_bytes };
        let (_, value) = self.graph.terms.fresh(width, kind);
        self.final_values.insert(key, value);
        value
    }

    /// The memory operand of an instruction as a reader knows it: `[flag]`, `[ring[…]]`.
    pub(super) fn operand_text(&self, instruction: &Instruction, frame: &Frame<'_>) -> String {
        let Some(address) = instruction.address() else { return String::new() };
        let mut text = match address.base {
            // Which object it is differs from thread to thread.
            AddressBase::Flat { .. } => return String::new(),
            AddressBase::Object(id) => self.kernel.objects[id].name.clone(),
            AddressBase::Reference(id) => {
                frame.references.map_or_else(String::new, |references| references[id].name.clone())
            }
        };
        for index in &address.indices {
            match &index.kind {
                ExpressionKind::Constant(value) => text += &format!("[{value}]"),
                ExpressionKind::Register(register) if !frame.registers[*register].name.starts_with('%') => {
                    text += &format!("[{}]", frame.registers[*register].name);
                }
                _ => text += "[…]",
            }
        }
        format!("[{text}]")
    }
}
