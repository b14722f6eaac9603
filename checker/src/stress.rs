//! A CUDA program that runs a kernel many times at once, with random delays, and counts what came out: so that whoever has a
//! GPU can look for the execution that a check has found.
//!
//! It needs the driver and a C++ compiler, no CUDA compiler: the kernel is PTX text in it, which the driver assembles. What is
//! looked at of an instance is what its threads have read, which assertions failed, and global memory at its end.

use crate::event::{AgentId, EventKind};
use crate::verdict::Outcome;
use fencepost_dsl::kernel::program::{
    AddressBase, BinaryOp, Expression, ExpressionKind, FinalKind, Kernel, Launch, Storage, UnaryOp,
};
use fencepost_dsl::kernel::{ALIGNMENT, Assembled};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::Space;
use fencepost_dsl::{SourceMap, Span};
use std::fmt::Write as _;

/// Most values of an instance that an outcome shows; of more, those are shown that the execution that was found has.
const COLUMNS_MAX: usize = 24;

/// What the program is written from.
#[derive(Clone, Copy, Debug)]
pub struct Stress<'a> {
    /// The module, assembled for this purpose.
    pub module: &'a Assembled,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The launch that an instance is.
    pub launch: &'a Launch,
    /// What a check says of it, if it says anything.
    pub outcome: Option<&'a Outcome>,
    /// The texts.
    pub sources: &'a SourceMap,
    /// The file as the user named it.
    pub file: &'a str,
}

/// A value that an outcome shows.
struct Column {
    /// Among all that an instance stores.
    number: usize,
    /// For people.
    name: String,
    /// What it is in the execution that was found: one more than the value, 0 if nothing is read.
    found: Option<u64>,
}

impl Stress<'_> {
    /// The whole program.
    pub fn text(&self) -> String {
        let found = self.outcome.and_then(|outcome| outcome.findings.first());
        let columns = self.columns();
        let says = match (found, self.outcome) {
            (Some(finding), _) => format!("the check found a violation of `{}`", finding.property.name()),
            (None, Some(_)) => "the check found nothing wrong, so nothing is marked".to_owned(),
            (None, None) => "it was not checked, so nothing is marked".to_owned(),
        };
        let n_found = columns.iter().filter(|column| column.found.is_some()).count();
        let mut text = format!(
            "// A stress test of `{}` of {}, written by `fencepost emit cuda`: {says}.\n//\n\
             //   c++ -std=c++17 stress.cpp -I/usr/local/cuda/include -lcuda -o stress     (or: nvcc stress.cu -lcuda)\n\
             //   ./stress [SECONDS] [LONGEST DELAY IN NANOSECONDS]\n//\n\
             // Each round runs many instances of the grid at once, each with memory of its own, and counts what came out.\n\
             // Exit code 1: an assertion failed, or somebody waited for ever; 0: neither was seen, which proves nothing;\n\
             // 2: no test.\n",
            self.module.entry, self.file
        );
        text += HEAD;
        let _ = writeln!(text, "static const char PTX[] = R\"ptx({})ptx\";\n", self.module.text);
        let launch = self.launch;
        for (name, value) in [
            ("CTAS", launch.ctas as usize),
            ("BLOCK", self.module.block as usize),
            ("VALUES", self.module.observed.values.len().max(1)),
            ("COOPERATIVE", usize::from(launch.cooperative)),
            ("COLUMNS_FOUND", n_found),
        ] {
            let _ = writeln!(text, "static const unsigned {name} = {value};");
        }
        let _ = writeln!(text, "static const char ENTRY[] = \"{}\";", self.module.entry);
        text += &self.memory();
        text += &self.parameters();
        let _ = writeln!(
            text,
            "\n// What an outcome shows of the values that were read: 1 is added, 0 says that nothing was."
        );
        let _ = writeln!(text, "static const Column COLUMNS[] = {{");
        for column in &columns {
            let found = column.found.map_or("false, 0".to_owned(), |value| format!("true, {value}u"));
            let _ = writeln!(text, "    {{{}, \"{}\", {found}}},", column.number, column.name);
        }
        let _ = writeln!(text, "    {{0, nullptr, false, 0}},\n}};\n");
        let _ = writeln!(text, "static const char* const ASSERTIONS[] = {{");
        for &span in &self.module.observed.assertions {
            let _ = writeln!(text, "    \"line {}: {}\",", self.line(span), quoted(self.sources.text(span)));
        }
        let _ = writeln!(text, "    nullptr,\n}};\n");
        text += &self.finals();
        text += TAIL;
        text
    }

    fn line(&self, span: Span) -> usize {
        self.sources.line_column(span).line
    }

    /// Global memory of an instance.
    fn memory(&self) -> String {
        let mut text = String::new();
        for (number, (_, size, bytes)) in self.module.memory.iter().enumerate() {
            if let Some(bytes) = bytes.as_ref().filter(|bytes| bytes.iter().any(|&byte| byte != 0)) {
                let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
                let _ = writeln!(
                    text,
                    "static const unsigned char INITIAL{number}[{size}] = {{{}}};",
                    list.join(", ")
                );
            }
        }
        text += "static const Memory MEMORY[] = {\n";
        for (number, (name, size, bytes)) in self.module.memory.iter().enumerate() {
            let is_filled = bytes.as_ref().is_some_and(|bytes| bytes.iter().any(|&byte| byte != 0));
            let initial = if is_filled { format!("INITIAL{number}") } else { "nullptr".to_owned() };
            let of = self.kernel.objects.iter().find(|object| {
                object.space == Space::Global
                    && object.name.trim_end_matches('_') == name.trim_end_matches('_')
            });
            let width = of.map_or(4, |object| u32::from(object.width) / 8).min(8);
            let stride = size.next_multiple_of(ALIGNMENT);
            let _ = writeln!(text, "    {{\"{name}\", {size}, {stride}, {width}, {initial}}},");
        }
        text + "    {nullptr, 0, 0, 0, nullptr},\n};\n"
    }

    /// Values of the kernel's own parameters: those of the execution that was found.
    fn parameters(&self) -> String {
        let found = self.outcome.and_then(|outcome| Some((outcome, outcome.findings.first()?)));
        let mut text = "static uint32_t PARAMETERS[] = {".to_owned();
        for parameter in &self.kernel.parameters {
            let value = found.and_then(|(outcome, finding)| {
                let (_, unknown) =
                    outcome.graph.parameters.iter().find(|(name, _)| *name == parameter.name)?;
                u64::try_from(finding.witness.execution.unknowns[*unknown]).ok()
            });
            let value = value.unwrap_or(parameter.max);
            let _ =
                write!(text, "{value} /* {} in {}..={} */, ", parameter.name, parameter.min, parameter.max);
        }
        text + "0};\n"
    }

    /// The values that an outcome shows.
    fn columns(&self) -> Vec<Column> {
        let found = self.values_found();
        let launch = self.launch;
        let n_values = self.module.observed.values.len();
        let mut columns = Vec::new();
        for cta in 0..launch.ctas {
            for warp in 0..launch.warps {
                for lane in 0..launch.lanes {
                    let thread = cta * self.module.block + warp * 32 + lane;
                    for (at, &span) in self.module.observed.values.iter().enumerate() {
                        let tid = warp * launch.lanes + lane;
                        let of_cta = if launch.ctas > 1 { format!(" of cta {cta}") } else { String::new() };
                        columns.push(Column {
                            number: thread as usize * n_values + at,
                            name: format!("tid {tid}{of_cta}, line {}", self.line(span)),
                            found: found
                                .as_ref()
                                .map(|found| found.get(&(thread, span)).copied().unwrap_or(0)),
                        });
                    }
                }
            }
        }
        if columns.len() > COLUMNS_MAX {
            columns.retain(|column| column.found.is_some_and(|found| found > 0));
            columns.truncate(COLUMNS_MAX);
        }
        columns
    }

    /// What each thread has read last at each place, in the execution that was found; one more, as it is stored.
    fn values_found(&self) -> Option<SortedMap<(u32, Span), u64>> {
        let outcome = self.outcome?;
        let witness = &outcome.findings.first()?.witness;
        let graph = &outcome.graph;
        let mut found = SortedMap::new();
        for (id, event) in graph.events.iter_enumerated() {
            let (EventKind::Read(access), Some(agent), Some(site)) = (&event.kind, event.agent, event.site)
            else {
                continue;
            };
            if !witness.execution.executed.contains(id) || graph.hierarchy.is_operation(agent) {
                continue;
            }
            let value = u64::try_from(witness.values[access.value]).unwrap_or(u64::MAX);
            let key = (self.thread(outcome, agent), graph.sites[site].span);
            found.insert(key, value.wrapping_add(1));
        }
        Some(found)
    }

    /// The number of a thread in the instance.
    fn thread(&self, outcome: &Outcome, agent: AgentId) -> u32 {
        let hierarchy = &outcome.graph.hierarchy;
        let thread = hierarchy.threads[agent];
        let cta = thread.cluster * self.launch.cluster + thread.rank;
        cta * self.module.block + thread.warp * 32 + thread.lane
    }

    /// Final conditions, as functions of the memory of an instance.
    fn finals(&self) -> String {
        let mut text = String::new();
        let mut names = Vec::new();
        for condition in &self.kernel.finals {
            let FinalKind::Assert = condition.kind else { continue };
            let Some(said) = self.condition(&condition.condition) else { continue };
            let number = names.len();
            let _ = writeln!(
                text,
                "static bool final{number}(const Memories& of) {{ (void)of; return {said}; }}"
            );
            let shown = quoted(self.sources.text(condition.span));
            names.push(format!("    {{\"line {}: {shown}\", final{number}}},", self.line(condition.span)));
        }
        let _ = writeln!(text, "static const Final FINALS[] = {{");
        for name in names {
            let _ = writeln!(text, "{name}");
        }
        text + "    {nullptr, nullptr},\n};\n"
    }

    /// A condition in C++: every part of it as 64 bits, of which those of its width are kept.
    fn condition(&self, expression: &Expression) -> Option<String> {
        let width = expression.width;
        if width > 64 {
            return None;
        }
        let inner = |operand: &Expression| self.condition(operand);
        Some(match &expression.kind {
            ExpressionKind::Constant(value) => format!("{value}ull"),
            ExpressionKind::FinalValue(address) => {
                let AddressBase::Object(object) = address.base else { return None };
                let object = &self.kernel.objects[object];
                let mut index = 0;
                for (at, &size) in address.indices.iter().zip(&object.dimensions) {
                    let ExpressionKind::Constant(at) = at.kind else { return None };
                    index = index * u64::from(size) + u64::try_from(at).ok()?;
                }
                let global = |storage: &Storage| storage.space == Space::Global;
                let before = self.kernel.storages.iter().take(object.storage.0 as usize);
                let number = before.filter(|storage| global(storage)).count();
                if object.space != Space::Global {
                    return None;
                }
                let bytes = u64::from(object.width) / 8;
                format!("of.at({number}, {}, {bytes})", u64::from(object.offset_bytes) + index * bytes)
            }
            ExpressionKind::Unary(op, operand) => match op {
                UnaryOp::Not => format!("bits(~{}, {width})", inner(operand)?),
                UnaryOp::Negate => format!("bits(0ull - {}, {width})", inner(operand)?),
            },
            ExpressionKind::Binary(op, left, right) => {
                let (left, right) = (inner(left)?, inner(right)?);
                let word = match op {
                    // What C++ leaves open is not.
                    BinaryOp::Divide => {
                        return Some(format!("({right} == 0 ? bits(~0ull, {width}) : {left} / {right})"));
                    }
                    BinaryOp::Remainder => {
                        return Some(format!("({right} == 0 ? {left} : {left} % {right})"));
                    }
                    BinaryOp::ShiftLeft => {
                        return Some(format!(
                            "({right} >= {width} ? 0ull : bits({left} << {right}, {width}))"
                        ));
                    }
                    BinaryOp::ShiftRight => {
                        return Some(format!("({right} >= {width} ? 0ull : {left} >> {right})"));
                    }
                    op => op.symbol(),
                };
                format!("bits(uint64_t({left} {word} {right}), {width})")
            }
            ExpressionKind::Select(condition, then, otherwise) => {
                format!("({} ? {} : {})", inner(condition)?, inner(then)?, inner(otherwise)?)
            }
            ExpressionKind::Convert(operand) => format!("bits({}, {width})", inner(operand)?),
            _ => return None,
        })
    }
}

/// Text for a string in C++.
fn quoted(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('\\', "\\\\").replace('"', "\\\"")
}

const HEAD: &str = include_str!("stress/head.cpp");
const TAIL: &str = include_str!("stress/tail.cpp");
