//! Opcodes with another sem, scope or side, token by token, as the source writes them.

use super::edit::Edit;
use super::ground::Ground;
use crate::event::{AtomicClass, EventGraph, EventId, EventKind, MbarrierRole};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::isa::strength::{both, is_sem};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem};

/// How to change an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SemEdit {
    /// One of its events.
    pub event: EventId,
    /// What it should become.
    pub goal: Goal,
    /// At least this scope.
    pub scope: Scope,
}

/// What an instruction should become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// Keep the sem, widen the scope.
    Widen,
    /// At least relaxed.
    Strong,
    /// A write that releases.
    Release,
    /// A read that acquires.
    Acquire,
    /// `fence.sc`.
    Total,
}

/// What an access says of caches.
const CACHE_OPERATORS: &[&str] = &["ca", "cg", "cs", "lu", "cv", "wb", "wt"];

/// The opcode `source` after an edit, where `text` is that opcode with every default; `None` if it cannot be made.
pub fn edited(graph: &EventGraph, source: &str, text: &str, edit: &SemEdit) -> Option<String> {
    if graph.is_of_operation(edit.event) {
        // The sems of asynchronous operations are not the programmer's to choose.
        return None;
    }
    let mut scope = edit.scope;
    match &graph.events[edit.event].kind {
        // It has no scope to be widened, and is a release or relaxed.
        EventKind::ClusterArrive { .. } => {
            let is_relaxed = edit.goal == Goal::Release && source.contains(".relaxed");
            return is_relaxed.then(|| source.replace(".relaxed", ".release"));
        }
        EventKind::Mbarrier(operation) => {
            let fits = match edit.goal {
                Goal::Widen => operation.sem != Sem::Weak,
                Goal::Release => operation.role == MbarrierRole::Arrive,
                Goal::Acquire => operation.role == MbarrierRole::Wait,
                Goal::Strong | Goal::Total => false,
            };
            if !fits {
                return None;
            }
            // There is nothing wider for an mbarrier (MB-10).
            scope = scope.min(Scope::Cluster);
        }
        EventKind::Fence { .. } if matches!(edit.goal, Goal::Widen | Goal::Total) => {}
        EventKind::Read(access) | EventKind::Write(access) => {
            let never = access.proxy != Proxy::Generic
                || edit.goal == Goal::Total
                || edit.goal == Goal::Acquire && access.atomic == AtomicClass::Reduction
                || edit.goal == Goal::Widen && access.sem == Sem::Weak;
            if never || access.sem == Sem::Mmio {
                return None;
            }
        }
        _ => return None,
    }
    with_sem(source, text, edit.goal, scope)
}

/// The opcode with the sem of a goal, in at least that scope.
fn with_sem(source: &str, text: &str, goal: Goal, mut scope: Scope) -> Option<String> {
    let full: Vec<&str> = text.split('.').collect();
    let at = full.iter().position(|token| is_sem(token))?;
    let least = match goal {
        Goal::Widen => full[at],
        Goal::Strong => "relaxed",
        Goal::Release => "release",
        Goal::Acquire => "acquire",
        Goal::Total => "sc",
    };
    let sem = match full[at] {
        // A volatile access is a relaxed one of system scope: no narrower one takes its place.
        "volatile" if matches!(goal, Goal::Release | Goal::Acquire) => {
            scope = Scope::Sys;
            least
        }
        "volatile" => return None,
        sem => both(sem, least),
    };
    let of = |token: &str| Scope::ALL.into_iter().find(|scope| scope.to_string() == token);
    let known = full.iter().find_map(|token| of(token));
    let scope = known.map_or(scope, |known| known.max(scope));
    let mut tokens: Vec<&str> = source.split('.').collect();
    let place = match tokens.iter().position(|token| is_sem(token)) {
        Some(place) => {
            tokens.remove(place);
            place
        }
        None => tokens.iter().zip(&full[..at]).take_while(|(own, full)| own == full).count(),
    };
    tokens.retain(|token| of(token).is_none());
    // Only a weak access has a cache operator, which is a hint and orders nothing.
    if full[at] == "weak" && sem != "weak" {
        tokens.retain(|token| !CACHE_OPERATORS.contains(token));
    }
    let place = place.min(tokens.len());
    let scope = scope.to_string();
    tokens.splice(place..place, [sem, scope.as_str()]);
    Some(tokens.join("."))
}

/// `.cluster` only where the kernel uses clusters; else `.gpu`, which holds the same threads and more.
pub fn usual(graph: &EventGraph, scope: Scope) -> Scope {
    let uses_clusters = || graph.events.iter().any(|event| event.kind.scope() == Some(Scope::Cluster));
    if scope == Scope::Cluster && !uses_clusters() { Scope::Gpu } else { scope }
}

/// The changes of opcodes that several edits of sems come to.
pub fn sem_edits(ground: &Ground<'_>, edits: &[SemEdit]) -> Vec<Edit> {
    let graph = ground.graph();
    let mut opcodes: Vec<(Span, String)> = Vec::new();
    for edit in edits {
        let Some(instruction) = ground.instruction(edit.event) else { continue };
        let Some(site) = graph.events[edit.event].site else { continue };
        let known = opcodes.iter().position(|(span, _)| *span == instruction.opcode_span);
        let (source, text) = match known {
            // With every default, as far as a further edit looks at it.
            Some(known) => (opcodes[known].1.clone(), opcodes[known].1.clone()),
            None => (instruction.opcode.clone(), graph.sites[site].text.clone()),
        };
        let Some(after) = edited(graph, &source, &text, edit) else { continue };
        match known {
            Some(known) => opcodes[known].1 = after,
            None => opcodes.push((instruction.opcode_span, after)),
        }
    }
    let sources = ground.texts.sources();
    opcodes.retain(|(span, after)| sources.text(*span) != after);
    opcodes.into_iter().map(|(span, after)| Edit::replace(sources, span, after)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Goal, with_sem};
    use fencepost_dsl::vocabulary::Scope;

    #[test]
    fn opcodes_are_edited_token_by_token() {
        let cases = [
            ("st.weak.u32", "st.weak.global.u32", Goal::Release, Some("st.release.gpu.u32")),
            ("st.u32", "st.weak.global.u32", Goal::Release, Some("st.release.gpu.u32")),
            ("ld.volatile", "ld.volatile.global.u32", Goal::Acquire, Some("ld.acquire.sys")),
            ("ld.volatile", "ld.volatile.global.u32", Goal::Strong, None),
            (
                "st.relaxed.cta.shared",
                "st.relaxed.cta.shared::cta.u32",
                Goal::Widen,
                Some("st.relaxed.gpu.shared"),
            ),
            (
                "atom.acquire.cta.cas.b32",
                "atom.acquire.cta.global.cas.b32",
                Goal::Release,
                Some("atom.acq_rel.gpu.cas.b32"),
            ),
            (
                "atom.add.gpu.u32",
                "atom.relaxed.gpu.global.add.u32",
                Goal::Acquire,
                Some("atom.acquire.gpu.add.u32"),
            ),
            ("st.release.sys", "st.release.sys.global.u32", Goal::Release, Some("st.release.sys")),
            (
                "mbarrier.try_wait.parity.b64",
                "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64",
                Goal::Acquire,
                Some("mbarrier.try_wait.parity.acquire.gpu.b64"),
            ),
        ];
        for (source, text, goal, expected) in cases {
            assert_eq!(with_sem(source, text, goal, Scope::Gpu).as_deref(), expected, "{source} {goal:?}");
        }
    }
}
