//! PTX's instructions, a row each: words, operands, floors, rule, and what it is to those who only ask what kind it is.
//!
//! A row ([`Form`]) has a name (the mnemonic and the words that belong to it), [slots](Slot) for the words behind, which may
//! stand in any order, and two functions: one for what no slot can say of the words, one that takes the operands. [`words`]
//! reads an opcode by its row and spells it out in full; nothing else looks at an instruction's words.

use super::ast::Name;
use super::opcode::Opcode;
use super::program::{AccessOp, InstructionKind, RegisterId, Width};
use super::resolve::instruction::Site;
use super::resolve::{Body, Resolved};
use super::target::Target;
use crate::diagnostic::Diagnostic;
use words::Words;

pub mod strength;
pub mod words;

pub(in crate::kernel) mod access;
mod barrier;
mod bulk;
mod cluster;
mod copy;
mod exchange;
mod fence;
pub(in crate::kernel) mod foreign;
mod hint;
mod launch;
mod mbarrier;
mod multimem;
mod reduction;
mod spa;
mod store;
mod tcgen05;
mod tensormap;
mod texture;
mod unknown;
mod wgmma;

/// The files of families; each lists its own.
static PTX: &[&[&Family]] = &[
    access::FAMILIES,
    barrier::FAMILIES,
    cluster::FAMILIES,
    bulk::FAMILIES,
    copy::FAMILIES,
    exchange::FAMILIES,
    fence::FAMILIES,
    hint::FAMILIES,
    launch::FAMILIES,
    mbarrier::FAMILIES,
    multimem::FAMILIES,
    store::FAMILIES,
    tcgen05::FAMILIES,
    tensormap::FAMILIES,
    texture::FAMILIES,
    wgmma::FAMILIES,
];

/// A form of an instruction.
pub struct Form {
    /// The mnemonic and the words that belong to the name, in their order.
    pub name: &'static str,
    /// What may stand behind the name, in the order of the full spelling.
    pub slots: &'static [Slot],
    /// The name in the full spelling, if it is another.
    pub spelled: &'static str,
    /// What comes behind the opcode, as a reader writes it.
    pub operands: &'static str,
    /// What to write, where that is not what the family's help says.
    pub help: &'static str,
    /// The first PTX ISA version and architecture that have it.
    pub floor: Floor,
    /// Words that are younger than the instruction.
    pub floors: &'static [(&'static str, Floor)],
    /// Keys of which two different words are no repetition but a contradiction.
    pub exclusive: &'static [Key],
    /// The rule that it rests on.
    pub rule: &'static str,
    /// What kind of instruction it is.
    pub traits: Traits,
    /// How wide its result is with which word, the empty one being none; without a row, as wide as the memory that it names.
    pub result: &'static [(&'static str, Width)],
    /// Statements of it that order something or complete it where they are put in.
    pub inserted: &'static [&'static str],
    /// Whether its operand says how many groups it need not wait for, so that a smaller one waits for more.
    pub leaves_pending: bool,
    /// What no slot can say of the words.
    pub(super) check: fn(&Words<'_>) -> Result<(), Diagnostic>,
    /// Takes the operands.
    pub(super) build: Build,
}

/// Takes the operands of an instruction.
pub(super) type Build = fn(&mut Body<'_>, &Site<'_>, &mut Words<'_>) -> Resolved<Built>;

/// Meaning, and result registers.
pub(super) type Built = (InstructionKind, Vec<Option<RegisterId>>);

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The first PTX ISA version and architecture that have something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Floor {
    /// PTX ISA version.
    pub ptx: (u16, u16),
    /// The number in `sm_90`.
    pub sm: u16,
    /// If it belongs to some architectures only: those, for which a target must name it with its suffix.
    pub only: &'static [Only],
}

/// An architecture whose later ones need not have what it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Only {
    /// `sm_90a` and no other.
    Architecture(u16),
    /// `sm_100a`, `sm_103a` and so on, and `sm_100f` from PTX ISA 8.8 on: all of its family.
    Family(u16),
}

/// A floor without anything that belongs to some architectures only.
pub const fn since(major: u16, minor: u16, sm: u16) -> Floor {
    Floor { ptx: (major, minor), sm, only: &[] }
}

/// A floor of something that belongs to some architectures only.
pub const fn only(major: u16, minor: u16, sm: u16, only: &'static [Only]) -> Floor {
    Floor { ptx: (major, minor), sm, only }
}

/// What kind of instruction it is, for those who need not know which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traits {
    /// Only reads, or does an atomic: an `await` may repeat it.
    pub quiet: bool,
    /// The host executes it as well.
    pub host: bool,
    /// Acts on something other than memory, so that a round of a loop that executes it is no mere try.
    pub acts: bool,
    /// Whether all lanes of the warp execute it together, and the rule that wants it.
    pub aligned: Aligned,
}

/// Whether all lanes of a warp (or warpgroup) execute an instruction together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aligned {
    /// Never.
    No,
    /// Always, by this rule.
    Always(&'static str),
    /// If `.aligned` is written, by this rule.
    IfWritten(&'static str),
}

impl Traits {
    /// Of an instruction that is nothing special.
    pub const PLAIN: Self = Self { quiet: false, host: false, acts: false, aligned: Aligned::No };
    /// Of an instruction that acts on something other than memory.
    pub const ACTS: Self = Self { acts: true, ..Self::PLAIN };
    /// Of an instruction that an `await` may repeat.
    pub const QUIET: Self = Self { quiet: true, ..Self::PLAIN };

    /// With this alignment.
    #[must_use]
    pub const fn aligned(self, aligned: Aligned) -> Self {
        Self { aligned, ..self }
    }
}

/// What a word of a slot is, so that functions can ask for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// Says nothing that anybody asks for.
    Plain,
    /// Which of several operations.
    Operation,
    /// `.relaxed` and so on.
    Sem,
    /// `.cta` and so on.
    Scope,
    /// `.global` and so on.
    Space,
    /// `.u32` and so on.
    Type,
    /// `.1d` and so on.
    Rank,
    /// `.m64n8k16` and so on.
    Shape,
    /// `.x1` and so on.
    Count,
    /// `.collector::a::fill` and so on.
    Collector,
    /// How completion is signalled.
    Completion,
    /// `.aligned`
    Aligned,
    /// `.multicast::cluster` and so on.
    Multicast,
    /// `.sync_restrict::shared::cta` and so on.
    Restrict,
    /// `.v2` and so on.
    Vector,
    /// `.mmio`
    Mmio,
    /// `.nc`
    NonCoherent,
    /// `.ca` and so on.
    Cache,
    /// `.L1::evict_last` and so on: has no meaning to the model.
    Hint,
    /// `.L2::cache_hint`, which adds an operand.
    Policy,
}

/// The words of one kind behind a name, at most one of which stands there.
pub struct Slot {
    /// What it says.
    pub key: Key,
    /// The words that there are.
    pub words: &'static [&'static str],
    /// Whether one of them must stand there.
    pub need: Need,
}

/// Whether a word must stand in a slot.
pub enum Need {
    /// One must; if none does, an error says so, this one or that of the family.
    Must(Option<&'static Lack>),
    /// None means something of its own.
    May,
    /// None means this one, which the full spelling has.
    Default(&'static str),
    /// They mean nothing to the model and are not in the full spelling.
    Hint,
    /// Beginnings of words that PTX has and this version does not check; help, if there is more to say.
    Unsupported(Option<&'static str>),
    /// Words that look right and are not.
    Refused(&'static Refusal),
}

/// The error for a slot that lacks its word.
pub struct Lack {
    /// Code.
    pub code: &'static str,
    /// What is lacking, behind "needs".
    pub what: &'static str,
    /// What to do.
    pub help: &'static str,
    /// The rule it rests on.
    pub rule: &'static str,
}

/// The error for a word that looks right.
pub struct Refusal {
    /// Code.
    pub code: &'static str,
    /// What is wrong; `{}` is the word with its dot.
    pub message: &'static str,
    /// What stands there.
    pub label: &'static str,
    /// What to do; `{}` is the word.
    pub help: &'static str,
    /// The rule it rests on; empty if there is none.
    pub rule: &'static str,
}

/// One of these words must be there.
pub const fn must(key: Key, words: &'static [&'static str]) -> Slot {
    Slot { key, words, need: Need::Must(None) }
}

/// One of these words must be there, or this is the error.
pub const fn must_or(key: Key, words: &'static [&'static str], lack: &'static Lack) -> Slot {
    Slot { key, words, need: Need::Must(Some(lack)) }
}

/// One of these words may be there.
pub const fn may(key: Key, words: &'static [&'static str]) -> Slot {
    Slot { key, words, need: Need::May }
}

/// One of these words; the first, if none is written.
pub const fn default(key: Key, words: &'static [&'static str]) -> Slot {
    Slot { key, words, need: Need::Default(words[0]) }
}

/// Words that PTX has and this version does not check.
pub const fn unsupported(words: &'static [&'static str]) -> Slot {
    Slot { key: Key::Plain, words, need: Need::Unsupported(None) }
}

/// Words that look right.
pub const fn refused(words: &'static [&'static str], refusal: &'static Refusal) -> Slot {
    Slot { key: Key::Plain, words, need: Need::Refused(refusal) }
}

/// A row, to be completed by the functions of [`Form`].
pub(super) const fn form(name: &'static str, slots: &'static [Slot], floor: Floor, build: Build) -> Form {
    Form {
        name,
        slots,
        spelled: name,
        operands: "",
        help: "",
        floor,
        floors: &[],
        exclusive: &[],
        rule: "",
        traits: Traits::PLAIN,
        result: &[],
        inserted: &[],
        leaves_pending: false,
        check: |_| Ok(()),
        build,
    }
}

impl Form {
    const fn spelled(self, spelled: &'static str) -> Self {
        Self { spelled, ..self }
    }
    const fn operands(self, operands: &'static str) -> Self {
        Self { operands, ..self }
    }
    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }
    const fn floors(self, floors: &'static [(&'static str, Floor)]) -> Self {
        Self { floors, ..self }
    }
    const fn exclusive(self, exclusive: &'static [Key]) -> Self {
        Self { exclusive, ..self }
    }
    const fn rule(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }
    const fn result(self, result: &'static [(&'static str, Width)]) -> Self {
        Self { result, ..self }
    }
    const fn traits(self, traits: Traits) -> Self {
        Self { traits, ..self }
    }
    const fn inserted(self, inserted: &'static [&'static str]) -> Self {
        Self { inserted, ..self }
    }
    const fn leaves_pending(self) -> Self {
        Self { leaves_pending: true, ..self }
    }
    /// Its words: those that must stand there as they are, those that need not in braces.
    pub fn words(&self) -> String {
        let mut words = self.name.to_owned();
        for slot in self.slots {
            let all: Vec<String> = slot.words.iter().map(|word| format!(".{word}")).collect();
            match slot.need {
                Need::Must(_) if all.len() == 1 => words += &all[0],
                Need::Must(_) => words += &format!("({})", all.join(" or ")),
                Need::May | Need::Default(_) | Need::Hint if !all.is_empty() => {
                    words += &format!("{{{}}}", all.join(" or "));
                }
                _ => {}
            }
        }
        words
    }
    /// The first version and architecture that have it.
    pub fn since(&self) -> String {
        let Floor { ptx, sm, only } = self.floor;
        let sm = match only {
            [] if sm == 0 => String::new(),
            [] => format!(", sm_{sm}"),
            only => {
                let names: Vec<String> = only.iter().map(Only::to_string).collect();
                format!(", {}", names.join(" "))
            }
        };
        if ptx == (0, 0) { "formal".to_owned() } else { format!("{}.{}{sm}", ptx.0, ptx.1) }
    }
    /// Its row in the table of the book.
    fn table_row(&self) -> String {
        let (words, since) = (self.words(), self.since());
        let operands = if self.operands.is_empty() { String::new() } else { format!("`{}`", self.operands) };
        format!("| `{words}` | {operands} | {since} | {} |\n", self.rule)
    }
    /// The rule by which all lanes execute an instruction of this form and spelling together, if they must.
    pub fn aligned(&self, text: &str) -> Option<&'static str> {
        match self.traits.aligned {
            Aligned::No => None,
            Aligned::Always(rule) => Some(rule),
            Aligned::IfWritten(rule) => text.split('.').any(|word| word == "aligned").then_some(rule),
        }
    }
    const fn check(self, check: fn(&Words<'_>) -> Result<(), Diagnostic>) -> Self {
        Self { check, ..self }
    }
}

/// Forms that begin alike, and the error for what begins so and is none of them.
pub struct Family {
    /// How they begin: a mnemonic, and maybe words behind it.
    pub name: &'static str,
    /// Code of the errors about its words that no slot has an own one for.
    pub code: &'static str,
    /// What to write.
    pub help: &'static str,
    /// The rule that says what forms there are.
    pub rule: &'static str,
    /// Names that begin like it and that no row has: not checked, or refused.
    pub others: &'static [(&'static str, Need)],
    /// A row each.
    pub forms: &'static [Form],
}

impl Family {
    /// The first word of its name.
    fn mnemonic(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }
}

/// Those of PTX.
pub fn families() -> impl Iterator<Item = &'static Family> {
    PTX.iter().copied().flatten().copied()
}

/// Those of SPA 5.0 machines.
pub fn spa_families() -> impl Iterator<Item = &'static Family> {
    spa::FAMILIES.iter().copied()
}

/// The family that an opcode begins like.
fn family(opcode: &Opcode<'_>, target: Target) -> Option<&'static Family> {
    let files = if target.spa { &[spa::FAMILIES] } else { PTX };
    let leading = files.iter().copied().flatten().filter(|family| words::leads(family.name, opcode)).copied();
    leading.max_by_key(|family| family.name.len())
}

/// How wide its row says that the result of an instruction is.
pub(super) fn result_width(opcode: &Opcode<'_>, target: Target) -> Option<Width> {
    let widths = words::form(family(opcode, target)?, opcode)?.result;
    widths.iter().find(|(word, _)| word.is_empty() || opcode.has(word)).map(|(_, width)| *width)
}

/// Reads an opcode by its row.
pub(super) fn read<'a>(opcode: &Opcode<'a>, target: Target) -> Result<Words<'a>, Diagnostic> {
    match family(opcode, target) {
        Some(family) => words::read(family, opcode, target),
        None if target.spa => Err(foreign::unknown(opcode)),
        None if foreign::is_known(opcode.mnemonic) => Err(foreign::foreign(opcode)),
        None => Err(unknown::unknown(opcode)),
    }
}

/// An opcode with its modifiers in PTX's order, so that it assembles: that of its row. What is no opcode stays as it is.
pub fn ordered(name: &Name) -> String {
    words::ordered(&Opcode::new(name)).unwrap_or_else(|| name.text.clone())
}

/// The table of the book: every form of PTX that is read, with its words and the first version that has it.
pub fn table() -> String {
    let mut families: Vec<&Family> = families().filter(|family| !family.forms.is_empty()).collect();
    families.sort_by_key(|family| family.name);
    let mut text = "| instruction | operands | since | rule |\n|---|---|---|---|\n".to_owned();
    for form in families.into_iter().flat_map(|family| family.forms) {
        text += &form.table_row();
    }
    text
}

/// The row that an instruction of a litmus test is like; its words are others.
pub fn litmus_form(kind: &InstructionKind) -> &'static Form {
    match kind {
        InstructionKind::Access(AccessOp::Store { .. }) => &access::STORE.forms[0],
        InstructionKind::Access(AccessOp::Atomic { .. }) => &access::ATOM.forms[0],
        InstructionKind::Access(AccessOp::Reduction { .. }) => &access::REDUCTION.forms[0],
        InstructionKind::Fence { .. } => &fence::FENCE.forms[0],
        InstructionKind::AliasFence | InstructionKind::ProxyFence(_) => &fence::PROXY.forms[0],
        InstructionKind::Barrier { aligned: true, .. } => &barrier::BAR.forms[0],
        InstructionKind::Barrier { aligned: false, .. } => &barrier::BARRIER.forms[0],
        _ => &access::LOAD.forms[0],
    }
}

/// Whether instructions of PTX or of the table of SPA machines begin with this word, whether they are read here or not.
pub(super) fn is_mnemonic(word: &str) -> bool {
    families().chain(spa_families()).any(|family| family.mnemonic() == word) || unknown::is_mnemonic(word)
}

/// The forms that are called `name`, or whose name goes on from there; of a name with more words, those that it is a form of.
pub fn forms_of(name: &str) -> Vec<&'static Form> {
    let goes_on = |text: &str, start: &str| {
        text.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
    };
    let all = || families().flat_map(|family| family.forms);
    let mut found: Vec<&Form> = all().filter(|form| goes_on(form.name, name)).collect();
    if found.is_empty() {
        let longest = all().filter(|form| goes_on(name, form.name)).map(|form| form.name.len()).max();
        found = all().filter(|form| goes_on(name, form.name) && Some(form.name.len()) == longest).collect();
    }
    found
}

/// The form of an instruction in full spelling.
pub fn form_of(text: &str) -> Option<&'static Form> {
    let forms = families().chain(spa_families()).flat_map(|family| family.forms);
    let leads =
        |name: &str| text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    // Of names for the same the usual one.
    forms
        .filter(|form| leads(form.spelled))
        .max_by_key(|form| (form.spelled.len(), form.name == form.spelled))
}
