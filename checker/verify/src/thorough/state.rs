//! The executions of a graph as clauses, plainly: every pair has a literal, nothing is bounded, shared or left out. Of the model
//! nothing is stated; whoever finds an execution evaluates it.

use super::sat::{Found, Sat};
use crate::bits::{Relation, Set};
use crate::execution::Execution;
use crate::graph::{Access, Graph, Operator, UnknownKind};
use std::collections::{BTreeMap, HashMap};

/// A source of a piece of a read: the write, which of its pieces, and what is true if it is that.
pub type Source = (usize, u32, i32);

/// Clauses, and what their literals mean.
pub struct State<'a> {
    pub graph: &'a Graph,
    pub sat: Sat,
    /// What is true.
    pub one: i32,
    terms: Vec<Vec<i32>>,
    unknowns: Vec<Vec<i32>>,
    gates: HashMap<(i32, i32), i32>,
    /// By read and piece.
    pub sources: BTreeMap<(usize, u32), Vec<Source>>,
    pub coherence: BTreeMap<(usize, usize), i32>,
    pub fence_order: BTreeMap<(usize, usize), i32>,
}

impl<'a> State<'a> {
    /// States a graph.
    ///
    /// # Errors
    /// If it has something that is not stated plainly.
    pub fn new(graph: &'a Graph, mut sat: Sat) -> Result<Self, String> {
        let one = sat.fresh();
        sat.add(&[one]);
        let mut this = Self {
            graph,
            sat,
            one,
            terms: Vec::new(),
            unknowns: Vec::new(),
            gates: HashMap::new(),
            sources: BTreeMap::new(),
            coherence: BTreeMap::new(),
            fence_order: BTreeMap::new(),
        };
        for unknown in &graph.unknowns {
            let bits = (0..unknown.width).map(|_| this.sat.fresh()).collect();
            this.unknowns.push(bits);
        }
        for at in 0..graph.terms.len() {
            let bits = this.term(at)?;
            this.terms.push(bits);
        }
        for &term in &graph.constraints {
            let truth = this.truth(term);
            this.sat.add(&[truth]);
        }
        for (_, unknown) in &graph.parameters {
            let (bits, of) = (this.unknowns[*unknown].clone(), &graph.unknowns[*unknown]);
            let (min, max) = (this.number(of.min, of.width), this.number(of.max, of.width));
            for (low, high) in [(&min, &bits), (&bits, &max)] {
                let above = this.less(high, low);
                this.sat.add(&[-above]);
            }
        }
        this.reads();
        this.coherence();
        this.fences();
        this.ends();
        Ok(this)
    }

    /// What is true if a term of one bit is 1.
    pub fn truth(&self, term: usize) -> i32 {
        self.terms[term][0]
    }

    /// What is true if an event happens.
    pub fn happens(&self, event: usize) -> i32 {
        self.truth(self.graph.events[event].guard)
    }

    /// The bits of where an access is, if that is not known before.
    pub fn address(&self, event: usize) -> &[i32] {
        match self.graph.events[event].access {
            Some(access) if self.graph.constant(access.offset).is_none() => &self.terms[access.offset],
            _ => &[],
        }
    }

    fn number(&self, value: u128, width: u32) -> Vec<i32> {
        (0..width).map(|bit| if value >> bit & 1 == 1 { self.one } else { -self.one }).collect()
    }

    pub(super) fn and(&mut self, a: i32, b: i32) -> i32 {
        if a == self.one || a == b {
            return b;
        }
        if b == self.one {
            return a;
        }
        if a == -self.one || b == -self.one || a == -b {
            return -self.one;
        }
        let key = (a.min(b), a.max(b));
        if let Some(&gate) = self.gates.get(&key) {
            return gate;
        }
        let gate = self.sat.fresh();
        self.sat.add(&[-gate, a]);
        self.sat.add(&[-gate, b]);
        self.sat.add(&[gate, -a, -b]);
        self.gates.insert(key, gate);
        gate
    }

    pub(super) fn or(&mut self, a: i32, b: i32) -> i32 {
        -self.and(-a, -b)
    }

    pub(super) fn all(&mut self, literals: &[i32]) -> i32 {
        literals.iter().fold(self.one, |joined, &literal| self.and(joined, literal))
    }

    pub(super) fn any(&mut self, literals: &[i32]) -> i32 {
        literals.iter().fold(-self.one, |joined, &literal| self.or(joined, literal))
    }

    fn xor(&mut self, a: i32, b: i32) -> i32 {
        let (left, right) = (self.and(a, -b), self.and(-a, b));
        self.or(left, right)
    }

    fn choose(&mut self, condition: i32, then: i32, otherwise: i32) -> i32 {
        let (left, right) = (self.and(condition, then), self.and(-condition, otherwise));
        self.or(left, right)
    }

    fn equal(&mut self, a: &[i32], b: &[i32]) -> i32 {
        let same: Vec<i32> = a.iter().zip(b).map(|(&a, &b)| -self.xor(a, b)).collect();
        self.all(&same)
    }

    /// Whether one number is smaller than another.
    fn less(&mut self, a: &[i32], b: &[i32]) -> i32 {
        a.iter().zip(b).fold(-self.one, |below, (&a, &b)| {
            let (smaller, differ) = (self.and(-a, b), self.xor(a, b));
            self.choose(differ, smaller, below)
        })
    }

    fn add(&mut self, a: &[i32], b: &[i32], carry: i32) -> Vec<i32> {
        let mut carry = carry;
        let mut sum = Vec::new();
        for (&a, &b) in a.iter().zip(b) {
            let half = self.xor(a, b);
            sum.push(self.xor(half, carry));
            let (both, through) = (self.and(a, b), self.and(half, carry));
            carry = self.or(both, through);
        }
        sum
    }

    /// A quotient, and what is left, as on paper. By nothing: all ones, and all is left.
    fn divided(&mut self, a: &[i32], b: &[i32]) -> (Vec<i32>, Vec<i32>) {
        // One bit more than the divisor has, for what is brought down.
        let wide: Vec<i32> = b.iter().copied().chain([-self.one]).collect();
        let negated: Vec<i32> = wide.iter().map(|bit| -bit).collect();
        let mut rest = vec![-self.one; wide.len()];
        let mut quotient = vec![-self.one; a.len()];
        for at in (0..a.len()).rev() {
            rest.pop();
            rest.insert(0, a[at]);
            let goes = -self.less(&rest, &wide);
            let taken = self.add(&rest, &negated, self.one);
            rest = rest.iter().zip(&taken).map(|(&rest, &taken)| self.choose(goes, taken, rest)).collect();
            quotient[at] = goes;
        }
        rest.truncate(a.len());
        (quotient, rest)
    }

    /// Bits moved up by as many places as another number says.
    fn shifted(&mut self, bits: &[i32], by: &[i32], is_left: bool) -> Vec<i32> {
        let mut shifted = bits.to_vec();
        let n = bits.len();
        for (level, &bit) in by.iter().enumerate() {
            let step = 1_usize.checked_shl(u32::try_from(level).unwrap_or(64)).unwrap_or(n).min(n);
            let moved: Vec<i32> = (0..n)
                .map(|at| {
                    let from =
                        if is_left { at.checked_sub(step) } else { Some(at + step).filter(|&from| from < n) };
                    from.map_or(-self.one, |from| shifted[from])
                })
                .collect();
            shifted =
                shifted.iter().zip(&moved).map(|(&stays, &moved)| self.choose(bit, moved, stays)).collect();
        }
        shifted
    }

    fn term(&mut self, at: usize) -> Result<Vec<i32>, String> {
        let term = &self.graph.terms[at];
        let of = |this: &Self, index: usize| this.terms[term.operands[index]].clone();
        let width = term.width;
        let single = |literal: i32| vec![literal];
        let pairs = |this: &mut Self, gate: fn(&mut Self, i32, i32) -> i32| -> Vec<i32> {
            let (a, b) = (of(this, 0), of(this, 1));
            a.iter().zip(&b).map(|(&a, &b)| gate(this, a, b)).collect()
        };
        Ok(match term.operator {
            Operator::Constant(value) => self.number(value, width),
            Operator::Unknown(unknown) => self.unknowns[unknown].clone(),
            Operator::Not => of(self, 0).into_iter().map(|bit| -bit).collect(),
            Operator::And | Operator::Or => {
                let members: Vec<i32> = term.operands.iter().map(|&operand| self.truth(operand)).collect();
                single(if term.operator == Operator::And { self.all(&members) } else { self.any(&members) })
            }
            Operator::BitAnd => pairs(self, Self::and),
            Operator::BitOr => pairs(self, Self::or),
            Operator::BitXor => pairs(self, Self::xor),
            Operator::Add => {
                let (a, b) = (of(self, 0), of(self, 1));
                self.add(&a, &b, -self.one)
            }
            Operator::Subtract => {
                let (a, b) = (of(self, 0), of(self, 1));
                let b: Vec<i32> = b.into_iter().map(|bit| -bit).collect();
                self.add(&a, &b, self.one)
            }
            Operator::Multiply => {
                let (a, b) = (of(self, 0), of(self, 1));
                let mut sum = self.number(0, width);
                for (shift, &bit) in b.iter().enumerate() {
                    let row: Vec<i32> = (0..a.len())
                        .map(|at| at.checked_sub(shift).map_or(-self.one, |from| self.and(a[from], bit)))
                        .collect();
                    sum = self.add(&sum, &row, -self.one);
                }
                sum
            }
            Operator::Divide | Operator::Remainder => {
                let (a, b) = (of(self, 0), of(self, 1));
                let (quotient, rest) = self.divided(&a, &b);
                if term.operator == Operator::Divide { quotient } else { rest }
            }
            Operator::ShiftLeft | Operator::ShiftRight => {
                let (a, b) = (of(self, 0), of(self, 1));
                self.shifted(&a, &b, term.operator == Operator::ShiftLeft)
            }
            Operator::Equal => {
                let (a, b) = (of(self, 0), of(self, 1));
                single(self.equal(&a, &b))
            }
            Operator::Less => {
                let (a, b) = (of(self, 0), of(self, 1));
                single(self.less(&a, &b))
            }
            Operator::SignedLess => {
                // With the signs the other way round, negative numbers are the smaller ones.
                let (mut a, mut b) = (of(self, 0), of(self, 1));
                for bits in [&mut a, &mut b] {
                    if let Some(sign) = bits.last_mut() {
                        *sign = -*sign;
                    }
                }
                single(self.less(&a, &b))
            }
            Operator::If => {
                let (condition, a, b) = (of(self, 0)[0], of(self, 1), of(self, 2));
                a.iter().zip(&b).map(|(&a, &b)| self.choose(condition, a, b)).collect()
            }
            Operator::Resize | Operator::Extract(_) => {
                let low = if let Operator::Extract(low) = term.operator { low as usize } else { 0 };
                let bits = of(self, 0);
                (0..width as usize).map(|at| bits.get(at + low).copied().unwrap_or(-self.one)).collect()
            }
        })
    }

    fn is(&self, event: usize, kinds: &[&str]) -> bool {
        kinds.contains(&self.graph.events[event].kind.as_str())
    }

    fn accesses(&self, kinds: &[&str]) -> Vec<(usize, Access)> {
        let events = self.graph.events.iter().enumerate();
        let of_kind = events.filter(|(_, event)| kinds.contains(&event.kind.as_str()));
        of_kind.filter_map(|(at, event)| Some((at, event.access?))).collect()
    }

    /// What is true if an address and some bytes is another address and some bytes.
    pub(super) fn is_place(&mut self, (a, a_bytes): (usize, u128), (b, b_bytes): (usize, u128)) -> i32 {
        let width = self.graph.terms[a].width;
        if let (Some(x), Some(y)) = (self.graph.constant(a), self.graph.constant(b)) {
            return if x + a_bytes == y + b_bytes { self.one } else { -self.one };
        }
        let (x, y) = (self.terms[a].clone(), self.terms[b].clone());
        let (more, other) = (self.number(a_bytes, width), self.number(b_bytes, width));
        let (x, y) = (self.add(&x, &more, -self.one), self.add(&y, &other, -self.one));
        self.equal(&x, &y)
    }

    /// What is true if two accesses have a byte in common. They are aligned, so it is a cell.
    pub(super) fn meets(&mut self, a: Access, b: Access) -> i32 {
        if a.location != b.location {
            return -self.one;
        }
        let cell = self.graph.cell_bytes[a.location];
        let mut common = -self.one;
        for x in 0..a.width / cell {
            for y in 0..b.width / cell {
                let same = self.is_place((a.offset, x * cell), (b.offset, y * cell));
                common = self.or(common, same);
            }
        }
        common
    }

    fn piece(&self, access: Access, piece: u128) -> Vec<i32> {
        let bits = usize::try_from(self.graph.cell_bytes[access.location] * 8).unwrap_or(0);
        let start = usize::try_from(piece).unwrap_or(0) * bits;
        let all = &self.terms[access.value];
        all[start.min(all.len())..(start + bits).min(all.len())].to_vec()
    }

    fn reads(&mut self) {
        let writes = self.accesses(&["write", "init"]);
        for (read, own) in self.accesses(&["read"]) {
            let (happens, cell) = (self.happens(read), self.graph.cell_bytes[own.location]);
            for (number, piece) in (0_u32..).zip(0..own.width / cell) {
                let mut found: Vec<Source> = Vec::new();
                for &(write, of) in writes.iter().filter(|(_, of)| of.location == own.location) {
                    for (from_number, from) in (0_u32..).zip(0..of.width / cell) {
                        let same = self.is_place((own.offset, piece * cell), (of.offset, from * cell));
                        if same == -self.one {
                            continue;
                        }
                        let source = self.sat.fresh();
                        let (written, guard) = (self.piece(of, from), self.happens(write));
                        let read_bits = self.piece(own, piece);
                        for needed in [same, guard, happens] {
                            self.sat.add(&[-source, needed]);
                        }
                        for (&a, &b) in read_bits.iter().zip(&written) {
                            self.sat.add(&[-source, -a, b]);
                            self.sat.add(&[-source, a, -b]);
                        }
                        for &(_, _, other) in &found {
                            self.sat.add(&[-source, -other]);
                        }
                        found.push((write, from_number, source));
                    }
                }
                let clause: Vec<i32> = found.iter().map(|own| own.2).chain([-happens]).collect();
                self.sat.add(&clause);
                self.sources.insert((read, number), found);
            }
        }
    }

    fn coherence(&mut self) {
        let writes = self.accesses(&["write", "init"]);
        for &(a, x) in &writes {
            for &(b, y) in &writes {
                if a == b || self.is(b, &["init"]) {
                    continue;
                }
                let meets = self.meets(x, y);
                if meets == -self.one {
                    continue;
                }
                let (before, first, second) = (self.sat.fresh(), self.happens(a), self.happens(b));
                for needed in [meets, first, second] {
                    self.sat.add(&[-before, needed]);
                }
                // What was there at first comes before all else.
                if self.is(a, &["init"]) {
                    self.sat.add(&[before, -meets, -first, -second]);
                }
                self.coherence.insert((a, b), before);
            }
        }
        self.order(|this| &this.coherence);
    }

    /// That a relation is an order: one way at most, and closed where there is a literal for it.
    fn order(&mut self, of: fn(&Self) -> &BTreeMap<(usize, usize), i32>) {
        let pairs = of(self).clone();
        for (&(a, b), &before) in &pairs {
            if let Some(&after) = pairs.get(&(b, a)) {
                self.sat.add(&[-before, -after]);
            }
            for (&(_, c), &then) in pairs.range((b, 0)..(b + 1, 0)) {
                if let Some(&whole) = pairs.get(&(a, c)) {
                    self.sat.add(&[-before, -then, whole]);
                }
            }
        }
    }

    fn fences(&mut self) {
        let set = |name: &str| self.graph.sets.get(name).cloned().unwrap_or_default();
        let (fences, consistent) = (set("F"), set("SC"));
        let all: Vec<usize> = fences.into_iter().filter(|fence| consistent.contains(fence)).collect();
        let mutual = self.graph.relations.as_ref().and_then(|of| of.get("sr").cloned());
        let Some(mutual) = mutual else { return };
        for &a in &all {
            for &b in all.iter().filter(|&&b| b != a && mutual.has(a, b)) {
                let (before, first, second) = (self.sat.fresh(), self.happens(a), self.happens(b));
                self.sat.add(&[-before, first]);
                self.sat.add(&[-before, second]);
                self.fence_order.insert((a, b), before);
            }
        }
        let pairs = self.fence_order.clone();
        for (&(a, b), &before) in &pairs {
            if let Some(&after) = pairs.get(&(b, a)) {
                let (first, second) = (self.happens(a), self.happens(b));
                self.sat.add(&[before, after, -first, -second]);
            }
        }
        self.order(|this| &this.fence_order);
    }

    /// What is true if a write happens and writes a byte of a place that is known.
    fn writes(&mut self, write: usize, of: Access, byte: u128) -> i32 {
        let cell = self.graph.cell_bytes[of.location];
        let width = self.graph.terms[of.offset].width;
        let place = self.number(byte, width);
        let mut covers = -self.one;
        for piece in 0..of.width / cell {
            let (offset, more) = (self.terms[of.offset].clone(), self.number(piece * cell, width));
            let at = self.add(&offset, &more, -self.one);
            let same = self.equal(&at, &place);
            covers = self.or(covers, same);
        }
        let happens = self.happens(write);
        self.and(covers, happens)
    }

    /// What memory ends with, and reads that are of last writes.
    fn ends(&mut self) {
        let writes = self.accesses(&["write", "init"]);
        for (at, unknown) in self.graph.unknowns.iter().enumerate() {
            let UnknownKind::Final(location, first, bytes) = unknown.kind else { continue };
            let cell = self.graph.cell_bytes[location];
            let of_location: Vec<(usize, Access)> =
                writes.iter().copied().filter(|(_, of)| of.location == location).collect();
            for piece in 0..bytes / cell {
                let byte = first + piece * cell;
                let mut covering: Vec<(usize, Access, i32)> = Vec::new();
                for &(write, of) in &of_location {
                    let covers = self.writes(write, of, byte);
                    if covers != -self.one {
                        covering.push((write, of, covers));
                    }
                }
                let start = usize::try_from(piece * cell * 8).unwrap_or(0);
                let length = usize::try_from(cell * 8).unwrap_or(0);
                let ending: Vec<i32> = self.unknowns[at].iter().skip(start).take(length).copied().collect();
                let mut some = Vec::new();
                for &(write, of, covers) in &covering {
                    let last = self.sat.fresh();
                    self.sat.add(&[-last, covers]);
                    for &(later, _, covers) in &covering {
                        if let Some(&before) = self.coherence.get(&(write, later)) {
                            self.sat.add(&[-last, -before, -covers]);
                        }
                    }
                    for from in 0..of.width / cell {
                        let (offset, width) =
                            (self.terms[of.offset].clone(), self.graph.terms[of.offset].width);
                        let (more, place) = (self.number(from * cell, width), self.number(byte, width));
                        let at = self.add(&offset, &more, -self.one);
                        let same = self.equal(&at, &place);
                        for (&a, &b) in ending.iter().zip(&self.piece(of, from)) {
                            self.sat.add(&[-last, -same, -a, b]);
                            self.sat.add(&[-last, -same, a, -b]);
                        }
                    }
                    some.push(last);
                }
                self.sat.add(&some);
            }
        }
        for (unknown, read, counts) in &self.graph.last_reads {
            let says = self.unknowns[*unknown][0];
            let Some(own) = self.graph.events[*read].access else { continue };
            let cell = self.graph.cell_bytes[own.location];
            for (number, piece) in (0_u32..).zip(0..own.width / cell) {
                for (source, _, literal) in self.sources.get(&(*read, number)).cloned().unwrap_or_default() {
                    for &later in counts {
                        let (Some(&before), Some(of)) =
                            (self.coherence.get(&(source, later)), self.graph.events[later].access)
                        else {
                            continue;
                        };
                        let mut covers = -self.one;
                        for from in 0..of.width / cell {
                            let same = self.is_place((own.offset, piece * cell), (of.offset, from * cell));
                            covers = self.or(covers, same);
                        }
                        self.sat.add(&[-says, -literal, -before, -covers]);
                    }
                }
            }
        }
    }

    /// Searches for an execution.
    pub fn search(&mut self, n_conflicts: usize) -> Option<Result<(Execution, Vec<bool>), ()>> {
        let values = match self.sat.search(&[], n_conflicts) {
            Found::Assignment(values) => values,
            Found::None => return None,
            Found::TooLong => return Some(Err(())),
        };
        let is = |literal: i32| values[literal.unsigned_abs() as usize] == (literal > 0);
        let n = self.graph.events.len();
        let executed = Set::of(n, |event| is(self.happens(event)));
        let number = |bits: &Vec<i32>| -> u128 {
            bits.iter().enumerate().map(|(at, &bit)| u128::from(is(bit)) << at).fold(0, |a, b| a | b)
        };
        let mut sources: HashMap<usize, Vec<(usize, u128)>> = HashMap::new();
        for (&(read, _), found) in &self.sources {
            if let Some(&(write, from, _)) = found.iter().find(|own| is(own.2)) {
                sources.entry(read).or_default().push((write, u128::from(from)));
            }
        }
        let chosen = |of: &BTreeMap<(usize, usize), i32>| {
            Relation::of_pairs(n, of.iter().filter(|(_, literal)| is(**literal)).map(|(&pair, _)| pair))
        };
        let execution = Execution {
            executed,
            unknowns: self.unknowns.iter().map(number).collect(),
            sources,
            coherence: chosen(&self.coherence),
            fence_order: chosen(&self.fence_order),
        };
        Some(Ok((execution, values)))
    }
}
