//! `mbarrier` (§4.3): which modifiers each of its operations takes.

use super::{
    Diagnostic, Modifier, Opcode, Operation, PtxType, Scope, Sem, Span, Target, Window, floor, parse_space,
    set_once, unknown_modifier, unsupported, unsupported_modifier,
};
use crate::vocabulary::Space;

/// What an `mbarrier` opcode says.
#[derive(Clone, Copy, Debug)]
pub struct MbarrierOpcode {
    /// Which operation.
    pub verb: MbarrierVerb,
    /// Its sem, the default included; meaningless for operations that have none.
    pub sem: Sem,
    /// Its scope, likewise.
    pub scope: Scope,
    /// `.shared`, `.shared::cta` or `.shared::cluster`, if written.
    pub window: Option<(Window, Span)>,
    /// `.expect_tx` on an arrive.
    pub expect_tx: bool,
    /// `.noComplete`
    pub no_complete: bool,
    /// `.parity`
    pub parity: bool,
}

/// Operations of `mbarrier`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MbarrierVerb {
    Init,
    Inval,
    ExpectTx,
    CompleteTx,
    Arrive,
    ArriveDrop,
    TestWait,
    TryWait,
    PendingCount,
}

impl MbarrierVerb {
    const ALL: [Self; 9] = [
        Self::Init,
        Self::Inval,
        Self::ExpectTx,
        Self::CompleteTx,
        Self::Arrive,
        Self::ArriveDrop,
        Self::TestWait,
        Self::TryWait,
        Self::PendingCount,
    ];

    /// As PTX spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Inval => "inval",
            Self::ExpectTx => "expect_tx",
            Self::CompleteTx => "complete_tx",
            Self::Arrive => "arrive",
            Self::ArriveDrop => "arrive_drop",
            Self::TestWait => "test_wait",
            Self::TryWait => "try_wait",
            Self::PendingCount => "pending_count",
        }
    }
    /// Whether it is an arrive.
    pub fn is_arrive(self) -> bool {
        matches!(self, Self::Arrive | Self::ArriveDrop)
    }
    /// Whether it is a wait.
    pub fn is_wait(self) -> bool {
        matches!(self, Self::TestWait | Self::TryWait)
    }
    /// Its sems, the default first; none if it takes neither sem nor scope.
    fn sems(self) -> &'static [(&'static str, Sem)] {
        match self {
            Self::Init | Self::Inval | Self::PendingCount => &[],
            Self::ExpectTx | Self::CompleteTx => &[("relaxed", Sem::Relaxed)],
            Self::Arrive | Self::ArriveDrop => &[("release", Sem::Release), ("relaxed", Sem::Relaxed)],
            Self::TestWait | Self::TryWait => &[("acquire", Sem::Acquire), ("relaxed", Sem::Relaxed)],
        }
    }
}

impl MbarrierOpcode {
    /// The full spelling, for an object in `window` (unknown for a reference).
    pub fn text(&self, window: Option<Window>) -> String {
        let mut text = format!("mbarrier.{}", self.verb.name());
        for (is_there, word) in
            [(self.expect_tx, ".expect_tx"), (self.no_complete, ".noComplete"), (self.parity, ".parity")]
        {
            if is_there {
                text += word;
            }
        }
        if !self.verb.sems().is_empty() {
            text += &format!(".{}.{}", self.sem, self.scope);
        }
        text += match window {
            Some(Window::Cta) => ".shared::cta",
            Some(Window::Cluster) => ".shared::cluster",
            None => "",
        };
        text + ".b64"
    }
    /// Why the object must be in the own CTA, as a rule; `None` where it may be in a peer.
    pub fn local_rule(&self) -> Option<&'static str> {
        match self.verb {
            MbarrierVerb::TestWait | MbarrierVerb::TryWait => Some("UB-M13"),
            MbarrierVerb::Init | MbarrierVerb::Inval => Some("MB-2"),
            _ if self.no_complete => Some("MB-2"),
            _ => None,
        }
    }
}

/// The modifiers behind the verb by kind.
#[derive(Default)]
struct Parts<'a> {
    sem: Option<(Modifier<'a>, Span)>,
    scope: Option<(Scope, Span)>,
    window: Option<(Window, Span)>,
    ty: Option<((), Span)>,
    expect_tx: Option<((), Span)>,
    no_complete: Option<((), Span)>,
    parity: Option<((), Span)>,
}

pub(super) fn check(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let Some((verb_modifier, rest)) = opcode.modifiers.split_first() else { return Err(malformed(opcode)) };
    if verb_modifier.text == "check_layout" {
        return Err(unsupported(opcode));
    }
    let Some(verb) = MbarrierVerb::ALL.into_iter().find(|verb| verb.name() == verb_modifier.text) else {
        return Err(malformed(opcode));
    };
    let parts = split(opcode, verb, rest)?;
    let (sem, scope) = check_sem(opcode, verb, &parts, target)?;
    let found = MbarrierOpcode {
        verb,
        sem,
        scope,
        window: parts.window,
        expect_tx: parts.expect_tx.is_some(),
        no_complete: parts.no_complete.is_some(),
        parity: parts.parity.is_some(),
    };
    check_combination(opcode, &found, &parts)?;
    check_floors(opcode, &found, &parts, target)?;
    Ok(Operation::Mbarrier(found))
}

fn malformed(opcode: &Opcode<'_>) -> Diagnostic {
    let names: Vec<&str> = MbarrierVerb::ALL.iter().map(|verb| verb.name()).collect();
    let message = format!("`{}` is not a form of `mbarrier`", opcode.text);
    Diagnostic::new("validate::mbarrier-form", message, opcode.span, "which operation?")
        .with_help(format!("behind `mbarrier` stands one of `.{}`", names.join("`, `.")))
        .with_rule("MB-2")
}

fn split<'a>(
    opcode: &Opcode<'a>,
    verb: MbarrierVerb,
    modifiers: &[Modifier<'a>],
) -> Result<Parts<'a>, Diagnostic> {
    let mut parts = Parts::default();
    for &modifier in modifiers {
        let text = modifier.text;
        if let Some(scope) = Scope::from_name(text) {
            set_once(&mut parts.scope, scope, modifier)?;
        } else if let Some((space, window)) = parse_space(text) {
            let Some(window) = window.filter(|_| space == Space::Shared) else {
                let message = "an mbarrier lives in shared memory";
                return Err(Diagnostic::new(
                    "validate::mbarrier-space",
                    message,
                    modifier.span,
                    "not shared",
                )
                .with_help("write `.shared::cta`, or leave the state space out")
                .with_rule("UB-M15"));
            };
            set_once(&mut parts.window, window, modifier)?;
        } else if matches!(text, "relaxed" | "acquire" | "release" | "acq_rel" | "sc" | "weak" | "volatile") {
            set_once(&mut parts.sem, modifier, modifier)?;
        } else if text == "b64" {
            set_once(&mut parts.ty, (), modifier)?;
        } else if PtxType::parse(text).is_some() {
            let message = format!("an mbarrier operation has the type `.b64`, not `.{text}`");
            return Err(Diagnostic::new("validate::mbarrier-type", message, modifier.span, "not `.b64`")
                .with_help("write `.b64`, or leave the type out"));
        } else if text == "parity" && verb.is_wait() {
            set_once(&mut parts.parity, (), modifier)?;
        } else if text == "expect_tx" && verb.is_arrive() {
            set_once(&mut parts.expect_tx, (), modifier)?;
        } else if text == "noComplete" && verb.is_arrive() {
            set_once(&mut parts.no_complete, (), modifier)?;
        } else if ["multicast", "phase_type", "report_mechanism", "layout"]
            .iter()
            .any(|word| text.starts_with(word))
        {
            return Err(unsupported_modifier(opcode, modifier));
        } else {
            let known = [
                "relaxed",
                "acquire",
                "release",
                "cta",
                "cluster",
                "shared",
                "b64",
                "parity",
                "expect_tx",
                "noComplete",
            ];
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    }
    Ok(parts)
}

/// Sem and scope come together or not at all (MB-10).
fn check_sem(
    opcode: &Opcode<'_>,
    verb: MbarrierVerb,
    parts: &Parts<'_>,
    target: Target,
) -> Result<(Sem, Scope), Diagnostic> {
    let error = |code, message: String, span, label: &str, help: String| {
        Err(Diagnostic::new(code, message, span, label).with_help(help).with_rule("MB-10"))
    };
    let name = format!("mbarrier.{}", verb.name());
    let sems = verb.sems();
    let written = parts.sem.map(|(modifier, _)| modifier);
    let Some(&(default_name, default)) = sems.first() else {
        return match written.map(|modifier| modifier.span).or(parts.scope.map(|(_, span)| span)) {
            Some(span) => {
                let message = format!("`{name}` takes neither sem nor scope");
                error("validate::mbarrier-sem", message, span, "not allowed here", "leave it out".to_owned())
            }
            None => Ok((Sem::Relaxed, Scope::Cta)),
        };
    };
    let sem = match written {
        None => default,
        Some(modifier) => match sems.iter().find(|(word, _)| *word == modifier.text) {
            Some(&(_, sem)) => sem,
            None => {
                let allowed: Vec<&str> = sems.iter().map(|(word, _)| *word).collect();
                let message = format!("`{name}` cannot be `.{}`", modifier.text);
                let help = format!("use `.{}`", allowed.join("` or `."));
                return error("validate::mbarrier-sem", message, modifier.span, "not a sem of it", help);
            }
        },
    };
    let scope = match (written, parts.scope) {
        (None, None) => return Ok((default, Scope::Cta)),
        (Some(_), Some((scope @ (Scope::Cta | Scope::Cluster), _))) => scope,
        (_, Some((scope @ (Scope::Gpu | Scope::Sys), span))) => {
            let message = format!("an mbarrier synchronizes at most a cluster, not `.{scope}`");
            let help = "use `.cta` or `.cluster`".to_owned();
            return error("validate::mbarrier-scope", message, span, "too wide", help);
        }
        (Some(modifier), None) => {
            let message = format!("`.{}` on `{name}` needs a scope", modifier.text);
            let help = format!(
                "write `.{0}.cta` or `.{0}.cluster`, or leave both out for `.{default_name}.cta`",
                modifier.text
            );
            return error("validate::mbarrier-sem-scope", message, modifier.span, "no scope", help);
        }
        (None, Some((scope, span))) => {
            let message = format!("`.{scope}` on `{name}` needs a sem");
            let help =
                format!("write `.{default_name}.{scope}`, or leave both out for `.{default_name}.cta`");
            return error("validate::mbarrier-sem-scope", message, span, "no sem", help);
        }
    };
    let span = written.map_or(opcode.span, |modifier| modifier.span);
    floor(
        target,
        &format!("{name}.{sem}.{scope}"),
        (8, 0),
        if scope == Scope::Cluster { 90 } else { 80 },
        span,
    )?;
    if sem == Sem::Relaxed && (verb.is_arrive() || verb.is_wait()) {
        floor(target, &format!("{name}.relaxed"), (8, 6), 90, span)?;
    }
    Ok((sem, scope))
}

/// Modifiers that exclude each other.
fn check_combination(
    opcode: &Opcode<'_>,
    found: &MbarrierOpcode,
    parts: &Parts<'_>,
) -> Result<(), Diagnostic> {
    if let (Some(((), tx)), Some(((), no_complete))) = (parts.expect_tx, parts.no_complete) {
        let message = "`.expect_tx` and `.noComplete` exclude each other";
        return Err(Diagnostic::new("validate::exclusive-modifiers", message, no_complete, "the second one")
            .with_label(tx, "the first one")
            .with_help("keep one of them")
            .with_rule("MB-13"));
    }
    if found.no_complete && (found.sem, found.scope) != (Sem::Release, Scope::Cta) {
        let span = parts.sem.map_or(opcode.span, |(_, span)| span);
        let message = "an arrive with `.noComplete` is always `.release.cta`";
        return Err(Diagnostic::new("validate::mbarrier-sem", message, span, "not `.release.cta`")
            .with_help("leave sem and scope out")
            .with_rule("MB-10"));
    }
    if let (Some((Window::Cluster, span)), Some(rule)) = (parts.window, found.local_rule()) {
        return Err(peer_object(&local_name(found), span, rule));
    }
    match parts.window {
        Some((_, span)) if found.verb == MbarrierVerb::PendingCount => {
            let message = "`mbarrier.pending_count` takes a state and touches no memory";
            Err(Diagnostic::new("validate::mbarrier-space", message, span, "no state space here")
                .with_help("write `mbarrier.pending_count.b64`"))
        }
        _ => Ok(()),
    }
}

/// The operation as messages name it.
pub fn local_name(found: &MbarrierOpcode) -> String {
    let suffix = if found.no_complete { ".noComplete" } else { "" };
    format!("mbarrier.{}{suffix}", found.verb.name())
}

/// The error for an operation on a peer's object that only the own CTA's allows.
pub fn peer_object(name: &str, span: Span, rule: &'static str) -> Diagnostic {
    let message = format!("`{name}` works on an mbarrier of the own CTA only");
    Diagnostic::new("validate::mbarrier-peer", message, span, "a peer CTA's")
        .with_help(match rule {
            "UB-M13" => "wait on an mbarrier of the own CTA, and let the peer arrive on it with `[mapa(…)]`",
            _ => "let a thread of the CTA that owns the mbarrier do it",
        })
        .with_rule(rule)
}

fn check_floors(
    opcode: &Opcode<'_>,
    found: &MbarrierOpcode,
    parts: &Parts<'_>,
    target: Target,
) -> Result<(), Diagnostic> {
    let name = format!("mbarrier.{}", found.verb.name());
    let span = opcode.span;
    match found.verb {
        MbarrierVerb::TryWait => floor(target, &name, (7, 8), 90, span)?,
        MbarrierVerb::ExpectTx | MbarrierVerb::CompleteTx => floor(target, &name, (8, 0), 90, span)?,
        _ => floor(target, &name, (7, 0), 80, span)?,
    }
    if let Some(((), span)) = parts.parity {
        floor(target, ".parity", (7, 1), 80, span)?;
    }
    if let Some(((), span)) = parts.expect_tx {
        floor(target, ".expect_tx", (8, 0), 90, span)?;
    }
    match parts.window {
        Some((Window::Cluster, span)) => floor(target, ".shared::cluster", (8, 0), 90, span),
        _ => Ok(()),
    }
}
