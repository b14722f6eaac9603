//! What the synchronization of one kernel has and that of another lacks: a compiled kernel beside a skeleton, or any two.
//!
//! ```text
//!  kernel ──unroll──> events ──roles──> what threads do, role by role ──┐
//!                                                                       ├─align──> pairs ──> differences
//!  kernel ──unroll──> events ──roles──> what threads do, role by role ──┘
//! ```
//! Objects have other names on the other side, and in compiled code often none: what stands for what is voted for by the
//! operations that stand side by side. How often a loop goes round is not compared, and data are not: whether weak accesses
//! race is what a check is for.

mod align;
mod condition;
pub mod operation;
mod roles;
mod side;

use crate::unroll::UnrollError;
use crate::work::Allowance;
use align::{Pair, align, fold};
use fencepost_dsl::Span;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use operation::{Aspect, Cell, Operation, Value};
use roles::{Role, Roles};
pub use side::Side;

/// Most operations of a role.
const OPERATIONS_MAX: usize = 4_000;

/// Why two kernels are not compared.
#[derive(Debug)]
pub enum Refusal {
    /// One cannot be run: the first, or the second.
    Unroll(bool, UnrollError),
    /// A thread does more than can be lined up.
    TooLong(bool, usize),
}

/// What there is to say of two kernels.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Roles that stand for each other.
    pub roles: Vec<Pairing>,
}

impl Comparison {
    /// Whether neither has anything that the other lacks.
    pub fn agrees(&self) -> bool {
        self.roles.iter().all(|pairing| pairing.differences.is_empty())
    }

    /// How many differences there are.
    pub fn n_differences(&self) -> usize {
        self.roles.iter().map(|pairing| pairing.differences.len()).sum()
    }
}

/// Who is compared with whom.
#[derive(Clone, Debug)]
pub struct Pairing {
    /// Threads of the first kernel, if it has such a role.
    pub left: Option<Who>,
    /// Threads of the second.
    pub right: Option<Who>,
    /// Operations that agree.
    pub n_equal: usize,
    /// The others, in order.
    pub differences: Vec<Difference>,
}

/// Threads of one role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Who {
    /// One of them.
    pub first: String,
    /// How many there are.
    pub n_threads: usize,
}

/// Where the two differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The operation of the first kernel, if it has one.
    pub left: Option<Told>,
    /// That of the second.
    pub right: Option<Told>,
    /// If both have one: in what they differ, and what they are. Nothing if it is only their place.
    pub aspects: Vec<(Aspect, String, String)>,
}

/// An operation for people.
#[derive(Clone, Debug)]
pub struct Told {
    /// The operation.
    pub operation: Operation,
    /// What it is about.
    pub object: Option<String>,
}

/// Compares two kernels.
///
/// # Errors
/// If one cannot be run, or does too much.
pub fn compare(left: &Side<'_>, right: &Side<'_>, allowance: &Allowance) -> Result<Comparison, Refusal> {
    // Objects are named by the side that has names.
    if right.kernel.flat.is_some() && left.kernel.flat.is_none() {
        return compare(right, left, allowance).map(turned).map_err(|refusal| match refusal {
            Refusal::Unroll(is_first, error) => Refusal::Unroll(!is_first, error),
            Refusal::TooLong(is_first, n) => Refusal::TooLong(!is_first, n),
        });
    }
    let by_warp = left.launch.lanes != right.launch.lanes;
    let of = |side: &Side<'_>, is_first: bool| {
        let roles =
            Roles::of(side, by_warp, allowance.clone()).map_err(|error| Refusal::Unroll(is_first, error))?;
        match roles.roles.iter().map(|role| role.operations.len()).max() {
            Some(most) if most > OPERATIONS_MAX => Err(Refusal::TooLong(is_first, most)),
            _ => Ok(roles),
        }
    };
    let (ours, theirs) = (of(left, true)?, of(right, false)?);
    let matched = matched(&ours.roles, &theirs.roles);
    let mut table = Table::new(left, right, &ours, &theirs);
    // Where several roles of one side are one of the other, each stands for another of its threads.
    let (mut left_turns, mut right_turns) = (vec![0; ours.roles.len()], vec![0; theirs.roles.len()]);
    for (a, b, pairs) in &matched {
        if let (Some(a), Some(b)) = (*a, *b) {
            let (left, right) = (&ours.roles[a], &theirs.roles[b]);
            table.vote(&left.of_member(left_turns[a]), &right.of_member(right_turns[b]), pairs);
            (left_turns[a], right_turns[b]) = (left_turns[a] + 1, right_turns[b] + 1);
        }
    }
    table.decide();
    let who = |role: &Role| Who { first: role.first.clone(), n_threads: role.n_threads };
    let mut found = Vec::new();
    for (a, b, pairs) in &matched {
        let (a, b) = (a.map(|a| &ours.roles[a]), b.map(|b| &theirs.roles[b]));
        let (n_equal, differences) = match (a, b) {
            (Some(a), Some(b)) => table.of_roles(a, b, pairs),
            _ => (0, table.alone(a, b)),
        };
        found.push(Pairing { left: a.map(who), right: b.map(who), n_equal, differences });
    }
    Ok(Comparison { roles: found })
}

/// The same with its sides changed.
fn turned(comparison: Comparison) -> Comparison {
    let turn = |difference: Difference| Difference {
        left: difference.right,
        right: difference.left,
        aspects: difference.aspects.into_iter().map(|(aspect, left, right)| (aspect, right, left)).collect(),
    };
    let turn_role = |pairing: Pairing| Pairing {
        left: pairing.right,
        right: pairing.left,
        n_equal: pairing.n_equal,
        differences: pairing.differences.into_iter().map(turn).collect(),
    };
    Comparison { roles: comparison.roles.into_iter().map(turn_role).collect() }
}

/// Two roles that stand for each other, or one alone, and their operations side by side.
type Match = (Option<usize>, Option<usize>, Vec<Pair>);

/// Which role stands for which: those that have most in common first. A role that is left over is compared with the one that
/// it is most like if it does nothing but what that does, as further warps of one kind do.
fn matched(ours: &[Role], theirs: &[Role]) -> Vec<Match> {
    let mut scores = Vec::new();
    let mut alignments: SortedMap<(usize, usize), Vec<Pair>> = SortedMap::new();
    for (a, left) in ours.iter().enumerate() {
        for (b, right) in theirs.iter().enumerate() {
            let (pairs, score) = align(&left.operations, &right.operations, |_, _| false);
            let length = left.operations.len() + right.operations.len();
            let share = u64::from(score) * 1_000 / u64::try_from(length.max(1)).unwrap_or(1);
            if score > 0 {
                scores.push((std::cmp::Reverse(share), a, b));
                alignments.insert((a, b), pairs);
            }
        }
    }
    scores.sort_unstable();
    let mut found: Vec<Match> = Vec::new();
    let (mut left_used, mut right_used) = (vec![false; ours.len()], vec![false; theirs.len()]);
    for &(_, a, b) in &scores {
        if !left_used[a] && !right_used[b] {
            (left_used[a], right_used[b]) = (true, true);
            found.push((Some(a), Some(b), alignments.get(&(a, b)).cloned().unwrap_or_default()));
        }
    }
    let is_equal = |a: usize, b: usize| {
        alignments.get(&(a, b)).is_some_and(|pairs| pairs.iter().all(|(a, b)| a.is_some() && b.is_some()))
    };
    for &(_, a, b) in &scores {
        if (left_used[a], right_used[b]) != (true, true) && is_equal(a, b) {
            (left_used[a], right_used[b]) = (true, true);
            found.push((Some(a), Some(b), alignments.get(&(a, b)).cloned().unwrap_or_default()));
        }
    }
    found.extend((0..ours.len()).filter(|&a| !left_used[a]).map(|a| (Some(a), None, Vec::new())));
    found.extend((0..theirs.len()).filter(|&b| !right_used[b]).map(|b| (None, Some(b), Vec::new())));
    found.sort_by_key(|(a, b, _)| (a.unwrap_or(usize::MAX), b.unwrap_or(usize::MAX)));
    found
}

/// Which object of one side stands for which of the other.
struct Table<'a> {
    sides: (&'a Side<'a>, &'a Side<'a>),
    roles: (&'a Roles, &'a Roles),
    votes: SortedMap<(Cell, Cell), u32>,
    /// How many bytes of the one are how many of the other.
    bytes: SortedMap<(u128, u128), u32>,
    forth: SortedMap<Cell, Cell>,
    back: SortedMap<Cell, Cell>,
    ratio: Option<(u128, u128)>,
}

impl<'a> Table<'a> {
    fn new(left: &'a Side<'a>, right: &'a Side<'a>, ours: &'a Roles, theirs: &'a Roles) -> Self {
        Self {
            sides: (left, right),
            roles: (ours, theirs),
            votes: SortedMap::new(),
            bytes: SortedMap::new(),
            forth: SortedMap::new(),
            back: SortedMap::new(),
            ratio: None,
        }
    }

    fn vote(&mut self, left: &Role, right: &Role, pairs: &[Pair]) {
        for (a, b) in pairs {
            let (Some(a), Some(b)) = (a, b) else { continue };
            let (a, b) = (&left.operations[*a], &right.operations[*b]);
            if let (Some(a), Some(b)) = (a.cell, b.cell) {
                *self.votes.entry((a, b)).or_default() += 1;
            }
            if let (Some(Value::Number(a)), Some(Value::Number(b))) =
                (value(a, Aspect::Bytes), value(b, Aspect::Bytes))
                && let Some(ratio) = reduced(*a, *b)
            {
                *self.bytes.entry(ratio).or_default() += 1;
            }
        }
    }

    fn decide(&mut self) {
        let mut best: (SortedMap<Cell, u32>, SortedMap<Cell, u32>) = (SortedMap::new(), SortedMap::new());
        for (&(a, b), &votes) in self.votes.iter() {
            if best.0.get(&a).is_none_or(|&most| votes > most) {
                best.0.insert(a, votes);
                self.forth.insert(a, b);
            }
            if best.1.get(&b).is_none_or(|&most| votes > most) {
                best.1.insert(b, votes);
                self.back.insert(b, a);
            }
        }
        let most = self.bytes.iter().map(|(_, &votes)| votes).max();
        self.ratio = self.bytes.iter().find(|&(_, &votes)| Some(votes) == most).map(|(&ratio, _)| ratio);
    }

    fn left_name(&self, cell: Cell) -> (String, String) {
        self.roles.0.name(self.sides.0, cell)
    }

    fn right_name(&self, cell: Cell) -> (String, String) {
        self.roles.1.name(self.sides.1, cell)
    }

    /// Whether a cell stands for another.
    fn is_same(&self, a: Cell, b: Cell) -> bool {
        self.forth.get(&a) == Some(&b) || self.back.get(&b) == Some(&a)
    }

    /// The name, on the second side, of the object that a cell of the first stands for.
    fn class(&self, cell: Cell) -> String {
        match self.forth.get(&cell) {
            Some(&other) => self.right_name(other).1,
            None => format!("? {}", self.left_name(cell).1),
        }
    }

    /// What one operation is in which another is not the same.
    fn aspects(&self, a: &Operation, b: &Operation, objects_agree: bool) -> Vec<(Aspect, String, String)> {
        let mut found = Vec::new();
        let all = a.aspects.iter().chain(&b.aspects).map(|(aspect, _)| *aspect);
        let mut all: Vec<Aspect> = all.collect();
        all.sort_unstable();
        all.dedup();
        for aspect in all {
            let (left, right) = (value(a, aspect), value(b, aspect));
            if !self.agree(aspect, left, right) {
                let text = |value: Option<&Value>| value.map_or_else(|| "none".to_owned(), Value::to_string);
                found.push((aspect, text(left), text(right)));
            }
        }
        let mut flag = |aspect, (left, right): (bool, bool), (yes, no): (&str, &str)| {
            if left != right {
                let word = |is: bool| if is { yes } else { no }.to_owned();
                found.push((aspect, word(left), word(right)));
            }
        };
        flag(Aspect::Waiting, (a.is_wait, b.is_wait), ("until it succeeds", "once"));
        flag(Aspect::Condition, (a.is_sometimes, b.is_sometimes), ("if data say so", "always"));
        flag(Aspect::Rounds, (a.repeats, b.repeats), ("in several rounds", "once"));
        if !objects_agree {
            let name = |cell: Option<Cell>, is_left: bool| match cell {
                Some(cell) if is_left => self.left_name(cell).0,
                Some(cell) => self.right_name(cell).0,
                None => "none".to_owned(),
            };
            found.push((Aspect::Object, name(a.cell, true), name(b.cell, false)));
        }
        found
    }

    /// Whether two values are the same for launches of these shapes. What is not known is not compared.
    fn agree(&self, aspect: Aspect, left: Option<&Value>, right: Option<&Value>) -> bool {
        let (ours, theirs) = (self.sides.0.launch, self.sides.1.launch);
        match (aspect, left, right) {
            (Aspect::Bytes, Some(Value::Number(a)), Some(Value::Number(b))) => {
                reduced(*a, *b).map_or(a == b, |ratio| Some(ratio) == self.ratio)
            }
            (_, left, right) if left == right => true,
            (Aspect::Count, Some(Value::Number(a)), Some(Value::Number(b))) => {
                // As many of the threads that there are.
                [(ours.lanes, theirs.lanes), (ours.warps, theirs.warps)]
                    .into_iter()
                    .fold(vec![(*a, *b)], |known, (of_a, of_b)| {
                        let scaled = known.iter().map(|&(a, b)| (a * u128::from(of_b), b * u128::from(of_a)));
                        scaled.chain(known.clone()).collect()
                    })
                    .into_iter()
                    .any(|(a, b)| a == b)
            }
            (Aspect::Count | Aspect::Bytes | Aspect::Mask, None, _)
            | (Aspect::Count | Aspect::Bytes | Aspect::Mask, _, None) => true,
            _ => false,
        }
    }

    fn objects_agree(&self, a: &Operation, b: &Operation) -> bool {
        match (a.cell, b.cell) {
            (Some(a), Some(b)) => {
                a.is_peer == b.is_peer && (self.is_same(a, b) || self.class(a) == self.right_name(b).1)
            }
            // Where one is not known there is nothing to compare.
            _ => true,
        }
    }

    fn told(&self, operation: &Operation, is_left: bool) -> Told {
        let name = |cell: Cell| if is_left { self.left_name(cell).0 } else { self.right_name(cell).0 };
        Told { operation: operation.clone(), object: operation.cell.map(name) }
    }

    /// Differences of two roles, and how many operations agree: of those of their threads that agree best.
    fn of_roles(&self, left: &Role, right: &Role, pairs: &[Pair]) -> (usize, Vec<Difference>) {
        let agreement = |a: usize, b: usize| {
            let cells = pairs.iter().filter_map(|(i, j)| Some(((*i)?, (*j)?)));
            cells
                .filter(|&(i, j)| match (left.cells[a][i], right.cells[b][j]) {
                    (Some(a), Some(b)) => self.is_same(a, b),
                    _ => false,
                })
                .count()
        };
        let mut best = (0, 0, agreement(0, 0));
        for a in 0..left.cells.len() {
            for b in 0..right.cells.len() {
                let found = agreement(a, b);
                if found > best.2 {
                    best = (a, b, found);
                }
            }
        }
        self.differences(&left.of_member(best.0), &right.of_member(best.1), pairs)
    }

    /// Differences of two roles, and how many operations agree.
    ///
    /// Round by round if both are run alike; then it counts which of several like objects is meant. Otherwise with the rounds of
    /// a loop made one, since loops may go round more often on one side, but for loops that a compiler may have unrolled: the
    /// reading that leaves least to explain.
    fn differences(&self, left: &Role, right: &Role, pairs: &[Pair]) -> (usize, Vec<Difference>) {
        let is_whole = pairs.iter().all(|(a, b)| a.is_some() && b.is_some());
        if is_whole {
            return self.of_pairs((&left.operations, &right.operations), pairs, true);
        }
        let read = |unrolled: &SortedSet<Vec<Span>>| {
            let key = |operation: &Operation, class: Option<String>| {
                format!("{:?} {:?} {class:?} {}", operation.place, operation.aspects, operation.is_wait)
            };
            let of_left = |operation: &Operation| key(operation, operation.cell.map(|cell| self.class(cell)));
            let of_right =
                |operation: &Operation| key(operation, operation.cell.map(|cell| self.right_name(cell).1));
            let ours = fold(&left.operations, of_left, unrolled);
            let theirs = fold(&right.operations, of_right, unrolled);
            let (pairs, _) = align(&ours, &theirs, |a, b| self.objects_agree(&ours[a], &theirs[b]));
            let starts = ours.iter().chain(&theirs).filter(|operation| operation.starts_loop);
            let loops: Vec<Vec<Span>> = starts.map(|operation| operation.place.clone()).collect();
            (self.of_pairs((&ours, &theirs), &pairs, false), loops)
        };
        let (mut best, mut open) = read(&SortedSet::new());
        let mut unrolled = SortedSet::new();
        // A loop at a time; what is a loop in a loop comes up once the outer one is as it is run.
        while let (false, Some(next)) = (best.1.is_empty(), open.pop()) {
            let mut more = unrolled.clone();
            if !more.insert(next) {
                continue;
            }
            let (found, loops) = read(&more);
            if found.1.len() < best.1.len() {
                (best, unrolled, open) = (found, more, loops);
            }
        }
        // Several loops may have to be unrolled together.
        let (run, _) =
            read(&left.operations.iter().chain(&right.operations).map(|of| of.place.clone()).collect());
        if run.1.len() < best.1.len() { run } else { best }
    }

    /// What is to be said of operations side by side. `exactly`: also of which of several like objects they are about.
    fn of_pairs(
        &self,
        (ours, theirs): (&[Operation], &[Operation]),
        pairs: &[Pair],
        exactly: bool,
    ) -> (usize, Vec<Difference>) {
        let mut equal = SortedSet::new();
        let mut found: Vec<Difference> = Vec::new();
        for (a, b) in pairs {
            let (a, b) = (a.map(|a| &ours[a]), b.map(|b| &theirs[b]));
            let aspects = match (a, b) {
                (Some(a), Some(b)) => {
                    let is_same = match (a.cell, b.cell) {
                        (Some(a), Some(b)) if exactly => a.is_peer == b.is_peer && self.is_same(a, b),
                        _ => self.objects_agree(a, b),
                    };
                    self.aspects(a, b, is_same)
                }
                _ => Vec::new(),
            };
            if let (Some(a), Some(_), true) = (a, b, aspects.is_empty()) {
                equal.insert(a.place.clone());
                continue;
            }
            let left = a.map(|operation| self.told(operation, true));
            let right = b.map(|operation| self.told(operation, false));
            found.push(Difference { left, right, aspects });
        }
        (equal.len(), once(self.moved(found)))
    }

    /// An operation that both have, at different places, is one difference.
    fn moved(&self, found: Vec<Difference>) -> Vec<Difference> {
        let mut rest: Vec<Difference> = Vec::new();
        for difference in found {
            let is_it =
                |known: &Difference| match (&known.left, &known.right, &difference.left, &difference.right) {
                    (Some(a), None, None, Some(b)) | (None, Some(b), Some(a), None) => {
                        let (a, b) = (&a.operation, &b.operation);
                        a.name == b.name && self.objects_agree(a, b) && self.aspects(a, b, true).is_empty()
                    }
                    _ => false,
                };
            match rest.iter().position(is_it) {
                Some(at) => {
                    let Difference { left, right, .. } = difference;
                    let known = &mut rest[at];
                    known.left = known.left.take().or(left);
                    known.right = known.right.take().or(right);
                }
                None => rest.push(difference),
            }
        }
        rest
    }

    /// All operations of a role that the other side has not.
    fn alone(&self, left: Option<&Role>, right: Option<&Role>) -> Vec<Difference> {
        let key = |operation: &Operation| format!("{:?} {:?}", operation.place, operation.aspects);
        let of = |role: &Role, is_left: bool| {
            let folded = fold(&role.operations, key, &SortedSet::new());
            folded.iter().map(|operation| self.told(operation, is_left)).collect::<Vec<_>>()
        };
        let ours = left.map_or_else(Vec::new, |role| of(role, true));
        let theirs = right.map_or_else(Vec::new, |role| of(role, false));
        let ours =
            ours.into_iter().map(|told| Difference { left: Some(told), right: None, aspects: Vec::new() });
        ours.chain(theirs.into_iter().map(|told| Difference {
            left: None,
            right: Some(told),
            aspects: Vec::new(),
        }))
        .collect()
    }
}

/// What is said of the same instructions in several rounds is said once.
fn once(found: Vec<Difference>) -> Vec<Difference> {
    let mut seen = SortedSet::new();
    let place = |told: &Option<Told>| told.as_ref().map(|told| told.operation.place.clone());
    let key = |difference: &Difference| {
        let aspects: Vec<Aspect> = difference.aspects.iter().map(|(aspect, ..)| *aspect).collect();
        (place(&difference.left), place(&difference.right), aspects)
    };
    found.into_iter().filter(|difference| seen.insert(key(difference))).collect()
}

fn value(operation: &Operation, aspect: Aspect) -> Option<&Value> {
    operation.aspects.iter().find(|(known, _)| *known == aspect).map(|(_, value)| value)
}

/// A ratio in its lowest terms; none of 0.
fn reduced(a: u128, b: u128) -> Option<(u128, u128)> {
    if a == 0 || b == 0 {
        return None;
    }
    let (mut large, mut small) = (a, b);
    while small != 0 {
        (large, small) = (small, large % small);
    }
    Some((a / large, b / large))
}
