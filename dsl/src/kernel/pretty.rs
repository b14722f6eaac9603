//! A syntax tree back to text in the canonical layout, comments and single blank lines kept.
//!
//! Parsing the result gives the same tree, with the modifiers of each opcode in PTX's order. Comments inside an expression move
//! to the end of its statement. Those behind lines that stand in one column stay in one.

use super::ast::{
    Block, Comment, Else, Expr, ExprKind, File, HostCall, Initial, Item, ItemKind, Memory, Object, Operand,
    Pattern, Range, Setting, SettingValue, Statement, StatementKind, UnaryOp, View,
};
use super::isa;
use crate::vocabulary::Proxy;
use std::fmt::Write as _;

/// The canonical text of a file. `None` if the tree has holes where the text did not parse.
pub fn pretty(file: &File) -> Option<String> {
    let mut printer = Printer {
        out: String::new(),
        indent: 0,
        comments: &file.comments,
        behind: Vec::new(),
        has_error: false,
    };
    for item in &file.items {
        printer.item(item);
    }
    printer.comments_before(u32::MAX, false);
    if printer.has_error {
        return None;
    }
    while printer.out.ends_with("\n\n") {
        printer.out.pop();
    }
    Some(aligned(&printer.out, &printer.behind))
}

/// Comments behind lines, each in the column where the one before it or behind it stands, if they shared one: further right
/// where a line has grown.
fn aligned(text: &str, behind: &[Behind]) -> String {
    let width = |of: &Behind| {
        let start = text[..of.at].rfind('\n').map_or(0, |at| at + 1);
        text[start..of.at].chars().count()
    };
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for group in behind.chunk_by(|one, next| one.column == next.column) {
        let is_alone = group.len() == 1;
        let needed = group.iter().map(|of| width(of) + GAP).max().unwrap_or(0);
        for of in group {
            let column = if is_alone { 0 } else { needed.max(of.column) };
            out += &text[from..of.at];
            out += &" ".repeat(column.saturating_sub(width(of) + GAP));
            from = of.at;
        }
    }
    out + &text[from..]
}

/// Blanks before a comment behind a line, at least.
const GAP: usize = 2;

/// A comment behind a line.
struct Behind {
    /// Where in the text its blanks begin.
    at: usize,
    /// Where it stood in its line.
    column: usize,
}

/// Longest line that is made by joining others, in characters.
const LINE_MAX: usize = 110;

struct Printer<'a> {
    out: String,
    indent: usize,
    /// Not yet printed.
    comments: &'a [Comment],
    /// Printed behind lines.
    behind: Vec<Behind>,
    has_error: bool,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = 4 * self.indent);
    }

    /// Prints the comments that start before `end`; the first of them may stand behind what is printed already. Whether another
    /// one still may.
    fn comments_before(&mut self, end: u32, may_trail: bool) -> bool {
        let mut may_trail = may_trail;
        while let Some((comment, rest)) = self.comments.split_first()
            && comment.place.0.start < end
        {
            self.comments = rest;
            if comment.text.is_empty() {
                let at_start = self.out.is_empty() || self.out.ends_with("\n\n") || self.out.ends_with("{\n");
                if !at_start {
                    self.out.push('\n');
                }
                may_trail = false;
            } else if may_trail && !comment.own_line && self.out.ends_with('\n') {
                self.out.pop();
                self.behind.push(Behind { at: self.out.len(), column: comment.column });
                let _ = writeln!(self.out, "{:GAP$}{}", "", comment.text);
                // A second comment behind this one would become part of it.
                may_trail = false;
            } else {
                self.line(&comment.text);
                may_trail = false;
            }
        }
        may_trail
    }

    /// Prints comments that belong behind a finished line: those inside it, and one on the same line after it.
    fn trailing(&mut self, end: u32) {
        let may_trail = self.comments_before(end, true);
        if let Some(next) = self.comments.first()
            && !next.own_line
            && next.after.0.end <= end
        {
            self.comments_before(next.place.0.start + 1, may_trail);
        }
    }

    fn item(&mut self, item: &Item) {
        let span = item.place.0;
        self.comments_before(span.start, false);
        match &item.kind {
            ItemKind::Use(path) => self.line(&format!("use \"{}\";", path.text)),
            ItemKind::Constant { name, value } => {
                self.line(&format!("const {} = {};", name.text, expr(value)))
            }
            ItemKind::Function(function) => {
                let parameters: Vec<String> = function
                    .parameters
                    .iter()
                    .map(|p| format!("{}: {}{}", p.name.text, if p.reference { "&" } else { "" }, p.ty.text))
                    .collect();
                let result = function.result.as_ref().map_or(String::new(), |ty| format!(" -> {}", ty.text));
                let head = format!("fn {}({}){result}", function.name.text, parameters.join(", "));
                self.block(&head, &function.body, "");
            }
            ItemKind::Object(object) => self.object(object),
            ItemKind::View(view) => self.view(view),
            ItemKind::Kernel(kernel) | ItemKind::Program(kernel) => {
                let what = if matches!(item.kind, ItemKind::Program(_)) { "program" } else { "kernel" };
                let parameters: Vec<String> = kernel
                    .parameters
                    .iter()
                    .map(|p| format!("{} in {}", p.name.text, range(&p.range)))
                    .collect();
                let list = if parameters.is_empty() {
                    String::new()
                } else {
                    format!("({})", parameters.join(", "))
                };
                self.block(&format!("{what} {}{list}", kernel.name.text), &kernel.body, "");
            }
            ItemKind::Import(import) => {
                let (path, word, entry, name) =
                    (&import.path.text, &import.word.text, &import.entry.text, &import.name.text);
                self.block(&format!("import \"{path}\" {word} {entry} as {name}"), &import.body, "");
            }
            ItemKind::Error => self.has_error = true,
        }
        self.trailing(span.end);
    }

    /// `head {`, the statements, `}` and `tail`.
    fn block(&mut self, head: &str, block: &Block, tail: &str) {
        self.line(&format!("{head} {{"));
        self.block_inside(block);
        self.line(&format!("}}{tail}"));
    }

    /// Puts a block of one short statement on one line.
    fn join_lines_since(&mut self, start: usize) {
        let lines: Vec<&str> = self.out[start..].lines().collect();
        let [head, inside, end] = lines.as_slice() else { return };
        let joined = format!("{head} {} {}", inside.trim(), end.trim());
        if joined.chars().count() <= LINE_MAX && !joined.contains("//") {
            self.out.truncate(start);
            self.behind.retain(|of| of.at < start);
            let _ = writeln!(self.out, "{joined}");
        }
    }

    fn block_inside(&mut self, block: &Block) {
        self.indent += 1;
        // Comments between the head and its brace, and one behind the brace.
        self.trailing(block.place.0.start + 1);
        for statement in &block.statements {
            self.comments_before(statement.place.0.start, false);
            self.statement(statement);
            self.trailing(statement.place.0.end);
        }
        self.comments_before(block.place.0.end.saturating_sub(1), false);
        if self.out.ends_with("\n\n") {
            self.out.pop();
        }
        self.indent -= 1;
    }

    fn statement(&mut self, statement: &Statement) {
        let ty =
            |ty: &Option<super::ast::Name>| ty.as_ref().map_or(String::new(), |ty| format!(": {}", ty.text));
        match &statement.kind {
            StatementKind::Launch { name, fields } => {
                let name = name.as_ref().map_or(String::new(), |name| format!("{} ", name.text));
                let fields: Vec<String> =
                    fields.iter().map(|(n, v)| format!("{}: {}", n.text, expr(v))).collect();
                let fields =
                    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) };
                self.line(&format!("launch {name}{fields}"));
            }
            StatementKind::Object(object) => self.object(object),
            StatementKind::View(view) => self.view(view),
            StatementKind::Host(call) => self.line(&host_call(call)),
            StatementKind::Setting(given) => self.line(&setting(given)),
            StatementKind::Final(block) => {
                let start = self.out.len();
                self.block("final", block, "");
                self.join_lines_since(start);
            }
            StatementKind::Client { name, body } => self.block(&format!("client {}", name.text), body, ""),
            StatementKind::Let { pattern, ty: annotation, value } => {
                self.line(&format!("let {}{} = {};", names(pattern), ty(annotation), top(value)));
            }
            StatementKind::Var { name, ty: annotation, value } => {
                self.line(&format!("var {}{} = {};", name.text, ty(annotation), top(value)));
            }
            StatementKind::Assign { name, op, value } => {
                let op = op.map_or("", super::ast::BinaryOp::symbol);
                self.line(&format!("{} {op}= {};", name.text, top(value)));
            }
            StatementKind::Expr(value) => self.line(&format!("{};", top(value))),
            StatementKind::If { condition, then, otherwise } => {
                self.line(&format!("if {} {{", expr(condition)));
                self.branches(then, otherwise.as_ref());
            }
            StatementKind::For { name, range: values, body } => {
                self.block(&format!("for {} in {}", name.text, range(values)), body, "");
            }
            StatementKind::While { condition, body } => {
                self.block(&format!("while {}", expr(condition)), body, "")
            }
            StatementKind::Loop(body) => self.block("loop", body, ""),
            StatementKind::Break => self.line("break;"),
            StatementKind::Exit => self.line("exit;"),
            StatementKind::Await(value) => self.line(&format!("await {};", top(value))),
            StatementKind::Assert(value) => self.line(&format!("assert {};", top(value))),
            StatementKind::Assume(value) => self.line(&format!("assume {};", top(value))),
            StatementKind::Reachable(value) => self.line(&format!("reachable {};", top(value))),
            StatementKind::Return(None) => self.line("return;"),
            StatementKind::Return(Some(value)) => self.line(&format!("return {};", top(value))),
            StatementKind::Error => self.has_error = true,
        }
    }

    fn object(&mut self, object: &Object) {
        let space = match (object.proxy, object.replication.keyword()) {
            (_, Some(keyword)) => keyword.to_owned(),
            (Proxy::Generic, None) => object.space.to_string(),
            (proxy, None) => proxy.name().to_owned(),
        };
        let initial = object.initial.as_ref().map_or(String::new(), |value| format!(" = {}", initial(value)));
        let alias = object.alias.as_ref().map_or(String::new(), |of| format!(" alias {}", of.text));
        let tensor = object.tensor.as_ref().map_or(String::new(), |tensor| {
            format!(" of {}[{}]", tensor.of.text, list(&tensor.box_dimensions))
        });
        let dimensions = indices(&object.dimensions);
        self.line(&format!(
            "{space} {}{dimensions}: {}{initial}{alias}{tensor};",
            object.name.text, object.ty.text
        ));
    }

    fn view(&mut self, view: &View) {
        let offset = view.offset.as_ref().map_or(String::new(), |offset| format!(" + {}", expr(offset)));
        let dimensions = indices(&view.dimensions);
        self.line(&format!(
            "view {}{dimensions}: {} of {}{offset};",
            view.name.text, view.ty.text, view.of.text
        ));
    }

    /// The inside of an `if` whose head is printed, and all its `else` parts.
    fn branches(&mut self, then: &Block, otherwise: Option<&Else>) {
        self.block_inside(then);
        match otherwise {
            None => self.line("}"),
            Some(Else::Block(block)) => self.block("} else", block, ""),
            Some(Else::If(statement)) => match &statement.kind {
                StatementKind::If { condition, then, otherwise } => {
                    self.line(&format!("}} else if {} {{", expr(condition)));
                    self.branches(then, otherwise.as_ref());
                }
                _ => self.has_error = true,
            },
        }
    }
}

fn host_call(call: &HostCall) -> String {
    let operands: Vec<&str> = call.operands.iter().map(|name| name.text.as_str()).collect();
    let mut text = format!("{} {}", call.verb.text, operands.join(", ")).trim_end().to_owned();
    if !call.arguments.is_empty() {
        text += &format!("({})", list(&call.arguments));
    }
    for (word, name) in &call.clauses {
        text += &format!(" {} {}", word.text, name.text);
    }
    text + ";"
}

fn setting(setting: &Setting) -> String {
    let last = setting.last.as_ref().map_or(String::new(), |last| format!("..{}", last.text));
    let offset = indices(setting.offset.as_slice());
    let head = format!("{} {}{last}{offset}", setting.what.text, setting.which.text);
    match &setting.value {
        SettingValue::Number(value) if setting.what.text == "shared" => format!("{head} {};", expr(value)),
        SettingValue::Number(value) => format!("{head} = {};", expr(value)),
        SettingValue::Address(memory) => {
            format!("{head} = &{}{};", memory.name.text, indices(&memory.indices))
        }
        SettingValue::Range(values) => format!("{head} in {};", range(values)),
    }
}

fn range(range: &Range) -> String {
    let dots = if range.inclusive { "..=" } else { ".." };
    format!("{}{dots}{}", expr(&range.start), expr(&range.end))
}

fn names(pattern: &Pattern) -> String {
    let name =
        |name: &Option<super::ast::Name>| name.as_ref().map_or("_".to_owned(), |name| name.text.clone());
    match pattern {
        Pattern::One(one) => name(one),
        Pattern::Vector(all) => format!("{{{}}}", all.iter().map(name).collect::<Vec<_>>().join(", ")),
    }
}

fn initial(value: &Initial) -> String {
    match value {
        Initial::Fill(value) => expr(value),
        Initial::List(parts) if parts.is_empty() => "{}".to_owned(),
        Initial::List(parts) => format!("{{ {} }}", parts.iter().map(initial).collect::<Vec<_>>().join(", ")),
    }
}

fn indices(all: &[Expr]) -> String {
    all.iter().map(|index| format!("[{}]", expr(index))).collect()
}

fn memory(memory: &Memory) -> String {
    let place = format!("{}{}", memory.name.text, indices(&memory.indices));
    match (&memory.rank, &memory.device) {
        (Some(rank), _) => format!("mapa({place}, {})", expr(rank)),
        (None, Some(device)) => format!("peer({place}, {})", expr(device)),
        (None, None) => place,
    }
}

/// An expression where an instruction may have its whole operand list.
fn top(value: &Expr) -> String {
    match &value.kind {
        ExprKind::Instruction { opcode, operands } => {
            let operands: Vec<String> = operands.iter().map(operand).collect();
            format!("{} {}", isa::ordered(opcode), operands.join(", ")).trim_end().to_owned()
        }
        _ => expr(value),
    }
}

fn operand(operand: &Operand) -> String {
    match operand {
        Operand::Memory(place) => format!("[{}]", memory(place)),
        Operand::Vector(elements) => format!("{{{}}}", list(elements)),
        Operand::Tensor(tensor) => format!("[{}, {{{}}}]", memory(&tensor.map), list(&tensor.coordinates)),
        Operand::Sink(_) => "_".to_owned(),
        Operand::Expr(value) => expr(value),
    }
}

fn list(values: &[Expr]) -> String {
    values.iter().map(expr).collect::<Vec<_>>().join(", ")
}

/// An expression, on one line.
pub(super) fn expr(value: &Expr) -> String {
    expr_in(value, 0)
}

/// How tightly an expression holds together.
fn precedence(value: &Expr) -> u8 {
    match &value.kind {
        ExprKind::Select(..) => 1,
        ExprKind::Binary(op, ..) => op.precedence(),
        ExprKind::Unary(..) => 12,
        ExprKind::Cast(..) => 13,
        _ => 14,
    }
}

/// An expression, in parentheses if it is looser than `at_least`.
fn expr_in(value: &Expr, at_least: u8) -> String {
    let own = precedence(value);
    let text = match &value.kind {
        ExprKind::Literal(text) | ExprKind::Name(text) => text.clone(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Element(place) => memory(place),
        ExprKind::Reference(place) => format!("&{}", memory(place)),
        ExprKind::Final(place) => format!("[{}]", memory(place)),
        ExprKind::Call { function, arguments } => {
            format!("{}({})", function.text, list(arguments))
        }
        ExprKind::Instruction { operands, .. } if matches!(operands.as_slice(), [Operand::Memory(_)]) => {
            top(value)
        }
        ExprKind::Instruction { .. } => format!("({})", top(value)),
        ExprKind::Unary(op, inner) => {
            let symbol = match op {
                UnaryOp::Not => "!",
                UnaryOp::Complement => "~",
                UnaryOp::Negate => "-",
            };
            format!("{symbol}{}", expr_in(inner, 12))
        }
        ExprKind::Binary(op, left, right) => {
            // `a < b < c` is no expression, so both sides of a relation hold tighter.
            let left_at_least = if own == 8 { own + 1 } else { own };
            format!("{} {} {}", side(left, own, left_at_least), op.symbol(), side(right, own, own + 1))
        }
        ExprKind::Select(condition, then, otherwise) => {
            format!("{} ? {} : {}", expr_in(condition, 2), expr(then), expr(otherwise))
        }
        ExprKind::Cast(inner, ty) => format!("{} as {}", expr_in(inner, 13), ty.text),
        ExprKind::List(parts) => format!("[{}]", list(parts)),
        // The caller prints nothing of a tree with errors in it; no text has operands of PTX.
        ExprKind::Given(_) | ExprKind::Error => String::new(),
    };
    if own < at_least { format!("({text})") } else { text }
}

/// One side of an infix operator; parentheses also where few readers know the precedence.
fn side(value: &Expr, parent: u8, at_least: u8) -> String {
    let own = precedence(value);
    let is_unclear = match parent {
        2 => own == 3,
        4..=6 | 9 => own != parent && own < 12,
        7 | 8 => matches!(own, 7 | 8),
        _ => false,
    };
    expr_in(value, if is_unclear { 14 } else { at_least })
}
