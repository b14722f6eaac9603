//! `ld`, `st`, `atom` and `red` (§2): words, hints that steer caches, and what goes with the object's type and place.
//!
//! A full spelling names the sem, the scope, the state space and the type, whatever is written. Hints have no meaning to the
//! memory model; their form is checked.

use super::words::Words;
use super::{
    Family, Floor, Key, Lack, Need, Refusal, Slot, Traits, default, form, may, must_or, refused, since,
    unsupported,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::opcode::{PtxType, Window};
use crate::kernel::program::AtomicOp;
use crate::span::Span;
use crate::vocabulary::{Proxy, Scope, Sem, Space};
use operands::{build_atomic, build_fill, build_load, build_reduction, build_store};

mod operands;

/// What the words of a memory access say.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Its sem.
    pub sem: Sem,
    /// Its scope; `Cta` for weak accesses.
    pub scope: Scope,
    /// State space, if written.
    pub space: Option<(Space, Span)>,
    /// The part of the shared state space, if `.shared` is written.
    pub window: Option<Window>,
    /// Type, if written.
    pub ty: Option<(PtxType, Span)>,
    /// Elements of the vector; 1 for scalars.
    pub elements: u8,
    /// Place of the vector modifier, or of the opcode.
    pub vector_span: Span,
    /// The proxy that the opcode names; `ld` without `.const` says `Generic` and may mean `Constant`.
    pub proxy: Proxy,
}

/// An operation of `atom` or `red`, before min and max are told apart by type.
#[derive(Clone, Copy, Debug)]
pub struct Rmw {
    /// Unsigned flavour.
    pub op: AtomicOp,
    /// As PTX spells it.
    pub name: &'static str,
    /// Where.
    pub span: Span,
}

/// Operations of `atom` and `red` by name.
pub const OPERATIONS: &[(&str, AtomicOp)] = &[
    ("add", AtomicOp::Add),
    ("inc", AtomicOp::Inc),
    ("dec", AtomicOp::Dec),
    ("min", AtomicOp::Min),
    ("max", AtomicOp::Max),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
    ("exch", AtomicOp::Exchange),
    ("cas", AtomicOp::CompareAndSwap),
];

pub(super) const OPERATION: Slot = must_or(
    Key::Operation,
    &["add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas"],
    &Lack {
        code: "validate::missing-operation",
        what: "an operation",
        help: "for example `.add`",
        rule: "MM-24",
    },
);
pub(super) const SCOPE: Slot = may(Key::Scope, &["cta", "cluster", "gpu", "sys"]);
const SPACE: Slot = may(Key::Space, &["global", "shared", "shared::cta", "shared::cluster"]);
/// Types of elements; floating-point numbers are bits.
const TYPE: Slot = may(Key::Type, TYPES);
const TYPES: &[&str] =
    &["b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"];
/// Types of atomics; what an operation makes of floating-point numbers is not computed.
const NUMBER: Slot = may(
    Key::Type,
    &[
        "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16",
        "bf16", "f16x2", "bf16x2", "f32", "f64",
    ],
);
pub(super) const NO_FLUSH: Slot = may(Key::Plain, &["noftz"]);
/// Types of atomics through the surface proxy.
pub(super) const INTEGER: Slot = may(
    Key::Type,
    &["b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"],
);
const VECTOR: Slot = may(Key::Vector, &["v2", "v4", "v8"]);
/// Who keeps the line, and for how long.
const EVICTION: Slot = Slot {
    key: Key::Hint,
    words: &[
        "L1::evict_normal",
        "L1::evict_unchanged",
        "L1::evict_first",
        "L1::evict_last",
        "L1::no_allocate",
    ],
    need: Need::Hint,
};
const EVICTION_L2: Slot = Slot {
    key: Key::Hint,
    words: &["L2::evict_normal", "L2::evict_first", "L2::evict_last"],
    need: Need::Hint,
};
pub(super) const POLICY: Slot = Slot { key: Key::Policy, words: &["L2::cache_hint"], need: Need::Hint };
const PREFETCH: Slot = Slot { key: Key::Hint, words: &["L2::64B", "L2::128B", "L2::256B"], need: Need::Hint };
const HINT_FLOORS: &[(&str, Floor)] = &[
    ("relaxed", since(6, 0, 70)),
    ("acquire", since(6, 0, 70)),
    ("release", since(6, 0, 70)),
    ("acq_rel", since(6, 0, 70)),
    ("mmio", since(8, 2, 70)),
    ("v8", since(8, 8, 100)),
    ("L1::evict_normal", since(7, 4, 70)),
    ("L1::evict_unchanged", since(7, 4, 70)),
    ("L1::evict_first", since(7, 4, 70)),
    ("L1::evict_last", since(7, 4, 70)),
    ("L1::no_allocate", since(7, 4, 70)),
    ("L2::evict_normal", since(8, 8, 100)),
    ("L2::evict_first", since(8, 8, 100)),
    ("L2::evict_last", since(8, 8, 100)),
    ("L2::64B", since(7, 4, 75)),
    ("L2::128B", since(7, 4, 75)),
    ("L2::256B", since(7, 4, 80)),
    ("L2::cache_hint", since(7, 4, 80)),
    ("nc", since(3, 1, 32)),
];
const OTHER_SPACES: Slot = unsupported(&["param", "local", "proxy::", "unified"]);
const OTHER_ATOMICS: Slot = unsupported(&["param", "local", "v2", "v4", "v8", "async"]);

/// What stands on atomics alone, or on no access.
const fn sem_refusal(message: &'static str, help: &'static str) -> Refusal {
    Refusal { code: "validate::illegal-sem", message, label: "not a sem of it", help, rule: "MM-14" }
}
const NO_RELEASE: Slot = refused(
    &["release", "acq_rel", "sc"],
    &sem_refusal("a load cannot release: {}", "write `ld.acquire`, or put a `fence` before it"),
);
const NO_ACQUIRE: Slot = refused(
    &["acquire", "acq_rel", "sc"],
    &sem_refusal("a store cannot acquire: {}", "write `st.release`, or put a `fence` behind it"),
);
const NO_ATOM_SEM: Slot = refused(
    &["weak", "volatile", "mmio", "sc"],
    &sem_refusal("`atom` cannot be {}", "use `.relaxed`, `.acquire`, `.release` or `.acq_rel`"),
);
const NO_RED_ACQUIRE: Slot = refused(
    &["acquire", "acq_rel"],
    &sem_refusal(
        "`red` cannot be {}",
        "a reduction returns nothing and so never acquires; use `atom` and bind its result",
    ),
);
const NO_RED_SEM: Slot = refused(
    &["weak", "volatile", "mmio", "sc"],
    &sem_refusal("`red` cannot be {}", "use `.relaxed` or `.release`"),
);
const CONSTANT_WRITE: Slot = refused(
    &["const"],
    &Refusal {
        code: "validate::proxy-mismatch",
        message: "constant memory is only read",
        label: "constant",
        help: "write the global object that it is a view of",
        rule: "MM-15",
    },
);

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&ATOM, &FILL, &LOAD, &REDUCTION, &STORE];

pub(super) static LOAD: Family = Family {
    name: "ld",
    code: "validate::illegal-sem",
    help: "for example `ld.relaxed.gpu.global.u32 [x]`",
    rule: "MM-14",
    others: &[],
    forms: &[form(
        "ld",
        &[
            may(Key::Mmio, &["mmio"]),
            default(Key::Sem, &["weak", "relaxed", "acquire", "volatile"]),
            SCOPE,
            may(Key::Space, &["global", "shared", "shared::cta", "shared::cluster", "const"]),
            Slot { key: Key::Cache, words: &["ca", "cg", "cs", "lu", "cv"], need: Need::Hint },
            may(Key::NonCoherent, &["nc"]),
            EVICTION,
            EVICTION_L2,
            POLICY,
            PREFETCH,
            VECTOR,
            TYPE,
            NO_RELEASE,
            WRITE_OPERATORS,
            OTHER_SPACES,
        ],
        since(1, 0, 0),
        build_load,
    )
    .floors(HINT_FLOORS)
    .exclusive(&[Key::Sem, Key::Space])
    .check(|words| check_access(words, true))
    .operands("r = … [x]")
    .traits(Traits { host: true, ..Traits::QUIET })
    .rule("MM-14")],
};

/// Cache operators of the other direction.
const WRITE_OPERATORS: Slot = refused(
    &["wb", "wt"],
    &cache_operator("leave it out: weak `ld` takes `.ca`, `.cg`, `.cs`, `.lu`, `.cv`"),
);
const READ_OPERATORS: Slot =
    refused(&["ca", "lu", "cv"], &cache_operator("leave it out: weak `st` takes `.wb`, `.cg`, `.cs`, `.wt`"));
const fn cache_operator(help: &'static str) -> Refusal {
    Refusal {
        code: "validate::cache-operator",
        message: "the cache operator {} does not go this way",
        label: "cache operator",
        help,
        rule: "MM-14",
    }
}

pub(super) static STORE: Family = Family {
    name: "st",
    code: "validate::illegal-sem",
    help: "for example `st.release.gpu.global.u32 [x], v`",
    rule: "MM-14",
    others: &[],
    forms: &[form(
        "st",
        &[
            may(Key::Mmio, &["mmio"]),
            default(Key::Sem, &["weak", "relaxed", "release", "volatile"]),
            SCOPE,
            SPACE,
            Slot { key: Key::Cache, words: &["wb", "cg", "cs", "wt"], need: Need::Hint },
            EVICTION,
            EVICTION_L2,
            POLICY,
            VECTOR,
            TYPE,
            NO_ACQUIRE,
            READ_OPERATORS,
            CONSTANT_WRITE,
            OTHER_SPACES,
        ],
        since(1, 0, 0),
        build_store,
    )
    .floors(HINT_FLOORS)
    .exclusive(&[Key::Sem])
    .check(|words| check_access(words, false))
    .operands("[x], v")
    .traits(Traits { host: true, ..Traits::PLAIN })
    .rule("MM-14")],
};

pub(super) static FILL: Family = Family {
    name: "st.bulk",
    code: "validate::illegal-sem",
    help: "write `st.bulk.weak.shared::cta [a], 64, 0`",
    rule: "MM-8",
    others: &[],
    forms: &[form(
        "st.bulk",
        &[default(Key::Sem, &["weak"]), default(Key::Space, &["shared::cta"])],
        since(8, 6, 100),
        build_fill,
    )
    .operands("[a], bytes, 0")
    .rule("MM-8")],
};

pub(super) static ATOM: Family = Family {
    name: "atom",
    code: "validate::missing-operation",
    help: "for example `atom.relaxed.gpu.global.add.u32 [x], 1`",
    rule: "MM-24",
    others: &[],
    forms: &[form(
        "atom",
        &[
            default(Key::Sem, &["relaxed", "acquire", "release", "acq_rel"]),
            default(Key::Scope, &["gpu", "cta", "cluster", "sys"]),
            SPACE,
            OPERATION,
            NO_FLUSH,
            POLICY,
            NUMBER,
            NO_ATOM_SEM,
            CONSTANT_WRITE,
            OTHER_ATOMICS,
        ],
        since(1, 1, 0),
        build_atomic,
    )
    .floors(ATOMIC_FLOORS)
    .exclusive(&[Key::Sem])
    .check(check_atomic)
    .operands("r = … [x], v")
    .traits(Traits { host: true, ..Traits::QUIET })
    .rule("MM-24")],
};

pub(super) static REDUCTION: Family = Family {
    name: "red",
    code: "validate::missing-operation",
    help: "for example `red.relaxed.gpu.global.add.u32 [x], 1`",
    rule: "MM-24",
    others: &[],
    forms: &[form(
        "red",
        &[
            default(Key::Sem, &["relaxed", "release"]),
            default(Key::Scope, &["gpu", "cta", "cluster", "sys"]),
            SPACE,
            must_or(Key::Operation, &["add", "inc", "dec", "min", "max", "and", "or", "xor"], &NO_OPERATION),
            NO_FLUSH,
            POLICY,
            NUMBER,
            NO_RED_ACQUIRE,
            NO_RED_SEM,
            refused(
                &["exch", "cas"],
                &Refusal {
                    code: "validate::illegal-operation",
                    message: "`red` has no {}",
                    label: "not an operation of `red`",
                    help: "write `atom.{} _, …`",
                    rule: "MM-24",
                },
            ),
            CONSTANT_WRITE,
            OTHER_ATOMICS,
        ],
        since(1, 2, 0),
        build_reduction,
    )
    .floors(ATOMIC_FLOORS)
    .exclusive(&[Key::Sem])
    .check(check_atomic)
    .operands("[x], v")
    .traits(Traits { host: true, ..Traits::PLAIN })
    .rule("MM-24")],
};

const NO_OPERATION: Lack = Lack {
    code: "validate::missing-operation",
    what: "an operation",
    help: "for example `.add`",
    rule: "MM-24",
};
const ATOMIC_FLOORS: &[(&str, Floor)] = &[
    ("relaxed", since(6, 0, 70)),
    ("acquire", since(6, 0, 70)),
    ("release", since(6, 0, 70)),
    ("acq_rel", since(6, 0, 70)),
    ("cta", since(5, 0, 60)),
    ("gpu", since(5, 0, 60)),
    ("sys", since(5, 0, 60)),
    ("L2::cache_hint", since(7, 4, 80)),
    ("f32", since(2, 0, 20)),
    ("f64", since(5, 0, 60)),
    ("f16x2", since(6, 2, 60)),
    ("f16", since(6, 3, 70)),
    ("bf16", since(7, 8, 90)),
    ("bf16x2", since(7, 8, 90)),
];

fn error(
    code: &'static str,
    message: impl Into<String>,
    span: Span,
    label: &str,
    help: impl Into<String>,
    rule: &'static str,
) -> Result<(), Diagnostic> {
    Err(Diagnostic::new(code, message, span, label).with_help(help).with_rule(rule))
}

/// Which words of a load or store go together.
fn check_access(words: &Words<'_>, is_load: bool) -> Result<(), Diagnostic> {
    let mnemonic = words.form().name;
    check_mmio(words)?;
    check_scope(words)?;
    if let Some((word, span)) = words.written(Key::Cache)
        && words.sem() != Some(Sem::Weak)
    {
        let message = format!("`.{word}` cannot stand on this `{mnemonic}`");
        let help = format!("leave it out: a cache operator stands on a weak `{mnemonic}`");
        return error("validate::cache-operator", message, span, "cache operator", help, "MM-14");
    }
    if let (true, Some(("const", span))) = (is_load, words.written(Key::Space)) {
        let sem = access(words).sem;
        if sem != Sem::Weak {
            return Err(constant_is_weak(sem, span));
        }
    }
    if let Some((_, span)) = words.written(Key::NonCoherent) {
        check_non_coherent(words, span)?;
    }
    check_vector_type(words)?;
    check_hints(words)
}

/// `.mmio` is `.relaxed.sys`, on a scalar in global memory (MM-13).
fn check_mmio(words: &Words<'_>) -> Result<(), Diagnostic> {
    let Some((_, span)) = words.written(Key::Mmio) else { return Ok(()) };
    let help = format!("write `{}.mmio.relaxed.sys.global`", words.form().name);
    match words.written(Key::Sem) {
        Some(("relaxed", _)) => {}
        Some((sem @ ("acquire" | "release"), span)) => {
            let message = format!("`.mmio.{sem}` is not checked by this version");
            return Err(Diagnostic::new("unsupported::modifier", message, span, "only `.mmio.relaxed` is"));
        }
        Some((sem, span)) => {
            let message = format!("`.mmio` and `.{sem}` exclude each other");
            return error("validate::exclusive-modifiers", message, span, "the second one", help, "MM-13");
        }
        None => {
            return error("validate::mmio-sem", "`.mmio` needs `.relaxed`", span, "no sem", help, "MM-13");
        }
    }
    if words.scope() != Some(Scope::Sys) {
        let span = words.span(Key::Scope);
        return error(
            "validate::mmio-scope",
            "`.mmio` needs the scope `.sys`",
            span,
            "not `.sys`",
            help,
            "MM-13",
        );
    }
    if let Some((Space::Shared, _)) = words.space() {
        return Err(mmio_space(words.span(Key::Space)));
    }
    match words.written(Key::Vector) {
        Some((vector, span)) => {
            let message = format!("`.mmio` accesses one element, so `.{vector}` cannot stand here");
            let help = "write a scalar access for each element";
            error("validate::mmio-vector", message, span, "a vector", help, "MM-13")
        }
        None => Ok(()),
    }
}

/// Weak and volatile accesses have no scope, the others need one (MM-12, MM-14).
fn check_scope(words: &Words<'_>) -> Result<(), Diagnostic> {
    let mnemonic = words.form().name;
    let sem = words.sem().unwrap_or(Sem::Weak);
    match (sem, words.written(Key::Scope)) {
        (Sem::Weak | Sem::Volatile, None) => Ok(()),
        (Sem::Weak | Sem::Volatile, Some((scope, span))) => {
            let message = format!("a {sem} access has no scope, so `.{scope}` cannot stand here");
            let (help, rule) = if sem == Sem::Weak {
                (format!("write `{mnemonic}.relaxed.{scope}`, or leave the scope out"), "MM-14")
            } else {
                ("leave the scope out: `.volatile` is always `.sys`".to_owned(), "MM-12")
            };
            error("validate::unexpected-scope", message, span, "no scope here", help, rule)
        }
        (_, Some(_)) => Ok(()),
        (_, None) => {
            let message = format!("`{mnemonic}.{sem}` needs a scope");
            let help = format!(
                "write `{mnemonic}.{sem}.gpu` (or `.cta`, `.cluster`, `.sys`): the threads it synchronizes with"
            );
            error("validate::missing-scope", message, words.opcode().span, "no scope", help, "MM-14")
        }
    }
}

/// `.nc` reads global memory weakly, through the texture proxy (MM-2).
fn check_non_coherent(words: &Words<'_>, span: Span) -> Result<(), Diagnostic> {
    let message = match (words.sem(), words.space()) {
        (Some(Sem::Weak), _) if words.written(Key::Sem).is_some() => "`ld.nc` is weak, and does not say so",
        (Some(Sem::Weak), Some((Space::Global, _))) => return Ok(()),
        (Some(Sem::Weak), _) => "`ld.nc` reads `.global` memory, and says so",
        _ => "`ld.nc` is weak",
    };
    let help = "write `ld.global.nc`, for memory that nobody writes while the kernel runs";
    error("validate::non-coherent", message, span, "non-coherent", help, "MM-2")
}

/// Vectors of eight are of 8 or 32 bits.
fn check_vector_type(words: &Words<'_>) -> Result<(), Diagnostic> {
    let (Some(("v8", span)), Some(ty)) = (words.written(Key::Vector), words.ty()) else { return Ok(()) };
    if ty.width != 16 {
        return Ok(());
    }
    let message = format!("there is no vector of 8 elements of type `.{ty}`");
    error("validate::vector-size", message, span, "of 16 bits", "write `.v4.b32`, which is as long", "MM-8")
}

/// Where hints may stand.
fn check_hints(words: &Words<'_>) -> Result<(), Diagnostic> {
    let hints = words.hints();
    let Some(&(hint, span)) = hints.first() else { return Ok(()) };
    let is_prefetch = |hint: &str| matches!(hint, "L2::64B" | "L2::128B" | "L2::256B");
    let help = "leave it out: hints have no meaning to the memory model";
    let code = "validate::cache-hint";
    if let (true, Some((operator, _))) = (hint.starts_with("L1::"), words.written(Key::Cache)) {
        let message = format!("`.{hint}` cannot stand beside `.{operator}`");
        return error(code, message, span, "a cache hint", help, "MM-14");
    }
    if words.has("const") {
        let message = format!("`.{hint}` cannot stand on constant memory");
        return error(code, message, span, "a cache hint", help, "MM-14");
    }
    let sem = access(words).sem;
    if sem == Sem::Mmio || (sem == Sem::Volatile && hints.iter().any(|(hint, _)| !is_prefetch(hint))) {
        let message = format!("`.{hint}` cannot stand on a {sem} access");
        return error(code, message, span, "a cache hint", help, "MM-14");
    }
    if let Some((space @ (Space::Shared | Space::Param), _)) = words.space() {
        let message = format!("`.{hint}` steers caches, and {space} memory has none");
        return error(code, message, span, "a cache hint", help, "MM-14");
    }
    if let Some((hint, span)) = hints.iter().find(|(hint, _)| hint.starts_with("L2::evict")) {
        let is_wide = matches!(
            (words.get(Key::Vector), words.ty().map(|ty| ty.width)),
            (Some("v8"), Some(32) | None) | (Some("v4"), Some(64) | None)
        );
        if !is_wide {
            let message = format!("`.{hint}` stands on accesses of 256 bits only");
            let help = "leave it out, or write `.v8.b32` or `.v4.b64`";
            return error(code, message, *span, "a cache hint", help, "MM-14");
        }
    }
    Ok(())
}

fn check_atomic(words: &Words<'_>) -> Result<(), Diagnostic> {
    let ty = access(words).ty;
    if let (Some(rmw), Some((ty, span))) = (rmw(words), ty) {
        check_atomic_type(rmw, ty, span)?;
    }
    check_flush(words)?;
    match (words.written(Key::Policy), words.space()) {
        // The grammar of the ISA has it of some; no assembler takes it of any.
        (Some((hint, span)), _) if words.get(Key::Operation) == Some("cas") => {
            let message = format!("`.{hint}` cannot stand on `atom.cas`");
            error("validate::cache-hint", message, span, "a cache hint", "leave it out", "MM-14")
        }
        (Some((hint, span)), Some((Space::Shared, _))) => {
            let message = format!("`.{hint}` steers caches, and shared memory has none");
            error("validate::cache-hint", message, span, "a cache hint", "leave it out", "MM-14")
        }
        _ => Ok(()),
    }
}

/// `.noftz` stands on every `.add` of halves, and nowhere else.
pub(super) fn check_flush(words: &Words<'_>) -> Result<(), Diagnostic> {
    let ty = access(words).ty;
    let is_of_halves = words.get(Key::Operation) == Some("add") && ty.is_some_and(|(ty, _)| ty.is_half());
    let code = "validate::illegal-operation-type";
    let flush = words.all(Key::Plain).into_iter().find(|(word, _)| *word == "noftz");
    match (flush, ty) {
        (None, Some((ty, span))) if is_of_halves => {
            let message = format!("`.add.{ty}` needs `.noftz`");
            error(code, message, span, "of halves", format!("write `.add.noftz.{ty}`"), "MM-24")
        }
        (Some((_, span)), ty) if !is_of_halves => {
            let ty = ty.map_or_else(String::new, |(ty, _)| format!(".{ty}"));
            let message = format!("`.noftz` cannot stand on `.{}{ty}`", words.of(Key::Operation));
            let help =
                "leave it out: it is for `.add` of `.f16`, `.bf16`, `.f16x2` and `.bf16x2`, which have it";
            error(code, message, span, "not an `.add` of halves", help, "MM-24")
        }
        _ => Ok(()),
    }
}

/// The error for a write to constant memory.
pub fn constant_is_read_only(span: Span) -> Diagnostic {
    Diagnostic::new("validate::proxy-mismatch", "constant memory is only read", span, "constant")
        .with_help("write the global object that it is a view of")
        .with_rule("MM-15")
}

/// The error for a strong load of constant memory.
pub fn constant_is_weak(sem: Sem, span: Span) -> Diagnostic {
    let message = format!("a load of constant memory cannot be `.{sem}`");
    Diagnostic::new("validate::illegal-sem", message, span, "constant")
        .with_help("write `ld.const`, which is weak; strong loads read `.global` and `.shared`")
        .with_rule("MM-14")
}

/// The error for `.mmio` outside global memory.
pub fn mmio_space(span: Span) -> Diagnostic {
    let message = "`.mmio` accesses global memory only";
    Diagnostic::new("validate::mmio-space", message, span, "shared memory")
        .with_help("use `.volatile` or `.relaxed`")
        .with_rule("MM-13")
}

/// What the words say of an access.
pub(super) fn access(words: &Words<'_>) -> Access {
    let sem = match words.written(Key::Mmio) {
        Some(_) => Sem::Mmio,
        None => words.sem().unwrap_or(Sem::Weak),
    };
    let scope = match sem {
        Sem::Weak => Scope::Cta,
        Sem::Volatile => Scope::Sys,
        _ => words.scope().unwrap_or(Scope::Gpu),
    };
    let space_span = words.span(Key::Space);
    let (elements, vector_span) = match words.written(Key::Vector) {
        Some((word, span)) => (word.as_bytes()[1] - b'0', span),
        None => (1, words.opcode().span),
    };
    Access {
        sem,
        scope,
        space: words.space().map(|(space, _)| (space, space_span)),
        window: words.space().and_then(|(_, window)| window),
        ty: words.ty().map(|ty| (ty, words.span(Key::Type))),
        elements,
        vector_span,
        proxy: if words.has("const") { Proxy::Constant } else { Proxy::Generic },
    }
}

/// The operation that the words name.
pub(super) fn rmw(words: &Words<'_>) -> Option<Rmw> {
    let name = words.get(Key::Operation)?;
    let &(name, op) = OPERATIONS.iter().find(|(known, _)| *known == name)?;
    Some(Rmw { op, name, span: words.span(Key::Operation) })
}

/// Which types an operation of `atom` or `red` has, floating-point numbers among them.
pub(super) fn check_atomic_type(op: Rmw, ty: PtxType, span: Span) -> Result<(), Diagnostic> {
    match op.op {
        AtomicOp::Add if ty.kind == 'f' => Ok(()),
        AtomicOp::Add => check_operation_type(op, ty, span).map_err(|error| {
            error.with_help(
                "`.add` takes `.u32`, `.s32`, `.u64`, `.f32`, `.f64`, and with `.noftz` `.f16`, `.bf16`, `.f16x2` and `.bf16x2`",
            )
        }),
        _ => check_operation_type(op, ty, span),
    }
}

/// Which types of integers and bits an operation has.
pub fn check_operation_type(op: Rmw, ty: PtxType, span: Span) -> Result<(), Diagnostic> {
    use AtomicOp::{
        Add, And, CompareAndSwap, Dec, Exchange, Float, Inc, Max, Min, Or, SignedMax, SignedMin, Xor,
    };
    let (legal, allowed) = match op.op {
        Inc | Dec => (matches!((ty.kind, ty.width), ('u', 32)), "`.u32`"),
        And | Or | Xor => (matches!((ty.kind, ty.width), ('b', 32 | 64)), "`.b32` and `.b64`"),
        Add => (matches!((ty.kind, ty.width), ('u', 32 | 64) | ('s', 32)), "`.u32`, `.s32` and `.u64`"),
        Min | Max | SignedMin | SignedMax => {
            (matches!((ty.kind, ty.width), ('u' | 's', 32 | 64)), "`.u32`, `.s32`, `.u64` and `.s64`")
        }
        Float => (ty.kind == 'f', "floating-point types"),
        Exchange => (matches!((ty.kind, ty.width), ('b', 32 | 64 | 128)), "`.b32`, `.b64` and `.b128`"),
        CompareAndSwap => {
            (matches!((ty.kind, ty.width), ('b', 16 | 32 | 64 | 128)), "`.b16`, `.b32`, `.b64` and `.b128`")
        }
    };
    if legal {
        return Ok(());
    }
    let message = format!("`.{}` has no type `.{ty}`", op.name);
    Err(Diagnostic::new("validate::illegal-operation-type", message, span, "not a type of this operation")
        .with_help(format!("`.{}` takes {allowed}", op.name)))
}
