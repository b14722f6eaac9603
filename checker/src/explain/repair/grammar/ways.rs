//! The ways in which a value may be written otherwise: the small language itself.

use super::super::super::reason::Reason;
use super::super::ground::Ground;
use super::super::numbers::{OWN, own as of_threads};
use super::super::places::names;
use super::super::values::{Role, Value, ValueKind};
use crate::event::EventId;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::ast::BinaryOp;
use fencepost_dsl::sorted::SortedMap;

/// What is written elsewhere, for one value.
const ELSEWHERE_MAX: usize = 6;

/// What is done to a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// All, where all but one is said.
    All,
    /// As most places have it.
    Usual,
    /// Another comparison, with the same sides.
    Comparison,
    /// It differs from round to round, or from thread to thread.
    Own,
    /// As some place has it.
    Elsewhere,
    /// Without an operand.
    Shorter,
    /// A constant of the file.
    Constant,
    /// One more or less.
    Near,
    /// Further on, or back.
    Longer,
    /// Another operation.
    Operation,
}

impl Kind {
    /// How likely it is to be meant of such a value, beside what other proposals do.
    pub fn rank(self, Value { role, tightness, .. }: &Value) -> u32 {
        let waits = *role == Role::Awaited;
        let is_side = *tightness <= BinaryOp::Less.precedence() + 1;
        let is_told =
            matches!(role, Role::Index { .. } | Role::Rank | Role::Argument { .. } | Role::Named(_));
        match self {
            Self::All if waits => 4,
            Self::All => 8,
            Self::Usual => 10,
            Self::Comparison if waits => 17,
            Self::Longer if waits && is_side => 17,
            Self::Shorter if waits => 18,
            Self::Own if matches!(role, Role::Named(_)) => 18,
            Self::Elsewhere if is_told => 18,
            Self::Constant => 26,
            Self::Own | Self::Elsewhere | Self::Comparison => 30,
            Self::Shorter => 31,
            Self::Near => 32,
            Self::Longer => 34,
            Self::Operation => 36,
        }
    }
}

/// Another text for a value, or for a part of it.
pub struct Way {
    /// What is done.
    pub kind: Kind,
    /// Where.
    pub span: Span,
    /// What stands there then.
    pub text: String,
}

/// The ways to write a value otherwise.
pub fn ways(ground: &Ground<'_>, value: &Value) -> Vec<Way> {
    let mut found: Vec<Way> = Vec::new();
    if value.tightness == 0 {
        let others = elsewhere(ground, value).into_iter();
        found.extend(others.map(|(kind, text)| Way { kind, span: value.span, text }));
    }
    match &value.kind {
        ValueKind::Number(number) => of_number(ground, value, *number, &mut found),
        ValueKind::Name => of_name(ground, value, &mut found),
        ValueKind::Operation { op, left, right } => {
            of_operation(ground, value, (*op, *left, *right), &mut found);
        }
    }
    found
}

/// One more or less; or what differs, in place of what is the same for all.
fn of_number(ground: &Ground<'_>, value: &Value, number: u64, found: &mut Vec<Way>) {
    // Another thread in place of the one that does something is another protocol.
    if value.role == Role::Condition {
        return;
    }
    let mut push = |kind: Kind, text: String| found.push(Way { kind, span: value.span, text });
    for near in [number.checked_add(1), number.checked_sub(1)].into_iter().flatten() {
        push(Kind::Near, near.to_string());
    }
    if matches!(value.role, Role::Operand { .. }) {
        let constants = ground.syntax.constants.iter();
        constants.for_each(|(name, _)| push(Kind::Constant, name.clone()));
    }
    if value.tightness > 0 {
        return;
    }
    match &value.role {
        Role::Index { .. } | Role::Rank => {
            own(ground, value.node).into_iter().for_each(|own| push(Kind::Own, own.to_owned()));
            let round = ground.syntax.counted_around(value.node).map(|counted| counted.variable.as_str());
            if let (Role::Index { object, dimension }, Some(round)) = (&value.role, round)
                && let Some(size) = size_of(ground, object, *dimension).filter(|size| *size != "1")
            {
                push(Kind::Own, format!("{round} % {size}"));
            }
        }
        Role::Named(_) => {
            let round = ground.syntax.counted_around(value.node).map(|counted| counted.variable.as_str());
            match (number, round) {
                (0, Some(round)) => {
                    push(Kind::Own, format!("{round} % 2"));
                    push(Kind::Own, round.to_owned());
                }
                (_, Some(round)) => push(Kind::Own, format!("{round} + {number}")),
                _ => {}
            }
            if number == 0 {
                of_threads(ground).for_each(|own| push(Kind::Own, own.to_owned()));
            }
        }
        _ => {}
    }
}

/// One further or one back; around, where it says which of so many.
fn of_name(ground: &Ground<'_>, value: &Value, found: &mut Vec<Way>) {
    let text = ground.texts.sources().text(value.span);
    let mut push = |kind: Kind, text: String| found.push(Way { kind, span: value.span, text });
    if let Role::Index { object, dimension } = &value.role
        && value.tightness == 0
        && let Some(size) = size_of(ground, object, *dimension)
        && size.chars().all(is_word)
    {
        push(Kind::Own, format!("({text} + 1) % {size}"));
    }
    // One more than a truth value is its opposite: that turns a branch over.
    if ground.truths.contains(text) {
        return;
    }
    for op in [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Xor] {
        if op != BinaryOp::Xor || may_be_parity(value) {
            let longer = format!("{text} {} 1", op.symbol());
            let is_loose = value.tightness > op.precedence();
            push(Kind::Longer, if is_loose { format!("({longer})") } else { longer });
        }
    }
}

fn of_operation(
    ground: &Ground<'_>,
    value: &Value,
    (op, left, right): (BinaryOp, Span, Span),
    found: &mut Vec<Way>,
) {
    use BinaryOp::{Add, Multiply, Remainder, Subtract, Xor};
    let sources = ground.texts.sources();
    let mut push = |kind: Kind, span: Span, text: String| found.push(Way { kind, span, text });
    let between = Span::new(value.span.file, left.end as usize, right.start as usize);
    if let Some(at) = sources.text(between).find(op.symbol()) {
        let start = between.start as usize + at;
        let sign = Span::new(value.span.file, start, start + op.symbol().len());
        others(op, &value.role).iter().for_each(|(kind, other)| push(*kind, sign, other.symbol().to_owned()));
        // Which of so many, and which round of them, are easily taken for one another where threads are divided.
        let is_barrier =
            |role: &Role| matches!(role, Role::Operand { opcode, .. } if opcode.starts_with("bar"));
        if let Some(other) = taken_for(op).filter(|_| is_barrier(&value.role)) {
            let text = format!("{} {} {}", sources.text(left), other.symbol(), sources.text(right));
            let is_written = |other: &Value| sources.text(other.span).contains(text.as_str());
            let is_elsewhere = ground.syntax.values.iter().any(is_written);
            push(if is_elsewhere { Kind::Usual } else { Kind::Operation }, value.span, text);
        }
        if value.role == Role::Awaited && matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
            let whole = Span::new(value.span.file, start, right.end as usize);
            if let Some(signal) = signalled(ground, value.node) {
                push(Kind::Comparison, whole, format!("== {signal}"));
            }
        }
    }
    let is_one = sources.text(right).parse::<u32>().is_ok();
    match op {
        Add | Subtract | Xor if is_one => {
            let (span, text) = within_brackets(ground, value.span, sources.text(left));
            let counts = matches!(value.role, Role::Awaited | Role::Argument { .. });
            let is_all = counts && op == Subtract && sources.text(right) == "1";
            push(if is_all { Kind::All } else { Kind::Shorter }, span, text);
        }
        Remainder => {
            let (left, right) = (sources.text(left), sources.text(right));
            if left.chars().all(is_word) {
                push(Kind::Elsewhere, value.span, format!("({left} + 1) % {right}"));
            }
        }
        Add | Subtract | Multiply if value.tightness == 0 => {
            let text = sources.text(value.span);
            for op in [Add, Subtract] {
                push(Kind::Longer, value.span, format!("{text} {} 1", op.symbol()));
            }
        }
        _ => {}
    }
}

/// What the signal stores that a wait should have seen, where the explanation says that it did not.
fn signalled(ground: &Ground<'_>, node: usize) -> Option<u128> {
    let graph = ground.graph();
    let is_here = |event: EventId| {
        let span = graph.events[event].site.map(|site| graph.sites[site].span);
        span.is_some_and(|span| ground.syntax.nodes[node].span.holds(span))
    };
    ground.explanation.reasons.iter().find_map(|reason| {
        let &Reason::NotSeen { signal, look, is_there: true, .. } = reason else { return None };
        let access = graph.events[signal].kind.access().filter(|_| is_here(look))?;
        graph.terms.constant_value(access.value)
    })
}

/// Whether a wait may compare a phase with it.
fn may_be_parity(value: &Value) -> bool {
    match &value.role {
        Role::Operand { opcode, .. } => opcode.contains(".parity"),
        Role::Argument { .. } | Role::Named(_) => true,
        _ => false,
    }
}

/// Operators in place of another one, but no comparison that holds whenever the other does not, except in a wait.
fn others(op: BinaryOp, role: &Role) -> &'static [(Kind, BinaryOp)] {
    use BinaryOp::{Add, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual, Subtract};
    let waits = *role == Role::Awaited;
    match op {
        LessEqual if waits => &[(Kind::Comparison, Equal), (Kind::Comparison, Less)],
        GreaterEqual if waits => &[(Kind::Comparison, Equal), (Kind::Comparison, Greater)],
        Less => &[(Kind::Comparison, LessEqual)],
        LessEqual => &[(Kind::Comparison, Less)],
        Greater => &[(Kind::Comparison, GreaterEqual)],
        GreaterEqual => &[(Kind::Comparison, Greater)],
        Equal if waits => &[(Kind::Comparison, NotEqual), (Kind::Comparison, GreaterEqual)],
        NotEqual if waits => &[(Kind::Comparison, Equal), (Kind::Comparison, Less)],
        Add => &[(Kind::Operation, Subtract)],
        Subtract => &[(Kind::Operation, Add)],
        _ => &[],
    }
}

/// The operator that it is easily taken for.
fn taken_for(op: BinaryOp) -> Option<BinaryOp> {
    match op {
        BinaryOp::Remainder => Some(BinaryOp::Divide),
        BinaryOp::Divide => Some(BinaryOp::Remainder),
        _ => None,
    }
}

/// The brackets around an operation go with it where what is left of it needs none.
fn within_brackets(ground: &Ground<'_>, span: Span, left: &str) -> (Span, String) {
    let all = &ground.texts.sources().file(span.file).text;
    let (before, after) = (&all[..span.start as usize], &all[span.end as usize..]);
    let is_call = before.strip_suffix('(').is_some_and(|head| head.ends_with(is_word));
    let span = if left.chars().all(is_word) && !is_call && before.ends_with('(') && after.starts_with(')') {
        Span::new(span.file, span.start as usize - 1, span.end as usize + 1)
    } else {
        span
    };
    (span, left.to_owned())
}

/// Whether a character may be in a name.
pub fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What is written elsewhere for the same thing, what most places have first.
fn elsewhere(ground: &Ground<'_>, value: &Value) -> Vec<(Kind, String)> {
    let sources = ground.texts.sources();
    let is_unnamed = matches!(&value.role, Role::Named(name) if name.is_empty());
    if is_unnamed || matches!(value.role, Role::Condition | Role::Choice | Role::Awaited | Role::Range) {
        return Vec::new();
    }
    let now = sources.text(value.span);
    let mut counts: SortedMap<&str, usize> = SortedMap::new();
    let values = ground.syntax.values.iter().filter(|other| other.tightness == 0);
    for other in values.filter(|other| is_alike(ground, &value.role, &other.role)) {
        *counts.entry(sources.text(other.span)).or_default() += 1;
    }
    let own = counts.get(now).copied().unwrap_or(0);
    let mut others: Vec<(&str, usize)> = counts.into_iter().filter(|(text, _)| *text != now).collect();
    others.sort_by_key(|(text, n)| (std::cmp::Reverse(*n), *text));
    // Of two texts that are as usual, rather the plainer one for both.
    let is_usual = |text: &str, n: usize| n > own || n == own && text.len() < now.len();
    let kind = |text: &str, n: usize| if is_usual(text, n) { Kind::Usual } else { Kind::Elsewhere };
    let mut found: Vec<(Kind, String)> =
        others.into_iter().take(ELSEWHERE_MAX).map(|(text, n)| (kind(text, n), text.to_owned())).collect();
    // Whoever computes a rank may mean the first one.
    if value.role == Role::Rank && now != "0" {
        found.push((Kind::Elsewhere, "0".to_owned()));
    }
    found
}

/// Whether two values are for the same thing.
fn is_alike(ground: &Ground<'_>, role: &Role, other: &Role) -> bool {
    match (role, other) {
        (Role::Index { object, dimension }, Role::Index { object: of, dimension: at }) => {
            let size = size_of(ground, object, *dimension);
            object == of && dimension == at || size.is_some() && size == size_of(ground, of, *at)
        }
        (Role::Operand { opcode, at }, Role::Operand { opcode: other, at: place }) => {
            let stem = |opcode: &str| opcode.split('.').take(2).collect::<Vec<_>>().join(".");
            at == place && stem(opcode) == stem(other)
        }
        (Role::Argument { function, at }, Role::Argument { function: other, at: place }) => {
            let parameter = |function: &str, at: usize| {
                ground.syntax.function(function).next().and_then(|function| function.parameters.get(at))
            };
            let own = parameter(function, *at);
            function == other && at == place || own.is_some() && own == parameter(other, *place)
        }
        _ => role == other,
    }
}

/// What the text has for the number of elements of an object in a dimension.
fn size_of<'a>(ground: &Ground<'a>, object: &str, dimension: usize) -> Option<&'a str> {
    let declared = ground.syntax.objects.iter().find(|own| own.name == object)?;
    Some(ground.texts.sources().text(*declared.dimensions.get(dimension)?).trim())
}

/// The names by which threads and rounds are told apart at a statement.
fn own<'a>(ground: &Ground<'a>, node: usize) -> Vec<&'a str> {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let around = syntax.ancestors(node);
    let rounds = syntax.counted.iter().filter(|counted| around.contains(&counted.node));
    let mut found: Vec<&str> = rounds.map(|counted| counted.variable.as_str()).collect();
    // Names given before, in a block around.
    let is_seen = |given: usize| {
        let (siblings, at) = syntax.siblings(given);
        siblings[at..].iter().any(|sibling| around.contains(sibling))
    };
    let bindings = syntax.bindings.iter();
    let bindings = bindings.filter(|own| is_seen(own.node) && names(sources.text(own.value), OWN));
    found.extend(bindings.map(|own| own.name.as_str()));
    of_threads(ground).for_each(|own| found.push(own));
    found
}
