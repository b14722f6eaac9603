//! The event graph of a certificate, as it is written, and the values of its terms.

use crate::Refused;
use crate::bits::Relation;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// What a term is made of; operands have smaller numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "bit-vector operators, named as they are")]
pub enum Operator {
    Constant(u128),
    Unknown(usize),
    Not,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    Equal,
    Less,
    SignedLess,
    If,
    Resize,
    Extract(u32),
}

/// A term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    /// Bits.
    pub width: u32,
    /// What it does.
    pub operator: Operator,
    /// To what.
    pub operands: Vec<usize>,
}

/// What an unknown stands for, as far as memory is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownKind {
    /// A parameter of the kernel.
    Parameter,
    /// What a read returns.
    Read(usize),
    /// What memory ends with: location, first byte, bytes.
    Final(usize, u128, u128),
    /// Whatever is chosen.
    Chosen,
}

/// A value that each execution chooses.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// Bits.
    pub width: u32,
    /// Smallest value.
    pub min: u128,
    /// Largest value.
    pub max: u128,
    /// What it stands for.
    pub kind: UnknownKind,
}

/// An access of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Which object.
    pub location: usize,
    /// Through which virtual mapping.
    pub mapping: u64,
    /// First byte.
    pub offset: usize,
    /// Bytes.
    pub width: u128,
    /// What is read or written.
    pub value: usize,
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// `read`, `write`, `init` and so on.
    pub kind: String,
    /// Whose.
    pub agent: Option<usize>,
    /// It happens if this is 1.
    pub guard: usize,
    /// Its place among those of its thread.
    pub position: usize,
    /// Whether it is of a try of a wait that failed.
    pub is_try: bool,
    /// What it accesses.
    pub access: Option<Access>,
    /// Its instruction, and the line of that.
    pub text: String,
    /// See there.
    pub line: u64,
}

/// Something that has to hold.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// Of which property.
    pub property: String,
    /// What it is when it does not hold.
    pub code: String,
    /// Whose.
    pub agent: usize,
    /// When it counts.
    pub guard: usize,
    /// What must hold.
    pub condition: usize,
    /// Its line.
    pub line: u64,
}

/// A place where a thread can stand for good.
#[derive(Clone, Copy, Debug)]
pub struct Blocked {
    /// Whose.
    pub agent: usize,
    /// It stands there if this is 1.
    pub stuck: usize,
    /// Whether it holds something up meanwhile.
    pub resident: bool,
    /// Its line.
    pub line: u64,
}

/// A condition on final memory, or what should be reached.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// File, first byte, and the one after the last.
    pub place: [usize; 3],
    /// The condition.
    pub condition: usize,
    /// Whether something has to reach it; else it has to hold always.
    pub is_reachable: bool,
}

/// A litmus condition.
#[derive(Clone, Debug)]
pub struct Condition {
    /// `exists`, `not-exists` or `forall`.
    pub quantifier: String,
    /// What is claimed.
    pub condition: usize,
    /// Which final states count.
    pub filter: usize,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Agent {
    /// As people call it.
    pub name: String,
    /// 1 if it ran to its end.
    pub completed: usize,
    /// 1 if its cluster has started.
    pub started: usize,
}

/// The graph.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is what its type says")]
pub struct Graph {
    pub terms: Vec<Term>,
    pub unknowns: Vec<Unknown>,
    pub agents: Vec<Agent>,
    /// Of each asynchronous operation, who started it.
    pub operations: Vec<usize>,
    pub has_starts: bool,
    /// By location, its name.
    pub locations: Vec<String>,
    /// By location.
    pub cell_bytes: Vec<u128>,
    pub events: Vec<Event>,
    pub sets: HashMap<String, Vec<usize>>,
    /// Pairs that are there whenever both events happen; `None` where slices have them.
    pub relations: Option<HashMap<String, Relation>>,
    pub edges: BTreeMap<String, Vec<(usize, usize, usize)>>,
    pub constraints: Vec<usize>,
    pub representative: Vec<usize>,
    pub parameters: Vec<(String, usize)>,
    pub last_reads: Vec<(usize, usize, Vec<usize>)>,
    pub obligations: Vec<Obligation>,
    /// Whose, and 1 if it wants to run on.
    pub cuts: Vec<(usize, usize)>,
    pub blocked: Vec<Blocked>,
    pub reachable: Vec<Claimed>,
    pub finals: Vec<Claimed>,
    pub condition: Option<Condition>,
}

/// Reads a value, or says where there is none of the kind.
pub(crate) struct Reading<'a> {
    pub(crate) file: &'a str,
    pub(crate) value: &'a Value,
}

impl<'a> Reading<'a> {
    pub(crate) fn wrong(&self, what: &str) -> Refused {
        Refused::new("certificate::form", format!("`{}` has no {what} where one is needed", self.file))
    }
    pub(crate) fn get(&self, name: &str) -> Result<Reading<'a>, Refused> {
        let value = self.value.get(name).ok_or_else(|| self.wrong(&format!("field `{name}`")))?;
        Ok(Reading { file: self.file, value })
    }
    pub(crate) fn at(&self, index: usize) -> Result<Reading<'a>, Refused> {
        let value = self.value.get(index).ok_or_else(|| self.wrong("list that long"))?;
        Ok(Reading { file: self.file, value })
    }
    pub(crate) fn number(&self) -> Result<usize, Refused> {
        self.value.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(|| self.wrong("number"))
    }
    pub(crate) fn large(&self) -> Result<u128, Refused> {
        self.value.as_str().and_then(|text| text.parse().ok()).ok_or_else(|| self.wrong("large number"))
    }
    pub(crate) fn text(&self) -> Result<&'a str, Refused> {
        self.value.as_str().ok_or_else(|| self.wrong("text"))
    }
    pub(crate) fn is_true(&self) -> Result<bool, Refused> {
        self.value.as_bool().ok_or_else(|| self.wrong("truth value"))
    }
    pub(crate) fn is_null(&self) -> bool {
        self.value.is_null()
    }
    pub(crate) fn list(&self) -> Result<Vec<Reading<'a>>, Refused> {
        let list = self.value.as_array().ok_or_else(|| self.wrong("list"))?;
        Ok(list.iter().map(|value| Reading { file: self.file, value }).collect())
    }
    /// A list that those who wrote certificates earlier did not write.
    pub(crate) fn listed(&self, name: &str) -> Result<Vec<Reading<'a>>, Refused> {
        if self.value.get(name).is_none() { Ok(Vec::new()) } else { self.get(name)?.list() }
    }
    pub(crate) fn numbers(&self) -> Result<Vec<usize>, Refused> {
        self.list()?.iter().map(Reading::number).collect()
    }
    pub(crate) fn literals(&self) -> Result<Vec<i32>, Refused> {
        let of =
            |one: &Reading<'_>| one.value.as_i64().and_then(|n| i32::try_from(n).ok()).filter(|&n| n != 0);
        self.list()?.iter().map(|one| of(one).ok_or_else(|| one.wrong("literal"))).collect()
    }
    fn entries(&self) -> Result<Vec<(String, Reading<'a>)>, Refused> {
        let map = self.value.as_object().ok_or_else(|| self.wrong("table"))?;
        Ok(map.iter().map(|(name, value)| (name.clone(), Reading { file: self.file, value })).collect())
    }
    /// A relation, row by row in runs.
    pub(crate) fn relation(&self, n: usize) -> Result<Relation, Refused> {
        let mut relation = Relation::empty(n);
        for row in self.list()? {
            let row = row.numbers()?;
            let (a, runs) = row.split_first().ok_or_else(|| self.wrong("row"))?;
            for run in runs.chunks(2) {
                let (first, length) = (run[0], run.get(1).copied().unwrap_or(0));
                if *a >= n || first.saturating_add(length) > n {
                    return Err(self.wrong("event of that number"));
                }
                (first..first + length).for_each(|b| relation.insert(*a, b));
            }
        }
        Ok(relation)
    }
}

impl Graph {
    /// Reads one.
    ///
    /// # Errors
    /// If it is none, or something in it is out of range.
    pub fn parse(file: &str, value: &Value) -> Result<Self, Refused> {
        let root = Reading { file, value };
        let terms: Vec<Term> = each(&root.get("terms")?, term)?;
        let unknowns: Vec<Unknown> = each(&root.get("unknowns")?, unknown)?;
        let agents = each(&root.get("agents")?, |one| {
            Ok(Agent {
                name: one.get("name")?.text()?.to_owned(),
                completed: one.get("completed")?.number()?,
                started: one.get("started")?.number()?,
            })
        })?;
        let events: Vec<Event> = each(&root.get("events")?, event)?;
        let n = events.len();
        let mut sets = HashMap::new();
        for (name, members) in root.get("sets")?.entries()? {
            sets.insert(name, members.numbers()?);
        }
        let relations = match root.get("relations")? {
            none if none.is_null() => None,
            some => {
                let mut relations = HashMap::new();
                for (name, pairs) in some.entries()? {
                    relations.insert(name, pairs.relation(n)?);
                }
                Some(relations)
            }
        };
        let mut edges = BTreeMap::new();
        if !root.get("edges")?.is_null() {
            for (name, pairs) in root.get("edges")?.entries()? {
                let edge = |one: &Reading<'_>| {
                    Ok((one.at(0)?.number()?, one.at(1)?.number()?, one.at(2)?.number()?))
                };
                edges.insert(name, each(&pairs, edge)?);
            }
        }
        let claimed = |one: &Reading<'_>, is_reachable: bool| {
            let place = one.get("place")?.numbers()?;
            let place = <[usize; 3]>::try_from(place).map_err(|_| one.wrong("place"))?;
            Ok(Claimed { place, condition: one.get("condition")?.number()?, is_reachable })
        };
        let graph = Self {
            has_starts: root.get("has_starts")?.is_true()?,
            operations: root.get("operations")?.numbers()?,
            locations: each(&root.get("locations")?, |one| Ok(one.get("name")?.text()?.to_owned()))?,
            cell_bytes: each(&root.get("locations")?, |one| Ok(one.get("cell_bytes")?.number()? as u128))?,
            constraints: root.get("constraints")?.numbers()?,
            representative: root.get("representative")?.numbers()?,
            parameters: each(&root.get("parameters")?, |one| {
                Ok((one.at(0)?.text()?.to_owned(), one.at(1)?.number()?))
            })?,
            last_reads: each(&root.get("last_reads")?, |one| {
                Ok((one.at(0)?.number()?, one.at(1)?.number()?, one.at(2)?.numbers()?))
            })?,
            obligations: each(&root.get("obligations")?, obligation)?,
            cuts: each(&root.get("cuts")?, |one| {
                Ok((one.get("agent")?.number()?, one.get("guard")?.number()?))
            })?,
            blocked: each(&root.get("blocked")?, |one| {
                let (agent, stuck) = (one.get("agent")?.number()?, one.get("stuck")?.number()?);
                let line = one.get("line")?.number()? as u64;
                Ok(Blocked { agent, stuck, resident: one.get("resident")?.is_true()?, line })
            })?,
            reachable: each(&root.get("reachable")?, |one| claimed(one, true))?,
            finals: each(&root.get("finals")?, |one| claimed(one, one.get("kind")?.text()? == "reachable"))?,
            condition: match root.get("condition")? {
                none if none.is_null() => None,
                some => Some(Condition {
                    quantifier: some.get("quantifier")?.text()?.to_owned(),
                    condition: some.get("condition")?.number()?,
                    filter: some.get("filter")?.number()?,
                }),
            },
            terms,
            unknowns,
            agents,
            events,
            sets,
            relations,
            edges,
        };
        graph.check(&root)?;
        Ok(graph)
    }

    /// Whether all that is named is there.
    fn check(&self, root: &Reading<'_>) -> Result<(), Refused> {
        let (n_terms, n_events, n_unknowns) = (self.terms.len(), self.events.len(), self.unknowns.len());
        let mut terms: Vec<usize> = self.constraints.iter().chain(&self.representative).copied().collect();
        terms.extend(self.agents.iter().flat_map(|agent| [agent.completed, agent.started]));
        terms.extend(self.obligations.iter().flat_map(|own| [own.guard, own.condition]));
        terms.extend(self.cuts.iter().map(|own| own.1).chain(self.blocked.iter().map(|own| own.stuck)));
        terms.extend(self.reachable.iter().chain(&self.finals).map(|own| own.condition));
        terms.extend(self.condition.iter().flat_map(|own| [own.condition, own.filter]));
        terms.extend(self.edges.values().flatten().map(|edge| edge.2));
        let accesses = || self.events.iter().filter_map(|event| event.access);
        terms.extend(self.events.iter().map(|event| event.guard));
        terms.extend(accesses().flat_map(|access| [access.offset, access.value]));
        let mut events: Vec<usize> = self.sets.values().flatten().copied().collect();
        events.extend(self.edges.values().flatten().flat_map(|edge| [edge.0, edge.1]));
        events.extend(
            self.last_reads.iter().flat_map(|(_, read, writes)| writes.iter().copied().chain([*read])),
        );
        let mut unknowns: Vec<usize> = self.parameters.iter().map(|own| own.1).collect();
        unknowns.extend(self.last_reads.iter().map(|own| own.0));
        let mut locations: Vec<usize> = accesses().map(|access| access.location).collect();
        for unknown in &self.unknowns {
            match unknown.kind {
                UnknownKind::Read(event) => events.push(event),
                UnknownKind::Final(location, ..) => locations.push(location),
                UnknownKind::Parameter | UnknownKind::Chosen => {}
            }
        }
        for (at, term) in self.terms.iter().enumerate() {
            if let Operator::Unknown(unknown) = term.operator {
                unknowns.push(unknown);
            }
            if term.operands.iter().any(|&operand| operand >= at) || term.width == 0 || term.width > 128 {
                return Err(root.wrong("term that is made of earlier ones"));
            }
        }
        let is_fine = terms.iter().all(|&term| term < n_terms)
            && events.iter().all(|&event| event < n_events)
            && unknowns.iter().all(|&unknown| unknown < n_unknowns)
            && locations.iter().all(|&location| location < self.cell_bytes.len())
            && self.cell_bytes.iter().all(|&bytes| bytes > 0 && bytes <= 16)
            && accesses().all(|access| access.width > 0 && access.width <= 16)
            && n_terms >= 2
            && self.blocked.iter().all(|own| own.agent < self.agents.len());
        if is_fine {
            Ok(())
        } else {
            Err(root.wrong("term, event, unknown or location of a number that it names"))
        }
    }

    /// The thread that does something: that of an operation is who started it.
    pub fn thread(&self, event: usize) -> Option<usize> {
        let agent = self.events[event].agent?;
        let n_threads = self.agents.len();
        Some(if agent < n_threads {
            agent
        } else {
            self.operations.get(agent - n_threads).copied().unwrap_or(agent)
        })
    }

    /// The constant that a term is.
    pub fn constant(&self, term: usize) -> Option<u128> {
        match self.terms[term].operator {
            Operator::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// What has to be 1 for a term to be 1, as far as its shape tells.
    pub fn conjuncts(&self, term: usize) -> Vec<usize> {
        match &self.terms[term] {
            Term { operator: Operator::And, operands, .. } => operands.clone(),
            Term { operator: Operator::Constant(1), .. } => Vec::new(),
            _ => vec![term],
        }
    }

    /// The values of all terms.
    pub fn evaluate(&self, unknowns: &[u128]) -> Vec<u128> {
        let mut values: Vec<u128> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let value = self.apply(term, |own| values[own], |own| unknowns.get(own).copied().unwrap_or(0));
            values.push(value & mask(term.width));
        }
        values
    }

    /// What a term comes to, before it is cut to its width.
    pub(crate) fn apply(
        &self,
        term: &Term,
        value: impl Fn(usize) -> u128,
        unknown: impl Fn(usize) -> u128,
    ) -> u128 {
        let of = |at: usize| term.operands.get(at).map_or(0, |&operand| value(operand));
        let truth = |is: bool| u128::from(is);
        let signed = |at: usize| {
            let width = term.operands.get(at).map_or(1, |&operand| self.terms[operand].width);
            ((of(at) << (128 - width)) as i128) >> (128 - width)
        };
        match term.operator {
            Operator::Constant(value) => value,
            Operator::Unknown(own) => unknown(own),
            Operator::Not => !of(0),
            Operator::And => truth(term.operands.iter().all(|&operand| value(operand) == 1)),
            Operator::Or => truth(term.operands.iter().any(|&operand| value(operand) == 1)),
            Operator::BitAnd => of(0) & of(1),
            Operator::BitOr => of(0) | of(1),
            Operator::BitXor => of(0) ^ of(1),
            Operator::Add => of(0).wrapping_add(of(1)),
            Operator::Subtract => of(0).wrapping_sub(of(1)),
            Operator::Multiply => of(0).wrapping_mul(of(1)),
            // As the hardware divides by nothing: all ones, and the dividend is left.
            Operator::Divide => of(0).checked_div(of(1)).unwrap_or(u128::MAX),
            Operator::Remainder => of(0).checked_rem(of(1)).unwrap_or(of(0)),
            Operator::ShiftLeft if of(1) < u128::from(term.width) => of(0) << of(1),
            Operator::ShiftRight if of(1) < u128::from(term.width) => of(0) >> of(1),
            Operator::ShiftLeft | Operator::ShiftRight => 0,
            Operator::Equal => truth(of(0) == of(1)),
            Operator::Less => truth(of(0) < of(1)),
            Operator::SignedLess => truth(signed(0) < signed(1)),
            Operator::If => {
                if of(0) == 1 {
                    of(1)
                } else {
                    of(2)
                }
            }
            Operator::Resize => of(0),
            Operator::Extract(low) => of(0) >> low,
        }
    }
}

/// As many ones as a width has bits.
pub fn mask(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

fn each<T>(of: &Reading<'_>, read: impl Fn(&Reading<'_>) -> Result<T, Refused>) -> Result<Vec<T>, Refused> {
    of.list()?.iter().map(read).collect()
}

fn term(one: &Reading<'_>) -> Result<Term, Refused> {
    let width = u32::try_from(one.at(0)?.number()?).map_err(|_| one.wrong("width"))?;
    let name = one.at(1)?.text()?;
    let rest = |from: usize| -> Result<Vec<usize>, Refused> {
        one.list()?.iter().skip(from).map(Reading::number).collect()
    };
    let (operator, operands, n) = match name {
        "constant" => (Operator::Constant(one.at(2)?.large()?), Vec::new(), 0),
        "unknown" => (Operator::Unknown(one.at(2)?.number()?), Vec::new(), 0),
        "extract" => {
            let low = u32::try_from(one.at(3)?.number()?).map_err(|_| one.wrong("bit"))?;
            (Operator::Extract(low.min(127)), vec![one.at(2)?.number()?], 1)
        }
        "not" => (Operator::Not, rest(2)?, 1),
        "resize" => (Operator::Resize, rest(2)?, 1),
        "and" => (Operator::And, rest(2)?, usize::MAX),
        "or" => (Operator::Or, rest(2)?, usize::MAX),
        "bit-and" => (Operator::BitAnd, rest(2)?, 2),
        "bit-or" => (Operator::BitOr, rest(2)?, 2),
        "bit-xor" => (Operator::BitXor, rest(2)?, 2),
        "add" => (Operator::Add, rest(2)?, 2),
        "subtract" => (Operator::Subtract, rest(2)?, 2),
        "multiply" => (Operator::Multiply, rest(2)?, 2),
        "divide" => (Operator::Divide, rest(2)?, 2),
        "remainder" => (Operator::Remainder, rest(2)?, 2),
        "shift-left" => (Operator::ShiftLeft, rest(2)?, 2),
        "shift-right" => (Operator::ShiftRight, rest(2)?, 2),
        "equal" => (Operator::Equal, rest(2)?, 2),
        "less" => (Operator::Less, rest(2)?, 2),
        "signed-less" => (Operator::SignedLess, rest(2)?, 2),
        "if" => (Operator::If, rest(2)?, 3),
        _ => return Err(one.wrong("operator that is known")),
    };
    if n != usize::MAX && operands.len() != n {
        return Err(one.wrong("operand"));
    }
    Ok(Term { width, operator, operands })
}

fn unknown(one: &Reading<'_>) -> Result<Unknown, Refused> {
    let kind = one.at(3)?;
    let kind = match kind.at(0)?.text()? {
        "parameter" => UnknownKind::Parameter,
        "read" => UnknownKind::Read(kind.at(1)?.number()?),
        "final" => {
            let (first, bytes) = (kind.at(2)?.number()? as u128, kind.at(3)?.number()? as u128);
            UnknownKind::Final(kind.at(1)?.number()?, first, bytes)
        }
        _ => UnknownKind::Chosen,
    };
    let width = u32::try_from(one.at(0)?.number()?).map_err(|_| one.wrong("width"))?;
    Ok(Unknown { width, min: one.at(1)?.large()?, max: one.at(2)?.large()?, kind })
}

fn event(one: &Reading<'_>) -> Result<Event, Refused> {
    let optional = |name: &str| -> Result<Option<usize>, Refused> {
        let value = one.get(name)?;
        if value.is_null() { Ok(None) } else { value.number().map(Some) }
    };
    let access = one.get("access")?;
    let access = if access.is_null() {
        None
    } else {
        Some(Access {
            location: access.get("location")?.number()?,
            mapping: access.get("mapping")?.number()? as u64,
            offset: access.get("offset")?.number()?,
            width: access.get("width")?.number()? as u128,
            value: access.get("value")?.number()?,
        })
    };
    let text = one.get("text")?;
    Ok(Event {
        kind: one.get("kind")?.text()?.to_owned(),
        agent: optional("agent")?,
        guard: one.get("guard")?.number()?,
        position: one.get("position")?.number()?,
        is_try: !one.get("try")?.is_null(),
        access,
        text: if text.is_null() { String::new() } else { text.text()?.to_owned() },
        line: optional("line")?.unwrap_or(0) as u64,
    })
}

fn obligation(one: &Reading<'_>) -> Result<Obligation, Refused> {
    Ok(Obligation {
        property: one.get("property")?.text()?.to_owned(),
        code: one.get("code")?.text()?.to_owned(),
        agent: one.get("agent")?.number()?,
        guard: one.get("guard")?.number()?,
        condition: one.get("condition")?.number()?,
        line: one.get("line")?.number()? as u64,
    })
}
