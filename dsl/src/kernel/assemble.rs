//! A kernel of the kernel language as a PTX module, for one of its launches: what an assembler takes, and `import` reads.
//!
//! ```text
//!  Kernel, Launch ── declare ──> .global, .shared, .param, what the module needs, and a harness for `import`
//!       statements ── flow ────> labels and predicates, calls inlined
//!      expressions ── value ───> integer instructions over registers of their width
//!     instructions ── instruction ─> the full spelling of their row, with operands in PTX's order
//! ```
//! The launch is part of the module: a dimension is a number, and where a launch has fewer lanes than a warp, the others exit
//! at once. What PTX does not have (the host of a program, other devices, names for matrices in registers) is *unsupported*.

mod declare;
mod flow;
mod instruction;
mod stress;
mod value;

use super::isa::{Floor, Only, since};
use super::program::{Coordinate, Expression, Kernel, Launch, Program, RegisterId, StorageId, Width};
use crate::diagnostic::Diagnostic;
use crate::index::IndexVec;
use crate::sorted::SortedMap;
use crate::span::Span;
use std::fmt::Write as _;
use value::Value;

pub use stress::ALIGNMENT;

/// Most lines of a module; calls are inlined, so that a short text can have many.
const LINES_MAX: usize = 200_000;

/// What full spellings need: before it, some defaults had no word.
const VERSION_MIN: (u16, u16) = (8, 0);

/// Most bytes of shared memory that are given a value at the start.
const FILLED_MAX: usize = 4_096;

/// A kernel as PTX.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The module.
    pub text: String,
    /// The kernel's name in it.
    pub entry: String,
    /// What an `import` of it says: a block, with `MODULE` for the path.
    pub harness: String,
    /// Global memory: names, sizes, and initial bytes where they are given.
    pub memory: Vec<(String, u32, Option<Vec<u8>>)>,
    /// Threads of a CTA.
    pub block: u32,
    /// Parameters that are numbers: smallest and largest value; none for a tensor map.
    pub parameters: Vec<Option<(u64, u64)>>,
    /// What a stress test looks at: the places of loads and atomics, whose last values are stored, and of assertions.
    pub observed: Observed,
}

/// What a module for a stress test records.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Loads and atomics: the last value of each is stored, 64 bits for each thread.
    pub values: Vec<Span>,
    /// Assertions, each a bit of a word.
    pub assertions: Vec<Span>,
}

/// What a module is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To be the kernel, with memory of its own.
    Kernel,
    /// To be run many times at once: many instances of the grid, each with memory that the host gives it, with random delays
    /// before what acts on memory or threads. What it reads is recorded.
    Stress,
}

/// The text of a source line: its file, its number, and what stands there.
pub type Lines<'a> = &'a dyn Fn(Span) -> Option<(String, usize)>;

/// Writes a kernel as PTX.
///
/// # Errors
/// What PTX cannot say, or this version does not.
pub fn assemble(
    program: &Program,
    kernel: &Kernel,
    launch: &Launch,
    (purpose, lines): (Purpose, Lines<'_>),
) -> Result<Assembled, Vec<Diagnostic>> {
    let mut emit = Emit::new(program, kernel, launch, lines);
    emit.purpose = purpose;
    emit.check_launch();
    emit.name_storages();
    if emit.errors.is_empty() {
        let mut frame = Frame::new(kernel.registers.iter().map(|register| register.width).collect());
        if purpose == Purpose::Stress {
            emit.start_stress();
        }
        emit.load_parameters(&mut frame);
        emit.fill_shared();
        emit.block(&kernel.body, &mut frame);
        emit.line("ret;");
        if emit.body.len() >= LINES_MAX {
            emit.unsupported("a kernel of so many statements", kernel.span, "");
        }
    }
    if emit.errors.is_empty() { Ok(emit.finish()) } else { Err(emit.errors) }
}

/// A register of PTX.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reg {
    width: Width,
    number: u32,
}

impl std::fmt::Display for Reg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "%{}{}", class(self.width), self.number)
    }
}

/// Registers by width; one of 8 bits is in one of 16, whose upper bits are 0.
const CLASSES: [(&str, &str); 5] = [("p", "pred"), ("h", "b16"), ("r", "b32"), ("rd", "b64"), ("q", "b128")];

fn class_number(width: Width) -> usize {
    match width {
        1 => 0,
        8 | 16 => 1,
        32 => 2,
        64 => 3,
        _ => 4,
    }
}

fn class(width: Width) -> &'static str {
    CLASSES[class_number(width)].0
}

/// Registers and references of a body.
pub(super) struct Frame {
    widths: Vec<Width>,
    registers: Vec<Option<Reg>>,
    references: Vec<Place>,
}

impl Frame {
    fn new(widths: Vec<Width>) -> Self {
        let registers = vec![None; widths.len()];
        Self { widths, registers, references: Vec::new() }
    }
}

/// Where an operand is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    storage: StorageId,
    /// Known part of the offset.
    offset: u64,
    /// The rest, 32 bits.
    dynamic: Option<Reg>,
    /// The CTA of the cluster, if that is named.
    rank: Option<Value>,
    /// Bytes of an element.
    element: u64,
}

/// A module that is being written.
struct Emit<'a> {
    program: &'a Program,
    kernel: &'a Kernel,
    launch: &'a Launch,
    lines: Lines<'a>,
    /// What comes before the body: indices of threads.
    prologue: Vec<String>,
    body: Vec<String>,
    counts: [u32; 5],
    n_labels: u32,
    coordinates: SortedMap<Coordinate, Value>,
    /// Special registers that are read before the body.
    specials: Vec<(String, Reg)>,
    /// What each storage is called.
    symbols: IndexVec<StorageId, String>,
    /// Where a `break` goes, innermost last.
    ends: Vec<String>,
    version: (u16, u16),
    sm: u16,
    only: &'static [Only],
    files: Vec<String>,
    purpose: Purpose,
    observed: Observed,
    /// Of a stress test: where each storage of this instance starts, and what delays and records need.
    stress: Option<stress::Stress>,
    /// How many waits are around the statement.
    n_waits: u32,
    errors: Vec<Diagnostic>,
}

impl<'a> Emit<'a> {
    fn new(program: &'a Program, kernel: &'a Kernel, launch: &'a Launch, lines: Lines<'a>) -> Self {
        Self {
            program,
            kernel,
            launch,
            lines,
            prologue: Vec::new(),
            body: Vec::new(),
            counts: [0; 5],
            n_labels: 0,
            coordinates: SortedMap::new(),
            specials: Vec::new(),
            symbols: IndexVec::new(),
            ends: Vec::new(),
            version: VERSION_MIN,
            sm: 70,
            only: &[],
            files: Vec::new(),
            purpose: Purpose::Kernel,
            observed: Observed::default(),
            stress: None,
            n_waits: 0,
            errors: Vec::new(),
        }
    }

    fn line(&mut self, text: impl AsRef<str>) {
        if self.body.len() < LINES_MAX {
            self.body.push(format!("\t{}", text.as_ref()));
        }
    }

    fn label(&mut self) -> String {
        self.n_labels += 1;
        format!("$L{}", self.n_labels)
    }

    fn place_label(&mut self, label: &str) {
        self.body.push(format!("{label}:"));
    }

    fn fresh(&mut self, width: Width) -> Reg {
        if width == 128 {
            self.needs(since(8, 3, 70));
        }
        let count = &mut self.counts[class_number(width)];
        *count += 1;
        Reg { width, number: *count }
    }

    /// The register of the kernel language's register.
    fn register(&mut self, frame: &mut Frame, register: RegisterId) -> Reg {
        let at = register.0 as usize;
        match frame.registers[at] {
            Some(known) => known,
            None => {
                let made = self.fresh(frame.widths[at]);
                frame.registers[at] = Some(made);
                made
            }
        }
    }

    /// The module is at least for this version and architecture.
    fn needs(&mut self, floor: Floor) {
        self.version = self.version.max(floor.ptx);
        self.sm = self.sm.max(floor.sm);
        if !floor.only.is_empty() {
            self.only = floor.only;
        }
    }

    fn unsupported(&mut self, what: &str, span: Span, help: &str) {
        let message = format!("{what} cannot be written as PTX");
        let error = Diagnostic::new("unsupported::emit", message, span, "here");
        let error = if help.is_empty() { error } else { error.with_help(help) };
        if !self.errors.iter().any(|known| known.span() == error.span()) {
            self.errors.push(error);
        }
    }

    /// Says of the next instruction where it comes from.
    fn locate(&mut self, span: Span) {
        let Some((file, line)) = (self.lines)(span) else { return };
        let number = match self.files.iter().position(|known| *known == file) {
            Some(at) => at,
            None => {
                self.files.push(file);
                self.files.len() - 1
            }
        };
        let text = format!("\t.loc {} {line} 1", number + 1);
        if self.body.iter().rev().find(|line| line.starts_with("\t.loc")) != Some(&text) {
            self.body.push(text);
        }
    }

    /// A condition as a predicate.
    fn predicate(&mut self, condition: &Expression, frame: &mut Frame) -> Reg {
        let value = self.value(condition, frame);
        self.in_register(&value)
    }

    fn finish(self) -> Assembled {
        let mut text = format!(
            ".version {}.{}\n.target {}\n.address_size 64\n\n",
            self.version.0,
            self.version.1,
            self.target()
        );
        for (number, file) in self.files.iter().enumerate() {
            let _ = writeln!(text, ".file {} \"{file}\"", number + 1);
        }
        if self.purpose == Purpose::Kernel {
            text += &self.globals();
        }
        let _ = write!(text, "\n.visible .entry {}(", self.entry());
        text += &self.parameters();
        let _ = write!(text, ")\n{}{{\n", self.directives());
        text += &self.shared();
        for ((name, ty), &count) in CLASSES.iter().zip(&self.counts) {
            if count > 0 {
                let _ = writeln!(text, "\t.reg .{ty} %{name}<{}>;", count + 1);
            }
        }
        // Now it is known how many values a thread has.
        let n_bytes = (self.observed.values.len().max(1) * 8).to_string();
        for line in self.prologue.iter().chain(&self.body) {
            let _ = writeln!(text, "{}", line.replace(stress::VALUE_BYTES, &n_bytes));
        }
        text += "}\n";
        Assembled {
            text,
            entry: self.entry(),
            harness: self.harness(),
            memory: self.memory(),
            block: self.block_size(),
            parameters: self.parameter_ranges(),
            observed: self.observed,
        }
    }

    fn target(&self) -> String {
        match self.only.first() {
            Some(&(Only::Architecture(sm) | Only::Family(sm))) => format!("sm_{}a", sm.max(self.sm)),
            None => format!("sm_{}", self.sm),
        }
    }
}
