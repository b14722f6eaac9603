//! What a line with an error looks like, whatever its words are: a declaration of C, a label, a bracket that is missing.

use crate::libcu;
use crate::words::{CALLS, FORMS};

/// Where the parser, or what comes behind it, stumbles.
pub struct Place<'a> {
    /// The line, trimmed.
    pub text: &'a str,
    /// The line up to the error, trimmed.
    pub before: &'a str,
    /// The line from the error on.
    pub here: &'a str,
    /// What was reported.
    pub message: &'a str,
}

/// What conditions of the preprocessor begin with.
pub const PREPROCESSOR: &[&str] =
    &["if", "ifdef", "ifndef", "elif", "else", "endif", "undef", "error", "line", "warning"];

/// What to write for a `#` of other languages.
pub const COMMENT: &str = "comments begin with `//`; attributes there are none: take `#[…]` out";

/// What to write for a place, if it is of this shape.
type Rule<'a> = fn(&Place<'a>) -> Option<String>;

impl<'a> Place<'a> {
    pub fn new(line: &'a str, at: usize, message: &'a str) -> Self {
        let here = line.get(at..).unwrap_or_default();
        let before = line.get(..at).unwrap_or_default();
        // Several statements may stand in a line; braces of launches and of several results end none.
        let begins = |(from, c): (usize, char)| {
            let earlier = before[..from].rsplit([';', '{', '}']).next().unwrap_or_default().trim();
            let is_part = c == '{'
                && (earlier.starts_with("launch")
                    || ["let", "var", ",", "="].iter().any(|end| earlier.ends_with(end)));
            (!is_part && from > 0).then_some(from + 1)
        };
        let start =
            before.rmatch_indices([';', '{', '}']).find_map(|(from, c)| begins((from, c.chars().next()?)));
        let start = start.unwrap_or(0);
        Self {
            text: line.get(start..).unwrap_or_default().trim(),
            before: before[start..].trim(),
            here,
            message,
        }
    }

    /// What is more than any word in the line says.
    pub fn telling(&self) -> Option<String> {
        let rules: &[Rule<'a>] =
            &[Self::call, Self::directive, Self::jump, Self::item, Self::spin, Self::memory, Self::moved];
        rules.iter().find_map(|rule| rule(self))
    }

    /// What the line says where no word in it does.
    pub fn other(&self) -> Option<String> {
        let rules: &[Rule<'a>] = &[
            Self::loop_over_numbers,
            Self::template,
            Self::pair,
            Self::stored,
            Self::unread,
            Self::step,
            Self::comparison,
            Self::result,
            Self::cast,
            Self::element,
            Self::brackets,
            Self::value_of_memory,
            Self::operands,
            Self::number,
            Self::block,
            Self::pointer,
            Self::declaration,
            Self::semicolon,
        ];
        rules.iter().find_map(|rule| rule(self))
    }

    /// The opcode that the line begins with, behind `let v =` and `await`.
    fn opcode(&self) -> &'a str {
        let rest = self.text.split_once("= ").map_or(self.text, |(_, rest)| rest);
        let rest = rest.strip_prefix("await ").unwrap_or(rest);
        rest.split([' ', ';', '(']).next().unwrap_or_default()
    }

    /// An example of the instruction, for one with too few operands or too many.
    pub fn form(&self) -> Option<String> {
        let opcode = self.opcode();
        if opcode.contains("cache_hint") {
            return None;
        }
        let (_, form) = FORMS.iter().find(|(start, _)| opcode.starts_with(start))?;
        Some(format!("as in `{form}`"))
    }

    /// An operand that is not in brackets and should be.
    pub fn unbracketed(&self, width: usize) -> Option<String> {
        if !self.message.contains("in brackets") {
            return None;
        }
        if self.here.contains('[') {
            return self.result();
        }
        let operand = self.here.get(..width)?.trim();
        Some(format!("memory is named in brackets: `[{operand}]`"))
    }

    /// The size of an array that is no constant.
    pub fn size(&self, width: usize) -> Option<String> {
        self.memory().filter(|_| self.before.ends_with('['))?;
        let name = self.here.get(..width)?;
        Some(format!(
            "sizes are known before the launch: `const N = 4;` before the kernel, and `[N]` in place of `[{name}]`"
        ))
    }

    /// A wait by another name.
    pub fn wait(&self) -> Option<String> {
        let is_wait = self.here.starts_with("mbarrier.wait");
        is_wait.then(|| "`await mbarrier.try_wait.parity [bar], 0;`".to_owned())
    }

    /// A special register with a dimension.
    pub fn axis(&self) -> Option<String> {
        let name = self.here.split([' ', ';', ')', ',', ']']).next()?;
        let (register, axis) = name.split_once('.')?;
        let is_one = register.ends_with("id") && ["x", "y", "z"].contains(&axis);
        is_one.then(|| format!("this register has no axes: `{register}`"))
    }

    /// The result of an instruction where its first operand should be.
    pub fn first_operand(&self) -> Option<String> {
        (!self.before.is_empty() && !self.before.contains(' ')).then(|| self.result()).flatten()
    }

    /// A member function.
    pub fn call(&self) -> Option<String> {
        let is_called = |name: &str| {
            let at = self.text.find(name)?;
            let object = self.text[..at].rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
            (!["bar", "barrier", "warp"].contains(&object)).then_some(())
        };
        let of_class = || CALLS.iter().find(|(name, _)| is_called(name).is_some());
        libcu::translated(self.text).or_else(|| of_class().map(|(_, help)| (*help).to_owned()))
    }

    fn directive(&self) -> Option<String> {
        let name = self.here.strip_prefix('#')?.trim_start();
        let help = match name.split(' ').next().unwrap_or_default() {
            "include" => "functions of another file: `use \"lib/lock.fence\";`, before the kernel",
            "define" => "`const N = 4;`, before the kernel",
            "pragma" => "take it out: loops are unrolled anyway",
            other if !PREPROCESSOR.contains(&other) => COMMENT,
            _ => "`const FLAG = 1;` before the kernel, which -D replaces, and `if FLAG == 1 { … }`",
        };
        Some(help.to_owned())
    }

    fn jump(&self) -> Option<String> {
        if self.here.starts_with('@') {
            return Some("a predicate is a condition: `if p { … }`; there are no labels".to_owned());
        }
        let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
        let is_label = self.here.starts_with(':') && !self.here.starts_with("::") && is_name(self.before);
        is_label.then(|| "`loop`, `while`, `if` and `break`: there are no labels".to_owned())
    }

    /// What stands outside of kernels, and launches.
    fn item(&self) -> Option<String> {
        let first = self.text.split([' ', '(']).next().unwrap_or_default();
        if self.text.contains("<<<") {
            return Some(
                "in a `program`, `launch k on s;`; the shape is in the kernel, `launch { ctas: 2, warps: 1 }`".to_owned(),
            );
        }
        let is_misplaced = self.message.starts_with("expected a statement");
        let help = match first {
            "const" | "constexpr" => "a constant has no type and stands before the kernel: `const N = 4;`",
            "fn" | "program" | "use" | "kernel" if is_misplaced => {
                "it stands outside of kernels: is a `}` missing before it?"
            }
            "kernel" if self.here.starts_with('{') => "a kernel has a name: `kernel k { … }`",
            "kernel" => "a parameter is a range of values: `kernel k(N in 0..=3) { … }`",
            "fn" => "a parameter is a number, `n: u32`, or memory, `a: &u32`: `fn f(a: &u32, n: u32) { … }`",
            "bar" | "barrier" => "the barrier of a CTA is `bar.sync 0;`",
            "use" => "the path is in quotes: `use \"lib/lock.fence\";`",
            "launch" if self.here.starts_with(',') => "`launch k on s;`",
            "launch" if !self.text.contains(" on") => "`launch { ctas: 2, warps: 2, cooperative: true }`",
            "final" => "`final { assert [x] == 1; }`",
            _ => return None,
        };
        Some(help.to_owned())
    }

    /// A word of the language where a name should be, or a name that is an instruction where a `[` follows it.
    pub fn reserved(&self) -> Option<String> {
        let name: String = self.here.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect();
        let declares = [
            "global",
            "shared",
            "symmetric",
            "param",
            "tmem",
            "register",
            "const",
            "fn",
            "kernel",
            "let",
            "var",
            "program",
            "view",
            "texture",
            "surface",
            "constant",
            "multimem",
        ];
        let is_declared = declares.contains(&self.before.rsplit(' ').next().unwrap_or_default());
        let is_name_wanted =
            self.message.contains("a name") && self.message.contains(&format!("found `{name}`"));
        if is_declared && self.message.starts_with("expected a name, found the number") {
            return Some(format!("a name does not begin with a digit: `n{name}`"));
        }
        let is_instruction = self.message == format!("expected a name, found the instruction `{name}`");
        if is_declared && is_instruction {
            return Some(format!(
                "`{name}` in front of a `[` is an instruction: take another name, `{name}_`"
            ));
        }
        if is_declared && is_name_wanted && !name.is_empty() {
            return Some(format!("`{name}` is a word of the language: take another name"));
        }
        let is_opcode =
            self.message.starts_with("expected a name") && self.message.contains("found the instruction");
        (is_opcode && self.before.ends_with('[')).then(|| {
            format!(
                "`{name}` in front of a `[` is an instruction: take another name for the object, `{name}_`"
            )
        })
    }

    /// A `mov` of a register or value: a name for it.
    fn moved(&self) -> Option<String> {
        let (opcode, operands) = self.text.split_once(' ')?;
        if opcode != "mov" && !opcode.starts_with("mov.") {
            return None;
        }
        let (name, value) = operands.trim_end_matches(';').split_once(',')?;
        let plain = |text: &str| {
            let text = text.trim().trim_start_matches('%');
            text.strip_suffix(".x").unwrap_or(text).to_owned()
        };
        Some(format!("a value has a name: `let {} = {};`", plain(name), plain(value)))
    }

    /// A loop without body.
    fn spin(&self) -> Option<String> {
        // `while (*flag == 0) …`
        if self.text.starts_with("while") && self.here.starts_with('*') {
            let name: String = self.here[1..]
                .trim_start()
                .chars()
                .take_while(|&c| c.is_alphanumeric() || c == '_')
                .collect();
            return (!name.is_empty()).then(|| {
                format!(
                    "a wait is `await` and what must be true to go on: `await ld.acquire.gpu.u32 [{name}] != 0;`"
                )
            });
        }
        let is_spin = self.text.starts_with("while") && self.here.starts_with(';');
        is_spin.then(|| {
            "a wait is `await` and what must be true to go on: `await ld.acquire.gpu.u32 [x] != 0;`"
                .to_owned()
        })
    }

    /// A declaration of memory.
    fn memory(&self) -> Option<String> {
        let kinds = ["shared", "global", "symmetric", "register", "tmem"];
        let first = self.text.split(' ').next().unwrap_or_default();
        let kind = kinds.iter().find(|kind| **kind == first)?;
        if self.text.contains("barrier") {
            return Some("`shared bar: mbarrier;`, and one thread runs `mbarrier.init [bar], 1;`".to_owned());
        }
        Some(format!("first the name, with its sizes, then the type: `{kind} t[4]: u32 = 0;`"))
    }

    fn loop_over_numbers(&self) -> Option<String> {
        let is_loop = self.text.starts_with("for ") || self.text.starts_with("for(");
        let is_endless = self.text.split_whitespace().collect::<String>().starts_with("for(;;)");
        is_loop.then(|| {
            if is_endless {
                "an endless loop is `loop { … }`, which `break` leaves".to_owned()
            } else {
                "a loop over numbers is `for i in 0..4 { … }`".to_owned()
            }
        })
    }

    /// `cp.async.wait_group<0>;`
    fn template(&self) -> Option<String> {
        let opcode = self.before;
        let (number, _) = self.here.strip_prefix('<')?.split_once('>')?;
        let is_opcode = opcode.contains('.') && !opcode.contains([' ', '[']);
        (is_opcode && !number.is_empty())
            .then(|| format!("operands stand behind a space: `{opcode} {number};`"))
    }

    /// `elect.sync _|p, 0xffffffff;`
    fn pair(&self) -> Option<String> {
        let is_elect = self.text.starts_with("elect.sync") && self.here.starts_with('|');
        is_elect.then(|| "the lane is not needed: `let leads = elect.sync 0xffffffff;`".to_owned())
    }

    /// `st [x] = 1;`
    fn stored(&self) -> Option<String> {
        let value = self.here.strip_prefix('=')?.trim().trim_end_matches(';');
        let is_store = ["st", "red", "atom"]
            .iter()
            .any(|word| self.before.strip_prefix(word).is_some_and(|rest| rest.starts_with(['.', ' '])));
        (is_store && self.before.ends_with(']') && !value.is_empty() && !value.starts_with('='))
            .then(|| format!("operands are separated by commas: `{}, {value};`", self.before))
    }

    /// A name without value, and what else is expected to have none.
    fn unread(&self) -> Option<String> {
        if self.before == "exit" {
            return Some("`exit;` has no operand".to_owned());
        }
        if self.here.starts_with(['"', '\'']) {
            return Some("values are numbers: `1`, `0xff`".to_owned());
        }
        let rest = self.text.strip_prefix("let ").or_else(|| self.text.strip_prefix("var "))?;
        if !self.here.starts_with(';') || rest.contains(['=', '[']) {
            return None;
        }
        let name = rest.trim_end_matches(';').split(':').next()?.trim();
        Some(if rest.contains("barrier") {
            format!("an mbarrier is shared memory: `shared {name}: mbarrier;`")
        } else {
            format!("a name has a value: `let {name} = 0;`, and if it changes `var {name}: u32 = 0;`")
        })
    }

    /// A name that nothing declares, at the beginning of an assignment.
    pub fn assigned(&self, width: usize) -> Option<String> {
        let name = self.here.get(..width)?;
        let rest = self.here.get(width..)?.trim_start();
        let value = rest.strip_prefix('=')?.trim().trim_end_matches(';');
        let is_one = self.before.is_empty() && !value.is_empty() && !value.starts_with('=');
        is_one.then(|| {
            format!(
                "`let {name} = {value};`, or `var {name}: u32 = {value};` if it changes; in memory `global {name}: u32 = 0;` and \
                 `st [{name}], {value};`"
            )
        })
    }

    /// A name in capitals that nothing declares.
    pub fn constant(&self, width: usize) -> Option<String> {
        let name = self.here.get(..width)?;
        let is_one = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        is_one.then(|| {
            format!(
                "`const {name} = 4;` before the kernel, or a parameter, `kernel k({name} in 0..=3) {{ … }}`"
            )
        })
    }

    /// Any other name that nothing declares.
    pub fn undeclared(&self, width: usize) -> Option<String> {
        let name = self.here.get(..width)?;
        Some(format!(
            "declare it: a value `let {name} = 0;`, memory `global {name}: u32 = 0;` or `shared {name}: u32 = 0;`"
        ))
    }

    /// A wait for a parity that is compared.
    pub fn waited(&self) -> Option<String> {
        let is_wait = ["try_wait", "test_wait"].iter().any(|word| self.text.contains(word));
        let compares = ["==", "!="].iter().any(|compare| self.text.contains(compare));
        (is_wait && compares).then(|| {
            "a wait is over when it is true, there is nothing to compare: `await mbarrier.try_wait.parity [bar], 0;`"
                .to_owned()
        })
    }

    fn step(&self) -> Option<String> {
        if self.text.contains("++") {
            return Some("`i += 1;`, and in memory `red.add.u32 [x], 1;`".to_owned());
        }
        self.text.contains("--").then(|| "`i -= 1;`, and in memory `red.add.u32 [x], -1;`".to_owned())
    }

    pub fn comparison(&self) -> Option<String> {
        let reads = self.text.starts_with("ld") || self.text.starts_with("mbarrier.t");
        let compares = ["==", "!=", ">=", "<=", "<", ">"].iter().any(|compare| self.text.contains(compare));
        if reads && compares {
            return Some(format!("to wait until it is so, write `await {}`", self.text));
        }
        if self.text.contains("elect.sync") && self.here.starts_with(['{', ')']) {
            return Some("`let leads = elect.sync 0xffffffff;`, and then `if leads { … }`".to_owned());
        }
        let is_inside = ["await ", "if ", "while ", "let "].iter().any(|word| self.text.starts_with(word));
        let opens = ["mbarrier.t", "atom."].iter().any(|opcode| self.before.contains(opcode));
        let needs = is_inside && opens && self.here.starts_with(',');
        needs.then(|| {
            "an instruction inside an expression stands in parentheses: `(atom.cas.b32 [x], 0, 1) == 0`"
                .to_owned()
        })
    }

    /// `ld.u32 v, [x];`
    pub fn result(&self) -> Option<String> {
        let (opcode, operands) = self.text.split_once(' ')?;
        let gives = ["ld", "atom", "mbarrier.arrive", "mbarrier.t", "bar.red", "elect", "mov"];
        let is_one = gives.iter().any(|start| {
            opcode
                .strip_prefix(start)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || start.ends_with('t'))
        });
        if opcode.starts_with("mov") {
            return self.moved();
        }
        let (name, rest) = operands.split_once(',')?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        (is_one && is_name && name != "_").then(|| {
            let rest = rest.trim().trim_end_matches(';');
            let name = if name.starts_with(|c: char| c.is_ascii_digit()) { "v" } else { name };
            format!("a result is named in front: `let {name} = {opcode} {rest};`")
        })
    }

    /// `(u32) v`
    fn cast(&self) -> Option<String> {
        let of =
            ["u8", "u16", "u32", "u64"].into_iter().find(|of| self.before.ends_with(&format!("({of})")))?;
        Some(format!("a conversion stands behind: `v as {of}`"))
    }

    /// `pool[1] = 2;`
    fn element(&self) -> Option<String> {
        let (element, value) = self.text.split_once('=')?;
        let (element, value) = (element.trim(), value.trim().trim_end_matches(';'));
        let plain = element.trim_end_matches(['+', '-', '*', '/', '&', '|', '^']);
        let operator = &element[plain.len()..];
        let element = plain.trim();
        let (name, index) = element.split_once('[')?;
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let is_one =
            !name.is_empty() && self.before == name && name.chars().all(is_name) && index.ends_with(']');
        let is_told = is_one && !value.starts_with('=') && self.here.starts_with('[');
        is_told.then(|| {
            if operator.is_empty() {
                format!("memory is written by an instruction: `st [{element}], {value};`")
            } else {
                format!(
                    "memory is read and written by instructions: `let v = ld [{element}];` `st [{element}], v {operator} {value};`"
                )
            }
        })
    }

    fn brackets(&self) -> Option<String> {
        let count = |c: char| self.before.matches(c).count();
        let n_open = count('[').saturating_sub(count(']'));
        let help = match self.here.chars().next() {
            Some(';') if n_open > 0 => "the `[` has no `]`",
            Some('+' | '-' | '*') if n_open > 0 => {
                "an element has its index in brackets of its own, `[a[1]]`; indices count elements, not bytes"
            }
            Some(c) if n_open > 1 && (c == ',' || self.before.ends_with(',')) && c != ';' => {
                "each index has brackets of its own: `[a[1][2]]`"
            }
            Some(c) if n_open == 1 && self.before.ends_with(',') && c != ';' => {
                "the address is closed before the next operand: `st [x], 1;`"
            }
            Some(_) if n_open > 0 && self.before.ends_with('(') => "an index stands in brackets: `[a[1]]`",
            Some('[') if self.before.ends_with(']') => "an index stands inside of the address: `[a[1]]`",
            _ => return None,
        };
        Some(help.to_owned())
    }

    /// `[x]` where there should be what it holds.
    fn value_of_memory(&self) -> Option<String> {
        if !self.here.starts_with('[') {
            return None;
        }
        if self.message.starts_with("expected a value, found") {
            return Some("memory is read by an instruction: `ld [x]`".to_owned());
        }
        let is_first = self.before.is_empty();
        if is_first && self.message.starts_with("expected `assert`") {
            return Some("a condition stands behind `assert`: `final { assert [x] == 1; }`".to_owned());
        }
        is_first.then(|| "memory is written by an instruction: `st [x], 1;`".to_owned())
    }

    fn operands(&self) -> Option<String> {
        let begins = |c: char| c.is_alphanumeric() || c == '_';
        if !self.here.starts_with(begins) {
            return None;
        }
        let last = self.before.rsplit([' ', '(']).next().unwrap_or_default();
        if last == "st" && self.here.contains(", [") {
            return Some("the address comes first: `st [x], 1;`".to_owned());
        }
        if last == "ld" || last == "st" {
            let end = self.here.find([',', ';', ' ', ')']).unwrap_or(self.here.len());
            let name = &self.here[..end];
            let name = if name.contains('[') { name } else { name.trim_end_matches(']') };
            return Some(format!("memory is named in brackets: `{last} [{name}]`"));
        }
        self.before.ends_with(']').then(|| "operands are separated by commas: `st [x], 1;`".to_owned())
    }

    fn number(&self) -> Option<String> {
        if self.message.ends_with("is not a number") {
            return Some("a number may carry its width: `1u32`, `1u64`".to_owned());
        }
        let is_fraction = self.here.starts_with('.') && self.before.ends_with(|c: char| c.is_ascii_digit());
        is_fraction.then(|| "floating-point values are bits: `0x3f800000` is 1.0".to_owned())
    }

    fn block(&self) -> Option<String> {
        let is_branch =
            ["if", "else", "} else", "loop", "while"].iter().any(|word| self.text.starts_with(word));
        if self.here.starts_with('{') && self.before.is_empty() {
            return Some("braces stand behind `if`, `else`, `for`, `while` and `loop`".to_owned());
        }
        if self.here.starts_with('=')
            || !self.message.starts_with("expected `{`") && !self.here.starts_with(':')
        {
            return None;
        }
        is_branch.then(|| "a block has braces, also around one statement: `if tid == 0 { … }`".to_owned())
    }

    fn pointer(&self) -> Option<String> {
        let is_one = self.here.starts_with('&')
            || self.text.contains("(&")
            || self.text.contains("->")
            || self.here.starts_with('*');
        is_one.then(|| "memory is named in brackets: `[x]`, `[a[1]]`".to_owned())
    }

    /// `let` with something else than one name behind it.
    fn declaration(&self) -> Option<String> {
        let rest = self.text.strip_prefix("let ").or_else(|| self.text.strip_prefix("var "))?;
        if ["let", "var"].contains(&self.before) && self.here.starts_with('(') {
            return Some("several results stand in braces: `let {a, b} = ld.v2.u32 [x];`".to_owned());
        }
        if self.here.starts_with(',') {
            let is_vector = self.here.contains(".v") || self.here.contains("elect");
            let help = if is_vector {
                "several results stand in braces: `let {a, b} = ld.v2.u32 [x];`"
            } else {
                "each name has a `let` or `var` of its own"
            };
            return Some(help.to_owned());
        }
        let name: String = rest.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect();
        let is_word = !name.is_empty() && self.here.starts_with(&name);
        is_word.then(|| format!("`{name}` is a word of the language: take another name"))
    }

    /// A `;` that ends nothing.
    fn semicolon(&self) -> Option<String> {
        let is_empty =
            self.here.starts_with(';') && (self.before.is_empty() || self.before.ends_with([';', '}']));
        is_empty.then(|| "take the `;` out: only statements without braces end with one".to_owned())
    }
}
