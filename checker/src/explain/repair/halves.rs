//! Proposals for fences that come in halves, one in each thread: those between the generic and the async proxy, and those
//! of tensor maps.

use super::super::reason::Reason;
use super::super::subject::Subject;
use super::ground::{Ground, Proposal};
use super::places::insert;
use super::syntax::Instruction;
use crate::event::EventId;
use fencepost_dsl::vocabulary::Proxy;

/// The halves between the proxies of data in shared memory of a cluster (FN-15, FN-16).
const PROXY_RELEASE: &str = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster";
/// See above.
const PROXY_ACQUIRE: &str = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster";
/// The halves for tensor maps (FN-13, FN-14).
const MAP_RELEASE: &str = "fence.proxy.tensormap::generic.release";
/// See above.
const MAP_ACQUIRE: &str = "fence.proxy.tensormap::generic.acquire";
/// Bytes of a tensor map.
const MAP_BYTES: u32 = 128;
/// Statements around an access beside which a half is tried.
const LEVELS_MAX: usize = 2;

/// The half that is missing, beside the access it is for.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    of_proxies(ground, found);
    of_tensor_maps(ground, found);
}

fn uses<'a>(ground: &Ground<'a>, word: &str) -> Option<&'a Instruction> {
    ground.syntax.instructions.iter().find(|instruction| instruction.opcode.starts_with(word))
}

/// Where one half of the fence between the proxies stands somewhere, the other one.
fn of_proxies(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let has = [PROXY_RELEASE, PROXY_ACQUIRE].map(|half| uses(ground, half).is_some());
    if has == [false, false] {
        return;
    }
    let graph = ground.graph();
    let is_async =
        |event: EventId| graph.events[event].kind.access().is_some_and(|a| a.proxy == Proxy::Async);
    for (a, b) in ground.pairs() {
        let (access, operation) = match (is_async(a), is_async(b)) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            _ => continue,
        };
        let (release, acquire) = (format!("{PROXY_RELEASE};"), format!("{PROXY_ACQUIRE};"));
        if !has[0] {
            beside(ground, access, true, &release, found);
        }
        if !has[1] {
            beside(ground, operation, false, &acquire, found);
        }
    }
}

/// What publishes a tensor map after a write, and what makes it visible before a copy.
fn of_tensor_maps(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (earlier, later) = match ground.explanation.subject {
        Subject::Race { earlier, later } => (earlier, later),
        Subject::Flag { pair, .. } => pair,
        _ => return,
    };
    let graph = ground.graph();
    let is_map = |event: EventId| {
        graph.events[event].kind.access().is_some_and(|access| access.proxy == Proxy::Tensormap)
    };
    let (write, read) = if is_map(earlier) { (later, earlier) } else { (earlier, later) };
    if !is_map(read) {
        return;
    }
    let scope = [MAP_RELEASE, MAP_ACQUIRE].iter().find_map(|half| {
        let opcode = &uses(ground, half)?.opcode;
        Some(opcode.strip_prefix(half)?.trim_start_matches('.').to_owned())
    });
    let scope = scope.unwrap_or_else(|| "gpu".to_owned());
    let release = format!("{MAP_RELEASE}.{scope};");
    let Some(object) = map_of(ground, read) else { return };
    let acquire = format!("{MAP_ACQUIRE}.{scope} [{object}], {MAP_BYTES};");
    if !is_map(write) {
        beside(ground, write, true, &release, found);
    }
    beside(ground, read, false, &acquire, found);
    if ground.has(|reason| {
        matches!(reason, Reason::TensormapNotPublished { is_released: false, is_acquired: false, .. })
    }) {
        let at = |event: EventId| ground.place(event);
        if let (Some(first), Some(second)) = (at(write), at(read)) {
            let edits =
                vec![insert(ground, (first, true), &release), insert(ground, (second, false), &acquire)];
            found.push(Proposal { rank: 8, edits });
        }
    }
}

/// The tensor map that an instruction names.
fn map_of(ground: &Ground<'_>, read: EventId) -> Option<String> {
    let instruction = ground.instruction(ground.started_by(read))?;
    let name = ground.graph().location_of(&ground.graph().events[read].kind)?;
    let name = ground.graph().locations[name].name.to_string();
    instruction.objects.iter().find(|object| name.starts_with(object.as_str())).cloned()
}

fn beside(ground: &Ground<'_>, event: EventId, is_after: bool, text: &str, found: &mut Vec<Proposal>) {
    let Some(node) = ground.place(event) else { return };
    for (level, around) in (0..).zip(ground.syntax.ancestors(node)).take(LEVELS_MAX) {
        found.push(Proposal { rank: 6 + level, edits: vec![insert(ground, (around, is_after), text)] });
    }
}
