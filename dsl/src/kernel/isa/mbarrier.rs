//! `mbarrier` (§4.2, §4.3): words, counts, results, and which CTA the object is in (MB-2, MB-10, MB-12, MB-13).

use super::words::Words;
use super::{
    Build, Built, Family, Floor, Form, Key, Need, Refusal, Slot, Traits, default, form, may, refused, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::opcode::Window;
use crate::kernel::program::{
    Address, AddressBase, ElementKind, Expression, InstructionKind, MbarrierArrive, MbarrierOp,
    MbarrierPhase, MbarrierWait,
};
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::{Results, Site, operand_span};
use crate::kernel::resolve::{Body, Resolved};
use crate::span::Span;
use crate::vocabulary::{Scope, Sem};

/// The largest count of arrivals and the largest tx-count.
const MAX_COUNT: u128 = (1 << 20) - 1;

const SEM: &str = "validate::mbarrier-sem";
const SCOPE: Slot = default(Key::Scope, &["cta", "cluster"]);
const SPACE: Slot = may(Key::Space, &["shared", "shared::cta", "shared::cluster"]);
const TYPE: Slot = default(Key::Type, &["b64"]);
const FAR_SCOPE: Slot = refused(
    &["gpu", "sys"],
    &Refusal {
        code: "validate::mbarrier-scope",
        message: "an mbarrier synchronizes at most a cluster, not {}",
        label: "too wide",
        help: "use `.cta` or `.cluster`",
        rule: "MB-10",
    },
);
const NOT_SHARED: Slot = refused(
    &["global"],
    &Refusal {
        code: "validate::mbarrier-space",
        message: "an mbarrier lives in shared memory, not in {}",
        label: "not shared",
        help: "write `.shared::cta`, or leave the state space out",
        rule: "UB-M15",
    },
);
const OTHER_TYPE: Slot = refused(
    &["b8", "b16", "b32", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"],
    &Refusal {
        code: "validate::mbarrier-type",
        message: "an mbarrier operation has the type `.b64`, not {}",
        label: "not `.b64`",
        help: "write `.b64`, or leave the type out",
        rule: "",
    },
);
const NO_SPACE: Slot = refused(
    &["shared", "shared::cta", "shared::cluster"],
    &Refusal {
        code: "validate::mbarrier-space",
        message: "`mbarrier.pending_count` takes a state and touches no memory, so it has no {}",
        label: "no state space here",
        help: "write `mbarrier.pending_count.b64`",
        rule: "",
    },
);
const NO_SEM: Slot = refused(
    &["relaxed", "acquire", "release", "acq_rel", "sc", "weak", "volatile", "cta", "cluster", "gpu", "sys"],
    &Refusal {
        code: SEM,
        message: "this operation takes neither sem nor scope: {}",
        label: "not allowed here",
        help: "leave it out",
        rule: "MB-10",
    },
);
/// Words of other sems: of a wait, of an arrive, of the operations on the tx-count.
const NOT_OF_WAIT: Slot = refused(&["release", "acq_rel", "sc", "weak", "volatile"], &NO_WAIT_SEM);
const NO_WAIT_SEM: Refusal = no_sem("a wait cannot be {}", "use `.acquire` or `.relaxed`");
const NOT_OF_ARRIVE: Slot = refused(&["acquire", "acq_rel", "sc", "weak", "volatile"], &NO_ARRIVE_SEM);
const NO_ARRIVE_SEM: Refusal = no_sem("an arrive cannot be {}", "use `.release` or `.relaxed`");
const NOT_OF_TX: Slot = refused(&["acquire", "release", "acq_rel", "sc", "weak", "volatile"], &NO_TX_SEM);
const NO_TX_SEM: Refusal = no_sem("an operation on the tx-count cannot be {}", "use `.relaxed`");

const fn no_sem(message: &'static str, help: &'static str) -> Refusal {
    Refusal { code: SEM, message, label: "not a sem of it", help, rule: "MB-10" }
}

/// An operation on the object itself.
const fn plain(name: &'static str, build: Build) -> Form {
    form(name, &[SPACE, TYPE, NOT_SHARED, OTHER_TYPE, NO_SEM, LAYOUT], since(7, 0, 80), build)
        .check(check_peer)
        .traits(Traits::ACTS)
        .rule("MB-2")
}

const LAYOUT: Slot = super::unsupported(&["layout"]);

/// An operation on the tx-count.
const fn tx(name: &'static str, build: Build) -> Form {
    const SLOTS: &[Slot] =
        &[default(Key::Sem, &["relaxed"]), SCOPE, SPACE, TYPE, NOT_OF_TX, FAR_SCOPE, NOT_SHARED, OTHER_TYPE];
    form(name, SLOTS, since(8, 0, 90), build)
        .check(check_words)
        .operands("[bar], bytes")
        .traits(Traits::ACTS)
        .rule("MB-7")
}

const YOUNG: &[(&str, Floor)] = &[
    ("relaxed", since(8, 6, 90)),
    ("expect_tx", since(8, 0, 90)),
    ("parity", since(7, 1, 80)),
    ("shared::cluster", since(8, 0, 90)),
];

/// An arrive, which may drop the thread from later phases.
const fn arrive(name: &'static str, build: Build) -> Form {
    const SLOTS: &[Slot] = &[
        may(Key::Plain, &["expect_tx"]),
        may(Key::Operation, &["noComplete"]),
        default(Key::Sem, &["release", "relaxed"]),
        SCOPE,
        SPACE,
        TYPE,
        NOT_OF_ARRIVE,
        FAR_SCOPE,
        NOT_SHARED,
        OTHER_TYPE,
    ];
    form(name, SLOTS, since(7, 0, 80), build)
        .floors(YOUNG)
        .check(check_words)
        .operands("state = … [bar], n")
        .traits(Traits::ACTS)
        .rule("MB-13")
}

/// A wait: nothing but a look at the phase, which an `await` repeats.
const fn wait(name: &'static str, floor: Floor, build: Build) -> Form {
    const SLOTS: &[Slot] = &[
        may(Key::Operation, &["parity"]),
        default(Key::Sem, &["acquire", "relaxed"]),
        SCOPE,
        SPACE,
        TYPE,
        NOT_OF_WAIT,
        FAR_SCOPE,
        NOT_SHARED,
        OTHER_TYPE,
    ];
    form(name, SLOTS, floor, build)
        .floors(YOUNG)
        .check(check_words)
        .operands("done = … [bar], phase")
        .traits(Traits::QUIET)
        .rule("MB-6")
}

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&MBARRIER];

pub(super) static MBARRIER: Family = Family {
    name: "mbarrier",
    code: "validate::mbarrier-form",
    help: "behind `mbarrier` stands one of `.init`, `.inval`, `.expect_tx`, `.complete_tx`, `.arrive`, `.arrive_drop`, \
           `.test_wait`, `.try_wait`, `.pending_count`",
    rule: "MB-2",
    others: &[(
        "mbarrier.check_layout",
        Need::Refused(&Refusal {
            code: "unsupported::instruction",
            message: "`mbarrier.check_layout` is not checked by this version",
            label: "known to PTX, not checked here",
            help: "leave it out of the skeleton",
            rule: "",
        }),
    )],
    forms: &[
        plain("mbarrier.init", build_init).operands("[bar], n"),
        plain("mbarrier.inval", build_inval).operands("[bar]"),
        tx("mbarrier.expect_tx", |body, site, words| build_tx(body, site, words, true)),
        tx("mbarrier.complete_tx", |body, site, words| build_tx(body, site, words, false)),
        arrive("mbarrier.arrive", |body, site, words| build_arrive(body, site, words, false)),
        arrive("mbarrier.arrive_drop", |body, site, words| build_arrive(body, site, words, true)),
        wait("mbarrier.test_wait", since(7, 0, 80), |body, site, words| build_wait(body, site, words, false))
            .result(&[("", 1)]),
        wait("mbarrier.try_wait", since(7, 8, 90), |body, site, words| build_wait(body, site, words, true))
            .result(&[("", 1)]),
        form(
            "mbarrier.pending_count",
            &[TYPE, NO_SPACE, NOT_SHARED, OTHER_TYPE, NO_SEM],
            since(7, 0, 80),
            build_pending,
        )
        .result(&[("", 32)])
        .operands("n = … state")
        .traits(Traits { quiet: true, ..Traits::ACTS })
        .rule("MB-15"),
    ],
};

/// Sem and scope come together or not at all (MB-10); what else excludes each other.
fn check_words(words: &Words<'_>) -> Result<(), Diagnostic> {
    let name = words.form().name;
    let default =
        words.form().slots.iter().find(|slot| slot.key == Key::Sem).map_or("", |slot| slot.words[0]);
    let both = format!("leave both out for `.{default}.cta`");
    let error = |message: String, span, label: &str, help: String| {
        let error = Diagnostic::new("validate::mbarrier-sem-scope", message, span, label);
        Err(error.with_help(help).with_rule("MB-10"))
    };
    let (sem, scope) = (words.written(Key::Sem), words.written(Key::Scope));
    match (sem, scope) {
        (Some((sem, span)), None) => {
            let help = format!("write `.{sem}.cta` or `.{sem}.cluster`, or {both}");
            return error(format!("`.{sem}` on `{name}` needs a scope"), span, "no scope", help);
        }
        (None, Some((scope, span))) => {
            let help = format!("write `.{default}.{scope}`, or {both}");
            return error(format!("`.{scope}` on `{name}` needs a sem"), span, "no sem", help);
        }
        (Some((sem, span)), Some((scope, _))) => {
            let feature = format!("{name}.{sem}.{scope}");
            words.target.check_floor(
                &feature,
                since(8, 0, if scope == "cluster" { 90 } else { 80 }),
                span,
            )?;
        }
        (None, None) => {}
    }
    let no_complete = words.written(Key::Operation).filter(|(word, _)| *word == "noComplete");
    if let (Some((_, span)), Some((_, tx))) = (no_complete, words.written(Key::Plain)) {
        let message = "`.expect_tx` and `.noComplete` exclude each other";
        return Err(Diagnostic::new("validate::exclusive-modifiers", message, span, "the second one")
            .with_label(tx, "the first one")
            .with_help("keep one of them")
            .with_rule("MB-13"));
    }
    if no_complete.is_some() && (words.sem(), words.scope()) != (Some(Sem::Release), Some(Scope::Cta)) {
        let message = "an arrive with `.noComplete` is always `.release.cta`";
        return Err(Diagnostic::new(SEM, message, words.span(Key::Sem), "not `.release.cta`")
            .with_help("leave sem and scope out")
            .with_rule("MB-10"));
    }
    check_peer(words)
}

/// Some operations work on the own CTA's object only.
fn check_peer(words: &Words<'_>) -> Result<(), Diagnostic> {
    match (words.written(Key::Space), local_rule(words)) {
        (Some(("shared::cluster", span)), Some(rule)) => Err(peer_object(words, span, rule)),
        _ => Ok(()),
    }
}

/// Why the object must be in the own CTA, as a rule; `None` where it may be in a peer.
fn local_rule(words: &Words<'_>) -> Option<&'static str> {
    match words.form().name {
        "mbarrier.test_wait" | "mbarrier.try_wait" => Some("UB-M13"),
        "mbarrier.init" | "mbarrier.inval" => Some("MB-2"),
        _ if words.has("noComplete") => Some("MB-2"),
        _ => None,
    }
}

/// The error for an operation on a peer's object that only the own CTA's allows.
fn peer_object(words: &Words<'_>, span: Span, rule: &'static str) -> Diagnostic {
    let suffix = if words.has("noComplete") { ".noComplete" } else { "" };
    let message = format!("`{}{suffix}` works on an mbarrier of the own CTA only", words.form().name);
    Diagnostic::new("validate::mbarrier-peer", message, span, "a peer CTA's")
        .with_help(match rule {
            "UB-M13" => "wait on an mbarrier of the own CTA, and let the peer arrive on it with `[mapa(…)]`",
            _ => "let a thread of the CTA that owns the mbarrier do it",
        })
        .with_rule(rule)
}

fn build_init(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 2, 2, "an mbarrier and the number of arrivals of a phase")?;
    let address = body.mbarrier_operand(site, &site.operands[0], words)?;
    let count = body.value_operand(site, &site.operands[1], 32)?;
    body.check_count(&count, "UB-M5", "an mbarrier expects 1 to 1048575 arrivals")?;
    Ok((InstructionKind::Mbarrier(MbarrierOp::Init { address, count }), Vec::new()))
}

fn build_inval(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 1, 1, "an mbarrier")?;
    let address = body.mbarrier_operand(site, &site.operands[0], words)?;
    Ok((InstructionKind::Mbarrier(MbarrierOp::Inval { address }), Vec::new()))
}

fn build_tx(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>, expects: bool) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 2, 2, "an mbarrier and a number of bytes")?;
    let address = body.mbarrier_operand(site, &site.operands[0], words)?;
    let tx = body.tx_operand(site, &site.operands[1])?;
    let scope = words.scope().unwrap_or(Scope::Cta);
    let op = if expects {
        MbarrierOp::ExpectTx { address, tx, scope }
    } else {
        MbarrierOp::CompleteTx { address, tx, scope }
    };
    Ok((InstructionKind::Mbarrier(op), Vec::new()))
}

fn build_pending(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_operands(site, 1, 1, "a state")?;
    let state = body.state_operand(site, &site.operands[0])?;
    let destination = body.one_result(site, false, 32)?;
    let op = MbarrierOp::PendingCount { destination, state };
    Ok((InstructionKind::Mbarrier(op), vec![destination]))
}

fn build_arrive(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>, drop: bool) -> Resolved<Built> {
    let (expects_tx, no_complete) = (words.has("expect_tx"), words.has("noComplete"));
    let (is_sink, operands) = Body::without_sink(site);
    if is_sink && let Some(error) = body.target().check("the sink `_`", (7, 1), 80, site.span) {
        return Err(body.report(error));
    }
    let (min, max, form) = if expects_tx {
        (2, 2, "an mbarrier and a number of bytes (the count is then 1)")
    } else if no_complete {
        (2, 2, "an mbarrier and a count")
    } else {
        (1, 2, "an mbarrier and maybe a count")
    };
    if !(min..=max).contains(&operands.len()) {
        return Err(body.operand_count(site, form, operands.len()));
    }
    let address = body.mbarrier_operand(site, &operands[0], words)?;
    let mut count = Body::constant(site.opcode.span, 32, 1);
    let mut expect_tx = None;
    match operands.get(1) {
        Some(operand) if expects_tx => expect_tx = Some(body.tx_operand(site, operand)?),
        Some(operand) => {
            count = body.value_operand(site, operand, 32)?;
            body.check_count(&count, "UB-M6", "an arrive counts for 1 to 1048575 arrivals")?;
            let feature = "a count without `.noComplete`";
            if !no_complete && let Some(error) = body.target().check(feature, (7, 8), 90, count.span) {
                return Err(body.report(error.with_rule("MB-13")));
            }
        }
        None => {}
    }
    let is_wanted = match site.results {
        Results::One(name) => name.is_some(),
        Results::Nothing | Results::Vector(_) => false,
    };
    if is_wanted && address.rank.is_some() {
        let message = format!("`{}` on a peer's mbarrier gives no state", site.opcode.text);
        let error =
            Diagnostic::new("validate::mbarrier-remote-state", message, site.span, "a state is bound")
                .with_label(address.span, "in a peer CTA");
        let help = format!("write the sink: `{} _, …;`", site.opcode.text);
        return Err(body.report(error.with_help(help).with_rule("UB-M14")));
    }
    if is_wanted {
        body.note_local(&address, "UB-M14", "its state is bound here");
    }
    let destination = body.one_result(site, is_sink, 64)?;
    let arrive = MbarrierArrive {
        destination,
        address,
        count,
        expect_tx,
        no_complete,
        drop,
        sem: words.sem().unwrap_or(Sem::Release),
        scope: words.scope().unwrap_or(Scope::Cta),
    };
    Ok((InstructionKind::Mbarrier(MbarrierOp::Arrive(arrive)), vec![destination]))
}

fn build_wait(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>, is_try: bool) -> Resolved<Built> {
    let operands = site.operands;
    let is_parity = words.has("parity");
    let phase = if is_parity { "parity" } else { "state" };
    let hint = if is_try { ", and maybe a time hint" } else { "" };
    if !(2..=2 + usize::from(is_try)).contains(&operands.len()) {
        let form = format!("an mbarrier and a {phase}{hint}");
        return Err(body.operand_count(site, &form, operands.len()));
    }
    let address = body.mbarrier_operand(site, &operands[0], words)?;
    let phase = if is_parity {
        let parity = body.value_operand(site, &operands[1], 32)?;
        if let Some(value) = constant_value(&parity)
            && value > 1
        {
            let message = format!("{value} is not a parity");
            let error = Diagnostic::new("validate::mbarrier-parity", message, parity.span, "neither 0 nor 1");
            return Err(body.report(
                error.with_help("a phase has parity 0 or 1: write `(k / STAGES) & 1`").with_rule("MB-6"),
            ));
        }
        MbarrierPhase::Parity(parity)
    } else {
        MbarrierPhase::State(body.state_operand(site, &operands[1])?)
    };
    if let Some(hint) = operands.get(2) {
        // It bounds how long the thread sleeps, which no one can tell from outside.
        body.value_operand(site, hint, 32)?;
    }
    if matches!(site.results, Results::Nothing) {
        let message = format!("the result of `{}` is not looked at", site.opcode.text);
        let error = Diagnostic::new("validate::unbound-result", message, site.span, "waits for nothing");
        return Err(body.report(
            error
                .with_help(format!("write `await {} …;` to wait until it is true", site.opcode.text))
                .with_rule("MB-6"),
        ));
    }
    let destination = body.one_result(site, false, 1)?;
    let (sem, scope) = (words.sem().unwrap_or(Sem::Acquire), words.scope().unwrap_or(Scope::Cta));
    let wait = MbarrierWait { destination, address, phase, is_try, sem, scope };
    Ok((InstructionKind::Mbarrier(MbarrierOp::Wait(wait)), vec![destination]))
}

impl Body<'_> {
    /// A state is 64 bits; anything else is most likely a parity whose `.parity` was forgotten.
    fn state_operand(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<Expression> {
        let Operand::Expr(expr) = operand else {
            return Err(self.wrong_operand(site, operand_span(operand, site.span), "a state"));
        };
        let state = self.resolve_expression(expr, Some(64))?;
        if state.width == 64 && constant_value(&state).is_none() {
            return Ok(state);
        }
        let message = format!("`{}` takes a state that an arrive returned", site.opcode.text);
        let label = if state.width == 64 { "a constant".to_owned() } else { format!("{} bits", state.width) };
        let error = Diagnostic::new("validate::mbarrier-state", message, state.span, label);
        let name = site.opcode.text.replacen("_wait", "_wait.parity", 1);
        Err(self.report(if name == site.opcode.text {
            error.with_help("write `let state = mbarrier.arrive.noComplete.shared::cta.b64 [bar], 1;`")
        } else {
            error.with_help(format!("write `{name}` to wait for a parity"))
        }))
    }

    fn tx_operand(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<Expression> {
        let tx = self.value_operand(site, operand, 32)?;
        match constant_value(&tx) {
            Some(value) if value > MAX_COUNT => {
                let message = format!("a tx-count of {value} does not fit an mbarrier");
                let error = Diagnostic::new("validate::mbarrier-tx", message, tx.span, "out of range");
                Err(self.report(error.with_help("the tx-count is at most 1048575").with_rule("UB-M7")))
            }
            _ => Ok(tx),
        }
    }

    fn check_count(&mut self, count: &Expression, rule: &'static str, help: &str) -> Resolved<()> {
        match constant_value(count) {
            Some(value) if value == 0 || value > MAX_COUNT => {
                let message = format!("{value} is not a number of arrivals");
                let error = Diagnostic::new("validate::mbarrier-count", message, count.span, "out of range");
                Err(self.report(error.with_help(help).with_rule(rule)))
            }
            _ => Ok(()),
        }
    }

    /// The object of an mbarrier operation, whose state space goes into the full spelling.
    fn mbarrier_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        words: &mut Words<'_>,
    ) -> Resolved<Address> {
        let Operand::Memory(memory) = operand else {
            let span = operand_span(operand, site.span);
            return Err(self.wrong_operand(site, span, "an mbarrier in brackets, `[bar]`,"));
        };
        let (address, _) = self.resolve_address(memory)?;
        if self.element_of(address.base) != ElementKind::Mbarrier {
            let name = &memory.name.text;
            let message = format!("`{}` needs an mbarrier; `{name}` holds data", site.opcode.text);
            let error = Diagnostic::new("validate::not-mbarrier", message, address.span, "not an mbarrier");
            return Err(self.report(
                error
                    .with_help(format!(
                        "declare it as one: `shared {name}: mbarrier;`, or show its bytes as one: `view … : mbarrier of {name};`"
                    ))
                    .with_rule("UB-M15"),
            ));
        }
        if let Some(rule) = local_rule(words) {
            if address.rank.is_some() {
                return Err(self.report(peer_object(words, address.span, rule)));
            }
            self.note_local(&address, rule, "works on the own CTA's only");
        }
        let written = words
            .written(Key::Space)
            .zip(words.space())
            .and_then(|((_, span), (_, window))| Some((window?, span)));
        self.check_window(&address, written)?;
        let window = match (address.base, &address.rank, written) {
            (_, Some(_), _) => Some(Window::Cluster),
            (_, None, Some((window, _))) => Some(window),
            (AddressBase::Object(_), None, None) => Some(Window::Cta),
            (AddressBase::Reference(_) | AddressBase::Flat { .. }, None, None) => None,
        };
        if let Some(window) = window {
            words.set(Key::Space, if window == Window::Cta { "shared::cta" } else { "shared::cluster" });
        }
        Ok(address)
    }
}
