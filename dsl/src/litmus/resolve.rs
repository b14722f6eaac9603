//! Names to ids: the initial state, the columns and the condition of a litmus test as a [`Program`].

use super::ast::{Atom, AtomKind, Comparison, Declaration, File, Formula, Initial, Line, Name};

use crate::diagnostic::Diagnostic;
use crate::flow;
use crate::index::IndexVec;
use crate::kernel::program::{
    Address, AddressBase, BinaryOp, Coordinate, Expression, ExpressionKind, InitialBytes, Kernel, Launch,
    LitmusCondition, Loop, LoopId, Object, ObjectId, Placement, Program, Register, RegisterId,
    ResolvedOperand, Statement, StatementKind, Storage, StorageId, UnaryOp,
};
use crate::sorted::{SortedMap, SortedSet};
use crate::span::Span;
use crate::vocabulary::{Proxy, Space};

/// Bits of registers and locations.
pub const WIDTH: u8 = 64;
/// The address of the first location, where one is asked for; the others follow.
const FIRST_ADDRESS: u64 = 0x1_0000_0000;
/// The sign bit: comparing after flipping it is comparing signed numbers.
const SIGN: u128 = 1 << 63;

/// The program of a parsed file.
///
/// # Errors
/// Everything that is wrong with it, in order of place.
pub fn resolve(file: &File) -> Result<Program, Vec<Diagnostic>> {
    let mut resolver = Resolver::default();
    for declaration in &file.declarations {
        resolver.declare(declaration, file.columns.len());
    }
    let mut bodies = Vec::new();
    for (thread, column) in (0u32..).zip(&file.columns) {
        resolver.thread = thread;
        let items: Vec<flow::Item> = column.lines.iter().filter_map(|line| resolver.line(line)).collect();
        let next = resolver.registers.push(Register { name: format!("%P{thread}"), width: 32 });
        match flow::structure(items, column.span, next, &mut resolver.loops) {
            Ok(body) => bodies.push(body),
            Err(error) => resolver.diagnostics.push(error),
        }
    }
    let n_threads = file.columns.len();
    let condition = LitmusCondition {
        span: file.condition.span,
        quantifier: file.condition.quantifier,
        condition: resolver.formula(&file.condition.formula, n_threads),
        filter: file.condition.filter.as_ref().map(|filter| resolver.formula(filter, n_threads)),
    };
    if !resolver.diagnostics.is_empty() {
        resolver.diagnostics.sort_by_key(Diagnostic::span);
        resolver.diagnostics.truncate(20);
        return Err(resolver.diagnostics);
    }
    let placement =
        file.columns.iter().map(|column| Placement { gpu: column.gpu, cta: column.cta }).collect();
    let body = (0u32..)
        .zip(&file.columns)
        .zip(bodies)
        .map(|((thread, column), body)| resolver.on_thread(thread, column.span, body));
    let kernel = Kernel {
        name: file.name.text.clone(),
        is_program: false,
        span: file.name.span,
        parameters: Vec::new(),
        launches: vec![Launch { placement: Some(placement), ..Launch::single("default", file.name.span) }],
        body: body.collect(),
        objects: resolver.objects,
        storages: resolver.storages,
        registers: resolver.registers,
        tasks: IndexVec::new(),
        unrecorded: Vec::new(),
        flat: None,
        finals: Vec::new(),
        condition: Some(condition),
    };
    Ok(Program {
        kernels: vec![kernel],
        parts: IndexVec::new(),
        n_common: 0,
        functions: IndexVec::new(),
        loops: resolver.loops,
        assumed_target: None,
    })
}

/// Everything seen so far.
#[derive(Default)]
pub struct Resolver {
    pub objects: IndexVec<ObjectId, Object>,
    storages: IndexVec<StorageId, Storage>,
    pub registers: IndexVec<RegisterId, Register>,
    loops: IndexVec<LoopId, Loop>,
    locations: SortedMap<String, ObjectId>,
    /// Generic names as other proxies see them.
    views: SortedMap<(ObjectId, Proxy), ObjectId>,
    /// By thread and name.
    register_ids: SortedMap<(u32, String), RegisterId>,
    /// What instructions give a value.
    pub written: SortedSet<RegisterId>,
    /// Values that registers start with, where it is not 0.
    starts: SortedMap<RegisterId, u64>,
    /// Names of barrier instances.
    pub instances: SortedMap<String, u32>,
    /// The thread whose column is being read.
    pub thread: u32,
    /// What the instruction that is being read has taken for its results and operands so far.
    pub taken: (Vec<Option<RegisterId>>, Vec<ResolvedOperand>),
    pub diagnostics: Vec<Diagnostic>,
}

impl Resolver {
    fn declare(&mut self, declaration: &Declaration, n_threads: usize) {
        match declaration {
            Declaration::Location { name, value } => {
                let bytes = match value {
                    Initial::Number(value) => *value,
                    Initial::Location(other) => {
                        let other = self.location(other);
                        self.initial_value(other)
                    }
                };
                if is_register(&name.text) {
                    self.error(
                        "resolve::litmus-name",
                        format!("`{}` is a register; which thread's is not said", name.text),
                        name.span,
                        "write it as `P0:r1`",
                    );
                } else if let Some(&known) = self.locations.get(&name.text) {
                    let first = self.objects[known].span;
                    let message = format!("`{}` is declared twice", name.text);
                    let error = Diagnostic::new("resolve::duplicate-name", message, name.span, "again here");
                    self.diagnostics.push(error.with_label(first, "first here"));
                } else {
                    self.new_location(name, bytes);
                }
            }
            Declaration::Register { thread, name, value } => {
                let value = match value {
                    Initial::Number(value) => *value,
                    Initial::Location(location) => {
                        let location = self.location(location);
                        FIRST_ADDRESS + 8 * u64::from(location.0)
                    }
                };
                if let Some(register) = self.thread_register(*thread, name, n_threads) {
                    self.starts.insert(register, value);
                }
            }
            Declaration::Alias { name, proxy, of } => self.alias(name, proxy, of),
        }
    }

    fn alias(&mut self, name: &Name, proxy: &Name, of: &Name) {
        let Some(proxy) = Proxy::from_name(&proxy.text) else {
            return self.error(
                "resolve::litmus-name",
                format!(
                    "there is no proxy `{}`; there are generic, texture, surface and constant",
                    proxy.text
                ),
                proxy.span,
                "not a proxy",
            );
        };
        if self.locations.contains_key(&name.text) {
            let message = format!("`{}` is declared twice", name.text);
            return self.error("resolve::duplicate-name", message, name.span, "again here");
        }
        let of = self.location(of);
        let storage = self.objects[of].storage;
        let mapping = if proxy == Proxy::Generic {
            let n_known = self.objects.iter().filter(|object| object.storage == storage).count();
            u32::try_from(n_known).unwrap_or(u32::MAX)
        } else {
            self.objects[of].mapping
        };
        let object =
            Object { name: name.text.clone(), mapping, proxy, span: name.span, ..self.objects[of].clone() };
        let id = self.objects.push(object);
        self.locations.insert(name.text.clone(), id);
    }

    /// The bytes at the virtual address of `object`, accessed through another proxy.
    pub fn view(&mut self, object: ObjectId, proxy: Proxy) -> ObjectId {
        let objects = &mut self.objects;
        *self
            .views
            .entry((object, proxy))
            .or_insert_with(|| objects.push(Object { proxy, ..objects[object].clone() }))
    }

    fn initial_value(&self, location: ObjectId) -> u64 {
        match &self.storages[self.objects[location].storage].initial {
            InitialBytes::Known(bytes) => {
                bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
            }
            InitialBytes::Unknown => 0,
        }
    }

    fn new_location(&mut self, name: &Name, value: u64) -> ObjectId {
        let storage = self.storages.push(Storage {
            space: Space::Global,
            is_symmetric: false,
            size_bytes: 8,
            initial: InitialBytes::Known(value.to_le_bytes().to_vec()),
        });
        let place = (Space::Global, storage);
        let id = self.objects.push(Object::plain(name.text.clone(), place, (WIDTH, Vec::new()), name.span));
        self.locations.insert(name.text.clone(), id);
        id
    }

    /// A location by its name; one that was not declared exists and is 0.
    pub fn location(&mut self, name: &Name) -> ObjectId {
        match self.locations.get(&name.text) {
            Some(&known) => known,
            None => self.new_location(name, 0),
        }
    }

    /// A register of the current thread.
    pub fn register(&mut self, name: &str) -> RegisterId {
        self.register_of(self.thread, name)
    }

    fn register_of(&mut self, thread: u32, name: &str) -> RegisterId {
        let registers = &mut self.registers;
        *self
            .register_ids
            .entry((thread, name.to_owned()))
            .or_insert_with(|| registers.push(Register { name: format!("P{thread}:{name}"), width: WIDTH }))
    }

    /// A register that is named with its thread.
    fn thread_register(&mut self, thread: u32, name: &Name, n_threads: usize) -> Option<RegisterId> {
        if thread as usize >= n_threads {
            let message = format!("there is no thread `P{thread}`; the test has {n_threads}");
            self.error("resolve::litmus-name", message, name.span, "of which thread?");
            return None;
        }
        if !is_register(&name.text) {
            let message = format!("`{}` is no register", name.text);
            self.error("resolve::litmus-name", message, name.span, "registers are `r` and a number");
            return None;
        }
        Some(self.register_of(thread, &name.text))
    }

    pub fn error(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) {
        self.diagnostics.push(Diagnostic::new(code, message, span, label));
    }

    fn line(&mut self, line: &Line) -> Option<flow::Item> {
        match line {
            Line::Label(name) => {
                Some(flow::Item::Label(flow::Label { text: name.text.clone(), span: name.span }))
            }
            Line::Instruction { opcode, operands, span } => self.instruction(opcode, operands, *span),
        }
    }

    /// `if` the thread is this one: its registers start, then its code runs.
    fn on_thread(&self, thread: u32, span: Span, body: Vec<Statement>) -> Statement {
        let own = self.register_ids.iter().filter(|((of, _), _)| *of == thread);
        let mut then: Vec<Statement> = own
            .map(|(_, &register)| {
                let value = self.starts.get(&register).copied().unwrap_or(0);
                Statement { span, kind: StatementKind::Assign { register, value: number(value, span) } }
            })
            .collect();
        then.extend(body);
        let index = |kind| Expression { span, width: 32, kind };
        let condition = Expression {
            span,
            width: 1,
            kind: ExpressionKind::Binary(
                BinaryOp::Equal,
                Box::new(index(ExpressionKind::Coordinate(Coordinate::Thread))),
                Box::new(index(ExpressionKind::Constant(u128::from(thread)))),
            ),
        };
        Statement { span, kind: StatementKind::If { condition, then, otherwise: Vec::new() } }
    }

    fn formula(&mut self, formula: &Formula, n_threads: usize) -> Expression {
        match formula {
            Formula::Not(inner, span) => {
                let inner = self.formula(inner, n_threads);
                let kind = ExpressionKind::Unary(UnaryOp::Not, Box::new(inner));
                Expression { span: *span, width: 1, kind }
            }
            Formula::And(parts) => self.combine(BinaryOp::And, parts, n_threads),
            Formula::Or(parts) => self.combine(BinaryOp::Or, parts, n_threads),
            Formula::Compare { op, left, right, span } => {
                let (left, right) = (self.atom(left, n_threads), self.atom(right, n_threads));
                compare(*op, left, right, *span)
            }
        }
    }

    fn combine(&mut self, op: BinaryOp, parts: &[Formula], n_threads: usize) -> Expression {
        let mut parts: Vec<Expression> = parts.iter().map(|part| self.formula(part, n_threads)).collect();
        // By halves, so that a long row is no deep tree.
        while parts.len() > 1 {
            let mut halves = Vec::with_capacity(parts.len().div_ceil(2));
            let mut rest = parts.into_iter();
            while let Some(left) = rest.next() {
                halves.push(match rest.next() {
                    Some(right) => {
                        let span = left.span.to(right.span);
                        let kind = ExpressionKind::Binary(op, Box::new(left), Box::new(right));
                        Expression { span, width: 1, kind }
                    }
                    None => left,
                });
            }
            parts = halves;
        }
        parts.remove(0)
    }

    fn atom(&mut self, atom: &Atom, n_threads: usize) -> Expression {
        let span = atom.span;
        let kind = match &atom.kind {
            AtomKind::Number(value) => ExpressionKind::Constant(u128::from(*value)),
            AtomKind::Location(name) if is_register(name) => {
                let message = format!("`{name}` is a register; which thread's is not said");
                self.error("resolve::litmus-name", message, span, format!("write it as `P0:{name}`"));
                ExpressionKind::Constant(0)
            }
            AtomKind::Location(name) if !self.locations.contains_key(name) => {
                let message =
                    format!("there is no location `{name}`: nothing declares it, and nothing uses it");
                self.error("resolve::litmus-name", message, span, "always 0");
                ExpressionKind::Constant(0)
            }
            AtomKind::Location(name) => {
                let base = AddressBase::Object(self.location(&Name { text: name.clone(), span }));
                ExpressionKind::FinalValue(Box::new(Address {
                    span,
                    base,
                    indices: Vec::new(),
                    rank: None,
                    device: None,
                }))
            }
            AtomKind::Register(thread, name) => {
                match self.thread_register(*thread, &Name { text: name.clone(), span }, n_threads) {
                    Some(register)
                        if !self.written.contains(&register) && !self.starts.contains_key(&register) =>
                    {
                        let message = format!("nothing gives `P{thread}:{name}` a value");
                        self.error("resolve::litmus-name", message, span, "always 0");
                        ExpressionKind::Constant(0)
                    }
                    Some(register) => ExpressionKind::FinalRegister(*thread, register),
                    None => ExpressionKind::Constant(0),
                }
            }
        };
        Expression { span, width: WIDTH, kind }
    }
}

/// A signed comparison of 64-bit values, of width 1.
pub fn compare(op: Comparison, left: Expression, right: Expression, span: Span) -> Expression {
    let op = match op {
        Comparison::Equal => BinaryOp::Equal,
        Comparison::NotEqual => BinaryOp::NotEqual,
        Comparison::Less => BinaryOp::Less,
        Comparison::LessEqual => BinaryOp::LessEqual,
        Comparison::Greater => BinaryOp::Greater,
        Comparison::GreaterEqual => BinaryOp::GreaterEqual,
    };
    let is_signed = !matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
    let side = |value: Expression| {
        if !is_signed {
            return Box::new(value);
        }
        let sign = Expression { span, width: WIDTH, kind: ExpressionKind::Constant(SIGN) };
        let kind = ExpressionKind::Binary(BinaryOp::Xor, Box::new(value), Box::new(sign));
        Box::new(Expression { span, width: WIDTH, kind })
    };
    Expression { span, width: 1, kind: ExpressionKind::Binary(op, side(left), side(right)) }
}

/// A 64-bit constant.
pub fn number(value: u64, span: Span) -> Expression {
    Expression { span, width: WIDTH, kind: ExpressionKind::Constant(u128::from(value)) }
}

/// `r` and digits.
pub fn is_register(name: &str) -> bool {
    name.strip_prefix('r')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
}
