//! Names to terms: follows includes, picks variants, inlines functions, and checks what the grammar cannot.
//!
//! A name means what was defined last before its use; a function sees the names that were defined before it.

use super::ast::{BinaryOperator, Binding, Expr, ExprKind, Name, Statement, UnaryOperator};
use super::memory_model::{
    Axiom, AxiomKind, BaseRelation, BaseSet, Flag, MemoryModel, RecursiveId, RelationKind, SetKind, TermId,
    TermKind, Variant,
};
use super::parse::parse;
use super::scope::{Definition, Function, Predefined, ScopeId, Scopes};
use super::terms::{Operand, Sort, Terms, Value};
use crate::diagnostic::Diagnostic;
use crate::index::{Id, IndexVec};
use crate::sorted::SortedSet;
use crate::source::SourceMap;
use crate::span::Span;
use std::rc::Rc;

/// How deep inlined functions and the expressions in them may nest.
const DEPTH_LIMIT: usize = 512;
/// How many expressions inlining may produce; doubling functions reach any number in a few lines.
const WORK_LIMIT: usize = 1_000_000;
/// How many files one model may include.
const INCLUDE_LIMIT: usize = 256;

/// Gives the text of a file, or why there is none.
pub(super) type Read<'run> = &'run mut dyn FnMut(&str) -> Result<String, String>;

/// The expression was reported already; nothing more is to be said about what uses it.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Resolved<T> = Result<T, Reported>;

pub(super) struct Resolver<'run> {
    sources: &'run mut SourceMap,
    read: Read<'run>,
    variants: &'run [String],
    /// The variants that the files ask for.
    asked: SortedSet<String>,
    diagnostics: Vec<Diagnostic>,
    terms: Terms,
    recursive: IndexVec<RecursiveId, TermId>,
    scopes: Scopes,
    /// What a top-level statement sees.
    top: ScopeId,
    definitions: Vec<(String, TermId)>,
    described: Vec<Variant>,
    axioms: Vec<Axiom>,
    flags: Vec<Flag>,
    /// The files being read, outermost first.
    open: Vec<String>,
    includes: usize,
    unnamed: (usize, usize),
    depth: usize,
    work: usize,
}

impl<'run> Resolver<'run> {
    /// One that has read nothing.
    pub(super) fn new(sources: &'run mut SourceMap, read: Read<'run>, variants: &'run [String]) -> Self {
        let scopes = Scopes::default();
        let top = scopes.root();
        Self {
            sources,
            read,
            variants,
            asked: SortedSet::new(),
            diagnostics: Vec::new(),
            terms: Terms::default(),
            recursive: IndexVec::new(),
            scopes,
            top,
            definitions: Vec::new(),
            described: Vec::new(),
            axioms: Vec::new(),
            flags: Vec::new(),
            open: Vec::new(),
            includes: 0,
            unnamed: (0, 0),
            depth: 0,
            work: 0,
        }
    }

    /// The model in the file `path` with the text `text`.
    pub(super) fn run(mut self, path: &str, text: String) -> Result<MemoryModel, Vec<Diagnostic>> {
        let title = self.file(path, text);
        let unknown = self.variants.iter().find(|variant| !self.asked.contains(*variant));
        if let (Some(variant), true) = (unknown, self.diagnostics.is_empty()) {
            let file = self.sources.add(path, "");
            let message = format!("the model has no variant `{variant}`");
            let error = Diagnostic::new("cat::unknown-variant", message, Span::new(file, 0, 0), "");
            let known: Vec<String> = self.asked.iter().map(|name| format!("`{name}`")).collect();
            self.diagnostics.push(if known.is_empty() {
                error.with_help("it has no variants")
            } else {
                error.with_help(format!("it has {}", known.join(", ")))
            });
        }
        if !self.diagnostics.is_empty() {
            return Err(self.diagnostics);
        }
        Ok(MemoryModel {
            variants: self.variants.to_vec(),
            name: title.unwrap_or_else(|| path.to_owned()),
            terms: self.terms.nodes,
            recursive: self.recursive,
            definitions: self.definitions,
            described: self.described,
            axioms: self.axioms,
            flags: self.flags,
        })
    }

    /// Adds a file's statements to the model; returns its title.
    fn file(&mut self, path: &str, text: String) -> Option<String> {
        let id = self.sources.add(path, text.clone());
        let syntax_errors = self.diagnostics.len();
        let parsed = parse(id, &text, &mut self.diagnostics);
        // Half of a file would only produce unknown names.
        if self.diagnostics.len() == syntax_errors {
            self.open.push(path.to_owned());
            for statement in &parsed.statements {
                self.statement(statement);
            }
            self.open.pop();
        }
        self.described.extend(parsed.variants);
        parsed.title.map(|name| name.text)
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Show => {}
            Statement::Include(path) => self.include(path),
            Statement::Let { recursive: true, bindings } => self.recursive_group(bindings),
            Statement::Let { recursive: false, bindings } => {
                self.top = self.bind(bindings, self.top);
                for binding in bindings {
                    if let Some(Definition::Value(value)) = self.scopes.find(self.top, &binding.name.text) {
                        let value = *value;
                        let term = self.terms.node(value, binding.name.span);
                        self.definitions.push((binding.name.text.clone(), term));
                    }
                }
            }
            Statement::Check { flag, negated, kind, term, name, span } => {
                self.check((*flag, *negated), *kind, term, name.as_ref(), *span);
            }
        }
    }

    fn include(&mut self, name: &Name) {
        if self.includes >= INCLUDE_LIMIT {
            let message = format!("more than {INCLUDE_LIMIT} files are included");
            self.report_once(Diagnostic::new("cat::too-many-includes", message, name.span, "one too many"));
            return;
        }
        self.includes += 1;
        // Beside the file that includes it, else as it is written.
        let folder = self.open.last().and_then(|open| open.rfind('/').map(|at| &open[..=at]));
        let beside = format!("{}{}", folder.unwrap_or(""), name.text);
        let mut path = beside.clone();
        let mut text = (self.read)(&path);
        if text.is_err() && beside != name.text {
            path.clone_from(&name.text);
            text = (self.read)(&path).or(text);
        }
        if self.open.contains(&path) {
            let message = format!("`{path}` includes itself");
            self.report(Diagnostic::new("cat::include-cycle", message, name.span, "this closes the cycle"));
            return;
        }
        match text {
            Ok(text) => {
                self.file(&path, text);
            }
            Err(reason) => {
                let message = format!("cannot read `{beside}`: {reason}");
                self.report(Diagnostic::new("cat::include", message, name.span, "included here"));
            }
        }
    }

    fn check(
        &mut self,
        (flag, negated): (bool, bool),
        kind: AxiomKind,
        expr: &Expr,
        name: Option<&Name>,
        span: Span,
    ) {
        let Ok(value) = self.expr(expr, self.top) else { return };
        if flag != negated {
            let (message, help) = if negated {
                (
                    "a check with `~` holds of some executions only, so it cannot be an axiom",
                    "write `flag ~…` to report such executions",
                )
            } else {
                (
                    "`flag` reports what should not be, so it needs a `~`",
                    "write `flag ~empty r as name` to report executions in which `r` has a member",
                )
            };
            self.report(
                Diagnostic::new("cat::unsupported-check", message, span, "this check").with_help(help),
            );
            return;
        }
        let operand = (value, expr.span);
        let Ok(term) = self.checked_term(kind, flag, operand) else { return };
        if flag {
            self.unnamed.1 += usize::from(name.is_none());
            let name = name.map_or_else(|| format!("flag-{}", self.unnamed.1), |name| name.text.clone());
            self.flags.push(Flag { name, term, span });
        } else {
            self.unnamed.0 += usize::from(name.is_none());
            let name = name.map_or_else(|| format!("axiom-{}", self.unnamed.0), |name| name.text.clone());
            self.axioms.push(Axiom { name, kind, term, span });
        }
    }

    /// The term a check is about. A flag is always about emptiness: `~acyclic r` is `~empty (r+ & id)`.
    fn checked_term(&mut self, kind: AxiomKind, flag: bool, operand: Operand) -> Resolved<TermId> {
        let span = operand.1;
        let symbol = match kind {
            AxiomKind::Empty => return Ok(self.terms.node(operand.0, span)),
            AxiomKind::Acyclic => "acyclic",
            AxiomKind::Irreflexive => "irreflexive",
        };
        let term = self.terms.operand(operand, Sort::Relation, symbol, span);
        let term = self.or_report(term)?;
        if !flag {
            return Ok(term);
        }
        let mut cycle = Value::Relation(term);
        if kind == AxiomKind::Acyclic {
            let closed = self.terms.unary(UnaryOperator::TransitiveClosure, (cycle, span), span);
            cycle = self.or_report(closed)?;
        }
        let identity = self.terms.base_relation(BaseRelation::Identity, span);
        let met = self.terms.binary(BinaryOperator::Intersection, (cycle, span), (identity, span), span);
        let met = self.or_report(met)?;
        Ok(self.terms.node(met, span))
    }

    /// Non-recursive definitions: none of a group sees the others.
    fn bind(&mut self, bindings: &[Binding], scope: ScopeId) -> ScopeId {
        let mut inner = scope;
        for binding in bindings {
            let definition = match &binding.parameters {
                None => self.expr(&binding.body, scope).map_or(Definition::Broken, Definition::Value),
                Some(parameters) => {
                    // With unknown parameters, a body has no sorts to get wrong, but its names can be checked.
                    let mut inside = scope;
                    for parameter in parameters {
                        inside = self.scopes.push(inside, &parameter.text, Definition::Broken);
                    }
                    let _ = self.expr(&binding.body, inside);
                    Definition::Function(Rc::new(Function {
                        parameters: parameters.iter().map(|name| name.text.clone()).collect(),
                        body: Rc::clone(&binding.body),
                        scope,
                        name: binding.name.span,
                    }))
                }
            };
            inner = self.scopes.push(inner, &binding.name.text, definition);
        }
        inner
    }

    fn recursive_group(&mut self, bindings: &[Binding]) {
        let first = self.recursive.len();
        for binding in bindings {
            let id = self.recursive.next_id();
            let value = self.terms.recursive(id, binding.name.span);
            let term = self.terms.node(value, binding.name.span);
            // Until its body is known, the relation stands for itself.
            self.recursive.push(term);
            self.top = self.scopes.push(self.top, &binding.name.text, Definition::Value(value));
            self.definitions.push((binding.name.text.clone(), term));
        }
        for (binding, at) in bindings.iter().zip(first..) {
            if binding.parameters.is_some() {
                let name = &binding.name;
                self.report(
                    Diagnostic::new(
                        "cat::recursive-function",
                        format!("the function `{}` cannot be recursive", name.text),
                        name.span,
                        "has parameters",
                    )
                    .with_help("`let rec` defines relations; write a function with `let`"),
                );
                continue;
            }
            let Ok(value) = self.expr(&binding.body, self.top) else { continue };
            let operand = (value, binding.body.span);
            let body = self.terms.operand(operand, Sort::Relation, "let rec", operand.1);
            if let Ok(body) = self.or_report(body) {
                self.recursive[RecursiveId::from_index(at)] = body;
            }
        }
        for (binding, at) in bindings.iter().zip(first..) {
            self.check_positive(binding, RecursiveId::from_index(at), first);
        }
    }

    /// Reports a use of the group that starts at `first` where more of it would mean less of `id`.
    fn check_positive(&mut self, binding: &Binding, id: RecursiveId, first: usize) {
        let mut seen = [vec![false; self.terms.nodes.len()], vec![false; self.terms.nodes.len()]];
        // Each entry: a node, and the innermost `\` or `~` above it.
        let mut pending: Vec<(TermId, Option<Span>)> = vec![(self.recursive[id], None)];
        while let Some((term, negation)) = pending.pop() {
            let was_seen = &mut seen[usize::from(negation.is_some())][term.index()];
            if std::mem::replace(was_seen, true) {
                continue;
            }
            let node = &self.terms.nodes[term];
            if let (TermKind::Relation(RelationKind::Recursive(used)), Some(span)) = (&node.kind, negation)
                && used.index() >= first
            {
                let diagnostic = Diagnostic::new(
                    "cat::negative-recursion",
                    format!("the recursion of `{}` goes through a negation", binding.name.text),
                    span,
                    "takes away what is being defined",
                )
                .with_label(binding.name.span, "defined here")
                .with_help("keep `let rec` names off the right side of `\\` and out of `~`, else there is no least solution");
                self.report(diagnostic);
                return;
            }
            let (positive, negative) = operands(&node.kind);
            pending.extend(positive.into_iter().flatten().map(|operand| (operand, negation)));
            pending.extend(negative.map(|operand| (operand, Some(node.span))));
        }
    }

    fn expr(&mut self, expr: &Expr, scope: ScopeId) -> Resolved<Value> {
        self.work += 1;
        if self.work > WORK_LIMIT {
            if self.work == WORK_LIMIT + 1 {
                self.report(
                    Diagnostic::new(
                        "cat::too-large",
                        format!(
                            "the model has more than {WORK_LIMIT} operators once its functions are inlined"
                        ),
                        expr.span,
                        "the limit is reached here",
                    )
                    .with_help("look for functions that use their argument, or each other, many times"),
                );
            }
            return Err(Reported);
        }
        if self.depth >= DEPTH_LIMIT {
            return Err(self.report_once(
                Diagnostic::new(
                    "cat::too-deep",
                    format!("functions and expressions nest deeper than {DEPTH_LIMIT} levels here"),
                    expr.span,
                    "the limit is reached here",
                )
                .with_help("name intermediate results with `let`"),
            ));
        }
        self.depth += 1;
        let value = self.expr_kind(expr, scope);
        self.depth -= 1;
        value
    }

    fn expr_kind(&mut self, expr: &Expr, scope: ScopeId) -> Resolved<Value> {
        match &expr.kind {
            ExprKind::Empty => Ok(Value::Empty),
            ExprKind::Universe => Ok(self.terms.base_set(BaseSet::All, expr.span)),
            ExprKind::Name(name) => self.name(name, expr.span, scope),
            ExprKind::Apply(function, arguments) => self.apply(function, arguments, expr.span, scope),
            ExprKind::Unary(operator, operand) => {
                let value = self.expr(operand, scope)?;
                let result = self.terms.unary(*operator, (value, operand.span), expr.span);
                self.or_report(result)
            }
            ExprKind::Binary(operator, left, right) => {
                // Both before either is given up, so that each side's errors are seen.
                let (a, b) = (self.expr(left, scope), self.expr(right, scope));
                let result = self.terms.binary(*operator, (a?, left.span), (b?, right.span), expr.span);
                self.or_report(result)
            }
            ExprKind::Choice(variant, yes, no) => {
                // The branch not taken is checked too: a variant must not hide errors.
                let (yes, no) = (self.expr(yes, scope), self.expr(no, scope));
                self.asked.insert(variant.text.clone());
                if self.variants.contains(&variant.text) { yes } else { no }
            }
            ExprKind::Local(bindings, body) => {
                let inner = self.bind(bindings, scope);
                self.expr(body, inner)
            }
        }
    }

    fn name(&mut self, name: &str, span: Span, scope: ScopeId) -> Resolved<Value> {
        match self.scopes.find(scope, name) {
            Some(Definition::Value(value)) => Ok(*value),
            Some(Definition::Broken) => Err(Reported),
            Some(Definition::Function(function)) => {
                let (declared, count) = (function.name, function.parameters.len());
                Err(self.report(needs_arguments(name, span, count).with_label(declared, "defined here")))
            }
            None => match Predefined::from_name(name) {
                Some(Predefined::Function(_)) => Err(self.report(needs_arguments(name, span, 1))),
                Some(predefined) => Ok(predefined.value(&mut self.terms, span)),
                None => Err(self.unknown(name, span, scope)),
            },
        }
    }

    fn apply(&mut self, name: &Name, arguments: &[Expr], span: Span, scope: ScopeId) -> Resolved<Value> {
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.expr(argument, scope).map(|value| (value, argument.span)));
        }
        let found = self.scopes.find(scope, &name.text).cloned();
        let not_a_function = match found {
            Some(Definition::Function(function)) => {
                self.argument_count(name, arguments.len(), function.parameters.len(), Some(function.name))?;
                return self.inline(&function, values, span);
            }
            Some(Definition::Broken) => return Err(Reported),
            Some(Definition::Value(_)) => true,
            None => match Predefined::from_name(&name.text) {
                Some(Predefined::Function(function)) => {
                    self.argument_count(name, arguments.len(), 1, None)?;
                    let argument = values.pop().unwrap_or(Err(Reported))?;
                    let result = function.apply(&mut self.terms, argument, span);
                    return self.or_report(result);
                }
                other => other.is_some(),
            },
        };
        if !not_a_function {
            return Err(self.unknown(&name.text, name.span, scope));
        }
        let diagnostic = Diagnostic::new(
            "cat::not-a-function",
            format!("`{}` is not a function", name.text),
            name.span,
            "used as a function",
        );
        Err(self.report(diagnostic.with_help("put an operator such as `;` or `&` after it")))
    }

    fn inline(
        &mut self,
        function: &Function,
        arguments: Vec<Resolved<Operand>>,
        call: Span,
    ) -> Resolved<Value> {
        let mut inside = function.scope;
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            inside = self.scopes.push(inside, parameter, Definition::Value(argument?.0));
        }
        let before = self.diagnostics.len();
        let value = self.expr(&function.body, inside);
        // What is wrong in a body with these arguments is the caller's business.
        for diagnostic in &mut self.diagnostics[before..] {
            if diagnostic.labels.len() < 4 {
                diagnostic.labels.push(crate::Label { span: call, text: "in this use".to_owned() });
            }
        }
        value
    }

    fn argument_count(
        &mut self,
        name: &Name,
        given: usize,
        wanted: usize,
        declared: Option<Span>,
    ) -> Resolved<()> {
        if given == wanted {
            return Ok(());
        }
        let plural = if wanted == 1 { "" } else { "s" };
        let mut diagnostic = Diagnostic::new(
            "cat::argument-count",
            format!("`{}` takes {wanted} argument{plural}, and {given} are given", name.text),
            name.span,
            "used here",
        );
        if let Some(declared) = declared {
            diagnostic = diagnostic.with_label(declared, "defined here");
        }
        Err(self.report(diagnostic))
    }

    fn unknown(&mut self, name: &str, span: Span, scope: ScopeId) -> Reported {
        let message = format!("nothing is called `{name}` here");
        let mut diagnostic = Diagnostic::new("cat::unknown-name", message, span, "not defined");
        if let Some(similar) = self.scopes.similar(scope, name) {
            diagnostic = diagnostic.with_help(format!("did you mean `{similar}`?"));
        }
        self.report(diagnostic)
    }

    fn or_report<T>(&mut self, result: Result<T, Diagnostic>) -> Resolved<T> {
        result.map_err(|diagnostic| self.report(diagnostic))
    }

    /// A limit that is passed in one place is passed in many.
    fn report_once(&mut self, diagnostic: Diagnostic) -> Reported {
        if !self.diagnostics.iter().any(|one| one.code == diagnostic.code) {
            self.diagnostics.push(diagnostic);
        }
        Reported
    }

    /// A function's body is looked at for every use; what is wrong in it is said once.
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        let same = |one: &Diagnostic| one.code == diagnostic.code && one.span() == diagnostic.span();
        if !self.diagnostics.iter().any(same) {
            self.diagnostics.push(diagnostic);
        }
        Reported
    }
}

fn needs_arguments(name: &str, span: Span, count: usize) -> Diagnostic {
    let plural = if count == 1 { "" } else { "s" };
    Diagnostic::new(
        "cat::missing-arguments",
        format!("`{name}` is a function of {count} argument{plural}"),
        span,
        "used without arguments",
    )
}

/// The operands of which more means more of the term, and the one of which more means less.
fn operands(kind: &TermKind) -> ([Option<TermId>; 2], Option<TermId>) {
    match kind {
        TermKind::Set(kind) => match kind {
            SetKind::Base(_) | SetKind::Empty => ([None, None], None),
            SetKind::Union(a, b) | SetKind::Intersection(a, b) => ([Some(*a), Some(*b)], None),
            SetKind::Difference(a, b) => ([Some(*a), None], Some(*b)),
            SetKind::Complement(a) => ([None, None], Some(*a)),
            SetKind::Domain(a) | SetKind::Range(a) => ([Some(*a), None], None),
        },
        TermKind::Relation(kind) => match kind {
            RelationKind::Base(_) | RelationKind::Empty | RelationKind::Recursive(_) => ([None, None], None),
            RelationKind::Union(a, b)
            | RelationKind::Intersection(a, b)
            | RelationKind::Sequence(a, b)
            | RelationKind::Product(a, b) => ([Some(*a), Some(*b)], None),
            RelationKind::Difference(a, b) => ([Some(*a), None], Some(*b)),
            RelationKind::Complement(a) => ([None, None], Some(*a)),
            RelationKind::Inverse(a)
            | RelationKind::Optional(a)
            | RelationKind::TransitiveClosure(a)
            | RelationKind::ReflexiveTransitiveClosure(a)
            | RelationKind::Identity(a) => ([Some(*a), None], None),
        },
    }
}
