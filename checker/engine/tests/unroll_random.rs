//! Random control flow over two parameters: what the unroller says happens is what running the program does.
//!
//! The interpreter here is the dullest there is; programs have no reads, so that an execution is given by the parameters.

#[path = "unroll/builder.rs"]
#[expect(dead_code, reason = "shared with other suites")]
mod builder;

use builder::*;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::*;
use fencepost_dsl::vocabulary::Sem;
use fencepost_engine::event::{AgentId, EventGraph, UnknownId, UnknownKind};
use fencepost_engine::unroll::UnrollOptions;
use std::collections::BTreeMap;

/// Numbers in the order of a fixed recurrence (Knuth's MMIX constants).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

struct Generator {
    random: Random,
    builder: Builder,
    object: ObjectId,
    /// Registers that may be assigned and read.
    variables: Vec<RegisterId>,
    /// Registers that may be read.
    readable: Vec<RegisterId>,
}

impl Generator {
    fn new(seed: u64) -> Self {
        let mut builder = Builder::new();
        let object = builder.global("x");
        let parameters = [builder.parameter("N", 0, 3), builder.parameter("M", 0, 2)];
        let variables: Vec<_> = ["a", "b", "c"].iter().map(|name| builder.register(name, 32)).collect();
        for &variable in &variables {
            builder.kernel.body.push(assign(variable, int(0)));
        }
        let readable = parameters.iter().chain(&variables).copied().collect();
        let mut random = Random(seed);
        random.below(1);
        let mut generator = Self { random, builder, object, variables, readable };
        let body = generator.block(3, false);
        generator.builder.kernel.body.extend(body);
        generator
    }

    fn expression(&mut self) -> Expression {
        let index = self.random.below(self.readable.len() as u64 + 1) as usize;
        let base = match self.readable.get(index) {
            Some(&register) => get(register, 32),
            None => int(u128::from(self.random.below(4))),
        };
        match self.random.below(3) {
            0 => base,
            1 => binary(BinaryOp::Add, base, int(1)),
            _ => {
                let other = self.readable[self.random.below(self.readable.len() as u64) as usize];
                binary(BinaryOp::Add, base, get(other, 32))
            }
        }
    }

    fn condition(&mut self) -> Expression {
        let op = [BinaryOp::Less, BinaryOp::Equal, BinaryOp::NotEqual][self.random.below(3) as usize];
        let (a, b) = (self.expression(), self.expression());
        binary(op, a, b)
    }

    fn block(&mut self, depth: u32, in_loop: bool) -> Vec<Statement> {
        (0..1 + self.random.below(4)).map(|_| self.statement(depth, in_loop)).collect()
    }

    fn statement(&mut self, depth: u32, in_loop: bool) -> Statement {
        match self.random.below(if depth == 0 { 5 } else { 11 }) {
            0 | 1 => {
                let value = self.expression();
                store(at(self.object, vec![]), value, Sem::Weak)
            }
            2 | 3 => {
                let variable = self.variables[self.random.below(self.variables.len() as u64) as usize];
                assign(variable, self.expression())
            }
            4 if in_loop => statement(StatementKind::Break),
            4 if self.random.below(3) == 0 => statement(StatementKind::Exit),
            5 | 6 => {
                let id = self.builder.new_loop();
                let register = self.builder.register("i", 32);
                let end = self.expression();
                self.readable.push(register);
                let body = self.block(depth - 1, true);
                self.readable.pop();
                statement(StatementKind::For { id, register, start: int(0), end, body })
            }
            7 => {
                let id = self.builder.new_loop();
                let condition = if self.random.below(2) == 0 { constant(1, 1) } else { self.condition() };
                let body = self.block(depth - 1, true);
                statement(StatementKind::While { id, prelude: vec![], condition, body })
            }
            8 => {
                // Counts by itself: often the body does nothing else, which makes it look like a spin.
                let id = self.builder.new_loop();
                let counter = self.variables[self.random.below(self.variables.len() as u64) as usize];
                let condition = binary(BinaryOp::Less, get(counter, 32), self.expression());
                let mut body = if self.random.below(2) == 0 { self.block(depth - 1, true) } else { vec![] };
                body.push(assign(counter, binary(BinaryOp::Add, get(counter, 32), int(1))));
                statement(StatementKind::While { id, prelude: vec![], condition, body })
            }
            _ => {
                let condition = self.condition();
                let depth = depth.saturating_sub(1);
                if_else(condition, self.block(depth, in_loop), self.block(depth, in_loop))
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Exit,
    /// Too many steps: a loop without end, or beyond every bound.
    Endless,
}

struct Interpreter {
    registers: BTreeMap<RegisterId, u128>,
    stores: Vec<u128>,
    fuel: u32,
}

impl Interpreter {
    fn evaluate(&self, expression: &Expression) -> u128 {
        match &expression.kind {
            ExpressionKind::Constant(value) => *value,
            ExpressionKind::Register(register) => self.registers[register],
            ExpressionKind::Binary(op, a, b) => {
                let (a, b) = (self.evaluate(a), self.evaluate(b));
                match op {
                    BinaryOp::Add => (a + b) & 0xffff_ffff,
                    BinaryOp::Less => u128::from(a < b),
                    BinaryOp::Equal => u128::from(a == b),
                    BinaryOp::NotEqual => u128::from(a != b),
                    other => panic!("not generated: {other:?}"),
                }
            }
            other => panic!("not generated: {other:?}"),
        }
    }

    fn run(&mut self, statements: &[Statement]) -> Flow {
        for statement in statements {
            let flow = self.statement(statement);
            if flow != Flow::On {
                return flow;
            }
        }
        Flow::On
    }

    fn statement(&mut self, statement: &Statement) -> Flow {
        match &statement.kind {
            StatementKind::Assign { register, value } => {
                let value = self.evaluate(value);
                self.registers.insert(*register, value);
            }
            StatementKind::Instruction(instruction) => {
                if let InstructionKind::Access(AccessOp::Store { values, .. }) = &instruction.kind {
                    self.stores.push(self.evaluate(&values[0]));
                }
            }
            StatementKind::If { condition, then, otherwise } => {
                let side = if self.evaluate(condition) == 1 { then } else { otherwise };
                return self.run(side);
            }
            StatementKind::For { register, end, body, .. } => {
                for value in 0..self.evaluate(end) {
                    self.registers.insert(*register, value);
                    match self.iterate(body) {
                        Flow::On => {}
                        Flow::Break => break,
                        flow => return flow,
                    }
                }
            }
            StatementKind::While { condition, body, .. } => {
                while self.evaluate(condition) == 1 {
                    match self.iterate(body) {
                        Flow::On => {}
                        Flow::Break => break,
                        flow => return flow,
                    }
                }
            }
            StatementKind::Break => return Flow::Break,
            StatementKind::Exit => return Flow::Exit,
            other => panic!("not generated: {other:?}"),
        }
        Flow::On
    }

    fn iterate(&mut self, body: &[Statement]) -> Flow {
        if self.fuel == 0 {
            return Flow::Endless;
        }
        self.fuel -= 1;
        self.run(body)
    }
}

/// The execution for given parameters in which no failing try is shown and every spin that can be passed is.
fn as_far_as_possible(graph: &EventGraph, parameters: &[u128]) -> Vec<u128> {
    let mut unknowns = vec![0; graph.terms.unknowns().len()];
    unknowns[..parameters.len()].copy_from_slice(parameters);
    for (id, unknown) in graph.terms.unknowns().iter_enumerated() {
        if unknown.kind == UnknownKind::Passes {
            unknowns[id.index()] = 1;
            if !admitted(graph, &|id| unknowns[id.index()]) {
                unknowns[id.index()] = 0;
            }
        }
    }
    unknowns
}

#[test]
fn unrolled_control_flow_is_what_running_the_program_does() {
    let options = UnrollOptions { bound: 6, max_events: 400, max_steps: 4_000, ..UnrollOptions::default() };
    let (mut n_compared, mut n_finished, mut n_cut) = (0, 0, 0);
    for seed in 0..600 {
        let generator = Generator::new(seed);
        let kernel = &generator.builder.kernel;
        let Ok(graph) = generator.builder.unroll(&launch(1, 1, 1), &options) else { continue };
        for (n, m) in (0..=3u128).flat_map(|n| (0..=2u128).map(move |m| (n, m))) {
            let parameters = [n, m];
            let unknowns = as_far_as_possible(&graph, &parameters);
            let of = |id: UnknownId| unknowns[id.index()];
            assert!(admitted(&graph, &of), "seed {seed} at {parameters:?}");
            let registers = kernel.parameters.iter().map(|p| p.register).zip(parameters).collect();
            let mut interpreter = Interpreter { registers, stores: vec![], fuel: 2_000 };
            let flow = interpreter.run(&kernel.body);
            let stores: Vec<u128> = graph
                .events
                .iter()
                .filter(|event| value(&graph.terms, event.guard, &of) == 1)
                .map(|event| value(&graph.terms, event.kind.access().unwrap().value, &of))
                .collect();
            let completed = value(&graph.terms, graph.completed[AgentId(0)], &of) == 1;
            let n_cuts = graph.cuts.iter().filter(|cut| value(&graph.terms, cut.guard, &of) == 1).count();
            assert!(completed as usize + n_cuts <= 1, "seed {seed} at {parameters:?}");
            n_compared += 1;
            if completed {
                assert!(flow == Flow::On || flow == Flow::Exit, "seed {seed} at {parameters:?}");
                assert_eq!(stores, interpreter.stores, "seed {seed} at {parameters:?}");
                n_finished += 1;
            } else {
                // Cut, or stuck in a loop that does nothing: what did happen is how the run begins.
                assert!(n_cuts == 1 || flow == Flow::Endless, "seed {seed} at {parameters:?}");
                assert!(interpreter.stores.starts_with(&stores), "seed {seed} at {parameters:?}");
                n_cut += n_cuts;
            }
        }
    }
    assert!(n_compared > 2_000 && n_finished > 1_000 && n_cut > 50, "{n_compared} {n_finished} {n_cut}");
}
