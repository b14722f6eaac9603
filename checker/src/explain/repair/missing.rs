//! Proposals for the half of a handshake that nobody does: mbarriers that are used and never initialised, waited for and
//! never arrived at, or arrived at and never waited for; and named barriers at which threads are missing.
//!
//! The new statement is one like those that are there, at the object that lacks it, or the usual one where there is none.

use super::super::reason::Reason;
use super::super::subject::Subject;
use super::ground::{Ground, Proposal};
use super::places::{before, behind_meeting, insert, names};
use super::syntax::{Instruction, Memory, NodeKind};
use fencepost_dsl::sorted::SortedSet;

/// Places tried for a statement, and its forms.
const PLACES_MAX: usize = 5;
/// What makes a wait likely: nobody has one for the object,
const UNWAITED: u32 = 7;
/// a thread arrives somewhere again, and nothing told it that the last phase there was seen,
const ASKED: u32 = 15;
/// or nothing does.
const WAITED: u32 = 40;
/// Statements like others at named barriers.
const NAMED_MAX: usize = 12;

/// Initialisations, arrivals and waits that are missing.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let mut proposals = Proposals { ground, found };
    let objects = ground.syntax.objects.iter().filter(|object| object.ty == "mbarrier");
    for object in objects {
        let name = object.name.as_str();
        let is_array = !object.dimensions.is_empty();
        let does = |what: fn(&Instruction) -> bool| proposals.uses(name).into_iter().any(what);
        let (has_init, has_wait, has_arrival) = (does(initialises), does(waits), does(arrives));
        if !has_init && (has_wait || has_arrival) {
            proposals.initialisations(name, is_array);
        }
        if has_wait && !has_arrival {
            proposals.arrivals(name);
        }
        if has_arrival {
            let rank = match has_wait {
                false => UNWAITED,
                true if proposals.gives_back(name) => ASKED,
                true => WAITED,
            };
            proposals.waits(name, rank);
        }
    }
    proposals.named_barriers();
}

fn initialises(own: &Instruction) -> bool {
    own.opcode.starts_with("mbarrier.init")
}

fn waits(own: &Instruction) -> bool {
    own.opcode.starts_with("mbarrier.") && own.opcode.contains("_wait")
}

fn arrives(own: &Instruction) -> bool {
    own.opcode.contains("arrive")
}

struct Proposals<'a, 'g> {
    ground: &'a Ground<'g>,
    found: &'a mut Vec<Proposal>,
}

impl<'g> Proposals<'_, 'g> {
    fn text(&self, node: usize) -> &'g str {
        self.ground.texts.sources().text(self.ground.syntax.nodes[node].span)
    }

    /// Whether somebody arrives again, whom nobody has told that the phase before was waited for, and this object is another
    /// one, at which that may be told.
    fn gives_back(&self, object: &str) -> bool {
        let ground = self.ground;
        let is_own = |node: usize| {
            ground.syntax.inside(node).any(|own| own.objects.iter().any(|named| named == object))
        };
        let is_asked = ground.has(|reason| matches!(reason, Reason::NobodyHasWaited { .. }));
        is_asked && !ground.nodes().into_iter().any(is_own)
    }

    fn push(&mut self, rank: u32, node: usize, is_after: bool, text: &str) {
        if self.ground.can_change(node) {
            let edits = vec![insert(self.ground, (node, is_after), text)];
            self.found.push(Proposal { rank, edits });
        }
    }

    /// The instructions that name an object.
    fn uses(&self, object: &str) -> Vec<&'g Instruction> {
        let uses = self.ground.syntax.instructions.iter();
        uses.filter(|own| own.objects.iter().any(|named| named == object)).collect()
    }

    /// The operand of an instruction that names an object.
    fn operand(&self, own: &'g Instruction, object: &str) -> Option<&'g Memory> {
        own.memory.iter().find(|memory| memory.name == object)
    }

    /// The same statement with another object in place of its own.
    fn with(&self, own: &Instruction, memory: &Memory, object: &str) -> String {
        let sources = self.ground.texts.sources();
        let (text, operand) = (self.text(own.node), sources.text(memory.span));
        let other = operand.replacen(&memory.name, object, 1);
        text.replacen(operand, &other, 1)
    }

    /// Behind those of other objects, with as many arrivals, or with a usual number of them.
    fn initialisations(&mut self, object: &str, is_array: bool) {
        let ground = self.ground;
        let (syntax, sources) = (ground.syntax, ground.texts.sources());
        if !syntax.instructions.iter().any(initialises) {
            self.first_initialisation(object);
        }
        for init in syntax.instructions.iter().filter(|own| initialises(own)) {
            let ([memory], Some(&count)) = (init.memory.as_slice(), init.operands.get(1)) else { continue };
            if memory.indices.is_empty() == is_array {
                continue;
            }
            let text = self.with(init, memory, object);
            self.push(6, init.node, true, &text);
            let now = sources.text(count);
            for count in ["1", "2", "nwarpid", "ntid"].iter().filter(|count| **count != now) {
                let other = text.rsplit_once(now).map(|(head, tail)| format!("{head}{count}{tail}"));
                other.into_iter().for_each(|other| self.push(7, init.node, true, &other));
            }
        }
    }

    /// Where there is none to be written like: by the thread that begins alone, or by the first one, whom the others wait for.
    fn first_initialisation(&mut self, object: &str) {
        let (syntax, sources) = (self.ground.syntax, self.ground.texts.sources());
        let Some(declared) = syntax.objects.iter().find(|declared| declared.name == object) else { return };
        let is_alone = |&node: &usize| {
            let around = syntax.nodes[node].parent.map(|around| syntax.nodes[around].kind);
            let condition = match around {
                Some(NodeKind::Branch { condition }) => sources.text(condition),
                _ => return false,
            };
            syntax.nodes[node].is_first() && names(condition, &["tid"]) && condition.contains("== 0")
        };
        let alone = (0..syntax.nodes.len()).find(is_alone);
        // As early as anything: others may look at it from afar.
        let first = || {
            let used = self.uses(object).first()?.node;
            let (siblings, _) = syntax.siblings(syntax.ancestors(used).pop()?);
            siblings.iter().copied().find(|&node| syntax.nodes[node].kind != NodeKind::Declaration)
        };
        let Some(node) = alone.or_else(first) else { return };
        for (rank, count) in (6..).zip(["1", "2", "nwarpid", "ntid"]) {
            let init = match declared.dimensions.as_slice() {
                [] => format!("mbarrier.init.shared::cta.b64 [{object}], {count};"),
                [size] => {
                    let size = sources.text(*size);
                    format!("for i in 0..{size} {{ mbarrier.init.shared::cta.b64 [{object}[i]], {count}; }}")
                }
                _ => return,
            };
            let text = if alone.is_some() { init } else { format!("if tid == 0 {{ {init} }} bar.sync 0;") };
            self.push(rank, node, false, &text);
        }
    }

    /// By those who do not wait for the object: before copies to it, behind matrix operations, and at the end of what they
    /// do.
    fn arrivals(&mut self, object: &str) {
        let ground = self.ground;
        let sources = ground.texts.sources();
        let bytes = super::arrivals::delivered(ground).get(object).copied();
        let cluster = ground.graph().hierarchy.launch().cluster > 1;
        for copy in self.uses(object).into_iter().filter(|own| own.opcode.starts_with("cp.async.bulk.")) {
            let (Some(memory), Some(bytes)) = (self.operand(copy, object), bytes) else { continue };
            let operand = sources.text(memory.span);
            let (scope, space) = if memory.rank.is_some() { ("cluster", "cluster") } else { ("cta", "cta") };
            let text = format!(
                "mbarrier.arrive.expect_tx.release.{scope}.shared::{space}.b64 _, {operand}, {bytes};"
            );
            self.push(5, copy.node, false, &text);
        }
        let Some(wait) = self.uses(object).into_iter().find(|own| waits(own)) else { return };
        let Some(operand) = self.operand(wait, object) else { return };
        let own_index: Vec<&str> = operand.indices.iter().map(|&index| sources.text(index)).collect();
        let mut products = ground
            .syntax
            .instructions
            .iter()
            .filter(|own| own.opcode.starts_with("tcgen05.mma") || own.opcode.starts_with("tcgen05.cp"));
        if let Some(last) = products.next_back() {
            let opcode = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64";
            let text = format!("{opcode} [{}];", element(object, &own_index));
            for (level, around) in (0..).zip(ground.syntax.ancestors(last.node)).take(2) {
                self.push(6 + level, around, true, &text);
            }
        }
        // Statements like those that arrive at other objects, and the usual one.
        let mut others: Vec<(&Instruction, &Memory)> = Vec::new();
        for own in ground.syntax.instructions.iter().filter(|own| arrives(own)) {
            let is_plain = own.opcode.starts_with("mbarrier.arrive.") && !own.opcode.contains("expect_tx");
            let statement = self.text(own.node).trim_end_matches(';');
            if let ([memory], true) = (own.memory.as_slice(), is_plain)
                && statement == sources.text(own.span)
            {
                others.push((own, memory));
            }
        }
        let scope = if cluster { "cluster" } else { "cta" };
        // The thread that waits for its own element passes the turn on to the next one.
        if let Some(next) = self.next_element(object, operand) {
            let text = format!("mbarrier.arrive.release.{scope}.shared::cta.b64 _, [{next}];");
            for around in ground.syntax.ancestors(wait.node) {
                let end = ground.syntax.siblings(around).0.last().copied().unwrap_or(around);
                self.push(6, end, true, &text);
            }
        }
        for (at, last) in self.ends(object) {
            let mut texts: SortedSet<String> = SortedSet::new();
            for index in self.indices(last, &own_index) {
                let element = element(object, &index);
                texts.insert(format!("mbarrier.arrive.release.{scope}.shared::cta.b64 _, [{element}];"));
            }
            for (own, memory) in &others {
                texts.insert(self.with(own, memory, object));
                // At the CTA whose memory the thread is about, or at the first one.
                if let Some(rank) = memory.rank {
                    let opcode = own.opcode.as_str();
                    for rank in ["0", "1", sources.text(rank)] {
                        texts.insert(format!("{opcode} _, [mapa({}, {rank})];", element(object, &own_index)));
                    }
                }
            }
            for text in texts {
                self.push(7 + at, last, true, &text);
            }
        }
    }

    /// The element behind the thread's own one, if that is what an operand names.
    fn next_element(&self, object: &str, operand: &Memory) -> Option<String> {
        let (own, _) = super::numbers::own_index(self.ground, operand)?;
        let mut declared = self.ground.syntax.objects.iter();
        let &size = declared.find(|declared| declared.name == object)?.dimensions.last()?;
        Some(format!("{object}[({own} + 1) % {}]", self.ground.texts.sources().text(size)))
    }

    /// The last statements of blocks of those who do not wait for an object: first of blocks that wait themselves, then of
    /// parts of branches and loops.
    fn ends(&self, object: &str) -> Vec<(u32, usize)> {
        let syntax = self.ground.syntax;
        let is_wait = |own: &Instruction| waits(own) && own.objects.iter().any(|named| named == object);
        let mut found: Vec<(u32, usize)> = Vec::new();
        for (node, of) in syntax.nodes.iter().enumerate() {
            let (siblings, at) = syntax.siblings(node);
            let is_inner = of.parent.is_some() && at + 1 == siblings.len();
            if !is_inner || of.kind == NodeKind::Declaration || !self.ground.can_change(node) {
                continue;
            }
            let is_own = siblings.iter().any(|&node| syntax.acts(node).into_iter().any(is_wait));
            let acts: Vec<&Instruction> = siblings.iter().flat_map(|&node| syntax.acts(node)).collect();
            let is_init = acts.iter().any(|own| initialises(own));
            if is_own || is_init || acts.is_empty() {
                continue;
            }
            let waits_here = siblings
                .iter()
                .any(|&node| syntax.nodes[node].kind == NodeKind::Plain && syntax.inside(node).any(waits));
            found.push((u32::from(!waits_here), node));
        }
        found.sort();
        found.truncate(PLACES_MAX);
        found
    }

    /// Indices that an element may have: those of other objects in the block of a statement, and the own ones.
    fn indices(&self, node: usize, own: &[&'g str]) -> SortedSet<Vec<&'g str>> {
        let (syntax, sources) = (self.ground.syntax, self.ground.texts.sources());
        let mut found: SortedSet<Vec<&str>> = SortedSet::from([own.to_vec()]);
        let (siblings, _) = syntax.siblings(node);
        let acts = siblings.iter().flat_map(|&node| syntax.inside(node));
        for memory in acts.filter(|own| own.opcode.contains("mbarrier")).flat_map(|own| &own.memory) {
            if memory.indices.len() == own.len() {
                found.insert(memory.indices.iter().map(|&index| sources.text(index)).collect());
            }
        }
        found
    }

    /// Before what the finding is about, and around it.
    fn waits(&mut self, object: &str, rank: u32) {
        let ground = self.ground;
        let (syntax, sources) = (ground.syntax, ground.texts.sources());
        if matches!(ground.explanation.subject, Subject::Deadlock { .. }) {
            return;
        }
        let uses = self.uses(object).into_iter().filter(|own| !initialises(own));
        let elements: SortedSet<Vec<&str>> = uses
            .filter_map(|own| self.operand(own, object))
            .map(|memory| memory.indices.iter().map(|&index| sources.text(index)).collect())
            .collect();
        let others: Vec<&Instruction> =
            syntax.instructions.iter().filter(|own| waits(own) && own.opcode.contains(".parity")).collect();
        let scope = if ground.graph().hierarchy.launch().cluster > 1 { "cluster" } else { "cta" };
        let mut places: Vec<(u32, usize)> = Vec::new();
        for node in ground.nodes() {
            let n_levels = if rank == ASKED { 1 } else { 3 };
            for (level, around) in (0..).zip(syntax.ancestors(node)).take(n_levels) {
                let anchors = before(syntax, around).filter(|at| rank != WAITED || *at == around);
                let anchors =
                    anchors.chain(if rank == WAITED { None } else { behind_meeting(syntax, around) });
                places.extend(anchors.map(|at| (level, at)));
            }
        }
        places.sort();
        places.dedup();
        for (level, node) in places.into_iter().take(2 * PLACES_MAX) {
            let mut parities: SortedSet<String> = SortedSet::new();
            for other in &others {
                let Some(&parity) = other.operands.last() else { continue };
                parities.insert(sources.text(parity).to_owned());
                let flipped = super::mbarrier::flipped(sources.text(parity));
                let inner = flipped.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
                let inner = inner.filter(|inner| !inner.contains(['(', ')']));
                parities.insert(inner.unwrap_or(&flipped).to_owned());
            }
            if others.is_empty() {
                let round = syntax.counted_around(node).map(|counted| format!("{} % 2", counted.variable));
                parities.extend(round);
                parities.insert("0".to_owned());
            }
            for (element, parity) in elements.iter().flat_map(|own| parities.iter().map(move |p| (own, p))) {
                let element = self::element(object, element);
                let text = format!(
                    "await mbarrier.try_wait.parity.acquire.{scope}.shared::cta.b64 [{element}], {parity};"
                );
                self.push(rank + level, node, false, &text);
            }
        }
    }

    /// A named barrier's statement once more, as a wait or as an arrival, by those who have none.
    fn named_barriers(&mut self) {
        let ground = self.ground;
        let code = ground.explanation.code;
        let is_missing = code == "deadlock::barrier-never-completes" || code == "barrier::reuse-before-reset";
        let is_race = matches!(ground.explanation.subject, Subject::Race { .. });
        if !is_missing && !is_race {
            return;
        }
        let syntax = ground.syntax;
        let is_named = |own: &&Instruction| {
            let is_barrier = ["bar.sync", "bar.arrive", "barrier.sync", "barrier.arrive"];
            is_barrier.iter().any(|word| own.opcode.starts_with(word)) && own.operands.len() == 2
        };
        let rank = if is_missing { 20 } else { 42 };
        let sources = ground.texts.sources();
        let barrier = |own: &Instruction| sources.text(own.operands[0]);
        let mut texts: SortedSet<String> = SortedSet::new();
        // Waits at barriers at which nobody waits, before all others.
        let mut unwaited: SortedSet<String> = SortedSet::new();
        for own in syntax.instructions.iter().filter(is_named) {
            let text = self.text(own.node);
            let mut others = syntax.instructions.iter().filter(is_named);
            // A number that is computed may be any.
            let is_it = |other: &Instruction| barrier(other) == barrier(own) || barrier(other).contains(' ');
            let waits = |other: &Instruction| other.opcode.contains(".sync") && is_it(other);
            if !others.any(waits) {
                unwaited.insert(text.replacen(".arrive", ".sync", 1));
            }
            texts.insert(text.to_owned());
            texts.insert(text.replacen(".sync", ".arrive", 1));
            texts.insert(text.replacen(".arrive", ".sync", 1));
        }
        let mut tried = 0;
        for (node, of) in syntax.nodes.iter().enumerate() {
            let (siblings, at) = syntax.siblings(node);
            let is_edge = at == 0 || at + 1 == siblings.len();
            if of.parent.is_none() || !is_edge || of.kind == NodeKind::Declaration {
                continue;
            }
            let is_beside = |text: &str| {
                let arrival = text.replacen(".sync", ".arrive", 1);
                siblings.iter().any(|&node| self.text(node) == arrival)
            };
            let elsewhere: Vec<&String> = unwaited.iter().filter(|text| !is_beside(text)).collect();
            for text in elsewhere {
                self.push(UNWAITED, node, at > 0, text);
                if siblings.len() == 1 {
                    self.push(UNWAITED, node, true, text);
                }
            }
            for text in &texts {
                if siblings.iter().any(|&node| self.text(node) == text) || tried == NAMED_MAX {
                    continue;
                }
                tried += 1;
                if at == 0 {
                    self.push(rank, node, false, text);
                }
                if at + 1 == siblings.len() {
                    self.push(rank, node, true, text);
                }
            }
        }
    }
}

fn element(object: &str, indices: &[&str]) -> String {
    let indices = indices.iter().map(|index| format!("[{index}]"));
    format!("{object}{}", indices.collect::<String>())
}
