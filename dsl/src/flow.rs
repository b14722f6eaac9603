//! Jumps to structured statements, for any flow graph: of litmus tests, and of PTX.
//!
//! A register says which block is next. Strongly connected parts are emitted in topological order; a part with a cycle
//! becomes a loop over its own blocks in that order, with the edges into its head taken as "go round". Each block runs
//! if it is next, which the unroller knows wherever there is one way to get there; so a spin loop is still seen as one.
//!
//! What only one block leads to is emitted in that block's branch, and what surely comes first without asking: so it is
//! plain in the text which registers a round has set before it reads them.

use crate::diagnostic::Diagnostic;
use crate::index::IndexVec;
use crate::kernel::program::{
    BinaryOp, Expression, ExpressionKind, Loop, LoopId, RegisterId, Statement, StatementKind, UnaryOp,
};
use crate::sorted::{SortedMap, SortedSet};
use crate::span::Span;

/// Deepest nesting of loops that jumps may make.
const DEPTH_MAX: usize = 64;

/// Deepest nesting of branches in branches; what is deeper is emitted behind them.
const BRANCHES_MAX: usize = 32;

/// The name of a place.
#[derive(Clone, Debug)]
pub struct Label {
    /// The name.
    pub text: String,
    /// Where it is written.
    pub span: Span,
}

/// A line of a thread.
pub enum Item {
    /// `LC00:`
    Label(Label),
    /// No jump.
    Plain(Box<Statement>),
    /// `goto`, or a conditional jump.
    Jump {
        /// Where to.
        label: Label,
        /// When; `None` for always.
        condition: Option<Expression>,
    },
    /// The thread ends here.
    End(Span),
}

/// A run of statements that is entered at its start and left at its end.
struct Block {
    span: Span,
    statements: Vec<Statement>,
    exit: Exit,
}

/// A block whose labels are still text: its place, its statements, and the jump at its end, which is to the thread's end if
/// it has no label.
type Part = (Span, Vec<Statement>, Option<(Option<Label>, Option<Expression>)>);

/// How control leaves a block. The number one past the last block is the thread's end.
enum Exit {
    To(usize),
    Branch(Expression, usize, usize),
}

impl Block {
    fn successors(&self) -> Vec<usize> {
        match self.exit {
            Exit::To(next) => vec![next],
            Exit::Branch(_, taken, other) => vec![taken, other],
        }
    }
}

/// The statements of a thread. `next` is a register of 32 bits for the flow alone.
///
/// # Errors
/// If a label is missing or there twice, or loops are nested too deeply.
pub fn structure(
    items: Vec<Item>,
    span: Span,
    next: RegisterId,
    loops: &mut IndexVec<LoopId, Loop>,
) -> Result<Vec<Statement>, Diagnostic> {
    check_labels(&items)?;
    if !items.iter().any(|item| matches!(item, Item::Jump { .. } | Item::End(_))) {
        let plain = items.into_iter().filter_map(|item| match item {
            Item::Plain(statement) => Some(*statement),
            Item::Label(_) | Item::Jump { .. } | Item::End(_) => None,
        });
        return Ok(plain.collect());
    }
    let blocks = blocks(items, span)?;
    let reachable = reachable(&blocks);
    let n_before = predecessors(&blocks, &reachable);
    let mut emitter = Emitter { blocks: &blocks, n_before, next, loops, depth: 0, n_branches: 0 };
    let mut statements = vec![emitter.go_to(0, blocks[0].span)];
    emitter.emit(&reachable, &SortedSet::new(), Some(0), &mut statements)?;
    Ok(statements)
}

fn check_labels(items: &[Item]) -> Result<(), Diagnostic> {
    let mut labels: SortedMap<&str, Span> = SortedMap::new();
    for item in items {
        if let Item::Label(name) = item
            && let Some(first) = labels.insert(&name.text, name.span)
        {
            let message = format!("the label `{}` is there twice", name.text);
            return Err(Diagnostic::new("resolve::duplicate-label", message, name.span, "again here")
                .with_label(first, "first here"));
        }
    }
    Ok(())
}

fn blocks(items: Vec<Item>, span: Span) -> Result<Vec<Block>, Diagnostic> {
    let mut parts: Vec<Part> = vec![(span, Vec::new(), None)];
    let mut labels: SortedMap<String, usize> = SortedMap::new();
    for item in items {
        let is_closed = parts.last().is_none_or(|(_, _, jump)| jump.is_some());
        match item {
            Item::Label(name) => {
                parts.push((name.span, Vec::new(), None));
                labels.insert(name.text, parts.len() - 1);
            }
            Item::Plain(statement) => {
                if is_closed {
                    parts.push((statement.span, Vec::new(), None));
                }
                if let Some((first, statements, _)) = parts.last_mut() {
                    // What is done there says more than its label, before which the line of the source is still another.
                    let acts = |own: &Statement| matches!(own.kind, StatementKind::Instruction(_));
                    if statements.is_empty() || acts(&statement) && !statements.iter().any(acts) {
                        *first = statement.span;
                    }
                    statements.push(*statement);
                }
            }
            Item::Jump { label, condition } => {
                if is_closed {
                    parts.push((label.span, Vec::new(), None));
                }
                if let Some((_, _, jump)) = parts.last_mut() {
                    *jump = Some((Some(label), condition));
                }
            }
            Item::End(span) => {
                if is_closed {
                    parts.push((span, Vec::new(), None));
                }
                if let Some((_, _, jump)) = parts.last_mut() {
                    *jump = Some((None, None));
                }
            }
        }
    }
    let mut blocks = Vec::with_capacity(parts.len());
    let end = parts.len();
    for (index, (span, statements, jump)) in parts.into_iter().enumerate() {
        let exit = match jump {
            None => Exit::To(index + 1),
            Some((None, _)) => Exit::To(end),
            Some((Some(label), condition)) => {
                let Some(&target) = labels.get(&label.text) else {
                    let message = format!("this thread has no label `{}`", label.text);
                    return Err(Diagnostic::new(
                        "resolve::unknown-label",
                        message,
                        label.span,
                        "no such label",
                    ));
                };
                match condition {
                    None => Exit::To(target),
                    Some(condition) => Exit::Branch(condition, target, index + 1),
                }
            }
        };
        blocks.push(Block { span, statements, exit });
    }
    Ok(blocks)
}

fn reachable(blocks: &[Block]) -> SortedSet<usize> {
    let mut reachable = SortedSet::new();
    let mut stack = vec![0];
    while let Some(block) = stack.pop() {
        if block < blocks.len() && reachable.insert(block) {
            stack.extend(blocks[block].successors());
        }
    }
    reachable
}

/// How many edges lead to each block; the first one has one from outside.
fn predecessors(blocks: &[Block], reachable: &SortedSet<usize>) -> Vec<usize> {
    let mut n_before = vec![0; blocks.len() + 1];
    n_before[0] = 1;
    for &from in reachable {
        blocks[from].successors().into_iter().for_each(|to| n_before[to] += 1);
    }
    n_before
}

struct Emitter<'a> {
    blocks: &'a [Block],
    n_before: Vec<usize>,
    next: RegisterId,
    loops: &'a mut IndexVec<LoopId, Loop>,
    depth: usize,
    n_branches: usize,
}

/// The parts of some blocks that are not emitted yet, by their blocks.
type Waiting = SortedMap<usize, SortedSet<usize>>;

impl Emitter<'_> {
    /// Emits the blocks of `nodes`; edges into `heads` go round an enclosing loop and do not count here. `first` is the block
    /// that is next for certain.
    fn emit(
        &mut self,
        nodes: &SortedSet<usize>,
        heads: &SortedSet<usize>,
        mut first: Option<usize>,
        out: &mut Vec<Statement>,
    ) -> Result<(), Diagnostic> {
        let parts = self.parts(nodes, heads);
        let mut waiting = Waiting::new();
        for part in &parts {
            waiting.extend(part.iter().map(|&block| (block, part.clone())));
        }
        for part in parts {
            let Some(&any) = part.first().filter(|block| waiting.contains_key(block)) else { continue };
            let entries = self.entries(&part);
            let is_next = first.take().is_some_and(|first| part.contains(&first) && entries.len() == 1);
            let span = self.blocks[any].span;
            let condition = self.is_next(&entries, span);
            let mut body = Vec::new();
            self.emit_part(&part, heads, &mut waiting, &mut body)?;
            if is_next {
                out.extend(body);
            } else {
                let kind = StatementKind::If { condition, then: body, otherwise: Vec::new() };
                out.push(Statement { span, kind });
            }
        }
        Ok(())
    }

    /// Emits a part where it is next, and what only it leads to.
    fn emit_part(
        &mut self,
        part: &SortedSet<usize>,
        heads: &SortedSet<usize>,
        waiting: &mut Waiting,
        out: &mut Vec<Statement>,
    ) -> Result<(), Diagnostic> {
        let mut part = part.clone();
        loop {
            part.iter().for_each(|block| {
                waiting.remove(block);
            });
            let Some(&block) = part.first() else { return Ok(()) };
            let goes_round = self.blocks[block].successors().contains(&block) && !heads.contains(&block);
            if part.len() > 1 || goes_round {
                let entries = self.entries(&part);
                let is_plain = part.len() == 1 && entries.len() == 1;
                match is_plain.then(|| self.emit_spin(block)).flatten() {
                    Some(spin) => out.push(spin),
                    None => out.extend(self.emit_loop(&part, &entries)?),
                }
                let Some((target, n_edges)) = self.only_exit(&part) else { return Ok(()) };
                let is_only = self.n_before[target] == n_edges && self.n_branches < BRANCHES_MAX;
                match waiting.get(&target).filter(|next| is_only && self.entries(next).len() == 1) {
                    Some(next) if next.len() == 1 && !self.blocks[target].successors().contains(&target) => {
                        part = next.clone();
                        continue;
                    }
                    // Whoever has left the loop is there; said again, so that nobody needs to know how the loop was left.
                    _ => out.push(self.go_to(target, self.blocks[block].span)),
                }
                return Ok(());
            }
            let span = self.blocks[block].span;
            out.extend(self.blocks[block].statements.iter().cloned());
            match &self.blocks[block].exit {
                &Exit::To(target) => match self.only_here(target, waiting) {
                    Some(next) => part = next,
                    None => {
                        out.push(self.go_to(target, span));
                        return Ok(());
                    }
                },
                Exit::Branch(condition, taken, other) => {
                    let (condition, taken, other) = (condition.clone(), *taken, *other);
                    out.push(self.emit_branch((condition, taken, other), heads, waiting)?);
                    return Ok(());
                }
            }
        }
    }

    /// The block to which all edges out of a loop lead, if it is one, and how many they are.
    fn only_exit(&self, part: &SortedSet<usize>) -> Option<(usize, usize)> {
        let mut leaving =
            part.iter().flat_map(|&from| self.blocks[from].successors()).filter(|to| !part.contains(to));
        let target = leaving.next()?;
        let mut n_edges = 1;
        for to in leaving {
            if to != target {
                return None;
            }
            n_edges += 1;
        }
        Some((target, n_edges))
    }

    /// The part of a block to which one edge leads, if it is still to be emitted.
    fn only_here(&self, target: usize, waiting: &Waiting) -> Option<SortedSet<usize>> {
        let part = waiting.get(&target).filter(|_| self.n_branches < BRANCHES_MAX)?;
        // Of a loop, the edges that go round lead to its head as well.
        let n_inside: usize = part
            .iter()
            .map(|&from| self.blocks[from].successors().into_iter().filter(|&to| to == target).count())
            .sum();
        let is_only = self.n_before[target] == n_inside + 1 && self.entries(part).len() == 1;
        is_only.then(|| part.clone())
    }

    fn emit_branch(
        &mut self,
        (condition, taken, other): (Expression, usize, usize),
        heads: &SortedSet<usize>,
        waiting: &mut Waiting,
    ) -> Result<Statement, Diagnostic> {
        let span = condition.span;
        if self.only_here(taken, waiting).is_none() && self.only_here(other, waiting).is_none() {
            let [taken, other] = [taken, other].map(|target| Box::new(number(target, span)));
            let kind = ExpressionKind::Select(Box::new(condition), taken, other);
            return Ok(self.assign_next(Expression { span, width: 32, kind }));
        }
        self.n_branches += 1;
        let mut arms = [Vec::new(), Vec::new()];
        for (target, arm) in [taken, other].into_iter().zip(&mut arms) {
            match self.only_here(target, waiting) {
                Some(part) => self.emit_part(&part, heads, waiting, arm)?,
                None => arm.push(self.go_to(target, span)),
            }
        }
        self.n_branches -= 1;
        let [then, otherwise] = arms;
        Ok(Statement { span, kind: StatementKind::If { condition, then, otherwise } })
    }

    /// A block that goes back to itself until a condition holds, as the loop that it is.
    fn emit_spin(&mut self, index: usize) -> Option<Statement> {
        let block = &self.blocks[index];
        let Exit::Branch(condition, taken, other) = &block.exit else { return None };
        let stays_if = match (*taken == index, *other == index) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        let (span, prelude) = (block.span, block.statements.clone());
        let not = |condition: &Expression| Expression {
            span: condition.span,
            width: 1,
            kind: ExpressionKind::Unary(UnaryOp::Not, Box::new(condition.clone())),
        };
        let id = self.loops.push(Loop { span });
        let is_quiet = prelude.iter().all(|statement| match &statement.kind {
            StatementKind::Assign { .. } => true,
            StatementKind::Instruction(instruction) => instruction.form.traits.quiet,
            _ => false,
        });
        let kind = if is_quiet {
            let condition = if stays_if { not(condition) } else { condition.clone() };
            StatementKind::Await { id, prelude, condition }
        } else {
            let condition = if stays_if { condition.clone() } else { not(condition) };
            StatementKind::While { id, prelude, condition, body: Vec::new() }
        };
        Some(Statement { span, kind })
    }

    fn emit_loop(
        &mut self,
        part: &SortedSet<usize>,
        entries: &SortedSet<usize>,
    ) -> Result<Vec<Statement>, Diagnostic> {
        let is_single = entries.len() == 1;
        let head = entries.first().or(part.first()).copied().unwrap_or(0);
        let span = self.blocks[head].span;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("the jumps make loops nested more than {DEPTH_MAX} deep");
            return Err(Diagnostic::new("limit::nesting", message, span, "in the loop from here"));
        }
        let mut body = Vec::new();
        self.emit(part, &SortedSet::from([head]), is_single.then_some(head), &mut body)?;
        self.depth -= 1;
        let mut body = self.leave_at_once(body, head);
        if self.goes_to(&body) != Some(head) {
            let again = self.is_next(&SortedSet::from([head]), span);
            let leave = Statement { span, kind: StatementKind::Break };
            let kind = StatementKind::If { condition: again, then: Vec::new(), otherwise: vec![leave] };
            body.push(Statement { span, kind });
            // On this path it is known; said again, so that a spin is seen to change nothing.
            body.push(self.go_to(head, span));
        }
        let id = self.loops.push(Loop { span });
        let condition = Expression { span, width: 1, kind: ExpressionKind::Constant(1) };
        let kind = StatementKind::While { id, prelude: Vec::new(), condition, body };
        let mut statements = Vec::new();
        if is_single {
            statements.push(self.go_to(head, span));
        }
        statements.push(Statement { span, kind });
        Ok(statements)
    }

    /// The body of a loop, left where a last branch leads out of it; what is in its other arm comes behind it then.
    fn leave_at_once(&self, mut body: Vec<Statement>, head: usize) -> Vec<Statement> {
        let mut out = Vec::new();
        loop {
            let leads_out = |arm: &[Statement]| self.goes_to(arm).is_some_and(|target| target != head);
            let (span, condition, mut arms, leaving) = match body.pop() {
                Some(Statement { span, kind: StatementKind::If { condition, then, otherwise } })
                    if leads_out(&then) || leads_out(&otherwise) =>
                {
                    let leaving = usize::from(!leads_out(&then));
                    (span, condition, [then, otherwise], leaving)
                }
                last => {
                    out.append(&mut body);
                    out.extend(last);
                    return out;
                }
            };
            let staying = std::mem::take(&mut arms[1 - leaving]);
            arms[leaving].push(Statement { span, kind: StatementKind::Break });
            out.append(&mut body);
            let [then, otherwise] = arms;
            out.push(Statement { span, kind: StatementKind::If { condition, then, otherwise } });
            body = staying;
        }
    }

    /// The block that some statements say is next in the end, if it is the same whatever they do.
    fn goes_to(&self, statements: &[Statement]) -> Option<usize> {
        match &statements.last()?.kind {
            StatementKind::Assign { register, value } if *register == self.next => match value.kind {
                ExpressionKind::Constant(target) => usize::try_from(target).ok(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The blocks of `part` that control can come to from elsewhere.
    fn entries(&self, part: &SortedSet<usize>) -> SortedSet<usize> {
        let mut entries: SortedSet<usize> = self
            .blocks
            .iter()
            .enumerate()
            .filter(|(from, _)| !part.contains(from))
            .flat_map(|(_, block)| block.successors())
            .filter(|to| part.contains(to))
            .collect();
        if part.contains(&0) {
            entries.insert(0);
        }
        entries
    }

    /// The strongly connected parts of `nodes`, in topological order.
    fn parts(&self, nodes: &SortedSet<usize>, heads: &SortedSet<usize>) -> Vec<SortedSet<usize>> {
        let inside = |to: &usize| nodes.contains(to) && !heads.contains(to);
        let edges = |from: usize| self.blocks[from].successors().into_iter().filter(inside);
        // Reverse post-order of the graph, then the parts by walking back (Kosaraju), without recursion.
        let mut order = Vec::new();
        let mut seen: SortedSet<usize> = SortedSet::new();
        for &root in nodes {
            let mut stack = vec![(root, false)];
            while let Some((node, is_done)) = stack.pop() {
                if is_done {
                    order.push(node);
                } else if seen.insert(node) {
                    stack.push((node, true));
                    stack.extend(edges(node).filter(|to| !seen.contains(to)).map(|to| (to, false)));
                }
            }
        }
        let mut back: SortedMap<usize, Vec<usize>> = SortedMap::new();
        for &from in nodes {
            for to in edges(from) {
                back.entry(to).or_default().push(from);
            }
        }
        let mut parts = Vec::new();
        let mut placed: SortedSet<usize> = SortedSet::new();
        for &root in order.iter().rev() {
            let mut part = SortedSet::new();
            let mut stack = vec![root];
            while let Some(node) = stack.pop() {
                if placed.insert(node) {
                    part.insert(node);
                    stack.extend(back.get(&node).into_iter().flatten());
                }
            }
            if !part.is_empty() {
                parts.push(part);
            }
        }
        parts
    }

    fn go_to(&self, target: usize, span: Span) -> Statement {
        self.assign_next(number(target, span))
    }

    fn assign_next(&self, value: Expression) -> Statement {
        Statement { span: value.span, kind: StatementKind::Assign { register: self.next, value } }
    }

    /// Whether one of the blocks is next.
    fn is_next(&self, part: &SortedSet<usize>, span: Span) -> Expression {
        let mut any: Option<Expression> = None;
        for &block in part {
            let next = Expression { span, width: 32, kind: ExpressionKind::Register(self.next) };
            let same = binary(BinaryOp::Equal, next, number(block, span), span);
            any = Some(match any {
                Some(any) => binary(BinaryOp::Or, any, same, span),
                None => same,
            });
        }
        any.unwrap_or(Expression { span, width: 1, kind: ExpressionKind::Constant(0) })
    }
}

fn number(value: usize, span: Span) -> Expression {
    Expression { span, width: 32, kind: ExpressionKind::Constant(value as u128) }
}

fn binary(op: BinaryOp, left: Expression, right: Expression, span: Span) -> Expression {
    Expression { span, width: 1, kind: ExpressionKind::Binary(op, Box::new(left), Box::new(right)) }
}
