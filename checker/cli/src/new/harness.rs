//! `fencepost new --from k.ptx`: a kernel file that imports the kernels of a PTX module, with all that can be inferred of how
//! they are launched and what they are given, and a comment at what cannot.

use super::parameters::{Parameters, Slot, has};
use super::tensors;
use fencepost::event::EventKind;
use fencepost::library;
use fencepost::parallel::on_large_stack;
use fencepost::unroll::{UnrollOptions, unroll};
use fencepost::work::Allowance;
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::ptx::module::{Function, Item, Module, Operand, OperandKind, demangled};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::span::FileId;
use fencepost_dsl::{SourceMap, ptx};
use std::fmt::Write;

/// Bytes of an object of which nobody knows how much is touched.
const BYTES: u64 = 16_384;
/// Bytes that are tried, to see how much is touched.
const BYTES_MAX: u64 = 1 << 20;
/// Events of the run that tells it.
const EVENTS_MAX: usize = 320_000;
/// … and steps that it may take: a second or two.
const STEPS_MAX: u64 = 50_000_000;
/// What stands for dynamic shared memory among the names of objects.
const DYNAMIC: &str = "shared dynamic";
/// Bytes of dynamic shared memory at first, and those beyond what copies touch, for mbarriers and the like.
const DYNAMIC_BYTES: u64 = 196_608;
const DYNAMIC_REST: u64 = 1024;
/// Threads of a block of which nobody says how many there are, and how many are taken where somebody says at most how many.
const THREADS: u64 = 64;
const THREADS_MAX: u64 = 256;
/// Of registers that are vectors.
const AXES: [&str; 3] = ["x", "y", "z"];
/// What a parameter that is a number is at first.
const NUMBER: u64 = 2;

/// How a module is read: its path as the kernel file names it, and its text.
pub struct Source<'a> {
    /// As it stands in the `import`.
    pub path: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// The text of a kernel file for a module's kernels, or for one of them.
///
/// # Errors
/// If the module cannot be read, or has no such kernel.
pub fn of_module(module: &Source<'_>, entry: Option<&str>) -> Result<String, String> {
    let read = ptx::parse(module.text, FileId(0)).map_err(|error| error.message)?;
    let names = || {
        let entries = read.functions.iter().filter(|function| function.is_entry && function.has_body);
        entries.map(|function| name_of(function).to_owned()).collect::<Vec<_>>()
    };
    let chosen: Vec<&Function> = match entry {
        Some(name) => vec![read.entry(name).ok_or_else(|| {
            format!("`{}` has no entry `{name}`\n  its kernels are {}", module.path, names().join(", "))
        })?],
        None => read.functions.iter().filter(|function| function.is_entry && function.has_body).collect(),
    };
    if chosen.is_empty() {
        return Err(format!(
            "`{}` has no kernel\n  a kernel is an `.entry` with a body: compile it with `nvcc -ptx -lineinfo`",
            module.path
        ));
    }
    let mut harness =
        Harness { module: &read, path: module.path, sizes: SortedMap::new(), is_single: chosen.len() == 1 };
    // Once with large objects, to see how much of each is touched.
    let large = harness.text(&chosen);
    harness.sizes = touched(&large, module);
    let dynamic = read.variables.iter().find(|variable| variable.is_extern && variable.space == "shared");
    if let Some(bytes) = dynamic.and_then(|variable| harness.sizes.get(&variable.name.text)).copied() {
        let bytes = (bytes + DYNAMIC_REST).next_multiple_of(DYNAMIC_REST).min(DYNAMIC_BYTES);
        harness.sizes.insert(DYNAMIC.to_owned(), bytes);
    }
    Ok(harness.text(&chosen))
}

/// What a reader calls a kernel.
fn name_of(function: &Function) -> &str {
    demangled(&function.name.text).unwrap_or(&function.name.text)
}

struct Harness<'m> {
    module: &'m Module,
    path: &'m str,
    /// How many bytes of each object are touched, where that is known.
    sizes: SortedMap<String, u64>,
    is_single: bool,
}

impl Harness<'_> {
    fn text(&self, entries: &[&Function]) -> String {
        let mut text = format!(
            "// What `{}` is launched with and given. Where it says so, look whether that is what you mean.\n",
            self.path
        );
        let mut imports = String::new();
        for entry in entries {
            let (objects, import) = self.import(entry);
            text += &objects;
            imports += &import;
        }
        format!("{text}\n{}", imports.trim_start())
    }

    /// Objects, and the `import` itself.
    fn import(&self, entry: &Function) -> (String, String) {
        let name = name_of(entry);
        let given = Parameters::of(entry);
        let maps = tensors::maps(entry, given.made_of());
        let mut objects = String::new();
        let mut settings = String::new();
        for slot in given.slots(&maps) {
            let (object, place) = (self.object_name(name, slot), written(slot));
            let of = given.used(slot);
            if let Some(map) = maps.get(&slot) {
                let note = if map.is_told {
                    "a guess from the bytes expected: boxes as the host encodes them, elements of any type of this size"
                } else {
                    "a guess: boxes as the host encodes them, elements of any type of this size"
                };
                let _ =
                    writeln!(objects, "global {object}_tensor{}: u16 = 0;    // {note}", map.tensor_sizes());
                let _ =
                    writeln!(objects, "param {object}: tensormap of {object}_tensor[{}];", map.box_sizes());
                let _ = writeln!(settings, "    param {place} = &{object};");
            } else if slot.offset.is_none() && entry.parameters[slot.number].bytes > 8 {
                let _ = writeln!(
                    settings,
                    "    // parameter {place} has {} bytes: a structure, or a tensor map, of which nothing is read",
                    entry.parameters[slot.number].bytes
                );
            // A pointer has 64 bits; what is narrower is an index, though addresses are made of it.
            } else if of.is_address && of.bits == 64 {
                let width = if of.width == 0 { 32 } else { of.width };
                let (bytes, note) = match self.sizes.get(&object) {
                    Some(&bytes) => (bytes.max(u64::from(width / 8)), ""),
                    None if self.sizes.is_empty() => (BYTES_MAX / 4, ""),
                    None => (BYTES, "    // how much of it there is"),
                };
                let n = bytes.div_ceil(u64::from(width / 8));
                let initial = if of.is_word { " = 0" } else { "" };
                let note = if of.is_word && note.is_empty() { "    // what it holds at first" } else { note };
                let _ = writeln!(objects, "global {object}[{n}]: u{width}{initial};{note}");
                let _ = writeln!(settings, "    param {place} = &{object};");
            } else {
                let _ = writeln!(
                    settings,
                    "    param {place} = {NUMBER};    // a number: choose, or a range such as `param {place} in 1..=4;`"
                );
            }
        }
        if let Some(last) = environment(entry) {
            let object = if self.is_single { "workspace".to_owned() } else { format!("{name}_workspace") };
            let _ =
                writeln!(objects, "global {object}[8]: u32 = 0;    // of the grid, which the driver passes");
            if last > 1 {
                let _ = writeln!(settings, "    envreg 1..2 = &{object};");
            }
        }
        if self.module.variables.iter().any(|variable| variable.is_extern && variable.space == "shared") {
            let bytes = self.sizes.get(DYNAMIC).map_or(DYNAMIC_BYTES, |&bytes| bytes);
            let _ = writeln!(settings, "    shared dynamic {bytes};    // bytes, as the launch has them");
        }
        let launch = launch(entry);
        if has(entry, "griddepcontrol.") {
            settings += "    // `griddepcontrol` tells of the launch before in a `program` only, with the memory that both are given:\n    \
                         // program p { stream s; launch first on s; launch this on s with programmatic_serialization; }\n";
        }
        // Templates have several kernels of one name.
        let entry_name = if self.module.entry(name).is_some() { name } else { &entry.name.text };
        let import = format!(
            "\nimport \"{}\" entry {entry_name} as {} {{\n{launch}{settings}    // What should hold at the end, without which \
             races, hangs and misuse are looked for:\n    // final {{ assert [x[0]] == 1; }}\n}}\n",
            self.path,
            name.replace('$', "_"),
        );
        (objects, import)
    }

    fn object_name(&self, kernel: &str, slot: Slot) -> String {
        let field = slot.offset.map_or_else(String::new, |offset| format!("_{offset}"));
        let number = slot.number;
        if self.is_single {
            format!("p{number}{field}")
        } else {
            format!("{}_p{number}{field}", kernel.replace('$', "_"))
        }
    }
}

/// As it stands behind `param`.
fn written(slot: Slot) -> String {
    match slot.offset {
        Some(offset) => format!("{}[{offset}]", slot.number),
        None => slot.number.to_string(),
    }
}

/// The `launch` of a kernel, by what it says of blocks and clusters, and reads of where a thread is.
fn launch(entry: &Function) -> String {
    let directive = |word: &str| entry.directives.iter().find(|(name, _)| name.text == word).map(|(_, n)| n);
    let in_axes = |numbers: &[u64]| {
        let n = numbers.iter().rposition(|&number| number > 1).map_or(1, |last| last + 1);
        let numbers: Vec<String> = numbers[..n].iter().map(u64::to_string).collect();
        if n == 1 { numbers[0].clone() } else { format!("[{}]", numbers.join(", ")) }
    };
    // All along the first axis that is read: libraries read all of them, whatever the kernel is launched with.
    let along = |register: &str, size: u64| {
        let first = AXES.iter().position(|axis| reads_special(entry, &format!("%{register}.{axis}")));
        let mut sizes = [1; 3];
        sizes[first.unwrap_or(0)] = size;
        in_axes(&sizes)
    };
    let reads_several =
        |register: &str| AXES[1..].iter().any(|axis| reads_special(entry, &format!("%{register}.{axis}")));
    let cluster = directive("reqnctapercluster").filter(|sizes| sizes.iter().product::<u64>() > 1);
    let by_groups = has(entry, "wgmma.") || has(entry, "setmaxnreg.");
    let mut notes: Vec<String> = Vec::new();
    let block = match (directive("reqntid"), directive("maxntid")) {
        (Some(n), _) => in_axes(n),
        (None, Some(n)) => {
            let most: u64 = n.iter().product();
            notes.push(format!("at most {most} threads per block: as many as you launch"));
            // What is told how many threads there are mostly counts on all of them.
            let all = most <= THREADS_MAX || by_groups;
            if all { in_axes(n) } else { THREADS.to_string() }
        }
        (None, None) => {
            notes.push("threads per block: as many as you launch".to_owned());
            if reads_several("tid") {
                notes.push("`block: [16, 4]` if they have several axes".to_owned());
            }
            along("tid", THREADS)
        }
    };
    // One of those that have work for thousands of threads shows what there is to see, and so does one where all do the same.
    let (of_grid, of_cluster) = match cluster {
        Some(sizes) => (in_axes(sizes), format!(", cluster: {}", in_axes(sizes))),
        None if by_groups || !tells_blocks_apart(entry) => ("1".to_owned(), String::new()),
        None => {
            if reads_several("ctaid") {
                notes.push("`grid: [2, 2]` if it has several axes".to_owned());
            }
            (along("ctaid", 2), String::new())
        }
    };
    let grid = if of_grid.starts_with('[') { "grid" } else { "ctas" };
    let registers = if has(entry, "setmaxnreg.") {
        notes.push("registers of each thread at the start: as `ptxas -v` says".to_owned());
        ", registers: 168"
    } else {
        ""
    };
    let waits = if of_grid != "1" && spins(entry) {
        notes.push(
            "cooperative: since blocks may wait for one another; leave it out if you launch it otherwise"
                .to_owned(),
        );
        ", cooperative: true"
    } else {
        ""
    };
    let note = if notes.is_empty() { String::new() } else { format!("    // {}", notes.join("; ")) };
    format!("    launch {{ {grid}: {of_grid}{of_cluster}, block: {block}{registers}{waits} }}{note}\n")
}

/// Whether a kernel reads a special register.
fn reads_special(entry: &Function, register: &str) -> bool {
    entry.instructions().any(|instruction| {
        let is = |operand: &Operand| matches!(&operand.kind, OperandKind::Name(name) if name == register);
        instruction.operands.iter().any(is)
    })
}

/// Whether blocks do different things: by where they are, or by what they agree on.
fn tells_blocks_apart(entry: &Function) -> bool {
    let by_place = ["ctaid", "clusterid"]
        .iter()
        .any(|register| AXES.iter().any(|axis| reads_special(entry, &format!("%{register}.{axis}"))));
    by_place
        || entry.instructions().any(|instruction| {
            let words: Vec<&str> = instruction.opcode.text.split('.').collect();
            matches!(words[0], "atom" | "red") && !words.iter().any(|word| word.starts_with("shared"))
        })
}

/// Whether a kernel has a loop and reads words that other blocks may write: then all blocks have to be there.
fn spins(entry: &Function) -> bool {
    let mut labels = SortedSet::new();
    let mut has_loop = false;
    let mut polls = false;
    for item in &entry.body {
        match item {
            Item::Label(name) => {
                labels.insert(name.text.clone());
            }
            Item::Instruction(instruction) => {
                let words: Vec<&str> = instruction.opcode.text.split('.').collect();
                has_loop |= words[0] == "bra"
                    && instruction.operands.iter().any(
                        |operand| matches!(&operand.kind, OperandKind::Name(name) if labels.contains(name)),
                    );
                let is_wide = words.iter().any(|word| matches!(*word, "gpu" | "sys" | "volatile"));
                polls |= words[0] == "ld" && is_wide || words[0] == "atom" && !words.contains(&"shared");
            }
            Item::Targets { .. } => {}
        }
    }
    has_loop && polls
}

/// The last environment register that a kernel reads.
fn environment(entry: &Function) -> Option<u32> {
    fn of(operand: &Operand) -> Option<u32> {
        match &operand.kind {
            OperandKind::Name(name) => name.strip_prefix("%envreg")?.parse().ok(),
            _ => None,
        }
    }
    entry.instructions().flat_map(|instruction| instruction.operands.iter().filter_map(of)).max()
}

/// How many bytes of each object a run touches, as far as addresses are numbers; nothing where it cannot be run.
fn touched(text: &str, module: &Source<'_>) -> SortedMap<String, u64> {
    let run = || {
        let mut read = library::with(|asked: &str| match asked {
            "new.fence" => Ok(text.to_owned()),
            _ if asked == module.path => Ok(module.text.to_owned()),
            _ => Err("it is not there".to_owned()),
        });
        let program =
            load(&mut SourceMap::default(), "new.fence", &mut read, &LoadOptions::default()).ok()?;
        let mut touched: SortedMap<String, u64> = SortedMap::new();
        let options = UnrollOptions {
            max_events: EVENTS_MAX,
            allowance: Allowance::of_steps(STEPS_MAX),
            ..UnrollOptions::default()
        };
        for kernel in &program.kernels {
            let graph = unroll(&program, kernel, kernel.launches.first()?, &options).ok()?;
            for event in graph.events.iter() {
                let (EventKind::Read(access) | EventKind::Write(access)) = &event.kind else { continue };
                let location = &graph.locations[access.location];
                let (_, most) = graph.terms.range(access.offset);
                let end =
                    u64::try_from(most).unwrap_or(u64::MAX).saturating_add(u64::from(access.width_bytes));
                // Where it may be anything, it is as large as it was.
                let end = end.min(u64::from(location.size_bytes));
                let end =
                    if graph.terms.constant_value(access.offset).is_some() { end } else { end.min(BYTES) };
                let known = touched.entry(location.name.stem().to_owned()).or_default();
                *known = (*known).max(end);
            }
        }
        Some(touched)
    };
    on_large_stack(run).ok().flatten().unwrap_or_else(|| [("?".to_owned(), 0)].into_iter().collect())
}
