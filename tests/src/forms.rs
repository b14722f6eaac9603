//! The forms of the table of instructions, spelled out, and whether an assembler takes them as Fencepost does.
//!
//! A spelling is one choice of words for the slots of a row. Where a row has too many, those that differ from a full spelling
//! in two slots stand for the rest. Operands come from [`operands`], for both sides: a spelling is taken if it is with some of
//! them.

pub mod assembler;
pub mod known;
pub mod operands;
pub mod table;

use assembler::Assembler;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::isa::{Form, Key, Need, Only, Slot, families, form_of};
use fencepost_dsl::kernel::{LoadOptions, load};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Rows with at most so many spellings have all of them tried.
const PRODUCT_MAX: usize = 1500;
/// Words of a slot that are tried together with those of another one; the rest alone.
const WORDS_MAX: usize = 20;

/// Spellings of rows of which nothing can be left out, one for each kind of operands.
const SEEDS: &[&str] = &[
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
    "cp.async.bulk.global.shared::cta.bulk_group",
    "cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier::complete_tx::bytes.b128",
    "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32",
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group",
];

/// The version of PTX that spellings are compared in.
pub const VERSION: &str = "9.4";

/// What is written for each slot of a row.
type Choice = Vec<Option<&'static str>>;

/// A spelling, and who takes it.
#[derive(Clone, Debug)]
pub struct Spelling {
    /// The row.
    pub form: &'static Form,
    /// As written.
    pub text: String,
    /// What Fencepost says of it.
    pub ours: Ours,
}

/// What Fencepost says of a spelling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ours {
    /// It is taken; this is what it is in full, hints included.
    Taken(String),
    /// It is legal and not checked.
    Unsupported,
    /// It is refused, with this code.
    Refused(&'static str),
}

/// How the two sides compare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Agreement {
    /// Both take it.
    Taken,
    /// Both refuse it.
    Refused,
    /// Fencepost takes it for a longer spelling that the assembler takes.
    Sugar,
    /// The assembler takes it, and Fencepost says that it is not checked.
    Unsupported,
    /// Fencepost takes it, and the assembler takes neither it nor what it is in full.
    OnlyOurs,
    /// The assembler takes it, and Fencepost says that it is wrong.
    OnlyAssembler,
}

/// A spelling that was compared.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The spelling.
    pub spelling: Spelling,
    /// How.
    pub agreement: Agreement,
    /// What the assembler says against it.
    pub complaint: String,
}

/// The rows of PTX that assemblers may know, in the order of their names.
pub fn rows() -> Vec<&'static Form> {
    let mut rows: Vec<&Form> = families().flat_map(|family| family.forms).collect();
    rows.retain(|form| form.floor.ptx != (0, 0));
    rows.sort_by_key(|form| form.name);
    rows
}

/// The architecture that a row is tried on.
pub fn architecture(form: &Form) -> &'static str {
    let is_of_family = |only: &Only| matches!(only, Only::Family(_));
    if form.floor.only.is_empty() || form.floor.only.iter().any(is_of_family) { "sm_100a" } else { "sm_90a" }
}

/// The spellings of a row that are tried.
pub fn spellings(form: &'static Form) -> Vec<Spelling> {
    let n: usize = form.slots.iter().map(|slot| options(slot).len()).product();
    let mut choices: BTreeSet<Choice> = BTreeSet::new();
    if n <= PRODUCT_MAX {
        choices = product(form);
    } else {
        for base in bases(form) {
            choices.extend(around(form, &base));
        }
    }
    let mut texts = BTreeSet::new();
    let spellings = choices.into_iter().map(|choice| {
        let text = spelled(form.name, &choice);
        Spelling { form, ours: ours(form, &text, &choice), text }
    });
    spellings.filter(|spelling| texts.insert(spelling.text.clone())).collect()
}

/// What may be written for a slot.
fn options(slot: &Slot) -> Vec<Option<&'static str>> {
    let words = || slot.words.iter().map(|word| Some(*word));
    match slot.need {
        Need::Must(_) => words().collect(),
        Need::May | Need::Default(_) | Need::Hint => std::iter::once(None).chain(words()).collect(),
        Need::Unsupported(_) | Need::Refused(_) => vec![None],
    }
}

fn product(form: &Form) -> BTreeSet<Choice> {
    let mut choices: Vec<Choice> = vec![Vec::new()];
    for slot in form.slots {
        let longer = choices.iter().flat_map(|choice| {
            options(slot).into_iter().map(|word| choice.iter().copied().chain([word]).collect::<Choice>())
        });
        choices = longer.collect();
    }
    choices.into_iter().collect()
}

/// Full spellings of the shortest one, and what differs from it in one slot: one for each way to give it operands.
fn bases(form: &'static Form) -> Vec<Choice> {
    let shortest: Choice = form.slots.iter().map(|slot| options(slot)[0]).collect();
    let mut starts = vec![shortest.clone()];
    for (at, slot) in form.slots.iter().enumerate() {
        for word in options(slot) {
            let mut start = shortest.clone();
            start[at] = word;
            starts.push(start);
        }
    }
    let mut bases = BTreeSet::from([shortest]);
    for start in starts {
        let text = spelled(form.name, &start);
        for statement in operands::of_kernel(form, &text) {
            if let Ok(full) = full_spelling(form, &statement) {
                let base = completed(form, &start, &full);
                // Types do not make another kind of operands.
                let is_known = bases.iter().any(|known| is_alike(form, known, &base));
                if !is_known {
                    bases.insert(base);
                }
            }
        }
    }
    let nothing: Choice = vec![None; form.slots.len()];
    let seeds = SEEDS.iter().filter(|seed| form_of(seed).is_some_and(|of| of.name == form.name));
    bases.extend(seeds.map(|seed| completed(form, &nothing, seed)));
    bases.into_iter().collect()
}

/// Whether two spellings are of one state space, direction and completion.
fn is_alike(form: &Form, a: &Choice, b: &Choice) -> bool {
    let keys = [Key::Space, Key::Completion, Key::Mmio];
    form.slots.iter().zip(a.iter().zip(b)).all(|(slot, (a, b))| !keys.contains(&slot.key) || a == b)
}

/// What differs from a spelling in at most two slots.
fn around(form: &Form, base: &Choice) -> BTreeSet<Choice> {
    let mut choices = BTreeSet::from([base.clone()]);
    for (first, slot) in form.slots.iter().enumerate() {
        for word in options(slot) {
            let mut choice = base.clone();
            choice[first] = word;
            choices.insert(choice.clone());
            for (second, other) in form.slots.iter().enumerate().skip(first + 1) {
                for word in options(other).into_iter().take(WORDS_MAX) {
                    let mut choice = choice.clone();
                    choice[second] = word;
                    choices.insert(choice);
                }
            }
        }
    }
    choices
}

fn spelled(name: &str, choice: &Choice) -> String {
    let mut text = name.to_owned();
    for word in choice.iter().flatten() {
        text += ".";
        text += word;
    }
    text
}

/// A choice with the words that a full spelling adds.
fn completed(form: &Form, choice: &Choice, full: &str) -> Choice {
    let Some(rest) = full.strip_prefix(form.name) else { return choice.clone() };
    let mut words = rest.split('.').skip(1).peekable();
    let slots = form.slots.iter().zip(choice);
    slots
        .map(|(slot, &written)| {
            match words.peek().and_then(|next| slot.words.iter().find(|word| *word == next)) {
                Some(word) if !matches!(slot.need, Need::Hint) => {
                    words.next();
                    Some(*word)
                }
                _ => written,
            }
        })
        .collect()
}

/// What Fencepost says of a spelling.
fn ours(form: &'static Form, text: &str, choice: &Choice) -> Ours {
    let mut refused = Ours::Refused("");
    let statements = operands::of_kernel(form, text);
    let codes = first_errors(form, &statements);
    for (statement, code) in statements.iter().zip(codes) {
        match code.map_or_else(|| full_spelling(form, statement), Err) {
            Ok(full) if full.starts_with(form.name) => {
                return Ours::Taken(spelled(form.name, &completed(form, choice, &full)));
            }
            Ok(full) => return Ours::Taken(full),
            Err(code) if code.starts_with("unsupported::") => refused = Ours::Unsupported,
            Err(code) if refused == Ours::Refused("") => refused = Ours::Refused(code),
            Err(_) => {}
        }
    }
    refused
}

/// The codes of the first errors of statements, which are read together; none where they have to be read alone.
fn first_errors(form: &Form, statements: &[String]) -> Vec<Option<&'static str>> {
    let blocks: String =
        statements.iter().map(|statement| format!("if tid == 0 {{ {statement} }}\n")).collect();
    let text = kernel(form, &blocks);
    let n_before = text.lines().count() - statements.len() - 1;
    let mut codes = vec![None; statements.len()];
    let mut sources = SourceMap::default();
    let loaded = load(&mut sources, "form.fence", &mut |_| Ok(text.clone()), &LoadOptions::default());
    for error in loaded.err().unwrap_or_default() {
        let line = sources.line_column(error.span()).line;
        if let Some(code) = line.checked_sub(n_before + 1).and_then(|at| codes.get_mut(at)) {
            code.get_or_insert(error.code);
        }
    }
    // What is no text at all hides what is wrong with the rest.
    let is_read = !codes.iter().flatten().any(|code| code.starts_with("syntax::"));
    if is_read { codes } else { vec![None; statements.len()] }
}

/// A kernel with the objects that statements name.
fn kernel(form: &Form, statements: &str) -> String {
    let (target, objects) = (architecture(form), operands::OBJECTS);
    format!(
        "//! target {target} ptx {VERSION}\nkernel k {{ launch {{ ctas: 2, cluster: 2 }} {objects}\n{statements}}}"
    )
}

/// The full spelling of the last instruction of a kernel with this statement, or the code of the first error.
pub fn full_spelling(form: &Form, statement: &str) -> Result<String, &'static str> {
    let text = kernel(form, &format!("{statement}\n"));
    let mut sources = SourceMap::default();
    match load(&mut sources, "form.fence", &mut |_| Ok(text.clone()), &LoadOptions::default()) {
        Ok(program) => {
            let last = RefCell::new(String::new());
            program.any_instruction(&program.kernels[0], |instruction| {
                last.borrow_mut().clone_from(&instruction.text);
                false
            });
            Ok(last.into_inner())
        }
        Err(errors) => Err(errors.first().map_or("", |error| error.code)),
    }
}

/// Compares spellings with what an assembler takes.
pub fn compare(assembler: &Assembler, spellings: Vec<Spelling>) -> Vec<Compared> {
    let of = |text: &dyn Fn(&Spelling) -> Option<String>| -> Vec<Option<Result<(), String>>> {
        let asked: Vec<(&'static str, Vec<String>)> = spellings
            .iter()
            .map(|spelling| {
                let text = text(spelling);
                let statements = text.map(|text| operands::of_assembler(spelling.form, &text));
                (architecture(spelling.form), statements.unwrap_or_default())
            })
            .collect();
        assembler.any(&asked)
    };
    let written = of(&|spelling| Some(spelling.text.clone()));
    let full = of(&|spelling| match &spelling.ours {
        Ours::Taken(full) if *full != spelling.text => Some(full.clone()),
        _ => None,
    });
    let answers = written.into_iter().zip(full);
    spellings
        .iter()
        .cloned()
        .zip(answers)
        .map(|(spelling, (written, full))| {
            let is_taken = matches!(written, Some(Ok(())));
            let agreement = match (&spelling.ours, is_taken) {
                (Ours::Taken(_), true) => Agreement::Taken,
                (Ours::Taken(_), false) if matches!(full, Some(Ok(()))) => Agreement::Sugar,
                (Ours::Taken(_), false) => Agreement::OnlyOurs,
                (Ours::Unsupported, true) => Agreement::Unsupported,
                (Ours::Refused(_), true) => Agreement::OnlyAssembler,
                (_, false) => Agreement::Refused,
            };
            let complaint = written.and_then(Result::err).unwrap_or_default();
            Compared { spelling, agreement, complaint }
        })
        .collect()
}
