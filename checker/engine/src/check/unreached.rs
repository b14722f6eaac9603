//! The `reachable` statements of which a launch has no instance: no thread gets there, whatever it reads.
//!
//! What unrolling never comes to is in no formula, so nothing else would say so.

use super::Config;
use super::decision::Decision;
use crate::event::EventGraph;
use crate::verdict::{Property, Vacuity};
use fencepost_dsl::Span;
use fencepost_dsl::index::IndexVec;
use fencepost_dsl::kernel::program::{Function, FunctionId, Kernel, Program, Statement, StatementKind};
use fencepost_dsl::sorted::SortedSet;

/// Adds them to what is known of a graph, where they are asked for and it was looked at.
pub(super) fn add(decision: &mut Decision, program: &Program, kernel: &Kernel, config: &Config) {
    if config.properties.contains(&Property::Reachable) && decision.limit.is_none() {
        let unreached = unreached(program, kernel, &decision.graph);
        decision.vacuity.extend(unreached.into_iter().map(Vacuity::Unreachable));
    }
}

/// The places of those in the text of a kernel, of what it launches and of the functions that it calls, in order.
fn unreached(program: &Program, kernel: &Kernel, graph: &EventGraph) -> Vec<Span> {
    let mut text = Text { functions: &program.functions, called: SortedSet::new(), found: Vec::new() };
    text.block(&kernel.body);
    for task in kernel.tasks.iter() {
        text.block(&program.parts[task.kernel].body);
    }
    let mut found = text.found;
    found.retain(|&span| graph.reachables.iter().all(|instance| instance.span != span));
    found.sort();
    found.dedup();
    found
}

struct Text<'a> {
    functions: &'a IndexVec<FunctionId, Function>,
    called: SortedSet<FunctionId>,
    found: Vec<Span>,
}

impl Text<'_> {
    fn block(&mut self, statements: &[Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Reachable(_) => self.found.push(statement.span),
                StatementKind::If { then, otherwise, .. } => {
                    self.block(then);
                    self.block(otherwise);
                }
                StatementKind::For { body, .. } => self.block(body),
                StatementKind::While { prelude, body, .. } => {
                    self.block(prelude);
                    self.block(body);
                }
                StatementKind::Await { prelude, .. } => self.block(prelude),
                StatementKind::Call { function, .. } if self.called.insert(*function) => {
                    let functions = self.functions;
                    self.block(&functions[*function].body);
                }
                StatementKind::Call { .. }
                | StatementKind::Assign { .. }
                | StatementKind::Instruction(_)
                | StatementKind::Break
                | StatementKind::Exit
                | StatementKind::Assert(_)
                | StatementKind::Assume(_)
                | StatementKind::Unsupported(_)
                | StatementKind::Host(_) => {}
            }
        }
    }
}
