//! Proposals that need no idea of what is wrong: each value near what was found is written in another way, in a small language.
//! It is what is written elsewhere for the same thing, a number is one more or less, a comparison is the one beside it, an
//! operand is left out, a value is one further or one back, or it differs from round to round or from thread to thread.
//!
//! What says when something is signalled or waited for, where, or how often, comes before what says which data is meant, and
//! nearer places before others. Claims, launches and declarations stay as they are, and so does what is written as data.

mod ways;

use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::names;
use super::syntax::Instruction;
use super::values::{Role, Value, ValueKind};

use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedMap;
use ways::{Kind, Way, is_word, ways};

/// Changes that are proposed at most.
const TRIED_MAX: usize = 112;
/// Added to the rank of what says which data is meant.
const OF_DATA: u32 = 40;
/// … and of what says so elsewhere.
const AS_TOLD: u32 = 2;
/// … of what was found itself, and of what is around it.
const OF_ITSELF: u32 = 15;
/// … of what says who does something, or how often.
const OF_FLOW: u32 = 20;
/// … where what was found names no access that is to blame.
const NOBODY: u32 = 40;
/// Below this, changes are likely to be meant.
const LIKELY: u32 = 18;

/// How far a statement is from what was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    /// It is what was found.
    Itself,
    /// It is around it.
    Around,
    /// It names an object or a value that this names.
    Beside,
    /// Neither.
    Far,
}

/// Each value in another way; rounds are left out only where one of them goes too far.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let near = Near::of(ground);
    let is_bound = matches!(ground.explanation.subject, Subject::Bounds { .. });
    let mut all: Vec<(u32, Distance, Kind, Vec<Edit>)> = Vec::new();
    let mut alike: SortedMap<(&Role, &str, String), Vec<usize>> = SortedMap::new();
    for value in ground.syntax.values.iter().filter(|value| ground.can_change(value.node)) {
        let distance = near.distance(ground, value.node);
        if distance == Distance::Far && is_bound
            || value.role == Role::Range && !is_bound
            || is_claimed(ground, value) && !is_about_order(ground, value)
            || is_data(value)
            || is_exchanged(ground, value)
        {
            continue;
        }
        for Way { kind, span, text } in ways(ground, value) {
            let edits = vec![written(ground, value, span, &text)];
            if all.iter().all(|(.., known)| *known != edits) {
                let before = ground.texts.sources().text(value.span);
                alike.entry((&value.role, before, text)).or_default().push(all.len());
                let rank = kind.rank(value) + extra(ground, value, kind, distance);
                all.push((rank, distance, kind, edits));
            }
        }
    }
    // The same in all places, where one of them is near.
    for places in alike.into_values().filter(|places| places.len() > 1) {
        let least = places.iter().map(|&at| (all[at].0, all[at].1, all[at].2)).min();
        let edits = places.iter().flat_map(|&at| all[at].3.clone()).collect();
        if let Some((rank, distance, kind)) = least.filter(|(_, distance, _)| *distance != Distance::Far) {
            all.push((rank + 1, distance, kind, edits));
        }
    }
    all.sort_by_key(|(rank, distance, kind, _)| (*rank, *distance, *kind));
    all.truncate(TRIED_MAX);
    found.extend(all.into_iter().map(|(rank, .., edits)| Proposal { rank, edits }));
}

/// The change of a value; of the whole operand, where several of an instruction read alike.
fn written(ground: &Ground<'_>, value: &Value, span: Span, text: &str) -> Edit {
    let sources = ground.texts.sources();
    match value.whole {
        Some(whole) if whole.holds(span) => {
            let operand = sources.text(whole);
            let (first, last) = ((span.start - whole.start) as usize, (span.end - whole.start) as usize);
            Edit::replace(sources, whole, format!("{}{text}{}", &operand[..first], &operand[last..]))
        }
        _ => Edit::replace(sources, span, text),
    }
}

/// What a value adds to the rank of a change of it.
fn extra(ground: &Ground<'_>, value: &Value, kind: Kind, distance: Distance) -> u32 {
    let is_told = matches!(kind, Kind::Usual | Kind::Elsewhere);
    let of = match value.role {
        _ if is_about_order(ground, value) => 0,
        Role::Index { .. } if is_told => AS_TOLD,
        _ if distance <= Distance::Around => OF_ITSELF,
        Role::Condition | Role::Choice | Role::Range => OF_FLOW,
        _ => OF_DATA,
    };
    let subject = match ground.explanation.subject {
        Subject::Final { .. } => NOBODY,
        Subject::Assertion { .. } if of > 0 || kind.rank(value) >= LIKELY => NOBODY,
        _ => 0,
    };
    // Which element it is that is not there is said where it is named.
    let away = match (&ground.explanation.subject, distance) {
        (Subject::Bounds { .. }, Distance::Beside) => OF_ITSELF,
        (_, Distance::Far) => 2,
        _ => 0,
    };
    of + subject + away
}

/// Whether a value says when something is waited for or signalled, where, or how often; not what is handed over.
fn is_about_order(ground: &Ground<'_>, value: &Value) -> bool {
    let syntax = ground.syntax;
    let hands_over = |own: &Instruction| {
        own.gives_signal() || own.synchronizes() || own.is_strong() || own.opcode.contains("_wait")
    };
    match &value.role {
        Role::Awaited => true,
        Role::Index { object, .. } if is_mbarrier(ground, object) => true,
        Role::Index { .. } | Role::Rank | Role::Operand { .. } => {
            let mut own = syntax.inside(value.node).filter(|own| own.span.holds(value.span));
            own.any(|own| hands_over(own) || own.opcode.starts_with("mbarrier."))
        }
        Role::Argument { .. } => syntax
            .acts(value.node)
            .iter()
            .any(|act| act.synchronizes() || act.is_strong() || act.opcode.starts_with("mbarrier.")),
        Role::Named(name) => {
            let is_named = |span: Span| names(ground.texts.sources().text(span), &[name.as_str()]);
            let mut own = syntax.instructions.iter().filter(|own| hands_over(own));
            own.any(|own| own.operands.iter().any(|&operand| is_named(operand)))
                || syntax.nodes.iter().any(|node| syntax.is_call(node.span) && is_named(node.span))
        }
        Role::Condition | Role::Choice | Role::Range => false,
    }
}

fn is_mbarrier(ground: &Ground<'_>, object: &str) -> bool {
    ground.syntax.objects.iter().any(|own| own.name == object && own.ty == "mbarrier")
}

/// Whether a name stands for the value about which something is claimed: the claim would only be met.
fn is_claimed(ground: &Ground<'_>, value: &Value) -> bool {
    let Role::Named(name) = &value.role else { return false };
    let sources = ground.texts.sources();
    let claims = |text: &str| ["assert ", "assume ", "reachable "].iter().any(|word| text.starts_with(word));
    let syntax = ground.syntax;
    // A name that never changes stands for it in what follows it in its block.
    let (siblings, at) = syntax.siblings(value.node);
    let is_fixed = syntax.bindings.iter().any(|binding| binding.node == value.node);
    let is_seen = |span: Span| siblings[at..].iter().any(|&node| syntax.nodes[node].span.holds(span));
    let nodes = syntax.nodes.iter().map(|node| node.span).filter(|&span| !is_fixed || is_seen(span));
    let mut texts = nodes.map(|span| sources.text(span));
    texts.any(|text| claims(text) && names(text, &[name.as_str()]))
}

/// Whether a value is what a weak write stores, or an atomic adds: what threads compute is not what puts them in order.
fn is_data(value: &Value) -> bool {
    let Role::Operand { opcode, .. } = &value.role else { return false };
    let words: Vec<&str> = opcode.split('.').collect();
    let is_strong = words.iter().any(|word| ["relaxed", "release", "volatile"].contains(word));
    matches!(words[0], "st" | "ST" | "multimem") && !is_strong || matches!(words[0], "atom" | "red")
}

/// Whether an atomic compares memory with a value or exchanges it for one, or a wait looks at what that gives: with another
/// number it does so at any time, or is over by what its own thread has done.
fn is_exchanged(ground: &Ground<'_>, value: &Value) -> bool {
    let exchanges = |opcode: &str| opcode.split('.').any(|word| word == "cas" || word == "exch");
    match &value.role {
        Role::Operand { opcode, .. } => exchanges(opcode),
        Role::Awaited if !matches!(value.kind, ValueKind::Operation { .. }) => {
            ground.syntax.inside(value.node).any(|own| exchanges(&own.opcode))
        }
        _ => false,
    }
}

/// What is near.
struct Near {
    nodes: Vec<usize>,
    /// The statements around them.
    around: Vec<usize>,
    words: Vec<String>,
}

impl Near {
    fn of(ground: &Ground<'_>) -> Self {
        let nodes = ground.nodes();
        let (syntax, sources) = (ground.syntax, ground.texts.sources());
        let mut texts: Vec<&str> =
            nodes.iter().map(|&node| head(sources.text(syntax.nodes[node].span))).collect();
        if let Subject::Final { span } = ground.explanation.subject {
            texts.push(sources.text(span));
        }
        let mut words: Vec<String> = Vec::new();
        for word in texts.iter().flat_map(|text| text.split(|c| !is_word(c))) {
            if words.iter().all(|own| own != word) && is_given(ground, word) {
                words.push(word.to_owned());
            }
        }
        let around = nodes.iter().flat_map(|&node| syntax.ancestors(node)).collect();
        Self { nodes, around, words }
    }

    fn distance(&self, ground: &Ground<'_>, node: usize) -> Distance {
        let text = head(ground.texts.sources().text(ground.syntax.nodes[node].span));
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        if self.nodes.contains(&node) {
            Distance::Itself
        } else if self.around.contains(&node) {
            Distance::Around
        } else if names(text, &words) {
            Distance::Beside
        } else {
            Distance::Far
        }
    }
}

/// A statement without the parts that it has.
fn head(text: &str) -> &str {
    text.split('{').next().filter(|head| !head.trim().is_empty() && text.ends_with('}')).unwrap_or(text)
}

/// Whether a word names an object or a value of the text.
fn is_given(ground: &Ground<'_>, word: &str) -> bool {
    let syntax = ground.syntax;
    syntax.objects.iter().any(|own| own.name == word)
        || syntax.bindings.iter().any(|own| own.name == word)
        || syntax.counted.iter().any(|own| own.variable == word)
        || syntax.values.iter().any(|own| own.role == Role::Named(word.to_owned()))
}
