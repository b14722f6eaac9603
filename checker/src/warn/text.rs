//! Warnings that the text alone is enough for: names that nothing uses, fences beside fences, arrivals without waits.
//!
//! A name counts as used if it occurs anywhere else where it could be meant, even of something else of that name.

use super::warning::Warning;
use crate::explain::repair::Syntax;
use crate::findings::{FindingKind, warning};
use fencepost_dsl::kernel::ast::{
    Block, Else, Expr, ExprKind, File, Function, ItemKind, Kernel, Name, Pattern, Statement, StatementKind,
};
use fencepost_dsl::kernel::isa::strength::{SCOPES, height};
use fencepost_dsl::kernel::parse;
use fencepost_dsl::{SourceMap, Span};

/// The warnings of the file that was named; of those that it uses, others may use what it does not.
pub fn warnings(sources: &SourceMap) -> Vec<Warning> {
    let Some(main) = sources.ids().next() else { return Vec::new() };
    let (file, _) = parse(&sources.file(main).text, main);
    let modules = sources.ids().map(|id| sources.file(id)).filter(|file| file.name.ends_with(".ptx"));
    let modules = modules.map(|file| file.text.as_str()).collect();
    let mut search = Search { code: code(&sources.file(main).text, &file), modules, found: Vec::new() };
    let whole = Span::new(main, 0, search.code.len());
    for item in &file.items {
        match &item.kind {
            ItemKind::Function(function) => search.function(function, item.place.0, whole),
            ItemKind::Kernel(kernel) | ItemKind::Program(kernel) => search.kernel(kernel, item.place.0),
            ItemKind::Object(object) => search.unused_object(&object.name, whole),
            ItemKind::View(view) => search.unused_object(&view.name, whole),
            ItemKind::Use(_) | ItemKind::Constant { .. } | ItemKind::Import(_) | ItemKind::Error => {}
        }
    }
    let mut found = search.found;
    found.extend(lonely_arrivals(sources, whole));
    found
}

/// The text with blanks for comments.
fn code(text: &str, file: &File) -> String {
    let mut code = text.as_bytes().to_vec();
    for comment in file.comments.iter().filter(|comment| !comment.text.is_empty()) {
        let span = comment.place.0;
        if let Some(bytes) = code.get_mut(span.start as usize..span.end as usize) {
            bytes.fill(b' ');
        }
    }
    String::from_utf8(code).unwrap_or_else(|_| text.to_owned())
}

/// Where a word is in a text.
fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(start, _)| start).filter(move |&start| {
        !text[..start].ends_with(is_part) && !text[start + word.len()..].starts_with(is_part)
    })
}

struct Search<'a> {
    code: String,
    /// Compiled modules that are imported, whose variables an object may be.
    modules: Vec<&'a str>,
    found: Vec<Warning>,
}

impl Search<'_> {
    fn push(&mut self, kind: &'static FindingKind, span: Span, message: String, help: &'static str) {
        self.found.push(Warning { kind, span, message, help });
    }

    /// Whether a name occurs in `within`, apart from where it is declared.
    fn is_used(&self, name: &Name, within: Span) -> bool {
        let text = self.code.get(within.start as usize..within.end as usize).unwrap_or("");
        let own = name.place.0.start as usize;
        let is_own = |start: usize| within.start as usize + start == own;
        // A name that starts so says itself that it is not used.
        name.text.starts_with('_') || words(text, &name.text).any(|start| !is_own(start))
    }

    fn unused_object(&mut self, name: &Name, within: Span) {
        let is_of_module = || self.modules.iter().any(|text| words(text, &name.text).next().is_some());
        if !self.is_used(name, within) && !is_of_module() {
            let message = format!("nothing names `{}`", name.text);
            let help = "take it out, or use it: what was meant to be checked may be left out";
            self.push(&warning::UNUSED_OBJECT, name.place.0, message, help);
        }
    }

    fn unused_parameter(&mut self, name: &Name, within: Span) {
        if !self.is_used(name, within) {
            let message = format!("nothing names the parameter `{}`", name.text);
            let help = "take it out, or use it; a name that starts with `_` is not warned about";
            self.push(&warning::UNUSED_PARAMETER, name.place.0, message, help);
        }
    }

    fn function(&mut self, function: &Function, own: Span, whole: Span) {
        if !self.is_used(&function.name, whole) {
            let message = format!("nothing calls `{}`", function.name.text);
            let help = "take it out, or call it: what it does is not checked";
            self.push(&warning::UNUSED_FUNCTION, function.name.place.0, message, help);
        }
        for parameter in &function.parameters {
            self.unused_parameter(&parameter.name, own);
        }
        self.block(&function.body);
    }

    fn kernel(&mut self, kernel: &Kernel, own: Span) {
        for parameter in &kernel.parameters {
            self.unused_parameter(&parameter.name, own);
        }
        for statement in &kernel.body.statements {
            match &statement.kind {
                StatementKind::Object(object) => self.unused_object(&object.name, own),
                StatementKind::View(view) => self.unused_object(&view.name, own),
                _ => {}
            }
        }
        self.block(&kernel.body);
    }

    fn block(&mut self, block: &Block) {
        let end = block.place.0.end;
        for (at, statement) in block.statements.iter().enumerate() {
            if let StatementKind::Let { pattern: Pattern::One(Some(name)), value, .. } = &statement.kind
                && does_nothing(value)
            {
                let rest = Span { start: statement.place.0.end, end, ..statement.place.0 };
                if !self.is_used(name, rest) {
                    let message = format!("`{}` is never used", name.text);
                    let help = "take it out, or use it";
                    self.push(&warning::UNUSED_LET, name.place.0, message, help);
                }
            }
            if let Some(before) = at.checked_sub(1) {
                self.doubled(&block.statements[before], statement);
            }
            self.inside(statement);
        }
    }

    fn inside(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::If { then, otherwise, .. } => {
                self.block(then);
                match otherwise {
                    Some(Else::Block(block)) => self.block(block),
                    Some(Else::If(inner)) => self.inside(inner),
                    None => {}
                }
            }
            StatementKind::For { body, .. }
            | StatementKind::While { body, .. }
            | StatementKind::Loop(body)
            | StatementKind::Client { body, .. } => self.block(body),
            _ => {}
        }
    }

    fn doubled(&mut self, first: &Statement, second: &Statement) {
        let (Some(one), Some(other)) = (fence(first), fence(second)) else { return };
        let (less, more) = if covers(one, other) {
            (second, one)
        } else if covers(other, one) {
            (first, other)
        } else {
            return;
        };
        let message = format!("`{more}` right beside it orders all that this fence does");
        let help = "take it out; if one of them was meant to stand behind or before an access, move it there";
        self.push(&warning::DOUBLED_FENCE, less.place.0, message, help);
    }
}

/// Whether an expression only computes: it has no instruction and no call.
fn does_nothing(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Instruction { .. } | ExprKind::Call { .. } | ExprKind::Error => false,
        ExprKind::Unary(_, inner) | ExprKind::Cast(inner, _) => does_nothing(inner),
        ExprKind::Binary(_, left, right) => does_nothing(left) && does_nothing(right),
        ExprKind::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().all(|expr| does_nothing(expr))
        }
        _ => true,
    }
}

/// The opcode of a statement that is a fence without operands.
fn fence(statement: &Statement) -> Option<&str> {
    let StatementKind::Expr(expr) = &statement.kind else { return None };
    let ExprKind::Instruction { opcode, operands } = &expr.kind else { return None };
    let is_fence = ["fence.", "membar.", "MEMBAR"].iter().any(|word| opcode.text.starts_with(word));
    (is_fence && operands.is_empty()).then_some(opcode.text.as_str())
}

/// Whether a fence orders all that another one does: it is the same, or has no weaker sem and no narrower scope.
fn covers(one: &str, other: &str) -> bool {
    let plain = |opcode: &str| -> Option<(String, usize)> {
        let words: Vec<&str> = opcode.split('.').collect();
        let &["fence", sem, scope] = words.as_slice() else { return None };
        (height(sem) > 0).then_some(())?;
        Some((sem.to_owned(), SCOPES.iter().position(|known| *known == scope)?))
    };
    if one == other {
        return true;
    }
    let (Some((sem, scope)), Some((less, narrow))) = (plain(one), plain(other)) else { return false };
    let is_as_strong = sem == less || height(&sem) > height(&less);
    is_as_strong && scope >= narrow
}

/// Arrivals at a barrier of which the file has no wait at all.
fn lonely_arrivals(sources: &SourceMap, own: Span) -> Vec<Warning> {
    let syntax = Syntax::of_text(sources);
    let starts = |opcode: &str, words: &[&str]| words.iter().any(|word| opcode.starts_with(word));
    let number = |span: Option<&Span>| span.and_then(|&span| sources.text(span).trim().parse::<u32>().ok());
    let waits: Vec<Option<u32>> = syntax
        .instructions
        .iter()
        .filter(|i| starts(&i.opcode, &["bar.sync", "bar.red", "barrier.sync", "barrier.red", "BAR."]))
        .map(|i| number(i.operands.first()))
        .collect();
    let has_cluster_wait = syntax.instructions.iter().any(|i| starts(&i.opcode, &["barrier.cluster.wait"]));
    let mut found = Vec::new();
    for arrive in syntax.instructions.iter().filter(|i| i.span.file == own.file) {
        let message = if starts(&arrive.opcode, &["bar.arrive", "barrier.arrive"]) {
            let Some(id) = number(arrive.operands.first()) else { continue };
            if waits.iter().any(|wait| wait.is_none_or(|wait| wait == id)) {
                continue;
            }
            format!("threads arrive at barrier {id}, and none ever waits there")
        } else if starts(&arrive.opcode, &["barrier.cluster.arrive"]) && !has_cluster_wait {
            "threads arrive at the barrier of the cluster, and none ever waits there".to_owned()
        } else {
            continue;
        };
        let help =
            "an arrival orders nothing for those who do not wait: add the wait, or take the arrival out";
        found.push(Warning { kind: &warning::ARRIVAL_WITHOUT_WAIT, span: arrive.span, message, help });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{covers, warnings};
    use fencepost_dsl::SourceMap;

    fn codes(text: &str) -> Vec<String> {
        let mut sources = SourceMap::default();
        sources.add("k.fence", text);
        let found = warnings(&sources);
        found.iter().map(|w| format!("{} {}", w.kind.code, sources.text(w.span))).collect()
    }

    #[test]
    fn names_that_nothing_uses_are_found() {
        let text = "fn f(a: u32) { } fn g(b: u32) { st [x], b; } global x: u32 = 0; // f
            kernel k(N in 0..=1, M in 0..=1) { shared s: u32; shared t: u32; let a = N; let b = ld [t]; let c = 1;
            g(c); let _d = 2; }";
        let expected = [
            "warning::unused-function f",
            "warning::unused-parameter a",
            "warning::unused-parameter M",
            "warning::unused-object s",
            "warning::unused-let a",
        ];
        assert_eq!(codes(text), expected);
    }

    #[test]
    fn a_variable_of_an_imported_module_is_used() {
        let text = "global count: u32 = 0; global coun: u32 = 0;
            import \"k.ptx\" entry k as k { launch { block: 32 } }";
        let mut sources = SourceMap::default();
        sources.add("k.fence", text);
        sources.add("k.ptx", ".global .align 4 .u32 count;");
        let found = warnings(&sources);
        let named: Vec<&str> = found.iter().map(|warning| sources.text(warning.span)).collect();
        assert_eq!(named, ["coun"]);
    }

    #[test]
    fn a_fence_beside_a_stronger_one_is_doubled() {
        let text =
            "kernel k { global x: u32 = 0; fence.acq_rel.gpu; fence.sc.gpu; st [x], 1; fence.sc.gpu; }";
        assert_eq!(codes(text), ["warning::doubled-fence fence.acq_rel.gpu;"]);
        assert!(covers("fence.acq_rel.sys", "fence.release.gpu"));
        assert!(!covers("fence.release.gpu", "fence.acquire.gpu") && !covers("fence.sc.cta", "fence.sc.gpu"));
        assert!(!covers("fence.proxy.async", "fence.proxy.alias") && covers("membar.gl", "membar.gl"));
    }

    #[test]
    fn arrivals_want_somebody_who_waits() {
        let lonely = codes("kernel k { bar.arrive 1, 64; bar.sync 2, 64; }");
        assert_eq!(lonely, ["warning::arrival-without-wait bar.arrive 1, 64"]);
        assert_eq!(codes("kernel k { bar.arrive 1, 64; bar.sync 1, 64; }"), Vec::<String>::new());
        assert_eq!(
            codes("fn w(n: u32) { bar.sync n, 64; } kernel k { bar.arrive 1, 64; w(1); }"),
            Vec::<String>::new()
        );
    }
}
